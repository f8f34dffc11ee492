/* Hash map with open addressing and linear probing; nothing is ever removed singly. */
#include "hlo/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"

uint64_t hash_u64(uint64_t value, uint64_t seed)
{
    /* The finaliser of MurmurHash3 (public domain, Appleby). */
    uint64_t h = value ^ (seed * 0x9e3779b97f4a7c15u);
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

uint64_t hash_string(const char *text, uint64_t seed)
{
    return hash_bytes(text, strlen(text) + 1, seed);
}

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed)
{
    const unsigned char *bytes = data;
    uint64_t h = seed ^ (size * 0x9e3779b97f4a7c15u);
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
        bytes += 8;
        size -= 8;
    }
    uint64_t rest = 0;
    if (size > 0) {
        memcpy(&rest, bytes, size);
    }
    return hash_u64(h ^ rest, 1);
}

void map_init(struct map *map)
{
    memset(map, 0, sizeof *map);
}

void map_finish(struct map *map)
{
    free(map->entries);
    memset(map, 0, sizeof *map);
}

void map_clear(struct map *map)
{
    if (map->count > 0) {
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
        map->count = 0;
    }
}

static struct map_entry *find(const struct map *map, uint64_t hash, const char *key, size_t size)
{
    size_t mask = map->capacity - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_entry *entry = &map->entries[i];
        if (entry->value == NULL) {
            return entry;
        }
        if (entry->hash == hash && entry->size == size && (key == NULL) == (entry->key == NULL) &&
            (key == NULL || memcmp(entry->key, key, size) == 0)) {
            return entry;
        }
    }
}

static void rehash(struct map *map)
{
    struct map old = *map;
    map->capacity = old.capacity > 0 ? old.capacity * 2 : 16;
    map->entries = memory_zalloc(map->capacity * sizeof *map->entries);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.entries[i].value != NULL) {
            *find(map, old.entries[i].hash, old.entries[i].key, old.entries[i].size) =
                old.entries[i];
        }
    }
    free(old.entries);
}

static void *get(const struct map *map, uint64_t hash, const char *key, size_t size)
{
    return map->count > 0 ? find(map, hash, key, size)->value : NULL;
}

static void *put(struct map *map, uint64_t hash, const char *key, size_t size, void *value)
{
    if (map->count * 4 >= map->capacity * 3) {
        rehash(map);
    }
    struct map_entry *entry = find(map, hash, key, size);
    void *old = entry->value;
    map->count += old == NULL;
    *entry = (struct map_entry){hash, key, size, value};
    return old;
}

void *map_get(const struct map *map, const char *key, size_t size)
{
    return map->count > 0 ? get(map, hash_bytes(key, size, 0), key, size) : NULL;
}

void *map_put(struct map *map, const char *key, size_t size, void *value)
{
    return put(map, hash_bytes(key, size, 0), key, size, value);
}

void *map_get_int(const struct map *map, uint64_t key)
{
    return get(map, hash_u64(key, 0), NULL, (size_t)key);
}

void *map_put_int(struct map *map, uint64_t key, void *value)
{
    return put(map, hash_u64(key, 0), NULL, (size_t)key, value);
}
