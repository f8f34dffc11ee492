/* Many devices in one process. Each device is a thread; only the one that holds the baton runs, so
 * that every run takes the same course. A device gives the baton away when it waits for others in
 * a collective or a transfer, or when it is done; when nobody can take it, all are stuck. */
#include "interp/devices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "interp/transfers.h"

enum device_state { DEVICE_READY, DEVICE_WAITING, DEVICE_DONE };

struct device {
    struct device_grid *grid;
    int number;
    enum device_state state;
    pthread_t thread;
    pthread_cond_t turn;
    struct evaluation *evaluation;
    struct literal *const *arguments;
    int argument_count;
    struct literal *result;
    struct error error;
    /* While it waits: in which instruction, and for a meeting or for something of a peer. */
    const struct instruction *waits_in;
    const struct meeting *waits_for;
    const char *waits_what;
    int waits_peer;
};

struct device_grid {
    int replicas, partitions, count;
    bool mixed;
    struct device *devices;
    pthread_mutex_t mutex;
    int running; /* the device with the baton; −1: nobody, the grid is done */
    pthread_cond_t done;
    bool aborted;             /* a device failed, or all are stuck: waiting devices give up */
    struct meeting *meetings; /* open: not everybody is there yet */
    struct error deadlock;
};

int grid_device_count(const struct evaluation *evaluation)
{
    return evaluation->grid != NULL ? evaluation->grid->count : 1;
}

int grid_device(const struct evaluation *evaluation)
{
    int partitions = evaluation->grid != NULL ? evaluation->grid->partitions : 1;
    return evaluation->replica * partitions + evaluation->partition;
}

int grid_replicas(const struct evaluation *evaluation)
{
    return evaluation->grid != NULL ? evaluation->grid->replicas : 1;
}

int grid_partitions(const struct evaluation *evaluation)
{
    return evaluation->grid != NULL ? evaluation->grid->partitions : 1;
}

bool grid_is_mixed(const struct evaluation *evaluation)
{
    return evaluation->grid != NULL && evaluation->grid->mixed;
}

/* --- the baton; all with the mutex held --- */

/* "0, 2-5" of the devices for which `chosen` holds. */
static void describe_devices(const bool *chosen, int count, struct text *text)
{
    const char *separator = "";
    for (int d = 0; d < count; d++) {
        if (!chosen[d]) {
            continue;
        }
        int last = d;
        while (last + 1 < count && chosen[last + 1]) {
            last++;
        }
        text_printf(text, "%s%d", separator, d);
        if (last > d) {
            text_printf(text, last == d + 1 ? ", %d" : "-%d", last);
        }
        separator = ", ";
        d = last;
    }
}

/* Who of a meeting is not there, those that never will be apart. */
static void describe_missing(const struct device_grid *grid, const struct meeting *meeting,
                             struct text *text)
{
    const char *separator = "";
    for (int done = 0; done < 2; done++) {
        bool *missing = memory_zalloc((size_t)grid->count), any = false;
        for (int i = 0; i < meeting->count; i++) {
            const struct device *peer = &grid->devices[meeting->devices[i]];
            missing[peer->number] =
                peer->waits_for != meeting && (peer->state == DEVICE_DONE) == (done == 1);
            any |= missing[peer->number];
        }
        if (any) {
            text_append(text, separator);
            describe_devices(missing, grid->count, text);
            text_append(text, done ? " (done)" : "");
            separator = ", ";
        }
        free(missing);
    }
}

/* What a device does now, after "waits": " in all-reduce.1 (all-reduce, channel 3) for 1, 2"; of
 * one that does not wait, all. */
static void describe_state(const struct device_grid *grid, const struct device *device,
                           struct text *text)
{
    if (device->state == DEVICE_DONE) {
        text_append(text, device->error.code != ERROR_NONE ? " failed" : " done");
        return;
    }
    const struct instruction *instruction = device->waits_in;
    text_printf(text, " in %s (%s", instruction->name, opcode_text(instruction->opcode));
    int64_t channel = attr_int(instruction, ATTR_CHANNEL_ID, 0);
    if (channel > 0) {
        text_printf(text, ", channel %lld", (long long)channel);
    }
    text_append(text, ") for ");
    if (device->waits_for != NULL) {
        describe_missing(grid, device->waits_for, text);
    } else {
        text_printf(text, "%s of", device->waits_what);
    }
}

/* Whose, for each of the devices that wait for something of a peer. */
static void describe_peers(const struct device_grid *grid, const bool *chosen, struct text *text)
{
    const char *separator = " ";
    for (int d = 0; d < grid->count; d++) {
        const struct device *device = &grid->devices[d];
        if (chosen[d] && device->state != DEVICE_DONE && device->waits_for == NULL) {
            int peer = device->waits_peer;
            bool done = peer >= 0 && grid->devices[peer].state == DEVICE_DONE;
            if (peer < 0) {
                text_printf(text, "%sany device", separator);
            } else {
                text_printf(text, "%s%d%s", separator, peer, done ? " (done)" : "");
            }
            separator = ", ";
        }
    }
}

/* Every device once; those that do the same stand together. */
static void report_deadlock(struct device_grid *grid)
{
    struct text text;
    text_init(&text);
    text_append(&text, "deadlock:");
    struct text *states = memory_alloc((size_t)grid->count * sizeof *states);
    bool *same = memory_alloc((size_t)grid->count);
    for (int d = 0; d < grid->count; d++) {
        text_init(&states[d]);
        describe_state(grid, &grid->devices[d], &states[d]);
    }
    for (int d = 0; d < grid->count; d++) {
        int others = 0;
        bool told = false;
        for (int k = 0; k < grid->count; k++) {
            same[k] = strcmp(states[k].data, states[d].data) == 0;
            told |= same[k] && k < d;
            others += same[k] && k > d;
        }
        if (!told) {
            text_printf(&text, "%s device%s ", d > 0 ? ";" : "", others > 0 ? "s" : "");
            describe_devices(same, grid->count, &text);
            const char *verb = grid->devices[d].state == DEVICE_WAITING    ? "wait"
                               : grid->devices[d].error.code != ERROR_NONE ? ""
                               : others > 0                                ? "are"
                                                                           : "is";
            bool one_waits = grid->devices[d].state == DEVICE_WAITING && others == 0;
            text_printf(&text, " %s%s%s", verb, one_waits ? "s" : "", states[d].data);
            describe_peers(grid, same, &text);
        }
    }
    for (int d = 0; d < grid->count; d++) {
        text_finish(&states[d]);
    }
    free(states);
    free(same);
    error_set(&grid->deadlock, ERROR_INVALID_ARGUMENT, "%s", text.data);
    text_finish(&text);
}

/* Hands the baton to the next device that can run. */
static void pass_baton(struct device_grid *grid, int from)
{
    for (int round = 0; round < 2; round++) {
        bool any_waits = false;
        for (int i = 1; i <= grid->count; i++) {
            struct device *device = &grid->devices[(from + i) % grid->count];
            if (device->state == DEVICE_READY) {
                grid->running = device->number;
                pthread_cond_signal(&device->turn);
                return;
            }
            any_waits |= device->state == DEVICE_WAITING;
        }
        if (!any_waits) {
            break;
        }
        if (!grid->aborted) {
            report_deadlock(grid);
            grid->aborted = true;
        }
        for (int d = 0; d < grid->count; d++) {
            if (grid->devices[d].state == DEVICE_WAITING) {
                grid->devices[d].state = DEVICE_READY;
            }
        }
    }
    grid->running = -1;
    pthread_cond_signal(&grid->done);
}

static void await_baton(struct device *device)
{
    while (device->grid->running != device->number) {
        pthread_cond_wait(&device->turn, &device->grid->mutex);
    }
}

/* --- meetings --- */

static struct meeting *meeting_create(const struct instruction *instruction, int64_t key,
                                      const int *devices, int count, int operand_count)
{
    struct meeting *meeting = memory_zalloc(sizeof *meeting);
    meeting->instruction = instruction;
    meeting->key = key;
    meeting->count = count;
    meeting->operand_count = operand_count;
    int *copy = memory_alloc((size_t)count * sizeof *copy);
    memcpy(copy, devices, (size_t)count * sizeof *copy);
    meeting->devices = copy;
    meeting->operands =
        memory_zalloc((size_t)count * (size_t)operand_count * sizeof(struct literal *));
    return meeting;
}

static void meeting_destroy(struct meeting *meeting)
{
    for (int i = 0; i < meeting->count * meeting->operand_count; i++) {
        literal_release(meeting->operands[i]);
    }
    literal_release(meeting->shared);
    free(meeting->operands);
    free((void *)meeting->devices);
    free(meeting);
}

static bool same_devices(const struct meeting *meeting, const int *devices, int count)
{
    return meeting->count == count &&
           memcmp(meeting->devices, devices, (size_t)count * sizeof *devices) == 0;
}

/* The open meeting of these devices under this key, or a new one. */
static struct meeting *find_meeting(struct device_grid *grid, const struct instruction *instruction,
                                    int64_t key, const int *devices, int count)
{
    for (struct meeting *meeting = grid->meetings; meeting != NULL; meeting = meeting->next) {
        bool same_key =
            key >= 0 || grid->mixed ? meeting->key == key : meeting->instruction == instruction;
        if (same_key && same_devices(meeting, devices, count)) {
            return meeting;
        }
    }
    struct meeting *meeting =
        meeting_create(instruction, key, devices, count, instruction->operand_count);
    meeting->next = grid->meetings;
    grid->meetings = meeting;
    return meeting;
}

static void close_meeting(struct device_grid *grid, struct meeting *meeting)
{
    struct meeting **link = &grid->meetings;
    while (*link != meeting) {
        link = &(*link)->next;
    }
    *link = meeting->next;
    for (int i = 0; i < meeting->count; i++) {
        struct device *device = &grid->devices[meeting->devices[i]];
        if (device->waits_for == meeting) {
            device->waits_for = NULL;
            device->state = DEVICE_READY;
        }
    }
}

static int64_t dimension_of(const struct instruction *instruction)
{
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    return dimensions.count > 0 ? dimensions.values[0] : -1;
}

/* May the instruction meet the first that came? They are the same, or on one channel. */
static bool matches(const struct meeting *meeting, const struct instruction *instruction,
                    struct error *err)
{
    const struct instruction *first = meeting->instruction;
    const char *difference = NULL;
    if (first->opcode != instruction->opcode) {
        difference = "another kind of collective";
    } else if (first->operand_count != instruction->operand_count) {
        difference = "another number of operands";
    } else if (dimension_of(first) != dimension_of(instruction)) {
        difference = "another dimension";
    } else if (first != instruction && first->called_count > 0 &&
               first->called[0]->root->opcode != instruction->called[0]->root->opcode) {
        difference = "another reduction";
    }
    for (int i = 0; difference == NULL && i < first->operand_count; i++) {
        if (first->opcode != OP_RAGGED_ALL_TO_ALL &&
            !shape_compatible(first->operands[i]->shape, instruction->operands[i]->shape)) {
            difference = "another shape or type";
        }
    }
    return difference == NULL ||
           error_set(err, ERROR_INVALID_ARGUMENT, "%s (%s of %s) meets %s (%s of %s), which is %s",
                     instruction->name, opcode_text(instruction->opcode),
                     shape_text(instruction->operands[0]->shape), first->name,
                     opcode_text(first->opcode), shape_text(first->operands[0]->shape), difference);
}

/* Gives the baton away until somebody makes the device ready. */
static void give_baton(struct device *device, const struct instruction *instruction)
{
    device->state = DEVICE_WAITING;
    device->waits_in = instruction;
    pass_baton(device->grid, device->number);
    await_baton(device);
}

static bool give_up(const struct device *device, struct error *err)
{
    return error_set(err, ERROR_ABORTED, "device %d gave up waiting in %s", device->number,
                     device->waits_in->name);
}

struct meeting *grid_meet(struct evaluation *evaluation, const struct instruction *instruction,
                          int64_t key, const int *devices, int count, int position,
                          const struct operands *operands, struct error *err)
{
    struct device_grid *grid = evaluation->grid;
    struct meeting *meeting;
    if (grid == NULL) {
        meeting = meeting_create(instruction, key, devices, count, operands->count);
    } else {
        pthread_mutex_lock(&grid->mutex);
        meeting = find_meeting(grid, instruction, key, devices, count);
        if (!matches(meeting, instruction, err)) {
            pthread_mutex_unlock(&grid->mutex);
            return NULL;
        }
    }
    for (int i = 0; i < operands->count; i++) {
        meeting->operands[position * meeting->operand_count + i] =
            literal_retain(operands->values[i]);
    }
    meeting->arrived++;
    if (grid == NULL) {
        return meeting;
    }
    struct device *device = &grid->devices[grid_device(evaluation)];
    if (meeting->arrived == count) {
        close_meeting(grid, meeting);
    } else {
        device->waits_for = meeting;
        give_baton(device, instruction);
        if (device->waits_for != NULL) {
            device->waits_for = NULL;
            meeting = NULL;
            give_up(device, err);
        }
    }
    pthread_mutex_unlock(&grid->mutex);
    return meeting;
}

void grid_leave(struct evaluation *evaluation, struct meeting *meeting)
{
    struct device_grid *grid = evaluation->grid;
    if (grid != NULL) {
        pthread_mutex_lock(&grid->mutex);
    }
    bool last = ++meeting->left == meeting->count;
    if (grid != NULL) {
        pthread_mutex_unlock(&grid->mutex);
    }
    if (last) {
        meeting_destroy(meeting);
    }
}

/* --- transfers --- */

bool grid_wait(struct evaluation *evaluation, const struct instruction *instruction, int peer,
               const char *what, bool (*is_ready)(const void *context), const void *context,
               struct error *err)
{
    struct device_grid *grid = evaluation->grid;
    if (is_ready(context)) {
        return true;
    }
    if (grid == NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "deadlock: %s waits for %s of %d",
                         instruction->name, what, peer);
    }
    struct device *device = &grid->devices[grid_device(evaluation)];
    bool ready = false;
    pthread_mutex_lock(&grid->mutex);
    device->waits_what = what;
    device->waits_peer = peer;
    while (!ready && !grid->aborted) {
        give_baton(device, instruction);
        ready = is_ready(context);
    }
    device->waits_what = NULL;
    pthread_mutex_unlock(&grid->mutex);
    return ready || give_up(device, err);
}

void grid_wake(struct evaluation *evaluation, int number)
{
    struct device_grid *grid = evaluation->grid;
    if (grid == NULL) {
        return;
    }
    pthread_mutex_lock(&grid->mutex);
    struct device *device = &grid->devices[number];
    if (device->state == DEVICE_WAITING && device->waits_what != NULL) {
        device->state = DEVICE_READY;
    }
    pthread_mutex_unlock(&grid->mutex);
}

/* --- the run --- */

static void *device_main(void *context)
{
    struct device *device = context;
    struct device_grid *grid = device->grid;
    pthread_mutex_lock(&grid->mutex);
    await_baton(device);
    pthread_mutex_unlock(&grid->mutex);
    if (!grid->aborted) {
        device->result = eval_entry(device->evaluation, device->arguments, device->argument_count,
                                    &device->error);
    }
    pthread_mutex_lock(&grid->mutex);
    device->state = DEVICE_DONE;
    grid->aborted |= device->result == NULL;
    if (grid->aborted) {
        for (int d = 0; d < grid->count; d++) {
            if (grid->devices[d].state == DEVICE_WAITING) {
                grid->devices[d].state = DEVICE_READY;
            }
        }
    }
    pass_baton(grid, device->number);
    pthread_mutex_unlock(&grid->mutex);
    return NULL;
}

/* The error that explains the others: a deadlock, or the first that is no giving up. */
static void choose_error(const struct device_grid *grid, struct error *err)
{
    const struct error *chosen = grid->deadlock.code != ERROR_NONE ? &grid->deadlock : NULL;
    int number = -1;
    for (int d = 0; d < grid->count && chosen == NULL; d++) {
        const struct error *error = &grid->devices[d].error;
        if (error->code != ERROR_NONE && error->code != ERROR_ABORTED) {
            chosen = error;
            number = d;
        }
    }
    if (chosen == NULL || err == NULL || err->code != ERROR_NONE) {
        error_set(err, ERROR_INTERNAL, "a device failed without saying why");
        return;
    }
    *err = *chosen;
    if (number >= 0) {
        error_prefix(err, "device %d", number);
    }
}

bool grid_run(int replicas, int partitions, bool mixed, struct evaluation *evaluations,
              struct literal *const *const *arguments, const int *argument_counts,
              struct literal **results, struct error *err)
{
    int count = replicas * partitions;
    struct device_grid grid = {
        .replicas = replicas, .partitions = partitions, .count = count, .mixed = mixed};
    pthread_mutex_init(&grid.mutex, NULL);
    pthread_cond_init(&grid.done, NULL);
    grid.devices = memory_zalloc((size_t)count * sizeof *grid.devices);
    struct transfers *transfers = transfers_create();
    for (int d = 0; d < count; d++) {
        if (d == 0 || evaluations[d].module != evaluations[d - 1].module) {
            transfers_add_module(transfers, evaluations[d].module);
        }
    }
    int started = 0;
    pthread_mutex_lock(&grid.mutex);
    grid.running = -1;
    for (; started < count; started++) {
        struct device *device = &grid.devices[started];
        evaluations[started].grid = &grid;
        evaluations[started].transfers = transfers;
        *device = (struct device){.grid = &grid,
                                  .number = started,
                                  .evaluation = &evaluations[started],
                                  .arguments = arguments[started],
                                  .argument_count = argument_counts[started]};
        pthread_cond_init(&device->turn, NULL);
        if (pthread_create(&device->thread, NULL, device_main, device) != 0) {
            error_set(err, ERROR_RESOURCE_EXHAUSTED, "no thread for device %d of %d", started,
                      count);
            pthread_cond_destroy(&device->turn);
            break;
        }
    }
    grid.count = started;
    grid.aborted = started < count;
    if (started > 0) {
        grid.running = 0;
        pthread_cond_signal(&grid.devices[0].turn);
        while (grid.running >= 0) {
            pthread_cond_wait(&grid.done, &grid.mutex);
        }
    }
    pthread_mutex_unlock(&grid.mutex);
    for (int d = 0; d < started; d++) {
        pthread_join(grid.devices[d].thread, NULL);
        pthread_cond_destroy(&grid.devices[d].turn);
        results[d] = grid.devices[d].result;
    }
    while (grid.meetings != NULL) {
        struct meeting *meeting = grid.meetings;
        grid.meetings = meeting->next;
        meeting_destroy(meeting);
    }
    if (grid.aborted && started == count) {
        choose_error(&grid, err);
    }
    free(grid.devices);
    transfers_destroy(transfers);
    pthread_cond_destroy(&grid.done);
    pthread_mutex_destroy(&grid.mutex);
    return !grid.aborted;
}
