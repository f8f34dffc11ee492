/* The loops of integer_dot.c for AVX2. */
#ifdef __x86_64__
#define VECTOR_LEVEL 2
#include "hlo/vector.h"
#include "interp/integer_dot_loops.h"
VECTOR_END
#else
#include "interp/integer_dot_internal.h"
#endif
