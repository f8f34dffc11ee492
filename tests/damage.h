/* For tests that damage what readers read: how many times, from which seed, in which ways. The
 * environment: REFEREE_MUTATIONS is the number for each reader (2000 by default), REFEREE_SEED the
 * seed. To be run under ASan and UBSan. */
#ifndef TESTS_DAMAGE_H
#define TESTS_DAMAGE_H

#include <check.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hlo/base/arena.h"
#include "hlo/base/file.h"
#include "hlo/base/rng.h"

static inline uint64_t environment_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static inline uint64_t damage_count(void)
{
    return environment_number("REFEREE_MUTATIONS", 2000);
}

/* The generator of one damaged copy: any of them can be made again alone. */
static inline void damage_rng(struct rng *rng, uint64_t number)
{
    rng_init(rng, environment_number("REFEREE_SEED", 1) + 0x100000001 * number);
}

/* CPU time of the process. */
static inline double damage_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Room that damage_text wants for a text of that size. */
static inline size_t damage_room(size_t size)
{
    return 2 * size + 64;
}

/* Changes data[0..size), which has damage_room; returns the new size. */
static inline size_t damage_text(struct rng *rng, char *data, size_t size)
{
    static const char meaningful[] = "{}()[],=:%#\"'-+*/.<>?_ \n0123456789xeEnbf\\";
    if (size == 0) {
        return 0;
    }
    size_t at = rng_below(rng, size), length = 1 + rng_below(rng, size < 40 ? size : 40);
    length = length < size - at ? length : size - at;
    switch (rng_below(rng, 8)) {
    case 0: /* cut off */
        return at;
    case 1: /* flip a bit */
        data[at] = (char)(data[at] ^ 1 << rng_below(rng, 8));
        return size;
    case 2: /* another character */
        data[at] = meaningful[rng_below(rng, sizeof meaningful - 1)];
        return size;
    case 3: /* a part is missing */
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    case 4: /* a part is there twice */
        memmove(data + at + length, data + at, size - at);
        return size + length;
    case 5: { /* a part is overwritten by another */
        size_t from = rng_below(rng, size - length + 1);
        memmove(data + at, data + from, length);
        return size;
    }
    case 6: /* a character more */
        memmove(data + at + 1, data + at, size - at);
        data[at] = meaningful[rng_below(rng, sizeof meaningful - 1)];
        return size + 1;
    default: /* a number becomes large */
        for (size_t i = at; i < size; i++) {
            if (data[i] >= '0' && data[i] <= '9') {
                memmove(data + i + 9, data + i, size - i);
                memcpy(data + i, "999999999", 9);
                return size + 9;
            }
        }
        return size;
    }
}

/* For bytes of no text. One to eight changes: bits flipped, bytes set, pieces cut out, doubled or
 * moved, the end cut. */
static inline size_t damage_bytes(struct rng *rng, char *data, size_t size, size_t room)
{
    for (uint64_t changes = 1 + rng_below(rng, 8); changes > 0 && size > 0; changes--) {
        size_t at = rng_below(rng, size);
        size_t length = 1 + rng_below(rng, size - at < 16 ? size - at : 16);
        switch (rng_below(rng, 6)) {
        case 0:
            data[at] ^= (char)(1 << rng_below(rng, 8));
            break;
        case 1: {
            static const unsigned char bytes[] = {0, 1, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0xfe};
            data[at] = (char)bytes[rng_below(rng, sizeof bytes)];
            break;
        }
        case 2:
            memmove(data + at, data + at + length, size - at - length);
            size -= length;
            break;
        case 3:
            if (size + length <= room) {
                memmove(data + at + length, data + at, size - at);
                size += length;
            }
            break;
        case 4:
            memmove(data + at, data + rng_below(rng, size - length + 1), length);
            break;
        default:
            if (rng_below(rng, 8) == 0) {
                size = at;
            }
            break;
        }
    }
    return size;
}

/* Puts another value in place of a number, a word or a string; the text has damage_room. */
static inline size_t damage_value(struct rng *rng, char *data, size_t size)
{
    static const char *const values[] = {"0",
                                         "1",
                                         "2",
                                         "3",
                                         "-1",
                                         "65",
                                         "78",
                                         "1000000",
                                         "2147483647",
                                         "-2147483648",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "18446744073709551616",
                                         "0.5",
                                         "-0",
                                         "1e308",
                                         "-1e-320",
                                         "1e999",
                                         "nan",
                                         "\"NaN\"",
                                         "\"-Infinity\"",
                                         "true",
                                         "false",
                                         "null",
                                         "\"\"",
                                         "\"1\"",
                                         "\"9223372036854775807\"",
                                         "\"x\"",
                                         "[]",
                                         "[0]",
                                         "[\"1\",\"0\",\"7\"]",
                                         "[-1,9223372036854775807]",
                                         "[[]]",
                                         "{}",
                                         "{\"a\":1}",
                                         ""};
    size_t at = size > 0 ? rng_below(rng, size) : 0;
    while (at < size && strchr(":=[,", data[at]) == NULL) {
        at++;
    }
    if (at == size) {
        return damage_text(rng, data, size);
    }
    at += 1 + (at + 1 < size && data[at + 1] == ' ');
    size_t end = at;
    while (end < size && strchr(",]} :", data[end]) == NULL) {
        end++;
    }
    const char *value = values[rng_below(rng, sizeof values / sizeof *values)];
    size_t length = strlen(value);
    memmove(data + at + length, data + end, size - end);
    memcpy(data + at, value, length);
    return size - (end - at) + length;
}

/* Puts another number in place of one, most often a small one, so that much stays valid; the text
 * has damage_room. */
static inline size_t damage_number(struct rng *rng, char *data, size_t size)
{
    static const char *const large[] = {"65",      "513",        "4097",
                                        "1000000", "2147483647", "9223372036854775807"};
    size_t at = size > 0 ? rng_below(rng, size) : 0;
    while (at < size && (data[at] < '0' || data[at] > '9')) {
        at++;
    }
    if (at == size) {
        return damage_text(rng, data, size);
    }
    size_t end = at + 1;
    while (end < size && data[end] >= '0' && data[end] <= '9') {
        end++;
    }
    char number[32];
    snprintf(number, sizeof number, "%d", (int)rng_below(rng, 7));
    if (rng_below(rng, 8) == 0) {
        snprintf(number, sizeof number, "%s", large[rng_below(rng, sizeof large / sizeof *large)]);
    }
    size_t length = strlen(number);
    memmove(data + at + length, data + end, size - end);
    memcpy(data + at, number, length);
    return size - (end - at) + length;
}

/* One to three changes of a copy, in memory of exactly its size (and a NUL, where the reader may
 * count on one), so that a sanitizer sees what is read beyond its end. Free it. */
static inline char *damage_copy(struct rng *rng, const char *data, size_t *size, bool terminated)
{
    static size_t (*const ways[])(struct rng *, char *, size_t) = {damage_text, damage_value,
                                                                   damage_number, damage_number};
    size_t room = *size;
    uint64_t changes = 1 + rng_below(rng, 3);
    for (uint64_t i = 0; i < changes; i++) {
        room = damage_room(room);
    }
    char *work = memory_alloc(room), *exact;
    memcpy(work, data, *size);
    for (uint64_t i = 0; i < changes; i++) {
        *size = ways[rng_below(rng, sizeof ways / sizeof *ways)](rng, work, *size);
    }
    exact = memory_alloc(*size + terminated);
    memcpy(exact, work, *size);
    if (terminated) {
        exact[*size] = 0;
    }
    free(work);
    return exact;
}

/* --- texts to damage --- */

enum { DAMAGE_MAX_TEXTS = 1024, DAMAGE_MAX_SIZE = 16 * 1024 };

struct damage_texts {
    int count;
    struct damage_text {
        char *path, *data;
        size_t size;
    } list[DAMAGE_MAX_TEXTS];
};

/* Adds the files below a folder whose names end so, but large ones. */
static inline void damage_collect_files(struct damage_texts *texts, const char *folder,
                                        const char *ending)
{
    size_t ending_size = strlen(ending);
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[4096];
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) {
            continue;
        }
        size_t length = strlen(path), size;
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            damage_collect_files(texts, path, ending);
        }
        if (texts->count == DAMAGE_MAX_TEXTS || length < ending_size ||
            strcmp(path + length - ending_size, ending) != 0) {
            continue;
        }
        char *data = file_read(path, &size, NULL);
        if (data == NULL || size > DAMAGE_MAX_SIZE) {
            free(data);
            continue;
        }
        texts->list[texts->count++] = (struct damage_text){memory_strdup(path), data, size};
    }
    closedir(directory);
}

static inline void damage_collect(struct damage_texts *texts, const char *folder)
{
    damage_collect_files(texts, folder, ".hlo");
}

/* The same of a folder of the sources; there must be some. */
static inline void damage_collect_source_files(struct damage_texts *texts, const char *folder,
                                               const char *ending)
{
    const char *source = getenv("REFEREE_SOURCE");
    char path[4096];
    int before = texts->count;
    snprintf(path, sizeof path, "%s/%s", source != NULL ? source : ".", folder);
    damage_collect_files(texts, path, ending);
    ck_assert_msg(texts->count > before, "no texts in %s", path);
}

static inline void damage_collect_source(struct damage_texts *texts, const char *folder)
{
    damage_collect_source_files(texts, folder, ".hlo");
}

/* The same of a folder of the public corpus, which lies beside the sources or below
 * REFEREE_SHARED; says so where it is not there. */
static inline void damage_collect_public(struct damage_texts *texts, const char *folder,
                                         const char *ending)
{
    const char *source = getenv("REFEREE_SOURCE"), *shared = getenv("REFEREE_SHARED");
    char path[4096];
    int before = texts->count;
    if (shared != NULL) {
        snprintf(path, sizeof path, "%s/corpus-data/%s", shared, folder);
    } else {
        snprintf(path, sizeof path, "%s/../shared/corpus-data/%s", source != NULL ? source : ".",
                 folder);
    }
    damage_collect_files(texts, path, ending);
    if (texts->count == before) {
        printf("no public corpus at %s: only our own texts are damaged\n", path);
    }
}

/* Gives a reader as many damaged copies of the texts as damage_count() says; `read` tells whether
 * it read one. Some of them must be read, and some not. */
static inline void damage_read_texts(const struct damage_texts *texts, bool terminated,
                                     bool (*read)(const char *data, size_t size, const char *path,
                                                  long number))
{
    uint64_t count = damage_count(), good = 0;
    printf("seed %llu, %llu mutations\n", (unsigned long long)environment_number("REFEREE_SEED", 1),
           (unsigned long long)count);
    for (uint64_t number = 0; number < count; number++) {
        struct rng rng;
        damage_rng(&rng, number);
        const struct damage_text *text = &texts->list[rng_below(&rng, (uint64_t)texts->count)];
        size_t size = text->size;
        char *damaged = damage_copy(&rng, text->data, &size, terminated);
        good += read(damaged, size, text->path, (long)number);
        free(damaged);
    }
    printf("%d texts; %llu of their damaged copies were read\n", texts->count,
           (unsigned long long)good);
    ck_assert_msg(count < 1000 || (good > 0 && good < count), "all or none were read");
}

static inline void damage_texts_finish(struct damage_texts *texts)
{
    for (int i = 0; i < texts->count; i++) {
        free(texts->list[i].path);
        free(texts->list[i].data);
    }
    texts->count = 0;
}

#endif
