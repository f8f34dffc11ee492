/* The forms in which the modules of one pipeline take the same arguments and give the same results:
 * tuples come and go, layouts change, arrays are split over devices or into halves of 32 bits,
 * parameters that nobody uses are dropped. */
#include <stdlib.h>
#include <string.h>

#include "backend/pieces.h"
#include "compare/devices.h"
#include "compare/manual.h"
#include "compare/passes_internal.h"
#include "compare/spmd.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/sharding.h"
#include "interp/interp.h"

/* --- the frame --- */

struct arrays {
    struct pass_array *list;
    size_t count, capacity;
};

static void add_arrays(struct arrays *arrays, const struct shape *shape, const char *name)
{
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            add_arrays(arrays, shape->elements[i], name);
        }
        return;
    }
    arrays->list = grow(arrays->list, arrays->count, &arrays->capacity, sizeof *arrays->list);
    arrays->list[arrays->count++] = (struct pass_array){shape, name};
}

static struct arrays parameter_arrays(const struct module *module)
{
    struct arrays arrays = {0};
    for (int i = 0; i < module->entry->parameter_count; i++) {
        const struct instruction *parameter = module->entry->parameters[i];
        add_arrays(&arrays, parameter->shape, parameter->name);
    }
    return arrays;
}

static struct arrays result_arrays(const struct module *module)
{
    struct arrays arrays = {0};
    add_arrays(&arrays, module->entry->root->shape, "");
    return arrays;
}

static int at_least_one(int64_t count)
{
    return count > 1 && count <= DEVICES_MOST ? (int)count : 1;
}

void pass_frame_make(const struct module *module, struct pass_frame *frame)
{
    struct arrays parameters = parameter_arrays(module), results = result_arrays(module);
    *frame = (struct pass_frame){
        .module = module,
        .replica_count = 1,
        .partition_count = 1,
        .partitions_to_come = 1,
        .parameters = parameters.list,
        .parameter_count = (int)parameters.count,
        .results = results.list,
        .result_count = (int)results.count,
    };
    int partitions = at_least_one(spmd_partition_count(module));
    bool matter = devices_matter(module);
    /* What looks at its devices outside of manual regions is partitioned already. */
    if (!matter || module_has_manual_regions(module) || module->config.partition_count <= 1) {
        frame->partitions_to_come = partitions;
    } else {
        frame->partition_count = partitions;
    }
    if (matter) {
        frame->replica_count = at_least_one(module->config.replica_count);
    }
    frame->device_count = frame->replica_count * frame->partition_count;
}

static void drop_tilings(struct pass_frame *frame)
{
    for (int i = 0; frame->parameter_tilings != NULL && i < frame->parameter_count; i++) {
        tiling_finish(&frame->parameter_tilings[i]);
    }
    for (int i = 0; frame->result_tilings != NULL && i < frame->result_count; i++) {
        tiling_finish(&frame->result_tilings[i]);
    }
    free(frame->parameter_tilings);
    free(frame->result_tilings);
    frame->parameter_tilings = frame->result_tilings = NULL;
}

void pass_frame_finish(struct pass_frame *frame)
{
    drop_tilings(frame);
    free(frame->parameters);
    free(frame->results);
    *frame = (struct pass_frame){0};
}

/* --- matching arrays --- */

/* Equal dimensions, those of size one aside. */
static bool same_but_ones(const struct shape *a, const struct shape *b)
{
    int i = 0, k = 0;
    if (shape_is_dynamic(a) || shape_is_dynamic(b)) {
        return false;
    }
    for (;;) {
        while (i < a->rank && a->dimensions[i] == 1) {
            i++;
        }
        while (k < b->rank && b->dimensions[k] == 1) {
            k++;
        }
        if (i == a->rank || k == b->rank) {
            return i == a->rank && k == b->rank;
        }
        if (a->dimensions[i++] != b->dimensions[k++]) {
            return false;
        }
    }
}

/* The same elements in the same order? */
static bool is_same_array(const struct shape *a, const struct shape *b)
{
    return shape_compatible(a, b) ||
           (shape_is_array(a) && a->type == b->type && same_but_ones(a, b));
}

/* Two arrays of 32 bits that stand for one of 64: the low half first, as TPUs have it. */
static bool are_halves(const struct shape *whole, const struct pass_array *pair)
{
    const struct shape *low = pair[0].shape, *high = pair[1].shape;
    bool integers = (whole->type == TYPE_S64 || whole->type == TYPE_U64) &&
                    (low->type == TYPE_U32 || low->type == TYPE_S32) &&
                    (high->type == TYPE_U32 || high->type == TYPE_S32);
    return (integers ||
            (whole->type == TYPE_F64 && low->type == TYPE_F32 && high->type == TYPE_F32)) &&
           shape_same_dimensions(whole, low) && shape_same_dimensions(whole, high);
}

/* Each array of the module in order, each of the frame used once: as it is, or in halves. */
static bool match_in_order(const struct pass_array *frame, int frame_count,
                           const struct arrays *own, struct pass_leaf *leaves)
{
    size_t at = 0;
    for (int i = 0; i < frame_count; i++) {
        if (at < own->count && is_same_array(frame[i].shape, own->list[at].shape)) {
            leaves[at++] = (struct pass_leaf){i, PART_WHOLE};
        } else if (at + 1 < own->count && are_halves(frame[i].shape, &own->list[at])) {
            leaves[at++] = (struct pass_leaf){i, PART_LOW};
            leaves[at++] = (struct pass_leaf){i, PART_HIGH};
        } else {
            return false;
        }
    }
    return at == own->count;
}

/* Parameters that nobody used are gone; the others still have their names and their order. */
static bool match_by_name(const struct pass_array *frame, int frame_count, const struct arrays *own,
                          struct pass_leaf *leaves)
{
    int next = 0;
    for (size_t at = 0; at < own->count; at++) {
        while (next < frame_count && (strcmp(frame[next].name, own->list[at].name) != 0 ||
                                      !is_same_array(frame[next].shape, own->list[at].shape))) {
            next++;
        }
        if (next == frame_count) {
            return false;
        }
        leaves[at] = (struct pass_leaf){next++, PART_WHOLE};
    }
    return true;
}

/* --- pieces --- */

static bool has_tile(const struct tiling *tiling, const struct shape *shape)
{
    return shape_compatible(tiling_tile_shape(tiling), shape);
}

static bool fits_tilings(const struct pass_frame *frame, const struct arrays *parameters,
                         const struct arrays *results, int devices)
{
    bool fits = frame->parameter_tilings != NULL &&
                (int)parameters->count == frame->parameter_count &&
                (int)results->count == frame->result_count;
    for (int i = 0; fits && i < frame->parameter_count; i++) {
        fits = has_tile(&frame->parameter_tilings[i], parameters->list[i].shape) &&
               frame->parameter_tilings[i].device_count == devices;
    }
    for (int i = 0; fits && i < frame->result_count; i++) {
        fits = has_tile(&frame->result_tilings[i], results->list[i].shape);
    }
    return fits;
}

static bool take_plan(const struct module *whole, const struct module *module, int devices,
                      struct pass_frame *frame, struct error *err)
{
    struct piece_plan plan;
    if (!piece_plan_make(whole, module, devices, &plan, err)) {
        return false;
    }
    bool fits = plan.parameter_leaf_count == frame->parameter_count &&
                plan.result_leaf_count == frame->result_count;
    for (int i = 0; fits && i < frame->parameter_count; i++) {
        fits = shape_compatible(plan.parameters[i].shape, frame->parameters[i].shape);
    }
    for (int i = 0; fits && i < frame->result_count; i++) {
        fits = shape_compatible(plan.results[i].shape, frame->results[i].shape);
    }
    if (fits) {
        drop_tilings(frame);
        frame->parameter_tilings = plan.parameters;
        frame->result_tilings = plan.results;
    } else {
        piece_plan_finish(&plan);
    }
    return fits;
}

/* The module before the partitioner knows best how it splits: shardings were propagated there. */
static bool find_tilings(const struct module *module, const struct module *previous,
                         const struct arrays *parameters, const struct arrays *results, int devices,
                         struct pass_frame *frame, struct error *err)
{
    return fits_tilings(frame, parameters, results, devices) ||
           (previous != NULL && take_plan(previous, module, devices, frame, NULL)) ||
           take_plan(frame->module, module, devices, frame, err);
}

/* --- forms --- */

static void identity(struct pass_leaf *leaves, int count)
{
    for (int i = 0; i < count; i++) {
        leaves[i] = (struct pass_leaf){i, PART_WHOLE};
    }
}

static void print_arrays(const struct arrays *arrays, struct text *out)
{
    for (size_t i = 0; i < arrays->count && i < 4; i++) {
        text_printf(out, "%s%s", i > 0 ? ", " : "", shape_text(arrays->list[i].shape));
    }
    text_append(out, arrays->count > 4 ? " …" : "");
}

static bool refuse(const struct arrays *own, int count, const char *what, const struct error *plan,
                   struct error *err)
{
    struct text text;
    text_init(&text);
    print_arrays(own, &text);
    error_set(err, ERROR_UNIMPLEMENTED,
              "its %s are other arrays than those of the first module (%zu: %s; there %d)%s%s",
              what, own->count, text.data, count, plan->code != ERROR_NONE ? "; as pieces: " : "",
              plan->message);
    text_finish(&text);
    return false;
}

/* Does the module look at its devices although the first one was whole? Then it is partitioned,
 * even if all it takes is replicated. */
static bool form_in_pieces(const struct module *module, const struct module *previous,
                           const struct arrays *parameters, const struct arrays *results,
                           struct pass_frame *frame, struct pass_form *form, struct error *err)
{
    int devices = at_least_one(module->config.partition_count);
    devices = devices > 1 ? devices : frame->partitions_to_come;
    if (devices <= 1 || frame->device_count != 1 ||
        !find_tilings(module, previous, parameters, results, devices, frame, err)) {
        return false;
    }
    form->in_pieces = true;
    form->is_plain = false;
    form->partition_count = form->device_count = devices;
    identity(form->leaves, frame->parameter_count);
    identity(form->results, frame->result_count);
    return true;
}

/* Runs on all devices, each with whole arrays and with the same result. */
static bool form_with_manual_regions(const struct module *module, const struct arrays *parameters,
                                     const struct arrays *results, const struct pass_frame *frame,
                                     struct pass_form *form, struct error *err)
{
    struct error none = {0};
    if (!match_in_order(frame->parameters, frame->parameter_count, parameters, form->leaves)) {
        return refuse(parameters, frame->parameter_count, "parameters", &none, err);
    }
    if (!match_in_order(frame->results, frame->result_count, results, form->results)) {
        return refuse(results, frame->result_count, "results", &none, err);
    }
    form->partition_count = form->device_count = frame->partitions_to_come;
    form->replica_count = 1;
    form->lowered = module_lower_manual_regions(module, form->partition_count, err);
    return form->lowered != NULL;
}

static bool make_form(const struct module *module, const struct module *previous,
                      const struct arrays *parameters, const struct arrays *results,
                      struct pass_frame *frame, struct pass_form *form, struct error *err)
{
    struct error plan = {0};
    bool splits = frame->partitions_to_come > 1 && module != frame->module;
    if (frame->partitions_to_come > 1 && module_has_manual_regions(module)) {
        return form_with_manual_regions(module, parameters, results, frame, form, err);
    }
    if (splits && devices_matter(module) &&
        form_in_pieces(module, previous, parameters, results, frame, form, &plan)) {
        return true;
    }
    bool takes =
        match_in_order(frame->parameters, frame->parameter_count, parameters, form->leaves) ||
        match_by_name(frame->parameters, frame->parameter_count, parameters, form->leaves);
    bool gives = match_in_order(frame->results, frame->result_count, results, form->results);
    if (takes && gives) {
        form->is_plain = (int)results->count == frame->result_count;
        return true;
    }
    error_clear(&plan);
    if (form_in_pieces(module, previous, parameters, results, frame, form, &plan)) {
        return true;
    }
    return takes ? refuse(results, frame->result_count, "results", &plan, err)
                 : refuse(parameters, frame->parameter_count, "parameters", &plan, err);
}

bool pass_form_make(const struct module *module, const struct module *previous,
                    struct pass_frame *frame, struct pass_form *form, struct error *err)
{
    struct arrays parameters = parameter_arrays(module), results = result_arrays(module);
    int most = 2 * (frame->parameter_count + frame->result_count);
    size_t room = parameters.count + results.count + (size_t)most + 1;
    *form = (struct pass_form){
        .module = module,
        .frame = frame,
        .replica_count = frame->replica_count,
        .partition_count = frame->partition_count,
        .device_count = frame->device_count,
        .leaf_count = (int)parameters.count,
        .result_leaf_count = (int)results.count,
        .leaves = memory_zalloc(room * sizeof *form->leaves),
        .results = memory_zalloc(room * sizeof *form->results),
    };
    bool good = make_form(module, previous, &parameters, &results, frame, form, err);
    free(parameters.list);
    free(results.list);
    if (!good) {
        pass_form_finish(form);
    }
    return good;
}

void pass_form_finish(struct pass_form *form)
{
    free(form->leaves);
    free(form->results);
    module_destroy(form->lowered);
    *form = (struct pass_form){0};
}

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

static struct literal *make_leaf(const struct pass_form *form, int leaf, int device,
                                 struct literal *const *arrays, const struct shape *shape,
                                 struct error *err)
{
    const struct pass_leaf *from = &form->leaves[leaf];
    int set = device < form->frame->device_count ? device : 0;
    const struct literal *array = arrays[set * form->frame->parameter_count + from->array];
    if (form->in_pieces) {
        return tiling_split(&form->frame->parameter_tilings[from->array], array, device,
                            PADDING_HOSTILE, err);
    }
    return from->part == PART_WHOLE ? reshaped(array, shape)
                                    : take_half(array, shape, from->part, err);
}

static struct literal *make_value(const struct pass_form *form, int *leaf, int device,
                                  struct literal *const *arrays, const struct shape *shape,
                                  struct error *err)
{
    if (!shape_is_tuple(shape)) {
        return make_leaf(form, (*leaf)++, device, arrays, shape, err);
    }
    struct literal **elements = memory_zalloc(((size_t)shape->count + 1) * sizeof *elements);
    bool good = true;
    for (int i = 0; i < shape->count && good; i++) {
        elements[i] = make_value(form, leaf, device, arrays, shape->elements[i], err);
        good = elements[i] != NULL;
    }
    struct literal *tuple = good ? literal_tuple_take(shape, elements) : NULL;
    for (int i = 0; !good && i < shape->count; i++) {
        literal_release(elements[i]);
    }
    free(elements);
    return tuple;
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
        int leaf = 0;
        for (int i = 0; i < each; i++) {
            const struct shape *shape = form->module->entry->parameters[i]->shape;
            struct literal *value = make_value(form, &leaf, d, arrays, shape, err);
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
