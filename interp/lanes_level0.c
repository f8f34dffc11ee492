/* The loops of the lanes engine for every machine. */
#define VECTOR_LEVEL 0
#include "hlo/vector.h"
#include "interp/lanes_loops.h"
