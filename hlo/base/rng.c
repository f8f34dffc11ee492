/* splitmix64. */
#include "hlo/base/rng.h"

void rng_init(struct rng *rng, uint64_t seed)
{
    rng->state = seed;
}

uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
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
