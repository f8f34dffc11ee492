/* reduce: many shapes, dimensions, types and reducers against references element by element. */
#include "tests/interp/reduce_reference.h"

#include "hlo/base/text.h"

/* Which elements go where: output index of each operand element for the reduced dimensions. */
static int64_t output_of(const struct shape *shape, unsigned reduced, int64_t index)
{
    int64_t output = 0, stride = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        int64_t at = index % shape->dimensions[d];
        index /= shape->dimensions[d];
        if ((reduced >> d & 1) == 0) {
            output += at * stride;
            stride *= shape->dimensions[d];
        }
    }
    return output;
}

static void print_shape(struct text *text, enum type type, int rank, const int64_t *dimensions,
                        unsigned skipped)
{
    text_printf(text, "%s[", type_text(type));
    bool first = true;
    for (int d = 0; d < rank; d++) {
        if ((skipped >> d & 1) == 0) {
            text_printf(text, "%s%lld", first ? "" : ",", (long long)dimensions[d]);
            first = false;
        }
    }
    text_append(text, "]");
}

static void print_dimensions(struct text *text, int rank, unsigned reduced)
{
    text_append(text, "dimensions={");
    bool first = true;
    for (int d = 0; d < rank; d++) {
        if ((reduced >> d & 1) != 0) {
            text_printf(text, "%s%d", first ? "" : ",", d);
            first = false;
        }
    }
    text_append(text, "}");
}

/* Reads and evaluates a module whose entry takes the given arguments. */
static struct literal *evaluate(const char *text, struct literal **arguments, int count,
                                enum fidelity fidelity)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s\n%s", err.message, text);
    struct interp_options options = {.fidelity = fidelity};
    struct literal *result = interp_evaluate(module, arguments, count, &options, &err);
    ck_assert_msg(result != NULL, "%s\n%s", err.message, text);
    module_destroy(module);
    return result;
}

static struct literal *array_of(enum type type, int rank, const int64_t *dimensions)
{
    struct error err = {0};
    return literal_zero(shape_array(type, rank, dimensions), &err);
}

static void check_reduce(const struct monoid *monoid, int rank, const int64_t *dimensions,
                         unsigned reduced, enum fidelity fidelity, bool specials, uint64_t seed)
{
    char reducer[256];
    struct text text;
    text_init(&text);
    print_reducer(reducer, sizeof reducer, "f", monoid->name, type_text(monoid->type));
    text_printf(&text, "HloModule m\n%sENTRY e { x = ", reducer);
    print_shape(&text, monoid->type, rank, dimensions, 0);
    text_printf(&text,
                " parameter(0)\n i = %s[] parameter(1)\n ROOT r = ", type_text(monoid->type));
    print_shape(&text, monoid->type, rank, dimensions, reduced);
    text_append(&text, " reduce(x, i), to_apply=f, ");
    print_dimensions(&text, rank, reduced);
    text_append(&text, " }\n");

    struct rng rng;
    rng_init(&rng, seed);
    struct literal *arguments[] = {array_of(monoid->type, rank, dimensions),
                                   array_of(monoid->type, 0, NULL)};
    fill_terms(arguments[0], &rng, monoid->name, specials);
    fill_terms(arguments[1], &rng, monoid->name, false);
    struct literal *result = evaluate(text.data, arguments, 2, fidelity);
    int64_t outputs = literal_elements(result), elements = literal_elements(arguments[0]);
    struct fold *folds = calloc((size_t)outputs + 1, sizeof *folds);
    for (int64_t o = 0; o < outputs; o++) {
        fold_begin(&folds[o], monoid, fidelity == FIDELITY_EXACT);
        fold_add(&folds[o], arguments[1], 0);
    }
    for (int64_t i = 0; i < elements; i++) {
        fold_add(&folds[output_of(arguments[0]->shape, reduced, i)], arguments[0], i);
    }
    for (int64_t o = 0; o < outputs; o++) {
        fold_check(&folds[o], result, o);
    }
    free(folds);
    literal_release(result);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    text_finish(&text);
}

static const struct monoid monoids[] = {
    {"add", TYPE_F32},        {"add", TYPE_F64},      {"add", TYPE_BF16},
    {"add", TYPE_F16},        {"add", TYPE_S32},      {"add", TYPE_U8},
    {"add", TYPE_S4},         {"multiply", TYPE_F32}, {"multiply", TYPE_BF16},
    {"multiply", TYPE_S64},   {"maximum", TYPE_F32},  {"maximum", TYPE_BF16},
    {"maximum", TYPE_U64},    {"maximum", TYPE_S16},  {"minimum", TYPE_F64},
    {"minimum", TYPE_F8E5M2}, {"minimum", TYPE_S32},  {"and", TYPE_PRED},
    {"or", TYPE_PRED},        {"xor", TYPE_U32},      {"and", TYPE_S8},
    {"add", TYPE_PRED},
};

static const struct {
    int rank;
    int64_t dimensions[5];
    unsigned reduced;
} reductions[] = {
    {1, {1000}, 1},         {1, {0}, 1},
    {2, {7, 1000}, 2},      {2, {1000, 7}, 1},
    {2, {33, 600}, 1},      {2, {600, 33}, 2},
    {2, {5, 0}, 2},         {2, {0, 5}, 2},
    {3, {6, 50, 7}, 2},     {3, {6, 50, 70}, 5},
    {3, {6, 50, 7}, 7},     {3, {6, 5, 70}, 3},
    {4, {3, 20, 5, 6}, 5},  {4, {3, 20, 5, 6}, 10},
    {4, {1, 20, 1, 6}, 5},  {5, {2, 3, 4, 5, 6}, 21},
    {2, {2, 70000}, 2},     {2, {40, 3}, 0},
    {3, {2, 3000, 100}, 2},
};
enum { REDUCTIONS = sizeof reductions / sizeof reductions[0] };

START_TEST(test_monoids)
{
    for (int r = 0; r < REDUCTIONS; r++) {
        check_reduce(&monoids[_i], reductions[r].rank, reductions[r].dimensions,
                     reductions[r].reduced, FIDELITY_EXACT, r % 2 == 1, 100 + (uint64_t)r);
    }
}
END_TEST

/* fidelity=literal: sums too go step by step in the written order. */
START_TEST(test_literal)
{
    static const struct monoid sums[] = {{"add", TYPE_F32}, {"add", TYPE_BF16}, {"add", TYPE_F64}};
    for (int m = 0; m < 3; m++) {
        for (int r = 0; r < REDUCTIONS; r++) {
            check_reduce(&sums[m], reductions[r].rank, reductions[r].dimensions,
                         reductions[r].reduced, FIDELITY_LITERAL, false, 200 + (uint64_t)r);
        }
    }
}
END_TEST

/* Rows long enough to be cut for the threads; the result must not show it. */
START_TEST(test_long)
{
    static const int64_t dimensions[] = {700001};
    static const struct monoid long_ones[] = {
        {"maximum", TYPE_F32}, {"xor", TYPE_U64}, {"add", TYPE_F32}, {"minimum", TYPE_BF16}};
    for (int m = 0; m < 4; m++) {
        check_reduce(&long_ones[m], 1, dimensions, 1, FIDELITY_EXACT, m == 2, 5);
    }
}
END_TEST

static struct literal *small_array(enum type type, int64_t count, const double *values)
{
    struct literal *literal = array_of(type, 1, &count);
    for (int64_t i = 0; i < count; i++) {
        literal_set_double(literal, i, values[i]);
    }
    return literal;
}

/* 512 ones in bf16: 512 exactly, 256 step by step. A compiler that widens its reducer means the
 * same. */
START_TEST(test_widened)
{
    static const char text[] =
        "HloModule m\n"
        "f { a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n x = f32[] convert(a)\n"
        "  y = f32[] convert(b)\n s = f32[] add(y, x)\n ROOT r = bf16[] convert(s) }\n"
        "ENTRY e { x = bf16[512] parameter(0)\n i = bf16[] parameter(1)\n"
        "  ROOT r = bf16[] reduce(x, i), dimensions={0}, to_apply=f }\n";
    int64_t count = 512;
    struct literal *arguments[] = {array_of(TYPE_BF16, 1, &count), array_of(TYPE_BF16, 0, NULL)};
    for (int64_t i = 0; i < count; i++) {
        literal_set_double(arguments[0], i, 1);
    }
    struct literal *exact = evaluate(text, arguments, 2, FIDELITY_EXACT);
    struct literal *stepwise = evaluate(text, arguments, 2, FIDELITY_LITERAL);
    ck_assert(literal_get_double(exact, 0) == 512);
    ck_assert(literal_get_double(stepwise, 0) == 256);
    literal_release(exact);
    literal_release(stepwise);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
}
END_TEST

/* arg-max as JAX writes it: the first NaN, else the first of the largest. */
START_TEST(test_arg_max)
{
    static const char text[] =
        "HloModule m\n"
        "f { v = f32[] parameter(0)\n i = s32[] parameter(1)\n w = f32[] parameter(2)\n"
        "  j = s32[] parameter(3)\n g = pred[] compare(v, w), direction=GT\n"
        "  n = pred[] compare(v, v), direction=NE\n p = pred[] or(g, n)\n"
        "  e = pred[] compare(v, w), direction=EQ\n l = pred[] compare(i, j), direction=LT\n"
        "  t = pred[] and(e, l)\n q = pred[] or(p, t)\n s = f32[] select(p, v, w)\n"
        "  k = s32[] select(q, i, j)\n ROOT r = (f32[], s32[]) tuple(s, k) }\n"
        "ENTRY e { x = f32[6] parameter(0)\n c = s32[6] iota(), iota_dimension=0\n"
        "  m = f32[] constant(-inf)\n z = s32[] constant(0)\n"
        "  ROOT r = (f32[], s32[]) reduce(x, c, m, z), dimensions={0}, to_apply=f }\n";
    static const double values[][6] = {
        {1, 5, 3, 5, -1, 2}, {-1, -2, -3, -4, -5, -6}, {1, NAN, 3, NAN, 7, 2}};
    static const int64_t wants[] = {1, 0, 1};
    for (int c = 0; c < 3; c++) {
        struct literal *argument = small_array(TYPE_F32, 6, values[c]);
        struct literal *result = evaluate(text, &argument, 1, FIDELITY_EXACT);
        ck_assert_int_eq(literal_get_int(result->elements[1], 0), wants[c]);
        literal_release(result);
        literal_release(argument);
    }
}
END_TEST

/* The rows of an arg-max side by side, each against a plain loop. */
START_TEST(test_arg_min_rows)
{
    static const char text[] =
        "HloModule m\n"
        "f { v = s32[] parameter(0)\n i = u8[] parameter(1)\n w = s32[] parameter(2)\n"
        "  j = u8[] parameter(3)\n p = pred[] compare(w, v), direction=LT\n"
        "  s = s32[] select(p, w, v)\n k = u8[] select(p, j, i)\n"
        "  ROOT r = (s32[], u8[]) tuple(s, k) }\n"
        "ENTRY e { x = s32[700,40] parameter(0)\n c = u8[700,40] iota(), iota_dimension=1\n"
        "  m = s32[] constant(2147483647)\n z = u8[] constant(99)\n"
        "  ROOT r = (s32[700], u8[700]) reduce(x, c, m, z), dimensions={1}, to_apply=f }\n";
    static const int64_t dimensions[] = {700, 40};
    struct rng rng;
    rng_init(&rng, 3);
    struct literal *argument = array_of(TYPE_S32, 2, dimensions);
    fill_random(argument, &rng, 0);
    struct literal *result = evaluate(text, &argument, 1, FIDELITY_EXACT);
    for (int64_t row = 0; row < 700; row++) {
        int64_t least = 0;
        for (int64_t i = 1; i < 40; i++) {
            if (literal_get_int(argument, row * 40 + i) <
                literal_get_int(argument, row * 40 + least)) {
                least = i;
            }
        }
        REQUIRE(literal_get_int(result->elements[1], row) == least, "row %lld", (long long)row);
    }
    literal_release(result);
    literal_release(argument);
}
END_TEST

/* A reducer that holds what no program can express is evaluated all the same. */
START_TEST(test_loop_in_reducer)
{
    static const char text[] =
        "HloModule m\n"
        "c { s = (s32[], s32[]) parameter(0)\n n = s32[] get-tuple-element(s), index=1\n"
        "  z = s32[] constant(0)\n ROOT r = pred[] compare(n, z), direction=GT }\n"
        "b { s = (s32[], s32[]) parameter(0)\n v = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] get-tuple-element(s), index=1\n o = s32[] constant(1)\n"
        "  w = s32[] add(v, o)\n m = s32[] subtract(n, o)\n ROOT r = (s32[], s32[]) tuple(w, m) }\n"
        "f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n t = (s32[], s32[]) tuple(a, b)\n"
        "  w = (s32[], s32[]) while(t), condition=c, body=b\n"
        "  ROOT r = s32[] get-tuple-element(w), index=0 }\n"
        "ENTRY e { x = s32[3,2] constant({{1,2},{3,4},{5,6}})\n z = s32[] constant(10)\n"
        "  ROOT r = s32[2] reduce(x, z), dimensions={0}, to_apply=f }\n";
    struct literal *result = evaluate(text, NULL, 0, FIDELITY_EXACT);
    ck_assert_int_eq(literal_get_int(result, 0), 19);
    ck_assert_int_eq(literal_get_int(result, 1), 22);
    literal_release(result);
}
END_TEST

/* Branches in a reducer: the smaller index picks, out of range takes the last. */
START_TEST(test_conditional_in_reducer)
{
    static const char text[] =
        "HloModule m\n"
        "p { t = (s32[], s32[]) parameter(0)\n a = s32[] get-tuple-element(t), index=0\n"
        "  b = s32[] get-tuple-element(t), index=1\n ROOT r = s32[] add(a, b) }\n"
        "q { t = (s32[], s32[]) parameter(0)\n a = s32[] get-tuple-element(t), index=0\n"
        "  b = s32[] get-tuple-element(t), index=1\n ROOT r = s32[] subtract(a, b) }\n"
        "f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n one = s32[] constant(1)\n"
        "  i = s32[] and(b, one)\n t = (s32[], s32[]) tuple(a, b)\n"
        "  ROOT r = s32[] conditional(i, t, t), branch_computations={p, q} }\n"
        "ENTRY e { x = s32[5] constant({1,2,3,4,6})\n z = s32[] constant(0)\n"
        "  ROOT r = s32[] reduce(x, z), dimensions={0}, to_apply=f }\n";
    struct literal *result = evaluate(text, NULL, 0, FIDELITY_EXACT);
    ck_assert_int_eq(literal_get_int(result, 0), -1 + 2 - 3 + 4 + 6);
    literal_release(result);
}
END_TEST

/* Complex sums: each part the exact sum of the parts. */
START_TEST(test_complex)
{
    static const char text[] =
        "HloModule m\n"
        "f { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT r = c64[] add(a, b) }\n"
        "g { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT r = c64[] multiply(a, b) }\n"
        "ENTRY e { x = c64[4] constant({(1e8,1),(1,1e8),(-1e8,3),(0.5,-1e8)})\n"
        "  z = c64[] constant((0,0))\n o = c64[] constant((1,0))\n"
        "  s = c64[] reduce(x, z), dimensions={0}, to_apply=f\n"
        "  y = c64[3] constant({(0,1),(0,1),(2,0)})\n"
        "  p = c64[] reduce(y, o), dimensions={0}, to_apply=g\n"
        "  ROOT r = (c64[], c64[]) tuple(s, p) }\n";
    struct literal *result = evaluate(text, NULL, 0, FIDELITY_EXACT);
    ck_assert(literal_get_double(result->elements[0], 0) == 1.5);
    ck_assert(literal_get_imaginary(result->elements[0], 0) == 4);
    ck_assert(literal_get_double(result->elements[1], 0) == -2);
    ck_assert(literal_get_imaginary(result->elements[1], 0) == 0);
    literal_release(result);
}
END_TEST

START_TEST(test_marks)
{
    char reducer[256];
    char text[1024];
    static const int64_t dimensions[] = {3, 4, 5};
    print_reducer(reducer, sizeof reducer, "f", "add", "f32");
    snprintf(text, sizeof text,
             "HloModule m\n%sENTRY e { x = f32[3,4,5] parameter(0)\n z = f32[] constant(0)\n"
             " ROOT r = f32[3,5] reduce(x, z), dimensions={1}, to_apply=f }\n",
             reducer);
    struct literal *argument = array_of(TYPE_F32, 3, dimensions);
    literal_mark_unspecified(argument, (1 * 4 + 2) * 5 + 3);
    struct literal *result = evaluate(text, &argument, 1, FIDELITY_EXACT);
    for (int64_t i = 0; i < 15; i++) {
        ck_assert(literal_is_unspecified(result, i) == (i == 1 * 5 + 3));
    }
    literal_release(result);
    literal_release(argument);
}
END_TEST

/* Every split into threads gives the same bits. */
START_TEST(test_threads)
{
    static const int64_t dimensions[] = {37, 1500};
    static const struct monoid mixed[] = {{"add", TYPE_F32}, {"maximum", TYPE_BF16}};
    for (int threads = 1; threads <= 3; threads++) {
        pool_set_threads(threads);
        for (int m = 0; m < 2; m++) {
            check_reduce(&mixed[m], 2, dimensions, 1, FIDELITY_EXACT, true, 9);
            check_reduce(&mixed[m], 2, dimensions, 2, FIDELITY_EXACT, true, 9);
            check_reduce(&mixed[m], 2, dimensions, 3, FIDELITY_EXACT, true, 9);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *all = tcase_create("reduce");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_monoids, 0, sizeof monoids / sizeof monoids[0]);
    tcase_add_test(all, test_literal);
    tcase_add_test(all, test_long);
    tcase_add_test(all, test_widened);
    tcase_add_test(all, test_arg_max);
    tcase_add_test(all, test_arg_min_rows);
    tcase_add_test(all, test_loop_in_reducer);
    tcase_add_test(all, test_conditional_in_reducer);
    tcase_add_test(all, test_complex);
    tcase_add_test(all, test_marks);
    tcase_add_test(all, test_threads);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
