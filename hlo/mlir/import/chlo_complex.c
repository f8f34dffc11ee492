/* What CHLO's functions of complex numbers are made of. HLO has opcodes for them, but compilers
 * that take HLO expect complex operands of these to be gone (XLA's CPU crashes on them): so they
 * come as composites, as the special functions do.
 *
 * Source: W. Kahan, "Branch cuts for complex elementary functions, or: much ado about nothing's
 * sign bit", in The State of the Art in Numerical Analysis, 1987. */
#include <string.h>

#include "hlo/mlir/import/chlo.h"

/* A complex number in its parts. */
struct parts {
    struct instruction *re, *im;
};

static struct instruction *part(struct formula *f, enum opcode opcode, struct instruction *z)
{
    return z != NULL
               ? formula_add(f, opcode, shape_with_type(z->shape, type_part(z->shape->type)), 1, &z)
               : NULL;
}

static struct parts parts_of(struct formula *f, struct instruction *z)
{
    return (struct parts){part(f, OP_REAL, z), part(f, OP_IMAG, z)};
}

static struct instruction *joined(struct formula *f, struct parts z)
{
    struct instruction *operands[] = {z.re, z.im};
    return z.re != NULL
               ? formula_add(f, OP_COMPLEX,
                             shape_with_type(z.re->shape, type_complex_of(z.re->shape->type)), 2,
                             operands)
               : NULL;
}

static struct instruction *add(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_ADD, a, b);
}
static struct instruction *sub(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_SUBTRACT, a, b);
}
static struct instruction *mul(struct formula *f, struct instruction *a, struct instruction *b)
{
    return formula_binary(f, OP_MULTIPLY, a, b);
}
static struct instruction *negate(struct formula *f, struct instruction *a)
{
    return formula_unary(f, OP_NEGATE, a);
}
static struct instruction *angle(struct formula *f, struct instruction *y, struct instruction *x)
{
    return formula_binary(f, OP_ATAN2, y, x);
}

/* √(shift + z) and √(shift − z), whose imaginary parts keep the sign of a zero. */
static struct parts root(struct formula *f, struct parts z, double shift, bool minus)
{
    struct instruction *constant = formula_number(f, z.re, shift);
    struct parts moved = {minus ? sub(f, constant, z.re) : add(f, z.re, constant),
                          minus ? negate(f, z.im) : z.im};
    return parts_of(f, formula_unary(f, OP_SQRT, joined(f, moved)));
}

/* Real and imaginary parts of conj(a) · b. */
static struct instruction *conjugate_real(struct formula *f, struct parts a, struct parts b)
{
    struct instruction *first = mul(f, a.re, b.re);
    return add(f, first, mul(f, a.im, b.im));
}
static struct instruction *conjugate_imaginary(struct formula *f, struct parts a, struct parts b)
{
    struct instruction *first = mul(f, a.re, b.im);
    return sub(f, first, mul(f, a.im, b.re));
}
/* Real part of a · b. */
static struct instruction *product_real(struct formula *f, struct parts a, struct parts b)
{
    struct instruction *first = mul(f, a.re, b.re);
    return sub(f, first, mul(f, a.im, b.im));
}

static struct parts asin_of(struct formula *f, struct parts z)
{
    struct parts below = root(f, z, 1, true), above = root(f, z, 1, false);
    struct instruction *re = angle(f, z.re, product_real(f, below, above));
    struct instruction *im = conjugate_imaginary(f, below, above);
    return (struct parts){re, formula_unary(f, OP_ASINH, im)};
}

static struct parts acos_of(struct formula *f, struct parts z)
{
    struct parts below = root(f, z, 1, true), above = root(f, z, 1, false);
    struct instruction *half = angle(f, below.re, above.re);
    struct instruction *im = conjugate_imaginary(f, above, below);
    return (struct parts){add(f, half, half), formula_unary(f, OP_ASINH, im)};
}

static struct parts acosh_of(struct formula *f, struct parts z)
{
    struct parts below = root(f, z, -1, false), above = root(f, z, 1, false);
    struct instruction *re = conjugate_real(f, below, above);
    struct instruction *half = angle(f, below.im, above.re);
    return (struct parts){formula_unary(f, OP_ASINH, re), add(f, half, half)};
}

/* asin(iz) / i */
static struct parts asinh_of(struct formula *f, struct parts z)
{
    struct parts turned = asin_of(f, (struct parts){negate(f, z.im), z.re});
    return (struct parts){turned.im, negate(f, turned.re)};
}

/* ¼ log(1 + 4x / ((1 − x)² + y²)), odd in x, and half the angle of (1 − x)(1 + x) − y² + 2iy. */
static struct parts atanh_of(struct formula *f, struct parts z)
{
    struct instruction *size = formula_unary(f, OP_ABS, z.re), *one = formula_number(f, z.re, 1);
    struct instruction *less = sub(f, one, size), *more = add(f, one, size);
    struct instruction *square = mul(f, z.im, z.im);
    struct instruction *below = mul(f, less, less);
    below = add(f, below, square);
    struct instruction *above = mul(f, size, formula_number(f, z.re, 4));
    struct instruction *ratio = formula_binary(f, OP_DIVIDE, above, below);
    struct instruction *re =
        mul(f, formula_unary(f, OP_LOG_PLUS_ONE, ratio), formula_number(f, z.re, 0.25));
    struct instruction *is_negative =
        formula_compare(f, DIRECTION_LT, z.re, formula_number(f, z.re, 0));
    struct instruction *x = mul(f, less, more);
    x = sub(f, x, square);
    struct instruction *im = angle(f, add(f, z.im, z.im), x);
    return (struct parts){formula_select(f, is_negative, negate(f, re), re),
                          mul(f, im, formula_number(f, z.re, 0.5))};
}

/* sinh x cos y + i cosh x sin y; cosh: cosh x cos y + i sinh x sin y. */
static struct parts hyperbolic(struct formula *f, struct parts z, enum opcode first,
                               enum opcode second)
{
    struct instruction *re = formula_unary(f, first, z.re);
    re = mul(f, re, formula_unary(f, OP_COSINE, z.im));
    struct instruction *im = formula_unary(f, second, z.re);
    return (struct parts){re, mul(f, im, formula_unary(f, OP_SINE, z.im))};
}

static struct parts sinh_of(struct formula *f, struct parts z)
{
    return hyperbolic(f, z, OP_SINH, OP_COSH);
}

static struct parts cosh_of(struct formula *f, struct parts z)
{
    return hyperbolic(f, z, OP_COSH, OP_SINH);
}

struct instruction *chlo_decompose_complex(struct formula *f, const char *name,
                                           struct instruction *parameter)
{
    static const struct {
        const char *name;
        struct parts (*decompose)(struct formula *f, struct parts z);
    } rows[] = {{"acos", acos_of},   {"acosh", acosh_of}, {"asin", asin_of}, {"asinh", asinh_of},
                {"atanh", atanh_of}, {"cosh", cosh_of},   {"sinh", sinh_of}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return joined(f, rows[i].decompose(f, parts_of(f, parameter)));
        }
    }
    import_refuse(f->scope, f->op, "has no decomposition for complex numbers");
    return NULL;
}
