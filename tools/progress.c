/* A progress line on a terminal. */
#include "tools/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double now_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void progress_start(struct progress *progress, size_t total)
{
    *progress = (struct progress){.total = total, .start = now_seconds()};
    progress->active = total > 1 && isatty(STDERR_FILENO);
}

void progress_step(struct progress *progress, const char *what)
{
    progress->done++;
    double now = now_seconds();
    if (!progress->active || now - progress->last < 0.1) {
        return;
    }
    progress->last = now;
    const char *slash = strrchr(what, '/');
    double left = (now - progress->start) / (double)progress->done *
                  (double)(progress->total - progress->done);
    fprintf(stderr, "\r\033[K[%zu/%zu] %.0f s left  %.60s", progress->done, progress->total, left,
            slash != NULL ? slash + 1 : what);
    fflush(stderr);
}

void progress_clear(struct progress *progress)
{
    if (progress->active) {
        fputs("\r\033[K", stderr);
        progress->last = 0;
    }
}
