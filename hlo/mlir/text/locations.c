/* Locations of MLIR text: loc(…) behind ops and arguments, and #loc aliases, which may be defined
 * behind their uses. Source: mlir/lib/AsmParser/LocationParser.cpp. */
#include "hlo/mlir/text/reader_internal.h"

struct reader_location_alias {
    struct mlir_location location; /* UNKNOWN until it is defined; what uses it points here */
    const char *at;                /* the first use, or the definition */
    bool defined;
    int depth;
};

static bool read_location(struct reader *reader, struct mlir_location **location);

static struct mlir_location *location_new(struct reader *reader, enum mlir_location_kind kind,
                                          int count)
{
    struct arena *arena = &reader->file->arena;
    struct mlir_location *location = arena_alloc(arena, sizeof *location);
    location->kind = kind;
    location->count = count;
    location->children = arena_array(arena, (size_t)count, sizeof(struct mlir_location *));
    return location;
}

/* --- aliases --- */

static struct reader_location_alias *alias_of(struct reader *reader, struct span name)
{
    struct reader_location_alias *alias = map_get(&reader->locations, name.data, name.size);
    if (alias == NULL) {
        alias = arena_alloc(&reader->file->arena, sizeof *alias);
        alias->at = name.data;
        map_put(&reader->locations, name.data, name.size, alias);
    }
    return alias;
}

bool reader_location_alias(struct reader *reader, struct span name)
{
    struct reader_location_alias *alias = alias_of(reader, name);
    struct mlir_location *location;
    if (alias->defined) {
        return reader_fail(reader, name.data, "alias '%.*s' is defined twice",
                           name.size > 100 ? 100 : (int)name.size, name.data);
    }
    int64_t nodes = reader->nodes;
    reader->deepest = reader->depth;
    reader->in_location_alias = true;
    if (!reader_expect_word(reader, "loc") || !reader_location_body(reader, &location)) {
        return false;
    }
    reader->in_location_alias = false;
    reader->nodes = nodes; /* they are never written out */
    alias->depth = reader->deepest - reader->depth;
    alias->defined = true;
    alias->location = *location;
    return true;
}

/* #name, or an attribute of a dialect, which is kept as metadata of an unknown location. */
static bool read_alias_or_attr(struct reader *reader, struct mlir_location **location)
{
    const char *begin = reader->at;
    struct span name = reader_alias_name(reader);
    if (name.size < 2) {
        return reader_expected(reader, "a location");
    }
    if (memchr(name.data, '.', name.size) != NULL || *reader->at == '<') {
        reader->at = begin;
        *location = location_new(reader, MLIR_LOC_UNKNOWN, 0);
        return reader_attr(reader, &(*location)->metadata);
    }
    struct reader_location_alias *alias = alias_of(reader, name);
    /* What aliases say refers to earlier ones only, so there are no circles. */
    if (reader->in_location_alias && !alias->defined) {
        return reader_fail(reader, name.data, "alias '%.*s' is not defined before this one",
                           name.size > 100 ? 100 : (int)name.size, name.data);
    }
    int depth = reader->depth + alias->depth;
    reader->deepest = depth > reader->deepest ? depth : reader->deepest;
    if (depth > READER_MAX_LOCATION_DEPTH) {
        return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, name.data,
                                "locations nested more than %d deep", READER_MAX_LOCATION_DEPTH);
    }
    *location = &alias->location;
    return true;
}

bool reader_location_attr_alias(struct reader *reader, struct span name,
                                struct mlir_location **location)
{
    if (map_get(&reader->locations, name.data, name.size) == NULL) {
        return false;
    }
    *location = &alias_of(reader, name)->location;
    return true;
}

bool reader_locations_finish(struct reader *reader)
{
    const struct reader_location_alias *first = NULL; /* in the text */
    for (size_t i = 0; i < reader->locations.capacity; i++) {
        const struct reader_location_alias *alias = reader->locations.entries[i].value;
        if (alias != NULL && !alias->defined && (first == NULL || alias->at < first->at)) {
            first = alias;
        }
    }
    return first == NULL ||
           reader_fail(reader, first->at, "this alias of a location is not defined");
}

/* --- kinds of locations --- */

/* The string as a C string; bytes behind a zero are dropped. */
static bool read_text(struct reader *reader, const char **text)
{
    struct bytes string;
    if (!reader_string(reader, &string)) {
        return false;
    }
    *text = string.data;
    return true;
}

/* Behind "file":  :line:column to line:column */
static bool read_file_place(struct reader *reader, struct mlir_location *location)
{
    if (!reader_int(reader, &location->line)) {
        return false;
    }
    if (!reader_accept(reader, ':')) {
        return true;
    }
    if (!reader_int(reader, &location->column)) {
        return false;
    }
    if (!reader_accept_word(reader, "to")) {
        return true;
    }
    location->end_line = location->line;
    return (reader_peek(reader) == ':' || reader_int(reader, &location->end_line)) &&
           reader_expect(reader, ':') && reader_int(reader, &location->end_column);
}

static bool read_file_or_name(struct reader *reader, struct mlir_location **location)
{
    const char *text;
    if (!read_text(reader, &text)) {
        return false;
    }
    if (reader_accept(reader, ':')) {
        *location = location_new(reader, MLIR_LOC_FILE, 0);
        (*location)->text = text;
        return read_file_place(reader, *location);
    }
    bool has_child = reader_accept(reader, '(');
    *location = location_new(reader, MLIR_LOC_NAME, has_child ? 1 : 0);
    (*location)->text = text;
    return !has_child ||
           (read_location(reader, &(*location)->children[0]) && reader_expect(reader, ')'));
}

static bool read_call(struct reader *reader, struct mlir_location **location)
{
    *location = location_new(reader, MLIR_LOC_CALL, 2);
    return reader_expect(reader, '(') && read_location(reader, &(*location)->children[0]) &&
           reader_expect_word(reader, "at") && read_location(reader, &(*location)->children[1]) &&
           reader_expect(reader, ')');
}

static bool read_fused(struct reader *reader, struct mlir_location **location)
{
    struct mlir_attr *metadata = NULL;
    if (reader_accept(reader, '<') &&
        (!reader_attr(reader, &metadata) || !reader_expect(reader, '>'))) {
        return false;
    }
    if (!reader_expect(reader, '[')) {
        return false;
    }
    struct mlir_location *few[8], **children = few;
    int count = 0, capacity = (int)(sizeof few / sizeof *few);
    bool more_follow = reader_peek(reader) != ']';
    while (more_follow) {
        if (count == capacity) {
            struct mlir_location **more =
                arena_array(&reader->file->arena, 2 * (size_t)capacity, sizeof(*more));
            memcpy(more, children, (size_t)count * sizeof(*more));
            children = more;
            capacity *= 2;
        }
        if (!read_location(reader, &children[count++])) {
            return false;
        }
        more_follow = reader_accept(reader, ',');
    }
    *location = location_new(reader, MLIR_LOC_FUSED, count);
    memcpy((*location)->children, children, (size_t)count * sizeof(*children));
    (*location)->metadata = metadata;
    return reader_expect(reader, ']');
}

static bool read_kind(struct reader *reader, struct mlir_location **location)
{
    switch (reader_peek(reader)) {
    case '#':
        return read_alias_or_attr(reader, location);
    case '"':
        return read_file_or_name(reader, location);
    default:
        break;
    }
    if (reader_accept_word(reader, "callsite")) {
        return read_call(reader, location);
    }
    if (reader_accept_word(reader, "fused")) {
        return read_fused(reader, location);
    }
    *location = location_new(reader, MLIR_LOC_UNKNOWN, 0);
    return reader_accept_word(reader, "unknown") || reader_accept(reader, '?') ||
           reader_expected(reader, "a location");
}

static bool read_location(struct reader *reader, struct mlir_location **location)
{
    if (!reader_enter(reader)) {
        return false;
    }
    bool read = read_kind(reader, location);
    reader_leave(reader);
    return read;
}

bool reader_location_body(struct reader *reader, struct mlir_location **location)
{
    return reader_expect(reader, '(') && read_location(reader, location) &&
           reader_expect(reader, ')');
}

bool reader_location(struct reader *reader, struct mlir_location **location)
{
    if (reader_peek(reader) != 'l' || !reader_accept_word(reader, "loc")) {
        return true;
    }
    return reader_location_body(reader, location);
}
