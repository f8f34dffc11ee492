/* Types of MLIR text. The text of a tensor's type is looked up before it is read: programs repeat a
 * few types a thousand times. */
#include <stdlib.h>

#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/mlir/text/reader_internal.h"

/* --- types by their text --- */

enum { CACHE_SLOTS = 512 };
struct reader_type_cache {
    struct {
        const char *text;
        size_t size;
        const struct mlir_type *type;
    } slots[CACHE_SLOTS];
};

struct reader_type_cache *reader_type_cache_create(void)
{
    return memory_zalloc(sizeof(struct reader_type_cache));
}

void reader_type_cache_destroy(struct reader_type_cache *cache)
{
    free(cache);
}

/* The size of "tensor<…>" at `at` and a hash of it; 0 where it holds what may mean something else
 * elsewhere, or is not that simple. */
static size_t simple_tensor(const char *at, uint32_t *hash)
{
    const char *begin = at;
    uint32_t mixed = 0;
    int open = 1;
    for (at += sizeof "tensor<" - 1; open > 0; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '<') {
            open++;
        } else if (c == '>') {
            open--;
        } else if ((reader_class_of(*at) & CLASS_WORD) == 0 && c != '?') {
            return 0;
        }
        mixed = (mixed ^ c) * 0x01000193u;
    }
    *hash = mixed ^ mixed >> 15;
    return (size_t)(at - begin);
}

/* --- shapes --- */

/* "2x?x" before the element's type; the sizes are appended to *sizes, which has room for few. */
static bool read_dimensions(struct reader *reader, int64_t sizes[READER_MAX_RANK], int *rank)
{
    *rank = 0;
    for (;;) {
        char c = *rank == 0 ? reader_peek(reader) : *reader->at;
        const char *begin = reader->at, *at = begin;
        int64_t size = 0;
        if (c == '?') {
            size = MLIR_DYNAMIC;
            at++;
        } else if (reader_class_of(c) & CLASS_DIGIT) {
            for (; reader_class_of(*at) & CLASS_DIGIT; at++) {
                if (__builtin_mul_overflow(size, (int64_t)10, &size) ||
                    __builtin_add_overflow(size, (int64_t)(*at - '0'), &size)) {
                    return reader_fail(reader, begin, "a dimension of more than 63 bits");
                }
            }
        } else if (c == '[') {
            return reader_fail_code(reader, ERROR_UNIMPLEMENTED, begin,
                                    "scalable dimensions are not supported");
        } else {
            return true;
        }
        reader->at = at;
        if (*at != 'x') {
            return reader_expected(reader, "'x' behind a dimension");
        }
        reader->at++;
        if (*rank == READER_MAX_RANK) {
            return reader_fail_code(reader, ERROR_RESOURCE_EXHAUSTED, begin,
                                    "more than %d dimensions", READER_MAX_RANK);
        }
        sizes[(*rank)++] = size;
    }
}

/* The elements of a dense value of this type must be countable. */
static bool check_size(struct reader *reader, const char *at, int rank, const int64_t *sizes)
{
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) {
        if (sizes[i] != MLIR_DYNAMIC && sizes[i] != 0 &&
            __builtin_mul_overflow(elements, sizes[i], &elements)) {
            return reader_fail(reader, at, "a shape of more than 2^63 elements");
        }
    }
    return true;
}

static bool check_element(struct reader *reader, const char *at, enum mlir_type_kind kind,
                          const struct mlir_type *element)
{
    switch (element->kind) {
    case MLIR_INTEGER:
    case MLIR_INDEX:
    case MLIR_FLOAT:
    case MLIR_OTHER_TYPE:
        return true;
    case MLIR_COMPLEX:
    case MLIR_QUANTIZED:
    case MLIR_TOKEN:
    case MLIR_FUTURE:
        if (kind != MLIR_VECTOR) {
            return true;
        }
        break;
    case MLIR_VECTOR:
    case MLIR_MEMREF:
        if (kind != MLIR_VECTOR) {
            return true;
        }
        break;
    default:
        break;
    }
    return reader_fail(reader, at, "a type that nothing can have as its elements");
}

/* What stands between the element of a memref and its ">", as text. */
static bool read_memref_rest(struct reader *reader, const struct mlir_attr **rest)
{
    struct text text;
    text_init(&text);
    bool read;
    do {
        struct mlir_attr *attr;
        read = reader_attr(reader, &attr);
        if (read) {
            text_append(&text, text.size > 0 ? ", " : "");
            mlir_print_attr(attr, &text);
        }
    } while (read && reader_accept(reader, ','));
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_OTHER);
    attr->string =
        (struct bytes){arena_string(&reader->file->arena, text.data, text.size), text.size};
    *rest = attr;
    text_finish(&text);
    return read;
}

/* Behind "tensor<", "vector<" or "memref<", up to the ">". */
static bool read_shaped(struct reader *reader, enum mlir_type_kind kind,
                        const struct mlir_type **type)
{
    int64_t sizes[READER_MAX_RANK];
    int rank = 0;
    const char *begin = reader->at;
    bool unranked = kind == MLIR_TENSOR && reader_accept(reader, '*');
    if (unranked ? !reader_expect(reader, 'x') : !read_dimensions(reader, sizes, &rank)) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    const struct mlir_type *element;
    if (!reader_type(reader, &element) || !check_element(reader, at, kind, element) ||
        !check_size(reader, begin, rank, sizes)) {
        return false;
    }
    const struct mlir_attr *encoding = NULL;
    if (kind != MLIR_VECTOR && reader_accept(reader, ',')) {
        struct mlir_attr *attr = NULL;
        if (!(kind == MLIR_MEMREF ? read_memref_rest(reader, &encoding)
                                  : reader_attr(reader, &attr))) {
            return false;
        }
        encoding = kind == MLIR_MEMREF ? encoding : attr;
    }
    *type =
        mlir_shaped(reader->file, unranked ? MLIR_UNRANKED : kind, element, rank, sizes, encoding);
    return reader_expect(reader, '>');
}

static bool read_tensor(struct reader *reader, const struct mlir_type **type)
{
    return reader_expect(reader, '<') && read_shaped(reader, MLIR_TENSOR, type);
}

static bool read_vector(struct reader *reader, const struct mlir_type **type)
{
    return reader_expect(reader, '<') && read_shaped(reader, MLIR_VECTOR, type);
}

static bool read_memref(struct reader *reader, const struct mlir_type **type)
{
    return reader_expect(reader, '<') && read_shaped(reader, MLIR_MEMREF, type);
}

/* --- other builtin types --- */

static bool read_complex(struct reader *reader, const struct mlir_type **type)
{
    if (!reader_expect(reader, '<')) {
        return false;
    }
    reader_skip(reader);
    const char *at = reader->at;
    const struct mlir_type *element;
    if (!reader_type(reader, &element)) {
        return false;
    }
    if (element->kind != MLIR_INTEGER && element->kind != MLIR_FLOAT) {
        return reader_fail(reader, at, "complex numbers are of integers or floats");
    }
    *type = mlir_complex(reader->file, element);
    return reader_expect(reader, '>');
}

/* "<type, …>", maybe empty. */
static bool read_types_of(struct reader *reader, enum mlir_type_kind kind,
                          const struct mlir_type **type)
{
    struct reader_types types = {0};
    if (!reader_expect(reader, '<') ||
        (reader_peek(reader) != '>' && !reader_types(reader, &types)) ||
        !reader_expect(reader, '>')) {
        return false;
    }
    *type = mlir_tuple(reader->file, kind, types.count, types.types);
    return true;
}

static bool read_tuple(struct reader *reader, const struct mlir_type **type)
{
    return read_types_of(reader, MLIR_TUPLE, type);
}

static bool read_function(struct reader *reader, const struct mlir_type **type)
{
    struct reader_types inputs = {0}, results = {0};
    if (!reader_function_type(reader, &inputs, &results)) {
        return false;
    }
    for (int i = 0; i < results.count; i++) {
        reader_types_add(reader, &inputs, results.types[i]);
    }
    *type = mlir_function(reader->file, inputs.count - results.count, results.count, inputs.types);
    return true;
}

/* i8, si8, ui8; the digits begin at `digits`. */
static bool integer_of_word(struct reader *reader, struct span word, size_t digits,
                            const struct mlir_type **type)
{
    enum { MAX_WIDTH = (1 << 24) - 1 };
    int width = 0;
    for (size_t i = digits; i < word.size; i++) {
        width = width > MAX_WIDTH ? width : width * 10 + (word.data[i] - '0');
    }
    if (width > MAX_WIDTH) {
        return reader_fail(reader, word.data, "an integer type of more than %d bits", MAX_WIDTH);
    }
    *type = mlir_integer(reader->file, width,
                         digits == 1           ? MLIR_SIGNLESS
                         : word.data[0] == 's' ? MLIR_SIGNED
                                               : MLIR_UNSIGNED);
    return true;
}

/* Where the digits of i8, si8, ui8 begin; 0 if the word is no such type. */
static size_t integer_digits(struct span word)
{
    size_t digits =
        word.size > 1 && word.data[0] == 'i'                                                   ? 1
        : word.size > 2 && (word.data[0] == 's' || word.data[0] == 'u') && word.data[1] == 'i' ? 2
                                                                                               : 0;
    for (size_t i = digits; digits > 0 && i < word.size; i++) {
        if ((reader_class_of(word.data[i]) & CLASS_DIGIT) == 0) {
            return 0;
        }
    }
    return digits;
}

typedef bool type_function(struct reader *reader, const struct mlir_type **type);
static const struct {
    const char *word;
    type_function *function;
} type_words[] = {
    {"tensor", read_tensor}, {"complex", read_complex}, {"tuple", read_tuple},
    {"vector", read_vector}, {"memref", read_memref},
};

static bool read_word_type(struct reader *reader, const struct mlir_type **type)
{
    struct span word = reader_keyword(reader);
    size_t digits = integer_digits(word);
    if (digits > 0) {
        return integer_of_word(reader, word, digits, type);
    }
    *type = mlir_float(reader->file, word.data, word.size);
    if (*type != NULL) {
        return true;
    }
    if (span_is(word, "index") || span_is(word, "none")) {
        *type =
            word.data[0] == 'i' ? mlir_index(reader->file) : mlir_simple(reader->file, MLIR_NONE);
        return true;
    }
    for (size_t i = 0; i < sizeof type_words / sizeof *type_words; i++) {
        if (span_is(word, type_words[i].word)) {
            return type_words[i].function(reader, type);
        }
    }
    reader->at = word.data;
    return reader_expected(reader, "a type");
}

/* --- types of dialects, and aliases --- */

/* A type that is kept as text, from the "!" on; the cursor is behind its name. */
static bool read_other_type(struct reader *reader, const char *begin, const struct mlir_type **type)
{
    struct span body;
    if (*reader->at == '<' && !reader_balanced(reader, &body)) {
        return false;
    }
    if (memchr(begin, '\0', (size_t)(reader->at - begin)) != NULL) {
        return reader_fail(reader, begin, "a type with a zero byte");
    }
    *type = mlir_other_type(reader->file, begin, (size_t)(reader->at - begin));
    return true;
}

/* !alias, !dialect.name<…> or !dialect<name …>. */
static bool read_dialect_type(struct reader *reader, const struct mlir_type **type)
{
    const char *begin = reader->at;
    struct span name = reader_alias_name(reader);
    if (name.size < 2) {
        return reader_expected(reader, "a type");
    }
    bool nested = *reader->at == '<';
    if (memchr(name.data, '.', name.size) == NULL && !nested) {
        const struct reader_alias *alias = reader_alias(reader, name);
        if (alias == NULL) {
            return false;
        }
        *type = alias->type;
        return true;
    }
    if (span_is(name, "!stablehlo.token") && !nested) {
        *type = mlir_simple(reader->file, MLIR_TOKEN);
        return true;
    }
    if (span_is(name, "!stablehlo.future")) {
        return read_types_of(reader, MLIR_FUTURE, type);
    }
    if (span_is(name, "!quant.uniform") && nested) {
        if (!reader_quantized(reader, type)) {
            return false;
        }
        if (*type != NULL) {
            return true;
        }
    }
    return read_other_type(reader, begin, type);
}

/* --- any type --- */

static bool read_type(struct reader *reader, char first, const struct mlir_type **type)
{
    if (!reader_enter(reader)) {
        return false;
    }
    bool read = first == '!'   ? read_dialect_type(reader, type)
                : first == '(' ? read_function(reader, type)
                               : read_word_type(reader, type);
    reader_leave(reader);
    return read;
}

bool reader_type(struct reader *reader, const struct mlir_type **type)
{
    char first = reader_peek(reader);
    const char *begin = reader->at;
    uint32_t hash;
    size_t size =
        first == 't' && strncmp(begin, "tensor<", 7) == 0 ? simple_tensor(begin, &hash) : 0;
    if (size == 0) {
        return read_type(reader, first, type);
    }
    struct reader_type_cache *cache = reader->type_cache;
    uint32_t slot = hash % CACHE_SLOTS;
    if (cache->slots[slot].size == size && memcmp(cache->slots[slot].text, begin, size) == 0) {
        *type = cache->slots[slot].type;
        reader->at += size;
        return true;
    }
    if (!read_type(reader, first, type)) {
        return false;
    }
    if (reader->at == begin + size) {
        cache->slots[slot].text = begin;
        cache->slots[slot].size = size;
        cache->slots[slot].type = *type;
    }
    return true;
}

/* --- lists of types --- */

bool reader_types(struct reader *reader, struct reader_types *list)
{
    do {
        const struct mlir_type *type;
        if (!reader_type(reader, &type)) {
            return false;
        }
        reader_types_add(reader, list, type);
    } while (reader_accept(reader, ','));
    return true;
}

/* (type, …), maybe (). */
static bool types_in_parens(struct reader *reader, struct reader_types *list)
{
    return reader_expect(reader, '(') &&
           (reader_accept(reader, ')') ||
            (reader_types(reader, list) && reader_expect(reader, ')')));
}

bool reader_types_or_parens(struct reader *reader, struct reader_types *list)
{
    if (reader_peek(reader) == '(') {
        return types_in_parens(reader, list);
    }
    const struct mlir_type *type;
    if (!reader_type(reader, &type)) {
        return false;
    }
    reader_types_add(reader, list, type);
    return true;
}

bool reader_function_type(struct reader *reader, struct reader_types *inputs,
                          struct reader_types *results)
{
    return types_in_parens(reader, inputs) && reader_expect_text(reader, "->") &&
           reader_types_or_parens(reader, results);
}
