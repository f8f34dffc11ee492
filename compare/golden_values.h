/* The golden's values of the instructions of an entry computation, and of the state of its loops.
 */
#ifndef COMPARE_GOLDEN_VALUES_H
#define COMPARE_GOLDEN_VALUES_H

#include "hlo/shrink/shrink.h"

struct golden_values {
    int count, sets;
    struct literal **
        *lists; /* [set][entry instruction]; NULL where evaluation did not come to it */
};
/* Evaluates the specimen, on each of its devices; stops where it cannot go on. A specimen for
 * several devices has arguments for each. */
void golden_values_find(const struct specimen *specimen, struct golden_values *values);
/* The same, kept only of the instructions of the entry that are wanted (NULL: all). Stops when
 * these are known. */
void golden_values_find_marked(const struct specimen *specimen, const bool *wanted,
                               struct golden_values *values);
/* The same, kept only of the operands of an instruction of its entry (of those of their beginnings,
 * where they are asynchronous chains): what specimen_alone takes. Stops when these are known. */
void golden_values_find_operands(const struct specimen *specimen,
                                 const struct instruction *instruction,
                                 struct golden_values *values);
void golden_values_finish(struct golden_values *values);
/* As shrink_value (context: struct golden_values). */
shrink_value golden_value_of;

/* The arguments of the body of a loop of the entry at each iteration to which all devices come, at
 * most `most` of them. */
struct loop_states {
    int64_t count;
    int sets;
    struct literal ***lists; /* [set][iteration] */
};
void loop_states_find(const struct specimen *specimen, const struct instruction *loop, int64_t most,
                      struct loop_states *states);
void loop_states_finish(struct loop_states *states);

#endif
