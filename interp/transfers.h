/* What is on its way between devices. Private to the evaluator. */
#ifndef INTERP_TRANSFERS_H
#define INTERP_TRANSFERS_H

struct transfers;

/* One for all devices of a run: whoever holds the baton works with it. */
struct transfers *transfers_create(void);
void transfers_destroy(struct transfers *transfers); /* NULL is allowed */

#endif
