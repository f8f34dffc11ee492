/* The loop of convolution_depthwise.c for AVX-512. */
#ifdef __x86_64__
#define VECTOR_LEVEL 3
#include "hlo/vector.h"
#include "interp/depthwise_loops.h"
VECTOR_END
#else
#include "interp/depthwise_internal.h"
#endif
