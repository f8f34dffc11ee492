/* A group's reduced module: the rule it breaks, the golden against itself, other backends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/triage_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

/* --- the rule --- */

static const struct {
    enum opcode opcode;
    const char *text;
} rules[] = {
#define RULE(opcode, text) {OP_##opcode, text},
#include "compare/triage_rules.def"
};

static const char *rule_of(enum opcode opcode)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].opcode == opcode) {
            return rules[i].text;
        }
    }
    return NULL;
}

/* The rules of the entry's operations, each once, the result's first. */
static void print_rules(const struct module *module, struct text *out)
{
    enum { RULES_MOST = 3 };
    const struct computation *entry = module->entry;
    int printed = 0;
    for (int i = entry->count - 1; i >= 0 && printed < RULES_MOST; i--) {
        enum opcode opcode = entry->instructions[i]->opcode;
        bool again = false;
        for (int k = i + 1; k < entry->count; k++) {
            again |= entry->instructions[k]->opcode == opcode;
        }
        const char *rule = rule_of(opcode);
        if (!again && rule != NULL) {
            text_printf(out, "%s: %s\n", opcode_text(opcode), rule);
            printed++;
        }
    }
}

static void print_value(const struct literal *value, struct text *out)
{
    enum { ELEMENTS_MOST = 16 };
    shape_print(value->shape, false, out);
    text_char(out, ' ');
    literal_print(value, false, ELEMENTS_MOST, out);
}

/* "on s32[3] {1, 2, 3}, s32[] 0 it gives s32[1] {1}; right is s32[1] {2}" */
static void print_example(const struct specimen *specimen, const struct differential_result *result,
                          struct text *out)
{
    enum { ARGUMENTS_MOST = 6 };
    if (specimen->argument_count > ARGUMENTS_MOST || result->device_count != 1) {
        return;
    }
    for (int i = 0; i < specimen->argument_count; i++) {
        text_append(out, i == 0 ? "on " : ", ");
        print_value(specimen->arguments[i], out);
    }
    text_append(out, specimen->argument_count > 0 ? " it gives " : "it gives ");
    print_value(result->actual.outputs[0], out);
    text_append(out, "; right is ");
    print_value(result->reference.outputs[0], out);
    text_char(out, '\n');
}

/* --- the golden against itself --- */

static bool just_look(void *context, const struct instruction *instruction,
                      const struct literal *value, int64_t iteration, struct error *err)
{
    (void)context;
    (void)instruction;
    (void)value;
    (void)iteration;
    (void)err;
    return true;
}

/* The same bits where neither leaves an element open; NaN as NaN. */
static bool same_answer(const struct literal *a, const struct literal *b)
{
    if (shape_is_tuple(a->shape)) {
        bool same = true;
        for (int i = 0; same && i < a->shape->count; i++) {
            same = same_answer(a->elements[i], b->elements[i]);
        }
        return same;
    }
    if (!shape_is_array(a->shape)) {
        return true;
    }
    size_t bytes = (size_t)type_bytes(a->shape->type);
    bool floats = type_is_float(type_part(a->shape->type));
    int64_t count = literal_elements(a);
    const char *x = literal_data(a), *y = literal_data(b);
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(x + (size_t)i * bytes, y + (size_t)i * bytes, bytes) == 0 ||
            literal_is_unspecified(a, i) || literal_is_unspecified(b, i)) {
            continue;
        }
        if (!floats || type_is_complex(a->shape->type) || !isnan(literal_get_double(a, i)) ||
            !isnan(literal_get_double(b, i))) {
            return false;
        }
    }
    return true;
}

bool triage_golden_is_consistent(const struct specimen *specimen, struct text *what)
{
    static const size_t cache_bytes = 64 << 20;
    struct error ignored = {0};
    const struct module *module = specimen->module;
    struct interp_options plain = {0}, observed = {.on_instruction = just_look};
    struct interp_options literal = {.fidelity = FIDELITY_LITERAL};
    struct interp_options cached = {.cache = interp_cache_create(cache_bytes)};
    const struct {
        const char *name;
        const struct interp_options *options;
        bool applies;
    } ways[] = {{"step by step", &observed, true},
                {"with values kept between evaluations", &cached, true},
                {"as written (fidelity literal)", &literal, triage_nothing_rounds(module)}};
    struct literal *golden =
        interp_evaluate(module, specimen->arguments, specimen->argument_count, &plain, &ignored);
    bool consistent = true;
    for (size_t i = 0; golden != NULL && i < sizeof ways / sizeof *ways; i++) {
        if (!ways[i].applies) {
            continue;
        }
        struct error err = {0};
        struct literal *other = interp_evaluate(module, specimen->arguments,
                                                specimen->argument_count, ways[i].options, &err);
        bool same = other != NULL && same_answer(golden, other);
        if (!same) {
            text_printf(what, "the golden gives another answer %s%s%s\n", ways[i].name,
                        other == NULL ? ": " : "", other == NULL ? err.message : "");
        }
        consistent &= same;
        literal_release(other);
    }
    literal_release(golden);
    interp_cache_destroy(cached.cache);
    return consistent;
}

/* --- other backends --- */

enum vote { VOTE_NONE, VOTE_GOLDEN, VOTE_BACKEND, VOTE_NEITHER };

static bool outputs_agree(const struct differential_result *ours,
                          const struct differential_result *other)
{
    struct comparison comparison;
    bool agree = true;
    for (int d = 0; agree && d < ours->device_count; d++) {
        int leaves = shape_leaves(ours->actual.outputs[d]->shape);
        literal_compare(ours->actual.outputs[d], other->actual.outputs[d],
                        ours->bounds + (ptrdiff_t)d * leaves, &comparison);
        agree = comparison.equal;
        comparison_finish(&comparison);
    }
    return agree;
}

static enum vote ask(const struct specimen *specimen, const struct triage_options *options,
                     const struct triage_opinion *opinion,
                     const struct differential_result *failing)
{
    struct triage_options other = *options;
    struct differential_result result;
    other.backend = opinion->backend;
    triage_run(&other, specimen, &result);
    enum vote vote = VOTE_NONE;
    if (result.outcome == OUTCOME_PASS || result.outcome == OUTCOME_VACUOUS) {
        vote = VOTE_GOLDEN;
    } else if (result.outcome == OUTCOME_MISMATCH) {
        bool both = failing->outcome == OUTCOME_MISMATCH &&
                    result.device_count == failing->device_count && outputs_agree(failing, &result);
        vote = both ? VOTE_BACKEND : VOTE_NEITHER;
    } else if (result.outcome == failing->outcome) {
        vote = VOTE_BACKEND;
    }
    differential_result_finish(&result);
    return vote;
}

static void ask_all(const struct specimen *specimen, const struct triage_options *options,
                    const struct triage_opinion *opinions, int count,
                    const struct differential_result *failing, struct triage_judgement *judgement)
{
    static const char *const texts[] = {
        [VOTE_NONE] = "%s gives no answer\n",
        [VOTE_GOLDEN] = "%s agrees with the golden\n",
        [VOTE_BACKEND] = "%s fails in the same way\n",
        [VOTE_NEITHER] = "%s gives a third answer\n",
    };
    int votes[4] = {0};
    for (int i = 0; i < count; i++) {
        enum vote vote = ask(specimen, options, &opinions[i], failing);
        votes[vote]++;
        text_printf(&judgement->evidence, texts[vote], opinions[i].name);
    }
    if (votes[VOTE_BACKEND] > 0 && votes[VOTE_GOLDEN] == 0 &&
        failing->outcome == OUTCOME_MISMATCH) {
        triage_set(judgement, TRIAGE_OURS, votes[VOTE_BACKEND] > 1 ? TRIAGE_LIKELY : TRIAGE_WEAK,
                   "suspected: the golden stands alone against %d backends",
                   votes[VOTE_BACKEND] + 1);
    } else if (votes[VOTE_GOLDEN] > 0 && votes[VOTE_BACKEND] == 0 &&
               judgement->verdict == TRIAGE_BACKEND && judgement->confidence < TRIAGE_STRONG) {
        judgement->confidence++;
    }
}

/* --- the public face --- */

void triage_judge(const struct specimen *specimen, const struct triage_options *options,
                  const struct triage_opinion *opinions, int opinion_count,
                  struct triage_judgement *judgement)
{
    struct differential_result result;
    struct text contradiction;
    struct triage_options standard = *options;
    standard.differential.tolerance = TOLERANCE_DEFAULT;
    text_init(&contradiction);
    triage_run(&standard, specimen, &result);
    if (judgement->verdict == TRIAGE_BACKEND) {
        if (result.outcome == OUTCOME_MISMATCH) {
            print_example(specimen, &result, &judgement->evidence);
            print_rules(specimen->module, &judgement->evidence);
        }
        if (result.outcome == OUTCOME_MISMATCH &&
            !triage_golden_is_consistent(specimen, &contradiction)) {
            triage_set(judgement, TRIAGE_OURS, TRIAGE_STRONG, "the golden contradicts itself");
            text_append(&judgement->evidence, contradiction.data);
        }
        ask_all(specimen, &standard, opinions, opinion_count, &result, judgement);
    }
    text_finish(&contradiction);
    differential_result_finish(&result);
}
