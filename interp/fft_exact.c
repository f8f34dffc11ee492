/* Exact elements of Fourier transforms; see fft_exact.h.
 *
 * The basis: with M = Π p^a, Q(ζ) is the tensor product of the fields of the prime powers, and in
 * each the sum of ζ^(t + s M / p) over s = 0 … p − 1 is zero. So the coefficients of those t whose
 * digit (t mod p^a) / p^(a − 1) is p − 1 go over, with the other sign, to the t with the other
 * digits; what is left, one prime after the other, is a basis. t = 0 stands for 1.
 *
 * Conjugation by a unit u of Z / M turns cos(2π t / M) into cos(2π u t / M): element k into element
 * u k (modulo the lengths). Where sines take part, as cosines a quarter of a turn away, u ≡ 1
 * modulo 4 keeps the quarter. */
#include "interp/fft_exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/bracket.h"

/* Two limbs. */
__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;

enum {
    FIRST_PRECISION = 192,
    MOST_PRECISION = 1 << 15,
    MOST_LIMBS = 40,
    UNKNOWN = 0,
    IRRATIONAL = 1
};

struct rational {
    double value; /* rounded */
    bool zero;    /* as it was */
};

struct fft_exact {
    const struct fft_definition *definition;
    int64_t modulus; /* M: all lengths and 4 divide it */
    int64_t in_count, out_count;
    int64_t points;         /* of the whole transform: the inverse divides by it */
    int64_t last_bit;       /* coefficients are multiples of 2^this */
    int limbs;              /* of a coefficient: 64 bits each, two's complement, least first */
    uint64_t *coefficients; /* [modulus][limbs] */
    uint64_t *in[2]; /* the parts of the input in the same form; in[1] NULL if all are zero */
    /* Of each part of each element: UNKNOWN, IRRATIONAL, or 2 + the index of its rational value. */
    int32_t *classes;
    struct rational *rationals;
    int32_t rational_count, rational_room;
};

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The exponents of the last bit of a nonzero double, and of the bit above its first. */
static void bits_of(double value, int64_t *last, int64_t *top)
{
    int exponent;
    int64_t integer = (int64_t)ldexp(fabs(frexp(value, &exponent)), 53);
    *last = exponent - 53 + __builtin_ctzll((unsigned long long)integer);
    *top = exponent;
}

/* --- wide integers --- */

static void wide_add(uint64_t *to, const uint64_t *other, int limbs)
{
    uint64_t carry = 0;
    for (int i = 0; i < limbs; i++) {
        wide_unsigned sum = (wide_unsigned)to[i] + other[i] + carry;
        to[i] = (uint64_t)sum;
        carry = (uint64_t)(sum >> 64);
    }
}

static void wide_subtract(uint64_t *to, const uint64_t *other, int limbs)
{
    uint64_t borrow = 0;
    for (int i = 0; i < limbs; i++) {
        wide_unsigned difference = (wide_unsigned)to[i] - other[i] - borrow;
        to[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
}

static bool wide_is_zero(const uint64_t *wide, int limbs)
{
    uint64_t any = 0;
    for (int i = 0; i < limbs; i++) {
        any |= wide[i];
    }
    return any == 0;
}

/* The coefficient of a double. */
static void wide_from(const struct fft_exact *exact, double value, uint64_t *wide)
{
    int limbs = exact->limbs;
    memset(wide, 0, (size_t)limbs * sizeof *wide);
    if (value == 0) {
        return;
    }
    int64_t last, top;
    bits_of(value, &last, &top);
    uint64_t integer = (uint64_t)ldexp(fabs(value), (int)-last);
    int64_t shift = last - exact->last_bit;
    wide_unsigned shifted = (wide_unsigned)integer << shift % 64;
    wide[shift / 64] = (uint64_t)shifted;
    if (shift / 64 + 1 < limbs) {
        wide[shift / 64 + 1] = (uint64_t)(shifted >> 64);
    }
    if (value < 0) {
        uint64_t zero[MOST_LIMBS] = {0};
        wide_subtract(zero, wide, limbs);
        memcpy(wide, zero, (size_t)limbs * sizeof *wide);
    }
}

/* Exactly: out has 64 bits a limb. */
static void wide_to_mpfr(const uint64_t *wide, int limbs, mpfr_t out)
{
    uint64_t magnitude[MOST_LIMBS] = {0};
    bool negative = (int64_t)wide[limbs - 1] < 0;
    if (negative) {
        wide_subtract(magnitude, wide, limbs);
    } else {
        memcpy(magnitude, wide, (size_t)limbs * sizeof *wide);
    }
    mpfr_set_zero(out, 1);
    for (int i = limbs - 1; i >= 0; i--) {
        mpfr_mul_2si(out, out, 32, MPFR_RNDN);
        mpfr_add_ui(out, out, (unsigned long)(magnitude[i] >> 32), MPFR_RNDN);
        mpfr_mul_2si(out, out, 32, MPFR_RNDN);
        mpfr_add_ui(out, out, (unsigned long)(magnitude[i] & 0xffffffff), MPFR_RNDN);
    }
    if (negative) {
        mpfr_neg(out, out, MPFR_RNDN);
    }
}

/* --- the transform --- */

static bool allocate(struct fft_exact *exact)
{
    const struct fft_definition *definition = exact->definition;
    size_t bytes = (size_t)exact->limbs * sizeof(uint64_t);
    exact->classes = calloc((size_t)(2 * exact->out_count), sizeof *exact->classes);
    bool ok = exact->classes != NULL && exact->modulus < INT64_C(1) << 40;
    exact->coefficients = ok ? malloc((size_t)exact->modulus * bytes) : NULL;
    ok = ok && exact->coefficients != NULL;
    for (int p = 0; p < 2 && ok; p++) {
        const double *part = p == 0 ? definition->re : definition->im;
        exact->in[p] = part == NULL ? NULL : malloc((size_t)exact->in_count * bytes);
        ok = part == NULL || exact->in[p] != NULL;
        for (int64_t i = 0; ok && part != NULL && i < exact->in_count; i++) {
            wide_from(exact, part[i], exact->in[p] + i * exact->limbs);
        }
    }
    return ok;
}

struct fft_exact *fft_exact_create(const struct fft_definition *definition)
{
    struct fft_exact *exact = calloc(1, sizeof *exact);
    if (exact == NULL) {
        return NULL;
    }
    *exact = (struct fft_exact){
        .definition = definition, .modulus = 4, .in_count = 1, .out_count = 1, .points = 1};
    for (int d = 0; d < definition->rank; d++) {
        int64_t n = definition->lengths[d];
        exact->modulus *= n / greatest_divisor(exact->modulus, n);
        exact->in_count *= definition->in_sizes[d];
        exact->out_count *= definition->out_sizes[d];
        exact->points *= n;
    }
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    for (int64_t i = 0; i < 2 * exact->in_count; i++) {
        const double *part = i < exact->in_count ? definition->re : definition->im;
        double value = part == NULL ? 0 : part[i % exact->in_count];
        int64_t last, top;
        if (value != 0) {
            bits_of(value, &last, &top);
            lowest = last < lowest ? last : lowest;
            highest = top > highest ? top : highest;
        }
    }
    exact->last_bit = lowest == INT64_MAX ? 0 : lowest;
    /* Sums of all elements, doubled by the spectrum's other half and by the cosines' symmetry, and
     * once more for each prime of the reduction (no more than 16 below 2^63). */
    int64_t bits = lowest == INT64_MAX ? 0 : highest - lowest;
    for (int64_t n = exact->in_count; n > 0; n /= 2) {
        bits++;
    }
    exact->limbs = (int)((bits + 20) / 64 + 1);
    if (exact->limbs > MOST_LIMBS || !allocate(exact)) {
        fft_exact_destroy(exact);
        return NULL;
    }
    return exact;
}

void fft_exact_destroy(struct fft_exact *exact)
{
    if (exact != NULL) {
        free(exact->coefficients);
        free(exact->in[0]);
        free(exact->in[1]);
        free(exact->classes);
        free(exact->rationals);
        free(exact);
    }
}

/* --- coefficients --- */

/* One part of one element. */
struct sum {
    struct fft_exact *exact;
    int part;
    int64_t steps[FFT_MOST_RANK]; /* the turns, in units of 1 / M, that an index adds */
    int64_t index[FFT_MOST_RANK]; /* k */
    bool quarters;                /* sines take part */
    int64_t divisor, modulus;     /* the turns are multiples of divisor; modulus = M / divisor */
};

static uint64_t *coefficient(const struct sum *sum, int64_t t)
{
    return sum->exact->coefficients + t * sum->exact->limbs;
}

static void sum_init(struct sum *sum, struct fft_exact *exact, int64_t index, int part)
{
    const struct fft_definition *definition = exact->definition;
    *sum = (struct sum){.exact = exact, .part = part, .divisor = exact->modulus};
    for (int d = definition->rank - 1; d >= 0; d--) {
        sum->index[d] = index % definition->out_sizes[d];
        index /= definition->out_sizes[d];
        sum->steps[d] = sum->index[d] * (exact->modulus / definition->lengths[d]);
        sum->divisor = greatest_divisor(sum->divisor, sum->steps[d]);
    }
    sum->quarters = definition->im != NULL || part == 1;
    if (sum->quarters) {
        sum->divisor = greatest_divisor(sum->divisor, exact->modulus / 4);
    }
    sum->modulus = exact->modulus / sum->divisor;
}

/* c(turns / divisor) += value; 0 ≤ turns < 2 M */
static void add_to(const struct sum *sum, int64_t turns, const uint64_t *value)
{
    turns -= turns >= sum->exact->modulus ? sum->exact->modulus : 0;
    wide_add(coefficient(sum, turns / sum->divisor), value, sum->exact->limbs);
}

/* Adds up c(t): re cos θ − im sin θ, or re sin θ + im cos θ, of all elements. */
static void collect(const struct sum *sum)
{
    const struct fft_exact *exact = sum->exact;
    const struct fft_definition *definition = exact->definition;
    int64_t modulus = exact->modulus, quarter = modulus / 4;
    int64_t j[FFT_MOST_RANK] = {0}, turns = 0;
    int last = definition->rank - 1, limbs = exact->limbs;
    memset(exact->coefficients, 0, (size_t)(sum->modulus * limbs) * sizeof(uint64_t));
    for (int64_t i = 0; i < exact->in_count; i++) {
        /* The angle is that many turns / M, backwards unless inverse. */
        int64_t at = definition->inverse || turns == 0 ? turns : modulus - turns;
        bool once =
            !definition->hermitian || j[last] == 0 || 2 * j[last] == definition->lengths[last];
        for (int times = once ? 1 : 2; times > 0; times--) {
            add_to(sum, sum->part == 0 ? at : at + 3 * quarter, exact->in[0] + i * limbs);
            if (exact->in[1] != NULL) {
                add_to(sum, sum->part == 0 ? at + quarter : at, exact->in[1] + i * limbs);
            }
        }
        for (int d = last; d >= 0; d--) {
            turns += sum->steps[d];
            turns -= turns >= modulus ? modulus : 0;
            if (++j[d] < definition->in_sizes[d]) {
                break;
            }
            j[d] = 0;
            turns =
                (int64_t)((turns - (wide_signed)sum->steps[d] * definition->in_sizes[d]) % modulus);
            turns += turns < 0 ? modulus : 0;
        }
    }
}

/* c(t) becomes c(t) + c(−t): twice the value as a sum of powers of ζ. */
static void symmetrize(const struct sum *sum)
{
    int limbs = sum->exact->limbs;
    for (int64_t t = 0; 2 * t <= sum->modulus; t++) {
        uint64_t *a = coefficient(sum, t), *b = coefficient(sum, (sum->modulus - t) % sum->modulus);
        uint64_t both[MOST_LIMBS];
        memcpy(both, a, (size_t)limbs * sizeof *both);
        wide_add(both, b, limbs);
        memcpy(a, both, (size_t)limbs * sizeof *both);
        memcpy(b, both, (size_t)limbs * sizeof *both);
    }
}

static void reduce_prime(const struct sum *sum, int64_t prime, int64_t power)
{
    int64_t modulus = sum->modulus, step = modulus / prime;
    int limbs = sum->exact->limbs;
    for (int64_t end = power; end <= modulus; end += power) {
        for (int64_t t = end - power / prime; t < end; t++) {
            uint64_t *top = coefficient(sum, t);
            int64_t other = t;
            for (int64_t s = 1; s < prime && !wide_is_zero(top, limbs); s++) {
                other += step;
                other -= other >= modulus ? modulus : 0;
                wide_subtract(coefficient(sum, other), top, limbs);
            }
            memset(top, 0, (size_t)limbs * sizeof *top);
        }
    }
}

static void reduce(const struct sum *sum)
{
    int64_t rest = sum->modulus;
    for (int64_t prime = 2; rest > 1; prime++) {
        int64_t power = 1;
        prime = prime * prime > rest ? rest : prime;
        for (; rest % prime == 0; rest /= prime) {
            power *= prime;
        }
        if (power > 1) {
            reduce_prime(sum, prime, power);
        }
    }
}

static bool is_rational(const struct sum *sum)
{
    bool rational = true;
    for (int64_t t = 1; t < sum->modulus && rational; t++) {
        rational = wide_is_zero(coefficient(sum, t), sum->exact->limbs);
    }
    return rational;
}

/* --- values --- */

/* Half of what is in coefficients, times the factor of the transform. */
static void scale(const struct fft_exact *exact, struct bracket *value)
{
    mpfr_mul_2si(value->low, value->low, (long)exact->last_bit - 1, MPFR_RNDD);
    mpfr_mul_2si(value->high, value->high, (long)exact->last_bit - 1, MPFR_RNDU);
    if (exact->definition->inverse) {
        mpfr_div_ui(value->low, value->low, (unsigned long)exact->points, MPFR_RNDD);
        mpfr_div_ui(value->high, value->high, (unsigned long)exact->points, MPFR_RNDU);
    }
}

/* A quotient that lies on a boundary is dyadic, so exact at this precision. */
static bool round_rational(const struct sum *sum, double *rounded)
{
    int limbs = sum->exact->limbs;
    enum type type = sum->exact->definition->type;
    mpfr_t numerator;
    struct bracket *value = brackets_create(1, 64 * limbs + 64);
    if (value == NULL) {
        return false;
    }
    mpfr_init2(numerator, 64 * limbs + 64);
    wide_to_mpfr(coefficient(sum, 0), limbs, numerator);
    mpfr_set(value->low, numerator, MPFR_RNDD);
    mpfr_set(value->high, numerator, MPFR_RNDU);
    scale(sum->exact, value);
    if (!bracket_round(type, value, rounded)) {
        *rounded = bracket_boundary(type, value);
    }
    mpfr_clear(numerator);
    brackets_destroy(value, 1);
    return true;
}

/* cos and sin of multiples of a turn's part, as intervals: entry i at 2 i and 2 i + 1. */
static struct bracket *make_turns(int64_t count, int64_t step, int64_t modulus,
                                  mpfr_prec_t precision)
{
    struct bracket *table = brackets_create(2 * count, precision);
    mpfr_t angle, parts[2], error;
    if (table == NULL) {
        return NULL;
    }
    mpfr_inits2(precision + 64, angle, parts[0], parts[1], (mpfr_ptr)NULL);
    mpfr_init2(error, 32);
    mpfr_set_ui_2exp(error, 1, 2 - precision, MPFR_RNDU);
    for (int64_t i = 0; i < count; i++) {
        mpfr_const_pi(angle, MPFR_RNDN);
        mpfr_mul_si(angle, angle, (long)(2 * i * step), MPFR_RNDN);
        mpfr_div_si(angle, angle, (long)modulus, MPFR_RNDN);
        mpfr_sin_cos(parts[1], parts[0], angle, MPFR_RNDN);
        for (int p = 0; p < 2; p++) {
            mpfr_sub(table[2 * i + p].low, parts[p], error, MPFR_RNDD);
            mpfr_add(table[2 * i + p].high, parts[p], error, MPFR_RNDU);
        }
    }
    mpfr_clears(angle, parts[0], parts[1], error, (mpfr_ptr)NULL);
    return table;
}

/* out = Σ c(t) cos(2π t / modulus) */
static bool add_cosines(const struct sum *sum, mpfr_prec_t precision, struct bracket *out)
{
    int64_t block = 1, modulus = sum->modulus;
    while (block * block < modulus) {
        block *= 2;
    }
    int64_t blocks = (modulus + block - 1) / block;
    int limbs = sum->exact->limbs;
    struct bracket *fine = make_turns(block, 1, modulus, precision);
    struct bracket *coarse = make_turns(blocks, block, modulus, precision);
    struct bracket *cosine = brackets_create(2, precision);
    bool ok = fine != NULL && coarse != NULL && cosine != NULL;
    struct bracket_scratch scratch;
    mpfr_t factor;
    bracket_scratch_init(&scratch, precision);
    mpfr_init2(factor, 64 * limbs);
    bracket_set(out, 0);
    for (int64_t t = 0; ok && t < modulus; t++) {
        if (t % 1024 == 0 && poll_stopped(sum->exact->definition->poll)) {
            ok = false;
        }
        if (!ok || wide_is_zero(coefficient(sum, t), limbs)) {
            continue;
        }
        const struct bracket *a = coarse + t / block * 2, *b = fine + t % block * 2;
        bracket_multiply(&scratch, &cosine[0], &a[0], &b[0]);
        bracket_multiply(&scratch, &cosine[1], &a[1], &b[1]);
        bracket_subtract(&cosine[0], &cosine[0], &cosine[1]);
        wide_to_mpfr(coefficient(sum, t), limbs, factor);
        bool positive = mpfr_sgn(factor) > 0;
        mpfr_mul(cosine[1].low, factor, positive ? cosine[0].low : cosine[0].high, MPFR_RNDD);
        mpfr_mul(cosine[1].high, factor, positive ? cosine[0].high : cosine[0].low, MPFR_RNDU);
        bracket_add(out, out, &cosine[1]);
    }
    mpfr_clear(factor);
    bracket_scratch_finish(&scratch);
    brackets_destroy(fine, 2 * block);
    brackets_destroy(coarse, 2 * blocks);
    brackets_destroy(cosine, 2);
    return ok;
}

static bool round_irrational(const struct sum *sum, double *rounded)
{
    enum type type = sum->exact->definition->type;
    bool ok = true, decided = false;
    for (mpfr_prec_t precision = FIRST_PRECISION; ok && !decided; precision *= 2) {
        struct bracket *value = brackets_create(1, precision);
        ok = value != NULL && add_cosines(sum, precision, value);
        if (ok) {
            scale(sum->exact, value);
            decided = bracket_round(type, value, rounded);
        }
        if (ok && !decided && precision >= MOST_PRECISION) {
            *rounded = bracket_boundary(type, value);
            decided = true;
        }
        brackets_destroy(value, 1);
    }
    return ok;
}

/* --- classes --- */

/* Gives the class to the element and its conjugates. */
static void mark_conjugates(const struct sum *sum, int32_t class)
{
    const struct fft_definition *definition = sum->exact->definition;
    for (int64_t unit = 1; unit <= sum->modulus; unit += sum->quarters ? 4 : 1) {
        if (greatest_divisor(unit, sum->modulus) != 1) {
            continue;
        }
        int64_t place = 0;
        for (int d = 0; d < definition->rank && place >= 0; d++) {
            int64_t k = (int64_t)((wide_signed)unit * sum->index[d] % definition->lengths[d]);
            place = k < definition->out_sizes[d] ? place * definition->out_sizes[d] + k : -1;
        }
        if (place >= 0) {
            sum->exact->classes[2 * place + sum->part] = class;
        }
    }
}

static bool add_rational(struct fft_exact *exact, struct rational rational)
{
    if (exact->rational_count == exact->rational_room) {
        int32_t room = 2 * exact->rational_room + 16;
        struct rational *rationals = realloc(exact->rationals, (size_t)room * sizeof *rationals);
        if (rationals == NULL) {
            return false;
        }
        exact->rationals = rationals;
        exact->rational_room = room;
    }
    exact->rationals[exact->rational_count++] = rational;
    return true;
}

/* Reduces the coefficients of an element, and finds its class unless that is known. */
static bool classify(struct sum *sum, struct fft_exact *exact, int64_t index, int part)
{
    int32_t *class = &exact->classes[2 * index + part];
    if (poll_stopped(exact->definition->poll)) {
        return false;
    }
    sum_init(sum, exact, index, part);
    collect(sum);
    symmetrize(sum);
    reduce(sum);
    if (*class == UNKNOWN && !is_rational(sum)) {
        mark_conjugates(sum, IRRATIONAL);
    } else if (*class == UNKNOWN) {
        struct rational rational = {.zero = wide_is_zero(coefficient(sum, 0), exact->limbs)};
        if (!round_rational(sum, &rational.value) || !add_rational(exact, rational)) {
            return false;
        }
        mark_conjugates(sum, exact->rational_count + IRRATIONAL);
    }
    return true;
}

bool fft_exact_element(struct fft_exact *exact, int64_t index, int part, double *value)
{
    struct sum sum;
    const int32_t *class = &exact->classes[2 * index + part];
    if (*class <= IRRATIONAL && !classify(&sum, exact, index, part)) {
        return false;
    }
    if (*class > IRRATIONAL) {
        *value = exact->rationals[*class - IRRATIONAL - 1].value;
        return true;
    }
    return round_irrational(&sum, value);
}

bool fft_exact_is_zero(struct fft_exact *exact, int64_t index, int part, bool *zero)
{
    struct sum sum;
    const int32_t *class = &exact->classes[2 * index + part];
    if (*class == UNKNOWN && !classify(&sum, exact, index, part)) {
        return false;
    }
    *zero = *class > IRRATIONAL && exact->rationals[*class - IRRATIONAL - 1].zero;
    return true;
}
