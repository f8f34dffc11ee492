/* The loops of integer_dot.c for AVX-512. */
#ifdef __x86_64__
#define VECTOR_LEVEL 3
#include "hlo/vector.h"
#include "interp/integer_dot_loops.h"
VECTOR_END
#else
#include "interp/integer_dot_internal.h"
#endif
