/* Manifests: what is read, defaults, and errors with line and column. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/profile.h"
#include "corpus/manifest.h"
#include "hlo/base/error.h"

static char folder[32];
static char manifest_path[64], module_path[64];

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void set_up(void)
{
    strcpy(folder, "/tmp/referee-manifest-XXXXXX");
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(manifest_path, sizeof manifest_path, "%s/manifest.yaml", folder);
    snprintf(module_path, sizeof module_path, "%s/a.hlo", folder);
    write_file(module_path, "HloModule a\n");
}

static void tear_down(void)
{
    unlink(manifest_path);
    unlink(module_path);
    rmdir(folder);
}

static bool load(const char *text, struct manifest *manifest, struct error *err)
{
    write_file(manifest_path, text);
    return manifest_load(manifest_path, manifest, err);
}

START_TEST(test_read)
{
    struct manifest manifest;
    struct error err = {0};
    ck_assert_msg(
        load("# a comment\n"
             "suite: some\n"
             "description: what they are\n"
             "backends: [\"cpu:\", \"interp:\"]\n"
             "cases:\n"
             "  - file: a.hlo\n"
             "  - name: again\n"
             "    file: a.hlo\n"
             "    seeds: [3, 4]\n"
             "    tolerance: derived\n"
             "    backends: [\"cpu:?cpu_device_count=2\"]\n"
             "    profile: strict\n"
             "    poison: true\n"
             "    timeout: 2.5\n"
             "    quarantine: {reason: being looked at, until: 2027-01-31}\n"
             "    expect:\n"
             "      \"cpu:\": {outcome: MISMATCH, reason: it is wrong, until: 2027-06-30}\n",
             &manifest, &err),
        "%d:%d %s", err.line, err.column, err.message);
    ck_assert_str_eq(manifest.suite, "some");
    ck_assert_str_eq(manifest.description, "what they are");
    ck_assert_int_eq(manifest.backend_count, 2);
    ck_assert_str_eq(manifest.backends[1], "interp:");
    ck_assert_int_eq(manifest.case_count, 2);
    const struct test_case *test = &manifest.cases[0];
    ck_assert_str_eq(test->name, "a");
    ck_assert_str_eq(test->file, module_path);
    ck_assert_int_eq(test->seed_count, 1);
    ck_assert_int_eq(test->seeds[0], 1);
    ck_assert_int_eq(test->tolerance, TOLERANCE_DEFAULT);
    ck_assert(test->timeout == 0 && test->line == 6);
    ck_assert(test->profile == NULL && !test->poison && test->backend_count == 0);
    ck_assert(case_expectation(test, "cpu:") == NULL);
    test = &manifest.cases[1];
    ck_assert_str_eq(test->name, "again");
    ck_assert(test->seed_count == 2 && test->seeds[1] == 4);
    ck_assert_int_eq(test->tolerance, TOLERANCE_DERIVED);
    ck_assert_double_eq(test->timeout, 2.5);
    ck_assert(test->profile == profile_find("strict") && test->poison);
    ck_assert_int_eq(test->backend_count, 1);
    ck_assert_str_eq(test->backends[0], "cpu:?cpu_device_count=2");
    const struct expectation *expectation = case_expectation(test, "cpu:");
    ck_assert(expectation != NULL && expectation->outcome == OUTCOME_MISMATCH);
    ck_assert_str_eq(expectation->reason, "it is wrong");
    ck_assert(case_expectation(test, "interp:") == NULL);
    ck_assert(!expectation_expired(expectation, "2027-06-30"));
    ck_assert(expectation_expired(expectation, "2027-07-01"));
    ck_assert(manifest.cases[0].quarantine == NULL && test->quarantine != NULL);
    ck_assert_str_eq(test->quarantine->reason, "being looked at");
    ck_assert(!expectation_expired(test->quarantine, "2027-01-31"));
    ck_assert(expectation_expired(test->quarantine, "2027-02-01"));
    manifest_finish(&manifest);
}
END_TEST

#define HEAD "suite: s\ncases:\n"

static const struct {
    const char *text;
    int line, column; /* 0: not told */
    const char *words;
} bad[] = {
    {"suite: s\ncolour: red\ncases:\n  - file: a.hlo\n", 2, 1, "unknown key 'colour'"},
    {"suite: s\nsuite: t\ncases:\n  - file: a.hlo\n", 2, 1, "twice"},
    {"suite: s\n", 1, 1, "'cases' is missing"},
    {"suite: s\ncases: none\n", 2, 8, "list of cases"},
    {HEAD "  - name: x\n", 3, 5, "'file' is missing"},
    {HEAD "  - a.hlo\n", 3, 5, "mapping"},
    {HEAD "  - file: b.hlo\n", 3, 11, "there is no file"},
    {HEAD "  - file: a.hlo\n  - file: a.hlo\n", 4, 5, "twice"},
    {HEAD "  - file: a.hlo\n    seeds: [1, two]\n", 4, 16, "integer"},
    {HEAD "  - file: a.hlo\n    seeds: []\n", 4, 12, "empty"},
    {HEAD "  - file: a.hlo\n    seeds: 1\n", 4, 12, "list of seeds"},
    {HEAD "  - file: a.hlo\n    tolerance: loose\n", 4, 16, "default, derived"},
    {HEAD "  - file: a.hlo\n    backends: cpu\n", 4, 15, "list of backends"},
    {HEAD "  - file: a.hlo\n    backends: []\n", 4, 15, "list of backends is empty"},
    {HEAD "  - file: a.hlo\n    profile: lenient\n", 4, 14, "a profile"},
    {HEAD "  - file: a.hlo\n    poison: yes\n", 4, 13, "true or false"},
    {HEAD "  - file: a.hlo\n    timeout: -1\n", 4, 14, "positive"},
    {HEAD "  - file: a.hlo\n    expect: PASS\n", 4, 13, "mapping"},
    {HEAD "  - file: a.hlo\n    expect:\n      \"cpu:\": {outcome: WRONG, reason: r}\n", 5, 25,
     "outcome"},
    {HEAD "  - file: a.hlo\n    expect:\n      \"cpu:\": {outcome: CRASH}\n", 5, 15,
     "'reason' is missing"},
    {HEAD "  - file: a.hlo\n    expect:\n"
          "      \"cpu:\": {outcome: CRASH, reason: r, until: soon}\n",
     5, 50, "date"},
    {HEAD "  - file: a.hlo\n    quarantine: yes\n", 4, 17, "mapping"},
    {HEAD "  - file: a.hlo\n    quarantine: {until: 2027-01-01}\n", 4, 17, "'reason' is missing"},
    {HEAD "  - file: a.hlo\n    quarantine: {reason: r, outcome: CRASH}\n", 4, 29, "unknown key"},
    {"suite: s\nbackends: cpu\ncases:\n  - file: a.hlo\n", 2, 11, "list of backends"},
    {"suite: [s\n", 0, 0, ""},
    {"", 0, 0, ""},
};

START_TEST(test_errors)
{
    struct manifest manifest;
    struct error err = {0};
    ck_assert_msg(!load(bad[_i].text, &manifest, &err), "was read:\n%s", bad[_i].text);
    ck_assert_msg(strstr(err.message, bad[_i].words) != NULL, "%d:%d %s for\n%s", err.line,
                  err.column, err.message, bad[_i].text);
    if (bad[_i].line > 0) {
        ck_assert_msg(err.line == bad[_i].line && err.column == bad[_i].column,
                      "%d:%d, not %d:%d: %s for\n%s", err.line, err.column, bad[_i].line,
                      bad[_i].column, err.message, bad[_i].text);
        ck_assert_str_eq(err.file, manifest_path);
    }
    ck_assert(err.message[0] != '\0');
}
END_TEST

/* --- a case more --- */

static struct expectation wrong = {"cpu:", OUTCOME_MISMATCH, "it's wrong: \"a, b\" {c} #1",
                                   "2027-06-30"};

static const struct {
    const char *before, *after;
} lists[] = {
    {"suite: s\ncases:\n  - file: a.hlo # the first\n    seeds: [1,\n      2]\n  # the end\n\n# of "
     "it\n",
     "suite: s\ncases:\n  - file: a.hlo # the first\n    seeds: [1,\n      2]\n"
     "  - name: new\n    file: a.hlo\n    seeds: [7]\n    backends: [\"cpu:\"]\n"
     "    profile: strict\n    poison: true\n    timeout: 2.5\n    expect:\n"
     "      \"cpu:\": {outcome: MISMATCH, reason: \"it's wrong: \\\"a, b\\\" {c} #1\", "
     "until: 2027-06-30}\n  # the end\n\n# of it\n"},
    /* no indent, other keys after the list, no newline at the end of the last case */
    {"cases:\n- file: a.hlo\n  expect:\n    \"cpu:\":\n      outcome: CRASH\n      reason: "
     "r\nsuite: s\n",
     "cases:\n- file: a.hlo\n  expect:\n    \"cpu:\":\n      outcome: CRASH\n      reason: r\n"
     "- name: new\n  file: a.hlo\n  seeds: [7]\n  backends: [\"cpu:\"]\n  profile: strict\n"
     "  poison: true\n  timeout: 2.5\n  expect:\n"
     "    \"cpu:\": {outcome: MISMATCH, reason: \"it's wrong: \\\"a, b\\\" {c} #1\", until: "
     "2027-06-30}\n"
     "suite: s\n"},
    {"suite: s\ncases:\n  - {file: a.hlo}",
     "suite: s\ncases:\n  - {file: a.hlo}\n  - name: new\n    file: a.hlo\n    seeds: [7]\n"
     "    backends: [\"cpu:\"]\n    profile: strict\n    poison: true\n    timeout: 2.5\n    "
     "expect:\n"
     "      \"cpu:\": {outcome: MISMATCH, reason: \"it's wrong: \\\"a, b\\\" {c} #1\", "
     "until: 2027-06-30}\n"},
    {"suite: s\ncases:\n  - file: a.hlo\n    description: |\n      two\n      lines\n# end\n",
     "suite: s\ncases:\n  - file: a.hlo\n    description: |\n      two\n      lines\n"
     "  - name: new\n    file: a.hlo\n    seeds: [7]\n    backends: [\"cpu:\"]\n"
     "    profile: strict\n    poison: true\n    timeout: 2.5\n    expect:\n"
     "      \"cpu:\": {outcome: MISMATCH, reason: \"it's wrong: \\\"a, b\\\" {c} #1\", "
     "until: 2027-06-30}\n# end\n"},
};

START_TEST(test_added)
{
    int64_t seed = 7;
    char *backends[] = {"cpu:"};
    struct test_case added = {.name = "new",
                              .file = "a.hlo",
                              .seed_count = 1,
                              .seeds = &seed,
                              .backend_count = 1,
                              .backends = backends,
                              .profile = profile_find("strict"),
                              .poison = true,
                              .timeout = 2.5,
                              .expectation_count = 1,
                              .expectations = &wrong};
    struct error err = {0};
    const char *before = lists[_i].before;
    char *after = manifest_with_case(manifest_path, before, strlen(before), &added, &err);
    ck_assert_msg(after != NULL, "%d:%d %s", err.line, err.column, err.message);
    ck_assert_str_eq(after, lists[_i].after);
    free(after);
}
END_TEST

START_TEST(test_not_added)
{
    struct test_case added = {.name = "new", .file = "a.hlo"};
    struct error err = {0};
    const char *flow = "suite: s\ncases: [{file: a.hlo}]\n", *good = HEAD "  - file: a.hlo\n";
    ck_assert(manifest_with_case(manifest_path, flow, strlen(flow), &added, &err) == NULL);
    ck_assert(err.line == 2 && err.column == 8 && strstr(err.message, "'- '") != NULL);
    err = (struct error){0};
    added.file = "none.hlo";
    ck_assert(manifest_with_case(manifest_path, good, strlen(good), &added, &err) == NULL);
    ck_assert(err.line == 5 && strstr(err.message, "there is no file") != NULL);
    err = (struct error){0};
    added.file = "a.hlo";
    added.name = "a";
    ck_assert(manifest_with_case(manifest_path, good, strlen(good), &added, &err) == NULL);
    ck_assert(err.line == 4 && strstr(err.message, "twice") != NULL);
}
END_TEST

START_TEST(test_no_file)
{
    struct manifest manifest;
    struct error err = {0};
    ck_assert(!manifest_load("/nowhere/manifest.yaml", &manifest, &err));
    ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("manifest");
    TCase *tests = tcase_create("manifests");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, test_read);
    tcase_add_loop_test(tests, test_errors, 0, sizeof bad / sizeof *bad);
    tcase_add_loop_test(tests, test_added, 0, sizeof lists / sizeof *lists);
    tcase_add_test(tests, test_not_added);
    tcase_add_test(tests, test_no_file);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
