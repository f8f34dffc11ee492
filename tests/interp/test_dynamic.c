/* Dynamic dimensions: an op on arrays that end before their bounds gives, within its run-time
 * sizes, what the same op gives on static arrays of those sizes. Every case is a body written
 * without shapes, which the reader infers, once after set-dimension-size and once on static
 * parameters; for all sizes. The same cases were run on XLA's CPU (lammps-jax-pjrt-cpu 0.11.2),
 * which agrees where it takes the op. Where shapes change with the sizes (reshapes), results are
 * written out. */
#include <stdio.h>

#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "tests/interp/evaluate_text.h"

static void setup(void)
{
    pool_set_threads(2);
}

/* Init values are identities: XLA (and the golden) put them in place of what is not there. */
#define ADD "add { u = f32[] parameter(0) v = f32[] parameter(1) ROOT s = f32[] add(u, v) }\n"
#define MUL "mul { u = f32[] parameter(0) v = f32[] parameter(1) ROOT s = f32[] multiply(u, v) }\n"
#define GT                                                \
    "gt { u = f32[] parameter(0) v = f32[] parameter(1) " \
    "ROOT p = pred[] compare(u, v), direction=GT }\n"

/* x is f32[4,3] or less of it; b, d are f32[3,2] and f32[3], whole. */
static const struct dynamic_case {
    const char *computations, *body;
    int least[2]; /* sizes of which there must be some */
    bool columns; /* the second dimension may be dynamic too */
} cases[] = {
    {"", "ROOT r = negate(x)", {0, 0}, true},
    {"", "y = exponential(x) ROOT r = add(x, y)", {0, 0}, true},
    {"", "y = negate(x) ROOT r = compare(x, y), direction=LT", {0, 0}, true},
    {"", "p = compare(x, x), direction=NE y = negate(x) ROOT r = select(p, x, y)", {0, 0}, true},
    {"", "l = f32[] constant(-0.5) t = f32[] constant(0.5) ROOT r = clamp(l, x, t)", {0, 0}, true},
    {"", "ROOT r = transpose(x), dimensions={1,0}", {0, 0}, true},
    {"", "ROOT r = reverse(x), dimensions={0,1}", {0, 0}, true},
    {"", "y = negate(x) ROOT r = concatenate(x, y, x), dimensions={0}", {0, 0}, true},
    {"", "y = negate(x) ROOT r = concatenate(x, y), dimensions={1}", {0, 0}, true},
    {"", "z = f32[] constant(7) ROOT r = pad(x, z), padding=1_2_1x0_1", {1, 1}, true},
    {"", "z = f32[] constant(7) ROOT r = pad(x, z), padding=-1_0x1_1_2", {1, 1}, true},
    {ADD,
     "z = f32[] constant(0) ROOT r = reduce(x, z), dimensions={0}, to_apply=add",
     {0, 0},
     true},
    {ADD,
     "z = f32[] constant(0) ROOT r = reduce(x, z), dimensions={1}, to_apply=add",
     {0, 0},
     true},
    {MUL,
     "z = f32[] constant(1) ROOT r = reduce(x, z), dimensions={0,1}, to_apply=mul",
     {0, 0},
     true},
    {ADD,
     "z = f32[] constant(0) ROOT r = reduce-window(x, z), window={size=2x1 stride=1x1}, "
     "to_apply=add",
     {2, 1},
     true},
    {ADD,
     "z = f32[] constant(0) ROOT r = reduce-window(x, z), window={size=2x2 stride=2x1 "
     "pad=1_1x0_1 lhs_dilate=2x1 rhs_dilate=1x2}, to_apply=add",
     {1, 2},
     true},
    {MUL, "ROOT r = map(x, x), dimensions={0,1}, to_apply=mul", {0, 0}, true},
    {"", "ROOT r = dot(x, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}", {0, 0}, false},
    {"", "ROOT r = dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", {0, 0}, true},
    {"",
     "ROOT r = dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}",
     {0, 0},
     true},
    {GT, "ROOT r = sort(x), dimensions={0}, to_apply=gt", {0, 0}, true},
    {GT, "ROOT r = sort(x), dimensions={1}, to_apply=gt", {0, 0}, true},
    {"gt2 { u = f32[] parameter(0) v = f32[] parameter(1) w = f32[] parameter(2) "
     "t = f32[] parameter(3) ROOT p = pred[] compare(u, v), direction=GT }\n",
     "y = negate(x) ROOT r = sort(x, y), dimensions={0}, is_stable=true, to_apply=gt2",
     {0, 0},
     true},
    {"", "ROOT r = topk(x), k=1, largest=true", {0, 1}, true},
    {"", "ROOT r = topk(x), k=1, largest=false", {0, 1}, true},
    {"", "ROOT r = batch-norm-training(x, d, d), epsilon=0.5, feature_index=1", {1, 0}, false},
    {"", "ROOT r = batch-norm-inference(x, d, d, d, d), epsilon=3, feature_index=1", {0, 0}, false},
    {"", "ROOT r = batch-norm-grad(x, d, d, d, x), epsilon=3, feature_index=1", {1, 0}, false},
    {"",
     "y = dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} "
     "ROOT r = cholesky(y), lower=true",
     {0, 0},
     true},
    {"",
     "y = dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0} "
     "ROOT r = triangular-solve(y, x), left_side=false, lower=false, transpose_a=TRANSPOSE",
     {0, 0},
     true},
    {"", "ROOT r = fft(x), fft_type=RFFT, fft_length={3}", {0, 3}, false},
    {"sum { u = f32[3] parameter(0) v = f32[3] parameter(1) s = add(u, v) "
     "ROOT t = tuple(s, s) }\n",
     "ROOT r = scan(x, d), dimensions={0}, num_carries=1, to_apply=sum",
     {0, 0},
     false},
    {"sum { u = f32[3] parameter(0) v = f32[3] parameter(1) s = add(u, v) "
     "ROOT t = tuple(s, s) }\n",
     "ROOT r = scan(x, d), dimensions={0}, num_carries=1, is_reverse=true, to_apply=sum",
     {0, 0},
     false},
    {"",
     "i = s32[1,1] constant({{1}}) ROOT r = gather(x, i), offset_dims={1}, "
     "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}",
     {2, 3},
     false},
    {"",
     "y = tuple(x, x) z = get-tuple-element(y), index=1 "
     "ROOT r = copy(z)",
     {0, 0},
     true},
    {"", "ROOT r = get-dimension-size(x), dimensions={0}", {0, 0}, true},
    {"", "ROOT r = real(x)", {0, 0}, true},
    {"", "ROOT r = is-finite(x)", {0, 0}, true},
    {"", "c = complex(x, x) ROOT r = abs(c)", {0, 0}, true},
    {"", "ROOT r = convolution(x, b), window={}, dim_labels=bf_io->bf", {0, 3}, false},
};

/* A module; rows and columns < 0: dynamic, from parameters. */
static struct module *make_module(const struct dynamic_case *the_case, int rows, int columns)
{
    char text[4096];
    int used = snprintf(text, sizeof text, "HloModule m\n%sENTRY e {\n", the_case->computations);
    if (rows < 0) {
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "w = f32[4,3] parameter(0)\nn = s32[] parameter(3)\n"
                         "m = s32[] parameter(4)\n"
                         "%s = set-dimension-size(w, n), dimensions={0}\n",
                         columns < 0 ? "h" : "x");
        if (columns < 0) {
            used += snprintf(text + used, sizeof text - (size_t)used,
                             "x = set-dimension-size(h, m), dimensions={1}\n");
        }
    } else {
        used += snprintf(text + used, sizeof text - (size_t)used, "x = f32[%d,%d] parameter(0)\n",
                         rows, columns);
    }
    snprintf(text + used, sizeof text - (size_t)used,
             "b = f32[3,2] parameter(1)\nd = f32[3] parameter(2)\n%s\n}\n", the_case->body);
    return read_module(text);
}

static struct literal *make_array(int rows, int columns, uint64_t seed)
{
    struct error err = {0};
    struct literal *array =
        literal_create(shape_array(TYPE_F32, 2, (const int64_t[]){rows, columns}), &err);
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < columns; k++) {
            /* The same number at the same place whatever the size. */
            struct rng rng;
            rng_init(&rng, seed + (uint64_t)(16 * i + k));
            literal_set_double(array, i * columns + k, 2 * rng_uniform(&rng) - 1);
        }
    }
    return array;
}

/* `got` within its run-time sizes is `want`, and none of it is open; what is beyond is. */
static void check_live(const struct literal *got, const struct literal *want, const char *where)
{
    if (got->elements != NULL) {
        for (int i = 0; i < got->shape->count; i++) {
            check_live(got->elements[i], want->elements[i], where);
        }
        return;
    }
    const struct shape *shape = got->shape;
    ck_assert_int_eq(shape->rank, want->shape->rank);
    for (int d = 0; d < shape->rank; d++) {
        int64_t size = got->dynamic_sizes != NULL ? got->dynamic_sizes[d] : shape->dimensions[d];
        ck_assert_msg(size == want->shape->dimensions[d], "dimension %d is %d, wanted %d\n%s", d,
                      (int)size, (int)want->shape->dimensions[d], where);
    }
    for (int64_t i = 0; i < literal_elements(got); i++) {
        int64_t rest = i, at = 0, stride = 1;
        bool inside = true;
        for (int d = shape->rank - 1; d >= 0; d--) {
            int64_t index = rest % shape->dimensions[d];
            rest /= shape->dimensions[d];
            inside &= index < want->shape->dimensions[d];
            at += index * stride;
            stride *= want->shape->dimensions[d];
        }
        if (!inside) {
            ck_assert_msg(literal_is_unspecified(got, i), "element %d\n%s", (int)i, where);
            continue;
        }
        double a = literal_get_double(got, i), b = literal_get_double(want, at);
        ck_assert_msg(a == b || (a != a && b != b), "element %d is %g, wanted %g\n%s", (int)i, a, b,
                      where);
        ck_assert_msg(literal_is_unspecified(got, i) == literal_is_unspecified(want, at),
                      "element %d\n%s", (int)i, where);
    }
}

static void check_size(const struct dynamic_case *the_case, int rows, int columns, bool both)
{
    char where[2048];
    snprintf(where, sizeof where, "%s%s\nof %d × %d", the_case->computations, the_case->body, rows,
             columns);
    struct module *dynamic = make_module(the_case, -1, both ? -1 : columns);
    struct module *fixed = make_module(the_case, rows, columns);
    struct error err = {0};
    char counts[2][32];
    snprintf(counts[0], sizeof counts[0], "s32[] %d", rows);
    snprintf(counts[1], sizeof counts[1], "s32[] %d", columns);
    struct literal *arguments[5] = {make_array(4, 3, 1), make_array(3, 2, 100),
                                    read_literal("f32[3] {0.5, 2, 1.5}"), read_literal(counts[0]),
                                    read_literal(counts[1])};
    struct literal *live[3] = {make_array(rows, columns, 1), arguments[1], arguments[2]};
    struct literal *got = interp_evaluate(dynamic, arguments, 5, NULL, &err);
    ck_assert_msg(got != NULL, "%s\n%s", err.message, where);
    struct literal *want = interp_evaluate(fixed, live, 3, NULL, &err);
    ck_assert_msg(want != NULL, "%s\n%s", err.message, where);
    check_live(got, want, where);
    literal_release(got);
    literal_release(want);
    literal_release(live[0]);
    for (int i = 0; i < 5; i++) {
        literal_release(arguments[i]);
    }
    module_destroy(dynamic);
    module_destroy(fixed);
}

START_TEST(test_live_part)
{
    const struct dynamic_case *the_case = &cases[_i];
    size_t before = literal_memory_in_use();
    for (int rows = the_case->least[0]; rows <= 4; rows++) {
        check_size(the_case, rows, 3, false);
        for (int columns = the_case->least[1]; the_case->columns && columns <= 3; columns++) {
            check_size(the_case, rows, columns, true);
        }
    }
    ck_assert_uint_eq(literal_memory_in_use(), before);
}
END_TEST

/* Reshapes: live elements keep their order. XLA's CPU gives the same. */
START_TEST(test_reshapes)
{
    static const char *const array = "f32[4,3] {{1,2,3},{4,5,6},{7,8,9},{10,11,12}}";
    static const struct {
        int rows, columns;
        const char *body, *want;
    } reshapes[] = {
        {2, 3, "ROOT r = f32[<=12] reshape(x)", "{1, 2, 3, 4, 5, 6}"},
        {0, 3, "ROOT r = f32[<=12] reshape(x)", "{}"},
        {4, 2, "ROOT r = f32[<=12] reshape(x)", "{1, 2, 4, 5, 7, 8, 10, 11}"},
        {3, 3, "ROOT r = f32[1,<=4,<=3,1] reshape(x)",
         "{{{{1},{2},{3}},{{4},{5},{6}},{{7},{8},{9}}}}"},
        {2, 3, "k = s32[] constant(6) ROOT r = f32[<=12] dynamic-reshape(x, k)",
         "{1, 2, 3, 4, 5, 6}"},
        {2, 3,
         "k = s32[] constant(3) l = s32[] constant(2) "
         "ROOT r = f32[<=3,<=4] dynamic-reshape(x, k, l)",
         "{{1, 2}, {3, 4}, {5, 6}}"},
        {2, 3,
         "k = s32[] constant(9) ROOT r = f32[<=4,<=3] set-dimension-size(x, k), "
         "dimensions={0}",
         "{{1, 2, 3}, {4, 5, 6}, {0, 0, 0}, {0, 0, 0}}"},
        {2, 3, "ROOT r = f32[<=4,1,<=3] bitcast(x)", "{{{1, 2, 3}}, {{4, 5, 6}}}"},
        {2, 2, "ROOT r = f32[<=4,<=3]{0,1} bitcast(x)", NULL},
    };
    for (size_t i = 0; i < sizeof reshapes / sizeof *reshapes; i++) {
        char text[1024], want[256], counts[2][32];
        snprintf(
            text, sizeof text,
            "ENTRY e { w = f32[4,3] parameter(0) n = s32[] parameter(1)\n"
            "  m = s32[] parameter(2) h = f32[<=4,3] set-dimension-size(w, n), dimensions={0}\n"
            "  x = f32[<=4,<=3] set-dimension-size(h, m), dimensions={1}\n%s }\n",
            reshapes[i].body);
        snprintf(counts[0], sizeof counts[0], "s32[] %d", reshapes[i].rows);
        snprintf(counts[1], sizeof counts[1], "s32[] %d", reshapes[i].columns);
        struct module *module = read_module(text);
        struct error err = {0};
        struct literal *got =
            evaluate_module(module, array, counts[0], counts[1], NULL, NULL, &err);
        if (reshapes[i].want == NULL) {
            /* Memory of a dynamic array in another order is that of no such array here. */
            ck_assert_ptr_nonnull(got);
            ck_assert_int_eq(got->dynamic_sizes[0], 2);
        } else {
            ck_assert_msg(got != NULL, "%s\n%s", err.message, text);
            struct text printed;
            text_init(&printed);
            text_append(&printed, shape_text(got->shape));
            snprintf(want, sizeof want, "%s", reshapes[i].want);
            int64_t live = 1, n = 0;
            for (int d = 0; d < got->shape->rank; d++) {
                live *=
                    got->dynamic_sizes != NULL ? got->dynamic_sizes[d] : got->shape->dimensions[d];
            }
            for (const char *at = want; *at != '\0'; at++) {
                n += (*at >= '0' && *at <= '9') && !(at[-1] >= '0' && at[-1] <= '9');
            }
            ck_assert_msg(live == n, "%d live elements, wanted %d\n%s", (int)live, (int)n, text);
            /* In row-major order of what is live. */
            int64_t seen = 0;
            char *at = want;
            for (int64_t e = 0; e < literal_elements(got); e++) {
                int64_t rest = e;
                bool inside = true;
                for (int d = got->shape->rank - 1; d >= 0; d--) {
                    int64_t size = got->dynamic_sizes != NULL ? got->dynamic_sizes[d]
                                                              : got->shape->dimensions[d];
                    inside &= rest % got->shape->dimensions[d] < size;
                    rest /= got->shape->dimensions[d];
                }
                if (inside) {
                    at += strcspn(at, "0123456789");
                    ck_assert_msg(literal_get_double(got, e) == strtod(at, &at), "%d\n%s",
                                  (int)seen, text);
                    seen++;
                }
            }
            text_finish(&printed);
        }
        literal_release(got);
        module_destroy(module);
    }
}
END_TEST

/* Loops and branches hand dynamic values on with their sizes. */
START_TEST(test_control)
{
    static const char text[] =
        "HloModule m\n"
        "cond { s = (s32[], f32[<=4]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  three = s32[] constant(3) ROOT l = pred[] compare(i, three), direction=LT }\n"
        "body { s = (s32[], f32[<=4]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  one = s32[] constant(1) j = s32[] add(i, one)\n"
        "  v = f32[<=4] get-tuple-element(s), index=1\n"
        "  n = s32[] get-dimension-size(v), dimensions={0} k = s32[] subtract(n, one)\n"
        "  w = f32[<=4] set-dimension-size(v, k), dimensions={0}\n"
        "  ROOT t = (s32[], f32[<=4]) tuple(j, w) }\n"
        "whole { x = f32[<=4] parameter(0) ROOT y = f32[<=4] copy(x) }\n"
        "half { x = f32[<=4] parameter(0) two = s32[] constant(2)\n"
        "  ROOT y = f32[<=4] set-dimension-size(x, two), dimensions={0} }\n"
        "ENTRY e { p = f32[4] parameter(0) i = s32[] constant(1) b = s32[] parameter(1)\n"
        "  three = s32[] constant(3) x = f32[<=4] set-dimension-size(p, three), dimensions={0}\n"
        "  s = (s32[], f32[<=4]) tuple(i, x)\n"
        "  w = (s32[], f32[<=4]) while(s), condition=cond, body=body\n"
        "  v = f32[<=4] get-tuple-element(w), index=1\n"
        "  n = s32[] get-dimension-size(v), dimensions={0}\n"
        "  c = f32[<=4] conditional(b, x, x), branch_computations={whole, half}\n"
        "  m = s32[] get-dimension-size(c), dimensions={0}\n"
        "  ROOT r = (s32[], s32[]) tuple(n, m) }\n";
    check_evaluates(text, "f32[4] {1, 2, 3, 4}", "s32[] 0", NULL, NULL, "(s32[], s32[]) (1, 3)");
    check_evaluates(text, "f32[4] {1, 2, 3, 4}", "s32[] 1", NULL, NULL, "(s32[], s32[]) (1, 2)");
}
END_TEST

/* A batch that is not whole has no transform of its fixed length. */
START_TEST(test_refusals)
{
    static const char *const modules[][2] = {
        {"ENTRY e { w = c64[4] parameter(0) n = s32[] constant(3)\n"
         "  x = c64[<=4] set-dimension-size(w, n), dimensions={0}\n"
         "  ROOT r = c64[<=4] fft(x), fft_type=FFT, fft_length={4} }\n",
         "r (fft): the run-time sizes do not fit"},
        {"ENTRY e { w = c64[4] parameter(0) n = s32[] constant(1)\n"
         "  x = c64[<=4] set-dimension-size(w, n), dimensions={0}\n"
         "  ROOT r = c64[2,<=2] bitcast(x) }\n",
         "r (bitcast): bitcast between dynamic dimensions that differ"},
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        check_fails(modules[i][0], "c64[4] {(1, 0), (2, 0), (3, 0), (4, 0)}", NULL, NULL,
                    ERROR_UNIMPLEMENTED, modules[i][1]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dynamic");
    TCase *tests = tcase_create("dynamic");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_live_part, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, test_reshapes);
    tcase_add_test(tests, test_control);
    tcase_add_test(tests, test_refusals);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
