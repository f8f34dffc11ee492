/* Attribute values that describe dimensions: windows, paddings, slices, dimension labels. */
#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/text/parse.h"

/* "1x2x3" */
static bool parse_crosses(struct parser *parser, struct ints *value)
{
    size_t base = parser->int_count;
    int64_t item;
    do {
        if (!lexer_int(&parser->lexer, &item)) {
            return false;
        }
        ints_push(parser, item);
    } while (*parser->lexer.at == 'x' && parser->lexer.at++ != NULL);
    *value = ints_take(parser, base);
    return true;
}

/* "0_1x2_3" with `least` to `most` numbers a dimension; missing ones are 0. Gives `most` integers
 * for each dimension. */
static bool parse_pads(struct parser *parser, int least, int most, struct ints *value)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    do {
        int count = 0;
        do {
            int64_t item;
            if (count == most) {
                return lexer_fail(lexer, lexer->at - 1, "more than %d numbers of a padding", most);
            }
            if (!lexer_int(lexer, &item)) {
                return false;
            }
            ints_push(parser, item);
            count++;
        } while (*lexer->at == '_' && lexer->at++ != NULL);
        if (count < least) {
            return lexer_fail(lexer, lexer->at, "expected '_' in a padding");
        }
        while (count++ < most) {
            ints_push(parser, 0);
        }
    } while (*lexer->at == 'x' && lexer->at++ != NULL);
    *value = ints_take(parser, base);
    return true;
}

enum {
    WINDOW_SIZE,
    WINDOW_STRIDE,
    WINDOW_PAD,
    WINDOW_LHS,
    WINDOW_RHS,
    WINDOW_REVERSAL,
    WINDOW_FIELDS
};
static const char *const window_fields[WINDOW_FIELDS] = {
    "size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};

bool parse_window(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct ints fields[WINDOW_FIELDS] = {{0, NULL}};
    lexer_skip(lexer);
    const char *begin = lexer->at;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (!lexer_accept(lexer, '}')) {
        struct span name;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        int i = 0;
        while (i < WINDOW_FIELDS && !span_is(name, window_fields[i])) {
            i++;
        }
        if (i == WINDOW_FIELDS || fields[i].count > 0) {
            return lexer_fail(lexer, name.data, "%s field %.*s in a window",
                              i == WINDOW_FIELDS ? "unknown" : "repeated", (int)name.size,
                              name.data);
        }
        if (!(i == WINDOW_PAD ? parse_pads(parser, 2, 2, &fields[i])
                              : parse_crosses(parser, &fields[i]))) {
            return false;
        }
    }
    int rank = fields[WINDOW_SIZE].count;
    for (int i = 0; i < WINDOW_FIELDS; i++) {
        int wanted = i == WINDOW_PAD ? 2 * rank : rank;
        if (fields[i].count != 0 && fields[i].count != wanted) {
            return lexer_fail(lexer, begin, "%s of the window has not the %d dimensions of size",
                              window_fields[i], rank);
        }
    }
    struct window_dimension *dimensions =
        arena_array(parser->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        const int64_t *pad = fields[WINDOW_PAD].values;
        dimensions[i] = (struct window_dimension){
            .size = fields[WINDOW_SIZE].values[i],
            .stride = fields[WINDOW_STRIDE].count > 0 ? fields[WINDOW_STRIDE].values[i] : 1,
            .padding_low = pad != NULL ? pad[2 * i] : 0,
            .padding_high = pad != NULL ? pad[2 * i + 1] : 0,
            .window_dilation = fields[WINDOW_RHS].count > 0 ? fields[WINDOW_RHS].values[i] : 1,
            .base_dilation = fields[WINDOW_LHS].count > 0 ? fields[WINDOW_LHS].values[i] : 1,
            .reversal = fields[WINDOW_REVERSAL].count > 0 && fields[WINDOW_REVERSAL].values[i] == 1,
        };
    }
    attr->window = (struct window){rank, dimensions};
    return true;
}

/* {sparsity=2x4 dimension=1 stride=1 idx=0}: appends its canonical form. */
static bool parse_tensor_sparsity(struct parser *parser, const char *side, struct text *text)
{
    struct lexer *lexer = &parser->lexer;
    static const char *const names[] = {"dimension", "stride", "idx"};
    int64_t values[3] = {0, 0, 0};
    struct ints sparsity = {0, NULL};
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (!lexer_accept(lexer, '}')) {
        struct span name;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        if (span_is(name, "sparsity")) {
            if (!parse_crosses(parser, &sparsity)) {
                return false;
            }
            if (sparsity.count != 2) {
                return lexer_fail(lexer, name.data, "sparsity is written NONZEROxBLOCK");
            }
            continue;
        }
        int i = 0;
        while (i < 3 && !span_is(name, names[i])) {
            i++;
        }
        if (i == 3) {
            return lexer_fail(lexer, name.data, "unknown field %.*s of a sparsity", (int)name.size,
                              name.data);
        }
        if (!lexer_int(lexer, &values[i])) {
            return false;
        }
    }
    text_printf(text, "%s={sparsity=%lldx%lld dimension=%lld stride=%lld idx=%lld}", side,
                (long long)(sparsity.count > 0 ? sparsity.values[0] : 0),
                (long long)(sparsity.count > 0 ? sparsity.values[1] : 0), (long long)values[0],
                (long long)values[1], (long long)values[2]);
    return true;
}

/* {lhs={…} rhs={…}} */
bool parse_sparsity(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct text sides[2];
    bool ok = lexer_expect(lexer, '{');
    text_init(&sides[0]);
    text_init(&sides[1]);
    while (ok && !lexer_accept(lexer, '}')) {
        struct span name;
        ok = lexer_attribute(lexer, &name);
        if (ok && !span_is(name, "lhs") && !span_is(name, "rhs")) {
            ok = lexer_fail(lexer, name.data, "a sparsity_config has lhs and rhs");
        }
        if (ok) {
            bool is_left = span_is(name, "lhs");
            struct text *side = &sides[is_left ? 0 : 1];
            text_clear(side);
            ok = parse_tensor_sparsity(parser, is_left ? "lhs" : "rhs", side);
        }
    }
    attr->bytes.data =
        arena_printf(parser->arena, "{%s%s%s}", sides[0].data,
                     sides[0].size > 0 && sides[1].size > 0 ? " " : "", sides[1].data);
    attr->bytes.size = strlen(attr->bytes.data);
    text_finish(&sides[0]);
    text_finish(&sides[1]);
    return ok;
}

bool parse_padding(struct parser *parser, struct attr *attr)
{
    char next = lexer_peek(&parser->lexer);
    if (next != '-' && !(lex_class[(unsigned char)next] & LEX_DIGIT)) {
        attr->padding = (struct padding){0, NULL}; /* of a scalar: XLA prints nothing */
        return true;
    }
    struct ints pads;
    if (!parse_pads(parser, 2, 3, &pads)) {
        return false;
    }
    int rank = pads.count / 3;
    struct padding_dimension *dimensions =
        arena_array(parser->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        const int64_t *pad = pads.values + 3 * (ptrdiff_t)i;
        dimensions[i] = (struct padding_dimension){pad[0], pad[1], pad[2]};
    }
    attr->padding = (struct padding){rank, dimensions};
    return true;
}

bool parse_slices(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            lexer_skip(lexer);
            const char *at = lexer->at;
            struct ints range;
            if (!parse_int_list(parser, '[', ']', ':', &range)) {
                return false;
            }
            if (range.count != 2 && range.count != 3) {
                return lexer_fail(lexer, at, "expected [start:limit] or [start:limit:stride]");
            }
            ints_push(parser, range.values[0]);
            ints_push(parser, range.values[1]);
            ints_push(parser, range.count == 3 ? range.values[2] : 1);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    struct ints flat = ints_take(parser, base);
    int rank = flat.count / 3;
    struct slice_dimension *dimensions =
        arena_array(parser->arena, (size_t)rank, sizeof *dimensions);
    for (int i = 0; i < rank; i++) {
        const int64_t *range = flat.values + 3 * (ptrdiff_t)i;
        dimensions[i] = (struct slice_dimension){range[0], range[1], range[2]};
    }
    attr->slices = (struct slices){rank, dimensions};
    return true;
}

/* --- dimension labels --- */

/* One side, e.g. "b01f": where the two letters and the digits are. `unknown` gets a bit for each
 * position of a '?'. Returns the digits' positions, or NULL. */
static const int64_t *parse_labels(struct parser *parser, const char *letters, int64_t *first,
                                   int64_t *second, int *rank, int *unknown)
{
    struct lexer *lexer = &parser->lexer;
    enum { MOST = 16 };
    const char *begin = lexer->at;
    int64_t digits[10];
    int size = 0, count = 0;
    bool seen[256] = {false};
    memset(digits, -1, sizeof digits);
    *unknown = 0;
    *first = *second = 0;
    for (;; lexer->at++, size++) {
        char c = *lexer->at;
        bool is_digit = (lex_class[(unsigned char)c] & LEX_DIGIT) != 0;
        if (c != letters[0] && c != letters[1] && c != '?' && !is_digit) {
            break;
        }
        if (size == MOST || (c != '?' && seen[(unsigned char)c])) {
            lexer_fail(lexer, lexer->at,
                       size == MOST ? "too many dimension labels" : "repeated dimension label");
            return NULL;
        }
        seen[(unsigned char)c] = true;
        if (c == '?') {
            *unknown |= 1 << size;
        } else if (is_digit) {
            digits[c - '0'] = size;
            count++;
        } else {
            *(c == letters[0] ? first : second) = size;
        }
    }
    if (size < 2) {
        lexer_expected(lexer, "dimension labels, such as b01f_01io->b01f");
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        if (digits[i] < 0) {
            lexer_fail(lexer, begin, "dimension label %d is missing", i);
            return NULL;
        }
    }
    *rank = count;
    return arena_copy(parser->arena, digits, sizeof digits);
}

bool parse_dim_labels(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct dim_labels *labels = arena_alloc(parser->arena, sizeof *labels);
    lexer_skip(lexer);
    const char *begin = lexer->at;
    int input, kernel, output;
    labels->input_spatial = parse_labels(parser, "bf", &labels->input_batch, &labels->input_feature,
                                         &input, &labels->input_unknown);
    if (labels->input_spatial == NULL) {
        return false;
    }
    if (*lexer->at++ != '_') {
        lexer->at--;
        return lexer_expected(lexer, "'_' between dimension labels");
    }
    labels->kernel_spatial =
        parse_labels(parser, "io", &labels->kernel_input_feature, &labels->kernel_output_feature,
                     &kernel, &labels->kernel_unknown);
    if (labels->kernel_spatial == NULL) {
        return false;
    }
    if (lexer->at[0] != '-' || lexer->at[1] != '>') {
        return lexer_expected(lexer, "'->' between dimension labels");
    }
    lexer->at += 2;
    labels->output_spatial =
        parse_labels(parser, "bf", &labels->output_batch, &labels->output_feature, &output,
                     &labels->output_unknown);
    if (labels->output_spatial == NULL) {
        return false;
    }
    if (input != kernel || input != output) {
        return lexer_fail(lexer, begin,
                          "input, kernel and output have %d, %d and %d spatial dimensions, which "
                          "must agree",
                          input, kernel, output);
    }
    labels->spatial_rank = input;
    attr->dim_labels = labels;
    return true;
}
