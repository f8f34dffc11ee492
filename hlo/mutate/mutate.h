/* Faults: changes of one instruction that leave a valid module of another meaning, of the kinds
 * that compilers make. What a gate, a walk over passes or a bisection is tested with.
 *
 * Shapes of results stay, and what verified verifies. Whether a fault changes any output depends on
 * the module and its arguments: that is for whoever plants it to see. */
#ifndef HLO_MUTATE_MUTATE_H
#define HLO_MUTATE_MUTATE_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct instruction;
struct module;
struct rng;
struct text;

/* What a computation is for. */
enum mutation_role {
    MUTATION_CODE,       /* entry, fusions, calls, branches, bodies of loops */
    MUTATION_REDUCER,    /* combines two values: of reductions, scatters, collectives */
    MUTATION_COMPARATOR, /* of a sort */
    MUTATION_OTHER,      /* conditions of loops, asynchronous wrappers …: left alone */
};

/* Changes the instruction if the class applies to it (true), else leaves everything as it is. Which
 * of the class's variants is drawn from rng; whether it applies is not. *what gets what was done;
 * NULL: nothing is changed, it is only asked. */
typedef bool mutation_function(struct instruction *instruction, struct rng *rng, struct text *what);

/* A class of faults: a row of mutations.def. */
struct mutation {
    const char *name;
    enum mutation_role role;
    const char *summary;
    mutation_function *mutate;
};
extern const struct mutation mutations[];
extern const int mutation_count;

/* NULL if there is no such class. */
const struct mutation *mutation_find(const char *name);

struct mutation_place {
    const struct mutation *mutation;
    struct instruction *instruction;
};
struct mutation_places {
    int count;
    struct mutation_place *list;
};
/* All places of the class (NULL: of every class), in the order of the module; of one instruction in
 * that of the table. */
void mutation_places(const struct module *module, const struct mutation *mutation,
                     struct mutation_places *places);
void mutation_places_finish(struct mutation_places *places);
/* One of them (there must be one): of a class drawn from those with places the middle one of three
 * drawn places, since faults at either end of a module are the easy ones. */
struct mutation_place mutation_places_draw(const struct mutation_places *places, struct rng *rng);

/* Plants a fault of the class in this instruction. The same seed makes the same change of the same
 * instruction, also in another module. False with *err when the class does not apply (the module
 * is as it was then) or the result does not verify where it did before (then the module is broken).
 */
bool mutate_instruction(struct instruction *instruction, const struct mutation *mutation,
                        uint64_t seed, struct text *what, struct error *err);

/* What mutate_module did; names live in the new module. */
struct mutant {
    const struct mutation *mutation;
    const char *computation, *instruction, *what;
};
/* A copy of the module with one fault: of the class, or if that is NULL of any, at a place that
 * mutation_places_draw chooses. NULL with *err if there is none. */
struct module *mutate_module(const struct module *module, const struct mutation *mutation,
                             uint64_t seed, struct mutant *mutant, struct error *err);

#endif
