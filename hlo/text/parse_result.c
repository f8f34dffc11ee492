/* The shapes of results: which must be written, which are inferred, and which follow from operands
 * whatever is written. Source: xla/hlo/parser/hlo_parser.cc (CanInferShape, CreateInstruction),
 * xla/service/shape_inference.cc (the layouts of what it infers). */
#include "hlo/infer.h"
#include "hlo/text/parse.h"

/* Opcodes whose shape must be written: XLA's reader infers none for them (CanInferShape), even
 * where shape inference could. */
static const bool shape_must_be_written[OPCODE_COUNT] = {
    [OP_ALL_GATHER] = true,
    [OP_ALL_GATHER_DONE] = true,
    [OP_ALL_GATHER_START] = true,
    [OP_ALL_REDUCE] = true,
    [OP_ALL_REDUCE_DONE] = true,
    [OP_ALL_REDUCE_START] = true,
    [OP_ALL_TO_ALL] = true,
    [OP_ASYNC_DONE] = true,
    [OP_ASYNC_START] = true,
    [OP_ASYNC_UPDATE] = true,
    [OP_BITCAST] = true,
    [OP_BITCAST_CONVERT] = true,
    [OP_COLLECTIVE_BROADCAST] = true,
    [OP_COLLECTIVE_PERMUTE] = true,
    [OP_COLLECTIVE_PERMUTE_DONE] = true,
    [OP_COLLECTIVE_PERMUTE_START] = true,
    [OP_CONSTANT] = true,
    [OP_CONVERT] = true,
    [OP_COPY_DONE] = true,
    [OP_COPY_START] = true,
    [OP_CUSTOM_CALL] = true,
    [OP_DYNAMIC_RESHAPE] = true,
    [OP_DYNAMIC_SLICE] = true,
    [OP_DYNAMIC_UPDATE_SLICE] = true,
    [OP_FUSION] = true,
    [OP_INFEED] = true,
    [OP_IOTA] = true,
    [OP_OPT_BARRIER] = true,
    [OP_OUTFEED] = true,
    [OP_PARAMETER] = true,
    [OP_RAGGED_ALL_TO_ALL] = true,
    [OP_RECV] = true,
    [OP_RECV_DONE] = true,
    [OP_REDUCE_PRECISION] = true,
    [OP_REDUCE_SCATTER] = true,
    [OP_RESHAPE] = true,
    [OP_RNG] = true,
    [OP_RNG_BIT_GENERATOR] = true,
    [OP_RNG_GET_AND_UPDATE_STATE] = true,
    [OP_SEND] = true,
    [OP_SEND_DONE] = true,
    [OP_SLICE] = true,
    [OP_STOCHASTIC_CONVERT] = true,
};

bool parse_needs_shape(enum opcode opcode)
{
    return shape_must_be_written[opcode];
}

/* The operand whose layout XLA's shape inference hands on to the result, −1 if none. */
static int layout_giver(enum opcode opcode)
{
    static const struct {
        const char *rule; /* of opcodes.def */
        int operand;
    } givers[] = {{"unary", 0},   {"binary", 0},   {"compare", 0}, {"complex", 0},
                  {"reverse", 0}, {"cholesky", 0}, {"select", 0},  {"clamp", 1}};
    for (size_t i = 0; i < sizeof givers / sizeof *givers; i++) {
        if (strcmp(opcode_table[opcode].infer, givers[i].rule) == 0) {
            return givers[i].operand;
        }
    }
    return -1;
}

/* The layout of a transpose: dimensions keep their order in memory. */
static const struct shape *transpose_layout(const struct instruction *instruction,
                                            const struct shape *shape)
{
    const struct layout *from = instruction->operands[0]->shape->layout;
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    int64_t order[SHAPE_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) {
        for (int k = 0; k < shape->rank; k++) {
            if (dimensions.values[k] == from->minor_to_major[i]) {
                order[i] = k;
            }
        }
    }
    struct layout layout = *from;
    layout.minor_to_major = order;
    return shape_with_layout(shape, layout_make(&layout));
}

static const struct shape *with_layout(const struct instruction *instruction,
                                       const struct shape *shape)
{
    enum opcode opcode = instruction->opcode;
    if (opcode == OP_TRANSPOSE) {
        return transpose_layout(instruction, shape);
    }
    if (opcode == OP_SORT && instruction->operand_count == 1) {
        return instruction->operands[0]->shape;
    }
    int giver = layout_giver(opcode);
    if (giver < 0 || !shape_is_array(shape)) {
        return shape;
    }
    const struct shape *from = instruction->operands[giver]->shape;
    return shape_is_array(from) && from->rank == shape->rank
               ? shape_with_layout(shape, from->layout)
               : shape;
}

bool parse_infer_shape(struct parser *parser, struct instruction *instruction, const char *at)
{
    struct error err = {0};
    const struct shape *shape = infer_shape(instruction, &err);
    if (shape != NULL) {
        instruction->shape = with_layout(instruction, shape);
        return true;
    }
    return lexer_fail(&parser->lexer, at, "cannot infer the shape of %s%s%s",
                      opcode_text(instruction->opcode), err.code != ERROR_NONE ? ": " : "",
                      err.message);
}

/* XLA gives these the shape that follows from their operands, whatever is written. */
void parse_settle_shape(struct instruction *instruction)
{
    const struct shape *token = shape_token(), *u32 = shape_scalar(TYPE_U32);
    const struct shape *written = instruction->shape;
    const struct shape *operand =
        instruction->operand_count > 0 ? instruction->operands[0]->shape : NULL;
    switch (instruction->opcode) {
    case OP_RECV:
        instruction->shape =
            shape_tuple(3, (const struct shape *const[]){written->elements[0], u32, token});
        break;
    case OP_SEND:
        instruction->shape = shape_tuple(3, (const struct shape *const[]){operand, u32, token});
        break;
    case OP_RECV_DONE:
        if (shape_is_tuple(operand) && operand->count > 0) {
            instruction->shape =
                shape_tuple(2, (const struct shape *const[]){operand->elements[0], token});
        }
        break;
    case OP_SEND_DONE:
    case OP_OUTFEED:
        instruction->shape = token;
        break;
    case OP_INFEED:
        instruction->shape =
            shape_tuple(2, (const struct shape *const[]){written->elements[0], token});
        break;
    default:
        break;
    }
}
