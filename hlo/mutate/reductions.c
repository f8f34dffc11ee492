/* Faults of what combines values: reductions, products, scatters. */
#include "hlo/mutate/mutate_internal.h"

/* --- the last one is left out --- */

static bool reduce_without_last(struct instruction *reduce, struct rng *rng, struct text *what)
{
    int found[SHAPE_MAX_RANK], count = 0;
    struct ints dimensions = attr_ints(reduce, ATTR_DIMENSIONS);
    for (int i = 0; i < dimensions.count; i++) {
        if (reduce->operands[0]->shape->dimensions[dimensions.values[i]] > 1) {
            found[count++] = (int)dimensions.values[i];
        }
    }
    if (count > 0 && what != NULL) {
        int dimension = found[edit_draw(rng, count)];
        for (int k = 0; k < reduce->operand_count / 2; k++) {
            reduce->operands[k] = edit_without_last(reduce, reduce->operands[k], dimension);
        }
        text_printf(what, "the last element along dimension %d is left out", dimension);
    }
    return count > 0;
}

static bool window_without_last(struct instruction *reduce, struct rng *rng, struct text *what)
{
    int found[SHAPE_MAX_RANK], count = 0;
    struct window window = attr_window(reduce);
    for (int d = 0; d < window.rank; d++) {
        if (window.dimensions[d].size > 1 && reduce->operands[0]->shape->dimensions[d] > 1) {
            found[count++] = d;
        }
    }
    if (count > 0 && what != NULL) {
        int dimension = found[edit_draw(rng, count)], inputs = reduce->operand_count / 2;
        for (int k = 0; k < inputs; k++) {
            reduce->operands[k] = edit_last_filled(reduce, reduce->operands[k], dimension,
                                                   reduce->operands[inputs + k]);
        }
        text_printf(what, "the last element along dimension %d is left out", dimension);
    }
    return count > 0;
}

static bool is_static(const struct instruction *instruction)
{
    for (int k = 0; k < instruction->operand_count; k++) {
        if (shape_is_dynamic(instruction->operands[k]->shape)) {
            return false;
        }
    }
    return true;
}

bool mutate_last_element(struct instruction *instruction, struct rng *rng, struct text *what)
{
    return is_static(instruction) &&
           ((instruction->opcode == OP_REDUCE && reduce_without_last(instruction, rng, what)) ||
            (instruction->opcode == OP_REDUCE_WINDOW &&
             window_without_last(instruction, rng, what)));
}

static bool dot_without_last(struct instruction *dot, struct rng *rng, struct text *what)
{
    int found[SHAPE_MAX_RANK], count = 0;
    struct ints left = attr_ints(dot, ATTR_LHS_CONTRACTING_DIMS);
    struct ints right = attr_ints(dot, ATTR_RHS_CONTRACTING_DIMS);
    for (int i = 0; i < left.count && i < right.count; i++) {
        if (dot->operands[0]->shape->dimensions[left.values[i]] > 1) {
            found[count++] = i;
        }
    }
    if (count > 0 && what != NULL) {
        int i = found[edit_draw(rng, count)];
        struct instruction *sides[] = {
            edit_without_last(dot, dot->operands[0], (int)left.values[i]),
            edit_without_last(dot, dot->operands[1], (int)right.values[i])};
        dot->operands[0] = sides[0];
        dot->operands[1] = sides[1];
        text_printf(what, "the last summand along dimension %lld of the left is left out",
                    (long long)left.values[i]);
    }
    return count > 0;
}

static bool convolution_without_last(struct instruction *convolution, struct rng *rng,
                                     struct text *what)
{
    int found[SHAPE_MAX_RANK], count = 0;
    const struct dim_labels *labels = attr_dim_labels(convolution);
    const int64_t *sizes = convolution->operands[1]->shape->dimensions;
    for (int i = -1; labels != NULL && i < labels->spatial_rank; i++) {
        int64_t dimension = i < 0 ? labels->kernel_input_feature : labels->kernel_spatial[i];
        if (sizes[dimension] > 1) {
            found[count++] = (int)dimension;
        }
    }
    if (count > 0 && what != NULL) {
        int dimension = found[edit_draw(rng, count)];
        convolution->operands[1] =
            edit_last_filled(convolution, convolution->operands[1], dimension, NULL);
        text_printf(what, "the last element along dimension %d of the kernel is left out",
                    dimension);
    }
    return count > 0;
}

bool mutate_last_product(struct instruction *instruction, struct rng *rng, struct text *what)
{
    return is_static(instruction) && attr_get(instruction, ATTR_SPARSITY_CONFIG) == NULL &&
           ((instruction->opcode == OP_DOT && dot_without_last(instruction, rng, what)) ||
            (instruction->opcode == OP_CONVOLUTION &&
             convolution_without_last(instruction, rng, what)));
}

/* --- how values are combined --- */

static bool reduces(const struct instruction *instruction)
{
    return instruction->opcode == OP_REDUCE || instruction->opcode == OP_REDUCE_WINDOW;
}

bool mutate_init(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (!reduces(instruction) || !edit_drops(instruction, instruction->operand_count / 2)) {
        return false;
    }
    if (what != NULL) {
        enum opcode root = instruction->called[0]->root->opcode;
        int inputs = instruction->operand_count / 2;
        struct instruction *init = instruction->operands[inputs];
        if (root == OP_MAXIMUM || root == OP_MINIMUM) { /* whose identity plus one is the same */
            instruction->operands[inputs] = edit_constant(instruction, init->shape, 0);
            text_append(what, "begins with zero");
        } else {
            instruction->operands[inputs] = edit_add(instruction, init, 1);
            text_append(what, "begins with one more");
        }
    }
    return true;
}

bool mutate_reducer(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct {
        enum opcode from, to;
    } table[] = {{OP_ADD, OP_MAXIMUM},      {OP_MAXIMUM, OP_MINIMUM}, {OP_MINIMUM, OP_MAXIMUM},
                 {OP_MULTIPLY, OP_MAXIMUM}, {OP_AND, OP_OR},          {OP_OR, OP_AND}};
    (void)rng;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (instruction->opcode == table[i].from) {
            if (what != NULL) {
                text_printf(what, "%s instead of %s", opcode_text(table[i].to),
                            opcode_text(table[i].from));
                instruction->opcode = table[i].to;
            }
            return true;
        }
    }
    return false;
}

/* A computation of two scalars that adds them or gives the second. */
static struct computation *make_combiner(struct instruction *scatter, bool adds)
{
    struct module *module = scatter->parent->module;
    int number = module->count;
    const char *name = arena_printf(&module->arena, "fault.combiner.%d", number);
    while (module_find_computation(module, name) != NULL) {
        name = arena_printf(&module->arena, "fault.combiner.%d", ++number);
    }
    struct computation *combiner = computation_add(module, name);
    combiner->execution_thread = scatter->parent->execution_thread;
    const struct shape *scalar = shape_scalar(scatter->shape->type);
    struct instruction *parameters[2];
    for (int i = 0; i < 2; i++) {
        parameters[i] =
            instruction_add(combiner, i == 0 ? "old" : "update", OP_PARAMETER, scalar, 0, NULL);
        parameters[i]->number = i;
    }
    combiner->root =
        adds ? instruction_add(combiner, "sum", OP_ADD, scalar, 2, parameters) : parameters[1];
    return combiner;
}

bool mutate_combiner(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_SCATTER || instruction->operand_count != 3) {
        return false;
    }
    if (what != NULL) {
        bool adds = instruction->called[0]->root->opcode == OP_PARAMETER;
        struct computation *combiner = make_combiner(instruction, adds);
        instruction_set_called(instruction, 1, &combiner);
        text_append(what, adds ? "updates are added instead of written"
                               : "updates are written over what is there");
    }
    return true;
}

/* --- the last update --- */

/* A dimension of the indices that counts updates, and that of the updates which goes with it. */
struct update_dimension {
    int indices, updates;
};

static int update_dimensions(const struct instruction *scatter, struct update_dimension *found)
{
    int inputs = scatter->operand_count / 2, count = 0, updates = 0;
    const struct shape *indices = scatter->operands[inputs]->shape;
    const struct shape *update = scatter->operands[inputs + 1]->shape;
    struct ints window = attr_ints(scatter, ATTR_UPDATE_WINDOW_DIMS);
    struct ints batching = attr_ints(scatter, ATTR_SCATTER_INDICES_BATCHING_DIMS);
    int64_t vector = attr_int(scatter, ATTR_INDEX_VECTOR_DIM, indices->rank);
    for (int d = 0; d < indices->rank; d++) {
        if (d == vector) {
            continue;
        }
        bool in_window = true;
        while (in_window && updates < update->rank) {
            in_window = false;
            for (int w = 0; w < window.count; w++) {
                in_window = in_window || window.values[w] == updates;
            }
            updates += in_window;
        }
        bool is_batch = false;
        for (int b = 0; b < batching.count; b++) {
            is_batch = is_batch || batching.values[b] == d;
        }
        if (!is_batch && indices->dimensions[d] > 1 && updates < update->rank) {
            found[count++] = (struct update_dimension){d, updates};
        }
        updates++;
    }
    return count;
}

bool mutate_update(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct update_dimension found[SHAPE_MAX_RANK];
    bool scatters = instruction->opcode == OP_SCATTER;
    if ((!scatters && instruction->opcode != OP_DYNAMIC_UPDATE_SLICE) || !is_static(instruction)) {
        return false;
    }
    int count = scatters ? update_dimensions(instruction, found) : 0;
    if (count == 0 && !shape_is_array(instruction->shape)) {
        return false;
    }
    for (int k = 1; count == 0 && k < instruction->operand_count; k++) {
        if (!edit_drops(instruction, k)) {
            return false;
        }
    }
    if (what == NULL) {
        return true;
    }
    if (count == 0) {
        text_append(what, "the update is lost");
        edit_become(instruction, OP_COPY, 1, instruction->operands);
        return true;
    }
    struct update_dimension last = found[edit_draw(rng, count)];
    int inputs = instruction->operand_count / 2;
    instruction->operands[inputs] =
        edit_without_last(instruction, instruction->operands[inputs], last.indices);
    for (int k = inputs + 1; k < instruction->operand_count; k++) {
        instruction->operands[k] =
            edit_without_last(instruction, instruction->operands[k], last.updates);
    }
    text_printf(what, "the last update along dimension %d of the indices is lost", last.indices);
    return true;
}
