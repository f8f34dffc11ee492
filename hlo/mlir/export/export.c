/* HLO → StableHLO: modules, functions, regions, and the values between them. */
#include "hlo/mlir/export/export.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 200 };

/* --- the table --- */

static export_function *const functions[OPCODE_COUNT] = {
#define EXPORT(opcode, token) [OP_##opcode] = export_##token,
#include "hlo/mlir/export/export.def"
};

/* --- errors --- */

bool export_refuse(struct export_scope *scope, const struct instruction *instruction,
                   const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct error *err = scope->exporter->err;
    error_at(err, instruction_where(instruction), "%s %s has no form in StableHLO: %s",
             opcode_table[instruction->opcode].text, instruction->name, message);
    if (err != NULL) {
        err->code = ERROR_UNIMPLEMENTED;
    }
    return false;
}

/* --- types and values --- */

const struct mlir_type *export_type(struct export_scope *scope,
                                    const struct instruction *instruction,
                                    const struct shape *shape)
{
    struct mlir_file *file = scope->exporter->file;
    if (shape->type == TYPE_TOKEN) {
        return mlir_simple(file, MLIR_TOKEN);
    }
    if (!shape_is_array(shape)) {
        export_refuse(scope, instruction, "of type %s", shape_text(shape));
        return NULL;
    }
    if (shape->type == TYPE_S1 || shape->type == TYPE_U1) {
        export_refuse(scope, instruction, "an integer of one bit: %s", shape_text(shape));
        return NULL;
    }
    if (shape_is_dynamic(shape)) {
        export_refuse(scope, instruction, "with sizes of the run time: %s", shape_text(shape));
        return NULL;
    }
    return mlir_tensor(file, shape->type, shape->rank, shape->dimensions);
}

static bool collect_types(struct export_scope *scope, const struct instruction *instruction,
                          const struct shape *shape, const struct mlir_type **types, int *count)
{
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            if (!collect_types(scope, instruction, shape->elements[i], types, count)) {
                return false;
            }
        }
        return true;
    }
    types[*count] = export_type(scope, instruction, shape);
    return types[(*count)++] != NULL;
}

const struct mlir_type **export_leaf_types(struct export_scope *scope,
                                           const struct instruction *instruction,
                                           const struct shape *shape, int *count)
{
    const struct mlir_type **types =
        arena_array(&scope->exporter->file->arena, (size_t)shape_leaves(shape) + 1, sizeof *types);
    *count = 0;
    return collect_types(scope, instruction, shape, types, count) ? types : NULL;
}

struct leaves export_operands(struct export_scope *scope, const struct instruction *instruction)
{
    struct leaves all = {0};
    for (int i = 0; i < instruction->operand_count; i++) {
        all.count += export_leaves(scope, instruction->operands[i]).count;
    }
    all.values =
        arena_array(&scope->exporter->file->arena, (size_t)all.count + 1, sizeof *all.values);
    int next = 0;
    for (int i = 0; i < instruction->operand_count; i++) {
        struct leaves one = export_leaves(scope, instruction->operands[i]);
        for (int j = 0; j < one.count; j++) {
            all.values[next++] = one.values[j];
        }
    }
    return all;
}

void export_bind(struct export_scope *scope, const struct instruction *instruction,
                 struct mlir_op *op)
{
    struct leaves *leaves = &scope->leaves[instruction->id];
    leaves->count = op->result_count;
    leaves->values = arena_array(&scope->exporter->file->arena, (size_t)op->result_count + 1,
                                 sizeof *leaves->values);
    for (int i = 0; i < op->result_count; i++) {
        leaves->values[i] = &op->results[i];
    }
}

/* --- ops --- */

static void op_list_add(struct op_list *list, struct mlir_op *op)
{
    list->ops = grow(list->ops, list->count, &list->capacity, sizeof *list->ops);
    list->ops[list->count++] = op;
}

/* Attributes that any op may have. */
static void set_discardable(struct mlir_file *file, struct mlir_op *op,
                            const struct instruction *instruction)
{
    const struct attr *sharding = attr_get(instruction, ATTR_SHARDING);
    const struct attr *frontend = attr_get(instruction, ATTR_FRONTEND_ATTRIBUTES);
    if (sharding != NULL) {
        mlir_set(file, &op->attrs, "mhlo.sharding", export_sharding(file, sharding->sharding));
    }
    if (frontend != NULL && frontend->string_map.count > 0) {
        mlir_set(file, &op->attrs, "mhlo.frontend_attributes",
                 export_strings(file, &frontend->string_map));
    }
}

struct mlir_op *export_op(struct export_scope *scope, const struct instruction *instruction,
                          const char *name, struct leaves operands, int result_count,
                          const struct mlir_type *const *types, int region_count)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", strchr(name, '.') == NULL ? "stablehlo." : "", name);
    struct mlir_op *op = mlir_op_new(scope->exporter->file, full, strlen(full), operands.count,
                                     result_count, region_count);
    for (int i = 0; i < operands.count; i++) {
        op->operands[i] = operands.values[i];
    }
    for (int i = 0; i < result_count; i++) {
        op->results[i].type = types[i];
    }
    set_discardable(scope->exporter->file, op, instruction);
    op_list_add(&scope->ops, op);
    return op;
}

struct mlir_op *export_shaped(struct export_scope *scope, const struct instruction *instruction,
                              const struct shape *shape, const char *name, int region_count)
{
    int count;
    const struct mlir_type **types = export_leaf_types(scope, instruction, shape, &count);
    if (types == NULL) {
        return NULL;
    }
    struct mlir_op *op = export_op(scope, instruction, name, export_operands(scope, instruction),
                                   count, types, region_count);
    export_bind(scope, instruction, op);
    return op;
}

struct mlir_op *export_plain(struct export_scope *scope, const struct instruction *instruction,
                             const char *name, int region_count)
{
    return export_shaped(scope, instruction, instruction->shape, name, region_count);
}

/* --- computations --- */

static bool export_instruction(struct export_scope *scope, const struct instruction *instruction)
{
    export_function *translate = functions[instruction->opcode];
    if (translate == NULL) {
        return export_refuse(scope, instruction, "no op means this");
    }
    return translate(scope, instruction);
}

/* The parameters' leaves are the arguments of a block; or, where they are given, those. */
static struct mlir_block *add_block(struct export_scope *scope, struct mlir_region *region,
                                    const struct leaves *given)
{
    struct mlir_file *file = scope->exporter->file;
    const struct computation *computation = scope->computation;
    int total = 0;
    if (given != NULL) {
        for (int i = 0; i < computation->parameter_count; i++) {
            scope->leaves[computation->parameters[i]->id] = given[i];
        }
        return mlir_block_add(file, region, 0);
    }
    for (int i = 0; i < computation->parameter_count; i++) {
        total += shape_leaves(computation->parameters[i]->shape);
    }
    struct mlir_block *block = mlir_block_add(file, region, total);
    int next = 0;
    for (int i = 0; i < computation->parameter_count; i++) {
        const struct instruction *parameter = computation->parameters[i];
        int count;
        const struct mlir_type **types =
            export_leaf_types(scope, parameter, parameter->shape, &count);
        if (types == NULL) {
            return NULL;
        }
        struct leaves *leaves = &scope->leaves[parameter->id];
        leaves->count = count;
        leaves->values = arena_array(&file->arena, (size_t)count + 1, sizeof *leaves->values);
        for (int j = 0; j < count; j++) {
            block->arguments[next].type = types[j];
            leaves->values[j] = &block->arguments[next++];
        }
    }
    return block;
}

/* The ops of a computation as the one block of a region, ended by `terminator`. */
static bool fill_region(struct exporter *exporter, struct mlir_region *region,
                        const struct computation *computation, const struct leaves *given,
                        const char *terminator)
{
    struct export_scope scope = {.exporter = exporter, .computation = computation};
    if (++exporter->depth > DEPTH_MOST) {
        return error_set(exporter->err, ERROR_RESOURCE_EXHAUSTED, "computations nest too deeply");
    }
    scope.leaves =
        arena_array(&exporter->file->arena, (size_t)computation->count + 1, sizeof *scope.leaves);
    struct mlir_block *block = add_block(&scope, region, given);
    bool ok = block != NULL;
    for (int i = 0; ok && i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        ok = instruction->opcode == OP_PARAMETER || export_instruction(&scope, instruction);
    }
    if (ok) {
        struct leaves result = export_leaves(&scope, computation->root);
        struct mlir_op *end =
            mlir_op_new(exporter->file, terminator, strlen(terminator), result.count, 0, 0);
        for (int i = 0; i < result.count; i++) {
            end->operands[i] = result.values[i];
        }
        op_list_add(&scope.ops, end);
        mlir_block_set_ops(exporter->file, block, (int)scope.ops.count, scope.ops.ops);
    }
    free(scope.ops.ops);
    exporter->depth--;
    return ok;
}

bool export_region(struct export_scope *scope, struct mlir_op *op, int region,
                   const struct computation *computation)
{
    return fill_region(scope->exporter, &op->regions[region], computation, NULL,
                       "stablehlo.return");
}

bool export_branch(struct export_scope *scope, struct mlir_op *op, int region,
                   const struct computation *computation, const struct leaves *arguments)
{
    return fill_region(scope->exporter, &op->regions[region], computation, arguments,
                       "stablehlo.return");
}

/* --- functions --- */

static void set_type(struct exporter *exporter, struct mlir_op *function)
{
    struct mlir_file *file = exporter->file;
    const struct mlir_block *block = function->regions[0].blocks[0];
    const struct mlir_op *end = block->ops[block->count - 1];
    int count = block->argument_count, results = end->operand_count;
    const struct mlir_type **types =
        arena_array(&file->arena, (size_t)(count + results) + 1, sizeof *types);
    for (int i = 0; i < count; i++) {
        types[i] = block->arguments[i].type;
    }
    for (int i = 0; i < results; i++) {
        types[count + i] = end->operands[i]->type;
    }
    struct mlir_attr *type = mlir_attr_new(file, MLIR_ATTR_TYPE);
    type->type = mlir_function(file, count, results, types);
    mlir_set(file, &function->attrs, "function_type", type);
}

static struct mlir_op *make_function(struct exporter *exporter,
                                     const struct computation *computation, const char *name,
                                     const char *visibility)
{
    struct mlir_file *file = exporter->file;
    struct mlir_op *function = mlir_op_new(file, "func.func", 9, 0, 0, 1);
    mlir_set(file, &function->attrs, "sym_name", mlir_attr_string(file, name, strlen(name)));
    mlir_set(file, &function->attrs, "sym_visibility",
             mlir_attr_string(file, visibility, strlen(visibility)));
    op_list_add(&exporter->functions, function);
    if (!fill_region(exporter, &function->regions[0], computation, NULL, "func.return")) {
        return NULL;
    }
    set_type(exporter, function);
    return function;
}

const char *export_function_name(struct export_scope *scope, const struct computation *computation)
{
    struct exporter *exporter = scope->exporter;
    uint64_t key = (uint64_t)(uintptr_t)computation;
    const char *name = map_get_int(&exporter->made, key);
    if (name == NULL) {
        bool taken = strcmp(computation->name, "main") == 0;
        name = taken ? arena_printf(&exporter->file->arena, "main.%d", computation->id)
                     : computation->name;
        name = mlir_intern(exporter->file, name, strlen(name));
        map_put_int(&exporter->made, key, (void *)name);
        if (make_function(exporter, computation, name, "private") == NULL) {
            return NULL;
        }
    }
    return name;
}

/* --- the module --- */

static struct mlir_attr *i32(struct mlir_file *file, int64_t value)
{
    return mlir_attr_int(file, value, mlir_integer(file, 32, MLIR_SIGNLESS));
}

struct mlir_file *mlir_export(const struct module *module, struct error *err)
{
    struct mlir_file *file = mlir_file_create(module->source);
    struct exporter exporter = {.module = module, .file = file, .err = err};
    map_init(&exporter.made);
    struct mlir_op *top = mlir_op_new(file, "builtin.module", 14, 0, 0, 1);
    file->module = top;
    mlir_set(file, &top->attrs, "sym_name",
             mlir_attr_string(file, module->name, strlen(module->name)));
    mlir_set(file, &top->attrs, "mhlo.num_partitions", i32(file, module->config.partition_count));
    mlir_set(file, &top->attrs, "mhlo.num_replicas", i32(file, module->config.replica_count));
    if (module->config.frontend_attributes.count > 0) {
        mlir_set(file, &top->attrs, "mhlo.frontend_attributes",
                 export_strings(file, &module->config.frontend_attributes));
    }
    struct mlir_op *entry = make_function(&exporter, module->entry, "main", "public");
    if (entry != NULL) {
        export_entry_attributes(&exporter, entry);
        struct mlir_block *block = mlir_block_add(file, &top->regions[0], 0);
        mlir_block_set_ops(file, block, (int)exporter.functions.count, exporter.functions.ops);
    }
    free(exporter.functions.ops);
    map_finish(&exporter.made);
    if (entry == NULL) {
        mlir_file_destroy(file);
        return NULL;
    }
    return file;
}
