/* Shapes as text: "f32[2,<=3,?]{1,0:T(8,128)S(1)}", "(s32[], pred[4])", "token[]", "b(f32[2])".
 * Source: xla/hlo/parser/hlo_parser.cc ParseShape, xla/layout.cc Layout::ToString. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/shape.h"

/* --- printing --- */

static void print_ints(const int64_t *values, int count, struct text *out)
{
    for (int i = 0; i < count; i++) {
        if (i > 0) {
            text_char(out, ',');
        }
        if (values[i] == TILE_COMBINED) {
            text_char(out, '*');
        } else {
            text_int(out, values[i]);
        }
    }
}

static void print_layout(const struct layout *layout, struct text *out)
{
    bool fields = layout->dim_level_types != NULL || layout->tile_count > 0 ||
                  layout->tail_padding_alignment != 1 || layout->index_type != TYPE_INVALID ||
                  layout->pointer_type != TYPE_INVALID || layout->element_bits != 0 ||
                  layout->memory_space != 0 || layout->split_count > 0 ||
                  layout->physical_shape != NULL || layout->dynamic_metadata_bytes != 0;
    if (layout->rank == 0 && !fields) {
        return;
    }
    text_char(out, '{');
    print_ints(layout->minor_to_major, layout->rank, out);
    if (fields) {
        text_char(out, ':');
    }
    if (layout->dim_level_types != NULL) {
        text_printf(out, "D(%s)", layout->dim_level_types);
    }
    for (int i = 0; i < layout->tile_count; i++) {
        text_append(out, i == 0 ? "T(" : "(");
        print_ints(layout->tiles[i].dimensions, layout->tiles[i].rank, out);
        text_char(out, ')');
    }
    if (layout->tail_padding_alignment != 1) {
        text_printf(out, "L(%lld)", (long long)layout->tail_padding_alignment);
    }
    if (layout->index_type != TYPE_INVALID) {
        text_printf(out, "#(%s)", type_text(layout->index_type));
    }
    if (layout->pointer_type != TYPE_INVALID) {
        text_printf(out, "*(%s)", type_text(layout->pointer_type));
    }
    if (layout->element_bits != 0) {
        text_printf(out, "E(%lld)", (long long)layout->element_bits);
    }
    if (layout->memory_space != 0) {
        text_printf(out, "S(%lld)", (long long)layout->memory_space);
    }
    if (layout->split_count > 0) {
        text_append(out, "SC");
        for (int i = 0; i < layout->split_count; i++) {
            text_printf(out, "(%lld:", (long long)layout->splits[i].dimension);
            print_ints(layout->splits[i].indices, layout->splits[i].count, out);
            text_char(out, ')');
        }
    }
    if (layout->physical_shape != NULL) {
        text_append(out, "P(");
        shape_print(layout->physical_shape, true, out);
        text_char(out, ')');
    }
    if (layout->dynamic_metadata_bytes != 0) {
        text_printf(out, "M(%lld)", (long long)layout->dynamic_metadata_bytes);
    }
    text_char(out, '}');
}

void shape_print(const struct shape *shape, bool with_layout, struct text *out)
{
    if (shape_is_tuple(shape)) {
        text_char(out, '(');
        for (int i = 0; i < shape->count; i++) {
            if (i > 0) {
                text_append(out, ", ");
                if (i % 5 == 0) {
                    text_printf(out, "/*index=%d*/", i);
                }
            }
            shape_print(shape->elements[i], with_layout, out);
        }
        text_char(out, ')');
        return;
    }
    if (shape->type == TYPE_BUFFER) {
        text_append(out, "b(");
        shape_print(shape->elements[0], with_layout, out);
        text_char(out, ')');
        return;
    }
    text_append(out, type_text(shape->type));
    text_char(out, '[');
    for (int i = 0; i < shape->rank; i++) {
        if (i > 0) {
            text_char(out, ',');
        }
        if (shape_dimension_is_dynamic(shape, i)) {
            if (shape->dimensions[i] == DIMENSION_UNBOUNDED) {
                text_char(out, '?');
                continue;
            }
            text_append(out, "<=");
        }
        text_int(out, shape->dimensions[i]);
    }
    text_char(out, ']');
    if (with_layout && shape_is_array(shape)) {
        print_layout(shape->layout, out);
    }
}

void shape_print_index(const struct shape *shape, int64_t index, struct text *out)
{
    int64_t at[SHAPE_MAX_RANK];
    for (int i = shape->rank - 1; i >= 0; i--) {
        at[i] = index % shape->dimensions[i];
        index /= shape->dimensions[i];
    }
    text_char(out, '[');
    for (int i = 0; i < shape->rank; i++) {
        text_printf(out, i > 0 ? ",%lld" : "%lld", (long long)at[i]);
    }
    text_char(out, ']');
}

const char *shape_text(const struct shape *shape)
{
    static _Thread_local char buffers[4][256];
    static _Thread_local unsigned next;
    char *buffer = buffers[next++ % 4];
    struct text text;
    text_init(&text);
    shape_print(shape, true, &text);
    snprintf(buffer, sizeof buffers[0], "%s", text.data);
    text_finish(&text);
    return buffer;
}

/* --- reading --- */

struct reader {
    const char *start, *at, *end;
    struct error *err;
};

static bool fail(struct reader *reader, const char *what)
{
    struct where where = {NULL, 0, (int)(reader->at - reader->start) + 1};
    return error_at(reader->err, where, "shape: expected %s", what);
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end) {
        char c = *reader->at;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            reader->at++;
        } else if (c == '/' && reader->end - reader->at > 1 && reader->at[1] == '/') {
            while (reader->at < reader->end && *reader->at != '\n' && *reader->at != '\r') {
                reader->at++;
            }
        } else if (c == '/' && reader->end - reader->at > 1 && reader->at[1] == '*') {
            const char *close = reader->at + 2;
            while (reader->end - close > 1 && (close[0] != '*' || close[1] != '/')) {
                close++;
            }
            if (reader->end - close <= 1) {
                return;
            }
            reader->at = close + 2;
        } else {
            return;
        }
    }
}

static bool accept(struct reader *reader, char c)
{
    skip_blanks(reader);
    if (reader->at < reader->end && *reader->at == c) {
        reader->at++;
        return true;
    }
    return false;
}

static bool expect(struct reader *reader, char c)
{
    char what[] = {'\'', c, '\'', '\0'};
    return accept(reader, c) || fail(reader, what);
}

static bool read_int(struct reader *reader, int64_t *value)
{
    skip_blanks(reader);
    const char *at = reader->at;
    bool negative = at < reader->end && *at == '-';
    at += negative;
    if (at >= reader->end || *at < '0' || *at > '9') {
        return fail(reader, "an integer");
    }
    int64_t number = 0;
    while (at < reader->end && *at >= '0' && *at <= '9') {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at++ - '0', &number)) {
            return fail(reader, "an integer of 64 bits");
        }
    }
    reader->at = at;
    *value = negative ? -number : number;
    return true;
}

/* "(…)" with integers, or '*' for a combined tile dimension. */
static bool read_int_list(struct reader *reader, int64_t *values, int *count, int limit)
{
    *count = 0;
    if (!expect(reader, '(')) {
        return false;
    }
    while (!accept(reader, ')')) {
        if (*count >= limit) {
            return fail(reader, "fewer dimensions");
        }
        if (*count > 0 && !expect(reader, ',')) {
            return false;
        }
        if (accept(reader, '*')) {
            values[(*count)++] = TILE_COMBINED;
        } else if (!read_int(reader, &values[(*count)++])) {
            return false;
        }
    }
    return true;
}

static bool read_paren_int(struct reader *reader, int64_t *value)
{
    return expect(reader, '(') && read_int(reader, value) && expect(reader, ')');
}

static bool read_word_type(struct reader *reader, enum type *type)
{
    skip_blanks(reader);
    const char *begin = reader->at;
    while (reader->at < reader->end && ((*reader->at >= 'a' && *reader->at <= 'z') ||
                                        (*reader->at >= '0' && *reader->at <= '9'))) {
        reader->at++;
    }
    *type = type_from_text(begin, (size_t)(reader->at - begin));
    if (*type == TYPE_INVALID) {
        reader->at = begin;
        return fail(reader, "a type");
    }
    return true;
}

static bool read_paren_type(struct reader *reader, enum type *type)
{
    return expect(reader, '(') && read_word_type(reader, type) && expect(reader, ')');
}

static const struct shape *read_shape(struct reader *reader, int depth);

/* Storage for a layout while it is read. */
struct layout_parts {
    int64_t minor_to_major[SHAPE_MAX_RANK];
    struct tile tiles[LAYOUT_MAX_TILES];
    int64_t tile_dimensions[LAYOUT_MAX_TILES][SHAPE_MAX_RANK];
    struct split_config splits[8];
    int64_t split_indices[8][64];
    char dim_level_types[128];
};

static bool read_layout_field(struct reader *reader, struct layout *layout,
                              struct layout_parts *parts, int depth)
{
    char c = *reader->at++;
    switch (c) {
    case 'D': {
        const char *begin = reader->at;
        const char *close = memchr(begin, ')', (size_t)(reader->end - begin));
        if (close == NULL || *begin != '(' || close - begin > 120) {
            return fail(reader, "dimension level types");
        }
        for (const char *at = begin + 1; at < close; at++) {
            if (memchr("DCSH+~, ", *at, 8) == NULL) {
                return fail(reader, "dimension level types (D, C, S or H)");
            }
        }
        memcpy(parts->dim_level_types, begin + 1, (size_t)(close - begin - 1));
        parts->dim_level_types[close - begin - 1] = '\0';
        layout->dim_level_types = parts->dim_level_types;
        reader->at = close + 1;
        return true;
    }
    case 'T':
        do {
            if (layout->tile_count >= LAYOUT_MAX_TILES) {
                return fail(reader, "fewer tiles");
            }
            struct tile *tile = &parts->tiles[layout->tile_count];
            tile->dimensions = parts->tile_dimensions[layout->tile_count];
            if (!read_int_list(reader, parts->tile_dimensions[layout->tile_count], &tile->rank,
                               SHAPE_MAX_RANK)) {
                return false;
            }
            layout->tile_count++;
            skip_blanks(reader);
        } while (reader->at < reader->end && *reader->at == '(');
        layout->tiles = parts->tiles;
        return true;
    case 'L':
        return read_paren_int(reader, &layout->tail_padding_alignment);
    case '#':
        return read_paren_type(reader, &layout->index_type);
    case '*':
        return read_paren_type(reader, &layout->pointer_type);
    case 'E':
        return read_paren_int(reader, &layout->element_bits);
    case 'M':
        return read_paren_int(reader, &layout->dynamic_metadata_bytes);
    case 'P':
        return expect(reader, '(') &&
               (layout->physical_shape = read_shape(reader, depth + 1)) != NULL &&
               expect(reader, ')');
    case 'S':
        if (reader->at == reader->end || *reader->at != 'C') {
            return read_paren_int(reader, &layout->memory_space);
        }
        reader->at++;
        do {
            if (layout->split_count >= 8) {
                return fail(reader, "fewer split configurations");
            }
            struct split_config *split = &parts->splits[layout->split_count];
            int64_t *indices = parts->split_indices[layout->split_count];
            if (!expect(reader, '(') || !read_int(reader, &split->dimension) ||
                !expect(reader, ':')) {
                return false;
            }
            split->indices = indices;
            do {
                if (split->count >= 64 || !read_int(reader, &indices[split->count++])) {
                    return fail(reader, "fewer split indices");
                }
            } while (accept(reader, ','));
            if (!expect(reader, ')')) {
                return false;
            }
            layout->split_count++;
            skip_blanks(reader);
        } while (reader->at < reader->end && *reader->at == '(');
        layout->splits = parts->splits;
        return true;
    default:
        reader->at--;
        return fail(reader, "a layout field");
    }
}

/* The layout after '{'. */
static const struct layout *read_layout(struct reader *reader, int rank, int depth)
{
    struct layout_parts parts;
    memset(&parts, 0, sizeof parts);
    struct layout layout = {.minor_to_major = parts.minor_to_major, .tail_padding_alignment = 1};
    for (;;) {
        skip_blanks(reader);
        if (reader->at >= reader->end) {
            fail(reader, "'}'");
            return NULL;
        }
        if (*reader->at == '}' || *reader->at == ':') {
            break;
        }
        if (layout.rank > 0 && !expect(reader, ',')) {
            return NULL;
        }
        if (layout.rank >= SHAPE_MAX_RANK) {
            fail(reader, "fewer dimensions");
            return NULL;
        }
        if (!read_int(reader, &parts.minor_to_major[layout.rank++])) {
            return NULL;
        }
    }
    if (accept(reader, ':')) {
        for (skip_blanks(reader); reader->at < reader->end && *reader->at != '}';
             skip_blanks(reader)) {
            if (!read_layout_field(reader, &layout, &parts, depth)) {
                return NULL;
            }
        }
    }
    if (!expect(reader, '}')) {
        return NULL;
    }
    /* "{:…}" leaves the order out: the default. */
    if (layout.rank == 0 && rank > 0) {
        layout.rank = rank;
        for (int i = 0; i < rank; i++) {
            parts.minor_to_major[i] = rank - 1 - i;
        }
    }
    return layout_make(&layout);
}

static const struct shape *read_tuple(struct reader *reader, int depth)
{
    const struct shape *small[16];
    size_t capacity = 16, count = 0;
    const struct shape **elements = small;
    const struct shape *result = NULL;
    while (!accept(reader, ')')) {
        if (count > 0 && !expect(reader, ',')) {
            goto done;
        }
        if (count == capacity) {
            const struct shape **moved = memory_alloc(2 * capacity * sizeof *moved);
            memcpy(moved, elements, count * sizeof *moved);
            if (elements != small) {
                free(elements);
            }
            elements = moved;
            capacity *= 2;
        }
        elements[count] = read_shape(reader, depth + 1);
        if (elements[count++] == NULL) {
            goto done;
        }
    }
    result = shape_tuple((int)count, elements);
done:
    if (elements != small) {
        free(elements);
    }
    return result;
}

static const struct shape *read_shape(struct reader *reader, int depth)
{
    if (depth > SHAPE_MAX_NESTING) {
        fail(reader, "less nesting");
        return NULL;
    }
    if (accept(reader, '(')) {
        return read_tuple(reader, depth);
    }
    if (reader->end - reader->at > 1 && reader->at[0] == 'b' && reader->at[1] == '(') {
        reader->at += 2;
        const struct shape *inner = read_shape(reader, depth + 1);
        return inner != NULL && expect(reader, ')') ? shape_buffer(inner) : NULL;
    }
    enum type type;
    if (!read_word_type(reader, &type) || !expect(reader, '[')) {
        return NULL;
    }
    int64_t dimensions[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK] = {false};
    int rank = 0;
    while (!accept(reader, ']')) {
        if (rank > 0 && !expect(reader, ',')) {
            return NULL;
        }
        if (rank >= SHAPE_MAX_RANK) {
            fail(reader, "fewer dimensions");
            return NULL;
        }
        if (accept(reader, '?')) {
            dynamic[rank] = true;
            dimensions[rank++] = DIMENSION_UNBOUNDED;
            continue;
        }
        if (accept(reader, '<')) {
            dynamic[rank] = true;
            if (!expect(reader, '=')) {
                return NULL;
            }
            if (accept(reader, '?')) {
                dimensions[rank++] = DIMENSION_UNBOUNDED;
                continue;
            }
        }
        if (!read_int(reader, &dimensions[rank++])) {
            return NULL;
        }
    }
    if (type == TYPE_TOKEN || type == TYPE_OPAQUE) {
        if (rank > 0) {
            fail(reader, "no dimensions");
            return NULL;
        }
        return type == TYPE_TOKEN ? shape_token() : shape_opaque();
    }
    if (!type_is_array(type)) {
        fail(reader, "an element type");
        return NULL;
    }
    /* '{' opens a layout only if an integer or ':' follows, or "}" right away for a scalar. After
     * a blank it opens a value of the shape ("f32[2] {1, 2}"); XLA never prints a blank here. */
    const struct layout *layout = NULL;
    const char *open = reader->at;
    if (open < reader->end && *open == '{' && accept(reader, '{')) {
        skip_blanks(reader);
        bool is_layout =
            reader->at < reader->end && ((*reader->at >= '0' && *reader->at <= '9') ||
                                         *reader->at == ':' || (rank == 0 && *reader->at == '}'));
        if (!is_layout) {
            reader->at = open;
        } else if ((layout = read_layout(reader, rank, depth)) == NULL) {
            return NULL;
        }
    } else {
        reader->at = open;
    }
    if (layout != NULL && layout->rank != rank) {
        fail(reader, "a layout of the array's rank");
        return NULL;
    }
    return shape_make(type, rank, dimensions, dynamic, layout);
}

const struct shape *shape_parse(const char *text, size_t size, size_t *used, struct error *err)
{
    struct reader reader = {text, text, text + size, err};
    const struct shape *shape = read_shape(&reader, 0);
    if (used != NULL) {
        *used = (size_t)(reader.at - text);
    }
    if (shape != NULL && !shape_check(shape, err)) {
        return NULL;
    }
    return shape;
}
