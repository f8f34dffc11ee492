/* --isolate: every instruction alone, on the golden's operand values. The golden evaluates the
 * module once; as each instruction gets its value, it is judged if it is the first of its kind. */
#include <stdlib.h>
#include <string.h>

#include "compare/differential.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

struct isolation {
    const struct module *module;
    struct backend *backend, *reference;
    const struct differential_options *options;
    void (*report)(void *context, const struct isolated *isolated);
    void *context;
    struct literal ***values; /* [computation][instruction], as long as they are needed */
    int **last_use;           /* [computation][instruction]: position of the last user */
    struct map seen; /* hash of the instruction → number of its like, as an int pointer */
    struct arena arena;
};

/* Control flow is entered, data plumbing and side effects are not judged. */
static bool is_judged(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_PARAMETER:
    case OP_CONSTANT:
    case OP_TUPLE:
    case OP_GET_TUPLE_ELEMENT:
    case OP_WHILE:
    case OP_CONDITIONAL:
    case OP_CALL:
    case OP_AFTER_ALL:
    case OP_INFEED:
    case OP_OUTFEED:
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_ASYNC_DONE:
    case OP_COPY_START:
    case OP_COPY_DONE:
    case OP_ADD_DEPENDENCY:
    case OP_PARTITION_ID:
    case OP_REPLICA_ID:
    case OP_DOMAIN:
        return false;
    default:
        return !shape_is_tuple(instruction->shape) || instruction->called_count > 0 ||
               instruction->operand_count > 0;
    }
}

/* Computations that instruction calls, callees first, each once. */
static void print_called(const struct computation *computation, bool *printed, struct text *out)
{
    if (printed[computation->id]) {
        return;
    }
    printed[computation->id] = true;
    for (int i = 0; i < computation->count; i++) {
        for (int c = 0; c < computation->instructions[i]->called_count; c++) {
            print_called(computation->instructions[i]->called[c], printed, out);
        }
    }
    text_print_computation(computation, &print_canonical, out);
    text_append(out, "\n");
}

/* A module of the instruction alone; its distinct operands are the parameters. */
static struct module *isolate_module(const struct instruction *instruction,
                                     const struct instruction **parameters, int *parameter_count,
                                     struct error *err)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "HloModule isolated.%s\n\n", instruction->name);
    bool *printed = memory_zalloc((size_t)instruction->parent->module->count);
    for (int c = 0; c < instruction->called_count; c++) {
        print_called(instruction->called[c], printed, &text);
    }
    free(printed);
    text_append(&text, "ENTRY isolated {\n");
    *parameter_count = 0;
    for (int i = 0; i < instruction->operand_count; i++) {
        const struct instruction *operand = instruction->operands[i];
        bool known = false;
        for (int k = 0; k < *parameter_count; k++) {
            known |= parameters[k] == operand;
        }
        if (!known) {
            text_printf(&text, "  %s = ", operand->name);
            shape_print(operand->shape, true, &text);
            text_printf(&text, " parameter(%d)\n", *parameter_count);
            parameters[(*parameter_count)++] = operand;
        }
    }
    struct print_options print = print_canonical;
    print.metadata = false;
    text_append(&text, "  ROOT ");
    /* Control predecessors are not there: the instruction is printed without them. */
    struct instruction bare = *instruction;
    bare.control_count = 0;
    text_print_instruction(&bare, &print, &text);
    text_append(&text, "\n}\n");
    struct module *module = text_read_module(text.data, text.size, instruction->name, 1, err);
    text_finish(&text);
    return module;
}

static double largest_ulps(const struct comparison *comparison)
{
    double largest = 0;
    for (int i = 0; i < comparison->leaf_count; i++) {
        double ulps = comparison->leaves[i].largest_ulps;
        largest = ulps > largest ? ulps : largest;
    }
    return largest;
}

static void report_unbuilt(struct isolation *isolation, const struct instruction *instruction,
                           const char *message, int repeats)
{
    struct isolated isolated = {instruction, OUTCOME_UNSUPPORTED, message, "", 0, 0, repeats};
    isolation->report(isolation->context, &isolated);
}

static void judge(struct isolation *isolation, const struct instruction *instruction, int repeats)
{
    struct error err = {0};
    const struct instruction **parameters =
        memory_alloc(((size_t)instruction->operand_count + 1) * sizeof *parameters);
    int count;
    struct module *module = isolate_module(instruction, parameters, &count, &err);
    if (module == NULL) {
        report_unbuilt(isolation, instruction, err.message, repeats);
        free(parameters);
        return;
    }
    struct literal **arguments = memory_zalloc(((size_t)count + 1) * sizeof *arguments);
    bool complete = true;
    for (int i = 0; i < count; i++) {
        arguments[i] = isolation->values[parameters[i]->parent->id][parameters[i]->id];
        complete &= arguments[i] != NULL;
    }
    if (complete) {
        struct differential_options options = *isolation->options;
        options.arguments = arguments;
        options.argument_count = count;
        struct differential_result result;
        differential_run(module, isolation->backend, isolation->reference, &options, &result);
        int64_t terms;
        const struct profile *profile = options.profile != NULL
                                            ? options.profile
                                            : profile_for(backend_uri(isolation->backend));
        struct isolated isolated = {
            .instruction = instruction,
            .outcome = result.outcome,
            .message = result.message,
            .picture = result.picture,
            .largest_ulps = largest_ulps(&result.comparison),
            .allowed_ulps = profile_ulps(profile, instruction, &terms),
            .repeats = repeats,
        };
        isolation->report(isolation->context, &isolated);
        differential_result_finish(&result);
    }
    free(arguments);
    free(parameters);
    module_destroy(module);
}

/* Opcode, shapes, attributes, called computations by name. */
static uint64_t kind_hash(const struct instruction *instruction)
{
    uint64_t hash = hash_u64((uint64_t)instruction->opcode, instruction->shape->hash);
    for (int i = 0; i < instruction->operand_count; i++) {
        hash = hash_u64(instruction->operands[i]->shape->hash, hash);
    }
    for (int i = 0; i < instruction->called_count; i++) {
        hash = hash_bytes(instruction->called[i]->name, strlen(instruction->called[i]->name), hash);
    }
    for (int i = 0; i < instruction->attr_count; i++) {
        enum attr_key key = instruction->attrs[i].key;
        if (key != ATTR_METADATA && key != ATTR_ORIGIN && key != ATTR_STATISTICS &&
            key != ATTR_FRONTEND_ATTRIBUTES) {
            hash = hash_u64(attr_hash(&instruction->attrs[i]), hash);
        }
    }
    return hash;
}

static bool on_instruction(void *context, const struct instruction *instruction,
                           const struct literal *value, int64_t iteration, struct error *err)
{
    struct isolation *isolation = context;
    const struct computation *computation = instruction->parent;
    struct literal **values = isolation->values[computation->id];
    const int *last_use = isolation->last_use[computation->id];
    (void)iteration;
    (void)err;
    if (is_judged(instruction) && !computation->is_fusion) {
        int *repeats = map_get_int(&isolation->seen, kind_hash(instruction));
        if (repeats != NULL && *repeats > 0) {
            judge(isolation, instruction, *repeats);
            *repeats = 0; /* judged */
        }
    }
    literal_release(values[instruction->id]);
    values[instruction->id] = literal_retain(value);
    for (int i = 0; i < instruction->operand_count; i++) {
        int id = instruction->operands[i]->id;
        if (last_use[id] == instruction->id) {
            literal_release(values[id]);
            values[id] = NULL;
        }
    }
    return true;
}

static void prepare(struct isolation *isolation)
{
    const struct module *module = isolation->module;
    struct arena *arena = &isolation->arena;
    arena_init(arena);
    map_init(&isolation->seen);
    isolation->values = arena_array(arena, (size_t)module->count, sizeof *isolation->values);
    isolation->last_use = arena_array(arena, (size_t)module->count, sizeof *isolation->last_use);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        size_t count = (size_t)computation->count;
        isolation->values[c] = arena_array(arena, count, sizeof *isolation->values[c]);
        isolation->last_use[c] = arena_array(arena, count, sizeof *isolation->last_use[c]);
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->operand_count; k++) {
                isolation->last_use[c][instruction->operands[k]->id] = i;
            }
            if (!is_judged(instruction) || computation->is_fusion) {
                continue;
            }
            uint64_t hash = kind_hash(instruction);
            int *repeats = map_get_int(&isolation->seen, hash);
            if (repeats == NULL) {
                repeats = arena_alloc(arena, sizeof *repeats);
                map_put_int(&isolation->seen, hash, repeats);
            }
            ++*repeats;
        }
    }
}

static void release_values(struct isolation *isolation)
{
    for (int c = 0; c < isolation->module->count; c++) {
        for (int i = 0; i < isolation->module->computations[c]->count; i++) {
            literal_release(isolation->values[c][i]);
        }
    }
    map_finish(&isolation->seen);
    arena_finish(&isolation->arena);
}

bool isolate_run(const struct module *module, struct backend *backend,
                 const struct differential_options *options,
                 void (*report)(void *context, const struct isolated *isolated), void *context,
                 struct error *err)
{
    struct isolation isolation = {.module = module,
                                  .backend = backend,
                                  .options = options,
                                  .report = report,
                                  .context = context};
    isolation.reference = backend_open("interp:", NULL, err);
    if (isolation.reference == NULL) {
        return false;
    }
    int count = module->entry->parameter_count;
    struct literal **arguments = memory_zalloc(((size_t)count + 1) * sizeof *arguments);
    bool ok = true;
    for (int i = 0; options->arguments != NULL && i < count; i++) {
        arguments[i] = literal_retain(options->arguments[i]);
    }
    if (options->arguments == NULL) {
        ok = inputs_generate(module, &options->inputs, arguments, NULL, err);
    }
    if (ok) {
        prepare(&isolation);
        struct interp_options interp = {
            .on_instruction = on_instruction, .context = &isolation, .seed = options->inputs.seed};
        struct literal *result = interp_evaluate(module, arguments, count, &interp, err);
        ok = result != NULL;
        literal_release(result);
        release_values(&isolation);
    }
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    backend_close(isolation.reference);
    return ok;
}
