/* Where a module's arguments come from. */
#include "tools/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/literal.h"
#include "hlo/module.h"

const char *argument_source_text(enum argument_source source)
{
    static const char *const texts[] = {"seed", "files", "snapshot", "header"};
    return texts[source];
}

static void copy_list(struct arguments *arguments, enum argument_source source, int count,
                      struct literal *const *literals)
{
    arguments->source = source;
    arguments->count = count;
    arguments->literals = memory_alloc((size_t)count * sizeof *arguments->literals);
    for (int i = 0; i < count; i++) {
        arguments->literals[i] = literal_retain(literals[i]);
    }
}

/* Each argument fits its parameter. */
static bool check(const struct module *module, const struct arguments *arguments, struct error *err)
{
    int wanted = module->entry->parameter_count;
    if (wanted == 0 ? arguments->count > 0 : arguments->count % wanted != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%s takes %d arguments, but %d are given (%s)", module->name, wanted,
                         arguments->count, argument_source_text(arguments->source));
    }
    for (int i = 0; i < arguments->count; i++) {
        const struct shape *parameter = shape_static(module->entry->parameters[i % wanted]->shape);
        const struct shape *given = shape_static(arguments->literals[i]->shape);
        if (!shape_compatible(parameter, given)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "parameter %d is %s, but %s is given",
                             i % wanted, shape_text(parameter), shape_text(given));
        }
    }
    return true;
}

/* One file: a set of literals for all parameters. True with count 0 past its last iteration. */
static bool from_set_file(const char *path, int iteration, struct arguments *arguments,
                          bool *is_set, struct error *err)
{
    size_t size;
    char *data = file_read(path, &size, err);
    if (data == NULL) {
        return false;
    }
    *is_set = format_of(data, size) == FORMAT_LITERALS;
    bool ok = true;
    if (*is_set) {
        struct literal_sets sets;
        ok = proto_read_literals(data, size, &sets, err);
        if (ok && iteration < sets.count) {
            copy_list(arguments, ARGUMENTS_FILES, sets.sets[iteration].count,
                      sets.sets[iteration].arguments);
        }
        if (ok) {
            literal_sets_finish(&sets);
        }
    }
    free(data);
    return ok || error_prefix(err, "%s", path);
}

static bool from_files(const struct module *module, const struct string_list *files, int iteration,
                       struct arguments *arguments, struct error *err)
{
    bool is_set = false;
    if (files->count == 1 && !from_set_file(files->items[0], iteration, arguments, &is_set, err)) {
        return false;
    }
    if (is_set) {
        return arguments->count == 0 || check(module, arguments, err);
    }
    int wanted = module->entry->parameter_count;
    if (wanted == 0 || files->count % (size_t)wanted != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%s takes %d arguments, but %zu input files "
                         "are given",
                         module->name, wanted, files->count);
    }
    arguments->source = ARGUMENTS_FILES;
    arguments->literals = memory_zalloc(files->count * sizeof *arguments->literals);
    for (size_t i = 0; i < files->count; i++) {
        const struct shape *shape = module->entry->parameters[i % (size_t)wanted]->shape;
        arguments->literals[i] = literal_load(files->items[i], shape, err);
        if (arguments->literals[i] == NULL) {
            return error_prefix(err, "%s", files->items[i]);
        }
        arguments->count++;
    }
    return check(module, arguments, err);
}

bool arguments_find(const struct loaded_module *part, const struct case_header *header,
                    const struct string_list *files, int iteration, struct arguments *arguments,
                    struct error *err)
{
    memset(arguments, 0, sizeof *arguments);
    bool ok = true;
    if (files->count > 0) {
        ok = from_files(part->module, files, iteration, arguments, err);
    } else if (header->argument_count > 0) {
        copy_list(arguments, ARGUMENTS_HEADER, header->argument_count, header->arguments);
        ok = check(part->module, arguments, err);
    } else if (iteration < part->sets.count && part->sets.sets[iteration].count > 0) {
        copy_list(arguments, ARGUMENTS_SNAPSHOT, part->sets.sets[iteration].count,
                  part->sets.sets[iteration].arguments);
        ok = check(part->module, arguments, err);
    }
    if (!ok) {
        arguments_finish(arguments);
    }
    return ok;
}

bool arguments_spread(struct arguments *arguments, int parameter_count, int devices,
                      struct error *err)
{
    int wanted = parameter_count * devices;
    if (arguments->count == wanted) {
        return true;
    }
    if (arguments->count != parameter_count) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%d arguments are given for %d parameters on %d devices", arguments->count,
                         parameter_count, devices);
    }
    arguments->literals =
        memory_realloc(arguments->literals, (size_t)wanted * sizeof *arguments->literals);
    for (int i = parameter_count; i < wanted; i++) {
        arguments->literals[i] = literal_retain(arguments->literals[i - parameter_count]);
    }
    arguments->count = wanted;
    return true;
}

void arguments_finish(struct arguments *arguments)
{
    for (int i = 0; i < arguments->count; i++) {
        literal_release(arguments->literals[i]);
    }
    free(arguments->literals);
    memset(arguments, 0, sizeof *arguments);
}
