/* The inner loops of the walk engine: runs, fills, blocked transposes, strided copies. */
#include "interp/walk_kernels.h"

#include <string.h>

/* Elements as integers of the same size, at any address. */
typedef uint8_t element1;
typedef uint16_t __attribute__((aligned(1), may_alias)) element2;
typedef uint32_t __attribute__((aligned(1), may_alias)) element4;
typedef uint64_t __attribute__((aligned(1), may_alias)) element8;
typedef struct __attribute__((packed, may_alias)) {
    uint64_t low, high;
} element16;

/* One block of square transposes: N vectors of N elements each. Interleaving the first half of the
 * vectors with the second log2(N) times transposes them. */
typedef uint8_t vector1 __attribute__((vector_size(16)));
typedef uint16_t vector2 __attribute__((vector_size(16)));
typedef uint32_t vector4 __attribute__((vector_size(16)));
typedef uint64_t vector8 __attribute__((vector_size(16)));

#define LOW1(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH1(a, b) \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define LOW8(a, b) __builtin_shufflevector(a, b, 0, 2)
#define HIGH8(a, b) __builtin_shufflevector(a, b, 1, 3)

#define SQUARE(size, N)                                                                  \
    static inline void square##size(element##size *destination, int64_t destination_row, \
                                    const element##size *source, int64_t source_row)     \
    {                                                                                    \
        vector##size a[N], b[N];                                                         \
        _Pragma("GCC unroll 16") for (int i = 0; i < (N); i++)                           \
        {                                                                                \
            memcpy(&a[i], source + i * source_row, sizeof a[i]);                         \
        }                                                                                \
        _Pragma("GCC unroll 4") for (int step = 1; step < (N); step *= 2)                \
        {                                                                                \
            _Pragma("GCC unroll 16") for (int i = 0; i < (N) / 2; i++)                   \
            {                                                                            \
                b[2 * i] = LOW##size(a[i], a[i + (N) / 2]);                              \
                b[2 * i + 1] = HIGH##size(a[i], a[i + (N) / 2]);                         \
            }                                                                            \
            memcpy(a, b, sizeof a);                                                      \
        }                                                                                \
        _Pragma("GCC unroll 16") for (int i = 0; i < (N); i++)                           \
        {                                                                                \
            memcpy(destination + i * destination_row, &a[i], sizeof a[i]);               \
        }                                                                                \
    }
SQUARE(1, 16)
SQUARE(2, 8)
SQUARE(4, 4)
SQUARE(8, 2)
#undef SQUARE

static inline void square16(element16 *destination, int64_t destination_row,
                            const element16 *source, int64_t source_row)
{
    (void)destination_row;
    (void)source_row;
    *destination = *source;
}

/* Bytes of a source row that are done at a time, so that the rows of the destination that they go
 * to stay within reach of the address translation. Measured: three times faster than whole rows. */
enum { TILE_BYTES = 2048 };

/* destination[i * D + k] = source[i + k * S] in blocks: of a tile of source columns one cache line
 * of destination columns (the `band` of source rows that fill it), all rows of the destination one
 * square after the other. */
#define TRANSPOSE(size, N)                                                                   \
    static void transpose##size(const struct walk_rows *rows, char *to, const char *from)    \
    {                                                                                        \
        element##size *destination = (void *)to;                                             \
        const element##size *source = (const void *)from;                                    \
        const int64_t m = rows->m, n = rows->n, D = rows->destination_row, S = rows->source; \
        const int64_t band = 64 / (size) > (N) ? 64 / (size) : (N);                          \
        const int64_t tile = TILE_BYTES / (size);                                            \
        const int64_t square_m = m / (N) * (N), square_n = n / (N) * (N);                    \
        for (int64_t i0 = 0; i0 < square_m; i0 += tile) {                                    \
            int64_t i1 = i0 + tile < square_m ? i0 + tile : square_m;                        \
            for (int64_t k0 = 0; k0 < square_n; k0 += band) {                                \
                int64_t k1 = k0 + band < square_n ? k0 + band : square_n;                    \
                for (int64_t i = i0; i < i1; i += (N)) {                                     \
                    for (int64_t k = k0; k < k1; k += (N)) {                                 \
                        square##size(destination + i * D + k, D, source + i + k * S, S);     \
                    }                                                                        \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
        for (int64_t k = 0; k < n; k++) {                                                    \
            for (int64_t i = k < square_n ? square_m : 0; i < m; i++) {                      \
                destination[i * D + k] = source[i + k * S];                                  \
            }                                                                                \
        }                                                                                    \
    }
TRANSPOSE(1, 16)
TRANSPOSE(2, 8)
TRANSPOSE(4, 4)
TRANSPOSE(8, 2)
TRANSPOSE(16, 1)
#undef TRANSPOSE

#define STRIDED(size)                                                                             \
    static void strided##size(const struct walk_rows *rows, char *to, const char *from)           \
    {                                                                                             \
        const int64_t n = rows->n, S = rows->source, D = rows->destination;                       \
        for (int64_t i = 0; i < rows->m; i++) {                                                   \
            element##size *destination = (element##size *)(void *)to + i * rows->destination_row; \
            const element##size *source =                                                         \
                (const element##size *)(const void *)from + i * rows->source_row;                 \
            if (D == 1) {                                                                         \
                for (int64_t k = 0; k < n; k++) {                                                 \
                    destination[k] = source[k * S];                                               \
                }                                                                                 \
            } else {                                                                              \
                for (int64_t k = 0; k < n; k++) {                                                 \
                    destination[k * D] = source[k * S];                                           \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
    }
STRIDED(1)
STRIDED(2)
STRIDED(4)
STRIDED(8)
STRIDED(16)
#undef STRIDED

void walk_fill(void *destination, const void *element, int64_t count, int bytes)
{
    char pattern[64];
    for (int i = 0; i < 64; i += bytes) {
        memcpy(pattern + i, element, (size_t)bytes);
    }
    char *to = destination;
    int64_t size = count * bytes;
    if (size >= 64 && memcmp(pattern, pattern + 1, 63) == 0) {
        memset(to, pattern[0], (size_t)size);
        return;
    }
    for (; size >= 64; size -= 64, to += 64) {
        memcpy(to, pattern, 64);
    }
    memcpy(to, pattern, (size_t)size);
}

static void fill(const struct walk_rows *rows, char *to, const char *from)
{
    for (int64_t i = 0; i < rows->m; i++) {
        walk_fill(to + i * rows->destination_row * rows->bytes,
                  from + i * rows->source_row * rows->bytes, rows->n, rows->bytes);
    }
}

static void run(const struct walk_rows *rows, char *to, const char *from)
{
    const size_t size = (size_t)(rows->n * rows->bytes);
    const int64_t D = rows->destination_row * rows->bytes, S = rows->source_row * rows->bytes;
    for (int64_t i = 0; i < rows->m; i++) {
        memcpy(to + i * D, from + i * S, size);
    }
}

typedef void rows_function(const struct walk_rows *rows, char *to, const char *from);

void walk_rows_copy(const struct walk_rows *rows, char *destination, const char *source)
{
    static rows_function *const transposes[] = {transpose1, transpose2, transpose4, transpose8,
                                                transpose16};
    static rows_function *const strides[] = {strided1, strided2, strided4, strided8, strided16};
    int size = rows->bytes == 1   ? 0
               : rows->bytes == 2 ? 1
               : rows->bytes == 4 ? 2
               : rows->bytes == 8 ? 3
                                  : 4;
    switch (rows->kernel) {
    case WALK_NOTHING:
        return;
    case WALK_RUNS:
        run(rows, destination, source);
        return;
    case WALK_FILL:
        if (rows->n * rows->bytes < 64) {
            strides[size](rows, destination, source);
        } else {
            fill(rows, destination, source);
        }
        return;
    case WALK_TRANSPOSE:
        transposes[size](rows, destination, source);
        return;
    case WALK_STRIDED:
        strides[size](rows, destination, source);
        return;
    }
}
