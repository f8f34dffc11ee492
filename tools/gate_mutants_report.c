/* The figures of `referee gate --mutants`, printed and as JSON. */
#include "tools/gate_mutants_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mutant.h"
#include "hlo/base/arena.h"

void mutants_report_init(struct mutants_report *report)
{
    *report = (struct mutants_report){0};
    report->classes = memory_zalloc((size_t)mutant_class_count() * sizeof *report->classes);
}

void mutants_report_finish(struct mutants_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        struct mutants_finding *finding = &report->findings[i];
        free(finding->module);
        free(finding->what);
        free(finding->outcome);
        free(finding->excess);
        free(finding->command);
    }
    free(report->findings);
    free(report->backends);
    free(report->classes);
    *report = (struct mutants_report){0};
}

size_t mutants_report_backend(struct mutants_report *report, const char *uri)
{
    for (size_t i = 0; i < report->backend_count; i++) {
        if (strcmp(report->backends[i].uri, uri) == 0) {
            return i;
        }
    }
    report->backends = grow(report->backends, report->backend_count, &report->backend_capacity,
                            sizeof *report->backends);
    report->backends[report->backend_count] = (struct mutants_backend){.uri = uri};
    return report->backend_count++;
}

struct mutants_finding *mutants_report_add(struct mutants_report *report,
                                           enum mutants_finding_kind kind, int class)
{
    report->findings = grow(report->findings, report->finding_count, &report->finding_capacity,
                            sizeof *report->findings);
    struct mutants_finding *finding = &report->findings[report->finding_count++];
    *finding = (struct mutants_finding){.kind = kind, .class = class};
    return finding;
}

/* --- counts --- */

/* A field of struct mutants_counts or struct mutants_clean and its name in JSON. */
struct count_field {
    const char *name;
    size_t offset;
};
#define COUNT(name, field)                           \
    {                                                \
        name, offsetof(struct mutants_counts, field) \
    }
static const struct count_field fault_fields[] = {
    COUNT("planted", planted),
    COUNT("same", same),
    COUNT("within", within),
    COUNT("beyond", beyond),
    COUNT("found", found),
    COUNT("undecided", undecided),
    COUNT("found_by_xla", found_by_xla),
    COUNT("found_within", found_within),
    {NULL, 0},
};
#undef COUNT
#define COUNT(name, field)                          \
    {                                               \
        name, offsetof(struct mutants_clean, field) \
    }
static const struct count_field clean_fields[] = {
    COUNT("runs", runs),
    COUNT("alarms", alarms),
    COUNT("alarms_by_xla", alarms_by_xla),
    COUNT("inconclusive", inconclusive),
    COUNT("vacuous", vacuous),
    COUNT("known_failures", known),
    COUNT("without_result", refused),
    COUNT("too_slow", slow),
    {NULL, 0},
};
#undef COUNT

static int64_t *count_at(void *counts, const struct count_field *field)
{
    return (int64_t *)(void *)((char *)counts + field->offset);
}

static int64_t count_of(const void *counts, const struct count_field *field)
{
    return *(const int64_t *)(const void *)((const char *)counts + field->offset);
}

static void add_counts(void *sum, const void *counts, const struct count_field *fields)
{
    for (; fields->name != NULL; fields++) {
        *count_at(sum, fields) += count_of(counts, fields);
    }
}

struct mutants_counts mutants_report_faults(const struct mutants_report *report)
{
    struct mutants_counts all = {0};
    for (int i = 0; i < mutant_class_count(); i++) {
        add_counts(&all, &report->classes[i], fault_fields);
    }
    return all;
}

struct mutants_clean mutants_report_clean(const struct mutants_report *report)
{
    struct mutants_clean all = {0};
    for (size_t i = 0; i < report->backend_count; i++) {
        add_counts(&all, &report->backends[i].clean, clean_fields);
    }
    return all;
}

void mutants_report_join(struct mutants_report *report, struct mutants_report *part)
{
    for (int i = 0; i < mutant_class_count(); i++) {
        add_counts(&report->classes[i], &part->classes[i], fault_fields);
    }
    for (size_t i = 0; i < part->backend_count; i++) {
        const struct mutants_backend *from = &part->backends[i];
        struct mutants_backend *to = &report->backends[mutants_report_backend(report, from->uri)];
        add_counts(&to->faults, &from->faults, fault_fields);
        add_counts(&to->clean, &from->clean, clean_fields);
    }
    for (size_t i = 0; i < part->finding_count; i++) {
        *mutants_report_add(report, part->findings[i].kind, -1) = part->findings[i];
    }
    part->finding_count = 0;
    mutants_report_finish(part);
    mutants_report_init(part);
}

static double share(int64_t part, int64_t all)
{
    return all > 0 ? 100 * (double)part / (double)all : 100;
}

bool mutants_report_is_good(const struct mutants_report *report)
{
    struct mutants_counts faults = mutants_report_faults(report);
    return share(faults.found, faults.beyond) >= report->goal &&
           mutants_report_clean(report).alarms == 0;
}

/* --- as text --- */

static void print_counts(const struct mutants_counts *counts)
{
    printf(" %7lld %6lld %6lld %7lld", (long long)counts->planted, (long long)counts->same,
           (long long)counts->within, (long long)counts->beyond);
    if (counts->beyond > 0) {
        printf(" %6lld %5.1f %%  %6lld %5.1f %%\n", (long long)counts->found,
               share(counts->found, counts->beyond), (long long)counts->found_by_xla,
               share(counts->found_by_xla, counts->beyond));
    } else {
        printf(" %6s %7s  %6s %7s\n", "–", "", "–", "");
    }
}

static void print_table(const struct mutants_report *report)
{
    printf("%-20s %7s %6s %6s %7s %14s  %14s\n", "class", "planted", "same", "within", "beyond",
           "found", "by XLA's rule");
    for (int i = 0; i < mutant_class_count(); i++) {
        if (i == 0 || mutant_class(i).in_outputs != mutant_class(i - 1).in_outputs) {
            printf("  in %s\n", mutant_class(i).in_outputs ? "outputs" : "modules");
        }
        if (report->classes[i].planted > 0) {
            printf("%-20s", mutant_class(i).name);
            print_counts(&report->classes[i]);
        }
    }
    printf("  on\n");
    for (size_t i = 0; i < report->backend_count; i++) {
        printf("%-20.20s", report->backends[i].uri);
        print_counts(&report->backends[i].faults);
    }
    struct mutants_counts all = mutants_report_faults(report);
    printf("%-20s", "all");
    print_counts(&all);
}

static void print_findings(const struct mutants_report *report, enum mutants_finding_kind kind,
                           const char *word)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct mutants_finding *finding = &report->findings[i];
        if (finding->kind != kind) {
            continue;
        }
        printf("%s: %s%s%s: %s%s%s\n    %s\n", word, finding->module,
               finding->class >= 0 ? ": " : "",
               finding->class >= 0 ? mutant_class(finding->class).name : "", finding->what,
               finding->excess[0] != '\0' ? "; " : "", finding->excess, finding->command);
    }
}

void mutants_report_print(const struct mutants_report *report)
{
    struct mutants_counts faults = mutants_report_faults(report);
    struct mutants_clean clean = mutants_report_clean(report);
    print_table(report);
    print_findings(report, MUTANTS_MISSED, "missed");
    print_findings(report, MUTANTS_ALARM, "false alarm");
    int classes = 0;
    for (int i = 0; i < mutant_class_count(); i++) {
        classes += report->classes[i].planted > 0;
    }
    printf("%lld faults of %d classes (seed %lld): %lld change an output by more than rounding "
           "could\n",
           (long long)faults.planted, classes, (long long)report->seed, (long long)faults.beyond);
    printf("  found: %lld (%.2f %%); by XLA's rule, 1e-3 absolute or relative: %lld (%.2f %%)\n",
           (long long)faults.found, share(faults.found, faults.beyond),
           (long long)faults.found_by_xla, share(faults.found_by_xla, faults.beyond));
    if (faults.undecided > 0) {
        printf("  of what was not found, %lld runs were INCONCLUSIVE\n",
               (long long)faults.undecided);
    }
    printf("%lld runs without a fault: %lld false alarms; by XLA's rule %lld\n",
           (long long)clean.runs, (long long)clean.alarms, (long long)clean.alarms_by_xla);
    if (clean.inconclusive + clean.vacuous + clean.known + clean.refused + clean.slow > 0) {
        printf("  %lld inconclusive, %lld vacuous; left out: %lld known to fail, %lld without a "
               "result, and from faults %lld too slow\n",
               (long long)clean.inconclusive, (long long)clean.vacuous, (long long)clean.known,
               (long long)clean.refused, (long long)clean.slow);
    }
    printf("goal %g %% and no false alarm: %s; %.0f s\n", report->goal,
           mutants_report_is_good(report) ? "reached" : "MISSED", report->seconds);
}

/* --- as JSON --- */

static json_t *counts_json(const void *counts, const struct count_field *fields)
{
    json_t *object = json_object();
    for (; fields->name != NULL; fields++) {
        json_object_set_new(object, fields->name, json_integer(count_of(counts, fields)));
    }
    return object;
}

static json_t *finding_json(const struct mutants_finding *finding)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s}", "module", finding->module, "what", finding->what,
                  "outcome", finding->outcome, "command", finding->command);
    if (finding->class >= 0) {
        json_object_set_new(object, "class", json_string(mutant_class(finding->class).name));
        json_object_set_new(object, "excess", json_string(finding->excess));
    }
    return object;
}

static const char *const lists[] = {
    [MUTANTS_MISSED] = "missed",
    [MUTANTS_ALARM] = "false_alarms",
    [MUTANTS_ALARM_BY_XLA] = "false_alarms_by_xla",
};
enum { LISTS = sizeof lists / sizeof *lists };

static void set_parts(const struct mutants_report *report, bool all, json_t *root)
{
    json_t *classes = json_array(), *backends = json_array();
    for (int i = 0; i < mutant_class_count(); i++) {
        if (all || report->classes[i].planted > 0) {
            struct mutant_class class = mutant_class(i);
            json_t *object = counts_json(&report->classes[i], fault_fields);
            json_object_set_new(object, "class", json_string(class.name));
            json_object_set_new(object, "in", json_string(class.in_outputs ? "output" : "module"));
            json_array_append_new(classes, object);
        }
    }
    for (size_t i = 0; i < report->backend_count; i++) {
        const struct mutants_backend *backend = &report->backends[i];
        json_t *object = counts_json(&backend->faults, fault_fields);
        json_object_set_new(object, "backend", json_string(backend->uri));
        json_object_set_new(object, "clean", counts_json(&backend->clean, clean_fields));
        json_array_append_new(backends, object);
    }
    json_object_set_new(root, "classes", classes);
    json_object_set_new(root, "backends", backends);
    for (int kind = 0; kind < LISTS; kind++) {
        json_t *list = json_array();
        for (size_t i = 0; i < report->finding_count; i++) {
            if ((int)report->findings[i].kind == kind) {
                json_array_append_new(list, finding_json(&report->findings[i]));
            }
        }
        json_object_set_new(root, lists[kind], list);
    }
}

json_t *mutants_report_json(const struct mutants_report *report)
{
    struct mutants_counts faults = mutants_report_faults(report);
    struct mutants_clean clean = mutants_report_clean(report);
    json_t *root = json_object();
    json_object_set_new(root, "seed", json_integer(report->seed));
    json_object_set_new(root, "goal", json_real(report->goal));
    json_object_set_new(root, "reached", json_boolean(mutants_report_is_good(report)));
    json_object_set_new(root, "seconds", json_real(report->seconds));
    json_object_set_new(root, "faults", counts_json(&faults, fault_fields));
    json_object_set_new(root, "clean", counts_json(&clean, clean_fields));
    set_parts(report, true, root);
    return root;
}

json_t *mutants_report_part_json(const struct mutants_report *report)
{
    json_t *root = json_object();
    set_parts(report, false, root);
    return root;
}

/* --- from JSON --- */

static bool read_counts(const json_t *object, const struct count_field *fields, void *counts)
{
    for (; fields->name != NULL; fields++) {
        const json_t *value = json_object_get(object, fields->name);
        if (!json_is_integer(value)) {
            return false;
        }
        *count_at(counts, fields) += json_integer_value(value);
    }
    return true;
}

static int class_named(const char *name)
{
    int i = name != NULL ? mutant_class_count() - 1 : -1;
    while (i >= 0 && strcmp(mutant_class(i).name, name) != 0) {
        i--;
    }
    return i;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

static bool read_finding(const json_t *object, enum mutants_finding_kind kind,
                         struct mutants_report *report)
{
    int class = class_named(json_string_value(json_object_get(object, "class")));
    if (!json_is_object(object) || (kind == MUTANTS_MISSED && class < 0)) {
        return false;
    }
    struct mutants_finding *finding = mutants_report_add(report, kind, class);
    finding->module = memory_strdup(text_of(object, "module"));
    finding->what = memory_strdup(text_of(object, "what"));
    finding->outcome = memory_strdup(text_of(object, "outcome"));
    finding->excess = memory_strdup(text_of(object, "excess"));
    finding->command = memory_strdup(text_of(object, "command"));
    return true;
}

static bool read_backend(const json_t *object, struct mutants_report *report)
{
    const char *uri = text_of(object, "backend");
    for (size_t i = 0; i < report->backend_count; i++) {
        struct mutants_backend *backend = &report->backends[i];
        if (strcmp(backend->uri, uri) == 0) {
            return read_counts(object, fault_fields, &backend->faults) &&
                   read_counts(json_object_get(object, "clean"), clean_fields, &backend->clean);
        }
    }
    return false;
}

static bool read_parts(const json_t *object, struct mutants_report *report)
{
    size_t i;
    json_t *item;
    bool good = true;
    json_array_foreach(json_object_get(object, "classes"), i, item)
    {
        int class = class_named(json_string_value(json_object_get(item, "class")));
        good = good && class >= 0 && read_counts(item, fault_fields, &report->classes[class]);
    }
    json_array_foreach(json_object_get(object, "backends"), i, item)
    {
        good = good && read_backend(item, report);
    }
    for (int kind = 0; kind < LISTS; kind++) {
        json_array_foreach(json_object_get(object, lists[kind]), i, item)
        {
            good = good && read_finding(item, (enum mutants_finding_kind)kind, report);
        }
    }
    return good && json_array_size(json_object_get(object, "backends")) > 0;
}

bool mutants_report_add_part(struct mutants_report *report, const json_t *object)
{
    struct mutants_report part;
    mutants_report_init(&part);
    for (size_t i = 0; i < report->backend_count; i++) {
        mutants_report_backend(&part, report->backends[i].uri);
    }
    bool good = read_parts(object, &part);
    if (good) {
        mutants_report_join(report, &part);
    }
    mutants_report_finish(&part);
    return good;
}
