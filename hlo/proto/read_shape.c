/* Shapes and layouts from protos. Source: xla/shape.cc, xla/layout.cc (FromProto). */
#include <stdlib.h>

#include "hlo/proto/read.h"

static const struct shape *read_nested(const Referee__ShapeProto *proto, int depth,
                                       struct error *err);

static const char *read_level_types(const Referee__LayoutProto *proto,
                                    char text[static 4 * SHAPE_MAX_RANK])
{
    if (proto->n_dim_level_types == 0 || proto->n_dim_level_types > SHAPE_MAX_RANK) {
        return NULL;
    }
    size_t size = 0;
    for (size_t i = 0; i < proto->n_dim_level_types; i++) {
        uint32_t type = (uint32_t)proto->dim_level_types[i];
        if (i > 0) {
            text[size++] = ',';
        }
        text[size++] = type < 4 ? "DCSH"[type] : '?';
        if (i < proto->n_dim_unique && !proto->dim_unique[i]) {
            text[size++] = '+';
        }
        if (i < proto->n_dim_ordered && !proto->dim_ordered[i]) {
            text[size++] = '~';
        }
    }
    text[size] = '\0';
    return text;
}

static bool is_type(int32_t number)
{
    return number >= 0 && number < TYPE_COUNT;
}

static const struct layout *read_layout(const Referee__LayoutProto *proto, int depth,
                                        struct error *err)
{
    if (proto->n_minor_to_major > SHAPE_MAX_RANK || proto->n_tiles > LAYOUT_MAX_TILES ||
        proto->n_split_configs > SHAPE_MAX_RANK) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "a layout has %zu dimensions, %zu tiles and %zu split configurations, of which "
                  "%d, %d and %d are supported",
                  proto->n_minor_to_major, proto->n_tiles, proto->n_split_configs, SHAPE_MAX_RANK,
                  LAYOUT_MAX_TILES, SHAPE_MAX_RANK);
        return NULL;
    }
    if (!is_type(proto->index_primitive_type) || !is_type(proto->pointer_primitive_type)) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "a layout has an index or pointer type that is none");
        return NULL;
    }
    struct tile tiles[LAYOUT_MAX_TILES];
    for (size_t i = 0; i < proto->n_tiles; i++) {
        tiles[i] = (struct tile){(int)proto->tiles[i]->n_dimensions, proto->tiles[i]->dimensions};
    }
    struct split_config splits[SHAPE_MAX_RANK];
    for (size_t i = 0; i < proto->n_split_configs; i++) {
        const Referee__SplitConfigProto *split = proto->split_configs[i];
        splits[i] = (struct split_config){split->dimension, (int)split->n_split_indices,
                                          split->split_indices};
    }
    char level_types[4 * SHAPE_MAX_RANK];
    int64_t alignment = proto->tail_padding_alignment_in_elements;
    struct layout layout = {
        .rank = (int)proto->n_minor_to_major,
        .minor_to_major = proto->minor_to_major,
        .tile_count = (int)proto->n_tiles,
        .tiles = tiles,
        .tail_padding_alignment = alignment != 0 ? alignment : 1,
        .index_type = (enum type)proto->index_primitive_type,
        .pointer_type = (enum type)proto->pointer_primitive_type,
        .element_bits = proto->element_size_in_bits,
        .memory_space = proto->memory_space,
        .split_count = (int)proto->n_split_configs,
        .splits = splits,
        .dynamic_metadata_bytes = proto->dynamic_shape_metadata_prefix_bytes,
        .dim_level_types = read_level_types(proto, level_types),
    };
    if (proto->physical_shape != NULL) {
        layout.physical_shape = read_nested(proto->physical_shape, depth + 1, err);
        if (layout.physical_shape == NULL) {
            return NULL;
        }
    }
    return layout_make(&layout);
}

static const struct shape *read_array(const Referee__ShapeProto *proto, int depth,
                                      struct error *err)
{
    size_t rank = proto->n_dimensions;
    if (rank > SHAPE_MAX_RANK) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a shape has %zu dimensions, more than %d", rank,
                  SHAPE_MAX_RANK);
        return NULL;
    }
    size_t marks = proto->n_is_dynamic_dimension;
    if (marks != 0 && marks != rank) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "a shape has %zu dimensions, but %zu marks of dynamic ones", rank, marks);
        return NULL;
    }
    bool dynamic[SHAPE_MAX_RANK];
    for (size_t i = 0; i < marks; i++) {
        dynamic[i] = proto->is_dynamic_dimension[i] != 0;
    }
    const struct layout *layout = NULL;
    if (proto->layout != NULL) {
        layout = read_layout(proto->layout, depth, err);
        if (layout == NULL) {
            return NULL;
        }
    }
    return shape_make((enum type)proto->element_type, (int)rank, proto->dimensions,
                      marks > 0 ? dynamic : NULL, layout);
}

static const struct shape *read_tuple(const Referee__ShapeProto *proto, int depth,
                                      struct error *err)
{
    size_t count = proto->n_tuple_shapes;
    const struct shape **elements = memory_alloc(count * sizeof *elements);
    for (size_t i = 0; i < count; i++) {
        elements[i] = read_nested(proto->tuple_shapes[i], depth + 1, err);
        if (elements[i] == NULL) {
            free(elements);
            return NULL;
        }
    }
    const struct shape *shape = NULL;
    if (proto->element_type == TYPE_TUPLE) {
        shape = shape_tuple((int)count, elements);
    } else if (count == 1 && shape_is_array(elements[0])) {
        shape = shape_buffer(elements[0]);
    } else {
        error_set(err, ERROR_INVALID_ARGUMENT, "a buffer shape is not of one array");
    }
    free(elements);
    return shape;
}

static const struct shape *read_nested(const Referee__ShapeProto *proto, int depth,
                                       struct error *err)
{
    if (depth > SHAPE_MAX_NESTING) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a shape is nested deeper than %d",
                  SHAPE_MAX_NESTING);
        return NULL;
    }
    if (!is_type(proto->element_type) || proto->element_type == TYPE_INVALID) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a shape has element type %d, which is none",
                  (int)proto->element_type);
        return NULL;
    }
    enum type type = (enum type)proto->element_type;
    if (type_is_array(type)) {
        return read_array(proto, depth, err);
    }
    if (proto->layout != NULL) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a shape of type %s has a layout", type_text(type));
        return NULL;
    }
    switch (type) {
    case TYPE_TOKEN:
        return shape_token();
    case TYPE_OPAQUE:
        return shape_opaque();
    default: /* TYPE_TUPLE, TYPE_BUFFER */
        return read_tuple(proto, depth, err);
    }
}

const struct shape *read_shape(const Referee__ShapeProto *proto, struct error *err)
{
    const struct shape *shape = read_nested(proto, 0, err);
    return shape != NULL && shape_check(shape, err) ? shape : NULL;
}
