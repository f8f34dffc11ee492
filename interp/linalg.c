/* What cholesky and triangular-solve share. */
#include "interp/linalg_internal.h"

bool linalg_is_supported(const struct shape *shape)
{
    return shape->rank >= 2 && (type_is_float(shape->type) || type_is_complex(shape->type));
}

void linalg_spread(const struct literal *operand, struct literal *result, int64_t matrices)
{
    if (!literal_has_unspecified(operand) || matrices == 0) {
        return;
    }
    int64_t from = literal_elements(operand) / matrices, to = literal_elements(result) / matrices;
    for (int64_t matrix = 0; matrix < matrices; matrix++) {
        bool any = false;
        for (int64_t i = 0; i < from && !any; i++) {
            any = literal_is_unspecified(operand, matrix * from + i);
        }
        for (int64_t i = 0; i < to && any; i++) {
            literal_mark_unspecified(result, matrix * to + i);
        }
    }
}
