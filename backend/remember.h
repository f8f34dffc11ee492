/* A backend that remembers its last run: the same module on the same arguments (the very literals)
 * is not run again. For comparisons of several backends with one reference. */
#ifndef BACKEND_REMEMBER_H
#define BACKEND_REMEMBER_H

#include "backend/backend.h"

/* `inner` is borrowed. */
struct backend *backend_remember(struct backend *inner);

#endif
