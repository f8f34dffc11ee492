/* Comparing two literals element by element, and the picture of a mismatch.
 *
 * An element agrees if it is bit-equal, or both are NaN, or |actual − reference| ≤ abs +
 * rel·|reference|, or it is within `ulps` units in the last place of its type, or within its own
 * bound. Integers, pred and tokens: bit-equal, always. Complex: each part on its own, but relative
 * and ulp bounds are of the number's magnitude, since arithmetic on complex numbers keeps the small
 * part no better (XLA's rule excepted). Unspecified elements of the reference are counted and
 * accuse nobody. Source of XLA's rule: xla/literal_comparison.cc. */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

struct literal;
struct text;

/* What one leaf may differ by. Zero everywhere = bit-equal but for NaN payloads. */
struct bound {
    double abs, rel, ulps;
    /* With element bounds: the part of abs, rel and ulps that suffices alone (0 = all of it); what
     * differs by more has to be within its own bound, too. */
    double near;
    /* With element bounds: an own bound beyond this means that the golden does not know
     * (ill-conditioned); 0 = none does. Such an element may differ by all of abs, rel and ulps; it
     * is `undecided` up to four times its own bound (a special number: where the bound is as large
     * as the element), and a mismatch beyond. */
    double undecidable;
    bool xla_rule;         /* passes if abs OR rel suffices, computed as XLA does */
    bool zeros_equal;      /* +0 and −0 agree */
    bool flush_subnormals; /* a subnormal and zero agree */
    /* Per element, same leaf shape in f64 (complex: two values an element), or NULL: the spread of
     * the golden under allowed roundings. An infinite or NaN entry: the golden itself does not
     * know; such elements count as `undecided`. */
    const double *element_bounds;
};

enum { COMPARE_EXAMPLES = 5, COMPARE_BUCKETS = 8 };

struct element_difference {
    int64_t index; /* row-major; part 1 of a complex element is its imaginary part */
    int part;
    double reference, actual, error; /* |actual − reference|, infinite for NaN/Inf disagreements */
    double ulps;                     /* of the reference; of its magnitude if complex */
};

/* How one leaf compares. */
struct leaf_comparison {
    int leaf; /* number in depth-first order */
    int64_t elements, mismatches, unspecified, undecided;
    int64_t nan_disagreements, infinity_disagreements, sign_of_zero_disagreements;
    bool shapes_differ; /* then nothing else is filled */
    struct element_difference first, worst;
    struct element_difference top[COMPARE_EXAMPLES]; /* worst first */
    int top_count;
    /* Errors in ulps: 0, (0,1], (1,4], (4,16], (16,256], (256,65536], larger, NaN/Inf. */
    int64_t buckets[COMPARE_BUCKETS];
    double largest_abs, largest_rel, largest_ulps; /* over all finite pairs */
    double largest_part; /* the largest error as a part of what is allowed; > 1: too large */
    /* The smallest tolerances that would have passed, each alone (abs, rel, ulps); infinite when
     * no tolerance of that kind does (NaN, Inf, integers). */
    double needed_abs, needed_rel, needed_ulps;
};

struct comparison {
    bool equal; /* no mismatches */
    int leaf_count;
    struct leaf_comparison *leaves;
    int64_t mismatches, unspecified, undecided;
};

/* The largest finite magnitude among the numbers of an array (parts of complex ones); 0 if it holds
 * no floats. */
double literal_scale(const struct literal *leaf);

/* bounds: one per leaf. The result is freed with comparison_finish. */
void literal_compare(const struct literal *reference, const struct literal *actual,
                     const struct bound *bounds, struct comparison *result);
void comparison_finish(struct comparison *comparison);

/* The picture: per mismatching leaf first and worst element (index, both values in decimal and hex,
 * ulps), histogram, NaN/Inf counts, unspecified count, the smallest tolerance that would have
 * passed. */
void comparison_print(const struct comparison *comparison, const struct literal *reference,
                      const struct literal *actual, struct text *out);

#endif
