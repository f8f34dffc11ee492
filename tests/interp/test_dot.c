/* dot, ragged-dot and scaled-dot against their definition, with exact sums by MPFR, and against
 * values that XLA's CPU gave. */
#include "one_op.h"

static struct rng rng;

static void setup(void)
{
    rng_init(&rng, 11);
    pool_set_threads(2);
}

/* --- dot by definition --- */

static bool has(struct ints ints, int64_t value)
{
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] == value) {
            return true;
        }
    }
    return false;
}

static int64_t linear(const struct shape *shape, const int64_t *index)
{
    int64_t place = 0;
    for (int d = 0; d < shape->rank; d++) {
        place = place * shape->dimensions[d] + index[d];
    }
    return place;
}

static void unravel(const struct shape *shape, int64_t place, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        index[d] = place % shape->dimensions[d];
        place /= shape->dimensions[d];
    }
}

/* The k-th pair of elements that result element `place` sums over. */
static void pair_of(const struct instruction *dot, int64_t place, int64_t k, int64_t *left,
                    int64_t *right)
{
    const struct shape *lhs = dot->operands[0]->shape, *rhs = dot->operands[1]->shape;
    struct ints lb = attr_ints(dot, ATTR_LHS_BATCH_DIMS), rb = attr_ints(dot, ATTR_RHS_BATCH_DIMS);
    struct ints lc = attr_ints(dot, ATTR_LHS_CONTRACTING_DIMS);
    struct ints rc = attr_ints(dot, ATTR_RHS_CONTRACTING_DIMS);
    int64_t out[SHAPE_MAX_RANK], l[SHAPE_MAX_RANK] = {0}, r[SHAPE_MAX_RANK] = {0};
    unravel(dot->shape, place, out);
    int at = 0;
    for (int i = 0; i < lb.count; i++, at++) {
        l[lb.values[i]] = r[rb.values[i]] = out[at];
    }
    for (int d = 0; d < lhs->rank; d++) {
        if (!has(lb, d) && !has(lc, d)) {
            l[d] = out[at++];
        }
    }
    for (int d = 0; d < rhs->rank; d++) {
        if (!has(rb, d) && !has(rc, d)) {
            r[d] = out[at++];
        }
    }
    for (int i = lc.count - 1; i >= 0; i--) {
        int64_t size = lhs->dimensions[lc.values[i]];
        l[lc.values[i]] = r[rc.values[i]] = k % size;
        k /= size;
    }
    *left = linear(lhs, l);
    *right = linear(rhs, r);
}

static int64_t depth_of(const struct instruction *dot)
{
    int64_t depth = 1;
    struct ints contracting = attr_ints(dot, ATTR_LHS_CONTRACTING_DIMS);
    for (int i = 0; i < contracting.count; i++) {
        depth *= dot->operands[0]->shape->dimensions[contracting.values[i]];
    }
    return depth;
}

static void check_floats(const struct one_op *op, const struct literal *result)
{
    bool complex = type_is_complex(result->shape->type);
    mpfr_t sums[2];
    mpfr_init2(sums[0], EXACT_PRECISION);
    mpfr_init2(sums[1], EXACT_PRECISION);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        mpfr_set_zero(sums[0], 1);
        mpfr_set_zero(sums[1], 1);
        for (int64_t k = 0; k < depth_of(op->instruction); k++) {
            int64_t l, r;
            pair_of(op->instruction, i, k, &l, &r);
            double a = literal_get_double(op->values[0], l);
            double b = literal_get_double(op->values[1], r);
            exact_add_product(sums[0], a, b);
            if (complex) {
                double c = literal_get_imaginary(op->values[0], l);
                double d = literal_get_imaginary(op->values[1], r);
                exact_add_product(sums[0], -c, d);
                exact_add_product(sums[1], a, d);
                exact_add_product(sums[1], c, b);
            }
        }
        for (int part = 0; part < (complex ? 2 : 1); part++) {
            check_nearest(result, i, part, sums[part]);
        }
    }
    mpfr_clear(sums[0]);
    mpfr_clear(sums[1]);
}

static void check_integers(const struct one_op *op, const struct literal *result)
{
    enum type type = result->shape->type;
    int unused = 64 - type_bits(type);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        uint64_t sum = 0;
        bool any = false;
        for (int64_t k = 0; k < depth_of(op->instruction); k++) {
            int64_t l, r;
            pair_of(op->instruction, i, k, &l, &r);
            uint64_t product = (uint64_t)literal_get_int(op->values[0], l) *
                               (uint64_t)literal_get_int(op->values[1], r);
            sum += product;
            any |= product != 0;
        }
        int64_t want = type == TYPE_PRED                ? any
                       : type_kind(type) == KIND_SIGNED ? (int64_t)(sum << unused) >> unused
                                                        : (int64_t)(sum << unused >> unused);
        ck_assert_msg(literal_get_int(result, i) == want, "%s: %lld, want %lld",
                      shape_text(result->shape), (long long)literal_get_int(result, i),
                      (long long)want);
    }
}

static void check_dot(const char *body, int exponents)
{
    struct one_op op;
    one_op_init(&op, body);
    fill_random(op.values[0], &rng, exponents);
    fill_random(op.values[1], &rng, exponents);
    struct literal *result = one_op_run(&op, eval_dot);
    if (type_is_float(result->shape->type) || type_is_complex(result->shape->type)) {
        check_floats(&op, result);
    } else {
        check_integers(&op, result);
    }
    literal_release(result);
    one_op_finish(&op);
}

/* A dot of two operand types to a result type, dimensions as given. */
static void check_types(const char *a, const char *b, const char *result, int exponents)
{
    char body[512];
    snprintf(body, sizeof body,
             "a = %s[5,37] parameter(0)\nb = %s[37,9] parameter(1)\n"
             "ROOT r = %s[5,9] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
             a, b, result);
    check_dot(body, exponents);
}

START_TEST(test_float_types)
{
    static const char *const types[] = {"f64",      "f32",          "f16",    "bf16",
                                        "f8e5m2",   "f8e4m3fn",     "f8e4m3", "f8e3m4",
                                        "f6e2m3fn", "f8e4m3b11fnuz"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        check_types(types[i], types[i], "f32", 2);
        check_types(types[i], types[i], "f64", 2);
        check_types(types[i], types[i], "bf16", 2);
    }
    check_types("f64", "f64", "f64", 300);
    check_types("f32", "f32", "f32", 60);
    check_types("f16", "f16", "f16", 2);
    check_types("f32", "bf16", "f32", 3);
    check_types("f32", "f32", "f8e5m2", 1);
    check_types("s8", "f32", "f32", 3);
}
END_TEST

START_TEST(test_complex)
{
    check_types("c64", "c64", "c64", 4);
    check_types("c128", "c128", "c128", 60);
}
END_TEST

START_TEST(test_integer_types)
{
    static const char *const types[] = {"s64", "s32", "s16", "s8", "s4",  "u64",
                                        "u32", "u16", "u8",  "u4", "pred"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        check_types(types[i], types[i], types[i], 0);
        check_types(types[i], types[i], "s32", 0);
        check_types(types[i], types[i], "u64", 0);
    }
    check_types("s8", "u8", "s32", 0);
}
END_TEST

/* Batch, free and contracting dimensions in all places. */
static const char *const arrangements[] = {
    "a = T[3,4,5] parameter(0)\nb = T[3,5,6] parameter(1)\n"
    "ROOT r = T[3,4,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "a = T[4,3,5] parameter(0)\nb = T[6,5,3] parameter(1)\n"
    "ROOT r = T[3,4,6] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={2}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "a = T[2,3,4,5] parameter(0)\nb = T[5,2,7,4] parameter(1)\n"
    "ROOT r = T[2,3,7] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, "
    "lhs_contracting_dims={2,3}, rhs_contracting_dims={3,0}",
    "a = T[5,2,4,3] parameter(0)\nb = T[4,3,5,7] parameter(1)\n"
    "ROOT r = T[2,7] dot(a, b), lhs_contracting_dims={3,0,2}, rhs_contracting_dims={1,2,0}",
    "a = T[2,3,4,5] parameter(0)\nb = T[3,2,6,4] parameter(1)\n"
    "ROOT r = T[3,2,5,6] dot(a, b), lhs_batch_dims={1,0}, rhs_batch_dims={0,1}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={3}",
    "a = T[2,3] parameter(0)\nb = T[4] parameter(1)\nROOT r = T[2,3,4] dot(a, b)",
    "a = T[7] parameter(0)\nb = T[7] parameter(1)\n"
    "ROOT r = T[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
    "a = T[0,7] parameter(0)\nb = T[7,2] parameter(1)\n"
    "ROOT r = T[0,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "a = T[3,0] parameter(0)\nb = T[0,2] parameter(1)\n"
    "ROOT r = T[3,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "a = T[3,1,130] parameter(0)\nb = T[130,3,140] parameter(1)\n"
    "ROOT r = T[3,1,140] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={1}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={0}",
};

/* The text with every T[ replaced by type[. */
static void with_type(const char *body, const char *type, char *out)
{
    for (; *body != '\0'; body++) {
        if (body[0] == 'T' && body[1] == '[') {
            out += sprintf(out, "%s", type);
        } else {
            *out++ = *body;
        }
    }
    *out = '\0';
}

START_TEST(test_dimensions)
{
    static const char *const types[] = {"f32", "bf16", "f64", "c64", "s32", "u64", "pred"};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t i = 0; i < sizeof arrangements / sizeof *arrangements; i++) {
            char body[1024];
            with_type(arrangements[i], types[t], body);
            check_dot(body, 2);
        }
    }
}
END_TEST

/* fidelity=literal: in order, each step rounded to f32; what XLA's evaluator does. */
START_TEST(test_in_order)
{
    struct one_op op;
    one_op_init(&op, "a = f32[3,50] parameter(0)\nb = f32[50,4] parameter(1)\n"
                     "ROOT r = f32[3,4] dot(a, b), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}");
    fill_random(op.values[0], &rng, 3);
    fill_random(op.values[1], &rng, 3);
    struct error err = {0};
    struct literal *result = one_op_try(&op, eval_dot, FIDELITY_LITERAL, &err);
    ck_assert_ptr_nonnull(result);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        volatile float sum = 0;
        for (int64_t k = 0; k < 50; k++) {
            int64_t l, r;
            pair_of(op.instruction, i, k, &l, &r);
            volatile float product = (float)literal_get_double(op.values[0], l) *
                                     (float)literal_get_double(op.values[1], r);
            sum = sum + product;
        }
        ck_assert(literal_get_double(result, i) == sum);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* IEEE 754: infinities and NaN of the products decide. */
START_TEST(test_special_values)
{
    struct one_op op;
    one_op_init(&op, "a = f32[4,2] parameter(0)\nb = f32[2,1] parameter(1)\n"
                     "ROOT r = f32[4,1] dot(a, b), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}");
    static const double left[] = {INFINITY, 1, INFINITY, -INFINITY, NAN, 0, 3e38, 3e38};
    for (int i = 0; i < 8; i++) {
        literal_set_double(op.values[0], i, left[i]);
    }
    literal_set_double(op.values[1], 0, 1);
    literal_set_double(op.values[1], 1, 1);
    struct literal *result = one_op_run(&op, eval_dot);
    ck_assert(literal_get_double(result, 0) == INFINITY);
    ck_assert(isnan(literal_get_double(result, 1)));
    ck_assert(isnan(literal_get_double(result, 2)));
    ck_assert(literal_get_double(result, 3) == INFINITY); /* 6e38 */
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_unspecified)
{
    struct one_op op;
    one_op_init(&op, "a = f32[3,2] parameter(0)\nb = f32[2,4] parameter(1)\n"
                     "ROOT r = f32[3,4] dot(a, b), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}");
    literal_mark_unspecified(op.values[0], 2 * 1 + 1); /* row 1 */
    literal_mark_unspecified(op.values[1], 4 * 0 + 2); /* column 2 */
    struct literal *result = one_op_run(&op, eval_dot);
    for (int64_t i = 0; i < 12; i++) {
        ck_assert_int_eq(literal_is_unspecified(result, i), i / 4 == 1 || i % 4 == 2);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* --- ragged-dot --- */

static void set_ints(struct literal *literal, const int64_t *values)
{
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        literal_set_int(literal, i, values[i]);
    }
}

static void check_ragged_free(const int64_t *sizes)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,6,5] parameter(0)\nb = f32[3,2,5,4] parameter(1)\n"
                     "s = s32[2,3] parameter(2)\n"
                     "ROOT r = f32[2,6,4] ragged-dot(a, b, s), lhs_batch_dims={0}, "
                     "rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, "
                     "lhs_ragged_dims={1}, rhs_group_dims={0}");
    fill_random(op.values[0], &rng, 2);
    fill_random(op.values[1], &rng, 2);
    set_ints(op.values[2], sizes);
    struct literal *result = one_op_run(&op, eval_ragged_dot);
    mpfr_t sum;
    mpfr_init2(sum, EXACT_PRECISION);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        int64_t batch = i / 24, row = i / 4 % 6, column = i % 4, end = 0, group = -1;
        for (int64_t g = 0; g < 3 && group < 0; g++) {
            end += sizes[batch * 3 + g];
            group = row < end ? g : -1;
        }
        mpfr_set_zero(sum, 1);
        for (int64_t k = 0; k < 5 && group >= 0; k++) {
            exact_add_product(
                sum, literal_get_double(op.values[0], (batch * 6 + row) * 5 + k),
                literal_get_double(op.values[1], ((group * 2 + batch) * 5 + k) * 4 + column));
        }
        check_nearest(result, i, 0, sum);
    }
    mpfr_clear(sum);
    literal_release(result);
    one_op_finish(&op);
}

START_TEST(test_ragged_free)
{
    check_ragged_free((const int64_t[]){1, 3, 2, 2, 0, 4});
    check_ragged_free((const int64_t[]){0, 0, 5, 1, 1, 1}); /* rows beyond all groups */
    check_ragged_free((const int64_t[]){6, 0, 0, 0, 9, 9});
}
END_TEST

START_TEST(test_ragged_contracting)
{
    static const int64_t sizes[] = {2, 0, 4, 1, 1, 1};
    struct one_op op;
    one_op_init(&op, "a = f32[2,3,6] parameter(0)\nb = f32[2,6,4] parameter(1)\n"
                     "s = s64[2,3] parameter(2)\n"
                     "ROOT r = f32[3,2,3,4] ragged-dot(a, b, s), lhs_batch_dims={0}, "
                     "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
                     "lhs_ragged_dims={2}");
    fill_random(op.values[0], &rng, 2);
    fill_random(op.values[1], &rng, 2);
    set_ints(op.values[2], sizes);
    struct literal *result = one_op_run(&op, eval_ragged_dot);
    mpfr_t sum;
    mpfr_init2(sum, EXACT_PRECISION);
    for (int64_t i = 0; i < literal_elements(result); i++) {
        int64_t group = i / 24, batch = i / 12 % 2, row = i / 4 % 3, column = i % 4, first = 0;
        for (int64_t g = 0; g < group; g++) {
            first += sizes[batch * 3 + g];
        }
        mpfr_set_zero(sum, 1);
        for (int64_t k = first; k < first + sizes[batch * 3 + group]; k++) {
            exact_add_product(sum, literal_get_double(op.values[0], (batch * 3 + row) * 6 + k),
                              literal_get_double(op.values[1], (batch * 6 + k) * 4 + column));
        }
        check_nearest(result, i, 0, sum);
    }
    mpfr_clear(sum);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_ragged_batch)
{
    struct one_op op;
    one_op_init(&op, "a = f32[4,2,3] parameter(0)\nb = f32[4,3,2] parameter(1)\n"
                     "s = s32[2] parameter(2)\n"
                     "ROOT r = f32[4,2,2] ragged-dot(a, b, s), lhs_batch_dims={0}, "
                     "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, "
                     "lhs_ragged_dims={0}");
    for (int64_t i = 0; i < 24; i++) {
        literal_set_double(op.values[0], i, 1);
        literal_set_double(op.values[1], i, 2);
    }
    set_ints(op.values[2], (const int64_t[]){1, 2});
    struct literal *result = one_op_run(&op, eval_ragged_dot);
    for (int64_t i = 0; i < 16; i++) {
        ck_assert_double_eq(literal_get_double(result, i), i / 4 < 3 ? 6 : 0);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Group sizes may be anything: no index comes from them unchecked. */
START_TEST(test_ragged_hostile_sizes)
{
    static const int64_t sizes[][3] = {{INT64_MAX, INT64_MAX, 1},
                                       {INT64_MIN, INT64_MIN, INT64_MAX},
                                       {-3, 5, -2},
                                       {2, INT64_MAX, INT64_MIN}};
    static const char *const bodies[] = {
        "a = f32[4,5] parameter(0)\nb = f32[3,5,2] parameter(1)\ng = s64[3] parameter(2)\n"
        "ROOT r = f32[4,2] ragged-dot(a, b, g), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}",
        "a = f32[4,5] parameter(0)\nb = f32[5,2] parameter(1)\ng = s64[3] parameter(2)\n"
        "ROOT r = f32[3,4,2] ragged-dot(a, b, g), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}, lhs_ragged_dims={1}",
        "a = f32[5,4,2] parameter(0)\nb = f32[5,2,3] parameter(1)\ng = s64[3] parameter(2)\n"
        "ROOT r = f32[5,4,3] ragged-dot(a, b, g), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}",
    };
    struct one_op op;
    one_op_init(&op, bodies[_i]);
    fill_random(op.values[0], &rng, 0);
    fill_random(op.values[1], &rng, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int g = 0; g < 3; g++) {
            literal_set_int(op.values[2], g, sizes[i][g]);
        }
        literal_release(one_op_run(&op, eval_ragged_dot));
    }
    one_op_finish(&op);
}
END_TEST

/* --- scaled-dot --- */

START_TEST(test_scaled)
{
    struct one_op op;
    one_op_init(&op, "a = f8e4m3fn[4,64] parameter(0)\nb = f8e5m2[6,64] parameter(1)\n"
                     "c = f8e8m0fnu[4,2] parameter(2)\nd = bf16[3,4] parameter(3)\n"
                     "ROOT r = f32[4,6] scaled-dot(a, b, c, d), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={1}");
    for (int i = 0; i < 4; i++) {
        fill_random(op.values[i], &rng, 3);
    }
    for (int64_t i = 0; i < 8; i++) {
        literal_set_double(op.values[2], i, ldexp(1, (int)rng_below(&rng, 9) - 4));
    }
    struct literal *result = one_op_run(&op, eval_scaled_dot);
    mpfr_t sum;
    mpfr_init2(sum, EXACT_PRECISION);
    for (int64_t i = 0; i < 24; i++) {
        int64_t row = i / 6, column = i % 6;
        mpfr_set_zero(sum, 1);
        for (int64_t k = 0; k < 64; k++) {
            double a = literal_get_double(op.values[0], row * 64 + k) *
                       literal_get_double(op.values[2], row * 2 + k / 32);
            double b = literal_get_double(op.values[1], column * 64 + k) *
                       literal_get_double(op.values[3], column / 2 * 4 + k / 16);
            exact_add_product(sum, a, b);
        }
        check_nearest(result, i, 0, sum);
    }
    mpfr_clear(sum);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* f64 by scales of f64 and f32: four factors a term, exactly; with cancellation, with products that
 * are no doubles, at the ends of the range. */
START_TEST(test_scaled_wide)
{
    static const int spreads[] = {0, 30, 400, 1000};
    static const char *const results[] = {"f64", "f32"};
    for (int s = 0; s < 4; s++) {
        for (int r = 0; r < 2; r++) {
            char body[512];
            struct one_op op;
            snprintf(body, sizeof body,
                     "a = f64[2,4,6] parameter(0)\nb = f64[2,6,5] parameter(1)\n"
                     "c = f64[2,4,3] parameter(2)\nd = f32[2,2,5] parameter(3)\n"
                     "ROOT r = %s[2,4,5] scaled-dot(a, b, c, d), lhs_batch_dims={0}, "
                     "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}",
                     results[r]);
            one_op_init(&op, body);
            for (int i = 0; i < 4; i++) {
                fill_random(op.values[i], &rng, i == 3 && spreads[s] > 100 ? 100 : spreads[s]);
            }
            for (int64_t i = 0; i < 48; i += 2) { /* pairs that nearly cancel */
                double x = literal_get_double(op.values[0], i);
                literal_set_double(op.values[0], i + 1, -nextafter(x, 2 * x));
            }
            for (int64_t i = 0; i < 60; i++) {
                literal_set_double(op.values[1], i,
                                   literal_get_double(op.values[1], i - i % 10 + i % 5));
            }
            struct literal *result = one_op_run(&op, eval_scaled_dot);
            mpfr_t sum, product;
            mpfr_init2(sum, 10000);
            mpfr_init2(product, 300);
            for (int64_t i = 0; i < 40; i++) {
                int64_t batch = i / 20, row = i / 5 % 4, column = i % 5;
                mpfr_set_zero(sum, 1);
                for (int64_t k = 0; k < 6; k++) {
                    mpfr_set_d(product, literal_get_double(op.values[0], (batch * 4 + row) * 6 + k),
                               MPFR_RNDN);
                    mpfr_mul_d(product, product,
                               literal_get_double(op.values[2], (batch * 4 + row) * 3 + k / 2),
                               MPFR_RNDN);
                    mpfr_mul_d(product, product,
                               literal_get_double(op.values[1], (batch * 6 + k) * 5 + column),
                               MPFR_RNDN);
                    mpfr_mul_d(product, product,
                               literal_get_double(op.values[3], (batch * 2 + k / 3) * 5 + column),
                               MPFR_RNDN);
                    mpfr_add(sum, sum, product, MPFR_RNDN);
                }
                check_nearest(result, i, 0, sum);
            }
            mpfr_clears(sum, product, (mpfr_ptr)NULL);
            literal_release(result);
            one_op_finish(&op);
        }
    }
}
END_TEST

/* Infinities and NaN among f64 and their scales, as IEEE 754 multiplies and adds. */
START_TEST(test_scaled_specials)
{
    static const struct {
        double a[2], scale, want;
    } cases[] = {
        {{INFINITY, 1}, 2, INFINITY},
        {{1, 2}, INFINITY, INFINITY},
        {{1, -2}, INFINITY, NAN},
        {{0, 1}, INFINITY, NAN},
        {{NAN, 1}, 1, NAN},
        {{-INFINITY, 5}, 3, -INFINITY},
        {{0x1p1023, 0x1p1023}, 4, INFINITY},
        {{0x1p1023, -0x1p1023}, 4, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct one_op op;
        one_op_init(&op, "a = f64[1,2] parameter(0)\nb = f64[2,1] parameter(1)\n"
                         "c = f64[1,1] parameter(2)\nd = f64[1,1] parameter(3)\n"
                         "ROOT r = f64[1,1] scaled-dot(a, b, c, d), lhs_contracting_dims={1}, "
                         "rhs_contracting_dims={0}");
        for (int k = 0; k < 2; k++) {
            literal_set_double(op.values[0], k, cases[i].a[k]);
            literal_set_double(op.values[1], k, 1);
        }
        literal_set_double(op.values[2], 0, cases[i].scale);
        literal_set_double(op.values[3], 0, 1);
        struct literal *result = one_op_run(&op, eval_scaled_dot);
        double got = literal_get_double(result, 0);
        ck_assert_msg(got == cases[i].want || (isnan(got) && isnan(cases[i].want)),
                      "case %zu: %a, not %a", i, got, cases[i].want);
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* Results do not depend on how many threads there are. */
START_TEST(test_threads)
{
    struct one_op op;
    one_op_init(&op, "a = f32[200,300] parameter(0)\nb = f32[300,250] parameter(1)\n"
                     "ROOT r = f32[200,250] dot(a, b), lhs_contracting_dims={1}, "
                     "rhs_contracting_dims={0}");
    fill_random(op.values[0], &rng, 0);
    fill_random(op.values[1], &rng, 0);
    struct literal *first = one_op_run(&op, eval_dot);
    pool_set_threads(1);
    struct literal *second = one_op_run(&op, eval_dot);
    ck_assert(literal_equal(first, second));
    literal_release(first);
    literal_release(second);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_dot");
    TCase *tests = tcase_create("dot");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_float_types);
    tcase_add_test(tests, test_complex);
    tcase_add_test(tests, test_integer_types);
    tcase_add_test(tests, test_dimensions);
    tcase_add_test(tests, test_in_order);
    tcase_add_test(tests, test_special_values);
    tcase_add_test(tests, test_unspecified);
    tcase_add_test(tests, test_ragged_free);
    tcase_add_test(tests, test_ragged_contracting);
    tcase_add_test(tests, test_ragged_batch);
    tcase_add_loop_test(tests, test_ragged_hostile_sizes, 0, 3);
    tcase_add_test(tests, test_scaled);
    tcase_add_test(tests, test_scaled_wide);
    tcase_add_test(tests, test_scaled_specials);
    tcase_add_test(tests, test_threads);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
