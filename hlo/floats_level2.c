/* The loops of floats.c for AVX2. */
#ifdef __x86_64__
#define VECTOR_LEVEL 2
#include "hlo/vector.h"
#include "hlo/floats_loops.h"
VECTOR_END
#else
#include "hlo/floats_layout.h"
#endif
