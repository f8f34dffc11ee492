/* Command line options: a table a command, from which parsing, help and error messages come. */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,    /* bool: --name, --no-name, --name=true|false */
    OPTION_INT,     /* int64_t */
    OPTION_SECONDS, /* double, > 0; "90", "1.5", "2m", "1h" */
    OPTION_REAL,    /* double */
    OPTION_SIZE,    /* size_t bytes; "20G", "512M" */
    OPTION_TEXT,    /* const char * */
    OPTION_LIST,    /* struct string_list: may be given many times, and takes several values */
    OPTION_IGNORED, /* accepted with any value, without effect */
};

struct string_list {
    const char **items;
    size_t count, capacity;
};
void string_list_add(struct string_list *list, const char *item);
void string_list_finish(struct string_list *list);

struct option {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* short form, 0 = none */
    enum option_kind kind;
    void *value;
    const char *argument; /* name of the argument in help, NULL for flags */
    const char *help;
};

struct option_table {
    const struct option *options;
    /* Accepts "--name[=value]" that is not in the table; true if it took it. May be NULL. */
    bool (*other)(void *context, const char *name, const char *value);
    void *context;
};

/* Reads argv[1..]: options anywhere, "--" ends them. What is no option goes to `positional`. A
 * wrong option prints a message with the nearest known name to stderr and returns false. */
bool options_parse(const struct option_table *table, int argc, char **argv,
                   struct string_list *positional);
/* Prints the options of the table, wrapped, to stdout. */
void options_help(const struct option *options);

#endif
