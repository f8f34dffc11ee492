/* Backend profiles and the table of ulp bounds. */
#include "compare/profile.h"

#include <math.h>
#include <string.h>

#include "compare/licence.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/module.h"

/* What a backend's own code rounds. */
enum { ROUNDING_TABLE = ROUNDING_SUMS | ROUNDING_FUNCTIONS };

const struct profile profiles[] = {
    {"cpu", "XLA on CPU: flushes subnormals, contracts, simplifies", true, true, true, true, 1,
     ROUNDING_TABLE, false},
    {"gpu", "XLA on GPU: as cpu, with wider bounds", true, true, true, true, 2, ROUNDING_TABLE,
     false},
    {"tpu", "XLA on TPU: as gpu", true, true, true, true, 4, ROUNDING_TABLE, true},
    {"ieee", "table of ulp bounds, no flushing, no algebra, no contraction", false, false, false,
     false, 1, ROUNDING_TABLE, false},
    {"strict", "every result correctly rounded; nothing else is allowed", false, false, false,
     false, 0, ROUNDING_TABLE, false},
};
const int profile_count = sizeof profiles / sizeof *profiles;

const struct profile *profile_find(const char *name)
{
    for (int i = 0; i < profile_count; i++) {
        if (strcmp(profiles[i].name, name) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

const struct profile *profile_for(const char *uri)
{
    static const struct {
        const char *word, *profile;
    } words[] = {
        {"interp:", "strict"}, {"cuda", "gpu"}, {"gpu", "gpu"}, {"rocm", "gpu"}, {"tpu", "tpu"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(uri, words[i].word) != NULL) {
            return profile_find(words[i].profile);
        }
    }
    return profile_find("cpu");
}

/* Bounds of one operation: for f32, f64, and types of 16 bits and fewer. */
struct ulp_row {
    enum opcode opcode;
    double f32, f64, narrow;
};

static const struct ulp_row rows[] = {
    {OP_RSQRT, 2, 2, 1},
    {OP_SINE, 3, 4, 3},
    {OP_COSINE, 3, 4, 3},
    {OP_TAN, 3, 4, 3},
    {OP_LOG, 3, 4, 3},
    {OP_POWER, 3, 4, 3},
    {OP_CBRT, 3, 4, 3},
    {OP_LOGISTIC, 3, 4, 3},
    {OP_ACOS, 3, 4, 3},
    {OP_ASIN, 3, 4, 3},
    {OP_EXPONENTIAL, 6, 6, 2},
    {OP_LOG_PLUS_ONE, 6, 6, 2},
    {OP_ATAN2, 6, 6, 2},
    {OP_ASINH, 6, 6, 2},
    {OP_ACOSH, 6, 6, 2},
    {OP_ATANH, 6, 6, 2},
    {OP_TANH, 8, 10, 3},
    {OP_EXPONENTIAL_MINUS_ONE, 8, 10, 3},
    {OP_ERF, 8, 10, 3},
    {OP_SINH, 64, 64, 3},
    {OP_COSH, 64, 64, 3},
    {OP_BATCH_NORM_TRAINING, 8, 8, 2},
    {OP_BATCH_NORM_INFERENCE, 8, 8, 2},
    {OP_BATCH_NORM_GRAD, 16, 16, 4},
    {OP_FFT, 16, 16, 4},
    {OP_CHOLESKY, 16, 16, 4},
    {OP_TRIANGULAR_SOLVE, 16, 16, 4},
};

/* Correctly rounded by themselves, but in narrow types their operands may come unrounded. */
static bool takes_excess(enum opcode opcode)
{
    switch (opcode) {
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
    case OP_DIVIDE:
    case OP_SQRT:
    case OP_REMAINDER:
        return true;
    default:
        return false;
    }
}

enum type profile_rounding_type(const struct instruction *instruction)
{
    const struct shape *shape = instruction->shape;
    while (shape_is_tuple(shape) && shape->count > 0) {
        shape = shape->elements[0];
    }
    enum type part = type_part(shape->type);
    return shape_is_array(shape) && type_is_float(part) ? part : TYPE_INVALID;
}

static bool is_constant(const struct instruction *instruction)
{
    while (instruction->opcode == OP_BROADCAST || instruction->opcode == OP_RESHAPE ||
           instruction->opcode == OP_CONVERT) {
        instruction = instruction->operands[0];
    }
    return instruction->opcode == OP_CONSTANT || instruction->opcode == OP_PARAMETER;
}

/* Known custom calls that sum over the last dimension. */
static bool is_normalization(const struct instruction *instruction)
{
    const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
    return instruction->opcode == OP_CUSTOM_CALL && target != NULL &&
           strcmp(target, "__onednn$layernorm") == 0;
}

enum type profile_sum_type(const struct instruction *instruction)
{
    enum type type = profile_rounding_type(instruction);
    switch (instruction->opcode) {
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_BATCH_NORM_GRAD:
    case OP_BATCH_NORM_INFERENCE:
    case OP_BATCH_NORM_TRAINING:
    case OP_REDUCE:
    case OP_REDUCE_SCATTER:
    case OP_REDUCE_WINDOW:
    case OP_SCAN:
    case OP_SCATTER:
    case OP_SELECT_AND_SCATTER:
        if (type == TYPE_F16 || type == TYPE_BF16) {
            return type;
        }
        break;
    default:
        break;
    }
    return type == TYPE_F64 ? TYPE_F64 : TYPE_F32;
}

static bool of_complex(const struct instruction *instruction)
{
    return instruction->operand_count > 0 && type_is_complex(instruction->operands[0]->shape->type);
}

/* A sum by what it is, not only because of how a function is computed. */
static bool is_plain_sum(enum opcode opcode)
{
    switch (opcode) {
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_CONVOLUTION:
    case OP_DOT:
    case OP_RAGGED_DOT:
    case OP_REDUCE:
    case OP_REDUCE_SCATTER:
    case OP_REDUCE_WINDOW:
    case OP_SCALED_DOT:
    case OP_SCAN:
    case OP_SCATTER:
    case OP_SELECT_AND_SCATTER:
        return true;
    default:
        return false;
    }
}

/* Functions of complex numbers are several roundings, of parts that may cancel; sums and
 * factorizations of them, too. What moves data, or has each part alone, has none. */
static double complex_ulps(enum opcode opcode)
{
    switch (opcode) {
    case OP_ABS:
    case OP_MULTIPLY:
    case OP_DIVIDE:
    case OP_SIGN:
        return 4;
    case OP_POWER: /* exp(b·log a): the phase is rounded before it is a cosine */
        return 32;
    case OP_ATAN2:
    case OP_CBRT:
    case OP_COSINE:
    case OP_EXPONENTIAL:
    case OP_EXPONENTIAL_MINUS_ONE:
    case OP_LOG:
    case OP_LOG_PLUS_ONE:
    case OP_LOGISTIC:
    case OP_RSQRT:
    case OP_SINE:
    case OP_SQRT:
    case OP_TAN:
    case OP_TANH:
    case OP_ACOS:
    case OP_ACOSH:
    case OP_ASIN:
    case OP_ASINH:
    case OP_ATANH:
    case OP_COSH:
    case OP_SINH:
    case OP_ERF:
    case OP_CALL:
    case OP_CHOLESKY:
    case OP_CUSTOM_CALL:
    case OP_FFT:
    case OP_TRIANGULAR_SOLVE:
        return 16;
    default:
        return is_plain_sum(opcode) ? 16 : 0;
    }
}

/* A special function of CHLO, which compilers expand into many operations (logarithms of series and
 * the like), each in its own way. */
static bool is_special_function(const struct instruction *instruction)
{
    const struct bytes *name =
        instruction->opcode == OP_CALL && attr_bool(instruction, ATTR_IS_COMPOSITE, false)
            ? attr_frontend(instruction, "composite.name")
            : NULL;
    return name != NULL && strncmp(name->data, "chlo.", strlen("chlo.")) == 0;
}

static bool is_product(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_CONVOLUTION:
    case OP_DOT:
    case OP_RAGGED_DOT:
        return true;
    case OP_CUSTOM_CALL:
        return profile_terms(instruction) > 0;
    default:
        return false;
    }
}

/* The table. */
static double function_ulps(const struct profile *profile, const struct instruction *instruction,
                            bool narrow, int64_t terms)
{
    enum type type = profile_rounding_type(instruction);
    double ulps = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].opcode == instruction->opcode) {
            ulps = narrow ? rows[i].narrow : type == TYPE_F64 ? rows[i].f64 : rows[i].f32;
        }
    }
    if (instruction->opcode == OP_DIVIDE &&
        (profile->algebra || is_constant(instruction->operands[1]))) {
        ulps = narrow ? 1 : 2; /* by the reciprocal of a constant, or a·rsqrt(b) */
    }
    if (narrow && ulps < 1 && profile->excess_precision && takes_excess(instruction->opcode)) {
        ulps = 1; /* operands may have come unrounded */
    }
    if (is_normalization(instruction)) {
        ulps = narrow ? 2 : 8;
    } else if (is_special_function(instruction)) {
        ulps = narrow ? 3 : 64; /* as sinh */
    } else if (instruction->opcode == OP_CUSTOM_CALL && terms > 0) {
        ulps = narrow ? 4 : 16; /* as cholesky and triangular-solve */
    }
    bool picks = is_plain_sum(instruction->opcode) && terms == 0; /* the smallest, not a sum */
    if (of_complex(instruction) && !picks) {
        ulps = fmax(ulps, complex_ulps(instruction->opcode));
    }
    return ulps;
}

/* One rounding more or less: of what rounds, 1 ulp; a quotient that becomes a product with the
 * reciprocal, or a power that becomes products, 2. reduce-precision: a step of what it keeps. */
static double result_ulps(const struct instruction *instruction, enum type type)
{
    switch (instruction->opcode) {
    case OP_DIVIDE:
    case OP_POWER:
        return 2;
    case OP_CONVERT:
        return type_is_float(type_part(instruction->operands[0]->shape->type)) &&
                       float_formats[type_part(instruction->operands[0]->shape->type)]
                               .mantissa_bits <= float_formats[type].mantissa_bits
                   ? 0
                   : 1;
    case OP_REDUCE_PRECISION: {
        int64_t kept = attr_int(instruction, ATTR_MANTISSA_BITS, 0);
        return kept < float_formats[type].mantissa_bits
                   ? ldexp(1, float_formats[type].mantissa_bits - (int)kept)
                   : 0;
    }
    default:
        break;
    }
    bool tabled = takes_excess(instruction->opcode);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tabled |= rows[i].opcode == instruction->opcode;
    }
    return tabled || is_plain_sum(instruction->opcode) ||
                   (of_complex(instruction) && complex_ulps(instruction->opcode) > 0)
               ? 1
               : 0;
}

/* Half a step of bf16 for each of two factors of f32; f64 as a pair of f32 has 48 bits, of which
 * operations lose one. */
static double narrowed_ulps(const struct instruction *instruction, enum type type)
{
    if (type == TYPE_F64) {
        return result_ulps(instruction, type) > 0 || is_product(instruction) ? 64 : 0;
    }
    int lost = float_formats[type].mantissa_bits - float_formats[TYPE_BF16].mantissa_bits;
    return is_product(instruction) && lost > 0 ? ldexp(1, lost) : 0;
}

/* Of a combiner that is no plain sum or product (log(exp a + exp b) for one) the roundings of each
 * step stay in what is combined, however little each array element counts in the end. */
static double combiner_ulps(const struct profile *profile, const struct instruction *instruction,
                            int64_t terms)
{
    double squares = 0;
    int operations = 0;
    bool combines = is_plain_sum(instruction->opcode) && terms > 0 && instruction->called_count > 0;
    const struct computation *combiner =
        combines ? instruction->called[instruction->called_count - 1] : NULL;
    for (int i = 0; combines && i < combiner->count; i++) {
        const struct instruction *step = combiner->instructions[i];
        enum type type = profile_rounding_type(step);
        if (type != TYPE_INVALID && result_ulps(step, type) > 0) {
            double ulps = fmax(1, function_ulps(profile, step, type_bits(type) <= 16, 0));
            squares += ulps * ulps;
            operations++;
        }
    }
    return operations > 1 ? sqrt(squares * (double)terms) / 2 : 0;
}

double profile_ulps(const struct profile *profile, const struct instruction *instruction,
                    int64_t *terms)
{
    enum type type = profile_rounding_type(instruction);
    *terms = 0;
    if (type == TYPE_INVALID || profile->ulp_scale == 0) {
        return 0;
    }
    unsigned kinds = profile->roundings;
    bool narrow = type_bits(type) <= 16;
    if ((kinds & ROUNDING_SUMS) != 0 || (narrow && (kinds & ROUNDING_NARROW) != 0) ||
        ((kinds & ROUNDING_FUNCTIONS) != 0 && !is_plain_sum(instruction->opcode))) {
        *terms = profile_terms(instruction);
    }
    double ulps = 0;
    if ((kinds & ROUNDING_FUNCTIONS) != 0) {
        ulps = fmax(function_ulps(profile, instruction, narrow, *terms),
                    combiner_ulps(profile, instruction, *terms)) *
               profile->ulp_scale;
    }
    /* That a conversion to a narrow type comes or goes is excess precision, no rounding more or
     * less of its own; roundings before it may flip it. */
    bool results =
        (kinds & ROUNDING_RESULTS) != 0 && !(narrow && instruction->opcode == OP_CONVERT);
    if (results || (narrow && (kinds & ROUNDING_NARROW) != 0) ||
        (instruction->opcode == OP_REDUCE_PRECISION && (kinds & ROUNDING_NARROW) != 0)) {
        ulps = fmax(ulps, result_ulps(instruction, type));
    }
    if ((kinds & ROUNDING_FACTORS) != 0) {
        ulps = fmax(ulps, narrowed_ulps(instruction, type));
    }
    return ulps;
}

void profile_explain(struct text *out)
{
    text_append(
        out,
        "How results are compared\n\n"
        "Integers, pred and pure data movement: bit-equal, always. Floats: both NaN agree; the\n"
        "sign and payload of a NaN never count. Complex: each part, in terms of the number's\n"
        "magnitude. The reference is the exact result, rounded once per operation, so a\n"
        "tolerance covers what the backend may do, not what we do.\n\n"
        "--tolerance default   Each output gets rel and abs bounds from the operations it comes\n"
        "    through: the ulp bound of each by the table below (times the profile's factor), and\n"
        "    for sums of n terms the rounding of partial sums, 2 + sqrt(n) ulp (of f32, or of\n"
        "    the type itself for reductions of f16 and bf16), and of each step of what combines\n"
        "    if that is more than one operation; errors add up along the longest\n"
        "    path. The unit is the coarsest type on the path. rel is in units of each element,\n"
        "    abs of the largest element of the output, for sums can cancel. A thirty-second part "
        "of that\n"
        "    suffices, but no more than 64 ulp (types of 16 bits and fewer: 4); what differs by\n"
        "    more is tried under the profile's licences (below) and has to be within the derived\n"
        "    bounds.\n"
        "--tolerance derived   The golden is evaluated again a few times (--samples) with every\n"
        "    rounding moved at random within the table's bounds, and operands of sums by one ulp\n"
        "    (Monte Carlo arithmetic). Eight times the largest deviation of an element is its\n"
        "    tolerance (for types of 8 bits and fewer, that deviation and one step), and a step\n"
        "    at least where anything in the output moved. Where that is more than 5 % of the\n"
        "    output's largest element, up to four times it is INCONCLUSIVE, and so is where an\n"
        "    integer, NaN or Inf comes and goes.\n"
        "--abs_error_bound, --rel_error_bound   XLA's rule: an element fails only if it exceeds\n"
        "    both; 1e-3 each unless given.\n"
        "--tolerance bits   Bit-equal but for NaN payloads.\n"
        "--isolate             Each instruction alone on the golden's operands: the table as it\n"
        "    is.\n\n");
    text_printf(out, "%-26s %6s %6s %12s   (ulp of the result type)\n", "operation", "f32", "f64",
                "≤ 16 bits");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        text_printf(out, "%-26s %6g %6g %10g\n", opcode_text(rows[i].opcode), rows[i].f32,
                    rows[i].f64, rows[i].narrow);
    }
    text_printf(out, "%-26s %6d %6d %10d\n", "divide", 2, 2, 1);
    text_printf(out, "%-26s %6d %6d %10d\n", "other arithmetic", 0, 0, 1);
    text_printf(out, "%-26s %6g %6s %10s\n", "complex multiply, divide", complex_ulps(OP_MULTIPLY),
                "same", "");
    text_printf(out, "%-26s %6g %6s %10s\n", "complex power", complex_ulps(OP_POWER), "same", "");
    text_printf(out, "%-26s %6g %6s %10s\n", "other complex functions", complex_ulps(OP_SINE),
                "same", "");
    text_append(out, "\nprofiles:\n");
    for (int i = 0; i < profile_count; i++) {
        text_printf(out, "  %-8s %s (table × %g)\n", profiles[i].name, profiles[i].summary,
                    profiles[i].ulp_scale);
    }
    text_append(out, "\nlicences, each a golden evaluation of its own:\n");
    for (int i = 0; i < licence_count; i++) {
        text_printf(out, "  %-30s allowed by", licences[i].name);
        for (int k = 0; k < profile_count; k++) {
            if (licences[i].allowed(&profiles[k])) {
                text_printf(out, " %s", profiles[k].name);
            }
        }
        text_char(out, '\n');
    }
}
