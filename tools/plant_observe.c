/* Does a planted fault change an output by more than rounding could? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "compare/inputs.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"
#include "tools/plant_internal.h"

/* A difference counts from here on, relative to the largest element of its output; with narrower
 * floats in the module than f32, from some units in their last place. */
static const double least_difference = 1e-3;
enum { LEAST_ULPS = 8, LOOP_ITERATIONS = 100000 };
static const size_t cache_bytes = (size_t)2 << 30;

static bool is_late(void *context)
{
    const double *deadline = context;
    return clock_seconds() > *deadline;
}

static struct literal *evaluate(const struct plant_observer *observer, const struct module *module,
                                int seed, struct error *err)
{
    double deadline = clock_seconds() + observer->options->timeout;
    struct interp_options options = {.context = &deadline,
                                     .cancelled = is_late,
                                     .max_loop_iterations = LOOP_ITERATIONS,
                                     .seed = observer->options->inputs + (uint64_t)seed,
                                     .cache = observer->cache};
    return interp_evaluate(module, observer->arguments[seed], observer->argument_count, &options,
                           err);
}

static void release_list(struct literal **list, int count)
{
    for (int i = 0; list != NULL && i < count; i++) {
        literal_release(list[i]);
    }
}

bool plant_observer_init(struct plant_observer *observer, const struct dump_module *module,
                         const struct plant_options *options, struct error *err)
{
    *observer = (struct plant_observer){.options = options, .module = module, .step = -1};
    observer->first = dump_load(&module->steps[0], err);
    if (observer->first == NULL) {
        return false;
    }
    const struct module_config *config = &observer->first->config;
    int count = observer->first->entry->parameter_count, seeds = options->seed_count;
    observer->argument_count = count;
    observer->cache = interp_cache_create(cache_bytes);
    observer->arguments = memory_zalloc((size_t)seeds * sizeof *observer->arguments);
    observer->expected = memory_zalloc((size_t)seeds * sizeof *observer->expected);
    if (config->replica_count * config->partition_count > 1) {
        return error_set(err, ERROR_UNIMPLEMENTED,
                         "%s runs on several devices; --no-observable plants without a trial",
                         observer->first->name);
    }
    for (int s = 0; s < seeds; s++) {
        struct input_options inputs = {.seed = options->inputs + (uint64_t)s};
        observer->arguments[s] = memory_zalloc((size_t)count * sizeof **observer->arguments);
        if (!inputs_generate(observer->first, &inputs, observer->arguments[s], NULL, err)) {
            free(observer->arguments[s]);
            observer->arguments[s] = NULL;
            return false;
        }
    }
    return true;
}

void plant_observer_finish(struct plant_observer *observer)
{
    for (int s = 0; observer->arguments != NULL && s < observer->options->seed_count; s++) {
        release_list(observer->arguments[s], observer->argument_count);
        free(observer->arguments[s]);
    }
    release_list(observer->expected, observer->options->seed_count);
    free(observer->arguments);
    free(observer->expected);
    interp_cache_destroy(observer->cache);
    module_destroy(observer->first);
}

static bool takes_the_same(const struct module *a, const struct module *b)
{
    bool same = a->entry->parameter_count == b->entry->parameter_count;
    for (int i = 0; same && i < a->entry->parameter_count; i++) {
        same = shape_compatible(a->entry->parameters[i]->shape, b->entry->parameters[i]->shape);
    }
    return same;
}

/* What the step gives on that seed. */
static bool expect(struct plant_observer *observer, int seed, struct error *err)
{
    if (observer->expected[seed] != NULL) {
        return true;
    }
    struct module *module = dump_load(&observer->module->steps[observer->step], err);
    bool good =
        module != NULL && (takes_the_same(observer->first, module) ||
                           error_set(err, ERROR_UNIMPLEMENTED,
                                     "%s takes other arguments than at first", module->name));
    if (good) {
        observer->expected[seed] = evaluate(observer, module, seed, err);
    }
    module_destroy(module);
    return observer->expected[seed] != NULL;
}

bool plant_observe_step(struct plant_observer *observer, int step, struct error *err)
{
    if (observer->step != step) {
        release_list(observer->expected, observer->options->seed_count);
        memset(observer->expected, 0,
               (size_t)observer->options->seed_count * sizeof *observer->expected);
        observer->step = step;
    }
    return expect(observer, 0, err);
}

/* --- differences --- */

static double threshold(const struct module *module)
{
    double least = least_difference;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            enum type type = module->computations[c]->instructions[i]->shape->type;
            if (type_is_float(type)) {
                least = fmax(least, ldexp(LEAST_ULPS, -float_formats[type].mantissa_bits));
            }
        }
    }
    return fmin(least, 0.25);
}

/* Of one leaf, relative to its largest element; 1 for what is no float or not finite. */
static double leaf_difference(const struct literal *expected, const struct literal *actual)
{
    enum type type = expected->shape->type;
    int64_t count = literal_elements(expected);
    double scale = literal_scale(expected), worst = 0;
    for (int64_t i = 0; i < count; i++) {
        if (literal_is_unspecified(expected, i) || literal_is_unspecified(actual, i)) {
            continue;
        }
        if (!type_is_float(type) && !type_is_complex(type)) {
            worst = literal_get_int(expected, i) != literal_get_int(actual, i) ? 1 : worst;
            continue;
        }
        double a = literal_get_double(expected, i), b = literal_get_double(actual, i);
        double difference = fabs(a - b);
        if (type_is_complex(type)) {
            difference = hypot(difference, literal_get_imaginary(expected, i) -
                                               literal_get_imaginary(actual, i));
        }
        if (isnan(a) != isnan(b) || (isinf(a) || isinf(b) ? a != b && !isnan(a) : false)) {
            worst = 1;
        } else if (difference > 0 && isfinite(difference)) {
            worst = fmax(worst, scale > 0 ? difference / scale : 1);
        }
    }
    return worst;
}

static double difference_of(const struct literal *expected, const struct literal *actual)
{
    double worst = 0;
    if (!shape_compatible(expected->shape, actual->shape)) {
        return 1;
    }
    int leaves = shape_leaves(expected->shape);
    for (int i = 0; i < leaves; i++) {
        const struct literal *leaf = literal_leaf(expected, i);
        if (shape_is_array(leaf->shape)) {
            worst = fmax(worst, leaf_difference(leaf, literal_leaf(actual, i)));
        }
    }
    return worst;
}

bool plant_observe_fault(struct plant_observer *observer, const struct module *module,
                         struct plant *plant)
{
    double least = threshold(observer->first);
    plant->difference = 0;
    for (int s = 0; s < observer->options->seed_count; s++) {
        struct error err = {0};
        struct literal *actual =
            expect(observer, s, &err) ? evaluate(observer, module, s, &err) : NULL;
        if (actual == NULL) {
            return false;
        }
        double difference = difference_of(observer->expected[s], actual);
        literal_release(actual);
        if (difference > least) {
            plant->difference = difference;
            plant->shows_on = observer->options->inputs + (uint64_t)s;
            return true;
        }
    }
    return false;
}
