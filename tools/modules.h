/* What every command does with files of modules: load all, say what could not be read, go on. */
#ifndef TOOLS_MODULES_H
#define TOOLS_MODULES_H

#include <jansson.h>
#include <stdbool.h>

#include "hlo/format.h"
#include "tools/options.h"

struct backend_flag;
struct error;
struct finding;
struct module;

/* Prints an error with place, source line and caret to stderr, after "referee: ". */
void print_error(const struct error *err);
/* Writes a report to a file, whole or not at all (- = stdout); says so on stderr if it cannot. */
bool write_json(const char *path, const json_t *report);
/* Limits the bytes of all values: to `given`, or if that is 0 to a share of the memory that is
 * available now, so that running out of it is an error with a name and not the end. A backend's
 * process needs about as much as the golden: MEMORY_BESIDE_BACKENDS. */
#define MEMORY_ALONE 0.8
#define MEMORY_BESIDE_BACKENDS 0.4
void set_memory_limit(size_t given, double share);
/* Gives the module's header other counts (0: leaves them), as if they were written there. */
void set_device_counts(struct module *module, int64_t replicas, int64_t partitions);
/* --option NAME=VALUE words as XLA flags of a backend; leading dashes and "=true" may be left out.
 * One flag a word; free with flags_free. */
struct backend_flag *flags_make(const struct string_list *words);
void flags_free(struct backend_flag *flags, size_t count);
/* Files from the command line; a folder stands for all files below it that end in .hlo, .txt, .pb,
 * .gz, .mlir, .mlirbc or .bc, sorted. False (with a message) when a path does not exist. */
bool expand_paths(const struct string_list *paths, struct string_list *files);
void free_paths(struct string_list *files);

#endif
