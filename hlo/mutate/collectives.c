/* Faults of what devices do together. */
#include <stdlib.h>

#include "hlo/groups.h"
#include "hlo/mutate/mutate_internal.h"

static bool is_collective(enum opcode opcode)
{
    static const enum opcode collectives[] = {
        OP_ALL_REDUCE,     OP_ALL_REDUCE_START, OP_ALL_GATHER,           OP_ALL_GATHER_START,
        OP_REDUCE_SCATTER, OP_ALL_TO_ALL,       OP_COLLECTIVE_BROADCAST,
    };
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        if (opcode == collectives[i]) {
            return true;
        }
    }
    return false;
}

/* How many ids one group of all has. Source: xla/hlo/ir/collective_op_group_mode.cc. */
static int64_t all_ids(const struct instruction *instruction)
{
    const struct module_config *config = &instruction->parent->module->config;
    bool channel = attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0;
    if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)) {
        return config->replica_count * config->partition_count;
    }
    bool gathers =
        instruction->opcode == OP_ALL_TO_ALL || instruction->opcode == OP_COLLECTIVE_BROADCAST;
    return channel && gathers ? config->partition_count : config->replica_count;
}

/* Groups of equal size as the attribute holds them. */
static void set_groups(struct instruction *instruction, const int64_t *ids, int count, int size)
{
    struct arena *arena = &instruction->parent->module->arena;
    struct groups *groups = arena_alloc(arena, sizeof *groups);
    struct ints *lists = arena_array(arena, (size_t)count, sizeof *lists);
    for (int g = 0; g < count; g++) {
        lists[g] = (struct ints){
            size, arena_copy(arena, ids + (ptrdiff_t)g * size, (size_t)size * sizeof *ids)};
    }
    groups->form = GROUPS_LIST;
    groups->list = (struct lists){count, lists, true};
    instruction_set_attr(instruction, (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = groups});
}

static void exchange_ids(struct instruction *instruction, struct id_list *list, struct text *what)
{
    int count = (int)list->group_count, size = (int)list->starts[1];
    bool reduces =
        instruction->opcode == OP_ALL_REDUCE || instruction->opcode == OP_ALL_REDUCE_START;
    int64_t *a = &list->ids[size - 1], *b = &list->ids[count > 1 ? size : 0];
    if (count == 1 && reduces) {
        text_append(what, "every device keeps what it has");
        set_groups(instruction, list->ids, size, 1);
        return;
    }
    text_printf(what, "device %lld takes the place of %lld", (long long)*a, (long long)*b);
    int64_t held = *a;
    *a = *b;
    *b = held;
    set_groups(instruction, list->ids, count, size);
}

bool mutate_replica_groups(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct id_list list;
    (void)rng;
    if (!is_collective(instruction->opcode) ||
        !groups_expand(attr_groups(instruction), all_ids(instruction), &list)) {
        return false;
    }
    int64_t size = list.group_count > 0 ? list.starts[1] : 0;
    bool good = list.group_count > 0 && size > 0 && (list.group_count > 1 || size > 1) &&
                list.starts[list.group_count] == list.group_count * size;
    for (int64_t g = 0; good && g < list.group_count; g++) {
        good = list.starts[g] == g * size;
    }
    /* Groups of one device each can only be joined; an all-reduce of pairs split. */
    good = good && size > 1;
    if (good && what != NULL) {
        exchange_ids(instruction, &list, what);
    }
    id_list_finish(&list);
    return good;
}

bool mutate_pairs(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_COLLECTIVE_PERMUTE &&
        instruction->opcode != OP_COLLECTIVE_PERMUTE_START) {
        return false;
    }
    struct ints pairs = attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS);
    if (pairs.count < 4) {
        return false;
    }
    if (what != NULL) {
        int64_t *values = edit_ints(instruction, pairs);
        int64_t held = values[1];
        values[1] = values[3];
        values[3] = held;
        text_printf(what, "device %lld sends to %lld instead of %lld", (long long)values[0],
                    (long long)values[1], (long long)held);
        edit_set_ints(instruction, ATTR_SOURCE_TARGET_PAIRS, pairs.count, values);
    }
    return true;
}
