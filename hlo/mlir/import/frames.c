/* Call stacks as tables of frames. A location like callsite("g"("a.py":6:17) at callsite(…)) is a
 * stack, innermost first; "g"("a.py":6:17) alone is one of one frame.
 * Source: xla/hlo/translate/mhlo_to_hlo/stack_frame_index_builder.cc. */
#include <stddef.h>
#include <string.h>

#include "hlo/mlir/import/import_internal.h"

enum { STACK_MAX = 4000, CALLEE_MAX_DEPTH = 100 };

struct frames {
    struct map stacks;                              /* struct mlir_location* → its frame */
    struct map files, functions, locations, frames; /* content → id */
    struct frame_tables tables; /* its arrays have room for the next power of two */
};

/* An id as a value of a map; ids count from 1. */
static void *of_id(int64_t id)
{
    return (void *)(uintptr_t)id;
}

static int64_t to_id(const void *value)
{
    return (int64_t)(uintptr_t)value;
}

/* Appends an element to an array whose room is the next power of two of its count. */
static void *append(struct arena *arena, const void *array, int *count, size_t size,
                    const void *element)
{
    char *list = (char *)(uintptr_t)array;
    size_t bytes = (size_t)*count * size;
    if ((*count & (*count - 1)) == 0) {
        list = arena_array(arena, *count > 0 ? 2 * (size_t)*count : 1, size);
        if (*count > 0) {
            memcpy(list, array, bytes);
        }
    }
    memcpy(list + bytes, element, size);
    ++*count;
    return list;
}

static int64_t string_id(struct arena *arena, struct map *ids, const char *const **list, int *count,
                         const char *text)
{
    size_t size = strlen(text);
    int64_t id = to_id(map_get(ids, text, size));
    if (id == 0) {
        const char *copy = arena_string(arena, text, size);
        *list = append(arena, *list, count, sizeof copy, &copy);
        id = *count;
        map_put(ids, copy, size, of_id(id));
    }
    return id;
}

/* The id of an element, which is added if there is none whose first key_size bytes are the same. */
static int64_t element_id(struct arena *arena, struct map *ids, const void **list, int *count,
                          const void *element, size_t size, size_t key_size)
{
    int64_t id = to_id(map_get(ids, element, key_size));
    if (id == 0) {
        *list = append(arena, *list, count, size, element);
        id = *count;
        map_put(ids, arena_copy(arena, element, key_size), key_size, of_id(id));
    }
    return id;
}

static int64_t add_frame(struct arena *arena, struct frames *frames,
                         const struct mlir_location *named, int64_t parent)
{
    const struct mlir_location *place = named->children[0];
    struct frame_tables *tables = &frames->tables;
    struct file_location location = {
        .file_name_id = string_id(arena, &frames->files, &tables->file_names,
                                  &tables->file_name_count, place->text),
        .function_name_id = string_id(arena, &frames->functions, &tables->function_names,
                                      &tables->function_name_count, named->text),
        .line = place->line,
        .column = place->column,
        .end_line = place->end_line > 0 ? place->end_line : place->line,
        .end_column = place->end_line > 0 ? place->end_column : place->column,
    };
    const void *locations = tables->locations, *list = tables->frames;
    /* Where a place ends does not count, as in XLA. */
    struct stack_frame frame = {
        .file_location_id =
            element_id(arena, &frames->locations, &locations, &tables->location_count, &location,
                       sizeof location, offsetof(struct file_location, end_line)),
        .parent_frame_id = parent,
    };
    int64_t id = element_id(arena, &frames->frames, &list, &tables->frame_count, &frame,
                            sizeof frame, sizeof frame);
    tables->locations = locations;
    tables->frames = list;
    return id;
}

bool import_is_frame(const struct mlir_location *location)
{
    return location->kind == MLIR_LOC_NAME && location->count > 0 &&
           location->children[0]->kind == MLIR_LOC_FILE;
}

/* The frames of a stack, innermost first, up to STACK_MAX. */
static int collect(const struct mlir_location *location, const struct mlir_location **list,
                   int count, int depth)
{
    while (location->kind == MLIR_LOC_CALL && depth < CALLEE_MAX_DEPTH) {
        count = collect(location->children[0], list, count, depth + 1);
        location = location->children[1];
    }
    if (import_is_frame(location) && count < STACK_MAX) {
        list[count++] = location;
    }
    return count;
}

int64_t import_stack(struct importer *importer, const struct mlir_location *location)
{
    struct arena *arena = &importer->module->arena;
    struct frames *frames = importer->frames;
    if (frames == NULL) {
        frames = importer->frames = arena_alloc(arena, sizeof *frames);
        map_init(&frames->stacks);
        map_init(&frames->files);
        map_init(&frames->functions);
        map_init(&frames->locations);
        map_init(&frames->frames);
    }
    int64_t known = to_id(map_get_int(&frames->stacks, pointer_key(location)));
    if (known != 0) {
        return known;
    }
    const struct mlir_location *list[STACK_MAX];
    int64_t id = 0;
    for (int i = collect(location, list, 0, 0) - 1; i >= 0; i--) {
        id = add_frame(arena, frames, list[i], id);
    }
    if (id != 0) {
        map_put_int(&frames->stacks, pointer_key(location), of_id(id));
    }
    return id;
}

void import_finish_stacks(struct importer *importer)
{
    struct frames *frames = importer->frames;
    if (frames == NULL) {
        return;
    }
    importer->module->frames = frames->tables;
    map_finish(&frames->stacks);
    map_finish(&frames->files);
    map_finish(&frames->functions);
    map_finish(&frames->locations);
    map_finish(&frames->frames);
}
