/* Open addressing with linear probing for both tables. */
#include "hlo/text/names.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"

static uint64_t load(const char *at, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, at, size);
    return word;
}

/* Names and shapes are short: eight bytes a step, and the last eight overlap. */
static uint64_t hash_text(const char *text, size_t size)
{
    uint64_t hash = size * 0x9e3779b97f4a7c15u;
    if (size < 8) {
        /* Two overlapping halves, or three single bytes. */
        uint64_t word = size >= 4  ? load(text, 4) | load(text + size - 4, 4) << 32
                        : size > 0 ? (uint64_t)(unsigned char)text[0] |
                                         (uint64_t)(unsigned char)text[size / 2] << 8 |
                                         (uint64_t)(unsigned char)text[size - 1] << 16
                                   : 0;
        hash ^= word;
    } else {
        for (size_t i = 0; i + 8 < size; i += 8) {
            hash = (hash ^ load(text + i, 8)) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        hash ^= load(text + size - 8, 8);
    }
    hash *= 0xc4ceb9fe1a85ec53u;
    return hash ^ hash >> 29;
}

/* --- names --- */

enum { FIRST_CAPACITY = 1024 };

void names_init(struct names *names)
{
    *names = (struct names){.capacity = FIRST_CAPACITY, .base = 1};
    names->entries = memory_zalloc(names->capacity * sizeof *names->entries);
}

void names_finish(struct names *names)
{
    free(names->entries);
}

uint32_t names_open(struct names *names, int outermost)
{
    names->last++;
    if (outermost) {
        names->base = names->last;
        names->used = 0;
    }
    return names->last;
}

/* The entry of the name, or the free one where it belongs. */
static struct name_entry *find(const struct names *names, uint32_t scope, uint32_t hash,
                               const char *name, size_t size)
{
    size_t mask = names->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct name_entry *entry = &names->entries[i];
        if (entry->scope < names->base ||
            (entry->hash == hash && entry->scope == scope &&
             strncmp(entry->name, name, size) == 0 && entry->name[size] == '\0')) {
            return entry;
        }
    }
}

struct instruction *names_find(const struct names *names, uint32_t scope, const char *name,
                               size_t size)
{
    const struct name_entry *entry =
        find(names, scope, (uint32_t)hash_text(name, size), name, size);
    return entry->scope >= names->base ? entry->instruction : NULL;
}

static void names_grow(struct names *names)
{
    struct name_entry *old = names->entries;
    size_t capacity = names->capacity;
    names->capacity = 2 * capacity;
    names->entries = memory_zalloc(names->capacity * sizeof *names->entries);
    size_t mask = names->capacity - 1;
    for (size_t i = 0; i < capacity; i++) {
        if (old[i].scope >= names->base) {
            size_t at = old[i].hash & mask;
            while (names->entries[at].scope >= names->base) {
                at = (at + 1) & mask;
            }
            names->entries[at] = old[i];
        }
    }
    free(old);
}

struct instruction *names_add(struct names *names, uint32_t scope, const char *name, size_t size,
                              struct instruction *instruction)
{
    if (2 * names->used >= names->capacity) {
        names_grow(names);
    }
    uint32_t hash = (uint32_t)hash_text(name, size);
    struct name_entry *entry = find(names, scope, hash, name, size);
    if (entry->scope >= names->base) {
        return entry->instruction;
    }
    *entry = (struct name_entry){hash, scope, name, instruction};
    names->used++;
    return NULL;
}

/* --- shapes --- */

void shape_cache_init(struct shape_cache *cache)
{
    *cache = (struct shape_cache){.capacity = 256};
    cache->entries = memory_zalloc(cache->capacity * sizeof *cache->entries);
}

void shape_cache_finish(struct shape_cache *cache)
{
    free(cache->entries);
}

static struct shape_entry *find_shape(struct shape_cache *cache, uint64_t hash, const char *text,
                                      size_t size)
{
    size_t mask = cache->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct shape_entry *entry = &cache->entries[i];
        if (entry->shape == NULL ||
            (entry->hash == hash && entry->size == size && memcmp(entry->text, text, size) == 0)) {
            return entry;
        }
    }
}

struct shape_entry *shape_cache_find(struct shape_cache *cache, const char *text, size_t size)
{
    uint64_t hash = hash_text(text, size);
    struct shape_entry *entry = find_shape(cache, hash, text, size);
    if (entry->shape != NULL) {
        return entry;
    }
    if (2 * (cache->count + 1) > cache->capacity) {
        struct shape_entry *old = cache->entries;
        size_t capacity = cache->capacity;
        cache->capacity = 2 * capacity;
        cache->entries = memory_zalloc(cache->capacity * sizeof *cache->entries);
        for (size_t i = 0; i < capacity; i++) {
            if (old[i].shape != NULL) {
                *find_shape(cache, old[i].hash, old[i].text, old[i].size) = old[i];
            }
        }
        free(old);
        entry = find_shape(cache, hash, text, size);
    }
    cache->count++; /* an entry left without a shape is counted for nothing, which is harmless */
    *entry = (struct shape_entry){hash, text, size, NULL};
    return entry;
}
