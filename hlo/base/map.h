/* Hash map from byte strings or integers to pointers. Keys are borrowed. */
#ifndef HLO_BASE_MAP_H
#define HLO_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
    uint64_t hash;
    const char *key; /* NULL: an integer key, equal to hash_u64's input kept in size */
    size_t size;
    void *value;
};
struct map {
    struct map_entry *entries;
    size_t count, capacity; /* capacity is 0 or a power of two */
};

void map_init(struct map *map);
void map_finish(struct map *map);
void map_clear(struct map *map);
/* Returns the value or NULL. */
void *map_get(const struct map *map, const char *key, size_t size);
/* Sets key to value (never NULL); returns the old value or NULL. */
void *map_put(struct map *map, const char *key, size_t size, void *value);
void *map_get_int(const struct map *map, uint64_t key);
void *map_put_int(struct map *map, uint64_t key, void *value);

uint64_t hash_bytes(const void *data, size_t size, uint64_t seed);
uint64_t hash_u64(uint64_t value, uint64_t seed);
/* Of a text with its end, so that texts one after another do not run together. */
uint64_t hash_string(const char *text, uint64_t seed);

#endif
