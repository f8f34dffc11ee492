/* Entering and leaving the default floating point environment. */
#include "interp/environment.h"

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

void environment_enter(struct environment *environment)
{
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
