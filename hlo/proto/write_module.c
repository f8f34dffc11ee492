/* A module as a proto. Source: xla/hlo/ir/hlo_module.cc, hlo_computation.cc, hlo_instruction.cc
 * (ToProto), hlo_schedule.cc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/proto/proto_format.h"
#include "hlo/proto/write.h"

struct writer {
    struct arena arena; /* all messages */
    const struct module *module;
    int64_t *first_id; /* [computation] id of its first instruction */
    /* Names must be unique in the whole proto, for computations and for instructions. */
    struct map computation_names, instruction_names;
};

/* Ids count through the whole module: XLA until 2025 wanted them unique and below 2^31, XLA since
 * looks at their low 32 bits and gives its own. */
static int64_t instruction_id(const struct writer *writer, const struct instruction *instruction)
{
    return writer->first_id[instruction->parent->id] + instruction->id;
}

static int64_t computation_id(const struct computation *computation)
{
    return computation->id + 1;
}

/* --- names --- */

struct name_use {
    bool taken;   /* written already */
    int64_t next; /* the next number to try after it */
};

static struct name_use *name_use(struct writer *writer, struct map *names, const char *name)
{
    size_t size = strlen(name);
    struct name_use *use = map_get(names, name, size);
    if (use == NULL) {
        use = arena_alloc(&writer->arena, sizeof *use);
        use->next = 1;
        map_put(names, name, size, use);
    }
    return use;
}

/* The name itself the first time, later "name.1" and so on, as long as nothing is called so. All
 * names of the module are in the map before the first is asked for. */
static const char *unique_name(struct writer *writer, struct map *names, const char *name)
{
    struct name_use *use = name_use(writer, names, name);
    if (!use->taken) {
        use->taken = true;
        return name;
    }
    for (;;) {
        const char *candidate =
            arena_printf(&writer->arena, "%s.%lld", name, (long long)use->next++);
        if (map_get(names, candidate, strlen(candidate)) == NULL) {
            name_use(writer, names, candidate)->taken = true;
            return candidate;
        }
    }
}

static void collect_names(struct writer *writer)
{
    for (int c = 0; c < writer->module->count; c++) {
        const struct computation *computation = writer->module->computations[c];
        name_use(writer, &writer->computation_names, computation->name);
        for (int i = 0; i < computation->count; i++) {
            name_use(writer, &writer->instruction_names, computation->instructions[i]->name);
        }
    }
}

/* --- instructions --- */

static int64_t *write_ids(struct writer *writer, int count, struct instruction *const *list)
{
    int64_t *ids = arena_array(&writer->arena, (size_t)count, sizeof *ids);
    for (int i = 0; i < count; i++) {
        ids[i] = instruction_id(writer, list[i]);
    }
    return ids;
}

/* The computations of an asynchronous operation belong to its start. XLA until 2025 wanted them
 * at the update and at the end, too; XLA since compares them. */
static const struct instruction *caller_of(const struct instruction *instruction)
{
    while ((instruction->opcode == OP_ASYNC_UPDATE || instruction->opcode == OP_ASYNC_DONE) &&
           instruction->operand_count > 0) {
        instruction = instruction->operands[0];
    }
    return instruction;
}

static void write_called(struct writer *writer, const struct instruction *instruction,
                         Referee__HloInstructionProto *proto)
{
    const struct instruction *caller = caller_of(instruction);
    if (caller != instruction && caller->opcode != OP_ASYNC_START) {
        return;
    }
    proto->n_called_computation_ids = (size_t)caller->called_count;
    proto->called_computation_ids = arena_array(&writer->arena, (size_t)caller->called_count,
                                                sizeof *proto->called_computation_ids);
    for (int i = 0; i < caller->called_count; i++) {
        proto->called_computation_ids[i] = computation_id(caller->called[i]);
    }
}

static Referee__HloInstructionProto *write_instruction(struct writer *writer,
                                                       const struct instruction *instruction)
{
    struct arena *arena = &writer->arena;
    Referee__HloInstructionProto *proto =
        message_new(arena, &referee__hlo_instruction_proto__descriptor);
    const char *name = unique_name(writer, &writer->instruction_names, instruction->name);
    proto->name = (char *)name;
    if (name != instruction->name) {
        proto->referee_name = (char *)instruction->name;
    }
    proto->opcode = (char *)opcode_text(instruction->opcode);
    proto->shape = write_shape(arena, instruction->shape);
    proto->id = instruction_id(writer, instruction);
    proto->n_operand_ids = (size_t)instruction->operand_count;
    proto->operand_ids = write_ids(writer, instruction->operand_count, instruction->operands);
    proto->n_control_predecessor_ids = (size_t)instruction->control_count;
    proto->control_predecessor_ids =
        write_ids(writer, instruction->control_count, instruction->control_predecessors);
    write_called(writer, instruction, proto);
    if (instruction->opcode == OP_PARAMETER) {
        proto->parameter_number = instruction->number;
    }
    if (instruction->literal != NULL) {
        proto->literal = write_literal(arena, instruction->literal, instruction->shape);
        proto->referee_elided = instruction->elided;
    }
    for (int i = 0; i < instruction->attr_count; i++) {
        write_attr(arena, instruction, &instruction->attrs[i], proto);
    }
    write_implied(arena, instruction, proto);
    return proto;
}

/* --- computations --- */

static Referee__ProgramShapeProto *write_program_shape(struct arena *arena,
                                                       const struct computation *computation,
                                                       const struct shape *const *parameters,
                                                       const struct shape *result)
{
    Referee__ProgramShapeProto *proto =
        message_new(arena, &referee__program_shape_proto__descriptor);
    size_t count = (size_t)computation->parameter_count;
    proto->n_parameters = proto->n_parameter_names = count;
    proto->parameters = arena_array(arena, count, sizeof *proto->parameters);
    proto->parameter_names = arena_array(arena, count, sizeof *proto->parameter_names);
    for (size_t i = 0; i < count; i++) {
        const struct instruction *parameter = computation->parameters[i];
        proto->parameters[i] =
            write_shape(arena, parameters != NULL ? parameters[i] : parameter->shape);
        proto->parameter_names[i] = (char *)parameter->name;
    }
    proto->result = write_shape(arena, result);
    return proto;
}

static Referee__ProgramShapeProto *write_entry_layout(struct writer *writer)
{
    const struct module_config *config = &writer->module->config;
    const struct computation *entry = writer->module->entry;
    bool fits = config->parameter_count == entry->parameter_count && config->result_shape != NULL;
    return write_program_shape(&writer->arena, entry, fits ? config->parameter_shapes : NULL,
                               fits ? config->result_shape : entry->root->shape);
}

static Referee__HloComputationProto *write_computation(struct writer *writer,
                                                       const struct computation *computation)
{
    struct arena *arena = &writer->arena;
    Referee__HloComputationProto *proto =
        message_new(arena, &referee__hlo_computation_proto__descriptor);
    proto->name = (char *)unique_name(writer, &writer->computation_names, computation->name);
    proto->id = computation_id(computation);
    proto->root_id = instruction_id(writer, computation->root);
    proto->is_fusion_computation = computation->is_fusion;
    const char *thread = computation->execution_thread;
    if (strcmp(thread, "main") != 0) {
        proto->execution_thread = binary_from_bytes((struct bytes){thread, strlen(thread)});
    }
    proto->n_instructions = (size_t)computation->count;
    proto->instructions = arena_array(arena, proto->n_instructions, sizeof *proto->instructions);
    for (int i = 0; i < computation->count; i++) {
        proto->instructions[i] = write_instruction(writer, computation->instructions[i]);
    }
    proto->program_shape = write_program_shape(arena, computation, NULL, computation->root->shape);
    return proto;
}

/* XLA schedules every computation that is no body of a fusion. */
static Referee__HloScheduleProto *write_schedule(struct writer *writer)
{
    struct arena *arena = &writer->arena;
    const struct module *module = writer->module;
    Referee__HloScheduleProto *proto = message_new(arena, &referee__hlo_schedule_proto__descriptor);
    proto->sequences = arena_array(arena, (size_t)module->count, sizeof *proto->sequences);
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        if (computation->is_fusion) {
            continue;
        }
        Referee__HloScheduleProto__Entry *entry =
            message_new(arena, &referee__hlo_schedule_proto__entry__descriptor);
        entry->key = computation_id(computation);
        entry->value =
            message_new(arena, &referee__hlo_schedule_proto__instruction_sequence__descriptor);
        entry->value->n_instruction_ids = (size_t)computation->count;
        entry->value->instruction_ids =
            write_ids(writer, computation->count, computation->instructions);
        proto->sequences[proto->n_sequences++] = entry;
    }
    return proto;
}

/* --- the module's header --- */

static void write_aliases(struct arena *arena, const struct module_config *config,
                          Referee__HloModuleProto *proto)
{
    Referee__HloInputOutputAliasProto *aliases =
        message_new(arena, &referee__hlo_input_output_alias_proto__descriptor);
    aliases->n_entries = (size_t)config->alias_count;
    aliases->entries = arena_array(arena, aliases->n_entries, sizeof *aliases->entries);
    for (int i = 0; i < config->alias_count; i++) {
        const struct input_output_alias *alias = &config->aliases[i];
        Referee__HloInputOutputAliasProto__AliasEntryProto *entry = message_new(
            arena, &referee__hlo_input_output_alias_proto__alias_entry_proto__descriptor);
        set_ints(&entry->n_output_shape_index, &entry->output_shape_index, alias->output_index);
        entry->parameter_number = alias->parameter;
        set_ints(&entry->n_parameter_shape_index, &entry->parameter_shape_index,
                 alias->parameter_index);
        entry->kind = (int32_t)alias->kind;
        aliases->entries[i] = entry;
    }
    proto->input_output_alias = aliases;

    Referee__HloBufferDonorProto *donors =
        message_new(arena, &referee__hlo_buffer_donor_proto__descriptor);
    donors->n_entries = (size_t)config->donor_count;
    donors->entries = arena_array(arena, donors->n_entries, sizeof *donors->entries);
    for (int i = 0; i < config->donor_count; i++) {
        Referee__HloBufferDonorProto__BufferDonorEntryProto *entry = message_new(
            arena, &referee__hlo_buffer_donor_proto__buffer_donor_entry_proto__descriptor);
        entry->parameter_number = config->donors[i].parameter;
        set_ints(&entry->n_parameter_shape_index, &entry->parameter_shape_index,
                 config->donors[i].parameter_index);
        donors->entries[i] = entry;
    }
    proto->buffer_donor = donors;

    proto->n_cross_program_prefetches = (size_t)config->prefetch_count;
    proto->cross_program_prefetches = arena_array(arena, proto->n_cross_program_prefetches,
                                                  sizeof *proto->cross_program_prefetches);
    for (int i = 0; i < config->prefetch_count; i++) {
        Referee__CrossProgramPrefetch *prefetch =
            message_new(arena, &referee__cross_program_prefetch__descriptor);
        prefetch->parameter = config->prefetches[i].parameter;
        set_ints(&prefetch->n_index, &prefetch->index, config->prefetches[i].index);
        prefetch->offset = config->prefetches[i].offset;
        proto->cross_program_prefetches[i] = prefetch;
    }
}

static void write_shardings(struct arena *arena, const struct module_config *config,
                            Referee__HloModuleProto *proto)
{
    if (config->spmd_output_sharding != NULL) {
        proto->spmd_output_sharding = write_sharding(arena, config->spmd_output_sharding);
    }
    proto->n_spmd_parameters_shardings = (size_t)config->spmd_parameter_count;
    proto->spmd_parameters_shardings = arena_array(arena, proto->n_spmd_parameters_shardings,
                                                   sizeof *proto->spmd_parameters_shardings);
    for (int i = 0; i < config->spmd_parameter_count; i++) {
        proto->spmd_parameters_shardings[i] =
            write_sharding(arena, config->spmd_parameters_shardings[i]);
    }
}

static Referee__StackFrameIndexProto *write_frames(struct arena *arena,
                                                   const struct frame_tables *frames)
{
    Referee__StackFrameIndexProto *proto =
        message_new(arena, &referee__stack_frame_index_proto__descriptor);
    proto->n_file_names = (size_t)frames->file_name_count;
    proto->file_names = (char **)frames->file_names;
    proto->n_function_names = (size_t)frames->function_name_count;
    proto->function_names = (char **)frames->function_names;
    proto->n_file_locations = (size_t)frames->location_count;
    proto->file_locations =
        arena_array(arena, proto->n_file_locations, sizeof *proto->file_locations);
    for (int i = 0; i < frames->location_count; i++) {
        const struct file_location *from = &frames->locations[i];
        Referee__StackFrameIndexProto__FileLocation *to =
            message_new(arena, &referee__stack_frame_index_proto__file_location__descriptor);
        to->file_name_id = (int32_t)from->file_name_id;
        to->function_name_id = (int32_t)from->function_name_id;
        to->line = (int32_t)from->line;
        to->column = (int32_t)from->column;
        to->end_line = (int32_t)from->end_line;
        to->end_column = (int32_t)from->end_column;
        proto->file_locations[i] = to;
    }
    proto->n_stack_frames = (size_t)frames->frame_count;
    proto->stack_frames = arena_array(arena, proto->n_stack_frames, sizeof *proto->stack_frames);
    for (int i = 0; i < frames->frame_count; i++) {
        Referee__StackFrameIndexProto__StackFrame *to =
            message_new(arena, &referee__stack_frame_index_proto__stack_frame__descriptor);
        to->file_location_id = (int32_t)frames->frames[i].file_location_id;
        to->parent_frame_id = (int32_t)frames->frames[i].parent_frame_id;
        proto->stack_frames[i] = to;
    }
    return proto;
}

static Referee__HloModuleProto *write_module(struct writer *writer)
{
    struct arena *arena = &writer->arena;
    const struct module *module = writer->module;
    const struct module_config *config = &module->config;
    Referee__HloModuleProto *proto = message_new(arena, &referee__hlo_module_proto__descriptor);
    proto->name = (char *)module->name;
    proto->n_computations = (size_t)module->count;
    proto->computations = arena_array(arena, proto->n_computations, sizeof *proto->computations);
    for (int c = 0; c < module->count; c++) {
        proto->computations[c] = write_computation(writer, module->computations[c]);
    }
    proto->entry_computation_name = proto->computations[module->entry->id]->name;
    proto->entry_computation_id = computation_id(module->entry);
    proto->host_program_shape = write_entry_layout(writer);
    if (config->is_scheduled) {
        proto->schedule = write_schedule(writer);
    }
    write_aliases(arena, config, proto);
    write_shardings(arena, config, proto);
    proto->use_auto_spmd_partitioning = config->use_auto_spmd_partitioning;
    proto->frontend_attributes = write_string_map(arena, config->frontend_attributes);
    proto->device_type = binary_from_bytes(config->device_type);
    proto->referee_origin_recovery_table = binary_from_bytes(config->origin_recovery_table);
    proto->referee_debug_attributes = binary_from_bytes(config->debug_attributes);
    if (module->frames.frame_count > 0 || module->frames.file_name_count > 0) {
        proto->stack_frame_index = write_frames(arena, &module->frames);
    }
    return proto;
}

/* XLA's default for the lists of bools is a single false. */
static void write_bools(struct arena *arena, struct ints values, size_t *count,
                        protobuf_c_boolean **list)
{
    static const int64_t off;
    struct ints written = values.count > 0 ? values : (struct ints){1, &off};
    *count = (size_t)written.count;
    *list = ints_to_bool(arena, written);
}

static Referee__HloModuleConfigProto *write_config(struct writer *writer)
{
    struct arena *arena = &writer->arena;
    const struct module_config *config = &writer->module->config;
    Referee__HloModuleConfigProto *proto =
        message_new(arena, &referee__hlo_module_config_proto__descriptor);
    proto->entry_computation_layout = write_entry_layout(writer);
    proto->replica_count = config->replica_count;
    proto->num_partitions = config->partition_count;
    proto->use_spmd_partitioning = config->use_spmd_partitioning;
    proto->use_auto_spmd_partitioning = config->use_auto_spmd_partitioning;
    proto->device_type = binary_from_bytes(config->device_type);
    proto->alias_passthrough_params = config->alias_passthrough_params;
    write_bools(arena, config->propagate_to_output,
                &proto->n_allow_spmd_sharding_propagation_to_output,
                &proto->allow_spmd_sharding_propagation_to_output);
    write_bools(arena, config->propagate_to_parameters,
                &proto->n_allow_spmd_sharding_propagation_to_parameters,
                &proto->allow_spmd_sharding_propagation_to_parameters);
    return proto;
}

/* --- the messages around a module --- */

static ProtobufCMessage *write_kind(struct writer *writer, enum proto_kind kind)
{
    struct arena *arena = &writer->arena;
    Referee__HloModuleProto *module = write_module(writer);
    if (kind == PROTO_MODULE) {
        return &module->base;
    }
    if (kind == PROTO_MODULE_WITH_CONFIG) {
        Referee__HloModuleProtoWithConfig *proto =
            message_new(arena, &referee__hlo_module_proto_with_config__descriptor);
        proto->hlo_module = module;
        proto->config = write_config(writer);
        return &proto->base;
    }
    Referee__HloProto *hlo = message_new(arena, &referee__hlo_proto__descriptor);
    hlo->hlo_module = module;
    if (kind == PROTO_HLO) {
        return &hlo->base;
    }
    Referee__HloSnapshot *snapshot = message_new(arena, &referee__hlo_snapshot__descriptor);
    snapshot->hlo = hlo;
    return &snapshot->base;
}

void *proto_write_module(const struct module *module, enum proto_kind kind, size_t *size,
                         struct error *err)
{
    if (kind == PROTO_NONE) {
        error_set(err, ERROR_INVALID_ARGUMENT, "no kind of module proto to write");
        return NULL;
    }
    struct writer writer = {.module = module};
    arena_init(&writer.arena);
    map_init(&writer.computation_names);
    map_init(&writer.instruction_names);
    writer.first_id = arena_array(&writer.arena, (size_t)module->count, sizeof *writer.first_id);
    int64_t next = 1;
    for (int c = 0; c < module->count; c++) {
        writer.first_id[c] = next;
        next += module->computations[c]->count;
    }
    collect_names(&writer);
    void *data = message_pack(write_kind(&writer, kind), size, err);
    map_finish(&writer.instruction_names);
    map_finish(&writer.computation_names);
    arena_finish(&writer.arena);
    return data;
}
