/* What the host gives to infeeds and takes from outfeeds: --infeed and --outfeed of `referee eval`.
 *
 * Infeed files are .npy, LiteralProto, text, or RunHloModuleLiterals, whose arguments count one by
 * one. Every device reads all of them from the first on; of a RunHloModuleLiterals file with as
 * many sets as there are devices, device i reads set i. An infeed of a tuple takes one literal a
 * leaf, or one tuple. */
#ifndef TOOLS_FEEDS_H
#define TOOLS_FEEDS_H

#include <stdbool.h>

#include "tools/options.h"

struct error;
struct literal;
struct shape;
struct feeds;

/* Never NULL; files are read when they are wanted, and must outlive the feeds. */
struct feeds *feeds_create(const struct string_list *infeeds, int devices);
/* Begins again: nothing read, nothing sent. */
void feeds_rewind(struct feeds *feeds);
/* The hooks of interp.h, with the feeds as the context. */
struct literal *feeds_infeed(struct feeds *feeds, int device, const struct shape *shape,
                             struct error *err);
void feeds_outfeed(struct feeds *feeds, int device, const struct literal *value);
/* Writes what was sent, a set of literals for each device (RunHloModuleLiterals). */
bool feeds_save(const struct feeds *feeds, const char *path, struct error *err);
void feeds_destroy(struct feeds *feeds); /* NULL is allowed */

#endif
