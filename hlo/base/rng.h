/* Random numbers for inputs and tests: splitmix64 stream (public domain, Vigna); the same on every
 * machine. Not the generator of HLO's rng-bit-generator (see interp/). */
#ifndef HLO_BASE_RNG_H
#define HLO_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

void rng_init(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* Uniform in [0, bound), bound > 0, without bias. */
uint64_t rng_below(struct rng *rng, uint64_t bound);
/* Uniform in [0, 1), 53 bits. */
double rng_uniform(struct rng *rng);

#endif
