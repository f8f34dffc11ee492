/* dgemm for exact_dot.c; see exact_gemm.h.
 *
 * OpenBLAS is loaded by the first product, not linked: loading it takes some milliseconds, and its
 * own threads spin, in every process that we start, most of which multiply no matrices. */
#define _POSIX_C_SOURCE 200809L
#include "interp/exact_gemm.h"

#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 48 };

static atomic_bool distrusted;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* The functions of cblas.h that we use. */
static struct {
    void (*dgemm)(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans_a,
                  enum CBLAS_TRANSPOSE trans_b, blasint rows, blasint columns, blasint depth,
                  double alpha, const double *a, blasint a_step, const double *b, blasint b_step,
                  double beta, double *out, blasint out_step);
    void (*set_num_threads)(int count);
    const char *kernels; /* whose, by OpenBLAS's name */
} blas;

/* Blocked so that both panels' parts stay in cache; exact_dot.c calls it on tiles. */
static void plain_gemm(const struct gemm_panel *a, const struct gemm_panel *b, int64_t rows,
                       int64_t columns, int64_t depth, double *out, int64_t out_step)
{
    const int64_t a_vector = a->across ? 1 : a->step, a_depth = a->across ? a->step : 1;
    const int64_t b_vector = b->across ? 1 : b->step, b_depth = b->across ? b->step : 1;
    for (int64_t i = 0; i < rows; i++) {
        memset(out + i * out_step, 0, (size_t)columns * sizeof(double));
    }
    for (int64_t first = 0; first < depth; first += BLOCK) {
        const int64_t end = depth - first < BLOCK ? depth : first + BLOCK;
        for (int64_t j0 = 0; j0 < columns; j0 += BLOCK) {
            const int64_t size = columns - j0 < BLOCK ? columns - j0 : BLOCK;
            double part[BLOCK * BLOCK];
            for (int64_t d = first; d < end; d++) {
                for (int64_t j = 0; j < size; j++) {
                    part[(d - first) * BLOCK + j] = b->data[(j0 + j) * b_vector + d * b_depth];
                }
            }
            for (int64_t i = 0; i < rows; i++) {
                double *row = out + i * out_step + j0;
                for (int64_t d = first; d < end; d++) {
                    const double factor = a->data[i * a_vector + d * a_depth];
                    for (int64_t j = 0; j < size; j++) {
                        row[j] += factor * part[(d - first) * BLOCK + j];
                    }
                }
            }
        }
    }
}

static void blas_gemm(const struct gemm_panel *a, const struct gemm_panel *b, int64_t rows,
                      int64_t columns, int64_t depth, double *out, int64_t out_step)
{
    blas.dgemm(CblasRowMajor, a->across ? CblasTrans : CblasNoTrans,
               b->across ? CblasNoTrans : CblasTrans, (blasint)rows, (blasint)columns,
               (blasint)depth, 1, a->data, (blasint)a->step, b->data, (blasint)b->step, 0, out,
               (blasint)out_step);
}

/* One product of integers of a few bits, exact in any order, in sizes that leave every kernel some
 * edge; all four layouts. */
static bool blas_is_right(void)
{
    enum { ROWS = 37, COLUMNS = 29, DEPTH = 61 };
    static double a[ROWS * DEPTH], b[COLUMNS * DEPTH], out[ROWS * COLUMNS], want[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * DEPTH; i++) {
        a[i] = i * 7 % 23 - 11;
    }
    for (int i = 0; i < COLUMNS * DEPTH; i++) {
        b[i] = i * 5 % 19 - 9;
    }
    for (int layout = 0; layout < 4; layout++) {
        const bool a_across = (layout & 1) != 0, b_across = (layout & 2) != 0;
        const struct gemm_panel left = {a, a_across ? ROWS : DEPTH, a_across};
        const struct gemm_panel right = {b, b_across ? COLUMNS : DEPTH, b_across};
        blas_gemm(&left, &right, ROWS, COLUMNS, DEPTH, out, COLUMNS);
        plain_gemm(&left, &right, ROWS, COLUMNS, DEPTH, want, COLUMNS);
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            if (out[i] != want[i]) {
                return false;
            }
        }
    }
    return true;
}

/* An environment variable has this value while something is loaded. */
struct lent_variable {
    const char *name;
    bool ours; /* it was not set */
};

static struct lent_variable lend(const char *name, const char *value)
{
    struct lent_variable lent = {name, value != NULL && getenv(name) == NULL};
    if (lent.ours) {
        setenv(name, value, 1);
    }
    return lent;
}

static void take_back(struct lent_variable lent)
{
    if (lent.ours) {
        unsetenv(lent.name);
    }
}

/* The threads are ours (pool.h), so OpenBLAS must start none. It listens only to the environment
 * when it is loaded; what we start must not. `kernels` (NULL: its own choice) names a processor. */
static void *open_blas(const char *kernels)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    struct lent_variable threads = lend("OPENBLAS_NUM_THREADS", "1");
    struct lent_variable core = lend("OPENBLAS_CORETYPE", kernels);
    void *library = NULL;
    for (int i = 0; i < 2 && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    take_back(core);
    take_back(threads);
    return library;
}

/* The kernels of a processor that ours can do as much as; NULL: nothing better is known. A release
 * of OpenBLAS takes processors that came after it for a Prescott of 2004, which had no AVX. */
static const char *better_kernels(const char *chosen)
{
#ifdef __x86_64__
    if (strcmp(chosen, "Prescott") == 0 && __builtin_cpu_supports("avx2") &&
        __builtin_cpu_supports("fma")) {
        bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
        return wide ? "SkylakeX" : "Haswell";
    }
#endif
    (void)chosen;
    return NULL;
}

static const char *kernels_of(void *library)
{
    char *(*name)(void) = NULL;
    *(void **)&name = dlsym(library, "openblas_get_corename");
    return name != NULL ? name() : "";
}

static bool load_blas(void)
{
    void *library = open_blas(NULL);
    const char *better = library != NULL ? better_kernels(kernels_of(library)) : NULL;
    if (better != NULL && getenv("OPENBLAS_CORETYPE") == NULL) {
        dlclose(library);
        library = open_blas(better);
    }
    if (library == NULL) {
        return false;
    }
    blas.kernels = kernels_of(library);
    *(void **)&blas.dgemm = dlsym(library, "cblas_dgemm");
    *(void **)&blas.set_num_threads = dlsym(library, "openblas_set_num_threads");
    return blas.dgemm != NULL && blas.set_num_threads != NULL;
}

static void prepare(void)
{
    if (!load_blas()) {
        gemm_distrust(); /* correct, but slow */
        return;
    }
    blas.set_num_threads(1);
    if (!blas_is_right()) {
        gemm_distrust();
    }
}

const char *gemm_kernels(void)
{
    pthread_once(&prepared, prepare);
    return blas.kernels;
}

void gemm_distrust(void)
{
    atomic_store(&distrusted, true);
}

bool gemm_distrusted(void)
{
    return atomic_load(&distrusted);
}

void gemm_panels(const struct gemm_panel *a, const struct gemm_panel *b, int64_t rows,
                 int64_t columns, int64_t depth, double *out, int64_t out_step)
{
    pthread_once(&prepared, prepare);
    if (gemm_distrusted()) {
        plain_gemm(a, b, rows, columns, depth, out, out_step);
    } else {
        blas_gemm(a, b, rows, columns, depth, out, out_step);
    }
}
