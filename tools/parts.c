/* Modules that come from MLIR: which function, its shapes, and the probes in it. */
#include "tools/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compare/checks.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/proto/literals.h"
#include "interp/interp.h"

struct literal *evaluate_for_shapes(const struct module *module, struct error *err)
{
    return interp_evaluate(module, NULL, 0, NULL, err);
}

/* --- shapes of arguments --- */

struct known {
    int count;
    const struct shape **shapes;
    struct literal **values; /* NULL entries: not known */
};

static void known_finish(struct known *known)
{
    for (int i = 0; i < known->count; i++) {
        literal_release(known->values[i]);
    }
    free(known->shapes);
    free(known->values);
}

static void known_add(struct known *known, const struct shape *shape, struct literal *value_take)
{
    size_t count = (size_t)known->count + 1;
    known->shapes = memory_realloc(known->shapes, count * sizeof(struct shape *));
    known->values = memory_realloc(known->values, count * sizeof *known->values);
    known->shapes[known->count] = shape;
    known->values[known->count++] = value_take;
}

static bool from_texts(const struct string_list *texts, struct known *known, struct error *err)
{
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->items[i];
        size_t used, size = strlen(text);
        const struct shape *shape = shape_parse(text, size, &used, err);
        if (shape == NULL || used != size) {
            error_set(err, ERROR_INVALID_ARGUMENT, "there is more after the shape");
            return error_prefix(err, "--shapes %s", text);
        }
        known_add(known, shape, NULL);
    }
    return true;
}

/* A file of literals for all arguments: its first set. */
static bool from_set(const char *path, struct known *known, bool *is_set, struct error *err)
{
    size_t size;
    char *data = file_read(path, &size, err);
    if (data == NULL) {
        return false;
    }
    *is_set = format_of(data, size) == FORMAT_LITERALS;
    struct literal_sets sets = {0};
    bool ok = !*is_set || proto_read_literals(data, size, &sets, err);
    for (int i = 0; ok && sets.count > 0 && i < sets.sets[0].count; i++) {
        struct literal *value = literal_retain(sets.sets[0].arguments[i]);
        known_add(known, value->shape, value);
    }
    literal_sets_finish(&sets);
    free(data);
    return ok || error_prefix(err, "%s", path);
}

static bool from_files(const struct string_list *files, struct known *known, struct error *err)
{
    bool is_set = false;
    if (files->count == 1 && !from_set(files->items[0], known, &is_set, err)) {
        return false;
    }
    for (size_t i = 0; !is_set && i < files->count; i++) {
        struct literal *value = literal_load(files->items[i], NULL, err);
        if (value == NULL) {
            return error_prefix(err, "%s", files->items[i]);
        }
        known_add(known, value->shape, value);
    }
    return true;
}

bool part_refine(struct loaded_module *part, const struct string_list *shapes,
                 const struct string_list *inputs, struct error *err)
{
    struct known known = {0};
    if (!part->is_dynamic || part->mlir == NULL) {
        return true;
    }
    if (shapes->count == 0 && inputs->count == 0) {
        return part->error == NULL ||
               error_set(
                   err, ERROR_INVALID_ARGUMENT,
                   "@%s leaves sizes open; give the shapes of its arguments with --shapes, or "
                   "files with --inputs (%s)",
                   part->function, part->error->message);
    }
    bool ok = shapes->count > 0 ? from_texts(shapes, &known, err) : from_files(inputs, &known, err);
    ok = ok && loaded_module_refine(part, known.count, known.shapes,
                                    (const struct literal *const *)known.values, err);
    known_finish(&known);
    return ok;
}

/* --- probes --- */

/* A file name of an id: what is no letter, digit, '.', '-' or '_' becomes '_'. */
static void safe_name(const char *id, struct text *out)
{
    for (; *id != '\0'; id++) {
        bool plain = (*id >= 'a' && *id <= 'z') || (*id >= 'A' && *id <= 'Z') ||
                     (*id >= '0' && *id <= '9') || strchr("._-", *id) != NULL;
        text_char(out, plain ? *id : '_');
    }
}

static void print_type(const struct shape *shape, struct text *out)
{
    struct mlir_file *file = mlir_file_create(NULL);
    mlir_print_type(mlir_tensor(file, shape->type, shape->rank, shape->dimensions), out);
    mlir_file_destroy(file);
}

bool probes_save(const struct checks *checks, const char *folder, struct error *err)
{
    if (checks->probe_count == 0) {
        return true;
    }
    struct text index, path;
    text_init(&index);
    text_init(&path);
    mkdir(folder, 0777); /* what is wrong with it shows when files are written */
    bool ok = true;
    for (size_t i = 0; ok && i < checks->probe_count; i++) {
        const struct probe *probe = &checks->probes[i];
        text_clear(&path);
        text_printf(&path, "%s/", folder);
        safe_name(probe->id, &path);
        text_printf(&path, "_%" PRId64 ".npy", probe->iteration + 1);
        size_t size;
        void *bytes = npy_write(probe->value, &size, err);
        ok = bytes != NULL && file_write(path.data, bytes, size, err);
        free(bytes);
        text_printf(&index, "%s,", probe->id);
        print_type(probe->value->shape, &index);
        text_printf(&index, ",%s\n", path.data);
    }
    text_clear(&path);
    text_printf(&path, "%s/index.csv", folder);
    ok = ok && file_write(path.data, index.data, index.size, err);
    text_finish(&index);
    text_finish(&path);
    return ok;
}
