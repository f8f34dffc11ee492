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

/* Sixteen digits, and their bytes, at once. */
typedef unsigned char hex_digits __attribute__((vector_size(16)));
typedef uint16_t hex_pairs __attribute__((vector_size(16)));
typedef unsigned char hex_bytes __attribute__((vector_size(8)));

/* Decodes them; the lanes of *valid stay all ones if each is a digit. */
static void decode_sixteen(const char *digits, unsigned char *bytes, hex_digits *valid)
{
    hex_digits text;
    memcpy(&text, digits, sizeof text);
    hex_digits is_decimal = (hex_digits)((text - '0') < 10);
    hex_digits is_letter = (hex_digits)(((text | 0x20) - 'a') < 6);
    *valid &= is_decimal | is_letter;
    hex_pairs pairs = (hex_pairs)((text & 15) + (is_letter & 9));
    /* The first digit of a pair is in the low half of its lane. */
    hex_bytes made = __builtin_convertvector((pairs & 15) << 4 | pairs >> 8, hex_bytes);
    memcpy(bytes, &made, sizeof made);
}

bool reader_hex(const char *digits, size_t size, unsigned char *bytes)
{
    hex_digits valid = ~(hex_digits){0}, all = valid;
    size_t done = 0;
    for (; size - done >= sizeof valid; done += sizeof valid) {
        decode_sixteen(digits + done, bytes + done / 2, &valid);
    }
    /* The rest, with zeros behind it. */
    char rest[sizeof valid];
    unsigned char rest_bytes[sizeof valid / 2];
    memset(rest, '0', sizeof rest);
    memcpy(rest, digits + done, size - done);
    decode_sixteen(rest, rest_bytes, &valid);
    memcpy(bytes + done / 2, rest_bytes, (size - done) / 2);
    return size % 2 == 0 && memcmp(&valid, &all, sizeof valid) == 0;
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

bool reader_raw_elements(struct reader *reader, const char *at, unsigned char *data, size_t size,
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
    extend_signs(element, (signed char *)data, fits ? count : 1);
    for (size_t i = 0; is_pred && i < size; i++) {
        data[i] = data[i] != 0;
    }
    attr->dense.data = data;
    return true;
}
