/* mutant:[CLASS][?instruction=NAME&opcode=NAME&type=NAME&seed=N&of=URI&fails=K&runs=N]: another
 * backend (the golden by default) with a planted fault, of the kinds that compilers make: for
 * measuring what finds faults, and how well.
 *
 * A fault in each module it is given (hlo/mutate) is of the class (none: any), in the instruction
 * of that name, in whatever computation it is (none: one drawn by the seed); modules without such
 * an instruction run as they are, so that a part of a module has the fault if it has the
 * instruction. With an opcode it is in every instruction of that opcode instead, as a compiler's
 * fault is: `type` are those whose result has that element type. A fault in what each run gives
 * (output_faults.def) is of the class, at a place drawn by the seed. With fails and runs it shows
 * in K of N runs. Two classes are of this backend alone: `crash` and `hang` end a run that comes to
 * the instruction. */
#include "backend/mutant.h"

#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "backend/output_faults.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/mutate/mutate.h"
#include "hlo/text/text_format.h"

enum special { SPECIAL_NONE, SPECIAL_CRASH, SPECIAL_HANG };

struct mutant_state {
    struct backend *inner;
    bool borrows_inner;
    const struct mutation *mutation;   /* NULL: any */
    const struct output_fault *output; /* instead of a fault in the module */
    enum special special;
    const char *instruction; /* NULL: drawn */
    bool every;              /* of this opcode, and of this type if that is not INVALID */
    enum opcode opcode;
    enum type type;
    uint64_t seed;
    int fails, runs, run;
    struct text planted; /* what the last run had */
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

static bool find_class(const char *name, struct mutant_state *state, struct error *err)
{
    if (*name == '\0') {
        return true;
    }
    state->special = strcmp(name, "crash") == 0  ? SPECIAL_CRASH
                     : strcmp(name, "hang") == 0 ? SPECIAL_HANG
                                                 : SPECIAL_NONE;
    state->mutation = mutation_find(name);
    state->output = output_fault_find(name);
    if (state->special != SPECIAL_NONE || state->mutation != NULL || state->output != NULL) {
        return state->output == NULL || state->instruction == NULL ||
               error_set(err, ERROR_INVALID_ARGUMENT,
                         "%s is a fault of outputs, and in no instruction", name);
    }
    struct text names;
    text_init(&names);
    for (int i = 0; i < mutant_class_count(); i++) {
        text_printf(&names, " %s", mutant_class(i).name);
    }
    error_set(err, ERROR_INVALID_ARGUMENT,
              "there is no class of faults '%s'; there are crash hang%s", name, names.data);
    text_finish(&names);
    return false;
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
    if (!check_names(backend, err) || !find_class(backend->path, &state, err) ||
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
    text_init(&state.planted);
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
static struct module *make_mutant(struct mutant_state *state, const struct module *module)
{
    struct error ignored = {0};
    struct mutant mutant;
    struct text *what = &state->planted;
    if (state->every) {
        struct module *wrong = make_every(state, module);
        if (wrong != NULL) {
            text_printf(what, "every %s", opcode_text(state->opcode));
        }
        return wrong;
    }
    if (state->instruction == NULL) {
        struct module *drawn =
            mutate_module(module, state->mutation, state->seed, &mutant, &ignored);
        if (drawn != NULL) {
            text_printf(what, "%s in %s: %s", mutant.instruction, mutant.computation, mutant.what);
        }
        return drawn;
    }
    if (find_instruction((struct module *)(uintptr_t)module, state->instruction) == NULL) {
        return NULL;
    }
    struct module *copy = text_copy_module(module, &ignored);
    struct instruction *place = copy != NULL ? find_instruction(copy, state->instruction) : NULL;
    bool planted = false;
    for (int i = 0; place != NULL && !planted && i < mutation_count; i++) {
        const struct mutation *mutation = state->mutation != NULL ? state->mutation : &mutations[i];
        text_clear(what);
        text_printf(what, "%s: ", state->instruction);
        planted = mutate_instruction(place, mutation, state->seed, what, &ignored);
        ignored = (struct error){0};
        if (state->mutation != NULL) {
            break;
        }
    }
    if (!planted) {
        text_clear(what);
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

static void run_inner(const struct mutant_state *state, const struct backend_job *job,
                      const struct module *module, struct literal *const *arguments,
                      struct run_result *result)
{
    backend_run_grid(state->inner, module, arguments, job->argument_count, job->set_count,
                     job->replica_count, job->partition_count, job->iterations, result);
}

/* --- an earlier run: the same arguments from their other ends, so all stay in their ranges --- */

static void reverse(struct literal *literal)
{
    if (shape_is_tuple(literal->shape)) {
        for (int i = 0; i < literal->shape->count; i++) {
            reverse(literal->elements[i]);
        }
    } else if (shape_is_array(literal->shape)) {
        size_t size = (size_t)type_bytes(literal->shape->type);
        char *data = literal_data(literal), element[16];
        int64_t count = literal_elements(literal);
        for (int64_t i = 0; i < count / 2; i++) {
            char *a = data + (size_t)i * size, *b = data + (size_t)(count - 1 - i) * size;
            memcpy(element, a, size);
            memcpy(a, b, size);
            memcpy(b, element, size);
        }
    }
}

static bool run_earlier(const struct mutant_state *state, const struct backend_job *job,
                        struct run_result *earlier)
{
    struct error ignored = {0};
    int count = job->set_count * job->argument_count, made = 0;
    struct literal **arguments = memory_zalloc(((size_t)count + 1) * sizeof *arguments);
    while (made < count && (arguments[made] = literal_own_take(literal_retain(job->arguments[made]),
                                                               &ignored)) != NULL) {
        reverse(arguments[made++]);
    }
    *earlier = (struct run_result){.outcome = OUTCOME_OOM};
    if (made == count) {
        run_inner(state, job, job->module, arguments, earlier);
    }
    for (int i = 0; i < made; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    return earlier->outcome == OUTCOME_PASS;
}

static void spoil_outputs(struct mutant_state *state, const struct backend_job *job,
                          struct run_result *result)
{
    struct run_result earlier = {0};
    if (!state->output->earlier || run_earlier(state, job, &earlier)) {
        output_fault_plant(state->output, state->seed, result->outputs, earlier.outputs,
                           job->device_count, &state->planted);
    }
    run_result_finish(&earlier);
}

static void mutant_run(struct backend *backend, const struct backend_job *job,
                       struct run_result *result, struct text *message)
{
    struct mutant_state *state = backend->state;
    bool shows = state->run++ % state->runs < state->fails;
    text_clear(&state->planted);
    if (shows && state->special != SPECIAL_NONE && meets_instruction(state, job->module)) {
        result->outcome = state->special == SPECIAL_CRASH ? OUTCOME_CRASH : OUTCOME_TIMEOUT;
        text_append(&state->planted, "the run does not end well");
        text_append(message, state->special == SPECIAL_CRASH
                                 ? "signal 11 (Segmentation fault), planted"
                                 : "no end, planted");
        return;
    }
    bool in_module = state->special == SPECIAL_NONE && state->output == NULL;
    struct module *mutant = shows && in_module ? make_mutant(state, job->module) : NULL;
    struct run_result inner;
    run_inner(state, job, mutant != NULL ? mutant : job->module, job->arguments, &inner);
    result->outcome = inner.outcome;
    result->compile_seconds = inner.compile_seconds;
    result->run_seconds = inner.run_seconds;
    result->longest_loop = inner.longest_loop;
    text_append(message, inner.message);
    for (int d = 0; inner.outcome == OUTCOME_PASS && d < job->device_count; d++) {
        result->outputs[d] = literal_retain(inner.outputs[d]);
    }
    run_result_finish(&inner);
    module_destroy(mutant);
    if (shows && state->output != NULL && result->outcome == OUTCOME_PASS) {
        spoil_outputs(state, job, result);
    }
}

static bool mutant_describe(struct backend *backend, struct text *json, struct error *err)
{
    const struct mutant_state *state = backend->state;
    return backend_describe(state->inner, json, err);
}

static void mutant_close(struct backend *backend)
{
    struct mutant_state *state = backend->state;
    if (!state->borrows_inner) {
        backend_close(state->inner);
    }
    text_finish(&state->planted);
    free(state);
}

const struct backend_impl backend_mutant = {
    .open = mutant_open, .run = mutant_run, .describe = mutant_describe, .close = mutant_close};

/* --- the public face (mutant.h) --- */

int mutant_class_count(void)
{
    return mutation_count + output_fault_count;
}

struct mutant_class mutant_class(int index)
{
    if (index < mutation_count) {
        return (struct mutant_class){mutations[index].name, mutations[index].summary, false};
    }
    const struct output_fault *fault = &output_faults[index - mutation_count];
    return (struct mutant_class){fault->name, fault->summary, true};
}

bool mutant_class_applies(int index, const struct module *module, int device_count)
{
    if (index >= mutation_count) {
        return output_fault_applies(&output_faults[index - mutation_count],
                                    module_result_shape(module), device_count);
    }
    struct mutation_places places;
    mutation_places(module, &mutations[index], &places);
    int count = places.count;
    mutation_places_finish(&places);
    return count > 0;
}

char *mutant_uri(const char *name, uint64_t seed, const char *of)
{
    struct text uri;
    text_init(&uri);
    text_printf(&uri, "mutant:%s?seed=%llu&of=", name, (unsigned long long)seed);
    for (const char *c = of; *c != '\0'; c++) {
        text_printf(&uri, strchr("%&", *c) != NULL ? "%%%02x" : "%c", (unsigned char)*c);
    }
    char *taken = text_take(&uri);
    text_finish(&uri);
    return taken;
}

struct backend *backend_mutant_of(struct backend *inner, const char *name, uint64_t seed,
                                  struct error *err)
{
    struct mutant_state state = {
        .inner = inner, .borrows_inner = true, .seed = seed, .fails = 1, .runs = 1};
    if (!find_class(name, &state, err)) {
        return NULL;
    }
    text_init(&state.planted);
    struct backend *backend = memory_zalloc(sizeof *backend);
    backend->impl = &backend_mutant;
    backend->scheme = "mutant";
    backend->uri = mutant_uri(name, seed, inner->uri);
    backend->path = memory_strdup(name);
    backend->state = memory_alloc(sizeof state);
    memcpy(backend->state, &state, sizeof state);
    return backend;
}

const char *mutant_planted(const struct backend *mutant)
{
    const struct mutant_state *state = mutant->state;
    return state->planted.data;
}
