/* The types of the dialect vhlo, in the encoding of its own. Each has one version so far, and reads
 * as the type of today that it stands for.
 * Sources: stablehlo/dialect/VhloBytecode.cpp (codes), VhloTypes.cpp (what they stand for). */
#include <string.h>

#include "hlo/mlir/bytecode/vhlo.h"

typedef const struct mlir_type *read_function(struct cursor *cursor);

/* --- types with parameters --- */

static bool element_is_allowed(const struct mlir_type *element)
{
    switch (element->kind) {
    case MLIR_INTEGER:
    case MLIR_INDEX:
    case MLIR_FLOAT:
    case MLIR_COMPLEX:
    case MLIR_QUANTIZED:
    case MLIR_OTHER_TYPE:
        return true;
    default:
        return false;
    }
}

static bool read_element(struct cursor *cursor, const struct mlir_type **element)
{
    return cursor_type(cursor, element) &&
           (element_is_allowed(*element) ||
            cursor_fail(cursor, "a tensor has elements of a type that cannot be one"));
}

static const struct mlir_type *read_complex(struct cursor *cursor)
{
    const struct mlir_type *element;
    if (!cursor_type(cursor, &element)) {
        return NULL;
    }
    if (element->kind != MLIR_FLOAT && element->kind != MLIR_INTEGER) {
        cursor_fail(cursor, "a complex type has parts that are no numbers");
        return NULL;
    }
    return mlir_complex(cursor->bytecode->file, element);
}

static const struct mlir_type *read_function_type(struct cursor *cursor)
{
    int count, result_count;
    const struct mlir_type **inputs, **results;
    if (!cursor_types(cursor, &count, &inputs) || !cursor_types(cursor, &result_count, &results)) {
        return NULL;
    }
    struct mlir_file *file = cursor->bytecode->file;
    const struct mlir_type **types =
        arena_array(&file->arena, (size_t)count + (size_t)result_count, sizeof *types);
    for (int i = 0; i < count + result_count; i++) {
        types[i] = i < count ? inputs[i] : results[i - count];
    }
    return mlir_function(file, count, result_count, types);
}

static const struct mlir_type *read_types(struct cursor *cursor, enum mlir_type_kind kind)
{
    int count;
    const struct mlir_type **types;
    return cursor_types(cursor, &count, &types)
               ? mlir_tuple(cursor->bytecode->file, kind, count, types)
               : NULL;
}

static const struct mlir_type *read_tuple(struct cursor *cursor)
{
    return read_types(cursor, MLIR_TUPLE);
}

static const struct mlir_type *read_future(struct cursor *cursor)
{
    return read_types(cursor, MLIR_FUTURE);
}

static const struct mlir_type *read_shaped(struct cursor *cursor, enum mlir_type_kind kind,
                                           const struct mlir_attr *encoding)
{
    struct ints sizes;
    const struct mlir_type *element;
    if (!cursor_svarints(cursor, &sizes) || !read_element(cursor, &element)) {
        return NULL;
    }
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.values[i] < 0 && sizes.values[i] != MLIR_DYNAMIC) {
            cursor_fail(cursor, "a dimension has size %lld", (long long)sizes.values[i]);
            return NULL;
        }
    }
    return mlir_shaped(cursor->bytecode->file, kind, element, sizes.count, sizes.values, encoding);
}

static const struct mlir_type *read_tensor(struct cursor *cursor)
{
    return read_shaped(cursor, MLIR_TENSOR, NULL);
}

static const struct mlir_type *read_encoded_tensor(struct cursor *cursor)
{
    struct mlir_attr *encoding;
    return cursor_attr(cursor, &encoding) ? read_shaped(cursor, MLIR_TENSOR, encoding) : NULL;
}

static const struct mlir_type *read_buffer(struct cursor *cursor)
{
    return read_shaped(cursor, MLIR_MEMREF, NULL);
}

static const struct mlir_type *read_unranked(struct cursor *cursor)
{
    const struct mlir_type *element;
    return read_element(cursor, &element)
               ? mlir_shaped(cursor->bytecode->file, MLIR_UNRANKED, element, 0, NULL, NULL)
               : NULL;
}

static const struct mlir_type *read_witness(struct cursor *cursor)
{
    static const char text[] = "!shape.witness";
    return mlir_other_type(cursor->bytecode->file, text, sizeof text - 1);
}

/* --- the table --- */

static const struct mlir_type *read_index(struct cursor *cursor)
{
    return mlir_index(cursor->bytecode->file);
}

static const struct mlir_type *read_token(struct cursor *cursor)
{
    return mlir_simple(cursor->bytecode->file, MLIR_TOKEN);
}

static const struct mlir_type *read_none(struct cursor *cursor)
{
    return mlir_simple(cursor->bytecode->file, MLIR_NONE);
}

/* A type of each code: a float's name, an integer's width and sign, or a function. Those named
 * "si" in VHLO are signless. */
static const struct type_row {
    const char *float_name;
    int width;
    enum mlir_sign sign;
    read_function *read;
} rows[] = {
    [0] = {.width = 1},
    [1] = {.read = read_complex},
    [2] = {.float_name = "bf16"},
    [3] = {.float_name = "f16"},
    [4] = {.float_name = "f32"},
    [5] = {.float_name = "f64"},
    [6] = {.float_name = "f8E4M3FN"},
    [7] = {.float_name = "f8E5M2"},
    [8] = {.read = read_function_type},
    [9] = {.read = read_index},
    [10] = {.width = 4},
    [11] = {.width = 8},
    [12] = {.width = 16},
    [13] = {.width = 32},
    [14] = {.width = 64},
    [15] = {.width = 4, .sign = MLIR_UNSIGNED},
    [16] = {.width = 8, .sign = MLIR_UNSIGNED},
    [17] = {.width = 16, .sign = MLIR_UNSIGNED},
    [18] = {.width = 32, .sign = MLIR_UNSIGNED},
    [19] = {.width = 64, .sign = MLIR_UNSIGNED},
    [20] = {.read = read_tensor},
    [21] = {.read = read_encoded_tensor},
    [22] = {.read = read_token},
    [23] = {.read = read_tuple},
    [24] = {.read = cursor_quantized},
    [25] = {.read = read_unranked},
    [26] = {.read = read_witness},
    [27] = {.float_name = "f8E4M3FNUZ"},
    [28] = {.float_name = "f8E5M2FNUZ"},
    [29] = {.float_name = "f8E4M3B11FNUZ"},
    [30] = {.read = cursor_quantized_per_axis},
    [31] = {.width = 2},
    [32] = {.width = 2, .sign = MLIR_UNSIGNED},
    [33] = {.read = read_none},
    [34] = {.float_name = "tf32"},
    [35] = {.float_name = "f8E4M3"},
    [36] = {.float_name = "f8E3M4"},
    [37] = {.float_name = "f4E2M1FN"},
    [38] = {.float_name = "f6E2M3FN"},
    [39] = {.float_name = "f6E3M2FN"},
    [40] = {.float_name = "f8E8M0FNU"},
    [41] = {.read = read_buffer},
    [42] = {.read = read_future},
};

const struct mlir_type *vhlo_read_type(struct cursor *cursor, uint64_t code)
{
    if (code >= sizeof rows / sizeof *rows) {
        return NULL;
    }
    const struct type_row *row = &rows[code];
    if (row->read != NULL) {
        return row->read(cursor);
    }
    struct mlir_file *file = cursor->bytecode->file;
    return row->float_name != NULL ? mlir_float(file, row->float_name, strlen(row->float_name))
                                   : mlir_integer(file, row->width, row->sign);
}
