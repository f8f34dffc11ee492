/* The walk over a pipeline (passes.h). */
#include "compare/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/passes_walk.h"
#include "compare/tolerance.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { TAMEST = 2 };

size_t walk_cache_bytes(const struct passes_options *options)
{
    return options->cache_bytes > 0 ? options->cache_bytes : (size_t)4 << 30;
}

bool walk_is_late(void *context)
{
    const struct walk *walk = context;
    return walk->deadline > 0 && clock_seconds() > walk->deadline;
}

/* `times` what one evaluation may take. */
void walk_start_clock(struct walk *walk, int times)
{
    double timeout = walk->options->timeout * times;
    walk->deadline = timeout > 0 ? clock_seconds() + timeout : 0;
}

const char *walk_step_name(const struct walk *walk, int step)
{
    const struct pass_source *source = &walk->sources[step];
    return source->pass[0] != '\0' ? source->pass : source->title;
}

/* --- stages --- */

static void stage_finish(struct walk *walk, struct stage *stage)
{
    if (stage->module != NULL && stage->module != walk->first.module) {
        module_destroy(stage->module);
    }
    pass_form_finish(&stage->form);
    *stage = (struct stage){.step = -1};
}

static bool stage_load(struct walk *walk, int step, struct stage *stage, struct error *err)
{
    *stage = (struct stage){.step = step};
    stage->module = walk->hooks->load(walk->hooks->context, step, err);
    const struct module *first = step == 0 ? stage->module : walk->first.module;
    return stage->module != NULL && pass_fill_elided(stage->module, first, err);
}

/* --- the first module --- */

uint64_t pass_device_seed(uint64_t seed, int device)
{
    return seed + ((uint64_t)device << 32);
}

/* Of one set for all devices, or a set for each. */
static const struct literal *given_argument(const struct walk *walk, int device, int parameter)
{
    int count = walk->first.module->entry->parameter_count;
    bool sets = walk->options->argument_count > count;
    return walk->options->arguments[(sets ? device * count : 0) + parameter];
}

static bool draw_arguments(struct walk *walk, struct pass_case *one, int tameness,
                           struct error *err)
{
    const struct module *module = walk->first.module;
    int count = module->entry->parameter_count;
    for (int d = 0; d < walk->frame.device_count; d++) {
        struct literal **whole = memory_zalloc(((size_t)count + 1) * sizeof *whole);
        struct input_options inputs = walk->options->inputs;
        inputs.tameness = tameness;
        inputs.seed = pass_device_seed(one->seed, d);
        bool good = true;
        if (walk->options->arguments == NULL) {
            good = inputs_generate(module, &inputs, whole, NULL, err);
        }
        for (int i = 0, at = d * walk->frame.parameter_count; i < count && good; i++) {
            const struct literal *value =
                walk->options->arguments != NULL ? given_argument(walk, d, i) : whole[i];
            for (int leaf = 0; leaf < shape_leaves(value->shape); leaf++) {
                literal_release(one->arrays[at]);
                one->arrays[at++] = literal_retain(literal_leaf(value, leaf));
            }
        }
        pass_arguments_release(whole, count);
        if (!good) {
            return false;
        }
    }
    return true;
}

static bool check_given(const struct walk *walk, struct error *err)
{
    const struct passes_options *options = walk->options;
    const struct module *module = walk->first.module;
    const struct computation *entry = module->entry;
    if (options->arguments == NULL) {
        return true;
    }
    int count = entry->parameter_count;
    int64_t sets = module->config.replica_count * module->config.partition_count;
    if (options->argument_count != count && options->argument_count != sets * count) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%d arguments are given; the first module has %d parameters%s",
                         options->argument_count, count, sets > 1 ? " on each device" : "");
    }
    for (int i = 0; i < options->argument_count; i++) {
        const struct shape *given = options->arguments[i]->shape;
        const struct shape *taken = entry->parameters[i % count]->shape;
        if (!shape_compatible(given, taken)) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "argument %d is %s; the first module takes %s", i, shape_text(given),
                             shape_text(taken));
        }
    }
    return true;
}

static const struct literal *first_device(const struct walk *walk, const struct literal *results)
{
    return walk->frame.device_count == 1 ? results : results->elements[0];
}

/* Draws arguments and evaluates, with tamer ones as long as the results prove nothing. */
static bool begin_case(struct walk *walk, struct pass_case *one, struct error *err)
{
    int arrays = walk->frame.device_count * walk->frame.parameter_count;
    one->arrays = memory_zalloc(((size_t)arrays + 1) * sizeof(struct literal *));
    bool given = walk->options->arguments != NULL || walk->options->inputs.zeros;
    for (int tameness = walk->options->inputs.tameness;; tameness++) {
        one->tameness = tameness;
        if (!draw_arguments(walk, one, tameness, err)) {
            return false;
        }
        walk->interp.seed = one->seed;
        double start = clock_seconds();
        literal_release(one->first);
        one->first = pass_form_evaluate(&walk->first.form, one->arrays, &walk->interp, NULL, err);
        if (one->first == NULL) {
            return false;
        }
        walk->result->first_seconds = clock_seconds() - start;
        walk->result->seconds += walk->result->first_seconds;
        const char *why = "";
        if (given ||
            !outputs_are_vacuous(walk->first.module, first_device(walk, one->first), &why)) {
            return true;
        }
        bool again = tameness < TAMEST;
        text_printf(&walk->notes, "seed %llu: %s%s\n", (unsigned long long)one->seed, why,
                    again ? "; inputs are drawn again from tamer ranges" : "");
        if (!again) {
            return true;
        }
    }
}

static bool begin(struct walk *walk, struct error *err)
{
    walk_start_clock(walk, 1);
    if (!stage_load(walk, 0, &walk->first, err)) {
        return false;
    }
    const struct module *module = walk->first.module;
    pass_frame_make(module, &walk->frame);
    if (!check_given(walk, err) ||
        !pass_form_make(module, NULL, &walk->frame, &walk->first.form, err)) {
        return false;
    }
    if (module->elided_count > 0) {
        text_printf(&walk->notes,
                    "the dump leaves out the values of %d constants: others stand in for them, and "
                    "passes that change them cannot be judged\n",
                    module->elided_count);
    }
    for (int i = 0; i < walk->case_count; i++) {
        if (!begin_case(walk, &walk->cases[i], err)) {
            return false;
        }
        walk->cases[i].previous = literal_retain(walk->cases[i].first);
    }
    walk->random = pass_frame_random(&walk->frame);
    for (int i = 0; walk->random != NULL && i < walk->frame.result_count; i++) {
        if (walk->random[i]) {
            text_printf(&walk->notes,
                        "output %d depends on random numbers: it is open to the passes that say "
                        "how they are drawn\n",
                        i);
        }
    }
    walk->previous = walk->first;
    return pass_form_make(module, NULL, &walk->frame, &walk->previous.form, err);
}

/* --- evaluating a step --- */

static enum outcome outcome_of(const struct error *err)
{
    switch (err->code) {
    case ERROR_DEADLINE_EXCEEDED:
        return OUTCOME_TIMEOUT;
    case ERROR_RESOURCE_EXHAUSTED:
        return OUTCOME_OOM;
    default:
        return OUTCOME_UNSUPPORTED;
    }
}

void walk_say(struct pass_verdict *verdict, const char *text)
{
    free(verdict->message);
    verdict->message = memory_strdup(text);
}

void walk_add_message(struct pass_verdict *verdict, const char *text)
{
    struct text message;
    text_init(&message);
    text_printf(&message, "%s%s%s", verdict->message, verdict->message[0] != '\0' ? "; " : "",
                text);
    walk_say(verdict, message.data);
    text_finish(&message);
}

/* The results of all cases; on failure nothing is kept. */
static bool evaluate_cases(struct walk *walk, struct pass_verdict *verdict, struct text *conflict,
                           struct error *err)
{
    double start = clock_seconds();
    bool good = true;
    for (int i = 0; i < walk->case_count && good; i++) {
        struct pass_case *one = &walk->cases[i];
        walk->interp.seed = one->seed;
        one->now = pass_form_evaluate(&walk->now.form, one->arrays, &walk->interp, conflict, err);
        good = one->now != NULL;
        struct interp_cache_statistics statistics = interp_cache_statistics(walk->cache);
        verdict->evaluated += good ? statistics.evaluated : 0;
        verdict->reused += good ? statistics.reused : 0;
    }
    verdict->seconds = clock_seconds() - start;
    walk->result->seconds += verdict->seconds;
    for (int i = 0; i < walk->case_count && !good; i++) {
        literal_release(walk->cases[i].now);
        walk->cases[i].now = NULL;
    }
    return good;
}

static bool evaluate_step(struct walk *walk, int step, struct pass_verdict *verdict,
                          struct text *conflict)
{
    struct error err = {0};
    walk_start_clock(walk, 1);
    bool good = stage_load(walk, step, &walk->now, &err);
    if (good) {
        verdict->instructions = module_instruction_count(walk->now.module);
        const struct module *before = walk->previous.form.in_pieces ? NULL : walk->previous.module;
        good = pass_form_make(walk->now.module, before, &walk->frame, &walk->now.form, &err) &&
               evaluate_cases(walk, verdict, conflict, &err);
    }
    if (!good) {
        verdict->outcome = outcome_of(&err);
        walk_say(verdict, err.message);
    }
    return good;
}

/* --- the walk --- */

/* The module just judged is what the next one is compared with. */
static void advance(struct walk *walk)
{
    stage_finish(walk, &walk->previous);
    walk->previous = walk->now;
    walk->now = (struct stage){.step = -1};
    walk->licences = 0;
    walk->any_rule = false;
    for (int i = 0; i < walk->case_count; i++) {
        struct pass_case *one = &walk->cases[i];
        literal_release(one->previous);
        one->previous = one->now;
        one->now = NULL;
    }
}

static void walk_step(struct walk *walk, int step)
{
    struct pass_verdict *verdict = &walk->result->verdicts[step];
    const struct pass_source *source = &walk->sources[step];
    struct text conflict;
    text_init(&conflict);
    verdict->rule = step > 0 ? pass_rule_find(source->pipeline, source->pass) : NULL;
    if (step == 0) {
        verdict->compared_with = -1;
        verdict->instructions = module_instruction_count(walk->first.module);
        verdict->seconds = walk->result->first_seconds;
    } else {
        walk->licences |= verdict->rule != NULL ? verdict->rule->licences : 0;
        walk->any_rule |= verdict->rule != NULL;
        if (evaluate_step(walk, step, verdict, &conflict)) {
            walk_judge_step(walk, verdict, &conflict);
            advance(walk);
        } else {
            stage_finish(walk, &walk->now);
        }
    }
    text_finish(&conflict);
    walk->result->count = step + 1;
    if (walk->hooks->on_step != NULL) {
        walk->hooks->on_step(walk->hooks->context, verdict);
    }
}

/* --- the whole --- */

static void walk_init(struct walk *walk, const struct pass_source *sources, int count,
                      const struct passes_hooks *hooks, const struct passes_options *options,
                      struct passes_result *result)
{
    *result = (struct passes_result){.finding = {.step = -1}};
    result->verdicts = memory_zalloc(((size_t)count + 1) * sizeof *result->verdicts);
    result->finding.picture = memory_strdup("");
    *walk = (struct walk){
        .sources = sources,
        .hooks = hooks,
        .options = options,
        .profile = options->profile != NULL ? options->profile : profile_find("cpu"),
        .result = result,
        .first = {.step = -1},
        .previous = {.step = -1},
        .now = {.step = -1},
        .drift_is_judged = true,
    };
    for (int i = 0; i < count; i++) {
        result->verdicts[i] = (struct pass_verdict){
            .step = i, .source = &sources[i], .compared_with = -1, .message = memory_strdup("")};
    }
    walk->case_count =
        options->arguments == NULL && options->seed_count > 1 ? options->seed_count : 1;
    walk->cases = memory_zalloc((size_t)walk->case_count * sizeof *walk->cases);
    for (int i = 0; i < walk->case_count; i++) {
        walk->cases[i].seed = options->inputs.seed + (uint64_t)i;
    }
    text_init(&walk->notes);
    walk->cache = interp_cache_create(walk_cache_bytes(options));
    walk->interp = (struct interp_options){.cancelled = walk_is_late,
                                           .context = walk,
                                           .bf16_products = walk->profile->bf16_products,
                                           .cache = walk->cache};
}

static void walk_finish(struct walk *walk)
{
    for (int i = 0; i < walk->case_count; i++) {
        struct pass_case *one = &walk->cases[i];
        int arrays = walk->frame.device_count * walk->frame.parameter_count;
        pass_arguments_release(one->arrays, arrays);
        literal_release(one->first);
        literal_release(one->previous);
        literal_release(one->now);
        pass_spreads_finish(one->spreads);
        bounds_finish(one->accepted, one->accepted_count);
    }
    free(walk->cases);
    stage_finish(walk, &walk->now);
    stage_finish(walk, &walk->previous);
    pass_form_finish(&walk->first.form);
    walk->result->device_count = walk->frame.device_count;
    pass_frame_finish(&walk->frame);
    module_destroy(walk->first.module);
    free(walk->random);
    walk->result->peak_bytes = interp_cache_statistics(walk->cache).peak_bytes;
    interp_cache_destroy(walk->cache);
    walk->result->notes = text_take(&walk->notes);
    text_finish(&walk->notes);
}

bool passes_walk(const struct pass_source *sources, int count, const struct passes_hooks *hooks,
                 const struct passes_options *options, struct passes_result *result,
                 struct error *err)
{
    struct walk walk;
    walk_init(&walk, sources, count, hooks, options, result);
    bool good = (count > 0 || error_set(err, ERROR_INVALID_ARGUMENT, "there are no modules")) &&
                begin(&walk, err);
    for (int step = 0; step < count && good; step++) {
        walk_step(&walk, step);
    }
    walk_finish(&walk);
    for (int i = result->count; i < count; i++) {
        free(result->verdicts[i].message);
    }
    if (!good) {
        passes_result_finish(result);
    }
    return good;
}

void passes_result_finish(struct passes_result *result)
{
    for (int i = 0; i < result->count; i++) {
        free(result->verdicts[i].message);
    }
    free(result->verdicts);
    for (int i = 0; i < result->finding.culprit_count; i++) {
        free(result->finding.culprits[i]);
    }
    free(result->finding.culprits);
    free(result->finding.within);
    free(result->finding.picture);
    free(result->notes);
    *result = (struct passes_result){0};
}
