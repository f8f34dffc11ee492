/* Default bounds: errors are carried along the module in relative terms, the worst path counts. */
#include "compare/tolerance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"

static const char *const kind_names[] = {"default", "derived", "xla", "bits"};

const char *tolerance_kind_text(enum tolerance_kind kind)
{
    return kind_names[kind];
}

bool tolerance_kind_find(const char *name, enum tolerance_kind *kind)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++) {
        if (strcmp(kind_names[i], name) == 0) {
            *kind = (enum tolerance_kind)i;
            return true;
        }
    }
    return false;
}

/* --- roundings of every instruction --- */

/* Products that feed an addition or subtraction may lose their rounding. */
static void mark_contracted(const struct computation *computation, struct rounding *values)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *sum = computation->instructions[i];
        if (sum->opcode != OP_ADD && sum->opcode != OP_SUBTRACT) {
            continue;
        }
        for (int k = 0; k < 2; k++) {
            const struct instruction *product = sum->operands[k];
            if (product->opcode == OP_MULTIPLY && profile_rounding_type(product) != TYPE_INVALID) {
                values[product->id].ulps = fmax(values[product->id].ulps, 1);
            }
        }
    }
}

void roundings_find(const struct module *module, const struct profile *profile,
                    struct roundings *roundings)
{
    roundings->count = module->count;
    roundings->values = memory_zalloc((size_t)module->count * sizeof *roundings->values);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        struct rounding *values = memory_zalloc((size_t)computation->count * sizeof *values);
        for (int i = 0; i < computation->count; i++) {
            values[i].ulps = profile_ulps(profile, computation->instructions[i], &values[i].terms);
        }
        if (profile->contract) {
            mark_contracted(computation, values);
        }
        roundings->values[c] = values;
    }
}

void roundings_finish(struct roundings *roundings)
{
    for (int c = 0; c < roundings->count; c++) {
        free(roundings->values[c]);
    }
    free(roundings->values);
    memset(roundings, 0, sizeof *roundings);
}

/* --- error estimates --- */

/* Relative error of a leaf, whether arithmetic made it, and whether sums (which can cancel) did. */
struct estimate {
    double error;
    bool computed, summed;
    bool loses_signs; /* of zeros: something came through that does not always keep them */
};

struct walk {
    const struct roundings *roundings;
    struct estimate ***values; /* [computation][instruction][leaf], parameters exact */
};

static double unit(enum type type)
{
    return ldexp(1.0, -float_formats[type].mantissa_bits);
}

static void worsen(struct estimate *into, const struct estimate *from)
{
    into->error = fmax(into->error, from->error);
    into->computed |= from->computed;
    into->summed |= from->summed;
    into->loses_signs |= from->loses_signs;
}

/* The worst of all leaves of an instruction's value. */
static struct estimate worst(const struct walk *walk, const struct instruction *instruction)
{
    struct estimate result = {0};
    const struct estimate *leaves = walk->values[instruction->parent->id][instruction->id];
    int count = shape_leaves(instruction->shape);
    for (int i = 0; i < count; i++) {
        worsen(&result, &leaves[i]);
    }
    return result;
}

bool moves_data_only(enum opcode opcode)
{
    switch (opcode) {
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_BITCAST:
    case OP_BITCAST_CONVERT:
    case OP_BROADCAST:
    case OP_COLLECTIVE_BROADCAST:
    case OP_COLLECTIVE_PERMUTE:
    case OP_COMPLEX:
    case OP_CONCATENATE:
    case OP_CONSTANT:
    case OP_COPY:
    case OP_DYNAMIC_RESHAPE:
    case OP_DYNAMIC_SLICE:
    case OP_DYNAMIC_UPDATE_SLICE:
    case OP_GATHER:
    case OP_GET_TUPLE_ELEMENT:
    case OP_IMAG:
    case OP_IOTA:
    case OP_OPT_BARRIER:
    case OP_PAD:
    case OP_PARAMETER:
    case OP_REAL:
    case OP_RESHAPE:
    case OP_REVERSE:
    case OP_SELECT:
    case OP_SLICE:
    case OP_TRANSPOSE:
    case OP_TUPLE:
        return true;
    default:
        return false;
    }
}

bool keeps_zero_signs(enum opcode opcode)
{
    switch (opcode) {
    case OP_ABS:
    case OP_CEIL:
    case OP_CONVERT:
    case OP_FLOOR:
    case OP_NEGATE:
    case OP_REDUCE_PRECISION:
    case OP_ROUND_NEAREST_AFZ:
    case OP_ROUND_NEAREST_EVEN:
        return true;
    default:
        return moves_data_only(opcode);
    }
}

/* By how much the worst operand's relative error grows: products add errors, exponentials multiply
 * them by the argument, of which 8 is assumed. */
static double operand_error(const struct walk *walk, const struct instruction *instruction,
                            struct estimate *result)
{
    double sum = 0;
    for (int i = 0; i < instruction->operand_count; i++) {
        struct estimate operand = worst(walk, instruction->operands[i]);
        sum += operand.error;
        worsen(result, &operand);
    }
    switch (instruction->opcode) {
    case OP_MULTIPLY:
    case OP_DIVIDE:
    case OP_DOT:
    case OP_CONVOLUTION:
    case OP_RAGGED_DOT:
    case OP_SCALED_DOT:
        return sum;
    case OP_EXPONENTIAL:
    case OP_POWER:
    case OP_SINH:
    case OP_COSH:
        return 8 * sum;
    default:
        return result->error;
    }
}

static void estimate_called(const struct walk *walk, const struct instruction *instruction,
                            struct estimate *leaves, int count)
{
    struct estimate arguments = {0};
    for (int i = 0; i < instruction->operand_count; i++) {
        struct estimate operand = worst(walk, instruction->operands[i]);
        worsen(&arguments, &operand);
    }
    /* Every iteration of a loop adds its roundings; a few are assumed. */
    double times = instruction->opcode == OP_WHILE ? 8 : 1;
    for (int c = 0; c < instruction->called_count; c++) {
        const struct instruction *root = instruction->called[c]->root;
        int root_leaves = shape_leaves(root->shape);
        const struct estimate *made = walk->values[root->parent->id][root->id];
        for (int i = 0; i < count; i++) {
            worsen(&leaves[i], &arguments);
            if (root_leaves == count) {
                struct estimate grown = made[i];
                grown.error = arguments.error + times * made[i].error;
                worsen(&leaves[i], &grown);
            }
        }
    }
}

static void estimate_instruction(const struct walk *walk, const struct instruction *instruction)
{
    struct estimate *leaves = walk->values[instruction->parent->id][instruction->id];
    const struct rounding *rounding =
        &walk->roundings->values[instruction->parent->id][instruction->id];
    int count = shape_leaves(instruction->shape);
    switch (instruction->opcode) {
    case OP_PARAMETER:
        return;
    case OP_TUPLE:
        for (int i = 0, at = 0; i < instruction->operand_count; i++) {
            int size = shape_leaves(instruction->operands[i]->shape);
            memcpy(leaves + at, walk->values[instruction->parent->id][instruction->operands[i]->id],
                   (size_t)size * sizeof *leaves);
            at += size;
        }
        return;
    case OP_GET_TUPLE_ELEMENT: {
        const struct instruction *operand = instruction->operands[0];
        int64_t index = attr_int(instruction, ATTR_INDEX, 0), at = 0;
        for (int i = 0; i < index; i++) {
            at += shape_leaves(operand->shape->elements[i]);
        }
        memcpy(leaves, walk->values[operand->parent->id][operand->id] + at,
               (size_t)count * sizeof *leaves);
        return;
    }
    case OP_CALL:
        if (rounding->ulps > 0) { /* of a special function, as one operation */
            break;
        }
        estimate_called(walk, instruction, leaves, count);
        return;
    case OP_FUSION:
    case OP_MAP:
    case OP_WHILE:
    case OP_CONDITIONAL:
    case OP_ASYNC_START:
        estimate_called(walk, instruction, leaves, count);
        return;
    default:
        break;
    }
    struct estimate result = {0};
    double error = operand_error(walk, instruction, &result);
    enum type type = profile_rounding_type(instruction);
    /* A sort moves data, but its comparisons may take subnormals and −0 for 0. */
    if (!moves_data_only(instruction->opcode)) {
        result.computed = true;
        result.loses_signs |= !keeps_zero_signs(instruction->opcode);
        /* The special functions are sums of series, which cancel at their zeros. */
        result.summed |= rounding->terms > 0 || instruction->opcode == OP_ADD ||
                         instruction->opcode == OP_SUBTRACT || instruction->opcode == OP_CALL;
    }
    if (type != TYPE_INVALID) {
        enum type kept = profile_sum_type(instruction);
        double sum = rounding->terms > 0 ? 2 + sqrt((double)rounding->terms) : 0;
        error += rounding->ulps * unit(type) + sum * unit(kept);
        error += rounding->terms > 0 && kept != type ? unit(type) : 0;
    }
    result.error = fmin(error, 1e30);
    for (int i = 0; i < count; i++) {
        leaves[i] = result;
    }
}

void bounds_default(const struct module *module, const struct profile *profile,
                    const struct literal *reference, struct bound *bounds, struct text *explanation)
{
    struct arena arena;
    struct roundings roundings;
    arena_init(&arena);
    roundings_find(module, profile, &roundings);
    struct walk walk = {.roundings = &roundings};
    walk.values = arena_array(&arena, (size_t)module->count, sizeof *walk.values);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        walk.values[c] = arena_array(&arena, (size_t)computation->count, sizeof *walk.values[c]);
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            walk.values[c][i] = arena_array(&arena, (size_t)shape_leaves(instruction->shape),
                                            sizeof *walk.values[c][i]);
            estimate_instruction(&walk, instruction);
        }
    }
    const struct instruction *root = module->entry->root;
    const struct estimate *estimates = walk.values[module->entry->id][root->id];
    int leaves = shape_leaves(root->shape);
    double largest = 0;
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(reference, i);
        bounds[i] = (struct bound){0};
        enum type part = type_part(leaf->shape->type);
        if (!type_is_float(part)) {
            continue;
        }
        double error = estimates[i].error;
        largest = fmax(largest, error);
        bounds[i].rel = error;
        bounds[i].abs = estimates[i].summed && error > 0 ? error * literal_scale(leaf) : 0;
        bounds[i].ulps = error / unit(part);
        bounds[i].flush_subnormals = profile->flush_subnormals && estimates[i].computed;
        bounds[i].zeros_equal = profile->algebra && estimates[i].loses_signs;
    }
    text_printf(explanation, "default, profile %s, relative error up to %.3g", profile->name,
                largest);
    roundings_finish(&roundings);
    arena_finish(&arena);
}

double bounds_steps_at_once(enum type type)
{
    enum type part = type_part(type);
    return type_is_float(part) && type_bits(part) <= 16 ? 4 : 64;
}

void bounds_finish(struct bound *bounds, int count)
{
    for (int i = 0; bounds != NULL && i < count; i++) {
        free((double *)bounds[i].element_bounds);
    }
    free(bounds);
}
