/* HLO → StableHLO: collectives between devices. */
#include "hlo/base/arena.h"
#include "hlo/groups.h"
#include "hlo/mlir/export/export.h"

#include <stdlib.h>

/* What the ids of an instruction's groups count, when it names none: replicas; partitions for those
 * that have a channel and mean partitions by it; all devices with use_global_device_ids. */
static int64_t id_count(const struct export_scope *scope, const struct instruction *instruction,
                        bool channel_means_partitions)
{
    const struct module_config *config = &scope->exporter->module->config;
    if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)) {
        return config->replica_count * config->partition_count;
    }
    return channel_means_partitions && attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0
               ? config->partition_count
               : config->replica_count;
}

/* Where groups of replicas mean all their partitions, HLO has the partitions of the first replica
 * first, StableHLO the replicas of the first partition. Where the order shows, ids of devices are
 * written instead: this many for each replica; 1: as they are. */
static int64_t partitions_to_spread(const struct export_scope *scope,
                                    const struct instruction *instruction)
{
    bool shows = instruction->opcode == OP_ALL_GATHER ||
                 instruction->opcode == OP_ALL_GATHER_START ||
                 instruction->opcode == OP_REDUCE_SCATTER;
    return shows && attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0 &&
                   !attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)
               ? scope->exporter->module->config.partition_count
               : 1;
}

static void set_global(struct export_scope *scope, struct mlir_op *op)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &op->attrs, "use_global_device_ids", mlir_attr_new(file, MLIR_ATTR_UNIT));
}

/* replica_groups: rows of one length, shorter ones filled up with −1. *size: that length. */
static bool set_groups(struct export_scope *scope, struct mlir_op *op,
                       const struct instruction *instruction, bool channel_means_partitions,
                       int64_t *size)
{
    struct id_list list;
    int64_t all = id_count(scope, instruction, channel_means_partitions);
    if (!groups_expand(attr_groups(instruction), all, &list)) {
        id_list_finish(&list);
        return export_refuse(scope, instruction, "with inconsistent groups");
    }
    *size = 0;
    for (int64_t g = 0; g < list.group_count; g++) {
        int64_t length = list.starts[g + 1] - list.starts[g];
        *size = length > *size ? length : *size;
    }
    int64_t spread = partitions_to_spread(scope, instruction);
    *size *= spread;
    int64_t *rows = memory_alloc((size_t)(list.group_count * *size + 1) * sizeof *rows);
    for (int64_t g = 0; g < list.group_count; g++) {
        for (int64_t i = 0; i < *size; i++) {
            int64_t at = list.starts[g] + i / spread;
            rows[g * *size + i] = at < list.starts[g + 1] ? list.ids[at] * spread + i % spread : -1;
        }
    }
    if (spread > 1) {
        set_global(scope, op);
    }
    export_set_matrix(scope, op, "replica_groups", list.group_count, *size, rows);
    free(rows);
    id_list_finish(&list);
    return true;
}

static void set_channel(struct export_scope *scope, struct mlir_op *op,
                        const struct instruction *instruction)
{
    int64_t channel = attr_int(instruction, ATTR_CHANNEL_ID, 0);
    if (channel > 0) {
        export_set_channel(scope, op, channel, 1);
    }
    if (attr_bool(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, false)) {
        set_global(scope, op);
    }
}

/* The shape of what a collective gives: of one that only starts, what its done does. NULL on
 * errors. */
static const struct shape *result_shape(struct export_scope *scope,
                                        const struct instruction *instruction)
{
    static const enum opcode dones[OPCODE_COUNT] = {
        [OP_ALL_GATHER_START] = OP_ALL_GATHER_DONE,
        [OP_ALL_REDUCE_START] = OP_ALL_REDUCE_DONE,
        [OP_COLLECTIVE_PERMUTE_START] = OP_COLLECTIVE_PERMUTE_DONE,
    };
    enum opcode done = dones[instruction->opcode];
    if (done == 0) {
        return instruction->shape;
    }
    const struct instruction *end = export_done(scope, instruction, done, false);
    return end != NULL ? end->shape : NULL;
}

static struct mlir_op *collective(struct export_scope *scope, const struct instruction *instruction,
                                  const char *name, bool channel_means_partitions, int64_t *size)
{
    const struct shape *shape = result_shape(scope, instruction);
    struct mlir_op *op = shape != NULL ? export_shaped(scope, instruction, shape, name,
                                                       instruction->called_count > 0 ? 1 : 0)
                                       : NULL;
    if (op == NULL || !set_groups(scope, op, instruction, channel_means_partitions, size) ||
        (instruction->called_count > 0 && !export_region(scope, op, 0, instruction->called[0]))) {
        return NULL;
    }
    set_channel(scope, op, instruction);
    return op;
}

bool export_all_gather(struct export_scope *scope, const struct instruction *instruction)
{
    int64_t size;
    struct mlir_op *op = collective(scope, instruction, "all_gather", false, &size);
    if (op != NULL) {
        export_set_int(scope, op, "all_gather_dim",
                       attr_ints(instruction, ATTR_DIMENSIONS).values[0]);
    }
    return op != NULL;
}

bool export_all_reduce(struct export_scope *scope, const struct instruction *instruction)
{
    int64_t size;
    return collective(scope, instruction, "all_reduce", false, &size) != NULL;
}

bool export_reduce_scatter(struct export_scope *scope, const struct instruction *instruction)
{
    int64_t size;
    struct mlir_op *op = collective(scope, instruction, "reduce_scatter", false, &size);
    if (op != NULL) {
        export_set_int(scope, op, "scatter_dimension",
                       attr_ints(instruction, ATTR_DIMENSIONS).values[0]);
    }
    return op != NULL;
}

/* An op whose one result has that element type and those sizes. */
static struct mlir_op *step(struct export_scope *scope, const struct instruction *instruction,
                            const char *name, struct leaves operands, int rank,
                            const int64_t *sizes)
{
    const struct mlir_type *type = mlir_shaped(
        scope->exporter->file, MLIR_TENSOR, operands.values[0]->type->element, rank, sizes, NULL);
    return export_op(scope, instruction, name, operands, 1, &type, 0);
}

/* Operand i goes to member i of the group, result i comes from it. StableHLO's op splits each
 * operand by itself: the parts are put along a dimension of their own, and taken out of it. */
static bool all_to_all_of_parts(struct export_scope *scope, const struct instruction *instruction)
{
    const struct shape *part = instruction->operands[0]->shape;
    struct mlir_file *file = scope->exporter->file;
    int count = instruction->operand_count, rank = part->rank + 1;
    int64_t sizes[SHAPE_MAX_RANK], zeros[SHAPE_MAX_RANK] = {0}, ones[SHAPE_MAX_RANK], group;
    if (!shape_is_array(part) || rank > SHAPE_MAX_RANK) {
        return export_refuse(scope, instruction, "of %s", shape_text(part));
    }
    for (int i = 0; i < rank; i++) {
        ones[i] = 1;
        sizes[i] = i == 0 ? 1 : part->dimensions[i - 1];
    }
    struct leaves parts = export_operands(scope, instruction);
    for (int i = 0; i < count; i++) {
        struct leaves one = {1, &parts.values[i]};
        parts.values[i] = &step(scope, instruction, "reshape", one, rank, sizes)->results[0];
    }
    sizes[0] = count;
    struct mlir_op *joined = step(scope, instruction, "concatenate", parts, rank, sizes);
    export_set_int(scope, joined, "dimension", 0);
    struct mlir_value *value = &joined->results[0];
    struct leaves one = {1, &value};
    struct mlir_op *op = step(scope, instruction, "all_to_all", one, rank, sizes);
    if (!set_groups(scope, op, instruction, true, &group)) {
        return false;
    }
    if (group != count) {
        return export_refuse(scope, instruction, "of %d arrays for %lld devices", count,
                             (long long)group);
    }
    set_channel(scope, op, instruction);
    export_set_int(scope, op, "split_dimension", 0);
    export_set_int(scope, op, "concat_dimension", 0);
    export_set_int(scope, op, "split_count", count);
    value = &op->results[0];
    struct leaves *leaves = &scope->leaves[instruction->id];
    *leaves = (struct leaves){count, arena_array(&file->arena, (size_t)count, sizeof(void *))};
    for (int i = 0; i < count; i++) {
        zeros[0] = i;
        sizes[0] = 1;
        struct mlir_op *slice = step(scope, instruction, "slice", one, rank, sizes);
        export_set_ints(scope, slice, "start_indices", (struct ints){rank, zeros});
        sizes[0] = i + 1;
        export_set_ints(scope, slice, "limit_indices", (struct ints){rank, sizes});
        export_set_ints(scope, slice, "strides", (struct ints){rank, ones});
        struct mlir_value *taken = &slice->results[0];
        leaves->values[i] =
            &step(scope, instruction, "reshape", (struct leaves){1, &taken}, rank - 1, sizes + 1)
                 ->results[0];
    }
    return true;
}

bool export_all_to_all(struct export_scope *scope, const struct instruction *instruction)
{
    int64_t size;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (dimensions.count != 1) {
        return all_to_all_of_parts(scope, instruction);
    }
    struct mlir_op *op = collective(scope, instruction, "all_to_all", true, &size);
    if (op != NULL) {
        export_set_int(scope, op, "split_dimension", dimensions.values[0]);
        export_set_int(scope, op, "concat_dimension", dimensions.values[0]);
        export_set_int(scope, op, "split_count", size);
    }
    return op != NULL;
}

bool export_collective_broadcast(struct export_scope *scope, const struct instruction *instruction)
{
    int64_t size;
    if (attr_bool(instruction, ATTR_HAS_DYNAMIC_ROOT, false)) {
        return export_refuse(scope, instruction, "from a root of the run time");
    }
    return collective(scope, instruction, "collective_broadcast", true, &size) != NULL;
}

/* Of several arrays it is one op each. */
bool export_collective_permute(struct export_scope *scope, const struct instruction *instruction)
{
    struct ints pairs = attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS);
    if (attr_get(instruction, ATTR_SLICE_SIZES) != NULL) {
        return export_refuse(scope, instruction, "in place");
    }
    const struct shape *shape = result_shape(scope, instruction);
    struct leaves operands = export_operands(scope, instruction);
    int count = 0;
    const struct mlir_type **types =
        shape != NULL ? export_leaf_types(scope, instruction, shape, &count) : NULL;
    if (types == NULL) {
        return false;
    }
    if (count != operands.count) {
        return export_refuse(scope, instruction, "of %d arrays that gives %d", operands.count,
                             count);
    }
    for (int i = 0; i < count; i++) {
        struct leaves one = {1, &operands.values[i]};
        struct mlir_op *op =
            export_op(scope, instruction, "collective_permute", one, 1, &types[i], 0);
        export_set_matrix(scope, op, "source_target_pairs", pairs.count / 2, 2, pairs.values);
        set_channel(scope, op, instruction);
        operands.values[i] = &op->results[0];
    }
    scope->leaves[instruction->id] = operands;
    return true;
}
