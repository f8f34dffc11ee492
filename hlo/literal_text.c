/* Prints the values of literals. Source: xla/literal.cc (DenseArrayPrintHelper). */
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/text/number.h"

struct printer {
    const struct literal *literal;
    const char *linebreak; /* "\n", or " " on one line */
    int64_t limit;
    int64_t live[SHAPE_MAX_RANK]; /* elements of each dimension that are there */
    int64_t index[SHAPE_MAX_RANK];
    struct text *out;
};

static void print_unsigned(uint64_t value, struct text *out)
{
    if (value > INT64_MAX) {
        text_int(out, (int64_t)(value / 10));
        value %= 10;
    }
    text_int(out, (int64_t)value);
}

static void print_part(const struct literal *literal, int64_t part, struct text *out)
{
    if (type_part(literal->shape->type) == TYPE_F32) {
        number_print(TYPE_F32, ((const uint32_t *)literal_data(literal))[part], out);
    } else {
        number_print(TYPE_F64, ((const uint64_t *)literal_data(literal))[part], out);
    }
}

static void print_element(const struct literal *literal, int64_t index, struct text *out)
{
    enum type type = literal->shape->type;
    switch (type_kind(type)) {
    case KIND_PRED: {
        bool value = literal_get_bits(literal, index) != 0;
        if (literal->shape->rank > 0) {
            text_char(out, value ? '1' : '0');
        } else {
            text_append(out, value ? "true" : "false");
        }
        break;
    }
    case KIND_SIGNED:
        text_int(out, literal_get_int(literal, index));
        break;
    case KIND_UNSIGNED:
        print_unsigned(literal_get_bits(literal, index), out);
        break;
    case KIND_FLOAT:
        number_print(type, literal_get_bits(literal, index), out);
        break;
    case KIND_COMPLEX:
        text_char(out, '(');
        print_part(literal, 2 * index, out);
        text_append(out, ", ");
        print_part(literal, 2 * index + 1, out);
        text_char(out, ')');
        break;
    case KIND_NONE:
        break;
    }
}

static void open_brace(struct printer *printer, int dimension)
{
    int rank = printer->literal->shape->rank;
    bool multiline = printer->linebreak[0] == '\n';
    if (rank > 1 && dimension == rank - 1) {
        text_append(printer->out, multiline ? "  {" : "{");
        if (printer->live[dimension] > 1) {
            text_char(printer->out, ' ');
        }
        return;
    }
    text_char(printer->out, '{');
    if (rank == 1) {
        return;
    }
    if (rank > 3 && dimension > 0) {
        text_printf(printer->out, " /*i%d=%lld*/", dimension - 1,
                    (long long)printer->index[dimension - 1]);
        if (printer->live[dimension] == 0) {
            return;
        }
    }
    text_append(printer->out, printer->linebreak);
}

static void close_brace(struct printer *printer, int dimension)
{
    int rank = printer->literal->shape->rank;
    if (rank > 1 && dimension < rank - 1) {
        text_append(printer->out, printer->linebreak);
    } else if (rank > 1 && printer->live[dimension] > 1) {
        text_char(printer->out, ' ');
    }
    text_char(printer->out, '}');
}

/* The part of the array whose first element is number `first`. */
static void print_dimension(struct printer *printer, int dimension, int64_t first)
{
    const struct shape *shape = printer->literal->shape;
    if (dimension == shape->rank) {
        print_element(printer->literal, first, printer->out);
        return;
    }
    int64_t stride = 1;
    for (int i = dimension + 1; i < shape->rank; i++) {
        stride *= shape->dimensions[i];
    }
    bool innermost = dimension == shape->rank - 1;
    open_brace(printer, dimension);
    for (int64_t i = 0; i < printer->live[dimension]; i++) {
        printer->index[dimension] = i;
        if (i > 0) {
            text_char(printer->out, ',');
            text_append(printer->out, innermost ? " " : printer->linebreak);
        }
        print_dimension(printer, dimension + 1, first + i * stride);
    }
    close_brace(printer, dimension);
}

void literal_print(const struct literal *literal, bool multiline, int64_t limit, struct text *out)
{
    const struct shape *shape = literal->shape;
    if (shape_is_tuple(shape)) {
        text_append(out, multiline ? "(\n" : "( ");
        for (int i = 0; i < shape->count; i++) {
            if (i > 0) {
                text_append(out, multiline ? ",\n" : ", ");
            }
            literal_print(literal->elements[i], multiline, limit, out);
        }
        text_append(out, multiline ? "\n)" : " )");
        return;
    }
    if (!shape_is_array(shape)) {
        text_append(out, type_text(shape->type));
        return;
    }
    if (limit > 0 && shape->rank > 0 && shape_elements(shape) > limit) {
        text_append(out, "{...}");
        return;
    }
    struct printer printer = {
        .literal = literal, .linebreak = multiline ? "\n" : " ", .limit = limit, .out = out};
    for (int i = 0; i < shape->rank; i++) {
        printer.live[i] =
            literal->dynamic_sizes != NULL ? literal->dynamic_sizes[i] : shape->dimensions[i];
    }
    print_dimension(&printer, 0, 0);
}
