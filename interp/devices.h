/* Many devices in one process: a grid of replicas × partitions whose threads run one at a time
 * (who runs holds the baton), in order, and meet in collectives. Private to the evaluator. */
#ifndef INTERP_DEVICES_H
#define INTERP_DEVICES_H

#include "interp/eval.h"

/* Evaluates the entry computation of its module on every device; evaluations[device] are ready but
 * for the grid. `mixed`: the modules are not one and the same, so that equal instructions are not
 * known by being one. False when a device fails or when all that are left wait for others (a
 * deadlock). Results may be filled even then. */
bool grid_run(int replicas, int partitions, bool mixed, struct evaluation *evaluations,
              struct literal *const *const *arguments, const int *argument_counts,
              struct literal **results, struct error *err);

/* Evaluates the entry computation in this thread (eval.c). */
struct literal *eval_entry(struct evaluation *evaluation, struct literal *const *arguments,
                           int argument_count, struct error *err);

/* One meeting of devices in a collective: what each brought. */
struct meeting {
    const struct instruction *instruction; /* of the first to arrive */
    int64_t key; /* channel, or −1: keyed by the instruction, among mixed modules by having none */
    int count;
    const int *devices; /* [count] participants in the order of their group */
    int operand_count;
    struct literal **operands; /* [count * operand_count], by position in the group; retained */
    int arrived, left;
    struct literal *shared; /* a result computed once for all, or NULL */
    struct meeting *next;
};

static inline struct literal *meeting_operand(const struct meeting *meeting, int position, int i)
{
    return meeting->operands[position * meeting->operand_count + i];
}

int grid_replicas(const struct evaluation *evaluation);
int grid_partitions(const struct evaluation *evaluation);
int grid_device_count(const struct evaluation *evaluation);
/* The device this evaluation stands for. */
int grid_device(const struct evaluation *evaluation);

/* Do the devices evaluate modules that differ? */
bool grid_is_mixed(const struct evaluation *evaluation);

/* Brings the operands and waits until all `count` devices (this one among them, at `position`) have
 * come to a meeting with the same key, or for key −1 to the same instruction. NULL with *err on
 * deadlock, when another device failed, or when the others' instruction does not match. */
struct meeting *grid_meet(struct evaluation *evaluation, const struct instruction *instruction,
                          int64_t key, const int *devices, int count, int position,
                          const struct operands *operands, struct error *err);
/* Must be called once by each participant after it has what it needs. */
void grid_leave(struct evaluation *evaluation, struct meeting *meeting);

/* Gives the baton away until is_ready(context), which device `peer` can make true (it then calls
 * grid_wake). `what` says for the report what is waited for ("a send", of device peer; −1: of
 * anyone). False with *err on deadlock or when another device failed; on a single device, when it
 * is not ready now. */
bool grid_wait(struct evaluation *evaluation, const struct instruction *instruction, int peer,
               const char *what, bool (*is_ready)(const void *context), const void *context,
               struct error *err);
/* Lets `device` look again whether what it waits for has come. */
void grid_wake(struct evaluation *evaluation, int device);

#endif
