/* Vector kernels for every machine. */
#define VECTOR_LEVEL 0
#include "hlo/vector.h"
#include "interp/exact_loops.h"
#include "interp/exact_sum_loops.h"
VECTOR_END
