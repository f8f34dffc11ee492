/* mutant:[CLASS][?instruction=NAME&opcode=NAME&type=NAME&seed=N&of=URI&fails=K&runs=N]: another
 * backend (the golden by default) with a fault planted in each module it is given, of the kinds
 * that compilers make (hlo/mutate): for measuring what finds faults, and how well.
 *
 * The fault is of the class (none: any), in the instruction of that name, in whatever computation
 * it is (none: one drawn by the seed); modules without such an instruction run as they are, so that
 * a part of a module has the fault if it has the instruction. With an opcode it is in every
 * instruction of that opcode instead, as a compiler's fault is: `type` are those whose result has
 * that element type. With fails and runs it shows in K of N runs. Two classes are of this backend
 * alone: `crash` and `hang` end a run that comes to the instruction. */
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/mutate/mutate.h"
#include "hlo/text/text_format.h"

enum special { SPECIAL_NONE, SPECIAL_CRASH, SPECIAL_HANG };

struct mutant_state {
    struct backend *inner;
    const struct mutation *mutation; /* NULL: any */
    enum special special;
    const char *instruction; /* NULL: drawn */
    bool every;              /* of this opcode, and of this type if that is not INVALID */
    enum opcode opcode;
    enum type type;
    uint64_t seed;
    int fails, runs, run;
};

static bool read_number(const struct backend *backend, const char *name, uint64_t least,
                        uint64_t *value, struct error *err)
{
    const char *text = backend_parameter(backend, name);
    if (text == NULL) {
        return true;
    }
    char *end;
    *value = strtoull(text, &end, 10);
    return (*text != '\0' && *end == '\0' && *value >= least && *value <= INT32_MAX) ||
           error_set(err, ERROR_INVALID_ARGUMENT, "%s=%s is not a number of at least %llu", name,
                     text, (unsigned long long)least);
}

static bool check_names(const struct backend *backend, struct error *err)
{
    static const char *const known[] = {"instruction", "opcode", "type", "seed",
                                        "of",          "fails",  "runs"};
    for (int i = 0; i < backend->parameter_count; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known &&
               strcmp(known[k], backend->parameters[i].name) != 0) {
            k++;
        }
        if (k == sizeof known / sizeof *known) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "mutant: has no option %s; there are instruction, opcode, type, seed, "
                             "of, fails and runs",
                             backend->parameters[i].name);
        }
    }
    return true;
}

static bool find_class(const struct backend *backend, struct mutant_state *state, struct error *err)
{
    if (*backend->path == '\0') {
        return true;
    }
    state->special = strcmp(backend->path, "crash") == 0  ? SPECIAL_CRASH
                     : strcmp(backend->path, "hang") == 0 ? SPECIAL_HANG
                                                          : SPECIAL_NONE;
    state->mutation = state->special == SPECIAL_NONE ? mutation_find(backend->path) : NULL;
    if (state->special == SPECIAL_NONE && state->mutation == NULL) {
        struct text names;
        text_init(&names);
        for (int i = 0; i < mutation_count; i++) {
            text_printf(&names, " %s", mutations[i].name);
        }
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "there is no class of faults '%s'; there are crash hang%s", backend->path,
                  names.data);
        text_finish(&names);
        return false;
    }
    return true;
}

/* Which instructions have the fault, where it is not one by its name. */
static bool find_kind(const struct backend *backend, struct mutant_state *state, struct error *err)
{
    const char *opcode = backend_parameter(backend, "opcode");
    const char *type = backend_parameter(backend, "type");
    state->every = opcode != NULL;
    state->type = TYPE_INVALID;
    if (opcode != NULL) {
        state->opcode = opcode_from_text(opcode, strlen(opcode));
    }
    if (type != NULL) {
        state->type = type_from_text(type, strlen(type));
    }
    if (opcode != NULL && state->opcode == OPCODE_COUNT) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "opcode=%s is no opcode", opcode);
    }
    if (opcode != NULL && state->mutation == NULL && state->special == SPECIAL_NONE) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "opcode=%s needs a class of faults", opcode);
    }
    if (type != NULL && (opcode == NULL || state->type == TYPE_INVALID)) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "type=%s %s", type,
                         opcode == NULL ? "needs opcode=NAME" : "is no element type");
    }
    return true;
}

static bool mutant_open(struct backend *backend, struct error *err)
{
    struct mutant_state state = {.seed = 1};
    uint64_t fails = 1, runs = 1;
    const char *inner = backend_parameter(backend, "of");
    state.instruction = backend_parameter(backend, "instruction");
    if (!check_names(backend, err) || !find_class(backend, &state, err) ||
        !find_kind(backend, &state, err) || !read_number(backend, "seed", 0, &state.seed, err) ||
        !read_number(backend, "fails", 0, &fails, err) ||
        !read_number(backend, "runs", 1, &runs, err)) {
        return false;
    }
    state.fails = (int)fails;
    state.runs = (int)runs;
    state.inner =
        backend_open(inner != NULL ? inner : "interp:?cache=1024", &backend->options, err);
    if (state.inner == NULL) {
        return false;
    }
    backend->state = memory_alloc(sizeof state);
    memcpy(backend->state, &state, sizeof state);
    return true;
}

static struct instruction *find_instruction(struct module *module, const char *name)
{
    for (int c = 0; c < module->count; c++) {
        struct instruction *found = computation_find(module->computations[c], name);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static bool is_of_kind(const struct mutant_state *state, const struct instruction *instruction)
{
    const struct shape *shape = instruction->shape;
    return instruction->opcode == state->opcode &&
           (state->type == TYPE_INVALID || shape->type == state->type);
}

/* The instructions that have the fault where it is in all of a kind, in the module's order;
 * terminated by NULL. free() the list. */
static struct instruction **find_all(const struct mutant_state *state, const struct module *module)
{
    size_t most = (size_t)module_instruction_count(module), count = 0;
    struct instruction **list = memory_zalloc((most + 1) * sizeof(struct instruction *));
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            struct instruction *instruction = module->computations[c]->instructions[i];
            if (is_of_kind(state, instruction)) {
                list[count++] = instruction;
            }
        }
    }
    return list;
}

/* What a fault before it left without users is gone. */
static bool is_in_module(const struct instruction *instruction)
{
    const struct computation *computation = instruction->parent;
    return instruction->id < computation->count &&
           computation->instructions[instruction->id] == instruction;
}

/* A copy with the fault in all of its kind; NULL: the module has no place for it. A change that
 * leaves no valid module is left out by beginning again without it. */
static struct module *make_every(const struct mutant_state *state, const struct module *module)
{
    size_t most = (size_t)module_instruction_count(module) + 1;
    bool *refused = memory_zalloc(most * sizeof *refused);
    struct module *copy = NULL;
    for (bool again = true; again;) {
        struct error ignored = {0};
        again = false;
        copy = text_copy_module(module, &ignored);
        struct instruction **list = copy != NULL ? find_all(state, copy) : NULL;
        bool planted = false;
        for (size_t i = 0; list != NULL && list[i] != NULL && !again; i++) {
            struct error err = {0};
            struct text what;
            text_init(&what);
            if (!refused[i] && is_in_module(list[i])) {
                bool done = mutate_instruction(list[i], state->mutation, state->seed, &what, &err);
                planted |= done;
                refused[i] = !done;
                again =
                    !done && err.code != ERROR_INVALID_ARGUMENT; /* else it only does not apply */
            }
            text_finish(&what);
        }
        free(list);
        if (again || !planted) {
            module_destroy(copy);
            copy = NULL;
        }
    }
    free(refused);
    return copy;
}

/* A copy with the fault; NULL: the module has no place for it. */
static struct module *make_mutant(const struct mutant_state *state, const struct module *module)
{
    struct error ignored = {0};
    struct mutant mutant;
    if (state->every) {
        return make_every(state, module);
    }
    if (state->instruction == NULL) {
        return mutate_module(module, state->mutation, state->seed, &mutant, &ignored);
    }
    if (find_instruction((struct module *)(uintptr_t)module, state->instruction) == NULL) {
        return NULL;
    }
    struct module *copy = text_copy_module(module, &ignored);
    struct instruction *place = copy != NULL ? find_instruction(copy, state->instruction) : NULL;
    struct text what;
    text_init(&what);
    bool planted = false;
    for (int i = 0; place != NULL && !planted && i < mutation_count; i++) {
        const struct mutation *mutation = state->mutation != NULL ? state->mutation : &mutations[i];
        planted = mutate_instruction(place, mutation, state->seed, &what, &ignored);
        ignored = (struct error){0};
        if (state->mutation != NULL) {
            break;
        }
    }
    text_finish(&what);
    if (!planted) {
        module_destroy(copy);
        return NULL;
    }
    return copy;
}

static bool meets_instruction(const struct mutant_state *state, const struct module *module)
{
    if (state->every) {
        struct instruction **list = find_all(state, module);
        bool meets = list[0] != NULL;
        free(list);
        return meets;
    }
    return state->instruction == NULL ||
           find_instruction((struct module *)(uintptr_t)module, state->instruction) != NULL;
}

static void mutant_run(struct backend *backend, const struct backend_job *job,
                       struct run_result *result, struct text *message)
{
    struct mutant_state *state = backend->state;
    bool shows = state->run++ % state->runs < state->fails;
    if (shows && state->special != SPECIAL_NONE && meets_instruction(state, job->module)) {
        result->outcome = state->special == SPECIAL_CRASH ? OUTCOME_CRASH : OUTCOME_TIMEOUT;
        text_append(message, state->special == SPECIAL_CRASH
                                 ? "signal 11 (Segmentation fault), planted"
                                 : "no end, planted");
        return;
    }
    struct module *mutant =
        shows && state->special == SPECIAL_NONE ? make_mutant(state, job->module) : NULL;
    struct run_result inner;
    backend_run_grid(state->inner, mutant != NULL ? mutant : job->module, job->arguments,
                     job->argument_count, job->set_count, job->replica_count, job->partition_count,
                     job->iterations, &inner);
    result->outcome = inner.outcome;
    result->compile_seconds = inner.compile_seconds;
    result->run_seconds = inner.run_seconds;
    text_append(message, inner.message);
    for (int d = 0; inner.outcome == OUTCOME_PASS && d < job->device_count; d++) {
        result->outputs[d] = literal_retain(inner.outputs[d]);
    }
    run_result_finish(&inner);
    module_destroy(mutant);
}

static bool mutant_describe(struct backend *backend, struct text *json, struct error *err)
{
    const struct mutant_state *state = backend->state;
    return backend_describe(state->inner, json, err);
}

static void mutant_close(struct backend *backend)
{
    struct mutant_state *state = backend->state;
    backend_close(state->inner);
    free(state);
}

const struct backend_impl backend_mutant = {
    .open = mutant_open, .run = mutant_run, .describe = mutant_describe, .close = mutant_close};
