/* Scatters whose windows are runs of memory: whole rows are combined at once. */
#include <stdlib.h>
#include <string.h>

#include "interp/exact_sum.h"
#include "interp/poll.h"
#include "interp/scatter_plan.h"

/* Windows shorter than this are not worth it. */
enum { SHORT = 8 };

static bool is_run(const int64_t *offsets, int64_t count)
{
    for (int64_t i = 1; i < count; i++) {
        if (offsets[i] != offsets[0] + i) {
            return false;
        }
    }
    return true;
}

bool scatter_is_rows(const struct scatter_plan *plan)
{
    return plan->window >= SHORT && is_run(plan->offset, plan->window) &&
           is_run(plan->update_offset, plan->window);
}

void scatter_rows(const struct scatter_plan *plan, const struct lane_step *step,
                  struct literal *result, const struct literal *updates)
{
    const int64_t bytes = type_bytes(result->shape->type);
    const int64_t between = 1 + 65536 / plan->window; /* questions whether to stop */
    for (int64_t s = 0; s < plan->places && (s % between != 0 || !poll_now()); s++) {
        if (plan->start[s] < 0) {
            continue;
        }
        char *to = (char *)literal_data(result) + (plan->start[s] + plan->offset[0]) * bytes;
        const char *from = (const char *)literal_data(updates) +
                           (plan->update_start[s] + plan->update_offset[0]) * bytes;
        const void *in[2] = {to, from};
        if (step == NULL) {
            memcpy(to, from, (size_t)(plan->window * bytes));
        } else {
            lane_run(step, to, in, plan->window);
        }
    }
}

/* --- exact sums of rows --- */

struct place {
    int64_t start, source;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    return p->start != q->start ? (p->start > q->start) - (p->start < q->start)
                                : (p->source > q->source) - (p->source < q->source);
}

struct rows_job {
    const struct scatter_plan *plan;
    enum type type;
    int64_t row; /* bytes */
    char *to;
    const char *from;
    const struct place *places;
    int64_t count;
    atomic_bool failed;
};

/* Places [first, last) have one target: its row and theirs are summed. rows: memory for all. */
static void sum_group(const struct rows_job *job, int64_t first, int64_t last, char *rows)
{
    const int64_t bytes = type_bytes(job->type);
    char *target = job->to + (job->places[first].start + job->plan->offset[0]) * bytes;
    memcpy(rows, target, (size_t)job->row);
    for (int64_t i = first; i < last; i++) {
        memcpy(rows + (i - first + 1) * job->row,
               job->from + (job->places[i].source + job->plan->update_offset[0]) * bytes,
               (size_t)job->row);
    }
    exact_sum_reduce(job->type, -0.0, job->type, rows, 1, last - first + 1, job->plan->window,
                     target);
}

/* Groups that begin in [begin, end). */
static void sum_range(void *context, int64_t begin, int64_t end)
{
    struct rows_job *job = context;
    const struct place *places = job->places;
    int64_t first = begin, room = 0;
    char *rows = NULL;
    while (first > 0 && first < end && places[first].start == places[first - 1].start) {
        first++;
    }
    while (first < end) {
        int64_t last = first + 1;
        while (last < job->count && places[last].start == places[first].start) {
            last++;
        }
        if (last - first + 1 > room) {
            free(rows);
            room = 2 * (last - first + 1);
            rows = malloc((size_t)(room * job->row));
            if (rows == NULL) {
                job->failed = true;
                return;
            }
        }
        sum_group(job, first, last, rows);
        first = last;
    }
    free(rows);
}

/* Do rows either coincide or lie apart? */
static bool rows_are_apart(const struct place *places, int64_t count, int64_t window)
{
    for (int64_t i = 1; i < count; i++) {
        int64_t distance = places[i].start - places[i - 1].start;
        if (distance != 0 && distance < window) {
            return false;
        }
    }
    return true;
}

bool scatter_sum_rows(const struct scatter_plan *plan, struct literal *result,
                      const struct literal *updates, bool *done, struct error *err)
{
    *done = false;
    if (!scatter_is_rows(plan) || type_is_complex(result->shape->type)) {
        return true;
    }
    struct place *places = malloc((size_t)(plan->places + 1) * sizeof *places);
    if (places == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a scatter");
    }
    int64_t count = 0;
    for (int64_t s = 0; s < plan->places; s++) {
        if (plan->start[s] >= 0) {
            places[count++] = (struct place){plan->start[s], plan->update_start[s]};
        }
    }
    qsort(places, (size_t)count, sizeof *places, compare_places);
    bool ok = true;
    if (rows_are_apart(places, count, plan->window)) {
        enum type type = result->shape->type;
        struct rows_job job = {.plan = plan,
                               .type = type,
                               .row = plan->window * type_bytes(type),
                               .to = literal_data(result),
                               .from = literal_data(updates),
                               .places = places,
                               .count = count};
        poll_for(count, 1 + 4096 / plan->window, sum_range, &job);
        ok = !job.failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a scatter");
        *done = true;
    }
    free(places);
    return ok;
}
