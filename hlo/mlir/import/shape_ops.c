/* Ops of the dialects shape, tensor and arith, as they stand between tensors and the ops that take
 * shapes as operands. A shape, of whatever type MLIR says, is a vector of s64 here, a size or index
 * an s64, a witness a pred that is true.
 * Sources: ShapeOps.td, TensorOps.td and ArithOps.td of mlir/include/mlir/Dialect. */
#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/mlir/import/twin.h"

/* Binds a result whose type may be none of HLO's (!shape.shape). */
static bool bind(struct scope *scope, const struct mlir_op *op, struct instruction *value)
{
    if (value == NULL) {
        return false;
    }
    if (op->result_count != 1) {
        return import_fail(scope, op, "has one result");
    }
    if (op->results[0].type->kind == MLIR_OTHER_TYPE) {
        map_put_int(&scope->values, pointer_key(&op->results[0]), value);
        return true;
    }
    return import_bind_results(scope, op, value);
}

static struct instruction *vector(struct scope *scope, const struct mlir_op *op, int count,
                                  const int64_t *values)
{
    return build_ints(scope, op, TYPE_S64, count, values);
}

static struct instruction *scalar(struct scope *scope, const struct mlir_op *op, enum type type,
                                  int64_t value)
{
    struct literal *literal = literal_zero(shape_scalar(type), scope->importer->err);
    if (literal == NULL) {
        return NULL;
    }
    literal_set_int(literal, 0, value);
    return import_constant(scope, op, literal);
}

/* The element type of the result where HLO has one, else s64. */
static enum type result_type(const struct mlir_op *op)
{
    if (op->result_count < 1) {
        return TYPE_S64;
    }
    const struct mlir_type *type = op->results[0].type;
    type = type->element != NULL ? type->element : type;
    return type->element_type != TYPE_INVALID && type_is_array(type->element_type)
               ? type->element_type
               : TYPE_S64;
}

/* An array operand whose size is known. */
static struct instruction *array_operand(struct scope *scope, const struct mlir_op *op, int index)
{
    struct instruction *value =
        index < op->operand_count ? import_value(scope, op, op->operands[index]) : NULL;
    if (value == NULL || !shape_is_array(value->shape)) {
        import_fail(scope, op, "operand %d must be a tensor", index);
        return NULL;
    }
    return value;
}

/* --- shapes of tensors --- */

/* The size of a dimension as a scalar: a constant, or what a bounded dimension has at run time. */
static struct instruction *dimension_size(struct scope *scope, const struct mlir_op *op,
                                          struct instruction *of, int64_t dimension, enum type type)
{
    if (dimension < 0 || dimension >= of->shape->rank) {
        import_fail(scope, op, "%s has no dimension %lld", shape_text(of->shape),
                    (long long)dimension);
        return NULL;
    }
    if (!shape_dimension_is_dynamic(of->shape, (int)dimension)) {
        return scalar(scope, op, type, of->shape->dimensions[dimension]);
    }
    struct instruction *size =
        import_add(scope, op, OP_GET_DIMENSION_SIZE, shape_scalar(TYPE_S32), 1, &of);
    import_set_ints(size, ATTR_DIMENSIONS, 1, &dimension);
    return build_convert(scope, op, size, type);
}

/* Scalars side by side. */
static struct instruction *side_by_side(struct scope *scope, const struct mlir_op *op, int count,
                                        struct instruction *const *scalars, enum type type)
{
    const int64_t one = 1, zero = 0;
    struct instruction **parts =
        arena_array(&scope->importer->module->arena, (size_t)count + 1, sizeof *parts);
    for (int i = 0; i < count; i++) {
        if (scalars[i] == NULL) {
            return NULL;
        }
        if (!shape_is_array(scalars[i]->shape) || shape_elements(scalars[i]->shape) != 1) {
            import_fail(scope, op, "operand %d must be a scalar", i);
            return NULL;
        }
        parts[i] = build_reshape(scope, op, build_convert(scope, op, scalars[i], type), 1, &one);
    }
    if (count == 0) {
        return build_ints(scope, op, type, 0, NULL);
    }
    if (count == 1) {
        return parts[0];
    }
    struct instruction *joined = import_add(scope, op, OP_CONCATENATE, NULL, count, parts);
    import_set_ints(joined, ATTR_DIMENSIONS, 1, &zero);
    return import_finish(scope, op, joined) ? joined : NULL;
}

bool translate_shape_shape_of(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *of = array_operand(scope, op, 0);
    if (of == NULL) {
        return false;
    }
    enum type type = result_type(op);
    struct instruction *sizes[SHAPE_MAX_RANK];
    for (int i = 0; i < of->shape->rank; i++) {
        sizes[i] = dimension_size(scope, op, of, i, type);
    }
    return shape_is_dynamic(of->shape)
               ? bind(scope, op, side_by_side(scope, op, of->shape->rank, sizes, type))
               : bind(scope, op,
                      build_ints(scope, op, type, of->shape->rank, of->shape->dimensions));
}

/* tensor.dim, shape.dim: (tensor, which dimension) */
static bool dim(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *of = array_operand(scope, op, 0);
    struct ints which = {0};
    if (of == NULL || !import_integers(scope, op, 1, &which)) {
        return false;
    }
    return bind(scope, op,
                which.count == 1 ? dimension_size(scope, op, of, which.values[0], result_type(op))
                                 : NULL);
}

bool translate_tensor_dim(struct scope *scope, const struct mlir_op *op)
{
    return dim(scope, op);
}

bool translate_shape_dim(struct scope *scope, const struct mlir_op *op)
{
    return dim(scope, op);
}

/* --- shapes of shapes --- */

/* The operand as it is, in the result's element type. */
static bool pass(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *value = array_operand(scope, op, 0);
    return value != NULL && bind(scope, op, build_convert(scope, op, value, result_type(op)));
}

bool translate_shape_to_extent_tensor(struct scope *scope, const struct mlir_op *op)
{
    return pass(scope, op);
}

bool translate_shape_index_to_size(struct scope *scope, const struct mlir_op *op)
{
    return pass(scope, op);
}

bool translate_shape_size_to_index(struct scope *scope, const struct mlir_op *op)
{
    return pass(scope, op);
}

bool translate_arith_index_cast(struct scope *scope, const struct mlir_op *op)
{
    return pass(scope, op);
}

bool translate_arith_extsi(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *value = array_operand(scope, op, 0);
    if (value == NULL) {
        return false;
    }
    /* A pred is a signed bit here: true is −1. */
    struct instruction *wide = build_convert(scope, op, value, result_type(op));
    if (value->shape->type == TYPE_PRED) {
        wide = import_add(scope, op, OP_NEGATE, wide->shape, 1, &wide);
    }
    return bind(scope, op, wide);
}

/* To i1, the lowest bit. */
bool translate_arith_trunci(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *value = array_operand(scope, op, 0);
    if (value == NULL) {
        return false;
    }
    if (result_type(op) == TYPE_PRED) {
        struct instruction *both[] = {value, build_fill(scope, op, value->shape, 1)};
        value = import_add(scope, op, OP_AND, value->shape, 2, both);
    }
    return bind(scope, op, build_convert(scope, op, value, result_type(op)));
}

bool translate_tensor_cast(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *value =
        op->operand_count == 1 ? import_value(scope, op, op->operands[0]) : NULL;
    return bind(scope, op, value);
}

/* Between types that MLIR holds apart and HLO does not. */
bool translate_conversion_cast(struct scope *scope, const struct mlir_op *op)
{
    if (op->operand_count != 1 || op->result_count != 1) {
        return import_refuse(scope, op, "of one value to one is understood");
    }
    struct instruction *value = import_value(scope, op, op->operands[0]);
    if (value != NULL && shape_is_array(value->shape)) {
        value = build_convert(scope, op, value, result_type(op));
    }
    return bind(scope, op, value);
}

bool translate_shape_from_extents(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = import_operands(scope, op);
    return operands != NULL &&
           bind(scope, op, side_by_side(scope, op, op->operand_count, operands, TYPE_S64));
}

static bool constant_ints(struct scope *scope, const struct mlir_op *op, const char *key,
                          bool as_vector)
{
    struct ints values = {0};
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    if (attr != NULL && attr->kind == MLIR_ATTR_INT && !as_vector) {
        return bind(scope, op, scalar(scope, op, result_type(op), attr->integer));
    }
    if (attr == NULL || !import_ints_attr(scope, op, key, &values)) {
        return import_fail(scope, op, "needs %s", key);
    }
    return bind(scope, op, vector(scope, op, values.count, values.values));
}

bool translate_shape_const_shape(struct scope *scope, const struct mlir_op *op)
{
    return constant_ints(scope, op, "shape", true);
}

bool translate_shape_const_size(struct scope *scope, const struct mlir_op *op)
{
    return constant_ints(scope, op, "value", false);
}

/* Element `index` of a vector, as a scalar. */
static struct instruction *element(struct scope *scope, const struct mlir_op *op,
                                   struct instruction *of, int64_t index)
{
    const struct shape *shape = of->shape;
    if (shape->rank != 1 || index < 0 || index >= shape->dimensions[0]) {
        import_fail(scope, op, "%s has no element %lld", shape_text(shape), (long long)index);
        return NULL;
    }
    int64_t one = 1;
    struct slice_dimension *dimension =
        arena_alloc(&scope->importer->module->arena, sizeof *dimension);
    *dimension = (struct slice_dimension){index, index + 1, 1};
    struct instruction *slice =
        import_add(scope, op, OP_SLICE, shape_array(shape->type, 1, &one), 1, &of);
    struct attr attr = {.key = ATTR_SLICE};
    attr.slices = (struct slices){1, dimension};
    instruction_set_attr(slice, attr);
    return build_reshape(scope, op, slice, 0, NULL);
}

bool translate_shape_get_extent(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *of = array_operand(scope, op, 0);
    struct ints which = {0};
    return of != NULL && import_integers(scope, op, 1, &which) && which.count == 1 &&
           bind(scope, op, element(scope, op, of, which.values[0]));
}

bool translate_shape_rank(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *of = array_operand(scope, op, 0);
    if (of == NULL || of->shape->rank != 1) {
        return import_fail(scope, op, "takes a shape");
    }
    return bind(scope, op, scalar(scope, op, result_type(op), of->shape->dimensions[0]));
}

bool translate_shape_concat(struct scope *scope, const struct mlir_op *op)
{
    const int64_t zero = 0;
    struct instruction *parts[2] = {array_operand(scope, op, 0), array_operand(scope, op, 1)};
    if (parts[0] == NULL || parts[1] == NULL) {
        return false;
    }
    struct instruction *joined = import_add(scope, op, OP_CONCATENATE, NULL, 2, parts);
    import_set_ints(joined, ATTR_DIMENSIONS, 1, &zero);
    return import_finish(scope, op, joined) && bind(scope, op, joined);
}

static struct instruction *binary(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                                  struct instruction *a, struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    struct instruction *result =
        a != NULL && b != NULL ? import_add(scope, op, opcode, NULL, 2, operands) : NULL;
    return result != NULL && import_finish(scope, op, result) ? result : NULL;
}

bool translate_shape_num_elements(struct scope *scope, const struct mlir_op *op)
{
    struct instruction *of = array_operand(scope, op, 0);
    if (of == NULL || of->shape->rank != 1 || of->shape->dimensions[0] > SHAPE_MAX_RANK) {
        return import_fail(scope, op, "takes a shape");
    }
    struct instruction *product = scalar(scope, op, of->shape->type, 1);
    for (int64_t i = 0; i < of->shape->dimensions[0]; i++) {
        product = binary(scope, op, OP_MULTIPLY, product, element(scope, op, of, i));
    }
    return product != NULL && bind(scope, op, build_convert(scope, op, product, result_type(op)));
}

/* --- broadcasting of shapes --- */

/* The shape with ones before it, `rank` sizes in all. */
static struct instruction *pad_shape(struct scope *scope, const struct mlir_op *op,
                                     struct instruction *of, int64_t rank)
{
    const int64_t zero = 0;
    int64_t missing = rank - of->shape->dimensions[0];
    if (missing == 0) {
        return of;
    }
    struct instruction *parts[2] = {build_fill(scope, op, shape_array(TYPE_S64, 1, &missing), 1),
                                    of};
    struct instruction *joined = import_add(scope, op, OP_CONCATENATE, NULL, 2, parts);
    import_set_ints(joined, ATTR_DIMENSIONS, 1, &zero);
    return import_finish(scope, op, joined) ? joined : NULL;
}

/* All operands as s64 vectors of one length; NULL on errors. */
static struct instruction **shapes_of_one_rank(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **shapes =
        arena_array(&scope->importer->module->arena, (size_t)op->operand_count + 1, sizeof *shapes);
    int64_t rank = 0;
    for (int i = 0; i < op->operand_count; i++) {
        shapes[i] = array_operand(scope, op, i);
        if (shapes[i] == NULL || shapes[i]->shape->rank != 1) {
            import_fail(scope, op, "operand %d must be a shape", i);
            return NULL;
        }
        shapes[i] = build_convert(scope, op, shapes[i], TYPE_S64);
        rank = shapes[i]->shape->dimensions[0] > rank ? shapes[i]->shape->dimensions[0] : rank;
    }
    for (int i = 0; i < op->operand_count; i++) {
        shapes[i] = pad_shape(scope, op, shapes[i], rank);
        if (shapes[i] == NULL) {
            return NULL;
        }
    }
    return shapes;
}

bool translate_shape_broadcast(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **shapes = shapes_of_one_rank(scope, op);
    if (shapes == NULL || op->operand_count == 0) {
        return import_fail(scope, op, "takes shapes");
    }
    struct instruction *result = shapes[0];
    for (int i = 1; i < op->operand_count && result != NULL; i++) {
        struct instruction *compared[] = {result, build_fill(scope, op, result->shape, 1)};
        struct instruction *is_one = import_add(
            scope, op, OP_COMPARE, shape_with_type(result->shape, TYPE_PRED), 2, compared);
        import_set_int(is_one, ATTR_DIRECTION, DIRECTION_EQ);
        struct instruction *chosen[] = {is_one, shapes[i], result};
        result = import_add(scope, op, OP_SELECT, result->shape, 3, chosen);
    }
    return result != NULL && bind(scope, op, build_convert(scope, op, result, result_type(op)));
}

/* What must hold holds, or the program is in error now: shapes are known. */
bool translate_shape_cstr_broadcastable(struct scope *scope, const struct mlir_op *op)
{
    int64_t sizes[SHAPE_MAX_RANK];
    for (int d = 0; d < SHAPE_MAX_RANK; d++) {
        sizes[d] = 1;
    }
    for (int i = 0; i < op->operand_count; i++) {
        struct ints shape = {0};
        if (!import_integers(scope, op, i, &shape)) {
            return false;
        }
        for (int d = 0; d < shape.count && d < SHAPE_MAX_RANK; d++) { /* from the last on */
            int64_t size = shape.values[shape.count - 1 - d];
            if (size != 1 && sizes[d] != 1 && size != sizes[d]) {
                return import_fail(scope, op, "sizes %lld and %lld do not fit", (long long)sizes[d],
                                   (long long)size);
            }
            sizes[d] = size != 1 ? size : sizes[d];
        }
    }
    return bind(scope, op, scalar(scope, op, TYPE_PRED, 1));
}

/* (number of elements, shape) */
bool translate_shape_cstr_reshapable(struct scope *scope, const struct mlir_op *op)
{
    struct ints elements = {0}, sizes = {0};
    if (!import_integers(scope, op, 0, &elements) || !import_integers(scope, op, 1, &sizes)) {
        return false;
    }
    int64_t product = 1;
    int unknown = 0;
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.values[i] == -1) {
            unknown++;
        } else if (__builtin_mul_overflow(product, sizes.values[i], &product)) {
            product = -1;
            break;
        }
    }
    bool fits = elements.count == 1 && product >= 0 &&
                (unknown == 0 ? product == elements.values[0]
                              : unknown == 1 && product > 0 && elements.values[0] % product == 0);
    return fits ? bind(scope, op, scalar(scope, op, TYPE_PRED, 1))
                : import_fail(scope, op, "the number of elements does not fit");
}

/* Its region, in place. */
bool translate_shape_assuming(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_block *block = import_only_block(scope, op, 0);
    const struct mlir_op *end = block != NULL ? import_block(scope, op, block) : NULL;
    if (end == NULL) {
        return false;
    }
    if (end->operand_count != op->result_count) {
        return import_fail(scope, op, "the region gives %d values", end->operand_count);
    }
    for (int i = 0; i < op->result_count; i++) {
        struct instruction *value = import_value(scope, end, end->operands[i]);
        if (value == NULL) {
            return false;
        }
        import_bind(scope, &op->results[i], value);
    }
    return scope->importer->err->code == ERROR_NONE;
}

bool translate_shape_assuming_yield(struct scope *scope, const struct mlir_op *op)
{
    return import_fail(scope, op, "does not end a region of shape.assuming");
}

/* --- tensor --- */

bool translate_tensor_from_elements(struct scope *scope, const struct mlir_op *op)
{
    if (op->result_count != 1) {
        return import_fail(scope, op, "has one result");
    }
    struct instruction **operands = import_operands(scope, op);
    const struct shape *shape = operands != NULL ? import_result_shape(scope, op, 0, NULL) : NULL;
    if (shape == NULL) {
        return false;
    }
    struct instruction *list = side_by_side(scope, op, op->operand_count, operands, shape->type);
    if (list == NULL || shape_elements(shape) != op->operand_count) {
        return import_fail(scope, op, "%d elements do not fill %s", op->operand_count,
                           shape_text(shape));
    }
    return bind(scope, op, build_reshape(scope, op, list, shape->rank, shape->dimensions));
}

bool translate_tensor_extract(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL || op->operand_count < 1 || !shape_is_array(operands[0]->shape) ||
        op->operand_count != 1 + operands[0]->shape->rank) {
        return import_fail(scope, op, "needs an index for each dimension");
    }
    if (op->operand_count == 1) {
        return bind(scope, op, operands[0]);
    }
    int64_t ones[SHAPE_MAX_RANK];
    for (int i = 0; i < operands[0]->shape->rank; i++) {
        ones[i] = 1;
    }
    struct instruction *slice =
        import_add(scope, op, OP_DYNAMIC_SLICE, NULL, op->operand_count, operands);
    import_set_ints(slice, ATTR_DYNAMIC_SLICE_SIZES, operands[0]->shape->rank, ones);
    return import_finish(scope, op, slice) &&
           bind(scope, op, build_reshape(scope, op, slice, 0, NULL));
}

/* --- arith --- */

bool translate_arith_constant(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_attr *value = mlir_op_attr(op, "value");
    if (value == NULL || op->result_count != 1) {
        return import_fail(scope, op, "needs a value");
    }
    if (value->kind == MLIR_ATTR_INT || value->kind == MLIR_ATTR_BOOL) {
        return bind(scope, op, scalar(scope, op, result_type(op), value->integer));
    }
    if (value->kind == MLIR_ATTR_FLOAT) {
        return bind(scope, op, import_scalar(scope, op, result_type(op), value->number));
    }
    struct literal *literal = import_dense(scope, op, value);
    return literal != NULL && bind(scope, op, import_constant(scope, op, literal));
}

static bool arithmetic(struct scope *scope, const struct mlir_op *op, enum opcode opcode)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    return operands != NULL && bind(scope, op, binary(scope, op, opcode, operands[0], operands[1]));
}

bool translate_arith_addi(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_ADD);
}

bool translate_arith_subi(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_SUBTRACT);
}

bool translate_arith_muli(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_MULTIPLY);
}

bool translate_arith_divsi(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_DIVIDE);
}

bool translate_arith_remsi(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_REMAINDER);
}

bool translate_arith_maxsi(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_MAXIMUM);
}

bool translate_arith_minsi(struct scope *scope, const struct mlir_op *op)
{
    return arithmetic(scope, op, OP_MINIMUM);
}

/* Predicates 0 to 9: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge. Unsigned ones compare the bits
 * as unsigned numbers. */
bool translate_arith_cmpi(struct scope *scope, const struct mlir_op *op)
{
    static const enum direction directions[] = {
        DIRECTION_EQ, DIRECTION_NE, DIRECTION_LT, DIRECTION_LE, DIRECTION_GT,
        DIRECTION_GE, DIRECTION_LT, DIRECTION_LE, DIRECTION_GT, DIRECTION_GE};
    static const enum type unsigned_types[TYPE_COUNT] = {
        [TYPE_S8] = TYPE_U8, [TYPE_S16] = TYPE_U16, [TYPE_S32] = TYPE_U32, [TYPE_S64] = TYPE_U64};
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    int64_t predicate = -1;
    if (operands == NULL || !import_int_attr(scope, op, "predicate", &predicate)) {
        return false;
    }
    if (predicate < 0 || predicate >= (int64_t)(sizeof directions / sizeof *directions)) {
        return import_fail(scope, op, "has no predicate %lld", (long long)predicate);
    }
    enum type type = operands[0]->shape->type;
    for (int i = 0; i < 2 && predicate >= 6 && unsigned_types[type] != TYPE_INVALID; i++) {
        operands[i] =
            import_add(scope, op, OP_BITCAST_CONVERT,
                       shape_with_type(operands[i]->shape, unsigned_types[type]), 1, &operands[i]);
    }
    struct instruction *compare = import_add(scope, op, OP_COMPARE, NULL, 2, operands);
    import_set_int(compare, ATTR_DIRECTION, directions[predicate]);
    return import_finish(scope, op, compare) && bind(scope, op, compare);
}

bool translate_arith_select(struct scope *scope, const struct mlir_op *op)
{
    return translate_select(scope, op);
}
