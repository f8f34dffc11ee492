/* Arena: memory that is freed all at once. Allocations are zeroed and 16-byte aligned; they never
 * fail singly (out of memory aborts), so sizes taken from input must be checked before. */
#ifndef HLO_BASE_ARENA_H
#define HLO_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;
struct arena {
    struct arena_block *blocks; /* newest first */
    char *next, *end;           /* free part of the newest block */
    size_t bytes;               /* total taken from malloc */
};

void arena_init(struct arena *arena);
/* The same, beginning in the caller's memory (16-byte aligned), which it fills with zeros. What is
 * there cannot be absorbed. */
void arena_init_in(struct arena *arena, void *memory, size_t size);
void arena_finish(struct arena *arena);
void *arena_alloc(struct arena *arena, size_t size);
/* count * size with an overflow check (aborts). */
void *arena_array(struct arena *arena, size_t count, size_t size);
void *arena_copy(struct arena *arena, const void *data, size_t size);
/* A zero-terminated copy of text[0..size). */
char *arena_string(struct arena *arena, const char *text, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Everything in `from` lives on in `into`; `from` is empty afterwards. */
void arena_absorb(struct arena *into, struct arena *from);

/* malloc and friends that abort with a message when memory runs out. */
void *memory_alloc(size_t size);
void *memory_zalloc(size_t size);
void *memory_realloc(void *data, size_t size);
char *memory_strdup(const char *text);

/* Growing array: makes room for one more element of `size` bytes after `count` of them.
 * Returns the (moved) array; *capacity is updated. For heap arrays (free with free()). */
void *grow(void *data, size_t count, size_t *capacity, size_t size);

#endif
