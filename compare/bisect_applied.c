/* Bisection inside what an instruction applies to elements: reducers, comparators, what scatters
 * combine with, maps. Such a computation has no values of its own to begin with, so it is tried in
 * two ways:
 *
 * - alone: mapped over samples of the operands' elements, its accumulators those of a fold over
 *   them. What is wrong in any use shows here.
 * - in place: what applies it is run with a plain computation instead (the old or the new value, a
 *   comparison of the first keys). If that fails too, the computation is not at fault. If not, what
 *   its instructions compute is made its result, one after the other: the first with which it fails
 *   is named. */
#include <stdlib.h>
#include <string.h>

#include "compare/bisect_internal.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "interp/interp.h"

enum { SAMPLES = 64, CUTS_MOST = 100 };

enum applied_kind {
    APPLIED_REDUCER,    /* old values, new values → values */
    APPLIED_COMPARATOR, /* pairs of keys → which comes first */
    APPLIED_MAP,        /* elements → an element */
};

/* Whom the table does not have applies nothing. */
static const struct {
    enum opcode opcode;
    int called;
    enum applied_kind kind;
} applications[] = {
    {OP_REDUCE, 0, APPLIED_REDUCER},
    {OP_REDUCE_WINDOW, 0, APPLIED_REDUCER},
    {OP_SCATTER, 0, APPLIED_REDUCER},
    {OP_ALL_REDUCE, 0, APPLIED_REDUCER},
    {OP_REDUCE_SCATTER, 0, APPLIED_REDUCER},
    {OP_SORT, 0, APPLIED_COMPARATOR},
    {OP_SELECT_AND_SCATTER, 0, APPLIED_COMPARATOR},
    {OP_SELECT_AND_SCATTER, 1, APPLIED_REDUCER},
    {OP_MAP, 0, APPLIED_MAP},
};
enum { APPLICATIONS = sizeof applications / sizeof *applications };

static bool takes_scalars(const struct computation *computation)
{
    for (int i = 0; i < computation->parameter_count; i++) {
        if (!shape_is_scalar(computation->parameters[i]->shape)) {
            return false;
        }
    }
    return computation->parameter_count > 0;
}

/* --- alone: samples --- */

/* The operand whose elements a parameter takes; *init gets the one that it begins with, −1: none.
 */
static int source_of(const struct instruction *instruction, enum applied_kind kind, int parameter,
                     int *init)
{
    int count = instruction->operand_count;
    *init = -1;
    switch (instruction->opcode) {
    case OP_REDUCE:
    case OP_REDUCE_WINDOW: {
        int arrays = count / 2;
        *init = parameter < arrays ? arrays + parameter : -1;
        return parameter % arrays;
    }
    case OP_SCATTER: {
        int arrays = count / 2; /* arrays, indices, updates */
        return parameter < arrays ? parameter : parameter + 1;
    }
    case OP_SORT:
        return parameter / 2;
    case OP_SELECT_AND_SCATTER: /* operand, source, init */
        *init = kind == APPLIED_REDUCER && parameter == 0 ? 2 : -1;
        return kind == APPLIED_REDUCER ? 1 : 0;
    case OP_MAP:
        return parameter;
    default: /* collectives reduce each operand on its own */
        return 0;
    }
}

/* An element of the literal as a scalar. */
static struct literal *element_of(const struct literal *literal, int64_t index)
{
    struct literal *scalar = literal_zero(shape_scalar(literal->shape->type), NULL);
    size_t width = (size_t)type_bytes(literal->shape->type);
    if (scalar != NULL && literal_elements(literal) > 0) {
        memcpy(literal_data(scalar),
               (const char *)literal_data(literal) +
                   (size_t)(index % literal_elements(literal)) * width,
               width);
    }
    return scalar;
}

/* Places that lie apart, the first ones first. */
static int64_t sample_place(int64_t sample, int parameter)
{
    const int64_t near = SAMPLES / 2, step = 7919;
    return sample < near ? sample + parameter : sample * step + parameter;
}

/* One sample: a scalar for each parameter; false when an operand has no value. */
static bool draw_sample(const struct instruction *instruction, enum applied_kind kind,
                        struct literal *const *values, const struct computation *computation,
                        int64_t number, struct literal **sample)
{
    for (int p = 0; p < computation->parameter_count; p++) {
        int init, operand = source_of(instruction, kind, p, &init);
        operand = number == 0 && init >= 0 ? init : operand;
        const struct literal *source = operand < instruction->operand_count
                                           ? values[instruction->operands[operand]->id]
                                           : NULL;
        if (source == NULL || !shape_is_array(source->shape) || shape_is_dynamic(source->shape) ||
            source->shape->type != computation->parameters[p]->shape->type) {
            return false;
        }
        sample[p] = element_of(source, sample_place(number, p));
        if (sample[p] == NULL) {
            return false;
        }
    }
    return true;
}

/* Values that the reducer gave stand for the old values of the next sample. */
static void fold(const struct computation *computation, struct literal *given,
                 struct literal **next)
{
    bool tuple = shape_is_tuple(given->shape);
    int count = tuple ? given->shape->count : 1;
    for (int i = 0; i < count && i < computation->parameter_count; i++) {
        struct literal *value = tuple ? given->elements[i] : given;
        if (shape_compatible(value->shape, next[i]->shape)) {
            literal_release(next[i]);
            next[i] = literal_retain(value);
        }
    }
}

/* Arrays of samples, one a parameter; false when there are none. */
static bool draw_samples(const struct specimen *specimen, const struct instruction *instruction,
                         enum applied_kind kind, const struct computation *computation,
                         const struct golden_values *values, struct literal **arrays)
{
    int count = computation->parameter_count;
    struct literal **sample = memory_zalloc((size_t)count * sizeof *sample);
    struct literal **before = memory_zalloc((size_t)count * sizeof *before);
    struct specimen body = {0};
    struct error ignored = {0};
    bool ok = true, has_body = false;
    for (int64_t s = 0; ok && s < SAMPLES; s++) {
        struct literal *given = NULL;
        memset(sample, 0, (size_t)count * sizeof *sample);
        ok = draw_sample(instruction, kind, values->lists[0], computation, s, sample);
        if (ok && s == 0 && kind == APPLIED_REDUCER) {
            struct specimen whole = {.module = specimen->module};
            has_body = specimen_body(&whole, computation, sample, &body, &ignored);
        }
        /* In the middle the fold begins anew. */
        if (ok && has_body && s % (SAMPLES / 2) != 0) {
            given = interp_evaluate(body.module, before, count, NULL, &ignored);
            if (given != NULL) {
                fold(computation, given, sample);
            }
            literal_release(given);
        }
        for (int p = 0; p < count; p++) {
            if (ok && arrays[p] == NULL) {
                const int64_t size = SAMPLES;
                arrays[p] = literal_zero(shape_array(sample[p]->shape->type, 1, &size), NULL);
                ok = arrays[p] != NULL;
            }
            if (ok) {
                size_t width = (size_t)type_bytes(sample[p]->shape->type);
                memcpy((char *)literal_data(arrays[p]) + (size_t)s * width, literal_data(sample[p]),
                       width);
            }
            literal_release(before[p]);
            before[p] = sample[p];
        }
    }
    for (int p = 0; p < count; p++) {
        literal_release(before[p]);
    }
    if (has_body) {
        specimen_finish(&body);
    }
    free(before);
    free(sample);
    return ok;
}

/* A module that maps the computation over the samples; what it gives is the value of `root`, a
 * scalar of the computation. */
static bool map_specimen(const struct specimen *specimen, const struct instruction *root,
                         struct literal *const *arrays, struct specimen *mapped)
{
    struct error ignored = {0};
    const int64_t size = SAMPLES, zero = 0;
    struct specimen empty = {.module = specimen->module};
    specimen_borrow(&empty, mapped);
    struct module *module = mapped->module;
    struct computation *computation = module->computations[root->parent->id];
    computation->root = computation->instructions[root->id];
    int count = computation->parameter_count;
    struct computation *entry = computation_add(module, "applied.to.samples");
    struct instruction **parameters = memory_zalloc((size_t)count * sizeof *parameters);
    mapped->argument_count = count;
    free(mapped->arguments);
    mapped->arguments = memory_zalloc(((size_t)count + 1) * sizeof *mapped->arguments);
    for (int p = 0; p < count; p++) {
        parameters[p] = instruction_add(entry, arena_printf(&module->arena, "samples.%d", p),
                                        OP_PARAMETER, arrays[p]->shape, 0, NULL);
        parameters[p]->number = p;
        mapped->arguments[p] = literal_retain(arrays[p]);
    }
    entry->root = instruction_add(entry, "applied", OP_MAP,
                                  shape_array(root->shape->type, 1, &size), count, parameters);
    instruction_set_called(entry->root, 1, &computation);
    instruction_set_attr(
        entry->root, (struct attr){.key = ATTR_DIMENSIONS,
                                   .ints = {1, arena_copy(&module->arena, &zero, sizeof zero)}});
    free(parameters);
    module->entry = entry;
    module->config.replica_count = module->config.partition_count = 1;
    if (specimen_settle(mapped, &ignored)) {
        return true;
    }
    specimen_finish(mapped);
    return false;
}

static bool map_fails(struct bisection *bisection, const struct specimen *specimen,
                      const struct instruction *root, struct literal *const *arrays, bool keep)
{
    struct specimen mapped;
    if (!shape_is_scalar(root->shape) || !map_specimen(specimen, root, arrays, &mapped)) {
        return false;
    }
    bool bad = bisect_fails(bisection, &mapped, keep ? &bisection->result->picture : NULL);
    if (bad && keep) {
        bisect_keep_part(bisection, &mapped);
    }
    specimen_finish(&mapped);
    return bad;
}

/* The first instruction of the computation whose value, alone, is wrong; NULL: none. */
static const struct instruction *wrong_alone(struct bisection *bisection,
                                             const struct specimen *specimen,
                                             const struct instruction *instruction,
                                             enum applied_kind kind,
                                             const struct computation *computation,
                                             const struct golden_values *values)
{
    const struct instruction *wrong = NULL;
    struct literal **arrays =
        memory_zalloc(((size_t)computation->parameter_count + 1) * sizeof *arrays);
    if (draw_samples(specimen, instruction, kind, computation, values, arrays)) {
        const struct instruction *root = computation->root;
        bool tuple = root->opcode == OP_TUPLE;
        bool bad = false;
        bisect_say(bisection, "on samples:", computation->name);
        for (int k = 0; !bad && k < (tuple ? root->operand_count : 1); k++) {
            bad = map_fails(bisection, specimen, tuple ? root->operands[k] : root, arrays, false);
        }
        for (int i = 0; bad && wrong == NULL && i < computation->count && i < CUTS_MOST; i++) {
            const struct instruction *inner = computation->instructions[i];
            if (inner->opcode != OP_PARAMETER &&
                map_fails(bisection, specimen, inner, arrays, true)) {
                wrong = inner;
            }
        }
    }
    for (int p = 0; p < computation->parameter_count; p++) {
        literal_release(arrays[p]);
    }
    free(arrays);
    return wrong;
}

/* --- in place --- */

/* Makes the value the result of the computation, for result `index` of several; the others are what
 * the parameters from `others` on bring. False if its type does not fit. */
static bool set_result(struct computation *computation, struct instruction *value, int index,
                       int others)
{
    struct instruction *root = computation->root;
    if (root->opcode != OP_TUPLE) {
        computation->root = value;
        return index == 0 && shape_compatible(root->shape, value->shape);
    }
    struct arena *arena = &computation->module->arena;
    struct instruction **operands =
        arena_array(arena, (size_t)root->operand_count, sizeof *operands);
    for (int k = 0; k < root->operand_count; k++) {
        operands[k] = k == index ? value : computation->parameters[others + k];
        if (!shape_compatible(operands[k]->shape, root->operands[k]->shape)) {
            return false;
        }
    }
    computation->root = instruction_add(computation, "result.in.place", OP_TUPLE, root->shape,
                                        root->operand_count, operands);
    return true;
}

/* The value as one that a reducer may give: a yes or no chooses between the old and the new. */
static struct instruction *as_result(struct computation *computation, struct instruction *value,
                                     int index, int results)
{
    struct instruction *old = computation->parameters[index],
                       *new = computation->parameters[results + index];
    if (shape_compatible(value->shape, old->shape) || value->shape->type != TYPE_PRED) {
        return value;
    }
    struct instruction *operands[] = {value, new, old};
    return instruction_add(computation, "choice.in.place", OP_SELECT, old->shape, 3, operands);
}

/* What is put in the computation's place. */
struct replacement {
    const struct instruction *value; /* of the computation; NULL: a plain comparison */
    int index;                       /* of which result of several */
};

/* Does the part fail with that in the place of what the computation gives? */
static bool replaced_fails(struct bisection *bisection, const struct specimen *part, int called,
                           enum applied_kind kind, struct replacement replacement)
{
    struct specimen changed;
    struct error ignored = {0};
    specimen_borrow(part, &changed);
    struct instruction *applies = changed.module->entry->root;
    struct computation *computation = applies->called[called];
    const struct instruction *root = computation->root;
    int results = root->opcode == OP_TUPLE ? root->operand_count : 1;
    bool ok = true;
    if (replacement.value == NULL) {
        struct instruction *keys[] = {computation->parameters[0], computation->parameters[1]};
        bool select = applies->opcode == OP_SELECT_AND_SCATTER;
        computation->root = instruction_add(computation, "plain.in.place", OP_COMPARE,
                                            shape_scalar(TYPE_PRED), 2, keys);
        instruction_set_attr(
            computation->root,
            (struct attr){.key = ATTR_DIRECTION, .integer = select ? DIRECTION_GE : DIRECTION_LT});
    } else {
        struct instruction *value = computation->instructions[replacement.value->id];
        if (kind == APPLIED_REDUCER && value->opcode != OP_PARAMETER &&
            computation->parameter_count >= 2 * results) {
            value = as_result(computation, value, replacement.index, results);
        }
        bool old = kind == APPLIED_REDUCER && replacement.value == computation->parameters[0];
        ok = set_result(computation, value, replacement.index, old ? 0 : results);
    }
    ok = ok && specimen_settle(&changed, &ignored);
    bool bad = ok && bisect_fails(bisection, &changed, NULL);
    specimen_finish(&changed);
    return bad;
}

/* Does what applies the computation fail with a plain one, too? */
static bool plain_fails(struct bisection *bisection, const struct specimen *part, int called,
                        enum applied_kind kind, const struct computation *computation)
{
    if (kind == APPLIED_COMPARATOR) {
        return replaced_fails(bisection, part, called, kind, (struct replacement){NULL, 0});
    }
    int results = computation->root->opcode == OP_TUPLE ? computation->root->operand_count : 1;
    const int plain[] = {kind == APPLIED_REDUCER ? results : 0, 0};
    for (int i = 0; i < (kind == APPLIED_REDUCER ? 2 : 1); i++) {
        if (plain[i] < computation->parameter_count &&
            replaced_fails(bisection, part, called, kind,
                           (struct replacement){computation->parameters[plain[i]], 0})) {
            return true;
        }
    }
    return false;
}

/* The first instruction with whose value in the place of the result the part fails. */
static const struct instruction *wrong_in_place(struct bisection *bisection,
                                                const struct specimen *part, int called,
                                                enum applied_kind kind,
                                                const struct computation *computation)
{
    const struct instruction *root = computation->root;
    int results = root->opcode == OP_TUPLE ? root->operand_count : 1;
    for (int i = 0; i < computation->count && i < CUTS_MOST; i++) {
        const struct instruction *inner = computation->instructions[i];
        if (inner->opcode == OP_PARAMETER || inner->opcode == OP_TUPLE) {
            continue;
        }
        for (int k = 0; k < results; k++) {
            if (replaced_fails(bisection, part, called, kind, (struct replacement){inner, k})) {
                return inner;
            }
        }
    }
    return NULL;
}

bool bisect_applied(struct bisection *bisection, const struct specimen *specimen,
                    const struct instruction *instruction, const struct golden_values *values,
                    const struct specimen *part)
{
    const struct instruction *applies = part->module->entry->root;
    for (int a = 0; a < APPLICATIONS; a++) {
        int called = applications[a].called;
        enum applied_kind kind = applications[a].kind;
        if (applications[a].opcode != instruction->opcode || called >= instruction->called_count ||
            !takes_scalars(instruction->called[called])) {
            continue;
        }
        const struct computation *own = instruction->called[called];
        const struct instruction *wrong =
            wrong_alone(bisection, specimen, instruction, kind, own, values);
        bool alone = wrong != NULL;
        if (!alone) {
            bisect_say(bisection, "in place:", own->name);
            const struct computation *computation = applies->called[called];
            wrong = plain_fails(bisection, part, called, kind, computation)
                        ? NULL
                        : wrong_in_place(bisection, part, called, kind, computation);
        }
        if (wrong != NULL) {
            struct bisect_level *level = bisect_add_level(bisection, wrong);
            level->isolated = alone;
            level->applied = true;
            return true;
        }
    }
    return false;
}
