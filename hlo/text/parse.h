/* The reader of HLO text: what its parts share. One recursive descent, one pass.
 * Source: xla/hlo/parser/hlo_parser.cc. */
#ifndef HLO_TEXT_PARSE_H
#define HLO_TEXT_PARSE_H

#include "hlo/attr.h"
#include "hlo/base/map.h"
#include "hlo/module.h"
#include "hlo/text/lexer.h"
#include "hlo/text/names.h"

/* Operands within operands and computations within attributes may nest this deep. */
enum { PARSE_MAX_NESTING = 2000 };

/* A growing stack of pointers; what nests in each other uses it from a base on. */
struct stack {
    void **items;
    size_t count, capacity;
};

struct parser {
    struct lexer lexer;
    struct module *module;
    struct arena *arena; /* of the module */
    struct names names;
    struct shape_cache shapes;
    struct map computations; /* by name */
    struct stack complete;   /* computations, callees first */
    struct stack pending;    /* instructions of computations that are not complete */
    struct stack scratch;    /* operands and lists while they are read */
    struct stack unnamed;    /* instructions whose name is only a wish */
    struct stack inlined;    /* computations whose name is only a wish */
    int64_t *ints;           /* a growing stack of integers, for lists while they are read */
    size_t int_count, int_capacity;
    int depth;
    uint64_t fills; /* number of the next {...} constant */
    bool is_single; /* a text of one instruction: operands become parameters */
    int invented;   /* parameters made up so */
    int mark;       /* the newest list of predecessors: marks those seen in instruction.id */
};

/* A computation while its instructions are read. */
struct scope {
    struct computation *computation;
    uint32_t names;
    size_t pending, unnamed; /* where its part of the stacks begins */
};

/* --- parse.c: stacks, lists, shapes --- */

void stack_push(struct stack *stack, void *item);
void ints_push(struct parser *parser, int64_t value);
/* Pops the integers from `base` on into an array of the arena. */
struct ints ints_take(struct parser *parser, size_t base);
/* {1,2}, or other brackets. */
bool parse_int_list(struct parser *parser, char open, char close, char separator,
                    struct ints *value);
/* A shape; the same text always gives the same pointer at little cost. */
const struct shape *parse_shape(struct parser *parser);
/* May a shape begin here? Nothing that begins with a word and '[' or with '(' is an opcode. */
bool parse_at_shape(struct parser *parser);
/* One level deeper, unless that is too deep; pair with parser->depth--. */
bool parse_deeper(struct parser *parser);
/* Fields without order in braces: {name=value name=value}, commas between them allowed. */
enum field_kind { FIELD_INT32, FIELD_STRING, FIELD_BYTES, FIELD_INTS };
struct field {
    const char *name;
    size_t size; /* of the name */
    enum field_kind kind;
    size_t offset; /* of an int64_t, const char *, struct bytes or struct ints */
    bool required;
};
#define FIELD_NAME(text) text, sizeof text - 1
bool parse_fields(struct parser *parser, const struct field *fields, int count, void *value);

/* --- parse_computation.c --- */

bool parse_computations(struct parser *parser);
/* The text of one instruction. */
bool parse_single_instruction(struct parser *parser);
/* "%name", or an inline computation in braces. */
bool parse_callee(struct parser *parser, struct computation **computation);
/* Begins a computation; its instructions follow until it is closed. */
struct computation *parse_open_computation(struct parser *parser, struct span name,
                                           struct scope *scope);
bool parse_close_computation(struct parser *parser, struct scope *scope);

/* --- parse_instruction.c --- */

/* Appends an instruction to the scope; operands are copied. Its name is still "". */
struct instruction *parse_add_instruction(struct parser *parser, struct scope *scope,
                                          enum opcode opcode, const struct shape *shape,
                                          size_t operand_count, void *const *operands);
/* Everything after "name =". Without a name the instruction is one nested among operands: it has
 * no attributes, and gets a name in the end. `at` is the place it is known by. */
struct instruction *parse_instruction(struct parser *parser, struct scope *scope,
                                      const struct span *name, const char *at);

/* Drops attributes that say what holds anyway, adds what XLA adds: equal instructions get equal
 * lists however they were written. */
void parse_tidy(struct instruction *instruction);

/* --- parse_result.c --- */

bool parse_needs_shape(enum opcode opcode);
bool parse_infer_shape(struct parser *parser, struct instruction *instruction, const char *at);
void parse_settle_shape(struct instruction *instruction);

/* --- parse_check.c --- */

/* Before the shape is inferred: operands, dimensions, channels. */
bool parse_check(struct parser *parser, const struct instruction *instruction, const char *at);
/* After that: attributes that count operands or leaves. */
bool parse_check_counts(struct parser *parser, const struct instruction *instruction,
                        const char *at);
bool parse_check_callers(const struct module *module, struct error *err);

/* --- parse_attr.c --- */

/* The computations an instruction's attributes name, until they are put in order. */
enum callee { /* the order of instruction.called */
              CALLEE_TO_APPLY,
              CALLEE_CALLS,
              CALLEE_BODY,
              CALLEE_CONDITION,
              CALLEE_SELECT,
              CALLEE_SCATTER,
              CALLEE_TRUE,
              CALLEE_FALSE,
              CALLEE_COUNT
};
struct callees {
    struct computation *single[CALLEE_COUNT];
    struct computation **list; /* branch_computations, called_computations */
    int list_count;
};
/* ", name=value" … to the end of the instruction, if it may have attributes. `wrapped` is the
 * opcode that async sugar wraps, or the instruction's own. `at`: where missing ones are reported.
 */
bool parse_attributes(struct parser *parser, struct scope *scope, struct instruction *instruction,
                      enum opcode wrapped, bool allowed, struct callees *callees, const char *at);
void parse_set_called(struct parser *parser, struct instruction *instruction,
                      const struct callees *callees);

/* --- parse_async.c --- */

/* `add-start(…)` and its kin: builds the computation that the instruction wraps, and calls it. */
bool parse_wrap(struct parser *parser, struct instruction *start, enum opcode wrapped,
                const struct callees *callees, const char *at);
/* What async instructions must be, and what they imply for the computation they call. */
bool parse_check_async(struct parser *parser, struct instruction *instruction, enum opcode wrapped,
                       const char *at);

/* --- parse_value.c, parse_sharding.c: one function a kind of attribute --- */

typedef bool parse_value_function(struct parser *parser, struct attr *attr);
parse_value_function parse_window, parse_padding, parse_slices, parse_dim_labels, parse_aliasing,
    parse_domain, parse_result_accuracy, parse_string_map, parse_metadata, parse_origin,
    parse_statistics, parse_sparsity, parse_groups, parse_sharding, parse_literal;
bool parse_metadata_value(struct parser *parser, struct metadata **metadata);
bool parse_sharding_value(struct parser *parser, const struct sharding **sharding);
bool parse_shape_index(struct parser *parser, struct ints *index);
/* {"name" {1}}: an array of the program before optimisation; the name may be absent. */
bool parse_original_array(struct parser *parser, const char **name, struct ints *index);

/* --- parse_mesh.c --- */

/* "[tile]<=[dims]T(perm)", or "[tile]1,0,…" if devices is not NULL. */
bool parse_tile_assignment(struct parser *parser, struct ints *tile, struct ints *dims,
                           struct ints *perm, struct ints *devices);
bool parse_at_mesh(struct parser *parser);
bool parse_mesh(struct parser *parser, struct mesh *mesh);
/* {"a","b":(1)2,?}; '?' only if open is not NULL, and last. */
bool parse_axes(struct parser *parser, const struct mesh *mesh, struct axis_refs *refs, bool *open);
struct axis_refs parse_all_axes(struct parser *parser, const struct mesh *mesh);

/* --- parse_header.c --- */

bool parse_header(struct parser *parser);
bool parse_frame_tables(struct parser *parser);

#endif
