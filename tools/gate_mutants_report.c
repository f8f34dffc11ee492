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

struct mutants_counts mutants_report_faults(const struct mutants_report *report)
{
    struct mutants_counts all = {0};
    for (int i = 0; i < mutant_class_count(); i++) {
        const struct mutants_counts *own = &report->classes[i];
        all.planted += own->planted;
        all.same += own->same;
        all.within += own->within;
        all.beyond += own->beyond;
        all.found += own->found;
        all.undecided += own->undecided;
        all.found_by_xla += own->found_by_xla;
        all.found_within += own->found_within;
    }
    return all;
}

struct mutants_clean mutants_report_clean(const struct mutants_report *report)
{
    struct mutants_clean all = {0};
    for (size_t i = 0; i < report->backend_count; i++) {
        const struct mutants_clean *own = &report->backends[i].clean;
        all.runs += own->runs;
        all.inconclusive += own->inconclusive;
        all.vacuous += own->vacuous;
        all.alarms += own->alarms;
        all.alarms_by_xla += own->alarms_by_xla;
        all.known += own->known;
        all.refused += own->refused;
        all.slow += own->slow;
    }
    return all;
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

static json_t *counts_json(const struct mutants_counts *counts)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "planted",
                     (json_int_t)counts->planted, "same", (json_int_t)counts->same, "within",
                     (json_int_t)counts->within, "beyond", (json_int_t)counts->beyond, "found",
                     (json_int_t)counts->found, "undecided", (json_int_t)counts->undecided,
                     "found_by_xla", (json_int_t)counts->found_by_xla, "found_within",
                     (json_int_t)counts->found_within);
}

static json_t *clean_json(const struct mutants_clean *clean)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "runs", (json_int_t)clean->runs,
                     "alarms", (json_int_t)clean->alarms, "alarms_by_xla",
                     (json_int_t)clean->alarms_by_xla, "inconclusive",
                     (json_int_t)clean->inconclusive, "vacuous", (json_int_t)clean->vacuous,
                     "known_failures", (json_int_t)clean->known, "without_result",
                     (json_int_t)clean->refused, "too_slow", (json_int_t)clean->slow);
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

json_t *mutants_report_json(const struct mutants_report *report)
{
    static const char *const lists[] = {
        [MUTANTS_MISSED] = "missed",
        [MUTANTS_ALARM] = "false_alarms",
        [MUTANTS_ALARM_BY_XLA] = "false_alarms_by_xla",
    };
    struct mutants_counts faults = mutants_report_faults(report);
    struct mutants_clean clean = mutants_report_clean(report);
    json_t *root = json_object(), *classes = json_array(), *backends = json_array();
    json_object_set_new(root, "seed", json_integer(report->seed));
    json_object_set_new(root, "goal", json_real(report->goal));
    json_object_set_new(root, "reached", json_boolean(mutants_report_is_good(report)));
    json_object_set_new(root, "seconds", json_real(report->seconds));
    json_object_set_new(root, "faults", counts_json(&faults));
    json_object_set_new(root, "clean", clean_json(&clean));
    for (int i = 0; i < mutant_class_count(); i++) {
        struct mutant_class class = mutant_class(i);
        json_t *object = counts_json(&report->classes[i]);
        json_object_set_new(object, "class", json_string(class.name));
        json_object_set_new(object, "in", json_string(class.in_outputs ? "output" : "module"));
        json_array_append_new(classes, object);
    }
    for (size_t i = 0; i < report->backend_count; i++) {
        json_t *object = counts_json(&report->backends[i].faults);
        json_object_set_new(object, "backend", json_string(report->backends[i].uri));
        json_object_set_new(object, "clean", clean_json(&report->backends[i].clean));
        json_array_append_new(backends, object);
    }
    json_object_set_new(root, "classes", classes);
    json_object_set_new(root, "backends", backends);
    for (int kind = 0; kind < (int)(sizeof lists / sizeof *lists); kind++) {
        json_t *list = json_array();
        for (size_t i = 0; i < report->finding_count; i++) {
            if ((int)report->findings[i].kind == kind) {
                json_array_append_new(list, finding_json(&report->findings[i]));
            }
        }
        json_object_set_new(root, lists[kind], list);
    }
    return root;
}
