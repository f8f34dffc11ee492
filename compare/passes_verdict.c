/* What the walk says of a step: its jump from the module before and its drift from the first one,
 * and who is to blame. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/passes_walk.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"

enum { DEFAULT_SAMPLES = 4, JUDGING_TIMES = 16 };
static const double culprit_seconds = 300;

/* --- judging --- */

static struct pass_judging judging_of(const struct walk *walk, const struct pass_case *one,
                                      const struct profile *profile)
{
    return (struct pass_judging){
        .profile = profile,
        .interp = &walk->interp,
        .samples =
            walk->options->derived_samples > 0 ? walk->options->derived_samples : DEFAULT_SAMPLES,
        .seed = one->seed,
    };
}

static void add_basis(struct pass_judging *judging, const struct pass_form *form,
                      const struct pass_case *one, const struct literal *results,
                      struct pass_spread **spreads)
{
    judging->bases[judging->basis_count++] =
        (struct pass_basis){form, one->arrays, results, spreads};
}

/* May what the module after the pass rounds excuse the pass? Not where it rounds to a coarser type
 * than the modules before did: only some passes may bring one in, and a spread under roundings of
 * such a type would hide that another one has. */
static bool may_stand(const struct walk *walk, const struct profile *granted)
{
    if (!walk->now.form.is_plain) {
        return false;
    }
    double before = fmax(pass_coarsest_step(walk->first.module, granted),
                         pass_coarsest_step(walk->previous.module, granted));
    if ((walk->licences & PASS_BFLOAT16) != 0) {
        before = fmax(before, ldexp(1, -float_formats[TYPE_BF16].mantissa_bits));
    }
    return (walk->licences & PASS_NARROWS) != 0 ||
           pass_coarsest_step(walk->now.module, granted) <= before;
}

/* Default bounds need a module whose results are the frame's arrays; else the first one stands for
 * it. The spreads of the first one are kept. */
static void judge_jump(struct walk *walk, struct pass_case *one, struct pass_judgement *judgement)
{
    struct profile granted = pass_licences_profile(walk->licences, walk->profile);
    bool rule = walk->any_rule && (walk->licences & ~(unsigned)PASS_RANDOM) != 0;
    struct pass_judging judging = judging_of(walk, one, rule ? &granted : NULL);
    judging.licences = walk->licences & ~(unsigned)PASS_RANDOM;
    if (walk->previous.step > 0 && walk->previous.form.is_plain) {
        add_basis(&judging, &walk->previous.form, one, one->previous, NULL);
    }
    add_basis(&judging, &walk->first.form, one, one->first, &one->spreads);
    if (rule && may_stand(walk, &granted)) {
        add_basis(&judging, &walk->now.form, one, one->now, NULL);
    }
    pass_judge(&judging, one->previous, one->now, judgement);
}

/* On targets whose matrix units round their factors to bf16, a pass that takes products away from
 * them, or gives them some, moves roundings much larger than those of its rule. Whether it did
 * nothing else shows where products are exact: both modules are evaluated so. */
static void judge_exact_products(struct walk *walk, struct pass_case *one,
                                 struct pass_judgement *judgement)
{
    if (!walk->interp.bf16_products || (walk->licences & PASS_ROUNDS) == 0) {
        return;
    }
    struct interp_options before = walk->interp;
    walk->interp.bf16_products = false;
    walk->interp.cache = NULL;
    struct pass_case other = *one;
    other.spreads = NULL;
    other.first = pass_form_evaluate(&walk->first.form, one->arrays, &walk->interp, NULL, NULL);
    other.previous =
        pass_form_evaluate(&walk->previous.form, one->arrays, &walk->interp, NULL, NULL);
    other.now = pass_form_evaluate(&walk->now.form, one->arrays, &walk->interp, NULL, NULL);
    if (other.first != NULL && other.previous != NULL && other.now != NULL) {
        struct pass_judgement again;
        judge_jump(walk, &other, &again);
        if (again.agrees) {
            free(judgement->note);
            judgement->note = memory_strdup("within the rule where products are of f32; on bf16 "
                                            "some of them are rounded elsewhere");
            judgement->agrees = true;
            judgement->distance.tolerance = again.distance.tolerance;
            judgement->distance.mismatches = 0;
        }
        pass_judgement_finish(&again);
    }
    literal_release(other.first);
    literal_release(other.previous);
    literal_release(other.now);
    pass_spreads_finish(other.spreads);
    walk->interp = before;
}

/* What the whole compiler may do: what its target may, and what the passes so far were granted. */
static struct profile drift_profile(const struct walk *walk)
{
    struct profile granted = pass_licences_profile(walk->granted, walk->profile);
    struct profile whole = *walk->profile;
    whole.flush_subnormals |= granted.flush_subnormals;
    whole.excess_precision |= granted.excess_precision;
    whole.contract |= granted.contract;
    whole.algebra |= granted.algebra;
    whole.roundings |= granted.roundings;
    whole.ulp_scale = walk->granted != 0 ? fmax(whole.ulp_scale, 1) : whole.ulp_scale;
    /* Passes may take products away from units that round their factors. */
    whole.roundings |= whole.bf16_products ? ROUNDING_FACTORS : 0;
    return whole;
}

/* Tells the drift's spreads from those of rules with the same licences. */
static const unsigned whole_compiler = 1u << 31;

static void judge_drift(struct walk *walk, struct pass_case *one, bool quick,
                        struct pass_judgement *judgement)
{
    struct profile whole = drift_profile(walk);
    struct pass_judging judging = judging_of(walk, one, &whole);
    judging.licences = whole_compiler | walk->granted;
    judging.also = one->accepted;
    judging.quick = quick;
    add_basis(&judging, &walk->first.form, one, one->first, &one->spreads);
    pass_judge(&judging, one->first, one->now, judgement);
}

/* What was drawn anew is compared with itself from now on. */
static void open_random(struct walk *walk, struct pass_case *one)
{
    if (walk->random == NULL || (walk->licences & PASS_RANDOM) == 0) {
        return;
    }
    struct literal **sides[] = {&one->first, &one->previous};
    for (int s = 0; s < 2; s++) {
        for (int d = 0; d < walk->frame.device_count; d++) {
            bool several = walk->frame.device_count > 1;
            struct literal *to = several ? (*sides[s])->elements[d] : *sides[s];
            const struct literal *from = several ? one->now->elements[d] : one->now;
            for (int i = 0; i < walk->frame.result_count; i++) {
                if (walk->random[i]) {
                    literal_release(to->elements[i]);
                    to->elements[i] = literal_retain(from->elements[i]);
                }
            }
        }
    }
}

/* --- blame --- */

static void find_culprits(struct walk *walk, const struct pass_case *one,
                          const struct pass_judgement *judgement)
{
    struct pass_culprits_options options = {
        .arrays = one->arrays,
        .old_results = one->previous,
        .bounds = judgement->bounds,
        .interp = &walk->interp,
        .bytes = walk_cache_bytes(walk->options),
        .seconds = walk->options->timeout > 0 ? walk->options->timeout : culprit_seconds,
        .exact = !walk->any_rule,
    };
    walk->deadline = 0;
    pass_culprits_find(&walk->previous.form, &walk->now.form, walk->now.module, &options,
                       &walk->result->finding);
    walk_start_clock(walk, JUDGING_TIMES);
}

/* Is a leak or jump of this step what the walk found? The first jump is, or the first leak if there
 * is none: a drift that left the tolerance does not hide a pass that is wrong. */
static bool is_finding(const struct walk *walk, bool leak)
{
    int found = walk->result->finding.step;
    return found < 0 || (!leak && walk->result->verdicts[found].is_leak);
}

/* Keeps what shows that the step went wrong, if it is what the walk found. */
static void keep_finding(struct walk *walk, const struct pass_case *one,
                         const struct pass_judgement *judgement, bool leak)
{
    struct pass_finding *finding = &walk->result->finding;
    if (!is_finding(walk, leak)) {
        return;
    }
    struct text picture;
    text_init(&picture);
    comparison_print(&judgement->comparison, judgement->reference, one->now, &picture);
    finding->step = walk->now.step;
    finding->seed = one->seed;
    finding->tameness = one->tameness;
    free(finding->picture);
    finding->picture = text_take(&picture);
    text_finish(&picture);
    if (!leak && walk->options->find_culprits) {
        find_culprits(walk, one, judgement);
    }
}

/* A bitcast means what layouts say, which are the compiler's: one that is there before its passes
 * means something else once it chose other layouts. */
static bool has_bitcast(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            if (module->computations[c]->instructions[i]->opcode == OP_BITCAST) {
                return true;
            }
        }
    }
    return false;
}

/* Says whose fault it is: the pass's, or one of those since the last module that could be
 * evaluated. */
static void blame(struct walk *walk, struct pass_verdict *verdict)
{
    struct text text;
    text_init(&text);
    int from = walk->previous.step;
    if (verdict->is_leak) {
        text_append(&text, "the drift from the first module leaves the tolerance here, without a "
                           "jump");
    } else if (walk->now.step > from + 1) {
        const char *next = walk_step_name(walk, from + 1);
        text_printf(&text, "one of the passes %s … %s: what %s", next,
                    walk_step_name(walk, walk->now.step), next);
        if (walk->now.step > from + 2) {
            text_printf(&text, " … %s", walk_step_name(walk, walk->now.step - 1));
        }
        text_append(&text, " left could not be evaluated");
    }
    if (text.size > 0) {
        walk_add_message(verdict, text.data);
    }
    text_finish(&text);
    if (strstr(verdict->source->pass, "layout") != NULL && has_bitcast(walk->first.module)) {
        walk_add_message(verdict, "the first module has bitcasts, which mean what layouts say: if "
                                  "the compiler was not meant to begin there, the input is wrong");
    }
}

static void make_accepted(struct pass_case *one, int count)
{
    if (one->accepted == NULL) {
        one->accepted_count = count;
        one->accepted = memory_zalloc((size_t)count * sizeof *one->accepted);
    }
}

/* The first step that changes bits of an output drifts as far as it jumps: what was allowed then is
 * no leak, and none later. */
static void accept_first(struct pass_case *one, const struct pass_judgement *jump)
{
    if (jump->distance.bits) {
        return;
    }
    for (int i = 0; i < jump->bound_count; i++) {
        const struct literal *first = literal_leaf(one->first, i);
        const struct literal *previous = literal_leaf(one->previous, i);
        if (pass_results_same(first, previous) &&
            !pass_results_same(previous, literal_leaf(one->now, i))) {
            make_accepted(one, jump->bound_count);
            pass_bounds_widen(&one->accepted[i], &jump->bounds[i], 1, first);
        }
    }
}

/* What was right by a licensed evaluation, or where products are exact, is outside the bounds: so
 * far the drift may go from now on, and as far again. */
static void accept_unbounded(struct pass_case *one, const struct pass_judgement *jump)
{
    if (jump->note[0] == '\0') {
        return;
    }
    make_accepted(one, jump->bound_count);
    pass_bounds_accept(one->accepted, one->first, one->now, jump->bound_count);
}

static void judge_case(struct walk *walk, struct pass_case *one, struct pass_verdict *verdict)
{
    open_random(walk, one);
    struct pass_judgement jump, drift;
    judge_jump(walk, one, &jump);
    if (!jump.agrees) {
        judge_exact_products(walk, one, &jump);
    }
    pass_distance_worsen(&verdict->jump, &jump.distance);
    walk->granted |= jump.distance.bits ? 0 : walk->licences;
    if (!jump.agrees && walk_is_late(walk)) {
        verdict->outcome = OUTCOME_TIMEOUT;
        walk_say(verdict, "what the pass may change was not found out in time");
    } else if (!jump.agrees) {
        keep_finding(walk, one, &jump, false);
        verdict->outcome = OUTCOME_MISMATCH;
        verdict->is_leak = false;
    } else {
        accept_first(one, &jump);
        accept_unbounded(one, &jump);
        if (jump.note[0] != '\0') {
            walk_add_message(verdict, jump.note);
        }
    }
    judge_drift(walk, one, !walk->drift_is_judged || !jump.agrees, &drift);
    pass_distance_worsen(&verdict->drift, &drift.distance);
    bool leaks = walk->drift_is_judged && jump.agrees && !drift.agrees && !walk_is_late(walk);
    if (leaks && verdict->outcome == OUTCOME_PASS) {
        verdict->outcome = OUTCOME_MISMATCH;
        verdict->is_leak = true;
        keep_finding(walk, one, &drift, true);
    }
    pass_judgement_finish(&jump);
    pass_judgement_finish(&drift);
}

void walk_judge_step(struct walk *walk, struct pass_verdict *verdict, const struct text *conflict)
{
    verdict->compared_with = walk->previous.step;
    walk_start_clock(walk, JUDGING_TIMES);
    for (int i = 0; i < walk->case_count; i++) {
        judge_case(walk, &walk->cases[i], verdict);
    }
    if (verdict->outcome == OUTCOME_PASS && conflict->size > 0) {
        verdict->outcome = OUTCOME_MISMATCH;
        walk_add_message(verdict, conflict->data);
        if (is_finding(walk, false)) {
            walk->result->finding.step = walk->now.step;
            walk->result->finding.seed = walk->cases[0].seed;
        }
    }
    if (verdict->outcome == OUTCOME_MISMATCH) {
        blame(walk, verdict);
        walk->drift_is_judged = false;
    }
    if (verdict->jump.undecided > 0) {
        struct text text;
        text_init(&text);
        text_printf(&text,
                    "%lld elements are undecided: the golden moves as much under the roundings "
                    "that the pass may move",
                    (long long)verdict->jump.undecided);
        walk_add_message(verdict, text.data);
        text_finish(&text);
    }
}
