/* Factorizations judged by residuals (factorization.h): finding them among the outputs, and the
 * verdict. */
#include "compare/factorization.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/residuals.h"
#include "hlo/attr.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

enum { PARTS = 8, MULTIPLE = 32, DEEPEST = 200 };

/* One call that decomposes, and what the outputs hold of its results. */
struct group {
    const struct instruction *call;
    struct factorization_roles roles;
    struct literal *matrix;       /* operand 0, by the golden */
    struct literal *golden;       /* the call's value, by the golden */
    struct literal *parts[PARTS]; /* by the backend, as the call gives them; NULL: no output */
    int leaves[PARTS];            /* whose they are */
};

struct calls {
    int count;
    struct group list[16];
};

/* --- tracing --- */

/* A leaf on its way back to the call: `value` is what `from` must have been. */
struct trace {
    const struct instruction *from;
    struct literal *value;
};

static struct literal *turned_back(const struct literal *value, const struct instruction *transpose,
                                   struct error *err)
{
    const struct shape *shape = transpose->operands[0]->shape;
    struct ints order = attr_ints(transpose, ATTR_DIMENSIONS);
    int64_t strides[SHAPE_MAX_RANK], step = 1, index[SHAPE_MAX_RANK] = {0};
    int64_t dimensions[SHAPE_MAX_RANK];
    const struct shape *from = value->shape;
    for (int d = from->rank - 1; d >= 0; d--) { /* dimension order.values[d] of the operand */
        strides[order.values[d]] = step;
        dimensions[order.values[d]] = from->dimensions[d];
        step *= from->dimensions[d];
    }
    shape = shape_array(shape->type, from->rank, dimensions);
    struct literal *result = literal_create(shape, err);
    int bytes = type_bytes(shape->type);
    for (int64_t i = 0; result != NULL && i < shape_elements(shape); i++) {
        int64_t at = 0;
        for (int d = 0; d < shape->rank; d++) {
            at += index[d] * strides[d];
        }
        memcpy((char *)literal_data(result) + i * bytes,
               (const char *)literal_data(value) + at * bytes, (size_t)bytes);
        for (int d = shape->rank - 1; d >= 0 && ++index[d] == dimensions[d]; d--) {
            index[d] = 0;
        }
    }
    return result;
}

static bool is_prefix(const struct instruction *slice)
{
    struct slices slices = attr_slices(slice);
    for (int d = 0; d < slices.rank; d++) {
        if (slices.dimensions[d].start != 0 || slices.dimensions[d].stride != 1) {
            return false;
        }
    }
    return true;
}

/* The integer of a constant, broadcast or not; false: it is none. */
static bool constant_of(const struct instruction *from, int64_t *constant)
{
    while (from->opcode == OP_BROADCAST) {
        from = from->operands[0];
    }
    if (from->opcode != OP_CONSTANT || from->literal == NULL || !shape_is_scalar(from->shape) ||
        from->shape->type != TYPE_S32) {
        return false;
    }
    *constant = literal_get_int(from->literal, 0);
    return true;
}

/* value + constant (pivots from 0 are those of the library less 1). */
static struct literal *added_back(const struct literal *value, const struct instruction *subtrahend,
                                  struct error *err)
{
    int64_t constant;
    if (value->shape->type != TYPE_S32 || !constant_of(subtrahend, &constant)) {
        return NULL;
    }
    struct literal *result = literal_create(value->shape, err);
    for (int64_t i = 0; result != NULL && i < literal_elements(value); i++) {
        literal_set_int(result, i, literal_get_int(value, i) + constant);
    }
    return result;
}

/* One step back. False when the instruction is not one that can be undone. */
static bool step_back(struct trace *trace, bool *cut, struct error *err)
{
    const struct instruction *from = trace->from;
    struct literal *value = NULL;
    switch (from->opcode) {
    case OP_COPY:
    case OP_OPT_BARRIER:
        value = literal_retain(trace->value);
        break;
    case OP_BITCAST:
        if (!shape_is_array(from->operands[0]->shape) ||
            !shape_same_dimensions(from->shape, from->operands[0]->shape)) {
            return false;
        }
        value = literal_retain(trace->value);
        break;
    case OP_RESHAPE:
        if (*cut) {
            return false;
        }
        value = literal_view(trace->value, shape_without_layout(from->operands[0]->shape));
        break;
    case OP_TRANSPOSE:
        value = turned_back(trace->value, from, err);
        break;
    case OP_SLICE:
        if (!is_prefix(from)) {
            return false;
        }
        *cut = true;
        value = literal_retain(trace->value);
        break;
    case OP_SUBTRACT:
        value = added_back(trace->value, from->operands[1], err);
        break;
    case OP_SELECT:
        value = literal_retain(trace->value);
        literal_release(trace->value);
        *trace = (struct trace){from->operands[1], value};
        return true;
    default:
        return false;
    }
    if (value == NULL) {
        return false;
    }
    literal_release(trace->value);
    *trace = (struct trace){from->operands[0], value};
    return true;
}

static struct group *group_of(struct calls *calls, const struct instruction *call)
{
    for (int i = 0; i < calls->count; i++) {
        if (calls->list[i].call == call) {
            return &calls->list[i];
        }
    }
    struct factorization_roles roles;
    if (calls->count == (int)(sizeof calls->list / sizeof *calls->list) ||
        !custom_call_factorization(call, &roles)) {
        return NULL;
    }
    struct group *group = &calls->list[calls->count++];
    *group = (struct group){.call = call, .roles = roles};
    return group;
}

static void give(struct calls *calls, const struct instruction *call, int part, int leaf,
                 const struct literal *value)
{
    struct group *group = part < PARTS ? group_of(calls, call) : NULL;
    if (group != NULL && group->parts[part] == NULL) {
        group->parts[part] = literal_retain(value);
        group->leaves[part] = leaf;
    }
}

static bool is_result(const struct instruction *instruction)
{
    return instruction->opcode == OP_GET_TUPLE_ELEMENT &&
           instruction->operands[0]->opcode == OP_CUSTOM_CALL;
}

/* complex(re, im) of two neighbouring results stays as it is, as the first of them. */
static const struct instruction *complex_of_results(const struct instruction *instruction)
{
    if (instruction->opcode != OP_COMPLEX || !is_result(instruction->operands[0]) ||
        !is_result(instruction->operands[1]) ||
        instruction->operands[0]->operands[0] != instruction->operands[1]->operands[0] ||
        attr_int(instruction->operands[0], ATTR_INDEX, 0) + 1 !=
            attr_int(instruction->operands[1], ATTR_INDEX, 0)) {
        return NULL;
    }
    return instruction->operands[0];
}

static void trace_leaf(struct calls *calls, const struct instruction *from, int leaf,
                       const struct literal *value, struct error *err)
{
    struct trace trace = {from, literal_retain(value)};
    bool cut = false;
    for (int depth = 0; depth < DEEPEST; depth++) {
        const struct instruction *pair = complex_of_results(trace.from);
        const struct instruction *result = pair != NULL ? pair : trace.from;
        if (is_result(result)) {
            give(calls, result->operands[0], (int)attr_int(result, ATTR_INDEX, 0), leaf,
                 trace.value);
            break;
        }
        if (!step_back(&trace, &cut, err)) {
            break;
        }
    }
    literal_release(trace.value);
}

static void trace_leaves(struct calls *calls, const struct instruction *root,
                         const struct literal *actual, struct error *err)
{
    if (!shape_is_tuple(root->shape)) {
        trace_leaf(calls, root, 0, actual, err);
        return;
    }
    int leaf = 0;
    for (int i = 0; i < root->shape->count; i++) {
        if (shape_is_array(root->shape->elements[i])) {
            if (root->opcode == OP_TUPLE) {
                trace_leaf(calls, root->operands[i], leaf, actual->elements[i], err);
            } else if (root->opcode == OP_CUSTOM_CALL) {
                give(calls, root, i, leaf, actual->elements[i]);
            }
        }
        leaf += shape_leaves(root->shape->elements[i]);
    }
}

/* --- what the golden has --- */

struct watch {
    struct calls *calls;
    const struct interp_options *options;
};

static bool on_instruction(void *context, const struct instruction *instruction,
                           const struct literal *value, int64_t iteration, struct error *err)
{
    (void)iteration;
    (void)err;
    struct watch *watch = context;
    for (int i = 0; i < watch->calls->count; i++) {
        struct group *group = &watch->calls->list[i];
        if (instruction == group->call->operands[0] && group->matrix == NULL) {
            group->matrix = literal_retain(value);
        }
        if (instruction == group->call && group->golden == NULL) {
            group->golden = literal_retain(value);
        }
    }
    return true;
}

/* --- judging --- */

static bool is_finite(const struct matrix *m)
{
    return isfinite(matrix_distance(m, NULL)) != 0;
}

static struct literal *part_of(const struct group *group, int role)
{
    return role < 0 || role >= PARTS ? NULL : group->parts[role];
}

/* w of a real matrix: complex already, or from two results. */
static struct matrix load_values(const struct group *group, const struct literal *whole,
                                 int64_t batches, int64_t batch)
{
    int at = group->roles.values;
    const struct literal *first = whole != NULL ? whole->elements[at]
                                  : at < 0      ? NULL
                                                : group->parts[at];
    if (first == NULL) {
        return (struct matrix){0};
    }
    struct matrix values = matrix_load(first, batches, batch, true);
    if (group->roles.values_apart && !type_is_complex(first->shape->type)) {
        const struct literal *second =
            whole != NULL ? whole->elements[at + 1] : group->parts[at + 1];
        if (second == NULL) {
            free(values.at);
            return (struct matrix){0};
        }
        struct matrix other = matrix_load(second, batches, batch, true);
        for (int64_t i = 0; i < values.rows; i++) {
            values.at[i] += other.at[i] * (double complex)I;
        }
        free(other.at);
    }
    return values;
}

static bool is_value_of_roles(const struct group *group, int part)
{
    const struct factorization_roles *roles = &group->roles;
    return part == roles->values || (roles->values_apart && part == roles->values + 1) ||
           part == roles->left || part == roles->right || part == roles->form ||
           part == roles->scalars;
}

/* Judges all batches; false: nothing was judged. */
static bool judge_group(const struct group *group, struct judge *judge)
{
    const struct factorization_roles *roles = &group->roles;
    const struct shape *shape = group->matrix->shape;
    if (shape->rank < 2 || shape_is_dynamic(shape)) {
        return false;
    }
    int64_t rows = shape->dimensions[shape->rank - 2], columns = shape->dimensions[shape->rank - 1];
    int64_t batches = rows * columns > 0 ? shape_elements(shape) / (rows * columns) : 0;
    enum type part = type_part(shape->type);
    double n = (double)(rows > columns ? rows : columns);
    judge->bound = MULTIPLE * n * ldexp(1, -float_formats[part].mantissa_bits);
    for (int64_t b = 0; b < batches; b++) {
        const struct literal *left = part_of(group, roles->left);
        const struct literal *right = part_of(group, roles->right);
        const struct literal *form = part_of(group, roles->form);
        const struct literal *scalars = part_of(group, roles->scalars);
        struct factors batch = {.a = matrix_load(group->matrix, batches, b, false)};
        if (!is_finite(&batch.a)) {
            free(batch.a.at);
            continue;
        }
        batch.values = load_values(group, NULL, batches, b);
        batch.golden_values =
            roles->values >= 0 ? load_values(group, group->golden, batches, b) : (struct matrix){0};
        batch.left = left != NULL ? matrix_load(left, batches, b, false) : (struct matrix){0};
        batch.right = right != NULL ? matrix_load(right, batches, b, false) : (struct matrix){0};
        batch.form = form != NULL ? matrix_load(form, batches, b, false) : (struct matrix){0};
        batch.scalars =
            scalars != NULL ? matrix_load(scalars, batches, b, true) : (struct matrix){0};
        if (roles->kind == FACTORIZATION_SVD && roles->adjoint && batch.right.at != NULL) {
            struct matrix v = matrix_adjoint(&batch.right);
            free(batch.right.at);
            batch.right = v;
        }
        residuals_judge(judge, roles->kind, &batch, roles->lower, !type_is_complex(shape->type));
        struct matrix *all[] = {&batch.a,     &batch.values, &batch.golden_values, &batch.left,
                                &batch.right, &batch.form,   &batch.scalars};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            free(all[i]->at);
        }
    }
    return judge->any;
}

/* The parts must have the sizes that the roles say: a slice may have made them smaller in columns
 * only. */
static bool sizes_fit(const struct group *group)
{
    const struct shape *a = group->matrix->shape;
    int rank = a->rank;
    for (int i = 0; i < PARTS; i++) {
        if (group->parts[i] == NULL || !is_value_of_roles(group, i)) {
            continue;
        }
        const struct shape *own = group->call->shape->elements[i];
        const struct shape *part = group->parts[i]->shape;
        if (part->rank != own->rank || rank < 2) {
            return false;
        }
        bool adjoint = group->roles.kind == FACTORIZATION_SVD && group->roles.adjoint &&
                       i == group->roles.right;
        int free_dimension = part->rank - (adjoint ? 2 : 1);
        bool vectors = group->roles.kind == FACTORIZATION_SVD &&
                       (i == group->roles.left || i == group->roles.right);
        for (int d = 0; d < part->rank; d++) {
            bool may_shrink = vectors && d == free_dimension;
            if (may_shrink ? part->dimensions[d] > own->dimensions[d]
                           : part->dimensions[d] != own->dimensions[d]) {
                return false;
            }
        }
    }
    return true;
}

static void explain(const struct group *group, const struct judge *judge, struct text *explanation)
{
    text_printf(explanation, "%s is judged by residuals: %s; ", group->call->name,
                judge->worst <= 1 ? "as it must be" : "not as it must be");
    if (isfinite(judge->worst)) {
        text_printf(explanation, "%s is %.3g of what is allowed (%d n eps)\n", judge->what,
                    judge->worst, MULTIPLE);
    } else {
        text_printf(explanation, "not so: %s\n", judge->what);
    }
}

bool factorizations_judge(const struct module *module, struct literal *const *arguments,
                          int argument_count, const struct interp_options *options,
                          const struct literal *actual, enum factorization_verdict *verdicts,
                          struct text *explanation, struct error *err)
{
    const struct instruction *root = module->entry->root;
    struct calls calls = {0};
    struct error trace_error = {0};
    int leaves = shape_leaves(root->shape);
    memset(verdicts, 0, (size_t)leaves * sizeof *verdicts);
    trace_leaves(&calls, root, actual, &trace_error);
    bool ok = true;
    if (calls.count > 0) {
        struct watch watch = {&calls, options};
        struct interp_options watching = *options;
        watching.on_instruction = on_instruction;
        watching.context = &watch;
        struct literal *value = interp_evaluate(module, arguments, argument_count, &watching, err);
        ok = value != NULL;
        literal_release(value);
    }
    for (int i = 0; i < calls.count; i++) {
        struct group *group = &calls.list[i];
        struct judge judge = {0};
        if (ok && group->matrix != NULL && group->golden != NULL &&
            !literal_has_unspecified(group->matrix) && shape_is_tuple(group->golden->shape) &&
            sizes_fit(group) && judge_group(group, &judge)) {
            for (int p = 0; p < PARTS; p++) {
                if (group->parts[p] != NULL && is_value_of_roles(group, p)) {
                    verdicts[group->leaves[p]] =
                        judge.worst <= 1 ? FACTORIZATION_SATISFIED : FACTORIZATION_VIOLATED;
                }
            }
            explain(group, &judge, explanation);
        }
        for (int p = 0; p < PARTS; p++) {
            literal_release(group->parts[p]);
        }
        literal_release(group->matrix);
        literal_release(group->golden);
    }
    return ok;
}
