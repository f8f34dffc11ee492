/* What the translations of StableHLO's larger ops share. */
#include "hlo/mlir/import/build.h"

#include <string.h>

#include "hlo/literal.h"

static bool count_ok(int wanted, int there)
{
    return wanted < 0 ? there > 0 : there == wanted;
}

struct instruction **build_operands(struct scope *scope, const struct mlir_op *op, int operands,
                                    int results, int regions)
{
    const struct {
        const char *what;
        int wanted, there;
    } rows[] = {{"operands", operands, op->operand_count},
                {"results", results, op->result_count},
                {"regions", regions, op->region_count}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!count_ok(rows[i].wanted, rows[i].there)) {
            import_fail(scope, op, "%d %s, but it takes %s%d", rows[i].there, rows[i].what,
                        rows[i].wanted < 0 ? "at least " : "",
                        rows[i].wanted < 0 ? 1 : rows[i].wanted);
            return NULL;
        }
    }
    return import_operands(scope, op);
}

bool build_finish(struct scope *scope, const struct mlir_op *op, struct instruction *instruction)
{
    if (!import_finish(scope, op, instruction)) {
        return false;
    }
    bool is_contraction = instruction->opcode == OP_DOT || instruction->opcode == OP_CONVOLUTION;
    if (is_contraction && op->result_count == 1) {
        const struct mlir_type *element = op->results[0].type->element;
        if (element != NULL && type_is_array(element->element_type)) {
            instruction->shape = shape_with_type(instruction->shape, element->element_type);
        }
    }
    return import_bind_results(scope, op, instruction);
}

const struct shape *build_results_shape(struct scope *scope, const struct mlir_op *op,
                                        const struct shape *const *inferred)
{
    if (op->result_count == 1) {
        return import_result_shape(scope, op, 0, inferred != NULL ? inferred[0] : NULL);
    }
    const struct shape **shapes =
        arena_array(&scope->importer->module->arena, (size_t)op->result_count + 1, sizeof *shapes);
    for (int i = 0; i < op->result_count; i++) {
        shapes[i] = import_result_shape(scope, op, i, inferred != NULL ? inferred[i] : NULL);
        if (shapes[i] == NULL) {
            return NULL;
        }
    }
    return shape_tuple(op->result_count, shapes);
}

/* --- instructions --- */

struct instruction *build_convert(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, enum type type)
{
    if (!shape_is_array(from->shape) || from->shape->type == type) {
        return from;
    }
    return import_add(scope, op, OP_CONVERT, shape_with_type(from->shape, type), 1, &from);
}

static bool is_promotable(enum type from, enum type to)
{
    bool same_kind =
        type_kind(from) == type_kind(to) || (type_is_integer(from) && type_is_integer(to));
    return same_kind && type_bits(from) <= type_bits(to);
}

struct instruction *build_promote(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, enum type type)
{
    if (!shape_is_array(from->shape) || !is_promotable(from->shape->type, type)) {
        import_fail(scope, op, "%s cannot be promoted to %s, which its computation takes",
                    shape_text(from->shape), type_text(type));
        return NULL;
    }
    return build_convert(scope, op, from, type);
}

bool build_is_token(struct scope *scope, const struct mlir_op *op, const struct instruction *value)
{
    return value->shape->type == TYPE_TOKEN ||
           import_fail(scope, op, "takes a token last, not %s", shape_text(value->shape));
}

struct instruction *build_reshape(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *from, int rank, const int64_t *sizes)
{
    const struct shape *shape = shape_array(from->shape->type, rank, sizes);
    if (shape_compatible(shape, from->shape)) {
        return from;
    }
    return import_add(scope, op, OP_RESHAPE, shape, 1, &from);
}

struct instruction *build_transpose(struct scope *scope, const struct mlir_op *op,
                                    struct instruction *from, const int64_t *order)
{
    const struct shape *shape = from->shape;
    int64_t sizes[SHAPE_MAX_RANK];
    bool moves = false;
    for (int i = 0; i < shape->rank; i++) {
        sizes[i] = shape->dimensions[order[i]];
        moves |= order[i] != i;
    }
    if (!moves) {
        return from;
    }
    struct instruction *transpose =
        import_add(scope, op, OP_TRANSPOSE, shape_array(shape->type, shape->rank, sizes), 1, &from);
    import_set_ints(transpose, ATTR_DIMENSIONS, shape->rank, order);
    return transpose;
}

struct instruction *build_element(struct scope *scope, const struct mlir_op *op,
                                  struct instruction *tuple, int index)
{
    struct instruction *element =
        import_add(scope, op, OP_GET_TUPLE_ELEMENT, tuple->shape->elements[index], 1, &tuple);
    import_set_int(element, ATTR_INDEX, index);
    return element;
}

struct instruction *build_tuple(struct scope *scope, const struct mlir_op *op, int count,
                                struct instruction *const *elements)
{
    const struct shape **shapes =
        arena_array(&scope->importer->module->arena, (size_t)count + 1, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        shapes[i] = elements[i]->shape;
    }
    return import_add(scope, op, OP_TUPLE, shape_tuple(count, shapes), count, elements);
}

struct instruction *build_fill(struct scope *scope, const struct mlir_op *op,
                               const struct shape *shape, double value)
{
    struct instruction *scalar = import_scalar(scope, op, shape->type, value);
    return scalar == NULL || shape->rank == 0
               ? scalar
               : import_broadcast(scope, op, scalar, shape_without_layout(shape), 0, NULL);
}

struct instruction *build_ints(struct scope *scope, const struct mlir_op *op, enum type type,
                               int count, const int64_t *values)
{
    int64_t size = count;
    struct literal *literal = literal_zero(shape_array(type, 1, &size), scope->importer->err);
    if (literal == NULL) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        literal_set_int(literal, i, values[i]);
    }
    return import_constant(scope, op, literal);
}

struct computation *build_sum(struct scope *scope, const struct mlir_op *op, enum type type)
{
    struct computation *sum = import_computation(scope->importer, "sum");
    const struct shape *shape = shape_scalar(type);
    struct instruction *parameters[2];
    for (int i = 0; i < 2; i++) {
        parameters[i] = instruction_add(sum, i == 0 ? "x" : "y", OP_PARAMETER, shape, 0, NULL);
        parameters[i]->number = i;
    }
    sum->root =
        instruction_add(sum, "root", type == TYPE_PRED ? OP_OR : OP_ADD, shape, 2, parameters);
    sum->parameter_count = 2;
    sum->parameters = arena_copy(&scope->importer->module->arena, parameters, sizeof parameters);
    sum->line = op->line;
    return sum;
}

/* --- regions --- */

struct computation *build_reducer(struct scope *scope, const struct mlir_op *op, int region,
                                  int count, enum type *types)
{
    const struct mlir_block *block = import_only_block(scope, op, region);
    if (block == NULL) {
        return NULL;
    }
    if (block->argument_count != 2 * count) {
        import_fail(scope, op, "the computation takes %d values, but must take %d",
                    block->argument_count, 2 * count);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *shape = import_shape(scope, op, block->arguments[i].type);
        if (shape == NULL) {
            return NULL;
        }
        types[i] = shape->type;
    }
    return import_region(scope, op, region, NULL, false);
}

/* --- attributes --- */

const struct mlir_dictionary *build_parameters(struct scope *scope, const struct mlir_op *op,
                                               const char *key, const char *mnemonic)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    if (attr == NULL) {
        import_fail(scope, op, "%s is missing", key);
        return NULL;
    }
    if (attr->kind != MLIR_ATTR_DIALECT || strcmp(attr->dialect.mnemonic, mnemonic) != 0) {
        import_fail(scope, op, "%s is no #stablehlo.%s", key, mnemonic);
        return NULL;
    }
    return &attr->dialect.parameters;
}

bool build_ints_parameter(struct scope *scope, const struct mlir_op *op,
                          const struct mlir_dictionary *parameters, const char *key,
                          struct ints *values)
{
    const struct mlir_attr *attr = mlir_get(parameters, key);
    if (attr == NULL) {
        return true;
    }
    struct ints found;
    if (!mlir_attr_as_ints(scope->importer->file, attr, &found)) {
        return import_fail(scope, op, "%s is no list of integers", key);
    }
    int64_t *copy =
        arena_array(&scope->importer->module->arena, (size_t)found.count + 1, sizeof *copy);
    for (int i = 0; i < found.count; i++) {
        copy[i] = found.values[i];
    }
    *values = (struct ints){found.count, copy};
    return true;
}

bool build_int_parameter(struct scope *scope, const struct mlir_op *op,
                         const struct mlir_dictionary *parameters, const char *key, int64_t *value)
{
    const struct mlir_attr *attr = mlir_get(parameters, key);
    if (attr == NULL) {
        return true;
    }
    if (attr->kind != MLIR_ATTR_INT) {
        return import_fail(scope, op, "%s is no integer", key);
    }
    *value = attr->integer;
    return true;
}

bool build_flag(const struct mlir_op *op, const char *key)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    return attr != NULL &&
           (attr->kind == MLIR_ATTR_UNIT || (attr->kind == MLIR_ATTR_BOOL && attr->integer != 0));
}

bool build_precision(struct scope *scope, const struct mlir_op *op, struct instruction *instruction)
{
    static const char *const words[] = {[PRECISION_DEFAULT] = "DEFAULT",
                                        [PRECISION_HIGH] = "HIGH",
                                        [PRECISION_HIGHEST] = "HIGHEST"};
    const struct mlir_attr *attr = mlir_op_attr(op, "precision_config");
    if (attr == NULL) {
        return true;
    }
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return import_fail(scope, op, "precision_config is no list");
    }
    if (attr->array.count == 0) {
        return true;
    }
    if (attr->array.count != 2) {
        return import_fail(scope, op, "precision_config has %d entries, not 2", attr->array.count);
    }
    uint8_t *values = arena_alloc(&scope->importer->module->arena, 2);
    bool all_default = true;
    for (int i = 0; i < 2; i++) {
        const struct mlir_attr *element = attr->array.elements[i];
        size_t word = 0;
        while (word < sizeof words / sizeof *words &&
               (element->kind != MLIR_ATTR_DIALECT || element->dialect.word == NULL ||
                strcmp(element->dialect.word, words[word]) != 0)) {
            word++;
        }
        if (word == sizeof words / sizeof *words) {
            return import_fail(scope, op, "entry %d of precision_config is no precision", i);
        }
        values[i] = (uint8_t)word;
        all_default &= word == PRECISION_DEFAULT;
    }
    if (!all_default) {
        instruction_set_attr(
            instruction, (struct attr){.key = ATTR_OPERAND_PRECISION, .precisions = {2, values}});
    }
    return true;
}

static bool part_ok(struct scope *scope, const struct mlir_op *op, const char *what,
                    const struct ints *part, int count)
{
    return part->count == 0 || part->count == count ||
           import_fail(scope, op, "the window has %d %s, but must have %d", part->count, what,
                       count);
}

bool build_window(struct scope *scope, const struct mlir_op *op, struct instruction *instruction,
                  int rank, const struct window_parts *parts)
{
    if (!part_ok(scope, op, "sizes", &parts->sizes, rank) ||
        !part_ok(scope, op, "strides", &parts->strides, rank) ||
        !part_ok(scope, op, "paddings", &parts->padding, 2 * rank) ||
        !part_ok(scope, op, "base dilations", &parts->base_dilations, rank) ||
        !part_ok(scope, op, "window dilations", &parts->window_dilations, rank) ||
        !part_ok(scope, op, "reversals", &parts->reversal, rank)) {
        return false;
    }
    if (rank == 0) {
        return true;
    }
    struct window_dimension *dimensions =
        arena_array(&scope->importer->module->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        const struct ints *padding = &parts->padding;
        dimensions[i] = (struct window_dimension){
            .size = parts->sizes.count > 0 ? parts->sizes.values[i] : 1,
            .stride = parts->strides.count > 0 ? parts->strides.values[i] : 1,
            .padding_low = padding->count > 0 ? padding->values[2 * i] : 0,
            .padding_high = padding->count > 0 ? padding->values[2 * i + 1] : 0,
            .base_dilation = parts->base_dilations.count > 0 ? parts->base_dilations.values[i] : 1,
            .window_dilation =
                parts->window_dilations.count > 0 ? parts->window_dilations.values[i] : 1,
            .reversal = parts->reversal.count > 0 && parts->reversal.values[i] != 0,
        };
    }
    instruction_set_attr(instruction,
                         (struct attr){.key = ATTR_WINDOW, .window = {rank, dimensions}});
    return true;
}
