/* Steps that interp/exact.h computes, on strips of floats. */
#include <math.h>

#include "interp/exact.h"
#include "interp/lanes_internal.h"

static void widen(const float *in, double *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = in[i];
    }
}

/* exact.h leaves the sign of a NaN open; here every NaN is the same one. */
static void narrow(const double *in, float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = in[i] == in[i] ? (float)in[i] : NAN;
    }
}
static void tidy(double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = values[i] == values[i] ? values[i] : (double)NAN;
    }
}

void lane_exact_unary(const struct lane_step *step, void *out, const void *const *in,
                      int64_t count)
{
    enum exact_function function = (enum exact_function)step->code[0];
    if (step->operands[0] != TYPE_F32) {
        exact_unary(function, step->operands[0], in[0], out, count);
        tidy(out, count);
        return;
    }
    double strip[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        widen((const float *)in[0] + first, strip, n);
        exact_unary(function, TYPE_F32, strip, strip, n);
        narrow(strip, (float *)out + first, n);
    }
}

void lane_exact_binary(const struct lane_step *step, void *out, const void *const *in,
                       int64_t count)
{
    enum exact_binary_function function = (enum exact_binary_function)step->code[0];
    if (step->operands[0] != TYPE_F32) {
        exact_binary(function, step->operands[0], in[0], in[1], out, count);
        tidy(out, count);
        return;
    }
    double a[LANE_STRIP], b[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        widen((const float *)in[0] + first, a, n);
        widen((const float *)in[1] + first, b, n);
        exact_binary(function, TYPE_F32, a, b, a, n);
        narrow(a, (float *)out + first, n);
    }
}
