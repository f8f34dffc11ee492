/* The table of VHLO's ops (vhlo.def), and what becomes of their attributes.
 * Sources: stablehlo/transforms/VhloLegalizeToStablehlo.cpp, VhloToVersion.cpp. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/mlir/bytecode/vhlo.h"

bool vhlo_fail(const struct vhlo_upgrade *upgrade, const char *format, ...)
{
    char message[256], until[32] = "on";
    const struct vhlo_op *row = upgrade->row;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (row->until.major < INT32_MAX) {
        snprintf(until, sizeof until, "to %d.%d", row->until.major, row->until.minor);
    }
    struct cursor cursor = vhlo_cursor(upgrade);
    return cursor_fail(&cursor, "vhlo.%s (version %d.%d %s): %s", row->name, row->since.major,
                       row->since.minor, until, message);
}

/* --- values that mean the same as none --- */

static bool is_never(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade, (void)attr;
    return false;
}

static bool is_always(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade, (void)attr;
    return true;
}

static bool is_false(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    return attr->kind == MLIR_ATTR_BOOL && attr->integer == 0;
}

static bool is_number(const struct mlir_attr *attr, int64_t value)
{
    return attr->kind == MLIR_ATTR_INT && attr->integer == value;
}

static bool is_zero(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    return is_number(attr, 0);
}

static bool is_minus_one(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    return is_number(attr, -1);
}

/* API_VERSION_ORIGINAL. */
static bool is_original(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    return is_number(attr, 1);
}

static bool is_empty(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    return mlir_attr_is_empty(attr);
}

/* Layouts of operands and results are there together, or not at all. */
static bool is_empty_layouts(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)attr;
    static const char *const keys[] = {"operand_layouts", "result_layouts"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct mlir_attr *layouts = mlir_op_attr(upgrade->op, keys[i]);
        if (layouts == NULL || !is_empty(upgrade, layouts)) {
            return false;
        }
    }
    return true;
}

static bool all_are(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr, int64_t value)
{
    struct ints ints;
    if (attr->kind != MLIR_ATTR_DENSE || !mlir_attr_as_ints(upgrade->file, attr, &ints)) {
        return false;
    }
    for (int i = 0; i < ints.count; i++) {
        if (ints.values[i] != value) {
            return false;
        }
    }
    return true;
}

static bool is_zeros(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    return all_are(upgrade, attr, 0);
}

static bool is_ones(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    return all_are(upgrade, attr, 1);
}

static bool is_no_type(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    return mlir_attr_is_word(attr, "comparison_type", "NOTYPE");
}

static bool is_default_precision(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    for (int i = 0; i < attr->array.count; i++) {
        if (!mlir_attr_is_word(attr->array.elements[i], "precision", "DEFAULT")) {
            return false;
        }
    }
    return true;
}

static bool is_default_accuracy(const struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    (void)upgrade;
    if (attr->kind != MLIR_ATTR_DIALECT) {
        return false;
    }
    const struct mlir_dictionary *parameters = &attr->dialect.parameters;
    const struct mlir_attr *atol = mlir_get(parameters, "atol");
    const struct mlir_attr *rtol = mlir_get(parameters, "rtol");
    const struct mlir_attr *ulps = mlir_get(parameters, "ulps");
    const struct mlir_attr *mode = mlir_get(parameters, "mode");
    return atol != NULL && rtol != NULL && ulps != NULL && mode != NULL && atol->number == 0 &&
           rtol->number == 0 && ulps->integer == 0 &&
           mlir_attr_is_word(mode, "result_accuracy_mode", "DEFAULT");
}

/* --- what attributes become --- */

static bool kind_fail(const struct vhlo_upgrade *upgrade, const char *key)
{
    return vhlo_fail(upgrade, "attribute %s is not of its kind", key);
}

static bool take_same(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    mlir_set(upgrade->file, &upgrade->attrs, key, attr);
    return true;
}

static bool take_nothing(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    (void)upgrade, (void)key, (void)attr;
    return true;
}

/* array<i64: …> or array<i1: …> of a tensor; NULL when it is none, or of other integers. */
static struct mlir_attr *ints_of(struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    struct ints ints;
    if (attr->kind != MLIR_ATTR_DENSE ||
        (attr->type->element->width != 64 && attr->type->element->width != 1) ||
        !mlir_attr_as_ints(upgrade->file, attr, &ints)) {
        return NULL;
    }
    struct mlir_attr *made = mlir_attr_new(upgrade->file, MLIR_ATTR_INTS);
    made->type = attr->type->element;
    made->ints = ints;
    return made;
}

static bool take_ints(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    struct mlir_attr *ints = ints_of(upgrade, attr);
    return ints != NULL ? take_same(upgrade, key, ints) : kind_fail(upgrade, key);
}

static struct mlir_attr *symbol_of(struct vhlo_upgrade *upgrade, const struct mlir_attr *attr)
{
    return attr->kind == MLIR_ATTR_STRING
               ? mlir_attr_symbol(upgrade->file, attr->string.data, attr->string.size)
               : NULL;
}

static bool take_symbol(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    struct mlir_attr *symbol = symbol_of(upgrade, attr);
    return symbol != NULL ? take_same(upgrade, key, symbol) : kind_fail(upgrade, key);
}

static bool take_symbols(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return kind_fail(upgrade, key);
    }
    int count = attr->array.count;
    struct mlir_attr **symbols = arena_array(&upgrade->file->arena, (size_t)count, sizeof *symbols);
    for (int i = 0; i < count; i++) {
        symbols[i] = symbol_of(upgrade, attr->array.elements[i]);
        if (symbols[i] == NULL) {
            return kind_fail(upgrade, key);
        }
    }
    return take_same(upgrade, key, bytecode_array(upgrade->file, count, symbols));
}

static bool take_unit(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    return attr->kind == MLIR_ATTR_BOOL
               ? take_same(upgrade, key, mlir_attr_new(upgrade->file, MLIR_ATTR_UNIT))
               : kind_fail(upgrade, key);
}

/* --- parts of attributes --- */

/* Parts that came with 1.1.0: none of them in what is older. */
static const struct {
    const char *mnemonic, *part;
} later_parts[] = {
    {"gather", "operand_batching_dims"},
    {"gather", "start_indices_batching_dims"},
    {"scatter", "input_batching_dims"},
    {"scatter", "scatter_indices_batching_dims"},
};

static struct mlir_attr *whole_new(struct mlir_file *file, const char *mnemonic)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(file, "stablehlo", 9);
    attr->dialect.mnemonic = mlir_intern(file, mnemonic, strlen(mnemonic));
    for (size_t i = 0; i < sizeof later_parts / sizeof *later_parts; i++) {
        if (strcmp(later_parts[i].mnemonic, mnemonic) == 0) {
            mlir_set(file, &attr->dialect.parameters, later_parts[i].part,
                     mlir_attr_ints(file, 0, NULL));
        }
    }
    return attr;
}

/* `attr` is the parameter `part` of the op's attribute `whole`, #stablehlo.mnemonic<…>. */
static bool set_part(struct vhlo_upgrade *upgrade, const char *whole, const char *mnemonic,
                     const char *part, struct mlir_attr *attr)
{
    struct mlir_attr *made = mlir_get(&upgrade->attrs, whole);
    if (made == NULL) {
        made = whole_new(upgrade->file, mnemonic);
        mlir_set(upgrade->file, &upgrade->attrs, whole, made);
    }
    mlir_set(upgrade->file, &made->dialect.parameters, part, attr);
    return true;
}

static bool set_ints(struct vhlo_upgrade *upgrade, const char *whole, const char *mnemonic,
                     const char *key, struct mlir_attr *attr)
{
    struct mlir_attr *ints = ints_of(upgrade, attr);
    return ints != NULL ? set_part(upgrade, whole, mnemonic, key, ints) : kind_fail(upgrade, key);
}

static bool set_of_kind(struct vhlo_upgrade *upgrade, const char *whole, const char *mnemonic,
                        const char *key, struct mlir_attr *attr, enum mlir_attr_kind kind)
{
    return attr->kind == kind ? set_part(upgrade, whole, mnemonic, key, attr)
                              : kind_fail(upgrade, key);
}

/* take_<id> for lists, take_<id>_int for numbers. */
#define PARTS(id, whole)                                                                         \
    static bool take_##id(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr) \
    {                                                                                            \
        return set_ints(upgrade, whole, #id, key, attr);                                         \
    }
#define PARTS_INT(id, whole)                                                   \
    static bool take_##id##_int(struct vhlo_upgrade *upgrade, const char *key, \
                                struct mlir_attr *attr)                        \
    {                                                                          \
        return set_of_kind(upgrade, whole, #id, key, attr, MLIR_ATTR_INT);     \
    }
PARTS(dot, "dot_dimension_numbers")
PARTS(conv, "dimension_numbers")
PARTS_INT(conv, "dimension_numbers")
PARTS(gather, "dimension_numbers")
PARTS_INT(gather, "dimension_numbers")
PARTS(scatter, "scatter_dimension_numbers")
PARTS_INT(scatter, "scatter_dimension_numbers")
#undef PARTS
#undef PARTS_INT

static bool is_none_type(const struct mlir_attr *attr)
{
    return attr != NULL && attr->kind == MLIR_ATTR_TYPE && attr->type->kind == MLIR_NONE;
}

/* A dot without an algorithm has the type "none" for each of its parts. */
static bool take_algorithm(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr,
                           enum mlir_attr_kind kind)
{
    bool is_none = is_none_type(attr);
    if (is_none != is_none_type(mlir_op_attr(upgrade->op, "lhs_component_count"))) {
        return vhlo_fail(upgrade, "a part of an algorithm alone, %s", key);
    }
    return is_none || set_of_kind(upgrade, "algorithm", "dot_algorithm", key, attr, kind);
}

static bool take_algorithm_type(struct vhlo_upgrade *upgrade, const char *key,
                                struct mlir_attr *attr)
{
    return take_algorithm(upgrade, key, attr, MLIR_ATTR_TYPE);
}

static bool take_algorithm_int(struct vhlo_upgrade *upgrade, const char *key,
                               struct mlir_attr *attr)
{
    return take_algorithm(upgrade, key, attr, MLIR_ATTR_INT);
}

static bool take_algorithm_bool(struct vhlo_upgrade *upgrade, const char *key,
                                struct mlir_attr *attr)
{
    return take_algorithm(upgrade, key, attr, MLIR_ATTR_BOOL);
}

static bool set_channel(struct vhlo_upgrade *upgrade, const char *key, const char *part,
                        struct mlir_attr *attr)
{
    return attr->kind == MLIR_ATTR_INT
               ? set_part(upgrade, "channel_handle", "channel_handle", part, attr)
               : kind_fail(upgrade, key);
}

static bool take_handle(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    return set_channel(upgrade, key, "handle", attr);
}

static bool take_handle_type(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    return set_channel(upgrade, key, "type", attr);
}

static bool take_channel(struct vhlo_upgrade *upgrade, const char *key, struct mlir_attr *attr)
{
    return set_channel(upgrade, key, "handle", attr) &&
           set_channel(upgrade, key, "type", mlir_attr_int(upgrade->file, 0, attr->type));
}

/* --- the table --- */

#define A(name, how, drop) {name, take_##how, is_##drop},
#define NONE
#define V(major, minor) \
    {                   \
        major, minor    \
    }
#define NOW          \
    {                \
        INT32_MAX, 0 \
    }
#define VHLO_OP(name, since, until, target, attributes) \
    {name, since, until, target, (const struct vhlo_attr[]){attributes{NULL, NULL, NULL}}},
static const struct vhlo_op rows[] = {
#include "hlo/mlir/bytecode/vhlo.def"
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

static int compare_name(const void *key, const void *element)
{
    return strcmp(key, ((const struct vhlo_op *)element)->name);
}

const struct vhlo_op *vhlo_find_op(const char *name)
{
    return bsearch(name, rows, ROW_COUNT, sizeof *rows, compare_name);
}
