/* Elements: from MLIR's raw buffers to how literals store them.
 * Sources: mlir/lib/IR/BuiltinAttributes.cpp (DenseElementsAttr, its raw buffers),
 * mlir/include/mlir/IR/BuiltinAttributes.td (DenseArrayAttr, SparseElementsAttr). */
#include <string.h>

#include "hlo/floats.h"
#include "hlo/mlir/bytecode/builtin.h"

enum { SPARSE_BYTES_MOST = 1 << 28 }; /* of a sparse array, made dense */

/* The element's HLO type and how many bytes MLIR's buffer has for one; false for what HLO has not.
 */
static bool element_size(struct cursor *cursor, const struct mlir_type *element, enum type *type,
                         size_t *size)
{
    *type = element->element_type;
    if (!type_is_array(*type)) {
        return cursor_refuse(cursor, "elements of a type that HLO does not have");
    }
    *size = (size_t)type_bytes(*type);
    return true;
}

static struct mlir_attr *dense_new(struct cursor *cursor, const struct mlir_type *type,
                                   int64_t count, bool splat, const void *data)
{
    struct mlir_attr *attr = mlir_attr_new(cursor->bytecode->file, MLIR_ATTR_DENSE);
    attr->type = type;
    attr->dense.data = data;
    attr->dense.count = count;
    attr->dense.splat = splat;
    return attr;
}

/* Bytes of elements narrower than 8 bits: what is above the element is its sign, or zero. */
static void extend_narrow(enum type type, uint8_t *data, size_t count)
{
    int unused = 8 - type_bits(type);
    bool is_signed = type_kind(type) == KIND_SIGNED;
    for (size_t i = 0; i < count; i++) {
        uint8_t bits = (uint8_t)(data[i] << unused);
        data[i] = is_signed ? (uint8_t)((int8_t)bits >> unused) : (uint8_t)(bits >> unused);
    }
}

static struct mlir_attr *dense_of_bytes(struct cursor *cursor, const struct mlir_type *type,
                                        int64_t count, bool splat, const uint8_t *data, size_t size)
{
    enum type element = type->element->element_type;
    uint8_t *copy = arena_alloc(&cursor->bytecode->file->arena, size);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (type_bits(element) < 8) {
        extend_narrow(element, copy, size);
    }
    return dense_new(cursor, type, count, splat, copy);
}

static bool dense_type(struct cursor *cursor, const struct mlir_type *type, int64_t *count,
                       size_t *element)
{
    enum type hlo;
    if ((type->kind != MLIR_TENSOR && type->kind != MLIR_VECTOR) ||
        (*count = mlir_type_elements(type)) < 0) {
        return cursor_fail(cursor, "elements of a type without a shape");
    }
    return element_size(cursor, type->element, &hlo, element);
}

static struct mlir_attr *size_mismatch(struct cursor *cursor, int64_t count, size_t element,
                                       size_t size)
{
    cursor_fail(cursor, "%zu bytes for %lld elements of %zu bytes", size, (long long)count,
                element);
    return NULL;
}

/* i1: one byte that says so for all, or bits. */
static struct mlir_attr *dense_bits(struct cursor *cursor, const struct mlir_type *type,
                                    int64_t count, const uint8_t *data, size_t size)
{
    if (size == 1 && count > 0 && (data[0] == 0 || data[0] == UINT8_MAX)) {
        uint8_t value = data[0] & 1;
        return dense_of_bytes(cursor, type, count, true, &value, 1);
    }
    if ((uint64_t)count > (uint64_t)size * 8 || ((uint64_t)count + 7) / 8 != size) {
        return size_mismatch(cursor, count, 1, size);
    }
    uint8_t *bytes = arena_alloc(&cursor->bytecode->file->arena, (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        bytes[i] = data[i / 8] >> (i % 8) & 1;
    }
    return dense_new(cursor, type, count, false, bytes);
}

struct mlir_attr *cursor_dense(struct cursor *cursor, const struct mlir_type *type,
                               const uint8_t *data, size_t size)
{
    int64_t count;
    size_t element;
    if (!dense_type(cursor, type, &count, &element)) {
        return NULL;
    }
    if (type->element->element_type == TYPE_PRED) {
        return dense_bits(cursor, type, count, data, size);
    }
    if (count == 0 && (size == 0 || size == element)) {
        return dense_of_bytes(cursor, type, 0, false, data, 0);
    }
    bool splat = size == element && count != 1;
    if (!splat && ((uint64_t)count > size / element || (size_t)count * element != size)) {
        return size_mismatch(cursor, count, element, size);
    }
    return dense_of_bytes(cursor, type, count, splat, data, size);
}

struct mlir_attr *cursor_dense_bytes(struct cursor *cursor, const struct mlir_type *type,
                                     const uint8_t *data, size_t size)
{
    int64_t count;
    size_t element;
    if (!dense_type(cursor, type, &count, &element)) {
        return NULL;
    }
    if ((uint64_t)count > size / element || (size_t)count * element != size) {
        return size_mismatch(cursor, count, element, size);
    }
    return dense_of_bytes(cursor, type, count, false, data, size);
}

/* --- array<i64: …> --- */

static int64_t array_integer(const uint8_t *data, const struct mlir_type *type, size_t bytes)
{
    uint64_t bits = 0;
    for (size_t i = bytes; i > 0; i--) {
        bits = bits << 8 | data[i - 1];
    }
    if (bytes < sizeof bits && type->width > 1) {
        uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
        bits = (bits ^ sign) - sign;
    }
    return (int64_t)bits;
}

static struct mlir_attr *dense_array_ints(struct cursor *cursor, const struct mlir_type *type,
                                          int count, const uint8_t *data, size_t bytes)
{
    struct mlir_file *file = cursor->bytecode->file;
    int64_t *values = arena_array(&file->arena, (size_t)count, sizeof *values);
    for (int i = 0; i < count; i++) {
        values[i] = array_integer(data + (size_t)i * bytes, type, bytes);
        if (type->width == 1 && values[i] > 1) {
            cursor_fail(cursor, "an i1 that is %lld", (long long)values[i]);
            return NULL;
        }
    }
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_INTS);
    attr->type = type;
    attr->ints.count = count;
    attr->ints.values = values;
    return attr;
}

static struct mlir_attr *dense_array_floats(struct cursor *cursor, const struct mlir_type *type,
                                            int count, const uint8_t *data, size_t bytes)
{
    struct mlir_file *file = cursor->bytecode->file;
    double *values = arena_array(&file->arena, (size_t)count, sizeof *values);
    for (int i = 0; i < count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, data + (size_t)i * bytes, bytes);
        values[i] = float_to_double(type->element_type, bits);
    }
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_FLOATS);
    attr->type = type;
    attr->floats.count = count;
    attr->floats.values = values;
    return attr;
}

struct mlir_attr *read_dense_array(struct cursor *cursor)
{
    const struct mlir_type *type;
    uint64_t count;
    const uint8_t *data;
    size_t size;
    if (!cursor_type(cursor, &type) || !cursor_varint(cursor, &count) ||
        !cursor_blob(cursor, &data, &size)) {
        return NULL;
    }
    bool is_float = type->kind == MLIR_FLOAT && type_is_float(type->element_type);
    bool is_int = type->kind == MLIR_INTEGER && type->sign == MLIR_SIGNLESS && type->width >= 1 &&
                  type->width <= 64;
    if ((!is_float && !is_int) || (type->width != 1 && type->width % 8 != 0)) {
        cursor_refuse(cursor, "an array of such elements");
        return NULL;
    }
    size_t bytes = ((size_t)type->width + 7) / 8;
    if (count > INT32_MAX || count > size / bytes || count * bytes != size) {
        return size_mismatch(cursor, (int64_t)count, bytes, size);
    }
    return is_float ? dense_array_floats(cursor, type, (int)count, data, bytes)
                    : dense_array_ints(cursor, type, (int)count, data, bytes);
}

/* --- sparse<[[0, 1], …], […]>: made dense --- */

/* The row-major index of an element whose coordinates are indices[0..rank). */
static bool sparse_place(struct cursor *cursor, const struct mlir_type *type,
                         const int64_t *indices, bool splat, int64_t *place)
{
    *place = 0;
    for (int i = 0; i < type->rank; i++) {
        int64_t index = indices[splat ? 0 : i];
        if (index < 0 || index >= type->sizes[i]) {
            return cursor_fail(cursor, "a sparse element outside of its type");
        }
        *place = *place * type->sizes[i] + index;
    }
    return true;
}

struct mlir_attr *read_sparse(struct cursor *cursor)
{
    const struct mlir_type *type;
    struct mlir_attr *indices, *values;
    int64_t count;
    size_t element;
    if (!cursor_type(cursor, &type) || !cursor_attr_of(cursor, MLIR_ATTR_DENSE, &indices) ||
        !cursor_attr_of(cursor, MLIR_ATTR_DENSE, &values) ||
        !dense_type(cursor, type, &count, &element)) {
        return NULL;
    }
    if ((uint64_t)count > SPARSE_BYTES_MOST / element) {
        cursor_fail_code(cursor, ERROR_RESOURCE_EXHAUSTED, "a sparse array of %lld elements",
                         (long long)count);
        return NULL;
    }
    int64_t entries = values->dense.count;
    if (indices->type->element->element_type != TYPE_S64 ||
        values->type->element != type->element || indices->type->rank > 2 ||
        indices->dense.count != entries * type->rank) {
        cursor_fail(cursor, "sparse elements whose indices do not fit");
        return NULL;
    }
    char *data = arena_array(&cursor->bytecode->file->arena, (size_t)count, element);
    const int64_t *at = indices->dense.data;
    /* A splat of values is many entries that nothing was stored for. */
    for (int64_t i = 0; i < entries && i < count; i++) {
        int64_t place;
        const int64_t *row = indices->dense.splat ? at : at + i * type->rank;
        if (!sparse_place(cursor, type, row, indices->dense.splat, &place)) {
            return NULL;
        }
        size_t from = values->dense.splat ? 0 : (size_t)i * element;
        memcpy(data + (size_t)place * element, (const char *)values->dense.data + from, element);
    }
    return dense_new(cursor, type, count, false, data);
}
