/* Resources of MLIR text: {-# dialect_resources: { builtin: { key: "0x…" } } #-} at the end of a
 * file, and the dense_resource<key> attributes that get their elements from there.
 * Source: mlir/lib/AsmParser/Parser.cpp (parseFileMetadataDictionary). */
#include <stdlib.h>

#include "hlo/mlir/text/reader_internal.h"

struct reader_resources {
    struct {
        struct mlir_attr *attr;
        const char *at;
    } * uses;
    size_t count, capacity;
    struct map made; /* a blob's STRING → the last attribute that got its elements */
    size_t copied;   /* bytes */
};

struct reader_resources *reader_resources_create(void)
{
    return memory_zalloc(sizeof(struct reader_resources));
}

void reader_resources_destroy(struct reader_resources *resources)
{
    map_finish(&resources->made);
    free(resources->uses);
    free(resources);
}

void reader_resource_use(struct reader *reader, const char *at, struct mlir_attr *attr)
{
    struct reader_resources *resources = reader->resources;
    resources->uses =
        grow(resources->uses, resources->count, &resources->capacity, sizeof *resources->uses);
    resources->uses[resources->count].attr = attr;
    resources->uses[resources->count++].at = at;
}

/* A key: a word or a string. */
static bool read_key(struct reader *reader, struct bytes *key)
{
    if (reader_peek(reader) == '"') {
        return reader_string(reader, key);
    }
    struct span word = reader_word(reader);
    *key = (struct bytes){mlir_intern(reader->file, word.data, word.size), word.size};
    return word.size > 0 || reader_expected(reader, "a key");
}

typedef bool entry_function(struct reader *reader, struct bytes key);

/* {key: …, …}; `entry` reads what is behind the ":". */
static bool read_entries(struct reader *reader, entry_function *entry)
{
    if (!reader_expect(reader, '{')) {
        return false;
    }
    if (reader_accept(reader, '}')) {
        return true;
    }
    do {
        struct bytes key;
        if (!read_key(reader, &key) || !reader_expect(reader, ':') || !entry(reader, key)) {
            return false;
        }
    } while (reader_accept(reader, ','));
    return reader_expect(reader, '}');
}

/* key: "0x<alignment, four bytes><data>" */
static bool read_blob(struct reader *reader, struct bytes key)
{
    enum { ALIGNMENT_DIGITS = 8 };
    reader_skip(reader);
    const char *at = reader->at;
    struct span string;
    bool escaped;
    if (!reader_string_span(reader, &string, &escaped)) {
        return false;
    }
    size_t digits = string.size;
    if (digits < 2 + ALIGNMENT_DIGITS || memcmp(string.data, "0x", 2) != 0) {
        return reader_fail(reader, at, "expected 0x, four bytes of alignment, and data");
    }
    digits -= 2;
    unsigned char *bytes = arena_alloc(&reader->file->arena, digits / 2 + 1);
    if (!reader_hex(string.data + 2, digits, bytes)) {
        return reader_fail(reader, at, "not pairs of hex digits");
    }
    struct mlir_attr *blob = mlir_attr_new(reader->file, MLIR_ATTR_STRING);
    size_t header = ALIGNMENT_DIGITS / 2, size = digits / 2 - header;
    /* Moved to the front, which is aligned. */
    memmove(bytes, bytes + header, size);
    bytes[size] = '\0';
    blob->string = (struct bytes){(const char *)bytes, size};
    if (map_put(&reader->file->resources, key.data, key.size, blob) != NULL) {
        return reader_fail(reader, at, "resource '%s' is given twice", key.data);
    }
    return true;
}

/* What nobody here has a use for: a string, a word, a number or a dictionary of them. */
static bool skip_value(struct reader *reader, struct bytes key)
{
    (void)key;
    switch (reader_peek(reader)) {
    case '{': {
        struct span ignored;
        return reader_balanced(reader, &ignored);
    }
    case '"': {
        struct span ignored;
        bool escaped;
        return reader_string_span(reader, &ignored, &escaped);
    }
    default: {
        struct reader_number number;
        return reader_word(reader).size > 0 || reader_number(reader, &number);
    }
    }
}

static bool read_dialect(struct reader *reader, struct bytes dialect)
{
    return strcmp(dialect.data, "builtin") == 0 ? read_entries(reader, read_blob)
                                                : skip_value(reader, dialect);
}

static bool read_section(struct reader *reader, struct bytes name)
{
    return strcmp(name.data, "dialect_resources") == 0 ? read_entries(reader, read_dialect)
                                                       : skip_value(reader, name);
}

bool reader_resource_section(struct reader *reader)
{
    if (!reader_expect_text(reader, "{-#")) {
        return false;
    }
    while (!reader_accept_text(reader, "#-}")) {
        struct bytes name;
        if (!read_key(reader, &name) || !reader_expect(reader, ':') ||
            !read_section(reader, name)) {
            return false;
        }
        if (!reader_accept(reader, ',') && !reader_accept_text(reader, "#-}")) {
            return reader_expected(reader, "',' or '#-}'");
        }
        if (reader->at[-1] == '}') {
            return true;
        }
    }
    return true;
}

/* The blob as the elements of one attribute. Attributes of one type share them; others get copies,
 * but a short text may not make many of a long blob. */
static bool use_blob(struct reader *reader, const char *at, const struct mlir_attr *blob,
                     struct mlir_attr *attr)
{
    enum { MAX_COPIES = 4 };
    struct reader_resources *resources = reader->resources;
    uint64_t key = (uint64_t)(uintptr_t)blob;
    const struct mlir_attr *first = map_get_int(&resources->made, key);
    if (first != NULL && first->type == attr->type) {
        *attr = *first;
        return true;
    }
    size_t size = blob->string.size;
    resources->copied += size;
    if (resources->copied / MAX_COPIES > (size_t)(reader->end - reader->text)) {
        return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, at,
                                "resources of several types, which together are too large");
    }
    attr->kind = MLIR_ATTR_DENSE;
    unsigned char *data = arena_copy(&reader->file->arena, blob->string.data, size);
    if (!reader_raw_elements(reader, at, data, size, attr)) {
        return false;
    }
    map_put_int(&resources->made, key, attr);
    return true;
}

bool reader_resources_finish(struct reader *reader)
{
    struct reader_resources *resources = reader->resources;
    for (size_t i = 0; i < resources->count; i++) {
        struct mlir_attr *attr = resources->uses[i].attr;
        const char *at = resources->uses[i].at;
        const struct mlir_attr *blob =
            map_get(&reader->file->resources, attr->string.data, attr->string.size);
        if (blob == NULL) {
            continue;
        }
        if (attr->type->element->element_type == TYPE_INVALID) {
            return reader_fail_code(reader, ERROR_UNIMPLEMENTED, at,
                                    "elements of this type are not supported");
        }
        if (!use_blob(reader, at, blob, attr)) {
            return false;
        }
    }
    return true;
}
