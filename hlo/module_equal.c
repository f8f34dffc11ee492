/* Equality and hash of modules. */
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/literal.h"
#include "hlo/module.h"

static bool string_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool differ(struct error *err, const struct instruction *a, const char *what)
{
    return error_at(err, instruction_where(a), "%s in %s differs: %s", a->name, a->parent->name,
                    what);
}

/* The attribute at *i or after it that says more than its absence would; NULL at the end. */
static const struct attr *next_attr(const struct instruction *instruction, int *i)
{
    while (*i < instruction->attr_count) {
        const struct attr *attr = &instruction->attrs[(*i)++];
        if (!attr_is_default(instruction, attr)) {
            return attr;
        }
    }
    return NULL;
}

static bool instruction_equal(const struct instruction *a, const struct instruction *b,
                              struct error *err)
{
    if (!string_equal(a->name, b->name)) {
        return differ(err, a, "name");
    }
    if (a->opcode != b->opcode) {
        return differ(err, a, "opcode");
    }
    if (a->shape != b->shape) {
        return differ(err, a, "shape");
    }
    if (a->number != b->number) {
        return differ(err, a, "parameter number");
    }
    if (a->operand_count != b->operand_count || a->called_count != b->called_count ||
        a->control_count != b->control_count) {
        return differ(err, a, "number of operands, called computations or control predecessors");
    }
    for (int i = 0; i < a->operand_count; i++) {
        if (a->operands[i]->id != b->operands[i]->id) {
            return differ(err, a, "operands");
        }
    }
    for (int i = 0; i < a->called_count; i++) {
        if (!string_equal(a->called[i]->name, b->called[i]->name)) {
            return differ(err, a, "called computations");
        }
    }
    for (int i = 0; i < a->control_count; i++) {
        if (a->control_predecessors[i]->id != b->control_predecessors[i]->id) {
            return differ(err, a, "control predecessors");
        }
    }
    if ((a->literal == NULL) != (b->literal == NULL) ||
        (a->literal != NULL && !literal_equal(a->literal, b->literal))) {
        return differ(err, a, "literal");
    }
    int i = 0, k = 0;
    for (;;) {
        const struct attr *x = next_attr(a, &i), *y = next_attr(b, &k);
        if (x == NULL && y == NULL) {
            return true;
        }
        if (x == NULL || y == NULL || x->key != y->key) {
            const struct attr *attr = y == NULL || (x != NULL && x->key < y->key) ? x : y;
            return error_at(err, instruction_where(a), "%s in %s differs: only one has %s", a->name,
                            a->parent->name, attr_table[attr->key].text);
        }
        if (!attr_equal(x, y)) {
            return differ(err, a, attr_table[x->key].text);
        }
    }
}

static bool computation_equal(const struct computation *a, const struct computation *b,
                              struct error *err)
{
    struct where where = {a->module->source, a->line, a->column};
    if (!string_equal(a->name, b->name)) {
        return error_at(err, where, "computations differ: %s, %s", a->name, b->name);
    }
    if (a->count != b->count || a->root->id != b->root->id ||
        !string_equal(a->execution_thread, b->execution_thread)) {
        return error_at(err, where,
                        "computation %s differs: instruction count, root or execution thread",
                        a->name);
    }
    for (int i = 0; i < a->count; i++) {
        if (!instruction_equal(a->instructions[i], b->instructions[i], err)) {
            return false;
        }
    }
    return true;
}

static bool sharding_list_equal(const struct sharding *const *a, const struct sharding *const *b,
                                int count)
{
    for (int i = 0; i < count; i++) {
        if (!sharding_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static const char *config_difference(const struct module_config *a, const struct module_config *b)
{
    if (a->is_scheduled != b->is_scheduled) {
        return "is_scheduled";
    }
    if (a->alias_passthrough_params != b->alias_passthrough_params) {
        return "alias_passthrough_params";
    }
    if (a->replica_count != b->replica_count || a->partition_count != b->partition_count) {
        return "replica_count or num_partitions";
    }
    if (a->parameter_count != b->parameter_count || a->result_shape != b->result_shape ||
        (a->parameter_count > 0 &&
         memcmp(a->parameter_shapes, b->parameter_shapes,
                (size_t)a->parameter_count * sizeof *a->parameter_shapes) != 0)) {
        return "entry_computation_layout";
    }
    if (a->alias_count != b->alias_count || a->donor_count != b->donor_count ||
        a->prefetch_count != b->prefetch_count) {
        return "input_output_alias, buffer_donor or cross-program prefetches";
    }
    for (int i = 0; i < a->alias_count; i++) {
        const struct input_output_alias *x = &a->aliases[i], *y = &b->aliases[i];
        if (!ints_equal(x->output_index, y->output_index) || x->parameter != y->parameter ||
            !ints_equal(x->parameter_index, y->parameter_index) || x->kind != y->kind) {
            return "input_output_alias";
        }
    }
    for (int i = 0; i < a->donor_count; i++) {
        if (a->donors[i].parameter != b->donors[i].parameter ||
            !ints_equal(a->donors[i].parameter_index, b->donors[i].parameter_index)) {
            return "buffer_donor";
        }
    }
    for (int i = 0; i < a->prefetch_count; i++) {
        if (a->prefetches[i].parameter != b->prefetches[i].parameter ||
            a->prefetches[i].offset != b->prefetches[i].offset ||
            !ints_equal(a->prefetches[i].index, b->prefetches[i].index)) {
            return "cross-program prefetches";
        }
    }
    if (!ints_equal(a->propagate_to_parameters, b->propagate_to_parameters) ||
        !ints_equal(a->propagate_to_output, b->propagate_to_output)) {
        return "allow_spmd_sharding_propagation";
    }
    struct attr x = {.key = ATTR_FRONTEND_ATTRIBUTES, .string_map = a->frontend_attributes};
    struct attr y = {.key = ATTR_FRONTEND_ATTRIBUTES, .string_map = b->frontend_attributes};
    if (!attr_equal(&x, &y)) {
        return "frontend_attributes";
    }
    if (!bytes_equal(a->origin_recovery_table, b->origin_recovery_table) ||
        !bytes_equal(a->debug_attributes, b->debug_attributes)) {
        return "origin_recovery_table or debug_attributes";
    }
    if (!sharding_equal(a->spmd_output_sharding, b->spmd_output_sharding) ||
        a->spmd_parameter_count != b->spmd_parameter_count ||
        !sharding_list_equal(a->spmd_parameters_shardings, b->spmd_parameters_shardings,
                             a->spmd_parameter_count)) {
        return "SPMD shardings";
    }
    return NULL;
}

static bool strings_equal(const char *const *a, const char *const *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (!string_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static bool frames_equal(const struct frame_tables *a, const struct frame_tables *b)
{
    return a->file_name_count == b->file_name_count &&
           a->function_name_count == b->function_name_count &&
           a->location_count == b->location_count && a->frame_count == b->frame_count &&
           strings_equal(a->file_names, b->file_names, a->file_name_count) &&
           strings_equal(a->function_names, b->function_names, a->function_name_count) &&
           (a->location_count == 0 ||
            memcmp(a->locations, b->locations, (size_t)a->location_count * sizeof *a->locations) ==
                0) &&
           (a->frame_count == 0 ||
            memcmp(a->frames, b->frames, (size_t)a->frame_count * sizeof *a->frames) == 0);
}

bool module_equal(const struct module *a, const struct module *b, struct error *err)
{
    struct where header = {a->source, 0, 0};
    if (!string_equal(a->name, b->name)) {
        return error_at(err, header, "module names differ: %s, %s", a->name, b->name);
    }
    const char *difference = config_difference(&a->config, &b->config);
    if (difference != NULL) {
        return error_at(err, header, "module headers differ: %s", difference);
    }
    if (!frames_equal(&a->frames, &b->frames)) {
        return error_at(err, header, "stack-frame tables differ");
    }
    if (a->count != b->count || !string_equal(a->entry->name, b->entry->name)) {
        return error_at(err, header, "number of computations or entry differs");
    }
    for (int c = 0; c < a->count; c++) {
        if (!computation_equal(a->computations[c], b->computations[c], err)) {
            return false;
        }
    }
    return true;
}

static bool is_meaningful(enum attr_key key)
{
    return key != ATTR_METADATA && key != ATTR_ORIGIN && key != ATTR_STATISTICS;
}

uint64_t module_hash(const struct module *module)
{
    uint64_t hash =
        (uint64_t)module->config.replica_count * 31 + (uint64_t)module->config.partition_count;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        hash = hash_u64((uint64_t)computation->count, hash);
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            hash = hash_u64((uint64_t)instruction->opcode, hash);
            hash = hash_u64(instruction->shape->hash, hash);
            hash = hash_u64((uint64_t)instruction->number, hash);
            for (int k = 0; k < instruction->operand_count; k++) {
                hash = hash_u64((uint64_t)instruction->operands[k]->id, hash);
            }
            for (int k = 0; k < instruction->called_count; k++) {
                hash = hash_u64((uint64_t)instruction->called[k]->id, hash);
            }
            for (int k = 0; k < instruction->attr_count; k++) {
                const struct attr *attr = &instruction->attrs[k];
                if (is_meaningful(attr->key) && !attr_is_default(instruction, attr)) {
                    hash = hash_u64(attr_hash(attr), hash);
                }
            }
            if (instruction->literal != NULL) {
                hash = hash_u64(literal_hash(instruction->literal), hash);
            }
        }
        hash = hash_u64((uint64_t)computation->root->id, hash);
    }
    return hash_u64((uint64_t)module->entry->id, hash);
}
