/* What `shrink` and `bisect` share: a module that fails, its arguments, and how it is compared. */
#ifndef TOOLS_FAILING_H
#define TOOLS_FAILING_H

#include "compare/differential.h"
#include "hlo/shrink/shrink.h"
#include "tools/options.h"

struct error;
struct text;

/* From the command line. */
struct failing {
    const char *tolerance, *profile;
    struct string_list inputs, flags;
    int64_t seed, tameness;
    double timeout, abs, rel; /* bounds: −1 = not given */
    size_t worker_memory;
    bool poison, backend_only;
    struct input_options drawing;             /* how, but for seed and tameness */
    int64_t loop_iterations;                  /* most, as in backend_options */
    bool drawn;                               /* by failing_load: nothing gave arguments */
    struct differential_options differential; /* made by failing_set */
};

#define FAILING_DEFAULTS                               \
    {                                                  \
        .seed = 1, .timeout = 60, .abs = -1, .rel = -1 \
    }

/* Its rows of a table of options. */
#define FAILING_OPTIONS(f)                                                                          \
    {"option", 'O', OPTION_LIST, &(f)->flags, "NAME=VALUE", "set an XLA flag for the backend"},     \
        {"inputs", 'i', OPTION_LIST, &(f)->inputs, "FILE", "an argument, one per parameter"},       \
        {"seed", 's', OPTION_INT, &(f)->seed, "N", "draw arguments from this seed (default 1)"},    \
        {"tameness", 0,                                                                             \
         OPTION_INT, &(f)->tameness,                                                                \
         "N",        "draw them from a tamer range, as often as 'referee run' says it did"},        \
        {"large-range", 0,                                                                          \
         OPTION_FLAG,   &(f)->drawing.large_range,                                                  \
         NULL,          "draw floats over the whole exponent range"},                               \
        {"boundary-values",                                                                         \
         0,                                                                                         \
         OPTION_FLAG,                                                                               \
         &(f)->drawing.boundary_values,                                                             \
         NULL,                                                                                      \
         "mix in ±0, ±Inf, NaN, subnormals and extremes"},                                          \
        {"zeros", 0, OPTION_FLAG, &(f)->drawing.zeros, NULL, "all arguments are zero"},             \
        {"tolerance", 0, OPTION_TEXT, &(f)->tolerance, "KIND", "default, derived, xla or bits"},    \
        {"abs_error_bound", 0, OPTION_REAL, &(f)->abs, "X", "XLA's rule: absolute bound"},          \
        {"rel_error_bound", 0, OPTION_REAL, &(f)->rel, "X", "XLA's rule: relative bound"},          \
        {"profile", 0, OPTION_TEXT, &(f)->profile, "NAME", "what the backend may do"},              \
        {"poison",                                                                                  \
         0,                                                                                         \
         OPTION_FLAG,                                                                               \
         &(f)->poison,                                                                              \
         NULL,                                                                                      \
         "fill the memory that the backend allocates: reading what nobody wrote shows"},            \
        {"backend-only", 0,                                                                         \
         OPTION_FLAG,    &(f)->backend_only,                                                        \
         NULL,           "the module is optimised already: skip the backend's HLO passes"},         \
        {"worker-memory", 0,                                                                        \
         OPTION_SIZE,     &(f)->worker_memory,                                                      \
         "SIZE",          "most bytes a backend's process may take: beyond it the outcome is OOM"}, \
    {                                                                                               \
        "timeout", 't', OPTION_SECONDS, &(f)->timeout, "TIME", "for one run (default 60)"           \
    }

/* Looks words up; false with a message on stderr. */
bool failing_set(struct failing *failing);
/* The one module of the file with its arguments: --inputs, "//@ arg" lines, a snapshot's (one a
 * parameter, or one a device and parameter, as in `run`), or from the seed, for each device. */
bool failing_load(struct failing *failing, const char *path, struct specimen *specimen,
                  struct error *err);
/* Where the specimen does not fail on what was drawn: true if a run draws from a tamer range, since
 * outputs prove nothing, and fails there. The specimen has these arguments then, and a line on
 * stderr says so. */
bool failing_draw_tamer(struct failing *failing, const char *path, struct backend *backend,
                        struct backend *reference, struct specimen *specimen);
/* The backend with the flags; timeout in seconds. NULL with *err. */
struct backend *failing_open(const struct failing *failing, const char *uri, double timeout,
                             struct error *err);
/* The options that were typed, without those that say which arguments: for a command on a file that
 * has its own. */
void failing_repeat(const struct failing *failing, struct text *out);
void failing_finish(struct failing *failing);

#endif
