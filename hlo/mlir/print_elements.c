/* Elements and floats as MLIR text. Source: mlir/lib/IR/AsmPrinter.cpp (printFloatValue,
 * printDenseElementsAttr). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/mlir/print.h"

/* More elements than these are written as the hex digits of their bytes, as MLIR does. */
enum { MAX_WRITTEN_ELEMENTS = 100 };

/* --- floats --- */

static void print_bits(const struct mlir_type *type, uint64_t bits, struct text *out)
{
    text_printf(out, "0x%0*" PRIX64, (type->width + 3) / 4, bits);
}

/* A finite value in six digits if these read back, else in as many as always do. */
void mlir_print_float(const struct mlir_type *type, double value, struct text *out)
{
    enum type hlo = type->element_type;
    if (!isfinite(value)) {
        print_bits(type, float_from_double(hlo, value), out);
        return;
    }
    char digits[40];
    snprintf(digits, sizeof digits, "%.5e", value);
    if (float_round(hlo, strtod(digits, NULL)) != value) {
        snprintf(digits, sizeof digits, hlo == TYPE_F64 ? "%.16e" : "%.8e", value);
    } else {
        /* "1.00000e+00" has one digit less than MLIR writes. */
        char *exponent = strchr(digits, 'e');
        memmove(exponent + 1, exponent, strlen(exponent) + 1);
        *exponent = '0';
    }
    text_append(out, digits);
}

/* --- elements --- */

struct elements {
    const struct mlir_attr *attr;
    const struct mlir_type *part; /* of complex elements; else the element itself */
    enum type type;               /* of a part */
    size_t part_size, size;
    struct text *out;
};

static uint64_t load(const char *data, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, data, size);
    return bits;
}

static void print_part(const struct elements *elements, const char *data)
{
    uint64_t bits = load(data, elements->part_size);
    const struct mlir_type *part = elements->part;
    if (part->kind == MLIR_FLOAT) {
        double value = float_to_double(elements->type, bits);
        if (isfinite(value)) {
            mlir_print_float(part, value, elements->out);
        } else {
            print_bits(part, bits, elements->out);
        }
    } else if (elements->type == TYPE_PRED) {
        text_append(elements->out, bits != 0 ? "true" : "false");
    } else if (part->sign == MLIR_UNSIGNED) {
        text_printf(elements->out, "%" PRIu64, bits);
    } else {
        int shift = 64 - 8 * (int)elements->part_size;
        text_int(elements->out, (int64_t)(bits << shift) >> shift);
    }
}

static void print_element(const struct elements *elements, int64_t index)
{
    if (elements->attr->kind == MLIR_ATTR_STRINGS) {
        struct bytes string = elements->attr->strings.values[index];
        mlir_print_string(string.data, string.size, elements->out);
        return;
    }
    const char *data = (const char *)elements->attr->dense.data + (size_t)index * elements->size;
    if (elements->part_size == elements->size) {
        print_part(elements, data);
        return;
    }
    text_char(elements->out, '(');
    print_part(elements, data);
    text_char(elements->out, ',');
    print_part(elements, data + elements->part_size);
    text_char(elements->out, ')');
}

/* The elements below the one at *index of that level. */
static void print_list(const struct elements *elements, int level, int64_t *index)
{
    const struct mlir_type *type = elements->attr->type;
    if (level == type->rank) {
        print_element(elements, (*index)++);
        return;
    }
    text_char(elements->out, '[');
    for (int64_t i = 0; i < type->sizes[level]; i++) {
        text_append(elements->out, i > 0 ? ", " : "");
        print_list(elements, level + 1, index);
    }
    text_char(elements->out, ']');
}

static bool is_splat(const struct elements *elements)
{
    const struct mlir_attr *attr = elements->attr;
    if (attr->kind == MLIR_ATTR_STRINGS) {
        return attr->strings.splat || attr->strings.count == 1;
    }
    if (attr->dense.splat || attr->dense.count <= 1) {
        return attr->dense.count > 0;
    }
    const char *data = attr->dense.data;
    return memcmp(data, data + elements->size, (size_t)(attr->dense.count - 1) * elements->size) ==
           0;
}

/* The bytes of the elements; those of less than eight bits have no more than these. */
static void print_hex(const struct elements *elements)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *data = elements->attr->dense.data;
    size_t size = (size_t)elements->attr->dense.count * elements->size;
    int width = elements->part->width;
    unsigned mask = elements->part->kind == MLIR_INTEGER && width < 8 ? (1u << width) - 1 : 0xff;
    text_append(elements->out, "\"0x");
    char few[512];
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        few[count++] = digits[(data[i] & mask) >> 4];
        few[count++] = digits[data[i] & mask & 15];
        if (count == sizeof few || i + 1 == size) {
            text_append_n(elements->out, few, count);
            count = 0;
        }
    }
    text_char(elements->out, '"');
}

void mlir_print_elements(const struct mlir_attr *attr, struct text *out)
{
    const struct mlir_type *element = attr->type->element;
    bool strings = attr->kind == MLIR_ATTR_STRINGS;
    struct elements elements = {
        .attr = attr,
        .part = element->kind == MLIR_COMPLEX ? element->element : element,
        .out = out,
    };
    if (!strings) {
        elements.type = elements.part->element_type;
        elements.part_size = (size_t)type_bytes(elements.type);
        elements.size = (size_t)type_bytes(element->element_type);
    }
    int64_t count = strings ? attr->strings.count : attr->dense.count;
    if (count == 0) {
        return;
    }
    if (is_splat(&elements)) {
        print_element(&elements, 0);
    } else if (!strings && count > MAX_WRITTEN_ELEMENTS) {
        print_hex(&elements);
    } else {
        int64_t index = 0;
        print_list(&elements, 0, &index);
    }
}
