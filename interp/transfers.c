/* send and recv, to and from other devices or the host.
 *
 * A transfer goes from one device to one other on a channel. The frontend attribute
 * _xla_send_recv_source_target_pairs says who sends to whom: partitions of the same replica when
 * there is a channel, else replicas of the same partition. The n-th send from one device to another
 * on a channel meets the n-th recv there; the channels that a module only sends or only receives on
 * count as one, since XLA's GPU runtime minds the devices alone and XLA makes modules that send on
 * one channel and receive on another. A device that is no source sends nothing, one that is no
 * target receives zeros. Without the attribute a device sends to itself.
 *
 * With the host it is the options' hooks that send and receive. Where the devices have programs of
 * their own and there are no hooks, the host passes on what it is sent: the n-th send to it on a
 * channel meets the n-th recv from it, whatever devices they are on, as in StableHLO's interpreter
 * (stablehlo/reference/ProcessGrid.cpp).
 * Sources: xla/backends/gpu/runtime/p2p_thunk_common.cc, recv_thunk.cc,
 * xla/backends/gpu/tests/collective_pipeline_parallelism_test.cc.
 *
 * send and recv only announce; send-done waits until the other side has announced its recv,
 * recv-done until the data is there. What is announced is known by a ticket, the number in the
 * context of the start's result, so that the two halves may lie in different iterations of a loop.
 */
#include "interp/transfers.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "interp/devices.h"
#include "interp/eval.h"
#include "interp/groups.h"

enum side { SIDE_SOURCE, SIDE_TARGET };

/* A half that was announced. */
struct ticket {
    bool open;                 /* its done is still to come */
    struct transfer *transfer; /* NULL: there is no other side */
    enum side side;
};

struct transfer {
    long long channel;
    int source, target;   /* ANY_DEVICE: through the host */
    int receiver;         /* the device of the recv, once awaited */
    bool sent, awaited;   /* send and recv have been evaluated */
    struct literal *data; /* once sent, until it is received */
    int halves;           /* done operations that are still to come */
    struct transfer *next;
};

enum { ANY_DEVICE = -1 };

/* What the modules do on a channel, and in place of channels on which they do not both. */
enum { USE_SENDS = 1, USE_RECEIVES = 2, USE_BOTH = 3 };
#define CHANNEL_SHARED (-2)

struct transfers {
    struct map uses;                /* channel + 1 → enum above, as a pointer into use_values */
    struct transfer *first, **last; /* in the order they were announced */
    struct ticket *tickets;         /* [ticket − 1] */
    size_t ticket_count, ticket_capacity;
};

/* The values of the map, which holds pointers. */
static char use_values[USE_BOTH + 1];

static int channel_use(const struct transfers *transfers, long long channel)
{
    const char *use = map_get_int(&transfers->uses, (uint64_t)(channel + 1));
    return use != NULL ? (int)(use - use_values) : 0;
}

static bool is_host_transfer(const struct instruction *instruction)
{
    return attr_bool(instruction, ATTR_IS_HOST_TRANSFER, false);
}

struct transfers *transfers_create(void)
{
    struct transfers *transfers = memory_zalloc(sizeof *transfers);
    transfers->last = &transfers->first;
    map_init(&transfers->uses);
    return transfers;
}

void transfers_add_module(struct transfers *transfers, const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            int use = instruction->opcode == OP_SEND   ? USE_SENDS
                      : instruction->opcode == OP_RECV ? USE_RECEIVES
                                                       : 0;
            if (use == 0 || is_host_transfer(instruction)) {
                continue;
            }
            long long channel = collective_channel(instruction);
            use |= channel_use(transfers, channel);
            map_put_int(&transfers->uses, (uint64_t)(channel + 1), &use_values[use]);
        }
    }
}

void transfers_destroy(struct transfers *transfers)
{
    if (transfers == NULL) {
        return;
    }
    while (transfers->first != NULL) {
        struct transfer *transfer = transfers->first;
        transfers->first = transfer->next;
        literal_release(transfer->data);
        free(transfer);
    }
    map_finish(&transfers->uses);
    free(transfers->tickets);
    free(transfers);
}

/* --- the pairs --- */

static struct bytes written_pairs(const struct instruction *instruction)
{
    static const char name[] = "_xla_send_recv_source_target_pairs";
    const struct attr *attr = attr_get(instruction, ATTR_FRONTEND_ATTRIBUTES);
    for (int i = 0; attr != NULL && i < attr->string_map.count; i++) {
        const struct string_entry *entry = &attr->string_map.entries[i];
        if (entry->key.size == sizeof name - 1 &&
            memcmp(entry->key.data, name, sizeof name - 1) == 0) {
            return entry->value;
        }
    }
    return (struct bytes){0};
}

/* The next number of "{{0,1},{1,2}}" from *at on; false at the end or on anything else. */
static bool next_number(struct bytes text, size_t *at, long long *number)
{
    const char *data = (const char *)text.data;
    while (*at < text.size && strchr("{}, \t", data[*at]) != NULL) {
        ++*at;
    }
    if (*at == text.size || !isdigit((unsigned char)data[*at])) {
        return false;
    }
    *number = 0;
    while (*at < text.size && isdigit((unsigned char)data[*at]) && *number < INT32_MAX) {
        *number = *number * 10 + (data[(*at)++] - '0');
    }
    return true;
}

/* The device at the other end for this one on `side`; −1: there is none. */
static bool find_peer(const struct evaluation *evaluation, const struct instruction *instruction,
                      enum side side, int *peer, struct error *err)
{
    struct bytes pairs = written_pairs(instruction);
    enum group_mode mode =
        collective_channel(instruction) >= 0 ? GROUP_CROSS_PARTITION : GROUP_CROSS_REPLICA;
    int self = grid_device(evaluation);
    *peer = pairs.size == 0 ? self : -1;
    size_t at = 0;
    long long ends[2];
    while (next_number(pairs, &at, &ends[0])) {
        if (!next_number(pairs, &at, &ends[1])) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "'%.*s' are no pairs of devices",
                             (int)pairs.size, (const char *)pairs.data);
        }
        int devices[2] = {group_device(evaluation, mode, ends[0]),
                          group_device(evaluation, mode, ends[1])};
        if (devices[side] != self || devices[1 - side] < 0) {
            continue;
        }
        if (*peer >= 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "'%.*s' name %lld as a %s more than once",
                             (int)pairs.size, (const char *)pairs.data, ends[side],
                             side == SIDE_SOURCE ? "source" : "target");
        }
        *peer = devices[1 - side];
    }
    return at == pairs.size ||
           error_set(err, ERROR_INVALID_ARGUMENT, "'%.*s' are no pairs of devices", (int)pairs.size,
                     (const char *)pairs.data);
}

/* --- transfers under way --- */

static struct transfers *transfers_of(struct evaluation *evaluation)
{
    if (evaluation->transfers == NULL) {
        evaluation->transfers = transfers_create();
        transfers_add_module(evaluation->transfers, evaluation->module);
    }
    return evaluation->transfers;
}

/* The first transfer of the kind whose half on `side` is still to be announced. */
static struct transfer *announce(struct transfers *transfers, long long channel, int source,
                                 int target, enum side side)
{
    bool is_host = source == ANY_DEVICE;
    if (!is_host && channel_use(transfers, channel) != USE_BOTH) {
        channel = CHANNEL_SHARED;
    }
    struct transfer *transfer = transfers->first;
    while (transfer != NULL && (transfer->channel != channel || transfer->source != source ||
                                transfer->target != target ||
                                (side == SIDE_SOURCE ? transfer->sent : transfer->awaited))) {
        transfer = transfer->next;
    }
    if (transfer == NULL) {
        transfer = memory_zalloc(sizeof *transfer);
        /* What is sent to the host is not waited for. */
        *transfer = (struct transfer){
            .channel = channel, .source = source, .target = target, .halves = is_host ? 1 : 2};
        *transfers->last = transfer;
        transfers->last = &transfer->next;
    }
    return transfer;
}

static unsigned new_ticket(struct transfers *transfers, struct transfer *transfer, enum side side)
{
    transfers->tickets = grow(transfers->tickets, transfers->ticket_count,
                              &transfers->ticket_capacity, sizeof *transfers->tickets);
    transfers->tickets[transfers->ticket_count++] = (struct ticket){true, transfer, side};
    return (unsigned)transfers->ticket_count;
}

/* A half is through; the transfer ends with the second one. */
static void finish_half(struct transfers *transfers, struct transfer *transfer)
{
    if (--transfer->halves > 0) {
        return;
    }
    struct transfer **link = &transfers->first;
    while (*link != transfer) {
        link = &(*link)->next;
    }
    *link = transfer->next;
    if (transfer->next == NULL) {
        transfers->last = link;
    }
    literal_release(transfer->data);
    free(transfer);
}

/* The ticket that the result of a send or recv speaks of, NULL if it is none that is open. */
static struct ticket *find_ticket(const struct transfers *transfers, const struct literal *start)
{
    const struct shape *shape = start->shape;
    if (!shape_is_tuple(shape) || shape->count != 3 || shape->elements[1]->type != TYPE_U32 ||
        shape->elements[1]->rank != 0 || !literal_is_unspecified(start->elements[1], 0)) {
        return NULL;
    }
    uint64_t number = (uint64_t)literal_get_int(start->elements[1], 0);
    bool exists = number > 0 && number <= transfers->ticket_count;
    return exists && transfers->tickets[number - 1].open ? &transfers->tickets[number - 1] : NULL;
}

static bool is_awaited(const void *context)
{
    return ((const struct transfer *)context)->awaited;
}

static bool is_sent(const void *context)
{
    return ((const struct transfer *)context)->sent;
}

/* Waits for the other side of a ticket and closes it. The data that came in; of a half without
 * another side, that of its start; NULL with *err when nobody comes. */
static struct literal *redeem(struct evaluation *evaluation, const struct instruction *instruction,
                              struct ticket *ticket, const struct literal *start, struct error *err)
{
    struct transfer *transfer = ticket->transfer;
    bool receives = ticket->side == SIDE_TARGET;
    ticket->open = false;
    if (transfer == NULL) {
        return literal_retain(start->elements[0]);
    }
    if (!grid_wait(evaluation, instruction, receives ? transfer->source : transfer->target,
                   receives ? "a send" : "a recv", receives ? is_sent : is_awaited, transfer,
                   err)) {
        return NULL;
    }
    const struct literal *data = receives ? transfer->data : start->elements[0];
    struct literal *result = NULL;
    if (!shape_compatible(data->shape, start->elements[0]->shape)) {
        char source[24] = "the host";
        if (transfer->source != ANY_DEVICE) {
            snprintf(source, sizeof source, "device %d", transfer->source);
        }
        error_set(err, ERROR_INVALID_ARGUMENT, "%s wants %s, but %s sends %s", instruction->name,
                  shape_text(start->elements[0]->shape), source, shape_text(data->shape));
    } else {
        result = literal_retain(data);
    }
    finish_half(evaluation->transfers, transfer);
    return result;
}

/* The data of a send-done or recv-done. */
static struct literal *finish(struct evaluation *evaluation, const struct instruction *instruction,
                              const struct literal *start, struct error *err)
{
    struct ticket *ticket = find_ticket(transfers_of(evaluation), start);
    if (ticket == NULL) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s is given no transfer under way",
                  instruction->name);
        return NULL;
    }
    return redeem(evaluation, instruction, ticket, start, err);
}

/* --- the ops --- */

/* (data, context, token) with the ticket as context. Takes the data. */
static struct literal *start_result(const struct instruction *instruction,
                                    struct literal *data_take, unsigned ticket, struct error *err)
{
    const struct shape *shape = instruction->shape;
    struct literal *elements[3] = {data_take, NULL, NULL};
    bool fits = shape_is_tuple(shape) && shape->count == 3 && shape->elements[1]->type == TYPE_U32;
    if (!fits) {
        error_set(err, ERROR_UNIMPLEMENTED, "%s of shape %s", opcode_text(instruction->opcode),
                  shape_text(shape));
    }
    elements[1] = fits ? literal_create(shape->elements[1], err) : NULL;
    elements[2] = fits ? literal_create(shape_token(), err) : NULL;
    if (elements[0] == NULL || elements[1] == NULL || elements[2] == NULL) {
        for (int i = 0; i < 3; i++) {
            literal_release(elements[i]);
        }
        return NULL;
    }
    literal_set_int(elements[1], 0, ticket);
    literal_mark_unspecified(elements[1], 0);
    return literal_tuple_take(shape, elements);
}

/* Is it a transfer with a host that passes on what it is sent? */
static bool host_passes_on(const struct evaluation *evaluation,
                           const struct instruction *instruction, bool has_no_hook)
{
    return has_no_hook && is_host_transfer(instruction) && grid_is_mixed(evaluation);
}

struct literal *eval_send(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    const struct interp_options *options = &evaluation->options;
    struct literal *data = operands->values[0];
    if (host_passes_on(evaluation, instruction, options->host_send == NULL)) {
        struct transfer *transfer =
            announce(transfers_of(evaluation), collective_channel(instruction), ANY_DEVICE,
                     ANY_DEVICE, SIDE_SOURCE);
        transfer->sent = true;
        transfer->data = literal_retain(data);
        if (transfer->awaited) {
            grid_wake(evaluation, transfer->receiver);
        }
        return start_result(instruction, literal_retain(data), 0, err);
    }
    if (is_host_transfer(instruction)) {
        if (options->host_send != NULL &&
            !options->host_send(options->context, grid_device(evaluation), instruction, data,
                                err)) {
            return NULL;
        }
        return start_result(instruction, literal_retain(data), 0, err);
    }
    int target;
    if (!find_peer(evaluation, instruction, SIDE_SOURCE, &target, err)) {
        return NULL;
    }
    struct transfers *transfers = transfers_of(evaluation);
    struct transfer *transfer = NULL;
    if (target >= 0) {
        transfer = announce(transfers, collective_channel(instruction), grid_device(evaluation),
                            target, SIDE_SOURCE);
        transfer->sent = true;
        transfer->data = literal_retain(data);
        grid_wake(evaluation, target);
    }
    return start_result(instruction, literal_retain(data),
                        new_ticket(transfers, transfer, SIDE_SOURCE), err);
}

/* The result of a recv that has another side. Until it is done nobody may look at the data. */
static struct literal *await(struct evaluation *evaluation, const struct instruction *instruction,
                             int source, int target, struct error *err)
{
    struct transfers *transfers = transfers_of(evaluation);
    struct transfer *transfer =
        announce(transfers, collective_channel(instruction), source, target, SIDE_TARGET);
    transfer->awaited = true;
    transfer->receiver = grid_device(evaluation);
    if (source >= 0) {
        grid_wake(evaluation, source);
    }
    struct literal *data = literal_zero(instruction->shape->elements[0], err);
    if (data != NULL) {
        literal_mark_all_unspecified(data, err);
    }
    return start_result(instruction, data, new_ticket(transfers, transfer, SIDE_TARGET), err);
}

struct literal *eval_recv(struct evaluation *evaluation, const struct instruction *instruction,
                          struct operands *operands, struct error *err)
{
    (void)operands;
    const struct interp_options *options = &evaluation->options;
    const struct shape *shape = instruction->shape;
    if (!shape_is_tuple(shape) || shape->count < 1) {
        error_set(err, ERROR_UNIMPLEMENTED, "recv of shape %s", shape_text(shape));
        return NULL;
    }
    if (host_passes_on(evaluation, instruction, options->host_receive == NULL)) {
        return await(evaluation, instruction, ANY_DEVICE, ANY_DEVICE, err);
    }
    if (is_host_transfer(instruction)) {
        if (options->host_receive == NULL) {
            error_set(err, ERROR_UNIMPLEMENTED, "%s: nobody sends", instruction->name);
            return NULL;
        }
        struct literal *data = options->host_receive(options->context, grid_device(evaluation),
                                                     instruction, shape->elements[0], err);
        if (data != NULL && !shape_compatible(data->shape, shape->elements[0])) {
            error_set(err, ERROR_INVALID_ARGUMENT, "the host sends %s, %s wants %s",
                      shape_text(data->shape), instruction->name, shape_text(shape->elements[0]));
            literal_release(data);
            return NULL;
        }
        return data != NULL ? start_result(instruction, data, 0, err) : NULL;
    }
    int source;
    if (!find_peer(evaluation, instruction, SIDE_TARGET, &source, err)) {
        return NULL;
    }
    return source >= 0 ? await(evaluation, instruction, source, grid_device(evaluation), err)
                       : start_result(instruction, literal_zero(shape->elements[0], err),
                                      new_ticket(transfers_of(evaluation), NULL, SIDE_TARGET), err);
}

struct literal *eval_send_done(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    if (!is_host_transfer(instruction)) {
        struct literal *sent = finish(evaluation, instruction, operands->values[0], err);
        if (sent == NULL) {
            return NULL;
        }
        literal_release(sent);
    }
    return literal_create(shape_token(), err);
}

/* (data, token) */
struct literal *eval_recv_done(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    const struct literal *start = operands->values[0];
    bool no_hook = evaluation->options.host_receive == NULL;
    bool is_there =
        is_host_transfer(instruction) && !host_passes_on(evaluation, instruction, no_hook);
    struct literal *data =
        is_there ? literal_retain(start->elements[0]) : finish(evaluation, instruction, start, err);
    struct literal *elements[2] = {data, data != NULL ? literal_create(shape_token(), err) : NULL};
    if (elements[1] == NULL) {
        literal_release(data);
        return NULL;
    }
    return literal_tuple_take(instruction->shape, elements);
}

/* --- groups --- */

struct literal *transfers_settle(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct literal *value_take,
                                 struct error *err)
{
    struct literal *value = value_take;
    if (value == NULL || evaluation->transfers == NULL || !shape_is_tuple(value->shape)) {
        return value;
    }
    struct ticket *ticket = find_ticket(evaluation->transfers, value);
    int count = value->shape->count, settled = 0;
    struct literal **elements = memory_alloc(((size_t)count + 1) * sizeof *elements);
    for (; settled < count; settled++) {
        struct literal *element = value->elements[settled];
        elements[settled] =
            ticket != NULL && settled == 0
                ? redeem(evaluation, instruction, ticket, value, err)
                : transfers_settle(evaluation, instruction, literal_retain(element), err);
        if (elements[settled] == NULL) {
            break;
        }
    }
    struct literal *result = NULL;
    if (settled == count) {
        result = literal_tuple_take(value->shape, elements);
    } else {
        for (int i = 0; i < settled; i++) {
            literal_release(elements[i]);
        }
    }
    free(elements);
    literal_release(value);
    return result;
}
