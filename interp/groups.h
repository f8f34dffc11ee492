/* Who takes part in a collective. Private to the evaluator. */
#ifndef INTERP_GROUPS_H
#define INTERP_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct evaluation;
struct instruction;

/* What the ids of replica_groups and source_target_pairs stand for.
 * Source: xla/service/collective_ops_utils.cc (GetCollectiveOpGroupMode). */
enum group_mode {
    GROUP_CROSS_REPLICA,               /* replicas, within each partition */
    GROUP_CROSS_PARTITION,             /* partitions, within each replica */
    GROUP_CROSS_REPLICA_AND_PARTITION, /* replicas, all partitions of each */
    GROUP_FLATTENED_ID,                /* replica * partitions + partition */
};
enum group_mode group_mode_of(const struct instruction *instruction);

/* The devices this one works with, in the order of its group. */
struct group {
    int count;
    int *devices; /* heap */
    int *places;  /* heap; [count]: where in the group as it is written; NULL if all exist */
    int size;     /* of the group as it is written */
    int position; /* of this device among `devices`; −1: it is in no group, count is 0 */
};

/* The place of a device of the group among all that the group names. Some of them may not exist:
 * XLA's verifier lets that pass in a module whose header names no devices. */
static inline int group_place(const struct group *group, int position)
{
    return group->places != NULL ? group->places[position] : position;
}

/* By replica_groups. False with *err when they are inconsistent. */
bool group_find(struct evaluation *evaluation, const struct instruction *instruction,
                struct group *group, struct error *err);
void group_finish(struct group *group);

/* The device that an id stands for seen from this device, −1 if there is none (not for
 * CROSS_REPLICA_AND_PARTITION). */
int group_device(const struct evaluation *evaluation, enum group_mode mode, long long id);

/* The channel, or −1. */
long long collective_channel(const struct instruction *instruction);

#endif
