/* CHLO's special functions, for which HLO has no opcode: each becomes a call with
 * is_composite=true, whose computation approximates the function and whose name says which one it
 * is. The golden knows the names (interp/special.def). */
#include <string.h>

#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/chlo.h"
#include "hlo/mlir/import/import_internal.h"

enum { MOST_OPERANDS = 2 };

/* The computation of the function on `count` arrays of the shape. */
static struct computation *make_computation(struct scope *scope, const struct mlir_op *op,
                                            const char *name, int count, const struct shape *shape)
{
    struct computation *computation = import_computation(scope->importer, name);
    struct formula formula = {.scope = scope, .op = op, .computation = computation, .shape = shape};
    enum type compute = shape->type;
    struct instruction *values[MOST_OPERANDS];
    for (int i = 0; i < count; i++) {
        values[i] = formula_add(&formula, OP_PARAMETER, shape, 0, NULL);
        values[i]->number = i;
    }
    const bool is_complex = type_is_complex(shape->type);
    if (!is_complex && !chlo_computes_in(name, shape->type, &compute)) {
        formula.shape = shape_with_type(shape, compute);
        for (int i = 0; i < count; i++) {
            values[i] = formula_convert(&formula, values[i], compute);
        }
    }
    struct instruction *root =
        is_complex ? chlo_decompose_complex(&formula, name, values[0])
                   : formula_convert(&formula, chlo_decompose(&formula, name, values), shape->type);
    import_close_computation(computation, root);
    return root != NULL ? computation : NULL;
}

struct instruction *chlo_special(struct scope *scope, const struct mlir_op *op, const char *name,
                                 int count, struct instruction *const *operands)
{
    const struct shape *shape = operands[0]->shape;
    for (int i = 0; i < count; i++) {
        const bool good =
            type_is_float(shape->type) || (type_is_complex(shape->type) && count == 1);
        if (!good || !shape_compatible(operands[i]->shape, shape)) {
            import_fail(scope, op, "takes numbers of one type and shape, not %s",
                        shape_text(operands[i]->shape));
            return NULL;
        }
    }
    shape = shape_without_layout(shape);
    struct computation *computation =
        make_computation(scope, op, name + strlen("chlo."), count, shape);
    if (computation == NULL) {
        return NULL;
    }
    struct instruction *call = import_add(scope, op, OP_CALL, shape, count, operands);
    instruction_set_called(call, 1, &computation);
    import_set_int(call, ATTR_IS_COMPOSITE, 1);
    import_add_frontend_attribute(call, "composite.attributes", "{}", 2);
    import_add_frontend_attribute(call, "composite.version", "0", 1);
    import_add_frontend_attribute(call, "composite.name", name, strlen(name));
    return call;
}

static bool translate(struct scope *scope, const struct mlir_op *op, const char *name, int count)
{
    struct instruction **operands = build_operands(scope, op, count, 1, 0);
    struct instruction *result =
        operands != NULL ? chlo_special(scope, op, name, count, operands) : NULL;
    return result != NULL && import_bind_results(scope, op, result);
}

/* Of complex numbers a composite, of reals the opcode. */
bool translate_chlo_elementwise(struct scope *scope, const struct mlir_op *op)
{
    const struct mlir_type *element =
        op->operand_count == 1 ? op->operands[0]->type->element : NULL;
    return element != NULL && element->kind == MLIR_COMPLEX ? translate(scope, op, op->name, 1)
                                                            : translate_elementwise(scope, op);
}

bool translate_chlo_bessel_i1e(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.bessel_i1e", 1);
}

bool translate_chlo_digamma(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.digamma", 1);
}

bool translate_chlo_erf_inv(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.erf_inv", 1);
}

bool translate_chlo_erfc(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.erfc", 1);
}

bool translate_chlo_lgamma(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.lgamma", 1);
}

bool translate_chlo_polygamma(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.polygamma", 2);
}

bool translate_chlo_zeta(struct scope *scope, const struct mlir_op *op)
{
    return translate(scope, op, "chlo.zeta", 2);
}
