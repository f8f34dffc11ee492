/* Complex functions in intervals of MPFR numbers, at growing precision until all of an interval
 * rounds alike (Ziv's strategy).
 *
 * That ends unless a part lies exactly on a rounding boundary, or is zero, and no exact arithmetic
 * shows it. By the theorems of Lindemann and Weierstrass and of Baker the functions of exact.def
 * have, at arguments that are doubles, transcendental parts but for zeros on the axes, where the
 * formulas give exact zeros, and for roots. A root that is exact comes out exact (its intervals are
 * points), and no root has 54 significant bits: √z, ∛z and their inverses would give z more
 * than 53. What is left are powers with real exponents: those of numbers on the axes and diagonals,
 * whose angles are exact eighths of a turn, and of exponents n / 2^k, for which roots are
 * multiplied up exactly. Zeros of any other power would contradict Baker's theorem. */
#include <math.h>

#include "hlo/floats.h"
#include "interp/exact_internal.h"
#include "interp/exact_enclosure.h"

#define REAL enclosure_value
#define NAME(x) wide_##x
#define R(x) enclosure_##x
#define WORK_PARAMETER struct enclosure_work *work,
#define WORK(x) work, x
#define NONE enclosure_none(work)
#include "interp/exact_complex_formulas.h"

enum { FIRST_PRECISION = 128, LAST_PRECISION = 1 << 15 };

/* --- powers with real exponents --- */

/* z = size * (√½)^diagonal at eighths / 8 of a turn: the axes and diagonals. */
struct eighth {
    bool is, unit, diagonal;
    double size; /* larger part */
    int eighths;
};

static struct eighth eighth_of(struct exact_parts z)
{
    const double x = fabs(z.re), y = fabs(z.im);
    struct eighth out = {.is = x == 0 || y == 0 || x == y, .diagonal = x == y};
    out.size = x > y ? x : y;
    out.unit = out.size == 1 && !out.diagonal;
    const int quarter = out.diagonal ? 1 : x == 0 ? 2 : 0; /* in the first quadrant */
    const int upper = signbit(z.re) ? 4 - quarter : quarter;
    out.eighths = signbit(z.im) ? -upper : upper;
    return out;
}

bool exact_complex_power_is_special(struct exact_parts a, struct exact_parts b)
{
    const struct eighth base = eighth_of(a);
    return base.is && (b.im == 0 || base.unit);
}

/* |a|^b.re e^(−b.im arg a), at b.re times the angle. */
static struct wide_complex power_of_eighth(struct enclosure_work *work, struct eighth base,
                                           struct exact_parts b)
{
    enclosure_value size;
    const enclosure_value sin = enclosure_sin_eighths(work, b.re, base.eighths);
    const enclosure_value cos = enclosure_cos_eighths(work, b.re, base.eighths);
    const enclosure_value length = enclosure_of(work, base.size);
    if (b.im != 0) { /* |a| is 1 */
        const enclosure_value angle =
            enclosure_atan2(work, enclosure_of(work, base.eighths % 4 == 0 ? 0 : 1),
                            enclosure_of(work, base.eighths % 4 == 0 && base.eighths != 0 ? -1
                                               : base.eighths == 0                        ? 1
                                                                                          : 0));
        const enclosure_value turned = enclosure_mul(
            work, enclosure_with_sign(work, angle, base.eighths < 0), enclosure_of(work, -b.im));
        size = enclosure_exp(work, turned);
    } else if (!base.diagonal) {
        size = enclosure_power(work, length, b.re);
    } else {
        const enclosure_value square = enclosure_scale(work, enclosure_sqr(work, length), 1);
        if (fmod(b.re, 2) == 1 || fmod(b.re, 2) == -1) {
            /* Both parts are |a|^b √½, which may be exact. */
            const enclosure_value even =
                enclosure_scale(work, enclosure_power(work, square, b.re), -1);
            const enclosure_value part = enclosure_sqrt(work, even);
            return wide_make(enclosure_with_sign(work, part, enclosure_is_negative(cos)),
                             enclosure_with_sign(work, part, enclosure_is_negative(sin)));
        }
        size = enclosure_sqrt(work, enclosure_power(work, square, b.re));
    }
    return wide_make(enclosure_mul(work, size, cos), enclosure_mul(work, size, sin));
}

/* b = n / 2^k with few bits: n in *whole, k returned; −1 if it is not. */
static int small_fraction(double b, int *whole)
{
    for (int k = 0; k <= 6; k++) {
        const double scaled = ldexp(b, k);
        if (scaled == rint(scaled)) {
            *whole = fabs(scaled) <= 256 ? (int)scaled : 0;
            return fabs(scaled) <= 256 ? k : -1;
        }
    }
    return -1;
}

static void store(struct enclosure *to, enclosure_value from)
{
    mpfr_set(to->lo, from->lo, MPFR_RNDD);
    mpfr_set(to->hi, from->hi, MPFR_RNDU);
}

/* a^(n / 2^k) by k square roots and products; points where all is exact. */
static struct wide_complex power_by_roots(struct enclosure_work *work, struct exact_parts a,
                                          int whole, int roots)
{
    /* What lives through the loops has slots of its own. */
    struct enclosure kept[4];
    for (int i = 0; i < 4; i++) {
        mpfr_inits2(work->precision, kept[i].lo, kept[i].hi, (mpfr_ptr)0);
    }
    const int mark = work->used;
    struct wide_complex base = wide_make(enclosure_of(work, a.re), enclosure_of(work, a.im));
    store(&kept[0], base.re);
    store(&kept[1], base.im);
    base = wide_make(&kept[0], &kept[1]);
    for (int i = 0; i < roots; i++) {
        const struct wide_complex root = wide_sqrt(work, base.re, base.im);
        store(&kept[0], root.re);
        store(&kept[1], root.im);
        work->used = mark;
    }
    struct wide_complex power = wide_make(&kept[2], &kept[3]);
    store(&kept[2], enclosure_of(work, 1));
    store(&kept[3], enclosure_of(work, 0));
    for (unsigned left = (unsigned)(whole < 0 ? -whole : whole); left != 0; left >>= 1) {
        if ((left & 1) != 0) {
            const enclosure_value re = wide_product_re(work, power, base);
            const enclosure_value im = wide_product_im(work, power, base);
            store(&kept[2], re);
            store(&kept[3], im);
            work->used = mark;
        }
        const enclosure_value re = wide_product_re(work, base, base);
        const enclosure_value im = wide_product_im(work, base, base);
        store(&kept[0], re);
        store(&kept[1], im);
        work->used = mark;
    }
    if (whole < 0) {
        const enclosure_value square =
            enclosure_add(work, enclosure_sqr(work, power.re), enclosure_sqr(work, power.im));
        power = wide_make(enclosure_div(work, power.re, square),
                          enclosure_div(work, enclosure_neg(work, power.im), square));
    }
    struct wide_complex out = wide_make(enclosure_neg(work, enclosure_neg(work, power.re)),
                                        enclosure_neg(work, enclosure_neg(work, power.im)));
    for (int i = 0; i < 4; i++) {
        mpfr_clears(kept[i].lo, kept[i].hi, (mpfr_ptr)0);
    }
    return out;
}

static struct wide_complex power(struct enclosure_work *work, struct exact_parts a,
                                 struct exact_parts b)
{
    int whole;
    if (exact_complex_power_is_special(a, b)) {
        return power_of_eighth(work, eighth_of(a), b);
    }
    const int roots =
        b.im == 0 && work->precision > 2 * FIRST_PRECISION ? small_fraction(b.re, &whole) : -1;
    return roots >= 0 ? power_by_roots(work, a, whole, roots) : wide_power(work, a, b);
}

/* --- rounding --- */

/* Whether all of the interval rounds alike. At the last precision it does: a boundary within
 * 2^-32000 of it is the value, as far as anybody can tell. */
static bool decided(enum type part, enclosure_value a, bool last, double *out)
{
    if (mpfr_nan_p(a->lo) || mpfr_nan_p(a->hi)) {
        *out = NAN;
        return last;
    }
    const double low = exact_from_mpfr(part, a->lo, false);
    *out = exact_from_mpfr(part, a->hi, false);
    if (last && low != *out) {
        mpfr_t middle;
        mpfr_init2(middle, 64);
        mpfr_add(middle, a->lo, a->hi, MPFR_RNDN);
        mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
        *out = exact_from_mpfr(part, middle, false);
        mpfr_clear(middle);
    }
    return last || (low == *out && signbit(low) == signbit(*out));
}

/* A unary function, or a binary one of a and b where b is not NULL. */
static struct exact_parts by_intervals(int function, enum type part, struct exact_parts a,
                                       const struct exact_parts *b, int wanted)
{
    struct exact_parts out = {NAN, NAN};
    for (mpfr_prec_t precision = FIRST_PRECISION; precision <= LAST_PRECISION; precision *= 2) {
        struct enclosure_work work;
        struct wide_complex value;
        if (!enclosure_work_init(&work, precision)) {
            break;
        }
        if (b == NULL) {
            value = wide_function(&work, (enum exact_function)function, a.re, a.im);
        } else if (function == EXACT_POWER) {
            value = power(&work, a, *b);
        } else {
            value = wide_atan2_complex(&work, a, *b);
        }
        const bool last = 2 * precision > LAST_PRECISION;
        if (enclosure_work_is_full(&work)) { /* never: nothing can be believed */
            value = wide_make(enclosure_none(&work), enclosure_none(&work));
        }
        bool done = (wanted & EXACT_RE) == 0 || decided(part, value.re, last, &out.re);
        done &= (wanted & EXACT_IM) == 0 || decided(part, value.im, last, &out.im);
        enclosure_work_finish(&work);
        if (done) {
            break;
        }
    }
    return out;
}

double exact_complex_mpfr_sign(enum type part, double numerator, struct exact_parts z)
{
    double out = NAN;
    bool done = false;
    for (mpfr_prec_t precision = FIRST_PRECISION; !done && precision <= LAST_PRECISION;
         precision *= 2) {
        struct enclosure_work work;
        if (!enclosure_work_init(&work, precision)) {
            break;
        }
        const enclosure_value size =
            enclosure_hypot(&work, enclosure_of(&work, z.re), enclosure_of(&work, z.im));
        const enclosure_value value = enclosure_div(&work, enclosure_of(&work, numerator), size);
        done = decided(part, value, 2 * precision > LAST_PRECISION, &out);
        enclosure_work_finish(&work);
    }
    return out;
}

struct exact_parts exact_complex_mpfr(enum exact_function function, enum type part,
                                      struct exact_parts z, int wanted)
{
    return by_intervals((int)function, part, z, NULL, wanted);
}

struct exact_parts exact_complex_mpfr_binary(enum exact_binary_function function, enum type part,
                                             struct exact_parts a, struct exact_parts b, int wanted)
{
    return by_intervals((int)function, part, a, &b, wanted);
}
