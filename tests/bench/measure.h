/* What the benchmarks share: the fastest of many runs, as tests/bench/peer.py measures it. */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include <stdbool.h>
#include <time.h>

#define MEASURE_PATIENCE 1.0 /* seconds of measuring, if one run takes less */

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct measure {
    int count;
    double sum, fastest; /* seconds */
};

static inline bool measure_enough(const struct measure *measure)
{
    return measure->count && measure->sum >= MEASURE_PATIENCE;
}

static inline void measure_add(struct measure *measure, double seconds)
{
    if (!measure->count || seconds < measure->fastest) {
        measure->fastest = seconds;
    }
    measure->count++;
    measure->sum += seconds;
}

#endif
