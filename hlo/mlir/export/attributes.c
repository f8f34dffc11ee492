/* HLO → StableHLO: making attributes. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/mlir/export/export.h"
#include "hlo/text/text_format.h"

static const struct mlir_type *i64(struct export_scope *scope)
{
    return mlir_integer(scope->exporter->file, 64, MLIR_SIGNLESS);
}

void export_set_int(struct export_scope *scope, struct mlir_op *op, const char *key, int64_t value)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &op->attrs, key, mlir_attr_int(file, value, i64(scope)));
}

void export_set_bool(struct export_scope *scope, struct mlir_op *op, const char *key, bool value)
{
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_BOOL);
    attr->type = mlir_integer(file, 1, MLIR_SIGNLESS);
    attr->integer = value;
    mlir_set(file, &op->attrs, key, attr);
}

void export_set_ints(struct export_scope *scope, struct mlir_op *op, const char *key,
                     struct ints values)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &op->attrs, key, mlir_attr_ints(file, values.count, values.values));
}

void export_set_matrix(struct export_scope *scope, struct mlir_op *op, const char *key,
                       int64_t rows, int64_t columns, const int64_t *values)
{
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DENSE);
    const int64_t sizes[] = {rows, columns};
    attr->type = mlir_shaped(file, MLIR_TENSOR, i64(scope), 2, sizes, NULL);
    attr->dense.count = rows * columns;
    attr->dense.data = arena_copy(&file->arena, values, (size_t)(rows * columns) * sizeof *values);
    mlir_set(file, &op->attrs, key, attr);
}

void export_set_word(struct export_scope *scope, struct mlir_op *op, const char *key,
                     const char *mnemonic, const char *word)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &op->attrs, key,
             mlir_attr_word(file, "stablehlo", mnemonic, word, strlen(word)));
}

void export_set_string(struct export_scope *scope, struct mlir_op *op, const char *key,
                       const char *text)
{
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &op->attrs, key, mlir_attr_string(file, text, strlen(text)));
}

struct mlir_attr *export_strings(struct mlir_file *file, const struct string_map *map)
{
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DICTIONARY);
    for (int i = 0; i < map->count; i++) {
        const struct string_entry *entry = &map->entries[i];
        const char *key = mlir_intern(file, entry->key.data, entry->key.size);
        mlir_set(file, &attr->dictionary, key,
                 mlir_attr_string(file, entry->value.data, entry->value.size));
    }
    return attr;
}

struct mlir_attr *export_sharding(struct mlir_file *file, const struct sharding *sharding)
{
    struct text text;
    text_init(&text);
    text_print_sharding(sharding, &text);
    struct mlir_attr *attr = mlir_attr_string(file, text.data, text.size);
    text_finish(&text);
    return attr;
}

void export_set_sizes(struct export_scope *scope, struct mlir_op *op, const char *key, int count,
                      const int64_t *values)
{
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *attr = mlir_attr_ints(file, count, values);
    attr->type = mlir_integer(file, 32, MLIR_SIGNLESS);
    mlir_set(file, &op->attrs, key, attr);
}

struct mlir_attr *export_set_parameters(struct export_scope *scope, struct mlir_op *op,
                                        const char *key, const char *mnemonic)
{
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DIALECT);
    attr->dialect.dialect = mlir_intern(file, "stablehlo", strlen("stablehlo"));
    attr->dialect.mnemonic = mlir_intern(file, mnemonic, strlen(mnemonic));
    mlir_set(file, &op->attrs, key, attr);
    return attr;
}

void export_set_channel(struct export_scope *scope, struct mlir_op *op, int64_t handle,
                        int64_t type)
{
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *channel =
        export_set_parameters(scope, op, "channel_handle", "channel_handle");
    mlir_set(file, &channel->dialect.parameters, "handle", mlir_attr_int(file, handle, i64(scope)));
    mlir_set(file, &channel->dialect.parameters, "type", mlir_attr_int(file, type, i64(scope)));
}

void export_set_precision(struct export_scope *scope, struct mlir_op *op, const char *dialect,
                          const struct instruction *instruction)
{
    static const char *const words[] = {[PRECISION_DEFAULT] = "DEFAULT",
                                        [PRECISION_HIGH] = "HIGH",
                                        [PRECISION_HIGHEST] = "HIGHEST",
                                        [PRECISION_PACKED_NIBBLE] = "DEFAULT"};
    const struct attr *precision = attr_get(instruction, ATTR_OPERAND_PRECISION);
    if (precision == NULL || precision->precisions.count != 2) {
        return;
    }
    struct mlir_file *file = scope->exporter->file;
    struct mlir_attr *list = mlir_attr_new(file, MLIR_ATTR_ARRAY);
    list->array.count = 2;
    list->array.elements = arena_array(&file->arena, 2, sizeof(struct mlir_attr *));
    for (int i = 0; i < 2; i++) {
        const char *word = words[precision->precisions.values[i]];
        list->array.elements[i] = mlir_attr_word(file, dialect, "precision", word, strlen(word));
    }
    mlir_set(file, &op->attrs, "precision_config", list);
}

struct mlir_attr *export_dense(struct export_scope *scope, const struct instruction *instruction,
                               const struct literal *literal)
{
    struct mlir_file *file = scope->exporter->file;
    const struct mlir_type *type = export_type(scope, instruction, literal->shape);
    if (type == NULL) {
        return NULL;
    }
    struct mlir_attr *attr = mlir_attr_new(file, MLIR_ATTR_DENSE);
    size_t size = (size_t)type_bytes(literal->shape->type);
    attr->type = type;
    attr->dense.count = literal_elements(literal);
    const char *data = literal_data(literal);
    attr->dense.splat = attr->dense.count > 1;
    for (int64_t i = 1; attr->dense.splat && i < attr->dense.count; i++) {
        attr->dense.splat = memcmp(data, data + (size_t)i * size, size) == 0;
    }
    size_t count = attr->dense.splat ? 1 : (size_t)attr->dense.count;
    attr->dense.data = arena_copy(&file->arena, data, count * size);
    return attr;
}
