/* Cases: what the "//@" lines before a module say.
 *
 *   //@ case NAME
 *   //@ arg SHAPE LITERAL        one line per entry parameter, in order
 *   //@ expect SHAPE LITERAL     one line per output leaf, in order
 *                                (arg and expect, on several devices: for all, or one per device)
 *   //@ compare bits             bit-equal but for NaN payloads (the default)
 *   //@ compare ulp N            within N units in the last place
 *   //@ compare abs X            within X
 *   //@ note TEXT, //@ inputs TEXT   for people
 *
 * They are comments to XLA's parser. Any other key is an error with its line. */
#ifndef CORPUS_CASE_H
#define CORPUS_CASE_H

#include <stdbool.h>

struct error;
struct literal;

struct case_header {
    char *name; /* "" if there is none */
    int argument_count, expected_count;
    struct literal **arguments, **expected;
    double ulps, abs; /* `compare`; both 0: bits */
};

/* Reads the header lines (loaded_module.header); `file` stands in messages. */
bool case_header_read(const char *header, const char *file, struct case_header *result,
                      struct error *err);
void case_header_finish(struct case_header *header);

/* Compares a result (a literal or tuple) with the expected leaves; the picture of what differs is
 * appended. True when all agree. A different number of leaves is a difference. */
struct text;
bool case_header_check(const struct case_header *header, const struct literal *result,
                       struct text *picture);
/* The same for the results of several devices: as many expected leaves as one has are those of
 * each, otherwise they are those of all in order. */
bool case_header_check_devices(const struct case_header *header, struct literal *const *results,
                               int count, struct text *picture);

#endif
