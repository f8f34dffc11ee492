/* Verifier: everything XLA's HloVerifier (layout-insensitive, mixed precision allowed) and its
 * parser refuse. Source: xla/service/hlo_verifier.cc. */
#ifndef HLO_VERIFY_H
#define HLO_VERIFY_H

#include "hlo/module.h"

struct finding {
    const struct instruction *instruction; /* or NULL: the module's header or a computation */
    struct where where;
    char *text;
};
struct findings {
    int count;
    struct finding *list;
};

/* Collects all findings; true when there are none. */
bool verify_module(const struct module *module, struct findings *findings);
void findings_finish(struct findings *findings);

#endif
