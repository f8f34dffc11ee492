/* Shardings: tiles against XLA's own, checks against XLA's verifier, pieces of literals. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/sharding.h"

enum { MOST = 16 };

/* What XLA makes of a sharding: jaxlib 0.10.2, HloSharding.from_string, for named ones
 * v3_to_v2_sharding, then is_replicated …, tile_assignment_dimensions, tile_assignment_devices,
 * subgroup_types. */
struct tiling_case {
    const char *text, *kind;
    int64_t dims[5], devices[MOST];
    const char *subgroups; /* two letters each: REplicated, MAnual, UNreduced */
};
static const struct tiling_case tilings[] = {
    /* clang-format off */
    {"{devices=[2,2]0,1,2,3}", "tiled", {2, 2}, {0, 1, 2, 3}, ""},
    {"{devices=[2,2]3,1,0,2}", "tiled", {2, 2}, {3, 1, 0, 2}, ""},
    {"{devices=[4,1]<=[4]}", "tiled", {4, 1}, {0, 1, 2, 3}, ""},
    {"{devices=[2,4]<=[8]}", "tiled", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, ""},
    {"{devices=[2,4]<=[4,2]T(1,0)}", "tiled", {2, 4}, {0, 2, 4, 6, 1, 3, 5, 7}, ""},
    {"{devices=[2,2,2]<=[2,2,2]T(2,0,1)}", "tiled", {2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}, ""},
    {"{devices=[3,2]<=[2,3]T(1,0)}", "tiled", {3, 2}, {0, 3, 1, 4, 2, 5}, ""},
    {"{devices=[1,2,4]<=[2,4]T(1,0) last_tile_dim_replicate}", "tiled", {1, 2, 4}, {0, 1, 4, 5, 2, 3, 6, 7}, "RE"},
    {"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", "tiled", {2, 1, 2}, {0, 2, 1, 3}, "RE"},
    {"{devices=[2,1,3]5,4,3,2,1,0 last_tile_dim_replicate}", "tiled", {2, 1, 3}, {3, 4, 5, 0, 1, 2}, "RE"},
    {"{devices=[2,2,2]<=[8] last_tile_dims={manual}}", "tiled", {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, "MA"},
    {"{devices=[2,1,2,2]<=[8] last_tile_dims={manual, replicated}}", "tiled", {2, 1, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}, "MARE"},
    {"{devices=[2,1,2,2]<=[8] last_tile_dims={replicated, manual}}", "tiled", {2, 1, 2, 2}, {0, 2, 1, 3, 4, 6, 5, 7}, "MARE"},
    {"{devices=[2,1,2,2]<=[2,2,2]T(2,1,0) last_tile_dims={unreduced, replicated}}", "tiled", {2, 1, 2, 2}, {0, 4, 2, 6, 1, 5, 3, 7}, "UNRE"},
    {"{devices=[1,2,2,2]<=[2,4]T(1,0) last_tile_dims={manual, unreduced}}", "tiled", {1, 2, 2, 2}, {0, 4, 1, 5, 2, 6, 3, 7}, "MAUN"},
    {"{devices=[2,1,2,2]<=[8] last_tile_dims={manual, manual}}", "tiled", {2, 1, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, "MA"},
    {"{devices=[2,1,1,2]<=[4] last_tile_dims={manual, replicated}}", "tiled", {2, 1, 2}, {0, 1, 2, 3}, "RE"},
    {"{devices=[1,1,4]<=[4] last_tile_dim_replicate}", "replicated", {0}, {0}, ""},
    {"{devices=[1,1,4]<=[4] last_tile_dims={manual}}", "manual", {0}, {0}, ""},
    {"{devices=[1,1,4]<=[4] last_tile_dims={unreduced}}", "unreduced", {0}, {0}, ""},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {\"b\"}]}", "tiled", {2, 2}, {0, 1, 2, 3}, ""},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"b\"}, {\"a\"}]}", "tiled", {2, 2}, {0, 2, 1, 3}, ""},
    {"{mesh[\"a\"=2,\"b\"=4], [{\"a\",\"b\"}, {}]}", "tiled", {8, 1}, {0, 1, 2, 3, 4, 5, 6, 7}, ""},
    {"{mesh[\"a\"=2,\"b\"=4], [{\"b\",\"a\"}, {}]}", "tiled", {8, 1}, {0, 4, 1, 5, 2, 6, 3, 7}, ""},
    {"{mesh[\"a\"=2,\"b\"=4], [{\"b\"}, {}]}", "tiled", {4, 1, 2}, {0, 4, 1, 5, 2, 6, 3, 7}, "RE"},
    {"{mesh[\"a\"=2,\"b\"=4], [{}, {\"a\"}], replicated={\"b\"}}", "tiled", {1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, "RE"},
    {"{mesh[\"a\"=2,\"b\"=2,\"c\"=2], [{\"c\"}, {}], manual={\"a\"}}", "tiled", {2, 1, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}, "MARE"},
    {"{mesh[\"a\"=2,\"b\"=2,\"c\"=2], [{\"c\"}, {\"b\"}], unreduced={\"a\"}}", "tiled", {2, 2, 2}, {0, 4, 2, 6, 1, 5, 3, 7}, "UN"},
    {"{mesh[\"a\"=2,\"b\"=2,\"c\"=2], [{\"c\"}, {}], unreduced={\"b\"}, manual={\"a\"}}", "tiled", {2, 1, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}, "MAUN"},
    {"{mesh[\"a\"=8], [{\"a\":(1)2}, {\"a\":(2)4}]}", "tiled", {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}, ""},
    {"{mesh[\"a\"=8], [{\"a\":(4)2}, {\"a\":(1)2}]}", "tiled", {2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}, "RE"},
    {"{mesh[\"a\"=8,\"b\"=2], [{\"a\":(2)2,\"b\"}, {\"a\":(1)2}]}", "tiled", {4, 2, 2}, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}, "RE"},
    {"{mesh[\"a\"=2,\"b\"=2], device_ids=(3,1,2,0), [{\"a\"}, {\"b\"}]}", "tiled", {2, 2}, {3, 1, 2, 0}, ""},
    {"{mesh[\"a\"=2,\"b\"=3], device_ids=([3,2]T(1,0)), [{\"b\"}, {\"a\"}]}", "tiled", {3, 2}, {0, 1, 2, 3, 4, 5}, ""},
    {"{mesh[\"a\"=4], [{\"a\",?}, {?}]}", "tiled", {4, 1}, {0, 1, 2, 3}, ""},
    {"{mesh[\"a\"=4], [{}, {}]}", "replicated", {0}, {0}, ""},
    {"{mesh[\"a\"=4], replicated}", "replicated", {0}, {0}, ""},
    {"{mesh[\"a\"=2,\"b\"=2], manual}", "manual", {0}, {0}, ""},
    {"{mesh[\"a\"=2,\"b\"=2], unreduced}", "unreduced", {0}, {0}, ""},
    /* clang-format on */
};

static int64_t count_devices(const struct tiling_case *c)
{
    int64_t count = 1;
    for (int i = 0; i < 5 && c->dims[i] > 0; i++) {
        count *= c->dims[i];
    }
    return count;
}

/* XLA's list says at which tile a device stands: its position, taken apart by the dimensions. */
static void check_tiled(const struct tiling_case *c, const struct tiling *tiling)
{
    int all = 0, groups = (int)strlen(c->subgroups) / 2;
    while (all < 5 && c->dims[all] > 0) {
        all++;
    }
    ck_assert_int_eq(tiling->rank, all - groups);
    int64_t manual[MOST] = {0}, unreduced[MOST] = {0};
    for (int position = 0; position < tiling->device_count; position++) {
        int64_t device = c->devices[position], rest = position;
        for (int i = all - 1; i >= 0; i--) {
            int64_t at = rest % c->dims[i];
            rest /= c->dims[i];
            if (i < tiling->rank) {
                ck_assert_int_eq(tiling->tiles[i], c->dims[i]);
                ck_assert_msg(tiling->index[device * tiling->rank + i] == at,
                              "%s: device %lld, dimension %d", c->text, (long long)device, i);
            } else if (strncmp(c->subgroups + (ptrdiff_t)2 * (i - tiling->rank), "MA", 2) == 0) {
                manual[device] = at;
            } else if (strncmp(c->subgroups + (ptrdiff_t)2 * (i - tiling->rank), "UN", 2) == 0) {
                unreduced[device] = at;
            }
        }
    }
    /* Groups may be numbered otherwise, but who is together is the same. */
    for (int a = 0; a < tiling->device_count; a++) {
        for (int b = 0; b < tiling->device_count; b++) {
            ck_assert_msg((manual[a] == manual[b]) == (tiling->manual[a] == tiling->manual[b]) &&
                              (unreduced[a] == unreduced[b]) ==
                                  (tiling->unreduced[a] == tiling->unreduced[b]),
                          "%s: devices %d and %d", c->text, a, b);
        }
    }
}

START_TEST(test_tiling)
{
    const struct tiling_case *c = &tilings[_i];
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder = sharding_read(c->text, &sharding, &err);
    ck_assert_msg(holder != NULL, "%s", err.message);
    int64_t named = sharding_device_count(sharding), sizes[] = {30, 20, 7};
    bool tiled = strcmp(c->kind, "tiled") == 0;
    if (tiled) {
        ck_assert_int_eq(named, count_devices(c));
    }
    int rank = 2;
    if (tiled) {
        rank = -(int)strlen(c->subgroups) / 2;
        for (int i = 0; i < 5 && c->dims[i] > 0; i++) {
            rank++;
        }
    }
    struct tiling tiling;
    ck_assert_msg(tiling_make(sharding, shape_array(TYPE_F32, rank, sizes), named, &tiling, &err),
                  "%s: %s", c->text, err.message);
    if (tiled) {
        ck_assert_int_eq(tiling.kind, TILING_TILED);
        check_tiled(c, &tiling);
    } else {
        ck_assert_int_eq(tiling_is_replicated(&tiling), strcmp(c->kind, "replicated") == 0);
        ck_assert_int_eq(tiling.kind == TILING_MANUAL, strcmp(c->kind, "manual") == 0);
        ck_assert_int_eq(tiling.kind == TILING_UNREDUCED, strcmp(c->kind, "unreduced") == 0);
    }
    tiling_finish(&tiling);
    module_destroy(holder);
}
END_TEST

/* --- uneven tiles: TileOffsetForDevice, TileLimitForDevice, TileShape --- */

struct box_case {
    const char *text;
    int64_t size, devices;
    int64_t tile, boxes[8][2];
};
static const struct box_case boxes[] = {
    {"{devices=[4]<=[4]}", 8, 4, 2, {{0, 2}, {2, 4}, {4, 6}, {6, 8}}},
    {"{devices=[4]<=[4]}", 7, 4, 2, {{0, 2}, {2, 4}, {4, 6}, {6, 7}}},
    {"{devices=[4]<=[4]}", 5, 4, 2, {{0, 2}, {2, 4}, {4, 5}, {5, 5}}},
    {"{devices=[4]<=[4]}", 1, 4, 1, {{0, 1}, {1, 1}, {1, 1}, {1, 1}}},
    {"{devices=[4]<=[4]}", 0, 4, 0, {{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
    {"{devices=[3]2,0,1}", 7, 3, 3, {{3, 6}, {6, 7}, {0, 3}}},
    {"{replicated}", 5, 2, 5, {{0, 5}, {0, 5}}},
    {"{maximal device=1}", 5, 2, 5, {{0, 5}, {0, 5}}},
};

START_TEST(test_box)
{
    const struct box_case *c = &boxes[_i];
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder = sharding_read(c->text, &sharding, &err);
    struct tiling tiling;
    ck_assert_msg(holder != NULL && tiling_make(sharding, shape_array(TYPE_F32, 1, &c->size),
                                                c->devices, &tiling, &err),
                  "%s", err.message);
    ck_assert_int_eq(tiling_tile_shape(&tiling)->dimensions[0], c->tile);
    for (int device = 0; device < c->devices; device++) {
        int64_t offset, limit;
        tiling_box(&tiling, device, &offset, &limit);
        ck_assert_int_eq(offset, c->boxes[device][0]);
        ck_assert_int_eq(limit, c->boxes[device][1]);
    }
    tiling_finish(&tiling);
    module_destroy(holder);
}
END_TEST

/* --- pieces --- */

static struct literal *counting(const struct shape *shape)
{
    struct error err = {0};
    struct literal *literal = literal_zero(shape, &err);
    ck_assert_ptr_nonnull(literal);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        literal_set_double(literal, i, (double)(i % 100 + 1));
    }
    return literal;
}

static const char *const round_trips[] = {
    "{devices=[2,3,1]<=[6]}",
    "{devices=[2,3,1]<=[3,2]T(1,0)}",
    "{devices=[1,1,5]<=[5]}",
    "{devices=[3,1,2,2]<=[12] last_tile_dim_replicate}",
    "{devices=[4,4,4]<=[64]}",
    "{devices=[1,7,1]6,5,4,3,2,1,0}",
    "{replicated}",
    "{maximal device=1}",
};
static const enum type types[] = {TYPE_PRED, TYPE_S4, TYPE_U8, TYPE_F16, TYPE_F32, TYPE_C128};

/* Split, then joined: the same bits, whatever the padding holds; each element of a piece is the one
 * that its index says. */
START_TEST(test_round_trip)
{
    const char *text = round_trips[_i];
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder = sharding_read(text, &sharding, &err);
    ck_assert_msg(holder != NULL, "%s", err.message);
    int64_t devices = sharding_device_count(sharding), sizes[] = {5, 7, 3};
    devices = devices == 0 ? 3 : devices;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct tiling tiling;
        struct literal *whole = counting(shape_array(types[t], 3, sizes));
        ck_assert(tiling_make(sharding, whole->shape, devices, &tiling, &err));
        struct literal *pieces[64];
        for (int d = 0; d < devices; d++) {
            pieces[d] = tiling_split(&tiling, whole, d, PADDING_HOSTILE, &err);
            ck_assert_ptr_nonnull(pieces[d]);
            ck_assert(shape_compatible(pieces[d]->shape, tiling_tile_shape(&tiling)));
            int64_t offset[3], limit[3];
            const int64_t *tile = pieces[d]->shape->dimensions;
            tiling_box(&tiling, d, offset, limit);
            for (int64_t e = 0; e < literal_elements(pieces[d]); e++) {
                int64_t at[3] = {offset[0] + e / (tile[1] * tile[2]),
                                 offset[1] + e / tile[2] % tile[1], offset[2] + e % tile[2]};
                bool inside = at[0] < limit[0] && at[1] < limit[1] && at[2] < limit[2];
                double value = literal_get_double(pieces[d], e);
                if (inside) {
                    double want = literal_get_double(whole, (at[0] * 7 + at[1]) * 3 + at[2]);
                    ck_assert_msg(value == want, "%s: device %d, element %lld", text, d,
                                  (long long)e);
                } else if (type_is_float(types[t])) {
                    ck_assert(isnan(value));
                }
            }
        }
        struct replica_conflict conflict;
        struct literal *joined = tiling_join(&tiling, pieces, &conflict, &err);
        ck_assert_ptr_nonnull(joined);
        ck_assert(literal_equal(joined, whole));
        ck_assert_int_eq(conflict.count, 0);
        for (int d = 0; d < devices; d++) {
            literal_release(pieces[d]);
        }
        literal_release(joined);
        literal_release(whole);
        tiling_finish(&tiling);
    }
    module_destroy(holder);
}
END_TEST

/* Two of the devices that hold the second row differ in two elements; a third, of another row,
 * differs from nobody. */
START_TEST(test_conflict)
{
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder =
        sharding_read("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", &sharding, &err);
    int64_t sizes[] = {2, 3};
    struct literal *whole = counting(shape_array(TYPE_F32, 2, sizes)), *pieces[4];
    struct tiling tiling;
    ck_assert(holder != NULL && tiling_make(sharding, whole->shape, 4, &tiling, &err));
    for (int d = 0; d < 4; d++) {
        pieces[d] = tiling_split(&tiling, whole, d, PADDING_ZERO, &err);
    }
    literal_set_double(pieces[3], 1, 50);
    literal_set_double(pieces[3], 2, 60);
    struct replica_conflict conflict;
    struct literal *joined = tiling_join(&tiling, pieces, &conflict, &err);
    ck_assert(literal_equal(joined, whole));
    ck_assert_int_eq(conflict.count, 2);
    ck_assert_int_eq(conflict.first, 1);
    ck_assert_int_eq(conflict.second, 3);
    ck_assert_int_eq(conflict.index, 4);
    int64_t index[] = {1, 0};
    ck_assert_int_eq(tiling_owner(&tiling, index), 1);
    for (int d = 0; d < 4; d++) {
        literal_release(pieces[d]);
    }
    literal_release(joined);
    literal_release(whole);
    tiling_finish(&tiling);
    module_destroy(holder);
}
END_TEST

/* Summands: the whole is their sum, rounded once; max and min by the kind's word. */
struct sum_case {
    const char *text;
    enum type type;
    double pieces[2], want;
};
static const struct sum_case sums[] = {
    {"{unreduced}", TYPE_F32, {1.5, 2.25}, 3.75},
    {"{unreduced}", TYPE_S8, {100, 100}, -56},
    {"{unreduced}", TYPE_F16, {2048, 1}, 2048},
    {"{mesh[\"a\"=2], [{}], unreduced={\"a\"}}", TYPE_S32, {3, -5}, -2},
    {"{mesh[\"a\"=2], unreduced=max}", TYPE_S32, {3, -5}, 3},
    {"{mesh[\"a\"=2], unreduced=min}", TYPE_F32, {3, -5}, -5},
    {"{devices=[1,2]<=[2] last_tile_dims={unreduced}}", TYPE_U8, {200, 100}, 44},
};

START_TEST(test_sum)
{
    const struct sum_case *c = &sums[_i];
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder = sharding_read(c->text, &sharding, &err);
    ck_assert_msg(holder != NULL, "%s: %s", c->text, err.message);
    int64_t one = 1;
    const struct shape *shape = shape_array(c->type, 1, &one);
    struct tiling tiling;
    ck_assert_msg(tiling_make(sharding, shape, 2, &tiling, &err), "%s: %s", c->text, err.message);
    struct literal *pieces[2];
    for (int d = 0; d < 2; d++) {
        pieces[d] = literal_zero(shape, &err);
        literal_set_double(pieces[d], 0, c->pieces[d]);
    }
    struct literal *joined = tiling_join(&tiling, pieces, NULL, &err);
    ck_assert_msg(joined != NULL, "%s", err.message);
    ck_assert_double_eq(literal_get_double(joined, 0), c->want);
    literal_release(joined);
    literal_release(pieces[0]);
    literal_release(pieces[1]);
    tiling_finish(&tiling);
    module_destroy(holder);
}
END_TEST

START_TEST(test_no_whole)
{
    static const char *const texts[] = {"{manual}", "{unknown}",
                                        "{devices=[1,2,2]<=[4] last_tile_dims={manual}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct sharding *sharding;
        struct error err = {0};
        struct module *holder = sharding_read(texts[i], &sharding, &err);
        int64_t sizes[] = {2, 2};
        struct literal *whole = counting(shape_array(TYPE_S32, 2, sizes));
        struct tiling tiling;
        ck_assert(tiling_make(sharding, whole->shape, 4, &tiling, &err));
        struct literal *pieces[] = {whole, whole, whole, whole};
        ck_assert_ptr_null(tiling_join(&tiling, pieces, NULL, &err));
        ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
        literal_release(whole);
        tiling_finish(&tiling);
        module_destroy(holder);
    }
}
END_TEST

/* --- checks: HloSharding::Validate; named ones also VerifyNamedSharding --- */

struct check_case {
    const char *text;
    int rank;
    int64_t devices;     /* 0: not known */
    const char *message; /* NULL: right */
};
static const struct check_case checks[] = {
    {"{devices=[2,2]<=[4]}", 2, 0, NULL},
    {"{devices=[2,2]<=[4]}", 2, 4, NULL},
    {"{devices=[2,2]<=[4]}", 3, 0, "2 tile dimensions"},
    {"{devices=[2,2]<=[4]}", 2, 8, "over 4 devices, but there are 8"},
    {"{devices=[2,2]0,1,2,2}", 2, 0, "device 2 twice"},
    {"{devices=[2,2]0,1,2,9}", 2, 0, NULL},
    {"{devices=[2,2]0,1,2,9}", 2, 4, "device 9, but there are 4"},
    {"{devices=[2,2]0,1,2,3}", 2, 8, "over 4 devices, but there are 8"},
    {"{devices=[1,1]<=[1]}", 2, 0, "over one device"},
    {"{devices=[1,1,4]<=[4] last_tile_dim_replicate}", 1, 0, NULL},
    {"{devices=[2,1,2]<=[4] last_tile_dim_replicate}", 3, 0, "2 tile dimensions"},
    {"{devices=[1,4]<=[4] last_tile_dims={manual}}", 3, 2, NULL},
    {"{devices=[1,2,2]<=[4] last_tile_dims={manual,replicated}}", 3, 4, "1 tile dimensions"},
    {"{maximal device=4}", 2, 0, NULL},
    {"{maximal device=4}", 2, 4, "device 4, but there are 4"},
    {"{maximal device=3}", 2, 4, NULL},
    {"{manual}", 2, 4, NULL},
    {"{replicated}", 2, 4, NULL},
    {"{{replicated},{replicated}}", 2, 4, "a tuple of shardings"},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {\"b\"}]}", 2, 4, NULL},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {\"b\"}]}", 2, 8, "over 4 devices"},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}]}", 2, 4, "1 tile dimensions"},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {\"a\"}]}", 2, 4, "axis a of the sharding's mesh is used"},
    {"{mesh[\"a\"=2,\"b\"=2], [{\"a\"}, {}], replicated={\"a\"}}", 2, 4, "used twice"},
    {"{mesh[\"a\"=8], [{\"a\":(1)2}, {\"a\":(2)4}]}", 2, 8, NULL},
    {"{mesh[\"a\"=8], [{\"a\":(1)2}, {\"a\":(1)4}]}", 2, 8, "used twice"},
    {"{mesh[\"a\"=8], [{\"a\":(1)2,\"a\":(2)2}, {}]}", 2, 8, "neighbouring parts"},
    {"{mesh[\"a\"=8], [{\"a\":(3)2}, {}]}", 2, 8, "is no part of axis a"},
    {"{mesh[\"a\"=8], [{\"a\":(1)8}, {}]}", 2, 8, "is no part of axis a"},
    {"{mesh[\"a\"=2,\"b\"=2,\"c\"=2], [{\"c\"}, {}], replicated={\"b\",\"a\"}}", 2, 8,
     "not in the mesh's order"},
    {"{maximal_mesh[device_id=4]}", 2, 4, "device 4, but there are 4"},
};

START_TEST(test_check)
{
    const struct check_case *c = &checks[_i];
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder = sharding_read(c->text, &sharding, &err);
    ck_assert_msg(holder != NULL, "%s: %s", c->text, err.message);
    int64_t sizes[] = {8, 8, 8};
    bool good = sharding_check(sharding, shape_array(TYPE_F32, c->rank, sizes), c->devices, &err);
    ck_assert_msg(good == (c->message == NULL), "%s: %s", c->text, err.message);
    ck_assert_msg(good || strstr(err.message, c->message) != NULL, "%s: %s", c->text, err.message);
    module_destroy(holder);
}
END_TEST

/* Tuples: a sharding a leaf, or one for all; an empty tuple may have one. */
START_TEST(test_check_tuple)
{
    static const struct {
        const char *text;
        int leaves;
        bool good;
    } cases[] = {
        {"{{devices=[2]<=[2]},{replicated}}", 2, true},
        {"{{devices=[2]<=[2]}}", 2, false},
        {"{devices=[2]<=[2]}", 2, true},
        {"{{replicated}}", 0, true},
        {"{{devices=[2,1]<=[2]},{replicated}}", 2, false},
        {"{devices=[2,1]<=[2]}", 2, false},
    };
    int64_t size = 4;
    const struct shape *array = shape_array(TYPE_F32, 1, &size);
    const struct shape *elements[] = {array, array};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sharding *sharding;
        struct error err = {0};
        struct module *holder = sharding_read(cases[i].text, &sharding, &err);
        ck_assert_msg(holder != NULL, "%s: %s", cases[i].text, err.message);
        ck_assert_msg(sharding_check(sharding, shape_tuple(cases[i].leaves, elements), 2, &err) ==
                          cases[i].good,
                      "%s: %s", cases[i].text, err.message);
        module_destroy(holder);
    }
    const struct sharding *sharding;
    struct error err = {0};
    struct module *holder = sharding_read("{{replicated},{replicated}}", &sharding, &err);
    ck_assert(sharding_check(sharding, shape_token(), 2, &err));
    module_destroy(holder);
}
END_TEST

START_TEST(test_read_errors)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "{devices=[2]}",
                                        "replicated",
                                        "{replicated} }",
                                        "{replicated}, x=1",
                                        ("{replicated} } b { ROOT p = () "
                                         "parameter(0)")};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct sharding *sharding;
        struct error err = {0};
        struct module *holder = sharding_read(texts[i], &sharding, &err);
        ck_assert_msg(holder == NULL && err.code == ERROR_INVALID_ARGUMENT, "%s", texts[i]);
    }
}
END_TEST

/* More devices than anybody has are an error, not a use of memory. */
START_TEST(test_hostile_counts)
{
    static const char *const texts[] = {"{devices=[1000000000]<=[1000000000]}",
                                        ("{devices=[1,9000000000000000000]<="
                                         "[9000000000000000000] last_tile_dim_replicate}"),
                                        "{mesh[\"a\"=3000000000,\"b\"=9000000000], [{\"a\"}]}"};
    int64_t size = 4;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const struct sharding *sharding;
        struct error err = {0};
        struct module *holder = sharding_read(texts[i], &sharding, &err);
        ck_assert_msg(holder != NULL, "%s", err.message);
        const struct shape *shape = shape_array(TYPE_F32, 1, &size);
        struct tiling tiling;
        int64_t devices = sharding_device_count(sharding);
        sharding_check(sharding, shape, 0, &err);
        ck_assert(!tiling_make(sharding, shape, devices, &tiling, &err));
        module_destroy(holder);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding");
    TCase *tests = tcase_create("sharding");
#define LOOP(test, cases) \
    tcase_add_loop_test(tests, test, 0, (int)(sizeof(cases) / sizeof((cases)[0])))
    LOOP(test_tiling, tilings);
    LOOP(test_box, boxes);
    LOOP(test_round_trip, round_trips);
    tcase_add_test(tests, test_conflict);
    LOOP(test_sum, sums);
    tcase_add_test(tests, test_no_whole);
    LOOP(test_check, checks);
    tcase_add_test(tests, test_check_tuple);
    tcase_add_test(tests, test_read_errors);
    tcase_add_test(tests, test_hostile_counts);
#undef LOOP
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
