/* Does a difference depend on what HLO leaves open (interp/choices.h)?
 *
 * The golden marks elements that HLO leaves open, and such elements accuse nobody. Marks do not
 * follow everything: the sign of a NaN that is looked at as bits, the sign of a zero from min or
 * max that is divided by, a loop that runs as often as an open number says. So the golden is
 * evaluated again with the other choice wherever one was made; if that is the backend's answer, or
 * if each element that differs changes with the choice, the choice is the cause. */
#ifndef COMPARE_OPEN_CHOICES_H
#define COMPARE_OPEN_CHOICES_H

#include "compare/differential.h"

struct open_choices {
    /* Elements that are marked as open, and of them those in which the backend has other bits. */
    int64_t open, open_differing;
    /* Each element of the backend's answer is within the bounds of the golden's, or of the golden's
     * with another choice; or changes with a choice that has more answers than were tried. */
    bool explains, depends;
    /* Which choice, and where it is made: "the sign of zero from min or max: maximum.3 (maximum)";
     * "" when no choice was made that matters. Where elements are open, who opened them. */
    char *choice;
    const char *kind; /* the same without the place, for groups; never freed */
};

/* `result` is of a run in which results were compared. False with *err when the golden cannot be
 * evaluated again (or its values are too large to be kept). */
bool open_choices_find(const struct module *module, const struct differential_result *result,
                       struct open_choices *choices, struct error *err);
void open_choices_finish(struct open_choices *choices);

#endif
