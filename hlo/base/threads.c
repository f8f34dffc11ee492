/* Threads that take work from one queue. */
#include "hlo/base/threads.h"

#include <pthread.h>
#include <stdlib.h>

#include "hlo/base/arena.h"

void threads_run(size_t count, void *(*work)(void *context), void *context)
{
    pthread_t *list = memory_alloc((count + 1) * sizeof *list);
    size_t started = 0;
    while (started + 1 < count && pthread_create(&list[started], NULL, work, context) == 0) {
        started++;
    }
    work(context);
    for (size_t i = 0; i < started; i++) {
        pthread_join(list[i], NULL);
    }
    free(list);
}
