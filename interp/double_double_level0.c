/* The loops of double_double.h for every machine, and the choice. */
#define VECTOR_LEVEL 0
#include "hlo/vector.h"
#include "interp/double_double_loops.h"
VECTOR_END

const struct double_double_loops *double_double_loops_choose(void)
{
#ifdef __x86_64__
    int level = vector_level();
    return level == 3   ? &double_double_loops_level3
           : level == 2 ? &double_double_loops_level2
                        : &double_double_loops_level0;
#else
    return &double_double_loops_level0;
#endif
}
