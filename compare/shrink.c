/* The shrinker: simplifications in order, delta debugging over places, candidates in parallel. */
#include "compare/shrink.h"

#include <ctype.h>
#include <pthread.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/golden_values.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/verify.h"

/* --- one candidate --- */

struct shrinking {
    struct specimen *best;
    const struct shrink_options *options;
    struct shrink_statistics *statistics;
    double start;
    struct golden_values values; /* of *best, when they are needed */
    bool has_values;
};

static bool over(const struct shrinking *shrinking)
{
    const struct shrink_options *options = shrinking->options;
    return (options->seconds > 0 && clock_seconds() - shrinking->start > options->seconds) ||
           (options->stopped != NULL && options->stopped(options->context));
}

/* A candidate and what became of it. */
struct trial {
    const struct simplification *simplification;
    const struct shrink_place *places;
    int count, thread;
    struct shrinking *shrinking;
    struct specimen candidate;
    bool made, fails;
};

static bool same_specimen(const struct specimen *a, const struct specimen *b)
{
    struct error ignored = {0};
    bool same = a->argument_count == b->argument_count && specimen_sets(a) == specimen_sets(b) &&
                module_equal(a->module, b->module, &ignored);
    for (int i = 0; same && i < specimen_argument_total(a); i++) {
        same = literal_equal(a->arguments[i], b->arguments[i]);
    }
    return same;
}

/* Smaller; or if the simplification is about other things, just another one. */
static bool improves(const struct simplification *simplification, const struct specimen *new,
                     const struct specimen *old)
{
    struct specimen_size size = specimen_size(new), before = specimen_size(old);
    if (specimen_size_less(size, before)) {
        return true;
    }
    return simplification->same_size && !specimen_size_less(before, size) &&
           !same_specimen(new, old);
}

/* Makes the candidate; false when there is none that verifies and is smaller. */
static bool make_candidate(struct trial *trial)
{
    struct shrinking *shrinking = trial->shrinking;
    struct error err = {0};
    shrinking->statistics->candidates++;
    if (!shrink_candidate(trial->simplification, shrinking->best, trial->places, trial->count,
                          golden_value_of, &shrinking->values, &trial->candidate, &err)) {
        return false;
    }
    /* What comes of it reads back as it is written, and nothing in it is borrowed. */
    struct specimen own;
    struct findings findings = {0};
    bool ok = specimen_copy(&trial->candidate, &own, &err);
    specimen_finish(&trial->candidate);
    if (!ok) {
        shrinking->statistics->invalid++;
        return false;
    }
    trial->candidate = own;
    ok = verify_module(own.module, &findings);
    findings_finish(&findings);
    shrinking->statistics->invalid += !ok;
    if (!ok || !improves(trial->simplification, &own, shrinking->best)) {
        specimen_finish(&trial->candidate);
        return false;
    }
    return true;
}

static void *run_trial(void *context)
{
    struct trial *trial = context;
    const struct shrink_options *options = trial->shrinking->options;
    trial->fails = options->test(options->context, trial->thread, &trial->candidate);
    return NULL;
}

/* Tests up to `jobs` trials at a time; takes over the first that fails as wanted. Returns its
 * index, −1 if none does. Made candidates are freed. */
static int run_trials(struct shrinking *shrinking, struct trial *trials, int count)
{
    pthread_t threads[64];
    bool started[64] = {false};
    int winner = -1;
    for (int i = 0; i < count; i++) {
        trials[i].thread = i;
        started[i] = i > 0 && trials[i].made &&
                     pthread_create(&threads[i], NULL, run_trial, &trials[i]) == 0;
    }
    for (int i = 0; i < count; i++) {
        if (started[i]) {
            pthread_join(threads[i], NULL);
        } else if (trials[i].made) {
            run_trial(&trials[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        if (trials[i].made && trials[i].fails && winner < 0) {
            winner = i;
            shrinking->statistics->failing++;
            specimen_finish(shrinking->best);
            *shrinking->best = trials[i].candidate;
            if (shrinking->has_values) {
                golden_values_finish(&shrinking->values);
                shrinking->has_values = false;
            }
        } else if (trials[i].made) {
            specimen_finish(&trials[i].candidate);
        }
    }
    return winner;
}

static void need_values(struct shrinking *shrinking, const struct simplification *simplification)
{
    if (!shrinking->has_values && strcmp(simplification->name, "parameters") == 0) {
        golden_values_find(shrinking->best, &shrinking->values);
        shrinking->has_values = true;
    }
}

/* --- one simplification --- */

/* Tries the places in groups of `size`, from *next on. True when one was taken over: then *next is
 * the first place of its group, where the places behind it stand now. */
static bool try_groups(struct shrinking *shrinking, const struct simplification *simplification,
                       const struct shrink_places *places, int size, int *next)
{
    int jobs = shrinking->options->jobs > 1 ? shrinking->options->jobs : 1;
    jobs = jobs > 64 ? 64 : jobs;
    struct trial *trials = memory_alloc((size_t)jobs * sizeof *trials);
    bool found = false;
    while (!found && *next < places->count && !over(shrinking)) {
        int made = 0, at = *next;
        int starts[64];
        need_values(shrinking, simplification);
        while (made < jobs && at < places->count) {
            int count = places->count - at < size ? places->count - at : size;
            trials[made] = (struct trial){.simplification = simplification,
                                          .places = places->list + at,
                                          .count = count,
                                          .shrinking = shrinking};
            starts[made] = at;
            at += count;
            trials[made].made = make_candidate(&trials[made]);
            made += trials[made].made;
        }
        int winner = run_trials(shrinking, trials, made);
        found = winner >= 0;
        *next = found ? starts[winner] : at;
    }
    free(trials);
    if (found && shrinking->options->on_progress != NULL) {
        shrinking->options->on_progress(shrinking->options->context, shrinking->best,
                                        simplification->name);
    }
    return found;
}

/* Everything that the simplification can do. True if it did anything. */
static bool simplify(struct shrinking *shrinking, const struct simplification *simplification)
{
    struct shrink_places places = {0};
    bool any = false;
    simplification->find(shrinking->best, &places);
    int size = simplification->together ? places.count : 1;
    int next = 0; /* places before it were tried at this size */
    while (places.count > 0 && size > 0 && !over(shrinking)) {
        if (try_groups(shrinking, simplification, &places, size, &next)) {
            any = true;
            shrink_places_finish(&places);
            simplification->find(shrinking->best, &places);
            size = size > places.count ? places.count : size;
        } else {
            size /= 2;
            next = 0;
        }
    }
    shrink_places_finish(&places);
    return any;
}

static bool change_nothing(const struct specimen *original, struct specimen *copy,
                           struct shrink_place place, shrink_value *value, void *context)
{
    (void)original;
    (void)copy;
    (void)place;
    (void)value;
    (void)context;
    return true;
}

/* Settles the best. Each candidate is settled, and so drops what calls pass for nothing: if the
 * failure is in how that is passed, none would fail, and it is kept from now on. */
static void settle_best(struct shrinking *shrinking)
{
    static const struct simplification settled = {.name = "settled", .apply = change_nothing};
    static const struct shrink_place nowhere = {0};
    struct trial trial = {
        .simplification = &settled, .places = &nowhere, .count = 1, .shrinking = shrinking};
    trial.made = !shrinking->best->keeps_unread && make_candidate(&trial);
    if (trial.made && run_trials(shrinking, &trial, 1) < 0) {
        shrinking->best->keeps_unread = true;
    }
}

void shrink_run(struct specimen *specimen, const struct shrink_options *options,
                struct shrink_statistics *statistics)
{
    *statistics = (struct shrink_statistics){0};
    struct shrinking shrinking = {
        .best = specimen, .options = options, .statistics = statistics, .start = clock_seconds()};
    bool changed = true;
    specimen_spread(specimen);
    while (changed && !over(&shrinking)) {
        changed = false;
        settle_best(&shrinking);
        for (int i = 0; i < simplification_count && !over(&shrinking); i++) {
            changed |= simplify(&shrinking, &simplifications[i]);
        }
    }
    if (shrinking.has_values) {
        golden_values_finish(&shrinking.values);
    }
    statistics->complete = !changed;
    statistics->seconds = clock_seconds() - shrinking.start;
}

/* --- signatures --- */

void failure_signature_finish(struct failure_signature *signature)
{
    free(signature->kind);
    *signature = (struct failure_signature){0};
}

/* The first line of a message with each run of digits as one '#', each quoted or %-name as '@':
 * what depends on the module is gone. */
static char *constant_words(const char *message)
{
    struct text text;
    text_init(&text);
    for (const char *at = message; *at != '\0' && *at != '\n' && text.size < 160;) {
        if (isdigit((unsigned char)*at)) {
            text_char(&text, '#');
            at += strspn(at, "0123456789.x");
        } else if (*at == '%' || *at == '\'' || *at == '"') {
            text_char(&text, '@');
            at++;
            at += strcspn(at, " ,'\"\n)");
            at += *at == '\'' || *at == '"';
        } else {
            text_char(&text, *at++);
        }
    }
    char *words = text_take(&text);
    text_finish(&text);
    return words;
}

static const char *mismatch_kind(const struct comparison *comparison)
{
    bool nan = false, infinity = false, shape = false;
    for (int i = 0; i < comparison->leaf_count; i++) {
        const struct leaf_comparison *leaf = &comparison->leaves[i];
        shape |= leaf->shapes_differ;
        nan |= leaf->nan_disagreements > 0;
        infinity |= leaf->infinity_disagreements > 0;
    }
    return shape ? "shape" : nan ? "NaN" : infinity ? "infinity" : "values";
}

void failure_signature_of(const struct differential_result *result,
                          struct failure_signature *signature)
{
    signature->outcome = result->outcome;
    signature->kind = result->outcome == OUTCOME_MISMATCH
                          ? memory_strdup(mismatch_kind(&result->comparison))
                      : result->outcome == OUTCOME_PASS || result->outcome == OUTCOME_FLAKY
                          ? memory_strdup("")
                          : constant_words(result->message);
}

bool failure_signature_equal(const struct failure_signature *a, const struct failure_signature *b)
{
    return a->outcome == b->outcome && strcmp(a->kind, b->kind) == 0;
}

bool failure_signature_alike(const struct failure_signature *part,
                             const struct failure_signature *whole)
{
    return part->outcome == OUTCOME_MISMATCH ? whole->outcome == OUTCOME_MISMATCH
                                             : failure_signature_equal(part, whole);
}

bool failure_signature_fails(const struct failure_signature *signature)
{
    return signature->outcome != OUTCOME_PASS && signature->outcome != OUTCOME_VACUOUS &&
           signature->outcome != OUTCOME_INCONCLUSIVE && signature->outcome != OUTCOME_UNSUPPORTED;
}

void failure_signature_print(const struct failure_signature *signature, struct text *out)
{
    text_append(out, outcome_text(signature->outcome));
    if (signature->kind[0] != '\0') {
        text_printf(out, " %s", signature->kind);
    }
}

/* --- a backend as the test --- */

bool shrink_test_backend(void *context, int thread, const struct specimen *specimen)
{
    const struct shrink_backend_test *test = context;
    int runs = test->runs > 0 ? test->runs : 1, wanted = test->failures > 0 ? test->failures : 1;
    int failed = 0;
    for (int i = 0; i < runs && failed < wanted && failed + (runs - i) >= wanted; i++) {
        struct differential_options options = test->differential;
        options.arguments = specimen->arguments;
        options.argument_count = specimen_argument_total(specimen);
        struct differential_result result;
        struct failure_signature signature;
        differential_run(specimen->module, test->backends[thread], test->references[thread],
                         &options, &result);
        failure_signature_of(&result, &signature);
        failed += failure_signature_equal(&signature, &test->signature);
        failure_signature_finish(&signature);
        differential_result_finish(&result);
    }
    return failed >= wanted;
}

double shrink_candidate_seconds(const struct failure_signature *signature, double seconds,
                                double timeout)
{
    const double least = 2, room = 4;
    bool hangs = signature->outcome == OUTCOME_TIMEOUT;
    return hangs ? timeout : fmin(fmax(room * seconds, least), timeout);
}
