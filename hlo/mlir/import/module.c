/* What the attributes of an MLIR module say of HLO's.
 * Source: xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc (ConvertMlirHloToHlo),
 * module_attributes_exporter.cc, attribute_exporter.cc. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/import/import_internal.h"

static bool fail(struct importer *importer, const struct mlir_op *module, const char *key)
{
    return error_at(importer->err, mlir_where(importer->file, module),
                    "the module's attribute %s is not understood", key);
}

static struct ints copy_ints(struct importer *importer, struct ints ints)
{
    ints.values =
        arena_copy(&importer->module->arena, ints.values, (size_t)ints.count * sizeof *ints.values);
    return ints;
}

typedef bool module_attribute(struct importer *importer, const struct mlir_op *module,
                              const struct mlir_attr *attr);

static bool set_partitions(struct importer *importer, const struct mlir_op *module,
                           const struct mlir_attr *attr)
{
    (void)module;
    importer->module->config.partition_count = attr->integer;
    return attr->kind == MLIR_ATTR_INT && attr->integer > 0;
}

static bool set_replicas(struct importer *importer, const struct mlir_op *module,
                         const struct mlir_attr *attr)
{
    (void)module;
    importer->module->config.replica_count = attr->integer;
    return attr->kind == MLIR_ATTR_INT && attr->integer > 0;
}

static bool set_frontend(struct importer *importer, const struct mlir_op *module,
                         const struct mlir_attr *attr)
{
    (void)module;
    if (attr->kind != MLIR_ATTR_DICTIONARY) {
        return false;
    }
    importer->module->config.frontend_attributes = import_string_map(importer, &attr->dictionary);
    return true;
}

static bool set_auto_spmd(struct importer *importer, const struct mlir_op *module,
                          const struct mlir_attr *attr)
{
    (void)module;
    importer->module->config.use_auto_spmd_partitioning = attr->integer != 0;
    return attr->kind == MLIR_ATTR_BOOL;
}

static bool set_output_sharding(struct importer *importer, const struct mlir_op *module,
                                const struct mlir_attr *attr)
{
    if (attr->kind != MLIR_ATTR_STRING) {
        return false;
    }
    importer->module->config.spmd_output_sharding = import_sharding(importer, module, attr->string);
    return importer->module->config.spmd_output_sharding != NULL;
}

static bool set_parameter_shardings(struct importer *importer, const struct mlir_op *module,
                                    const struct mlir_attr *attr)
{
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    const struct sharding **list =
        arena_array(&importer->module->arena, (size_t)attr->array.count, sizeof *list);
    for (int i = 0; i < attr->array.count; i++) {
        const struct mlir_attr *element = attr->array.elements[i];
        list[i] = element->kind == MLIR_ATTR_STRING
                      ? import_sharding(importer, module, element->string)
                      : NULL;
        if (list[i] == NULL) {
            return false;
        }
    }
    importer->module->config.spmd_parameters_shardings = list;
    importer->module->config.spmd_parameter_count = attr->array.count;
    return true;
}

/* {alias = {kind = "may_alias", parameter_number = 0, parameter_index = array<…>},
 * output_index = array<…>} */
static bool read_alias(struct importer *importer, const struct mlir_attr *attr,
                       struct input_output_alias *alias)
{
    const struct mlir_attr *inner =
        attr->kind == MLIR_ATTR_DICTIONARY ? mlir_get(&attr->dictionary, "alias") : NULL;
    if (inner == NULL || inner->kind != MLIR_ATTR_DICTIONARY) {
        return false;
    }
    const struct mlir_attr *output = mlir_get(&attr->dictionary, "output_index");
    const struct mlir_attr *index = mlir_get(&inner->dictionary, "parameter_index");
    const struct mlir_attr *number = mlir_get(&inner->dictionary, "parameter_number");
    const struct mlir_attr *kind = mlir_get(&inner->dictionary, "kind");
    if (output == NULL || index == NULL || number == NULL || kind == NULL ||
        number->kind != MLIR_ATTR_INT || kind->kind != MLIR_ATTR_STRING ||
        !mlir_attr_as_ints(importer->file, output, &alias->output_index) ||
        !mlir_attr_as_ints(importer->file, index, &alias->parameter_index)) {
        return false;
    }
    alias->output_index = copy_ints(importer, alias->output_index);
    alias->parameter_index = copy_ints(importer, alias->parameter_index);
    alias->parameter = number->integer;
    alias->kind = strcmp(kind->string.data, "must_alias") == 0 ? ALIAS_MUST : ALIAS_MAY;
    return true;
}

static bool set_aliases(struct importer *importer, const struct mlir_op *module,
                        const struct mlir_attr *attr)
{
    (void)module;
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    struct input_output_alias *list =
        arena_array(&importer->module->arena, (size_t)attr->array.count, sizeof *list);
    for (int i = 0; i < attr->array.count; i++) {
        if (!read_alias(importer, attr->array.elements[i], &list[i])) {
            return false;
        }
    }
    importer->module->config.aliases = list;
    importer->module->config.alias_count = attr->array.count;
    return true;
}

/* #mhlo.cross_program_prefetch<parameter = 0, indices = [0], offset = 5> */
static bool set_prefetches(struct importer *importer, const struct mlir_op *module,
                           const struct mlir_attr *attr)
{
    (void)module;
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    struct cross_program_prefetch *list =
        arena_array(&importer->module->arena, (size_t)attr->array.count, sizeof *list);
    for (int i = 0; i < attr->array.count; i++) {
        const struct mlir_attr *element = attr->array.elements[i];
        if (element->kind != MLIR_ATTR_DIALECT) {
            return false;
        }
        const struct mlir_dictionary *parameters = &element->dialect.parameters;
        const struct mlir_attr *parameter = mlir_get(parameters, "parameter");
        const struct mlir_attr *indices = mlir_get(parameters, "indices");
        const struct mlir_attr *offset = mlir_get(parameters, "offset");
        if (parameter == NULL || parameter->kind != MLIR_ATTR_INT ||
            (indices != NULL && !mlir_attr_as_ints(importer->file, indices, &list[i].index)) ||
            (offset != NULL && offset->kind != MLIR_ATTR_INT)) {
            return false;
        }
        list[i].parameter = parameter->integer;
        list[i].index = copy_ints(importer, list[i].index);
        list[i].offset = offset != NULL ? offset->integer : 0;
    }
    importer->module->config.prefetches = list;
    importer->module->config.prefetch_count = attr->array.count;
    return true;
}

/* --- layouts of the entry --- */

/* The shape with a layout: a list of dimensions, minor first; for a tuple, an array of them. An
 * empty list is the default. NULL if it does not fit. */
static const struct shape *with_layout(struct importer *importer, const struct shape *shape,
                                       const struct mlir_attr *attr)
{
    if (shape_is_tuple(shape)) {
        if (attr->kind != MLIR_ATTR_ARRAY || attr->array.count != shape->count) {
            return NULL;
        }
        const struct shape **elements =
            arena_array(&importer->module->arena, (size_t)shape->count, sizeof *elements);
        for (int i = 0; i < shape->count; i++) {
            elements[i] = with_layout(importer, shape->elements[i], attr->array.elements[i]);
            if (elements[i] == NULL) {
                return NULL;
            }
        }
        return shape_tuple(shape->count, elements);
    }
    struct ints order;
    if (!mlir_attr_as_ints(importer->file, attr, &order)) {
        return NULL;
    }
    if (!shape_is_array(shape) || order.count == 0) {
        return shape;
    }
    struct layout layout = *shape->layout;
    layout.rank = order.count;
    layout.minor_to_major = order.values;
    bool seen[SHAPE_MAX_RANK] = {false};
    for (int i = 0; i < order.count; i++) {
        if (order.count != shape->rank || order.values[i] < 0 || order.values[i] >= shape->rank ||
            seen[order.values[i]]) {
            return NULL;
        }
        seen[order.values[i]] = true;
    }
    return shape_with_layout(shape, layout_make(&layout));
}

void import_start_layout(struct importer *importer)
{
    struct module_config *config = &importer->module->config;
    const struct computation *entry = importer->module->entry;
    if (config->has_entry_layout) {
        return;
    }
    const struct shape **shapes =
        arena_array(&importer->module->arena, (size_t)entry->parameter_count, sizeof *shapes);
    for (int i = 0; i < entry->parameter_count; i++) {
        shapes[i] = entry->parameters[i]->shape;
    }
    config->has_entry_layout = true;
    config->parameter_count = entry->parameter_count;
    config->parameter_shapes = shapes;
    config->result_shape = entry->root->shape;
}

const struct shape *import_layout_mode(struct importer *importer, const struct mlir_op *function,
                                       const struct shape *shape, const struct mlir_attr *mode)
{
    if (mode == NULL || mode->kind != MLIR_ATTR_STRING || mode->string.data[0] != '{' ||
        !shape_is_array(shape)) {
        return shape;
    }
    struct text text;
    text_init(&text);
    shape_print(shape, false, &text);
    text_append(&text, mode->string.data);
    size_t used = 0;
    struct error err = {0};
    const struct shape *with = shape_parse(text.data, text.size, &used, &err);
    bool good = with != NULL && used == text.size && shape_check(with, &err);
    text_finish(&text);
    if (!good) {
        error_at(importer->err, mlir_where(importer->file, function),
                 "mhlo.layout_mode %s does not fit %s", mode->string.data, shape_text(shape));
        return NULL;
    }
    return with;
}

static bool set_parameter_layouts(struct importer *importer, const struct mlir_op *module,
                                  const struct mlir_attr *attr)
{
    (void)module;
    struct module_config *config = &importer->module->config;
    import_start_layout(importer);
    if (attr->kind != MLIR_ATTR_ARRAY || attr->array.count != config->parameter_count) {
        return false;
    }
    const struct shape **shapes =
        arena_array(&importer->module->arena, (size_t)attr->array.count, sizeof *shapes);
    for (int i = 0; i < attr->array.count; i++) {
        shapes[i] = with_layout(importer, config->parameter_shapes[i], attr->array.elements[i]);
        if (shapes[i] == NULL) {
            return false;
        }
    }
    config->parameter_shapes = shapes;
    return true;
}

static bool set_result_layout(struct importer *importer, const struct mlir_op *module,
                              const struct mlir_attr *attr)
{
    (void)module;
    struct module_config *config = &importer->module->config;
    import_start_layout(importer);
    if (attr->kind != MLIR_ATTR_ARRAY) {
        return false;
    }
    const struct shape *shape = with_layout(
        importer, config->result_shape,
        attr->array.count == 1 && !shape_is_tuple(config->result_shape) ? attr->array.elements[0]
                                                                        : attr);
    if (shape == NULL) {
        return false;
    }
    config->result_shape = shape;
    return true;
}

/* Attributes that say nothing that a module here can hold (tiles, is_dynamic) are passed over. */
static const struct {
    const char *key;
    module_attribute *set;
} attributes[] = {
    {"mhlo.num_partitions", set_partitions},
    {"mhlo.num_replicas", set_replicas},
    {"mhlo.frontend_attributes", set_frontend},
    {"mhlo.use_auto_spmd_partitioning", set_auto_spmd},
    {"mhlo.spmd_output_sharding", set_output_sharding},
    {"mhlo.spmd_parameters_shardings", set_parameter_shardings},
    {"mhlo.input_output_alias", set_aliases},
    {"mhlo.cross_program_prefetches", set_prefetches},
    {"mhlo.xla_entry_computation_parameter_layouts", set_parameter_layouts},
    {"mhlo.xla_entry_computation_result_layout", set_result_layout},
};

bool import_module_attributes(struct importer *importer, const struct mlir_op *module)
{
    for (; module != NULL; module = module_around(module)) {
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
            const struct mlir_attr *attr = mlir_op_attr(module, attributes[i].key);
            if (attr != NULL && !attributes[i].set(importer, module, attr)) {
                return fail(importer, module, attributes[i].key);
            }
        }
    }
    return true;
}
