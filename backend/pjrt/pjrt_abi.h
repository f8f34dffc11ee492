/* The PJRT C ABI, as far as this project calls it: our own declarations.
 *
 * A plugin exports GetPjrtApi, which returns a table: its size, an extension list, a version and
 * function pointers in a fixed order. Every function takes one argument block that begins with its
 * own size and an extension pointer, and returns NULL or an error object (except the two functions
 * on errors that return nothing). Rules that make old and new meet:
 *   - the table ends where its struct_size says; what lies beyond is absent;
 *   - a callee refuses a block smaller than the one it was compiled with and ignores what is beyond
 *     the fields it knows; so our blocks end in zeroes (`reserved`), which stand for "not given" in
 *     fields that we do not know yet.
 * Many blocks have the same form and share one declaration here.
 * Source: xla/pjrt/c/pjrt_c_api.h, PJRT C API 0.114. */
#ifndef BACKEND_PJRT_PJRT_ABI_H
#define BACKEND_PJRT_PJRT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions we call: PJRT_CALL(id, position in the table, name). */
#define PJRT_CALLS(CALL)                                                                        \
    CALL(ERROR_DESTROY, 0, "PJRT_Error_Destroy")                                                \
    CALL(ERROR_MESSAGE, 1, "PJRT_Error_Message")                                                \
    CALL(ERROR_GET_CODE, 2, "PJRT_Error_GetCode")                                               \
    CALL(PLUGIN_INITIALIZE, 3, "PJRT_Plugin_Initialize")                                        \
    CALL(PLUGIN_ATTRIBUTES, 4, "PJRT_Plugin_Attributes")                                        \
    CALL(EVENT_DESTROY, 5, "PJRT_Event_Destroy")                                                \
    CALL(EVENT_AWAIT, 8, "PJRT_Event_Await")                                                    \
    CALL(CLIENT_CREATE, 10, "PJRT_Client_Create")                                               \
    CALL(CLIENT_PLATFORM_NAME, 12, "PJRT_Client_PlatformName")                                  \
    CALL(CLIENT_PLATFORM_VERSION, 14, "PJRT_Client_PlatformVersion")                            \
    CALL(CLIENT_ADDRESSABLE_DEVICES, 16, "PJRT_Client_AddressableDevices")                      \
    CALL(CLIENT_COMPILE, 20, "PJRT_Client_Compile")                                             \
    CALL(CLIENT_BUFFER_FROM_HOST_BUFFER, 22, "PJRT_Client_BufferFromHostBuffer")                \
    CALL(DEVICE_DESCRIPTION_ID, 23, "PJRT_DeviceDescription_Id")                                \
    CALL(DEVICE_DESCRIPTION_KIND, 26, "PJRT_DeviceDescription_Kind")                            \
    CALL(DEVICE_GET_DESCRIPTION, 29, "PJRT_Device_GetDescription")                              \
    CALL(EXECUTABLE_DESTROY, 40, "PJRT_Executable_Destroy")                                     \
    CALL(EXECUTABLE_NUM_OUTPUTS, 44, "PJRT_Executable_NumOutputs")                              \
    CALL(LOADED_EXECUTABLE_DESTROY, 50, "PJRT_LoadedExecutable_Destroy")                        \
    CALL(LOADED_EXECUTABLE_GET_EXECUTABLE, 51, "PJRT_LoadedExecutable_GetExecutable")           \
    CALL(LOADED_EXECUTABLE_ADDRESSABLE_DEVICES, 52, "PJRT_LoadedExecutable_AddressableDevices") \
    CALL(LOADED_EXECUTABLE_EXECUTE, 55, "PJRT_LoadedExecutable_Execute")                        \
    CALL(BUFFER_DESTROY, 58, "PJRT_Buffer_Destroy")                                             \
    CALL(BUFFER_ELEMENT_TYPE, 59, "PJRT_Buffer_ElementType")                                    \
    CALL(BUFFER_UNPADDED_DIMENSIONS, 61, "PJRT_Buffer_UnpaddedDimensions")                      \
    CALL(BUFFER_TO_HOST_BUFFER, 70, "PJRT_Buffer_ToHostBuffer")                                 \
    CALL(TOPOLOGY_CREATE, 82, "PJRT_TopologyDescription_Create")                                \
    CALL(TOPOLOGY_DESTROY, 83, "PJRT_TopologyDescription_Destroy")                              \
    CALL(TOPOLOGY_PLATFORM_NAME, 84, "PJRT_TopologyDescription_PlatformName")                   \
    CALL(TOPOLOGY_PLATFORM_VERSION, 85, "PJRT_TopologyDescription_PlatformVersion")             \
    CALL(TOPOLOGY_DEVICES, 86, "PJRT_TopologyDescription_GetDeviceDescriptions")                \
    CALL(COMPILE, 89, "PJRT_Compile")

enum pjrt_function {
#define CALL(id, position, name) PJRT_##id = position,
    PJRT_CALLS(CALL)
#undef CALL
};
#define PJRT_FUNCTION_COUNT 138

struct pjrt_error;
typedef struct pjrt_error *pjrt_callable(void *arguments);
typedef void pjrt_silent_callable(void *arguments); /* Error_Destroy, Error_Message */
union pjrt_slot {
    pjrt_callable *call;
    pjrt_silent_callable *call_silent;
};

struct pjrt_version {
    size_t struct_size;
    void *extension_start;
    int major_version, minor_version;
};
struct pjrt_api {
    size_t struct_size;
    void *extension_start;
    struct pjrt_version version;
    union pjrt_slot functions[PJRT_FUNCTION_COUNT];
};
typedef const struct pjrt_api *pjrt_get_api(void);

enum pjrt_code {
    PJRT_CODE_OK,
    PJRT_CODE_CANCELLED,
    PJRT_CODE_UNKNOWN,
    PJRT_CODE_INVALID_ARGUMENT,
    PJRT_CODE_DEADLINE_EXCEEDED,
    PJRT_CODE_NOT_FOUND,
    PJRT_CODE_ALREADY_EXISTS,
    PJRT_CODE_PERMISSION_DENIED,
    PJRT_CODE_RESOURCE_EXHAUSTED,
    PJRT_CODE_FAILED_PRECONDITION,
    PJRT_CODE_ABORTED,
    PJRT_CODE_OUT_OF_RANGE,
    PJRT_CODE_UNIMPLEMENTED,
    PJRT_CODE_INTERNAL,
    PJRT_CODE_UNAVAILABLE,
    PJRT_CODE_DATA_LOSS,
    PJRT_CODE_UNAUTHENTICATED,
    PJRT_CODE_COUNT
};

/* Element types as the ABI numbers them (not as xla_data.proto does):
 * PJRT_ELEMENT(TYPE_…, number). A token has no elements but is the type of a buffer. */
#define PJRT_ELEMENTS(ELEMENT) \
    ELEMENT(PRED, 1)           \
    ELEMENT(S8, 2)             \
    ELEMENT(S16, 3)            \
    ELEMENT(S32, 4)            \
    ELEMENT(S64, 5)            \
    ELEMENT(U8, 6)             \
    ELEMENT(U16, 7)            \
    ELEMENT(U32, 8)            \
    ELEMENT(U64, 9)            \
    ELEMENT(F16, 10)           \
    ELEMENT(F32, 11)           \
    ELEMENT(F64, 12)           \
    ELEMENT(BF16, 13)          \
    ELEMENT(C64, 14)           \
    ELEMENT(C128, 15)          \
    ELEMENT(F8E5M2, 16)        \
    ELEMENT(F8E4M3FN, 17)      \
    ELEMENT(F8E4M3B11FNUZ, 18) \
    ELEMENT(F8E5M2FNUZ, 19)    \
    ELEMENT(F8E4M3FNUZ, 20)    \
    ELEMENT(S4, 21)            \
    ELEMENT(U4, 22)            \
    ELEMENT(TOKEN, 23)         \
    ELEMENT(S2, 24)            \
    ELEMENT(U2, 25)            \
    ELEMENT(F8E4M3, 26)        \
    ELEMENT(F8E3M4, 27)        \
    ELEMENT(F8E8M0FNU, 28)     \
    ELEMENT(F4E2M1FN, 29)      \
    ELEMENT(S1, 30)            \
    ELEMENT(U1, 31)            \
    ELEMENT(F6E2M3FN, 32)      \
    ELEMENT(F6E3M2FN, 33)
#define PJRT_ELEMENT_COUNT 34

enum pjrt_value_type {
    PJRT_VALUE_STRING,
    PJRT_VALUE_INT64,
    PJRT_VALUE_INT64_LIST,
    PJRT_VALUE_FLOAT,
    PJRT_VALUE_BOOL
};
/* A create option or an attribute. An array of them is strided by sizeof: it never grows. */
struct pjrt_named_value {
    size_t struct_size;
    void *extension_start;
    const char *name;
    size_t name_size;
    enum pjrt_value_type type;
    union {
        const char *string_value;
        int64_t int64_value;
        const int64_t *int64_list;
        float float_value;
        bool bool_value;
    };
    size_t value_size; /* bytes of a string, elements of a list, else 1 */
};

/* --- argument blocks: in: given by the caller, out: set by the plugin --- */

#define PJRT_HEAD       \
    size_t struct_size; \
    void *extension_start;
#define PJRT_TAIL uint64_t reserved[8];

/* Plugin_Initialize */
struct pjrt_plain {
    PJRT_HEAD
    PJRT_TAIL
};
/* Error_Destroy, Event_Destroy, Event_Await, Executable_Destroy, LoadedExecutable_Destroy,
 * Buffer_Destroy, TopologyDescription_Destroy */
struct pjrt_object {
    PJRT_HEAD
    void *object;
    PJRT_TAIL
};
/* Error_Message, Client_PlatformName, Client_PlatformVersion, DeviceDescription_Kind,
 * TopologyDescription_PlatformName, TopologyDescription_PlatformVersion */
struct pjrt_text {
    PJRT_HEAD
    void *object;
    const char *text; /* out, size bytes */
    size_t size;
    PJRT_TAIL
};
/* Error_GetCode, DeviceDescription_Id, Buffer_ElementType */
struct pjrt_int {
    PJRT_HEAD
    void *object;
    int value; /* out */
    PJRT_TAIL
};
/* Executable_NumOutputs */
struct pjrt_size {
    PJRT_HEAD
    void *object;
    size_t value; /* out */
    PJRT_TAIL
};
/* Device_GetDescription, LoadedExecutable_GetExecutable */
struct pjrt_link {
    PJRT_HEAD
    void *object;
    void *target; /* out */
    PJRT_TAIL
};
/* Client_AddressableDevices, LoadedExecutable_AddressableDevices,
 * TopologyDescription_GetDeviceDescriptions */
struct pjrt_list {
    PJRT_HEAD
    void *object;
    void *const *items; /* out */
    size_t count;
    PJRT_TAIL
};
/* Buffer_UnpaddedDimensions: of a dynamic array the run-time sizes */
struct pjrt_dimensions {
    PJRT_HEAD
    void *object;
    const int64_t *dimensions; /* out */
    size_t count;
    PJRT_TAIL
};
struct pjrt_plugin_attributes {
    PJRT_HEAD
    const struct pjrt_named_value *values; /* out */
    size_t count;
    PJRT_TAIL
};
struct pjrt_client_create {
    PJRT_HEAD
    const struct pjrt_named_value *options;
    size_t option_count;
    void *key_value_callbacks[4]; /* for clients of several processes */
    void *client;                 /* out */
    void *try_get_callback[2];
    PJRT_TAIL
};
/* Devices by name and options: what a compiler has to know of them when there are none. */
struct pjrt_topology_create {
    PJRT_HEAD
    const char *name;
    size_t name_size;
    const struct pjrt_named_value *options;
    size_t option_count;
    void *topology; /* out */
    PJRT_TAIL
};
struct pjrt_program {
    PJRT_HEAD
    const char *code;
    size_t code_size;
    const char *format; /* "hlo": a serialised HloModuleProto; "mlir": MLIR, text or bytecode */
    size_t format_size;
    PJRT_TAIL
};
struct pjrt_client_compile {
    PJRT_HEAD
    void *client;
    const struct pjrt_program *program;
    const void *options; /* a serialised CompileOptionsProto */
    size_t options_size;
    void *executable; /* out */
    PJRT_TAIL
};
/* For the devices of a topology; the executable is none that is loaded. */
struct pjrt_compile {
    PJRT_HEAD
    void *topology;
    const struct pjrt_program *program;
    const void *options;
    size_t options_size;
    void *client;     /* may be NULL */
    void *executable; /* out */
    PJRT_TAIL
};
/* A layout of dimensions by order; tiles follow in the ABI and are none here. */
struct pjrt_layout {
    size_t struct_size;
    void *extension_start;
    struct {
        size_t struct_size;
        void *extension_start;
        const int64_t *minor_to_major;
        size_t minor_to_major_size;
        const int64_t *tile_dimensions;
        const size_t *tile_ranks;
        size_t tile_count;
    } tiled;
    int type; /* 0: tiled */
};
enum { PJRT_IMMUTABLE_ONLY_DURING_CALL = 0 };
struct pjrt_buffer_from_host {
    PJRT_HEAD
    void *client;
    const void *data; /* one element per byte for the types below a byte */
    int type;
    const int64_t *dimensions;
    size_t rank;
    const int64_t *byte_strides; /* NULL: dense, row-major */
    size_t byte_stride_count;
    int semantics;
    void *device;
    void *memory;                            /* NULL: the device's default */
    const struct pjrt_layout *device_layout; /* NULL: the device's default */
    void *done_event;                        /* out: the host data may be freed */
    void *buffer;                            /* out */
    PJRT_TAIL
};
struct pjrt_execute_options {
    PJRT_HEAD
    void **send_callbacks, **receive_callbacks;
    size_t send_count, receive_count;
    int launch_id;
    const int64_t *kept_arguments; /* never donated to outputs */
    size_t kept_argument_count;
    void *context;
    const char *call_location;
    size_t task_count;
    int *task_ids;
    int64_t *incarnation_ids;
    void *multi_slice_config;
    bool row_major_callbacks;
    void *output_callbacks;
    size_t output_callback_count;
    PJRT_TAIL
};
struct pjrt_execute {
    PJRT_HEAD
    void *executable;
    struct pjrt_execute_options *options;
    void *const *const *arguments; /* [device][argument] */
    size_t device_count, argument_count;
    void **const *outputs; /* in/out [device][output] */
    void **events;         /* in/out [device]: execution is complete */
    void *device;          /* NULL: as compiled */
    PJRT_TAIL
};
struct pjrt_to_host {
    PJRT_HEAD
    void *buffer;
    const struct pjrt_layout *host_layout; /* NULL: the device's */
    void *data;                            /* in: NULL asks for the size only */
    size_t size;                           /* in/out */
    void *event;                           /* out; NULL when data is */
    PJRT_TAIL
};

#endif
