/* Device assignments, meshes and their axes, and the groups of collectives.
 * Source: xla/hlo/parser/hlo_parser.cc (ParseTileAssignment, ParseMesh,
 * ParseCollectiveDeviceListBase), xla/hlo/ir/mesh_and_axis.cc (what is valid). */
#include "hlo/base/arena.h"
#include "hlo/text/number.h"
#include "hlo/text/parse.h"

/* Product of sizes, −1 if one is negative or the product overflows. */
static int64_t product(struct ints sizes)
{
    int64_t result = 1;
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.values[i] < 0 || __builtin_mul_overflow(result, sizes.values[i], &result)) {
            return -1;
        }
    }
    return result;
}

/* "[dims]", and "T(perm)" if there are several. A single dimension has no permutation. */
static bool parse_iota(struct parser *parser, struct ints *dims, struct ints *perm)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *at = lexer->at;
    if (!parse_int_list(parser, '[', ']', ',', dims)) {
        return false;
    }
    if (dims->count == 0) {
        return lexer_fail(lexer, at, "no dimensions of the iota");
    }
    *perm = (struct ints){0, NULL};
    if (dims->count == 1) {
        return true;
    }
    if (!lexer_accept_word(lexer, "T")) {
        return lexer_expected(lexer, "T( and a permutation");
    }
    at = lexer->at;
    if (!parse_int_list(parser, '(', ')', ',', perm)) {
        return false;
    }
    bool ok = perm->count == dims->count && perm->count <= 64;
    uint64_t seen = 0;
    for (int i = 0; ok && i < perm->count; i++) {
        int64_t dimension = perm->values[i];
        ok = dimension >= 0 && dimension < dims->count && !(seen >> dimension & 1);
        seen |= ok ? (uint64_t)1 << dimension : 0;
    }
    return ok || lexer_fail(lexer, at, "T( is not followed by a permutation of the dimensions");
}

/* "[tile]<=[dims]T(perm)", or "[tile]1,0,…" if devices is not NULL. */
bool parse_tile_assignment(struct parser *parser, struct ints *tile, struct ints *dims,
                           struct ints *perm, struct ints *devices)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *at = lexer->at;
    if (!parse_int_list(parser, '[', ']', ',', tile)) {
        return false;
    }
    if (tile->count == 0) {
        return lexer_fail(lexer, at, "no tile dimensions");
    }
    int64_t count = product(*tile);
    if (lexer_accept_at_most(lexer)) {
        if (!parse_iota(parser, dims, perm)) {
            return false;
        }
        if (count < 0 || count != product(*dims)) {
            return lexer_fail(lexer, at, "tile and iota dimensions differ in size");
        }
        return true;
    }
    if (devices == NULL) {
        return lexer_expected(lexer, "'<='");
    }
    size_t base = parser->int_count;
    do {
        int64_t device;
        if (!lexer_int(lexer, &device)) {
            return false;
        }
        ints_push(parser, device);
    } while (lexer_accept(lexer, ','));
    *devices = ints_take(parser, base);
    return devices->count == count ||
           lexer_fail(lexer, at, "%d devices for a tile assignment of %lld", devices->count,
                      (long long)count);
}

/* --- meshes --- */

enum { MESH_MAX_AXES = 256 };

static bool parse_maximal_mesh(struct parser *parser, struct mesh *mesh)
{
    struct lexer *lexer = &parser->lexer;
    struct span name;
    if (!lexer_expect(lexer, '[') || !lexer_attribute(lexer, &name)) {
        return false;
    }
    if (!span_is(name, "device_id")) {
        return lexer_fail(lexer, name.data, "expected device_id=");
    }
    return lexer_int(lexer, &mesh->maximal_device) && lexer_expect(lexer, ']');
}

static bool parse_mesh_axes(struct parser *parser, struct mesh *mesh)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '[')) {
        return false;
    }
    if (!lexer_accept(lexer, ']')) {
        do {
            struct mesh_axis *axis = arena_alloc(parser->arena, sizeof *axis);
            lexer_skip(lexer);
            const char *at = lexer->at;
            if (!lexer_c_string(lexer, parser->arena, &axis->name) || !lexer_expect(lexer, '=') ||
                !lexer_int(lexer, &axis->size)) {
                return false;
            }
            if (axis->size <= 0) {
                return lexer_fail(lexer, at, "size of axis %s is not positive", axis->name);
            }
            for (size_t i = base; i < parser->scratch.count; i++) {
                if (strcmp(((struct mesh_axis *)parser->scratch.items[i])->name, axis->name) == 0) {
                    return lexer_fail(lexer, at, "axis %s is there twice", axis->name);
                }
            }
            if (parser->scratch.count - base >= MESH_MAX_AXES) {
                return lexer_fail(lexer, at, "more than %d axes of a mesh", MESH_MAX_AXES);
            }
            stack_push(&parser->scratch, axis);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, ']')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    struct mesh_axis *axes = arena_array(parser->arena, count, sizeof *axes);
    for (size_t i = 0; i < count; i++) {
        axes[i] = *(struct mesh_axis *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    mesh->axis_count = (int)count;
    mesh->axes = axes;
    return true;
}

/* The ids must be the numbers from 0 on, in another order than theirs. */
static bool check_device_ids(struct parser *parser, const struct mesh *mesh, int64_t count,
                             const char *at)
{
    struct lexer *lexer = &parser->lexer;
    struct ints ids = mesh->device_ids;
    if (ids.count != count) {
        return lexer_fail(lexer, at, "%d device_ids for a mesh of %lld devices", ids.count,
                          (long long)count);
    }
    bool *seen = arena_array(parser->arena, (size_t)ids.count, sizeof *seen);
    bool sorted = true;
    for (int i = 0; i < ids.count; i++) {
        int64_t id = ids.values[i];
        if (id < 0 || id >= ids.count || seen[id]) {
            return lexer_fail(lexer, at, "device_ids are not a permutation of 0 to %d",
                              ids.count - 1);
        }
        seen[id] = true;
        sorted = sorted && id == i;
    }
    return !sorted || lexer_fail(lexer, at, "device_ids 0, 1, 2 … must not be written");
}

static bool parse_device_ids(struct parser *parser, struct mesh *mesh, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    for (int i = 0; i < mesh->axis_count; i++) {
        ints_push(parser, mesh->axes[i].size);
    }
    int64_t count = product(ints_take(parser, base));
    if (count < 0) {
        return lexer_fail(lexer, at, "size of the mesh overflows");
    }
    if (lexer_peek(lexer) != '(') {
        return lexer_expected(lexer, "'('");
    }
    const char *open = lexer->at++;
    if (lexer_peek(lexer) == '[') {
        if (!parse_iota(parser, &mesh->reshape_dims, &mesh->transpose_perm)) {
            return false;
        }
        if (product(mesh->reshape_dims) != count) {
            return lexer_fail(lexer, at, "device_ids and mesh differ in size");
        }
        if (mesh->reshape_dims.count == 1) {
            mesh->reshape_dims = (struct ints){0, NULL}; /* plain iota */
        }
        return lexer_expect(lexer, ')');
    }
    lexer->at = open;
    return parse_int_list(parser, '(', ')', ',', &mesh->device_ids) &&
           check_device_ids(parser, mesh, count, at);
}

bool parse_at_mesh(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *begin = lexer->at;
    struct span word = lexer_word(lexer);
    lexer->at = begin;
    return span_is(word, "mesh") || span_is(word, "maximal_mesh");
}

bool parse_mesh(struct parser *parser, struct mesh *mesh)
{
    struct lexer *lexer = &parser->lexer;
    mesh->maximal_device = -1;
    if (lexer_accept_word(lexer, "maximal_mesh")) {
        return parse_maximal_mesh(parser, mesh);
    }
    if (!lexer_accept_word(lexer, "mesh")) {
        return lexer_expected(lexer, "mesh or maximal_mesh");
    }
    if (!parse_mesh_axes(parser, mesh)) {
        return false;
    }
    const char *before = lexer->at;
    struct span name;
    if (mesh->axis_count > 0 && lexer_accept(lexer, ',')) {
        name = lexer_word(lexer);
        if (span_is(name, "device_ids") && lexer_accept(lexer, '=')) {
            return parse_device_ids(parser, mesh, name.data);
        }
    }
    lexer->at = before;
    return true;
}

/* "axis", or "axis":(pre)size; the axis may be written as its number. */
static bool parse_axis(struct parser *parser, const struct mesh *mesh, struct axis_ref *ref)
{
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *at = lexer->at, *name;
    if (!lexer_c_string(lexer, parser->arena, &name)) {
        return false;
    }
    int axis = 0;
    while (axis < mesh->axis_count && strcmp(mesh->axes[axis].name, name) != 0) {
        axis++;
    }
    if (axis == mesh->axis_count) {
        struct number number;
        size_t size = strlen(name);
        if (number_read(name, name + size, &number) != size || number.kind != NUMBER_INT ||
            number.negative || number.integer >= (uint64_t)mesh->axis_count) {
            return lexer_fail(lexer, at, "the mesh has no axis %s", name);
        }
        axis = (int)number.integer;
    }
    *ref = (struct axis_ref){.axis = axis};
    if (!lexer_accept(lexer, ':')) {
        return true;
    }
    if (!lexer_expect(lexer, '(') || !lexer_int(lexer, &ref->pre) || !lexer_expect(lexer, ')') ||
        !lexer_int(lexer, &ref->size)) {
        return false;
    }
    return (ref->pre > 0 && ref->size > 1) ||
           lexer_fail(lexer, at, "part of axis %s must be (1 or more)2 or more", name);
}

/* {"a","b":(1)2,?}; '?' only if open is not NULL, and last. */
bool parse_axes(struct parser *parser, const struct mesh *mesh, struct axis_refs *refs, bool *open)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            if (open != NULL && lexer_accept(lexer, '?')) {
                *open = true;
                break;
            }
            struct axis_ref *ref = arena_alloc(parser->arena, sizeof *ref);
            stack_push(&parser->scratch, ref);
            if (!parse_axis(parser, mesh, ref)) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    struct axis_ref *axes = arena_array(parser->arena, count, sizeof *axes);
    for (size_t i = 0; i < count; i++) {
        axes[i] = *(struct axis_ref *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    *refs = (struct axis_refs){(int)count, axes};
    return true;
}

struct axis_refs parse_all_axes(struct parser *parser, const struct mesh *mesh)
{
    struct axis_ref *axes = arena_array(parser->arena, (size_t)mesh->axis_count, sizeof *axes);
    for (int i = 0; i < mesh->axis_count; i++) {
        axes[i].axis = i;
    }
    return (struct axis_refs){mesh->axis_count, axes};
}

/* --- groups --- */

static bool parse_group_list(struct parser *parser, struct groups *groups)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            struct ints *list = arena_alloc(parser->arena, sizeof *list);
            stack_push(&parser->scratch, list);
            if (!parse_int_list(parser, '{', '}', ',', list)) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    struct ints *lists = arena_array(parser->arena, count, sizeof *lists);
    for (size_t i = 0; i < count; i++) {
        lists[i] = *(struct ints *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    groups->form = GROUPS_LIST;
    groups->list = (struct lists){(int)count, lists, true};
    return true;
}

bool parse_groups(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct groups *groups = arena_alloc(parser->arena, sizeof *groups);
    attr->groups = groups;
    groups->mesh.maximal_device = -1;
    if (lexer_peek(lexer) == '{') {
        return parse_group_list(parser, groups);
    }
    if (parse_at_mesh(parser)) {
        groups->form = GROUPS_MESH;
        return parse_mesh(parser, &groups->mesh) &&
               parse_axes(parser, &groups->mesh, &groups->axes, NULL);
    }
    const char *at = lexer->at;
    struct ints tile;
    groups->form = GROUPS_IOTA;
    if (!parse_tile_assignment(parser, &tile, &groups->reshape_dims, &groups->transpose_perm,
                               NULL)) {
        return false;
    }
    if (tile.count != 2) {
        return lexer_fail(lexer, at, "groups are written [count,size]<=…");
    }
    groups->group_count = tile.values[0];
    groups->group_size = tile.values[1];
    return true;
}
