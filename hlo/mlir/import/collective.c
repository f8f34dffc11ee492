/* MLIR → HLO: collectives, and the ids of devices.
 *
 * Who takes part is said the same way in both: a channel, use_global_device_ids and groups give the
 * modes cross_replica, cross_partition, cross_replica_and_partition and flattened_ids. Where the
 * mode is cross_replica_and_partition, a group's members come in different orders: the
 * specification has all replicas of the first partition first, XLA all partitions of the first
 * replica. all_gather and reduce_scatter make up for that; in the others order does not show. */
#include "hlo/mlir/import/build.h"

/* What collectives share, as read from an op. */
struct collective {
    int64_t channel; /* 0: none */
    struct groups *groups;
    bool global;
};

static bool read_collective(struct scope *scope, const struct mlir_op *op,
                            struct collective *collective)
{
    *collective = (struct collective){.global = build_flag(op, "use_global_device_ids")};
    if (!build_channel(scope, op, &collective->channel)) {
        return false;
    }
    if (collective->global && collective->channel == 0) {
        return import_fail(scope, op, "use_global_device_ids needs a channel");
    }
    collective->groups = build_groups(scope, op);
    return collective->groups != NULL;
}

static struct instruction *add_collective(struct scope *scope, const struct mlir_op *op,
                                          const struct collective *collective, enum opcode opcode,
                                          const struct shape *shape, int operand_count,
                                          struct instruction *const *operands)
{
    struct instruction *instruction = import_add(scope, op, opcode, shape, operand_count, operands);
    if (collective->channel > 0) {
        import_set_int(instruction, ATTR_CHANNEL_ID, collective->channel);
    }
    instruction_set_attr(instruction,
                         (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = collective->groups});
    if (collective->global) {
        import_set_int(instruction, ATTR_USE_GLOBAL_DEVICE_IDS, 1);
    }
    return instruction;
}

static bool results_are_static(const struct mlir_op *op)
{
    for (int i = 0; i < op->result_count; i++) {
        if (!mlir_type_is_static(op->results[i].type)) {
            return false;
        }
    }
    return true;
}

/* --- the order of members --- */

/* Replicas and partitions in a group of `members`; false: the orders agree, or it is not known. */
static bool orders_differ(const struct scope *scope, const struct collective *collective,
                          int64_t members, int64_t *replicas, int64_t *partitions)
{
    if (collective->channel == 0 || collective->global || collective->groups->form != GROUPS_LIST) {
        return false;
    }
    struct lists list = collective->groups->list;
    *replicas =
        list.count > 0 ? list.lists[0].count : scope->importer->module->config.replica_count;
    if (*replicas <= 1 || members % *replicas != 0) {
        return false;
    }
    *partitions = members / *replicas;
    return *partitions > 1;
}

/* The outer × inner blocks that dimension `along` is made of, the other way round. */
static struct instruction *swap_blocks(struct scope *scope, const struct mlir_op *op,
                                       struct instruction *from, int64_t along, int64_t outer,
                                       int64_t inner)
{
    const struct shape *shape = from->shape;
    int64_t sizes[SHAPE_MAX_RANK + 2], order[SHAPE_MAX_RANK + 2];
    if (shape->rank + 2 > SHAPE_MAX_RANK) {
        import_refuse(scope, op, "%d dimensions", shape->rank);
        return NULL;
    }
    int rank = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (i == along) {
            sizes[rank++] = outer;
            sizes[rank++] = inner;
        }
        sizes[rank++] = i == along ? shape->dimensions[i] / (outer * inner) : shape->dimensions[i];
    }
    for (int i = 0; i < rank; i++) {
        order[i] = i == along ? i + 1 : i == along + 1 ? i - 1 : i;
    }
    struct instruction *blocks = build_reshape(scope, op, from, rank, sizes);
    return build_reshape(scope, op, build_transpose(scope, op, blocks, order), shape->rank,
                         shape->dimensions);
}

/* --- all_gather --- */

bool translate_all_gather(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 0);
    struct collective collective;
    int64_t along = 0, replicas, partitions;
    if (operands == NULL || !read_collective(scope, op, &collective) ||
        !import_int_attr(scope, op, "all_gather_dim", &along)) {
        return false;
    }
    if (op->operand_count != op->result_count) {
        return import_fail(scope, op, "%d operands for %d results", op->operand_count,
                           op->result_count);
    }
    const struct shape *shape =
        results_are_static(op) ? build_results_shape(scope, op, NULL) : NULL;
    struct instruction *gather =
        add_collective(scope, op, &collective, OP_ALL_GATHER, shape, op->operand_count, operands);
    import_set_ints(gather, ATTR_DIMENSIONS, 1, &along);
    if (scope->importer->err->code != ERROR_NONE || !import_finish(scope, op, gather)) {
        return false;
    }
    const struct shape *from = operands[0]->shape;
    const struct shape *to = op->result_count > 1 ? gather->shape->elements[0] : gather->shape;
    if (along < 0 || along >= from->rank || along >= to->rank) {
        return import_fail(scope, op, "all_gather_dim is %lld, of %s", (long long)along,
                           shape_text(from));
    }
    int64_t each = from->dimensions[along];
    if (each == 0 ||
        !orders_differ(scope, &collective, to->dimensions[along] / each, &replicas, &partitions)) {
        return import_bind_results(scope, op, gather);
    }
    for (int i = 0; i < op->result_count; i++) {
        struct instruction *result =
            op->result_count > 1 ? build_element(scope, op, gather, i) : gather;
        if (result->shape->rank <= along) {
            return import_fail(scope, op, "result %d has too few dimensions", i);
        }
        result = swap_blocks(scope, op, result, along, replicas, partitions);
        if (result == NULL) {
            return false;
        }
        import_bind(scope, &op->results[i], result);
    }
    return scope->importer->err->code == ERROR_NONE;
}

/* --- reductions --- */

/* XLA's translation gives the op to HLO as it is, even if its computation is one of a wider type;
 * the specification converts to that type first. */
static bool reduction_operands(struct scope *scope, const struct mlir_op *op,
                               struct instruction **operands, int count,
                               struct computation **reducer)
{
    enum type type;
    *reducer = build_reducer(scope, op, 0, 1, &type);
    for (int i = 0; *reducer != NULL && i < count; i++) {
        operands[i] = build_promote(scope, op, operands[i], type);
        if (operands[i] == NULL) {
            return false;
        }
    }
    return *reducer != NULL;
}

bool translate_all_reduce(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 1);
    struct collective collective;
    struct computation *reducer;
    if (operands == NULL || !read_collective(scope, op, &collective) ||
        !reduction_operands(scope, op, operands, op->operand_count, &reducer)) {
        return false;
    }
    struct instruction *reduce =
        add_collective(scope, op, &collective, OP_ALL_REDUCE, NULL, op->operand_count, operands);
    instruction_set_called(reduce, 1, &reducer);
    return build_finish(scope, op, reduce);
}

bool translate_cross_replica_sum(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    struct collective collective;
    if (operands == NULL || !read_collective(scope, op, &collective)) {
        return false;
    }
    struct computation *sum = build_sum(scope, op, operands[0]->shape->type);
    struct instruction *reduce =
        add_collective(scope, op, &collective, OP_ALL_REDUCE, NULL, 1, operands);
    instruction_set_called(reduce, 1, &sum);
    return build_finish(scope, op, reduce);
}

bool translate_reduce_scatter(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 1);
    struct collective collective;
    struct computation *reducer;
    int64_t along = 0, replicas, partitions;
    if (operands == NULL || !read_collective(scope, op, &collective) ||
        !reduction_operands(scope, op, operands, 1, &reducer) ||
        !import_int_attr(scope, op, "scatter_dimension", &along)) {
        return false;
    }
    const struct shape *from = operands[0]->shape;
    const struct shape *shape =
        results_are_static(op) ? build_results_shape(scope, op, NULL) : NULL;
    if (scope->importer->err->code != ERROR_NONE) {
        return false;
    }
    if (along < 0 || along >= from->rank || (shape != NULL && along >= shape->rank)) {
        return import_fail(scope, op, "scatter_dimension is %lld, of %s", (long long)along,
                           shape_text(from));
    }
    int64_t each = shape != NULL ? shape->dimensions[along] : 0;
    if (each > 0 &&
        orders_differ(scope, &collective, from->dimensions[along] / each, &replicas, &partitions)) {
        operands[0] = swap_blocks(scope, op, operands[0], along, partitions, replicas);
        if (operands[0] == NULL) {
            return false;
        }
    }
    struct instruction *reduce =
        add_collective(scope, op, &collective, OP_REDUCE_SCATTER, shape, 1, operands);
    import_set_ints(reduce, ATTR_DIMENSIONS, 1, &along);
    instruction_set_called(reduce, 1, &reducer);
    return build_finish(scope, op, reduce);
}

/* --- all_to_all --- */

/* One operand: HLO puts the parts together along the dimension that was split; the dimension that
 * counts the senders goes from there to the one along which they belong. */
static struct instruction *all_to_all(struct scope *scope, const struct mlir_op *op,
                                      const struct collective *collective,
                                      struct instruction *operand, int64_t split, int64_t concat,
                                      int64_t count)
{
    const struct shape *shape = operand->shape;
    int64_t joined;
    if (split < 0 || split >= shape->rank || concat < 0 || concat >= shape->rank || count < 1 ||
        shape->dimensions[split] % count != 0 || shape->rank == SHAPE_MAX_RANK ||
        __builtin_mul_overflow(shape->dimensions[concat], count, &joined)) {
        import_fail(scope, op, "%s cannot be split in %lld along %lld and put together along %lld",
                    shape_text(shape), (long long)count, (long long)split, (long long)concat);
        return NULL;
    }
    struct instruction *result =
        add_collective(scope, op, collective, OP_ALL_TO_ALL, NULL, 1, &operand);
    import_set_ints(result, ATTR_DIMENSIONS, 1, &split);
    if (!import_finish(scope, op, result) || split == concat) {
        return result;
    }
    int64_t parts[SHAPE_MAX_RANK], order[SHAPE_MAX_RANK], merged[SHAPE_MAX_RANK];
    int rank = 0, at = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (i == split) {
            parts[rank++] = count;
        }
        parts[rank++] = i == split ? shape->dimensions[i] / count : shape->dimensions[i];
        merged[i] = i == split    ? shape->dimensions[i] / count
                    : i == concat ? joined
                                  : shape->dimensions[i];
    }
    for (int i = 0; i < shape->rank; i++) {
        if (i == concat) {
            order[at++] = split;
        }
        order[at++] = i < split ? i : i + 1;
    }
    result = build_reshape(scope, op, result, rank, parts);
    return build_reshape(scope, op, build_transpose(scope, op, result, order), shape->rank, merged);
}

/* With several operands XLA's translation makes HLO's form of tuples, in which operand i goes to
 * member i of the group; by the specification each operand is split and spread by itself. */
bool translate_all_to_all(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 0);
    struct collective collective;
    int64_t split = 0, concat = 0, count = 0;
    if (operands == NULL || !read_collective(scope, op, &collective) ||
        !import_int_attr(scope, op, "split_dimension", &split) ||
        !import_int_attr(scope, op, "concat_dimension", &concat) ||
        !import_int_attr(scope, op, "split_count", &count)) {
        return false;
    }
    if (op->operand_count != op->result_count) {
        return import_fail(scope, op, "%d operands for %d results", op->operand_count,
                           op->result_count);
    }
    for (int i = 0; i < op->operand_count; i++) {
        struct instruction *result =
            all_to_all(scope, op, &collective, operands[i], split, concat, count);
        if (result == NULL || scope->importer->err->code != ERROR_NONE) {
            return false;
        }
        import_bind(scope, &op->results[i], result);
    }
    return scope->importer->err->code == ERROR_NONE;
}

/* --- broadcast, permute, ids --- */

/* Devices that nothing is sent to get zeros; of a quantized tensor that is its zero point. So what
 * is sent is what is stored less the zero point, which is added again (subtraction and
 * addition wrap). */
static struct instruction *shift(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                                 struct instruction *value, const struct mlir_type *type)
{
    const struct mlir_quantized *quantized =
        type->element != NULL && type->element->kind == MLIR_QUANTIZED ? type->element->quantized
                                                                       : NULL;
    if (quantized == NULL || quantized->count != 1 || quantized->zero_points[0] == 0) {
        return value;
    }
    struct instruction *parts[] = {
        value, build_fill(scope, op, value->shape, (double)quantized->zero_points[0])};
    return parts[1] != NULL
               ? import_add(scope, op, opcode, shape_without_layout(value->shape), 2, parts)
               : NULL;
}

/* Binds the results of an instruction that was sent shifted values. */
static bool bind_shifted(struct scope *scope, const struct mlir_op *op,
                         struct instruction *instruction)
{
    bool is_tuple = op->result_count > 1;
    if (!import_finish(scope, op, instruction)) {
        return false;
    }
    if (is_tuple &&
        (!shape_is_tuple(instruction->shape) || instruction->shape->count != op->result_count)) {
        return import_fail(scope, op, "gives %s, but there are %d results",
                           shape_text(instruction->shape), op->result_count);
    }
    for (int i = 0; i < op->result_count; i++) {
        struct instruction *value =
            is_tuple ? build_element(scope, op, instruction, i) : instruction;
        value = shift(scope, op, OP_ADD, value, op->results[i].type);
        if (value == NULL) {
            return false;
        }
        import_bind(scope, &op->results[i], value);
    }
    return scope->importer->err->code == ERROR_NONE;
}

static bool shift_operands(struct scope *scope, const struct mlir_op *op,
                           struct instruction **operands)
{
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = shift(scope, op, OP_SUBTRACT, operands[i], op->operands[i]->type);
        if (operands[i] == NULL) {
            return false;
        }
    }
    return true;
}

bool translate_collective_broadcast(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, -1, 0);
    struct collective collective;
    if (operands == NULL || !read_collective(scope, op, &collective) ||
        !shift_operands(scope, op, operands)) {
        return false;
    }
    struct instruction *broadcast = add_collective(scope, op, &collective, OP_COLLECTIVE_BROADCAST,
                                                   NULL, op->operand_count, operands);
    if (build_flag(op, "has_dynamic_root")) {
        import_set_int(broadcast, ATTR_HAS_DYNAMIC_ROOT, 1);
    }
    return bind_shifted(scope, op, broadcast);
}

bool translate_collective_permute(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    int64_t channel;
    struct ints pairs;
    if (operands == NULL || !build_channel(scope, op, &channel) ||
        !build_pairs(scope, op, &pairs) || !shift_operands(scope, op, operands)) {
        return false;
    }
    struct instruction *permute = import_add(scope, op, OP_COLLECTIVE_PERMUTE, NULL, 1, operands);
    if (channel > 0) {
        import_set_int(permute, ATTR_CHANNEL_ID, channel);
    }
    import_set_ints(permute, ATTR_SOURCE_TARGET_PAIRS, pairs.count, pairs.values);
    return bind_shifted(scope, op, permute);
}

bool translate_device_id(struct scope *scope, const struct mlir_op *op)
{
    if (build_operands(scope, op, 0, 1, 0) == NULL) {
        return false;
    }
    return build_finish(scope, op,
                        import_add(scope, op, mlir_opcode_hlo(op->opcode), NULL, 0, NULL));
}
