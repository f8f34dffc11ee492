/* --shardings: shardings from the command line, put on the entry of a module. */
#ifndef TOOLS_SPMD_SHARDINGS_H
#define TOOLS_SPMD_SHARDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct module;

/* What the shardings live in; they must outlive the module they were put on. */
struct sharding_holders {
    struct module **list;
    size_t count;
};

/* text: "{…},{…}->{…}", one sharding per parameter and after the arrow that of the result (a tuple
 * of them is {{…},{…}}); an empty one leaves what is there, and so does what is not given. */
bool shardings_apply(const char *text, struct module *module, struct sharding_holders *holders,
                     struct error *err);
/* Draws shardings for every parameter and the result, and applies them; *text (owned by the caller)
 * is what --shardings would take. Each dimension may be split, evenly or not, over some of the
 * devices, in any order; what is left is replicated. */
bool shardings_draw(struct module *module, int64_t devices, uint64_t seed, char **text,
                    struct sharding_holders *holders, struct error *err);
void sharding_holders_finish(struct sharding_holders *holders);

#endif
