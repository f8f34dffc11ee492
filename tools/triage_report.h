/* What `referee triage` says: a table of groups for people, JSON for programs, a page. */
#ifndef TOOLS_TRIAGE_REPORT_H
#define TOOLS_TRIAGE_REPORT_H

#include "tools/triage_job.h"

/* The summary and the groups; `verbose` names all members. */
void triage_report_text(const struct triage_items *items, const struct triage_settings *settings,
                        const struct triage_results *results, bool verbose, struct text *out);
/* A new object:
 *   {"format": "referee-triage", "version": 1, "backends": [URIs], "passing", "failing",
 *    "left", "left_of_reports", "seconds", "groups_before_joining", "passes": {why: count},
 *    "groups": [{"number", "count", "key", "verdict", "confidence", "reason", "evidence",
 *                "signature", "forms", "reduced": {"file", "instructions", "elements", "text", …},
 *                "members": [{"id", "module", "seed", "place"}], "next"}, …],
 *    "modules": [records, see triage_job.h]} */
json_t *triage_report_json(const struct triage_items *items, const struct triage_settings *settings,
                           const struct triage_results *results);
/* One page of HTML that needs nothing else: the groups as a table, then each with its evidence, its
 * reduced module and its members. */
void triage_report_page(const struct triage_results *results, struct text *out);
/* What both say of a group: its reduced module, or its first member; the words for its verdict; the
 * command to go on with (appended). */
const json_t *triage_speaker(const struct triage_group *group);
const char *triage_verdict_words(const char *name);
void triage_print_next(const struct triage_group *group, struct text *out);

#endif
