/* bitcast_convert. A boolean is one bit in StableHLO, where HLO's bitcast-convert takes it for a
 * byte: 64 of them are an s64, the first the least significant bit. They are put together, and
 * taken apart, by shifts. Source: StableHLO's specification (bitcast_convert). */
#include "hlo/mlir/import/build.h"

/* The shape of the operand as elements of another size: a last dimension more, or one less. NULL
 * if there is none. */
static const struct shape *bitcast_shape(const struct shape *from, enum type type)
{
    int64_t sizes[SHAPE_MAX_RANK + 1];
    bool dynamic[SHAPE_MAX_RANK + 1] = {false};
    int rank = from->rank, given = type_bits(from->type), wanted = type_bits(type);
    for (int i = 0; i < rank; i++) {
        sizes[i] = from->dimensions[i];
        dynamic[i] = shape_dimension_is_dynamic(from, i);
    }
    if (wanted > given) {
        rank--;
    } else if (wanted < given) {
        sizes[rank++] = given / wanted;
    }
    return rank < 0 || rank > SHAPE_MAX_RANK ? NULL : shape_make(type, rank, sizes, dynamic, NULL);
}

/* The unsigned integer of so many bits; INVALID if there is none. */
static enum type unsigned_of(int bits)
{
    static const enum type types[] = {TYPE_U2, TYPE_U4, TYPE_U8, TYPE_U16, TYPE_U32, TYPE_U64};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (type_bits(types[i]) == bits) {
            return types[i];
        }
    }
    return TYPE_INVALID;
}

static struct instruction *add_iota(struct scope *scope, const struct mlir_op *op,
                                    const struct shape *shape)
{
    struct instruction *iota = import_add(scope, op, OP_IOTA, shape, 0, NULL);
    import_set_int(iota, ATTR_IOTA_DIMENSION, shape->rank - 1);
    return iota;
}

/* pred[…,bits] → …: the sum of the bits, each shifted to its place. */
static struct instruction *pack(struct scope *scope, const struct mlir_op *op,
                                struct instruction *from, const struct shape *shape)
{
    enum type type = unsigned_of(type_bits(shape->type));
    int64_t last = from->shape->rank - 1;
    const struct shape *wide = shape_with_type(from->shape, type);
    struct instruction *parts[] = {build_convert(scope, op, from, type), add_iota(scope, op, wide)};
    struct instruction *shifted = import_add(scope, op, OP_SHIFT_LEFT, wide, 2, parts);
    struct instruction *operands[] = {shifted, import_scalar(scope, op, type, 0)};
    if (operands[1] == NULL) {
        return NULL;
    }
    struct computation *sum = build_sum(scope, op, type);
    struct instruction *word =
        import_add(scope, op, OP_REDUCE, shape_with_type(shape, type), 2, operands);
    instruction_set_called(word, 1, &sum);
    import_set_ints(word, ATTR_DIMENSIONS, 1, &last);
    return shape->type == type ? word : import_add(scope, op, OP_BITCAST_CONVERT, shape, 1, &word);
}

/* … → pred[…,bits]: each bit shifted down and told from zero. */
static struct instruction *unpack(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, const struct shape *shape)
{
    enum type type = unsigned_of(type_bits(from->shape->type));
    if (from->shape->type != type) {
        from =
            import_add(scope, op, OP_BITCAST_CONVERT, shape_with_type(from->shape, type), 1, &from);
    }
    const struct shape *wide = shape_with_type(shape, type);
    int64_t dimensions[SHAPE_MAX_RANK];
    for (int i = 0; i < from->shape->rank; i++) {
        dimensions[i] = i;
    }
    struct instruction *parts[] = {
        import_broadcast(scope, op, from, wide, from->shape->rank, dimensions),
        add_iota(scope, op, wide)};
    struct instruction *one = build_fill(scope, op, wide, 1);
    struct instruction *zero = build_fill(scope, op, wide, 0);
    if (one == NULL || zero == NULL) {
        return NULL;
    }
    struct instruction *bits[] = {import_add(scope, op, OP_SHIFT_RIGHT_LOGICAL, wide, 2, parts),
                                  one};
    struct instruction *sides[] = {import_add(scope, op, OP_AND, wide, 2, bits), zero};
    struct instruction *compare = import_add(scope, op, OP_COMPARE, shape, 2, sides);
    import_set_int(compare, ATTR_DIRECTION, DIRECTION_NE);
    return compare;
}

bool translate_bitcast_convert(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL) {
        return false;
    }
    const struct mlir_type *element = op->results[0].type->element;
    const struct shape *from = operands[0]->shape;
    if (!shape_is_array(from) || element == NULL || !type_is_array(element->element_type)) {
        return import_fail(scope, op, "converts tensors");
    }
    const struct shape *inferred = bitcast_shape(from, element->element_type);
    const struct shape *shape = import_result_shape(scope, op, 0, inferred);
    if (shape == NULL) {
        return false;
    }
    bool packs = from->type == TYPE_PRED, unpacks = shape->type == TYPE_PRED;
    struct instruction *result;
    if (packs == unpacks) {
        result = import_add(scope, op, OP_BITCAST_CONVERT, shape, 1, operands);
    } else if (inferred == NULL || !shape_compatible(inferred, shape) ||
               unsigned_of(type_bits(packs ? shape->type : from->type)) == TYPE_INVALID ||
               (packs && from->dimensions[from->rank - 1] != type_bits(shape->type))) {
        return import_refuse(scope, op, "%s does not become %s", shape_text(from),
                             shape_text(shape));
    } else {
        result =
            packs ? pack(scope, op, operands[0], shape) : unpack(scope, op, operands[0], shape);
    }
    return result != NULL && import_bind_results(scope, op, result);
}
