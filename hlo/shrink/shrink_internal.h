/* Shared by the simplifications. Private to hlo/shrink. */
#ifndef HLO_SHRINK_SHRINK_INTERNAL_H
#define HLO_SHRINK_SHRINK_INTERNAL_H

#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/shrink/shrink.h"

#define SIMPLIFICATION(name, together, same_size, summary)                           \
    void find_##name(const struct specimen *specimen, struct shrink_places *places); \
    bool apply_##name(const struct specimen *original, struct specimen *copy,        \
                      struct shrink_place place, shrink_value *value, void *context);
#include "hlo/shrink/simplifications.def"

void place_add(struct shrink_places *places, int computation, int instruction, int64_t variant);
/* The instruction at a place. */
struct instruction *place_instruction(const struct specimen *specimen, struct shrink_place place);

/* Every use of `old` in its computation, the root too, becomes one of `new`. */
void shrink_replace_uses(struct instruction *old, struct instruction *new);
/* The instruction becomes another one in place, without attributes and called computations. */
void shrink_become(struct instruction *instruction, enum opcode opcode, int operand_count,
                   struct instruction *const *operands);
/* It becomes a constant (takes the literal). */
void shrink_become_constant(struct instruction *instruction, struct literal *literal_take);
/* It becomes a parameter of the entry with these arguments, one a set (takes the literals). */
void shrink_become_parameter(struct specimen *specimen, struct instruction *instruction,
                             struct literal *const *arguments_take);
/* A copy of the dimensions of its window, or its slices, in their place, to be changed; *rank of
 * them. NULL: it has none. */
struct window_dimension *shrink_own_window(struct instruction *instruction, int *rank);
struct slice_dimension *shrink_own_slices(struct instruction *instruction, int *rank);
/* Keeps `count` sets of arguments from `first` on. */
void shrink_keep_sets(struct specimen *specimen, int first, int count);
/* Puts another literal in an argument's place (takes it). */
void shrink_set_argument(struct specimen *specimen, int at, struct literal *argument_take);
/* --- sizes.c --- */

/* Sizes of dimensions and what they become: everywhere, with what follows. */
enum { SIZE_RULES_MOST = 64 };
struct size_rules {
    int count;
    int64_t from[SIZE_RULES_MOST], to[SIZE_RULES_MOST];
};
/* False when the size becomes something else already, or is made larger. */
bool size_rule_add(struct size_rules *rules, int64_t from, int64_t to);
/* A change of attributes and operands in a copy, which leaves instructions at their places. False:
 * it cannot be made. */
typedef bool shrink_prepare(const struct specimen *original, struct specimen *copy,
                            struct shrink_place place);
/* Makes the change in a copy of the original (NULL: none), then sizes what the rules and shape
 * inference say, with what follows from that. False when they contradict each other. */
bool shrink_resize(const struct specimen *original, struct specimen *copy, shrink_prepare *prepare,
                   struct shrink_place place, const struct size_rules *rules);

/* The part of the literal with the smallest indices, or the largest; NULL without memory. */
struct literal *shrink_cropped(const struct literal *literal, const struct shape *shape, bool last);

/* --- follow.c --- */

/* In the entry of a copy with other shapes of parameters and constants, and other attributes of the
 * instruction `changed` (NULL: none), shapes follow. False: they cannot. */
bool shrink_follow(const struct specimen *original, struct specimen *copy,
                   const struct instruction *changed);

/* Fills an empty computation of the same module with copies of another's instructions. */
void shrink_copy_computation(const struct computation *from, struct computation *to);
/* The computation's instructions are needed where it is called only once: by whom? NULL otherwise.
 */
struct instruction *shrink_only_caller(const struct computation *computation);

#endif
