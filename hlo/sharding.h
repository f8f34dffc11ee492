/* What shardings mean: which part of an array each device holds.
 *
 * A tiling is a sharding made uniform for one array: how many tiles there are in each dimension,
 * which tile each device has, and in which groups the devices stand that have the same one. All
 * tiles have the shape ceil(dimension / tiles); what lies beyond the array at the end is padding
 * that nobody has promised anything about, and a device may hold nothing else.
 * Sources: xla/hlo/ir/hlo_sharding.cc (TileShape, TileOffsetForDevice, TileLimitForDevice,
 * ValidateNonTuple, Subgroup, V3ToV2Sharding), xla/hlo/ir/tile_assignment.cc,
 * xla/hlo/ir/mesh_and_axis.cc, xla/hlo/ir/named_sharding.h. */
#ifndef HLO_SHARDING_H
#define HLO_SHARDING_H

#include <stdbool.h>
#include <stdint.h>

#include "hlo/attr.h"

struct error;
struct literal;
struct module;

enum { TILING_MAX_DEVICES = 1 << 16 };

enum tiling_kind {
    TILING_TILED,     /* replicated is tiled with one tile */
    TILING_MAXIMAL,   /* the whole array on one device; the others hold anything */
    TILING_MANUAL,    /* what each device holds is its own affair */
    TILING_UNREDUCED, /* each device holds a summand of the whole array */
    TILING_UNKNOWN,
};
enum tiling_reduction { TILING_SUM, TILING_MAX, TILING_MIN };

struct tiling {
    enum tiling_kind kind;
    const struct shape *shape; /* the whole array (or a token) */
    int rank, device_count;
    int64_t maximal_device;
    int64_t *tiles; /* [rank]: tiles in each dimension */
    int64_t *index; /* [device * rank + dimension]: the device's tile */
    /* [device]: devices that differ in it hold different data of one tile: under manual control,
     * or summands of it. */
    int64_t *manual, *unreduced;
    int64_t manual_count, unreduced_count; /* 1 = no such groups */
    enum tiling_reduction reduction;       /* of summands */
};

/* The sharding of leaf `leaf` of a shape: that element of a tuple sharding, else the sharding
 * itself. NULL when the tuple has none for it. */
const struct sharding *sharding_leaf(const struct sharding *sharding, int leaf);

/* Reads one as it is written after "sharding=". It lives in the module that is returned, which the
 * caller destroys; NULL with *err (whose column counts from the text's first character). */
struct module *sharding_read(const char *text, const struct sharding **sharding, struct error *err);

/* How many devices it names; 0 when it does not say (replicated, manual …); −1 when they are too
 * many to count. */
int64_t sharding_device_count(const struct sharding *sharding);

/* Does it fit the shape, by XLA's rules? device_count 0 = not known. A sharding that is no tuple
 * stands for each leaf of a tuple, as XLA's readers have it. */
bool sharding_check(const struct sharding *sharding, const struct shape *shape,
                    int64_t device_count, struct error *err);

/* The tiling of one array (no tuple) over device_count devices. NULL stands for replicated.
 * INVALID_ARGUMENT as sharding_check says; RESOURCE_EXHAUSTED beyond TILING_MAX_DEVICES. */
bool tiling_make(const struct sharding *sharding, const struct shape *shape, int64_t device_count,
                 struct tiling *tiling, struct error *err);
void tiling_finish(struct tiling *tiling);

/* Of a tile: the array's shape with each dimension divided, rounded up. */
const struct shape *tiling_tile_shape(const struct tiling *tiling);
/* offset[rank], limit[rank] of what the device holds of the array; equal where it holds nothing. */
void tiling_box(const struct tiling *tiling, int device, int64_t *offset, int64_t *limit);
/* Does every device hold the whole array, the same everywhere? */
bool tiling_is_replicated(const struct tiling *tiling);
/* The first device that holds the element; index[rank]. −1: none is known to. */
int tiling_owner(const struct tiling *tiling, const int64_t *index);

/* --- values: pieces.c --- */

enum padding_fill {
    PADDING_ZERO,
    PADDING_HOSTILE, /* NaN; integers: least and largest in turn; true */
};

/* The device's piece of a literal, of the shape of a tile. */
struct literal *tiling_split(const struct tiling *tiling, const struct literal *whole, int device,
                             enum padding_fill fill, struct error *err);

/* Devices that should hold the same and do not. */
struct replica_conflict {
    int64_t count; /* elements; 0 = none */
    int first, second;
    int64_t index; /* of the first such element, row-major in the whole array */
};

/* The whole array from the pieces of all devices. Where several devices hold an element, the first
 * one's is taken and *conflict (may be NULL) counts the bits that differ. Summands are added in
 * double, in the order of devices, and rounded once; integers wrap. UNIMPLEMENTED where no whole is
 * defined (manual, unknown). */
struct literal *tiling_join(const struct tiling *tiling, struct literal *const *pieces,
                            struct replica_conflict *conflict, struct error *err);

#endif
