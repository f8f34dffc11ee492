/* Every open choice of HLO, decided once.
 *
 * Where HLO (the StableHLO specification and XLA's documents) leaves a result open, the golden
 * takes the value below and marks the element "unspecified" where the comment says so: the mark
 * spreads like poison and the comparison reports it instead of accusing anyone. The value taken is
 * the one XLA's CPU gives where its backends agree, else the one of the StableHLO interpreter.
 *
 * integer x / 0            signed −1, unsigned all ones (xla/hlo/evaluator; XLA defines it)
 * integer INT_MIN / −1     INT_MIN
 * integer x % 0            x;  INT_MIN % −1 = 0
 * shift by ≥ width or < 0  0; arithmetic right shift: sign fill (XLA defines it)
 * integer x ** negative    0, but 1 for x = 1, ±1 for x = −1 (XLA's elemental emitter)
 * float → integer          truncates; out of range saturates, NaN → 0 — unspecified where the
 *                          StableHLO specification says implementation-defined (NaN, out of range)
 * float → pred             x ≠ 0 (NaN → true)
 * complex → real, pred     ignores the imaginary part (StableHLO and its interpreter, XLA's CPU)
 * min/max of +0 and −0     min −0, max +0 (IEEE 754-2019); sign unspecified in HLO: comparison
 *                          treats ±0 as equal for these
 * min/max/clamp of NaN     NaN
 * NaN sign and payload     quiet; sign and payload unspecified, the comparison ignores them;
 *                          negate, abs, copy, select and data movement keep the bits
 * sign(NaN)                NaN; sign(±0) = ±0
 * round-nearest-afz/even   as IEEE roundToIntegralTiesToAway / TiesToEven
 * complex functions        branch cuts, signed zeros, infinities and NaN as C99 Annex G; log(1 + z)
 *                          and exp(z) − 1 keep the sign of a zero; where Annex G leaves a sign open
 *                          it is positive; power is exp(b log a), 0^0 = 1; an exact zero part of
 *                          a power has the sign of IEEE 754's sinPi and cosPi; atan2 at ±i: NaN
 * complex min, max         by real part, then imaginary part (StableHLO); a NaN wins
 * rsqrt(−0)                −∞ (IEEE 754 rSqrt)
 * NaN to a type without    the zero of the opposite sign of the NaN's, −0 for those of arithmetic
 *                          (ml_dtypes); e8m0 has no zero: what underflows is 2^-127, zero is NaN
 * reduce-precision of      formats without infinity: what overflows becomes what a conversion makes
 *                          of infinity; exponent_bits not below the format's own leave it its range
 * unstable sort            is stable here; tie order is unspecified
 * topk ties, NaN           NaN is the largest; the lower index first
 * rng                      a documented splitmix64 stream (interp/rng.c); all elements unspecified
 * padding and holes under a window of reduce-window: no elements of it; an empty window gives the
 *                          init value (xla/hlo/evaluator, XLA's CPU)
 * padding and holes of a convolution: zeros that take part (StableHLO): 0 · inf = NaN, as XLA's
 *                          CPU has it for padding, not for holes; XLA's evaluator leaves both out —
 *                          the NaN is unspecified
 * integer convolution      wraps (XLA's CPU); XLA's evaluator saturates
 * cholesky, not positive definite: NaN everywhere (XLA's expander) — unspecified
 * fft of infinities, NaN   NaN in all elements that one enters — unspecified
 * ragged-dot beyond all groups: 0 (xla/hlo/evaluator)
 * out-of-bound dynamic-slice/update starts: clamped (XLA defines it); gather starts clamped,
 *                          scatter updates out of bounds dropped whole (defined)
 * scatter order            operand order of update elements, row-major; for add the exact sum
 * collective-permute in place, n slices a buffer: the first n-th of the pairs moves slice 0, and so
 *                          on
 * collectives whose groups name devices that do not exist: as if those were not there; what they
 *                          would give is zero and unspecified
 * send and recv without pairs: a device sends to itself
 * while without progress   runs until cancelled or max_loop_iterations
 * uninitialised values     rng_bit_generator's unused state, custom-call results: never invented
 * dynamic dimensions       elements beyond the run-time size are zero and unspecified */
#ifndef INTERP_CHOICES_H
#define INTERP_CHOICES_H

#include <stdint.h>

/* x / 0 of a signed integer; an unsigned one gives the same bits, all ones. */
#define CHOICE_DIVIDE_BY_ZERO ((int64_t)-1)

#endif
