/* The loops of double_double.h for AVX-512. */
#ifdef __x86_64__
#define VECTOR_LEVEL 3
#include "hlo/vector.h"
#include "interp/double_double_loops.h"
VECTOR_END
#else
#include "interp/double_double.h"
#endif
