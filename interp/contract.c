/* Lanes in and out, the choice of an engine, the spread of unspecified elements. */
#include "interp/contract.h"

#include <math.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/eval.h"
#include "interp/exact.h"
#include "interp/integer_dot.h"
#include "interp/ordered_dot.h"

enum { STRIP = 256 };

enum contract_class contract_class_of(enum type type)
{
    if (type_is_float(type)) {
        return CONTRACT_FLOAT;
    }
    return type_bytes(type) <= 4 ? CONTRACT_U32 : CONTRACT_U64;
}

int contract_lane_bytes(enum contract_class class)
{
    return class == CONTRACT_U32 ? 4 : 8;
}

bool contract_is_wide(enum type type)
{
    return type == TYPE_F64 || (type_is_integer(type) && type_bits(type) > 24);
}

/* --- loading --- */

/* out[i] = in[i * stride] for elements of 1, 2, 4 or 8 bytes. */
static void gather(int bytes, const void *in, int64_t stride, void *out, int64_t count)
{
#define GATHER(size, element)                                        \
    case size:                                                       \
        for (int64_t i = 0; i < count; i++) {                        \
            ((element *)out)[i] = ((const element *)in)[i * stride]; \
        }                                                            \
        break;
    switch (bytes) {
        GATHER(1, uint8_t)
        GATHER(2, uint16_t)
        GATHER(4, uint32_t)
        GATHER(8, uint64_t)
    }
#undef GATHER
}

/* Strided integers and pred of any type, as 64-bit lanes. */
static void widen(enum type type, const void *in, int64_t stride, uint64_t *out, int64_t count)
{
#define WIDEN(id, element)                                        \
    case TYPE_##id:                                               \
        for (int64_t i = 0; i < count; i++) {                     \
            out[i] = (uint64_t)((const element *)in)[i * stride]; \
        }                                                         \
        break;
    switch (type) {
        WIDEN(PRED, uint8_t)
        WIDEN(S1, int8_t)
        WIDEN(S2, int8_t)
        WIDEN(S4, int8_t)
        WIDEN(S8, int8_t)
        WIDEN(S16, int16_t)
        WIDEN(S32, int32_t)
        WIDEN(S64, int64_t)
        WIDEN(U1, uint8_t)
        WIDEN(U2, uint8_t)
        WIDEN(U4, uint8_t)
        WIDEN(U8, uint8_t)
        WIDEN(U16, uint16_t)
        WIDEN(U32, uint32_t)
        WIDEN(U64, uint64_t)
    default:
        break;
    }
#undef WIDEN
}

/* XLA's conversion of a float to an integer type. */
static uint64_t truncate_float(enum type type, double value)
{
    if (isnan(value)) {
        return 0;
    }
    int bits = type_bits(type);
    if (type_kind(type) == KIND_PRED) {
        return value != 0;
    }
    if (type_kind(type) == KIND_UNSIGNED) {
        double limit = ldexp(1, bits);
        return value <= 0 ? 0 : value >= limit ? UINT64_MAX >> (64 - bits) : (uint64_t)value;
    }
    double limit = ldexp(1, bits - 1);
    int64_t most = INT64_MAX >> (64 - bits);
    int64_t integer = value <= -limit ? -most - 1 : value >= limit ? most : (int64_t)value;
    return (uint64_t)integer;
}

static void load_doubles(enum type result, enum type type, const void *in, int64_t stride,
                         double *out, int64_t count)
{
    if (type_is_float(type)) {
        if (stride == 1) {
            float_load(type, in, out, count);
            return;
        }
        uint64_t raw[STRIP];
        for (int64_t i = 0; i < count; i += STRIP) {
            int64_t part = count - i < STRIP ? count - i : STRIP;
            int bytes = type_bytes(type);
            gather(bytes, (const char *)in + i * stride * bytes, stride, raw, part);
            float_load(type, raw, out + i, part);
        }
        return;
    }
    uint64_t wide[STRIP];
    for (int64_t i = 0; i < count; i += STRIP) {
        int64_t part = count - i < STRIP ? count - i : STRIP;
        widen(type, (const char *)in + i * stride * type_bytes(type), stride, wide, part);
        if (type_kind(type) == KIND_SIGNED) {
            int64_t *integers = (int64_t *)wide;
            if (type == TYPE_S64) {
                exact_from_s64(result, integers, out + i, part);
            } else {
                for (int64_t j = 0; j < part; j++) {
                    out[i + j] = (double)integers[j];
                }
            }
        } else if (type == TYPE_U64) {
            exact_from_u64(result, wide, out + i, part);
        } else {
            for (int64_t j = 0; j < part; j++) {
                out[i + j] = (double)wide[j];
            }
        }
    }
}

static void load_integers(enum type result, enum type type, const void *in, int64_t stride,
                          uint64_t *out, int64_t count)
{
    if (!type_is_float(type)) {
        widen(type, in, stride, out, count);
        return;
    }
    double values[STRIP];
    for (int64_t i = 0; i < count; i += STRIP) {
        int64_t part = count - i < STRIP ? count - i : STRIP;
        const char *from = (const char *)in + i * stride * type_bytes(type);
        load_doubles(result, type, from, stride, values, part);
        for (int64_t j = 0; j < part; j++) {
            out[i + j] = truncate_float(result, values[j]);
        }
    }
}

void contract_load(const struct contract_format *format, enum type type, const void *in,
                   int64_t stride, void *lanes, int64_t count)
{
    switch (format->class) {
    case CONTRACT_FLOAT:
        load_doubles(format->type, type, in, stride, lanes, count);
        break;
    case CONTRACT_U64:
        load_integers(format->type, type, in, stride, lanes, count);
        break;
    case CONTRACT_U32:
        for (int64_t i = 0; i < count; i += STRIP) {
            uint64_t wide[STRIP];
            int64_t part = count - i < STRIP ? count - i : STRIP;
            const char *from = (const char *)in + i * stride * type_bytes(type);
            load_integers(format->type, type, from, stride, wide, part);
            for (int64_t j = 0; j < part; j++) {
                ((uint32_t *)lanes)[i + j] = (uint32_t)wide[j];
            }
        }
        break;
    }
}

/* --- storing --- */

static void store_floats(enum type type, const double *lanes, int64_t lane_stride, void *out,
                         int64_t stride, int64_t count)
{
    if (lane_stride == 1 && stride == 1) {
        float_store(type, lanes, out, count);
        return;
    }
    double values[STRIP];
    uint64_t raw[STRIP];
    int bytes = type_bytes(type);
    for (int64_t i = 0; i < count; i += STRIP) {
        int64_t part = count - i < STRIP ? count - i : STRIP;
        gather(8, lanes + i * lane_stride, lane_stride, values, part);
        if (stride == 1) {
            float_store(type, values, (char *)out + i * bytes, part);
            continue;
        }
        float_store(type, values, raw, part);
        for (int64_t j = 0; j < part; j++) {
            memcpy((char *)out + (i + j) * stride * bytes, (const char *)raw + j * bytes,
                   (size_t)bytes);
        }
    }
}

/* The value of an integer type with these low bits. */
static uint64_t wrap(enum type type, uint64_t lane)
{
    int unused = 64 - type_bits(type);
    if (type_kind(type) == KIND_SIGNED) {
        return (uint64_t)((int64_t)(lane << unused) >> unused);
    }
    return lane << unused >> unused;
}

void contract_store(const struct contract_format *format, const void *lanes, int64_t lane_stride,
                    void *out, int64_t stride, int64_t count)
{
    if (format->class == CONTRACT_FLOAT) {
        store_floats(format->type, lanes, lane_stride, out, stride, count);
        return;
    }
    int bytes = type_bytes(format->type);
    for (int64_t i = 0; i < count; i++) {
        uint64_t lane = format->class == CONTRACT_U32 ? ((const uint32_t *)lanes)[i * lane_stride]
                                                      : ((const uint64_t *)lanes)[i * lane_stride];
        lane = format->type == TYPE_PRED ? lane != 0 : wrap(format->type, lane);
        /* The low bytes come first on every machine this runs on. */
        memcpy((char *)out + i * stride * bytes, &lane, (size_t)bytes);
    }
}

/* --- matrices --- */

static void matrix_fill(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                        double *out, int64_t step, bool across)
{
    const struct contract_matrix *matrix = context;
    int lane = contract_lane_bytes(matrix->format->class);
    int bytes = type_bytes(matrix->type);
    const char *data = (const char *)matrix->data +
                       (first * matrix->vector_stride + k * matrix->depth_stride) * bytes;
    int64_t outer = across ? depth : count;
    int64_t inner = across ? count : depth;
    int64_t outer_stride = across ? matrix->depth_stride : matrix->vector_stride;
    int64_t inner_stride = across ? matrix->vector_stride : matrix->depth_stride;
    for (int64_t i = 0; i < outer; i++) {
        contract_load(matrix->format, matrix->type, data + i * outer_stride * bytes, inner_stride,
                      (char *)out + i * step * lane, inner);
    }
}

static void fill_along(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                       double *out, int64_t step)
{
    matrix_fill(context, first, count, k, depth, out, step, false);
}

static void fill_across(const void *context, int64_t first, int64_t count, int64_t k, int64_t depth,
                        double *out, int64_t step)
{
    matrix_fill(context, first, count, k, depth, out, step, true);
}

struct exact_dot_operand contract_matrix_operand(const struct contract_matrix *matrix,
                                                 int64_t vectors)
{
    bool across = matrix->vector_stride == 1 && matrix->depth_stride != 1;
    return (struct exact_dot_operand){
        .fill = across ? fill_across : fill_along,
        .context = matrix,
        .vectors = vectors,
        .across = across,
        .wide = contract_is_wide(matrix->type),
    };
}

void contract_emit(void *context, int64_t first_row, int64_t rows, int64_t first_column,
                   int64_t columns, const double *values, int64_t step)
{
    const struct contract_output *output = context;
    int bytes = type_bytes(output->format->type);
    int lane = contract_lane_bytes(output->format->class);
    char *data = (char *)output->data +
                 (first_row * output->row_stride + first_column * output->column_stride) * bytes;
    if (output->column_stride <= output->row_stride) {
        for (int64_t i = 0; i < rows; i++) {
            contract_store(output->format, (const char *)values + i * step * lane, 1,
                           data + i * output->row_stride * bytes, output->column_stride, columns);
        }
        return;
    }
    for (int64_t j = 0; j < columns; j++) {
        contract_store(output->format, (const char *)values + j * lane, step,
                       data + j * output->column_stride * bytes, output->row_stride, rows);
    }
}

bool contract(const struct contract_format *format, const struct exact_dot_operand *a,
              const struct exact_dot_operand *b, int64_t depth, exact_dot_emit *emit,
              void *emit_context, struct error *err)
{
    if (format->class != CONTRACT_FLOAT) {
        return integer_dot(format->class == CONTRACT_U64, a, b, depth, emit, emit_context, err);
    }
    if (format->in_order) {
        return ordered_dot(format->type, a, b, depth, emit, emit_context, err);
    }
    return exact_dot(format->type, a, b, depth, emit, emit_context, err);
}

/* --- unspecified elements --- */

struct literal *contract_indicator(const struct literal *operand,
                                   bool (*is)(const struct literal *, int64_t), struct error *err)
{
    struct literal *literal = literal_create(
        shape_array(TYPE_F32, operand->shape->rank, operand->shape->dimensions), err);
    if (literal == NULL) {
        return NULL;
    }
    float *data = literal_data(literal);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        data[i] = is == NULL || is(operand, i);
    }
    return literal;
}

/* Marks what depends on the unspecified elements of operand `which`. */
static bool spread_from(const struct instruction *instruction, struct literal *const *values,
                        int which, contract_again *again, struct literal *result, struct error *err)
{
    struct literal *operands[2];
    for (int i = 0; i < 2; i++) {
        operands[i] =
            contract_indicator(values[i], i == which ? literal_is_unspecified : NULL, err);
    }
    struct literal *reached = NULL;
    if (operands[0] != NULL && operands[1] != NULL) {
        reached = again(instruction, operands, err);
    }
    literal_release(operands[0]);
    literal_release(operands[1]);
    if (reached == NULL) {
        return false;
    }
    const float *data = literal_data(reached);
    for (int64_t i = 0; i < literal_elements(reached); i++) {
        if (data[i] != 0) {
            literal_mark_unspecified(result, i);
        }
    }
    literal_release(reached);
    return true;
}

bool contract_spread(const struct instruction *instruction, struct literal *const *values,
                     contract_again *again, struct literal *result, struct error *err)
{
    for (int which = 0; which < 2; which++) {
        if (literal_has_unspecified(values[which]) &&
            !spread_from(instruction, values, which, again, result, err)) {
            return false;
        }
    }
    return true;
}

/* --- operands of default precision --- */

struct rounding {
    const float *from;
    float *to;
};

/* To bf16, ties to even; NaN keeps its upper bits. */
static void round_range(void *context, int64_t begin, int64_t end)
{
    const struct rounding *rounding = context;
    for (int64_t i = begin; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, &rounding->from[i], sizeof bits);
        bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
        bits = is_nan ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
        bits &= 0xffff0000;
        memcpy(&rounding->to[i], &bits, sizeof bits);
    }
}

struct literal *contract_operand(const struct evaluation *evaluation,
                                 const struct instruction *instruction, int operand,
                                 struct literal *value, struct error *err)
{
    const struct attr *attr = attr_get(instruction, ATTR_OPERAND_PRECISION);
    bool is_default = (attr == NULL || operand >= attr->precisions.count ||
                       attr->precisions.values[operand] == PRECISION_DEFAULT) &&
                      attr_get(instruction, ATTR_ALGORITHM) == NULL;
    if (!evaluation->options.bf16_products || !is_default || value->shape->type != TYPE_F32) {
        return literal_retain(value);
    }
    struct literal *result = literal_create(value->shape, err);
    if (result == NULL) {
        return NULL;
    }
    struct rounding rounding = {literal_data(value), literal_data(result)};
    pool_for(literal_elements(value), 1 << 16, round_range, &rounding);
    for (int64_t i = 0; literal_has_unspecified(value) && i < literal_elements(value); i++) {
        if (literal_is_unspecified(value, i)) {
            literal_mark_unspecified(result, i);
        }
    }
    return result;
}
