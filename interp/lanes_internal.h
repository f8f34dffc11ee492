/* Private to lanes_*.c: the loops that are compiled for each vector level. */
#ifndef INTERP_LANES_INTERNAL_H
#define INTERP_LANES_INTERNAL_H

#include "interp/lanes.h"

/* NULL where the operation does not exist. */
struct lane_loops {
    lane_function *unary[OPCODE_COUNT][LANE_COUNT];
    lane_function *binary[OPCODE_COUNT][LANE_COUNT];
    lane_function *clamp[LANE_COUNT];
    lane_function *is_finite[LANE_COUNT];
    lane_function *compare[DIRECTION_LT + 1][LANE_COUNT];
    lane_function *compare_total[DIRECTION_LT + 1][LANE_COUNT];
    lane_function *convert[LANE_COUNT][LANE_COUNT]; /* [from][to] */
    lane_function *select[LANE_MAX_BYTES + 1];      /* by the bytes of a value: 1, 2, 4, 8 */
    lane_function *wrap[LANE_COUNT];                /* to integers of less than a byte */
    lane_function *number[LANE_COUNT]; /* doubles to the strip, every NaN made the same one */
};

extern const struct lane_loops lane_loops_level0;
#ifdef __x86_64__
extern const struct lane_loops lane_loops_level2, lane_loops_level3;
#endif
/* Those of this machine. */
const struct lane_loops *lane_loops(void);

/* lanes_exact.c: functions computed by interp/exact.h; step->code[0] says which. */
lane_function lane_exact_unary, lane_exact_binary;

/* lanes_complex.c: the steps on complex numbers; false when there is none. */
bool lane_complex_unary(enum opcode opcode, enum type type, struct lane_step *step);
bool lane_complex_binary(enum opcode opcode, enum type type, struct lane_step *step);
bool lane_complex_compare(enum direction direction, enum type type, struct lane_step *step);
bool lane_complex_convert(enum type from, enum type to, struct lane_step *step);
lane_function lane_complex_make, lane_complex_select, lane_complex_copy;

/* lanes_bits.c: what works on the bits of stored elements. */
lane_function lane_bits_cast, lane_bits_reduce, lane_bits_stochastic;

#endif
