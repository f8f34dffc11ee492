/* referee gate: the cases of suites against what is expected of each backend. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "corpus/case.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/progress.h"

struct gate {
    const struct string_list *backends; /* instead of the manifest's, if any */
    bool verbose;
    char today[16];
    struct backend *reference;
    struct progress progress;
    json_t *report;
    size_t as_expected, unexpected;
};

static void say(struct gate *gate, bool good, const char *line, const char *details)
{
    if (good && !gate->verbose) {
        return;
    }
    progress_clear(&gate->progress);
    printf("%s\n%s", line, details);
    fflush(stdout);
}

/* What a run's outcome means under the case's expectation. */
static bool as_expected(struct gate *gate, const struct test_case *test, const char *backend,
                        enum outcome outcome, struct text *line)
{
    const struct expectation *expectation = case_expectation(test, backend);
    enum outcome wanted = expectation != NULL ? expectation->outcome : OUTCOME_PASS;
    if (outcome != wanted) {
        text_printf(line, "  expected %s%s%s", outcome_text(wanted),
                    expectation != NULL ? ": " : "",
                    expectation != NULL ? expectation->reason : "");
        return false;
    }
    if (expectation != NULL && expectation_expired(expectation, gate->today)) {
        text_printf(line, "  as expected, but the expectation ended on %s", expectation->until);
        return false;
    }
    if (expectation != NULL) {
        text_printf(line, "  as expected: %s", expectation->reason);
    }
    return true;
}

static void judge(struct gate *gate, const struct manifest *manifest, const struct test_case *test,
                  const char *backend, int64_t seed, const struct differential_result *result,
                  const struct case_header *header)
{
    struct text line, details;
    text_init(&line);
    text_init(&details);
    text_printf(&line, "%-13s %s/%s  %s seed %lld", outcome_text(result->outcome), manifest->suite,
                test->name, backend, (long long)seed);
    bool good = as_expected(gate, test, backend, result->outcome, &line);
    if (header->expected_count > 0 && result->reference.outcome == OUTCOME_PASS &&
        !case_header_check_devices(header, result->reference.outputs, result->device_count,
                                   &details)) {
        text_append(&line, "  the golden differs from the //@ expect lines");
        good = false;
    }
    if (!good) {
        text_printf(&details, "%s\n%s%s", result->message, result->picture, result->notes);
    }
    gate->as_expected += good;
    gate->unexpected += !good;
    json_array_append_new(gate->report,
                          json_pack("{s:s, s:s, s:s, s:I, s:s, s:b, s:s, s:s}", "suite",
                                    manifest->suite, "case", test->name, "backend", backend, "seed",
                                    (json_int_t)seed, "outcome", outcome_text(result->outcome),
                                    "as_expected", good, "message", result->message, "picture",
                                    result->picture));
    say(gate, good, line.data, details.data);
    text_finish(&line);
    text_finish(&details);
}

static void refuse(struct gate *gate, const struct manifest *manifest, const struct test_case *test,
                   const struct error *err)
{
    struct text line, details;
    text_init(&line);
    text_init(&details);
    text_printf(&line, "%-13s %s/%s", "UNREADABLE", manifest->suite, test->name);
    error_print(err, &details);
    gate->unexpected++;
    json_array_append_new(gate->report,
                          json_pack("{s:s, s:s, s:s, s:b, s:s}", "suite", manifest->suite, "case",
                                    test->name, "outcome", "UNREADABLE", "as_expected", false,
                                    "message", err->message));
    say(gate, false, line.data, details.data);
    text_finish(&line);
    text_finish(&details);
}

static void run_case(struct gate *gate, const struct manifest *manifest,
                     const struct test_case *test, struct backend *backend)
{
    struct loaded_file file;
    struct error err = {0};
    if (!module_load(test->file, &file, &err)) {
        refuse(gate, manifest, test, &err);
        return;
    }
    const struct loaded_module *part = &file.modules[0];
    struct case_header header = {0};
    struct arguments arguments = {0};
    struct findings findings = {0};
    const struct string_list none = {0};
    if (file.count != 1) {
        error_set(&err, ERROR_INVALID_ARGUMENT, "a case holds one module, %s holds %d", test->file,
                  file.count);
    } else if (part->error != NULL) {
        err = *part->error;
    } else if (!verify_module(part->module, &findings)) {
        error_at(&err, findings.list[0].where, "%s", findings.list[0].text);
    } else if (case_header_read(part->header, part->name, &header, &err)) {
        arguments_find(part, &header, &none, 0, &arguments, &err);
    }
    if (err.code != ERROR_NONE) {
        refuse(gate, manifest, test, &err);
    }
    for (int i = 0; err.code == ERROR_NONE && i < test->seed_count; i++) {
        struct differential_options options = {
            .inputs = {.seed = (uint64_t)test->seeds[i]},
            .arguments = arguments.count > 0 ? arguments.literals : NULL,
            .argument_count = arguments.count,
            .tolerance = test->tolerance,
            .abs_error_bound = 1e-3,
            .rel_error_bound = 1e-3,
        };
        struct differential_result result;
        differential_run(part->module, backend, gate->reference, &options, &result);
        judge(gate, manifest, test, backend_uri(backend), test->seeds[i], &result, &header);
        differential_result_finish(&result);
    }
    findings_finish(&findings);
    arguments_finish(&arguments);
    case_header_finish(&header);
    loaded_file_finish(&file);
}

static bool run_manifest(struct gate *gate, const struct manifest *manifest, struct error *err)
{
    bool given = gate->backends->count > 0;
    size_t count = given ? gate->backends->count : (size_t)manifest->backend_count;
    progress_start(&gate->progress, count * (size_t)manifest->case_count);
    for (size_t b = 0; b < count; b++) {
        const char *uri = given ? gate->backends->items[b] : manifest->backends[b];
        struct backend *backend = backend_open(uri, NULL, err);
        if (backend == NULL) {
            return false;
        }
        for (int i = 0; i < manifest->case_count; i++) {
            run_case(gate, manifest, &manifest->cases[i], backend);
            progress_step(&gate->progress, manifest->cases[i].name);
        }
        backend_close(backend);
    }
    progress_clear(&gate->progress);
    return true;
}

static int run_manifests(struct gate *gate, const struct string_list *paths, const char *json)
{
    int status = EXIT_AS_EXPECTED;
    for (size_t i = 0; i < paths->count; i++) {
        struct manifest manifest;
        struct error err = {0};
        if (!manifest_load(paths->items[i], &manifest, &err)) {
            print_error(&err);
            return EXIT_USAGE;
        }
        if (!run_manifest(gate, &manifest, &err)) {
            print_error(&err);
            status = EXIT_INFRASTRUCTURE;
        }
        manifest_finish(&manifest);
    }
    printf("%zu runs as expected, %zu not\n", gate->as_expected, gate->unexpected);
    if (json != NULL && !write_json(json, gate->report)) {
        status = EXIT_INFRASTRUCTURE;
    }
    return status != EXIT_AS_EXPECTED ? status
           : gate->unexpected > 0     ? EXIT_FINDINGS
                                      : EXIT_AS_EXPECTED;
}

int command_gate(int argc, char **argv)
{
    struct string_list backends = {0}, paths = {0};
    const char *json = NULL;
    bool help = false;
    struct gate gate = {.backends = &backends};
    const struct option table[] = {
        {"backend", 'b', OPTION_LIST, &backends, "URI",
         "run on this backend instead of the manifest's; may be given several times"},
        {"json", 0, OPTION_TEXT, &json, "FILE", "write a report as JSON (- = stdout)"},
        {"verbose", 'v', OPTION_FLAG, &gate.verbose, NULL, "also what is as expected"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    if (help || paths.count == 0) {
        fprintf(help ? stdout : stderr,
                "usage: referee gate MANIFEST… [--backend URI]…\n\n"
                "Runs every case of the manifests (YAML; corpus/manifest.h tells the keys) on the "
                "backends\nand holds the outcomes against the expectations. An expected failure "
                "that passes, and an\nexpectation whose date is over, fail the gate.\n\n");
        if (help) {
            options_help(table);
        }
        return help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    }
    struct error err = {0};
    time_t now = time(NULL);
    struct tm date;
    strftime(gate.today, sizeof gate.today, "%Y-%m-%d", gmtime_r(&now, &date));
    gate.reference = backend_open("interp:", NULL, &err);
    if (gate.reference == NULL) {
        print_error(&err);
        return EXIT_INFRASTRUCTURE;
    }
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    gate.report = json_array();
    int status = run_manifests(&gate, &paths, json);
    json_decref(gate.report);
    backend_close(gate.reference);
    string_list_finish(&paths);
    string_list_finish(&backends);
    return status;
}
