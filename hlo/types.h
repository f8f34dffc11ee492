/* Primitive types: what an element is.
 * Source: xla/xla_data.proto (PrimitiveType), xla/primitive_util.h. */
#ifndef HLO_TYPES_H
#define HLO_TYPES_H

#include <stdbool.h>
#include <stddef.h>

enum type {
#define TYPE(id, text, number, kind, bits, bytes) TYPE_##id = number,
#include "hlo/types.def"
};
#define TYPE_COUNT 37 /* one more than the largest number */

/* How arithmetic on a type works; NONE has no elements (tuple, token, opaque, buffer). */
enum type_kind { KIND_NONE, KIND_PRED, KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT, KIND_COMPLEX };

struct type_info {
    const char *text;
    enum type_kind kind;
    int bits;  /* significant bits of one element */
    int bytes; /* bytes of one element in a literal */
};

extern const struct type_info type_table[TYPE_COUNT];

/* Spelling in HLO text, e.g. "bf16". */
const char *type_text(enum type type);
/* The type spelled by text[0..size), or TYPE_INVALID. */
enum type type_from_text(const char *text, size_t size);

static inline enum type_kind type_kind(enum type type)
{
    return type_table[type].kind;
}
static inline int type_bytes(enum type type)
{
    return type_table[type].bytes;
}
static inline int type_bits(enum type type)
{
    return type_table[type].bits;
}
/* An element type of arrays: pred, integers, floats, complex. */
static inline bool type_is_array(enum type type)
{
    return type_kind(type) != KIND_NONE;
}
static inline bool type_is_float(enum type type)
{
    return type_kind(type) == KIND_FLOAT;
}
static inline bool type_is_complex(enum type type)
{
    return type_kind(type) == KIND_COMPLEX;
}
/* Signed or unsigned integer; pred is not one. */
static inline bool type_is_integer(enum type type)
{
    return type_kind(type) == KIND_SIGNED || type_kind(type) == KIND_UNSIGNED;
}
/* c64 → f32, c128 → f64; any other type is its own part. */
enum type type_part(enum type type);
/* f32 → c64, f64 → c128; INVALID otherwise. */
enum type type_complex_of(enum type part);

#endif
