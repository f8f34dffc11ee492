/* cuDNN's fused attention, forward:
 *
 *   S = fmha_scale * Q Kᵀ + bias, masked;  P = softmax(S) along the keys;  O = P V
 *
 * S and P are doubles, from the exact products: O is rounded once, correct to about 2^-44 relative
 * to the magnitudes involved. The statistics, if they are a result, are log Σ exp(S). Masks: none,
 * causal (key ≤ query), padding (per batch: the first so many queries and keys); a row whose query
 * or whose keys are all masked is unspecified. Dropout, sliding windows, packed segments, pages,
 * ALiBi and modified scores are refused.
 * Sources: xla/service/gpu/backend_configs.proto (CudnnfMHABackendConfig),
 * transforms/cudnn_custom_call_compiler.cc (operands, results). */
#include <math.h>
#include <string.h>

#include "interp/custom_call_matmul.h"

enum mask { MASK_NONE, MASK_PADDING, MASK_CAUSAL, MASK_PADDING_CAUSAL, MASK_ALIBI, MASK_COUNT };

struct attention {
    double scale;
    int mask;
    struct matmul first, second; /* Q Kᵀ, P V */
    const struct literal *bias, *query_sizes, *key_sizes;
};

static bool read_attention(struct attention *attention, const struct instruction *instruction,
                           struct error *err)
{
    static const char *const masks[MASK_COUNT] = {"NO_MASK", "PADDING", "CAUSAL", "PADDING_CAUSAL",
                                                  "ALIBI"};
    struct config config;
    if (!config_read(&config, instruction, err)) {
        config_finish(&config);
        return false;
    }
    if (config_has(&config, "cudnn_fmha_backend_config")) {
        config_enter(&config, "cudnn_fmha_backend_config", err);
    }
    void *section = config.section;
    attention->scale = config_number(&config, "fmha_scale", 0, err);
    attention->mask = config_word(&config, "mask_type", masks, MASK_COUNT, MASK_NONE, err);
    if (config_bool(&config, "is_causal_mask", false, err)) { /* before mask_type */
        attention->mask = MASK_CAUSAL;
    }
    const char *refused = NULL;
    if (config_number(&config, "dropout_rate", 0, err) != 0) {
        refused = "dropout is random";
    } else if (config_integer(&config, "sliding_window_length", 0, err) > 0) {
        refused = "a sliding window";
    } else if (config_integer(&config, "max_seg_per_batch", 0, err) > 1) {
        refused = "packed segments";
    } else if (config_bool(&config, "is_paged_attention", false, err)) {
        refused = "paged keys and values";
    } else if (attention->mask == MASK_ALIBI) {
        refused = "an ALiBi mask";
    } else if (instruction->called_count > 0) {
        refused = "scores modified by a computation";
    } else if (!isfinite(attention->scale)) {
        refused = "a scale that is not finite";
    }
    if (refused != NULL && !config.failed) {
        config.failed = true;
        custom_call_fail(instruction, err, "%s", refused);
    }
    static const char *const keys[2] = {"bmm1_dot_dimension_numbers", "bmm2_dot_dimension_numbers"};
    for (int i = 0; i < 2 && !config.failed; i++) {
        config.section = section;
        if (!config_has(&config, keys[i])) {
            config.failed = true;
            custom_call_fail(instruction, err, "backend_config without %s", keys[i]);
            break;
        }
        matmul_read_as(i == 0 ? &attention->first : &attention->second, &config, keys[i], err);
    }
    bool ok = !config.failed;
    config_finish(&config);
    return ok;
}

static bool is_padding(int mask)
{
    return mask == MASK_PADDING || mask == MASK_PADDING_CAUSAL;
}

static bool collect(struct attention *attention, const struct instruction *instruction,
                    struct operands *operands, struct error *err)
{
    bool has_bias = strstr(custom_call_target(instruction), "ScaleBias") != NULL;
    int wanted = 3 + has_bias + (is_padding(attention->mask) ? 2 : 0), next = 3;
    bool fits = operands->count == wanted;
    for (int i = 0; fits && i < operands->count; i++) {
        fits = custom_call_operand_is(operands, i, TYPE_INVALID, -1) &&
               !type_is_complex(operands->values[i]->shape->type);
    }
    if (!fits) {
        custom_call_fail(instruction, err, "%d operands where %d arrays are wanted",
                         operands->count, wanted);
        return false;
    }
    attention->first.lhs = operands->values[0];
    attention->first.rhs = operands->values[1];
    attention->second.rhs = operands->values[2];
    attention->bias = has_bias ? operands->values[next++] : NULL;
    if (is_padding(attention->mask)) {
        attention->query_sizes = operands->values[next++];
        attention->key_sizes = operands->values[next++];
    }
    return true;
}

/* Softmax of the scores in place, and its statistics. The last two dimensions are queries and keys,
 * the first is the batch. Rows without a key are marked. */
static void softmax(const struct attention *attention, struct literal *scores,
                    const int64_t *bias_strides, struct literal *statistics)
{
    const struct shape *shape = scores->shape;
    int rank = shape->rank;
    int64_t queries = shape->dimensions[rank - 2], keys = shape->dimensions[rank - 1];
    int64_t rows = keys > 0 ? shape_elements(shape) / keys : 0;
    double *values = literal_data(scores);
    for (int64_t row = 0; row < rows; row++) {
        double *line = values + row * keys;
        int64_t index[SHAPE_MAX_RANK], rest = row, bias_at = 0;
        for (int d = rank - 2; d >= 0; d--) {
            index[d] = rest % shape->dimensions[d];
            rest /= shape->dimensions[d];
            bias_at += attention->bias != NULL ? index[d] * bias_strides[d] : 0;
        }
        int64_t query = row % queries, batch = rank > 2 ? index[0] : 0, last = keys;
        bool open = false;
        if (is_padding(attention->mask)) {
            int64_t size = literal_get_int(attention->key_sizes, batch);
            last = size < 0 ? 0 : size < keys ? size : keys;
            open = query >= literal_get_int(attention->query_sizes, batch);
        }
        if (attention->mask == MASK_CAUSAL || attention->mask == MASK_PADDING_CAUSAL) {
            last = query + 1 < last ? query + 1 : last;
        }
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < last; k++) {
            line[k] *= attention->scale;
            if (attention->bias != NULL) {
                line[k] +=
                    literal_get_double(attention->bias, bias_at + k * bias_strides[rank - 1]);
            }
            most = line[k] > most || isnan(line[k]) ? line[k] : most;
        }
        for (int64_t k = 0; k < last; k++) {
            line[k] = exp(line[k] - most);
            sum += line[k];
        }
        for (int64_t k = 0; k < keys; k++) {
            line[k] = k < last ? line[k] / sum : 0;
        }
        open |= last == 0;
        if (open) {
            for (int64_t k = 0; k < keys; k++) {
                literal_mark_unspecified(scores, row * keys + k);
            }
        }
        if (statistics != NULL) {
            literal_set_double(statistics, row, most + log(sum));
            if (open) {
                literal_mark_unspecified(statistics, row);
            }
        }
    }
}

struct literal *custom_attention(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    struct attention attention = {0};
    int64_t bias_strides[SHAPE_MAX_RANK] = {0};
    if (!read_attention(&attention, instruction, err) ||
        !collect(&attention, instruction, operands, err) ||
        !matmul_finish(&attention.first, instruction, err)) {
        return NULL;
    }
    int rank = attention.first.rank;
    const struct shape *score_shape = shape_array(TYPE_F64, rank, attention.first.dimensions);
    bool padding = is_padding(attention.mask);
    int64_t batches = rank > 2 ? attention.first.dimensions[0] : 1;
    if (rank < 2 || rank - 2 != attention.first.batch_count ||
        (attention.bias != NULL &&
         !epilogue_broadcast(score_shape, attention.bias->shape, bias_strides)) ||
        (padding && (literal_elements(attention.query_sizes) != batches ||
                     literal_elements(attention.key_sizes) != batches ||
                     type_is_float(attention.query_sizes->shape->type) ||
                     type_is_float(attention.key_sizes->shape->type)))) {
        return custom_call_fail(instruction, err, "operands that do not fit the scores %s",
                                shape_text(score_shape));
    }
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    bool has_statistics = custom_call_result_count(instruction) == 3;
    struct literal *parts[2] = {0};
    struct literal *scores =
        matmul_dot(&attention.first, evaluation, instruction, score_shape, err);
    bool ok = scores != NULL;
    attention.second.lhs = scores;
    ok = ok && matmul_finish(&attention.second, instruction, err);
    if (ok && (shape == NULL || !shape_is_array(shape) || type_is_complex(shape->type) ||
               shape->rank != attention.second.rank ||
               memcmp(shape->dimensions, attention.second.dimensions,
                      (size_t)shape->rank * sizeof *shape->dimensions) != 0)) {
        custom_call_fail(instruction, err, "the result does not fit the products");
        ok = false;
    }
    if (ok && has_statistics) {
        const struct shape *part = custom_call_result_shape(instruction, 1);
        int64_t keys = score_shape->dimensions[rank - 1];
        ok = shape_is_array(part) && type_is_float(part->type) &&
             shape_elements(part) * keys == shape_elements(score_shape);
        if (!ok) {
            custom_call_fail(instruction, err, "statistics of %s", shape_text(part));
        }
        parts[1] = ok ? literal_create(part, err) : NULL;
        ok = parts[1] != NULL;
    }
    if (ok) {
        softmax(&attention, scores, bias_strides, parts[1]);
        parts[0] = matmul_dot(&attention.second, evaluation, instruction, shape, err);
        ok = parts[0] != NULL;
    }
    for (int i = 0; ok && i < 2; i++) {
        ok = parts[i] == NULL || custom_call_spread(operands, parts[i], err);
    }
    literal_release(scores);
    if (!ok) {
        literal_release(parts[0]);
        literal_release(parts[1]);
        return NULL;
    }
    return custom_call_result_take(instruction, parts, has_statistics ? 2 : 1, err);
}
