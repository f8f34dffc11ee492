/* Attributes: the properties of an instruction, a list sorted by key.
 *
 * A key (attrs.def) has a kind; a kind has a value representation below and functions to parse,
 * print, compare and hash it (attr.c, text/). All values live in the arena of the module.
 * Sources: xla/xla_data.proto, xla/service/hlo.proto, xla/hlo/ir/hlo_sharding.h. */
#ifndef HLO_ATTR_H
#define HLO_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/shape.h"

struct literal;
struct instruction;

enum attr_key {
#define ATTR(id, text, kind, common) ATTR_##id,
#include "hlo/attrs.def"
    ATTR_COUNT
};

enum attr_kind {
    ATTR_KIND_INT,
    ATTR_KIND_BOOL,
    ATTR_KIND_FLOAT,
    ATTR_KIND_STRING,         /* "…" */
    ATTR_KIND_STRING_OR_WORD, /* "…" or a bare identifier; kept as a string */
    ATTR_KIND_RAW,            /* balanced text, kept as it is */
    ATTR_KIND_SPARSITY,       /* sparsity_config; its canonical text */
    ATTR_KIND_BACKEND_CONFIG, /* "…" or raw JSON; kept unescaped */
    ATTR_KIND_INTS,           /* {1,2} */
    ATTR_KIND_INTS_OR_LISTS,  /* {1,2} or {{1},{2}}: kept as lists */
    ATTR_KIND_BOOLS,          /* {true,false} */
    ATTR_KIND_PAIRS,          /* {{0,1},{1,0}}: ints, two by two */
    ATTR_KIND_SLICES,
    ATTR_KIND_WINDOW,
    ATTR_KIND_PADDING,
    ATTR_KIND_DIM_LABELS,
    ATTR_KIND_GROUPS,
    ATTR_KIND_PRECISIONS,
    ATTR_KIND_SHARDING,
    ATTR_KIND_LITERAL,
    ATTR_KIND_SHAPE,
    ATTR_KIND_SHAPES,
    ATTR_KIND_ALIASING,
    ATTR_KIND_DOMAIN,
    ATTR_KIND_RESULT_ACCURACY,
    ATTR_KIND_STRING_MAP,
    ATTR_KIND_METADATA,
    ATTR_KIND_ORIGIN,
    ATTR_KIND_STATISTICS,
    ATTR_KIND_COMPUTATION,  /* kept in instruction.called */
    ATTR_KIND_COMPUTATIONS, /* likewise */
    ATTR_KIND_INSTRUCTIONS, /* kept in instruction.control_predecessors */
    /* enumerations, in `integer`; their words are in attr_enums.def */
    ATTR_KIND_FFT_TYPE,
    ATTR_KIND_DIRECTION,
    ATTR_KIND_COMPARE_TYPE,
    ATTR_KIND_TRANSPOSE,
    ATTR_KIND_CONVOLUTION_KIND,
    ATTR_KIND_DISTRIBUTION,
    ATTR_KIND_ALGORITHM,
    ATTR_KIND_FUSION_KIND,
    ATTR_KIND_SCHEDULE,
    ATTR_KIND_API_VERSION,
    ATTR_KIND_PADDING_TYPE,
};

/* Enumerations. Values are those of the protos (xla_data.proto, hlo.proto) where there are any. */
enum direction {
    DIRECTION_EQ,
    DIRECTION_NE,
    DIRECTION_GE,
    DIRECTION_GT,
    DIRECTION_LE,
    DIRECTION_LT
};
enum compare_type { COMPARE_FLOAT, COMPARE_TOTALORDER, COMPARE_SIGNED, COMPARE_UNSIGNED };
enum fft_type { FFT_FFT, FFT_IFFT, FFT_RFFT, FFT_IRFFT };
enum transpose { TRANSPOSE_INVALID, TRANSPOSE_NO, TRANSPOSE_YES, TRANSPOSE_ADJOINT };
enum convolution_kind {
    CONVOLUTION_UNSET,
    CONVOLUTION_FPROP,
    CONVOLUTION_DGRAD,
    CONVOLUTION_WGRAD
};
enum distribution { RNG_INVALID, RNG_UNIFORM, RNG_NORMAL };
enum fusion_kind { FUSION_LOOP, FUSION_INPUT, FUSION_OUTPUT, FUSION_CUSTOM };
enum schedule { SCHEDULE_NONE, SCHEDULE_LATEST, SCHEDULE_EARLIEST };
enum precision { PRECISION_DEFAULT, PRECISION_HIGH, PRECISION_HIGHEST, PRECISION_PACKED_NIBBLE };
/* `algorithm`: dot algorithms as PrecisionConfig.Algorithm; generators from ALGORITHM_RNG on, as
 * ALGORITHM_RNG + RandomAlgorithm. */
enum { ALGORITHM_RNG = 1000 };
enum rng_algorithm { RNG_DEFAULT, RNG_THREE_FRY, RNG_PHILOX };

/* The word of an enumeration's value, NULL if there is none; and the other way round, −1. */
const char *attr_enum_text(enum attr_kind kind, int64_t value);
int64_t attr_enum_value(enum attr_kind kind, const char *text, size_t size);

struct bytes {
    const char *data; /* zero-terminated */
    size_t size;
};

struct ints {
    int count;
    const int64_t *values;
};

struct lists {
    int count;
    const struct ints *lists;
    bool nested; /* written {{…},{…}} */
};

struct slice_dimension {
    int64_t start, limit, stride;
};
struct slices {
    int rank;
    const struct slice_dimension *dimensions;
};

struct window_dimension {
    int64_t size, stride, padding_low, padding_high;
    int64_t window_dilation, base_dilation; /* rhs_dilate, lhs_dilate */
    bool reversal;
};
struct window {
    int rank;
    const struct window_dimension *dimensions;
};

struct padding_dimension {
    int64_t low, high, interior;
};
struct padding {
    int rank;
    const struct padding_dimension *dimensions;
};

/* dim_labels: where batch, feature and the spatial dimensions are. */
struct dim_labels {
    int spatial_rank;
    int64_t input_batch, input_feature, kernel_input_feature, kernel_output_feature;
    int64_t output_batch, output_feature;
    const int64_t *input_spatial, *kernel_spatial, *output_spatial; /* [spatial_rank] */
    /* '?' labels: positions of unknown dimensions, kept for printing; usually 0 */
    int input_unknown, kernel_unknown, output_unknown;
};

struct mesh_axis {
    const char *name;
    int64_t size;
};
struct mesh {
    int axis_count;
    const struct mesh_axis *axes;
    struct ints device_ids;                   /* empty: iota */
    struct ints reshape_dims, transpose_perm; /* device_ids as an iota transform, or empty */
    int64_t maximal_device;                   /* maximal_mesh[device_id=N]; −1 otherwise */
};
/* A mesh axis, or a part of one ("x":(pre)size). */
struct axis_ref {
    int axis;          /* index into mesh.axes */
    int64_t pre, size; /* 0: the whole axis */
};
struct axis_refs {
    int count;
    const struct axis_ref *axes;
};

/* replica_groups: a list of groups, an iota tile assignment, or axes of a mesh. */
enum groups_form { GROUPS_LIST, GROUPS_IOTA, GROUPS_MESH };
struct groups {
    enum groups_form form;
    struct lists list;               /* LIST; count 0 = all devices */
    bool for_old_readers;            /* LIST: in protos also written where XLA looked until 2024 */
    int64_t group_count, group_size; /* IOTA */
    struct ints reshape_dims, transpose_perm; /* IOTA: [count,size]<=[dims]T(perm) */
    struct mesh mesh;                         /* MESH */
    struct axis_refs axes;                    /* MESH */
};

enum sharding_form {
    SHARDING_REPLICATED,
    SHARDING_MAXIMAL,
    SHARDING_TUPLE,
    SHARDING_TILED, /* OpSharding OTHER */
    SHARDING_MANUAL,
    SHARDING_UNKNOWN,
    SHARDING_UNREDUCED,
    SHARDING_NAMED, /* mesh and axes */
};
struct named_dimension {
    struct axis_refs axes;
    bool open;        /* {?} or {"a",?} */
    int64_t priority; /* p<n>; −1 = none */
};
struct metadata;
struct sharding {
    enum sharding_form form;
    int64_t device;                           /* MAXIMAL */
    int count;                                /* TUPLE */
    const struct sharding *const *elements;   /* TUPLE */
    struct ints tile_dims;                    /* TILED: [2,2,…] incl. subgroup dimensions */
    struct ints devices;                      /* TILED: explicit list, or empty for iota */
    struct ints reshape_dims, transpose_perm; /* TILED: iota form */
    bool last_tile_dim_replicate;
    struct ints last_tile_dims;    /* subgroup types, as enum sharding_form */
    bool is_shard_group, shard_as; /* shard_as N / shard_like N */
    int64_t shard_group_id;
    int metadata_count;
    const struct metadata *const *metadata;
    /* NAMED */
    struct mesh mesh;
    int dimension_count;
    const struct named_dimension *dimensions;
    struct axis_refs replicated, unreduced, manual;
    const char *unreduced_kind; /* "sum", "max", …; NULL = not written */
};

struct metadata {
    const char *op_type, *op_name, *source_file; /* NULL = absent */
    const char *deduplicated_name, *scheduling_name;
    int64_t source_line, source_end_line, source_column, source_end_column;
    int64_t stack_frame_id;
    int64_t size_of_generated_code, size_of_memory_working_set;
    struct ints profile_type;
    struct bytes extra; /* fields that are kept as text or wire bytes only; usually empty */
};

struct output_alias {
    struct ints output_index;
    int64_t operand;
    struct ints operand_index;
};
struct aliasing {
    int count;
    const struct output_alias *entries;
};

struct domain {
    const char *kind;
    const struct sharding *entry, *exit;
};

struct result_accuracy {
    bool has_tolerance;
    int64_t mode; /* 0 default, 1 highest */
    double atol, rtol;
    int64_t ulps;
};

struct string_entry {
    struct bytes key, value;
    bool raw; /* the value was written as {json}, not as a string */
};
struct string_map {
    int count;
    const struct string_entry *entries; /* in written order */
};

struct origin_element {
    struct ints index; /* the leaf it stands for */
    const char *name;  /* NULL: no original array */
    struct ints array_index;
};
struct origin {
    bool synthetic_call;
    int count;
    const struct origin_element *elements;
    struct bytes text; /* as written between the braces, canonical spacing */
};

struct statistic {
    const char *name;
    double value;
};
struct statistics {
    int64_t visualizing_index;
    int count;
    const struct statistic *entries;
};

struct precisions {
    int count;
    const uint8_t *values; /* enum precision */
};

struct shapes {
    int count;
    const struct shape *const *shapes;
};

struct attr {
    enum attr_key key;
    union {
        int64_t integer; /* INT, BOOL, enumerations */
        double real;
        struct bytes bytes; /* STRING, STRING_OR_WORD, RAW, SPARSITY, BACKEND_CONFIG */
        struct ints ints;   /* INTS, BOOLS, PAIRS */
        struct lists lists;
        struct slices slices;
        struct window window;
        struct padding padding;
        struct dim_labels *dim_labels;
        struct groups *groups;
        struct precisions precisions;
        const struct sharding *sharding;
        struct literal *literal; /* owned by the module */
        const struct shape *shape;
        struct shapes shapes;
        struct aliasing aliasing;
        struct domain *domain;
        struct result_accuracy *result_accuracy;
        struct string_map string_map;
        struct metadata *metadata;
        struct origin *origin;
        struct statistics *statistics;
    };
};

struct attr_info {
    const char *text;
    enum attr_kind kind;
    bool common;
};
extern const struct attr_info attr_table[ATTR_COUNT];

/* The key spelled by text[0..size), or ATTR_COUNT. */
enum attr_key attr_from_text(const char *text, size_t size);

/* --- reading the list of an instruction --- */

/* The attribute, or NULL. */
const struct attr *attr_get(const struct instruction *instruction, enum attr_key key);
int64_t attr_int(const struct instruction *instruction, enum attr_key key, int64_t otherwise);
bool attr_bool(const struct instruction *instruction, enum attr_key key, bool otherwise);
double attr_float(const struct instruction *instruction, enum attr_key key, double otherwise);
/* "" when absent. */
const char *attr_string(const struct instruction *instruction, enum attr_key key);
/* Empty when absent. */
struct ints attr_ints(const struct instruction *instruction, enum attr_key key);
/* The value of that frontend attribute, or NULL. */
const struct bytes *attr_frontend(const struct instruction *instruction, const char *key);
struct slices attr_slices(const struct instruction *instruction);
struct window attr_window(const struct instruction *instruction);
/* One side of sparsity_config: along `dimension`, the operand has `nonzero` elements of each block
 * of `block`; operand number `indices` says where in the block they are. Source: xla/xla_data.proto
 * (SparsityConfig). */
struct sparsity {
    int64_t nonzero, block, dimension, stride, indices;
};
/* That of lhs or rhs; false if there is none. */
bool attr_sparsity(const struct instruction *instruction, bool right, struct sparsity *sparsity);
struct padding attr_padding(const struct instruction *instruction);
/* NULL when absent. */
const struct dim_labels *attr_dim_labels(const struct instruction *instruction);
const struct sharding *attr_sharding(const struct instruction *instruction);
const struct groups *attr_groups(const struct instruction *instruction);
/* `type` of a compare, by the type of the operands when it is not written. */
enum compare_type compare_type_of(const struct instruction *instruction);
/* Does the attribute say only what holds without it? Never so for required ones. */
bool attr_is_default(const struct instruction *instruction, const struct attr *attr);

bool attr_equal(const struct attr *a, const struct attr *b);
uint64_t attr_hash(const struct attr *attr);
bool sharding_equal(const struct sharding *a, const struct sharding *b);
bool ints_equal(struct ints a, struct ints b);

#endif
