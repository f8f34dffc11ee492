/* Errors are values. A function that can fail returns false (or NULL) and fills *err; the first
 * error wins: later calls on a filled error change nothing. */
#ifndef HLO_BASE_ERROR_H
#define HLO_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>

enum error_code {
    ERROR_NONE,
    ERROR_INVALID_ARGUMENT,   /* the input is malformed or violates XLA's rules */
    ERROR_UNIMPLEMENTED,      /* valid, but not supported here */
    ERROR_RESOURCE_EXHAUSTED, /* memory or size limits */
    ERROR_NOT_FOUND,          /* a file, plugin or symbol is missing */
    ERROR_DEADLINE_EXCEEDED,
    ERROR_ABORTED,  /* a backend crashed */
    ERROR_INTERNAL, /* a bug here */
};

/* A place in an input. line and column count from 1; 0 means unknown. */
struct where {
    const char *file;
    int line, column;
};

struct error {
    enum error_code code;
    char message[1024];
    char file[512];
    int line, column;
    char source[256]; /* the source line, for the caret; empty if unknown */
    int source_start; /* bytes of a long line that are left out before source */
};

/* Both always return false, so that `return error_set(err, …)` reads well. err may be NULL. */
bool error_set(struct error *err, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool error_at(struct error *err, struct where where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void error_clear(struct error *err);
/* Puts "text: " before the message of a filled error; returns false. */
bool error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fills err->source with line err->line of text[0..size), for the caret; of a long line, with what
 * is around err->column. */
void error_quote(struct error *err, const char *text, size_t size);
const char *error_code_text(enum error_code code);

struct text;
/* "file:line:col: message\n  source\n     ^\n" as far as known. */
void error_print(const struct error *err, struct text *out);

#endif
