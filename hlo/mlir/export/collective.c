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
    int64_t *rows = memory_alloc((size_t)(list.group_count * *size + 1) * sizeof *rows);
    for (int64_t g = 0; g < list.group_count; g++) {
        for (int64_t i = 0; i < *size; i++) {
            int64_t at = list.starts[g] + i;
            rows[g * *size + i] = at < list.starts[g + 1] ? list.ids[at] : -1;
        }
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
        struct mlir_file *file = scope->exporter->file;
        mlir_set(file, &op->attrs, "use_global_device_ids", mlir_attr_new(file, MLIR_ATTR_UNIT));
    }
}

static struct mlir_op *collective(struct export_scope *scope, const struct instruction *instruction,
                                  const char *name, bool channel_means_partitions, int64_t *size)
{
    struct mlir_op *op =
        export_plain(scope, instruction, name, instruction->called_count > 0 ? 1 : 0);
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

bool export_all_to_all(struct export_scope *scope, const struct instruction *instruction)
{
    int64_t size;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    if (dimensions.count != 1) {
        return export_refuse(scope, instruction, "of one array a device");
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

bool export_collective_permute(struct export_scope *scope, const struct instruction *instruction)
{
    struct ints pairs = attr_ints(instruction, ATTR_SOURCE_TARGET_PAIRS);
    if (instruction->operand_count != 1) {
        return export_refuse(scope, instruction, "in place, or of several operands");
    }
    struct mlir_op *op = export_plain(scope, instruction, "collective_permute", 0);
    if (op != NULL) {
        export_set_matrix(scope, op, "source_target_pairs", pairs.count / 2, 2, pairs.values);
        set_channel(scope, op, instruction);
    }
    return op != NULL;
}
