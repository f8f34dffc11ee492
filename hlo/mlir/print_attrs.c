/* Attributes as MLIR text. Sources: mlir/lib/IR/AsmPrinter.cpp; stablehlo/dialect/StablehloOps.cpp,
 * AssemblyFormat.cpp (printers of attributes). */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/print.h"
#include "hlo/mlir/text/dialect_attrs.h"

/* --- words and strings --- */

void mlir_print_string(const char *data, size_t size, struct text *out)
{
    text_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c == '\\') {
            text_append_n(out, "\\\\", 2);
        } else if (c >= ' ' && c < 127 && c != '"') {
            text_char(out, (char)c);
        } else {
            text_printf(out, "\\%02X", (unsigned)c);
        }
    }
    text_char(out, '"');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A bare identifier; "-" may be in names of symbols only, which we write in quotes then. */
static bool is_word(const char *data, size_t size)
{
    if (size == 0 || !is_letter(data[0])) {
        return false;
    }
    for (size_t i = 1; i < size; i++) {
        if (!is_letter(data[i]) && !(data[i] >= '0' && data[i] <= '9') && data[i] != '$' &&
            data[i] != '.') {
            return false;
        }
    }
    return true;
}

void mlir_print_word(const char *data, size_t size, struct text *out)
{
    if (is_word(data, size)) {
        text_append_n(out, data, size);
    } else {
        mlir_print_string(data, size, out);
    }
}

void mlir_print_symbol(const char *data, size_t size, struct text *out)
{
    text_char(out, '@');
    mlir_print_word(data, size, out);
}

/* --- dictionaries, lists --- */

void mlir_print_dictionary(const struct mlir_dictionary *dictionary, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i < dictionary->count; i++) {
        const struct mlir_named *entry = &dictionary->entries[i];
        text_append(out, i > 0 ? ", " : "");
        mlir_print_word(entry->key, strlen(entry->key), out);
        if (entry->value->kind != MLIR_ATTR_UNIT) {
            text_append(out, " = ");
            mlir_print_attr(entry->value, out);
        }
    }
    text_char(out, '}');
}

static void print_array(const struct mlir_attr *attr, struct text *out)
{
    text_char(out, '[');
    for (int i = 0; i < attr->array.count; i++) {
        text_append(out, i > 0 ? ", " : "");
        mlir_print_attr(attr->array.elements[i], out);
    }
    text_char(out, ']');
}

static void print_integer(const struct mlir_type *type, int64_t value, struct text *out)
{
    if (type->width == 1 && type->sign == MLIR_SIGNLESS) {
        text_append(out, value != 0 ? "true" : "false");
    } else if (type->sign == MLIR_UNSIGNED) {
        text_printf(out, "%llu", (unsigned long long)value);
    } else {
        text_int(out, value);
    }
}

/* array<i64: 1, 2> */
static void print_numbers(const struct mlir_attr *attr, struct text *out)
{
    bool ints = attr->kind == MLIR_ATTR_INTS;
    int count = ints ? attr->ints.count : attr->floats.count;
    text_append(out, "array<");
    mlir_print_type(attr->type, out);
    for (int i = 0; i < count; i++) {
        text_append(out, i == 0 ? ": " : ", ");
        if (ints) {
            print_integer(attr->type, attr->ints.values[i], out);
        } else {
            mlir_print_float(attr->type, attr->floats.values[i], out);
        }
    }
    text_char(out, '>');
}

/* --- attributes of dialects --- */

static void print_dims(struct ints dims, struct text *out)
{
    for (int i = 0; i < dims.count; i++) {
        text_append(out, i > 0 ? ", " : "");
        if (dims.values[i] == MLIR_DYNAMIC) {
            text_char(out, '?');
        } else {
            text_int(out, dims.values[i]);
        }
    }
}

static int64_t int_of(const struct mlir_dictionary *parameters, const char *key)
{
    const struct mlir_attr *attr = mlir_get(parameters, key);
    return attr != NULL && attr->kind == MLIR_ATTR_INT ? attr->integer : 0;
}

static struct ints ints_of(const struct mlir_dictionary *parameters, const char *key)
{
    const struct mlir_attr *attr = mlir_get(parameters, key);
    return attr != NULL && attr->kind == MLIR_ATTR_INTS ? attr->ints : (struct ints){0};
}

/* What stands at dimension `place`: one letter, or a number; −1 when nothing or several do. */
static int conv_dimension(const struct mlir_dictionary *parameters,
                          const struct dialect_conv_side *side, int64_t place)
{
    struct ints spatial = ints_of(parameters, side->spatial);
    int found = -1, count = 0;
    for (int k = 0; k < 2; k++) {
        if (int_of(parameters, side->keys[k]) == place) {
            found = spatial.count + k;
            count++;
        }
    }
    for (int i = 0; i < spatial.count; i++) {
        if (spatial.values[i] == place) {
            found = i;
            count++;
        }
    }
    return count == 1 ? found : -1;
}

static bool conv_is_regular(const struct mlir_dictionary *parameters)
{
    for (size_t s = 0; s < DIALECT_CONV_SIDES; s++) {
        int rank = ints_of(parameters, dialect_conv_sides[s].spatial).count + 2;
        for (int i = 0; i < rank; i++) {
            if (conv_dimension(parameters, &dialect_conv_sides[s], i) < 0) {
                return false;
            }
        }
    }
    return true;
}

static void print_conv(const struct mlir_dictionary *parameters, struct text *out)
{
    text_append(out, "#stablehlo.conv<");
    for (size_t s = 0; s < DIALECT_CONV_SIDES; s++) {
        const struct dialect_conv_side *side = &dialect_conv_sides[s];
        int spatial = ints_of(parameters, side->spatial).count;
        text_append(out, s == 0 ? "[" : s == 1 ? "x[" : "->[");
        for (int i = 0; i < spatial + 2; i++) {
            int dimension = conv_dimension(parameters, side, i);
            text_append(out, i > 0 ? ", " : "");
            if (dimension < spatial) {
                text_int(out, dimension);
            } else {
                text_char(out, side->letters[dimension - spatial]);
            }
        }
        text_char(out, ']');
    }
    text_char(out, '>');
}

static void print_parameter(enum parameter_kind kind, const struct mlir_attr *attr,
                            struct text *out)
{
    if (kind == PARAMETER_DIMS && attr->kind == MLIR_ATTR_INTS) {
        text_char(out, '[');
        print_dims(attr->ints, out);
        text_char(out, ']');
    } else if (kind == PARAMETER_INT && attr->kind == MLIR_ATTR_INT) {
        text_int(out, attr->integer);
    } else if (kind == PARAMETER_FLOAT && attr->kind == MLIR_ATTR_FLOAT) {
        mlir_print_float(attr->type, attr->number, out);
    } else if (kind == PARAMETER_SUB_AXIS && attr->kind == MLIR_ATTR_DIALECT) {
        text_char(out, '(');
        text_int(out, int_of(&attr->dialect.parameters, "pre_size"));
        text_char(out, ')');
        text_int(out, int_of(&attr->dialect.parameters, "size"));
    } else {
        mlir_print_attr(attr, out);
    }
}

/* name = value, … in the table's order, or in that of the names */
static void print_parameters(const struct dialect_attr *row,
                             const struct mlir_dictionary *parameters, struct text *out)
{
    const char *separator = "";
    for (size_t i = 0; row != NULL && i < row->count; i++) {
        const struct mlir_attr *value = mlir_get(parameters, row->parameters[i].name);
        if (value != NULL) {
            text_append(out, separator);
            text_append(out, row->parameters[i].name);
            text_append(out, " = ");
            print_parameter(row->parameters[i].kind, value, out);
            separator = ", ";
        }
    }
    for (int i = 0; row == NULL && i < parameters->count; i++) {
        text_append(out, separator);
        text_append(out, parameters->entries[i].key);
        text_append(out, " = ");
        mlir_print_attr(parameters->entries[i].value, out);
        separator = ", ";
    }
}

void mlir_print_dialect_attr(const struct mlir_attr *attr, struct text *out)
{
    const char *dialect = attr->dialect.dialect, *mnemonic = attr->dialect.mnemonic;
    const struct mlir_dictionary *parameters = &attr->dialect.parameters;
    if (attr->dialect.word != NULL) {
        bool pretty = strcmp(mnemonic, "result_accuracy_mode") == 0;
        text_printf(out, pretty ? "#%s.%s<%s>" : "#%s<%s %s>", dialect, mnemonic,
                    attr->dialect.word);
        return;
    }
    if (strcmp(dialect, "stablehlo") == 0) {
        if (strcmp(mnemonic, "type_extensions") == 0) {
            text_append(out, "#stablehlo.bounds<");
            print_dims(ints_of(parameters, "bounds"), out);
            text_char(out, '>');
            return;
        }
        if (strcmp(mnemonic, "conv") == 0) {
            if (conv_is_regular(parameters)) {
                print_conv(parameters, out);
                return;
            }
            text_append(out, "#stablehlo.conv<raw ");
            print_parameters(dialect_attr_find(dialect, mnemonic), parameters, out);
            text_char(out, '>');
            return;
        }
    }
    text_printf(out, "#%s.%s<", dialect, mnemonic);
    print_parameters(dialect_attr_find(dialect, mnemonic), parameters, out);
    text_char(out, '>');
}

/* --- locations, where they are attributes --- */

static void print_location(const struct mlir_location *location, int depth, struct text *out)
{
    /* Aliases make chains and shared parts, which would be written out: cut. */
    enum { MAX_DEPTH = 8, MAX_CHILDREN = 16 };
    int count = location->count < MAX_CHILDREN ? location->count : MAX_CHILDREN;
    if (depth == MAX_DEPTH) {
        text_append(out, "unknown");
        return;
    }
    switch (location->kind) {
    case MLIR_LOC_UNKNOWN:
        text_append(out, "unknown");
        break;
    case MLIR_LOC_FILE:
        mlir_print_string(location->text, strlen(location->text), out);
        text_printf(out, ":%lld:%lld", (long long)location->line, (long long)location->column);
        if (location->end_line > 0) {
            text_printf(out, " to %lld:%lld", (long long)location->end_line,
                        (long long)location->end_column);
        }
        break;
    case MLIR_LOC_NAME:
        mlir_print_string(location->text, strlen(location->text), out);
        if (count > 0) {
            text_char(out, '(');
            print_location(location->children[0], depth + 1, out);
            text_char(out, ')');
        }
        break;
    case MLIR_LOC_CALL:
        text_append(out, "callsite(");
        print_location(location->children[0], depth + 1, out);
        text_append(out, " at ");
        print_location(location->children[1], depth + 1, out);
        text_char(out, ')');
        break;
    case MLIR_LOC_FUSED:
        text_append(out, "fused");
        if (location->metadata != NULL) {
            text_char(out, '<');
            mlir_print_attr(location->metadata, out);
            text_char(out, '>');
        }
        text_char(out, '[');
        for (int i = 0; i < count; i++) {
            text_append(out, i > 0 ? ", " : "");
            print_location(location->children[i], depth + 1, out);
        }
        text_char(out, ']');
        break;
    }
}

/* --- any attribute --- */

static void print_typed(const struct mlir_attr *attr, struct text *out)
{
    text_append(out, " : ");
    mlir_print_type(attr->type, out);
}

void mlir_print_attr(const struct mlir_attr *attr, struct text *out)
{
    switch (attr->kind) {
    case MLIR_ATTR_UNIT:
        text_append(out, "unit");
        break;
    case MLIR_ATTR_BOOL:
        text_append(out, attr->integer != 0 ? "true" : "false");
        break;
    case MLIR_ATTR_INT:
        print_integer(attr->type, attr->integer, out);
        print_typed(attr, out);
        break;
    case MLIR_ATTR_FLOAT:
        mlir_print_float(attr->type, attr->number, out);
        print_typed(attr, out);
        break;
    case MLIR_ATTR_STRING:
        mlir_print_string(attr->string.data, attr->string.size, out);
        if (attr->type != NULL) {
            print_typed(attr, out);
        }
        break;
    case MLIR_ATTR_TYPE:
        mlir_print_type(attr->type, out);
        break;
    case MLIR_ATTR_ARRAY:
        print_array(attr, out);
        break;
    case MLIR_ATTR_DICTIONARY:
        mlir_print_dictionary(&attr->dictionary, out);
        break;
    case MLIR_ATTR_SYMBOL:
        mlir_print_symbol(attr->string.data, attr->string.size, out);
        for (int i = 0; i < attr->nested_count; i++) {
            text_append(out, "::");
            mlir_print_symbol(attr->nested[i], strlen(attr->nested[i]), out);
        }
        break;
    case MLIR_ATTR_DENSE:
    case MLIR_ATTR_STRINGS:
        text_append(out, "dense<");
        mlir_print_elements(attr, out);
        text_char(out, '>');
        print_typed(attr, out);
        break;
    case MLIR_ATTR_RESOURCE:
        text_append(out, "dense_resource<");
        mlir_print_word(attr->string.data, attr->string.size, out);
        text_char(out, '>');
        print_typed(attr, out);
        break;
    case MLIR_ATTR_INTS:
    case MLIR_ATTR_FLOATS:
        print_numbers(attr, out);
        break;
    case MLIR_ATTR_DIALECT:
        mlir_print_dialect_attr(attr, out);
        break;
    case MLIR_ATTR_LOCATION:
        text_append(out, "loc(");
        print_location(attr->location, 0, out);
        text_char(out, ')');
        break;
    case MLIR_ATTR_OTHER:
        text_append_n(out, attr->string.data, attr->string.size);
        break;
    }
}
