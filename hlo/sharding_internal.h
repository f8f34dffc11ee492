/* What the files about shardings share. */
#ifndef HLO_SHARDING_INTERNAL_H
#define HLO_SHARDING_INTERNAL_H

#include "hlo/sharding.h"

/* −1 if a size is negative or the product overflows. */
int64_t sizes_product(const int64_t *sizes, int count);
/* −1 if it overflows. */
int64_t mesh_device_count(const struct mesh *mesh);

/* Subgroups: the last dimensions of a tile assignment. */
int sharding_subgroup_count(const struct sharding *sharding);
enum sharding_form sharding_subgroup(const struct sharding *sharding, int i);

/* What XLA takes it for: a tiled or named sharding that splits no dimension and has subgroups of
 * one kind only is replicated, manual or unreduced, whatever its rank. */
enum sharding_form sharding_plain_form(const struct sharding *sharding);

#endif
