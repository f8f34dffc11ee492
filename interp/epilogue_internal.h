/* Between epilogue.c and epilogue_ball.c: the graph of an epilogue in doubles with error bounds. */
#ifndef INTERP_EPILOGUE_INTERNAL_H
#define INTERP_EPILOGUE_INTERNAL_H

#include "interp/epilogue.h"

/* A value and a bound of its error. */
struct ball {
    double value, radius;
};

/* Where the operands of one element of the result lie. */
struct epilogue_place {
    int64_t sum;                      /* index into the sums and their bounds */
    int64_t operands[EPILOGUE_NODES]; /* into the operands */
};

/* Elements side by side along the last dimension of the result. */
enum { EPILOGUE_STRIP = 128 };
struct epilogue_strip {
    double value[EPILOGUE_STRIP], radius[EPILOGUE_STRIP];
};

/* The sum at an index into the sums, as they are given. */
struct ball epilogue_sum(const struct epilogue *epilogue, int64_t index);
/* Node `last` of one element, from its sum. */
struct ball epilogue_ball(const struct epilogue *epilogue, int last,
                          const struct epilogue_place *place, struct ball sum);
/* Node `last` of `count` elements from *place on; the epilogue has sums. */
void epilogue_balls(const struct epilogue *epilogue, int last, const struct epilogue_place *place,
                    int64_t count, struct epilogue_strip *out);

static inline double epilogue_operand(const struct epilogue_node *node, int64_t index)
{
    return node->operand == NULL ? 1 : literal_get_double(node->operand, index);
}

#endif
