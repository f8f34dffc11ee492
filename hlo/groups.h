/* The ids that replica_groups name, in any of its forms: lists, an iota tile assignment, axes of a
 * mesh. What the ids stand for is said in interp/groups.h.
 * Sources: xla/hlo/ir/replica_group.cc, xla/hlo/ir/mesh_and_axis.cc. */
#ifndef HLO_GROUPS_H
#define HLO_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

struct groups;

struct id_list {
    int64_t *ids;    /* heap */
    int64_t *starts; /* heap; group g is ids[starts[g] .. starts[g + 1]) */
    int64_t group_count;
};

/* NULL, or an empty list, is one group of the ids 0 … all − 1. False when the numbers contradict
 * each other, or name more than 2²² ids. */
bool groups_expand(const struct groups *groups, int64_t all, struct id_list *list);
void id_list_finish(struct id_list *list);

#endif
