/* Faults of loops and branches. */
#include "hlo/literal.h"
#include "hlo/mutate/mutate_internal.h"

/* The comparison that ends a loop: in its condition, or in the only fusion or call there. */
struct loop_end {
    struct instruction *compare;
    struct instruction *holder; /* whose operand `at` is the constant limit */
    int at;
    bool limit_is_left;
};

static bool is_integer_constant(const struct instruction *instruction)
{
    return instruction->opcode == OP_CONSTANT && shape_is_scalar(instruction->shape) &&
           type_is_integer(instruction->shape->type);
}

static bool find_loop_end(const struct instruction *loop, struct loop_end *end)
{
    struct instruction *root = loop->called[1]->root, *outer = NULL;
    if ((root->opcode == OP_FUSION || root->opcode == OP_CALL) && root->called_count == 1) {
        outer = root;
        root = root->called[0]->root;
    }
    if (root->opcode != OP_COMPARE) {
        return false;
    }
    for (int at = 0; at < 2; at++) {
        struct instruction *limit = root->operands[at];
        struct loop_end found = {root, root, at, at == 0};
        if (outer != NULL && limit->opcode == OP_PARAMETER) {
            found.holder = outer;
            found.at = (int)limit->number;
            limit = outer->operands[found.at];
        }
        if (is_integer_constant(limit)) {
            *end = found;
            return true;
        }
    }
    return false;
}

bool mutate_trip_count(struct instruction *instruction, struct rng *rng, struct text *what)
{
    struct loop_end end;
    (void)rng;
    if (instruction->opcode != OP_WHILE || !find_loop_end(instruction, &end)) {
        return false;
    }
    int64_t direction = attr_int(end.compare, ATTR_DIRECTION, DIRECTION_EQ);
    bool smaller = direction == DIRECTION_LT || direction == DIRECTION_LE;
    bool greater = direction == DIRECTION_GT || direction == DIRECTION_GE;
    if (!smaller && !greater) {
        return false;
    }
    if (what != NULL) {
        bool counts_up = smaller != end.limit_is_left;
        struct instruction *limit = end.holder->operands[end.at];
        int64_t value = literal_get_int(limit->literal, 0);
        int64_t wrong = counts_up ? value - 1 : value + 1;
        end.holder->operands[end.at] = edit_constant(end.holder, limit->shape, (double)wrong);
        text_printf(what, "the limit is %lld instead of %lld", (long long)wrong, (long long)value);
    }
    return true;
}

static bool reads(const struct computation *condition, int index)
{
    for (int i = 0; i < condition->count; i++) {
        const struct instruction *instruction = condition->instructions[i];
        for (int k = 0; k < instruction->operand_count; k++) {
            if (instruction->operands[k] == condition->parameters[0] &&
                (instruction->opcode != OP_GET_TUPLE_ELEMENT ||
                 attr_int(instruction, ATTR_INDEX, 0) == index)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_unchanged(const struct computation *body, int index)
{
    const struct instruction *value = body->root->operands[index];
    return value->opcode == OP_GET_TUPLE_ELEMENT && value->operands[0] == body->parameters[0] &&
           attr_int(value, ATTR_INDEX, 0) == index;
}

bool mutate_stale_state(struct instruction *instruction, struct rng *rng, struct text *what)
{
    if (instruction->opcode != OP_WHILE || instruction->called[0]->root->opcode != OP_TUPLE ||
        instruction->called[0]->parameter_count != 1) {
        return false;
    }
    struct computation *body = instruction->called[0];
    struct instruction *root = body->root;
    int found = 0, wanted = -1;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < root->operand_count; i++) {
            if (!shape_is_array(root->operands[i]->shape) || is_unchanged(body, i) ||
                reads(instruction->called[1], i)) {
                continue;
            }
            if (pass == 0) {
                found++;
            } else if (wanted-- == 0) {
                struct instruction *old =
                    edit_unary(root, OP_GET_TUPLE_ELEMENT, body->parameters[0]->shape->elements[i],
                               body->parameters[0]);
                edit_set_integer(old, ATTR_INDEX, i);
                root->operands[i] = old;
                text_printf(what, "element %d keeps its first value", i);
                return true;
            }
        }
        if (found == 0 || what == NULL) {
            break;
        }
        wanted = edit_draw(rng, found);
    }
    return found > 0;
}

bool mutate_branches(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_CONDITIONAL || instruction->called_count < 2 ||
        instruction->called[0] == instruction->called[1] || instruction->operand_count < 3 ||
        !shape_compatible(instruction->operands[1]->shape, instruction->operands[2]->shape)) {
        return false;
    }
    if (what != NULL) {
        struct computation *first = instruction->called[0];
        instruction->called[0] = instruction->called[1];
        instruction->called[1] = first;
        text_append(what, "the first two branches are swapped");
    }
    return true;
}
