/* Protos, read and written: hlo.proto here is wire-compatible with XLA's.
 * Sources: xla/service/hlo.proto, xla/xla_data.proto, xla/tools/run_hlo_module.proto. */
#ifndef HLO_PROTO_PROTO_FORMAT_H
#define HLO_PROTO_PROTO_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct literal;
struct module;
struct shape;
struct text;

/* Literals that came with a module (HloSnapshot), or a set for several iterations
 * (RunHloModuleLiterals). */
struct literal_set {
    int count; /* arguments */
    struct literal **arguments;
    struct literal *result, *reference_result; /* or NULL */
};
struct literal_sets {
    int count; /* iterations */
    struct literal_set *sets;
};
void literal_sets_finish(struct literal_sets *sets);

enum proto_kind { PROTO_NONE, PROTO_MODULE, PROTO_HLO, PROTO_SNAPSHOT, PROTO_MODULE_WITH_CONFIG };

/* Reads HloSnapshot, HloProto, HloModuleProto or HloModuleProtoWithConfig, told by content.
 * warnings (may be NULL) collects one line for each unknown field inside an instruction. sets (may
 * be NULL) receives a snapshot's arguments and result. */
struct module *proto_read_module(const void *data, size_t size, const char *name,
                                 struct text *warnings, struct literal_sets *sets,
                                 struct error *err);
/* The serialised message of the kind, malloc'ed. */
void *proto_write_module(const struct module *module, enum proto_kind kind, size_t *size,
                         struct error *err);

struct literal *proto_read_literal(const void *data, size_t size, struct error *err);
void *proto_write_literal(const struct literal *literal, size_t *size, struct error *err);
bool proto_read_literals(const void *data, size_t size, struct literal_sets *sets,
                         struct error *err);
void *proto_write_literals(const struct literal_sets *sets, size_t *size, struct error *err);

/* NumPy's .npy, versions 1 to 3 (numpy.lib.format); types without a NumPy name are stored as
 * ml_dtypes does ("V1" descr is read when `shape` says the type). shape may be NULL. */
struct literal *npy_read(const void *data, size_t size, const struct shape *shape,
                         struct error *err);
void *npy_write(const struct literal *literal, size_t *size, struct error *err);

/* Strict schema walk of a serialised message, used to tell formats apart: false when bytes do not
 * parse as the kind. */
bool proto_looks_like(const void *data, size_t size, enum proto_kind kind);

#endif
