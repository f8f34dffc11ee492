/* A finding becomes a case: module, arguments, what the golden says, what the backends did. */
#define _GNU_SOURCE
#include "tools/gate_add.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "compare/differential.h"
#include "compare/profile.h"
#include "corpus/case.h"
#include "corpus/manifest.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/modules.h"

/* Arguments of more elements than this are drawn anew from the seed instead of written out, and
 * results of more are not written. */
enum { ELEMENTS_MOST = 16384 };

/* One that is being added. */
struct addition {
    const struct gate_add *add;
    const struct gate_options *options;
    struct manifest manifest;
    char *text; /* the manifest's, as it is */
    size_t size;
    struct loaded_file file;
    char *source; /* the file as it is */
    size_t source_size;
    struct case_header header;
    struct arguments arguments;
    struct text expected;   /* "//@ expect" lines */
    struct text written;    /* "//@ arg" lines */
    char *name, *path;      /* of the case and of its file */
    struct test_case added; /* the row */
    int64_t seed;
    int passed;                               /* backends */
    bool made_file, changed_manifest, begins; /* a new suite */
};

static bool refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

static bool refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("referee: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

static const struct loaded_module *part_of(const struct addition *a)
{
    return &a->file.modules[0];
}

/* --- what is added --- */

static bool load_module(struct addition *a, struct error *err)
{
    const char *path = a->add->module;
    const struct string_list none = {0};
    struct findings findings = {0};
    a->source = file_read(path, &a->source_size, err);
    if (a->source == NULL || !module_load_memory(path, a->source, a->source_size, &a->file, err)) {
        return false;
    }
    struct loaded_module *part = &a->file.modules[0];
    bool ok = a->file.count == 1 ||
              error_set(err, ERROR_INVALID_ARGUMENT, "a case holds one module, %s holds %d", path,
                        a->file.count);
    if (ok && part->error != NULL) {
        *err = *part->error;
        ok = false;
    }
    if (ok && !verify_module(part->module, &findings)) {
        ok = error_at(err, findings.list[0].where, "%s", findings.list[0].text);
    }
    findings_finish(&findings);
    return ok && case_header_read(part->header, part->name, &a->header, err) &&
           arguments_find(part, &a->header, &none, 0, &a->arguments, err);
}

/* A case with the same module, run in the same way; names do not count. NULL: there is none. */
static const struct test_case *find_same(const struct addition *a)
{
    const uint64_t hash = module_hash(part_of(a)->module);
    const struct test_case *same = NULL;
    for (int i = 0; same == NULL && i < a->manifest.case_count; i++) {
        const struct test_case *test = &a->manifest.cases[i];
        struct loaded_file file;
        struct error ignored = {0};
        if (test->profile != a->added.profile || test->poison != a->added.poison ||
            !module_load(test->file, &file, &ignored)) {
            continue;
        }
        const struct module *module = file.modules[0].module;
        same = file.count == 1 && module != NULL && module_hash(module) == hash ? test : NULL;
        loaded_file_finish(&file);
    }
    return same;
}

/* --- names --- */

static bool name_is_taken(const struct addition *a, const char *name)
{
    for (int i = 0; i < a->manifest.case_count; i++) {
        if (strcmp(a->manifest.cases[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static char *path_in_suite(const struct addition *a, const char *name)
{
    const char *slash = strrchr(a->manifest.path, '/');
    struct text path;
    text_init(&path);
    text_append_n(&path, a->manifest.path,
                  slash != NULL ? (size_t)(slash - a->manifest.path) + 1 : 0);
    text_printf(&path, "%s.hlo", name);
    char *result = text_take(&path);
    text_finish(&path);
    return result;
}

/* Letters, digits and '_'; what stands behind the first dot of a file's name goes. */
static char *plain_name(const char *name)
{
    const char *slash = strrchr(name, '/');
    name = slash != NULL ? slash + 1 : name;
    struct text plain;
    text_init(&plain);
    for (; *name != '\0' && *name != '.'; name++) {
        bool letter = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                      (*name >= '0' && *name <= '9');
        text_char(&plain, letter ? *name : '_');
    }
    text_append(&plain, plain.size == 0 ? "case" : "");
    char *result = text_take(&plain);
    text_finish(&plain);
    return result;
}

/* A name that is asked for must be free; another one gets a number. */
static bool choose_name(struct addition *a)
{
    const bool asked = a->add->name != NULL;
    char *base = plain_name(asked                       ? a->add->name
                            : a->header.name[0] != '\0' ? a->header.name
                                                        : a->add->module);
    if (asked && strcmp(base, a->add->name) != 0) {
        free(base);
        return refuse("--name takes letters, digits and '_', not '%s'", a->add->name);
    }
    for (int number = 1; a->path == NULL; number++) {
        struct text name;
        text_init(&name);
        text_append(&name, base);
        if (number > 1) {
            text_printf(&name, "_%d", number);
        }
        char *path = path_in_suite(a, name.data);
        if (!name_is_taken(a, name.data) && !file_exists(path)) {
            a->name = text_take(&name);
            a->path = path;
        } else if (asked) {
            refuse("the suite has a case or a file of the name '%s'", base);
            free(path);
            text_finish(&name);
            break;
        } else {
            free(path);
        }
        text_finish(&name);
    }
    free(base);
    return a->path != NULL;
}

/* --- what it does --- */

static int64_t elements_of(struct literal *const *literals, int count)
{
    int64_t elements = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < shape_leaves(literals[i]->shape); k++) {
            const struct literal *leaf = literal_leaf(literals[i], k);
            elements += shape_is_array(leaf->shape) ? literal_elements(leaf) : 0;
        }
    }
    return elements;
}

static void print_line(const char *key, const struct literal *literal, struct text *out)
{
    text_printf(out, "//@ %s ", key);
    shape_print(literal->shape, false, out);
    text_char(out, ' ');
    literal_print(literal, false, 0, out);
    text_char(out, '\n');
}

/* The lines of the first run: its arguments, unless they are the header's, and what the golden
 * gave.
 */
static void keep_lines(struct addition *a, const struct differential_result *result)
{
    a->seed = (int64_t)result->seed;
    bool drawn = a->arguments.source == ARGUMENTS_SEED;
    bool few = elements_of(result->arguments, result->argument_count) <= ELEMENTS_MOST;
    for (int i = 0; (few || !drawn) && i < result->argument_count; i++) {
        print_line("arg", result->arguments[i], &a->written);
    }
    struct literal *const *outputs = result->reference.outputs;
    if (a->header.expected_count > 0 || outputs == NULL ||
        elements_of(outputs, result->device_count) > ELEMENTS_MOST) {
        return;
    }
    for (int d = 0; d < result->device_count; d++) {
        for (int k = 0; k < shape_leaves(outputs[d]->shape); k++) {
            print_line("expect", literal_leaf(outputs[d], k), &a->expected);
        }
    }
}

/* The golden's results against the module's own "//@ expect" lines. */
static bool golden_agrees(const struct addition *a, const struct differential_result *result)
{
    if (a->header.expected_count == 0 || result->reference.outcome != OUTCOME_PASS) {
        return true;
    }
    struct text picture;
    text_init(&picture);
    bool ok = case_header_check_devices(&a->header, result->reference.outputs, result->device_count,
                                        &picture);
    if (!ok) {
        refuse("%s: the golden differs from the //@ expect lines:\n%s", a->add->module,
               picture.data);
    }
    text_finish(&picture);
    return ok;
}

static void expect(struct addition *a, const char *backend, enum outcome outcome)
{
    struct test_case *row = &a->added;
    row->expectations = memory_realloc(row->expectations, ((size_t)row->expectation_count + 1) *
                                                              sizeof *row->expectations);
    row->expectations[row->expectation_count++] =
        (struct expectation){(char *)(uintptr_t)backend, outcome,
                             (char *)(uintptr_t)(a->add->reason != NULL ? a->add->reason : ""),
                             (char *)(uintptr_t)(a->add->until != NULL ? a->add->until : "")};
}

/* What can be expected of a case. */
static bool take_outcome(struct addition *a, const char *uri,
                         const struct differential_result *result)
{
    printf("%-13s %s  %s\n", outcome_text(result->outcome), a->add->module, uri);
    switch (result->outcome) {
    case OUTCOME_PASS:
        a->passed++;
        return true;
    case OUTCOME_MISMATCH:
    case OUTCOME_COMPILE_ERROR:
    case OUTCOME_RUNTIME_ERROR:
    case OUTCOME_CRASH:
    case OUTCOME_TIMEOUT:
    case OUTCOME_OOM:
        expect(a, uri, result->outcome);
        return a->add->reason != NULL || refuse("it does not pass; --reason says what is wrong");
    default:
        return refuse("that proves nothing: %s", result->message);
    }
}

static bool run_on(struct addition *a, const char *uri, struct backend *reference, bool first,
                   struct error *err)
{
    struct backend_options backend_options = {.poison = a->add->poison};
    struct backend *backend = backend_open(uri, &backend_options, err);
    if (backend == NULL) {
        return false;
    }
    struct differential_options options = {
        .inputs = {.seed = (uint64_t)a->add->seed},
        .arguments = a->arguments.count > 0 ? a->arguments.literals : NULL,
        .argument_count = a->arguments.count,
        .profile = a->added.profile,
        .abs_error_bound = 1e-3,
        .rel_error_bound = 1e-3,
    };
    struct differential_result result;
    differential_run(part_of(a)->module, backend, reference, &options, &result);
    bool ok = golden_agrees(a, &result) && take_outcome(a, uri, &result);
    if (ok && first) {
        keep_lines(a, &result);
    }
    differential_result_finish(&result);
    backend_close(backend);
    return ok;
}

/* Those of the command line, else those of the suite. */
static bool run_all(struct addition *a, struct error *err)
{
    const struct string_list *given = &a->options->backends;
    int count = given->count > 0 ? (int)given->count : a->manifest.backend_count;
    struct backend *reference = backend_open("interp:", NULL, err);
    bool ok = reference != NULL;
    for (int i = 0; ok && i < count; i++) {
        const char *uri = given->count > 0 ? given->items[i] : a->manifest.backends[i];
        ok = run_on(a, uri, reference, i == 0, err);
    }
    backend_close(reference);
    return ok;
}

/* The row names backends only where they are not the suite's. */
static void set_backends(struct addition *a)
{
    const struct string_list *given = &a->options->backends;
    bool same = given->count == 0 || (int)given->count == a->manifest.backend_count;
    for (size_t i = 0; same && i < given->count; i++) {
        same = strcmp(given->items[i], a->manifest.backends[i]) == 0;
    }
    if (!same) {
        a->added.backend_count = (int)given->count;
        a->added.backends = (char **)(uintptr_t)given->items;
    }
}

/* --- files --- */

static bool is_own_line(const char *line)
{
    static const char *const keys[] = {"//@ case ", "//@ arg ", "//@ expect "};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strncmp(line, keys[i], strlen(keys[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Comments at the head come first, as they were; then our lines; then the module. */
static void print_text_module(const struct addition *a, const char *lines, struct text *out)
{
    bool in_head = true;
    for (size_t at = 0; at < a->source_size;) {
        const char *line = a->source + at, *newline = memchr(line, '\n', a->source_size - at);
        size_t size = newline != NULL ? (size_t)(newline - line) + 1 : a->source_size - at;
        if (in_head && !(size >= 2 && strncmp(line, "//", 2) == 0)) {
            text_append(out, lines);
            in_head = false;
        }
        if (!in_head || !is_own_line(line)) {
            text_append_n(out, line, size);
        }
        at += size;
    }
}

static void print_module(const struct addition *a, struct text *out)
{
    struct text lines;
    text_init(&lines);
    text_printf(&lines, "//@ case %s\n%s", a->name, a->written.data);
    for (int i = 0; i < a->header.expected_count; i++) {
        print_line("expect", a->header.expected[i], &lines);
    }
    text_append(&lines, a->expected.data);
    if (a->file.format == FORMAT_TEXT) {
        print_text_module(a, lines.data, out);
    } else {
        text_append(out, lines.data);
        text_print_module(part_of(a)->module, &print_canonical, out);
    }
    text_finish(&lines);
}

static bool write_files(struct addition *a, struct error *err)
{
    struct text module;
    text_init(&module);
    print_module(a, &module);
    a->made_file = file_write(a->path, module.data, module.size, err);
    text_finish(&module);
    const char *slash = strrchr(a->path, '/');
    a->added.file = (char *)(uintptr_t)(slash != NULL ? slash + 1 : a->path);
    if (a->written.size == 0 && a->seed != 1) {
        a->added.seed_count = 1;
        a->added.seeds = &a->seed;
    }
    char *text = a->made_file
                     ? manifest_with_case(a->manifest.path, a->text, a->size, &a->added, err)
                     : NULL;
    a->changed_manifest = text != NULL && file_write(a->manifest.path, text, strlen(text), err);
    free(text);
    return a->changed_manifest;
}

static void undo(const struct addition *a)
{
    struct error err = {0};
    if (a->made_file) {
        unlink(a->path);
    }
    if (a->changed_manifest && a->begins) {
        unlink(a->manifest.path);
    } else if (a->changed_manifest && !file_write(a->manifest.path, a->text, a->size, &err)) {
        print_error(&err);
    }
}

/* The gate on that one case. */
static bool check(const struct addition *a, struct gate_report *report, struct error *err)
{
    struct manifest manifest;
    struct gate_options options = *a->options;
    options.backends = (struct string_list){0};
    options.journal = NULL;
    options.shard = options.shard_count = 1;
    options.verbose = true;
    if (!manifest_load(a->manifest.path, &manifest, err)) {
        return false;
    }
    struct manifest one = manifest;
    one.cases = &manifest.cases[manifest.case_count - 1];
    one.case_count = 1;
    int line = one.cases->line;
    bool ok = gate_run(&one, 1, &options, report, err);
    ok = ok && gate_report_count(report, GATE_AS_EXPECTED) == report->count;
    if (ok) {
        printf("added to %s:%d: %s\nwritten to %s\n", a->manifest.path, line, a->name, a->path);
    }
    manifest_finish(&manifest);
    return ok;
}

/* --- the command --- */

static int run(struct addition *a, struct gate_report *report, struct error *err)
{
    const struct gate_add *add = a->add;
    if (!load_module(a, err)) {
        return EXIT_USAGE;
    }
    const struct test_case *same = find_same(a);
    if (same != NULL) {
        refuse("%s is in the suite already: '%s' (%s)", add->module, same->name, same->file);
        return EXIT_FINDINGS;
    }
    if (!choose_name(a)) {
        return EXIT_USAGE;
    }
    if (!run_all(a, err)) {
        return err->code != ERROR_NONE ? EXIT_INFRASTRUCTURE : EXIT_FINDINGS;
    }
    if (a->added.expectation_count == 0 && !add->pass) {
        refuse("%s passes; --pass takes it all the same", add->module);
        return EXIT_FINDINGS;
    }
    set_backends(a);
    if (!write_files(a, err)) {
        undo(a);
        return EXIT_INFRASTRUCTURE;
    }
    if (!check(a, report, err)) {
        undo(a);
        refuse("it was not as expected when it was run again: nothing was added");
        return err->code != ERROR_NONE ? EXIT_INFRASTRUCTURE : EXIT_FINDINGS;
    }
    return EXIT_AS_EXPECTED;
}

static bool words_are_good(const struct gate_add *add)
{
    struct tm date = {0};
    if (add->until != NULL) {
        const char *end = strptime(add->until, "%Y-%m-%d", &date);
        if (end == NULL || *end != '\0' || strlen(add->until) != strlen("YYYY-MM-DD")) {
            return refuse("--until takes a date YYYY-MM-DD, not '%s'", add->until);
        }
    }
    return add->profile == NULL || profile_find(add->profile) != NULL ||
           refuse("there is no profile '%s'; 'referee show backends' lists them", add->profile);
}

/* With its slash; "." of a name alone. free() it. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

/* The manifest as it is, or that of a new suite, which is named after the file or its folder. */
static bool read_manifest(struct addition *a, const char *path, struct error *err)
{
    struct error missing = {0};
    a->text = file_read(path, &a->size, &missing);
    a->begins = a->text == NULL && !file_exists(path);
    if (a->text == NULL && !a->begins) {
        *err = missing;
        return false;
    }
    if (a->begins) {
        const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
        char *given = folder_of(path), *folder = realpath(given, NULL);
        bool says_nothing = strncmp(file, "manifest.", strlen("manifest.")) == 0 && folder != NULL;
        char *name = plain_name(says_nothing ? folder : path);
        a->text = manifest_begin(name, a->options->backends.items, a->options->backends.count);
        a->size = strlen(a->text);
        free(given);
        free(folder);
        free(name);
    }
    return manifest_read(path, a->text, a->size, &a->manifest, err);
}

/* One at a time adds to the suites of a folder: the lock, which ends with the file; −1 where the
 * file system has none. */
static int lock_folder(const char *manifest)
{
    char *folder = folder_of(manifest);
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file >= 0 && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        fprintf(stderr, "referee: waiting for another --add to this suite\n");
        while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    free(folder);
    return file;
}

int gate_add(const struct gate_add *add, const struct gate_options *options, const char *manifest,
             struct gate_report *report)
{
    struct error err = {0};
    struct addition a = {.add = add, .options = options};
    if (!words_are_good(add)) {
        return EXIT_USAGE;
    }
    int lock = lock_folder(manifest);
    if (!read_manifest(&a, manifest, &err)) {
        print_error(&err);
        manifest_finish(&a.manifest);
        free(a.text);
        close(lock);
        return EXIT_USAGE;
    }
    a.added.profile = add->profile != NULL ? profile_find(add->profile) : NULL;
    a.added.poison = add->poison;
    text_init(&a.expected);
    text_init(&a.written);
    int status = run(&a, report, &err);
    if (err.code != ERROR_NONE) {
        print_error(&err);
    }
    text_finish(&a.expected);
    text_finish(&a.written);
    arguments_finish(&a.arguments);
    case_header_finish(&a.header);
    loaded_file_finish(&a.file);
    manifest_finish(&a.manifest);
    free(a.added.expectations);
    free(a.source);
    free(a.text);
    free(a.name);
    free(a.path);
    close(lock);
    return status;
}
