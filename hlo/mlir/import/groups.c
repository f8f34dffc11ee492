/* MLIR → HLO: which devices take part in a collective: channels, groups, pairs. */
#include <stdlib.h>
#include <string.h>

#include "hlo/mlir/import/import_internal.h"

#include "hlo/mlir/import/build.h"

bool build_channel(struct scope *scope, const struct mlir_op *op, int64_t *channel)
{
    *channel = 0;
    if (mlir_op_attr(op, "channel_handle") == NULL) {
        return true;
    }
    const struct mlir_dictionary *parameters =
        build_parameters(scope, op, "channel_handle", "channel_handle");
    if (parameters == NULL || !build_int_parameter(scope, op, parameters, "handle", channel)) {
        return false;
    }
    *channel = *channel > 0 ? *channel : 0; /* by the specification, no channel */
    return true;
}

bool build_pairs(struct scope *scope, const struct mlir_op *op, struct ints *pairs)
{
    *pairs = (struct ints){0};
    return import_ints_attr(scope, op, "source_target_pairs", pairs) &&
           (pairs->count % 2 == 0 ||
            import_fail(scope, op, "source_target_pairs has an odd number of entries"));
}

/* --- lists --- */

/* Rows of a matrix of ids; a row is filled up with −1 where it is shorter than the others. */
static bool read_lists(struct scope *scope, const struct mlir_op *op, const struct mlir_attr *attr,
                       struct lists *lists)
{
    struct ints ids;
    if (attr->kind != MLIR_ATTR_DENSE || attr->type->rank != 2 ||
        !mlir_attr_as_ints(scope->importer->file, attr, &ids)) {
        return import_fail(scope, op, "replica_groups is no matrix of integers");
    }
    int64_t rows = attr->type->sizes[0], columns = attr->type->sizes[1];
    if (ids.count == 0) {
        return true;
    }
    struct arena *arena = &scope->importer->module->arena;
    struct ints *groups = arena_array(arena, (size_t)rows, sizeof *groups);
    int64_t *values = arena_array(arena, (size_t)ids.count, sizeof *values);
    for (int64_t row = 0, at = 0; row < rows; row++) {
        groups[row].values = &values[at];
        for (int64_t i = 0; i < columns; i++) {
            int64_t id = ids.values[row * columns + i];
            if (id >= 0) {
                values[at++] = id;
                groups[row].count++;
            }
        }
    }
    *lists = (struct lists){(int)rows, groups, true};
    return true;
}

/* --- meshes --- */

/* The parameters of an attribute, or the entries of a dictionary. */
static const struct mlir_dictionary *fields_of(const struct mlir_attr *attr)
{
    return attr == NULL                         ? NULL
           : attr->kind == MLIR_ATTR_DICTIONARY ? &attr->dictionary
           : attr->kind == MLIR_ATTR_DIALECT    ? &attr->dialect.parameters
                                                : NULL;
}

/* The attribute that is a mesh: itself, or that of the op (sdy.mesh) that it names. NULL and an
 * error if there is none. */
static const struct mlir_attr *find_mesh(struct scope *scope, const struct mlir_op *op,
                                         const struct mlir_attr *mesh)
{
    if (mesh != NULL && mesh->kind == MLIR_ATTR_SYMBOL) {
        const struct mlir_op *named = import_symbol(scope->importer, op, mesh);
        if (named == NULL) {
            import_fail(scope, op, "there is no mesh @%s", mesh->string.data);
            return NULL;
        }
        mesh = mlir_op_attr(named, "mesh");
        mesh = mesh != NULL ? mesh : mlir_op_attr(named, "stablehlo.mesh");
    }
    if (mesh == NULL || (mesh->kind != MLIR_ATTR_OTHER && fields_of(mesh) == NULL)) {
        import_fail(scope, op, "replica_groups has no mesh");
        return NULL;
    }
    return mesh;
}

/* Shardy's, which is kept as text: #sdy.mesh<["x"=2, "y"=4], device_ids=[3, 2, 1, 0]>. */
static bool read_mesh_text(struct scope *scope, const struct mlir_op *op, const char *text,
                           struct mesh *mesh)
{
    static const char head[] = "#sdy.mesh<[", devices[] = "device_ids=[";
    struct arena *arena = &scope->importer->module->arena;
    size_t size = strlen(text); /* more than there are axes or devices */
    struct mesh_axis *axes = arena_array(arena, size + 1, sizeof *axes);
    int64_t *ids = arena_array(arena, size + 1, sizeof *ids);
    const char *at = text;
    bool ok = strncmp(text, head, strlen(head)) == 0;
    for (at = ok ? text + strlen(head) : text; ok && *at == '"';) {
        const char *end = strchr(at + 1, '"');
        ok = end != NULL && end[1] == '=';
        if (ok) {
            char *rest;
            axes[mesh->axis_count].name = arena_string(arena, at + 1, (size_t)(end - at - 1));
            axes[mesh->axis_count++].size = strtoll(end + 2, &rest, 10);
            at = rest + strspn(rest, ", ");
        }
    }
    ok = ok && *at == ']';
    const char *list = ok ? strstr(at, devices) : NULL;
    for (at = list != NULL ? list + strlen(devices) : NULL;
         at != NULL && *at >= '0' && *at <= '9';) {
        char *rest;
        ids[mesh->device_ids.count++] = strtoll(at, &rest, 10);
        at = rest + strspn(rest, ", ");
    }
    mesh->axes = axes;
    mesh->device_ids.values = ids;
    return ok || import_fail(scope, op, "%s is no mesh", text);
}

static const char *string_field(const struct mlir_dictionary *fields, const char *key)
{
    const struct mlir_attr *attr = fields != NULL ? mlir_get(fields, key) : NULL;
    return attr != NULL && attr->kind == MLIR_ATTR_STRING ? attr->string.data : NULL;
}

static bool read_mesh(struct scope *scope, const struct mlir_op *op,
                      const struct mlir_dictionary *fields, struct mesh *mesh)
{
    const struct mlir_attr *axes = mlir_get(fields, "axes");
    if (axes != NULL && axes->kind == MLIR_ATTR_ARRAY) {
        struct arena *arena = &scope->importer->module->arena;
        struct mesh_axis *copy = arena_array(arena, (size_t)axes->array.count + 1, sizeof *copy);
        for (int i = 0; i < axes->array.count; i++) {
            const struct mlir_dictionary *axis = fields_of(axes->array.elements[i]);
            const char *name = string_field(axis, "name");
            if (name == NULL || !build_int_parameter(scope, op, axis, "size", &copy[i].size)) {
                return import_fail(scope, op, "axis %d of the mesh has no name", i);
            }
            copy[i].name = arena_string(arena, name, strlen(name));
        }
        mesh->axes = copy;
        mesh->axis_count = axes->array.count;
    }
    return build_ints_parameter(scope, op, fields, "device_ids", &mesh->device_ids);
}

static bool read_axes(struct scope *scope, const struct mlir_op *op, const struct mlir_attr *attr,
                      const struct mesh *mesh, struct axis_refs *axes)
{
    if (attr == NULL || attr->kind != MLIR_ATTR_ARRAY) {
        return import_fail(scope, op, "replica_groups names no axes");
    }
    struct axis_ref *refs =
        arena_array(&scope->importer->module->arena, (size_t)attr->array.count + 1, sizeof *refs);
    for (int i = 0; i < attr->array.count; i++) {
        const struct mlir_dictionary *fields = fields_of(attr->array.elements[i]);
        const char *name = string_field(fields, "name");
        int axis = 0;
        while (name != NULL && axis < mesh->axis_count &&
               strcmp(mesh->axes[axis].name, name) != 0) {
            axis++;
        }
        if (name == NULL || axis == mesh->axis_count) {
            return import_fail(scope, op, "the mesh has no axis %s", name != NULL ? name : "?");
        }
        refs[i].axis = axis;
        const struct mlir_dictionary *part = fields_of(mlir_get(fields, "sub_axis_info"));
        if (part != NULL && (!build_int_parameter(scope, op, part, "pre_size", &refs[i].pre) ||
                             !build_int_parameter(scope, op, part, "size", &refs[i].size))) {
            return false;
        }
    }
    *axes = (struct axis_refs){attr->array.count, refs};
    return true;
}

struct groups *build_groups(struct scope *scope, const struct mlir_op *op)
{
    struct groups *groups = arena_alloc(&scope->importer->module->arena, sizeof *groups);
    groups->mesh.maximal_device = -1;
    const struct mlir_attr *attr = mlir_op_attr(op, "replica_groups");
    if (attr == NULL) {
        import_fail(scope, op, "replica_groups is missing");
        return NULL;
    }
    bool is_mesh = attr->kind == MLIR_ATTR_DIALECT &&
                   strcmp(attr->dialect.mnemonic, "replica_group_mesh_axes") == 0;
    if (!is_mesh) {
        return read_lists(scope, op, attr, &groups->list) ? groups : NULL;
    }
    groups->form = GROUPS_MESH;
    const struct mlir_dictionary *parameters = &attr->dialect.parameters;
    const struct mlir_attr *mesh = find_mesh(scope, op, mlir_get(parameters, "mesh"));
    bool ok =
        mesh != NULL &&
        (mesh->kind == MLIR_ATTR_OTHER ? read_mesh_text(scope, op, mesh->string.data, &groups->mesh)
                                       : read_mesh(scope, op, fields_of(mesh), &groups->mesh)) &&
        read_axes(scope, op, mlir_get(parameters, "axes"), &groups->mesh, &groups->axes);
    return ok ? groups : NULL;
}
