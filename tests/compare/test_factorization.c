/* Factorizations judged by what they must satisfy: the golden's own results, changed in ways that
 * keep the equations and in ways that do not. */
#include "compare/factorization.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

struct run {
    struct module *module;
    struct literal *argument, *outputs;
};

static void run_init(struct run *run, const char *body, uint64_t seed)
{
    char text[3000];
    struct error err = {0};
    snprintf(text, sizeof text, "HloModule test\nENTRY main {\n%s\n}\n", body);
    run->module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(run->module != NULL, "%s", err.message);
    run->argument = literal_zero(run->module->entry->parameters[0]->shape, &err);
    struct rng rng;
    rng_init(&rng, seed);
    for (int64_t i = 0; i < literal_elements(run->argument); i++) {
        double re = 2 * rng_uniform(&rng) - 1, im = 2 * rng_uniform(&rng) - 1;
        if (type_is_complex(run->argument->shape->type)) {
            literal_set_complex(run->argument, i, re, im);
        } else {
            literal_set_double(run->argument, i, re);
        }
    }
    run->outputs = interp_evaluate(run->module, &run->argument, 1, NULL, &err);
    ck_assert_msg(run->outputs != NULL, "%s", err.message);
    /* The elements are the test's own from here on. */
    for (int i = 0; shape_is_tuple(run->outputs->shape) && i < run->outputs->shape->count; i++) {
        run->outputs->elements[i] = literal_own_take(run->outputs->elements[i], &err);
    }
}

static void run_finish(struct run *run)
{
    literal_release(run->outputs);
    literal_release(run->argument);
    module_destroy(run->module);
}

static void check(struct run *run, int leaf, enum factorization_verdict want, const char *what)
{
    enum factorization_verdict verdicts[8];
    struct error err = {0};
    struct text text;
    struct interp_options options = {0};
    text_init(&text);
    ck_assert(factorizations_judge(run->module, &run->argument, 1, &options, run->outputs, verdicts,
                                   &text, &err));
    ck_assert_msg(verdicts[leaf] == want, "%s: leaf %d is %d, not %d: %s", what, leaf,
                  (int)verdicts[leaf], (int)want, text.data);
    text_finish(&text);
}

static double get(struct run *run, int leaf, int64_t index)
{
    return literal_get_double(run->outputs->elements[leaf], index);
}

static void set(struct run *run, int leaf, int64_t index, double value)
{
    literal_set_double(run->outputs->elements[leaf], index, value);
}

/* Column j of an n-column matrix times `factor`. */
static void scale_column(struct run *run, int leaf, int64_t rows, int64_t columns, int64_t j,
                         double factor)
{
    for (int64_t i = 0; i < rows; i++) {
        set(run, leaf, i * columns + j, get(run, leaf, i * columns + j) * factor);
    }
}

static void swap(struct run *run, int leaf, int64_t a, int64_t b)
{
    double value = get(run, leaf, a);
    set(run, leaf, a, get(run, leaf, b));
    set(run, leaf, b, value);
}

/* eigh, with the vectors transposed, copied and selected on their way out, as JAX does. */
static const char eigh_text[] =
    "a = %s[5,5] parameter(0)\n"
    "e = (%s[5,5]{0,1}, %s[5], s32[]) custom-call(a), custom_call_target=\"lapack_%ssyevd_ffi\", "
    "api_version=API_VERSION_TYPED_FFI, backend_config={mode = 86 : ui8, uplo = 76 : ui8}\n"
    "v = %s[5,5] get-tuple-element(e), index=0\nw = %s[5] get-tuple-element(e), index=1\n"
    "i = s32[] get-tuple-element(e), index=2\nz = s32[] constant(0)\n"
    "p = pred[] compare(i, z), direction=EQ\npp = pred[5,5] broadcast(p), dimensions={}\n"
    "n = %s[] constant(nan)\nnn = %s[5,5] broadcast(n), dimensions={}\n"
    "s = %s[5,5] select(pp, v, nn)\nt = %s[5,5] transpose(s), dimensions={1,0}\n"
    "c = %s[5,5] copy(t)\nm = %s[5,5] add(a, a)\n"
    "ROOT r = (%s[5,5], %s[5], %s[5,5]) tuple(c, w, m)";

START_TEST(test_eigh)
{
    const char *t = _i == 0 ? "f32" : "f64", *l = _i == 0 ? "s" : "d";
    char body[2500];
    snprintf(body, sizeof body, eigh_text, t, t, t, l, t, t, t, t, t, t, t, t, t, t, t);
    struct run run;
    run_init(&run, body, 1);
    check(&run, 0, FACTORIZATION_SATISFIED, "golden");
    check(&run, 1, FACTORIZATION_SATISFIED, "golden");
    check(&run, 2, FACTORIZATION_NOT_JUDGED, "no factor");
    for (int j = 0; j < 5; j++) { /* row 2 of Vᵀ: a vector's sign */
        set(&run, 0, 10 + j, -get(&run, 0, 10 + j));
    }
    check(&run, 0, FACTORIZATION_SATISFIED, "sign");
    set(&run, 0, 7, get(&run, 0, 7) + 1e-3);
    check(&run, 0, FACTORIZATION_VIOLATED, "an element");
    check(&run, 1, FACTORIZATION_VIOLATED, "its values with it");
    set(&run, 0, 7, NAN);
    check(&run, 0, FACTORIZATION_VIOLATED, "NaN");
    run_finish(&run);
    run_init(&run, body, 2);
    swap(&run, 1, 0, 1); /* pairs exchanged: right, but not ascending */
    for (int j = 0; j < 5; j++) {
        swap(&run, 0, j, 5 + j);
    }
    check(&run, 0, FACTORIZATION_VIOLATED, "order");
    run_finish(&run);
    run_init(&run, body, 3);
    set(&run, 1, 4, get(&run, 1, 4) * 1.001);
    check(&run, 1, FACTORIZATION_VIOLATED, "value");
    run_finish(&run);
}
END_TEST

START_TEST(test_svd)
{
    struct run run;
    const char *body =
        "a = f64[2,4,3] parameter(0)\n"
        "s = (f64[2,4,3], f64[2,3], f64[2,4,4], f64[2,3,3], s32[2]) custom-call(a), "
        "custom_call_target=\"cusolver_gesvdj_ffi\"\n"
        "w = f64[2,3] get-tuple-element(s), index=1\nu = f64[2,4,4] get-tuple-element(s), index=2\n"
        "c = f64[2,4,3] slice(u), slice={[0:2], [0:4], [0:3]}\n"
        "v = f64[2,3,3] get-tuple-element(s), index=3\n"
        "t = f64[2,3,3] transpose(v), dimensions={0,2,1}\n"
        "ROOT r = (f64[2,3], f64[2,4,3], f64[2,3,3]) tuple(w, c, t)";
    run_init(&run, body, 4);
    for (int leaf = 0; leaf < 3; leaf++) {
        check(&run, leaf, FACTORIZATION_SATISFIED, "golden");
    }
    scale_column(&run, 1, 4, 3, 1, -1); /* u₁ alone */
    check(&run, 1, FACTORIZATION_VIOLATED, "one sign");
    for (int j = 0; j < 3; j++) { /* and v₁, row 1 of Vᵀ */
        set(&run, 2, 3 + j, -get(&run, 2, 3 + j));
    }
    check(&run, 1, FACTORIZATION_SATISFIED, "both signs");
    check(&run, 2, FACTORIZATION_SATISFIED, "both signs");
    set(&run, 0, 5, -get(&run, 0, 5)); /* of the second matrix */
    check(&run, 0, FACTORIZATION_VIOLATED, "a negative value");
    run_finish(&run);
}
END_TEST

START_TEST(test_values_alone)
{
    struct run run;
    run_init(&run,
             "a = f64[4,4] parameter(0)\n"
             "e = (f64[4], f64[4], c128[4,4], c128[4,4], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_dgeev_ffi\", api_version=API_VERSION_TYPED_FFI, "
             "backend_config={compute_left = 78 : ui8, compute_right = 78 : ui8}\n"
             "x = f64[4] get-tuple-element(e), index=0\ny = f64[4] get-tuple-element(e), index=1\n"
             "ROOT r = (f64[4], f64[4]) tuple(x, y)",
             5);
    check(&run, 0, FACTORIZATION_SATISFIED, "golden");
    check(&run, 1, FACTORIZATION_SATISFIED, "golden");
    for (int leaf = 0; leaf < 2; leaf++) { /* any order */
        swap(&run, leaf, 0, 3);
        swap(&run, leaf, 1, 2);
    }
    check(&run, 0, FACTORIZATION_SATISFIED, "order");
    double kept = get(&run, 0, 1);
    set(&run, 0, 1, kept + 1e-6);
    check(&run, 0, FACTORIZATION_VIOLATED, "no eigenvalue");
    set(&run, 0, 1, get(&run, 0, 0)); /* one of them twice: the trace tells */
    check(&run, 0, FACTORIZATION_VIOLATED, "twice");
    run_finish(&run);
}
END_TEST

START_TEST(test_eig)
{
    struct run run;
    run_init(&run,
             "a = c128[4,4] parameter(0)\n"
             "e = (c128[4], c128[4,4], c128[4,4], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_zgeev_ffi\", api_version=API_VERSION_TYPED_FFI, "
             "backend_config={compute_left = 86 : ui8, compute_right = 86 : ui8}\n"
             "w = c128[4] get-tuple-element(e), index=0\n"
             "l = c128[4,4] get-tuple-element(e), index=1\n"
             "v = c128[4,4] get-tuple-element(e), index=2\n"
             "ROOT r = (c128[4], c128[4,4], c128[4,4]) tuple(w, l, v)",
             6);
    for (int leaf = 0; leaf < 3; leaf++) {
        check(&run, leaf, FACTORIZATION_SATISFIED, "golden");
    }
    for (int leaf = 1; leaf < 3; leaf++) { /* column 2 times i */
        for (int64_t i = 0; i < 4; i++) {
            struct literal *m = run.outputs->elements[leaf];
            double re = literal_get_double(m, i * 4 + 2), im = literal_get_imaginary(m, i * 4 + 2);
            literal_set_complex(m, i * 4 + 2, -im, re);
        }
    }
    check(&run, 2, FACTORIZATION_SATISFIED, "phase");
    scale_column(&run, 2, 4, 4, 2, 1); /* drops the imaginary parts */
    check(&run, 2, FACTORIZATION_VIOLATED, "no eigenvector");
    run_finish(&run);
}
END_TEST

START_TEST(test_schur)
{
    struct run run;
    run_init(&run,
             "a = f64[5,5] parameter(0)\n"
             "ROOT e = (f64[5,5], f64[5,5], f64[5], f64[5], s32[], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_dgees_ffi\", api_version=API_VERSION_TYPED_FFI, "
             "backend_config={mode = 86 : ui8, sort = 78 : ui8}",
             7);
    check(&run, 0, FACTORIZATION_SATISFIED, "golden");
    check(&run, 1, FACTORIZATION_SATISFIED, "golden");
    scale_column(&run, 1, 5, 5, 4, -1); /* Z D, D T D */
    scale_column(&run, 0, 5, 5, 4, -1);
    for (int j = 0; j < 5; j++) {
        set(&run, 0, 20 + j, -get(&run, 0, 20 + j));
    }
    check(&run, 0, FACTORIZATION_SATISFIED, "sign");
    set(&run, 0, 20, 1e-30);
    check(&run, 0, FACTORIZATION_VIOLATED, "below the diagonal");
    run_finish(&run);
}
END_TEST

START_TEST(test_qr_lu)
{
    struct run run;
    run_init(&run,
             "a = f32[5,3] parameter(0)\nq = (f32[5,3], f32[3]) custom-call(a), "
             "custom_call_target=\"Qr\"\nx = f32[5,3] get-tuple-element(q), index=0\n"
             "t = f32[3] get-tuple-element(q), index=1\n"
             "u = (f32[5,3], s32[3], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_sgetrf_ffi\", api_version=API_VERSION_TYPED_FFI\n"
             "y = f32[5,3] get-tuple-element(u), index=0\n"
             "p = s32[3] get-tuple-element(u), index=1\none = s32[] constant(1)\n"
             "ones = s32[3] broadcast(one), dimensions={}\nz = s32[3] subtract(p, ones)\n"
             "ROOT r = (f32[5,3], f32[3], f32[5,3], s32[3]) tuple(x, t, y, z)",
             8);
    for (int leaf = 0; leaf < 4; leaf++) {
        check(&run, leaf, FACTORIZATION_SATISFIED, "golden");
    }
    set(&run, 0, 1, get(&run, 0, 1) * (1 + 0x1p-22)); /* roundings */
    check(&run, 0, FACTORIZATION_SATISFIED, "roundings");
    set(&run, 0, 1, get(&run, 0, 1) * 1.01);
    check(&run, 0, FACTORIZATION_VIOLATED, "an entry of R");
    check(&run, 2, FACTORIZATION_SATISFIED, "the other call");
    literal_set_int(run.outputs->elements[3], 2, 100);
    check(&run, 3, FACTORIZATION_VIOLATED, "a pivot out of range");
    literal_set_int(run.outputs->elements[3], 2, 4);
    set(&run, 2, 14, get(&run, 2, 14) + 0.1);
    check(&run, 2, FACTORIZATION_VIOLATED, "an entry of L");
    run_finish(&run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_factorization");
    TCase *tests = tcase_create("factorization");
    tcase_add_loop_test(tests, test_eigh, 0, 2);
    tcase_add_test(tests, test_svd);
    tcase_add_test(tests, test_values_alone);
    tcase_add_test(tests, test_eig);
    tcase_add_test(tests, test_schur);
    tcase_add_test(tests, test_qr_lu);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
