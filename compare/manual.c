/* Manual regions, rewritten into operations of devices (manual.h).
 *
 * What a region's entrance and exit mean: xla/service/spmd/spmd_partitioner.cc (HandleCustomCall:
 * the operand's sharding, padded with zeros; HandlePartitionedShardToFull…), and for Shardy
 * xla/service/spmd/shardy/sdy_round_trip/shard_map_import.cc. Under a region that is manual along
 * some axes only, arrays stay whole along the others: a dimension shrinks by the manual tiles
 * alone, which are the outer ones of its tiles. */
#include "compare/manual.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/sharding.h"
#include "hlo/shardy.h"
#include "hlo/text/text_format.h"

enum border { BORDER_NONE, BORDER_ENTER, BORDER_LEAVE, BORDER_ENTER_SHARDY, BORDER_LEAVE_SHARDY };

static enum border border_of(const struct instruction *instruction)
{
    static const struct {
        const char *target;
        enum border border;
    } targets[] = {{"SPMDFullToShardShape", BORDER_ENTER},
                   {"SPMDShardToFullShape", BORDER_LEAVE},
                   {"xla.sdy.GlobalToLocalShape", BORDER_ENTER_SHARDY},
                   {"xla.sdy.LocalToGlobalShape", BORDER_LEAVE_SHARDY}};
    if (instruction->opcode == OP_CUSTOM_CALL) {
        const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
            if (strcmp(target, targets[i].target) == 0) {
                return targets[i].border;
            }
        }
    }
    return BORDER_NONE;
}

bool module_has_manual_regions(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            if (border_of(computation->instructions[i]) != BORDER_NONE) {
                return true;
            }
        }
    }
    return false;
}

struct lowering {
    struct module *module;
    int devices;
    int64_t channel; /* the next free one */
    struct error *err;
};

/* --- building: next to `near`, names by position --- */

static struct instruction *make(struct instruction *near, enum opcode opcode,
                                const struct shape *shape, int count,
                                struct instruction *const *operands)
{
    struct computation *computation = near->parent;
    char *name =
        arena_printf(&computation->module->arena, "manual.%d.%s", computation->count, near->name);
    return instruction_add(computation, name, opcode, shape, count, operands);
}

static void set_ints(struct instruction *instruction, enum attr_key key, int count,
                     const int64_t *values)
{
    struct ints ints = {count, arena_copy(&instruction->parent->module->arena, values,
                                          (size_t)count * sizeof *values)};
    instruction_set_attr(instruction, (struct attr){.key = key, .ints = ints});
}

/* The instruction's place is taken by another value of its shape: users need no change. */
static void become(struct instruction *instruction, enum opcode opcode, int count,
                   struct instruction *const *operands)
{
    instruction->opcode = opcode;
    instruction->operand_count = count;
    instruction->operands =
        arena_copy(&instruction->parent->module->arena, operands, (size_t)count * sizeof *operands);
    instruction->attr_count = 0;
}

static struct instruction *make_constant(struct instruction *near, const struct shape *shape,
                                         const int64_t *values, struct error *err)
{
    struct literal *literal = literal_zero(shape, err);
    if (literal == NULL) {
        return NULL;
    }
    for (int64_t i = 0; values != NULL && i < literal_elements(literal); i++) {
        literal_set_int(literal, i, values[i]);
    }
    struct instruction *constant = make(near, OP_CONSTANT, shape, 0, NULL);
    constant->literal = literal;
    return constant;
}

/* --- tiles under manual control --- */

struct manual_tiles {
    int rank;
    int64_t count[SHAPE_MAX_RANK];  /* in each dimension */
    int64_t padded[SHAPE_MAX_RANK]; /* the whole array, a multiple of the part */
    int64_t *index;                 /* [device * rank + dimension] */
    /* Devices with different numbers have whole arrays of their own: an outer region is manual
     * along other axes. */
    int64_t *group; /* [device] */
    int64_t group_count;
};

/* From a sharding of the whole array: as many outer tiles as make it the part. */
static bool tiles_make(const struct lowering *lowering, const struct instruction *at,
                       const struct sharding *sharding, const struct shape *whole,
                       const struct shape *part, struct manual_tiles *tiles)
{
    struct tiling tiling;
    *tiles = (struct manual_tiles){.rank = whole->rank};
    if (!shape_is_array(whole) || whole->rank != part->rank || whole->type != part->type) {
        return error_at(lowering->err, instruction_where(at), "%s: a manual region makes %s of %s",
                        at->name, shape_text(part), shape_text(whole));
    }
    if (!tiling_make(sharding, whole, lowering->devices, &tiling, lowering->err)) {
        return error_prefix(lowering->err, "%s", at->name);
    }
    size_t size = (size_t)lowering->devices * (size_t)whole->rank;
    tiles->index = memory_zalloc((size + 1) * sizeof *tiles->index);
    tiles->group = memory_alloc((size_t)lowering->devices * sizeof *tiles->group);
    memcpy(tiles->group, tiling.manual, (size_t)lowering->devices * sizeof *tiles->group);
    tiles->group_count = tiling.manual_count;
    bool good = true;
    for (int d = 0; good && d < whole->rank; d++) {
        int64_t full = whole->dimensions[d], own = part->dimensions[d];
        int64_t count = own > 0 ? full / own + (full % own != 0) : 1;
        count = count < 1 ? 1 : count;
        /* A part of one row may belong to a dimension with more tiles than rows. */
        if (tiling.tiles[d] % count != 0 && own > 0 && tiling.tiles[d] * own >= full) {
            count = tiling.tiles[d];
        }
        good = tiling.tiles[d] % count == 0;
        tiles->count[d] = count;
        tiles->padded[d] = count * own;
        for (int device = 0; good && device < lowering->devices; device++) {
            int64_t *index = &tiles->index[device * whole->rank + d];
            *index = tiling.index[device * whole->rank + d] / (tiling.tiles[d] / count);
        }
    }
    tiling_finish(&tiling);
    return good ||
           error_at(lowering->err, instruction_where(at), "%s: the sharding does not make %s of %s",
                    at->name, shape_text(part), shape_text(whole));
}

static void tiles_finish(struct manual_tiles *tiles)
{
    free(tiles->index);
    free(tiles->group);
}

/* --- the entrance: each device slices its part out --- */

/* s32[]: where the device's part begins in the dimension. */
static struct instruction *make_start(const struct lowering *lowering, struct instruction *near,
                                      const struct manual_tiles *tiles, int dimension, int64_t part,
                                      struct instruction *device)
{
    int64_t count = lowering->devices, one = 1;
    int64_t *starts = memory_zalloc(((size_t)count + 1) * sizeof *starts);
    for (int64_t i = 0; i < count; i++) {
        starts[i] = tiles->index[i * tiles->rank + dimension] * part;
    }
    struct instruction *table =
        make_constant(near, shape_array(TYPE_S64, 1, &count), starts, lowering->err);
    free(starts);
    if (table == NULL) {
        return NULL;
    }
    struct instruction *operands[] = {table, device};
    struct instruction *entry =
        make(near, OP_DYNAMIC_SLICE, shape_array(TYPE_S64, 1, &one), 2, operands);
    set_ints(entry, ATTR_DYNAMIC_SLICE_SIZES, 1, &one);
    return make(near, OP_RESHAPE, shape_scalar(TYPE_S64), 1, &entry);
}

static struct instruction *make_padded(const struct lowering *lowering, struct instruction *near,
                                       struct instruction *value, const struct manual_tiles *tiles)
{
    const struct shape *shape = value->shape;
    bool fits = true;
    for (int i = 0; i < shape->rank; i++) {
        fits &= tiles->padded[i] == shape->dimensions[i];
    }
    if (fits) {
        return value;
    }
    struct padding_dimension *padding =
        arena_array(&lowering->module->arena, (size_t)shape->rank, sizeof *padding);
    for (int i = 0; i < shape->rank; i++) {
        padding[i].high = tiles->padded[i] - shape->dimensions[i];
    }
    struct instruction *zero = make_constant(near, shape_scalar(shape->type), NULL, lowering->err);
    if (zero == NULL) {
        return NULL;
    }
    struct instruction *operands[] = {value, zero};
    struct instruction *padded =
        make(near, OP_PAD, shape_array(shape->type, shape->rank, tiles->padded), 2, operands);
    instruction_set_attr(padded,
                         (struct attr){.key = ATTR_PADDING, .padding = {shape->rank, padding}});
    return padded;
}

/* The part of `value` that this device has; of the shape `part`. NULL with *err. */
static struct instruction *make_part(const struct lowering *lowering, struct instruction *near,
                                     struct instruction *value, const struct sharding *sharding,
                                     const struct shape *part)
{
    struct manual_tiles tiles;
    struct instruction *result = NULL;
    if (tiles_make(lowering, near, sharding, value->shape, part, &tiles)) {
        struct instruction *operands[1 + SHAPE_MAX_RANK];
        struct instruction *device = make(near, OP_PARTITION_ID, shape_scalar(TYPE_U32), 0, NULL);
        operands[0] = make_padded(lowering, near, value, &tiles);
        bool good = operands[0] != NULL;
        for (int i = 0; good && i < part->rank; i++) {
            operands[i + 1] = make_start(lowering, near, &tiles, i, part->dimensions[i], device);
            good = operands[i + 1] != NULL;
        }
        if (good) {
            result = make(near, OP_DYNAMIC_SLICE, part, part->rank + 1, operands);
            set_ints(result, ATTR_DYNAMIC_SLICE_SIZES, part->rank, part->dimensions);
        }
    }
    tiles_finish(&tiles);
    return result;
}

/* --- the exit: the parts of all devices are put together --- */

static struct instruction *make_slice(struct instruction *near, struct instruction *value,
                                      const int64_t *start, const struct shape *shape)
{
    struct slice_dimension *dimensions =
        arena_array(&near->parent->module->arena, (size_t)shape->rank, sizeof *dimensions);
    for (int i = 0; i < shape->rank; i++) {
        dimensions[i] = (struct slice_dimension){start[i], start[i] + shape->dimensions[i], 1};
    }
    struct instruction *slice = make(near, OP_SLICE, shape, 1, &value);
    instruction_set_attr(slice,
                         (struct attr){.key = ATTR_SLICE, .slices = {shape->rank, dimensions}});
    return slice;
}

static int64_t tile_number(const struct manual_tiles *tiles, int64_t device)
{
    int64_t number = 0;
    for (int i = 0; i < tiles->rank; i++) {
        number = number * tiles->count[i] + tiles->index[device * tiles->rank + i];
    }
    return number;
}

/* Who exchanges parts: the devices of each group, by tile. Every tile has as many devices as any
 * other, so that a tile has the same places in all groups; false if it is not so. */
static bool make_groups(const struct lowering *lowering, const struct manual_tiles *tiles,
                        struct groups *groups, int64_t *copies)
{
    struct arena *arena = &lowering->module->arena;
    int64_t tile_count = 1, devices = lowering->devices;
    for (int i = 0; i < tiles->rank; i++) {
        tile_count *= tiles->count[i];
    }
    int64_t size = devices / tiles->group_count;
    struct ints *lists = arena_array(arena, (size_t)tiles->group_count, sizeof *lists);
    *copies = size / tile_count;
    bool good = *copies > 0;
    for (int64_t g = 0; good && g < tiles->group_count; g++) {
        int64_t *members = arena_array(arena, (size_t)size, sizeof *members), count = 0;
        for (int64_t tile = 0; good && tile < tile_count; tile++) {
            for (int64_t d = 0; d < devices; d++) {
                if (tiles->group[d] == g && tile_number(tiles, d) == tile && count < size) {
                    members[count++] = d;
                }
            }
            good = count == (tile + 1) * *copies;
        }
        lists[g] = (struct ints){(int)size, members};
        good = good && count == size;
    }
    *groups = (struct groups){.form = GROUPS_LIST,
                              .list = {(int)tiles->group_count, lists, true},
                              .mesh = {.maximal_device = -1}};
    return good;
}

/* [devices of a group, part…]: their parts, on each of them. NULL with *err. */
static struct instruction *make_gathered(struct lowering *lowering, struct instruction *near,
                                         struct instruction *part, const struct manual_tiles *tiles,
                                         int64_t *copies)
{
    const struct shape *shape = part->shape;
    struct groups *groups = arena_alloc(&lowering->module->arena, sizeof *groups);
    if (!make_groups(lowering, tiles, groups, copies)) {
        error_at(lowering->err, instruction_where(near),
                 "%s: the parts are not the same number of devices'", near->name);
        return NULL;
    }
    int64_t sizes[SHAPE_MAX_RANK + 1] = {1}, zero = 0;
    memcpy(sizes + 1, shape->dimensions, (size_t)shape->rank * sizeof *sizes);
    struct instruction *row =
        make(near, OP_RESHAPE, shape_array(shape->type, shape->rank + 1, sizes), 1, &part);
    sizes[0] = lowering->devices / tiles->group_count;
    struct instruction *gathered =
        make(near, OP_ALL_GATHER, shape_array(shape->type, shape->rank + 1, sizes), 1, &row);
    set_ints(gathered, ATTR_DIMENSIONS, 1, &zero);
    instruction_set_attr(gathered, (struct attr){.key = ATTR_REPLICA_GROUPS, .groups = groups});
    instruction_set_attr(gathered,
                         (struct attr){.key = ATTR_CHANNEL_ID, .integer = lowering->channel++});
    instruction_set_attr(gathered, (struct attr){.key = ATTR_USE_GLOBAL_DEVICE_IDS, .integer = 1});
    return gathered;
}

/* All tiles whose numbers begin with those before `dimension`, put together; *place is that of the
 * first one among the gathered parts, and moves on. */
static struct instruction *make_block(struct instruction *near, struct instruction *gathered,
                                      const struct shape *part, const struct manual_tiles *tiles,
                                      int64_t copies, int64_t *place, int dimension)
{
    if (dimension == part->rank) {
        int64_t start[SHAPE_MAX_RANK + 1] = {*place}, sizes[SHAPE_MAX_RANK + 1] = {1};
        *place += copies;
        memcpy(sizes + 1, part->dimensions, (size_t)part->rank * sizeof *sizes);
        struct instruction *row =
            make_slice(near, gathered, start, shape_array(part->type, part->rank + 1, sizes));
        return make(near, OP_RESHAPE, part, 1, &row);
    }
    int64_t count = tiles->count[dimension];
    struct instruction **blocks = memory_zalloc(((size_t)count + 1) * sizeof(struct instruction *));
    for (int64_t i = 0; i < count; i++) {
        blocks[i] = make_block(near, gathered, part, tiles, copies, place, dimension + 1);
    }
    struct instruction *result = blocks[0];
    if (count > 1) {
        int64_t sizes[SHAPE_MAX_RANK], along = dimension;
        memcpy(sizes, result->shape->dimensions, (size_t)part->rank * sizeof *sizes);
        sizes[dimension] *= count;
        result = make(near, OP_CONCATENATE, shape_array(part->type, part->rank, sizes), (int)count,
                      blocks);
        set_ints(result, ATTR_DIMENSIONS, 1, &along);
    }
    free(blocks);
    return result;
}

/* The whole array of the parts `value`; of the shape `whole`. NULL with *err. */
static struct instruction *make_whole(struct lowering *lowering, struct instruction *near,
                                      struct instruction *value, const struct sharding *sharding,
                                      const struct shape *whole)
{
    struct manual_tiles tiles;
    struct instruction *result = NULL;
    int64_t start[SHAPE_MAX_RANK] = {0}, copies, place = 0;
    if (value->shape->rank == SHAPE_MAX_RANK) {
        error_at(lowering->err, instruction_where(near), "%s: too many dimensions", near->name);
        return NULL;
    }
    if (tiles_make(lowering, near, sharding, whole, value->shape, &tiles)) {
        struct instruction *gathered = make_gathered(lowering, near, value, &tiles, &copies);
        if (gathered != NULL) {
            struct instruction *block =
                make_block(near, gathered, value->shape, &tiles, copies, &place, 0);
            result = make_slice(near, block, start, whole);
        }
    }
    tiles_finish(&tiles);
    return result;
}

/* --- borders --- */

/* A copy takes the border's place. */
static bool replace(struct instruction *border, struct instruction *value)
{
    if (value != NULL) {
        become(border, OP_COPY, 1, &value);
    }
    return value != NULL;
}

static bool lower_enter(struct lowering *lowering, struct instruction *border)
{
    struct instruction *operand = border->operands[0];
    return replace(border,
                   make_part(lowering, border, operand, attr_sharding(operand), border->shape));
}

static bool lower_leave(struct lowering *lowering, struct instruction *border)
{
    return replace(border, make_whole(lowering, border, border->operands[0], attr_sharding(border),
                                      border->shape));
}

static const char *mark_text(const struct instruction *instruction, const char *key)
{
    const struct bytes *mark = attr_frontend(instruction, key);
    return mark != NULL ? mark->data : "";
}

/* Shardy's borders take several operands, and give a tuple of as many. */
static bool lower_shardy(struct lowering *lowering, struct instruction *border, bool enters)
{
    struct shardy_shardings shardings;
    const char *text = mark_text(border, enters ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings");
    const char *axes = mark_text(border, "xla.sdy.manual_axes");
    bool is_tuple = shape_is_tuple(border->shape);
    int count = border->operand_count;
    if (!shardy_read(lowering->module, text, &shardings, lowering->err)) {
        return error_prefix(lowering->err, "%s", border->name);
    }
    bool good = shardings.count == count && (is_tuple ? border->shape->count == count : count == 1);
    if (!good) {
        error_at(lowering->err, instruction_where(border), "%s: %d shardings for %d operands",
                 border->name, shardings.count, count);
    }
    struct instruction **values = memory_zalloc(((size_t)count + 1) * sizeof(struct instruction *));
    for (int i = 0; good && i < count; i++) {
        const struct sharding *sharding =
            shardy_restrict(shardings.list[i], axes, &lowering->module->arena);
        const struct shape *shape = is_tuple ? border->shape->elements[i] : border->shape;
        struct instruction *operand = border->operands[i];
        values[i] = enters ? make_part(lowering, border, operand, sharding, shape)
                           : make_whole(lowering, border, operand, sharding, shape);
        good = values[i] != NULL;
    }
    if (good) {
        become(border, is_tuple ? OP_TUPLE : OP_COPY, count, values);
    }
    free(values);
    shardy_shardings_finish(&shardings);
    return good;
}

static bool lower(struct lowering *lowering, struct instruction *instruction)
{
    enum border border = border_of(instruction);
    if ((border == BORDER_ENTER || border == BORDER_LEAVE) && instruction->operand_count != 1) {
        return error_at(lowering->err, instruction_where(instruction), "%s takes one operand",
                        instruction->name);
    }
    switch (border) {
    case BORDER_ENTER:
        return lower_enter(lowering, instruction);
    case BORDER_LEAVE:
        return lower_leave(lowering, instruction);
    case BORDER_ENTER_SHARDY:
    case BORDER_LEAVE_SHARDY:
        return lower_shardy(lowering, instruction, border == BORDER_ENTER_SHARDY);
    case BORDER_NONE:
        break;
    }
    return true;
}

static bool lower_all(struct lowering *lowering)
{
    for (int c = 0; c < lowering->module->count; c++) {
        struct computation *computation = lowering->module->computations[c];
        int count = computation->count;
        for (int i = 0; i < count; i++) {
            if (!lower(lowering, computation->instructions[i])) {
                return false;
            }
        }
    }
    return true;
}

static int64_t next_channel(const struct module *module)
{
    int64_t next = 1;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            int64_t channel = attr_int(computation->instructions[i], ATTR_CHANNEL_ID, 0);
            next = channel >= next && channel < INT64_MAX ? channel + 1 : next;
        }
    }
    return next;
}

struct module *module_lower_manual_regions(const struct module *module, int partition_count,
                                           struct error *err)
{
    struct module *copy = text_copy_module(module, err);
    if (copy == NULL) {
        return NULL;
    }
    copy->config.partition_count = partition_count;
    copy->config.is_scheduled = false;
    struct lowering lowering = {copy, partition_count, next_channel(copy), err};
    if (!lower_all(&lowering) || !module_finish(copy, err)) {
        module_destroy(copy);
        return NULL;
    }
    return copy;
}
