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
#include "hlo/module.h"
#include "hlo/sharding.h"

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
