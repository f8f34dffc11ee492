/* Prints the values of attributes: one function a kind. */
#include "hlo/text/print.h"

#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/text/lexer.h"
#include "hlo/text/number.h"

void print_int_items(const int64_t *values, int count, struct text *out)
{
    for (int i = 0; i < count; i++) {
        if (i > 0) {
            text_char(out, ',');
        }
        text_int(out, values[i]);
    }
}

void print_ints(struct ints ints, struct text *out)
{
    text_char(out, '{');
    print_int_items(ints.values, ints.count, out);
    text_char(out, '}');
}

void print_string(const char *data, size_t size, struct text *out)
{
    text_char(out, '"');
    text_escape(out, data, size);
    text_char(out, '"');
}

void print_string_or_json(struct bytes bytes, struct text *out)
{
    if (lexer_is_json(bytes.data, bytes.size)) {
        text_append_n(out, bytes.data, bytes.size);
    } else {
        print_string(bytes.data, bytes.size, out);
    }
}

static void print_double(double value, struct text *out)
{
    number_print(TYPE_F64, float_from_double(TYPE_F64, value), out);
}

/* --- kinds --- */

typedef void print_function(const struct attr *attr, struct text *out);

static void print_int(const struct attr *attr, struct text *out)
{
    text_int(out, attr->integer);
}

static void print_bool(const struct attr *attr, struct text *out)
{
    text_append(out, attr->integer != 0 ? "true" : "false");
}

static void print_float(const struct attr *attr, struct text *out)
{
    number_print(TYPE_F32, float_from_double(TYPE_F32, attr->real), out);
}

static void print_quoted(const struct attr *attr, struct text *out)
{
    print_string(attr->bytes.data, attr->bytes.size, out);
}

static void print_bare(const struct attr *attr, struct text *out)
{
    text_append_n(out, attr->bytes.data, attr->bytes.size);
}

static void print_backend_config(const struct attr *attr, struct text *out)
{
    print_string_or_json(attr->bytes, out);
}

static void print_int_list(const struct attr *attr, struct text *out)
{
    print_ints(attr->ints, out);
}

static void print_lists(const struct attr *attr, struct text *out)
{
    bool nested = attr->lists.nested;
    text_append(out, nested ? "{" : "");
    for (int i = 0; i < attr->lists.count; i++) {
        text_append(out, i > 0 ? "," : "");
        print_ints(attr->lists.lists[i], out);
    }
    text_append(out, nested ? "}" : attr->lists.count == 0 ? "{}" : "");
}

static void print_bools(const struct attr *attr, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i < attr->ints.count; i++) {
        text_append(out, i > 0 ? "," : "");
        text_append(out, attr->ints.values[i] != 0 ? "true" : "false");
    }
    text_char(out, '}');
}

static void print_pairs(const struct attr *attr, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i + 1 < attr->ints.count; i += 2) {
        text_append(out, i > 0 ? "," : "");
        print_ints((struct ints){2, attr->ints.values + i}, out);
    }
    text_char(out, '}');
}

static void print_slices(const struct attr *attr, struct text *out)
{
    const struct slices *slices = &attr->slices;
    bool strided = false;
    for (int i = 0; i < slices->rank; i++) {
        strided |= slices->dimensions[i].stride != 1;
    }
    text_char(out, '{');
    for (int i = 0; i < slices->rank; i++) {
        text_append(out, i > 0 ? ", [" : "[");
        text_int(out, slices->dimensions[i].start);
        text_char(out, ':');
        text_int(out, slices->dimensions[i].limit);
        if (strided) {
            text_char(out, ':');
            text_int(out, slices->dimensions[i].stride);
        }
        text_char(out, ']');
    }
    text_char(out, '}');
}

/* One field of all dimensions, e.g. " stride=1x2". */
static void print_crosses(const char *title, const struct window *window, size_t offset,
                          struct text *out)
{
    text_append(out, title);
    for (int i = 0; i < window->rank; i++) {
        text_append(out, i > 0 ? "x" : "");
        text_int(out, *(const int64_t *)((const char *)&window->dimensions[i] + offset));
    }
}

static void print_window(const struct attr *attr, struct text *out)
{
    const struct window *window = &attr->window;
    bool stride = false, pad = false, base = false, dilation = false, reversal = false;
    for (int i = 0; i < window->rank; i++) {
        const struct window_dimension *d = &window->dimensions[i];
        stride |= d->stride != 1;
        pad |= d->padding_low != 0 || d->padding_high != 0;
        base |= d->base_dilation != 1;
        dilation |= d->window_dilation != 1;
        reversal |= d->reversal;
    }
    text_char(out, '{');
    if (window->rank > 0) {
        print_crosses("size=", window, offsetof(struct window_dimension, size), out);
    }
    if (stride) {
        print_crosses(" stride=", window, offsetof(struct window_dimension, stride), out);
    }
    for (int i = 0; pad && i < window->rank; i++) {
        text_append(out, i > 0 ? "x" : " pad=");
        text_int(out, window->dimensions[i].padding_low);
        text_char(out, '_');
        text_int(out, window->dimensions[i].padding_high);
    }
    if (base) {
        print_crosses(" lhs_dilate=", window, offsetof(struct window_dimension, base_dilation),
                      out);
    }
    if (dilation) {
        print_crosses(" rhs_dilate=", window, offsetof(struct window_dimension, window_dilation),
                      out);
    }
    for (int i = 0; reversal && i < window->rank; i++) {
        text_append(out, i > 0 ? "x" : " rhs_reversal=");
        text_char(out, window->dimensions[i].reversal ? '1' : '0');
    }
    text_char(out, '}');
}

static void print_padding(const struct attr *attr, struct text *out)
{
    const struct padding *padding = &attr->padding;
    bool interior = false;
    for (int i = 0; i < padding->rank; i++) {
        interior |= padding->dimensions[i].interior != 0;
    }
    for (int i = 0; i < padding->rank; i++) {
        text_append(out, i > 0 ? "x" : "");
        text_int(out, padding->dimensions[i].low);
        text_char(out, '_');
        text_int(out, padding->dimensions[i].high);
        if (interior) {
            text_char(out, '_');
            text_int(out, padding->dimensions[i].interior);
        }
    }
}

/* One side of dimension labels; `unknown` has a bit for each '?'. */
static void print_labels(const char *letters, int64_t first, int64_t second, const int64_t *spatial,
                         int rank, int unknown, struct text *out)
{
    char labels[SHAPE_MAX_RANK];
    memset(labels, '?', sizeof labels);
    int64_t size = 0;
    for (int i = 0; i < SHAPE_MAX_RANK; i++) {
        char label = i == first ? letters[0] : i == second ? letters[1] : '?';
        for (int k = 0; k < rank && k < 10; k++) {
            label = spatial[k] == i ? (char)('0' + k) : label;
        }
        labels[i] = label;
        if (label != '?' || (i < 31 && unknown >> i & 1)) {
            size = i + 1;
        }
    }
    text_append_n(out, labels, (size_t)size);
}

static void print_dim_labels(const struct attr *attr, struct text *out)
{
    const struct dim_labels *d = attr->dim_labels;
    print_labels("bf", d->input_batch, d->input_feature, d->input_spatial, d->spatial_rank,
                 d->input_unknown, out);
    text_char(out, '_');
    print_labels("io", d->kernel_input_feature, d->kernel_output_feature, d->kernel_spatial,
                 d->spatial_rank, d->kernel_unknown, out);
    text_append(out, "->");
    print_labels("bf", d->output_batch, d->output_feature, d->output_spatial, d->spatial_rank,
                 d->output_unknown, out);
}

static void print_groups_attr(const struct attr *attr, struct text *out)
{
    print_groups(attr->groups, out);
}

static void print_precisions(const struct attr *attr, struct text *out)
{
    static const char *const words[] = {"default", "high", "highest", "packed_nibble"};
    text_char(out, '{');
    for (int i = 0; i < attr->precisions.count; i++) {
        text_append(out, i > 0 ? "," : "");
        text_append(out, words[attr->precisions.values[i] & 3]);
    }
    text_char(out, '}');
}

/* The leaves with their shapes. */
static void print_shaped_literal(const struct literal *literal, struct text *out)
{
    if (shape_is_tuple(literal->shape)) {
        text_append(out, "( ");
        for (int i = 0; i < literal->shape->count; i++) {
            text_append(out, i > 0 ? ", " : "");
            print_shaped_literal(literal->elements[i], out);
        }
        text_append(out, " )");
        return;
    }
    shape_print(literal->shape, true, out);
    text_char(out, ' ');
    literal_print(literal, false, 0, out);
}

static void print_literal(const struct attr *attr, struct text *out)
{
    print_shaped_literal(attr->literal, out);
}

static void print_one_shape(const struct attr *attr, struct text *out)
{
    shape_print(attr->shape, true, out);
}

static void print_shapes(const struct attr *attr, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i < attr->shapes.count; i++) {
        text_append(out, i > 0 ? ", " : "");
        shape_print(attr->shapes.shapes[i], true, out);
    }
    text_char(out, '}');
}

static void print_aliasing(const struct attr *attr, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i < attr->aliasing.count; i++) {
        const struct output_alias *alias = &attr->aliasing.entries[i];
        text_append(out, i > 0 ? ", " : "");
        print_ints(alias->output_index, out);
        text_append(out, ": (");
        text_int(out, alias->operand);
        text_append(out, ", ");
        print_ints(alias->operand_index, out);
        text_char(out, ')');
    }
    text_char(out, '}');
}

static void print_domain(const struct attr *attr, struct text *out)
{
    text_append(out, "{kind=");
    print_string(attr->domain->kind, strlen(attr->domain->kind), out);
    text_append(out, ", entry=");
    print_sharding(attr->domain->entry, true, out);
    text_append(out, ", exit=");
    print_sharding(attr->domain->exit, true, out);
    text_char(out, '}');
}

static void print_result_accuracy(const struct attr *attr, struct text *out)
{
    const struct result_accuracy *accuracy = attr->result_accuracy;
    if (!accuracy->has_tolerance) {
        text_append(out, accuracy->mode == 1 ? "{mode=highest}" : "{mode=default}");
        return;
    }
    text_append(out, "{tolerance={atol=");
    print_double(accuracy->atol, out);
    text_append(out, ",rtol=");
    print_double(accuracy->rtol, out);
    text_append(out, ",ulps=");
    text_int(out, accuracy->ulps);
    text_append(out, "}}");
}

void print_string_map(struct string_map map, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i < map.count; i++) {
        text_append(out, i > 0 ? "," : "");
        text_append_n(out, map.entries[i].key.data, map.entries[i].key.size);
        text_char(out, '=');
        print_string_or_json(map.entries[i].value, out);
    }
    text_char(out, '}');
}

static void print_string_map_attr(const struct attr *attr, struct text *out)
{
    print_string_map(attr->string_map, out);
}

void print_metadata_fields(const struct metadata *metadata, struct text *out)
{
    const struct {
        const char *name, *string;
        int64_t number;
    } fields[] = {
        {"op_type", metadata->op_type, 0},
        {"op_name", metadata->op_name, 0},
        {"source_file", metadata->source_file, 0},
        {"source_line", NULL, metadata->source_line},
        {"source_end_line", NULL, metadata->source_end_line},
        {"source_column", NULL, metadata->source_column},
        {"source_end_column", NULL, metadata->source_end_column},
        {"profile_type", NULL, 0}, /* a list, see below */
        {"deduplicated_name", metadata->deduplicated_name, 0},
        {"scheduling_name", metadata->scheduling_name, 0},
        {"stack_frame_id", NULL, metadata->stack_frame_id},
        {"metadata_payload", NULL, 0},
    };
    enum { PROFILE_TYPE = 7, PAYLOAD = 11 };
    bool first = true;
    for (int i = 0; i < (int)(sizeof fields / sizeof *fields); i++) {
        bool is_list = i == PROFILE_TYPE && metadata->profile_type.count > 0;
        bool is_payload = i == PAYLOAD && metadata->extra.size > 0;
        if (fields[i].string == NULL && fields[i].number == 0 && !is_list && !is_payload) {
            continue;
        }
        text_append(out, first ? "" : " ");
        first = false;
        text_append(out, fields[i].name);
        text_char(out, '=');
        if (fields[i].string != NULL) {
            print_string(fields[i].string, strlen(fields[i].string), out);
        } else if (is_list) {
            print_ints(metadata->profile_type, out);
        } else if (is_payload) {
            print_string(metadata->extra.data, metadata->extra.size, out);
        } else {
            text_int(out, fields[i].number);
        }
    }
}

static void print_metadata(const struct attr *attr, struct text *out)
{
    text_char(out, '{');
    print_metadata_fields(attr->metadata, out);
    text_char(out, '}');
}

static void print_origin(const struct attr *attr, struct text *out)
{
    text_char(out, '{');
    text_append_n(out, attr->origin->text.data, attr->origin->text.size);
    text_char(out, '}');
}

static void print_statistics(const struct attr *attr, struct text *out)
{
    const struct statistics *statistics = attr->statistics;
    if (statistics->count == 0) {
        text_append(out, "{}");
        return;
    }
    text_append(out, "{visualizing_index=");
    text_int(out, statistics->visualizing_index);
    for (int i = 0; i < statistics->count; i++) {
        text_char(out, ',');
        text_append(out, statistics->entries[i].name);
        text_char(out, '=');
        print_double(statistics->entries[i].value, out);
    }
    text_char(out, '}');
}

static void print_word(const struct attr *attr, struct text *out)
{
    const char *word = attr_enum_text(attr_table[attr->key].kind, attr->integer);
    text_append(out, word != NULL ? word : "unknown");
}

static print_function *const printers[] = {
    [ATTR_KIND_INT] = print_int,
    [ATTR_KIND_BOOL] = print_bool,
    [ATTR_KIND_FLOAT] = print_float,
    [ATTR_KIND_STRING] = print_quoted,
    [ATTR_KIND_STRING_OR_WORD] = print_bare,
    [ATTR_KIND_RAW] = print_bare,
    [ATTR_KIND_SPARSITY] = print_bare,
    [ATTR_KIND_BACKEND_CONFIG] = print_backend_config,
    [ATTR_KIND_INTS] = print_int_list,
    [ATTR_KIND_INTS_OR_LISTS] = print_lists,
    [ATTR_KIND_BOOLS] = print_bools,
    [ATTR_KIND_PAIRS] = print_pairs,
    [ATTR_KIND_SLICES] = print_slices,
    [ATTR_KIND_WINDOW] = print_window,
    [ATTR_KIND_PADDING] = print_padding,
    [ATTR_KIND_DIM_LABELS] = print_dim_labels,
    [ATTR_KIND_GROUPS] = print_groups_attr,
    [ATTR_KIND_PRECISIONS] = print_precisions,
    [ATTR_KIND_LITERAL] = print_literal,
    [ATTR_KIND_SHAPE] = print_one_shape,
    [ATTR_KIND_SHAPES] = print_shapes,
    [ATTR_KIND_ALIASING] = print_aliasing,
    [ATTR_KIND_DOMAIN] = print_domain,
    [ATTR_KIND_RESULT_ACCURACY] = print_result_accuracy,
    [ATTR_KIND_STRING_MAP] = print_string_map_attr,
    [ATTR_KIND_METADATA] = print_metadata,
    [ATTR_KIND_ORIGIN] = print_origin,
    [ATTR_KIND_STATISTICS] = print_statistics,
    [ATTR_KIND_FFT_TYPE] = print_word,
    [ATTR_KIND_DIRECTION] = print_word,
    [ATTR_KIND_COMPARE_TYPE] = print_word,
    [ATTR_KIND_TRANSPOSE] = print_word,
    [ATTR_KIND_CONVOLUTION_KIND] = print_word,
    [ATTR_KIND_DISTRIBUTION] = print_word,
    [ATTR_KIND_ALGORITHM] = print_word,
    [ATTR_KIND_FUSION_KIND] = print_word,
    [ATTR_KIND_SCHEDULE] = print_word,
    [ATTR_KIND_API_VERSION] = print_word,
    [ATTR_KIND_PADDING_TYPE] = print_word,
};

void print_attr_value(const struct attr *attr, const struct print_options *options,
                      struct text *out)
{
    enum attr_kind kind = attr_table[attr->key].kind;
    if (kind == ATTR_KIND_SHARDING) {
        print_sharding(attr->sharding, options->metadata, out);
    } else {
        printers[kind](attr, out);
    }
}
