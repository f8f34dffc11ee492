/* cuDNN's and oneDNN's calls against their real expression by MPFR, rounded once. The reference
 * walks over all (n, ci, co, tap, output) of the forward convolution. */
#include "custom_call_reference.h"

static void setup(void)
{
    pool_set_threads(2);
}

/* A 2-D convolution in the layout b01f_01io->b01f (all sizes by letter). */
struct geometry {
    int64_t n, h, w, ci, co, kh, kw, groups;
    int64_t stride[2], low[2], high[2], dilation[2];
    bool reversal;
    int64_t base[2]; /* holes of the input, forward only */
};

static const struct geometry geometries[] = {
    {2, 5, 6, 3, 4, 3, 2, 1, {1, 1}, {1, 0}, {1, 1}, {1, 1}, false, {1, 1}},
    {1, 7, 8, 2, 2, 3, 3, 1, {2, 3}, {1, 2}, {0, 1}, {1, 2}, false, {1, 1}},
    {2, 5, 5, 4, 6, 2, 3, 2, {2, 1}, {0, 1}, {1, 1}, {2, 1}, false, {1, 1}},
    {1, 6, 5, 2, 3, 3, 2, 1, {1, 2}, {1, 1}, {1, 0}, {1, 1}, true, {1, 1}},
};
enum { GEOMETRIES = sizeof geometries / sizeof *geometries };

/* Large enough for dgemm, in one piece and in several; holes. */
static const struct geometry large[] = {
    {1, 6, 6, 16, 8, 3, 3, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, {1, 1}},
    {1, 4, 4, 96, 6, 3, 3, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, false, {1, 1}},
    {1, 5, 4, 12, 9, 3, 2, 1, {1, 2}, {2, 1}, {1, 0}, {1, 2}, false, {2, 3}},
};
enum { LARGE = sizeof large / sizeof *large };

static int64_t out_size(const struct geometry *g, int d)
{
    int64_t in = ((d == 0 ? g->h : g->w) - 1) * g->base[d] + 1, size = d == 0 ? g->kh : g->kw;
    return (in + g->low[d] + g->high[d] - (size - 1) * g->dilation[d] - 1) / g->stride[d] + 1;
}

/* Adds every product of the forward sum to the element of the wanted array that it belongs to:
 * which = 0: dx (of y and w), 1: dw (of x and y), 2: y (of x and w). */
static void accumulate(const struct geometry *g, int which, const struct literal *first,
                       const struct literal *second, mpfr_t *sums)
{
    int64_t oh = out_size(g, 0), ow = out_size(g, 1), in = g->ci / g->groups;
    for (int64_t n = 0; n < g->n; n++) {
        for (int64_t co = 0; co < g->co; co++) {
            for (int64_t f = 0; f < in; f++) {
                int64_t ci = co / (g->co / g->groups) * in + f;
                for (int64_t at = 0; at < oh * ow * g->kh * g->kw; at++) {
                    int64_t kw = at % g->kw, kh = at / g->kw % g->kh;
                    int64_t o1 = at / (g->kw * g->kh) % ow, o0 = at / (g->kw * g->kh * ow);
                    int64_t t0 = g->reversal ? g->kh - 1 - kh : kh;
                    int64_t t1 = g->reversal ? g->kw - 1 - kw : kw;
                    int64_t i0 = o0 * g->stride[0] + t0 * g->dilation[0] - g->low[0];
                    int64_t i1 = o1 * g->stride[1] + t1 * g->dilation[1] - g->low[1];
                    if (i0 % g->base[0] != 0 || i1 % g->base[1] != 0) {
                        continue;
                    }
                    i0 /= g->base[0];
                    i1 /= g->base[1];
                    if (i0 < 0 || i0 >= g->h || i1 < 0 || i1 >= g->w) {
                        continue;
                    }
                    int64_t index[3] = {
                        ((n * g->h + i0) * g->w + i1) * g->ci + ci,
                        ((kh * g->kw + kw) * in + f) * g->co + co,
                        ((n * oh + o0) * ow + o1) * g->co + co,
                    };
                    int a = which == 0 ? 2 : 0, b = which == 1 ? 2 : 1;
                    reference_add(sums[index[which]], literal_get_double(first, index[a]),
                                  literal_get_double(second, index[b]));
                }
            }
        }
    }
}

static mpfr_t *make_sums(int64_t count)
{
    mpfr_t *sums = malloc((size_t)count * sizeof *sums);
    for (int64_t i = 0; i < count; i++) {
        reference_init(sums[i]);
    }
    return sums;
}

static void free_sums(mpfr_t *sums, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        mpfr_clear(sums[i]);
    }
    free(sums);
}

static void shapes_of(const struct geometry *g, const char *type, char text[3][64])
{
    snprintf(text[0], 64, "%s[%d,%d,%d,%d]", type, (int)g->n, (int)g->h, (int)g->w, (int)g->ci);
    snprintf(text[1], 64, "%s[%d,%d,%d,%d]", type, (int)g->kh, (int)g->kw, (int)(g->ci / g->groups),
             (int)g->co);
    snprintf(text[2], 64, "%s[%d,%d,%d,%d]", type, (int)g->n, (int)out_size(g, 0),
             (int)out_size(g, 1), (int)g->co);
}

static void window_of(const struct geometry *g, char text[256])
{
    snprintf(
        text, 256,
        "window={size=%dx%d stride=%dx%d pad=%d_%dx%d_%d lhs_dilate=%dx%d rhs_dilate=%dx%d%s}, "
        "dim_labels=b01f_01io->b01f, feature_group_count=%d",
        (int)g->kh, (int)g->kw, (int)g->stride[0], (int)g->stride[1], (int)g->low[0],
        (int)g->high[0], (int)g->low[1], (int)g->high[1], (int)g->base[0], (int)g->base[1],
        (int)g->dilation[0], (int)g->dilation[1], g->reversal ? " rhs_reversal=1x1" : "",
        (int)g->groups);
}

static void check_sums(mpfr_t *sums, const struct literal *got, const char *what)
{
    for (int64_t i = 0; i < literal_elements(got); i++) {
        check_rounded(sums[i], got, i, what);
    }
}

START_TEST(test_kinds)
{
    static const char *const types[] = {"f32", "bf16", "f64"};
    static const char *const targets[] = {"__cudnn$convBackwardInput", "__cudnn$convBackwardFilter",
                                          "__cudnn$convForward"};
    const struct geometry *g = &geometries[_i % GEOMETRIES];
    const char *type = types[_i / GEOMETRIES % 3];
    int which = _i / GEOMETRIES / 3;
    char shapes[3][64], window[256], body[2000];
    shapes_of(g, type, shapes);
    window_of(g, window);
    snprintf(body, sizeof body,
             "a = %s parameter(0)\nb = %s parameter(1)\n"
             "ROOT r = (%s, u8[16]) custom-call(a, b), %s, custom_call_target=\"%s\", "
             "backend_config={\"cudnn_conv_backend_config\":{\"conv_result_scale\":%s,"
             "\"side_input_scale\":0,\"leakyrelu_alpha\":0,\"activation_mode\":\"kNone\"}}",
             shapes[which == 0 ? 2 : 0], shapes[which == 1 ? 2 : 1], shapes[which], window,
             targets[which], _i % 2 == 0 ? "1" : "0.7");
    struct one_op op;
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    one_op_init(&op, body);
    fill_random(op.values[0], &rng, 2);
    fill_random(op.values[1], &rng, 2);
    struct literal *got = one_op_run(&op, eval_custom_call);
    int64_t count = literal_elements(got->elements[0]);
    mpfr_t *sums = make_sums(count);
    accumulate(g, which, op.values[0], op.values[1], sums);
    for (int64_t i = 0; i < count && _i % 2 == 1; i++) {
        mpfr_mul_d(sums[i], sums[i], 0.7, MPFR_RNDN);
    }
    check_sums(sums, got->elements[0], targets[which]);
    free_sums(sums, count);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

static const struct {
    const char *mode, *name;
} modes[] = {
    {"kNone", ""},     {"kSigmoid", "sigmoid"}, {"kRelu", "relu"},       {"kRelu6", "relu6"},
    {"kTanh", "tanh"}, {"kElu", "elu"},         {"kLeakyRelu", "leaky"}, {"kGeluExact", "gelu_erf"},
};
enum { MODES = sizeof modes / sizeof *modes };

START_TEST(test_bias_activation)
{
    int mode = _i % MODES, size = _i / MODES;
    const struct geometry *g = size == 0 ? &geometries[_i % 2] : &large[size - 1];
    char shapes[3][64], window[256], body[2000];
    shapes_of(g, "f32", shapes);
    window_of(g, window);
    bool side = _i % 3 != 0;
    snprintf(body, sizeof body,
             "x = %s parameter(0)\nw = %s parameter(1)\nb = f32[%d] parameter(2)\n%s%s%s"
             "ROOT r = (%s, u8[16]) custom-call(x, w, b%s), %s, "
             "custom_call_target=\"__cudnn$convBiasActivationForward\", "
             "backend_config={\"cudnn_conv_backend_config\":{\"conv_result_scale\":0.9,"
             "\"side_input_scale\":1.3,\"leakyrelu_alpha\":0.25,\"activation_mode\":\"%s\"}}",
             shapes[0], shapes[1], (int)g->co, side ? "s = " : "", side ? shapes[2] : "",
             side ? " parameter(3)\n" : "", shapes[2], side ? ", s" : "", window, modes[mode].mode);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    one_op_init(&op, body);
    for (int i = 0; i < op.count; i++) {
        fill_random(op.values[i], &rng, 2);
    }
    for (int64_t i = 0; size > 0 && i < literal_elements(op.values[0]) / 2; i++) {
        literal_set_double(op.values[0], i, 0); /* patches of zeros */
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    int64_t count = literal_elements(got->elements[0]);
    mpfr_t *sums = make_sums(count);
    accumulate(g, 2, op.values[0], op.values[1], sums);
    for (int64_t i = 0; i < count; i++) {
        mpfr_mul_d(sums[i], sums[i], 0.9, MPFR_RNDN);
        if (side) {
            reference_add(sums[i], literal_get_double(op.values[3], i), 1.3);
        }
        reference_add(sums[i], literal_get_double(op.values[2], i % g->co), 1);
        reference_activate(sums[i], modes[mode].name);
    }
    check_sums(sums, got->elements[0], modes[mode].mode);
    free_sums(sums, count);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* x → relu(conv * s0 + addend) / s1, its largest magnitude, saturated to f8. */
START_TEST(test_graph)
{
    const struct geometry *g = &geometries[0];
    char shapes[3][64], window[256], body[2000];
    shapes_of(g, "f8e4m3fn", shapes);
    window_of(g, window);
    snprintf(body, sizeof body,
             "x = %s parameter(0)\nw = %s parameter(1)\ns = f32[] parameter(2)\n"
             "c = f32%s parameter(3)\nd = f32[] parameter(4)\n"
             "ROOT r = (%s, f32[], u8[16]) custom-call(x, w, s, c, d), %s, "
             "custom_call_target=\"__cudnn$convForwardGraph\", "
             "backend_config={\"cudnn_conv_backend_config\":{\"conv_result_scale\":1,"
             "\"serialized_graph\":\"12:[f32]conv();14:[f32]scale(12);15:[f32]add(14);"
             "17:[f32]relu(15);20:[f32]amax(17);21:[f8e4m3fn]invscale(17);\"}}",
             shapes[0], shapes[1], strchr(shapes[2], '['), shapes[2], window);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 4);
    one_op_init(&op, body);
    for (int i = 0; i < op.count; i++) {
        fill_random(op.values[i], &rng, 2);
    }
    literal_set_double(op.values[2], 0, 1.7);
    literal_set_double(op.values[4], 0, 0.013);
    struct literal *got = one_op_run(&op, eval_custom_call);
    int64_t count = literal_elements(got->elements[0]);
    mpfr_t *sums = make_sums(count), most;
    reference_init(most);
    accumulate(g, 2, op.values[0], op.values[1], sums);
    int64_t saturated = 0;
    for (int64_t i = 0; i < count; i++) {
        mpfr_mul_d(sums[i], sums[i], literal_get_double(op.values[2], 0), MPFR_RNDN);
        reference_add(sums[i], literal_get_double(op.values[3], i), 1);
        reference_activate(sums[i], "relu");
        mpfr_max(most, most, sums[i], MPFR_RNDN);
        mpfr_div_d(sums[i], sums[i], literal_get_double(op.values[4], 0), MPFR_RNDN);
        if (mpfr_cmp_ui(sums[i], 448) >= 0) {
            ck_assert_double_eq(literal_get_double(got->elements[0], i), 448);
            saturated++;
        } else {
            check_rounded(sums[i], got->elements[0], i, "graph");
        }
    }
    ck_assert(saturated > 0 && saturated < count);
    check_rounded(most, got->elements[1], 0, "amax");
    mpfr_clear(most);
    free_sums(sums, count);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* What a plain convolution of f8 overflows to is open: NaN in HLO, the largest value in a library.
 */
START_TEST(test_saturation_is_open)
{
    struct one_op op;
    one_op_init(&op, "x = f8e4m3fn[1,2,1,1] parameter(0)\nw = f8e4m3fn[1,1,1,1] parameter(1)\n"
                     "ROOT r = (f8e4m3fn[1,2,1,1], u8[0]) custom-call(x, w), window={size=1x1}, "
                     "dim_labels=b01f_01io->b01f, custom_call_target=\"__cudnn$convForward\", "
                     "backend_config={\"cudnn_conv_backend_config\":{\"conv_result_scale\":1}}");
    literal_set_double(op.values[0], 0, 448);
    literal_set_double(op.values[0], 1, 224);
    literal_set_double(op.values[1], 0, 2);
    struct literal *got = one_op_run(&op, eval_custom_call);
    for (int i = 0; i < 2; i++) { /* 448 is the largest */
        ck_assert_double_eq(literal_get_double(got->elements[0], i), 448);
        ck_assert_int_eq(literal_is_unspecified(got->elements[0], i), i == 0);
    }
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

static const struct {
    const char *graph, *word;
} bad_graphs[] = {
    {"1:[f32]conv();2:[f32]sin(1);", "unknown operation sin"},
    {"1:[f32]conv();2:[f32]scale(1);", "no operand is left"},
    {"1:[f32]conv();2:[f32]relu(7);", "operands of relu"},
    {"1:[f32]conv(;", "operands of conv"},
    {"1", "cannot read"},
    {"1:[f32", "cannot read"},
    {"1:[f32]conv()x", "cannot read"},
    {"1:[f32]abcdefghijklmnopqrstuvwxyz();", "cannot read"},
};

START_TEST(test_bad_graphs)
{
    char body[2000];
    snprintf(body, sizeof body,
             "x = f32[1,4,4,1] parameter(0)\nw = f32[2,2,1,1] parameter(1)\n"
             "ROOT r = (f32[1,3,3,1], u8[0]) custom-call(x, w), window={size=2x2}, "
             "dim_labels=b01f_01io->b01f, custom_call_target=\"__cudnn$convForwardGraph\", "
             "backend_config={\"cudnn_conv_backend_config\":{\"conv_result_scale\":1,"
             "\"serialized_graph\":\"%s\"}}",
             bad_graphs[_i].graph);
    struct one_op op;
    struct error err = {0};
    one_op_init(&op, body);
    ck_assert_ptr_null(one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err));
    ck_assert_msg(strstr(err.message, bad_graphs[_i].word) != NULL, "%s", err.message);
    one_op_finish(&op);
}
END_TEST

static const char *const misfits[] = {
    "(f32[1,9,9,1], u8[0]) custom-call(x, w), window={size=2x2}, dim_labels=b01f_01io->b01f",
    "(f32[1,3,3,1], u8[0]) custom-call(x, w), window={size=2x2}",
    "(f32[1,3,3,1], u8[0]) custom-call(x, w), window={size=2}, dim_labels=b01f_01io->b01f",
    "(f32[1,3,3,1], u8[0]) custom-call(x), window={size=2x2}, dim_labels=b01f_01io->b01f",
    "(f32[1,3,3,1], u8[0]) custom-call(x, w, w), window={size=2x2}, dim_labels=b01f_01io->b01f",
    "(f32[1,3,3,1], u8[0]) custom-call(x, w), window={size=2x2 stride=9223372036854775807x1}, "
    "dim_labels=b01f_01io->b01f",
    "(f32[1,3,3,1], u8[0]) custom-call(x, w), window={size=2x2 pad=4611686018427387904_0x0_0}, "
    "dim_labels=b01f_01io->b01f",
    "(f32[1,3,3,1], u8[0]) custom-call(x, w), window={size=2x2}, dim_labels=b01f_01io->b01f, "
    "feature_group_count=3",
};

START_TEST(test_misfits)
{
    char body[2000];
    snprintf(body, sizeof body,
             "x = f32[1,4,4,1] parameter(0)\nw = f32[2,2,1,1] parameter(1)\n"
             "ROOT r = %s, custom_call_target=\"__cudnn$convForward\"",
             misfits[_i]);
    char text[2400];
    struct error err = {0};
    snprintf(text, sizeof text, "HloModule test\nENTRY main {\n%s\n}\n", body);
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    if (module == NULL) {
        return; /* refused by the reader already */
    }
    module_destroy(module);
    struct one_op op;
    one_op_init(&op, body);
    ck_assert_ptr_null(one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err));
    ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
    one_op_finish(&op);
}
END_TEST

/* --- oneDNN --- */

static const struct {
    const char *ops, *names[4]; /* in the order of application; "bias", "add", "linear" too */
} fusions[] = {
    {"", {NULL}},
    {"\"BIAS\"", {"bias"}},
    {"\"BIAS\",\"RELU\"", {"bias", "relu"}},
    {"\"TANH\"", {"tanh"}},
    {"\"BIAS\",\"GELU_ERF\"", {"bias", "gelu_erf"}},
    {"\"GELU_TANH\",\"BINARY_ADD\"", {"gelu", "add"}},
    {"\"LINEAR\",\"BIAS\",\"ELU\"", {"bias", "linear", "elu"}},
    {"\"SUM\",\"RELU6\"", {"add", "relu6"}},
    {"\"SIGMOID\"", {"sigmoid"}},
    {"\"BINARY_ADD\",\"SWISH\",\"LINEAR\"", {"add", "silu", "linear"}},
};
enum { FUSIONS = sizeof fusions / sizeof *fusions };

START_TEST(test_onednn_matmul)
{
    bool a_turned = _i % 2 == 1, b_turned = _i / 2 % 2 == 1;
    int which = _i / 4;
    bool takes = strstr(fusions[which].ops, "BIAS") || strstr(fusions[which].ops, "ADD") ||
                 strstr(fusions[which].ops, "SUM");
    char body[2000];
    snprintf(body, sizeof body,
             "a = bf16[2,%s] parameter(0)\nb = f32[2,%s] parameter(1)\nc = f32[5] parameter(2)\n"
             "ROOT r = f32[2,3,5] custom-call(a, b%s), custom_call_target=\"__onednn$matmul\", "
             "backend_config={\"onednn_matmul_config\":{\"transpose_a\":%s,\"transpose_b\":%s,"
             "\"fusions\":{\"ops\":[%s],\"alpha\":[0.3]}}}",
             a_turned ? "4,3" : "3,4", b_turned ? "5,4" : "4,5", takes ? ", c" : "",
             a_turned ? "true" : "false", b_turned ? "true" : "false", fusions[which].ops);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    one_op_init(&op, body);
    for (int i = 0; i < op.count; i++) {
        fill_random(op.values[i], &rng, 2);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t x;
    reference_init(x);
    for (int64_t at = 0; at < 30; at++) {
        int64_t n = at / 15, i = at / 5 % 3, j = at % 5;
        mpfr_set_zero(x, 1);
        for (int64_t k = 0; k < 4; k++) {
            int64_t left = n * 12 + (a_turned ? k * 3 + i : i * 4 + k);
            int64_t right = n * 20 + (b_turned ? j * 4 + k : k * 5 + j);
            reference_add(x, literal_get_double(op.values[0], left),
                          literal_get_double(op.values[1], right));
        }
        for (int f = 0; f < 4 && fusions[which].names[f] != NULL; f++) {
            const char *name = fusions[which].names[f];
            if (strcmp(name, "bias") == 0 || strcmp(name, "add") == 0) {
                reference_add(x, literal_get_double(op.values[2], j), 1);
            } else if (strcmp(name, "linear") == 0) {
                mpfr_mul_d(x, x, (double)0.3f, MPFR_RNDN);
            } else {
                reference_activate(x, name);
            }
        }
        check_rounded(x, got, at, fusions[which].ops);
    }
    mpfr_clear(x);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* The dimensions as XLA writes them: stored [2,3,4] seen as [3,2,4]; and a result that is stored
 * transposed. */
START_TEST(test_onednn_orders)
{
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 5);
    one_op_init(&op, "a = f32[2,3,4] parameter(0)\nb = f32[3,4,5] parameter(1)\n"
                     "ROOT r = f32[2,3,5] custom-call(a, b), "
                     "custom_call_target=\"__onednn$matmul\", backend_config={"
                     "\"onednn_matmul_config\":{\"lhs\":{\"tensor\":{\"dimensions\":"
                     "[\"2\",\"1\",\"3\"]}},\"rhs\":{\"tensor\":{\"dimensions\":[\"1\",\"2\","
                     "\"3\"]}},\"result\":{\"tensor\":{\"dimensions\":[\"2\",\"1\",\"3\"]}}}}");
    fill_random(op.values[0], &rng, 1);
    fill_random(op.values[1], &rng, 1);
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t x;
    reference_init(x);
    for (int64_t at = 0; at < 30; at++) { /* r[i, n, j] = Σ a[i, n, k] b[n, k, j] */
        int64_t i = at / 15, n = at / 5 % 3, j = at % 5;
        mpfr_set_zero(x, 1);
        for (int64_t k = 0; k < 4; k++) {
            reference_add(x, literal_get_double(op.values[0], (i * 3 + n) * 4 + k),
                          literal_get_double(op.values[1], (n * 4 + k) * 5 + j));
        }
        check_rounded(x, got, at, "orders");
    }
    mpfr_clear(x);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_onednn_convolution)
{
    const struct geometry *g = &geometries[_i];
    char shapes[3][64], body[2000];
    shapes_of(g, "f32", shapes);
    snprintf(body, sizeof body,
             "x = %s parameter(0)\nw = %s parameter(1)\nb = f32[%d] parameter(2)\n"
             "ROOT r = %s custom-call(x, w, b), custom_call_target=\"__onednn$convolution\", "
             "backend_config={\"onednn_conv_config\":{\"dims\":\"4\",\"input\":{\"data\":{"
             "\"feature_dim\":\"3\",\"spatial_dims\":[\"1\",\"2\"]}},\"kernel\":{\"filter\":{"
             "\"input_feature_dim\":\"2\",\"output_feature_dim\":\"3\",\"spatial_dims\":[\"0\","
             "\"1\"]}},\"output\":{\"data\":{\"feature_dim\":\"3\",\"spatial_dims\":[\"1\",\"2\"]"
             "}},\"window\":{\"pad_left\":[%d,%d],\"pad_right\":[%d,%d],\"strides\":[%d,%d],"
             "\"window_dilations\":[%d,%d]},\"fusions\":{\"ops\":[\"BIAS\",\"RELU\"]},"
             "\"feature_groups\":\"%d\"}}",
             shapes[0], shapes[1], (int)g->co, shapes[2], (int)g->low[0], (int)g->low[1],
             (int)g->high[0], (int)g->high[1], (int)g->stride[0], (int)g->stride[1],
             (int)g->dilation[0], (int)g->dilation[1], (int)g->groups);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, (uint64_t)_i);
    one_op_init(&op, body);
    for (int i = 0; i < op.count; i++) {
        fill_random(op.values[i], &rng, 2);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    int64_t count = literal_elements(got);
    mpfr_t *sums = make_sums(count);
    accumulate(g, 2, op.values[0], op.values[1], sums);
    for (int64_t i = 0; i < count; i++) {
        reference_add(sums[i], literal_get_double(op.values[2], i % g->co), 1);
        reference_activate(sums[i], "relu");
    }
    check_sums(sums, got, "onednn");
    free_sums(sums, count);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call_convolution");
    TCase *tests = tcase_create("convolution");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_kinds, 0, 9 * GEOMETRIES);
    tcase_add_loop_test(tests, test_bias_activation, 0, MODES * (1 + LARGE));
    tcase_add_test(tests, test_graph);
    tcase_add_test(tests, test_saturation_is_open);
    tcase_add_loop_test(tests, test_bad_graphs, 0, sizeof bad_graphs / sizeof *bad_graphs);
    tcase_add_loop_test(tests, test_misfits, 0, sizeof misfits / sizeof *misfits);
    tcase_add_loop_test(tests, test_onednn_matmul, 0, 4 * FUSIONS);
    tcase_add_test(tests, test_onednn_orders);
    tcase_add_loop_test(tests, test_onednn_convolution, 0, GEOMETRIES - 1);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
