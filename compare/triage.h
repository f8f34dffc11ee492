/* Triage: what a failure is, so that hundreds of them become a few reports.
 *
 * A failure is bisected; what is left of it is made as small as a few runs can (its context: the
 * instructions above it that it needs, everything further away a parameter). The canonical form of
 * that, with the backend, the outcome and the kind of error, is the failure's key: failures of one
 * key are one group. Then the question of whose fault it is:
 *
 *   ill-conditioned  the golden's own result moves as far when its inputs move by one ulp
 *   open             it depends on what HLO leaves open (interp/choices.h)
 *   permitted        within what the profile allows; only the tolerance that was asked for is
 *                    tighter
 *   ours             the golden does not support it, contradicts itself or the file's own expected
 *                    results, or everybody else agrees with the backend
 *   backend          none of these */
#ifndef COMPARE_TRIAGE_H
#define COMPARE_TRIAGE_H

#include "compare/bisect.h"
#include "hlo/base/text.h"

enum triage_verdict {
    TRIAGE_PASS,
    TRIAGE_BACKEND,
    TRIAGE_ILL_CONDITIONED,
    TRIAGE_OPEN,
    TRIAGE_PERMITTED,
    TRIAGE_OURS,
    TRIAGE_VERDICTS
};
/* "backend's bug", "ill-conditioned" …; for JSON "backend", "ill-conditioned" … */
const char *triage_verdict_text(enum triage_verdict verdict);
const char *triage_verdict_name(enum triage_verdict verdict);

enum triage_confidence { TRIAGE_WEAK, TRIAGE_LIKELY, TRIAGE_STRONG };
const char *triage_confidence_text(enum triage_confidence confidence);

/* Runs after which a backend that gives another answer each time is known to do so. */
enum { FLAKY_RUNS = 3 };

struct triage_options {
    struct backend *backend, *reference;
    struct differential_options differential;
    const char *backend_name; /* in keys and sentences; NULL: its URI */
    double timeout;           /* of a run on the backend, to judge a hang by */
    /* The same with a shorter limit, for parts of what hangs; NULL: `backend`. */
    struct backend *hurried;
    double seconds;                 /* for evaluations of the golden with moved inputs; 0 = 10 */
    int samples;                    /* of them; 0 = 12 */
    bool (*stopped)(void *context); /* may be NULL */
    void (*on_progress)(void *context, const char *what);
    void *context;
};

/* Whose fault, and why. */
struct triage_judgement {
    enum triage_verdict verdict;
    enum triage_confidence confidence;
    char *reason;         /* one line */
    struct text evidence; /* further lines */
    double amplification; /* of a one-ulp change of the inputs; 0 = not measured */
};
void triage_judgement_finish(struct triage_judgement *judgement);

struct triage_finding {
    struct failure_signature signature; /* of the whole */
    char *message, *picture;            /* of the whole */
    /* What passes: why it is no failure although bits differ: "", "within the tolerance", "licence
     * flush", "open: …", "within the golden's own spread". */
    char *allowed;
    /* Where it is first wrong, where bisection found it: "while.3 (while) → iteration 4: subtract.7
     * (subtract)", the opcode and the element type; else "". */
    char *place;
    const char *opcode, *type;
    bool isolated;                           /* the instruction fails alone */
    struct failure_signature part_signature; /* of what is left */
    struct specimen part;                    /* module NULL where there is none */
    char *form;                              /* canonical, of what is left; "" if nothing */
    char *key; /* failures with the same key are one group; "" passes */
    struct triage_judgement judgement;
    int runs; /* on the backend */
};

/* Runs the specimen (without arguments: on those that options->differential.inputs draws) and looks
 * into its failure. False only when it was stopped on the way, with *err. */
bool triage_find(const struct specimen *specimen, const struct triage_options *options,
                 struct triage_finding *finding, struct error *err);
void triage_finding_finish(struct triage_finding *finding);

/* The key that a group has whose reduced module this is. */
char *triage_key(const char *backend, enum triage_verdict verdict,
                 const struct failure_signature *signature, const char *form);

/* --- a group, by its reduced module --- */

/* Another opinion on the same modules. */
struct triage_opinion {
    const char *name;
    struct backend *backend;
};

/* Judges what is left of a failure (reduced or not): the rule that the difference breaks, the
 * golden against itself, other backends. Refines *judgement (initialised; its verdict and evidence
 * are those so far): the evidence grows, the verdict may become `ours`, the confidence changes. */
void triage_judge(const struct specimen *specimen, const struct triage_options *options,
                  const struct triage_opinion *opinions, int opinion_count,
                  struct triage_judgement *judgement);

/* The golden evaluated in its different ways: fused and step by step, with values kept and without,
 * and where nothing rounds as written; the same bits wherever HLO leaves none open. False with what
 * differs in *what (appended). */
bool triage_golden_is_consistent(const struct specimen *specimen, struct text *what);

#endif
