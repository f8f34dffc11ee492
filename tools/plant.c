/* Choosing where to plant a fault, and writing the dump with it. */
#include "tools/plant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "tools/plant_internal.h"

/* --- choosing --- */

/* How many places of one step are tried before another one is drawn. */
enum { PLACES_OF_STEP = 3 };

/* What is drawn from: the steps after a pass, or if there is none all but the first. */
struct steps {
    int count;
    int *list;
};

static bool is_pass(const struct dump_step *step)
{
    return (step->kind == DUMP_PASS && step->pass[0] != '\0' &&
            strcmp(step->pass, "pipeline-start") != 0) ||
           step->kind == DUMP_INSIDE_PASS;
}

static bool find_steps(const struct dump_module *module, const struct plant_options *options,
                       struct steps *steps, struct error *err)
{
    steps->count = 0;
    steps->list = memory_alloc((size_t)module->step_count * sizeof *steps->list);
    for (int strict = 1; strict >= 0 && steps->count == 0; strict--) {
        for (int i = 1; i < module->step_count; i++) {
            const struct dump_step *step = &module->steps[i];
            if (options->number >= 0 ? step->number == options->number : !strict || is_pass(step)) {
                steps->list[steps->count++] = i;
            }
        }
    }
    if (steps->count == 0) {
        if (options->number >= 0) {
            error_set(err, ERROR_NOT_FOUND, "%s has no pass %lld", module->name,
                      (long long)options->number);
        } else {
            error_set(err, ERROR_INVALID_ARGUMENT, "%s has one module: no pass to blame",
                      module->name);
        }
        free(steps->list);
        steps->list = NULL;
    }
    return steps->count > 0;
}

/* Tries a place of the step; true when the fault may stay there. */
static bool try_step(const struct dump_module *module, int step, struct rng *rng,
                     const struct plant_options *options, struct plant_observer *observer,
                     struct plant *plant, struct error *why)
{
    struct mutation_places places = {0};
    struct text what;
    text_init(&what);
    struct module *mutant = dump_load(&module->steps[step], why);
    bool good = mutant != NULL && (!options->observable || plant_observe_step(observer, step, why));
    if (good) {
        mutation_places(mutant, options->mutation, &places);
        good = places.count > 0 || error_set(why, ERROR_NOT_FOUND, "no place for this class");
    }
    if (good) {
        struct mutation_place place = mutation_places_draw(&places, rng);
        free(plant->computation);
        free(plant->instruction);
        free(plant->opcode);
        free(plant->what);
        plant->step = step;
        plant->mutation = place.mutation;
        plant->computation = memory_strdup(place.instruction->parent->name);
        plant->instruction = memory_strdup(place.instruction->name);
        plant->opcode = memory_strdup(opcode_text(place.instruction->opcode));
        plant->fault_seed = rng_next(rng);
        good = mutate_instruction(place.instruction, place.mutation, plant->fault_seed, &what, why);
        plant->what = text_take(&what);
        good = good && (!options->observable || plant_observe_fault(observer, mutant, plant) ||
                        error_set(why, ERROR_NOT_FOUND, "no output changes"));
    }
    text_finish(&what);
    mutation_places_finish(&places);
    module_destroy(mutant);
    return good;
}

bool plant_choose(const struct dump_module *module, const struct plant_options *options,
                  struct plant *plant, struct error *err)
{
    struct steps steps;
    struct plant_observer observer = {0};
    struct rng rng;
    rng_init(&rng, options->seed);
    *plant = (struct plant){0};
    if (!find_steps(module, options, &steps, err)) {
        return false;
    }
    bool ready = !options->observable || plant_observer_init(&observer, module, options, err);
    bool found = false;
    struct error why = {0};
    int step = 0;
    while (ready && !found && plant->attempts < options->attempts) {
        plant->attempts++;
        error_clear(&why);
        if ((plant->attempts - 1) % PLACES_OF_STEP == 0) {
            step = steps.list[rng_below(&rng, (uint64_t)steps.count)];
        }
        found = try_step(module, step, &rng, options, &observer, plant, &why);
    }
    if (ready && !found) {
        error_set(err, ERROR_NOT_FOUND, "%s: no place among the %d tried will do; the last one: %s",
                  module->name, plant->attempts, why.message);
    }
    if (options->observable) {
        plant_observer_finish(&observer);
    }
    free(steps.list);
    return found;
}

void plant_finish(struct plant *plant)
{
    free(plant->computation);
    free(plant->instruction);
    free(plant->opcode);
    free(plant->what);
    free(plant->has);
    free(plant->left_out);
    memset(plant, 0, sizeof *plant);
}

/* --- writing --- */

static char *path_in(const char *folder, const char *file)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "%s/%s", folder, file);
    char *path = text_take(&text);
    text_finish(&text);
    return path;
}

/* Compressed if the name says so. */
static bool write_bytes(const char *folder, const char *name, const void *data, size_t size,
                        struct error *err)
{
    size_t length = strlen(name);
    char *path = path_in(folder, name);
    unlink(path); /* it may be a link to the dump */
    bool good;
    if (length > 3 && strcmp(name + length - 3, ".gz") == 0) {
        gzFile file = size <= INT32_MAX ? gzopen(path, "wb") : NULL;
        good = file != NULL && gzwrite(file, data, (unsigned)size) == (int)size;
        good = file != NULL && gzclose(file) == Z_OK && good;
        good = good || error_set(err, ERROR_NOT_FOUND, "%s cannot be written", path);
    } else {
        good = file_write(path, data, size, err);
    }
    free(path);
    return good;
}

/* The file as it is: a link where the file system allows it. */
static bool copy_file(const char *from, const char *folder, const char *name, struct error *err)
{
    char *path = path_in(folder, name);
    unlink(path);
    bool good = link(from, path) == 0;
    free(path);
    if (!good) {
        size_t size;
        char *data = file_read(from, &size, err); /* unpacked */
        good = data != NULL && write_bytes(folder, name, data, size, err);
        free(data);
    }
    return good;
}

/* In the format that the file had. */
static bool write_module(const struct dump_step *step, const char *folder,
                         const struct module *module, struct error *err)
{
    size_t size;
    char *old = file_read(step->path, &size, err);
    if (old == NULL) {
        return false;
    }
    enum proto_kind kind = PROTO_NONE;
    for (enum proto_kind k = PROTO_MODULE; k <= PROTO_MODULE_WITH_CONFIG && kind == PROTO_NONE;
         k++) {
        kind = proto_looks_like(old, size, k) ? k : PROTO_NONE;
    }
    free(old);
    struct text text;
    text_init(&text);
    void *bytes = NULL;
    if (kind == PROTO_NONE) {
        text_print_module(module, &print_long, &text);
        size = text.size;
        bytes = text_take(&text);
    } else {
        bytes = proto_write_module(module, kind, &size, err);
    }
    text_finish(&text);
    bool good = bytes != NULL && write_bytes(folder, step->file, bytes, size, err);
    free(bytes);
    return good;
}

/* Plants the fault at the tracker's places in a copy of the step; *planted is false when it applies
 * at none of them any more. */
static bool write_fault(const struct dump_step *step, const char *folder,
                        const struct plant_tracker *tracker, const struct plant *plant,
                        bool *planted, struct error *err)
{
    struct module *copy = dump_load(step, err);
    if (copy == NULL) {
        return false;
    }
    struct instruction *places[PLANT_PLACES_MOST];
    for (int i = 0; i < tracker->count; i++) {
        const struct instruction *place = tracker->places[i];
        places[i] = copy->computations[place->parent->id]->instructions[place->id];
    }
    *planted = false;
    for (int i = 0; i < tracker->count; i++) {
        struct text what;
        struct error why = {0};
        text_init(&what);
        if (mutate_instruction(places[i], plant->mutation, plant->fault_seed, &what, &why)) {
            *planted = true;
        } else if (why.code != ERROR_INVALID_ARGUMENT) {
            *planted = false;
            i = tracker->count; /* broken: this step is left out */
        }
        text_finish(&what);
    }
    bool good = !*planted || write_module(step, folder, copy, err);
    module_destroy(copy);
    return good;
}

static bool start_tracking(const struct dump_step *step, const struct plant *plant,
                           struct plant_tracker *tracker, struct error *err)
{
    struct module *module = dump_load(step, err);
    if (module == NULL) {
        return false;
    }
    struct computation *computation = module_find_computation(module, plant->computation);
    plant_tracker_init(tracker, module, computation_find(computation, plant->instruction));
    return true;
}

bool plant_write(const struct dump_module *module, const char *folder, struct plant *plant,
                 struct error *err)
{
    size_t count = (size_t)module->step_count;
    plant->has = memory_zalloc(count);
    plant->left_out = memory_zalloc(count);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return error_set(err, ERROR_NOT_FOUND, "%s: %s", folder, strerror(errno));
    }
    struct plant_tracker tracker = {0};
    bool good = start_tracking(&module->steps[plant->step], plant, &tracker, err);
    for (int i = 0; good && i < module->step_count; i++) {
        const struct dump_step *step = &module->steps[i];
        if (i < plant->step) {
            good = copy_file(step->path, folder, step->file, err);
            continue;
        }
        struct module *next = i > plant->step ? dump_load(step, err) : NULL;
        good = i == plant->step || next != NULL;
        bool there = good && (i == plant->step || plant_tracker_follow(&tracker, next));
        good = good && (!there || write_fault(step, folder, &tracker, plant, &plant->has[i], err));
        plant->planted += plant->has[i];
        plant->left_out[i] = !plant->has[i];
        plant->left_out_count += !plant->has[i];
    }
    for (int i = 0; good && i < module->snapshot_count; i++) {
        const char *slash = strrchr(module->snapshots[i], '/');
        good = copy_file(module->snapshots[i], folder,
                         slash != NULL ? slash + 1 : module->snapshots[i], err);
    }
    plant_tracker_finish(&tracker);
    return good;
}
