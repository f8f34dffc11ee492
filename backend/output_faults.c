/* The table of faults in outputs, and planting one. */
#include "backend/output_faults.h"

#include <stdlib.h>
#include <string.h>

#include "backend/output_faults_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/shape.h"

const struct output_fault output_faults[] = {
#define OUTPUT_FAULT(name, scope, takes, earlier, summary) \
    {#name, OUTPUT_FAULT_##scope, OUTPUT_TAKES_##takes, earlier, summary, OUTPUT_##scope(name)},
#define OUTPUT_ARRAY(name) fault_##name, NULL
#define OUTPUT_RESULT(name) NULL, fault_##name
#include "backend/output_faults.def"
#undef OUTPUT_ARRAY
#undef OUTPUT_RESULT
};
const int output_fault_count = sizeof output_faults / sizeof *output_faults;

const struct output_fault *output_fault_find(const char *name)
{
    for (int i = 0; i < output_fault_count; i++) {
        if (strcmp(output_faults[i].name, name) == 0) {
            return &output_faults[i];
        }
    }
    return NULL;
}

/* --- places --- */

void output_draw_block(struct output_place *place, int64_t *first, int64_t *count)
{
    int widest = 0;
    while (widest < 12 && ((int64_t)2 << widest) * 2 <= place->elements) {
        widest++;
    }
    int64_t size = (int64_t)1 << output_draw(&place->rng, widest + 1);
    *first = output_draw(&place->rng, (place->elements + size - 1) / size) * size;
    *count = place->elements - *first < size ? place->elements - *first : size;
}

int output_draw_dimension(struct output_place *place)
{
    int found[SHAPE_MAX_RANK], count = 0;
    const struct shape *shape = place->array->shape;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dimensions[i] > 1) {
            found[count++] = i;
        }
    }
    return count > 0 ? found[output_draw(&place->rng, count)] : -1;
}

void output_around(const struct output_place *place, int dimension, int64_t *outer, int64_t *rows,
                   int64_t *inner)
{
    const struct shape *shape = place->array->shape;
    *outer = *inner = 1;
    for (int i = 0; i < dimension; i++) {
        *outer *= shape->dimensions[i];
    }
    for (int i = dimension + 1; i < shape->rank; i++) {
        *inner *= shape->dimensions[i];
    }
    *rows = shape->dimensions[dimension];
}

static char *element_at(const struct output_place *place, int64_t index)
{
    return (char *)literal_data(place->array) + (size_t)index * place->element_bytes;
}

void output_move(struct output_place *place, int64_t from, int64_t to, int64_t count)
{
    memmove(element_at(place, to), element_at(place, from), (size_t)count * place->element_bytes);
}

void output_clear(struct output_place *place, int64_t first, int64_t count)
{
    memset(element_at(place, first), 0, (size_t)count * place->element_bytes);
}

void output_say_run(struct output_place *place, int64_t first, int64_t count)
{
    if (count == 1) {
        text_append(place->what, "element ");
        output_say_element(place, first);
    } else {
        text_printf(place->what, "elements %lld to %lld", (long long)first,
                    (long long)(first + count - 1));
    }
}

void output_say_element(struct output_place *place, int64_t index)
{
    shape_print_index(place->array->shape, index, place->what);
}

/* --- planting --- */

static int long_dimensions(const struct shape *shape)
{
    int count = 0;
    for (int i = 0; i < shape->rank; i++) {
        count += shape->dimensions[i] > 1;
    }
    return count;
}

static bool takes_array(const struct output_fault *fault, const struct shape *shape)
{
    if (!shape_is_array(shape) || shape_elements(shape) == 0) {
        return false;
    }
    enum type type = shape->type;
    bool floats = type_is_float(type_part(type));
    switch (fault->takes) {
    case OUTPUT_TAKES_ELEMENTS:
        return true;
    case OUTPUT_TAKES_SEVERAL:
        return shape_elements(shape) > 1;
    case OUTPUT_TAKES_MATRICES:
        return long_dimensions(shape) > 1;
    case OUTPUT_TAKES_NUMBERS:
        return floats || type_is_integer(type);
    case OUTPUT_TAKES_FLOATS:
        return floats;
    case OUTPUT_TAKES_SIGNED:
        return floats || type_kind(type) == KIND_SIGNED;
    case OUTPUT_TAKES_COMPLEX:
        return type_is_complex(type);
    case OUTPUT_TAKES_INTEGERS:
        return type_is_integer(type);
    default:
        return false;
    }
}

static bool any_array(const struct output_fault *fault, const struct shape *shape)
{
    bool any = takes_array(fault, shape);
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        any |= any_array(fault, shape->elements[i]);
    }
    return any;
}

/* Collects the arrays with elements; there is room for shape_leaves of them. */
static void collect_arrays(const struct shape *shape, const struct shape **arrays, int *count)
{
    if (shape_is_array(shape) && shape_elements(shape) > 0) {
        arrays[(*count)++] = shape;
    }
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        collect_arrays(shape->elements[i], arrays, count);
    }
}

static bool has_twins(const struct shape *shape)
{
    const struct shape **arrays = memory_alloc(((size_t)shape_leaves(shape) + 1) * sizeof *arrays);
    int count = 0;
    bool twins = false;
    collect_arrays(shape, arrays, &count);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++) {
            twins |= shape_compatible(arrays[i], arrays[k]);
        }
    }
    free(arrays);
    return twins;
}

bool output_fault_applies(const struct output_fault *fault, const struct shape *result,
                          int device_count)
{
    return fault->takes == OUTPUT_TAKES_DEVICES ? device_count > 1
           : fault->takes == OUTPUT_TAKES_TWINS ? has_twins(result)
                                                : any_array(fault, result);
}

static bool change_array(const struct output_fault *fault, struct literal *array,
                         const struct literal *earlier, const struct rng *rng, struct text *what)
{
    enum type type = array->shape->type, part = type_part(type);
    int64_t elements = literal_elements(array), numbers = elements * (part == type ? 1 : 2);
    struct output_place place = {
        .array = array,
        .numbers = literal_view(array, shape_array(part, 1, &numbers)),
        .earlier = earlier,
        .type = part,
        .elements = elements,
        .count = numbers,
        .element_bytes = (size_t)type_bytes(type),
        .rng = *rng,
        .what = what,
    };
    bool changed = fault->change_array(&place);
    literal_release(place.numbers);
    return changed;
}

/* The arrays of all devices in an order that the seed draws, until one has a place. */
static bool change_some_array(const struct output_fault *fault, struct output_faults *outputs,
                              struct literal *const *earlier)
{
    int leaves = shape_leaves(outputs->outputs[0]->shape), places = leaves * outputs->device_count;
    int *order = memory_alloc(((size_t)places + 1) * sizeof *order);
    for (int i = 0; i < places; i++) {
        int k = (int)output_draw(&outputs->rng, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    bool changed = false;
    for (int i = 0; i < places && !changed; i++) {
        int device = order[i] / leaves, leaf = order[i] % leaves;
        struct literal *array = literal_leaf(outputs->outputs[device], leaf);
        if (takes_array(fault, array->shape)) {
            const struct literal *before =
                earlier != NULL ? literal_leaf(earlier[device], leaf) : NULL;
            changed = change_array(fault, array, before, &outputs->rng, outputs->what);
        }
        if (changed && leaves > 1) {
            text_printf(outputs->what, " of output %d", leaf);
        }
        if (changed && outputs->device_count > 1) {
            text_printf(outputs->what, " on device %d", device);
        }
    }
    free(order);
    return changed;
}

bool output_fault_plant(const struct output_fault *fault, uint64_t seed, struct literal **outputs,
                        struct literal *const *earlier, int device_count, struct text *what)
{
    struct output_faults own = {.device_count = device_count, .outputs = outputs, .what = what};
    struct error ignored = {0};
    if (!output_fault_applies(fault, outputs[0]->shape, device_count)) {
        return false;
    }
    rng_init(&own.rng, seed);
    for (int d = 0; d < device_count; d++) {
        struct literal *copy = literal_own_take(literal_retain(outputs[d]), &ignored);
        if (copy == NULL) {
            return false;
        }
        literal_release(outputs[d]);
        outputs[d] = copy;
    }
    return fault->scope == OUTPUT_FAULT_RESULT ? fault->change_result(&own)
                                               : change_some_array(fault, &own, earlier);
}
