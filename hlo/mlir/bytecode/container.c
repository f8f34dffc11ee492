/* The container: header, sections, and the tables of strings, dialects, ops, attributes, types,
 * properties and resources.
 * Source: mlir/docs/BytecodeFormat.md; mlir/include/mlir/Bytecode/Encoding.h (versions). */
#include <inttypes.h>
#include <string.h>

#include "hlo/mlir/bytecode/container.h"

enum { PADDING = 0xCB };

static const char *const section_names[SECTION_COUNT] = {
    [SECTION_STRINGS] = "strings",
    [SECTION_DIALECTS] = "dialects",
    [SECTION_ENTRIES] = "attributes and types",
    [SECTION_ENTRY_SIZES] = "sizes of attributes and types",
    [SECTION_IR] = "ops",
    [SECTION_RESOURCES] = "resources",
    [SECTION_RESOURCE_SIZES] = "sizes of resources",
    [SECTION_DIALECT_VERSION] = "version of a dialect",
    [SECTION_PROPERTIES] = "properties",
};

/* --- sections --- */

bool cursor_align(struct cursor *cursor, uint64_t alignment)
{
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return cursor_fail(cursor, "an alignment of %" PRIu64, alignment);
    }
    while (((size_t)(cursor->at - cursor->bytecode->data) & (alignment - 1)) != 0) {
        uint8_t byte = 0;
        if (!cursor_byte(cursor, &byte)) {
            return false;
        }
        if (byte != PADDING) {
            return cursor_fail(cursor, "0x%02x where padding belongs", byte);
        }
    }
    return true;
}

bool cursor_section(struct cursor *cursor, enum section *id, struct cursor *section)
{
    uint8_t byte = 0;
    uint64_t size, alignment;
    const uint8_t *data;
    if (!cursor_byte(cursor, &byte) || !cursor_varint(cursor, &size)) {
        return false;
    }
    if ((byte & 0x7f) >= SECTION_COUNT) {
        return cursor_fail(cursor, "section %d", byte & 0x7f);
    }
    if ((byte & 0x80) != 0 &&
        (!cursor_varint(cursor, &alignment) || !cursor_align(cursor, alignment))) {
        return false;
    }
    if (!cursor_bytes(cursor, size, &data)) {
        return false;
    }
    *id = (enum section)(byte & 0x7f);
    *section = (struct cursor){cursor->bytecode, data, data + size, NULL, 0};
    return true;
}

/* --- strings: a count, sizes from the last to the first, then all of them, each with a zero --- */

static bool read_strings(struct cursor *cursor)
{
    struct bytecode *bytecode = cursor->bytecode;
    int count;
    if (!cursor_count(cursor, 2, &count)) {
        return false;
    }
    bytecode->strings =
        arena_array(&bytecode->file->arena, (size_t)count, sizeof *bytecode->strings);
    const uint8_t *end = cursor->end;
    for (int i = count - 1; i >= 0; i--) {
        uint64_t size;
        if (!cursor_varint(cursor, &size)) {
            return false;
        }
        if (size == 0 || end < cursor->at || size > (size_t)(end - cursor->at) || end[-1] != 0) {
            return cursor_fail(cursor, "string %d does not fit, or does not end with a zero", i);
        }
        end -= size;
        bytecode->strings[i] = (struct bytecode_string){(const char *)end, size - 1};
    }
    if (end != cursor->at) {
        return cursor_fail(cursor, "%zu bytes that belong to no string",
                           (size_t)(end - cursor->at));
    }
    bytecode->string_count = (size_t)count;
    return true;
}

/* --- dialects and op names --- */

static bool read_version(struct cursor *cursor, struct bytecode_dialect *dialect)
{
    enum section id;
    struct cursor section;
    if (!cursor_section(cursor, &id, &section)) {
        return false;
    }
    if (id != SECTION_DIALECT_VERSION) {
        return cursor_fail(cursor, "a section \"%s\" where the version of a dialect belongs",
                           section_names[id]);
    }
    if (dialect->reader == NULL || !dialect->reader->is_versioned) {
        return true;
    }
    for (int i = 0; i < 3; i++) {
        uint64_t part;
        if (!cursor_varint(&section, &part)) {
            return false;
        }
        dialect->version[i] = part > INT32_MAX ? INT32_MAX : (int64_t)part;
    }
    dialect->has_version = true;
    return true;
}

static bool read_dialect(struct cursor *cursor, struct bytecode_dialect *dialect)
{
    struct bytecode *bytecode = cursor->bytecode;
    uint64_t index;
    bool has_version = false;
    if (!(bytecode->version >= VERSION_DIALECTS ? cursor_flagged(cursor, &index, &has_version)
                                                : cursor_varint(cursor, &index))) {
        return false;
    }
    if (index >= bytecode->string_count) {
        return cursor_fail(cursor, "string %" PRIu64 " of %zu", index, bytecode->string_count);
    }
    struct bytecode_string name = bytecode->strings[index];
    if (memchr(name.text, 0, name.size) != NULL) {
        return cursor_fail(cursor, "a dialect whose name has a zero byte in it");
    }
    dialect->name = mlir_intern(bytecode->file, name.text, name.size);
    dialect->reader = bytecode_dialect_reader(name.text, name.size);
    return !has_version || read_version(cursor, dialect);
}

static bool is_row_of(const struct op_properties *row, struct bytecode_string name)
{
    return strlen(row->name) == name.size && memcmp(row->name, name.text, name.size) == 0;
}

static void find_properties(const struct dialect_reader *reader, struct bytecode_string name,
                            struct bytecode_op_name *op)
{
    for (size_t i = 0; reader != NULL && i < reader->op_count; i++) {
        if (is_row_of(&reader->ops[i], name)) {
            op->properties = op->properties == NULL ? &reader->ops[i] : op->properties;
            op->layout_count++;
        }
    }
}

static bool read_op_name(struct cursor *cursor, const struct bytecode_dialect *dialect,
                         struct bytecode_op_name *op)
{
    struct bytecode *bytecode = cursor->bytecode;
    uint64_t index;
    if (!(bytecode->version >= VERSION_PROPERTIES
              ? cursor_flagged(cursor, &index, &op->is_registered)
              : cursor_varint(cursor, &index))) {
        return false;
    }
    if (index >= bytecode->string_count) {
        return cursor_fail(cursor, "string %" PRIu64 " of %zu", index, bytecode->string_count);
    }
    struct bytecode_string own = bytecode->strings[index];
    if (memchr(own.text, 0, own.size) != NULL) {
        return cursor_fail(cursor, "an op whose name has a zero byte in it");
    }
    /* Ops of unknown dialects may be named without a ".": the dialect is all of it. */
    const char *name = own.size == 0
                           ? dialect->name
                           : arena_printf(&bytecode->file->arena, "%s.%s", dialect->name, own.text);
    op->size = strlen(name);
    op->name = mlir_intern(bytecode->file, name, op->size);
    op->dialect = dialect;
    find_properties(dialect->reader, own, op);
    return true;
}

static bool read_dialect_index(struct cursor *cursor, const struct bytecode_dialect **dialect)
{
    struct bytecode *bytecode = cursor->bytecode;
    uint64_t index;
    if (!cursor_varint(cursor, &index)) {
        return false;
    }
    if (index >= bytecode->dialect_count) {
        return cursor_fail(cursor, "dialect %" PRIu64 " of %zu", index, bytecode->dialect_count);
    }
    *dialect = &bytecode->dialects[index];
    return true;
}

/* Groups: a dialect, a count, and as many elements of that dialect. */
static bool read_group(struct cursor *cursor, const struct bytecode_dialect **dialect, int *count)
{
    return read_dialect_index(cursor, dialect) && cursor_count(cursor, 1, count);
}

static bool read_dialects(struct cursor *cursor)
{
    struct bytecode *bytecode = cursor->bytecode;
    struct arena *arena = &bytecode->file->arena;
    int count;
    uint64_t unused;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    bytecode->dialects = arena_array(arena, (size_t)count, sizeof *bytecode->dialects);
    bytecode->dialect_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        if (!read_dialect(cursor, &bytecode->dialects[i])) {
            return false;
        }
    }
    if (bytecode->version >= VERSION_BLOCK_LOCATIONS && !cursor_varint(cursor, &unused)) {
        return false; /* the number of op names, a hint */
    }
    /* Each name takes a byte at least. */
    bytecode->op_names = arena_array(arena, cursor_left(cursor), sizeof *bytecode->op_names);
    while (cursor->at < cursor->end) {
        const struct bytecode_dialect *dialect;
        if (!read_group(cursor, &dialect, &count)) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            if (!read_op_name(cursor, dialect, &bytecode->op_names[bytecode->op_name_count++])) {
                return false;
            }
        }
    }
    return true;
}

/* --- attributes and types: their sizes are in one section, they themselves in another --- */

static bool read_entry_sizes(struct cursor *cursor, struct cursor *content, size_t count,
                             struct bytecode_entry *entries)
{
    for (size_t done = 0; done < count;) {
        const struct bytecode_dialect *dialect;
        int group;
        if (!read_group(cursor, &dialect, &group)) {
            return false;
        }
        if ((size_t)group > count - done) {
            return cursor_fail(cursor, "more attributes or types than were announced");
        }
        for (int i = 0; i < group; i++) {
            struct bytecode_entry *entry = &entries[done++];
            uint64_t size;
            if (!cursor_flagged(cursor, &size, &entry->is_custom) ||
                !cursor_bytes(content, size, &entry->data)) {
                return false;
            }
            entry->size = size;
            entry->dialect = dialect;
        }
    }
    return true;
}

static bool read_entries(struct cursor *cursor, struct cursor *content)
{
    struct bytecode *bytecode = cursor->bytecode;
    struct arena *arena = &bytecode->file->arena;
    int attr_count, type_count;
    if (!cursor_count(cursor, 1, &attr_count) || !cursor_count(cursor, 1, &type_count)) {
        return false;
    }
    bytecode->attr_count = (size_t)attr_count;
    bytecode->type_count = (size_t)type_count;
    bytecode->attrs = arena_array(arena, bytecode->attr_count, sizeof *bytecode->attrs);
    bytecode->types = arena_array(arena, bytecode->type_count, sizeof *bytecode->types);
    if (!read_entry_sizes(cursor, content, bytecode->attr_count, bytecode->attrs) ||
        !read_entry_sizes(cursor, content, bytecode->type_count, bytecode->types)) {
        return false;
    }
    if (cursor->at != cursor->end) {
        return cursor_fail(cursor, "%zu bytes behind the sizes of attributes and types",
                           cursor_left(cursor));
    }
    return true;
}

/* --- properties: blobs --- */

static bool read_properties(struct cursor *cursor)
{
    struct bytecode *bytecode = cursor->bytecode;
    int count;
    if (cursor->at == cursor->end) {
        return true;
    }
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    bytecode->properties =
        arena_array(&bytecode->file->arena, (size_t)count, sizeof *bytecode->properties);
    for (int i = 0; i < count; i++) {
        const uint8_t *data;
        size_t size;
        if (!cursor_blob(cursor, &data, &size)) {
            return false;
        }
        bytecode->properties[i] = (struct bytecode_string){(const char *)data, size};
    }
    if (cursor->at != cursor->end) {
        return cursor_fail(cursor, "%zu bytes behind the properties", cursor_left(cursor));
    }
    bytecode->property_count = (size_t)count;
    return true;
}

/* --- resources: groups of them, first those of tools, which are passed over --- */

enum { RESOURCE_BLOB, RESOURCE_BOOL, RESOURCE_STRING };

/* A blob without bytes at all is only declared. */
static bool read_resource(struct cursor *cursor, struct bytecode_string key, uint8_t kind)
{
    struct mlir_file *file = cursor->bytecode->file;
    uint64_t alignment, size;
    const uint8_t *data;
    if (cursor->at == cursor->end || kind != RESOURCE_BLOB) {
        return true;
    }
    if (!cursor_varint(cursor, &alignment) || !cursor_varint(cursor, &size) ||
        !cursor_align(cursor, alignment) || !cursor_bytes(cursor, size, &data)) {
        return false;
    }
    if (cursor->at != cursor->end) {
        return cursor_fail(cursor, "%zu bytes behind a resource", cursor_left(cursor));
    }
    struct mlir_attr *blob = mlir_attr_string(file, (const char *)data, size);
    map_put(&file->resources, mlir_intern(file, key.text, key.size), key.size, blob);
    return true;
}

static bool read_resource_group(struct cursor *cursor, struct cursor *content, bool is_dialect)
{
    struct bytecode *bytecode = cursor->bytecode;
    int count;
    if (!cursor_count(cursor, 3, &count)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        struct bytecode_string key;
        uint64_t size;
        uint8_t kind;
        const uint8_t *data;
        if (!cursor_string(cursor, &key) || !cursor_varint(cursor, &size) ||
            !cursor_byte(cursor, &kind) || !cursor_bytes(content, size, &data)) {
            return false;
        }
        if (kind > RESOURCE_STRING) {
            return cursor_fail(cursor, "a resource of kind %d", kind);
        }
        struct cursor resource = {bytecode, data, data + size, NULL, 0};
        if (!is_dialect) {
            continue;
        }
        bytecode->resources[bytecode->resource_count++] = key;
        if (!read_resource(&resource, key, kind)) {
            return false;
        }
    }
    return true;
}

static bool read_resources(struct cursor *cursor, struct cursor *content)
{
    struct bytecode *bytecode = cursor->bytecode;
    int group_count;
    struct bytecode_string key;
    const struct bytecode_dialect *dialect;
    /* Each resource takes three bytes at least. */
    bytecode->resources =
        arena_array(&bytecode->file->arena, cursor_left(cursor) / 3, sizeof *bytecode->resources);
    if (!cursor_count(cursor, 2, &group_count)) {
        return false;
    }
    for (int i = 0; i < group_count; i++) {
        if (!cursor_string(cursor, &key) || !read_resource_group(cursor, content, false)) {
            return false;
        }
    }
    while (cursor->at < cursor->end) {
        if (!read_dialect_index(cursor, &dialect) || !read_resource_group(cursor, content, true)) {
            return false;
        }
    }
    return true;
}

/* --- the whole --- */

static bool read_header(struct cursor *cursor)
{
    struct bytecode *bytecode = cursor->bytecode;
    uint64_t version;
    cursor->at += MAGIC_SIZE;
    if (!cursor_varint(cursor, &version)) {
        return false;
    }
    if (version > VERSION_NEWEST) {
        return cursor_refuse(cursor, "version %" PRIu64 " of the format; known are 0 to %d",
                             version, VERSION_NEWEST);
    }
    bytecode->version = version;
    const char *producer = (const char *)cursor->at;
    const char *end = memchr(producer, 0, cursor_left(cursor));
    if (end == NULL) {
        return cursor_fail(cursor, "a producer without an end");
    }
    cursor->at = (const uint8_t *)end + 1;
    bytecode->file->producer = mlir_intern(bytecode->file, producer, (size_t)(end - producer));
    return true;
}

bool bytecode_read_tables(struct bytecode *bytecode, struct cursor *ir)
{
    struct cursor cursor = {bytecode, bytecode->data, bytecode->data + bytecode->size, NULL, 0};
    struct cursor sections[SECTION_COUNT];
    bool is_there[SECTION_COUNT] = {false};
    if (!read_header(&cursor)) {
        return false;
    }
    while (cursor.at < cursor.end) {
        enum section id;
        struct cursor section;
        if (!cursor_section(&cursor, &id, &section)) {
            return false;
        }
        if (is_there[id]) {
            return cursor_fail(&cursor, "a second section \"%s\"", section_names[id]);
        }
        is_there[id] = true;
        sections[id] = section;
    }
    for (int i = 0; i < SECTION_COUNT; i++) {
        bool is_needed =
            i <= SECTION_IR || (i == SECTION_PROPERTIES && bytecode->version >= VERSION_PROPERTIES);
        if (is_needed && !is_there[i]) {
            return cursor_fail(&cursor, "the section \"%s\" is missing", section_names[i]);
        }
    }
    if (is_there[SECTION_RESOURCES] != is_there[SECTION_RESOURCE_SIZES]) {
        return cursor_fail(&cursor, "one section of resources without the other");
    }
    *ir = sections[SECTION_IR];
    return read_strings(&sections[SECTION_STRINGS]) &&
           (!is_there[SECTION_PROPERTIES] || read_properties(&sections[SECTION_PROPERTIES])) &&
           read_dialects(&sections[SECTION_DIALECTS]) &&
           (!is_there[SECTION_RESOURCES] ||
            read_resources(&sections[SECTION_RESOURCE_SIZES], &sections[SECTION_RESOURCES])) &&
           read_entries(&sections[SECTION_ENTRY_SIZES], &sections[SECTION_ENTRIES]);
}
