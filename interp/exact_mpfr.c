/* The last resort: functions by MPFR, rounded once to a format. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact_internal.h"

/* Precisions at which Ziv's loop gives up and takes the value as exact. */
enum { LAST_PRECISION = 1 << 14 };

static int mpfr_logistic(mpfr_ptr out, mpfr_srcptr in, mpfr_rnd_t round)
{
    mpfr_t denominator;
    mpfr_init2(denominator, mpfr_get_prec(out) + 10);
    mpfr_neg(denominator, in, MPFR_RNDN);
    mpfr_exp(denominator, denominator, MPFR_RNDN);
    mpfr_add_ui(denominator, denominator, 1, MPFR_RNDN);
    int inexact = mpfr_ui_div(out, 1, denominator, round);
    mpfr_clear(denominator);
    return inexact;
}

#define mpfr_rsqrt mpfr_rec_sqrt
static int (*const functions[])(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t) = {
#define EXACT(id, name) mpfr_##name,
#include "interp/exact.def"
};
#undef mpfr_rsqrt

double exact_from_mpfr(enum type type, mpfr_srcptr value, bool inexact)
{
    if (type != TYPE_F64) {
        /* To odd at 53 bits, then to the type: rounds once (float_round_to_odd). */
        mpfr_t cut;
        mpfr_init2(cut, 53);
        inexact |= mpfr_set(cut, value, MPFR_RNDZ) != 0;
        double odd = mpfr_get_d(cut, MPFR_RNDZ);
        inexact |= odd == 0 && !mpfr_zero_p(cut); /* below all doubles: e8m0 has no zero */
        if (inexact) {
            odd = odd == 0 ? copysign(0x1p-1022, odd)
                           : float_round_to_odd(odd, copysign(0x1p-1022, odd));
        }
        mpfr_clear(cut);
        return float_round(type, odd);
    }
    /* To odd at the value's own precision, then to f64: mpfr_get_d rounds once, subnormals too. */
    if (!inexact) {
        return mpfr_get_d(value, MPFR_RNDN);
    }
    mpfr_t odd;
    mpfr_init2(odd, mpfr_get_prec(value) + 1);
    mpfr_set(odd, value, MPFR_RNDN);
    if (mpfr_sgn(odd) < 0) {
        mpfr_nextbelow(odd);
    } else {
        mpfr_nextabove(odd);
    }
    double result = mpfr_get_d(odd, MPFR_RNDN);
    mpfr_clear(odd);
    return result;
}

/* logistic is composed, so Ziv's loop is ours: until 64 bits are certain. */
static double logistic_mpfr(enum type type, double x)
{
    mpfr_t argument, value, cut;
    mpfr_init2(argument, 53);
    mpfr_init2(cut, 64);
    mpfr_init2(value, 128);
    mpfr_set_d(argument, x, MPFR_RNDN);
    for (mpfr_prec_t precision = 128; precision < LAST_PRECISION; precision *= 2) {
        mpfr_set_prec(value, precision);
        mpfr_logistic(value, argument, MPFR_RNDN);
        if (mpfr_can_round(value, precision - 4, MPFR_RNDN, MPFR_RNDZ, 64)) {
            break;
        }
    }
    mpfr_set(cut, value, MPFR_RNDZ);
    double result = exact_from_mpfr(type, cut, true);
    mpfr_clears(argument, value, cut, (mpfr_ptr)0);
    return result;
}

double exact_unary_mpfr(enum exact_function function, enum type type, double x)
{
    if (function == EXACT_LOGISTIC) {
        return x == 0 ? float_round(type, 0.5) : logistic_mpfr(type, x);
    }
    mpfr_t argument, value;
    mpfr_init2(argument, 53);
    mpfr_init2(value, 64);
    mpfr_set_d(argument, x, MPFR_RNDN);
    int inexact = functions[function](value, argument, MPFR_RNDZ);
    double result = exact_from_mpfr(type, value, inexact != 0);
    mpfr_clears(argument, value, (mpfr_ptr)0);
    return result;
}
