/* Shardings, meshes, groups of devices and metadata from protos.
 * Source: xla/hlo/ir/hlo_sharding.cc, named_sharding.cc, mesh_and_axis.cc, replica_group.cc
 * (FromProto). */
#include <stdlib.h>
#include <string.h>

#include "hlo/proto/read.h"
#include "hlo/text/lexer.h"

static const char *optional_string(struct arena *arena, const char *text)
{
    return text != NULL ? arena_string(arena, text, strlen(text)) : NULL;
}

/* --- metadata and maps --- */

bool read_payload(const Referee__Payload *payload, const Referee__HloModuleProto *module,
                  ProtobufCBinaryData *bytes, struct error *err)
{
    if (!payload->has_id) {
        *bytes = payload->value;
        return true;
    }
    size_t count = module != NULL ? module->n_payloads : 0;
    if (payload->id < 0 || (uint64_t)payload->id >= count) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "payload %lld is wanted, but the module has %zu", (long long)payload->id,
                         count);
    }
    *bytes = module->payloads[payload->id];
    return true;
}

struct metadata *read_metadata(struct arena *arena, const Referee__OpMetadata *proto,
                               const Referee__HloModuleProto *module, struct error *err)
{
    struct metadata *metadata = arena_alloc(arena, sizeof *metadata);
    metadata->op_type = optional_string(arena, proto->op_type);
    metadata->op_name = optional_string(arena, proto->op_name);
    metadata->source_file = optional_string(arena, proto->source_file);
    metadata->deduplicated_name = optional_string(arena, proto->deduplicated_name);
    metadata->scheduling_name = optional_string(arena, proto->scheduling_name);
    metadata->source_line = proto->source_line;
    metadata->source_end_line = proto->source_end_line;
    metadata->source_column = proto->source_column;
    metadata->source_end_column = proto->source_end_column;
    metadata->stack_frame_id = proto->stack_frame_id;
    metadata->size_of_generated_code = proto->size_of_generated_code_in_bytes;
    metadata->size_of_memory_working_set = proto->size_of_memory_working_set_in_bytes;
    metadata->profile_type = ints_from_int32(arena, proto->n_profile_type, proto->profile_type);
    if (proto->metadata_payload != NULL) {
        ProtobufCBinaryData bytes;
        if (!read_payload(proto->metadata_payload, module, &bytes, err)) {
            return NULL;
        }
        metadata->extra = bytes_from_binary(arena, bytes);
    }
    return metadata;
}

static int compare_entries(const void *x, const void *y)
{
    const struct string_entry *a = x, *b = y;
    size_t common = a->key.size < b->key.size ? a->key.size : b->key.size;
    int order = memcmp(a->key.data, b->key.data, common);
    return order != 0 ? order : (a->key.size > b->key.size) - (a->key.size < b->key.size);
}

/* Sorted by key, as XLA prints them. */
struct string_map read_string_map(struct arena *arena, const Referee__FrontendAttributes *proto)
{
    struct string_entry *entries = arena_array(arena, proto->n_map, sizeof *entries);
    for (size_t i = 0; i < proto->n_map; i++) {
        entries[i].key = bytes_from_binary(arena, proto->map[i]->key);
        entries[i].value = bytes_from_binary(arena, proto->map[i]->value);
        entries[i].raw = lexer_is_json(entries[i].value.data, entries[i].value.size);
    }
    if (proto->n_map > 1) {
        qsort(entries, proto->n_map, sizeof *entries, compare_entries);
    }
    return (struct string_map){(int)proto->n_map, entries};
}

/* The product of the sizes, or −1 when one is not positive or the product overflows. */
static int64_t product(struct ints sizes)
{
    int64_t result = 1;
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.values[i] <= 0 || __builtin_mul_overflow(result, sizes.values[i], &result)) {
            return -1;
        }
    }
    return result;
}

/* Is perm a permutation of the dimensions of `sizes`, and are there `count` devices in all? */
static bool check_iota(struct ints sizes, struct ints perm, int64_t count, struct error *err)
{
    bool seen[SHAPE_MAX_RANK] = {false};
    bool good = sizes.count == perm.count && sizes.count <= SHAPE_MAX_RANK &&
                product(sizes) == count && count > 0;
    for (int i = 0; good && i < perm.count; i++) {
        int64_t dimension = perm.values[i];
        good = dimension >= 0 && dimension < perm.count && !seen[dimension];
        if (good) {
            seen[dimension] = true;
        }
    }
    return good || error_set(err, ERROR_INVALID_ARGUMENT,
                             "an iota of devices has a permutation or a size that does not fit");
}

/* A single dimension has no permutation here. */
static void drop_permutation(struct ints dims, struct ints *perm)
{
    if (dims.count == 1) {
        *perm = (struct ints){0, NULL};
    }
}

/* --- meshes --- */

static bool read_mesh(struct arena *arena, const Referee__MeshProto *proto, struct mesh *mesh,
                      struct error *err)
{
    *mesh = (struct mesh){.maximal_device = -1};
    if (proto == NULL) {
        return true;
    }
    if (proto->n_axes == 0) {
        if (proto->n_device_ids > 1) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "a mesh without axes has %zu devices",
                             proto->n_device_ids);
        }
        mesh->maximal_device = proto->n_device_ids == 1 ? proto->device_ids[0] : -1;
        return true;
    }
    struct mesh_axis *axes = arena_array(arena, proto->n_axes, sizeof *axes);
    for (size_t i = 0; i < proto->n_axes; i++) {
        const char *name = proto->axes[i]->name;
        axes[i].name = optional_string(arena, name != NULL ? name : "");
        axes[i].size = proto->axes[i]->size;
        if (axes[i].size <= 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "mesh axis %s has size %lld",
                             axes[i].name, (long long)axes[i].size);
        }
    }
    mesh->axis_count = (int)proto->n_axes;
    mesh->axes = axes;
    mesh->device_ids = ints_from_int64(arena, proto->n_device_ids, proto->device_ids);
    const Referee__MeshProto__IotaTransform *iota = proto->iota_transform;
    if (iota != NULL) {
        if (proto->n_device_ids > 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "a mesh has both a list of devices and an iota transform");
        }
        mesh->reshape_dims = ints_from_int64(arena, iota->n_reshape_dims, iota->reshape_dims);
        mesh->transpose_perm = ints_from_int64(arena, iota->n_transpose_perm, iota->transpose_perm);
        int64_t devices = 1;
        for (int i = 0; i < mesh->axis_count; i++) {
            if (__builtin_mul_overflow(devices, axes[i].size, &devices)) {
                devices = -1;
            }
        }
        if (!check_iota(mesh->reshape_dims, mesh->transpose_perm, devices, err)) {
            return false;
        }
        if (mesh->reshape_dims.count == 1) { /* the devices in order */
            mesh->reshape_dims = mesh->transpose_perm = (struct ints){0, NULL};
        }
    }
    return true;
}

static bool read_axes(struct arena *arena, size_t count, Referee__AxisRefProto *const *protos,
                      const struct mesh *mesh, struct axis_refs *axes, struct error *err)
{
    struct axis_ref *list = arena_array(arena, count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        int64_t axis = protos[i]->mesh_axis_index;
        if (axis < 0 || axis >= mesh->axis_count) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "axis %lld is wanted of a mesh of %d axes", (long long)axis,
                             mesh->axis_count);
        }
        list[i].axis = (int)axis;
        if (protos[i]->sub_axis_info != NULL) {
            list[i].pre = protos[i]->sub_axis_info->pre_size;
            list[i].size = protos[i]->sub_axis_info->size;
        }
    }
    *axes = (struct axis_refs){(int)count, list};
    return true;
}

/* --- shardings --- */

static bool read_metadata_list(struct arena *arena, size_t count,
                               Referee__OpMetadata *const *protos, struct sharding *sharding,
                               struct error *err)
{
    const struct metadata **list = arena_array(arena, count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[i] = read_metadata(arena, protos[i], NULL, err);
        if (list[i] == NULL) {
            return false;
        }
    }
    sharding->metadata_count = (int)count;
    sharding->metadata = list;
    return true;
}

static bool read_named(struct arena *arena, const Referee__NamedShardingProto *proto,
                       struct sharding *sharding, struct error *err)
{
    sharding->form = SHARDING_NAMED;
    if (!read_mesh(arena, proto->mesh, &sharding->mesh, err)) {
        return false;
    }
    size_t count = proto->n_dim_shardings;
    struct named_dimension *dimensions = arena_array(arena, count, sizeof *dimensions);
    for (size_t i = 0; i < count; i++) {
        const Referee__NamedShardingProto__DimensionSharding *entry = proto->dim_shardings[i];
        if (!read_axes(arena, entry->n_axes, entry->axes, &sharding->mesh, &dimensions[i].axes,
                       err)) {
            return false;
        }
        dimensions[i].open = !entry->is_closed;
        dimensions[i].priority = -1;
    }
    sharding->dimension_count = (int)count;
    sharding->dimensions = dimensions;
    static const char *const kinds[] = {NULL, "max", "min"}; /* "sum" is not written */
    if (proto->reduction_op > 0 && proto->reduction_op <= 2) {
        sharding->unreduced_kind = kinds[proto->reduction_op];
    }
    return read_axes(arena, proto->n_replicated_axes, proto->replicated_axes, &sharding->mesh,
                     &sharding->replicated, err) &&
           read_axes(arena, proto->n_unreduced_axes, proto->unreduced_axes, &sharding->mesh,
                     &sharding->unreduced, err) &&
           read_axes(arena, proto->n_manual_axes, proto->manual_axes, &sharding->mesh,
                     &sharding->manual, err) &&
           read_metadata_list(arena, proto->n_metadata, proto->metadata, sharding, err);
}

static bool read_tiled(struct arena *arena, const Referee__OpSharding *proto,
                       struct sharding *sharding, struct error *err)
{
    sharding->reshape_dims =
        ints_from_int64(arena, proto->n_iota_reshape_dims, proto->iota_reshape_dims);
    sharding->transpose_perm =
        ints_from_int32(arena, proto->n_iota_transpose_perm, proto->iota_transpose_perm);
    sharding->devices =
        ints_from_int64(arena, proto->n_tile_assignment_devices, proto->tile_assignment_devices);
    sharding->tile_dims = ints_from_int64(arena, proto->n_tile_assignment_dimensions,
                                          proto->tile_assignment_dimensions);
    bool iota = sharding->reshape_dims.count > 0;
    if (iota == (sharding->devices.count > 0)) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "a sharding needs either a list of devices or an iota");
    }
    int64_t devices = iota ? product(sharding->reshape_dims) : sharding->devices.count;
    if (devices == 1) { /* XLA, too, takes this for replicated */
        sharding->form = SHARDING_REPLICATED;
        sharding->reshape_dims = sharding->transpose_perm = (struct ints){0, NULL};
        sharding->devices = sharding->tile_dims = (struct ints){0, NULL};
        return true;
    }
    if (devices < 0 || sharding->tile_dims.count == 0 || product(sharding->tile_dims) != devices) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "the tiles of a sharding are not as many as its devices");
    }
    if (iota && !check_iota(sharding->reshape_dims, sharding->transpose_perm, devices, err)) {
        return false;
    }
    drop_permutation(sharding->reshape_dims, &sharding->transpose_perm);
    sharding->last_tile_dim_replicate = proto->replicate_on_last_tile_dim != 0;
    sharding->last_tile_dims =
        ints_from_int32(arena, proto->n_last_tile_dims, proto->last_tile_dims);
    for (int i = 0; i < sharding->last_tile_dims.count; i++) {
        int64_t type = sharding->last_tile_dims.values[i];
        if (type < 0 || type >= SHARDING_NAMED) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "a sharding has a last tile dimension of type %lld, which is none",
                             (long long)type);
        }
    }
    return true;
}

static bool read_tuple(struct arena *arena, const Referee__OpSharding *proto,
                       struct sharding *sharding, struct error *err)
{
    const struct sharding **elements =
        arena_array(arena, proto->n_tuple_shardings, sizeof *elements);
    for (size_t i = 0; i < proto->n_tuple_shardings; i++) {
        elements[i] = read_sharding(arena, proto->tuple_shardings[i], err);
        if (elements[i] == NULL) {
            return false;
        }
    }
    sharding->count = (int)proto->n_tuple_shardings;
    sharding->elements = elements;
    return true;
}

static bool read_form(struct arena *arena, const Referee__OpSharding *proto,
                      struct sharding *sharding, struct error *err)
{
    if (proto->named_sharding != NULL) {
        return read_named(arena, proto->named_sharding, sharding, err);
    }
    if (proto->type < 0 || proto->type >= SHARDING_NAMED) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "a sharding has type %d, which is none",
                         (int)proto->type);
    }
    sharding->form = (enum sharding_form)proto->type;
    sharding->is_shard_group = proto->is_shard_group != 0;
    if (sharding->is_shard_group) {
        sharding->shard_group_id = proto->shard_group_id;
        sharding->shard_as = proto->shard_group_type == 0;
    }
    if (!read_metadata_list(arena, proto->n_metadata, proto->metadata, sharding, err)) {
        return false;
    }
    switch (sharding->form) {
    case SHARDING_TUPLE:
        return read_tuple(arena, proto, sharding, err);
    case SHARDING_MAXIMAL:
        if (proto->n_tile_assignment_devices != 1) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "a maximal sharding has %zu devices instead of one",
                             proto->n_tile_assignment_devices);
        }
        sharding->device = proto->tile_assignment_devices[0];
        return true;
    case SHARDING_TILED:
        return read_tiled(arena, proto, sharding, err);
    default:
        return true;
    }
}

struct sharding *read_sharding(struct arena *arena, const Referee__OpSharding *proto,
                               struct error *err)
{
    struct sharding *sharding = arena_alloc(arena, sizeof *sharding);
    sharding->mesh.maximal_device = -1;
    return read_form(arena, proto, sharding, err) ? sharding : NULL;
}

/* --- groups of devices --- */

static struct lists read_lists(struct arena *arena, size_t count,
                               Referee__ReplicaGroup *const *groups)
{
    struct ints *lists = arena_array(arena, count, sizeof *lists);
    for (size_t i = 0; i < count; i++) {
        lists[i] = ints_from_int64(arena, groups[i]->n_replica_ids, groups[i]->replica_ids);
    }
    return (struct lists){(int)count, lists, true};
}

static bool read_iota(struct arena *arena, const Referee__IotaReplicaGroupListProto *proto,
                      struct groups *groups, struct error *err)
{
    groups->form = GROUPS_IOTA;
    groups->group_count = proto->num_replica_groups;
    groups->group_size = proto->num_devices_per_group;
    groups->reshape_dims =
        ints_from_int64(arena, proto->n_iota_reshape_dims, proto->iota_reshape_dims);
    groups->transpose_perm =
        ints_from_int32(arena, proto->n_iota_transpose_perm, proto->iota_transpose_perm);
    const int64_t sizes[] = {groups->group_count, groups->group_size};
    if (!check_iota(groups->reshape_dims, groups->transpose_perm, product((struct ints){2, sizes}),
                    err)) {
        return false;
    }
    drop_permutation(groups->reshape_dims, &groups->transpose_perm);
    return true;
}

static bool read_form_of_groups(struct arena *arena, const Referee__HloInstructionProto *proto,
                                struct groups *groups, struct error *err)
{
    if (proto->iota_collective_device_list != NULL) {
        return read_iota(arena, proto->iota_collective_device_list, groups, err);
    }
    if (proto->mesh_axes_replica_group_list != NULL) {
        const Referee__MeshAxesReplicaGroupListProto *mesh = proto->mesh_axes_replica_group_list;
        groups->form = GROUPS_MESH;
        return read_mesh(arena, mesh->mesh, &groups->mesh, err) &&
               read_axes(arena, mesh->n_axes, mesh->axes, &groups->mesh, &groups->axes, err);
    }
    groups->form = GROUPS_LIST;
    const Referee__CollectiveDeviceListProto *list = proto->collective_device_list;
    if (proto->n_replica_groups > 0) {
        groups->list = read_lists(arena, proto->n_replica_groups, proto->replica_groups);
    } else if (list != NULL && list->iota_replica_group_list != NULL) {
        return read_iota(arena, list->iota_replica_group_list, groups, err);
    } else if (list != NULL) {
        groups->list = read_lists(arena, list->n_replica_groups, list->replica_groups);
    }
    return true;
}

struct groups *read_groups(struct arena *arena, const Referee__HloInstructionProto *proto,
                           struct error *err)
{
    struct groups *groups = arena_alloc(arena, sizeof *groups);
    groups->mesh.maximal_device = -1;
    return read_form_of_groups(arena, proto, groups, err) ? groups : NULL;
}
