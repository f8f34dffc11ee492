/* File names of dumps: [TIMESTAMP.]module_NNNN.NAME.SUFFIX.EXTENSION. Any of the names in it may
 * hold dots, so a name is read from its end. Sources: FilenameFor, DumpHloModuleImpl and the
 * callers of both in xla/service/dump.cc; SanitizeFileName in xla/util.cc. */
#include "hlo/dump_name.h"

#include <ctype.h>
#include <string.h>

static const struct {
    const char *text;
    int preference;
    bool only_modules; /* no other kind of file has it */
} extensions[] = {
    {".hlo.pb", 4, true},
    {".hlo.pb.gz", 3, true},
    {".txt", 2, false},
    {".riegeli", 1, true},
};

/* Landmarks with a known place. The order after the pipeline is that in which XLA:CPU, XLA:GPU and
 * libtpu write them (seen in their modification times). */
static const struct {
    const char *text;
    enum dump_kind kind;
    int rank;
    const char *pipeline; /* the landmark is written just before this pipeline begins */
} landmarks[] = {
    {"before_optimizations", DUMP_BEFORE, 0, NULL},
    /* xla/service/gpu/gpu_compiler.cc: OptimizeHloModule, then the assignment of configurations. */
    {"after_spmd_partitioner", DUMP_LANDMARK, 0, "optimization"},
    {"before_config_assignment", DUMP_LANDMARK, 0, "config-assigner"},
    /* libtpu */
    {"after_optimizations_before_buffer_assignment", DUMP_AFTER, 0, NULL},
    {"after_optimizations", DUMP_AFTER, 1, NULL},
    {"after_optimizations_after_buffer_assignment", DUMP_AFTER, 2, NULL},
    {"after_codegen", DUMP_AFTER, 3, NULL},
};
enum { LANDMARKS = sizeof landmarks / sizeof *landmarks };

struct part {
    const char *data;
    size_t size;
};

static struct part part_of(const char *begin, const char *end)
{
    return (struct part){begin, (size_t)(end - begin)};
}

static bool part_is(struct part part, const char *text)
{
    return strlen(text) == part.size && memcmp(part.data, text, part.size) == 0;
}

static bool ends_with(struct part part, const char *text)
{
    size_t size = strlen(text);
    return part.size >= size && memcmp(part.data + part.size - size, text, size) == 0;
}

static bool begins_with(struct part part, const char *text)
{
    size_t size = strlen(text);
    return part.size >= size && memcmp(part.data, text, size) == 0;
}

static bool all_digits(struct part part)
{
    for (size_t i = 0; i < part.size; i++) {
        if (!isdigit((unsigned char)part.data[i])) {
            return false;
        }
    }
    return part.size > 0;
}

/* −1 when there are none or too many digits. */
static int64_t number_of(struct part part)
{
    if (!all_digits(part) || part.size > 18) {
        return -1;
    }
    int64_t value = 0;
    for (size_t i = 0; i < part.size; i++) {
        value = value * 10 + (part.data[i] - '0');
    }
    return value;
}

/* The last occurrence of text within the part, or NULL. */
static const char *find_last(struct part part, const char *text)
{
    size_t size = strlen(text);
    for (size_t at = part.size; at-- > 0;) {
        if (at + size <= part.size && memcmp(part.data + at, text, size) == 0) {
            return part.data + at;
        }
    }
    return NULL;
}

/* The part after the last dot; the whole one if there is none. */
static struct part last_component(struct part part)
{
    const char *dot = find_last(part, ".");
    return dot == NULL ? part : part_of(dot + 1, part.data + part.size);
}

static char *keep(struct arena *arena, struct part part)
{
    return arena_string(arena, part.data, part.size);
}

static int landmark_of(struct part text)
{
    for (int i = 0; i < LANDMARKS; i++) {
        if (part_is(text, landmarks[i].text)) {
            return i;
        }
    }
    /* cpu_after_optimizations, sm_9.0_gpu_after_optimizations, gfx942_gpu_after_optimizations */
    return ends_with(text, "_after_optimizations")
               ? landmark_of((struct part){"after_optimizations", strlen("after_optimizations")})
               : -1;
}

const char *dump_landmark_pipeline(const char *landmark)
{
    int i = landmark_of((struct part){landmark, strlen(landmark)});
    return i < 0 ? NULL : landmarks[i].pipeline;
}

int dump_after_rank(const char *landmark)
{
    int i = landmark_of((struct part){landmark, strlen(landmark)});
    return i < 0 ? LANDMARKS : landmarks[i].rank;
}

bool dump_name_fits(const char *file_part, const char *name)
{
    for (; *file_part != '\0' && *name != '\0'; file_part++, name++) {
        if (*file_part != *name && *file_part != '_') {
            return false;
        }
    }
    return *file_part == *name;
}

/* The counter of the dumps: the last component of only digits, at least four, which something
 * follows. Source: "%04d." in DumpHloModuleBetweenPassesIfEnabled. */
static bool find_counter(struct part text, struct part *counter)
{
    bool found = false;
    const char *end = text.data + text.size;
    for (const char *at = text.data; at < end;) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (dot == NULL) {
            break;
        }
        struct part component = part_of(at, dot);
        if (component.size >= 4 && all_digits(component) && dot + 1 < end) {
            *counter = component;
            found = true;
        }
        at = dot + 1;
    }
    return found;
}

/* The name of the module: without the dot around it, and without the number of the compiler's
 * source that libtpu appends (".cl_1014260217"). */
static char *module_name(struct part text, struct arena *arena)
{
    if (text.size > 0 && text.data[text.size - 1] == '.') {
        text.size--;
    }
    struct part last = last_component(text);
    if (begins_with(last, "cl_") && all_digits((struct part){last.data + 3, last.size - 3})) {
        text.size -= last.size;
        if (text.size > 0) {
            text.size--;
        }
    }
    return keep(arena, text);
}

/* NAME.NNNN.PIPELINE.after_PASS.before_NEXT */
static bool parse_between(struct part text, struct arena *arena, struct dump_name *name)
{
    const char *before = find_last(text, ".before_");
    const char *after = before == NULL ? NULL : find_last(part_of(text.data, before), ".after_");
    struct part counter;
    if (after == NULL || !find_counter(part_of(text.data, after), &counter)) {
        return false;
    }
    name->kind = DUMP_PASS;
    name->number = number_of(counter);
    name->name = module_name(part_of(text.data, counter.data), arena);
    name->pipeline = keep(arena, part_of(counter.data + counter.size + 1, after));
    name->pass = keep(arena, part_of(after + strlen(".after_"), before));
    name->next = keep(arena, part_of(before + strlen(".before_"), text.data + text.size));
    return true;
}

/* NAME.NNNN.PASS.STEP; a step mostly begins with after_ or before_, so dots of the pass can be told
 * from the one between. */
static bool parse_inside(struct part text, struct arena *arena, struct dump_name *name)
{
    struct part counter;
    if (!find_counter(text, &counter)) {
        return false;
    }
    const char *begin = counter.data + counter.size + 1, *end = text.data + text.size;
    struct part rest = part_of(begin, end);
    const char *dot = find_last(rest, ".after_");
    dot = dot != NULL ? dot : find_last(rest, ".before_");
    dot = dot != NULL ? dot : memchr(begin, '.', rest.size);
    if (dot == NULL || dot == begin || dot + 1 == end) {
        return false;
    }
    name->kind = DUMP_INSIDE_PASS;
    name->number = number_of(counter);
    name->name = module_name(part_of(text.data, counter.data), arena);
    name->pass = keep(arena, part_of(begin, dot));
    name->step = keep(arena, part_of(dot + 1, end));
    return true;
}

/* Could a text file of this name hold a module? XLA writes many others beside them:
 * thunk_sequence.txt, after_optimizations-buffer-assignment.txt, … */
static bool is_landmark_word(struct part text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!isalnum((unsigned char)text.data[i]) && text.data[i] != '_') {
            return false;
        }
    }
    return begins_with(text, "before_") || begins_with(text, "after_");
}

/* NAME.LANDMARK */
static bool parse_landmark(struct part text, bool only_known, bool only_modules,
                           struct arena *arena, struct dump_name *name)
{
    struct part last = last_component(text);
    int known = landmark_of(last);
    if (known < 0 && (only_known || (!only_modules && !is_landmark_word(last)))) {
        return false;
    }
    /* The dots of a version (sm_9.0a_gpu_after_optimizations) are part of the landmark. */
    while (known >= 0 && last.data > text.data && isdigit((unsigned char)*last.data)) {
        last = last_component(part_of(text.data, last.data - 1));
        last.size = (size_t)(text.data + text.size - last.data);
    }
    name->kind = known < 0 ? DUMP_LANDMARK : landmarks[known].kind;
    name->step = keep(arena, last);
    name->name = module_name(part_of(text.data, last.data), arena);
    return true;
}

/* …NAME.execution_NNNN.hlo_snapshot.pb, …NAME.execution_NNNN.hlo_unoptimized_snapshot.{pb,txt},
 * and …NAME.[PREFIX]snapshot.RUN.pb of the CPU client. */
static bool parse_snapshot(struct part text, struct arena *arena, struct dump_name *name)
{
    static const char *const endings[] = {".hlo_snapshot.pb", ".hlo_unoptimized_snapshot.pb",
                                          ".hlo_unoptimized_snapshot.txt"};
    struct part left = {NULL, 0};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (ends_with(text, endings[i])) {
            left = (struct part){text.data, text.size - strlen(endings[i])};
        }
    }
    if (left.data == NULL && ends_with(text, ".pb")) {
        struct part run = {text.data, text.size - 3};
        struct part digits = last_component(run);
        if (all_digits(digits) && digits.data > text.data) {
            left = part_of(text.data, digits.data - 1);
            if (!ends_with(left, "snapshot")) {
                return false;
            }
        }
    }
    if (left.data == NULL) {
        return false;
    }
    /* What is before the last component is the module's name. */
    name->file = DUMP_FILE_SNAPSHOT;
    name->name = module_name(part_of(left.data, last_component(left).data), arena);
    return true;
}

char *dump_name_stem(const char *file, struct arena *arena)
{
    struct part text = {file, strlen(file)};
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        if (ends_with(text, extensions[i].text)) {
            text.size -= strlen(extensions[i].text);
            break;
        }
    }
    return keep(arena, text);
}

void dump_name_parse(const char *file, struct arena *arena, struct dump_name *name)
{
    *name = (struct dump_name){.id = -1, .number = -1};
    name->timestamp = name->name = name->stem = arena_string(arena, "", 0);
    name->pipeline = name->pass = name->next = name->step = name->name;
    const char *at = file, *end = file + strlen(file);
    while (isdigit((unsigned char)*at)) {
        at++;
    }
    if (at > file) {
        if (*at != '.') {
            return;
        }
        name->timestamp = keep(arena, part_of(file, at));
        at++;
    }
    if (strncmp(at, "module_", 7) != 0) {
        return;
    }
    at += 7;
    const char *digits = at;
    while (isdigit((unsigned char)*at)) {
        at++;
    }
    if (*at != '.' || number_of(part_of(digits, at)) < 0) {
        /* module_NAME.execution_NNNN.hlo_snapshot.pb */
        parse_snapshot(part_of(digits, end), arena, name);
        return;
    }
    name->id = number_of(part_of(digits, at));
    struct part text = part_of(at + 1, end);
    if (part_is(text, "metadata.textproto")) {
        name->file = DUMP_FILE_METADATA;
        return;
    }
    if (parse_snapshot(text, arena, name)) {
        return;
    }
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        if (!ends_with(text, extensions[i].text)) {
            continue;
        }
        text.size -= strlen(extensions[i].text);
        bool only_modules = extensions[i].only_modules;
        if (text.size > 0 && (parse_between(text, arena, name) ||
                              parse_landmark(text, true, only_modules, arena, name) ||
                              parse_inside(text, arena, name) ||
                              parse_landmark(text, false, only_modules, arena, name))) {
            name->file = DUMP_FILE_MODULE;
            name->stem = dump_name_stem(file, arena);
            name->preference = extensions[i].preference;
        }
        return;
    }
}
