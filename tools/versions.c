/* Which release broke it (versions.h): a binary search over the table of releases, each of which is
 * a backend that is held against the golden. */
#include "tools/versions.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/plugins.h"
#include "backend/remember.h"
#include "compare/shrink.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "tools/commands.h"
#include "tools/fetching.h"
#include "tools/modules.h"

/* What a release says about the question. */
enum state {
    STATE_UNKNOWN, /* not judged */
    STATE_GOOD,    /* it passes */
    STATE_BAD,     /* it fails as the one that is asked about */
    STATE_SKIP,    /* it cannot run the module, or ends otherwise, or cannot be had */
};
static const char *const state_words[] = {"not judged", "good", "bad", "skipped"};

struct judged {
    const struct plugin_row *row;
    bool is_there, is_judged;
    struct failure_signature signature;
    char *message; /* the first line of why; "" */
};

/* A place where the verdict turns: `from` and `to` are judged, what is between them is skipped. */
struct change {
    int from, to;
};

struct search {
    const struct versions_options *options;
    struct specimen specimen;
    struct backend *reference;
    int count;
    struct judged *releases; /* in range, the oldest first */
    const struct failure_signature *wanted;
    int judged_count, change_count;
    struct change *changes;
    double seconds;
};

/* --- the releases --- */

static bool is_asked_for(const struct versions_options *options, const struct plugin_row *row)
{
    bool asked = options->schemes->count == 0;
    for (size_t i = 0; i < options->schemes->count; i++) {
        const char *scheme = options->schemes->items[i];
        size_t size = strcspn(scheme, ":");
        asked |= strlen(row->scheme) == size && strncmp(scheme, row->scheme, size) == 0;
    }
    return asked;
}

/* The place of "0.4.30", "jaxlib:0.4.30" or "2024-06" in the table: of a date, that of the first
 * release since, or if it is the end of the range, of the last until then. −1 when there is none.
 */
static int find_release(const char *word, size_t size, bool is_end)
{
    int found = -1;
    bool is_date = size >= 7 && word[4] == '-';
    for (int i = 0; i < plugin_release_count; i++) {
        const struct plugin_row *row = &plugin_releases[i];
        int order = strncmp(row->date, word, size);
        bool same = (strlen(row->name) == size && strncmp(row->name, word, size) == 0) ||
                    (strlen(row->version) == size && strncmp(row->version, word, size) == 0);
        if (is_date ? (is_end ? order <= 0 : order >= 0 && found < 0) : same) {
            found = i;
        }
    }
    return found;
}

static bool find_range(const char *between, int *first, int *last)
{
    *first = 0;
    *last = plugin_release_count - 1;
    const char *dots = between != NULL ? strstr(between, "..") : NULL;
    if (between == NULL) {
        return true;
    }
    if (dots == NULL) {
        fprintf(stderr, "referee: --between takes FIRST..LAST, as 0.4.30..0.6.0 or 2024-06..\n");
        return false;
    }
    if (dots > between) {
        *first = find_release(between, (size_t)(dots - between), false);
    }
    if (dots[2] != '\0') {
        *last = find_release(dots + 2, strlen(dots + 2), true);
    }
    if (*first < 0 || *last < 0 || *first > *last) {
        fprintf(stderr,
                "referee: --between %s: there are no such releases in this order; 'referee fetch "
                "--list' lists them\n",
                between);
        return false;
    }
    return true;
}

static bool find_releases(struct search *search)
{
    int first, last;
    if (!find_range(search->options->between, &first, &last)) {
        return false;
    }
    search->releases = memory_zalloc((size_t)plugin_release_count * sizeof *search->releases);
    for (int i = first; i <= last; i++) {
        const struct plugin_row *row = &plugin_releases[i];
        if (is_asked_for(search->options, row)) {
            search->releases[search->count++] =
                (struct judged){.row = row, .is_there = fetch_is_there(row)};
        }
    }
    if (search->count == 0) {
        fprintf(stderr, "referee: none of the backends has releases in that range; jaxlib: and "
                        "cpu: have\n");
    }
    return search->count > 0;
}

/* Can it be judged without asking anybody? */
static bool is_at_hand(const struct search *search, int number)
{
    return search->releases[number].is_there || search->options->yes;
}

/* --- one release --- */

static char *first_line(const char *text)
{
    size_t size = strcspn(text, "\n");
    char *line = memory_alloc(size + 1);
    memcpy(line, text, size);
    line[size] = '\0';
    return line;
}

static void skip(struct judged *release, const char *why)
{
    release->signature = (struct failure_signature){.outcome = OUTCOME_UNSUPPORTED};
    release->signature.kind = memory_strdup("");
    release->message = first_line(why);
}

static void run_release(struct search *search, struct judged *release)
{
    struct error err = {0};
    struct backend *backend = failing_open(search->options->failing, release->row->name,
                                           search->options->failing->timeout, &err);
    if (backend == NULL) {
        skip(release, err.message);
        return;
    }
    struct differential_options options = search->options->failing->differential;
    options.arguments = search->specimen.arguments;
    options.argument_count = specimen_argument_total(&search->specimen);
    struct differential_result result;
    differential_run(search->specimen.module, backend, search->reference, &options, &result);
    failure_signature_of(&result, &release->signature);
    release->message = first_line(result.message);
    differential_result_finish(&result);
    backend_close(backend);
}

static void print_verdict(const struct judged *release, FILE *out)
{
    enum { WIDTH = 100 };
    struct text text;
    text_init(&text);
    if (release->signature.outcome == OUTCOME_UNSUPPORTED) {
        text_printf(&text, "UNSUPPORTED: %s", release->message);
    } else {
        failure_signature_print(&release->signature, &text);
    }
    size_t size = strcspn(text.data, "\n");
    fprintf(out, "  %-14s %s  %.*s\n", release->row->name, release->row->date,
            size > WIDTH ? WIDTH : (int)size, text.data);
    text_finish(&text);
}

/* Fetches it if need be and may be, and runs the module on it; once. */
static void judge(struct search *search, int number)
{
    struct judged *release = &search->releases[number];
    struct error err = {0};
    if (release->is_judged || !is_at_hand(search, number)) {
        return;
    }
    if (!release->is_there) {
        if (!search->options->quiet) {
            fprintf(stderr, "fetching %s of %s, %.0f MB\n", release->row->name, release->row->date,
                    (double)fetch_bytes(release->row) / 1e6);
        }
        release->is_there = fetch_row(release->row, &err);
    }
    if (release->is_there) {
        run_release(search, release);
    } else {
        skip(release, err.message);
    }
    release->is_judged = true;
    search->judged_count++;
    if (!search->options->quiet && isatty(STDERR_FILENO)) {
        print_verdict(release, stderr);
    }
}

/* Is it a failure that one can ask about? */
static bool is_failure(const struct judged *release)
{
    static const enum outcome failures[] = {
        OUTCOME_MISMATCH, OUTCOME_COMPILE_ERROR, OUTCOME_RUNTIME_ERROR, OUTCOME_CRASH,
        OUTCOME_TIMEOUT,  OUTCOME_OOM,           OUTCOME_FLAKY};
    bool fails = false;
    for (size_t i = 0; release->is_judged && i < sizeof failures / sizeof *failures; i++) {
        fails |= release->signature.outcome == failures[i];
    }
    return fails;
}

static enum state state_of(const struct search *search, int number)
{
    const struct judged *release = &search->releases[number];
    if (!release->is_judged) {
        return STATE_UNKNOWN;
    }
    if (release->signature.outcome == OUTCOME_PASS) {
        return STATE_GOOD;
    }
    if (search->wanted == NULL || !is_failure(release)) {
        return STATE_SKIP;
    }
    /* Wrong is wrong, be it values or NaN; what does not run must not run for the same reason. */
    bool same = search->wanted->outcome == OUTCOME_MISMATCH
                    ? release->signature.outcome == OUTCOME_MISMATCH
                    : failure_signature_equal(&release->signature, search->wanted);
    return same ? STATE_BAD : STATE_SKIP;
}

/* --- the search --- */

/* The first from `number` on, in steps, that passes or fails; judged on the way. The first failure
 * is what is asked about, unless that is known. −1: none. */
static int find_end(struct search *search, int number, int step)
{
    for (; number >= 0 && number < search->count; number += step) {
        judge(search, number);
        if (search->wanted == NULL && is_failure(&search->releases[number])) {
            search->wanted = &search->releases[number].signature;
        }
        enum state state = state_of(search, number);
        if (state == STATE_GOOD || state == STATE_BAD) {
            return number;
        }
    }
    return -1;
}

/* All from one to the other that are at hand, or that are there; the newest failure is what is
 * asked about, unless that is known. */
static void judge_all(struct search *search, int first, int last, bool fetch)
{
    for (int i = first; i <= last; i++) {
        if (fetch || search->releases[i].is_there) {
            judge(search, i);
        }
    }
    for (int i = last; i >= first && search->wanted == NULL; i--) {
        if (is_failure(&search->releases[i])) {
            search->wanted = &search->releases[i].signature;
        }
    }
}

/* The release at hand between two that is not judged and nearest to their middle; −1: none. */
static int find_middle(const struct search *search, int low, int high)
{
    int best = -1, middle = (low + high) / 2;
    for (int i = low + 1; i < high; i++) {
        bool open = !search->releases[i].is_judged && is_at_hand(search, i);
        if (open && (best < 0 || abs(i - middle) < abs(best - middle))) {
            best = i;
        }
    }
    return best;
}

/* Between two of different states: halves until what is left between them cannot be judged. */
static void halve(struct search *search, int low, int high)
{
    int middle;
    while ((middle = find_middle(search, low, high)) >= 0) {
        judge(search, middle);
        enum state state = state_of(search, middle);
        if (state == state_of(search, low)) {
            low = middle;
        } else if (state == state_of(search, high)) {
            high = middle;
        }
    }
}

static void find_changes(struct search *search)
{
    int last = -1;
    search->changes = memory_zalloc((size_t)search->count * sizeof *search->changes);
    for (int i = 0; i < search->count; i++) {
        enum state state = state_of(search, i);
        if (state != STATE_GOOD && state != STATE_BAD) {
            continue;
        }
        if (last >= 0 && state_of(search, last) != state) {
            search->changes[search->change_count++] = (struct change){last, i};
        }
        last = i;
    }
}

static void search_run(struct search *search)
{
    double start = clock_seconds();
    int newest = find_end(search, search->count - 1, -1);
    int oldest = newest > 0 ? find_end(search, 0, 1) : -1;
    if (search->options->all) {
        judge_all(search, 0, search->count - 1, true);
    } else if (oldest >= 0 && oldest < newest) {
        if (state_of(search, oldest) != state_of(search, newest)) {
            halve(search, oldest, newest);
        } else {
            /* Nothing turned between the ends, or it did twice: what is here will tell. */
            judge_all(search, oldest, newest, false);
        }
    }
    find_changes(search);
    search->seconds = clock_seconds() - start;
}

/* --- the report --- */

static const char *date_of(const struct search *search, int number)
{
    return search->releases[number].row->date;
}

static const char *name_of(const struct search *search, int number)
{
    return search->releases[number].row->name;
}

/* "broke: … is the first that fails", and what stands between. */
static void print_change(const struct search *search, const struct change *change)
{
    bool broke = state_of(search, change->to) == STATE_BAD;
    struct text skipped, missing;
    text_init(&skipped);
    text_init(&missing);
    for (int i = change->from + 1; i < change->to; i++) {
        text_printf(search->releases[i].is_judged ? &skipped : &missing, " %s", name_of(search, i));
    }
    printf("%s: %s (%s) is the first that %s, %s (%s) the last that %s\n",
           broke ? "broke" : "fixed", name_of(search, change->to), date_of(search, change->to),
           broke ? "fails" : "passes", name_of(search, change->from), date_of(search, change->from),
           broke ? "passes" : "fails");
    if (skipped.size > 0) {
        printf("  or one of these, which cannot tell:%s\n", skipped.data);
    }
    if (missing.size > 0) {
        printf("  or one of these, which are not here; --yes fetches what is needed, or: referee "
               "fetch%s\n",
               missing.data);
    }
    text_finish(&skipped);
    text_finish(&missing);
}

static void print_summary(const struct search *search, const char *path)
{
    int good = 0, bad = 0;
    for (int i = 0; i < search->count; i++) {
        good += state_of(search, i) == STATE_GOOD;
        bad += state_of(search, i) == STATE_BAD;
    }
    if (search->change_count == 0) {
        printf("nothing changed: of %d releases judged, %d pass and %d fail\n",
               search->judged_count, good, bad);
    }
    if (search->change_count > 1) {
        printf("it changed %d times:\n", search->change_count);
    }
    for (int i = 0; i < search->change_count; i++) {
        print_change(search, &search->changes[i]);
    }
    printf("%d of %d releases judged in %.1f s\n", search->judged_count, search->count,
           search->seconds);
    if (search->change_count > 0) {
        const struct change *last = &search->changes[search->change_count - 1];
        struct text typed;
        text_init(&typed);
        failing_repeat(search->options->failing, &typed);
        printf("see it: referee run %s --backend %s --backend %s --seed %lld%s\n", path,
               name_of(search, last->from), name_of(search, last->to),
               (long long)search->options->failing->seed, typed.data);
        text_finish(&typed);
    }
}

/* The next that was judged, from `number` on; the number of all when there is none. */
static int next_judged(const struct search *search, int number)
{
    while (number < search->count && !search->releases[number].is_judged) {
        number++;
    }
    return number;
}

/* One line a release; of many in a row that end alike, the first and the last. */
static void print_verdicts(const struct search *search)
{
    int number = next_judged(search, 0);
    while (number < search->count) {
        const struct judged *first = &search->releases[number], *last = first;
        int alike = 0;
        for (; number < search->count && search->releases[number].is_judged &&
               failure_signature_equal(&first->signature, &search->releases[number].signature);
             number = next_judged(search, number + 1)) {
            last = &search->releases[number];
            alike++;
        }
        print_verdict(first, stdout);
        if (alike > 2) {
            printf("  … %d more alike\n", alike - 2);
        }
        if (alike > 1) {
            print_verdict(last, stdout);
        }
    }
}

static void print_report(const struct search *search, const char *path)
{
    printf("%s: %s (%s) to %s (%s)\n", path, name_of(search, 0), date_of(search, 0),
           name_of(search, search->count - 1), date_of(search, search->count - 1));
    print_verdicts(search);
    print_summary(search, path);
}

static json_t *release_json(const struct search *search, int number)
{
    const struct judged *release = &search->releases[number];
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:b}", "release", release->row->name, "date", release->row->date,
                  "state", state_words[state_of(search, number)], "there", release->is_there);
    if (release->is_judged) {
        json_object_set_new(object, "outcome",
                            json_string(outcome_text(release->signature.outcome)));
        json_object_set_new(
            object, "kind",
            json_string(release->signature.kind != NULL ? release->signature.kind : ""));
        json_object_set_new(object, "message", json_string(release->message));
    }
    return object;
}

static json_t *report_json(const struct search *search, const char *path)
{
    json_t *releases = json_array(), *changes = json_array();
    for (int i = 0; i < search->count; i++) {
        json_array_append_new(releases, release_json(search, i));
    }
    for (int i = 0; i < search->change_count; i++) {
        const struct change *change = &search->changes[i];
        bool broke = state_of(search, change->to) == STATE_BAD;
        json_array_append_new(
            changes, json_pack("{s:s, s:s, s:s, s:i}", "change", broke ? "broke" : "fixed", "last",
                               name_of(search, change->from), "first", name_of(search, change->to),
                               "undecided", change->to - change->from - 1));
    }
    return json_pack("{s:s, s:o, s:o, s:i, s:f}", "module", path, "releases", releases, "changes",
                     changes, "judged", search->judged_count, "seconds", search->seconds);
}

static int report(const struct search *search, const char *path)
{
    int status = EXIT_AS_EXPECTED;
    for (int i = 0; i < search->count; i++) {
        status = is_failure(&search->releases[i]) ? EXIT_FINDINGS : status;
    }
    if (search->judged_count == 0) {
        fprintf(stderr,
                "referee: none of the %d releases is here; --yes fetches those that are needed, "
                "or: referee fetch %s %s\n",
                search->count, name_of(search, 0), name_of(search, search->count - 1));
        return EXIT_INFRASTRUCTURE;
    }
    if (!search->options->quiet) {
        print_report(search, path);
    }
    if (search->options->json != NULL) {
        json_t *object = report_json(search, path);
        status = write_json(search->options->json, object) ? status : EXIT_INFRASTRUCTURE;
        json_decref(object);
    }
    return status;
}

int versions_search(const struct versions_options *options, const char *path)
{
    struct search search = {.options = options};
    struct error err = {0};
    int status = EXIT_USAGE;
    set_memory_limit(0, MEMORY_BESIDE_BACKENDS);
    if (!failing_load(options->failing, path, &search.specimen, &err)) {
        print_error(&err);
    } else if (find_releases(&search)) {
        struct backend *golden = backend_open("interp:", NULL, &err);
        if (golden == NULL) {
            print_error(&err);
            status = EXIT_INFRASTRUCTURE;
        } else {
            search.reference = backend_remember(golden);
            search_run(&search);
            status = report(&search, path);
            backend_close(search.reference);
            backend_close(golden);
        }
    }
    for (int i = 0; i < search.count; i++) {
        failure_signature_finish(&search.releases[i].signature);
        free(search.releases[i].message);
    }
    free(search.releases);
    free(search.changes);
    specimen_finish(&search.specimen);
    return status;
}
