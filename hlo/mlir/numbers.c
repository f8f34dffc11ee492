/* Numbers of values and blocks. */
#include "hlo/mlir/numbers.h"

struct counters {
    int64_t values, arguments;
    bool restart;
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
    bool isolated = op->opcode == MLIR_OP_MODULE || op->opcode == MLIR_OP_FUNC;
    struct counters inner = {.restart = true};
    for (int i = 0; i < op->region_count; i++) {
        number_region(numbers, &op->regions[i],
                      isolated && counters->restart ? &inner : counters);
    }
}

void mlir_numbers_init(struct mlir_numbers *numbers, const struct mlir_op *op, bool restart)
{
    map_init(&numbers->ops);
    map_init(&numbers->arguments);
    map_init(&numbers->blocks);
    struct counters counters = {.restart = restart};
    number_op(numbers, op, &counters);
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
