/* MLIR in memory: what both readers (text and bytecode) make and what the translation to HLO and
 * the printer take. It is generic: any op of any dialect fits; the meaning of ops is nowhere here.
 *
 * Everything lives in the arena of one `struct mlir_file`. Types and strings (names, keys) are
 * interned in it, so that equal ones are the same pointer; attributes are not.
 *
 * Both readers give one form, whatever was written:
 * - names are those of today's StableHLO ("stablehlo.add"); versions and renamings end in the
 *   readers;
 * - the properties of an op (`<{…}>`) are attributes like any other;
 * - an attribute of a dialect is a DIALECT attribute with named parameters, its short spelling in
 *   an op (`stablehlo.compare EQ`) the same attribute;
 * - elements are dense, or splat, and stored as literals store them (hlo/literal.h).
 * Sources: mlir/docs/LangRef.md, mlir/include/mlir/IR/BuiltinAttributes.td, BuiltinTypes.td. */
#ifndef HLO_MLIR_IR_H
#define HLO_MLIR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/attr.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/opcode.h"
#include "hlo/types.h"

/* Ops that have a row in ops.def; the others are MLIR_OP_UNKNOWN and known by name only. */
enum mlir_opcode {
    MLIR_OP_UNKNOWN,
#define MLIR_OP(id, name, form, import, opcode) MLIR_OP_##id,
#include "hlo/mlir/ops.def"
    MLIR_OP_COUNT
};

/* --- types --- */

enum mlir_type_kind {
    MLIR_INTEGER,    /* i8, si8, ui8 */
    MLIR_INDEX,      /* index */
    MLIR_FLOAT,      /* f32, bf16, f8E4M3FN … */
    MLIR_COMPLEX,    /* complex<f32> */
    MLIR_NONE,       /* none */
    MLIR_TUPLE,      /* tuple<…> */
    MLIR_FUNCTION,   /* (…) -> … */
    MLIR_TENSOR,     /* tensor<2x?xf32, encoding> */
    MLIR_UNRANKED,   /* tensor<*xf32> */
    MLIR_VECTOR,     /* vector<4xf32> */
    MLIR_MEMREF,     /* memref<2xf32, layout, space> */
    MLIR_TOKEN,      /* !stablehlo.token */
    MLIR_FUTURE,     /* !stablehlo.future<…> */
    MLIR_QUANTIZED,  /* !quant.uniform<i8:f32, 0.5:3> */
    MLIR_OTHER_TYPE, /* !dialect.body<…>, kept as text */
};
enum mlir_sign { MLIR_SIGNLESS, MLIR_SIGNED, MLIR_UNSIGNED };

#define MLIR_DYNAMIC INT64_MIN /* the size of a dimension written "?" */

/* A quantized element (mlir/Dialect/Quant/IR/QuantTypes.h, and StableHLO's specification,
 * "Quantized types"): real value = (stored − zero point) · scale. */
struct mlir_quantized {
    const struct mlir_type *storage;   /* an integer */
    const struct mlir_type *expressed; /* a float */
    int64_t minimum, maximum;          /* of the stored integers */
    int axis_count;                    /* 0: one scale for all; 1: per axis; more: per block */
    const int64_t *axes;               /* dimensions that scales go along */
    const int64_t *block_sizes;        /* [axis_count]; 0 for per-axis types */
    int rank;                          /* of the arrays of scales: max(axis_count, 1) */
    const int64_t *counts;             /* [rank] scales along each axis; product = count */
    int count;
    const double *scales;       /* [count], row-major over axes */
    const int64_t *zero_points; /* [count] */
};

struct mlir_type {
    enum mlir_type_kind kind;
    /* The HLO type of a scalar of this type: i1 is PRED, index S64, a quantized one its storage's.
     * INVALID when HLO has none, and for what is no scalar. */
    enum type element_type;
    int width;            /* INTEGER, FLOAT: bits */
    enum mlir_sign sign;  /* INTEGER */
    const char *name;     /* FLOAT: its spelling; OTHER_TYPE: all of its text, with the "!" */
    int rank;             /* TENSOR, VECTOR, MEMREF */
    const int64_t *sizes; /* [rank]; MLIR_DYNAMIC for "?" */
    const struct mlir_type *element;      /* COMPLEX, shaped ones */
    const struct mlir_attr *encoding;     /* TENSOR: or NULL; MEMREF: the text after the element */
    int count, result_count;              /* TUPLE, FUTURE: count; FUNCTION: inputs and results */
    const struct mlir_type *const *types; /* [count + result_count] */
    const struct mlir_quantized *quantized;
};

/* --- attributes --- */

enum mlir_attr_kind {
    MLIR_ATTR_UNIT,
    MLIR_ATTR_BOOL,       /* true, false: an integer of type i1 */
    MLIR_ATTR_INT,        /* 3 : i64 */
    MLIR_ATTR_FLOAT,      /* 1.0 : f32 */
    MLIR_ATTR_STRING,     /* "…" */
    MLIR_ATTR_TYPE,       /* tensor<2xf32> */
    MLIR_ATTR_ARRAY,      /* […] */
    MLIR_ATTR_DICTIONARY, /* {…} */
    MLIR_ATTR_SYMBOL,     /* @a::@b */
    MLIR_ATTR_DENSE,      /* dense<…> : tensor<…>; sparse ones are made dense */
    MLIR_ATTR_STRINGS,    /* dense<["a", "b"]> : tensor<2x!tf.string> */
    MLIR_ATTR_RESOURCE,   /* dense_resource<key> : tensor<…>, when the file lacks its blob */
    MLIR_ATTR_INTS,       /* array<i64: 1, 2>; array<i1: …> too */
    MLIR_ATTR_FLOATS,     /* array<f32: 1.0> */
    MLIR_ATTR_DIALECT,  /* #stablehlo.gather<offset_dims = [0], …>, #stablehlo<precision HIGH> */
    MLIR_ATTR_LOCATION, /* loc(…) */
    MLIR_ATTR_OTHER,    /* #dialect.body<…>, affine_map<…>, …: kept as text */
};

struct mlir_named {
    const char *key; /* interned */
    struct mlir_attr *value;
};
struct mlir_dictionary {
    int count;
    struct mlir_named *entries; /* sorted by key, byte by byte */
};

struct mlir_attr {
    enum mlir_attr_kind kind;
    /* BOOL, INT, FLOAT: of the value; INTS, FLOATS: of an element; DENSE, STRINGS, RESOURCE: the
     * tensor or vector; TYPE: the type itself; STRING: or NULL. */
    const struct mlir_type *type;
    union {
        int64_t integer;     /* BOOL, INT; an unsigned one keeps its bits */
        double number;       /* FLOAT, as its type rounds it */
        struct bytes string; /* STRING; SYMBOL: the root name; OTHER: the text; RESOURCE: the key */
        struct {
            int count;
            struct mlir_attr **elements;
        } array;          /* ARRAY; SYMBOL: see `nested` */
        struct ints ints; /* INTS */
        struct {
            int count;
            const double *values;
        } floats;                          /* FLOATS */
        struct mlir_dictionary dictionary; /* DICTIONARY */
        struct {
            /* Elements as a literal of the element's HLO type stores them: type_bytes() each,
             * row-major; one element alone when splat. Complex: real, imaginary. Owned by the
             * arena, 16-byte aligned. */
            const void *data;
            int64_t count; /* elements of `type` */
            bool splat;
        } dense;
        struct {
            int count;
            const struct bytes *values; /* [count]; one alone when splat */
            bool splat;
        } strings;
        struct {
            const char *dialect;  /* "stablehlo" */
            const char *mnemonic; /* "gather", "precision" */
            const char *word;     /* of an enumeration ("HIGH"); NULL: it has parameters */
            struct mlir_dictionary parameters; /* with those that text may leave out */
        } dialect;
        struct mlir_location *location;
    };
    /* SYMBOL: the names after the root, or 0. */
    int nested_count;
    const char *const *nested;
};

enum mlir_location_kind {
    MLIR_LOC_UNKNOWN,
    MLIR_LOC_FILE,  /* "file":line:column, to end_line:end_column unless that line is 0 */
    MLIR_LOC_NAME,  /* "name"(child) */
    MLIR_LOC_CALL,  /* callsite(children[0] at children[1]) */
    MLIR_LOC_FUSED, /* fused<metadata>[children] */
};
struct mlir_location {
    enum mlir_location_kind kind;
    const char *text; /* FILE: the file; NAME: the name */
    int64_t line, column, end_line, end_column;
    int count;
    struct mlir_location **children;
    struct mlir_attr *metadata;
};

/* --- ops --- */

struct mlir_op;
struct mlir_block;
struct mlir_region;

/* A result of an op or an argument of a block. */
struct mlir_value {
    const struct mlir_type *type;
    struct mlir_op *op;       /* NULL for an argument */
    struct mlir_block *block; /* NULL for a result */
    int index;
    const char *name; /* as written, without the "%", or NULL; results of "%0:2" share it */
    void *user;       /* free for whoever works on the file */
};

struct mlir_op {
    enum mlir_opcode opcode;
    const char *name;         /* "stablehlo.add"; interned */
    struct mlir_block *block; /* where it stands; NULL for the outermost */
    int operand_count, result_count, region_count, successor_count;
    struct mlir_value **operands;
    struct mlir_value *results;
    struct mlir_region *regions;
    struct mlir_block **successors;
    struct mlir_dictionary attrs;
    struct mlir_location *location; /* or NULL */
    int line, column;               /* in the text; 0, offset in the bytecode */
};

struct mlir_block {
    struct mlir_region *region;
    const char *label; /* "bb0", or NULL */
    int argument_count, count;
    struct mlir_value *arguments;
    struct mlir_op **ops;
};

struct mlir_region {
    struct mlir_op *parent;
    int count;
    struct mlir_block **blocks;
};

struct mlir_file {
    struct arena arena;
    const char *name; /* of the file, for messages; may be NULL */
    /* The outermost op: the builtin.module that was written, or one made around what was. */
    struct mlir_op *module;
    bool module_was_implied;
    struct map strings, types;
    struct map resources; /* key → struct mlir_attr of kind STRING: the blob */
    const char *producer; /* of bytecode: "StableHLO_v1.13.0", "MLIR22.0.0git"; or NULL */
};

/* --- life --- */

struct mlir_file *mlir_file_create(const char *name);
void mlir_file_destroy(struct mlir_file *file); /* NULL is allowed */

/* --- making --- */

/* The one copy of text[0..size). */
const char *mlir_intern(struct mlir_file *file, const char *text, size_t size);
/* MLIR_OP_UNKNOWN when ops.def has no row of that name. Aliases ("return") are none of its
 * business.
 */
enum mlir_opcode mlir_opcode_of(const char *name, size_t size);
const char *mlir_opcode_name(enum mlir_opcode opcode);
/* The HLO opcode that it becomes, by ops.def; OPCODE_COUNT: none, or several. */
enum opcode mlir_opcode_hlo(enum mlir_opcode opcode);

const struct mlir_type *mlir_integer(struct mlir_file *file, int width, enum mlir_sign sign);
const struct mlir_type *mlir_index(struct mlir_file *file);
/* NULL when no float type is spelled so. */
const struct mlir_type *mlir_float(struct mlir_file *file, const char *name, size_t size);
const struct mlir_type *mlir_complex(struct mlir_file *file, const struct mlir_type *element);
/* NONE and TOKEN. */
const struct mlir_type *mlir_simple(struct mlir_file *file, enum mlir_type_kind kind);
const struct mlir_type *mlir_tuple(struct mlir_file *file, enum mlir_type_kind kind, int count,
                                   const struct mlir_type *const *types);
const struct mlir_type *mlir_function(struct mlir_file *file, int count, int result_count,
                                      const struct mlir_type *const *types);
/* TENSOR, VECTOR, MEMREF; UNRANKED with rank 0. */
const struct mlir_type *mlir_shaped(struct mlir_file *file, enum mlir_type_kind kind,
                                    const struct mlir_type *element, int rank, const int64_t *sizes,
                                    const struct mlir_attr *encoding);
const struct mlir_type *mlir_quantized(struct mlir_file *file,
                                       const struct mlir_quantized *quantized);
const struct mlir_type *mlir_other_type(struct mlir_file *file, const char *text, size_t size);
/* The type of HLO's elements: f32, ui8, complex<f64>, i1 for pred … */
const struct mlir_type *mlir_type_of_hlo(struct mlir_file *file, enum type type);
/* mlir_shaped of HLO's type. */
const struct mlir_type *mlir_tensor(struct mlir_file *file, enum type type, int rank,
                                    const int64_t *sizes);

struct mlir_attr *mlir_attr_new(struct mlir_file *file, enum mlir_attr_kind kind);
struct mlir_attr *mlir_attr_int(struct mlir_file *file, int64_t value,
                                const struct mlir_type *type);
struct mlir_attr *mlir_attr_string(struct mlir_file *file, const char *text, size_t size);
struct mlir_attr *mlir_attr_symbol(struct mlir_file *file, const char *text, size_t size);
/* array<i64: …>. */
struct mlir_attr *mlir_attr_ints(struct mlir_file *file, int count, const int64_t *values);
/* #dialect<mnemonic word>. */
struct mlir_attr *mlir_attr_word(struct mlir_file *file, const char *dialect, const char *mnemonic,
                                 const char *word, size_t size);
/* Adds or replaces; keeps the order of keys. The key is interned. */
void mlir_set(struct mlir_file *file, struct mlir_dictionary *dictionary, const char *key,
              struct mlir_attr *value);

/* An op that stands nowhere yet: operands and results are arrays to fill. */
struct mlir_op *mlir_op_new(struct mlir_file *file, const char *name, size_t size,
                            int operand_count, int result_count, int region_count);
struct mlir_block *mlir_block_add(struct mlir_file *file, struct mlir_region *region,
                                  int argument_count);
/* Gives the block its ops, all at once, and each op its block. */
void mlir_block_set_ops(struct mlir_file *file, struct mlir_block *block, int count,
                        struct mlir_op *const *ops);

/* --- asking --- */

/* NULL when there is none. The key need not be interned. */
struct mlir_attr *mlir_get(const struct mlir_dictionary *dictionary, const char *key);
static inline struct mlir_attr *mlir_op_attr(const struct mlir_op *op, const char *key)
{
    return mlir_get(&op->attrs, key);
}
int64_t mlir_type_elements(const struct mlir_type *type); /* −1 with dynamic dimensions */
bool mlir_type_is_static(const struct mlir_type *type);
/* Equal values, types included. */
bool mlir_attr_equal(const struct mlir_attr *a, const struct mlir_attr *b);
/* A string, list, dictionary or dense elements of nothing; false for other kinds. */
bool mlir_attr_is_empty(const struct mlir_attr *attr);
/* #dialect<mnemonic word> of any dialect; mnemonic NULL: of any. */
bool mlir_attr_is_word(const struct mlir_attr *attr, const char *mnemonic, const char *word);
/* The op of the symbol table of `module` whose sym_name is that; NULL when there is none. */
struct mlir_op *mlir_find_symbol(const struct mlir_op *module, const char *name);
/* Integers of INTS, of a DENSE of integers, or of an ARRAY of INT; false for other attributes. */
bool mlir_attr_as_ints(struct mlir_file *file, const struct mlir_attr *attr, struct ints *ints);
struct where mlir_where(const struct mlir_file *file, const struct mlir_op *op);

#endif
