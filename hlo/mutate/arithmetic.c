/* Faults of elementwise operations: the wrong operation, the wrong order of operands. */
#include "hlo/mutate/mutate_internal.h"

/* What an operation may be taken for. */
struct substitution {
    enum opcode from, to;
};

static bool substitute(struct instruction *instruction, const struct substitution *table,
                       size_t count, struct text *what)
{
    for (size_t i = 0; i < count; i++) {
        if (instruction->opcode != table[i].from) {
            continue;
        }
        if (what != NULL) {
            text_printf(what, "%s instead of %s", opcode_text(table[i].to),
                        opcode_text(table[i].from));
            instruction->opcode = table[i].to;
        }
        return true;
    }
    return false;
}
#define SUBSTITUTE(table) substitute(instruction, table, sizeof(table) / sizeof *(table), what)

static bool is_number(const struct instruction *instruction)
{
    return shape_is_array(instruction->shape) && instruction->shape->type != TYPE_PRED;
}

/* The two operands can stand for each other. */
static bool are_alike(const struct instruction *instruction, int a, int b)
{
    return instruction->operands[a] != instruction->operands[b] &&
           shape_compatible(instruction->operands[a]->shape, instruction->operands[b]->shape);
}

/* A product that makes sense the other way round: both sides pair the same dimensions. */
static bool is_symmetric_dot(const struct instruction *dot)
{
    return dot->opcode == OP_DOT && attr_get(dot, ATTR_SPARSITY_CONFIG) == NULL &&
           ints_equal(attr_ints(dot, ATTR_LHS_CONTRACTING_DIMS),
                      attr_ints(dot, ATTR_RHS_CONTRACTING_DIMS)) &&
           ints_equal(attr_ints(dot, ATTR_LHS_BATCH_DIMS), attr_ints(dot, ATTR_RHS_BATCH_DIMS));
}

static bool has_order(const struct instruction *instruction)
{
    static const enum opcode ordered[] = {
        OP_SUBTRACT,   OP_DIVIDE,  OP_REMAINDER,           OP_POWER,
        OP_ATAN2,      OP_COMPLEX, OP_SHIFT_RIGHT_LOGICAL, OP_SHIFT_RIGHT_ARITHMETIC,
        OP_SHIFT_LEFT, OP_COMPARE,
    };
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        if (instruction->opcode == ordered[i]) {
            int64_t direction = attr_int(instruction, ATTR_DIRECTION, DIRECTION_LT);
            return direction != DIRECTION_EQ && direction != DIRECTION_NE;
        }
    }
    return is_symmetric_dot(instruction);
}

static bool swap(struct instruction *instruction, int a, int b, struct text *what)
{
    if (what != NULL) {
        text_printf(what, "operands %d and %d are swapped", a, b);
        edit_swap(instruction, a, b);
    }
    return true;
}

bool mutate_operands(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    return instruction->operand_count == 2 && has_order(instruction) &&
           are_alike(instruction, 0, 1) && swap(instruction, 0, 1, what);
}

bool mutate_repeated(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const enum opcode binary[] = {
        OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE, OP_MAXIMUM, OP_MINIMUM, OP_AND, OP_OR, OP_XOR};
    bool known = false;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        known = known || instruction->opcode == binary[i];
    }
    if (!known || !are_alike(instruction, 0, 1)) {
        return false;
    }
    bool drops[] = {edit_drops(instruction, 0), edit_drops(instruction, 1)};
    if (!drops[0] && !drops[1]) {
        return false;
    }
    if (what != NULL) {
        int kept = edit_draw(rng, 2);
        kept = drops[1 - kept] ? kept : 1 - kept;
        text_printf(what, "operand %d is taken twice", kept);
        instruction->operands[1 - kept] = instruction->operands[kept];
    }
    return true;
}

bool mutate_add_subtract(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct substitution table[] = {{OP_ADD, OP_SUBTRACT}, {OP_SUBTRACT, OP_ADD}};
    (void)rng;
    return is_number(instruction) && SUBSTITUTE(table);
}

bool mutate_min_max(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct substitution table[] = {{OP_MAXIMUM, OP_MINIMUM}, {OP_MINIMUM, OP_MAXIMUM}};
    (void)rng;
    return SUBSTITUTE(table);
}

bool mutate_logic(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct substitution table[] = {{OP_AND, OP_OR}, {OP_OR, OP_XOR}, {OP_XOR, OP_OR}};
    (void)rng;
    return SUBSTITUTE(table);
}

bool mutate_shift(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct substitution table[] = {
        {OP_SHIFT_RIGHT_ARITHMETIC, OP_SHIFT_RIGHT_LOGICAL},
        {OP_SHIFT_RIGHT_LOGICAL, OP_SHIFT_RIGHT_ARITHMETIC}};
    (void)rng;
    return SUBSTITUTE(table);
}

bool mutate_function(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct substitution table[] = {
        {OP_SINE, OP_COSINE},
        {OP_COSINE, OP_SINE},
        {OP_EXPONENTIAL, OP_EXPONENTIAL_MINUS_ONE},
        {OP_EXPONENTIAL_MINUS_ONE, OP_EXPONENTIAL},
        {OP_LOG, OP_LOG_PLUS_ONE},
        {OP_LOG_PLUS_ONE, OP_LOG},
        {OP_SQRT, OP_RSQRT},
        {OP_RSQRT, OP_SQRT},
        {OP_CBRT, OP_SQRT},
        {OP_TANH, OP_LOGISTIC},
        {OP_LOGISTIC, OP_TANH},
    };
    (void)rng;
    return SUBSTITUTE(table);
}

bool mutate_dropped(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const enum opcode unary[] = {
        OP_ABS,  OP_NEGATE, OP_NOT,  OP_SIGN,     OP_EXPONENTIAL,        OP_EXPONENTIAL_MINUS_ONE,
        OP_LOG,  OP_SQRT,   OP_CBRT, OP_RSQRT,    OP_LOG_PLUS_ONE,       OP_TANH,
        OP_SINE, OP_COSINE, OP_TAN,  OP_LOGISTIC, OP_ROUND_NEAREST_EVEN, OP_ROUND_NEAREST_AFZ,
        OP_ERF,  OP_FLOOR,  OP_CEIL, OP_REVERSE,
    };
    (void)rng;
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        if (instruction->opcode == unary[i] &&
            shape_compatible(instruction->shape, instruction->operands[0]->shape)) {
            if (what != NULL) {
                text_printf(what, "%s is left out", opcode_text(unary[i]));
                edit_become(instruction, OP_COPY, 1, instruction->operands);
            }
            return true;
        }
    }
    return false;
}

/* --- comparisons and choices --- */

static bool redirect(struct instruction *compare, const enum direction *table, struct text *what)
{
    int64_t direction = attr_int(compare, ATTR_DIRECTION, DIRECTION_EQ);
    if (compare->opcode != OP_COMPARE || (int64_t)table[direction] == direction) {
        return false;
    }
    if (what != NULL) {
        text_printf(what, "direction %s instead of %s",
                    attr_enum_text(ATTR_KIND_DIRECTION, table[direction]),
                    attr_enum_text(ATTR_KIND_DIRECTION, direction));
        edit_set_integer(compare, ATTR_DIRECTION, table[direction]);
    }
    return true;
}

bool mutate_comparison(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const enum direction table[] = {
        [DIRECTION_EQ] = DIRECTION_NE, [DIRECTION_NE] = DIRECTION_EQ,
        [DIRECTION_GE] = DIRECTION_LE, [DIRECTION_LE] = DIRECTION_GE,
        [DIRECTION_GT] = DIRECTION_LT, [DIRECTION_LT] = DIRECTION_GT};
    (void)rng;
    return redirect(instruction, table, what);
}

bool mutate_strictness(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const enum direction table[] = {
        [DIRECTION_EQ] = DIRECTION_EQ, [DIRECTION_NE] = DIRECTION_NE,
        [DIRECTION_GE] = DIRECTION_GT, [DIRECTION_LE] = DIRECTION_LT,
        [DIRECTION_GT] = DIRECTION_GE, [DIRECTION_LT] = DIRECTION_LE};
    (void)rng;
    return redirect(instruction, table, what);
}

/* The comparison that a sort's comparator ends with. */
bool mutate_sort_order(struct instruction *instruction, struct rng *rng, struct text *what)
{
    return instruction == instruction->parent->root && mutate_comparison(instruction, rng, what);
}

bool mutate_clamp(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    return instruction->opcode == OP_CLAMP && are_alike(instruction, 0, 2) &&
           swap(instruction, 0, 2, what);
}

bool mutate_select(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    return instruction->opcode == OP_SELECT && are_alike(instruction, 1, 2) &&
           swap(instruction, 1, 2, what);
}

/* --- to integers --- */

bool mutate_rounding(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct substitution table[] = {
        {OP_FLOOR, OP_ROUND_NEAREST_EVEN},
        {OP_CEIL, OP_ROUND_NEAREST_EVEN},
        {OP_ROUND_NEAREST_EVEN, OP_ROUND_NEAREST_AFZ},
        {OP_ROUND_NEAREST_AFZ, OP_ROUND_NEAREST_EVEN},
    };
    (void)rng;
    if (instruction->opcode != OP_CONVERT) {
        return SUBSTITUTE(table);
    }
    struct instruction *operand = instruction->operands[0];
    if (!type_is_float(operand->shape->type) || !type_is_integer(instruction->shape->type)) {
        return false;
    }
    if (what != NULL) {
        text_append(what, "rounds to the nearest integer instead of toward zero");
        instruction->operands[0] =
            edit_unary(instruction, OP_ROUND_NEAREST_EVEN, operand->shape, operand);
    }
    return true;
}
#undef SUBSTITUTE
