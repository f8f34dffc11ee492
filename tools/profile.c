/* Profiles: spans added up by instruction, opcode and computation. */
#include "tools/profile.h"

#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/clock.h"
#include "hlo/base/map.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "tools/modules.h"

enum {
    ROWS = 40,            /* of each table */
    SHAPE_WIDTH = 48,     /* characters of a shape in a table */
    SPANS_EACH = 200,     /* of one instruction in a trace */
    SPANS_ALL = 100000,   /* in a trace */
    THREADS_MOST = 256,   /* with a stack of their own */
    NESTING_MOST = 10000, /* deeper spans are not told apart */
};

/* What is added up. */
struct sums {
    int64_t calls, bytes_read, bytes_written;
    double seconds; /* without spans inside */
};

struct row {
    const struct instruction *instruction;
    const char *name;
    int members;
    struct sums sums;
    int64_t traced;
};

struct event {
    const struct row *row;
    int thread;
    double begin, seconds;
    int64_t bytes_read, bytes_written;
};

/* A span that has begun. */
struct open_span {
    struct row *row;
    double begin, inside; /* seconds of the spans inside */
};

struct thread_spans {
    pthread_t id;
    struct open_span *stack;
    size_t depth, capacity;
};

struct profile {
    pthread_mutex_t mutex;
    bool traced;
    double begin;
    struct map rows; /* by instruction */
    struct row **list;
    size_t count, capacity;
    struct thread_spans threads[THREADS_MOST];
    int thread_count;
    struct event *events;
    size_t event_count, event_capacity;
    int64_t left_out; /* events beyond the limits */
};

struct profile *profile_create(bool traced)
{
    struct profile *profile = memory_zalloc(sizeof *profile);
    pthread_mutex_init(&profile->mutex, NULL);
    map_init(&profile->rows);
    profile->traced = traced;
    profile->begin = clock_seconds();
    return profile;
}

void profile_destroy(struct profile *profile)
{
    if (profile == NULL) {
        return;
    }
    for (size_t i = 0; i < profile->count; i++) {
        free(profile->list[i]);
    }
    for (int i = 0; i < profile->thread_count; i++) {
        free(profile->threads[i].stack);
    }
    free(profile->list);
    free(profile->events);
    map_finish(&profile->rows);
    pthread_mutex_destroy(&profile->mutex);
    free(profile);
}

/* --- hearing of spans --- */

static struct row *row_of(struct profile *profile, const struct interp_span *span)
{
    uint64_t key = (uint64_t)(uintptr_t)span->instruction;
    struct row *row = map_get_int(&profile->rows, key);
    if (row == NULL) {
        row = memory_zalloc(sizeof *row);
        row->instruction = span->instruction;
        row->name = span->instruction->name;
        row->members = span->members;
        map_put_int(&profile->rows, key, row);
        profile->list =
            grow(profile->list, profile->count, &profile->capacity, sizeof *profile->list);
        profile->list[profile->count++] = row;
    }
    return row;
}

/* The calling thread's spans; NULL when there are too many threads. */
static struct thread_spans *thread_of(struct profile *profile, int *number)
{
    pthread_t self = pthread_self();
    for (*number = 0; *number < profile->thread_count; ++*number) {
        if (pthread_equal(profile->threads[*number].id, self)) {
            return &profile->threads[*number];
        }
    }
    if (profile->thread_count == THREADS_MOST) {
        return NULL;
    }
    struct thread_spans *thread = &profile->threads[profile->thread_count++];
    thread->id = self;
    return thread;
}

static void begin_span(struct profile *profile, struct thread_spans *thread,
                       const struct interp_span *span)
{
    thread->stack = grow(thread->stack, thread->depth, &thread->capacity, sizeof *thread->stack);
    struct open_span *open = &thread->stack[thread->depth++];
    *open = (struct open_span){.row = row_of(profile, span)};
    open->begin = clock_seconds();
}

static void keep_event(struct profile *profile, const struct open_span *open, int thread,
                       double seconds, const struct interp_span *span)
{
    if (open->row->traced >= SPANS_EACH || profile->event_count >= SPANS_ALL) {
        profile->left_out++;
        return;
    }
    open->row->traced++;
    profile->events = grow(profile->events, profile->event_count, &profile->event_capacity,
                           sizeof *profile->events);
    profile->events[profile->event_count++] =
        (struct event){open->row, thread,           open->begin - profile->begin,
                       seconds,   span->bytes_read, span->bytes_written};
}

static void end_span(struct profile *profile, struct thread_spans *thread, int number,
                     const struct interp_span *span, double now)
{
    struct open_span *open = &thread->stack[--thread->depth];
    double seconds = now - open->begin;
    struct sums *sums = &open->row->sums;
    sums->calls++;
    sums->seconds += seconds - open->inside;
    sums->bytes_read += span->bytes_read;
    sums->bytes_written += span->bytes_written;
    if (thread->depth > 0) {
        thread->stack[thread->depth - 1].inside += seconds;
    }
    if (profile->traced) {
        keep_event(profile, open, number, seconds, span);
    }
}

void profile_span(struct profile *profile, const struct interp_span *span, bool ends)
{
    double now = clock_seconds();
    int number;
    pthread_mutex_lock(&profile->mutex);
    struct thread_spans *thread = thread_of(profile, &number);
    if (thread != NULL && !ends && thread->depth < NESTING_MOST) {
        begin_span(profile, thread, span);
    } else if (thread != NULL && ends && thread->depth > 0) {
        end_span(profile, thread, number, span, now);
    }
    pthread_mutex_unlock(&profile->mutex);
}

/* --- the tables --- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;
    if (x->sums.seconds != y->sums.seconds) {
        return x->sums.seconds < y->sums.seconds ? 1 : -1;
    }
    return strcmp(x->name, y->name);
}

static void print_sums(const struct sums *sums, double all, FILE *out)
{
    double bytes = (double)(sums->bytes_read + sums->bytes_written);
    fprintf(out, "%6.2f %11.3f %9lld %10.2f %10.2f", 100 * sums->seconds / all, 1e3 * sums->seconds,
            (long long)sums->calls, 1e-6 * (double)sums->bytes_read,
            1e-6 * (double)sums->bytes_written);
    if (bytes > 0 && sums->seconds > 0) {
        fprintf(out, " %7.2f", 1e-9 * bytes / sums->seconds);
    } else {
        fprintf(out, " %7s", "-");
    }
}

static void print_heads(const char *what, FILE *out)
{
    fprintf(out, "\n%6s %11s %9s %10s %10s %7s  %s\n", "%", "ms", "calls", "MB read", "MB written",
            "GB/s", what);
}

static void print_table(struct row *const *rows, size_t count, double all, const char *what,
                        bool by_instruction, FILE *out)
{
    print_heads(what, out);
    for (size_t i = 0; i < count && i < ROWS; i++) {
        const struct row *row = rows[i];
        print_sums(&row->sums, all, out);
        fprintf(out, "  %s", row->name);
        if (by_instruction) {
            const struct instruction *instruction = row->instruction;
            fprintf(out, " = %.*s %s", SHAPE_WIDTH, shape_text(instruction->shape),
                    opcode_text(instruction->opcode));
            if (row->members > 1) {
                fprintf(out, ", %d instructions as one", row->members);
            }
            fprintf(out, " (%s)", instruction->parent->name);
        }
        fputc('\n', out);
    }
    if (count > ROWS) {
        fprintf(out, "%zu more\n", count - ROWS);
    }
}

/* The rows added up by a name of their instructions. */
static void print_groups(const struct profile *profile, double all, const char *what,
                         const char *(*name_of)(const struct row *row), FILE *out)
{
    struct row **groups = memory_zalloc((profile->count + 1) * sizeof(struct row *));
    struct map map;
    size_t count = 0;
    map_init(&map);
    for (size_t i = 0; i < profile->count; i++) {
        const struct row *row = profile->list[i];
        const char *name = name_of(row);
        struct row *group = map_get(&map, name, strlen(name));
        if (group == NULL) {
            group = memory_zalloc(sizeof *group);
            group->name = name;
            map_put(&map, name, strlen(name), group);
            groups[count++] = group;
        }
        group->sums.calls += row->sums.calls;
        group->sums.seconds += row->sums.seconds;
        group->sums.bytes_read += row->sums.bytes_read;
        group->sums.bytes_written += row->sums.bytes_written;
    }
    qsort(groups, count, sizeof(struct row *), compare_rows);
    print_table(groups, count, all, what, false, out);
    for (size_t i = 0; i < count; i++) {
        free(groups[i]);
    }
    free(groups);
    map_finish(&map);
}

static const char *opcode_name(const struct row *row)
{
    return row->members > 1 ? "elementwise, as one" : opcode_text(row->instruction->opcode);
}

static const char *computation_name(const struct row *row)
{
    return row->instruction->parent->name;
}

void profile_print(const struct profile *profile, const char *name, FILE *out)
{
    double all = 0;
    for (size_t i = 0; i < profile->count; i++) {
        all += profile->list[i]->sums.seconds;
    }
    fprintf(out, "%s: %.3f ms in %zu instructions; at most %.1f MB of values at a time\n", name,
            1e3 * all, profile->count, 1e-6 * (double)literal_memory_peak());
    all = all > 0 ? all : 1;
    struct row **rows = memory_zalloc((profile->count + 1) * sizeof(struct row *));
    if (profile->count > 0) {
        memcpy(rows, profile->list, profile->count * sizeof(struct row *));
    }
    qsort(rows, profile->count, sizeof(struct row *), compare_rows);
    print_table(rows, profile->count, all, "instruction (computation)", true, out);
    free(rows);
    print_groups(profile, all, "opcode", opcode_name, out);
    print_groups(profile, all, "computation", computation_name, out);
}

/* --- the trace --- */

static json_t *event_json(const struct event *event)
{
    const struct instruction *instruction = event->row->instruction;
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f, s:{s:s, s:s, s:i, s:I, s:I}}", "name",
                     instruction->name, "cat", opcode_text(instruction->opcode), "ph", "X", "pid",
                     1, "tid", event->thread + 1, "ts", 1e6 * event->begin, "dur",
                     1e6 * event->seconds, "args", "shape", shape_text(instruction->shape),
                     "computation", instruction->parent->name, "instructions", event->row->members,
                     "bytes_read", (json_int_t)event->bytes_read, "bytes_written",
                     (json_int_t)event->bytes_written);
}

bool profile_write_trace(const struct profile *profile, const char *path)
{
    json_t *events = json_array();
    for (size_t i = 0; i < profile->event_count; i++) {
        json_array_append_new(events, event_json(&profile->events[i]));
    }
    json_t *trace = json_pack("{s:s, s:o, s:{s:I}}", "displayTimeUnit", "ns", "traceEvents", events,
                              "otherData", "spans_left_out", (json_int_t)profile->left_out);
    bool ok = write_json(path, trace);
    json_decref(trace);
    return ok;
}
