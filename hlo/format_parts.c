/* Files of several modules: pieces between "// -----" lines, and the list that loading fills. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/format_internal.h"

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The line at `at`, without blanks before and after; *next is where the next one begins. */
static struct part line_at(const char *at, const char *end, const char **next)
{
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    *next = stop != NULL ? stop + 1 : end;
    stop = stop != NULL ? stop : end;
    while (at < stop && is_blank(*at)) {
        at++;
    }
    while (stop > at && is_blank(stop[-1])) {
        stop--;
    }
    return (struct part){at, (size_t)(stop - at), 0};
}

static bool starts_with(struct part line, const char *prefix)
{
    size_t size = strlen(prefix);
    return line.size >= size && memcmp(line.text, prefix, size) == 0;
}

/* Nothing but blanks and comments to the end of the line? */
static bool is_empty(struct part part)
{
    const char *end = part.text + part.size;
    for (const char *at = part.text; at < end;) {
        struct part line = line_at(at, end, &at);
        if (line.size > 0 && !starts_with(line, "//")) {
            return false;
        }
    }
    return true;
}

struct part *parts_split(const char *text, size_t size, int *count, int *separators)
{
    struct part *parts = NULL;
    size_t capacity = 0;
    const char *end = text + size, *begin = text;
    int line_number = 1, first_line = 1;
    *count = *separators = 0;
    for (const char *at = text; at < end || begin < end;) {
        const char *next = end;
        bool is_separator = false;
        if (at < end) {
            is_separator = starts_with(line_at(at, end, &next), "// -----");
        }
        if (is_separator || at == end) {
            struct part part = {begin, (size_t)(at - begin), first_line};
            if (!is_empty(part)) {
                parts = grow(parts, (size_t)*count, &capacity, sizeof *parts);
                parts[(*count)++] = part;
            }
            begin = next;
            first_line = line_number + 1;
            *separators += is_separator;
        }
        at = next;
        line_number++;
    }
    return parts;
}

char *part_header(struct part part)
{
    struct text header;
    text_init(&header);
    const char *end = part.text + part.size;
    for (const char *at = part.text; at < end;) {
        struct part line = line_at(at, end, &at);
        if (line.size > 0 && !starts_with(line, "//")) {
            break;
        }
        if (starts_with(line, "//@")) {
            text_append_n(&header, line.text, line.size);
            text_char(&header, '\n');
        }
    }
    char *taken = text_take(&header);
    text_finish(&header);
    return taken;
}

struct loaded_module *file_add_module(struct loaded_file *file, struct module *module,
                                      const struct error *err, const char *name, char *header)
{
    file->modules =
        memory_realloc(file->modules, (size_t)(file->count + 1) * sizeof *file->modules);
    struct loaded_module *loaded = &file->modules[file->count++];
    *loaded = (struct loaded_module){.module = module, .header = header};
    loaded->name = memory_strdup(name);
    loaded->warnings = memory_strdup("");
    if (module == NULL) {
        loaded->error = memory_alloc(sizeof *loaded->error);
        *loaded->error = *err;
    }
    return loaded;
}
