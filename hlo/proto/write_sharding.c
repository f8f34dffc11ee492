/* Shardings, meshes, groups of devices and metadata as protos.
 * Source: xla/hlo/ir/hlo_sharding.cc, named_sharding.cc, mesh_and_axis.cc, replica_group.cc. */
#include <string.h>

#include "hlo/proto/write.h"

Referee__OpMetadata *write_metadata(struct arena *arena, const struct metadata *metadata)
{
    Referee__OpMetadata *proto = message_new(arena, &referee__op_metadata__descriptor);
    proto->op_type = (char *)metadata->op_type;
    proto->op_name = (char *)metadata->op_name;
    proto->source_file = (char *)metadata->source_file;
    proto->source_line = (int32_t)metadata->source_line;
    proto->n_profile_type = (size_t)metadata->profile_type.count;
    proto->profile_type = ints_to_int32(arena, metadata->profile_type);
    proto->size_of_generated_code_in_bytes = metadata->size_of_generated_code;
    proto->size_of_memory_working_set_in_bytes = metadata->size_of_memory_working_set;
    proto->deduplicated_name = (char *)metadata->deduplicated_name;
    proto->stack_frame_id = (int32_t)metadata->stack_frame_id;
    proto->scheduling_name = (char *)metadata->scheduling_name;
    proto->source_end_line = (int32_t)metadata->source_end_line;
    proto->source_column = (int32_t)metadata->source_column;
    proto->source_end_column = (int32_t)metadata->source_end_column;
    if (metadata->extra.size > 0) {
        proto->metadata_payload = message_new(arena, &referee__payload__descriptor);
        proto->metadata_payload->value = binary_from_bytes(metadata->extra);
    }
    return proto;
}

Referee__FrontendAttributes *write_string_map(struct arena *arena, struct string_map map)
{
    Referee__FrontendAttributes *proto =
        message_new(arena, &referee__frontend_attributes__descriptor);
    proto->n_map = (size_t)map.count;
    proto->map = arena_array(arena, proto->n_map, sizeof *proto->map);
    for (int i = 0; i < map.count; i++) {
        Referee__FrontendAttributes__Entry *entry =
            message_new(arena, &referee__frontend_attributes__entry__descriptor);
        entry->key = binary_from_bytes(map.entries[i].key);
        entry->value = binary_from_bytes(map.entries[i].value);
        proto->map[i] = entry;
    }
    return proto;
}

/* The permutation of an iota, which a single dimension has only in protos. */
static struct ints permutation(struct ints dims, struct ints perm)
{
    static const int64_t zero;
    return dims.count == 1 && perm.count == 0 ? (struct ints){1, &zero} : perm;
}

/* --- meshes --- */

Referee__MeshProto *write_mesh(struct arena *arena, const struct mesh *mesh)
{
    Referee__MeshProto *proto = message_new(arena, &referee__mesh_proto__descriptor);
    if (mesh->axis_count == 0) {
        if (mesh->maximal_device >= 0) {
            proto->n_device_ids = 1;
            proto->device_ids = (int64_t *)&mesh->maximal_device;
        }
        return proto;
    }
    proto->n_axes = (size_t)mesh->axis_count;
    proto->axes = arena_array(arena, proto->n_axes, sizeof *proto->axes);
    for (int i = 0; i < mesh->axis_count; i++) {
        Referee__MeshProto__MeshAxis *axis =
            message_new(arena, &referee__mesh_proto__mesh_axis__descriptor);
        axis->name = (char *)mesh->axes[i].name;
        axis->size = mesh->axes[i].size;
        proto->axes[i] = axis;
    }
    if (mesh->reshape_dims.count > 0) {
        proto->iota_transform =
            message_new(arena, &referee__mesh_proto__iota_transform__descriptor);
        set_ints(&proto->iota_transform->n_reshape_dims, &proto->iota_transform->reshape_dims,
                 mesh->reshape_dims);
        set_ints(&proto->iota_transform->n_transpose_perm, &proto->iota_transform->transpose_perm,
                 mesh->transpose_perm);
    } else {
        set_ints(&proto->n_device_ids, &proto->device_ids, mesh->device_ids);
    }
    return proto;
}

Referee__AxisRefProto **write_axes(struct arena *arena, struct axis_refs axes)
{
    Referee__AxisRefProto **list = arena_array(arena, (size_t)axes.count, sizeof *list);
    for (int i = 0; i < axes.count; i++) {
        list[i] = message_new(arena, &referee__axis_ref_proto__descriptor);
        list[i]->mesh_axis_index = axes.axes[i].axis;
        if (axes.axes[i].size != 0) {
            list[i]->sub_axis_info =
                message_new(arena, &referee__axis_ref_proto__sub_axis__descriptor);
            list[i]->sub_axis_info->pre_size = axes.axes[i].pre;
            list[i]->sub_axis_info->size = axes.axes[i].size;
        }
    }
    return list;
}

/* --- shardings --- */

static Referee__OpMetadata **write_metadata_list(struct arena *arena,
                                                 const struct sharding *sharding)
{
    Referee__OpMetadata **list = arena_array(arena, (size_t)sharding->metadata_count, sizeof *list);
    for (int i = 0; i < sharding->metadata_count; i++) {
        list[i] = write_metadata(arena, sharding->metadata[i]);
    }
    return list;
}

/* The reduction of `unreduced` axes; a sum unless it is written. */
static int32_t reduction_number(const char *kind)
{
    static const char *const kinds[] = {"sum", "max", "min"};
    for (int i = 0; kind != NULL && i < 3; i++) {
        if (strcmp(kind, kinds[i]) == 0) {
            return i;
        }
    }
    return 0;
}

static Referee__NamedShardingProto *write_named(struct arena *arena,
                                                const struct sharding *sharding)
{
    Referee__NamedShardingProto *proto =
        message_new(arena, &referee__named_sharding_proto__descriptor);
    proto->mesh = write_mesh(arena, &sharding->mesh);
    proto->n_dim_shardings = (size_t)sharding->dimension_count;
    proto->dim_shardings = arena_array(arena, proto->n_dim_shardings, sizeof *proto->dim_shardings);
    for (int i = 0; i < sharding->dimension_count; i++) {
        const struct named_dimension *dimension = &sharding->dimensions[i];
        Referee__NamedShardingProto__DimensionSharding *entry =
            message_new(arena, &referee__named_sharding_proto__dimension_sharding__descriptor);
        entry->n_axes = (size_t)dimension->axes.count;
        entry->axes = write_axes(arena, dimension->axes);
        entry->is_closed = !dimension->open;
        proto->dim_shardings[i] = entry;
    }
    proto->n_replicated_axes = (size_t)sharding->replicated.count;
    proto->replicated_axes = write_axes(arena, sharding->replicated);
    proto->n_unreduced_axes = (size_t)sharding->unreduced.count;
    proto->unreduced_axes = write_axes(arena, sharding->unreduced);
    proto->n_manual_axes = (size_t)sharding->manual.count;
    proto->manual_axes = write_axes(arena, sharding->manual);
    proto->reduction_op = reduction_number(sharding->unreduced_kind);
    proto->n_metadata = (size_t)sharding->metadata_count;
    proto->metadata = write_metadata_list(arena, sharding);
    return proto;
}

Referee__OpSharding *write_sharding(struct arena *arena, const struct sharding *sharding)
{
    Referee__OpSharding *proto = message_new(arena, &referee__op_sharding__descriptor);
    if (sharding->form == SHARDING_NAMED) {
        proto->named_sharding = write_named(arena, sharding);
        return proto;
    }
    proto->type = (int32_t)sharding->form; /* the forms before NAMED are OpSharding.Type */
    proto->n_metadata = (size_t)sharding->metadata_count;
    proto->metadata = write_metadata_list(arena, sharding);
    proto->is_shard_group = sharding->is_shard_group;
    proto->shard_group_id = sharding->shard_group_id;
    proto->shard_group_type = sharding->is_shard_group && !sharding->shard_as;
    if (sharding->form == SHARDING_TUPLE) {
        proto->n_tuple_shardings = (size_t)sharding->count;
        proto->tuple_shardings =
            arena_array(arena, proto->n_tuple_shardings, sizeof *proto->tuple_shardings);
        for (int i = 0; i < sharding->count; i++) {
            proto->tuple_shardings[i] = write_sharding(arena, sharding->elements[i]);
        }
    } else if (sharding->form == SHARDING_MAXIMAL) {
        proto->n_tile_assignment_devices = 1;
        proto->tile_assignment_devices = (int64_t *)&sharding->device;
    } else if (sharding->form == SHARDING_TILED) {
        set_ints(&proto->n_tile_assignment_dimensions, &proto->tile_assignment_dimensions,
                 sharding->tile_dims);
        set_ints(&proto->n_tile_assignment_devices, &proto->tile_assignment_devices,
                 sharding->devices);
        set_ints(&proto->n_iota_reshape_dims, &proto->iota_reshape_dims, sharding->reshape_dims);
        struct ints perm = permutation(sharding->reshape_dims, sharding->transpose_perm);
        proto->n_iota_transpose_perm = (size_t)perm.count;
        proto->iota_transpose_perm = ints_to_int32(arena, perm);
        proto->replicate_on_last_tile_dim = sharding->last_tile_dim_replicate;
        proto->n_last_tile_dims = (size_t)sharding->last_tile_dims.count;
        proto->last_tile_dims = ints_to_int32(arena, sharding->last_tile_dims);
    }
    return proto;
}

/* --- groups of devices --- */

static Referee__CollectiveDeviceListProto *write_list(struct arena *arena, struct lists lists)
{
    Referee__CollectiveDeviceListProto *proto =
        message_new(arena, &referee__collective_device_list_proto__descriptor);
    proto->n_replica_groups = (size_t)lists.count;
    proto->replica_groups =
        arena_array(arena, proto->n_replica_groups, sizeof *proto->replica_groups);
    for (int i = 0; i < lists.count; i++) {
        Referee__ReplicaGroup *group = message_new(arena, &referee__replica_group__descriptor);
        set_ints(&group->n_replica_ids, &group->replica_ids, lists.lists[i]);
        proto->replica_groups[i] = group;
    }
    return proto;
}

void write_groups(struct arena *arena, const struct groups *groups,
                  Referee__HloInstructionProto *proto)
{
    switch (groups->form) {
    case GROUPS_LIST:
        proto->collective_device_list = write_list(arena, groups->list);
        if (groups->for_old_readers) {
            proto->n_replica_groups = proto->collective_device_list->n_replica_groups;
            proto->replica_groups = proto->collective_device_list->replica_groups;
        }
        return;
    case GROUPS_IOTA: {
        Referee__IotaReplicaGroupListProto *iota =
            message_new(arena, &referee__iota_replica_group_list_proto__descriptor);
        iota->num_replica_groups = groups->group_count;
        iota->num_devices_per_group = groups->group_size;
        set_ints(&iota->n_iota_reshape_dims, &iota->iota_reshape_dims, groups->reshape_dims);
        struct ints perm = permutation(groups->reshape_dims, groups->transpose_perm);
        iota->n_iota_transpose_perm = (size_t)perm.count;
        iota->iota_transpose_perm = ints_to_int32(arena, perm);
        /* XLA had it inside the list until 2025; of the two, what stands last counts. */
        proto->collective_device_list = write_list(arena, (struct lists){0});
        proto->collective_device_list->iota_replica_group_list = iota;
        proto->iota_collective_device_list = iota;
        return;
    }
    case GROUPS_MESH: {
        Referee__MeshAxesReplicaGroupListProto *mesh =
            message_new(arena, &referee__mesh_axes_replica_group_list_proto__descriptor);
        mesh->mesh = write_mesh(arena, &groups->mesh);
        mesh->n_axes = (size_t)groups->axes.count;
        mesh->axes = write_axes(arena, groups->axes);
        proto->mesh_axes_replica_group_list = mesh;
        return;
    }
    }
}
