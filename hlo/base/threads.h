/* Threads that take work from one queue: unlike those of the pool (pool.h) they may wait, and run
 * evaluations that use the pool. */
#ifndef HLO_BASE_THREADS_H
#define HLO_BASE_THREADS_H

#include <stddef.h>

/* Calls work(context) on so many threads at once, the caller's among them (at least that one), and
 * waits for all. Where the system gives fewer, fewer do the work. */
void threads_run(size_t count, void *(*work)(void *context), void *context);

#endif
