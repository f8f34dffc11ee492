/* For tests of single evaluators: one instruction read from HLO text, run on given operands; random
 * operands; and the check that an element is the exact value rounded once. */
#ifndef TESTS_INTERP_ONE_OP_H
#define TESTS_INTERP_ONE_OP_H

#include <check.h>
#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/floats.h"
#include "hlo/infer.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/eval.h"

enum { ONE_OP_MAX_OPERANDS = 8 };

/* The root of the entry of a module whose operands are parameters. */
struct one_op {
    struct module *module;
    struct instruction *instruction;
    int count;
    struct literal *values[ONE_OP_MAX_OPERANDS];
};

/* Reads "a = f32[2] parameter(0) … ROOT r = …" lines and makes zero operands. */
static inline void one_op_init(struct one_op *op, const char *body)
{
    char text[4096];
    struct error err = {0};
    snprintf(text, sizeof text, "HloModule test\nENTRY main {\n%s\n}\n", body);
    op->module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(op->module != NULL, "%s: %s", body, err.message);
    op->instruction = op->module->entry->root;
    ck_assert_msg(infer_check(op->instruction, &err), "%s: %s", body, err.message);
    op->count = op->instruction->operand_count;
    for (int i = 0; i < op->count; i++) {
        op->values[i] = literal_zero(op->instruction->operands[i]->shape, &err);
        ck_assert_ptr_nonnull(op->values[i]);
    }
}

static inline void one_op_finish(struct one_op *op)
{
    for (int i = 0; i < op->count; i++) {
        literal_release(op->values[i]);
    }
    module_destroy(op->module);
}

static inline struct literal *one_op_try(struct one_op *op, eval_function *evaluate,
                                         enum fidelity fidelity, struct error *err)
{
    bool dying[ONE_OP_MAX_OPERANDS] = {0};
    struct evaluation evaluation = {.module = op->module, .options = {.fidelity = fidelity}};
    struct literal *values[ONE_OP_MAX_OPERANDS];
    memcpy(values, op->values, sizeof values);
    struct operands operands = {.count = op->count, .values = values, .dying = dying};
    return evaluate(&evaluation, op->instruction, &operands, err);
}

static inline struct literal *one_op_run(struct one_op *op, eval_function *evaluate)
{
    struct error err = {0};
    struct literal *result = one_op_try(op, evaluate, FIDELITY_EXACT, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    ck_assert_msg(shape_compatible(result->shape, op->instruction->shape), "wrong shape");
    return result;
}

/* --- operands --- */

static inline double random_double(struct rng *rng, int exponents)
{
    double value = 2 * rng_uniform(rng) - 1;
    int shift = exponents > 0 ? (int)rng_below(rng, (uint64_t)(2 * exponents + 1)) - exponents : 0;
    return ldexp(value, shift);
}

/* Random elements: floats of magnitude below 2^exponents and about as many binades down, integers
 * of all bits. Sometimes zero. */
static inline void fill_random(struct literal *literal, struct rng *rng, int exponents)
{
    enum type type = literal->shape->type;
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        bool zero = rng_below(rng, 16) == 0;
        if (type_is_complex(type)) {
            literal_set_complex(literal, i, zero ? 0 : random_double(rng, exponents),
                                random_double(rng, exponents));
        } else if (type_is_float(type)) {
            literal_set_double(literal, i, zero ? 0 : random_double(rng, exponents));
        } else {
            int unused = 64 - type_bits(type);
            uint64_t bits = rng_next(rng) << unused;
            literal_set_int(literal, i,
                            type_kind(type) == KIND_SIGNED ? (int64_t)bits >> unused
                                                           : (int64_t)(bits >> unused));
        }
    }
}

/* --- exact sums of products, by MPFR --- */

enum { EXACT_PRECISION = 4600 }; /* holds any sum of products of doubles here without rounding */

static inline void exact_add_product(mpfr_t sum, double a, double b)
{
    mpfr_t product, factor;
    mpfr_init2(product, 106);
    mpfr_init2(factor, 53);
    mpfr_set_d(product, a, MPFR_RNDN);
    mpfr_set_d(factor, b, MPFR_RNDN);
    ck_assert_int_eq(mpfr_mul(product, product, factor, MPFR_RNDN), 0);
    ck_assert_int_eq(mpfr_add(sum, sum, product, MPFR_RNDN), 0);
    mpfr_clear(product);
    mpfr_clear(factor);
}

/* Is the element with these bits the value of `type` nearest to the exact one, ties to even? Looks
 * at the neighbours, so no conversion of ours is trusted but that from bits to value. */
static inline bool is_nearest(enum type type, uint64_t bits, mpfr_t exact)
{
    double value = float_to_double(type, bits);
    if (mpfr_nan_p(exact) || isnan(value)) {
        return mpfr_nan_p(exact) && isnan(value);
    }
    if (isinf(value) || mpfr_inf_p(exact)) {
        /* Beyond the largest number and half its ulp. */
        mpfr_t limit;
        mpfr_init2(limit, 64);
        mpfr_set_d(limit, float_max(type), MPFR_RNDN);
        mpfr_mul_d(limit, limit, 1 + ldexp(1, -float_formats[type].mantissa_bits - 2), MPFR_RNDD);
        bool beyond = mpfr_cmpabs(exact, limit) >= 0;
        bool same_sign = (mpfr_sgn(exact) < 0) == (value < 0);
        mpfr_clear(limit);
        return beyond && same_sign && isinf(value);
    }
    mpfr_t distance, other;
    mpfr_init2(distance, EXACT_PRECISION);
    mpfr_init2(other, EXACT_PRECISION);
    mpfr_sub_d(distance, exact, value, MPFR_RNDN);
    bool nearest = true;
    for (int step = -1; step <= 1; step += 2) {
        uint64_t magnitude_mask = UINT64_MAX >> (65 - type_bits(type));
        uint64_t neighbour_bits = bits + (uint64_t)(int64_t)step;
        if (step < 0 && (bits & magnitude_mask) == 0) {
            neighbour_bits = (bits ^ (magnitude_mask + 1)) + 1; /* across zero */
        }
        double neighbour = float_to_double(type, neighbour_bits);
        if (!isfinite(neighbour)) {
            continue;
        }
        mpfr_sub_d(other, exact, neighbour, MPFR_RNDN);
        int order = mpfr_cmpabs(distance, other);
        nearest &= order < 0 || (order == 0 && (bits & 1) == 0);
    }
    mpfr_clear(distance);
    mpfr_clear(other);
    return nearest;
}

/* Element `index` (part 1: imaginary) of a literal against the exact value. */
static inline void check_nearest(const struct literal *literal, int64_t index, int part,
                                 mpfr_t exact)
{
    enum type type = type_part(literal->shape->type);
    uint64_t bits = 0;
    int parts = type_is_complex(literal->shape->type) ? 2 : 1;
    memcpy(&bits, (const char *)literal_data(literal) + (index * parts + part) * type_bytes(type),
           (size_t)type_bytes(type));
    ck_assert_msg(is_nearest(type, bits, exact), "%s element %lld part %d: %a, exact %.17g",
                  shape_text(literal->shape), (long long)index, part, float_to_double(type, bits),
                  mpfr_get_d(exact, MPFR_RNDN));
}

#endif
