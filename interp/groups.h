/* Who takes part in a collective. Private to the evaluator. */
#ifndef INTERP_GROUPS_H
#define INTERP_GROUPS_H

#include <stdbool.h>

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
    int position; /* of this device; −1: it is in no group, count is 0 */
    bool absent;  /* the group names devices that do not exist, too */
};

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
