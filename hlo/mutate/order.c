/* Faults of order: which comes first, which element, which argument. */
#include "hlo/mutate/mutate_internal.h"

bool mutate_reverse(struct instruction *instruction, struct rng *rng, struct text *what)
{
    int others[SHAPE_MAX_RANK], count = 0;
    if (instruction->opcode != OP_REVERSE) {
        return false;
    }
    struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
    for (int d = 0; d < instruction->shape->rank; d++) {
        bool reversed = false;
        for (int i = 0; i < dimensions.count; i++) {
            reversed = reversed || dimensions.values[i] == d;
        }
        if (!reversed && instruction->shape->dimensions[d] > 1) {
            others[count++] = d;
        }
    }
    if (dimensions.count == 0 || (count == 0 && dimensions.count == 1)) {
        return false; /* nothing but leaving it out is possible: class `dropped` */
    }
    if (what != NULL) {
        int64_t *values = edit_ints(instruction, dimensions);
        int last = dimensions.count - 1;
        if (count > 0) {
            int other = others[edit_draw(rng, count)];
            text_printf(what, "dimension %d is reversed instead of %lld", other,
                        (long long)values[last]);
            values[last] = other;
        } else {
            text_printf(what, "dimension %lld is not reversed", (long long)values[last]);
        }
        edit_set_ints(instruction, ATTR_DIMENSIONS, count > 0 ? last + 1 : last, values);
    }
    return true;
}

bool mutate_concatenate(struct instruction *instruction, struct rng *rng, struct text *what)
{
    int found = 0;
    if (instruction->opcode != OP_CONCATENATE) {
        return false;
    }
    for (int i = 0; i + 1 < instruction->operand_count; i++) {
        found += instruction->operands[i] != instruction->operands[i + 1];
    }
    if (found > 0 && what != NULL) {
        int left = edit_draw(rng, found), at = 0;
        while (instruction->operands[at] == instruction->operands[at + 1] || left-- > 0) {
            at++;
        }
        text_printf(what, "operands %d and %d are swapped", at, at + 1);
        edit_swap(instruction, at, at + 1);
    }
    return found > 0;
}

bool mutate_sort_ties(struct instruction *instruction, struct rng *rng, struct text *what)
{
    (void)rng;
    if (instruction->opcode != OP_SORT || instruction->operand_count < 2 ||
        !attr_bool(instruction, ATTR_IS_STABLE, false)) {
        return false;
    }
    if (what != NULL) {
        struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
        for (int k = 0; k < instruction->operand_count; k++) {
            struct instruction *operand = instruction->operands[k];
            instruction->operands[k] = edit_unary(instruction, OP_REVERSE, operand->shape, operand);
            edit_set_ints(instruction->operands[k], ATTR_DIMENSIONS, dimensions.count,
                          dimensions.values);
        }
        text_append(what, "ties come out in reversed order");
    }
    return true;
}

/* --- tuples, arguments --- */

static bool take_other_element(struct instruction *element, struct rng *rng, struct text *what)
{
    const struct shape *tuple = element->operands[0]->shape;
    int64_t index = attr_int(element, ATTR_INDEX, 0);
    int found = 0;
    for (int i = 0; i < tuple->count; i++) {
        found += i != index && shape_compatible(tuple->elements[i], element->shape);
    }
    if (found > 0 && what != NULL) {
        int left = edit_draw(rng, found), at = 0;
        while (at == index || !shape_compatible(tuple->elements[at], element->shape) ||
               left-- > 0) {
            at++;
        }
        text_printf(what, "element %d is taken for %lld", at, (long long)index);
        edit_set_integer(element, ATTR_INDEX, at);
    }
    return found > 0;
}

/* Swaps two operands of the same shape. */
static bool swap_alike(struct instruction *instruction, struct rng *rng, struct text *what)
{
    int found = 0, wanted = -1;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < instruction->operand_count; i++) {
            for (int j = i + 1; j < instruction->operand_count; j++) {
                struct instruction *a = instruction->operands[i], *b = instruction->operands[j];
                if (a == b || !shape_is_array(a->shape) || !shape_compatible(a->shape, b->shape)) {
                    continue;
                }
                if (pass == 0) {
                    found++;
                } else if (wanted-- == 0) {
                    text_printf(what, "operands %d and %d are swapped", i, j);
                    edit_swap(instruction, i, j);
                    return true;
                }
                break; /* each with the next one alike */
            }
        }
        if (found == 0 || what == NULL) {
            break;
        }
        wanted = edit_draw(rng, found);
    }
    return found > 0;
}

bool mutate_tuple(struct instruction *instruction, struct rng *rng, struct text *what)
{
    if (instruction->opcode == OP_GET_TUPLE_ELEMENT) {
        return take_other_element(instruction, rng, what);
    }
    return instruction->opcode == OP_TUPLE && swap_alike(instruction, rng, what);
}

bool mutate_arguments(struct instruction *instruction, struct rng *rng, struct text *what)
{
    return (instruction->opcode == OP_FUSION || instruction->opcode == OP_CALL) &&
           swap_alike(instruction, rng, what);
}

/* --- flags --- */

bool mutate_flag(struct instruction *instruction, struct rng *rng, struct text *what)
{
    static const struct {
        enum opcode opcode;
        enum attr_key key;
        int64_t from, to;
    } flags[] = {
        {OP_TRIANGULAR_SOLVE, ATTR_LOWER, true, false},
        {OP_TRIANGULAR_SOLVE, ATTR_LOWER, false, true},
        {OP_TRIANGULAR_SOLVE, ATTR_UNIT_DIAGONAL, false, true},
        {OP_TRIANGULAR_SOLVE, ATTR_UNIT_DIAGONAL, true, false},
        {OP_TRIANGULAR_SOLVE, ATTR_TRANSPOSE_A, TRANSPOSE_NO, TRANSPOSE_YES},
        {OP_TRIANGULAR_SOLVE, ATTR_TRANSPOSE_A, TRANSPOSE_YES, TRANSPOSE_NO},
        {OP_TRIANGULAR_SOLVE, ATTR_TRANSPOSE_A, TRANSPOSE_ADJOINT, TRANSPOSE_NO},
        {OP_CHOLESKY, ATTR_LOWER, true, false},
        {OP_CHOLESKY, ATTR_LOWER, false, true},
        {OP_FFT, ATTR_FFT_TYPE, FFT_FFT, FFT_IFFT},
        {OP_FFT, ATTR_FFT_TYPE, FFT_IFFT, FFT_FFT},
        {OP_TOPK, ATTR_LARGEST, true, false},
        {OP_TOPK, ATTR_LARGEST, false, true},
    };
    int found[sizeof flags / sizeof *flags], count = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const struct attr *attr = attr_get(instruction, flags[i].key);
        if (instruction->opcode == flags[i].opcode && attr != NULL &&
            attr->integer == flags[i].from) {
            found[count++] = (int)i;
        }
    }
    if (count > 0 && what != NULL) {
        int n = found[edit_draw(rng, count)];
        text_printf(what, "%s is %lld instead of %lld", attr_table[flags[n].key].text,
                    (long long)flags[n].to, (long long)flags[n].from);
        edit_set_integer(instruction, flags[n].key, flags[n].to);
    }
    return count > 0;
}
