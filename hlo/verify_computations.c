/* Verifier: rules of computations as a whole and of the module's header.
 * Source: xla/service/hlo_verifier.cc (VerifyAsynchronousInstructionPairs, VerifyChannels,
 * CheckFusionInstruction, CheckCallableInstructionThreadName, VerifyConsistentSharding,
 * VerifyOriginalValue, VerifyLayoutConstrainedAllReduce). */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "hlo/base/arena.h"
#include "hlo/sharding.h"
#include "hlo/verify_internal.h"

#define REPORT(...) \
    verify_report(findings, instruction, instruction_where(instruction), __VA_ARGS__)

/* --- starts have one user: what completes them --- */

static const struct {
    enum opcode start, done;
    bool is_transfer; /* send, recv */
} starts[] = {
    {OP_ALL_REDUCE_START, OP_ALL_REDUCE_DONE, false},
    {OP_ALL_GATHER_START, OP_ALL_GATHER_DONE, false},
    {OP_COPY_START, OP_COPY_DONE, false},
    {OP_COLLECTIVE_PERMUTE_START, OP_COLLECTIVE_PERMUTE_DONE, false},
    {OP_SEND, OP_SEND_DONE, true},
    {OP_RECV, OP_RECV_DONE, true},
};

static bool is_control_dependency(const struct instruction *user)
{
    return user->opcode == OP_CUSTOM_CALL &&
           strcmp(attr_string(user, ATTR_CUSTOM_CALL_TARGET), "control_dep") == 0;
}

/* Instructions through which what a start gives may reach its done. */
static bool hands_on(const struct instruction *instruction)
{
    static const char *const targets[] = {
        "Sharding",
        "LocalToGlobalShape",
        "GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.FuncResultSharding",
    };
    switch (instruction->opcode) {
    case OP_TUPLE:
    case OP_GET_TUPLE_ELEMENT:
    case OP_OPT_BARRIER:
    case OP_COPY:
    case OP_WHILE:
        return true;
    case OP_PARAMETER: /* of a body that is called */
        return instruction->parent != instruction->parent->module->entry;
    case OP_CUSTOM_CALL:
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
            if (strcmp(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET), targets[i]) == 0) {
                return true;
            }
        }
        return false;
    default:
        return false;
    }
}

/* A -done or -update op consumes what its start, or an update of it, made. */
static const struct {
    enum opcode done, start, update;
} pairs[] = {
    {OP_ASYNC_UPDATE, OP_ASYNC_START, OP_ASYNC_UPDATE},
    {OP_ASYNC_DONE, OP_ASYNC_START, OP_ASYNC_UPDATE},
    {OP_COPY_DONE, OP_COPY_START, OP_COPY_START},
    {OP_SEND_DONE, OP_SEND, OP_SEND},
    {OP_RECV_DONE, OP_RECV, OP_RECV},
    {OP_ALL_GATHER_DONE, OP_ALL_GATHER_START, OP_ALL_GATHER_START},
    {OP_ALL_REDUCE_DONE, OP_ALL_REDUCE_START, OP_ALL_REDUCE_START},
    {OP_COLLECTIVE_PERMUTE_DONE, OP_COLLECTIVE_PERMUTE_START, OP_COLLECTIVE_PERMUTE_START},
};

static void check_done(const struct instruction *instruction, struct findings *findings)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].done != instruction->opcode) {
            continue;
        }
        const struct instruction *from =
            instruction->operand_count > 0 ? instruction->operands[0] : instruction;
        bool is_transfer = pairs[i].start == OP_SEND || pairs[i].start == OP_RECV;
        const struct instruction *origin =
            is_transfer && from->opcode == OP_GET_TUPLE_ELEMENT ? NULL : async_origin(from);
        if (origin != NULL && origin->opcode != pairs[i].start &&
            origin->opcode != pairs[i].update) {
            REPORT("%s %s must consume what a %s makes, but its operand %s is a %s",
                   opcode_text(instruction->opcode), instruction->name, opcode_text(pairs[i].start),
                   origin->name, opcode_text(origin->opcode));
        }
    }
}

bool verify_is_async_body(const struct computation *computation)
{
    const struct module *module = computation->module;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *caller = module->computations[c]->instructions[i];
            if (caller->opcode == OP_ASYNC_START && caller->called_count > 0 &&
                caller->called[0] == computation) {
                return true;
            }
        }
    }
    return false;
}

static void check_start(const struct instruction *instruction, const struct users *users,
                        struct findings *findings)
{
    const struct instruction *user = NULL;
    int count = 0;
    for (int k = users->first[instruction->id]; k < users->first[instruction->id + 1]; k++) {
        if (!is_control_dependency(users->list[k]) && users->list[k] != user) {
            user = users->list[k];
            count++;
        }
    }
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (starts[i].start != instruction->opcode) {
            continue;
        }
        bool is_transfer = starts[i].is_transfer;
        if (is_transfer && instruction == instruction->parent->root &&
            verify_is_async_body(instruction->parent)) {
            return;
        }
        if (count != 1) {
            REPORT("%s %s must have one user, a %s, but has %d", opcode_text(instruction->opcode),
                   instruction->name, opcode_text(starts[i].done), count);
        } else if (user->opcode != starts[i].done && !hands_on(user)) {
            REPORT("the user of %s %s must be a %s, but %s is a %s",
                   opcode_text(instruction->opcode), instruction->name, opcode_text(starts[i].done),
                   user->name, opcode_text(user->opcode));
        } else if (is_transfer && user->opcode == starts[i].done &&
                   attr_bool(user, ATTR_IS_HOST_TRANSFER, false) !=
                       attr_bool(instruction, ATTR_IS_HOST_TRANSFER, false)) {
            REPORT("%s and %s differ in is_host_transfer", instruction->name, user->name);
        }
        return;
    }
}

/* --- fusion bodies --- */

static bool has_side_effect(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_ALL_REDUCE:
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_COLLECTIVE_PERMUTE:
    case OP_REDUCE_SCATTER:
        return attr_get(instruction, ATTR_CHANNEL_ID) != NULL;
    case OP_INFEED:
    case OP_OUTFEED:
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
        return true;
    case OP_CUSTOM_CALL:
        return attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false);
    default:
        return false;
    }
}

static void check_fusion_body(const struct computation *computation, const struct users *users,
                              struct findings *findings)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        bool is_used = users->first[i] < users->first[i + 1];
        if (instruction == computation->root && is_used) {
            REPORT("%s is the root of the fusion body %s, but has users", instruction->name,
                   computation->name);
        } else if (instruction != computation->root && !is_used && !has_side_effect(instruction)) {
            REPORT("%s in the fusion body %s has no users", instruction->name, computation->name);
        }
    }
}

/* --- execution threads, shardings, origins --- */

static const char *thread_text(const char *thread)
{
    return thread == NULL || *thread == '\0' ? "main" : thread;
}

static void check_threads(const struct instruction *instruction, struct findings *findings)
{
    bool is_async = instruction->opcode == OP_ASYNC_START ||
                    instruction->opcode == OP_ASYNC_UPDATE || instruction->opcode == OP_ASYNC_DONE;
    if (!is_async && instruction->opcode != OP_FUSION && instruction->opcode != OP_WHILE &&
        instruction->opcode != OP_CONDITIONAL) {
        return;
    }
    if (is_async && attr_get(instruction, ATTR_ASYNC_EXECUTION_THREAD) == NULL) {
        return; /* the thread is that of the computation */
    }
    const char *own = is_async ? attr_string(instruction, ATTR_ASYNC_EXECUTION_THREAD)
                               : instruction->parent->execution_thread;
    for (int k = 0; k < instruction->called_count; k++) {
        const struct computation *called = instruction->called[k];
        if (strcmp(thread_text(own), thread_text(called->execution_thread)) != 0) {
            REPORT("%s runs on thread %s, but calls %s of thread %s", instruction->name,
                   thread_text(own), called->name, thread_text(called->execution_thread));
        }
    }
}

/* A sharding fits the shape; where the module is to be partitioned, the devices too. */
static void check_sharding(const struct instruction *instruction, struct findings *findings)
{
    const struct sharding *sharding = attr_sharding(instruction);
    const struct module_config *config = &instruction->parent->module->config;
    bool partitions = config->use_spmd_partitioning && config->partition_count > 1;
    struct error err = {0};
    if (sharding != NULL && !sharding_check(sharding, instruction->shape,
                                            partitions ? config->partition_count : 0, &err)) {
        REPORT("%s: %s", instruction->name, err.message);
    }
}

/* The shardings of a loop and its body, or of a conditional and its branches, are equal where they
 * are written. */
static void check_shardings(const struct instruction *instruction, struct findings *findings)
{
    if (instruction->opcode != OP_WHILE && instruction->opcode != OP_CONDITIONAL) {
        return;
    }
    const struct sharding *first = attr_sharding(instruction);
    for (int k = 0; k < instruction->called_count; k++) {
        const struct computation *called = instruction->called[k];
        bool is_condition = instruction->opcode == OP_WHILE && k == 1;
        const struct instruction *places[] = {
            is_condition ? NULL : called->root,
            instruction->opcode == OP_WHILE ? called->parameters[0] : NULL,
        };
        for (int i = 0; i < 2; i++) {
            const struct sharding *sharding = places[i] != NULL ? attr_sharding(places[i]) : NULL;
            if (sharding != NULL && first != NULL && !sharding_equal(first, sharding)) {
                REPORT("the shardings of %s and of %s in %s differ", instruction->name,
                       places[i]->name, called->name);
                return;
            }
            first = first != NULL ? first : sharding;
        }
    }
}

static bool is_leaf(const struct shape *shape, struct ints index)
{
    const struct shape *part = verify_part(shape, index);
    return part != NULL && !shape_is_tuple(part);
}

/* An origin names every leaf of the shape, and nothing else. */
static void check_origin(const struct instruction *instruction, struct findings *findings)
{
    const struct attr *attr = attr_get(instruction, ATTR_ORIGIN);
    if (attr == NULL || attr->origin->synthetic_call || attr->origin->count == 0) {
        return;
    }
    bool ok = attr->origin->count == shape_leaves(instruction->shape);
    for (int i = 0; ok && i < attr->origin->count; i++) {
        ok = is_leaf(instruction->shape, attr->origin->elements[i].index);
    }
    if (!ok) {
        REPORT("%s: origin does not name the leaves of %s", instruction->name,
               shape_text(instruction->shape));
    }
}

/* An async computation on the main thread holds one instruction and its parameters. */
static void check_async_body(const struct instruction *instruction, struct findings *findings)
{
    if (instruction->opcode != OP_ASYNC_START || instruction->called_count != 1) {
        return;
    }
    const struct computation *body = instruction->called[0];
    if (attr_frontend(instruction, "_collectives_group") != NULL) {
        return;
    }
    bool is_barrier = true, is_single = true;
    for (int i = 0; i < body->count; i++) {
        const struct instruction *inner = body->instructions[i];
        bool is_plain = inner == body->root || inner->opcode == OP_PARAMETER;
        is_single &= is_plain;
        is_barrier &= is_plain || inner->opcode == OP_GET_TUPLE_ELEMENT;
    }
    if (!is_single && !is_barrier && strcmp(thread_text(body->execution_thread), "main") == 0) {
        REPORT("%s calls %s, which must hold one instruction and its parameters", instruction->name,
               body->name);
    }
}

void verify_computation(const struct computation *computation, struct findings *findings)
{
    struct users users;
    users_build(computation, &users);
    verify_buffers(computation, &users, findings);
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        check_start(instruction, &users, findings);
        check_done(instruction, findings);
        check_threads(instruction, findings);
        check_sharding(instruction, findings);
        check_shardings(instruction, findings);
        check_origin(instruction, findings);
        check_async_body(instruction, findings);
    }
    if (computation->is_fusion) {
        check_fusion_body(computation, &users, findings);
    }
    users_finish(&users);
}

#undef REPORT

/* --- the header --- */

static bool check_parameter_index(const struct module *module, const char *what, int64_t parameter,
                                  struct ints index, struct findings *findings)
{
    struct where where = {module->source, 1, 0};
    const struct computation *entry = module->entry;
    if (parameter < 0 || parameter >= entry->parameter_count ||
        verify_part(entry->parameters[parameter]->shape, index) == NULL) {
        verify_report(findings, NULL, where,
                      "%s names parameter %lld or a part of it that is not there", what,
                      (long long)parameter);
        return false;
    }
    return true;
}

static bool has_plain_size(const struct shape *shape)
{
    return shape->dynamic == NULL && shape->layout->tile_count == 0 &&
           shape->layout->element_bits == 0 && type_bits(shape->type) >= 8;
}

/* The parts of a parameter and of the result that an entry of input_output_alias joins. A
 * must-alias is one buffer, so that they are the same in everything; a may-alias needs as many
 * bytes, as far as those are known here (tiles, packed elements and dynamic sizes are up to the
 * backend). */
static void check_joined(const struct module *module, const struct input_output_alias *alias,
                         struct findings *findings)
{
    const struct module_config *config = &module->config;
    struct where where = {module->source, 1, 0};
    const struct shape *output = verify_part(config->result_shape, alias->output_index);
    const struct shape *parameter =
        alias->parameter < config->parameter_count
            ? verify_part(config->parameter_shapes[alias->parameter], alias->parameter_index)
            : NULL;
    if (output == NULL || parameter == NULL) {
        return; /* the entry layout does not fit the entry: found already */
    }
    if (!shape_is_array(output) || !shape_is_array(parameter)) {
        verify_report(findings, NULL, where, "input_output_alias joins %s and %s: not two arrays",
                      shape_text(parameter), shape_text(output));
    } else if (alias->kind == ALIAS_MUST && output != parameter) {
        verify_report(findings, NULL, where,
                      "input_output_alias (must-alias) joins parameter %lld and a result of "
                      "another shape, layout or memory space",
                      (long long)alias->parameter);
    } else if (alias->kind != ALIAS_MUST && has_plain_size(output) && has_plain_size(parameter) &&
               shape_bytes(output) != shape_bytes(parameter)) {
        verify_report(findings, NULL, where,
                      "input_output_alias joins parameter %lld of %lld bytes and a result of %lld",
                      (long long)alias->parameter, (long long)shape_bytes(parameter),
                      (long long)shape_bytes(output));
    }
}

static void check_aliases(const struct module *module, struct findings *findings)
{
    const struct module_config *config = &module->config;
    struct where where = {module->source, 1, 0};
    for (int i = 0; i < config->alias_count; i++) {
        const struct input_output_alias *alias = &config->aliases[i];
        if (!check_parameter_index(module, "input_output_alias", alias->parameter,
                                   alias->parameter_index, findings)) {
            continue;
        }
        if (verify_part(module->entry->root->shape, alias->output_index) == NULL) {
            verify_report(findings, NULL, where,
                          "input_output_alias names a part of the result that is not there");
            continue;
        }
        for (int k = 0; k < i; k++) {
            const struct input_output_alias *other = &config->aliases[k];
            if (other->parameter == alias->parameter &&
                ints_equal(other->parameter_index, alias->parameter_index)) {
                verify_report(findings, NULL, where,
                              "input_output_alias names a part of parameter %lld twice",
                              (long long)alias->parameter);
                return;
            }
            if (ints_equal(other->output_index, alias->output_index)) {
                verify_report(findings, NULL, where,
                              "input_output_alias joins a part of the result to parameter %lld "
                              "and to parameter %lld",
                              (long long)other->parameter, (long long)alias->parameter);
                return;
            }
        }
        check_joined(module, alias, findings);
    }
}

static void check_donors(const struct module *module, struct findings *findings)
{
    const struct module_config *config = &module->config;
    struct where where = {module->source, 1, 0};
    for (int i = 0; i < config->donor_count; i++) {
        const struct buffer_donor *donor = &config->donors[i];
        if (!check_parameter_index(module, "buffer_donor", donor->parameter, donor->parameter_index,
                                   findings)) {
            continue;
        }
        const struct shape *part =
            verify_part(module->entry->parameters[donor->parameter]->shape, donor->parameter_index);
        if (!shape_is_array(part)) {
            verify_report(findings, NULL, where,
                          "buffer_donor names %s of parameter %lld, which "
                          "is no array",
                          shape_text(part), (long long)donor->parameter);
        }
        for (int k = 0; k < config->alias_count; k++) {
            if (config->aliases[k].parameter == donor->parameter &&
                ints_equal(config->aliases[k].parameter_index, donor->parameter_index)) {
                verify_report(findings, NULL, where,
                              "parameter %lld is a buffer_donor and in input_output_alias too",
                              (long long)donor->parameter);
            }
        }
    }
}

/* All all-reduces of a module constrain their layouts, or none does. */
static void check_constrained(const struct module *module, struct findings *findings)
{
    const struct instruction *first = NULL;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            if (instruction->opcode != OP_ALL_REDUCE &&
                instruction->opcode != OP_ALL_REDUCE_START) {
                continue;
            }
            first = first != NULL ? first : instruction;
            if (attr_bool(first, ATTR_CONSTRAIN_LAYOUT, false) !=
                attr_bool(instruction, ATTR_CONSTRAIN_LAYOUT, false)) {
                verify_report(findings, instruction, instruction_where(instruction),
                              "%s and %s differ in constrain_layout", first->name,
                              instruction->name);
                return;
            }
        }
    }
}

/* The body of a fusion belongs to it alone. */
static void check_fusion_owners(const struct module *module, struct findings *findings)
{
    const struct instruction **owners =
        memory_zalloc((size_t)module->count * sizeof(const struct instruction *));
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            if (instruction->opcode != OP_FUSION) {
                continue;
            }
            if (instruction->called_count != 1) { /* found already */
                continue;
            }
            const struct computation *body = instruction->called[0];
            if (owners[body->id] != NULL) {
                verify_report(findings, instruction, instruction_where(instruction),
                              "%s and %s are fusions with one body, %s", owners[body->id]->name,
                              instruction->name, body->name);
            }
            owners[body->id] = instruction;
        }
    }
    free(owners);
}

void verify_header(const struct module *module, struct findings *findings)
{
    struct where where = {module->source, 1, 0};
    if (module->config.replica_count < 1 || module->config.partition_count < 1) {
        verify_report(findings, NULL, where, "replica_count and num_partitions must be positive");
    }
    if (module->entry->is_fusion) {
        verify_report(findings, NULL, where, "the entry %s is the body of a fusion",
                      module->entry->name);
    }
    verify_async(module, findings);
    check_aliases(module, findings);
    check_donors(module, findings);
    check_constrained(module, findings);
    check_fusion_owners(module, findings);
}
