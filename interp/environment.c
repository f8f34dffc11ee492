/* Entering and leaving the default floating point environment; what a thread leaves behind. */
#include "interp/environment.h"

#include <mpfr.h>
#include <pthread.h>

#ifdef __x86_64__
#include <fpu_control.h>
#include <xmmintrin.h>

/* Reading the two control words takes a nanosecond; saving and loading the environment takes 200,
 * more than a small evaluation. */
static bool is_default(void)
{
    enum { MXCSR_FLAGS = 0x3f, MXCSR_DEFAULT = 0x1f80 };
    fpu_control_t control;
    _FPU_GETCW(control);
    return control == _FPU_DEFAULT && (_mm_getcsr() & ~(unsigned)MXCSR_FLAGS) == MXCSR_DEFAULT;
}
#else
static bool is_default(void)
{
    return false; /* it cannot be told cheaply */
}
#endif

/* MPFR keeps constants for each thread until it is told that the thread ends. */
static pthread_key_t thread_end;

static void free_caches(void *value)
{
    (void)value;
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

static void make_key(void)
{
    pthread_key_create(&thread_end, free_caches);
}

void environment_enter(struct environment *environment)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    pthread_setspecific(thread_end, &thread_end);
    environment->changed = !is_default();
    if (environment->changed) {
        fegetenv(&environment->before);
        fesetenv(FE_DFL_ENV);
    }
}

void environment_leave(const struct environment *environment)
{
    if (environment->changed) {
        fesetenv(&environment->before);
    }
}
