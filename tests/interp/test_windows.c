/* reduce-window and select-and-scatter: random windows with strides, dilations and paddings of both
 * signs against references element by element. */
#include "tests/interp/reduce_reference.h"

#include "hlo/base/text.h"

enum { MAX_RANK = 3 };

struct geometry {
    int rank;
    int64_t in[MAX_RANK], out[MAX_RANK];
    int64_t size[MAX_RANK], stride[MAX_RANK], low[MAX_RANK], high[MAX_RANK];
    int64_t dilation[MAX_RANK], base[MAX_RANK];
};

static int64_t product(int rank, const int64_t *values)
{
    int64_t result = 1;
    for (int d = 0; d < rank; d++) {
        result *= values[d];
    }
    return result;
}

/* Sizes of the output by XLA's rule; false if a dimension has none. */
static bool finish_geometry(struct geometry *g)
{
    for (int d = 0; d < g->rank; d++) {
        int64_t padded = (g->in[d] - 1) * g->base[d] + 1 + g->low[d] + g->high[d];
        int64_t window = (g->size[d] - 1) * g->dilation[d] + 1;
        if (padded < window) {
            return false;
        }
        g->out[d] = (padded - window) / g->stride[d] + 1;
    }
    return true;
}

static bool random_geometry(struct geometry *g, struct rng *rng)
{
    g->rank = 1 + (int)rng_below(rng, MAX_RANK);
    for (int d = 0; d < g->rank; d++) {
        bool plain = rng_below(rng, 3) == 0;
        g->in[d] = 1 + (int64_t)rng_below(rng, g->rank == 1 ? 700 : 12);
        g->size[d] = plain ? 1 : 1 + (int64_t)rng_below(rng, g->rank == 1 ? 40 : 4);
        g->stride[d] = plain ? 1 : 1 + (int64_t)rng_below(rng, 3);
        g->low[d] = plain ? 0 : (int64_t)rng_below(rng, 6) - 2;
        g->high[d] = plain ? 0 : (int64_t)rng_below(rng, 6) - 2;
        g->dilation[d] = plain || rng_below(rng, 2) ? 1 : 1 + (int64_t)rng_below(rng, 3);
        g->base[d] = plain || rng_below(rng, 2) ? 1 : 1 + (int64_t)rng_below(rng, 3);
    }
    return finish_geometry(g);
}

static void print_list(struct text *text, const char *name, int rank, const int64_t *values)
{
    text_printf(text, " %s=", name);
    for (int d = 0; d < rank; d++) {
        text_printf(text, "%s%lld", d > 0 ? "x" : "", (long long)values[d]);
    }
}

static void print_window(struct text *text, const struct geometry *g)
{
    text_append(text, "window={");
    print_list(text, "size", g->rank, g->size);
    print_list(text, "stride", g->rank, g->stride);
    text_append(text, " pad=");
    for (int d = 0; d < g->rank; d++) {
        text_printf(text, "%s%lld_%lld", d > 0 ? "x" : "", (long long)g->low[d],
                    (long long)g->high[d]);
    }
    print_list(text, "lhs_dilate", g->rank, g->base);
    print_list(text, "rhs_dilate", g->rank, g->dilation);
    text_append(text, "}");
}

static void print_shape(struct text *text, enum type type, int rank, const int64_t *dimensions)
{
    text_printf(text, "%s[", type_text(type));
    for (int d = 0; d < rank; d++) {
        text_printf(text, "%s%lld", d > 0 ? "," : "", (long long)dimensions[d]);
    }
    text_append(text, "]");
}

/* The operand's element under window element w of output o, −1 in padding and holes. */
static int64_t element_at(const struct geometry *g, int64_t o, int64_t w)
{
    int64_t element = 0, stride = 1;
    for (int d = g->rank - 1; d >= 0; d--) {
        int64_t j = o % g->out[d], k = w % g->size[d];
        o /= g->out[d];
        w /= g->size[d];
        int64_t at = j * g->stride[d] + k * g->dilation[d] - g->low[d];
        if (at < 0 || at % g->base[d] != 0 || at / g->base[d] >= g->in[d]) {
            return -1;
        }
        element += at / g->base[d] * stride;
        stride *= g->in[d];
    }
    return element;
}

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

static void check_window(const struct monoid *monoid, const struct geometry *g, struct rng *rng,
                         bool specials)
{
    char reducer[256];
    struct text text;
    text_init(&text);
    print_reducer(reducer, sizeof reducer, "f", monoid->name, type_text(monoid->type));
    text_printf(&text, "HloModule m\n%sENTRY e { x = ", reducer);
    print_shape(&text, monoid->type, g->rank, g->in);
    text_printf(&text,
                " parameter(0)\n i = %s[] parameter(1)\n ROOT r = ", type_text(monoid->type));
    print_shape(&text, monoid->type, g->rank, g->out);
    text_append(&text, " reduce-window(x, i), to_apply=f, ");
    print_window(&text, g);
    text_append(&text, " }\n");
    struct literal *arguments[] = {array_of(monoid->type, g->rank, g->in),
                                   array_of(monoid->type, 0, NULL)};
    fill_terms(arguments[0], rng, monoid->name, specials);
    fill_terms(arguments[1], rng, monoid->name, false);
    struct literal *result = evaluate(text.data, arguments, 2);
    int64_t windows = product(g->rank, g->size);
    for (int64_t o = 0; o < literal_elements(result); o++) {
        struct fold fold;
        fold_begin(&fold, monoid, true);
        fold_add(&fold, arguments[1], 0);
        for (int64_t w = 0; w < windows; w++) {
            int64_t at = element_at(g, o, w);
            if (at >= 0) {
                fold_add(&fold, arguments[0], at);
            }
        }
        fold_check(&fold, result, o);
    }
    literal_release(result);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
    text_finish(&text);
}

static const struct monoid monoids[] = {
    {"add", TYPE_F32},      {"add", TYPE_F64},     {"add", TYPE_BF16},    {"add", TYPE_S32},
    {"multiply", TYPE_F32}, {"multiply", TYPE_S8}, {"maximum", TYPE_F32}, {"maximum", TYPE_F16},
    {"minimum", TYPE_S64},  {"or", TYPE_PRED},     {"xor", TYPE_U16},
};

START_TEST(test_random_windows)
{
    struct rng rng;
    rng_init(&rng, 50 + (uint64_t)_i);
    for (int c = 0; c < 120; c++) {
        struct geometry g;
        if (random_geometry(&g, &rng)) {
            check_window(&monoids[_i], &g, &rng, c % 3 == 0);
        }
    }
}
END_TEST

/* Running sums and extremes: windows as long as the axis, which slide or double. */
START_TEST(test_long_windows)
{
    struct rng rng;
    rng_init(&rng, 4);
    for (int axis = 0; axis < 2; axis++) {
        struct geometry g = {.rank = 2,
                             .in = {4, 4},
                             .size = {1, 1},
                             .stride = {1, 1},
                             .dilation = {1, 1},
                             .base = {1, 1}};
        g.in[axis] = 300;
        g.size[axis] = 300;
        g.low[axis] = 299;
        ck_assert(finish_geometry(&g));
        for (size_t m = 0; m < sizeof monoids / sizeof monoids[0]; m++) {
            check_window(&monoids[m], &g, &rng, m % 2 == 0);
        }
        g.size[axis] = 200;
        g.stride[axis] = 3;
        g.low[axis] = 50;
        g.high[axis] = 120;
        ck_assert(finish_geometry(&g));
        check_window(&monoids[0], &g, &rng, false);
        check_window(&monoids[6], &g, &rng, true);
    }
}
END_TEST

/* Two arrays in one window, by a program: the largest of one and what the other has there. */
START_TEST(test_variadic)
{
    static const char text[] =
        "HloModule m\n"
        "f { v = f32[] parameter(0)\n i = s32[] parameter(1)\n w = f32[] parameter(2)\n"
        "  j = s32[] parameter(3)\n p = pred[] compare(w, v), direction=GT\n"
        "  s = f32[] select(p, w, v)\n k = s32[] select(p, j, i)\n"
        "  ROOT r = (f32[], s32[]) tuple(s, k) }\n"
        "ENTRY e { x = f32[40,50] parameter(0)\n c = s32[40,50] parameter(1)\n"
        "  m = f32[] constant(-inf)\n z = s32[] constant(-7)\n"
        "  ROOT r = (f32[20,17], s32[20,17]) reduce-window(x, c, m, z), to_apply=f,\n"
        "  window={size=3x3 stride=2x3 pad=0_1x0_1} }\n";
    static const int64_t dimensions[] = {40, 50};
    struct geometry g = {2, {40, 50}, {20, 17}, {3, 3}, {2, 3}, {0, 0}, {1, 1}, {1, 1}, {1, 1}};
    struct rng rng;
    rng_init(&rng, 77);
    struct literal *arguments[] = {array_of(TYPE_F32, 2, dimensions),
                                   array_of(TYPE_S32, 2, dimensions)};
    fill_random(arguments[0], &rng, 3);
    for (int64_t i = 0; i < 2000; i++) {
        literal_set_int(arguments[1], i, i);
    }
    struct literal *result = evaluate(text, arguments, 2);
    for (int64_t o = 0; o < 20 * 17; o++) {
        double most = -INFINITY;
        int64_t where = -7;
        for (int64_t w = 0; w < 9; w++) {
            int64_t at = element_at(&g, o, w);
            if (at >= 0 && literal_get_double(arguments[0], at) > most) {
                most = literal_get_double(arguments[0], at);
                where = at;
            }
        }
        REQUIRE(literal_get_double(result->elements[0], o) == most &&
                    literal_get_int(result->elements[1], o) == where,
                "output %lld", (long long)o);
    }
    literal_release(result);
    literal_release(arguments[0]);
    literal_release(arguments[1]);
}
END_TEST

/* In each window the first of the largest takes the source's element; sums are exact. */
START_TEST(test_select_and_scatter)
{
    struct rng rng;
    rng_init(&rng, 5);
    for (int c = 0; c < 60; c++) {
        enum type type = c % 3 == 0 ? TYPE_S32 : c % 3 == 1 ? TYPE_F32 : TYPE_BF16;
        const struct monoid add = {"add", type};
        struct geometry g;
        do {
            random_geometry(&g, &rng);
            for (int d = 0; d < g.rank; d++) {
                g.dilation[d] = 1;
                g.base[d] = 1;
                g.low[d] = 0;
                g.high[d] = (int64_t)rng_below(&rng, 2);
            }
        } while (!finish_geometry(&g));
        char reducer[256];
        struct text text;
        text_init(&text);
        print_reducer(reducer, sizeof reducer, "f", "add", type_text(type));
        text_printf(&text,
                    "HloModule m\n%sg { a = %s[] parameter(0)\n b = %s[] parameter(1)\n"
                    "ROOT r = pred[] compare(a, b), direction=GE }\nENTRY e { x = ",
                    reducer, type_text(type), type_text(type));
        print_shape(&text, type, g.rank, g.in);
        text_append(&text, " parameter(0)\n s = ");
        print_shape(&text, type, g.rank, g.out);
        text_printf(&text, " parameter(1)\n i = %s[] parameter(2)\n ROOT r = ", type_text(type));
        print_shape(&text, type, g.rank, g.in);
        text_append(&text, " select-and-scatter(x, s, i), select=g, scatter=f, ");
        print_window(&text, &g);
        text_append(&text, " }\n");
        struct literal *arguments[] = {array_of(type, g.rank, g.in), array_of(type, g.rank, g.out),
                                       array_of(type, 0, NULL)};
        fill_random(arguments[0], &rng, 2);
        fill_random(arguments[1], &rng, 10);
        literal_set_double(arguments[2], 0, 3);
        struct literal *result = evaluate(text.data, arguments, 3);
        int64_t elements = literal_elements(result), outputs = literal_elements(arguments[1]);
        struct fold *folds = calloc((size_t)elements, sizeof *folds);
        for (int64_t i = 0; i < elements; i++) {
            fold_begin(&folds[i], &add, true);
            fold_add(&folds[i], arguments[2], 0);
        }
        for (int64_t o = 0; o < outputs; o++) {
            int64_t chosen = -1;
            for (int64_t w = 0; w < product(g.rank, g.size); w++) {
                int64_t at = element_at(&g, o, w);
                if (at >= 0 && (chosen < 0 || literal_get_double(arguments[0], at) >
                                                  literal_get_double(arguments[0], chosen))) {
                    chosen = at;
                }
            }
            if (chosen >= 0) {
                fold_add(&folds[chosen], arguments[1], o);
            }
        }
        for (int64_t i = 0; i < elements; i++) {
            fold_check(&folds[i], result, i);
        }
        free(folds);
        literal_release(result);
        for (int k = 0; k < 3; k++) {
            literal_release(arguments[k]);
        }
        text_finish(&text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("windows");
    TCase *all = tcase_create("windows");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_random_windows, 0, sizeof monoids / sizeof monoids[0]);
    tcase_add_test(all, test_long_windows);
    tcase_add_test(all, test_variadic);
    tcase_add_test(all, test_select_and_scatter);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
