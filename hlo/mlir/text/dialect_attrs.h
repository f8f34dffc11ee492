/* The attributes of StableHLO and CHLO whose parameters are known: what their text holds, in order.
 * The reader and the printer share the table. */
#ifndef HLO_MLIR_TEXT_DIALECT_ATTRS_H
#define HLO_MLIR_TEXT_DIALECT_ATTRS_H

#include <stdbool.h>
#include <stddef.h>

enum parameter_kind {
    PARAMETER_DIMS,   /* [0, ?]: array<i64>, MLIR_DYNAMIC for "?" */
    PARAMETER_INT,    /* i64 */
    PARAMETER_BOOL,   /* true */
    PARAMETER_FLOAT,  /* f64 */
    PARAMETER_TYPE,   /* f32 */
    PARAMETER_STRING, /* "x" */
    PARAMETER_ATTR,   /* any attribute */
    PARAMETER_OPTIONAL_ATTR,
    PARAMETER_SUB_AXIS,  /* (pre_size)size: #stablehlo.sub_axis_info with these parameters; or none
                          */
    PARAMETER_MESH_AXES, /* [<…>, …]: ARRAY of #stablehlo.mesh_axis */
};

struct dialect_parameter {
    const char *name;
    enum parameter_kind kind;
};

struct dialect_attr {
    const char *dialect, *mnemonic;
    bool optional; /* any of its parameters may be left out of the text */
    const struct dialect_parameter *parameters; /* NULL: an enumeration, one of `words` */
    size_t count;
    const char *words; /* of an enumeration, with blanks between them */
};

/* NULL when it is not known. */
const struct dialect_attr *dialect_attr_find(const char *dialect, const char *mnemonic);

/* One of the three sides of #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>: letters of the
 * dimensions that are not spatial, and where their places and those of the spatial ones are kept.
 */
enum { DIALECT_CONV_SIDES = 3 };
struct dialect_conv_side {
    const char *letters;
    const char *keys[2];
    const char *spatial;
};
extern const struct dialect_conv_side dialect_conv_sides[DIALECT_CONV_SIDES];

#endif
