/* Elements as bytes, and bytes as hex digits: dense<"0x…"> and the blobs of resources. */
#include "hlo/mlir/text/reader_internal.h"

int64_t reader_count_elements(const struct mlir_type *type)
{
    int64_t count = 1;
    for (int i = 0; i < type->rank; i++) {
        if (type->sizes[i] == 0) {
            return 0;
        }
        count *= type->sizes[i];
    }
    return count;
}

bool reader_hex(const char *digits, size_t size, unsigned char *bytes)
{
    /* One more than the value of a digit; 0 for what is none. */
    static const unsigned char values[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
        ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
    };
    unsigned wrong = size % 2;
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned high = values[(unsigned char)digits[i]] - 1u;
        unsigned low = values[(unsigned char)digits[i + 1]] - 1u;
        wrong |= (high | low) & 16; /* of 0 − 1 */
        bytes[i / 2] = (unsigned char)(high << 4 | low);
    }
    return wrong == 0;
}

/* What an element takes in MLIR's memory and in a literal; widths below a byte are in whole ones,
 * here with their sign, there without. */
static void extend_signs(const struct mlir_type *element, signed char *data, int64_t count)
{
    int width = element->width;
    bool is_signed = element->kind == MLIR_INTEGER && element->sign != MLIR_UNSIGNED;
    if (width >= 8 || (width == 1 && element->sign == MLIR_SIGNLESS) ||
        element->kind != MLIR_INTEGER) {
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        int value = data[i] & ((1 << width) - 1);
        data[i] = (signed char)(is_signed && value >> (width - 1) ? value - (1 << width) : value);
    }
}

/* i1 as it once was: eight to a byte, the lowest bit first. */
static unsigned char *unpack_bits(struct reader *reader, const unsigned char *from, int64_t count)
{
    unsigned char *to = arena_alloc(&reader->file->arena, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        to[i] = from[i / 8] >> (i % 8) & 1;
    }
    return to;
}

bool reader_raw_elements(struct reader *reader, const char *at, const void *data, size_t size,
                         struct mlir_attr *attr)
{
    const struct mlir_type *element = attr->type->element;
    size_t bytes = (size_t)type_bytes(element->element_type);
    int64_t count = reader_count_elements(attr->type);
    bool is_pred = element->element_type == TYPE_PRED;
    attr->dense.count = count;
    attr->dense.splat = false;
    if (is_pred && size > 1 && (uint64_t)count != size &&
        (uint64_t)count / 8 + (count % 8 != 0) == size) {
        attr->dense.data = unpack_bits(reader, data, count);
        return true;
    }
    uint64_t all;
    bool fits = !__builtin_mul_overflow((uint64_t)count, (uint64_t)bytes, &all) && all == size;
    if (!fits && !(size == bytes && count > 0)) {
        return reader_fail(reader, at, "%zu bytes, which are not the elements of the type", size);
    }
    attr->dense.splat = !fits;
    unsigned char *copy = arena_copy(&reader->file->arena, data, size);
    extend_signs(element, (signed char *)copy, fits ? count : 1);
    for (size_t i = 0; is_pred && i < size; i++) {
        copy[i] = copy[i] != 0;
    }
    attr->dense.data = copy;
    return true;
}
