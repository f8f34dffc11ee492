/* MLIR → HLO: the module, its symbols and its attributes, and the way in.
 * Source: xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc (ConvertMlirHloToHlo),
 * module_attributes_exporter.cc. */
#include <string.h>

#include "hlo/infer.h"
#include "hlo/literal.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/mlir/import/sdy.h"

/* --- symbols --- */

static bool is_public(const struct mlir_op *function)
{
    const struct mlir_attr *visibility = mlir_op_attr(function, "sym_visibility");
    return visibility == NULL || visibility->kind != MLIR_ATTR_STRING ||
           strcmp(visibility->string.data, "public") == 0;
}

static const char *symbol_name(const struct mlir_op *op)
{
    const struct mlir_attr *name = mlir_op_attr(op, "sym_name");
    return name != NULL && name->kind == MLIR_ATTR_STRING ? name->string.data : NULL;
}

static const struct mlir_block *module_block(const struct mlir_op *module)
{
    return module->region_count == 1 && module->regions[0].count > 0 ? module->regions[0].blocks[0]
                                                                     : NULL;
}

/* The module where functions are: one that holds nothing but another is passed through. */
static const struct mlir_op *inner_module(const struct mlir_op *module)
{
    for (int depth = 0; depth < IMPORT_MAX_DEPTH; depth++) {
        const struct mlir_block *block = module_block(module);
        const struct mlir_op *only = NULL;
        for (int i = 0; block != NULL && i < block->count; i++) {
            if (block->ops[i]->opcode != MLIR_OP_MODULE || only != NULL) {
                return module;
            }
            only = block->ops[i];
        }
        if (only == NULL) {
            return module;
        }
        module = only;
    }
    return module;
}

struct mlir_op *mlir_entry(const struct mlir_file *file, const char *name, struct error *err)
{
    const struct mlir_op *module = inner_module(file->module);
    const struct mlir_block *block = module_block(module);
    struct mlir_op *only = NULL;
    int count = 0;
    for (int i = 0; block != NULL && i < block->count; i++) {
        struct mlir_op *op = block->ops[i];
        const char *symbol = op->opcode == MLIR_OP_FUNC ? symbol_name(op) : NULL;
        if (symbol == NULL) {
            continue;
        }
        if (strcmp(symbol, name != NULL ? name : "main") == 0) {
            return op;
        }
        if (name == NULL && is_public(op)) {
            only = op;
            count++;
        }
    }
    if (count == 1) {
        return only;
    }
    struct where where = mlir_where(file, module);
    if (name != NULL) {
        error_at(err, where, "the module has no function @%s", name);
    } else {
        error_at(err, where,
                 "the module has no function @main, and %s function that is not "
                 "private",
                 count == 0 ? "no" : "more than one");
    }
    return NULL;
}

/* The op of that name in a module; its names are put into a table when the first is asked for. */
static struct mlir_op *find_in(struct importer *importer, const struct mlir_op *module,
                               const char *name)
{
    struct map *table = map_get_int(&importer->symbols, pointer_key(module));
    if (table == NULL) {
        table = arena_alloc(&importer->module->arena, sizeof *table);
        map_init(table);
        map_put_int(&importer->symbols, pointer_key(module), table);
        const struct mlir_block *block = module_block(module);
        for (int i = 0; block != NULL && i < block->count; i++) {
            const char *symbol = symbol_name(block->ops[i]);
            if (symbol != NULL) {
                map_put(table, symbol, strlen(symbol), block->ops[i]);
            }
        }
    }
    return map_get(table, name, strlen(name));
}

struct mlir_op *module_around(const struct mlir_op *op)
{
    while (op != NULL && op->block != NULL) {
        op = op->block->region->parent;
        if (op != NULL && op->opcode == MLIR_OP_MODULE) {
            return (struct mlir_op *)(uintptr_t)op;
        }
    }
    return NULL;
}

struct mlir_op *import_symbol(struct importer *importer, const struct mlir_op *from,
                              const struct mlir_attr *symbol)
{
    for (const struct mlir_op *module = module_around(from); module != NULL;
         module = module_around(module)) {
        struct mlir_op *found = find_in(importer, module, symbol->string.data);
        for (int i = 0; found != NULL && i < symbol->nested_count; i++) {
            found = found->opcode == MLIR_OP_MODULE ? find_in(importer, found, symbol->nested[i])
                                                    : NULL;
        }
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

struct mlir_op *import_function_of(struct scope *scope, const struct mlir_op *op,
                                   const struct mlir_attr *symbol)
{
    if (symbol == NULL || symbol->kind != MLIR_ATTR_SYMBOL) {
        import_fail(scope, op, "names no function");
        return NULL;
    }
    struct mlir_op *function = import_symbol(scope->importer, op, symbol);
    if (function == NULL || function->opcode != MLIR_OP_FUNC) {
        import_fail(scope, op, "there is no function @%s", symbol->string.data);
        return NULL;
    }
    return function;
}

/* --- the module --- */

static bool check_shapes(struct importer *importer)
{
    const struct module *module = importer->module;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            struct error err = {0};
            if (!infer_check(instruction, &err)) {
                return error_at(importer->err, instruction_where(instruction), "%s", err.message);
            }
        }
    }
    return true;
}

static const char *module_name(const struct mlir_op *entry)
{
    for (const struct mlir_op *at = module_around(entry); at != NULL; at = module_around(at)) {
        const char *name = symbol_name(at);
        if (name != NULL && name[0] != '\0') {
            return name;
        }
    }
    return "main";
}

static void finish_importer(struct importer *importer)
{
    import_finish_stacks(importer);
    for (size_t i = 0; i < importer->symbols.capacity; i++) {
        if (importer->symbols.entries[i].value != NULL) {
            map_finish(importer->symbols.entries[i].value);
        }
    }
    for (size_t i = 0; i < importer->known.capacity; i++) {
        literal_release(importer->known.entries[i].value);
    }
    map_finish(&importer->known);
    map_finish(&importer->symbols);
    map_finish(&importer->functions);
    map_finish(&importer->dynamic);
    map_finish(&importer->shardings);
    map_finish(&importer->metadata);
}

struct module *mlir_import(struct mlir_file *file, const struct mlir_import_options *options,
                           struct error *err)
{
    static const struct mlir_import_options defaults = {0};
    struct error own = {0};
    struct importer importer = {.file = file,
                                .options = options != NULL ? options : &defaults,
                                .err = err != NULL ? err : &own,
                                .next_channel = 1};
    const struct mlir_op *entry = mlir_entry(file, importer.options->entry, importer.err);
    if (entry == NULL) {
        return NULL;
    }
    struct module *module = module_create(module_name(entry));
    importer.module = module;
    if (file->name != NULL) {
        module->source = arena_string(&module->arena, file->name, strlen(file->name));
    }
    map_init(&importer.known);
    map_init(&importer.symbols);
    map_init(&importer.functions);
    map_init(&importer.dynamic);
    map_init(&importer.shardings);
    map_init(&importer.metadata);
    bool good = import_entry(&importer, entry) &&
                import_module_attributes(&importer, module_around(entry)) &&
                import_sdy_meshes(&importer, module_around(entry)) &&
                module_finish(module, importer.err) && check_shapes(&importer);
    if (good) {
        import_tidy(module);
    }
    finish_importer(&importer);
    if (!good) {
        module_destroy(module);
        return NULL;
    }
    return module;
}
