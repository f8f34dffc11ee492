/* Writing CompileOptionsProto. */
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/proto/compile_options.h"
#include "hlo/proto/compile_options.pb-c.h"
#include "hlo/proto/write.h"

static Referee__DeviceAssignmentProto *write_assignment(struct arena *arena,
                                                        const struct compile_options *options)
{
    size_t replicas = (size_t)options->replica_count;
    size_t partitions = (size_t)options->partition_count;
    Referee__DeviceAssignmentProto *proto =
        message_new(arena, &referee__device_assignment_proto__descriptor);
    proto->replica_count = options->replica_count;
    proto->computation_count = options->partition_count;
    proto->n_computation_devices = partitions;
    proto->computation_devices = arena_array(arena, partitions, sizeof(void *));
    for (size_t p = 0; p < partitions; p++) {
        Referee__DeviceAssignmentProto__ComputationDevice *devices =
            message_new(arena, &referee__device_assignment_proto__computation_device__descriptor);
        devices->n_replica_device_ids = replicas;
        devices->replica_device_ids = arena_array(arena, replicas, sizeof(int64_t));
        for (size_t r = 0; r < replicas; r++) {
            devices->replica_device_ids[r] = options->device_ids[r * partitions + p];
        }
        proto->computation_devices[p] = devices;
    }
    return proto;
}

static Referee__CompileOptionsProto__EnvOptionOverride *write_flag(struct arena *arena,
                                                                   const struct compile_flag *flag)
{
    Referee__CompileOptionsProto__EnvOptionOverride *entry =
        message_new(arena, &referee__compile_options_proto__env_option_override__descriptor);
    entry->key = arena_string(arena, flag->name, strlen(flag->name));
    entry->value = message_new(arena, &referee__option_override_proto__descriptor);
    if (strcmp(flag->value, "true") == 0 || strcmp(flag->value, "false") == 0) {
        entry->value->has_bool_field = true; /* false is a value here, not absence */
        entry->value->bool_field = flag->value[0] == 't';
    } else {
        entry->value->string_field = arena_string(arena, flag->value, strlen(flag->value));
    }
    return entry;
}

static protobuf_c_boolean *write_bools(struct arena *arena, struct ints values, size_t *count)
{
    *count = (size_t)values.count;
    protobuf_c_boolean *bools = arena_array(arena, *count, sizeof *bools);
    for (int i = 0; i < values.count; i++) {
        bools[i] = values.values[i] != 0;
    }
    return bools;
}

void *compile_options_write(const struct compile_options *options, size_t *size, struct error *err)
{
    struct arena arena;
    arena_init(&arena);
    Referee__ExecutableBuildOptionsProto *build =
        message_new(&arena, &referee__executable_build_options_proto__descriptor);
    build->device_ordinal = -1; /* absent would mean device 0 */
    build->num_replicas = options->replica_count;
    build->num_partitions = options->partition_count;
    build->device_assignment = write_assignment(&arena, options);
    build->use_spmd_partitioning = options->use_spmd_partitioning || options->partition_count > 1;
    build->allow_spmd_sharding_propagation_to_parameters =
        write_bools(&arena, options->propagate_to_parameters,
                    &build->n_allow_spmd_sharding_propagation_to_parameters);
    build->allow_spmd_sharding_propagation_to_output = write_bools(
        &arena, options->propagate_to_output, &build->n_allow_spmd_sharding_propagation_to_output);
    build->use_shardy_partitioner = options->use_shardy_partitioner;
    build->run_backend_only = options->run_backend_only;
    build->alias_passthrough_params = options->alias_passthrough_params;

    Referee__CompileOptionsProto *proto =
        message_new(&arena, &referee__compile_options_proto__descriptor);
    if (options->result_shape) {
        size_t count = (size_t)options->parameter_count;
        build->result_layout = write_shape(&arena, options->result_shape);
        proto->n_argument_layouts = count;
        proto->argument_layouts = arena_array(&arena, count, sizeof(void *));
        for (size_t i = 0; i < count; i++) {
            proto->argument_layouts[i] = write_shape(&arena, options->parameter_shapes[i]);
        }
    }
    proto->parameter_is_tupled_arguments = options->tupled_parameter;
    proto->executable_build_options = build;
    proto->n_env_option_overrides = (size_t)options->flag_count;
    proto->env_option_overrides = arena_array(&arena, (size_t)options->flag_count, sizeof(void *));
    for (int i = 0; i < options->flag_count; i++) {
        proto->env_option_overrides[i] = write_flag(&arena, &options->flags[i]);
    }
    void *bytes = message_pack(&proto->base, size, err);
    arena_finish(&arena);
    return bytes;
}
