/* HLO → StableHLO: elementwise instructions, constants, and what moves data. */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/export/export.h"

/* The op that an opcode becomes, where operands, result and attributes are alike: the first row of
 * ops.def with that opcode. */
static const char *op_name(enum opcode opcode)
{
    int op = 0;
    while (op + 1 < MLIR_OP_COUNT && mlir_opcode_hlo((enum mlir_opcode)op) != opcode) {
        op++;
    }
    return mlir_opcode_name((enum mlir_opcode)op);
}

bool export_same(struct export_scope *scope, const struct instruction *instruction)
{
    return export_plain(scope, instruction, op_name(instruction->opcode), 0) != NULL;
}

/* HLO lets some results have another float type than the operands, which StableHLO does not: those
 * are refused. */
bool export_elementwise(struct export_scope *scope, const struct instruction *instruction)
{
    enum type type = instruction->shape->type;
    bool changes = instruction->opcode == OP_IS_FINITE || instruction->opcode == OP_REAL ||
                   instruction->opcode == OP_IMAG || instruction->opcode == OP_COMPLEX ||
                   (instruction->opcode == OP_ABS && type_is_float(type));
    for (int i = 0; !changes && i < instruction->operand_count; i++) {
        enum type given = instruction->operands[i]->shape->type;
        if (given != type) {
            return export_refuse(scope, instruction, "%s from %s", type_text(type),
                                 type_text(given));
        }
    }
    return export_same(scope, instruction);
}

/* copy, domain, add-dependency: the value of the first operand. */
bool export_first_operand(struct export_scope *scope, const struct instruction *instruction)
{
    scope->leaves[instruction->id] = export_leaves(scope, instruction->operands[0]);
    return true;
}

bool export_tuple(struct export_scope *scope, const struct instruction *instruction)
{
    scope->leaves[instruction->id] = export_operands(scope, instruction);
    return true;
}

bool export_get_tuple_element(struct export_scope *scope, const struct instruction *instruction)
{
    const struct shape *tuple = instruction->operands[0]->shape;
    int index = (int)attr_int(instruction, ATTR_INDEX, 0), first = 0;
    for (int i = 0; i < index; i++) {
        first += shape_leaves(tuple->elements[i]);
    }
    struct leaves all = export_leaves(scope, instruction->operands[0]);
    scope->leaves[instruction->id] =
        (struct leaves){shape_leaves(instruction->shape), all.values + first};
    return true;
}

/* The same bytes under another shape: StableHLO can say that where the types are alike and nothing
 * is transposed. */
bool export_bitcast(struct export_scope *scope, const struct instruction *instruction)
{
    const struct shape *from = instruction->operands[0]->shape, *to = instruction->shape;
    if (!shape_is_array(from) || !shape_is_array(to) || from->type != to->type ||
        !layout_is_default(from->layout) || !layout_is_default(to->layout)) {
        return export_refuse(scope, instruction, "from %s to %s by bytes", shape_text(from),
                             shape_text(to));
    }
    return export_plain(scope, instruction, "reshape", 0) != NULL;
}

static bool one_constant(struct export_scope *scope, const struct instruction *instruction,
                         const struct literal *literal, struct mlir_value **value)
{
    struct mlir_attr *attr = export_dense(scope, instruction, literal);
    if (attr == NULL) {
        return false;
    }
    struct mlir_op *op =
        export_op(scope, instruction, "constant", (struct leaves){0}, 1, &attr->type, 0);
    mlir_set(scope->exporter->file, &op->attrs, "value", attr);
    *value = &op->results[0];
    return true;
}

bool export_constant(struct export_scope *scope, const struct instruction *instruction)
{
    struct leaves *leaves = &scope->leaves[instruction->id];
    leaves->count = shape_leaves(instruction->shape);
    leaves->values = arena_array(&scope->exporter->file->arena, (size_t)leaves->count + 1,
                                 sizeof *leaves->values);
    for (int i = 0; i < leaves->count; i++) {
        const struct literal *leaf = literal_leaf(instruction->literal, i);
        if (!one_constant(scope, instruction, leaf, &leaves->values[i])) {
            return false;
        }
    }
    return true;
}

/* An op whose only attribute is the instruction's `dimensions`, under a key of its own. */
static bool with_dimensions(struct export_scope *scope, const struct instruction *instruction,
                            const char *name, const char *key)
{
    struct mlir_op *op = export_plain(scope, instruction, name, 0);
    if (op != NULL) {
        export_set_ints(scope, op, key, attr_ints(instruction, ATTR_DIMENSIONS));
    }
    return op != NULL;
}

/* The same with one dimension. */
static bool with_dimension(struct export_scope *scope, const struct instruction *instruction,
                           const char *name)
{
    struct mlir_op *op = export_plain(scope, instruction, name, 0);
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (op != NULL && dimensions.count == 1) {
        export_set_int(scope, op, "dimension", dimensions.values[0]);
    }
    return op != NULL;
}

bool export_broadcast(struct export_scope *scope, const struct instruction *instruction)
{
    return with_dimensions(scope, instruction, "broadcast_in_dim", "broadcast_dimensions");
}

bool export_transpose(struct export_scope *scope, const struct instruction *instruction)
{
    return with_dimensions(scope, instruction, "transpose", "permutation");
}

bool export_reverse(struct export_scope *scope, const struct instruction *instruction)
{
    return with_dimensions(scope, instruction, "reverse", "dimensions");
}

bool export_concatenate(struct export_scope *scope, const struct instruction *instruction)
{
    return with_dimension(scope, instruction, "concatenate");
}

bool export_get_dimension_size(struct export_scope *scope, const struct instruction *instruction)
{
    return with_dimension(scope, instruction, "get_dimension_size");
}

bool export_iota(struct export_scope *scope, const struct instruction *instruction)
{
    if (instruction->shape->rank == 0) {
        struct error *err = scope->exporter->err;
        struct literal *zero = literal_zero(instruction->shape, err);
        struct leaves *leaves = &scope->leaves[instruction->id];
        *leaves = (struct leaves){
            1, arena_array(&scope->exporter->file->arena, 1, sizeof *leaves->values)};
        bool ok = zero != NULL && one_constant(scope, instruction, zero, &leaves->values[0]);
        literal_release(zero);
        return ok;
    }
    struct mlir_op *op = export_plain(scope, instruction, "iota", 0);
    if (op != NULL) {
        export_set_int(scope, op, "iota_dimension", attr_int(instruction, ATTR_IOTA_DIMENSION, 0));
    }
    return op != NULL;
}

bool export_slice(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "slice", 0);
    struct slices slices = attr_slices(instruction);
    int64_t starts[SHAPE_MAX_RANK], limits[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
    if (op == NULL) {
        return false;
    }
    for (int i = 0; i < slices.rank; i++) {
        starts[i] = slices.dimensions[i].start;
        limits[i] = slices.dimensions[i].limit;
        strides[i] = slices.dimensions[i].stride;
    }
    export_set_ints(scope, op, "start_indices", (struct ints){slices.rank, starts});
    export_set_ints(scope, op, "limit_indices", (struct ints){slices.rank, limits});
    export_set_ints(scope, op, "strides", (struct ints){slices.rank, strides});
    return true;
}

bool export_dynamic_slice(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "dynamic_slice", 0);
    if (op != NULL) {
        export_set_ints(scope, op, "slice_sizes", attr_ints(instruction, ATTR_DYNAMIC_SLICE_SIZES));
    }
    return op != NULL;
}

bool export_pad(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "pad", 0);
    const struct attr *attr = attr_get(instruction, ATTR_PADDING);
    int64_t low[SHAPE_MAX_RANK], high[SHAPE_MAX_RANK], interior[SHAPE_MAX_RANK];
    if (op == NULL || attr == NULL) {
        return false;
    }
    for (int i = 0; i < attr->padding.rank; i++) {
        low[i] = attr->padding.dimensions[i].low;
        high[i] = attr->padding.dimensions[i].high;
        interior[i] = attr->padding.dimensions[i].interior;
    }
    export_set_ints(scope, op, "edge_padding_low", (struct ints){attr->padding.rank, low});
    export_set_ints(scope, op, "edge_padding_high", (struct ints){attr->padding.rank, high});
    export_set_ints(scope, op, "interior_padding", (struct ints){attr->padding.rank, interior});
    return true;
}

bool export_compare(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "compare", 0);
    if (op == NULL) {
        return false;
    }
    enum type type = instruction->operands[0]->shape->type;
    int64_t otherwise = type_is_float(type) || type_is_complex(type) ? COMPARE_FLOAT
                        : type_kind(type) == KIND_SIGNED             ? COMPARE_SIGNED
                                                                     : COMPARE_UNSIGNED;
    int64_t direction = attr_int(instruction, ATTR_DIRECTION, 0);
    int64_t kind = attr_int(instruction, ATTR_TYPE, otherwise);
    export_set_word(scope, op, "comparison_direction", "comparison_direction",
                    attr_enum_text(ATTR_KIND_DIRECTION, direction));
    export_set_word(scope, op, "compare_type", "comparison_type",
                    attr_enum_text(ATTR_KIND_COMPARE_TYPE, kind));
    return true;
}

bool export_reduce_precision(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "reduce_precision", 0);
    if (op == NULL) {
        return false;
    }
    struct mlir_file *file = scope->exporter->file;
    const struct mlir_type *i32 = mlir_integer(file, 32, MLIR_SIGNLESS);
    mlir_set(file, &op->attrs, "exponent_bits",
             mlir_attr_int(file, attr_int(instruction, ATTR_EXPONENT_BITS, 0), i32));
    mlir_set(file, &op->attrs, "mantissa_bits",
             mlir_attr_int(file, attr_int(instruction, ATTR_MANTISSA_BITS, 0), i32));
    return true;
}

bool export_map(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "map", 1);
    int64_t dimensions[SHAPE_MAX_RANK];
    if (op == NULL) {
        return false;
    }
    for (int i = 0; i < instruction->shape->rank; i++) {
        dimensions[i] = i;
    }
    export_set_ints(scope, op, "dimensions", (struct ints){instruction->shape->rank, dimensions});
    return export_region(scope, op, 0, instruction->called[0]);
}

bool export_rng(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_file *file = scope->exporter->file;
    const struct shape *shape = instruction->shape;
    const int64_t sizes[] = {shape->rank};
    const struct mlir_type *type =
        mlir_shaped(file, MLIR_TENSOR, mlir_integer(file, 64, MLIR_SIGNLESS), 1, sizes, NULL);
    struct mlir_attr *value = mlir_attr_new(file, MLIR_ATTR_DENSE);
    value->type = type;
    value->dense.count = shape->rank;
    value->dense.data = arena_copy(&file->arena, shape->dimensions,
                                   (size_t)shape->rank * sizeof *shape->dimensions);
    struct mlir_op *constant =
        export_op(scope, instruction, "constant", (struct leaves){0}, 1, &type, 0);
    mlir_set(file, &constant->attrs, "value", value);
    struct leaves operands = export_operands(scope, instruction);
    struct mlir_value *all[3] = {operands.values[0], operands.count > 1 ? operands.values[1] : NULL,
                                 &constant->results[0]};
    const struct mlir_type *result = export_type(scope, instruction, shape);
    if (result == NULL || operands.count != 2) {
        return result != NULL &&
               export_refuse(scope, instruction, "of %d operands", operands.count);
    }
    struct mlir_op *op =
        export_op(scope, instruction, "rng", (struct leaves){3, all}, 1, &result, 0);
    export_bind(scope, instruction, op);
    bool uniform = attr_int(instruction, ATTR_DISTRIBUTION, 0) == RNG_UNIFORM;
    export_set_word(scope, op, "rng_distribution", "rng_distribution",
                    uniform ? "UNIFORM" : "NORMAL");
    return true;
}

bool export_rng_bit_generator(struct export_scope *scope, const struct instruction *instruction)
{
    static const char *const words[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
    if (!shape_is_tuple(instruction->shape)) {
        return export_refuse(scope, instruction, "without its state as a result");
    }
    struct mlir_op *op = export_plain(scope, instruction, "rng_bit_generator", 0);
    int64_t algorithm = attr_int(instruction, ATTR_ALGORITHM, ALGORITHM_RNG) - ALGORITHM_RNG;
    if (op != NULL) {
        export_set_word(scope, op, "rng_algorithm", "rng_algorithm",
                        words[algorithm >= 0 && algorithm < 3 ? algorithm : 0]);
    }
    return op != NULL;
}
