/* Rewrites. */
#include "compare/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

/* A new instruction in the computation of `near`. Names stay unique by its position. */
static struct instruction *make(struct instruction *near, enum opcode opcode,
                                const struct shape *shape, int count,
                                struct instruction *const *operands)
{
    struct computation *computation = near->parent;
    char *name =
        arena_printf(&computation->module->arena, "licence.%d.%s", computation->count, near->name);
    return instruction_add(computation, name, opcode, shape, count, operands);
}

static struct instruction *unary(struct instruction *near, enum opcode opcode,
                                 struct instruction *operand)
{
    return make(near, opcode, operand->shape, 1, &operand);
}

static struct instruction *binary(struct instruction *near, enum opcode opcode,
                                  struct instruction *a, struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    return make(near, opcode, a->shape, 2, operands);
}

/* Turns the instruction into another operation in place, so that its users need no change. */
static void become(struct instruction *instruction, enum opcode opcode, int count,
                   struct instruction *a, struct instruction *b)
{
    struct instruction *operands[] = {a, b};
    instruction->opcode = opcode;
    instruction->operand_count = count;
    instruction->operands =
        arena_copy(&instruction->parent->module->arena, operands, (size_t)count * sizeof *operands);
    instruction->attr_count = 0;
}

static bool inexact(const struct instruction *instruction)
{
    return shape_is_array(instruction->shape) &&
           (type_is_float(instruction->shape->type) || type_is_complex(instruction->shape->type));
}

/* Contracts the product at operand `at`, or the other one if that is none. */
static bool contract(struct instruction *sum, int at, bool dry)
{
    if ((sum->opcode != OP_ADD && sum->opcode != OP_SUBTRACT) || !shape_is_array(sum->shape) ||
        !type_is_float(sum->shape->type) || type_bits(sum->shape->type) > 32) {
        return false;
    }
    at = sum->operands[at]->opcode == OP_MULTIPLY ? at : 1 - at;
    struct instruction *product = sum->operands[at], *other = sum->operands[1 - at];
    if (product->opcode != OP_MULTIPLY || product->shape->type != sum->shape->type) {
        return false;
    }
    if (dry) {
        return true;
    }
    const struct shape *wide = shape_with_type(sum->shape, TYPE_F64);
    struct instruction *a = make(sum, OP_CONVERT, wide, 1, &product->operands[0]);
    struct instruction *b = make(sum, OP_CONVERT, wide, 1, &product->operands[1]);
    struct instruction *c = make(sum, OP_CONVERT, wide, 1, &other);
    struct instruction *wide_product = binary(sum, OP_MULTIPLY, a, b);
    struct instruction *operands[] = {at == 0 ? wide_product : c, at == 0 ? c : wide_product};
    struct instruction *wide_sum = make(sum, sum->opcode, wide, 2, operands);
    become(sum, OP_CONVERT, 1, wide_sum, NULL);
    return true;
}

bool rewrite_contract_first(struct instruction *sum, bool dry)
{
    return contract(sum, 0, dry);
}

bool rewrite_contract_second(struct instruction *sum, bool dry)
{
    return contract(sum, 1, dry);
}

/* 1/c for a constant c, looked up through broadcasts. */
static struct instruction *reciprocal(struct instruction *divide)
{
    struct instruction *divisor = divide->operands[1];
    struct instruction *constant = divisor;
    while (constant->opcode == OP_BROADCAST || constant->opcode == OP_RESHAPE) {
        constant = constant->operands[0];
    }
    if (constant->opcode != OP_CONSTANT) {
        return NULL;
    }
    struct literal *one = literal_zero(divisor->shape, NULL);
    if (one == NULL) {
        return NULL;
    }
    int64_t count = literal_elements(one);
    for (int64_t i = 0; i < count; i++) {
        literal_set_double(one, i, 1);
    }
    struct instruction *ones = make(divide, OP_CONSTANT, divisor->shape, 0, NULL);
    ones->literal = one;
    return binary(divide, OP_DIVIDE, ones, divisor);
}

static bool is_constant(const struct instruction *instruction)
{
    while (instruction->opcode == OP_BROADCAST || instruction->opcode == OP_RESHAPE) {
        instruction = instruction->operands[0];
    }
    return instruction->opcode == OP_CONSTANT;
}

static bool rewrite_divide(struct instruction *divide, bool dry)
{
    struct instruction *a = divide->operands[0], *b = divide->operands[1];
    bool matches = a->opcode == OP_DIVIDE || b->opcode == OP_DIVIDE || b->opcode == OP_SQRT ||
                   b->opcode == OP_RSQRT || b->opcode == OP_EXPONENTIAL || is_constant(b);
    if (!matches || dry) {
        return matches;
    }
    if (a->opcode == OP_DIVIDE) {
        become(divide, OP_DIVIDE, 2, a->operands[0],
               binary(divide, OP_MULTIPLY, a->operands[1], b));
    } else if (b->opcode == OP_DIVIDE) {
        become(divide, OP_DIVIDE, 2, binary(divide, OP_MULTIPLY, a, b->operands[1]),
               b->operands[0]);
    } else if (b->opcode == OP_SQRT) {
        become(divide, OP_MULTIPLY, 2, a, unary(divide, OP_RSQRT, b->operands[0]));
    } else if (b->opcode == OP_RSQRT) {
        become(divide, OP_MULTIPLY, 2, a, unary(divide, OP_SQRT, b->operands[0]));
    } else if (b->opcode == OP_EXPONENTIAL) {
        struct instruction *negated = unary(divide, OP_NEGATE, b->operands[0]);
        become(divide, OP_MULTIPLY, 2, a, unary(divide, OP_EXPONENTIAL, negated));
    } else {
        struct instruction *inverse = reciprocal(divide);
        if (inverse == NULL) {
            return false;
        }
        become(divide, OP_MULTIPLY, 2, a, inverse);
    }
    return true;
}

static bool rewrite_log(struct instruction *log, bool dry)
{
    struct instruction *operand = log->operands[0];
    if (operand->opcode == OP_EXPONENTIAL) {
        if (!dry) {
            become(log, OP_COPY, 1, operand->operands[0], NULL);
        }
        return true;
    }
    if (operand->opcode == OP_POWER) {
        if (!dry) {
            struct instruction *inner = operand->operands[0];
            /* log|x|, as XLA writes it for real numbers. */
            if (type_is_float(inner->shape->type)) {
                inner = unary(log, OP_ABS, inner);
            }
            become(log, OP_MULTIPLY, 2, operand->operands[1], unary(log, OP_LOG, inner));
        }
        return true;
    }
    return false;
}

bool rewrite_algebra(struct instruction *instruction, bool dry)
{
    if (!inexact(instruction)) {
        return false;
    }
    switch (instruction->opcode) {
    case OP_DIVIDE:
        return rewrite_divide(instruction, dry);
    case OP_LOG:
        return rewrite_log(instruction, dry);
    default:
        return false;
    }
}

static bool converts_to_float(const struct instruction *instruction)
{
    return instruction->opcode == OP_CONVERT && type_is_float(instruction->shape->type);
}

bool rewrite_conversions(struct instruction *convert, bool dry)
{
    if (!converts_to_float(convert) || !converts_to_float(convert->operands[0])) {
        return false;
    }
    if (!dry) {
        struct instruction *from = convert->operands[0];
        while (converts_to_float(from)) {
            from = from->operands[0];
        }
        become(convert, OP_CONVERT, 1, from, NULL);
    }
    return true;
}

/* --- maps --- */

/* Does the operation do the same to each element of arrays as to scalars? */
static bool is_elementwise(const struct instruction *instruction)
{
    static const char *const inferred[OPCODE_COUNT] = {
#define OP(id, text, arity, infer, eval, attrs) [OP_##id] = #infer,
#include "hlo/opcodes.def"
    };
    static const char *const elementwise[] = {"unary",  "binary", "compare",
                                              "select", "clamp",  "complex"};
    bool is = instruction->opcode == OP_CONVERT || instruction->opcode == OP_BITCAST_CONVERT ||
              instruction->opcode == OP_REDUCE_PRECISION;
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++) {
        is |= strcmp(inferred[instruction->opcode], elementwise[i]) == 0;
    }
    return is;
}

static bool can_be_lifted(const struct instruction *inner)
{
    return shape_is_scalar(inner->shape) &&
           (inner->opcode == OP_PARAMETER || inner->opcode == OP_CONSTANT || is_elementwise(inner));
}

/* What the instruction of a map's computation is on arrays; lifted: by its number, NULL: not yet.
 * Where a map within was rewritten, users can stand before what they use. */
static struct instruction *lift(struct instruction *map, const struct instruction *inner,
                                struct instruction **lifted)
{
    struct instruction *operands[3] = {NULL}, *made = lifted[inner->id];
    const struct shape *shape = shape_with_type(map->shape, inner->shape->type);
    if (made == NULL && inner->opcode == OP_PARAMETER) {
        made = map->operands[inner->number];
    } else if (made == NULL && inner->opcode == OP_CONSTANT) {
        operands[0] = make(map, OP_CONSTANT, inner->shape, 0, NULL);
        operands[0]->literal = literal_retain(inner->literal);
        operands[0]->elided = inner->elided;
        made = make(map, OP_BROADCAST, shape, 1, operands);
        instruction_set_attr(made, (struct attr){.key = ATTR_DIMENSIONS});
    } else if (made == NULL) {
        for (int k = 0; k < inner->operand_count; k++) {
            operands[k] = lift(map, inner->operands[k], lifted);
        }
        made = make(map, inner->opcode, shape, inner->operand_count, operands);
        for (int k = 0; k < inner->attr_count; k++) {
            instruction_set_attr(made, inner->attrs[k]);
        }
    }
    lifted[inner->id] = made;
    return made;
}

bool rewrite_maps(struct instruction *map, bool dry)
{
    if (map->opcode != OP_MAP || !shape_is_array(map->shape) || shape_is_dynamic(map->shape)) {
        return false;
    }
    const struct computation *body = map->called[0];
    bool all = true;
    for (int i = 0; i < body->count; i++) {
        all &= can_be_lifted(body->instructions[i]);
    }
    if (dry || !all) {
        return all;
    }
    struct instruction **lifted = memory_zalloc((size_t)body->count * sizeof *lifted);
    become(map, OP_COPY, 1, lift(map, body->root, lifted), NULL);
    map->called_count = 0;
    free(lifted);
    return true;
}

static int rewrite_all(const struct module *module, rewrite_function *rewrite, bool dry)
{
    int matches = 0;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        int count = computation->count; /* what is added is not looked at */
        for (int i = 0; i < count; i++) {
            matches += rewrite(computation->instructions[i], dry);
        }
    }
    return matches;
}

struct module *rewrite_copy(const struct module *module, rewrite_function *rewrite,
                            struct error *err)
{
    if (rewrite_all(module, rewrite, true) == 0) {
        return NULL;
    }
    struct module *copy = text_copy_module(module, err);
    if (copy != NULL) {
        rewrite_all(copy, rewrite, false);
        if (!module_finish(copy, err)) {
            module_destroy(copy);
            copy = NULL;
        }
    }
    return copy;
}
