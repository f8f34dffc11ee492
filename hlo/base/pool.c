/* Thread pool: workers wait for one job at a time and take chunks of it by an atomic counter. */
#include "hlo/base/pool.h"

#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_THREADS = 256, CHUNKS_PER_THREAD = 4 };

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t start, done;
    int wanted;  /* threads incl. the caller; 0 = not decided yet */
    int started; /* workers running */
    uint64_t generation;
    int busy; /* workers that have not finished the current generation */
    pool_function *function;
    void *context;
    int64_t count, chunk;
    atomic_llong next;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .start = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

/* One caller at a time owns the workers; others run serially. */
static pthread_mutex_t owner = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool inside;

static void run_chunks(void)
{
    for (;;) {
        int64_t begin = atomic_fetch_add(&pool.next, pool.chunk);
        if (begin >= pool.count) {
            return;
        }
        int64_t end = begin + pool.chunk < pool.count ? begin + pool.chunk : pool.count;
        pool.function(pool.context, begin, end);
    }
}

static void *worker_main(void *unused)
{
    (void)unused;
    inside = true;
    fesetenv(FE_DFL_ENV);
    uint64_t seen = 0;
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (pool.generation == seen) {
            pthread_cond_wait(&pool.start, &pool.mutex);
        }
        seen = pool.generation;
        pthread_mutex_unlock(&pool.mutex);
        run_chunks();
        pthread_mutex_lock(&pool.mutex);
        if (--pool.busy == 0) {
            pthread_cond_signal(&pool.done);
        }
    }
    return NULL;
}

void pool_set_threads(int count)
{
    pool.wanted = count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

int pool_threads(void)
{
    if (pool.wanted == 0) {
        const char *text = getenv("REFEREE_THREADS");
        long count = text != NULL ? strtol(text, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
        pool_set_threads(count > MAX_THREADS ? MAX_THREADS : (int)count);
    }
    return pool.wanted;
}

void pool_for(int64_t count, int64_t grain, pool_function *function, void *context)
{
    if (count <= 0) {
        return;
    }
    grain = grain < 1 ? 1 : grain;
    int threads = pool_threads();
    if (threads == 1 || count <= grain || inside || pthread_mutex_trylock(&owner) != 0) {
        function(context, 0, count);
        return;
    }
    pthread_mutex_lock(&pool.mutex);
    while (pool.started < threads - 1) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker_main, NULL) != 0) {
            break;
        }
        pthread_detach(thread);
        pool.started++;
    }
    int64_t parts = (int64_t)threads * CHUNKS_PER_THREAD;
    int64_t chunk = (count + parts - 1) / parts;
    pool.function = function;
    pool.context = context;
    pool.count = count;
    pool.chunk = chunk > grain ? chunk : grain;
    atomic_store(&pool.next, 0);
    pool.busy = pool.started;
    pool.generation++;
    pthread_cond_broadcast(&pool.start);
    pthread_mutex_unlock(&pool.mutex);
    inside = true;
    run_chunks();
    inside = false;
    pthread_mutex_lock(&pool.mutex);
    while (pool.busy > 0) {
        pthread_cond_wait(&pool.done, &pool.mutex);
    }
    pthread_mutex_unlock(&pool.mutex);
    pthread_mutex_unlock(&owner);
}
