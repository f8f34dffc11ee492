/* What a kind of backend implements. A new kind is one `const struct backend_impl` in a file of its
 * own and one row of the table in backend.c. Private to this room. */
#ifndef BACKEND_BACKEND_IMPL_H
#define BACKEND_BACKEND_IMPL_H

#include "backend/backend.h"
#include "hlo/base/text.h"

struct error;

/* KEY=VALUE of a URI, decoded. */
struct backend_parameter {
    char *name, *value;
};

struct backend {
    const struct backend_impl *impl;
    const char *scheme;
    char *uri;
    char *path; /* between ':' and '?', decoded; may be "" */
    /* What is not a flag, for the kind to interpret. */
    int parameter_count;
    struct backend_parameter *parameters;
    /* Owned copy; the URI's flags come before the caller's, and the last one of a name wins. */
    struct backend_options options;
    int flag_count;
    struct backend_parameter *flags;
    void *state; /* of the implementation */
};

/* One run; see backend_run. */
struct backend_job {
    const struct module *module;
    struct literal *const *arguments; /* [set][parameter] */
    int argument_count, set_count;
    int replica_count, partition_count; /* of this run; devices = their product */
    int device_count, iterations;
    const struct backend_pieces *pieces; /* NULL: devices take and give the module's own shapes */
    bool compile_only;                   /* there are no arguments */
    bool partitions; /* the backend shall partition it, whatever it looks like */
};

struct backend_impl {
    bool golden;
    bool compiles; /* knows pieces and compile_only */
    bool (*open)(struct backend *backend, struct error *err);
    /* Sets outcome, message (by `message`), outputs and times. outputs has room for
     * job->device_count literals. */
    void (*run)(struct backend *backend, const struct backend_job *job, struct run_result *result,
                struct text *message);
    bool (*describe)(struct backend *backend, struct text *json, struct error *err);
    void (*close)(struct backend *backend);
};

extern const struct backend_impl backend_interp, backend_cpu, backend_cuda, backend_tpu,
    backend_pjrt, backend_jaxlib, backend_recorded, backend_mutant;

/* The value of a parameter, NULL when it is not given. */
const char *backend_parameter(const struct backend *backend, const char *name);
/* Gives the backend a flag unless the caller did. */
void backend_default_flag(struct backend *backend, const char *name, const char *value);

#endif
