/* A cursor over HLO text: blanks, comments and log prefixes, words, numbers, strings, and the
 * places of errors. There are no token objects: a reader asks for what may stand next.
 * Source: xla/hlo/parser/hlo_lexer.cc; log prefixes: xla/tools/hlo_module_loader.cc. */
#ifndef HLO_TEXT_LEXER_H
#define HLO_TEXT_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"

struct arena;

/* What a character can be part of. */
enum {
    LEX_LETTER = 1, /* begins a name: letters and '_' */
    LEX_NAME = 2,   /* goes on in a name: also digits, '.' and '-' */
    LEX_DIGIT = 4,
    LEX_BLANK = 8, /* blanks, and '/', which may begin a comment */
};
extern const unsigned char lex_class[256];

/* Bytes that must follow the text: the first one is zero, so that scanning stops there. */
enum { LEX_PADDING = 16 };

struct span {
    const char *data;
    size_t size;
};

struct lexer {
    const char *text, *end; /* *end is zero */
    const char *at;         /* the next character */
    const char *file;       /* for messages; may be NULL */
    int first_line;         /* number of the first line */
    struct error *err;
    /* Lines are counted up to here only when asked for. */
    const char *counted, *line_start;
    int line;
};

/* text[size] must be zero. */
void lexer_init(struct lexer *lexer, const char *text, size_t size, const char *file,
                int first_line, struct error *err);
/* The place of a character of the text; cheap when asked in rising order. */
void lexer_place(struct lexer *lexer, const char *at, int *line, int *column);

/* --- errors; all return false --- */

bool lexer_fail(struct lexer *lexer, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "expected <what>, found <the next characters>" at the cursor. */
bool lexer_expected(struct lexer *lexer, const char *what);
/* Copies an error of a part reader, whose column counts bytes from `from`, with its place. */
bool lexer_take_error(struct lexer *lexer, const char *from, const struct error *err);

/* --- blanks --- */

void lexer_skip_slowly(struct lexer *lexer);
/* To the next character that is no blank, comment or log prefix. */
static inline void lexer_skip(struct lexer *lexer)
{
    if (*lexer->at == ' ') {
        lexer->at++;
    }
    if (lex_class[(unsigned char)*lexer->at] & LEX_BLANK) {
        lexer_skip_slowly(lexer);
    }
}
static inline char lexer_peek(struct lexer *lexer)
{
    lexer_skip(lexer);
    return *lexer->at;
}
static inline bool lexer_at_end(struct lexer *lexer)
{
    lexer_skip(lexer);
    return lexer->at >= lexer->end;
}

/* --- tokens --- */

static inline bool lexer_accept(struct lexer *lexer, char c)
{
    lexer_skip(lexer);
    if (*lexer->at == c && lexer->at < lexer->end) {
        lexer->at++;
        return true;
    }
    return false;
}
bool lexer_expect(struct lexer *lexer, char c);
bool lexer_expect_arrow(struct lexer *lexer); /* "->" */
/* "<=" */
bool lexer_accept_at_most(struct lexer *lexer);

/* Letters, digits, '_', '.' and '-', beginning with a letter or '_'; empty if there is none. */
static inline struct span lexer_word(struct lexer *lexer)
{
    lexer_skip(lexer);
    const char *begin = lexer->at, *at = begin;
    if (lex_class[(unsigned char)*at] & LEX_LETTER) {
        do {
            at++;
        } while (lex_class[(unsigned char)*at] & LEX_NAME);
    }
    lexer->at = at;
    return (struct span){begin, (size_t)(at - begin)};
}
static inline bool span_is(struct span span, const char *word)
{
    return strlen(word) == span.size && memcmp(span.data, word, span.size) == 0;
}
static inline bool span_is_any_case(struct span span, const char *word)
{
    return strlen(word) == span.size && strncasecmp(span.data, word, span.size) == 0;
}
/* Is the word next? Then passes over it. */
bool lexer_accept_word(struct lexer *lexer, const char *word);
/* "%name", "name" or "name:". Without the '%', reserved words are no names. */
bool lexer_name(struct lexer *lexer, struct span *name, const char *what);
/* "name=": the '=' must follow at once. */
bool lexer_attribute(struct lexer *lexer, struct span *name);
/* The word is a keyword or the name of a type, and can stand as a name only after '%'. */
bool lexer_is_reserved(const char *word, size_t size);

bool lexer_int(struct lexer *lexer, int64_t *value);
/* An integer, a decimal, inf or -inf. */
bool lexer_double(struct lexer *lexer, double *value);
bool lexer_bool(struct lexer *lexer, bool *value);
/* "…" or '…' with C escapes; a zero-terminated copy in the arena. */
bool lexer_string(struct lexer *lexer, struct arena *arena, struct bytes *value);
/* The same, as a C string: a zero byte inside is an error. */
bool lexer_c_string(struct lexer *lexer, struct arena *arena, const char **value);
/* {…} with balanced braces; those inside "…" do not count. */
bool lexer_braces(struct lexer *lexer, struct span *value);

/* Is the whole text one {…} with balanced braces? XLA prints such strings bare. */
bool lexer_is_json(const char *text, size_t size);

#endif
