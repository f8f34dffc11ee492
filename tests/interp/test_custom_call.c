/* Custom calls whose meaning is known, and one whose is not; values of XLA's CPU are those of
 * jaxlib 0.10.2. */
#include "one_op.h"

#include "interp/custom_call.h"

static void setup(void)
{
    pool_set_threads(2);
}

static void set_doubles(struct literal *literal, const double *values)
{
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        literal_set_double(literal, i, values[i]);
    }
}

START_TEST(test_identities)
{
    static const char *const targets[] = {"Sharding",
                                          "xla.sdy.FuncResultSharding",
                                          "SPMDFullToShardShape",
                                          "SPMDShardToFullShape",
                                          "annotate_device_placement",
                                          "MoveToHost",
                                          "MoveToDevice",
                                          "LayoutConstraint",
                                          "AssumeGatherIndicesInBound"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char body[256];
        snprintf(body, sizeof body,
                 "a = f32[2,3]{1,0} parameter(0)\n"
                 "ROOT r = f32[2,3]{0,1} custom-call(a), custom_call_target=\"%s\"",
                 targets[i]);
        struct one_op op;
        one_op_init(&op, body);
        set_doubles(op.values[0], (const double[]){1, 2, 3, 4, 5, 6});
        struct literal *result = one_op_run(&op, eval_custom_call);
        for (int64_t e = 0; e < 6; e++) {
            ck_assert_double_eq(literal_get_double(result, e), (double)(e + 1));
        }
        ck_assert(custom_call_is_known(targets[i]));
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

static void check_refused(const char *body, const char *word)
{
    struct one_op op;
    struct error err = {0};
    one_op_init(&op, body);
    ck_assert_ptr_null(one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err));
    ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
    ck_assert_ptr_nonnull(strstr(err.message, word));
    one_op_finish(&op);
}

START_TEST(test_refused)
{
    check_refused("a = f32[2] parameter(0)\n"
                  "ROOT r = f32[2] custom-call(a), custom_call_target=\"my_kernel\"",
                  "my_kernel");
    check_refused("a = f32[2] parameter(0)\n"
                  "ROOT r = f32[4] custom-call(a), custom_call_target=\"SPMDShardToFullShape\"",
                  "SPMDShardToFullShape");
    ck_assert(!custom_call_is_known("my_kernel"));
}
END_TEST

START_TEST(test_slice_to_dynamic)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,4] parameter(0)\nm = s32[] parameter(1)\nn = s32[] parameter(2)\n"
                     "ROOT r = f32[2,<=4] custom-call(a, m, n), "
                     "custom_call_target=\"SliceToDynamic\"");
    set_doubles(op.values[0], (const double[]){0, 1, 2, 3, 4, 5, 6, 7});
    literal_set_int(op.values[1], 0, 2);
    literal_set_int(op.values[2], 0, 3);
    struct literal *result = one_op_run(&op, eval_custom_call);
    ck_assert_int_eq(result->dynamic_sizes[1], 3);
    for (int64_t i = 0; i < 8; i++) {
        ck_assert_double_eq(literal_get_double(result, i), i % 4 < 3 ? (double)i : 0);
        ck_assert_int_eq(literal_is_unspecified(result, i), i % 4 == 3);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_topk_as_xla)
{
    struct one_op op;
    one_op_init(&op, "a = f32[8] parameter(0)\n"
                     "ROOT r = (f32[4], s32[4]) custom-call(a), custom_call_target=\"TopK\"");
    set_doubles(op.values[0], (const double[]){1, NAN, 3, 5, -7, 3, 0, 2});
    struct literal *result = one_op_run(&op, eval_custom_call);
    static const int64_t want[] = {1, 3, 2, 5};
    for (int64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(literal_get_int(result->elements[1], i), want[i]);
    }
    ck_assert(isnan(literal_get_double(result->elements[0], 0)));
    ck_assert_double_eq(literal_get_double(result->elements[0], 1), 5);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_layer_norm_as_xla)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,4] parameter(0)\ns = f32[4] parameter(1)\nb = f32[4] parameter(2)\n"
                     "ROOT r = f32[2,4] custom-call(a, s, b), "
                     "custom_call_target=\"__onednn$layernorm\", "
                     "backend_config={\"onednn_layer_norm_config\":{\"rescale\":"
                     "\"SCALE_AND_SHIFT\"}}");
    set_doubles(op.values[0], (const double[]){1, 2, 3, 5, 4, 4, 4, 4});
    set_doubles(op.values[1], (const double[]){1, 2, 1, 1});
    set_doubles(op.values[2], (const double[]){0, 0, 1, 0});
    struct literal *result = one_op_run(&op, eval_custom_call);
    static const double want[] = {-1.1832159, -1.0141851, 1.1690309, 1.5212777};
    for (int64_t i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(literal_get_double(result, i), want[i], 3e-7);
        ck_assert(isnan(literal_get_double(result, 4 + i))); /* no epsilon: 0 / 0 */
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_pin)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2] parameter(0)\n"
                     "ROOT r = b(f32[2]) custom-call(a), custom_call_target=\"Pin\"");
    set_doubles(op.values[0], (const double[]){1, 2});
    struct error err = {0};
    struct literal *pinned = one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err);
    ck_assert_msg(pinned != NULL, "%s", err.message);
    ck_assert_int_eq(pinned->shape->type, TYPE_BUFFER);
    literal_release(pinned);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_custom_call");
    TCase *tests = tcase_create("custom_call");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_identities);
    tcase_add_test(tests, test_refused);
    tcase_add_test(tests, test_slice_to_dynamic);
    tcase_add_test(tests, test_topk_as_xla);
    tcase_add_test(tests, test_layer_norm_as_xla);
    tcase_add_test(tests, test_pin);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
