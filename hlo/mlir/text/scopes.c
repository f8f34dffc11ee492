/* Names of values and blocks: what is visible where, and uses that come before definitions.
 *
 * One table holds the names of the whole file. What a name means now is in its entry; entering a
 * region notes how long the list of changes is, and leaving it undoes the changes since. So
 * looking up and defining cost the same at any depth.
 *
 * A use before the definition gets a placeholder. Its uses are noted when their op is made, and
 * get the value when that is defined: in the same region, or in one around it. */
#include <stdlib.h>

#include "hlo/mlir/text/reader_internal.h"

/* A value that is used and not defined yet. */
struct forward {
    struct forward *next;       /* of the same name */
    struct forward *frame_next; /* of the same region */
    struct mlir_value placeholder;
    int number; /* of "#number" */
    int entry;
    const char *at; /* its first use */
    int isolation;  /* the scope that it is looked for in */
    int depth;      /* the region that it is used in; grows outwards as regions end */
    const struct mlir_block *block;
    bool resolved;
    struct use *uses;
};
struct use {
    struct use *next;
    struct mlir_op *op;
    int operand;
};

struct entry {
    const char *name; /* in the arena of the file */
    size_t size;
    uint64_t hash;
    struct mlir_value *values; /* NULL: not defined */
    int count, isolation;
    struct forward *forwards;
};

struct change {
    int entry;
    struct mlir_value *values;
    int count, isolation;
};

struct frame {
    size_t changes, ops, blocks; /* where its parts of the lists begin */
    int isolation;
    bool graph;
    const char *dialect;
    struct mlir_block *block; /* the current one */
    struct forward *forwards;
    struct map labels; /* name → struct label */
    struct label *undefined;
};
struct label {
    struct label *next; /* used and not defined */
    struct mlir_block *block;
    const char *at;
    bool defined;
};

struct reader_scopes {
    struct entry *entries;
    size_t count, capacity;
    int *slots; /* index of an entry + 1; 0: free */
    size_t slot_count;
    struct change *changes;
    size_t change_count, change_capacity;
    struct mlir_op **ops;
    size_t op_count, op_capacity;
    struct mlir_block **blocks;
    size_t block_count, block_capacity;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    int isolations; /* so many there have been */
    int unresolved; /* placeholders that are operands of no op yet, or of ops */
};

struct reader_scopes *reader_scopes_create(void)
{
    struct reader_scopes *scopes = memory_zalloc(sizeof *scopes);
    scopes->slot_count = 1024;
    scopes->slots = memory_zalloc(scopes->slot_count * sizeof *scopes->slots);
    return scopes;
}

void reader_scopes_destroy(struct reader_scopes *scopes)
{
    for (size_t i = 0; i < scopes->frame_count; i++) {
        map_finish(&scopes->frames[i].labels);
    }
    free(scopes->frames);
    free(scopes->entries);
    free(scopes->slots);
    free(scopes->changes);
    free(scopes->ops);
    free(scopes->blocks);
    free(scopes);
}

static struct frame *current(const struct reader *reader)
{
    return &reader->scopes->frames[reader->scopes->frame_count - 1];
}

const char *reader_default_dialect(const struct reader *reader)
{
    return current(reader)->dialect;
}

/* --- the table of names --- */

static void grow_slots(struct reader_scopes *scopes)
{
    free(scopes->slots);
    scopes->slot_count *= 2;
    scopes->slots = memory_zalloc(scopes->slot_count * sizeof *scopes->slots);
    for (size_t i = 0; i < scopes->count; i++) {
        size_t slot = scopes->entries[i].hash & (scopes->slot_count - 1);
        while (scopes->slots[slot] != 0) {
            slot = (slot + 1) & (scopes->slot_count - 1);
        }
        scopes->slots[slot] = (int)i + 1;
    }
}

/* The index of the entry of that name; a new one if there is none. */
static int entry_of(struct reader *reader, struct span name)
{
    struct reader_scopes *scopes = reader->scopes;
    uint64_t hash = hash_bytes(name.data, name.size, 0);
    size_t mask = scopes->slot_count - 1, slot = hash & mask;
    for (; scopes->slots[slot] != 0; slot = (slot + 1) & mask) {
        const struct entry *entry = &scopes->entries[scopes->slots[slot] - 1];
        if (entry->hash == hash && entry->size == name.size &&
            memcmp(entry->name, name.data, name.size) == 0) {
            return scopes->slots[slot] - 1;
        }
    }
    scopes->entries =
        grow(scopes->entries, scopes->count, &scopes->capacity, sizeof *scopes->entries);
    scopes->entries[scopes->count] = (struct entry){
        .name = arena_string(&reader->file->arena, name.data, name.size),
        .size = name.size,
        .hash = hash,
    };
    scopes->count++;
    scopes->slots[slot] = (int)scopes->count;
    if (scopes->count * 2 > scopes->slot_count) {
        grow_slots(scopes);
    }
    return (int)scopes->count - 1;
}

/* --- regions --- */

void reader_scope_enter(struct reader *reader, bool isolated, bool graph, const char *dialect)
{
    struct reader_scopes *scopes = reader->scopes;
    bool first = scopes->frame_count == 0;
    int outer = first ? 0 : current(reader)->isolation;
    scopes->frames =
        grow(scopes->frames, scopes->frame_count, &scopes->frame_capacity, sizeof *scopes->frames);
    scopes->frames[scopes->frame_count++] = (struct frame){
        .changes = scopes->change_count,
        .ops = scopes->op_count,
        .blocks = scopes->block_count,
        .isolation = isolated || first ? ++scopes->isolations : outer,
        .graph = graph,
        .dialect = dialect,
    };
}

/* What is not yet defined at the end of a region is looked for in the one around it. */
static bool hoist_forwards(struct reader *reader)
{
    struct reader_scopes *scopes = reader->scopes;
    struct frame *frame = current(reader);
    bool isolated = scopes->frame_count == 1 || frame[-1].isolation != frame->isolation;
    struct forward *first = NULL; /* in the text */
    for (struct forward *forward = frame->forwards, *next; forward != NULL; forward = next) {
        next = forward->frame_next;
        if (forward->resolved) {
            continue;
        }
        if (isolated) {
            first = first == NULL || forward->at < first->at ? forward : first;
            continue;
        }
        forward->depth--;
        forward->block = frame[-1].block;
        forward->frame_next = frame[-1].forwards;
        frame[-1].forwards = forward;
    }
    return first == NULL ||
           reader_fail(reader, first->at, "use of value '%%%s', which is not defined",
                       scopes->entries[first->entry].name);
}

bool reader_scope_leave(struct reader *reader, struct mlir_region *region)
{
    struct reader_scopes *scopes = reader->scopes;
    struct frame *frame = current(reader);
    for (struct label *label = frame->undefined; label != NULL; label = label->next) {
        if (!label->defined) {
            return reader_fail(reader, label->at, "reference to block '^%s', which is not defined",
                               label->block->label);
        }
    }
    if (!hoist_forwards(reader)) {
        return false;
    }
    region->count = (int)(scopes->block_count - frame->blocks);
    if (region->count > 0) {
        region->blocks = arena_copy(&reader->file->arena, scopes->blocks + frame->blocks,
                                    (size_t)region->count * sizeof *region->blocks);
    }
    for (int i = 0; i < region->count; i++) {
        region->blocks[i]->region = region;
    }
    for (size_t i = scopes->change_count; i > frame->changes; i--) {
        const struct change *change = &scopes->changes[i - 1];
        struct entry *entry = &scopes->entries[change->entry];
        entry->values = change->values;
        entry->count = change->count;
        entry->isolation = change->isolation;
    }
    scopes->change_count = frame->changes;
    scopes->block_count = frame->blocks;
    map_finish(&frame->labels);
    scopes->frame_count--;
    return true;
}

/* --- values --- */

/* Gives uses before the definition their value. */
static bool resolve(struct reader *reader, const char *at, struct entry *entry,
                    struct mlir_value *values, int count)
{
    struct frame *frame = current(reader);
    int depth = (int)reader->scopes->frame_count;
    struct forward **link = &entry->forwards;
    while (*link != NULL) {
        struct forward *forward = *link;
        if (forward->isolation != frame->isolation) {
            link = &forward->next;
            continue;
        }
        if (forward->depth < depth) {
            return reader_fail(reader, at,
                               "value '%%%s' is defined in a region that an earlier use of it is "
                               "outside of",
                               entry->name);
        }
        if (forward->block == frame->block && !frame->graph) {
            return reader_fail(reader, forward->at, "value '%%%s' is used before its definition",
                               entry->name);
        }
        if (forward->number >= count) {
            return reader_fail(reader, forward->at, "value '%%%s' has %d results, no #%d",
                               entry->name, count, forward->number);
        }
        struct mlir_value *value = &values[forward->number];
        const struct mlir_type *type = forward->placeholder.type;
        if (type != NULL && type != value->type) {
            return reader_fail(reader, forward->at,
                               "value '%%%s' is used with another type than it is defined with",
                               entry->name);
        }
        for (struct use *use = forward->uses; use != NULL; use = use->next) {
            use->op->operands[use->operand] = value;
        }
        forward->resolved = true;
        reader->scopes->unresolved--;
        *link = forward->next;
    }
    return true;
}

bool reader_define(struct reader *reader, const char *at, struct span name,
                   struct mlir_value *values, int count)
{
    struct reader_scopes *scopes = reader->scopes;
    int index = entry_of(reader, name);
    struct entry *entry = &scopes->entries[index];
    int isolation = current(reader)->isolation;
    if (entry->values != NULL && entry->isolation == isolation) {
        return reader_fail(reader, at, "value '%%%s' is defined twice", entry->name);
    }
    scopes->changes = grow(scopes->changes, scopes->change_count, &scopes->change_capacity,
                           sizeof *scopes->changes);
    scopes->changes[scopes->change_count++] =
        (struct change){index, entry->values, entry->count, entry->isolation};
    entry->values = values;
    entry->count = count;
    entry->isolation = isolation;
    for (int i = 0; i < count; i++) {
        values[i].name = entry->name;
    }
    return entry->forwards == NULL || resolve(reader, at, entry, values, count);
}

static struct mlir_value *forward_value(struct reader *reader, int index, int number,
                                        const char *at)
{
    struct reader_scopes *scopes = reader->scopes;
    struct entry *entry = &scopes->entries[index];
    struct frame *frame = current(reader);
    int depth = (int)scopes->frame_count;
    /* The newest ones only: a second placeholder for the same value does no harm. */
    int tries = 8;
    for (struct forward *forward = entry->forwards; forward != NULL && tries > 0;
         forward = forward->next, tries--) {
        if (forward->number == number && forward->isolation == frame->isolation &&
            forward->depth == depth && forward->block == frame->block) {
            return &forward->placeholder;
        }
    }
    struct forward *forward = arena_alloc(&reader->file->arena, sizeof *forward);
    *forward = (struct forward){
        .next = entry->forwards,
        .frame_next = frame->forwards,
        .placeholder = {.user = forward},
        .number = number,
        .entry = index,
        .at = at,
        .isolation = frame->isolation,
        .depth = depth,
        .block = frame->block,
    };
    entry->forwards = forward;
    frame->forwards = forward;
    scopes->unresolved++;
    return &forward->placeholder;
}

bool reader_name_span(struct reader *reader, struct span *name)
{
    if (!reader_accept(reader, '%')) {
        return reader_expected(reader, "a value ('%…')");
    }
    const char *begin = reader->at, *at = begin;
    if (reader_class_of(*at) & CLASS_DIGIT) {
        while (reader_class_of(*at) & CLASS_DIGIT) {
            at++;
        }
    } else {
        while (reader_class_of(*at) & CLASS_SUFFIX) {
            at++;
        }
    }
    if (at == begin) {
        return reader_expected(reader, "the name of a value");
    }
    *name = (struct span){begin, (size_t)(at - begin)};
    reader->at = at;
    return true;
}

bool reader_use(struct reader *reader, struct mlir_value **value)
{
    struct span name;
    if (!reader_name_span(reader, &name)) {
        return false;
    }
    int64_t number = 0;
    const char *hash = reader->at;
    if (*hash == '#') {
        reader->at++;
        if ((reader_class_of(*reader->at) & CLASS_DIGIT) == 0 || !reader_int(reader, &number) ||
            number < 0 || number >= INT32_MAX) {
            return reader_fail(reader, hash, "expected the number of a result behind '#'");
        }
    }
    int index = entry_of(reader, name);
    const struct entry *entry = &reader->scopes->entries[index];
    if (entry->values == NULL || entry->isolation != current(reader)->isolation) {
        *value = forward_value(reader, index, (int)number, name.data - 1);
        return true;
    }
    if (number >= entry->count) {
        return reader_fail(reader, hash, "value '%%%s' has %d results, no #%d", entry->name,
                           entry->count, (int)number);
    }
    *value = &entry->values[number];
    return true;
}

void reader_note_uses(struct reader *reader, struct mlir_op *op)
{
    if (reader->scopes->unresolved == 0) {
        return;
    }
    for (int i = 0; i < op->operand_count; i++) {
        struct mlir_value *value = op->operands[i];
        if (value->op == NULL && value->block == NULL) {
            struct forward *forward = value->user;
            struct use *use = arena_alloc(&reader->file->arena, sizeof *use);
            *use = (struct use){forward->uses, op, i};
            forward->uses = use;
        }
    }
}

/* --- blocks --- */

/* The label of that name in the current region; a new one if there is none. */
static struct label *label_of(struct reader *reader, struct span name)
{
    struct map *labels = &current(reader)->labels;
    struct label *label = map_get(labels, name.data, name.size);
    if (label == NULL) {
        struct arena *arena = &reader->file->arena;
        label = arena_alloc(arena, sizeof *label);
        label->block = arena_alloc(arena, sizeof *label->block);
        label->block->label = mlir_intern(reader->file, name.data, name.size);
        map_put(labels, label->block->label, name.size, label);
    }
    return label;
}

bool reader_block_name(struct reader *reader, struct span *name, const char **at)
{
    if (!reader_accept(reader, '^')) {
        return reader_expected(reader, "a block ('^…')");
    }
    *at = reader->at - 1;
    const char *begin = reader->at, *end = begin;
    while (reader_class_of(*end) & CLASS_SUFFIX) {
        end++;
    }
    if (end == begin) {
        return reader_expected(reader, "the name of a block");
    }
    *name = (struct span){begin, (size_t)(end - begin)};
    reader->at = end;
    return true;
}

bool reader_block_use(struct reader *reader, struct mlir_block **block)
{
    struct span name;
    const char *at;
    if (!reader_block_name(reader, &name, &at)) {
        return false;
    }
    struct label *label = label_of(reader, name);
    if (!label->defined && label->at == NULL) {
        label->at = at;
        label->next = current(reader)->undefined;
        current(reader)->undefined = label;
    }
    *block = label->block;
    return true;
}

static void begin_block(struct reader *reader, struct mlir_block *block)
{
    struct reader_scopes *scopes = reader->scopes;
    scopes->blocks =
        grow(scopes->blocks, scopes->block_count, &scopes->block_capacity, sizeof *scopes->blocks);
    scopes->blocks[scopes->block_count++] = block;
    current(reader)->block = block;
}

bool reader_block_begin(struct reader *reader, struct span name, const char *at,
                        struct mlir_block **block)
{
    struct label *label = label_of(reader, name);
    if (label->defined) {
        return reader_fail(reader, at, "block '^%s' is defined twice", label->block->label);
    }
    label->defined = true;
    *block = label->block;
    begin_block(reader, label->block);
    return true;
}

struct mlir_block *reader_block_begin_unnamed(struct reader *reader)
{
    struct mlir_block *block = arena_alloc(&reader->file->arena, sizeof *block);
    begin_block(reader, block);
    return block;
}

void reader_push_op(struct reader *reader, struct mlir_op *op)
{
    struct reader_scopes *scopes = reader->scopes;
    scopes->ops = grow(scopes->ops, scopes->op_count, &scopes->op_capacity, sizeof *scopes->ops);
    scopes->ops[scopes->op_count++] = op;
}

void reader_block_end(struct reader *reader)
{
    struct reader_scopes *scopes = reader->scopes;
    struct frame *frame = current(reader);
    int count = (int)(scopes->op_count - frame->ops);
    if (count > 0) {
        mlir_block_set_ops(reader->file, frame->block, count, scopes->ops + frame->ops);
    }
    scopes->op_count = frame->ops;
}
