/* interpreter.run_parallel of StableHLO's tests: a program of its own on every device of a grid.
 *
 * It becomes a custom call of that name, for the golden alone: its computations are first those
 * that give the infeeds, then the programs, row after row (rows are replicas, columns partitions);
 * backend_config {"infeeds": n, "replicas": r, "partitions": p} tells them apart. Operands and
 * results are those of the programs, one behind the other.
 * Source: stablehlo/reference/InterpreterOps.td and .cpp. */
#include <stdio.h>
#include <string.h>

#include "hlo/mlir/import/import_internal.h"

enum { PROGRAMS_MOST = 1024 };

struct called {
    int count;
    struct computation *computations[PROGRAMS_MOST];
};

/* Adds the functions that a list of symbols names. */
static bool add_functions(struct scope *scope, const struct mlir_op *op,
                          const struct mlir_attr *list, struct called *called)
{
    if (list->kind != MLIR_ATTR_ARRAY) {
        return import_fail(scope, op, "programs and infeed are lists of functions");
    }
    for (int i = 0; i < list->array.count; i++) {
        const struct mlir_attr *symbol = list->array.elements[i];
        const struct mlir_op *function = import_function_of(scope, op, symbol);
        if (function == NULL) {
            return false;
        }
        if (called->count == PROGRAMS_MOST) {
            return import_fail(scope, op, "more than %d programs", PROGRAMS_MOST);
        }
        called->computations[called->count] = import_function_computation(scope, op, function);
        if (called->computations[called->count++] == NULL) {
            return false;
        }
    }
    return true;
}

bool translate_run_parallel(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = import_operands(scope, op);
    const struct mlir_attr *programs = mlir_op_attr(op, "programs");
    const struct mlir_attr *infeed = mlir_op_attr(op, "infeed");
    struct called called = {0};
    if (operands == NULL || (infeed != NULL && !add_functions(scope, op, infeed, &called))) {
        return false;
    }
    int infeeds = called.count, columns = 0;
    if (programs == NULL || programs->kind != MLIR_ATTR_ARRAY || programs->array.count == 0) {
        return import_fail(scope, op, "needs programs");
    }
    for (int row = 0; row < programs->array.count; row++) {
        int before = called.count;
        if (!add_functions(scope, op, programs->array.elements[row], &called)) {
            return false;
        }
        if (row > 0 && called.count - before != columns) {
            return import_fail(scope, op, "rows of programs are of different lengths");
        }
        columns = called.count - before;
    }
    struct arena *arena = &scope->importer->module->arena;
    const struct shape **shapes =
        arena_array(arena, (size_t)op->result_count + 1, sizeof(struct shape *));
    for (int i = 0; i < op->result_count; i++) {
        shapes[i] = import_shape(scope, op, op->results[i].type);
        if (shapes[i] == NULL) {
            return false;
        }
    }
    const struct shape *shape = shape_tuple(op->result_count, shapes);
    struct instruction *call =
        import_add(scope, op, OP_CUSTOM_CALL, shape, op->operand_count, operands);
    char config[96];
    snprintf(config, sizeof config, "{\"infeeds\": %d, \"replicas\": %d, \"partitions\": %d}",
             infeeds, programs->array.count, columns);
    import_set_string(call, ATTR_CUSTOM_CALL_TARGET, op->name, strlen(op->name));
    import_set_string(call, ATTR_BACKEND_CONFIG, config, strlen(config));
    import_set_int(call, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, 1);
    instruction_set_called(
        call, called.count,
        arena_copy(arena, called.computations, (size_t)called.count * sizeof *called.computations));
    for (int i = 0; i < op->result_count; i++) {
        struct instruction *element =
            import_add(scope, op, OP_GET_TUPLE_ELEMENT, shapes[i], 1, &call);
        import_set_int(element, ATTR_INDEX, i);
        import_bind(scope, &op->results[i], element);
    }
    return true;
}
