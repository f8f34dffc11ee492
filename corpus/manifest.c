/* Reading manifests. Every mapping has a table of its keys; a key sets a field by its kind. */
#include "corpus/manifest.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "compare/profile.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"

struct reader {
    const char *path;
    yaml_document_t document;
    struct error *err;
};

static bool fail(struct reader *reader, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool fail(struct reader *reader, const yaml_node_t *node, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct where where = {reader->path, (int)node->start_mark.line + 1,
                          (int)node->start_mark.column + 1};
    return error_at(reader->err, where, "%s", text);
}

static const char *scalar(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static yaml_node_t *node_at(struct reader *reader, int index)
{
    return yaml_document_get_node(&reader->document, index);
}

/* Sets one field of `target` from the value of a key. */
typedef bool set_function(struct reader *reader, yaml_node_t *value, void *target);

struct key {
    const char *name;
    set_function *set;
    bool required;
};

static bool read_mapping(struct reader *reader, yaml_node_t *node, const struct key *keys,
                         void *target)
{
    if (node->type != YAML_MAPPING_NODE) {
        return fail(reader, node, "expected a mapping (key: value)");
    }
    bool seen[16] = {false};
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *name = node_at(reader, pair->key);
        if (name->type != YAML_SCALAR_NODE) {
            return fail(reader, name, "expected a word as the key");
        }
        int k = 0;
        while (keys[k].name != NULL && strcmp(keys[k].name, scalar(name)) != 0) {
            k++;
        }
        if (keys[k].name == NULL) {
            return fail(reader, name, "unknown key '%s'", scalar(name));
        }
        if (seen[k]) {
            return fail(reader, name, "'%s' is there twice", scalar(name));
        }
        seen[k] = true;
        if (!keys[k].set(reader, node_at(reader, pair->value), target)) {
            return false;
        }
    }
    for (int k = 0; keys[k].name != NULL; k++) {
        if (keys[k].required && !seen[k]) {
            return fail(reader, node, "'%s' is missing", keys[k].name);
        }
    }
    return true;
}

static bool read_text(struct reader *reader, yaml_node_t *node, char **text)
{
    if (node->type != YAML_SCALAR_NODE) {
        return fail(reader, node, "expected a text");
    }
    free(*text);
    *text = memory_strdup(scalar(node));
    return true;
}

static bool read_int(struct reader *reader, yaml_node_t *node, int64_t *value)
{
    char *end = NULL;
    errno = 0;
    if (node->type == YAML_SCALAR_NODE) {
        *value = strtoll(scalar(node), &end, 10);
    }
    return (end != NULL && end != scalar(node) && *end == '\0' && errno == 0) ||
           fail(reader, node, "expected an integer");
}

/* --- expectations --- */

static bool set_outcome(struct reader *reader, yaml_node_t *value, void *target)
{
    struct expectation *expectation = target;
    for (int i = 0; value->type == YAML_SCALAR_NODE && i < OUTCOME_COUNT; i++) {
        if (strcmp(outcome_text((enum outcome)i), scalar(value)) == 0) {
            expectation->outcome = (enum outcome)i;
            return true;
        }
    }
    return fail(reader, value, "expected an outcome (PASS, MISMATCH, CRASH …)");
}

static bool set_reason(struct reader *reader, yaml_node_t *value, void *target)
{
    return read_text(reader, value, &((struct expectation *)target)->reason);
}

static bool set_until(struct reader *reader, yaml_node_t *value, void *target)
{
    struct expectation *expectation = target;
    int year, month, day;
    char rest;
    if (!read_text(reader, value, &expectation->until)) {
        return false;
    }
    return (sscanf(expectation->until, "%4d-%2d-%2d%c", &year, &month, &day, &rest) == 3 &&
            strlen(expectation->until) == 10) ||
           fail(reader, value, "expected a date YYYY-MM-DD");
}

static const struct key expectation_keys[] = {
    {"outcome", set_outcome, true}, {"reason", set_reason, true}, {"until", set_until, false}, {0}};

static bool set_expect(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    if (value->type != YAML_MAPPING_NODE) {
        return fail(reader, value, "expected a mapping from backends to outcomes");
    }
    for (yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++) {
        yaml_node_t *name = node_at(reader, pair->key);
        size_t count = (size_t)test->expectation_count;
        test->expectations =
            memory_realloc(test->expectations, (count + 1) * sizeof *test->expectations);
        struct expectation *expectation = &test->expectations[test->expectation_count++];
        *expectation =
            (struct expectation){.reason = memory_strdup(""), .until = memory_strdup("")};
        if (!read_text(reader, name, &expectation->backend) ||
            !read_mapping(reader, node_at(reader, pair->value), expectation_keys, expectation)) {
            return false;
        }
    }
    return true;
}

static const struct key quarantine_keys[] = {
    {"reason", set_reason, true}, {"until", set_until, false}, {0}};

static bool set_quarantine(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    test->quarantine = memory_zalloc(sizeof *test->quarantine);
    *test->quarantine = (struct expectation){
        .backend = memory_strdup(""), .reason = memory_strdup(""), .until = memory_strdup("")};
    return read_mapping(reader, value, quarantine_keys, test->quarantine);
}

/* --- cases --- */

static bool set_name(struct reader *reader, yaml_node_t *value, void *target)
{
    return read_text(reader, value, &((struct test_case *)target)->name);
}

static bool set_file(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    if (!read_text(reader, value, &test->file)) {
        return false;
    }
    if (test->file[0] != '/') {
        const char *slash = strrchr(reader->path, '/');
        size_t folder = slash != NULL ? (size_t)(slash - reader->path) + 1 : 0;
        char *path = memory_alloc(folder + strlen(test->file) + 1);
        memcpy(path, reader->path, folder);
        strcpy(path + folder, test->file);
        free(test->file);
        test->file = path;
    }
    return file_exists(test->file) || fail(reader, value, "there is no file %s", test->file);
}

static bool set_case_description(struct reader *reader, yaml_node_t *value, void *target)
{
    return read_text(reader, value, &((struct test_case *)target)->description);
}

static bool set_seeds(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    if (value->type != YAML_SEQUENCE_NODE) {
        return fail(reader, value, "expected a list of seeds");
    }
    yaml_node_item_t *start = value->data.sequence.items.start;
    test->seed_count = (int)(value->data.sequence.items.top - start);
    test->seeds = memory_zalloc((size_t)test->seed_count * sizeof *test->seeds);
    for (int i = 0; i < test->seed_count; i++) {
        if (!read_int(reader, node_at(reader, start[i]), &test->seeds[i])) {
            return false;
        }
    }
    return test->seed_count > 0 || fail(reader, value, "the list of seeds is empty");
}

static bool read_backends(struct reader *reader, yaml_node_t *value, int *count, char ***list)
{
    if (value->type != YAML_SEQUENCE_NODE) {
        return fail(reader, value, "expected a list of backends");
    }
    yaml_node_item_t *start = value->data.sequence.items.start;
    int items = (int)(value->data.sequence.items.top - start);
    *list = memory_zalloc(((size_t)items + 1) * sizeof **list);
    for (int i = 0; i < items; i++) {
        ++*count;
        if (!read_text(reader, node_at(reader, start[i]), &(*list)[i])) {
            return false;
        }
    }
    return true;
}

static bool set_case_backends(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    return read_backends(reader, value, &test->backend_count, &test->backends) &&
           (test->backend_count > 0 || fail(reader, value, "the list of backends is empty"));
}

static bool set_tolerance(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    if (value->type == YAML_SCALAR_NODE && tolerance_kind_find(scalar(value), &test->tolerance)) {
        return true;
    }
    return fail(reader, value, "expected default, derived, xla or bits");
}

static bool set_profile(struct reader *reader, yaml_node_t *value, void *target)
{
    struct test_case *test = target;
    test->profile = value->type == YAML_SCALAR_NODE ? profile_find(scalar(value)) : NULL;
    return test->profile != NULL ||
           fail(reader, value, "expected a profile ('referee show backends' lists them)");
}

static bool set_poison(struct reader *reader, yaml_node_t *value, void *target)
{
    const char *text = value->type == YAML_SCALAR_NODE ? scalar(value) : "";
    ((struct test_case *)target)->poison = strcmp(text, "true") == 0;
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
           fail(reader, value, "expected true or false");
}

static bool set_timeout(struct reader *reader, yaml_node_t *value, void *target)
{
    char *end = NULL;
    double seconds = value->type == YAML_SCALAR_NODE ? strtod(scalar(value), &end) : 0;
    if (end == NULL || end == scalar(value) || *end != '\0') {
        return fail(reader, value, "expected a number of seconds");
    }
    ((struct test_case *)target)->timeout = seconds;
    return (isfinite(seconds) && seconds > 0) || fail(reader, value, "a timeout must be positive");
}

static const struct key case_keys[] = {{"name", set_name, false},
                                       {"file", set_file, true},
                                       {"description", set_case_description, false},
                                       {"seeds", set_seeds, false},
                                       {"backends", set_case_backends, false},
                                       {"tolerance", set_tolerance, false},
                                       {"profile", set_profile, false},
                                       {"poison", set_poison, false},
                                       {"timeout", set_timeout, false},
                                       {"expect", set_expect, false},
                                       {"quarantine", set_quarantine, false},
                                       {0}};

static void default_name(struct test_case *test)
{
    const char *slash = strrchr(test->file, '/');
    test->name = memory_strdup(slash != NULL ? slash + 1 : test->file);
    char *dot = strchr(test->name, '.');
    if (dot != NULL) {
        *dot = '\0';
    }
}

static bool set_cases(struct reader *reader, yaml_node_t *value, void *target)
{
    struct manifest *manifest = target;
    if (value->type == YAML_SCALAR_NODE && value->data.scalar.length == 0) {
        return true; /* none yet */
    }
    if (value->type != YAML_SEQUENCE_NODE) {
        return fail(reader, value, "expected a list of cases");
    }
    yaml_node_item_t *start = value->data.sequence.items.start;
    int count = (int)(value->data.sequence.items.top - start);
    manifest->cases = memory_zalloc((size_t)count * sizeof *manifest->cases);
    for (int i = 0; i < count; i++) {
        struct test_case *test = &manifest->cases[manifest->case_count++];
        yaml_node_t *node = node_at(reader, start[i]);
        test->line = (int)node->start_mark.line + 1;
        if (!read_mapping(reader, node, case_keys, test)) {
            return false;
        }
        if (test->name == NULL) {
            default_name(test);
        }
        if (test->seeds == NULL) {
            test->seeds = memory_zalloc(sizeof *test->seeds);
            test->seeds[0] = 1;
            test->seed_count = 1;
        }
        for (int k = 0; k < i; k++) {
            if (strcmp(manifest->cases[k].name, test->name) == 0) {
                return fail(reader, node, "the case name '%s' is there twice", test->name);
            }
        }
    }
    return true;
}

/* --- the manifest --- */

static bool set_suite(struct reader *reader, yaml_node_t *value, void *target)
{
    return read_text(reader, value, &((struct manifest *)target)->suite);
}

static bool set_description(struct reader *reader, yaml_node_t *value, void *target)
{
    return read_text(reader, value, &((struct manifest *)target)->description);
}

static bool set_backends(struct reader *reader, yaml_node_t *value, void *target)
{
    struct manifest *manifest = target;
    return read_backends(reader, value, &manifest->backend_count, &manifest->backends);
}

static const struct key manifest_keys[] = {{"suite", set_suite, true},
                                           {"description", set_description, false},
                                           {"backends", set_backends, false},
                                           {"cases", set_cases, true},
                                           {0}};

bool manifest_read(const char *path, const char *text, size_t size, struct manifest *manifest,
                   struct error *err)
{
    memset(manifest, 0, sizeof *manifest);
    struct reader reader = {.path = path, .err = err};
    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    bool ok = yaml_parser_load(&parser, &reader.document) == 1;
    if (!ok) {
        struct where where = {path, (int)parser.problem_mark.line + 1,
                              (int)parser.problem_mark.column + 1};
        error_at(err, where, "%s", parser.problem != NULL ? parser.problem : "malformed YAML");
    } else {
        manifest->path = memory_strdup(path);
        yaml_node_t *root = yaml_document_get_root_node(&reader.document);
        ok = root != NULL ? read_mapping(&reader, root, manifest_keys, manifest)
                          : error_at(err, (struct where){path, 1, 1}, "the manifest is empty");
        yaml_document_delete(&reader.document);
    }
    yaml_parser_delete(&parser);
    if (!ok) {
        error_quote(err, text, size);
        manifest_finish(manifest);
    } else if (manifest->backends == NULL) {
        manifest->backends = memory_zalloc(sizeof *manifest->backends);
        manifest->backends[manifest->backend_count++] = memory_strdup("cpu:");
    }
    return ok;
}

bool manifest_load(const char *path, struct manifest *manifest, struct error *err)
{
    memset(manifest, 0, sizeof *manifest);
    size_t size;
    char *text = file_read(path, &size, err);
    bool ok = text != NULL && manifest_read(path, text, size, manifest, err);
    free(text);
    return ok;
}

static void expectation_finish(struct expectation *expectation)
{
    free(expectation->backend);
    free(expectation->reason);
    free(expectation->until);
}

void manifest_finish(struct manifest *manifest)
{
    for (int i = 0; i < manifest->case_count; i++) {
        struct test_case *test = &manifest->cases[i];
        for (int k = 0; k < test->expectation_count; k++) {
            expectation_finish(&test->expectations[k]);
        }
        if (test->quarantine != NULL) {
            expectation_finish(test->quarantine);
            free(test->quarantine);
        }
        for (int k = 0; k < test->backend_count; k++) {
            free(test->backends[k]);
        }
        free(test->backends);
        free(test->expectations);
        free(test->seeds);
        free(test->name);
        free(test->file);
        free(test->description);
    }
    for (int i = 0; i < manifest->backend_count; i++) {
        free(manifest->backends[i]);
    }
    free(manifest->backends);
    free(manifest->cases);
    free(manifest->path);
    free(manifest->suite);
    free(manifest->description);
    memset(manifest, 0, sizeof *manifest);
}

const struct expectation *case_expectation(const struct test_case *test, const char *backend)
{
    for (int i = 0; i < test->expectation_count; i++) {
        if (strcmp(test->expectations[i].backend, backend) == 0) {
            return &test->expectations[i];
        }
    }
    return NULL;
}

bool expectation_expired(const struct expectation *expectation, const char *today)
{
    return expectation->until[0] != '\0' && strcmp(today, expectation->until) > 0;
}
