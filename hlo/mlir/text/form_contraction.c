/* Short forms of contractions, convolutions, transforms and random numbers. */
#include "hlo/mlir/text/form.h"

static const char precisions[] = "DEFAULT\0HIGH\0HIGHEST\0";

/* DEFAULT, HIGH, …, behind precision = [ */
static bool read_precisions(struct reader *reader, struct op_builder *op)
{
    struct mlir_attr *elements[4];
    int count = 0;
    bool more = reader_expect(reader, '[');
    if (!more) {
        return false;
    }
    more = !reader_accept(reader, ']');
    while (more) {
        if (count == 4) {
            return reader_fail(reader, reader->at, "more precisions than operands");
        }
        if (!form_enum_value(reader, "precision", precisions, &elements[count])) {
            return false;
        }
        count++;
        more = reader_accept(reader, ',');
        if (!more && !reader_expect(reader, ']')) {
            return false;
        }
    }
    builder_set(reader, op, "precision_config", reader_attr_array(reader, count, elements));
    return true;
}

/* %a, %b, precision = [HIGH, HIGH] : (types) -> type; the precision is optional */
bool form_dot(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 2) &&
           (!reader_accept(reader, ',') ||
            (form_key(reader, "precision") && read_precisions(reader, op))) &&
           form_functional_end(reader, op);
}

static void set_dimensions(struct reader *reader, struct mlir_attr *attr, const char *key,
                           struct ints dimensions)
{
    struct mlir_attr *value = mlir_attr_new(reader->file, MLIR_ATTR_INTS);
    value->type = mlir_integer(reader->file, 64, MLIR_SIGNLESS);
    value->ints = dimensions;
    mlir_set(reader->file, &attr->dialect.parameters, key, value);
}

/* = [0] x [1] */
static bool read_dimension_pair(struct reader *reader, struct ints pair[2])
{
    return reader_expect(reader, '=') && reader_int_list(reader, '[', ']', &pair[0]) &&
           reader_expect_word(reader, "x") && reader_int_list(reader, '[', ']', &pair[1]);
}

/* batching_dims = [0] x [0], contracting_dims = [2] x [1]; the first is optional */
static bool read_dot_dimensions(struct reader *reader, struct op_builder *op)
{
    struct ints batching[2] = {0}, contracting[2];
    if ((reader_accept_word(reader, "batching_dims") &&
         (!read_dimension_pair(reader, batching) || !reader_expect(reader, ','))) ||
        !reader_expect_word(reader, "contracting_dims") ||
        !read_dimension_pair(reader, contracting)) {
        return false;
    }
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(reader->file, "stablehlo", strlen("stablehlo"));
    attr->dialect.mnemonic = mlir_intern(reader->file, "dot", strlen("dot"));
    set_dimensions(reader, attr, "lhs_batching_dimensions", batching[0]);
    set_dimensions(reader, attr, "rhs_batching_dimensions", batching[1]);
    set_dimensions(reader, attr, "lhs_contracting_dimensions", contracting[0]);
    set_dimensions(reader, attr, "rhs_contracting_dimensions", contracting[1]);
    builder_set(reader, op, "dot_dimension_numbers", attr);
    return true;
}

/* , precision = […], algorithm = <…>; both are optional */
static bool read_precision_and_algorithm(struct reader *reader, struct op_builder *op)
{
    if (!reader_accept(reader, ',')) {
        return true;
    }
    if (reader_accept_word(reader, "precision")) {
        if (!reader_expect(reader, '=') || !read_precisions(reader, op)) {
            return false;
        }
        if (!reader_accept(reader, ',')) {
            return true;
        }
    }
    struct mlir_attr *algorithm;
    if (!form_key(reader, "algorithm") ||
        !reader_dialect_body(reader, "stablehlo", "dot_algorithm", &algorithm)) {
        return false;
    }
    builder_set(reader, op, "algorithm", algorithm);
    return true;
}

/* %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH, HIGH],
 * algorithm = <…> : (types) -> type */
bool form_dot_general(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, 2) && reader_expect(reader, ',') &&
           read_dot_dimensions(reader, op) && read_precision_and_algorithm(reader, op) &&
           form_functional_end(reader, op);
}

/* [[0, 1], [2, 3]] as dense<…> : tensor<2x2xi64>. */
static bool read_padding(struct reader *reader, struct op_builder *op)
{
    struct pad_list {
        int64_t count, capacity;
        int64_t *values;
    } list = {0};
    if (!reader_expect(reader, '[')) {
        return false;
    }
    bool more = !reader_accept(reader, ']');
    while (more) {
        struct ints pair;
        reader_skip(reader);
        const char *at = reader->at;
        if (!reader_int_list(reader, '[', ']', &pair)) {
            return false;
        }
        if (pair.count != 2) {
            return reader_fail(reader, at, "a dimension's padding is two numbers, not %d",
                               pair.count);
        }
        if (list.count == list.capacity) {
            int64_t capacity = list.capacity == 0 ? 8 : 2 * list.capacity;
            int64_t *values = arena_array(&reader->file->arena, (size_t)capacity, sizeof *values);
            if (list.count > 0) {
                memcpy(values, list.values, (size_t)list.count * sizeof *values);
            }
            list.values = values;
            list.capacity = capacity;
        }
        memcpy(list.values + list.count, pair.values, 2 * sizeof *pair.values);
        list.count += 2;
        more = reader_accept(reader, ',');
        if (!more && !reader_expect(reader, ']')) {
            return false;
        }
    }
    const int64_t sizes[] = {list.count / 2, 2};
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_DENSE);
    attr->type = mlir_shaped(reader->file, MLIR_TENSOR,
                             mlir_integer(reader->file, 64, MLIR_SIGNLESS), 2, sizes, NULL);
    attr->dense.data = list.count > 0 ? list.values : arena_alloc(&reader->file->arena, 16);
    attr->dense.count = list.count;
    builder_set(reader, op, "padding", attr);
    return true;
}

/* [false, true], or [0, 1], as array<i1: …>. */
static bool read_reversal(struct reader *reader, struct op_builder *op)
{
    int64_t values[64];
    int count = 0;
    if (!reader_expect(reader, '[')) {
        return false;
    }
    bool more = !reader_accept(reader, ']');
    while (more) {
        if (count == 64) {
            return reader_fail(reader, reader->at, "too many dimensions");
        }
        char next = reader_peek(reader);
        bool value = false;
        if (next == 't' || next == 'f') {
            if (!reader_bool(reader, &value)) {
                return false;
            }
            values[count++] = value;
        } else {
            if (!reader_int(reader, &values[count])) {
                return false;
            }
            values[count] = values[count] != 0;
            count++;
        }
        more = reader_accept(reader, ',');
        if (!more && !reader_expect(reader, ']')) {
            return false;
        }
    }
    struct mlir_attr *attr = mlir_attr_ints(reader->file, count, values);
    attr->type = mlir_integer(reader->file, 1, MLIR_SIGNLESS);
    builder_set(reader, op, "window_reversal", attr);
    return true;
}

/* {stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}: all are
 * optional, in any order. */
static bool read_window(struct reader *reader, struct op_builder *op)
{
    static const struct {
        const char *word, *key;
    } words[] = {
        {"stride", "window_strides"},   {"lhs_dilate", "lhs_dilation"},
        {"rhs_dilate", "rhs_dilation"}, {"pad", "padding"},
        {"reverse", "window_reversal"},
    };
    enum { WORDS = sizeof words / sizeof *words };
    if (!reader_expect(reader, '{')) {
        return false;
    }
    while (!reader_accept(reader, '}')) {
        struct span word;
        if (!reader_expect_any_word(reader, &word,
                                    "stride, pad, lhs_dilate, rhs_dilate or "
                                    "reverse")) {
            return false;
        }
        int i = 0;
        while (i < WORDS && !span_is(word, words[i].word)) {
            i++;
        }
        if (i == WORDS) {
            return reader_fail(reader, word.data, "a window has no '%.*s'", (int)word.size,
                               word.data);
        }
        if (mlir_get(&op->attrs, words[i].key) != NULL) {
            return reader_fail(reader, word.data, "'%s' twice", words[i].word);
        }
        if (!reader_expect(reader, '=') || !(i == 3   ? read_padding(reader, op)
                                             : i == 4 ? read_reversal(reader, op)
                                                      : form_ints(reader, op, words[i].key))) {
            return false;
        }
        if (!reader_accept(reader, ',') && reader_peek(reader) != '}') {
            return reader_expected(reader, "',' or '}'");
        }
    }
    return true;
}

/* (%a, %b) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {…} : (types) -> type */
bool form_convolution(struct reader *reader, struct op_builder *op)
{
    struct mlir_attr *dimensions;
    if (!reader_operands_in_parens(reader, op) || !form_key(reader, "dim_numbers") ||
        !reader_conv_dimensions(reader, &dimensions)) {
        return false;
    }
    builder_set(reader, op, "dimension_numbers", dimensions);
    return form_comma_key(reader, "window") && read_window(reader, op) &&
           form_functional_end(reader, op);
}

/* %a, …, config = "ab,bc->ac" : (types) -> type */
bool form_einsum(struct reader *reader, struct op_builder *op)
{
    return form_operands(reader, op, op->opcode == MLIR_OP_EINSUM ? 2 : 1) &&
           form_comma_key(reader, "config") && form_string(reader, op, "einsum_config") &&
           form_functional_end(reader, op);
}

/* %a, type = FFT, length = [16] : (type) -> type */
bool form_fft(struct reader *reader, struct op_builder *op)
{
    static const char types[] = "FFT\0IFFT\0RFFT\0IRFFT\0";
    return form_operands(reader, op, 1) && form_comma_key(reader, "type") &&
           form_enum(reader, op, "fft_type", types, "fft_type") &&
           form_comma_key(reader, "length") && form_ints(reader, op, "fft_length") &&
           form_functional_end(reader, op);
}

/* %a, lower = true : type, or : (type) -> type; lower is optional */
bool form_cholesky(struct reader *reader, struct op_builder *op)
{
    if (!form_operands(reader, op, 1)) {
        return false;
    }
    if (reader_accept(reader, ',')) {
        bool lower;
        if (!form_key(reader, "lower") || !reader_bool(reader, &lower)) {
            return false;
        }
        builder_set(reader, op, "lower", reader_attr_bool(reader, lower));
    }
    return form_same_type_end(reader, op);
}

/* %low, %high, %shape, distribution = UNIFORM : (types) -> type */
bool form_rng(struct reader *reader, struct op_builder *op)
{
    static const char distributions[] = "UNIFORM\0NORMAL\0";
    return form_operands(reader, op, 3) && form_comma_key(reader, "distribution") &&
           form_enum(reader, op, "rng_distribution", distributions, "rng_distribution") &&
           form_functional_end(reader, op);
}

/* %state, algorithm = PHILOX : (type) -> (type, type) */
bool form_rng_bit_generator(struct reader *reader, struct op_builder *op)
{
    static const char algorithms[] = "DEFAULT\0THREE_FRY\0PHILOX\0";
    return form_operands(reader, op, 1) && form_comma_key(reader, "algorithm") &&
           form_enum(reader, op, "rng_algorithm", algorithms, "rng_algorithm") &&
           form_functional_end(reader, op);
}
