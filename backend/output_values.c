/* Faults in outputs: wrong values at right places. */
#include <math.h>

#include "backend/output_faults_internal.h"
#include "hlo/floats.h"

static double get(const struct output_place *place, int64_t index)
{
    return literal_get_double(place->numbers, index);
}

static void set(struct output_place *place, int64_t index, double value)
{
    literal_set_double(place->numbers, index, value);
}

/* "element [3] is 1 instead of 2" */
static void say_change(struct output_place *place, int64_t index, double before)
{
    text_append(place->what, "element ");
    output_say_element(place, index / (place->count / place->elements));
    text_printf(place->what, " is %.9g instead of %.9g", get(place, index), before);
}

/* Any other value of the kind that a thread might give: of another thread, without a factor, of
 * another sign, no value at all. */
bool fault_element_wrong(struct output_place *place)
{
    int64_t index = output_draw(&place->rng, place->count);
    double before = get(place, index);
    if (place->type == TYPE_PRED) {
        literal_set_int(place->numbers, index, !literal_get_int(place->numbers, index));
    } else if (!type_is_float(place->type)) {
        int64_t value = literal_get_int(place->numbers, index);
        int64_t step = (int64_t)1 << output_draw(&place->rng, type_bits(place->type));
        literal_set_int(place->numbers, index, (int64_t)((uint64_t)value + (uint64_t)step));
    } else {
        const double others[] = {get(place, output_draw(&place->rng, place->count)), -before, 0,
                                 before + 1,
                                 before * (1 + ldexp(1, -(int)output_draw(&place->rng, 8)))};
        set(place, index, others[output_draw(&place->rng, 5)]);
    }
    say_change(place, index, before);
    return true;
}

static bool flip(struct output_place *place, int bits)
{
    int64_t index = output_draw(&place->rng, place->count);
    double before = get(place, index);
    int bit = (int)output_draw(&place->rng, bits);
    uint64_t value = literal_get_bits(place->numbers, index) ^ (uint64_t)1 << bit;
    int unused = 64 - type_bits(place->type);
    if (type_kind(place->type) == KIND_SIGNED) {
        value = (uint64_t)((int64_t)(value << unused) >> unused);
    }
    literal_set_bits(place->numbers, index, value);
    text_printf(place->what, "bit %d is flipped: ", bit);
    say_change(place, index, before);
    return true;
}

bool fault_bit_flip(struct output_place *place)
{
    return flip(place, place->type == TYPE_PRED ? 1 : type_bits(place->type));
}

bool fault_mantissa_flip(struct output_place *place)
{
    int bits = float_formats[place->type].mantissa_bits;
    return bits > 0 && flip(place, bits);
}

/* Calls for every number; true if one changed. */
typedef bool change_function(struct output_place *place, int64_t index, double value);

static bool change_all(struct output_place *place, change_function *change, const char *what)
{
    int64_t changed = 0;
    for (int64_t i = 0; i < place->count; i++) {
        changed += change(place, i, get(place, i));
    }
    if (changed > 0) {
        text_printf(place->what, "%lld %s", (long long)changed, what);
    }
    return changed > 0;
}

static bool lose_sign(struct output_place *place, int64_t index, double value)
{
    if (!(value < 0)) {
        return false;
    }
    if (type_is_float(place->type)) {
        set(place, index, -value);
    } else {
        uint64_t number = (uint64_t)literal_get_int(place->numbers, index);
        literal_set_int(place->numbers, index, (int64_t)(0 - number));
    }
    return true;
}

bool fault_sign_lost(struct output_place *place)
{
    return change_all(place, lose_sign, "negative numbers are positive");
}

static bool conjugate(struct output_place *place, int64_t index, double value)
{
    if (index % 2 == 0 || value == 0 || isnan(value)) {
        return false;
    }
    set(place, index, -value);
    return true;
}

bool fault_conjugated(struct output_place *place)
{
    return change_all(place, conjugate, "imaginary parts have the other sign");
}

bool fault_off_by_one(struct output_place *place)
{
    bool all = output_draw(&place->rng, 2) != 0;
    int64_t step = output_draw(&place->rng, 2) != 0 ? 1 : -1;
    int64_t first = all ? 0 : output_draw(&place->rng, place->count);
    int64_t end = all ? place->count : first + 1;
    for (int64_t i = first; i < end; i++) {
        uint64_t value = (uint64_t)literal_get_int(place->numbers, i) + (uint64_t)step;
        literal_set_int(place->numbers, i, (int64_t)value);
    }
    output_say_run(place, first, end - first);
    text_printf(place->what, step > 0 ? ": one too many" : ": one too few");
    return true;
}

/* --- roundings --- */

/* The types that a result might have been kept in on its way; INVALID: none is narrower. */
static enum type draw_narrower(struct output_place *place)
{
    static const struct {
        enum type from, to;
    } narrower[] = {
        {TYPE_F64, TYPE_F32},     {TYPE_F64, TYPE_BF16},      {TYPE_F32, TYPE_BF16},
        {TYPE_F32, TYPE_F16},     {TYPE_F16, TYPE_F8E5M2},    {TYPE_F16, TYPE_BF16},
        {TYPE_BF16, TYPE_F8E5M2}, {TYPE_BF16, TYPE_F8E4M3FN}, {TYPE_S64, TYPE_S32},
        {TYPE_S32, TYPE_S16},     {TYPE_S16, TYPE_S8},        {TYPE_U64, TYPE_U32},
        {TYPE_U32, TYPE_U16},     {TYPE_U16, TYPE_U8},
    };
    enum type found[2];
    int count = 0;
    for (size_t i = 0; i < sizeof narrower / sizeof *narrower; i++) {
        if (narrower[i].from == place->type) {
            found[count++] = narrower[i].to;
        }
    }
    return count > 0 ? found[output_draw(&place->rng, count)] : TYPE_INVALID;
}

bool fault_truncated(struct output_place *place)
{
    enum type narrow = draw_narrower(place);
    if (narrow == TYPE_INVALID) {
        return false;
    }
    int64_t changed = 0;
    int unused = 64 - type_bits(narrow);
    for (int64_t i = 0; i < place->count; i++) {
        uint64_t before = literal_get_bits(place->numbers, i);
        if (type_is_float(place->type)) {
            set(place, i, float_round(narrow, get(place, i)));
        } else {
            uint64_t value = (uint64_t)literal_get_int(place->numbers, i) << unused;
            literal_set_int(place->numbers, i,
                            type_kind(narrow) == KIND_SIGNED ? (int64_t)value >> unused
                                                             : (int64_t)(value >> unused));
        }
        changed += literal_get_bits(place->numbers, i) != before;
    }
    if (changed > 0) {
        text_printf(place->what, "%lld numbers have gone through %s", (long long)changed,
                    type_text(narrow));
    }
    return changed > 0;
}

static void scale_all(struct output_place *place, double factor)
{
    for (int64_t i = 0; i < place->count; i++) {
        set(place, i, get(place, i) * factor);
    }
}

bool fault_scaled(struct output_place *place)
{
    int shift = 2 + (int)output_draw(&place->rng, 14);
    bool more = output_draw(&place->rng, 2) != 0;
    scale_all(place, 1 + (more ? ldexp(1, -shift) : -ldexp(1, -shift)));
    text_printf(place->what, "everything is times 1 %c 2^-%d", more ? '+' : '-', shift);
    return true;
}

bool fault_drifted(struct output_place *place)
{
    int shift = 2 + (int)output_draw(&place->rng, 11);
    double ulps = ldexp(1 + rng_uniform(&place->rng), shift);
    for (int64_t i = 0; i < place->count; i++) {
        double value = get(place, i);
        double error = rng_uniform(&place->rng) * ulps * float_ulp(place->type, fabs(value));
        set(place, i, isfinite(value) ? value + error : value);
    }
    text_printf(place->what, "everything is up to %.0f ulp too large", ulps);
    return true;
}

/* A result that was rounded to nearest has, if it had been cut off, in about every other element
 * the neighbour nearer to zero. */
bool fault_toward_zero(struct output_place *place)
{
    int64_t changed = 0;
    for (int64_t i = 0; i < place->count; i++) {
        double value = get(place, i);
        uint64_t bits = literal_get_bits(place->numbers, i);
        if (isfinite(value) && value != 0 && bits != 0 && output_draw(&place->rng, 2) != 0) {
            literal_set_bits(place->numbers, i, bits - 1);
            changed++;
        }
    }
    if (changed > 0) {
        text_printf(place->what, "%lld numbers are one ulp nearer to zero", (long long)changed);
    }
    return changed > 0;
}

/* --- special numbers --- */

static bool flush_subnormal(struct output_place *place, int64_t index, double value)
{
    if (value == 0 || !(fabs(value) < float_min_normal(place->type))) {
        return false;
    }
    set(place, index, copysign(0, value));
    return true;
}

bool fault_subnormals_flushed(struct output_place *place)
{
    return change_all(place, flush_subnormal, "subnormal numbers are zero");
}

static bool unsign_zero(struct output_place *place, int64_t index, double value)
{
    if (value != 0 || !signbit(value)) {
        return false;
    }
    set(place, index, 0);
    return true;
}

bool fault_zero_unsigned(struct output_place *place)
{
    return change_all(place, unsign_zero, "negative zeros are positive");
}

static bool drop_nan(struct output_place *place, int64_t index, double value)
{
    if (!isnan(value)) {
        return false;
    }
    set(place, index, 0);
    return true;
}

bool fault_nan_dropped(struct output_place *place)
{
    return change_all(place, drop_nan, "NaNs are zero");
}

static bool drop_infinity(struct output_place *place, int64_t index, double value)
{
    if (!isinf(value)) {
        return false;
    }
    set(place, index, copysign(float_max(place->type), value));
    return true;
}

bool fault_infinity_dropped(struct output_place *place)
{
    return change_all(place, drop_infinity, "infinities are the largest number");
}

/* A number that becomes NaN or infinite, where the type has that. */
static bool make_special(struct output_place *place, bool has, double special)
{
    int64_t index = output_draw(&place->rng, place->count), tried = 0;
    while (tried < place->count && !isfinite(get(place, index))) {
        index = (index + 1) % place->count;
        tried++;
    }
    double before = get(place, index);
    if (!has || tried == place->count) {
        return false;
    }
    set(place, index, copysign(special, before));
    say_change(place, index, before);
    return true;
}

bool fault_nan_made(struct output_place *place)
{
    return make_special(place, float_has_nan(place->type), NAN);
}

bool fault_infinity_made(struct output_place *place)
{
    return make_special(place, float_has_infinity(place->type), INFINITY);
}
