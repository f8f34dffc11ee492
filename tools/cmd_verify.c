/* referee verify: read modules and check them by XLA's rules; --round-trip also prints, writes and
 * reads them back. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/progress.h"

struct verify_options {
    bool round_trip, strict, quiet, help;
    const char *json;
};

static bool fail_step(struct error *err, const char *step)
{
    error_prefix(err, "%s", step);
    return false;
}

/* print → read → equal, and proto → read → equal. */
static bool round_trip(const struct module *module, struct error *err)
{
    struct text text;
    text_init(&text);
    text_print_module(module, &print_canonical, &text);
    struct module *again = text_read_module(text.data, text.size, "printed text", 1, err);
    bool ok = again != NULL || fail_step(err, "reading back what was printed");
    if (again == NULL) {
        error_quote(err, text.data, text.size);
    }
    ok = ok && (module_equal(module, again, err) || fail_step(err, "after print and read"));
    module_destroy(again);
    text_finish(&text);
    if (!ok) {
        return false;
    }
    size_t size;
    void *bytes = proto_write_module(module, PROTO_MODULE_WITH_CONFIG, &size, err);
    if (bytes == NULL) {
        return fail_step(err, "writing a proto");
    }
    again = proto_read_module(bytes, size, "written proto", NULL, NULL, err);
    ok = again != NULL || fail_step(err, "reading back the written proto");
    ok = ok && (module_equal(module, again, err) || fail_step(err, "after proto write and read"));
    module_destroy(again);
    free(bytes);
    return ok;
}

/* Prints an error and adds it to a list of the report. */
static void add_finding(json_t *list, const char *prefix, const struct error *err)
{
    fputs(prefix, stderr);
    print_error(err);
    json_array_append_new(list, json_pack("{s:s, s:i, s:i, s:s}", "file", err->file, "line",
                                          err->line, "column", err->column, "text", err->message));
}

/* What XLA's parser takes but its verifier refuses. */
static void verify(const struct module *module, const struct verify_options *options, json_t *list)
{
    struct findings findings;
    verify_module(module, &findings);
    for (int i = 0; i < findings.count; i++) {
        struct error err = {0};
        error_at(&err, findings.list[i].where, "%s", findings.list[i].text);
        add_finding(list, options->strict ? "" : "warning: ", &err);
    }
    findings_finish(&findings);
}

/* Verifies one part of a file; prints what is found; true when it is accepted. */
static bool verify_part(const struct loaded_module *part, const struct verify_options *options,
                        json_t *report)
{
    json_t *errors = json_array(), *warnings = json_array();
    struct error err = {0};
    if (part->error != NULL) {
        add_finding(errors, "", part->error);
    } else {
        if (part->warnings[0] != '\0') {
            fprintf(stderr, "%s: warning: %s", part->name, part->warnings);
        }
        verify(part->module, options, options->strict ? errors : warnings);
        if (options->round_trip && !round_trip(part->module, &err)) {
            add_finding(errors, "round trip: ", &err);
        }
    }
    bool ok = json_array_size(errors) == 0;
    size_t warned = json_array_size(warnings);
    if (ok && !options->quiet) {
        printf("%s: ok, %d computations, %d instructions%s", part->name, part->module->count,
               module_instruction_count(part->module),
               options->round_trip ? ", round trip ok" : "");
        printf(warned > 0 ? ", %zu warnings\n" : "\n", warned);
    }
    json_array_append_new(report,
                          json_pack("{s:s, s:b, s:o, s:o}", "module", part->name, "accepted", ok,
                                    "findings", errors, "warnings", warnings));
    return ok;
}

int command_verify(int argc, char **argv)
{
    struct verify_options options = {0};
    const struct option table[] = {
        {"round-trip", 'r', OPTION_FLAG, &options.round_trip, NULL,
         "also print and write each module as text and as a proto, read it back and compare"},
        {"strict", 's', OPTION_FLAG, &options.strict, NULL,
         "refuse also what XLA's parser takes and only its verifier refuses (else: warnings)"},
        {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "say nothing of modules that are ok"},
        {"json", 0, OPTION_TEXT, &options.json, "FILE", "write the findings as JSON (- = stdout)"},
        {"help", 'h', OPTION_FLAG, &options.help, NULL, "this text"},
        {0}};
    struct string_list paths = {0}, files = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    if (options.help || paths.count == 0) {
        fprintf(options.help ? stdout : stderr,
                "usage: referee verify MODULE… [--round-trip]\n\n"
                "Reads modules (HLO text, HloModuleProto, HloProto, HloSnapshot, StableHLO; told "
                "by content; "
                "files of\nseveral modules split at \"// -----\" lines; folders) and checks them "
                "by XLA's rules. All\nfindings are listed with file, line and column.\n\n");
        if (options.help) {
            options_help(table);
        }
        return options.help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    }
    if (!expand_paths(&paths, &files)) {
        return EXIT_USAGE;
    }
    json_t *report = json_array();
    struct progress progress;
    progress_start(&progress, files.count);
    size_t good = 0, bad = 0;
    for (size_t i = 0; i < files.count; i++) {
        struct loaded_file file;
        struct error err = {0};
        progress_clear(&progress);
        if (!module_load(files.items[i], &file, &err)) {
            print_error(&err);
            bad++;
            json_array_append_new(report, json_pack("{s:s, s:[{s:s}]}", "module", files.items[i],
                                                    "findings", "text", err.message));
        } else {
            for (int k = 0; k < file.count; k++) {
                if (verify_part(&file.modules[k], &options, report)) {
                    good++;
                } else {
                    bad++;
                }
            }
            loaded_file_finish(&file);
        }
        progress_step(&progress, files.items[i]);
    }
    progress_clear(&progress);
    if (files.count > 1 || good + bad > 1) {
        printf("%zu modules ok, %zu with findings\n", good, bad);
    }
    int status = bad > 0 ? EXIT_FINDINGS : EXIT_AS_EXPECTED;
    if (options.json != NULL && !write_json(options.json, report)) {
        status = EXIT_INFRASTRUCTURE;
    }
    json_decref(report);
    free_paths(&files);
    string_list_finish(&paths);
    return status;
}
