/* Values of a module's instructions, held against those of another. */
#include <math.h>
#include <string.h>

#include "compare/passes_internal.h"
#include "compare/tolerance.h"
#include "hlo/base/map.h"
#include "hlo/literal.h"

bool pass_value_tells(const struct literal *value)
{
    if (!shape_is_array(value->shape)) {
        return false;
    }
    int64_t count = literal_elements(value);
    size_t bytes = (size_t)type_bytes(value->shape->type);
    const char *data = literal_data(value);
    for (int64_t i = 1; i < count; i++) {
        if (memcmp(data, data + (size_t)i * bytes, bytes) != 0) {
            return count >= 4;
        }
    }
    return false;
}

uint64_t pass_value_hash(const struct literal *value)
{
    return hash_bytes(literal_data(value), value->buffer->size, (uint64_t)value->shape->type);
}

double pass_deviation(const struct literal *old, const struct literal *now)
{
    if (shape_is_tuple(old->shape)) {
        double worst = 0;
        for (int i = 0; i < old->shape->count; i++) {
            worst = fmax(worst, pass_deviation(old->elements[i], now->elements[i]));
        }
        return worst;
    }
    if (!shape_is_array(old->shape) || pass_results_same(old, now)) {
        return 0;
    }
    enum type type = old->shape->type;
    if (!type_is_float(type) && !type_is_complex(type)) {
        return literal_equal(old, now) ? 0 : INFINITY;
    }
    double scale = literal_scale(old), worst = 0;
    int64_t count = literal_elements(old);
    for (int64_t i = 0; i < count; i++) {
        double a = literal_get_double(old, i), b = literal_get_double(now, i);
        double error = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
        if (type_is_complex(type)) {
            double c = literal_get_imaginary(old, i), d = literal_get_imaginary(now, i);
            error = fmax(error, c == d || (isnan(c) && isnan(d)) ? 0 : fabs(c - d));
        }
        worst = isnan(error) ? INFINITY : fmax(worst, error);
    }
    return scale > 0 ? worst / scale : worst > 0 ? INFINITY : 0;
}
