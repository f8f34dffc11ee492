/* scaled-dot of doubles whose products with their scales are beyond pairs of doubles: exact sums of
 * products of four doubles by MPFR. */
#include <math.h>
#include <mpfr.h>

#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "interp/bracket.h"
#include "interp/dot_internal.h"
#include "interp/poll.h"

enum {
    PRODUCT_BITS = 4 * 53,
    /* Products lie between 2^-4296 and 2^4096; sums of 2^63 of them. */
    SUM_BITS = 4096 + 4296 + 64,
};

struct job {
    enum type type;
    const struct dot_side *a, *b;
    char *out;
    struct poll *poll;
};

static double pair_at(const struct dot_side *side, int64_t batch, int64_t vector, int64_t k)
{
    return ((const double *)side->data)[batch * side->batch_stride + vector * side->vector_stride +
                                        k * side->depth_stride];
}

/* −1, 0, 1, and what is not finite as it is: IEEE's special values depend on no more. */
static double sign_of(double value)
{
    return isfinite(value) ? (value > 0) - (value < 0) : value;
}

static double element(const struct job *job, int64_t batch, int64_t i, int64_t j)
{
    mpfr_t product, sum;
    double special = 0;
    mpfr_init2(product, PRODUCT_BITS);
    mpfr_init2(sum, SUM_BITS);
    mpfr_set_zero(sum, 1);
    for (int64_t k = 0; k < job->a->depth; k += 2) {
        double factors[4] = {pair_at(job->a, batch, i, k), pair_at(job->a, batch, i, k + 1),
                             pair_at(job->b, batch, j, k), pair_at(job->b, batch, j, k + 1)};
        double signs = 1;
        mpfr_set_ui(product, 1, MPFR_RNDN);
        for (int f = 0; f < 4; f++) {
            signs *= sign_of(factors[f]);
            mpfr_mul_d(product, product, factors[f], MPFR_RNDN);
        }
        if (isfinite(signs)) {
            mpfr_add(sum, sum, product, MPFR_RNDN);
        } else {
            special += signs;
        }
    }
    double rounded = special != 0 ? float_round(job->type, isnan(special) ? NAN : special)
                                  : bracket_round_number(job->type, sum);
    mpfr_clears(product, sum, (mpfr_ptr)NULL);
    return rounded;
}

static void multiply_rows(void *context, int64_t begin, int64_t end)
{
    const struct job *job = context;
    int64_t columns = job->b->vectors;
    for (int64_t row = begin; row < end && !poll_stopped(job->poll); row++) {
        for (int64_t j = 0; j < columns; j++) {
            double value = element(job, row / job->a->vectors, row % job->a->vectors, j);
            float_store(job->type, &value, job->out + (row * columns + j) * type_bytes(job->type),
                        1);
        }
    }
}

void scaled_dot_exactly(enum type type, const struct dot_side *a, const struct dot_side *b,
                        void *out)
{
    struct job job = {type, a, b, out, poll_current()};
    pool_for(a->batches * a->vectors, 1, multiply_rows, &job);
}
