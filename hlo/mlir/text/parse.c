/* A whole file of MLIR text: ops, aliases and resources at the top. */
#include "hlo/mlir/mlir_format.h"
#include "hlo/mlir/text/reader_internal.h"

static void reader_init(struct reader *reader, struct mlir_file *file, const char *text,
                        size_t size, int first_line, struct error *err)
{
    *reader = (struct reader){
        .file = file,
        .text = text,
        .end = text + size,
        .at = text,
        .first_line = first_line,
        .err = err,
        .counted = text,
        .line_start = text,
        .line = first_line,
        .scopes = reader_scopes_create(),
        .type_cache = reader_type_cache_create(),
        .resources = reader_resources_create(),
    };
    map_init(&reader->aliases);
    map_init(&reader->locations);
}

static void reader_finish(struct reader *reader)
{
    reader_scopes_destroy(reader->scopes);
    reader_resources_destroy(reader->resources);
    reader_type_cache_destroy(reader->type_cache);
    map_finish(&reader->aliases);
    map_finish(&reader->locations);
}

static bool read_top(struct reader *reader)
{
    while (!reader_at_end(reader)) {
        char c = *reader->at;
        bool read = c == '#' || c == '!' ? reader_alias_definition(reader)
                    : c == '{'           ? reader_resource_section(reader)
                                         : reader_op(reader);
        if (!read) {
            return false;
        }
    }
    return true;
}

/* The one module that was written, or one around all that was. */
static bool set_module(struct reader *reader, struct mlir_region *region)
{
    struct mlir_file *file = reader->file;
    struct mlir_block *block = region->blocks[0];
    if (block->count == 1 && block->ops[0]->opcode == MLIR_OP_MODULE) {
        file->module = block->ops[0];
        file->module->block = NULL;
        return true;
    }
    static const char name[] = "builtin.module";
    file->module = mlir_op_new(file, name, sizeof name - 1, 0, 0, 1);
    file->module->regions[0] = *region;
    file->module->regions[0].parent = file->module;
    block->region = &file->module->regions[0];
    file->module_was_implied = true;
    return reader_check_symbols(reader, region);
}

static bool read_file(struct reader *reader)
{
    struct mlir_region *region = arena_alloc(&reader->file->arena, sizeof *region);
    reader_scope_enter(reader, true, true, "builtin");
    reader_block_begin_unnamed(reader);
    if (!read_top(reader)) {
        return false;
    }
    reader_block_end(reader);
    return reader_scope_leave(reader, region) && reader_locations_finish(reader) &&
           reader_resources_finish(reader) && set_module(reader, region);
}

struct mlir_file *mlir_parse(const char *text, size_t size, const char *name, int first_line,
                             struct error *err)
{
    struct error own = {0};
    err = err != NULL ? err : &own;
    struct mlir_file *file = mlir_file_create(name);
    struct reader reader;
    reader_init(&reader, file, text, size, first_line, err);
    bool read = read_file(&reader);
    reader_finish(&reader);
    if (read) {
        return file;
    }
    if (err->line > 0 && err->source[0] == '\0') {
        /* The text begins in line first_line. */
        int line = err->line;
        err->line -= first_line - 1;
        error_quote(err, text, size);
        err->line = line;
    }
    mlir_file_destroy(file);
    return NULL;
}

/* --- one attribute or type alone --- */

static bool expect_end(struct reader *reader)
{
    return reader_at_end(reader) || reader_expected(reader, "the end");
}

struct mlir_attr *mlir_parse_attr(struct mlir_file *file, const char *text, size_t size,
                                  struct error *err)
{
    struct error own = {0};
    struct mlir_attr *attr = NULL;
    struct reader reader;
    reader_init(&reader, file, text, size, 1, err != NULL ? err : &own);
    bool read = reader_attr(&reader, &attr) && expect_end(&reader) &&
                reader_locations_finish(&reader) && reader_resources_finish(&reader);
    reader_finish(&reader);
    return read ? attr : NULL;
}

const struct mlir_type *mlir_parse_type(struct mlir_file *file, const char *text, size_t size,
                                        struct error *err)
{
    struct error own = {0};
    const struct mlir_type *type = NULL;
    struct reader reader;
    reader_init(&reader, file, text, size, 1, err != NULL ? err : &own);
    bool read = reader_type(&reader, &type) && expect_end(&reader);
    reader_finish(&reader);
    return read ? type : NULL;
}
