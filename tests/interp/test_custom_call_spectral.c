/* Calls that decompose: eigenvalues and singular values against closed forms by MPFR, rounded once;
 * vectors and Schur forms by what they must satisfy. */
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

/* --- closed forms --- */

/* 2 on the diagonal, −1 beside it: eigenvalues 2 − 2 cos(k π / (n + 1)). */
static void fill_laplacian(struct literal *a, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++) {
        int64_t d = i / n - i % n;
        literal_set_double(a, i, d == 0 ? 2 : d == 1 || d == -1 ? -1 : 0);
    }
}

START_TEST(test_eigh_closed)
{
    enum { N = 24 };
    char body[500];
    snprintf(body, sizeof body,
             "a = %s[24,24] parameter(0)\nROOT r = (%s[24,24], %s[24], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_%ssyevd_ffi\", api_version=API_VERSION_TYPED_FFI, "
             "backend_config={mode = 86 : ui8, uplo = %d : ui8}",
             real_types[_i], real_types[_i], real_types[_i], letters[_i], _i == 0 ? 'L' : 'U');
    struct one_op op;
    one_op_init(&op, body);
    fill_laplacian(op.values[0], N);
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t x, pi;
    mpfr_init2(x, 400);
    mpfr_init2(pi, 400);
    mpfr_const_pi(pi, MPFR_RNDN);
    for (int k = 1; k <= N; k++) {
        mpfr_mul_ui(x, pi, (unsigned long)k, MPFR_RNDN);
        mpfr_div_ui(x, x, N + 1, MPFR_RNDN);
        mpfr_cos(x, x, MPFR_RNDN);
        mpfr_mul_ui(x, x, 2, MPFR_RNDN);
        mpfr_ui_sub(x, 2, x, MPFR_RNDN);
        check_bits(got->elements[1], k - 1, x, "eigenvalue");
    }
    ck_assert(literal_is_unspecified(got->elements[0], 0)); /* a sign is open */
    ck_assert(!literal_has_unspecified(got->elements[1]));
    mpfr_clears(x, pi, (mpfr_ptr)0);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* Ones on and below the diagonal: singular values 1 / (2 sin((2 k − 1) π / (4 n + 2))). */
START_TEST(test_svd_closed)
{
    enum { N = 12 };
    char body[600];
    snprintf(body, sizeof body,
             "a = %s[12,12] parameter(0)\nROOT r = (%s[12,12], %s[12], %s[12,12], %s[12,12], "
             "s32[]) custom-call(a), custom_call_target=\"lapack_%sgesvd_ffi\", "
             "api_version=API_VERSION_TYPED_FFI, backend_config={mode = 65 : ui8}",
             real_types[_i], real_types[_i], real_types[_i], real_types[_i], real_types[_i],
             letters[_i]);
    struct one_op op;
    one_op_init(&op, body);
    for (int i = 0; i < N * N; i++) {
        literal_set_double(op.values[0], i, i / N >= i % N);
    }
    struct literal *got = one_op_run(&op, eval_custom_call);
    mpfr_t x;
    mpfr_init2(x, 400);
    for (int k = 1; k <= N; k++) {
        mpfr_const_pi(x, MPFR_RNDN);
        mpfr_mul_ui(x, x, (unsigned long)(2 * k - 1), MPFR_RNDN);
        mpfr_div_ui(x, x, 4 * N + 2, MPFR_RNDN);
        mpfr_sin(x, x, MPFR_RNDN);
        mpfr_mul_ui(x, x, 2, MPFR_RNDN);
        mpfr_ui_div(x, 1, x, MPFR_RNDN);
        check_bits(got->elements[1], k - 1, x, "singular value");
    }
    mpfr_clear(x);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

/* --- by what they must satisfy: c128 and f64 --- */

START_TEST(test_eigenvectors)
{
    enum { N = 7 };
    const char *type = wide_types[_i], *letter = letters[_i == 0 ? 1 : 3];
    char body[600];
    struct one_op op;
    snprintf(body, sizeof body,
             "a = %s[7,7] parameter(0)\nROOT r = (%s[7,7], f64[7], s32[]) custom-call(a), "
             "custom_call_target=\"lapack_%s%sevd_ffi\", api_version=API_VERSION_TYPED_FFI, "
             "backend_config={mode = 86 : ui8, uplo = 76 : ui8}",
             type, type, letter, _i == 0 ? "sy" : "he");
    one_op_init(&op, body);
    fill_matrix(op.values[0], 21);
    struct literal *got = one_op_run(&op, eval_custom_call);
    double complex av[N * N];
    for (int i = 0; i < N; i++) { /* A V by the lower triangle */
        for (int j = 0; j < N; j++) {
            double complex sum = 0;
            for (int k = 0; k < N; k++) {
                double complex entry = i == k  ? creal(at(op.values[0], i * N + i))
                                       : i > k ? at(op.values[0], i * N + k)
                                               : conj(at(op.values[0], k * N + i));
                sum += entry * at(got->elements[0], k * N + j);
            }
            av[i * N + j] = sum;
            double complex want =
                at(got->elements[0], i * N + j) * literal_get_double(got->elements[1], j);
            ck_assert(cabs(av[i * N + j] - want) < 1e-14);
        }
    }
    ck_assert(orthogonality(got->elements[0], N, N) < 1e-15 * 10);
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_singular_vectors)
{
    int wide = _i / 2; /* 5 × 3 and 3 × 5 */
    int64_t m = wide ? 3 : 5, n = wide ? 5 : 3;
    const char *type = wide_types[_i % 2], *letter = letters[_i % 2 == 0 ? 1 : 3];
    char body[600];
    struct one_op op;
    snprintf(body, sizeof body,
             "a = %s[%d,%d] parameter(0)\nROOT r = (%s[%d,%d], f64[3], %s[%d,%d], %s[%d,%d], "
             "s32[]) custom-call(a), custom_call_target=\"lapack_%sgesdd_ffi\", "
             "api_version=API_VERSION_TYPED_FFI, backend_config={mode = 65 : ui8}",
             type, (int)m, (int)n, type, (int)m, (int)n, type, (int)m, (int)m, type, (int)n, (int)n,
             letter);
    one_op_init(&op, body);
    fill_matrix(op.values[0], 22);
    struct literal *got = one_op_run(&op, eval_custom_call);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            double complex sum = 0;
            for (int64_t k = 0; k < 3; k++) {
                sum += at(got->elements[2], i * m + k) * literal_get_double(got->elements[1], k) *
                       at(got->elements[3], k * n + j);
            }
            ck_assert(cabs(sum - at(op.values[0], i * n + j)) < 1e-14);
        }
    }
    ck_assert(orthogonality(got->elements[2], m, m) < 1e-14);
    ck_assert(orthogonality(got->elements[3], n, n) < 1e-14);
    ck_assert(literal_get_double(got->elements[1], 0) >= literal_get_double(got->elements[1], 1));
    literal_release(got);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_schur)
{
    enum { N = 8 };
    const char *type = wide_types[_i], *letter = letters[_i == 0 ? 1 : 3];
    char body[600];
    struct one_op op;
    snprintf(body, sizeof body,
             "a = %s[8,8] parameter(0)\nROOT r = (%s[8,8], %s[8,8], %s[8], %ss32[], s32[]) "
             "custom-call(a), custom_call_target=\"lapack_%sgees_ffi\", "
             "api_version=API_VERSION_TYPED_FFI, backend_config={mode = 86 : ui8, sort = 78 : ui8}",
             type, type, type, type, _i == 0 ? "f64[8], " : "", letter);
    one_op_init(&op, body);
    for (int round = 0; round < 10; round++) {
        fill_matrix(op.values[0], (uint64_t)(30 + round));
        struct literal *got = one_op_run(&op, eval_custom_call);
        const struct literal *t = got->elements[0], *z = got->elements[1];
        double complex zt[N * N];
        for (int i = 0; i < N * N; i++) {
            zt[i] = 0;
            for (int k = 0; k < N; k++) {
                zt[i] += at(z, i / N * N + k) * at(t, k * N + i % N);
            }
        }
        ck_assert(product_error(op.values[0], z, false, zt, N, N, N) < 1e-13);
        ck_assert(orthogonality(z, N, N) < 1e-14);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < i; j++) {
                ck_assert(_i == 0 && j == i - 1 ? true : at(t, i * N + j) == 0);
            }
        }
        for (int i = 0; _i == 0 && i + 2 < N; i++) { /* no two blocks run into each other */
            ck_assert(at(t, (i + 1) * N + i) == 0 || at(t, (i + 2) * N + i + 1) == 0);
        }
        literal_release(got);
    }
    one_op_finish(&op);
}
END_TEST

START_TEST(test_general_eigenvectors)
{
    enum { N = 6 };
    const char *letter = letters[_i == 0 ? 1 : 3];
    char body[600];
    struct one_op op;
    snprintf(body, sizeof body,
             "a = %s[6,6] parameter(0)\nROOT r = (%s[6], %sc128[6,6], c128[6,6], s32[]) "
             "custom-call(a), custom_call_target=\"lapack_%sgeev_ffi\", "
             "api_version=API_VERSION_TYPED_FFI, backend_config={compute_left = 86 : ui8, "
             "compute_right = 86 : ui8}",
             wide_types[_i], wide_types[_i], _i == 0 ? "f64[6], " : "", letter);
    one_op_init(&op, body);
    for (int round = 0; round < 10; round++) {
        fill_matrix(op.values[0], (uint64_t)(50 + round));
        struct literal *got = one_op_run(&op, eval_custom_call);
        int left = _i == 0 ? 2 : 1;
        for (int k = 0; k < N; k++) {
            double complex w = _i == 0
                                   ? literal_get_double(got->elements[0], k) +
                                         (double complex)I * literal_get_double(got->elements[1], k)
                                   : at(got->elements[0], k);
            double norms[2] = {0, 0};
            for (int i = 0; i < N; i++) {
                double complex right_sum = 0, left_sum = 0;
                for (int j = 0; j < N; j++) {
                    right_sum +=
                        at(op.values[0], i * N + j) * at(got->elements[left + 1], j * N + k);
                    left_sum +=
                        conj(at(got->elements[left], j * N + k)) * at(op.values[0], j * N + i);
                }
                double complex right = at(got->elements[left + 1], i * N + k);
                double complex left_value = at(got->elements[left], i * N + k);
                ck_assert(cabs(right_sum - w * right) < 1e-13);
                ck_assert(cabs(left_sum - w * conj(left_value)) < 1e-13);
                norms[0] += creal(right * conj(right));
                norms[1] += creal(left_value * conj(left_value));
            }
            ck_assert(fabs(norms[0] - 1) < 1e-14 && fabs(norms[1] - 1) < 1e-14);
        }
        literal_release(got);
    }
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call_spectral");
    TCase *tests = tcase_create("spectral");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_eigh_closed, 0, 2);
    tcase_add_loop_test(tests, test_svd_closed, 0, 2);
    tcase_add_loop_test(tests, test_eigenvectors, 0, 2);
    tcase_add_loop_test(tests, test_singular_vectors, 0, 4);
    tcase_add_loop_test(tests, test_schur, 0, 2);
    tcase_add_loop_test(tests, test_general_eigenvectors, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
