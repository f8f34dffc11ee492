/* MLIR → HLO: collective_reduce: an all-reduce whose result only the root of each group keeps; the
 * others, and devices in no group, get zeros. HLO has no such op; this is made of an all-reduce and
 * of what tells a device its place in its group.
 *
 * The specification's text speaks of cross_replica and cross_partition; its attribute
 * use_global_device_ids and StableHLO's reference interpreter have the modes of all_reduce, which
 * are followed here. */
#include "hlo/mlir/import/build.h"

enum { MOST_DEVICES = 1 << 16 };

struct reduction {
    int64_t channel;
    struct groups *groups;
    bool global;
};

/* place = table[id], as s32[]; ids beyond the table are in no group: −1. */
static struct instruction *look_up(struct scope *scope, const struct mlir_op *op,
                                   struct instruction *id, int count, const int64_t *table)
{
    struct instruction *parts[] = {build_ints(scope, op, TYPE_S32, count, table), id};
    if (parts[0] == NULL) {
        return NULL;
    }
    int64_t one = 1;
    struct instruction *slice =
        import_add(scope, op, OP_DYNAMIC_SLICE, shape_array(TYPE_S32, 1, &one), 2, parts);
    import_set_ints(slice, ATTR_DYNAMIC_SLICE_SIZES, 1, &one);
    return build_reshape(scope, op, slice, 0, NULL);
}

static struct instruction *binary(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                                  struct instruction *a, struct instruction *b)
{
    struct instruction *parts[] = {a, b};
    return import_add(scope, op, opcode, a->shape, 2, parts);
}

/* The place of this device in its group when ids are replicas; negative: it is in none. */
static struct instruction *place_of_replica(struct scope *scope, const struct mlir_op *op,
                                            const struct reduction *reduction, bool dynamic_root)
{
    struct instruction *replica =
        import_add(scope, op, OP_REPLICA_ID, shape_scalar(TYPE_U32), 0, NULL);
    struct lists list = reduction->groups->list;
    int64_t most = -1, size = 0;
    for (int g = 0; g < list.count; g++) {
        size = g == 0 || list.lists[g].count == size ? list.lists[g].count : -1;
        for (int i = 0; i < list.lists[g].count; i++) {
            most = list.lists[g].values[i] > most ? list.lists[g].values[i] : most;
        }
    }
    if (most >= MOST_DEVICES) {
        import_refuse(scope, op, "replica_groups name device %lld", (long long)most);
        return NULL;
    }
    struct instruction *place;
    if (list.count == 0) {
        place = build_convert(scope, op, replica, TYPE_S32);
    } else {
        /* Beyond the table dynamic-slice reads its last entry. */
        int64_t *table =
            arena_array(&scope->importer->module->arena, (size_t)most + 2, sizeof *table);
        for (int64_t i = 0; i < most + 2; i++) {
            table[i] = -1;
        }
        for (int g = 0; g < list.count; g++) {
            for (int i = 0; i < list.lists[g].count; i++) {
                table[list.lists[g].values[i]] = i;
            }
        }
        place = look_up(scope, op, replica, (int)most + 2, table);
    }
    if (place == NULL || reduction->channel == 0) {
        return place;
    }
    /* All partitions of each replica: those of the first partition come first. */
    if (size <= 0 && dynamic_root) {
        import_refuse(scope, op, "a dynamic root among all partitions of groups of unlike sizes");
        return NULL;
    }
    struct instruction *partition =
        import_add(scope, op, OP_PARTITION_ID, shape_scalar(TYPE_U32), 0, NULL);
    partition = build_convert(scope, op, partition, TYPE_S32);
    struct instruction *step =
        import_scalar(scope, op, TYPE_S32, size > 0 ? (double)size : MOST_DEVICES);
    struct instruction *none = import_scalar(scope, op, TYPE_S32, 0);
    if (step == NULL || none == NULL) {
        return NULL;
    }
    struct instruction *sum =
        binary(scope, op, OP_ADD, binary(scope, op, OP_MULTIPLY, partition, step), place);
    struct instruction *sides[] = {place, none};
    struct instruction *is_member =
        import_add(scope, op, OP_COMPARE, shape_scalar(TYPE_PRED), 2, sides);
    import_set_int(is_member, ATTR_DIRECTION, DIRECTION_GE);
    struct instruction *parts[] = {is_member, sum, place};
    return import_add(scope, op, OP_SELECT, shape_scalar(TYPE_S32), 3, parts);
}

/* The place of this device among flattened ids: how many partitions there are is not known, so the
 * devices are told: each group reduces 0, 1, 2 … by maximum and scatters it. */
static struct instruction *place_of_device(struct scope *scope, const struct mlir_op *op,
                                           const struct reduction *reduction)
{
    struct lists list = reduction->groups->list;
    int size = list.count > 0 ? list.lists[0].count : 0;
    for (int g = 0; g < list.count; g++) {
        if (list.lists[g].count != size) {
            size = 0;
        }
    }
    if (size == 0 || size > MOST_DEVICES) {
        import_refuse(scope, op, "flattened ids in groups of unlike sizes");
        return NULL;
    }
    int64_t *places = arena_array(&scope->importer->module->arena, (size_t)size, sizeof *places);
    for (int i = 0; i < size; i++) {
        places[i] = i;
    }
    struct instruction *all = build_ints(scope, op, TYPE_S32, size, places);
    if (all == NULL) {
        return NULL;
    }
    struct computation *most = build_sum(scope, op, TYPE_S32);
    most->root->opcode = OP_MAXIMUM;
    int64_t one = 1, along = 0;
    struct instruction *scatter =
        import_add(scope, op, OP_REDUCE_SCATTER, shape_array(TYPE_S32, 1, &one), 1, &all);
    import_set_int(scatter, ATTR_CHANNEL_ID, reduction->channel);
    instruction_set_attr(scatter,
                         (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = reduction->groups});
    import_set_int(scatter, ATTR_USE_GLOBAL_DEVICE_IDS, 1);
    import_set_ints(scatter, ATTR_DIMENSIONS, 1, &along);
    instruction_set_called(scatter, 1, &most);
    return build_reshape(scope, op, scatter, 0, NULL);
}

/* The place of the root for result i, as s32[]. */
static struct instruction *root_place(struct scope *scope, const struct mlir_op *op,
                                      struct instruction *roots, int i)
{
    if (roots == NULL) {
        return import_scalar(scope, op, TYPE_S32, 0);
    }
    int64_t one = 1;
    struct slice_dimension *dimension =
        arena_alloc(&scope->importer->module->arena, sizeof *dimension);
    *dimension = (struct slice_dimension){i, i + 1, 1};
    struct instruction *slice =
        import_add(scope, op, OP_SLICE, shape_array(TYPE_S32, 1, &one), 1, &roots);
    instruction_set_attr(slice, (struct attr){.key = ATTR_SLICE, .slices = {1, dimension}});
    return build_reshape(scope, op, slice, 0, NULL);
}

/* `value` if place = root, else zeros. */
static bool keep_at_root(struct scope *scope, const struct mlir_op *op, int i,
                         struct instruction *value, struct instruction *place,
                         struct instruction *root)
{
    struct instruction *zero = build_fill(scope, op, value->shape, 0);
    if (root == NULL || zero == NULL) {
        return false;
    }
    struct instruction *sides[] = {place, root};
    struct instruction *is_root =
        import_add(scope, op, OP_COMPARE, shape_scalar(TYPE_PRED), 2, sides);
    import_set_int(is_root, ATTR_DIRECTION, DIRECTION_EQ);
    const struct shape *mask = shape_with_type(zero->shape, TYPE_PRED);
    if (mask->rank > 0) {
        is_root = import_broadcast(scope, op, is_root, mask, 0, NULL);
    }
    struct instruction *parts[] = {is_root, value, zero};
    import_bind(scope, &op->results[i], import_add(scope, op, OP_SELECT, zero->shape, 3, parts));
    return scope->importer->err->code == ERROR_NONE;
}

bool translate_collective_reduce(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 1);
    struct reduction reduction = {.global = build_flag(op, "use_global_device_ids")};
    bool dynamic_root = build_flag(op, "has_dynamic_root");
    int count = op->result_count;
    if (operands == NULL || !build_channel(scope, op, &reduction.channel)) {
        return false;
    }
    reduction.groups = build_groups(scope, op);
    if (reduction.groups == NULL) {
        return false;
    }
    if (reduction.groups->form != GROUPS_LIST) {
        return import_refuse(scope, op, "groups as axes of a mesh");
    }
    if (op->operand_count != count + dynamic_root || (reduction.global && reduction.channel == 0)) {
        return import_fail(scope, op, "%d operands for %d results, or no channel",
                           op->operand_count, count);
    }
    struct instruction *roots = dynamic_root ? operands[count] : NULL;
    if (roots != NULL && (roots->shape->type != TYPE_S32 || roots->shape->rank != 1 ||
                          roots->shape->dimensions[0] != count)) {
        return import_fail(scope, op, "the roots must be s32[%d], but they are %s", count,
                           shape_text(roots->shape));
    }
    enum type type;
    struct computation *reducer = build_reducer(scope, op, 0, 1, &type);
    if (reducer == NULL) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        operands[i] = build_promote(scope, op, operands[i], type);
        if (operands[i] == NULL) {
            return false;
        }
    }
    struct instruction *reduce = import_add(scope, op, OP_ALL_REDUCE, NULL, count, operands);
    if (reduction.channel > 0) {
        import_set_int(reduce, ATTR_CHANNEL_ID, reduction.channel);
    }
    instruction_set_attr(reduce,
                         (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = reduction.groups});
    if (reduction.global) {
        import_set_int(reduce, ATTR_USE_GLOBAL_DEVICE_IDS, 1);
    }
    instruction_set_called(reduce, 1, &reducer);
    struct instruction *place = reduction.global
                                    ? place_of_device(scope, op, &reduction)
                                    : place_of_replica(scope, op, &reduction, dynamic_root);
    if (place == NULL || !import_finish(scope, op, reduce)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct instruction *value = count > 1 ? build_element(scope, op, reduce, i) : reduce;
        if (!keep_at_root(scope, op, i, value, place, root_place(scope, op, roots, i))) {
            return false;
        }
    }
    return true;
}
