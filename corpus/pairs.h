/* Entries that return (got, want) pairs: conformance tests as plain modules.
 *
 * A comment "; kinds: K0 K1 …" before the module names the kind of check of each pair, as the check
 * dialect of StableHLO has them (stablehlo/dialect, CheckOps): expect_eq and expect_eq_const
 * (bit-equal but for NaN), expect_almost_eq and …_const (within 0.001), expect_close (within 3
 * ulps). Without the comment floats are held to expect_close, everything else to expect_eq. */
#ifndef CORPUS_PAIRS_H
#define CORPUS_PAIRS_H

#include <stdbool.h>

struct error;
struct literal;
struct text;

/* result must be a tuple of pairs (or fails with INVALID_ARGUMENT); `source` is the module's text,
 * for the comment, or NULL. *failed counts pairs that differ; their pictures are appended. */
bool pairs_check(const struct literal *result, const char *source, int *failed,
                 struct text *picture, struct error *err);

#endif
