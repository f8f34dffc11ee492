/* Compiling with dumps: a backend whose compiler leaves the module as it is after its passes in a
 * folder, as protos. Names of the files: xla/service/dump.cc. */
#ifndef BACKEND_DUMPER_H
#define BACKEND_DUMPER_H

#include "backend/backend.h"

struct dumper_options {
    /* Where to; made unless it is there, and then it must be empty. NULL: a temporary folder. */
    const char *folder;
    /* After which passes: those whose names the expression matches (RE2, any part of a name),
     * changing the module or not. NULL: those that change it. "." is every pass. */
    const char *passes;
};

struct dumper {
    struct backend *backend;
    char *folder;
    bool temporary;
};

/* Opens the backend so that it dumps what it compiles. The options may be NULL. False with *err as
 * backend_open, or when there is no such folder and none can be made. */
bool dumper_open(const char *uri, const struct backend_options *options,
                 const struct dumper_options *dump, struct dumper *dumper, struct error *err);
/* A temporary folder goes with it unless `keep`, a folder that was named stays. A second call does
 * nothing. */
void dumper_close(struct dumper *dumper, bool keep);

/* Compiles the module, on a grid and partitioned as in backend_compile; nothing is executed, so any
 * backend that compiles will do, also for a target that is not there. However it ends (a crash, a
 * deadline), the folder holds what was dumped until then. A temporary folder is emptied first.
 * UNSUPPORTED where nothing is compiled. */
void dumper_compile(struct dumper *dumper, const struct module *module, int replica_count,
                    int partition_count, bool partition, struct run_result *result);

#endif
