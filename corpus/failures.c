/* Checks that failed, as (got, want) pairs: a copy of the module gives the operands of those
 * checks, and no check is in it. */
#include <stdlib.h>
#include <string.h>

#include "compare/checks.h"
#include "compare/compare.h"
#include "corpus/pairs.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

/* Each failed check of the entry once, with its bound; how many. */
static int entry_failures(const struct module *module, const struct checks *checks,
                          const struct instruction **failures, struct bound *bounds)
{
    int count = 0;
    for (int64_t i = 0; i < checks->failed; i++) {
        const struct instruction *check = checks->failures[i];
        bool known = check->parent != module->entry;
        for (int k = 0; k < count; k++) {
            known |= failures[k] == check;
        }
        if (!known && check_bound(check, &bounds[count])) {
            failures[count++] = check;
        }
    }
    return count;
}

/* The pairs under construction: complex ones part by part, as the checks compare them. */
struct pair_list {
    int count; /* of operands: two a pair */
    struct instruction **operands;
    const struct shape **shapes;
    struct bound *bounds; /* [pair] */
};

static void add_pair(struct pair_list *list, const struct instruction *check,
                     const struct bound *bound)
{
    struct computation *entry = check->parent;
    enum type type = check->operands[0]->shape->type;
    static const enum opcode parts[] = {OP_REAL, OP_IMAG};
    for (int part = 0; part < (type_is_complex(type) ? 2 : 1); part++) {
        list->bounds[list->count / 2] = *bound;
        for (int k = 0; k < 2; k++) {
            struct instruction *operand = check->operands[k];
            if (type_is_complex(type)) {
                const char *name =
                    arena_printf(&entry->module->arena, "part of checks %d", list->count);
                const struct shape *shape = shape_with_type(operand->shape, type_part(type));
                operand = instruction_add(entry, name, parts[part], shape, 1, &operand);
            }
            list->shapes[list->count] = operand->shape;
            list->operands[list->count++] = operand;
        }
    }
}

/* The copy's checks go, and its result becomes the operands of the failed ones. Fills
 * list->bounds, which has room for two a check. */
static bool rewrite(struct module *copy, const struct instruction *const *failures,
                    const struct bound *bounds, int count, struct pair_list *list,
                    struct error *err)
{
    struct computation *entry = copy->entry;
    size_t most = 4 * (size_t)count;
    list->operands = arena_array(&copy->arena, most, sizeof(struct instruction *));
    list->shapes = arena_array(&copy->arena, most, sizeof(struct shape *));
    list->bounds = arena_array(&copy->arena, most, sizeof *list->bounds);
    for (int i = 0; i < count; i++) {
        add_pair(list, computation_find(entry, failures[i]->name), &bounds[i]);
    }
    int kept = 0;
    for (int i = 0; i < entry->count; i++) {
        struct instruction *instruction = entry->instructions[i];
        bool is_void = shape_is_tuple(instruction->shape) && instruction->shape->count == 0;
        if (!is_void || !checks_is_check(instruction) || instruction == entry->root) {
            entry->instructions[kept++] = instruction;
        }
    }
    entry->count = kept;
    entry->root =
        instruction_add(entry, "pairs of checks", OP_TUPLE, shape_tuple(list->count, list->shapes),
                        list->count, list->operands);
    copy->config.has_entry_layout = false;
    copy->config.alias_count = copy->config.donor_count = 0;
    return module_finish(copy, err);
}

static bool look_again(const struct pairs *pairs, const struct instruction *const *failures,
                       const struct bound *bounds, int count, int *rounded, struct text *picture,
                       struct error *err)
{
    struct module *copy = text_copy_module(pairs->module, err);
    struct pair_list list = {0};
    if (copy == NULL || !rewrite(copy, failures, bounds, count, &list, err)) {
        module_destroy(copy);
        return false;
    }
    struct interp_options options = *pairs->options;
    options.on_check = NULL;
    struct literal *result =
        interp_evaluate(copy, pairs->arguments, pairs->argument_count, &options, err);
    struct pairs again = {.module = copy,
                          .arguments = pairs->arguments,
                          .argument_count = pairs->argument_count,
                          .options = &options,
                          .result = result,
                          .bounds = list.bounds};
    struct pairs_outcome outcome = {0};
    bool ok = result != NULL && pairs_check(&again, &outcome, picture, err);
    *rounded = outcome.failed == 0 ? count : 0;
    literal_release(result);
    module_destroy(copy);
    return ok;
}

bool pairs_check_failures(const struct pairs *pairs, const struct checks *checks, int *rounded,
                          struct text *picture, struct error *err)
{
    size_t most = (size_t)checks->failed + 1;
    const struct instruction **failures = memory_zalloc(most * sizeof(struct instruction *));
    struct bound *bounds = memory_zalloc(most * sizeof *bounds);
    int count = entry_failures(pairs->module, checks, failures, bounds);
    *rounded = 0;
    bool ok = count == 0 || look_again(pairs, failures, bounds, count, rounded, picture, err);
    free(failures);
    free(bounds);
    return ok;
}
