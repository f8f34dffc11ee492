/* LAPACK's and cuSOLVER's calls with unique results: against textbook recurrences by MPFR, rounded
 * once; complex ones by what they must satisfy. That signs and pivots are LAPACK's is held against
 * jaxlib 0.10.2 (recorded values). */
#include "custom_call_matrices.h"

static void setup(void)
{
    pool_set_threads(2);
}

static void check_bits(const struct literal *got, int64_t index, mpfr_srcptr exact,
                       const char *what)
{
    check_rounded(exact, got, index, what);
}

static mpfr_t *make(int64_t count)
{
    mpfr_t *all = malloc((size_t)count * sizeof *all);
    for (int64_t i = 0; i < count; i++) {
        mpfr_init2(all[i], 400);
        mpfr_set_zero(all[i], 1);
    }
    return all;
}

static void release(mpfr_t *all, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        mpfr_clear(all[i]);
    }
    free(all);
}

/* x −= a * b */
static void subtract_product(mpfr_t x, mpfr_srcptr a, mpfr_srcptr b)
{
    mpfr_t t;
    mpfr_init2(t, 400);
    mpfr_mul(t, a, b, MPFR_RNDN);
    mpfr_sub(x, x, t, MPFR_RNDN);
    mpfr_clear(t);
}

static void load(mpfr_t *to, const struct literal *from)
{
    for (int64_t i = 0; i < literal_elements(from); i++) {
        mpfr_set_d(to[i], literal_get_double(from, i), MPFR_RNDN);
    }
}

START_TEST(test_lu)
{
    enum { M = 6, N = 5 };
    char body[500];
    snprintf(body, sizeof body,
             "a = %s[6,5] parameter(0)\nROOT r = (%s[6,5]{0,1}, s32[5], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_%sgetrf_ffi\", api_version=API_VERSION_TYPED_FFI",
             real_types[_i], real_types[_i], letters[_i]);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 11);
    one_op_init(&op, body);
    fill_random(op.values[0], &rng, 2);
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t *a = make(M * N);
    load(a, op.values[0]);
    for (int k = 0; k < N; k++) {
        int best = k;
        for (int i = k + 1; i < M; i++) {
            best = mpfr_cmpabs(a[i * N + k], a[best * N + k]) > 0 ? i : best;
        }
        ck_assert_int_eq(literal_get_int(got->elements[1], k), best + 1);
        for (int j = 0; j < N; j++) {
            mpfr_swap(a[k * N + j], a[best * N + j]);
        }
        for (int i = k + 1; i < M; i++) {
            mpfr_div(a[i * N + k], a[i * N + k], a[k * N + k], MPFR_RNDN);
            for (int j = k + 1; j < N; j++) {
                subtract_product(a[i * N + j], a[i * N + k], a[k * N + j]);
            }
        }
    }
    for (int i = 0; i < M * N; i++) {
        check_bits(got->elements[0], i, a[i], "lu");
    }
    ck_assert_int_eq(literal_get_int(got->elements[2], 0), 0);
    ck_assert(!literal_has_unspecified(got));
    release(a, M * N);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* A zero pivot: info, no division; a tie after the first step: open. */
START_TEST(test_lu_singular)
{
    struct one_op op;
    one_op_init(&op, "a = f64[2,3,3] parameter(0)\n"
                     "ROOT r = (f64[2,3,3], s32[2,3], s32[2]) custom-call(a), "
                     "custom_call_target=\"cusolver_getrf_ffi\"");
    static const double a[18] = {0, 1, 2, 0, 3, 4, 0, 5, 7, 1, 1, 1, 1, 2, 3, 1, 0, 5};
    for (int i = 0; i < 18; i++) {
        literal_set_double(op.values[0], i, a[i]);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    ck_assert_int_eq(literal_get_int(got->elements[2], 0), 1);
    ck_assert(!literal_is_unspecified(got->elements[2], 0));
    ck_assert_int_eq(literal_get_int(got->elements[2], 1), 0);
    ck_assert(literal_is_unspecified(got->elements[1], 3)); /* |1| and |−1| tie in step 2 */
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_cholesky)
{
    enum { N = 5 };
    bool lower = _i % 2 == 0;
    int type = _i / 2;
    char body[500];
    snprintf(body, sizeof body,
             "a = %s[5,5] parameter(0)\nROOT r = (%s[5,5], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_%spotrf_ffi\", api_version=API_VERSION_TYPED_FFI, "
             "backend_config={uplo = %d : ui8}",
             real_types[type], real_types[type], letters[type], lower ? 'L' : 'U');
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 12);
    one_op_init(&op, body);
    fill_random(op.values[0], &rng, 0);
    for (int i = 0; i < N; i++) {
        literal_set_double(op.values[0], i * N + i, 4 + i);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t *a = make(N * N), *l = make(N * N);
    load(a, op.values[0]);
    for (int j = 0; j < N; j++) {
        for (int i = j; i < N; i++) {
            mpfr_ptr entry = l[i * N + j];
            mpfr_set(entry, lower ? a[i * N + j] : a[j * N + i], MPFR_RNDN);
            for (int k = 0; k < j; k++) {
                subtract_product(entry, l[i * N + k], l[j * N + k]);
            }
            if (i == j) {
                mpfr_sqrt(entry, entry, MPFR_RNDN);
            } else {
                mpfr_div(entry, entry, l[j * N + j], MPFR_RNDN);
            }
            check_bits(got->elements[0], lower ? i * N + j : j * N + i, entry, "cholesky");
            if (i != j) { /* the other triangle is a's */
                int other = lower ? j * N + i : i * N + j;
                ck_assert_double_eq(literal_get_double(got->elements[0], other),
                                    literal_get_double(op.values[0], other));
            }
        }
    }
    literal_release(got);
    literal_set_double(op.values[0], 2 * N + 2, -1);
    got = one_op_run(&op, eval_custom_call);
    ck_assert_int_eq(literal_get_int(got->elements[1], 0), 3);
    ck_assert(literal_is_unspecified(got->elements[0], 0));
    literal_release(got);
    release(a, N * N);
    release(l, N * N);
    one_op_finish(&op);
}
END_TEST

/* R is −sign(…) times the factor of AᵀA's Cholesky; rows of R have that sign as a whole. */
START_TEST(test_qr)
{
    enum { M = 6, N = 4 };
    char body[500];
    snprintf(body, sizeof body,
             "a = %s[6,4] parameter(0)\nROOT r = (%s[6,4], %s[4]) custom-call(a), "
             "custom_call_target=\"lapack_%sgeqrf_ffi\", api_version=API_VERSION_TYPED_FFI",
             real_types[_i], real_types[_i], real_types[_i], letters[_i]);
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 13);
    one_op_init(&op, body);
    fill_random(op.values[0], &rng, 1);
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t *a = make(M * N), *r = make(N * N);
    load(a, op.values[0]);
    for (int j = 0; j < N; j++) {
        for (int i = j; i < N; i++) { /* Cholesky of AᵀA, upper: row j */
            mpfr_ptr entry = r[j * N + i];
            mpfr_set_zero(entry, 1);
            for (int k = 0; k < M; k++) {
                mpfr_t minus;
                mpfr_init2(minus, 400);
                mpfr_neg(minus, a[k * N + j], MPFR_RNDN);
                subtract_product(entry, minus, a[k * N + i]);
                mpfr_clear(minus);
            }
            for (int k = 0; k < j; k++) {
                subtract_product(entry, r[k * N + j], r[k * N + i]);
            }
            if (i == j) {
                mpfr_sqrt(entry, entry, MPFR_RNDN);
            } else {
                mpfr_div(entry, entry, r[j * N + j], MPFR_RNDN);
            }
        }
        bool negative = literal_get_double(got->elements[0], j * N + j) < 0;
        for (int i = j; i < N; i++) {
            if (negative) {
                mpfr_neg(r[j * N + i], r[j * N + i], MPFR_RNDN);
            }
            check_bits(got->elements[0], j * N + i, r[j * N + i], "qr");
            if (negative) {
                mpfr_neg(r[j * N + i], r[j * N + i], MPFR_RNDN);
            }
        }
        if (j == 0) { /* the sign of β is against that of the first entry */
            ck_assert(negative == (literal_get_double(op.values[0], 0) > 0));
        }
    }
    release(a, M * N);
    release(r, N * N);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* jaxlib 0.10.2 (LAPACK) on the same matrix: signs, pivots, taus, order of columns. */
START_TEST(test_as_lapack)
{
    static const double a[9] = {1, -2, 3, 4, 5, -6, -7, 8, 9};
    static const struct {
        const char *target, *shape;
        int part, count;
        double want[9];
    } cases[] = {
        {"lapack_dgeqrf_ffi",
         "(f64[3,3], f64[3])",
         0,
         9,
         {-8.124038404635959, 4.677476657214645, 10.33968524226395, 0.438402363362213,
          -8.433339322072372, 1.4660427965085345, -0.7672041358838727, 0.17584831868128303,
          4.116020846608349}},
        {"lapack_dgeqrf_ffi",
         "(f64[3,3], f64[3])",
         1,
         3,
         {1.1230914909793328, 1.940009792689198, 0.0}},
        {"lapack_dgehrd_ffi",
         "(f64[3,3], f64[2], s32[])",
         0,
         9,
         {1.0, 3.597007303087045, -0.24806946917841688, -8.06225774829855, 7.1538461538461515,
          9.23076923076923, -0.5803225354712214, -4.7692307692307665, 6.846153846153846}},
        {"lapack_dgehrd_ffi", "(f64[3,3], f64[2], s32[])", 1, 2, {1.4961389383568338, 0.0}},
        {"lapack_dsytrd_ffi",
         "(f64[3,3], f64[3], f64[2], f64[2], s32[])",
         1,
         3,
         {1.0, 1.1230769230769235, 12.876923076923077}},
        {"lapack_dsytrd_ffi",
         "(f64[3,3], f64[3], f64[2], f64[2], s32[])",
         2,
         2,
         {-8.06225774829855, 5.784615384615384}},
        {"lapack_dsytrd_ffi",
         "(f64[3,3], f64[3], f64[2], f64[2], s32[])",
         3,
         2,
         {1.4961389383568338, 0.0}},
        {"lapack_dgesdd_ffi",
         "(f64[3,3], f64[3], f64[3,3], f64[3,3], s32[])",
         1,
         3,
         {14.428023632158306, 8.455078078571969, 2.31166363364853}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[600];
        snprintf(body, sizeof body,
                 "a = f64[3,3] parameter(0)\nROOT r = %s custom-call(a), "
                 "custom_call_target=\"%s\", api_version=API_VERSION_TYPED_FFI, "
                 "backend_config={high = 3 : i32, low = 1 : i32, mode = 65 : ui8, uplo = 76 : ui8}",
                 cases[i].shape, cases[i].target);
        struct one_op op;
        one_op_init(&op, body);
        for (int k = 0; k < 9; k++) {
            literal_set_double(op.values[0], k, a[k]);
        }
        struct literal *got = one_op_run(&op, eval_custom_call);
        for (int k = 0; k < cases[i].count; k++) {
            double value = literal_get_double(got->elements[cases[i].part], k);
            ck_assert_msg(fabs(value - cases[i].want[k]) < 2e-14,
                          "%s part %d: [%d] %.17g, not %.17g", cases[i].target, cases[i].part, k,
                          value, cases[i].want[k]);
        }
        literal_release(got);
        one_op_finish(&op);
    }
}
END_TEST

/* Q from reflectors, and products with it: A = Q R, Q (Qᴴ C) = C. */
START_TEST(test_reflectors)
{
    enum { M = 5, N = 3 };
    const char *type = wide_types[_i], *letter = letters[_i == 0 ? 1 : 3];
    char body[600];
    struct one_op op, form, apply;
    snprintf(body, sizeof body,
             "a = %s[5,3] parameter(0)\nROOT r = (%s[5,3], %s[3]) custom-call(a), "
             "custom_call_target=\"lapack_%sgeqrf_ffi\", api_version=API_VERSION_TYPED_FFI",
             type, type, type, letter);
    one_op_init(&op, body);
    fill_matrix(op.values[0], 60);
    struct literal *qr = one_op_run(&op, eval_custom_call);
    snprintf(body, sizeof body,
             "a = %s[5,3] parameter(0)\nt = %s[3] parameter(1)\nROOT r = %s[5,3] "
             "custom-call(a, t), custom_call_target=\"lapack_%s%sgqr_ffi\", "
             "api_version=API_VERSION_TYPED_FFI",
             type, type, type, letter, _i == 0 ? "or" : "un");
    one_op_init(&form, body);
    for (int i = 0; i < 2; i++) {
        literal_release(form.values[i]);
        form.values[i] = literal_retain(qr->elements[i]);
    }
    struct literal *q = one_op_run(&form, eval_custom_call);
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            double complex sum = 0;
            for (int k = 0; k <= j; k++) {
                sum += at(q, i * N + k) * at(qr->elements[0], k * N + j);
            }
            ck_assert(cabs(sum - at(op.values[0], i * N + j)) < 1e-14);
        }
    }
    ck_assert(orthogonality(q, M, N) < 1e-14);
    for (int left = 0; left < 2; left++) { /* Q (Qᴴ C) = C, (C Q) Qᴴ = C */
        struct literal *c = NULL;
        for (int step = 0; step < 2; step++) {
            bool adjoint = left ? step == 0 : step == 1;
            snprintf(
                body, sizeof body,
                "a = %s[5,3] parameter(0)\nt = %s[3] parameter(1)\nc = %s[%s] parameter(2)\n"
                "ROOT r = %s[%s] custom-call(a, t, c), "
                "custom_call_target=\"lapack_%s%smqr_ffi\", "
                "api_version=API_VERSION_TYPED_FFI, backend_config={left = %s, transpose = %s}",
                type, type, type, left ? "5,2" : "2,5", type, left ? "5,2" : "2,5", letter,
                _i == 0 ? "or" : "un", left ? "true" : "false", adjoint ? "true" : "false");
            one_op_init(&apply, body);
            for (int i = 0; i < 2; i++) {
                literal_release(apply.values[i]);
                apply.values[i] = literal_retain(qr->elements[i]);
            }
            fill_matrix(apply.values[2], 61);
            if (step == 1) {
                struct literal *given = literal_retain(apply.values[2]);
                literal_release(apply.values[2]);
                apply.values[2] = c;
                c = given;
            }
            struct literal *next = one_op_run(&apply, eval_custom_call);
            if (step == 0) {
                c = next;
            } else {
                for (int i = 0; i < 10; i++) {
                    ck_assert(cabs(at(next, i) - at(c, i)) < 1e-14);
                }
                literal_release(next);
                literal_release(c);
            }
            one_op_finish(&apply);
        }
    }
    literal_release(q);
    literal_release(qr);
    one_op_finish(&op);
    one_op_finish(&form);
}
END_TEST

/* --- systems, and what is odd --- */

START_TEST(test_systems)
{
    struct one_op op;
    /* X T = B with T upper by uplo, in LAPACK's letters: side R, trans C. */
    one_op_init(&op, "a = c128[3,3] parameter(0)\nb = c128[2,3] parameter(1)\n"
                     "ROOT r = c128[2,3] custom-call(a, b), "
                     "custom_call_target=\"lapack_ztrsm_ffi\", api_version=API_VERSION_TYPED_FFI, "
                     "backend_config={diag = 78 : ui8, side = 82 : ui8, trans_x = 67 : ui8, uplo = "
                     "85 : ui8}");
    fill_matrix(op.values[0], 70);
    fill_matrix(op.values[1], 71);
    struct literal *x = one_op_run(&op, eval_custom_call);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) { /* Σ_k x[i,k] conj(a[j,k]), k ≥ j */
            double complex sum = 0;
            for (int k = j; k < 3; k++) {
                sum += at(x, i * 3 + k) * conj(at(op.values[0], j * 3 + k));
            }
            ck_assert(cabs(sum - at(op.values[1], i * 3 + j)) < 1e-12);
        }
    }
    literal_release(x);
    one_op_finish(&op);
    one_op_init(&op, "l = f64[6] parameter(0)\nd = f64[6] parameter(1)\nu = f64[6] parameter(2)\n"
                     "b = f64[6,2] parameter(3)\nROOT r = (f64[6], f64[6], f64[6], f64[6,2], "
                     "s32[]) custom-call(l, d, u, b), custom_call_target=\"lapack_dgtsv_ffi\", "
                     "api_version=API_VERSION_TYPED_FFI");
    for (int i = 0; i < 4; i++) {
        fill_matrix(op.values[i], (uint64_t)(80 + i));
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 2; j++) {
            double sum = literal_get_double(op.values[1], i) *
                         literal_get_double(got->elements[3], i * 2 + j);
            if (i > 0) {
                sum += literal_get_double(op.values[0], i) *
                       literal_get_double(got->elements[3], (i - 1) * 2 + j);
            }
            if (i < 5) {
                sum += literal_get_double(op.values[2], i) *
                       literal_get_double(got->elements[3], (i + 1) * 2 + j);
            }
            ck_assert(fabs(sum - literal_get_double(op.values[3], i * 2 + j)) < 1e-12);
        }
    }
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* The older forms give what the newer ones give, where the older ones have it. */
START_TEST(test_older)
{
    static const struct {
        const char *older, *newer;
        int count, map[6];
    } cases[] = {
        {"(f64[4,4], s32[4], s32[]) custom-call(x, x, x, a), "
         "custom_call_target=\"lapack_dgetrf\"",
         "(f64[4,4], s32[4], s32[]) custom-call(a), custom_call_target=\"lapack_dgetrf_ffi\"",
         3,
         {0, 1, 2}},
        {"(f64[4,4], f64[4], s32[], f64[9]) custom-call(x, x, x, x, a), "
         "custom_call_target=\"lapack_dgeqrf\"",
         "(f64[4,4], f64[4]) custom-call(a), custom_call_target=\"lapack_dgeqrf_ffi\"",
         2,
         {0, 1}},
        {"(f64[4,4], f64[4], f64[4,4], f64[4,4], s32[], s32[3], f64[5]) "
         "custom-call(x, x, x, x, x, x, a), custom_call_target=\"lapack_dgesdd\"",
         "(f64[4,4], f64[4], f64[4,4], f64[4,4], s32[]) custom-call(a), "
         "custom_call_target=\"lapack_dgesdd_ffi\", backend_config={mode = 65 : ui8}",
         5,
         {0, 1, 2, 3, 4}},
        {"(f64[4,4], f64[4], s32[], f64[2], s32[2]) custom-call(x, x, x, a), "
         "custom_call_target=\"lapack_dsyevd\"",
         "(f64[4,4], f64[4], s32[]) custom-call(a), custom_call_target=\"lapack_dsyevd_ffi\", "
         "backend_config={mode = 86 : ui8, uplo = 76 : ui8}",
         3,
         {0, 1, 2}},
        {"(f64[4,4], f64[4,4], f64[4,4], f64[4], f64[4], c128[4,4], c128[4,4], s32[]) "
         "custom-call(x, x, v, v, a), custom_call_target=\"lapack_dgeev\"",
         "(f64[4], f64[4], c128[4,4], c128[4,4], s32[]) custom-call(a), "
         "custom_call_target=\"lapack_dgeev_ffi\", backend_config={compute_left = 86 : ui8, "
         "compute_right = 86 : ui8}",
         5,
         {3, 4, 5, 6, 7}},
        {"(f64[4,4], f64[4], f64[4], f64[4,4], s32[], s32[]) custom-call(x, x, v, n, a), "
         "custom_call_target=\"lapack_dgees\"",
         "(f64[4,4], f64[4,4], f64[4], f64[4], s32[], s32[]) custom-call(a), "
         "custom_call_target=\"lapack_dgees_ffi\", backend_config={mode = 86 : ui8, sort = 78 : "
         "ui8}",
         6,
         {0, 3, 1, 2, 4, 5}},
        {"(f64[4,4], f64[4], f64[3], f64[3], s32[], f64[1]) custom-call(x, x, x, x, x, a), "
         "custom_call_target=\"lapack_dsytrd\"",
         "(f64[4,4], f64[4], f64[3], f64[3], s32[]) custom-call(a), "
         "custom_call_target=\"lapack_dsytrd_ffi\", backend_config={uplo = 76 : ui8}",
         5,
         {0, 1, 2, 3, 4}},
        {"(f64[4,4]) custom-call(x, x, z, z, x, x, x, one, a, a), "
         "custom_call_target=\"blas_dtrsm\"",
         "(f64[4,4]) custom-call(a, a), custom_call_target=\"lapack_dtrsm_ffi\", backend_config={"
         "side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8}",
         1,
         {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct literal *results[2];
        struct module *modules[2];
        for (int form = 0; form < 2; form++) {
            char text[2000];
            struct error err = {0};
            snprintf(text, sizeof text,
                     "HloModule test\nENTRY main {\na = f64[4,4] parameter(0)\n"
                     "x = s32[] constant(1)\nz = s32[] constant(0)\nv = u8[] constant(86)\n"
                     "n = u8[] constant(78)\none = f64[] constant(1)\nROOT r = %s, "
                     "api_version=API_VERSION_TYPED_FFI\n}\n",
                     form == 0 ? cases[i].older : cases[i].newer);
            modules[form] = text_read_module(text, strlen(text), "test", 1, &err);
            ck_assert_msg(modules[form] != NULL, "%s", err.message);
            struct literal *a = literal_zero(modules[form]->entry->parameters[0]->shape, &err);
            fill_matrix(a, 90);
            results[form] = interp_evaluate(modules[form], &a, 1, NULL, &err);
            ck_assert_msg(results[form] != NULL, "%s", err.message);
            literal_release(a);
        }
        for (int k = 0; k < cases[i].count; k++) {
            const struct literal *older = results[0]->elements[cases[i].map[k]];
            ck_assert_msg(literal_equal(older, results[1]->elements[k]), "%s: result %d",
                          cases[i].older, k);
        }
        for (int form = 0; form < 2; form++) {
            literal_release(results[form]);
            module_destroy(modules[form]);
        }
    }
}
END_TEST

/* Random123's known answers for Threefry-2x32, 20 rounds (kat_vectors). */
START_TEST(test_threefry)
{
    static const uint32_t vectors[3][6] = {
        {0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7},
        {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0},
    };
    struct one_op op;
    one_op_init(&op, "a = u32[3] parameter(0)\nb = u32[3] parameter(1)\nc = u32[3] parameter(2)\n"
                     "d = u32[3] parameter(3)\nROOT r = (u32[3], u32[3]) custom-call(a, b, c, d), "
                     "custom_call_target=\"cu_threefry2x32_ffi\"");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            literal_set_int(op.values[k], i, vectors[i][k]);
        }
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(literal_get_int(got->elements[0], i), vectors[i][4]);
        ck_assert_int_eq(literal_get_int(got->elements[1], i), vectors[i][5]);
    }
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* Wide exponents, no finite numbers, empty and wrong shapes. */
START_TEST(test_odd)
{
    struct one_op op;
    one_op_init(&op, "a = f64[3,3] parameter(0)\nROOT r = (f64[3,3], f64[3], f64[3,3], f64[3,3], "
                     "s32[]) custom-call(a), custom_call_target=\"cusolver_gesvdj_ffi\"");
    for (int scale = -1000; scale <= 1000; scale += 250) {
        for (int i = 0; i < 9; i++) {
            literal_set_double(op.values[0], i, i % 4 == 0 ? ldexp(i / 4 + 1, scale) : 0);
        }
        struct literal *got = one_op_run(&op, eval_custom_call);
        for (int i = 0; i < 3; i++) {
            ck_assert_double_eq(literal_get_double(got->elements[1], i), ldexp(3 - i, scale));
        }
        literal_release(got);
    }
    literal_set_double(op.values[0], 4, INFINITY);
    struct literal *got = one_op_run(&op, eval_custom_call);
    ck_assert(isnan(literal_get_double(got->elements[1], 0)));
    ck_assert(literal_is_unspecified(got->elements[1], 0));
    literal_release(got);
    one_op_finish(&op);
    static const char *const wrong[] = {
        "a = f64[3] parameter(0)\nROOT r = (f64[3], f64[3]) custom-call(a), "
        "custom_call_target=\"Qr\"",
        "a = f64[3,4] parameter(0)\nROOT r = (f64[3,4], s32[]) custom-call(a), "
        "custom_call_target=\"lapack_dpotrf_ffi\"",
        "a = s32[3,3] parameter(0)\nROOT r = (s32[3,3], s32[3]) custom-call(a), "
        "custom_call_target=\"Qr\"",
        "a = f64[3,3] parameter(0)\nROOT r = f64[3,3] custom-call(a), "
        "custom_call_target=\"lapack_dgetrf_ffi\"",
        "a = f64[3,3] parameter(0)\nt = f64[9] parameter(1)\nROOT r = f64[3,3] custom-call(a, t), "
        "custom_call_target=\"lapack_dorgqr_ffi\"",
        "a = f64[3,3] parameter(0)\nROOT r = (f64[3,3], f64[2], s32[]) custom-call(a), "
        "custom_call_target=\"lapack_dgehrd_ffi\", backend_config={high = 900 : i32, low = -4 : "
        "i32}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error err = {0};
        one_op_init(&op, wrong[i]);
        ck_assert_ptr_null(one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err));
        ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
        one_op_finish(&op);
    }
    one_op_init(&op, "a = f64[2,0,0] parameter(0)\nROOT r = (f64[2,0,0], f64[2,0], s32[2]) "
                     "custom-call(a), custom_call_target=\"cusolver_syevd_ffi\"");
    literal_release(one_op_run(&op, eval_custom_call));
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call_solver");
    TCase *tests = tcase_create("solver");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_lu, 0, 2);
    tcase_add_test(tests, test_lu_singular);
    tcase_add_loop_test(tests, test_cholesky, 0, 4);
    tcase_add_loop_test(tests, test_qr, 0, 2);
    tcase_add_test(tests, test_as_lapack);
    tcase_add_loop_test(tests, test_reflectors, 0, 2);
    tcase_add_test(tests, test_systems);
    tcase_add_test(tests, test_older);
    tcase_add_test(tests, test_threefry);
    tcase_add_test(tests, test_odd);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
