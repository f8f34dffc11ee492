/* The loops of double_double.h for AVX2 and FMA. */
#ifdef __x86_64__
#define VECTOR_LEVEL 2
#include "hlo/vector.h"
#include "interp/double_double_loops.h"
VECTOR_END
#else
#include "interp/double_double.h"
#endif
