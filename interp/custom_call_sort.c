/* Custom calls that order elements: TopK and its approximations, CUB's radix sort.
 *
 * Sources: xla/service/topk_rewriter.cc (TopK), xla/service/gpu/thunk_emitter.cc (__gpu$TopK),
 * xla/hlo/builder/lib/approx_topk.cc (PartialReduce), jax/_src/lax/ann.py (ApproxTopK),
 * xla/backends/gpu/transforms/sort_rewriter.cc (cub_sort). */
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_config.h"
#include "interp/custom_call_internal.h"

/* (x): the values and indices of the largest elements of each line, as many as the result has; the
 * comparator that comes with it says GT. */
struct literal *custom_top_k(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    bool fits = custom_call_operand_is(operands, 0, TYPE_INVALID, -1) && operands->count == 1 &&
                shape_is_tuple(shape) && shape->count == 2 && shape_is_array(shape->elements[0]) &&
                shape_is_array(shape->elements[1]) && shape->elements[1]->type == TYPE_S32 &&
                operands->values[0]->shape->rank > 0 &&
                shape->elements[0]->rank == operands->values[0]->shape->rank &&
                shape->elements[0]->type == operands->values[0]->shape->type &&
                shape_same_dimensions(shape->elements[0], shape->elements[1]);
    int last = fits ? shape->elements[0]->rank - 1 : 0;
    for (int d = 0; fits && d < last; d++) {
        fits = shape->elements[0]->dimensions[d] == operands->values[0]->shape->dimensions[d];
    }
    if (!fits ||
        shape->elements[0]->dimensions[last] > operands->values[0]->shape->dimensions[last]) {
        return custom_call_fail(instruction, err, "to %s", shape_text(shape));
    }
    return eval_topk(evaluation, instruction, operands, err);
}

/* --- radix sort --- */

struct item {
    uint64_t key; /* grows in the order of the result */
    int64_t index;
};

/* The key's bits as an integer in the order of values: floats from −NaN to NaN, ±0 in order. */
static uint64_t ordered(const struct literal *keys, int64_t index)
{
    enum type type = keys->shape->type;
    int bits = type_bits(type);
    uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t value = literal_get_bits(keys, index) & mask, sign = UINT64_C(1) << (bits - 1);
    if (type_is_float(type)) {
        return (value & sign) != 0 ? ~value & mask : value | sign;
    }
    return type_kind(type) == KIND_SIGNED ? value ^ sign : value;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_descending(const struct instruction *instruction, bool *failed, struct error *err)
{
    const struct attr *attr = attr_get(instruction, ATTR_BACKEND_CONFIG);
    const char *text = attr == NULL ? "" : attr->bytes.data;
    if (strchr(text, '"') == NULL) { /* attributes of a typed call, or nothing */
        return ffi_attribute(instruction, "descending", 0) != 0;
    }
    struct config config;
    config_read(&config, instruction, err);
    bool descending = config_bool(&config, "descending", false, err);
    *failed = config.failed;
    config_finish(&config);
    return descending || ffi_attribute(instruction, "descending", 0) != 0;
}

/* (keys[, values]) → (keys[, values], workspace), along the last dimension. */
struct literal *custom_radix_sort(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    bool fits = operands->count >= 1 && operands->count <= 2;
    for (int i = 0; fits && i < operands->count; i++) {
        const struct shape *part = custom_call_result_shape(instruction, i);
        const struct shape *shape = operands->values[i]->shape;
        fits = shape_is_array(shape) && shape->rank > 0 && part != NULL &&
               shape_compatible(part, shape) && !shape_is_dynamic(shape) &&
               shape_same_dimensions(shape, operands->values[0]->shape);
    }
    bool failed = false;
    bool descending = fits && is_descending(instruction, &failed, err);
    if (failed) {
        return NULL;
    }
    const struct shape *shape = fits ? operands->values[0]->shape : NULL;
    if (!fits || type_is_complex(shape->type) || type_bits(shape->type) > 64) {
        return custom_call_fail(instruction, err, "operands or results do not fit");
    }
    int64_t size = shape->dimensions[shape->rank - 1];
    int64_t lines = size > 0 ? shape_elements(shape) / size : 0;
    struct item *items = malloc(((size_t)size + 1) * sizeof *items);
    struct literal *parts[2] = {0};
    bool ok = items != NULL || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for a sort");
    for (int i = 0; ok && i < operands->count; i++) {
        parts[i] = literal_create(operands->values[i]->shape, err);
        ok = parts[i] != NULL;
    }
    for (int64_t line = 0; ok && line < lines; line++) {
        for (int64_t i = 0; i < size; i++) {
            uint64_t key = ordered(operands->values[0], line * size + i);
            items[i] = (struct item){descending ? ~key : key, i};
        }
        qsort(items, (size_t)size, sizeof *items, compare_items);
        for (int p = 0; p < operands->count; p++) {
            size_t bytes = (size_t)type_bytes(parts[p]->shape->type);
            const char *from = literal_data(operands->values[p]);
            char *to = literal_data(parts[p]);
            for (int64_t i = 0; i < size; i++) {
                memcpy(to + (size_t)(line * size + i) * bytes,
                       from + (size_t)(line * size + items[i].index) * bytes, bytes);
            }
        }
    }
    free(items);
    for (int p = 0; ok && p < operands->count; p++) {
        ok = custom_call_spread(operands, parts[p], err);
    }
    if (!ok) {
        literal_release(parts[0]);
        literal_release(parts[1]);
        return NULL;
    }
    return custom_call_result_take(instruction, parts, operands->count, err);
}
