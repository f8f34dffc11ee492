/* The loop of convolution_depthwise.c for every machine. */
#define VECTOR_LEVEL 0
#include "hlo/vector.h"
#include "interp/depthwise_loops.h"
VECTOR_END
