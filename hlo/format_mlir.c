/* Files of MLIR: each part's functions as modules. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/format_internal.h"
#include "hlo/literal.h"
#include "hlo/module.h"

struct load_options load_options;

/* --- one function --- */

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Does anything of the program speak to an interpreter only, so that no compiler takes it? */
static bool has_checks(const struct mlir_op *op)
{
    const struct mlir_attr *target =
        op->opcode == MLIR_OP_CUSTOM_CALL ? mlir_op_attr(op, "call_target_name") : NULL;
    if (starts_with(op->name, "check.") || starts_with(op->name, "interpreter.") ||
        (target != NULL && target->kind == MLIR_ATTR_STRING &&
         starts_with(target->string.data, "check."))) {
        return true;
    }
    for (int r = 0; r < op->region_count; r++) {
        for (int b = 0; b < op->regions[r].count; b++) {
            const struct mlir_block *block = op->regions[r].blocks[b];
            for (int i = 0; i < block->count; i++) {
                if (has_checks(block->ops[i])) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* What a compiler gets when the program is sent as MLIR: what was written, if its entry is main and
 * there are no checks in it, else nothing. */
static void keep_source(const struct loaded_module *part, struct module *module)
{
    if (strcmp(part->function, "main") == 0 && !has_checks(part->mlir->module)) {
        module->mlir.size = part->source.size;
        module->mlir.data = arena_string(&module->arena, part->source.data, part->source.size);
    }
}

bool loaded_module_refine(struct loaded_module *part, int count, const struct shape *const *shapes,
                          const struct literal *const *arguments, struct error *err)
{
    struct mlir_import_options options = {
        .entry = part->function,
        .argument_count = count,
        .argument_shapes = shapes,
        .arguments = arguments,
        .evaluate = load_options.evaluate,
        .checks = load_options.checks,
    };
    struct module *module = mlir_import(part->mlir, &options, err);
    if (module != NULL && load_options.keep_mlir && count == 0) {
        keep_source(part, module);
    }
    module_destroy(part->module);
    free(part->error);
    part->module = module;
    part->error = NULL;
    return module != NULL;
}

static void add_function(struct loaded_file *file, struct mlir_file *mlir,
                         const struct mlir_op *function, const char *name, struct part source)
{
    struct error err = {0};
    char *header = file->format == FORMAT_MLIR ? part_header(source) : memory_strdup("");
    struct loaded_module *part = file_add_module(file, NULL, &err, name, header);
    part->mlir = mlir;
    part->function = mlir_op_attr(function, "sym_name")->string.data;
    part->source = (struct bytes){source.text, source.size};
    part->is_dynamic = mlir_function_is_dynamic(function);
    if (!loaded_module_refine(part, 0, NULL, NULL, &err)) {
        part->error = memory_alloc(sizeof *part->error);
        *part->error = err;
    }
}

/* --- all functions of a part --- */

/* Those that are not private and have a body. */
static int public_functions(const struct mlir_file *mlir, const struct mlir_op **list, int room)
{
    int count = 0;
    const struct mlir_region *region = &mlir->module->regions[0];
    for (int b = 0; b < region->count; b++) {
        for (int i = 0; i < region->blocks[b]->count; i++) {
            const struct mlir_op *op = region->blocks[b]->ops[i];
            const struct mlir_attr *visibility = mlir_op_attr(op, "sym_visibility");
            bool is_private = visibility != NULL && visibility->kind == MLIR_ATTR_STRING &&
                              strcmp(visibility->string.data, "private") == 0;
            if (op->opcode == MLIR_OP_FUNC && !is_private && op->region_count == 1 &&
                op->regions[0].count > 0) {
                if (count < room) {
                    list[count] = op;
                }
                count++;
            }
        }
    }
    return count;
}

/* *missing: that a part has not the function that is asked for, which another may have. */
static void add_functions(struct loaded_file *file, struct mlir_file *mlir, const char *name,
                          struct part source, struct error *missing)
{
    struct error err = {0};
    const struct mlir_op *entry = mlir_entry(mlir, load_options.entry, &err);
    int count = public_functions(mlir, NULL, 0);
    if (entry != NULL) {
        add_function(file, mlir, entry, name, source);
    } else if (load_options.entry != NULL) {
        if (missing->code == ERROR_NONE) {
            *missing = err;
        }
    } else if (count == 0) {
        file_add_module(file, NULL, &err, name, memory_strdup(""));
    } else {
        const struct mlir_op **functions = memory_alloc((size_t)count * sizeof *functions);
        public_functions(mlir, functions, count);
        for (int i = 0; i < count; i++) {
            struct text full;
            text_init(&full);
            text_printf(&full, "%s@%s", name, mlir_op_attr(functions[i], "sym_name")->string.data);
            add_function(file, mlir, functions[i], full.data, source);
            text_finish(&full);
        }
        free(functions);
    }
}

static void keep(struct loaded_file *file, struct mlir_file *mlir)
{
    file->mlir =
        memory_realloc(file->mlir, (size_t)(file->mlir_count + 1) * sizeof(struct mlir_file *));
    file->mlir[file->mlir_count++] = mlir;
}

static void load_part(const char *path, const char *name, struct part part,
                      struct loaded_file *file, struct error *missing)
{
    struct error err = {0};
    struct mlir_file *mlir;
    if (file->format == FORMAT_MLIR_BYTECODE) {
        mlir = mlir_read_bytecode(part.text, part.size, path, &err);
    } else {
        /* The reader needs a zero at the end. */
        char *copy = memory_alloc(part.size + 1);
        memcpy(copy, part.text, part.size);
        copy[part.size] = '\0';
        mlir = mlir_parse(copy, part.size, path, part.line, &err);
        free(copy);
    }
    if (mlir == NULL) {
        file_add_module(file, NULL, &err, name, memory_strdup(""));
        return;
    }
    keep(file, mlir);
    add_functions(file, mlir, name, part, missing);
}

void load_mlir(const char *path, const char *data, size_t size, struct loaded_file *file)
{
    struct part whole = {data, size, 1};
    struct error missing = {0};
    int count = 0, separators = 0;
    struct part *parts =
        file->format == FORMAT_MLIR ? parts_split(data, size, &count, &separators) : NULL;
    if (separators == 0) {
        load_part(path, path, whole, file, &missing);
    }
    for (int i = 0; separators > 0 && i < count; i++) {
        struct text name;
        text_init(&name);
        text_printf(&name, "%s#%d", path, i);
        load_part(path, name.data, parts[i], file, &missing);
        text_finish(&name);
    }
    free(parts);
    if (file->count == 0 && missing.code != ERROR_NONE) {
        file_add_module(file, NULL, &missing, path, memory_strdup(""));
    }
}
