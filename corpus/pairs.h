/* Entries that return (got, want) pairs: conformance tests as plain modules.
 *
 * A comment "// …; kinds: K0 K1 …" before the module names the kind of check of each pair, as the
 * check dialect of StableHLO has them (stablehlo/dialect, CheckOps): expect_eq and expect_eq_const
 * (bit-equal but for NaN), expect_almost_eq and …_const (within 0.001), expect_close (within 3
 * ulps). Without the comment floats are held to expect_close, everything else to expect_eq.
 *
 * What a test wants is often what some backend gave, with its roundings. A float pair that differs
 * is therefore looked at twice more before it counts as wrong: against the module evaluated with
 * every step rounded in written order (fidelity=literal), and within the spread of the golden under
 * the roundings that the profile `cpu` allows (tolerance.h). If either accounts for it, the exact
 * result is right and the expectation inexact, which is told apart from both other answers. */
#ifndef CORPUS_PAIRS_H
#define CORPUS_PAIRS_H

#include <stdbool.h>

struct bound;
struct checks;
struct error;
struct interp_options;
struct literal;
struct module;
struct text;

/* One evaluation whose pairs are to be checked; everything is borrowed. */
struct pairs {
    const struct module *module;
    struct literal *const *arguments;
    int argument_count;
    const struct interp_options *options; /* of the evaluation that gave `result` */
    const struct literal *result;
    const char *source;         /* the module's text, for the comment, or NULL */
    const struct bound *bounds; /* [pair] in place of the comment, or NULL */
};

struct pairs_outcome {
    int failed;  /* pairs that differ */
    int rounded; /* pairs that differ by the roundings of the expectation */
};

/* The result must be a tuple of pairs (or fails with INVALID_ARGUMENT). The pictures of pairs that
 * do not agree, and for inexact expectations by what they differ, are appended to `picture`. */
bool pairs_check(const struct pairs *pairs, struct pairs_outcome *outcome, struct text *picture,
                 struct error *err);

/* Checks that the module carries with it (compare/checks.h) and that failed: those in the entry
 * computation are looked at in the same way. *rounded: how many there are, if all of them differ by
 * the roundings of the expectation only, else 0; their pictures are in `picture`. `pairs->result`
 * and `source` do not count.
 */
bool pairs_check_failures(const struct pairs *pairs, const struct checks *checks, int *rounded,
                          struct text *picture, struct error *err);

#endif
