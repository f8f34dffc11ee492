/* The cursor over HLO text. */
#include "hlo/text/lexer.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "hlo/base/arena.h"
#include "hlo/base/map.h"
#include "hlo/text/number.h"
#include "hlo/types.h"

enum {
    L = LEX_LETTER | LEX_NAME,
    N = LEX_NAME,
    D = LEX_NAME | LEX_DIGIT,
    B = LEX_BLANK,
};

const unsigned char lex_class[256] = {
    [' '] = B, ['\t'] = B, ['\n'] = B, ['\r'] = B, ['/'] = B, ['-'] = N, ['.'] = N, ['_'] = L,
    ['0'] = D, ['1'] = D,  ['2'] = D,  ['3'] = D,  ['4'] = D, ['5'] = D, ['6'] = D, ['7'] = D,
    ['8'] = D, ['9'] = D,  ['A'] = L,  ['B'] = L,  ['C'] = L, ['D'] = L, ['E'] = L, ['F'] = L,
    ['G'] = L, ['H'] = L,  ['I'] = L,  ['J'] = L,  ['K'] = L, ['L'] = L, ['M'] = L, ['N'] = L,
    ['O'] = L, ['P'] = L,  ['Q'] = L,  ['R'] = L,  ['S'] = L, ['T'] = L, ['U'] = L, ['V'] = L,
    ['W'] = L, ['X'] = L,  ['Y'] = L,  ['Z'] = L,  ['a'] = L, ['b'] = L, ['c'] = L, ['d'] = L,
    ['e'] = L, ['f'] = L,  ['g'] = L,  ['h'] = L,  ['i'] = L, ['j'] = L, ['k'] = L, ['l'] = L,
    ['m'] = L, ['n'] = L,  ['o'] = L,  ['p'] = L,  ['q'] = L, ['r'] = L, ['s'] = L, ['t'] = L,
    ['u'] = L, ['v'] = L,  ['w'] = L,  ['x'] = L,  ['y'] = L, ['z'] = L,
};

static bool is_digit(char c)
{
    return (lex_class[(unsigned char)c] & LEX_DIGIT) != 0;
}

/* --- log prefixes: "I0521 12:04:45.883483    1509 file.cc:186] " at the start of a line --- */

static const char *pass_digits(const char *at, int least, int most)
{
    int count = 0;
    while (is_digit(*at) && count < most) {
        at++;
        count++;
    }
    return count >= least ? at : NULL;
}

static const char *pass_blanks(const char *at)
{
    const char *begin = at;
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at > begin ? at : NULL;
}

/* The end of the log prefix at `at`, or `at` itself if there is none. */
static const char *pass_log_prefix(const char *begin)
{
    const char *at = begin;
    if (*at != 'I' && *at != 'W' && *at != 'E' && *at != 'F') {
        return begin;
    }
    if ((at = pass_digits(at + 1, 4, 4)) == NULL || *at++ != ' ') {
        return begin;
    }
    for (const char *after = "::."; *after != '\0'; after++) {
        if ((at = pass_digits(at, 2, 2)) == NULL || *at++ != *after) {
            return begin;
        }
    }
    if ((at = pass_digits(at, 1, 64)) == NULL || (at = pass_blanks(at)) == NULL ||
        (at = pass_digits(at, 1, 64)) == NULL || (at = pass_blanks(at)) == NULL) {
        return begin;
    }
    const char *file = at;
    while (*at != ':' && *at != '\n' && *at != '\0') {
        at++;
    }
    if (at == file || *at++ != ':' || (at = pass_digits(at, 1, 64)) == NULL || *at != ']') {
        return begin;
    }
    return at + 1;
}

/* --- places and errors --- */

void lexer_init(struct lexer *lexer, const char *text, size_t size, const char *file,
                int first_line, struct error *err)
{
    *lexer = (struct lexer){
        .text = text,
        .end = text + size,
        .at = pass_log_prefix(text),
        .file = file,
        .first_line = first_line,
        .err = err,
        .counted = text,
        .line_start = text,
        .line = first_line,
    };
}

void lexer_place(struct lexer *lexer, const char *at, int *line, int *column)
{
    if (at < lexer->counted && at >= lexer->line_start) { /* the same line */
        *line = lexer->line;
        *column = (int)(at - lexer->line_start) + 1;
        return;
    }
    if (at < lexer->counted) {
        lexer->counted = lexer->line_start = lexer->text;
        lexer->line = lexer->first_line;
    }
    const char *from = lexer->counted;
    for (const char *newline; (newline = memchr(from, '\n', (size_t)(at - from))) != NULL;) {
        from = newline + 1;
        lexer->line_start = from;
        lexer->line++;
    }
    lexer->counted = at;
    *line = lexer->line;
    *column = (int)(at - lexer->line_start) + 1;
}

bool lexer_fail(struct lexer *lexer, const char *at, const char *format, ...)
{
    struct where where = {.file = lexer->file};
    lexer_place(lexer, at, &where.line, &where.column);
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_at(lexer->err, where, "%s", message);
}

bool lexer_expected(struct lexer *lexer, const char *what)
{
    lexer_skip(lexer);
    const char *at = lexer->at;
    if (at >= lexer->end) {
        return lexer_fail(lexer, at, "expected %s, found the end of the text", what);
    }
    size_t size = 1;
    if (lex_class[(unsigned char)*at] & LEX_NAME || *at == '%') {
        while (size < 40 && lex_class[(unsigned char)at[size]] & LEX_NAME) {
            size++;
        }
    }
    if ((unsigned char)*at < ' ' || (unsigned char)*at >= 127) {
        return lexer_fail(lexer, at, "expected %s, found byte 0x%02x", what, (unsigned char)*at);
    }
    return lexer_fail(lexer, at, "expected %s, found '%.*s'", what, (int)size, at);
}

bool lexer_take_error(struct lexer *lexer, const char *from, const struct error *err)
{
    const char *at = from + (err->column > 0 ? err->column - 1 : 0);
    lexer_fail(lexer, at <= lexer->end ? at : lexer->end, "%s", err->message);
    if (lexer->err != NULL) {
        lexer->err->code = err->code;
    }
    return false;
}

/* --- blanks --- */

void lexer_skip_slowly(struct lexer *lexer)
{
    const char *at = lexer->at;
    for (;;) {
        switch (*at) {
        case ' ':
        case '\t':
        case '\r':
            at++;
            continue;
        case '\n':
            at = pass_log_prefix(at + 1);
            continue;
        case '/':
            if (at[1] == '/') {
                while (*at != '\n' && *at != '\r' && *at != '\0') {
                    at++;
                }
                continue;
            }
            if (at[1] == '*') {
                const char *close = strstr(at + 2, "*/");
                if (close != NULL) {
                    at = close + 2;
                    continue;
                }
            }
            break;
        default:
            break;
        }
        break;
    }
    lexer->at = at;
}

/* --- tokens --- */

bool lexer_expect(struct lexer *lexer, char c)
{
    if (lexer_accept(lexer, c)) {
        return true;
    }
    const char what[] = {'\'', c, '\'', '\0'};
    return lexer_expected(lexer, what);
}

bool lexer_expect_arrow(struct lexer *lexer)
{
    lexer_skip(lexer);
    if (lexer->at[0] == '-' && lexer->at[1] == '>') {
        lexer->at += 2;
        return true;
    }
    return lexer_expected(lexer, "'->'");
}

bool lexer_accept_at_most(struct lexer *lexer)
{
    lexer_skip(lexer);
    if (lexer->at[0] == '<' && lexer->at[1] == '=') {
        lexer->at += 2;
        return true;
    }
    return false;
}

bool lexer_accept_word(struct lexer *lexer, const char *word)
{
    lexer_skip(lexer);
    size_t size = strlen(word);
    if (strncmp(lexer->at, word, size) != 0 ||
        lex_class[(unsigned char)lexer->at[size]] & LEX_NAME) {
        return false;
    }
    lexer->at += size;
    return true;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct map reserved;

static void reserve(void)
{
    static const char *const keywords[] = {
        "true",          "false",         "inf",         "nan",       "HloModule",
        "ENTRY",         "ROOT",          "FileNames",   "maximal",   "replicated",
        "FunctionNames", "FileLocations", "StackFrames", "manual",    "last_tile_dim_replicate",
        "shard_as",      "shard_like",    "unknown",     "unreduced",
    };
    map_init(&reserved);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        map_put(&reserved, keywords[i], strlen(keywords[i]), &reserved);
    }
    for (int type = 1; type < TYPE_COUNT; type++) {
        if (type != TYPE_TUPLE && type != TYPE_BUFFER) {
            const char *text = type_text((enum type)type);
            map_put(&reserved, text, strlen(text), &reserved);
        }
    }
}

bool lexer_is_reserved(const char *word, size_t size)
{
    pthread_once(&once, reserve);
    return map_get(&reserved, word, size) != NULL;
}

bool lexer_name(struct lexer *lexer, struct span *name, const char *what)
{
    bool percent = lexer_accept(lexer, '%');
    if (percent && !(lex_class[(unsigned char)*lexer->at] & LEX_LETTER)) {
        return lexer_expected(lexer, what);
    }
    *name = lexer_word(lexer);
    if (name->size == 0) {
        return lexer_expected(lexer, what);
    }
    if (!percent) {
        if (*lexer->at == ':') {
            lexer->at++;
        } else if (lexer_is_reserved(name->data, name->size)) {
            lexer->at = name->data;
            return lexer_fail(lexer, name->data,
                              "expected %s, found the reserved word '%.*s' (write %%%.*s)", what,
                              (int)name->size, name->data, (int)name->size, name->data);
        }
    }
    return true;
}

bool lexer_attribute(struct lexer *lexer, struct span *name)
{
    *name = lexer_word(lexer);
    if (name->size == 0 || *lexer->at != '=') {
        lexer->at = name->data;
        return lexer_expected(lexer, "an attribute (name=)");
    }
    lexer->at++;
    return true;
}

bool lexer_int(struct lexer *lexer, int64_t *value)
{
    lexer_skip(lexer);
    const char *at = lexer->at;
    bool negative = *at == '-';
    at += negative;
    const char *first = at;
    uint64_t number = 0;
    while (is_digit(*at)) {
        unsigned digit = (unsigned)(*at - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return lexer_fail(lexer, lexer->at, "integer does not fit in 64 bits");
        }
        number = number * 10 + digit;
        at++;
    }
    if (at == first) {
        return lexer_expected(lexer, "an integer");
    }
    if (negative && number > (uint64_t)INT64_MAX + 1) {
        return lexer_fail(lexer, lexer->at, "integer does not fit in 64 bits");
    }
    *value = (int64_t)(negative ? -number : number);
    lexer->at = at;
    return true;
}

bool lexer_double(struct lexer *lexer, double *value)
{
    lexer_skip(lexer);
    struct number number;
    size_t size = number_read(lexer->at, lexer->end, &number);
    switch (number.kind) {
    case NUMBER_INT:
    case NUMBER_DECIMAL:
    case NUMBER_INFINITY:
        *value = number.real;
        lexer->at += size;
        return true;
    case NUMBER_NAN:
        *value = number.negative ? -(double)NAN : (double)NAN;
        lexer->at += size;
        return true;
    case NUMBER_TOO_LARGE:
        return lexer_fail(lexer, lexer->at, "number is out of range");
    default:
        return lexer_expected(lexer, "a number");
    }
}

bool lexer_bool(struct lexer *lexer, bool *value)
{
    if (lexer_accept_word(lexer, "true")) {
        *value = true;
        return true;
    }
    if (lexer_accept_word(lexer, "false")) {
        *value = false;
        return true;
    }
    return lexer_expected(lexer, "true or false");
}

/* --- strings --- */

static int digit_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* A number of at most `most` digits; passes over them. */
static uint32_t escape_number(const char **at, int base, int most)
{
    uint32_t value = 0;
    for (int i = 0; i < most && digit_value(**at) < base; i++) {
        value =
            value > 0xffffff ? 0xffffffff : value * (uint32_t)base + (uint32_t)digit_value(**at);
        ++*at;
    }
    return value;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* One escape after the backslash at `at`; NULL if it is none of C's. */
static const char *unescape_one(const char *at, char **out)
{
    static const char letters[] = "abfnrtv\\?'\"", values[] = "\a\b\f\n\r\t\v\\?'\"";
    char c = *at++;
    const char *letter = c != '\0' ? strchr(letters, c) : NULL;
    if (letter != NULL) {
        *(*out)++ = values[letter - letters];
        return at;
    }
    const char *digits = at;
    if (c >= '0' && c <= '7') {
        at--;
        uint32_t value = escape_number(&at, 8, 3);
        *(*out)++ = (char)value;
        return value <= 0xff ? at : NULL;
    }
    if (c == 'x' || c == 'X') {
        uint32_t value = escape_number(&at, 16, 1 << 30);
        *(*out)++ = (char)value;
        return at > digits && value <= 0xff ? at : NULL;
    }
    if (c == 'u' || c == 'U') {
        int count = c == 'u' ? 4 : 8;
        uint32_t value = escape_number(&at, 16, count);
        if (at - digits != count || value > 0x10ffff) {
            return NULL;
        }
        *out = put_utf8(*out, value);
        return at;
    }
    return NULL;
}

bool lexer_string(struct lexer *lexer, struct arena *arena, struct bytes *value)
{
    lexer_skip(lexer);
    char quote = *lexer->at;
    if (quote != '"' && quote != '\'') {
        return lexer_expected(lexer, "a string");
    }
    const char *begin = lexer->at + 1;
    const char *end = memchr(begin, quote, (size_t)(lexer->end - begin));
    const char *escape = end != NULL ? memchr(begin, '\\', (size_t)(end - begin)) : NULL;
    if (end != NULL && escape == NULL) {
        value->size = (size_t)(end - begin);
        value->data = arena_string(arena, begin, value->size);
        lexer->at = end + 1;
        return true;
    }
    const char *at = escape != NULL ? escape : begin;
    while (at < lexer->end && *at != quote) {
        at += 1 + (*at == '\\');
    }
    if (at >= lexer->end) {
        return lexer_fail(lexer, lexer->at, "string without an end");
    }
    end = at;
    char *copy = arena_alloc(arena, (size_t)(end - begin) + 1), *out = copy;
    for (at = begin; at < end;) {
        if (*at != '\\') {
            *out++ = *at++;
            continue;
        }
        const char *place = at;
        at = unescape_one(at + 1, &out);
        if (at == NULL || at > end) {
            return lexer_fail(lexer, place, "unknown escape in a string");
        }
    }
    value->data = copy;
    value->size = (size_t)(out - copy);
    lexer->at = end + 1;
    return true;
}

bool lexer_c_string(struct lexer *lexer, struct arena *arena, const char **value)
{
    lexer_skip(lexer);
    const char *begin = lexer->at;
    struct bytes bytes;
    if (!lexer_string(lexer, arena, &bytes)) {
        return false;
    }
    if (memchr(bytes.data, '\0', bytes.size) != NULL) {
        return lexer_fail(lexer, begin, "zero byte in a string");
    }
    *value = bytes.data;
    return true;
}

/* The end of the {…} at `at`, or NULL. */
static const char *pass_braces(const char *at, const char *end)
{
    int64_t depth = 0;
    while (at < end) {
        char c = *at++;
        if (c == '{') {
            depth++;
        } else if (c == '}' && --depth == 0) {
            return at;
        } else if (c == '"') {
            while (at < end && *at != '"') {
                at += 1 + (*at == '\\');
            }
            if (at >= end) {
                return NULL;
            }
            at++;
        }
    }
    return NULL;
}

bool lexer_braces(struct lexer *lexer, struct span *value)
{
    if (lexer_peek(lexer) != '{') {
        return lexer_expected(lexer, "'{'");
    }
    const char *begin = lexer->at, *end = pass_braces(begin, lexer->end);
    if (end == NULL) {
        return lexer_fail(lexer, begin, "'{' without a matching '}'");
    }
    *value = (struct span){begin, (size_t)(end - begin)};
    lexer->at = end;
    return true;
}

bool lexer_is_json(const char *text, size_t size)
{
    return size > 0 && text[0] == '{' && memchr(text, '\0', size) == NULL &&
           pass_braces(text, text + size) == text + size;
}
