/* Steps that interp/exact.h computes, on strips of floats. It works on doubles and leaves the sign
 * of a NaN open. */
#include "hlo/floats.h"
#include "interp/exact.h"
#include "interp/lanes_internal.h"

/* Strips as they are stored, f32 or bf16, to doubles and back. */
static void widen(const struct lane_step *step, const void *in, int64_t first, double *out,
                  int64_t count)
{
    enum lane lane = lane_of(step->operands[0]);
    const void *from = (const char *)in + first * lane_bytes(lane);
    lane_loops()->convert[lane][LANE_F64](step, out, &from, count);
}

static void narrow(const struct lane_step *step, double *in, void *out, int64_t first,
                   int64_t count)
{
    const void *from = in;
    if (step->result == TYPE_F32) {
        lane_loops()->number[LANE_F32](step, (float *)out + first, &from, count);
    } else {
        lane_loops()->number[LANE_F64](step, in, &from, count);
        float_store(step->result, in, (uint16_t *)out + first, count);
    }
}

static bool is_stored(const struct lane_step *step)
{
    return step->operands[0] == TYPE_F32 || step->operands[0] == TYPE_BF16;
}

void lane_exact_unary(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    enum exact_function function = (enum exact_function)step->code[0];
    if (!is_stored(step)) {
        const void *result = out;
        exact_unary(function, step->operands[0], in[0], out, count);
        lane_loops()->number[LANE_F64](step, out, &result, count);
        return;
    }
    double strip[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        widen(step, in[0], first, strip, n);
        exact_unary(function, step->operands[0], strip, strip, n);
        narrow(step, strip, out, first, n);
    }
}

void lane_exact_binary(const struct lane_step *step, void *out, const void *const *in,
                       int64_t count)
{
    enum exact_binary_function function = (enum exact_binary_function)step->code[0];
    if (!is_stored(step)) {
        const void *result = out;
        exact_binary(function, step->operands[0], in[0], in[1], out, count);
        lane_loops()->number[LANE_F64](step, out, &result, count);
        return;
    }
    double a[LANE_STRIP], b[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        widen(step, in[0], first, a, n);
        widen(step, in[1], first, b, n);
        exact_binary(function, step->operands[0], a, b, a, n);
        narrow(step, a, out, first, n);
    }
}
