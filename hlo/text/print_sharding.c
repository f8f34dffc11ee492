/* Prints shardings, meshes and groups. Source: xla/hlo/ir/hlo_sharding.cc, named_sharding.cc,
 * mesh_and_axis.cc, replica_group.cc. */
#include <string.h>

#include "hlo/text/print.h"

/* "[2,4]", "[2,4]T(1,0)" */
static void print_iota(struct ints dims, struct ints perm, struct text *out)
{
    text_char(out, '[');
    print_int_items(dims.values, dims.count, out);
    text_char(out, ']');
    if (dims.count > 1) {
        text_append(out, "T(");
        print_int_items(perm.values, perm.count, out);
        text_char(out, ')');
    }
}

static void print_axis_name(const char *name, struct text *out)
{
    text_char(out, '\'');
    text_escape(out, name, strlen(name));
    text_char(out, '\'');
}

static void print_mesh(const struct mesh *mesh, struct text *out)
{
    if (mesh->maximal_device >= 0) {
        text_append(out, "maximal_mesh[device_id=");
        text_int(out, mesh->maximal_device);
        text_char(out, ']');
        return;
    }
    text_append(out, "mesh[");
    for (int i = 0; i < mesh->axis_count; i++) {
        if (i > 0) {
            text_char(out, ',');
        }
        print_axis_name(mesh->axes[i].name, out);
        text_char(out, '=');
        text_int(out, mesh->axes[i].size);
    }
    text_char(out, ']');
    if (mesh->reshape_dims.count > 0) {
        text_append(out, ", device_ids=(");
        print_iota(mesh->reshape_dims, mesh->transpose_perm, out);
        text_char(out, ')');
    } else if (mesh->device_ids.count > 0) {
        text_append(out, ", device_ids=(");
        print_int_items(mesh->device_ids.values, mesh->device_ids.count, out);
        text_char(out, ')');
    }
}

/* {"a", "b":(1)2, ?} */
static void print_axes(const struct mesh *mesh, struct axis_refs refs, bool open,
                       const char *separator, struct text *out)
{
    text_char(out, '{');
    for (int i = 0; i < refs.count; i++) {
        const struct axis_ref *ref = &refs.axes[i];
        text_append(out, i > 0 ? separator : "");
        if (ref->axis >= 0 && ref->axis < mesh->axis_count) {
            print_axis_name(mesh->axes[ref->axis].name, out);
        }
        if (ref->size > 0) {
            text_append(out, ":(");
            text_int(out, ref->pre);
            text_char(out, ')');
            text_int(out, ref->size);
        }
    }
    if (open) {
        text_append(out, refs.count > 0 ? separator : "");
        text_char(out, '?');
    }
    text_char(out, '}');
}

void print_groups(const struct groups *groups, struct text *out)
{
    switch (groups->form) {
    case GROUPS_IOTA:
        text_char(out, '[');
        text_int(out, groups->group_count);
        text_char(out, ',');
        text_int(out, groups->group_size);
        text_append(out, "]<=");
        print_iota(groups->reshape_dims, groups->transpose_perm, out);
        break;
    case GROUPS_MESH:
        print_mesh(&groups->mesh, out);
        text_char(out, ' ');
        print_axes(&groups->mesh, groups->axes, false, ",", out);
        break;
    case GROUPS_LIST:
        text_char(out, '{');
        for (int i = 0; i < groups->list.count; i++) {
            text_append(out, i > 0 ? "," : "");
            print_ints(groups->list.lists[i], out);
        }
        text_char(out, '}');
        break;
    }
}

/* metadata={…}, or metadata={{…}, {…}} for several. */
static void print_metadata_list(const struct sharding *sharding, struct text *out)
{
    bool several = sharding->metadata_count > 1;
    text_append(out, "metadata={");
    for (int i = 0; i < sharding->metadata_count; i++) {
        text_append(out, i > 0 ? ", " : "");
        text_append(out, several ? "{" : "");
        print_metadata_fields(sharding->metadata[i], out);
        text_append(out, several ? "}" : "");
    }
    text_char(out, '}');
}

static void print_axis_list(const struct sharding *sharding, const char *name,
                            struct axis_refs refs, struct text *out)
{
    if (refs.count > 0) {
        text_append(out, name);
        print_axes(&sharding->mesh, refs, false, ", ", out);
    }
}

static void print_named(const struct sharding *sharding, bool with_metadata, struct text *out)
{
    print_mesh(&sharding->mesh, out);
    if (sharding->mesh.maximal_device < 0) {
        text_append(out, ", [");
        for (int i = 0; i < sharding->dimension_count; i++) {
            text_append(out, i > 0 ? ", " : "");
            print_axes(&sharding->mesh, sharding->dimensions[i].axes, sharding->dimensions[i].open,
                       ", ", out);
        }
        text_char(out, ']');
        print_axis_list(sharding, ", replicated=", sharding->replicated, out);
        if (sharding->unreduced.count > 0 && sharding->unreduced_kind != NULL &&
            strcmp(sharding->unreduced_kind, "sum") != 0) {
            text_append(out, ", unreduced=");
            print_axis_list(sharding, sharding->unreduced_kind, sharding->unreduced, out);
        } else {
            print_axis_list(sharding, ", unreduced=", sharding->unreduced, out);
        }
        print_axis_list(sharding, ", manual=", sharding->manual, out);
    }
    if (with_metadata && sharding->metadata_count > 0) {
        text_append(out, ", ");
        print_metadata_list(sharding, out);
    }
}

static const char *form_text(int64_t form)
{
    switch (form) {
    case SHARDING_REPLICATED:
        return "replicated";
    case SHARDING_MAXIMAL:
        return "maximal";
    case SHARDING_MANUAL:
        return "manual";
    case SHARDING_UNREDUCED:
        return "unreduced";
    default:
        return "unknown";
    }
}

static void print_tiled(const struct sharding *sharding, struct text *out)
{
    text_append(out, "devices=[");
    print_int_items(sharding->tile_dims.values, sharding->tile_dims.count, out);
    text_char(out, ']');
    if (sharding->reshape_dims.count > 0) {
        text_append(out, "<=");
        print_iota(sharding->reshape_dims, sharding->transpose_perm, out);
    } else {
        print_int_items(sharding->devices.values, sharding->devices.count, out);
    }
    if (sharding->last_tile_dim_replicate) {
        text_append(out, " last_tile_dim_replicate");
    }
    for (int i = 0; i < sharding->last_tile_dims.count; i++) {
        text_append(out, i > 0 ? ", " : " last_tile_dims={");
        text_append(out, form_text(sharding->last_tile_dims.values[i]));
    }
    text_append(out, sharding->last_tile_dims.count > 0 ? "}" : "");
}

void print_sharding(const struct sharding *sharding, bool with_metadata, struct text *out)
{
    text_char(out, '{');
    switch (sharding->form) {
    case SHARDING_TUPLE:
        for (int i = 0; i < sharding->count; i++) {
            text_append(out, i > 0 ? ", " : "");
            if (i > 0 && i % 5 == 0) {
                text_printf(out, "/*index=%d*/", i);
            }
            print_sharding(sharding->elements[i], with_metadata, out);
        }
        text_char(out, '}');
        return;
    case SHARDING_NAMED:
        print_named(sharding, with_metadata, out);
        text_char(out, '}');
        return;
    case SHARDING_TILED:
        print_tiled(sharding, out);
        break;
    case SHARDING_MAXIMAL:
        text_append(out, "maximal device=");
        text_int(out, sharding->device);
        break;
    default:
        text_append(out, form_text(sharding->form));
        break;
    }
    if (sharding->is_shard_group) {
        text_append(out, sharding->shard_as ? " shard_as " : " shard_like ");
        text_int(out, sharding->shard_group_id);
    }
    if (with_metadata && sharding->metadata_count > 0) {
        text_char(out, ' ');
        print_metadata_list(sharding, out);
    }
    text_char(out, '}');
}

void text_print_sharding(const struct sharding *sharding, struct text *out)
{
    print_sharding(sharding, true, out);
}
