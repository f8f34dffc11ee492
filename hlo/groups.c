/* replica_groups: their three forms as a flat list of ids cut into groups. */
#include "hlo/groups.h"

#include <stdlib.h>

#include "hlo/attr.h"
#include "hlo/base/arena.h"
#include "hlo/shape.h"

/* More devices than this are not simulated; a group may name some of them. */
enum { IDS_MOST = 1 << 22 };

void id_list_finish(struct id_list *list)
{
    free(list->ids);
    free(list->starts);
}

/* Equal groups of `size` ids. */
static void cut_evenly(struct id_list *list, int64_t group_count, int64_t size)
{
    list->group_count = group_count;
    list->starts = memory_alloc((size_t)(group_count + 1) * sizeof *list->starts);
    for (int64_t g = 0; g <= group_count; g++) {
        list->starts[g] = g * size;
    }
}

/* out = the numbers 0 … reshaped to dims, transposed by perm (NULL: not), flattened. */
static void iota_transposed(int rank, const int64_t *dims, const int64_t *perm, int64_t count,
                            int64_t *out)
{
    int64_t strides[SHAPE_MAX_RANK], stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        strides[d] = stride;
        stride *= dims[d];
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, value = 0;
        for (int k = rank - 1; k >= 0; k--) {
            int64_t d = perm != NULL ? perm[k] : k;
            value += rest % dims[d] * strides[d];
            rest /= dims[d];
        }
        out[i] = value;
    }
}

static bool product_is(struct ints ints, int64_t wanted)
{
    int64_t product = 1;
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] <= 0 || ints.values[i] > wanted || product > wanted) {
            return false;
        }
        product *= ints.values[i];
    }
    return ints.count <= SHAPE_MAX_RANK && product == wanted;
}

/* Nothing, or each of 0 … rank − 1 once. */
static bool is_permutation(struct ints perm, int rank)
{
    bool seen[SHAPE_MAX_RANK] = {false};
    bool ok = perm.count == 0 || perm.count == rank;
    for (int i = 0; ok && i < perm.count; i++) {
        int64_t d = perm.values[i];
        ok = d >= 0 && d < rank && !seen[d];
        if (ok) {
            seen[d] = true;
        }
    }
    return ok;
}

static bool expand_iota(const struct groups *groups, struct id_list *list)
{
    int64_t count;
    if (__builtin_mul_overflow(groups->group_count, groups->group_size, &count) ||
        count > IDS_MOST || !product_is(groups->reshape_dims, count) ||
        !is_permutation(groups->transpose_perm, groups->reshape_dims.count)) {
        return false;
    }
    list->ids = memory_alloc((size_t)count * sizeof *list->ids);
    iota_transposed(groups->reshape_dims.count, groups->reshape_dims.values,
                    groups->transpose_perm.count > 0 ? groups->transpose_perm.values : NULL, count,
                    list->ids);
    cut_evenly(list, groups->group_count, groups->group_size);
    return true;
}

/* The mesh's axes cut where the groups' axes name parts of them: dimensions of the device array,
 * major to minor, and which of them the groups run over (in the order of the axes named). */
struct mesh_cut {
    int rank;
    int64_t sizes[SHAPE_MAX_RANK];
    int order[SHAPE_MAX_RANK]; /* position among the named axes; −1: not named */
};

static bool cut_mesh(const struct mesh *mesh, const struct axis_refs *axes, struct mesh_cut *cut)
{
    cut->rank = 0;
    for (int a = 0; a < mesh->axis_count; a++) {
        int64_t done = 1; /* product of the parts so far */
        while (done < mesh->axes[a].size || done == 1) {
            /* The named part that begins next, else the rest up to it. */
            int64_t next = mesh->axes[a].size;
            int named = -1;
            for (int i = 0; i < axes->count; i++) {
                const struct axis_ref *ref = &axes->axes[i];
                if (ref->axis != a) {
                    continue;
                }
                if (ref->size < 0 || ref->size > mesh->axes[a].size) {
                    return false;
                }
                int64_t pre = ref->size == 0 ? 1 : ref->pre;
                if (pre == done) {
                    named = i;
                    next = ref->size == 0 ? mesh->axes[a].size : pre * ref->size;
                    break;
                }
                if (pre > done && pre < next) {
                    next = pre;
                }
            }
            if (cut->rank == SHAPE_MAX_RANK || next % done != 0 || next > mesh->axes[a].size) {
                return false;
            }
            cut->sizes[cut->rank] = next / done;
            cut->order[cut->rank++] = named;
            if (next == done) {
                break; /* an axis of size 1 */
            }
            done = next;
        }
    }
    return true;
}

static bool expand_mesh(const struct groups *groups, struct id_list *list)
{
    const struct mesh *mesh = &groups->mesh;
    struct mesh_cut cut;
    int64_t count = 1, size = 1;
    for (int a = 0; a < mesh->axis_count; a++) {
        if (mesh->axes[a].size <= 0 || __builtin_mul_overflow(count, mesh->axes[a].size, &count) ||
            count > IDS_MOST) {
            return false;
        }
    }
    if (!cut_mesh(mesh, &groups->axes, &cut)) {
        return false;
    }
    int64_t perm[SHAPE_MAX_RANK];
    int at = 0;
    for (int d = 0; d < cut.rank; d++) {
        if (cut.order[d] < 0) {
            perm[at++] = d;
        }
    }
    for (int i = 0; i < groups->axes.count; i++) {
        for (int d = 0; d < cut.rank; d++) {
            if (cut.order[d] == i) {
                perm[at++] = d;
                size *= cut.sizes[d];
            }
        }
    }
    list->ids = memory_alloc((size_t)count * sizeof *list->ids);
    iota_transposed(cut.rank, cut.sizes, perm, count, list->ids);
    /* The mesh itself may number its devices in another order. */
    int64_t *devices = NULL;
    if (mesh->reshape_dims.count > 0 && product_is(mesh->reshape_dims, count) &&
        is_permutation(mesh->transpose_perm, mesh->reshape_dims.count)) {
        devices = memory_alloc((size_t)count * sizeof *devices);
        iota_transposed(mesh->reshape_dims.count, mesh->reshape_dims.values,
                        mesh->transpose_perm.count > 0 ? mesh->transpose_perm.values : NULL, count,
                        devices);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t id = list->ids[i];
        list->ids[i] = devices != NULL               ? devices[id]
                       : mesh->device_ids.count > id ? mesh->device_ids.values[id]
                                                     : id;
    }
    free(devices);
    cut_evenly(list, count / size, size);
    return true;
}

static void expand_list(const struct groups *groups, struct id_list *list)
{
    int64_t total = 0;
    list->group_count = groups->list.count;
    list->starts = memory_alloc((size_t)(list->group_count + 1) * sizeof *list->starts);
    for (int g = 0; g < groups->list.count; g++) {
        list->starts[g] = total;
        total += groups->list.lists[g].count;
    }
    list->starts[list->group_count] = total;
    list->ids = memory_alloc((size_t)total * sizeof *list->ids);
    for (int g = 0; g < groups->list.count; g++) {
        struct ints ids = groups->list.lists[g];
        for (int i = 0; i < ids.count; i++) {
            list->ids[list->starts[g] + i] = ids.values[i];
        }
    }
}

/* All ids of the mode in one group. */
static void expand_all(int64_t count, struct id_list *list)
{
    list->ids = memory_alloc((size_t)count * sizeof *list->ids);
    for (int64_t i = 0; i < count; i++) {
        list->ids[i] = i;
    }
    cut_evenly(list, 1, count);
}

bool groups_expand(const struct groups *groups, int64_t all, struct id_list *list)
{
    *list = (struct id_list){0};
    if (groups == NULL || (groups->form == GROUPS_LIST && groups->list.count == 0)) {
        expand_all(all, list);
    } else if (groups->form == GROUPS_LIST) {
        expand_list(groups, list);
    } else {
        return groups->form == GROUPS_IOTA ? expand_iota(groups, list) : expand_mesh(groups, list);
    }
    return true;
}
