/* Long single operations stop when the evaluation is cancelled. */
#include "interp/interp.h"
#include "one_op.h"

/* True from the second call on: before the first, the operation must have begun. */
static bool cancel_soon(void *context)
{
    int *calls = context;
    return ++*calls >= 2;
}

static const char computations[] =
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
    "add_s32 { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n"
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"
    "second { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }\n"
    "other { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] subtract(a, b)\n"
    "  ROOT r = f32[] multiply(s, b) }\n"
    "less { a = f32[] parameter(0) b = f32[] parameter(1)\n"
    "  ROOT r = pred[] compare(a, b), direction=LT }\n"
    "odd { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(a, b)\n"
    "  z = f32[] constant(0) ROOT r = pred[] compare(s, z), direction=LT }\n"
    "greater { a = f32[] parameter(0) b = f32[] parameter(1)\n"
    "  ROOT r = pred[] compare(a, b), direction=GE }\n";

/* Whether the instruction r asks in the middle of its work. */
static const char *const cases[] = {
    /* contractions */
    "a = f32[900,700] parameter(0)\nb = f32[700,800] parameter(1)\n"
    "ROOT r = f32[900,800] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "a = f64[200,100] parameter(0)\nb = f64[100,200] parameter(1)\n"
    "ROOT r = f64[200,200] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "a = c64[9,40,50] parameter(0)\nb = c64[9,50,60] parameter(1)\n"
    "ROOT r = c64[9,40,60] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, "
    "lhs_contracting_dims={2}, rhs_contracting_dims={1}",
    "a = s32[500,300] parameter(0)\nb = s32[300,500] parameter(1)\n"
    "ROOT r = s32[500,500] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    "a = f32[2,30,30,4] parameter(0)\nb = f32[3,3,4,300] parameter(1)\n"
    "ROOT r = f32[2,30,30,300] convolution(a, b), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f",
    "a = f32[2,30,30,40] parameter(0)\nb = f32[3,3,1,40] parameter(1)\n"
    "ROOT r = f32[2,30,30,40] convolution(a, b), window={size=3x3 pad=1_1x1_1}, "
    "dim_labels=b01f_01io->b01f, feature_group_count=40",
    /* special operations */
    "a = c64[100,64] parameter(0)\nROOT r = c64[100,64] fft(a), fft_type=FFT, fft_length={64}",
    "a = f32[30,30] parameter(0)\nROOT r = f32[30,30] cholesky(a), lower=true",
    "a = f32[3,30,30] parameter(0)\nb = f32[3,30,30] parameter(1)\n"
    "ROOT r = f32[3,30,30] triangular-solve(a, b), left_side=true, lower=true, "
    "unit_diagonal=true, transpose_a=NO_TRANSPOSE",
    "x = f32[20,30] parameter(0)\ns = f32[30] parameter(1)\no = f32[30] parameter(2)\n"
    "ROOT r = (f32[20,30], f32[30], f32[30]) batch-norm-training(x, s, o), epsilon=0.001, "
    "feature_index=1",
    "s = u64[2] parameter(0)\n"
    "ROOT r = (u64[2], u32[300000]) rng-bit-generator(s), algorithm=rng_three_fry",
    /* reduce: one sum, sums of rows, of columns, of a few long columns; folds; any reducer */
    "a = f32[400000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=add",
    "a = f32[4000,100] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[4000] reduce(a, z), dimensions={1}, to_apply=add",
    "a = f32[100,8000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[8000] reduce(a, z), dimensions={0}, to_apply=add",
    "a = f32[4000,50] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[50] reduce(a, z), dimensions={0}, to_apply=add",
    "a = f32[4000,1000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[4000] reduce(a, z), dimensions={1}, to_apply=max",
    "a = f32[100000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[] reduce(a, z), dimensions={0}, to_apply=other",
    /* reduce-window: sums, sliding sums, folds, long folds, any reducer */
    "a = f32[300,300] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[298,298] reduce-window(a, z), window={size=3x3}, to_apply=add",
    "a = f32[100,3000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[100,2501] reduce-window(a, z), window={size=1x500}, to_apply=add",
    "a = f32[300000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[299991] reduce-window(a, z), window={size=10}, to_apply=max",
    "a = f32[300000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[299001] reduce-window(a, z), window={size=1000}, to_apply=max",
    "a = f32[300,300] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[298,298] reduce-window(a, z), window={size=3x3}, to_apply=other",
    "a = f32[2000] parameter(0)\nz = f32[] parameter(1)\n"
    "ROOT r = f32[1] reduce-window(a, z), window={size=2000}, to_apply=other",
    /* scatter: sums, integers, overwriting, rows, any combiner */
    "a = f32[1000] parameter(0)\ni = s32[100000,1] parameter(1)\nu = f32[100000] parameter(2)\n"
    "ROOT r = f32[1000] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "a = s32[1000] parameter(0)\ni = s32[100000,1] parameter(1)\nu = s32[100000] parameter(2)\n"
    "ROOT r = s32[1000] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s32",
    "a = f32[1000] parameter(0)\ni = s32[100000,1] parameter(1)\nu = f32[100000] parameter(2)\n"
    "ROOT r = f32[1000] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=second",
    "a = f32[100,64] parameter(0)\ni = s32[9000,1] parameter(1)\nu = f32[9000,64] parameter(2)\n"
    "ROOT r = f32[100,64] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
    "a = f32[100,64] parameter(0)\ni = s32[9000,1] parameter(1)\nu = f32[9000,64] parameter(2)\n"
    "ROOT r = f32[100,64] scatter(a, i, u), update_window_dims={1}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=max",
    "a = f32[1000] parameter(0)\ni = s32[100000,1] parameter(1)\nu = f32[100000] parameter(2)\n"
    "ROOT r = f32[1000] scatter(a, i, u), update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=other",
    "a = f32[300,300] parameter(0)\nu = f32[299,299] parameter(1)\nz = f32[] parameter(2)\n"
    "ROOT r = f32[300,300] select-and-scatter(a, u, z), window={size=2x2}, select=greater, "
    "scatter=add",
    /* order: by keys, by any comparator, many lines, the first few, the first many */
    "a = f32[200000] parameter(0)\nROOT r = f32[200000] sort(a), dimensions={0}, to_apply=less",
    "a = f32[100000] parameter(0)\nROOT r = f32[100000] sort(a), dimensions={0}, to_apply=odd",
    "a = f32[3000,50] parameter(0)\nROOT r = f32[3000,50] sort(a), dimensions={1}, to_apply=less",
    "a = f32[300000] parameter(0)\nROOT r = (f32[5], s32[5]) topk(a), k=5, largest=true",
    "a = f32[300000] parameter(0)\nROOT r = (f32[90000], s32[90000]) topk(a), k=90000, "
    "largest=true",
    /* elements and data */
    "a = f32[100000] parameter(0)\nROOT r = f32[100000] exponential(a)",
    "a = f32[100000] parameter(0)\nb = f32[100000] parameter(1)\n"
    "ROOT r = f32[100000] map(a, b), dimensions={0}, to_apply=other",
    "a = f32[1000] parameter(0)\ni = s32[100000,1] parameter(1)\n"
    "ROOT r = f32[100000] gather(a, i), offset_dims={}, collapsed_slice_dims={0}, "
    "start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
    "a = f32[2000,2000] parameter(0)\nROOT r = f32[2000,2000] transpose(a), dimensions={1,0}",
};
enum { CASES = sizeof cases / sizeof *cases };

static struct module *module_of(const char *body)
{
    char text[4096];
    struct error err = {0};
    snprintf(text, sizeof text, "HloModule test\n%sENTRY main {\n%s\n}\n", computations, body);
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s: %s", body, err.message);
    ck_assert_msg(infer_check(module->entry->root, &err), "%s: %s", body, err.message);
    return module;
}

/* Random operands; one that a factorization takes; indices within the arrays. */
static struct literal *operand_of(const struct instruction *user, int i, struct rng *rng)
{
    struct literal *value = literal_zero(user->operands[i]->shape, NULL);
    fill_random(value, rng, 0);
    int64_t n = value->shape->rank > 0 ? value->shape->dimensions[0] : 0;
    for (int64_t k = 0; k < n && user->opcode == OP_CHOLESKY; k++) {
        literal_set_double(value, k * n + k, 40);
    }
    for (int64_t k = 0; k < n && value->shape->rank == 2 && value->shape->dimensions[1] == 1; k++) {
        literal_set_int(value, k, (int64_t)rng_below(rng, 100));
    }
    return value;
}

START_TEST(test_stops)
{
    struct rng rng;
    rng_init(&rng, 3);
    pool_set_threads(1 + _i % 2);
    struct module *module = module_of(cases[_i / 2]);
    const struct instruction *instruction = module->entry->root;
    struct literal *values[ONE_OP_MAX_OPERANDS] = {NULL};
    for (int i = 0; i < instruction->operand_count; i++) {
        values[i] = operand_of(instruction, i, &rng);
    }
    int calls = 0;
    struct interp_options options = {.cancelled = cancel_soon, .context = &calls};
    struct error err = {0};
    size_t before = literal_memory_in_use();
    struct literal *result = interp_evaluate_instruction(instruction, values, &options, &err);
    ck_assert_msg(result == NULL, "it does not ask: %s", cases[_i / 2]);
    ck_assert_msg(err.code == ERROR_DEADLINE_EXCEEDED, "%s: %s", cases[_i / 2], err.message);
    ck_assert(literal_memory_in_use() == before);
    ck_assert_int_ge(calls, 2);
    for (int i = 0; i < instruction->operand_count; i++) {
        literal_release(values[i]);
    }
    module_destroy(module);
}
END_TEST

/* Two instructions that run as one program; the first question comes before it. */
static bool cancel_third(void *context)
{
    int *calls = context;
    return ++*calls >= 3;
}

START_TEST(test_cluster)
{
    pool_set_threads(1 + _i);
    struct module *module = module_of("a = f32[300000] parameter(0)\ne = f32[300000] sine(a)\n"
                                      "ROOT r = f32[300000] multiply(e, a)");
    struct literal *value = literal_zero(module->entry->parameters[0]->shape, NULL);
    int calls = 0;
    struct interp_options options = {.cancelled = cancel_third, .context = &calls};
    struct error err = {0};
    ck_assert_ptr_null(interp_evaluate(module, &value, 1, &options, &err));
    ck_assert_int_eq(err.code, ERROR_DEADLINE_EXCEEDED);
    ck_assert_int_ge(calls, 3);
    literal_release(value);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_poll");
    TCase *tests = tcase_create("poll");
    tcase_add_loop_test(tests, test_stops, 0, 2 * CASES);
    tcase_add_loop_test(tests, test_cluster, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
