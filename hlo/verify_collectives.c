/* Verifier: replica groups, channels and source-target pairs of collectives.
 * Source: xla/service/hlo_verifier.cc (CheckReplicaGroups, GetSubgroupSize,
 * CheckDuplicatedSourceOrTarget, CheckInplaceCollectivePermute, HandleRaggedAllToAll,
 * VerifyChannels), xla/service/collective_ops_utils.cc (GetCollectiveOpGroupMode). */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/map.h"
#include "hlo/infer_internal.h"
#include "hlo/verify_internal.h"

#define REPORT(...) \
    verify_report(findings, instruction, instruction_where(instruction), __VA_ARGS__)

/* What the ids in replica_groups count. */
enum group_mode { MODE_REPLICA, MODE_PARTITION, MODE_REPLICA_AND_PARTITION, MODE_FLATTENED };

static const struct {
    enum opcode opcode;
    bool has_global_ids; /* takes use_global_device_ids */
    bool is_uniform;     /* groups must have one size */
} collectives[] = {
    {OP_ALL_GATHER, true, true},         {OP_ALL_GATHER_START, true, true},
    {OP_ALL_REDUCE, true, false},        {OP_ALL_REDUCE_START, true, false},
    {OP_REDUCE_SCATTER, true, true},     {OP_ALL_TO_ALL, false, true},
    {OP_RAGGED_ALL_TO_ALL, false, true},
};

static bool has_channel(const struct instruction *instruction)
{
    return attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0;
}

static enum group_mode group_mode(const struct instruction *instruction, bool has_global_ids)
{
    if (!has_channel(instruction)) {
        return MODE_REPLICA;
    }
    if (!has_global_ids) {
        return MODE_PARTITION;
    }
    return attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false) ? MODE_FLATTENED
                                                                     : MODE_REPLICA_AND_PARTITION;
}

/* Devices of a mesh, and of the axes that groups run over; −1 beyond any sensible number. */
static int64_t mesh_size(const struct mesh *mesh)
{
    int64_t size = 1;
    for (int a = 0; a < mesh->axis_count; a++) {
        if (__builtin_mul_overflow(size, mesh->axes[a].size, &size)) {
            return -1;
        }
    }
    return size;
}

static int64_t axes_size(const struct groups *groups)
{
    int64_t size = 1;
    for (int i = 0; i < groups->axes.count; i++) {
        const struct axis_ref *ref = &groups->axes.axes[i];
        if (ref->axis < 0 || ref->axis >= groups->mesh.axis_count) {
            return -1;
        }
        int64_t part = ref->size > 0 ? ref->size : groups->mesh.axes[ref->axis].size;
        if (__builtin_mul_overflow(size, part, &size)) {
            return -1;
        }
    }
    return size;
}

/* Groups and their sizes; 0 groups stand for one of everybody. */
static int64_t group_count(const struct groups *groups)
{
    if (groups == NULL) {
        return 0;
    }
    if (groups->form == GROUPS_MESH) {
        int64_t each = axes_size(groups), all = mesh_size(&groups->mesh);
        return each > 0 && all > 0 ? all / each : 0;
    }
    return groups->form == GROUPS_IOTA ? groups->group_count : groups->list.count;
}

static int64_t first_group_size(const struct groups *groups)
{
    return groups->form == GROUPS_IOTA   ? groups->group_size
           : groups->form == GROUPS_MESH ? axes_size(groups)
                                         : groups->list.lists[0].count;
}

/* The ids must be 0 to n−1, each once; n is returned, or −1. */
static int64_t check_ids(const struct instruction *instruction, const struct lists *list,
                         struct findings *findings)
{
    size_t total = 0;
    for (int i = 0; i < list->count; i++) {
        if (list->lists[i].count == 0) {
            REPORT("%s has an empty replica group", instruction->name);
            return -1;
        }
        total += (size_t)list->lists[i].count;
    }
    bool *seen = memory_zalloc(total);
    bool ok = true;
    for (int i = 0; ok && i < list->count; i++) {
        for (int k = 0; ok && k < list->lists[i].count; k++) {
            int64_t id = list->lists[i].values[k];
            ok = id >= 0 && (uint64_t)id < total && !seen[id];
            if (!ok) {
                REPORT("%s: replica_groups of %zu ids must hold each of 0 to %zu once, but %lld "
                       "is beyond or there twice",
                       instruction->name, total, total - 1, (long long)id);
            } else {
                seen[id] = true;
            }
        }
    }
    free(seen);
    return ok ? (int64_t)total : -1;
}

static void check_groups(const struct instruction *instruction, enum group_mode mode,
                         bool is_uniform, struct findings *findings)
{
    const struct module_config *config = &instruction->parent->module->config;
    const struct groups *groups = attr_groups(instruction);
    if (group_count(groups) == 0) {
        if (mode == MODE_FLATTENED) {
            REPORT("%s: use_global_device_ids needs replica_groups", instruction->name);
        }
        return;
    }
    int64_t total = groups->form == GROUPS_IOTA   ? groups->group_count * groups->group_size
                    : groups->form == GROUPS_MESH ? mesh_size(&groups->mesh)
                                                  : check_ids(instruction, &groups->list, findings);
    if (total < 0) {
        return;
    }
    int64_t wanted = mode == MODE_PARTITION ? config->partition_count : config->replica_count;
    if (mode == MODE_FLATTENED &&
        __builtin_mul_overflow(wanted, config->partition_count, &wanted)) {
        wanted = INT64_MAX;
    }
    if (wanted != 1 && total != wanted) { /* 1 is the default: nobody said how many there are */
        REPORT("%s: replica_groups hold %lld ids, but there are %lld", instruction->name,
               (long long)total, (long long)wanted);
    }
    for (int i = 1; is_uniform && groups->form == GROUPS_LIST && i < groups->list.count; i++) {
        if (groups->list.lists[i].count != groups->list.lists[0].count) {
            REPORT("%s: replica groups must have one size", instruction->name);
            return;
        }
    }
}

/* How many devices take part in a group; 1 may mean that nobody said. */
static int64_t subgroup_size(const struct instruction *instruction, enum group_mode mode)
{
    const struct module_config *config = &instruction->parent->module->config;
    const struct groups *groups = attr_groups(instruction);
    bool has_groups = group_count(groups) > 0;
    switch (mode) {
    case MODE_PARTITION:
        return has_groups ? first_group_size(groups) : config->partition_count;
    case MODE_FLATTENED:
        return has_groups ? first_group_size(groups) : 1;
    default: {
        int64_t size = has_groups ? first_group_size(groups) : config->replica_count, all;
        if (__builtin_mul_overflow(size, config->partition_count, &all)) {
            all = INT64_MAX;
        }
        return mode == MODE_REPLICA ? size : all;
    }
    }
}

/* Does the module run programs of its own on a grid that its header does not tell
 * (mlir/import/parallel.c)? What depends on the grid is then checked as they run. */
static bool runs_programs(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            if (instruction->opcode == OP_CUSTOM_CALL &&
                strcmp(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET),
                       "interpreter.run_parallel") == 0) {
                return true;
            }
        }
    }
    return false;
}

static void check_sizes(const struct instruction *instruction, enum group_mode mode,
                        struct findings *findings)
{
    int64_t size = subgroup_size(instruction, mode);
    if (size < 1) { /* reported elsewhere */
        return;
    }
    if (instruction->opcode == OP_ALL_GATHER || instruction->opcode == OP_ALL_GATHER_START ||
        instruction->opcode == OP_REDUCE_SCATTER) {
        int64_t shards = infer_shards(instruction);
        if (size != 1 && shards != size && !runs_programs(instruction->parent->module)) {
            REPORT("%s: the shape tells of %lld parts, but groups have %lld devices",
                   instruction->name, (long long)shards, (long long)size);
        }
        return;
    }
    if (instruction->opcode != OP_ALL_TO_ALL) {
        return;
    }
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    const struct shape *first =
        instruction->operand_count > 0 ? operand_shape(instruction, 0) : shape_token();
    if (dimensions.count == 0 && instruction->operand_count != size) {
        REPORT("%s has %d operands for groups of %lld devices", instruction->name,
               instruction->operand_count, (long long)size);
    } else if (dimensions.count == 1 &&
               (dimensions.values[0] < 0 || dimensions.values[0] >= first->rank)) {
        REPORT("%s: dimension %lld is out of the range of %s", instruction->name,
               (long long)dimensions.values[0], shape_text(first));
    } else if (dimensions.count == 1 && first->dimensions[dimensions.values[0]] % size != 0) {
        REPORT("%s: dimension %lld of %s does not divide by %lld", instruction->name,
               (long long)dimensions.values[0], shape_text(first), (long long)size);
    }
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* How often a device may send, or receive: once, or once for each slice of a permute in place. */
static int allowed_pairs(const struct instruction *instruction)
{
    if (attr_get(instruction, ATTR_SLICE_SIZES) == NULL || instruction->operand_count != 4) {
        return 1;
    }
    const struct shape *offsets = operand_shape(instruction, 2);
    bool is_tuple = shape_is_tuple(operand_shape(instruction, 0)) && offsets->count > 0;
    return is_tuple ? offsets->elements[0]->count : offsets->count;
}

static void check_source_targets(const struct instruction *instruction, struct findings *findings)
{
    const struct module_config *config = &instruction->parent->module->config;
    struct ints pairs = attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS);
    int count = pairs.count / 2, allowed = allowed_pairs(instruction);
    int64_t limit = has_channel(instruction) ? config->partition_count : config->replica_count;
    if (limit == 1) { /* the default: nobody said how many there are */
        limit = INT64_MAX;
    }
    int64_t *ids = memory_alloc((size_t)count * sizeof *ids);
    for (int side = 0; side < 2; side++) {
        const char *what = side == 0 ? "source" : "target";
        for (int i = 0; i < count; i++) {
            ids[i] = pairs.values[2 * i + side];
        }
        qsort(ids, (size_t)count, sizeof *ids, compare_ids);
        for (int i = 0; i < count; i++) {
            if (ids[i] < 0 || ids[i] >= limit) {
                REPORT("%s: %s %lld in source_target_pairs is not a device", instruction->name,
                       what, (long long)ids[i]);
                break;
            }
            if (i >= allowed && ids[i] == ids[i - allowed]) {
                REPORT("%s: %s %lld is there twice in source_target_pairs", instruction->name, what,
                       (long long)ids[i]);
                break;
            }
        }
    }
    free(ids);
}

/* The offsets of slices of an array: a tuple with an offset a dimension, or several such tuples. */
static bool offsets_fit(const struct shape *array, const struct shape *offsets)
{
    if (!shape_is_tuple(offsets)) {
        return false;
    }
    bool several = offsets->count > 0 && shape_is_tuple(offsets->elements[0]);
    bool fits = several || offsets->count == array->rank;
    for (int i = 0; fits && i < offsets->count; i++) {
        const struct shape *element = offsets->elements[i];
        fits = shape_is_tuple(element) == several && (several || shape_is_array(element)) &&
               (!several || element->count == array->rank);
    }
    return fits;
}

/* Operands: input, output, input offsets, output offsets; or tuples of each. */
static void check_in_place(const struct instruction *instruction, struct findings *findings)
{
    if (instruction->operand_count != 4) {
        REPORT("%s in place takes 4 operands, not %d", instruction->name,
               instruction->operand_count);
        return;
    }
    for (int side = 0; side < 2; side++) {
        const struct shape *buffer = operand_shape(instruction, side);
        const struct shape *offsets = operand_shape(instruction, side + 2);
        bool fits = shape_is_tuple(buffer) == shape_is_tuple(operand_shape(instruction, 0));
        if (fits && shape_is_tuple(buffer)) {
            fits = buffer->count == operand_shape(instruction, 0)->count &&
                   shape_is_tuple(offsets) && offsets->count == buffer->count;
            for (int i = 0; fits && i < buffer->count; i++) {
                fits = shape_is_array(buffer->elements[i]) &&
                       offsets_fit(buffer->elements[i], offsets->elements[i]);
            }
        } else if (fits) {
            fits = shape_is_array(buffer) && offsets_fit(buffer, offsets);
        }
        if (!fits) {
            REPORT("%s: offsets %s do not fit %s", instruction->name, shape_text(offsets),
                   shape_text(buffer));
            return;
        }
    }
}

/* The four operands after input and output are alike, of one or two dimensions. */
static void check_ragged(const struct instruction *instruction, struct findings *findings)
{
    for (int i = 2; i < instruction->operand_count; i++) {
        const struct shape *shape = operand_shape(instruction, i);
        if (!shape_is_array(shape) || shape->rank < 1 || shape->rank > 2 ||
            !shape_compatible(shape, operand_shape(instruction, 2))) {
            REPORT("%s: operand %d must be of one or two dimensions and as the other offsets and "
                   "sizes, but it is %s",
                   instruction->name, i, shape_text(shape));
            return;
        }
    }
}

void verify_host_transfers(const struct module *module, struct findings *findings)
{
    struct map channels; /* channel → its first transfer */
    map_init(&channels);
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            if ((instruction->opcode != OP_SEND && instruction->opcode != OP_RECV) ||
                !attr_bool(instruction, ATTR_IS_HOST_TRANSFER, false) ||
                !has_channel(instruction)) {
                continue;
            }
            int64_t channel = attr_int(instruction, ATTR_CHANNEL_ID, 0);
            const struct instruction *first = map_get_int(&channels, (uint64_t)channel);
            if (first == NULL) {
                map_put_int(&channels, (uint64_t)channel, (void *)instruction);
            } else if ((first->opcode != instruction->opcode ||
                        first->shape != instruction->shape) &&
                       !runs_programs(module)) {
                REPORT("%s and %s are different transfers with the host on channel %lld",
                       first->name, instruction->name, (long long)channel);
            }
        }
    }
    map_finish(&channels);
}

void verify_collective(const struct instruction *instruction, struct findings *findings)
{
    int earlier = findings->count;
    if (attr_get(instruction, ATTR_SLICE_SIZES) != NULL &&
        opcode_takes(instruction->opcode, ATTR_SOURCE_TARGET_PAIRS)) {
        check_in_place(instruction, findings);
    } else if (instruction->opcode == OP_RAGGED_ALL_TO_ALL) {
        check_ragged(instruction, findings);
    }
    if (findings->count > earlier) {
        return;
    }
    if (opcode_takes(instruction->opcode, ATTR_SOURCE_TARGET_PAIRS)) {
        check_source_targets(instruction, findings);
    }
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++) {
        if (collectives[i].opcode != instruction->opcode) {
            continue;
        }
        if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false) &&
            !has_channel(instruction)) {
            REPORT("%s: use_global_device_ids needs a channel_id", instruction->name);
            return;
        }
        int before = findings->count;
        enum group_mode mode = group_mode(instruction, collectives[i].has_global_ids);
        check_groups(instruction, mode, collectives[i].is_uniform, findings);
        if (findings->count == before) {
            check_sizes(instruction, mode, findings);
        }
    }
}
