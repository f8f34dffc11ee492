/* Functions: blocks and regions as computations, calls, the entry with what its arguments' and
 * results' attributes say.
 * Source: xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc (RunOnFunction,
 * LowerBasicBlockAsFunction, LowerReturn). */
#include <stdio.h>
#include <string.h>

#include "hlo/mlir/import/import_internal.h"
#include "hlo/mlir/import/quantized.h"
#include "hlo/mlir/import/sdy.h"
#include "hlo/sharding.h"

static import_function *const table[MLIR_OP_COUNT] = {
#define MLIR_OP(id, name, form, import, opcode) [MLIR_OP_##id] = translate_##import,
#include "hlo/mlir/ops.def"
};

/* --- blocks --- */

static bool is_end(const struct mlir_op *op)
{
    switch (op->opcode) {
    case MLIR_OP_FUNC_RETURN:
    case MLIR_OP_RETURN:
    case MLIR_OP_SDY_RETURN:
    case MLIR_OP_SHAPE_ASSUMING_YIELD:
        return op->result_count == 0;
    default:
        return false;
    }
}

const struct mlir_block *import_only_block(struct scope *scope, const struct mlir_op *op,
                                           int region)
{
    if (region >= op->region_count || op->regions[region].count != 1) {
        import_fail(scope, op, "region %d must have one block", region);
        return NULL;
    }
    return op->regions[region].blocks[0];
}

struct mlir_op *import_block(struct scope *scope, const struct mlir_op *op,
                             const struct mlir_block *block)
{
    struct importer *importer = scope->importer;
    if (block->count == 0 || !is_end(block->ops[block->count - 1])) {
        import_fail(scope, op, "its block does not end with a return");
        return NULL;
    }
    if (!import_deeper(scope, op)) {
        return NULL;
    }
    for (int i = 0; i < block->count - 1; i++) {
        const struct mlir_op *inner = block->ops[i];
        scope->first = scope->computation->count;
        if (inner->opcode == MLIR_OP_UNKNOWN) {
            import_refuse(scope, inner, "is not known");
            return NULL;
        }
        import_function *translate = table[inner->opcode];
        bool good = import_is_quantized(inner) ? import_quantized(scope, inner, translate)
                                               : translate(scope, inner);
        if (!good || importer->err->code != ERROR_NONE) {
            import_fail(scope, inner, "could not be translated");
            return NULL;
        }
        if (importer->next_name > IMPORT_MAX_INSTRUCTIONS) {
            import_fail(scope, inner, "the module is too large");
            importer->err->code = ERROR_RESOURCE_EXHAUSTED;
            return NULL;
        }
    }
    importer->depth--;
    scope->first = scope->computation->count;
    return block->ops[block->count - 1];
}

struct instruction *import_root(struct scope *scope, const struct mlir_op *end, bool as_tuple)
{
    struct instruction **values = import_operands(scope, end);
    if (values == NULL) {
        return NULL;
    }
    if (end->operand_count == 1 && !as_tuple) {
        return values[0];
    }
    struct instruction *tuple = import_add(scope, end, OP_TUPLE, NULL, end->operand_count, values);
    return import_finish(scope, end, tuple) ? tuple : NULL;
}

struct computation *import_region(struct scope *scope, const struct mlir_op *op, int region,
                                  const struct shape *const *argument_shapes, bool as_tuple)
{
    const struct mlir_block *block = import_only_block(scope, op, region);
    if (block == NULL) {
        return NULL;
    }
    struct computation *computation = import_computation(scope->importer, "region");
    struct scope inner;
    scope_open(&inner, scope->importer, computation, scope);
    bool good = true;
    for (int i = 0; good && i < block->argument_count; i++) {
        const struct shape *shape = argument_shapes != NULL
                                        ? argument_shapes[i]
                                        : import_shape(&inner, op, block->arguments[i].type);
        good = shape != NULL;
        if (good) {
            import_bind(&inner, &block->arguments[i], import_parameter(&inner, op, i, shape));
        }
    }
    const struct mlir_op *end = good ? import_block(&inner, op, block) : NULL;
    import_close_computation(computation, end != NULL ? import_root(&inner, end, as_tuple) : NULL);
    scope_close(&inner);
    return computation->root != NULL ? computation : NULL;
}

void import_close_computation(struct computation *computation, struct instruction *root)
{
    int count = 0;
    for (int i = 0; i < computation->count; i++) {
        count += computation->instructions[i]->opcode == OP_PARAMETER;
    }
    computation->root = root;
    computation->parameter_count = count;
    computation->parameters =
        arena_array(&computation->module->arena, (size_t)count, sizeof *computation->parameters);
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode == OP_PARAMETER) {
            computation->parameters[instruction->number] = instruction;
        }
    }
}

struct instruction *import_parameter(struct scope *scope, const struct mlir_op *op, int number,
                                     const struct shape *shape)
{
    char name[32];
    snprintf(name, sizeof name, "Arg_%d", number); /* as XLA names them */
    struct instruction *parameter = instruction_add(
        scope->computation, import_name(scope->importer, name), OP_PARAMETER, shape, 0, NULL);
    parameter->number = number;
    parameter->line = op->line;
    parameter->column = op->line > 0 ? op->column : 0;
    return parameter;
}

/* --- functions --- */

/* The block of a function; NULL and an error if it has none, is under way, or takes another number
 * of arguments. */
static const struct mlir_block *function_block(struct scope *scope, const struct mlir_op *op,
                                               const struct mlir_op *function, int count)
{
    const struct mlir_attr *name = mlir_op_attr(function, "sym_name");
    const char *text = name != NULL && name->kind == MLIR_ATTR_STRING ? name->string.data : "?";
    if (function->region_count != 1 || function->regions[0].count == 0) {
        import_fail(scope, op, "function @%s has no body", text);
        return NULL;
    }
    if (function->regions[0].count != 1) {
        import_refuse(scope, op, "function @%s has several blocks", text);
        return NULL;
    }
    for (const struct active *at = scope->importer->active; at != NULL; at = at->outer) {
        if (at->function == function) {
            import_refuse(scope, op, "function @%s is recursive", text);
            return NULL;
        }
    }
    const struct mlir_block *block = function->regions[0].blocks[0];
    if (count != block->argument_count) {
        import_fail(scope, op, "function @%s takes %d arguments, not %d", text,
                    block->argument_count, count);
        return NULL;
    }
    return block;
}

/* The attribute of argument or result number `index`, or NULL. */
static const struct mlir_attr *part_attr(const struct mlir_op *function, bool is_result, int index,
                                         const char *key)
{
    const struct mlir_attr *list = mlir_op_attr(function, is_result ? "res_attrs" : "arg_attrs");
    if (list == NULL || list->kind != MLIR_ATTR_ARRAY || index >= list->array.count ||
        list->array.elements[index]->kind != MLIR_ATTR_DICTIONARY) {
        return NULL;
    }
    return mlir_get(&list->array.elements[index]->dictionary, key);
}

static const struct sharding *part_sharding(struct scope *scope, const struct mlir_op *function,
                                            bool is_result, int index)
{
    const struct mlir_attr *attr = part_attr(function, is_result, index, "mhlo.sharding");
    return attr != NULL && attr->kind == MLIR_ATTR_STRING
               ? import_sharding(scope->importer, function, attr->string)
               : NULL;
}

static void set_sharding(struct instruction *instruction, const struct sharding *sharding)
{
    if (sharding != NULL) {
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_SHARDING, .sharding = sharding});
    }
}

/* One truth for each leaf of the parameter: does every replica get the same data? */
static void set_replication(struct scope *scope, const struct mlir_op *function,
                            struct instruction *parameter, int index)
{
    const struct mlir_attr *same =
        part_attr(function, false, index, "mhlo.is_same_data_across_replicas");
    const struct mlir_attr *leaves =
        part_attr(function, false, index, "mhlo.parameter_replication");
    int count = shape_leaves(parameter->shape);
    int64_t *values = arena_array(&scope->importer->module->arena, (size_t)count, sizeof *values);
    struct ints given;
    if (leaves != NULL && mlir_attr_as_ints(scope->importer->file, leaves, &given) &&
        given.count == count) {
        import_set_ints(parameter, ATTR_PARAMETER_REPLICATION, count, given.values);
    } else if (same != NULL && (same->kind == MLIR_ATTR_UNIT ||
                                (same->kind == MLIR_ATTR_BOOL && same->integer != 0))) {
        for (int i = 0; i < count; i++) {
            values[i] = 1;
        }
        import_set_ints(parameter, ATTR_PARAMETER_REPLICATION, count, values);
    }
}

static void set_argument_attributes(struct scope *scope, const struct mlir_op *function,
                                    struct instruction *parameter, int index)
{
    set_sharding(parameter, part_sharding(scope, function, false, index));
    const struct mlir_attr *frontend =
        part_attr(function, false, index, "mhlo.frontend_attributes");
    if (frontend != NULL && frontend->kind == MLIR_ATTR_DICTIONARY) {
        import_frontend_dictionary(parameter, &frontend->dictionary);
    }
    import_sdy_sharding(parameter, part_attr(function, false, index, "sdy.sharding"));
}

/* The shardings of the results as one of a tuple; NULL if no result has any. Results without one
 * are replicated. */
static const struct sharding *result_sharding(struct scope *scope, const struct mlir_op *function,
                                              int count)
{
    struct arena *arena = &scope->importer->module->arena;
    const struct sharding **elements = arena_array(arena, (size_t)count, sizeof *elements);
    bool any = false;
    for (int i = 0; i < count; i++) {
        elements[i] = part_sharding(scope, function, true, i);
        any |= elements[i] != NULL;
    }
    return any ? import_tuple_sharding(scope->importer, count, elements) : NULL;
}

/* What the function returns. A single result with a sharding goes through a tuple, as in XLA: the
 * value itself keeps the sharding it has. */
static struct instruction *function_root(struct scope *scope, const struct mlir_op *function,
                                         const struct mlir_op *end)
{
    int count = end->operand_count;
    for (int i = 0; i < count; i++) {
        const struct mlir_attr *marks = part_attr(function, true, i, "sdy.sharding");
        struct instruction *value =
            marks != NULL ? import_value(scope, end, end->operands[i]) : NULL;
        if (value != NULL) {
            import_bind(scope, end->operands[i], import_sdy_result(scope, end, value, marks));
        }
    }
    const struct sharding *sharding = result_sharding(scope, function, count);
    struct instruction *root = import_root(scope, end, sharding != NULL);
    if (root == NULL || sharding == NULL) {
        return root;
    }
    if (count != 1) {
        set_sharding(root, sharding);
        return root;
    }
    const struct sharding *own = attr_sharding(root->operands[0]);
    if (own != NULL) {
        set_sharding(root, import_tuple_sharding(scope->importer, 1, &own));
    }
    struct instruction *element =
        import_add(scope, end, OP_GET_TUPLE_ELEMENT, root->shape->elements[0], 1, &root);
    import_set_int(element, ATTR_INDEX, 0);
    set_sharding(element, sharding->elements[0]);
    return element;
}

static bool fill_function(struct scope *scope, const struct mlir_op *function,
                          const struct mlir_block *block, const struct shape *const *shapes)
{
    struct active active = {function, scope->importer->active};
    scope->importer->active = &active;
    bool good = true;
    for (int i = 0; good && i < block->argument_count; i++) {
        const struct shape *shape =
            shapes != NULL ? shapes[i] : import_shape(scope, function, block->arguments[i].type);
        good = shape != NULL;
        if (good) {
            struct instruction *parameter = import_parameter(scope, function, i, shape);
            set_argument_attributes(scope, function, parameter, i);
            import_bind(scope, &block->arguments[i], parameter);
        }
    }
    const struct mlir_op *end = good ? import_block(scope, function, block) : NULL;
    import_close_computation(scope->computation,
                             end != NULL ? function_root(scope, function, end) : NULL);
    scope->importer->active = active.outer;
    return scope->computation->root != NULL && scope->importer->err->code == ERROR_NONE;
}

static const char *function_name(const struct mlir_op *function)
{
    const struct mlir_attr *name = mlir_op_attr(function, "sym_name");
    return name != NULL && name->kind == MLIR_ATTR_STRING ? name->string.data : "function";
}

struct computation *import_function_computation(struct scope *scope, const struct mlir_op *op,
                                                const struct mlir_op *function)
{
    struct importer *importer = scope->importer;
    struct computation *computation = map_get_int(&importer->functions, pointer_key(function));
    if (computation != NULL) {
        return computation;
    }
    const struct mlir_block *block =
        function->region_count == 1 && function->regions[0].count > 0
            ? function_block(scope, op, function, function->regions[0].blocks[0]->argument_count)
            : function_block(scope, op, function, 0);
    if (block == NULL) {
        return NULL;
    }
    computation = import_computation(importer, function_name(function));
    struct scope inner;
    scope_open(&inner, importer, computation, NULL);
    bool good = fill_function(&inner, function, block, NULL);
    scope_close(&inner);
    if (!good) {
        return NULL;
    }
    const struct mlir_attr *thread = mlir_op_attr(function, "execution_thread");
    if (thread != NULL && thread->kind == MLIR_ATTR_STRING) {
        computation->execution_thread =
            arena_string(&importer->module->arena, thread->string.data, thread->string.size);
    }
    map_put_int(&importer->functions, pointer_key(function), computation);
    return computation;
}

/* --- calls --- */

static bool call_inline(struct scope *scope, const struct mlir_op *op,
                        const struct mlir_op *function, int operand_count,
                        struct instruction *const *operands, struct instruction **results)
{
    const struct mlir_block *block = function_block(scope, op, function, operand_count);
    if (block == NULL) {
        return false;
    }
    struct active active = {function, scope->importer->active};
    scope->importer->active = &active;
    struct scope inner;
    scope_open_inline(&inner, scope);
    for (int i = 0; i < operand_count; i++) {
        import_bind(&inner, &block->arguments[i], operands[i]);
    }
    const struct mlir_op *end = import_block(&inner, op, block);
    struct instruction **values = end != NULL ? import_operands(&inner, end) : NULL;
    bool good = values != NULL && (end->operand_count == op->result_count ||
                                   import_fail(scope, op, "the function returns %d values, not %d",
                                               end->operand_count, op->result_count));
    if (good && op->result_count > 0) {
        memcpy(results, values, (size_t)op->result_count * sizeof *results);
    }
    scope_close(&inner);
    scope->importer->active = active.outer;
    return good;
}

bool import_call(struct scope *scope, const struct mlir_op *op, const struct mlir_op *function,
                 int operand_count, struct instruction *const *operands,
                 struct instruction **results)
{
    if (function_has_dynamic(scope->importer, function)) {
        if (++scope->importer->inlined > IMPORT_MAX_INLINED) {
            import_fail(scope, op, "more than %d calls of functions whose sizes are open",
                        IMPORT_MAX_INLINED);
            scope->importer->err->code = ERROR_RESOURCE_EXHAUSTED;
            return false;
        }
        return call_inline(scope, op, function, operand_count, operands, results);
    }
    struct computation *computation = import_function_computation(scope, op, function);
    if (computation == NULL) {
        return false;
    }
    struct instruction *call = import_add(scope, op, OP_CALL, NULL, operand_count, operands);
    instruction_set_called(call, 1, &computation);
    return import_finish(scope, op, call) &&
           import_elements(scope, op, call, op->result_count, results);
}

bool import_elements(struct scope *scope, const struct mlir_op *op, struct instruction *from,
                     int count, struct instruction **elements)
{
    if (count == 1) {
        elements[0] = from;
        return true;
    }
    if (!shape_is_tuple(from->shape) || from->shape->count != count) {
        return import_fail(scope, op, "gives %s, but there are %d results", shape_text(from->shape),
                           count);
    }
    for (int i = 0; i < count; i++) {
        elements[i] =
            import_add(scope, op, OP_GET_TUPLE_ELEMENT, from->shape->elements[i], 1, &from);
        import_set_int(elements[i], ATTR_INDEX, i);
    }
    return true;
}

bool translate_call(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_attr *callee = mlir_op_attr(op, "callee");
    const struct mlir_op *function = import_function_of(scope, op, callee);
    struct instruction **operands = function != NULL ? import_operands(scope, op) : NULL;
    struct instruction **results =
        arena_array(&scope->importer->module->arena, (size_t)op->result_count + 1, sizeof *results);
    if (operands == NULL ||
        !import_call(scope, op, function, op->operand_count, operands, results)) {
        return false;
    }
    for (int i = 0; i < op->result_count; i++) {
        import_bind(scope, &op->results[i], results[i]);
    }
    return true;
}

/* --- the entry --- */

/* Arguments that share their memory with a result, or give it away. */
static bool set_aliases(struct scope *scope, const struct mlir_op *function, int count,
                        int result_count)
{
    struct module *module = scope->importer->module;
    struct input_output_alias *aliases =
        arena_array(&module->arena, (size_t)count, sizeof *aliases);
    struct buffer_donor *donors = arena_array(&module->arena, (size_t)count, sizeof *donors);
    int alias_count = 0, donor_count = 0;
    for (int i = 0; i < count; i++) {
        const struct mlir_attr *donor = part_attr(function, false, i, "jax.buffer_donor");
        const struct mlir_attr *output = part_attr(function, false, i, "tf.aliasing_output");
        if (donor != NULL && donor->kind == MLIR_ATTR_BOOL) {
            donors[donor_count++].parameter = i;
        }
        if (output == NULL || output->kind != MLIR_ATTR_INT) {
            continue;
        }
        if (output->integer < 0 || output->integer >= result_count) {
            return import_fail(scope, function, "argument %d shares memory with result %lld of %d",
                               i, (long long)output->integer, result_count);
        }
        struct input_output_alias *alias = &aliases[alias_count++];
        alias->parameter = i;
        alias->kind = ALIAS_MAY;
        if (result_count != 1) {
            alias->output_index.count = 1;
            alias->output_index.values =
                arena_copy(&module->arena, &output->integer, sizeof output->integer);
        }
    }
    module->config.aliases = aliases;
    module->config.alias_count = alias_count;
    module->config.donors = donors;
    module->config.donor_count = donor_count;
    return true;
}

/* The layouts that arguments and results ask for. */
static bool set_layouts(struct scope *scope, const struct mlir_op *function,
                        const struct computation *entry, int result_count)
{
    static const char key[] = "mhlo.layout_mode";
    struct importer *importer = scope->importer;
    struct module_config *config = &importer->module->config;
    int count = entry->parameter_count;
    const struct shape *result = entry->root->shape;
    const struct shape **shapes =
        arena_array(&importer->module->arena, (size_t)count, sizeof *shapes);
    const struct shape **results =
        arena_array(&importer->module->arena, (size_t)result_count, sizeof *results);
    bool any = false;
    for (int i = 0; i < count; i++) {
        const struct shape *shape = entry->parameters[i]->shape;
        shapes[i] =
            import_layout_mode(importer, function, shape, part_attr(function, false, i, key));
        any |= shapes[i] != shape;
    }
    for (int i = 0; i < result_count; i++) {
        const struct shape *shape = result_count == 1 ? result : result->elements[i];
        results[i] =
            import_layout_mode(importer, function, shape, part_attr(function, true, i, key));
        any |= results[i] != shape;
    }
    if (importer->err->code != ERROR_NONE) {
        return false;
    }
    if (any) {
        import_start_layout(importer);
        config->parameter_shapes = shapes;
        config->result_shape = result_count == 1 ? results[0] : shape_tuple(result_count, results);
    }
    return true;
}

/* The shapes of the arguments that the options give, each of which must fit its type. */
static bool check_argument_shapes(struct scope *scope, const struct mlir_op *function,
                                  const struct mlir_block *block)
{
    const struct mlir_import_options *options = scope->importer->options;
    if (options->argument_count != block->argument_count) {
        return import_fail(scope, function, "takes %d arguments, not %d", block->argument_count,
                           options->argument_count);
    }
    for (int i = 0; i < block->argument_count; i++) {
        if (!shape_fits(options->argument_shapes[i], block->arguments[i].type)) {
            return import_fail(scope, function, "argument %d cannot be %s", i,
                               shape_text(options->argument_shapes[i]));
        }
    }
    return true;
}

bool import_entry(struct importer *importer, const struct mlir_op *function)
{
    const struct mlir_import_options *options = importer->options;
    struct computation *computation = import_computation(importer, function_name(function));
    importer->module->entry = computation;
    struct scope scope;
    scope_open(&scope, importer, computation, NULL);
    const struct mlir_block *block =
        function_block(&scope, function, function,
                       function->region_count == 1 && function->regions[0].count > 0
                           ? function->regions[0].blocks[0]->argument_count
                           : 0);
    bool replaces = options->argument_count > 0 && options->argument_shapes != NULL;
    bool good = block != NULL && (!replaces || check_argument_shapes(&scope, function, block)) &&
                fill_function(&scope, function, block, replaces ? options->argument_shapes : NULL);
    for (int i = 0; good && i < block->argument_count; i++) {
        set_replication(&scope, function, computation->parameters[i], i);
    }
    int result_count = good ? block->ops[block->count - 1]->operand_count : 0;
    good = good && set_aliases(&scope, function, block->argument_count, result_count) &&
           set_layouts(&scope, function, computation, result_count);
    scope_close(&scope);
    return good;
}
