/* Sorting with any comparator: merge sort, bottom up and stable, all merges of a level side by side
 * so that the comparator works on full strips. */
#include <stdlib.h>
#include <string.h>

#include "interp/poll.h"
#include "interp/sort.h"

/* One merge under way: two sorted runs of a line, [left, left_end) and [left_end, right_end) at
 * first, into `to`. Places count through all lines. */
struct merge {
    int64_t left, left_end, right, right_end, to, base;
};

struct sorter {
    const struct sort_lines *lines;
    struct program_frame *frame;
    const int64_t *from;
    int64_t *into;
    struct merge merges[LANE_STRIP];
    int64_t active;
    uint64_t steps;
};

/* Puts element offsets of one side into its inputs. */
static void load_side(const struct sorter *sorter, const int64_t *offsets, int side)
{
    const struct program *program = sorter->lines->comparator;
    for (int k = 0; k < sorter->lines->arrays; k++) {
        int input = 2 * k + side;
        if (program_input_is_used(program, input)) {
            lane_gather(program_input_type(program, input), sorter->lines->data[k], offsets,
                        program_input(sorter->frame, input), sorter->active);
        }
    }
}

/* One element of every active merge moves to its place: the right one only if it is less. */
static bool advance(struct sorter *sorter)
{
    int64_t lefts[LANE_STRIP], rights[LANE_STRIP];
    const int64_t stride = sorter->lines->stride;
    for (int64_t i = 0; i < sorter->active; i++) {
        const struct merge *merge = &sorter->merges[i];
        lefts[i] = merge->base + sorter->from[merge->left] * stride;
        rights[i] = merge->base + sorter->from[merge->right] * stride;
    }
    load_side(sorter, rights, 0);
    load_side(sorter, lefts, 1);
    if (!program_run(sorter->frame, sorter->active)) {
        return false;
    }
    if (++sorter->steps % 64 == 0 && poll_now()) {
        return false;
    }
    const uint8_t *right_first = program_output(sorter->frame, 0);
    for (int64_t i = 0; i < sorter->active; i++) {
        struct merge *merge = &sorter->merges[i];
        sorter->into[merge->to++] = sorter->from[right_first[i] ? merge->right++ : merge->left++];
    }
    return true;
}

/* Copies what is left of merges with an empty side and forgets them. */
static void retire(struct sorter *sorter)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < sorter->active; i++) {
        struct merge merge = sorter->merges[i];
        if (merge.left < merge.left_end && merge.right < merge.right_end) {
            sorter->merges[kept++] = merge;
            continue;
        }
        size_t lefts = (size_t)(merge.left_end - merge.left);
        size_t rights = (size_t)(merge.right_end - merge.right);
        memcpy(sorter->into + merge.to, sorter->from + merge.left, lefts * sizeof(int64_t));
        memcpy(sorter->into + merge.to + lefts, sorter->from + merge.right,
               rights * sizeof(int64_t));
    }
    sorter->active = kept;
}

/* Adds merges number *next and on of runs of `width` while there is room. */
static void admit(struct sorter *sorter, int64_t width, int64_t *next)
{
    const struct sort_lines *lines = sorter->lines;
    int64_t per_line = (lines->n + 2 * width - 1) / (2 * width);
    while (sorter->active < LANE_STRIP && *next < per_line * lines->lines) {
        int64_t line = *next / per_line, start = *next % per_line * 2 * width;
        int64_t middle = start + width < lines->n ? start + width : lines->n;
        int64_t end = start + 2 * width < lines->n ? start + 2 * width : lines->n;
        int64_t first = line * lines->n;
        sorter->merges[sorter->active++] =
            (struct merge){first + start, first + middle, first + middle,
                           first + end,   first + start,  lines->bases[line]};
        (*next)++;
    }
}

static bool sort_level(struct sorter *sorter, int64_t width)
{
    int64_t next = 0;
    sorter->active = 0;
    for (;;) {
        admit(sorter, width, &next);
        retire(sorter);
        if (sorter->active == 0) {
            int64_t per_line = (sorter->lines->n + 2 * width - 1) / (2 * width);
            if (next == per_line * sorter->lines->lines) {
                return true;
            }
        } else if (!advance(sorter)) {
            return false;
        }
    }
}

bool sort_merge(const struct sort_lines *lines, int64_t *order, struct error *err)
{
    int64_t count = lines->n * lines->lines;
    struct sorter *sorter = malloc(sizeof *sorter);
    int64_t *other = malloc((size_t)(count + 1) * sizeof *other);
    struct program_frame *frame = program_frame_create(lines->comparator, err);
    bool ok = sorter != NULL && other != NULL && frame != NULL;
    for (int64_t i = 0; i < count; i++) {
        order[i] = i % lines->n;
    }
    int64_t *from = order, *into = other;
    for (int64_t width = 1; width < lines->n && ok; width *= 2) {
        *sorter = (struct sorter){.lines = lines, .frame = frame, .from = from, .into = into};
        ok = sort_level(sorter, width);
        int64_t *swap = from;
        from = into;
        into = swap;
    }
    if (ok && from != order) {
        memcpy(order, from, (size_t)count * sizeof *order);
    }
    program_frame_destroy(frame);
    free(other);
    free(sorter);
    return ok || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to sort");
}
