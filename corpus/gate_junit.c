/* The gate's report for CI systems: JUnit XML, and annotations of GitHub's workflows. Sources: the
 * schema that Jenkins' xunit plugin publishes (junit-10.xsd); GitHub's documentation of workflow
 * commands, which escape % as %25, CR as %0D, LF as %0A, and in properties : and , too. */
#include <string.h>

#include "corpus/gate_report.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"

static bool same_suite(const struct gate_run *a, const struct gate_run *b)
{
    return strcmp(a->suite, b->suite) == 0 && strcmp(a->backend, b->backend) == 0;
}

static void attribute(struct text *out, const char *name, const char *value)
{
    text_printf(out, " %s=\"", name);
    text_markup(out, value);
    text_char(out, '"');
}

static void case_xml(const struct gate_run *run, struct text *out)
{
    struct text name;
    text_init(&name);
    text_printf(&name, "%s seed %lld", run->name, (long long)run->seed);
    text_append(out, "    <testcase");
    attribute(out, "name", name.data);
    attribute(out, "classname", run->suite);
    attribute(out, "file", run->file);
    text_printf(out, " time=\"%.3f\">\n", run->seconds);
    text_finish(&name);
    if (run->status == GATE_UNEXPECTED) {
        text_append(out, "      <failure");
        attribute(out, "type", run->outcome);
        attribute(out, "message", run->reason);
        text_append(out, ">");
        text_markup(out, run->message);
        text_char(out, '\n');
        text_markup(out, run->picture);
        text_append(out, "again: ");
        text_markup(out, run->command);
        text_append(out, "\n</failure>\n");
    } else if (run->status != GATE_AS_EXPECTED) {
        text_append(out, "      <skipped");
        attribute(out, "message", run->reason);
        text_append(out, "/>\n");
    } else if (run->reason[0] != '\0') { /* a failure that is expected */
        text_append(out, "      <system-out>");
        text_markup(out, run->outcome);
        text_append(out, " as expected: ");
        text_markup(out, run->reason);
        text_append(out, "</system-out>\n");
    }
    text_append(out, "    </testcase>\n");
}

/* The testsuite of run `first`, if it is the first of its suite and backend. */
static void suite_xml(const struct gate_report *report, size_t first, struct text *out)
{
    const struct gate_run *head = &report->runs[first];
    for (size_t i = 0; i < first; i++) {
        if (report->runs[i].done && same_suite(&report->runs[i], head)) {
            return;
        }
    }
    size_t count = 0, failed = 0, skipped = 0;
    double seconds = 0;
    for (size_t i = first; i < report->count; i++) {
        const struct gate_run *run = &report->runs[i];
        if (run->done && same_suite(run, head)) {
            count++;
            failed += run->status == GATE_UNEXPECTED;
            skipped += run->status == GATE_QUARANTINED || run->status == GATE_KNOWN;
            seconds += run->seconds;
        }
    }
    struct text name;
    text_init(&name);
    text_printf(&name, "%s on %s", head->suite, head->backend);
    text_append(out, "  <testsuite");
    attribute(out, "name", name.data);
    text_finish(&name);
    text_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\"",
                count, failed, skipped, seconds);
    if (report->date[0] != '\0') {
        text_printf(out, " timestamp=\"%.19s\"", report->date);
    }
    text_append(out, ">\n");
    for (size_t i = first; i < report->count; i++) {
        if (report->runs[i].done && same_suite(&report->runs[i], head)) {
            case_xml(&report->runs[i], out);
        }
    }
    text_append(out, "  </testsuite>\n");
}

void gate_report_junit(const struct gate_report *report, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++) {
        count += report->runs[i].done;
    }
    text_append(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text_printf(out, "<testsuites name=\"referee gate\" tests=\"%zu\" failures=\"%zu\">\n", count,
                gate_report_count(report, GATE_UNEXPECTED));
    for (size_t i = 0; i < report->count; i++) {
        if (report->runs[i].done) {
            suite_xml(report, i, out);
        }
    }
    text_append(out, "</testsuites>\n");
}

/* A value of a workflow command. */
static void annotation_text(const char *value, bool property, struct text *out)
{
    for (const char *at = value; *at != '\0'; at++) {
        if (strchr("%\r\n", *at) != NULL || (property && strchr(":,", *at) != NULL)) {
            text_printf(out, "%%%02X", (unsigned)(unsigned char)*at);
        } else {
            text_char(out, *at);
        }
    }
}

void gate_report_annotations(const struct gate_report *report, struct text *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct gate_run *run = &report->runs[i];
        if (!run->done || run->status == GATE_AS_EXPECTED) {
            continue;
        }
        text_append(out, run->status == GATE_UNEXPECTED ? "::error file=" : "::warning file=");
        annotation_text(run->manifest, true, out);
        text_printf(out, ",line=%d,title=", run->line);
        annotation_text(run->suite, true, out);
        text_char(out, '/');
        annotation_text(run->name, true, out);
        text_append(out, " on ");
        annotation_text(run->backend, true, out);
        text_append(out, "::");
        struct text message;
        text_init(&message);
        text_printf(&message, "%s, expected %s: %s\n%s\nagain: %s", run->outcome, run->expected,
                    run->reason, run->message, run->command);
        annotation_text(message.data, false, out);
        text_finish(&message);
        text_char(out, '\n');
    }
}
