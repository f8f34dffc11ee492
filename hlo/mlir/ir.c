/* MLIR in memory: files, names and ops. */
#include "hlo/mlir/ir.h"

#include <stdlib.h>
#include <string.h>

/* --- the table of ops --- */

static const struct {
    const char *name;
    size_t size;
} op_names[MLIR_OP_COUNT] = {
#define MLIR_OP(id, name, form, import, opcode) [MLIR_OP_##id] = {name, sizeof name - 1},
#include "hlo/mlir/ops.def"
};

enum { OP_SLOTS = 1024 };
_Static_assert(MLIR_OP_COUNT * 2 < OP_SLOTS, "the table of op names is too full");

/* Made by the first constructor of the process, before any thread: open addressing, 0 = free. */
static uint16_t op_slots[OP_SLOTS];

static size_t op_slot(const char *name, size_t size)
{
    return hash_bytes(name, size, 0) % OP_SLOTS;
}

__attribute__((constructor)) static void op_slots_make(void)
{
    for (int i = 1; i < MLIR_OP_COUNT; i++) {
        size_t slot = op_slot(op_names[i].name, op_names[i].size);
        while (op_slots[slot] != 0) {
            slot = (slot + 1) % OP_SLOTS;
        }
        op_slots[slot] = (uint16_t)i;
    }
}

enum mlir_opcode mlir_opcode_of(const char *name, size_t size)
{
    for (size_t slot = op_slot(name, size); op_slots[slot] != 0; slot = (slot + 1) % OP_SLOTS) {
        int i = op_slots[slot];
        if (op_names[i].size == size && memcmp(op_names[i].name, name, size) == 0) {
            return (enum mlir_opcode)i;
        }
    }
    return MLIR_OP_UNKNOWN;
}

const char *mlir_opcode_name(enum mlir_opcode opcode)
{
    return opcode == MLIR_OP_UNKNOWN ? "" : op_names[opcode].name;
}

enum opcode mlir_opcode_hlo(enum mlir_opcode opcode)
{
    enum { OP_COUNT = OPCODE_COUNT };
    static const int opcodes[MLIR_OP_COUNT] = {
        [MLIR_OP_UNKNOWN] = OPCODE_COUNT,
#define MLIR_OP(id, name, form, import, opcode) [MLIR_OP_##id] = OP_##opcode,
#include "hlo/mlir/ops.def"
    };
    return (enum opcode)opcodes[opcode];
}

/* --- life --- */

struct mlir_file *mlir_file_create(const char *name)
{
    struct mlir_file *file = memory_zalloc(sizeof *file);
    arena_init(&file->arena);
    map_init(&file->strings);
    map_init(&file->types);
    map_init(&file->resources);
    file->name = name == NULL ? NULL : arena_string(&file->arena, name, strlen(name));
    return file;
}

void mlir_file_destroy(struct mlir_file *file)
{
    if (file == NULL) {
        return;
    }
    map_finish(&file->strings);
    map_finish(&file->types);
    map_finish(&file->resources);
    arena_finish(&file->arena);
    free(file);
}

const char *mlir_intern(struct mlir_file *file, const char *text, size_t size)
{
    const char *found = map_get(&file->strings, text, size);
    if (found == NULL) {
        char *copy = arena_string(&file->arena, text, size);
        map_put(&file->strings, copy, size, copy);
        found = copy;
    }
    return found;
}

/* --- ops --- */

struct mlir_op *mlir_op_new(struct mlir_file *file, const char *name, size_t size,
                            int operand_count, int result_count, int region_count)
{
    struct arena *arena = &file->arena;
    struct mlir_op *op = arena_alloc(arena, sizeof *op);
    op->opcode = mlir_opcode_of(name, size);
    op->name = op->opcode == MLIR_OP_UNKNOWN ? mlir_intern(file, name, size)
                                             : mlir_opcode_name(op->opcode);
    op->operand_count = operand_count;
    op->result_count = result_count;
    op->region_count = region_count;
    op->operands = arena_array(arena, (size_t)operand_count, sizeof *op->operands);
    op->results = arena_array(arena, (size_t)result_count, sizeof *op->results);
    op->regions = arena_array(arena, (size_t)region_count, sizeof *op->regions);
    for (int i = 0; i < result_count; i++) {
        op->results[i].op = op;
        op->results[i].index = i;
    }
    for (int i = 0; i < region_count; i++) {
        op->regions[i].parent = op;
    }
    return op;
}

struct mlir_block *mlir_block_add(struct mlir_file *file, struct mlir_region *region,
                                  int argument_count)
{
    struct arena *arena = &file->arena;
    struct mlir_block *block = arena_alloc(arena, sizeof *block);
    block->region = region;
    block->argument_count = argument_count;
    block->arguments = arena_array(arena, (size_t)argument_count, sizeof *block->arguments);
    for (int i = 0; i < argument_count; i++) {
        block->arguments[i].block = block;
        block->arguments[i].index = i;
    }
    /* Room doubles at the powers of two; most regions have one block. */
    int count = region->count;
    if ((count & (count - 1)) == 0) {
        struct mlir_block **blocks =
            arena_array(arena, count == 0 ? 1 : 2 * (size_t)count, sizeof *blocks);
        if (count > 0) {
            memcpy(blocks, region->blocks, (size_t)count * sizeof *blocks);
        }
        region->blocks = blocks;
    }
    region->blocks[region->count++] = block;
    return block;
}

void mlir_block_set_ops(struct mlir_file *file, struct mlir_block *block, int count,
                        struct mlir_op *const *ops)
{
    block->count = count;
    block->ops = arena_copy(&file->arena, ops, (size_t)count * sizeof *ops);
    for (int i = 0; i < count; i++) {
        ops[i]->block = block;
    }
}

struct mlir_op *mlir_find_symbol(const struct mlir_op *module, const char *name)
{
    for (int r = 0; r < module->region_count; r++) {
        for (int b = 0; b < module->regions[r].count; b++) {
            const struct mlir_block *block = module->regions[r].blocks[b];
            for (int i = 0; i < block->count; i++) {
                const struct mlir_attr *symbol = mlir_op_attr(block->ops[i], "sym_name");
                if (symbol != NULL && symbol->kind == MLIR_ATTR_STRING &&
                    strcmp(symbol->string.data, name) == 0) {
                    return block->ops[i];
                }
            }
        }
    }
    return NULL;
}

struct where mlir_where(const struct mlir_file *file, const struct mlir_op *op)
{
    return (struct where){file->name, op->line, op->line > 0 ? op->column : 0};
}
