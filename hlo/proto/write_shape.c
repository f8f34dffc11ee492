/* Shapes and layouts as protos. Source: xla/shape.cc, xla/layout.cc. */
#include <string.h>

#include "hlo/proto/write.h"

/* "D", "C", "S", "H" and their flags, "+" not unique and "~" not ordered, comma by comma. */
static void write_level_types(struct arena *arena, const char *text, Referee__LayoutProto *proto)
{
    size_t room = strlen(text) + 1;
    proto->dim_level_types = arena_array(arena, room, sizeof *proto->dim_level_types);
    proto->dim_unique = arena_array(arena, room, sizeof *proto->dim_unique);
    proto->dim_ordered = arena_array(arena, room, sizeof *proto->dim_ordered);
    size_t count = 0;
    for (const char *at = text; *at != '\0'; at++) {
        const char *type = strchr("DCSH", *at);
        if (type != NULL) {
            proto->dim_level_types[count] = (int32_t)strcspn("DCSH", (char[]){*at, '\0'});
            proto->dim_unique[count] = true;
            proto->dim_ordered[count] = true;
            count++;
        } else if (*at == '+' && count > 0) {
            proto->dim_unique[count - 1] = false;
        } else if (*at == '~' && count > 0) {
            proto->dim_ordered[count - 1] = false;
        }
    }
    proto->n_dim_level_types = proto->n_dim_unique = proto->n_dim_ordered = count;
}

static Referee__LayoutProto *write_layout(struct arena *arena, const struct layout *layout)
{
    Referee__LayoutProto *proto = message_new(arena, &referee__layout_proto__descriptor);
    proto->n_minor_to_major = (size_t)layout->rank;
    proto->minor_to_major = (int64_t *)layout->minor_to_major;
    proto->n_tiles = (size_t)layout->tile_count;
    proto->tiles = arena_array(arena, proto->n_tiles, sizeof *proto->tiles);
    for (int i = 0; i < layout->tile_count; i++) {
        Referee__TileProto *tile = message_new(arena, &referee__tile_proto__descriptor);
        tile->n_dimensions = (size_t)layout->tiles[i].rank;
        tile->dimensions = (int64_t *)layout->tiles[i].dimensions;
        proto->tiles[i] = tile;
    }
    proto->tail_padding_alignment_in_elements = layout->tail_padding_alignment;
    proto->index_primitive_type = (int32_t)layout->index_type;
    proto->pointer_primitive_type = (int32_t)layout->pointer_type;
    proto->element_size_in_bits = layout->element_bits;
    proto->memory_space = layout->memory_space;
    proto->n_split_configs = (size_t)layout->split_count;
    proto->split_configs = arena_array(arena, proto->n_split_configs, sizeof *proto->split_configs);
    for (int i = 0; i < layout->split_count; i++) {
        Referee__SplitConfigProto *split =
            message_new(arena, &referee__split_config_proto__descriptor);
        split->dimension = layout->splits[i].dimension;
        split->n_split_indices = (size_t)layout->splits[i].count;
        split->split_indices = (int64_t *)layout->splits[i].indices;
        proto->split_configs[i] = split;
    }
    if (layout->physical_shape != NULL) {
        proto->physical_shape = write_shape(arena, layout->physical_shape);
    }
    proto->dynamic_shape_metadata_prefix_bytes = layout->dynamic_metadata_bytes;
    if (layout->dim_level_types != NULL) {
        write_level_types(arena, layout->dim_level_types, proto);
    }
    return proto;
}

static Referee__ShapeProto *write_dimensions(struct arena *arena, const struct shape *shape)
{
    Referee__ShapeProto *proto = message_new(arena, &referee__shape_proto__descriptor);
    proto->element_type = (int32_t)shape->type;
    size_t rank = (size_t)shape->rank;
    proto->n_dimensions = proto->n_is_dynamic_dimension = rank;
    proto->dimensions = (int64_t *)shape->dimensions;
    proto->is_dynamic_dimension = arena_array(arena, rank, sizeof *proto->is_dynamic_dimension);
    for (int i = 0; i < shape->rank; i++) {
        proto->is_dynamic_dimension[i] = shape_dimension_is_dynamic(shape, i);
    }
    return proto;
}

Referee__ShapeProto *write_shape(struct arena *arena, const struct shape *shape)
{
    Referee__ShapeProto *proto = write_dimensions(arena, shape);
    if (shape_is_array(shape)) {
        proto->layout = write_layout(arena, shape->layout);
    }
    proto->n_tuple_shapes = (size_t)shape->count;
    proto->tuple_shapes = arena_array(arena, proto->n_tuple_shapes, sizeof *proto->tuple_shapes);
    for (int i = 0; i < shape->count; i++) {
        proto->tuple_shapes[i] = write_shape(arena, shape->elements[i]);
    }
    return proto;
}

Referee__ShapeProto *write_shape_of_literal(struct arena *arena, const struct shape *shape)
{
    Referee__ShapeProto *proto = write_dimensions(arena, shape);
    if (shape_is_array(shape)) {
        proto->layout = message_new(arena, &referee__layout_proto__descriptor);
        proto->layout->n_minor_to_major = (size_t)shape->rank;
        proto->layout->minor_to_major = (int64_t *)shape->layout->minor_to_major;
        proto->layout->tail_padding_alignment_in_elements = 1;
    }
    proto->n_tuple_shapes = (size_t)shape->count;
    proto->tuple_shapes = arena_array(arena, proto->n_tuple_shapes, sizeof *proto->tuple_shapes);
    for (int i = 0; i < shape->count; i++) {
        proto->tuple_shapes[i] = write_shape_of_literal(arena, shape->elements[i]);
    }
    return proto;
}
