/* The table of faults, the places where they apply, and planting one. */
#include "hlo/mutate/mutate.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/mutate/mutate_internal.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"

const struct mutation mutations[] = {
#define MUTATION(name, role, summary) {#name, MUTATION_##role, summary, mutate_##name},
#include "hlo/mutate/mutations.def"
};
const int mutation_count = sizeof mutations / sizeof *mutations;

const struct mutation *mutation_find(const char *name)
{
    for (int i = 0; i < mutation_count; i++) {
        if (strcmp(mutations[i].name, name) == 0) {
            return &mutations[i];
        }
    }
    return NULL;
}

/* --- what computations are for --- */

/* The role that computation number `called` has for its caller. */
static enum mutation_role role_for(const struct instruction *caller, int called)
{
    switch (caller->opcode) {
    case OP_FUSION:
    case OP_CALL:
    case OP_CONDITIONAL:
        return MUTATION_CODE;
    case OP_WHILE:
        return called == 0 ? MUTATION_CODE : MUTATION_OTHER;
    case OP_REDUCE:
    case OP_REDUCE_WINDOW:
    case OP_SCATTER:
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_REDUCE_SCATTER:
        return MUTATION_REDUCER;
    case OP_SELECT_AND_SCATTER:
        return called == 1 ? MUTATION_REDUCER : MUTATION_OTHER;
    case OP_SORT:
        return MUTATION_COMPARATOR;
    default:
        return MUTATION_OTHER;
    }
}

/* By computation id; heap. What is called for several purposes is left alone, and so is what is
 * called from there. */
static enum mutation_role *roles_of(const struct module *module)
{
    enum { UNKNOWN = -1 };
    int *roles = memory_alloc((size_t)module->count * sizeof *roles);
    for (int c = 0; c < module->count; c++) {
        roles[c] = UNKNOWN;
    }
    roles[module->entry->id] = MUTATION_CODE;
    for (int c = module->count - 1; c >= 0; c--) { /* callers first */
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *caller = computation->instructions[i];
            for (int k = 0; k < caller->called_count; k++) {
                int role = roles[c] == MUTATION_CODE ? (int)role_for(caller, k) : MUTATION_OTHER;
                int *known = &roles[caller->called[k]->id];
                *known = *known == UNKNOWN || *known == role ? role : MUTATION_OTHER;
            }
        }
    }
    enum mutation_role *result = memory_alloc((size_t)module->count * sizeof *result);
    for (int c = 0; c < module->count; c++) {
        result[c] = roles[c] == UNKNOWN ? MUTATION_OTHER : (enum mutation_role)roles[c];
    }
    free(roles);
    return result;
}

static bool applies(const struct mutation *mutation, struct instruction *instruction)
{
    struct rng rng;
    rng_init(&rng, 0);
    return mutation->mutate(instruction, &rng, NULL);
}

void mutation_places(const struct module *module, const struct mutation *mutation,
                     struct mutation_places *places)
{
    size_t capacity = 0;
    enum mutation_role *roles = roles_of(module);
    *places = (struct mutation_places){0, NULL};
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            for (int m = 0; m < mutation_count; m++) {
                struct instruction *instruction = computation->instructions[i];
                if ((mutation != NULL && mutation != &mutations[m]) ||
                    mutations[m].role != roles[c] || !applies(&mutations[m], instruction)) {
                    continue;
                }
                places->list =
                    grow(places->list, (size_t)places->count, &capacity, sizeof *places->list);
                places->list[places->count++] = (struct mutation_place){&mutations[m], instruction};
            }
        }
    }
    free(roles);
}

void mutation_places_finish(struct mutation_places *places)
{
    free(places->list);
    *places = (struct mutation_places){0, NULL};
}

/* --- planting --- */

static int count_findings(const struct module *module, char **first)
{
    struct findings findings;
    verify_module(module, &findings);
    int count = findings.count;
    if (first != NULL && count > 0) {
        *first = memory_strdup(findings.list[count - 1].text);
    }
    findings_finish(&findings);
    return count;
}

bool mutate_instruction(struct instruction *instruction, const struct mutation *mutation,
                        uint64_t seed, struct text *what, struct error *err)
{
    struct module *module = instruction->parent->module;
    enum mutation_role *roles = roles_of(module);
    bool good = roles[instruction->parent->id] == mutation->role && applies(mutation, instruction);
    free(roles);
    struct rng rng;
    rng_init(&rng, seed);
    int before = good ? count_findings(module, NULL) : 0;
    if (!good || !mutation->mutate(instruction, &rng, what)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s does not apply to %s, %s", mutation->name,
                         instruction->name, opcode_text(instruction->opcode));
    }
    edit_sweep(instruction->parent);
    if (!module_finish(module, err)) {
        return false;
    }
    char *finding = NULL;
    if (count_findings(module, &finding) > before) {
        error_set(err, ERROR_INTERNAL, "%s in %s does not verify: %s", mutation->name,
                  instruction->name, finding);
        good = false;
    }
    free(finding);
    return good;
}

struct mutation_place mutation_places_draw(const struct mutation_places *places, struct rng *rng)
{
    int *counts = memory_zalloc((size_t)mutation_count * sizeof *counts);
    int classes = 0;
    for (int i = 0; i < places->count; i++) {
        classes += counts[places->list[i].mutation - mutations]++ == 0;
    }
    int left = edit_draw(rng, classes), chosen = 0;
    while (counts[chosen] == 0 || left-- > 0) {
        chosen++;
    }
    int draws[3];
    for (int i = 0; i < 3; i++) {
        int draw = edit_draw(rng, counts[chosen]), at = i;
        for (; at > 0 && draw < draws[at - 1]; at--) {
            draws[at] = draws[at - 1];
        }
        draws[at] = draw;
    }
    free(counts);
    left = draws[1];
    int at = 0;
    while (places->list[at].mutation != &mutations[chosen] || left-- > 0) {
        at++;
    }
    return places->list[at];
}

struct module *mutate_module(const struct module *module, const struct mutation *mutation,
                             uint64_t seed, struct mutant *mutant, struct error *err)
{
    struct module *copy = text_copy_module(module, err);
    if (copy == NULL) {
        return NULL;
    }
    struct mutation_places places;
    struct rng rng;
    rng_init(&rng, seed);
    mutation_places(copy, mutation, &places);
    struct text what;
    text_init(&what);
    bool good = places.count > 0;
    if (good) {
        struct mutation_place place = mutation_places_draw(&places, &rng);
        good = mutate_instruction(place.instruction, place.mutation, rng_next(&rng), &what, err);
        *mutant = (struct mutant){place.mutation, place.instruction->parent->name,
                                  place.instruction->name,
                                  arena_string(&copy->arena, what.data, what.size)};
    } else {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s has no place for a fault%s%s", module->name,
                  mutation != NULL ? " of class " : "", mutation != NULL ? mutation->name : "");
    }
    text_finish(&what);
    mutation_places_finish(&places);
    if (!good) {
        module_destroy(copy);
        copy = NULL;
    }
    return copy;
}
