/* Twins of ops: see twin.h. */
#include "hlo/mlir/import/twin.h"

#include <string.h>

struct mlir_op *twin_of(struct scope *scope, const struct mlir_op *op)
{
    struct mlir_file *file = scope->importer->file;
    struct mlir_op *twin = arena_copy(&file->arena, op, sizeof *op);
    twin->operands = arena_copy(&file->arena, op->operands,
                                (size_t)op->operand_count * sizeof(struct mlir_value *));
    twin->results =
        arena_copy(&file->arena, op->results, (size_t)op->result_count * sizeof(struct mlir_value));
    for (int i = 0; i < op->result_count; i++) {
        twin->results[i].op = twin;
    }
    twin->attrs = (struct mlir_dictionary){0};
    for (int i = 0; i < op->attrs.count; i++) {
        mlir_set(file, &twin->attrs, op->attrs.entries[i].key, op->attrs.entries[i].value);
    }
    return twin;
}

void twin_remove_attr(struct mlir_op *twin, const char *key)
{
    struct mlir_dictionary *attrs = &twin->attrs;
    int kept = 0;
    for (int i = 0; i < attrs->count; i++) {
        if (strcmp(attrs->entries[i].key, key) != 0) {
            attrs->entries[kept++] = attrs->entries[i];
        }
    }
    attrs->count = kept;
}

void twin_set_ints(struct scope *scope, struct mlir_op *twin, const char *key, struct ints values)
{
    struct mlir_file *file = scope->importer->file;
    mlir_set(file, &twin->attrs, key, mlir_attr_ints(file, values.count, values.values));
}

void twin_remove_operand(struct mlir_op *twin, int index)
{
    twin->operand_count--;
    for (int i = index; i < twin->operand_count; i++) {
        twin->operands[i] = twin->operands[i + 1];
    }
}

bool twin_set_sizes(struct scope *scope, struct mlir_op *twin, int index, struct ints sizes)
{
    const struct mlir_type *type = twin->results[index].type;
    if ((type->kind != MLIR_TENSOR && type->kind != MLIR_UNRANKED) ||
        (type->kind == MLIR_TENSOR && type->rank != sizes.count)) {
        return import_fail(scope, twin, "%d sizes are no shape of result %d", sizes.count, index);
    }
    if (import_computed_shape(scope, twin, type->element->element_type, sizes) == NULL) {
        return false;
    }
    for (int i = 0; i < sizes.count && type->kind == MLIR_TENSOR; i++) {
        if (type->sizes[i] != MLIR_DYNAMIC && type->sizes[i] != sizes.values[i]) {
            return import_fail(scope, twin, "dimension %d of result %d is %lld, its type says %lld",
                               i, index, (long long)sizes.values[i], (long long)type->sizes[i]);
        }
    }
    twin->results[index].type = mlir_shaped(scope->importer->file, MLIR_TENSOR, type->element,
                                            sizes.count, sizes.values, NULL);
    return true;
}

bool twin_translate(struct scope *scope, const struct mlir_op *op, struct mlir_op *twin,
                    import_function *translate)
{
    if (!translate(scope, twin)) {
        return false;
    }
    for (int i = 0; i < op->result_count; i++) {
        struct instruction *value = import_value(scope, op, &twin->results[i]);
        if (value == NULL) {
            return false;
        }
        import_bind(scope, &op->results[i], value);
    }
    return scope->importer->err->code == ERROR_NONE;
}

const struct shape *import_computed_shape(struct scope *scope, const struct mlir_op *op,
                                          enum type type, struct ints sizes)
{
    if (sizes.count > SHAPE_MAX_RANK || !type_is_array(type)) {
        import_fail(scope, op, "a shape of %d dimensions", sizes.count);
        return NULL;
    }
    for (int i = 0; i < sizes.count; i++) {
        if (sizes.values[i] < 0) {
            import_fail(scope, op, "the size of dimension %d is %lld", i,
                        (long long)sizes.values[i]);
            return NULL;
        }
    }
    const struct shape *shape = shape_array(type, sizes.count, sizes.values);
    struct error err = {0};
    if (!shape_check(shape, &err)) {
        import_fail(scope, op, "%s", err.message);
        return NULL;
    }
    return shape;
}
