/* The table of evaluators: the `eval` column of hlo/opcodes.def. */
#include "interp/eval.h"

static eval_function *const eval_table[OPCODE_COUNT] = {
#define OP(id, text, arity, infer, eval, attributes) [OP_##id] = eval_##eval,
#include "hlo/opcodes.def"
};

eval_function *eval_function_of(enum opcode opcode)
{
    return eval_table[opcode];
}
