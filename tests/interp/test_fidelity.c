/* fidelity: the same module in both modes. 1e8, 1, −1e8, 1 sum to 2; in f32, in this order and
 * rounded at every step, to 1, since 1e8 + 1 rounds to 1e8. */
#include "hlo/base/pool.h"
#include "tests/interp/evaluate_text.h"

static void setup(void)
{
    pool_set_threads(2);
}

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
#define COMPLEX_ADD \
    "add { a = c64[] parameter(0) b = c64[] parameter(1) ROOT s = c64[] add(a, b) }\n"
#define TERMS "{100000000, 1, -100000000, 1}"

static const struct fidelity_case {
    const char *text, *exact, *literal;
} cases[] = {
    {ADD "ENTRY e { x = f32[4] constant(" TERMS ") z = f32[] constant(0)\n"
         "  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add }\n",
     "f32[] 2", "f32[] 1"},
    {ADD "ENTRY e { x = f32[2,4] constant({" TERMS ", " TERMS "}) z = f32[] constant(0)\n"
         "  ROOT r = f32[2] reduce(x, z), dimensions={1}, to_apply=add }\n",
     "f32[2] {2, 2}", "f32[2] {1, 1}"},
    {COMPLEX_ADD
     "ENTRY e { x = c64[4] constant({(100000000, 0), (1, 1), (-100000000, 0), (1, 1)})\n"
     "  z = c64[] constant((0, 0))\n"
     "  ROOT r = c64[] reduce(x, z), dimensions={0}, to_apply=add }\n",
     "c64[] (2, 2)", "c64[] (1, 2)"},
    {ADD "ENTRY e { x = f32[4] constant(" TERMS ") z = f32[] constant(0)\n"
         "  ROOT r = f32[1] reduce-window(x, z), window={size=4}, to_apply=add }\n",
     "f32[1] {2}", "f32[1] {1}"},
    {ADD "ENTRY e { o = f32[1] constant({0}) i = s32[4,1] constant({{0}, {0}, {0}, {0}})\n"
         "  u = f32[4] constant(" TERMS ")\n"
         "  ROOT r = f32[1] scatter(o, i, u), update_window_dims={}, inserted_window_dims={0},\n"
         "    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }\n",
     "f32[1] {2}", "f32[1] {1}"},
    {ADD "ge { a = f32[] parameter(0) b = f32[] parameter(1)\n"
         "  ROOT p = pred[] compare(a, b), direction=GE }\n"
         "ENTRY e { o = f32[7] constant({0, 0, 0, 5, 0, 0, 0}) u = f32[4] constant(" TERMS ")\n"
         "  z = f32[] constant(0)\n"
         "  ROOT r = f32[7] select-and-scatter(o, u, z), window={size=4}, select=ge,\n"
         "    scatter=add }\n",
     "f32[7] {0, 0, 0, 2, 0, 0, 0}", "f32[7] {0, 0, 0, 1, 0, 0, 0}"},
    {"ENTRY e { a = f32[1,4] constant({" TERMS "}) b = f32[4,1] constant({{1}, {1}, {1}, {1}})\n"
     "  ROOT r = f32[1,1] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n",
     "f32[1,1] {{2}}", "f32[1,1] {{1}}"},
    {"ENTRY e { a = f32[1,4,1] constant({{{100000000}, {1}, {-100000000}, {1}}})\n"
     "  b = f32[4,1,1] constant({{{1}}, {{1}}, {{1}}, {{1}}})\n"
     "  ROOT r = f32[1,1,1] convolution(a, b), window={size=4}, dim_labels=b0f_0io->b0f }\n",
     "f32[1,1,1] {{{2}}}", "f32[1,1,1] {{{1}}}"},
    {"ENTRY e { a = f32[1,4] constant({" TERMS "})\n"
     "  b = f32[1,4,1] constant({{{1}, {1}, {1}, {1}}}) s = s32[1] constant({1})\n"
     "  ROOT r = f32[1,1] ragged-dot(a, b, s), lhs_contracting_dims={1},\n"
     "    rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0} }\n",
     "f32[1,1] {{2}}", "f32[1,1] {{1}}"},
    /* What is written as steps is done in steps in either mode. */
    {"add { a = f32[] parameter(0) b = f32[] parameter(1) s = f32[] add(b, a)\n"
     "  ROOT t = (f32[], f32[]) tuple(s, s) }\n"
     "ENTRY e { x = f32[4] constant(" TERMS ") z = f32[] constant(0)\n"
     "  ROOT r = (f32[4], f32[]) scan(x, z), dimensions={0}, num_carries=1, to_apply=add }\n",
     "(f32[4], f32[]) ({1e8, 1e8, 0, 1}, 1)", "(f32[4], f32[]) ({1e8, 1e8, 0, 1}, 1)"},
    {"ENTRY e { a = f32[1] constant({100000000}) b = f32[1] constant({1})\n"
     "  c = f32[1] add(a, b) d = f32[1] subtract(c, a) ROOT r = f32[1] add(d, b) }\n",
     "f32[1] {1}", "f32[1] {1}"},
    /* A product has no exact form of its own: ((3 × 3^-1) × 3) in bf16 by hand. */
    {"mul { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT s = bf16[] multiply(a, b) }\n"
     "ENTRY e { x = bf16[3] constant({3, 0.333984375, 3}) z = bf16[] constant(1)\n"
     "  ROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=mul }\n",
     "bf16[] 3", "bf16[] 3"},
};

START_TEST(test_modes)
{
    const struct fidelity_case *the_case = &cases[_i];
    struct interp_options exact = {.fidelity = FIDELITY_EXACT};
    struct interp_options literal = {.fidelity = FIDELITY_LITERAL};
    struct module *module = read_module(the_case->text);
    struct error err = {0};
    struct literal *result = evaluate_module(module, NULL, NULL, NULL, NULL, &exact, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    check_literal(result, the_case->exact, the_case->text);
    literal_release(result);
    result = evaluate_module(module, NULL, NULL, NULL, NULL, &literal, &err);
    ck_assert_msg(result != NULL, "%s", err.message);
    check_literal(result, the_case->literal, the_case->text);
    literal_release(result);
    module_destroy(module);
}
END_TEST

/* all-reduce in the order of the devices. */
START_TEST(test_devices)
{
    static const char text[] =
        "HloModule m, replica_count=4\n" ADD "ENTRY e { x = f32[] parameter(0)\n"
        "  ROOT r = f32[] all-reduce(x), replica_groups={{0,1,2,3}}, to_apply=add }\n";
    static const char *const terms[] = {"f32[] 1e8", "f32[] 1", "f32[] -1e8", "f32[] 1"};
    for (int mode = 0; mode < 2; mode++) {
        struct module *module = read_module(text);
        struct interp_options options = {.fidelity = (enum fidelity)mode};
        struct literal *arguments[4], **lists[4], *results[4];
        for (int d = 0; d < 4; d++) {
            arguments[d] = read_literal(terms[d]);
            lists[d] = &arguments[d];
        }
        struct error err = {0};
        ck_assert_msg(interp_evaluate_devices(module, 4, (struct literal *const *const *)lists, 1,
                                              results, &options, &err),
                      "%s", err.message);
        for (int d = 0; d < 4; d++) {
            check_literal(results[d], mode == FIDELITY_EXACT ? "f32[] 2" : "f32[] 1", text);
            literal_release(results[d]);
            literal_release(arguments[d]);
        }
        module_destroy(module);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fidelity");
    TCase *tests = tcase_create("fidelity");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, test_modes, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, test_devices);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
