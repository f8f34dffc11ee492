/* rng and rng_bit_generator. Source: StableHLO's specification. */
#include <string.h>

#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* Between a and b, or of mean a and deviation b; the third operand gives the shape. */
bool translate_rng(struct scope *scope, const struct mlir_op *op)
{
    const char *word = NULL;
    struct instruction **operands = build_operands(scope, op, 3, 1, 0);
    if (operands == NULL || !import_word_attr(scope, op, "rng_distribution", &word)) {
        return false;
    }
    bool uniform = word != NULL && strcmp(word, "UNIFORM") == 0;
    if (!uniform && (word == NULL || strcmp(word, "NORMAL") != 0)) {
        return import_fail(scope, op, "rng_distribution must be UNIFORM or NORMAL");
    }
    const struct shape *inferred = NULL;
    struct ints sizes;
    if (!mlir_type_is_static(op->results[0].type)) {
        if (!import_integers(scope, op, 2, &sizes)) {
            return false;
        }
        if (sizes.count > SHAPE_MAX_RANK) {
            return import_fail(scope, op, "the shape has too many dimensions");
        }
        for (int i = 0; i < sizes.count; i++) {
            if (sizes.values[i] < 0) {
                return import_fail(scope, op, "the shape has a negative size");
            }
        }
        inferred = shape_array(operands[0]->shape->type, sizes.count, sizes.values);
    }
    const struct shape *shape = import_result_shape(scope, op, 0, inferred);
    if (shape == NULL) {
        return false;
    }
    struct instruction *rng = import_add(scope, op, OP_RNG, shape, 2, operands);
    import_set_int(rng, ATTR_DISTRIBUTION, uniform ? RNG_UNIFORM : RNG_NORMAL);
    return import_bind_results(scope, op, rng);
}

bool translate_rng_bit_generator(struct scope *scope, const struct mlir_op *op)
{
    static const char *const words[] = {
        [RNG_DEFAULT] = "DEFAULT", [RNG_THREE_FRY] = "THREE_FRY", [RNG_PHILOX] = "PHILOX"};
    const char *word = NULL;
    struct instruction **operands = build_operands(scope, op, 1, 2, 0);
    if (operands == NULL || !import_word_attr(scope, op, "rng_algorithm", &word)) {
        return false;
    }
    int algorithm = -1;
    for (int i = 0; word != NULL && i < (int)(sizeof words / sizeof *words); i++) {
        algorithm = strcmp(words[i], word) == 0 ? i : algorithm;
    }
    if (algorithm < 0) {
        return import_fail(scope, op, "rng_algorithm must be DEFAULT, THREE_FRY or PHILOX");
    }
    const struct shape *state = import_result_shape(scope, op, 0, operands[0]->shape);
    const struct shape *output = state != NULL ? import_result_shape(scope, op, 1, NULL) : NULL;
    if (output == NULL) {
        return false;
    }
    const struct shape *parts[] = {state, output};
    struct instruction *rng =
        import_add(scope, op, OP_RNG_BIT_GENERATOR, shape_tuple(2, parts), 1, operands);
    import_set_int(rng, ATTR_ALGORITHM, ALGORITHM_RNG + algorithm);
    return import_bind_results(scope, op, rng);
}
