/* Steps on complex numbers: strips are LANE_STRIP real parts, then LANE_STRIP imaginary parts. */
#include <math.h>
#include <string.h>

#include "interp/exact.h"
#include "interp/lanes_internal.h"

static const double *imaginary(const void *strip)
{
    return (const double *)strip + LANE_STRIP;
}

static void write(void *out, const double *re, const double *im, int64_t count)
{
    double *out_re = out, *out_im = out_re + LANE_STRIP;
    for (int64_t i = 0; i < count; i++) {
        out_re[i] = re[i] == re[i] ? re[i] : (double)NAN;
        out_im[i] = im[i] == im[i] ? im[i] : (double)NAN;
    }
}

/* A strip of parts as doubles to a strip of the part's type. */
static void write_part(enum type part, void *out, const double *in, int64_t count)
{
    if (part == TYPE_F32) {
        float *values = out;
        for (int64_t i = 0; i < count; i++) {
            values[i] = (float)in[i];
        }
    } else {
        memmove(out, in, (size_t)count * sizeof *in);
    }
}

static void read_part(enum type part, const void *in, double *out, int64_t count)
{
    if (part == TYPE_F32) {
        const float *values = in;
        for (int64_t i = 0; i < count; i++) {
            out[i] = values[i];
        }
    } else {
        memmove(out, in, (size_t)count * sizeof *out);
    }
}

void lane_complex_copy(const struct lane_step *step, void *out, const void *const *in,
                       int64_t count)
{
    (void)step;
    memmove(out, in[0], (size_t)count * sizeof(double));
    memmove((double *)out + LANE_STRIP, imaginary(in[0]), (size_t)count * sizeof(double));
}

void lane_complex_select(const struct lane_step *step, void *out, const void *const *in,
                         int64_t count)
{
    (void)step;
    const uint8_t *which = in[0];
    const double *yes = in[1], *no = in[2];
    double *to = out;
    for (int64_t i = 0; i < count; i++) {
        const double *from = which[i] ? yes : no;
        double re = from[i], im = from[LANE_STRIP + i];
        to[i] = re;
        to[LANE_STRIP + i] = im;
    }
}

void lane_complex_make(const struct lane_step *step, void *out, const void *const *in,
                       int64_t count)
{
    double re[LANE_STRIP], im[LANE_STRIP];
    read_part(step->operands[0], in[0], re, count);
    read_part(step->operands[0], in[1], im, count);
    memcpy(out, re, (size_t)count * sizeof *re);
    memcpy((double *)out + LANE_STRIP, im, (size_t)count * sizeof *im);
}

static void real_part(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    write_part(step->result, out, in[0], count);
}

static void imaginary_part(const struct lane_step *step, void *out, const void *const *in,
                           int64_t count)
{
    write_part(step->result, out, imaginary(in[0]), count);
}

static void absolute(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    double result[LANE_STRIP];
    exact_complex_abs(step->result, in[0], imaginary(in[0]), result, count);
    for (int64_t i = 0; i < count; i++) {
        result[i] = result[i] == result[i] ? result[i] : (double)NAN;
    }
    write_part(step->result, out, result, count);
}

static void negate(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    (void)step;
    const double *re = in[0], *im = imaginary(in[0]);
    double *out_re = out, *out_im = out_re + LANE_STRIP;
    for (int64_t i = 0; i < count; i++) {
        out_re[i] = -re[i];
        out_im[i] = -im[i];
    }
}

static void sign(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    double re[LANE_STRIP], im[LANE_STRIP];
    exact_complex_sign(type_part(step->result), in[0], imaginary(in[0]), re, im, count);
    write(out, re, im, count);
}

static void exact_one(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    double re[LANE_STRIP], im[LANE_STRIP];
    exact_complex_unary((enum exact_function)step->code[0], type_part(step->result), in[0],
                        imaginary(in[0]), re, im, count);
    write(out, re, im, count);
}

static void exact_two(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    double re[LANE_STRIP], im[LANE_STRIP];
    exact_complex_binary((enum exact_binary_function)step->code[0], type_part(step->result), in[0],
                         imaginary(in[0]), in[1], imaginary(in[1]), re, im, count);
    write(out, re, im, count);
}

static const int8_t exact_unary_of[OPCODE_COUNT] = {
#define UNARY_EXACT(opcode, function) [OP_##opcode] = EXACT_##function + 1,
#include "interp/scalar.def"
    [OP_SQRT] = EXACT_SQRT + 1,
};

static const int8_t exact_binary_of[OPCODE_COUNT] = {
    [OP_ADD] = EXACT_ADD + 1,           [OP_SUBTRACT] = EXACT_SUBTRACT + 1,
    [OP_MULTIPLY] = EXACT_MULTIPLY + 1, [OP_DIVIDE] = EXACT_DIVIDE + 1,
    [OP_POWER] = EXACT_POWER + 1,       [OP_ATAN2] = EXACT_ATAN2 + 1,
};

bool lane_complex_unary(enum opcode opcode, enum type type, struct lane_step *step)
{
    enum type part = type_part(type);
    switch (opcode) {
    case OP_REAL:
        step->result = part;
        step->function = real_part;
        return true;
    case OP_IMAG:
        step->result = part;
        step->function = imaginary_part;
        return true;
    case OP_ABS:
        step->result = part;
        step->function = absolute;
        return true;
    case OP_NEGATE:
        step->function = negate;
        return true;
    case OP_SIGN:
        step->function = sign;
        return true;
    default:
        step->function = exact_one;
        step->code[0] = exact_unary_of[opcode] - 1;
        return step->code[0] >= 0 && opcode != OP_ERF;
    }
}

/* Complex numbers ordered by real part, then imaginary part: StableHLO's order for minimum and
 * maximum. A number with a NaN wins, as among the reals. */
static bool less(double a_re, double a_im, double b_re, double b_im)
{
    return a_re < b_re || (a_re == b_re && a_im < b_im);
}

static void extreme(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    const bool largest = step->code[0] == OP_MAXIMUM;
    const double *a = in[0], *b = in[1];
    double re[LANE_STRIP], im[LANE_STRIP];
    for (int64_t i = 0; i < count; i++) {
        double a_re = a[i], a_im = a[LANE_STRIP + i], b_re = b[i], b_im = b[LANE_STRIP + i];
        bool take_b = largest ? less(a_re, a_im, b_re, b_im) : less(b_re, b_im, a_re, a_im);
        const bool a_nan = a_re != a_re || a_im != a_im, b_nan = b_re != b_re || b_im != b_im;
        take_b = a_nan || b_nan ? !a_nan : take_b;
        re[i] = take_b ? b_re : a_re;
        im[i] = take_b ? b_im : a_im;
    }
    write(out, re, im, count);
}

bool lane_complex_binary(enum opcode opcode, enum type type, struct lane_step *step)
{
    (void)type;
    if (opcode == OP_MAXIMUM || opcode == OP_MINIMUM) {
        step->function = extreme;
        step->code[0] = (int)opcode;
        return true;
    }
    step->function = exact_two;
    step->code[0] = exact_binary_of[opcode] - 1;
    return step->code[0] >= 0;
}

static void compare(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    const double *a = in[0], *b = in[1];
    uint8_t *to = out;
    for (int64_t i = 0; i < count; i++) {
        double a_re = a[i], a_im = a[LANE_STRIP + i], b_re = b[i], b_im = b[LANE_STRIP + i];
        bool equal = a_re == b_re && a_im == b_im;
        switch (step->code[0]) {
        case DIRECTION_EQ:
            to[i] = equal;
            break;
        case DIRECTION_NE:
            to[i] = !equal;
            break;
        case DIRECTION_GT:
        case DIRECTION_GE:
            to[i] = less(b_re, b_im, a_re, a_im) || (equal && step->code[0] == DIRECTION_GE);
            break;
        default:
            to[i] = less(a_re, a_im, b_re, b_im) || (equal && step->code[0] == DIRECTION_LE);
            break;
        }
    }
}

bool lane_complex_compare(enum direction direction, enum type type, struct lane_step *step)
{
    (void)type;
    step->function = compare;
    step->code[0] = (int)direction;
    return true;
}

/* --- Conversions. ------------------------------------------------------------------------------
 */

/* The real part is a strip of f64; the imaginary part is ignored (StableHLO, convert). */
static void complex_to_real(const struct lane_step *step, void *out, const void *const *in,
                            int64_t count)
{
    struct lane_step convert;
    lane_convert(TYPE_F64, step->result, &convert);
    lane_run(&convert, out, in, count);
}

static void real_to_complex(const struct lane_step *step, void *out, const void *const *in,
                            int64_t count)
{
    enum type part = type_part(step->result);
    struct lane_step convert;
    double converted[LANE_STRIP], re[LANE_STRIP];
    lane_convert(step->operands[0], part, &convert);
    lane_run(&convert, converted, in, count);
    read_part(part, converted, re, count);
    double *out_re = out, *out_im = out_re + LANE_STRIP;
    for (int64_t i = 0; i < count; i++) {
        out_re[i] = re[i];
        out_im[i] = 0;
    }
}

bool lane_complex_convert(enum type from, enum type to, struct lane_step *step)
{
    if (type_is_complex(from) && type_is_complex(to)) {
        step->function = lane_complex_copy;
        step->round = to == TYPE_C64;
    } else {
        step->function = type_is_complex(from) ? complex_to_real : real_to_complex;
    }
    return true;
}
