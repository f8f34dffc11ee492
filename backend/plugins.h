/* What can be fetched, and where it is: the plugins of the schemes (plugins.def), and releases of
 * XLA's CPU compiler over the years (releases.def). */
#ifndef BACKEND_PLUGINS_H
#define BACKEND_PLUGINS_H

#include <stddef.h>

struct plugin_row {
    const char *name;    /* "cuda", "jaxlib:0.4.30": what `referee fetch` is told */
    const char *library; /* for plugin_file; NULL: that of the plugin */
    const char *title;
    const char *scheme;        /* "cuda", "jaxlib" */
    const char *version;       /* of a release; NULL: that of the first package */
    const char *date;          /* of a release, YYYY-MM-DD; else NULL */
    int libraries[2];          /* of a release, for plugin_package */
    const char *packages_name; /* whose packages are its own: `name`, or the plugin's if pinned */
};
/* One a scheme. */
extern const struct plugin_row plugin_rows[];
extern const int plugin_row_count;
/* Releases, the oldest first. */
extern const struct plugin_row plugin_releases[];
extern const int plugin_release_count;

struct plugin_package {
    const char *plugin;                /* the name of its row */
    const char *name, *version, *hash; /* the SHA-256 of the wheel, in hexadecimal */
    size_t bytes;                      /* of the wheel */
    const char *licence, *what;
};
/* The n-th package of a row, from 0; NULL after the last. */
const struct plugin_package *plugin_package(const struct plugin_row *row, int number);

/* A plugin or a release by its name; "jaxlib", which is no plugin, is its newest release. NULL when
 * there is no such row. */
const struct plugin_row *plugin_find(const char *name);
/* The release of a scheme; an empty version is the newest. NULL when there is none. */
const struct plugin_row *plugin_find_release(const char *scheme, const char *version);
/* "0.4.30" */
const char *plugin_version(const struct plugin_row *row);
/* The file in its folder without which it is not whole. */
const char *plugin_file(const struct plugin_row *row);
/* The folder that the plugin is unpacked into, there or not: SCHEME-VERSION in the cache,
 * $XDG_CACHE_HOME or ~/.cache, /referee/plugins. free() it. */
char *plugin_folder(const struct plugin_row *row);
/* The library: what REFEREE_<NAME>_PLUGIN says (of a plugin), or that of the folder; NULL when
 * there is no such file. free() it. */
char *plugin_library(const struct plugin_row *row);

#endif
