/* scatter: random dimension numbers, combiners and types against a reference update by update. */
#include "tests/interp/reduce_reference.h"

#include "hlo/base/text.h"

enum { MAX_RANK = 4 };

/* A scatter and what its numbers mean: for each operand dimension how it is addressed. */
struct geometry {
    int operand_rank, update_rank, index_rank;
    int64_t operand[MAX_RANK], updates[2 * MAX_RANK], indices[MAX_RANK + 1];
    int window_dim[MAX_RANK]; /* update dimension that spans it, or −1 */
    int component[MAX_RANK];  /* of the index vector, or −1 */
    int batch_dim[MAX_RANK];  /* dimension of the indices that is it, or −1 */
    int index_vector_dim;
    int scatter_dim[MAX_RANK]; /* update dimension of each indices dimension but the vector */
    int scatter_count, components;
};

/* Two scatter dimensions, of which the first may be a batching one; any subset of the operand's
 * dimensions indexed, inserted or spanned by a window. */
static void random_geometry(struct geometry *g, struct rng *rng)
{
    *g = (struct geometry){.operand_rank = 1 + (int)rng_below(rng, MAX_RANK - 1)};
    g->scatter_count = (int)rng_below(rng, 3);
    bool batching = g->scatter_count > 0 && g->operand_rank > 1 && rng_below(rng, 3) == 0;
    int64_t scatter_sizes[2] = {1 + (int64_t)rng_below(rng, 4), 1 + (int64_t)rng_below(rng, 5)};
    bool window_first = rng_below(rng, 2) == 0;
    int spans = 0;
    int64_t window_sizes[MAX_RANK];
    for (int d = 0; d < g->operand_rank; d++) {
        g->operand[d] = 1 + (int64_t)rng_below(rng, 6);
        g->window_dim[d] = -1;
        g->component[d] = -1;
        g->batch_dim[d] = -1;
        if (batching && d == 0) {
            g->operand[0] = scatter_sizes[0];
            g->batch_dim[0] = 0;
            continue;
        }
        if (rng_below(rng, 3) != 0) {
            g->component[d] = g->components++;
        }
        if (g->component[d] < 0 || rng_below(rng, 2) == 0) {
            window_sizes[spans] = 1 + (int64_t)rng_below(rng, (uint64_t)g->operand[d]);
            g->window_dim[d] = spans++;
        }
    }
    /* The updates: window dimensions before or after the scatter dimensions. */
    g->update_rank = spans + g->scatter_count;
    for (int d = 0; d < g->operand_rank; d++) {
        if (g->window_dim[d] >= 0) {
            int at = g->window_dim[d] + (window_first ? 0 : g->scatter_count);
            g->updates[at] = window_sizes[g->window_dim[d]];
            g->window_dim[d] = at;
        }
    }
    for (int s = 0; s < g->scatter_count; s++) {
        g->scatter_dim[s] = s + (window_first ? spans : 0);
        g->updates[g->scatter_dim[s]] = scatter_sizes[s];
    }
    /* The indices: the vector somewhere between the scatter dimensions. A vector of one component
     * may be left out, one of none must not. */
    bool implicit = g->components == 1 && rng_below(rng, 2) == 0;
    g->index_vector_dim =
        implicit ? g->scatter_count : (int)rng_below(rng, (uint64_t)g->scatter_count + 1);
    int at = 0;
    for (int d = 0; d < g->scatter_count + !implicit; d++) {
        bool vector = d == g->index_vector_dim && !implicit;
        g->indices[g->index_rank++] = vector ? g->components : scatter_sizes[at++];
    }
    if (batching) {
        g->batch_dim[0] = g->index_vector_dim == 0 && !implicit ? 1 : 0;
    }
}

static int64_t product(int rank, const int64_t *values)
{
    int64_t result = 1;
    for (int d = 0; d < rank; d++) {
        result *= values[d];
    }
    return result;
}

static void print_list(struct text *text, const char *name, int count, const int *values)
{
    text_printf(text, ", %s={", name);
    for (int i = 0; i < count; i++) {
        text_printf(text, "%s%d", i > 0 ? "," : "", values[i]);
    }
    text_append(text, "}");
}

static void print_numbers(struct text *text, const struct geometry *g)
{
    int window[MAX_RANK] = {0}, inserted[MAX_RANK] = {0}, indexed[MAX_RANK] = {0};
    int batch[1], index_batch[1];
    int windows = 0, inserts = 0, indexes = 0, batches = 0;
    for (int d = 0; d < g->operand_rank; d++) {
        if (g->component[d] >= 0) {
            indexed[indexes++] = d;
        }
        if (g->window_dim[d] >= 0) {
            window[windows++] = g->window_dim[d];
        } else if (g->batch_dim[d] >= 0) {
            batch[batches] = d;
            index_batch[batches++] = g->batch_dim[d];
        } else {
            inserted[inserts++] = d;
        }
    }
    print_list(text, "update_window_dims", windows, window);
    print_list(text, "inserted_window_dims", inserts, inserted);
    print_list(text, "scatter_dims_to_operand_dims", indexes, indexed);
    if (batches > 0) {
        print_list(text, "input_batching_dims", batches, batch);
        print_list(text, "scatter_indices_batching_dims", batches, index_batch);
    }
    text_printf(text, ", index_vector_dim=%d", g->index_vector_dim);
}

static void print_shape(struct text *text, enum type type, int rank, const int64_t *dimensions)
{
    text_printf(text, "%s[", type_text(type));
    for (int d = 0; d < rank; d++) {
        text_printf(text, "%s%lld", d > 0 ? "," : "", (long long)dimensions[d]);
    }
    text_append(text, "]");
}

/* Where update element u goes, −1 if its window is not wholly inside. */
static int64_t target_of(const struct geometry *g, const struct literal *indices, int64_t u)
{
    int64_t at[2 * MAX_RANK], index[MAX_RANK + 1];
    for (int d = g->update_rank - 1; d >= 0; d--) {
        at[d] = u % g->updates[d];
        u /= g->updates[d];
    }
    int scatter = 0;
    for (int d = 0; d < g->index_rank; d++) {
        index[d] = d == g->index_vector_dim ? 0 : at[g->scatter_dim[scatter++]];
    }
    int64_t target = 0;
    for (int d = 0; d < g->operand_rank; d++) {
        int64_t start = g->batch_dim[d] >= 0 ? index[g->batch_dim[d]] : 0;
        int64_t size = g->window_dim[d] >= 0 ? g->updates[g->window_dim[d]] : 1;
        if (g->component[d] >= 0) {
            int64_t place = 0;
            for (int e = 0; e < g->index_rank; e++) {
                place =
                    place * g->indices[e] + (e == g->index_vector_dim ? g->component[d] : index[e]);
            }
            start = literal_get_int(indices, place);
        }
        if (start < 0 || start + size > g->operand[d]) {
            return -1;
        }
        target =
            target * g->operand[d] + start + (g->window_dim[d] >= 0 ? at[g->window_dim[d]] : 0);
    }
    return target;
}

/* Update elements in XLA's order: scatter dimensions outside, window dimensions inside. */
static int64_t update_in_order(const struct geometry *g, int64_t n)
{
    int64_t at[2 * MAX_RANK] = {0}, u = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int d = g->update_rank - 1; d >= 0; d--) {
            bool is_scatter = false;
            for (int s = 0; s < g->scatter_count; s++) {
                is_scatter = is_scatter || g->scatter_dim[s] == d;
            }
            if (is_scatter == (pass == 1)) {
                at[d] = n % g->updates[d];
                n /= g->updates[d];
            }
        }
    }
    for (int d = 0; d < g->update_rank; d++) {
        u = u * g->updates[d] + at[d];
    }
    return u;
}

static struct literal *array_of(enum type type, int rank, const int64_t *dimensions)
{
    struct error err = {0};
    return literal_zero(shape_array(type, rank, dimensions), &err);
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

static const struct monoid monoids[] = {
    {"add", TYPE_F32},       {"add", TYPE_BF16},     {"add", TYPE_F64},    {"add", TYPE_S32},
    {"maximum", TYPE_F32},   {"multiply", TYPE_F32}, {"minimum", TYPE_U8}, {"or", TYPE_PRED},
    {"overwrite", TYPE_F32}, {"overwrite", TYPE_S8},
};

static void check_scatter(const struct monoid *monoid, const struct geometry *g, struct rng *rng)
{
    char reducer[256];
    struct text text;
    enum type type = monoid->type;
    bool overwrite = strcmp(monoid->name, "overwrite") == 0;
    text_init(&text);
    if (overwrite) {
        snprintf(reducer, sizeof reducer,
                 "f { a = %s[] parameter(0)\n ROOT b = %s[] parameter(1) }\n", type_text(type),
                 type_text(type));
    } else {
        print_reducer(reducer, sizeof reducer, "f", monoid->name, type_text(type));
    }
    text_printf(&text, "HloModule m\n%sENTRY e { x = ", reducer);
    print_shape(&text, type, g->operand_rank, g->operand);
    text_append(&text, " parameter(0)\n i = ");
    print_shape(&text, TYPE_S32, g->index_rank, g->indices);
    text_append(&text, " parameter(1)\n u = ");
    print_shape(&text, type, g->update_rank, g->updates);
    text_append(&text, " parameter(2)\n ROOT r = ");
    print_shape(&text, type, g->operand_rank, g->operand);
    text_append(&text, " scatter(x, i, u), to_apply=f");
    print_numbers(&text, g);
    text_append(&text, " }\n");

    struct literal *arguments[] = {array_of(type, g->operand_rank, g->operand),
                                   array_of(TYPE_S32, g->index_rank, g->indices),
                                   array_of(type, g->update_rank, g->updates)};
    fill_terms(arguments[0], rng, monoid->name, false);
    fill_terms(arguments[2], rng, monoid->name, true);
    for (int64_t i = 0; i < literal_elements(arguments[1]); i++) {
        literal_set_int(arguments[1], i, (int64_t)rng_below(rng, 7) - 1);
    }
    struct literal *result = evaluate(text.data, arguments, 3);
    int64_t elements = literal_elements(result);
    struct fold *folds = calloc((size_t)elements, sizeof *folds);
    int64_t *last = calloc((size_t)elements, sizeof *last);
    for (int64_t i = 0; i < elements; i++) {
        fold_begin(&folds[i], monoid, true);
        fold_add(&folds[i], arguments[0], i);
        last[i] = -1;
    }
    for (int64_t n = 0; n < product(g->update_rank, g->updates); n++) {
        int64_t u = update_in_order(g, n), target = target_of(g, arguments[1], u);
        if (target >= 0 && !overwrite) {
            fold_add(&folds[target], arguments[2], u);
        } else if (target >= 0) {
            last[target] = u;
        }
    }
    for (int64_t i = 0; i < elements; i++) {
        if (last[i] >= 0) {
            REQUIRE(literal_get_bits(result, i) == literal_get_bits(arguments[2], last[i]),
                    "overwritten element %lld\n%s", (long long)i, text.data);
            mpfr_clear(folds[i].sum);
        } else {
            fold_check(&folds[i], result, i);
        }
    }
    free(folds);
    free(last);
    literal_release(result);
    for (int k = 0; k < 3; k++) {
        literal_release(arguments[k]);
    }
    text_finish(&text);
}

START_TEST(test_random)
{
    struct rng rng;
    rng_init(&rng, 900 + (uint64_t)_i);
    for (int c = 0; c < 150; c++) {
        struct geometry g;
        random_geometry(&g, &rng);
        check_scatter(&monoids[_i], &g, &rng);
    }
}
END_TEST

/* Many updates of few elements: sums stay exact, other combiners in order. */
START_TEST(test_crowded)
{
    struct geometry g = {.operand_rank = 1,
                         .update_rank = 1,
                         .index_rank = 2,
                         .operand = {5},
                         .updates = {3000},
                         .indices = {3000, 1},
                         .window_dim = {-1},
                         .component = {0},
                         .batch_dim = {-1},
                         .index_vector_dim = 1,
                         .scatter_dim = {0},
                         .scatter_count = 1,
                         .components = 1};
    struct rng rng;
    rng_init(&rng, 31);
    for (size_t m = 0; m < sizeof monoids / sizeof monoids[0]; m++) {
        check_scatter(&monoids[m], &g, &rng);
    }
}
END_TEST

/* Windows that are whole rows: some coincide, and if the operand is a vector some overlap in part.
 */
START_TEST(test_rows)
{
    struct rng rng;
    rng_init(&rng, 17);
    for (int vector = 0; vector < 2; vector++) {
        struct geometry g = {.operand_rank = vector ? 1 : 2,
                             .update_rank = 2,
                             .index_rank = 2,
                             .operand = {vector ? 40 : 6, 30},
                             .updates = {vector ? 50 : 20, vector ? 35 : 30},
                             .indices = {vector ? 50 : 20, 1},
                             .window_dim = {vector ? 1 : -1, 1},
                             .component = {0, -1},
                             .batch_dim = {-1, -1},
                             .index_vector_dim = 1,
                             .scatter_dim = {0},
                             .scatter_count = 1,
                             .components = 1};
        for (size_t m = 0; m < sizeof monoids / sizeof monoids[0]; m++) {
            check_scatter(&monoids[m], &g, &rng);
        }
    }
}
END_TEST

/* Two arrays at once, combined by a computation of both. */
START_TEST(test_variadic)
{
    static const char text[] =
        "HloModule m\n"
        "f { a = s32[] parameter(0)\n b = f32[] parameter(1)\n c = s32[] parameter(2)\n"
        "  d = f32[] parameter(3)\n p = pred[] compare(c, a), direction=GT\n"
        "  m = s32[] select(p, c, a)\n n = f32[] select(p, d, b)\n"
        "  ROOT r = (s32[], f32[]) tuple(m, n) }\n"
        "ENTRY e { x = s32[4] constant({5, 5, 5, 5})\n y = f32[4] constant({0, 0, 0, 0})\n"
        "  i = s32[6,1] constant({{0},{1},{0},{9},{3},{1}})\n"
        "  u = s32[6] constant({7, 2, 9, 8, 6, 6})\n v = f32[6] constant({1, 2, 3, 4, 5, 6})\n"
        "  ROOT r = (s32[4], f32[4]) scatter(x, y, i, u, v), to_apply=f, update_window_dims={},\n"
        "  inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1 }\n";
    static const int64_t keys[] = {9, 6, 5, 6};
    static const double values[] = {3, 6, 0, 5};
    struct literal *result = evaluate(text, NULL, 0);
    for (int64_t i = 0; i < 4; i++) {
        ck_assert_int_eq(literal_get_int(result->elements[0], i), keys[i]);
        ck_assert(literal_get_double(result->elements[1], i) == values[i]);
    }
    literal_release(result);
}
END_TEST

/* An open update leaves its element open, an overwriting one closes it; open indices leave all. */
START_TEST(test_marks)
{
    static const char text[] =
        "HloModule m\nf { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\n"
        "ENTRY e { x = f32[4] parameter(0)\n i = s32[2,1] parameter(1)\n u = f32[2] parameter(2)\n"
        "  ROOT r = f32[4] scatter(x, i, u), to_apply=f, update_window_dims={},\n"
        "  inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1 }\n";
    static const int64_t four[] = {4}, two[] = {2, 1};
    struct literal *arguments[] = {array_of(TYPE_F32, 1, four), array_of(TYPE_S32, 2, two),
                                   array_of(TYPE_F32, 1, two)};
    literal_set_int(arguments[1], 0, 1);
    literal_set_int(arguments[1], 1, 2);
    literal_mark_unspecified(arguments[0], 1);
    literal_mark_unspecified(arguments[0], 3);
    literal_mark_unspecified(arguments[2], 1);
    struct literal *result = evaluate(text, arguments, 3);
    for (int64_t i = 0; i < 4; i++) {
        ck_assert(literal_is_unspecified(result, i) == (i == 2 || i == 3));
    }
    literal_release(result);
    literal_mark_unspecified(arguments[1], 0);
    result = evaluate(text, arguments, 3);
    for (int64_t i = 0; i < 4; i++) {
        ck_assert(literal_is_unspecified(result, i));
    }
    literal_release(result);
    for (int k = 0; k < 3; k++) {
        literal_release(arguments[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scatter");
    TCase *all = tcase_create("scatter");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_random, 0, sizeof monoids / sizeof monoids[0]);
    tcase_add_test(all, test_crowded);
    tcase_add_test(all, test_rows);
    tcase_add_test(all, test_variadic);
    tcase_add_test(all, test_marks);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
