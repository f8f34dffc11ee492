/* Files of any format: what they are, and the modules and literals in them. */
#include "hlo/format_internal.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/module.h"
#include "hlo/proto/literals.h"
#include "hlo/text/text_format.h"

/* --- formats --- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_all_blank(const char *data, size_t size)
{
    while (size > 0 && is_blank(data[size - 1])) {
        size--;
    }
    return size == 0;
}

/* No control characters but blanks; a proto always has some (its tags and lengths). */
static bool is_text(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)data[i] < ' ' && !is_blank(data[i])) {
            return false;
        }
    }
    return !is_all_blank(data, size);
}

enum format format_of(const void *data, size_t size)
{
    if (size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0) {
        return FORMAT_NPY;
    }
    if (mlir_is_bytecode(data, size)) {
        return FORMAT_MLIR_BYTECODE;
    }
    if (is_text(data, size)) {
        return mlir_is_text(data, size) ? FORMAT_MLIR : FORMAT_TEXT;
    }
    for (enum proto_kind kind = PROTO_MODULE; kind <= PROTO_MODULE_WITH_CONFIG; kind++) {
        if (proto_looks_like(data, size, kind)) {
            return FORMAT_PROTO;
        }
    }
    if (literal_proto_looks_like(data, size)) {
        return FORMAT_LITERAL;
    }
    return literals_proto_looks_like(data, size) ? FORMAT_LITERALS : FORMAT_UNKNOWN;
}

const char *format_text(enum format format)
{
    static const char *const texts[] = {
        [FORMAT_UNKNOWN] = "unknown",
        [FORMAT_TEXT] = "HLO text",
        [FORMAT_MLIR] = "MLIR text",
        [FORMAT_MLIR_BYTECODE] = "MLIR bytecode",
        [FORMAT_PROTO] = "module proto",
        [FORMAT_LITERAL] = "LiteralProto",
        [FORMAT_LITERALS] = "RunHloModuleLiterals",
        [FORMAT_NPY] = ".npy",
    };
    return texts[format];
}

/* --- modules --- */

static void load_text(const char *path, const char *text, size_t size, struct loaded_file *file)
{
    struct part whole = {text, size, 1};
    struct error err = {0};
    struct module *module = text_read_module(text, size, path, 1, &err);
    int count, separators;
    struct part *parts = parts_split(text, size, &count, &separators);
    if (module != NULL || separators == 0 || count == 0) {
        file_add_module(file, module, &err, path, part_header(whole));
    } else {
        for (int i = 0; i < count; i++) {
            struct error why = {0};
            struct text name;
            text_init(&name);
            text_printf(&name, "%s#%d", path, i);
            module = text_read_module(parts[i].text, parts[i].size, path, parts[i].line, &why);
            file_add_module(file, module, &why, name.data, part_header(parts[i]));
            text_finish(&name);
        }
    }
    free(parts);
}

static void load_proto(const char *path, const void *data, size_t size, struct loaded_file *file)
{
    struct error err = {0};
    struct text warnings;
    text_init(&warnings);
    struct literal_sets sets;
    struct module *module = proto_read_module(data, size, path, &warnings, &sets, &err);
    struct loaded_module *loaded = file_add_module(file, module, &err, path, memory_strdup(""));
    loaded->sets = sets;
    free(loaded->warnings);
    loaded->warnings = text_take(&warnings);
    text_finish(&warnings);
}

bool module_load_memory(const char *path, const char *data, size_t size, struct loaded_file *file,
                        struct error *err)
{
    *file = (struct loaded_file){.format = format_of(data, size)};
    switch (file->format) {
    case FORMAT_TEXT:
        load_text(path, data, size, file);
        return true;
    case FORMAT_MLIR:
    case FORMAT_MLIR_BYTECODE:
        load_mlir(path, data, size, file);
        return true;
    case FORMAT_PROTO:
        load_proto(path, data, size, file);
        return true;
    case FORMAT_UNKNOWN:
        if (is_all_blank(data, size)) {
            return error_at(err, (struct where){path, 0, 0}, "the file is empty");
        }
        /* Not well-formed, or nothing known: the reader of protos says which. */
        module_destroy(proto_read_module(data, size, path, NULL, NULL, err));
        return false;
    default:
        return error_at(err, (struct where){path, 0, 0}, "this is no module but %s",
                        format_text(file->format));
    }
}

bool module_load(const char *path, struct loaded_file *file, struct error *err)
{
    size_t size;
    char *data = file_read(path, &size, err);
    if (data == NULL) {
        *file = (struct loaded_file){0};
        return false;
    }
    bool ok = module_load_memory(path, data, size, file, err);
    free(data);
    return ok;
}

void loaded_file_finish(struct loaded_file *file)
{
    for (int i = 0; i < file->count; i++) {
        struct loaded_module *loaded = &file->modules[i];
        module_destroy(loaded->module);
        free(loaded->error);
        free(loaded->name);
        free(loaded->header);
        free(loaded->warnings);
        literal_sets_finish(&loaded->sets);
    }
    free(file->modules);
    for (int i = 0; i < file->mlir_count; i++) {
        mlir_file_destroy(file->mlir[i]);
    }
    free(file->mlir);
    *file = (struct loaded_file){0};
}

/* --- literals --- */

/* "shape value", or a value alone when the shape is known. */
static struct literal *read_literal_text(const char *text, size_t size, const struct shape *shape,
                                         struct error *err)
{
    size_t used = 0;
    struct error no_shape = {0};
    const struct shape *written = shape_parse(text, size, &used, &no_shape);
    if (written == NULL && shape == NULL) {
        if (err != NULL && err->code == ERROR_NONE) {
            *err = no_shape;
        }
        return NULL;
    }
    size_t value_used = 0;
    used = written != NULL ? used : 0;
    struct literal *literal = literal_parse(written != NULL ? written : shape, text + used,
                                            size - used, &value_used, err);
    used += value_used;
    while (literal != NULL && used < size) {
        if (!is_blank(text[used++])) {
            error_set(err, ERROR_INVALID_ARGUMENT, "there is more text after the literal");
            literal_release(literal);
            return NULL;
        }
    }
    return literal;
}

static struct literal *read_literal_data(const char *data, size_t size, const struct shape *shape,
                                         struct error *err)
{
    enum format format = format_of(data, size);
    switch (format) {
    case FORMAT_NPY:
        return npy_read(data, size, shape, err);
    case FORMAT_LITERAL:
        return proto_read_literal(data, size, err);
    case FORMAT_TEXT:
        return read_literal_text(data, size, shape, err);
    default:
        error_set(err, ERROR_INVALID_ARGUMENT, "this is no literal (format: %s)",
                  format_text(format));
        return NULL;
    }
}

struct literal *literal_load(const char *path, const struct shape *shape, struct error *err)
{
    size_t size;
    char *data = file_read(path, &size, err);
    if (data == NULL) {
        return NULL;
    }
    struct error why = {0};
    struct literal *literal = read_literal_data(data, size, shape, &why);
    free(data);
    if (literal != NULL && shape != NULL && !shape_compatible(literal->shape, shape)) {
        error_set(&why, ERROR_INVALID_ARGUMENT, "the literal has shape %s instead of %s",
                  shape_text(literal->shape), shape_text(shape));
        literal_release(literal);
        literal = NULL;
    }
    if (literal == NULL) {
        if (err != NULL && err->code == ERROR_NONE) {
            error_at(err, (struct where){path, why.line, why.column}, "%s", why.message);
            err->code = why.code;
        }
    }
    return literal;
}
