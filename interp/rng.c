/* rng-bit-generator, bit for bit as XLA's backends expand it; rng, from a stream of our own.
 *
 * rng-bit-generator: state is u64[2] (Philox: or u64[3]), its first element the key. Counters and
 * words:
 *   ThreeFry (2x32, 20 rounds): one u64 counter, state[1] + i. 64-bit elements: one counter each,
 *     word 0 low. Up to 32 bits: the first even dimension (else the largest) is halved, rounding
 *     up; counter i is the row-major index in the halved array, and its two words are the elements
 *     2h and 2h + 1 of that dimension. The new state is state[1] + the number of counters.
 *   Philox (4x32, 10 rounds): a 128-bit counter, low half first: state[1], state[2], or with two
 *     elements state[1] low and the key high (sic). Four words serve 4 elements, or 2 of 64 bits
 *     (low word first), in row-major order. The new state is the counter + the number of counters.
 * Elements of less than 32 bits take the low bits of a word each. rng_default is Philox. An
 * instruction whose shape is no tuple gives the bits alone (XLA's TPU compiler makes such ones).
 * Sources: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
 * xla/hlo/builder/lib/prng.cc, xla/hlo/transforms/expanders/rng_bit_generator_expander.cc.
 *
 * rng: HLO leaves the generator open, so all elements are unspecified. The golden draws them in
 * row-major order from splitmix64 (hlo/base/rng.h), seeded with a hash of the options' seed, the
 * number of `rng` instructions evaluated before, replica and partition. uniform: a + (b − a) * u,
 * u in [0, 1) of 53 bits, and a where that rounds to b or beyond; integers without bias. normal:
 * mean + sigma * sqrt(−2 ln(1 − u)) * cos(2π v). */
#include <math.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "interp/eval.h"
#include "interp/poll.h"

/* Now and then, whether to stop. */
static bool is_stopped(int64_t step)
{
    return step % 65536 == 65535 && poll_now();
}

/* --- the two generators --- */

static uint32_t rotate(uint32_t value, int distance)
{
    return value << distance | value >> (32 - distance);
}

static void three_fry(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2])
{
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
    uint32_t x0 = counter[0] + keys[0], x1 = counter[1] + keys[1];
    for (uint32_t group = 0; group < 5; group++) {
        for (int round = 0; round < 4; round++) {
            x0 += x1;
            x1 = rotate(x1, rotations[group % 2][round]) ^ x0;
        }
        x0 += keys[(group + 1) % 3];
        x1 += keys[(group + 2) % 3] + group + 1;
    }
    out[0] = x0;
    out[1] = x1;
}

static void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    memcpy(out, counter, 4 * sizeof *out);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)out[0] * 0xD2511F53;
        uint64_t product1 = (uint64_t)out[2] * 0xCD9E8D57;
        out[0] = (uint32_t)(product1 >> 32) ^ out[1] ^ k0;
        out[1] = (uint32_t)product1;
        out[2] = (uint32_t)(product0 >> 32) ^ out[3] ^ k1;
        out[3] = (uint32_t)product0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

static void words_of(uint64_t value, uint32_t words[2])
{
    words[0] = (uint32_t)value;
    words[1] = (uint32_t)(value >> 32);
}

static uint64_t from_words(const uint32_t words[2])
{
    return words[0] | (uint64_t)words[1] << 32;
}

/* --- rng-bit-generator --- */

/* Element `index` from a word or two: whole, or the low bits (sign-extended for signed types). */
static void set_bits(struct literal *data, int64_t index, uint64_t value)
{
    enum type type = data->shape->type;
    if (type_is_integer(type)) {
        int unused = 64 - type_bits(type);
        int64_t integer = (int64_t)(value << unused);
        literal_set_int(data, index,
                        type_kind(type) == KIND_SIGNED ? integer >> unused
                                                       : (int64_t)(value << unused >> unused));
    } else {
        literal_set_bits(data, index, value << (64 - type_bits(type)) >> (64 - type_bits(type)));
    }
}

/* The dimension that ThreeFry halves, −1 in a scalar. */
static int halved_dimension(const struct shape *shape)
{
    int largest = shape->rank > 0 ? 0 : -1;
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dimensions[d] % 2 == 0) {
            return d;
        }
        if (shape->dimensions[d] > shape->dimensions[largest]) {
            largest = d;
        }
    }
    return largest;
}

/* Fills data, returns the number of counters used. */
static uint64_t generate_three_fry(uint64_t key, uint64_t start, struct literal *data)
{
    const struct shape *shape = data->shape;
    uint32_t key_words[2], counter[2], out[2];
    words_of(key, key_words);
    int64_t elements = literal_elements(data);
    if (type_bits(shape->type) == 64) {
        for (int64_t i = 0; i < elements && !is_stopped(i); i++) {
            words_of(start + (uint64_t)i, counter);
            three_fry(key_words, counter, out);
            set_bits(data, i, from_words(out));
        }
        return (uint64_t)elements;
    }
    int split = halved_dimension(shape);
    int64_t size = split < 0 ? 1 : shape->dimensions[split];
    int64_t inner = 1;
    for (int d = split + 1; d < shape->rank; d++) {
        inner *= shape->dimensions[d];
    }
    int64_t half = (size + 1) / 2;
    int64_t outer = size * inner > 0 ? elements / (size * inner) : 0;
    for (int64_t i = 0; i < outer * half * inner && !is_stopped(i); i++) {
        words_of(start + (uint64_t)i, counter);
        three_fry(key_words, counter, out);
        int64_t row = i / (half * inner), place = i / inner % half, column = i % inner;
        for (int64_t w = 0; w < 2 && 2 * place + w < size; w++) {
            set_bits(data, (row * size + 2 * place + w) * inner + column, out[w]);
        }
    }
    return (uint64_t)(outer * half * inner);
}

/* Fills data, returns the number of counters used. */
static uint64_t generate_philox(uint64_t key, const uint64_t start[2], struct literal *data)
{
    uint32_t key_words[2], counter[4], out[4];
    words_of(key, key_words);
    int64_t elements = literal_elements(data);
    int per_element = type_bits(data->shape->type) == 64 ? 2 : 1;
    int per_counter = 4 / per_element;
    int64_t counters = (elements + per_counter - 1) / per_counter;
    for (int64_t i = 0; i < counters && !is_stopped(i); i++) {
        uint64_t low = start[0] + (uint64_t)i;
        words_of(low, counter);
        words_of(start[1] + (low < start[0]), counter + 2);
        philox(key_words, counter, out);
        for (int e = 0; e < per_counter && i * per_counter + e < elements; e++) {
            uint64_t bits = per_element == 2 ? from_words(out + 2 * e) : out[e];
            set_bits(data, i * per_counter + e, bits);
        }
    }
    return (uint64_t)counters;
}

struct literal *eval_rng_bit_generator(struct evaluation *evaluation,
                                       const struct instruction *instruction,
                                       struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *state = operands->values[0];
    const struct shape *shape = instruction->shape;
    int64_t size = state->shape->rank == 1 ? state->shape->dimensions[0] : 0;
    int64_t algorithm = attr_int(instruction, ATTR_ALGORITHM, ALGORITHM_RNG) - ALGORITHM_RNG;
    int64_t most = algorithm == RNG_THREE_FRY ? 2 : 3;
    bool is_tuple = shape_is_tuple(shape) && shape->count == 2;
    const struct shape *bits = is_tuple ? shape->elements[1] : shape;
    if (state->shape->type != TYPE_U64 || size < 2 || size > most || !shape_is_array(bits) ||
        type_is_complex(bits->type)) {
        error_set(err, ERROR_UNIMPLEMENTED, "rng-bit-generator of state %s and shape %s",
                  shape_text(state->shape), shape_text(shape));
        return NULL;
    }
    struct literal *parts[2] = {literal_create(is_tuple ? shape->elements[0] : state->shape, err),
                                literal_create(bits, err)};
    if (parts[0] == NULL || parts[1] == NULL) {
        literal_release(parts[0]);
        literal_release(parts[1]);
        return NULL;
    }
    uint64_t words[3] = {0}, next[3];
    memcpy(words, literal_data(state), (size_t)size * sizeof *words);
    memcpy(next, words, sizeof next);
    if (algorithm == RNG_THREE_FRY) {
        next[1] = words[1] + generate_three_fry(words[0], words[1], parts[1]);
    } else {
        uint64_t start[2] = {words[1], size == 3 ? words[2] : words[0]};
        next[1] = words[1] + generate_philox(words[0], start, parts[1]);
        next[2] = words[2] + (next[1] < words[1]);
    }
    memcpy(literal_data(parts[0]), next, (size_t)size * sizeof *next);
    for (int64_t i = 0; literal_has_unspecified(state) && i < literal_elements(parts[1]); i++) {
        literal_mark_unspecified(parts[1], i);
    }
    for (int64_t i = 0; i < size; i++) {
        if (literal_is_unspecified(state, i)) {
            literal_mark_unspecified(parts[0], i);
        }
    }
    if (!is_tuple) {
        literal_release(parts[0]);
        return parts[1];
    }
    return literal_tuple_take(shape, parts);
}

/* --- rng --- */

static void draw_uniform(struct rng *rng, const struct literal *low, const struct literal *high,
                         struct literal *result, int64_t index)
{
    enum type type = result->shape->type;
    if (type_is_float(type)) {
        double a = literal_get_double(low, 0), b = literal_get_double(high, 0);
        double value = float_round(type, a + (b - a) * rng_uniform(rng));
        literal_set_double(result, index, a < b && value >= b ? a : value);
        return;
    }
    uint64_t range = (uint64_t)literal_get_int(high, 0) - (uint64_t)literal_get_int(low, 0);
    uint64_t offset = range > 0 ? rng_below(rng, range) : 0;
    literal_set_int(result, index, (int64_t)((uint64_t)literal_get_int(low, 0) + offset));
}

static void draw_normal(struct rng *rng, const struct literal *mean, const struct literal *sigma,
                        struct literal *result, int64_t index)
{
    const double tau = 6.283185307179586;
    double radius = sqrt(-2 * log(1 - rng_uniform(rng)));
    double value = radius * cos(tau * rng_uniform(rng));
    value = literal_get_double(mean, 0) + literal_get_double(sigma, 0) * value;
    literal_set_double(result, index, value);
}

struct literal *eval_rng(struct evaluation *evaluation, const struct instruction *instruction,
                         struct operands *operands, struct error *err)
{
    enum type type = instruction->shape->type;
    bool normal = attr_int(instruction, ATTR_DISTRIBUTION, RNG_UNIFORM) == RNG_NORMAL;
    bool known = type_is_float(type) || (!normal && (type_is_integer(type) || type == TYPE_PRED));
    if (!known || operands->count != 2) {
        error_set(err, ERROR_UNIMPLEMENTED, "rng of shape %s", shape_text(instruction->shape));
        return NULL;
    }
    struct literal *result = literal_create(instruction->shape, err);
    if (result == NULL) {
        return NULL;
    }
    uint64_t seed = hash_u64(evaluation->rng_count++, evaluation->options.seed);
    seed = hash_u64((uint64_t)evaluation->replica << 32 | (uint32_t)evaluation->partition, seed);
    struct rng rng;
    rng_init(&rng, seed);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        if (normal) {
            draw_normal(&rng, operands->values[0], operands->values[1], result, i);
        } else {
            draw_uniform(&rng, operands->values[0], operands->values[1], result, i);
        }
        literal_mark_unspecified(result, i);
    }
    return result;
}
