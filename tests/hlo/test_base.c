/* hlo/base: arena, map, text, errors, files, random numbers, the pool. */
#include <check.h>
#include <fcntl.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/map.h"
#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"

/* --- arena --- */

START_TEST(test_arena_in)
{
    _Alignas(16) char memory[256];
    memset(memory, 1, sizeof memory);
    struct arena arena;
    arena_init_in(&arena, memory, sizeof memory);
    char *first = arena_alloc(&arena, 100), *second = arena_alloc(&arena, 100);
    ck_assert_ptr_eq(first, memory);
    ck_assert_ptr_eq(second, memory + 112);
    char *outside = arena_alloc(&arena, 100); /* no room */
    ck_assert(outside < memory || outside >= memory + sizeof memory);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(first[i] | second[i] | outside[i], 0);
    }
    arena_finish(&arena);
}
END_TEST

START_TEST(test_arena)
{
    struct arena arena;
    arena_init(&arena);
    unsigned char *blocks[200];
    for (int i = 0; i < 200; i++) {
        size_t size = (size_t)i * 37;
        blocks[i] = arena_alloc(&arena, size);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        for (size_t k = 0; k < size; k++) {
            ck_assert_int_eq(blocks[i][k], 0);
        }
        ck_assert_ptr_nonnull(blocks[i]);
        memset(blocks[i], i, size);
    }
    for (int i = 0; i < 200; i++) { /* nobody wrote into a neighbour */
        for (size_t k = 0; k < (size_t)i * 37; k++) {
            ck_assert_int_eq(blocks[i][k], i);
        }
    }
    char *large = arena_alloc(&arena, 1 << 20);
    large[(1 << 20) - 1] = 1;
    ck_assert_uint_ge(arena.bytes, 1 << 20);
    ck_assert_str_eq(arena_string(&arena, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    ck_assert_mem_eq(arena_copy(&arena, "a\0b", 3), "a\0b", 3);
    arena_finish(&arena);
    ck_assert_ptr_null(arena.blocks);
}
END_TEST

START_TEST(test_grow)
{
    size_t capacity = 0;
    int *values = NULL;
    for (size_t i = 0; i < 1000; i++) {
        values = grow(values, i, &capacity, sizeof *values);
        ck_assert_uint_gt(capacity, i);
        values[i] = (int)i;
    }
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(values[i], i);
    }
    free(values);
}
END_TEST

/* --- map --- */

START_TEST(test_map)
{
    static char keys[5000][16];
    static int values[5000];
    struct map map;
    map_init(&map);
    ck_assert_ptr_null(map_get(&map, "x", 1));
    ck_assert_ptr_null(map_get_int(&map, 7));
    for (int i = 0; i < 5000; i++) {
        snprintf(keys[i], sizeof keys[i], "key%d", i);
        ck_assert_ptr_null(map_put(&map, keys[i], strlen(keys[i]), &values[i]));
    }
    ck_assert_uint_eq(map.count, 5000);
    for (int i = 0; i < 5000; i++) {
        ck_assert_ptr_eq(map_get(&map, keys[i], strlen(keys[i])), &values[i]);
    }
    ck_assert_ptr_null(map_get(&map, "key", 3)); /* a prefix is another key */
    ck_assert_ptr_null(map_get(&map, "key1\0", 5));
    ck_assert_ptr_eq(map_put(&map, "key1", 4, &values[9]), &values[1]);
    ck_assert_ptr_eq(map_get(&map, "key1", 4), &values[9]);
    ck_assert_uint_eq(map.count, 5000);
    map_clear(&map);
    ck_assert_ptr_null(map_get(&map, "key1", 4));
    for (uint64_t i = 0; i < 1000; i++) {
        map_put_int(&map, i << 40, &values[i]);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert_ptr_eq(map_get_int(&map, i << 40), &values[i]);
    }
    ck_assert_ptr_null(map_get_int(&map, 1));
    map_finish(&map);
}
END_TEST

/* --- text --- */

START_TEST(test_text)
{
    struct text text;
    text_init(&text);
    ck_assert_str_eq(text.data, "");
    text_int(&text, INT64_MIN);
    text_char(&text, ' ');
    text_int(&text, 0);
    ck_assert_str_eq(text.data, "-9223372036854775808 0");
    text_clear(&text);
    for (int i = 0; i < 3000; i++) {
        text_printf(&text, "%04d,", i);
    }
    ck_assert_uint_eq(text.size, 15000);
    ck_assert_str_eq(text.data + 14995, "2999,");
    text_clear(&text);
    text_escape(&text, "a\n\"\\\x01\xff", 6);
    ck_assert_str_eq(text.data, "a\\n\\\"\\\\\\001\\377");
    text_clear(&text);
    text_append_n(&text, "abc", 2);
    char *taken = text_take(&text);
    ck_assert_str_eq(taken, "ab");
    ck_assert_uint_eq(text.size, 0);
    free(taken);
    text_finish(&text);
}
END_TEST

/* --- errors --- */

static const char *printed(const struct error *err)
{
    static char out[4096];
    struct text text;
    text_init(&text);
    error_print(err, &text);
    snprintf(out, sizeof out, "%s", text.data);
    text_finish(&text);
    return out;
}

START_TEST(test_shell_words)
{
    static const struct {
        const char *word, *shell, *quoted;
    } words[] = {
        {"a/b-1.hlo", "a/b-1.hlo", "'a/b-1.hlo'"},      {"", "''", "''"},
        {"two words", "'two words'", "'two words'"},    {"it's", "'it'\\''s'", "'it'\\''s'"},
        {"cpu:?a=1&b", "'cpu:?a=1&b'", "'cpu:?a=1&b'"}, {"$x", "'$x'", "'$x'"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct text text;
        text_init(&text);
        text_shell(&text, words[i].word);
        ck_assert_str_eq(text.data, words[i].shell);
        text_clear(&text);
        text_quoted(&text, words[i].word);
        ck_assert_str_eq(text.data, words[i].quoted);
        text_finish(&text);
    }
}
END_TEST

START_TEST(test_error_first_wins)
{
    struct error err = {0};
    ck_assert(!error_set(&err, ERROR_NOT_FOUND, "first %d", 1));
    ck_assert(!error_set(&err, ERROR_INTERNAL, "second"));
    ck_assert(!error_at(&err, (struct where){"f", 1, 1}, "third"));
    ck_assert_str_eq(printed(&err), "NOT_FOUND: first 1\n");
    ck_assert(!error_prefix(&err, "while %s", "testing"));
    ck_assert_str_eq(printed(&err), "NOT_FOUND: while testing: first 1\n");
    ck_assert(!error_set(NULL, ERROR_INTERNAL, "nobody listens"));
    error_clear(&err);
    error_prefix(&err, "nothing to prefix");
    ck_assert_int_eq(err.code, ERROR_NONE);
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    error_set(&err, ERROR_INTERNAL, "%s", longer);
    error_prefix(&err, "%s", longer); /* is cut, not overrun */
    ck_assert_uint_lt(strlen(err.message), sizeof err.message);
}
END_TEST

START_TEST(test_error_caret)
{
    static const char source[] = "one\n  two\tx three\nfour";
    struct error err = {0};
    error_at(&err, (struct where){"a.hlo", 2, 7}, "no x here");
    error_quote(&err, source, strlen(source));
    ck_assert_str_eq(printed(&err), "a.hlo:2:7: INVALID_ARGUMENT: no x here\n"
                                    "    two x three\n"
                                    "        ^\n");
    error_clear(&err);
    error_at(&err, (struct where){"a.hlo", 3, 5}, "more expected"); /* the end of the input */
    error_quote(&err, source, strlen(source));
    ck_assert_str_eq(printed(&err), "a.hlo:3:5: INVALID_ARGUMENT: more expected\n"
                                    "  four\n"
                                    "      ^\n");
    error_clear(&err);
    error_at(&err, (struct where){NULL, 9, 1}, "beyond");
    error_quote(&err, source, strlen(source));
    ck_assert_str_eq(printed(&err), "9:1: INVALID_ARGUMENT: beyond\n");
}
END_TEST

START_TEST(test_error_long_line)
{
    char source[5000];
    memset(source, '.', sizeof source);
    source[3999] = '!';
    struct error err = {0};
    error_at(&err, (struct where){"a", 1, 4000}, "here");
    error_quote(&err, source, sizeof source);
    const char *text = printed(&err);
    const char *mark = strchr(text, '!'), *caret = strchr(text, '^');
    ck_assert_ptr_nonnull(mark);
    ck_assert_ptr_nonnull(caret);
    const char *line = strchr(text, '\n') + 1, *below = strchr(line, '\n') + 1;
    ck_assert_int_eq(mark - line, caret - below);
    ck_assert_int_lt(below - line, 120);
}
END_TEST

/* --- files --- */

static char folder[] = "/tmp/referee_test_base_XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = {"file", "cut.gz", "full.gz", "pipe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unlink(in_folder(names[i]));
    }
    rmdir(in_folder("sub"));
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left behind */
}

START_TEST(test_file_write)
{
    struct error err = {0};
    size_t size;
    ck_assert(file_write(in_folder("file"), "abc\0d", 5, &err));
    char *data = file_read(in_folder("file"), &size, &err);
    ck_assert_uint_eq(size, 5);
    ck_assert_mem_eq(data, "abc\0d", 6);
    free(data);
    ck_assert(file_write(in_folder("file"), "", 0, &err));
    data = file_read(in_folder("file"), &size, &err);
    ck_assert_uint_eq(size, 0);
    ck_assert_str_eq(data, "");
    free(data);
    struct stat info;
    ck_assert_int_eq(stat(in_folder("file"), &info), 0);
    ck_assert_int_eq(info.st_mode & 0400, 0400);
    /* A file that cannot be written whole stays as it was: here its place is a folder's. */
    ck_assert_int_eq(mkdir(in_folder("sub"), 0700), 0);
    ck_assert(!file_write(in_folder("sub"), "x", 1, &err));
    ck_assert_int_ne(err.code, ERROR_NONE);
    error_clear(&err);
    ck_assert(!file_write(in_folder("missing/file"), "x", 1, &err));
    ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
    error_clear(&err);
    ck_assert_ptr_null(file_read(in_folder("missing"), &size, &err));
    ck_assert_int_eq(err.code, ERROR_NOT_FOUND);
    error_clear(&err);
    ck_assert_ptr_null(file_read(folder, &size, &err));
    ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
}
END_TEST

/* A pipe is written to, never replaced by a file. */
START_TEST(test_file_pipe)
{
    struct error err = {0};
    struct stat info;
    char read_back[4] = "";
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    int fd = open(in_folder("pipe"), O_RDWR);
    ck_assert(file_write(in_folder("pipe"), "abc", 3, &err));
    ck_assert_int_eq(read(fd, read_back, 3), 3);
    ck_assert_str_eq(read_back, "abc");
    close(fd);
    ck_assert_int_eq(stat(in_folder("pipe"), &info), 0);
    ck_assert(S_ISFIFO(info.st_mode));
}
END_TEST

START_TEST(test_file_gzip)
{
    enum { SIZE = 300000 };
    char *data = malloc(SIZE);
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < SIZE; i++) {
        data[i] = (char)rng_next(&rng);
    }
    gzFile file = gzopen(in_folder("full.gz"), "wb");
    ck_assert_int_eq(gzwrite(file, data, SIZE), SIZE);
    gzclose(file);
    struct error err = {0};
    size_t size;
    char *read = file_read(in_folder("full.gz"), &size, &err);
    ck_assert_uint_eq(size, SIZE);
    ck_assert_mem_eq(read, data, SIZE);
    free(read);
    /* Cut short: an error, not a part of the content. */
    FILE *full = fopen(in_folder("full.gz"), "rb");
    size_t half = fread(data, 1, SIZE / 2, full);
    fclose(full);
    ck_assert(file_write(in_folder("cut.gz"), data, half, &err));
    ck_assert_ptr_null(file_read(in_folder("cut.gz"), &size, &err));
    ck_assert_int_eq(err.code, ERROR_INVALID_ARGUMENT);
    free(data);
}
END_TEST

/* --- random numbers --- */

/* The first outputs of splitmix64 from the seed 1234567, as published with the algorithm (Rosetta
 * Code, "Pseudo-random numbers/Splitmix64"). */
START_TEST(test_rng)
{
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    struct rng rng;
    rng_init(&rng, 1234567);
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(rng_next(&rng), expected[i]);
    }
    int counts[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t value = rng_below(&rng, 7);
        ck_assert_uint_lt(value, 7);
        counts[value]++;
        double uniform = rng_uniform(&rng);
        ck_assert(uniform >= 0 && uniform < 1);
    }
    for (int i = 0; i < 7; i++) { /* 10000 ± 5 standard deviations */
        ck_assert_int_gt(counts[i], 10000 - 465);
        ck_assert_int_lt(counts[i], 10000 + 465);
    }
    ck_assert_uint_eq(rng_below(&rng, 1), 0);
}
END_TEST

/* --- pool --- */

enum { ITEMS = 20011 };
static atomic_int visits[ITEMS];
static atomic_int nested_total, rounding_changed;

static void visit(void *context, int64_t begin, int64_t end)
{
    (void)context;
    rounding_changed |= fegetround() != FE_TONEAREST;
    for (int64_t i = begin; i < end; i++) {
        visits[i]++;
    }
}

static void count_nested(void *context, int64_t begin, int64_t end)
{
    (void)context;
    nested_total += (int)(end - begin);
}

static void nest(void *context, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        pool_for(10, 1, count_nested, context);
    }
}

START_TEST(test_pool)
{
    static const int threads[] = {1, 2, 3, 8, 2};
    static const int64_t counts[] = {0, 1, 2, 1000, ITEMS};
    static const int64_t grains[] = {0, 1, 7, 4096, ITEMS * 2};
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        pool_set_threads(threads[t]);
        ck_assert_int_eq(pool_threads(), threads[t]);
        for (size_t c = 0; c < 5; c++) {
            for (size_t g = 0; g < 5; g++) {
                memset(visits, 0, sizeof visits);
                pool_for(counts[c], grains[g], visit, NULL);
                for (int i = 0; i < ITEMS; i++) { /* each item once, whatever the split */
                    ck_assert_int_eq(visits[i], i < counts[c]);
                }
            }
        }
        nested_total = 0;
        pool_for(50, 1, nest, NULL);
        ck_assert_int_eq(nested_total, 500);
    }
    ck_assert_int_eq(rounding_changed, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *plain = tcase_create("plain"), *files = tcase_create("files");
    tcase_add_test(plain, test_arena);
    tcase_add_test(plain, test_arena_in);
    tcase_add_test(plain, test_grow);
    tcase_add_test(plain, test_map);
    tcase_add_test(plain, test_text);
    tcase_add_test(plain, test_shell_words);
    tcase_add_test(plain, test_error_first_wins);
    tcase_add_test(plain, test_error_caret);
    tcase_add_test(plain, test_error_long_line);
    tcase_add_test(plain, test_rng);
    tcase_add_test(plain, test_pool);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, test_file_write);
    tcase_add_test(files, test_file_pipe);
    tcase_add_test(files, test_file_gzip);
    suite_add_tcase(suite, plain);
    suite_add_tcase(suite, files);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
