/* Modules in pieces (pieces.h). */
#include "backend/pieces.h"

#include <stdlib.h>

#include "backend/backend_impl.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"

/* --- plans --- */

/* Where the sharding of one value may stand, the most telling place first. */
enum { PLACES = 2 };
struct places {
    const struct sharding *list[PLACES]; /* NULL: nothing there */
};

static const struct sharding *header_sharding(const struct module *module, int parameter)
{
    const struct module_config *config = &module->config;
    return parameter < config->spmd_parameter_count ? config->spmd_parameters_shardings[parameter]
                                                    : NULL;
}

static struct places parameter_places(const struct module *module, int number)
{
    return (struct places){
        {attr_sharding(module->entry->parameters[number]), header_sharding(module, number)}};
}

/* One leaf of a value, and where its sharding may stand. */
struct place_leaf {
    const struct shape *shape;
    const struct sharding *shardings[PLACES];
};
struct place_leaves {
    struct place_leaf *list;
    size_t count, capacity;
};

static void add_leaves(struct place_leaves *leaves, const struct shape *shape,
                       const struct places *places, int *leaf)
{
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            add_leaves(leaves, shape->elements[i], places, leaf);
        }
        return;
    }
    leaves->list = grow(leaves->list, leaves->count, &leaves->capacity, sizeof *leaves->list);
    struct place_leaf *added = &leaves->list[leaves->count++];
    added->shape = shape;
    for (int i = 0; i < PLACES; i++) {
        added->shardings[i] = sharding_leaf(places->list[i], *leaf);
    }
    ++*leaf;
}

/* The leaves of all parameters. Those of a nested tuple may have become parameters. */
static struct place_leaves parameter_leaves(const struct module *module)
{
    struct place_leaves leaves = {0};
    for (int i = 0; i < module->entry->parameter_count; i++) {
        struct places places = parameter_places(module, i);
        int leaf = 0;
        add_leaves(&leaves, module->entry->parameters[i]->shape, &places, &leaf);
    }
    return leaves;
}

/* After the partitioner XLA calls what is left to be added up replicated, with a mark (xla/service/
 * spmd/shardy/constants.h, kHasUnreducedAxes): what it was before says more. */
static struct place_leaves result_leaves(const struct module *module)
{
    struct place_leaves leaves = {0};
    const struct instruction *root = module->entry->root;
    bool unreduced = attr_frontend(root, "xla.sdy.has_unreduced_axes") != NULL;
    struct places places = {
        {unreduced ? NULL : attr_sharding(root), module->config.spmd_output_sharding}};
    int leaf = 0;
    add_leaves(&leaves, module->entry->root->shape, &places, &leaf);
    return leaves;
}

static const struct sharding *first_sharding(const struct place_leaf *leaf)
{
    const struct sharding *sharding = NULL;
    for (int i = 0; sharding == NULL && i < PLACES; i++) {
        sharding = leaf->shardings[i];
    }
    return sharding;
}

/* Tiles as a sharding says; they must be the pieces that there are. */
static bool make_tiles(const struct place_leaf *whole, const struct place_leaf *piece,
                       const struct sharding *sharding, int partition_count, struct tiling *tiling,
                       struct error *err)
{
    if (!tiling_make(sharding, whole->shape, partition_count, tiling, err)) {
        return false;
    }
    const struct shape *tile = tiling_tile_shape(tiling);
    if (!shape_compatible(tile, piece->shape)) {
        error_set(err, ERROR_INVALID_ARGUMENT,
                  "%s of %s makes pieces of %s, but the partitioned module has %s",
                  sharding != NULL ? "the sharding" : "the lack of a sharding",
                  shape_text(whole->shape), shape_text(tile), shape_text(piece->shape));
        tiling_finish(tiling);
        return false;
    }
    return true;
}

/* The first place that says something gives the tiles. What a piece says may be of a region under
 * manual control that it came from: then the whole knows. */
static bool make_leaf(const struct place_leaf *whole, const struct place_leaf *piece,
                      bool replicated, int partition_count, struct tiling *tiling,
                      struct error *err)
{
    const struct sharding *of_piece = replicated ? NULL : first_sharding(piece);
    const struct sharding *of_whole = replicated ? NULL : first_sharding(whole);
    struct error ignored = {0};
    if (of_piece != NULL && of_whole != NULL &&
        make_tiles(whole, piece, of_piece, partition_count, tiling, &ignored)) {
        return true;
    }
    return make_tiles(whole, piece, of_whole != NULL ? of_whole : of_piece, partition_count, tiling,
                      err);
}

/* Tilings of all leaves; frees both lists. */
static bool make_leaves(struct place_leaves whole, struct place_leaves piece, const char *what,
                        bool replicated, int partition_count, struct tiling **list, int *count,
                        struct error *err)
{
    bool good = whole.count == piece.count ||
                error_set(err, ERROR_INVALID_ARGUMENT,
                          "the whole module has %zu arrays among its %ss, the partitioned one %zu",
                          whole.count, what, piece.count);
    *list = memory_zalloc((whole.count + 1) * sizeof **list);
    for (size_t i = 0; good && i < whole.count; i++) {
        good = make_leaf(&whole.list[i], &piece.list[i], replicated, partition_count, &(*list)[i],
                         err) ||
               error_prefix(err, "%s %zu", what, i);
        *count += good;
    }
    free(whole.list);
    free(piece.list);
    return good;
}

static bool plan_make(const struct module *whole, const struct module *partitioned,
                      int partition_count, bool replicated, struct piece_plan *plan,
                      struct error *err)
{
    *plan = (struct piece_plan){
        .whole = whole, .partitioned = partitioned, .partition_count = partition_count};
    if (!make_leaves(parameter_leaves(whole), parameter_leaves(partitioned), "parameter",
                     replicated, partition_count, &plan->parameters, &plan->parameter_leaf_count,
                     err) ||
        !make_leaves(result_leaves(whole), result_leaves(partitioned), "result", replicated,
                     partition_count, &plan->results, &plan->result_leaf_count, err)) {
        piece_plan_finish(plan);
        return false;
    }
    return true;
}

bool piece_plan_make(const struct module *whole, const struct module *partitioned,
                     int partition_count, struct piece_plan *plan, struct error *err)
{
    return plan_make(whole, partitioned, partition_count, false, plan, err);
}

bool piece_plan_make_replicated(const struct module *whole, const struct module *partitioned,
                                int partition_count, struct piece_plan *plan, struct error *err)
{
    return plan_make(whole, partitioned, partition_count, true, plan, err);
}

void piece_plan_finish(struct piece_plan *plan)
{
    for (int i = 0; i < plan->parameter_leaf_count; i++) {
        tiling_finish(&plan->parameters[i]);
    }
    for (int i = 0; i < plan->result_leaf_count; i++) {
        tiling_finish(&plan->results[i]);
    }
    free(plan->parameters);
    free(plan->results);
    *plan = (struct piece_plan){0};
}

/* --- values --- */

/* The shape with each leaf divided as its tiling says. */
static const struct shape *tile_shape(const struct shape *whole, const struct tiling **tiling)
{
    if (!shape_is_tuple(whole)) {
        return tiling_tile_shape((*tiling)++);
    }
    const struct shape **elements = memory_alloc(((size_t)whole->count + 1) * sizeof *elements);
    for (int i = 0; i < whole->count; i++) {
        elements[i] = tile_shape(whole->elements[i], tiling);
    }
    const struct shape *shape = shape_tuple(whole->count, elements);
    free(elements);
    return shape;
}

/* The leaves of all arguments, in order. */
struct leaf_reader {
    struct literal *const *arguments;
    int leaf;                    /* of *arguments */
    const struct tiling *tiling; /* of that leaf */
    int device;
    enum padding_fill fill;
};

static struct literal *next_leaf(struct leaf_reader *reader)
{
    while (reader->leaf == shape_leaves((*reader->arguments)->shape)) {
        reader->arguments++;
        reader->leaf = 0;
    }
    return literal_leaf(*reader->arguments, reader->leaf++);
}

/* The device's piece of the next leaf. */
static struct literal *split_leaf(void *context, const struct shape *shape, struct error *err)
{
    struct leaf_reader *reader = context;
    (void)shape;
    return tiling_split(reader->tiling++, next_leaf(reader), reader->device, reader->fill, err);
}

struct leaf_joiner {
    const struct piece_plan *plan;
    struct literal *const *outputs; /* of all devices */
    int leaf;
    struct piece_conflict *conflict;
};

/* The next leaf from all devices' results. */
static struct literal *join_leaf(void *context, const struct shape *shape, struct error *err)
{
    struct leaf_joiner *joiner = context;
    const struct piece_plan *plan = joiner->plan;
    int leaf = joiner->leaf++;
    (void)shape;
    struct literal **pieces = memory_alloc((size_t)plan->partition_count * sizeof *pieces);
    for (int d = 0; d < plan->partition_count; d++) {
        pieces[d] = literal_leaf(joiner->outputs[d], leaf);
    }
    struct replica_conflict found;
    struct literal *joined = tiling_join(&plan->results[leaf], pieces, &found, err);
    free(pieces);
    if (joined != NULL && found.count > 0 && joiner->conflict->conflict.count == 0) {
        *joiner->conflict = (struct piece_conflict){leaf, found};
    }
    if (joined == NULL) {
        error_prefix(err, "output %d", leaf);
    }
    return joined;
}

/* --- the backend --- */

struct pieces_state {
    struct backend *inner;
    const struct piece_plan *plan;
    enum pieces_program program;
    enum padding_fill fill;
    struct piece_conflict conflict;
};

/* What one device takes and gives: pieces in the structure of the module that runs. */
struct device_shapes {
    int count;
    const struct shape **parameters, *result;
};

static struct device_shapes device_shapes(const struct pieces_state *state)
{
    const struct piece_plan *plan = state->plan;
    bool whole = state->program == PIECES_WHOLE;
    const struct computation *entry = whole ? plan->whole->entry : plan->partitioned->entry;
    struct device_shapes shapes = {.count = entry->parameter_count};
    shapes.parameters = memory_alloc(((size_t)shapes.count + 1) * sizeof *shapes.parameters);
    const struct tiling *tiling = plan->parameters, *results = plan->results;
    for (int i = 0; i < shapes.count; i++) {
        const struct shape *shape = entry->parameters[i]->shape;
        shapes.parameters[i] = whole ? tile_shape(shape, &tiling) : shape;
    }
    shapes.result = whole ? tile_shape(entry->root->shape, &results) : entry->root->shape;
    return shapes;
}

/* arguments[device * parameters + i]; NULL with *err. */
static struct literal **split_arguments(const struct pieces_state *state,
                                        const struct device_shapes *shapes,
                                        struct literal *const *whole, struct error *err)
{
    int devices = state->plan->partition_count, count = shapes->count * devices;
    struct literal **arguments = memory_zalloc(((size_t)count + 1) * sizeof *arguments);
    bool good = true;
    for (int d = 0; good && d < devices; d++) {
        struct leaf_reader reader = {whole, 0, state->plan->parameters, d, state->fill};
        for (int i = 0; good && i < shapes->count; i++) {
            struct literal *piece = literal_build(shapes->parameters[i], split_leaf, &reader, err);
            arguments[d * shapes->count + i] = piece;
            good = piece != NULL;
        }
    }
    for (int i = 0; !good && i < count; i++) {
        literal_release(arguments[i]);
    }
    if (!good) {
        free(arguments);
        return NULL;
    }
    return arguments;
}

static void run_inner(const struct pieces_state *state, const struct device_shapes *shapes,
                      struct literal *const *arguments, struct run_result *result)
{
    const struct piece_plan *plan = state->plan;
    if (state->program == PIECES_PARTITIONED) {
        backend_run_grid(state->inner, plan->partitioned, arguments, shapes->count,
                         plan->partition_count, 1, plan->partition_count, 1, result);
    } else {
        struct backend_pieces pieces = {shapes->parameters, shapes->result};
        backend_run_pieces(state->inner, plan->whole, &pieces, arguments, shapes->count,
                           plan->partition_count, result);
    }
}

static enum outcome outcome_of(const struct error *err)
{
    return err->code == ERROR_RESOURCE_EXHAUSTED ? OUTCOME_OOM : OUTCOME_UNSUPPORTED;
}

static void pieces_run(struct backend *backend, const struct backend_job *job,
                       struct run_result *result, struct text *message)
{
    struct pieces_state *state = backend->state;
    const struct piece_plan *plan = state->plan;
    struct error err = {0};
    struct run_result inner = {0};
    state->conflict = (struct piece_conflict){0};
    if (job->module != plan->whole || job->device_count != 1) {
        text_append(message, "this runs one module only, on one grid");
        return;
    }
    struct device_shapes shapes = device_shapes(state);
    struct literal **arguments = split_arguments(state, &shapes, job->arguments, &err);
    if (arguments == NULL) {
        free(shapes.parameters);
        result->outcome = outcome_of(&err);
        error_print(&err, message);
        return;
    }
    run_inner(state, &shapes, arguments, &inner);
    result->outcome = inner.outcome;
    result->compile_seconds = inner.compile_seconds;
    result->run_seconds = inner.run_seconds;
    result->longest_loop = inner.longest_loop;
    text_append(message, inner.message);
    if (inner.outcome == OUTCOME_PASS) {
        struct leaf_joiner joiner = {plan, inner.outputs, 0, &state->conflict};
        result->outputs[0] =
            literal_build(plan->whole->entry->root->shape, join_leaf, &joiner, &err);
        if (result->outputs[0] == NULL) {
            result->outcome = outcome_of(&err);
            error_print(&err, message);
        }
    }
    run_result_finish(&inner);
    for (int i = 0; i < shapes.count * plan->partition_count; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    free(shapes.parameters);
}

static bool pieces_describe(struct backend *backend, struct text *json, struct error *err)
{
    const struct pieces_state *state = backend->state;
    return backend_describe(state->inner, json, err);
}

static void pieces_close(struct backend *backend)
{
    free(backend->state);
}

static const struct backend_impl backend_pieces_impl = {
    .run = pieces_run,
    .describe = pieces_describe,
    .close = pieces_close,
};

struct backend *backend_in_pieces(struct backend *inner, const struct piece_plan *plan,
                                  enum pieces_program program, enum padding_fill fill)
{
    struct pieces_state *state = memory_zalloc(sizeof *state);
    struct backend *backend = memory_zalloc(sizeof *backend);
    *state = (struct pieces_state){inner, plan, program, fill, {0}};
    backend->impl = &backend_pieces_impl;
    backend->scheme = inner->scheme;
    backend->uri = memory_strdup(inner->uri);
    backend->path = memory_strdup("");
    backend->state = state;
    return backend;
}

struct piece_conflict backend_piece_conflict(const struct backend *backend)
{
    const struct pieces_state *state = backend->state;
    return state->conflict;
}
