/* Long single operations stop when the evaluation is cancelled. */
#include "one_op.h"

/* True from the second call on: before the first, the operation must have begun. */
static bool cancel_soon(void *context)
{
    int *calls = context;
    return ++*calls >= 2;
}

static const struct {
    const char *body;
    eval_function *evaluate;
} cases[] = {
    {"a = f32[900,700] parameter(0)\nb = f32[700,800] parameter(1)\n"
     "ROOT r = f32[900,800] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     eval_dot},
    {"a = f64[200,100] parameter(0)\nb = f64[100,200] parameter(1)\n"
     "ROOT r = f64[200,200] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     eval_dot},
    {"a = c64[9,40,50] parameter(0)\nb = c64[9,50,60] parameter(1)\n"
     "ROOT r = c64[9,40,60] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
     "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
     eval_dot},
    {"a = s32[500,300] parameter(0)\nb = s32[300,500] parameter(1)\n"
     "ROOT r = s32[500,500] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     eval_dot},
    {"a = f32[2,30,30,4] parameter(0)\nb = f32[3,3,4,300] parameter(1)\n"
     "ROOT r = f32[2,30,30,300] convolution(a, b), window={size=3x3 pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f",
     eval_convolution},
    {"a = f32[2,30,30,40] parameter(0)\nb = f32[3,3,1,40] parameter(1)\n"
     "ROOT r = f32[2,30,30,40] convolution(a, b), window={size=3x3 pad=1_1x1_1}, "
     "dim_labels=b01f_01io->b01f, feature_group_count=40",
     eval_convolution},
    {"a = c64[100,64] parameter(0)\nROOT r = c64[100,64] fft(a), fft_type=FFT, fft_length={64}",
     eval_fft},
    {"a = f32[30,30] parameter(0)\nROOT r = f32[30,30] cholesky(a), lower=true", eval_cholesky},
    {"a = f32[3,30,30] parameter(0)\nb = f32[3,30,30] parameter(1)\n"
     "ROOT r = f32[3,30,30] triangular-solve(a, b), left_side=true, lower=true, "
     "unit_diagonal=true, transpose_a=NO_TRANSPOSE",
     eval_triangular_solve},
    {"x = f32[20,30] parameter(0)\ns = f32[30] parameter(1)\no = f32[30] parameter(2)\n"
     "ROOT r = (f32[20,30], f32[30], f32[30]) batch-norm-training(x, s, o), epsilon=0.001, "
     "feature_index=1",
     eval_batch_norm_training},
};
enum { CASES = sizeof cases / sizeof *cases };

START_TEST(test_stops)
{
    struct one_op op;
    struct rng rng;
    rng_init(&rng, 3);
    pool_set_threads(1 + _i % 2);
    one_op_init(&op, cases[_i / 2].body);
    for (int i = 0; i < op.count; i++) {
        fill_random(op.values[i], &rng, 0);
    }
    for (int64_t i = 0; i < 30 && cases[_i / 2].evaluate == eval_cholesky; i++) {
        literal_set_double(op.values[0], i * 30 + i, 40);
    }
    int calls = 0;
    bool dying[ONE_OP_MAX_OPERANDS] = {0};
    struct evaluation evaluation = {.module = op.module,
                                    .options = {.cancelled = cancel_soon, .context = &calls}};
    struct operands operands = {.count = op.count, .values = op.values, .dying = dying};
    struct error err = {0};
    size_t before = literal_memory_in_use();
    struct literal *result = cases[_i / 2].evaluate(&evaluation, op.instruction, &operands, &err);
    ck_assert_ptr_null(result);
    ck_assert_int_eq(err.code, ERROR_DEADLINE_EXCEEDED);
    ck_assert(literal_memory_in_use() == before);
    ck_assert_int_ge(calls, 2);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_poll");
    TCase *tests = tcase_create("poll");
    tcase_add_loop_test(tests, test_stops, 0, 2 * CASES);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
