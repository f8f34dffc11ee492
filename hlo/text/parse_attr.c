/* Attributes of instructions: the list, and the kinds that are a number, a word or a list. What is
 * allowed where is in the tables (attrs.def, opcodes.def); how a kind reads is one function. */
#include <ctype.h>
#include <math.h>
#include <pthread.h>

#include "hlo/base/arena.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/text/parse.h"

/* --- kinds --- */

static bool parse_int(struct parser *parser, struct attr *attr)
{
    return lexer_int(&parser->lexer, &attr->integer);
}

static bool parse_bool(struct parser *parser, struct attr *attr)
{
    bool value = false;
    bool ok = lexer_bool(&parser->lexer, &value);
    attr->integer = value;
    return ok;
}

static bool parse_float(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *at = lexer->at;
    double value;
    if (!lexer_double(lexer, &value)) {
        return false;
    }
    if (fabs(value) > float_max(TYPE_F32)) {
        return lexer_fail(lexer, at, "number is out of the range of f32");
    }
    attr->real = float_round(TYPE_F32, value);
    return true;
}

static bool parse_string(struct parser *parser, struct attr *attr)
{
    return lexer_string(&parser->lexer, parser->arena, &attr->bytes);
}

static bool parse_string_or_word(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct span word = lexer_word(lexer);
    if (word.size == 0) {
        return parse_string(parser, attr);
    }
    attr->bytes.data = arena_string(parser->arena, word.data, word.size);
    attr->bytes.size = word.size;
    return true;
}

static bool parse_raw(struct parser *parser, struct attr *attr)
{
    struct span span;
    if (!lexer_braces(&parser->lexer, &span)) {
        return false;
    }
    attr->bytes.data = arena_string(parser->arena, span.data, span.size);
    attr->bytes.size = span.size;
    return true;
}

static bool parse_backend_config(struct parser *parser, struct attr *attr)
{
    return lexer_peek(&parser->lexer) == '{' ? parse_raw(parser, attr) : parse_string(parser, attr);
}

static bool parse_ints(struct parser *parser, struct attr *attr)
{
    return parse_int_list(parser, '{', '}', ',', &attr->ints);
}

/* Lists of the arena from those on the scratch stack. */
static bool parse_lists(struct parser *parser, struct lists *lists)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            struct ints *list = arena_alloc(parser->arena, sizeof *list);
            stack_push(&parser->scratch, list);
            if (!parse_int_list(parser, '{', '}', ',', list)) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    struct ints *all = arena_array(parser->arena, count, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        all[i] = *(struct ints *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    *lists = (struct lists){(int)count, all, true};
    return true;
}

static bool parse_ints_or_lists(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    const char *begin = (lexer_skip(lexer), lexer->at);
    bool nested = lexer_accept(lexer, '{') && lexer_peek(lexer) == '{';
    lexer->at = begin;
    if (nested) {
        return parse_lists(parser, &attr->lists);
    }
    struct ints *list = arena_alloc(parser->arena, sizeof *list);
    attr->lists = (struct lists){1, list, false};
    return parse_int_list(parser, '{', '}', ',', list);
}

static bool parse_bools(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            bool value;
            if (!lexer_bool(lexer, &value)) {
                return false;
            }
            ints_push(parser, value);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    attr->ints = ints_take(parser, base);
    return true;
}

static bool parse_pairs(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            int64_t first, second;
            if (!lexer_expect(lexer, '{') || !lexer_int(lexer, &first) ||
                !lexer_expect(lexer, ',') || !lexer_int(lexer, &second) ||
                !lexer_expect(lexer, '}')) {
                return false;
            }
            ints_push(parser, first);
            ints_push(parser, second);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    attr->ints = ints_take(parser, base);
    return true;
}

static bool parse_precisions(struct parser *parser, struct attr *attr)
{
    static const char *const words[] = {"default", "high", "highest", "packed_nibble"};
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            struct span word = lexer_word(lexer);
            int value = 0;
            while (value < 4 && !span_is_any_case(word, words[value])) {
                value++;
            }
            if (value == 4) {
                lexer->at = word.data;
                return lexer_expected(lexer, "default, high, highest or packed_nibble");
            }
            ints_push(parser, value);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    int count = (int)(parser->int_count - base);
    uint8_t *values = arena_alloc(parser->arena, (size_t)count);
    for (int i = 0; i < count; i++) {
        values[i] = (uint8_t)parser->ints[base + (size_t)i];
    }
    parser->int_count = base;
    attr->precisions = (struct precisions){count, values};
    return true;
}

static bool parse_one_shape(struct parser *parser, struct attr *attr)
{
    attr->shape = parse_shape(parser);
    return attr->shape != NULL;
}

static bool parse_shapes(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            const struct shape *shape = parse_shape(parser);
            if (shape == NULL) {
                return false;
            }
            stack_push(&parser->scratch, (void *)shape);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    attr->shapes.count = (int)count;
    attr->shapes.shapes =
        arena_copy(parser->arena, parser->scratch.items + base, count * sizeof(void *));
    parser->scratch.count = base;
    return true;
}

/* The value of a word, in any case where XLA does not mind it (StringToEnum). */
static int64_t word_value(enum attr_kind kind, struct span word)
{
    int64_t value = attr_enum_value(kind, word.data, word.size);
    bool is_strict = kind != ATTR_KIND_DISTRIBUTION && kind != ATTR_KIND_ALGORITHM &&
                     kind != ATTR_KIND_SCHEDULE && kind != ATTR_KIND_API_VERSION;
    char other[64];
    if (value >= 0 || is_strict || word.size >= sizeof other) {
        return value;
    }
    for (size_t i = 0; i < word.size; i++) {
        other[i] = (char)tolower((unsigned char)word.data[i]);
    }
    value = attr_enum_value(kind, other, word.size);
    for (size_t i = 0; i < word.size; i++) {
        other[i] = (char)toupper((unsigned char)word.data[i]);
    }
    return value >= 0 ? value : attr_enum_value(kind, other, word.size);
}

static bool parse_word(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct span word = lexer_word(lexer);
    if (word.size == 0) {
        return lexer_expected(lexer, "a word");
    }
    enum attr_kind kind = attr_table[attr->key].kind;
    attr->integer = word_value(kind, word);
    if (attr->integer < 0 || (kind == ATTR_KIND_API_VERSION && attr->integer == 0)) {
        return lexer_fail(lexer, word.data, "%s cannot be %.*s", attr_table[attr->key].text,
                          (int)word.size, word.data);
    }
    return true;
}

static parse_value_function *const value_parsers[] = {
    [ATTR_KIND_INT] = parse_int,
    [ATTR_KIND_BOOL] = parse_bool,
    [ATTR_KIND_FLOAT] = parse_float,
    [ATTR_KIND_STRING] = parse_string,
    [ATTR_KIND_STRING_OR_WORD] = parse_string_or_word,
    [ATTR_KIND_RAW] = parse_raw,
    [ATTR_KIND_SPARSITY] = parse_sparsity,
    [ATTR_KIND_BACKEND_CONFIG] = parse_backend_config,
    [ATTR_KIND_INTS] = parse_ints,
    [ATTR_KIND_INTS_OR_LISTS] = parse_ints_or_lists,
    [ATTR_KIND_BOOLS] = parse_bools,
    [ATTR_KIND_PAIRS] = parse_pairs,
    [ATTR_KIND_SLICES] = parse_slices,
    [ATTR_KIND_WINDOW] = parse_window,
    [ATTR_KIND_PADDING] = parse_padding,
    [ATTR_KIND_DIM_LABELS] = parse_dim_labels,
    [ATTR_KIND_GROUPS] = parse_groups,
    [ATTR_KIND_PRECISIONS] = parse_precisions,
    [ATTR_KIND_SHARDING] = parse_sharding,
    [ATTR_KIND_LITERAL] = parse_literal,
    [ATTR_KIND_SHAPE] = parse_one_shape,
    [ATTR_KIND_SHAPES] = parse_shapes,
    [ATTR_KIND_ALIASING] = parse_aliasing,
    [ATTR_KIND_DOMAIN] = parse_domain,
    [ATTR_KIND_RESULT_ACCURACY] = parse_result_accuracy,
    [ATTR_KIND_STRING_MAP] = parse_string_map,
    [ATTR_KIND_METADATA] = parse_metadata,
    [ATTR_KIND_ORIGIN] = parse_origin,
    [ATTR_KIND_STATISTICS] = parse_statistics,
    [ATTR_KIND_COMPUTATION] = NULL,
    [ATTR_KIND_COMPUTATIONS] = NULL,
    [ATTR_KIND_INSTRUCTIONS] = NULL,
    [ATTR_KIND_FFT_TYPE] = parse_word,
    [ATTR_KIND_DIRECTION] = parse_word,
    [ATTR_KIND_COMPARE_TYPE] = parse_word,
    [ATTR_KIND_TRANSPOSE] = parse_word,
    [ATTR_KIND_CONVOLUTION_KIND] = parse_word,
    [ATTR_KIND_DISTRIBUTION] = parse_word,
    [ATTR_KIND_ALGORITHM] = parse_word,
    [ATTR_KIND_FUSION_KIND] = parse_word,
    [ATTR_KIND_SCHEDULE] = parse_word,
    [ATTR_KIND_API_VERSION] = parse_word,
    [ATTR_KIND_PADDING_TYPE] = parse_word,
};

/* --- kinds that are not kept in the list --- */

static enum callee callee_of(enum attr_key key)
{
    switch (key) {
    case ATTR_TO_APPLY:
        return CALLEE_TO_APPLY;
    case ATTR_CALLS:
        return CALLEE_CALLS;
    case ATTR_BODY:
        return CALLEE_BODY;
    case ATTR_CONDITION:
        return CALLEE_CONDITION;
    case ATTR_SELECT:
        return CALLEE_SELECT;
    case ATTR_SCATTER:
        return CALLEE_SCATTER;
    case ATTR_TRUE_COMPUTATION:
        return CALLEE_TRUE;
    default:
        return CALLEE_FALSE;
    }
}

static bool parse_computation_list(struct parser *parser, struct callees *callees)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            struct computation *computation;
            if (!parse_callee(parser, &computation)) {
                return false;
            }
            stack_push(&parser->scratch, computation);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    callees->list_count = (int)count;
    callees->list =
        arena_copy(parser->arena, parser->scratch.items + base, count * sizeof *callees->list);
    parser->scratch.count = base;
    return true;
}

static bool parse_predecessors(struct parser *parser, struct scope *scope,
                               struct instruction *instruction)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    parser->mark++;
    do {
        struct span name;
        if (!lexer_name(lexer, &name, "an instruction")) {
            return false;
        }
        struct instruction *predecessor =
            names_find(&parser->names, scope->names, name.data, name.size);
        if (predecessor == NULL) {
            return lexer_fail(lexer, name.data, "no instruction %.*s before this", (int)name.size,
                              name.data);
        }
        if (predecessor->id != parser->mark) { /* ids are given out when all is read */
            predecessor->id = parser->mark;
            stack_push(&parser->scratch, predecessor);
        }
    } while (lexer_accept(lexer, ','));
    size_t count = parser->scratch.count - base;
    instruction->control_count = (int)count;
    instruction->control_predecessors =
        arena_copy(parser->arena, parser->scratch.items + base, count * sizeof(void *));
    parser->scratch.count = base;
    return lexer_expect(lexer, '}');
}

void parse_set_called(struct parser *parser, struct instruction *instruction,
                      const struct callees *callees)
{
    struct computation *called[CALLEE_COUNT];
    int count = 0;
    for (int i = 0; i < CALLEE_COUNT; i++) {
        if (callees->single[i] != NULL) {
            called[count++] = callees->single[i];
        }
    }
    if (count > 0) {
        instruction->called = arena_copy(parser->arena, called, (size_t)count * sizeof *called);
        instruction->called_count = count;
    } else {
        instruction->called = callees->list;
        instruction->called_count = callees->list_count;
    }
}

/* --- the list --- */

struct key_set {
    uint64_t bits[(ATTR_COUNT + 63) / 64];
};

static bool has_key(const struct key_set *set, int key)
{
    return (set->bits[key / 64] >> (key % 64) & 1) != 0;
}

static void add_key(struct key_set *set, int key)
{
    set->bits[key / 64] |= (uint64_t)1 << (key % 64);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct key_set required[OPCODE_COUNT];

static void collect_required(void)
{
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        for (int key = 0; key < ATTR_COUNT; key++) {
            if (opcode_requires((enum opcode)opcode, key)) {
                add_key(&required[opcode], key);
            }
        }
    }
}

/* Keys that are required because of the operands. */
static void require_by_operands(const struct instruction *instruction, struct key_set *keys)
{
    if (instruction->opcode == OP_BROADCAST && !shape_is_scalar(instruction->operands[0]->shape)) {
        add_key(keys, ATTR_DIMENSIONS);
    }
    if (instruction->opcode == OP_CONDITIONAL && instruction->operand_count > 0) {
        if (instruction->operands[0]->shape->type == TYPE_PRED) {
            add_key(keys, ATTR_TRUE_COMPUTATION);
            add_key(keys, ATTR_FALSE_COMPUTATION);
        } else {
            add_key(keys, ATTR_BRANCH_COMPUTATIONS);
        }
    }
}

static bool check_required(struct parser *parser, const struct instruction *instruction,
                           enum opcode opcode, const struct key_set *seen, const char *at)
{
    pthread_once(&once, collect_required);
    struct key_set keys = required[opcode];
    require_by_operands(instruction, &keys);
    for (size_t i = 0; i < sizeof keys.bits / sizeof *keys.bits; i++) {
        uint64_t missing = keys.bits[i] & ~seen->bits[i];
        if (missing != 0) {
            int key = (int)i * 64 + __builtin_ctzll(missing);
            return lexer_fail(&parser->lexer, at, "%s needs the attribute %s", opcode_text(opcode),
                              attr_table[key].text);
        }
    }
    return true;
}

/* Attributes that fit the opcode but not this use of it. */
static bool check_use(struct parser *parser, const struct instruction *instruction,
                      enum opcode opcode, const struct attr *attr, const char *at)
{
    const char *text = attr_table[attr->key].text;
    bool ok = true;
    if (attr->key == ATTR_ALGORITHM) {
        ok = (attr->integer >= ALGORITHM_RNG) == (opcode == OP_RNG_BIT_GENERATOR);
    } else if (attr->key == ATTR_SLICE_SIZES) {
        ok = attr->lists.nested == (opcode != OP_GATHER) || attr->lists.lists[0].count == 0;
    } else if (opcode == OP_CONDITIONAL && instruction->operand_count > 0) {
        bool is_pred = instruction->operands[0]->shape->type == TYPE_PRED;
        ok = attr->key == ATTR_BRANCH_COMPUTATIONS                                       ? !is_pred
             : attr->key == ATTR_TRUE_COMPUTATION || attr->key == ATTR_FALSE_COMPUTATION ? is_pred
                                                                                         : true;
    }
    return ok ||
           lexer_fail(&parser->lexer, at, "%s does not fit this %s", text, opcode_text(opcode));
}

static bool is_allowed(const struct instruction *instruction, enum opcode wrapped,
                       enum attr_key key)
{
    if (instruction->opcode == OP_ASYNC_START && wrapped != OP_ASYNC_START) {
        return opcode_takes(wrapped, key) || key == ATTR_ASYNC_EXECUTION_THREAD ||
               key == ATTR_OUTPUT_TO_OPERAND_ALIASING;
    }
    if (wrapped != instruction->opcode && key == ATTR_CALLS) {
        return false;
    }
    return opcode_takes(instruction->opcode, key);
}

static bool parse_attribute(struct parser *parser, struct scope *scope,
                            struct instruction *instruction, enum opcode opcode, enum attr_key key,
                            const char *at, struct callees *callees)
{
    struct attr attr = {.key = key};
    switch (attr_table[key].kind) {
    case ATTR_KIND_COMPUTATION:
        return check_use(parser, instruction, opcode, &attr, at) &&
               parse_callee(parser, &callees->single[callee_of(key)]);
    case ATTR_KIND_COMPUTATIONS:
        return check_use(parser, instruction, opcode, &attr, at) &&
               parse_computation_list(parser, callees);
    case ATTR_KIND_INSTRUCTIONS:
        return parse_predecessors(parser, scope, instruction);
    default:
        if (!value_parsers[attr_table[key].kind](parser, &attr)) {
            return false;
        }
        instruction_set_attr(instruction, attr);
        return check_use(parser, instruction, opcode, &attr, at);
    }
}

bool parse_attributes(struct parser *parser, struct scope *scope, struct instruction *instruction,
                      enum opcode wrapped, bool allowed, struct callees *callees, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    enum opcode opcode = instruction->opcode == OP_ASYNC_START ? wrapped : instruction->opcode;
    struct key_set seen = {{0}};
    while (allowed && lexer_accept(lexer, ',')) {
        struct span name;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        enum attr_key key = attr_from_text(name.data, name.size);
        if (key == ATTR_COUNT || !is_allowed(instruction, wrapped, key)) {
            return lexer_fail(lexer, name.data, "%s has no attribute %.*s", opcode_text(opcode),
                              (int)name.size, name.data);
        }
        if (has_key(&seen, key)) {
            return lexer_fail(lexer, name.data, "attribute %s is there twice",
                              attr_table[key].text);
        }
        add_key(&seen, key);
        if (!parse_attribute(parser, scope, instruction, opcode, key, name.data, callees)) {
            return false;
        }
    }
    if (has_key(&seen, ATTR_TO_APPLY) && has_key(&seen, ATTR_CALLED_COMPUTATIONS)) {
        return lexer_fail(lexer, at, "%s has both to_apply and called_computations",
                          opcode_text(opcode));
    }
    return check_required(parser, instruction, opcode, &seen, at);
}
