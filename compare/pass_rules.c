/* The table of what passes may change, and what each licence allows. */
#include "compare/passes.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "hlo/base/text.h"

const struct pass_rule pass_rules[] = {
#define RULE(pass, pipeline, licences, why) {pass, pipeline, licences, why},
#include "compare/pass_rules.def"
#undef RULE
};
const int pass_rule_count = sizeof pass_rules / sizeof *pass_rules;

/* One row a licence: its name, and what it allows, in ulps of the type in which an instruction
 * rounds, for f32 and f64 and for types of 16 bits and fewer. */
static const struct {
    enum pass_licence licence;
    const char *name, *wide, *narrow;
} pass_licence_table[] = {
    {PASS_REASSOCIATES, "reassociates", "2 + √n of the type of partial sums, sums of n terms",
     "the same; partial sums of reductions are in the type itself"},
    {PASS_ROUNDS, "rounds", "1 for each result, 2 for quotients and powers; algebra, contraction",
     "the same; conversions to such types: 0"},
    {PASS_EXCESS, "excess precision", "0; reduce-precision: a step of what it keeps",
     "1 for each result, 2 for quotients and powers; sums as above"},
    {PASS_NARROWS, "narrows",
     "f32: products, half a step of bf16 for each factor; f64: 64 (a pair of f32)", "0"},
    {PASS_EXPANDS, "expands", "the table of functions × the target's factor", "the same"},
    {PASS_BFLOAT16, "bfloat16", "0", "bf16: 1 for each result, though the modules before had none"},
    {PASS_RANDOM, "random", "what depends on random numbers is open", "the same"},
};
enum { LICENCES = sizeof pass_licence_table / sizeof *pass_licence_table };

/* Does the pattern, in which '*' stands for any characters, fit the whole text? */
static bool matches(const char *pattern, const char *text)
{
    if (*pattern == '*') {
        for (;; text++) {
            if (matches(pattern + 1, text)) {
                return true;
            }
            if (*text == '\0') {
                return false;
            }
        }
    }
    return *pattern == *text && (*pattern == '\0' || matches(pattern + 1, text + 1));
}

const struct pass_rule *pass_rule_find(const char *pipeline, const char *pass)
{
    for (int i = 0; i < pass_rule_count; i++) {
        const struct pass_rule *rule = &pass_rules[i];
        if (matches(rule->pass, pass) &&
            (rule->pipeline == NULL || matches(rule->pipeline, pipeline))) {
            return rule;
        }
    }
    return NULL;
}

void pass_licences_print(unsigned licences, struct text *out)
{
    const char *separator = "";
    for (int i = 0; i < LICENCES; i++) {
        if ((licences & pass_licence_table[i].licence) != 0) {
            text_printf(out, "%s%s", separator, pass_licence_table[i].name);
            separator = ", ";
        }
    }
}

struct profile pass_licences_profile(unsigned licences, const struct profile *target)
{
    bool rounds = (licences & PASS_ROUNDS) != 0, excess = (licences & PASS_EXCESS) != 0;
    bool expands = (licences & PASS_EXPANDS) != 0;
    unsigned roundings = 0;
    roundings |= (licences & PASS_REASSOCIATES) != 0 ? ROUNDING_SUMS : 0;
    roundings |= rounds ? ROUNDING_RESULTS : 0;
    roundings |= excess ? ROUNDING_NARROW : 0;
    roundings |= (licences & PASS_NARROWS) != 0 ? ROUNDING_FACTORS : 0;
    roundings |= expands ? ROUNDING_FUNCTIONS : 0;
    return (struct profile){
        .name = "rule",
        .summary = "what a pass may change",
        .excess_precision = excess,
        .contract = rounds,
        .algebra = rounds,
        .ulp_scale = expands ? fmax(target->ulp_scale, 1) : 1,
        .roundings = roundings,
    };
}

void pass_rules_explain(struct text *out)
{
    text_append(out, "What passes may change. A pass that no row names must keep every bit.\n\n");
    for (int i = 0; i < pass_rule_count; i++) {
        const struct pass_rule *rule = &pass_rules[i];
        text_printf(out, "%-40s ", *rule->pass == '\0' ? "(no name)" : rule->pass);
        pass_licences_print(rule->licences, out);
        if (rule->pipeline != NULL) {
            text_printf(out, " in %s", rule->pipeline);
        }
        text_printf(out, "\n    %s\n", rule->why);
    }
    text_append(out, "\nWhat each licence allows, in ulps of the type in which an instruction "
                     "rounds:\n\n");
    for (int i = 0; i < LICENCES; i++) {
        text_printf(out, "%-18s f32, f64: %s\n%-18s ≤ 16 bits: %s\n", pass_licence_table[i].name,
                    pass_licence_table[i].wide, "", pass_licence_table[i].narrow);
    }
}
