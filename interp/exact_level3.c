/* Vector kernels for AVX-512. */
#ifdef __x86_64__
#define VECTOR_LEVEL 3
#include "hlo/vector.h"
#include "interp/exact_loops.h"
#include "interp/exact_sum_loops.h"
VECTOR_END
#else
#include "interp/exact_kernels.h"
#include "interp/exact_sum_kernels.h"
#endif
