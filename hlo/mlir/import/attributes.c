/* Attributes: those of MLIR's ops read, those of HLO's instructions set. */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/proto/read.h"
#include "hlo/sharding.h"

/* --- reading --- */

static bool wrong_kind(struct scope *scope, const struct mlir_op *op, const char *key,
                       const char *wanted)
{
    return import_fail(scope, op, "%s must be %s", key, wanted);
}

bool import_int_attr(struct scope *scope, const struct mlir_op *op, const char *key, int64_t *value)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    if (attr == NULL) {
        return true;
    }
    if (attr->kind != MLIR_ATTR_INT) {
        return wrong_kind(scope, op, key, "an integer");
    }
    *value = attr->integer;
    return true;
}

bool import_bool_attr(struct scope *scope, const struct mlir_op *op, const char *key, bool *value)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    if (attr == NULL) {
        return true;
    }
    if (attr->kind == MLIR_ATTR_UNIT) {
        *value = true;
        return true;
    }
    if (attr->kind != MLIR_ATTR_BOOL) {
        return wrong_kind(scope, op, key, "true or false");
    }
    *value = attr->integer != 0;
    return true;
}

bool import_ints_attr(struct scope *scope, const struct mlir_op *op, const char *key,
                      struct ints *values)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    if (attr == NULL) {
        return true;
    }
    struct ints found;
    if (!mlir_attr_as_ints(scope->importer->file, attr, &found)) {
        return wrong_kind(scope, op, key, "a list of integers");
    }
    values->count = found.count;
    values->values = arena_copy(&scope->importer->module->arena, found.values,
                                (size_t)found.count * sizeof *found.values);
    return true;
}

bool import_word_attr(struct scope *scope, const struct mlir_op *op, const char *key,
                      const char **word)
{
    const struct mlir_attr *attr = mlir_op_attr(op, key);
    if (attr == NULL) {
        return true;
    }
    if (attr->kind == MLIR_ATTR_STRING) {
        *word = attr->string.data;
        return true;
    }
    if (attr->kind != MLIR_ATTR_DIALECT || attr->dialect.word == NULL) {
        return wrong_kind(scope, op, key, "a word");
    }
    *word = attr->dialect.word;
    return true;
}

/* The literal of all elements, or of the one that a splat repeats. */
static struct literal *dense_literal(struct scope *scope, const struct shape *shape,
                                     const struct mlir_attr *attr)
{
    struct literal *literal = literal_create(shape, scope->importer->err);
    if (literal == NULL) {
        return NULL;
    }
    size_t size = (size_t)type_bytes(shape->type);
    size_t count = (size_t)shape_elements(shape);
    char *data = literal_data(literal);
    if (!attr->dense.splat) {
        memcpy(data, attr->dense.data, count * size);
        return literal;
    }
    for (size_t done = 0; done < count;) {
        /* The part that is there is copied behind itself. */
        size_t more = done == 0 ? 1 : done < count - done ? done : count - done;
        memcpy(data + done * size, done == 0 ? attr->dense.data : data, more * size);
        done += more;
    }
    return literal;
}

struct literal *import_dense(struct scope *scope, const struct mlir_op *op,
                             const struct mlir_attr *attr)
{
    if (attr->kind == MLIR_ATTR_RESOURCE) {
        import_refuse(scope, op, "the elements of %s are not in the file", attr->string.data);
        return NULL;
    }
    if (attr->kind != MLIR_ATTR_DENSE) {
        import_fail(scope, op, "elements (dense<…>) are wanted here");
        return NULL;
    }
    const struct shape *shape = import_shape(scope, op, attr->type);
    if (shape == NULL) {
        return NULL;
    }
    if (shape_elements(shape) != attr->dense.count) {
        import_fail(scope, op, "%s has %lld elements", shape_text(shape),
                    (long long)attr->dense.count);
        return NULL;
    }
    return dense_literal(scope, shape, attr);
}

/* --- setting --- */

void import_set_int(struct instruction *instruction, enum attr_key key, int64_t value)
{
    instruction_set_attr(instruction, (struct attr){.key = key, .integer = value});
}

void import_set_ints(struct instruction *instruction, enum attr_key key, int count,
                     const int64_t *values)
{
    struct ints ints = {count, NULL};
    ints.values =
        arena_copy(&instruction->parent->module->arena, values, (size_t)count * sizeof *values);
    instruction_set_attr(instruction, (struct attr){.key = key, .ints = ints});
}

void import_set_string(struct instruction *instruction, enum attr_key key, const char *text,
                       size_t size)
{
    struct bytes bytes = {arena_string(&instruction->parent->module->arena, text, size), size};
    instruction_set_attr(instruction, (struct attr){.key = key, .bytes = bytes});
}

static struct bytes copy_bytes(struct arena *arena, const char *text, size_t size)
{
    return (struct bytes){arena_string(arena, text, size), size};
}

void import_add_frontend_attribute(struct instruction *instruction, const char *key,
                                   const char *value, size_t size)
{
    struct arena *arena = &instruction->parent->module->arena;
    const struct attr *old = attr_get(instruction, ATTR_FRONTEND_ATTRIBUTES);
    int count = old != NULL ? old->string_map.count : 0;
    struct string_entry *entries = arena_array(arena, (size_t)count + 1, sizeof *entries);
    /* Sorted, as XLA prints them. */
    int at = 0;
    while (at < count && strcmp(old->string_map.entries[at].key.data, key) < 0) {
        entries[at] = old->string_map.entries[at];
        at++;
    }
    bool replaces = at < count && strcmp(old->string_map.entries[at].key.data, key) == 0;
    entries[at] = (struct string_entry){.key = copy_bytes(arena, key, strlen(key)),
                                        .value = copy_bytes(arena, value, size)};
    for (int i = at + replaces; i < count; i++) {
        entries[i + 1 - replaces] = old->string_map.entries[i];
    }
    struct attr attr = {.key = ATTR_FRONTEND_ATTRIBUTES};
    attr.string_map = (struct string_map){count + 1 - replaces, entries};
    instruction_set_attr(instruction, attr);
}

/* The text of a frontend attribute; false for what XLA drops. */
static bool frontend_value(const struct mlir_attr *attr, struct bytes *value)
{
    if (attr->kind == MLIR_ATTR_STRING) {
        *value = attr->string;
        return true;
    }
    if (attr->kind == MLIR_ATTR_BOOL) {
        const char *word = attr->integer != 0 ? "true" : "false";
        *value = (struct bytes){word, strlen(word)};
        return true;
    }
    return false;
}

void import_frontend_dictionary(struct instruction *instruction,
                                const struct mlir_dictionary *dictionary)
{
    for (int i = 0; i < dictionary->count; i++) {
        struct bytes value;
        if (frontend_value(dictionary->entries[i].value, &value)) {
            import_add_frontend_attribute(instruction, dictionary->entries[i].key, value.data,
                                          value.size);
        }
    }
}

struct string_map import_string_map(struct importer *importer,
                                    const struct mlir_dictionary *dictionary)
{
    struct arena *arena = &importer->module->arena;
    struct string_entry *entries = arena_array(arena, (size_t)dictionary->count, sizeof *entries);
    int count = 0;
    for (int i = 0; i < dictionary->count; i++) {
        struct bytes value;
        const char *key = dictionary->entries[i].key;
        if (frontend_value(dictionary->entries[i].value, &value)) {
            entries[count].key = copy_bytes(arena, key, strlen(key));
            entries[count++].value = copy_bytes(arena, value.data, value.size);
        }
    }
    return (struct string_map){count, entries};
}

/* A sharding as a proto's bytes: JAX writes large ones so. */
static const struct sharding *binary_sharding(struct importer *importer, struct bytes bytes,
                                              struct error *err)
{
    Referee__OpSharding *proto =
        referee__op_sharding__unpack(NULL, bytes.size, (const uint8_t *)bytes.data);
    if (proto == NULL) {
        error_set(err, ERROR_INVALID_ARGUMENT, "a sharding is neither text nor a proto");
        return NULL;
    }
    const struct sharding *sharding = read_sharding(&importer->module->arena, proto, err);
    referee__op_sharding__free_unpacked(proto, NULL);
    return sharding;
}

static const struct sharding *text_sharding(struct importer *importer, struct bytes text,
                                            struct error *err)
{
    const struct sharding *sharding = NULL;
    struct module *holder = sharding_read(text.data, &sharding, err);
    if (holder != NULL) {
        arena_absorb(&importer->module->arena, &holder->arena);
    }
    module_destroy(holder);
    return sharding;
}

const struct sharding *import_sharding(struct importer *importer, const struct mlir_op *op,
                                       struct bytes text)
{
    const struct sharding *known = map_get(&importer->shardings, text.data, text.size);
    if (known != NULL || text.size == 0) {
        return known;
    }
    struct error err = {0};
    const struct sharding *sharding = text.data[0] == '{' ? text_sharding(importer, text, &err)
                                                          : binary_sharding(importer, text, &err);
    if (sharding == NULL) {
        error_at(importer->err, mlir_where(importer->file, op), "%s: %s", op->name, err.message);
        return NULL;
    }
    map_put(&importer->shardings, text.data, text.size, (void *)(uintptr_t)sharding);
    return sharding;
}

const struct sharding *import_tuple_sharding(struct importer *importer, int count,
                                             const struct sharding *const *elements)
{
    struct arena *arena = &importer->module->arena;
    struct sharding *replicated = arena_alloc(arena, sizeof *replicated);
    replicated->form = SHARDING_REPLICATED;
    replicated->mesh.maximal_device = -1;
    const struct sharding **list = arena_array(arena, (size_t)count, sizeof *list);
    for (int i = 0; i < count; i++) {
        list[i] = elements[i] != NULL ? elements[i] : replicated;
    }
    struct sharding *tuple = arena_alloc(arena, sizeof *tuple);
    tuple->form = SHARDING_TUPLE;
    tuple->mesh.maximal_device = -1;
    tuple->count = count;
    tuple->elements = list;
    return tuple;
}
