/* The quant dialect's encodings of types. (jaxlib 0.10.2 writes them as text.)
 * Source: mlir/include/mlir/Dialect/Quant/IR/QuantDialectBytecode.td. */
#include "hlo/mlir/bytecode/bytecode.h"

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
    quantized->storage = mlir_integer(cursor->bytecode->file, storage->width,
                                      flags & 1 ? MLIR_SIGNLESS : MLIR_UNSIGNED);
    return true;
}

static bool read_f64(struct cursor *cursor, double *value)
{
    return cursor_float(cursor, mlir_float(cursor->bytecode->file, "f64", 3), value);
}

const struct mlir_type *cursor_quantized(struct cursor *cursor)
{
    double scale;
    int64_t zero_point, one = 1;
    struct mlir_quantized quantized = {.rank = 1, .counts = &one, .count = 1};
    if (!read_stored(cursor, &quantized) || !read_f64(cursor, &scale) ||
        !cursor_svarint(cursor, &zero_point) || !cursor_svarint(cursor, &quantized.minimum) ||
        !cursor_svarint(cursor, &quantized.maximum)) {
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
        !cursor_svarint(cursor, &quantized.minimum) ||
        !cursor_svarint(cursor, &quantized.maximum) || !cursor_count(cursor, 1, &count)) {
        return NULL;
    }
    double *scales = arena_array(&cursor->bytecode->file->arena, (size_t)count, sizeof *scales);
    for (int i = 0; i < count; i++) {
        if (!read_f64(cursor, &scales[i])) {
            return NULL;
        }
    }
    if (!cursor_svarints(cursor, &zero_points)) {
        return NULL;
    }
    if (axis > INT32_MAX || zero_points.count != count) {
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
