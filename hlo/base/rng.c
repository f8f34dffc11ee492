/* splitmix64. */
#include "hlo/base/rng.h"

void rng_init(struct rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    uint64_t reject = -bound % bound;
    for (;;) {
        uint64_t value = rng_next(rng);
        if (value >= reject) {
            return value % bound;
        }
    }
}

double rng_uniform(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}
