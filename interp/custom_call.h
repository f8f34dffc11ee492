/* Custom calls that the golden knows. */
#ifndef INTERP_CUSTOM_CALL_H
#define INTERP_CUSTOM_CALL_H

#include <stdbool.h>

/* Whether eval_custom_call can evaluate calls of this target. */
bool custom_call_is_known(const char *target);

#endif
