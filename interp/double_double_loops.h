/* The loops of double_double.h, compiled once per vector level (hlo/vector.h). */
#include "interp/double_double.h"

struct VECTOR_FUNCTION(pair) {
    vector high, low;
};
#define PAIR struct VECTOR_FUNCTION(pair)

VECTOR_INLINE PAIR VECTOR_FUNCTION(quick_sum)(vector a, vector b)
{
    vector sum = a + b;
    return (PAIR){sum, b - (sum - a)};
}

VECTOR_INLINE PAIR VECTOR_FUNCTION(add)(PAIR a, PAIR b)
{
    vector sum = a.high + b.high;
    vector other = sum - a.high;
    vector error = (a.high - (sum - other)) + (b.high - other);
    return VECTOR_FUNCTION(quick_sum)(sum, error + (a.low + b.low));
}

VECTOR_INLINE PAIR VECTOR_FUNCTION(negate)(PAIR a)
{
    return (PAIR){-a.high, -a.low};
}

#if !VECTOR_HAS_FMA
/* The upper 26 bits. */
VECTOR_INLINE vector VECTOR_FUNCTION(upper)(vector a)
{
    vector shifted = a * 134217729.0;
    return shifted - (shifted - a);
}
#endif

VECTOR_INLINE PAIR VECTOR_FUNCTION(multiply)(PAIR a, PAIR b)
{
    vector product = a.high * b.high;
#if VECTOR_HAS_FMA
    vector error = vector_fma(a.high, b.high, -product);
#else
    vector a_upper = VECTOR_FUNCTION(upper)(a.high), b_upper = VECTOR_FUNCTION(upper)(b.high);
    vector a_lower = a.high - a_upper, b_lower = b.high - b_upper;
    vector error =
        ((a_upper * b_upper - product) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower;
#endif
    return VECTOR_FUNCTION(quick_sum)(product, error + (a.high * b.low + a.low * b.high));
}

static struct double_double VECTOR_FUNCTION(dot)(const double *a_high, const double *a_low,
                                                 const double *b_high, const double *b_low,
                                                 int64_t count)
{
    /* Always DD_LANES sums, so that every level adds in the same order. */
    enum { VECTORS = DD_LANES / VECTOR_WIDTH };
    PAIR sums[VECTORS] = {0};
    int64_t i = 0;
    for (; i + DD_LANES <= count; i += DD_LANES) {
        for (int v = 0; v < VECTORS; v++) {
            int64_t at = i + v * VECTOR_WIDTH;
            PAIR a = {vector_read(a_high + at), vector_read(a_low + at)};
            PAIR b = {vector_read(b_high + at), vector_read(b_low + at)};
            sums[v] = VECTOR_FUNCTION(add)(sums[v], VECTOR_FUNCTION(multiply)(a, b));
        }
    }
    struct double_double total = {0};
    for (int lane = 0; lane < DD_LANES; lane++) {
        int v = lane / VECTOR_WIDTH, at = lane % VECTOR_WIDTH;
        total = dd_add(total, (struct double_double){sums[v].high[at], sums[v].low[at]});
    }
    for (; i < count; i++) {
        struct double_double a = {a_high[i], a_low[i]}, b = {b_high[i], b_low[i]};
        total = dd_add(total, dd_multiply(a, b));
    }
    return total;
}

static double VECTOR_FUNCTION(weigh)(const double *a, const double *b, int64_t count)
{
    enum { VECTORS = DD_LANES / VECTOR_WIDTH };
    vector sums[VECTORS] = {0};
    int64_t i = 0;
    for (; i + DD_LANES <= count; i += DD_LANES) {
        for (int v = 0; v < VECTORS; v++) {
            int64_t at = i + v * VECTOR_WIDTH;
            sums[v] += vector_abs(vector_read(a + at)) * vector_read(b + at);
        }
    }
    double total = 0;
    for (int v = 0; v < VECTORS; v++) {
        total += vector_sum(sums[v]);
    }
    for (; i < count; i++) {
        total += fabs(a[i]) * b[i];
    }
    return total;
}

struct VECTOR_FUNCTION(complex) {
    PAIR re, im;
};
#define COMPLEX struct VECTOR_FUNCTION(complex)

VECTOR_INLINE COMPLEX VECTOR_FUNCTION(read_point)(const double *from)
{
    return (COMPLEX){{vector_read(from), vector_read(from + DD_LANES)},
                     {vector_read(from + 2 * DD_LANES), vector_read(from + 3 * DD_LANES)}};
}

VECTOR_INLINE void VECTOR_FUNCTION(write_point)(double *to, COMPLEX value)
{
    vector_write(to, value.re.high);
    vector_write(to + DD_LANES, value.re.low);
    vector_write(to + 2 * DD_LANES, value.im.high);
    vector_write(to + 3 * DD_LANES, value.im.low);
}

VECTOR_INLINE COMPLEX VECTOR_FUNCTION(complex_multiply)(COMPLEX a, const struct dd_complex *b)
{
    PAIR re = {vector_all(b->re.high), vector_all(b->re.low)};
    PAIR im = {vector_all(b->im.high), vector_all(b->im.low)};
    PAIR cross = VECTOR_FUNCTION(multiply)(a.im, im);
    return (COMPLEX){
        VECTOR_FUNCTION(add)(VECTOR_FUNCTION(multiply)(a.re, re), VECTOR_FUNCTION(negate)(cross)),
        VECTOR_FUNCTION(add)(VECTOR_FUNCTION(multiply)(a.re, im),
                             VECTOR_FUNCTION(multiply)(a.im, re))};
}

VECTOR_INLINE COMPLEX VECTOR_FUNCTION(complex_add)(COMPLEX a, COMPLEX b)
{
    return (COMPLEX){VECTOR_FUNCTION(add)(a.re, b.re), VECTOR_FUNCTION(add)(a.im, b.im)};
}

static void VECTOR_FUNCTION(butterflies)(const double *in, double *out,
                                         const struct dd_complex *twiddles, int64_t step,
                                         int64_t half, int64_t group)
{
    for (int64_t j = 0; j < half; j++) {
        for (int64_t k = 0; k < group; k++) {
            for (int v = 0; v < DD_LANES; v += VECTOR_WIDTH) {
                COMPLEX a = VECTOR_FUNCTION(read_point)(in + (j * group + k) * DD_POINT + v);
                COMPLEX b =
                    VECTOR_FUNCTION(read_point)(in + ((j + half) * group + k) * DD_POINT + v);
                COMPLEX minus = {VECTOR_FUNCTION(negate)(b.re), VECTOR_FUNCTION(negate)(b.im)};
                COMPLEX difference = VECTOR_FUNCTION(complex_add)(a, minus);
                double *to = out + (2 * j * group + k) * DD_POINT + v;
                VECTOR_FUNCTION(write_point)(to, VECTOR_FUNCTION(complex_add)(a, b));
                VECTOR_FUNCTION(write_point)
                (to + group * DD_POINT,
                 j == 0 ? difference
                        : VECTOR_FUNCTION(complex_multiply)(difference, twiddles + j * step));
            }
        }
    }
}

static void VECTOR_FUNCTION(scale)(double *data, const struct dd_complex *factors, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        for (int v = 0; v < DD_LANES; v += VECTOR_WIDTH) {
            double *at = data + i * DD_POINT + v;
            COMPLEX value = VECTOR_FUNCTION(read_point)(at);
            VECTOR_FUNCTION(write_point)(at, VECTOR_FUNCTION(complex_multiply)(value, factors + i));
        }
    }
}

static void VECTOR_FUNCTION(direct)(const double *in, double *out, const struct dd_complex *roots,
                                    int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        for (int v = 0; v < DD_LANES; v += VECTOR_WIDTH) {
            COMPLEX sum = VECTOR_FUNCTION(read_point)(in + v);
            for (int64_t j = 1; j < count; j++) {
                COMPLEX value = VECTOR_FUNCTION(read_point)(in + j * DD_POINT + v);
                int64_t root = j * k % count;
                sum = VECTOR_FUNCTION(complex_add)(
                    sum,
                    root == 0 ? value : VECTOR_FUNCTION(complex_multiply)(value, roots + root));
            }
            VECTOR_FUNCTION(write_point)(out + k * DD_POINT + v, sum);
        }
    }
}

const struct double_double_loops VECTOR_FUNCTION(double_double_loops) = {
    .dot = VECTOR_FUNCTION(dot),
    .weigh = VECTOR_FUNCTION(weigh),
    .butterflies = VECTOR_FUNCTION(butterflies),
    .scale = VECTOR_FUNCTION(scale),
    .direct = VECTOR_FUNCTION(direct),
};
#undef PAIR
#undef COMPLEX
