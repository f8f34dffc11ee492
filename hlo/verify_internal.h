/* What the files of the verifier share. */
#ifndef HLO_VERIFY_INTERNAL_H
#define HLO_VERIFY_INTERNAL_H

#include "hlo/verify.h"

void verify_report(struct findings *findings, const struct instruction *instruction,
                   struct where where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Rules of single opcodes beyond their shapes (verify_rules.c). */
void verify_rules(const struct instruction *instruction, struct findings *findings);
/* Replica groups, channels and source-target pairs of collectives (verify_collectives.c). */
void verify_collective(const struct instruction *instruction, struct findings *findings);
/* Transfers with the host on one channel are alike (verify_collectives.c). */
void verify_host_transfers(const struct module *module, struct findings *findings);
/* Rules of a computation as a whole: pairs of start and done, fusion bodies, execution threads,
 * shardings of loops and branches (verify_computations.c). */
void verify_computation(const struct computation *computation, struct findings *findings);
/* Chains of async-start, -update and -done over the whole module (verify_async.c). */
void verify_async(const struct module *module, struct findings *findings);
/* Buffers: who may have them, and who writes to them (verify_buffers.c). */
void verify_buffers(const struct computation *computation, const struct users *users,
                    struct findings *findings);
/* Does an async-start call it? */
bool verify_is_async_body(const struct computation *computation);
/* Rules of the header: counts, aliases, donors (verify_computations.c). */
void verify_header(const struct module *module, struct findings *findings);
/* The part of a shape at a tuple index; NULL if there is none. */
const struct shape *verify_part(const struct shape *shape, struct ints index);

#endif
