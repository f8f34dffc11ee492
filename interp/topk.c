/* topk: the k largest (or smallest) of each line of the last dimension, and where they are. Floats
 * are in total order but for NaN, which is the largest whatever its sign (choices.h); of equal ones
 * the lower index comes first. */
#include <stdlib.h>
#include <string.h>

#include "interp/marks.h"
#include "interp/poll.h"
#include "interp/sort.h"

struct job {
    const struct literal *operand;
    struct literal *values, *indices;
    struct sort_key key;
    int64_t n, k;
    atomic_bool failed;
};

/* The integers of up to LANE_STRIP elements, growing in the order of the result. */
static void map_strip(const struct job *job, int64_t first, int64_t count, uint64_t *mapped)
{
    enum type type = job->key.type;
    double strip[LANE_STRIP];
    const uint64_t beyond = ~UINT64_C(0) >> (64 - sort_key_bits(&job->key));
    const uint64_t nan = job->key.descending ? 0 : beyond;
    const char *data = literal_data(job->operand);
    lane_load(type, data + first * type_bytes(type), strip, count);
    sort_key_map(&job->key, strip, mapped, count);
    if (type == TYPE_F32) {
        const float *values = (const float *)strip;
        for (int64_t i = 0; i < count; i++) {
            mapped[i] = values[i] == values[i] ? mapped[i] : nan;
        }
    } else if (type == TYPE_BF16) {
        const uint16_t *values = (const uint16_t *)strip;
        for (int64_t i = 0; i < count; i++) {
            mapped[i] = (values[i] & 0x7fff) <= 0x7f80 ? mapped[i] : nan;
        }
    } else if (type_is_float(type)) {
        for (int64_t i = 0; i < count; i++) {
            mapped[i] = strip[i] == strip[i] ? mapped[i] : nan;
        }
    }
}

static bool before(const struct sort_item *a, const struct sort_item *b)
{
    return a->key < b->key || (a->key == b->key && a->index < b->index);
}

/* Restores the heap below `at`: no item comes before one above it. */
static void sink(struct sort_item *heap, int64_t size, int64_t at)
{
    for (int64_t child; (child = 2 * at + 1) < size; at = child) {
        child += child + 1 < size && before(&heap[child], &heap[child + 1]);
        if (!before(&heap[at], &heap[child])) {
            return;
        }
        struct sort_item swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* The k first of a line, in no order: a heap whose top is the last of them. False when the work is
 * to stop. */
static bool keep_first(const struct job *job, int64_t line, struct sort_item *heap)
{
    uint64_t mapped[LANE_STRIP];
    for (int64_t first = 0; first < job->n; first += LANE_STRIP) {
        int64_t count = job->n - first < LANE_STRIP ? job->n - first : LANE_STRIP;
        map_strip(job, line * job->n + first, count, mapped);
        if (first / LANE_STRIP % 256 == 255 && poll_now()) {
            return false;
        }
        for (int64_t i = 0; i < count; i++) {
            int64_t index = first + i;
            if (index < job->k) {
                heap[index] = (struct sort_item){mapped[i], index};
                for (int64_t at = job->k / 2 - 1; index == job->k - 1 && at >= 0; at--) {
                    sink(heap, job->k, at);
                }
            } else if (mapped[i] < heap[0].key) {
                heap[0] = (struct sort_item){mapped[i], index};
                sink(heap, job->k, 0);
            }
        }
    }
    return true;
}

/* The whole line in order; NULL when the work is to stop. */
static struct sort_item *sort_line(const struct job *job, int64_t line, struct sort_item *items,
                                   struct sort_item *other)
{
    uint64_t mapped[LANE_STRIP];
    for (int64_t first = 0; first < job->n; first += LANE_STRIP) {
        int64_t count = job->n - first < LANE_STRIP ? job->n - first : LANE_STRIP;
        map_strip(job, line * job->n + first, count, mapped);
        for (int64_t i = 0; i < count; i++) {
            items[first + i] = (struct sort_item){mapped[i], first + i};
        }
    }
    return sort_items(items, other, job->n, sort_key_bits(&job->key));
}

static int compare_items(const void *a, const void *b)
{
    return before(a, b) ? -1 : 1;
}

static void topk_range(void *context, int64_t begin, int64_t end)
{
    struct job *job = context;
    const size_t bytes = (size_t)type_bytes(job->key.type);
    const bool few = job->k < job->n / 8;
    const size_t room = (size_t)(few ? job->k : job->n) + 1;
    struct sort_item *items = malloc(room * sizeof *items);
    struct sort_item *other = malloc(room * sizeof *other);
    for (int64_t l = begin; l < end && items != NULL && other != NULL; l++) {
        const struct sort_item *sorted = items;
        if (!few) {
            sorted = sort_line(job, l, items, other);
        } else if (keep_first(job, l, items)) {
            qsort(items, (size_t)job->k, sizeof *items, compare_items);
        } else {
            sorted = NULL;
        }
        if (sorted == NULL) {
            break;
        }
        for (int64_t i = 0; i < job->k; i++) {
            memcpy((char *)literal_data(job->values) + (size_t)(l * job->k + i) * bytes,
                   (const char *)literal_data(job->operand) +
                       (size_t)(l * job->n + sorted[i].index) * bytes,
                   bytes);
            literal_set_int(job->indices, l * job->k + i, sorted[i].index);
        }
    }
    if (items == NULL || other == NULL) {
        job->failed = true;
    }
    free(items);
    free(other);
}

/* A line with an open element has an open result. */
static void spread_marks(const struct job *job)
{
    const uint8_t *marks = marks_of(job->operand);
    int64_t elements = literal_elements(job->operand);
    for (int64_t i = 0; marks != NULL && i < elements; i++) {
        for (int64_t j = 0; mark_get(marks, i) && j < job->k; j++) {
            mark_set(marks_make(job->values), i / job->n * job->k + j);
            mark_set(marks_make(job->indices), i / job->n * job->k + j);
        }
    }
}

struct literal *eval_topk(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    const struct shape *shape = operand->shape;
    if (type_is_complex(shape->type) || shape->rank == 0) {
        error_set(err, ERROR_UNIMPLEMENTED, "topk of %s", shape_text(shape));
        return NULL;
    }
    struct literal *result = literal_create(instruction->shape, err);
    if (result == NULL) {
        return NULL;
    }
    struct job job = {.operand = operand,
                      .values = result->elements[0],
                      .indices = result->elements[1],
                      .n = shape->dimensions[shape->rank - 1]};
    job.k = job.values->shape->dimensions[shape->rank - 1];
    job.key = (struct sort_key){.type = shape->type,
                                .descending = attr_bool(instruction, ATTR_LARGEST, true),
                                .total = true};
    int64_t lines = job.n > 0 ? literal_elements(operand) / job.n : 0;
    poll_for(job.k > 0 ? lines : 0, 1 + 8192 / (job.n + 1), topk_range, &job);
    if (job.failed) {
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for topk");
        literal_release(result);
        return NULL;
    }
    spread_marks(&job);
    return result;
}
