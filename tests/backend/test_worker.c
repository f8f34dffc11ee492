/* The worker process, held against a plugin that crashes, hangs, eats memory, lies and scribbles on
 * request (plugins/fake_plugin.c): every way to go wrong is an outcome, and the tester lives on. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/worker.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

#if defined(__SANITIZE_ADDRESS__)
#define REFEREE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REFEREE_SANITIZED 1
#endif
#endif
#ifndef REFEREE_SANITIZED
#define REFEREE_SANITIZED 0
#endif

static const char *plugin_path(const char *name)
{
    static char paths[2][4096];
    const char *build = getenv("REFEREE_BUILD");
    char *path = paths[strcmp(name, "fake_plugin") != 0];
    snprintf(path, sizeof(paths[0]), "%s/tests/backend/plugins/%s.so", build ? build : ".", name);
    return path;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* f(x: f32[3]) = x, or a tuple of x `outputs` times when that is not 1. */
static struct module *identity_module(int outputs)
{
    struct error err = {0};
    const struct shape *shape = shape_array(TYPE_F32, 1, (int64_t[]){3});
    struct module *module = module_create("identity");
    struct computation *entry = computation_add(module, "entry");
    struct instruction *x = instruction_add(entry, "x", OP_PARAMETER, shape, 0, NULL);
    if (outputs != 1) {
        struct instruction *operands[] = {x, x, x};
        const struct shape *shapes[] = {shape, shape, shape};
        instruction_add(entry, "all", OP_TUPLE, shape_tuple(outputs, shapes), outputs, operands);
    }
    ck_assert_msg(module_finish(module, &err), "%s", err.message);
    return module;
}

static struct literal *argument(void)
{
    struct error err = {0};
    struct literal *x = literal_create(shape_array(TYPE_F32, 1, (int64_t[]){3}), &err);
    float values[3] = {1.5f, -2.25f, 3e30f};
    memcpy(literal_data(x), values, sizeof(values));
    return x;
}

static struct backend *open_plugin(const char *plugin, const char *options, double timeout,
                                   size_t memory_limit)
{
    char uri[8192];
    struct error err = {0};
    struct backend_options settings = {.timeout = timeout, .memory_limit = memory_limit};
    snprintf(uri, sizeof(uri), "pjrt:%s?%s", plugin_path(plugin), options);
    struct backend *backend = backend_open(uri, &settings, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    return backend;
}

static struct run_result run_outputs(struct backend *backend, int outputs)
{
    struct run_result result;
    struct module *module = identity_module(outputs);
    struct literal *x = argument();
    backend_run(backend, module, &x, 1, 1, 1, &result);
    literal_release(x);
    module_destroy(module);
    return result;
}

static struct run_result run(struct backend *backend)
{
    return run_outputs(backend, 1);
}

/* Runs the identity with the behaviour and expects the outcome and words in the message. */
static void expect(const char *behaviour, enum outcome outcome, const char *const *words)
{
    char options[128];
    snprintf(options, sizeof(options), "behave=%s", behaviour);
    struct backend *backend = open_plugin("fake_plugin", options, 20, 0);
    struct run_result result = run(backend);
    ck_assert_msg(result.outcome == outcome, "%s: %s: %s", behaviour, outcome_text(result.outcome),
                  result.message);
    for (; *words; words++) {
        ck_assert_msg(strstr(result.message, *words), "%s: no '%s' in: %s", behaviour, *words,
                      result.message);
    }
    if (outcome == OUTCOME_PASS) {
        struct literal *x = argument();
        ck_assert_str_eq(result.message, "");
        ck_assert_int_eq(result.device_count, 1);
        ck_assert(literal_equal(result.outputs[0], x));
        literal_release(x);
    } else {
        ck_assert(result.outputs == NULL);
        ck_assert_str_ne(result.message, "");
    }
    run_result_finish(&result);
    backend_close(backend);
    /* Nothing is left of it. */
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}

struct expectation {
    const char *behaviour;
    enum outcome outcome;
    const char *words[4]; /* in the message; NULL ends them */
};

static void expect_all(const struct expectation *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect(list[i].behaviour, list[i].outcome, list[i].words);
    }
}

#define EXPECT(...)                                       \
    expect_all((const struct expectation[]){__VA_ARGS__}, \
               sizeof((const struct expectation[]){__VA_ARGS__}) / sizeof(struct expectation))

START_TEST(results_come_back)
{
    EXPECT({"echo", OUTCOME_PASS, {NULL}});
    struct backend *backend = open_plugin("fake_plugin", "outputs=3", 20, 0);
    for (int i = 0; i < 3; i++) {
        struct run_result result = run_outputs(backend, 3);
        struct literal *x = argument();
        ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
        for (int k = 0; k < 3; k++) {
            ck_assert(literal_equal(literal_leaf(result.outputs[0], k), x));
        }
        ck_assert(result.compile_seconds >= 0 && result.run_seconds > 0);
        literal_release(x);
        run_result_finish(&result);
    }
    backend_close(backend);
}
END_TEST

START_TEST(crashes_are_outcomes)
{
    EXPECT({"crash_compile",
            OUTCOME_CRASH,
            {"SIGSEGV", "while compiling", "last words of the plugin", NULL}},
           {"crash_execute",
            OUTCOME_CRASH,
            {"SIGSEGV", "while executing", "last words of the plugin", NULL}},
           {"crash_create", OUTCOME_CRASH, {"SIGSEGV", "while loading the plugin", NULL}},
           {"abort", OUTCOME_CRASH, {"SIGABRT", "Check failed: 1 == 2", NULL}},
           {"exit", OUTCOME_CRASH, {"exited with status 0", NULL}},
           {"wild_write", OUTCOME_CRASH, {"broke its connection", NULL}},
           {"close_files", OUTCOME_CRASH, {NULL}}, {"killed", OUTCOME_OOM, {"SIGKILL", NULL}});
}
END_TEST

START_TEST(an_orphan_does_not_hold_us)
{
    double start = now();
    EXPECT({"orphan", OUTCOME_CRASH, {"SIGSEGV", NULL}});
    ck_assert(now() - start < 10);
}
END_TEST

START_TEST(errors_are_outcomes)
{
    EXPECT(
        {"error_compile", OUTCOME_COMPILE_ERROR, {"UNIMPLEMENTED: not \xc3\xa9ven ? tried", NULL}},
        {"error_execute", OUTCOME_RUNTIME_ERROR, {"code 99: a code of its own", NULL}},
        {"error_event", OUTCOME_RUNTIME_ERROR, {"INTERNAL: the event says no", NULL}},
        {"error_create", OUTCOME_RUNTIME_ERROR, {"UNAVAILABLE: no device today", NULL}},
        {"error_memory", OUTCOME_OOM, {"RESOURCE_EXHAUSTED", NULL}});
}
END_TEST

START_TEST(lies_are_errors)
{
    EXPECT({"wrong_shape", OUTCOME_RUNTIME_ERROR, {NULL}},
           {"wrong_type", OUTCOME_RUNTIME_ERROR, {"f32[3]", NULL}},
           {"wrong_size", OUTCOME_RUNTIME_ERROR, {"f32[3]", NULL}},
           {"many_outputs", OUTCOME_RUNTIME_ERROR, {"3 outputs", NULL}});
}
END_TEST

START_TEST(hanging_ends_at_the_deadline)
{
    static const char *const behaviours[] = {"hang_create", "hang_compile", "hang_execute"};
    for (int i = 0; i < 3; i++) {
        char options[64];
        snprintf(options, sizeof(options), "behave=%s", behaviours[i]);
        struct backend *backend = open_plugin("fake_plugin", options, 0.5, 0);
        double start = now();
        struct run_result result = run(backend);
        double seconds = now() - start;
        ck_assert_int_eq(result.outcome, OUTCOME_TIMEOUT);
        ck_assert_msg(strstr(result.message, "thinking"), "%s", result.message);
        ck_assert_msg(seconds > 0.4 && seconds < 5, "%g s", seconds);
        run_result_finish(&result);
        backend_close(backend);
    }
}
END_TEST

/* Memory that nobody wrote is full of a pattern, and only when asked for. (The C library's doing:
 * the sanitizers bring their own allocator.) */
START_TEST(memory_is_poisoned)
{
    for (int poison = 0; poison < 2; poison++) {
        char uri[8192 + 64];
        struct error err = {0};
        struct backend_options settings = {.timeout = 20, .poison = poison};
        snprintf(uri, sizeof(uri), "pjrt:%s?behave=leftovers", plugin_path("fake_plugin"));
        struct backend *backend = backend_open(uri, &settings, &err);
        ck_assert_msg(backend != NULL, "%s", err.message);
        struct run_result result = run(backend);
        ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(literal_get_bits(result.outputs[0], i) == 0x7f7f7f7f, poison);
        }
        run_result_finish(&result);
        backend_close(backend);
    }
}
END_TEST

START_TEST(memory_is_limited)
{
    struct backend *backend = open_plugin("fake_plugin", "behave=exhaust", 30, (size_t)256 << 20);
    for (int i = 0; i < 2; i++) {
        struct run_result result = run(backend);
        ck_assert_msg(result.outcome == OUTCOME_OOM, "%s: %s", outcome_text(result.outcome),
                      result.message);
        run_result_finish(&result);
    }
    backend_close(backend);
    /* What needs little runs under the limit. */
    backend = open_plugin("fake_plugin", "", 30, (size_t)256 << 20);
    struct run_result result = run(backend);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(a_crash_is_judged_in_a_fresh_worker)
{
    /* The second module of a process crashes, whichever it is: so none is to blame. */
    struct backend *backend = open_plugin("fake_plugin", "behave=crash_second", 20, 0);
    for (int i = 0; i < 3; i++) {
        struct run_result result = run(backend);
        ck_assert_msg(result.outcome == OUTCOME_PASS, "%s", result.message);
        run_result_finish(&result);
    }
    backend_close(backend);
}
END_TEST

START_TEST(a_crash_does_not_end_the_backend)
{
    struct backend *backend = open_plugin("fake_plugin", "behave=crash_execute", 20, 0);
    for (int i = 0; i < 3; i++) {
        struct run_result result = run(backend);
        ck_assert_int_eq(result.outcome, OUTCOME_CRASH);
        run_result_finish(&result);
    }
    backend_close(backend);
}
END_TEST

START_TEST(output_is_kept_away)
{
    char path[] = "/tmp/referee-test-XXXXXX";
    int file = mkstemp(path), kept = dup(1);
    fflush(stdout);
    dup2(file, 1);
    EXPECT({"noise", OUTCOME_PASS, {NULL}});
    dup2(kept, 1);
    ck_assert_int_eq(lseek(file, 0, SEEK_END), 0);
    close(file);
    close(kept);
    unlink(path);
}
END_TEST

START_TEST(a_short_table_is_an_error)
{
    struct backend *backend = open_plugin("short_plugin", "", 20, 0);
    struct run_result result = run(backend);
    ck_assert_int_eq(result.outcome, OUTCOME_RUNTIME_ERROR);
    ck_assert_msg(strstr(result.message, "has no PJRT_Buffer_ToHostBuffer"), "%s", result.message);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(what_is_no_plugin_is_an_error)
{
    struct error err = {0};
    ck_assert(backend_open("pjrt:/nowhere/plugin.so", NULL, &err) == NULL);
    ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
    struct backend *backend = backend_open("pjrt:/proc/self/exe", NULL, &err);
    ck_assert(backend != NULL);
    struct run_result result = run(backend);
    ck_assert_int_eq(result.outcome, OUTCOME_RUNTIME_ERROR);
    ck_assert_msg(strstr(result.message, "cannot be used"), "%s", result.message);
    run_result_finish(&result);
    backend_close(backend);
}
END_TEST

START_TEST(devices_beyond_the_plugin_are_unsupported)
{
    struct backend *backend = open_plugin("fake_plugin", "", 20, 0);
    struct run_result result;
    struct module *module = identity_module(1);
    struct literal *x = argument();
    module->config.replica_count = 3;
    backend_run(backend, module, &x, 1, 1, 1, &result);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    ck_assert_msg(strstr(result.message, "3 devices"), "%s", result.message);
    run_result_finish(&result);
    literal_release(x);
    module_destroy(module);
    backend_close(backend);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    struct error err = {0};
    struct backend *backend = open_plugin("fake_plugin", "", 20, 0);
    struct run_result result;
    struct module *module = identity_module(1);
    struct literal *x = literal_zero(shape_array(TYPE_F32, 1, (int64_t[]){4}), &err);
    backend_run(backend, module, &x, 1, 1, 1, &result);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    ck_assert_msg(strstr(result.message, "f32[4]"), "%s", result.message);
    run_result_finish(&result);
    backend_run(backend, module, &x, 0, 1, 1, &result);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    run_result_finish(&result);
    literal_release(x);
    module_destroy(module);
    backend_close(backend);
}
END_TEST

static void *run_many(void *context)
{
    static const struct {
        const char *options;
        enum outcome outcome;
    } cases[] = {
        {"behave=echo", OUTCOME_PASS},
        {"behave=crash_compile", OUTCOME_CRASH},
        {"behave=error_execute", OUTCOME_RUNTIME_ERROR},
    };
    int first = *(int *)context, wrong = 0;
    for (int i = 0; i < 9; i++) {
        struct backend *backend = open_plugin("fake_plugin", cases[(first + i) % 3].options, 30, 0);
        for (int k = 0; k < 2; k++) {
            struct run_result result = run(backend);
            wrong += result.outcome != cases[(first + i) % 3].outcome;
            run_result_finish(&result);
        }
        backend_close(backend);
    }
    *(int *)context = wrong;
    return NULL;
}

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

START_TEST(many_at_once)
{
    pthread_t threads[4];
    int contexts[4];
    int before = open_files();
    for (int i = 0; i < 4; i++) {
        contexts[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_many, &contexts[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_int_eq(contexts[i], 0);
    }
    ck_assert_int_eq(open_files(), before);
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
}
END_TEST

static void *open_and_leave(void *context)
{
    struct run_result result = run(context);
    ck_assert_int_eq(result.outcome, OUTCOME_PASS);
    run_result_finish(&result);
    return NULL;
}

START_TEST(a_worker_outlives_the_thread_that_started_it)
{
    struct backend *backend = open_plugin("fake_plugin", "behave=crash_second", 20, 0);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, open_and_leave, backend), 0);
    pthread_join(thread, NULL);
    struct error err = {0};
    struct text json;
    text_init(&json);
    ck_assert_msg(backend_describe(backend, &json, &err), "%s", err.message);
    text_finish(&json);
    backend_close(backend);
}
END_TEST

START_TEST(a_worker_ends_with_the_tester)
{
    char path[] = "/tmp/referee-test-XXXXXX", options[256];
    int file = mkstemp(path), pid = 0;
    snprintf(options, sizeof(options), "behave=hang_execute&pid_file=%s", path);
    pid_t tester = fork();
    if (tester == 0) {
        struct backend *backend = open_plugin("fake_plugin", options, 60, 0);
        struct run_result result = run(backend);
        _exit((int)result.outcome);
    }
    for (int i = 0; i < 400 && pid == 0; i++) {
        char text[32] = "";
        usleep(25000);
        if (pread(file, text, sizeof(text) - 1, 0) > 0 && strchr(text, '\n')) {
            pid = atoi(text);
        }
    }
    ck_assert_int_gt(pid, 0);
    usleep(100000);
    kill(tester, SIGKILL);
    waitpid(tester, NULL, 0);
    int left = 400;
    while (left > 0 && kill(pid, 0) == 0) {
        /* It may linger as a zombie of whoever inherits it. */
        char stat_path[64], state = '?';
        snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", pid);
        FILE *status = fopen(stat_path, "r");
        if (!status || fscanf(status, "%*d %*s %c", &state) != 1 || state == 'Z') {
            left = 1;
        }
        if (status) {
            fclose(status);
        }
        if (left == 1) {
            break;
        }
        usleep(25000);
        left--;
    }
    ck_assert_msg(left > 0, "process %d lives on", pid);
    close(file);
    unlink(path);
}
END_TEST

START_TEST(a_plugin_describes_itself)
{
    struct error err = {0};
    struct text json;
    struct backend *backend = open_plugin("fake_plugin", "xla_cpu_fast=false&outputs=2", 20, 0);
    text_init(&json);
    ck_assert_msg(backend_describe(backend, &json, &err), "%s", err.message);
    static const char *const parts[] = {
        "\"scheme\":\"pjrt\"",        "\"pjrt_api\":\"0.81\"",
        "\"platform\":\"fake?\"",     "\"devices\":2",
        "\"version\":[1,2,3]",        "\"kind\":\"fake\"",
        "\"xla_cpu_fast\":\"false\"", "\"outputs\":\"2\"",
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        ck_assert_msg(strstr(json.data, parts[i]), "no %s in %s", parts[i], json.data);
    }
    text_finish(&json);
    backend_close(backend);
    backend = open_plugin("fake_plugin", "behave=crash_create", 20, 0);
    text_init(&json);
    ck_assert(!backend_describe(backend, &json, &err));
    ck_assert_msg(strstr(err.message, "SIGSEGV"), "%s", err.message);
    text_finish(&json);
    backend_close(backend);
}
END_TEST

START_TEST(uris_are_checked)
{
    static const char *const wrong[] = {"",
                                        "nothing:",
                                        "interp:?fidelity=best",
                                        "interp:x",
                                        "interp:?fast=1",
                                        "interp:?fidelity",
                                        "pjrt:",
                                        "cpu:path",
                                        "interp:?=1",
                                        "interpreter:"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error err = {0};
        ck_assert_msg(backend_open(wrong[i], NULL, &err) == NULL, "%s", wrong[i]);
        ck_assert_str_ne(err.message, "");
    }
    struct error err = {0};
    struct backend *backend = backend_open("interp:?fidelity=lit%65ral", NULL, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    ck_assert(backend_is_golden(backend));
    ck_assert_str_eq(backend_uri(backend), "interp:?fidelity=lit%65ral");
    backend_close(backend);
    for (int i = 0; i < backend_scheme_count; i++) {
        ck_assert_str_ne(backend_schemes[i].summary, "");
    }
}
END_TEST

START_TEST(foreign_text_is_cleaned)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain\n\ttext", "plain\n\ttext"},
        {"\x01\x7f\x1b[31m", "???[31m"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff\xc3", "??"},
        {"\xc0\xaf", "??"},
        {"\xe0\x80\xaf", "???"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xe2\x82", "??"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text text;
        text_init(&text);
        text_append_clean(&text, cases[i].in, strlen(cases[i].in), 100);
        ck_assert_str_eq(text.data, cases[i].out);
        text_finish(&text);
    }
}
END_TEST

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    Suite *suite = suite_create("worker");
    TCase *test_case = tcase_create("worker");
    tcase_add_test(test_case, results_come_back);
    tcase_add_test(test_case, crashes_are_outcomes);
    tcase_add_test(test_case, an_orphan_does_not_hold_us);
    tcase_add_test(test_case, errors_are_outcomes);
    tcase_add_test(test_case, lies_are_errors);
    tcase_add_test(test_case, hanging_ends_at_the_deadline);
    if (!REFEREE_SANITIZED) {
        tcase_add_test(test_case, memory_is_poisoned);
    }
    tcase_add_test(test_case, memory_is_limited);
    tcase_add_test(test_case, a_crash_is_judged_in_a_fresh_worker);
    tcase_add_test(test_case, a_crash_does_not_end_the_backend);
    tcase_add_test(test_case, output_is_kept_away);
    tcase_add_test(test_case, a_short_table_is_an_error);
    tcase_add_test(test_case, what_is_no_plugin_is_an_error);
    tcase_add_test(test_case, devices_beyond_the_plugin_are_unsupported);
    tcase_add_test(test_case, wrong_arguments_are_refused);
    tcase_add_test(test_case, many_at_once);
    tcase_add_test(test_case, a_worker_outlives_the_thread_that_started_it);
    tcase_add_test(test_case, a_worker_ends_with_the_tester);
    tcase_add_test(test_case, a_plugin_describes_itself);
    tcase_add_test(test_case, uris_are_checked);
    tcase_add_test(test_case, foreign_text_is_cleaned);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
