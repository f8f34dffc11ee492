/* Arena and the aborting allocators. */
#include "hlo/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size;
};

enum { BLOCK_SIZE = 64 * 1024, ALIGNMENT = 16, SMALL_SIZE = 1024 };

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "referee: out of memory (%zu bytes)\n", size);
    abort();
}

void *memory_alloc(size_t size)
{
    void *data = malloc(size > 0 ? size : 1);
    if (data == NULL) {
        out_of_memory(size);
    }
    return data;
}

void *memory_zalloc(size_t size)
{
    /* glibc keeps small pieces that were freed for the next malloc of a thread, but not for calloc,
     * which takes several times as long. */
    if (size <= SMALL_SIZE) {
        return memset(memory_alloc(size), 0, size);
    }
    void *data = calloc(1, size);
    if (data == NULL) {
        out_of_memory(size);
    }
    return data;
}

void *memory_realloc(void *data, size_t size)
{
    void *moved = realloc(data, size > 0 ? size : 1);
    if (moved == NULL) {
        out_of_memory(size);
    }
    return moved;
}

char *memory_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(memory_alloc(size), text, size);
}

void *grow(void *data, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity) {
        return data;
    }
    *capacity = *capacity > 0 ? *capacity * 2 : 8;
    return memory_realloc(data, *capacity * size);
}

void arena_init(struct arena *arena)
{
    memset(arena, 0, sizeof *arena);
}

void arena_init_in(struct arena *arena, void *memory, size_t size)
{
    memset(memory, 0, size);
    *arena = (struct arena){.next = memory, .end = (char *)memory + size};
}

void arena_finish(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    memset(arena, 0, sizeof *arena);
}

void arena_absorb(struct arena *into, struct arena *from)
{
    struct arena_block *last = from->blocks;
    if (last == NULL) {
        return;
    }
    while (last->next != NULL) {
        last = last->next;
    }
    /* Behind the newest block, whose free part is in use. */
    if (into->blocks != NULL) {
        last->next = into->blocks->next;
        into->blocks->next = from->blocks;
        into->bytes += from->bytes;
    } else {
        *into = *from;
    }
    memset(from, 0, sizeof *from);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        out_of_memory(size);
    }
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (arena->next == NULL || size > (size_t)(arena->end - arena->next)) {
        size_t header = (sizeof(struct arena_block) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
        size_t payload = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        struct arena_block *block = memory_zalloc(header + payload);
        block->size = header + payload;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->bytes += block->size;
        arena->next = (char *)block + header;
        arena->end = (char *)block + block->size;
    }
    void *data = arena->next;
    arena->next += size;
    return data;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        out_of_memory(SIZE_MAX);
    }
    return arena_alloc(arena, bytes);
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
    void *copy = arena_alloc(arena, size);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *arena_string(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    if (size > 0) {
        memcpy(copy, text, size);
    }
    copy[size] = '\0';
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(arena, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}
