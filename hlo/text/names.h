/* Two look-up tables of the reader: instruction names by scope, and shapes by their text. */
#ifndef HLO_TEXT_NAMES_H
#define HLO_TEXT_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct instruction;
struct shape;

/* Names of instructions. Each computation is a scope; a scope inside another (an inline
 * computation) sees its own names only. Leaving the outermost scope empties the table at once:
 * entries of dead scopes are free. */
struct name_entry {
    uint32_t hash, scope;
    const char *name; /* borrowed, zero-terminated */
    struct instruction *instruction;
};
struct names {
    struct name_entry *entries;
    size_t capacity, used; /* used: entries since the outermost scope began */
    uint32_t base;         /* scopes from here on are alive */
    uint32_t last;         /* the newest scope */
};

void names_init(struct names *names);
void names_finish(struct names *names);
/* Begins a computation; outermost: no computation is open. Returns the scope. */
uint32_t names_open(struct names *names, int outermost);
/* Finds the name in the scope, or NULL. */
struct instruction *names_find(const struct names *names, uint32_t scope, const char *name,
                               size_t size);
/* Adds the name (zero-terminated, borrowed); returns the instruction that has it already, or NULL.
 */
struct instruction *names_add(struct names *names, uint32_t scope, const char *name, size_t size,
                              struct instruction *instruction);

/* Shapes by their text: the same few texts stand in a module again and again. */
struct shape_entry {
    uint64_t hash;
    const char *text; /* borrowed */
    size_t size;
    const struct shape *shape;
};
struct shape_cache {
    struct shape_entry *entries;
    size_t capacity, count;
};

void shape_cache_init(struct shape_cache *cache);
void shape_cache_finish(struct shape_cache *cache);
/* The entry of the text; its shape is NULL if the text is new (then set it). */
struct shape_entry *shape_cache_find(struct shape_cache *cache, const char *text, size_t size);

#endif
