/* What XLA's reader refuses besides wrong syntax; the rest is its verifier's (hlo/verify.h).
 * Source: xla/hlo/parser/hlo_parser.cc (CreateInstruction, ParseInstructionRhs). */
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/text/parse.h"

static bool check_operands(struct parser *parser, const struct instruction *instruction,
                           const char *at)
{
    struct lexer *lexer = &parser->lexer;
    int count = instruction->operand_count;
    const struct shape *shape = instruction->shape;
    const char *name = opcode_text(instruction->opcode);
    switch (instruction->opcode) {
    case OP_TUPLE:
        if (shape != NULL && (!shape_is_tuple(shape) || shape->count != count)) {
            return lexer_fail(lexer, at, "tuple of %d operands has shape %s", count,
                              shape_text(shape));
        }
        return true;
    case OP_REDUCE:
    case OP_REDUCE_WINDOW:
        return (count > 0 && count % 2 == 0) ||
               lexer_fail(lexer, at,
                          "%s takes inputs and as many initial values, found %d operands", name,
                          count);
    case OP_CONCATENATE:
    case OP_SORT:
    case OP_SCAN:
    case OP_ALL_GATHER:
        return count > 0 || lexer_fail(lexer, at, "%s takes at least one operand", name);
    case OP_DYNAMIC_SLICE:
    case OP_DYNAMIC_UPDATE_SLICE: {
        int fixed = instruction->opcode == OP_DYNAMIC_SLICE ? 1 : 2;
        bool right = count >= fixed &&
                     (count == fixed + instruction->operands[0]->shape->rank ||
                      (count == fixed + 1 && instruction->operands[fixed]->shape->rank == 1));
        return right || lexer_fail(lexer, at, "wrong number of operands for %s: %d", name, count);
    }
    case OP_DYNAMIC_RESHAPE:
        return (count > 0 && shape_is_array(shape) && count - 1 == shape->rank) ||
               lexer_fail(lexer, at, "%s takes an operand and a size for each dimension", name);
    case OP_CONDITIONAL:
        return (count > 1 && count - 1 == instruction->called_count &&
                shape_is_scalar(instruction->operands[0]->shape) &&
                (instruction->operands[0]->shape->type == TYPE_PRED ||
                 instruction->operands[0]->shape->type == TYPE_S32)) ||
               lexer_fail(lexer, at,
                          "%s takes a scalar of pred or s32 and an operand for each computation",
                          name);
    case OP_RECV:
    case OP_INFEED:
        return (shape_is_tuple(shape) && shape->count > 0) ||
               lexer_fail(lexer, at, "%s needs the shape of a tuple that is not empty, found %s",
                          name, shape_text(shape));
    default:
        return true;
    }
}

/* Opcodes that work along exactly one dimension. */
static bool check_dimensions(struct parser *parser, const struct instruction *instruction,
                             const char *at)
{
    enum opcode opcode = instruction->opcode;
    bool is_one = opcode == OP_ALL_GATHER || opcode == OP_ALL_GATHER_START ||
                  opcode == OP_REDUCE_SCATTER || opcode == OP_CONCATENATE || opcode == OP_SCAN ||
                  opcode == OP_SORT || opcode == OP_GET_DIMENSION_SIZE ||
                  opcode == OP_SET_DIMENSION_SIZE || opcode == OP_ALL_TO_ALL;
    const struct attr *attr = is_one ? attr_get(instruction, ATTR_DIMENSIONS) : NULL;
    return attr == NULL || attr->ints.count == 1 ||
           lexer_fail(&parser->lexer, at, "%s works along one dimension, found %d",
                      opcode_text(opcode), attr->ints.count);
}

/* A send or recv and its done speak of one channel. */
static bool check_channel(struct parser *parser, const struct instruction *instruction,
                          const char *at)
{
    enum opcode opcode = instruction->opcode;
    if (opcode != OP_SEND_DONE && opcode != OP_RECV_DONE) {
        return true;
    }
    const struct instruction *start = instruction->operands[0];
    return !opcode_takes(start->opcode, ATTR_CHANNEL_ID) ||
           attr_int(start, ATTR_CHANNEL_ID, 0) == attr_int(instruction, ATTR_CHANNEL_ID, 0) ||
           lexer_fail(&parser->lexer, at, "%s has another channel_id than %s", opcode_text(opcode),
                      start->name);
}

bool parse_check_counts(struct parser *parser, const struct instruction *instruction,
                        const char *at)
{
    struct lexer *lexer = &parser->lexer;
    const char *name = opcode_text(instruction->opcode);
    const struct attr *shapes = attr_get(instruction, ATTR_OPERAND_LAYOUT_CONSTRAINTS);
    if (shapes != NULL) {
        if (shapes->shapes.count != instruction->operand_count) {
            return lexer_fail(lexer, at, "%s has %d operands and %d operand_layout_constraints",
                              name, instruction->operand_count, shapes->shapes.count);
        }
        for (int i = 0; i < shapes->shapes.count; i++) {
            if (!shape_compatible(shapes->shapes.shapes[i], instruction->operands[i]->shape)) {
                return lexer_fail(lexer, at, "operand %d has shape %s, but its constraint is %s", i,
                                  shape_text(instruction->operands[i]->shape),
                                  shape_text(shapes->shapes.shapes[i]));
            }
        }
    }
    const struct attr *flags = attr_get(instruction, ATTR_PARAMETER_REPLICATION);
    if (flags != NULL && flags->ints.count != shape_leaves(instruction->shape)) {
        return lexer_fail(lexer, at, "parameter_replication has %d values for %d leaves",
                          flags->ints.count, shape_leaves(instruction->shape));
    }
    const struct attr *ids = attr_get(instruction, ATTR_USE_GLOBAL_DEVICE_IDS);
    bool is_reduction = opcode_takes(instruction->opcode, ATTR_MODE);
    return ids == NULL || ids->integer == 0 || !is_reduction ||
           attr_get(instruction, ATTR_CHANNEL_ID) != NULL ||
           attr_get(instruction, ATTR_MODE) != NULL ||
           lexer_fail(lexer, at, "use_global_device_ids needs a channel_id");
}

bool parse_check(struct parser *parser, const struct instruction *instruction, const char *at)
{
    return check_operands(parser, instruction, at) && check_dimensions(parser, instruction, at) &&
           check_channel(parser, instruction, at);
}

/* What an async-start calls, only async instructions may call. */
bool parse_check_callers(const struct module *module, struct error *err)
{
    bool *is_wrapped = memory_zalloc((size_t)module->count * sizeof *is_wrapped);
    bool ok = true;
    for (int pass = 0; pass < 2; pass++) {
        for (int c = 0; c < module->count; c++) {
            const struct computation *computation = module->computations[c];
            for (int i = 0; ok && i < computation->count; i++) {
                const struct instruction *instruction = computation->instructions[i];
                enum opcode opcode = instruction->opcode;
                bool is_async = opcode == OP_ASYNC_START || opcode == OP_ASYNC_UPDATE ||
                                opcode == OP_ASYNC_DONE;
                for (int k = 0; k < instruction->called_count; k++) {
                    bool *wrapped = &is_wrapped[instruction->called[k]->id];
                    if (pass == 0) {
                        *wrapped |= opcode == OP_ASYNC_START;
                    } else if (*wrapped && !is_async) {
                        ok = error_at(err, instruction_where(instruction),
                                      "%s calls %s, which an async-start calls", instruction->name,
                                      instruction->called[k]->name);
                    }
                }
            }
        }
    }
    free(is_wrapped);
    return ok;
}
