/* Text builder: a growing, always zero-terminated string. */
#ifndef HLO_BASE_TEXT_H
#define HLO_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data; /* never NULL after text_init */
    size_t size, capacity;
};

void text_init(struct text *text);
void text_finish(struct text *text);
/* Empties it, keeps the memory. */
void text_clear(struct text *text);
/* The string, owned by the caller (free()); the builder is empty afterwards. */
char *text_take(struct text *text);
void text_append(struct text *text, const char *string);
void text_append_n(struct text *text, const char *data, size_t size);
/* Every line of `lines` behind the indent. */
void text_append_lines(const char *lines, const char *indent, struct text *out);
void text_char(struct text *text, char c);
void text_int(struct text *text, int64_t value);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list args);
/* Appends string with C escapes (\n \t \" \' \\ and octal for the rest), without quotes. */
void text_escape(struct text *text, const char *data, size_t size);
/* Appends a word as a shell takes it: in single quotes where something in it needs them. */
void text_shell(struct text *text, const char *word);
/* The same, always in quotes. */
void text_quoted(struct text *text, const char *word);
/* How many bytes the well-formed UTF-8 sequence has that begins at `at` (zero-terminated); 0 if
 * none does. */
int utf8_length(const char *at);
/* Appends string for HTML and XML, as text or in a quoted attribute: & < > " ' become entities;
 * bytes that are no UTF-8, and characters that XML 1.0 does not have, become '?'. */
void text_markup(struct text *text, const char *string);

#endif
