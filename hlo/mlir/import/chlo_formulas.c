/* What CHLO's special functions are made of: published approximations in HLO's own operations.
 *
 * Gamma's relatives and Bessel's function are computed in f64 whatever the type, erfc and erf_inv
 * in f32 or f64. Where a function has a pole or no value follows CHLO; interp/special.h lists it.
 */
#include <math.h>
#include <string.h>

#include "hlo/mlir/import/chlo.h"

#define COUNT(list) (int)(sizeof(list) / sizeof *(list))

static struct instruction *number(struct formula *f, struct instruction *like, double value)
{
    return formula_number(f, like, value);
}
static struct instruction *add(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_ADD, a, b);
}
static struct instruction *add_number(struct formula *f, struct instruction *a, double b)
{
    return formula_binary(f, OP_ADD, a, number(f, a, b));
}
static struct instruction *sub(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_SUBTRACT, a, b);
}
static struct instruction *from_number(struct formula *f, double a, struct instruction *b)
{
    return formula_binary(f, OP_SUBTRACT, number(f, b, a), b);
}
static struct instruction *mul(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_MULTIPLY, a, b);
}
static struct instruction *scale(struct formula *f, struct instruction *a, double b)
{
    return formula_binary(f, OP_MULTIPLY, a, number(f, a, b));
}
static struct instruction *divide(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_DIVIDE, a, b);
}
static struct instruction *negate(struct formula *f, struct instruction *a)
{
    return formula_unary(f, OP_NEGATE, a);
}
static struct instruction *is(struct formula *f, struct instruction *a, enum direction direction,
                              double b)
{
    return formula_compare(f, direction, a, number(f, a, b));
}
static struct instruction *both(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_AND, a, b);
}
static struct instruction *choose(struct formula *f, struct instruction *which,
                                  struct instruction *on_true, struct instruction *on_false)
{
    return formula_select(f, which, on_true, on_false);
}
static struct instruction *is_integer(struct formula *f, struct instruction *a)
{
    return formula_compare(f, DIRECTION_EQ, a, formula_unary(f, OP_FLOOR, a));
}

/* Horner's rule, the highest power first. */
static struct instruction *polynomial(struct formula *f, struct instruction *x,
                                      const double *coefficients, int count)
{
    struct instruction *value = number(f, x, coefficients[0]);
    for (int i = 1; i < count; i++) {
        value = add_number(f, mul(f, value, x), coefficients[i]);
    }
    return value;
}

/* --- erfc ----------------------------------------------------------------------------------- */

/* exp(−a²): the square of a's leading half is exact. */
static struct instruction *gaussian(struct formula *f, struct instruction *a)
{
    const bool wide = a != NULL && a->shape->type == TYPE_F64;
    struct instruction *high = formula_unary(f, OP_REDUCE_PRECISION, a);
    if (high == NULL) {
        return NULL;
    }
    import_set_int(high, ATTR_EXPONENT_BITS, wide ? 11 : 8);
    import_set_int(high, ATTR_MANTISSA_BITS, wide ? 25 : 10);
    struct instruction *rest = mul(f, sub(f, a, high), add(f, a, high));
    struct instruction *main = formula_unary(f, OP_EXPONENTIAL, negate(f, mul(f, high, high)));
    return mul(f, main, formula_unary(f, OP_EXPONENTIAL, negate(f, rest)));
}

/* 1 − erf(x) for |x| < 1; beyond, exp(−x²) times the rational functions of S. L. Moshier, Cephes
 * (ndtr.c), of |x| up to 8 and above. */
static struct instruction *erfc_of(struct formula *f, struct instruction *const *x)
{
    static const double p[] = {
        2.46196981473530512524E-10, 5.64189564831068821977E-1, 7.46321056442269912687E0,
        4.86371970985681366614E1,   1.96520832956077098242E2,  5.26445194995477358631E2,
        9.34528527171957607540E2,   1.02755188689515710272E3,  5.57535335369399327526E2};
    static const double q[] = {1,
                               1.32281951154744992508E1,
                               8.67072140885989742329E1,
                               3.54937778887819891062E2,
                               9.75708501743205489753E2,
                               1.82390916687909736289E3,
                               2.24633760818710981792E3,
                               1.65666309194161350182E3,
                               5.57535340817727675546E2};
    static const double r[] = {5.64189583547755073984E-1, 1.27536670759978104416E0,
                               5.01905042251180477414E0,  6.16021097993053585195E0,
                               7.40974269950448939160E0,  2.97886665372100240670E0};
    static const double s[] = {1,
                               2.26052863220117276590E0,
                               9.39603524938001434673E0,
                               1.20489539808096656605E1,
                               1.70814450747565897222E1,
                               9.60896809063285878198E0,
                               3.36907645100081516050E0};
    struct instruction *size = formula_unary(f, OP_ABS, x[0]);
    struct instruction *a =
        formula_binary(f, OP_MINIMUM, size, number(f, size, 30)); /* beyond, it is 0 or 2 */
    struct instruction *near =
        divide(f, polynomial(f, a, p, COUNT(p)), polynomial(f, a, q, COUNT(q)));
    struct instruction *far =
        divide(f, polynomial(f, a, r, COUNT(r)), polynomial(f, a, s, COUNT(s)));
    struct instruction *ratio = choose(f, is(f, a, DIRECTION_LT, 8), near, far);
    struct instruction *tail = mul(f, gaussian(f, a), ratio);
    struct instruction *outside =
        choose(f, is(f, x[0], DIRECTION_LT, 0), from_number(f, 2, tail), tail);
    struct instruction *inside = from_number(f, 1, formula_unary(f, OP_ERF, x[0]));
    return choose(f, is(f, size, DIRECTION_LT, 1), inside, outside);
}

/* --- erf_inv -------------------------------------------------------------------------------- */

/* M. Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2011): polynomials of
 * w = −log(1 − x²), or of its root, times x. */
static const double giles_single_near[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                           -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                           -0.00417768164,  0.246640727,    1.50140941};
static const double giles_single_far[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                          -0.00367342844,  0.00573950773,  -0.0076224613,
                                          0.00943887047,   1.00167406,     2.83297682};
static const double giles_double_near[] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
    1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
    6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
    2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
    4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
    0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
    0.24015818242558961693,     1.6536545626831027356};
static const double giles_double_middle[] = {
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
    1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
    2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
    6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
    -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
    3.0838856104922207635};
static const double giles_double_far[] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
    -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
    2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
    -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
    7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
    1.0103004648645343977,      4.8499064014085844221};

static struct instruction *erf_inv(struct formula *f, struct instruction *const *x)
{
    struct instruction *size = formula_unary(f, OP_ABS, x[0]);
    struct instruction *above = add_number(f, size, 1), *below = from_number(f, 1, size);
    struct instruction *near_zero =
        formula_unary(f, OP_LOG_PLUS_ONE, negate(f, mul(f, size, size)));
    struct instruction *near_one = formula_unary(f, OP_LOG, mul(f, above, below));
    struct instruction *w =
        negate(f, choose(f, is(f, size, DIRECTION_LT, 0.5), near_zero, near_one));
    struct instruction *root = formula_unary(f, OP_SQRT, w);
    struct instruction *factor;
    if (w != NULL && w->shape->type == TYPE_F64) {
        struct instruction *near =
            polynomial(f, add_number(f, w, -3.125), giles_double_near, COUNT(giles_double_near));
        struct instruction *middle = polynomial(f, add_number(f, root, -3.25), giles_double_middle,
                                                COUNT(giles_double_middle));
        struct instruction *far =
            polynomial(f, add_number(f, root, -5), giles_double_far, COUNT(giles_double_far));
        factor = choose(f, is(f, w, DIRECTION_LT, 6.25), near,
                        choose(f, is(f, w, DIRECTION_LT, 16), middle, far));
    } else {
        struct instruction *near =
            polynomial(f, add_number(f, w, -2.5), giles_single_near, COUNT(giles_single_near));
        struct instruction *far =
            polynomial(f, add_number(f, root, -3), giles_single_far, COUNT(giles_single_far));
        factor = choose(f, is(f, w, DIRECTION_LT, 5), near, far);
    }
    struct instruction *infinite = scale(f, x[0], INFINITY);
    return choose(f, is(f, size, DIRECTION_EQ, 1), infinite, mul(f, factor, x[0]));
}

/* --- lgamma, digamma ------------------------------------------------------------------------ */

/* log Γ(z + 1) for z ≥ −1/2: C. Lanczos, "A precision approximation of the gamma function", SIAM
 * J. Numer. Anal. 1 (1964), with g = 7 and the nine coefficients of P. Godfrey. */
static struct instruction *lanczos(struct formula *f, struct instruction *z)
{
    static const double g = 7, half_log_two_pi = 0.91893853320467274178;
    static const double coefficients[] = {
        676.520368121885098567009190444019, -1259.13921672240287047156078755283,
        771.3234287776530788486528258894,   -176.61502916214059906584551354,
        12.507343278686904814458936853,     -0.13857109526572011689554707,
        9.984369578019570859563e-6,         1.50563273514931155834e-7};
    struct instruction *sum = number(f, z, 0.99999999999980993227684700473478);
    for (int i = 0; i < COUNT(coefficients); i++) {
        struct instruction *quotient =
            divide(f, number(f, z, coefficients[i]), add_number(f, z, i + 1));
        sum = add(f, sum, quotient);
    }
    struct instruction *t = add_number(f, z, g + 0.5);
    struct instruction *power = mul(f, add_number(f, z, 0.5), formula_unary(f, OP_LOG, t));
    struct instruction *value = add(f, sub(f, power, t), formula_unary(f, OP_LOG, sum));
    return add_number(f, value, half_log_two_pi);
}

/* By reflection below 1/2: log |Γ(x)| = log(π / |sin(πx)|) − log Γ(1 − x), where the angle is that
 * of the nearest integer. */
static struct instruction *lgamma_of(struct formula *f, struct instruction *x)
{
    static const double pi = 3.14159265358979323846;
    struct instruction *reflects = is(f, x, DIRECTION_LT, 0.5);
    struct instruction *z = choose(f, reflects, negate(f, x), add_number(f, x, -1));
    struct instruction *plain = lanczos(f, z);
    struct instruction *off = sub(f, x, formula_unary(f, OP_ROUND_NEAREST_EVEN, x));
    struct instruction *sine = formula_unary(f, OP_SINE, scale(f, off, pi));
    struct instruction *height = formula_unary(f, OP_LOG, formula_unary(f, OP_ABS, sine));
    struct instruction *reflected = sub(f, from_number(f, log(pi), height), plain);
    struct instruction *value = choose(f, reflects, reflected, plain);
    struct instruction *infinite = is(f, formula_unary(f, OP_ABS, x), DIRECTION_EQ, INFINITY);
    return choose(f, infinite, number(f, x, INFINITY), value);
}

static struct instruction *lgamma_formula(struct formula *f, struct instruction *const *x)
{
    return lgamma_of(f, x[0]);
}

/* Of y ≥ 1/2: ten steps up (DLMF 5.5.2), then the asymptotic expansion (DLMF 5.11.2). Below 1/2 by
 * reflection (DLMF 5.5.4). */
static struct instruction *digamma_of(struct formula *f, struct instruction *x)
{
    static const double pi = 3.14159265358979323846;
    /* B_2j / 2j, the highest first */
    static const double series[] = {-3617.0 / 8160, 1.0 / 12,  -691.0 / 32760, 1.0 / 132,
                                    -1.0 / 240,     1.0 / 252, -1.0 / 120,     1.0 / 12};
    struct instruction *reflects = is(f, x, DIRECTION_LT, 0.5);
    struct instruction *y = choose(f, reflects, from_number(f, 1, x), x);
    struct instruction *steps = divide(f, number(f, y, 1), y);
    for (int k = 1; k < 10; k++) {
        struct instruction *term = divide(f, number(f, y, 1), add_number(f, y, k));
        steps = add(f, steps, term);
    }
    struct instruction *s = add_number(f, y, 10);
    struct instruction *inverse = divide(f, number(f, s, 1), s);
    struct instruction *square = mul(f, inverse, inverse);
    struct instruction *tail = mul(f, square, polynomial(f, square, series, COUNT(series)));
    struct instruction *value = sub(f, formula_unary(f, OP_LOG, s), scale(f, inverse, 0.5));
    value = sub(f, sub(f, value, tail), steps);
    struct instruction *off = sub(f, x, formula_unary(f, OP_ROUND_NEAREST_EVEN, x));
    struct instruction *tangent = formula_unary(f, OP_TAN, scale(f, off, pi));
    struct instruction *reflected = sub(f, value, divide(f, number(f, tangent, pi), tangent));
    struct instruction *pole = both(f, is(f, x, DIRECTION_LE, 0), is_integer(f, x));
    return choose(f, pole, number(f, x, NAN), choose(f, reflects, reflected, value));
}

static struct instruction *digamma(struct formula *f, struct instruction *const *x)
{
    return digamma_of(f, x[0]);
}

/* --- zeta, polygamma ------------------------------------------------------------------------ */

/* zeta(s, q) for s > 1 and q > 0 by Euler–Maclaurin's formula with ten terms and twelve corrections
 * (F. Johansson, "Rigorous high-precision computation of the Hurwitz zeta function and its
 * derivatives", 2015). What is 0 times something stays 0. */
static struct instruction *zeta_positive(struct formula *f, struct instruction *s,
                                         struct instruction *q)
{
    enum { TERMS = 10 };
    /* (2j)! / B_2j */
    static const double factors[] = {12.0,
                                     -720.0,
                                     30240.0,
                                     -1209600.0,
                                     47900160.0,
                                     -1892437580.3183791606,
                                     74724249600.0,
                                     -2950130727918.164224,
                                     116467828143500.67249,
                                     -4597978722407472.6105,
                                     181521054019435467.73,
                                     -7166165256175667011.3};
    struct instruction *minus_s = negate(f, s);
    struct instruction *sum = formula_binary(f, OP_POWER, q, minus_s);
    for (int k = 1; k < TERMS; k++) {
        struct instruction *base = add_number(f, q, k);
        sum = add(f, sum, formula_binary(f, OP_POWER, base, minus_s));
    }
    struct instruction *a = add_number(f, q, TERMS);
    struct instruction *power = formula_binary(f, OP_POWER, a, minus_s);
    struct instruction *tail =
        add(f, divide(f, mul(f, power, a), add_number(f, s, -1)), scale(f, power, 0.5));
    struct instruction *square = mul(f, a, a);
    struct instruction *term = divide(f, mul(f, power, s), a);
    for (int j = 1; j <= COUNT(factors); j++) {
        tail = add(f, tail, divide(f, term, number(f, term, factors[j - 1])));
        struct instruction *next = mul(f, add_number(f, s, 2 * j - 1), add_number(f, s, 2 * j));
        term = mul(f, term, divide(f, next, square));
    }
    struct instruction *nothing = is(f, power, DIRECTION_EQ, 0);
    return choose(f, nothing, sum, add(f, sum, tail));
}

/* Of q < 0 with an integer s, where f = q − floor(q): zeta(s, f) + (−1)^s (zeta(s, 1 − f) −
 * zeta(s, 1 + |q|)). */
static struct instruction *zeta_of(struct formula *f, struct instruction *s, struct instruction *q)
{
    struct instruction *fraction = sub(f, q, formula_unary(f, OP_FLOOR, q));
    struct instruction *negative = is(f, q, DIRECTION_LE, 0);
    struct instruction *first = zeta_positive(f, s, choose(f, negative, fraction, q));
    struct instruction *below =
        sub(f, zeta_positive(f, s, from_number(f, 1, fraction)),
            zeta_positive(f, s, add_number(f, formula_unary(f, OP_ABS, q), 1)));
    struct instruction *even =
        is(f, formula_binary(f, OP_REMAINDER, s, number(f, s, 2)), DIRECTION_EQ, 0);
    struct instruction *reflected = choose(f, even, add(f, first, below), sub(f, first, below));
    struct instruction *nan = number(f, s, NAN), *infinity = number(f, s, INFINITY);
    struct instruction *at_pole = choose(f, even, infinity, nan);
    struct instruction *of_negative = choose(f, is_integer(f, q), at_pole, reflected);
    of_negative = choose(f, is_integer(f, s), of_negative, nan);
    struct instruction *value = choose(f, negative, of_negative, first);
    value = choose(f, is(f, s, DIRECTION_LT, 1), nan, value);
    struct instruction *harmonic =
        both(f, is(f, s, DIRECTION_EQ, 1), formula_compare(f, DIRECTION_EQ, q, q));
    return choose(f, harmonic, infinity, value);
}

static struct instruction *zeta(struct formula *f, struct instruction *const *x)
{
    return zeta_of(f, x[0], x[1]);
}

/* (−1)^(n + 1) n! zeta(n + 1, x) (DLMF 25.11.12), by logarithms where the product leaves the range.
 */
static struct instruction *polygamma(struct formula *f, struct instruction *const *x)
{
    struct instruction *n = x[0], *next = add_number(f, n, 1);
    struct instruction *log_factorial = lgamma_of(f, next);
    struct instruction *series = zeta_of(f, next, x[1]);
    struct instruction *product = mul(f, formula_unary(f, OP_EXPONENTIAL, log_factorial), series);
    struct instruction *by_logs =
        formula_unary(f, OP_EXPONENTIAL, add(f, log_factorial, formula_unary(f, OP_LOG, series)));
    struct instruction *size = formula_unary(f, OP_ABS, product);
    struct instruction *in_range =
        both(f, is(f, size, DIRECTION_GT, 0x1p-1000), is(f, size, DIRECTION_LT, INFINITY));
    struct instruction *positive = is(f, series, DIRECTION_GT, 0);
    struct instruction *by_range =
        choose(f, in_range, product, choose(f, positive, by_logs, product));
    struct instruction *parity = formula_binary(f, OP_REMAINDER, n, number(f, n, 2));
    struct instruction *sign = add_number(f, scale(f, parity, 2), -1);
    struct instruction *value = mul(f, sign, by_range);
    value = choose(f, is(f, n, DIRECTION_EQ, 0), digamma_of(f, x[1]), value);
    struct instruction *natural = both(f, is(f, n, DIRECTION_GE, 0), is_integer(f, n));
    return choose(f, natural, value, number(f, n, NAN));
}

/* --- bessel_i1e ----------------------------------------------------------------------------- */

/* Σ' cₖ Tₖ(y / 2) by Clenshaw's recurrence, the highest first. */
static struct instruction *chebyshev(struct formula *f, struct instruction *y,
                                     const double *coefficients, int count)
{
    struct instruction *zero = number(f, y, 0), *b0 = zero, *b1 = zero, *b2 = zero;
    for (int i = 0; i < count; i++) {
        b2 = b1;
        b1 = b0;
        b0 = add_number(f, sub(f, mul(f, y, b1), b2), coefficients[i]);
    }
    return scale(f, sub(f, b0, b2), 0.5);
}

/* The expansions of S. L. Moshier, Cephes (i1.c), of |x| up to 8 and above. */
static struct instruction *bessel_i1e(struct formula *f, struct instruction *const *x)
{
    static const double near[] = {
        2.77791411276104639959E-18,  -2.11142121435816608115E-17, 1.55363195773620046921E-16,
        -1.10559694773538630805E-15, 7.60068429473540693410E-15,  -5.04218550472791168711E-14,
        3.22379336594557470981E-13,  -1.98397439776494371520E-12, 1.17361862988909016308E-11,
        -6.66348972350202774223E-11, 3.62559028155211703701E-10,  -1.88724975172282928790E-9,
        9.38153738649577178388E-9,   -4.44505912879632808065E-8,  2.00329475355213526229E-7,
        -8.56872026469545474066E-7,  3.47025130813767847674E-6,   -1.32731636560394358279E-5,
        4.78156510755005422638E-5,   -1.61760815825896745588E-4,  5.12285956168575772895E-4,
        -1.51357245063125314899E-3,  4.15642294431288815669E-3,   -1.05640848946261981558E-2,
        2.47264490306265168283E-2,   -5.29459812080949914269E-2,  1.02643658689847095384E-1,
        -1.76416518357834055153E-1,  2.52587186443633654823E-1};
    static const double far[] = {
        7.51729631084210481353E-18,  4.41434832307170791151E-18,  -4.65030536848935832153E-17,
        -3.20952592199342395980E-17, 2.96262899764595013876E-16,  3.30820231092092828324E-16,
        -1.88035477551078244854E-15, -3.81440307243700780478E-15, 1.04202769841288027642E-14,
        4.27244001671195135429E-14,  -2.10154184277266431302E-14, -4.08355111109219731823E-13,
        -7.19855177624590851209E-13, 2.03562854414708950722E-12,  1.41258074366137813316E-11,
        3.25260358301548823856E-11,  -1.89749581235054123450E-11, -5.58974346219658380687E-10,
        -3.83538038596423702205E-9,  -2.63146884688951950684E-8,  -2.51223623787020892529E-7,
        -3.88256480887769039346E-6,  -1.10588938762623716291E-4,  -9.76109749136146840777E-3,
        7.78576235018280120474E-1};
    struct instruction *z = formula_unary(f, OP_ABS, x[0]);
    struct instruction *small =
        mul(f, z, chebyshev(f, add_number(f, scale(f, z, 0.5), -2), near, COUNT(near)));
    struct instruction *inverse = divide(f, number(f, z, 32), z);
    struct instruction *large = divide(f, chebyshev(f, add_number(f, inverse, -2), far, COUNT(far)),
                                       formula_unary(f, OP_SQRT, z));
    struct instruction *value = choose(f, is(f, z, DIRECTION_LE, 8), small, large);
    return mul(f, formula_unary(f, OP_SIGN, x[0]), value);
}

/* --- the table ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    struct instruction *(*decompose)(struct formula *f, struct instruction *const *x);
    bool in_f64; /* always; else f32 does for narrower types */
} rows[] = {
    {"bessel_i1e", bessel_i1e, true},
    {"digamma", digamma, true},
    {"erf_inv", erf_inv, false},
    {"erfc", erfc_of, false},
    {"lgamma", lgamma_formula, true},
    {"polygamma", polygamma, true},
    {"zeta", zeta, true},
};

bool chlo_computes_in(const char *name, enum type type, enum type *compute)
{
    *compute = type == TYPE_F64 ? TYPE_F64 : TYPE_F32;
    for (int i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0 && rows[i].in_f64) {
            *compute = TYPE_F64;
        }
    }
    return *compute == type;
}

struct instruction *chlo_decompose(struct formula *f, const char *name,
                                   struct instruction *const *parameters)
{
    for (int i = 0; i < COUNT(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return rows[i].decompose(f, parameters);
        }
    }
    import_refuse(f->scope, f->op, "has no decomposition");
    return NULL;
}
