/* custom-call: a table of targets whose meaning is known. All others are UNIMPLEMENTED by name.
 *
 * Sources: xla/service/spmd (Sharding, SPMD…), xla/service/host_offload (placement, MoveTo…),
 * xla/service/spmd/shardy (xla.sdy.…), xla/service/dynamic_padder.cc (SliceToDynamic),
 * xla/hlo/transforms (TopK), xla/service/cpu/onednn_layer_norm.cc, xla/service/cpu (GetRngSeed). */
#include "interp/custom_call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/floats.h"
#include "interp/double_double.h"
#include "interp/eval.h"

struct custom_call {
    const char *target;
    eval_function *evaluate;
};

/* The operand, for marks that say where a value shall lie and how it is split. On one device the
 * whole array is its own shard. */
static struct literal *identity(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    if (operands->count < 1 || !shape_compatible(instruction->shape, operands->values[0]->shape)) {
        error_set(err, ERROR_UNIMPLEMENTED, "custom call to %s between shapes that differ",
                  attr_string(instruction, ATTR_CUSTOM_CALL_TARGET));
        return NULL;
    }
    return operand_pass(operands, 0);
}

/* All arrays of a value with several operands, one a leaf. */
static struct literal *identities(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    if (shape_is_tuple(instruction->shape) && instruction->shape->count == 0) {
        return literal_create(instruction->shape, err);
    }
    if (!shape_is_tuple(instruction->shape) || operands->count == 1) {
        return identity(evaluation, instruction, operands, err);
    }
    bool fits = operands->count == instruction->shape->count;
    for (int i = 0; fits && i < operands->count; i++) {
        fits = shape_compatible(instruction->shape->elements[i], operands->values[i]->shape);
    }
    if (!fits) {
        error_set(err, ERROR_UNIMPLEMENTED, "custom call to %s between shapes that differ",
                  attr_string(instruction, ATTR_CUSTOM_CALL_TARGET));
        return NULL;
    }
    struct literal **elements = memory_alloc((size_t)(operands->count + 1) * sizeof *elements);
    for (int i = 0; i < operands->count; i++) {
        elements[i] = operand_pass(operands, i);
    }
    struct literal *tuple = literal_tuple_take(instruction->shape, elements);
    free(elements);
    return tuple;
}

/* Between an array and a buffer that holds it. */
static struct literal *pin(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *from = operands->count == 1 ? operands->values[0]->shape : NULL;
    const struct shape *to = instruction->shape;
    const struct shape *inner =
        from != NULL && from->type == TYPE_BUFFER ? from->elements[0] : from;
    const struct shape *outer = to->type == TYPE_BUFFER ? to->elements[0] : to;
    if (inner == NULL || !shape_is_array(inner) || !shape_compatible(inner, outer)) {
        error_set(err, ERROR_UNIMPLEMENTED, "custom call to %s between shapes that differ",
                  attr_string(instruction, ATTR_CUSTOM_CALL_TARGET));
        return NULL;
    }
    return literal_view(operands->values[0], to);
}

/* The seed that the run was given; nobody but XLA knows its own. */
static struct literal *rng_seed(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)operands;
    struct literal *seed = literal_zero(instruction->shape, err);
    if (seed != NULL) {
        literal_set_int(seed, 0, (int64_t)evaluation->options.seed);
        literal_mark_all_unspecified(seed, err);
    }
    return seed;
}

/* (array, size of each dimension…): the array as one of those run-time sizes. */
static struct literal *slice_to_dynamic(struct evaluation *evaluation,
                                        const struct instruction *instruction,
                                        struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    const struct literal *array = operands->count > 0 ? operands->values[0] : NULL;
    if (array == NULL || operands->count != shape->rank + 1 || shape->dynamic == NULL ||
        array->shape->type != shape->type || array->shape->rank != shape->rank ||
        memcmp(array->shape->dimensions, shape->dimensions,
               (size_t)shape->rank * sizeof *shape->dimensions) != 0) {
        error_set(err, ERROR_UNIMPLEMENTED, "SliceToDynamic to %s", shape_text(shape));
        return NULL;
    }
    struct literal *result = literal_zero(shape, err);
    if (result == NULL) {
        return NULL;
    }
    for (int d = 0; d < shape->rank; d++) {
        int64_t size = literal_get_int(operands->values[d + 1], 0);
        int64_t bound = shape->dimensions[d];
        if (shape->dynamic[d]) {
            result->dynamic_sizes[d] = size < 0 ? 0 : size > bound ? bound : size;
        }
    }
    size_t bytes = (size_t)type_bytes(shape->type);
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t i = 0; i < literal_elements(result); i++) {
        bool inside = true;
        for (int d = 0; d < shape->rank; d++) {
            inside &= index[d] < result->dynamic_sizes[d];
        }
        if (inside) {
            memcpy((char *)literal_data(result) + (size_t)i * bytes,
                   (const char *)literal_data(array) + (size_t)i * bytes, bytes);
        }
        if (!inside || literal_is_unspecified(array, i)) {
            literal_mark_unspecified(result, i);
        }
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == shape->dimensions[d]; d--) {
            index[d] = 0;
        }
    }
    return result;
}

/* ε as oneDNN's configuration has it: the bits of an f32; 0 when it does not say. */
static double layer_norm_epsilon(const struct instruction *instruction)
{
    const struct attr *config = attr_get(instruction, ATTR_BACKEND_CONFIG);
    const char *key = "\"epsilon_typecast\":";
    const char *found = config == NULL ? NULL : strstr(config->bytes.data, key);
    if (found == NULL) {
        return 0;
    }
    found += strlen(key);
    found += strspn(found, " \"");
    return float_to_double(TYPE_F32, strtoull(found, NULL, 10));
}

/* (x, scale, shift): each row of the last dimension normalised; computed as batchnorm.c does. */
static struct literal *layer_norm(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    const struct shape *shape = instruction->shape;
    bool fits = operands->count == 3 && shape_is_array(shape) && type_is_float(shape->type) &&
                shape->rank > 0 && shape_same_dimensions(shape, operands->values[0]->shape);
    int64_t size = fits ? shape->dimensions[shape->rank - 1] : 0;
    for (int i = 1; i < 3 && fits; i++) {
        fits = type_is_float(operands->values[i]->shape->type) &&
               literal_elements(operands->values[i]) == size;
    }
    if (!fits) {
        error_set(err, ERROR_UNIMPLEMENTED, "__onednn$layernorm to %s", shape_text(shape));
        return NULL;
    }
    struct literal *result = literal_create(shape, err);
    struct double_double n = dd_from((double)size),
                         epsilon = dd_from(layer_norm_epsilon(instruction));
    const struct literal *x = operands->values[0];
    for (int64_t row = 0; result != NULL && row < literal_elements(result); row += size) {
        struct double_double sum = {0}, squares = {0};
        for (int64_t i = row; i < row + size; i++) {
            sum = dd_add(sum, dd_from(literal_get_double(x, i)));
        }
        struct double_double mean = dd_divide(sum, n);
        for (int64_t i = row; i < row + size; i++) {
            struct double_double deviation = dd_subtract(dd_from(literal_get_double(x, i)), mean);
            squares = dd_add(squares, dd_multiply(deviation, deviation));
        }
        struct double_double deviation = dd_sqrt(dd_add(dd_divide(squares, n), epsilon));
        for (int64_t i = row; i < row + size; i++) {
            struct double_double value = dd_subtract(dd_from(literal_get_double(x, i)), mean);
            value = dd_divide(value, deviation);
            value = dd_multiply(value, dd_from(literal_get_double(operands->values[1], i - row)));
            value = dd_add(value, dd_from(literal_get_double(operands->values[2], i - row)));
            bool finite = isfinite(value.high) && isfinite(value.low);
            literal_set_double(result, i, finite ? dd_round(shape->type, value) : NAN);
        }
    }
    for (int i = 0; i < 3 && result != NULL; i++) {
        if (literal_has_unspecified(operands->values[i])) {
            literal_mark_all_unspecified(result, err);
        }
    }
    return result;
}

/* (x): the values and indices of the largest elements of each line, as many as the result has; the
 * comparator that comes with it says GT. */
static struct literal *largest(struct evaluation *evaluation, const struct instruction *instruction,
                               struct operands *operands, struct error *err)
{
    const struct shape *shape = instruction->shape;
    bool fits = operands->count == 1 && shape_is_tuple(shape) && shape->count == 2 &&
                shape_is_array(shape->elements[0]) && operands->values[0]->shape->rank > 0 &&
                shape->elements[0]->rank == operands->values[0]->shape->rank &&
                shape->elements[0]->type == operands->values[0]->shape->type &&
                shape_same_dimensions(shape->elements[0], shape->elements[1]);
    int last = fits ? shape->elements[0]->rank - 1 : 0;
    if (!fits ||
        shape->elements[0]->dimensions[last] > operands->values[0]->shape->dimensions[last]) {
        error_set(err, ERROR_UNIMPLEMENTED, "TopK to %s", shape_text(shape));
        return NULL;
    }
    return eval_topk(evaluation, instruction, operands, err);
}

static const struct custom_call custom_calls[] = {
    {"AssumeGatherIndicesInBound", identity},
    {"GetRngSeed", rng_seed},
    {"LayoutConstraint", identity},
    {"MoveToDevice", identity},
    {"MoveToHost", identity},
    {"Pin", pin},
    {"SPMDFullToShardShape", identity},
    {"SPMDShardToFullShape", identity},
    {"SetBound", identity},
    {"Sharding", identities},
    {"SliceToDynamic", slice_to_dynamic},
    {"TopK", largest},
    {"Unpin", pin},
    {"__gpu$TopK", largest},
    {"__onednn$layernorm", layer_norm},
    {"annotate_device_placement", identity},
    {"xla.sdy.FuncResultSharding", identities},
    {"xla.sdy.GlobalToLocalShape", identities},
    {"xla.sdy.LocalToGlobalShape", identities},
    {"xla.sdy.PropagationBarrier", identities},
    {"xla.sdy.ShardingGroup", identities},
};

static const struct custom_call *find(const char *target)
{
    for (size_t i = 0; i < sizeof custom_calls / sizeof *custom_calls; i++) {
        if (strcmp(custom_calls[i].target, target) == 0) {
            return &custom_calls[i];
        }
    }
    return NULL;
}

bool custom_call_is_known(const char *target)
{
    return find(target) != NULL;
}

struct literal *eval_custom_call(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
    const struct custom_call *known = find(target);
    if (known == NULL) {
        error_set(err, ERROR_UNIMPLEMENTED, "custom call to %s", target);
        return NULL;
    }
    return known->evaluate(evaluation, instruction, operands, err);
}
