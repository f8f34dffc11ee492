/* What the parts of a differential run share. */
#ifndef COMPARE_DIFFERENTIAL_INTERNAL_H
#define COMPARE_DIFFERENTIAL_INTERNAL_H

#include "compare/differential.h"
#include "compare/factorization.h"
#include "hlo/base/text.h"

struct backend;
struct module;
struct profile;

struct differential_run {
    const struct module *module;
    struct backend *backend, *reference;
    const struct differential_options *options;
    const struct profile *profile;
    struct differential_result *result;
    struct text notes, tolerance;
    int devices;
    int leaves;                                 /* of one device's result */
    enum factorization_verdict *factorizations; /* [devices * leaves] */
};

/* Adds a line to the notes. */
void differential_note(struct differential_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void differential_conclude(struct differential_run *run, enum outcome outcome, const char *message);

/* --- differential_judge.c --- */

/* Compares the results of all devices: fills in what the result says of them, and concludes unless
 * all is well. */
void differential_judge_devices(struct differential_run *run);

#endif
