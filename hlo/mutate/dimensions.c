/* Faults of dimension numbers: dimensions of equal size are taken for each other. */
#include <string.h>

#include "hlo/infer.h"
#include "hlo/mutate/mutate_internal.h"

/* Two positions of a list, or a position and what stands there instead. */
struct exchange {
    int at, with;
    bool right; /* dot: of the right-hand side */
};
enum { EXCHANGES_MOST = 256 };

static void say_dimensions(const char *title, const int64_t *values, int count, struct text *what)
{
    text_printf(what, "%s{", title);
    for (int i = 0; i < count; i++) {
        text_printf(what, "%s%lld", i > 0 ? "," : "", (long long)values[i]);
    }
    text_append(what, "}");
}

static void set_dimensions(struct instruction *instruction, enum attr_key key, int64_t *values,
                           int count, struct text *what)
{
    struct ints old = attr_ints(instruction, key);
    text_append(what, attr_table[key].text);
    say_dimensions("=", values, count, what);
    say_dimensions(" instead of ", old.values, old.count, what);
    edit_set_ints(instruction, key, count, values);
}

bool mutate_transpose(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct exchange found[EXCHANGES_MOST];
    int count = 0;
    if (instruction->opcode != OP_TRANSPOSE) {
        return false;
    }
    const struct shape *shape = instruction->shape;
    for (int i = 0; i < shape->rank; i++) {
        for (int j = i + 1; j < shape->rank && count < EXCHANGES_MOST; j++) {
            if (shape->dimensions[i] == shape->dimensions[j] && shape->dimensions[i] > 1) {
                found[count++] = (struct exchange){i, j, false};
            }
        }
    }
    if (count > 0 && what != NULL) {
        struct exchange exchange = found[edit_draw(rng, count)];
        int64_t *values = edit_ints(instruction, attr_ints(instruction, ATTR_DIMENSIONS));
        int64_t held = values[exchange.at];
        values[exchange.at] = values[exchange.with];
        values[exchange.with] = held;
        set_dimensions(instruction, ATTR_DIMENSIONS, values, shape->rank, what);
    }
    return count > 0;
}

static int position_of(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return i;
        }
    }
    return -1;
}

/* Puts dimension `with` at that place of the list; if it has another place, the two are swapped. */
static void exchange_in(int64_t *values, int count, struct exchange exchange)
{
    int other = position_of((struct ints){count, values}, exchange.with);
    if (other >= 0) {
        values[other] = values[exchange.at];
    }
    values[exchange.at] = exchange.with;
}

bool mutate_broadcast(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct exchange found[EXCHANGES_MOST];
    int count = 0;
    if (instruction->opcode != OP_BROADCAST) {
        return false;
    }
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    const int64_t *sizes = instruction->shape->dimensions;
    for (int i = 0; i < dimensions.count; i++) {
        int64_t old = dimensions.values[i];
        for (int d = 0; d < instruction->shape->rank && count < EXCHANGES_MOST; d++) {
            int place = position_of(dimensions, d);
            if (d != old && sizes[d] == sizes[old] && sizes[d] > 1 && (place < 0 || place > i)) {
                found[count++] = (struct exchange){i, d, false};
            }
        }
    }
    if (count > 0 && what != NULL) {
        int64_t *values = edit_ints(instruction, dimensions);
        exchange_in(values, dimensions.count, found[edit_draw(rng, count)]);
        set_dimensions(instruction, ATTR_DIMENSIONS, values, dimensions.count, what);
    }
    return count > 0;
}

/* Does the instruction, with the attributes of the probe, give an array of the same dimensions? */
static bool fits(const struct instruction *probe)
{
    struct error err = {0};
    const struct shape *shape = infer_shape(probe, &err);
    const struct shape *given = probe->shape;
    while (shape != NULL && shape_is_tuple(shape) && shape_is_tuple(given) && shape->count > 0) {
        shape = shape->elements[0];
        given = given->elements[0];
    }
    return shape != NULL && shape_is_array(shape) && shape_is_array(given) &&
           shape_same_dimensions(shape, given);
}

bool mutate_reduce_dimension(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct exchange found[EXCHANGES_MOST];
    int count = 0;
    if (instruction->opcode != OP_REDUCE) {
        return false;
    }
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    const struct shape *operand = instruction->operands[0]->shape;
    struct instruction probe = edit_probe(instruction);
    for (int i = 0; i < dimensions.count; i++) {
        for (int d = 0; d < operand->rank && count < EXCHANGES_MOST; d++) {
            if (position_of(dimensions, d) >= 0 || operand->dimensions[d] < 2 ||
                operand->dimensions[d] != operand->dimensions[dimensions.values[i]]) {
                continue;
            }
            int64_t *values = edit_ints(instruction, dimensions);
            values[i] = d;
            edit_set_ints(&probe, ATTR_DIMENSIONS, dimensions.count, values);
            if (fits(&probe)) {
                found[count++] = (struct exchange){i, d, false};
            }
        }
    }
    if (count > 0 && what != NULL) {
        int64_t *values = edit_ints(instruction, dimensions);
        exchange_in(values, dimensions.count, found[edit_draw(rng, count)]);
        set_dimensions(instruction, ATTR_DIMENSIONS, values, dimensions.count, what);
    }
    return count > 0;
}

bool mutate_iota(struct instruction *instruction, struct rng *rng, struct text *what)
{
    const struct shape *shape = instruction->shape;
    if (instruction->opcode != OP_IOTA || !edit_wraps(instruction) || shape->rank == 0 ||
        shape->type == TYPE_PRED) {
        return false;
    }
    if (what == NULL) {
        return true;
    }
    int dimension = (int)attr_int(instruction, ATTR_IOTA_DIMENSION, 0);
    if (shape->rank > 1 && edit_draw(rng, 2) == 0) {
        int other = (dimension + 1 + edit_draw(rng, shape->rank - 1)) % shape->rank;
        text_printf(what, "counts along dimension %d instead of %d", other, dimension);
        edit_set_integer(instruction, ATTR_IOTA_DIMENSION, other);
        return true;
    }
    struct instruction *moved = edit_move(instruction);
    struct instruction *operands[] = {moved, edit_constant(instruction, shape, 1)};
    text_append(what, "begins at one");
    edit_become(instruction, OP_ADD, 2, operands);
    return true;
}

/* --- products --- */

/* The dimension numbers of one side: those contracted, then those of the batch. */
struct side {
    enum attr_key contracting_key, batch_key;
    const struct shape *shape;
    int contracting, count;
    int64_t values[2 * SHAPE_MAX_RANK];
};

static struct side side_of(const struct instruction *dot, bool right)
{
    struct side side = {right ? ATTR_RHS_CONTRACTING_DIMS : ATTR_LHS_CONTRACTING_DIMS,
                        right ? ATTR_RHS_BATCH_DIMS : ATTR_LHS_BATCH_DIMS,
                        dot->operands[right]->shape,
                        0,
                        0,
                        {0}};
    struct ints contracting = attr_ints(dot, side.contracting_key);
    struct ints batch = attr_ints(dot, side.batch_key);
    side.contracting = contracting.count;
    for (int i = 0; i < contracting.count; i++) {
        side.values[side.count++] = contracting.values[i];
    }
    for (int i = 0; i < batch.count; i++) {
        side.values[side.count++] = batch.values[i];
    }
    return side;
}

static void set_side(struct instruction *dot, const struct side *side)
{
    if (side->contracting > 0) {
        edit_set_ints(dot, side->contracting_key, side->contracting, side->values);
    }
    if (side->count > side->contracting) {
        edit_set_ints(dot, side->batch_key, side->count - side->contracting,
                      side->values + side->contracting);
    }
}

static int dot_exchanges(const struct instruction *dot, struct exchange *found)
{
    int count = 0;
    for (int right = 0; right < 2; right++) {
        const struct side side = side_of(dot, right);
        for (int i = 0; i < side.count; i++) {
            for (int d = 0; d < side.shape->rank && count < EXCHANGES_MOST; d++) {
                int place = position_of((struct ints){side.count, side.values}, d);
                if (d == side.values[i] || (place >= 0 && place < i) ||
                    side.shape->dimensions[d] < 2 ||
                    side.shape->dimensions[d] != side.shape->dimensions[side.values[i]]) {
                    continue;
                }
                struct exchange exchange = {i, d, right};
                struct instruction probe = edit_probe(dot);
                struct side changed = side;
                exchange_in(changed.values, changed.count, exchange);
                set_side(&probe, &changed);
                if (fits(&probe)) {
                    found[count++] = exchange;
                }
            }
        }
    }
    return count;
}

bool mutate_dot(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct exchange found[EXCHANGES_MOST];
    if (instruction->opcode != OP_DOT || attr_get(instruction, ATTR_SPARSITY_CONFIG) != NULL) {
        return false;
    }
    int count = dot_exchanges(instruction, found);
    if (count > 0 && what != NULL) {
        struct exchange exchange = found[edit_draw(rng, count)];
        struct side side = side_of(instruction, exchange.right);
        say_dimensions(exchange.right ? "right dimensions " : "left dimensions ", side.values,
                       side.count, what);
        exchange_in(side.values, side.count, exchange);
        say_dimensions(" are taken for ", side.values, side.count, what);
        set_side(instruction, &side);
    }
    return count > 0;
}

/* --- convolutions --- */

/* What has a place in the labels of input, kernel or result. */
static int64_t *label(struct dim_labels *labels, int part, int i)
{
    int64_t *batch[] = {&labels->input_batch, &labels->kernel_input_feature, &labels->output_batch};
    int64_t *feature[] = {&labels->input_feature, &labels->kernel_output_feature,
                          &labels->output_feature};
    const int64_t *spatial[] = {labels->input_spatial, labels->kernel_spatial,
                                labels->output_spatial};
    return i == 0 ? batch[part] : i == 1 ? feature[part] : (int64_t *)&spatial[part][i - 2];
}

static struct dim_labels *labels_copy(struct arena *arena, const struct dim_labels *labels)
{
    struct dim_labels *copy = arena_copy(arena, labels, sizeof *labels);
    size_t size = (size_t)labels->spatial_rank * sizeof *labels->input_spatial;
    copy->input_spatial = arena_copy(arena, labels->input_spatial, size);
    copy->kernel_spatial = arena_copy(arena, labels->kernel_spatial, size);
    copy->output_spatial = arena_copy(arena, labels->output_spatial, size);
    return copy;
}

static struct dim_labels *labels_exchanged(const struct instruction *convolution, int part, int i,
                                           int j)
{
    struct dim_labels *copy =
        labels_copy(&convolution->parent->module->arena, attr_dim_labels(convolution));
    int64_t *a = label(copy, part, i), *b = label(copy, part, j), held = *a;
    *a = *b;
    *b = held;
    return copy;
}

bool mutate_convolution(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const char *const parts[] = {"input", "kernel", "result"};
    struct {
        int part, i, j;
    } found[EXCHANGES_MOST];
    int count = 0;
    const struct dim_labels *labels = attr_dim_labels(instruction);
    if (instruction->opcode != OP_CONVOLUTION || labels == NULL) {
        return false;
    }
    for (int part = 0; part < 3; part++) {
        const struct shape *shape =
            part < 2 ? instruction->operands[part]->shape : instruction->shape;
        for (int i = 0; i < labels->spatial_rank + 2; i++) {
            for (int j = i + 1; j < labels->spatial_rank + 2 && count < EXCHANGES_MOST; j++) {
                int64_t size = shape->dimensions[*label((struct dim_labels *)labels, part, i)];
                if (size < 2 ||
                    size != shape->dimensions[*label((struct dim_labels *)labels, part, j)]) {
                    continue;
                }
                struct instruction probe = edit_probe(instruction);
                instruction_set_attr(
                    &probe, (struct attr){.key = ATTR_DIM_LABELS,
                                          .dim_labels = labels_exchanged(instruction, part, i, j)});
                if (fits(&probe)) {
                    found[count].part = part;
                    found[count].i = i;
                    found[count++].j = j;
                }
            }
        }
    }
    if (count > 0 && what != NULL) {
        int n = edit_draw(rng, count);
        struct dim_labels *exchanged =
            labels_exchanged(instruction, found[n].part, found[n].i, found[n].j);
        text_printf(what, "dimensions %lld and %lld of the %s are taken for each other",
                    (long long)*label(exchanged, found[n].part, found[n].i),
                    (long long)*label(exchanged, found[n].part, found[n].j), parts[found[n].part]);
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_DIM_LABELS, .dim_labels = exchanged});
    }
    return count > 0;
}

/* --- layouts --- */

bool mutate_layout(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct exchange found[EXCHANGES_MOST];
    int count = 0;
    const struct shape *shape = instruction->shape;
    if ((instruction->opcode != OP_RESHAPE && instruction->opcode != OP_BITCAST &&
         instruction->opcode != OP_COPY && instruction->opcode != OP_TRANSPOSE) ||
        !edit_wraps(instruction)) {
        return false;
    }
    for (int i = 0; i < shape->rank; i++) {
        for (int j = i + 1; j < shape->rank && count < EXCHANGES_MOST; j++) {
            if (shape->dimensions[i] > 1 && shape->dimensions[j] > 1) {
                found[count++] = (struct exchange){i, j, false};
            }
        }
    }
    if (count > 0 && what != NULL) {
        struct exchange exchange = found[edit_draw(rng, count)];
        int64_t sizes[SHAPE_MAX_RANK], order[SHAPE_MAX_RANK];
        for (int d = 0; d < shape->rank; d++) {
            order[d] = d == exchange.at ? exchange.with : d == exchange.with ? exchange.at : d;
            sizes[d] = shape->dimensions[order[d]];
        }
        struct instruction *moved = edit_move(instruction);
        struct instruction *misread = edit_unary(
            instruction, OP_RESHAPE, shape_array(shape->type, shape->rank, sizes), moved);
        text_printf(what, "dimensions %d and %d lie the other way round", exchange.at,
                    exchange.with);
        edit_become(instruction, OP_TRANSPOSE, 1, &misread);
        edit_set_ints(instruction, ATTR_DIMENSIONS, shape->rank, order);
    }
    return count > 0;
}
