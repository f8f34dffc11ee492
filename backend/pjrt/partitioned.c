/* Modules that are partitioned already (pjrt.h). */
#include "backend/pjrt/pjrt.h"
#include "hlo/base/arena.h"
#include "hlo/module.h"

/* Does the instruction tell partitions apart? */
static bool sees_partitions(const struct instruction *instruction)
{
    enum opcode opcode = instruction->opcode;
    bool collective =
        opcode_takes(opcode, ATTR_REPLICA_GROUPS) || opcode_takes(opcode, ATTR_SOURCE_TARGET_PAIRS);
    return opcode == OP_PARTITION_ID ||
           (collective && attr_int(instruction, ATTR_CHANNEL_ID, 0) > 0);
}

bool module_is_partitioned(const struct module *module)
{
    bool has_shardings = false;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (attr_get(instruction, ATTR_SHARDING) != NULL) {
                has_shardings = true;
            } else if (sees_partitions(instruction)) {
                return true;
            }
        }
    }
    return !has_shardings;
}

/* A tuple has a sharding for each leaf (and for none, one). */
static const struct sharding *manual_sharding(struct arena *arena, const struct shape *shape,
                                              const struct sharding *leaf)
{
    if (!shape_is_tuple(shape)) {
        return leaf;
    }
    int leaves = shape_leaves(shape), count = leaves > 0 ? leaves : 1;
    const struct sharding **elements = arena_array(arena, (size_t)count, sizeof *elements);
    for (int i = 0; i < count; i++) {
        elements[i] = leaf;
    }
    struct sharding *tuple = arena_array(arena, 1, sizeof *tuple);
    tuple->form = SHARDING_TUPLE;
    tuple->count = count;
    tuple->elements = elements;
    return tuple;
}

/* XLA's partitioner crashes on a start with a manual sharding. Its CPU compiler makes one operation
 * of a start and its done anyway: so the start is that operation here, and the done passes it on.
 */
static void make_synchronous(struct instruction *done)
{
    static const struct {
        enum opcode done, start, whole;
    } rows[] = {{OP_ALL_GATHER_DONE, OP_ALL_GATHER_START, OP_ALL_GATHER},
                {OP_ALL_REDUCE_DONE, OP_ALL_REDUCE_START, OP_ALL_REDUCE},
                {OP_COLLECTIVE_PERMUTE_DONE, OP_COLLECTIVE_PERMUTE_START, OP_COLLECTIVE_PERMUTE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct instruction *start = done->operand_count > 0 ? done->operands[0] : NULL;
        if (done->opcode == rows[i].done && start->opcode == rows[i].start) {
            start->opcode = rows[i].whole;
            start->shape = done->shape;
            done->opcode = OP_OPT_BARRIER;
        }
    }
}

void module_mark_manual(struct module *module)
{
    struct sharding *leaf = arena_array(&module->arena, 1, sizeof *leaf);
    leaf->form = SHARDING_MANUAL;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            make_synchronous(computation->instructions[i]);
        }
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            const struct sharding *sharding =
                manual_sharding(&module->arena, instruction->shape, leaf);
            instruction_set_attr(instruction,
                                 (struct attr){.key = ATTR_SHARDING, .sharding = sharding});
        }
    }
}
