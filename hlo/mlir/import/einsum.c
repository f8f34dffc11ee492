/* MLIR → HLO: einsum and unary_einsum, which the specification leaves to TensorFlow's definition
 * (https://www.tensorflow.org/api_docs/python/tf/einsum): "ab,bc->ac", with "..." for dimensions
 * that are broadcast, and a label that occurs twice in a term for its diagonal. */
#include <math.h>
#include <string.h>

#include "hlo/mlir/import/build.h"

/* Labels are letters; those of "..." are numbers from the right, 1 being the last. */
struct term {
    int rank;
    int labels[SHAPE_MAX_RANK];
};

/* A term of an equation for `rank` dimensions (−1: the result, whose rank is not known; then
 * `ellipsis` says how many dimensions "..." stands for). */
static bool read_term(const char *text, size_t size, int rank, int *ellipsis, struct term *term)
{
    int letters = 0;
    bool has_ellipsis = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.') {
            if (has_ellipsis || i + 2 >= size || text[i + 1] != '.' || text[i + 2] != '.') {
                return false;
            }
            has_ellipsis = true;
            i += 2;
        } else if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z')) {
            letters++;
        } else if (text[i] != ' ') {
            return false;
        }
    }
    int more = rank < 0 ? *ellipsis : rank - letters;
    if (!has_ellipsis && (rank < 0 || more == 0)) {
        more = 0;
    } else if (!has_ellipsis || more < 0) {
        return false;
    }
    if (letters + more > SHAPE_MAX_RANK) {
        return false;
    }
    *ellipsis = more > *ellipsis ? more : *ellipsis;
    term->rank = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.') {
            for (int k = more; k > 0; k--) {
                term->labels[term->rank++] = k;
            }
            i += 2;
        } else if (text[i] != ' ') {
            term->labels[term->rank++] = 256 + text[i];
        }
    }
    return true;
}

/* "a,b->c" into its terms. */
static bool read_equation(struct scope *scope, const struct mlir_op *op,
                          struct instruction *const *operands, int count, struct term *inputs,
                          struct term *output)
{
    const struct mlir_attr *attr = mlir_op_attr(op, "einsum_config");
    if (attr == NULL || attr->kind != MLIR_ATTR_STRING) {
        return import_fail(scope, op, "einsum_config is no string");
    }
    const char *text = attr->string.data, *arrow = strstr(text, "->");
    int ellipsis = 0;
    bool ok = arrow != NULL;
    for (int i = 0; ok && i < count; i++) {
        const char *comma = i + 1 < count ? memchr(text, ',', (size_t)(arrow - text)) : arrow;
        ok = comma != NULL && read_term(text, (size_t)(comma - text), operands[i]->shape->rank,
                                        &ellipsis, &inputs[i]);
        text = ok ? comma + 1 : text;
    }
    ok = ok && read_term(arrow + 2, strlen(arrow + 2), -1, &ellipsis, output);
    return ok || import_fail(scope, op, "einsum_config \"%s\" does not fit the operands",
                             attr->string.data);
}

static int find_label(const struct term *term, int label)
{
    for (int i = 0; i < term->rank; i++) {
        if (term->labels[i] == label) {
            return i;
        }
    }
    return -1;
}

/* --- one operand --- */

struct operand {
    struct instruction *value;
    struct term term;
};

static void drop_label(struct term *term, int at)
{
    term->rank--;
    memmove(&term->labels[at], &term->labels[at + 1],
            (size_t)(term->rank - at) * sizeof *term->labels);
}

/* Sums a dimension away. Of a sum of −0 alone the sign stays. */
static bool sum_away(struct scope *scope, const struct mlir_op *op, struct operand *operand,
                     int64_t along)
{
    const struct shape *shape = operand->value->shape;
    struct computation *sum = build_sum(scope, op, shape->type);
    struct instruction *operands[] = {
        operand->value,
        import_scalar(scope, op, shape->type, type_is_float(shape->type) ? -0.0 : 0)};
    if (operands[1] == NULL) {
        return false;
    }
    struct instruction *reduce = import_add(scope, op, OP_REDUCE, NULL, 2, operands);
    import_set_ints(reduce, ATTR_DIMENSIONS, 1, &along);
    instruction_set_called(reduce, 1, &sum);
    operand->value = reduce;
    drop_label(&operand->term, (int)along);
    return import_finish(scope, op, reduce);
}

/* Leaves of two dimensions of one label their diagonal: everything else becomes zero, and the
 * second is summed away. */
static bool take_diagonal(struct scope *scope, const struct mlir_op *op, struct operand *operand,
                          int first, int second)
{
    const struct shape *shape = operand->value->shape;
    if (shape->dimensions[first] != shape->dimensions[second]) {
        return import_fail(scope, op, "dimensions %d and %d of %s share a label", first, second,
                           shape_text(shape));
    }
    const struct shape *index = shape_array(TYPE_S32, shape->rank, shape->dimensions);
    struct instruction *at[2];
    for (int i = 0; i < 2; i++) {
        at[i] = import_add(scope, op, OP_IOTA, index, 0, NULL);
        import_set_int(at[i], ATTR_IOTA_DIMENSION, i == 0 ? first : second);
    }
    struct instruction *equal =
        import_add(scope, op, OP_COMPARE, shape_with_type(index, TYPE_PRED), 2, at);
    import_set_int(equal, ATTR_DIRECTION, DIRECTION_EQ);
    struct instruction *zero = build_fill(scope, op, shape, type_is_float(shape->type) ? -0.0 : 0);
    if (zero == NULL) {
        return false;
    }
    struct instruction *parts[] = {equal, operand->value, zero};
    operand->value = import_add(scope, op, OP_SELECT, shape_without_layout(shape), 3, parts);
    return sum_away(scope, op, operand, second);
}

/* Diagonals taken, and what neither the other operand (which may be NULL) nor the result has
 * summed away. */
static bool prepare(struct scope *scope, const struct mlir_op *op, struct operand *operand,
                    const struct term *other, const struct term *output)
{
    for (int i = operand->term.rank - 1; i >= 0; i--) {
        int label = operand->term.labels[i], first = find_label(&operand->term, label);
        if (first < i && !take_diagonal(scope, op, operand, first, i)) {
            return false;
        }
    }
    for (int i = operand->term.rank - 1; i >= 0; i--) {
        int label = operand->term.labels[i];
        bool is_needed =
            find_label(output, label) >= 0 || (other != NULL && find_label(other, label) >= 0);
        if (!is_needed && !sum_away(scope, op, operand, i)) {
            return false;
        }
    }
    return true;
}

/* Dimensions of one element that the other operand has more of are left out: they are broadcast. */
static bool drop_ones(struct scope *scope, const struct mlir_op *op, struct operand *operand,
                      const struct operand *other)
{
    const struct shape *shape = operand->value->shape;
    int64_t sizes[SHAPE_MAX_RANK];
    struct term kept = {0};
    for (int i = 0; i < shape->rank; i++) {
        int at = find_label(&other->term, operand->term.labels[i]);
        if (at >= 0 && shape->dimensions[i] == 1 && other->value->shape->dimensions[at] != 1) {
            continue;
        }
        if (at >= 0 && shape->dimensions[i] != other->value->shape->dimensions[at] &&
            other->value->shape->dimensions[at] != 1) {
            return import_fail(scope, op, "dimension %d of %s does not fit %s", i,
                               shape_text(shape), shape_text(other->value->shape));
        }
        sizes[kept.rank] = shape->dimensions[i];
        kept.labels[kept.rank++] = operand->term.labels[i];
    }
    operand->value = build_reshape(scope, op, operand->value, kept.rank, sizes);
    operand->term = kept;
    return true;
}

/* --- the result --- */

/* Binds what has the labels of `term` with its dimensions in the order of the output's. */
static bool bind_ordered(struct scope *scope, const struct mlir_op *op, struct instruction *value,
                         const struct term *term, const struct term *output)
{
    int64_t order[SHAPE_MAX_RANK];
    bool ok = term->rank == output->rank;
    for (int i = 0; ok && i < output->rank; i++) {
        order[i] = find_label(term, output->labels[i]);
        ok = order[i] >= 0 && find_label(output, output->labels[i]) == i;
    }
    if (!ok) {
        return import_fail(scope, op, "the result has labels twice, or some that no operand has");
    }
    import_bind(scope, &op->results[0], build_transpose(scope, op, value, order));
    return scope->importer->err->code == ERROR_NONE;
}

bool translate_unary_einsum(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    struct operand operand;
    struct term output;
    if (operands == NULL || !read_equation(scope, op, operands, 1, &operand.term, &output)) {
        return false;
    }
    operand.value = operands[0];
    return prepare(scope, op, &operand, NULL, &output) &&
           bind_ordered(scope, op, operand.value, &operand.term, &output);
}

bool translate_einsum(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    struct term inputs[2], output;
    if (operands == NULL || !read_equation(scope, op, operands, 2, inputs, &output)) {
        return false;
    }
    struct operand lhs = {operands[0], inputs[0]}, rhs = {operands[1], inputs[1]};
    if (!prepare(scope, op, &lhs, &rhs.term, &output) ||
        !prepare(scope, op, &rhs, &lhs.term, &output)) {
        return false;
    }
    struct operand whole = lhs;
    if (!drop_ones(scope, op, &lhs, &rhs) || !drop_ones(scope, op, &rhs, &whole) ||
        !prepare(scope, op, &lhs, &rhs.term, &output) ||
        !prepare(scope, op, &rhs, &lhs.term, &output)) {
        return false;
    }
    int64_t dimensions[4][SHAPE_MAX_RANK]; /* batch and contracting of either side */
    int batch = 0, contracting = 0;
    struct term made = {0};
    for (int i = 0; i < lhs.term.rank; i++) {
        int label = lhs.term.labels[i], at = find_label(&rhs.term, label);
        if (at >= 0 && find_label(&output, label) >= 0) {
            dimensions[0][batch] = i;
            dimensions[1][batch++] = at;
            made.labels[made.rank++] = label;
        } else if (at >= 0) {
            dimensions[2][contracting] = i;
            dimensions[3][contracting++] = at;
        }
    }
    for (int side = 0; side < 2; side++) {
        const struct term *term = side == 0 ? &lhs.term : &rhs.term;
        const struct term *other = side == 0 ? &rhs.term : &lhs.term;
        for (int i = 0; i < term->rank; i++) {
            if (find_label(other, term->labels[i]) >= 0) {
                continue;
            }
            if (made.rank == SHAPE_MAX_RANK) {
                return import_refuse(scope, op, "more than %d dimensions", SHAPE_MAX_RANK);
            }
            made.labels[made.rank++] = term->labels[i];
        }
    }
    struct instruction *parts[] = {lhs.value, rhs.value};
    struct instruction *dot = import_add(scope, op, OP_DOT, NULL, 2, parts);
    static const enum attr_key keys[] = {ATTR_LHS_BATCH_DIMS, ATTR_RHS_BATCH_DIMS,
                                         ATTR_LHS_CONTRACTING_DIMS, ATTR_RHS_CONTRACTING_DIMS};
    for (int i = 0; i < 4; i++) {
        int count = i < 2 ? batch : contracting;
        if (count > 0) {
            import_set_ints(dot, keys[i], count, dimensions[i]);
        }
    }
    if (!import_finish(scope, op, dot)) {
        return false;
    }
    const struct mlir_type *element = op->results[0].type->element;
    if (element != NULL && type_is_array(element->element_type)) {
        dot->shape = shape_with_type(dot->shape, element->element_type);
    }
    return bind_ordered(scope, op, dot, &made, &output);
}
