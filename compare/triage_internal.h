/* Shared by the parts of triage. Private to compare/triage*.c. */
#ifndef COMPARE_TRIAGE_INTERNAL_H
#define COMPARE_TRIAGE_INTERNAL_H

#include "compare/triage.h"

const char *triage_backend_name(const struct triage_options *options);
/* The specimen on the backend and the golden. */
void triage_run(const struct triage_options *options, const struct specimen *specimen,
                struct differential_result *result);

/* Makes an instruction of the entry that is wrong alone, on the golden's operands, what is left of
 * the failure. False when it is not wrong now. */
bool triage_take_alone(const struct specimen *specimen, const struct triage_options *options,
                       const struct instruction *instruction, struct triage_finding *finding);
/* Sets verdict, confidence and reason. */
void triage_set(struct triage_judgement *judgement, enum triage_verdict verdict,
                enum triage_confidence confidence, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Does no instruction round? Then there is one right answer. */
bool triage_nothing_rounds(const struct module *module);

/* What can be said of the whole, without looking for a place: what is ours by name, permitted,
 * depends on open semantics, is ill-conditioned. `result` is of the run. True when that settles it.
 */
bool triage_judge_whole(const struct specimen *specimen, const struct triage_options *options,
                        const struct differential_result *result, struct triage_finding *finding);
/* The rest, with what is left of the failure (if anything). */
void triage_judge_part(const struct specimen *specimen, const struct triage_options *options,
                       const struct differential_result *result, struct triage_finding *finding);

#endif
