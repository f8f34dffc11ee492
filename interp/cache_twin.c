/* Contractions that are the same but for the order of dimensions of their operands and result, as
 * layout passes leave them, and for what library calls them: one key for all.
 *
 * The key is that of the contraction with its dimensions in one order (batch, spatial dimensions,
 * features; batch, free, contracted), by the contents that its operands have in that order. Only
 * for types of at most 32 bits, whose exact sums do not depend on the order of terms. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "interp/cache.h"
#include "interp/custom_call_config.h"
#include "interp/walk.h"

/* dimensions[j] of an array is its dimension j in the one order. */
struct order {
    int rank;
    int dimensions[TWIN_MAX_RANK];
};

static bool is_order(const struct order *order, const struct shape *shape)
{
    unsigned seen = 0;
    if (!shape_is_array(shape) || shape->dynamic != NULL || shape->rank != order->rank ||
        type_bits(shape->type) > 32 || type_is_complex(shape->type)) {
        return false;
    }
    for (int j = 0; j < order->rank; j++) {
        if (order->dimensions[j] < 0 || order->dimensions[j] >= order->rank) {
            return false;
        }
        seen |= 1u << order->dimensions[j];
    }
    return seen == (1u << order->rank) - 1;
}

static void order_add(struct order *order, int64_t dimension)
{
    if (order->rank < TWIN_MAX_RANK) {
        order->dimensions[order->rank] = (int)dimension;
    }
    order->rank++;
}

/* Moves nothing: dimensions of more than one element are as they are. */
static bool is_still(const struct order *order, const struct shape *shape)
{
    int last = -1;
    for (int j = 0; j < order->rank; j++) {
        if (shape->dimensions[order->dimensions[j]] != 1) {
            if (order->dimensions[j] < last) {
                return false;
            }
            last = order->dimensions[j];
        }
    }
    return true;
}

/* The array with its dimensions in another order: dimension to[j] of `shape` is dimension from[j]
 * of the literal. */
static struct literal *reordered(const struct literal *literal, const struct order *from,
                                 const struct order *to, const struct shape *shape,
                                 const int64_t *literal_dimensions)
{
    struct error err = {0};
    int64_t source[SHAPE_MAX_RANK], destination[SHAPE_MAX_RANK];
    walk_strides(from->rank, literal_dimensions, source);
    walk_strides(to->rank, shape->dimensions, destination);
    struct walk walk;
    walk_begin(&walk);
    for (int j = 0; j < from->rank; j++) {
        walk_add(&walk, shape->dimensions[to->dimensions[j]], source[from->dimensions[j]],
                 destination[to->dimensions[j]]);
    }
    walk_finish(&walk);
    if (walk_is_run(&walk)) {
        return literal_view(literal, shape);
    }
    struct literal *result = literal_create(shape, &err);
    if (result != NULL && !walk_literal(&walk, result, 0, literal, 0, &err)) {
        literal_release(result);
        return NULL;
    }
    return result;
}

static struct literal *in_order(const struct literal *literal, const struct order *order)
{
    struct order plain = {.rank = order->rank};
    int64_t dimensions[SHAPE_MAX_RANK] = {0};
    for (int j = 0; j < order->rank; j++) {
        plain.dimensions[j] = j;
        dimensions[j] = literal->shape->dimensions[order->dimensions[j]];
    }
    return reordered(literal, order, &plain,
                     shape_array(literal->shape->type, order->rank, dimensions),
                     literal->shape->dimensions);
}

/* The contents of an array in order, found out once for contents that are known. known: as it is,
 * or NULL; literal: may be NULL. False if they cannot be told. */
static bool contents_in_order(struct interp_cache *cache, const struct shape *shape,
                              const struct literal *literal, const struct order *order,
                              const struct key *known, struct key *contents)
{
    struct key moved_key = key_begin(23);
    if (known != NULL) {
        key_add_key(&moved_key, *known);
        for (int j = 0; j < order->rank; j++) {
            key_add(&moved_key, (uint64_t)shape->dimensions[j]);
            key_add(&moved_key, (uint64_t)order->dimensions[j]);
        }
        int number = cache_find(cache, moved_key);
        if (number >= 0) {
            *contents = cache_contents(cache, number)->key;
            return true;
        }
    }
    struct literal *moved = literal != NULL ? in_order(literal, order) : NULL;
    if (moved == NULL) {
        return false;
    }
    *contents = key_of_contents(moved);
    if (known != NULL) {
        cache_link(cache, moved_key, cache_know(cache, *contents));
    }
    literal_release(moved);
    return true;
}

/* Adds an operand: its dimensions and contents in order. */
static bool add_operand(struct interp_cache *cache, struct key *key, const struct shape *shape,
                        const struct literal *literal, const struct order *order,
                        const struct key *known)
{
    if (!is_order(order, shape)) {
        return false;
    }
    key_add(key, (uint64_t)order->rank);
    for (int j = 0; j < order->rank; j++) {
        key_add(key, (uint64_t)shape->dimensions[order->dimensions[j]]);
    }
    if (known != NULL && is_still(order, shape)) {
        key_add_key(key, *known);
        return true;
    }
    struct key contents;
    if (!contents_in_order(cache, shape, literal, order, known, &contents)) {
        return false;
    }
    key_add_key(key, contents);
    return true;
}

static void add_result(struct key *key, const struct shape *shape, const struct order *order)
{
    key_add(key, (uint64_t)shape->type);
    for (int j = 0; j < order->rank; j++) {
        key_add(key, (uint64_t)shape->dimensions[order->dimensions[j]]);
    }
}

/* How the operand counts where it may count as bf16 (interp_options.bf16_products). */
static uint64_t precision_of(const struct instruction *instruction, int operand, bool bf16_products)
{
    const struct attr *attr = attr_get(instruction, ATTR_OPERAND_PRECISION);
    if (!bf16_products) {
        return 0;
    }
    uint64_t precision =
        attr == NULL || operand >= attr->precisions.count ? 0 : attr->precisions.values[operand];
    return 1 + 2 * precision + (attr_get(instruction, ATTR_ALGORITHM) != NULL);
}

/* --- convolutions --- */

/* What a call of cuDNN adds to a convolution. False if it is none that is known here. */
static bool add_call(struct key *key, const struct instruction *instruction)
{
    static const char *const activations[] = {"kNone", "kSigmoid",  "kRelu", "kRelu6",    "kReluX",
                                              "kTanh", "kBandPass", "kElu",  "kLeakyRelu"};
    enum { COUNT = sizeof activations / sizeof *activations };
    const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
    bool fused = strcmp(target, "__cudnn$convBiasActivationForward") == 0;
    if (!fused && strcmp(target, "__cudnn$convForward") != 0) {
        return false;
    }
    struct error err = {0};
    struct config config;
    double scale = 1, side = 0, leaky = 0;
    const char *mode = activations[0];
    bool ok = config_read(&config, instruction, &err);
    if (ok && config.root != NULL) {
        if (config_has(&config, "cudnn_conv_backend_config")) {
            config_enter(&config, "cudnn_conv_backend_config", &err);
        }
        scale = config_number(&config, "conv_result_scale", 0, &err);
        side = config_number(&config, "side_input_scale", 0, &err);
        leaky = config_number(&config, "leakyrelu_alpha", 0, &err);
        int number = config_word(&config, "activation_mode", activations, COUNT, 0, &err);
        ok = !config.failed && number >= 0 && number < COUNT;
        mode = ok ? activations[number] : mode;
    }
    /* Floats of 8 bits saturate in a call. */
    const struct shape *result = instruction->shape;
    result = shape_is_tuple(result) && result->count > 0 ? result->elements[0] : result;
    ok = ok && (fused || instruction->operand_count == 2) && type_bits(result->type) > 8;
    if (ok && (fused || scale != 1)) {
        const double numbers[] = {scale, side, leaky};
        key_add(key, 1 + (uint64_t)fused);
        key_add_bytes(key, mode, strlen(mode));
        key_add_bytes(key, numbers, sizeof numbers);
    }
    config_finish(&config);
    return ok;
}

static bool convolution_twin(struct interp_cache *cache, const struct instruction *instruction,
                             struct literal *const *values, const struct key *const *known,
                             bool bf16_products, struct twin *twin)
{
    const struct dim_labels *labels = attr_dim_labels(instruction);
    const struct window window = attr_window(instruction);
    const struct attr *sparsity = attr_get(instruction, ATTR_SPARSITY_CONFIG);
    if (labels == NULL || sparsity != NULL ||
        labels->input_unknown + labels->kernel_unknown + labels->output_unknown != 0) {
        return false;
    }
    struct key key = key_begin(20);
    if (instruction->opcode == OP_CUSTOM_CALL && !add_call(&key, instruction)) {
        return false;
    }
    struct order input = {0}, kernel = {0}, output = {0};
    order_add(&input, labels->input_batch);
    order_add(&output, labels->output_batch);
    for (int s = 0; s < labels->spatial_rank; s++) {
        order_add(&input, labels->input_spatial[s]);
        order_add(&kernel, labels->kernel_spatial[s]);
        order_add(&output, labels->output_spatial[s]);
    }
    order_add(&input, labels->input_feature);
    order_add(&output, labels->output_feature);
    order_add(&kernel, labels->kernel_input_feature);
    order_add(&kernel, labels->kernel_output_feature);
    for (int d = 0; d < window.rank; d++) {
        const struct window_dimension *w = &window.dimensions[d];
        const int64_t fields[] = {w->size,         w->stride,          w->padding_low,
                                  w->padding_high, w->window_dilation, w->base_dilation,
                                  w->reversal};
        key_add_bytes(&key, fields, sizeof fields);
    }
    key_add(&key, (uint64_t)attr_int(instruction, ATTR_FEATURE_GROUP_COUNT, 1));
    key_add(&key, (uint64_t)attr_int(instruction, ATTR_BATCH_GROUP_COUNT, 1));
    if (!is_order(&output, twin->shape)) {
        return false;
    }
    add_result(&key, twin->shape, &output);
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct shape *shape = instruction->operands[k]->shape;
        struct order plain = {.rank = shape->rank};
        for (int j = 0; j < plain.rank && j < TWIN_MAX_RANK; j++) {
            plain.dimensions[j] = j;
        }
        bool like_result = k > 1 && shape_is_array(shape) && shape->rank == output.rank &&
                           shape_same_dimensions(shape, twin->shape);
        const struct order *order = k == 0        ? &input
                                    : k == 1      ? &kernel
                                    : like_result ? &output
                                                  : &plain;
        if ((k > 1 && !like_result && plain.rank > 1) ||
            !add_operand(cache, &key, shape, values != NULL ? values[k] : NULL, order, known[k])) {
            return false;
        }
        key_add(&key, (uint64_t)shape->type);
        key_add(&key, precision_of(instruction, k, bf16_products));
    }
    twin->key = key;
    twin->rank = output.rank;
    memcpy(twin->dimensions, output.dimensions, sizeof output.dimensions);
    return true;
}

/* --- dots --- */

/* The order of a side: batch, free, contracted. */
static bool side_order(const struct shape *shape, struct ints batch, struct ints contracted,
                       struct order *order)
{
    unsigned used = 0;
    if (!shape_is_array(shape) || shape->rank > TWIN_MAX_RANK) {
        return false;
    }
    for (int i = 0; i < batch.count; i++) {
        order_add(order, batch.values[i]);
        used |= 1u << batch.values[i];
    }
    for (int i = 0; i < contracted.count; i++) {
        used |= 1u << contracted.values[i];
    }
    for (int d = 0; d < shape->rank; d++) {
        if ((used >> d & 1) == 0) {
            order_add(order, d);
        }
    }
    for (int i = 0; i < contracted.count; i++) {
        order_add(order, contracted.values[i]);
    }
    return order->rank == shape->rank;
}

/* Either operand may come first: the one whose key is less does. */
static bool dot_twin(struct interp_cache *cache, const struct instruction *instruction,
                     struct literal *const *values, const struct key *const *known,
                     bool bf16_products, struct twin *twin)
{
    struct ints batches[] = {attr_ints(instruction, ATTR_LHS_BATCH_DIMS),
                             attr_ints(instruction, ATTR_RHS_BATCH_DIMS)};
    struct ints contracted[] = {attr_ints(instruction, ATTR_LHS_CONTRACTING_DIMS),
                                attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS)};
    struct key sides[2];
    int free_count[2];
    for (int k = 0; k < 2; k++) {
        const struct shape *shape = instruction->operands[k]->shape;
        struct order order = {0};
        sides[k] = key_begin(21);
        if (!side_order(shape, batches[k], contracted[k], &order) ||
            !add_operand(cache, &sides[k], shape, values != NULL ? values[k] : NULL, &order,
                         known[k])) {
            return false;
        }
        key_add(&sides[k], (uint64_t)shape->type);
        key_add(&sides[k], precision_of(instruction, k, bf16_products));
        free_count[k] = order.rank - batches[k].count - contracted[k].count;
    }
    bool swap = sides[1].words[0] < sides[0].words[0];
    struct key key = key_begin(22);
    key_add(&key, (uint64_t)batches[0].count);
    key_add(&key, (uint64_t)contracted[0].count);
    key_add_key(&key, sides[swap]);
    key_add_key(&key, sides[!swap]);
    struct order output = {0};
    for (int d = 0; d < batches[0].count; d++) {
        order_add(&output, d);
    }
    for (int s = 0; s < 2; s++) {
        int side = s ^ (int)swap, first = batches[0].count + (side == 1 ? free_count[0] : 0);
        for (int d = 0; d < free_count[side]; d++) {
            order_add(&output, first + d);
        }
    }
    if (!is_order(&output, twin->shape)) {
        return false;
    }
    add_result(&key, twin->shape, &output);
    twin->key = key;
    twin->rank = output.rank;
    memcpy(twin->dimensions, output.dimensions, sizeof output.dimensions);
    return true;
}

bool twin_find(struct interp_cache *cache, const struct instruction *instruction,
               struct literal *const *values, const struct key *const *known, bool bf16_products,
               struct twin *twin)
{
    const struct shape *shape = instruction->shape;
    *twin = (struct twin){.shape = shape_is_tuple(shape) && shape->count > 0 ? shape->elements[0]
                                                                             : shape};
    bool found = false;
    switch (instruction->opcode) {
    case OP_CONVOLUTION:
    case OP_CUSTOM_CALL:
        found = instruction->operand_count >= 2 &&
                convolution_twin(cache, instruction, values, known, bf16_products, twin);
        break;
    case OP_DOT:
        found = dot_twin(cache, instruction, values, known, bf16_products, twin);
        break;
    default:
        break;
    }
    return found;
}

/* --- the store --- */

static struct key key_of_order(const struct twin *twin)
{
    struct key key = twin->key;
    key_add(&key, 1);
    return key;
}

static int packed_order(const struct twin *twin)
{
    int packed = 0;
    for (int j = 0; j < twin->rank; j++) {
        packed |= twin->dimensions[j] << (4 * j);
    }
    return packed;
}

void twin_link(struct interp_cache *cache, const struct twin *twin, int number)
{
    if (cache_find(cache, twin->key) < 0) {
        cache_link(cache, twin->key, number);
        cache_link(cache, key_of_order(twin), packed_order(twin));
    }
}

int twin_contents(const struct interp_cache *cache, const struct twin *twin)
{
    int number = cache_find(cache, twin->key);
    return number >= 0 && cache_find(cache, key_of_order(twin)) == packed_order(twin) ? number : -1;
}

struct literal *twin_value(struct interp_cache *cache, const struct twin *twin)
{
    int number = cache_find(cache, twin->key);
    int packed = number < 0 ? -1 : cache_find(cache, key_of_order(twin));
    const struct literal *held = packed < 0 ? NULL : cache_use(cache, number);
    if (held == NULL) {
        return NULL;
    }
    struct order from = {.rank = twin->rank}, to = {.rank = twin->rank};
    int64_t dimensions[SHAPE_MAX_RANK] = {0};
    for (int j = 0; j < twin->rank; j++) {
        from.dimensions[j] = packed >> (4 * j) & 15;
        to.dimensions[j] = twin->dimensions[j];
        dimensions[from.dimensions[j]] = twin->shape->dimensions[to.dimensions[j]];
    }
    return reordered(held, &from, &to, twin->shape, dimensions);
}
