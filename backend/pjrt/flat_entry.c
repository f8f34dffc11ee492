/* Entries without nested tuples (pjrt.h). */
#include <stdlib.h>
#include <string.h>

#include "backend/pjrt/pjrt.h"
#include "hlo/module.h"
#include "hlo/sharding.h"

static bool is_nested(const struct shape *shape)
{
    bool nested = false;
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        nested |= shape_is_tuple(shape->elements[i]);
    }
    return nested;
}

static bool has_token(const struct shape *shape)
{
    bool has = shape->type == TYPE_TOKEN;
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        has |= has_token(shape->elements[i]);
    }
    return has;
}

bool module_needs_flat_entry(const struct module *module)
{
    const struct computation *entry = module->entry;
    bool needs = is_nested(entry->root->shape);
    for (int i = 0; i < entry->parameter_count; i++) {
        const struct shape *shape = entry->parameters[i]->shape;
        needs |= is_nested(shape) || has_token(shape) ||
                 (shape_is_tuple(shape) && entry->parameter_count > 1);
    }
    return needs;
}

/* The entry under construction. */
struct builder {
    struct computation *computation;
    struct module *module;
    int64_t next_parameter;
    const struct sharding *sharding; /* of the old parameter, and the next of its leaves */
    int leaf;
    struct instruction **leaves; /* of the result */
    size_t leaf_count, leaf_capacity;
};

static struct instruction *add(struct builder *builder, const char *what, enum opcode opcode,
                               const struct shape *shape, int count,
                               struct instruction *const *operands)
{
    const char *name = arena_printf(&builder->module->arena, "flat_entry.%s.%d", what,
                                    builder->computation->count);
    return instruction_add(builder->computation, name, opcode, shape, count, operands);
}

static void set_sharding(struct instruction *instruction, const struct sharding *sharding)
{
    if (sharding != NULL) {
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_SHARDING, .sharding = sharding});
    }
}

/* A value of the shape, made of new parameters. */
static struct instruction *add_parameters(struct builder *builder, const struct shape *shape)
{
    if (shape->type == TYPE_TOKEN) {
        builder->leaf++;
        return add(builder, "token", OP_AFTER_ALL, shape, 0, NULL);
    }
    if (!shape_is_tuple(shape)) {
        struct instruction *parameter = add(builder, "parameter", OP_PARAMETER, shape, 0, NULL);
        parameter->number = builder->next_parameter++;
        set_sharding(parameter, sharding_leaf(builder->sharding, builder->leaf++));
        return parameter;
    }
    struct instruction **elements =
        arena_array(&builder->module->arena, (size_t)shape->count + 1, sizeof(*elements));
    for (int i = 0; i < shape->count; i++) {
        elements[i] = add_parameters(builder, shape->elements[i]);
    }
    return add(builder, "tuple", OP_TUPLE, shape, shape->count, elements);
}

/* The leaves of a value, into builder->leaves. */
static void add_leaves(struct builder *builder, struct instruction *value)
{
    if (!shape_is_tuple(value->shape)) {
        builder->leaves = grow(builder->leaves, builder->leaf_count, &builder->leaf_capacity,
                               sizeof(*builder->leaves));
        builder->leaves[builder->leaf_count++] = value;
        return;
    }
    for (int i = 0; i < value->shape->count; i++) {
        struct instruction *element =
            add(builder, "element", OP_GET_TUPLE_ELEMENT, value->shape->elements[i], 1, &value);
        instruction_set_attr(element, (struct attr){.key = ATTR_INDEX, .integer = i});
        add_leaves(builder, element);
    }
}

bool module_flatten_entry(struct module *module, struct error *err)
{
    struct computation *old = module->entry;
    struct builder builder = {.module = module,
                              .computation = computation_add(module, "flat_entry")};
    struct instruction **arguments =
        arena_array(&module->arena, (size_t)old->parameter_count + 1, sizeof(*arguments));
    for (int i = 0; i < old->parameter_count; i++) {
        builder.sharding = attr_sharding(old->parameters[i]);
        builder.leaf = 0;
        arguments[i] = add_parameters(&builder, module_parameter_shape(module, i));
    }
    struct instruction *call = add(&builder, "call", OP_CALL, module_result_shape(module),
                                   old->parameter_count, arguments);
    instruction_set_called(call, 1, &old);
    add_leaves(&builder, call);
    if (shape_is_tuple(call->shape)) {
        size_t count = builder.leaf_count;
        const struct shape **shapes = arena_array(&module->arena, count + 1, sizeof(*shapes));
        for (size_t i = 0; i < count; i++) {
            shapes[i] = builder.leaves[i]->shape;
        }
        builder.computation->root =
            add(&builder, "result", OP_TUPLE, shape_tuple((int)count, shapes), (int)count,
                builder.leaves);
    } else {
        builder.computation->root = call;
    }
    set_sharding(builder.computation->root, attr_sharding(old->root));
    free(builder.leaves);
    /* What named the old parameters by number is left out; none of it changes values. */
    struct module_config *config = &module->config;
    config->has_entry_layout = false;
    config->parameter_count = 0;
    config->result_shape = NULL;
    config->alias_count = config->donor_count = config->prefetch_count = 0;
    config->propagate_to_parameters = config->propagate_to_output = (struct ints){0};
    config->spmd_output_sharding = NULL;
    config->spmd_parameter_count = 0;
    module->entry = builder.computation;
    return module_finish(module, err);
}
