/* Reports of the gate: identity, baseline, JSON there and back, the journal, and other forms. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "corpus/gate_report.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"

static char folder[40], path[64];

static void set_up(void)
{
    strcpy(folder, "/tmp/referee-gate-XXXXXX");
    ck_assert(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/file", folder);
}

static void tear_down(void)
{
    unlink(path);
    rmdir(folder);
}

static struct gate_run *add(struct gate_report *report, const char *name, int64_t seed,
                            const char *outcome, enum gate_status status)
{
    struct gate_run *run = gate_report_add(report, "suite", name, "cpu:", seed);
    gate_run_set(&run->outcome, outcome);
    gate_run_set(&run->expected, "PASS");
    run->status = status;
    run->done = true;
    return run;
}

static void save(const json_t *object)
{
    char *text = json_dumps(object, 0);
    ck_assert(file_write(path, text, strlen(text), NULL));
    free(text);
}

START_TEST(test_json_there_and_back)
{
    struct gate_report report, read;
    struct error err = {0};
    gate_report_init(&report);
    strcpy(report.date, "2026-12-01T09:30:00Z");
    struct gate_run *run = add(&report, "a", -7, "MISMATCH", GATE_UNEXPECTED);
    gate_run_set(&run->message, "a \xff b \"quoted\" \xe2\x89\xa4 1");
    run->content = UINT64_C(0x7fffffffffffffff);
    run->largest_ulps = INFINITY;
    run->seconds = 1.25;
    run->line = 12;
    run->golden_differs = true;
    run->buckets[7] = 3;
    gate_report_add(&report, "suite", "not done", "cpu:", 1);
    json_t *object = gate_report_json(&report);
    save(object);
    json_decref(object);
    ck_assert_msg(gate_report_load(path, &read, &err), "%s", err.message);
    ck_assert_uint_eq(read.count, 1);
    const struct gate_run *back = &read.runs[0];
    ck_assert_str_eq(read.date, "2026-12-01T09:30:00Z");
    ck_assert_str_eq(back->name, "a");
    ck_assert_str_eq(back->message, "a ? b \"quoted\" \xe2\x89\xa4 1");
    ck_assert_int_eq(back->seed, -7);
    ck_assert(back->content == UINT64_C(0x7fffffffffffffff));
    ck_assert(isinf(back->largest_ulps));
    ck_assert_double_eq(back->seconds, 1.25);
    ck_assert_int_eq(back->line, 12);
    ck_assert(back->golden_differs && back->done && back->status == GATE_UNEXPECTED);
    ck_assert_int_eq(back->buckets[7], 3);
    gate_report_finish(&report);
    gate_report_finish(&read);
}
END_TEST

START_TEST(test_what_is_no_report)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"{\"format\": \"referee-gate\", ", "file:1:"},
        {"{\"format\": \"other\"}", "is no report of the gate"},
        {"{\"format\": \"referee-gate\", \"version\": 99}", "version 99"},
        {"{\"format\": \"referee-gate\", \"version\": 1, \"runs\": [{}]}", "run 0 lacks"},
        {"{\"format\": \"referee-gate\", \"version\": 1, \"runs\": [{\"suite\": \"a\", \"case\": "
         "\"b\", \"backend\": \"c\", \"outcome\": \"PASS\", \"status\": \"good\"}]}",
         "run 0 lacks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gate_report report;
        struct error err = {0};
        struct text text;
        text_init(&text);
        ck_assert(file_write(path, cases[i].text, strlen(cases[i].text), NULL));
        ck_assert(!gate_report_load(path, &report, &err));
        error_print(&err, &text);
        ck_assert_msg(strstr(text.data, cases[i].message) != NULL, "%s", text.data);
        text_finish(&text);
    }
}
END_TEST

START_TEST(test_baseline)
{
    struct gate_report report, baseline;
    gate_report_init(&report);
    gate_report_init(&baseline);
    add(&report, "fails as before", 1, "MISMATCH", GATE_UNEXPECTED);
    add(&report, "fails otherwise", 1, "CRASH", GATE_UNEXPECTED);
    add(&report, "fails now", 1, "MISMATCH", GATE_UNEXPECTED);
    add(&report, "another seed", 2, "MISMATCH", GATE_UNEXPECTED);
    add(&report, "fine", 1, "PASS", GATE_AS_EXPECTED);
    add(&baseline, "fine", 1, "MISMATCH", GATE_UNEXPECTED);
    add(&baseline, "another seed", 1, "MISMATCH", GATE_UNEXPECTED);
    add(&baseline, "fails now", 1, "MISMATCH", GATE_AS_EXPECTED);
    add(&baseline, "fails otherwise", 1, "MISMATCH", GATE_UNEXPECTED);
    add(&baseline, "fails as before", 1, "MISMATCH", GATE_KNOWN);
    gate_report_apply_baseline(&report, &baseline);
    ck_assert_int_eq(report.runs[0].status, GATE_KNOWN);
    ck_assert_int_eq(report.runs[1].status, GATE_UNEXPECTED);
    ck_assert_int_eq(report.runs[2].status, GATE_UNEXPECTED);
    ck_assert_int_eq(report.runs[3].status, GATE_UNEXPECTED);
    ck_assert_int_eq(report.runs[4].status, GATE_AS_EXPECTED);
    ck_assert_uint_eq(gate_report_count(&report, GATE_UNEXPECTED), 3);
    gate_report_finish(&report);
    gate_report_finish(&baseline);
}
END_TEST

/* Two backends and two shards: the runs of a case stand together, cases as in the manifest. */
START_TEST(test_join)
{
    static const struct {
        int part, line;
        const char *name, *backend;
    } runs[] = {
        {0, 3, "c", "cpu:"}, {0, 1, "a", "cpu:"},  {1, 2, "b", "cpu:"},
        {1, 4, "d", "cpu:"}, {2, 3, "c", "cuda:"}, {2, 1, "a", "cuda:"},
    };
    static const char *const order[] = {
        "a cpu:", "a cuda:", "b cpu:", "c cpu:", "c cuda:", "d cpu:"};
    struct gate_report parts[3];
    struct error err = {0};
    for (int i = 0; i < 3; i++) {
        gate_report_init(&parts[i]);
        snprintf(parts[i].date, sizeof parts[i].date, "2026-12-0%d", (i + 1) % 3 + 1);
    }
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct gate_run *run = add(&parts[runs[i].part], runs[i].name, 1, "PASS", GATE_AS_EXPECTED);
        gate_run_set(&run->backend, runs[i].backend);
        run->line = runs[i].line;
    }
    ck_assert(gate_report_join(&parts[0], &parts[1], &err));
    ck_assert_uint_eq(parts[1].count, 0);
    ck_assert(gate_report_join(&parts[0], &parts[2], &err));
    ck_assert_uint_eq(parts[0].count, 6);
    ck_assert_str_eq(parts[0].date, "2026-12-03");
    ck_assert_str_eq(parts[0].shard, "1/1");
    for (size_t i = 0; i < parts[0].count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s %s", parts[0].runs[i].name, parts[0].runs[i].backend);
        ck_assert_str_eq(name, order[i]);
    }
    add(&parts[1], "b", 1, "PASS", GATE_AS_EXPECTED);
    ck_assert(!gate_report_join(&parts[0], &parts[1], &err));
    ck_assert_str_eq(err.message, "suite/b on cpu: with seed 1 is in both");
    ck_assert_uint_eq(parts[0].count, 6);
    for (int i = 0; i < 3; i++) {
        gate_report_finish(&parts[i]);
    }
}
END_TEST

/* Writes a run, tears the next one, and reads what is left. */
START_TEST(test_journal)
{
    struct gate_report report;
    struct gate_journal journal;
    struct error err = {0};
    gate_report_init(&report);
    add(&report, "first", 1, "PASS", GATE_AS_EXPECTED);
    add(&report, "second", 1, "PASS", GATE_AS_EXPECTED);
    ck_assert(gate_journal_open(path, &journal, &err));
    ck_assert_uint_eq(journal.past.count, 0);
    ck_assert(gate_journal_write(&journal, &report.runs[0], &err));
    struct gate_journal other;
    ck_assert(!gate_journal_open(path, &other, &err));
    ck_assert_ptr_nonnull(strstr(err.message, "another process"));
    gate_journal_close(&journal);
    FILE *file = fopen(path, "a");
    fputs("{\"suite\": \"suite\", \"case\": \"sec", file);
    fclose(file);
    err = (struct error){0};
    ck_assert_msg(gate_journal_open(path, &journal, &err), "%s", err.message);
    ck_assert_uint_eq(journal.past.count, 1);
    ck_assert_str_eq(journal.past.runs[0].name, "first");
    ck_assert(gate_journal_write(&journal, &report.runs[1], &err));
    gate_journal_close(&journal);
    ck_assert(gate_journal_open(path, &journal, &err));
    ck_assert_uint_eq(journal.past.count, 2);
    ck_assert_str_eq(journal.past.runs[1].name, "second");
    gate_journal_close(&journal);
    gate_report_finish(&report);
}
END_TEST

START_TEST(test_no_journal)
{
    static const char text[] = "suite: a manifest\n";
    struct gate_journal journal;
    struct error err = {0};
    ck_assert(file_write(path, text, strlen(text), NULL));
    ck_assert(!gate_journal_open(path, &journal, &err));
    ck_assert_int_eq(err.line, 1);
    size_t size;
    char *kept = file_read(path, &size, NULL);
    ck_assert_str_eq(kept, text); /* what is no journal is not touched */
    free(kept);
}
END_TEST

/* The whole JUnit text of a small report, by the schema. */
START_TEST(test_junit)
{
    static const char expected[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"referee gate\" tests=\"3\" failures=\"1\">\n"
        "  <testsuite name=\"suite on cpu:\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" "
        "time=\"0.500\">\n"
        "    <testcase name=\"fine seed 1\" classname=\"suite\" file=\"\" time=\"0.000\">\n"
        "    </testcase>\n"
        "    <testcase name=\"a&lt;b seed 1\" classname=\"suite\" file=\"\" time=\"0.500\">\n"
        "      <failure type=\"MISMATCH\" message=\"expected &quot;PASS&quot;\">x &amp; ?\n"
        "again: referee run\n"
        "</failure>\n"
        "    </testcase>\n"
        "    <testcase name=\"waits seed 1\" classname=\"suite\" file=\"\" time=\"0.000\">\n"
        "      <skipped message=\"in quarantine\"/>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n";
    struct gate_report report;
    struct text text;
    gate_report_init(&report);
    text_init(&text);
    add(&report, "fine", 1, "PASS", GATE_AS_EXPECTED);
    struct gate_run *run = add(&report, "a<b", 1, "MISMATCH", GATE_UNEXPECTED);
    gate_run_set(&run->reason, "expected \"PASS\"");
    gate_run_set(&run->message, "x & \x01");
    gate_run_set(&run->command, "referee run");
    run->seconds = 0.5;
    run = add(&report, "waits", 1, "CRASH", GATE_QUARANTINED);
    gate_run_set(&run->reason, "in quarantine");
    gate_report_junit(&report, &text);
    ck_assert_str_eq(text.data, expected);
    text_finish(&text);
    gate_report_finish(&report);
}
END_TEST

START_TEST(test_annotations)
{
    struct gate_report report;
    struct text text;
    gate_report_init(&report);
    text_init(&text);
    add(&report, "fine", 1, "PASS", GATE_AS_EXPECTED);
    struct gate_run *run = add(&report, "bad", 1, "MISMATCH", GATE_UNEXPECTED);
    gate_run_set(&run->manifest, "some,where/manifest.yaml");
    gate_run_set(&run->reason, "50% off");
    run->line = 7;
    gate_report_annotations(&report, &text);
    ck_assert_str_eq(text.data,
                     "::error file=some%2Cwhere/manifest.yaml,line=7,title=suite/bad on cpu%3A::"
                     "MISMATCH, expected PASS: 50%25 off%0A%0Aagain: \n");
    text_finish(&text);
    gate_report_finish(&report);
}
END_TEST

/* The page has a row a case, links from what is not as expected, and what it was before. What a
 * browser makes of it: tests/tools/test_pages.sh. */
START_TEST(test_page)
{
    struct gate_report report, before;
    struct text text;
    gate_report_init(&report);
    gate_report_init(&before);
    text_init(&text);
    strcpy(before.date, "2026-11-01T00:00:00Z");
    add(&before, "bad/er", 1, "PASS", GATE_AS_EXPECTED);
    add(&before, "gone", 1, "PASS", GATE_AS_EXPECTED);
    add(&report, "fine", 1, "PASS", GATE_AS_EXPECTED);
    add(&report, "fine", 2, "PASS", GATE_AS_EXPECTED);
    struct gate_run *run = add(&report, "bad/er", 1, "MISMATCH", GATE_UNEXPECTED);
    gate_run_set(&run->picture, "first <differs> here");
    gate_run_set(&run->message, "</script><script>alert(1)</script>");
    run->buckets[2] = 5;
    gate_report_page(&report, &before, 1, &text);
    static const char *const parts[] = {
        "<title>1 unexpected",
        "<tr id=\"suite/fine\">",
        "<tr id=\"suite/bad~2Fer\">",
        "<a class=\"mark unexpected\" href=\"#suite/bad~2Fer@cpu~3A,1\">MISMATCH</a>",
        "<div class=\"body\" id=\"suite/bad~2Fer@cpu~3A,1\">",
        "first &lt;differs&gt; here",
        "2026-11-01 00:00: PASS",
        "Not as expected any more <span class=\"count\">1</span>",
        "New cases <span class=\"count\">1</span>",
        "No longer run <span class=\"count\">1</span>",
        "<small>×2</small>", /* both seeds of what is fine */
        "default-src 'none'",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        ck_assert_msg(strstr(text.data, parts[i]) != NULL, "%s", parts[i]);
    }
    ck_assert_ptr_null(strstr(text.data, "http:"));
    ck_assert_ptr_null(strstr(text.data, "https:"));
    ck_assert_ptr_null(strstr(text.data, "<script>alert"));
    text_finish(&text);
    gate_report_finish(&report);
    gate_report_finish(&before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gate_report");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, test_json_there_and_back);
    tcase_add_test(tests, test_what_is_no_report);
    tcase_add_test(tests, test_baseline);
    tcase_add_test(tests, test_join);
    tcase_add_test(tests, test_journal);
    tcase_add_test(tests, test_no_journal);
    tcase_add_test(tests, test_junit);
    tcase_add_test(tests, test_annotations);
    tcase_add_test(tests, test_page);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
