/* Verifier: every async-start has its async-done, and every async-update stands between the two.
 * Source: xla/service/hlo_verifier.cc (VerifyAsynchronousInstructionPairs). */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "hlo/base/arena.h"
#include "hlo/verify_internal.h"

#define REPORT(...) \
    verify_report(findings, instruction, instruction_where(instruction), __VA_ARGS__)

/* What is known of a module's async instructions: the done of each start, and which updates are
 * part of a chain. Both are indexed by computation and instruction. */
struct chains {
    const struct module *module;
    const struct instruction ***done;
    struct users *users;
};

static bool has_async(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            enum opcode opcode = module->computations[c]->instructions[i]->opcode;
            if (opcode == OP_ASYNC_START || opcode == OP_ASYNC_UPDATE) {
                return true;
            }
        }
    }
    return false;
}

static const struct instruction **done_of(const struct chains *chains,
                                          const struct instruction *instruction)
{
    return &chains->done[instruction->parent->id][instruction->id];
}

/* Follows a done back to its start. */
static void follow(const struct chains *chains, const struct instruction *instruction,
                   struct findings *findings)
{
    const struct instruction *at =
        instruction->operand_count > 0 ? async_producer(instruction->operands[0]) : NULL;
    while (at != NULL) {
        const struct instruction **done = done_of(chains, at);
        if (*done != NULL && *done != instruction && at->opcode == OP_ASYNC_START) {
            verify_report(findings, at, instruction_where(at),
                          "async-start %s has two async-done: %s and %s", at->name, (*done)->name,
                          instruction->name);
        }
        if (*done != NULL) {
            return;
        }
        *done = instruction;
        at = at->opcode == OP_ASYNC_UPDATE && at->operand_count > 0
                 ? async_producer(at->operands[0])
                 : NULL;
    }
}

/* Does the value reach a loop, into which or from which it is carried? */
static bool is_carried(const struct chains *chains, const struct instruction *value, int depth)
{
    const struct computation *computation = value->parent;
    if (depth == 0) {
        return true; /* as far as can be seen */
    }
    if (value == computation->root) {
        for (int c = 0; c < chains->module->count; c++) {
            for (int i = 0; i < chains->module->computations[c]->count; i++) {
                const struct instruction *caller = chains->module->computations[c]->instructions[i];
                for (int k = 0; k < caller->called_count; k++) {
                    bool hands_on = caller->opcode == OP_CALL || caller->opcode == OP_CONDITIONAL;
                    if (caller->called[k] == computation &&
                        ((caller->opcode == OP_WHILE && k == 0) ||
                         (hands_on && is_carried(chains, caller, depth - 1)))) {
                        return true;
                    }
                }
            }
        }
    }
    const struct users *users = &chains->users[computation->id];
    for (int k = users->first[value->id]; k < users->first[value->id + 1]; k++) {
        switch (users->list[k]->opcode) {
        case OP_WHILE:
            return true;
        case OP_ASYNC_UPDATE:
        case OP_CALL:
        case OP_CONDITIONAL:
        case OP_DOMAIN:
        case OP_GET_TUPLE_ELEMENT:
        case OP_OPT_BARRIER:
        case OP_TUPLE:
            if (is_carried(chains, users->list[k], depth - 1)) {
                return true;
            }
            break;
        default:
            break;
        }
    }
    return false;
}

static void check_instruction(const struct chains *chains, const struct instruction *instruction,
                              struct findings *findings)
{
    enum { DEPTH = 8 };
    bool is_start = instruction->opcode == OP_ASYNC_START;
    if ((!is_start && instruction->opcode != OP_ASYNC_UPDATE) ||
        *done_of(chains, instruction) != NULL || is_carried(chains, instruction, DEPTH)) {
        return;
    }
    if (is_start) {
        REPORT("async-start %s has no async-done", instruction->name);
    } else {
        REPORT("async-update %s has no async-done", instruction->name);
    }
}

void verify_async(const struct module *module, struct findings *findings)
{
    if (!has_async(module)) {
        return;
    }
    size_t count = (size_t)module->count;
    struct chains chains = {module, memory_zalloc(count * sizeof *chains.done),
                            memory_zalloc(count * sizeof *chains.users)};
    for (int c = 0; c < module->count; c++) {
        size_t size = (size_t)module->computations[c]->count;
        chains.done[c] = memory_zalloc((size + 1) * sizeof(const struct instruction *));
        users_build(module->computations[c], &chains.users[c]);
    }
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            if (module->computations[c]->instructions[i]->opcode == OP_ASYNC_DONE) {
                follow(&chains, module->computations[c]->instructions[i], findings);
            }
        }
    }
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            check_instruction(&chains, module->computations[c]->instructions[i], findings);
        }
    }
    for (int c = 0; c < module->count; c++) {
        free(chains.done[c]);
        users_finish(&chains.users[c]);
    }
    free(chains.done);
    free(chains.users);
}
