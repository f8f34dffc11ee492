/* The store of values that outlive an evaluation, and what is known of their contents. */
#include "interp/cache.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

/* A key and the number of the contents it leads to. */
struct link {
    struct key key;
    int number;
};

/* An argument whose contents are known: the literal is held, so that nobody writes to it. */
struct argument {
    struct literal *literal;
    struct key key;
};

struct interp_cache {
    size_t limit;
    struct link *links; /* open addressing; number −1 is free */
    size_t link_count, link_capacity;
    struct contents *contents;
    size_t count, capacity;
    struct argument *arguments;
    size_t argument_count, argument_capacity;
    uint64_t evaluations;
    double level; /* the rank of what was dropped last: what is used later ranks above it */
    struct interp_cache_statistics statistics;
};

struct interp_cache *interp_cache_create(size_t bytes)
{
    struct interp_cache *cache = memory_zalloc(sizeof *cache);
    cache->limit = bytes;
    return cache;
}

/* Forgets all values. */
static void clear(struct interp_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++) {
        literal_release(cache->contents[i].literal);
    }
    free(cache->links);
    free(cache->contents);
    cache->links = NULL;
    cache->contents = NULL;
    cache->link_count = cache->link_capacity = cache->count = cache->capacity = 0;
    cache->level = 0;
    cache->statistics.bytes = 0;
}

void interp_cache_destroy(struct interp_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    clear(cache);
    for (size_t i = 0; i < cache->argument_count; i++) {
        literal_release(cache->arguments[i].literal);
    }
    free(cache->arguments);
    free(cache);
}

struct interp_cache_statistics interp_cache_statistics(const struct interp_cache *cache)
{
    return cache->statistics;
}

void cache_set_statistics(struct interp_cache *cache, int64_t reused, int64_t evaluated)
{
    cache->statistics.reused = reused;
    cache->statistics.evaluated = evaluated;
}

/* --- keys --- */

/* The place of a key, or the free one where it belongs. */
static size_t place_of(const struct interp_cache *cache, struct key key)
{
    size_t at = key.words[0] & (cache->link_capacity - 1);
    while (cache->links[at].number >= 0 && !key_equal(cache->links[at].key, key)) {
        at = (at + 1) & (cache->link_capacity - 1);
    }
    return at;
}

int cache_find(const struct interp_cache *cache, struct key key)
{
    return cache->link_capacity == 0 ? -1 : cache->links[place_of(cache, key)].number;
}

static void enlarge(struct interp_cache *cache)
{
    struct link *old = cache->links;
    size_t old_capacity = cache->link_capacity;
    cache->link_capacity = old_capacity == 0 ? FIRST_CAPACITY : 2 * old_capacity;
    cache->links = memory_alloc(cache->link_capacity * sizeof *cache->links);
    for (size_t i = 0; i < cache->link_capacity; i++) {
        cache->links[i].number = -1;
    }
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].number >= 0) {
            cache->links[place_of(cache, old[i].key)] = old[i];
        }
    }
    free(old);
}

void cache_link(struct interp_cache *cache, struct key key, int number)
{
    if (2 * (cache->link_count + 1) > cache->link_capacity) {
        enlarge(cache);
    }
    struct link *link = &cache->links[place_of(cache, key)];
    if (link->number < 0) {
        *link = (struct link){key, number};
        cache->link_count++;
    }
}

const struct contents *cache_contents(const struct interp_cache *cache, int number)
{
    return &cache->contents[number];
}

/* --- literals --- */

static void drop(struct interp_cache *cache, struct contents *contents)
{
    literal_release(contents->literal);
    contents->literal = NULL;
    cache->statistics.bytes -= contents->bytes;
}

static int by_rank(const void *a, const void *b)
{
    const struct contents *x = *(struct contents *const *)a, *y = *(struct contents *const *)b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Drops what is least worth keeping until `bytes` more have room, and then some, so that this is
 * seldom done. */
static void make_room(struct interp_cache *cache, size_t bytes)
{
    if (cache->statistics.bytes + bytes <= cache->limit) {
        return;
    }
    size_t goal = cache->limit - cache->limit / 16, count = 0;
    struct contents **held = memory_alloc((cache->count + 1) * sizeof(struct contents *));
    for (size_t i = 0; i < cache->count; i++) {
        if (cache->contents[i].literal != NULL) {
            held[count++] = &cache->contents[i];
        }
    }
    qsort(held, count, sizeof *held, by_rank);
    for (size_t i = 0; i < count && cache->statistics.bytes + bytes > goal; i++) {
        cache->level = held[i]->rank;
        drop(cache, held[i]);
    }
    free(held);
}

static void rank(const struct interp_cache *cache, struct contents *contents)
{
    contents->rank = cache->level + contents->seconds / (double)(contents->bytes + 64);
}

struct literal *cache_use(struct interp_cache *cache, int number)
{
    struct contents *contents = &cache->contents[number];
    if (contents->literal != NULL) {
        rank(cache, contents);
    }
    return contents->literal;
}

static int contents_add(struct interp_cache *cache, struct key key)
{
    cache->contents =
        grow(cache->contents, cache->count, &cache->capacity, sizeof *cache->contents);
    cache->contents[cache->count] = (struct contents){.key = key};
    cache_link(cache, key, (int)cache->count);
    return (int)cache->count++;
}

void cache_hold(struct interp_cache *cache, int number, const struct literal *value, double seconds,
                bool hold)
{
    struct contents *contents = &cache->contents[number];
    contents->seconds = seconds > contents->seconds ? seconds : contents->seconds;
    if (contents->literal == NULL && value->buffer != NULL && hold) {
        contents->bytes = value->buffer->size;
        if (value->buffer->unspecified != NULL) {
            contents->bytes += contents->bytes / 8;
        }
        if (contents->bytes <= cache->limit / 2) {
            make_room(cache, contents->bytes);
            contents->literal = literal_retain(value);
            cache->statistics.bytes += contents->bytes;
            if (cache->statistics.bytes > cache->statistics.peak_bytes) {
                cache->statistics.peak_bytes = cache->statistics.bytes;
            }
        }
    }
    rank(cache, contents);
}

int cache_know(struct interp_cache *cache, struct key by_contents)
{
    int number = cache_find(cache, by_contents);
    return number >= 0 ? number : contents_add(cache, by_contents);
}

int cache_keep(struct interp_cache *cache, struct key key, const struct literal *value,
               double seconds, bool hold)
{
    int number = cache_know(cache, key_of_contents(value));
    cache_link(cache, key, number);
    cache_hold(cache, number, value, seconds, hold);
    return number;
}

/* --- arguments --- */

struct key cache_argument_key(struct interp_cache *cache, const struct literal *argument)
{
    for (size_t i = 0; i < cache->argument_count; i++) {
        const struct literal *known = cache->arguments[i].literal;
        if (known->buffer == argument->buffer && known->shape->type == argument->shape->type &&
            known->dynamic_sizes == NULL && argument->dynamic_sizes == NULL) {
            return cache->arguments[i].key;
        }
    }
    struct key key = key_of_contents(argument);
    if (argument->buffer != NULL && argument->dynamic_sizes == NULL) {
        cache->arguments = grow(cache->arguments, cache->argument_count, &cache->argument_capacity,
                                sizeof *cache->arguments);
        cache->arguments[cache->argument_count++] =
            (struct argument){literal_retain(argument), key};
    }
    return key;
}

uint64_t cache_evaluations(const struct interp_cache *cache)
{
    return cache->evaluations;
}

/* The memory of keys and records: about 100 bytes a value, whether it is held or not. */
static size_t record_bytes(const struct interp_cache *cache)
{
    return cache->link_capacity * sizeof *cache->links + cache->capacity * sizeof *cache->contents;
}

void cache_begin(struct interp_cache *cache)
{
    enum { LEAST = 1 << 20, SHARE = 8 };
    cache->evaluations++;
    if (record_bytes(cache) > LEAST && record_bytes(cache) > cache->limit / SHARE) {
        clear(cache);
    }
    size_t kept = 0;
    for (size_t i = 0; i < cache->argument_count; i++) {
        if (literal_is_unique(cache->arguments[i].literal)) {
            literal_release(cache->arguments[i].literal);
        } else {
            cache->arguments[kept++] = cache->arguments[i];
        }
    }
    cache->argument_count = kept;
}
