/* The walk engine against its definition: an element copied at every point of the box, one by one.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/literal.h"
#include "interp/walk.h"

static struct rng rng;

static void setup(void)
{
    rng_init(&rng, 20240607);
    pool_set_threads(2);
}

static int64_t below(int64_t bound)
{
    return (int64_t)rng_below(&rng, (uint64_t)bound);
}

/* The definition. */
static void copy_by_definition(int rank, const int64_t *sizes, const int64_t *source_strides,
                               const int64_t *destination_strides, char *destination,
                               const char *source, int bytes)
{
    if (rank == 0) {
        memcpy(destination, source, (size_t)bytes);
        return;
    }
    for (int64_t i = 0; i < sizes[0]; i++) {
        copy_by_definition(rank - 1, sizes + 1, source_strides + 1, destination_strides + 1,
                           destination + i * destination_strides[0] * bytes,
                           source + i * source_strides[0] * bytes, bytes);
    }
}

/* Runs a walk and its definition into two buffers with guards and compares everything. */
static void check_walk(int rank, const int64_t *sizes, const int64_t *source_strides,
                       const int64_t *destination_strides, int bytes)
{
    int64_t source_low = 0, source_high = 0, destination_high = 0;
    for (int d = 0; d < rank; d++) {
        int64_t reach = (sizes[d] > 0 ? sizes[d] - 1 : 0) * source_strides[d];
        source_low += reach < 0 ? reach : 0;
        source_high += reach > 0 ? reach : 0;
        destination_high += (sizes[d] > 0 ? sizes[d] - 1 : 0) * destination_strides[d];
    }
    enum { GUARD = 3 };
    size_t source_size = (size_t)((source_high - source_low + 1) * bytes);
    size_t size = (size_t)((destination_high + 1 + 2 * GUARD) * bytes);
    char *source = malloc(source_size), *got = malloc(size), *want = malloc(size);
    for (size_t i = 0; i < source_size; i++) {
        source[i] = (char)rng_next(&rng);
    }
    memset(got, 0x5a, size);
    memset(want, 0x5a, size);
    const char *origin = source - source_low * bytes;
    copy_by_definition(rank, sizes, source_strides, destination_strides, want + GUARD * bytes,
                       origin, bytes);
    struct walk walk;
    walk_begin(&walk);
    for (int d = 0; d < rank; d++) {
        walk_add(&walk, sizes[d], source_strides[d], destination_strides[d]);
    }
    walk_finish(&walk);
    walk_copy(&walk, got + GUARD * bytes, origin, bytes);
    ck_assert_mem_eq(got, want, size);
    memset(got, 0x5a, size);
    walk_copy_serial(&walk, got + GUARD * bytes, origin, bytes);
    ck_assert_mem_eq(got, want, size);
    free(source);
    free(got);
    free(want);
}

/* Strides of a dense array whose dimensions lie in memory in the order given. */
static void permuted_strides(int rank, const int64_t *sizes, const int *order, int64_t *strides)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[order[i]] = stride;
        stride *= sizes[order[i]];
    }
}

static void shuffle(int rank, int *order)
{
    for (int i = 0; i < rank; i++) {
        int j = (int)below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

/* Any walk: random ranks, sizes, permutations, gaps, zero and negative strides. */
START_TEST(test_random_walks)
{
    static const int element_sizes[] = {1, 2, 4, 8, 16};
    for (int round = 0; round < 4000; round++) {
        int rank = (int)below(6), order[6];
        int64_t sizes[6], source[6], destination[6], padded[6];
        for (int d = 0; d < rank; d++) {
            sizes[d] = below(8) == 0 ? below(40) : below(7) + (below(20) != 0);
            padded[d] = sizes[d] + (below(3) == 0 ? below(3) : 0);
            padded[d] += padded[d] == 0;
        }
        shuffle(rank, order);
        permuted_strides(rank, padded, order, destination);
        shuffle(rank, order);
        permuted_strides(rank, padded, order, source);
        for (int d = 0; d < rank; d++) {
            switch (below(8)) {
            case 0:
                source[d] = 0;
                break;
            case 1:
                source[d] = -source[d];
                break;
            case 2:
                source[d] = below(5); /* overlapping windows */
                break;
            default:
                break;
            }
        }
        check_walk(rank, sizes, source, destination, element_sizes[round % 5]);
    }
}
END_TEST

/* Transposes of every element size, with sizes around the blocks of the kernels. */
START_TEST(test_transposes)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 64, 65, 130};
    for (int bytes = 1; bytes <= 16; bytes *= 2) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
                int64_t m = lengths[i], n = lengths[j];
                check_walk(2, (int64_t[]){m, n}, (int64_t[]){1, m}, (int64_t[]){n, 1}, bytes);
                check_walk(3, (int64_t[]){2, m, n}, (int64_t[]){m * n, 1, m},
                           (int64_t[]){m * n, n, 1}, bytes);
            }
        }
    }
}
END_TEST

/* Large enough for the pool, in every kernel. */
START_TEST(test_large_walks)
{
    check_walk(1, (int64_t[]){1000003}, (int64_t[]){1}, (int64_t[]){1}, 4);
    check_walk(1, (int64_t[]){1000003}, (int64_t[]){0}, (int64_t[]){1}, 2);
    check_walk(1, (int64_t[]){500003}, (int64_t[]){-1}, (int64_t[]){1}, 8);
    check_walk(2, (int64_t[]){700, 701}, (int64_t[]){1, 700}, (int64_t[]){701, 1}, 4);
    check_walk(2, (int64_t[]){7, 100001}, (int64_t[]){1, 7}, (int64_t[]){100001, 1}, 4);
    check_walk(2, (int64_t[]){100001, 7}, (int64_t[]){1, 100001}, (int64_t[]){7, 1}, 4);
    check_walk(3, (int64_t[]){300, 300, 3}, (int64_t[]){3, 900, 1}, (int64_t[]){900, 3, 1}, 4);
    check_walk(3, (int64_t[]){300, 300, 2}, (int64_t[]){2, 600, 1}, (int64_t[]){600, 2, 1}, 4);
    check_walk(4, (int64_t[]){40, 40, 9, 9}, (int64_t[]){48, 1, 48, 1},
               (int64_t[]){40 * 81, 81, 9, 1}, 4);
}
END_TEST

START_TEST(test_bits)
{
    for (int round = 0; round < 200; round++) {
        int64_t m = 1 + below(20), n = 1 + below(20), offset = below(9);
        uint8_t source[64], got[64], want[64];
        for (int i = 0; i < 64; i++) {
            source[i] = (uint8_t)rng_next(&rng);
            got[i] = want[i] = (uint8_t)rng_next(&rng);
        }
        struct walk walk;
        walk_begin(&walk);
        walk_add(&walk, m, 1, n);
        walk_add(&walk, n, m, 1);
        walk_finish(&walk);
        bool marked = round % 3 != 0;
        walk_copy_bits(&walk, got, 3, marked ? source : NULL, offset);
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                int64_t from = offset + i + j * m, to = 3 + i * n + j;
                int bit = marked ? source[from / 8] >> (from % 8) & 1 : 0;
                want[to / 8] = (uint8_t)((want[to / 8] & ~(1 << (to % 8))) | bit << (to % 8));
            }
        }
        ck_assert_mem_eq(got, want, sizeof got);
    }
}
END_TEST

START_TEST(test_fill)
{
    for (int bytes = 1; bytes <= 16; bytes *= 2) {
        for (int64_t count = 0; count < 70; count++) {
            char element[16], got[70 * 16 + 1];
            for (int i = 0; i < bytes; i++) {
                element[i] = (char)(17 * i + 1);
            }
            memset(got, 0, sizeof got);
            walk_fill(got, element, count, bytes);
            for (int64_t i = 0; i < count; i++) {
                ck_assert_mem_eq(got + i * bytes, element, (size_t)bytes);
            }
            ck_assert_int_eq(got[count * bytes], 0);
        }
    }
}
END_TEST

START_TEST(test_clip)
{
    for (int64_t count = 0; count < 6; count++) {
        for (int64_t step = -3; step <= 3; step++) {
            for (int64_t offset = -8; offset <= 8; offset++) {
                for (int64_t size = 0; step != 0 && size < 8; size++) {
                    int64_t first, last, inside = 0;
                    walk_clip(count, step, offset, size, &first, &last);
                    ck_assert(0 <= first && first <= last && last <= count);
                    for (int64_t i = 0; i < count; i++) {
                        int64_t at = i * step + offset;
                        bool in = at >= 0 && at < size;
                        ck_assert_int_eq(in, i >= first && i < last);
                        inside += in;
                    }
                    ck_assert_int_eq(inside, last - first);
                }
            }
        }
    }
}
END_TEST

/* Marks of unspecified elements move with the data, and appear only when there are any. */
START_TEST(test_literal_marks)
{
    int64_t sizes[] = {3, 4}, turned[] = {4, 3};
    const struct shape *shape = shape_array(TYPE_F32, 2, sizes);
    struct literal *from = literal_zero(shape, NULL);
    struct literal *to = literal_zero(shape_array(TYPE_F32, 2, turned), NULL);
    struct walk walk;
    walk_begin(&walk);
    walk_add(&walk, 4, 1, 3);
    walk_add(&walk, 3, 4, 1);
    walk_finish(&walk);
    ck_assert(walk_literal(&walk, to, 0, from, 0, NULL));
    ck_assert_ptr_null(to->buffer->unspecified);
    literal_mark_unspecified(from, 1 * 4 + 2);
    ck_assert(walk_literal(&walk, to, 0, from, 0, NULL));
    for (int64_t i = 0; i < 12; i++) {
        ck_assert_int_eq(literal_is_unspecified(to, i), i == 2 * 3 + 1);
    }
    literal_release(from);
    literal_release(to);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("walk");
    TCase *tests = tcase_create("walk");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_random_walks);
    tcase_add_test(tests, test_transposes);
    tcase_add_test(tests, test_large_walks);
    tcase_add_test(tests, test_bits);
    tcase_add_test(tests, test_fill);
    tcase_add_test(tests, test_clip);
    tcase_add_test(tests, test_literal_marks);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
