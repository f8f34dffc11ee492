/* The tables of what can be fetched, and their places (plugins.h). */
#include "backend/plugins.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"

const struct plugin_row plugin_rows[] = {
#define PLUGIN(name, library, title) {#name, library, title, #name, NULL, NULL, {0}, #name},
#define PACKAGE(plugin, name, version, hash, bytes, licence, what)
#include "backend/plugins.def"
};
const int plugin_row_count = sizeof plugin_rows / sizeof *plugin_rows;

enum library {
    LIBRARY_none,
#define LIBRARY(id, name, version, hash, bytes, licence, what) LIBRARY_##id,
#define RELEASE(scheme, version, date, package, hash, bytes, file, first, second)
#define PINNED(scheme, version, date)
#include "backend/releases.def"
};

const struct plugin_row plugin_releases[] = {
#define TITLE_cpu "XLA's CPU plugin"
#define TITLE_jaxlib "jaxlib"
#define LIBRARY(id, name, version, hash, bytes, licence, what)
#define RELEASE(scheme, version, date, package, hash, bytes, file, first, second) \
    {#scheme ":" version,                                                         \
     file,                                                                        \
     TITLE_##scheme,                                                              \
     #scheme,                                                                     \
     version,                                                                     \
     date,                                                                        \
     {LIBRARY_##first, LIBRARY_##second},                                         \
     #scheme ":" version},
#define PINNED(scheme, version, date) \
    {#scheme ":" version, NULL, TITLE_##scheme, #scheme, version, date, {0}, #scheme},
#include "backend/releases.def"
#undef TITLE_cpu
#undef TITLE_jaxlib
};
const int plugin_release_count = sizeof plugin_releases / sizeof *plugin_releases;

static const struct plugin_package packages[] = {
#define PLUGIN(name, library, title)
#define PACKAGE(plugin, name, version, hash, bytes, licence, what) \
    {#plugin, name, version, hash, bytes, licence, what},
#include "backend/plugins.def"
#define LIBRARY(id, name, version, hash, bytes, licence, what)
#define RELEASE(scheme, version, date, package, hash, bytes, file, first, second) \
    {#scheme ":" version, package, version, hash, bytes, "Apache-2.0", "the compiler"},
#define PINNED(scheme, version, date)
#include "backend/releases.def"
};

static const struct plugin_package libraries[] = {
    [LIBRARY_none] = {0},
#define LIBRARY(id, name, version, hash, bytes, licence, what) \
    [LIBRARY_##id] = {"", name, version, hash, bytes, licence, what},
#define RELEASE(scheme, version, date, package, hash, bytes, file, first, second)
#define PINNED(scheme, version, date)
#include "backend/releases.def"
};

const struct plugin_package *plugin_package(const struct plugin_row *row, int number)
{
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        if (strcmp(packages[i].plugin, row->packages_name) == 0 && number-- == 0) {
            return &packages[i];
        }
    }
    for (size_t i = 0; i < sizeof row->libraries / sizeof *row->libraries; i++) {
        if (row->libraries[i] != LIBRARY_none && number-- == 0) {
            return &libraries[row->libraries[i]];
        }
    }
    return NULL;
}

const struct plugin_row *plugin_find_release(const char *scheme, const char *version)
{
    for (int i = plugin_release_count - 1; i >= 0; i--) {
        const struct plugin_row *row = &plugin_releases[i];
        if (strcmp(row->scheme, scheme) == 0 &&
            (*version == '\0' || strcmp(row->version, version) == 0)) {
            return row;
        }
    }
    return NULL;
}

static const struct plugin_row *find_plugin(const char *name)
{
    for (int i = 0; i < plugin_row_count; i++) {
        if (strcmp(plugin_rows[i].name, name) == 0) {
            return &plugin_rows[i];
        }
    }
    return NULL;
}

const struct plugin_row *plugin_find(const char *name)
{
    const struct plugin_row *row = find_plugin(name);
    for (int i = 0; row == NULL && i < plugin_release_count; i++) {
        row = strcmp(plugin_releases[i].name, name) == 0 ? &plugin_releases[i] : NULL;
    }
    return row != NULL ? row : plugin_find_release(name, "");
}

const char *plugin_version(const struct plugin_row *row)
{
    return row->version != NULL ? row->version : plugin_package(row, 0)->version;
}

const char *plugin_file(const struct plugin_row *row)
{
    return row->library != NULL ? row->library : find_plugin(row->scheme)->library;
}

char *plugin_folder(const struct plugin_row *row)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct text path;
    text_init(&path);
    if (cache != NULL && *cache != '\0') {
        text_append(&path, cache);
    } else {
        text_printf(&path, "%s/.cache", home != NULL ? home : "");
    }
    text_printf(&path, "/referee/plugins/%s-%s", row->scheme, plugin_version(row));
    char *folder = text_take(&path);
    text_finish(&path);
    return folder;
}

/* What the environment says of the plugin; NULL: nothing. */
static const char *asked_for(const struct plugin_row *row)
{
    struct text name;
    if (row->date != NULL) {
        return NULL; /* a release is what it is */
    }
    text_init(&name);
    text_append(&name, "REFEREE_");
    for (const char *c = row->name; *c != '\0'; c++) {
        text_char(&name, (char)toupper((unsigned char)*c));
    }
    text_append(&name, "_PLUGIN");
    const char *asked = getenv(name.data);
    text_finish(&name);
    return asked != NULL && *asked != '\0' ? asked : NULL;
}

char *plugin_library(const struct plugin_row *row)
{
    struct text path;
    const char *asked = asked_for(row);
    text_init(&path);
    if (asked != NULL) {
        text_append(&path, asked);
    } else {
        char *folder = plugin_folder(row);
        text_printf(&path, "%s/%s", folder, plugin_file(row));
        free(folder);
    }
    char *library = file_exists(path.data) ? text_take(&path) : NULL;
    text_finish(&path);
    return library;
}
