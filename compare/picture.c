/* The picture of a mismatch, as text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compare/compare.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"

/* A value in decimal (enough digits to tell it apart) and its bits in hex. */
static void print_value(const struct literal *literal, const struct element_difference *d,
                        double value, struct text *out)
{
    enum type type = literal->shape->type;
    if (!type_is_float(type_part(type))) {
        uint64_t bits = literal_get_bits(literal, d->index);
        if (type_kind(type) == KIND_UNSIGNED || type == TYPE_PRED) {
            text_printf(out, "%llu (0x%llx)", (unsigned long long)bits, (unsigned long long)bits);
        } else {
            text_printf(out, "%lld (0x%llx)", (long long)literal_get_int(literal, d->index),
                        (unsigned long long)bits);
        }
        return;
    }
    enum type part = type_part(type);
    int digits = part == TYPE_F64 ? 17 : part == TYPE_F32 ? 9 : part == TYPE_F16 ? 5 : 4;
    text_printf(out, "%.*g (0x%0*llx)", digits, value, (type_bits(part) + 3) / 4,
                (unsigned long long)float_from_double(part, value));
}

static void print_element(const char *label, const struct literal *reference,
                          const struct literal *actual, const struct element_difference *d,
                          struct text *out)
{
    text_printf(out, "  %-6s ", label);
    shape_print_index(reference->shape, d->index, out);
    if (type_is_complex(reference->shape->type)) {
        text_append(out, d->part == 0 ? " real" : " imag");
    }
    text_append(out, "  expected ");
    print_value(reference, d, d->reference, out);
    text_append(out, " | got ");
    print_value(actual, d, d->actual, out);
    if (isfinite(d->error) && type_is_float(type_part(reference->shape->type))) {
        text_printf(out, "  off by %.3g", d->error);
        if (d->reference != 0) {
            text_printf(out, ", relative %.3g", d->error / fabs(d->reference));
        }
        text_printf(out, ", %.6g ulp", d->ulps);
    }
    text_char(out, '\n');
}

static void print_needed(const struct leaf_comparison *leaf, struct text *out)
{
    if (isinf(leaf->needed_ulps)) {
        text_append(out, "  no tolerance would have passed this\n");
        return;
    }
    text_printf(out, "  would have passed with %.3g ulp, or abs %.3g", ceil(leaf->needed_ulps),
                leaf->needed_abs);
    if (isfinite(leaf->needed_rel)) {
        text_printf(out, ", or rel %.3g", leaf->needed_rel);
    }
    text_char(out, '\n');
}

static void print_leaf(const struct leaf_comparison *leaf, const struct literal *reference,
                       const struct literal *actual, int leaf_count, struct text *out)
{
    static const char *const names[COMPARE_BUCKETS] = {"equal", "≤ 1",     "≤ 4",  "≤ 16",
                                                       "≤ 256", "≤ 65536", "more", "NaN/Inf"};
    if (leaf_count > 1) {
        text_printf(out, "output leaf %d, ", leaf->leaf);
    } else {
        text_append(out, "output ");
    }
    shape_print(reference->shape, false, out);
    if (leaf->shapes_differ) {
        text_append(out, ": the shapes (or run-time sizes) differ");
        if (actual != NULL) {
            text_append(out, ", got ");
            shape_print(actual->shape, false, out);
        }
        text_char(out, '\n');
        return;
    }
    text_printf(out, ": %lld of %lld elements differ (%.3g %%)\n", (long long)leaf->mismatches,
                (long long)leaf->elements,
                100.0 * (double)leaf->mismatches / (double)leaf->elements);
    print_element("first", reference, actual, &leaf->first, out);
    if (leaf->top_count > 0 &&
        (leaf->top[0].index != leaf->first.index || leaf->top[0].part != leaf->first.part)) {
        print_element("worst", reference, actual, &leaf->top[0], out);
    }
    for (int i = 1; i < leaf->top_count; i++) {
        if (leaf->top[i].index != leaf->first.index) {
            print_element("next", reference, actual, &leaf->top[i], out);
        }
    }
    text_append(out, "  ulps off:");
    for (int i = 0; i < COMPARE_BUCKETS; i++) {
        if (leaf->buckets[i] > 0) {
            text_printf(out, "  %s: %lld", names[i], (long long)leaf->buckets[i]);
        }
    }
    text_char(out, '\n');
    if (leaf->nan_disagreements > 0 || leaf->infinity_disagreements > 0 ||
        leaf->sign_of_zero_disagreements > 0 || leaf->unspecified > 0 || leaf->undecided > 0) {
        text_printf(out,
                    "  NaN on one side: %lld  Inf on one side: %lld  sign of zero: %lld  "
                    "unspecified: %lld  undecided: %lld\n",
                    (long long)leaf->nan_disagreements, (long long)leaf->infinity_disagreements,
                    (long long)leaf->sign_of_zero_disagreements, (long long)leaf->unspecified,
                    (long long)leaf->undecided);
    }
    print_needed(leaf, out);
}

void comparison_print(const struct comparison *comparison, const struct literal *reference,
                      const struct literal *actual, struct text *out)
{
    for (int i = 0; i < comparison->leaf_count; i++) {
        const struct leaf_comparison *leaf = &comparison->leaves[i];
        if (leaf->mismatches > 0) {
            print_leaf(leaf, literal_leaf(reference, i), literal_leaf(actual, i),
                       comparison->leaf_count, out);
        }
    }
}
