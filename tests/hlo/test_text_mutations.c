/* Damaged HLO text: truncated, with flipped bits, with parts cut, doubled and moved. The reader
 * must refuse it or read it, in less than a second; what it reads must print and read back to an
 * equal module. REFEREE_MUTATIONS sets how many (2000 by default), REFEREE_SEED the seed, which is
 * printed first. Texts are the golden ones, and small files of the public corpus
 * (../shared/corpus-data, or below REFEREE_SHARED) where it is there. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

enum { MAX_TEXTS = 512, MAX_SIZE = 16 * 1024 };

static struct {
    char *path, *data;
    size_t size;
} texts[MAX_TEXTS];
static int text_count;

static void collect(const char *folder)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && text_count < MAX_TEXTS;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t length = strlen(path);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            collect(path);
        }
        if (length < 4 || strcmp(path + length - 4, ".hlo") != 0) {
            continue;
        }
        size_t size;
        char *data = file_read(path, &size, NULL);
        if (data == NULL || size > MAX_SIZE) {
            free(data);
            continue;
        }
        texts[text_count].path = memory_strdup(path);
        texts[text_count].data = data;
        texts[text_count++].size = size;
    }
    closedir(directory);
}

static void collect_all(void)
{
    const char *source = getenv("REFEREE_SOURCE"), *shared = getenv("REFEREE_SHARED");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/hlo/golden", source != NULL ? source : ".");
    collect(path);
    ck_assert_msg(text_count > 0, "no texts in %s", path);
    if (shared != NULL) {
        snprintf(path, sizeof path, "%s/corpus-data/hlo", shared);
    } else {
        snprintf(path, sizeof path, "%s/../shared/corpus-data/hlo", source != NULL ? source : ".");
    }
    int before = text_count;
    collect(path);
    if (text_count == before) {
        printf("no public corpus at %s: only the golden texts are damaged\n", path);
    }
}

/* Characters that mean something. */
static const char meaningful[] = "{}()[],=:%#\"'-+*/.<>?_ \n0123456789xeEnbf\\";

/* Damages data[0..size), which has room for twice that; returns the new size. */
static size_t damage(struct rng *rng, char *data, size_t size)
{
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

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether the text was read. */
static bool check_one(const char *data, size_t size, const char *path, long number)
{
    struct error err = {0};
    double start = seconds();
    struct module *module = text_read_module(data, size, path, 1, &err);
    double took = seconds() - start;
    ck_assert_msg(took < 1.0, "mutation %ld of %s takes %.1f s", number, path, took);
    if (module == NULL) {
        ck_assert_msg(err.code != ERROR_NONE, "mutation %ld of %s: refused without an error",
                      number, path);
        return false;
    }
    struct text printed;
    text_init(&printed);
    text_print_module(module, &print_canonical, &printed);
    struct module *again = text_read_module(printed.data, printed.size, "printed", 1, &err);
    ck_assert_msg(again != NULL, "mutation %ld of %s: its print is refused: %d:%d: %s", number,
                  path, err.line, err.column, err.message);
    ck_assert_msg(module_equal(module, again, &err),
                  "mutation %ld of %s: reads back as another: %s", number, path, err.message);
    module_destroy(again);
    module_destroy(module);
    text_finish(&printed);
    return true;
}

START_TEST(mutations)
{
    const char *wish = getenv("REFEREE_MUTATIONS"), *seed_text = getenv("REFEREE_SEED");
    long count = wish != NULL ? atol(wish) : 2000;
    uint64_t seed = seed_text != NULL ? strtoull(seed_text, NULL, 0) : 1;
    printf("seed %llu, %ld mutations\n", (unsigned long long)seed, count);
    collect_all();
    literal_set_memory_limit((size_t)64 << 20);
    char *data = memory_alloc(4 * MAX_SIZE);
    long read = 0;
    for (long number = 0; number < count; number++) {
        struct rng rng;
        rng_init(&rng, seed + 0x100000001 * (uint64_t)number);
        int chosen = (int)rng_below(&rng, (uint64_t)text_count);
        size_t size = texts[chosen].size;
        memcpy(data, texts[chosen].data, size);
        for (uint64_t times = 1 + rng_below(&rng, 3); times > 0 && size > 0; times--) {
            size = damage(&rng, data, size);
            size = size < 2 * MAX_SIZE ? size : 2 * MAX_SIZE;
        }
        /* An exact copy, so that a sanitizer sees what is read beyond its end. */
        char *exact = memory_alloc(size);
        memcpy(exact, data, size);
        read += check_one(exact, size, texts[chosen].path, number);
        free(exact);
    }
    printf("%d texts; %ld of their damaged copies were read\n", text_count, read);
    ck_assert_msg(count < 1000 || (read > 0 && read < count), "all or none were read");
    free(data);
    literal_set_memory_limit(0);
    for (int i = 0; i < text_count; i++) {
        free(texts[i].path);
        free(texts[i].data);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text_mutations");
    TCase *mutation_case = tcase_create("mutations");
    tcase_set_timeout(mutation_case, 900);
    tcase_add_test(mutation_case, mutations);
    suite_add_tcase(suite, mutation_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
