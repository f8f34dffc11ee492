/* Special functions: which calls stand for them, their limits, and steps of lanes. */
#include "interp/special.h"

#include <math.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/floats.h"
#include "interp/exact_internal.h"
#include "interp/lanes_internal.h"
#include "interp/special_internal.h"

/* --- calls --- */

static const struct {
    const char *name;
    int arity;
} functions[SPECIAL_COUNT] = {
#define SPECIAL(id, name, arity) {name, arity},
#include "interp/special.def"
};

enum special_function special_of_call(const struct instruction *instruction)
{
    const struct shape *shape = instruction->shape;
    if (instruction->opcode != OP_CALL || !attr_bool(instruction, ATTR_IS_COMPOSITE, false) ||
        !shape_is_array(shape) || !type_is_float(shape->type)) {
        return SPECIAL_COUNT;
    }
    const struct bytes *name = attr_frontend(instruction, "composite.name");
    for (int i = 0; name != NULL && i < SPECIAL_COUNT; i++) {
        if (strcmp(functions[i].name, name->data) != 0) {
            continue;
        }
        bool fits = instruction->operand_count == functions[i].arity;
        for (int k = 0; fits && k < functions[i].arity; k++) {
            const struct shape *operand = instruction->operands[k]->shape;
            fits = shape_is_array(operand) && shape_same_dimensions(operand, shape) &&
                   operand->type == shape->type;
        }
        return fits ? (enum special_function)i : SPECIAL_COUNT;
    }
    return SPECIAL_COUNT;
}

/* --- values --- */

/* What needs no series: operands that are NaN or infinite, poles, and what is no part of the
 * domain. */
static bool is_limit(enum special_function function, double a, double b, double *out)
{
    const bool pole = a <= 0 && a == floor(a);
    *out = NAN;
    switch (function) {
    case SPECIAL_BESSEL_I1E:
        *out = isinf(a) ? copysign(0, a) : a;
        return !isfinite(a) || a == 0;
    case SPECIAL_DIGAMMA:
        *out = a > 0 ? a : NAN;
        return !isfinite(a) || pole;
    case SPECIAL_ERF_INV:
        *out = a == 0 ? a : fabs(a) == 1 ? copysign(INFINITY, a) : NAN;
        return a == 0 || !(fabs(a) < 1);
    case SPECIAL_LGAMMA:
        *out = isnan(a) ? NAN : INFINITY;
        return !isfinite(a) || pole;
    case SPECIAL_ZETA:
        return special_zeta_limit(a, b, out);
    case SPECIAL_POLYGAMMA:
        if (isnan(b) || !(a >= 0) || isinf(a) || a != floor(a)) {
            return true;
        }
        if (a == 0) {
            return is_limit(SPECIAL_DIGAMMA, b, 0, out);
        }
        if (special_zeta_limit(a + 1, b, out)) {
            *out = fmod(a, 2) == 1 ? *out : -*out;
            return true;
        }
        return false;
    default:
        return false;
    }
}

static double apply_one(enum special_function function, enum type type, double a, double b)
{
    double value;
    if (is_limit(function, a, b, &value)) {
        return float_round(type, value);
    }
    if (function == SPECIAL_POLYGAMMA && a == 0) {
        function = SPECIAL_DIGAMMA;
        a = b;
    }
    return special_guess(function, type, a, &value) ? value : special_mpfr(function, type, a, b);
}

void special_apply(enum special_function function, enum type type, const double *const *in,
                   double *out, int64_t count)
{
    if (function == SPECIAL_ERFC) {
        exact_unary(EXACT_ERFC, type, in[0], out, count);
        return;
    }
    const bool binary = functions[function].arity == 2;
    for (int64_t i = 0; i < count; i++) {
        out[i] = apply_one(function, type, in[0][i], binary ? in[1][i] : 0);
    }
}

/* --- steps --- */

static void run(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    const enum lane lane = lane_of(step->result);
    const enum special_function function = (enum special_function)step->code[0];
    double strips[2][LANE_STRIP];
    const double *doubles[2] = {strips[0], strips[1]};
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        const int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        for (int k = 0; k < step->operand_count; k++) {
            const void *from = (const char *)in[k] + first * lane_bytes(lane);
            lane_loops()->convert[lane][LANE_F64](step, strips[k], &from, n);
        }
        special_apply(function, step->result, doubles, strips[0], n);
        void *to = (char *)out + first * lane_bytes(lane);
        if (lane == LANE_BF16) {
            float_store(step->result, strips[0], to, n);
            continue;
        }
        const void *from = strips[0];
        lane_loops()->number[lane == LANE_F32 ? LANE_F32 : LANE_F64](step, to, &from, n);
    }
}

/* A composite of complex numbers that has an opcode. */
static bool complex_step(const struct instruction *instruction, struct lane_step *step)
{
    static const struct {
        const char *name;
        enum opcode opcode;
    } rows[] = {
#define COMPLEX(name, opcode) {name, OP_##opcode},
#include "interp/special.def"
    };
    const struct shape *shape = instruction->shape;
    if (instruction->opcode != OP_CALL || !attr_bool(instruction, ATTR_IS_COMPOSITE, false) ||
        !shape_is_array(shape) || !type_is_complex(shape->type) ||
        instruction->operand_count != 1 ||
        !shape_compatible(instruction->operands[0]->shape, shape)) {
        return false;
    }
    const struct bytes *name = attr_frontend(instruction, "composite.name");
    for (size_t i = 0; name != NULL && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name->data) == 0) {
            return lane_unary(rows[i].opcode, shape->type, step);
        }
    }
    return false;
}

bool special_is_call(const struct instruction *instruction)
{
    struct lane_step step;
    return instruction->opcode == OP_CALL && special_call_step(instruction, &step);
}

bool special_call_step(const struct instruction *instruction, struct lane_step *step)
{
    const enum special_function function = special_of_call(instruction);
    if (function == SPECIAL_COUNT) {
        return complex_step(instruction, step);
    }
    const enum type type = instruction->shape->type;
    *step = (struct lane_step){.function = run,
                               .operands = {type, type},
                               .result = type,
                               .operand_count = functions[function].arity,
                               .bits = type_bits(type),
                               .code = {(int)function}};
    return true;
}
