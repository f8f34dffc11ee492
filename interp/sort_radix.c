/* Stable sorting of integers: insertion and merging for few, digits from the last to the first for
 * many. Keys of at most 32 bits travel in one word with their index. */
#include <string.h>

#include "interp/poll.h"
#include "interp/sort.h"

enum {
    RUN = 12,        /* runs sorted by insertion before merging */
    FEW = 400,       /* merging is quicker up to here */
    DIGIT = 8,       /* bits of a digit */
    LONG_DIGIT = 11, /* where keys are long and there are many */
    LONG = 1 << 15,
    BETWEEN = 1 << 16, /* questions whether to stop */
};

/* --- few --- */

static void insert(struct sort_item *items, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        struct sort_item item = items[i];
        int64_t at = i;
        while (at > 0 && items[at - 1].key > item.key) {
            items[at] = items[at - 1];
            at--;
        }
        items[at] = item;
    }
}

/* Two sorted runs next to each other into `to`. */
static void merge(const struct sort_item *from, int64_t middle, int64_t end, struct sort_item *to)
{
    int64_t left = 0, right = middle;
    for (int64_t i = 0; i < end; i++) {
        bool take_right = left == middle || (right < end && from[right].key < from[left].key);
        to[i] = from[take_right ? right : left];
        right += take_right;
        left += !take_right;
    }
}

static struct sort_item *sort_few(struct sort_item *items, struct sort_item *other, int64_t count)
{
    for (int64_t first = 0; first < count; first += RUN) {
        insert(items + first, count - first < RUN ? count - first : RUN);
    }
    for (int64_t width = RUN; width < count; width *= 2) {
        for (int64_t first = 0; first < count; first += 2 * width) {
            int64_t rest = count - first;
            merge(items + first, rest < width ? rest : width, rest < 2 * width ? rest : 2 * width,
                  other + first);
        }
        struct sort_item *swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* --- many, by digits --- */

/* The counts of each digit as the places where its first item goes; false if all are equal. */
static bool make_places(int64_t *places, int digit, int64_t count)
{
    int64_t sum = 0;
    for (int64_t d = 0; d < INT64_C(1) << digit; d++) {
        int64_t here = places[d];
        if (here == count) {
            return false;
        }
        places[d] = sum;
        sum += here;
    }
    return true;
}

static struct sort_item *sort_wide(struct sort_item *items, struct sort_item *other, int64_t count,
                                   int bits)
{
    const int digit = count >= LONG ? LONG_DIGIT : DIGIT;
    const uint64_t mask = (UINT64_C(1) << digit) - 1;
    int64_t places[1 << LONG_DIGIT];
    for (int shift = 0; shift < bits; shift += digit) {
        memset(places, 0, sizeof places);
        for (int64_t i = 0; i < count; i++) {
            places[items[i].key >> shift & mask]++;
        }
        if (!make_places(places, digit, count)) {
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            if (i % BETWEEN == BETWEEN - 1 && poll_now()) {
                return NULL;
            }
            other[places[items[i].key >> shift & mask]++] = items[i];
        }
        struct sort_item *swap = items;
        items = other;
        other = swap;
    }
    return items;
}

/* Words of key and index, in the memory of the items; sorted by the key alone. */
static uint64_t *sort_words(uint64_t *words, uint64_t *other, int64_t count, int bits)
{
    const int digit = bits > 16 && count >= LONG ? LONG_DIGIT : DIGIT;
    const uint64_t mask = (UINT64_C(1) << digit) - 1;
    int64_t places[1 << LONG_DIGIT];
    for (int shift = 32; shift < 32 + bits; shift += digit) {
        memset(places, 0, sizeof places);
        for (int64_t i = 0; i < count; i++) {
            places[words[i] >> shift & mask]++;
        }
        if (!make_places(places, digit, count)) {
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            if (i % BETWEEN == BETWEEN - 1 && poll_now()) {
                return NULL;
            }
            other[places[words[i] >> shift & mask]++] = words[i];
        }
        uint64_t *swap = words;
        words = other;
        other = swap;
    }
    return words;
}

static struct sort_item *sort_narrow(struct sort_item *items, struct sort_item *other,
                                     int64_t count, int bits)
{
    /* Two arrays of words fill the other memory. */
    uint64_t *words = (uint64_t *)other, *more = words + count;
    for (int64_t i = 0; i < count; i++) {
        words[i] = items[i].key << 32 | (uint64_t)items[i].index;
    }
    const uint64_t *sorted = sort_words(words, more, count, bits);
    if (sorted == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        items[i] = (struct sort_item){sorted[i] >> 32, (int64_t)(sorted[i] & UINT32_MAX)};
    }
    return items;
}

struct sort_item *sort_items(struct sort_item *items, struct sort_item *other, int64_t count,
                             int bits)
{
    if (count <= FEW) {
        return sort_few(items, other, count);
    }
    if (bits <= 32 && count <= UINT32_MAX) {
        return sort_narrow(items, other, count, bits);
    }
    return sort_wide(items, other, count, bits);
}
