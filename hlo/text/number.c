/* Numbers of HLO text. Decimals with few digits are converted exactly in double arithmetic
 * (W. D. Clinger, "How to read floating point numbers accurately", 1990); the rest by strtod. */
#include "hlo/text/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"

/* --- reading --- */

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '.' || c == '-';
}

static int hex_digit(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* strtod on a zero-terminated copy. */
static double convert_slowly(const char *text, size_t size)
{
    char small[128];
    char *copy = size < sizeof small ? small : memory_alloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    double value = strtod(copy, NULL);
    if (copy != small) {
        free(copy);
    }
    return value;
}

/* "(0x…)" after nan. The size taken, 0 if there is none; *payload is 0 if it is out of range. */
static size_t read_payload(const char *text, const char *end, uint64_t *payload)
{
    if (end - text < 5 || memcmp(text, "(0x", 3) != 0) {
        return 0;
    }
    const char *at = text + 3;
    uint64_t value = 0;
    bool large = false;
    for (; at < end && hex_digit(*at) >= 0; at++) {
        large |= value >> 60 != 0;
        value = value << 4 | (uint64_t)hex_digit(*at);
    }
    if (at == text + 3 || at >= end || *at != ')') {
        return 0;
    }
    *payload = large || value >> 52 != 0 ? 0 : value;
    return (size_t)(at + 1 - text);
}

/* inf or nan after an optional '-'. */
static size_t read_word(const char *text, const char *at, const char *end, struct number *number)
{
    if (end - at < 3 || (end - at > 3 && is_word(at[3]))) {
        return 0;
    }
    if (memcmp(at, "inf", 3) == 0) {
        number->kind = NUMBER_INFINITY;
        number->real = number->negative ? -INFINITY : INFINITY;
        return (size_t)(at + 3 - text);
    }
    if (memcmp(at, "nan", 3) != 0) {
        return 0;
    }
    number->kind = NUMBER_NAN;
    at += 3;
    if (at < end && *at == '(') {
        size_t size = read_payload(at, end, &number->integer);
        if (size == 0 || number->integer == 0) {
            number->kind = NUMBER_NONE;
            return 0;
        }
        at += size;
    }
    return (size_t)(at - text);
}

size_t number_read(const char *text, const char *end, struct number *number)
{
    *number = (struct number){.kind = NUMBER_NONE};
    const char *at = text;
    if (at < end && *at == '-') {
        number->negative = true;
        at++;
    }
    const char *digits = at;
    uint64_t value = 0;
    bool large = false;
    while (at < end && is_digit(*at)) {
        unsigned digit = (unsigned)(*at++ - '0');
        large |= value > (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    size_t whole = (size_t)(at - digits);
    size_t fraction = 0;
    bool is_decimal = false;
    /* A leading point needs the sign before it, as in XLA's lexer. */
    if (at < end && *at == '.' && (whole > 0 || number->negative)) {
        const char *point = at++;
        while (at < end && is_digit(*at)) {
            unsigned digit = (unsigned)(*at++ - '0');
            large |= value > (UINT64_MAX - digit) / 10;
            value = value * 10 + digit;
        }
        fraction = (size_t)(at - point - 1);
        is_decimal = whole + fraction > 0;
        if (!is_decimal) {
            at = point;
        }
    }
    if (whole + fraction == 0) {
        return read_word(text, digits, end, number);
    }
    int exponent = 0;
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *mark = at++;
        bool negative = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        const char *first = at;
        while (at < end && is_digit(*at)) {
            exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
            at++;
        }
        if (at == first) {
            at = mark;
        } else {
            is_decimal = true;
            exponent = negative ? -exponent : exponent;
        }
    }
    size_t size = (size_t)(at - text);
    if (!is_decimal) {
        bool fits = !large && (!number->negative || value <= (uint64_t)INT64_MAX + 1);
        number->kind = fits ? NUMBER_INT : NUMBER_TOO_LARGE;
        number->integer = number->negative ? -value : value;
        number->real = number->negative ? -(double)value : (double)value;
        return size;
    }
    number->kind = NUMBER_DECIMAL;
    int64_t scale = (int64_t)exponent - (int64_t)fraction;
    if (!large && value <= (uint64_t)1 << 53 && scale >= -22 && scale <= 22) {
        double exact = (double)value;
        exact = scale < 0 ? exact / powers[-scale] : exact * powers[scale];
        number->real = number->negative ? -exact : exact;
    } else {
        number->real = convert_slowly(text, size);
        if (isinf(number->real)) {
            number->kind = NUMBER_TOO_LARGE;
        }
    }
    return size;
}

/* --- printing --- */

bool number_nan_payload(enum type type, uint64_t *quiet, uint64_t *mask)
{
    const struct float_format *format = &float_formats[type];
    if (format->specials != SPECIALS_IEEE) {
        return false;
    }
    *quiet = (uint64_t)1 << (format->mantissa_bits - 1);
    *mask = ((uint64_t)1 << format->mantissa_bits) - 1;
    return true;
}

/* Decimal digits that tell all values of the type apart: ⌈1 + p·log10(2)⌉ for p significant bits.
 */
static int digits_enough(enum type type)
{
    int bits = float_formats[type].mantissa_bits + 1;
    return (int)ceil(1.0 + bits * 0.30102999566398120);
}

/* Digits that every decimal survives in: ⌊(p − 1)·log10(2)⌋. */
static int digits_safe(enum type type)
{
    return (int)(float_formats[type].mantissa_bits * 0.30102999566398120);
}

void number_print(enum type type, uint64_t bits, struct text *out)
{
    double value = float_to_double(type, bits);
    if (isnan(value)) {
        text_append(out, signbit(value) ? "-nan" : "nan");
        uint64_t quiet, mask;
        if (number_nan_payload(type, &quiet, &mask) && (bits & mask) != quiet) {
            text_printf(out, "(0x%llx)", (unsigned long long)(bits & mask));
        }
        return;
    }
    if (value == 0.0) {
        text_append(out, signbit(value) ? "-0.0" : "0");
        return;
    }
    int enough = digits_enough(type);
    if (fabs(value) < powers[enough < 5 ? enough : 5] && value == (double)(int)value) {
        text_int(out, (int)value);
        return;
    }
    char digits[40];
    int size = 0;
    if (type == TYPE_F32 || type == TYPE_F64) {
        size = snprintf(digits, sizeof digits, "%.*g", digits_safe(type), value);
        struct number back;
        number_read(digits, digits + size, &back);
        if (float_round(type, back.real) != value) {
            size = 0;
        }
    }
    if (size == 0) {
        size = snprintf(digits, sizeof digits, "%.*g", enough, value);
    }
    text_append_n(out, digits, (size_t)size);
}
