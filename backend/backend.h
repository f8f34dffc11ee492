/* Backends: something that compiles a module and runs it.
 *
 * A backend is named by a URI: interp:[?fidelity=literal]; cpu:, cuda: and tpu: (the plugins that
 * were fetched); pjrt:PATH[?…] (any PJRT plugin); recorded:DIR. Options after '?' are KEY=VALUE
 * joined by '&'; they are create options of the plugin (cpu_device_count=4), or start with xla_ and
 * are XLA flags, or say for what to compile without having it (target=h100, topology=v5e:2x2).
 * Every foreign backend runs in a process of its own (worker.c): whatever it does, the caller gets
 * an outcome. */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct literal;
struct module;
struct shape;
struct text;

/* How a run ended. The comparison outcomes are set by compare/, the others by backends. */
enum outcome {
    OUTCOME_PASS, /* for a backend: it ran and gave results */
    OUTCOME_MISMATCH,
    OUTCOME_INCONCLUSIVE,
    OUTCOME_VACUOUS,
    OUTCOME_UNSUPPORTED,
    OUTCOME_COMPILE_ERROR,
    OUTCOME_RUNTIME_ERROR,
    OUTCOME_CRASH,
    OUTCOME_TIMEOUT,
    OUTCOME_OOM,
    OUTCOME_FLAKY,
    OUTCOME_COUNT
};
/* "PASS", "MISMATCH", … */
const char *outcome_text(enum outcome outcome);

/* XLA flags (DebugOptions fields), sent through env_option_overrides. */
struct backend_flag {
    const char *name, *value; /* "xla_cpu_enable_fast_min_max", "false" */
};

struct backend_options {
    double timeout; /* seconds for compile + run of one module, or to load; 0 = 60 */
    /* Most iterations of a while on the golden, and on mutants of it: more are a TIMEOUT. 0 = as
     * many as there are. */
    int64_t loop_iterations;
    size_t memory_limit; /* bytes of address space growth of the worker; 0 = no limit */
    int flag_count;
    const struct backend_flag *flags;
    bool poison;   /* fill the memory that the worker allocates: reading what nobody wrote shows */
    bool via_mlir; /* send modules as MLIR: as they came, or HLO as StableHLO */
    bool run_backend_only;              /* skip HLO passes (an already optimised module) */
    int replica_count, partition_count; /* 0 = as the module says */
};

/* What a run gave. */
struct run_result {
    enum outcome outcome;
    char *message; /* "" on PASS: else the backend's words, the signal, last stderr lines */
    int device_count;
    /* [device]: the result, tuple-shaped as the module's; NULL unless PASS. A device is replica *
     * partitions + partition. */
    struct literal **outputs;
    double compile_seconds, run_seconds;
    int64_t longest_loop; /* iterations of any while, where the golden evaluates, on one device */
};
void run_result_finish(struct run_result *result);

struct backend;

/* Opens a backend by URI. Nothing foreign is loaded in this process. Cheap: a worker starts at the
 * first run and is kept for the next ones. err: NOT_FOUND with what to type for a missing plugin.
 */
struct backend *backend_open(const char *uri, const struct backend_options *options,
                             struct error *err);
void backend_close(struct backend *backend); /* NULL is allowed */

/* Compiles the module and runs it `iterations` times (1 normally; the timing is the fastest) with
 * the same arguments on every device (or arguments[device * n + i] when device_count > 1, which is
 * then the number of devices: replicas * partitions). Never fails otherwise than by an outcome.
 * Calls on one backend from several threads wait for each other; open one a thread to run in
 * parallel. A worker keeps its last executable, so the same module on other arguments is not
 * compiled again: compile_seconds is then that of the first time. */
void backend_run(struct backend *backend, const struct module *module,
                 struct literal *const *arguments, int argument_count, int device_count,
                 int iterations, struct run_result *result);

/* Devices that one run may have. */
enum { DEVICES_MOST = 4096 };
/* Replicas, or partitions: the number asked for, or if that is 0 the module's own; one more than
 * DEVICES_MOST where it is too large, for the caller to refuse. */
int devices_along(int asked, int64_t own);

/* The same on a grid that the caller names: replicas × partitions (0 = as the backend's options
 * say, else the module). `set_count` is 1 (all devices get the same arguments) or the number of
 * devices: arguments[device * argument_count + i]. */
void backend_run_grid(struct backend *backend, const struct module *module,
                      struct literal *const *arguments, int argument_count, int set_count,
                      int replica_count, int partition_count, int iterations,
                      struct run_result *result);

/* What one device takes and gives of a module that the backend partitions; the shapes of the module
 * itself are those of whole arrays. */
struct backend_pieces {
    const struct shape *const *parameter_shapes; /* [parameter] */
    const struct shape *result_shape;
};
/* The module with its shardings on partition_count devices: the backend partitions it, and each
 * device takes and gives pieces: arguments[device * argument_count + i]. One replica. */
void backend_run_pieces(struct backend *backend, const struct module *module,
                        const struct backend_pieces *pieces, struct literal *const *arguments,
                        int argument_count, int partition_count, struct run_result *result);
/* Compiles without running, on a grid as in backend_run_grid. Several partitions: the module is
 * partitioned by its shardings, unless it looks partitioned already and `partition` is false.
 * UNSUPPORTED where nothing is compiled (the golden, recorded results). */
void backend_compile(struct backend *backend, const struct module *module, int replica_count,
                     int partition_count, bool partition, struct run_result *result);

/* Scheme, plugin, versions, platform, flags: one JSON object, for reports. Starts the worker. */
bool backend_describe(struct backend *backend, struct text *json, struct error *err);
const char *backend_uri(const struct backend *backend);
/* Seconds that a run may take. */
double backend_timeout(const struct backend *backend);
/* Is it the golden (no worker needed, never crashes)? */
bool backend_is_golden(const struct backend *backend);

/* --- the table of schemes (backend.c), for `referee show backends` --- */
struct backend_scheme {
    const char *scheme, *summary;
};
extern const struct backend_scheme backend_schemes[];
extern const int backend_scheme_count;

/* --- what backends can compile for without having it (targets.c) --- */
struct backend_target {
    const char *scheme, *name; /* cuda:?target=h100 */
    const char *what;
};
extern const struct backend_target backend_targets[];
extern const int backend_target_count;
/* The URI with target=NAME among its options. free() it. */
char *backend_uri_for_target(const char *uri, const char *target);

/* --- worker: main() calls this first; it does not return in a worker process --- */
void backend_worker_main_if_asked(int argc, char **argv);

/* Path of the fetched plugin of cpu:, "" when it is not there. */
const char *backend_default_plugin(void);

#endif
