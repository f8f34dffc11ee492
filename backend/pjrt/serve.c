/* What a worker does for the pjrt backend: open a plugin; compile and run a module.
 *
 * The requests and replies are put together and taken apart by pjrt.c in the tester; their fields
 * stand in both files in the same order. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/plugin.h"
#include "backend/worker.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"

/* The plugin of this process; opened once. */
static struct plugin plugin;

/* The last executable is kept: the same module often runs again on other arguments. */
static struct {
    void *executable; /* NULL: none */
    void *module, *options;
    size_t module_size, options_size;
    double compile_seconds;
} kept;

/* --- opening --- */

static void serve_open(struct parcel_reader *reader, struct parcel_writer *writer)
{
    struct failure failure;
    struct text json;
    failure_init(&failure);
    text_init(&json);
    worker_report_stage(STAGE_LOAD);
    const char *path = parcel_get_string(reader, NULL);
    bool has_topology = parcel_get_int(reader) != 0;
    const char *topology = parcel_get_string(reader, NULL);
    size_t count = (size_t)parcel_get_int(reader);
    struct create_option *options = memory_zalloc((count + 1) * sizeof(*options));
    for (size_t i = 0; i < count; i++) {
        options[i].name = parcel_get_string(reader, NULL);
        options[i].value = parcel_get_string(reader, NULL);
    }
    bool good =
        plugin_open(&plugin, path, has_topology ? topology : NULL, options, count, &failure);
    free(options);
    int64_t *ids = memory_zalloc((plugin.device_count + 1) * sizeof(*ids));
    for (size_t i = 0; good && i < plugin.device_count; i++) {
        good = plugin_nth_id(&plugin, i, &ids[i], &failure);
    }
    if (good) {
        plugin_describe(&plugin, &json);
    }
    parcel_put_int(writer, good);
    parcel_put_string(writer, failure.text.data, failure.text.size);
    parcel_put_string(writer, json.data, json.size);
    parcel_put_int(writer, (int64_t)plugin.device_count);
    for (size_t i = 0; i < plugin.device_count; i++) {
        parcel_put_int(writer, ids[i]);
    }
    free(ids);
    failure_finish(&failure);
    text_finish(&json);
}

/* --- running --- */

struct array {
    enum type type;
    size_t rank;
    const int64_t *dimensions;     /* [rank], then */
    const int64_t *minor_to_major; /* [rank] in the same memory */
    bool is_ordered;               /* the order is not descending */
    void *data;
    size_t size;
};

struct output {
    enum type type;
    size_t rank;
    int64_t *dimensions;
    void *data;
    size_t size;
};

struct run {
    /* the request */
    size_t device_count, argument_count, set_count;
    int64_t *device_ids;     /* [device]: ids in the order of the device assignment */
    struct array *arguments; /* [set][argument] */
    int64_t iterations;      /* 0: compile only, as always for a topology */
    bool donates;            /* arguments are used up by an execution */
    bool is_mlir;            /* the module is text or bytecode of MLIR, else an HloModuleProto */
    const void *module, *options;
    size_t module_size, options_size;
    /* the run */
    void *executable;
    size_t output_count;
    void *const *devices; /* of the executable, [device] */
    void ***argument_buffers, ***output_buffers;
    size_t *places; /* [device of the executable]: which one of the assignment it is */
    /* the reply */
    enum outcome outcome;
    double compile_seconds, run_seconds;
    struct output *outputs; /* [device][output] */
};

static void read_request(struct run *run, struct parcel_reader *reader)
{
    size_t number;
    run->is_mlir = parcel_get_int(reader) != 0;
    run->module_size = parcel_get_blob(reader, &number);
    run->module = parcel_map_blob(reader, number);
    run->options_size = parcel_get_blob(reader, &number);
    run->options = parcel_map_blob(reader, number);
    run->iterations = parcel_get_int(reader);
    run->donates = parcel_get_int(reader) != 0;
    run->device_count = (size_t)parcel_get_int(reader);
    run->device_ids = memory_zalloc((run->device_count + 1) * sizeof(*run->device_ids));
    for (size_t i = 0; i < run->device_count; i++) {
        run->device_ids[i] = parcel_get_int(reader);
    }
    run->set_count = (size_t)parcel_get_int(reader);
    run->argument_count = (size_t)parcel_get_int(reader);
    size_t count = run->set_count * run->argument_count;
    run->arguments = memory_zalloc((count + 1) * sizeof(*run->arguments));
    for (size_t i = 0; i < count; i++) {
        struct array *argument = &run->arguments[i];
        argument->type = (enum type)parcel_get_int(reader);
        argument->rank = (size_t)parcel_get_int(reader);
        int64_t *dimensions = memory_zalloc((2 * argument->rank + 1) * sizeof(*dimensions));
        for (size_t d = 0; d < 2 * argument->rank; d++) {
            dimensions[d] = parcel_get_int(reader);
        }
        argument->dimensions = dimensions;
        argument->minor_to_major = dimensions + argument->rank;
        for (size_t d = 0; d < argument->rank; d++) {
            argument->is_ordered |=
                argument->minor_to_major[d] != (int64_t)(argument->rank - 1 - d);
        }
        argument->size = parcel_get_blob(reader, &number);
        argument->data = parcel_map_blob(reader, number);
    }
}

static bool is_kept(const struct run *run)
{
    return kept.executable && kept.module_size == run->module_size &&
           kept.options_size == run->options_size &&
           memcmp(kept.module, run->module, run->module_size) == 0 &&
           memcmp(kept.options, run->options, run->options_size) == 0;
}

static void kept_forget(void)
{
    plugin_call_object(&plugin, PJRT_LOADED_EXECUTABLE_DESTROY, kept.executable, NULL);
    free(kept.module);
    free(kept.options);
    memset(&kept, 0, sizeof(kept));
}

/* Keeps the executable if running it leaves no state behind in it. */
static void kept_set(const struct run *run)
{
    static const char stateful[] = "rng-get-and-update-state"; /* opcodes are words in the proto */
    if (memmem(run->module, run->module_size, stateful, sizeof(stateful) - 1)) {
        return;
    }
    kept.module = memory_alloc(run->module_size + 1);
    kept.options = memory_alloc(run->options_size + 1);
    memcpy(kept.module, run->module, run->module_size);
    memcpy(kept.options, run->options, run->options_size);
    kept.module_size = run->module_size;
    kept.options_size = run->options_size;
    kept.compile_seconds = run->compile_seconds;
    kept.executable = run->executable;
}

static struct pjrt_program make_program(const struct run *run)
{
    const char *format = run->is_mlir ? "mlir" : "hlo";
    return (struct pjrt_program){.struct_size = sizeof(struct pjrt_program),
                                 .code = run->module,
                                 .code_size = run->module_size,
                                 .format = format,
                                 .format_size = strlen(format)};
}

/* For the topology: nothing is kept. */
static bool compile_deviceless(struct run *run, struct failure *failure)
{
    struct pjrt_program program = make_program(run);
    struct pjrt_compile compile = {.struct_size = sizeof(compile),
                                   .topology = plugin.topology,
                                   .program = &program,
                                   .options = run->options,
                                   .options_size = run->options_size};
    worker_report_stage(STAGE_COMPILE);
    double start = clock_seconds();
    if (!plugin_call(&plugin, PJRT_COMPILE, &compile, failure)) {
        return false;
    }
    run->compile_seconds = clock_seconds() - start;
    plugin_call_object(&plugin, PJRT_EXECUTABLE_DESTROY, compile.executable, NULL);
    return true;
}

static bool compile(struct run *run, struct failure *failure)
{
    struct pjrt_program program = make_program(run);
    struct pjrt_client_compile compile = {.struct_size = sizeof(compile),
                                          .client = plugin.client,
                                          .program = &program,
                                          .options = run->options,
                                          .options_size = run->options_size};
    worker_report_stage(STAGE_COMPILE);
    if (is_kept(run)) {
        run->executable = kept.executable;
        run->compile_seconds = kept.compile_seconds;
        return true;
    }
    kept_forget();
    double start = clock_seconds();
    if (!plugin_call(&plugin, PJRT_CLIENT_COMPILE, &compile, failure)) {
        return false;
    }
    run->compile_seconds = clock_seconds() - start;
    run->executable = compile.executable;
    return true;
}

/* Which devices it runs on, and how many outputs it has. */
static bool ask_executable(struct run *run, struct failure *failure)
{
    struct pjrt_link link = {.struct_size = sizeof(link), .object = run->executable};
    struct pjrt_size outputs = {.struct_size = sizeof(outputs)};
    struct pjrt_list devices = {.struct_size = sizeof(devices), .object = run->executable};
    if (!plugin_call(&plugin, PJRT_LOADED_EXECUTABLE_GET_EXECUTABLE, &link, failure)) {
        return false;
    }
    outputs.object = link.target;
    bool good = plugin_call(&plugin, PJRT_EXECUTABLE_NUM_OUTPUTS, &outputs, failure);
    plugin_call_object(&plugin, PJRT_EXECUTABLE_DESTROY, link.target, NULL);
    if (!good ||
        !plugin_call(&plugin, PJRT_LOADED_EXECUTABLE_ADDRESSABLE_DEVICES, &devices, failure)) {
        return false;
    }
    run->output_count = outputs.value;
    run->devices = devices.items;
    if (devices.count != run->device_count) {
        failure->code = PJRT_CODE_INTERNAL;
        text_printf(&failure->text, "compiled for %zu devices, not for the %zu asked for",
                    devices.count, run->device_count);
        return false;
    }
    run->places = memory_zalloc((run->device_count + 1) * sizeof(*run->places));
    for (size_t i = 0; i < run->device_count; i++) {
        int64_t id = 0;
        if (!plugin_device_id(&plugin, run->devices[i], &id, failure)) {
            return false;
        }
        size_t place = 0;
        while (place < run->device_count && run->device_ids[place] != id) {
            place++;
        }
        if (place == run->device_count) {
            failure->code = PJRT_CODE_INTERNAL;
            text_printf(&failure->text, "compiled for device %lld, which was not asked for",
                        (long long)id);
            return false;
        }
        run->places[i] = place;
    }
    return true;
}

static struct pjrt_layout layout_of(const int64_t *minor_to_major, size_t rank)
{
    return (struct pjrt_layout){.struct_size = sizeof(struct pjrt_layout),
                                .tiled = {.struct_size = sizeof(((struct pjrt_layout *)0)->tiled),
                                          .minor_to_major = minor_to_major,
                                          .minor_to_major_size = rank}};
}

static bool pass_argument(const struct array *argument, void *device, void **buffer,
                          struct failure *failure)
{
    struct pjrt_layout layout = layout_of(argument->minor_to_major, argument->rank);
    struct pjrt_buffer_from_host put = {.struct_size = sizeof(put),
                                        .client = plugin.client,
                                        .data = argument->data,
                                        .type = pjrt_element_of(argument->type),
                                        .dimensions = argument->dimensions,
                                        .rank = argument->rank,
                                        .semantics = PJRT_IMMUTABLE_ONLY_DURING_CALL,
                                        .device = device,
                                        .device_layout = argument->is_ordered ? &layout : NULL};
    if (!plugin_call(&plugin, PJRT_CLIENT_BUFFER_FROM_HOST_BUFFER, &put, failure)) {
        return false;
    }
    *buffer = put.buffer;
    bool good = plugin_call_object(&plugin, PJRT_EVENT_AWAIT, put.done_event, failure);
    plugin_call_object(&plugin, PJRT_EVENT_DESTROY, put.done_event, NULL);
    return good;
}

static void make_buffer_lists(struct run *run)
{
    run->argument_buffers = memory_zalloc((run->device_count + 1) * sizeof(void *));
    run->output_buffers = memory_zalloc((run->device_count + 1) * sizeof(void *));
    for (size_t d = 0; d < run->device_count; d++) {
        run->argument_buffers[d] = memory_zalloc((run->argument_count + 1) * sizeof(void *));
        run->output_buffers[d] = memory_zalloc((run->output_count + 1) * sizeof(void *));
    }
}

static bool pass_arguments(struct run *run, struct failure *failure)
{
    worker_report_stage(STAGE_TRANSFER);
    for (size_t d = 0; d < run->device_count; d++) {
        size_t set = run->set_count == 1 ? 0 : run->places[d];
        for (size_t i = 0; i < run->argument_count; i++) {
            if (!pass_argument(&run->arguments[set * run->argument_count + i], run->devices[d],
                               &run->argument_buffers[d][i], failure)) {
                return false;
            }
        }
    }
    return true;
}

static void destroy_arguments(struct run *run)
{
    for (size_t d = 0; run->argument_buffers && d < run->device_count; d++) {
        for (size_t i = 0; i < run->argument_count; i++) {
            plugin_call_object(&plugin, PJRT_BUFFER_DESTROY, run->argument_buffers[d][i], NULL);
            run->argument_buffers[d][i] = NULL;
        }
    }
}

static void destroy_outputs(struct run *run)
{
    for (size_t d = 0; run->output_buffers && d < run->device_count; d++) {
        for (size_t i = 0; i < run->output_count; i++) {
            plugin_call_object(&plugin, PJRT_BUFFER_DESTROY, run->output_buffers[d][i], NULL);
            run->output_buffers[d][i] = NULL;
        }
    }
}

/* One execution on all devices. */
static bool execute_once(struct run *run, struct failure *failure)
{
    void **events = memory_zalloc((run->device_count + 1) * sizeof(*events));
    struct pjrt_execute_options options = {.struct_size = sizeof(options)};
    struct pjrt_execute execute = {
        .struct_size = sizeof(execute),
        .executable = run->executable,
        .options = &options,
        .arguments = (void *const *const *)run->argument_buffers,
        .device_count = run->device_count,
        .argument_count = run->argument_count,
        .outputs = run->output_buffers,
        .events = events,
    };
    double start = clock_seconds();
    bool good = plugin_call(&plugin, PJRT_LOADED_EXECUTABLE_EXECUTE, &execute, failure);
    for (size_t d = 0; good && d < run->device_count; d++) {
        /* All are waited for, whichever fails. */
        plugin_call_object(&plugin, PJRT_EVENT_AWAIT, events[d], failure);
    }
    good = good && failure->code == PJRT_CODE_OK;
    double seconds = clock_seconds() - start;
    if (good && (run->run_seconds == 0 || seconds < run->run_seconds)) {
        run->run_seconds = seconds;
    }
    for (size_t d = 0; d < run->device_count; d++) {
        plugin_call_object(&plugin, PJRT_EVENT_DESTROY, events[d], NULL);
    }
    free(events);
    return good;
}

static bool execute(struct run *run, struct failure *failure)
{
    bool good = pass_arguments(run, failure);
    for (int64_t i = 0; good && i < run->iterations; i++) {
        if (i > 0) {
            destroy_outputs(run);
        }
        if (i > 0 && run->donates) {
            destroy_arguments(run);
            good = pass_arguments(run, failure);
        }
        worker_report_stage(STAGE_EXECUTE);
        good = good && execute_once(run, failure);
    }
    return good;
}

/* Copies one output to the host, row-major. */
static bool fetch_output(void *buffer, struct output *output, struct failure *failure)
{
    struct pjrt_int element = {.struct_size = sizeof(element), .object = buffer};
    struct pjrt_dimensions shape = {.struct_size = sizeof(shape), .object = buffer};
    if (!plugin_call(&plugin, PJRT_BUFFER_ELEMENT_TYPE, &element, failure)) {
        return false;
    }
    output->type = pjrt_type_of(element.value);
    if (output->type == TYPE_TOKEN) {
        return true;
    }
    if (!plugin_call(&plugin, PJRT_BUFFER_UNPADDED_DIMENSIONS, &shape, failure)) {
        return false;
    }
    output->rank = shape.count;
    output->dimensions = memory_zalloc((shape.count + 1) * sizeof(int64_t));
    int64_t *order = memory_zalloc((shape.count + 1) * sizeof(*order));
    for (size_t i = 0; i < shape.count; i++) {
        output->dimensions[i] = shape.dimensions[i];
        order[i] = (int64_t)(shape.count - 1 - i);
    }
    struct pjrt_layout layout = layout_of(order, shape.count);
    struct pjrt_to_host get = {
        .struct_size = sizeof(get), .buffer = buffer, .host_layout = &layout};
    bool good = plugin_call(&plugin, PJRT_BUFFER_TO_HOST_BUFFER, &get, failure);
    if (good) {
        output->size = get.size;
        output->data = memory_alloc(get.size + 1);
        get = (struct pjrt_to_host){.struct_size = sizeof(get),
                                    .buffer = buffer,
                                    .host_layout = &layout,
                                    .data = output->data,
                                    .size = output->size};
        good = plugin_call(&plugin, PJRT_BUFFER_TO_HOST_BUFFER, &get, failure) &&
               plugin_call_object(&plugin, PJRT_EVENT_AWAIT, get.event, failure);
        plugin_call_object(&plugin, PJRT_EVENT_DESTROY, get.event, NULL);
    }
    free(order);
    return good;
}

static bool fetch_outputs(struct run *run, struct failure *failure)
{
    worker_report_stage(STAGE_FETCH);
    size_t count = run->device_count * run->output_count;
    run->outputs = memory_zalloc((count + 1) * sizeof(*run->outputs));
    for (size_t d = 0; d < run->device_count; d++) {
        for (size_t i = 0; i < run->output_count; i++) {
            if (!fetch_output(run->output_buffers[d][i],
                              &run->outputs[run->places[d] * run->output_count + i], failure)) {
                return false;
            }
        }
    }
    return true;
}

/* The reply takes the output data. */
static void write_reply(struct run *run, const struct failure *failure,
                        struct parcel_writer *writer)
{
    bool passed = run->outcome == OUTCOME_PASS;
    size_t count = passed ? run->device_count * run->output_count : 0;
    parcel_put_int(writer, (int64_t)run->outcome);
    parcel_put_string(writer, failure->text.data, failure->text.size);
    parcel_put_double(writer, run->compile_seconds);
    parcel_put_double(writer, run->run_seconds);
    parcel_put_int(writer, passed ? (int64_t)run->output_count : 0);
    for (size_t i = 0; i < count; i++) {
        struct output *output = &run->outputs[i];
        parcel_put_int(writer, (int64_t)output->type);
        parcel_put_int(writer, (int64_t)output->rank);
        for (size_t d = 0; d < output->rank; d++) {
            parcel_put_int(writer, output->dimensions[d]);
        }
        parcel_put_blob_take(writer, output->data, output->size);
        output->data = NULL;
    }
}

static void release(struct run *run)
{
    destroy_outputs(run);
    destroy_arguments(run);
    for (size_t d = 0; run->argument_buffers && d < run->device_count; d++) {
        free(run->argument_buffers[d]);
        free(run->output_buffers[d]);
    }
    if (run->executable != kept.executable) {
        plugin_call_object(&plugin, PJRT_LOADED_EXECUTABLE_DESTROY, run->executable, NULL);
    }
    for (size_t i = 0; run->outputs && i < run->device_count * run->output_count; i++) {
        free(run->outputs[i].dimensions);
        free(run->outputs[i].data);
    }
    free(run->outputs);
    free(run->argument_buffers);
    free(run->output_buffers);
    free(run->places);
    free(run->device_ids);
    for (size_t i = 0; i < run->set_count * run->argument_count; i++) {
        free((void *)run->arguments[i].dimensions);
    }
    free(run->arguments);
}

/* Compiles, and executes if there is a client and that is asked for. */
static bool compile_and_run(struct run *run, bool *compiled, struct failure *failure)
{
    if (plugin.topology != NULL) {
        *compiled = compile_deviceless(run, failure);
        return *compiled;
    }
    *compiled = compile(run, failure);
    if (!*compiled || !ask_executable(run, failure)) {
        return false;
    }
    if (run->iterations > 0) {
        make_buffer_lists(run);
        if (!execute(run, failure) || !fetch_outputs(run, failure)) {
            return false;
        }
    } else {
        run->output_count = 0;
    }
    if (run->executable != kept.executable) {
        kept_set(run);
    }
    return true;
}

static void serve_run(struct parcel_reader *reader, struct parcel_writer *writer)
{
    struct run run = {0};
    struct failure failure;
    failure_init(&failure);
    read_request(&run, reader);
    bool compiled = false;
    bool passed = compile_and_run(&run, &compiled, &failure);
    run.outcome = passed                                         ? OUTCOME_PASS
                  : failure.code == PJRT_CODE_RESOURCE_EXHAUSTED ? OUTCOME_OOM
                  : compiled                                     ? OUTCOME_RUNTIME_ERROR
                                                                 : OUTCOME_COMPILE_ERROR;
    write_reply(&run, &failure, writer);
    release(&run);
    failure_finish(&failure);
}

void pjrt_serve(enum worker_request request, struct parcel_reader *reader,
                struct parcel_writer *writer)
{
    if (request == WORKER_OPEN) {
        serve_open(reader, writer);
    } else {
        serve_run(reader, writer);
    }
}
