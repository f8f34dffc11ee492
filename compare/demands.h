/* What the files of constraint finding share. */
#ifndef COMPARE_DEMANDS_H
#define COMPARE_DEMANDS_H

#include "compare/constraints.h"
#include "hlo/module.h"

struct demands {
    const struct module *module;
    bool *is_condition;          /* [computation]: of a while */
    struct constraint ***values; /* [computation][instruction][leaf] */
    int64_t visits_left;         /* leaves, of computations for one of their calls */
};

/* The leaves of an instruction's value. */
struct constraint *demand_of(struct demands *demands, const struct instruction *instruction);
void demand_range(struct constraint *constraint, double low, double high, const char *why);
void demand_merge(struct constraint *into, const struct constraint *from);

/* What an opcode asks of its operands, given what its users ask of it (`own`). Tuples and calls
 * are handled by the caller. */
void demands_of_opcode(struct demands *demands, const struct instruction *instruction,
                       const struct constraint *own);

#endif
