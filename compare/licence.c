/* Licences: the table, flushing, and choosing the nearest of several right answers. Rewrites are in
 * rewrite.c. */
#include "compare/licence.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/profile.h"
#include "compare/rewrite.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

/* --- flush to zero --- */

/* The magnitudes of subnormal numbers become zero; true if there was one. Blocks of constant length
 * are for the compiler, which vectorises them. */
enum { FLUSH_BLOCK = 64 };
#define DEFINE_FLUSH(name, word, exponent, magnitude)                                 \
    static word name##_block(word *bits, int count)                                   \
    {                                                                                 \
        word found = 0;                                                               \
        for (int i = 0; i < count; i++) {                                             \
            word subnormal = (bits[i] & (exponent)) == 0 ? bits[i] & (magnitude) : 0; \
            bits[i] ^= subnormal;                                                     \
            found |= subnormal;                                                       \
        }                                                                             \
        return found;                                                                 \
    }                                                                                 \
    static bool name(void *data, int64_t first, int64_t end)                          \
    {                                                                                 \
        word found = 0, *bits = data;                                                 \
        for (; end - first >= FLUSH_BLOCK; first += FLUSH_BLOCK) {                    \
            found |= name##_block(bits + first, FLUSH_BLOCK);                         \
        }                                                                             \
        return (found | name##_block(bits + first, (int)(end - first))) != 0;         \
    }
DEFINE_FLUSH(flush_bf16, uint16_t, 0x7f80u, 0x7fu)
DEFINE_FLUSH(flush_f32, uint32_t, 0x7f800000u, 0x7fffffu)
DEFINE_FLUSH(flush_f64, uint64_t, 0x7ff0000000000000u, 0xfffffffffffffu)

/* Of the types that XLA's CPU flushes; f16 it computes in f32, where none is subnormal. */
static bool (*flush_of(enum type part))(void *data, int64_t first, int64_t end)
{
    switch (part) {
    case TYPE_BF16:
        return flush_bf16;
    case TYPE_F32:
        return flush_f32;
    case TYPE_F64:
        return flush_f64;
    default:
        return NULL;
    }
}

struct flush_range {
    struct literal *literal;
    atomic_bool any;
};

static void flush_range(void *context, int64_t begin, int64_t end)
{
    struct flush_range *range = context;
    enum type part = type_part(range->literal->shape->type);
    if (flush_of(part)(literal_data(range->literal), begin, end)) {
        range->any = true;
    }
}

/* Subnormal elements become zero of the same sign; true if there was one. */
static bool flush(struct literal *literal)
{
    enum { GRAIN = 1 << 16 };
    struct flush_range range = {.literal = literal};
    if (shape_is_tuple(literal->shape)) {
        for (int i = 0; i < literal->shape->count; i++) {
            range.any |= flush(literal->elements[i]);
        }
    } else if (flush_of(type_part(literal->shape->type)) != NULL) {
        int parts = type_is_complex(literal->shape->type) ? 2 : 1;
        pool_for(literal_elements(literal) * parts, GRAIN, flush_range, &range);
    }
    return range.any;
}

struct flushing {
    struct interp_options inner;
    bool any;
};

static void flush_noise(void *context, const struct instruction *instruction,
                        enum noise_place place, int operand, struct literal *value)
{
    struct flushing *flushing = context;
    (void)instruction;
    (void)place;
    (void)operand;
    flushing->any |= flush(value);
}

static bool flushing_cancelled(void *context)
{
    const struct flushing *flushing = context;
    return flushing->inner.cancelled != NULL && flushing->inner.cancelled(flushing->inner.context);
}

static struct literal *flush_and_evaluate(const struct module *module, bool everywhere,
                                          struct literal *const *arguments, int argument_count,
                                          const struct interp_options *interp, struct error *err)
{
    struct flushing flushing = {.inner = *interp};
    struct interp_options options = *interp;
    options.noise = flush_noise;
    options.noise_everywhere = everywhere;
    options.on_instruction = NULL;
    options.cancelled = flushing_cancelled;
    options.context = &flushing;
    struct literal **flushed = memory_zalloc((size_t)argument_count * sizeof *flushed);
    for (int i = 0; i < argument_count; i++) {
        flushed[i] = literal_own_take(literal_retain(arguments[i]), err);
        if (flushed[i] == NULL) {
            argument_count = i;
            break;
        }
        flushing.any |= flush(flushed[i]);
    }
    struct literal *result = NULL;
    if (err->code == ERROR_NONE) {
        result = devices_evaluate(module, flushed, argument_count, &options, err);
    }
    for (int i = 0; i < argument_count; i++) {
        literal_release(flushed[i]);
    }
    free(flushed);
    if (!flushing.any) {
        literal_release(result);
        return NULL;
    }
    return result;
}

static struct literal *evaluate_flushed(const struct module *module,
                                        struct literal *const *arguments, int argument_count,
                                        const struct interp_options *interp, struct error *err)
{
    return flush_and_evaluate(module, false, arguments, argument_count, interp, err);
}

static struct literal *evaluate_flushed_everywhere(const struct module *module,
                                                   struct literal *const *arguments,
                                                   int argument_count,
                                                   const struct interp_options *interp,
                                                   struct error *err)
{
    return flush_and_evaluate(module, true, arguments, argument_count, interp, err);
}

/* --- rewrites --- */

static struct literal *evaluate_rewritten(const struct module *module, rewrite_function *rewrite,
                                          struct literal *const *arguments, int argument_count,
                                          const struct interp_options *interp, struct error *err)
{
    struct module *copy = rewrite_copy(module, rewrite, err);
    if (copy == NULL) {
        return NULL;
    }
    struct literal *result = devices_evaluate(copy, arguments, argument_count, interp, err);
    module_destroy(copy);
    return result;
}

static struct literal *evaluate_contracted_first(const struct module *module,
                                                 struct literal *const *arguments,
                                                 int argument_count,
                                                 const struct interp_options *interp,
                                                 struct error *err)
{
    return evaluate_rewritten(module, rewrite_contract_first, arguments, argument_count, interp,
                              err);
}

static struct literal *evaluate_contracted_second(const struct module *module,
                                                  struct literal *const *arguments,
                                                  int argument_count,
                                                  const struct interp_options *interp,
                                                  struct error *err)
{
    return evaluate_rewritten(module, rewrite_contract_second, arguments, argument_count, interp,
                              err);
}

static struct literal *evaluate_simplified(const struct module *module,
                                           struct literal *const *arguments, int argument_count,
                                           const struct interp_options *interp, struct error *err)
{
    return evaluate_rewritten(module, rewrite_algebra, arguments, argument_count, interp, err);
}

static struct literal *evaluate_converted(const struct module *module,
                                          struct literal *const *arguments, int argument_count,
                                          const struct interp_options *interp, struct error *err)
{
    return evaluate_rewritten(module, rewrite_conversions, arguments, argument_count, interp, err);
}

static bool allows_flush(const struct profile *profile)
{
    return profile->flush_subnormals;
}

static bool allows_contract(const struct profile *profile)
{
    return profile->contract;
}

static bool allows_excess(const struct profile *profile)
{
    return profile->excess_precision;
}

static bool allows_algebra(const struct profile *profile)
{
    return profile->algebra;
}

const struct licence licences[] = {
    {"flush to zero", allows_flush, evaluate_flushed},
    {"flush to zero of every value", allows_flush, evaluate_flushed_everywhere},
    {"contraction of a·b + c", allows_contract, evaluate_contracted_first},
    {"contraction of c + a·b", allows_contract, evaluate_contracted_second},
    {"excess precision", allows_excess, evaluate_converted},
    {"algebraic simplification", allows_algebra, evaluate_simplified},
};
const int licence_count = sizeof licences / sizeof *licences;

/* --- the nearest answer --- */

static double distance(double a, double b)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b) ? 0 : INFINITY;
    }
    return a == b ? 0 : fabs(a - b);
}

/* Distance of element i of a literal from the actual one; parts add up. */
static double element_distance(const struct literal *literal, const struct literal *actual,
                               int64_t i)
{
    double real = distance(literal_get_double(literal, i), literal_get_double(actual, i));
    return real +
           (type_is_complex(literal->shape->type)
                ? distance(literal_get_imaginary(literal, i), literal_get_imaginary(actual, i))
                : 0);
}

int64_t take_nearer(struct literal *reference, const struct literal *candidate,
                    const struct literal *actual)
{
    int64_t replaced = 0;
    if (shape_is_tuple(reference->shape)) {
        for (int i = 0; i < reference->shape->count; i++) {
            replaced +=
                take_nearer(reference->elements[i], candidate->elements[i], actual->elements[i]);
        }
        return replaced;
    }
    if (!shape_is_array(reference->shape) ||
        !shape_compatible(shape_static(reference->shape), shape_static(actual->shape)) ||
        !shape_compatible(shape_static(reference->shape), shape_static(candidate->shape))) {
        return 0;
    }
    size_t bytes = (size_t)type_bytes(reference->shape->type);
    int64_t count = literal_elements(reference);
    char *to = literal_data(reference);
    const char *from = literal_data(candidate);
    for (int64_t i = 0; i < count; i++) {
        size_t at = (size_t)i * bytes;
        if (memcmp(to + at, from + at, bytes) != 0 &&
            element_distance(candidate, actual, i) < element_distance(reference, actual, i)) {
            memcpy(to + at, from + at, bytes);
            replaced++;
        }
    }
    return replaced;
}
