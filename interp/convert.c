/* Conversions between types: convert and bitcast-convert. */
#include <math.h>
#include <string.h>

#include "hlo/base/pool.h"
#include "interp/elementwise.h"
#include "interp/marks.h"

/* --- convert --- */

struct open_job {
    const struct literal *from;
    double least, beyond; /* the integers are least … beyond − 1 */
    atomic_bool found;
};

/* Whether a strip has values that become no integer. */
static bool open_in_strip(const struct open_job *job, const double *values, int64_t count)
{
    const double least = job->least, beyond = job->beyond;
    int64_t inside = 0;
    for (int64_t i = 0; i < count; i++) {
        double whole = trunc(values[i]);
        inside += whole >= least && whole < beyond;
    }
    return inside != count;
}

static void load_doubles(const struct literal *literal, int64_t first, int64_t count,
                         double *values)
{
    enum type type = literal->shape->type;
    double loaded[2 * LANE_STRIP];
    struct lane_step widen;
    const void *in = loaded;
    const char *data = literal_data(literal);
    lane_load(type, data + first * type_bytes(type), loaded, count);
    lane_convert(type, TYPE_F64, &widen);
    lane_run(&widen, values, &in, count);
}

static void find_open(void *context, int64_t begin, int64_t end)
{
    struct open_job *job = context;
    double values[LANE_STRIP];
    for (int64_t first = begin; first < end && !job->found; first += LANE_STRIP) {
        int64_t count = end - first < LANE_STRIP ? end - first : LANE_STRIP;
        load_doubles(job->from, first, count, values);
        if (open_in_strip(job, values, count)) {
            job->found = true;
        }
    }
}

void convert_mark_open(const struct literal *from, struct literal *to)
{
    enum type type = to->shape->type;
    bool is_signed = type_kind(type) == KIND_SIGNED;
    int digits = type_bits(type) - (is_signed ? 1 : 0);
    double beyond = ldexp(1, digits);
    struct open_job job = {from, is_signed ? -beyond : 0, beyond, false};
    int64_t elements = literal_elements(to);
    pool_for(elements, 16 * LANE_STRIP, find_open, &job);
    if (!job.found) {
        return;
    }
    uint8_t *marks = marks_make(to);
    double values[LANE_STRIP];
    for (int64_t first = 0; first < elements; first += LANE_STRIP) {
        int64_t count = elements - first < LANE_STRIP ? elements - first : LANE_STRIP;
        load_doubles(from, first, count, values);
        for (int64_t i = 0; i < count; i++) {
            double whole = trunc(values[i]);
            if (!(whole >= job.least && whole < job.beyond)) {
                mark_set(marks, first + i);
            }
        }
    }
}

struct literal *eval_convert(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    (void)evaluation;
    enum type from = operands->values[0]->shape->type, to = instruction->shape->type;
    if (from == to) {
        return literal_reshape_take(operand_pass(operands, 0), instruction->shape);
    }
    struct lane_step step;
    lane_convert(from, to, &step);
    bool open = type_is_integer(to) && (type_is_float(from) || type_is_complex(from));
    if (!open) {
        return elementwise_apply(&step, instruction->shape, operands, err);
    }
    /* Not in place: the operand is looked at twice. */
    const bool alive[1] = {false};
    struct operands kept = {1, operands->values, alive};
    struct literal *result = elementwise_apply(&step, instruction->shape, &kept, err);
    if (result != NULL) {
        convert_mark_open(operands->values[0], result);
    }
    return result;
}

/* --- bitcast-convert --- */

/* Bits of an element in XLA's memory. */
static int storage_bits(enum type type)
{
    return type == TYPE_PRED ? 8 : type_bits(type);
}

/* Stores an element of fewer bits than a byte as literals keep it. */
static void set_piece(struct literal *to, int64_t index, uint64_t piece, int bits)
{
    if (type_kind(to->shape->type) == KIND_SIGNED) {
        piece = (uint64_t)((int64_t)(piece << (64 - bits)) >> (64 - bits));
    }
    literal_set_bits(to, index, piece);
}

/* Little-endian: the first of several narrow elements are the low bits of the wide one. */
static void split_bits(const struct literal *from, struct literal *to, int ratio)
{
    int bits = storage_bits(to->shape->type);
    int64_t elements = literal_elements(from);
    for (int64_t i = 0; i < elements; i++) {
        uint64_t value = literal_get_bits(from, i);
        for (int part = 0; part < ratio; part++) {
            uint64_t piece = value >> (part * bits) & (~UINT64_C(0) >> (64 - bits));
            set_piece(to, i * ratio + part, piece, bits);
        }
    }
}

static void join_bits(const struct literal *from, struct literal *to, int ratio)
{
    int bits = storage_bits(from->shape->type), wide = storage_bits(to->shape->type);
    int64_t elements = literal_elements(to);
    for (int64_t i = 0; i < elements; i++) {
        uint64_t value = 0;
        for (int part = 0; part < ratio; part++) {
            uint64_t piece = literal_get_bits(from, i * ratio + part);
            value |= (piece & (~UINT64_C(0) >> (64 - bits))) << (part * bits);
        }
        set_piece(to, i, value, wide);
    }
}

/* Marks across a change of element size: a wide element is open if one of its parts is. */
static void resize_marks(const struct literal *from, struct literal *to)
{
    const uint8_t *marks = marks_of(from);
    int64_t from_count = literal_elements(from), to_count = literal_elements(to);
    if (marks == NULL || from_count == 0 || to_count == 0) {
        return;
    }
    uint8_t *out = marks_make(to);
    int64_t pieces = from_count > to_count ? from_count : to_count;
    for (int64_t i = 0; i < pieces; i++) {
        if (mark_get(marks, i / (pieces / from_count))) {
            mark_set(out, i / (pieces / to_count));
        }
    }
}

struct literal *eval_bitcast_convert(struct evaluation *evaluation,
                                     const struct instruction *instruction,
                                     struct operands *operands, struct error *err)
{
    (void)evaluation;
    const struct literal *value = operands->values[0];
    const struct shape *shape = instruction->shape;
    enum type from = value->shape->type, to = shape->type;
    int from_bits = storage_bits(from), to_bits = storage_bits(to);
    if (from == to) {
        return literal_reshape_take(operand_pass(operands, 0), shape);
    }
    if (from_bits == to_bits && from_bits < 8) {
        struct lane_step step;
        lane_bitcast(from, to, &step);
        return elementwise_apply(&step, shape, operands, err);
    }
    if (from_bits == to_bits) {
        return literal_reshape_take(operand_pass(operands, 0), shape);
    }
    struct literal *result = literal_create(shape, err);
    if (result == NULL) {
        return NULL;
    }
    if (from_bits >= 8 && to_bits >= 8) {
        memcpy(literal_data(result), literal_data(value), result->buffer->size);
    } else if (from_bits > 64 || to_bits > 64) {
        literal_release(result);
        error_set(err, ERROR_UNIMPLEMENTED, "bitcast-convert between %s and %s", type_text(from),
                  type_text(to));
        return NULL;
    } else if (from_bits > to_bits) {
        split_bits(value, result, from_bits / to_bits);
    } else {
        join_bits(value, result, to_bits / from_bits);
    }
    resize_marks(value, result);
    return result;
}
