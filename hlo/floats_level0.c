/* The loops of floats.c for every machine. */
#define VECTOR_LEVEL 0
#include "hlo/vector.h"
#include "hlo/floats_loops.h"
VECTOR_END
