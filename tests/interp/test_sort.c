/* sort, topk and scan. Sorting against insertion one element at a time with the comparator's
 * meaning written out in C; stability by payloads. */
#include "tests/interp/reduce_reference.h"

#include "hlo/base/text.h"

static struct literal *evaluate(const char *text, struct literal **arguments, int count)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s\n%s", err.message, text);
    struct literal *result = interp_evaluate(module, arguments, count, NULL, &err);
    ck_assert_msg(result != NULL, "%s\n%s", err.message, text);
    module_destroy(module);
    return result;
}

static struct literal *array_of(enum type type, int rank, const int64_t *dimensions)
{
    struct error err = {0};
    return literal_zero(shape_array(type, rank, dimensions), &err);
}

/* Is element x of the keys to stand before y? */
typedef bool before_function(const struct literal *const *keys, int64_t x, int64_t y);

/* Checks a result of two arrays (keys and their places, of one shape) along `dimension`. */
static void check_sorted(const struct literal *keys, const struct literal *result, int dimension,
                         before_function *before)
{
    const struct shape *shape = keys->shape;
    int64_t n = shape->dimensions[dimension], stride = 1;
    for (int d = dimension + 1; d < shape->rank; d++) {
        stride *= shape->dimensions[d];
    }
    int64_t *order = malloc((size_t)n * sizeof *order);
    for (int64_t line = 0; n > 0 && line < literal_elements(keys) / n; line++) {
        int64_t base = line / stride * stride * n + line % stride;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = i, element = base + i * stride;
            while (at > 0 && before(&keys, element, order[at - 1])) {
                order[at] = order[at - 1];
                at--;
            }
            order[at] = element;
        }
        for (int64_t i = 0; i < n; i++) {
            int64_t place = base + i * stride;
            REQUIRE(literal_get_bits(result->elements[0], place) ==
                        literal_get_bits(keys, order[i]),
                    "line %lld key %lld", (long long)line, (long long)i);
            REQUIRE(literal_get_int(result->elements[1], place) == order[i],
                    "line %lld payload %lld: %lld, not %lld", (long long)line, (long long)i,
                    (long long)literal_get_int(result->elements[1], place), (long long)order[i]);
        }
    }
    free(order);
}

static bool less_number(const struct literal *const *keys, int64_t x, int64_t y)
{
    return literal_get_double(keys[0], x) < literal_get_double(keys[0], y);
}
static bool greater_number(const struct literal *const *keys, int64_t x, int64_t y)
{
    return literal_get_double(keys[0], x) > literal_get_double(keys[0], y);
}
static bool less_integer(const struct literal *const *keys, int64_t x, int64_t y)
{
    return literal_get_int(keys[0], x) < literal_get_int(keys[0], y);
}
static int64_t total_key(const struct literal *literal, int64_t i)
{
    int64_t bits = (int32_t)literal_get_bits(literal, i);
    return bits < 0 ? -(bits & INT32_MAX) - 1 : bits;
}
static bool less_total(const struct literal *const *keys, int64_t x, int64_t y)
{
    return total_key(keys[0], x) < total_key(keys[0], y);
}
/* All NaNs equal and last, zeros equal: as JAX sorts. */
static bool less_jax(const struct literal *const *keys, int64_t x, int64_t y)
{
    double a = literal_get_double(keys[0], x), b = literal_get_double(keys[0], y);
    return isnan(a) ? false : isnan(b) ? true : a < b;
}
/* By the last decimal digit, then downwards: no single key. */
static bool less_digit(const struct literal *const *keys, int64_t x, int64_t y)
{
    int64_t a = literal_get_int(keys[0], x), b = literal_get_int(keys[0], y);
    return a % 10 != b % 10 ? a % 10 < b % 10 : a > b;
}

static const struct {
    const char *name;
    enum type type;
    bool specials;
    before_function *before;
    const char *body; /* of the comparator on a, b (keys) and c, d (places) */
} comparators[] = {
    {"less", TYPE_F32, false, less_number, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"swapped", TYPE_F32, false, greater_number, "ROOT r = pred[] compare(b, a), direction=LT"},
    {"greater", TYPE_S32, false, greater_number, "ROOT r = pred[] compare(a, b), direction=GT"},
    {"bf16", TYPE_BF16, false, less_number, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"f64", TYPE_F64, false, less_number, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"u8", TYPE_U8, false, less_integer, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"s64", TYPE_S64, false, less_integer, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"pred", TYPE_PRED, false, less_integer, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"s4", TYPE_S4, false, less_integer, "ROOT r = pred[] compare(a, b), direction=LT"},
    {"total", TYPE_F32, true, less_total,
     "ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER"},
    {"bits", TYPE_F32, true, less_total,
     "x = s32[] bitcast-convert(a)\n y = s32[] bitcast-convert(b)\n z = s32[] constant(0)\n"
     "m = s32[] constant(2147483647)\n p = pred[] compare(x, z), direction=LT\n"
     "q = pred[] compare(y, z), direction=LT\n u = s32[] xor(x, m)\n v = s32[] xor(y, m)\n"
     "s = s32[] select(p, u, x)\n t = s32[] select(q, v, y)\n"
     "ROOT r = pred[] compare(s, t), direction=LT"},
    {"jax", TYPE_F32, true, less_jax,
     "z = f32[] constant(0)\n n = f32[] constant(nan)\n"
     "e = pred[] compare(a, z), direction=EQ\n f = f32[] select(e, z, a)\n"
     "g = pred[] compare(f, f), direction=NE\n h = f32[] select(g, n, f)\n"
     "i = pred[] compare(b, z), direction=EQ\n j = f32[] select(i, z, b)\n"
     "k = pred[] compare(j, j), direction=NE\n l = f32[] select(k, n, j)\n"
     "ROOT r = pred[] compare(h, l), direction=LT, type=TOTALORDER"},
    {"two keys", TYPE_S32, false, less_digit,
     "t = s32[] constant(10)\n x = s32[] remainder(a, t)\n y = s32[] remainder(b, t)\n"
     "l = pred[] compare(x, y), direction=LT\n e = pred[] compare(x, y), direction=EQ\n"
     "g = pred[] compare(a, b), direction=GT\n h = pred[] and(e, g)\n"
     "ROOT r = pred[] or(l, h)"},
    {"selected", TYPE_S32, false, less_digit,
     "t = s32[] constant(10)\n x = s32[] remainder(a, t)\n y = s32[] remainder(b, t)\n"
     "l = pred[] compare(x, y), direction=LT\n e = pred[] compare(x, y), direction=EQ\n"
     "g = pred[] compare(a, b), direction=GT\n ROOT r = pred[] select(e, g, l)"},
    /* The same, but no longer of a form that is known. */
    {"merged", TYPE_S32, false, less_digit,
     "t = s32[] constant(10)\n x = s32[] remainder(a, t)\n y = s32[] remainder(b, t)\n"
     "s = s32[] subtract(x, y)\n z = s32[] constant(0)\n l = pred[] compare(s, z), direction=LT\n"
     "e = pred[] compare(s, z), direction=EQ\n g = pred[] compare(a, b), direction=GT\n"
     "h = pred[] and(e, g)\n ROOT r = pred[] or(l, h)"},
    {"merged total", TYPE_F32, false, less_number,
     "s = f32[] subtract(b, a)\n z = f32[] constant(0)\n"
     "ROOT r = pred[] compare(s, z), direction=GT"},
};

static const struct {
    int rank, dimension;
    int64_t dimensions[3];
} shapes[] = {
    {1, 0, {1}},      {1, 0, {7}},         {1, 0, {300}},  {1, 0, {4000}}, {2, 0, {50, 20}},
    {2, 1, {50, 20}}, {3, 1, {3, 100, 4}}, {2, 1, {0, 5}}, {2, 1, {5, 0}}, {2, 1, {900, 3}},
};

static void fill_keys(struct literal *keys, struct rng *rng, bool specials)
{
    for (int64_t i = 0; i < literal_elements(keys); i++) {
        /* Small numbers, so that there are ties. */
        double value = (double)(int64_t)rng_below(rng, 41) - 20;
        if (type_is_float(keys->shape->type)) {
            literal_set_double(keys, i, value == 0 ? 0.5 : value / 4);
            if (specials && rng_below(rng, 4) == 0) {
                static const uint32_t bits[] = {0,          0x80000000, 0x7fc00000, 0xffc00000,
                                                0x7f800000, 0xff800000, 0x7fc00001};
                literal_set_bits(keys, i, bits[rng_below(rng, 7)]);
            }
        } else {
            int unused = 64 - (keys->shape->type == TYPE_PRED ? 1 : type_bits(keys->shape->type));
            uint64_t raw = (uint64_t)(int64_t)value << unused;
            literal_set_int(keys, i,
                            type_kind(keys->shape->type) == KIND_SIGNED ? (int64_t)raw >> unused
                                                                        : (int64_t)(raw >> unused));
        }
    }
}

START_TEST(test_comparators)
{
    struct rng rng;
    rng_init(&rng, 60 + (uint64_t)_i);
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const char *type = type_text(comparators[_i].type);
        struct text text, shape;
        text_init(&text);
        text_init(&shape);
        for (int d = 0; d < shapes[s].rank; d++) {
            text_printf(&shape, "%s%lld", d > 0 ? "," : "", (long long)shapes[s].dimensions[d]);
        }
        text_printf(&text,
                    "HloModule m\nf { a = %s[] parameter(0)\n b = %s[] parameter(1)\n"
                    "c = s32[] parameter(2)\n d = s32[] parameter(3)\n%s }\n"
                    "ENTRY e { x = %s[%s] parameter(0)\n y = s32[%s] parameter(1)\n"
                    "ROOT r = (%s[%s], s32[%s]) sort(x, y), dimensions={%d}, is_stable=true, "
                    "to_apply=f }\n",
                    type, type, comparators[_i].body, type, shape.data, shape.data, type,
                    shape.data, shape.data, shapes[s].dimension);
        struct literal *arguments[] = {
            array_of(comparators[_i].type, shapes[s].rank, shapes[s].dimensions),
            array_of(TYPE_S32, shapes[s].rank, shapes[s].dimensions)};
        fill_keys(arguments[0], &rng, comparators[_i].specials);
        for (int64_t i = 0; i < literal_elements(arguments[1]); i++) {
            literal_set_int(arguments[1], i, i);
        }
        struct literal *result = evaluate(text.data, arguments, 2);
        ck_assert(!literal_has_unspecified(result));
        check_sorted(arguments[0], result, shapes[s].dimension, comparators[_i].before);
        literal_release(result);
        literal_release(arguments[0]);
        literal_release(arguments[1]);
        text_finish(&text);
        text_finish(&shape);
    }
}
END_TEST

/* Without is_stable the order of equal keys is open: their payloads are marked, where they differ.
 */
START_TEST(test_ties)
{
    static const char text[] =
        "HloModule m\n"
        "f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n ROOT r = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = s32[6] constant({3, 1, 3, 2, 1, 5})\n"
        "  y = s32[6] constant({0, 7, 0, 3, 8, 5})\n"
        "  ROOT r = (s32[6], s32[6]) sort(x, y), dimensions={0}, to_apply=f }\n";
    struct literal *result = evaluate(text, NULL, 0);
    for (int64_t i = 0; i < 6; i++) {
        ck_assert(!literal_is_unspecified(result->elements[0], i));
        ck_assert(literal_is_unspecified(result->elements[1], i) == (i < 2));
    }
    ck_assert_int_eq(literal_get_int(result->elements[1], 0), 7);
    literal_release(result);
}
END_TEST

/* A plain float comparison is no order when there are NaNs: all is open. */
START_TEST(test_no_order)
{
    static const char text[] =
        "HloModule m\n"
        "f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        "  ROOT r = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = f32[2,3] constant({{3, nan, 1}, {3, 2, 1}})\n"
        "  ROOT r = f32[2,3] sort(x), dimensions={1}, is_stable=true, to_apply=f }\n";
    struct literal *result = evaluate(text, NULL, 0);
    for (int64_t i = 0; i < 6; i++) {
        ck_assert(literal_is_unspecified(result, i) == (i < 3));
    }
    ck_assert(literal_get_double(result, 3) == 1 && literal_get_double(result, 5) == 3);
    literal_release(result);
}
END_TEST

/* NaN of any sign first, lower indices first among equal ones (choices.h). */
START_TEST(test_topk)
{
    enum { LINES = 30, COUNT = 500 };
    static const enum type types[] = {TYPE_F32, TYPE_BF16, TYPE_S32, TYPE_U8, TYPE_PRED};
    struct rng rng;
    rng_init(&rng, 8);
    for (int c = 0; c < 20; c++) {
        enum type type = types[c % 5];
        int64_t k = c < 5 ? 3 : c < 10 ? COUNT : 1 + (int64_t)rng_below(&rng, COUNT);
        bool largest = c % 2 == 0;
        const int64_t dimensions[] = {LINES, COUNT};
        char text[512];
        snprintf(text, sizeof text,
                 "HloModule m\nENTRY e { x = %s[30,500] parameter(0)\n"
                 "ROOT r = (%s[30,%lld], s32[30,%lld]) topk(x), k=%lld, largest=%s }\n",
                 type_text(type), type_text(type), (long long)k, (long long)k, (long long)k,
                 largest ? "true" : "false");
        struct literal *argument = array_of(type, 2, dimensions);
        fill_keys(argument, &rng, type == TYPE_F32);
        struct literal *result = evaluate(text, &argument, 1);
        for (int64_t line = 0; line < LINES; line++) {
            bool taken[COUNT] = {false};
            for (int64_t i = 0; i < k; i++) {
                int64_t best = -1;
                for (int64_t j = 0; j < COUNT; j++) {
                    double x = literal_get_double(argument, line * COUNT + j);
                    double y = best < 0 ? 0 : literal_get_double(argument, line * COUNT + best);
                    /* NaN above all; −0 below +0. */
                    int order = isnan(x) || isnan(y) ? (isnan(x) != 0) - (isnan(y) != 0)
                                : x == y             ? (signbit(y) != 0) - (signbit(x) != 0)
                                                     : (x > y) - (x < y);
                    if (!taken[j] && (best < 0 || (largest ? order > 0 : order < 0))) {
                        best = j;
                    }
                }
                taken[best] = true;
                REQUIRE(literal_get_int(result->elements[1], line * k + i) == best,
                        "%s line %lld place %lld: %lld, not %lld", type_text(type), (long long)line,
                        (long long)i, (long long)literal_get_int(result->elements[1], line * k + i),
                        (long long)best);
                REQUIRE(literal_get_bits(result->elements[0], line * k + i) ==
                            literal_get_bits(argument, line * COUNT + best),
                        "value");
            }
        }
        literal_release(result);
        literal_release(argument);
    }
}
END_TEST

/* Slices in, slices and a carry out, in either direction. */
START_TEST(test_scan)
{
    for (int reverse = 0; reverse < 2; reverse++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "HloModule m\n"
                 "f { x = s32[2,4] parameter(0)\n c = s32[2,4] parameter(1)\n"
                 "  t = s32[] constant(3)\n b = s32[2,4] broadcast(t), dimensions={}\n"
                 "  m = s32[2,4] multiply(c, b)\n n = s32[2,4] add(m, x)\n"
                 "  o = s32[2,4] subtract(n, c)\n ROOT r = (s32[2,4], s32[2,4]) tuple(o, n) }\n"
                 "ENTRY e { x = s32[2,3,4] iota(), iota_dimension=1\n z = s32[] constant(5)\n"
                 "  c = s32[2,4] broadcast(z), dimensions={}\n"
                 "  ROOT r = (s32[2,3,4], s32[2,4]) scan(x, c), dimensions={1}, num_carries=1,\n"
                 "  is_reverse=%s, to_apply=f }\n",
                 reverse ? "true" : "false");
        struct literal *result = evaluate(text, NULL, 0);
        int64_t carry = 5;
        for (int64_t step = 0; step < 3; step++) {
            int64_t t = reverse ? 2 - step : step, next = 3 * carry + t;
            for (int64_t i = 0; i < 8; i++) {
                int64_t at = i / 4 * 12 + t * 4 + i % 4;
                ck_assert_int_eq(literal_get_int(result->elements[0], at), next - carry);
            }
            carry = next;
        }
        ck_assert_int_eq(literal_get_int(result->elements[1], 7), carry);
        literal_release(result);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sort");
    TCase *all = tcase_create("sort");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_comparators, 0, sizeof comparators / sizeof comparators[0]);
    tcase_add_test(all, test_ties);
    tcase_add_test(all, test_no_order);
    tcase_add_test(all, test_topk);
    tcase_add_test(all, test_scan);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
