/* The loops of the lanes engine for AVX2. */
#ifdef __x86_64__
#define VECTOR_LEVEL 2
#include "hlo/vector.h"
#include "interp/lanes_loops.h"
VECTOR_END
#else
#include "interp/lanes_internal.h"
#endif
