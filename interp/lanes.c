/* Strips: how values of each type are held, loaded, rounded and stored; running steps. */
#include "interp/lanes.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "hlo/vector.h"
#include "interp/lanes_internal.h"
#include "interp/poll.h"
#include "interp/walk.h"

static const struct lane_loops *loops;
static pthread_once_t loops_once = PTHREAD_ONCE_INIT;

static void loops_choose(void)
{
    loops = &lane_loops_level0;
#ifdef __x86_64__
    int level = vector_level();
    if (level >= 3) {
        loops = &lane_loops_level3;
    } else if (level == 2) {
        loops = &lane_loops_level2;
    }
#endif
}

const struct lane_loops *lane_loops(void)
{
    pthread_once(&loops_once, loops_choose);
    return loops;
}

enum lane lane_of(enum type type)
{
    switch (type_kind(type)) {
    case KIND_PRED:
        return LANE_PRED;
    case KIND_SIGNED:
        switch (type_bytes(type)) {
        case 1:
            return LANE_S8;
        case 2:
            return LANE_S16;
        case 4:
            return LANE_S32;
        default:
            return LANE_S64;
        }
    case KIND_UNSIGNED:
        switch (type_bytes(type)) {
        case 1:
            return LANE_U8;
        case 2:
            return LANE_U16;
        case 4:
            return LANE_U32;
        default:
            return LANE_U64;
        }
    case KIND_FLOAT:
        return type == TYPE_F32 ? LANE_F32 : type == TYPE_BF16 ? LANE_BF16 : LANE_F64;
    default:
        return LANE_COMPLEX;
    }
}

int lane_bytes(enum lane lane)
{
    static const uint8_t bytes[LANE_COUNT] = {
#define LANE(id, c_type, wide, class, bytes) [LANE_##id] = bytes,
#include "interp/lanes.def"
        [LANE_COMPLEX] = 16,
    };
    return bytes[lane];
}

bool lane_is_native(enum type type)
{
    return !type_is_complex(type) &&
           (!type_is_float(type) || type == TYPE_F32 || type == TYPE_F64 || type == TYPE_BF16);
}

enum type lane_bits_type(enum type type)
{
    switch (type_bytes(type)) {
    case 1:
        return TYPE_U8;
    case 2:
        return TYPE_U16;
    case 4:
        return TYPE_U32;
    case 8:
        return TYPE_U64;
    default:
        return type;
    }
}

void lane_load(enum type type, const void *elements, void *strip, int64_t count)
{
    if (lane_is_native(type)) {
        memcpy(strip, elements, (size_t)(count * type_bytes(type)));
    } else if (type == TYPE_C64) {
        const float *parts = elements;
        double *re = strip, *im = re + LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            re[i] = parts[2 * i];
            im[i] = parts[2 * i + 1];
        }
    } else if (type == TYPE_C128) {
        const double *parts = elements;
        double *re = strip, *im = re + LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            re[i] = parts[2 * i];
            im[i] = parts[2 * i + 1];
        }
    } else {
        float_load(type, elements, strip, count);
    }
}

void lane_store(enum type type, const void *strip, void *elements, int64_t count)
{
    if (lane_is_native(type)) {
        memcpy(elements, strip, (size_t)(count * type_bytes(type)));
    } else if (type == TYPE_C64) {
        float *parts = elements;
        const double *re = strip, *im = re + LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            parts[2 * i] = (float)re[i];
            parts[2 * i + 1] = (float)im[i];
        }
    } else if (type == TYPE_C128) {
        double *parts = elements;
        const double *re = strip, *im = re + LANE_STRIP;
        for (int64_t i = 0; i < count; i++) {
            parts[2 * i] = re[i];
            parts[2 * i + 1] = im[i];
        }
    } else {
        float_store(type, strip, elements, count);
    }
}

#define GATHER(type)                          \
    {                                         \
        const type *from = elements;          \
        type *to = out;                       \
        for (int64_t i = 0; i < count; i++) { \
            to[i] = from[offsets[i]];         \
        }                                     \
    }
#define SCATTER(type)                         \
    {                                         \
        const type *from = in;                \
        type *to = elements;                  \
        for (int64_t i = 0; i < count; i++) { \
            to[offsets[i]] = from[i];         \
        }                                     \
    }
struct sixteen_bytes {
    uint64_t halves[2];
};

static void gather(const void *elements, const int64_t *offsets, void *out, int bytes,
                   int64_t count)
{
    switch (bytes) {
    case 1:
        GATHER(uint8_t)
        break;
    case 2:
        GATHER(uint16_t)
        break;
    case 4:
        GATHER(uint32_t)
        break;
    case 8:
        GATHER(uint64_t)
        break;
    default:
        GATHER(struct sixteen_bytes)
        break;
    }
}

static void scatter(const void *in, void *elements, const int64_t *offsets, int bytes,
                    int64_t count)
{
    switch (bytes) {
    case 1:
        SCATTER(uint8_t)
        break;
    case 2:
        SCATTER(uint16_t)
        break;
    case 4:
        SCATTER(uint32_t)
        break;
    case 8:
        SCATTER(uint64_t)
        break;
    default:
        SCATTER(struct sixteen_bytes)
        break;
    }
}
#undef GATHER
#undef SCATTER

void lane_gather(enum type type, const void *elements, const int64_t *offsets, void *strip,
                 int64_t count)
{
    int bytes = type_bytes(type);
    if (lane_is_native(type)) {
        gather(elements, offsets, strip, bytes, count);
        return;
    }
    struct sixteen_bytes packed[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        gather(elements, offsets + first, packed, bytes, n);
        lane_load(type, packed, (char *)strip + first * lane_bytes(lane_of(type)), n);
    }
}

void lane_scatter(enum type type, const void *strip, void *elements, const int64_t *offsets,
                  int64_t count)
{
    int bytes = type_bytes(type);
    if (lane_is_native(type)) {
        scatter(strip, elements, offsets, bytes, count);
        return;
    }
    struct sixteen_bytes packed[LANE_STRIP];
    for (int64_t first = 0; first < count; first += LANE_STRIP) {
        int64_t n = count - first < LANE_STRIP ? count - first : LANE_STRIP;
        lane_store(type, (const char *)strip + first * lane_bytes(lane_of(type)), packed, n);
        scatter(packed, elements, offsets + first, bytes, n);
    }
}

void lane_fill(enum type type, const void *element, void *strip, int64_t count)
{
    double value[2 * LANE_STRIP];
    lane_load(type, element, value, 1);
    enum lane lane = lane_of(type);
    if (lane == LANE_COMPLEX) {
        walk_fill(strip, &value[0], count, sizeof(double));
        walk_fill((double *)strip + LANE_STRIP, &value[LANE_STRIP], count, sizeof(double));
    } else {
        walk_fill(strip, value, count, lane_bytes(lane));
    }
}

void lane_blend(enum lane lane, const uint8_t *mask, const void *from, void *to, int64_t count)
{
    const struct lane_step step = {.operand_count = 3};
    if (lane == LANE_COMPLEX) {
        lane_blend(LANE_F64, mask, from, to, count);
        lane_blend(LANE_F64, mask, (const double *)from + LANE_STRIP, (double *)to + LANE_STRIP,
                   count);
    } else {
        const void *in[3] = {mask, from, to};
        lane_loops()->select[lane_bytes(lane)](&step, to, in, count);
    }
}

void lane_round(enum type type, void *strip, int64_t count)
{
    enum lane lane = lane_of(type);
    if (lane == LANE_COMPLEX) {
        double *parts = strip;
        float_round_array(type_part(type), parts, parts, count);
        float_round_array(type_part(type), parts + LANE_STRIP, parts + LANE_STRIP, count);
    } else if (lane == LANE_F64 && type != TYPE_F64) {
        float_round_array(type, strip, strip, count);
    } else if (type_is_integer(type) && type_bits(type) < 8) {
        const struct lane_step step = {.bits = type_bits(type)};
        const void *in[1] = {strip};
        lane_loops()->wrap[lane](&step, strip, in, count);
    }
}

void lane_run(const struct lane_step *step, void *out, const void *const *in, int64_t count)
{
    step->function(step, out, in, count);
    if (step->round) {
        lane_round(step->result, out, count);
    }
}

/* --- Whole arrays. -----------------------------------------------------------------------------
 */

struct map_operand {
    const char *data;
    enum type type;      /* as stored */
    bool scalar, direct; /* direct: the memory is the strip */
    bool convert;
    struct lane_step conversion;
    double *constant; /* the strip of a scalar */
};

struct map_job {
    const struct lane_step *step;
    struct map_operand operands[LANE_MAX_OPERANDS];
    char *out;
    bool out_direct;
};

/* Strips on the stack; complex values are the widest. */
typedef double map_strip[2 * LANE_STRIP];

static void map_range(void *context, int64_t begin, int64_t end)
{
    const struct map_job *job = context;
    const struct lane_step *step = job->step;
    const int out_bytes = type_bytes(step->result);
    map_strip loaded[LANE_MAX_OPERANDS], raw, result;
    /* Where nothing is loaded or rounded, strips may be long. */
    int64_t length = job->out_direct && !step->round ? 16 * LANE_STRIP : LANE_STRIP;
    for (int k = 0; k < step->operand_count; k++) {
        const struct map_operand *operand = &job->operands[k];
        if (!operand->direct) {
            length = LANE_STRIP;
        }
    }
    for (int64_t first = begin; first < end; first += length) {
        int64_t count = end - first < length ? end - first : length;
        const void *in[LANE_MAX_OPERANDS];
        for (int k = 0; k < step->operand_count; k++) {
            const struct map_operand *operand = &job->operands[k];
            const char *data = operand->data + first * type_bytes(operand->type);
            if (operand->scalar) {
                in[k] = operand->constant;
            } else if (operand->direct) {
                in[k] = data;
            } else if (operand->convert) {
                const void *from = raw;
                lane_load(operand->type, data, raw, count);
                lane_run(&operand->conversion, loaded[k], &from, count);
                in[k] = loaded[k];
            } else {
                lane_load(operand->type, data, loaded[k], count);
                in[k] = loaded[k];
            }
        }
        char *out = job->out + first * out_bytes;
        if (job->out_direct) {
            lane_run(step, out, in, count);
        } else {
            lane_run(step, result, in, count);
            lane_store(step->result, result, out, count);
        }
    }
}

void lane_map(const struct lane_step *step, const struct lane_array *in, void *out, int64_t count)
{
    struct map_job job = {.step = step, .out = out, .out_direct = lane_is_native(step->result)};
    map_strip constants[LANE_MAX_OPERANDS];
    for (int k = 0; k < step->operand_count; k++) {
        struct map_operand *operand = &job.operands[k];
        operand->data = in[k].data;
        operand->type = in[k].type;
        operand->scalar = in[k].scalar && count > 1;
        operand->convert = step->operands[k] != operand->type;
        if (operand->convert) {
            lane_convert(operand->type, step->operands[k], &operand->conversion);
        }
        operand->direct = !operand->convert && !operand->scalar && lane_is_native(operand->type);
        if (operand->scalar) {
            operand->constant = constants[k];
            lane_fill(operand->type, operand->data, constants[k], LANE_STRIP);
            if (operand->convert) {
                map_strip converted;
                const void *from = constants[k];
                lane_run(&operand->conversion, converted, &from, LANE_STRIP);
                memcpy(constants[k], converted, sizeof converted);
            }
        }
    }
    poll_for(count, 16 * LANE_STRIP, map_range, &job);
}
