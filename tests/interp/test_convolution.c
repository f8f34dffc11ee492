/* convolution against its definition, with exact sums by MPFR. */
#include "interp/convolution_plan.h"
#include "one_op.h"

static struct rng rng;

static void setup(void)
{
    rng_init(&rng, 23);
    pool_set_threads(2);
}

/* --- the definition (StableHLO: pad, dilate, slice, multiply) --- */

static int64_t linear(const struct shape *shape, const int64_t *index)
{
    int64_t place = 0;
    for (int d = 0; d < shape->rank; d++) {
        place = place * shape->dimensions[d] + index[d];
    }
    return place;
}

/* A pair of elements of one product. */
struct term {
    int64_t left, right;
};

/* The products that output element `place` sums; padding and holes are left out. Returns how many;
 * terms has room for all. */
static int64_t terms_of(const struct instruction *convolution, int64_t place, struct term *terms)
{
    const struct shape *lhs = convolution->operands[0]->shape;
    const struct shape *rhs = convolution->operands[1]->shape;
    const struct dim_labels *labels = attr_dim_labels(convolution);
    struct window window = attr_window(convolution);
    int64_t feature_groups = attr_int(convolution, ATTR_FEATURE_GROUP_COUNT, 1);
    int64_t batch_groups = attr_int(convolution, ATTR_BATCH_GROUP_COUNT, 1);
    int64_t out[SHAPE_MAX_RANK], l[SHAPE_MAX_RANK], r[SHAPE_MAX_RANK];
    for (int d = convolution->shape->rank - 1; d >= 0; d--) {
        out[d] = place % convolution->shape->dimensions[d];
        place /= convolution->shape->dimensions[d];
    }
    int64_t features = rhs->dimensions[labels->kernel_input_feature];
    int64_t outputs = rhs->dimensions[labels->kernel_output_feature];
    int64_t output = out[labels->output_feature];
    int64_t taps = 1, count = 0;
    for (int d = 0; d < window.rank; d++) {
        taps *= window.dimensions[d].size;
    }
    for (int64_t tap = 0; tap < taps; tap++) {
        bool exists = true;
        int64_t rest = tap;
        for (int d = window.rank - 1; d >= 0; d--) {
            const struct window_dimension *w = &window.dimensions[d];
            int64_t at = rest % w->size;
            rest /= w->size;
            int64_t input = out[labels->output_spatial[d]] * w->stride - w->padding_low +
                            at * w->window_dilation;
            exists &= input >= 0 && input % w->base_dilation == 0;
            input /= w->base_dilation;
            exists &= input < lhs->dimensions[labels->input_spatial[d]];
            l[labels->input_spatial[d]] = input;
            r[labels->kernel_spatial[d]] = w->reversal ? w->size - 1 - at : at;
        }
        for (int64_t f = 0; f < features && exists; f++) {
            l[labels->input_batch] = out[labels->output_batch] +
                                     output / (outputs / batch_groups) *
                                         (lhs->dimensions[labels->input_batch] / batch_groups);
            l[labels->input_feature] = output / (outputs / feature_groups) * features + f;
            r[labels->kernel_input_feature] = f;
            r[labels->kernel_output_feature] = output;
            terms[count++] = (struct term){linear(lhs, l), linear(rhs, r)};
        }
    }
    return count;
}

static void check_element(const struct one_op *op, const struct literal *result, int64_t i,
                          const struct term *terms, int64_t count)
{
    enum type type = result->shape->type;
    if (!type_is_float(type) && !type_is_complex(type)) {
        uint64_t sum = 0;
        bool any = false;
        for (int64_t t = 0; t < count; t++) {
            uint64_t product = (uint64_t)literal_get_int(op->values[0], terms[t].left) *
                               (uint64_t)literal_get_int(op->values[1], terms[t].right);
            sum += product;
            any |= product != 0;
        }
        int unused = 64 - type_bits(type);
        int64_t want = type == TYPE_PRED                ? any
                       : type_kind(type) == KIND_SIGNED ? (int64_t)(sum << unused) >> unused
                                                        : (int64_t)(sum << unused >> unused);
        ck_assert_int_eq(literal_get_int(result, i), want);
        return;
    }
    mpfr_t sums[2];
    for (int part = 0; part < (type_is_complex(type) ? 2 : 1); part++) {
        mpfr_init2(sums[part], EXACT_PRECISION);
        mpfr_set_zero(sums[part], 1);
        for (int64_t t = 0; t < count; t++) {
            double a = literal_get_double(op->values[0], terms[t].left);
            double b = literal_get_double(op->values[1], terms[t].right);
            double c = literal_get_imaginary(op->values[0], terms[t].left);
            double d = literal_get_imaginary(op->values[1], terms[t].right);
            if (!type_is_complex(type)) {
                exact_add_product(sums[part], a, b);
            } else {
                exact_add_product(sums[part], a, part == 0 ? b : d);
                exact_add_product(sums[part], part == 0 ? -c : c, part == 0 ? d : b);
            }
        }
        check_nearest(result, i, part, sums[part]);
        mpfr_clear(sums[part]);
    }
}

static void check_convolution(const char *body)
{
    struct one_op op;
    one_op_init(&op, body);
    fill_random(op.values[0], &rng, 2);
    fill_random(op.values[1], &rng, 2);
    struct literal *result = one_op_run(&op, eval_convolution);
    struct term *terms = malloc((size_t)(literal_elements(op.values[1]) + 1) * sizeof(struct term));
    int64_t elements = literal_elements(result);
    for (int64_t i = 0; i < elements; i += 1 + elements / 600) {
        check_element(&op, result, i, terms, terms_of(op.instruction, i, terms));
    }
    free(terms);
    literal_release(result);
    one_op_finish(&op);
}

/* --- cases: dimensions, then the rest; T stands for the type --- */

struct convolution_case {
    const char *lhs, *rhs, *result, *rest;
};

static const struct convolution_case cases[] = {
    /* pixels and planes, 1×1, strides, padding low and high, negative padding */
    {"2,9,11,5", "3,3,5,7", "2,9,11,7",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
    {"2,5,9,11", "7,5,3,3", "2,7,9,11",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01"},
    {"2,6,6,5", "1,1,5,7", "2,6,6,7", "window={size=1x1}, dim_labels=b01f_01io->b01f"},
    {"2,6,6,5", "1,1,5,7", "2,3,2,7", "window={size=1x1 stride=2x3}, dim_labels=b01f_01io->b01f"},
    {"2,5,9,11", "7,5,2,3", "2,7,4,4",
     "window={size=2x3 stride=2x3 pad=0_0x2_0}, dim_labels=bf01_oi01->bf01"},
    {"1,12,13,3", "7,7,3,4", "1,6,7,4",
     "window={size=7x7 stride=2x2 pad=3_3x3_3}, dim_labels=b01f_01io->b01f"},
    {"2,9,9,3", "3,3,3,4", "2,5,6,4",
     "window={size=3x3 pad=-1_-1x0_-1}, dim_labels=b01f_01io->b01f"},
    {"2,3,9,9", "4,3,3,3", "2,4,5,6",
     "window={size=3x3 pad=-1_-1x0_-1}, dim_labels=bf01_oi01->bf01"},
    /* dilations and reversal */
    {"2,5,6,3", "3,2,3,4", "2,8,11,4",
     "window={size=3x2 pad=1_0x1_0 lhs_dilate=2x2 rhs_dilate=1x1 rhs_reversal=1x1}, "
     "dim_labels=b01f_01io->b01f"},
    {"2,3,5,6", "4,3,3,2", "2,4,8,11",
     "window={size=3x2 pad=1_0x1_0 lhs_dilate=2x2 rhs_reversal=0x1}, dim_labels=bf01_oi01->bf01"},
    {"2,9,9,3", "3,3,3,4", "2,6,3,4",
     "window={size=3x3 pad=0_1x0_0 rhs_dilate=2x3}, dim_labels=b01f_01io->b01f"},
    {"1,3,9,9", "4,3,3,3", "1,4,3,2",
     "window={size=3x3 stride=2x2 rhs_dilate=2x3}, dim_labels=bf01_oi01->bf01"},
    {"1,5,4,2", "3,3,2,2", "1,5,2,2",
     "window={size=3x3 stride=2x2 pad=2_1x1_1 lhs_dilate=2x1 rhs_dilate=1x1 rhs_reversal=1x0}, "
     "dim_labels=b01f_01io->b01f"},
    /* ranks 0, 1, 3 */
    {"3,5", "5,4", "3,4", "dim_labels=bf_io->bf"},
    {"3,20,5", "4,5,6", "3,17,6", "window={size=4}, dim_labels=b0f_0io->b0f"},
    {"5,20,3", "6,4,5", "3,6,17", "window={size=4}, dim_labels=f0b_o0i->bf0"},
    {"1,4,5,6,3", "2,2,2,3,5", "1,3,4,5,5", "window={size=2x2x2}, dim_labels=b012f_012io->b012f"},
    {"1,3,4,5,6", "5,3,2,2,2", "1,5,3,4,5", "window={size=2x2x2}, dim_labels=bf012_oi012->bf012"},
    /* the labels of gradients: the batch is summed over */
    {"4,6,6,5", "4,5,5,7", "2,2,5,7", "window={size=5x5}, dim_labels=f01b_i01o->01bf"},
    {"6,4,5,6", "5,7,4,5", "7,2,2,5", "window={size=5x5}, dim_labels=0fb1_0oi1->f01b"},
    /* feature groups, among them depthwise with and without a multiplier */
    {"2,6,6,8", "3,3,2,12", "2,4,4,12",
     "window={size=3x3}, dim_labels=b01f_01io->b01f, feature_group_count=4"},
    {"2,8,6,6", "12,2,3,3", "2,12,4,4",
     "window={size=3x3}, dim_labels=bf01_oi01->bf01, feature_group_count=4"},
    {"2,9,9,16", "3,3,1,16", "2,9,9,16",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=16"},
    {"2,9,9,5", "3,3,1,15", "2,5,5,15",
     "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=5"},
    {"2,6,9,10", "6,1,3,5", "2,6,9,4",
     "window={size=3x5 stride=1x2 pad=1_1x1_0 rhs_reversal=1x1}, dim_labels=bf01_oi01->bf01, "
     "feature_group_count=6"},
    {"2,9,6", "4,1,6", "2,14,6",
     "window={size=4 pad=2_1 lhs_dilate=2 rhs_dilate=2}, dim_labels=b0f_0io->b0f, "
     "feature_group_count=6"},
    /* batch groups */
    {"6,5,5,4", "3,3,4,9", "2,3,3,9",
     "window={size=3x3}, dim_labels=b01f_01io->b01f, batch_group_count=3"},
    {"8,5,5,2", "5,5,2,8", "1,3,3,8",
     "window={size=5x5 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, batch_group_count=8"},
    /* nothing to do, nothing to sum */
    {"0,5,5,2", "3,3,2,4", "0,3,3,4", "window={size=3x3}, dim_labels=b01f_01io->b01f"},
    {"1,5,5,0", "3,3,0,4", "1,3,3,4", "window={size=3x3}, dim_labels=b01f_01io->b01f"},
    {"1,2,2,1", "1,1,1,3", "1,6,6,3", "window={size=1x1 pad=2_2x2_2}, dim_labels=b01f_01io->b01f"},
    /* One tap a position: batch dimensions, one and two; outer ones; beside an ordinary one. */
    {"3,4,5", "3,5,6", "3,4,6", "window={size=3 stride=2 lhs_dilate=3}, dim_labels=0bf_0io->0bf"},
    {"3,2,4,5", "3,2,5,6", "3,2,4,6",
     "window={size=3x2 stride=2x1 lhs_dilate=3x2}, dim_labels=01bf_01io->01bf"},
    {"2,3,5,1", "5,4,6,1", "2,3,4,6",
     "window={size=1x4 pad=0_0x3_3 rhs_reversal=0x1}, dim_labels=0bf1_i1o0->0b1f"},
    {"3,4,7,5", "3,2,5,6", "3,4,6,6",
     "window={size=3x2 stride=2x1 lhs_dilate=3x1}, dim_labels=0b1f_01io->0b1f"},
    {"3,4,5", "3,5,6", "3,4,6",
     "window={size=3 stride=2 lhs_dilate=3 rhs_reversal=1}, dim_labels=0bf_0io->0bf"},
    /* One tap or none, and two in some places: ordinary. */
    {"3,4,5", "3,5,6", "5,4,6",
     "window={size=3 pad=1_1 stride=2 lhs_dilate=4}, dim_labels=0bf_0io->0bf"},
    {"3,4,5", "3,5,6", "5,4,6", "window={size=3 pad=1_1 lhs_dilate=2}, dim_labels=0bf_0io->0bf"},
};

static void check_case(const struct convolution_case *test, const char *type, const char *result)
{
    char body[1024];
    snprintf(body, sizeof body,
             "a = %s[%s] parameter(0)\nb = %s[%s] parameter(1)\n"
             "ROOT r = %s[%s] convolution(a, b), %s",
             type, test->lhs, type, test->rhs, result, test->result, test->rest);
    check_convolution(body);
}

START_TEST(test_cases)
{
    static const char *const types[] = {"f32", "bf16", "f64", "c64", "s32", "s8", "pred"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_case(&cases[i], types[_i], types[_i]);
    }
}
END_TEST

START_TEST(test_mixed_types)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += 5) {
        check_case(&cases[i], "bf16", "f32");
        check_case(&cases[i], "f16", "f16");
        check_case(&cases[i], "f8e4m3fn", "f32");
        check_case(&cases[i], "s8", "s32");
        check_case(&cases[i], "u8", "u64");
        check_case(&cases[i], "c128", "c128");
        check_case(&cases[i], "f32", "f64");
        check_case(&cases[i], "s4", "s32");
        check_case(&cases[i], "u64", "u64");
        check_case(&cases[i], "f8e5m2", "f8e5m2");
        check_case(&cases[i], "f4e2m1fn", "f16");
    }
}
END_TEST

/* Large enough for several blocks of everything. */
START_TEST(test_large)
{
    static const struct convolution_case large[] = {
        {"4,40,40,64", "3,3,64,96", "4,40,40,96",
         "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"},
        {"4,64,40,40", "96,64,3,3", "4,96,40,40",
         "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01"},
        {"2,50,50,96", "5,5,1,96", "2,25,25,96",
         "window={size=5x5 stride=2x2 pad=2_2x2_2}, dim_labels=b01f_01io->b01f, "
         "feature_group_count=96"},
    };
    check_case(&large[_i], "f32", "f32");
    check_case(&large[_i], "s32", "s32");
}
END_TEST

/* The golden is the same in either layout and by either way of depthwise convolution. */
START_TEST(test_unspecified)
{
    struct one_op op;
    one_op_init(&op, "a = f32[1,4,4,1] parameter(0)\nb = f32[3,3,1,2] parameter(1)\n"
                     "ROOT r = f32[1,4,4,2] convolution(a, b), window={size=3x3 pad=1_1x1_1}, "
                     "dim_labels=b01f_01io->b01f");
    literal_mark_unspecified(op.values[0], 0); /* the corner: reaches four places */
    literal_mark_unspecified(op.values[1], 1); /* the first tap of feature 1 */
    struct literal *result = one_op_run(&op, eval_convolution);
    for (int64_t y = 0; y < 4; y++) {
        for (int64_t x = 0; x < 4; x++) {
            for (int64_t f = 0; f < 2; f++) {
                /* Padding under the tap is a known zero, but it is multiplied by the tap. */
                bool want = (y < 2 && x < 2) || (f == 1 && y > 0 && x > 0);
                ck_assert_int_eq(literal_is_unspecified(result, (y * 4 + x) * 2 + f), want);
            }
        }
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* An infinite tap over padding: 0 * inf is NaN, as jaxlib 0.10.2 gave on CPU for this module. */
START_TEST(test_padding_takes_part)
{
    struct one_op op;
    one_op_init(&op, "a = f32[1,4,1] parameter(0)\nb = f32[3,1,1] parameter(1)\n"
                     "ROOT r = f32[1,4,1] convolution(a, b), window={size=3 pad=1_1}, "
                     "dim_labels=b0f_0io->b0f");
    for (int64_t i = 0; i < 4; i++) {
        literal_set_double(op.values[0], i, 1);
    }
    literal_set_double(op.values[1], 0, INFINITY);
    literal_set_double(op.values[1], 1, 1);
    literal_set_double(op.values[1], 2, 1);
    struct literal *result = one_op_run(&op, eval_convolution);
    ck_assert(isnan(literal_get_double(result, 0)));
    ck_assert(literal_is_unspecified(result, 0));
    for (int64_t i = 1; i < 4; i++) {
        ck_assert(literal_get_double(result, i) == INFINITY);
        ck_assert(!literal_is_unspecified(result, i));
    }
    literal_release(result);
    /* A NaN of the input's own is specified. */
    literal_set_double(op.values[0], 1, 0);
    result = one_op_run(&op, eval_convolution);
    ck_assert(isnan(literal_get_double(result, 2)) && !literal_is_unspecified(result, 2));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Holes: every second window has the infinite tap over a hole; the features are told apart. */
START_TEST(test_holes_take_part)
{
    struct one_op op;
    one_op_init(&op, "a = f32[1,3,1] parameter(0)\nb = f32[2,1,2] parameter(1)\n"
                     "ROOT r = f32[1,4,2] convolution(a, b), window={size=2 lhs_dilate=2}, "
                     "dim_labels=b0f_0io->b0f");
    for (int64_t i = 0; i < 3; i++) {
        literal_set_double(op.values[0], i, 1);
    }
    for (int64_t i = 0; i < 4; i++) {
        literal_set_double(op.values[1], i, i == 2 ? INFINITY : 1);
    }
    struct literal *result = one_op_run(&op, eval_convolution);
    for (int64_t i = 0; i < 8; i++) {
        bool hole = i == 0 || i == 4; /* tap 1 of feature 0 over a hole */
        ck_assert(isnan(literal_get_double(result, i)) == hole);
        ck_assert(literal_is_unspecified(result, i) == hole);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Depthwise sums that double precision leaves open are decided exactly: 1 + 2^-24 is a tie, and a
 * tiny third term breaks it. */
START_TEST(test_depthwise_ties)
{
    struct one_op op;
    one_op_init(&op, "a = f32[1,3,8] parameter(0)\nb = f32[3,1,8] parameter(1)\n"
                     "ROOT r = f32[1,1,8] convolution(a, b), window={size=3}, "
                     "dim_labels=b0f_0io->b0f, feature_group_count=8");
    for (int64_t c = 0; c < 8; c++) {
        literal_set_double(op.values[0], c, 1);
        literal_set_double(op.values[0], 8 + c, 0x1p-24);
        literal_set_double(op.values[0], 16 + c, c == 0 ? 0 : c % 2 == 0 ? 0x1p-100 : -0x1p-100);
        for (int64_t t = 0; t < 3; t++) {
            literal_set_double(op.values[1], t * 8 + c, 1);
        }
    }
    struct literal *result = one_op_run(&op, eval_convolution);
    for (int64_t c = 0; c < 8; c++) {
        double want = c > 0 && c % 2 == 0 ? 1 + 0x1p-23 : 1;
        ck_assert(literal_get_double(result, c) == want);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* Sparse kernels: the three cases of XLA's test of its evaluator (hlo_evaluator_sparsity_test.cc),
 * whose results are 20, 180 and 60. */
START_TEST(test_sparse_as_xla)
{
    static const struct {
        int inputs, stored, block;
        int64_t places[2];
        double want;
    } xla[] = {{4, 1, 4, {1, 0}, 20}, {8, 2, 4, {1, 3}, 180}, {8, 1, 8, {5, 0}, 60}};
    struct one_op op;
    char body[512];
    snprintf(body, sizeof body,
             "a = f32[1,%d] parameter(0)\nb = f32[%d,1] parameter(1)\nc = s32[%d,1] parameter(2)\n"
             "ROOT r = f32[1,1] convolution(a, b, c), dim_labels=bf_io->bf, "
             "sparsity_config={rhs={sparsity=1x%d dimension=0 stride=1 idx=2}}",
             xla[_i].inputs, xla[_i].stored, xla[_i].stored, xla[_i].block);
    one_op_init(&op, body);
    for (int i = 0; i < xla[_i].inputs; i++) {
        literal_set_double(op.values[0], i, i + 1);
    }
    for (int i = 0; i < xla[_i].stored; i++) {
        literal_set_double(op.values[1], i, 10 * (i + 1));
        literal_set_int(op.values[2], i, xla[_i].places[i]);
    }
    struct literal *result = one_op_run(&op, eval_convolution);
    ck_assert_double_eq(literal_get_double(result, 0), xla[_i].want);
    literal_release(result);
    /* A place outside its block. */
    struct error err = {0};
    literal_set_int(op.values[2], 0, xla[_i].block);
    ck_assert_ptr_null(one_op_try(&op, eval_convolution, FIDELITY_EXACT, &err));
    ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
    one_op_finish(&op);
}
END_TEST

/* A sparse kernel is the dense one with zeros: sparse along the input features, which are neither
 * the first nor the last dimension. */
START_TEST(test_sparse_is_dense)
{
    struct one_op sparse, dense;
    one_op_init(
        &sparse,
        "a = f32[2,7,6] parameter(0)\nb = f32[3,2,5] parameter(1)\n"
        "c = s8[3,2,5] parameter(2)\n"
        "ROOT r = f32[2,5,5] convolution(a, b, c), window={size=3}, dim_labels=b0f_0io->b0f, "
        "sparsity_config={rhs={sparsity=1x3 dimension=1 stride=1 idx=2}}");
    one_op_init(&dense, "a = f32[2,7,6] parameter(0)\nb = f32[3,6,5] parameter(1)\n"
                        "ROOT r = f32[2,5,5] convolution(a, b), window={size=3}, "
                        "dim_labels=b0f_0io->b0f");
    fill_random(sparse.values[0], &rng, 3);
    fill_random(sparse.values[1], &rng, 3);
    for (int64_t i = 0; i < 84; i++) {
        literal_set_double(dense.values[0], i, literal_get_double(sparse.values[0], i));
    }
    for (int64_t i = 0; i < 30; i++) {
        int64_t place = (int64_t)rng_below(&rng, 3);
        literal_set_int(sparse.values[2], i, place);
        int64_t tap = i / 10, in = i / 5 % 2 * 3 + place;
        literal_set_double(dense.values[1], (tap * 6 + in) * 5 + i % 5,
                           literal_get_double(sparse.values[1], i));
    }
    literal_mark_unspecified(sparse.values[1], 0);
    struct literal *got = one_op_run(&sparse, eval_convolution);
    struct literal *want = one_op_run(&dense, eval_convolution);
    for (int64_t i = 0; i < 50; i++) {
        ck_assert_double_eq(literal_get_double(got, i), literal_get_double(want, i));
        ck_assert_int_eq(literal_is_unspecified(got, i), i % 5 == 0);
    }
    literal_release(got);
    literal_release(want);
    one_op_finish(&sparse);
    one_op_finish(&dense);
}
END_TEST

/* Products of −0 sum to +0, depthwise or not. */
START_TEST(test_negative_zeros)
{
    static const char *const groups[] = {"1,1,4,4", "1,1,1,4"};
    for (int i = 0; i < 2; i++) {
        char body[512];
        struct one_op op;
        snprintf(body, sizeof body,
                 "a = f32[1,2,2,4] parameter(0)\nb = f32[%s] parameter(1)\n"
                 "ROOT r = f32[1,2,2,4] convolution(a, b), window={size=1x1}, "
                 "dim_labels=b01f_01io->b01f, feature_group_count=%d",
                 groups[i], i == 0 ? 1 : 4);
        one_op_init(&op, body);
        for (int64_t k = 0; k < 16; k++) {
            literal_set_double(op.values[0], k, -0.0);
        }
        for (int64_t k = 0; k < literal_elements(op.values[1]); k++) {
            literal_set_double(op.values[1], k, 1);
        }
        struct literal *result = one_op_run(&op, eval_convolution);
        for (int64_t k = 0; k < 16; k++) {
            ck_assert(!signbit(literal_get_double(result, k)));
        }
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

/* Which dimensions have one tap a position. */
START_TEST(test_single_taps)
{
    struct convolution_dimension ordinary = {.input_size = 5,
                                             .output_size = 4,
                                             .kernel_size = 2,
                                             .stride = 1,
                                             .tap_step = 1,
                                             .hole_step = 1};
    struct convolution_dimension batch = {.input_size = 3,
                                          .output_size = 3,
                                          .kernel_size = 3,
                                          .stride = 2,
                                          .tap_step = 1,
                                          .hole_step = 3};
    struct convolution_dimension outer = {.input_size = 1,
                                          .output_size = 4,
                                          .kernel_size = 4,
                                          .stride = 1,
                                          .padding = 3,
                                          .tap_step = 1,
                                          .hole_step = 1};
    char array[64];
    struct convolution convolution = {.format = {.type = TYPE_F32},
                                      .input_type = TYPE_F32,
                                      .kernel_type = TYPE_F32,
                                      .input = array,
                                      .kernel = array,
                                      .output = array,
                                      .rank = 2,
                                      .dimensions = {ordinary, batch}};
    ck_assert_int_eq(convolution_single_taps(&convolution), 1);
    convolution.dimensions[0] = outer;
    ck_assert_int_eq(convolution_single_taps(&convolution), 0);
    struct convolution part = convolution_at(&convolution, 0, 2);
    ck_assert_int_eq(convolution_single_taps(&part), 1);
    convolution.dimensions[0] = convolution.dimensions[1] = ordinary;
    ck_assert_int_eq(convolution_single_taps(&convolution), -1);
    convolution.dimensions[0].stride = 3; /* the last position has no tap */
    convolution.dimensions[0].hole_step = 4;
    ck_assert_int_eq(convolution_single_taps(&convolution), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_convolution");
    TCase *tests = tcase_create("convolution");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_cases, 0, 7);
    tcase_add_test(tests, test_mixed_types);
    tcase_add_test(tests, test_single_taps);
    tcase_add_loop_test(tests, test_large, 0, 3);
    tcase_add_test(tests, test_unspecified);
    tcase_add_test(tests, test_padding_takes_part);
    tcase_add_test(tests, test_holes_take_part);
    tcase_add_test(tests, test_depthwise_ties);
    tcase_add_loop_test(tests, test_sparse_as_xla, 0, 3);
    tcase_add_test(tests, test_sparse_is_dense);
    tcase_add_test(tests, test_negative_zeros);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
