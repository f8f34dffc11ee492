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
/* Rules between computations: aliasing, donors, channels, schedules, execution threads. */
void verify_module_rules(const struct module *module, struct findings *findings);

#endif
