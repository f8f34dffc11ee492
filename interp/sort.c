/* sort: lines along the dimension are sorted one by one, by keys where the comparator compares
 * keys, by merging otherwise; then every array is put in the order found. Always stable; where the
 * instruction does not ask for that, elements whose order was open are marked unspecified. */
#include "interp/sort.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interp/elementwise.h"
#include "interp/marks.h"
#include "interp/poll.h"

struct job {
    const struct program *comparator;
    const struct sort_key *keys;
    int key_count;
    int arrays;
    struct literal *const *operands, *const *results;
    const void **data;     /* of the operands */
    const void **compared; /* the same in the types that the comparator takes */
    int64_t n;             /* elements of a line */
    int64_t stride;        /* between them */
    bool stable;
    atomic_bool failed;
    pthread_mutex_t marks_mutex;
    struct error *err;
};

/* What one thread works with. */
struct worker {
    struct job *job;
    struct program_frame *frames[SORT_MAX_KEYS];
    struct sort_item *items, *other;
    uint64_t *mapped; /* [keys][n]; a strip if `direct` */
    bool direct;      /* one key, and nobody asks for ties: it goes into the items at once */
    int64_t *order;   /* [lines][n] */
    bool *tied;       /* [n] is element j in no order with the one before? */
};

static int64_t line_base(const struct job *job, int64_t line)
{
    return line / job->stride * job->stride * job->n + line % job->stride;
}

/* --- by keys --- */

/* Now and then in a loop over strips of a line: whether to stop. */
static bool is_stopped(int64_t first)
{
    return first / LANE_STRIP % 64 == 63 && poll_now();
}

/* The mapped values of one key along a line; false if one has no place in an order. */
static bool map_line(struct worker *worker, int key, int64_t base)
{
    struct job *job = worker->job;
    struct program_frame *frame = worker->frames[key];
    const struct program *program = job->keys[key].program;
    int64_t offsets[LANE_STRIP];
    for (int64_t first = 0; first < job->n; first += LANE_STRIP) {
        int64_t count = job->n - first < LANE_STRIP ? job->n - first : LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            offsets[i] = base + (first + i) * job->stride;
        }
        for (int k = 0; k < job->arrays; k++) {
            if (program_input_is_used(program, k)) {
                lane_gather(program_input_type(program, k), job->compared[k], offsets,
                            program_input(frame, k), count);
            }
        }
        program_run(frame, count);
        if (is_stopped(first)) {
            return false;
        }
        uint64_t *mapped = worker->direct ? worker->mapped : worker->mapped + key * job->n + first;
        if (!sort_key_map(&job->keys[key], program_output(frame, 0), mapped, count)) {
            return false;
        }
        for (int64_t i = 0; i < count && worker->direct; i++) {
            worker->items[first + i] = (struct sort_item){mapped[i], first + i};
        }
    }
    return true;
}

/* The order of a line by its keys, the last key first. False if there is none, or when the work is
 * to stop. */
static bool order_by_keys(struct worker *worker, int64_t base, int64_t *order)
{
    struct job *job = worker->job;
    const int64_t n = job->n;
    for (int key = 0; key < job->key_count; key++) {
        if (!map_line(worker, key, base)) {
            return false;
        }
    }
    struct sort_item *items = worker->items, *other = worker->other;
    for (int key = job->key_count - 1; key >= 0; key--) {
        const uint64_t *mapped = worker->mapped + key * n;
        for (int64_t i = 0; i < n && !worker->direct; i++) {
            int64_t index = key == job->key_count - 1 ? i : items[i].index;
            items[i] = (struct sort_item){mapped[index], index};
        }
        struct sort_item *sorted = sort_items(items, other, n, sort_key_bits(&job->keys[key]));
        if (sorted == NULL) {
            return false;
        }
        other = sorted == items ? other : items;
        items = sorted;
    }
    for (int64_t i = 0; i < n; i++) {
        if (i % LANE_STRIP == 0 && is_stopped(i)) {
            return false;
        }
        order[i] = items[i].index;
        worker->tied[i] = i > 0 && !worker->direct;
        for (int key = 0; key < job->key_count && worker->tied[i]; key++) {
            const uint64_t *mapped = worker->mapped + key * n;
            worker->tied[i] = mapped[items[i].index] == mapped[items[i - 1].index];
        }
    }
    return true;
}

/* --- by merging --- */

/* Whether neighbours in the order are equal to the comparator: neither is less, the first one is
 * known not to be greater. */
static bool find_ties(struct worker *worker, struct program_frame *frame, int64_t base,
                      const int64_t *order)
{
    const struct job *job = worker->job;
    int64_t lefts[LANE_STRIP], rights[LANE_STRIP];
    worker->tied[0] = false;
    for (int64_t first = 1; first < job->n; first += LANE_STRIP) {
        int64_t count = job->n - first < LANE_STRIP ? job->n - first : LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            lefts[i] = base + order[first + i - 1] * job->stride;
            rights[i] = base + order[first + i] * job->stride;
        }
        for (int k = 0; k < job->arrays; k++) {
            enum type type = program_input_type(job->comparator, 2 * k);
            lane_gather(type, job->compared[k], lefts, program_input(frame, 2 * k), count);
            lane_gather(type, job->compared[k], rights, program_input(frame, 2 * k + 1), count);
        }
        if (!program_run(frame, count) || is_stopped(first)) {
            return false;
        }
        const uint8_t *less = program_output(frame, 0);
        for (int64_t i = 0; i < count; i++) {
            worker->tied[first + i] = !less[i];
        }
    }
    return true;
}

/* --- results --- */

static bool marked(const struct literal *literal, int64_t index)
{
    const uint8_t *marks = marks_of(literal);
    return marks != NULL && mark_get(marks, index);
}

/* Does the order of this line hang on an open element? */
static bool order_is_open(const struct job *job, int64_t base)
{
    for (int k = 0; k < job->arrays; k++) {
        if (marks_of(job->operands[k]) == NULL ||
            (!program_input_is_used(job->comparator, 2 * k) &&
             !program_input_is_used(job->comparator, 2 * k + 1))) {
            continue;
        }
        for (int64_t i = 0; i < job->n; i++) {
            if (marked(job->operands[k], base + i * job->stride)) {
                return true;
            }
        }
    }
    return false;
}

static void mark_result(struct job *job, int array, int64_t index)
{
    pthread_mutex_lock(&job->marks_mutex);
    mark_set(marks_make(job->results[array]), index);
    pthread_mutex_unlock(&job->marks_mutex);
}

/* Places of a run of tied elements whose values differ in an array. */
static void mark_tied_run(struct job *job, int64_t base, const int64_t *order, int64_t first,
                          int64_t last)
{
    for (int k = 0; k < job->arrays; k++) {
        size_t bytes = (size_t)type_bytes(job->operands[k]->shape->type);
        const char *data = job->data[k];
        bool differ = false;
        for (int64_t i = first + 1; i < last && !differ; i++) {
            differ = memcmp(data + (size_t)(base + order[i] * job->stride) * bytes,
                            data + (size_t)(base + order[first] * job->stride) * bytes, bytes) != 0;
        }
        for (int64_t i = first; i < last && differ; i++) {
            mark_result(job, k, base + i * job->stride);
        }
    }
}

static void mark_ties(struct worker *worker, int64_t base, const int64_t *order)
{
    struct job *job = worker->job;
    int64_t runs = 0;
    for (int64_t first = 0; first < job->n && (++runs % 65536 != 0 || !poll_now());) {
        int64_t last = first + 1;
        while (last < job->n && worker->tied[last]) {
            last++;
        }
        if (last - first > 1) {
            mark_tied_run(job, base, order, first, last);
        }
        first = last;
    }
}

/* Moves `count` elements of one array, from sources to targets. */
static void move_strip(enum type type, const void *from, const int64_t *sources, void *to,
                       const int64_t *targets, int64_t count)
{
    double strip[2 * LANE_STRIP];
    char *run = (char *)to + targets[0] * type_bytes(type);
    bool contiguous = targets[count - 1] - targets[0] == count - 1;
    if (contiguous && lane_is_native(type)) {
        lane_gather(type, from, sources, run, count);
        return;
    }
    lane_gather(type, from, sources, strip, count);
    lane_scatter(type, strip, to, targets, count);
}

/* Moves one line of every array. */
static void move_line(struct job *job, int64_t base, const int64_t *order, bool open)
{
    int64_t sources[LANE_STRIP], targets[LANE_STRIP];
    for (int64_t first = 0; first < job->n && !is_stopped(first); first += LANE_STRIP) {
        int64_t count = job->n - first < LANE_STRIP ? job->n - first : LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            sources[i] = base + order[first + i] * job->stride;
            targets[i] = base + (first + i) * job->stride;
        }
        for (int k = 0; k < job->arrays; k++) {
            const struct literal *operand = job->operands[k];
            move_strip(lane_bits_type(operand->shape->type), job->data[k], sources,
                       literal_data(job->results[k]), targets, count);
            for (int64_t i = 0; i < count && (open || marks_of(operand) != NULL); i++) {
                if (open || marked(operand, sources[i])) {
                    mark_result(job, k, targets[i]);
                }
            }
        }
    }
}

static void finish_line(struct worker *worker, int64_t base, const int64_t *order, bool open)
{
    move_line(worker->job, base, order, open || order_is_open(worker->job, base));
    if (!worker->job->stable) {
        mark_ties(worker, base, order);
    }
}

/* --- lines --- */

/* Lines that are merged together, so that short ones fill strips. */
enum { MERGED_ELEMENTS = 1 << 14 };

static bool merge_lines(struct worker *worker, struct program_frame *frame, int64_t first,
                        int64_t count, bool open)
{
    struct job *job = worker->job;
    int64_t *bases = malloc((size_t)count * sizeof *bases);
    if (bases == NULL) {
        return false;
    }
    for (int64_t l = 0; l < count; l++) {
        bases[l] = line_base(job, first + l);
    }
    struct sort_lines lines = {job->comparator, job->arrays, job->compared, job->n,
                               job->stride,     bases,       count};
    bool ok = sort_merge(&lines, worker->order, job->err);
    for (int64_t l = 0; l < count && ok; l++) {
        const int64_t *order = worker->order + l * job->n;
        ok = job->stable || find_ties(worker, frame, bases[l], order);
        if (ok) {
            finish_line(worker, bases[l], order, open);
        }
    }
    free(bases);
    return ok;
}

static bool worker_init(struct worker *worker, struct job *job, int64_t merged)
{
    *worker = (struct worker){.job = job};
    size_t n = (size_t)job->n + 1;
    worker->items = malloc(n * sizeof *worker->items);
    worker->other = malloc(n * sizeof *worker->other);
    worker->direct = job->key_count == 1 && job->stable;
    size_t mapped = worker->direct ? LANE_STRIP : n * (size_t)job->key_count;
    worker->mapped = malloc((mapped + 1) * sizeof *worker->mapped);
    worker->order = malloc(n * (size_t)merged * sizeof *worker->order);
    worker->tied = malloc(n * sizeof *worker->tied);
    bool ok = worker->items != NULL && worker->other != NULL && worker->mapped != NULL &&
              worker->order != NULL && worker->tied != NULL;
    for (int key = 0; key < job->key_count && ok; key++) {
        worker->frames[key] = program_frame_create(job->keys[key].program, job->err);
        ok = worker->frames[key] != NULL;
    }
    return ok;
}

static void worker_finish(struct worker *worker)
{
    for (int key = 0; key < worker->job->key_count; key++) {
        program_frame_destroy(worker->frames[key]);
    }
    free(worker->items);
    free(worker->other);
    free(worker->mapped);
    free(worker->order);
    free(worker->tied);
}

static void sort_range(void *context, int64_t begin, int64_t end)
{
    struct job *job = context;
    int64_t merged = job->key_count > 0 ? 1 : 1 + MERGED_ELEMENTS / (job->n + 1);
    struct worker worker;
    struct program_frame *frame = program_frame_create(job->comparator, job->err);
    bool ok = worker_init(&worker, job, merged) && frame != NULL;
    for (int64_t l = begin; l < end && ok;) {
        if (job->key_count > 0) {
            int64_t base = line_base(job, l);
            if (order_by_keys(&worker, base, worker.order)) {
                finish_line(&worker, base, worker.order, false);
            } else {
                /* NaN: the comparator is no order, so the result is anybody's. */
                ok = !poll_now() && merge_lines(&worker, frame, l, 1, true);
            }
            l++;
        } else {
            int64_t count = end - l < merged ? end - l : merged;
            ok = merge_lines(&worker, frame, l, count, false);
            l += count;
        }
    }
    if (!ok) {
        job->failed = true;
    }
    worker_finish(&worker);
    program_frame_destroy(frame);
}

/* --- the instruction --- */

static bool sort_all(struct job *job, const struct instruction *instruction, struct error *err)
{
    struct sort_key keys[SORT_MAX_KEYS];
    int64_t dimension = attr_ints(instruction, ATTR_DIMENSIONS).values[0];
    const struct literal *first = job->operands[0];
    const struct shape *shape = first->shape;
    job->n = shape->dimensions[dimension];
    job->stride = 1;
    for (int d = (int)dimension + 1; d < shape->rank; d++) {
        job->stride *= shape->dimensions[d];
    }
    int64_t elements = literal_elements(first);
    if (elements == 0) {
        return true;
    }
    job->key_count = sort_keys_find(instruction->called[0], job->arrays, keys);
    job->keys = keys;
    job->data = memory_alloc(2 * (size_t)job->arrays * sizeof *job->data);
    job->compared = job->data + job->arrays;
    struct literal **converted = memory_zalloc((size_t)job->arrays * sizeof(struct literal *));
    bool ok = true;
    for (int k = 0; k < job->arrays && ok; k++) {
        enum type type = program_input_type(job->comparator, 2 * k);
        converted[k] = elementwise_convert(job->operands[k], type, err);
        ok = converted[k] != NULL;
        job->data[k] = literal_data(job->operands[k]);
        job->compared[k] = ok ? literal_data(converted[k]) : NULL;
    }
    if (ok) {
        program_for(job->comparator, elements / job->n, 1 + 4096 / (job->n + 1), sort_range, job);
    }
    for (int k = 0; k < job->arrays; k++) {
        literal_release(converted[k]);
    }
    free(converted);
    free(job->data);
    sort_keys_finish(keys, job->key_count);
    return ok && (!job->failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory to sort"));
}

static struct literal *sort(const struct instruction *instruction, const struct program *comparator,
                            struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    struct literal *result = literal_create(shape, err);
    if (result == NULL) {
        return NULL;
    }
    struct literal **results = memory_alloc((size_t)operands->count * sizeof(struct literal *));
    for (int k = 0; k < operands->count; k++) {
        results[k] = shape_is_tuple(shape) ? result->elements[k] : result;
    }
    struct job job = {.comparator = comparator,
                      .arrays = operands->count,
                      .operands = operands->values,
                      .results = results,
                      .stable = attr_bool(instruction, ATTR_IS_STABLE, false),
                      .marks_mutex = PTHREAD_MUTEX_INITIALIZER,
                      .err = err};
    bool ok = sort_all(&job, instruction, err);
    free(results);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    return result;
}

struct literal *eval_sort(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    struct program *comparator = program_compile(evaluation, instruction->called[0], err);
    if (comparator == NULL) {
        return NULL;
    }
    bool fits = program_input_count(comparator) == 2 * operands->count &&
                program_output_count(comparator) == 1 &&
                program_output_type(comparator, 0) == TYPE_PRED;
    for (int k = 0; k < operands->count && fits; k++) {
        fits = program_input_type(comparator, 2 * k) == program_input_type(comparator, 2 * k + 1);
    }
    struct literal *result = NULL;
    if (fits) {
        result = sort(instruction, comparator, operands, err);
    } else {
        error_set(err, ERROR_UNIMPLEMENTED,
                  "a comparator that takes the two sides in different types");
    }
    program_destroy(comparator);
    return result;
}
