/* Shardy's marks in HLO: shardings as text in frontend attributes, custom calls xla.sdy.….
 * Sources: xla/service/spmd/shardy/constants.h, sdy_round_trip/ (what is exported), shardy's
 * dialect (the syntax of #sdy.mesh and #sdy.sharding). */
#ifndef HLO_SHARDY_H
#define HLO_SHARDY_H

#include <stdbool.h>

#include "hlo/module.h"

/* Must XLA's Shardy partition it? Else ShardingPropagation does. */
bool module_uses_shardy(const struct module *module);

/* The shardings of "#sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>, …]>" or "#sdy.sharding<@mesh,
 * …>", over the meshes of the module's header. */
struct shardy_shardings {
    int count;
    const struct sharding **list;
    struct module **holders; /* [count] */
};
bool shardy_read(const struct module *module, const char *text, struct shardy_shardings *shardings,
                 struct error *err);
void shardy_shardings_finish(struct shardy_shardings *shardings);

/* What a manual computation over "#sdy<manual_axes{"a", "b"}>" does with an array of the sharding:
 * it splits it along those axes alone, in groups of devices that are alike along all others. A copy
 * of the sharding in the arena, with the other axes taken out of its dimensions and made manual. */
const struct sharding *shardy_restrict(const struct sharding *sharding, const char *manual_axes,
                                       struct arena *arena);

#endif
