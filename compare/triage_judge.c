/* Whose fault: verdicts with their evidence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/canonical.h"
#include "compare/licence.h"
#include "compare/open_choices.h"
#include "compare/sensitivity.h"
#include "compare/triage_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/module.h"

/* A result that is off by this many times what is allowed is no matter of a tight bound. */
static const double far_off = 4;
/* Seconds for samples, unless asked otherwise. */
static const double sampling_seconds = 10;

void triage_set(struct triage_judgement *judgement, enum triage_verdict verdict,
                enum triage_confidence confidence, const char *format, ...)
{
    struct text text;
    va_list args;
    text_init(&text);
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    judgement->verdict = verdict;
    judgement->confidence = confidence;
    free(judgement->reason);
    judgement->reason = text_take(&text);
    text_finish(&text);
}

static void set_form(struct triage_finding *finding, const char *form)
{
    free(finding->form);
    finding->form = memory_strdup(form);
}

/* --- sensitivity --- */

static bool measure(const struct triage_options *options, const struct specimen *specimen,
                    const struct differential_result *result, struct sensitivity *sensitivity)
{
    struct error ignored = {0};
    struct sensitivity_options sampling = {.samples = options->samples,
                                           .seed = result->seed,
                                           .seconds = options->seconds > 0 ? options->seconds
                                                                           : sampling_seconds};
    return sensitivity_measure(specimen->module, result, &sampling, sensitivity, &ignored);
}

/* "4.8e-07 (3.5 ulp)"; next to 0 ulps say nothing. */
static void print_distance(double distance, double ulps, struct text *out)
{
    const double most = 1e12;
    if (isinf(distance)) {
        text_append(out, "without bound (to infinity or NaN)");
    } else {
        text_printf(out, "%.3g", distance);
    }
    if (ulps < most) {
        text_printf(out, " (%.3g ulp)", ulps);
    }
}

/* "one-ulp changes of the inputs move …", and where it comes from. */
static void print_sensitivity(const struct sensitivity *sensitivity, struct text *out)
{
    text_printf(out,
                "%lld of %lld differing elements are explained: %lld by one-ulp changes of the "
                "inputs, %lld of the results of operations, %lld by rounding each step as "
                "written (%d samples)\n",
                (long long)sensitivity->explained, (long long)sensitivity->mismatches,
                (long long)sensitivity->by_inputs, (long long)sensitivity->by_roundings,
                (long long)sensitivity->by_literal, sensitivity->samples);
    if (sensitivity->moved > 0) {
        text_append(out, "at the worst element the golden moves by ");
        print_distance(sensitivity->moved, sensitivity->moved_ulps, out);
        if (sensitivity->error > 0) {
            text_append(out, ", the backend is off by ");
            print_distance(sensitivity->error, sensitivity->error_ulps, out);
        }
        text_char(out, '\n');
    }
    if (sensitivity->instruction[0] != '\0') {
        text_printf(out, "it begins at %s, %s: what it is given has moved %.2g times less\n",
                    sensitivity->instruction, sensitivity->form, sensitivity->growth);
    }
}

static bool fully_explained(const struct sensitivity *sensitivity)
{
    return sensitivity->mismatches > 0 && sensitivity->explained == sensitivity->mismatches;
}

/* Moved inputs or results explain it, or only roundings as they are written: then the backend does
 * what the program says. */
static void set_ill_conditioned(const struct sensitivity *sensitivity, const struct module *module,
                                struct triage_finding *finding)
{
    struct triage_judgement *judgement = &finding->judgement;
    double amplification = sensitivity->amplification;
    bool by_inputs = sensitivity->by_inputs == sensitivity->mismatches;
    bool by_roundings = sensitivity->by_roundings == sensitivity->mismatches;
    const char *moved = by_inputs      ? "inputs"
                        : by_roundings ? "results on the way"
                                       : "inputs or of results on the way";
    judgement->amplification = amplification;
    set_form(finding, sensitivity->form);
    if (!by_inputs && !by_roundings && sensitivity->by_literal == sensitivity->mismatches) {
        struct text form;
        text_init(&form);
        text_append(&form, "rounded as written: ");
        canonical_print_instruction(module->entry->root, &form);
        triage_set(judgement, TRIAGE_PERMITTED, TRIAGE_LIKELY,
                   "the golden moves as far when it rounds each step, as the program is written");
        set_form(finding, form.data);
        text_finish(&form);
    } else if (amplification == 0 || isinf(amplification)) {
        triage_set(judgement, TRIAGE_ILL_CONDITIONED, by_inputs ? TRIAGE_STRONG : TRIAGE_LIKELY,
                   "a one-ulp change of the %s changes the golden's own result as much", moved);
    } else {
        triage_set(judgement, TRIAGE_ILL_CONDITIONED, by_inputs ? TRIAGE_STRONG : TRIAGE_LIKELY,
                   "a one-ulp change of the %s is amplified %.3g times, which is no less than the "
                   "difference",
                   moved, amplification);
    }
    print_sensitivity(sensitivity, &judgement->evidence);
}

/* --- open semantics --- */

/* `dependence` suffices where no part of it is wrong in itself. */
static bool judge_open(const struct specimen *specimen, const struct differential_result *result,
                       bool dependence, struct triage_finding *finding)
{
    struct open_choices choices;
    struct error ignored = {0};
    if (!open_choices_find(specimen->module, result, &choices, &ignored)) {
        return false;
    }
    bool open = choices.explains || (dependence && choices.depends);
    if (choices.explains) {
        triage_set(&finding->judgement, TRIAGE_OPEN, TRIAGE_STRONG,
                   "with the other choice of %s the golden gives what the backend gives",
                   choices.kind);
    } else if (open) {
        triage_set(&finding->judgement, TRIAGE_OPEN, TRIAGE_LIKELY,
                   "every element that differs changes with %s", choices.kind);
    }
    if (open) {
        text_printf(&finding->judgement.evidence, "left open by HLO: %s\n", choices.choice);
        set_form(finding, choices.kind);
    }
    open_choices_finish(&choices);
    return open;
}

/* --- the whole --- */

static bool draws_random_numbers(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            if (module->computations[c]->instructions[i]->opcode == OP_RNG) {
                return true;
            }
        }
    }
    return false;
}

static void judge_inconclusive(const struct specimen *specimen,
                               const struct triage_options *options,
                               const struct differential_result *result,
                               struct triage_finding *finding);

/* Only under the tolerance that was asked for does it fail. */
static bool judge_permitted(const struct specimen *specimen, const struct triage_options *options,
                            const struct differential_result *result,
                            struct triage_finding *finding)
{
    struct differential_result standard;
    finding->runs++;
    triage_run(options, specimen, &standard);
    bool passes = standard.outcome == OUTCOME_PASS || standard.outcome == OUTCOME_VACUOUS;
    if (passes && strstr(standard.notes, "own spread") != NULL) {
        judge_inconclusive(specimen, options, result, finding);
    } else if (passes) {
        struct text names;
        text_init(&names);
        for (int i = 0; i < licence_count; i++) {
            struct text words;
            text_init(&words);
            text_printf(&words, "under %s\n", licences[i].name);
            if (strstr(standard.notes, words.data) != NULL) {
                text_printf(&names, "%s%s", names.size == 0 ? "licence " : ", ", licences[i].name);
            }
            text_finish(&words);
        }
        text_append(&names, names.size > 0 ? "" : "rounding");
        triage_set(&finding->judgement, TRIAGE_PERMITTED, TRIAGE_STRONG,
                   "it passes under the default tolerance (%s): %s", standard.tolerance_text,
                   names.data);
        text_append(&finding->judgement.evidence, standard.notes);
        set_form(finding, names.data);
        text_finish(&names);
    }
    differential_result_finish(&standard);
    return passes;
}

/* The golden could not tell, or nothing could be asked. */
static void judge_unsupported(const struct differential_result *result,
                              struct triage_finding *finding)
{
    if (result->reference.outcome == OUTCOME_PASS && result->actual.message != NULL &&
        result->actual.outcome == OUTCOME_UNSUPPORTED) {
        triage_set(&finding->judgement, TRIAGE_BACKEND, TRIAGE_WEAK,
                   "the backend does not support it: %s", result->message);
    } else {
        triage_set(&finding->judgement, TRIAGE_OURS, TRIAGE_STRONG, "not supported here: %s",
                   result->message);
    }
}

/* Instructions of an ill-conditioned module that are wrong alone: a bug that it hides. */
struct hidden {
    const struct instruction *instruction; /* the first one of the entry; else the first */
    int count;
};

static void note_hidden(void *context, const struct isolated *isolated)
{
    struct hidden *hidden = context;
    const struct instruction *instruction = isolated->instruction;
    if (isolated->outcome != OUTCOME_MISMATCH) {
        return;
    }
    hidden->count++;
    bool entry = instruction->parent == instruction->parent->module->entry;
    const struct instruction *known = hidden->instruction;
    if (known == NULL || (entry && known->parent != known->parent->module->entry)) {
        hidden->instruction = instruction;
    }
}

static void judge_mismatch(bool isolated, const struct specimen *part,
                           const struct differential_result *result,
                           struct triage_judgement *judgement);

/* What is wrong alone is the backend's bug, however sensitive the module around it is, unless it is
 * as sensitive itself. */
static void judge_hidden(const struct specimen *specimen, const struct triage_options *options,
                         const struct instruction *instruction, struct triage_finding *finding)
{
    bool entry = instruction->parent == instruction->parent->module->entry;
    char *form = memory_strdup(finding->form);
    if (!entry || !triage_take_alone(specimen, options, instruction, finding)) {
        free(form);
        return;
    }
    struct differential_result result;
    struct sensitivity sensitivity;
    triage_run(options, &finding->part, &result);
    bool sensitive = !triage_nothing_rounds(finding->part.module) &&
                     measure(options, &finding->part, &result, &sensitivity);
    if (sensitive) {
        sensitive = fully_explained(&sensitivity);
        sensitivity_finish(&sensitivity);
    }
    if (result.outcome == OUTCOME_MISMATCH && !sensitive) {
        judge_mismatch(true, &finding->part, &result, &finding->judgement);
    } else {
        specimen_finish(&finding->part);
        finding->isolated = false;
        failure_signature_finish(&finding->part_signature);
        finding->part_signature.kind = memory_strdup("");
        set_form(finding, form);
    }
    free(form);
    differential_result_finish(&result);
}

static void look_for_hidden(const struct specimen *specimen, const struct triage_options *options,
                            struct triage_finding *finding)
{
    enum { INSTRUCTIONS_MOST = 200 };
    struct hidden hidden = {0};
    struct error ignored = {0};
    struct differential_options alone = options->differential;
    alone.arguments = specimen->arguments;
    alone.argument_count = specimen_argument_total(specimen);
    if (module_instruction_count(specimen->module) > INSTRUCTIONS_MOST ||
        !isolate_run(specimen->module, options->backend, &alone, note_hidden, &hidden, &ignored) ||
        hidden.count == 0) {
        return;
    }
    text_printf(
        &finding->judgement.evidence,
        "yet alone on the golden's operands %d of its instructions %s wrong, first %s (%s): "
        "referee run --isolate shows them\n",
        hidden.count, hidden.count > 1 ? "are" : "is", hidden.instruction->name,
        opcode_text(hidden.instruction->opcode));
    finding->judgement.confidence = TRIAGE_WEAK;
    judge_hidden(specimen, options, hidden.instruction, finding);
}

static void judge_inconclusive(const struct specimen *specimen,
                               const struct triage_options *options,
                               const struct differential_result *result,
                               struct triage_finding *finding)
{
    struct sensitivity sensitivity;
    if (!measure(options, specimen, result, &sensitivity)) {
        triage_set(&finding->judgement, TRIAGE_ILL_CONDITIONED, TRIAGE_LIKELY, "%s",
                   result->message);
        return;
    }
    if (fully_explained(&sensitivity)) {
        set_ill_conditioned(&sensitivity, specimen->module, finding);
    } else {
        triage_set(&finding->judgement, TRIAGE_ILL_CONDITIONED, TRIAGE_LIKELY, "%s",
                   result->message);
        finding->judgement.amplification = sensitivity.amplification;
        print_sensitivity(&sensitivity, &finding->judgement.evidence);
        set_form(finding, sensitivity.form);
    }
    sensitivity_finish(&sensitivity);
    look_for_hidden(specimen, options, finding);
}

bool triage_judge_whole(const struct specimen *specimen, const struct triage_options *options,
                        const struct differential_result *result, struct triage_finding *finding)
{
    switch (result->outcome) {
    case OUTCOME_UNSUPPORTED:
        judge_unsupported(result, finding);
        return true;
    case OUTCOME_FLAKY:
        if (draws_random_numbers(specimen->module)) {
            triage_set(&finding->judgement, TRIAGE_OPEN, TRIAGE_STRONG,
                       "it draws random numbers, other ones in each run");
            set_form(finding, "random numbers");
            return true;
        }
        return false;
    case OUTCOME_INCONCLUSIVE:
        judge_inconclusive(specimen, options, result, finding);
        return true;
    case OUTCOME_MISMATCH:
        return judge_permitted(specimen, options, result, finding) ||
               judge_open(specimen, result, false, finding);
    default:
        return false;
    }
}

/* --- the part --- */

/* Gives floats and rounds none: data movement, choices, signs, and what calls computations, which
 * are looked at themselves. */
static bool is_exact(const struct instruction *instruction)
{
    static const enum opcode exact[] = {OP_ABS,
                                        OP_ALL_GATHER,
                                        OP_ALL_GATHER_DONE,
                                        OP_ALL_GATHER_START,
                                        OP_ALL_REDUCE,
                                        OP_ALL_REDUCE_DONE,
                                        OP_ALL_REDUCE_START,
                                        OP_ALL_TO_ALL,
                                        OP_BITCAST,
                                        OP_BITCAST_CONVERT,
                                        OP_BROADCAST,
                                        OP_CALL,
                                        OP_CEIL,
                                        OP_CLAMP,
                                        OP_COLLECTIVE_BROADCAST,
                                        OP_COLLECTIVE_PERMUTE,
                                        OP_COLLECTIVE_PERMUTE_DONE,
                                        OP_COLLECTIVE_PERMUTE_START,
                                        OP_COMPLEX,
                                        OP_CONCATENATE,
                                        OP_CONDITIONAL,
                                        OP_CONSTANT,
                                        OP_COPY,
                                        OP_DYNAMIC_SLICE,
                                        OP_DYNAMIC_UPDATE_SLICE,
                                        OP_FLOOR,
                                        OP_FUSION,
                                        OP_GATHER,
                                        OP_GET_TUPLE_ELEMENT,
                                        OP_IMAG,
                                        OP_IOTA,
                                        OP_MAP,
                                        OP_MAXIMUM,
                                        OP_MINIMUM,
                                        OP_NEGATE,
                                        OP_PAD,
                                        OP_PARAMETER,
                                        OP_REAL,
                                        OP_REDUCE,
                                        OP_REDUCE_SCATTER,
                                        OP_REDUCE_WINDOW,
                                        OP_REMAINDER,
                                        OP_RESHAPE,
                                        OP_REVERSE,
                                        OP_ROUND_NEAREST_AFZ,
                                        OP_ROUND_NEAREST_EVEN,
                                        OP_SCATTER,
                                        OP_SELECT,
                                        OP_SELECT_AND_SCATTER,
                                        OP_SLICE,
                                        OP_SORT,
                                        OP_TOPK,
                                        OP_TRANSPOSE,
                                        OP_TUPLE,
                                        OP_WHILE};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        if (exact[i] == instruction->opcode) {
            return true;
        }
    }
    return profile_rounding_type(instruction) == TYPE_INVALID;
}

bool triage_nothing_rounds(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            if (!is_exact(module->computations[c]->instructions[i])) {
                return false;
            }
        }
    }
    return true;
}

static double largest_part(const struct differential_result *result)
{
    double largest = 0;
    for (int i = 0; i < result->comparison.leaf_count; i++) {
        largest = fmax(largest, result->comparison.leaves[i].largest_part);
    }
    return largest;
}

static void judge_mismatch(bool isolated, const struct specimen *part,
                           const struct differential_result *result,
                           struct triage_judgement *judgement)
{
    int instructions = module_instruction_count(part->module);
    double off = largest_part(result);
    if (triage_nothing_rounds(part->module)) {
        triage_set(judgement, TRIAGE_BACKEND, TRIAGE_STRONG,
                   isolated ? "an instruction that does not round is wrong alone: it has one right "
                              "answer"
                            : "nothing in these %d instructions rounds: there is one right answer",
                   instructions);
    } else if (isolated) {
        triage_set(judgement, TRIAGE_BACKEND, off > far_off ? TRIAGE_STRONG : TRIAGE_LIKELY,
                   isfinite(off) ? "an instruction is wrong alone, on exact operands: off by %.3g "
                                   "times what is allowed"
                                 : "an instruction is wrong alone, on exact operands",
                   off);
    } else {
        triage_set(judgement, TRIAGE_BACKEND, TRIAGE_LIKELY,
                   "right one by one, wrong together: %d instructions that the backend rewrites or "
                   "fuses",
                   instructions);
    }
}

static void judge_mismatching(const struct specimen *specimen, const struct triage_options *options,
                              const struct differential_result *whole,
                              struct triage_finding *finding)
{
    struct sensitivity sensitivity;
    struct differential_result result;
    if (finding->part.module != NULL) {
        finding->runs++;
        triage_run(options, &finding->part, &result);
        bool settled = result.outcome == OUTCOME_MISMATCH &&
                       judge_open(&finding->part, &result, true, finding);
        if (!settled && result.outcome == OUTCOME_MISMATCH &&
            !triage_nothing_rounds(finding->part.module) &&
            measure(options, &finding->part, &result, &sensitivity)) {
            settled = fully_explained(&sensitivity);
            if (settled) {
                set_ill_conditioned(&sensitivity, finding->part.module, finding);
            }
            sensitivity_finish(&sensitivity);
        }
        if (!settled && result.outcome == OUTCOME_MISMATCH) {
            judge_mismatch(finding->isolated, &finding->part, &result, &finding->judgement);
        }
        bool judged = settled || result.outcome == OUTCOME_MISMATCH;
        differential_result_finish(&result);
        if (settled || (judged && finding->isolated)) {
            return;
        }
    }
    /* Nothing is wrong in one place: does the whole depend on a choice, is it so sensitive? */
    if (judge_open(specimen, whole, true, finding)) {
        return;
    }
    if (measure(options, specimen, whole, &sensitivity)) {
        if (fully_explained(&sensitivity)) {
            triage_judgement_finish(&finding->judgement);
            text_init(&finding->judgement.evidence);
            set_ill_conditioned(&sensitivity, specimen->module, finding);
        }
        sensitivity_finish(&sensitivity);
    }
    if (finding->judgement.verdict == TRIAGE_PASS) {
        triage_set(&finding->judgement, TRIAGE_BACKEND, TRIAGE_WEAK,
                   "it fails as a whole, and no part of it could be told to");
    }
}

/* What did not come to an end, or was refused. */
static void judge_failing(const struct triage_options *options,
                          const struct differential_result *result,
                          struct triage_judgement *judgement)
{
    const char *message = result->message;
    bool refused =
        strstr(message, "INVALID_ARGUMENT") != NULL || strstr(message, "Invalid argument") != NULL;
    bool missing =
        strstr(message, "UNIMPLEMENTED") != NULL || strstr(message, "nimplemented") != NULL ||
        strstr(message, "not implemented") != NULL || strstr(message, "ot supported") != NULL;
    double golden = result->reference.run_seconds;
    switch (result->outcome) {
    case OUTCOME_CRASH:
        triage_set(judgement, TRIAGE_BACKEND, TRIAGE_STRONG,
                   "a module that verifies ends its process");
        break;
    case OUTCOME_TIMEOUT:
        triage_set(judgement, TRIAGE_BACKEND,
                   options->timeout > 0 && golden < options->timeout / 10 ? TRIAGE_STRONG
                                                                          : TRIAGE_WEAK,
                   "it does not end within %g s; the golden took %.2g s", options->timeout, golden);
        break;
    case OUTCOME_FLAKY:
        triage_set(judgement, TRIAGE_BACKEND, TRIAGE_STRONG,
                   "on the same inputs its answers differ from run to run: it reads what nobody "
                   "wrote, or threads race");
        break;
    case OUTCOME_OOM:
        triage_set(judgement, TRIAGE_BACKEND, TRIAGE_WEAK, "it runs out of memory");
        break;
    default:
        if (missing) {
            triage_set(judgement, TRIAGE_BACKEND, TRIAGE_LIKELY, "a limit that it names itself");
        } else if (refused) {
            triage_set(judgement, TRIAGE_OURS, TRIAGE_WEAK,
                       "suspected: the backend refuses as invalid what our verifier takes; one of "
                       "the two is wrong");
        } else {
            triage_set(judgement, TRIAGE_BACKEND, TRIAGE_STRONG,
                       "it fails on a module that verifies");
        }
        break;
    }
}

void triage_judge_part(const struct specimen *specimen, const struct triage_options *options,
                       const struct differential_result *result, struct triage_finding *finding)
{
    if (result->outcome == OUTCOME_MISMATCH) {
        judge_mismatching(specimen, options, result, finding);
    } else {
        judge_failing(options, result, &finding->judgement);
    }
}
