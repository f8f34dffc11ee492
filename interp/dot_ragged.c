/* ragged-dot: a dot whose left operand has a ragged dimension, cut into groups by group_sizes.
 *
 * Where the ragged dimension is
 *   free         row r belongs to the first group whose end (the sum of sizes so far) is beyond r,
 *                and meets that group's slice of the right operand; rows beyond all groups are 0
 *   contracting  one product per group over that group's range; the group is the result's first
 *                dimension
 *   batch        an ordinary dot; batches beyond the sum of the sizes are 0
 * group_sizes is [prefix…, groups]; the prefix are the leading batch and free dimensions of the
 * left operand besides the ragged one, as far as its rank goes.
 * Source: xla/hlo/evaluator (HandleRaggedDot). Unspecified operands make the whole result so. */
#include <string.h>

#include "hlo/base/error.h"
#include "interp/dot_internal.h"
#include "interp/eval.h"

struct ragged {
    const struct instruction *instruction;
    const struct literal *lhs, *rhs, *sizes;
    struct ints lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
    int64_t ragged_dim, groups;
    bool in_order;
    struct literal *result;
};

static bool has(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return true;
        }
    }
    return false;
}

/* Splits an index over dimensions of the left operand into one index each. */
static void unravel(const struct shape *shape, const struct dot_dims *dims, int64_t index,
                    int64_t *indices)
{
    for (int i = dims->count - 1; i >= 0; i--) {
        int64_t size = shape->dimensions[dims->list[i]];
        indices[i] = index % size;
        index /= size;
    }
}

/* The place in group_sizes of the first group for these indices of batch and free dimensions. */
static int64_t sizes_at(const struct ragged *ragged, const struct dot_dims *batch,
                        const int64_t *batch_index, const struct dot_dims *free,
                        const int64_t *free_index)
{
    const struct shape *shape = ragged->sizes->shape;
    int64_t place = 0;
    int used = 0;
    for (int i = 0; i < batch->count && used < shape->rank - 1; i++) {
        if (batch->list[i] != ragged->ragged_dim) {
            place = place * shape->dimensions[used++] + batch_index[i];
        }
    }
    for (int i = 0; i < free->count && used < shape->rank - 1; i++) {
        if (free->list[i] != ragged->ragged_dim) {
            place = place * shape->dimensions[used++] + free_index[i];
        }
    }
    return place * ragged->groups;
}

/* The end of the group at a place of group_sizes that begins at `end`; sizes may be anything. */
static int64_t group_end(const struct ragged *ragged, int64_t end, int64_t place)
{
    int64_t size = literal_get_int(ragged->sizes, place), sum;
    return __builtin_add_overflow(end, size, &sum) ? (size < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* The part of a side from one batch on. */
static struct dot_side part_of(const struct dot_side *side, int64_t batch, int64_t vector,
                               int64_t vectors, int64_t depth_first, int64_t depth)
{
    struct dot_side part = *side;
    part.data += (batch * side->batch_stride + vector * side->vector_stride +
                  depth_first * side->depth_stride) *
                 type_bytes(side->type);
    part.batches = 1;
    part.vectors = vectors;
    part.depth = depth;
    return part;
}

static bool evaluate_free(const struct ragged *ragged, struct error *err)
{
    struct ints group_dims = attr_ints(ragged->instruction, ATTR_RHS_GROUP_DIMS);
    if (group_dims.count != 1) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "ragged-dot needs one group dimension");
    }
    struct dot_dims lhs_batch, lhs_free, lhs_contracting;
    struct dot_dims rhs_batch = {.count = 1, .list = {group_dims.values[0]}};
    struct dot_dims rhs_free = {0}, rhs_contracting;
    dot_dims_from(ragged->lhs_batch, &lhs_batch);
    dot_free_dims(ragged->lhs->shape, ragged->lhs_batch, ragged->lhs_contracting, &lhs_free);
    dot_dims_from(ragged->lhs_contracting, &lhs_contracting);
    dot_dims_from(ragged->rhs_contracting, &rhs_contracting);
    for (int i = 0; i < ragged->rhs_batch.count; i++) {
        rhs_batch.list[rhs_batch.count++] = ragged->rhs_batch.values[i];
    }
    for (int d = 0; d < ragged->rhs->shape->rank; d++) {
        if (!has(ragged->rhs_batch, d) && !has(ragged->rhs_contracting, d) &&
            d != group_dims.values[0]) {
            rhs_free.list[rhs_free.count++] = d;
        }
    }
    struct dot_side a = {0}, b = {0};
    bool ok = dot_side_init(&a, ragged->lhs, &lhs_batch, &lhs_free, &lhs_contracting, err) &&
              dot_side_init(&b, ragged->rhs, &rhs_batch, &rhs_free, &rhs_contracting, err);
    const struct shape *shape = ragged->lhs->shape;
    enum type type = ragged->result->shape->type;
    int ragged_at = 0;
    while (ok && lhs_free.list[ragged_at] != ragged->ragged_dim) {
        ragged_at++;
    }
    for (int64_t batch = 0; ok && batch < a.batches; batch++) {
        int64_t batch_index[SHAPE_MAX_RANK], free_index[SHAPE_MAX_RANK];
        unravel(shape, &lhs_batch, batch, batch_index);
        int64_t run = 0, run_group = -1;
        for (int64_t row = 0; ok && row <= a.vectors; row++) {
            int64_t group = -1;
            if (row < a.vectors) {
                unravel(shape, &lhs_free, row, free_index);
                int64_t place = sizes_at(ragged, &lhs_batch, batch_index, &lhs_free, free_index);
                int64_t end = 0;
                for (int64_t g = 0; g < ragged->groups && group < 0; g++) {
                    end = group_end(ragged, end, place + g);
                    group = free_index[ragged_at] < end ? g : -1;
                }
            }
            if (row < a.vectors && group == run_group) {
                continue;
            }
            char *out = (char *)literal_data(ragged->result) +
                        (batch * a.vectors + run) * b.vectors * type_bytes(type);
            if (row > run && run_group >= 0) {
                struct dot_side left = part_of(&a, batch, run, row - run, 0, a.depth);
                struct dot_side right =
                    part_of(&b, run_group * a.batches + batch, 0, b.vectors, 0, b.depth);
                ok = dot_multiply(type, ragged->in_order, &left, &right, out, err);
            }
            run = row;
            run_group = group;
        }
    }
    dot_side_finish(&a);
    dot_side_finish(&b);
    return ok;
}

/* The contracting dimensions with the ragged pair first. */
static void ragged_first(const struct ragged *ragged, struct dot_dims *left, struct dot_dims *right)
{
    *left = *right = (struct dot_dims){0};
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < ragged->lhs_contracting.count; i++) {
            if ((ragged->lhs_contracting.values[i] == ragged->ragged_dim) == (pass == 0)) {
                left->list[left->count++] = ragged->lhs_contracting.values[i];
                right->list[right->count++] = ragged->rhs_contracting.values[i];
            }
        }
    }
}

static int64_t clamp(int64_t value, int64_t size)
{
    return value < 0 ? 0 : value > size ? size : value;
}

static bool evaluate_contracting(const struct ragged *ragged, struct error *err)
{
    struct dot_dims batch[2], free[2], contracting[2];
    dot_dims_from(ragged->lhs_batch, &batch[0]);
    dot_dims_from(ragged->rhs_batch, &batch[1]);
    dot_free_dims(ragged->lhs->shape, ragged->lhs_batch, ragged->lhs_contracting, &free[0]);
    dot_free_dims(ragged->rhs->shape, ragged->rhs_batch, ragged->rhs_contracting, &free[1]);
    ragged_first(ragged, &contracting[0], &contracting[1]);
    struct dot_side a = {0}, b = {0};
    bool ok = dot_side_init(&a, ragged->lhs, &batch[0], &free[0], &contracting[0], err) &&
              dot_side_init(&b, ragged->rhs, &batch[1], &free[1], &contracting[1], err);
    int64_t ragged_size = ragged->lhs->shape->dimensions[ragged->ragged_dim];
    int64_t others = ragged_size > 0 ? a.depth / ragged_size : 0;
    enum type type = ragged->result->shape->type;
    const struct dot_dims none = {0};
    for (int64_t batch_number = 0; ok && batch_number < a.batches; batch_number++) {
        int64_t batch_index[SHAPE_MAX_RANK];
        unravel(ragged->lhs->shape, &batch[0], batch_number, batch_index);
        int64_t place = sizes_at(ragged, &batch[0], batch_index, &none, NULL);
        int64_t end = 0;
        for (int64_t g = 0; ok && g < ragged->groups; g++) {
            int64_t first = clamp(end, ragged_size);
            end = group_end(ragged, end, place + g);
            int64_t last = clamp(end, ragged_size);
            int64_t depth = last > first ? (last - first) * others : 0;
            struct dot_side left = part_of(&a, batch_number, 0, a.vectors, first * others, depth);
            struct dot_side right = part_of(&b, batch_number, 0, b.vectors, first * others, depth);
            char *out = (char *)literal_data(ragged->result) +
                        (g * a.batches + batch_number) * a.vectors * b.vectors * type_bytes(type);
            ok = dot_multiply(type, ragged->in_order, &left, &right, out, err);
        }
    }
    dot_side_finish(&a);
    dot_side_finish(&b);
    return ok;
}

static bool evaluate_batch(const struct ragged *ragged, struct error *err)
{
    struct dot_dims batch[2], free[2], contracting[2];
    dot_dims_from(ragged->lhs_batch, &batch[0]);
    dot_dims_from(ragged->rhs_batch, &batch[1]);
    dot_free_dims(ragged->lhs->shape, ragged->lhs_batch, ragged->lhs_contracting, &free[0]);
    dot_free_dims(ragged->rhs->shape, ragged->rhs_batch, ragged->rhs_contracting, &free[1]);
    dot_dims_from(ragged->lhs_contracting, &contracting[0]);
    dot_dims_from(ragged->rhs_contracting, &contracting[1]);
    struct dot_side a = {0}, b = {0};
    bool ok = dot_side_init(&a, ragged->lhs, &batch[0], &free[0], &contracting[0], err) &&
              dot_side_init(&b, ragged->rhs, &batch[1], &free[1], &contracting[1], err);
    enum type type = ragged->result->shape->type;
    int ragged_at = 0;
    while (ok && batch[0].list[ragged_at] != ragged->ragged_dim) {
        ragged_at++;
    }
    const struct dot_dims none = {0};
    for (int64_t batch_number = 0; ok && batch_number < a.batches; batch_number++) {
        int64_t batch_index[SHAPE_MAX_RANK];
        unravel(ragged->lhs->shape, &batch[0], batch_number, batch_index);
        int64_t place = sizes_at(ragged, &batch[0], batch_index, &none, NULL);
        int64_t handled = 0;
        for (int64_t g = 0; g < ragged->groups; g++) {
            handled = group_end(ragged, handled, place + g);
        }
        if (batch_index[ragged_at] >= handled) {
            continue;
        }
        struct dot_side left = part_of(&a, batch_number, 0, a.vectors, 0, a.depth);
        struct dot_side right = part_of(&b, batch_number, 0, b.vectors, 0, b.depth);
        char *out = (char *)literal_data(ragged->result) +
                    batch_number * a.vectors * b.vectors * type_bytes(type);
        ok = dot_multiply(type, ragged->in_order, &left, &right, out, err);
    }
    dot_side_finish(&a);
    dot_side_finish(&b);
    return ok;
}

struct literal *eval_ragged_dot(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    struct ints ragged_dims = attr_ints(instruction, ATTR_LHS_RAGGED_DIMS);
    const struct literal *sizes = operands->values[2];
    if (ragged_dims.count != 1 || sizes->shape->rank < 1) {
        error_set(err, ERROR_INVALID_ARGUMENT, "ragged-dot needs one ragged dimension");
        return NULL;
    }
    enum type type = instruction->shape->type;
    struct literal *lhs = dot_operand(operands->values[0], type, err);
    struct literal *rhs = dot_operand(operands->values[1], type, err);
    struct ragged ragged = {
        .instruction = instruction,
        .lhs = lhs,
        .rhs = rhs,
        .sizes = sizes,
        .lhs_batch = attr_ints(instruction, ATTR_LHS_BATCH_DIMS),
        .rhs_batch = attr_ints(instruction, ATTR_RHS_BATCH_DIMS),
        .lhs_contracting = attr_ints(instruction, ATTR_LHS_CONTRACTING_DIMS),
        .rhs_contracting = attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS),
        .ragged_dim = ragged_dims.values[0],
        .groups = sizes->shape->dimensions[sizes->shape->rank - 1],
        .in_order = evaluation->options.fidelity == FIDELITY_LITERAL,
        .result = literal_zero(instruction->shape, err),
    };
    bool ok = lhs != NULL && rhs != NULL && ragged.result != NULL;
    if (ok) {
        ok = has(ragged.lhs_contracting, ragged.ragged_dim) ? evaluate_contracting(&ragged, err)
             : has(ragged.lhs_batch, ragged.ragged_dim)     ? evaluate_batch(&ragged, err)
                                                            : evaluate_free(&ragged, err);
    }
    literal_release(lhs);
    literal_release(rhs);
    if (!ok) {
        literal_release(ragged.result);
        return NULL;
    }
    for (int i = 0; i < 3; i++) {
        for (int64_t j = 0;
             literal_has_unspecified(operands->values[i]) && j < literal_elements(ragged.result);
             j++) {
            literal_mark_unspecified(ragged.result, j);
        }
    }
    return ragged.result;
}
