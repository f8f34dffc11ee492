/* The forms in which a report of the gate is written: read the baseline, count, write. */
#include "tools/gate_forms.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "tools/commands.h"
#include "tools/modules.h"

bool gate_forms_check(const struct gate_forms *forms)
{
    bool ok = forms->annotations == NULL || strcmp(forms->annotations, "github") == 0;
    if (!ok) {
        fprintf(stderr, "referee: --annotations knows github, not '%s'\n", forms->annotations);
    }
    return ok;
}

bool gate_forms_baseline(const struct gate_forms *forms, struct gate_report *baseline)
{
    struct error err = {0};
    gate_report_init(baseline);
    bool ok = forms->baseline == NULL || gate_report_load(forms->baseline, baseline, &err);
    if (!ok) {
        print_error(&err);
    }
    return ok;
}

static bool write_text(const char *path, const struct text *text)
{
    struct error err = {0};
    bool ok = file_write(path, text->data, text->size, &err);
    if (!ok) {
        print_error(&err);
    }
    return ok;
}

/* Earlier reports, oldest first. */
struct history {
    size_t count, capacity;
    struct gate_report *reports;
};

static int by_date(const void *left, const void *right)
{
    const struct gate_report *a = left, *b = right;
    return strcmp(a->date, b->date);
}

/* Takes what was written before `date`, which the report itself has; what is named may be of the
 * same second. */
static bool history_add(struct history *history, const char *path, const char *date, bool named)
{
    struct gate_report report;
    struct error err = {0};
    if (!gate_report_load(path, &report, &err)) {
        print_error(&err);
        return false;
    }
    int order = strcmp(report.date, date);
    if (order > 0 || (order == 0 && !named)) {
        gate_report_finish(&report);
        return true;
    }
    history->reports =
        grow(history->reports, history->count, &history->capacity, sizeof *history->reports);
    history->reports[history->count++] = report;
    return true;
}

/* The files *.json of a folder. False, with a message, when one is no report. */
static bool history_add_folder(struct history *history, DIR *folder, const char *path,
                               const char *date)
{
    bool ok = true;
    struct text file;
    text_init(&file);
    for (const struct dirent *entry; ok && (entry = readdir(folder)) != NULL;) {
        const char *ending = strrchr(entry->d_name, '.');
        if (ending != NULL && strcmp(ending, ".json") == 0) {
            text_clear(&file);
            text_printf(&file, "%s/%s", path, entry->d_name);
            ok = history_add(history, file.data, date, false);
        }
    }
    text_finish(&file);
    return ok;
}

static bool history_load(const struct string_list *paths, const char *date, struct history *history)
{
    bool ok = true;
    for (size_t i = 0; ok && i < paths->count; i++) {
        DIR *folder = opendir(paths->items[i]);
        ok = folder != NULL ? history_add_folder(history, folder, paths->items[i], date)
                            : history_add(history, paths->items[i], date, true);
        if (folder != NULL) {
            closedir(folder);
        }
    }
    if (history->count > 0) {
        qsort(history->reports, history->count, sizeof *history->reports, by_date);
    }
    return ok;
}

static bool write_page(const struct gate_forms *forms, const struct gate_report *report)
{
    struct history history = {0};
    struct text text;
    text_init(&text);
    bool ok = history_load(&forms->history, report->date, &history);
    if (ok) {
        gate_report_page(report, history.reports, history.count, &text);
        ok = write_text(forms->html, &text);
    }
    text_finish(&text);
    for (size_t i = 0; i < history.count; i++) {
        gate_report_finish(&history.reports[i]);
    }
    free(history.reports);
    return ok;
}

/* All forms that were asked for; as many as can be written. */
static bool write_reports(const struct gate_forms *forms, const struct gate_report *report)
{
    bool ok = true;
    struct text text;
    text_init(&text);
    if (forms->annotations != NULL) {
        gate_report_annotations(report, &text);
        fputs(text.data, stdout);
        text_clear(&text);
    }
    if (forms->json != NULL) {
        json_t *object = gate_report_json(report);
        ok &= write_json(forms->json, object);
        json_decref(object);
    }
    if (forms->junit != NULL) {
        gate_report_junit(report, &text);
        ok &= write_text(forms->junit, &text);
    }
    text_finish(&text);
    return (forms->html == NULL || write_page(forms, report)) && ok;
}

static void print_summary(const struct gate_report *report)
{
    size_t quarantined = gate_report_count(report, GATE_QUARANTINED);
    size_t known = gate_report_count(report, GATE_KNOWN);
    if (quarantined + known > 0) {
        printf("%zu known from the baseline, %zu in quarantine\n", known, quarantined);
    }
    printf("%zu runs as expected, %zu not\n", gate_report_count(report, GATE_AS_EXPECTED),
           gate_report_count(report, GATE_UNEXPECTED));
}

bool gate_forms_write(const struct gate_forms *forms, struct gate_report *report,
                      const struct gate_report *baseline)
{
    gate_report_apply_baseline(report, baseline);
    print_summary(report);
    return write_reports(forms, report);
}

int gate_forms_status(const struct gate_report *report, bool ok)
{
    return !ok                                              ? EXIT_INFRASTRUCTURE
           : gate_report_count(report, GATE_UNEXPECTED) > 0 ? EXIT_FINDINGS
                                                            : EXIT_AS_EXPECTED;
}

void gate_forms_finish(struct gate_forms *forms)
{
    string_list_finish(&forms->history);
}
