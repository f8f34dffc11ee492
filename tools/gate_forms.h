/* The forms in which a report of the gate is written, shared by `referee gate` and
 * `referee report`. */
#ifndef TOOLS_GATE_FORMS_H
#define TOOLS_GATE_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#include "corpus/gate_report.h"
#include "tools/options.h"

/* What is asked for; tools/gate_options.def has the options. */
struct gate_forms {
    struct string_list history; /* earlier JSON reports, and folders of them */
    const char *json, *junit, *html, *annotations, *baseline;
};

/* False, with a message, when an option's value is none. */
bool gate_forms_check(const struct gate_forms *forms);
/* Reads the baseline; an empty report if none is given. False, with a message, when it cannot be
 * read. */
bool gate_forms_baseline(const struct gate_forms *forms, struct gate_report *baseline);
/* Holds the report against the baseline, prints the counts, and writes the forms that are asked
 * for, as many as can be: false, with messages, when not all can. */
bool gate_forms_write(const struct gate_forms *forms, struct gate_report *report,
                      const struct gate_report *baseline);
/* The exit status of a gate whose report this is; ok: nothing kept it from being whole. */
int gate_forms_status(const struct gate_report *report, bool ok);
void gate_forms_finish(struct gate_forms *forms);

#endif
