/* The operations of the accuracy table: their inputs and exact results. */
#include "tests/bench/accuracy.h"

#include <string.h>

#include "hlo/base/rng.h"
#include "tests/interp/complex_definitions.h"
#include "tests/interp/number.h"

/* --- functions that MPFR lacks, or has under another name --- */

static int real_logistic(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    mpfr_t value;
    mpfr_init2(value, 1300);
    mpfr_neg(value, x, MPFR_RNDN);
    mpfr_exp(value, value, MPFR_RNDN);
    mpfr_add_ui(value, value, 1, MPFR_RNDN);
    mpfr_ui_div(value, 1, value, MPFR_RNDN);
    const int inexact = mpfr_set(out, value, round);
    mpfr_clear(value);
    return inexact;
}
/* IEEE 754 rSqrt(−0) is −∞. */
static int real_rsqrt(mpfr_ptr out, mpfr_srcptr x, mpfr_rnd_t round)
{
    const int inexact = mpfr_rec_sqrt(out, x, round);
    if (mpfr_zero_p(x)) {
        mpfr_set_inf(out, mpfr_signbit(x) ? -1 : 1);
    }
    return inexact;
}

#define UNARY(opcode, domain, function, complex)                \
    {                                                           \
        opcode, 1, DOMAIN_##domain, function, NULL, complex, -1 \
    }
#define BINARY(opcode, domain, function, complex)               \
    {                                                           \
        opcode, 2, DOMAIN_##domain, NULL, function, -1, complex \
    }
const struct accuracy_operation accuracy_operations[] = {
    BINARY("add", ALL, mpfr_add, EXACT_ADD),
    BINARY("subtract", ALL, mpfr_sub, EXACT_SUBTRACT),
    BINARY("multiply", ALL, mpfr_mul, EXACT_MULTIPLY),
    BINARY("divide", ALL, mpfr_div, EXACT_DIVIDE),
    BINARY("remainder", ALL, mpfr_fmod, -1),
    BINARY("power", POSITIVE, mpfr_pow, EXACT_POWER),
    BINARY("atan2", ALL, mpfr_atan2, EXACT_ATAN2),
    UNARY("sqrt", POSITIVE, mpfr_sqrt, EXACT_SQRT),
    UNARY("rsqrt", POSITIVE, real_rsqrt, EXACT_RSQRT),
    UNARY("cbrt", ALL, mpfr_cbrt, -1),
    UNARY("exponential", ALL, mpfr_exp, EXACT_EXP),
    UNARY("exponential-minus-one", ALL, mpfr_expm1, EXACT_EXPM1),
    UNARY("log", POSITIVE, mpfr_log, EXACT_LOG),
    UNARY("log-plus-one", POSITIVE, mpfr_log1p, EXACT_LOG1P),
    UNARY("logistic", ALL, real_logistic, EXACT_LOGISTIC),
    UNARY("tanh", ALL, mpfr_tanh, EXACT_TANH),
    UNARY("sine", ALL, mpfr_sin, EXACT_SIN),
    UNARY("cosine", ALL, mpfr_cos, EXACT_COS),
    UNARY("tan", ALL, mpfr_tan, EXACT_TAN),
    UNARY("erf", ALL, mpfr_erf, -1),
    UNARY("asin", UNIT, mpfr_asin, EXACT_ASIN),
    UNARY("acos", UNIT, mpfr_acos, EXACT_ACOS),
    UNARY("sinh", ALL, mpfr_sinh, EXACT_SINH),
    UNARY("cosh", ALL, mpfr_cosh, EXACT_COSH),
    UNARY("asinh", ALL, mpfr_asinh, EXACT_ASINH),
    UNARY("acosh", ABOVE_ONE, mpfr_acosh, EXACT_ACOSH),
    UNARY("atanh", UNIT, mpfr_atanh, EXACT_ATANH),
};
const int accuracy_operation_count = sizeof accuracy_operations / sizeof accuracy_operations[0];

const struct accuracy_operation *accuracy_find(const char *opcode)
{
    for (int i = 0; i < accuracy_operation_count; i++) {
        if (strcmp(accuracy_operations[i].opcode, opcode) == 0) {
            return &accuracy_operations[i];
        }
    }
    return NULL;
}

bool accuracy_takes(const struct accuracy_operation *operation, enum type type)
{
    return !type_is_complex(type) || operation->complex_unary >= 0 ||
           operation->complex_binary >= 0;
}

int accuracy_part_count(const struct accuracy_operation *operation, enum type type)
{
    return operation->operand_count * (type_is_complex(type) ? 2 : 1);
}

int64_t accuracy_count(const struct accuracy_operation *operation, enum type type)
{
    const int bits = type_bits(type_part(type)) * accuracy_part_count(operation, type);
    if (bits <= 16) {
        return INT64_C(1) << bits;
    }
    return type == TYPE_C128 ? 3000 : type == TYPE_C64 ? 6000 : type == TYPE_F64 ? 20000 : 60000;
}

/* --- inputs --- */

/* A third from all bit patterns, a third spread over the binades where functions bend, a third
 * within a few units; then moved into the domain. */
static double draw(struct rng *rng, enum type type, enum accuracy_domain domain)
{
    double value;
    switch (rng_below(rng, 3)) {
    case 0: {
        const uint64_t bits = rng_next(rng) >> (64 - type_bits(type));
        const struct number n = number_decode(type, bits);
        value = (double)number_value(&n);
        break;
    }
    case 1:
        value = ldexp(2 * rng_uniform(rng) - 1, (int)rng_below(rng, 24) - 15);
        break;
    default:
        value = (2 * rng_uniform(rng) - 1) * 4;
        break;
    }
    switch (domain) {
    case DOMAIN_POSITIVE:
        return fabs(value);
    case DOMAIN_UNIT:
        return fabs(value) > 1 ? 1 / value : value;
    case DOMAIN_ABOVE_ONE:
        value = fabs(value);
        return value < 1 ? 1 + value : value;
    default:
        return value;
    }
}

void accuracy_input(const struct accuracy_operation *operation, enum type type, int64_t i,
                    uint64_t bits[ACCURACY_PARTS])
{
    const enum type part = type_part(type);
    const int parts = accuracy_part_count(operation, type), width = type_bits(part);
    if (width * parts <= 16) {
        for (int k = 0; k < parts; k++) {
            bits[k] = (uint64_t)i >> (k * width) & (UINT64_MAX >> (64 - width));
        }
        return;
    }
    struct rng rng;
    rng_init(&rng, (uint64_t)i * 2 + 1);
    for (int k = 0; k < parts; k++) {
        const enum accuracy_domain domain =
            k == 0 && !type_is_complex(type) ? operation->domain : DOMAIN_ALL;
        struct number n = number_of_long_double(draw(&rng, part, domain));
        bits[k] = number_encode(part, &n);
    }
    if (parts == 4 || (parts == 2 && operation->operand_count == 2)) {
        /* Operands of like size, so that sums and remainders do not only absorb. */
        if (rng_below(&rng, 2) != 0) {
            for (int k = parts / 2; k < parts; k++) {
                bits[k] = bits[k - parts / 2] ^ (rng_next(&rng) & (UINT64_MAX >> (64 - width / 2)));
            }
        }
    }
}

/* --- exact results --- */

static void set_bits(mpfr_ptr out, enum type type, uint64_t bits)
{
    const struct number n = number_decode(type, bits);
    mpfr_set_ld(out, number_value(&n), MPFR_RNDN);
}

static void exact_arithmetic(enum exact_binary_function function, struct wide *out,
                             const struct wide *a, const struct wide *b)
{
    switch (function) {
    case EXACT_ADD:
        wide_add(out, a, b);
        break;
    case EXACT_SUBTRACT:
        wide_subtract(out, a, b);
        break;
    case EXACT_MULTIPLY:
        wide_multiply(out, a, b);
        break;
    case EXACT_DIVIDE:
        wide_divide(out, a, b);
        break;
    case EXACT_POWER:
        wide_power(out, a, b);
        break;
    default:
        wide_atan2(out, a, b);
        break;
    }
}

static void exact_complex(const struct accuracy_operation *operation, enum type part,
                          const uint64_t bits[ACCURACY_PARTS], mpfr_ptr re, mpfr_ptr im,
                          bool inexact[2])
{
    /* Bits for what cancels: the exponents are at most a few hundred (accuracy.c leaves out
     * others). */
    const mpfr_prec_t precision = 2600;
    struct wide a, b, out;
    wide_start(&a, precision);
    wide_start(&b, precision);
    wide_start(&out, precision);
    set_bits(a.re, part, bits[0]);
    set_bits(a.im, part, bits[1]);
    if (operation->operand_count == 2) {
        set_bits(b.re, part, bits[2]);
        set_bits(b.im, part, bits[3]);
        exact_arithmetic((enum exact_binary_function)operation->complex_binary, &out, &a, &b);
    } else {
        wide_define((enum exact_function)operation->complex_unary, &out, &a);
    }
    inexact[0] = mpfr_set(re, out.re, MPFR_RNDZ) != 0;
    inexact[1] = mpfr_set(im, out.im, MPFR_RNDZ) != 0;
    wide_finish(&a);
    wide_finish(&b);
    wide_finish(&out);
}

void accuracy_exact(const struct accuracy_operation *operation, enum type type,
                    const uint64_t bits[ACCURACY_PARTS], mpfr_ptr re, mpfr_ptr im, bool inexact[2])
{
    if (type_is_complex(type)) {
        exact_complex(operation, type_part(type), bits, re, im, inexact);
        return;
    }
    mpfr_t x, y;
    mpfr_inits2(64, x, y, (mpfr_ptr)0);
    set_bits(x, type, bits[0]);
    set_bits(y, type, operation->operand_count == 2 ? bits[1] : 0);
    inexact[1] = false;
    inexact[0] = (operation->operand_count == 2 ? operation->binary(re, x, y, MPFR_RNDZ)
                                                : operation->unary(re, x, MPFR_RNDZ)) != 0;
    mpfr_set_zero(im, 1);
    mpfr_clears(x, y, (mpfr_ptr)0);
}
