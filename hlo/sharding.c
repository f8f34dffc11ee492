/* Shardings: what they say, and whether they fit a shape (sharding.h). */
#include "hlo/sharding.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/sharding_internal.h"

int64_t sizes_product(const int64_t *sizes, int count)
{
    int64_t result = 1;
    for (int i = 0; i < count; i++) {
        if (sizes[i] < 0 || __builtin_mul_overflow(result, sizes[i], &result)) {
            return -1;
        }
    }
    return result;
}

int64_t mesh_device_count(const struct mesh *mesh)
{
    int64_t count = 1;
    for (int i = 0; i < mesh->axis_count; i++) {
        if (mesh->axes[i].size < 1 || __builtin_mul_overflow(count, mesh->axes[i].size, &count)) {
            return -1;
        }
    }
    return count;
}

const struct sharding *sharding_leaf(const struct sharding *sharding, int leaf)
{
    if (sharding == NULL || sharding->form != SHARDING_TUPLE) {
        return sharding;
    }
    return leaf < sharding->count ? sharding->elements[leaf] : NULL;
}

int64_t sharding_device_count(const struct sharding *sharding)
{
    int64_t count = 0;
    switch (sharding->form) {
    case SHARDING_TUPLE:
        for (int i = 0; i < sharding->count && count == 0; i++) {
            count = sharding_device_count(sharding->elements[i]);
        }
        return count;
    case SHARDING_TILED:
        return sizes_product(sharding->tile_dims.values, sharding->tile_dims.count);
    case SHARDING_NAMED:
        return sharding->mesh.axis_count == 0 ? 0 : mesh_device_count(&sharding->mesh);
    case SHARDING_REPLICATED:
    case SHARDING_MAXIMAL:
    case SHARDING_MANUAL:
    case SHARDING_UNKNOWN:
    case SHARDING_UNREDUCED:
        break;
    }
    return 0;
}

/* --- tiled: [tiles, subgroups]<=[…] --- */

int sharding_subgroup_count(const struct sharding *sharding)
{
    return sharding->last_tile_dim_replicate ? 1 : sharding->last_tile_dims.count;
}

enum sharding_form sharding_subgroup(const struct sharding *sharding, int i)
{
    return sharding->last_tile_dim_replicate
               ? SHARDING_REPLICATED
               : (enum sharding_form)sharding->last_tile_dims.values[i];
}

static enum sharding_form tiled_form(const struct sharding *sharding)
{
    int groups = sharding_subgroup_count(sharding), data = sharding->tile_dims.count - groups;
    if (groups == 0 || data < 0 || sizes_product(sharding->tile_dims.values, data) != 1) {
        return SHARDING_TILED;
    }
    enum sharding_form form = sharding_subgroup(sharding, 0);
    for (int i = 1; i < groups; i++) {
        if (sharding_subgroup(sharding, i) != form) {
            return SHARDING_TILED;
        }
    }
    return form == SHARDING_REPLICATED || form == SHARDING_MANUAL || form == SHARDING_UNREDUCED
               ? form
               : SHARDING_TILED;
}

static bool has_all_axes(const struct mesh *mesh, struct axis_refs refs)
{
    bool all = refs.count > 0 && refs.count == mesh->axis_count;
    for (int i = 0; all && i < refs.count; i++) {
        all = refs.axes[i].axis == i && refs.axes[i].size == 0;
    }
    return all;
}

static int64_t axis_size(const struct mesh *mesh, struct axis_ref ref)
{
    return ref.size > 0 ? ref.size : mesh->axes[ref.axis].size;
}

static enum sharding_form named_form(const struct sharding *sharding)
{
    const struct mesh *mesh = &sharding->mesh;
    if (mesh->maximal_device >= 0) {
        return SHARDING_MAXIMAL;
    }
    bool tiled = sharding->unreduced.count > 0 || sharding->manual.count > 0;
    for (int i = 0; i < sharding->dimension_count; i++) {
        const struct axis_refs *axes = &sharding->dimensions[i].axes;
        for (int k = 0; k < axes->count; k++) {
            tiled |= axis_size(mesh, axes->axes[k]) > 1;
        }
    }
    return !tiled                                    ? SHARDING_REPLICATED
           : has_all_axes(mesh, sharding->manual)    ? SHARDING_MANUAL
           : has_all_axes(mesh, sharding->unreduced) ? SHARDING_UNREDUCED
                                                     : SHARDING_TILED;
}

enum sharding_form sharding_plain_form(const struct sharding *sharding)
{
    return sharding->form == SHARDING_TILED   ? tiled_form(sharding)
           : sharding->form == SHARDING_NAMED ? named_form(sharding)
                                              : sharding->form;
}

/* --- checks --- */

static bool check_device(int64_t device, int64_t device_count, struct error *err)
{
    if (device < 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "the sharding names device %lld",
                         (long long)device);
    }
    return device_count == 0 || device < device_count ||
           error_set(err, ERROR_INVALID_ARGUMENT,
                     "the sharding names device %lld, but there are %lld", (long long)device,
                     (long long)device_count);
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool check_device_list(struct ints devices, int64_t device_count, struct error *err)
{
    for (int i = 0; i < devices.count; i++) {
        if (!check_device(devices.values[i], device_count, err)) {
            return false;
        }
    }
    int64_t *sorted = memory_alloc(((size_t)devices.count + 1) * sizeof *sorted);
    memcpy(sorted, devices.values, (size_t)devices.count * sizeof *sorted);
    qsort(sorted, (size_t)devices.count, sizeof *sorted, compare_ids);
    bool good = true;
    for (int i = 1; good && i < devices.count; i++) {
        good = sorted[i] != sorted[i - 1] ||
               error_set(err, ERROR_INVALID_ARGUMENT, "the sharding names device %lld twice",
                         (long long)sorted[i]);
    }
    free(sorted);
    return good;
}

static bool check_count(int64_t own, int64_t device_count, struct error *err)
{
    return device_count == 0 || own == device_count ||
           error_set(err, ERROR_INVALID_ARGUMENT,
                     "the sharding is over %lld devices, but there are %lld", (long long)own,
                     (long long)device_count);
}

static bool check_rank(int rank, const struct shape *shape, struct error *err)
{
    return rank == shape->rank || error_set(err, ERROR_INVALID_ARGUMENT,
                                            "the sharding has %d tile dimensions, the shape %s %d",
                                            rank, shape_text(shape), shape->rank);
}

static bool check_single(int64_t devices, struct error *err)
{
    return devices > 1 ||
           error_set(err, ERROR_INVALID_ARGUMENT,
                     devices == 1 ? "a tiled sharding over one device is written replicated or "
                                    "maximal"
                                  : "the sharding has no devices, or too many to count");
}

/* Each axis is a part of the mesh and no two overlap, as VerifyNamedSharding has it. */
static bool axes_overlap(struct axis_ref a, struct axis_ref b)
{
    if (a.axis != b.axis) {
        return false;
    }
    if (a.size == 0 || b.size == 0) {
        return true;
    }
    int64_t a_end = a.pre * a.size, b_end = b.pre * b.size;
    if (a_end > b.pre && b_end > a.pre) {
        return true;
    }
    int64_t later = a.pre > b.pre ? a.pre : b.pre, sooner = a_end < b_end ? a_end : b_end;
    return later % sooner != 0;
}

static bool check_axis(const struct mesh *mesh, struct axis_ref ref, struct error *err)
{
    if (ref.axis < 0 || ref.axis >= mesh->axis_count) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "the mesh has no axis %d", ref.axis);
    }
    int64_t end, size = mesh->axes[ref.axis].size;
    if (ref.size == 0 || (ref.pre > 0 && ref.size > 0 && ref.size < size &&
                          !__builtin_mul_overflow(ref.pre, ref.size, &end) && size % end == 0)) {
        return true;
    }
    return error_set(err, ERROR_INVALID_ARGUMENT, "(%lld)%lld is no part of axis %s of %lld",
                     (long long)ref.pre, (long long)ref.size, mesh->axes[ref.axis].name,
                     (long long)size);
}

/* All axes that were seen so far. */
struct seen_axes {
    const struct mesh *mesh;
    struct axis_ref *list;
    size_t count, capacity;
};

static bool is_before(struct axis_ref a, struct axis_ref b)
{
    return a.axis != b.axis ? a.axis < b.axis : a.pre <= b.pre;
}

static bool see_axes(struct seen_axes *seen, struct axis_refs refs, bool sorted, struct error *err)
{
    for (int i = 0; i < refs.count; i++) {
        struct axis_ref ref = refs.axes[i];
        if (!check_axis(seen->mesh, ref, err)) {
            return false;
        }
        const char *name = seen->mesh->axes[ref.axis].name;
        for (size_t k = 0; k < seen->count; k++) {
            if (axes_overlap(seen->list[k], ref)) {
                return error_set(err, ERROR_INVALID_ARGUMENT,
                                 "axis %s of the sharding's mesh is used twice", name);
            }
        }
        seen->list = grow(seen->list, seen->count, &seen->capacity, sizeof *seen->list);
        seen->list[seen->count++] = ref;
        const struct axis_ref *before = i > 0 ? &refs.axes[i - 1] : NULL;
        if (before != NULL && sorted && !is_before(*before, ref)) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "the axes of the sharding are not in the mesh's order at %s", name);
        }
        if (before != NULL && before->axis == ref.axis && before->size > 0 && ref.size > 0 &&
            before->pre * before->size == ref.pre) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "neighbouring parts of axis %s of the sharding are one part", name);
        }
    }
    return true;
}

static bool check_named_axes(const struct sharding *sharding, struct error *err)
{
    struct seen_axes seen = {.mesh = &sharding->mesh};
    bool good = true;
    for (int i = 0; good && i < sharding->dimension_count; i++) {
        good = see_axes(&seen, sharding->dimensions[i].axes, false, err);
    }
    good = good && see_axes(&seen, sharding->replicated, true, err) &&
           see_axes(&seen, sharding->unreduced, true, err) &&
           see_axes(&seen, sharding->manual, true, err);
    free(seen.list);
    return good;
}

static bool check_named(const struct sharding *sharding, const struct shape *shape,
                        int64_t device_count, struct error *err)
{
    if (!check_named_axes(sharding, err)) {
        return false;
    }
    if (sharding_plain_form(sharding) != SHARDING_TILED) {
        return sharding->mesh.maximal_device < 0 ||
               check_device(sharding->mesh.maximal_device, device_count, err);
    }
    int64_t devices = mesh_device_count(&sharding->mesh);
    return check_single(devices, err) && check_rank(sharding->dimension_count, shape, err) &&
           check_count(devices, device_count, err);
}

static bool check_tiled(const struct sharding *sharding, const struct shape *shape,
                        int64_t device_count, struct error *err)
{
    if (sharding_plain_form(sharding) != SHARDING_TILED) {
        return true;
    }
    int64_t devices = sharding_device_count(sharding);
    return check_single(devices, err) &&
           check_rank(sharding->tile_dims.count - sharding_subgroup_count(sharding), shape, err) &&
           (sharding->reshape_dims.count > 0 ||
            check_device_list(sharding->devices, device_count, err)) &&
           check_count(devices, device_count, err);
}

static bool check_leaf(const struct sharding *sharding, const struct shape *shape,
                       int64_t device_count, struct error *err)
{
    switch (sharding->form) {
    case SHARDING_TILED:
        return check_tiled(sharding, shape, device_count, err);
    case SHARDING_NAMED:
        return check_named(sharding, shape, device_count, err);
    case SHARDING_MAXIMAL:
        return check_device(sharding->device, device_count, err);
    case SHARDING_TUPLE:
        return error_set(err, ERROR_INVALID_ARGUMENT, "a tuple of shardings for %s",
                         shape_text(shape));
    case SHARDING_REPLICATED:
    case SHARDING_MANUAL:
    case SHARDING_UNKNOWN:
    case SHARDING_UNREDUCED:
        break;
    }
    return true;
}

/* Each leaf of a shape by its own sharding, from leaf *leaf on. */
static bool check_leaves(const struct sharding *sharding, const struct shape *shape,
                         int64_t device_count, int *leaf, struct error *err)
{
    if (!shape_is_tuple(shape)) {
        const struct sharding *own = sharding_leaf(sharding, *leaf);
        if (!check_leaf(own, shape, device_count, err)) {
            return sharding->form != SHARDING_TUPLE ? false
                                                    : error_prefix(err, "element %d", *leaf);
        }
        ++*leaf;
        return true;
    }
    for (int i = 0; i < shape->count; i++) {
        if (!check_leaves(sharding, shape->elements[i], device_count, leaf, err)) {
            return false;
        }
    }
    return true;
}

bool sharding_check(const struct sharding *sharding, const struct shape *shape,
                    int64_t device_count, struct error *err)
{
    if (shape->type == TYPE_TOKEN) {
        return true;
    }
    int leaves = shape_leaves(shape), leaf = 0;
    if (sharding->form == SHARDING_TUPLE) {
        if (!shape_is_tuple(shape)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "a tuple of shardings for %s",
                             shape_text(shape));
        }
        if (sharding->count != leaves && !(leaves == 0 && sharding->count == 1)) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "%d shardings for the %d leaves of %s",
                             sharding->count, leaves, shape_text(shape));
        }
    }
    return check_leaves(sharding, shape, device_count, &leaf, err);
}
