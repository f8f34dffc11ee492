/* Twiddles, and the three ways to transform. */
#include "interp/fft_plan.h"

#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"

enum { DIRECT_LIMIT = 48, PRECISION = 160, TABLE_LIMIT = 512 };

/* --- twiddles --- */

static struct double_double from_mpfr(mpfr_t value)
{
    double high = mpfr_get_d(value, MPFR_RNDN);
    mpfr_sub_d(value, value, high, MPFR_RNDN);
    return (struct double_double){high, mpfr_get_d(value, MPFR_RNDN)};
}

/* exp(-2πi k / n) for k of the first octant, 0 ≤ 8k ≤ n. */
static struct dd_complex octant_root(int64_t k, int64_t n)
{
    mpfr_t angle, sine, cosine;
    mpfr_inits2(PRECISION, angle, sine, cosine, (mpfr_ptr)NULL);
    mpfr_const_pi(angle, MPFR_RNDN);
    mpfr_mul_si(angle, angle, (long)(2 * k), MPFR_RNDN);
    mpfr_div_si(angle, angle, (long)n, MPFR_RNDN);
    mpfr_sin_cos(sine, cosine, angle, MPFR_RNDN);
    struct dd_complex root = {from_mpfr(cosine), dd_negate(from_mpfr(sine))};
    mpfr_clears(angle, sine, cosine, (mpfr_ptr)NULL);
    return root;
}

/* A root from that of the first octant, by symmetry; exact where it is ±1 or ±i. */
static struct dd_complex unfold(const struct dd_complex *octant, int64_t k, int64_t n)
{
    bool upper = 2 * k > n; /* the conjugate's half */
    int64_t j = upper ? n - k : k;
    bool beyond = 4 * j > n; /* left of the imaginary axis */
    /* Angles count in units of 1 / (4n) turns, so that quarters are whole numbers. */
    int64_t angle = 4 * j;
    if (beyond) {
        angle = 2 * n - angle;
    }
    bool steep = 2 * angle > n;
    if (steep) {
        angle = n - angle;
    }
    struct dd_complex root = octant[angle];
    if (steep) {
        struct double_double swap = root.re;
        root.re = dd_negate(root.im);
        root.im = dd_negate(swap);
    }
    if (beyond) {
        root.re = dd_negate(root.re);
    }
    if (upper) {
        root.im = dd_negate(root.im);
    }
    return root;
}

static struct dd_complex multiply(const struct dd_complex *a, const struct dd_complex *b)
{
    return (struct dd_complex){
        dd_subtract(dd_multiply(a->re, b->re), dd_multiply(a->im, b->im)),
        dd_add(dd_multiply(a->re, b->im), dd_multiply(a->im, b->re)),
    };
}

/* The angles 0 … n / 2 in units of 1 / (4n) turns; large tables by products of two smaller ones. */
static struct dd_complex *octant_table(int64_t n)
{
    int64_t count = n / 2 + 1;
    struct dd_complex *table = malloc((size_t)count * sizeof *table);
    if (table == NULL) {
        return NULL;
    }
    int64_t block = 1;
    while (count > TABLE_LIMIT ? block * block < count : block < count) {
        block *= 2;
    }
    for (int64_t k = 0; k < block && k < count; k++) {
        table[k] = octant_root(k, 4 * n);
    }
    for (int64_t first = block; first < count; first += block) {
        struct dd_complex coarse = octant_root(first, 4 * n);
        for (int64_t k = 0; k < block && first + k < count; k++) {
            table[first + k] = multiply(&coarse, &table[k]);
        }
    }
    if (n % 3 == 0) {
        table[n / 3].im = dd_from(-0.5); /* the sine of 30 degrees, exactly */
    }
    return table;
}

/* exp(-2πi k / n), k < n. */
static struct dd_complex *roots_of_unity(int64_t n)
{
    struct dd_complex *octant = octant_table(n);
    struct dd_complex *roots = octant == NULL ? NULL : malloc((size_t)n * sizeof *roots);
    for (int64_t k = 0; roots != NULL && k < n; k++) {
        roots[k] = unfold(octant, k, n);
    }
    free(octant);
    return roots;
}

/* --- plans --- */

static bool is_power_of_two(int64_t n)
{
    return (n & (n - 1)) == 0;
}

/* Stockham's passes over n points; returns where the result is. */
static double *run_passes(const struct fft_plan *plan, const struct dd_complex *roots, int64_t n,
                          double *data, double *spare)
{
    for (int64_t half = n / 2, group = 1; half > 0; half /= 2, group *= 2) {
        plan->loops->butterflies(data, spare, roots, group, half, group);
        double *swap = data;
        data = spare;
        spare = swap;
    }
    return data;
}

static bool plan_bluestein(struct fft_plan *plan)
{
    int64_t n = plan->length;
    plan->padded = 1;
    while (plan->padded < 2 * n - 1) {
        plan->padded *= 2;
    }
    int64_t m = plan->padded;
    struct dd_complex *fine = roots_of_unity(2 * n);
    plan->padded_roots = roots_of_unity(m);
    plan->chirp = malloc((size_t)n * sizeof *plan->chirp);
    plan->kernel = malloc((size_t)m * sizeof *plan->kernel);
    double *work = calloc((size_t)m * 2 * DD_POINT, sizeof *work);
    bool ok = fine != NULL && plan->padded_roots != NULL && plan->chirp != NULL &&
              plan->kernel != NULL && work != NULL;
    int64_t square = 0; /* k² modulo 2n */
    for (int64_t k = 0; ok && k < n; k++) {
        plan->chirp[k] = fine[square];
        square = (square + 2 * k + 1) % (2 * n);
        for (int side = 0; side < (k > 0 ? 2 : 1); side++) {
            double *point = work + (side == 0 ? k : m - k) * DD_POINT;
            point[0] = plan->chirp[k].re.high;
            point[DD_LANES] = plan->chirp[k].re.low;
            point[2 * DD_LANES] = -plan->chirp[k].im.high;
            point[3 * DD_LANES] = -plan->chirp[k].im.low;
        }
    }
    if (ok) {
        double *result = run_passes(plan, plan->padded_roots, m, work, work + m * DD_POINT);
        double scale = 1 / (double)m; /* a power of two */
        for (int64_t k = 0; k < m; k++) {
            const double *point = result + k * DD_POINT;
            plan->kernel[k].re.high = point[0] * scale;
            plan->kernel[k].re.low = point[DD_LANES] * scale;
            plan->kernel[k].im.high = point[2 * DD_LANES] * scale;
            plan->kernel[k].im.low = point[3 * DD_LANES] * scale;
        }
    }
    free(fine);
    free(work);
    return ok;
}

/* The errors that fft_plan.h derives. */
static void bound_errors(struct fft_plan *plan)
{
    const double unit = 0x1p-98, n = (double)plan->length;
    int64_t points = fft_plan_points(plan);
    double passes = 0;
    while (INT64_C(1) << (int)passes < points) {
        passes++;
    }
    if (plan->direct) {
        plan->error = 2 * unit;
        plan->error_norm = 2 * unit * sqrt(n);
        return;
    }
    plan->error = plan->error_norm = passes * unit;
    if (plan->padded == 0) {
        return;
    }
    double largest = 0;
    for (int64_t k = 0; k < points; k++) {
        const struct dd_complex *factor = &plan->kernel[k];
        largest = fmax(largest, hypot(factor->re.high, factor->im.high));
    }
    double theta = passes * unit;
    double own = (2 * theta + 2 * unit) * 1.01 * largest * (double)points / sqrt(n) + unit;
    plan->error = own + 1.5 * (theta + unit);
    plan->error_norm = own + 1.5 * (theta + unit) * sqrt(n);
}

bool fft_plan_init(struct fft_plan *plan, int64_t length, struct error *err)
{
    *plan = (struct fft_plan){.length = length, .loops = double_double_loops_choose()};
    plan->direct = length <= DIRECT_LIMIT && !is_power_of_two(length);
    bool ok = length < INT64_C(1) << 40;
    if (ok && (plan->direct || is_power_of_two(length))) {
        plan->roots = roots_of_unity(length);
        ok = plan->roots != NULL;
    } else if (ok) {
        ok = plan_bluestein(plan);
    }
    if (!ok) {
        fft_plan_finish(plan);
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for an fft of length %lld",
                         (long long)length);
    }
    bound_errors(plan);
    return true;
}

void fft_plan_finish(struct fft_plan *plan)
{
    free(plan->roots);
    free(plan->chirp);
    free(plan->padded_roots);
    free(plan->kernel);
    *plan = (struct fft_plan){0};
}

int64_t fft_plan_points(const struct fft_plan *plan)
{
    return plan->padded > 0 ? plan->padded : plan->length;
}

/* Swaps real and imaginary parts: the transform of the swapped is the swapped inverse. */
static void swap_parts(double *data, int64_t points)
{
    for (int64_t i = 0; i < points; i++) {
        double *point = data + i * DD_POINT;
        for (int lane = 0; lane < 2 * DD_LANES; lane++) {
            double swap = point[lane];
            point[lane] = point[2 * DD_LANES + lane];
            point[2 * DD_LANES + lane] = swap;
        }
    }
}

double *fft_plan_run(const struct fft_plan *plan, double *data, double *spare)
{
    int64_t n = plan->length;
    if (plan->direct) {
        plan->loops->direct(data, spare, plan->roots, n);
        return spare;
    }
    if (plan->padded == 0) {
        return run_passes(plan, plan->roots, n, data, spare);
    }
    int64_t m = plan->padded;
    plan->loops->scale(data, plan->chirp, n);
    memset(data + n * DD_POINT, 0, (size_t)((m - n) * DD_POINT) * sizeof *data);
    double *result = run_passes(plan, plan->padded_roots, m, data, spare);
    plan->loops->scale(result, plan->kernel, m);
    swap_parts(result, m);
    result = run_passes(plan, plan->padded_roots, m, result, result == data ? spare : data);
    swap_parts(result, n);
    plan->loops->scale(result, plan->chirp, n);
    return result;
}
