/* Literals: values of shapes.
 *
 * Dense and row-major whatever the layout of the shape; one element per type_bytes() bytes;
 * sub-byte types one per byte, sign- or zero-extended. Complex elements are two parts, real first.
 * Literals are reference counted (thread-safe counts) and immutable once shared; the data may be
 * shared between literals of different shapes (reshape costs nothing). Source: xla/literal.h. */
#ifndef HLO_LITERAL_H
#define HLO_LITERAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/shape.h"

struct error;
struct text;

/* The bytes of one array, 64-byte aligned. */
struct buffer {
    atomic_int references;
    size_t size;
    void *data;
    /* One bit per element that HLO leaves open ("unspecified"), or NULL when there is none. */
    uint8_t *unspecified;
};

struct literal {
    atomic_int references;
    const struct shape *shape;
    struct buffer *buffer;     /* arrays; NULL otherwise */
    struct literal **elements; /* tuples; [shape->count] */
    int64_t *dynamic_sizes;    /* [rank] run-time sizes of a dynamic array, or NULL */
};

/* --- life --- */

/* Uninitialised array, or a tuple with uninitialised leaves (shape_static is not applied: dynamic
 * sizes start at the bounds). NULL and RESOURCE_EXHAUSTED when memory does not suffice. */
struct literal *literal_create(const struct shape *shape, struct error *err);
/* The same, all zero bytes. */
struct literal *literal_zero(const struct shape *shape, struct error *err);
/* Takes one reference to each element. */
struct literal *literal_tuple_take(const struct shape *shape, struct literal **elements);
/* A tree of the shape whose leaves, in order, the function gives (a reference each). NULL as soon
 * as it gives none. */
typedef struct literal *literal_make_leaf(void *context, const struct shape *shape,
                                          struct error *err);
struct literal *literal_build(const struct shape *shape, literal_make_leaf *make_leaf,
                              void *context, struct error *err);
/* The data of `from` under another shape of the same byte size; shares the buffer. */
struct literal *literal_view(const struct literal *from, const struct shape *shape);
struct literal *literal_retain(const struct literal *literal);
/* NULL is allowed. */
void literal_release(struct literal *literal);
/* Is the caller's reference the only one, so that it may be written in place? */
bool literal_is_unique(const struct literal *literal);
/* A literal with its own data: the same one if unique, else a copy (the reference passes). */
struct literal *literal_own_take(struct literal *literal, struct error *err);
/* The same with data of its own, tuples through and through. */
struct literal *literal_copy(const struct literal *from, struct error *err);

/* Limits the bytes held by all literals together; 0 = no limit (the default). Creation beyond the
 * limit fails with RESOURCE_EXHAUSTED. */
void literal_set_memory_limit(size_t bytes);
size_t literal_memory_in_use(void);
size_t literal_memory_peak(void);

/* --- elements --- */

/* Is a row-major index inside the run-time sizes? */
bool literal_has_element(const struct literal *array, int64_t index);
/* Have two arrays of one rank the same run-time sizes? */
bool literal_sizes_equal(const struct literal *a, const struct literal *b);

static inline void *literal_data(const struct literal *literal)
{
    return literal->buffer->data;
}
static inline int64_t literal_elements(const struct literal *literal)
{
    return shape_elements(literal->shape);
}
/* Real part (or value) of an element as a double; exact for types of at most 53 bits. */
double literal_get_double(const struct literal *literal, int64_t index);
double literal_get_imaginary(const struct literal *literal, int64_t index);
/* Value of a pred or integer element; u64 above INT64_MAX wraps. */
int64_t literal_get_int(const struct literal *literal, int64_t index);
/* The raw bits of an element of at most 64 bits. */
uint64_t literal_get_bits(const struct literal *literal, int64_t index);
/* Setters round once to the type. */
void literal_set_double(struct literal *literal, int64_t index, double value);
void literal_set_complex(struct literal *literal, int64_t index, double real, double imaginary);
void literal_set_int(struct literal *literal, int64_t index, int64_t value);
void literal_set_bits(struct literal *literal, int64_t index, uint64_t bits);

bool literal_is_unspecified(const struct literal *literal, int64_t index);
void literal_mark_unspecified(struct literal *literal, int64_t index);
bool literal_has_unspecified(const struct literal *literal); /* tuples too */

/* Equal shapes (layouts aside), dynamic sizes and bits. */
bool literal_equal(const struct literal *a, const struct literal *b);
uint64_t literal_hash(const struct literal *literal);
/* Leaf `n` of a nested tuple in depth-first order (a non-tuple is its own leaf 0). Borrowed. */
struct literal *literal_leaf(const struct literal *literal, int n);

/* --- text: the syntax of HLO constants --- */

/* Prints the value alone, canonical form as XLA's (row breaks as in Literal::ToString when
 * `multiline`, else the one-line constant form). limit > 0 elides arrays with more elements as
 * {...}. Floats print as XLA prints them (text/number.h), so that they read back to the same bits;
 * NaN payloads print as nan(0x…). */
void literal_print(const struct literal *literal, bool multiline, int64_t limit, struct text *out);
/* Reads a value of `shape` from text[0..size); *used bytes are consumed. */
struct literal *literal_parse(const struct shape *shape, const char *text, size_t size,
                              size_t *used, struct error *err);
/* Like literal_parse (which refuses them), but arrays written {...} get literal_fill(their shape,
 * *salt); *salt grows by one for each. */
struct literal *literal_parse_filled(const struct shape *shape, const char *text, size_t size,
                                     size_t *used, uint64_t *salt, struct error *err);
/* The documented fill for elided constants `{...}` of a module (see literal_fill.c); `salt` tells
 * the constants of one module apart. */
struct literal *literal_fill(const struct shape *shape, uint64_t salt, struct error *err);

#endif
