/* The older forms of LAPACK calls: sizes and flags come as scalar operands in front of the
 * matrices, and workspaces among the results. Each is handed to the evaluator of the newer form.
 * Source: jaxlib/lapack.py of 2024. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_internal.h"

enum { MOST_RESULTS = 8, MOST_SCALARS = 8 };

static const struct older {
    const char *routine; /* behind the letter of the type */
    eval_function *evaluate;
    /* What result i of the newer form is here; real and complex matrices differ in two. */
    int count[2], map[2][MOST_RESULTS];
    int info; /* of the older form alone; −1: none */
    int arrays;
} routines[] = {
    {"trsm", custom_solve, {1, 1}, {{0}, {0}}, -1, 2},
    {"getrf", custom_lu, {3, 3}, {{0, 1, 2}, {0, 1, 2}}, -1, 1},
    {"geqrf", custom_qr, {2, 2}, {{0, 1}, {0, 1}}, 2, 1},
    {"geqp3", custom_qr_pivoted, {3, 3}, {{0, 1, 2}, {0, 1, 2}}, 3, 2},
    {"orgqr", custom_q_form, {1, 1}, {{0}, {0}}, 1, 2},
    {"ungqr", custom_q_form, {1, 1}, {{0}, {0}}, 1, 2},
    {"potrf", custom_cholesky, {2, 2}, {{0, 1}, {0, 1}}, -1, 1},
    {"gesdd", custom_svd, {5, 5}, {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}, -1, 1},
    {"syevd", custom_eigh, {3, 3}, {{0, 1, 2}, {0, 1, 2}}, -1, 1},
    {"heevd", custom_eigh, {3, 3}, {{0, 1, 2}, {0, 1, 2}}, -1, 1},
    {"geev", custom_eig, {5, 4}, {{3, 4, 5, 6, 7}, {2, 3, 4, 5}}, -1, 1},
    {"gees", custom_schur, {6, 5}, {{0, 3, 1, 2, 4, 5}, {0, 3, 2, 4, 5}}, -1, 1},
    {"gehrd", custom_hessenberg, {3, 3}, {{0, 1, 2}, {0, 1, 2}}, -1, 1},
    {"sytrd", custom_tridiagonal, {5, 5}, {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}, -1, 1},
    {"hetrd", custom_tridiagonal, {5, 5}, {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}, -1, 1},
};

/* The attributes of the newer form, from the scalars of the older one. */
static void write_attributes(const char *routine, const int64_t *scalars, char *out, size_t size)
{
    if (strcmp(routine, "trsm") == 0) {
        snprintf(out, size, "{side = %d, uplo = %d, trans_x = %d, diag = %d}",
                 scalars[0] ? 'L' : 'R', scalars[1] ? 'L' : 'U',
                 scalars[2] == 0   ? 'N'
                 : scalars[2] == 1 ? 'T'
                                   : 'C',
                 scalars[3] ? 'U' : 'N');
    } else if (strcmp(routine, "gesdd") == 0) {
        snprintf(out, size, "{mode = %d}", !scalars[1] ? 'N' : scalars[0] ? 'A' : 'S');
    } else if (strcmp(routine, "geev") == 0) {
        snprintf(out, size, "{compute_left = %d, compute_right = %d}", (int)(scalars[2] & 127),
                 (int)(scalars[3] & 127));
    } else if (strcmp(routine, "gees") == 0) {
        snprintf(out, size, "{mode = %d, sort = %d}", (int)(scalars[2] & 127),
                 (int)(scalars[3] & 127));
    } else if (strcmp(routine, "gehrd") == 0) {
        snprintf(out, size, "{low = %lld, high = %lld}", (long long)scalars[1],
                 (long long)scalars[2]);
    } else if (strcmp(routine, "sytrd") == 0 || strcmp(routine, "hetrd") == 0) {
        snprintf(out, size, "{uplo = %d}", scalars[1] ? 'L' : 'U');
    } else {
        snprintf(out, size, "{mode = %d, uplo = %d}", 'V', scalars[0] ? 'L' : 'U');
    }
}

/* Tells scalars and matrices apart. */
static bool collect(const struct instruction *instruction, struct operands *operands,
                    const struct older *older, int64_t *scalars, struct literal **arrays,
                    struct error *err)
{
    int scalar_count = 0, array_count = 0;
    bool fits = true;
    for (int i = 0; fits && i < operands->count; i++) {
        struct literal *value = operands->values[i];
        fits = shape_is_array(value->shape);
        if (fits && value->shape->rank > 0) {
            fits = array_count < older->arrays;
            if (fits) {
                arrays[array_count++] = value;
            }
        } else if (fits && (value->shape->type == TYPE_S32 || value->shape->type == TYPE_U8)) {
            fits = scalar_count < MOST_SCALARS;
            if (fits) {
                scalars[scalar_count++] = literal_get_int(value, 0);
            }
        } else if (fits) { /* alpha */
            fits = strcmp(older->routine, "trsm") == 0 && literal_get_double(value, 0) == 1 &&
                   (!type_is_complex(value->shape->type) || literal_get_imaginary(value, 0) == 0);
        }
    }
    if (!fits || array_count != older->arrays || scalar_count < 3) {
        custom_call_fail(instruction, err, "operands that do not fit");
        return false;
    }
    return true;
}

struct literal *custom_older(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    const char *name = strchr(custom_call_target(instruction), '_') + 2;
    const struct older *older = NULL;
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        older = strcmp(routines[i].routine, name) == 0 ? &routines[i] : older;
    }
    int64_t scalars[MOST_SCALARS] = {0};
    struct literal *arrays[2];
    if (older == NULL || !collect(instruction, operands, older, scalars, arrays, err)) {
        return older == NULL ? custom_call_fail(instruction, err, "unknown") : NULL;
    }
    bool complex = type_is_complex(arrays[0]->shape->type);
    const struct shape *shapes[MOST_RESULTS];
    for (int i = 0; i < older->count[complex]; i++) {
        shapes[i] = custom_call_result_shape(instruction, older->map[complex][i]);
        if (shapes[i] == NULL) {
            return custom_call_fail(instruction, err, "result %d is missing",
                                    older->map[complex][i]);
        }
    }
    char attributes[200];
    write_attributes(name, scalars, attributes, sizeof attributes);
    struct inner_call call;
    inner_call_init(&call, instruction, OP_CUSTOM_CALL, shape_tuple(older->count[complex], shapes));
    inner_call_set(&call, *attr_get(instruction, ATTR_CUSTOM_CALL_TARGET));
    inner_call_set(&call, (struct attr){.key = ATTR_BACKEND_CONFIG,
                                        .bytes = {attributes, strlen(attributes)}});
    static const bool alive[2] = {false};
    struct operands newer = {.count = older->arrays, .values = arrays, .dying = alive};
    struct literal *result = older->evaluate(evaluation, &call.instruction, &newer, err);
    if (result == NULL) {
        return NULL;
    }
    struct literal *parts[16] = {0};
    int last = older->info;
    for (int i = 0; i < older->count[complex]; i++) {
        int at = older->map[complex][i];
        parts[at] = literal_retain(result->elements[i]);
        last = at > last ? at : last;
    }
    literal_release(result);
    const struct shape *info =
        older->info < 0 ? NULL : custom_call_result_shape(instruction, older->info);
    if (info != NULL && shape_is_array(info) && info->type == TYPE_S32) {
        parts[older->info] = literal_zero(info, err);
    }
    return custom_call_result_take(instruction, parts, last + 1, err);
}
