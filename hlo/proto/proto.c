/* The kinds of module protos: told apart by their content, read. Source: xla/service/hlo.proto,
 * xla/tools/hlo_module_loader.cc. */
#include <stdio.h>
#include <string.h>

#include "hlo/proto/proto_format.h"
#include "hlo/proto/read.h"

/* --- telling kinds apart --- */

static bool is_opcode_like(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') ||
              text[i] == '-')) {
            return false;
        }
    }
    return size > 0;
}

/* Is there a computation with an instruction with something like an opcode? */
static bool has_instruction(const void *data, size_t size)
{
    const void *computation, *instruction, *opcode;
    size_t computation_size, instruction_size, opcode_size;
    return wire_find(data, size, 3, &computation, &computation_size) &&
           wire_find(computation, computation_size, 2, &instruction, &instruction_size) &&
           wire_find(instruction, instruction_size, 2, &opcode, &opcode_size) &&
           is_opcode_like(opcode, opcode_size);
}

/* Where the HloModuleProto of a message of the kind lies: so many times in the first field. */
static bool find_module(const void *data, size_t size, enum proto_kind kind, const void **module,
                        size_t *module_size)
{
    int levels = kind == PROTO_MODULE ? 0 : kind == PROTO_SNAPSHOT ? 2 : 1;
    *module = data;
    *module_size = size;
    while (levels-- > 0) {
        if (!wire_find(*module, *module_size, 1, module, module_size)) {
            return false;
        }
    }
    return true;
}

static const ProtobufCMessageDescriptor *const kinds[] = {
    [PROTO_MODULE] = &referee__hlo_module_proto__descriptor,
    [PROTO_HLO] = &referee__hlo_proto__descriptor,
    [PROTO_SNAPSHOT] = &referee__hlo_snapshot__descriptor,
    [PROTO_MODULE_WITH_CONFIG] = &referee__hlo_module_proto_with_config__descriptor,
};

/* Does the content say that this is the kind, whether well-formed or not? HloProto and
 * HloModuleProtoWithConfig differ in nothing but the configuration. */
static bool claims_kind(const void *data, size_t size, enum proto_kind kind)
{
    const void *module, *other;
    size_t module_size, other_size;
    if (!find_module(data, size, kind, &module, &module_size) ||
        !has_instruction(module, module_size)) {
        return false;
    }
    bool has_config = wire_find(data, size, 2, &other, &other_size);
    return (kind != PROTO_HLO || !has_config) && (kind != PROTO_MODULE_WITH_CONFIG || has_config);
}

static enum proto_kind claimed_kind(const void *data, size_t size)
{
    for (enum proto_kind kind = PROTO_MODULE; kind <= PROTO_MODULE_WITH_CONFIG; kind++) {
        if (claims_kind(data, size, kind)) {
            return kind;
        }
    }
    return PROTO_NONE;
}

bool proto_looks_like(const void *data, size_t size, enum proto_kind kind)
{
    return kind != PROTO_NONE && claims_kind(data, size, kind) &&
           wire_walk(kinds[kind], data, size, NULL);
}

/* --- reading --- */

static bool read_snapshot_literals(const Referee__HloSnapshot *snapshot, struct literal_sets *sets,
                                   struct error *err)
{
    size_t count = snapshot->n_arguments;
    if (count == 0 && snapshot->result == NULL) {
        return true;
    }
    struct literal_set *set = memory_zalloc(sizeof *set);
    *sets = (struct literal_sets){1, set};
    set->arguments = memory_zalloc(count * sizeof *set->arguments);
    for (size_t i = 0; i < count; i++) {
        set->arguments[i] = read_literal(snapshot->arguments[i], NULL, err);
        if (set->arguments[i] == NULL) {
            return error_prefix(err, "argument %zu of the snapshot", i);
        }
        set->count++;
    }
    if (snapshot->result != NULL) {
        set->result = read_literal(snapshot->result, NULL, err);
        if (set->result == NULL) {
            return error_prefix(err, "result of the snapshot");
        }
    }
    return true;
}

static struct module *read_message(ProtobufCMessage *message, enum proto_kind kind,
                                   const char *name, struct text *warnings,
                                   struct literal_sets *sets, struct error *err)
{
    const Referee__HloModuleProto *module = NULL;
    const Referee__HloModuleConfigProto *config = NULL;
    const Referee__HloSnapshot *snapshot = NULL;
    if (kind == PROTO_MODULE) {
        module = (const Referee__HloModuleProto *)message;
    } else if (kind == PROTO_HLO) {
        module = ((const Referee__HloProto *)message)->hlo_module;
    } else if (kind == PROTO_MODULE_WITH_CONFIG) {
        module = ((const Referee__HloModuleProtoWithConfig *)message)->hlo_module;
        config = ((const Referee__HloModuleProtoWithConfig *)message)->config;
    } else {
        snapshot = (const Referee__HloSnapshot *)message;
        module = snapshot->hlo->hlo_module;
    }
    if (snapshot != NULL && sets != NULL && !read_snapshot_literals(snapshot, sets, err)) {
        return NULL;
    }
    return read_module(module, config, name, warnings, err);
}

struct module *proto_read_module(const void *data, size_t size, const char *name,
                                 struct text *warnings, struct literal_sets *sets,
                                 struct error *err)
{
    struct literal_sets ignored;
    struct literal_sets *read_sets = sets != NULL ? sets : &ignored;
    *read_sets = (struct literal_sets){0, NULL};
    struct error why = {0};
    struct module *module = NULL;
    enum proto_kind kind = claimed_kind(data, size);
    if (kind == PROTO_NONE) {
        error_set(&why, ERROR_INVALID_ARGUMENT,
                  "no HloModuleProto, HloProto, HloSnapshot or HloModuleProtoWithConfig: no "
                  "computation with an instruction is there");
    } else {
        ProtobufCMessage *message = message_unpack(kinds[kind], data, size, &why);
        if (message != NULL) {
            module = read_message(message, kind, name, warnings, sets, &why);
            protobuf_c_message_free_unpacked(message, NULL);
        }
    }
    if (module == NULL) {
        literal_sets_finish(read_sets);
        if (name != NULL && why.file[0] == '\0') {
            snprintf(why.file, sizeof why.file, "%s", name);
        }
        if (err != NULL && err->code == ERROR_NONE) {
            *err = why;
        }
    }
    return module;
}
