/* MLIR bytecode → struct mlir_file: what the files of this folder share.
 *
 * A file is a string table, a table of dialects, one of op names, one of attributes and types, and
 * ops that refer to them by index. An attribute or type is an entry: some bytes, either text, or an
 * encoding of its dialect's own, which begins with a code. The dialects whose encodings are known
 * are the rows of bytecode_dialects (dialects.c). Entries are decoded when they are first referred
 * to; cycles and depth are guarded there.
 *
 * Every function that can fail returns false or NULL and has filled bytecode->err; errors name the
 * dialect, its version, and the offset in the file.
 * Sources: mlir/docs/BytecodeFormat.md; mlir/lib/Bytecode (reader, writer). */
#ifndef HLO_MLIR_BYTECODE_BYTECODE_H
#define HLO_MLIR_BYTECODE_BYTECODE_H

#include "hlo/mlir/mlir_format.h"

struct dialect_reader;

/* A dialect that a file names. */
struct bytecode_dialect {
    const char *name;                    /* interned */
    const struct dialect_reader *reader; /* NULL: its entries must be text */
    bool has_version;
    /* major, minor, patch, of dialects that write three varints; zeros otherwise. */
    int64_t version[3];
};

struct bytecode_op_name {
    const char *name; /* "stablehlo.add"; interned */
    size_t size;
    const struct bytecode_dialect *dialect;
    bool is_registered; /* its properties are in its own encoding, not one attribute */
    /* Its rows, one after the other; or NULL: it has none, or they are not known. */
    const struct op_properties *properties;
    int layout_count;
};

struct bytecode_string {
    const char *text; /* borrowed from the data; a zero follows */
    size_t size;
};

/* An attribute or a type of the tables. */
struct bytecode_entry {
    const uint8_t *data;
    size_t size;
    const struct bytecode_dialect *dialect;
    bool is_custom; /* in the dialect's own encoding, not text */
    bool is_open;   /* is being decoded: a cycle, if it is met again */
    /* The entries it refers to, and what they refer to, each as often as it is referred to: what
     * it takes to print it. Bounded. */
    uint32_t weight;
    void *value; /* struct mlir_attr or struct mlir_type, once decoded */
};

struct bytecode {
    struct mlir_file *file;
    struct error *err;
    const uint8_t *data; /* the whole file */
    size_t size;
    uint64_t version; /* of the container, 0 to 6 */
    size_t string_count, dialect_count, op_name_count, attr_count, type_count;
    struct bytecode_string *strings;
    struct bytecode_dialect *dialects;
    struct bytecode_op_name *op_names;
    struct bytecode_entry *attrs, *types;
    size_t resource_count;
    struct bytecode_string *resources; /* keys, in order: what handles refer to */
    size_t property_count;
    struct bytecode_string *properties; /* not followed by a zero */
    int depth;                          /* of entries that are being decoded */
};

/* Bytes [at, end) of the file: an entry, properties, or a section. */
struct cursor {
    struct bytecode *bytecode;
    const uint8_t *at, *end;
    const struct bytecode_dialect *dialect; /* of the entry; NULL in sections; for messages */
    uint32_t weight;                        /* of the entries that were referred to */
};

/* How a registered op writes its properties, from version 5 of the container on: its attributes,
 * sorted by name; those that may be absent (also since they have a default) end in "?". Then,
 * "operandSegmentSizes[n]", "resultSegmentSizes[n]": n integers. An op that had fewer in the past
 * has a row for each number of them, one after the other. */
struct op_properties {
    const char *name;  /* "compare" */
    const char *attrs; /* "compare_type? comparison_direction" */
};

/* The encodings of a dialect. */
struct dialect_reader {
    const char *name;
    bool is_versioned; /* its version is three varints */
    /* The attribute or type that follows its code; these return NULL without an error for a code
     * that they do not know. NULL: the dialect encodes none itself. */
    struct mlir_attr *(*read_attr)(struct cursor *cursor, uint64_t code);
    const struct mlir_type *(*read_type)(struct cursor *cursor, uint64_t code);
    /* Rows for ops that have properties. */
    const struct op_properties *ops;
    size_t op_count;
};

/* --- rows of dialects.c; others, of which only properties are known, are there --- */

extern const struct dialect_reader builtin_dialect;
extern const struct dialect_reader stablehlo_dialect;
extern const struct dialect_reader chlo_dialect;
extern const struct dialect_reader quant_dialect;
extern const struct dialect_reader sdy_dialect;
extern const struct dialect_reader vhlo_dialect; /* vhlo.c */

/* NULL for a dialect of which nothing is known. */
const struct dialect_reader *bytecode_dialect_reader(const char *name, size_t size);

/* Makes today's StableHLO of the ops, attributes and types of the dialect vhlo. Called once, after
 * the whole of a file that names that dialect was read. */
bool vhlo_upgrade(struct bytecode *bytecode, const struct bytecode_dialect *dialect);

/* --- cursors --- */

/* Always false: "bytecode: dialect vhlo 1.13.0, offset 0x123: message". */
bool cursor_fail(struct cursor *cursor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with ERROR_UNIMPLEMENTED: well-formed, but not known here. */
bool cursor_refuse(struct cursor *cursor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* With any code. */
bool cursor_fail_code(struct cursor *cursor, enum error_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
size_t cursor_left(const struct cursor *cursor);

bool cursor_byte(struct cursor *cursor, uint8_t *value);
bool cursor_bool(struct cursor *cursor, bool *value); /* a byte, 0 or 1 */
bool cursor_varint(struct cursor *cursor, uint64_t *value);
bool cursor_svarint(struct cursor *cursor, int64_t *value);
/* value << 1 | flag. */
bool cursor_flagged(struct cursor *cursor, uint64_t *value, bool *flag);
/* The number of elements that follow, each of `least` bytes or more, so that no more than fit are
 * ever asked for. */
bool cursor_count(struct cursor *cursor, size_t least, int *count);
bool cursor_bytes(struct cursor *cursor, size_t size, const uint8_t **data);
/* Size and bytes. */
bool cursor_blob(struct cursor *cursor, const uint8_t **data, size_t *size);
/* The index of a string. */
bool cursor_string(struct cursor *cursor, struct bytecode_string *string);
/* An interned copy of it; fails if it has a zero byte within. */
bool cursor_name(struct cursor *cursor, const char **name);
/* Count and svarints, in the arena. */
bool cursor_svarints(struct cursor *cursor, struct ints *ints);
/* The bits of an integer or float of that width ≤ 64, as MLIR writes APInt and APFloat: zero-
 * extended. */
bool cursor_bits(struct cursor *cursor, int width, uint64_t *bits);
/* A float of the type: its value. */
bool cursor_float(struct cursor *cursor, const struct mlir_type *type, double *value);

/* --- references to entries: an index, which is resolved (decoded, if it is the first) --- */

bool cursor_attr(struct cursor *cursor, struct mlir_attr **attr);
/* The attribute must be of that kind. */
bool cursor_attr_of(struct cursor *cursor, enum mlir_attr_kind kind, struct mlir_attr **attr);
/* index << 1 | is there; NULL when it is not. */
bool cursor_optional_attr(struct cursor *cursor, struct mlir_attr **attr);
bool cursor_type(struct cursor *cursor, const struct mlir_type **type);
/* index << 1 | flag. */
bool cursor_flagged_type(struct cursor *cursor, const struct mlir_type **type, bool *flag);
bool cursor_type_of(struct cursor *cursor, enum mlir_type_kind kind, const struct mlir_type **type);
/* Count and references, in the arena. */
bool cursor_attrs(struct cursor *cursor, int *count, struct mlir_attr ***attrs);
bool cursor_types(struct cursor *cursor, int *count, const struct mlir_type ***types);

/* !quant.uniform<…> with one scale, and with a scale for each index of a dimension, as the dialects
 * quant and vhlo write them alike. */
const struct mlir_type *cursor_quantized(struct cursor *cursor);
const struct mlir_type *cursor_quantized_per_axis(struct cursor *cursor);

/* --- attributes --- */

/* The words of an enumeration by their numbers; NULL for a number that has none. */
struct bytecode_words {
    const char *mnemonic; /* "comparison_direction" */
    const char *const *words;
    size_t count;
};
/* A varint that numbers a word: #dialect<mnemonic word>. */
struct mlir_attr *cursor_word(struct cursor *cursor, const char *dialect,
                              const struct bytecode_words *words);

/* A row of an attribute with parameters: what is encoded, in that order. */
enum parameter_kind {
    PARAMETER_END,
    PARAMETER_INT,          /* svarint: an INT of i64 */
    PARAMETER_INTS,         /* svarints: an INTS of i64 */
    PARAMETER_BOOL,         /* byte: a BOOL */
    PARAMETER_TYPE,         /* type: a TYPE */
    PARAMETER_ATTR,         /* attribute */
    PARAMETER_NAME,         /* string: a STRING */
    PARAMETER_F64,          /* the bits of an f64: a FLOAT of f64 */
    PARAMETER_FLAGGED_ATTR, /* byte, and an attribute if it is 1 */
    PARAMETER_ATTRS,        /* count and attributes: an ARRAY */
};
struct parameter {
    enum parameter_kind kind;
    const char *name;
};
enum { PARAMETERS_MOST = 10 };
/* #dialect.mnemonic<parameters>. */
struct mlir_attr *cursor_parameters(struct cursor *cursor, const char *dialect,
                                    const char *mnemonic, const struct parameter *parameters);

struct mlir_attr *bytecode_bool(struct mlir_file *file, bool value);
struct mlir_attr *bytecode_type_attr(struct mlir_file *file, const struct mlir_type *type);
/* Takes the array, which is the arena's. */
struct mlir_attr *bytecode_array(struct mlir_file *file, int count, struct mlir_attr **elements);
/* An integer of a type (a BOOL for i1) from its low bits, extended by its sign. */
struct mlir_attr *bytecode_integer(struct mlir_file *file, const struct mlir_type *type,
                                   uint64_t bits);
/* Empties a dictionary with room for `count` entries (and so that mlir_set may follow); these are
 * then added at entries[count++], and brought into order at last, which fails if a key is there
 * twice. */
void bytecode_dictionary_reserve(struct mlir_file *file, struct mlir_dictionary *dictionary,
                                 int count);
/* A dictionary as the builtin dialect and VHLO have it: pairs of a string and an attribute. */
struct mlir_attr *bytecode_dictionary(struct cursor *cursor);
bool bytecode_dictionary_sort(struct cursor *cursor, struct mlir_dictionary *dictionary);
/* Elements of a shaped type from MLIR's raw buffer of them (DenseElementsAttr): little-endian, each
 * in whole bytes, but i1 eight to a byte, lowest bit first; one alone, when all are the same (of
 * i1: the byte 0 or 255). */
struct mlir_attr *cursor_dense(struct cursor *cursor, const struct mlir_type *type,
                               const uint8_t *data, size_t size);

/* Elements of a resource's blob: the same, but i1 takes a byte, and there are as many as the type
 * says. */
struct mlir_attr *cursor_dense_bytes(struct cursor *cursor, const struct mlir_type *type,
                                     const uint8_t *data, size_t size);

#endif
