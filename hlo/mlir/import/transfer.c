/* MLIR → HLO: infeed, outfeed, send, recv. Several values go as a tuple, as in XLA's translation.
 * HLO's send and recv only announce, their dones wait; StableHLO's do both. */
#include <stdio.h>

#include "hlo/mlir/import/build.h"

/* The shapes of all results but the last, which must be a token. False on errors. */
static bool payload_shapes(struct scope *scope, const struct mlir_op *op,
                           const struct shape ***shapes)
{
    int count = op->result_count - 1;
    *shapes = arena_array(&scope->importer->module->arena, (size_t)count + 1, sizeof **shapes);
    if (op->results[count].type->kind != MLIR_TOKEN) {
        return import_fail(scope, op, "the last result must be a token");
    }
    for (int i = 0; i < count; i++) {
        (*shapes)[i] = import_result_shape(scope, op, i, NULL);
        if ((*shapes)[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Binds the results of what gives (payload, token). */
static bool bind_payload(struct scope *scope, const struct mlir_op *op,
                         struct instruction *instruction, bool is_tuple)
{
    int count = op->result_count - 1;
    struct instruction *payload = count > 0 ? build_element(scope, op, instruction, 0) : NULL;
    for (int i = 0; i < count; i++) {
        import_bind(scope, &op->results[i],
                    is_tuple ? build_element(scope, op, payload, i) : payload);
    }
    import_bind(scope, &op->results[count], build_element(scope, op, instruction, 1));
    return scope->importer->err->code == ERROR_NONE;
}

/* --- infeed, outfeed --- */

/* layout: for each result the dimensions from minor to major. */
static bool set_layouts(struct scope *scope, const struct mlir_op *op, const struct shape **shapes)
{
    const struct mlir_attr *attr = mlir_op_attr(op, "layout");
    if (attr == NULL) {
        return true;
    }
    if (attr->kind != MLIR_ATTR_ARRAY || attr->array.count != op->result_count - 1) {
        return import_fail(scope, op, "layout must have an entry for each value");
    }
    for (int i = 0; i < attr->array.count; i++) {
        struct ints order;
        struct layout layout = *layout_default(shapes[i]->rank);
        if (!mlir_attr_as_ints(scope->importer->file, attr->array.elements[i], &order) ||
            order.count != shapes[i]->rank) {
            return import_fail(scope, op, "layout %d does not fit %s", i, shape_text(shapes[i]));
        }
        if (order.count == 0) {
            continue;
        }
        layout.minor_to_major = order.values;
        struct error err = {0};
        const struct shape *shape = shape_with_layout(shapes[i], layout_make(&layout));
        if (!shape_check(shape, &err)) {
            return import_fail(scope, op, "layout %d: %s", i, err.message);
        }
        shapes[i] = shape;
    }
    return true;
}

static bool set_config(struct scope *scope, const struct mlir_op *op, const char *name,
                       enum attr_key key, struct instruction *instruction)
{
    const struct mlir_attr *attr = mlir_op_attr(op, name);
    if (attr == NULL) {
        return true;
    }
    if (attr->kind != MLIR_ATTR_STRING) {
        return import_fail(scope, op, "%s is no string", name);
    }
    if (attr->string.size > 0) {
        import_set_string(instruction, key, attr->string.data, attr->string.size);
    }
    return true;
}

bool translate_infeed(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, -1, 0);
    const struct shape **shapes;
    if (operands == NULL || !build_is_token(scope, op, operands[0]) ||
        !payload_shapes(scope, op, &shapes) || !set_layouts(scope, op, shapes)) {
        return false;
    }
    const struct shape *parts[] = {shape_tuple(op->result_count - 1, shapes), shape_token()};
    struct instruction *infeed =
        import_add(scope, op, OP_INFEED, shape_tuple(2, parts), 1, operands);
    return set_config(scope, op, "infeed_config", ATTR_INFEED_CONFIG, infeed) &&
           bind_payload(scope, op, infeed, true);
}

bool translate_outfeed(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, 1, 0);
    if (operands == NULL || !build_is_token(scope, op, operands[op->operand_count - 1])) {
        return false;
    }
    int count = op->operand_count - 1;
    struct instruction *parts[] = {build_tuple(scope, op, count, operands), operands[count]};
    struct instruction *outfeed = import_add(scope, op, OP_OUTFEED, shape_token(), 2, parts);
    instruction_set_attr(outfeed,
                         (struct attr){.key = ATTR_OUTFEED_SHAPE, .shape = parts[0]->shape});
    return set_config(scope, op, "outfeed_config", ATTR_OUTFEED_CONFIG, outfeed) &&
           import_bind_results(scope, op, outfeed);
}

/* --- send, recv --- */

/* What both halves of a transfer are told. */
struct transfer {
    int64_t channel;
    bool is_host;
    struct bytes pairs; /* "{{0,1},{1,2}}", or empty */
};

static bool read_transfer(struct scope *scope, const struct mlir_op *op, struct transfer *transfer)
{
    struct ints pairs;
    *transfer = (struct transfer){0};
    if (!build_channel(scope, op, &transfer->channel) ||
        !import_bool_attr(scope, op, "is_host_transfer", &transfer->is_host) ||
        !build_pairs(scope, op, &pairs)) {
        return false;
    }
    if (pairs.count > 0) {
        struct arena *arena = &scope->importer->module->arena;
        size_t capacity = (size_t)pairs.count * 24 + 3, size = 0;
        char *text = arena_alloc(arena, capacity);
        for (int i = 0; i < pairs.count; i += 2) {
            size +=
                (size_t)snprintf(text + size, capacity - size, "%s{%lld,%lld}", i > 0 ? "," : "{",
                                 (long long)pairs.values[i], (long long)pairs.values[i + 1]);
        }
        size += (size_t)snprintf(text + size, capacity - size, "}");
        transfer->pairs = (struct bytes){text, size};
    }
    return true;
}

static void set_transfer(struct instruction *instruction, const struct transfer *transfer)
{
    if (transfer->channel > 0) {
        import_set_int(instruction, ATTR_CHANNEL_ID, transfer->channel);
    }
    if (transfer->is_host) {
        import_set_int(instruction, ATTR_IS_HOST_TRANSFER, 1);
    }
    if (transfer->pairs.size > 0) {
        import_add_frontend_attribute(instruction, "_xla_send_recv_source_target_pairs",
                                      transfer->pairs.data, transfer->pairs.size);
    }
}

/* (payload, context, token) */
static const struct shape *start_shape(const struct shape *payload)
{
    const struct shape *parts[] = {payload, shape_scalar(TYPE_U32), shape_token()};
    return shape_tuple(3, parts);
}

bool translate_send(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, -1, 1, 0);
    struct transfer transfer;
    if (operands == NULL || !build_is_token(scope, op, operands[op->operand_count - 1]) ||
        !read_transfer(scope, op, &transfer)) {
        return false;
    }
    int count = op->operand_count - 1;
    struct instruction *parts[] = {
        count == 1 ? operands[0] : build_tuple(scope, op, count, operands), operands[count]};
    struct instruction *send =
        import_add(scope, op, OP_SEND, start_shape(parts[0]->shape), 2, parts);
    set_transfer(send, &transfer);
    struct instruction *done = import_add(scope, op, OP_SEND_DONE, shape_token(), 1, &send);
    set_transfer(done, &transfer);
    return import_bind_results(scope, op, done);
}

bool translate_recv(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, -1, 0);
    struct transfer transfer;
    const struct shape **shapes;
    if (operands == NULL || !build_is_token(scope, op, operands[0]) ||
        !read_transfer(scope, op, &transfer) || !payload_shapes(scope, op, &shapes)) {
        return false;
    }
    int count = op->result_count - 1;
    const struct shape *payload = count == 1 ? shapes[0] : shape_tuple(count, shapes);
    struct instruction *recv = import_add(scope, op, OP_RECV, start_shape(payload), 1, operands);
    set_transfer(recv, &transfer);
    const struct shape *parts[] = {payload, shape_token()};
    struct instruction *done = import_add(scope, op, OP_RECV_DONE, shape_tuple(2, parts), 1, &recv);
    set_transfer(done, &transfer);
    return bind_payload(scope, op, done, count != 1);
}
