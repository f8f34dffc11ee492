/* Modules for readers of any age (pjrt.h). */
#include <string.h>

#include "backend/pjrt/pjrt.h"
#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/groups.h"
#include "hlo/module.h"

static struct ints copy_ints(struct arena *arena, const int64_t *values, int64_t count)
{
    int64_t *copy = arena_array(arena, (size_t)count + 1, sizeof *copy);
    memcpy(copy, values, (size_t)count * sizeof *copy);
    return (struct ints){(int)count, copy};
}

/* The groups as a list of lists, where old readers look; NULL when they contradict each other. */
static struct groups *make_list(struct arena *arena, const struct groups *groups)
{
    struct id_list ids;
    struct groups *list = arena_alloc(arena, sizeof *list);
    if (groups->form == GROUPS_LIST) {
        *list = *groups;
        list->for_old_readers = true;
        return list;
    }
    if (!groups_expand(groups, 1, &ids)) {
        return NULL;
    }
    struct ints *lists = arena_array(arena, (size_t)ids.group_count + 1, sizeof *lists);
    for (int64_t g = 0; g < ids.group_count; g++) {
        lists[g] = copy_ints(arena, ids.ids + ids.starts[g], ids.starts[g + 1] - ids.starts[g]);
    }
    list->form = GROUPS_LIST;
    list->for_old_readers = true;
    list->list = (struct lists){(int)ids.group_count, lists, true};
    id_list_finish(&ids);
    return list;
}

bool module_say_as_ever(struct module *module, struct error *err)
{
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            const struct groups *groups = attr_groups(instruction);
            if (groups == NULL) {
                continue;
            }
            struct groups *list = make_list(&module->arena, groups);
            if (list == NULL) {
                return error_set(err, ERROR_INVALID_ARGUMENT, "%s: replica_groups name no devices",
                                 instruction->name);
            }
            instruction_set_attr(instruction,
                                 (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = list});
        }
    }
    return true;
}
