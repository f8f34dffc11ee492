/* The smallest set of instructions that a pass got wrong: which of them, given the values that they
 * had before the pass, restore the outputs.
 *
 * Both modules are evaluated once under observation. A value of the new module is clean if the old
 * one had it too; suspects are those that are not clean although all their operands are. An old
 * value for a suspect is that of the instruction of the same name, of the one that stands at its
 * place among the operands of a like user, or of the one that is computed from the same values. A
 * suspect is replaced by making it a constant; delta debugging (A. Zeller, R. Hildebrandt,
 * "Simplifying and isolating failure-inducing input", IEEE TSE 28, 2002) finds the fewest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/passes_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { EVALUATIONS_MOST = 60, SUSPECTS_MOST = 256, CHOICES = 3 };

/* One of the two modules, its instructions in one row. */
struct side {
    const struct module *module;
    struct arena *arena;
    bool *once;              /* [computation]: it is evaluated exactly once */
    int *base;               /* [computation]: index of its first instruction */
    int count;               /* of instructions */
    struct literal **values; /* [count]; NULL where there is none */
    const struct instruction **list;
    size_t bytes, most; /* of values */
};

static int index_of(const struct side *side, const struct instruction *instruction)
{
    return side->base[instruction->parent->id] + instruction->id;
}

/* Whose parts are seen exactly as often as the instruction itself. */
static bool enters_once(const struct instruction *instruction)
{
    return instruction->opcode == OP_FUSION || instruction->opcode == OP_CALL;
}

static void mark_once(struct side *side, const struct computation *computation, int *calls)
{
    side->once[computation->id] = true;
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        for (int c = 0; enters_once(instruction) && c < instruction->called_count; c++) {
            if (calls[instruction->called[c]->id] == 1) {
                mark_once(side, instruction->called[c], calls);
            }
        }
    }
}

static void side_make(const struct module *module, size_t most, struct arena *arena,
                      struct side *side)
{
    size_t computations = (size_t)module->count;
    *side = (struct side){.module = module, .arena = arena, .most = most};
    side->once = arena_array(arena, computations, sizeof *side->once);
    side->base = arena_array(arena, computations, sizeof *side->base);
    int *calls = arena_array(arena, computations, sizeof *calls);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        side->base[c] = side->count;
        side->count += computation->count;
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->called_count; k++) {
                calls[instruction->called[k]->id]++;
            }
        }
    }
    mark_once(side, module->entry, calls);
    side->values = arena_array(arena, (size_t)side->count, sizeof *side->values);
    side->list = arena_array(arena, (size_t)side->count, sizeof(struct instruction *));
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            side->list[side->base[c] + i] = computation->instructions[i];
        }
    }
}

static void side_release(struct side *side)
{
    for (int i = 0; i < side->count; i++) {
        literal_release(side->values[i]);
    }
}

static bool keep_value(void *context, const struct instruction *instruction,
                       const struct literal *value, int64_t iteration, struct error *err)
{
    struct side *side = context;
    (void)iteration;
    (void)err;
    size_t bytes = (size_t)shape_bytes(instruction->shape);
    if (!side->once[instruction->parent->id] || side->bytes + bytes > side->most) {
        return true;
    }
    int at = index_of(side, instruction);
    if (side->values[at] == NULL) {
        side->values[at] = literal_retain(value);
        side->bytes += bytes;
    }
    return true;
}

static bool observe(const struct pass_form *form, const struct pass_culprits_options *options,
                    struct side *side)
{
    struct interp_options interp = *options->interp;
    interp.on_instruction = keep_value;
    interp.context = side;
    interp.cancelled = NULL;
    struct literal *results = pass_form_evaluate(form, options->arrays, &interp, NULL, NULL);
    literal_release(results);
    return results != NULL;
}

/* --- pairs --- */

/* Old instructions by their values, whatever their dimensions. */
static void index_values(const struct side *side, struct map *map)
{
    for (int i = side->count - 1; i >= 0; i--) {
        if (side->values[i] != NULL && pass_value_tells(side->values[i])) {
            map_put_int(map, pass_value_hash(side->values[i]), (void *)side->list[i]);
        }
    }
}

struct search {
    struct side old, now;
    const struct pass_form *form;
    struct module *module; /* that of now */
    const struct pass_culprits_options *options;
    const struct instruction **pairs; /* [now]: the old one at its place, or NULL */
    double *moved;                    /* [now]: how far its value is from the old ones */
    struct map names, by_value;       /* of old instructions */
    int evaluations;
    double start;
};

static bool fits(const struct instruction *old, const struct instruction *now)
{
    return shape_compatible(old->shape, now->shape);
}

static void pair_names(struct search *search)
{
    const struct side *old = &search->old, *now = &search->now;
    for (int i = 0; i < old->count; i++) {
        if (old->once[old->list[i]->parent->id]) {
            map_put(&search->names, old->list[i]->name, strlen(old->list[i]->name),
                    (void *)old->list[i]);
        }
    }
    for (int i = 0; i < now->count; i++) {
        const struct instruction *instruction = now->list[i];
        const struct instruction *same =
            map_get(&search->names, instruction->name, strlen(instruction->name));
        if (now->once[instruction->parent->id] && same != NULL && fits(same, instruction)) {
            search->pairs[i] = same;
        }
    }
}

static void pair(struct search *search, const struct instruction *old,
                 const struct instruction *now)
{
    int at = index_of(&search->now, now);
    if (search->pairs[at] == NULL && fits(old, now) && search->old.once[old->parent->id] &&
        search->now.once[now->parent->id]) {
        search->pairs[at] = old;
    }
}

/* What stands at the same place among the operands of like users, users first: computations from
 * the last to the first, and their instructions likewise. */
static void pair_places(struct search *search)
{
    pair(search, search->old.module->entry->root, search->module->entry->root);
    for (int i = search->now.count - 1; i >= 0; i--) {
        const struct instruction *now = search->now.list[i], *old = search->pairs[i];
        if (old == NULL || old->opcode != now->opcode || old->operand_count != now->operand_count) {
            continue;
        }
        for (int k = 0; k < now->operand_count; k++) {
            pair(search, old->operands[k], now->operands[k]);
        }
        for (int c = 0; enters_once(now) && c < now->called_count && c < old->called_count; c++) {
            pair(search, old->called[c]->root, now->called[c]->root);
        }
    }
}

/* --- suspects --- */

static const struct literal *old_value(const struct search *search,
                                       const struct instruction *instruction)
{
    return instruction != NULL ? search->old.values[index_of(&search->old, instruction)] : NULL;
}

/* Where there is no old value to hold it against, an instruction is as clean as its operands. */
static double inherited(const struct search *search, const struct instruction *instruction)
{
    double moved = 0;
    for (int i = 0; i < instruction->operand_count; i++) {
        moved = fmax(moved, search->moved[index_of(&search->now, instruction->operands[i])]);
    }
    return moved;
}

static double moved_by(const struct search *search, const struct instruction *instruction)
{
    int at = index_of(&search->now, instruction);
    const struct literal *value = search->now.values[at];
    const struct literal *own = old_value(search, search->pairs[at]);
    double moved =
        value != NULL && own != NULL ? pass_deviation(own, value) : inherited(search, instruction);
    bool known = moved > 0 && value != NULL && pass_value_tells(value) &&
                 map_get_int(&search->by_value, pass_value_hash(value)) != NULL;
    return known ? 0 : moved;
}

/* In the order of evaluation: `caller` is NULL for the entry. */
static void measure(struct search *search, const struct computation *computation,
                    const struct instruction *caller)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        for (int c = 0; enters_once(instruction) && c < instruction->called_count; c++) {
            if (search->now.once[instruction->called[c]->id]) {
                measure(search, instruction->called[c], instruction);
            }
        }
        int at = index_of(&search->now, instruction);
        if (instruction->opcode != OP_PARAMETER) {
            search->moved[at] = moved_by(search, instruction);
        } else if (caller != NULL && instruction->number < caller->operand_count) {
            search->moved[at] =
                search->moved[index_of(&search->now, caller->operands[instruction->number])];
        }
    }
}

/* What the value of an operand depends on: itself, or for parameters of a fusion what was given. */
static bool all_clean(const struct search *search, const struct instruction *instruction,
                      double threshold)
{
    for (int i = 0; i < instruction->operand_count; i++) {
        int at = index_of(&search->now, instruction->operands[i]);
        if (search->moved[at] > threshold) {
            return false;
        }
    }
    /* Something within is to blame, not the whole. */
    for (int c = 0; enters_once(instruction) && c < instruction->called_count; c++) {
        const struct computation *called = instruction->called[c];
        for (int i = 0; search->now.once[called->id] && i < called->count; i++) {
            if (search->moved[search->now.base[called->id] + i] > threshold) {
                return false;
            }
        }
    }
    return true;
}

static bool is_replaceable(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_PARAMETER:
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_COPY_START:
    case OP_SEND:
    case OP_RECV:
    case OP_AFTER_ALL:
        return false;
    default:
        return shape_is_array(instruction->shape) || shape_is_tuple(instruction->shape);
    }
}

/* An old instruction that computes from the same values something of this shape. */
static const struct instruction *same_operands(const struct search *search,
                                               const struct instruction *now)
{
    for (int i = 0; i < search->old.count; i++) {
        const struct instruction *old = search->old.list[i];
        if (old->opcode != now->opcode || old->operand_count != now->operand_count ||
            !fits(old, now) || search->old.values[i] == NULL || now->operand_count == 0) {
            continue;
        }
        int found = 0;
        for (int k = 0; k < now->operand_count; k++) {
            const struct literal *value =
                search->now.values[index_of(&search->now, now->operands[k])];
            for (int j = 0; value != NULL && j < old->operand_count; j++) {
                const struct literal *other = old_value(search, old->operands[j]);
                if (other != NULL && pass_results_same(other, value)) {
                    found++;
                    break;
                }
            }
        }
        if (found == now->operand_count) {
            return old;
        }
    }
    return NULL;
}

struct suspect {
    struct instruction *instruction;
    const struct literal *choices[CHOICES]; /* old values that it may have had */
    int choice_count, choice;
    bool replaced;
    struct instruction before; /* as it is in the module */
};
struct suspects {
    struct suspect list[SUSPECTS_MOST];
    int count;
};

static void add_choice(const struct search *search, const struct instruction *old,
                       struct suspect *suspect)
{
    const struct literal *value = old_value(search, old);
    for (int i = 0; value != NULL && i < suspect->choice_count; i++) {
        value = pass_results_same(value, suspect->choices[i]) ? NULL : value;
    }
    if (value != NULL && suspect->choice_count < CHOICES) {
        suspect->choices[suspect->choice_count++] = value;
    }
}

static void find_suspects(const struct search *search, double threshold, struct suspects *suspects)
{
    suspects->count = 0;
    for (int i = 0; i < search->now.count && suspects->count < SUSPECTS_MOST; i++) {
        const struct instruction *instruction = search->now.list[i];
        if (!(search->moved[i] > threshold) || !search->now.once[instruction->parent->id] ||
            !is_replaceable(instruction) || !all_clean(search, instruction, threshold)) {
            continue;
        }
        struct suspect *suspect = &suspects->list[suspects->count++];
        *suspect =
            (struct suspect){.instruction = instruction->parent->instructions[instruction->id]};
        add_choice(search, search->pairs[i], suspect);
        add_choice(search, same_operands(search, instruction), suspect);
    }
}

/* --- replacing --- */

static void replace(struct suspect *suspect)
{
    struct instruction *instruction = suspect->instruction;
    const struct literal *value = suspect->choices[suspect->choice];
    suspect->before = *instruction;
    suspect->replaced = true;
    instruction->opcode = OP_CONSTANT;
    instruction->operand_count = instruction->called_count = instruction->attr_count = 0;
    instruction->literal = value->shape == instruction->shape || !shape_is_array(value->shape) ||
                                   value->dynamic_sizes != NULL
                               ? literal_retain(value)
                               : literal_view(value, instruction->shape);
}

static void restore(struct suspect *suspect)
{
    if (suspect->replaced) {
        literal_release(suspect->instruction->literal);
        *suspect->instruction = suspect->before;
        suspect->replaced = false;
    }
}

static bool is_exhausted(const struct search *search)
{
    double limit = search->options->seconds;
    return search->evaluations >= EVALUATIONS_MOST ||
           (limit > 0 && clock_seconds() - search->start > limit);
}

/* Do the suspects that are chosen restore the results? */
static bool restores(struct search *search, struct suspects *suspects, const bool *chosen)
{
    if (is_exhausted(search)) {
        return false;
    }
    for (int i = 0; i < suspects->count; i++) {
        if (chosen[i] && suspects->list[i].choice_count > 0) {
            replace(&suspects->list[i]);
        }
    }
    search->evaluations++;
    struct literal *results = pass_form_evaluate(search->form, search->options->arrays,
                                                 search->options->interp, NULL, NULL);
    bool good = false;
    if (results != NULL) {
        struct comparison comparison;
        literal_compare(search->options->old_results, results, search->options->bounds,
                        &comparison);
        good = comparison.equal;
        comparison_finish(&comparison);
    }
    literal_release(results);
    for (int i = 0; i < suspects->count; i++) {
        restore(&suspects->list[i]);
    }
    return good;
}

/* --- the fewest --- */

static int count_chosen(const bool *chosen, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum += chosen[i];
    }
    return sum;
}

/* Chooses of `from` the part-th of parts, or all but it. */
static void choose_part(const bool *from, int count, int part, int parts, bool complement,
                        bool *chosen)
{
    int total = count_chosen(from, count), seen = 0;
    int first = (int)((int64_t)total * part / parts);
    int end = (int)((int64_t)total * (part + 1) / parts);
    for (int i = 0; i < count; i++) {
        bool inside = from[i] && seen >= first && seen < end;
        seen += from[i];
        chosen[i] = from[i] && inside != complement;
    }
}

/* Delta debugging: `chosen` restores the results, and afterwards nothing can be left out of it (or
 * the time is over). */
static void reduce(struct search *search, struct suspects *suspects, bool *chosen)
{
    bool trial[SUSPECTS_MOST];
    int parts = 2;
    while (count_chosen(chosen, suspects->count) > 1 && !is_exhausted(search)) {
        int total = count_chosen(chosen, suspects->count);
        bool smaller = false;
        for (int step = 0; step < 2 * parts && !smaller; step++) {
            choose_part(chosen, suspects->count, step % parts, parts, step >= parts, trial);
            int left = count_chosen(trial, suspects->count);
            if (left > 0 && left < total && restores(search, suspects, trial)) {
                memcpy(chosen, trial, sizeof trial);
                parts = step < parts ? 2 : parts > 2 ? parts - 1 : 2;
                smaller = true;
            }
        }
        if (!smaller && parts >= total) {
            break;
        }
        parts = smaller ? parts : 2 * parts < total ? 2 * parts : total;
    }
}

/* All suspects with their first old values, and where that is not enough, with the other ones. */
static bool restore_all(struct search *search, struct suspects *suspects, bool *chosen)
{
    int replaceable = 0;
    for (int i = 0; i < suspects->count; i++) {
        chosen[i] = suspects->list[i].choice_count > 0;
        replaceable += chosen[i];
    }
    if (replaceable == 0) {
        return false;
    }
    if (restores(search, suspects, chosen)) {
        return true;
    }
    for (int i = 0; i < suspects->count; i++) {
        struct suspect *suspect = &suspects->list[i];
        while (suspect->choice + 1 < suspect->choice_count) {
            suspect->choice++;
            if (restores(search, suspects, chosen)) {
                return true;
            }
        }
        suspect->choice = 0;
    }
    return false;
}

/* Of a new instruction that gives several values, one stands for it. */
static const char *culprit_name(const struct search *search, const struct suspect *suspect)
{
    const struct instruction *instruction = suspect->instruction;
    bool part = instruction->opcode == OP_GET_TUPLE_ELEMENT &&
                search->pairs[index_of(&search->now, instruction->operands[0])] == NULL;
    return part ? instruction->operands[0]->name : instruction->name;
}

static void name_culprits(const struct search *search, const struct suspects *suspects,
                          const bool *chosen, bool restored, struct pass_finding *finding)
{
    for (int i = 0; i < finding->culprit_count; i++) {
        free(finding->culprits[i]);
    }
    free(finding->culprits);
    finding->culprits = memory_zalloc(((size_t)suspects->count + 1) * sizeof *finding->culprits);
    finding->culprit_count = 0;
    finding->restores = restored;
    for (int i = 0; i < suspects->count; i++) {
        if (chosen == NULL || chosen[i]) {
            finding->culprits[finding->culprit_count++] =
                memory_strdup(culprit_name(search, &suspects->list[i]));
        }
    }
}

/* The largest move of an output, by which a suspect's is measured. */
static double results_moved(const struct search *search)
{
    double moved = search->moved[index_of(&search->now, search->module->entry->root)];
    return isfinite(moved) ? moved : 1;
}

/* Where a loop is all that is at fault, and both modules have it, what in it is? */
static void enter_loop(struct search *search, const struct suspects *suspects, const bool *chosen,
                       const struct pass_form *old, struct pass_finding *finding)
{
    const struct suspect *suspect = NULL;
    for (int i = 0; i < suspects->count; i++) {
        suspect = chosen[i] ? &suspects->list[i] : suspect;
    }
    const struct instruction *now = suspect->instruction;
    now = now->opcode == OP_GET_TUPLE_ELEMENT ? now->operands[0] : now;
    const struct instruction *before = search->pairs[index_of(&search->now, now)];
    if (now->opcode == OP_WHILE && before != NULL && before->opcode == OP_WHILE) {
        pass_culprits_enter(old, before, search->form, now, search->options, finding);
    }
}

static void search_run(struct search *search, const struct pass_form *old,
                       struct pass_finding *finding)
{
    struct suspects *suspects = memory_zalloc(sizeof *suspects);
    bool chosen[SUSPECTS_MOST] = {false};
    /* Roundings that the pass may move are no reason to suspect anybody, at first. */
    double thresholds[] = {results_moved(search) / 16, 0};
    bool done = false;
    for (int i = search->options->exact ? 1 : 0; i < 2 && !done; i++) {
        find_suspects(search, thresholds[i], suspects);
        done = restore_all(search, suspects, chosen);
        if (done) {
            reduce(search, suspects, chosen);
            name_culprits(search, suspects, chosen, true, finding);
            if (finding->culprit_count == 1) {
                enter_loop(search, suspects, chosen, old, finding);
            }
        } else if (finding->culprit_count == 0) {
            name_culprits(search, suspects, NULL, false, finding);
        }
    }
    free(suspects);
}

void pass_culprits_find(const struct pass_form *old, const struct pass_form *now,
                        struct module *module, const struct pass_culprits_options *options,
                        struct pass_finding *finding)
{
    if (old->device_count != 1 || now->device_count != 1) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    struct search search = {
        .form = now, .module = module, .options = options, .start = clock_seconds()};
    side_make(old->module, options->bytes, &arena, &search.old);
    side_make(module, options->bytes, &arena, &search.now);
    search.pairs = arena_array(&arena, (size_t)search.now.count, sizeof(struct instruction *));
    search.moved = arena_array(&arena, (size_t)search.now.count, sizeof *search.moved);
    map_init(&search.names);
    map_init(&search.by_value);
    if (observe(old, options, &search.old) && observe(now, options, &search.now)) {
        index_values(&search.old, &search.by_value);
        pair_names(&search);
        pair_places(&search);
        measure(&search, module->entry, NULL);
        search_run(&search, old, finding);
    }
    side_release(&search.old);
    side_release(&search.now);
    map_finish(&search.names);
    map_finish(&search.by_value);
    arena_finish(&arena);
}
