/* References for tests of reductions, windows and scatters: one element after the other, sums by
 * MPFR. */
#ifndef TESTS_INTERP_REDUCE_REFERENCE_H
#define TESTS_INTERP_REDUCE_REFERENCE_H

#include "tests/interp/one_op.h"

/* An assertion for inner loops: Check's own talk to the parent process each time. */
#define REQUIRE(condition, ...)        \
    do {                               \
        if (!(condition)) {            \
            ck_abort_msg(__VA_ARGS__); \
        }                              \
    } while (0)

struct monoid {
    const char *name; /* the opcode of the reducer's root */
    enum type type;
};

/* "computation { … }" of two scalars of the type under a name. */
static inline int print_reducer(char *text, size_t size, const char *name, const char *opcode,
                                const char *type)
{
    return snprintf(text, size,
                    "%s { a = %s[] parameter(0)\n b = %s[] parameter(1)\n"
                    "ROOT r = %s[] %s(a, b) }\n",
                    name, type, type, type, opcode);
}

/* Element-by-element accumulation: begin with the initial value, add terms, compare the result. */
struct fold {
    const struct monoid *monoid;
    bool exact_sum;
    int terms;
    bool all_minus_zero;
    bool special; /* a term is infinite or NaN: IEEE addition of doubles says what */
    mpfr_t sum;
    double value, specials;
    int64_t integer;
};

static inline int64_t fold_wrap(enum type type, int64_t value)
{
    int unused = 64 - type_bits(type);
    return type == TYPE_PRED                ? value & 1
           : type_kind(type) == KIND_SIGNED ? (int64_t)((uint64_t)value << unused) >> unused
                                            : (int64_t)((uint64_t)value << unused >> unused);
}

static inline void fold_add(struct fold *fold, const struct literal *literal, int64_t index)
{
    const char *op = fold->monoid->name;
    enum type type = fold->monoid->type;
    bool first = fold->terms++ == 0;
    if (!type_is_float(type)) {
        int64_t x = literal_get_int(literal, index), *a = &fold->integer;
        *a = first ? x
             : strcmp(op, "add") == 0
                 ? (type == TYPE_PRED ? *a | x : (int64_t)((uint64_t)*a + (uint64_t)x))
             : strcmp(op, "multiply") == 0 ? (int64_t)((uint64_t)*a * (uint64_t)x)
             : strcmp(op, "minimum") == 0
                 ? (type == TYPE_U64 ? ((uint64_t)*a < (uint64_t)x ? *a : x) : (*a < x ? *a : x))
             : strcmp(op, "maximum") == 0
                 ? (type == TYPE_U64 ? ((uint64_t)*a > (uint64_t)x ? *a : x) : (*a > x ? *a : x))
             : strcmp(op, "and") == 0 ? *a & x
             : strcmp(op, "or") == 0  ? *a | x
                                      : *a ^ x;
        *a = fold_wrap(type, *a);
        return;
    }
    double x = literal_get_double(literal, index);
    if (fold->exact_sum) {
        bool minus_zero = x == 0 && signbit(x);
        fold->all_minus_zero = (first || fold->all_minus_zero) && minus_zero;
        if (!isfinite(x)) {
            fold->specials = fold->special ? fold->specials + x : x;
            fold->special = true;
            return;
        }
        mpfr_add_d(fold->sum, fold->sum, x, MPFR_RNDN);
        return;
    }
    double a = fold->value;
    fold->value = first                         ? x
                  : strcmp(op, "add") == 0      ? float_round(type, a + x)
                  : strcmp(op, "multiply") == 0 ? float_round(type, a * x)
                  : isnan(a) || isnan(x)        ? NAN
                  : strcmp(op, "minimum") == 0  ? (a == x ? (signbit(a) ? a : x) : fmin(a, x))
                                                : (a == x ? (signbit(a) ? x : a) : fmax(a, x));
}

static inline void fold_begin(struct fold *fold, const struct monoid *monoid, bool exact)
{
    *fold = (struct fold){.monoid = monoid, .exact_sum = exact && strcmp(monoid->name, "add") == 0};
    mpfr_init2(fold->sum, EXACT_PRECISION);
    mpfr_set_zero(fold->sum, 1);
}

static inline void fold_check(struct fold *fold, const struct literal *result, int64_t index)
{
    enum type type = fold->monoid->type;
    if (!type_is_float(type)) {
        REQUIRE(literal_get_int(result, index) == fold->integer,
                "%s %s: element %lld: %lld, not %lld", fold->monoid->name,
                shape_text(result->shape), (long long)index,
                (long long)literal_get_int(result, index), (long long)fold->integer);
    } else if (fold->exact_sum && !fold->special) {
        check_nearest(result, index, 0, fold->sum);
        double got = literal_get_double(result, index);
        if (mpfr_zero_p(fold->sum)) {
            REQUIRE((signbit(got) != 0) == fold->all_minus_zero, "sign of a zero sum");
        }
    } else {
        double got = literal_get_double(result, index);
        double want = fold->exact_sum ? fold->specials : fold->value;
        REQUIRE((isnan(got) && isnan(want)) || (got == want && signbit(got) == signbit(want)),
                "%s %s: element %lld: %a, not %a", fold->monoid->name, shape_text(result->shape),
                (long long)index, got, want);
    }
    mpfr_clear(fold->sum);
}

/* Elements for the reducer: mild ones for products, all kinds with specials here and there. */
static inline void fill_terms(struct literal *literal, struct rng *rng, const char *op,
                              bool specials)
{
    enum type type = literal->shape->type;
    fill_random(literal, rng, strcmp(op, "add") == 0 && type_bits(type) >= 32 ? 12 : 2);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        if (type_is_float(type) && strcmp(op, "multiply") == 0) {
            literal_set_double(literal, i, 1 + 0.2 * random_double(rng, 0));
        }
        if (type_is_float(type) && specials && rng_below(rng, 50) == 0) {
            static const double values[] = {INFINITY, -INFINITY, NAN, -0.0, 0.0, -0.0};
            literal_set_double(literal, i, values[rng_below(rng, 6)]);
        }
    }
}

#endif
