/* The fetched compilers of GPUs and TPUs on modules of ours, without a GPU or TPU: every target of
 * the table compiles and dumps. What was not fetched is not tested, and that is said. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/dumper.h"
#include "backend/plugins.h"
#include "hlo/base/error.h"
#include "hlo/format.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct module *read_module(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    return module;
}

/* How many files of the folder have the words in their names, and the first of them by name. */
static int count_files(const char *folder, const char *words, char *first, size_t size)
{
    DIR *directory = opendir(folder);
    int count = 0;
    first[0] = '\0';
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const char *end = strstr(entry->d_name, ".hlo.pb");
        if (strstr(entry->d_name, words) != NULL && end != NULL && strlen(end) == 7) {
            count++;
            if (first[0] == '\0' || strcmp(entry->d_name, first + strlen(folder) + 1) < 0) {
                snprintf(first, size, "%s/%s", folder, entry->d_name);
            }
        }
    }
    closedir(directory);
    return count;
}

static void check_readable(const char *path)
{
    struct error err = {0};
    struct loaded_file file;
    ck_assert_msg(module_load(path, &file, &err), "%s: %s", path, err.message);
    ck_assert_msg(file.count == 1 && file.modules[0].module != NULL, "%s: %s", path,
                  file.modules[0].error->message);
    loaded_file_finish(&file);
}

/* Compiles for a target; the dump begins before the optimizations, goes through passes, and ends
 * after the optimizations. */
static void check_target(const char *scheme, const char *target, const char *text,
                         const char *other_words)
{
    static const char *const words[] = {"before_optimizations", ".after_pipeline-start.",
                                        "after_optimizations"};
    char uri[64], path[8192];
    struct error err = {0};
    struct dumper dumper;
    struct run_result result;
    struct backend_options options = {.timeout = 300};
    struct module *module = read_module(text);
    snprintf(uri, sizeof uri, "%s:?target=%s", scheme, target);
    ck_assert_msg(dumper_open(uri, &options, NULL, &dumper, &err), "%s", err.message);
    dumper_compile(&dumper, module, 0, 0, false, &result);
    ck_assert_msg(result.outcome == OUTCOME_PASS, "%s: %s: %s", uri, outcome_text(result.outcome),
                  result.message);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        ck_assert_msg(count_files(dumper.folder, words[i], path, sizeof path) > 0, "%s: no %s", uri,
                      words[i]);
        check_readable(path);
    }
    ck_assert_msg(count_files(dumper.folder, other_words, path, sizeof path) > 0, "%s: no %s", uri,
                  other_words);
    run_result_finish(&result);
    module_destroy(module);
    dumper_close(&dumper, false);
}

static bool is_fetched(const char *name)
{
    char *library = plugin_library(plugin_find(name));
    bool fetched = library != NULL;
    free(library);
    if (!fetched) {
        printf("%s: was not fetched, so it is not tested; referee fetch %s\n", name, name);
    }
    return fetched;
}

/* exp needs the math library of the fetched tools. */
static const char small[] =
    "HloModule small\n"
    "ENTRY e { x = f32[16,32] parameter(0) y = f32[32,8] parameter(1)\n"
    "d = f32[16,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "ROOT r = f32[16,8] exponential(d) }";

static void check_all(const char *scheme, const char *pass)
{
    for (int i = 0; i < backend_target_count; i++) {
        if (strcmp(backend_targets[i].scheme, scheme) == 0) {
            check_target(scheme, backend_targets[i].name, small, pass);
        }
    }
}

START_TEST(gpus)
{
    if (is_fetched("cuda")) {
        check_all("cuda", ".after_layout-assignment.");
    }
}
END_TEST

START_TEST(tpus)
{
    if (is_fetched("tpu")) {
        check_all("tpu", ".after_layout-assignment.");
    }
}
END_TEST

/* To be partitioned, and partitioned already: collectives of the latter are not those of a whole
 * program. */
static const char sharded[] =
    "HloModule sharded, num_partitions=4\n"
    "ENTRY e { x = f32[16,32] parameter(0), sharding={devices=[4,1]<=[4]}\n"
    "y = f32[16,32] negate(x) z = f32[] constant(0)\n"
    "ROOT r = f32[32] reduce(y, z), dimensions={0}, to_apply={ a = f32[] parameter(0)\n"
    "b = f32[] parameter(1) ROOT s = f32[] add(a, b) } }";
static const char partitioned[] =
    "HloModule partitioned, num_partitions=4\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[4,32] parameter(0) id = u32[] partition-id()\n"
    "f = f32[] convert(id) w = f32[4,32] broadcast(f), dimensions={} y = f32[4,32] add(x, w)\n"
    "ROOT r = f32[4,32] all-reduce(y), channel_id=1, replica_groups={{0,1,2,3}},\n"
    "use_global_device_ids=true, to_apply=add }";
static const char replicated[] =
    "HloModule twice, replica_count=2\n"
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "ENTRY e { x = f32[64] parameter(0)\n"
    "ROOT r = f32[64] all-reduce(x), replica_groups={{0,1}}, to_apply=add }";

START_TEST(grids)
{
    static const char *const targets[][2] = {{"cuda", "h100"}, {"tpu", "v5e:2x2"}};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (is_fetched(targets[i][0])) {
            check_target(targets[i][0], targets[i][1], sharded, "spmd-partitioning");
            check_target(targets[i][0], targets[i][1], partitioned, "after_optimizations");
            check_target(targets[i][0], targets[i][1], replicated, "after_optimizations");
        }
    }
}
END_TEST

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    Suite *suite = suite_create("targets");
    TCase *test_case = tcase_create("targets");
    tcase_set_timeout(test_case, 600);
    tcase_add_test(test_case, gpus);
    tcase_add_test(test_case, tpus);
    tcase_add_test(test_case, grids);
    suite_add_tcase(suite, test_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
