/* fft against its definition in MPFR at 300 bits and more, with values on and next to rounding
 * boundaries, at the ends of the range and with exact zeros; and against values of XLA's CPU where
 * the definition leaves a choice. */
#include "one_op.h"

static struct rng rng;
static mpfr_prec_t precision = 300;

static void setup(void)
{
    rng_init(&rng, 41);
    pool_set_threads(2);
}

/* --- the definition: one dimension after another --- */

struct array {
    int rank;
    int64_t dimensions[8], elements;
    mpfr_t *parts[2];
};

static void array_init(struct array *array, const struct shape *shape)
{
    array->rank = shape->rank;
    array->elements = 1;
    for (int d = 0; d < shape->rank; d++) {
        array->dimensions[d] = shape->dimensions[d];
        array->elements *= shape->dimensions[d];
    }
    for (int part = 0; part < 2; part++) {
        array->parts[part] = malloc((size_t)array->elements * sizeof(mpfr_t));
        for (int64_t i = 0; i < array->elements; i++) {
            mpfr_init2(array->parts[part][i], precision);
            mpfr_set_zero(array->parts[part][i], 1);
        }
    }
}

static void array_finish(struct array *array)
{
    for (int part = 0; part < 2; part++) {
        for (int64_t i = 0; i < array->elements; i++) {
            mpfr_clear(array->parts[part][i]);
        }
        free(array->parts[part]);
    }
}

static mpfr_t *make_roots(int64_t n, bool inverse)
{
    mpfr_t *roots = malloc((size_t)n * 2 * sizeof(mpfr_t));
    mpfr_t angle;
    mpfr_init2(angle, precision);
    for (int64_t k = 0; k < n; k++) {
        mpfr_init2(roots[2 * k], precision);
        mpfr_init2(roots[2 * k + 1], precision);
        mpfr_const_pi(angle, MPFR_RNDN);
        mpfr_mul_si(angle, angle, (long)(inverse ? 2 * k : -2 * k), MPFR_RNDN);
        mpfr_div_si(angle, angle, (long)n, MPFR_RNDN);
        mpfr_sin_cos(roots[2 * k + 1], roots[2 * k], angle, MPFR_RNDN);
        for (int part = 0; part < 2; part++) {
            /* π is not exact; ±1, ±1/2 and 0 are. */
            double rational = round(2 * mpfr_get_d(roots[2 * k + part], MPFR_RNDN)) / 2;
            mpfr_sub_d(angle, roots[2 * k + part], rational, MPFR_RNDN);
            if (fabs(mpfr_get_d(angle, MPFR_RNDN)) < 1e-80) {
                mpfr_set_d(roots[2 * k + part], rational, MPFR_RNDN);
            }
        }
    }
    mpfr_clear(angle);
    return roots;
}

/* out[k] = Σ_j in[j] * root^(jk) along dimension d; in has n elements there, or the first half of
 * the spectrum of a real signal of n. */
static void transform(const struct array *in, struct array *out, int d, int64_t n, bool inverse,
                      bool hermitian)
{
    mpfr_t *roots = make_roots(n, inverse);
    mpfr_t term, x[2];
    mpfr_inits2(precision, term, x[0], x[1], (mpfr_ptr)NULL);
    int64_t stride = 1, in_size = in->dimensions[d], out_size = out->dimensions[d];
    for (int i = d + 1; i < in->rank; i++) {
        stride *= in->dimensions[i];
    }
    for (int64_t line = 0; line < in->elements / in_size; line++) {
        int64_t from = line / stride * stride * in_size + line % stride;
        int64_t to = line / stride * stride * out_size + line % stride;
        for (int64_t k = 0; k < out_size; k++) {
            mpfr_t *sum[2] = {&out->parts[0][to + k * stride], &out->parts[1][to + k * stride]};
            mpfr_set_zero(*sum[0], 1);
            mpfr_set_zero(*sum[1], 1);
            for (int64_t j = 0; j < n; j++) {
                bool mirrored = hermitian && j > n / 2;
                int64_t source = from + (mirrored ? n - j : j) * stride;
                mpfr_set(x[0], in->parts[0][source], MPFR_RNDN);
                mpfr_set(x[1], in->parts[1][source], MPFR_RNDN);
                if (mirrored) {
                    mpfr_neg(x[1], x[1], MPFR_RNDN);
                }
                if (hermitian && (j == 0 || 2 * j == n)) {
                    mpfr_set_zero(x[1], 1);
                }
                mpfr_t *root = &roots[j * k % n * 2];
                mpfr_mul(term, x[0], root[0], MPFR_RNDN);
                mpfr_add(*sum[0], *sum[0], term, MPFR_RNDN);
                mpfr_mul(term, x[1], root[1], MPFR_RNDN);
                mpfr_sub(*sum[0], *sum[0], term, MPFR_RNDN);
                mpfr_mul(term, x[0], root[1], MPFR_RNDN);
                mpfr_add(*sum[1], *sum[1], term, MPFR_RNDN);
                mpfr_mul(term, x[1], root[0], MPFR_RNDN);
                mpfr_add(*sum[1], *sum[1], term, MPFR_RNDN);
            }
            for (int part = 0; part < 2 && inverse; part++) {
                mpfr_div_si(*sum[part], *sum[part], (long)n, MPFR_RNDN);
            }
        }
    }
    for (int64_t k = 0; k < 2 * n; k++) {
        mpfr_clear(roots[k]);
    }
    free(roots);
    mpfr_clears(term, x[0], x[1], (mpfr_ptr)NULL);
}

static void copy_array(struct array *to, const struct array *from)
{
    for (int part = 0; part < 2; part++) {
        for (int64_t i = 0; i < from->elements; i++) {
            mpfr_set(to->parts[part][i], from->parts[part][i], MPFR_RNDN);
        }
    }
}

/* What the operand holds. NEXT_TO: the first two elements (and that half a length away) add up to a
 * boundary of the type in some results, the last adds what is too small for pairs of doubles. */
enum filling { RANDOM, ONES, ON_BOUNDARY, NEXT_ABOVE, NEXT_BELOW, HUGE, SUBNORMAL, MIXED, SPARSE };

static void fill(struct literal *operand, enum filling filling)
{
    bool wide = type_part(operand->shape->type) == TYPE_F64;
    int64_t n = operand->shape->dimensions[operand->shape->rank - 1];
    fill_random(operand, &rng, 1);
    for (int64_t i = 0; i < literal_elements(operand) && filling != RANDOM; i++) {
        int64_t j = i % n;
        double large = wide ? 0x1p53 : 0x1p24, tiny = wide ? 0x1p-200 : 0x1p-100;
        double re = literal_get_double(operand, i), im = literal_get_imaginary(operand, i);
        switch (filling) {
        case ONES:
            re = 1;
            im = 0;
            break;
        case HUGE:
            re = ldexp(re, wide ? 1022 : 126);
            im = ldexp(im, wide ? 1022 : 126);
            break;
        case SUBNORMAL:
            re = ldexp(re, wide ? -1060 : -140);
            im = ldexp(im, wide ? -1060 : -140);
            break;
        case MIXED:
            re = ldexp(re, (int)(i % 3 - 1) * (wide ? 900 : 100));
            im = ldexp(im, (int)(i % 5 - 2) * (wide ? 400 : 50));
            break;
        case SPARSE:
            re = j == 1 ? 3 : 0;
            im = 0;
            break;
        default:
            re = j == 0 ? large : j == n / 2 ? -1 : 0;
            im = 0;
            if (j == 1 && filling != ON_BOUNDARY) {
                re = filling == NEXT_ABOVE ? tiny : -tiny;
            }
            break;
        }
        if (type_is_complex(operand->shape->type)) {
            literal_set_complex(operand, i, re, im);
        } else {
            literal_set_double(operand, i, re);
        }
    }
}

static void check_fft(const char *kind, const char *in, const char *out, const char *lengths,
                      enum filling filling)
{
    char body[512];
    snprintf(body, sizeof body,
             "a = %s parameter(0)\nROOT r = %s fft(a), fft_type=%s, fft_length={%s}", in, out, kind,
             lengths);
    struct one_op op;
    one_op_init(&op, body);
    fill(op.values[0], filling);
    struct literal *result = one_op_run(&op, eval_fft);
    struct ints length = attr_ints(op.instruction, ATTR_FFT_LENGTH);
    bool inverse = strstr(kind, "IFFT") != NULL || strstr(kind, "IRFFT") != NULL;
    bool to_real = strcmp(kind, "IRFFT") == 0;
    struct array data, spare, final;
    array_init(&data, op.values[0]->shape);
    array_init(&spare, op.values[0]->shape);
    array_init(&final, result->shape);
    for (int64_t i = 0; i < data.elements; i++) {
        mpfr_set_d(data.parts[0][i], literal_get_double(op.values[0], i), MPFR_RNDN);
        mpfr_set_d(data.parts[1][i], literal_get_imaginary(op.values[0], i), MPFR_RNDN);
    }
    int last = data.rank - 1, first = data.rank - length.count;
    if (to_real) {
        for (int d = first; d < last; d++) {
            transform(&data, &spare, d, data.dimensions[d], true, false);
            copy_array(&data, &spare);
        }
        transform(&data, &final, last, length.values[length.count - 1], true, true);
    } else {
        struct array again;
        array_init(&again, result->shape);
        transform(&data, &final, last, data.dimensions[last], inverse, false);
        for (int d = first; d < last; d++) {
            transform(&final, &again, d, final.dimensions[d], inverse, false);
            copy_array(&final, &again);
        }
        array_finish(&again);
    }
    mpfr_t size;
    mpfr_init2(size, 53);
    mpfr_set_zero(size, 1);
    for (int64_t i = 0; i < literal_elements(op.values[0]); i++) {
        double most = fmax(fabs(literal_get_double(op.values[0], i)),
                           fabs(literal_get_imaginary(op.values[0], i)));
        if (mpfr_cmp_d(size, most) < 0) {
            mpfr_set_d(size, most, MPFR_RNDN);
        }
    }
    for (int64_t i = 0; i < final.elements; i++) {
        for (int part = 0; part < (to_real ? 1 : 2); part++) {
            if (mpfr_zero_p(size) || mpfr_get_exp(final.parts[part][i]) <
                                         mpfr_get_exp(size) - (mpfr_exp_t)precision + 40) {
                mpfr_set_zero(final.parts[part][i], 1); /* all bits of it are noise */
            }
            check_nearest(result, i, part, final.parts[part][i]);
        }
    }
    mpfr_clear(size);
    array_finish(&data);
    array_finish(&spare);
    array_finish(&final);
    literal_release(result);
    one_op_finish(&op);
}

START_TEST(test_lengths)
{
    /* Powers of two, sums as defined, Bluestein. */
    static const int lengths[] = {1,  2,  3,  4,  5,  6,  7,  8,   12, 16,
                                  27, 47, 48, 49, 60, 64, 97, 100, 120};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        char complex[32], wide[32], length[32];
        snprintf(complex, sizeof complex, "c64[3,%d]", n);
        snprintf(wide, sizeof wide, "c128[%d]", n);
        snprintf(length, sizeof length, "%d", n);
        check_fft("FFT", complex, complex, length, RANDOM);
        check_fft("IFFT", complex, complex, length, RANDOM);
        check_fft("FFT", wide, wide, length, RANDOM);
        char real[32], half[32];
        snprintf(real, sizeof real, "f32[2,%d]", n);
        snprintf(half, sizeof half, "c64[2,%d]", n / 2 + 1);
        check_fft("RFFT", real, half, length, RANDOM);
        check_fft("IRFFT", half, real, length, RANDOM);
        snprintf(real, sizeof real, "f64[%d]", n);
        snprintf(half, sizeof half, "c128[%d]", n / 2 + 1);
        check_fft("RFFT", real, half, length, RANDOM);
        check_fft("IRFFT", half, real, length, RANDOM);
    }
}
END_TEST

START_TEST(test_dimensions)
{
    check_fft("FFT", "c64[2,6,8]", "c64[2,6,8]", "6,8", RANDOM);
    check_fft("IFFT", "c64[3,5,4]", "c64[3,5,4]", "3,5,4", RANDOM);
    check_fft("RFFT", "f32[2,4,5,6]", "c64[2,4,5,4]", "4,5,6", RANDOM);
    check_fft("RFFT", "f64[4,5,7]", "c128[4,5,4]", "5,7", RANDOM);
    check_fft("IRFFT", "c64[4,5,4]", "f32[4,5,6]", "4,5,6", RANDOM);
    check_fft("IRFFT", "c128[5,4]", "f64[5,7]", "5,7", RANDOM);
}
END_TEST

/* Exact zeros come out as zeros. */
START_TEST(test_constant)
{
    check_fft("FFT", "c64[64]", "c64[64]", "64", ONES);
    check_fft("FFT", "c64[37]", "c64[37]", "37", ONES);
    check_fft("RFFT", "f32[100]", "c64[51]", "100", ONES);
    check_fft("FFT", "c64[8,12]", "c64[8,12]", "8,12", ONES);
}
END_TEST

/* Zeros, ties and what lies next to them, in every kind of transform and at the ends of the range.
 * Lengths: powers of two, products, primes. */
START_TEST(test_boundaries)
{
    static const int lengths[] = {2, 3, 4, 6, 8, 12, 30, 53, 60, 64};
    precision = 2600;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int n = lengths[i];
        char complex[32], wide[32], length[32], real[32], half[32];
        snprintf(complex, sizeof complex, "c64[%d]", n);
        snprintf(wide, sizeof wide, "c128[%d]", n);
        snprintf(length, sizeof length, "%d", n);
        check_fft("FFT", complex, complex, length, (enum filling)_i);
        check_fft("IFFT", complex, complex, length, (enum filling)_i);
        check_fft("FFT", wide, wide, length, (enum filling)_i);
        check_fft("IFFT", wide, wide, length, (enum filling)_i);
        snprintf(real, sizeof real, "f32[%d]", n);
        snprintf(half, sizeof half, "c64[%d]", n / 2 + 1);
        check_fft("RFFT", real, half, length, (enum filling)_i);
        check_fft("IRFFT", half, real, length, (enum filling)_i);
    }
    check_fft("FFT", "c64[2,6,4]", "c64[2,6,4]", "6,4", (enum filling)_i);
    check_fft("IFFT", "c128[3,4,5]", "c128[3,4,5]", "3,4,5", (enum filling)_i);
    check_fft("RFFT", "f64[4,3,6]", "c128[4,3,4]", "4,3,6", (enum filling)_i);
    check_fft("IRFFT", "c64[3,4,3]", "f32[3,4,4]", "3,4,4", (enum filling)_i);
}
END_TEST

/* Twiddles of long transforms: an impulse at 1 gives the roots of unity themselves. */
START_TEST(test_long_impulse)
{
    static const int64_t lengths[] = {1 << 16, 50000};
    int64_t n = lengths[_i];
    char body[256];
    snprintf(body, sizeof body,
             "a = c64[%lld] parameter(0)\n"
             "ROOT r = c64[%lld] fft(a), fft_type=FFT, fft_length={%lld}",
             (long long)n, (long long)n, (long long)n);
    struct one_op op;
    one_op_init(&op, body);
    literal_set_complex(op.values[0], 1, 1, 0);
    struct literal *result = one_op_run(&op, eval_fft);
    mpfr_t angle, parts[2];
    mpfr_inits2(precision, angle, parts[0], parts[1], (mpfr_ptr)NULL);
    for (int64_t k = 0; k < n; k += 61) {
        mpfr_const_pi(angle, MPFR_RNDN);
        mpfr_mul_si(angle, angle, (long)(-2 * k), MPFR_RNDN);
        mpfr_div_si(angle, angle, (long)n, MPFR_RNDN);
        mpfr_sin_cos(parts[1], parts[0], angle, MPFR_RNDN);
        for (int part = 0; part < 2; part++) {
            if (fabs(mpfr_get_d(parts[part], MPFR_RNDN)) < 1e-80) {
                mpfr_set_zero(parts[part], 1);
            }
            check_nearest(result, k, part, parts[part]);
        }
    }
    mpfr_clears(angle, parts[0], parts[1], (mpfr_ptr)NULL);
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

/* IRFFT ignores imaginary parts that a real signal's spectrum cannot have, after the transform of
 * the other dimensions: jaxlib 0.10.2 on CPU. */
START_TEST(test_ignored_parts_as_xla)
{
    struct one_op op;
    one_op_init(&op, "a = c64[2,3] parameter(0)\n"
                     "ROOT r = f32[2,4] fft(a), fft_type=IRFFT, fft_length={2,4}");
    static const double in[] = {1, 2, 2, -1, 3, 1, 0, 1, 3, -2, 1, -1};
    static const double want[] = {1.875, 0.375, -0.625, -1.125, 0.125, -0.375, 0.625, 0.125};
    for (int i = 0; i < 6; i++) {
        literal_set_complex(op.values[0], i, in[2 * i], in[2 * i + 1]);
    }
    struct literal *result = one_op_run(&op, eval_fft);
    for (int i = 0; i < 8; i++) {
        ck_assert(literal_get_double(result, i) == want[i]);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

START_TEST(test_infinity)
{
    struct one_op op;
    one_op_init(&op, "a = c64[2,4] parameter(0)\n"
                     "ROOT r = c64[2,4] fft(a), fft_type=FFT, fft_length={4}");
    literal_set_complex(op.values[0], 1, INFINITY, 0);
    struct literal *result = one_op_run(&op, eval_fft);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(isnan(literal_get_double(result, i)) != 0, i < 4);
        ck_assert_int_eq(isnan(literal_get_imaginary(result, i)) != 0, i < 4);
        ck_assert_int_eq(literal_is_unspecified(result, i), i < 4);
    }
    literal_release(result);
    one_op_finish(&op);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interp_fft");
    TCase *tests = tcase_create("fft");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_lengths);
    tcase_add_test(tests, test_dimensions);
    tcase_add_test(tests, test_constant);
    tcase_add_loop_test(tests, test_boundaries, ONES, SPARSE + 1);
    tcase_add_loop_test(tests, test_long_impulse, 0, 2);
    tcase_add_test(tests, test_ignored_parts_as_xla);
    tcase_add_test(tests, test_infinity);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
