/* Who takes part in a collective: the four modes of replica_groups. */
#include "interp/groups.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/groups.h"
#include "interp/devices.h"

long long collective_channel(const struct instruction *instruction)
{
    int64_t channel = attr_int(instruction, ATTR_CHANNEL_ID, 0);
    return channel > 0 ? channel : -1;
}

enum group_mode group_mode_of(const struct instruction *instruction)
{
    bool channel = collective_channel(instruction) >= 0;
    switch (instruction->opcode) {
    case OP_ALL_GATHER:
    case OP_ALL_GATHER_START:
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_REDUCE_SCATTER:
        if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)) {
            return GROUP_FLATTENED_ID;
        }
        return channel ? GROUP_CROSS_REPLICA_AND_PARTITION : GROUP_CROSS_REPLICA;
    default:
        return channel ? GROUP_CROSS_PARTITION : GROUP_CROSS_REPLICA;
    }
}

int group_device(const struct evaluation *evaluation, enum group_mode mode, long long id)
{
    int replicas = grid_replicas(evaluation), partitions = grid_partitions(evaluation);
    switch (mode) {
    case GROUP_CROSS_REPLICA:
        return id >= 0 && id < replicas ? (int)id * partitions + evaluation->partition : -1;
    case GROUP_CROSS_PARTITION:
        return id >= 0 && id < partitions ? evaluation->replica * partitions + (int)id : -1;
    default:
        return id >= 0 && id < (long long)replicas * partitions ? (int)id : -1;
    }
}

/* --- the group of this device --- */

static int64_t own_id(const struct evaluation *evaluation, enum group_mode mode)
{
    switch (mode) {
    case GROUP_CROSS_PARTITION:
        return evaluation->partition;
    case GROUP_FLATTENED_ID:
        return grid_device(evaluation);
    default:
        return evaluation->replica;
    }
}

static int64_t id_count(const struct evaluation *evaluation, enum group_mode mode)
{
    switch (mode) {
    case GROUP_CROSS_PARTITION:
        return grid_partitions(evaluation);
    case GROUP_FLATTENED_ID:
        return grid_device_count(evaluation);
    default:
        return grid_replicas(evaluation);
    }
}

/* Fills in the devices of ids[0 .. count); those that do not exist are left out. */
static void fill_group(const struct evaluation *evaluation, enum group_mode mode,
                       const int64_t *ids, int64_t count, struct group *group)
{
    bool both = mode == GROUP_CROSS_REPLICA_AND_PARTITION;
    int each = both ? grid_partitions(evaluation) : 1;
    group->size = (int)count * each;
    group->devices = memory_alloc((size_t)group->size * sizeof *group->devices);
    group->places = memory_alloc((size_t)group->size * sizeof *group->places);
    int self = grid_device(evaluation);
    for (int i = 0; i < group->size; i++) {
        int64_t id = ids[i / each];
        if (id < 0 || id >= id_count(evaluation, mode)) {
            continue;
        }
        int device =
            both ? (int)id * each + i % each : group_device(evaluation, mode, (long long)id);
        if (device == self) {
            group->position = group->count;
        }
        group->places[group->count] = i;
        group->devices[group->count++] = device;
    }
    if (group->count == group->size) {
        free(group->places);
        group->places = NULL;
    }
}

bool group_find(struct evaluation *evaluation, const struct instruction *instruction,
                struct group *group, struct error *err)
{
    *group = (struct group){.position = -1};
    const struct groups *groups = attr_groups(instruction);
    enum group_mode mode = group_mode_of(instruction);
    struct id_list list;
    if (!groups_expand(groups, id_count(evaluation, mode), &list)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "the groups of %s are inconsistent",
                         instruction->name);
    }
    int64_t self = own_id(evaluation, mode);
    for (int64_t g = 0; g < list.group_count; g++) {
        for (int64_t i = list.starts[g]; i < list.starts[g + 1]; i++) {
            if (list.ids[i] == self) {
                fill_group(evaluation, mode, list.ids + list.starts[g],
                           list.starts[g + 1] - list.starts[g], group);
                g = list.group_count;
                break;
            }
        }
    }
    id_list_finish(&list);
    return true;
}

void group_finish(struct group *group)
{
    free(group->devices);
    free(group->places);
    *group = (struct group){.position = -1};
}
