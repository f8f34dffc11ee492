/* Shardy's marks in HLO (shardy.h). Its shardings are written almost as the named ones of HLO:
 * <@mesh, [{"a", ?}, {"b":(1)2}], replicated={"c"}> is {mesh["a"=2,…], [{"a",?}, …], …}. */
#include "hlo/shardy.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/sharding.h"

static bool is_mark(const char *text)
{
    return strncmp(text, "xla.sdy.", strlen("xla.sdy.")) == 0;
}

static bool has_mark(const struct string_map *map)
{
    for (int i = 0; i < map->count; i++) {
        if (is_mark(map->entries[i].key.data)) {
            return true;
        }
    }
    return false;
}

static bool is_marked(const struct instruction *instruction)
{
    const struct attr *marks = attr_get(instruction, ATTR_FRONTEND_ATTRIBUTES);
    return (marks != NULL && has_mark(&marks->string_map)) ||
           (instruction->opcode == OP_CUSTOM_CALL &&
            is_mark(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET)));
}

bool module_uses_shardy(const struct module *module)
{
    bool uses = has_mark(&module->config.frontend_attributes);
    for (int c = 0; !uses && c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; !uses && i < computation->count; i++) {
            uses = is_marked(computation->instructions[i]);
        }
    }
    return uses;
}

/* --- meshes --- */

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '$';
}

/* "<["a"=2, "b"=2], device_ids=[1, 0]>" at `at` as HLO has it: mesh["a"=2, …], device_ids=(…).
 * The end, or NULL. */
static const char *print_mesh(const char *at, struct text *out)
{
    const char *axes = *at == '<' ? at + 1 : NULL;
    const char *axes_end = axes != NULL && *axes == '[' ? strchr(axes, ']') : NULL;
    const char *end = axes_end != NULL ? strchr(axes_end, '>') : NULL;
    if (end == NULL) {
        return NULL;
    }
    static const char ids[] = "device_ids=[";
    const char *list = strstr(axes_end, ids);
    const char *list_end = list != NULL && list < end ? strchr(list, ']') : NULL;
    bool maximal = axes_end == axes + 1 && list_end != NULL && list_end < end;
    if (maximal) {
        list += strlen(ids);
        text_printf(out, "maximal_mesh[device_id=%.*s]", (int)(list_end - list), list);
        return end + 1;
    }
    text_printf(out, "mesh%.*s]", (int)(axes_end - axes), axes);
    if (list_end != NULL && list_end < end) {
        list += strlen(ids);
        text_printf(out, ", device_ids=(%.*s)", (int)(list_end - list), list);
    }
    return end + 1;
}

/* The mesh @name of the header: xla.sdy.meshes={name = #sdy.mesh<…>, …}. */
static bool find_mesh(const struct module *module, const char *name, size_t size, struct text *out)
{
    const struct string_map *map = &module->config.frontend_attributes;
    static const char sign[] = "#sdy.mesh";
    for (int i = 0; i < map->count; i++) {
        if (strcmp(map->entries[i].key.data, "xla.sdy.meshes") != 0) {
            continue;
        }
        const char *text = map->entries[i].value.data;
        for (const char *at = text; (at = strstr(at, sign)) != NULL; at += strlen(sign)) {
            const char *end = at;
            while (end > text && (end[-1] == ' ' || end[-1] == '=')) {
                end--;
            }
            const char *begin = end;
            while (begin > text && is_name(begin[-1])) {
                begin--;
            }
            if ((size_t)(end - begin) == size && strncmp(begin, name, size) == 0) {
                return print_mesh(at + strlen(sign), out) != NULL;
            }
        }
    }
    return false;
}

/* --- shardings --- */

/* After the mesh: everything up to the '>' that closes it, strings aside. */
static const char *sharding_end(const char *at)
{
    bool quoted = false;
    for (; *at != '\0' && (quoted || *at != '>'); at++) {
        quoted ^= *at == '"';
    }
    return *at == '>' ? at : NULL;
}

/* One sharding at '<', as HLO writes it. The end, or NULL with *err. */
static const char *print_sharding_at(const struct module *module, const char *at, struct text *out,
                                     struct error *err)
{
    const char *begin = at++;
    text_char(out, '{');
    if (*at == '@') {
        const char *name = ++at;
        while (is_name(*at)) {
            at++;
        }
        if (!find_mesh(module, name, (size_t)(at - name), out)) {
            error_set(err, ERROR_INVALID_ARGUMENT, "the module has no Shardy mesh @%.*s",
                      (int)(at - name), name);
            return NULL;
        }
    } else if (strncmp(at, "mesh", 4) == 0) {
        at = print_mesh(at + 4, out);
    }
    const char *end = at != NULL ? sharding_end(at) : NULL;
    if (end == NULL) {
        error_set(err, ERROR_INVALID_ARGUMENT, "no Shardy sharding: %.80s", begin);
        return NULL;
    }
    text_printf(out, "%.*s}", (int)(end - at), at);
    return end + 1;
}

static bool add_sharding(const char *text, struct shardy_shardings *shardings, struct error *err)
{
    size_t count = (size_t)shardings->count + 1;
    shardings->list = memory_realloc(shardings->list, count * sizeof *shardings->list);
    shardings->holders = memory_realloc(shardings->holders, count * sizeof *shardings->holders);
    const struct sharding *sharding;
    struct module *holder = sharding_read(text, &sharding, err);
    if (holder == NULL) {
        return false;
    }
    if (sharding->form != SHARDING_NAMED) {
        module_destroy(holder);
        return error_set(err, ERROR_INVALID_ARGUMENT, "no Shardy sharding: %s", text);
    }
    shardings->list[shardings->count] = sharding;
    shardings->holders[shardings->count++] = holder;
    return true;
}

bool shardy_read(const struct module *module, const char *text, struct shardy_shardings *shardings,
                 struct error *err)
{
    static const char single[] = "#sdy.sharding<", many[] = "#sdy.sharding_per_value<[";
    *shardings = (struct shardy_shardings){0};
    bool is_many = strncmp(text, many, strlen(many)) == 0;
    if (!is_many && strncmp(text, single, strlen(single)) != 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "no Shardy shardings: %.80s", text);
    }
    const char *at = text + (is_many ? strlen(many) : strlen(single) - 1);
    struct text printed;
    text_init(&printed);
    bool good = true;
    while (good && *at == '<') {
        text_clear(&printed);
        at = print_sharding_at(module, at, &printed, err);
        good = at != NULL && add_sharding(printed.data, shardings, err);
        while (good && is_many && (*at == ',' || *at == ' ')) {
            at++;
        }
    }
    text_finish(&printed);
    if (!good) {
        shardy_shardings_finish(shardings);
    }
    return good;
}

void shardy_shardings_finish(struct shardy_shardings *shardings)
{
    for (int i = 0; i < shardings->count; i++) {
        module_destroy(shardings->holders[i]);
    }
    free(shardings->list);
    free(shardings->holders);
    *shardings = (struct shardy_shardings){0};
}

/* Does the list name it, in quotes? */
static bool names_axis(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; (at = strchr(at, '"')) != NULL;) {
        const char *end = strchr(++at, '"');
        if (end == NULL) {
            return false;
        }
        if ((size_t)(end - at) == size && strncmp(at, name, size) == 0) {
            return true;
        }
        at = end + 1;
    }
    return false;
}

const struct sharding *shardy_restrict(const struct sharding *sharding, const char *manual_axes,
                                       struct arena *arena)
{
    struct sharding *kept = arena_copy(arena, sharding, sizeof *kept);
    struct named_dimension *dimensions =
        arena_array(arena, (size_t)sharding->dimension_count, sizeof *dimensions);
    for (int i = 0; i < sharding->dimension_count; i++) {
        const struct axis_refs *from = &sharding->dimensions[i].axes;
        struct axis_ref *axes = arena_array(arena, (size_t)from->count, sizeof *axes);
        int count = 0;
        for (int k = 0; k < from->count; k++) {
            if (names_axis(manual_axes, sharding->mesh.axes[from->axes[k].axis].name)) {
                axes[count++] = from->axes[k];
            }
        }
        dimensions[i] = sharding->dimensions[i];
        dimensions[i].axes = (struct axis_refs){count, axes};
    }
    const struct mesh *mesh = &sharding->mesh;
    struct axis_ref *others = arena_array(arena, (size_t)mesh->axis_count, sizeof *others);
    int count = 0;
    for (int i = 0; i < mesh->axis_count; i++) {
        if (!names_axis(manual_axes, mesh->axes[i].name)) {
            others[count++].axis = i;
        }
    }
    kept->dimensions = dimensions;
    kept->manual = (struct axis_refs){count, others};
    kept->replicated = kept->unreduced = (struct axis_refs){0, NULL};
    return kept;
}
