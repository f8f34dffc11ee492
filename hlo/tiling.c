/* Tilings: which tile of an array each device has (sharding.h). */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/sharding_internal.h"

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

/* Where every device stands: ids[position], row-major over some sizes; an iota of `dims` that is
 * transposed by `perm` (empty: not), or a list, or (both empty) 0, 1, 2 … */
static void list_devices(struct ints devices, struct ints dims, struct ints perm, int count,
                         int64_t *ids)
{
    if (dims.count == 0 || perm.count == 0) {
        for (int i = 0; i < count; i++) {
            ids[i] = devices.count > 0 ? devices.values[i] : i;
        }
        return;
    }
    int64_t strides[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK] = {0};
    int64_t stride = 1;
    for (int i = dims.count - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= dims.values[i];
    }
    for (int i = 0; i < count; i++) {
        int64_t id = 0;
        for (int k = 0; k < perm.count; k++) {
            id += at[k] * strides[perm.values[k]];
        }
        ids[i] = id;
        for (int k = perm.count - 1; k >= 0 && ++at[k] == dims.values[perm.values[k]]; k--) {
            at[k] = 0;
        }
    }
}

/* ids[0..count) is a permutation of the devices: false for lists that are not. */
static bool check_permutation(const int64_t *ids, int count, struct error *err)
{
    bool *seen = memory_zalloc((size_t)count + 1);
    bool good = true;
    for (int i = 0; good && i < count; i++) {
        good = ids[i] >= 0 && ids[i] < count && !seen[ids[i]];
        if (good) {
            seen[ids[i]] = true;
        }
    }
    free(seen);
    return good || error_set(err, ERROR_INVALID_ARGUMENT,
                             "the devices of the sharding are not those from 0 to %d", count - 1);
}

static enum tiling_reduction reduction_word(const char *word)
{
    return word != NULL && (strcmp(word, "max") == 0 || strcmp(word, "MAX") == 0)   ? TILING_MAX
           : word != NULL && (strcmp(word, "min") == 0 || strcmp(word, "MIN") == 0) ? TILING_MIN
                                                                                    : TILING_SUM;
}

/* Old shardings keep it in their metadata. */
static enum tiling_reduction reduction_of(const struct sharding *sharding)
{
    if (sharding->form == SHARDING_NAMED) {
        return reduction_word(sharding->unreduced_kind);
    }
    for (int i = 0; i < sharding->metadata_count; i++) {
        const struct metadata *metadata = sharding->metadata[i];
        if (metadata->op_type != NULL && strcmp(metadata->op_type, "sdy::reduction_op") == 0) {
            return reduction_word(metadata->op_name);
        }
    }
    return TILING_SUM;
}

/* --- tiled --- */

static void place_tiled(const struct sharding *sharding, const int64_t *ids, struct tiling *tiling)
{
    int rank = tiling->rank, groups = sharding_subgroup_count(sharding);
    const int64_t *sizes = sharding->tile_dims.values;
    for (int i = 0; i < rank; i++) {
        tiling->tiles[i] = sizes[i];
    }
    for (int i = 0; i < groups; i++) {
        enum sharding_form form = sharding_subgroup(sharding, i);
        tiling->manual_count *= form == SHARDING_MANUAL ? sizes[rank + i] : 1;
        tiling->unreduced_count *= form == SHARDING_UNREDUCED ? sizes[rank + i] : 1;
    }
    for (int position = 0; position < tiling->device_count; position++) {
        int64_t device = ids[position], rest = position, manual_size = 1, unreduced_size = 1;
        for (int i = rank + groups - 1; i >= 0; i--) {
            int64_t at = rest % sizes[i];
            rest /= sizes[i];
            if (i < rank) {
                tiling->index[device * rank + i] = at;
            } else if (sharding_subgroup(sharding, i - rank) == SHARDING_MANUAL) {
                tiling->manual[device] += at * manual_size;
                manual_size *= sizes[i];
            } else if (sharding_subgroup(sharding, i - rank) == SHARDING_UNREDUCED) {
                tiling->unreduced[device] += at * unreduced_size;
                unreduced_size *= sizes[i];
            }
        }
    }
}

/* --- named --- */

/* The number along some axes of the mesh, major first, of the device at the coordinates. */
static int64_t along(const struct mesh *mesh, struct axis_refs refs, const int64_t *at,
                     int64_t *count)
{
    int64_t number = 0;
    *count = 1;
    for (int i = 0; i < refs.count; i++) {
        struct axis_ref ref = refs.axes[i];
        int64_t whole = mesh->axes[ref.axis].size;
        int64_t size = ref.size > 0 ? ref.size : whole;
        int64_t minor = ref.size > 0 ? whole / (ref.pre * ref.size) : 1;
        number = number * size + at[ref.axis] / minor % size;
        *count *= size;
    }
    return number;
}

static void place_named(const struct sharding *sharding, const int64_t *ids, struct tiling *tiling)
{
    const struct mesh *mesh = &sharding->mesh;
    int64_t *at = memory_zalloc(((size_t)mesh->axis_count + 1) * sizeof *at);
    for (int position = 0; position < tiling->device_count; position++) {
        int64_t device = ids[position];
        for (int i = 0; i < tiling->rank; i++) {
            tiling->index[device * tiling->rank + i] =
                along(mesh, sharding->dimensions[i].axes, at, &tiling->tiles[i]);
        }
        tiling->manual[device] = along(mesh, sharding->manual, at, &tiling->manual_count);
        tiling->unreduced[device] = along(mesh, sharding->unreduced, at, &tiling->unreduced_count);
        for (int k = mesh->axis_count - 1; k >= 0 && ++at[k] == mesh->axes[k].size; k--) {
            at[k] = 0;
        }
    }
    free(at);
}

/* --- all --- */

static bool place_devices(const struct sharding *sharding, struct tiling *tiling, struct error *err)
{
    bool named = sharding->form == SHARDING_NAMED;
    const struct mesh *mesh = &sharding->mesh;
    if ((named ? mesh->reshape_dims : sharding->reshape_dims).count > SHAPE_MAX_RANK) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "too many iota dimensions of a sharding");
    }
    int64_t *ids = memory_alloc(((size_t)tiling->device_count + 1) * sizeof *ids);
    list_devices(named ? mesh->device_ids : sharding->devices,
                 named ? mesh->reshape_dims : sharding->reshape_dims,
                 named ? mesh->transpose_perm : sharding->transpose_perm, tiling->device_count,
                 ids);
    bool good = check_permutation(ids, tiling->device_count, err);
    if (good && named) {
        place_named(sharding, ids, tiling);
    } else if (good) {
        place_tiled(sharding, ids, tiling);
    }
    free(ids);
    return good;
}

bool tiling_make(const struct sharding *sharding, const struct shape *shape, int64_t device_count,
                 struct tiling *tiling, struct error *err)
{
    enum sharding_form form = sharding == NULL || shape->type == TYPE_TOKEN
                                  ? SHARDING_REPLICATED
                                  : sharding_plain_form(sharding);
    *tiling = (struct tiling){.shape = shape, .rank = shape->rank};
    if (device_count < 1 || device_count > TILING_MAX_DEVICES) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "%lld devices", (long long)device_count);
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dimensions[i] == DIMENSION_UNBOUNDED) {
            return error_set(err, ERROR_UNIMPLEMENTED, "tiles of %s", shape_text(shape));
        }
    }
    if (sharding != NULL && !sharding_check(sharding, shape, device_count, err)) {
        return false;
    }
    size_t devices = (size_t)device_count, rank = (size_t)shape->rank;
    tiling->device_count = (int)device_count;
    tiling->manual_count = tiling->unreduced_count = 1;
    tiling->tiles = memory_alloc((rank + 1) * sizeof *tiling->tiles);
    tiling->index = memory_zalloc((devices * rank + 1) * sizeof *tiling->index);
    tiling->manual = memory_zalloc(devices * sizeof *tiling->manual);
    tiling->unreduced = memory_zalloc(devices * sizeof *tiling->unreduced);
    for (size_t i = 0; i < rank; i++) {
        tiling->tiles[i] = 1;
    }
    switch (form) {
    case SHARDING_MAXIMAL:
        tiling->kind = TILING_MAXIMAL;
        tiling->maximal_device =
            sharding->form == SHARDING_NAMED ? sharding->mesh.maximal_device : sharding->device;
        break;
    case SHARDING_MANUAL:
        tiling->kind = TILING_MANUAL;
        break;
    case SHARDING_UNKNOWN:
        tiling->kind = TILING_UNKNOWN;
        break;
    case SHARDING_UNREDUCED:
        tiling->kind = TILING_UNREDUCED;
        tiling->reduction = reduction_of(sharding);
        tiling->unreduced_count = device_count;
        for (int64_t i = 0; i < device_count; i++) {
            tiling->unreduced[i] = i;
        }
        break;
    case SHARDING_TILED:
        tiling->reduction = reduction_of(sharding);
        if (!place_devices(sharding, tiling, err)) {
            tiling_finish(tiling);
            return false;
        }
        break;
    case SHARDING_REPLICATED:
    case SHARDING_TUPLE:
    case SHARDING_NAMED:
        break;
    }
    return true;
}

void tiling_finish(struct tiling *tiling)
{
    free(tiling->tiles);
    free(tiling->index);
    free(tiling->manual);
    free(tiling->unreduced);
    *tiling = (struct tiling){0};
}

const struct shape *tiling_tile_shape(const struct tiling *tiling)
{
    const struct shape *shape = tiling->shape;
    int64_t sizes[SHAPE_MAX_RANK];
    if (!shape_is_array(shape)) {
        return shape;
    }
    for (int i = 0; i < shape->rank; i++) {
        sizes[i] = ceil_divide(shape->dimensions[i], tiling->tiles[i]);
    }
    return shape_make(shape->type, shape->rank, sizes, shape->dynamic, shape->layout);
}

void tiling_box(const struct tiling *tiling, int device, int64_t *offset, int64_t *limit)
{
    for (int i = 0; i < tiling->rank; i++) {
        int64_t size = tiling->shape->dimensions[i], tile = ceil_divide(size, tiling->tiles[i]);
        int64_t index = tiling->index[(int64_t)device * tiling->rank + i];
        offset[i] = at_most(index * tile, size);
        limit[i] = at_most((index + 1) * tile, size);
    }
}

bool tiling_is_replicated(const struct tiling *tiling)
{
    bool whole =
        tiling->kind == TILING_TILED && tiling->manual_count == 1 && tiling->unreduced_count == 1;
    for (int i = 0; i < tiling->rank; i++) {
        whole &= tiling->tiles[i] == 1;
    }
    return whole;
}

int tiling_owner(const struct tiling *tiling, const int64_t *index)
{
    if (tiling->kind == TILING_MAXIMAL) {
        return (int)tiling->maximal_device;
    }
    if (tiling->kind != TILING_TILED) {
        return -1;
    }
    for (int device = 0; device < tiling->device_count; device++) {
        int64_t offset[SHAPE_MAX_RANK], limit[SHAPE_MAX_RANK];
        bool inside = true;
        tiling_box(tiling, device, offset, limit);
        for (int i = 0; i < tiling->rank; i++) {
            inside &= index[i] >= offset[i] && index[i] < limit[i];
        }
        if (inside) {
            return device;
        }
    }
    return -1;
}
