/* The loop of convolution_depthwise.c for AVX2. */
#ifdef __x86_64__
#define VECTOR_LEVEL 2
#include "hlo/vector.h"
#include "interp/depthwise_loops.h"
VECTOR_END
#else
#include "interp/depthwise_internal.h"
#endif
