/* How a plugin is opened: what the schemes cpu:, cuda:, tpu:, pjrt: and jaxlib:
 * make of their URIs. */
#ifndef BACKEND_PJRT_SETUP_H
#define BACKEND_PJRT_SETUP_H

#include "backend/backend_impl.h"

struct pjrt_setup {
    char *plugin; /* path of its library, or the folder of a release */
    /* The name of a topology, may be "": compiles for it, executes nothing. NULL: a client. */
    char *topology;
    char *target; /* the topology in the user's words; NULL as topology */
    /* What the client or the topology is made with. */
    int option_count;
    struct backend_parameter *options;
    /* An option that says how many devices there are, as many as a module asks for; NULL: there are
     * what there are. One is what one gets without it if `grows_from` is more than 1. */
    const char *grows, *grows_prefix; /* before the number */
    int grows_from;
    /* Why nothing can execute here; NULL if it may. */
    const char *missing;
    /* The program that the worker is, with its arguments, instead of this one; program[0] is NULL
     * for a plugin, else `interpreter`, owned. */
    const char *program[7];
    char *interpreter;
    /* A release of whatever age: arrays can be given and taken row-major alone, whatever the module
     * wants, and fields of the module may be younger than its reader. */
    bool any_age;
    /* Entries of the worker's environment. */
    const char *const *environment;
    size_t environment_count;
    char *process_flags; /* an entry of it that is this setup's own, or NULL */
    const char **own_environment;
};

/* One a scheme. err: NOT_FOUND with what to type when the plugin is missing. */
bool pjrt_setup_cpu(struct backend *backend, struct pjrt_setup *setup, struct error *err);
bool pjrt_setup_cuda(struct backend *backend, struct pjrt_setup *setup, struct error *err);
bool pjrt_setup_tpu(struct backend *backend, struct pjrt_setup *setup, struct error *err);
bool pjrt_setup_path(struct backend *backend, struct pjrt_setup *setup, struct error *err);
bool pjrt_setup_jaxlib(struct backend *backend, struct pjrt_setup *setup, struct error *err);
void pjrt_setup_add_option(struct pjrt_setup *setup, const char *name, const char *value);
void pjrt_setup_finish(struct pjrt_setup *setup);

#endif
