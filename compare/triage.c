/* One failure: where it is, what is left of it, what kind it is. */
#include "compare/triage.h"

#include <stdlib.h>
#include <string.h>

#include "compare/canonical.h"
#include "compare/golden_values.h"
#include "compare/licence.h"
#include "compare/open_choices.h"
#include "compare/triage_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"

/* Instructions above the first wrong one that are tried, and with how much of them left out. */
enum { CONTEXT_DEEPEST = 6, CONTEXT_LARGEST = 40 };

static const struct {
    const char *text, *name;
} verdicts[TRIAGE_VERDICTS] = {
    [TRIAGE_PASS] = {"passes", "pass"},
    [TRIAGE_BACKEND] = {"backend's bug", "backend"},
    [TRIAGE_ILL_CONDITIONED] = {"ill-conditioned", "ill-conditioned"},
    [TRIAGE_OPEN] = {"open semantics", "open"},
    [TRIAGE_PERMITTED] = {"permitted", "permitted"},
    [TRIAGE_OURS] = {"ours", "ours"},
};

const char *triage_verdict_text(enum triage_verdict verdict)
{
    return verdicts[verdict].text;
}

const char *triage_verdict_name(enum triage_verdict verdict)
{
    return verdicts[verdict].name;
}

const char *triage_confidence_text(enum triage_confidence confidence)
{
    static const char *const texts[] = {"weak", "likely", "strong"};
    return texts[confidence];
}

void triage_judgement_finish(struct triage_judgement *judgement)
{
    free(judgement->reason);
    text_finish(&judgement->evidence);
    *judgement = (struct triage_judgement){0};
}

const char *triage_backend_name(const struct triage_options *options)
{
    return options->backend_name != NULL ? options->backend_name : backend_uri(options->backend);
}

char *triage_key(const char *backend, enum triage_verdict verdict,
                 const struct failure_signature *signature, const char *form)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "%s ", backend);
    if (verdict != TRIAGE_BACKEND) {
        text_printf(&text, "%s: ", triage_verdict_name(verdict));
    }
    /* What a mismatch that is nobody's fault looks like is an accident. */
    bool accident = signature->outcome == OUTCOME_MISMATCH && verdict != TRIAGE_BACKEND &&
                    verdict != TRIAGE_OURS;
    if (accident || signature->outcome == OUTCOME_INCONCLUSIVE) {
        text_append(&text, outcome_text(signature->outcome));
    } else {
        failure_signature_print(signature, &text);
    }
    if (form[0] != '\0') {
        text_printf(&text, ": %s", form);
    }
    char *key = text_take(&text);
    text_finish(&text);
    return key;
}

/* --- running --- */

void triage_run(const struct triage_options *options, const struct specimen *specimen,
                struct differential_result *result)
{
    struct differential_options differential = options->differential;
    differential.arguments = specimen->arguments;
    differential.argument_count = specimen_argument_total(specimen);
    differential_run(specimen->module, options->backend, options->reference, &differential, result);
}

static bool part_fails(const struct triage_options *options, struct triage_finding *finding,
                       const struct specimen *part)
{
    struct differential_result result;
    struct failure_signature signature;
    finding->runs++;
    triage_run(options, part, &result);
    failure_signature_of(&result, &signature);
    bool same = failure_signature_alike(&signature, &finding->signature);
    if (same) {
        failure_signature_finish(&finding->part_signature);
        finding->part_signature = signature;
    } else {
        failure_signature_finish(&signature);
    }
    differential_result_finish(&result);
    return same;
}

/* Takes the part (true) if it fails; frees it otherwise. */
static bool take_if_fails(const struct triage_options *options, struct triage_finding *finding,
                          struct specimen *part)
{
    struct specimen own;
    struct error ignored = {0};
    /* What comes of it reads back as it is written. */
    bool ok = specimen_copy(part, &own, &ignored);
    specimen_finish(part);
    if (!ok) {
        return false;
    }
    if (!part_fails(options, finding, &own)) {
        specimen_finish(&own);
        return false;
    }
    specimen_finish(&finding->part);
    finding->part = own;
    return true;
}

/* --- what is needed of it --- */

/* How far up the first wrong instruction's operands the failure reaches. */
static void find_context(const struct triage_options *options, struct triage_finding *finding)
{
    struct golden_values values;
    struct error ignored = {0};
    bool found = false;
    golden_values_find(&finding->part, &values);
    for (int depth = 1; !found && depth <= CONTEXT_DEEPEST; depth++) {
        struct specimen part;
        if (!specimen_context(&finding->part, depth, golden_value_of, &values, &part, &ignored)) {
            continue;
        }
        bool smaller =
            module_instruction_count(part.module) < module_instruction_count(finding->part.module);
        if (!smaller) { /* nothing is further away */
            specimen_finish(&part);
            break;
        }
        found = take_if_fails(options, finding, &part);
    }
    golden_values_finish(&values);
}

/* Takes each instruction that is not needed for a parameter, and what can be left out together
 * first. */
static void prune_context(const struct triage_options *options, struct triage_finding *finding)
{
    const struct simplification *parameters = NULL;
    for (int i = 0; i < simplification_count; i++) {
        if (strcmp(simplifications[i].name, "parameters") == 0) {
            parameters = &simplifications[i];
        }
    }
    for (int at = 0; parameters != NULL && at < CONTEXT_LARGEST;) {
        struct shrink_places places = {0};
        struct golden_values values;
        struct specimen candidate;
        struct error ignored = {0};
        parameters->find(&finding->part, &places);
        bool more = at < places.count;
        golden_values_find(&finding->part, &values);
        bool taken = more &&
                     shrink_candidate(parameters, &finding->part, &places.list[at], 1,
                                      golden_value_of, &values, &candidate, &ignored) &&
                     take_if_fails(options, finding, &candidate);
        golden_values_finish(&values);
        shrink_places_finish(&places);
        if (!more) {
            break;
        }
        at += taken ? 0 : 1;
    }
}

static void lift_constants(const struct triage_options *options, struct triage_finding *finding)
{
    const struct computation *entry = finding->part.module->entry;
    bool any = false;
    for (int i = 0; i < entry->count; i++) {
        any |=
            entry->instructions[i]->opcode == OP_CONSTANT && entry->instructions[i] != entry->root;
    }
    struct specimen part;
    struct error ignored = {0};
    if (any && specimen_lift_constants(&finding->part, &part, &ignored)) {
        take_if_fails(options, finding, &part);
    }
}

static void print_place(const struct bisect_result *result, struct text *out)
{
    for (int i = 0; i < result->level_count; i++) {
        const struct bisect_level *level = &result->levels[i];
        text_append(out, i > 0 ? " → " : "");
        if (level->iteration >= 0) {
            text_printf(out, "iteration %lld: ", (long long)level->iteration);
        }
        text_printf(out, "%s (%s)", level->instruction, level->opcode);
    }
}

static const char *element_type(const struct shape *shape)
{
    while (shape_is_tuple(shape) && shape->count > 0) {
        shape = shape->elements[0];
    }
    return type_text(shape->type);
}

static void set_form(struct triage_finding *finding)
{
    struct text text;
    text_init(&text);
    canonical_print(finding->part.module, &text);
    free(finding->form);
    finding->form = text_take(&text);
    text_finish(&text);
}

/* What nobody uses is in no cut: each such end of the program alone. */
static bool find_unused(const struct specimen *specimen, const struct triage_options *options,
                        struct triage_finding *finding)
{
    const struct computation *entry = specimen->module->entry;
    struct users users;
    bool found = false;
    int tried = 0;
    users_build(entry, &users);
    for (int i = 0; i < entry->count && !found && tried < CONTEXT_LARGEST; i++) {
        const struct instruction *end = entry->instructions[i];
        struct specimen part;
        struct error ignored = {0};
        bool unused = users.first[i + 1] == users.first[i] && end != entry->root &&
                      end->opcode != OP_PARAMETER && shape_is_array(end->shape);
        if (unused && specimen_cut(specimen, end, &part, &ignored)) {
            tried++;
            found = take_if_fails(options, finding, &part);
        }
        if (found) {
            struct text text;
            text_init(&text);
            text_printf(&text, "%s (%s), which nobody uses", end->name, opcode_text(end->opcode));
            free(finding->place);
            finding->place = text_take(&text);
            text_finish(&text);
            finding->opcode = opcode_text(end->opcode);
            finding->isolated = false;
        }
    }
    users_finish(&users);
    return found;
}

/* Bisects, and cuts what is left down to what it needs. */
static void find_part(const struct specimen *specimen, const struct triage_options *options,
                      struct triage_finding *finding)
{
    struct bisect_options bisect = {.backend = options->backend,
                                    .reference = options->reference,
                                    .differential = options->differential,
                                    .known_to_fail = true,
                                    .on_progress = options->on_progress,
                                    .stopped = options->stopped,
                                    .context = options->context};
    struct bisect_result result;
    struct error ignored = {0};
    if (!bisect_run(specimen, &bisect, &result, &ignored)) {
        return;
    }
    finding->runs += result.runs;
    bool found = false;
    if (result.level_count > 0 && result.part.module != NULL) {
        const struct bisect_level *last = &result.levels[result.level_count - 1];
        struct text text;
        text_init(&text);
        print_place(&result, &text);
        free(finding->place);
        finding->place = text_take(&text);
        text_finish(&text);
        finding->opcode = last->opcode;
        finding->isolated = last->isolated;
        finding->part = result.part;
        result.part = (struct specimen){0};
        found = part_fails(options, finding, &finding->part);
        if (!found) {
            specimen_finish(&finding->part);
        }
    }
    found = found || find_unused(specimen, options, finding);
    if (found) {
        if (!finding->isolated) {
            find_context(options, finding);
            prune_context(options, finding);
        }
        lift_constants(options, finding);
        finding->type = element_type(finding->part.module->entry->root->shape);
        set_form(finding);
    }
    bisect_result_finish(&result);
}

/* Where no cut of it fails (what nobody uses does): the whole, for the shrinker. */
static void keep_whole(const struct specimen *specimen, struct triage_finding *finding)
{
    struct error ignored = {0};
    if (finding->part.module == NULL && specimen_copy(specimen, &finding->part, &ignored)) {
        finding->part_signature.outcome = finding->signature.outcome;
        free(finding->part_signature.kind);
        finding->part_signature.kind = memory_strdup(finding->signature.kind);
        finding->type = element_type(specimen->module->entry->root->shape);
    }
}

bool triage_take_alone(const struct specimen *specimen, const struct triage_options *options,
                       const struct instruction *instruction, struct triage_finding *finding)
{
    struct golden_values values;
    struct specimen part = {0}, own = {0};
    struct error ignored = {0};
    golden_values_find(specimen, &values);
    struct differential_result result = {0};
    bool wrong = false;
    if (specimen_alone(specimen, instruction, (struct literal *const *const *)values.lists, &part,
                       &ignored) &&
        specimen_copy(&part, &own, &ignored)) {
        finding->runs++;
        triage_run(options, &own, &result);
        wrong = result.outcome == OUTCOME_MISMATCH;
    }
    if (wrong) {
        struct text place;
        text_init(&place);
        text_printf(&place, "%s (%s)", instruction->name, opcode_text(instruction->opcode));
        free(finding->place);
        finding->place = text_take(&place);
        text_finish(&place);
        failure_signature_finish(&finding->part_signature);
        failure_signature_of(&result, &finding->part_signature);
        finding->part = own;
        own = (struct specimen){0};
        finding->opcode = opcode_text(instruction->opcode);
        finding->type = element_type(instruction->shape);
        finding->isolated = true;
        set_form(finding);
    }
    differential_result_finish(&result);
    specimen_finish(&own);
    specimen_finish(&part);
    golden_values_finish(&values);
    return wrong;
}

/* --- what passes --- */

static void set_allowed(const struct specimen *specimen, const struct differential_result *result,
                        struct triage_finding *finding)
{
    struct text text;
    struct error ignored = {0};
    text_init(&text);
    for (int i = 0; i < licence_count; i++) {
        struct text words;
        text_init(&words);
        text_printf(&words, "under %s\n", licences[i].name);
        if (strstr(result->notes, words.data) != NULL) {
            text_printf(&text, "%s%s", text.size == 0 ? "licence " : ", ", licences[i].name);
        }
        text_finish(&words);
    }
    if (text.size == 0 && strstr(result->notes, "within the golden's own spread") != NULL) {
        text_append(&text, "within the golden's own spread");
    }
    bool off = false;
    for (int i = 0; i < result->comparison.leaf_count; i++) {
        off |= result->comparison.leaves[i].largest_abs > 0;
    }
    if (text.size == 0 && off) {
        text_append(&text, "within the tolerance");
    }
    struct open_choices choices;
    if (result->outcome == OUTCOME_PASS && result->comparison.unspecified > 0 &&
        open_choices_find(specimen->module, result, &choices, &ignored)) {
        if (choices.open_differing > 0) {
            text_clear(&text);
            text_printf(&text, "open: %s", choices.kind[0] != '\0' ? choices.kind : "unspecified");
        }
        open_choices_finish(&choices);
    }
    free(finding->allowed);
    finding->allowed = text_take(&text);
    text_finish(&text);
}

/* --- the public face --- */

/* Runs it, and what fails once more: a backend that gives another answer each time has to be told
 * apart before anything is looked for. */
static void first_run(const struct specimen *specimen, const struct triage_options *options,
                      struct differential_result *result, struct triage_finding *finding)
{
    finding->runs++;
    triage_run(options, specimen, result);
    if (result->outcome == OUTCOME_MISMATCH || result->outcome == OUTCOME_INCONCLUSIVE) {
        struct triage_options again = *options;
        again.differential.repeat = FLAKY_RUNS;
        differential_result_finish(result);
        finding->runs += FLAKY_RUNS;
        triage_run(&again, specimen, result);
    }
}

/* Where, what, and whose fault. */
static void look_into(const struct specimen *specimen, const struct triage_options *options,
                      const struct differential_result *result, struct triage_finding *finding)
{
    /* Under the default tolerance, whatever was asked for: that is what can be judged. */
    struct triage_options standard = *options;
    standard.differential.tolerance = TOLERANCE_DEFAULT;
    standard.differential.repeat = result->outcome == OUTCOME_FLAKY ? FLAKY_RUNS : 1;
    if (result->outcome == OUTCOME_TIMEOUT && options->hurried != NULL) {
        standard.backend = options->hurried;
    }
    if (!triage_judge_whole(specimen, &standard, result, finding)) {
        find_part(specimen, &standard, finding);
        triage_judge_part(specimen, &standard, result, finding);
        if (finding->judgement.verdict == TRIAGE_BACKEND) {
            keep_whole(specimen, finding);
        }
    }
    if (finding->form[0] == '\0') { /* there is no smaller part: the whole is what it is */
        struct text text;
        text_init(&text);
        if (result->device_count > 1) {
            text_printf(&text, "on %d devices ", result->device_count);
        }
        canonical_print(specimen->module, &text);
        free(finding->form);
        finding->form =
            finding->judgement.verdict == TRIAGE_BACKEND ? text_take(&text) : memory_strdup("");
        text_finish(&text);
    }
    const struct failure_signature *signature = finding->part_signature.outcome != OUTCOME_PASS
                                                    ? &finding->part_signature
                                                    : &finding->signature;
    free(finding->key);
    finding->key = triage_key(triage_backend_name(options), finding->judgement.verdict, signature,
                              finding->form);
}

bool triage_find(const struct specimen *given, const struct triage_options *options,
                 struct triage_finding *finding, struct error *err)
{
    *finding = (struct triage_finding){.message = memory_strdup(""),
                                       .picture = memory_strdup(""),
                                       .allowed = memory_strdup(""),
                                       .place = memory_strdup(""),
                                       .form = memory_strdup(""),
                                       .key = memory_strdup(""),
                                       .opcode = "",
                                       .type = ""};
    finding->part_signature.kind = memory_strdup("");
    finding->judgement.reason = memory_strdup("");
    text_init(&finding->judgement.evidence);
    struct differential_result result;
    first_run(given, options, &result, finding);
    failure_signature_of(&result, &finding->signature);
    free(finding->message);
    free(finding->picture);
    finding->message = memory_strdup(result.message);
    finding->picture = memory_strdup(result.picture);
    int devices = result.device_count > 0 ? result.device_count : 1;
    const struct specimen specimen = {.module = given->module,
                                      .argument_count = result.argument_count / devices,
                                      .arguments = result.arguments,
                                      .set_count = devices};
    if (result.outcome == OUTCOME_PASS || result.outcome == OUTCOME_VACUOUS) {
        set_allowed(&specimen, &result, finding);
    } else {
        look_into(&specimen, options, &result, finding);
    }
    differential_result_finish(&result);
    bool ok = options->stopped == NULL || !options->stopped(options->context);
    if (!ok) {
        error_set(err, ERROR_DEADLINE_EXCEEDED, "stopped");
        triage_finding_finish(finding);
    }
    return ok;
}

void triage_finding_finish(struct triage_finding *finding)
{
    failure_signature_finish(&finding->signature);
    failure_signature_finish(&finding->part_signature);
    specimen_finish(&finding->part);
    free(finding->message);
    free(finding->picture);
    free(finding->allowed);
    free(finding->place);
    free(finding->form);
    free(finding->key);
    triage_judgement_finish(&finding->judgement);
    *finding = (struct triage_finding){0};
}
