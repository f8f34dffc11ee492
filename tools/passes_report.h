/* What `referee passes` says: lines for people, JSON for programs, a page, a bug report. */
#ifndef TOOLS_PASSES_REPORT_H
#define TOOLS_PASSES_REPORT_H

#include <jansson.h>

#include "compare/passes.h"
#include "hlo/base/text.h"
#include "tools/passes_steps.h"

/* The walk of one dumped module. All borrowed; "" where there is nothing to say. */
struct passes_entry {
    const char *origin; /* the dump folder, or the file that was compiled */
    const char *module; /* its name in the dump */
    int64_t id;
    const char *backend, *target; /* that compiled it; "" of a dump folder */
    const char *plugin;           /* what the backend says of itself, as JSON */
    const char *flags;            /* XLA flags and their sources, one a line */
    const char *inputs;           /* where the arguments came from */
    const char *profile;          /* name */
    const char *command;          /* that repeats the walk */
    uint64_t seed;
    int seeds;
    const struct passes_steps *steps;
    int first, last;      /* positions of the walk's first and last module */
    enum outcome compile; /* PASS of a dump folder */
    const char *compile_message;
    /* Of the first bad pass: what fits a report, and all of it. */
    const char *diff, *whole_diff;
};

/* How many passes ended how. */
struct passes_counts {
    int passes, rounded; /* rounded: PASS, but not bit for bit */
    int outcomes[OUTCOME_COUNT];
};
void passes_count(const struct passes_result *result, struct passes_counts *counts);

/* "module_0001.jit_f: 37 of 129 passes, …" */
void passes_report_head(const struct passes_entry *entry, struct text *out);
/* The line of one pass. */
void passes_report_step(const struct passes_entry *entry, const struct pass_verdict *verdict,
                        bool verbose, struct text *out);
/* The first bad pass; nothing if there is none. */
void passes_report_finding(const struct passes_entry *entry, const struct passes_result *result,
                           struct text *out);
/* Notes, what became of the compile, and the closing line. */
void passes_report_end(const struct passes_entry *entry, const struct passes_result *result,
                       bool verbose, struct text *out);
json_t *passes_report_json(const struct passes_entry *entry, const struct passes_result *result);

/* What stands where a walk could not begin. */
void passes_report_failed_text(const struct passes_entry *entry, const char *outcome,
                               const char *problem, struct text *out);
json_t *passes_report_failed_json(const struct passes_entry *entry, const char *outcome,
                                  const char *problem);

/* --- shared by the forms --- */

/* The worst that can be said of a verdict: "ok", "allowed", "MISMATCH", "leak", "UNSUPPORTED" … */
const char *passes_word(const struct pass_verdict *verdict);
/* "bits", "2.5 ulp, 0.03 of the tolerance" */
void passes_distance(const struct pass_distance *distance, struct text *out);
/* Why a verdict is what it is: the rule that allows it, or the message. */
void passes_reason(const struct pass_verdict *verdict, struct text *out);
/* "with the old values of these instructions the outputs are right": what culprits are. */
const char *passes_culprits_text(const struct pass_finding *finding);
/* "algsimp (pipeline simplification, 37 of 129)" */
void passes_place(const struct passes_entry *entry, int step, struct text *out);
/* Where a compile ended that did not end well: the last module dumped, and the pass after it. */
void passes_compile_end(const struct passes_entry *entry, struct text *out);
/* The closing line, without its end. */
void passes_summary(const struct passes_entry *entry, const struct passes_result *result,
                    struct text *out);

/* --- passes_html.c: a page without anything from elsewhere --- */
void passes_html_begin(const char *title, struct text *out);
void passes_html_module(const struct passes_entry *entry, const struct passes_result *result,
                        struct text *out);
void passes_html_failed(const struct passes_entry *entry, const char *outcome, const char *problem,
                        struct text *out);
void passes_html_end(struct text *out);

/* --- passes_bug_report.c --- */

/* Writes what a maintainer needs to see the first bad pass: a folder (path ends in '/', or is one)
 * with report.md, the modules before and after the pass, the inputs and the diff; or one Markdown
 * file. False with *err when it cannot be written. */
bool passes_bug_report(const char *path, const struct passes_entry *entry,
                       const struct passes_result *result, const struct passes_options *options,
                       struct error *err);

#endif
