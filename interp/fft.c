/* fft: FFT, IFFT, RFFT and IRFFT over the last one to three dimensions, any lengths.
 *
 * The golden is the exact transform, each part of each element rounded once. It is computed in
 * double-double, one dimension after the other (fft_plan.h). The error of an element of a transform
 * of N points x is at most B = (Σ error_norm of all passes but the last + error of the last) √N
 * |x|, where |x| is the Euclidean norm: each pass is √n times a unitary map. A rounding test with B
 * decides nearly all elements; what stays open, exact zeros and ties above all, goes to
 * fft_exact.c. Inverse transforms are divided by the number of points. IRFFT ignores the imaginary
 * parts that the transform of a real signal cannot have (of element 0, and of n / 2 for even n), as
 * XLA does; they are those after the other dimensions have been transformed. An infinity or NaN
 * makes NaN of all elements it enters, and leaves them unspecified: which of them come out infinite
 * depends on the algorithm. Sources: xla/hlo/evaluator (HandleFft), StableHLO specification. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "interp/double_double.h"
#include "interp/eval.h"
#include "interp/fft_exact.h"
#include "interp/fft_passes.h"

enum {
    EXPONENTS = 300, /* transforms of numbers within 2^±this need no scaling */
};

/* One fft: a batch of transforms. */
struct fft {
    const struct literal *operand;
    struct literal *result;
    int rank;                                /* of a transform */
    int64_t lengths[FFT_MOST_RANK];          /* of a transform when it is whole */
    int64_t transforms, in_count, out_count; /* elements of one */
    int type;
    struct fft_field in, out;
    struct fft_errors errors;
    int *exponents;      /* [transforms]: elements are computed divided by 2^this */
    double *norms;       /* [transforms]: |x|, so divided */
    bool scaled;         /* some are */
    unsigned char *open; /* [elements of the result]: bit p: part p */
    struct poll *poll;
    atomic_bool failed; /* no memory */
};

static bool is_inverse(const struct fft *fft)
{
    return fft->type == FFT_IFFT || fft->type == FFT_IRFFT;
}

/* The imaginary part of input element i; not that of a lone element whose spectrum is a real
 * signal's. */
static double imaginary_part(const struct fft *fft, int64_t i)
{
    int64_t place = i % fft->in_count;
    bool real =
        fft->type == FFT_IRFFT && fft->rank == 1 && (place == 0 || 2 * place == fft->lengths[0]);
    return real || !type_is_complex(fft->operand->shape->type)
               ? 0
               : literal_get_imaginary(fft->operand, i);
}

/* Reads the elements, scaled where pairs of doubles might leave their range. */
static void load(struct fft *fft)
{
    struct fft_field *in = &fft->in;
    bool wide = type_part(fft->operand->shape->type) == TYPE_F64;
    size_t bytes = (size_t)in->elements * sizeof(double);
    memset(in->parts[RE_LOW], 0, bytes);
    memset(in->parts[IM_LOW], 0, bytes);
    for (int64_t i = 0; i < in->elements; i++) {
        in->parts[RE_HIGH][i] = literal_get_double(fft->operand, i);
        in->parts[IM_HIGH][i] = imaginary_part(fft, i);
    }
    for (int64_t t = 0; t < fft->transforms; t++) {
        double *re = in->parts[RE_HIGH] + t * fft->in_count;
        double *im = in->parts[IM_HIGH] + t * fft->in_count;
        double most = 0, squares = 0;
        for (int64_t i = 0; i < fft->in_count; i++) {
            most = fmax(most, fmax(fabs(re[i]), fabs(im[i])));
        }
        int exponent = most > 0 && most < INFINITY ? ilogb(most) : 0;
        exponent = wide && (exponent < -EXPONENTS || exponent > EXPONENTS) ? exponent : 0;
        for (int64_t i = 0; i < fft->in_count; i++) {
            if (exponent != 0) {
                re[i] = ldexp(re[i], -exponent);
                im[i] = ldexp(im[i], -exponent);
            }
            squares += re[i] * re[i] + im[i] * im[i];
        }
        fft->exponents[t] = exponent;
        fft->scaled |= exponent != 0;
        fft->norms[t] = sqrt(squares);
    }
}

/* B of a transform, scaled as it is. What underflows is far below it. */
static double bound_of(const struct fft *fft, int64_t transform)
{
    double points = 1;
    for (int d = 0; d < fft->rank; d++) {
        points *= (double)fft->lengths[d];
    }
    double norm = fft->norms[transform] * (fft->type == FFT_IRFFT ? 1.5 : 1);
    double bound = 1.01 * fft->errors.of_elements * sqrt(points) * norm;
    bound = is_inverse(fft) ? bound / points : bound;
    bool exact = norm == 0 || (bound == 0 && fft->exponents[transform] == 0);
    return exact ? 0 : bound + (fft->scaled ? points * 0x1p-500 : DD_TINY);
}

/* Rounds elements that the bound decides. */
static void decide_range(void *context, int64_t begin, int64_t end)
{
    struct fft *fft = context;
    enum type type = type_part(fft->result->shape->type);
    bool complex = type_is_complex(fft->result->shape->type);
    int64_t transform = -1;
    double bound = 0;
    for (int64_t i = begin; i < end; i++) {
        double parts[2] = {0, 0};
        if (i / fft->out_count != transform) {
            transform = i / fft->out_count;
            bound = bound_of(fft, transform);
        }
        int exponent = fft->exponents[transform];
        fft->open[i] = 0;
        bool zero = fft->out.zero != NULL && fft->out.zero[i];
        for (int p = 0; p < (complex ? 2 : 1) && !zero; p++) {
            struct double_double value = {fft->out.parts[2 * p][i], fft->out.parts[2 * p + 1][i]};
            if (isnan(value.high) || !isfinite(fft->norms[transform])) {
                parts[p] = NAN; /* an infinity or NaN enters all of its transform */
            } else if (!dd_decide_scaled(type, value, bound, exponent, &parts[p])) {
                fft->open[i] |= (unsigned char)(1 << p);
            }
        }
        if (complex) {
            literal_set_complex(fft->result, i, parts[0], parts[1]);
        } else {
            literal_set_double(fft->result, i, parts[0]);
        }
    }
}

/* One transform with open elements. */
static bool settle_transform(struct fft *fft, int64_t transform)
{
    const struct shape *in = fft->operand->shape, *out = fft->result->shape;
    bool complex = type_is_complex(out->type), ok = true;
    int64_t first = transform * fft->in_count;
    struct fft_definition definition = {
        .type = type_part(out->type),
        .rank = fft->rank,
        .inverse = is_inverse(fft),
        .hermitian = fft->type == FFT_IRFFT,
        .re = fft->in.parts[RE_HIGH] + first,
        .poll = fft->poll,
    };
    for (int d = 0; d < fft->rank; d++) {
        definition.lengths[d] = fft->lengths[d];
        definition.in_sizes[d] = in->dimensions[in->rank - fft->rank + d];
        definition.out_sizes[d] = out->dimensions[out->rank - fft->rank + d];
    }
    for (int64_t i = first; i < first + fft->in_count; i++) {
        if (fft->in.parts[IM_HIGH][i] != 0) {
            definition.im = fft->in.parts[IM_HIGH] + first;
        }
    }
    struct fft_exact *exact = fft_exact_create(&definition);
    ok = exact != NULL;
    for (int64_t i = 0; i < fft->out_count && ok; i++) {
        int64_t at = transform * fft->out_count + i;
        double parts[2] = {literal_get_double(fft->result, at),
                           complex ? literal_get_imaginary(fft->result, at) : 0};
        for (int p = 0; p < 2 && ok; p++) {
            ok = (fft->open[at] >> p & 1) == 0 || fft_exact_element(exact, i, p, &parts[p]);
        }
        if (complex) {
            literal_set_complex(fft->result, at, parts[0], parts[1]);
        } else {
            literal_set_double(fft->result, at, parts[0]);
        }
    }
    fft_exact_destroy(exact);
    return ok;
}

static void settle_range(void *context, int64_t begin, int64_t end)
{
    struct fft *fft = context;
    for (int64_t t = begin; t < end; t++) {
        bool open = false;
        for (int64_t i = 0; i < fft->out_count && !open; i++) {
            open = fft->open[t * fft->out_count + i] != 0;
        }
        if (open && !settle_transform(fft, t)) {
            fft->failed = true;
        }
    }
}

/* Marks all transforms that a marked element enters. */
static void spread(const struct fft *fft)
{
    if (!literal_has_unspecified(fft->operand)) {
        return;
    }
    for (int64_t i = 0; i < literal_elements(fft->operand); i++) {
        if (literal_is_unspecified(fft->operand, i)) {
            for (int64_t j = 0; j < fft->out_count; j++) {
                literal_mark_unspecified(fft->result, i / fft->in_count * fft->out_count + j);
            }
        }
    }
}

/* All dimensions, the last one first, but for IRFFT, where it is the one that becomes real. */
static bool transform(struct fft *fft, struct error *err)
{
    bool hermitian = fft->type == FFT_IRFFT, ok = true;
    int last = fft->in.rank - 1;
    struct fft_pass pass = {.in = &fft->in,
                            .out = &fft->out,
                            .dimension = last,
                            .length = fft->lengths[fft->rank - 1],
                            .inverse = is_inverse(fft),
                            .find_zeros = fft->rank > 1 && !fft->scaled,
                            .poll = fft->poll};
    if (!hermitian) {
        ok = fft_pass_run(&pass, &fft->errors, err);
        pass.in = &fft->out;
    }
    struct fft_field spare = {0}; /* the input is wanted again */
    if (hermitian && fft->rank > 1) {
        ok = fft_field_init(&spare, fft->operand->shape, err);
        pass.out = &spare;
    }
    for (int d = last - 1; ok && d > last - fft->rank; d--) {
        pass.dimension = d;
        pass.length = fft->in.dimensions[d];
        ok = fft_pass_run(&pass, &fft->errors, err);
        pass.in = pass.out;
        pass.find_zeros = false;
    }
    if (hermitian) {
        pass.out = &fft->out;
        pass.dimension = last;
        pass.length = fft->lengths[fft->rank - 1];
        pass.hermitian = true;
        ok = ok && fft_pass_run(&pass, &fft->errors, err);
    }
    fft_field_finish(&spare);
    return ok;
}

/* What is neither decided nor settled yet is NaN for the infinities and NaN of the input. */
static void mark_specials(const struct fft *fft)
{
    bool complex = type_is_complex(fft->result->shape->type);
    for (int64_t i = 0; i < fft->out.elements; i++) {
        if (isnan(literal_get_double(fft->result, i)) ||
            (complex && isnan(literal_get_imaginary(fft->result, i)))) {
            literal_mark_unspecified(fft->result, i);
        }
    }
}

static bool run(struct fft *fft, struct error *err)
{
    fft->exponents = calloc((size_t)fft->transforms, sizeof *fft->exponents);
    fft->norms = calloc((size_t)fft->transforms, sizeof *fft->norms);
    fft->open = malloc((size_t)fft->out.elements);
    if (fft->exponents == NULL || fft->norms == NULL || fft->open == NULL) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for an fft");
    }
    load(fft);
    if (!transform(fft, err) || poll_stopped(fft->poll)) {
        return false;
    }
    pool_for(fft->out.elements, 4096, decide_range, fft);
    for (int64_t i = 0; i < fft->in.elements; i++) {
        if (fft->exponents[i / fft->in_count] != 0) { /* as they were: scaling may have lost bits */
            fft->in.parts[RE_HIGH][i] = literal_get_double(fft->operand, i);
            fft->in.parts[IM_HIGH][i] = imaginary_part(fft, i);
        }
    }
    pool_for(fft->transforms, 1 + 4096 / (fft->out_count + 1), settle_range, fft);
    mark_specials(fft);
    return !fft->failed || error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for exact sums");
}

/* Whether the dimensions are those of the transform; modules that were not verified come here too.
 */
static bool sizes_fit(const struct shape *in, const struct shape *out, struct ints lengths,
                      int64_t type)
{
    bool fits = lengths.count >= 1 && lengths.count <= FFT_MOST_RANK && lengths.count <= in->rank &&
                in->rank == out->rank;
    for (int d = 0; fits && d < in->rank; d++) {
        int i = d - (in->rank - lengths.count);
        int64_t n = i < 0 ? in->dimensions[d] : lengths.values[i];
        int64_t half = i == lengths.count - 1 && n > 0 ? n / 2 + 1 : n;
        fits = in->dimensions[d] == (type == FFT_IRFFT ? half : n) &&
               out->dimensions[d] == (type == FFT_RFFT ? half : n);
    }
    return fits;
}

struct literal *eval_fft(struct evaluation *evaluation, const struct instruction *instruction,
                         struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *operand = operands->values[0];
    struct ints lengths = attr_ints(instruction, ATTR_FFT_LENGTH);
    int64_t type = attr_int(instruction, ATTR_FFT_TYPE, FFT_FFT);
    if (!sizes_fit(operand->shape, instruction->shape, lengths, type)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "fft_length does not fit %s",
                  shape_text(operand->shape));
        return NULL;
    }
    struct literal *result = literal_create(instruction->shape, err);
    if (result == NULL) {
        return NULL;
    }
    if (literal_elements(result) == 0 || literal_elements(operand) == 0) {
        memset(literal_data(result), 0, (size_t)shape_bytes(result->shape));
        return result;
    }
    struct fft fft = {
        .operand = operand,
        .result = result,
        .rank = lengths.count,
        .type = (int)type,
        .transforms = 1,
        .poll = poll_current(),
    };
    for (int d = 0; d < lengths.count; d++) {
        fft.lengths[d] = lengths.values[d];
    }
    for (int d = 0; d < operand->shape->rank - fft.rank; d++) {
        fft.transforms *= operand->shape->dimensions[d];
    }
    fft.in_count = literal_elements(operand) / fft.transforms;
    fft.out_count = literal_elements(result) / fft.transforms;
    bool ok = fft_field_init(&fft.in, operand->shape, err);
    ok = ok && fft_field_init(&fft.out, result->shape, err) && run(&fft, err);
    fft_field_finish(&fft.in);
    fft_field_finish(&fft.out);
    free(fft.exponents);
    free(fft.norms);
    free(fft.open);
    if (!ok) {
        literal_release(result);
        return NULL;
    }
    spread(&fft);
    return result;
}
