/* A journal: JSON objects, one a line, each on the disk before the next thing is done. What is in
 * it survives whatever ends the program. */
#ifndef CORPUS_JOURNAL_H
#define CORPUS_JOURNAL_H

#include <jansson.h>
#include <stdbool.h>

struct error;

struct journal {
    int file;     /* −1: closed */
    json_t *past; /* array of the objects that it held when it was opened */
};

/* Opens or makes it, for this process alone; what a dying writer left half written is cut off.
 * False with *err when another process has it open, when it is no journal, or when it cannot be
 * read or written. */
bool journal_open(const char *path, struct journal *journal, struct error *err);
/* Appends an object and waits until it is on the disk. For one thread at a time. */
bool journal_write(struct journal *journal, const json_t *object, struct error *err);
void journal_close(struct journal *journal);

#endif
