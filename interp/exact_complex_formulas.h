/* Complex functions of exact finite arguments in terms of a real arithmetic that bounds its own
 * errors: included once for balls (exact_ball.h) and once for intervals (exact_enclosure.h). The
 * includer defines
 *   REAL        a real value with its bound
 *   NAME(x)     this inclusion's name of a function
 *   R(x)        the name of an operation, and WORK_PARAMETER, WORK what it takes besides
 *   NONE        a value of which nothing is known
 *
 * Terms are arranged so that they cancel only where the result itself is nearly zero. Zero parts
 * keep their signs, which tell the side of a branch cut (C99 Annex G). Inverse functions after
 * W. Kahan, "Branch cuts for complex elementary functions", 1987. */

#ifdef REAL

struct NAME(complex) {
    REAL re, im;
};
#define COMPLEX struct NAME(complex)

#define OF(x) R(of)(WORK(x))
#define NEG(a) R(neg)(WORK(a))
#define ADD(a, b) R(add)(WORK(a), b)
#define SUB(a, b) R(sub)(WORK(a), b)
#define MUL(a, b) R(mul)(WORK(a), b)
#define DIV(a, b) R(div)(WORK(a), b)
#define SQR(a) R(sqr)(WORK(a))
#define SCALE(a, power) R(scale)(WORK(a), power)
#define WITH_SIGN(a, negative) R(with_sign)(WORK(a), negative)

static COMPLEX NAME(make)(REAL re, REAL im)
{
    return (COMPLEX){re, im};
}

/* --- exponentials --- */

/* e^x cos y + i e^x sin y. */
static COMPLEX NAME(exp)(WORK_PARAMETER REAL x, REAL y)
{
    const REAL power = R(exp)(WORK(x));
    return NAME(make)(MUL(power, R(cos)(WORK(y))), MUL(power, R(sin)(WORK(y))));
}

/* The real part is expm1(x) cos y − 2 sin²(y/2). */
static COMPLEX NAME(expm1)(WORK_PARAMETER REAL x, REAL y)
{
    const REAL half = R(sin)(WORK(SCALE(y, -1)));
    const REAL first = MUL(R(expm1)(WORK(x)), R(cos)(WORK(y)));
    const REAL im = MUL(R(exp)(WORK(x)), R(sin)(WORK(y)));
    return NAME(make)(R(is_zero)(y) ? first : SUB(first, SCALE(SQR(half), 1)), im);
}

/* sinh x cos y + i cosh x sin y. */
static COMPLEX NAME(sinh)(WORK_PARAMETER REAL x, REAL y)
{
    return NAME(make)(MUL(R(sinh)(WORK(x)), R(cos)(WORK(y))),
                      MUL(R(cosh)(WORK(x)), R(sin)(WORK(y))));
}

/* cosh x cos y + i sinh x sin y. */
static COMPLEX NAME(cosh)(WORK_PARAMETER REAL x, REAL y)
{
    return NAME(make)(MUL(R(cosh)(WORK(x)), R(cos)(WORK(y))),
                      MUL(R(sinh)(WORK(x)), R(sin)(WORK(y))));
}

/* (sinh x cosh x + i sin y cos y) / (sinh²x + cos²y). Far out that is ±1 + 4i sin y cos y e^-2|x|
 * within 4 e^-2|x|, relatively: 2^-860 beyond 300. */
static COMPLEX NAME(tanh)(WORK_PARAMETER REAL x, REAL y, double x_value)
{
    const REAL sin = R(sin)(WORK(y)), cos = R(cos)(WORK(y));
    const REAL turned = MUL(sin, cos);
    if (fabs(x_value) > 300) {
        const REAL power = R(exp)(WORK(SCALE(WITH_SIGN(x, true), 1)));
        const REAL one = OF(x_value < 0 ? -1 : 1);
        return NAME(make)(R(near)(WORK(one), 850),
                          R(near)(WORK(SCALE(MUL(turned, power), 2)), 850));
    }
    const REAL sinh = R(sinh)(WORK(x)), cosh = R(cosh)(WORK(x));
    const REAL square = ADD(SQR(sinh), SQR(cos));
    return NAME(make)(DIV(MUL(sinh, cosh), square), DIV(turned, square));
}

/* 1 / (1 + w), w = exp(−z): (1 + conj w) / |1 + w|², where |1 + w|² = expm1(−x)² + 4 e^-x cos²(y/2)
 * does not cancel. Far out on the left it is exp(z) to within e^2x, in each part to 2^-300,
 * relatively, since |cos y| and |sin y| of doubles are above 2^-1100. */
static COMPLEX NAME(logistic)(WORK_PARAMETER REAL x, REAL y, double x_value)
{
    if (x_value < -1000) {
        const COMPLEX power = NAME(exp)(WORK(x), y);
        return NAME(make)(R(near)(WORK(power.re), 300), R(near)(WORK(power.im), 300));
    }
    const REAL power = R(exp)(WORK(NEG(x)));
    const REAL half = SQR(R(cos)(WORK(SCALE(y, -1))));
    const REAL square = ADD(SQR(R(expm1)(WORK(NEG(x)))), SCALE(MUL(half, power), 2));
    const REAL re = ADD(OF(1), MUL(power, R(cos)(WORK(y))));
    const REAL im = MUL(power, R(sin)(WORK(y)));
    return NAME(make)(DIV(re, square), DIV(im, square));
}

/* --- logarithms and roots --- */

/* log|z| + i arg z for z = shift + x + iy: by |z|² − 1 where |z| is near 1, which `near` says. */
static COMPLEX NAME(log)(WORK_PARAMETER REAL x, REAL y, int shift, bool near)
{
    const REAL whole = shift == 0 ? x : ADD(x, OF(shift));
    const REAL angle = R(atan2)(WORK(y), whole);
    if (near) {
        /* (x − 1)(x + 1) or x (x + 2), which are the same for x and shift + x */
        const REAL factors = shift == 0 ? MUL(SUB(x, OF(1)), ADD(x, OF(1))) : MUL(x, ADD(x, OF(2)));
        const REAL square = R(is_zero)(x) && R(is_zero)(y) ? factors : ADD(factors, SQR(y));
        return NAME(make)(SCALE(R(log1p)(WORK(square)), -1), angle);
    }
    const REAL square = ADD(SQR(whole), SQR(y));
    return NAME(make)(SCALE(R(log)(WORK(square)), -1), angle);
}

/* √((|x| + |z|) / 2) and |y| / 2 / that; which is which, and the sign, by the signs of x and y. */
static COMPLEX NAME(sqrt)(WORK_PARAMETER REAL x, REAL y)
{
    if (R(is_zero)(x) && R(is_zero)(y)) {
        return NAME(make)(WITH_SIGN(x, false), y);
    }
    if (!R(is_sure)(x) || !R(is_sure)(y)) {
        return NAME(make)(NONE, NONE);
    }
    const bool left = R(is_negative)(x);
    const REAL size = R(hypot)(WORK(x), y);
    const REAL sum = SCALE(ADD(size, WITH_SIGN(x, false)), -1);
    const REAL large = R(sqrt)(WORK(sum));
    const REAL small = SCALE(DIV(WITH_SIGN(y, false), large), -1);
    const bool below = R(is_negative)(y);
    return NAME(make)(left ? small : large, WITH_SIGN(left ? large : small, below));
}

/* conj(√z) / |z|. */
static COMPLEX NAME(rsqrt)(WORK_PARAMETER REAL x, REAL y)
{
    const COMPLEX root = NAME(sqrt)(WORK(x), y);
    const REAL size = R(hypot)(WORK(x), y);
    return NAME(make)(DIV(root.re, size), DIV(NEG(root.im), size));
}

/* The principal cube root: ∛|z| at a third of the angle. */
static COMPLEX NAME(cbrt)(WORK_PARAMETER REAL x, REAL y)
{
    const REAL size = R(cbrt)(WORK(R(hypot)(WORK(x), y)));
    const REAL angle = DIV(R(atan2)(WORK(y), x), OF(3));
    return NAME(make)(MUL(size, R(cos)(WORK(angle))), MUL(size, R(sin)(WORK(angle))));
}

/* --- inverse functions --- */

static REAL NAME(product_re)(WORK_PARAMETER COMPLEX a, COMPLEX b)
{
    return SUB(MUL(a.re, b.re), MUL(a.im, b.im));
}
static REAL NAME(product_im)(WORK_PARAMETER COMPLEX a, COMPLEX b)
{
    return ADD(MUL(a.re, b.im), MUL(a.im, b.re));
}
static COMPLEX NAME(conjugate)(WORK_PARAMETER COMPLEX a)
{
    return NAME(make)(a.re, NEG(a.im));
}

/* atan2(x, Re(√(1−z) √(1+z))) + i asinh(Im(conj √(1−z) √(1+z))). */
static COMPLEX NAME(asin)(WORK_PARAMETER REAL x, REAL y)
{
    const COMPLEX minus = NAME(sqrt)(WORK(SUB(OF(1), x)), NEG(y));
    const COMPLEX plus = NAME(sqrt)(WORK(ADD(OF(1), x)), y);
    const REAL re = R(atan2)(WORK(x), NAME(product_re)(WORK(minus), plus));
    const COMPLEX turned = NAME(conjugate)(WORK(minus));
    const REAL im = R(asinh)(WORK(NAME(product_im)(WORK(turned), plus)));
    return NAME(make)(re, WITH_SIGN(im, R(is_negative)(y)));
}

/* 2 atan2(Re √(1−z), Re √(1+z)) + i asinh(Im(conj √(1+z) √(1−z))). */
static COMPLEX NAME(acos)(WORK_PARAMETER REAL x, REAL y)
{
    const COMPLEX minus = NAME(sqrt)(WORK(SUB(OF(1), x)), NEG(y));
    const COMPLEX plus = NAME(sqrt)(WORK(ADD(OF(1), x)), y);
    const REAL re = SCALE(R(atan2)(WORK(minus.re), plus.re), 1);
    const COMPLEX turned = NAME(conjugate)(WORK(plus));
    const REAL im = R(asinh)(WORK(NAME(product_im)(WORK(turned), minus)));
    return NAME(make)(re, WITH_SIGN(im, !R(is_negative)(y)));
}

/* asinh(Re(conj √(z−1) √(z+1))) + 2i atan2(Im √(z−1), Re √(z+1)). */
static COMPLEX NAME(acosh)(WORK_PARAMETER REAL x, REAL y)
{
    const COMPLEX minus = NAME(sqrt)(WORK(SUB(x, OF(1))), y);
    const COMPLEX plus = NAME(sqrt)(WORK(ADD(x, OF(1))), y);
    const REAL im = SCALE(R(atan2)(WORK(minus.im), plus.re), 1);
    const COMPLEX turned = NAME(conjugate)(WORK(minus));
    const REAL re = R(asinh)(WORK(NAME(product_re)(WORK(turned), plus)));
    return NAME(make)(WITH_SIGN(re, false), im);
}

/* log1p(4x / ((1 − x)² + y²)) / 4 + i atan2(2y, (1 − x)(1 + x) − y²) / 2, computed for x ≥ 0. */
static COMPLEX NAME(atanh)(WORK_PARAMETER REAL x, REAL y)
{
    const REAL size = WITH_SIGN(x, false);
    const REAL minus = SUB(OF(1), size), plus = ADD(OF(1), size);
    const REAL square = ADD(SQR(minus), SQR(y));
    const REAL re = SCALE(R(log1p)(WORK(DIV(SCALE(size, 2), square))), -2);
    const REAL im = R(atan2)(WORK(SCALE(y, 1)), SUB(MUL(minus, plus), SQR(y)));
    return NAME(make)(WITH_SIGN(re, R(is_negative)(x)), SCALE(im, -1));
}

/* --- all of them --- */

/* f(z) = −i g(iz) for sin, tan, atan and asinh, which are odd as their twins are; cos z =
 * cosh(iz). */
static COMPLEX NAME(function)(WORK_PARAMETER enum exact_function function, double x_value,
                              double y_value)
{
    const REAL x = OF(x_value), y = OF(y_value);
    const REAL turned = OF(-y_value);
    COMPLEX out;
    switch (function) {
    case EXACT_ACOS:
        return NAME(acos)(WORK(x), y);
    case EXACT_ACOSH:
        return NAME(acosh)(WORK(x), y);
    case EXACT_ASIN:
        return NAME(asin)(WORK(x), y);
    case EXACT_ATANH:
        return NAME(atanh)(WORK(x), y);
    case EXACT_CBRT:
        return NAME(cbrt)(WORK(x), y);
    case EXACT_COSH:
        return NAME(cosh)(WORK(x), y);
    case EXACT_COS:
        return NAME(cosh)(WORK(turned), x);
    case EXACT_EXP:
        return NAME(exp)(WORK(x), y);
    case EXACT_EXPM1:
        return NAME(expm1)(WORK(x), y);
    case EXACT_LOG: {
        const double square = x_value * x_value + y_value * y_value;
        return NAME(log)(WORK(x), y, 0, square > 0.5 && square < 2);
    }
    case EXACT_LOG1P: {
        const double square = (1 + x_value) * (1 + x_value) + y_value * y_value;
        return NAME(log)(WORK(x), y, 1, square > 0.5 && square < 2);
    }
    case EXACT_LOGISTIC:
        return NAME(logistic)(WORK(x), y, x_value);
    case EXACT_RSQRT:
        return NAME(rsqrt)(WORK(x), y);
    case EXACT_SINH:
        return NAME(sinh)(WORK(x), y);
    case EXACT_SQRT:
        return NAME(sqrt)(WORK(x), y);
    case EXACT_TANH:
        return NAME(tanh)(WORK(x), y, x_value);
    case EXACT_ASINH:
        out = NAME(asin)(WORK(turned), x);
        break;
    case EXACT_ATAN:
        out = NAME(atanh)(WORK(turned), x);
        break;
    case EXACT_SIN:
        out = NAME(sinh)(WORK(turned), x);
        break;
    default: /* EXACT_TAN; erf and erfc never come here */
        out = NAME(tanh)(WORK(turned), x, -y_value);
        break;
    }
    return NAME(make)(out.im, NEG(out.re));
}

/* exp(b log a). */
static COMPLEX NAME(power)(WORK_PARAMETER struct exact_parts a, struct exact_parts b)
{
    const double square = a.re * a.re + a.im * a.im;
    const COMPLEX log = NAME(log)(WORK(OF(a.re)), OF(a.im), 0, square > 0.5 && square < 2);
    const COMPLEX exponent = NAME(make)(OF(b.re), OF(b.im));
    return NAME(exp)(WORK(NAME(product_re)(WORK(exponent), log)),
                     NAME(product_im)(WORK(exponent), log));
}

/* −i log((b + ia) / √(a² + b²)). */
static COMPLEX NAME(atan2_complex)(WORK_PARAMETER struct exact_parts a, struct exact_parts b)
{
    const COMPLEX x = NAME(make)(OF(a.re), OF(a.im)), y = NAME(make)(OF(b.re), OF(b.im));
    const COMPLEX sum = NAME(make)(ADD(NAME(product_re)(WORK(x), x), NAME(product_re)(WORK(y), y)),
                                   ADD(NAME(product_im)(WORK(x), x), NAME(product_im)(WORK(y), y)));
    const COMPLEX root = NAME(rsqrt)(WORK(sum.re), sum.im);
    const COMPLEX side = NAME(make)(SUB(y.re, x.im), ADD(y.im, x.re));
    const REAL re = NAME(product_re)(WORK(side), root), im = NAME(product_im)(WORK(side), root);
    const REAL square = ADD(SQR(re), SQR(im));
    const REAL half = SCALE(R(log)(WORK(square)), -1);
    return NAME(make)(R(atan2)(WORK(im), re), NEG(half));
}

#undef COMPLEX
#undef OF
#undef NEG
#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef SQR
#undef SCALE
#undef WITH_SIGN
#undef NONE
#undef WORK
#undef WORK_PARAMETER
#undef REAL
#undef NAME
#undef R

#endif
