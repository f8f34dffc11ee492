/* The floating point environment of an evaluation: round to nearest, nothing flushed, no traps,
 * long doubles with all their bits. What the caller has is put back afterwards; only its exception
 * flags may have been raised meanwhile. What the golden keeps for a thread that entered (MPFR's
 * constants) is freed when the thread ends. */
#ifndef INTERP_ENVIRONMENT_H
#define INTERP_ENVIRONMENT_H

#include <fenv.h>
#include <stdbool.h>

struct environment {
    bool changed;
    fenv_t before; /* if changed */
};

void environment_enter(struct environment *environment);
void environment_leave(const struct environment *environment);

#endif
