/* Aliases of MLIR text: #name and !name. */
#include "hlo/mlir/text/reader_internal.h"

struct span reader_alias_name(struct reader *reader)
{
    reader_skip(reader);
    const char *begin = reader->at, *at = begin;
    if ((*at == '#' || *at == '!') && (reader_class_of(at[1]) & CLASS_LETTER)) {
        do {
            at++;
        } while (reader_class_of(*at) & CLASS_SUFFIX);
    }
    reader->at = at;
    return (struct span){begin, (size_t)(at - begin)};
}

bool reader_alias_definition(struct reader *reader)
{
    struct span name = reader_alias_name(reader);
    if (name.size < 2) {
        return reader_expected(reader, "the name of an alias");
    }
    if (memchr(name.data, '.', name.size) != NULL) {
        return reader_fail(reader, name.data, "names with a '.' are not for aliases");
    }
    if (map_get(&reader->aliases, name.data, name.size) != NULL) {
        return reader_fail(reader, name.data, "alias '%.*s' is defined twice",
                           name.size > 100 ? 100 : (int)name.size, name.data);
    }
    if (!reader_expect(reader, '=')) {
        return false;
    }
    if (name.data[0] == '#' && reader_peek_word(reader, "loc")) {
        return reader_location_alias(reader, name);
    }
    struct reader_alias *alias = arena_alloc(&reader->file->arena, sizeof *alias);
    int64_t nodes = reader->nodes;
    reader->deepest = reader->depth;
    if (!(name.data[0] == '#' ? reader_attr(reader, &alias->attr)
                              : reader_type(reader, &alias->type))) {
        return false;
    }
    alias->depth = reader->deepest - reader->depth;
    alias->nodes = reader->nodes - nodes;
    map_put(&reader->aliases, name.data, name.size, alias);
    return true;
}

const struct reader_alias *reader_alias(struct reader *reader, struct span name)
{
    const struct reader_alias *alias = map_get(&reader->aliases, name.data, name.size);
    if (alias == NULL) {
        reader_fail(reader, name.data, "alias '%.*s' is not defined",
                    name.size > 100 ? 100 : (int)name.size, name.data);
        return NULL;
    }
    int depth = reader->depth + alias->depth;
    reader->deepest = depth > reader->deepest ? depth : reader->deepest;
    reader->nodes += alias->nodes;
    if (depth > READER_MAX_DEPTH || reader->nodes > READER_MAX_NODES) {
        reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, name.data,
                         "aliases within aliases: nested too deep, or too much written out");
        return NULL;
    }
    return alias;
}
