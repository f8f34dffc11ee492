/* A progress line on a terminal, when there is much to do. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
    size_t total, done;
    double start, last;
    bool active; /* stderr is a terminal and there is more than one thing to do */
};

void progress_start(struct progress *progress, size_t total);
/* Another one is done; `what` names the next or the last one. Thread-unsafe: hold a lock. */
void progress_step(struct progress *progress, const char *what);
/* Erases the line, so that other output can be written. */
void progress_clear(struct progress *progress);

#endif
