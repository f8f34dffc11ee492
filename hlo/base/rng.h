/* Random numbers for inputs and tests: splitmix64 stream (public domain, Vigna); the same on every
 * machine. Not the generator of HLO's rng-bit-generator (see interp/). */
#ifndef HLO_BASE_RNG_H
#define HLO_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

void rng_init(struct rng *rng, uint64_t seed);
static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
/* Uniform in [0, bound), bound > 0, without bias. */
uint64_t rng_below(struct rng *rng, uint64_t bound);
/* Uniform in [0, 1), 53 bits. */
double rng_uniform(struct rng *rng);

#endif
