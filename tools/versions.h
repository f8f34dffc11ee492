/* referee bisect --versions: which release of a compiler broke a module, or fixed it. */
#ifndef TOOLS_VERSIONS_H
#define TOOLS_VERSIONS_H

#include <stdbool.h>

#include "tools/failing.h"

struct versions_options {
    struct failing *failing;
    const struct string_list *schemes; /* "jaxlib:", "cpu:"; none: all that have releases */
    const char *between;               /* "FIRST..LAST", either may be left out; NULL: all */
    bool all;                          /* judge every release, not as few as will do */
    bool yes;                          /* fetch what is not there */
    bool quiet;
    const char *json; /* file for a report; NULL: none */
};

/* Judges releases by the golden, the module on each, and reports what changed. Returns the exit
 * status of the command: EXIT_AS_EXPECTED where nothing fails, EXIT_FINDINGS where something does.
 */
int versions_search(const struct versions_options *options, const char *path);

#endif
