/* Quantized types, which the dialects quant and vhlo encode alike. (jaxlib 0.10.2 writes those of
 * quant as text.)
 * Sources: mlir/include/mlir/Dialect/Quant/IR/QuantDialectBytecode.td; stablehlo/dialect/
 * VhloBytecode.cpp; mlir/lib/Dialect/Quant/IR/QuantTypes.cpp (what is valid). */
#include "hlo/floats.h"
#include "hlo/mlir/bytecode/bytecode.h"

enum { STORAGE_WIDTH_MOST = 32 };

/* What each kind begins with. Flags: 1 for signed integers, whose type is otherwise the same as
 * that of unsigned ones. */
static bool read_stored(struct cursor *cursor, struct mlir_quantized *quantized)
{
    uint64_t flags;
    const struct mlir_type *storage;
    if (!cursor_varint(cursor, &flags) || !cursor_type_of(cursor, MLIR_INTEGER, &storage) ||
        !cursor_type_of(cursor, MLIR_FLOAT, &quantized->expressed)) {
        return false;
    }
    if (storage->width < 1 || storage->width > STORAGE_WIDTH_MOST ||
        !type_is_float(quantized->expressed->element_type)) {
        return cursor_refuse(cursor, "a quantized type of %d bits that expresses %s",
                             storage->width, quantized->expressed->name);
    }
    quantized->storage = mlir_integer(cursor->bytecode->file, storage->width,
                                      flags & 1 ? MLIR_SIGNLESS : MLIR_UNSIGNED);
    return true;
}

static bool read_range(struct cursor *cursor, struct mlir_quantized *quantized)
{
    int width = quantized->storage->width;
    bool is_unsigned = quantized->storage->sign == MLIR_UNSIGNED;
    int64_t least = is_unsigned ? 0 : -((int64_t)1 << (width - 1));
    int64_t most = ((int64_t)1 << (width - !is_unsigned)) - 1;
    if (!cursor_svarint(cursor, &quantized->minimum) ||
        !cursor_svarint(cursor, &quantized->maximum)) {
        return false;
    }
    return (least <= quantized->minimum && quantized->minimum <= quantized->maximum &&
            quantized->maximum <= most) ||
           cursor_fail(cursor, "%lld to %lld is no range of what is stored",
                       (long long)quantized->minimum, (long long)quantized->maximum);
}

static bool read_scale(struct cursor *cursor, const struct mlir_quantized *quantized, double *scale)
{
    enum type type = quantized->expressed->element_type;
    if (!cursor_float(cursor, mlir_float(cursor->bytecode->file, "f64", 3), scale)) {
        return false;
    }
    return (*scale >= float_min_positive(type) && *scale <= float_max(type)) ||
           cursor_fail(cursor, "%g is no scale", *scale);
}

const struct mlir_type *cursor_quantized(struct cursor *cursor)
{
    double scale;
    int64_t zero_point, one = 1;
    struct mlir_quantized quantized = {.rank = 1, .counts = &one, .count = 1};
    if (!read_stored(cursor, &quantized) || !read_scale(cursor, &quantized, &scale) ||
        !cursor_svarint(cursor, &zero_point) || !read_range(cursor, &quantized)) {
        return NULL;
    }
    quantized.scales = &scale;
    quantized.zero_points = &zero_point;
    return mlir_quantized(cursor->bytecode->file, &quantized);
}

const struct mlir_type *cursor_quantized_per_axis(struct cursor *cursor)
{
    uint64_t axis;
    int count;
    struct ints zero_points;
    struct mlir_quantized quantized = {.axis_count = 1, .rank = 1};
    if (!read_stored(cursor, &quantized) || !cursor_varint(cursor, &axis) ||
        !read_range(cursor, &quantized) || !cursor_count(cursor, 1, &count)) {
        return NULL;
    }
    double *scales = arena_array(&cursor->bytecode->file->arena, (size_t)count, sizeof *scales);
    for (int i = 0; i < count; i++) {
        if (!read_scale(cursor, &quantized, &scales[i])) {
            return NULL;
        }
    }
    if (!cursor_svarints(cursor, &zero_points)) {
        return NULL;
    }
    if (axis >= INT32_MAX || zero_points.count != count) {
        cursor_fail(cursor, "%d scales and %d zero points along axis %llu", count,
                    zero_points.count, (unsigned long long)axis);
        return NULL;
    }
    int64_t axes = (int64_t)axis, no_blocks = 0, counts = count;
    quantized.axes = &axes;
    quantized.block_sizes = &no_blocks;
    quantized.counts = &counts;
    quantized.count = count;
    quantized.scales = scales;
    quantized.zero_points = zero_points.values;
    return mlir_quantized(cursor->bytecode->file, &quantized);
}

static const struct mlir_type *quant_type(struct cursor *cursor, uint64_t code)
{
    enum { UNIFORM = 4, PER_AXIS = 5 };
    return code == UNIFORM    ? cursor_quantized(cursor)
           : code == PER_AXIS ? cursor_quantized_per_axis(cursor)
                              : NULL;
}

const struct dialect_reader quant_dialect = {.name = "quant", .read_type = quant_type};
