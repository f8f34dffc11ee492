/* Clusters against the same instructions one by one: an observer switches clusters off, and the
 * results must have the same bits. The modules are random graphs of elementwise instructions,
 * broadcasts, reshapes and iotas. */
#include "tests/interp/one_op.h"

#include "hlo/base/text.h"
#include "interp/cluster.h"

enum { MAX_VALUES = 64 };

/* The values of a random module so far. All have 24 or 1920 elements, or are small. */
struct value {
    enum type type;
    int shape; /* index into shapes */
};
static const char *const shapes[] = {"[]",     "[5]",  "[3,5]", "[2,4,3,5,16]", "[24,80]",
                                     "[1920]", "[16]", "[2,5]", "[2,3,5,16]"};
enum { SCALAR, FIVE, THREE_FIVE, FULL, MATRIX, VECTOR, SIXTEEN, TWO_FIVE, ALL_BUT_FOUR };

struct graph {
    struct text text;
    struct rng *rng;
    struct value values[MAX_VALUES];
    int count;
};

static int pick(struct graph *g, int from)
{
    return (int)rng_below(g->rng, (uint64_t)from);
}

static int add_line(struct graph *g, enum type type, int shape, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int add_line(struct graph *g, enum type type, int shape, const char *format, ...)
{
    va_list arguments;
    text_printf(&g->text, "v%d = %s%s ", g->count, type_text(type), shapes[shape]);
    va_start(arguments, format);
    text_vprintf(&g->text, format, arguments);
    va_end(arguments);
    text_append(&g->text, "\n");
    g->values[g->count] = (struct value){type, shape};
    return g->count++;
}

/* A value of a type and shape that exists, or a broadcast of a parameter made for it. */
static int value_of(struct graph *g, enum type type, int shape)
{
    for (int tries = 0; tries < 8 && g->count > 0; tries++) {
        int v = g->count - 1 - pick(g, g->count < 12 ? g->count : 12);
        if (g->values[v].type == type && g->values[v].shape == shape) {
            return v;
        }
    }
    for (int v = g->count - 1; v >= 0; v--) {
        if (g->values[v].shape != shape || !type_is_array(g->values[v].type)) {
            continue;
        }
        bool to_integer = type_is_integer(type) && type_is_float(g->values[v].type);
        if (!to_integer) {
            return add_line(g, type, shape, "convert(v%d)", v);
        }
    }
    return add_line(g, type, shape, "iota(), iota_dimension=0");
}

static const enum type float_types[] = {TYPE_F32, TYPE_BF16, TYPE_F16, TYPE_F64};
static const enum type integer_types[] = {TYPE_S32, TYPE_U8, TYPE_S64, TYPE_S4};

static void add_view(struct graph *g, enum type type)
{
    switch (pick(g, 9)) {
    case 7: /* two runs of dimensions, with some behind them, and none */
        add_line(g, type, FULL, "broadcast(p7_%s), dimensions={0,3}", type_text(type));
        break;
    case 8:
        add_line(g, type, FULL, "broadcast(p8_%s), dimensions={0,2,3,4}", type_text(type));
        break;
    case 0:
        add_line(g, type, FULL, "broadcast(p0_%s), dimensions={}", type_text(type));
        break;
    case 1:
        add_line(g, type, FULL, "broadcast(p1_%s), dimensions={3}", type_text(type));
        break;
    case 2:
        add_line(g, type, FULL, "broadcast(p2_%s), dimensions={2,3}", type_text(type));
        break;
    case 3:
        add_line(g, type, FULL, "broadcast(p6_%s), dimensions={4}", type_text(type));
        break;
    case 4: {
        int v = value_of(g, type, FULL);
        int shape = pick(g, 2) == 0 ? MATRIX : VECTOR;
        int reshaped = add_line(g, type, shape, "reshape(v%d)", v);
        add_line(g, type, FULL, "reshape(v%d)", reshaped);
        break;
    }
    default:
        add_line(g, type, FULL, "iota(), iota_dimension=%d", pick(g, 5));
        break;
    }
}

static void add_operation(struct graph *g)
{
    static const char *const unary_floats[] = {"negate", "abs",   "tanh", "exponential",
                                               "sqrt",   "floor", "sign", "logistic"};
    static const char *const binary_floats[] = {"add",     "subtract", "multiply", "divide",
                                                "maximum", "minimum",  "power"};
    static const char *const binary_integers[] = {
        "add",   "subtract", "multiply", "and", "or", "xor", "shift-left", "shift-right-logical",
        "divide"};
    bool is_float = pick(g, 3) != 0;
    enum type type = is_float ? float_types[pick(g, 4)] : integer_types[pick(g, 4)];
    switch (pick(g, 8)) {
    case 0:
        add_view(g, type);
        break;
    case 1:
        if (is_float) {
            int v = value_of(g, type, FULL);
            add_line(g, type, FULL, "%s(v%d)", unary_floats[pick(g, 8)], v);
        }
        break;
    case 2: {
        int a = value_of(g, type, FULL), b = value_of(g, type, FULL);
        int p = add_line(g, TYPE_PRED, FULL, "compare(v%d, v%d), direction=LT", a, b);
        add_line(g, type, FULL, "select(v%d, v%d, v%d)", p, b, a);
        break;
    }
    case 3: {
        int v = value_of(g, type, FULL);
        add_line(g, type, FULL, "clamp(p0_%s, v%d, p0_%s)", type_text(type), v, type_text(type));
        break;
    }
    case 4: {
        int v = value_of(g, TYPE_F32, FULL);
        int bits = add_line(g, TYPE_S32, FULL, "bitcast-convert(v%d)", v);
        int mask = value_of(g, TYPE_S32, FULL);
        int mixed = add_line(g, TYPE_S32, FULL, "xor(v%d, v%d)", bits, mask);
        add_line(g, TYPE_F32, FULL, "bitcast-convert(v%d)", mixed);
        break;
    }
    default: {
        int a = value_of(g, type, FULL), b = value_of(g, type, FULL);
        add_line(g, type, FULL, "%s(v%d, v%d)",
                 is_float ? binary_floats[pick(g, 7)] : binary_integers[pick(g, 9)], a, b);
        break;
    }
    }
}

static bool keep_observed(void *context, const struct instruction *instruction,
                          const struct literal *value, int64_t iteration, struct error *err)
{
    (void)instruction;
    (void)value;
    (void)iteration;
    (void)err;
    ++*(int *)context;
    return true;
}

static const enum type parameter_types[] = {TYPE_F32, TYPE_BF16, TYPE_F16, TYPE_F64,
                                            TYPE_S32, TYPE_U8,   TYPE_S64, TYPE_S4};
static const int parameter_shapes[] = {SCALAR, FIVE,     THREE_FIVE,  SIXTEEN,
                                       FULL,   TWO_FIVE, ALL_BUT_FOUR};
static const int parameter_names[] = {0, 1, 2, 6, 3, 7, 8};

/* Another bit of each number, which one depends on the place and the instruction. */
static void turn_bits(void *context, const struct instruction *instruction, enum noise_place place,
                      int operand, struct literal *value)
{
    (void)context;
    (void)place;
    (void)operand;
    uint8_t *bytes = literal_data(value);
    size_t width = (size_t)type_bytes(value->shape->type);
    for (int64_t i = 0; i < literal_elements(value); i++) {
        bytes[(size_t)i * width] ^= (uint8_t)(1 << (i + instruction->id) % 8);
    }
}

/* Both ways, under such noise (NULL: none); whether the bits agree, marks included. */
static void check_noisy(const struct module *module, struct literal **arguments, int count,
                        struct interp_options options, const char *text)
{
    struct error err = {0};
    int seen = 0;
    struct interp_options observed = options;
    observed.on_instruction = keep_observed;
    observed.context = &seen;
    size_t before = literal_memory_in_use();
    struct literal *one_by_one = interp_evaluate(module, arguments, count, &observed, &err);
    struct literal *together = interp_evaluate(module, arguments, count, &options, &err);
    ck_assert_msg(one_by_one != NULL && together != NULL, "%s\n%s", err.message, text);
    ck_assert_msg(literal_equal(one_by_one, together), "different bits\n%s", text);
    for (int i = 0; i < shape_leaves(together->shape); i++) {
        const struct literal *a = literal_leaf(one_by_one, i), *b = literal_leaf(together, i);
        for (int64_t e = 0; e < literal_elements(a); e++) {
            ck_assert_msg(literal_is_unspecified(a, e) == literal_is_unspecified(b, e),
                          "different marks\n%s", text);
        }
    }
    literal_release(one_by_one);
    literal_release(together);
    ck_assert_msg(literal_memory_in_use() == before, "literals leak\n%s", text);
}

/* Alone, with noise on what rounds, and with noise everywhere. */
static void check_module(const char *text, struct literal **arguments, int count)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s\n%s", err.message, text);
    check_noisy(module, arguments, count, (struct interp_options){0}, text);
    check_noisy(module, arguments, count, (struct interp_options){.noise = turn_bits}, text);
    check_noisy(module, arguments, count,
                (struct interp_options){.noise = turn_bits, .noise_everywhere = true}, text);
    module_destroy(module);
}

START_TEST(test_random)
{
    struct rng rng;
    rng_init(&rng, 1000 + (uint64_t)_i);
    enum { TYPES = sizeof parameter_types / sizeof parameter_types[0], SHAPES = 7 };
    for (int c = 0; c < 25; c++) {
        struct graph g = {.rng = &rng};
        struct literal *arguments[TYPES * SHAPES];
        text_init(&g.text);
        text_append(&g.text, "HloModule m\nENTRY e {\n");
        for (int t = 0; t < TYPES; t++) {
            for (int s = 0; s < SHAPES; s++) {
                struct error err = {0};
                char shape_written[64];
                size_t used;
                snprintf(shape_written, sizeof shape_written, "%s%s", type_text(parameter_types[t]),
                         shapes[parameter_shapes[s]]);
                const struct shape *shape =
                    shape_parse(shape_written, strlen(shape_written), &used, &err);
                int number = t * SHAPES + s;
                text_printf(&g.text, "p%d_%s = %s parameter(%d)\n", parameter_names[s],
                            type_text(parameter_types[t]), shape_written, number);
                arguments[number] = literal_zero(shape, &err);
                fill_random(arguments[number], &rng, 3);
                if (rng_below(&rng, 12) == 0 && c % 5 == 0) {
                    literal_mark_unspecified(arguments[number], 0);
                }
                /* A signalling NaN now and then: bits that conversions would change. */
                if (parameter_types[t] == TYPE_BF16 && rng_below(&rng, 4) == 0) {
                    literal_set_bits(arguments[number], 0, 0x7f81);
                }
            }
        }
        for (int t = 0; t < TYPES; t++) {
            add_line(&g, parameter_types[t], FULL, "copy(p3_%s)", type_text(parameter_types[t]));
        }
        while (g.count < MAX_VALUES - 8) {
            add_operation(&g);
        }
        /* Several results, so that there are several clusters with shared operands. */
        int results[3] = {g.count - 1, g.count - 1 - pick(&g, 10), g.count - 1 - pick(&g, 30)};
        text_append(&g.text, "ROOT r = (");
        for (int r = 0; r < 3; r++) {
            text_printf(&g.text, "%s%s%s", r > 0 ? ", " : "", type_text(g.values[results[r]].type),
                        shapes[g.values[results[r]].shape]);
        }
        text_printf(&g.text, ") tuple(v%d, v%d, v%d)\n}\n", results[0], results[1], results[2]);
        check_module(g.text.data, arguments, TYPES * SHAPES);
        for (int i = 0; i < TYPES * SHAPES; i++) {
            literal_release(arguments[i]);
        }
        text_finish(&g.text);
    }
}
END_TEST

/* What is found: one cluster of all, its broadcasts and iotas inside. */
START_TEST(test_found)
{
    static const char text[] =
        "HloModule m\nENTRY e {\n"
        "x = f32[4,6] parameter(0)\n b = f32[6] parameter(1)\n h = f32[] constant(0.5)\n"
        "bb = f32[4,6] broadcast(b), dimensions={1}\n hb = f32[4,6] broadcast(h), dimensions={}\n"
        "s = f32[4,6] add(x, bb)\n m = f32[4,6] multiply(s, hb)\n t = f32[4,6] tanh(m)\n"
        "f = f32[24] reshape(t)\n i = f32[24] iota(), iota_dimension=0\n"
        "ROOT r = f32[24] add(f, i)\n}\n";
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    struct clusters *clusters = clusters_find(module->entry, 0, NULL);
    ck_assert_ptr_nonnull(clusters);
    for (int i = 0; i < module->entry->count; i++) {
        const struct instruction *instruction = module->entry->instructions[i];
        bool input = instruction->opcode == OP_PARAMETER || instruction->opcode == OP_CONSTANT;
        bool root = instruction == module->entry->root;
        ck_assert(clusters->inside[i] == (!input && !root));
        ck_assert((clusters->roots[i] != NULL) == root);
    }
    ck_assert_int_eq(cluster_input_count(clusters->roots[module->entry->root->id]), 2);
    clusters_destroy(clusters);
    module_destroy(module);
}
END_TEST

/* Large enough for several threads, and in place of a dying value. */
START_TEST(test_large)
{
    static const char text[] =
        "HloModule m\nENTRY e {\n"
        "x = f32[300,1001] parameter(0)\n n = f32[300,1001] sort(x), dimensions={1}, to_apply={\n"
        "a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        "ROOT c = pred[] compare(a, b), direction=LT, type=TOTALORDER }\n"
        "y = f32[300] parameter(1)\n yb = f32[300,1001] broadcast(y), dimensions={0}\n"
        "d = f32[300,1001] subtract(n, yb)\n e = f32[300,1001] exponential(d)\n"
        "i = f32[300,1001] iota(), iota_dimension=1\n c = pred[300,1001] compare(i, e), "
        "direction=GT\n"
        "h = bf16[300,1001] convert(e)\n g = f32[300,1001] convert(h)\n"
        "ROOT r = f32[300,1001] select(c, g, d)\n}\n";
    struct rng rng;
    struct error err = {0};
    rng_init(&rng, 1);
    static const int64_t dimensions[] = {300, 1001};
    struct literal *arguments[] = {literal_zero(shape_array(TYPE_F32, 2, dimensions), &err),
                                   literal_zero(shape_array(TYPE_F32, 1, dimensions), &err)};
    fill_random(arguments[0], &rng, 6);
    fill_random(arguments[1], &rng, 3);
    for (int threads = 1; threads <= 3; threads += 2) {
        pool_set_threads(threads);
        check_module(text, arguments, 2);
    }
    literal_release(arguments[0]);
    literal_release(arguments[1]);
}
END_TEST

/* An iota of several dimensions behind a broadcast; and marks, for which members are evaluated one
 * by one, the iota among them. */
START_TEST(test_iota_behind_broadcast)
{
    static const char text[] =
        "HloModule m\nENTRY e {\n x = s32[2,3,4] parameter(0)\n"
        "i = s32[2,3] iota(), iota_dimension=%d\n"
        "b = s32[2,3,4] broadcast(i), dimensions={0,1}\n a = s32[2,3,4] add(x, b)\n"
        "ROOT r = s32[2,3,4] multiply(a, a)\n}\n";
    static const int64_t dimensions[] = {2, 3, 4};
    for (int way = 0; way < 4; way++) {
        char module[600];
        struct error err = {0};
        struct literal *argument = literal_zero(shape_array(TYPE_S32, 3, dimensions), &err);
        snprintf(module, sizeof module, text, way % 2);
        if (way >= 2) {
            literal_mark_unspecified(argument, 5);
        }
        check_module(module, &argument, 1);
        literal_release(argument);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *all = tcase_create("cluster");
    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, test_random, 0, 12);
    tcase_add_test(all, test_found);
    tcase_add_test(all, test_large);
    tcase_add_test(all, test_iota_behind_broadcast);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
