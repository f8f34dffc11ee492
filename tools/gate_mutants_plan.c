/* The plan of `referee gate --mutants`. */
#include "tools/gate_mutants_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/mutant.h"
#include "compare/profile.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/map.h"
#include "hlo/base/rng.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "tools/modules.h"
#include "tools/progress.h"

/* The golden, rounding every step as it is written: as a backend of its own that is right. */
static const char literal_golden[] = "interp:?fidelity=literal";

/* --- cases --- */

static bool is_manifest(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending != NULL && (strcmp(ending, ".yaml") == 0 || strcmp(ending, ".yml") == 0);
}

/* A case for each module file, on XLA's CPU if that is there. */
static bool make_manifest(const struct string_list *paths, struct manifest *manifest)
{
    struct string_list files = {0};
    if (!expand_paths(paths, &files)) {
        free_paths(&files);
        return false;
    }
    *manifest = (struct manifest){
        .path = memory_strdup(""),
        .suite = memory_strdup(""),
        .description = memory_strdup(""),
        .backends = memory_zalloc(sizeof *manifest->backends),
        .case_count = (int)files.count,
        .cases = memory_zalloc((files.count + 1) * sizeof *manifest->cases),
    };
    if (backend_default_plugin()[0] != '\0') {
        manifest->backends[manifest->backend_count++] = memory_strdup("cpu:");
    }
    for (size_t i = 0; i < files.count; i++) {
        manifest->cases[i].name = memory_strdup(files.items[i]);
        manifest->cases[i].file = memory_strdup(files.items[i]);
        manifest->cases[i].description = memory_strdup("");
    }
    free_paths(&files);
    return true;
}

static bool load_manifests(const struct string_list *paths, struct mutants_plan *plan,
                           struct error *err)
{
    struct string_list modules = {0};
    bool good = true;
    plan->manifests = memory_zalloc((paths->count + 1) * sizeof *plan->manifests);
    for (size_t i = 0; good && i < paths->count; i++) {
        if (!is_manifest(paths->items[i])) {
            string_list_add(&modules, paths->items[i]);
        } else {
            good = manifest_load(paths->items[i], &plan->manifests[plan->manifest_count], err);
            plan->manifest_count += good;
        }
    }
    if (good && modules.count > 0) {
        good = make_manifest(&modules, &plan->manifests[plan->manifest_count]);
        plan->manifest_count += good;
    }
    string_list_finish(&modules);
    return good;
}

/* --- modules --- */

static bool find_arguments(const struct loaded_module *part, struct arguments *arguments,
                           struct error *err)
{
    const struct string_list none = {0};
    struct case_header header = {0};
    bool good = case_header_read(part->header, part->name, &header, err) &&
                arguments_find(part, &header, &none, 0, arguments, err);
    case_header_finish(&header);
    return good;
}

bool mutants_module_load(const struct mutants_subject *subject, struct mutants_module *loaded,
                         struct error *err)
{
    *loaded = (struct mutants_module){0};
    if (!module_load(subject->test->file, &loaded->file, err)) {
        return false;
    }
    loaded->part = &loaded->file.modules[subject->part];
    return find_arguments(loaded->part, &loaded->arguments, err);
}

void mutants_module_finish(struct mutants_module *loaded)
{
    arguments_finish(&loaded->arguments);
    loaded_file_finish(&loaded->file);
}

/* --- subjects --- */

static bool *applicable_classes(const struct module *module)
{
    int count = mutant_class_count();
    bool *applies = memory_zalloc((size_t)count * sizeof *applies);
    int64_t devices = (int64_t)devices_along(0, module->config.replica_count) *
                      devices_along(0, module->config.partition_count);
    for (int i = 0; i < count; i++) {
        applies[i] =
            mutant_class_applies(i, module, devices > DEVICES_MOST ? DEVICES_MOST : (int)devices);
    }
    return applies;
}

static void add_subject(struct mutants_plan *plan, const struct test_case *test, int part,
                        const char *backend, bool draws, const bool *applies)
{
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct mutants_subject *other = &plan->subjects[i];
        if (other->test == test && other->part == part && strcmp(other->backend, backend) == 0) {
            return;
        }
    }
    plan->subjects =
        grow(plan->subjects, plan->subject_count, &plan->subject_capacity, sizeof *plan->subjects);
    struct mutants_subject *subject = &plan->subjects[plan->subject_count++];
    const struct expectation *expectation = case_expectation(test, backend);
    bool golden = strncmp(backend, "interp:", strlen("interp:")) == 0;
    *subject = (struct mutants_subject){
        .test = test,
        .part = part,
        .backend = backend,
        .profile = profile_for(golden ? "cpu:" : backend),
        .known_to_fail = test->quarantine != NULL ||
                         (expectation != NULL && expectation->outcome != OUTCOME_PASS),
        .draws = draws,
    };
    size_t bytes = (size_t)mutant_class_count() * sizeof *applies;
    subject->applies = memory_alloc(bytes);
    memcpy(subject->applies, applies, bytes);
}

static uint64_t file_hash(const char *path)
{
    size_t size;
    char *data = file_read(path, &size, NULL);
    uint64_t hash = data != NULL ? hash_bytes(data, size, 0) : 0;
    free(data);
    return hash;
}

static void add_module(struct mutants_plan *plan, const struct manifest *manifest,
                       const struct test_case *test, const struct loaded_module *part, int number,
                       const struct mutants_options *options)
{
    struct error err = {0};
    struct findings findings = {0};
    struct arguments arguments = {0};
    if (part->error != NULL) {
        err = *part->error;
    } else if (!verify_module(part->module, &findings)) {
        error_at(&err, findings.list[0].where, "%s", findings.list[0].text);
    } else if (find_arguments(part, &arguments, &err)) {
        bool *applies = applicable_classes(part->module);
        bool draws = arguments.count == 0 && part->module->entry->parameter_count > 0;
        if (options->backends.count == 0) {
            add_subject(plan, test, number, literal_golden, draws, applies);
        }
        for (size_t i = 0; i < options->backends.count; i++) {
            add_subject(plan, test, number, options->backends.items[i], draws, applies);
        }
        for (int i = 0; options->backends.count == 0 && i < manifest->backend_count; i++) {
            add_subject(plan, test, number, manifest->backends[i], draws, applies);
        }
        free(applies);
    }
    if (err.code != ERROR_NONE) {
        fprintf(stderr, "left out, ");
        print_error(&err);
    }
    arguments_finish(&arguments);
    findings_finish(&findings);
}

static void find_subjects(struct mutants_plan *plan, const struct mutants_options *options)
{
    size_t count = 0;
    for (size_t m = 0; m < plan->manifest_count; m++) {
        count += (size_t)plan->manifests[m].case_count;
    }
    struct progress progress;
    progress_start(&progress, count);
    for (size_t m = 0; m < plan->manifest_count; m++) {
        const struct manifest *manifest = &plan->manifests[m];
        for (int i = 0; i < manifest->case_count; i++) {
            struct loaded_file file;
            struct error err = {0};
            progress_step(&progress, manifest->cases[i].name);
            if (!module_load(manifest->cases[i].file, &file, &err)) {
                progress_clear(&progress);
                fprintf(stderr, "left out, ");
                print_error(&err);
                continue;
            }
            size_t first = plan->subject_count;
            for (int part = 0; part < file.count; part++) {
                add_module(plan, manifest, &manifest->cases[i], &file.modules[part], part, options);
            }
            uint64_t content = first < plan->subject_count ? file_hash(manifest->cases[i].file) : 0;
            for (size_t s = first; s < plan->subject_count; s++) {
                plan->subjects[s].content = content;
            }
            loaded_file_finish(&file);
        }
    }
    progress_clear(&progress);
}

/* --- units --- */

static void add_unit(struct mutants_plan *plan, const struct mutants_subject *subject,
                     uint64_t seed)
{
    plan->units = grow(plan->units, plan->unit_count, &plan->unit_capacity, sizeof *plan->units);
    plan->units[plan->unit_count++] = (struct mutants_unit){.subject = subject, .seed = seed};
}

static void find_units(struct mutants_plan *plan, const struct mutants_options *options)
{
    size_t before = 0;
    for (int64_t round = 0;
         round == 0 || ((int64_t)plan->unit_count < options->clean && plan->unit_count > before);
         round++) {
        before = plan->unit_count;
        for (size_t i = 0; i < plan->subject_count; i++) {
            const struct mutants_subject *subject = &plan->subjects[i];
            if (!subject->known_to_fail && (round == 0 || subject->draws)) {
                add_unit(plan, subject, (uint64_t)(options->seed + round));
            }
        }
    }
}

/* Of the classes that apply the one with the fewest faults so far, of several one that is drawn;
 * −1 if there is none. */
static int draw_class(const struct mutants_subject *subject, const int64_t *planned,
                      struct rng *rng)
{
    int chosen = -1, ties = 0;
    for (int i = 0; i < mutant_class_count(); i++) {
        if (!subject->applies[i] || (chosen >= 0 && planned[i] > planned[chosen])) {
            continue;
        }
        ties = chosen >= 0 && planned[i] == planned[chosen] ? ties + 1 : 1;
        chosen = rng_below(rng, (uint64_t)ties) == 0 ? i : chosen;
    }
    return chosen;
}

static void spread_faults(struct mutants_plan *plan, const struct mutants_options *options)
{
    struct rng rng;
    rng_init(&rng, hash_u64((uint64_t)options->seed, 23));
    int64_t *planned = memory_zalloc((size_t)mutant_class_count() * sizeof *planned);
    for (size_t u = 0; u < plan->unit_count; u++) {
        struct mutants_unit *unit = &plan->units[u];
        int64_t all = (int64_t)plan->unit_count, at = (int64_t)u;
        int64_t count = options->count * (at + 1) / all - options->count * at / all;
        unit->faults = memory_zalloc(((size_t)count + 1) * sizeof *unit->faults);
        for (int64_t i = 0; i < count; i++) {
            int class = draw_class(unit->subject, planned, &rng);
            if (class >= 0) {
                planned[class]++;
                unit->faults[unit->fault_count++] =
                    (struct mutants_fault){class, rng_below(&rng, INT32_MAX)};
            }
        }
    }
    free(planned);
}

bool mutants_plan_make(const struct string_list *paths, const struct mutants_options *options,
                       struct mutants_plan *plan, struct error *err)
{
    *plan = (struct mutants_plan){0};
    if (!load_manifests(paths, plan, err)) {
        return false;
    }
    find_subjects(plan, options);
    find_units(plan, options);
    spread_faults(plan, options);
    return plan->unit_count > 0 ||
           error_set(err, ERROR_INVALID_ARGUMENT, "there is no module that faults could be in");
}

void mutants_plan_finish(struct mutants_plan *plan)
{
    for (size_t i = 0; i < plan->unit_count; i++) {
        free(plan->units[i].faults);
    }
    for (size_t i = 0; i < plan->subject_count; i++) {
        free(plan->subjects[i].applies);
    }
    for (size_t i = 0; i < plan->manifest_count; i++) {
        manifest_finish(&plan->manifests[i]);
    }
    free(plan->units);
    free(plan->subjects);
    free(plan->manifests);
    *plan = (struct mutants_plan){0};
}
