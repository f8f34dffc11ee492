/* VHLO, the dialect of StableHLO's portable artifacts: what the files vhlo*.c share. */
#ifndef HLO_MLIR_BYTECODE_VHLO_H
#define HLO_MLIR_BYTECODE_VHLO_H

#include "hlo/mlir/bytecode/bytecode.h"

/* The attribute or type of today's dialects that a VHLO one of that code stands for. */
struct mlir_attr *vhlo_read_attr(struct cursor *cursor, uint64_t code);
const struct mlir_type *vhlo_read_type(struct cursor *cursor, uint64_t code);

/* An upgrade of a file, at one of its ops. */
struct vhlo_upgrade {
    struct bytecode *bytecode;
    const struct bytecode_dialect *dialect;
    struct mlir_file *file;
    struct mlir_op *op;
    const struct vhlo_op *row;    /* the op's, of vhlo.def */
    struct mlir_dictionary attrs; /* those that the op will have */
    int cast_count;               /* casts between equal types, met so far */
};

/* A cursor at the op, for messages. */
struct cursor vhlo_cursor(const struct vhlo_upgrade *upgrade);
/* Always false: "vhlo.gather_v1 (version 0.9 to 1.0): message". */
bool vhlo_fail(const struct vhlo_upgrade *upgrade, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds to upgrade->attrs what the op's attribute `key` becomes. */
typedef bool vhlo_take(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr);
/* Does it mean the same as no attribute? */
typedef bool vhlo_drop(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr);

struct vhlo_attr {
    const char *name;
    vhlo_take *take;
    vhlo_drop *drop;
};
struct vhlo_version {
    int major, minor;
};
struct vhlo_op {
    const char *name;
    struct vhlo_version since, until; /* until: INT32_MAX for those of today */
    const char *target;
    const struct vhlo_attr *attrs; /* up to one without a name */
};

/* NULL when there is none; `name` is without "vhlo.". */
const struct vhlo_op *vhlo_find_op(const char *name);

#endif
