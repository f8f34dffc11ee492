/* MLIR types as HLO shapes. Bounds of dynamic dimensions stand in the encoding of a tensor:
 * #stablehlo.bounds<4, ?>. Source: xla/hlo/translate/mhlo_to_hlo/type_to_shape.cc. */
#include <string.h>

#include "hlo/mlir/import/import_internal.h"

/* The bound of a dimension that is written "?"; −1 if it has none. */
static int64_t type_bound(const struct mlir_type *type, int dimension)
{
    const struct mlir_attr *encoding = type->encoding;
    if (encoding == NULL || encoding->kind != MLIR_ATTR_DIALECT) {
        return -1;
    }
    const struct mlir_attr *bounds = mlir_get(&encoding->dialect.parameters, "bounds");
    if (bounds == NULL || bounds->kind != MLIR_ATTR_INTS || dimension >= bounds->ints.count) {
        return -1;
    }
    int64_t bound = bounds->ints.values[dimension];
    return bound >= 0 ? bound : -1;
}

bool type_has_sizes(const struct mlir_type *type)
{
    if (type->kind == MLIR_UNRANKED) {
        return false;
    }
    for (int i = 0; i < type->count; i++) {
        if (!type_has_sizes(type->types[i])) {
            return false;
        }
    }
    for (int i = 0; i < type->rank; i++) {
        if (type->sizes[i] == MLIR_DYNAMIC && type_bound(type, i) < 0) {
            return false;
        }
    }
    return true;
}

static const struct shape *fail(struct scope *scope, const struct mlir_op *op, const char *what)
{
    import_refuse(scope, op, "HLO has no type for %s", what);
    return NULL;
}

static const struct shape *array_shape(struct scope *scope, const struct mlir_op *op,
                                       const struct mlir_type *type)
{
    enum type element = type->element->element_type;
    if (element == TYPE_INVALID) {
        return fail(scope, op, "the elements of a tensor");
    }
    if (type->rank > SHAPE_MAX_RANK) {
        return fail(scope, op, "tensors of so many dimensions");
    }
    int64_t sizes[SHAPE_MAX_RANK];
    bool dynamic[SHAPE_MAX_RANK];
    for (int i = 0; i < type->rank; i++) {
        dynamic[i] = type->sizes[i] == MLIR_DYNAMIC;
        sizes[i] = dynamic[i] ? type_bound(type, i) : type->sizes[i];
        if (sizes[i] < 0) {
            import_refuse(scope, op, "the size of dimension %d of a tensor is not known", i);
            return NULL;
        }
    }
    const struct shape *shape = shape_make(element, type->rank, sizes, dynamic, NULL);
    struct error err = {0};
    if (!shape_check(shape, &err)) {
        import_fail(scope, op, "%s", err.message);
        return NULL;
    }
    return shape;
}

const struct shape *import_shape(struct scope *scope, const struct mlir_op *op,
                                 const struct mlir_type *type)
{
    switch (type->kind) {
    case MLIR_TOKEN:
        return shape_token();
    case MLIR_TENSOR:
    case MLIR_VECTOR:
        return array_shape(scope, op, type);
    case MLIR_INTEGER:
    case MLIR_INDEX:
    case MLIR_FLOAT:
    case MLIR_COMPLEX:
        return type->element_type != TYPE_INVALID ? shape_scalar(type->element_type)
                                                  : fail(scope, op, "a scalar");
    case MLIR_TUPLE: {
        if (!import_deeper(scope, op)) {
            return NULL;
        }
        const struct shape **elements =
            arena_array(&scope->importer->module->arena, (size_t)type->count, sizeof *elements);
        bool good = true;
        for (int i = 0; good && i < type->count; i++) {
            elements[i] = import_shape(scope, op, type->types[i]);
            good = elements[i] != NULL;
        }
        scope->importer->depth--;
        return good ? shape_tuple(type->count, elements) : NULL;
    }
    case MLIR_OTHER_TYPE:
        return fail(scope, op, type->name);
    case MLIR_UNRANKED:
        return fail(scope, op, "tensors of any rank");
    default:
        return fail(scope, op, "a value of its type");
    }
}

bool shape_fits(const struct shape *shape, const struct mlir_type *type)
{
    if (type->kind == MLIR_UNRANKED) {
        return shape_is_array(shape) && shape->type == type->element->element_type;
    }
    if (type->kind == MLIR_TENSOR) {
        if (shape->type != type->element->element_type || shape->rank != type->rank) {
            return false;
        }
        for (int i = 0; i < type->rank; i++) {
            if (type->sizes[i] != MLIR_DYNAMIC && type->sizes[i] != shape->dimensions[i]) {
                return false;
            }
        }
        return true;
    }
    if (type->kind == MLIR_TUPLE && shape_is_tuple(shape) && shape->count == type->count) {
        for (int i = 0; i < type->count; i++) {
            if (!shape_fits(shape->elements[i], type->types[i])) {
                return false;
            }
        }
        return true;
    }
    return type->kind == MLIR_TOKEN && shape->type == TYPE_TOKEN;
}

const struct shape *import_result_shape(struct scope *scope, const struct mlir_op *op, int index,
                                        const struct shape *inferred)
{
    const struct mlir_type *type = op->results[index].type;
    if (mlir_type_is_static(type) || (inferred == NULL && type_has_sizes(type))) {
        return import_shape(scope, op, type);
    }
    if (inferred == NULL) {
        import_refuse(scope, op, "the shape of result %d is not known", index);
        return NULL;
    }
    if (!shape_fits(inferred, type)) {
        import_fail(scope, op, "result %d is %s, which its type does not allow", index,
                    shape_text(inferred));
        return NULL;
    }
    return shape_without_layout(inferred);
}

/* --- functions --- */

bool mlir_function_is_dynamic(const struct mlir_op *function)
{
    if (function->region_count != 1 || function->regions[0].count == 0) {
        return false;
    }
    const struct mlir_block *block = function->regions[0].blocks[0];
    for (int i = 0; i < block->argument_count; i++) {
        if (!type_has_sizes(block->arguments[i].type)) {
            return true;
        }
    }
    return false;
}

static bool region_has_dynamic(const struct mlir_region *region, int depth);

static bool block_has_dynamic(const struct mlir_block *block, int depth)
{
    for (int i = 0; i < block->argument_count; i++) {
        if (!type_has_sizes(block->arguments[i].type)) {
            return true;
        }
    }
    for (int i = 0; i < block->count; i++) {
        const struct mlir_op *op = block->ops[i];
        for (int r = 0; r < op->result_count; r++) {
            if (!type_has_sizes(op->results[r].type)) {
                return true;
            }
        }
        for (int r = 0; r < op->region_count; r++) {
            if (region_has_dynamic(&op->regions[r], depth + 1)) {
                return true;
            }
        }
    }
    return false;
}

static bool region_has_dynamic(const struct mlir_region *region, int depth)
{
    for (int b = 0; depth < IMPORT_MAX_DEPTH && b < region->count; b++) {
        if (block_has_dynamic(region->blocks[b], depth)) {
            return true;
        }
    }
    return false;
}

bool function_has_dynamic(struct importer *importer, const struct mlir_op *function)
{
    static char yes, no;
    void *known = map_get_int(&importer->dynamic, pointer_key(function));
    if (known == NULL) {
        known = function->region_count == 1 && region_has_dynamic(&function->regions[0], 0) ? &yes
                                                                                            : &no;
        map_put_int(&importer->dynamic, pointer_key(function), known);
    }
    return known == &yes;
}
