/* Custom calls to LAPACK, cuSOLVER and their like that decompose: eigenvalues, singular values,
 * Schur forms.
 *
 * Eigenvalues of Hermitian matrices (ascending) and singular values (descending) are unique:
 * computed in double-double and rounded once. Vectors are unique at most up to signs or phases, and
 * the eigenvalues of general matrices up to their order: ours are right, and unspecified;
 * compare/factorization.c judges a backend's by what they must satisfy.
 * Sources: jax/_src/lax/linalg.py (operands, results and attributes of each target), the LAPACK
 * Users' Guide, xla/hlo/transforms/expanders/eigh_expander.cc (Eigh). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call.h"
#include "interp/custom_call_config.h"
#include "interp/custom_call_solver.h"

/* --- Hermitian eigenvalues --- */

/* (a) → (vectors, values[, info]). */
static struct literal *eigh(const struct instruction *instruction, struct operands *operands,
                            bool lower, bool vectors, bool info, struct error *err)
{
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t n = solver_size(&solver, operands->values[0], 0);
    solver_operand(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 1, type_part(solver.type), 1, n, 0);
    if (info) {
        solver_result(&solver, 2, TYPE_S32, 0, 0, 0);
    }
    struct double_double *w = calloc((size_t)n + 1, sizeof *w);
    solver.failed |= w == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        if (!solver.finite || !factor_eigen_hermitian(&a, lower, w)) {
            solver_open_all(&solver, batch);
        } else {
            solver_store_reals(&solver, 1, batch, w, n, solver.exponent);
            if (vectors) {
                solver_store(&solver, 0, batch, &a, 0);
            }
            solver_open(&solver, 0, batch, false);
        }
        matrix_finish(&a);
    }
    free(w);
    return solver_finish(&solver);
}

struct literal *custom_eigh(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct error *err)
{
    (void)evaluation;
    bool vectors = ffi_attribute(instruction, "mode", 'V') == 'V';
    return eigh(instruction, operands, solver_is_lower(instruction), vectors, true, err);
}

/* Eigh: its configuration is "lower,sorted,iterations,tolerance". */
struct literal *custom_eigh_expanded(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct attr *config = attr_get(instruction, ATTR_BACKEND_CONFIG);
    const char *text = config == NULL ? "1" : config->bytes.data;
    return eigh(instruction, operands, text[0] != '0', true, false, err);
}

/* --- singular values --- */

struct singular {
    bool vectors, adjoint, swapped; /* adjoint: Vᴴ rather than V; swapped: (…, Vᴴ, U, …) */
    bool full;
};

/* (a) → (a's memory, s, u, vᴴ or v, info). */
static struct literal *svd(const struct instruction *instruction, struct operands *operands,
                           struct singular kind, struct error *err)
{
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t m = solver_size(&solver, operands->values[0], 0);
    int64_t n = solver_size(&solver, operands->values[0], 1), k = m < n ? m : n;
    int64_t left = kind.full ? m : k, right = kind.full ? n : k;
    int u_part = kind.swapped ? 3 : 2, v_part = 5 - u_part;
    solver_result(&solver, 0, solver.type, 2, m, n);
    solver_result(&solver, 1, type_part(solver.type), 1, k, 0);
    if (kind.vectors) {
        solver_result(&solver, u_part, solver.type, 2, m, left);
        solver_result(&solver, v_part, solver.type, 2, kind.adjoint ? right : n,
                      kind.adjoint ? n : right);
    }
    struct matrix u = matrix_make(m, left, solver.complex);
    struct matrix vh = matrix_make(right, n, solver.complex);
    struct matrix v = matrix_make(n, right, solver.complex);
    struct double_double *s = calloc((size_t)k + 1, sizeof *s);
    solver.failed |= s == NULL || u.at == NULL || v.at == NULL || vh.at == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        if (!solver.finite ||
            !factor_singular(&a, s, kind.vectors ? &u : NULL, kind.vectors ? &vh : NULL)) {
            solver_open_all(&solver, batch);
        } else {
            solver_store_reals(&solver, 1, batch, s, k, solver.exponent);
            solver_open(&solver, 0, batch, false);
        }
        if (kind.vectors && solver.finite) {
            for (int64_t i = 0; i < right; i++) {
                for (int64_t j = 0; j < n; j++) {
                    struct dd_complex *to = matrix_entry(&v, j, i);
                    *to = *matrix_entry(&vh, i, j);
                    to->im = dd_negate(to->im);
                }
            }
            solver_store(&solver, u_part, batch, &u, 0);
            solver_store(&solver, v_part, batch, kind.adjoint ? &vh : &v, 0);
            solver_open(&solver, u_part, batch, false);
            solver_open(&solver, v_part, batch, false);
        }
        matrix_finish(&a);
    }
    matrix_finish(&u);
    matrix_finish(&v);
    matrix_finish(&vh);
    free(s);
    if (!solver.failed) { /* info: 0 */
        const struct shape *shape = custom_call_result_shape(instruction, 4);
        if (shape != NULL && solver_result(&solver, 4, TYPE_S32, 0, 0, 0)) {
            for (int64_t batch = 0; batch < solver.batches; batch++) {
                if (batch < literal_elements(solver.parts[1]) && k > 0 &&
                    isnan(literal_get_double(solver.parts[1], batch * k))) {
                    solver_open(&solver, 4, batch, false);
                }
            }
        }
    }
    return solver_finish(&solver);
}

/* LAPACK: mode 'A' full, 'S' economy, 'N' none. */
struct literal *custom_svd(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    int64_t mode = ffi_attribute(instruction, "mode", 'A');
    if (mode != 'A' && mode != 'S' && mode != 'N') {
        return custom_call_fail(instruction, err, "mode %lld", (long long)mode);
    }
    return svd(instruction, operands,
               (struct singular){.vectors = mode != 'N', .adjoint = true, .full = mode == 'A'},
               err);
}

/* cuSOLVER's gesvd and gesdd: (…, u, vᴴ, …), or (…, vᴴ, u, …) when it works on the transpose. */
struct literal *custom_svd_solver(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    return svd(instruction, operands,
               (struct singular){.vectors = ffi_attribute(instruction, "compute_uv", 1) != 0,
                                 .adjoint = true,
                                 .swapped = ffi_attribute(instruction, "transposed", 0) != 0,
                                 .full = ffi_attribute(instruction, "full_matrices", 1) != 0},
               err);
}

/* cuSOLVER's gesvdj and gesvdp: v, not its adjoint. */
struct literal *custom_svd_jacobi(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    return svd(instruction, operands,
               (struct singular){.vectors = ffi_attribute(instruction, "compute_uv", 1) != 0,
                                 .full = ffi_attribute(instruction, "full_matrices", 1) != 0},
               err);
}

/* --- general eigenvalues --- */

/* What geev of a library gives back. */
struct general {
    int values;       /* the first part of the eigenvalues */
    bool apart;       /* real and imaginary parts in two results (real matrices) */
    bool packed;      /* vectors of a pair as (re, im) columns (real matrices) */
    bool left, right; /* which vectors are wanted */
};

/* The columns of pairs as real and imaginary parts. */
static void pack_pairs(struct matrix *v, const struct dd_complex *w)
{
    for (int64_t k = 0; k + 1 < v->columns; k++) {
        for (int64_t i = 0; w[k].im.high > 0 && i < v->rows; i++) {
            struct dd_complex *entry = matrix_entry(v, i, k);
            entry[1] = (struct dd_complex){entry[0].im, {0, 0}};
            entry[0].im = dd_from(0);
        }
        k += w[k].im.high > 0;
    }
}

static struct literal *eig(const struct instruction *instruction, struct operands *operands,
                           struct general kind, struct error *err)
{
    struct solver solver;
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t n = solver_size(&solver, operands->values[0], 0);
    enum type real = type_part(solver.type);
    enum type complex = real == TYPE_F64 ? TYPE_C128 : TYPE_C64;
    kind.apart &= !solver.complex;
    kind.packed &= !solver.complex;
    enum type vector_type = kind.packed ? solver.type : complex;
    int next = kind.values + (kind.apart ? 2 : 1);
    solver_operand(&solver, 0, solver.type, 2, n, n);
    if (kind.values > 0) {
        solver_result(&solver, 0, solver.type, 2, n, n);
    }
    for (int i = kind.values; i < next; i++) {
        solver_result(&solver, i, kind.apart ? real : complex, 1, n, 0);
    }
    solver_result(&solver, next, vector_type, 2, n, n);
    solver_result(&solver, next + 1, vector_type, 2, n, n);
    solver_result(&solver, next + 2, TYPE_S32, 0, 0, 0);
    struct dd_complex *w = calloc((size_t)n + 1, sizeof *w);
    struct double_double *parts = calloc((size_t)n + 1, sizeof *parts);
    struct matrix left = matrix_make(n, n, true), right = matrix_make(n, n, true);
    solver.failed |= w == NULL || parts == NULL || left.at == NULL || right.at == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        bool found = solver.finite && factor_eigen_general(&a, w, kind.right ? &right : NULL,
                                                           kind.left ? &left : NULL);
        matrix_finish(&a);
        if (!found) {
            solver_open_all(&solver, batch);
            continue;
        }
        for (int i = 0; kind.apart && i < 2; i++) {
            for (int64_t k = 0; k < n; k++) {
                parts[k] = i == 0 ? w[k].re : w[k].im;
            }
            solver_store_reals(&solver, kind.values + i, batch, parts, n, solver.exponent);
        }
        if (!kind.apart) {
            solver_store_entries(&solver, kind.values, batch, w, n, solver.exponent);
        }
        for (int side = 0; side < 2; side++) {
            struct matrix *vectors = side == 0 ? &left : &right;
            if (kind.packed) {
                pack_pairs(vectors, w);
            }
            if (side == 0 ? kind.left : kind.right) {
                solver_store(&solver, next + side, batch, vectors, 0);
            }
        }
        for (int i = 0; i < next + 2; i++) {
            solver_open(&solver, i, batch, false);
        }
    }
    free(w);
    free(parts);
    matrix_finish(&left);
    matrix_finish(&right);
    return solver_finish(&solver);
}

/* LAPACK: (a) → (values or their two parts, left, right, info). */
struct literal *custom_eig(struct evaluation *evaluation, const struct instruction *instruction,
                           struct operands *operands, struct error *err)
{
    (void)evaluation;
    return eig(instruction, operands,
               (struct general){.apart = true,
                                .left = ffi_attribute(instruction, "compute_left", 'V') == 'V',
                                .right = ffi_attribute(instruction, "compute_right", 'V') == 'V'},
               err);
}

/* MAGMA and LAPACK from the GPU: the same results, other attributes. */
struct literal *custom_eig_hybrid(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    return eig(instruction, operands,
               (struct general){.apart = true,
                                .left = ffi_attribute(instruction, "left", 1) != 0,
                                .right = ffi_attribute(instruction, "right", 1) != 0},
               err);
}

/* cuSOLVER: (a) → (a's memory, complex values, left, right, info), pairs packed. */
struct literal *custom_eig_solver(struct evaluation *evaluation,
                                  const struct instruction *instruction, struct operands *operands,
                                  struct error *err)
{
    (void)evaluation;
    return eig(instruction, operands,
               (struct general){.values = 1,
                                .packed = true,
                                .left = ffi_attribute(instruction, "left", 1) != 0,
                                .right = ffi_attribute(instruction, "right", 1) != 0},
               err);
}

/* --- Schur forms --- */

/* (a) → (T, Z, eigenvalues or their two parts, how many were sorted to the front, info). */
struct literal *custom_schur(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    (void)evaluation;
    struct solver solver;
    if (ffi_attribute(instruction, "sort", 'N') != 'N') {
        return custom_call_fail(instruction, err, "eigenvalues selected by a callback");
    }
    if (!solver_begin_floats(&solver, instruction, operands, err)) {
        return solver_finish(&solver);
    }
    int64_t n = solver_size(&solver, operands->values[0], 0);
    int values = solver.complex ? 1 : 2;
    enum type real = type_part(solver.type);
    solver_operand(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 0, solver.type, 2, n, n);
    solver_result(&solver, 1, solver.type, 2, n, n);
    for (int i = 0; i < values; i++) {
        solver_result(&solver, 2 + i, solver.complex ? solver.type : real, 1, n, 0);
    }
    solver_result(&solver, 2 + values, TYPE_S32, 0, 0, 0);
    solver_result(&solver, 3 + values, TYPE_S32, 0, 0, 0);
    struct dd_complex *w = calloc((size_t)n + 1, sizeof *w);
    struct double_double *parts = calloc((size_t)n + 1, sizeof *parts);
    struct matrix z = matrix_make(n, n, solver.complex);
    solver.failed |= w == NULL || parts == NULL || z.at == NULL;
    for (int64_t batch = 0; !solver.failed && batch < solver.batches; batch++) {
        struct matrix a;
        solver.finite = true;
        if (!solver_load(&solver, operands->values[0], batch, true, &a)) {
            break;
        }
        if (!solver.finite || !factor_schur(&a, &z, w)) {
            solver_open_all(&solver, batch);
        } else {
            solver_store(&solver, 0, batch, &a, solver.exponent);
            solver_store(&solver, 1, batch, &z, 0);
            for (int i = 0; !solver.complex && i < 2; i++) {
                for (int64_t k = 0; k < n; k++) {
                    parts[k] = i == 0 ? w[k].re : w[k].im;
                }
                solver_store_reals(&solver, 2 + i, batch, parts, n, solver.exponent);
            }
            if (solver.complex) {
                solver_store_entries(&solver, 2, batch, w, n, solver.exponent);
            }
            for (int i = 0; i < 2 + values; i++) {
                solver_open(&solver, i, batch, false);
            }
        }
        matrix_finish(&a);
    }
    free(w);
    free(parts);
    matrix_finish(&z);
    return solver_finish(&solver);
}

/* --- roles --- */

static bool has(const char *target, const char *part)
{
    return strstr(target, part) != NULL;
}

bool custom_call_factorization(const struct instruction *call, struct factorization_roles *roles)
{
    *roles = (struct factorization_roles){
        .values = -1, .left = -1, .right = -1, .form = -1, .scalars = -1};
    const char *target = call->opcode == OP_CUSTOM_CALL ? custom_call_target(call) : "";
    if (call->operand_count < 1 || !shape_is_array(call->operands[0]->shape) ||
        !custom_call_is_known(target)) {
        return false;
    }
    bool complex = type_is_complex(call->operands[0]->shape->type);
    if (strcmp(target, "Eigh") == 0 || has(target, "evd_ffi")) {
        const struct attr *config = attr_get(call, ATTR_BACKEND_CONFIG);
        bool expanded = strcmp(target, "Eigh") == 0;
        roles->kind = FACTORIZATION_EIGH;
        roles->right = ffi_attribute(call, "mode", 'V') == 'V' ? 0 : -1;
        roles->values = 1;
        roles->lower =
            expanded ? config == NULL || config->bytes.data[0] != '0' : solver_is_lower(call);
    } else if (has(target, "gesvdj") || has(target, "gesvdp") || has(target, "gesvd_ffi") ||
               has(target, "gesdd_ffi")) {
        bool jacobi = has(target, "gesvdj") || has(target, "gesvdp");
        bool swapped = ffi_attribute(call, "transposed", 0) != 0;
        bool vectors =
            ffi_attribute(call, "compute_uv", 1) != 0 && ffi_attribute(call, "mode", 'A') != 'N';
        roles->kind = FACTORIZATION_SVD;
        roles->values = 1;
        roles->left = !vectors ? -1 : swapped ? 3 : 2;
        roles->right = !vectors ? -1 : swapped ? 2 : 3;
        roles->adjoint = !jacobi;
    } else if (has(target, "geev_ffi") || has(target, "hybrid_eig_")) {
        bool solver = has(target, "solver_geev");
        if (solver && !complex) {
            return false; /* vectors of pairs are packed */
        }
        roles->kind = FACTORIZATION_EIG;
        roles->values = solver ? 1 : 0;
        roles->values_apart = !complex;
        int next = roles->values + (complex ? 1 : 2);
        bool lapack = has(target, "lapack_");
        int64_t left = ffi_attribute(call, lapack ? "compute_left" : "left", 1);
        int64_t right = ffi_attribute(call, lapack ? "compute_right" : "right", 1);
        roles->left = left == 0 || left == 'N' ? -1 : next;
        roles->right = right == 0 || right == 'N' ? -1 : next + 1;
    } else if (has(target, "gees_ffi")) {
        roles->kind = FACTORIZATION_SCHUR;
        roles->form = 0;
        roles->right = ffi_attribute(call, "mode", 'V') == 'V' ? 1 : -1;
    } else if (strcmp(target, "Qr") == 0 || has(target, "geqrf_ffi")) {
        roles->kind = FACTORIZATION_QR;
        roles->form = 0;
        roles->scalars = 1;
    } else if (has(target, "getrf_ffi")) {
        roles->kind = FACTORIZATION_LU;
        roles->form = 0;
        roles->scalars = 1;
    }
    return roles->kind != FACTORIZATION_NONE;
}
