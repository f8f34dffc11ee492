/* MLIR → HLO: gather, scatter, sort. */
#include "hlo/mlir/import/build.h"

#include "hlo/literal.h"

/* A dimension list of #stablehlo.gather or #stablehlo.scatter and HLO's; `optional` ones HLO leaves
 * out when they are empty. */
struct dimension_row {
    const char *key;
    enum attr_key attr;
    bool optional;
};

static bool set_dimensions(struct scope *scope, const struct mlir_op *op,
                           const struct mlir_dictionary *parameters,
                           const struct dimension_row *rows, size_t count,
                           struct instruction *instruction)
{
    for (size_t i = 0; i < count; i++) {
        struct ints dimensions = {0};
        if (!build_ints_parameter(scope, op, parameters, rows[i].key, &dimensions)) {
            return false;
        }
        if (dimensions.count > 0 || !rows[i].optional) {
            import_set_ints(instruction, rows[i].attr, dimensions.count, dimensions.values);
        }
    }
    int64_t index_vector_dim = 0;
    if (!build_int_parameter(scope, op, parameters, "index_vector_dim", &index_vector_dim)) {
        return false;
    }
    import_set_int(instruction, ATTR_INDEX_VECTOR_DIM, index_vector_dim);
    return true;
}

static bool set_flag(struct scope *scope, const struct mlir_op *op, const char *name,
                     enum attr_key key, struct instruction *instruction)
{
    bool value = false;
    if (!import_bool_attr(scope, op, name, &value)) {
        return false;
    }
    import_set_int(instruction, key, value);
    return true;
}

bool translate_gather(struct scope *scope, const struct mlir_op *op)
{
    static const struct dimension_row rows[] = {
        {"offset_dims", ATTR_OFFSET_DIMS, false},
        {"collapsed_slice_dims", ATTR_COLLAPSED_SLICE_DIMS, false},
        {"start_index_map", ATTR_START_INDEX_MAP, false},
        {"operand_batching_dims", ATTR_OPERAND_BATCHING_DIMS, true},
        {"start_indices_batching_dims", ATTR_START_INDICES_BATCHING_DIMS, true},
    };
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    const struct mlir_dictionary *parameters =
        operands != NULL ? build_parameters(scope, op, "dimension_numbers", "gather") : NULL;
    struct ints *sizes = arena_alloc(&scope->importer->module->arena, sizeof *sizes);
    if (parameters == NULL || !import_ints_attr(scope, op, "slice_sizes", sizes)) {
        return false;
    }
    struct instruction *gather = import_add(scope, op, OP_GATHER, NULL, 2, operands);
    instruction_set_attr(gather,
                         (struct attr){.key = ATTR_SLICE_SIZES, .lists = {1, sizes, false}});
    return set_dimensions(scope, op, parameters, rows, sizeof rows / sizeof *rows, gather) &&
           set_flag(scope, op, "indices_are_sorted", ATTR_INDICES_ARE_SORTED, gather) &&
           build_finish(scope, op, gather);
}

/* --- scatter --- */

/* HLO drops an update window that is not wholly inside, the specification only those of its
 * elements that are outside. Both are the same unless a window of more than one element is moved
 * along a dimension. Then the inputs get margins as wide as a window may stick out, which are cut
 * off again; so windows that reach in are updated, and those that do not are dropped by either. */
struct margins {
    bool any;
    int64_t width[SHAPE_MAX_RANK]; /* of each dimension of the inputs, before and after */
};

static bool contains(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return true;
        }
    }
    return false;
}

/* The margins that the windows of a scatter without `shape` need. False: the dimensions do not fit,
 * which the inference of its shape will say. */
static bool find_margins(const struct instruction *scatter, int count, struct margins *margins)
{
    const struct shape *input = scatter->operands[0]->shape;
    const struct shape *update = scatter->operands[count + 1]->shape;
    struct ints moved = attr_ints(scatter, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
    struct ints window = attr_ints(scatter, ATTR_UPDATE_WINDOW_DIMS);
    struct ints inserted = attr_ints(scatter, ATTR_INSERTED_WINDOW_DIMS);
    struct ints batching = attr_ints(scatter, ATTR_INPUT_BATCHING_DIMS);
    int next = 0;
    *margins = (struct margins){0};
    for (int i = 0; i < input->rank; i++) {
        if (contains(inserted, i) || contains(batching, i)) {
            continue;
        }
        if (next >= window.count || window.values[next] < 0 ||
            window.values[next] >= update->rank) {
            return false;
        }
        int64_t size = update->dimensions[window.values[next++]];
        if (size > 1 && size <= input->dimensions[i] && contains(moved, i)) {
            margins->width[i] = size - 1;
            margins->any = true;
        }
    }
    return true;
}

/* The constant behind reshapes and the like, or NULL. */
static const struct literal *constant_of(const struct instruction *instruction)
{
    return instruction->opcode == OP_CONSTANT ? instruction->literal : NULL;
}

/* Are the indices constants such that no window sticks out? */
static bool windows_are_inside(const struct instruction *scatter, int count,
                               const struct margins *margins)
{
    const struct instruction *indices = scatter->operands[count];
    const struct literal *literal = constant_of(indices);
    struct ints moved = attr_ints(scatter, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
    const struct shape *input = scatter->operands[0]->shape;
    int64_t vector = attr_int(scatter, ATTR_INDEX_VECTOR_DIM, 0);
    if (literal == NULL || vector < 0 || vector > indices->shape->rank) {
        return false;
    }
    int64_t inner = 1, components = 1;
    for (int64_t i = vector + 1; i < indices->shape->rank; i++) {
        inner *= indices->shape->dimensions[i];
    }
    if (vector < indices->shape->rank) {
        components = indices->shape->dimensions[vector];
    }
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        int64_t component = i / inner % components;
        if (component >= moved.count) {
            return false;
        }
        int64_t along = moved.values[component];
        int64_t start = literal_get_int(literal, i);
        if (start < 0 || start + margins->width[along] >= input->dimensions[along]) {
            return false;
        }
    }
    return true;
}

/* `from` with the margins, of zeros. */
static struct instruction *add_margins(struct scope *scope, const struct mlir_op *op,
                                       struct instruction *from, const struct margins *margins)
{
    int rank = from->shape->rank;
    int64_t sizes[SHAPE_MAX_RANK];
    struct padding_dimension *dimensions =
        arena_array(&scope->importer->module->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        sizes[i] = from->shape->dimensions[i] + 2 * margins->width[i];
        dimensions[i] = (struct padding_dimension){margins->width[i], margins->width[i], 0};
    }
    struct instruction *operands[] = {from, import_scalar(scope, op, from->shape->type, 0)};
    if (operands[1] == NULL) {
        return NULL;
    }
    struct instruction *pad =
        import_add(scope, op, OP_PAD, shape_array(from->shape->type, rank, sizes), 2, operands);
    instruction_set_attr(pad, (struct attr){.key = ATTR_PADDING, .padding = {rank, dimensions}});
    return pad;
}

static struct instruction *cut_margins(struct scope *scope, const struct mlir_op *op,
                                       struct instruction *from, const struct margins *margins)
{
    int rank = from->shape->rank;
    int64_t sizes[SHAPE_MAX_RANK];
    struct slice_dimension *dimensions =
        arena_array(&scope->importer->module->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        sizes[i] = from->shape->dimensions[i] - 2 * margins->width[i];
        dimensions[i] =
            (struct slice_dimension){margins->width[i], margins->width[i] + sizes[i], 1};
    }
    struct instruction *slice =
        import_add(scope, op, OP_SLICE, shape_array(from->shape->type, rank, sizes), 1, &from);
    instruction_set_attr(slice, (struct attr){.key = ATTR_SLICE, .slices = {rank, dimensions}});
    return slice;
}

/* The indices into inputs with margins, as s64. Indices of u64 beyond s64 are outside, and must not
 * come back in as negative ones. */
static struct instruction *move_indices(struct scope *scope, const struct mlir_op *op,
                                        struct instruction *indices, struct ints moved,
                                        int64_t vector, const struct margins *margins)
{
    if (indices->shape->type == TYPE_U64) {
        struct literal *most = literal_zero(shape_scalar(TYPE_U64), scope->importer->err);
        if (most == NULL) {
            return NULL;
        }
        literal_set_int(most, 0, INT64_MAX / 2);
        struct instruction *operands[] = {
            indices, import_broadcast(scope, op, import_constant(scope, op, most),
                                      shape_without_layout(indices->shape), 0, NULL)};
        indices =
            import_add(scope, op, OP_MINIMUM, shape_without_layout(indices->shape), 2, operands);
    }
    indices = build_convert(scope, op, indices, TYPE_S64);
    int64_t widths[SHAPE_MAX_RANK];
    for (int i = 0; i < moved.count; i++) {
        widths[i] = margins->width[moved.values[i]];
    }
    struct instruction *width = build_ints(scope, op, TYPE_S64, moved.count, widths);
    bool is_vector = vector < indices->shape->rank;
    if (width != NULL && !is_vector) {
        width = build_reshape(scope, op, width, 0, NULL);
    }
    if (width == NULL) {
        return NULL;
    }
    struct instruction *operands[] = {
        indices, import_broadcast(scope, op, width, shape_without_layout(indices->shape),
                                  is_vector ? 1 : 0, &vector)};
    return import_add(scope, op, OP_ADD, shape_without_layout(indices->shape), 2, operands);
}

/* The scatter again, with margins, and its results without them. */
static bool scatter_with_margins(struct scope *scope, const struct mlir_op *op,
                                 struct instruction *scatter, int count,
                                 const struct margins *margins)
{
    struct instruction **operands = scatter->operands;
    operands[count] = move_indices(scope, op, operands[count],
                                   attr_ints(scatter, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS),
                                   attr_int(scatter, ATTR_INDEX_VECTOR_DIM, 0), margins);
    bool ok = operands[count] != NULL;
    for (int i = 0; ok && i < count; i++) {
        operands[i] = add_margins(scope, op, operands[i], margins);
        ok = operands[i] != NULL;
    }
    scatter->shape = NULL;
    if (!ok || !import_finish(scope, op, scatter)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct instruction *result = count > 1 ? build_element(scope, op, scatter, i) : scatter;
        import_bind(scope, &op->results[i], cut_margins(scope, op, result, margins));
    }
    return scope->importer->err->code == ERROR_NONE;
}

bool translate_scatter(struct scope *scope, const struct mlir_op *op)
{
    static const struct dimension_row rows[] = {
        {"update_window_dims", ATTR_UPDATE_WINDOW_DIMS, false},
        {"inserted_window_dims", ATTR_INSERTED_WINDOW_DIMS, false},
        {"scatter_dims_to_operand_dims", ATTR_SCATTER_DIMS_TO_OPERAND_DIMS, false},
        {"input_batching_dims", ATTR_INPUT_BATCHING_DIMS, true},
        {"scatter_indices_batching_dims", ATTR_SCATTER_INDICES_BATCHING_DIMS, true},
    };
    struct instruction **operands = build_operands(scope, op, -1, -1, 1);
    int count = op->result_count;
    const struct mlir_dictionary *parameters =
        operands != NULL ? build_parameters(scope, op, "scatter_dimension_numbers", "scatter")
                         : NULL;
    if (parameters == NULL) {
        return false;
    }
    if (op->operand_count != 2 * count + 1) {
        return import_fail(scope, op, "%d operands for %d results", op->operand_count, count);
    }
    enum type *types = arena_array(&scope->importer->module->arena, (size_t)count, sizeof *types);
    struct computation *combiner = build_reducer(scope, op, 0, count, types);
    if (combiner == NULL) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct instruction **update = &operands[count + 1 + i];
        operands[i] = build_promote(scope, op, operands[i], types[i]);
        *update = operands[i] != NULL ? build_promote(scope, op, *update, types[i]) : NULL;
        if (*update == NULL) {
            return false;
        }
    }
    struct instruction *scatter =
        import_add(scope, op, OP_SCATTER, NULL, op->operand_count, operands);
    instruction_set_called(scatter, 1, &combiner);
    if (!set_dimensions(scope, op, parameters, rows, sizeof rows / sizeof *rows, scatter) ||
        !set_flag(scope, op, "indices_are_sorted", ATTR_INDICES_ARE_SORTED, scatter) ||
        !set_flag(scope, op, "unique_indices", ATTR_UNIQUE_INDICES, scatter) ||
        !import_finish(scope, op, scatter)) {
        return false;
    }
    struct margins margins;
    if (find_margins(scatter, count, &margins) && margins.any &&
        !windows_are_inside(scatter, count, &margins)) {
        return scatter_with_margins(scope, op, scatter, count, &margins);
    }
    return import_bind_results(scope, op, scatter);
}

/* --- sort --- */

bool translate_sort(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 1);
    int64_t dimension = -1;
    bool is_stable = false;
    if (operands == NULL || !import_int_attr(scope, op, "dimension", &dimension) ||
        !import_bool_attr(scope, op, "is_stable", &is_stable)) {
        return false;
    }
    struct computation *comparator = import_region(scope, op, 0, NULL, false);
    if (comparator == NULL) {
        return false;
    }
    dimension += dimension < 0 ? operands[0]->shape->rank : 0;
    struct instruction *sort = import_add(scope, op, OP_SORT, NULL, op->operand_count, operands);
    import_set_ints(sort, ATTR_DIMENSIONS, 1, &dimension);
    import_set_int(sort, ATTR_IS_STABLE, is_stable);
    instruction_set_called(sort, 1, &comparator);
    return build_finish(scope, op, sort);
}
