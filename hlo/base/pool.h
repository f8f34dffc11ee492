/* Thread pool: one for the process, sized by pool_set_threads (default: the cores, or
 * REFEREE_THREADS). Every thread starts with the default floating point environment. */
#ifndef HLO_BASE_POOL_H
#define HLO_BASE_POOL_H

#include <stdint.h>

typedef void pool_function(void *context, int64_t begin, int64_t end);

void pool_set_threads(int count);
int pool_threads(void);
/* Calls function over [0, count) in disjoint ranges of at least `grain`, in parallel, and waits.
 * A call from inside a pool function runs serially. Results must not depend on the split. */
void pool_for(int64_t count, int64_t grain, pool_function *function, void *context);

#endif
