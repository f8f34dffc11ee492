/* Steps that interp/exact.h computes, on strips of floats. It works on doubles and leaves the sign
 * of a NaN open. */
#include "interp/exact.h"
#include "interp/lanes_internal.h"

static void widen(const struct lane_step *step, const void *in, int64_t first, double *out,
                  int64_t count)
{
    const void *from = (const float *)in + first;
    lane_loops()->convert[LANE_F32][LANE_F64](step, out, &from, count);
}

static void number(const struct lane_step *step, enum lane lane, const double *in, void *out,
                   int64_t count)
{
    const void *from = in;
    lane_loops()->number[lane](step, out, &from, count);
}

void lane_exact_unary(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    enum exact_function function = (enum exact_function)step->code[0];
    if (step->operands[0] != TYPE_F32) {
        exact_unary(function, step->operands[0], in[0], out, count);
        number(step, LANE_F64, out, out, count);
        return;
    }
    double strip[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        widen(step, in[0], first, strip, n);
        exact_unary(function, TYPE_F32, strip, strip, n);
        number(step, LANE_F32, strip, (float *)out + first, n);
    }
}

void lane_exact_binary(const struct lane_step *step, void *out, const void *const *in,
                       int64_t count)
{
    enum exact_binary_function function = (enum exact_binary_function)step->code[0];
    if (step->operands[0] != TYPE_F32) {
        exact_binary(function, step->operands[0], in[0], in[1], out, count);
        number(step, LANE_F64, out, out, count);
        return;
    }
    double a[LANE_STRIP], b[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        widen(step, in[0], first, a, n);
        widen(step, in[1], first, b, n);
        exact_binary(function, TYPE_F32, a, b, a, n);
        number(step, LANE_F32, a, (float *)out + first, n);
    }
}
