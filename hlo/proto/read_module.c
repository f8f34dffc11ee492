/* Modules from protos. Source: xla/hlo/ir/hlo_module.cc, hlo_computation.cc, hlo_schedule.cc,
 * xla/service/hlo_module_config.cc (CreateFromProto). */
#include <stdarg.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/proto/read.h"

static bool fail(const struct reader *reader, struct error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(const struct reader *reader, struct error *err, const char *format, ...)
{
    struct text text;
    text_init(&text);
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    error_at(err, (struct where){reader->name, 0, 0}, "%s", text.data);
    text_finish(&text);
    return false;
}

static const char *copy_string(struct reader *reader, const char *text)
{
    return text != NULL ? arena_string(reader->arena, text, strlen(text)) : "";
}

/* --- computations --- */

static bool read_computation(struct reader *reader, const Referee__HloComputationProto *proto,
                             struct error *err)
{
    if (proto->name == NULL || *proto->name == '\0') {
        return fail(reader, err, "computation %d has no name", reader->module->count);
    }
    struct computation *computation =
        computation_add(reader->module, reader_name(reader, proto->name));
    if (map_put(&reader->computation_names, proto->name, strlen(proto->name), computation) !=
        NULL) {
        return fail(reader, err, "two computations have the name %s", proto->name);
    }
    computation->is_fusion = proto->is_fusion_computation != 0;
    if (proto->execution_thread.len > 0) {
        computation->execution_thread =
            bytes_from_binary(reader->arena, proto->execution_thread).data;
    }
    for (size_t i = 0; i < proto->n_instructions; i++) {
        if (!read_instruction(reader, proto->instructions[i], computation, err)) {
            return false;
        }
    }
    computation->root = reader_find(reader, computation, proto->root_id);
    if (computation->root == NULL) {
        return fail(reader, err, "computation %s has no instruction with the id %lld of its root",
                    proto->name, (long long)proto->root_id);
    }
    /* Only now may later computations call it. */
    if (map_put_int(&reader->computations, (uint64_t)proto->id, computation) != NULL) {
        return fail(reader, err, "computation %s has the id %lld of another one", proto->name,
                    (long long)proto->id);
    }
    return true;
}

static bool read_computations(struct reader *reader, struct error *err)
{
    for (size_t c = 0; c < reader->proto->n_computations; c++) {
        if (!read_computation(reader, reader->proto->computations[c], err)) {
            return false;
        }
    }
    reader->module->entry =
        map_get_int(&reader->computations, (uint64_t)reader->proto->entry_computation_id);
    return reader->module->entry != NULL ||
           fail(reader, err, "no computation has the id %lld of the entry",
                (long long)reader->proto->entry_computation_id);
}

/* --- schedule --- */

/* Puts the instructions of a computation into the order of the sequence. Dumps amid a pipeline have
 * empty ones for computations that were never scheduled: those of fusions. */
static bool schedule_computation(struct reader *reader, struct computation *computation,
                                 size_t count, const int64_t *ids, struct error *err)
{
    if (count == 0) {
        return true;
    }
    if (count != (size_t)computation->count) {
        return fail(reader, err, "the schedule of %s has %zu of its %d instructions",
                    computation->name, count, computation->count);
    }
    struct instruction **order = arena_array(reader->arena, count, sizeof *order);
    for (int i = 0; i < computation->count; i++) {
        computation->instructions[i]->id = -1;
    }
    for (size_t i = 0; i < count; i++) {
        struct instruction *instruction = reader_find(reader, computation, ids[i]);
        if (instruction == NULL || instruction->id >= 0) {
            return fail(reader, err, "the schedule of %s has id %lld, which is none or there twice",
                        computation->name, (long long)ids[i]);
        }
        for (int k = 0; k < instruction->operand_count; k++) {
            if (instruction->operands[k]->id < 0) {
                return fail(reader, err, "instruction %s is scheduled before its operand %s",
                            instruction->name, instruction->operands[k]->name);
            }
        }
        instruction->id = (int)i;
        order[i] = instruction;
    }
    memcpy(computation->instructions, order, count * sizeof *order);
    return true;
}

static bool read_schedule(struct reader *reader, struct error *err)
{
    const Referee__HloScheduleProto *proto = reader->proto->schedule;
    if (proto == NULL) {
        return true;
    }
    reader->module->config.is_scheduled = true;
    for (size_t i = 0; i < proto->n_sequences; i++) {
        const Referee__HloScheduleProto__Entry *entry = proto->sequences[i];
        struct computation *computation = map_get_int(&reader->computations, (uint64_t)entry->key);
        if (computation == NULL) {
            continue; /* one that was removed */
        }
        const Referee__HloScheduleProto__InstructionSequence *sequence = entry->value;
        if (!schedule_computation(reader, computation,
                                  sequence != NULL ? sequence->n_instruction_ids : 0,
                                  sequence != NULL ? sequence->instruction_ids : NULL, err)) {
            return false;
        }
    }
    return true;
}

/* --- the module's header --- */

/* XLA does not compare the layout with the shapes of the entry's instructions when it reads. */
static bool read_layout_of_entry(struct reader *reader, const Referee__ProgramShapeProto *proto,
                                 struct error *err)
{
    struct module_config *config = &reader->module->config;
    const struct computation *entry = reader->module->entry;
    if (proto == NULL || proto->result == NULL) {
        return fail(reader, err, "the module has no program shape");
    }
    if (proto->n_parameters != (size_t)entry->parameter_count) {
        return fail(reader, err, "the program shape has %zu parameters, the entry %s has %d",
                    proto->n_parameters, entry->name, entry->parameter_count);
    }
    const struct shape **shapes = arena_array(reader->arena, proto->n_parameters, sizeof *shapes);
    for (size_t i = 0; i < proto->n_parameters; i++) {
        shapes[i] = read_shape(proto->parameters[i], err);
        if (shapes[i] == NULL) {
            return error_prefix(err, "parameter %zu of the program shape", i);
        }
    }
    config->result_shape = read_shape(proto->result, err);
    if (config->result_shape == NULL) {
        return error_prefix(err, "result of the program shape");
    }
    config->parameter_count = (int)proto->n_parameters;
    config->parameter_shapes = shapes;
    config->has_entry_layout = true;
    return true;
}

static bool read_aliases(struct reader *reader, struct error *err)
{
    const Referee__HloInputOutputAliasProto *proto = reader->proto->input_output_alias;
    size_t count = proto != NULL ? proto->n_entries : 0;
    struct input_output_alias *aliases = arena_array(reader->arena, count, sizeof *aliases);
    for (size_t i = 0; i < count; i++) {
        const Referee__HloInputOutputAliasProto__AliasEntryProto *from = proto->entries[i];
        aliases[i].output_index =
            ints_from_int64(reader->arena, from->n_output_shape_index, from->output_shape_index);
        aliases[i].parameter = from->parameter_number;
        aliases[i].parameter_index = ints_from_int64(reader->arena, from->n_parameter_shape_index,
                                                     from->parameter_shape_index);
        if (from->kind < ALIAS_UNDEFINED || from->kind > ALIAS_MUST) {
            return fail(reader, err, "an input-output alias has kind %d, which is none",
                        (int)from->kind);
        }
        aliases[i].kind = (enum alias_kind)from->kind;
    }
    reader->module->config.alias_count = (int)count;
    reader->module->config.aliases = aliases;
    return true;
}

static void read_donors(struct reader *reader)
{
    const Referee__HloBufferDonorProto *proto = reader->proto->buffer_donor;
    size_t count = proto != NULL ? proto->n_entries : 0;
    struct buffer_donor *donors = arena_array(reader->arena, count, sizeof *donors);
    for (size_t i = 0; i < count; i++) {
        const Referee__HloBufferDonorProto__BufferDonorEntryProto *from = proto->entries[i];
        donors[i].parameter = from->parameter_number;
        donors[i].parameter_index = ints_from_int64(reader->arena, from->n_parameter_shape_index,
                                                    from->parameter_shape_index);
    }
    reader->module->config.donor_count = (int)count;
    reader->module->config.donors = donors;
}

static void read_prefetches(struct reader *reader)
{
    size_t count = reader->proto->n_cross_program_prefetches;
    struct cross_program_prefetch *prefetches =
        arena_array(reader->arena, count, sizeof *prefetches);
    for (size_t i = 0; i < count; i++) {
        const Referee__CrossProgramPrefetch *from = reader->proto->cross_program_prefetches[i];
        prefetches[i].parameter = from->parameter;
        prefetches[i].index = ints_from_int64(reader->arena, from->n_index, from->index);
        prefetches[i].offset = from->offset;
    }
    reader->module->config.prefetch_count = (int)count;
    reader->module->config.prefetches = prefetches;
}

static bool read_shardings(struct reader *reader, struct error *err)
{
    struct module_config *config = &reader->module->config;
    const Referee__HloModuleProto *proto = reader->proto;
    if (proto->spmd_output_sharding != NULL) {
        config->spmd_output_sharding =
            read_sharding(reader->arena, proto->spmd_output_sharding, err);
        if (config->spmd_output_sharding == NULL) {
            return error_prefix(err, "sharding of the output");
        }
    }
    size_t count = proto->n_spmd_parameters_shardings;
    const struct sharding **shardings = arena_array(reader->arena, count, sizeof *shardings);
    for (size_t i = 0; i < count; i++) {
        shardings[i] = read_sharding(reader->arena, proto->spmd_parameters_shardings[i], err);
        if (shardings[i] == NULL) {
            return error_prefix(err, "sharding of parameter %zu", i);
        }
    }
    config->spmd_parameter_count = (int)count;
    config->spmd_parameters_shardings = shardings;
    return true;
}

static const char *const *read_strings(struct reader *reader, size_t count, char *const *strings)
{
    const char **list = arena_array(reader->arena, count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[i] = copy_string(reader, strings[i]);
    }
    return list;
}

static void read_frames(struct reader *reader)
{
    const Referee__StackFrameIndexProto *proto = reader->proto->stack_frame_index;
    if (proto == NULL) {
        return;
    }
    struct frame_tables *frames = &reader->module->frames;
    frames->file_name_count = (int)proto->n_file_names;
    frames->file_names = read_strings(reader, proto->n_file_names, proto->file_names);
    frames->function_name_count = (int)proto->n_function_names;
    frames->function_names = read_strings(reader, proto->n_function_names, proto->function_names);
    struct file_location *locations =
        arena_array(reader->arena, proto->n_file_locations, sizeof *locations);
    for (size_t i = 0; i < proto->n_file_locations; i++) {
        const Referee__StackFrameIndexProto__FileLocation *from = proto->file_locations[i];
        locations[i] =
            (struct file_location){from->file_name_id, from->function_name_id, from->line,
                                   from->column,       from->end_line,         from->end_column};
    }
    frames->location_count = (int)proto->n_file_locations;
    frames->locations = locations;
    struct stack_frame *stack = arena_array(reader->arena, proto->n_stack_frames, sizeof *stack);
    for (size_t i = 0; i < proto->n_stack_frames; i++) {
        stack[i] = (struct stack_frame){proto->stack_frames[i]->file_location_id,
                                        proto->stack_frames[i]->parent_frame_id};
    }
    frames->frame_count = (int)proto->n_stack_frames;
    frames->frames = stack;
}

/* XLA's default, a single false, is as good as nothing. */
static struct ints read_bools(struct reader *reader, size_t count, const protobuf_c_boolean *values)
{
    if (count == 1 && !values[0]) {
        return (struct ints){0, NULL};
    }
    return ints_from_bool(reader->arena, count, values);
}

static void read_config(struct reader *reader, const Referee__HloModuleConfigProto *proto)
{
    struct module_config *config = &reader->module->config;
    config->replica_count = proto->replica_count > 0 ? proto->replica_count : 1;
    config->partition_count = proto->num_partitions > 0 ? proto->num_partitions : 1;
    config->use_spmd_partitioning = proto->use_spmd_partitioning != 0;
    config->use_auto_spmd_partitioning |= proto->use_auto_spmd_partitioning != 0;
    config->alias_passthrough_params = proto->alias_passthrough_params != 0;
    config->propagate_to_output =
        read_bools(reader, proto->n_allow_spmd_sharding_propagation_to_output,
                   proto->allow_spmd_sharding_propagation_to_output);
    config->propagate_to_parameters =
        read_bools(reader, proto->n_allow_spmd_sharding_propagation_to_parameters,
                   proto->allow_spmd_sharding_propagation_to_parameters);
}

/* Dumps have no configuration, but an assignment of devices to the grid. */
static void read_grid(struct reader *reader, const Referee__DeviceAssignmentProto *proto)
{
    struct module_config *config = &reader->module->config;
    config->replica_count = proto->replica_count > 0 ? proto->replica_count : 1;
    config->partition_count = proto->computation_count > 0 ? proto->computation_count : 1;
}

/* Is device i the i-th of the grid, row by row, as it is unless somebody chose otherwise? */
static bool is_usual(const Referee__DeviceAssignmentProto *proto)
{
    for (size_t c = 0; c < proto->n_computation_devices; c++) {
        const Referee__DeviceAssignmentProto__ComputationDevice *devices =
            proto->computation_devices[c];
        for (size_t r = 0; r < devices->n_replica_device_ids; r++) {
            if ((uint64_t)devices->replica_device_ids[r] != r * proto->n_computation_devices + c) {
                return false;
            }
        }
    }
    return true;
}

/* Says what a module here has no place for. */
static void warn_dropped(struct reader *reader)
{
    const Referee__HloModuleProto *proto = reader->proto;
    const struct {
        const char *name;
        bool is_there;
    } dropped[] = {
        {"profile_info", proto->n_profile_info > 0},
        {"device_assignment",
         proto->device_assignment != NULL && !is_usual(proto->device_assignment)},
        {"original_value_recovery_table", proto->original_value_recovery_table.len > 0 &&
                                              proto->referee_origin_recovery_table.len == 0},
        {"debug_attributes",
         proto->n_debug_attributes > 0 && proto->referee_debug_attributes.len == 0},
    };
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        if (dropped[i].is_there && reader->warnings != NULL) {
            text_printf(reader->warnings, "module %s: %s is not kept\n", reader->module->name,
                        dropped[i].name);
        }
    }
}

static bool read_header(struct reader *reader, const Referee__HloModuleConfigProto *config_proto,
                        struct error *err)
{
    const Referee__HloModuleProto *proto = reader->proto;
    struct module_config *config = &reader->module->config;
    config->use_auto_spmd_partitioning = proto->use_auto_spmd_partitioning != 0;
    config->device_type = bytes_from_binary(reader->arena, proto->device_type);
    config->origin_recovery_table =
        bytes_from_binary(reader->arena, proto->referee_origin_recovery_table);
    config->debug_attributes = bytes_from_binary(reader->arena, proto->referee_debug_attributes);
    if (proto->frontend_attributes != NULL) {
        config->frontend_attributes = read_string_map(reader->arena, proto->frontend_attributes);
    }
    read_donors(reader);
    read_prefetches(reader);
    read_frames(reader);
    if (config_proto != NULL) {
        read_config(reader, config_proto);
    } else if (proto->device_assignment != NULL) {
        read_grid(reader, proto->device_assignment);
    }
    warn_dropped(reader);
    return read_aliases(reader, err) && read_shardings(reader, err);
}

static bool read_all(struct reader *reader, const Referee__HloModuleConfigProto *config,
                     struct error *err)
{
    /* The entry layout comes last: module_finish finds the parameters. Until then it is that of
     * the instructions. */
    return read_computations(reader, err) && read_schedule(reader, err) &&
           read_header(reader, config, err) && module_finish(reader->module, err) &&
           read_layout_of_entry(reader, reader->proto->host_program_shape, err);
}

struct module *read_module(const Referee__HloModuleProto *proto,
                           const Referee__HloModuleConfigProto *config, const char *name,
                           struct text *warnings, struct error *err)
{
    struct module *module = module_create(proto->name != NULL ? proto->name : "");
    struct reader reader = {
        .module = module,
        .arena = &module->arena,
        .proto = proto,
        .name = name,
        .warnings = warnings,
    };
    module->source = name != NULL ? arena_string(&module->arena, name, strlen(name)) : NULL;
    struct map *const maps[] = {&reader.computations, &reader.instructions,
                                &reader.computation_names, &reader.instruction_names,
                                &reader.own_names};
    enum { MAPS = sizeof maps / sizeof *maps };
    for (int i = 0; i < MAPS; i++) {
        map_init(maps[i]);
    }
    bool ok = read_all(&reader, config, err);
    for (int i = 0; i < MAPS; i++) {
        map_finish(maps[i]);
    }
    if (!ok) {
        module_destroy(module);
        return NULL;
    }
    return module;
}
