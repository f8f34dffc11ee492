/* The loops of integer_dot.c for every machine. */
#define VECTOR_LEVEL 0
#include "hlo/vector.h"
#include "interp/integer_dot_loops.h"
VECTOR_END
