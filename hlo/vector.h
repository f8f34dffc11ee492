/* The vocabulary of vector loops: one text, compiled once for each instruction set.
 *
 * A loop file (…_loops.h) is included by a few .c files of three lines that define VECTOR_LEVEL:
 *   0  what every machine has      2  AVX2 and FMA      3  AVX-512 F, DQ, BW, VL
 * Between this header and the closing VECTOR_END the compiler may use those instructions. Loops
 * compute with whole `vector`s of doubles through GCC's vector extensions (also in clang), so they
 * do not rest on the optimiser; everything in them is correctly rounded by IEEE 754 or checked
 * afterwards, so that all levels give the same bits. vector_level() says what this machine runs. */
#ifndef HLO_VECTOR_H
#define HLO_VECTOR_H

#ifndef VECTOR_LEVEL
#define VECTOR_LEVEL 0
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* The level to use here: the highest that both machine and build have, or a lower one that
 * REFEREE_VECTOR_LEVEL asks for (tests compare them). */
int vector_level(void);

#if VECTOR_LEVEL == 3
#ifdef __clang__
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#endif
#define VECTOR_WIDTH 8
#elif VECTOR_LEVEL == 2
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define VECTOR_WIDTH 4
#else
#define VECTOR_WIDTH 2
#endif

#if VECTOR_LEVEL > 0
#ifdef __clang__
#define VECTOR_END _Pragma("clang attribute pop")
#else
#define VECTOR_END _Pragma("GCC pop_options")
#endif
#define VECTOR_FUNCTION(name) VECTOR_PASTE(name, VECTOR_LEVEL)
#else
#define VECTOR_END
#define VECTOR_FUNCTION(name) VECTOR_PASTE(name, 0)
#endif
#define VECTOR_PASTE(name, level) VECTOR_PASTE_EXPANDED(name, level)
#define VECTOR_PASTE_EXPANDED(name, level) name##_level##level

#define VECTOR_INLINE static inline __attribute__((always_inline, unused))

typedef double vector __attribute__((vector_size(8 * VECTOR_WIDTH)));
typedef int64_t vector_bits __attribute__((vector_size(8 * VECTOR_WIDTH)));
typedef uint64_t vector_unsigned __attribute__((vector_size(8 * VECTOR_WIDTH))); /* may wrap */
typedef float vector_f32 __attribute__((vector_size(4 * VECTOR_WIDTH)));

VECTOR_INLINE vector vector_all(double value)
{
    return value - (vector){0};
}
VECTOR_INLINE vector_bits vector_bits_all(int64_t value)
{
    return value - (vector_bits){0};
}
VECTOR_INLINE vector vector_read(const double *in)
{
    vector v;
    memcpy(&v, in, sizeof(v));
    return v;
}
VECTOR_INLINE void vector_write(double *out, vector v)
{
    memcpy(out, &v, sizeof(v));
}
/* f32 values in memory, as doubles. */
VECTOR_INLINE vector vector_read_f32(const float *in)
{
    vector_f32 v;
    memcpy(&v, in, sizeof(v));
#if VECTOR_LEVEL == 3
    return (vector)_mm512_cvtps_pd((__m256)v);
#else
    return __builtin_convertvector(v, vector);
#endif
}
VECTOR_INLINE void vector_write_f32(float *out, vector v)
{
    vector_f32 narrow = __builtin_convertvector(v, vector_f32);
    memcpy(out, &narrow, sizeof(narrow));
}
/* Unsigned 16-bit values in memory, zero-extended. */
VECTOR_INLINE vector_bits vector_read_u16(const uint16_t *in)
{
#if VECTOR_LEVEL == 3
    return (vector_bits)_mm512_cvtepu16_epi64(_mm_loadu_si128((const void *)in));
#elif VECTOR_LEVEL == 2
    return (vector_bits)_mm256_cvtepu16_epi64(_mm_loadl_epi64((const void *)in));
#else
    return (vector_bits){in[0], in[1]};
#endif
}
/* The low 16 bits of each lane. */
VECTOR_INLINE void vector_write_u16(uint16_t *out, vector_bits v)
{
#if VECTOR_LEVEL == 3
    _mm_storeu_si128((void *)out, _mm512_cvtepi64_epi16((__m512i)v));
#else
    for (int i = 0; i < VECTOR_WIDTH; i++) {
        out[i] = (uint16_t)v[i];
    }
#endif
}
/* The low 8 bits of each lane. */
VECTOR_INLINE void vector_write_u8(uint8_t *out, vector_bits v)
{
#if VECTOR_LEVEL == 3
    _mm_storel_epi64((void *)out, _mm512_cvtepi64_epi8((__m512i)v));
#else
    for (int i = 0; i < VECTOR_WIDTH; i++) {
        out[i] = (uint8_t)v[i];
    }
#endif
}
/* a * b + c with one rounding, where the machine has it in one instruction; see VECTOR_HAS_FMA. */
#if VECTOR_LEVEL == 3
#define VECTOR_HAS_FMA 1
VECTOR_INLINE vector vector_fma(vector a, vector b, vector c)
{
    return (vector)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif VECTOR_LEVEL == 2
#define VECTOR_HAS_FMA 1
VECTOR_INLINE vector vector_fma(vector a, vector b, vector c)
{
    return (vector)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#else
#define VECTOR_HAS_FMA 0
#endif
/* Lane by lane yes where the mask is all ones, no where it is zero. */
VECTOR_INLINE vector vector_select(vector_bits mask, vector yes, vector no)
{
    return (vector)((mask & (vector_bits)yes) | (~mask & (vector_bits)no));
}
VECTOR_INLINE vector vector_abs(vector v)
{
    return (vector)((vector_bits)v & INT64_MAX);
}
/* |magnitude| with the sign of `sign`, for magnitude ≥ 0. */
VECTOR_INLINE vector vector_with_sign(vector magnitude, vector sign)
{
    return (vector)((vector_bits)magnitude | ((vector_bits)sign & INT64_MIN));
}
/* low where v < low, high where v > high; NaN stays. */
VECTOR_INLINE vector vector_clamp(vector v, double low, double high)
{
    v = vector_select(v < low, vector_all(low), v);
    return vector_select(v > high, vector_all(high), v);
}
/* Each lane rounded to f32 and back. */
VECTOR_INLINE vector vector_round_f32(vector v)
{
    return __builtin_convertvector(__builtin_convertvector(v, vector_f32), vector);
}
/* Bit i is the sign bit of lane i: a mask as a number. */
VECTOR_INLINE uint64_t vector_lanes(vector_bits mask)
{
#if VECTOR_LEVEL == 3
    return (uint64_t)_mm512_movepi64_mask((__m512i)mask);
#elif VECTOR_LEVEL == 2
    return (uint64_t)_mm256_movemask_pd((__m256d)mask);
#elif defined(__x86_64__)
    return (uint64_t)_mm_movemask_pd((__m128d)mask);
#else
    return (uint64_t)mask[0] >> 63 | (uint64_t)mask[1] >> 63 << 1;
#endif
}
VECTOR_INLINE vector vector_sqrt(vector v)
{
#if VECTOR_LEVEL == 3
    return (vector)_mm512_sqrt_pd((__m512d)v);
#elif VECTOR_LEVEL == 2
    return (vector)_mm256_sqrt_pd((__m256d)v);
#elif defined(__x86_64__)
    return (vector)_mm_sqrt_pd((__m128d)v);
#else
    return (vector){sqrt(v[0]), sqrt(v[1])};
#endif
}
VECTOR_INLINE double vector_sum(vector v)
{
    double sum = v[0];
    for (int i = 1; i < VECTOR_WIDTH; i++) {
        sum += v[i];
    }
    return sum;
}

#endif
