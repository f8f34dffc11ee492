/* What passes may change: with a rule and without, within it and beyond, jumps and drifts. */
#include "tests/compare/pipelines.h"

/* --- rules --- */

#define DIVIDED                                                             \
    HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  c = f32[] constant(3)\n" \
         "  b = f32[64] broadcast(c), dimensions={}\n  ROOT r = f32[64] divide(x, b)\n}\n"
/* 1/3 as f32. */
#define MULTIPLIED(third)                                                           \
    HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  c = f32[] constant(" third ")\n" \
         "  b = f32[64] broadcast(c), dimensions={}\n  ROOT r = f32[64] multiply(x, b)\n}\n"

START_TEST(test_rule)
{
    const struct step allowed[] = {
        {"", DIVIDED}, {"algsimp", MULTIPLIED("0.333333343")}, {NULL, NULL}};
    expect_walk(allowed, NULL, ".~", NULL);
    const struct step forbidden[] = {
        {"", DIVIDED}, {"dce", MULTIPLIED("0.333333343")}, {NULL, NULL}};
    expect_walk(forbidden, NULL, ".!", NULL);
    /* Nor is a result that goes through bf16, which the wrong module's own spread does not excuse.
     */
    const struct step narrowed[] = {
        {"", DIVIDED},
        {"algsimp", HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  c = f32[] constant(3)\n"
                         "  b = f32[64] broadcast(c), dimensions={}\n"
                         "  d = f32[64] divide(x, b)\n  n = bf16[64] convert(d)\n"
                         "  ROOT r = f32[64] convert(n)\n}\n"},
        {NULL, NULL}};
    expect_walk(narrowed, NULL, ".!", NULL);
    /* A constant that is 1e-5 off is no rounding. */
    const struct step wrong[] = {{"", DIVIDED}, {"algsimp", MULTIPLIED("0.33333")}, {NULL, NULL}};
    expect_walk(wrong, NULL, ".!", NULL);
}
END_TEST

/* A sum in two stages. */
START_TEST(test_reassociation)
{
#define ONE_SUM                                                                   \
    HEAD SUM "ENTRY e {\n  x = f32[4096] parameter(0)\n  z = f32[] constant(0)\n" \
             "  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n}\n"
#define TWO_SUMS                                                                  \
    HEAD SUM "ENTRY e {\n  x = f32[4096] parameter(0)\n  z = f32[] constant(0)\n" \
             "  b = f32[64,64] bitcast(x)\n"                                      \
             "  s = f32[64] reduce(b, z), dimensions={1}, to_apply=sum\n"         \
             "  ROOT r = f32[] reduce(s, z), dimensions={0}, to_apply=sum\n}\n"
    const struct step allowed[] = {
        {"", ONE_SUM}, {"tree-reduction-rewriter", TWO_SUMS}, {NULL, NULL}};
    const struct step forbidden[] = {{"", ONE_SUM}, {"tuple-simplifier", TWO_SUMS}, {NULL, NULL}};
    bool differs = false;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct passes_options options = {.inputs.seed = seed};
        struct passes_result result;
        walk(allowed, &options, &result);
        ck_assert_int_eq(result.verdicts[1].outcome, OUTCOME_PASS);
        ck_assert_ptr_nonnull(result.verdicts[1].rule);
        ck_assert(result.verdicts[1].jump.tolerance <= 1);
        bool moved = !result.verdicts[1].jump.bits;
        passes_result_finish(&result);
        expect_walk(forbidden, &options, moved ? ".!" : "..", NULL);
        differs |= moved;
    }
    ck_assert(differs); /* else nothing was tested */
}
END_TEST

/* A wider intermediate, f32 in place of bf16, is what float normalization may do, and a narrower
 * one is not. */
START_TEST(test_types)
{
#define NARROW                                                                   \
    HEAD "ENTRY e {\n  x = bf16[64] parameter(0)\n  y = bf16[64] parameter(1)\n" \
         "  m = bf16[64] multiply(x, y)\n  ROOT r = bf16[64] add(m, x)\n}\n"
#define WIDE                                                                                  \
    HEAD "ENTRY e {\n  x = bf16[64] parameter(0)\n  y = bf16[64] parameter(1)\n"              \
         "  a = f32[64] convert(x)\n  b = f32[64] convert(y)\n  m = f32[64] multiply(a, b)\n" \
         "  s = f32[64] add(m, a)\n  ROOT r = bf16[64] convert(s)\n}\n"
    const struct step allowed[] = {{"", NARROW}, {"simplify-fp-conversions", WIDE}, {NULL, NULL}};
    expect_walk(allowed, NULL, ".~", NULL);
    const struct step forbidden[] = {{"", NARROW}, {"reshape-mover", WIDE}, {NULL, NULL}};
    expect_walk(forbidden, NULL, ".!", NULL);
    /* A rounding to f16 on the way, whose steps are much larger than those of the result. */
    const struct step through[] = {
        {"", HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  n = f16[64] convert(x)\n"
                  "  ROOT w = f32[64] convert(n)\n}\n"},
        {"simplify-fp-conversions",
         HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  ROOT w = f32[64] copy(x)\n}\n"},
        {NULL, NULL}};
    struct passes_options strict = {.profile = profile_find("cpu")};
    struct passes_result result;
    walk(through, &strict, &result);
    ck_assert(!result.verdicts[1].jump.bits && result.verdicts[1].jump.tolerance <= 1);
    passes_result_finish(&result);
    const struct step narrowed[] = {
        {"", HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  ROOT r = f32[64] negate(x)\n}\n"},
        {"simplify-fp-conversions", HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n"
                                         "  n = bf16[64] convert(x)\n  w = f32[64] convert(n)\n"
                                         "  ROOT r = f32[64] negate(w)\n}\n"},
        {NULL, NULL}};
    expect_walk(narrowed, NULL, ".!", NULL);
    /* Nor may a module excuse itself by the steps of a type that it brings in. */
    const struct step coarse[] = {
        {"", HEAD "ENTRY e {\n  x = bf16[64] parameter(0)\n  y = bf16[64] parameter(1)\n"
                  "  m = bf16[64] multiply(x, y)\n  ROOT r = bf16[64] multiply(m, x)\n}\n"},
        {"float-type-correction",
         HEAD "ENTRY e {\n  x = bf16[64] parameter(0)\n  y = bf16[64] parameter(1)\n"
              "  a = f32[64] convert(x)\n  b = f32[64] convert(y)\n  m = f32[64] multiply(a, b)\n"
              "  n = f8e5m2[64] convert(m)\n  w = f32[64] convert(n)\n"
              "  s = f32[64] multiply(w, a)\n  ROOT r = bf16[64] convert(s)\n}\n"},
        {NULL, NULL}};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct passes_options options = {.inputs.seed = seed};
        expect_walk(coarse, &options, ".!", NULL);
    }
}
END_TEST

/* Sums that are rounded to bf16 at the end are made of bf16 by a pass that may bring it in, and by
 * no other; no pass may bring in f8e5m2 on this ground. */
START_TEST(test_bfloat16_comes_in)
{
#define SUM_THROUGH(narrow)                                                                    \
    HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n"                                             \
         "  s = " narrow "[64] convert(x)\n  m = " narrow "[64] multiply(s, s)\n  d = " narrow \
         "[64] add(m, s)\n"                                                                    \
         "  w = f32[64] convert(d)\n  ROOT r = bf16[64] convert(w)\n}\n"
    const struct step propagated[] = {
        {"", SUM_THROUGH("f32")}, {"bfloat16-propagation", SUM_THROUGH("bf16")}, {NULL, NULL}};
    const struct step fused[] = {
        {"", SUM_THROUGH("f32")}, {"fusion", SUM_THROUGH("bf16")}, {NULL, NULL}};
    const struct step coarser[] = {
        {"", SUM_THROUGH("f32")}, {"bfloat16-propagation", SUM_THROUGH("f8e5m2")}, {NULL, NULL}};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct passes_options options = {.inputs.seed = seed};
        expect_walk(propagated, &options, ".~", NULL);
        expect_walk(fused, &options, ".!", NULL);
        expect_walk(coarser, &options, ".!", NULL);
    }
}
END_TEST

/* Of a million elements a few are moved too little by each of the first samples. */
START_TEST(test_few_by_luck)
{
#define PRODUCTS_IN(narrow)                                                                     \
    HEAD "ENTRY e {\n  x = f32[1000000] parameter(0)\n  y = f32[1000000] parameter(1)\n"        \
         "  s = " narrow "[1000000] convert(x)\n  t = " narrow "[1000000] convert(y)\n"         \
         "  a = " narrow "[1000000] multiply(s, t)\n  b = " narrow "[1000000] multiply(a, t)\n" \
         "  c = " narrow "[1000000] multiply(b, t)\n  d = " narrow "[1000000] multiply(c, s)\n" \
         "  ROOT r = f32[1000000] convert(d)\n}\n"
    const struct step steps[] = {
        {"", PRODUCTS_IN("f32")}, {"bfloat16-propagation", PRODUCTS_IN("bf16")}, {NULL, NULL}};
    expect_walk(steps, NULL, ".~", NULL);
}
END_TEST

START_TEST(test_rules_table)
{
    const struct pass_rule *rule = pass_rule_find("simplification", "algsimp");
    ck_assert_ptr_nonnull(rule);
    ck_assert_uint_eq(rule->licences, PASS_REASSOCIATES | PASS_ROUNDS);
    ck_assert_ptr_nonnull(pass_rule_find("p", "float-normalization-bf16"));
    ck_assert_ptr_nonnull(pass_rule_find("p", "tpu-rng-bit-generator-expander"));
    ck_assert_ptr_null(pass_rule_find("p", "cse"));
    ck_assert_ptr_null(pass_rule_find("p", "pipeline-start"));
    ck_assert_ptr_nonnull(pass_rule_find("spmd-cleanup", "pipeline-start"));
    ck_assert_ptr_null(pass_rule_find("p", "fusion"));
    ck_assert_ptr_null(pass_rule_find("p", "xalgsimp"));
    ck_assert_ptr_null(pass_rule_find("p", "layout-assignment"));
    struct text text;
    text_init(&text);
    pass_licences_print(PASS_ROUNDS | PASS_RANDOM, &text);
    ck_assert_str_eq(text.data, "rounds, random");
    text_clear(&text);
    pass_rules_explain(&text);
    ck_assert_ptr_nonnull(strstr(text.data, "algsimp"));
    text_finish(&text);
    for (int i = 0; i < pass_rule_count; i++) {
        ck_assert_msg(pass_rules[i].licences != 0, "%s", pass_rules[i].pass);
        ck_assert_msg(strlen(pass_rules[i].why) > 0, "%s", pass_rules[i].pass);
        /* No row is hidden by one before it. */
        if (strchr(pass_rules[i].pass, '*') == NULL && pass_rules[i].pipeline == NULL) {
            ck_assert_msg(pass_rule_find("p", pass_rules[i].pass) == &pass_rules[i], "%s",
                          pass_rules[i].pass);
        }
    }
}
END_TEST

/* f32 products of TPUs are of bf16 factors: a module that says so in its types has the same bits,
 * and one that takes a product away from them differs by their roundings, which the rule of algebra
 * does not excuse: but it does where products are exact. A wrong pass is found all the same. */
START_TEST(test_products)
{
#define PRODUCT                                                                 \
    HEAD SUM                                                                    \
        "ENTRY e {\n  x = f32[4,32] parameter(0)\n  y = f32[32] parameter(1)\n" \
        "  ROOT d = f32[4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
#define ROUNDED                                                                 \
    HEAD SUM                                                                    \
        "ENTRY e {\n  x = f32[4,32] parameter(0)\n  y = f32[32] parameter(1)\n" \
        "  a = bf16[4,32] convert(x)\n  b = bf16[32] convert(y)\n"              \
        "  ROOT d = f32[4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
#define WRITTEN_OUT(of)                                                                \
    HEAD SUM "ENTRY e {\n  x = f32[4,32] parameter(0)\n  y = f32[32] parameter(1)\n"   \
             "  z = f32[] constant(0)\n  w = f32[4,32] broadcast(y), dimensions={1}\n" \
             "  m = f32[4,32] multiply(x, " of ")\n"                                   \
             "  ROOT d = f32[4] reduce(m, z), dimensions={1}, to_apply=sum\n}\n"
    const struct step steps[] = {{"", PRODUCT},
                                 {"dce", ROUNDED},
                                 {"dce", PRODUCT},
                                 {"algsimp", WRITTEN_OUT("w")},
                                 {"algsimp", WRITTEN_OUT("x")},
                                 {NULL, NULL}};
    struct passes_options options = {.profile = profile_find("tpu")};
    struct passes_result result;
    walk(steps, &options, &result);
    ck_assert_msg(strcmp(verdicts(&result), "...~!") == 0, "%s", verdicts(&result));
    ck_assert_ptr_nonnull(strstr(result.verdicts[3].message, "products"));
    passes_result_finish(&result);
    /* Other targets have no such units. */
    options.profile = profile_find("gpu");
    walk(steps, &options, &result);
    ck_assert_msg(strncmp(verdicts(&result), ".!!", 3) == 0, "%s", verdicts(&result));
    passes_result_finish(&result);
}
END_TEST

/* --- drift --- */

/* x·c with c one step larger in each module: each jump is a rounding, the sum of them is not. */
START_TEST(test_leak)
{
#define SCALED(c)                                                               \
    HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  c = f32[] constant(" c ")\n" \
         "  b = f32[64] broadcast(c), dimensions={}\n  ROOT r = f32[64] multiply(x, b)\n}\n"
    const struct step steps[] = {{"", SCALED("3")},
                                 {"algsimp", SCALED("3.00000024")},
                                 {"algsimp", SCALED("3.00000048")},
                                 {"algsimp", SCALED("3.00000072")},
                                 {"algsimp", SCALED("3.00000095")},
                                 {"cse", SCALED("3.00000095")},
                                 {NULL, NULL}};
    struct passes_options options = {.profile = profile_find("ieee")};
    struct passes_result result;
    walk(steps, &options, &result);
    /* Each step is one ulp, which a pass may move a product by, and so may all together. */
    const char *text = verdicts(&result);
    const char *leak = strchr(text, 'L');
    ck_assert_msg(strncmp(text, ".~", 2) == 0 && text[5] == '.' && strchr(text, '!') == NULL, "%s",
                  text);
    ck_assert_msg(leak != NULL && leak == strrchr(text, 'L'), "%s", text);
    int step = (int)(leak - text);
    ck_assert_ptr_nonnull(strstr(result.verdicts[step].message, "drift"));
    ck_assert(result.verdicts[step].drift.ulps > result.verdicts[step].jump.ulps);
    ck_assert_int_eq(result.finding.step, step);
    ck_assert_int_eq(result.finding.culprit_count, 0);
    passes_result_finish(&result);
}
END_TEST

/* Quotients may be 2 ulp off in the whole module; steps of 1 ulp leave that at the third. */
START_TEST(test_slow_leak)
{
#define QUOTIENT(c)                                                            \
    HEAD "ENTRY e {\n  x = f32[64] parameter(0)\n  y = f32[64] parameter(1)\n" \
         "  q = f32[64] divide(x, y)\n  c = f32[] constant(" c ")\n"           \
         "  b = f32[64] broadcast(c), dimensions={}\n  ROOT r = f32[64] multiply(q, b)\n}\n"
    const struct step steps[] = {{"", QUOTIENT("1")},
                                 {"algsimp", QUOTIENT("1.00000012")},
                                 {"algsimp", QUOTIENT("1.00000024")},
                                 {"algsimp", QUOTIENT("1.00000036")},
                                 {"algsimp", QUOTIENT("1.00000048")},
                                 {"algsimp", QUOTIENT("1.0000006")},
                                 {"cse", QUOTIENT("1.0000006")},
                                 {NULL, NULL}};
    struct passes_result result;
    struct passes_options options = {.profile = profile_find("cpu"), .derived_samples = 2};
    walk(steps, &options, &result);
    char *text = verdicts(&result);
    /* Not at the first one, which is within the tolerance of the whole, and once only. */
    ck_assert_msg(strncmp(text, ".~", 2) == 0 && strchr(text, '!') == NULL, "%s", text);
    ck_assert_msg(strchr(text, 'L') != NULL && strchr(text, 'L') == strrchr(text, 'L'), "%s", text);
    ck_assert(result.verdicts[6].drift.ulps >= 4);
    ck_assert(result.verdicts[6].jump.bits);
    passes_result_finish(&result);
}
END_TEST

/* A jump is found although a leak came before it; the leak stays what its step is called. */
START_TEST(test_leak_and_jump)
{
    const struct step steps[] = {{"", SCALED("3")},
                                 {"algsimp", SCALED("3.00000024")},
                                 {"algsimp", SCALED("3.00000048")},
                                 {"algsimp", SCALED("3.00000072")},
                                 {"algsimp", SCALED("3.00000095")},
                                 {"cse", SCALED("3.00000095")},
                                 {"algsimp", SCALED("4")},
                                 {"algsimp", SCALED("5")},
                                 {NULL, NULL}};
    struct passes_options options = {.profile = profile_find("ieee")};
    for (int seeds = 1; seeds <= 2; seeds++) {
        options.seed_count = seeds;
        struct passes_result result;
        walk(steps, &options, &result);
        const char *text = verdicts(&result);
        const char *leak = strchr(text, 'L');
        ck_assert_msg(leak != NULL && leak < text + 5 && leak == strrchr(text, 'L'), "%s", text);
        ck_assert_msg(strcmp(text + 5, ".!!") == 0, "%s", text);
        ck_assert_int_eq(result.finding.step, 6);
        ck_assert_int_eq(result.finding.culprit_count, 1);
        ck_assert_ptr_nonnull(strstr(result.finding.picture, "differ"));
        passes_result_finish(&result);
    }
}
END_TEST

/* What the golden's spread does not know, a licensed evaluation does, and it is no drift later: a
 * comparison that flips since a rounding to f8e5m2 is gone. Whoever is wrong afterwards is found.
 */
START_TEST(test_licensed)
{
/* 1.1 is 1 in f8e5m2. */
#define THROUGH(from, limit)                                                                \
    HEAD "ENTRY e {\n  x = f32[] parameter(0)\n  a = f32[64] broadcast(x), dimensions={}\n" \
         "  c = f32[] constant(" limit ")\n  b = f32[64] broadcast(c), dimensions={}\n"     \
         "  n = f8e5m2[64] convert(a)\n  w = f32[64] convert(n)\n"                          \
         "  ROOT r = pred[64] compare(" from ", b), direction=GT\n}\n"
    const struct step steps[] = {{"", THROUGH("w", "1.05")},
                                 {"simplify-fp-conversions", THROUGH("a", "1.05")},
                                 {"cse", THROUGH("a", "1.0625")},
                                 {"cse", THROUGH("a", "1.2")},
                                 {NULL, NULL}};
    struct error err = {0};
    size_t used;
    struct literal *argument = literal_parse(shape_scalar(TYPE_F32), "1.1", 3, &used, &err);
    struct passes_options options = {
        .arguments = &argument, .argument_count = 1, .derived_samples = 1};
    expect_walk(steps, &options, ".~.!", NULL);
    struct passes_result result;
    walk(steps, &options, &result);
    ck_assert_ptr_nonnull(strstr(result.verdicts[1].message, "excess precision"));
    passes_result_finish(&result);
    literal_release(argument);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pass_rules");
    TCase *cases = tcase_create("pass_rules");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, test_products);
    tcase_add_test(cases, test_rule);
    tcase_add_test(cases, test_reassociation);
    tcase_add_test(cases, test_types);
    tcase_add_test(cases, test_bfloat16_comes_in);
    tcase_add_test(cases, test_few_by_luck);
    tcase_add_test(cases, test_rules_table);
    tcase_add_test(cases, test_leak);
    tcase_add_test(cases, test_slow_leak);
    tcase_add_test(cases, test_leak_and_jump);
    tcase_add_test(cases, test_licensed);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
