/* Attributes of dialects: those of StableHLO and CHLO with their parameters, all others as text.
 *
 * A parameter that may be left out gets its default, so that every parameter is there: [] of
 * dimensions, 0 of an integer. Dimensions are array<i64>, integers i64, floats f64.
 * Sources: stablehlo/dialect/{StablehloAttrs.td, StablehloEnums.td, ChloOps.td, ChloEnums.td},
 * StablehloOps.cpp (parsers and printers of attributes). */
#include "hlo/mlir/text/dialect_attrs.h"

#include "hlo/mlir/text/reader_internal.h"

static const struct dialect_parameter gather_parameters[] = {
    {"offset_dims", PARAMETER_DIMS},           {"collapsed_slice_dims", PARAMETER_DIMS},
    {"operand_batching_dims", PARAMETER_DIMS}, {"start_indices_batching_dims", PARAMETER_DIMS},
    {"start_index_map", PARAMETER_DIMS},       {"index_vector_dim", PARAMETER_INT},
};
static const struct dialect_parameter scatter_parameters[] = {
    {"update_window_dims", PARAMETER_DIMS},
    {"inserted_window_dims", PARAMETER_DIMS},
    {"input_batching_dims", PARAMETER_DIMS},
    {"scatter_indices_batching_dims", PARAMETER_DIMS},
    {"scatter_dims_to_operand_dims", PARAMETER_DIMS},
    {"index_vector_dim", PARAMETER_INT},
};
static const struct dialect_parameter dot_parameters[] = {
    {"lhs_batching_dimensions", PARAMETER_DIMS},
    {"rhs_batching_dimensions", PARAMETER_DIMS},
    {"lhs_contracting_dimensions", PARAMETER_DIMS},
    {"rhs_contracting_dimensions", PARAMETER_DIMS},
};
static const struct dialect_parameter ragged_dot_parameters[] = {
    {"lhs_batching_dimensions", PARAMETER_DIMS},    {"rhs_batching_dimensions", PARAMETER_DIMS},
    {"lhs_contracting_dimensions", PARAMETER_DIMS}, {"rhs_contracting_dimensions", PARAMETER_DIMS},
    {"lhs_ragged_dimensions", PARAMETER_DIMS},      {"rhs_group_dimensions", PARAMETER_DIMS},
};
static const struct dialect_parameter conv_parameters[] = {
    {"input_batch_dimension", PARAMETER_INT},
    {"input_feature_dimension", PARAMETER_INT},
    {"input_spatial_dimensions", PARAMETER_DIMS},
    {"kernel_input_feature_dimension", PARAMETER_INT},
    {"kernel_output_feature_dimension", PARAMETER_INT},
    {"kernel_spatial_dimensions", PARAMETER_DIMS},
    {"output_batch_dimension", PARAMETER_INT},
    {"output_feature_dimension", PARAMETER_INT},
    {"output_spatial_dimensions", PARAMETER_DIMS},
};
static const struct dialect_parameter dot_algorithm_parameters[] = {
    {"lhs_precision_type", PARAMETER_TYPE},
    {"rhs_precision_type", PARAMETER_TYPE},
    {"accumulation_type", PARAMETER_TYPE},
    {"lhs_component_count", PARAMETER_INT},
    {"rhs_component_count", PARAMETER_INT},
    {"num_primitive_operations", PARAMETER_INT},
    {"allow_imprecise_accumulation", PARAMETER_BOOL},
};
static const struct dialect_parameter output_operand_alias_parameters[] = {
    {"output_tuple_indices", PARAMETER_DIMS},
    {"operand_index", PARAMETER_INT},
    {"operand_tuple_indices", PARAMETER_DIMS},
};
static const struct dialect_parameter channel_handle_parameters[] = {
    {"handle", PARAMETER_INT},
    {"type", PARAMETER_INT},
};
static const struct dialect_parameter type_extensions_parameters[] = {
    {"bounds", PARAMETER_DIMS},
};
static const struct dialect_parameter result_accuracy_parameters[] = {
    {"atol", PARAMETER_FLOAT},
    {"rtol", PARAMETER_FLOAT},
    {"ulps", PARAMETER_INT},
    {"mode", PARAMETER_ATTR},
};
static const struct dialect_parameter axis_ref_parameters[] = {
    {"name", PARAMETER_STRING},
    {"sub_axis_info", PARAMETER_SUB_AXIS},
};
static const struct dialect_parameter mesh_axis_parameters[] = {
    {"name", PARAMETER_STRING},
    {"size", PARAMETER_INT},
};
static const struct dialect_parameter mesh_parameters[] = {
    {"axes", PARAMETER_MESH_AXES},
    {"device_ids", PARAMETER_OPTIONAL_ATTR},
};
static const struct dialect_parameter mesh_axes_parameters[] = {
    {"mesh", PARAMETER_ATTR},
    {"axes", PARAMETER_ATTR},
};

#define PARAMETERS(name) \
    name##_parameters, sizeof name##_parameters / sizeof *name##_parameters, NULL
static const struct dialect_attr dialect_attrs[] = {
    {"stablehlo", "gather", true, PARAMETERS(gather)},
    {"stablehlo", "scatter", true, PARAMETERS(scatter)},
    {"stablehlo", "dot", true, PARAMETERS(dot)},
    {"stablehlo", "conv", true, PARAMETERS(conv)},
    {"stablehlo", "dot_algorithm", false, PARAMETERS(dot_algorithm)},
    {"stablehlo", "output_operand_alias", false, PARAMETERS(output_operand_alias)},
    {"stablehlo", "channel_handle", false, PARAMETERS(channel_handle)},
    {"stablehlo", "type_extensions", false, PARAMETERS(type_extensions)},
    {"stablehlo", "result_accuracy", true, PARAMETERS(result_accuracy)},
    {"stablehlo", "axis_ref", false, PARAMETERS(axis_ref)},
    {"stablehlo", "mesh_axis", false, PARAMETERS(mesh_axis)},
    {"stablehlo", "mesh", false, PARAMETERS(mesh)},
    {"stablehlo", "replica_group_mesh_axes", false, PARAMETERS(mesh_axes)},
    {"chlo", "ragged_dot", true, PARAMETERS(ragged_dot)},
    {"stablehlo", "precision", false, NULL, 0, "DEFAULT HIGH HIGHEST"},
    {"stablehlo", "result_accuracy_mode", false, NULL, 0, "DEFAULT HIGHEST TOLERANCE"},
    {"stablehlo", "fft_type", false, NULL, 0, "FFT IFFT RFFT IRFFT"},
    {"stablehlo", "comparison_direction", false, NULL, 0, "EQ NE GE GT LE LT"},
    {"stablehlo", "comparison_type", false, NULL, 0, "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"},
    {"stablehlo", "transpose", false, NULL, 0, "TRANSPOSE_INVALID NO_TRANSPOSE TRANSPOSE ADJOINT"},
    {"stablehlo", "rng_distribution", false, NULL, 0, "UNIFORM NORMAL"},
    {"stablehlo", "rng_algorithm", false, NULL, 0, "DEFAULT THREE_FRY PHILOX"},
    {"chlo", "comparison_direction", false, NULL, 0, "EQ NE GE GT LE LT"},
    {"chlo", "comparison_type", false, NULL, 0, "NOTYPE FLOAT TOTALORDER SIGNED UNSIGNED"},
    {"chlo", "precision", false, NULL, 0, "DEFAULT HIGH HIGHEST"},
};
#undef PARAMETERS

static const struct dialect_attr *find_attr(struct span dialect, struct span mnemonic)
{
    for (size_t i = 0; i < sizeof dialect_attrs / sizeof *dialect_attrs; i++) {
        const struct dialect_attr *row = &dialect_attrs[i];
        if (span_is(mnemonic, row->mnemonic) && span_is(dialect, row->dialect)) {
            return row;
        }
    }
    return NULL;
}

const struct dialect_attr *dialect_attr_find(const char *dialect, const char *mnemonic)
{
    return find_attr((struct span){dialect, strlen(dialect)},
                     (struct span){mnemonic, strlen(mnemonic)});
}

/* --- parameters --- */

static struct mlir_attr *dialect_attr_new(struct reader *reader, const char *dialect,
                                          const char *mnemonic)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(reader->file, dialect, strlen(dialect));
    attr->dialect.mnemonic = mlir_intern(reader->file, mnemonic, strlen(mnemonic));
    return attr;
}

static struct mlir_attr *int_parameter(struct reader *reader, int64_t value)
{
    return mlir_attr_int(reader->file, value, mlir_integer(reader->file, 64, MLIR_SIGNLESS));
}

static struct mlir_attr *float_parameter(struct reader *reader, double value)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_FLOAT);
    attr->type = mlir_float(reader->file, "f64", 3);
    attr->number = value;
    return attr;
}

/* [1, ?, 3], or between other brackets */
static bool read_dims(struct reader *reader, char open, char close, struct mlir_attr **attr)
{
    int64_t few[READER_MAX_RANK];
    int count = 0;
    if (!reader_expect(reader, open)) {
        return false;
    }
    if (reader_accept(reader, close)) {
        *attr = mlir_attr_ints(reader->file, 0, NULL);
        return true;
    }
    do {
        if (count == READER_MAX_RANK) {
            return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, reader->at,
                                    "more than %d dimensions", READER_MAX_RANK);
        }
        if (reader_accept(reader, '?')) {
            few[count] = MLIR_DYNAMIC;
        } else if (!reader_int(reader, &few[count])) {
            return false;
        }
        count++;
    } while (reader_accept(reader, ','));
    *attr = mlir_attr_ints(reader->file, count, few);
    return reader_expect(reader, close);
}

/* (pre_size)size */
static bool read_sub_axis(struct reader *reader, struct mlir_attr **attr)
{
    int64_t pre_size, size;
    if (!reader_expect(reader, '(') || !reader_int(reader, &pre_size) ||
        !reader_expect(reader, ')') || !reader_int(reader, &size)) {
        return false;
    }
    *attr = dialect_attr_new(reader, "stablehlo", "sub_axis_info");
    struct mlir_dictionary *parameters = &(*attr)->dialect.parameters;
    mlir_set(reader->file, parameters, "pre_size", int_parameter(reader, pre_size));
    mlir_set(reader->file, parameters, "size", int_parameter(reader, size));
    return true;
}

/* [<name = "x", size = 2>, …], with or without #stablehlo.mesh_axis before the "<" */
static bool read_mesh_axes(struct reader *reader, struct mlir_attr **attr)
{
    enum { MAX_AXES = 64 };
    struct mlir_attr *axes[MAX_AXES];
    int count = 0;
    if (!reader_expect(reader, '[')) {
        return false;
    }
    while (reader_peek(reader) != ']') {
        if (count == MAX_AXES) {
            return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, reader->at,
                                    "a mesh of more than %d axes", MAX_AXES);
        }
        if (!(reader_peek(reader) == '#'
                  ? reader_attr(reader, &axes[count])
                  : reader_dialect_body(reader, "stablehlo", "mesh_axis", &axes[count]))) {
            return false;
        }
        count++;
        if (!reader_accept(reader, ',')) {
            break;
        }
    }
    *attr = reader_attr_array(reader, count, axes);
    return reader_expect(reader, ']');
}

static bool read_parameter(struct reader *reader, enum parameter_kind kind, struct mlir_attr **attr)
{
    int64_t integer;
    double number;
    bool truth;
    struct bytes string;
    const struct mlir_type *type;
    switch (kind) {
    case PARAMETER_DIMS:
        return read_dims(reader, '[', ']', attr);
    case PARAMETER_INT:
        if (!reader_int(reader, &integer)) {
            return false;
        }
        *attr = int_parameter(reader, integer);
        return true;
    case PARAMETER_BOOL:
        if (!reader_bool(reader, &truth)) {
            return false;
        }
        *attr = reader_attr_bool(reader, truth);
        return true;
    case PARAMETER_FLOAT:
        if (!reader_float(reader, &number)) {
            return false;
        }
        *attr = float_parameter(reader, number);
        return true;
    case PARAMETER_TYPE:
        if (!reader_type(reader, &type)) {
            return false;
        }
        *attr = reader_attr_type(reader, type);
        return true;
    case PARAMETER_STRING:
        if (!reader_string(reader, &string)) {
            return false;
        }
        *attr = mlir_attr_string(reader->file, string.data, string.size);
        return true;
    case PARAMETER_SUB_AXIS:
        return read_sub_axis(reader, attr);
    case PARAMETER_MESH_AXES:
        return read_mesh_axes(reader, attr);
    case PARAMETER_ATTR:
    case PARAMETER_OPTIONAL_ATTR:
        break;
    }
    return reader_attr(reader, attr);
}

/* Parameters that were left out. */
static bool fill_parameters(struct reader *reader, const char *at, const struct dialect_attr *row,
                            struct mlir_dictionary *parameters)
{
    for (size_t i = 0; i < row->count; i++) {
        const struct dialect_parameter *parameter = &row->parameters[i];
        bool optional =
            parameter->kind == PARAMETER_OPTIONAL_ATTR || parameter->kind == PARAMETER_SUB_AXIS;
        if (optional || mlir_get(parameters, parameter->name) != NULL) {
            continue;
        }
        if (!row->optional || parameter->kind == PARAMETER_ATTR) {
            return reader_fail(reader, at, "#%s.%s without its '%s'", row->dialect, row->mnemonic,
                               parameter->name);
        }
        mlir_set(reader->file, parameters, parameter->name,
                 parameter->kind == PARAMETER_INT     ? int_parameter(reader, 0)
                 : parameter->kind == PARAMETER_FLOAT ? float_parameter(reader, 0)
                                                      : mlir_attr_ints(reader->file, 0, NULL));
    }
    return true;
}

/* name = value, …> in any order */
static bool read_parameters(struct reader *reader, const char *at, const struct dialect_attr *row,
                            struct mlir_dictionary *parameters)
{
    while (reader_peek(reader) != '>') {
        struct span name;
        if (!reader_expect_any_word(reader, &name, "the name of a parameter")) {
            return false;
        }
        const struct dialect_parameter *parameter = row->parameters;
        while (parameter < row->parameters + row->count && !span_is(name, parameter->name)) {
            parameter++;
        }
        if (parameter == row->parameters + row->count) {
            return reader_fail(reader, name.data, "#%s.%s has no parameter '%.*s'", row->dialect,
                               row->mnemonic, name.size > 100 ? 100 : (int)name.size, name.data);
        }
        if (mlir_get(parameters, parameter->name) != NULL) {
            return reader_fail(reader, name.data, "'%s' is given twice", parameter->name);
        }
        struct mlir_attr *value;
        if (!reader_expect(reader, '=') || !read_parameter(reader, parameter->kind, &value)) {
            return false;
        }
        mlir_set(reader->file, parameters, parameter->name, value);
        if (!reader_accept(reader, ',')) {
            break;
        }
    }
    return reader_expect(reader, '>') && fill_parameters(reader, at, row, parameters);
}

/* --- convolutions --- */

const struct dialect_conv_side dialect_conv_sides[DIALECT_CONV_SIDES] = {
    {"bf", {"input_batch_dimension", "input_feature_dimension"}, "input_spatial_dimensions"},
    {"io",
     {"kernel_input_feature_dimension", "kernel_output_feature_dimension"},
     "kernel_spatial_dimensions"},
    {"bf", {"output_batch_dimension", "output_feature_dimension"}, "output_spatial_dimensions"},
};

/* "[b, 0, 1, f]" */
static bool read_conv_side(struct reader *reader, const struct dialect_conv_side *side,
                           struct mlir_dictionary *parameters)
{
    int64_t places[2] = {-1, -1}, spatial[READER_MAX_RANK];
    for (int i = 0; i < READER_MAX_RANK; i++) {
        spatial[i] = -1;
    }
    reader_skip(reader);
    const char *at = reader->at;
    int64_t count = 0, highest = 0, *place;
    if (!reader_expect(reader, '[')) {
        return false;
    }
    do {
        char c = reader_peek(reader);
        const char *here = reader->at;
        if (reader_class_of(c) & CLASS_DIGIT) {
            int64_t number;
            if (!reader_int(reader, &number)) {
                return false;
            }
            if (number >= READER_MAX_RANK) {
                return reader_fail(reader, here, "a spatial dimension beyond all");
            }
            place = &spatial[number];
            highest = number + 1 > highest ? number + 1 : highest;
        } else if (c != '\0' && (c == side->letters[0] || c == side->letters[1])) {
            reader->at++;
            place = &places[c == side->letters[1]];
        } else {
            return reader_expected(reader, "a dimension: its letter, or a number");
        }
        if (*place >= 0) {
            return reader_fail(reader, here, "a dimension is given twice");
        }
        *place = count++;
    } while (reader_accept(reader, ','));
    if (!reader_expect(reader, ']')) {
        return false;
    }
    if (places[0] < 0 || places[1] < 0 || highest != count - 2) {
        return reader_fail(reader, at, "not all dimensions are given");
    }
    mlir_set(reader->file, parameters, side->keys[0], int_parameter(reader, places[0]));
    mlir_set(reader->file, parameters, side->keys[1], int_parameter(reader, places[1]));
    mlir_set(reader->file, parameters, side->spatial,
             mlir_attr_ints(reader->file, (int)highest, spatial));
    return true;
}

bool reader_conv_dimensions(struct reader *reader, struct mlir_attr **attr)
{
    *attr = dialect_attr_new(reader, "stablehlo", "conv");
    struct mlir_dictionary *parameters = &(*attr)->dialect.parameters;
    return read_conv_side(reader, &dialect_conv_sides[0], parameters) &&
           reader_expect_text(reader, "x") &&
           read_conv_side(reader, &dialect_conv_sides[1], parameters) &&
           reader_expect_text(reader, "->") &&
           read_conv_side(reader, &dialect_conv_sides[2], parameters);
}

/* --- bodies --- */

bool reader_enum_word(struct reader *reader, const char *dialect, const char *mnemonic,
                      struct mlir_attr **attr)
{
    struct span word;
    if (!reader_expect_any_word(reader, &word, "a word")) {
        return false;
    }
    *attr = mlir_attr_word(reader->file, dialect, mnemonic, word.data, word.size);
    return true;
}

/* The word of an enumeration. */
static bool read_word(struct reader *reader, const struct dialect_attr *row,
                      struct mlir_attr **attr)
{
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_enum_word(reader, row->dialect, row->mnemonic, attr)) {
        return false;
    }
    const char *word = (*attr)->dialect.word;
    size_t size = strlen(word);
    for (const char *found = row->words; (found = strstr(found, word)) != NULL; found += size) {
        if ((found == row->words || found[-1] == ' ') && (found[size] == ' ' || !found[size])) {
            return true;
        }
    }
    return reader_fail(reader, at, "'%s' is none of %s", word, row->words);
}

/* The parameters of a known attribute, from the "<" on, or its word. */
static bool read_body(struct reader *reader, const struct dialect_attr *row,
                      struct mlir_attr **attr)
{
    bool bracket = reader_accept(reader, '<');
    if (row->parameters == NULL) {
        return read_word(reader, row, attr) && (!bracket || reader_expect(reader, '>'));
    }
    if (!bracket) {
        return reader_expected(reader, "'<'");
    }
    const char *at = reader->at;
    if (row->parameters == conv_parameters && !reader_accept_word(reader, "raw")) {
        return reader_conv_dimensions(reader, attr) && reader_expect(reader, '>');
    }
    *attr = dialect_attr_new(reader, row->dialect, row->mnemonic);
    return read_parameters(reader, at, row, &(*attr)->dialect.parameters);
}

/* <3, ?>: how #stablehlo.type_extensions<bounds = [3, ?]> is printed. */
static bool read_bounds(struct reader *reader, struct mlir_attr **attr)
{
    struct mlir_attr *bounds;
    if (!read_dims(reader, '<', '>', &bounds)) {
        return false;
    }
    *attr = dialect_attr_new(reader, "stablehlo", "type_extensions");
    mlir_set(reader->file, &(*attr)->dialect.parameters, "bounds", bounds);
    return true;
}

struct mlir_attr *reader_text_attr(struct reader *reader, const char *text, size_t size)
{
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_OTHER);
    if (size > 4 && memcmp(text, "#sdy", 4) == 0) {
        attr->string = reader_tidy_sdy(reader, (struct span){text, size});
    } else {
        attr->string = (struct bytes){arena_string(&reader->file->arena, text, size), size};
    }
    return attr;
}

bool reader_dialect_body(struct reader *reader, const char *dialect, const char *mnemonic,
                         struct mlir_attr **attr)
{
    const struct dialect_attr *row = dialect_attr_find(dialect, mnemonic);
    if (row != NULL) {
        if (!reader_enter(reader)) {
            return false;
        }
        bool read = read_body(reader, row, attr);
        reader_leave(reader);
        return read;
    }
    struct span body;
    if (reader_peek(reader) != '<') {
        return reader_expected(reader, "'<'");
    }
    if (!reader_balanced(reader, &body)) {
        return false;
    }
    size_t head = strlen(dialect) + strlen(mnemonic) + 2;
    char *text = arena_alloc(&reader->file->arena, head + body.size + 1);
    text[0] = '#';
    memcpy(text + 1, dialect, strlen(dialect));
    text[1 + strlen(dialect)] = '.';
    memcpy(text + 2 + strlen(dialect), mnemonic, strlen(mnemonic));
    memcpy(text + head, body.data, body.size);
    *attr = reader_text_attr(reader, text, head + body.size);
    return true;
}

bool reader_dialect_attr(struct reader *reader, struct mlir_attr **attr)
{
    const char *begin = reader->at;
    struct span name = reader_alias_name(reader);
    if (name.size < 2) {
        return reader_expected(reader, "an attribute");
    }
    const char *dot = memchr(name.data, '.', name.size);
    const char *end = name.data + name.size;
    if (dot != NULL) {
        const struct dialect_attr *row =
            find_attr((struct span){name.data + 1, (size_t)(dot - name.data - 1)},
                      (struct span){dot + 1, (size_t)(end - dot - 1)});
        if (row != NULL) {
            return read_body(reader, row, attr);
        }
        if (span_is(name, "#stablehlo.bounds")) {
            return read_bounds(reader, attr);
        }
    } else {
        /* #dialect<mnemonic …> */
        reader->at++;
        struct span mnemonic = reader_keyword(reader);
        const struct dialect_attr *row =
            find_attr((struct span){name.data + 1, name.size - 1}, mnemonic);
        if (row != NULL) {
            return read_body(reader, row, attr) && reader_expect(reader, '>');
        }
        reader->at = end;
    }
    struct span body;
    if (*reader->at == '<' && !reader_balanced(reader, &body)) {
        return false;
    }
    *attr = reader_text_attr(reader, begin, (size_t)(reader->at - begin));
    return true;
}
