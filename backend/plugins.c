/* The table of plugins that can be fetched, and their places (plugins.h). */
#include "backend/plugins.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"

const struct plugin_row plugin_rows[] = {
#define PLUGIN(name, library, title) {#name, library, title},
#define PACKAGE(plugin, name, version, hash, bytes, licence, what)
#include "backend/plugins.def"
};
const int plugin_row_count = sizeof plugin_rows / sizeof *plugin_rows;

const struct plugin_package plugin_packages[] = {
#define PLUGIN(name, library, title)
#define PACKAGE(plugin, name, version, hash, bytes, licence, what) \
    {#plugin, name, version, hash, bytes, licence, what},
#include "backend/plugins.def"
};
const int plugin_package_count = sizeof plugin_packages / sizeof *plugin_packages;

const struct plugin_row *plugin_find(const char *name)
{
    for (int i = 0; i < plugin_row_count; i++) {
        if (strcmp(plugin_rows[i].name, name) == 0) {
            return &plugin_rows[i];
        }
    }
    return NULL;
}

/* The first package of a plugin is the plugin itself. */
static const char *version_of(const struct plugin_row *row)
{
    for (int i = 0; i < plugin_package_count; i++) {
        if (strcmp(plugin_packages[i].plugin, row->name) == 0) {
            return plugin_packages[i].version;
        }
    }
    return "";
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
    text_printf(&path, "/referee/plugins/%s-%s", row->name, version_of(row));
    char *folder = text_take(&path);
    text_finish(&path);
    return folder;
}

/* What the environment says of the plugin; NULL: nothing. */
static const char *asked_for(const struct plugin_row *row)
{
    struct text name;
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
        text_printf(&path, "%s/%s", folder, row->library);
        free(folder);
    }
    char *library = file_exists(path.data) ? text_take(&path) : NULL;
    text_finish(&path);
    return library;
}
