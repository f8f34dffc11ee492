/* HLO → StableHLO: what HLO does in two halves. The ops of StableHLO that are written do both at
 * once, where the first half stands; a value of the start is what its done gives. */
#include <stdlib.h>
#include <string.h>

#include "hlo/mlir/export/export.h"

/* Can devices wait for each other here? */
static bool may_wait(const struct instruction *instruction)
{
    return opcode_transfers(instruction->opcode) || instruction->called_count > 0 ||
           instruction->opcode == OP_CUSTOM_CALL ||
           attr_get(instruction, ATTR_REPLICA_GROUPS) != NULL ||
           attr_get(instruction, ATTR_SOURCE_TARGET_PAIRS) != NULL ||
           attr_get(instruction, ATTR_CHANNEL_ID) != NULL;
}

static bool uses(const struct instruction *user, const struct instruction *value)
{
    for (int i = 0; i < user->operand_count; i++) {
        if (user->operands[i] == value) {
            return true;
        }
    }
    return false;
}

const struct instruction *export_done(struct export_scope *scope, const struct instruction *start,
                                      enum opcode done, bool alone)
{
    const struct computation *computation = scope->computation;
    const struct instruction *value = start, *found = NULL;
    bool waits = false;
    for (int i = start->id + 1; i < computation->count; i++) {
        const struct instruction *user = computation->instructions[i];
        if (uses(user, value)) {
            if (found == NULL && user->opcode == OP_ASYNC_UPDATE) {
                value = user;
            } else if (found == NULL && user->opcode == done) {
                found = user;
            } else {
                export_refuse(scope, start, "used by %s", user->name);
                return NULL;
            }
        } else if (found == NULL) {
            waits |= opcode_transfers(user->opcode) || (alone && may_wait(user));
        }
    }
    if (found == NULL || waits) {
        export_refuse(scope, start,
                      found == NULL ? "its end is missing"
                                    : "other transfers stand between it and its end");
        return NULL;
    }
    return found;
}

bool export_async_start(struct export_scope *scope, const struct instruction *instruction)
{
    const struct instruction *done = export_done(scope, instruction, OP_ASYNC_DONE, false);
    const char *name = done != NULL ? export_function_name(scope, instruction->called[0]) : NULL;
    struct mlir_op *op =
        name != NULL ? export_shaped(scope, instruction, done->shape, "func.call", 0) : NULL;
    if (op != NULL) {
        struct mlir_file *file = scope->exporter->file;
        mlir_set(file, &op->attrs, "callee", mlir_attr_symbol(file, name, strlen(name)));
    }
    return op != NULL;
}

bool export_copy_start(struct export_scope *scope, const struct instruction *instruction)
{
    return export_done(scope, instruction, OP_COPY_DONE, false) != NULL &&
           export_first_operand(scope, instruction);
}

/* --- send, recv --- */

/* "{{0,1},{1,2}}", where a transfer between devices keeps its pairs. */
static bool set_pairs(struct export_scope *scope, struct mlir_op *op,
                      const struct instruction *instruction)
{
    const struct bytes *text = attr_frontend(instruction, "_xla_send_recv_source_target_pairs");
    if (text == NULL) {
        return true;
    }
    struct arena *arena = &scope->exporter->file->arena;
    const char *at = arena_string(arena, text->data, text->size);
    int64_t *values = arena_array(arena, text->size + 1, sizeof *values);
    int count = 0;
    while (*at != '\0') {
        char *end;
        long long value = strtoll(at, &end, 10);
        if (end != at && value >= 0) {
            values[count++] = value;
            at = end;
        } else if (strchr("{}, ", *at) != NULL) {
            at++;
        } else {
            return export_refuse(scope, instruction, "with the pairs %s", at);
        }
    }
    if (count % 2 != 0) {
        return export_refuse(scope, instruction, "with pairs of %d numbers", count);
    }
    export_set_matrix(scope, op, "source_target_pairs", count / 2, 2, values);
    return true;
}

/* The types of channels: between devices, from device to host, from host to device. */
enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_DEVICE = 3 };

static bool transfer(struct export_scope *scope, const struct instruction *instruction,
                     const char *name, enum opcode done, int64_t host_channel)
{
    const struct instruction *end = export_done(scope, instruction, done, true);
    struct mlir_op *op =
        end != NULL ? export_shaped(scope, instruction, end->shape, name, 0) : NULL;
    if (op == NULL) {
        return false;
    }
    bool is_host = attr_bool(instruction, ATTR_IS_HOST_TRANSFER, false);
    export_set_channel(scope, op, attr_int(instruction, ATTR_CHANNEL_ID, 0),
                       is_host ? host_channel : DEVICE_TO_DEVICE);
    export_set_bool(scope, op, "is_host_transfer", is_host);
    return set_pairs(scope, op, instruction);
}

bool export_send(struct export_scope *scope, const struct instruction *instruction)
{
    return transfer(scope, instruction, "send", OP_SEND_DONE, DEVICE_TO_HOST);
}

bool export_recv(struct export_scope *scope, const struct instruction *instruction)
{
    return transfer(scope, instruction, "recv", OP_RECV_DONE, HOST_TO_DEVICE);
}
