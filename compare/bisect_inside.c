/* Bisection inside what an instruction calls: fusions and calls, branches, steps of loops, and what
 * asynchronous chains do. */
#include <stdlib.h>

#include "compare/bisect_internal.h"
#include "compare/devices.h"
#include "hlo/async.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"

enum { ITERATIONS_MOST = 1000, STEPS_TRIED = 64, DEPTH_MOST = 32 };

/* Goes into the part, the body of something. True if it fails there. */
static bool enter_part(struct bisection *bisection, const struct specimen *body, const char *name,
                       int64_t iteration, int depth)
{
    bisect_say(bisection, "into", name);
    bool bad = bisect_fails(bisection, body, NULL);
    if (bad) {
        bisect_search(bisection, body, iteration, depth + 1);
    }
    return bad;
}

/* Goes into the computation with those arguments, [set * parameters + parameter]. `set` of them
 * alone, on one device, if that is not −1. */
static bool enter(struct bisection *bisection, const struct specimen *specimen,
                  const struct computation *computation, struct literal *const *arguments, int set,
                  int64_t iteration, int depth)
{
    struct specimen body, single;
    struct error ignored = {0};
    for (int i = 0; i < specimen_sets(specimen) * computation->parameter_count; i++) {
        if (arguments[i] == NULL) {
            return false;
        }
    }
    if (!specimen_body(specimen, computation, arguments, &body, &ignored)) {
        return false;
    }
    bool bad = false;
    if (set < 0) {
        bad = enter_part(bisection, &body, computation->name, iteration, depth);
    } else if (!devices_matter(body.module) && specimen_of_device(&body, set, &single, &ignored)) {
        bad = enter_part(bisection, &single, computation->name, iteration, depth);
        specimen_finish(&single);
    }
    specimen_finish(&body);
    return bad;
}

/* The values of `count` operands from `first` on, set after set. */
static struct literal **operand_values(const struct instruction *instruction, int first, int count,
                                       const struct golden_values *values)
{
    struct literal **operands =
        memory_zalloc(((size_t)count * (size_t)values->sets + 1) * sizeof *operands);
    for (int s = 0; s < values->sets; s++) {
        for (int k = 0; k < count; k++) {
            operands[s * count + k] = values->lists[s][instruction->operands[first + k]->id];
        }
    }
    return operands;
}

static bool enter_with_operands(struct bisection *bisection, const struct specimen *specimen,
                                const struct instruction *caller,
                                const struct computation *computation,
                                const struct golden_values *values, int depth)
{
    if (computation->parameter_count != caller->operand_count) {
        return false;
    }
    struct literal **operands = operand_values(caller, 0, caller->operand_count, values);
    bool bad = enter(bisection, specimen, computation, operands, -1, -1, depth);
    free(operands);
    return bad;
}

/* --- loops --- */

static bool enter_step(struct bisection *bisection, const struct specimen *specimen,
                       const struct instruction *loop, const struct loop_states *states,
                       int64_t iteration, int depth)
{
    struct literal **state = memory_alloc((size_t)states->sets * sizeof *state);
    for (int s = 0; s < states->sets; s++) {
        state[s] = states->lists[s][iteration];
    }
    bool bad = enter(bisection, specimen, loop->called[0], state, -1, iteration, depth);
    free(state);
    return bad;
}

/* The constant that the condition compares an element of the state with, and which element, if it
 * ends the loop when they are equal. NULL if it is not of that form. */
static struct instruction *find_limit(const struct instruction *loop, int64_t *element)
{
    const struct instruction *root = loop->called[1]->root;
    if (root->opcode != OP_COMPARE) {
        return NULL;
    }
    int64_t direction = attr_int(root, ATTR_DIRECTION, DIRECTION_EQ);
    const struct instruction *counter = root->operands[0];
    struct instruction *limit = root->operands[1];
    if ((direction == DIRECTION_LT || direction == DIRECTION_GT || direction == DIRECTION_NE) &&
        counter->opcode == OP_GET_TUPLE_ELEMENT &&
        counter->operands[0] == loop->called[1]->parameters[0] && limit->opcode == OP_CONSTANT &&
        shape_is_scalar(limit->shape) && type_is_integer(limit->shape->type)) {
        *element = attr_int(counter, ATTR_INDEX, 0);
        return limit;
    }
    return NULL;
}

/* Does the loop fail that ends after that many trips? `specimen` is the loop alone, on the
 * reference's operands. */
static bool trips_fail(struct bisection *bisection, const struct specimen *specimen,
                       const struct loop_states *states, int64_t trips)
{
    struct specimen shorter;
    struct error ignored = {0};
    int64_t element;
    specimen_borrow(specimen, &shorter);
    struct instruction *limit = find_limit(shorter.module->entry->root, &element);
    literal_release(limit->literal);
    limit->literal = literal_retain(states->lists[0][trips]->elements[element]);
    bool bad = specimen_settle(&shorter, &ignored) && bisect_fails(bisection, &shorter, NULL);
    specimen_finish(&shorter);
    return bad;
}

/* The first iteration that parts, by halving over the number of trips; −1: it cannot be told. */
static int64_t find_iteration(struct bisection *bisection, const struct specimen *specimen,
                              const struct instruction *loop, const struct golden_values *values,
                              const struct loop_states *states, int64_t most)
{
    const int64_t few = 4; /* steps that may as well be tried one by one */
    struct specimen alone;
    struct error ignored = {0};
    int64_t element;
    if (states->count <= few ||
        !specimen_alone(specimen, loop, (struct literal *const *const *)values->lists, &alone,
                        &ignored)) {
        return -1;
    }
    int64_t low = 0, high = -1; /* trips: passes with low, fails with high */
    if (alone.module->entry->root->opcode == OP_WHILE &&
        find_limit(alone.module->entry->root, &element) != NULL) {
        bisect_say(bisection, "trips of", loop->name);
        const struct bisect_result *result = bisection->result;
        bool whole = states->count < most && result->levels[result->level_count - 1].isolated;
        high = whole ? states->count : states->count - 1;
        high = whole || trips_fail(bisection, &alone, states, high) ? high : -1;
    }
    while (high >= 0 && high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(trips_fail(bisection, &alone, states, middle) ? &high : &low) = middle;
    }
    specimen_finish(&alone);
    return high > 0 ? high - 1 : -1;
}

/* The first iteration whose step alone fails. */
static bool enter_loop(struct bisection *bisection, const struct specimen *specimen,
                       const struct instruction *loop, const struct golden_values *values,
                       int depth)
{
    int64_t asked = bisection->options->iterations_most, most = asked > 0 ? asked : ITERATIONS_MOST;
    struct loop_states states;
    loop_states_find(specimen, loop, most, &states);
    int64_t found = find_iteration(bisection, specimen, loop, values, &states, most);
    bool bad = found >= 0 && enter_step(bisection, specimen, loop, &states, found, depth);
    /* Of a loop in which errors add up, no step may fail alone. */
    int64_t tried = found >= 0 && states.count > STEPS_TRIED ? STEPS_TRIED : states.count;
    for (int64_t i = 0; i < tried && !bad; i++) {
        bad = i != found && enter_step(bisection, specimen, loop, &states, i, depth);
    }
    if (!bad) {
        if (found >= 0) {
            bisect_set_note(bisection,
                            "it passes with %lld trips and fails with one more, but each step "
                            "passes alone: what fails is how they follow on each other",
                            (long long)found);
        } else {
            bisect_set_note(bisection, "each step of the loop passes alone: what fails is how they "
                                       "follow on each other, or how often");
        }
    }
    loop_states_finish(&states);
    return bad;
}

/* --- branches --- */

static int64_t branch_taken(const struct instruction *conditional, const struct literal *which)
{
    int64_t branch = which != NULL ? literal_get_int(which, 0) : 0;
    if (conditional->operands[0]->shape->type == TYPE_PRED) {
        return branch != 0 ? 0 : 1;
    }
    return branch >= 0 && branch < conditional->called_count ? branch
                                                             : conditional->called_count - 1;
}

/* A branch, with the operand that is its own. */
static bool enter_one_branch(struct bisection *bisection, const struct specimen *specimen,
                             const struct instruction *conditional, int64_t branch,
                             const struct golden_values *values, int set, int depth)
{
    const struct computation *computation = conditional->called[branch];
    int count = computation->parameter_count; /* 1 */
    if (1 + branch + count > conditional->operand_count) {
        return false;
    }
    struct literal **operands = operand_values(conditional, 1 + (int)branch, count, values);
    bool bad = enter(bisection, specimen, computation, operands, set, -1, depth);
    free(operands);
    return bad;
}

/* The branch that the golden takes; where devices take several, those of the first that parts. What
 * does not run may fail for any branch. */
static bool enter_branch(struct bisection *bisection, const struct specimen *specimen,
                         const struct instruction *conditional, const struct golden_values *values,
                         int depth)
{
    int predicate = conditional->operands[0]->id;
    int device = bisection->device >= 0 && bisection->device < values->sets ? bisection->device : 0;
    int64_t branch = branch_taken(conditional, values->lists[device][predicate]);
    bool same = true;
    for (int s = 0; s < values->sets; s++) {
        same &= branch_taken(conditional, values->lists[s][predicate]) == branch;
    }
    bool bad = enter_one_branch(bisection, specimen, conditional, branch, values,
                                same ? -1 : device, depth);
    bool runs = bisection->result->signature.outcome == OUTCOME_MISMATCH;
    for (int b = 0; !runs && !bad && b < conditional->called_count; b++) {
        bad =
            b != branch && enter_one_branch(bisection, specimen, conditional, b, values, -1, depth);
    }
    return bad;
}

/* --- asynchronous chains --- */

static bool enter_chain(struct bisection *bisection, const struct specimen *specimen,
                        const struct instruction *done, const struct golden_values *values,
                        int depth)
{
    const struct instruction *start = done->operands[0];
    while (start->opcode == OP_ASYNC_UPDATE) {
        start = start->operands[0];
    }
    const struct computation *computation = async_computation(done);
    return start->opcode == OP_ASYNC_START && computation != NULL &&
           enter_with_operands(bisection, specimen, start, computation, values, depth);
}

/* --- the table --- */

typedef bool inside_function(struct bisection *bisection, const struct specimen *specimen,
                             const struct instruction *instruction,
                             const struct golden_values *values, int depth);

static bool enter_call(struct bisection *bisection, const struct specimen *specimen,
                       const struct instruction *call, const struct golden_values *values,
                       int depth)
{
    return enter_with_operands(bisection, specimen, call, call->called[0], values, depth);
}

static const struct {
    enum opcode opcode;
    inside_function *enter;
} insides[] = {
    {OP_CALL, enter_call},          {OP_FUSION, enter_call},      {OP_WHILE, enter_loop},
    {OP_CONDITIONAL, enter_branch}, {OP_ASYNC_DONE, enter_chain},
};
enum { INSIDES = sizeof insides / sizeof *insides };

bool bisect_has_inside(const struct instruction *instruction)
{
    for (int i = 0; i < INSIDES; i++) {
        if (insides[i].opcode == instruction->opcode) {
            return true;
        }
    }
    return false;
}

bool bisect_go_inside(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *instruction, const struct golden_values *values,
                      int depth)
{
    for (int i = 0; i < INSIDES && depth < DEPTH_MOST; i++) {
        if (insides[i].opcode == instruction->opcode) {
            return insides[i].enter(bisection, specimen, instruction, values, depth);
        }
    }
    return false;
}
