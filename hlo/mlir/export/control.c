/* HLO → StableHLO: calls, loops, branches, custom calls, feeds. */
#include <stdlib.h>
#include <string.h>

#include "hlo/mlir/export/export.h"

/* A composite: its attributes are a dictionary in the syntax of MLIR, which HLO keeps as text. */
static bool export_composite(struct export_scope *scope, const struct instruction *instruction,
                             const char *function)
{
    const struct bytes *name = attr_frontend(instruction, "composite.name");
    const struct bytes *attributes = attr_frontend(instruction, "composite.attributes");
    const struct bytes *version = attr_frontend(instruction, "composite.version");
    struct mlir_op *op = export_plain(scope, instruction, "composite", 0);
    if (op == NULL) {
        return false;
    }
    struct mlir_file *file = scope->exporter->file;
    mlir_set(file, &op->attrs, "name", mlir_attr_string(file, name->data, name->size));
    mlir_set(file, &op->attrs, "decomposition", mlir_attr_symbol(file, function, strlen(function)));
    if (attributes != NULL && attributes->size > 0) {
        struct mlir_attr *value = mlir_attr_string(file, attributes->data, attributes->size);
        value->kind = MLIR_ATTR_OTHER;
        mlir_set(file, &op->attrs, "composite_attributes", value);
    }
    if (version != NULL) {
        mlir_set(file, &op->attrs, "version",
                 mlir_attr_int(file, strtoll(version->data, NULL, 10),
                               mlir_integer(file, 32, MLIR_SIGNLESS)));
    }
    return true;
}

/* call, fusion: StableHLO has no fusions; a computation is a function. A composite stays one. */
bool export_call(struct export_scope *scope, const struct instruction *instruction)
{
    const char *name = export_function_name(scope, instruction->called[0]);
    if (name != NULL && attr_bool(instruction, ATTR_IS_COMPOSITE, false) &&
        attr_frontend(instruction, "composite.name") != NULL) {
        return export_composite(scope, instruction, name);
    }
    struct mlir_op *op = name != NULL ? export_plain(scope, instruction, "func.call", 0) : NULL;
    if (op != NULL) {
        struct mlir_file *file = scope->exporter->file;
        mlir_set(file, &op->attrs, "callee", mlir_attr_symbol(file, name, strlen(name)));
    }
    return op != NULL;
}

bool export_while(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "while", 2);
    return op != NULL && export_region(scope, op, 0, instruction->called[1]) &&
           export_region(scope, op, 1, instruction->called[0]);
}

/* Each branch uses its operand as a value of the outside. */
bool export_conditional(struct export_scope *scope, const struct instruction *instruction)
{
    const struct instruction *chosen = instruction->operands[0];
    bool is_if = chosen->shape->type == TYPE_PRED;
    int branches = instruction->called_count, count;
    const struct mlir_type **types =
        export_leaf_types(scope, instruction, instruction->shape, &count);
    if (types == NULL) {
        return false;
    }
    struct mlir_op *op = export_op(scope, instruction, is_if ? "if" : "case",
                                   export_leaves(scope, chosen), count, types, branches);
    export_bind(scope, instruction, op);
    for (int i = 0; i < branches; i++) {
        struct leaves argument = export_leaves(scope, instruction->operands[i + 1]);
        if (!export_branch(scope, op, i, instruction->called[i], &argument)) {
            return false;
        }
    }
    return true;
}

bool export_optimization_barrier(struct export_scope *scope, const struct instruction *instruction)
{
    return export_plain(scope, instruction, "optimization_barrier", 0) != NULL;
}

bool export_custom_call(struct export_scope *scope, const struct instruction *instruction)
{
    const struct attr *aliases = attr_get(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    if (aliases != NULL && aliases->aliasing.count > 0) {
        return export_refuse(scope, instruction, "with results that alias operands");
    }
    struct mlir_op *op = export_plain(scope, instruction, "custom_call", 0);
    if (op == NULL) {
        return false;
    }
    struct mlir_file *file = scope->exporter->file;
    const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
    const struct attr *config = attr_get(instruction, ATTR_BACKEND_CONFIG);
    int64_t version = attr_int(instruction, ATTR_API_VERSION, 1);
    mlir_set(file, &op->attrs, "call_target_name", mlir_attr_string(file, target, strlen(target)));
    mlir_set(file, &op->attrs, "api_version",
             mlir_attr_int(file, version, mlir_integer(file, 32, MLIR_SIGNLESS)));
    if (config != NULL && config->bytes.size > 0) {
        /* That of a typed call is a dictionary of MLIR, which HLO keeps as text. */
        struct mlir_attr *value = mlir_attr_string(file, config->bytes.data, config->bytes.size);
        value->kind = version == 4 ? MLIR_ATTR_OTHER : MLIR_ATTR_STRING;
        mlir_set(file, &op->attrs, "backend_config", value);
    }
    if (attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false)) {
        export_set_bool(scope, op, "has_side_effect", true);
    }
    if (instruction->called_count > 0) {
        struct mlir_attr *list = mlir_attr_new(file, MLIR_ATTR_ARRAY);
        list->array.count = instruction->called_count;
        list->array.elements = arena_array(&file->arena, (size_t)instruction->called_count,
                                           sizeof(struct mlir_attr *));
        for (int i = 0; i < instruction->called_count; i++) {
            const char *name = export_function_name(scope, instruction->called[i]);
            if (name == NULL) {
                return false;
            }
            list->array.elements[i] = mlir_attr_symbol(file, name, strlen(name));
        }
        mlir_set(file, &op->attrs, "called_computations", list);
    }
    return true;
}

bool export_infeed(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "infeed", 0);
    if (op != NULL) {
        export_set_string(scope, op, "infeed_config", attr_string(instruction, ATTR_INFEED_CONFIG));
    }
    return op != NULL;
}

bool export_outfeed(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "outfeed", 0);
    if (op != NULL) {
        export_set_string(scope, op, "outfeed_config",
                          attr_string(instruction, ATTR_OUTFEED_CONFIG));
    }
    return op != NULL;
}
