/* The loops of integer_dot.c, compiled once per vector level (hlo/vector.h): four rows by two
 * vectors of sums stay in registers. */
#include "interp/integer_dot_internal.h"

typedef uint32_t VECTOR_FUNCTION(lanes_narrow)
    __attribute__((vector_size(8 * VECTOR_WIDTH), aligned(4), may_alias));
typedef uint64_t VECTOR_FUNCTION(lanes_wide)
    __attribute__((vector_size(8 * VECTOR_WIDTH), aligned(8), may_alias));

#define INTEGER_LOOP(name, lane)                                                             \
    static void VECTOR_FUNCTION(name)(const lane *a, int64_t a_step, const lane *b,          \
                                      int64_t b_step, lane *c, int64_t c_step, int64_t rows, \
                                      int64_t columns, int64_t depth)                        \
    {                                                                                        \
        typedef VECTOR_FUNCTION(lanes_##name) lanes;                                         \
        enum { WIDTH = sizeof(lanes) / sizeof(lane) };                                       \
        for (int64_t i = 0; i < rows; i += INTEGER_ROWS) {                                   \
            const lane *row = a + i * a_step;                                                \
            for (int64_t j = 0; j < columns; j += 2 * WIDTH) {                               \
                lanes sums[INTEGER_ROWS][2] = {0};                                           \
                for (int64_t k = 0; k < depth; k++) {                                        \
                    lanes left = *(const lanes *)(b + k * b_step + j);                       \
                    lanes right = *(const lanes *)(b + k * b_step + j + WIDTH);              \
                    for (int r = 0; r < INTEGER_ROWS; r++) {                                 \
                        lane factor = row[r * a_step + k];                                   \
                        sums[r][0] += factor * left;                                         \
                        sums[r][1] += factor * right;                                        \
                    }                                                                        \
                }                                                                            \
                for (int r = 0; r < INTEGER_ROWS; r++) {                                     \
                    lane *out = c + (i + r) * c_step + j;                                    \
                    *(lanes *)out += sums[r][0];                                             \
                    *(lanes *)(out + WIDTH) += sums[r][1];                                   \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
    }
INTEGER_LOOP(narrow, uint32_t)
INTEGER_LOOP(wide, uint64_t)
#undef INTEGER_LOOP

const struct integer_loops VECTOR_FUNCTION(integer_loops) = {
    .narrow = VECTOR_FUNCTION(narrow),
    .wide = VECTOR_FUNCTION(wide),
};
