/* Tapes against the same loops instruction by instruction: an observer switches tapes off, and the
 * results must have the same bits and marks. The modules are random loops over a state of small and
 * large arrays, with loops, branches and calls inside. */
#include "tests/interp/evaluate_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "interp/plan.h"
#include "interp/tape.h"

/* The state: an s32 counter, then two values of each of these shapes. */
enum class { S32, F32, PRED, VECTOR, INTEGERS, MATRIX, LONG, HALF, CLASSES };
static const char *const shapes[CLASSES] = {"s32[]",  "f32[]",    "pred[]",   "f32[6]",
                                            "s32[6]", "f32[3,4]", "f32[300]", "f16[6]"};
enum { PER_CLASS = 2, LEAVES = 1 + CLASSES * PER_CLASS, MAX_VALUES = 200 };

struct body {
    struct text text;
    enum class classes[MAX_VALUES];
    int numbers[MAX_VALUES]; /* in names: v7 */
    int count, next;
};

struct maker {
    struct rng *rng;
    struct text module; /* finished computations */
    char state[400];    /* the shape of the state */
    int computations;
};

static int pick(struct maker *m, int from)
{
    return (int)rng_below(m->rng, (uint64_t)from);
}

/* Adds a value of the class. */
static int add(struct body *b, enum class class, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int add(struct body *b, enum class class, const char *format, ...)
{
    va_list arguments;
    int number = b->next++;
    text_printf(&b->text, "v%d = %s ", number, shapes[class]);
    va_start(arguments, format);
    text_vprintf(&b->text, format, arguments);
    va_end(arguments);
    text_append(&b->text, "\n");
    if (b->count < MAX_VALUES) {
        b->classes[b->count] = class;
        b->numbers[b->count++] = number;
    }
    return number;
}

/* Adds a line whose value only the next line needs. */
static int help(struct body *b, const char *shape, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static int help(struct body *b, const char *shape, const char *format, ...)
{
    va_list arguments;
    int number = b->next++;
    text_printf(&b->text, "v%d = %s ", number, shape);
    va_start(arguments, format);
    text_vprintf(&b->text, format, arguments);
    va_end(arguments);
    text_append(&b->text, "\n");
    return number;
}

/* A value of the class, the later the likelier. There always is one. */
static int value(struct maker *m, const struct body *b, enum class class)
{
    for (;;) {
        int a = pick(m, b->count), c = pick(m, b->count), at = a > c ? a : c;
        if (b->classes[at] == class) {
            return b->numbers[at];
        }
    }
}

static void open_body(struct body *b, const struct maker *m, const char *kind, const char *name)
{
    memset(b, 0, sizeof *b);
    text_init(&b->text);
    text_printf(&b->text, "%s%s { s = %s parameter(0)\n", kind, name, m->state);
    for (int class = 0; class < CLASSES; class ++) {
        for (int i = 0; i < PER_CLASS; i++) {
            add(b, (enum class) class, "get-tuple-element(s), index=%d", 1 + class * PER_CLASS + i);
        }
    }
    text_printf(&b->text, "i = s32[] get-tuple-element(s), index=0\n");
}

static void close_body(struct body *b, struct maker *m)
{
    text_append(&m->module, b->text.data);
    text_append(&m->module, "}\n");
    text_finish(&b->text);
}

/* A tuple of the state's shape: often the parameter's own elements, in place or exchanged. */
static void print_state(struct maker *m, struct body *b, const char *name, const char *counter)
{
    text_printf(&b->text, "%s = %s tuple(%s", name, m->state, counter);
    for (int class = 0; class < CLASSES; class ++) {
        bool exchange = pick(m, 6) == 0;
        for (int i = 0; i < PER_CLASS; i++) {
            int own = class * PER_CLASS + (exchange ? PER_CLASS - 1 - i : i);
            int number = pick(m, 3) > 0 ? value(m, b, (enum class) class) : own;
            text_printf(&b->text, ", v%d", number);
        }
    }
    text_append(&b->text, ")\n");
}

/* --- instructions --- */

static int index_of(struct maker *m, struct body *b)
{
    return pick(m, 2) == 0 ? value(m, b, S32) : help(b, "s32[]", "copy(i)");
}

static void add_scalar(struct maker *m, struct body *b)
{
    static const char *const integer[] = {"add", "subtract", "multiply", "minimum", "xor"};
    static const char *const real[] = {"add", "multiply", "maximum", "atan2", "divide"};
    switch (pick(m, 9)) {
    case 0:
    case 1:
        add(b, S32, "%s(v%d, v%d)", integer[pick(m, 5)], value(m, b, S32), value(m, b, S32));
        break;
    case 2:
        add(b, F32, "%s(v%d, v%d)", real[pick(m, 5)], value(m, b, F32), value(m, b, F32));
        break;
    case 3: { /* out of range, often: marked */
        int large = help(b, "f32[]", "constant(3e9)");
        int product = help(b, "f32[]", "multiply(v%d, v%d)", value(m, b, F32), large);
        add(b, S32, "convert(v%d)", product);
        break;
    }
    case 4:
        add(b, PRED, "compare(v%d, v%d), direction=LT", value(m, b, S32), value(m, b, S32));
        break;
    case 5: {
        int one = help(b, "s32[1]", "dynamic-slice(v%d, v%d), dynamic_slice_sizes={1}",
                       value(m, b, INTEGERS), index_of(m, b));
        add(b, S32, "reshape(v%d)", one);
        break;
    }
    case 6: {
        int zero = help(b, "f32[]", "constant(0)");
        add(b, F32, "reduce(v%d, v%d), dimensions={0}, to_apply=sum", value(m, b, VECTOR), zero);
        break;
    }
    case 7: {
        int none = help(b, "f32[]", "constant(-inf)");
        add(b, F32, "reduce(v%d, v%d), dimensions={0}, to_apply=most", value(m, b, LONG), none);
        break;
    }
    default:
        add(b, PRED, "%s(v%d, v%d)", pick(m, 2) == 0 ? "and" : "or", value(m, b, PRED),
            value(m, b, PRED));
        break;
    }
}

static void add_small(struct maker *m, struct body *b)
{
    static const char *const binary[] = {"add", "multiply", "minimum", "subtract"};
    switch (pick(m, 13)) {
    case 0:
        add(b, VECTOR, "%s(v%d, v%d)", binary[pick(m, 4)], value(m, b, VECTOR),
            value(m, b, VECTOR));
        break;
    case 1:
        add(b, VECTOR, "broadcast(v%d), dimensions={}", value(m, b, F32));
        break;
    case 2:
        add(b, VECTOR, "select(v%d, v%d, v%d)", value(m, b, PRED), value(m, b, VECTOR),
            value(m, b, VECTOR));
        break;
    case 3:
        add(b, VECTOR, "reverse(v%d), dimensions={0}", value(m, b, VECTOR));
        break;
    case 4: {
        int two = help(b, "f32[2]", "slice(v%d), slice={[1:5:2]}", value(m, b, VECTOR));
        int four = help(b, "f32[4]", "slice(v%d), slice={[2:6]}", value(m, b, VECTOR));
        add(b, VECTOR, "concatenate(v%d, v%d), dimensions={0}", four, two);
        break;
    }
    case 5: {
        int two = help(b, "f32[2]", "slice(v%d), slice={[0:2]}", value(m, b, VECTOR));
        add(b, VECTOR, "dynamic-update-slice(v%d, v%d, v%d)", value(m, b, VECTOR), two,
            index_of(m, b));
        break;
    }
    case 6:
        add(b, VECTOR, "dynamic-slice(v%d, v%d), dynamic_slice_sizes={6}", value(m, b, LONG),
            index_of(m, b));
        break;
    case 7:
        add(b, INTEGERS, "%s(v%d, v%d)", binary[pick(m, 4)], value(m, b, INTEGERS),
            value(m, b, INTEGERS));
        break;
    case 8:
        if (pick(m, 2) == 0) {
            add(b, INTEGERS, "convert(v%d)", value(m, b, VECTOR));
        } else {
            add(b, INTEGERS, "broadcast(v%d), dimensions={}", value(m, b, S32));
        }
        break;
    case 9:
        add(b, HALF, "%s(v%d, v%d)", binary[pick(m, 4)], value(m, b, HALF), value(m, b, HALF));
        break;
    case 10:
        add(b, HALF, "convert(v%d)", value(m, b, VECTOR));
        break;
    case 11: {
        int other = help(b, "f32[4,3]", "transpose(v%d), dimensions={1,0}", value(m, b, MATRIX));
        int flat = help(b, "f32[12]", "reshape(v%d)", other);
        int back = help(b, "f32[3,4]", "reshape(v%d)", flat);
        add(b, MATRIX, "add(v%d, v%d)", back, value(m, b, MATRIX));
        break;
    }
    default: {
        int row = help(b, "f32[1,4]", "dynamic-slice(v%d, v%d, v%d), dynamic_slice_sizes={1,4}",
                       value(m, b, MATRIX), index_of(m, b), value(m, b, S32));
        add(b, MATRIX, "dynamic-update-slice(v%d, v%d, v%d, v%d)", value(m, b, MATRIX), row,
            index_of(m, b), index_of(m, b));
        break;
    }
    }
}

static void add_long(struct maker *m, struct body *b)
{
    switch (pick(m, 5)) {
    case 0:
        add(b, LONG, "add(v%d, v%d)", value(m, b, LONG), value(m, b, LONG));
        break;
    case 1:
        add(b, LONG, "broadcast(v%d), dimensions={}", value(m, b, F32));
        break;
    case 2:
        add(b, LONG, "dynamic-update-slice(v%d, v%d, v%d)", value(m, b, LONG), value(m, b, VECTOR),
            index_of(m, b));
        break;
    case 3: { /* does not change in the loop */
        int iota = help(b, "f32[300]", "iota(), iota_dimension=0");
        int sine = help(b, "f32[300]", "sine(v%d)", iota);
        add(b, LONG, "multiply(v%d, v%d)", sine, pick(m, 2) == 0 ? sine : value(m, b, LONG));
        break;
    }
    default: {
        int flat = help(b, "f32[20,15]", "reshape(v%d)", value(m, b, LONG));
        int other = help(b, "f32[15,20]", "transpose(v%d), dimensions={1,0}", flat);
        add(b, LONG, "reshape(v%d)", other);
        break;
    }
    }
}

static int make_computation(struct maker *m, int depth);

static void take_apart(struct body *b, int state)
{
    for (int class = 0; class < CLASSES; class ++) {
        for (int i = 0; i < PER_CLASS; i++) {
            add(b, (enum class) class, "get-tuple-element(v%d), index=%d", state,
                1 + class * PER_CLASS + i);
        }
    }
}

static void make_condition(struct maker *m, int number, int trips)
{
    text_printf(&m->module,
                "c%d { s = %s parameter(0) i = s32[] get-tuple-element(s), index=0\n"
                "n = s32[] constant(%d) ROOT l = pred[] compare(i, n), direction=LT }\n",
                number, m->state, trips);
}

/* A call, a conditional or a loop. */
static void add_control(struct maker *m, struct body *b, int depth)
{
    char name[20], zero[20];
    int first = make_computation(m, depth - 1), second, state;
    snprintf(name, sizeof name, "v%d", b->next++);
    switch (pick(m, 4)) {
    case 0:
        print_state(m, b, name, "i");
        state = help(b, m->state, "call(%s), to_apply=b%d", name, first);
        break;
    case 1:
        second = make_computation(m, depth - 1);
        print_state(m, b, name, "i");
        state = help(b, m->state,
                     "conditional(v%d, %s, %s), true_computation=b%d, false_computation=b%d",
                     value(m, b, PRED), name, pick(m, 2) == 0 ? name : "s", first, second);
        break;
    case 2:
        second = make_computation(m, depth - 1);
        print_state(m, b, name, "i");
        state = help(b, m->state, "conditional(v%d, s, %s), branch_computations={b%d, b%d}",
                     value(m, b, S32), name, first, second);
        break;
    default:
        make_condition(m, m->computations, pick(m, 4));
        snprintf(zero, sizeof zero, "v%d", help(b, "s32[]", "constant(0)"));
        print_state(m, b, name, zero);
        state =
            help(b, m->state, "while(%s), condition=c%d, body=b%d", name, m->computations++, first);
        break;
    }
    take_apart(b, state);
}

/* A computation from state to state that counts; returns its number. */
static int make_computation(struct maker *m, int depth)
{
    struct body b;
    char name[20];
    int number = m->computations++;
    snprintf(name, sizeof name, "b%d", number);
    open_body(&b, m, "", name);
    int steps = 4 + pick(m, 16);
    for (int s = 0; s < steps; s++) {
        int kind = pick(m, 10);
        if (kind == 0 && depth > 0) {
            add_control(m, &b, depth);
        } else if (kind < 4) {
            add_scalar(m, &b);
        } else if (kind < 8) {
            add_small(m, &b);
        } else {
            add_long(m, &b);
        }
    }
    text_append(&b.text, "one = s32[] constant(1) next = s32[] add(i, one)\n");
    print_state(m, &b, "ROOT r", "next");
    close_body(&b, m);
    return number;
}

static struct module *make_module(struct rng *rng)
{
    struct maker m = {.rng = rng};
    struct text state;
    text_init(&state);
    text_append(&state, "(s32[]");
    for (int leaf = 0; leaf < CLASSES * PER_CLASS; leaf++) {
        text_printf(&state, ", %s", shapes[leaf / PER_CLASS]);
    }
    text_append(&state, ")");
    snprintf(m.state, sizeof m.state, "%s", state.data);
    text_finish(&state);
    text_init(&m.module);
    text_append(&m.module,
                "HloModule m\n"
                "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
                "most { a = f32[] parameter(0) b = f32[] parameter(1)\n"
                "  ROOT s = f32[] maximum(a, b) }\n");
    int body = make_computation(&m, 2);
    make_condition(&m, body, pick(&m, 6));
    text_printf(&m.module,
                "ENTRY e { p = %s parameter(0)\n"
                "ROOT w = %s while(p), condition=c%d, body=b%d }\n",
                m.state, m.state, body, body);
    struct module *module = read_module(m.module.data);
    text_finish(&m.module);
    return module;
}

/* --- comparing --- */

static bool watch(void *context, const struct instruction *instruction, const struct literal *value,
                  int64_t iteration, struct error *err)
{
    (void)instruction;
    (void)value;
    (void)iteration;
    (void)err;
    ++*(int64_t *)context;
    return true;
}

static struct literal *draw_state(const struct shape *shape, struct rng *rng)
{
    struct literal *state = literal_zero(shape, NULL);
    for (int leaf = 1; leaf < LEAVES; leaf++) {
        struct literal *array = literal_leaf(state, leaf);
        for (int64_t i = 0; i < literal_elements(array); i++) {
            if (array->shape->type == TYPE_PRED) {
                literal_set_int(array, i, rng_below(rng, 2) != 0);
            } else if (type_is_integer(array->shape->type)) {
                literal_set_int(array, i, (int64_t)rng_below(rng, 12) - 4);
            } else {
                literal_set_double(array, i, 4 * rng_uniform(rng) - 2);
            }
        }
    }
    return state;
}

static void check_same(const struct literal *got, const struct literal *want, uint64_t seed)
{
    ck_assert_msg(literal_equal(got, want), "seed %llu: other bits", (unsigned long long)seed);
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        const struct literal *a = literal_leaf(got, leaf), *b = literal_leaf(want, leaf);
        for (int64_t i = 0; i < literal_elements(a); i++) {
            ck_assert_msg(literal_is_unspecified(a, i) == literal_is_unspecified(b, i),
                          "seed %llu: output %d, element %lld: other marks",
                          (unsigned long long)seed, leaf, (long long)i);
        }
    }
}

static void check_random(uint64_t seed, int64_t *observed, int *marked)
{
    struct rng rng;
    rng_init(&rng, seed);
    struct module *module = make_module(&rng);
    size_t before = literal_memory_in_use();
    struct literal *state = draw_state(module->entry->parameters[0]->shape, &rng);
    enum fidelity fidelity = seed % 8 == 0 ? FIDELITY_LITERAL : FIDELITY_EXACT;
    struct interp_options plain = {.fidelity = fidelity};
    struct interp_options watched = {
        .fidelity = fidelity, .on_instruction = watch, .context = observed};
    struct error err = {0};
    struct literal *want = interp_evaluate(module, &state, 1, &watched, &err);
    struct literal *got = interp_evaluate(module, &state, 1, &plain, &err);
    ck_assert_msg(want != NULL && got != NULL, "seed %llu: %s", (unsigned long long)seed,
                  err.message);
    check_same(got, want, seed);
    *marked += literal_has_unspecified(want);
    literal_release(got);
    literal_release(want);
    literal_release(state);
    ck_assert_msg(literal_memory_in_use() == before, "seed %llu: literals leak",
                  (unsigned long long)seed);
    module_destroy(module);
}

START_TEST(test_random_loops)
{
    int64_t observed = 0;
    int marked = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        check_random(seed + 40 * (uint64_t)_i, &observed, &marked);
    }
    ck_assert_int_gt(observed, 1000);
    ck_assert_int_gt(marked, 0);
}
END_TEST

/* --- what is said in tape.h --- */

/* Is there a tape, and what is its value? */
static void check_loop(const char *text, const char *argument, const char *want)
{
    struct module *module = read_module(text);
    struct tape *tape = tape_create(module->entry->root);
    ck_assert_ptr_nonnull(tape);
    tape_destroy(tape);
    module_destroy(module);
    check_evaluates(text, argument, NULL, NULL, NULL, want);
}

/* 0, 1, 1, 2, 3 …: elements change places. */
START_TEST(test_exchanged_elements)
{
    check_loop(
        "HloModule m\n"
        "b { s = (s32[], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  x = s32[] get-tuple-element(s), index=1 y = s32[] get-tuple-element(s), index=2\n"
        "  one = s32[] constant(1) j = s32[] add(i, one) z = s32[] add(x, y)\n"
        "  ROOT t = (s32[], s32[], s32[]) tuple(j, y, z) }\n"
        "c { s = (s32[], s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(10) ROOT l = pred[] compare(i, n), direction=LT }\n"
        "ENTRY e { p = (s32[], s32[], s32[]) parameter(0)\n"
        "  ROOT w = (s32[], s32[], s32[]) while(p), condition=c, body=b }\n",
        "(s32[], s32[], s32[]) (0, 0, 1)", "(s32[], s32[], s32[]) (10, 55, 89)");
}
END_TEST

/* What does not change is evaluated once: 10^5 iterations with a sum over 10^6 numbers end. The sum
 * of 0 … 10^6 − 1 modulo 2^32 is 1783293664. */
START_TEST(test_evaluated_once)
{
    check_loop("HloModule m\n"
               "add { a = u32[] parameter(0) b = u32[] parameter(1) ROOT s = u32[] add(a, b) }\n"
               "b { s = (u32[], u32[]) parameter(0) i = u32[] get-tuple-element(s), index=0\n"
               "  one = u32[] constant(1) j = u32[] add(i, one)\n"
               "  n = u32[1000000] iota(), iota_dimension=0 zero = u32[] constant(0)\n"
               "  sum = u32[] reduce(n, zero), dimensions={0}, to_apply=add\n"
               "  x = u32[] get-tuple-element(s), index=1 y = u32[] add(x, sum)\n"
               "  ROOT t = (u32[], u32[]) tuple(j, y) }\n"
               "c { s = (u32[], u32[]) parameter(0) i = u32[] get-tuple-element(s), index=0\n"
               "  n = u32[] constant(100000) ROOT l = pred[] compare(i, n), direction=LT }\n"
               "ENTRY e { p = (u32[], u32[]) parameter(0)\n"
               "  ROOT w = (u32[], u32[]) while(p), condition=c, body=b }\n",
               "(u32[], u32[]) (0, 5)", "(u32[], u32[]) (100000, 2324270085)");
}
END_TEST

/* A token is made once and read in each iteration. */
START_TEST(test_tokens)
{
    check_loop("HloModule m\n"
               "b { s = (s32[], token[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  one = s32[] constant(1) j = s32[] add(i, one) a = token[] after-all()\n"
               "  x = token[] get-tuple-element(s), index=1 y = token[] after-all(a, x)\n"
               "  ROOT t = (s32[], token[]) tuple(j, y) }\n"
               "c { s = (s32[], token[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  n = s32[] constant(3) ROOT l = pred[] compare(i, n), direction=LT }\n"
               "w { i = s32[] parameter(0) x = token[] after-all()\n"
               "  p = (s32[], token[]) tuple(i, x)\n"
               "  w = (s32[], token[]) while(p), condition=c, body=b\n"
               "  ROOT r = s32[] get-tuple-element(w), index=0 }\n"
               "d { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  j = s32[] call(i), to_apply=w ROOT t = (s32[]) tuple(j) }\n"
               "f { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
               "  n = s32[] constant(2) ROOT l = pred[] compare(i, n), direction=LT }\n"
               "ENTRY e { p = (s32[]) parameter(0)\n"
               "  ROOT w = (s32[]) while(p), condition=f, body=d }\n",
               "(s32[]) (0)", "(s32[]) (3)");
}
END_TEST

/* Calls that double at each level end in no tape, soon, and the loop is evaluated without. */
START_TEST(test_too_large)
{
    struct text text;
    text_init(&text);
    text_append(&text, "HloModule m\n"
                       "g0 { x = s32[] parameter(0) ROOT y = s32[] copy(x) }\n");
    for (int level = 1; level <= 40; level++) {
        text_printf(&text,
                    "g%d { x = s32[] parameter(0) y = s32[] call(x), to_apply=g%d\n"
                    "  ROOT z = s32[] call(y), to_apply=g%d }\n",
                    level, level - 1, level - 1);
    }
    text_append(&text, "b { s = (s32[]) parameter(0) x = s32[] get-tuple-element(s), index=0\n"
                       "  y = s32[] call(x), to_apply=g40 ROOT t = (s32[]) tuple(y) }\n"
                       "c { s = (s32[]) parameter(0) ROOT l = pred[] constant(false) }\n"
                       "ENTRY e { p = (s32[]) parameter(0)\n"
                       "  ROOT w = (s32[]) while(p), condition=c, body=b }\n");
    struct module *module = read_module(text.data);
    ck_assert_ptr_null(tape_create(module->entry->root));
    module_destroy(module);
    check_evaluates(text.data, "(s32[]) (3)", NULL, NULL, NULL, "(s32[]) (3)");
    text_finish(&text);
}
END_TEST

static bool count_down(void *context)
{
    return --*(int *)context < 0;
}

static const char endless[] =
    "HloModule m\n"
    "b { s = (s32[], f32[200]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
    "  x = f32[200] get-tuple-element(s), index=1 y = f32[200] add(x, x)\n"
    "  ROOT t = (s32[], f32[200]) tuple(i, y) }\n"
    "c { s = (s32[], f32[200]) parameter(0) ROOT l = pred[] constant(true) }\n"
    "ENTRY e { p = (s32[], f32[200]) parameter(0)\n"
    "  ROOT w = (s32[], f32[200]) while(p), condition=c, body=b }\n";

/* A loop that does not end is stopped, and nothing leaks. */
START_TEST(test_stopped)
{
    int left = 1000;
    struct interp_options cancelled = {.cancelled = count_down, .context = &left};
    struct interp_options limited = {.max_loop_iterations = 7};
    struct module *module = read_module(endless);
    struct error err = {0}, other = {0};
    size_t before = literal_memory_in_use();
    struct literal *state = literal_zero(module->entry->parameters[0]->shape, NULL);
    ck_assert_ptr_null(interp_evaluate(module, &state, 1, &cancelled, &err));
    ck_assert_int_eq(err.code, ERROR_DEADLINE_EXCEEDED);
    ck_assert_ptr_null(interp_evaluate(module, &state, 1, &limited, &other));
    ck_assert_msg(strstr(other.message, "within 7 iterations") != NULL, "%s", other.message);
    literal_release(state);
    ck_assert_uint_eq(literal_memory_in_use(), before);
    module_destroy(module);
}
END_TEST

/* Errors name the instruction inside the loop. */
START_TEST(test_blame)
{
    check_fails("HloModule m\n"
                "b { s = (s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
                "  c = s32[] custom-call(i), custom_call_target=\"nobody_knows_me\"\n"
                "  ROOT t = (s32[]) tuple(c) }\n"
                "c { s = (s32[]) parameter(0) ROOT l = pred[] constant(true) }\n"
                "ENTRY e { p = (s32[]) parameter(0)\n"
                "  ROOT w = (s32[]) while(p), condition=c, body=b }\n",
                "(s32[]) (0)", NULL, NULL, ERROR_UNIMPLEMENTED, "c (custom-call)");
}
END_TEST

/* --- spans --- */

struct heard {
    int begun, ended, deepest, members; /* members: of the largest span */
    int64_t iterations;                 /* spans of the instruction `next` */
    bool disorder;
    const struct instruction *stack[16];
};

static void hear(void *context, const struct interp_span *span, bool ends)
{
    struct heard *heard = context;
    int depth = heard->begun - heard->ended;
    if (!ends) {
        heard->disorder |= depth >= 16;
        heard->stack[depth & 15] = span->instruction;
        heard->begun++;
        heard->deepest = depth + 1 > heard->deepest ? depth + 1 : heard->deepest;
        heard->members = span->members > heard->members ? span->members : heard->members;
        heard->iterations += strcmp(span->instruction->name, "next") == 0;
    } else {
        heard->disorder |= depth < 1 || heard->stack[(depth - 1) & 15] != span->instruction;
        heard->ended++;
    }
}

/* Spans nest, every iteration is heard, and elementwise instructions stay together. */
START_TEST(test_spans)
{
    static const char text[] =
        "HloModule m\n"
        "b { s = (s32[], f32[1000]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  one = s32[] constant(1) next = s32[] add(i, one)\n"
        "  x = f32[1000] get-tuple-element(s), index=1 y = f32[1000] add(x, x)\n"
        "  z = f32[1000] multiply(y, x) n = f32[1000] negate(z)\n"
        "  ROOT t = (s32[], f32[1000]) tuple(next, n) }\n"
        "c { s = (s32[], f32[1000]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"
        "  n = s32[] constant(5) ROOT l = pred[] compare(i, n), direction=LT }\n"
        "ENTRY e { p = (s32[], f32[1000]) parameter(0)\n"
        "  ROOT w = (s32[], f32[1000]) while(p), condition=c, body=b }\n";
    struct module *module = read_module(text);
    struct heard heard = {0};
    struct interp_options options = {.on_span = hear, .context = &heard};
    struct error err = {0};
    struct literal *state = literal_zero(module->entry->parameters[0]->shape, NULL);
    struct literal *result = interp_evaluate(module, &state, 1, &options, &err);
    ck_assert_ptr_nonnull(result);
    ck_assert(!heard.disorder);
    ck_assert_int_eq(heard.begun, heard.ended);
    ck_assert_int_eq(heard.deepest, 2);
    ck_assert_int_eq(heard.members, 3);
    ck_assert_int_eq(heard.iterations, 5);
    literal_release(result);
    literal_release(state);
    module_destroy(module);
}
END_TEST

/* --- noise --- */

static void add_one(void *context, const struct instruction *instruction, enum noise_place place,
                    int operand, struct literal *value)
{
    (void)instruction;
    (void)place;
    (void)operand;
    ++*(int *)context;
    for (int64_t i = 0; i < literal_elements(value); i++) {
        literal_set_double(value, i, literal_get_double(value, i) + 1);
    }
}

#define LOOP_OF(type)                                                                     \
    "HloModule m\n"                                                                       \
    "b { s = (s32[], " type "[3]) parameter(0) i = s32[] get-tuple-element(s), index=0\n" \
    "  one = s32[] constant(1) next = s32[] add(i, one)\n"                                \
    "  x = " type "[3] get-tuple-element(s), index=1 y = " type "[3] add(x, x)\n"         \
    "  ROOT t = (s32[], " type "[3]) tuple(next, y) }\n"                                  \
    "c { s = (s32[], " type "[3]) parameter(0) i = s32[] get-tuple-element(s), index=0\n" \
    "  n = s32[] constant(2) ROOT l = pred[] compare(i, n), direction=LT }\n"             \
    "ENTRY e { p = (s32[], " type "[3]) parameter(0)\n"                                   \
    "  ROOT w = (s32[], " type "[3]) while(p), condition=c, body=b }\n"

/* Where a loop holds floats, noise reaches them in each iteration; any other has its tape. */
START_TEST(test_noise)
{
    static const struct {
        const char *module, *state, *want;
        int calls;
        bool has_tape;
    } rows[] = {
        {LOOP_OF("f32"), "(s32[], f32[3]) (0, {1, 2, 3})", "(s32[], f32[3]) (2, {7, 11, 15})", 2,
         false},
        {LOOP_OF("u32"), "(s32[], u32[3]) (0, {1, 2, 3})", "(s32[], u32[3]) (2, {4, 8, 12})", 0,
         true},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct module *module = read_module(rows[r].module);
        struct error err = {0};
        int calls = 0;
        struct interp_options options = {.noise = add_one, .context = &calls};
        struct literal *result =
            evaluate_module(module, rows[r].state, NULL, NULL, NULL, &options, &err);
        ck_assert_msg(result != NULL, "%s", err.message);
        check_literal(result, rows[r].want, rows[r].module);
        ck_assert_int_eq(calls, rows[r].calls);
        literal_release(result);
        struct plans *plans = plans_create(module, NULL, 0);
        const struct instruction *loop = module->entry->root;
        ck_assert((plans_tape(plans, loop, &options) != NULL) == rows[r].has_tape);
        plans_destroy(plans);
        module_destroy(module);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tape");
    TCase *tcase = tcase_create("tape");
    tcase_add_loop_test(tcase, test_random_loops, 0, 10);
    tcase_add_test(tcase, test_exchanged_elements);
    tcase_add_test(tcase, test_evaluated_once);
    tcase_add_test(tcase, test_tokens);
    tcase_add_test(tcase, test_too_large);
    tcase_add_test(tcase, test_stopped);
    tcase_add_test(tcase, test_blame);
    tcase_add_test(tcase, test_spans);
    tcase_add_test(tcase, test_noise);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
