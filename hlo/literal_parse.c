/* Reads the text of literals: braces nested to the rank, numbers, true and false, (re, im), tuples,
 * and {...} for values that were left out.
 * Source: xla/hlo/parser/hlo_parser.cc (ParseDenseLiteral, ParseTupleLiteral). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/text/number.h"

struct reader {
    const char *start, *at, *end;
    uint64_t *salt; /* NULL: {...} is refused */
    struct error *err;
};

static bool fail(struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(struct reader *reader, const char *format, ...)
{
    struct text message;
    text_init(&message);
    va_list args;
    va_start(args, format);
    text_vprintf(&message, format, args);
    va_end(args);
    struct where where = {NULL, 0, (int)(reader->at - reader->start) + 1};
    error_at(reader->err, where, "%s", message.data);
    text_finish(&message);
    return false;
}

static void skip_blanks(struct reader *reader)
{
    const char *at = reader->at, *end = reader->end;
    while (at < end) {
        if (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') {
            at++;
        } else if (*at == '/' && end - at > 1 && at[1] == '/') {
            while (at < end && *at != '\n' && *at != '\r') {
                at++;
            }
        } else if (*at == '/' && end - at > 3 && at[1] == '*') {
            const char *close = at + 2;
            while (end - close > 1 && (close[0] != '*' || close[1] != '/')) {
                close++;
            }
            if (end - close <= 1) {
                break;
            }
            at = close + 2;
        } else {
            break;
        }
    }
    reader->at = at;
}

static bool next_is(struct reader *reader, char c)
{
    skip_blanks(reader);
    return reader->at < reader->end && *reader->at == c;
}

static bool accept(struct reader *reader, char c)
{
    bool is = next_is(reader, c);
    reader->at += is;
    return is;
}

static bool accept_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0) {
        return false;
    }
    reader->at += size;
    return true;
}

static bool expect(struct reader *reader, char c)
{
    return accept(reader, c) || fail(reader, "expected '%c' in a literal", c);
}

/* --- one element --- */

static bool read_number(struct reader *reader, struct number *number)
{
    skip_blanks(reader);
    size_t size = number_read(reader->at, reader->end, number);
    if (number->kind == NUMBER_NONE) {
        return fail(reader, "expected a value in a literal");
    }
    if (number->kind == NUMBER_TOO_LARGE) {
        return fail(reader, "value is out of range");
    }
    reader->at += size;
    return true;
}

/* The bits of a float element; false if a finite value has no finite neighbour in the type. */
static bool float_bits(struct reader *reader, enum type type, const struct number *number,
                       uint64_t *bits)
{
    if (number->kind == NUMBER_NAN) {
        uint64_t quiet, mask;
        if (number_nan_payload(type, &quiet, &mask)) {
            if (number->integer > mask) {
                return fail(reader, "NaN payload 0x%llx does not fit in %s",
                            (unsigned long long)number->integer, type_text(type));
            }
            uint64_t infinity = float_from_double(type, number->negative ? -INFINITY : INFINITY);
            *bits = infinity | (number->integer != 0 ? number->integer : quiet);
            return true;
        }
        if (number->integer != 0) {
            return fail(reader, "%s has no NaN payloads", type_text(type));
        }
        *bits = float_from_double(type, number->negative ? -(double)NAN : (double)NAN);
        return true;
    }
    if (type == TYPE_F64) {
        memcpy(bits, &number->real, sizeof *bits);
        return true;
    }
    *bits = float_from_double(type, number->real);
    if (number->kind != NUMBER_INFINITY && !isfinite(float_to_double(type, *bits))) {
        return fail(reader, "value is out of the range of %s", type_text(type));
    }
    return true;
}

static bool read_complex(struct reader *reader, struct literal *literal, int64_t index)
{
    enum type part = type_part(literal->shape->type);
    if (!expect(reader, '(')) {
        return false;
    }
    for (int64_t k = 2 * index; k < 2 * index + 2; k++) {
        struct number number;
        uint64_t bits;
        if (!read_number(reader, &number) || !float_bits(reader, part, &number, &bits)) {
            return false;
        }
        if (part == TYPE_F32) {
            ((uint32_t *)literal_data(literal))[k] = (uint32_t)bits;
        } else {
            ((uint64_t *)literal_data(literal))[k] = bits;
        }
        if (!expect(reader, k % 2 == 0 ? ',' : ')')) {
            return false;
        }
    }
    return true;
}

/* Integers are read modulo 2^64, as XLA does: s64 takes 18446744073709551615 for −1. */
static bool store_integer(struct reader *reader, struct literal *literal, int64_t index,
                          const struct number *number)
{
    enum type type = literal->shape->type;
    if (number->kind != NUMBER_INT) {
        return fail(reader, "expected an integer for %s", type_text(type));
    }
    int bits = type_bits(type);
    int64_t value = (int64_t)number->integer;
    if (type_kind(type) == KIND_UNSIGNED) {
        if (bits < 64 && number->integer >> bits != 0) {
            return fail(reader, "value is out of the range of %s", type_text(type));
        }
    } else if (bits < 64 && (value >> (bits - 1) != 0 && value >> (bits - 1) != -1)) {
        return fail(reader, "value is out of the range of %s", type_text(type));
    }
    literal_set_int(literal, index, value);
    return true;
}

static bool read_element(struct reader *reader, struct literal *literal, int64_t index)
{
    enum type type = literal->shape->type;
    enum type_kind kind = type_kind(type);
    if (kind == KIND_COMPLEX) {
        return read_complex(reader, literal, index);
    }
    const char *begin = reader->at;
    bool is_true = accept_word(reader, "true");
    if (is_true || accept_word(reader, "false")) {
        if (kind != KIND_PRED) {
            reader->at = begin;
            return fail(reader, "true and false are values of pred only, not of %s",
                        type_text(type));
        }
        literal_set_bits(literal, index, is_true);
        return true;
    }
    struct number number;
    if (!read_number(reader, &number)) {
        return false;
    }
    const char *after = reader->at;
    reader->at = begin; /* where a wrong value is reported */
    uint64_t bits = 0;
    bool ok;
    if (kind == KIND_FLOAT) {
        ok = float_bits(reader, type, &number, &bits);
        if (ok) {
            literal_set_bits(literal, index, bits);
        }
    } else if (kind == KIND_PRED) {
        ok = number.kind == NUMBER_INT || fail(reader, "expected true, false or an integer");
        if (ok) {
            literal_set_bits(literal, index, number.integer != 0);
        }
    } else {
        ok = store_integer(reader, literal, index, &number);
    }
    if (ok) {
        reader->at = after;
    }
    return ok;
}

/* --- arrays --- */

struct nest {
    int level;
    int64_t seen[SHAPE_MAX_RANK]; /* elements so far at each level */
};

static bool open_brace(struct reader *reader, const struct shape *shape, struct nest *nest)
{
    if (nest->level >= shape->rank) {
        return fail(reader, "braces nested deeper than the rank %d", shape->rank);
    }
    if (nest->level > 0 && ++nest->seen[nest->level - 1] > shape->dimensions[nest->level - 1]) {
        return fail(reader, "more than %lld elements in dimension %d",
                    (long long)shape->dimensions[nest->level - 1], nest->level - 1);
    }
    nest->level++;
    reader->at++;
    return true;
}

static bool close_brace(struct reader *reader, const struct shape *shape, struct nest *nest)
{
    int dimension = nest->level - 1;
    if (dimension < 0) {
        return fail(reader, "'}' without '{'");
    }
    if (nest->seen[dimension] != shape->dimensions[dimension]) {
        return fail(reader, "expected %lld elements in dimension %d, found %lld",
                    (long long)shape->dimensions[dimension], dimension,
                    (long long)nest->seen[dimension]);
    }
    nest->seen[dimension] = 0;
    nest->level--;
    reader->at++;
    return true;
}

static bool one_value(struct reader *reader, struct literal *literal, struct nest *nest,
                      int64_t *index)
{
    const struct shape *shape = literal->shape;
    if (nest->level != shape->rank) {
        return fail(reader, "value at brace level %d of a literal of rank %d", nest->level,
                    shape->rank);
    }
    if (shape->rank > 0 && ++nest->seen[shape->rank - 1] > shape->dimensions[shape->rank - 1]) {
        return fail(reader, "more than %lld elements in dimension %d",
                    (long long)shape->dimensions[shape->rank - 1], shape->rank - 1);
    }
    return read_element(reader, literal, (*index)++);
}

static bool read_dense(struct reader *reader, struct literal *literal)
{
    struct nest nest = {0};
    int64_t index = 0;
    do {
        skip_blanks(reader);
        if (reader->at >= reader->end) {
            return fail(reader, "literal without an end");
        }
        char c = *reader->at;
        bool ok = true;
        if (c == '{') {
            ok = open_brace(reader, literal->shape, &nest);
        } else if (c == '}') {
            ok = close_brace(reader, literal->shape, &nest);
        } else if (c == ',' && nest.level > 0) {
            reader->at++;
        } else {
            ok = one_value(reader, literal, &nest, &index);
        }
        if (!ok) {
            return false;
        }
    } while (nest.level > 0);
    return true;
}

/* "{...}" */
static bool accept_elided(struct reader *reader)
{
    const char *begin = reader->at;
    if (accept(reader, '{')) {
        skip_blanks(reader);
        if (accept_word(reader, "...") && accept(reader, '}')) {
            return true;
        }
    }
    reader->at = begin;
    return false;
}

/* A value without braces for an array: XLA takes it as the first element, the others are 0. */
static struct literal *read_lone_value(struct reader *reader, const struct shape *shape)
{
    enum { MOST = 1 << 20 }; /* more is hardly meant so, and need not be allocated */
    int64_t count = shape_elements(shape);
    if (count == 0 || count > MOST || type_is_complex(shape->type)) {
        fail(reader, "expected '{' in a literal of rank %d", shape->rank);
        return NULL;
    }
    struct literal *literal = literal_zero(shape, reader->err);
    if (literal != NULL && !read_element(reader, literal, 0)) {
        literal_release(literal);
        return NULL;
    }
    return literal;
}

static struct literal *read_array(struct reader *reader, const struct shape *shape)
{
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dimensions[i] < 0) {
            fail(reader, "literal of a shape without bounds");
            return NULL;
        }
    }
    if (shape->rank > 0 && accept_elided(reader)) {
        if (reader->salt == NULL) {
            fail(reader, "the values of this literal were left out");
            return NULL;
        }
        return literal_fill(shape, (*reader->salt)++, reader->err);
    }
    if (shape->rank > 0 && !next_is(reader, '{')) {
        return read_lone_value(reader, shape);
    }
    /* Every element takes at least a byte: a text that cannot hold them needs no memory. */
    if (shape_elements(shape) > reader->end - reader->at) {
        fail(reader, "fewer values than the %lld elements of the shape",
             (long long)shape_elements(shape));
        return NULL;
    }
    struct literal *literal = literal_create(shape, reader->err);
    if (literal != NULL && !read_dense(reader, literal)) {
        literal_release(literal);
        return NULL;
    }
    return literal;
}

static struct literal *read_literal(struct reader *reader, const struct shape *shape);

static struct literal *read_tuple(struct reader *reader, const struct shape *shape)
{
    if (!expect(reader, '(')) {
        return NULL;
    }
    struct literal **elements = memory_alloc((size_t)shape->count * sizeof *elements);
    int count = 0;
    bool ok = true;
    while (ok && count < shape->count) {
        ok = count == 0 || expect(reader, ',');
        if (ok) {
            elements[count] = read_literal(reader, shape->elements[count]);
            ok = elements[count] != NULL;
            count += ok;
        }
    }
    ok = ok && expect(reader, ')');
    struct literal *literal = NULL;
    if (ok) {
        literal = literal_tuple_take(shape, elements);
    } else {
        while (count > 0) {
            literal_release(elements[--count]);
        }
    }
    free(elements);
    return literal;
}

static struct literal *read_literal(struct reader *reader, const struct shape *shape)
{
    if (shape_is_tuple(shape)) {
        return read_tuple(reader, shape);
    }
    if (!shape_is_array(shape)) {
        fail(reader, "%s has no values", shape_text(shape));
        return NULL;
    }
    return read_array(reader, shape);
}

struct literal *literal_parse_filled(const struct shape *shape, const char *text, size_t size,
                                     size_t *used, uint64_t *salt, struct error *err)
{
    struct reader reader = {text, text, text + size, salt, err};
    struct literal *literal = read_literal(&reader, shape);
    if (used != NULL) {
        *used = (size_t)(reader.at - text);
    }
    return literal;
}

struct literal *literal_parse(const struct shape *shape, const char *text, size_t size,
                              size_t *used, struct error *err)
{
    return literal_parse_filled(shape, text, size, used, NULL, err);
}
