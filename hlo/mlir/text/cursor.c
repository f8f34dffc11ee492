/* The cursor over MLIR text: places and errors, blanks, words, punctuation, strings and numbers. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "hlo/base/text.h"
#include "hlo/mlir/text/reader.h"
#include "hlo/mlir/text/reader_internal.h"
#include "hlo/text/number.h"

enum {
    D = CLASS_DIGIT | CLASS_WORD | CLASS_SUFFIX | CLASS_HEX,
    H = CLASS_LETTER | CLASS_WORD | CLASS_SUFFIX | CLASS_HEX,
    L = CLASS_LETTER | CLASS_WORD | CLASS_SUFFIX,
};

const unsigned char reader_class[256] = {
    ['_'] = L,
    ['$'] = CLASS_WORD | CLASS_SUFFIX,
    ['.'] = CLASS_WORD | CLASS_SUFFIX,
    ['-'] = CLASS_SUFFIX,
    ['0'] = D,
    ['1'] = D,
    ['2'] = D,
    ['3'] = D,
    ['4'] = D,
    ['5'] = D,
    ['6'] = D,
    ['7'] = D,
    ['8'] = D,
    ['9'] = D,
    ['A'] = H,
    ['B'] = H,
    ['C'] = H,
    ['D'] = H,
    ['E'] = H,
    ['F'] = H,
    ['G'] = L,
    ['H'] = L,
    ['I'] = L,
    ['J'] = L,
    ['K'] = L,
    ['L'] = L,
    ['M'] = L,
    ['N'] = L,
    ['O'] = L,
    ['P'] = L,
    ['Q'] = L,
    ['R'] = L,
    ['S'] = L,
    ['T'] = L,
    ['U'] = L,
    ['V'] = L,
    ['W'] = L,
    ['X'] = L,
    ['Y'] = L,
    ['Z'] = L,
    ['a'] = H,
    ['b'] = H,
    ['c'] = H,
    ['d'] = H,
    ['e'] = H,
    ['f'] = H,
    ['g'] = L,
    ['h'] = L,
    ['i'] = L,
    ['j'] = L,
    ['k'] = L,
    ['l'] = L,
    ['m'] = L,
    ['n'] = L,
    ['o'] = L,
    ['p'] = L,
    ['q'] = L,
    ['r'] = L,
    ['s'] = L,
    ['t'] = L,
    ['u'] = L,
    ['v'] = L,
    ['w'] = L,
    ['x'] = L,
    ['y'] = L,
    ['z'] = L,
};

/* --- places and errors --- */

void reader_place(struct reader *reader, const char *at, int *line, int *column)
{
    if (at < reader->line_start) {
        reader->counted = reader->line_start = reader->text;
        reader->line = reader->first_line;
    }
    for (const char *from = reader->counted, *newline;
         from < at && (newline = memchr(from, '\n', (size_t)(at - from))) != NULL;) {
        from = newline + 1;
        reader->line_start = from;
        reader->line++;
    }
    reader->counted = at > reader->counted ? at : reader->counted;
    *line = reader->line;
    *column = (int)(at - reader->line_start) + 1;
}

static bool fail_with(struct reader *reader, enum error_code code, const char *at,
                      const char *format, va_list args)
{
    struct error *err = reader->err;
    if (err == NULL || err->code != ERROR_NONE) {
        return false;
    }
    struct where where = {reader->file->name, 0, 0};
    reader_place(reader, at, &where.line, &where.column);
    char message[sizeof err->message];
    vsnprintf(message, sizeof message, format, args);
    error_at(err, where, "%s", message);
    err->code = code;
    return false;
}

bool reader_fail(struct reader *reader, const char *at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(reader, ERROR_INVALID_ARGUMENT, at, format, args);
    va_end(args);
    return false;
}

bool reader_fail_code(struct reader *reader, enum error_code code, const char *at,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_with(reader, code, at, format, args);
    va_end(args);
    return false;
}

bool reader_expected(struct reader *reader, const char *what)
{
    reader_skip(reader);
    const char *at = reader->at;
    if (at >= reader->end) {
        return reader_fail(reader, at, "expected %s, found the end", what);
    }
    /* What is next, up to a blank, as far as it can be printed. */
    char found[24];
    size_t size = 0;
    while (size < sizeof found - 1 && (unsigned char)at[size] > ' ' &&
           (unsigned char)at[size] < 127) {
        found[size] = at[size];
        size++;
    }
    found[size] = '\0';
    if (size == 0) {
        return reader_fail(reader, at, "expected %s, found the byte 0x%02x", what,
                           (unsigned)(unsigned char)*at);
    }
    return reader_fail(reader, at, "expected %s, found '%s'", what, found);
}

bool reader_enter(struct reader *reader)
{
    if (reader->depth >= READER_MAX_DEPTH) {
        return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, reader->at,
                                "nested more than %d deep", READER_MAX_DEPTH);
    }
    reader->depth++;
    if (reader->depth > reader->deepest) {
        reader->deepest = reader->depth;
    }
    reader->nodes++;
    return true;
}

/* --- blanks --- */

void reader_skip_slowly(struct reader *reader)
{
    const char *at = reader->at;
    for (;;) {
        while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') {
            at++;
        }
        if (at[0] != '/' || at[1] != '/') {
            break;
        }
        const char *newline = memchr(at, '\n', (size_t)(reader->end - at));
        at = newline != NULL ? newline : reader->end;
    }
    reader->at = at;
}

bool reader_at_end(struct reader *reader)
{
    reader_skip(reader);
    return reader->at >= reader->end;
}

/* --- punctuation and words --- */

bool reader_expect(struct reader *reader, char c)
{
    if (reader_accept(reader, c)) {
        return true;
    }
    char what[4] = {'\'', c, '\'', '\0'};
    return reader_expected(reader, what);
}

bool reader_accept_text(struct reader *reader, const char *text)
{
    reader_skip(reader);
    size_t size = strlen(text);
    if (strncmp(reader->at, text, size) != 0) {
        return false;
    }
    reader->at += size;
    return true;
}

bool reader_expect_text(struct reader *reader, const char *text)
{
    if (reader_accept_text(reader, text)) {
        return true;
    }
    char what[32];
    snprintf(what, sizeof what, "'%s'", text);
    return reader_expected(reader, what);
}

struct span reader_word(struct reader *reader)
{
    reader_skip(reader);
    const char *begin = reader->at, *at = begin;
    if (reader_class_of(*at) & CLASS_LETTER) {
        do {
            at++;
        } while (reader_class_of(*at) & CLASS_WORD);
    }
    reader->at = at;
    return (struct span){begin, (size_t)(at - begin)};
}

/* The keyword that begins at `at`, or nothing. */
static struct span keyword_at(const char *begin)
{
    const char *at = begin;
    if (reader_class_of(*at) & CLASS_LETTER) {
        do {
            at++;
        } while ((reader_class_of(*at) & CLASS_WORD) && *at != '.');
    }
    return (struct span){begin, (size_t)(at - begin)};
}

struct span reader_keyword(struct reader *reader)
{
    reader_skip(reader);
    struct span word = keyword_at(reader->at);
    reader->at += word.size;
    return word;
}

bool reader_peek_word(struct reader *reader, const char *word)
{
    reader_skip(reader);
    return span_is(keyword_at(reader->at), word);
}

bool reader_accept_word(struct reader *reader, const char *word)
{
    if (!reader_peek_word(reader, word)) {
        return false;
    }
    reader->at += strlen(word);
    return true;
}

bool reader_expect_word(struct reader *reader, const char *word)
{
    if (reader_accept_word(reader, word)) {
        return true;
    }
    char what[64];
    snprintf(what, sizeof what, "'%s'", word);
    return reader_expected(reader, what);
}

bool reader_expect_any_word(struct reader *reader, struct span *word, const char *what)
{
    *word = reader_keyword(reader);
    return word->size > 0 || reader_expected(reader, what);
}

/* --- strings --- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The closing quote of the string whose opening one is at `begin`; NULL: an error. */
static const char *string_end(struct reader *reader, const char *begin, bool *escaped)
{
    /* Most strings hold no escape; some are very long. */
    const char *quote = memchr(begin + 1, '"', (size_t)(reader->end - begin - 1));
    size_t size = quote == NULL ? 0 : (size_t)(quote - begin - 1);
    *escaped = false;
    if (quote != NULL && memchr(begin + 1, '\\', size) == NULL &&
        memchr(begin + 1, '\n', size) == NULL) {
        return quote;
    }
    for (const char *at = begin + 1;; at++) {
        if (*at == '"') {
            return at;
        }
        if (*at == '\\') {
            *escaped = true;
            at++;
            bool hex = hex_digit(*at) >= 0 && hex_digit(at[1]) >= 0;
            if (!hex && (*at == '\0' || strchr("nt\"\\", *at) == NULL)) {
                reader_fail(reader, at - 1, "unknown escape in a string");
                return NULL;
            }
        } else if (*at == '\n' || (*at == '\0' && at >= reader->end)) {
            reader_fail(reader, begin, "expected '\"' at the end of the string");
            return NULL;
        }
    }
}

bool reader_string_span(struct reader *reader, struct span *raw, bool *escaped)
{
    if (reader_peek(reader) != '"') {
        return reader_expected(reader, "a string");
    }
    const char *end = string_end(reader, reader->at, escaped);
    if (end == NULL) {
        return false;
    }
    *raw = (struct span){reader->at + 1, (size_t)(end - reader->at - 1)};
    reader->at = end + 1;
    return true;
}

bool reader_string(struct reader *reader, struct bytes *string)
{
    struct span raw;
    bool escaped;
    if (!reader_string_span(reader, &raw, &escaped)) {
        return false;
    }
    char *copy = arena_string(&reader->file->arena, raw.data, raw.size);
    size_t size = raw.size;
    if (escaped) {
        size = 0;
        for (const char *at = raw.data, *end = raw.data + raw.size; at < end; at++) {
            char c = *at;
            if (c == '\\') {
                at++;
                int high = hex_digit(*at), low = high < 0 ? -1 : hex_digit(at[1]);
                if (low >= 0) {
                    c = (char)(high * 16 + low);
                    at++;
                } else {
                    c = *at == 'n' ? '\n' : *at == 't' ? '\t' : *at;
                }
            }
            copy[size++] = c;
        }
        copy[size] = '\0';
    }
    *string = (struct bytes){copy, size};
    return true;
}

bool reader_symbol_name(struct reader *reader, struct bytes *name)
{
    if (!reader_accept(reader, '@')) {
        return reader_expected(reader, "a symbol name");
    }
    if (*reader->at == '"') {
        const char *at = reader->at;
        if (!reader_string(reader, name)) {
            return false;
        }
        /* Names are C strings everywhere behind the reader. */
        return (name->size > 0 && memchr(name->data, '\0', name->size) == NULL) ||
               reader_fail(reader, at, "a symbol name that is empty or has a zero byte");
    }
    /* No blank between "@" and the name. */
    const char *begin = reader->at, *at = begin;
    if (reader_class_of(*at) & CLASS_LETTER) {
        while (reader_class_of(*at) & CLASS_WORD) {
            at++;
        }
    }
    if (at == begin) {
        return reader_expected(reader, "a symbol name");
    }
    *name = (struct bytes){mlir_intern(reader->file, begin, (size_t)(at - begin)),
                           (size_t)(at - begin)};
    reader->at = at;
    return true;
}

/* --- numbers --- */

bool reader_bool(struct reader *reader, bool *value)
{
    *value = reader_accept_word(reader, "true");
    return *value || reader_accept_word(reader, "false") ||
           reader_expected(reader, "'true' or 'false'");
}

bool reader_number(struct reader *reader, struct reader_number *number)
{
    reader_skip(reader);
    const char *begin = reader->at, *at = begin;
    *number = (struct reader_number){.at = begin};
    if (*at == '-') {
        number->negative = true;
        at++;
        while (*at == ' ') {
            at++;
        }
    }
    const char *digits = at;
    uint64_t value = 0;
    if (at[0] == '0' && at[1] == 'x' && (reader_class_of(at[2]) & CLASS_HEX)) {
        number->hex = true;
        for (at += 2; reader_class_of(*at) & CLASS_HEX; at++) {
            number->too_large |= value >> 60 != 0;
            value = value << 4 | (uint64_t)hex_digit(*at);
            number->hex_digits++;
        }
    } else {
        for (; reader_class_of(*at) & CLASS_DIGIT; at++) {
            unsigned digit = (unsigned)(*at - '0');
            number->too_large |= value > (UINT64_MAX - digit) / 10;
            value = value * 10 + digit;
        }
    }
    if (at == digits) {
        return reader_expected(reader, "a number");
    }
    number->integer = value;
    if (*at == '.' && !number->hex) {
        number->decimal = true;
        do {
            at++;
        } while (reader_class_of(*at) & CLASS_DIGIT);
        if ((*at == 'e' || *at == 'E')) {
            const char *exponent = at + 1 + (at[1] == '+' || at[1] == '-');
            if (reader_class_of(*exponent) & CLASS_DIGIT) {
                for (at = exponent; reader_class_of(*at) & CLASS_DIGIT;) {
                    at++;
                }
            }
        }
        struct number real;
        if (number_read(digits, at, &real) != (size_t)(at - digits)) {
            return reader_fail(reader, begin, "not a number");
        }
        double value = real.kind == NUMBER_TOO_LARGE ? INFINITY : real.real;
        number->real = number->negative ? -value : value;
    }
    reader->at = at;
    return true;
}

bool reader_int(struct reader *reader, int64_t *value)
{
    struct reader_number number;
    if (!reader_number(reader, &number)) {
        return false;
    }
    if (number.decimal || number.too_large ||
        (number.negative && number.integer > (uint64_t)INT64_MAX + 1)) {
        return reader_fail(reader, number.at, "expected an integer of at most 64 bits");
    }
    *value = (int64_t)(number.negative ? 0 - number.integer : number.integer);
    return true;
}

bool reader_float(struct reader *reader, double *value)
{
    struct reader_number number;
    if (!reader_number(reader, &number)) {
        return false;
    }
    if (number.hex || (number.decimal ? !isfinite(number.real) : number.too_large)) {
        return reader_fail(reader, number.at, "expected a decimal number that is no infinity");
    }
    *value = number.decimal    ? number.real
             : number.negative ? -(double)number.integer
                               : (double)number.integer;
    return true;
}

bool reader_int_list(struct reader *reader, char open, char close, struct ints *values)
{
    int64_t few[16], *list = few;
    size_t count = 0, capacity = sizeof few / sizeof *few;
    *values = (struct ints){0};
    if (!reader_expect(reader, open)) {
        return false;
    }
    if (reader_accept(reader, close)) {
        return true;
    }
    do {
        if (count == capacity) {
            int64_t *more = arena_array(&reader->file->arena, 2 * capacity, sizeof *more);
            memcpy(more, list, count * sizeof *list);
            list = more;
            capacity *= 2;
        }
        if (count >= INT32_MAX || !reader_int(reader, &list[count])) {
            return false;
        }
        count++;
    } while (reader_accept(reader, ','));
    if (!reader_expect(reader, close)) {
        return false;
    }
    *values = (struct ints){(int)count,
                            list == few ? arena_copy(&reader->file->arena, few, count * sizeof *few)
                                        : list};
    return true;
}

/* --- balanced text --- */

bool reader_balanced(struct reader *reader, struct span *text)
{
    reader_skip(reader);
    const char *begin = reader->at, *at = begin;
    /* The open brackets, one bit pair each would do; a heap of characters is simpler. */
    struct text open;
    text_init(&open);
    bool fine = true;
    do {
        char c = *at;
        char close = c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : c == '<' ? '>' : '\0';
        if (close != '\0') {
            text_char(&open, close);
        } else if (c == '"') {
            bool escaped;
            at = string_end(reader, at, &escaped);
            if (at == NULL) {
                fine = false;
                break;
            }
        } else if ((c == '-' && at[1] == '>') ||
                   (c == '>' && at[1] == '=' && open.size > 0 && open.data[open.size - 1] != '>')) {
            at++; /* an arrow; "at least", which is in affine sets */
        } else if (c == ')' || c == ']' || c == '}' || c == '>') {
            if (open.size == 0 || open.data[open.size - 1] != c) {
                fine = reader_fail(reader, at, "'%c' closes no bracket", c);
                break;
            }
            open.size--;
        } else if (c == '\0' && at >= reader->end) {
            fine = reader_fail(reader, begin, "a bracket that is never closed");
            break;
        } else if (open.size == 0) {
            fine = reader_expected(reader, "a bracket");
            break;
        }
        at++;
    } while (open.size > 0);
    text_finish(&open);
    if (fine) {
        *text = (struct span){begin, (size_t)(at - begin)};
        reader->at = at;
    }
    return fine;
}
