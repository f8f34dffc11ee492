/* Are two files the same program? An attribute that is absent equals one that says what its absence
 * means; the table below has these. Source: stablehlo/dialect/StablehloOps.td, ChloOps.td
 * (DefaultValuedOptionalAttr, and the defaults that descriptions name). */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/mlir/numbers.h"

/* --- what absence means --- */

enum default_kind {
    DEFAULT_FALSE,
    DEFAULT_TRUE,
    DEFAULT_INT,     /* the number in the row */
    DEFAULT_INTS,    /* integers, all the number in the row: strides of 1, no padding */
    DEFAULT_EMPTY,   /* "", [], {}, array<i64> */
    DEFAULT_EMPTIES, /* [{}, {}, …] */
    DEFAULT_WORD,    /* the word in the row */
    DEFAULT_WORDS,   /* a list of that word */
    DEFAULT_MODE,    /* #stablehlo.result_accuracy of no numbers, mode DEFAULT */
    DEFAULT_CHANNEL, /* a handle of 0 or less */
};

static const struct {
    const char *key;
    enum default_kind kind;
    int64_t number;
    const char *word;
    enum mlir_opcode opcode; /* or UNKNOWN: of any op */
} defaults[] = {
    {"arg_attrs", DEFAULT_EMPTIES, 0, NULL, MLIR_OP_UNKNOWN},
    {"res_attrs", DEFAULT_EMPTIES, 0, NULL, MLIR_OP_UNKNOWN},
    {"precision_config", DEFAULT_WORDS, 0, "DEFAULT", MLIR_OP_UNKNOWN},
    {"window_strides", DEFAULT_INTS, 1, NULL, MLIR_OP_UNKNOWN},
    {"lhs_dilation", DEFAULT_INTS, 1, NULL, MLIR_OP_UNKNOWN},
    {"rhs_dilation", DEFAULT_INTS, 1, NULL, MLIR_OP_UNKNOWN},
    {"base_dilations", DEFAULT_INTS, 1, NULL, MLIR_OP_UNKNOWN},
    {"window_dilations", DEFAULT_INTS, 1, NULL, MLIR_OP_UNKNOWN},
    {"window_reversal", DEFAULT_INTS, 0, NULL, MLIR_OP_UNKNOWN},
    {"window_dimensions", DEFAULT_INTS, 1, NULL, MLIR_OP_SELECT_AND_SCATTER},
    {"padding", DEFAULT_INTS, 0, NULL, MLIR_OP_CONVOLUTION},
    {"padding", DEFAULT_INTS, 0, NULL, MLIR_OP_REDUCE_WINDOW},
    {"padding", DEFAULT_INTS, 0, NULL, MLIR_OP_SELECT_AND_SCATTER},
    {"result_accuracy", DEFAULT_MODE, 0, NULL, MLIR_OP_UNKNOWN},
    {"channel_handle", DEFAULT_CHANNEL, 0, NULL, MLIR_OP_UNKNOWN},
    {"infeed_config", DEFAULT_EMPTY, 0, NULL, MLIR_OP_INFEED},
    {"outfeed_config", DEFAULT_EMPTY, 0, NULL, MLIR_OP_OUTFEED},
    {"is_host_transfer", DEFAULT_FALSE, 0, NULL, MLIR_OP_UNKNOWN},
    {"lower", DEFAULT_FALSE, 0, NULL, MLIR_OP_CHOLESKY},
    {"compare_type", DEFAULT_WORD, 0, "NOTYPE", MLIR_OP_UNKNOWN},
    {"composite_attributes", DEFAULT_EMPTY, 0, NULL, MLIR_OP_COMPOSITE},
    {"version", DEFAULT_INT, 0, NULL, MLIR_OP_COMPOSITE},
    {"has_side_effect", DEFAULT_FALSE, 0, NULL, MLIR_OP_CUSTOM_CALL},
    {"backend_config", DEFAULT_EMPTY, 0, NULL, MLIR_OP_CUSTOM_CALL},
    {"api_version", DEFAULT_INT, 1, NULL, MLIR_OP_CUSTOM_CALL},
    {"called_computations", DEFAULT_EMPTY, 0, NULL, MLIR_OP_CUSTOM_CALL},
    {"output_operand_aliases", DEFAULT_EMPTY, 0, NULL, MLIR_OP_CUSTOM_CALL},
    {"result_tilings", DEFAULT_EMPTY, 0, NULL, MLIR_OP_CUSTOM_CALL},
    {"known_expanding_dimensions", DEFAULT_EMPTY, 0, NULL, MLIR_OP_DYNAMIC_BROADCAST_IN_DIM},
    {"known_nonexpanding_dimensions", DEFAULT_EMPTY, 0, NULL, MLIR_OP_DYNAMIC_BROADCAST_IN_DIM},
    {"layout", DEFAULT_EMPTY, 0, NULL, MLIR_OP_INFEED},
    {"source_target_pairs", DEFAULT_EMPTY, 0, NULL, MLIR_OP_SEND},
    {"source_target_pairs", DEFAULT_EMPTY, 0, NULL, MLIR_OP_RECV},
    {"indices_are_sorted", DEFAULT_FALSE, 0, NULL, MLIR_OP_UNKNOWN},
    {"unique_indices", DEFAULT_FALSE, 0, NULL, MLIR_OP_UNKNOWN},
    {"dimension", DEFAULT_INT, -1, NULL, MLIR_OP_SORT},
    {"is_stable", DEFAULT_FALSE, 0, NULL, MLIR_OP_SORT},
    {"is_stable", DEFAULT_TRUE, 0, NULL, MLIR_OP_CHLO_TOP_K},
    {"is_reverse", DEFAULT_FALSE, 0, NULL, MLIR_OP_CHLO_SCAN},
};

static bool all_ints(const struct mlir_attr *attr, int64_t number)
{
    if (attr->kind == MLIR_ATTR_INTS) {
        for (int i = 0; i < attr->ints.count; i++) {
            if (attr->ints.values[i] != number) {
                return false;
            }
        }
        return true;
    }
    if (attr->kind != MLIR_ATTR_DENSE || attr->type->element->kind != MLIR_INTEGER) {
        return false;
    }
    int64_t count = attr->dense.splat ? 1 : attr->dense.count;
    size_t size = (size_t)type_bytes(attr->type->element->element_type);
    for (int64_t i = 0; i < count; i++) {
        if (memcmp((const char *)attr->dense.data + (size_t)i * size, &number, size) != 0) {
            return false;
        }
    }
    return true;
}

static bool all_words(const struct mlir_attr *attr, const char *word)
{
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    for (int i = 0; i < attr->array.count; i++) {
        if (!mlir_attr_is_word(attr->array.elements[i], NULL, word)) {
            return false;
        }
    }
    return true;
}

static bool all_empty(const struct mlir_attr *attr)
{
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    for (int i = 0; i < attr->array.count; i++) {
        const struct mlir_attr *element = attr->array.elements[i];
        if (element->kind != MLIR_ATTR_DICTIONARY || element->dictionary.count > 0) {
            return false;
        }
    }
    return true;
}

static bool is_default_accuracy(const struct mlir_attr *attr)
{
    if (attr->kind != MLIR_ATTR_DIALECT) {
        return false;
    }
    const struct mlir_attr *mode = mlir_get(&attr->dialect.parameters, "mode");
    return mode != NULL && mlir_attr_is_word(mode, NULL, "DEFAULT");
}

static bool is_no_channel(const struct mlir_attr *attr)
{
    if (attr->kind != MLIR_ATTR_DIALECT) {
        return false;
    }
    const struct mlir_attr *handle = mlir_get(&attr->dialect.parameters, "handle");
    return handle != NULL && handle->kind == MLIR_ATTR_INT && handle->integer <= 0;
}

/* Is the attribute what its absence would mean? */
static bool is_default(enum mlir_opcode opcode, const struct mlir_named *entry)
{
    const struct mlir_attr *attr = entry->value;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        if ((defaults[i].opcode != MLIR_OP_UNKNOWN && defaults[i].opcode != opcode) ||
            strcmp(defaults[i].key, entry->key) != 0) {
            continue;
        }
        switch (defaults[i].kind) {
        case DEFAULT_FALSE:
        case DEFAULT_TRUE:
            return attr->kind == MLIR_ATTR_BOOL &&
                   attr->integer == (defaults[i].kind == DEFAULT_TRUE);
        case DEFAULT_INT:
            return attr->kind == MLIR_ATTR_INT && attr->integer == defaults[i].number;
        case DEFAULT_INTS:
            return all_ints(attr, defaults[i].number);
        case DEFAULT_EMPTY:
            return mlir_attr_is_empty(attr);
        case DEFAULT_EMPTIES:
            return all_empty(attr);
        case DEFAULT_WORD:
            return mlir_attr_is_word(attr, NULL, defaults[i].word);
        case DEFAULT_WORDS:
            return all_words(attr, defaults[i].word);
        case DEFAULT_MODE:
            return is_default_accuracy(attr);
        case DEFAULT_CHANNEL:
            return is_no_channel(attr);
        }
    }
    return false;
}

/* --- comparing --- */

struct comparison {
    const struct mlir_file *file; /* of `a`, for places */
    struct mlir_numbers a, b;
    struct error *err;
};

static bool differ(struct comparison *comparison, const struct mlir_op *a, const char *what)
{
    return error_at(comparison->err, mlir_where(comparison->file, a), "%s: %s differ", a->name,
                    what);
}

/* Types of two files are no shared pointers: they are equal if their text is. */
static bool types_equal(const struct mlir_type *a, const struct mlir_type *b)
{
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || a->rank != b->rank || a->width != b->width || a->sign != b->sign ||
        a->count != b->count || a->result_count != b->result_count) {
        return false;
    }
    struct text text_a, text_b;
    text_init(&text_a);
    text_init(&text_b);
    mlir_print_type(a, &text_a);
    mlir_print_type(b, &text_b);
    bool equal = strcmp(text_a.data, text_b.data) == 0;
    text_finish(&text_a);
    text_finish(&text_b);
    return equal;
}

static bool attrs_equal(const struct mlir_attr *a, const struct mlir_attr *b)
{
    if (a->kind == MLIR_ATTR_DENSE && b->kind == MLIR_ATTR_DENSE) {
        struct mlir_attr other = *b;
        other.type = a->type;
        return types_equal(a->type, b->type) && mlir_attr_equal(a, &other);
    }
    struct text text_a, text_b;
    text_init(&text_a);
    text_init(&text_b);
    mlir_print_attr(a, &text_a);
    mlir_print_attr(b, &text_b);
    bool equal = text_a.size == text_b.size && memcmp(text_a.data, text_b.data, text_a.size) == 0;
    text_finish(&text_a);
    text_finish(&text_b);
    return equal;
}

/* Both are sorted by key. */
static bool compare_attrs(struct comparison *comparison, const struct mlir_op *a,
                          const struct mlir_op *b)
{
    int i = 0, j = 0;
    while (i < a->attrs.count || j < b->attrs.count) {
        const struct mlir_named *left = i < a->attrs.count ? &a->attrs.entries[i] : NULL;
        const struct mlir_named *right = j < b->attrs.count ? &b->attrs.entries[j] : NULL;
        int order = left == NULL ? 1 : right == NULL ? -1 : strcmp(left->key, right->key);
        if (order != 0) {
            const struct mlir_named *one = order < 0 ? left : right;
            if (!is_default(a->opcode, one)) {
                return error_at(comparison->err, mlir_where(comparison->file, a),
                                "%s: attribute '%s' is missing in the %s", a->name, one->key,
                                order < 0 ? "second" : "first");
            }
            i += order < 0;
            j += order > 0;
            continue;
        }
        if (!attrs_equal(left->value, right->value)) {
            return error_at(comparison->err, mlir_where(comparison->file, a),
                            "%s: attribute '%s' differs", a->name, left->key);
        }
        i++;
        j++;
    }
    return true;
}

static bool compare_ops(struct comparison *comparison, const struct mlir_op *a,
                        const struct mlir_op *b);

static bool compare_blocks(struct comparison *comparison, const struct mlir_op *parent,
                           const struct mlir_block *a, const struct mlir_block *b)
{
    if (a->argument_count != b->argument_count) {
        return differ(comparison, parent, "numbers of block arguments");
    }
    for (int i = 0; i < a->argument_count; i++) {
        if (!types_equal(a->arguments[i].type, b->arguments[i].type)) {
            return differ(comparison, parent, "types of block arguments");
        }
    }
    if (a->count != b->count) {
        return differ(comparison, parent, "numbers of ops");
    }
    for (int i = 0; i < a->count; i++) {
        if (!compare_ops(comparison, a->ops[i], b->ops[i])) {
            return false;
        }
    }
    return true;
}

static bool values_correspond(const struct comparison *comparison, const struct mlir_value *a,
                              const struct mlir_value *b)
{
    return (a->op == NULL) == (b->op == NULL) && a->index == b->index &&
           mlir_number_of_value(&comparison->a, a) == mlir_number_of_value(&comparison->b, b);
}

static bool compare_uses(struct comparison *comparison, const struct mlir_op *a,
                         const struct mlir_op *b)
{
    for (int i = 0; i < a->operand_count; i++) {
        if (!values_correspond(comparison, a->operands[i], b->operands[i])) {
            return differ(comparison, a, "operands");
        }
    }
    for (int i = 0; i < a->successor_count; i++) {
        if (mlir_number_of_block(&comparison->a, a->successors[i]) !=
            mlir_number_of_block(&comparison->b, b->successors[i])) {
            return differ(comparison, a, "successors");
        }
    }
    for (int i = 0; i < a->result_count; i++) {
        if (!types_equal(a->results[i].type, b->results[i].type)) {
            return differ(comparison, a, "types of results");
        }
    }
    return true;
}

static bool compare_ops(struct comparison *comparison, const struct mlir_op *a,
                        const struct mlir_op *b)
{
    if (strcmp(a->name, b->name) != 0) {
        return error_at(comparison->err, mlir_where(comparison->file, a),
                        "%s in the one, %s in the other", a->name, b->name);
    }
    if (a->operand_count != b->operand_count || a->result_count != b->result_count ||
        a->region_count != b->region_count || a->successor_count != b->successor_count) {
        return differ(comparison, a, "numbers of operands, results, regions or successors");
    }
    if (!compare_uses(comparison, a, b) || !compare_attrs(comparison, a, b)) {
        return false;
    }
    for (int r = 0; r < a->region_count; r++) {
        if (a->regions[r].count != b->regions[r].count) {
            return differ(comparison, a, "numbers of blocks");
        }
        for (int i = 0; i < a->regions[r].count; i++) {
            if (!compare_blocks(comparison, a, a->regions[r].blocks[i], b->regions[r].blocks[i])) {
                return false;
            }
        }
    }
    return true;
}

bool mlir_file_equal(const struct mlir_file *a, const struct mlir_file *b, struct error *err)
{
    struct comparison comparison = {.file = a, .err = err};
    mlir_numbers_init(&comparison.a, a->module);
    mlir_numbers_init(&comparison.b, b->module);
    bool equal = compare_ops(&comparison, a->module, b->module);
    mlir_numbers_finish(&comparison.a);
    mlir_numbers_finish(&comparison.b);
    return equal;
}
