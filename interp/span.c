/* Spans of instructions, with the bytes they read and write. */
#include "interp/span.h"

/* Control flow: its parts have spans of their own. */
static bool is_control(enum opcode opcode)
{
    switch (opcode) {
    case OP_ASYNC_START:
    case OP_CALL:
    case OP_CONDITIONAL:
    case OP_FUSION:
    case OP_WHILE:
        return true;
    default:
        return false;
    }
}

/* Gives an operand itself, under the same shape or another. */
static bool passes_on(enum opcode opcode)
{
    switch (opcode) {
    case OP_ADD_DEPENDENCY:
    case OP_AFTER_ALL:
    case OP_ASYNC_DONE:
    case OP_ASYNC_UPDATE:
    case OP_COPY:
    case OP_DOMAIN:
    case OP_GET_TUPLE_ELEMENT:
    case OP_OPT_BARRIER:
    case OP_RESHAPE:
    case OP_TUPLE:
        return true;
    default:
        return false;
    }
}

/* How many of the first operands dynamic-update-slice and scatter change. */
static int updated_arrays(const struct instruction *instruction)
{
    return instruction->opcode == OP_SCATTER ? (instruction->operand_count - 1) / 2 : 1;
}

/* Bytes of operand k that are read: of what picks elements, as many as it gives. */
static int64_t bytes_read(const struct instruction *instruction, int k)
{
    int64_t all = shape_bytes(instruction->operands[k]->shape);
    int64_t picked = all;
    switch (instruction->opcode) {
    case OP_DYNAMIC_SLICE:
    case OP_GATHER:
    case OP_SLICE:
        picked = k == 0 ? shape_bytes(instruction->shape) : all;
        break;
    case OP_DYNAMIC_UPDATE_SLICE:
    case OP_SCATTER:
        /* As where it happens in place. */
        picked = k < updated_arrays(instruction) ? 0 : all;
        break;
    default:
        break;
    }
    return picked < all ? picked : all;
}

static int64_t bytes_written(const struct instruction *instruction)
{
    int64_t bytes = 0;
    switch (instruction->opcode) {
    case OP_DYNAMIC_UPDATE_SLICE:
        return shape_bytes(instruction->operands[1]->shape);
    case OP_SCATTER:
        for (int k = updated_arrays(instruction) + 1; k < instruction->operand_count; k++) {
            bytes += shape_bytes(instruction->operands[k]->shape);
        }
        return bytes;
    default:
        return shape_bytes(instruction->shape);
    }
}

void span_begin(struct evaluation *evaluation, struct interp_span *span,
                const struct instruction *instruction, int members, const struct operands *operands)
{
    *span = (struct interp_span){.instruction = instruction, .members = members};
    if (members > 1) {
        for (int k = 0; k < operands->count; k++) {
            span->bytes_read += shape_bytes(operands->values[k]->shape);
        }
        span->bytes_written = shape_bytes(instruction->shape);
    } else if (!is_control(instruction->opcode) && !passes_on(instruction->opcode)) {
        for (int k = 0; k < instruction->operand_count; k++) {
            span->bytes_read += bytes_read(instruction, k);
        }
        span->bytes_written = bytes_written(instruction);
    }
    evaluation->options.on_span(evaluation->options.context, span, false);
}

void span_end(struct evaluation *evaluation, const struct interp_span *span)
{
    evaluation->options.on_span(evaluation->options.context, span, true);
}
