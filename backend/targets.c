/* The table of targets, and descriptions of GPUs made of its rows (targets.h). */
#include "backend/targets.h"

#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"

const struct backend_target backend_targets[] = {
#define GPU(name, what, ...) {"cuda", #name, what},
#define TPU(generation, topology, what) {"tpu", topology, what},
#include "backend/targets.def"
};
const int backend_target_count = sizeof backend_targets / sizeof *backend_targets;

struct gpu {
    const char *name, *what;
    int major, minor; /* compute capability */
    int cores, units; /* multiprocessors, FP32 units in each */
    int threads;      /* of a multiprocessor */
    int shared_core, shared_block;
    int cache, memory, bandwidth, clock;
};
static const struct gpu gpus[] = {
#define GPU(name, ...) {#name, __VA_ARGS__},
#define TPU(generation, topology, what)
#include "backend/targets.def"
};

/* "…: there is no target NAME; there are …" */
static bool unknown_target(const char *scheme, const char *name, const char *others,
                           struct error *err)
{
    struct text known;
    text_init(&known);
    for (int i = 0; i < backend_target_count; i++) {
        if (strcmp(backend_targets[i].scheme, scheme) == 0) {
            text_printf(&known, " %s", backend_targets[i].name);
        }
    }
    error_set(err, ERROR_INVALID_ARGUMENT, "%s: knows no target '%s'; there are%s%s", scheme, name,
              known.data, others);
    text_finish(&known);
    return false;
}

/* cuDNN's and CUDA's versions are those that the plugin is built for: compilers ask whether a
 * library is new enough for what they want of it. */
static void print_gpu(const struct gpu *gpu, struct text *out)
{
    text_append(out, "gpu_device_info {\n"
                     "  threads_per_block_limit: 1024\n"
                     "  threads_per_warp: 32\n"
                     "  shared_memory_per_block: 49152\n"
                     "  block_dim_limit_x: 2147483647\n"
                     "  block_dim_limit_y: 65535\n"
                     "  block_dim_limit_z: 65535\n"
                     "  thread_dim_limit_x: 1024\n"
                     "  thread_dim_limit_y: 1024\n"
                     "  thread_dim_limit_z: 64\n"
                     "  registers_per_core_limit: 65536\n"
                     "  registers_per_block_limit: 65536\n"
                     "  device_vendor: \"NVIDIA Corporation\"\n"
                     "  driver_version: \"13.0.0\"\n"
                     "  runtime_version: \"13.0.0\"\n"
                     "  compile_time_toolkit_version: \"13.0.0\"\n"
                     "  dnn_version: \"9.10.0\"\n");
    text_printf(out, "  name: \"%s\"\n  cuda_compute_capability { major: %d minor: %d }\n",
                gpu->what, gpu->major, gpu->minor);
    text_printf(out, "  core_count: %d\n  fpus_per_core: %d\n  threads_per_core_limit: %d\n",
                gpu->cores, gpu->units, gpu->threads);
    text_printf(out, "  shared_memory_per_core: %d\n  shared_memory_per_block_optin: %d\n",
                gpu->shared_core * 1024, gpu->shared_block * 1024);
    text_printf(out, "  l2_cache_size: %lld\n  device_memory_size: %lld\n",
                (long long)gpu->cache * 1024 * 1024, (long long)gpu->memory * 1000000000);
    text_printf(out, "  memory_bandwidth: %lld\n  clock_rate_ghz: %d.%03d\n}\n",
                (long long)gpu->bandwidth * 1000000000, gpu->clock / 1000, gpu->clock % 1000);
    text_printf(out,
                "platform_name: \"CUDA\"\n"
                "dnn_version_info { major: 9 minor: 10 }\n"
                "runtime_version { major: 13 }\n"
                "device_description_str: \"%s\"\n",
                gpu->what);
}

char *target_gpu_description(const char *name, struct error *err)
{
    size_t size = strlen(name);
    if (strchr(name, '/') != NULL || (size > 6 && strcmp(name + size - 6, ".txtpb") == 0)) {
        return file_read(name, &size, err);
    }
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        if (strcmp(gpus[i].name, name) == 0) {
            struct text text;
            text_init(&text);
            print_gpu(&gpus[i], &text);
            char *description = text_take(&text);
            text_finish(&text);
            return description;
        }
    }
    unknown_target("cuda", name, ", or the path of a GpuTargetConfigProto", err);
    return NULL;
}

bool target_tpu_check(const char *name, struct error *err)
{
    static const char *const generations[] = {
#define GPU(...)
#define TPU(generation, topology, what) generation,
#include "backend/targets.def"
    };
    size_t size = strcspn(name, ":");
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++) {
        const char *chips = name + size + 1;
        if (strncmp(generations[i], name, size) == 0 && generations[i][size] == '\0' &&
            name[size] == ':' && *chips != '\0' && strspn(chips, "0123456789x") == strlen(chips)) {
            return true;
        }
    }
    return unknown_target("tpu", name, ", and other shapes of these", err);
}
