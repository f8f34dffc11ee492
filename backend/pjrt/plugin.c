/* Loading a PJRT plugin, calling it, and its errors (plugin.h). */
#define _GNU_SOURCE
#include "backend/pjrt/plugin.h"

#include <dlfcn.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/worker.h"
#include "hlo/base/arena.h"

/* --- errors --- */

static const char *const code_texts[PJRT_CODE_COUNT] = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
};

const char *pjrt_code_text(int code)
{
    static char other[32];
    if (code >= 0 && code < PJRT_CODE_COUNT) {
        return code_texts[code];
    }
    snprintf(other, sizeof(other), "code %d", code);
    return other;
}

void failure_init(struct failure *failure)
{
    failure->code = 0;
    text_init(&failure->text);
}

void failure_finish(struct failure *failure)
{
    text_finish(&failure->text);
}

/* --- calling --- */

static const char *function_name(enum pjrt_function function)
{
    switch (function) {
#define CALL(id, position, name) \
    case PJRT_##id:              \
        return name;
        PJRT_CALLS(CALL)
#undef CALL
    }
    return "?";
}

/* Is NULL for what the plugin's table lacks. */
static union pjrt_slot find_function(const struct plugin *plugin, enum pjrt_function function)
{
    size_t end = offsetof(struct pjrt_api, functions) + ((size_t)function + 1) * sizeof(void *);
    union pjrt_slot none = {NULL};
    return end <= plugin->api->struct_size ? plugin->api->functions[function] : none;
}

/* Keeps the error's code and words, then destroys it. */
static void take_error(const struct plugin *plugin, enum pjrt_function function,
                       struct pjrt_error *error, struct failure *failure)
{
    struct pjrt_text message = {.struct_size = sizeof(message), .object = error};
    struct pjrt_int code = {.struct_size = sizeof(code), .object = error};
    struct pjrt_object destroy = {.struct_size = sizeof(destroy), .object = error};
    pjrt_silent_callable *call_message = find_function(plugin, PJRT_ERROR_MESSAGE).call_silent;
    pjrt_callable *call_code = find_function(plugin, PJRT_ERROR_GET_CODE).call;
    pjrt_silent_callable *call_destroy = find_function(plugin, PJRT_ERROR_DESTROY).call_silent;
    if (failure && failure->code == PJRT_CODE_OK) {
        failure->code = PJRT_CODE_UNKNOWN;
        if (call_code && !call_code(&code) && code.value != PJRT_CODE_OK) {
            failure->code = code.value;
        }
        text_printf(&failure->text, "%s: ", pjrt_code_text(failure->code));
        size_t start = failure->text.size;
        if (call_message) {
            call_message(&message);
            if (message.text) {
                text_append_clean(&failure->text, message.text, message.size, 16384);
            }
        }
        if (failure->text.size == start) {
            text_printf(&failure->text, "%s failed and does not say why", function_name(function));
        }
    }
    if (call_destroy) {
        call_destroy(&destroy);
    }
}

bool plugin_call(const struct plugin *plugin, enum pjrt_function function, void *arguments,
                 struct failure *failure)
{
    pjrt_callable *callable = find_function(plugin, function).call;
    if (!callable) {
        if (failure && failure->code == PJRT_CODE_OK) {
            failure->code = PJRT_CODE_UNIMPLEMENTED;
            text_printf(&failure->text, "the plugin (API %d.%d) has no %s",
                        plugin->api->version.major_version, plugin->api->version.minor_version,
                        function_name(function));
        }
        return false;
    }
    struct pjrt_error *error = callable(arguments);
    if (error) {
        take_error(plugin, function, error, failure);
        return false;
    }
    return true;
}

bool plugin_call_object(const struct plugin *plugin, enum pjrt_function function, void *object,
                        struct failure *failure)
{
    struct pjrt_object arguments = {.struct_size = sizeof(arguments), .object = object};
    return !object || plugin_call(plugin, function, &arguments, failure);
}

/* --- opening --- */

/* Fills a named value; a list is malloc'ed. */
static void option_fill(struct pjrt_named_value *named, const struct create_option *option)
{
    const char *value = option->value;
    char *end;
    *named = (struct pjrt_named_value){.struct_size = sizeof(*named),
                                       .name = option->name,
                                       .name_size = strlen(option->name),
                                       .value_size = 1};
    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
        named->type = PJRT_VALUE_BOOL;
        named->bool_value = value[0] == 't';
        return;
    }
    size_t size = strlen(value);
    if (size > 0 && strspn(value, "-0123456789,") == size) {
        int64_t *list = memory_alloc((size + 1) * sizeof(*list));
        size_t count = 0;
        for (const char *p = value;; p = end + 1) {
            list[count++] = strtoll(p, &end, 10);
            if (end == p || *end != ',') {
                break;
            }
        }
        if (*end == '\0' && count > 1) {
            named->type = PJRT_VALUE_INT64_LIST;
            named->int64_list = list;
            named->value_size = count;
            return;
        }
        int64_t first = list[0];
        free(list);
        if (*end == '\0') {
            named->type = PJRT_VALUE_INT64;
            named->int64_value = first;
            return;
        }
    }
    float number = strtof(value, &end);
    if (size > 0 && *end == '\0') {
        named->type = PJRT_VALUE_FLOAT;
        named->float_value = number;
        return;
    }
    named->type = PJRT_VALUE_STRING;
    named->string_value = value;
    named->value_size = size;
}

/* A client and its devices. */
static bool create_client(struct plugin *plugin, const struct pjrt_named_value *options,
                          size_t option_count, struct failure *failure)
{
    struct pjrt_client_create create = {
        .struct_size = sizeof(create), .options = options, .option_count = option_count};
    bool good = plugin_call(plugin, PJRT_CLIENT_CREATE, &create, failure);
    struct pjrt_list devices = {.struct_size = sizeof(devices), .object = create.client};
    plugin->client = create.client;
    if (!good || !plugin_call(plugin, PJRT_CLIENT_ADDRESSABLE_DEVICES, &devices, failure)) {
        return false;
    }
    plugin->devices = devices.items;
    plugin->device_count = devices.count;
    return true;
}

/* A topology and what it says of its devices. */
static bool create_topology(struct plugin *plugin, const char *name,
                            const struct pjrt_named_value *options, size_t option_count,
                            struct failure *failure)
{
    struct pjrt_topology_create create = {.struct_size = sizeof(create),
                                          .name = name,
                                          .name_size = strlen(name),
                                          .options = options,
                                          .option_count = option_count};
    bool good = plugin_call(plugin, PJRT_TOPOLOGY_CREATE, &create, failure);
    struct pjrt_list devices = {.struct_size = sizeof(devices), .object = create.topology};
    plugin->topology = create.topology;
    if (!good || !plugin_call(plugin, PJRT_TOPOLOGY_DEVICES, &devices, failure)) {
        return false;
    }
    plugin->descriptions = devices.items;
    plugin->device_count = devices.count;
    return true;
}

static bool create(struct plugin *plugin, const char *topology, const struct create_option *options,
                   size_t option_count, struct failure *failure)
{
    struct pjrt_named_value *values = memory_zalloc((option_count + 1) * sizeof(*values));
    for (size_t i = 0; i < option_count; i++) {
        option_fill(&values[i], &options[i]);
    }
    const struct pjrt_named_value *given = option_count > 0 ? values : NULL;
    bool good = topology != NULL ? create_topology(plugin, topology, given, option_count, failure)
                                 : create_client(plugin, given, option_count, failure);
    for (size_t i = 0; i < option_count; i++) {
        if (values[i].type == PJRT_VALUE_INT64_LIST) {
            free((void *)values[i].int64_list);
        }
    }
    free(values);
    return good;
}

bool plugin_open(struct plugin *plugin, const char *path, const char *topology,
                 const struct create_option *options, size_t option_count, struct failure *failure)
{
    *plugin = (struct plugin){0};
    plugin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = plugin->library ? dlsym(plugin->library, "GetPjrtApi") : NULL;
    if (!symbol) {
        failure->code = PJRT_CODE_NOT_FOUND;
        const char *why = dlerror();
        text_append_clean(&failure->text, why ? why : path, strlen(why ? why : path), 4096);
        return false;
    }
    pjrt_get_api *get_api;
    memcpy(&get_api, &symbol, sizeof(get_api));
    plugin->api = get_api();
    if (!plugin->api || plugin->api->struct_size < offsetof(struct pjrt_api, functions) ||
        plugin->api->version.major_version != 0) {
        failure->code = PJRT_CODE_FAILED_PRECONDITION;
        text_printf(&failure->text, "%s has no PJRT C API of major version 0", path);
        return false;
    }
    struct pjrt_plain initialize = {.struct_size = sizeof(initialize)};
    if (find_function(plugin, PJRT_PLUGIN_INITIALIZE).call &&
        !plugin_call(plugin, PJRT_PLUGIN_INITIALIZE, &initialize, failure)) {
        return false;
    }
    return create(plugin, topology, options, option_count, failure);
}

/* --- asking --- */

static void *device_description(const struct plugin *plugin, void *device, struct failure *failure)
{
    struct pjrt_link link = {.struct_size = sizeof(link), .object = device};
    return plugin_call(plugin, PJRT_DEVICE_GET_DESCRIPTION, &link, failure) ? link.target : NULL;
}

static bool description_id(const struct plugin *plugin, void *description, int64_t *id,
                           struct failure *failure)
{
    struct pjrt_int number = {.struct_size = sizeof(number), .object = description};
    if (!description || !plugin_call(plugin, PJRT_DEVICE_DESCRIPTION_ID, &number, failure)) {
        return false;
    }
    *id = number.value;
    return true;
}

bool plugin_device_id(const struct plugin *plugin, void *device, int64_t *id,
                      struct failure *failure)
{
    return description_id(plugin, device_description(plugin, device, failure), id, failure);
}

bool plugin_nth_id(const struct plugin *plugin, size_t i, int64_t *id, struct failure *failure)
{
    return plugin->topology != NULL ? description_id(plugin, plugin->descriptions[i], id, failure)
                                    : plugin_device_id(plugin, plugin->devices[i], id, failure);
}

static json_t *clean_string(const char *data, size_t size)
{
    struct text clean;
    text_init(&clean);
    text_append_clean(&clean, data, size, 4096);
    json_t *string = json_stringn(clean.data, clean.size);
    text_finish(&clean);
    return string;
}

static void describe_text(const struct plugin *plugin, enum pjrt_function function, void *object,
                          json_t *json, const char *key)
{
    struct pjrt_text text = {.struct_size = sizeof(text), .object = object};
    if (object && plugin_call(plugin, function, &text, NULL) && text.text) {
        json_object_set_new(json, key, clean_string(text.text, text.size));
    }
}

static json_t *describe_value(const struct pjrt_named_value *value)
{
    switch (value->type) {
    case PJRT_VALUE_STRING:
        return clean_string(value->string_value, value->value_size);
    case PJRT_VALUE_INT64:
        return json_integer(value->int64_value);
    case PJRT_VALUE_INT64_LIST: {
        json_t *list = json_array();
        for (size_t i = 0; i < value->value_size; i++) {
            json_array_append_new(list, json_integer(value->int64_list[i]));
        }
        return list;
    }
    case PJRT_VALUE_FLOAT:
        return json_real((double)value->float_value);
    case PJRT_VALUE_BOOL:
        return json_boolean(value->bool_value);
    }
    return json_null();
}

void plugin_describe(const struct plugin *plugin, struct text *json)
{
    json_t *object = json_object();
    struct pjrt_plugin_attributes attributes = {.struct_size = sizeof(attributes)};
    json_object_set_new(object, "pjrt_api",
                        json_sprintf("%d.%d", plugin->api->version.major_version,
                                     plugin->api->version.minor_version));
    if (plugin->topology != NULL) {
        describe_text(plugin, PJRT_TOPOLOGY_PLATFORM_NAME, plugin->topology, object, "platform");
        describe_text(plugin, PJRT_TOPOLOGY_PLATFORM_VERSION, plugin->topology, object,
                      "platform_version");
    } else {
        describe_text(plugin, PJRT_CLIENT_PLATFORM_NAME, plugin->client, object, "platform");
        describe_text(plugin, PJRT_CLIENT_PLATFORM_VERSION, plugin->client, object,
                      "platform_version");
    }
    json_object_set_new(object, "devices", json_integer((json_int_t)plugin->device_count));
    if (plugin->device_count > 0) {
        void *first = plugin->topology != NULL
                          ? plugin->descriptions[0]
                          : device_description(plugin, plugin->devices[0], NULL);
        describe_text(plugin, PJRT_DEVICE_DESCRIPTION_KIND, first, object, "device_kind");
    }
    if (plugin_call(plugin, PJRT_PLUGIN_ATTRIBUTES, &attributes, NULL)) {
        json_t *list = json_object();
        for (size_t i = 0; i < attributes.count; i++) {
            const struct pjrt_named_value *value = &attributes.values[i];
            json_t *name = clean_string(value->name, value->name_size);
            json_object_set_new(list, json_string_value(name), describe_value(value));
            json_decref(name);
        }
        json_object_set_new(object, "attributes", list);
    }
    char *text = json_dumps(object, JSON_COMPACT);
    text_append(json, text ? text : "{}");
    free(text);
    json_decref(object);
}

/* --- element types --- */

static const enum type element_types[PJRT_ELEMENT_COUNT] = {
#define ELEMENT(type, number) [number] = TYPE_##type,
    PJRT_ELEMENTS(ELEMENT)
#undef ELEMENT
};

int pjrt_element_of(enum type type)
{
    for (int i = 1; i < PJRT_ELEMENT_COUNT; i++) {
        if (element_types[i] == type) {
            return i;
        }
    }
    return 0;
}

enum type pjrt_type_of(int element)
{
    return element > 0 && element < PJRT_ELEMENT_COUNT ? element_types[element] : TYPE_INVALID;
}
