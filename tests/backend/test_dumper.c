/* Compiling for what is not there, with dumps: held against a plugin that dumps three modules and
 * then does what it is told to (plugins/fake_plugin.c), and what the schemes make of their URIs. */
#include <check.h>
#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/dumper.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "hlo/module.h"

static const char *plugin_path(const char *name)
{
    static char path[4096];
    const char *build = getenv("REFEREE_BUILD");
    snprintf(path, sizeof path, "%s/tests/backend/plugins/%s.so", build ? build : ".", name);
    return path;
}

static struct module *identity_module(void)
{
    struct error err = {0};
    const struct shape *shape = shape_array(TYPE_F32, 1, (int64_t[]){3});
    struct module *module = module_create("identity");
    struct computation *entry = computation_add(module, "entry");
    instruction_add(entry, "x", OP_PARAMETER, shape, 0, NULL);
    ck_assert_msg(module_finish(module, &err), "%s", err.message);
    return module;
}

/* A dumper on the fake plugin, for a topology of it. */
static struct dumper open_fake(const char *plugin, const char *options, double timeout,
                               const struct dumper_options *dump)
{
    char uri[8192];
    struct error err = {0};
    struct dumper dumper;
    struct backend_options settings = {.timeout = timeout};
    snprintf(uri, sizeof uri, "pjrt:%s?topology=land&%s", plugin_path(plugin), options);
    ck_assert_msg(dumper_open(uri, &settings, dump, &dumper, &err), "%s", err.message);
    return dumper;
}

static struct run_result compile_devices(struct dumper *dumper, int replicas)
{
    struct run_result result;
    struct module *module = identity_module();
    dumper_compile(dumper, module, replicas, 0, false, &result);
    module_destroy(module);
    return result;
}

static int file_count(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = -2;
    ck_assert_msg(directory != NULL, "no folder %s", folder);
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count;
}

static void check_dump(const char *folder, const char *name, const char *module)
{
    char path[8192];
    struct error err = {0};
    struct loaded_file file;
    snprintf(path, sizeof path, "%s/module_0000.fake.%s.hlo.pb", folder, name);
    ck_assert_msg(module_load(path, &file, &err), "%s", err.message);
    ck_assert_int_eq(file.count, 1);
    ck_assert(file.modules[0].module != NULL);
    ck_assert_str_eq(file.modules[0].module->name, module);
    loaded_file_finish(&file);
}

/* However the compiler ends: what it dumped before is there, and nothing is left in the end. */
START_TEST(dumps_outlive_the_compiler)
{
    static const struct {
        const char *behaviour;
        enum outcome outcome;
        int files;
        const char *words;
    } rows[] = {
        {"fine", OUTCOME_PASS, 4, ""},
        {"error_compile", OUTCOME_COMPILE_ERROR, 3, "not even tried"},
        {"crash_compile", OUTCOME_CRASH, 3, "SIGSEGV while compiling\nfirst line\nlast words"},
        {"crash_first", OUTCOME_CRASH, 2, "SIGSEGV"},
        {"abort", OUTCOME_CRASH, 3, "Check failed: 1 == 2"},
        {"hang_compile", OUTCOME_TIMEOUT, 3, "while compiling\nthinking"},
        {"killed", OUTCOME_OOM, 3, "SIGKILL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char options[64];
        double timeout = rows[i].outcome == OUTCOME_TIMEOUT ? 1 : 20;
        snprintf(options, sizeof options, "behave=%s", rows[i].behaviour);
        struct dumper dumper = open_fake("fake_plugin", options, timeout, NULL);
        char *folder = strdup(dumper.folder);
        for (int again = 0; again < 2; again++) {
            struct run_result result = compile_devices(&dumper, 1);
            ck_assert_msg(result.outcome == rows[i].outcome, "%s: %s: %s", rows[i].behaviour,
                          outcome_text(result.outcome), result.message);
            ck_assert_msg(strstr(result.message, rows[i].words) != NULL, "%s: %s",
                          rows[i].behaviour, result.message);
            ck_assert_int_eq(file_count(folder), rows[i].files);
            run_result_finish(&result);
        }
        check_dump(folder, "before_optimizations", "identity");
        if (rows[i].files > 2) {
            check_dump(folder, "0001.simplification.after_algsimp.before_dce", "Identity");
        }
        dumper_close(&dumper, false);
        dumper_close(&dumper, false);
        ck_assert_int_ne(access(folder, F_OK), 0);
        free(folder);
    }
}
END_TEST

START_TEST(folders_are_kept)
{
    char folder[] = "/tmp/referee-test-XXXXXX", inner[64];
    struct error err = {0};
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(inner, sizeof inner, "%s/dumps", folder);
    struct dumper_options named = {.folder = inner};
    struct dumper dumper = open_fake("fake_plugin", "behave=fine", 20, &named);
    struct run_result result = compile_devices(&dumper, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_PASS);
    run_result_finish(&result);
    dumper_close(&dumper, false);
    ck_assert_int_eq(file_count(inner), 4);
    /* A folder that holds something is left alone. */
    ck_assert(!dumper_open("interp:", NULL, &named, &dumper, &err));
    ck_assert_msg(strstr(err.message, "is not empty") != NULL, "%s", err.message);
    dumper_close(&dumper, false);
    ck_assert_int_eq(file_count(inner), 4);
    named.folder = "/nowhere/to/be/found";
    err = (struct error){0};
    ck_assert(!dumper_open("interp:", NULL, &named, &dumper, &err));
    ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
    /* A temporary one stays on request. */
    dumper = open_fake("fake_plugin", "behave=fine", 20, NULL);
    result = compile_devices(&dumper, 1);
    run_result_finish(&result);
    char *kept = strdup(dumper.folder), command[4200];
    dumper_close(&dumper, true);
    ck_assert_int_eq(file_count(kept), 4);
    snprintf(command, sizeof command, "rm -r %s %s", folder, kept);
    ck_assert_int_eq(system(command), 0);
    free(kept);
}
END_TEST

START_TEST(the_golden_compiles_nothing)
{
    struct error err = {0};
    struct dumper dumper;
    ck_assert_msg(dumper_open("interp:", NULL, NULL, &dumper, &err), "%s", err.message);
    struct run_result result = compile_devices(&dumper, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
    run_result_finish(&result);
    dumper_close(&dumper, false);
}
END_TEST

START_TEST(plugins_without_topologies)
{
    struct dumper dumper = open_fake("short_plugin", "behave=fine", 20, NULL);
    struct run_result result = compile_devices(&dumper, 1);
    ck_assert_int_eq(result.outcome, OUTCOME_RUNTIME_ERROR);
    ck_assert_msg(strstr(result.message, "has no PJRT_TopologyDescription_Create") != NULL, "%s",
                  result.message);
    run_result_finish(&result);
    dumper_close(&dumper, false);
}
END_TEST

START_TEST(topologies_that_the_plugin_does_not_know)
{
    char uri[8192];
    struct error err = {0};
    struct run_result result;
    snprintf(uri, sizeof uri, "pjrt:%s?topology=moon", plugin_path("fake_plugin"));
    struct backend *backend = backend_open(uri, NULL, &err);
    ck_assert_msg(backend != NULL, "%s", err.message);
    struct module *module = identity_module();
    backend_compile(backend, module, 0, 0, false, &result);
    ck_assert_int_eq(result.outcome, OUTCOME_RUNTIME_ERROR);
    ck_assert_msg(strstr(result.message, "NOT_FOUND: no topology of that name") != NULL, "%s",
                  result.message);
    run_result_finish(&result);
    module_destroy(module);
    backend_close(backend);
}
END_TEST

/* Modules for more devices than the topology has. */
START_TEST(devices_are_counted)
{
    struct dumper dumper = open_fake("fake_plugin", "behave=fine", 20, NULL);
    for (int devices = 1; devices <= 3; devices++) {
        struct run_result result = compile_devices(&dumper, devices);
        ck_assert_int_eq(result.outcome, devices <= 2 ? OUTCOME_PASS : OUTCOME_UNSUPPORTED);
        ck_assert_int_eq(file_count(dumper.folder), devices <= 2 ? 4 : 0);
        ck_assert_msg(devices <= 2 || strstr(result.message, "land has 2") != NULL, "%s",
                      result.message);
        run_result_finish(&result);
    }
    dumper_close(&dumper, false);
}
END_TEST

static struct run_result run_on(struct backend *backend)
{
    struct error err = {0};
    struct run_result result;
    struct module *module = identity_module();
    struct literal *x = literal_zero(shape_array(TYPE_F32, 1, (int64_t[]){3}), &err);
    backend_run(backend, module, &x, 1, 1, 1, &result);
    literal_release(x);
    module_destroy(module);
    return result;
}

/* Running for a target that is not there compiles, and says why there is no more. */
START_TEST(nothing_executes_without_a_device)
{
    static const struct {
        const char *behaviour;
        enum outcome outcome;
        const char *words;
    } rows[] = {
        {"fine", OUTCOME_UNSUPPORTED, "compiled for land, but nothing here can execute it"},
        {"error_compile", OUTCOME_COMPILE_ERROR, "not even tried"},
        {"crash_compile", OUTCOME_CRASH, "SIGSEGV"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char uri[8192];
        struct error err = {0};
        snprintf(uri, sizeof uri, "pjrt:%s?topology=land&behave=%s", plugin_path("fake_plugin"),
                 rows[i].behaviour);
        struct backend *backend = backend_open(uri, NULL, &err);
        ck_assert_msg(backend != NULL, "%s", err.message);
        struct run_result result = run_on(backend);
        ck_assert_msg(result.outcome == rows[i].outcome, "%s", result.message);
        ck_assert_msg(strstr(result.message, rows[i].words) != NULL, "%s", result.message);
        ck_assert(result.outputs == NULL);
        run_result_finish(&result);
        backend_close(backend);
    }
}
END_TEST

/* --- schemes --- */

/* Compiles on as many devices; the plugin answers with words. */
static void expect_words(const char *uri, int replicas, const char *const *words)
{
    struct error err = {0};
    struct run_result result;
    struct backend *backend = backend_open(uri, NULL, &err);
    ck_assert_msg(backend != NULL, "%s: %s", uri, err.message);
    struct module *module = identity_module();
    backend_compile(backend, module, replicas, 1, false, &result);
    ck_assert_msg(result.outcome == OUTCOME_COMPILE_ERROR, "%s: %s", uri, result.message);
    for (; *words != NULL; words++) {
        ck_assert_msg(strstr(result.message, *words) != NULL, "%s: no '%s' in: %s", uri, *words,
                      result.message);
    }
    run_result_finish(&result);
    module_destroy(module);
    backend_close(backend);
}

/* Figures: the data sheets of A100 and H100, and the CUDA programming guide. */
START_TEST(gpus_are_described)
{
    setenv("REFEREE_CUDA_PLUGIN", plugin_path("fake_plugin"), 1);
    expect_words("cuda:?target=h100&behave=tell_topology", 1,
                 (const char *const[]){
                     "name='' behave='tell_topology' target_config='", "topology='1x1x1'",
                     "cuda_compute_capability { major: 9 minor: 0 }", "core_count: 132\n",
                     "fpus_per_core: 128\n", "threads_per_core_limit: 2048\n",
                     "shared_memory_per_core: 233472\n", "shared_memory_per_block_optin: 232448\n",
                     "l2_cache_size: 52428800\n", "device_memory_size: 80000000000\n",
                     "memory_bandwidth: 3350000000000\n", "clock_rate_ghz: 1.980\n", NULL});
    expect_words("cuda:?target=a100&behave=tell_topology", 4,
                 (const char *const[]){
                     "topology='1x1x4'", "cuda_compute_capability { major: 8 minor: 0 }",
                     "core_count: 108\n", "fpus_per_core: 64\n", "shared_memory_per_core: 167936\n",
                     "l2_cache_size: 41943040\n", "clock_rate_ghz: 1.410\n", NULL});
    expect_words("cuda:?target=a100&topology=2x1x8&behave=tell_topology", 4,
                 (const char *const[]){"topology='2x1x8' behave", NULL});
    /* Another one, by the path of its description. */
    char path[] = "/tmp/referee-test-XXXXXX", uri[256];
    int file = mkstemp(path);
    ck_assert(file >= 0 && write(file, "core_count: 7", 13) == 13);
    close(file);
    snprintf(uri, sizeof uri, "cuda:?behave=tell_topology&target=%s", path);
    expect_words(uri, 1, (const char *const[]){"target_config='core_count: 7'", NULL});
    unlink(path);
    unsetenv("REFEREE_CUDA_PLUGIN");
}
END_TEST

START_TEST(tpus_are_named)
{
    setenv("REFEREE_TPU_PLUGIN", plugin_path("fake_plugin"), 1);
    expect_words("tpu:?target=v5e:2x2&behave=tell_topology", 1,
                 (const char *const[]){"name='v5e:2x2' behave='tell_topology'", NULL});
    expect_words("tpu:?target=v4:2x2x4&behave=tell_topology", 1,
                 (const char *const[]){"name='v4:2x2x4'", NULL});
    expect_words("tpu:?target=v5e:2x2&behave=tell_environment", 1,
                 (const char *const[]){"skip=1 several=1", NULL});
    unsetenv("REFEREE_TPU_PLUGIN");
}
END_TEST

static void expect_refusal(const char *uri, enum error_code code, const char *words)
{
    struct error err = {0};
    struct backend *backend = backend_open(uri, NULL, &err);
    ck_assert_msg(backend == NULL, "%s is taken", uri);
    ck_assert_msg(err.code == code, "%s: %s", uri, err.message);
    ck_assert_msg(strstr(err.message, words) != NULL, "%s: %s", uri, err.message);
}

START_TEST(targets_are_checked)
{
    expect_refusal("cuda:?target=v100", ERROR_INVALID_ARGUMENT, "a100 a6000 ");
    expect_refusal("cuda:?target=./none.txtpb", ERROR_NOT_FOUND, "none.txtpb");
    for (size_t i = 0; i < 7; i++) {
        static const char *const wrong[] = {"v5e",  "v5e:", "v5e:2x2 ", "v9:2x2",
                                            ":2x2", "",     "v5:2x2"};
        char uri[64];
        snprintf(uri, sizeof uri, "tpu:?target=%s", wrong[i]);
        expect_refusal(uri, ERROR_INVALID_ARGUMENT, *wrong[i] != '\0' ? "v5e:2x2 v5p:2x2x1" : "");
    }
    /* Without the plugin: what to type. */
    setenv("XDG_CACHE_HOME", "/nowhere", 1);
    unsetenv("REFEREE_CUDA_PLUGIN");
    unsetenv("REFEREE_TPU_PLUGIN");
    expect_refusal("cuda:", ERROR_NOT_FOUND, "referee fetch cuda");
    expect_refusal("cuda:?target=h100", ERROR_NOT_FOUND, "referee fetch cuda");
    expect_refusal("tpu:?target=v5e:2x2", ERROR_NOT_FOUND, "referee fetch tpu");
    expect_refusal("cuda:some/path", ERROR_INVALID_ARGUMENT, "takes no path");
}
END_TEST

static bool has_device(const char *pattern)
{
    glob_t matches = {0};
    bool has = glob(pattern, 0, NULL, &matches) == 0;
    globfree(&matches);
    return has;
}

/* On a machine without accelerators: the way to do without. */
START_TEST(missing_accelerators_are_told)
{
    static const struct {
        const char *variable, *uri, *device, *words;
    } rows[] = {
        {"REFEREE_CUDA_PLUGIN", "cuda:", "/dev/nvidia[0-9]*",
         "no GPU here; to referee its compiler without one: referee passes MODULE --backend cuda: "
         "--target h100"},
        {"REFEREE_TPU_PLUGIN", "tpu:", "/dev/accel[0-9]*",
         "no TPU here; to referee its compiler without one: referee passes MODULE --backend tpu: "
         "--target v5e:2x2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = {0};
        if (has_device(rows[i].device) || has_device("/dev/dxg") ||
            has_device("/dev/vfio/[0-9]*")) {
            printf("there is an accelerator here: %s is not tested\n", rows[i].uri);
            continue;
        }
        setenv(rows[i].variable, plugin_path("fake_plugin"), 1);
        struct backend *backend = backend_open(rows[i].uri, NULL, &err);
        ck_assert_msg(backend != NULL, "%s", err.message);
        struct run_result result = run_on(backend);
        ck_assert_int_eq(result.outcome, OUTCOME_UNSUPPORTED);
        ck_assert_str_eq(result.message, rows[i].words);
        run_result_finish(&result);
        backend_close(backend);
        unsetenv(rows[i].variable);
    }
}
END_TEST

START_TEST(uris_take_targets)
{
    static const char *const rows[][3] = {
        {"cuda:", "h100", "cuda:?target=h100"},
        {"tpu:?xla_a=b", "v5e:2x2", "tpu:?xla_a=b&target=v5e:2x2"},
        {"cuda:", "a&b%", "cuda:?target=a%26b%25"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *uri = backend_uri_for_target(rows[i][0], rows[i][1]);
        ck_assert_str_eq(uri, rows[i][2]);
        free(uri);
    }
}
END_TEST

START_TEST(topologies_describe_themselves)
{
    char uri[8192];
    struct error err = {0};
    struct text json;
    snprintf(uri, sizeof uri, "pjrt:%s?topology=land", plugin_path("fake_plugin"));
    struct backend *backend = backend_open(uri, NULL, &err);
    text_init(&json);
    ck_assert_msg(backend_describe(backend, &json, &err), "%s", err.message);
    static const char *const parts[] = {"\"target\":\"land\"", "\"platform\":\"fake?\"",
                                        "\"devices\":2", "\"device_kind\":\"fake?\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_msg(strstr(json.data, parts[i]) != NULL, "no %s in %s", parts[i], json.data);
    }
    text_finish(&json);
    backend_close(backend);
}
END_TEST

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    Suite *suite = suite_create("dumper");
    TCase *test_case = tcase_create("dumper");
    tcase_add_test(test_case, dumps_outlive_the_compiler);
    tcase_add_test(test_case, folders_are_kept);
    tcase_add_test(test_case, the_golden_compiles_nothing);
    tcase_add_test(test_case, plugins_without_topologies);
    tcase_add_test(test_case, topologies_that_the_plugin_does_not_know);
    tcase_add_test(test_case, devices_are_counted);
    tcase_add_test(test_case, nothing_executes_without_a_device);
    tcase_add_test(test_case, gpus_are_described);
    tcase_add_test(test_case, tpus_are_named);
    tcase_add_test(test_case, targets_are_checked);
    tcase_add_test(test_case, missing_accelerators_are_told);
    tcase_add_test(test_case, uris_take_targets);
    tcase_add_test(test_case, topologies_describe_themselves);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
