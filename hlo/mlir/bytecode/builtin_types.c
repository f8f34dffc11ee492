/* The builtin dialect's encodings of types.
 * Source: mlir/include/mlir/IR/BuiltinDialectBytecode.td; what jaxlib 0.10.2 (MLIR 23) writes. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/bytecode/builtin.h"

enum { WIDTH_MOST = (1 << 24) - 1 }; /* of an integer (mlir::IntegerType::kMaxWidth) */

/* The float types, by code. Those from 21 on are younger than the format; older files have them as
 * text. */
static const char *const float_names[] = {
    [3] = "bf16",
    [4] = "f16",
    [5] = "f32",
    [6] = "f64",
    [7] = "f80",
    [8] = "f128",
    [21] = "tf32",
    [22] = "f8E5M2",
    [23] = "f8E4M3",
    [24] = "f8E4M3FN",
    [25] = "f8E5M2FNUZ",
    [26] = "f8E4M3FNUZ",
    [27] = "f8E4M3B11FNUZ",
    [28] = "f8E3M4",
    [29] = "f4E2M1FN",
    [30] = "f6E2M3FN",
    [31] = "f6E3M2FN",
    [32] = "f8E8M0FNU",
};

static const struct mlir_type *read_integer_type(struct cursor *cursor)
{
    static const enum mlir_sign signs[] = {MLIR_SIGNLESS, MLIR_SIGNED, MLIR_UNSIGNED};
    uint64_t code;
    if (!cursor_varint(cursor, &code)) {
        return NULL;
    }
    if ((code & 3) == 3 || code >> 2 > WIDTH_MOST) {
        cursor_fail(cursor, "an integer type of %llu bits", (unsigned long long)(code >> 2));
        return NULL;
    }
    return mlir_integer(cursor->bytecode->file, (int)(code >> 2), signs[code & 3]);
}

static const struct mlir_type *read_function(struct cursor *cursor)
{
    struct mlir_file *file = cursor->bytecode->file;
    int count, result_count;
    const struct mlir_type **inputs, **results;
    if (!cursor_types(cursor, &count, &inputs) || !cursor_types(cursor, &result_count, &results)) {
        return NULL;
    }
    size_t total = (size_t)count + (size_t)result_count;
    const struct mlir_type **types = arena_array(&file->arena, total, sizeof *types);
    if (count > 0) {
        memcpy(types, inputs, (size_t)count * sizeof *types);
    }
    if (result_count > 0) {
        memcpy(types + count, results, (size_t)result_count * sizeof *types);
    }
    return mlir_function(file, count, result_count, types);
}

static const struct mlir_type *read_complex(struct cursor *cursor)
{
    const struct mlir_type *element;
    if (!cursor_type(cursor, &element)) {
        return NULL;
    }
    if (element->kind != MLIR_INTEGER && element->kind != MLIR_FLOAT) {
        cursor_fail(cursor, "complex numbers of what is no number");
        return NULL;
    }
    return mlir_complex(cursor->bytecode->file, element);
}

static const struct mlir_type *read_tuple(struct cursor *cursor)
{
    int count;
    const struct mlir_type **types;
    return cursor_types(cursor, &count, &types)
               ? mlir_tuple(cursor->bytecode->file, MLIR_TUPLE, count, types)
               : NULL;
}

/* Sizes and element. A size of MLIR_DYNAMIC is "?". */
static bool read_shape(struct cursor *cursor, struct ints *sizes, const struct mlir_type **element)
{
    if (!cursor_svarints(cursor, sizes) || !cursor_type(cursor, element)) {
        return false;
    }
    for (int i = 0; i < sizes->count; i++) {
        if (sizes->values[i] < 0 && sizes->values[i] != MLIR_DYNAMIC) {
            return cursor_fail(cursor, "a dimension of size %lld", (long long)sizes->values[i]);
        }
    }
    return true;
}

static const struct mlir_type *read_shaped(struct cursor *cursor, enum mlir_type_kind kind,
                                           bool has_encoding)
{
    struct mlir_attr *encoding = NULL;
    struct ints sizes;
    const struct mlir_type *element;
    if ((has_encoding && !cursor_attr(cursor, &encoding)) ||
        !read_shape(cursor, &sizes, &element)) {
        return NULL;
    }
    return mlir_shaped(cursor->bytecode->file, kind, element, sizes.count, sizes.values, encoding);
}

static const struct mlir_type *read_unranked(struct cursor *cursor)
{
    const struct mlir_type *element;
    return cursor_type(cursor, &element)
               ? mlir_shaped(cursor->bytecode->file, MLIR_UNRANKED, element, 0, NULL, NULL)
               : NULL;
}

/* --- memref<2x3xf32, strided<[3, 1]>, 2 : i32>: what follows the element is one text --- */

/* Is it affine_map<(d0, …) -> (d0, …)>, which is the layout that text leaves out? */
static bool is_identity(const struct mlir_attr *layout, int rank)
{
    struct text text;
    text_init(&text);
    text_append(&text, "affine_map<(");
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < rank; i++) {
            text_printf(&text, "%sd%d", i > 0 ? ", " : "", i);
        }
        text_append(&text, pass == 0 ? ") -> (" : ")>");
    }
    bool is_same = layout->kind == MLIR_ATTR_OTHER && layout->string.size == text.size &&
                   memcmp(layout->string.data, text.data, text.size) == 0;
    text_finish(&text);
    return is_same;
}

static const struct mlir_type *read_memref(struct cursor *cursor, bool has_space)
{
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *space = NULL, *layout, *encoding = NULL;
    struct ints sizes;
    const struct mlir_type *element;
    if ((has_space && !cursor_attr(cursor, &space)) || !read_shape(cursor, &sizes, &element) ||
        !cursor_attr(cursor, &layout)) {
        return NULL;
    }
    struct text text;
    text_init(&text);
    if (!is_identity(layout, sizes.count)) {
        mlir_print_attr(layout, &text);
    }
    if (space != NULL) {
        text_append(&text, text.size > 0 ? ", " : "");
        mlir_print_attr(space, &text);
    }
    if (text.size > 0) {
        encoding = mlir_attr_new(file, MLIR_ATTR_OTHER);
        encoding->string =
            (struct bytes){arena_string(&file->arena, text.data, text.size), text.size};
    }
    text_finish(&text);
    return mlir_shaped(file, MLIR_MEMREF, element, sizes.count, sizes.values, encoding);
}

const struct mlir_type *builtin_type(struct cursor *cursor, uint64_t code)
{
    struct mlir_file *file = cursor->bytecode->file;
    if (code < sizeof float_names / sizeof *float_names && float_names[code] != NULL) {
        return mlir_float(file, float_names[code], strlen(float_names[code]));
    }
    switch (code) {
    case 0:
        return read_integer_type(cursor);
    case 1:
        return mlir_index(file);
    case 2:
        return read_function(cursor);
    case 9:
        return read_complex(cursor);
    case 10:
        return read_memref(cursor, false);
    case 11:
        return read_memref(cursor, true);
    case 12:
        return mlir_simple(file, MLIR_NONE);
    case 13:
        return read_shaped(cursor, MLIR_TENSOR, false);
    case 14:
        return read_shaped(cursor, MLIR_TENSOR, true);
    case 15:
        return read_tuple(cursor);
    case 16:
    case 17:
        cursor_refuse(cursor, "memrefs without a rank");
        return NULL;
    case 18:
        return read_unranked(cursor);
    case 19:
        return read_shaped(cursor, MLIR_VECTOR, false);
    case 20:
        cursor_refuse(cursor, "scalable vectors");
        return NULL;
    default:
        return NULL;
    }
}
