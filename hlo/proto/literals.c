/* Literals as messages of their own: LiteralProto, RunHloModuleLiterals. Source:
 * xla/tools/run_hlo_module.proto, run_hlo_module.cc (which also takes one iteration alone). */
#include <stdlib.h>
#include <string.h>

#include "hlo/literal.h"
#include "hlo/proto/literals.h"
#include "hlo/proto/proto_format.h"
#include "hlo/proto/read.h"
#include "hlo/proto/run.pb-c.h"
#include "hlo/proto/write.h"

void literal_sets_finish(struct literal_sets *sets)
{
    for (int i = 0; i < sets->count; i++) {
        struct literal_set *set = &sets->sets[i];
        for (int k = 0; k < set->count; k++) {
            literal_release(set->arguments[k]);
        }
        free(set->arguments);
        literal_release(set->result);
        literal_release(set->reference_result);
    }
    free(sets->sets);
    *sets = (struct literal_sets){0, NULL};
}

/* --- one literal --- */

struct literal *proto_read_literal(const void *data, size_t size, struct error *err)
{
    Referee__LiteralProto *proto =
        message_unpack(&referee__literal_proto__descriptor, data, size, err);
    if (proto == NULL) {
        return NULL;
    }
    struct literal *literal = read_literal(proto, NULL, err);
    protobuf_c_message_free_unpacked(&proto->base, NULL);
    return literal;
}

void *proto_write_literal(const struct literal *literal, size_t *size, struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    Referee__LiteralProto *proto = write_literal(&arena, literal, literal->shape);
    void *data = message_pack(&proto->base, size, err);
    arena_finish(&arena);
    return data;
}

/* --- sets of literals --- */

static bool read_set(const Referee__RunHloModuleIterationLiterals *proto, struct literal_set *set,
                     struct error *err)
{
    set->arguments = memory_zalloc(proto->n_arguments * sizeof *set->arguments);
    for (size_t i = 0; i < proto->n_arguments; i++) {
        set->arguments[i] = read_literal(proto->arguments[i], NULL, err);
        if (set->arguments[i] == NULL) {
            return error_prefix(err, "argument %zu", i);
        }
        set->count++;
    }
    if (proto->result != NULL) {
        set->result = read_literal(proto->result, NULL, err);
        if (set->result == NULL) {
            return error_prefix(err, "result");
        }
    }
    if (proto->reference_result != NULL) {
        set->reference_result = read_literal(proto->reference_result, NULL, err);
        if (set->reference_result == NULL) {
            return error_prefix(err, "reference result");
        }
    }
    return true;
}

/* A LiteralProto begins with a shape, and a shape has an element type. */
static bool is_literal(const void *data, size_t size)
{
    const void *shape;
    size_t shape_size;
    uint64_t type;
    return wire_find(data, size, 1, &shape, &shape_size) &&
           wire_find_number(shape, shape_size, 2, &type) && type > TYPE_INVALID &&
           type < TYPE_COUNT;
}

static bool is_set(const void *data, size_t size)
{
    const void *literal;
    size_t literal_size;
    for (uint32_t field = 2; field <= 4; field++) {
        if (wire_find(data, size, field, &literal, &literal_size)) {
            return is_literal(literal, literal_size);
        }
    }
    return false;
}

bool literal_proto_looks_like(const void *data, size_t size)
{
    return is_literal(data, size) &&
           wire_walk(&referee__literal_proto__descriptor, data, size, NULL);
}

bool literals_proto_looks_like(const void *data, size_t size)
{
    const void *set;
    size_t set_size;
    if (is_set(data, size)) {
        return wire_walk(&referee__run_hlo_module_iteration_literals__descriptor, data, size, NULL);
    }
    return wire_find(data, size, 1, &set, &set_size) && is_set(set, set_size) &&
           wire_walk(&referee__run_hlo_module_literals__descriptor, data, size, NULL);
}

bool proto_read_literals(const void *data, size_t size, struct literal_sets *sets,
                         struct error *err)
{
    *sets = (struct literal_sets){0, NULL};
    bool alone = is_set(data, size);
    const ProtobufCMessageDescriptor *descriptor =
        alone ? &referee__run_hlo_module_iteration_literals__descriptor
              : &referee__run_hlo_module_literals__descriptor;
    ProtobufCMessage *message = message_unpack(descriptor, data, size, err);
    if (message == NULL) {
        return false;
    }
    const Referee__RunHloModuleIterationLiterals *single = (const void *)message;
    const Referee__RunHloModuleLiterals *all = (const void *)message;
    size_t count = alone ? 1 : all->n_iterations;
    sets->sets = memory_zalloc(count * sizeof *sets->sets);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        sets->count++;
        ok = read_set(alone ? single : all->iterations[i], &sets->sets[i], err) ||
             error_prefix(err, "iteration %zu", i);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    if (!ok) {
        literal_sets_finish(sets);
    }
    return ok;
}

static Referee__RunHloModuleIterationLiterals *write_set(struct arena *arena,
                                                         const struct literal_set *set)
{
    Referee__RunHloModuleIterationLiterals *proto =
        message_new(arena, &referee__run_hlo_module_iteration_literals__descriptor);
    proto->n_arguments = (size_t)set->count;
    proto->arguments = arena_array(arena, proto->n_arguments, sizeof *proto->arguments);
    for (int i = 0; i < set->count; i++) {
        proto->arguments[i] = write_literal(arena, set->arguments[i], set->arguments[i]->shape);
    }
    if (set->result != NULL) {
        proto->result = write_literal(arena, set->result, set->result->shape);
    }
    if (set->reference_result != NULL) {
        proto->reference_result =
            write_literal(arena, set->reference_result, set->reference_result->shape);
    }
    return proto;
}

void *proto_write_literals(const struct literal_sets *sets, size_t *size, struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    Referee__RunHloModuleLiterals *proto =
        message_new(&arena, &referee__run_hlo_module_literals__descriptor);
    proto->n_iterations = (size_t)sets->count;
    proto->iterations = arena_array(&arena, proto->n_iterations, sizeof *proto->iterations);
    for (int i = 0; i < sets->count; i++) {
        proto->iterations[i] = write_set(&arena, &sets->sets[i]);
    }
    void *data = message_pack(&proto->base, size, err);
    arena_finish(&arena);
    return data;
}
