/* Comparators that compare keys.
 *
 * A comparator has inputs a0, b0, a1, b1, …: element by element the left and the right side. It
 * compares a key if it is f(a0, a1, …) < f(b0, b1, …) or the reverse, with the same f on both
 * sides; several keys if it is less(first) or equal(first) and less(the rest), as JAX writes it, or
 * the same with a selection. What f does (totally ordered bits, canonical zeros and NaNs) does not
 * matter. */
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/program_internal.h"
#include "interp/sort.h"

/* Values looked at before giving up: shared subexpressions are walked again and again. */
enum { BUDGET = 2000 };

struct matcher {
    const struct program_builder *builder;
    int budget;
};

static const struct program_step *step_of(const struct matcher *m, int value)
{
    int from = m->builder->values[value].from;
    return from >= 0 ? &m->builder->steps[from] : NULL;
}

static bool same_step(const struct program_step *a, const struct program_step *b)
{
    return a->opcode == b->opcode && a->step.function == b->step.function &&
           a->step.result == b->step.result && a->step.bits == b->step.bits &&
           a->step.round == b->step.round && a->step.code[0] == b->step.code[0] &&
           a->step.code[1] == b->step.code[1] &&
           memcmp(a->step.operands, b->step.operands, sizeof a->step.operands) == 0;
}

/* Are a and b the same function, a of inputs of parity `side`, b of the opposite ones? With
 * same_side, both of the same inputs. */
static bool same_tree(struct matcher *m, int a, int b, int side, bool same_side)
{
    if (--m->budget < 0) {
        return false;
    }
    const struct program_value *value_a = &m->builder->values[a], *value_b = &m->builder->values[b];
    if (value_a->type != value_b->type) {
        return false;
    }
    if (value_a->from == FROM_INPUT || value_b->from == FROM_INPUT) {
        return value_a->from == value_b->from && value_a->index % 2 == side &&
               value_b->index == (same_side ? value_a->index : value_a->index ^ 1);
    }
    if (value_a->from == FROM_CONSTANT || value_b->from == FROM_CONSTANT) {
        return a == b;
    }
    const struct program_step *step_a = step_of(m, a), *step_b = step_of(m, b);
    if (!same_step(step_a, step_b)) {
        return false;
    }
    for (int k = 0; k < step_a->step.operand_count; k++) {
        if (!same_tree(m, step_a->in[k], step_b->in[k], side, same_side)) {
            return false;
        }
    }
    return true;
}

/* A found key: its value on the left side. */
struct found_key {
    int left;
    bool descending, total;
};

/* less: is the value a strict comparison of one key? */
static bool match_compare(struct matcher *m, int value, struct found_key *key)
{
    const struct program_step *step = step_of(m, value);
    if (step == NULL || step->opcode != OP_COMPARE || type_is_complex(step->step.operands[0]) ||
        (step->step.code[0] != DIRECTION_LT && step->step.code[0] != DIRECTION_GT)) {
        return false;
    }
    bool greater = step->step.code[0] == DIRECTION_GT;
    key->total = step->step.code[1] != 0 || !type_is_float(step->step.operands[0]);
    if (same_tree(m, step->in[0], step->in[1], 0, false)) {
        key->left = step->in[0];
        key->descending = greater;
        return true;
    }
    key->left = step->in[1];
    key->descending = !greater;
    return same_tree(m, step->in[0], step->in[1], 1, false);
}

/* Does the value say that both sides' keys are equal (direction EQ) or not (NE)? */
static bool match_equality(struct matcher *m, int value, enum direction direction,
                           const struct found_key *key)
{
    const struct program_step *step = step_of(m, value);
    if (step == NULL || step->opcode != OP_COMPARE || step->step.code[0] != (int)direction) {
        return false;
    }
    bool total = step->step.code[1] != 0 || !type_is_float(step->step.operands[0]);
    int left = step->in[0], right = step->in[1];
    if (!same_tree(m, left, right, 0, false)) {
        if (!same_tree(m, left, right, 1, false)) {
            return false;
        }
        left = right;
    }
    return total == key->total && same_tree(m, left, key->left, 0, true);
}

static int match_less(struct matcher *m, int value, struct found_key *keys, int room);

/* or(less(first), and(equal(first), rest)), operands in either order */
static int match_or(struct matcher *m, const struct program_step *step, struct found_key *keys,
                    int room)
{
    for (int swap = 0; swap < 2; swap++) {
        const struct program_step *and = step_of(m, step->in[1 - swap]);
        if (and == NULL || and->opcode != OP_AND || !match_compare(m, step->in[swap], &keys[0])) {
            continue;
        }
        for (int other = 0; other < 2; other++) {
            if (match_equality(m, and->in[other], DIRECTION_EQ, &keys[0])) {
                int rest = match_less(m, and->in[1 - other], keys + 1, room - 1);
                return rest > 0 ? rest + 1 : 0;
            }
        }
    }
    return 0;
}

/* select(equal(first), rest, less(first)) or select(different(first), less(first), rest) */
static int match_select(struct matcher *m, const struct program_step *step, struct found_key *keys,
                        int room)
{
    for (int different = 0; different < 2; different++) {
        int first = different ? step->in[1] : step->in[2],
            rest = different ? step->in[2] : step->in[1];
        if (match_compare(m, first, &keys[0]) &&
            match_equality(m, step->in[0], different ? DIRECTION_NE : DIRECTION_EQ, &keys[0])) {
            int more = match_less(m, rest, keys + 1, room - 1);
            return more > 0 ? more + 1 : 0;
        }
    }
    return 0;
}

/* The keys of a strict lexicographic order, 0 if it is none. */
static int match_less(struct matcher *m, int value, struct found_key *keys, int room)
{
    const struct program_step *step = step_of(m, value);
    if (room < 1 || step == NULL || m->budget < 0) {
        return 0;
    }
    switch (step->opcode) {
    case OP_COMPARE:
        return match_compare(m, value, &keys[0]) ? 1 : 0;
    case OP_OR:
        return match_or(m, step, keys, room);
    case OP_SELECT:
        return match_select(m, step, keys, room);
    default:
        return 0;
    }
}

/* Copies what makes `value` into another builder; map: values copied so far, −1 elsewhere. */
static int copy_value(const struct program_builder *from, int value, struct program_builder *to,
                      int *map)
{
    if (map[value] >= 0) {
        return map[value];
    }
    const struct program_value *old = &from->values[value];
    if (old->from == FROM_CONSTANT) {
        map[value] = program_add_constant(to, old->type, from->constants[old->index].element);
        return map[value];
    }
    const struct program_step *step = &from->steps[old->from];
    int operands[LANE_MAX_OPERANDS];
    for (int k = 0; k < step->step.operand_count; k++) {
        operands[k] = copy_value(from, step->in[k], to, map);
    }
    map[value] = program_add_step(to, step->opcode, &step->step, operands);
    return map[value];
}

static struct program *key_program(const struct program_builder *builder, int arrays, int left)
{
    struct program_builder *key = program_builder_create();
    int *map = memory_alloc(builder->value_count * sizeof *map);
    memset(map, -1, builder->value_count * sizeof *map);
    for (int k = 0; k < arrays; k++) {
        int input = builder->inputs[2 * k];
        map[input] = program_add_input(key, builder->values[input].type);
    }
    program_add_output(key, copy_value(builder, left, key, map));
    free(map);
    return program_builder_finish_take(key);
}

int sort_keys_find(const struct computation *comparator, int arrays, struct sort_key *keys)
{
    struct program_builder *builder = program_builder_create();
    struct found_key found[SORT_MAX_KEYS];
    int count = 0;
    if (program_build_computation(builder, comparator) &&
        builder->input_count == 2 * (size_t)arrays && builder->output_count == 1) {
        struct matcher matcher = {builder, BUDGET};
        count = match_less(&matcher, builder->outputs[0], found, SORT_MAX_KEYS);
    }
    for (int i = 0; i < count; i++) {
        keys[i] = (struct sort_key){key_program(builder, arrays, found[i].left),
                                    builder->values[found[i].left].type, found[i].descending,
                                    found[i].total};
    }
    program_builder_destroy(builder);
    return count;
}

void sort_keys_finish(struct sort_key *keys, int count)
{
    for (int i = 0; i < count; i++) {
        program_destroy(keys[i].program);
    }
}

/* --- keys as integers --- */

int sort_key_bits(const struct sort_key *key)
{
    switch (lane_of(key->type)) {
    case LANE_PRED:
        return 1;
    case LANE_F64:
        return type_bits(key->type) <= 16 && float_has_negative_zero(key->type)
                   ? 8 * type_bytes(key->type)
                   : 64;
    default:
        return 8 * lane_bytes(lane_of(key->type));
    }
}

/* Bits of a float in sign and magnitude, as an integer that grows with the value. */
static uint64_t ordered(uint64_t bits, int width)
{
    uint64_t sign = UINT64_C(1) << (width - 1);
    return (bits & sign) != 0 ? ~bits & (sign | (sign - 1)) : bits | sign;
}

#define MAP_INTEGERS(type, unsigned_type, flip)                        \
    {                                                                  \
        const type *values = strip;                                    \
        for (int64_t i = 0; i < count; i++) {                          \
            out[i] = (unsigned_type)values[i] ^ (unsigned_type)(flip); \
        }                                                              \
    }

/* Floats by their bits: as f32, in a format of at most 16 bits, or as f64. */
static bool map_floats(const struct sort_key *key, const void *strip, uint64_t *out, int64_t count)
{
    int width = sort_key_bits(key);
    bool placed = true;
    if (key->type == TYPE_BF16) {
        const uint16_t *values = strip;
        for (int64_t i = 0; i < count; i++) {
            uint16_t magnitude = values[i] & 0x7fff;
            placed = placed && (key->total || magnitude <= 0x7f80);
            out[i] = ordered(!key->total && magnitude == 0 ? 0 : values[i], 16);
        }
        return placed;
    }
    if (key->type == TYPE_F32) {
        const float *values = strip;
        for (int64_t i = 0; i < count; i++) {
            float value = !key->total && values[i] == 0 ? 0.0f : values[i];
            uint32_t bits;
            memcpy(&bits, &value, sizeof bits);
            placed = placed && (key->total || value == value);
            out[i] = ordered(bits, 32);
        }
        return placed;
    }
    const double *values = strip;
    for (int64_t i = 0; i < count; i++) {
        double value = !key->total && values[i] == 0 ? 0.0 : values[i];
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        placed = placed && (key->total || value == value);
        out[i] = ordered(width == 64 ? bits : float_from_double(key->type, value), width);
    }
    return placed;
}

bool sort_key_map(const struct sort_key *key, const void *strip, uint64_t *out, int64_t count)
{
    bool placed = true;
    switch (lane_of(key->type)) {
    case LANE_PRED:
        MAP_INTEGERS(uint8_t, uint8_t, 0)
        break;
    case LANE_U8:
        MAP_INTEGERS(uint8_t, uint8_t, 0)
        break;
    case LANE_U16:
        MAP_INTEGERS(uint16_t, uint16_t, 0)
        break;
    case LANE_U32:
        MAP_INTEGERS(uint32_t, uint32_t, 0)
        break;
    case LANE_U64:
        MAP_INTEGERS(uint64_t, uint64_t, 0)
        break;
    case LANE_S8:
        MAP_INTEGERS(int8_t, uint8_t, 0x80)
        break;
    case LANE_S16:
        MAP_INTEGERS(int16_t, uint16_t, 0x8000)
        break;
    case LANE_S32:
        MAP_INTEGERS(int32_t, uint32_t, 0x80000000)
        break;
    case LANE_S64:
        MAP_INTEGERS(int64_t, uint64_t, UINT64_C(1) << 63)
        break;
    default:
        placed = map_floats(key, strip, out, count);
        break;
    }
    if (key->descending) {
        int bits = sort_key_bits(key);
        for (int64_t i = 0; i < count; i++) {
            out[i] = ~out[i] & (~UINT64_C(0) >> (64 - bits));
        }
    }
    return placed;
}
#undef MAP_INTEGERS
