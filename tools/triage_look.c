/* The first stage: one item after the other is run, and what fails looked into. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "corpus/case.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/map.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "interp/interp.h"
#include "tools/arguments.h"
#include "tools/shrink_script.h"
#include "tools/triage_internal.h"

/* Parts with longer texts are files of their own. */
enum { PART_LONGEST = 32 << 10 };

/* One module on one backend. */
struct look {
    struct triage_state *state;
    struct triage_team *team;
    const struct triage_item *item;
    const struct loaded_module *part;
    const char *backend;
    struct differential_options differential;
    uint64_t content; /* hash of the file */
};

/* --- identity --- */

/* Of everything that the record depends on, 16 hexadecimal digits. */
static void make_id(const struct look *look, char id[17])
{
    const struct triage_settings *settings = look->state->settings;
    uint64_t hash = hash_string(look->part->name, look->content);
    hash = hash_string(look->backend, hash);
    hash = hash_u64(look->differential.inputs.seed, hash);
    hash = hash_u64((uint64_t)look->differential.tolerance, hash);
    hash = hash_u64((uint64_t)settings->samples, hash);
    hash = hash_u64((uint64_t)(settings->failing.timeout * 1000), hash);
    hash = hash_string(settings->failing.profile != NULL ? settings->failing.profile : "", hash);
    for (size_t i = 0; i < settings->failing.flags.count; i++) {
        hash = hash_string(settings->failing.flags.items[i], hash);
    }
    for (size_t i = 0; i < look->item->inputs.count; i++) {
        hash = hash_string(look->item->inputs.items[i], hash);
    }
    snprintf(id, 17, "%016llx", (unsigned long long)hash);
}

/* --- records --- */

static json_t *make_record(const struct look *look, const char *id)
{
    json_t *record = json_object();
    json_set_text(record, "id", id);
    json_set_text(record, "module", look->part->name);
    json_set_text(record, "file", look->item->path);
    json_set_text(record, "backend", look->backend);
    json_object_set_new(record, "seed", json_integer((json_int_t)look->differential.inputs.seed));
    struct text command;
    text_init(&command);
    text_printf(&command, "referee run %s --backend '%s' --seed %llu", look->item->path,
                look->backend, (unsigned long long)look->differential.inputs.seed);
    if (look->differential.tolerance != TOLERANCE_DEFAULT) {
        text_printf(&command, " --tolerance %s", tolerance_kind_text(look->differential.tolerance));
    }
    for (size_t i = 0; i < look->item->inputs.count; i++) {
        text_printf(&command, " %s'%s'", i == 0 ? "--inputs " : "", look->item->inputs.items[i]);
    }
    json_set_text(record, "command", command.data);
    text_finish(&command);
    return record;
}

static void set_judgement(json_t *record, const struct triage_judgement *judgement)
{
    json_set_text(record, "verdict", triage_verdict_name(judgement->verdict));
    json_set_text(record, "confidence", triage_confidence_text(judgement->confidence));
    json_set_text(record, "reason", judgement->reason);
    json_object_set_new(record, "evidence", json_lines(judgement->evidence.data));
    double amplification = judgement->amplification;
    if (amplification > 0 && amplification < 1e300) {
        json_object_set_new(record, "amplification", json_real(amplification));
    }
}

/* A file that cannot be written leaves the record without a part: nothing can be shrunk then. */
static void set_part(const struct look *look, json_t *record, const struct specimen *part)
{
    struct text text;
    struct error ignored = {0};
    struct specimen_size size = specimen_size(part);
    const char *output = look->state->settings->output;
    text_init(&text);
    specimen_print(part, "", &text);
    bool has_part = text.size <= PART_LONGEST;
    if (has_part) {
        json_set_text(record, "part", text.data);
    } else if (output != NULL) {
        char *path = triage_part_path(look->state, json_get_text(record, "id"));
        has_part = (mkdir(output, 0777) == 0 || errno == EEXIST) &&
                   file_write(path, text.data, text.size, &ignored);
        free(path);
    }
    json_object_set_new(record, "has_part", json_boolean(has_part));
    json_object_set_new(record, "instructions", json_integer(size.instructions));
    json_object_set_new(record, "elements", json_integer(size.elements));
    text_finish(&text);
}

static void fill_record(const struct look *look, json_t *record,
                        const struct triage_finding *finding)
{
    const char *outcome = outcome_text(finding->signature.outcome);
    json_set_text(record, "outcome", outcome);
    json_set_text(record, "kind", finding->signature.kind);
    json_set_text(record, "message", finding->message);
    json_set_text(record, "picture", finding->picture);
    json_set_text(record, "allowed", finding->allowed);
    json_set_text(record, "place", finding->place);
    json_set_text(record, "opcode", finding->opcode);
    json_set_text(record, "type", finding->type);
    json_object_set_new(record, "isolated", json_boolean(finding->isolated));
    json_set_text(record, "form", finding->form);
    json_set_text(record, "key", finding->key);
    json_object_set_new(record, "runs", json_integer(finding->runs));
    set_judgement(record, &finding->judgement);
    if (finding->part.module != NULL) {
        set_part(look, record, &finding->part);
    }
}

/* What cannot be read, or does not verify: ours or the file's. */
static json_t *refuse(const struct look *look, const char *id, const struct error *err)
{
    json_t *record = make_record(look, id);
    struct text text;
    text_init(&text);
    error_print(err, &text);
    json_set_text(record, "outcome", "UNREADABLE");
    json_set_text(record, "message", text.data);
    json_set_text(record, "verdict", triage_verdict_name(TRIAGE_OURS));
    bool missing = err->code == ERROR_UNIMPLEMENTED;
    json_set_text(record, "confidence",
                  triage_confidence_text(missing ? TRIAGE_STRONG : TRIAGE_WEAK));
    json_set_text(record, "reason",
                  missing ? "not supported by our readers"
                          : "suspected: our reader or verifier refuses it; if XLA's takes it, ours "
                            "is wrong");
    text_clear(&text);
    /* Its first line without names and numbers, as for what a backend says. */
    struct differential_result said = {.outcome = OUTCOME_COMPILE_ERROR,
                                       .message = (char *)(uintptr_t)err->message};
    struct failure_signature signature;
    failure_signature_of(&said, &signature);
    text_printf(&text, "ours: UNREADABLE %s", signature.kind);
    json_set_text(record, "key", text.data);
    json_object_set_new(record, "evidence", json_lines(err->message));
    failure_signature_finish(&signature);
    text_finish(&text);
    return record;
}

/* --- what the file itself expects --- */

static void set_reason(struct triage_judgement *judgement, enum triage_confidence confidence,
                       const char *reason)
{
    judgement->confidence = confidence;
    free(judgement->reason);
    judgement->reason = memory_strdup(reason);
}

/* Does the backend give what the file expects? */
static bool backend_as_expected(const struct look *look, struct backend *backend,
                                const struct case_header *header)
{
    struct run_result result = {0};
    struct text picture;
    text_init(&picture);
    backend_run(backend, look->part->module, header->arguments, header->argument_count, 1, 1,
                &result);
    bool same =
        result.outcome == OUTCOME_PASS && case_header_check(header, result.outputs[0], &picture);
    text_finish(&picture);
    run_result_finish(&result);
    return same;
}

/* A third opinion. Where golden and backend agree against it, they are not who is wrong. */
static void expect(const struct look *look, struct backend *backend,
                   const struct case_header *header, struct triage_finding *finding)
{
    const struct module *module = look->part->module;
    bool one_device = module->config.replica_count * module->config.partition_count <= 1;
    if (header->expected_count == 0 || !one_device ||
        header->argument_count != module->entry->parameter_count) {
        return;
    }
    struct error ignored = {0};
    struct text picture;
    text_init(&picture);
    struct literal *golden =
        interp_evaluate(module, header->arguments, header->argument_count, NULL, &ignored);
    struct triage_judgement *judgement = &finding->judgement;
    bool same = golden == NULL || case_header_check(header, golden, &picture);
    if (!same && finding->key[0] == '\0') {
        free(finding->allowed);
        finding->allowed = memory_strdup("like the golden, unlike the file's //@ expect lines");
    } else if (!same) {
        bool against_us = backend_as_expected(look, backend, header);
        judgement->verdict = TRIAGE_OURS;
        set_reason(judgement, against_us ? TRIAGE_STRONG : TRIAGE_WEAK,
                   against_us ? "the backend gives what the file's //@ expect lines say, the "
                                "golden does not"
                              : "suspected: the golden differs from the file's //@ expect lines, "
                                "and so does the backend");
        text_append(&judgement->evidence, picture.data);
        free(finding->key);
        char *name = triage_backend_text(look->backend);
        finding->key = triage_key(name, TRIAGE_OURS, &finding->signature, finding->form);
        free(name);
    } else if (golden != NULL && finding->signature.outcome == OUTCOME_MISMATCH) {
        text_append(&judgement->evidence, "the file's //@ expect lines agree with the golden\n");
        judgement->confidence += judgement->confidence < TRIAGE_STRONG;
    }
    literal_release(golden);
    text_finish(&picture);
}

/* --- one module --- */

/* Arguments that are given; those of a seed are drawn by the run. False: the record is *refused. */
static bool make_specimen(const struct look *look, struct case_header *header,
                          struct specimen *specimen, struct error *err)
{
    struct arguments arguments = {0};
    if (!case_header_read(look->part->header, look->part->name, header, err)) {
        return false;
    }
    const struct string_list *inputs =
        look->item->inputs.count > 0 ? &look->item->inputs : &look->state->settings->failing.inputs;
    bool ok =
        arguments_find(look->part, header, inputs, (int)look->item->iteration, &arguments, err);
    *specimen = (struct specimen){.module = look->part->module};
    if (ok && arguments.count > 0) {
        specimen->argument_count = arguments.count;
        specimen->arguments =
            memory_zalloc(((size_t)arguments.count + 1) * sizeof *specimen->arguments);
        for (int i = 0; i < arguments.count; i++) {
            specimen->arguments[i] = literal_retain(arguments.literals[i]);
        }
    }
    arguments_finish(&arguments);
    return ok;
}

/* NULL: stopped, or with *err the backend cannot be opened. */
static json_t *look_at_module(const struct look *look, const char *id, struct error *err)
{
    struct case_header header = {0};
    struct specimen specimen = {0};
    struct error problem = {0};
    struct findings findings = {0};
    json_t *record = NULL;
    if (look->part->error != NULL) {
        return refuse(look, id, look->part->error);
    }
    if (!verify_module(look->part->module, &findings)) {
        error_at(&problem, findings.list[0].where, "%s", findings.list[0].text);
    }
    findings_finish(&findings);
    if (problem.code == ERROR_NONE) {
        make_specimen(look, &header, &specimen, &problem);
    }
    if (problem.code != ERROR_NONE) {
        record = refuse(look, id, &problem);
    } else {
        double timeout =
            look->item->timeout > 0 ? look->item->timeout : look->state->settings->failing.timeout;
        struct backend *backend =
            team_backend(look->state, look->team, look->backend, timeout, err);
        if (backend != NULL) {
            char *name = triage_backend_text(look->backend);
            struct triage_options options =
                triage_options_of(look->state, name, backend, look->team->reference);
            struct triage_finding finding;
            options.differential = look->differential;
            options.timeout = timeout;
            options.hurried =
                team_backend(look->state, look->team, look->backend, triage_hurried(timeout), err);
            if (triage_find(&specimen, &options, &finding, &problem)) {
                record = make_record(look, id);
                expect(look, backend, &header, &finding);
                fill_record(look, record, &finding);
                triage_finding_finish(&finding);
            }
            free(name);
        }
    }
    specimen.module = NULL; /* belongs to the file */
    specimen_finish(&specimen);
    case_header_finish(&header);
    return record;
}

/* The same from the journal, or anew and into the journal. */
static bool add_record(const struct look *look, json_t *records, struct error *err)
{
    char id[17];
    make_id(look, id);
    json_t *past = json_object_get(look->state->past, id);
    if (past != NULL) {
        json_array_append(records, past);
        return true;
    }
    double start = clock_seconds();
    json_t *record = look_at_module(look, id, err);
    if (record == NULL) {
        return false;
    }
    json_object_set_new(record, "seconds", json_real(clock_seconds() - start));
    triage_keep(look->state, record);
    json_array_append_new(records, record);
    return true;
}

static bool is_wanted(const struct triage_item *item, const struct loaded_module *part)
{
    size_t size = strlen(item->path);
    const char *own = strlen(part->name) > size ? part->name + size : "";
    return item->part == NULL || strcmp(item->part, own) == 0;
}

static bool look_at_part(struct look *look, json_t *records, struct error *err)
{
    const struct triage_settings *settings = look->state->settings;
    const struct triage_item *item = look->item;
    look->differential = settings->failing.differential;
    if (item->backend != NULL) { /* of a report */
        look->differential.inputs.seed = (uint64_t)item->seed;
        if (item->tolerance != NULL && settings->failing.tolerance == NULL) {
            tolerance_kind_find(item->tolerance, &look->differential.tolerance);
        }
        look->backend = item->backend;
        return add_record(look, records, err);
    }
    bool ok = true;
    for (size_t i = 0; ok && i < settings->backends.count; i++) {
        look->backend = settings->backends.items[i];
        ok = add_record(look, records, err);
    }
    return ok;
}

json_t *triage_look_into(struct triage_state *state, struct triage_team *team,
                         const struct triage_item *item, struct error *err)
{
    struct loaded_file file = {0};
    struct error problem = {0};
    struct look look = {.state = state, .team = team, .item = item};
    json_t *records = json_array();
    size_t size = 0;
    char *data = file_read(item->path, &size, &problem);
    bool ok = true;
    if (data == NULL || !module_load_memory(item->path, data, size, &file, &problem)) {
        struct loaded_module none = {
            .error = &problem, .name = item->path, .header = (char *)(uintptr_t) ""};
        look.part = &none;
        ok = look_at_part(&look, records, err);
    } else {
        look.content = hash_bytes(data, size, 0);
        for (int i = 0; ok && i < file.count; i++) {
            look.part = &file.modules[i];
            ok = !is_wanted(item, look.part) || look_at_part(&look, records, err);
        }
    }
    loaded_file_finish(&file);
    free(data);
    if (!ok) {
        json_decref(records);
        return NULL;
    }
    return records;
}

char *triage_part_path(const struct triage_state *state, const char *id)
{
    struct text path;
    text_init(&path);
    text_printf(&path, "%s/part-%s.hlo", state->settings->output, id);
    char *taken = text_take(&path);
    text_finish(&path);
    return taken;
}

bool triage_part_of(const struct triage_state *state, const json_t *record,
                    struct specimen *specimen, struct error *err)
{
    const char *text = json_get_text(record, "part");
    if (text[0] != '\0') {
        return triage_read_part(text, specimen, err);
    }
    *specimen = (struct specimen){0};
    if (!json_is_true(json_object_get(record, "has_part")) || state->settings->output == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "it has no part");
    }
    size_t size;
    char *path = triage_part_path(state, json_get_text(record, "id"));
    char *data = file_read(path, &size, err);
    bool ok = data != NULL && triage_read_part(data, specimen, err);
    free(data);
    free(path);
    return ok;
}

bool triage_read_part(const char *text, struct specimen *specimen, struct error *err)
{
    struct loaded_file file = {0};
    struct case_header header = {0};
    *specimen = (struct specimen){0};
    bool ok = module_load_memory("part", text, strlen(text), &file, err) && file.count == 1;
    ok = ok && (file.modules[0].error == NULL ||
                error_set(err, ERROR_INTERNAL, "%s", file.modules[0].error->message));
    ok = ok && case_header_read(file.modules[0].header, "part", &header, err);
    if (ok) {
        struct specimen borrowed = {.module = file.modules[0].module,
                                    .argument_count = header.argument_count,
                                    .arguments = header.arguments};
        ok = specimen_copy(&borrowed, specimen, err);
    }
    case_header_finish(&header);
    loaded_file_finish(&file);
    return ok;
}
