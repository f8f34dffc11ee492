/* The loops of the lanes engine for AVX-512. */
#ifdef __x86_64__
#define VECTOR_LEVEL 3
#include "hlo/vector.h"
#include "interp/lanes_loops.h"
VECTOR_END
#else
#include "interp/lanes_internal.h"
#endif
