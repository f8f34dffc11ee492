/* Damaged configurations of custom calls, and damaged modules: what the readers let through must
 * evaluate or fail with an error, within its deadline, and keep no memory. Custom calls come from
 * tests/interp/custom_calls, modules from there, from tests/hlo/golden and the corpus's suites. How
 * many and from which seed: tests/damage.h. To be run under ASan and UBSan. */
#include <limits.h>
#include <stdatomic.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/infer.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "interp/custom_call.h"
#include "interp/interp.h"
#include "tests/damage.h"

/* A module is given so much time (CPU seconds); that it may take on top: what does not ask. */
static const double given = 0.3, slack = 3;

enum { MEMORY = 64 << 20, DEVICES = 4, OPERANDS = 64 };

static double deadline;
static atomic_long patience; /* how often the golden may ask before it is told to stop */
static struct rng values_rng;
static struct damage_texts texts;

static bool is_over(void *context)
{
    (void)context;
    return atomic_fetch_sub(&patience, 1) <= 0 || damage_seconds() > deadline;
}

/* Small numbers: floats around 0, integers from −1 to 4, which are good indices and counts. */
static void fill(struct literal *literal)
{
    if (shape_is_tuple(literal->shape)) {
        for (int i = 0; i < literal->shape->count; i++) {
            fill(literal->elements[i]);
        }
        return;
    }
    int64_t count = literal->buffer == NULL ? 0 : literal_elements(literal);
    for (int64_t i = 0; i < count && i < 10000; i++) {
        double real = 4 * rng_uniform(&values_rng) - 1;
        if (type_is_complex(literal->shape->type)) {
            literal_set_complex(literal, i, real, rng_uniform(&values_rng));
        } else if (type_is_float(literal->shape->type)) {
            literal_set_double(literal, i, real);
        } else {
            literal_set_int(literal, i, (int64_t)rng_below(&values_rng, 6) - 1);
        }
    }
}

static struct literal *make(const struct shape *shape, struct error *err)
{
    bool is_buffer = shape->type == TYPE_BUFFER;
    struct literal *literal = literal_zero(is_buffer ? shape->elements[0] : shape, err);
    if (literal != NULL) {
        fill(literal);
    }
    if (literal != NULL && is_buffer) {
        struct literal *view = literal_view(literal, shape);
        literal_release(literal);
        return view;
    }
    return literal;
}

/* --- the host --- */

static struct literal *feed(void *context, int device, const struct shape *shape, struct error *err)
{
    (void)context;
    (void)device;
    /* Sometimes what nobody asked for. */
    static const int64_t odd[] = {3};
    bool wrong = rng_below(&values_rng, 4) == 0;
    return make(wrong ? shape_array(TYPE_S16, 1, odd) : shape, err);
}

static struct literal *receive(void *context, int device, const struct instruction *recv,
                               const struct shape *shape, struct error *err)
{
    (void)recv;
    return feed(context, device, shape, err);
}

static const struct interp_options options = {
    .infeed = feed, .host_receive = receive, .cancelled = is_over, .max_loop_iterations = 10000};

/* One evaluation in four of damaged ones is stopped early, at one of its questions. */
static struct interp_options begin(bool is_damaged)
{
    bool early = is_damaged && rng_below(&values_rng, 4) == 0;
    patience = early ? (long)rng_below(&values_rng, 40) : LONG_MAX;
    deadline = damage_seconds() + given;
    return options;
}

/* --- one instruction, one module --- */

struct tally {
    uint64_t given, evaluated, cancelled;
};

static void count(struct tally *tally, bool ok, const struct error *err, const char *what,
                  uint64_t number)
{
    double late = damage_seconds() - deadline;
    ck_assert_msg(late < slack, "mutation %llu of %s goes on %.1f s after its deadline",
                  (unsigned long long)number, what, late);
    ck_assert_msg(ok || err->code != ERROR_NONE, "mutation %llu of %s fails without an error",
                  (unsigned long long)number, what);
    ck_assert_msg(err->code != ERROR_INTERNAL, "mutation %llu of %s: %s",
                  (unsigned long long)number, what, err->message);
    tally->given++;
    tally->evaluated += ok;
    tally->cancelled += err->code == ERROR_DEADLINE_EXCEEDED;
}

/* Mutation 0 is none. */
static void evaluate_call(const struct instruction *call, struct tally *tally, uint64_t number,
                          struct error *err)
{
    struct literal *values[OPERANDS] = {NULL};
    bool ok = call->operand_count <= OPERANDS;
    for (int i = 0; i < call->operand_count && ok; i++) {
        const struct instruction *operand = call->operands[i];
        values[i] = operand->opcode == OP_CONSTANT ? literal_retain(operand->literal)
                                                   : make(operand->shape, err);
        ok = values[i] != NULL;
    }
    if (ok) {
        struct factorization_roles roles;
        custom_call_factorization(call, &roles);
        custom_call_terms(call);
        struct interp_options limits = begin(number > 0);
        struct literal *result = interp_evaluate_instruction(call, values, &limits, err);
        if (result != NULL) {
            ck_assert(shape_compatible(result->shape, call->shape));
        }
        count(tally, result != NULL, err, call->name, number);
        literal_release(result);
    }
    for (int i = 0; i < OPERANDS; i++) {
        literal_release(values[i]);
    }
}

static void evaluate_calls(const struct module *module, struct tally *tally, uint64_t number)
{
    for (int i = 0; i < module->entry->count; i++) {
        if (module->entry->instructions[i]->opcode == OP_CUSTOM_CALL) {
            struct error err = {0};
            evaluate_call(module->entry->instructions[i], tally, number, &err);
        }
    }
}

static int64_t limited(int64_t devices)
{
    return devices < 1 ? 1 : devices > 2 ? 2 : devices;
}

static void evaluate_whole(const struct module *module, struct tally *tally, const char *path,
                           uint64_t number)
{
    struct interp_options limits = options;
    limits.replica_count = (int)limited(module->config.replica_count);
    limits.partition_count = (int)limited(module->config.partition_count);
    int devices = limits.replica_count * limits.partition_count;
    const struct computation *entry = module->entry;
    struct literal *values[OPERANDS] = {NULL}, *results[DEVICES] = {NULL};
    struct literal *const *lists[DEVICES] = {values, values, values, values};
    struct error err = {0};
    bool ok = entry->parameter_count <= OPERANDS;
    for (int i = 0; i < entry->parameter_count && ok; i++) {
        values[i] = make(entry->parameters[i]->shape, &err);
        ok = values[i] != NULL;
    }
    if (ok) {
        begin(number > 0);
        ok = interp_evaluate_devices(module, devices, lists, entry->parameter_count, results,
                                     &limits, &err);
        count(tally, ok, &err, path, number);
    }
    for (int d = 0; d < devices && ok; d++) {
        literal_release(results[d]);
    }
    for (int i = 0; i < OPERANDS; i++) {
        literal_release(values[i]);
    }
}

static void say(const struct tally *tally, uint64_t number)
{
    printf(
        "%llu of %llu damaged ones went to the golden; %llu have a value, %llu ran out of time\n",
        (unsigned long long)tally->given, (unsigned long long)number,
        (unsigned long long)tally->evaluated, (unsigned long long)tally->cancelled);
    ck_assert_msg(number < 1000 || (tally->evaluated > 0 && tally->evaluated < tally->given),
                  "all or none have a value");
}

/* --- configurations --- */

static bool is_call(const struct instruction *instruction)
{
    return instruction->opcode == OP_CUSTOM_CALL;
}

/* The mutations go round all custom calls; those without a configuration are given one of others.
 */
START_TEST(test_configurations)
{
    static const char *const files[] = {"products", "convolutions", "solvers", "others"};
    enum { FILES = sizeof files / sizeof *files, CALLS = 200 };
    struct module *modules[FILES];
    struct instruction *calls[CALLS];
    int call_count = 0;
    damage_collect_source(&texts, "tests/interp/custom_calls");
    ck_assert_int_eq(texts.count, FILES);
    for (int f = 0; f < FILES; f++) {
        struct error err = {0};
        const struct damage_text *text = &texts.list[f];
        modules[f] = text_read_module(text->data, text->size, text->path, 1, &err);
        ck_assert_msg(modules[f] != NULL, "%s:%d: %s", text->path, err.line, err.message);
        for (int i = 0; i < modules[f]->entry->count; i++) {
            struct instruction *instruction = modules[f]->entry->instructions[i];
            if (is_call(instruction)) {
                ck_assert_int_lt(call_count, CALLS);
                calls[call_count++] = instruction;
            }
        }
    }
    /* As they are, all of them have a value. */
    struct tally tally = {0};
    rng_init(&values_rng, 1);
    for (int i = 0; i < call_count; i++) {
        uint64_t before = tally.evaluated;
        struct error err = {0};
        evaluate_call(calls[i], &tally, 0, &err);
        ck_assert_msg(tally.evaluated > before, "%s: %s", calls[i]->name, err.message);
    }
    tally = (struct tally){0};
    uint64_t mutations = damage_count();
    for (uint64_t number = 1; number <= mutations; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        rng_init(&values_rng, number);
        struct instruction *call = calls[number % (uint64_t)call_count];
        const struct attr *given_config = attr_get(call, ATTR_BACKEND_CONFIG);
        struct attr before = given_config != NULL
                                 ? *given_config
                                 : (struct attr){.key = ATTR_BACKEND_CONFIG, .bytes = {"", 0}};
        const struct attr *other = NULL;
        if (before.bytes.size < 3 || rng_below(&rng, 16) == 0) {
            other = attr_get(calls[rng_below(&rng, (uint64_t)call_count)], ATTR_BACKEND_CONFIG);
        }
        struct bytes from = other != NULL ? other->bytes : before.bytes;
        size_t size = from.size, memory = literal_memory_in_use();
        char *damaged = damage_copy(&rng, from.data, &size, true);
        struct attr config = {.key = ATTR_BACKEND_CONFIG, .bytes = {damaged, size}};
        instruction_set_attr(call, config);
        struct error err = {0};
        evaluate_call(call, &tally, number, &err);
        ck_assert_msg(literal_memory_in_use() == memory, "mutation %llu of %s keeps memory: %s",
                      (unsigned long long)number, call->name, damaged);
        instruction_set_attr(call, before);
        free(damaged);
    }
    say(&tally, mutations);
    for (int f = 0; f < FILES; f++) {
        module_destroy(modules[f]);
    }
}
END_TEST

/* --- modules --- */

/* Damages texts and evaluates those that are still read and valid. */
static void damage_modules(void)
{
    struct tally tally = {0};
    uint64_t mutations = damage_count();
    for (uint64_t number = 1; number <= mutations; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        rng_init(&values_rng, number);
        const struct damage_text *text = &texts.list[number % (uint64_t)texts.count];
        size_t size = text->size, memory = literal_memory_in_use();
        char *damaged = damage_copy(&rng, text->data, &size, false);
        struct error err = {0};
        struct module *module = text_read_module(damaged, size, text->path, 1, &err);
        struct findings findings = {0};
        const char *why;
        if (module != NULL && verify_module(module, &findings)) {
            interp_unsupported(module, &why);
            evaluate_calls(module, &tally, number);
            evaluate_whole(module, &tally, text->path, number);
        }
        findings_finish(&findings);
        module_destroy(module);
        ck_assert_msg(literal_memory_in_use() == memory, "mutation %llu of %s keeps memory",
                      (unsigned long long)number, text->path);
        free(damaged);
    }
    say(&tally, mutations);
}

START_TEST(test_custom_calls)
{
    damage_collect_source(&texts, "tests/interp/custom_calls");
    damage_modules();
}
END_TEST

START_TEST(test_modules)
{
    damage_collect_source(&texts, "tests/hlo/golden");
    damage_collect_source(&texts, "corpus/suites");
    damage_modules();
}
END_TEST

static void setup(void)
{
    pool_set_threads(2);
    literal_set_memory_limit(MEMORY);
}

static void teardown(void)
{
    damage_texts_finish(&texts);
    literal_set_memory_limit(0);
}

int main(void)
{
    printf("seed %llu\n", (unsigned long long)environment_number("REFEREE_SEED", 1));
    Suite *suite = suite_create("interp_mutations");
    TCase *tests = tcase_create("mutations");
    tcase_set_timeout(tests, 1800);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_configurations);
    tcase_add_test(tests, test_custom_calls);
    tcase_add_test(tests, test_modules);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
