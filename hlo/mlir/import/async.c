/* MLIR → HLO: async_start and async_done.
 *
 * all_gather, all_reduce and collective_permute have starts and dones of their own in HLO; of the
 * others an async-start makes a computation of one instruction. An op that becomes several is done
 * at once, which the specification allows; XLA's translation of such an all_to_all is one that its
 * verifier refuses. */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/import_internal.h"

#include "hlo/mlir/import/build.h"

/* Collectives with starts of their own. */
static const struct start_row {
    enum mlir_opcode op;
    enum opcode whole, start, done;
    bool is_pair; /* the start gives (operand, result) */
} start_rows[] = {
    {MLIR_OP_ALL_GATHER, OP_ALL_GATHER, OP_ALL_GATHER_START, OP_ALL_GATHER_DONE, true},
    {MLIR_OP_ALL_REDUCE, OP_ALL_REDUCE, OP_ALL_REDUCE_START, OP_ALL_REDUCE_DONE, false},
    {MLIR_OP_COLLECTIVE_PERMUTE, OP_COLLECTIVE_PERMUTE, OP_COLLECTIVE_PERMUTE_START,
     OP_COLLECTIVE_PERMUTE_DONE, true},
};
enum { START_ROWS = sizeof start_rows / sizeof *start_rows };

/* Futures are no values of HLO, so they are bound unchecked. */
static void bind_future(struct scope *scope, const struct mlir_op *op,
                        struct instruction *instruction)
{
    map_put_int(&scope->values, pointer_key(&op->results[0]), instruction);
}

static const struct shape *operands_shape(struct scope *scope, int count,
                                          struct instruction *const *operands)
{
    const struct shape **shapes =
        arena_array(&scope->importer->module->arena, (size_t)count + 1, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        shapes[i] = operands[i]->shape;
    }
    return shape_tuple(count, shapes);
}

/* A collective into its start. */
static void make_start(struct scope *scope, const struct start_row *row,
                       struct instruction *instruction)
{
    instruction->opcode = row->start;
    instruction->name = import_name(scope->importer, opcode_text(row->start));
    if (row->is_pair) {
        int count = instruction->operand_count;
        const struct shape *parts[] = {count == 1
                                           ? instruction->operands[0]->shape
                                           : operands_shape(scope, count, instruction->operands),
                                       instruction->shape};
        instruction->shape = shape_tuple(2, parts);
    }
}

/* The op at once: what it gives, or its start in its place if that is one instruction. `row` may be
 * NULL: it has no start of its own. */
static bool start_here(struct scope *scope, const struct mlir_op *op, const struct start_row *row,
                       const struct mlir_block *block, struct instruction *const *operands)
{
    for (int i = 0; i < block->argument_count; i++) {
        import_bind(scope, &block->arguments[i], operands[i]);
    }
    struct mlir_op *end = import_block(scope, op, block);
    struct instruction *root = end != NULL ? import_root(scope, end, false) : NULL;
    if (root == NULL) {
        return false;
    }
    bool is_whole =
        row != NULL && root->opcode == row->whole && root->operand_count == op->operand_count;
    for (int i = 0; is_whole && i < root->operand_count; i++) {
        is_whole = root->operands[i] == operands[i];
    }
    if (is_whole) {
        make_start(scope, row, root);
    }
    bind_future(scope, op, root);
    return true;
}

/* Those from number `first` on, which nothing calls. */
static void drop_computations(struct module *module, int first)
{
    for (int c = first; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            literal_release(computation->instructions[i]->literal);
        }
    }
    module->count = first;
}

/* An async-start of a computation, which must be one instruction and its parameters; else at once,
 * and the computation is dropped with those that it was given. */
static bool start_computation(struct scope *scope, const struct mlir_op *op,
                              const struct mlir_block *block, struct instruction *const *operands)
{
    struct module *module = scope->importer->module;
    int count = module->count;
    struct computation *computation = import_region(scope, op, 0, NULL, false);
    if (computation == NULL) {
        return false;
    }
    if (computation->count != computation->parameter_count + 1) {
        drop_computations(module, count);
        return start_here(scope, op, NULL, block, operands);
    }
    const struct shape *parts[] = {operands_shape(scope, op->operand_count, operands),
                                   computation->root->shape};
    struct instruction *start =
        import_add(scope, op, OP_ASYNC_START, shape_tuple(2, parts), op->operand_count, operands);
    instruction_set_called(start, 1, &computation);
    bind_future(scope, op, start);
    return true;
}

/* What may be done asynchronously (constraint C2). */
static bool may_be_async(enum mlir_opcode opcode)
{
    static const enum mlir_opcode opcodes[] = {
        MLIR_OP_ALL_GATHER,         MLIR_OP_ALL_REDUCE,
        MLIR_OP_ALL_TO_ALL,         MLIR_OP_COLLECTIVE_BROADCAST,
        MLIR_OP_COLLECTIVE_PERMUTE, MLIR_OP_COLLECTIVE_REDUCE,
        MLIR_OP_REDUCE_SCATTER,     MLIR_OP_SLICE,
        MLIR_OP_DYNAMIC_SLICE,      MLIR_OP_DYNAMIC_UPDATE_SLICE,
    };
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        if (opcodes[i] == opcode) {
            return true;
        }
    }
    return false;
}

bool translate_async_start(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, op->operand_count, 1, 1);
    const struct mlir_block *block = operands != NULL ? import_only_block(scope, op, 0) : NULL;
    if (block == NULL) {
        return false;
    }
    if (block->argument_count != op->operand_count || block->count != 2) {
        return import_fail(scope, op, "its region must have one op, of %d values",
                           op->operand_count);
    }
    if (!may_be_async(block->ops[0]->opcode)) {
        return import_fail(scope, op, "%s cannot be done asynchronously", block->ops[0]->name);
    }
    for (int i = 0; i < START_ROWS; i++) {
        if (start_rows[i].op == block->ops[0]->opcode && block->ops[0]->result_count == 1) {
            return start_here(scope, op, &start_rows[i], block, operands);
        }
    }
    return start_computation(scope, op, block, operands);
}

bool translate_async_done(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL) {
        return false;
    }
    struct instruction *start = operands[0];
    enum opcode done = start->opcode == OP_ASYNC_START ? OP_ASYNC_DONE : OPCODE_COUNT;
    const struct shape *shape = start->shape;
    for (int i = 0; i < START_ROWS; i++) {
        done = start_rows[i].start == start->opcode ? start_rows[i].done : done;
    }
    if (done == OPCODE_COUNT) {
        import_bind(scope, &op->results[0], start);
        return scope->importer->err->code == ERROR_NONE;
    }
    if (start->opcode != OP_ALL_REDUCE_START) {
        shape = shape->elements[1];
    }
    struct instruction *result = import_add(scope, op, done, shape, 1, &start);
    return import_bind_results(scope, op, result);
}
