/* scatter: where each update element goes (xla/service/shape_inference.cc, "scatter" in XLA's
 * operation semantics). An update window that is not wholly inside the operand is dropped. */
#include <stdlib.h>
#include <string.h>

#include "interp/elementwise.h"
#include "interp/marks.h"
#include "interp/poll.h"
#include "interp/reduce.h"
#include "interp/scatter_plan.h"
#include "interp/walk.h"

static int index_of(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return i;
        }
    }
    return -1;
}

/* The dimension numbers, dimension by dimension. */
struct geometry {
    const struct shape *operand, *indices, *updates;
    struct ints to_operand; /* scatter_dims_to_operand_dims */
    int64_t index_vector_dim, index_stride;
    int64_t operand_strides[SHAPE_MAX_RANK], update_strides[SHAPE_MAX_RANK];
    int64_t index_strides[SHAPE_MAX_RANK];
    int64_t window_sizes[SHAPE_MAX_RANK];   /* by operand dimension; 1 where none spans it */
    int window_dims[SHAPE_MAX_RANK];        /* update window dimension → operand dimension */
    int scatter_dims[SHAPE_MAX_RANK];       /* the updates' other dimensions */
    int index_dims[SHAPE_MAX_RANK];         /* of each of those: dimension of the indices */
    int batch_operand_dims[SHAPE_MAX_RANK]; /* and of the operand, or −1 */
    int scatter_count;
};

static void geometry_init(struct geometry *g, const struct instruction *instruction,
                          const struct shape *operand, const struct shape *indices,
                          const struct shape *updates)
{
    struct ints window = attr_ints(instruction, ATTR_UPDATE_WINDOW_DIMS);
    struct ints inserted = attr_ints(instruction, ATTR_INSERTED_WINDOW_DIMS);
    struct ints batching = attr_ints(instruction, ATTR_INPUT_BATCHING_DIMS);
    struct ints index_batching = attr_ints(instruction, ATTR_SCATTER_INDICES_BATCHING_DIMS);
    *g = (struct geometry){.operand = operand, .indices = indices, .updates = updates};
    g->to_operand = attr_ints(instruction, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
    g->index_vector_dim = attr_int(instruction, ATTR_INDEX_VECTOR_DIM, indices->rank);
    walk_strides(operand->rank, operand->dimensions, g->operand_strides);
    walk_strides(updates->rank, updates->dimensions, g->update_strides);
    walk_strides(indices->rank, indices->dimensions, g->index_strides);
    g->index_stride =
        g->index_vector_dim < indices->rank ? g->index_strides[g->index_vector_dim] : 0;
    int at = 0;
    for (int d = 0; d < operand->rank; d++) {
        g->window_sizes[d] = 1;
        if (index_of(inserted, d) < 0 && index_of(batching, d) < 0 && at < window.count) {
            g->window_sizes[d] = updates->dimensions[window.values[at]];
            g->window_dims[window.values[at++]] = d;
        }
    }
    int index_dim = 0;
    for (int d = 0; d < updates->rank; d++) {
        if (index_of(window, d) >= 0) {
            continue;
        }
        index_dim += index_dim == g->index_vector_dim;
        int batch = index_of(index_batching, index_dim);
        g->scatter_dims[g->scatter_count] = d;
        g->index_dims[g->scatter_count] = index_dim++;
        g->batch_operand_dims[g->scatter_count++] =
            batch >= 0 && batch < batching.count ? (int)batching.values[batch] : -1;
    }
}

/* Where window `place` begins in operand and updates. */
static void set_place(const struct geometry *g, const struct literal *indices,
                      struct scatter_plan *plan, int64_t place)
{
    int64_t rest = place, at = 0, update = 0, start[SHAPE_MAX_RANK] = {0};
    for (int s = g->scatter_count - 1; s >= 0; s--) {
        int64_t size = g->updates->dimensions[g->scatter_dims[s]], i = rest % size;
        rest /= size;
        at += i * g->index_strides[g->index_dims[s]];
        update += i * g->update_strides[g->scatter_dims[s]];
        if (g->batch_operand_dims[s] >= 0) {
            start[g->batch_operand_dims[s]] = i;
        }
    }
    for (int k = 0; k < g->to_operand.count; k++) {
        start[g->to_operand.values[k]] = literal_get_int(indices, at + k * g->index_stride);
    }
    int64_t first = 0;
    for (int d = 0; d < g->operand->rank; d++) {
        if (start[d] < 0 || start[d] > g->operand->dimensions[d] - g->window_sizes[d]) {
            first = -1;
            break;
        }
        first += start[d] * g->operand_strides[d];
    }
    plan->start[place] = first;
    plan->update_start[place] = update;
}

static void set_window(const struct geometry *g, struct ints window, struct scatter_plan *plan)
{
    for (int64_t w = 0; w < plan->window; w++) {
        int64_t rest = w;
        plan->offset[w] = 0;
        plan->update_offset[w] = 0;
        for (int i = window.count - 1; i >= 0; i--) {
            int64_t d = window.values[i], size = g->updates->dimensions[d], j = rest % size;
            rest /= size;
            plan->offset[w] += j * g->operand_strides[g->window_dims[d]];
            plan->update_offset[w] += j * g->update_strides[d];
        }
    }
}

static bool plan_create(struct scatter_plan *plan, const struct instruction *instruction,
                        const struct shape *operand, const struct literal *indices,
                        const struct shape *updates, struct error *err)
{
    struct geometry g;
    geometry_init(&g, instruction, operand, indices->shape, updates);
    struct ints window = attr_ints(instruction, ATTR_UPDATE_WINDOW_DIMS);
    int64_t places = 1, window_elements = 1;
    for (int s = 0; s < g.scatter_count; s++) {
        places *= updates->dimensions[g.scatter_dims[s]];
    }
    for (int i = 0; i < window.count; i++) {
        window_elements *= updates->dimensions[window.values[i]];
    }
    if (!scatter_plan_create(plan, places, window_elements, err)) {
        return false;
    }
    for (int64_t p = 0; p < places && window_elements > 0; p++) {
        if (p % 65536 == 65535 && poll_now()) {
            scatter_plan_finish(plan);
            return false;
        }
        set_place(&g, indices, plan, p);
    }
    set_window(&g, window, plan);
    return true;
}

/* The operand converted to `type`; takes the reference. */
static struct literal *to_type_take(struct literal *literal, enum type type, struct error *err)
{
    if (literal == NULL || literal->shape->type == type) {
        return literal;
    }
    struct lane_step step;
    const bool dying[1] = {true};
    const struct shape *shape = shape_with_type(literal->shape, type);
    struct operands one = {1, &literal, dying};
    lane_convert(literal->shape->type, type, &step);
    struct literal *converted = elementwise_apply(&step, shape, &one, err);
    literal_release(literal);
    return converted;
}

static bool apply(const struct instruction *instruction, const struct program *program,
                  enum fidelity fidelity, struct literal **results, const struct literal *indices,
                  struct literal **updates, int count, struct error *err)
{
    struct scatter_plan plan;
    if (!plan_create(&plan, instruction, results[0]->shape, indices, updates[0]->shape, err)) {
        return false;
    }
    bool ok = scatter_apply(&plan, program, false, fidelity, results, updates, count, err);
    scatter_plan_finish(&plan);
    for (int i = 0; i < count && ok && literal_has_unspecified(indices); i++) {
        marks_set_all(results[i]);
    }
    return ok;
}

struct literal *eval_scatter(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    int count = (operands->count - 1) / 2;
    struct program *program = program_compile(evaluation, instruction->called[0], err);
    if (program == NULL) {
        return NULL;
    }
    struct literal *result = NULL;
    struct literal **results = memory_zalloc(2 * (size_t)count * sizeof *results);
    struct literal **updates = results + count;
    bool ok = program_input_count(program) == 2 * count && program_output_count(program) == count;
    if (!ok) {
        error_set(err, ERROR_INVALID_ARGUMENT, "computation %s does not combine %d arrays",
                  instruction->called[0]->name, count);
    }
    const struct literal *indices = operands->values[count];
    for (int i = 0; i < count && ok; i++) {
        results[i] =
            to_type_take(operand_take(operands, i, err), program_output_type(program, i), err);
        updates[i] = to_type_take(literal_retain(operands->values[count + 1 + i]),
                                  program_input_type(program, count + i), err);
        ok = results[i] != NULL && updates[i] != NULL;
    }
    ok = ok && apply(instruction, program, evaluation->options.fidelity, results, indices, updates,
                     count, err);
    if (ok) {
        result = reduce_assemble(instruction->shape, results, count, err);
    }
    for (int i = 0; i < 2 * count; i++) {
        literal_release(results[i]);
    }
    free(results);
    program_destroy(program);
    return result;
}
