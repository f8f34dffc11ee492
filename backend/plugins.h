/* The plugins that can be fetched (plugins.def), and where they are. */
#ifndef BACKEND_PLUGINS_H
#define BACKEND_PLUGINS_H

#include <stddef.h>

struct plugin_row {
    const char *name;    /* "cuda", the scheme without its colon */
    const char *library; /* path in the folder of the plugin */
    const char *title;
};
extern const struct plugin_row plugin_rows[];
extern const int plugin_row_count;

struct plugin_package {
    const char *plugin;                /* the name of its row */
    const char *name, *version, *hash; /* the SHA-256 of the wheel, in hexadecimal */
    size_t bytes;                      /* of the wheel */
    const char *licence, *what;
};
extern const struct plugin_package plugin_packages[];
extern const int plugin_package_count;

/* NULL when there is no such row. */
const struct plugin_row *plugin_find(const char *name);
/* The folder that the plugin is unpacked into, there or not: NAME-VERSION in the cache,
 * $XDG_CACHE_HOME or ~/.cache, /referee/plugins. free() it. */
char *plugin_folder(const struct plugin_row *row);
/* The library: what REFEREE_<NAME>_PLUGIN says, or that of the folder; NULL when there is no such
 * file. free() it. */
char *plugin_library(const struct plugin_row *row);

#endif
