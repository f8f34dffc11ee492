/* Elements of MLIR text: dense<…>, sparse<…> and array<…>.
 *
 * The type stands behind the elements. So their end is looked for first, then the type is read,
 * and then the elements go straight to where they stay. */
#include "hlo/floats.h"
#include "hlo/mlir/text/reader_internal.h"

/* --- types --- */

bool reader_elements_type(struct reader *reader, const struct mlir_type *known,
                          const struct mlir_type **type)
{
    reader_skip(reader);
    const char *at = reader->at;
    *type = known;
    if (known == NULL && (!reader_expect(reader, ':') || !reader_type(reader, type))) {
        return false;
    }
    if ((*type)->kind != MLIR_TENSOR && (*type)->kind != MLIR_VECTOR) {
        return reader_fail(reader, at, "elements of a type that is neither a tensor nor a vector");
    }
    return mlir_type_is_static(*type) ||
           reader_fail(reader, at, "elements of a type with dynamic dimensions");
}

/* Numbers or strings? UNIMPLEMENTED for numbers that HLO does not have. */
static bool elements_are_strings(const struct mlir_type *element)
{
    return element->kind == MLIR_OTHER_TYPE || element->kind == MLIR_QUANTIZED ||
           element->kind == MLIR_TOKEN || element->kind == MLIR_FUTURE;
}

static bool check_numbers(struct reader *reader, const char *at, const struct mlir_type *element)
{
    return element->element_type != TYPE_INVALID ||
           reader_fail_code(reader, ERROR_UNIMPLEMENTED, at,
                            "elements of this type are not supported");
}

/* --- one element --- */

void reader_store(const struct mlir_type *element, void *data, double number, int64_t integer)
{
    enum type type = element->element_type;
    if (element->kind != MLIR_FLOAT) {
        memcpy(data, &integer, (size_t)type_bytes(type));
    } else if (type == TYPE_F32) {
        float rounded = (float)number;
        memcpy(data, &rounded, sizeof rounded);
    } else if (type == TYPE_F64) {
        memcpy(data, &number, sizeof number);
    } else {
        /* A type without a zero has its least value for it (llvm::APFloat::convert). */
        bool no_zero = type == TYPE_F8E8M0FNU && number == 0;
        uint64_t bits = no_zero ? 0 : float_from_double(type, number);
        memcpy(data, &bits, (size_t)type_bytes(type));
    }
}

/* Decimal digits that surely are in range: most elements. False: nothing was read. */
static bool read_short_integer(struct reader *reader, int width, int64_t *value)
{
    const char *at = reader->at;
    bool negative = *at == '-';
    at += negative;
    const char *digits = at;
    int64_t number = 0;
    while (at - digits < 18 && (reader_class_of(*at) & CLASS_DIGIT)) {
        number = number * 10 + (*at++ - '0');
    }
    if (at == digits || (reader_class_of(*at) & CLASS_SUFFIX) || width < 8 ||
        number >> (width - 1) != 0) {
        return false;
    }
    *value = negative ? -number : number;
    reader->at = at;
    return true;
}

static bool read_part(struct reader *reader, const struct mlir_type *part, char *data)
{
    int64_t integer = 0;
    reader_skip(reader);
    if (part->kind != MLIR_FLOAT) {
        if (part->sign == MLIR_SIGNLESS && read_short_integer(reader, part->width, &integer)) {
            reader_store(part, data, 0, integer);
            return true;
        }
        char c = *reader->at;
        if (c == 't' || c == 'f') {
            const char *at = reader->at;
            bool truth;
            if (!reader_bool(reader, &truth)) {
                return false;
            }
            reader_store(part, data, 0, truth);
            return part->width == 1 ||
                   reader_fail(reader, at, "'true' and 'false' are of type i1 only");
        }
    }
    struct reader_number number;
    if (!reader_number(reader, &number)) {
        return false;
    }
    double real = 0;
    if (part->kind != MLIR_FLOAT) {
        if (!reader_integer_bits(reader, &number, part, &integer)) {
            return false;
        }
    } else if (number.decimal) {
        real = number.real;
    } else {
        if (!reader_float_value(reader, &number, part, &real)) {
            return false;
        }
        /* The bits themselves: a NaN may not survive being a double. */
        memcpy(data, &number.integer, (size_t)type_bytes(part->element_type));
        return true;
    }
    reader_store(part, data, real, integer);
    return true;
}

/* A number, or (real, imaginary). */
static bool read_element(struct reader *reader, const struct mlir_type *element, char *data)
{
    if (element->kind != MLIR_COMPLEX) {
        return read_part(reader, element, data);
    }
    const struct mlir_type *part = element->element;
    return reader_expect(reader, '(') && read_part(reader, part, data) &&
           reader_expect(reader, ',') &&
           read_part(reader, part, data + type_bytes(part->element_type)) &&
           reader_expect(reader, ')');
}

/* --- lists of elements --- */

struct filler {
    const struct mlir_type *type;
    char *data; /* of the next element */
    size_t size;
    struct bytes *strings; /* instead of data */
};

static bool read_one(struct reader *reader, struct filler *filler)
{
    if (filler->strings != NULL) {
        return reader_string(reader, filler->strings++);
    }
    filler->data += filler->size;
    return read_element(reader, filler->type->element, filler->data - filler->size);
}

static bool read_list(struct reader *reader, struct filler *filler, int level)
{
    int64_t count = filler->type->sizes[level];
    bool last = level + 1 == filler->type->rank;
    if (!reader_accept(reader, '[')) {
        return reader_expected(reader, "'[', as the shape of the type asks for");
    }
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && !reader_accept(reader, ',')) {
            return reader_expected(reader, "',' and more elements, as the type has");
        }
        if (!(last ? read_one(reader, filler) : read_list(reader, filler, level + 1))) {
            return false;
        }
    }
    return reader_accept(reader, ']') ||
           reader_expected(reader, "']', as the type has no more elements");
}

/* Elements from the cursor to `end`, which the ">" stands at. */
static bool read_literal(struct reader *reader, const char *end, struct mlir_attr *attr)
{
    const struct mlir_type *type = attr->type, *element = type->element;
    bool strings = attr->kind == MLIR_ATTR_STRINGS;
    int64_t count = reader_count_elements(type);
    bool list = reader_peek(reader) == '[', empty = reader->at >= end;
    const char *at = reader->at;
    if (empty && count > 0) {
        return reader_fail(reader, at, "no elements, but the type has some");
    }
    if (!list && !empty) {
        count = 1;
    }
    if (count > end - at) {
        return reader_fail(reader, at, "fewer elements than the type has");
    }
    struct filler filler = {.type = type};
    struct arena *arena = &reader->file->arena;
    if (strings) {
        filler.strings = arena_array(arena, (size_t)count, sizeof *filler.strings);
        attr->strings.values = filler.strings;
    } else {
        filler.size = (size_t)type_bytes(element->element_type);
        filler.data = arena_array(arena, (size_t)count, filler.size);
        attr->dense.data = filler.data;
    }
    if (list && type->rank == 0) {
        return reader_fail(reader, at, "a list where the type has one element");
    }
    if (!(list ? read_list(reader, &filler, 0) : empty || read_one(reader, &filler))) {
        return false;
    }
    if (reader_peek(reader) != '>' || reader->at != end) {
        return reader_expected(reader, "'>'");
    }
    int64_t total = reader_count_elements(type);
    bool splat = !list && !empty && total > 0;
    if (strings) {
        if (total > INT32_MAX) {
            return reader_fail(reader, at, "too many strings");
        }
        attr->strings.count = (int)total;
        attr->strings.splat = splat;
    } else {
        attr->dense.count = total;
        attr->dense.splat = splat;
    }
    return true;
}

/* The first ">" from the cursor on that is in no string. */
static const char *literal_end(struct reader *reader)
{
    const char *at = reader->at;
    const char *found = NULL;
    while (true) {
        if (found == NULL || found < at) {
            found = memchr(at, '>', (size_t)(reader->end - at));
        }
        const char *quote = found == NULL ? NULL : memchr(at, '"', (size_t)(found - at));
        if (quote == NULL) {
            break;
        }
        const char *begin = reader->at;
        struct span string;
        bool escaped;
        reader->at = quote;
        bool fine = reader_string_span(reader, &string, &escaped);
        at = reader->at;
        reader->at = begin;
        if (!fine) {
            return NULL;
        }
    }
    if (found == NULL) {
        reader_fail(reader, reader->at, "expected '>' behind the elements");
    }
    return found;
}

/* --- hex --- */

/* "0x…" */
static bool read_hex_literal(struct reader *reader, struct mlir_attr *attr)
{
    const char *at = reader->at;
    struct span string;
    bool escaped;
    if (!reader_string_span(reader, &string, &escaped)) {
        return false;
    }
    if (string.size < 2 || memcmp(string.data, "0x", 2) != 0) {
        return reader_fail(reader, at, "expected hex digits behind 0x");
    }
    size_t digits = string.size - 2;
    unsigned char *bytes = arena_alloc(&reader->file->arena, digits / 2 + 1);
    if (!reader_hex(string.data + 2, digits, bytes)) {
        return reader_fail(reader, at, "not pairs of hex digits");
    }
    return reader_raw_elements(reader, at, bytes, digits / 2, attr);
}

/* --- dense --- */

bool reader_dense(struct reader *reader, const struct mlir_type *known, struct mlir_attr **result)
{
    if (!reader_expect(reader, '<')) {
        return false;
    }
    reader_skip(reader);
    const char *begin = reader->at, *end = literal_end(reader);
    if (end == NULL) {
        return false;
    }
    reader->at = end + 1;
    const struct mlir_type *type;
    if (!reader_elements_type(reader, known, &type)) {
        return false;
    }
    const char *behind = reader->at;
    bool strings = elements_are_strings(type->element);
    struct mlir_attr *attr =
        mlir_attr_new(reader->file, strings ? MLIR_ATTR_STRINGS : MLIR_ATTR_DENSE);
    attr->type = type;
    *result = attr;
    reader->at = begin;
    if (!strings && !check_numbers(reader, begin, type->element)) {
        return false;
    }
    if (!(!strings && *begin == '"' ? read_hex_literal(reader, attr)
                                    : read_literal(reader, end, attr))) {
        return false;
    }
    reader->at = behind;
    return true;
}

bool reader_dense_resource(struct reader *reader, const struct mlir_type *known,
                           struct mlir_attr **result)
{
    if (!reader_expect(reader, '<')) {
        return false;
    }
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_RESOURCE);
    *result = attr;
    reader_skip(reader);
    const char *at = reader->at;
    if (*at == '"') {
        if (!reader_string(reader, &attr->string)) {
            return false;
        }
    } else {
        struct span key = reader_word(reader);
        if (key.size == 0) {
            return reader_expected(reader, "the key of a resource");
        }
        attr->string = (struct bytes){mlir_intern(reader->file, key.data, key.size), key.size};
    }
    if (!reader_expect(reader, '>') || !reader_elements_type(reader, known, &attr->type)) {
        return false;
    }
    reader_resource_use(reader, at, attr);
    return true;
}

/* --- sparse --- */

/* The offset of the element that "[i, j]" stands for; "i" alone when it is a scalar for all. */
static bool read_index(struct reader *reader, const struct mlir_type *type, int64_t *offset)
{
    bool list = reader_accept(reader, '[');
    int64_t index = 0;
    *offset = 0;
    for (int i = 0; i < type->rank; i++) {
        if (list && i > 0 && !reader_expect(reader, ',')) {
            return false;
        }
        reader_skip(reader);
        const char *at = reader->at;
        if ((list || i == 0) && !reader_int(reader, &index)) {
            return false;
        }
        if (index < 0 || index >= type->sizes[i]) {
            return reader_fail(reader, at, "an index beyond the shape");
        }
        *offset = *offset * type->sizes[i] + index;
    }
    return !list || reader_expect(reader, ']');
}

/* Behind "<", with all of its elements zero so far. Indices and values are read side by side. */
static bool read_sparse(struct reader *reader, const char *end, struct mlir_attr *attr)
{
    const struct mlir_type *type = attr->type;
    size_t size = (size_t)type_bytes(type->element->element_type);
    char *data = (char *)attr->dense.data;
    bool list = reader_accept(reader, '[');
    const char *indices = reader->at;
    /* To the values: behind the list of indices. */
    if (list) {
        struct span all;
        reader->at = indices - 1;
        if (!reader_balanced(reader, &all)) {
            return false;
        }
    } else {
        int64_t ignored;
        if (!read_index(reader, type, &ignored)) {
            return false;
        }
    }
    if (!reader_expect(reader, ',')) {
        return false;
    }
    bool many = reader_accept(reader, '[');
    const char *values = reader->at;
    char one[16];
    if (!many && (!read_element(reader, type->element, one) ||
                  (reader_peek(reader) != '>' && !reader_expected(reader, "'>'")))) {
        return false;
    }
    /* Neither list may be longer than the other. */
    for (bool first = true;; first = false) {
        int64_t offset;
        reader->at = indices;
        if ((!first && !reader_expect(reader, ',')) || !read_index(reader, type, &offset)) {
            return false;
        }
        bool done = !list || reader_peek(reader) == ']';
        indices = reader->at;
        if (many) {
            reader->at = values;
            if ((!first && !reader_expect(reader, ',')) ||
                !read_element(reader, type->element, one) ||
                (done && (!reader_expect(reader, ']') || !reader_expect(reader, '>')))) {
                return false;
            }
            values = reader->at;
        }
        memcpy(data + (size_t)offset * size, one, size);
        if (done) {
            return values <= end + 1 || reader_expected(reader, "'>'");
        }
    }
}

bool reader_sparse(struct reader *reader, const struct mlir_type *known, struct mlir_attr **result)
{
    enum { MAX_BYTES = 1 << 28 };
    if (!reader_expect(reader, '<')) {
        return false;
    }
    reader_skip(reader);
    const char *begin = reader->at, *end = literal_end(reader);
    if (end == NULL) {
        return false;
    }
    reader->at = end + 1;
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_DENSE);
    *result = attr;
    if (!reader_elements_type(reader, known, &attr->type) ||
        !check_numbers(reader, begin, attr->type->element)) {
        return false;
    }
    const char *behind = reader->at;
    bool none = begin == end;
    int64_t count = reader_count_elements(attr->type);
    int64_t stored = none && count > 0 ? 1 : count;
    size_t size = (size_t)type_bytes(attr->type->element->element_type);
    if (stored > MAX_BYTES / (int64_t)size) {
        return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, begin,
                                "sparse elements of more than %d bytes", MAX_BYTES);
    }
    attr->dense.data = arena_array(&reader->file->arena, (size_t)stored, size);
    attr->dense.count = count;
    attr->dense.splat = none && count > 0;
    reader->at = begin;
    if (!none && !read_sparse(reader, end, attr)) {
        return false;
    }
    reader->at = behind;
    return true;
}

/* --- array --- */

static bool read_array_number(struct reader *reader, const struct mlir_type *type, double *number,
                              int64_t *integer)
{
    reader_skip(reader);
    const char *at = reader->at;
    if (type->kind != MLIR_FLOAT && (*at == 't' || *at == 'f')) {
        bool truth;
        if (!reader_bool(reader, &truth)) {
            return false;
        }
        *integer = truth;
        return type->width == 1 ||
               reader_fail(reader, at, "'true' and 'false' are of type i1 only");
    }
    struct reader_number spelled;
    return reader_number(reader, &spelled) &&
           (type->kind == MLIR_FLOAT ? reader_float_value(reader, &spelled, type, number)
                                     : reader_integer_bits(reader, &spelled, type, integer));
}

bool reader_array_attr(struct reader *reader, struct mlir_attr **result)
{
    if (!reader_expect(reader, '<')) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    const struct mlir_type *type;
    if (!reader_type(reader, &type)) {
        return false;
    }
    bool is_float = type->kind == MLIR_FLOAT;
    if ((type->kind != MLIR_INTEGER && !is_float) || type->width > 64 ||
        (type->width % 8 != 0 && type->width != 1) || type->width == 0) {
        return reader_fail(reader, at, "not a type that an array can have");
    }
    union {
        int64_t integer;
        double number;
    } few[16], *list = few;
    size_t count = 0, capacity = sizeof few / sizeof *few;
    if (!reader_accept(reader, '>')) {
        if (!reader_expect(reader, ':')) {
            return false;
        }
        do {
            if (count == capacity) {
                void *more = arena_array(&reader->file->arena, 2 * capacity, sizeof *list);
                list = memcpy(more, list, count * sizeof *list);
                capacity *= 2;
            }
            if (count == INT32_MAX ||
                !read_array_number(reader, type, &list[count].number, &list[count].integer)) {
                return false;
            }
            count++;
        } while (reader_accept(reader, ','));
        if (!reader_expect(reader, '>')) {
            return false;
        }
    }
    struct mlir_attr *attr =
        mlir_attr_new(reader->file, is_float ? MLIR_ATTR_FLOATS : MLIR_ATTR_INTS);
    *result = attr;
    attr->type = type;
    const void *values = arena_copy(&reader->file->arena, list, count * sizeof *list);
    if (is_float) {
        attr->floats.count = (int)count;
        attr->floats.values = values;
    } else {
        attr->ints = (struct ints){(int)count, values};
    }
    return true;
}
