/* referee show coverage (show_coverage.c). */
#ifndef TOOLS_SHOW_COVERAGE_H
#define TOOLS_SHOW_COVERAGE_H

/* Tries every sample module and prints the table in Markdown on stdout; what is refused without a
 * known reason goes to stderr and makes the exit status 1. folder: where to write the modules, one
 * file each, sorted by what became of them; or NULL. */
int show_coverage(const char *folder);

#endif
