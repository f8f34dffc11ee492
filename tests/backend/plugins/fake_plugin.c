/* A PJRT plugin that misbehaves on request: the create option behave=… says how. Its executables
 * give their arguments back: output i is argument i modulo their number; outputs=N says how many.
 * crash_on_OPCODE and hang_on_OPCODE do so where a program has the opcode.
 * It hands out the arguments' bytes as they came. It compiles for topologies, too, and dumps
 * modules where the flag xla_dump_to says, named as XLA names them. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/pjrt/pjrt_abi.h"

#define DEVICES 2

struct pjrt_error {
    int code;
    const char *words;
};

struct buffer {
    int type;
    size_t rank, size;
    int64_t dimensions[8];
    void *data;
};

struct event {
    bool failed;
};

static char behave[64] = "echo";
static char pid_file[4096];
static int64_t output_count = 1, compile_count;
static int devices[DEVICES] = {0, 1};
static void *device_list[DEVICES] = {&devices[0], &devices[1]};

/* The topology: its name, the options it was made with, and its devices. */
enum { TOPOLOGY_DEVICES_MOST = 64 };
static char topology_words[8192];
static int topology_devices[TOPOLOGY_DEVICES_MOST];
static void *topology_list[TOPOLOGY_DEVICES_MOST];
static size_t topology_count = DEVICES;

static struct pjrt_error *fail(int code, const char *words)
{
    struct pjrt_error *error = malloc(sizeof(*error));
    *error = (struct pjrt_error){code, words};
    return error;
}

static bool is(const char *what)
{
    return strcmp(behave, what) == 0;
}

/* Does `behave` say so of an opcode that the program has, as in crash_on_tanh? */
static bool meets(const char *prefix, const struct pjrt_program *program)
{
    size_t length = strlen(prefix);
    return strncmp(behave, prefix, length) == 0 &&
           memmem(program->code, program->code_size, behave + length, strlen(behave + length)) !=
               NULL;
}

static void crash(void)
{
    volatile int *nowhere = NULL;
    fprintf(stderr, "first line\nlast words of the plugin\n");
    *nowhere = 1;
}

static void hang(void)
{
    fprintf(stderr, "thinking\n");
    for (;;) {
        pause();
    }
}

/* Takes and touches memory until there is no more. */
static void exhaust(void)
{
    for (;;) {
        size_t size = (size_t)16 << 20;
        char *volatile block = malloc(size); /* volatile: not to be optimised away */
        if (!block) {
            fprintf(stderr, "terminate called after throwing an instance of 'std::bad_alloc'\n");
            abort();
        }
        memset(block, 1, size);
    }
}

/* What can go wrong at any time. */
static void misbehave(void)
{
    if (is("noise")) {
        for (int i = 0; i < 20000; i++) {
            printf("garbage \x01\xff on stdout %d ", i);
            fprintf(stderr, "line %d of much\n", i);
        }
        fflush(stdout);
    } else if (is("exit")) {
        exit(0);
    } else if (is("abort")) {
        fprintf(stderr, "Check failed: 1 == 2\n");
        abort();
    } else if (is("killed")) {
        raise(SIGKILL);
    } else if (is("wild_write")) {
        for (int file = 3; file < 32; file++) {
            if (write(file, "garbage", 7) < 0) {
                continue;
            }
        }
        hang();
    } else if (is("close_files")) {
        for (int file = 0; file < 64; file++) {
            close(file);
        }
    } else if (is("orphan")) {
        /* Leaves a process behind that holds everything open. */
        if (fork() == 0) {
            sleep(600);
            _exit(0);
        }
        crash();
    } else if (is("exhaust")) {
        exhaust();
    }
}

/* --- errors and events --- */

static void error_destroy(void *arguments)
{
    struct pjrt_object *a = arguments;
    free(a->object);
}

static void error_message(void *arguments)
{
    struct pjrt_text *a = arguments;
    const struct pjrt_error *error = a->object;
    a->text = error->words;
    a->size = strlen(error->words);
}

static struct pjrt_error *error_get_code(void *arguments)
{
    struct pjrt_int *a = arguments;
    const struct pjrt_error *error = a->object;
    a->value = error->code;
    return NULL;
}

static struct event *event_new(bool failed)
{
    struct event *event = malloc(sizeof(*event));
    event->failed = failed;
    return event;
}

static struct pjrt_error *event_await(void *arguments)
{
    struct pjrt_object *a = arguments;
    const struct event *event = a->object;
    return event->failed ? fail(PJRT_CODE_INTERNAL, "the event says no") : NULL;
}

static struct pjrt_error *event_destroy(void *arguments)
{
    struct pjrt_object *a = arguments;
    free(a->object);
    return NULL;
}

/* --- client --- */

static struct pjrt_error *client_create(void *arguments)
{
    struct pjrt_client_create *a = arguments;
    for (size_t i = 0; i < a->option_count; i++) {
        const struct pjrt_named_value *option = &a->options[i];
        char *text = strncmp(option->name, "behave", option->name_size) == 0     ? behave
                     : strncmp(option->name, "pid_file", option->name_size) == 0 ? pid_file
                                                                                 : NULL;
        if (text && option->type == PJRT_VALUE_STRING) {
            memcpy(text, option->string_value, option->value_size);
            text[option->value_size] = '\0';
        } else if (option->type == PJRT_VALUE_INT64) {
            output_count = option->int64_value;
        } else {
            return fail(PJRT_CODE_INVALID_ARGUMENT, "an option of another type");
        }
    }
    if (*pid_file) {
        FILE *file = fopen(pid_file, "w");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    if (is("crash_create")) {
        crash();
    }
    if (is("hang_create")) {
        hang();
    }
    if (is("error_create")) {
        return fail(PJRT_CODE_UNAVAILABLE, "no device today");
    }
    a->client = devices;
    return NULL;
}

static struct pjrt_error *addressable_devices(void *arguments)
{
    struct pjrt_list *a = arguments;
    a->items = device_list;
    a->count = DEVICES;
    return NULL;
}

static struct pjrt_error *executable_devices(void *arguments)
{
    addressable_devices(arguments);
    struct pjrt_list *a = arguments;
    a->count = 1;
    return NULL;
}

static struct pjrt_error *give_text(void *arguments)
{
    struct pjrt_text *a = arguments;
    a->text = "fake\xfe";
    a->size = 5;
    return NULL;
}

static struct pjrt_error *pass_on(void *arguments)
{
    struct pjrt_link *a = arguments;
    a->target = a->object;
    return NULL;
}

static struct pjrt_error *device_id(void *arguments)
{
    struct pjrt_int *a = arguments;
    a->value = *(int *)a->object;
    return NULL;
}

static struct pjrt_error *attributes(void *arguments)
{
    static const int64_t version[] = {1, 2, 3};
    static const struct pjrt_named_value values[] = {
        {.name = "version",
         .name_size = 7,
         .type = PJRT_VALUE_INT64_LIST,
         .int64_list = version,
         .value_size = 3},
        {.name = "kind",
         .name_size = 4,
         .type = PJRT_VALUE_STRING,
         .string_value = "fake",
         .value_size = 4},
    };
    struct pjrt_plugin_attributes *a = arguments;
    a->values = values;
    a->count = 2;
    return NULL;
}

/* --- topologies --- */

/* Devices: as many as the last number of an option topology=AxBxN says. */
static struct pjrt_error *topology_create(void *arguments)
{
    struct pjrt_topology_create *a = arguments;
    size_t size = 0;
    if (a->name_size == 4 && memcmp(a->name, "moon", 4) == 0) {
        return fail(PJRT_CODE_NOT_FOUND, "no topology of that name");
    }
    size += (size_t)snprintf(topology_words, sizeof topology_words, "name='%.*s'",
                             (int)a->name_size, a->name);
    for (size_t i = 0; i < a->option_count; i++) {
        const struct pjrt_named_value *option = &a->options[i];
        if (option->type != PJRT_VALUE_STRING) {
            return fail(PJRT_CODE_INVALID_ARGUMENT, "an option of another type");
        }
        size += (size_t)snprintf(topology_words + size, sizeof topology_words - size, " %s='%.*s'",
                                 option->name, (int)option->value_size, option->string_value);
        if (strcmp(option->name, "behave") == 0) {
            snprintf(behave, sizeof behave, "%.*s", (int)option->value_size, option->string_value);
        } else if (strcmp(option->name, "topology") == 0) {
            topology_count = (size_t)atoi(strrchr(option->string_value, 'x') + 1);
        }
    }
    for (size_t i = 0; i < topology_count; i++) {
        topology_devices[i] = (int)i;
        topology_list[i] = &topology_devices[i];
    }
    a->topology = devices;
    if (is("hang_create")) {
        hang();
    }
    return NULL;
}

static struct pjrt_error *topology_descriptions(void *arguments)
{
    struct pjrt_list *a = arguments;
    a->items = topology_list;
    a->count = topology_count;
    return NULL;
}

/* --- dumps --- */

/* The value of the string flag xla_dump_to in a serialised CompileOptionsProto: a map entry whose
 * value is a message with the string as its field 1. NULL when it is not there. */
static const char *dump_folder(const void *options, size_t size)
{
    static const char key[] = "xla_dump_to";
    static char folder[256];
    const unsigned char *found = memmem(options, size, key, sizeof key - 1);
    if (found == NULL) {
        return NULL;
    }
    found += sizeof key - 1; /* 0x12 size 0x0a size text */
    snprintf(folder, sizeof folder, "%.*s", (int)found[3], (const char *)found + 4);
    return folder;
}

/* The program as a file of the folder: an HloProto, whose field 1 is the module. The first field of
 * a module is its name, of which a pass that changes it makes the first letter large. */
static void dump(const char *folder, const char *suffix, const struct pjrt_program *program,
                 bool changed)
{
    char path[512];
    snprintf(path, sizeof path, "%s/module_0000.fake.%s.hlo.pb", folder, suffix);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return;
    }
    fputc(1 << 3 | 2, file);
    for (size_t size = program->code_size;; size >>= 7) {
        fputc((int)(size & 0x7f) | (size >= 0x80 ? 0x80 : 0), file);
        if (size < 0x80) {
            break;
        }
    }
    for (size_t i = 0; i < program->code_size; i++) {
        fputc(program->code[i] & (changed && i == 2 ? 0xdf : 0xff), file);
    }
    fclose(file);
}

/* --- executables --- */

static struct pjrt_error *check_program(const struct pjrt_program *program, size_t options_size)
{
    if (program->format_size != 3 || memcmp(program->format, "hlo", 3) != 0 ||
        program->code_size == 0 || options_size == 0) {
        return fail(PJRT_CODE_INVALID_ARGUMENT, "no program");
    }
    return NULL;
}

/* For the topology: dumps three modules, the third of which is another, then misbehaves or dumps
 * the last. */
static struct pjrt_error *compile_deviceless(void *arguments)
{
    struct pjrt_compile *a = arguments;
    struct pjrt_error *error = check_program(a->program, a->options_size);
    const char *folder = dump_folder(a->options, a->options_size);
    if (error != NULL || a->topology != devices || a->client != NULL) {
        return error != NULL ? error : fail(PJRT_CODE_INVALID_ARGUMENT, "no topology");
    }
    if (folder != NULL) {
        dump(folder, "before_optimizations", a->program, false);
        dump(folder, "0000.simplification.after_pipeline-start.before_algsimp", a->program, false);
        if (is("crash_first")) {
            crash();
        }
        dump(folder, "0001.simplification.after_algsimp.before_dce", a->program, true);
    }
    misbehave();
    if (is("crash_compile")) {
        crash();
    } else if (is("hang_compile")) {
        hang();
    } else if (is("error_compile")) {
        return fail(PJRT_CODE_UNIMPLEMENTED, "not even tried");
    } else if (is("tell_topology")) {
        return fail(PJRT_CODE_INTERNAL, topology_words);
    } else if (is("tell_environment")) {
        const char *query = getenv("TPU_SKIP_MDS_QUERY");
        const char *several = getenv("ALLOW_MULTIPLE_LIBTPU_LOAD");
        snprintf(topology_words, sizeof topology_words, "skip=%s several=%s",
                 query != NULL ? query : "", several != NULL ? several : "");
        return fail(PJRT_CODE_INTERNAL, topology_words);
    }
    if (folder != NULL) {
        dump(folder, "after_optimizations", a->program, true);
    }
    a->executable = devices;
    return NULL;
}

static struct pjrt_error *compile(void *arguments)
{
    struct pjrt_client_compile *a = arguments;
    struct pjrt_error *error = check_program(a->program, a->options_size);
    if (error != NULL) {
        return error;
    }
    misbehave();
    compile_count++;
    if (is("crash_compile") || (is("crash_second") && compile_count == 2) ||
        meets("crash_on_", a->program)) {
        crash();
    }
    if (is("hang_compile") || meets("hang_on_", a->program)) {
        hang();
    }
    if (is("error_compile")) {
        return fail(PJRT_CODE_UNIMPLEMENTED, "not \xc3\xa9ven \xff tried");
    }
    if (is("error_memory")) {
        return fail(PJRT_CODE_RESOURCE_EXHAUSTED, "Out of memory allocating 1 byte");
    }
    a->executable = devices;
    return NULL;
}

static struct pjrt_error *nothing(void *arguments)
{
    (void)arguments;
    return NULL;
}

static struct pjrt_error *num_outputs(void *arguments)
{
    struct pjrt_size *a = arguments;
    a->value = is("many_outputs") ? 3 : (size_t)output_count;
    return NULL;
}

static struct pjrt_error *execute(void *arguments)
{
    struct pjrt_execute *a = arguments;
    if (is("crash_execute")) {
        crash();
    }
    if (is("hang_execute")) {
        hang();
    }
    if (is("error_execute")) {
        return fail(99, "a code of its own");
    }
    for (size_t i = 0; i < (is("many_outputs") ? 3 : (size_t)output_count); i++) {
        const struct buffer *from = a->arguments[0][i % a->argument_count];
        struct buffer *to = malloc(sizeof(*to));
        *to = *from;
        to->data = malloc(from->size + 1);
        if (is("leftovers")) { /* gives what nobody wrote */
            free(to->data);
            to->data = malloc(100000 + from->size);
            memmove(to->data, (char *)to->data + 50000, from->size);
        } else {
            memcpy(to->data, from->data, from->size);
        }
        a->outputs[0][i] = to;
    }
    a->events[0] = event_new(is("error_event"));
    return NULL;
}

/* --- buffers --- */

static struct pjrt_error *buffer_from_host(void *arguments)
{
    struct pjrt_buffer_from_host *a = arguments;
    struct buffer *buffer = calloc(1, sizeof(*buffer));
    size_t size = a->type == 11 ? 4 : a->type == 12 ? 8 : 1; /* F32, F64, bytes */
    buffer->type = a->type;
    buffer->rank = a->rank;
    for (size_t i = 0; i < a->rank; i++) {
        buffer->dimensions[i] = a->dimensions[i];
        size *= (size_t)a->dimensions[i];
    }
    buffer->size = size;
    buffer->data = malloc(size + 1);
    memcpy(buffer->data, a->data, size);
    a->buffer = buffer;
    a->done_event = event_new(false);
    return NULL;
}

static struct pjrt_error *buffer_destroy(void *arguments)
{
    struct pjrt_object *a = arguments;
    struct buffer *buffer = a->object;
    free(buffer->data);
    free(buffer);
    return NULL;
}

static struct pjrt_error *buffer_type(void *arguments)
{
    struct pjrt_int *a = arguments;
    const struct buffer *buffer = a->object;
    a->value = is("wrong_type") ? 77 : buffer->type;
    return NULL;
}

static struct pjrt_error *buffer_dimensions(void *arguments)
{
    static const int64_t lies[3] = {1000000, -5, 7};
    struct pjrt_dimensions *a = arguments;
    const struct buffer *buffer = a->object;
    a->dimensions = is("wrong_shape") ? lies : buffer->dimensions;
    a->count = is("wrong_shape") ? 3 : buffer->rank;
    return NULL;
}

static struct pjrt_error *to_host(void *arguments)
{
    struct pjrt_to_host *a = arguments;
    const struct buffer *buffer = a->buffer;
    if (!a->data) {
        a->size = is("wrong_size") ? buffer->size / 2 : buffer->size;
        return NULL;
    }
    memcpy(a->data, buffer->data, a->size);
    a->event = event_new(false);
    return NULL;
}

static const struct pjrt_api api = {
#ifdef SHORT_TABLE
    .struct_size =
        offsetof(struct pjrt_api, functions) + PJRT_BUFFER_TO_HOST_BUFFER * sizeof(union pjrt_slot),
#else
    .struct_size = sizeof(struct pjrt_api),
#endif
    .version = {.struct_size = sizeof(struct pjrt_version), .minor_version = 81},
    .functions =
        {
            [PJRT_ERROR_DESTROY] = {.call_silent = error_destroy},
            [PJRT_ERROR_MESSAGE] = {.call_silent = error_message},
            [PJRT_ERROR_GET_CODE] = {.call = error_get_code},
            [PJRT_PLUGIN_INITIALIZE] = {.call = nothing},
            [PJRT_PLUGIN_ATTRIBUTES] = {.call = attributes},
            [PJRT_EVENT_DESTROY] = {.call = event_destroy},
            [PJRT_EVENT_AWAIT] = {.call = event_await},
            [PJRT_CLIENT_CREATE] = {.call = client_create},
            [PJRT_CLIENT_PLATFORM_NAME] = {.call = give_text},
            [PJRT_CLIENT_PLATFORM_VERSION] = {.call = give_text},
            [PJRT_CLIENT_ADDRESSABLE_DEVICES] = {.call = addressable_devices},
            [PJRT_CLIENT_COMPILE] = {.call = compile},
            [PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER] = {.call = buffer_from_host},
            [PJRT_DEVICE_DESCRIPTION_ID] = {.call = device_id},
            [PJRT_DEVICE_DESCRIPTION_KIND] = {.call = give_text},
            [PJRT_DEVICE_GET_DESCRIPTION] = {.call = pass_on},
            [PJRT_EXECUTABLE_DESTROY] = {.call = nothing},
            [PJRT_EXECUTABLE_NUM_OUTPUTS] = {.call = num_outputs},
            [PJRT_LOADED_EXECUTABLE_DESTROY] = {.call = nothing},
            [PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE] = {.call = pass_on},
            [PJRT_LOADED_EXECUTABLE_ADDRESSABLE_DEVICES] = {.call = executable_devices},
            [PJRT_LOADED_EXECUTABLE_EXECUTE] = {.call = execute},
            [PJRT_BUFFER_DESTROY] = {.call = buffer_destroy},
            [PJRT_BUFFER_ELEMENT_TYPE] = {.call = buffer_type},
            [PJRT_BUFFER_UNPADDED_DIMENSIONS] = {.call = buffer_dimensions},
            [PJRT_BUFFER_TO_HOST_BUFFER] = {.call = to_host},
            [PJRT_TOPOLOGY_CREATE] = {.call = topology_create},
            [PJRT_TOPOLOGY_DESTROY] = {.call = nothing},
            [PJRT_TOPOLOGY_PLATFORM_NAME] = {.call = give_text},
            [PJRT_TOPOLOGY_PLATFORM_VERSION] = {.call = give_text},
            [PJRT_TOPOLOGY_DEVICES] = {.call = topology_descriptions},
            [PJRT_COMPILE] = {.call = compile_deviceless},
        },
};

pjrt_get_api GetPjrtApi;
const struct pjrt_api *GetPjrtApi(void)
{
    return &api;
}
