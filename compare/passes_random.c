/* Which results of a module depend on random numbers that a backend draws in its own way. */
#include <stdlib.h>
#include <string.h>

#include "compare/passes_internal.h"
#include "hlo/base/arena.h"
#include "hlo/module.h"

static bool draws(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
        return true;
    case OP_RNG_BIT_GENERATOR:
        /* RNG_DEFAULT is the backend's choice. */
        return attr_int(instruction, ATTR_ALGORITHM, ALGORITHM_RNG) == ALGORITHM_RNG;
    default:
        return false;
    }
}

bool *pass_frame_random(const struct pass_frame *frame)
{
    const struct module *module = frame->module;
    bool *holds = memory_zalloc((size_t)module->count + 1); /* [computation]: it draws */
    bool *tainted = NULL;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        free(tainted);
        tainted = memory_zalloc((size_t)computation->count + 1);
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            tainted[i] = draws(instruction);
            for (int k = 0; k < instruction->operand_count; k++) {
                tainted[i] |= tainted[instruction->operands[k]->id];
            }
            for (int k = 0; k < instruction->called_count; k++) {
                tainted[i] |= holds[instruction->called[k]->id];
            }
            holds[c] |= tainted[i];
        }
        if (computation == module->entry) {
            break;
        }
    }
    bool *open = NULL;
    const struct instruction *root = module->entry->root;
    if (tainted[root->id]) {
        open = memory_zalloc((size_t)frame->result_count + 1);
        int at = 0;
        for (int i = 0; root->opcode == OP_TUPLE && i < root->operand_count; i++) {
            int leaves = shape_leaves(root->operands[i]->shape);
            memset(open + at, tainted[root->operands[i]->id], (size_t)leaves);
            at += leaves;
        }
        if (root->opcode != OP_TUPLE) {
            memset(open, true, (size_t)frame->result_count);
        }
    }
    free(tainted);
    free(holds);
    return open;
}
