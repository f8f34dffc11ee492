/* How the schemes of PJRT plugins open them (setup.h). */
#include "backend/pjrt/setup.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "backend/plugins.h"
#include "backend/targets.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"

void pjrt_setup_add_option(struct pjrt_setup *setup, const char *name, const char *value)
{
    size_t count = (size_t)setup->option_count + 1;
    setup->options = memory_realloc(setup->options, count * sizeof *setup->options);
    setup->options[setup->option_count++] =
        (struct backend_parameter){memory_strdup(name), memory_strdup(value)};
}

/* The parameters of the URI but for `except`. */
static void add_parameters(const struct backend *backend, const char *except,
                           struct pjrt_setup *setup)
{
    for (int i = 0; i < backend->parameter_count; i++) {
        const struct backend_parameter *parameter = &backend->parameters[i];
        if (except == NULL || strcmp(parameter->name, except) != 0) {
            pjrt_setup_add_option(setup, parameter->name, parameter->value);
        }
    }
}

void pjrt_setup_finish(struct pjrt_setup *setup)
{
    for (int i = 0; i < setup->option_count; i++) {
        free(setup->options[i].name);
        free(setup->options[i].value);
    }
    free(setup->options);
    free(setup->plugin);
    free(setup->topology);
    free(setup->target);
    free(setup->process_flags);
    free(setup->own_environment);
    free(setup->interpreter);
    *setup = (struct pjrt_setup){0};
}

/* The fetched plugin of the scheme. `how` says what to type when it is not there. */
static bool find_plugin(const struct backend *backend, const char *how, struct pjrt_setup *setup,
                        struct error *err)
{
    const struct plugin_row *row = *backend->path == '\0'
                                       ? plugin_find(backend->scheme)
                                       : plugin_find_release(backend->scheme, backend->path);
    if (row == NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "%s: knows no release '%s' (`referee fetch --list` lists them), and takes "
                         "no path; pjrt:PATH does",
                         backend->scheme, backend->path);
    }
    setup->plugin = plugin_library(row);
    if (setup->plugin == NULL && row->date != NULL) {
        return error_set(err, ERROR_NOT_FOUND,
                         "%s %s is not there; fetch it with: referee fetch %s", row->title,
                         row->version, row->name);
    }
    if (setup->plugin == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "the plugin of %s is not there; fetch it with: %s",
                         row->title, how);
    }
    return true;
}

static bool exists(const char *const *patterns)
{
    bool found = false;
    for (; *patterns != NULL; patterns++) {
        glob_t matches = {0};
        found |= glob(*patterns, 0, NULL, &matches) == 0;
        globfree(&matches);
    }
    return found;
}

/* libtpu asks a metadata server what machine it is on, which takes minutes where there is none;
 * lets one process of the machine load it, though several may compile; and fills a folder with logs
 * of what it tells anyway. */
static const char *const deviceless_environment[] = {
    "TPU_SKIP_MDS_QUERY=1",
    "TPU_WORKER_HOSTNAMES=localhost",
    "ALLOW_MULTIPLE_LIBTPU_LOAD=1",
    "TPU_LOG_DIR=disabled",
};

static void set_topology(struct pjrt_setup *setup, const char *topology, const char *target)
{
    setup->topology = memory_strdup(topology);
    setup->target = memory_strdup(target);
    setup->environment = deviceless_environment;
    setup->environment_count = sizeof deviceless_environment / sizeof *deviceless_environment;
}

/* XLA reads which instructions of the processor it may use once in a process, before it compiles
 * anything, and not from the options of a compilation: the worker's XLA_FLAGS say it. */
static void set_process_flags(const struct backend *backend, struct pjrt_setup *setup)
{
    static const char name[] = "xla_cpu_max_isa";
    const char *value = NULL, *flags = getenv("XLA_FLAGS");
    for (int i = 0; i < backend->flag_count; i++) {
        value = strcmp(backend->flags[i].name, name) == 0 ? backend->flags[i].value : value;
    }
    if (value == NULL) {
        return;
    }
    struct text entry;
    text_init(&entry);
    text_printf(&entry, "XLA_FLAGS=%s --%s=%s", flags != NULL ? flags : "", name, value);
    setup->process_flags = text_take(&entry);
    text_finish(&entry);
    setup->own_environment = memory_alloc(sizeof *setup->own_environment);
    setup->own_environment[0] = setup->process_flags;
    setup->environment = setup->own_environment;
    setup->environment_count = 1;
}

bool pjrt_setup_cpu(struct backend *backend, struct pjrt_setup *setup, struct error *err)
{
    static const char count[] = "cpu_device_count";
    if (!find_plugin(backend, "./dev plugin", setup, err)) {
        return false;
    }
    add_parameters(backend, NULL, setup);
    set_process_flags(backend, setup);
    if (backend_parameter(backend, count) == NULL) {
        setup->grows = count;
        setup->grows_prefix = "";
        setup->grows_from = 4;
    }
    return true;
}

/* The packages that the plugin is fetched with bring the tools it compiles kernels with. Another
 * version of them in the path of the user would come first.
 * Source: xla/xla.proto, xla_gpu_cuda_data_dir. */
static void use_fetched_tools(struct backend *backend)
{
    char *folder = plugin_folder(plugin_find("cuda"));
    struct text path;
    text_init(&path);
    text_printf(&path, "%s/nvidia/cu13", folder);
    struct text tool;
    text_init(&tool);
    text_printf(&tool, "%s/bin/ptxas", path.data);
    if (file_exists(tool.data)) {
        backend_default_flag(backend, "xla_gpu_cuda_data_dir", path.data);
    }
    text_finish(&tool);
    text_finish(&path);
    free(folder);
}

bool pjrt_setup_cuda(struct backend *backend, struct pjrt_setup *setup, struct error *err)
{
    static const char *const devices[] = {"/dev/nvidia[0-9]*", "/dev/dxg", NULL};
    const char *target = backend_parameter(backend, "target");
    char *description = target != NULL ? target_gpu_description(target, err) : NULL;
    if (target != NULL && description == NULL) {
        return false;
    }
    bool good = find_plugin(backend, "referee fetch cuda", setup, err);
    if (good) {
        use_fetched_tools(backend);
        add_parameters(backend, "target", setup);
    }
    if (good && target != NULL) {
        set_topology(setup, "", target);
        pjrt_setup_add_option(setup, "target_config", description);
        if (backend_parameter(backend, "topology") == NULL) {
            setup->grows = "topology"; /* slices x processes of each x GPUs of each */
            setup->grows_prefix = "1x1x";
            setup->grows_from = 1;
        }
    } else if (good) {
        if (backend_parameter(backend, "preallocate") == NULL) {
            pjrt_setup_add_option(setup, "preallocate", "false");
        }
        if (!exists(devices)) {
            setup->missing = "no GPU here; to referee its compiler without one: "
                             "referee passes MODULE --backend cuda: --target h100";
        }
    }
    free(description);
    return good;
}

bool pjrt_setup_tpu(struct backend *backend, struct pjrt_setup *setup, struct error *err)
{
    static const char *const devices[] = {"/dev/accel[0-9]*", "/dev/vfio/[0-9]*", NULL};
    const char *target = backend_parameter(backend, "target");
    if ((target != NULL && !target_tpu_check(target, err)) ||
        !find_plugin(backend, "referee fetch tpu", setup, err)) {
        return false;
    }
    add_parameters(backend, "target", setup);
    if (target != NULL) {
        set_topology(setup, target, target);
    } else if (!exists(devices)) {
        setup->missing = "no TPU here; to referee its compiler without one: "
                         "referee passes MODULE --backend tpu: --target v5e:2x2";
    }
    return true;
}

bool pjrt_setup_path(struct backend *backend, struct pjrt_setup *setup, struct error *err)
{
    const char *topology = backend_parameter(backend, "topology");
    if (*backend->path == '\0') {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "pjrt: needs the path of a plugin: pjrt:PATH");
    }
    if (!file_exists(backend->path)) {
        return error_set(err, ERROR_NOT_FOUND, "there is no plugin %s", backend->path);
    }
    setup->plugin = realpath(backend->path, NULL);
    if (setup->plugin == NULL) {
        setup->plugin = memory_strdup(backend->path);
    }
    add_parameters(backend, "topology", setup);
    if (topology != NULL) {
        set_topology(setup, topology, topology);
    } else {
        set_process_flags(backend, setup);
    }
    return true;
}
