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
                                          "AssumeGatherIndicesInBound",
                                          "GatherScatterIndicesBitpacked"};
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

/* --- the table --- */

START_TEST(test_table)
{
    for (int i = 0; i < custom_call_count; i++) {
        struct custom_call_info a = custom_call_info(i);
        ck_assert(a.target[0] != 0 && a.text[0] != 0 && a.source[0] != 0);
        /* A row that an earlier one hides would never be found. */
        char target[100];
        int at = 0;
        for (const char *c = a.target; *c != 0; c++) {
            at += snprintf(target + at, sizeof target - (size_t)at, "%s",
                           *c == '?'   ? "d"
                           : *c == '%' ? "cu"
                           : *c == '*' ? "zzz"
                                       : (char[2]){*c, 0});
        }
        ck_assert_msg(custom_call_is_known(target) == a.evaluated, "%s", a.target);
        for (int k = 0; k < i; k++) {
            ck_assert_str_ne(custom_call_info(k).target, a.target);
        }
    }
    ck_assert(custom_call_is_known("lapack_zheevd_ffi"));
    ck_assert(!custom_call_is_known("lapack_qheevd_ffi"));
    ck_assert(custom_call_is_known("hipsolver_getrf_ffi"));
    ck_assert(!custom_call_is_known("rocsolver_getrf_ffi"));
    ck_assert_str_eq(custom_call_refusal("my_kernel"), "its target is unknown");
    ck_assert_ptr_nonnull(strstr(custom_call_refusal("tpu_custom_call"), "Mosaic"));
    ck_assert_ptr_nonnull(strstr(custom_call_refusal("__cudnn$fmhaSoftmaxDropout"), "random"));
}
END_TEST

/* --- memory and halves --- */

START_TEST(test_uninitialised)
{
    static const char *const bodies[] = {
        "ROOT r = f32[2,3] custom-call(), custom_call_target=\"AllocateBuffer\"",
        "ROOT r = (f32[2], s8[3]) custom-call(), custom_call_target=\"AllocateBuffer\"",
        "ROOT r = b(f32[2]) custom-call(), custom_call_target=\"CreateBuffer\"",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct one_op op;
        struct error err = {0};
        one_op_init(&op, bodies[i]);
        struct literal *result = one_op_try(&op, eval_custom_call, FIDELITY_EXACT, &err);
        ck_assert_msg(result != NULL, "%s", err.message);
        ck_assert(i == 2 ? result->buffer->unspecified != NULL : literal_has_unspecified(result));
        literal_release(result);
        one_op_finish(&op);
    }
}
END_TEST

START_TEST(test_halves)
{
    struct one_op op;
    static const double values[] = {1 + 0x1p-40, -3.25, 0x1p-140, 1e300, 0};
    one_op_init(&op, "a = f64[5] parameter(0)\n"
                     "ROOT r = f32[5] custom-call(a), custom_call_target=\"X64SplitLow\"");
    set_doubles(op.values[0], values);
    struct literal *low = one_op_run(&op, eval_custom_call);
    one_op_finish(&op);
    one_op_init(&op, "a = f64[5] parameter(0)\n"
                     "ROOT r = f32[5] custom-call(a), custom_call_target=\"X64SplitHigh\"");
    set_doubles(op.values[0], values);
    struct literal *high = one_op_run(&op, eval_custom_call);
    one_op_finish(&op);
    for (int i = 0; i < 5; i++) {
        float near = (float)values[i];
        ck_assert(literal_get_double(low, i) == near);
        ck_assert(literal_get_double(high, i) == (isinf(near) ? 0 : (float)(values[i] - near)));
    }
    one_op_init(&op, "l = f32[5] parameter(0)\nh = f32[5] parameter(1)\n"
                     "ROOT r = f64[5] custom-call(l, h), custom_call_target=\"X64Combine\"");
    literal_release(op.values[0]);
    literal_release(op.values[1]);
    op.values[0] = low;
    op.values[1] = high;
    struct literal *whole = one_op_run(&op, eval_custom_call);
    ck_assert_double_eq(literal_get_double(whole, 0), values[0]);
    ck_assert_double_eq(literal_get_double(whole, 1), values[1]);
    literal_release(whole);
    one_op_finish(&op);
    one_op_init(&op, "l = u32[2] parameter(0)\nh = u32[2] parameter(1)\n"
                     "ROOT r = s64[2] custom-call(l, h), custom_call_target=\"X64Combine\"");
    literal_set_int(op.values[0], 0, 0xfffffff0);
    literal_set_int(op.values[1], 0, 0xffffffff);
    literal_set_int(op.values[0], 1, 5);
    literal_set_int(op.values[1], 1, 2);
    whole = one_op_run(&op, eval_custom_call);
    ck_assert_int_eq(literal_get_int(whole, 0), -16);
    ck_assert_int_eq(literal_get_int(whole, 1), (INT64_C(2) << 32) + 5);
    literal_release(whole);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_concat_bitcast)
{
    struct one_op op;
    one_op_init(&op, "a = f32[1,3] parameter(0)\nb = f32[2,3] parameter(1)\n"
                     "ROOT r = f32[3,3] custom-call(a, b), custom_call_target=\"ConcatBitcast\"");
    set_doubles(op.values[0], (const double[]){1, 2, 3});
    set_doubles(op.values[1], (const double[]){4, 5, 6, 7, 8, 9});
    struct literal *result = one_op_run(&op, eval_custom_call);
    for (int i = 0; i < 9; i++) {
        ck_assert_double_eq(literal_get_double(result, i), i + 1);
    }
    literal_release(result);
    one_op_finish(&op);
    check_refused("a = f32[1,3] parameter(0)\nb = f32[2,3] parameter(1)\n"
                  "ROOT r = f32[4,3] custom-call(a, b), custom_call_target=\"ConcatBitcast\"",
                  "no slices");
}
END_TEST

START_TEST(test_pad_to_static)
{
    struct one_op op;
    one_op_init(&op, "a = f32[<=3] parameter(0)\n"
                     "ROOT r = (f32[3], s32[]) custom-call(a), custom_call_target=\"PadToStatic\"");
    set_doubles(op.values[0], (const double[]){1, 2, 3});
    op.values[0]->dynamic_sizes[0] = 2;
    struct literal *result = one_op_run(&op, eval_custom_call);
    ck_assert_int_eq(literal_get_int(result->elements[1], 0), 2);
    ck_assert_double_eq(literal_get_double(result->elements[0], 1), 2);
    ck_assert(!literal_is_unspecified(result->elements[0], 1));
    ck_assert(literal_is_unspecified(result->elements[0], 2));
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* --- sorts, block scales --- */

START_TEST(test_radix_sort)
{
    struct one_op op;
    one_op_init(&op, "k = f32[2,4] parameter(0)\nv = s32[2,4] parameter(1)\n"
                     "ROOT r = (f32[2,4], s32[2,4], u8[1]) custom-call(k, v), "
                     "custom_call_target=\"xla.gpu.ext.cub_sort_pairs\", "
                     "api_version=API_VERSION_TYPED_FFI, backend_config={descending = true}");
    set_doubles(op.values[0], (const double[]){1, -2, INFINITY, 1, 0, -0.0, 3, -INFINITY});
    for (int i = 0; i < 8; i++) {
        literal_set_int(op.values[1], i, i);
    }
    struct literal *result = one_op_run(&op, eval_custom_call);
    static const int64_t want[] = {2, 0, 3, 1, 6, 4, 5, 7};
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(literal_get_int(result->elements[1], i), want[i]);
    }
    literal_release(result);
    one_op_finish(&op);
    one_op_init(&op, "k = s8[5] parameter(0)\nROOT r = (s8[5], u8[1]) custom-call(k), "
                     "custom_call_target=\"xla.gpu.ext.cub_sort_unassigned_scratch_size\", "
                     "backend_config={\"descending\":false}");
    static const int64_t keys[] = {5, -7, 0, 127, -128}, sorted[] = {-128, -7, 0, 5, 127};
    for (int i = 0; i < 5; i++) {
        literal_set_int(op.values[0], i, keys[i]);
    }
    result = one_op_run(&op, eval_custom_call);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(literal_get_int(result->elements[0], i), sorted[i]);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_block_scales)
{
    struct one_op op;
    one_op_init(&op, "a = f32[2,4] parameter(0)\nb = f32[1,4] parameter(1)\n"
                     "s = f32[2,2] parameter(2)\nt = f32[1,4] parameter(3)\n"
                     "ROOT r = f32[2,1] custom-call(a, b, s, t), "
                     "custom_call_target=\"__op$block_scaled_dot\"");
    set_doubles(op.values[0], (const double[]){1, 2, 3, 4, 5, 6, 7, 8});
    set_doubles(op.values[1], (const double[]){1, 1, 2, 1});
    set_doubles(op.values[2], (const double[]){2, 0.5, 1, 4});
    set_doubles(op.values[3], (const double[]){1, 2, 1, 1});
    struct literal *result = one_op_run(&op, eval_custom_call);
    /* 1·2·1 + 2·2·2 + 3·.5·2 + 4·.5·1, 5·1·1 + 6·1·2 + 7·4·2 + 8·4·1 */
    ck_assert_double_eq(literal_get_double(result, 0), 15);
    ck_assert_double_eq(literal_get_double(result, 1), 105);
    literal_release(result);
    one_op_finish(&op);
    one_op_init(&op, "a = f8e4m3fn[4] parameter(0)\ns = f8e8m0fnu[2] parameter(1)\n"
                     "ROOT r = f32[4] custom-call(a, s), custom_call_target=\"__op$dequantize\"");
    set_doubles(op.values[0], (const double[]){1, 2, 3, 4});
    set_doubles(op.values[1], (const double[]){8, 0.25});
    result = one_op_run(&op, eval_custom_call);
    static const double want[] = {8, 16, 0.75, 1};
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq(literal_get_double(result, i), want[i]);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_grouped)
{
    struct one_op op;
    one_op_init(&op, "a = f32[3,2] parameter(0)\nb = f32[2,2,1] parameter(1)\n"
                     "g = s32[2] parameter(2)\nROOT r = (f32[3,1], s8[8]) custom-call(a, b, g), "
                     "custom_call_target=\"__cublas$lt$groupedMatmul\", backend_config={"
                     "\"grouped_gemm_backend_config\":{\"gemm_backend_config\":{\"alpha_real\":1},"
                     "\"ragged_dot_dimension_numbers\":{\"dot_dimension_numbers\":{"
                     "\"lhs_contracting_dimensions\":[\"1\"],\"rhs_contracting_dimensions\":"
                     "[\"1\"]},\"lhs_ragged_dimensions\":[\"0\"],\"rhs_group_dimensions\":"
                     "[\"0\"]}}}");
    set_doubles(op.values[0], (const double[]){1, 2, 3, 4, 5, 6});
    set_doubles(op.values[1], (const double[]){1, 10, 100, 1000});
    literal_set_int(op.values[2], 0, 2);
    literal_set_int(op.values[2], 1, 1);
    struct literal *result = one_op_run(&op, eval_custom_call);
    static const double want[] = {21, 43, 6500};
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq(literal_get_double(result->elements[0], i), want[i]);
    }
    literal_release(result);
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
    tcase_add_test(tests, test_table);
    tcase_add_test(tests, test_uninitialised);
    tcase_add_test(tests, test_halves);
    tcase_add_test(tests, test_concat_bitcast);
    tcase_add_test(tests, test_pad_to_static);
    tcase_add_test(tests, test_radix_sort);
    tcase_add_test(tests, test_block_scales);
    tcase_add_test(tests, test_grouped);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
