/* A module of a pipeline on the arrays that all of them are given: its arguments are made from
 * them, and its results put together again. */
#include <stdlib.h>

#include "compare/devices.h"
#include "compare/passes_internal.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/sharding.h"
#include "interp/interp.h"

/* --- halves --- */

/* f64 = high + low, both f32; integers by their bits. */
static struct literal *take_half(const struct literal *whole, const struct shape *shape,
                                 enum pass_part part, struct error *err)
{
    struct literal *half = literal_create(shape, err);
    int64_t count = half != NULL ? literal_elements(half) : 0;
    for (int64_t i = 0; i < count; i++) {
        if (whole->shape->type == TYPE_F64) {
            double value = literal_get_double(whole, i);
            float high = (float)value;
            double low = high - high == 0 ? value - (double)high : 0;
            literal_set_double(half, i, part == PART_HIGH ? (double)high : low);
        } else {
            uint64_t bits = literal_get_bits(whole, i);
            literal_set_bits(half, i, part == PART_HIGH ? bits >> 32 : bits & 0xffffffffu);
        }
        if (literal_is_unspecified(whole, i)) {
            literal_mark_unspecified(half, i);
        }
    }
    return half;
}

static struct literal *join_halves(const struct shape *shape, const struct literal *low,
                                   const struct literal *high, struct error *err)
{
    struct literal *whole = literal_create(shape, err);
    int64_t count = whole != NULL ? literal_elements(whole) : 0;
    for (int64_t i = 0; i < count; i++) {
        if (shape->type == TYPE_F64) {
            literal_set_double(whole, i, literal_get_double(high, i) + literal_get_double(low, i));
        } else {
            literal_set_bits(whole, i,
                             literal_get_bits(high, i) << 32 |
                                 (literal_get_bits(low, i) & 0xffffffffu));
        }
        if (literal_is_unspecified(low, i) || literal_is_unspecified(high, i)) {
            literal_mark_unspecified(whole, i);
        }
    }
    return whole;
}

/* --- arguments --- */

/* The same data under the shape that the module gives it. */
static struct literal *reshaped(const struct literal *literal, const struct shape *shape)
{
    return literal->shape == shape || !shape_is_array(shape) || literal->dynamic_sizes != NULL
               ? literal_retain(literal)
               : literal_view(literal, shape);
}

struct leaf_maker {
    const struct pass_form *form;
    struct literal *const *arrays;
    int device, leaf; /* the next one */
};

static struct literal *make_leaf(void *context, const struct shape *shape, struct error *err)
{
    struct leaf_maker *maker = context;
    const struct pass_form *form = maker->form;
    const struct pass_leaf *from = &form->leaves[maker->leaf++];
    int device = maker->device, set = device < form->frame->device_count ? device : 0;
    const struct literal *array = maker->arrays[set * form->frame->parameter_count + from->array];
    if (form->in_pieces) {
        return tiling_split(&form->frame->parameter_tilings[from->array], array, device,
                            PADDING_HOSTILE, err);
    }
    return from->part == PART_WHOLE ? reshaped(array, shape)
                                    : take_half(array, shape, from->part, err);
}

void pass_arguments_release(struct literal **arguments, int count)
{
    for (int i = 0; arguments != NULL && i < count; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
}

struct literal **pass_form_arguments(const struct pass_form *form, struct literal *const *arrays,
                                     int *count, struct error *err)
{
    int each = form->module->entry->parameter_count;
    *count = each * form->device_count;
    struct literal **arguments = memory_zalloc(((size_t)*count + 1) * sizeof *arguments);
    for (int d = 0; d < form->device_count; d++) {
        struct leaf_maker maker = {.form = form, .arrays = arrays, .device = d};
        for (int i = 0; i < each; i++) {
            const struct shape *shape = form->module->entry->parameters[i]->shape;
            struct literal *value = literal_build(shape, make_leaf, &maker, err);
            if (value == NULL) {
                pass_arguments_release(arguments, *count);
                return NULL;
            }
            arguments[d * each + i] = value;
        }
    }
    return arguments;
}

/* --- results --- */

static struct literal *tuple_of(struct literal **elements, int count)
{
    const struct shape **shapes = memory_alloc(((size_t)count + 1) * sizeof *shapes);
    for (int i = 0; i < count; i++) {
        shapes[i] = elements[i]->shape;
    }
    struct literal *tuple = literal_tuple_take(shape_tuple(count, shapes), elements);
    free(shapes);
    return tuple;
}

static void print_conflict(const struct replica_conflict *conflict, int leaf, struct text *out)
{
    if (out != NULL && out->size == 0 && conflict->count > 0) {
        text_printf(out,
                    "devices %d and %d should hold the same part of output %d, but %lld of its "
                    "elements differ, the first at %lld",
                    conflict->first, conflict->second, leaf, (long long)conflict->count,
                    (long long)conflict->index);
    }
}

/* Array i of the frame from the results of all devices that hold parts of it. */
static struct literal *take_result(const struct pass_form *form, int i,
                                   struct literal *const *results, int device,
                                   struct text *conflict, struct error *err)
{
    const struct pass_frame *frame = form->frame;
    const struct shape *shape = shape_without_layout(frame->results[i].shape);
    if (form->in_pieces) {
        struct literal **pieces = memory_alloc((size_t)form->device_count * sizeof *pieces);
        for (int d = 0; d < form->device_count; d++) {
            pieces[d] = literal_leaf(results[d], i);
        }
        struct replica_conflict found = {0};
        struct literal *whole = shape_is_array(shape)
                                    ? tiling_join(&frame->result_tilings[i], pieces, &found, err)
                                    : literal_retain(pieces[0]);
        print_conflict(&found, i, conflict);
        free(pieces);
        return whole;
    }
    int leaf = 0;
    while (form->results[leaf].array != i) {
        leaf++;
    }
    struct literal *value = literal_leaf(results[device], leaf);
    return form->results[leaf].part == PART_WHOLE
               ? reshaped(value, shape)
               : join_halves(shape, value, literal_leaf(results[device], leaf + 1), err);
}

static struct literal *take_results(const struct pass_form *form, struct literal *const *results,
                                    int device, struct text *conflict, struct error *err)
{
    int count = form->frame->result_count;
    struct literal **elements = memory_zalloc(((size_t)count + 1) * sizeof *elements);
    struct literal *tuple = NULL;
    int made = 0;
    while (made < count) {
        elements[made] = take_result(form, made, results, device, conflict, err);
        if (elements[made] == NULL) {
            break;
        }
        made++;
    }
    if (made == count) {
        tuple = tuple_of(elements, count);
    }
    for (int i = 0; tuple == NULL && i < made; i++) {
        literal_release(elements[i]);
    }
    free(elements);
    return tuple;
}

static bool evaluate_devices(const struct pass_form *form, struct literal *const *arguments,
                             int each, struct literal **results,
                             const struct interp_options *interp, struct error *err)
{
    struct interp_options options = *interp;
    options.replica_count = form->replica_count;
    options.partition_count = form->partition_count;
    const struct module *module = form->lowered != NULL ? form->lowered : form->module;
    if (form->device_count == 1) {
        results[0] = interp_evaluate(module, arguments, each, &options, err);
        return results[0] != NULL;
    }
    struct literal *const **sets = memory_alloc((size_t)form->device_count * sizeof *sets);
    for (int d = 0; d < form->device_count; d++) {
        sets[d] = arguments + (ptrdiff_t)d * each;
    }
    bool good =
        interp_evaluate_devices(module, form->device_count, sets, each, results, &options, err);
    free(sets);
    return good;
}

struct literal *pass_form_evaluate(const struct pass_form *form, struct literal *const *arrays,
                                   const struct interp_options *interp, struct text *conflict,
                                   struct error *err)
{
    int count, each = form->module->entry->parameter_count;
    struct literal **arguments = pass_form_arguments(form, arrays, &count, err);
    if (arguments == NULL) {
        return NULL;
    }
    struct literal **results = memory_zalloc((size_t)form->device_count * sizeof *results);
    struct literal *joined = NULL;
    if (evaluate_devices(form, arguments, each, results, interp, err)) {
        int sets = form->frame->device_count;
        struct literal **parts = memory_zalloc((size_t)sets * sizeof *parts);
        bool good = true;
        for (int d = 0; d < sets && good; d++) {
            parts[d] = take_results(form, results, d, conflict, err);
            good = parts[d] != NULL;
        }
        joined = good ? devices_join(parts, sets) : NULL;
        for (int d = 0; d < sets; d++) {
            literal_release(parts[d]);
        }
        free(parts);
    }
    for (int d = 0; d < form->device_count; d++) {
        literal_release(results[d]);
    }
    free(results);
    pass_arguments_release(arguments, count);
    return joined;
}
