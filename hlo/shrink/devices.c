/* Simplification: fewer devices. Arguments of devices that are gone go with them, groups of
 * collectives keep the devices that are left, and sizes that depend on how many there are follow.
 * Or: all devices get the arguments of the first. */
#include <stdlib.h>

#include "hlo/groups.h"
#include "hlo/shrink/shrink_internal.h"

/* Variants: a device alone; from these on, what part of the grid is left. */
enum {
    DEVICES_TRIED = 16,
    VARIANT_SAME = 1 << 20, /* the first one's arguments for all */
    VARIANT_PARTS,
};

/* A part of the grid: ranges of replicas and of partitions. */
struct grid_part {
    int64_t replica, replicas, partition, partitions;
};

static int64_t at_least_one(int64_t count)
{
    return count > 1 ? count : 1;
}

/* Halves, and all but the last. False when that is no smaller part. */
static bool part_of(int64_t replicas, int64_t partitions, int64_t variant, struct grid_part *part)
{
    *part = (struct grid_part){0, replicas, 0, partitions};
    if (variant < DEVICES_TRIED) {
        *part = (struct grid_part){variant / partitions, 1, variant % partitions, 1};
        return variant < replicas * partitions;
    }
    int64_t which = variant - VARIANT_PARTS;
    int64_t *first = which % 2 == 0 ? &part->replica : &part->partition;
    int64_t *count = which % 2 == 0 ? &part->replicas : &part->partitions;
    int64_t whole = *count;
    *count = which / 2 < 2 ? whole / 2 : whole - 1;
    *first = which / 2 == 1 ? whole - *count : 0;
    return *count >= 1 && *count < whole;
}

void find_devices(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module_config *config = &specimen->module->config;
    int64_t replicas = at_least_one(config->replica_count),
            partitions = at_least_one(config->partition_count);
    struct grid_part part;
    if (replicas * partitions == 1) {
        return;
    }
    for (int64_t d = 0; d < DEVICES_TRIED && d < replicas * partitions; d++) {
        place_add(places, 0, 0, d);
    }
    for (int64_t which = 0; which < 6; which++) {
        if (part_of(replicas, partitions, VARIANT_PARTS + which, &part)) {
            place_add(places, 0, 0, VARIANT_PARTS + which);
        }
    }
    place_add(places, 0, 0, VARIANT_SAME);
}

/* --- groups --- */

/* What an id becomes in the smaller grid, −1: its device is gone. What ids stand for is as in
 * xla/service/collective_ops_utils.cc (GetCollectiveOpGroupMode). */
static int64_t id_in_part(const struct instruction *instruction, const struct grid_part *part,
                          int64_t partitions, int64_t id)
{
    bool channel = attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0;
    bool reduces = opcode_takes(instruction->opcode, ATTR_USE_GLOBAL_DEVICE_IDS);
    if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)) {
        int64_t replica = id / partitions - part->replica,
                partition = id % partitions - part->partition;
        bool left = replica >= 0 && replica < part->replicas && partition >= 0 &&
                    partition < part->partitions;
        return left ? replica * part->partitions + partition : -1;
    }
    int64_t first = channel && !reduces ? part->partition : part->replica;
    int64_t count = channel && !reduces ? part->partitions : part->replicas;
    return id >= first && id < first + count ? id - first : -1;
}

/* All ids that there can be in the groups of the instruction. */
static int64_t ids_of(const struct instruction *instruction, int64_t replicas, int64_t partitions)
{
    if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)) {
        return replicas * partitions;
    }
    bool channel = attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0;
    bool reduces = opcode_takes(instruction->opcode, ATTR_USE_GLOBAL_DEVICE_IDS);
    return channel && !reduces ? partitions : replicas;
}

static bool keep_groups(struct instruction *instruction, const struct grid_part *part,
                        int64_t replicas, int64_t partitions)
{
    const struct groups *groups = attr_groups(instruction);
    struct id_list ids;
    if (groups == NULL || (groups->form == GROUPS_LIST && groups->list.count == 0)) {
        return true; /* all devices, however many */
    }
    if (!groups_expand(groups, ids_of(instruction, replicas, partitions), &ids)) {
        return false;
    }
    struct arena *arena = &instruction->parent->module->arena;
    struct ints *lists = arena_array(arena, (size_t)ids.group_count + 1, sizeof *lists);
    int kept = 0;
    for (int64_t g = 0; g < ids.group_count; g++) {
        int64_t size = ids.starts[g + 1] - ids.starts[g];
        int64_t *values = arena_array(arena, (size_t)size + 1, sizeof *values);
        int count = 0;
        for (int64_t i = ids.starts[g]; i < ids.starts[g + 1]; i++) {
            int64_t id = id_in_part(instruction, part, partitions, ids.ids[i]);
            if (id >= 0) {
                values[count++] = id;
            }
        }
        if (count > 0) {
            lists[kept++] = (struct ints){count, values};
        }
    }
    id_list_finish(&ids);
    struct groups *made = arena_array(arena, 1, sizeof *made);
    *made = (struct groups){.form = GROUPS_LIST, .list = {kept, lists, true}};
    instruction_set_attr(instruction, (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = made});
    return true;
}

static void keep_pairs(struct instruction *instruction, const struct grid_part *part,
                       int64_t partitions)
{
    const struct attr *attr = attr_get(instruction, ATTR_SOURCE_TARGET_PAIRS);
    if (attr == NULL) {
        return;
    }
    int64_t *values = arena_array(&instruction->parent->module->arena, (size_t)attr->ints.count + 1,
                                  sizeof *values);
    int count = 0;
    for (int i = 0; i + 1 < attr->ints.count; i += 2) {
        int64_t source = id_in_part(instruction, part, partitions, attr->ints.values[i]);
        int64_t target = id_in_part(instruction, part, partitions, attr->ints.values[i + 1]);
        if (source >= 0 && target >= 0) {
            values[count++] = source;
            values[count++] = target;
        }
    }
    instruction_set_attr(instruction,
                         (struct attr){.key = ATTR_SOURCE_TARGET_PAIRS, .ints = {count, values}});
}

/* --- arguments --- */

static void keep_arguments(struct specimen *specimen, const struct grid_part *part,
                           int64_t partitions)
{
    int each = specimen->argument_count;
    int kept = (int)(part->replicas * part->partitions);
    struct literal **arguments =
        memory_zalloc(((size_t)kept * (size_t)each + 1) * sizeof *arguments);
    for (int d = 0; d < kept; d++) {
        int64_t replica = part->replica + d / part->partitions,
                partition = part->partition + d % part->partitions;
        int64_t set = specimen->set_count > 1 ? replica * partitions + partition : 0;
        for (int k = 0; k < each; k++) {
            arguments[d * each + k] = literal_retain(specimen->arguments[set * each + k]);
        }
    }
    for (int i = 0; i < specimen_argument_total(specimen); i++) {
        literal_release(specimen->arguments[i]);
    }
    free(specimen->arguments);
    specimen->arguments = arguments;
    specimen->set_count = kept;
}

static bool share_arguments(struct specimen *specimen)
{
    bool changed = false;
    int each = specimen->argument_count;
    for (int i = each; i < specimen_argument_total(specimen); i++) {
        if (specimen->arguments[i] != specimen->arguments[i % each]) {
            shrink_set_argument(specimen, i, literal_retain(specimen->arguments[i % each]));
            changed = true;
        }
    }
    return changed;
}

static bool prepare_devices(const struct specimen *original, struct specimen *copy,
                            struct shrink_place place)
{
    struct module *module = copy->module;
    int64_t replicas = at_least_one(original->module->config.replica_count),
            partitions = at_least_one(original->module->config.partition_count);
    struct grid_part part;
    if (place.variant == VARIANT_SAME) {
        return share_arguments(copy);
    }
    if (!part_of(replicas, partitions, place.variant, &part)) {
        return false;
    }
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            struct instruction *instruction = module->computations[c]->instructions[i];
            keep_pairs(instruction, &part, partitions);
            if (!keep_groups(instruction, &part, replicas, partitions)) {
                return false;
            }
        }
    }
    keep_arguments(copy, &part, partitions);
    module->config.replica_count = part.replicas;
    module->config.partition_count = part.partitions;
    return true;
}

bool apply_devices(const struct specimen *original, struct specimen *copy,
                   struct shrink_place place, shrink_value *value, void *context)
{
    struct size_rules none = {0};
    (void)value;
    (void)context;
    return shrink_resize(original, copy, prepare_devices, place, &none);
}
