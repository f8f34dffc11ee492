/* Custom calls: the table of targets that the golden knows, what each means and where that is
 * written. The rows are custom_calls.def; docs/custom-calls.md is made from them.
 *
 * Rows are patterns: '?' stands for one of s, d, c, z (LAPACK's letter of a type), '%' for cu or
 * hip, a trailing '*' for anything. The first row that matches counts. */
#ifndef INTERP_CUSTOM_CALL_H
#define INTERP_CUSTOM_CALL_H

#include <stdbool.h>

struct text;

struct custom_call_info {
    const char *target; /* the pattern */
    bool evaluated;     /* false: refused by name */
    const char *text;   /* what it means, or why it is refused */
    const char *source; /* where that is written */
};

extern const int custom_call_count;
struct custom_call_info custom_call_info(int row);

/* Why the golden cannot evaluate calls of this target, or NULL when it can. */
const char *custom_call_refusal(const char *target);
/* Whether eval_custom_call can evaluate calls of this target. */
bool custom_call_is_known(const char *target);

/* The two tables in Markdown (`referee show custom-calls`). */
void custom_call_explain(struct text *out);

#endif
