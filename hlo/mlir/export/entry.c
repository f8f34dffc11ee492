/* HLO → StableHLO: what the entry says of its arguments and results. */
#include "hlo/mlir/export/export.h"

/* A list of `count` empty dictionaries. */
static struct mlir_attr *dictionaries(struct mlir_file *file, int count)
{
    struct mlir_attr *list = mlir_attr_new(file, MLIR_ATTR_ARRAY);
    list->array.count = count;
    list->array.elements = arena_array(&file->arena, (size_t)count + 1, sizeof(struct mlir_attr *));
    for (int i = 0; i < count; i++) {
        list->array.elements[i] = mlir_attr_new(file, MLIR_ATTR_DICTIONARY);
    }
    return list;
}

static void set_unless_empty(struct mlir_file *file, struct mlir_op *function, const char *key,
                             struct mlir_attr *list)
{
    for (int i = 0; i < list->array.count; i++) {
        if (list->array.elements[i]->dictionary.count > 0) {
            mlir_set(file, &function->attrs, key, list);
            return;
        }
    }
}

/* The number of the leaf of a shape that an index leads to, −1 if none. */
static int leaf_number(const struct shape *shape, struct ints index)
{
    int number = 0;
    for (int i = 0; i < index.count; i++) {
        int64_t at = index.values[i];
        if (!shape_is_tuple(shape) || at < 0 || at >= shape->count) {
            return -1;
        }
        for (int64_t j = 0; j < at; j++) {
            number += shape_leaves(shape->elements[j]);
        }
        shape = shape->elements[at];
    }
    return shape_is_tuple(shape) ? -1 : number;
}

/* The leaf of the parameters, one behind the other, −1 if there is none. */
static int argument_number(const struct computation *entry, int64_t parameter, struct ints index)
{
    if (parameter < 0 || parameter >= entry->parameter_count) {
        return -1;
    }
    int leaf = leaf_number(entry->parameters[parameter]->shape, index);
    for (int64_t i = 0; leaf >= 0 && i < parameter; i++) {
        leaf += shape_leaves(entry->parameters[i]->shape);
    }
    return leaf;
}

/* The sharding of a tuple has one element a leaf; another one is that of every leaf. */
static void set_shardings(struct mlir_file *file, struct mlir_attr *list, int first, int count,
                          const struct instruction *of)
{
    const struct attr *attr = attr_get(of, ATTR_SHARDING);
    for (int i = 0; attr != NULL && i < count; i++) {
        const struct sharding *sharding = attr->sharding;
        if (sharding->form == SHARDING_TUPLE) {
            if (sharding->count != count) {
                return;
            }
            sharding = sharding->elements[i];
        }
        mlir_set(file, &list->array.elements[first + i]->dictionary, "mhlo.sharding",
                 export_sharding(file, sharding));
    }
}

/* HLO's must-alias is a may-alias here: StableHLO has no other. */
static void set_memory(struct exporter *exporter, struct mlir_attr *list)
{
    struct mlir_file *file = exporter->file;
    const struct computation *entry = exporter->module->entry;
    const struct module_config *config = &exporter->module->config;
    for (int i = 0; i < config->alias_count; i++) {
        const struct input_output_alias *alias = &config->aliases[i];
        int argument = argument_number(entry, alias->parameter, alias->parameter_index);
        int result = leaf_number(entry->root->shape, alias->output_index);
        if (argument >= 0 && result >= 0) {
            mlir_set(file, &list->array.elements[argument]->dictionary, "tf.aliasing_output",
                     mlir_attr_int(file, result, mlir_integer(file, 32, MLIR_SIGNLESS)));
        }
    }
    for (int i = 0; i < config->donor_count; i++) {
        const struct buffer_donor *donor = &config->donors[i];
        int argument = argument_number(entry, donor->parameter, donor->parameter_index);
        if (argument >= 0) {
            struct mlir_attr *yes = mlir_attr_new(file, MLIR_ATTR_BOOL);
            yes->type = mlir_integer(file, 1, MLIR_SIGNLESS);
            yes->integer = 1;
            mlir_set(file, &list->array.elements[argument]->dictionary, "jax.buffer_donor", yes);
        }
    }
}

void export_entry_attributes(struct exporter *exporter, struct mlir_op *function)
{
    struct mlir_file *file = exporter->file;
    const struct computation *entry = exporter->module->entry;
    int result_count = shape_leaves(entry->root->shape), next = 0;
    struct mlir_attr *arguments =
        dictionaries(file, function->regions[0].blocks[0]->argument_count);
    struct mlir_attr *results = dictionaries(file, result_count);
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct instruction *parameter = entry->parameters[i];
        const struct attr *frontend = attr_get(parameter, ATTR_FRONTEND_ATTRIBUTES);
        int count = shape_leaves(parameter->shape);
        set_shardings(file, arguments, next, count, parameter);
        for (int j = 0; frontend != NULL && j < count; j++) {
            mlir_set(file, &arguments->array.elements[next + j]->dictionary,
                     "mhlo.frontend_attributes", export_strings(file, &frontend->string_map));
        }
        next += count;
    }
    set_shardings(file, results, 0, result_count, entry->root);
    set_memory(exporter, arguments);
    set_unless_empty(file, function, "arg_attrs", arguments);
    set_unless_empty(file, function, "res_attrs", results);
}
