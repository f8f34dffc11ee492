/* Custom calls and composites: ops whose meaning has a name.
 * Sources: StableHLO's specification; xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc
 * (CustomCallOp), xla/hlo/builder/xla_builder.cc (CompositeCall); the "mhlo." targets:
 * xla/mlir_hlo/mhlo/transforms/stablehlo_legalize_to_hlo. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/chlo.h"
#include "hlo/mlir/import/dynamic_call.h"
#include "hlo/mlir/import/import_internal.h"

/* --- attributes --- */

/* An integer, or a word of the enumeration. */
static bool read_api_version(struct scope *scope, const struct mlir_op *op, int64_t *version)
{
    const struct mlir_attr *attr = mlir_op_attr(op, "api_version");
    if (attr != NULL && attr->kind == MLIR_ATTR_INT) {
        *version = attr->integer;
    } else if (attr != NULL && attr->kind == MLIR_ATTR_DIALECT && attr->dialect.word != NULL) {
        const char *word = attr->dialect.word;
        *version = attr_enum_value(ATTR_KIND_API_VERSION, word, strlen(word));
    } else if (attr != NULL) {
        *version = -1;
    }
    return attr_enum_text(ATTR_KIND_API_VERSION, *version) != NULL ||
           import_fail(scope, op, "api_version is not understood");
}

/* What MLIR prints of an attribute becomes a string attribute of the call. */
static void set_printed(struct instruction *call, enum attr_key key, const struct mlir_attr *attr)
{
    struct text text;
    text_init(&text);
    mlir_print_attr(attr, &text);
    import_set_string(call, key, text.data, text.size);
    text_finish(&text);
}

/* A string as it is; a dictionary as MLIR prints it, which is what XLA hands to typed calls. One
 * that stands in mhlo.backend_config makes the call a typed one (JAX writes it so). */
static void set_backend_config(const struct mlir_op *op, struct instruction *call)
{
    enum { TYPED_FFI = 4 };
    const struct mlir_attr *config = mlir_op_attr(op, "backend_config");
    const struct mlir_attr *typed = mlir_op_attr(op, "mhlo.backend_config");
    if (typed != NULL && typed->kind == MLIR_ATTR_DICTIONARY) {
        import_set_int(call, ATTR_API_VERSION, TYPED_FFI);
        set_printed(call, ATTR_BACKEND_CONFIG, typed);
    } else if (config != NULL && config->kind == MLIR_ATTR_DICTIONARY) {
        set_printed(call, ATTR_BACKEND_CONFIG, config);
    } else if (config != NULL && config->kind == MLIR_ATTR_STRING && config->string.size > 0) {
        import_set_string(call, ATTR_BACKEND_CONFIG, config->string.data, config->string.size);
    }
    const struct mlir_attr *rule = mlir_op_attr(op, "sdy.sharding_rule");
    if (rule != NULL) {
        struct text text;
        text_init(&text);
        mlir_print_attr(rule, &text);
        import_add_frontend_attribute(call, "xla.sdy.sharding_rule", text.data, text.size);
        text_finish(&text);
    }
}

/* called_computations: symbols of functions. */
static bool set_called(struct scope *scope, const struct mlir_op *op, struct instruction *call)
{
    const struct mlir_attr *list = mlir_op_attr(op, "called_computations");
    if (list == NULL || list->kind != MLIR_ATTR_ARRAY || list->array.count == 0) {
        return true;
    }
    int count = list->array.count;
    struct computation **called =
        arena_array(&scope->importer->module->arena, (size_t)count, sizeof(void *));
    for (int i = 0; i < count; i++) {
        const struct mlir_op *function = import_function_of(scope, op, list->array.elements[i]);
        called[i] = function != NULL ? import_function_computation(scope, op, function) : NULL;
        if (called[i] == NULL) {
            return false;
        }
    }
    instruction_set_called(call, count, called);
    return true;
}

/* The shape with the layout that a list of dimensions, minor first, gives it. */
static const struct shape *with_layout(struct scope *scope, const struct mlir_op *op,
                                       const struct shape *shape, const struct mlir_attr *attr)
{
    struct ints order;
    if (!mlir_attr_as_ints(scope->importer->file, attr, &order)) {
        import_fail(scope, op, "a layout must be a list of dimensions");
        return NULL;
    }
    if (!shape_is_array(shape)) {
        return shape;
    }
    bool seen[SHAPE_MAX_RANK] = {false};
    bool good = order.count == shape->rank;
    for (int i = 0; good && i < order.count; i++) {
        int64_t dimension = order.values[i];
        good = dimension >= 0 && dimension < shape->rank && !seen[dimension];
        if (good) {
            seen[dimension] = true;
        }
    }
    if (!good) {
        import_fail(scope, op, "a layout does not fit %s", shape_text(shape));
        return NULL;
    }
    struct layout layout = *shape->layout;
    layout.minor_to_major = order.values;
    return shape_with_layout(shape, layout_make(&layout));
}

/* operand_layouts become constraints, result_layouts part of the shape; only together, as in XLA.
 * `shape` is the result's. */
static bool set_layouts(struct scope *scope, const struct mlir_op *op, struct instruction *call,
                        const struct shape *shape)
{
    struct arena *arena = &scope->importer->module->arena;
    const struct mlir_attr *operands = mlir_op_attr(op, "operand_layouts");
    const struct mlir_attr *results = mlir_op_attr(op, "result_layouts");
    if (operands == NULL || results == NULL) {
        return true;
    }
    int count = shape_is_tuple(shape) ? shape->count : 1;
    if (operands->kind != MLIR_ATTR_ARRAY || results->kind != MLIR_ATTR_ARRAY ||
        operands->array.count != call->operand_count || results->array.count != count) {
        return import_fail(scope, op, "needs a layout for each operand and result");
    }
    const struct shape **shapes = arena_array(arena, (size_t)call->operand_count, sizeof *shapes);
    for (int i = 0; i < call->operand_count; i++) {
        shapes[i] = with_layout(scope, op, call->operands[i]->shape, operands->array.elements[i]);
        if (shapes[i] == NULL) {
            return false;
        }
    }
    struct attr attr = {.key = ATTR_OPERAND_LAYOUT_CONSTRAINTS};
    attr.shapes = (struct shapes){call->operand_count, shapes};
    instruction_set_attr(call, attr);
    const struct shape **elements = arena_array(arena, (size_t)count, sizeof *elements);
    for (int i = 0; i < count; i++) {
        elements[i] = with_layout(scope, op, shape_is_tuple(shape) ? shape->elements[i] : shape,
                                  results->array.elements[i]);
        if (elements[i] == NULL) {
            return false;
        }
    }
    call->shape = shape_is_tuple(shape) ? shape_tuple(count, elements) : elements[0];
    return true;
}

static bool copy_index(struct scope *scope, const struct mlir_dictionary *parameters,
                       const char *key, struct ints *index)
{
    const struct mlir_attr *attr = mlir_get(parameters, key);
    if (attr == NULL) {
        return true;
    }
    if (!mlir_attr_as_ints(scope->importer->file, attr, index)) {
        return false;
    }
    index->values = arena_copy(&scope->importer->module->arena, index->values,
                               (size_t)index->count * sizeof *index->values);
    return true;
}

/* #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0,
 * operand_tuple_indices = [1]> */
static bool set_aliases(struct scope *scope, const struct mlir_op *op, struct instruction *call)
{
    const struct mlir_attr *list = mlir_op_attr(op, "output_operand_aliases");
    if (list == NULL || list->kind != MLIR_ATTR_ARRAY || list->array.count == 0) {
        return true;
    }
    int count = list->array.count;
    struct output_alias *entries =
        arena_array(&scope->importer->module->arena, (size_t)count, sizeof *entries);
    for (int i = 0; i < count; i++) {
        const struct mlir_attr *element = list->array.elements[i];
        const struct mlir_dictionary *parameters = &element->dialect.parameters;
        if (element->kind != MLIR_ATTR_DIALECT) {
            return import_fail(scope, op, "output_operand_aliases is not understood");
        }
        const struct mlir_attr *operand = mlir_get(parameters, "operand_index");
        if (!copy_index(scope, parameters, "output_tuple_indices", &entries[i].output_index) ||
            !copy_index(scope, parameters, "operand_tuple_indices", &entries[i].operand_index)) {
            return import_fail(scope, op, "output_operand_aliases is not understood");
        }
        entries[i].operand =
            operand != NULL && operand->kind == MLIR_ATTR_INT ? operand->integer : 0;
    }
    struct attr attr = {.key = ATTR_OUTPUT_TO_OPERAND_ALIASING};
    attr.aliasing = (struct aliasing){count, entries};
    instruction_set_attr(call, attr);
    return true;
}

/* --- targets that are HLO's own ops --- */

/* What StableHLO has no op for and wrote as "mhlo.<op>", with its attributes in mhlo.attributes. */
static bool translate_mhlo(struct scope *scope, const struct mlir_op *op, const char *name,
                           struct instruction *const *operands)
{
    char text[64];
    size_t size = strlen(name);
    if (size >= sizeof text) {
        return import_refuse(scope, op, "mhlo.%.80s is not known", name);
    }
    for (size_t i = 0; i <= size; i++) {
        text[i] = name[i] == '_' ? '-' : name[i];
    }
    enum opcode opcode = opcode_from_text(text, size);
    const struct mlir_attr *attr = mlir_op_attr(op, "mhlo.attributes");
    static const struct mlir_dictionary none = {0};
    const struct mlir_dictionary *attributes =
        attr != NULL && attr->kind == MLIR_ATTR_DICTIONARY ? &attr->dictionary : &none;
    if (opcode == OPCODE_COUNT ||
        (opcode != OP_TOPK && strcmp(opcode_table[opcode].infer, "unary") != 0 &&
         strcmp(opcode_table[opcode].infer, "binary") != 0)) {
        return import_refuse(scope, op, "mhlo.%s is not translated to HLO", name);
    }
    if (opcode_table[opcode].arity != op->operand_count) {
        return import_fail(scope, op, "mhlo.%s takes %d operands", name,
                           opcode_table[opcode].arity);
    }
    struct instruction *call = import_add(scope, op, opcode, NULL, op->operand_count, operands);
    if (opcode == OP_TOPK) {
        const struct mlir_attr *k = mlir_get(attributes, "k");
        const struct mlir_attr *largest = mlir_get(attributes, "largest");
        if (k == NULL || k->kind != MLIR_ATTR_INT) {
            return import_fail(scope, op, "mhlo.topk needs k");
        }
        import_set_int(call, ATTR_K, k->integer);
        import_set_int(call, ATTR_LARGEST,
                       largest == NULL || largest->kind != MLIR_ATTR_BOOL || largest->integer != 0);
    }
    return build_finish(scope, op, call);
}

/* ragged_all_to_all: six operands; groups and channel stand in backend_config. */
static bool translate_ragged_all_to_all(struct scope *scope, const struct mlir_op *op,
                                        struct instruction *const *operands)
{
    const struct mlir_attr *config = mlir_op_attr(op, "backend_config");
    if (op->operand_count != 6 || config == NULL || config->kind != MLIR_ATTR_DICTIONARY) {
        return import_fail(scope, op, "ragged_all_to_all needs six operands and a dictionary");
    }
    const struct mlir_attr *lists = mlir_get(&config->dictionary, "replica_groups");
    const struct mlir_attr *channel = mlir_get(&config->dictionary, "channel_id");
    struct ints ids;
    if (lists == NULL || lists->kind != MLIR_ATTR_DENSE || lists->type->rank != 2 ||
        !mlir_attr_as_ints(scope->importer->file, lists, &ids) || channel == NULL ||
        channel->kind != MLIR_ATTR_INT) {
        return import_fail(scope, op, "ragged_all_to_all needs replica_groups and channel_id");
    }
    struct arena *arena = &scope->importer->module->arena;
    int count = (int)lists->type->sizes[0], size = (int)lists->type->sizes[1];
    struct ints *list = arena_array(arena, (size_t)count, sizeof *list);
    for (int i = 0; i < count; i++) {
        int64_t *members = arena_array(arena, (size_t)size, sizeof *members);
        int there = 0;
        for (int k = 0; k < size; k++) {
            int64_t id = ids.values[i * size + k];
            if (id >= 0) { /* −1 fills rows up */
                members[there++] = id;
            }
        }
        list[i] = (struct ints){there, members};
    }
    struct instruction *call = import_add(scope, op, OP_RAGGED_ALL_TO_ALL, NULL, 6, operands);
    struct attr attr = {.key = ATTR_REPLICA_GROUPS};
    attr.groups = arena_alloc(arena, sizeof *attr.groups);
    attr.groups->form = GROUPS_LIST;
    attr.groups->mesh.maximal_device = -1;
    attr.groups->list = (struct lists){count, list, false};
    instruction_set_attr(call, attr);
    import_set_int(call, ATTR_CHANNEL_ID, channel->integer);
    return build_finish(scope, op, call);
}

/* --- custom_call --- */

static const char *target_of(const struct mlir_op *op)
{
    const struct mlir_attr *target = mlir_op_attr(op, "call_target_name");
    if (target == NULL || (target->kind != MLIR_ATTR_STRING && target->kind != MLIR_ATTR_SYMBOL)) {
        return NULL;
    }
    return target->string.data;
}

bool translate_custom_call(struct scope *scope, const struct mlir_op *op)
{
    const char *target = target_of(op);
    if (target == NULL) {
        return import_fail(scope, op, "needs a call_target_name");
    }
    bool is_check = strncmp(target, "check.", strlen("check.")) == 0;
    if (is_check && scope->importer->options->checks == MLIR_CHECKS_DROP) {
        if (op->result_count == 0) {
            return true;
        }
        is_check = false;
    }
    if (import_is_exact_top_k(op, target)) {
        return import_exact_top_k(scope, op);
    }
    bool handled = false;
    if (!import_dynamic_call(scope, op, target, &handled) || handled) {
        return scope->importer->err->code == ERROR_NONE;
    }
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL) {
        return false;
    }
    if (strncmp(target, "mhlo.", strlen("mhlo.")) == 0) {
        return translate_mhlo(scope, op, target + strlen("mhlo."), operands);
    }
    if (strcmp(target, "ragged_all_to_all") == 0) {
        return translate_ragged_all_to_all(scope, op, operands);
    }
    const struct shape *shape = build_results_shape(scope, op, NULL);
    int64_t version = 1;
    bool effect = is_check;
    if (shape == NULL || !read_api_version(scope, op, &version) ||
        !import_bool_attr(scope, op, "has_side_effect", &effect)) {
        return false;
    }
    struct instruction *call =
        import_add(scope, op, OP_CUSTOM_CALL, shape, op->operand_count, operands);
    import_set_string(call, ATTR_CUSTOM_CALL_TARGET, target, strlen(target));
    import_set_int(call, ATTR_API_VERSION, version);
    set_backend_config(op, call);
    import_set_int(call, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, effect || is_check);
    const struct mlir_attr *literal = mlir_op_attr(op, "mhlo.literal");
    if (literal != NULL) {
        struct literal *value = import_dense(scope, op, literal);
        if (value == NULL) {
            return false;
        }
        instruction_set_attr(call, (struct attr){.key = ATTR_LITERAL, .literal = value});
    }
    return set_called(scope, op, call) && set_layouts(scope, op, call, shape) &&
           set_aliases(scope, op, call) && import_bind_results(scope, op, call);
}

/* --- composite --- */

/* A call of its decomposition that says which composite it is. */
bool translate_composite(struct scope *scope, const struct mlir_op *op)
{
    const char *name = NULL;
    int64_t version = 0;
    if (!import_word_attr(scope, op, "name", &name) ||
        !import_int_attr(scope, op, "version", &version)) {
        return false;
    }
    bool is_chlo = false;
    if (name != NULL && (!import_chlo_composite(scope, op, name, &is_chlo) || is_chlo)) {
        return scope->importer->err->code == ERROR_NONE;
    }
    const struct mlir_op *function =
        import_function_of(scope, op, mlir_op_attr(op, "decomposition"));
    if (function == NULL) {
        return false;
    }
    if (name == NULL || op->region_count != 0) {
        return import_refuse(scope, op, "needs a name, and takes no regions");
    }
    struct instruction **operands = import_operands(scope, op);
    struct instruction **results =
        arena_array(&scope->importer->module->arena, (size_t)op->result_count + 1, sizeof *results);
    if (operands == NULL ||
        !import_call(scope, op, function, op->operand_count, operands, results)) {
        return false;
    }
    /* The call, if the function was not translated in place. */
    for (int i = scope->first; i < scope->computation->count; i++) {
        struct instruction *call = scope->computation->instructions[i];
        if (call->opcode != OP_CALL || function_has_dynamic(scope->importer, function)) {
            continue;
        }
        import_set_int(call, ATTR_IS_COMPOSITE, 1);
        struct text text;
        text_init(&text);
        const struct mlir_attr *attributes = mlir_op_attr(op, "composite_attributes");
        if (attributes != NULL) {
            mlir_print_attr(attributes, &text);
        } else {
            text_append(&text, "{}");
        }
        import_add_frontend_attribute(call, "composite.attributes", text.data, text.size);
        text_clear(&text);
        text_int(&text, version);
        import_add_frontend_attribute(call, "composite.version", text.data, text.size);
        text_finish(&text);
        import_add_frontend_attribute(call, "composite.name", name, strlen(name));
    }
    for (int i = 0; i < op->result_count; i++) {
        import_bind(scope, &op->results[i], results[i]);
    }
    return true;
}
