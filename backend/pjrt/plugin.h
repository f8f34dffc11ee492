/* A loaded PJRT plugin and its client, or the devices that it compiles for without having them.
 * Lives only in a worker: any call may end the process. */
#ifndef BACKEND_PJRT_PLUGIN_H
#define BACKEND_PJRT_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/pjrt/pjrt_abi.h"
#include "hlo/base/text.h"
#include "hlo/types.h"

/* What a call gave instead of success. */
struct failure {
    int code; /* enum pjrt_code, or whatever number the plugin gave; 0: none yet */
    struct text text;
};
void failure_init(struct failure *failure);
void failure_finish(struct failure *failure);
/* "RESOURCE_EXHAUSTED", or "code 99". Valid until the next call. */
const char *pjrt_code_text(int code);

/* A create option; the value's type is told by its spelling: true/false, integer, integers joined
 * by commas, number with a point or exponent, else a string. */
struct create_option {
    const char *name, *value;
};

struct plugin {
    void *library;
    const struct pjrt_api *api;
    void *client; /* NULL when there is a topology */
    void *topology;
    size_t device_count;
    void *const *devices;      /* the client's addressable ones, or NULL */
    void *const *descriptions; /* of the topology's devices, or NULL */
};

/* Loads the plugin and creates a client, or if `topology` is not NULL a topology of that name; the
 * options are for either. False with the failure otherwise. */
bool plugin_open(struct plugin *plugin, const char *path, const char *topology,
                 const struct create_option *options, size_t option_count, struct failure *failure);
/* Calls a function of the table. False when the plugin has no such function or returns an error;
 * the first failure is kept. failure may be NULL. */
bool plugin_call(const struct plugin *plugin, enum pjrt_function function, void *arguments,
                 struct failure *failure);
/* A call that takes an object and destroys it or waits for it; NULL is passed over. */
bool plugin_call_object(const struct plugin *plugin, enum pjrt_function function, void *object,
                        struct failure *failure);
bool plugin_device_id(const struct plugin *plugin, void *device, int64_t *id,
                      struct failure *failure);
/* The id of device i of the client or the topology. */
bool plugin_nth_id(const struct plugin *plugin, size_t i, int64_t *id, struct failure *failure);
/* What the plugin says of itself, as one JSON object. */
void plugin_describe(const struct plugin *plugin, struct text *json);

/* The ABI's number of an element type; 0 when it has none. */
int pjrt_element_of(enum type type);
/* TYPE_INVALID for an unknown number. */
enum type pjrt_type_of(int element);

#endif
