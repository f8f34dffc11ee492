/* Shardy's encodings of attributes. They are kept as text, spelled as MLIR prints them. What an
 * attribute is made of are references to other attributes, whose text stands in its own without
 * their head.
 * Sources: shardy/dialect/sdy/ir/bytecode.td (codes, parts), attrs.td and printers.cc (text),
 * enums.td; mlir/lib/IR/AsmPrinter.cpp ("#sdy.name<…>" or "#sdy<name…>"). */
#include <inttypes.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/bytecode/bytecode.h"

enum code {
    SDY_MANUAL_AXES,
    SDY_MESH_AXIS,
    SDY_MESH,
    SDY_SUB_AXIS_INFO,
    SDY_AXIS_REF,
    SDY_DIMENSION_SHARDING,
    SDY_SHARDING,
    SDY_SHARDING_PER_VALUE,
    SDY_DIM_MAPPING,
    SDY_TENSOR_MAPPING,
    SDY_OP_SHARDING_RULE,
    SDY_AXIS_REF_LIST,
    SDY_LIST_OF_AXIS_REF_LISTS,
    SDY_ALL_TO_ALL_PARAM,
    SDY_ALL_TO_ALL_PARAM_LIST,
    SDY_SHARDING_UNREDUCED,
    SDY_SHARDING_PER_VALUE_UNREDUCED,
    SDY_SHARDING_REDUCED_BY,
    SDY_CODE_COUNT
};

static const char *const mnemonics[SDY_CODE_COUNT] = {
    [SDY_MANUAL_AXES] = "manual_axes",
    [SDY_MESH_AXIS] = "mesh_axis",
    [SDY_MESH] = "mesh",
    [SDY_SUB_AXIS_INFO] = "sub_axis_info",
    [SDY_AXIS_REF] = "axis_ref",
    [SDY_DIMENSION_SHARDING] = "dimension_sharding",
    [SDY_SHARDING] = "sharding",
    [SDY_SHARDING_PER_VALUE] = "sharding_per_value",
    [SDY_DIM_MAPPING] = "dim_mapping",
    [SDY_TENSOR_MAPPING] = "tensor_mapping",
    [SDY_OP_SHARDING_RULE] = "op_sharding_rule",
    [SDY_AXIS_REF_LIST] = "axis_ref_list",
    [SDY_LIST_OF_AXIS_REF_LISTS] = "list_of_axis_ref_lists",
    [SDY_ALL_TO_ALL_PARAM] = "all_to_all_param",
    [SDY_ALL_TO_ALL_PARAM_LIST] = "all_to_all_param_list",
    [SDY_SHARDING_UNREDUCED] = "sharding",
    [SDY_SHARDING_PER_VALUE_UNREDUCED] = "sharding_per_value",
    [SDY_SHARDING_REDUCED_BY] = "sharding",
};

enum { TEXT_MOST = 1 << 24 }; /* of an attribute: what it refers to may be there many times */

/* --- parts; each appends what it reads --- */

static const char *after(const char *text, const char *beginning)
{
    size_t size = strlen(beginning);
    return text != NULL && strncmp(text, beginning, size) == 0 ? text + size : NULL;
}

/* Another attribute of Shardy, of that kind, without its head. */
static bool append_stripped(struct cursor *cursor, struct text *text, const struct mlir_attr *attr,
                            enum code code)
{
    if (attr->kind == MLIR_ATTR_OTHER) {
        const char *end = attr->string.data + attr->string.size;
        const char *body = after(after(attr->string.data, "#sdy."), mnemonics[code]);
        if (body != NULL && *body == '<') {
            text_append_n(text, body, (size_t)(end - body));
            return true;
        }
        body = after(after(attr->string.data, "#sdy<"), mnemonics[code]);
        if (body != NULL && body < end) {
            text_append_n(text, body, (size_t)(end - body) - 1);
            return true;
        }
    }
    return cursor_fail(cursor, "an attribute that is no #sdy.%s", mnemonics[code]);
}

static bool append_attr(struct cursor *cursor, struct text *text, enum code code)
{
    struct mlir_attr *attr;
    return cursor_attr(cursor, &attr) && append_stripped(cursor, text, attr, code);
}

/* a, b, c between two texts; nothing for none if `when_some`. */
static bool append_list(struct cursor *cursor, struct text *text, const char *open,
                        const char *close, enum code code, bool when_some)
{
    int count;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    if (count == 0 && when_some) {
        return true;
    }
    text_append(text, open);
    for (int i = 0; i < count; i++) {
        text_append(text, i > 0 ? ", " : "");
        if (!append_attr(cursor, text, code)) {
            return false;
        }
        if (text->size > TEXT_MOST) {
            return cursor_fail_code(cursor, ERROR_RESOURCE_EXHAUSTED,
                                    "an attribute of more than %d characters", TEXT_MOST);
        }
    }
    text_append(text, close);
    return true;
}

static void append_quoted(struct text *text, const char *data, size_t size)
{
    struct mlir_attr string = {.kind = MLIR_ATTR_STRING, .string = {data, size}};
    mlir_print_attr(&string, text);
}

static bool append_name(struct cursor *cursor, struct text *text)
{
    struct bytecode_string name;
    if (!cursor_string(cursor, &name)) {
        return false;
    }
    append_quoted(text, name.text, name.size);
    return true;
}

static bool append_int(struct cursor *cursor, struct text *text)
{
    int64_t value;
    if (!cursor_svarint(cursor, &value)) {
        return false;
    }
    text_int(text, value);
    return true;
}

/* i, j, …, z, z_1, z_2, … */
static void append_factor(struct text *text, int64_t factor)
{
    enum { LETTERS = 'z' - 'i' };
    if (factor <= LETTERS) {
        text_char(text, (char)('i' + factor));
    } else {
        text_printf(text, "z_%" PRId64, factor - LETTERS);
    }
}

static bool read_factors(struct cursor *cursor, struct ints *factors)
{
    if (!cursor_svarints(cursor, factors)) {
        return false;
    }
    for (int i = 0; i < factors->count; i++) {
        if (factors->values[i] < 0) {
            return cursor_fail(cursor, "factor %" PRId64, factors->values[i]);
        }
    }
    return true;
}

/* --- attributes: what stands behind the mnemonic --- */

static bool append_manual_axes(struct cursor *cursor, struct text *text)
{
    int count;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    text_append(text, "{");
    for (int i = 0; i < count; i++) {
        struct mlir_attr *axis;
        if (!cursor_attr_of(cursor, MLIR_ATTR_STRING, &axis)) {
            return false;
        }
        text_append(text, i > 0 ? ", " : "");
        append_quoted(text, axis->string.data, axis->string.size);
    }
    text_append(text, "}");
    return true;
}

static bool append_mesh(struct cursor *cursor, struct text *text)
{
    struct ints ids;
    if (!append_list(cursor, text, "<[", "]", SDY_MESH_AXIS, false) ||
        !cursor_svarints(cursor, &ids)) {
        return false;
    }
    for (int i = 0; i < ids.count; i++) {
        text_append(text, i > 0 ? ", " : ", device_ids=[");
        text_int(text, ids.values[i]);
    }
    text_append(text, ids.count > 0 ? "]>" : ">");
    return true;
}

static bool append_sub_axis(struct cursor *cursor, struct text *text)
{
    text_append(text, "(");
    if (!append_int(cursor, text)) {
        return false;
    }
    text_append(text, ")");
    return append_int(cursor, text);
}

static bool append_axis(struct cursor *cursor, struct text *text)
{
    struct mlir_attr *part;
    if (!append_name(cursor, text) || !cursor_optional_attr(cursor, &part)) {
        return false;
    }
    text_append(text, part != NULL ? ":" : "");
    return part == NULL || append_stripped(cursor, text, part, SDY_SUB_AXIS_INFO);
}

static bool append_dimension(struct cursor *cursor, struct text *text)
{
    bool is_closed, has_priority;
    uint64_t priority;
    size_t before = text->size;
    if (!append_list(cursor, text, "{", "", SDY_AXIS_REF, false) ||
        !cursor_bool(cursor, &is_closed) || !cursor_flagged(cursor, &priority, &has_priority)) {
        return false;
    }
    bool is_empty = text->size == before + 1;
    text_append(text, is_closed ? "}" : is_empty ? "?}" : ", ?}");
    if (has_priority) {
        text_printf(text, "p%" PRIu64, priority);
    }
    return true;
}

/* @mesh, or mesh<…> */
static bool append_mesh_or_name(struct cursor *cursor, struct text *text)
{
    struct mlir_attr *mesh;
    if (!cursor_attr(cursor, &mesh)) {
        return false;
    }
    if (mesh->kind == MLIR_ATTR_SYMBOL) {
        mlir_print_attr(mesh, text);
        return true;
    }
    text_append(text, mnemonics[SDY_MESH]);
    return append_stripped(cursor, text, mesh, SDY_MESH);
}

static bool append_unreduced(struct cursor *cursor, struct text *text, bool has_reduction)
{
    static const char *const heads[] = {", unreduced={", ", unreduced=max{", ", unreduced=min{"};
    struct cursor axes = *cursor;
    struct text list;
    int64_t reduction = 0;
    text_init(&list);
    bool ok = append_list(cursor, &list, "", "}", SDY_AXIS_REF, true) &&
              (!has_reduction || cursor_svarint(cursor, &reduction));
    if (ok && (reduction < 0 || (size_t)reduction >= sizeof heads / sizeof *heads)) {
        ok = cursor_refuse(&axes, "reduction %" PRId64 " is not known", reduction);
    }
    if (ok && list.size > 0) {
        text_append(text, heads[reduction]);
        text_append(text, list.data);
    }
    text_finish(&list);
    return ok;
}

static bool append_sharding(struct cursor *cursor, struct text *text, enum code code)
{
    text_append(text, "<");
    if (!append_mesh_or_name(cursor, text) ||
        !append_list(cursor, text, ", [", "]", SDY_DIMENSION_SHARDING, false) ||
        !append_list(cursor, text, ", replicated={", "}", SDY_AXIS_REF, true) ||
        (code != SDY_SHARDING &&
         !append_unreduced(cursor, text, code == SDY_SHARDING_REDUCED_BY))) {
        return false;
    }
    text_append(text, ">");
    return true;
}

static bool append_dim_mapping(struct cursor *cursor, struct text *text)
{
    struct ints factors;
    if (!read_factors(cursor, &factors)) {
        return false;
    }
    for (int i = 0; i < factors.count; i++) {
        append_factor(text, factors.values[i]);
    }
    return true;
}

/* ([i, k], [k, j])->([i, j]) {i=8, j=8, k=16} reduction={k}, custom */
static bool append_rule(struct cursor *cursor, struct text *text)
{
    static const char *const kinds[] = {"reduction", "need_replication", "permutation",
                                        "blocked_propagation"};
    struct ints sizes, factors;
    bool is_custom;
    if (!cursor_svarints(cursor, &sizes) ||
        !append_list(cursor, text, "<(", ")->", SDY_TENSOR_MAPPING, false) ||
        !append_list(cursor, text, "(", ")", SDY_TENSOR_MAPPING, false)) {
        return false;
    }
    for (int i = 0; i < sizes.count; i++) {
        text_append(text, i > 0 ? ", " : " {");
        append_factor(text, i);
        text_printf(text, "=%" PRId64, sizes.values[i]);
    }
    text_append(text, sizes.count > 0 ? "}" : "");
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        if (!read_factors(cursor, &factors)) {
            return false;
        }
        for (int i = 0; i < factors.count; i++) {
            text_printf(text, i > 0 ? ", " : " %s={", kinds[kind]);
            append_factor(text, factors.values[i]);
        }
        text_append(text, factors.count > 0 ? "}" : "");
    }
    if (!cursor_bool(cursor, &is_custom)) {
        return false;
    }
    text_append(text, is_custom ? ", custom>" : ">");
    return true;
}

/* {"x"}: 0->1 */
static bool append_all_to_all(struct cursor *cursor, struct text *text)
{
    if (!append_list(cursor, text, "{", "}: ", SDY_AXIS_REF, false) || !append_int(cursor, text)) {
        return false;
    }
    text_append(text, "->");
    return append_int(cursor, text);
}

static bool append_body(struct cursor *cursor, struct text *text, enum code code)
{
    switch (code) {
    case SDY_MANUAL_AXES:
        return append_manual_axes(cursor, text);
    case SDY_MESH_AXIS:
        return append_name(cursor, text) && (text_append(text, "="), append_int(cursor, text));
    case SDY_MESH:
        return append_mesh(cursor, text);
    case SDY_SUB_AXIS_INFO:
        return append_sub_axis(cursor, text);
    case SDY_AXIS_REF:
        return append_axis(cursor, text);
    case SDY_DIMENSION_SHARDING:
        return append_dimension(cursor, text);
    case SDY_SHARDING:
    case SDY_SHARDING_UNREDUCED:
    case SDY_SHARDING_REDUCED_BY:
        return append_sharding(cursor, text, code);
    case SDY_SHARDING_PER_VALUE:
    case SDY_SHARDING_PER_VALUE_UNREDUCED:
        return append_list(cursor, text, "<[", "]>", SDY_SHARDING, false);
    case SDY_DIM_MAPPING:
        return append_dim_mapping(cursor, text);
    case SDY_TENSOR_MAPPING:
        return append_list(cursor, text, "[", "]", SDY_DIM_MAPPING, false);
    case SDY_OP_SHARDING_RULE:
        return append_rule(cursor, text);
    case SDY_AXIS_REF_LIST:
        return append_list(cursor, text, "{", "}", SDY_AXIS_REF, false);
    case SDY_LIST_OF_AXIS_REF_LISTS:
        return append_list(cursor, text, "[", "]", SDY_AXIS_REF_LIST, false);
    case SDY_ALL_TO_ALL_PARAM:
        return append_all_to_all(cursor, text);
    case SDY_ALL_TO_ALL_PARAM_LIST:
        return append_list(cursor, text, "[", "]", SDY_ALL_TO_ALL_PARAM, false);
    case SDY_CODE_COUNT:
        break;
    }
    return false;
}

static struct mlir_attr *sdy_attr(struct cursor *cursor, uint64_t code)
{
    struct mlir_attr *attr = NULL;
    struct text body;
    if (code >= SDY_CODE_COUNT) {
        return NULL;
    }
    text_init(&body);
    if (append_body(cursor, &body, (enum code)code)) {
        bool is_bracketed = body.size > 0 && body.data[0] == '<';
        struct mlir_file *file = cursor->bytecode->file;
        char *text = arena_printf(&file->arena, is_bracketed ? "#sdy.%s%s" : "#sdy<%s%s>",
                                  mnemonics[code], body.data);
        attr = mlir_attr_new(file, MLIR_ATTR_OTHER);
        attr->string = (struct bytes){text, strlen(text)};
    }
    text_finish(&body);
    return attr;
}

static const struct op_properties sdy_ops[] = {
    {"all_gather", "gathering_axes out_sharding"},
    {"all_reduce", "out_sharding reduction_axes"},
    {"all_slice", "out_sharding slicing_axes"},
    {"all_to_all", "out_sharding params"},
    {"collective_permute", "out_sharding"},
    {"constant", "value"},
    {"data_flow_edge", "sharding?"},
    {"manual_computation", "in_shardings manual_axes out_shardings"},
    {"mesh", "mesh sym_name"},
    {"named_computation", "in_shardings? name out_shardings?"},
    {"propagation_barrier", "allowed_direction"},
    {"reduce_scatter", "out_sharding reduce_scatter_axes"},
    {"replicated_to_unreduced", "axes out_sharding"},
    {"reshard", "sharding"},
    {"sharded_to_unreduced", "axes out_sharding"},
    {"sharding_constraint", "sharding"},
    {"sharding_group", "group_id"},
};

const struct dialect_reader sdy_dialect = {
    .name = "sdy",
    .is_versioned = true,
    .read_attr = sdy_attr,
    .ops = sdy_ops,
    .op_count = sizeof sdy_ops / sizeof *sdy_ops,
};
