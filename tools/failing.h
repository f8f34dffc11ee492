/* What `shrink` and `bisect` share: a module that fails, its arguments, and how it is compared. */
#ifndef TOOLS_FAILING_H
#define TOOLS_FAILING_H

#include "compare/differential.h"
#include "hlo/shrink/shrink.h"
#include "tools/options.h"

struct error;

/* From the command line. */
struct failing {
    const char *tolerance, *profile;
    struct string_list inputs, flags;
    int64_t seed;
    double timeout;
    struct differential_options differential; /* made by failing_set */
};

/* Its rows of a table of options. */
#define FAILING_OPTIONS(failing)                                                                    \
    {"option",          'O',          OPTION_LIST,                                                  \
     &(failing)->flags, "NAME=VALUE", "set an XLA flag for the backend"},                           \
        {"inputs", 'i', OPTION_LIST, &(failing)->inputs, "FILE", "an argument, one per parameter"}, \
        {"seed",           's', OPTION_INT,                                                         \
         &(failing)->seed, "N", "draw arguments from this seed (default 1)"},                       \
        {"tolerance",           0,      OPTION_TEXT,                                                \
         &(failing)->tolerance, "KIND", "default, derived, xla or bits"},                           \
        {"profile", 0, OPTION_TEXT, &(failing)->profile, "NAME", "what the backend may do"},        \
    {                                                                                               \
        "timeout", 't', OPTION_SECONDS, &(failing)->timeout, "TIME", "for one run (default 60)"     \
    }

/* Looks words up; false with a message on stderr. */
bool failing_set(struct failing *failing);
/* The one module of the file with its arguments: --inputs, "//@ arg" lines, a snapshot's (one a
 * parameter, or one a device and parameter, as in `run`), or from the seed, for each device. */
bool failing_load(const struct failing *failing, const char *path, struct specimen *specimen,
                  struct error *err);
/* The backend with the flags; timeout in seconds. NULL with *err. */
struct backend *failing_open(const struct failing *failing, const char *uri, double timeout,
                             struct error *err);
void failing_finish(struct failing *failing);

#endif
