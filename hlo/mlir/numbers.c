/* Numbers of values and blocks. */
#include "hlo/mlir/numbers.h"

#include <stdlib.h>

/* Of the ops that isolate the same names. */
struct counters {
    int64_t values, arguments;
    const struct mlir_op **isolated; /* those inside, whose regions come later */
    size_t count, capacity;
};

static void put(struct map *map, const void *key, int64_t number)
{
    /* Not NULL: one more than the number. */
    map_put_int(map, (uint64_t)(uintptr_t)key, (void *)(uintptr_t)(number + 1));
}

static int64_t get(const struct map *map, const void *key)
{
    return (int64_t)(uintptr_t)(map->count == 0 ? NULL
                                                : map_get_int(map, (uint64_t)(uintptr_t)key)) -
           1;
}

static void number_op(struct mlir_numbers *numbers, const struct mlir_op *op,
                      struct counters *counters);

static void number_region(struct mlir_numbers *numbers, const struct mlir_region *region,
                          struct counters *counters)
{
    for (int b = 0; b < region->count; b++) {
        const struct mlir_block *block = region->blocks[b];
        put(&numbers->blocks, block, b);
        put(&numbers->arguments, block, counters->arguments);
        counters->arguments += block->argument_count;
        for (int i = 0; i < block->count; i++) {
            number_op(numbers, block->ops[i], counters);
        }
    }
}

static void number_op(struct mlir_numbers *numbers, const struct mlir_op *op,
                      struct counters *counters)
{
    if (op->result_count > 0) {
        put(&numbers->ops, op, counters->values++);
    }
    if (op->opcode == MLIR_OP_MODULE || op->opcode == MLIR_OP_FUNC) {
        counters->isolated = grow(counters->isolated, counters->count, &counters->capacity,
                                  sizeof *counters->isolated);
        counters->isolated[counters->count++] = op;
        return;
    }
    for (int i = 0; i < op->region_count; i++) {
        number_region(numbers, &op->regions[i], counters);
    }
}

/* The regions of an op, from those numbers on, and then those of what is isolated inside. */
static void number_isolated(struct mlir_numbers *numbers, const struct mlir_op *op, int64_t values,
                            int64_t arguments)
{
    struct counters counters = {.values = values, .arguments = arguments};
    for (int i = 0; i < op->region_count; i++) {
        number_region(numbers, &op->regions[i], &counters);
    }
    for (size_t i = 0; i < counters.count; i++) {
        number_isolated(numbers, counters.isolated[i], counters.values, counters.arguments);
    }
    free(counters.isolated);
}

void mlir_numbers_init(struct mlir_numbers *numbers, const struct mlir_op *op)
{
    map_init(&numbers->ops);
    map_init(&numbers->arguments);
    map_init(&numbers->blocks);
    if (op->result_count > 0) {
        put(&numbers->ops, op, 0);
    }
    number_isolated(numbers, op, op->result_count > 0, 0);
}

void mlir_numbers_finish(struct mlir_numbers *numbers)
{
    map_finish(&numbers->ops);
    map_finish(&numbers->arguments);
    map_finish(&numbers->blocks);
}

int64_t mlir_number_of_value(const struct mlir_numbers *numbers, const struct mlir_value *value)
{
    if (value->op != NULL) {
        return get(&numbers->ops, value->op);
    }
    int64_t first = get(&numbers->arguments, value->block);
    return first < 0 ? -1 : first + value->index;
}

int64_t mlir_number_of_block(const struct mlir_numbers *numbers, const struct mlir_block *block)
{
    return get(&numbers->blocks, block);
}
