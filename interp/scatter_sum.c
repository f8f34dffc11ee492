/* Scatter with add on floats: each element's exact sum with all its contributions, rounded once.
 *
 * Elements with one contribution are single additions, done in strips. The contributions of the
 * others are sorted by element and summed one element at a time. */
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/exact_sum.h"
#include "interp/poll.h"
#include "interp/scatter_plan.h"

struct contribution {
    int64_t target, source;
};

struct sum_job {
    enum type type; /* of parts */
    int bytes, parts;
    char *to;
    const char *from;
    const struct contribution *sorted;
    int64_t count;
    atomic_bool failed;
};

/* How often each element is hit: 0, 1, or 2 for more. */
static int64_t count_hits(const struct scatter_plan *plan, uint8_t *hits)
{
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], count, several = 0;
    while ((count = scatter_next(plan, &cursor, LANE_STRIP, targets, sources)) > 0) {
        for (int64_t i = 0; i < count; i++) {
            uint8_t *hit = &hits[targets[i]];
            several += *hit == 0 ? 0 : *hit == 1 ? 2 : 1;
            *hit = *hit < 2 ? *hit + 1 : 2;
        }
    }
    return several;
}

/* Adds the contributions of elements that are hit once. */
static void add_single(const struct scatter_plan *plan, const uint8_t *hits, struct literal *result,
                       const struct literal *updates)
{
    enum type type = result->shape->type;
    struct lane_step add;
    lane_binary(OP_ADD, type, &add);
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], count;
    double a[2 * LANE_STRIP], b[2 * LANE_STRIP];
    const void *in[2] = {a, b};
    while ((count = scatter_next(plan, &cursor, LANE_STRIP, targets, sources)) > 0) {
        int64_t kept = 0;
        for (int64_t i = 0; i < count; i++) {
            targets[kept] = targets[i];
            sources[kept] = sources[i];
            kept += hits[targets[i]] == 1;
        }
        lane_gather(type, literal_data(result), targets, a, kept);
        lane_gather(type, literal_data(updates), sources, b, kept);
        lane_run(&add, a, in, kept);
        lane_scatter(type, a, literal_data(result), targets, kept);
    }
}

/* Stable radix sort by target. */
static bool sort_by_target(struct contribution *list, int64_t count, int64_t targets)
{
    struct contribution *other = malloc((size_t)count * sizeof *other + 1);
    if (other == NULL) {
        return false;
    }
    struct contribution *from = list, *to = other;
    for (int shift = 0; shift < 64 && (targets - 1) >> shift > 0; shift += 11) {
        int64_t places[2048] = {0};
        for (int64_t i = 0; i < count; i++) {
            places[from[i].target >> shift & 2047]++;
        }
        int64_t sum = 0;
        for (int i = 0; i < 2048; i++) {
            int64_t here = places[i];
            places[i] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < count; i++) {
            to[places[from[i].target >> shift & 2047]++] = from[i];
        }
        struct contribution *swap = from;
        from = to;
        to = swap;
    }
    if (from != list) {
        memcpy(list, from, (size_t)count * sizeof *list);
    }
    free(other);
    return true;
}

/* Part p of the sources of `count` contributions as doubles. */
static void load_terms(const struct sum_job *job, const struct contribution *list, int64_t count,
                       int p, double *terms)
{
    int64_t offsets[LANE_STRIP];
    const enum type raw = lane_bits_type(job->type);
    uint64_t gathered[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        for (int64_t k = 0; k < n; k++) {
            offsets[k] = list[first + k].source * job->parts + p;
        }
        lane_gather(raw, job->from, offsets, gathered, n);
        float_load(job->type, gathered, terms + first, n);
    }
}

/* Groups that begin in [begin, end) of the sorted list. */
static void sum_groups(void *context, int64_t begin, int64_t end)
{
    struct sum_job *job = context;
    const struct contribution *sorted = job->sorted;
    int64_t capacity = 256;
    double *terms = malloc((size_t)capacity * sizeof *terms);
    int64_t i = begin;
    while (i > 0 && i < end && sorted[i].target == sorted[i - 1].target) {
        i++;
    }
    while (i < end && terms != NULL) {
        int64_t target = sorted[i].target, n = 0;
        while (i + n < job->count && sorted[i + n].target == target) {
            n++;
        }
        if (n > capacity) {
            free(terms);
            capacity = 2 * n;
            terms = malloc((size_t)capacity * sizeof *terms);
        }
        for (int p = 0; p < job->parts && terms != NULL; p++) {
            char *element = job->to + (target * job->parts + p) * job->bytes;
            double init;
            load_terms(job, sorted + i, n, p, terms);
            float_load(job->type, element, &init, 1);
            double sum = exact_sum(job->type, init, terms, n, 1);
            float_store(job->type, &sum, element, 1);
        }
        i += n;
    }
    if (terms == NULL) {
        job->failed = true;
    }
    free(terms);
}

static bool add_several(const struct scatter_plan *plan, const uint8_t *hits, int64_t several,
                        struct literal *result, const struct literal *updates)
{
    struct contribution *list = malloc((size_t)several * sizeof *list);
    if (list == NULL) {
        return false;
    }
    struct scatter_cursor cursor = {0};
    int64_t targets[LANE_STRIP], sources[LANE_STRIP], count, kept = 0;
    while ((count = scatter_next(plan, &cursor, LANE_STRIP, targets, sources)) > 0) {
        for (int64_t i = 0; i < count; i++) {
            if (hits[targets[i]] == 2) {
                list[kept++] = (struct contribution){targets[i], sources[i]};
            }
        }
    }
    bool ok = sort_by_target(list, kept, literal_elements(result));
    enum type type = result->shape->type;
    struct sum_job job = {.type = type_part(type),
                          .bytes = type_bytes(type_part(type)),
                          .parts = type_is_complex(type) ? 2 : 1,
                          .to = literal_data(result),
                          .from = literal_data(updates),
                          .sorted = list,
                          .count = kept};
    if (ok) {
        poll_for(kept, 1024, sum_groups, &job);
    }
    free(list);
    return ok && !job.failed;
}

bool scatter_sum(const struct scatter_plan *plan, struct literal *result,
                 const struct literal *updates, struct error *err)
{
    bool done;
    if (!scatter_sum_rows(plan, result, updates, &done, err) || done) {
        return done;
    }
    uint8_t *hits = calloc((size_t)literal_elements(result) + 1, 1);
    bool ok = hits != NULL;
    if (ok) {
        int64_t several = count_hits(plan, hits);
        ok = !poll_now(); /* else they are not all counted */
        if (ok) {
            add_single(plan, hits, result, updates);
            ok = several == 0 || add_several(plan, hits, several, result, updates);
        }
    }
    free(hits);
    return ok || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for the sums of a scatter");
}
