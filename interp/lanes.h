/* The lanes engine: arithmetic on strips of values.
 *
 * A strip holds the values of up to LANE_STRIP elements of one HLO type in one of five compute
 * classes: pred, signed, unsigned, float, complex (lanes.def). Integers, f32, f64 and bf16 are held
 * as they are stored; so a strip may be the literal's own memory, of any length. Other narrow
 * floats are doubles while they are computed with, complex numbers two arrays of doubles. A type
 * says how to load, round and store; an operation is one line per class in scalar.def.
 *
 * An operation on given types is a `struct lane_step`, made once and run on many strips. Results
 * are exact, rounded once to the type, and the same bits at every vector level (hlo/vector.h);
 * every NaN that an arithmetic operation makes is the positive quiet one without payload. */
#ifndef INTERP_LANES_H
#define INTERP_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/attr.h"
#include "hlo/opcode.h"
#include "hlo/types.h"

struct instruction;

enum { LANE_STRIP = 512, LANE_MAX_BYTES = 16, LANE_MAX_OPERANDS = 3 };

enum lane {
#define LANE(id, c_type, wide, class, bytes) LANE_##id,
#include "interp/lanes.def"
    LANE_COMPLEX, /* LANE_STRIP real parts, then LANE_STRIP imaginary parts, as doubles */
    LANE_COUNT
};

/* How values of the type are held; array types only. */
enum lane lane_of(enum type type);
/* Bytes of one value in a strip. */
int lane_bytes(enum lane lane);
/* Whether elements in memory are a strip already. */
bool lane_is_native(enum type type);
/* The unsigned type whose elements have the same size, to move elements as they are; complex types
 * of 16 bytes stay themselves. */
enum type lane_bits_type(enum type type);

/* Between `count` elements in memory and a strip (count <= LANE_STRIP for complex types). Values
 * to store must be values of the type. */
void lane_load(enum type type, const void *elements, void *strip, int64_t count);
void lane_store(enum type type, const void *strip, void *elements, int64_t count);
/* strip[i] = elements[offsets[i]]. */
void lane_gather(enum type type, const void *elements, const int64_t *offsets, void *strip,
                 int64_t count);
/* elements[offsets[i]] = strip[i], in order of i. */
void lane_scatter(enum type type, const void *strip, void *elements, const int64_t *offsets,
                  int64_t count);
/* strip[i] = *element. */
void lane_fill(enum type type, const void *element, void *strip, int64_t count);
/* to[i] = from[i] where mask[i]. */
void lane_blend(enum lane lane, const uint8_t *mask, const void *from, void *to, int64_t count);
/* Makes values that an operation left exact into values of the type. */
void lane_round(enum type type, void *strip, int64_t count);

struct lane_step;
/* in[k] are strips of the operands, out may be one of them (if values have equal size). count is at
 * most LANE_STRIP if an operand or the result is complex. */
typedef void lane_function(const struct lane_step *step, void *out, const void *const *in,
                           int64_t count);

/* One operation on given types. Filled by the makers below, read-only afterwards. */
struct lane_step {
    lane_function *function;
    enum type operands[LANE_MAX_OPERANDS]; /* types of the operands */
    enum type result;
    int operand_count;
    int bits;   /* of the operands' type; of `result` for conversions to integers */
    bool round; /* lane_round(result) follows */
    /* What the function needs: an exact function; exponent and mantissa bits; of a comparison its
     * direction and whether it is the total order. */
    int code[2];
};

/* The makers return false when HLO has no such operation on the types. `type` is that of all
 * operands; the type of the result follows. */
bool lane_unary(enum opcode opcode, enum type type, struct lane_step *step);
bool lane_binary(enum opcode opcode, enum type type, struct lane_step *step);
/* operands a, b; the result is pred. kind −1: the default of the type. */
bool lane_compare(enum direction direction, int kind, enum type type, struct lane_step *step);
/* operands pred, on true, on false; bits are kept */
bool lane_select(enum type type, struct lane_step *step);
/* operands low, value, high */
bool lane_clamp(enum type type, struct lane_step *step);
bool lane_convert(enum type from, enum type to, struct lane_step *step);
/* Types of equal width in memory (pred counts as a byte). */
bool lane_bitcast(enum type from, enum type to, struct lane_step *step);
bool lane_reduce_precision(enum type type, int exponent_bits, int mantissa_bits,
                           struct lane_step *step);
/* operands value, random bits (an unsigned type as wide as the value) */
bool lane_stochastic_convert(enum type type, enum type random, enum type result,
                             struct lane_step *step);
/* Copies the strip. */
void lane_copy(enum type type, struct lane_step *step);
/* The step of an elementwise instruction (any of the above, copy and the like). Where XLA's mixed
 * precision lets operand types differ from each other or from the result, step->operands says what
 * they have to be converted to first. False when the instruction is not elementwise. */
bool lane_instruction(const struct instruction *instruction, struct lane_step *step);

/* Runs a step, rounding included. */
void lane_run(const struct lane_step *step, void *out, const void *const *in, int64_t count);

/* An operand of a whole-array operation: `count` elements, or one for all. */
struct lane_array {
    const void *data;
    enum type type; /* converted to the step's if it differs */
    bool scalar;
};
/* out[i] = step(in[0][i], in[1][i], …) for whole arrays of elements as stored; parallel. out may be
 * the memory of an operand with elements of the same size. */
void lane_map(const struct lane_step *step, const struct lane_array *in, void *out, int64_t count);

#endif
