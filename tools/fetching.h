/* Gets plugins and releases into the cache folder: what `fetch` and `bisect --versions` share. */
#ifndef TOOLS_FETCHING_H
#define TOOLS_FETCHING_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct plugin_row;
struct text;

/* Of all its packages, as they are downloaded. */
size_t fetch_bytes(const struct plugin_row *row);
/* "jaxlib 0.4.30 of 2024-06-18" */
void fetch_title(const struct plugin_row *row, struct text *out);
bool fetch_is_there(const struct plugin_row *row);
/* Prints what is about to be fetched, how large and under which licence: before anything is. */
void fetch_announce(const struct plugin_row *row);
/* Fetches and unpacks it, whole or not at all; pip's words go to standard error. */
bool fetch_row(const struct plugin_row *row, struct error *err);

#endif
