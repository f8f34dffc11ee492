/* The attributes of the dialect vhlo, in the encoding of its own. Each has one version so far, and
 * reads as the attribute of builtin or StableHLO that it stands for; what further depends on the op
 * that has it (a tensor that is a list of integers, a string that names a function) is vhlo.c's.
 * Sources: stablehlo/dialect/VhloBytecode.cpp (codes), VhloEnums.td (numbers of words),
 * stablehlo/transforms/VhloLegalizeToStablehlo.cpp (what they stand for). */
#include <string.h>

#include "hlo/mlir/bytecode/vhlo.h"

typedef struct mlir_attr *read_function(struct cursor *cursor);

static const char stablehlo[] = "stablehlo";

/* --- enumerations --- */

/* A function read_<id> of the words, by their numbers. */
#define WORDS(id, ...)                                                                       \
    static struct mlir_attr *read_##id(struct cursor *cursor)                                \
    {                                                                                        \
        static const char *const words[] = {__VA_ARGS__};                                    \
        static const struct bytecode_words row = {#id, words, sizeof words / sizeof *words}; \
        return cursor_word(cursor, stablehlo, &row);                                         \
    }
WORDS(comparison_direction, "EQ", "NE", "GE", "GT", "LE", "LT")
WORDS(comparison_type, "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
WORDS(fft_type, "FFT", "IFFT", "RFFT", "IRFFT")
WORDS(precision, "DEFAULT", "HIGH", "HIGHEST")
WORDS(result_accuracy_mode, "DEFAULT", "HIGHEST", "TOLERANCE")
WORDS(rng_algorithm, "DEFAULT", "THREE_FRY", "PHILOX")
WORDS(rng_distribution, NULL, "UNIFORM", "NORMAL")
WORDS(transpose, "TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
#undef WORDS

/* Of custom calls: StableHLO has the number itself. */
static struct mlir_attr *read_api_version(struct cursor *cursor)
{
    enum { VERSION_COUNT = 5 };
    uint64_t number;
    if (!cursor_varint(cursor, &number)) {
        return NULL;
    }
    if (number >= VERSION_COUNT) {
        cursor_refuse(cursor, "API version %llu is unknown", (unsigned long long)number);
        return NULL;
    }
    struct mlir_file *file = cursor->bytecode->file;
    return mlir_attr_int(file, (int64_t)number, mlir_integer(file, 32, MLIR_SIGNLESS));
}

/* --- those of builtin --- */

static struct mlir_attr *read_array(struct cursor *cursor)
{
    int count;
    struct mlir_attr **elements;
    return cursor_attrs(cursor, &count, &elements)
               ? bytecode_array(cursor->bytecode->file, count, elements)
               : NULL;
}

static struct mlir_attr *read_bool(struct cursor *cursor)
{
    uint64_t value;
    if (!cursor_varint(cursor, &value)) {
        return NULL;
    }
    if (value > 1) {
        cursor_fail(cursor, "a boolean is %llu", (unsigned long long)value);
        return NULL;
    }
    return bytecode_bool(cursor->bytecode->file, value == 1);
}

static struct mlir_attr *read_float(struct cursor *cursor)
{
    const struct mlir_type *type;
    double value;
    if (!cursor_type_of(cursor, MLIR_FLOAT, &type) || !cursor_float(cursor, type, &value)) {
        return NULL;
    }
    struct mlir_attr *attr = mlir_attr_new(cursor->bytecode->file, MLIR_ATTR_FLOAT);
    attr->type = type;
    attr->number = value;
    return attr;
}

static struct mlir_attr *read_integer(struct cursor *cursor)
{
    const struct mlir_type *type;
    if (!cursor_type(cursor, &type)) {
        return NULL;
    }
    int width = type->kind == MLIR_INDEX ? 64 : type->width;
    if ((type->kind != MLIR_INDEX && type->kind != MLIR_INTEGER) || width > 64) {
        cursor_fail(cursor, "an integer has a type that is none");
        return NULL;
    }
    uint64_t bits;
    if (!cursor_bits(cursor, width, &bits)) {
        return NULL;
    }
    return bytecode_integer(cursor->bytecode->file, type, bits);
}

static struct mlir_attr *read_string(struct cursor *cursor)
{
    struct bytecode_string string;
    return cursor_string(cursor, &string)
               ? mlir_attr_string(cursor->bytecode->file, string.text, string.size)
               : NULL;
}

static struct mlir_attr *read_type_attr(struct cursor *cursor)
{
    const struct mlir_type *type;
    return cursor_type(cursor, &type) ? bytecode_type_attr(cursor->bytecode->file, type) : NULL;
}

/* The elements of i1 may be a byte each, as MLIR has them in memory today; cursor_dense wants them
 * eight to a byte, as it had them before. A lone byte is a splat if it is 255 or if eight elements
 * to a byte would not fit in it. */
static struct mlir_attr *read_booleans(struct cursor *cursor, const struct mlir_type *type,
                                       const uint8_t *data, size_t size)
{
    uint64_t elements = (uint64_t)mlir_type_elements(type);
    if (size == 1 && elements > 8) {
        uint8_t splat = data[0] != 0 ? 255 : 0;
        return cursor_dense(cursor, type, &splat, 1);
    }
    if (size != elements || size < 2) {
        return cursor_dense(cursor, type, data, size);
    }
    uint8_t *packed = arena_alloc(&cursor->bytecode->file->arena, size / 8 + 1);
    for (size_t i = 0; i < size; i++) {
        packed[i / 8] |= (uint8_t)((data[i] != 0) << i % 8);
    }
    return cursor_dense(cursor, type, packed, (size + 7) / 8);
}

static struct mlir_attr *read_tensor(struct cursor *cursor)
{
    const struct mlir_type *type;
    const uint8_t *data;
    size_t size;
    if (!cursor_type_of(cursor, MLIR_TENSOR, &type) || !cursor_blob(cursor, &data, &size)) {
        return NULL;
    }
    return type->element->element_type == TYPE_PRED ? read_booleans(cursor, type, data, size)
                                                    : cursor_dense(cursor, type, data, size);
}

/* --- those of StableHLO with parameters --- */

static struct mlir_attr *read_output_operand_alias(struct cursor *cursor)
{
    static const struct parameter parameters[] = {
        {PARAMETER_INTS, "output_tuple_indices"},
        {PARAMETER_INT, "operand_index"},
        {PARAMETER_INTS, "operand_tuple_indices"},
        {PARAMETER_END, NULL},
    };
    return cursor_parameters(cursor, stablehlo, "output_operand_alias", parameters);
}

static struct mlir_attr *read_type_extensions(struct cursor *cursor)
{
    static const struct parameter parameters[] = {
        {PARAMETER_INTS, "bounds"},
        {PARAMETER_END, NULL},
    };
    return cursor_parameters(cursor, stablehlo, "type_extensions", parameters);
}

static struct mlir_attr *read_result_accuracy(struct cursor *cursor)
{
    static const struct parameter parameters[] = {
        {PARAMETER_F64, "atol"},  {PARAMETER_F64, "rtol"}, {PARAMETER_INT, "ulps"},
        {PARAMETER_ATTR, "mode"}, {PARAMETER_END, NULL},
    };
    return cursor_parameters(cursor, stablehlo, "result_accuracy", parameters);
}

static struct mlir_attr *read_sub_axis_info(struct cursor *cursor)
{
    static const struct parameter parameters[] = {
        {PARAMETER_INT, "pre_size"},
        {PARAMETER_INT, "size"},
        {PARAMETER_END, NULL},
    };
    return cursor_parameters(cursor, stablehlo, "sub_axis_info", parameters);
}

static struct mlir_attr *read_mesh_axis(struct cursor *cursor)
{
    static const struct parameter parameters[] = {
        {PARAMETER_ATTR, "name"},
        {PARAMETER_INT, "size"},
        {PARAMETER_END, NULL},
    };
    return cursor_parameters(cursor, stablehlo, "mesh_axis", parameters);
}

static struct mlir_attr *stablehlo_attr(struct cursor *cursor, const char *mnemonic)
{
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(file, stablehlo, sizeof stablehlo - 1);
    attr->dialect.mnemonic = mlir_intern(file, mnemonic, strlen(mnemonic));
    return attr;
}

static void set_parameter(struct cursor *cursor, struct mlir_attr *attr, const char *key,
                          struct mlir_attr *value)
{
    if (value != NULL) {
        mlir_set(cursor->bytecode->file, &attr->dialect.parameters, key, value);
    }
}

static struct mlir_attr *read_axis_ref(struct cursor *cursor)
{
    struct mlir_attr *name, *sub_axis = NULL;
    uint64_t has_sub_axis;
    if (!cursor_attr_of(cursor, MLIR_ATTR_STRING, &name) || !cursor_varint(cursor, &has_sub_axis) ||
        (has_sub_axis != 0 && !cursor_attr_of(cursor, MLIR_ATTR_DIALECT, &sub_axis))) {
        return NULL;
    }
    struct mlir_attr *attr = stablehlo_attr(cursor, "axis_ref");
    set_parameter(cursor, attr, "name", name);
    set_parameter(cursor, attr, "sub_axis_info", sub_axis);
    return attr;
}

static struct mlir_attr *read_mesh(struct cursor *cursor)
{
    struct mlir_attr *axes, *device_ids;
    if (!cursor_attr_of(cursor, MLIR_ATTR_ARRAY, &axes) ||
        !cursor_optional_attr(cursor, &device_ids)) {
        return NULL;
    }
    struct mlir_attr *attr = stablehlo_attr(cursor, "mesh");
    set_parameter(cursor, attr, "axes", axes);
    set_parameter(cursor, attr, "device_ids", device_ids);
    return attr;
}

/* The mesh is a string for what in StableHLO is a symbol, or a mesh itself. */
static struct mlir_attr *read_replica_group_mesh_axes(struct cursor *cursor)
{
    struct mlir_attr *mesh, *axes;
    if (!cursor_attr(cursor, &mesh) || !cursor_attr_of(cursor, MLIR_ATTR_ARRAY, &axes)) {
        return NULL;
    }
    if (mesh->kind == MLIR_ATTR_STRING) {
        mesh = mlir_attr_symbol(cursor->bytecode->file, mesh->string.data, mesh->string.size);
    }
    struct mlir_attr *attr = stablehlo_attr(cursor, "replica_group_mesh_axes");
    set_parameter(cursor, attr, "mesh", mesh);
    set_parameter(cursor, attr, "axes", axes);
    return attr;
}

/* --- the table --- */

static read_function *const readers[] = {
    [1] = read_array,
    [2] = read_bool,
    [3] = read_comparison_direction,
    [4] = read_comparison_type,
    [5] = read_api_version,
    [6] = bytecode_dictionary,
    [7] = read_fft_type,
    [8] = read_float,
    [9] = read_integer,
    [10] = read_output_operand_alias,
    [11] = read_precision,
    [12] = read_rng_algorithm,
    [13] = read_rng_distribution,
    [14] = read_string,
    [15] = read_tensor,
    [16] = read_transpose,
    [17] = read_type_attr,
    [18] = read_type_extensions,
    [19] = read_result_accuracy_mode,
    [20] = read_result_accuracy,
    [21] = read_sub_axis_info,
    [22] = read_axis_ref,
    [23] = read_replica_group_mesh_axes,
    [24] = read_mesh_axis,
    [25] = read_mesh,
};

struct mlir_attr *vhlo_read_attr(struct cursor *cursor, uint64_t code)
{
    bool is_known = code < sizeof readers / sizeof *readers && readers[code] != NULL;
    return is_known ? readers[code](cursor) : NULL;
}
