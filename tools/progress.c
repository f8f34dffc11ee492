/* A progress line on a terminal. */
#include "tools/progress.h"

#include "hlo/base/clock.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void progress_start(struct progress *progress, size_t total)
{
    *progress = (struct progress){.total = total, .start = clock_seconds()};
    progress->active = total > 1 && isatty(STDERR_FILENO);
}

void progress_step(struct progress *progress, const char *what)
{
    progress->done++;
    double now = clock_seconds();
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
