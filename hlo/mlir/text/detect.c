/* Does a text look like MLIR? HLO text begins with "HloModule", a computation, or an instruction;
 * both may begin with comments. */
#include "hlo/mlir/mlir_format.h"
#include "hlo/mlir/text/reader_internal.h"

/* To the first character that is no blank and in no comment, "//" or C's. */
static const char *skip(const char *at, const char *end)
{
    while (at < end) {
        if ((unsigned char)*at <= ' ') {
            at++;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
            const char *newline = memchr(at, '\n', (size_t)(end - at));
            at = newline != NULL ? newline : end;
        } else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
            const char *close = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
            at = close != NULL ? close + 2 : end;
        } else {
            break;
        }
    }
    return at;
}

static const char *pass(const char *at, const char *end, unsigned class)
{
    while (at < end && (reader_class_of(*at) & class) != 0) {
        at++;
    }
    return at;
}

/* "module @name", "module {", "module attributes"; or an op by its whole name. */
static bool word_begins_op(const char *begin, const char *end)
{
    const char *at = pass(begin, end, CLASS_WORD);
    struct span word = {begin, (size_t)(at - begin)};
    const char *next = skip(at, end);
    if (span_is(word, "module")) {
        return next < end && (*next == '@' || *next == '{' ||
                              (end - next > 10 && memcmp(next, "attributes", 10) == 0));
    }
    return mlir_opcode_of(word.data, word.size) != MLIR_OP_UNKNOWN;
}

/* "%a, %b:2 = " and then an op; HLO has a shape there. */
static bool names_begin_op(const char *at, const char *end)
{
    while (at < end && *at == '%') {
        at = skip(pass(at + 1, end, CLASS_SUFFIX), end);
        if (at < end && *at == ':') {
            at = skip(pass(skip(at + 1, end), end, CLASS_DIGIT), end);
        }
        if (at < end && *at == ',') {
            at = skip(at + 1, end);
        }
    }
    if (at >= end || *at != '=') {
        return false;
    }
    at = skip(at + 1, end);
    if (at >= end) {
        return false;
    }
    const char *word = pass(at, end, CLASS_WORD);
    return *at == '"' || memchr(at, '.', (size_t)(word - at)) != NULL;
}

bool mlir_is_text(const char *text, size_t size)
{
    const char *end = text + size, *at = skip(text, end);
    if (at >= end) {
        return false;
    }
    switch (*at) {
    case '#':
    case '!': {
        const char *next = skip(pass(at + 1, end, CLASS_SUFFIX), end);
        return next > at + 1 && next < end && *next == '=';
    }
    case '"': {
        const char *quote = memchr(at + 1, '"', (size_t)(end - at - 1));
        return quote != NULL && memchr(at, '.', (size_t)(quote - at)) != NULL &&
               memchr(at, '\n', (size_t)(quote - at)) == NULL;
    }
    case '{':
        return end - at >= 3 && memcmp(at, "{-#", 3) == 0;
    case '%':
        return names_begin_op(at, end);
    default:
        return word_begins_op(at, end);
    }
}
