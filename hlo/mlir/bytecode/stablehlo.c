/* The encodings of StableHLO and CHLO (not VHLO), as compilers write them among themselves.
 * Sources: stablehlo/dialect/{StablehloBytecode,ChloBytecode}.cpp (codes, order of parameters),
 * {StablehloAttrs,StablehloEnums,ChloEnums}.td (names, numbers of words); properties: the ops of
 * jaxlib 0.10.2 (StableHLO 1.17), and what StableHLO 1.20 has more. */
#include "hlo/mlir/bytecode/bytecode.h"

static const char *const comparison_directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
static const char *const comparison_types[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED",
                                               "UNSIGNED"};
static const char *const fft_types[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
static const char *const precisions[] = {"DEFAULT", "HIGH", "HIGHEST"};
static const char *const rng_algorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
static const char *const rng_distributions[] = {NULL, "UNIFORM", "NORMAL"};
static const char *const transposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                         "ADJOINT"};
static const char *const accuracy_modes[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};

/* An attribute by its code: words of an enumeration, or parameters. */
struct row {
    struct bytecode_words words;
    const char *mnemonic;
    struct parameter parameters[PARAMETERS_MOST];
};

#define WORDS(mnemonic, words)                                 \
    {                                                          \
        {mnemonic, words, sizeof words / sizeof *words}, NULL, \
        {                                                      \
            {                                                  \
                PARAMETER_END, NULL                            \
            }                                                  \
        }                                                      \
    }
#define INT(name)           \
    {                       \
        PARAMETER_INT, name \
    }
#define INTS(name)           \
    {                        \
        PARAMETER_INTS, name \
    }
#define BOOL(name)           \
    {                        \
        PARAMETER_BOOL, name \
    }
#define TYPE(name)           \
    {                        \
        PARAMETER_TYPE, name \
    }
#define ATTR(name)           \
    {                        \
        PARAMETER_ATTR, name \
    }
#define ATTRS(name)           \
    {                         \
        PARAMETER_ATTRS, name \
    }
#define NAME(name)           \
    {                        \
        PARAMETER_NAME, name \
    }
#define F64(name)           \
    {                       \
        PARAMETER_F64, name \
    }
#define FLAGGED(name)                \
    {                                \
        PARAMETER_FLAGGED_ATTR, name \
    }
#define PARAMETERS(mnemonic, ...)   \
    {                               \
        {NULL, NULL, 0}, mnemonic,  \
        {                           \
            __VA_ARGS__,            \
            {                       \
                PARAMETER_END, NULL \
            }                       \
        }                           \
    }

static const struct row stablehlo_rows[] = {
    [1] = PARAMETERS("channel_handle", INT("handle"), INT("type")),
    [2] = WORDS("comparison_direction", comparison_directions),
    [3] = WORDS("comparison_type", comparison_types),
    [4] = PARAMETERS("conv", INT("input_batch_dimension"), INT("input_feature_dimension"),
                     INTS("input_spatial_dimensions"), INT("kernel_input_feature_dimension"),
                     INT("kernel_output_feature_dimension"), INTS("kernel_spatial_dimensions"),
                     INT("output_batch_dimension"), INT("output_feature_dimension"),
                     INTS("output_spatial_dimensions")),
    [5] = PARAMETERS("dot", INTS("lhs_batching_dimensions"), INTS("rhs_batching_dimensions"),
                     INTS("lhs_contracting_dimensions"), INTS("rhs_contracting_dimensions")),
    [6] = WORDS("fft_type", fft_types),
    [7] = PARAMETERS("gather", INTS("offset_dims"), INTS("collapsed_slice_dims"),
                     INTS("operand_batching_dims"), INTS("start_indices_batching_dims"),
                     INTS("start_index_map"), INT("index_vector_dim")),
    [8] = WORDS("precision", precisions),
    [9] = WORDS("rng_algorithm", rng_algorithms),
    [10] = WORDS("rng_distribution", rng_distributions),
    [11] = PARAMETERS("scatter", INTS("update_window_dims"), INTS("inserted_window_dims"),
                      INTS("input_batching_dims"), INTS("scatter_indices_batching_dims"),
                      INTS("scatter_dims_to_operand_dims"), INT("index_vector_dim")),
    [12] = WORDS("transpose", transposes),
    [13] = PARAMETERS("type_extensions", INTS("bounds")),
    [14] = PARAMETERS("output_operand_alias", INTS("output_tuple_indices"), INT("operand_index"),
                      INTS("operand_tuple_indices")),
    [15] = PARAMETERS("dot_algorithm", TYPE("lhs_precision_type"), TYPE("rhs_precision_type"),
                      TYPE("accumulation_type"), INT("lhs_component_count"),
                      INT("rhs_component_count"), INT("num_primitive_operations"),
                      BOOL("allow_imprecise_accumulation")),
    [16] = WORDS("result_accuracy_mode", accuracy_modes),
    [17] = PARAMETERS("result_accuracy", F64("atol"), F64("rtol"), INT("ulps"), ATTR("mode")),
    [18] = PARAMETERS("replica_group_mesh_axes", ATTR("mesh"), ATTRS("axes")),
    [19] = PARAMETERS("sub_axis_info", INT("pre_size"), INT("size")),
    [20] = PARAMETERS("axis_ref", NAME("name"), FLAGGED("sub_axis_info")),
    [21] = PARAMETERS("mesh_axis", NAME("name"), INT("size")),
    [22] = PARAMETERS("mesh", ATTR("axes"), FLAGGED("device_ids")),
};
static const struct row chlo_rows[] = {
    [0] = WORDS("comparison_direction", comparison_directions),
    [1] = WORDS("comparison_type", comparison_types),
};

#undef WORDS
#undef INT
#undef INTS
#undef BOOL
#undef TYPE
#undef ATTR
#undef ATTRS
#undef NAME
#undef F64
#undef FLAGGED
#undef PARAMETERS

static struct mlir_attr *read_row(struct cursor *cursor, const char *dialect,
                                  const struct row *rows, size_t count, uint64_t code)
{
    if (code < count && rows[code].words.words != NULL) {
        return cursor_word(cursor, dialect, &rows[code].words);
    }
    if (code < count && rows[code].mnemonic != NULL) {
        return cursor_parameters(cursor, dialect, rows[code].mnemonic, rows[code].parameters);
    }
    return NULL;
}

static struct mlir_attr *stablehlo_attr(struct cursor *cursor, uint64_t code)
{
    return read_row(cursor, "stablehlo", stablehlo_rows,
                    sizeof stablehlo_rows / sizeof *stablehlo_rows, code);
}

static struct mlir_attr *chlo_attr(struct cursor *cursor, uint64_t code)
{
    return read_row(cursor, "chlo", chlo_rows, sizeof chlo_rows / sizeof *chlo_rows, code);
}

static const struct mlir_type *stablehlo_type(struct cursor *cursor, uint64_t code)
{
    enum { TOKEN, FUTURE };
    int count;
    const struct mlir_type **types;
    if (code == TOKEN) {
        return mlir_simple(cursor->bytecode->file, MLIR_TOKEN);
    }
    if (code == FUTURE && cursor_types(cursor, &count, &types)) {
        return mlir_tuple(cursor->bytecode->file, MLIR_FUTURE, count, types);
    }
    return NULL;
}

static const struct op_properties stablehlo_ops[] = {
    {"all_gather", "all_gather_dim channel_handle? replica_groups use_global_device_ids?"},
    {"all_reduce", "channel_handle? replica_groups use_global_device_ids?"},
    {"all_to_all", "channel_handle? concat_dimension replica_groups split_count split_dimension"},
    {"batch_norm_grad", "epsilon feature_index"},
    {"batch_norm_inference", "epsilon feature_index"},
    {"batch_norm_training", "epsilon feature_index"},
    {"broadcast", "broadcast_sizes"},
    {"broadcast_in_dim", "broadcast_dimensions"},
    {"cbrt", "result_accuracy?"},
    {"cholesky", "lower?"},
    {"collective_broadcast", "channel_handle? replica_groups"},
    {"collective_broadcast", "channel_handle? has_dynamic_root? replica_groups"},
    {"collective_permute", "channel_handle? source_target_pairs"},
    {"collective_reduce",
     "channel_handle? has_dynamic_root? replica_groups use_global_device_ids?"},
    {"compare", "compare_type? comparison_direction"},
    {"composite", "composite_attributes? decomposition name version?"},
    {"concatenate", "dimension"},
    {"constant", "value"},
    {"convolution",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? "
     "precision_config? rhs_dilation? window_reversal? window_strides?"},
    {"cosine", "result_accuracy?"},
    {"cross-replica-sum", "replica_groups"},
    {"custom_call", "api_version? backend_config? call_target_name called_computations? "
                    "has_side_effect? operand_layouts? output_operand_aliases? result_layouts?"},
    {"custom_call", "api_version? backend_config? call_target_name called_computations? "
                    "has_side_effect? operand_layouts? output_operand_aliases? result_layouts? "
                    "result_tilings?"},
    {"dot", "precision_config?"},
    {"dot_general", "algorithm? dot_dimension_numbers precision_config?"},
    {"dynamic_broadcast_in_dim",
     "broadcast_dimensions known_expanding_dimensions? known_nonexpanding_dimensions?"},
    {"dynamic_conv", "batch_group_count dimension_numbers feature_group_count lhs_dilation? "
                     "precision_config? rhs_dilation? window_reversal? window_strides?"},
    {"dynamic_gather", "dimension_numbers indices_are_sorted?"},
    {"dynamic_iota", "iota_dimension"},
    {"dynamic_slice", "slice_sizes"},
    {"einsum", "einsum_config"},
    {"exponential", "result_accuracy?"},
    {"exponential_minus_one", "result_accuracy?"},
    {"fft", "fft_length fft_type"},
    {"gather", "dimension_numbers indices_are_sorted? slice_sizes"},
    {"get_dimension_size", "dimension"},
    {"get_tuple_element", "index"},
    {"infeed", "infeed_config? layout?"},
    {"iota", "iota_dimension"},
    {"log", "result_accuracy?"},
    {"log_plus_one", "result_accuracy?"},
    {"logistic", "result_accuracy?"},
    {"map", "dimensions"},
    {"outfeed", "outfeed_config?"},
    {"pad", "edge_padding_high edge_padding_low interior_padding"},
    {"recv", "channel_handle is_host_transfer? source_target_pairs?"},
    {"reduce", "dimensions"},
    {"reduce_precision", "exponent_bits mantissa_bits"},
    {"reduce_scatter", "channel_handle? replica_groups scatter_dimension use_global_device_ids?"},
    {"reduce_window",
     "base_dilations? padding? window_dilations? window_dimensions window_strides?"},
    {"reverse", "dimensions"},
    {"rng", "rng_distribution"},
    {"rng_bit_generator", "rng_algorithm"},
    {"rsqrt", "result_accuracy?"},
    {"scatter", "indices_are_sorted? scatter_dimension_numbers unique_indices?"},
    {"select_and_scatter", "padding? window_dimensions? window_strides?"},
    {"send", "channel_handle is_host_transfer? source_target_pairs?"},
    {"set_dimension_size", "dimension"},
    {"sine", "result_accuracy?"},
    {"slice", "limit_indices start_indices strides"},
    {"sort", "dimension? is_stable?"},
    {"sqrt", "result_accuracy?"},
    {"tan", "result_accuracy?"},
    {"tanh", "result_accuracy?"},
    {"torch_index_select", "batch_dims dim"},
    {"transpose", "permutation"},
    {"triangular_solve", "left_side lower transpose_a unit_diagonal"},
    {"unary_einsum", "einsum_config"},
};
static const struct op_properties chlo_ops[] = {
    {"broadcast_add", "broadcast_dimensions?"},
    {"broadcast_and", "broadcast_dimensions?"},
    {"broadcast_atan2", "broadcast_dimensions?"},
    {"broadcast_compare", "broadcast_dimensions? compare_type? comparison_direction"},
    {"broadcast_complex", "broadcast_dimensions?"},
    {"broadcast_divide", "broadcast_dimensions?"},
    {"broadcast_maximum", "broadcast_dimensions?"},
    {"broadcast_minimum", "broadcast_dimensions?"},
    {"broadcast_multiply", "broadcast_dimensions?"},
    {"broadcast_next_after", "broadcast_dimensions?"},
    {"broadcast_or", "broadcast_dimensions?"},
    {"broadcast_polygamma", "broadcast_dimensions?"},
    {"broadcast_power", "broadcast_dimensions?"},
    {"broadcast_remainder", "broadcast_dimensions?"},
    {"broadcast_shift_left", "broadcast_dimensions?"},
    {"broadcast_shift_right_arithmetic", "broadcast_dimensions?"},
    {"broadcast_shift_right_logical", "broadcast_dimensions?"},
    {"broadcast_subtract", "broadcast_dimensions?"},
    {"broadcast_xor", "broadcast_dimensions?"},
    {"broadcast_zeta", "broadcast_dimensions?"},
    {"constant", "value"},
    {"constant_like", "value"},
    {"ragged_dot", "precision_config? ragged_dot_dimension_numbers"},
    {"scan", "dimension is_associative? is_reverse? scan_dim_size? operandSegmentSizes[2] "
             "resultSegmentSizes[2]"},
    {"top_k", "k"},
};

const struct dialect_reader stablehlo_dialect = {
    .name = "stablehlo",
    .is_versioned = true,
    .read_attr = stablehlo_attr,
    .read_type = stablehlo_type,
    .ops = stablehlo_ops,
    .op_count = sizeof stablehlo_ops / sizeof *stablehlo_ops,
};
const struct dialect_reader chlo_dialect = {
    .name = "chlo",
    .read_attr = chlo_attr,
    .ops = chlo_ops,
    .op_count = sizeof chlo_ops / sizeof *chlo_ops,
};
