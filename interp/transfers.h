/* What is on its way between devices. Private to the evaluator. */
#ifndef INTERP_TRANSFERS_H
#define INTERP_TRANSFERS_H

struct error;
struct evaluation;
struct instruction;
struct literal;
struct module;
struct transfers;

/* One for all devices of a run: whoever holds the baton works with it. It must hear of the modules
 * that they evaluate. */
struct transfers *transfers_create(void);
void transfers_add_module(struct transfers *transfers, const struct module *module);
void transfers_destroy(struct transfers *transfers); /* NULL is allowed */

/* The value of an async-done with what its computation's recvs announced in it: an async-done is
 * the done of the sends and recvs of a group too. Takes the value, which may be NULL. */
struct literal *transfers_settle(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct literal *value_take,
                                 struct error *err);

#endif
