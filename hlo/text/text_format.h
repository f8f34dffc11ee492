/* HLO text, read and written. Grammar: xla/hlo/parser/hlo_parser.cc, hlo_lexer.cc. */
#ifndef HLO_TEXT_TEXT_FORMAT_H
#define HLO_TEXT_TEXT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct module;
struct sharding;
struct text;

/* Reads one module from text[0..size). `name` stands in messages and module->source. `line` is
 * the number of the first line (1 unless the text is a part of a file). Log prefixes
 * ("I0521 12:04:45.883483 1509 file.cc:186] ") and "// RUN:" lines are passed over. Shapes that
 * are not written are inferred; NULL and *err with line and column on malformed text. */
struct module *text_read_module(const char *text, size_t size, const char *name, int line,
                                struct error *err);

struct print_options {
    bool percent;        /* names with % */
    bool operand_shapes; /* shapes before operand names */
    bool metadata;       /* metadata, origin, stack-frame tables */
    bool layouts;
    int64_t literal_limit; /* arrays with more elements print as {...}; 0 = print all */
};
/* What `convert` writes and what --round-trip reads back: all information, no % and no operand
 * shapes, every constant whole. */
extern const struct print_options print_canonical;
/* XLA's long dump form: % signs, operand shapes. */
extern const struct print_options print_long;
/* For people: no metadata, long constants elided. */
extern const struct print_options print_short;

/* A module of its own that is the same, but for the places of its instructions: printed and read
 * back. */
struct module *text_copy_module(const struct module *module, struct error *err);
void text_print_module(const struct module *module, const struct print_options *options,
                       struct text *out);
struct computation;
struct instruction;
void text_print_computation(const struct computation *computation,
                            const struct print_options *options, struct text *out);
/* One line without the leading blanks and the newline. */
void text_print_instruction(const struct instruction *instruction,
                            const struct print_options *options, struct text *out);
void text_print_sharding(const struct sharding *sharding, struct text *out);

#endif
