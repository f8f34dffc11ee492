/* Simplifications of a failing module: what a shrinker tries, one candidate after the other.
 *
 * A specimen is a module with the arguments on which it fails. A simplification (a row of
 * simplifications.def) knows the places where it could be made, and makes it at some of them in a
 * copy. Nothing here knows whether the copy still fails: that is for the caller to find out, and to
 * verify the copy first. Compare A. Zeller, R. Hildebrandt, "Simplifying and Isolating
 * Failure-Inducing Input", IEEE TSE 28(2), 2002, for trying many places at once. */
#ifndef HLO_SHRINK_SHRINK_H
#define HLO_SHRINK_SHRINK_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/types.h"

struct computation;
struct error;
struct instruction;
struct literal;
struct module;

struct specimen {
    struct module *module;
    int argument_count;         /* parameters */
    struct literal **arguments; /* [set * argument_count + parameter] */
    int set_count;              /* devices; 0 or 1: all devices get the same arguments */
    bool keeps_unread;          /* settling leaves what calls and fusions pass for nothing */
};
int specimen_sets(const struct specimen *specimen);           /* at least 1 */
int specimen_argument_total(const struct specimen *specimen); /* of all sets */
int specimen_devices(const struct specimen *specimen);        /* of the module's header */
/* Arguments for each device of the module's header, shared where they were given once. */
void specimen_spread(struct specimen *specimen);
void specimen_finish(struct specimen *specimen);
/* A copy that shares names, attributes and literals with the original, which must outlive it. */
void specimen_borrow(const struct specimen *specimen, struct specimen *copy);
/* A copy of its own. */
bool specimen_copy(const struct specimen *specimen, struct specimen *copy, struct error *err);
/* After changes: drops what nobody needs, with the arguments of parameters that are gone, and the
 * parts of the header that no longer fit; orders and numbers what is left. False when the changes
 * left no module. */
bool specimen_settle(struct specimen *specimen, struct error *err);

/* The golden's values of instructions of the entry, for making arguments of them, on the device
 * that has this set of arguments: owned by the caller; NULL when there is none. */
typedef struct literal *shrink_value(void *context, const struct instruction *instruction, int set);

/* --- parts of a specimen, each a borrowed copy of its own; false with *err when there is none ---
 */

/* Everything up to an instruction of the entry, which is the result. */
bool specimen_cut(const struct specimen *specimen, const struct instruction *instruction,
                  struct specimen *part, struct error *err);
/* The same, with parameters in the place of those that are marked, by instruction of the entry;
 * their arguments are what `value` gives (retained; NULL where it has none: then the instruction
 * stays as it is computed). */
bool specimen_cut_between(const struct specimen *specimen, const bool *given, shrink_value *value,
                          void *context, const struct instruction *instruction,
                          struct specimen *part, struct error *err);
/* An instruction of the entry alone; its operands are parameters with these values (retained), by
 * set, then by instruction of the entry; what has none stays as it is computed. What ends an
 * asynchronous chain takes the chain along. */
bool specimen_alone(const struct specimen *specimen, const struct instruction *instruction,
                    struct literal *const *const *values, struct specimen *part, struct error *err);
/* Does it begin or go on an asynchronous chain? What needs it takes it along. */
bool specimen_is_chain(const struct instruction *operand);
/* A computation that an instruction calls, as the entry, with these arguments (retained), as many
 * sets of them as the specimen has. */
bool specimen_body(const struct specimen *specimen, const struct computation *computation,
                   struct literal *const *arguments, struct specimen *part, struct error *err);
/* The same for one device alone, on the arguments of that set: the module must not have collectives
 * or ask for a device's number, or it is another one then. */
bool specimen_of_device(const struct specimen *specimen, int set, struct specimen *part,
                        struct error *err);

/* The same with parameters, whose arguments are the values, for the constants of the entry. */
bool specimen_lift_constants(const struct specimen *specimen, struct specimen *part,
                             struct error *err);
/* The root and what stands at most so many operands above it; what is further away becomes
 * parameters with the values that `value` gives (retained; NULL where it has none: then the
 * instruction stays). */
bool specimen_context(const struct specimen *specimen, int depth, shrink_value *value,
                      void *context, struct specimen *part, struct error *err);

/* The same with one element type in the place of another, everywhere; values are converted. */
bool specimen_retype(const struct specimen *specimen, enum type from, enum type to,
                     struct specimen *part, struct error *err);

/* --- sizes --- */

/* What a shrinker makes less: instructions, then elements of all arrays, then other things that a
 * reader has to look at (attributes, operands, digits). */
struct specimen_size {
    int64_t instructions, elements, rest;
};
struct specimen_size specimen_size(const struct specimen *specimen);
/* Is a smaller than b? */
bool specimen_size_less(struct specimen_size a, struct specimen_size b);

/* Where a simplification can be made: an instruction by its position, and which of several ways. */
struct shrink_place {
    int computation, instruction;
    int64_t variant;
};
struct shrink_places {
    int count;
    struct shrink_place *list; /* the most promising first */
};
void shrink_places_finish(struct shrink_places *places);

struct simplification {
    const char *name, *summary;
    bool together;  /* may be made at many places of a module at once */
    bool same_size; /* what comes of it need not be smaller; it cannot go on for ever */
    void (*find)(const struct specimen *specimen, struct shrink_places *places);
    /* Changes the copy at a place; the original is unchanged and still has the instructions at
     * their places. False: it cannot be made there. */
    bool (*apply)(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                  shrink_value *value, void *context);
};
extern const struct simplification simplifications[];
extern const int simplification_count;

/* A candidate: a borrowed copy of the original with the simplification made at count places,
 * settled. False if nothing came of it; *err says why where that is of interest. */
bool shrink_candidate(const struct simplification *simplification, const struct specimen *original,
                      const struct shrink_place *places, int count, shrink_value *value,
                      void *context, struct specimen *candidate, struct error *err);

#endif
