/* Errors as values: filling, prefixing and printing them. */
#include "hlo/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hlo/base/text.h"

static const char *const code_texts[] = {
    [ERROR_NONE] = "OK",
    [ERROR_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [ERROR_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [ERROR_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [ERROR_NOT_FOUND] = "NOT_FOUND",
    [ERROR_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
    [ERROR_ABORTED] = "ABORTED",
    [ERROR_INTERNAL] = "INTERNAL",
};

const char *error_code_text(enum error_code code)
{
    return code_texts[code];
}

bool error_set(struct error *err, enum error_code code, const char *format, ...)
{
    if (err != NULL && err->code == ERROR_NONE) {
        err->code = code;
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return false;
}

bool error_at(struct error *err, struct where where, const char *format, ...)
{
    if (err != NULL && err->code == ERROR_NONE) {
        err->code = ERROR_INVALID_ARGUMENT;
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        snprintf(err->file, sizeof err->file, "%s", where.file != NULL ? where.file : "");
        err->line = where.line;
        err->column = where.column;
    }
    return false;
}

void error_clear(struct error *err)
{
    memset(err, 0, sizeof *err);
}

bool error_prefix(struct error *err, const char *format, ...)
{
    if (err == NULL || err->code == ERROR_NONE) {
        return false;
    }
    char old[sizeof err->message];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    size_t at = used >= 0 && (size_t)used < sizeof err->message - 3 ? (size_t)used
                                                                    : sizeof err->message - 3;
    memcpy(err->message + at, ": ", 3);
    strncat(err->message, old, sizeof err->message - at - 3);
    return false;
}

void error_quote(struct error *err, const char *text, size_t size)
{
    if (err == NULL || err->line <= 0) {
        return;
    }
    const char *line = text, *end = text + size;
    for (int i = 1; i < err->line && line < end; i++) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        line = next != NULL ? next + 1 : end;
    }
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    size_t length = (size_t)((stop != NULL ? stop : end) - line);
    size_t start = err->column > 100 ? (size_t)err->column - 100 : 0;
    if (length < sizeof err->source || start > length) {
        start = 0;
    }
    length = length - start < sizeof err->source ? length - start : sizeof err->source - 1;
    memcpy(err->source, line + start, length);
    err->source[length] = '\0';
    err->source_start = (int)start;
}

void error_print(const struct error *err, struct text *out)
{
    if (err->file[0] != '\0') {
        text_printf(out, "%s:", err->file);
    }
    if (err->line > 0) {
        text_printf(out, "%d:", err->line);
        if (err->column > 0) {
            text_printf(out, "%d:", err->column);
        }
    }
    if (out->size > 0 && out->data[out->size - 1] == ':') {
        text_char(out, ' ');
    }
    text_printf(out, "%s: %s\n", error_code_text(err->code), err->message);
    if (err->source[0] == '\0') {
        return;
    }
    /* Long lines are cut to a stretch around the caret. */
    size_t length = strlen(err->source);
    long place = err->column > 0 ? (long)err->column - 1 - err->source_start : 0;
    if (place < 0 || (size_t)place > length) { /* the end of the line is a place, too */
        return;
    }
    size_t caret = (size_t)place;
    size_t from = caret > 80 ? caret - 60 : 0;
    text_append(out, "  ");
    for (size_t i = from; i < length && i < from + 100; i++) {
        char c = err->source[i];
        text_char(out, c >= ' ' && c != 127 ? c : ' ');
    }
    text_append(out, "\n  ");
    for (size_t i = from; i < caret; i++) {
        text_char(out, ' ');
    }
    text_append(out, "^\n");
}
