/* VHLO to today's dialects: the ops. The encodings of types and attributes (vhlo_types.c,
 * vhlo_attrs.c) give those of today already; here ops get today's names, and the attributes that
 * their rows of vhlo.def promise. As for StableHLO's own reader, the version that an artifact
 * states is no limit to what it may hold: an op of a later or an earlier one is taken by its name.
 * Sources: stablehlo/transforms/VhloLegalizeToStablehlo.cpp; stablehlo/dialect/Serialization.cpp.
 */
#include <string.h>

#include "hlo/mlir/bytecode/vhlo.h"

/* --- properties --- */

#define A(name, how, drop) " " name
#define NONE
#define V(major, minor)
#define NOW
#define VHLO_OP(name, since, until, target, attributes) {name, "" attributes},
static const struct op_properties properties[] = {
#include "hlo/mlir/bytecode/vhlo.def"
};

const struct dialect_reader vhlo_dialect = {
    .name = "vhlo",
    .read_attr = vhlo_read_attr,
    .read_type = vhlo_read_type,
    .ops = properties,
    .op_count = sizeof properties / sizeof *properties,
};

struct cursor vhlo_cursor(const struct vhlo_upgrade *upgrade)
{
    const struct bytecode *bytecode = upgrade->bytecode;
    size_t offset = (size_t)upgrade->op->column;
    return (struct cursor){.bytecode = upgrade->bytecode,
                           .at = bytecode->data + (offset < bytecode->size ? offset : 0),
                           .end = bytecode->data + bytecode->size,
                           .dialect = upgrade->dialect};
}

/* --- ops --- */

/* Where an artifact has ops of other dialects, casts stand between their types and those of VHLO;
 * both read as the same type, so that a cast has become its operands. */
static bool is_no_cast(const struct mlir_op *op)
{
    if (op->opcode != MLIR_OP_CONVERSION_CAST || op->operand_count != op->result_count) {
        return false;
    }
    for (int i = 0; i < op->operand_count; i++) {
        if (op->operands[i]->type != op->results[i].type) {
            return false;
        }
    }
    return true;
}

static bool has_attr(const struct vhlo_op *row, const char *key)
{
    for (const struct vhlo_attr *attr = row->attrs; attr->name != NULL; attr++) {
        if (strcmp(attr->name, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds to the new attributes those that no row knows. */
static bool keep_others(struct vhlo_upgrade *upgrade)
{
    const struct mlir_dictionary *from = &upgrade->op->attrs, *made = &upgrade->attrs;
    struct mlir_dictionary all;
    bytecode_dictionary_reserve(upgrade->file, &all, from->count + made->count);
    for (int i = 0; i < made->count; i++) {
        all.entries[all.count++] = made->entries[i];
    }
    for (int i = 0; i < from->count; i++) {
        if (!has_attr(upgrade->row, from->entries[i].key)) {
            all.entries[all.count++] = from->entries[i];
        }
    }
    struct cursor cursor = vhlo_cursor(upgrade);
    upgrade->op->attrs = all;
    return bytecode_dictionary_sort(&cursor, &upgrade->op->attrs);
}

static bool upgrade_attrs(struct vhlo_upgrade *upgrade)
{
    struct mlir_op *op = upgrade->op;
    int known = 0;
    upgrade->attrs = (struct mlir_dictionary){0, NULL};
    for (const struct vhlo_attr *row = upgrade->row->attrs; row->name != NULL; row++, known++) {
        struct mlir_attr *attr = mlir_op_attr(op, row->name);
        if (attr == NULL) {
            return vhlo_fail(upgrade, "lacks the attribute %s", row->name);
        }
        if (!row->drop(upgrade, attr) && !row->take(upgrade, row->name, attr)) {
            return false;
        }
    }
    if (op->attrs.count > known) {
        return keep_others(upgrade);
    }
    op->attrs = upgrade->attrs;
    return true;
}

/* One that has no row is refused. */
static bool upgrade_op(struct vhlo_upgrade *upgrade, struct mlir_op *op)
{
    static const char prefix[] = "vhlo.";
    upgrade->op = op;
    upgrade->cast_count += is_no_cast(op);
    if (strncmp(op->name, prefix, sizeof prefix - 1) != 0) {
        return true;
    }
    const char *name = op->name + sizeof prefix - 1;
    upgrade->row = vhlo_find_op(name);
    if (upgrade->row == NULL) {
        struct cursor cursor = vhlo_cursor(upgrade);
        return cursor_refuse(&cursor, "op %.100s is unknown", op->name);
    }
    const char *target = upgrade->row->target;
    const struct mlir_op *parent = op->block == NULL ? NULL : op->block->region->parent;
    if (strcmp(target, "stablehlo.return") == 0 && parent != NULL &&
        parent->opcode == MLIR_OP_FUNC) {
        target = mlir_opcode_name(MLIR_OP_FUNC_RETURN);
    }
    op->opcode = mlir_opcode_of(target, strlen(target));
    op->name = mlir_intern(upgrade->file, target, strlen(target));
    return upgrade->row->attrs[0].name == NULL || upgrade_attrs(upgrade);
}

/* --- casts --- */

/* What stands for the value when casts are gone; NULL (an error) when they go in circles. */
static struct mlir_value *uncast(struct vhlo_upgrade *upgrade, struct mlir_value *value)
{
    struct mlir_value *root = value;
    for (int steps = 0; root->op != NULL && is_no_cast(root->op); steps++) {
        if (steps > upgrade->cast_count) {
            struct cursor cursor = vhlo_cursor(upgrade);
            cursor_fail(&cursor, "casts of each other");
            return NULL;
        }
        root = root->op->operands[root->index];
    }
    /* The next one who comes here need not go all the way. */
    while (value != root) {
        struct mlir_value **next = &value->op->operands[value->index];
        value = *next;
        *next = root;
    }
    return root;
}

static bool uncast_operands(struct vhlo_upgrade *upgrade, struct mlir_op *op)
{
    upgrade->op = op;
    for (int i = 0; i < op->operand_count; i++) {
        op->operands[i] = uncast(upgrade, op->operands[i]);
        if (op->operands[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool remove_casts(struct vhlo_upgrade *upgrade, struct mlir_op *op)
{
    (void)upgrade;
    for (int r = 0; r < op->region_count; r++) {
        for (int b = 0; b < op->regions[r].count; b++) {
            struct mlir_block *block = op->regions[r].blocks[b];
            int count = 0;
            for (int i = 0; i < block->count; i++) {
                if (!is_no_cast(block->ops[i])) {
                    block->ops[count++] = block->ops[i];
                }
            }
            block->count = count;
        }
    }
    return true;
}

/* --- all of a file --- */

typedef bool visit_function(struct vhlo_upgrade *upgrade, struct mlir_op *op);

/* The op, then those in its regions. */
static bool visit(struct vhlo_upgrade *upgrade, struct mlir_op *op, visit_function *function)
{
    if (!function(upgrade, op)) {
        return false;
    }
    for (int r = 0; r < op->region_count; r++) {
        for (int b = 0; b < op->regions[r].count; b++) {
            const struct mlir_block *block = op->regions[r].blocks[b];
            for (int i = 0; i < block->count; i++) {
                if (!visit(upgrade, block->ops[i], function)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Those of VHLO all have encodings; text would stay what it is. */
static bool refuse_text(struct bytecode *bytecode, const struct bytecode_dialect *dialect,
                        const struct bytecode_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].dialect == dialect && !entries[i].is_custom && entries[i].value != NULL) {
            struct cursor cursor = {.bytecode = bytecode,
                                    .at = entries[i].data,
                                    .end = entries[i].data + entries[i].size,
                                    .dialect = dialect};
            return cursor_refuse(&cursor, "\"%.*s\" is unknown",
                                 (int)(entries[i].size < 100 ? entries[i].size : 100),
                                 (const char *)entries[i].data);
        }
    }
    return true;
}

bool vhlo_upgrade(struct bytecode *bytecode, const struct bytecode_dialect *dialect)
{
    struct vhlo_upgrade upgrade = {
        .bytecode = bytecode, .dialect = dialect, .file = bytecode->file};
    struct mlir_op *module = bytecode->file->module;
    return refuse_text(bytecode, dialect, bytecode->attrs, bytecode->attr_count) &&
           refuse_text(bytecode, dialect, bytecode->types, bytecode->type_count) &&
           visit(&upgrade, module, upgrade_op) &&
           (upgrade.cast_count == 0 ||
            (visit(&upgrade, module, uncast_operands) && visit(&upgrade, module, remove_casts)));
}
