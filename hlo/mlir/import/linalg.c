/* MLIR → HLO: fft, cholesky, triangular_solve. */
#include <string.h>

#include "hlo/mlir/import/build.h"

/* Sets an enumeration from a word of the op; the words of both are the same. */
static bool set_word(struct scope *scope, const struct mlir_op *op, struct instruction *instruction,
                     const char *name, enum attr_key key)
{
    const char *word = NULL;
    if (!import_word_attr(scope, op, name, &word)) {
        return false;
    }
    int64_t value = word != NULL ? attr_enum_value(attr_table[key].kind, word, strlen(word)) : -1;
    if (value < 0) {
        return import_fail(scope, op, "%s is %s", name, word != NULL ? word : "missing");
    }
    import_set_int(instruction, key, value);
    return true;
}

bool translate_fft(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    struct ints length = {0};
    if (operands == NULL || !import_ints_attr(scope, op, "fft_length", &length)) {
        return false;
    }
    struct instruction *fft = import_add(scope, op, OP_FFT, NULL, 1, operands);
    import_set_ints(fft, ATTR_FFT_LENGTH, length.count, length.values);
    return set_word(scope, op, fft, "fft_type", ATTR_FFT_TYPE) && build_finish(scope, op, fft);
}

bool translate_cholesky(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    bool lower = false;
    if (operands == NULL || !import_bool_attr(scope, op, "lower", &lower)) {
        return false;
    }
    struct instruction *cholesky = import_add(scope, op, OP_CHOLESKY, NULL, 1, operands);
    import_set_int(cholesky, ATTR_LOWER, lower);
    return build_finish(scope, op, cholesky);
}

bool translate_triangular_solve(struct scope *scope, const struct mlir_op *op)
{
    static const struct {
        const char *name;
        enum attr_key key;
    } rows[] = {{"left_side", ATTR_LEFT_SIDE},
                {"lower", ATTR_LOWER},
                {"unit_diagonal", ATTR_UNIT_DIAGONAL}};
    struct instruction **operands = build_operands(scope, op, 2, 1, 0);
    if (operands == NULL) {
        return false;
    }
    struct instruction *solve = import_add(scope, op, OP_TRIANGULAR_SOLVE, NULL, 2, operands);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool value = false;
        if (!import_bool_attr(scope, op, rows[i].name, &value)) {
            return false;
        }
        import_set_int(solve, rows[i].key, value);
    }
    return set_word(scope, op, solve, "transpose_a", ATTR_TRANSPOSE_A) &&
           build_finish(scope, op, solve);
}
