/* Verifier: buffers. A buffer b(…) is memory that is written at most once after each name it gets;
 * only custom calls, control flow, tuples and dynamic-update-slice may handle one, and a custom
 * call says of each which operand it was. Source: xla/service/hlo_verifier.cc (VerifyBuffers). */
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/verify_internal.h"

#define REPORT(...) \
    verify_report(findings, instruction, instruction_where(instruction), __VA_ARGS__)

enum { DEPTH = 16 };

static bool has_buffer(const struct shape *shape)
{
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        if (has_buffer(shape->elements[i])) {
            return true;
        }
    }
    return shape->type == TYPE_BUFFER;
}

static bool is_loop_body(const struct computation *computation)
{
    const struct module *module = computation->module;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *caller = module->computations[c]->instructions[i];
            for (int k = 0; k < caller->called_count; k++) {
                if (caller->opcode == OP_WHILE && caller->called[k] == computation) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* How many write to the part of the value at path (innermost index last). Whoever gets a buffer may
 * write to it. */
static int count_writers(const struct instruction *value, const struct users *users,
                         const int64_t *path, int depth)
{
    int writers = 0;
    for (int k = users->first[value->id]; k < users->first[value->id + 1]; k++) {
        const struct instruction *user = users->list[k];
        int64_t longer[DEPTH + 1];
        switch (user->opcode) {
        case OP_CALL:
        case OP_CONDITIONAL:
        case OP_CUSTOM_CALL:
        case OP_DYNAMIC_UPDATE_SLICE:
        case OP_FUSION:
        case OP_WHILE:
            writers++;
            break;
        case OP_GET_TUPLE_ELEMENT:
            if (depth > 0 && attr_int(user, ATTR_INDEX, -1) == path[0]) {
                writers += count_writers(user, users, path + 1, depth - 1);
            }
            break;
        case OP_TUPLE:
            if (user == user->parent->root) {
                writers += is_loop_body(user->parent);
            } else if (depth < DEPTH) {
                int first = 0;
                while (user->operands[first] != value) {
                    first++;
                }
                longer[0] = first;
                memcpy(longer + 1, path, (size_t)depth * sizeof *path);
                writers += count_writers(user, users, longer, depth + 1);
            }
            break;
        default:
            break;
        }
    }
    return writers;
}

/* Every buffer of what the instruction gives has at most one writer. */
static void check_writers(const struct instruction *instruction, const struct shape *part,
                          const struct users *users, int64_t *path, int depth,
                          struct findings *findings)
{
    for (int i = 0; shape_is_tuple(part) && i < part->count && depth < DEPTH; i++) {
        path[depth] = i;
        check_writers(instruction, part->elements[i], users, path, depth + 1, findings);
    }
    if (part->type == TYPE_BUFFER && count_writers(instruction, users, path, depth) > 1) {
        REPORT("a buffer that %s gives has more than one writer", instruction->name);
    }
}

/* How often aliasing names a part: of the result, or of an operand. */
static int count_named(const struct instruction *instruction, int operand, const int64_t *path,
                       int depth)
{
    const struct attr *attr = attr_get(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    int count = 0;
    for (int i = 0; attr != NULL && i < attr->aliasing.count; i++) {
        const struct output_alias *alias = &attr->aliasing.entries[i];
        struct ints index = operand < 0 ? alias->output_index : alias->operand_index;
        count += (operand < 0 || alias->operand == operand) &&
                 ints_equal(index, (struct ints){depth, path});
    }
    return count;
}

/* Each buffer of a part is named once. operand −1: the result. */
static void check_named(const struct instruction *instruction, int operand,
                        const struct shape *part, int64_t *path, int depth,
                        struct findings *findings)
{
    for (int i = 0; shape_is_tuple(part) && i < part->count && depth < DEPTH; i++) {
        path[depth] = i;
        check_named(instruction, operand, part->elements[i], path, depth + 1, findings);
    }
    if (part->type != TYPE_BUFFER) {
        return;
    }
    int count = count_named(instruction, operand, path, depth);
    if (count != 1) {
        REPORT("%s: output_to_operand_aliasing must name each buffer of %s once, but names one %d "
               "times",
               instruction->name, operand < 0 ? "the result" : "an operand", count);
    }
}

static bool is_target(const struct instruction *instruction, const char *target)
{
    return strcmp(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET), target) == 0;
}

/* Pin makes a buffer of an array, Unpin an array of a buffer, and either is the operand itself. */
static void check_pin(const struct instruction *instruction, bool pins, struct findings *findings)
{
    const struct shape *result = instruction->shape;
    const struct shape *operand =
        instruction->operand_count == 1 ? instruction->operands[0]->shape : shape_token();
    const struct shape *buffer = pins ? result : operand, *array = pins ? operand : result;
    const struct attr *aliasing = attr_get(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    if (buffer->type != TYPE_BUFFER || !shape_is_array(array) ||
        !shape_compatible(shape_static(buffer->elements[0]), shape_static(array))) {
        REPORT("%s: %s", instruction->name,
               pins ? "Pin takes an array and gives a buffer of it"
                    : "Unpin takes a buffer and gives its array");
    } else if (aliasing == NULL || aliasing->aliasing.count != 1) {
        REPORT("%s: a %s needs one output_to_operand_aliasing", instruction->name,
               pins ? "Pin" : "Unpin");
    }
}

static void check_custom_call(const struct instruction *instruction, const struct users *users,
                              struct findings *findings)
{
    int64_t path[DEPTH + 1];
    bool pins = is_target(instruction, "Pin"), makes = is_target(instruction, "CreateBuffer");
    if (pins || is_target(instruction, "Unpin")) {
        check_pin(instruction, pins, findings);
    } else if (makes) {
        if (instruction->operand_count != 0 || instruction->shape->type != TYPE_BUFFER) {
            REPORT("%s: CreateBuffer takes nothing and gives a buffer", instruction->name);
        }
    } else {
        for (int i = 0; i < instruction->operand_count; i++) {
            check_named(instruction, i, instruction->operands[i]->shape, path, 0, findings);
        }
        check_named(instruction, -1, instruction->shape, path, 0, findings);
    }
    if (has_buffer(instruction->shape)) {
        check_writers(instruction, instruction->shape, users, path, 0, findings);
    }
}

/* Has it to do with buffers, or should it? */
static bool concerns(const struct instruction *instruction)
{
    bool touches = has_buffer(instruction->shape) ||
                   (instruction->opcode == OP_CUSTOM_CALL &&
                    (is_target(instruction, "Pin") || is_target(instruction, "Unpin") ||
                     is_target(instruction, "CreateBuffer")));
    for (int i = 0; i < instruction->operand_count && !touches; i++) {
        touches = has_buffer(instruction->operands[i]->shape);
    }
    return touches;
}

static bool is_stream_call(const struct instruction *instruction)
{
    return attr_frontend(instruction, "_xla_stream_annotation") != NULL;
}

static void check_instruction(const struct instruction *instruction, const struct users *users,
                              struct findings *findings)
{
    int64_t path[DEPTH + 1];
    bool is_entry = instruction->parent == instruction->parent->module->entry;
    switch (instruction->opcode) {
    case OP_ASYNC_DONE:
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_GET_TUPLE_ELEMENT:
    case OP_TUPLE:
        return;
    case OP_CUSTOM_CALL:
        check_custom_call(instruction, users, findings);
        return;
    case OP_DYNAMIC_UPDATE_SLICE:
    case OP_WHILE:
        check_writers(instruction, instruction->shape, users, path, 0, findings);
        return;
    case OP_PARAMETER:
        if (!is_entry) {
            check_writers(instruction, instruction->shape, users, path, 0, findings);
            return;
        }
        break;
    default:
        if (instruction->opcode == OP_CALL && is_stream_call(instruction)) {
            return;
        }
        break;
    }
    REPORT("%s %s must not have to do with buffers", opcode_text(instruction->opcode),
           instruction->name);
}

void verify_buffers(const struct computation *computation, const struct users *users,
                    struct findings *findings)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (!concerns(instruction)) {
            continue;
        }
        /* Of what an async-start calls, only the custom call that it wraps is looked at. */
        bool is_wrapped = instruction == computation->root && instruction->opcode == OP_CUSTOM_CALL;
        if (is_wrapped || !verify_is_async_body(computation)) {
            check_instruction(instruction, users, findings);
        }
    }
}
