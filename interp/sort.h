/* Sorting: what sort and top-k share. Private to the evaluators. */
#ifndef INTERP_SORT_H
#define INTERP_SORT_H

#include "interp/eval.h"
#include "interp/program.h"

/* --- sort_keys.c: comparators that compare one function of each side --- */

/* One key: a program from an element of every array to a value; how those are ordered. */
struct sort_key {
    struct program *program;
    enum type type;
    bool descending;
    bool total; /* floats in total order; otherwise NaN has no place and ±0 are equal */
};

/* The keys of a comparator of `arrays` arrays, the most significant first; 0 if it is not known to
 * compare keys. */
enum { SORT_MAX_KEYS = 8 };
int sort_keys_find(const struct computation *comparator, int arrays, struct sort_key *keys);
void sort_keys_finish(struct sort_key *keys, int count);

/* Maps `count` lanes of a key to integers in the order of the key (so that descending ones grow
 * too). False if one has no place. */
bool sort_key_map(const struct sort_key *key, const void *strip, uint64_t *out, int64_t count);
/* Bits that the integers of a key have. */
int sort_key_bits(const struct sort_key *key);

/* --- sort_radix.c --- */

/* A key and where it came from. */
struct sort_item {
    uint64_t key;
    int64_t index;
};
/* Sorts items by key, stable. other: memory for as many. Returns the one of the two that holds the
 * result; NULL when the work is to stop (poll.h). */
struct sort_item *sort_items(struct sort_item *items, struct sort_item *other, int64_t count,
                             int bits);

/* --- sort_merge.c: any comparator --- */

/* A set of lines, each of n elements, `stride` apart; data[k] are the arrays. */
struct sort_lines {
    const struct program *comparator;
    int arrays;
    const void *const *data;
    int64_t n, stride;
    const int64_t *bases; /* [lines] the first element of each */
    int64_t lines;
};
/* order[line * n + place] = which element of the line stands there. False with *err. */
bool sort_merge(const struct sort_lines *lines, int64_t *order, struct error *err);

#endif
