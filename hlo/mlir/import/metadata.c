/* Locations as metadata: names become op_name, a file's place becomes the source.
 * Source: xla/hlo/translate/mhlo_to_hlo/location_exporter.cc. Call stacks go into the module's
 * tables of frames, as there; other than there, the innermost place stands in the metadata too. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/import/import_internal.h"

enum { LOCATION_MAX_DEPTH = 200 };

/* A name without what follows "@": JAX and TensorFlow write the function there. */
static size_t name_size(const char *name)
{
    return strcspn(name, "@");
}

static bool is_op_type(const char *name)
{
    size_t size = name_size(name);
    return size > 0 && name[size - 1] == ':';
}

/* Names, outermost first, in the order of fused locations; op types are no names. */
static void add_names(const struct mlir_location *location, struct text *out, int depth)
{
    if (depth > LOCATION_MAX_DEPTH) {
        return;
    }
    switch (location->kind) {
    case MLIR_LOC_NAME:
        if (is_op_type(location->text)) {
            if (location->count > 0) {
                add_names(location->children[0], out, depth + 1);
            }
            return;
        }
        if (out->size > 0) {
            text_char(out, ';');
        }
        text_append_n(out, location->text, name_size(location->text));
        return;
    case MLIR_LOC_CALL:
        add_names(location->children[0], out, depth + 1);
        return;
    case MLIR_LOC_FUSED:
        for (int i = 0; i < location->count; i++) {
            add_names(location->children[i], out, depth + 1);
        }
        return;
    default:
        return;
    }
}

/* The first op type on the way down. */
static const char *op_type(const struct mlir_location *location)
{
    for (int depth = 0; depth <= LOCATION_MAX_DEPTH; depth++) {
        if (location->kind == MLIR_LOC_NAME && is_op_type(location->text)) {
            return location->text;
        }
        if (location->kind == MLIR_LOC_UNKNOWN || location->count == 0) {
            return NULL;
        }
        location = location->children[0];
    }
    return NULL;
}

/* The last place of a file that fused locations name; of a call, where the callee is. */
static const struct mlir_location *file_place(const struct mlir_location *location, int depth)
{
    if (location->kind == MLIR_LOC_FILE) {
        return location;
    }
    if (depth > LOCATION_MAX_DEPTH) {
        return NULL;
    }
    if (location->kind == MLIR_LOC_FUSED) {
        for (int i = location->count - 1; i >= 0; i--) {
            const struct mlir_location *found = file_place(location->children[i], depth + 1);
            if (found != NULL) {
                return found;
            }
        }
        return NULL;
    }
    return location->count > 0 ? file_place(location->children[0], depth + 1) : NULL;
}

/* The location behind names that are no frames: what may be a call stack. */
static const struct mlir_location *behind_names(const struct mlir_location *location)
{
    for (int depth = 0; depth < LOCATION_MAX_DEPTH; depth++) {
        if (location->kind != MLIR_LOC_NAME || import_is_frame(location) || location->count == 0) {
            break;
        }
        location = location->children[0];
    }
    return location;
}

struct metadata *import_metadata(struct importer *importer, const struct mlir_op *op)
{
    static struct metadata nothing;
    const struct mlir_location *location = op->location;
    if (location == NULL || location->kind == MLIR_LOC_UNKNOWN) {
        return NULL;
    }
    struct metadata *known = map_get_int(&importer->metadata, pointer_key(location));
    if (known != NULL) {
        return known != &nothing ? known : NULL;
    }
    struct arena *arena = &importer->module->arena;
    struct metadata metadata = {0};
    struct text name;
    text_init(&name);
    add_names(location, &name, 0);
    if (name.size > 0) {
        metadata.op_name = arena_string(arena, name.data, name.size);
    }
    text_finish(&name);
    const char *type = op_type(location);
    if (type != NULL) {
        metadata.op_type = arena_string(arena, type, name_size(type) - 1);
    }
    const struct mlir_location *file = file_place(location, 0);
    if (file != NULL) {
        metadata.source_file = arena_string(arena, file->text, strlen(file->text));
        metadata.source_line = file->line;
        metadata.source_column = file->column;
        metadata.source_end_line = file->end_line > 0 ? file->end_line : file->line;
        metadata.source_end_column = file->end_line > 0 ? file->end_column : file->column;
    }
    metadata.stack_frame_id = import_stack(importer, behind_names(location));
    bool empty = metadata.op_name == NULL && metadata.op_type == NULL && file == NULL;
    struct metadata *copy = empty ? &nothing : arena_copy(arena, &metadata, sizeof metadata);
    map_put_int(&importer->metadata, pointer_key(location), copy);
    return empty ? NULL : copy;
}
