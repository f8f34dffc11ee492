/* Custom calls that stand for what StableHLO cannot say of dynamic shapes: JAX's shape
 * polymorphism. Sources: jax/_src/export/shape_poly.py, jax/_src/lax (lax.py, ann.py,
 * windowed_reductions.py), stablehlo/transforms (StablehloCheckShapeAssertions.cpp,
 * StablehloRefineShapes.cpp), stablehlo/dialect/Base.cpp (getShapeRefinements). */
#include "hlo/mlir/import/dynamic_call.h"

#include <stdio.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/twin.h"

/* --- @shape_assertion(what, inputs…): an error at once if `what` is false --- */

/* error_message with {0}, {1}, … replaced by the values of operands 1, 2, …. */
static bool assertion_message(struct scope *scope, const struct mlir_op *op, struct text *out)
{
    const struct mlir_attr *message = mlir_op_attr(op, "error_message");
    const char *at =
        message != NULL && message->kind == MLIR_ATTR_STRING ? message->string.data : "";
    while (*at != '\0') {
        int index = -1, used = 0;
        if (sscanf(at, "{%d%n", &index, &used) == 1 && index >= 0 &&
            index < op->operand_count - 1) {
            const char *end = strchr(at + used, '}');
            struct ints values = {0};
            if (end != NULL && import_integers(scope, op, index + 1, &values) &&
                values.count == 1) {
                text_printf(out, "%lld", (long long)values.values[0]);
                at = end + 1;
                continue;
            }
            if (scope->importer->err->code != ERROR_NONE) {
                return false;
            }
        }
        text_char(out, *at++);
    }
    return true;
}

static bool shape_assertion(struct scope *scope, const struct mlir_op *op)
{
    struct ints values = {0};
    if (op->result_count != 0 || op->operand_count < 1) {
        return import_fail(scope, op, "@shape_assertion takes a condition and has no results");
    }
    if (!import_integers(scope, op, 0, &values)) {
        return false;
    }
    if (values.count == 1 && values.values[0] != 0) {
        return true;
    }
    struct text text;
    text_init(&text);
    bool good = assertion_message(scope, op, &text);
    if (good) {
        import_fail(scope, op, "%s", text.data);
    }
    text_finish(&text);
    return false;
}

/* --- ops --- */

/* (operand, k) → (values, indices) */
static bool dynamic_top_k(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 2, 0);
    struct ints k = {0};
    if (operands == NULL || !import_integers(scope, op, 1, &k)) {
        return false;
    }
    if (k.count != 1) {
        return import_fail(scope, op, "k must be one integer");
    }
    struct instruction *topk = import_add(scope, op, OP_TOPK, NULL, 1, operands);
    import_set_int(topk, ATTR_K, k.values[0]);
    import_set_int(topk, ATTR_LARGEST, true);
    return build_finish(scope, op, topk);
}

/* (state, shape) → (state, bits) */
static bool dynamic_rng_bit_generator(struct scope *scope, const struct mlir_op *op)
{
    struct ints sizes = {0};
    if (build_operands(scope, op, 2, 2, 0) == NULL || !import_integers(scope, op, 1, &sizes)) {
        return false;
    }
    struct mlir_op *twin = twin_of(scope, op);
    twin_remove_operand(twin, 1);
    return twin_set_sizes(scope, twin, 1, sizes) &&
           twin_translate(scope, op, twin, translate_rng_bit_generator);
}

/* (operand, iota, initial value, initial index, k): the k of ApproxTopK as an operand. */
static bool dynamic_approx_top_k(struct scope *scope, const struct mlir_op *op)
{
    struct mlir_file *file = scope->importer->file;
    struct ints k = {0};
    const char *key =
        mlir_op_attr(op, "backend_config") != NULL ? "backend_config" : "mhlo.backend_config";
    const struct mlir_attr *config = mlir_op_attr(op, key);
    int last = op->operand_count - 1;
    if (last < 0 || config == NULL || config->kind != MLIR_ATTR_DICTIONARY) {
        return import_fail(scope, op, "needs a dictionary backend_config, and k as last operand");
    }
    if (!import_integers(scope, op, last, &k)) {
        return false;
    }
    if (k.count != 1) {
        return import_fail(scope, op, "k must be one integer");
    }
    struct mlir_attr *full = mlir_attr_new(file, MLIR_ATTR_DICTIONARY);
    for (int i = 0; i < config->dictionary.count; i++) {
        mlir_set(file, &full->dictionary, config->dictionary.entries[i].key,
                 config->dictionary.entries[i].value);
    }
    mlir_set(file, &full->dictionary, "top_k",
             mlir_attr_int(file, k.values[0], mlir_integer(file, 64, MLIR_SIGNLESS)));
    struct mlir_op *twin = twin_of(scope, op);
    mlir_set(file, &twin->attrs, key, full);
    mlir_set(file, &twin->attrs, "call_target_name",
             mlir_attr_string(file, "ApproxTopK", strlen("ApproxTopK")));
    twin_remove_operand(twin, last);
    return twin_translate(scope, op, twin, translate_custom_call);
}

/* (inputs…, initial values…, sizes, strides, base dilations, window dilations, padding) */
static bool dynamic_reduce_window(struct scope *scope, const struct mlir_op *op)
{
    enum { PARTS = 5 };
    int count = (op->operand_count - PARTS) / 2;
    const struct mlir_attr *called = mlir_op_attr(op, "called_computations");
    if (count < 1 || op->operand_count != 2 * count + PARTS || op->result_count != count ||
        called == NULL || called->kind != MLIR_ATTR_ARRAY || called->array.count != 1) {
        return import_fail(scope, op, "operands, results or called_computations do not fit");
    }
    struct instruction **operands = import_operands(scope, op);
    struct window_parts parts = {0};
    struct ints *lists[PARTS] = {&parts.sizes, &parts.strides, &parts.base_dilations,
                                 &parts.window_dilations, &parts.padding};
    for (int i = 0; operands != NULL && i < PARTS; i++) {
        if (!import_integers(scope, op, 2 * count + i, lists[i])) {
            return false;
        }
    }
    struct mlir_op *function =
        operands != NULL ? import_function_of(scope, op, called->array.elements[0]) : NULL;
    struct computation *reducer =
        function != NULL ? import_function_computation(scope, op, function) : NULL;
    if (reducer == NULL) {
        return false;
    }
    if (!shape_is_array(operands[0]->shape)) {
        return import_fail(scope, op, "reduces tensors");
    }
    struct instruction *reduce = import_add(scope, op, OP_REDUCE_WINDOW, NULL, 2 * count, operands);
    instruction_set_called(reduce, 1, &reducer);
    return build_window(scope, op, reduce, operands[0]->shape->rank, &parts) &&
           build_finish(scope, op, reduce);
}

/* --- shapes of results as operands --- */

static bool contains(struct ints list, int64_t value)
{
    for (int i = 0; i < list.count; i++) {
        if (list.values[i] == value) {
            return true;
        }
    }
    return false;
}

/* Layouts of operands, without those of the operands that go. */
static void drop_layouts(struct scope *scope, struct mlir_op *twin, struct ints gone)
{
    struct mlir_attr *layouts = mlir_op_attr(twin, "operand_layouts");
    if (layouts == NULL || layouts->kind != MLIR_ATTR_ARRAY) {
        return;
    }
    struct mlir_attr *kept = mlir_attr_new(scope->importer->file, MLIR_ATTR_ARRAY);
    kept->array.elements = arena_array(&scope->importer->file->arena, (size_t)layouts->array.count,
                                       sizeof(struct mlir_attr *));
    for (int i = 0; i < layouts->array.count; i++) {
        if (!contains(gone, i)) {
            kept->array.elements[kept->array.count++] = layouts->array.elements[i];
        }
    }
    mlir_set(scope->importer->file, &twin->attrs, "operand_layouts", kept);
}

/* Operand indices[i] is the shape of result i: the call without these operands. */
static bool refine_results(struct scope *scope, const struct mlir_op *op, struct ints indices)
{
    if (indices.count != op->result_count) {
        return import_fail(scope, op, "indices_of_shape_operands has %d entries for %d results",
                           indices.count, op->result_count);
    }
    struct mlir_op *twin = twin_of(scope, op);
    for (int i = 0; i < indices.count; i++) {
        struct ints sizes = {0};
        int64_t operand = indices.values[i];
        if (operand < 0 || operand >= op->operand_count) {
            return import_fail(scope, op, "indices_of_shape_operands names operand %lld",
                               (long long)operand);
        }
        if (!import_integers(scope, op, (int)operand, &sizes) ||
            !twin_set_sizes(scope, twin, i, sizes)) {
            return false;
        }
    }
    twin_remove_attr(twin, "indices_of_shape_operands");
    drop_layouts(scope, twin, indices);
    for (int i = op->operand_count - 1; i >= 0; i--) {
        if (contains(indices, i)) {
            twin_remove_operand(twin, i);
        }
    }
    return twin_translate(scope, op, twin, translate_custom_call);
}

/* The value; its shape, an operand too, is gone by then. */
static bool operand_wrapper(struct scope *scope, const struct mlir_op *op)
{
    if (op->operand_count != 1 || op->result_count != 1) {
        return import_fail(scope, op, "takes a value and its shape");
    }
    struct instruction *value = import_value(scope, op, op->operands[0]);
    return value != NULL && import_bind_results(scope, op, value);
}

bool import_dynamic_call(struct scope *scope, const struct mlir_op *op, const char *target,
                         bool *handled)
{
    static const struct {
        const char *target;
        import_function *translate;
    } rows[] = {{"shape_assertion", shape_assertion},
                {"stablehlo.shape_refinement_operand_wrapper", operand_wrapper},
                {"stablehlo.dynamic_approx_top_k", dynamic_approx_top_k},
                {"stablehlo.dynamic_reduce_window", dynamic_reduce_window},
                {"stablehlo.dynamic_rng_bit_generator", dynamic_rng_bit_generator},
                {"stablehlo.dynamic_top_k", dynamic_top_k}};
    const struct mlir_attr *attr = mlir_op_attr(op, "indices_of_shape_operands");
    struct ints indices = {0};
    *handled = true;
    if (attr != NULL) {
        return mlir_attr_as_ints(scope->importer->file, attr, &indices)
                   ? refine_results(scope, op, indices)
                   : import_fail(scope, op, "indices_of_shape_operands is no list of integers");
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].target, target) == 0) {
            return rows[i].translate(scope, op);
        }
    }
    *handled = false;
    return true;
}
