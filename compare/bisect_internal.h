/* Shared by the parts of the bisection. Private to compare. */
#ifndef COMPARE_BISECT_INTERNAL_H
#define COMPARE_BISECT_INTERNAL_H

#include "compare/bisect.h"
#include "compare/golden_values.h"
#include "hlo/module.h"

struct bisection {
    const struct bisect_options *options;
    struct bisect_result *result;
    bool hasty; /* runs are (differential_options) */
    /* Of the last run that failed: the output that is furthest off, −1: none is; the first device
     * that parts, −1: there is one, or none gave results. */
    int leaf, device, devices_wrong, device_count;
};

/* Tells how the search goes on. */
void bisect_say(const struct bisection *bisection, const char *what, const char *name);
/* Runs the part, as often as is asked until it fails; true when it fails as the whole did. The
 * picture goes to *picture if that is not NULL. */
bool bisect_fails(struct bisection *bisection, const struct specimen *part, char **picture);
/* Keeps the part as the answer so far. */
void bisect_keep_part(struct bisection *bisection, const struct specimen *part);
void bisect_set_note(struct bisection *bisection, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* One level more; the rest of it is the caller's to set. */
struct bisect_level *bisect_add_level(struct bisection *bisection,
                                      const struct instruction *instruction);

/* The specimen fails: finds where, on this level and those below. */
void bisect_search(struct bisection *bisection, const struct specimen *specimen, int64_t iteration,
                   int depth);

/* --- bisect_cuts.c --- */

/* The output of the entry that fails: the element of a tuple that is furthest off, or the root if
 * it is no tuple or wrong in itself. The specimen fails, and was the last to be run. */
const struct instruction *bisect_bad_output(struct bisection *bisection,
                                            const struct specimen *specimen);
/* An instruction of the entry at which the cut fails while those at its operands pass; the cut at
 * `output` fails. *narrow: may cuts be narrowed (bisect_level); then, whether they were. NULL: the
 * answer got lost as they were. */
const struct instruction *bisect_first_bad(struct bisection *bisection,
                                           const struct specimen *specimen,
                                           const struct instruction *output, bool *narrow);

/* --- bisect_inside.c --- */

/* Goes into what the instruction calls. True if it fails there. */
bool bisect_go_inside(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *instruction, const struct golden_values *values,
                      int depth);
/* Does the instruction call computations that are code of their own (not reducers and the like)? */
bool bisect_has_inside(const struct instruction *instruction);

/* --- bisect_applied.c --- */

/* The root of the entry of `part`, which fails, applies computations to elements: is what is wrong
 * in them? `values` are those of the operands of `instruction`, which the root is a copy of. Adds a
 * level and returns true if so. */
bool bisect_applied(struct bisection *bisection, const struct specimen *specimen,
                    const struct instruction *instruction, const struct golden_values *values,
                    const struct specimen *part);

#endif
