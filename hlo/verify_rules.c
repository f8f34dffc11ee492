/* Verifier: rules of single opcodes and of the module beyond shapes.
 * Source: xla/service/hlo_verifier.cc. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/verify_internal.h"

#define REPORT(...) verify_report(findings, instruction, instruction_where(instruction), __VA_ARGS__)

/* How many computations an opcode calls; −1 = any number. */
static int called_wanted(enum opcode opcode)
{
    switch (opcode) {
    case OP_WHILE:
    case OP_SELECT_AND_SCATTER:
        return 2;
    case OP_CALL:
    case OP_FUSION:
    case OP_MAP:
    case OP_REDUCE:
    case OP_REDUCE_WINDOW:
    case OP_SORT:
    case OP_SCATTER:
    case OP_SCAN:
    case OP_ALL_REDUCE:
    case OP_ALL_REDUCE_START:
    case OP_REDUCE_SCATTER:
    case OP_ASYNC_START:
        return 1;
    case OP_CONDITIONAL:
    case OP_CUSTOM_CALL:
    case OP_ASYNC_UPDATE:
    case OP_ASYNC_DONE:
        return -1;
    default:
        return 0;
    }
}

/* A -done or -update op consumes what its start (or an update of it) made. */
static const struct {
    enum opcode done, start, update;
} pairs[] = {
    {OP_ASYNC_UPDATE, OP_ASYNC_START, OP_ASYNC_UPDATE},
    {OP_ASYNC_DONE, OP_ASYNC_START, OP_ASYNC_UPDATE},
    {OP_COPY_DONE, OP_COPY_START, OP_COPY_START},
    {OP_SEND_DONE, OP_SEND, OP_SEND},
    {OP_RECV_DONE, OP_RECV, OP_RECV},
    {OP_ALL_GATHER_DONE, OP_ALL_GATHER_START, OP_ALL_GATHER_START},
    {OP_ALL_REDUCE_DONE, OP_ALL_REDUCE_START, OP_ALL_REDUCE_START},
    {OP_COLLECTIVE_PERMUTE_DONE, OP_COLLECTIVE_PERMUTE_START, OP_COLLECTIVE_PERMUTE_START},
};

static void check_pair(const struct instruction *instruction, struct findings *findings)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].done != instruction->opcode) {
            continue;
        }
        enum opcode from = instruction->operands[0]->opcode;
        bool passes_on = from == OP_GET_TUPLE_ELEMENT || from == OP_PARAMETER ||
                         from == OP_OPT_BARRIER || from == OP_WHILE;
        if (from != pairs[i].start && from != pairs[i].update && !passes_on) {
            REPORT("%s %s must consume a %s, but its operand %s is a %s",
                   opcode_text(instruction->opcode), instruction->name,
                   opcode_text(pairs[i].start), instruction->operands[0]->name,
                   opcode_text(from));
        }
    }
}

/* The part of a shape at a tuple index; NULL if there is none. */
static const struct shape *at_index(const struct shape *shape, struct ints index)
{
    for (int i = 0; i < index.count; i++) {
        if (!shape_is_tuple(shape) || index.values[i] < 0 || index.values[i] >= shape->count) {
            return NULL;
        }
        shape = shape->elements[index.values[i]];
    }
    return shape;
}

static void check_aliasing(const struct instruction *instruction, struct findings *findings)
{
    const struct attr *attr = attr_get(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    for (int i = 0; attr != NULL && i < attr->aliasing.count; i++) {
        const struct output_alias *alias = &attr->aliasing.entries[i];
        if (alias->operand < 0 || alias->operand >= instruction->operand_count) {
            REPORT("%s: output_to_operand_aliasing names operand %lld of %d", instruction->name,
                   (long long)alias->operand, instruction->operand_count);
            continue;
        }
        const struct shape *output = at_index(instruction->shape, alias->output_index);
        const struct shape *operand =
            at_index(instruction->operands[alias->operand]->shape, alias->operand_index);
        if (output == NULL || operand == NULL) {
            REPORT("%s: output_to_operand_aliasing entry %d names a part that is not there",
                   instruction->name, i);
        }
    }
}

static void check_reduce_precision(const struct instruction *instruction,
                                   struct findings *findings)
{
    const struct shape *shape = instruction->operands[0]->shape;
    if (!shape_is_array(shape) || !type_is_float(shape->type)) {
        REPORT("%s: the operand must be floating point, but it is %s", instruction->name,
               shape_text(shape));
    }
    if (attr_int(instruction, ATTR_EXPONENT_BITS, 1) < 1 ||
        attr_int(instruction, ATTR_MANTISSA_BITS, 0) < 0) {
        REPORT("%s: exponent_bits must be at least 1, and mantissa_bits at least 0",
               instruction->name);
    }
}

static void check_custom_call(const struct instruction *instruction, struct findings *findings)
{
    const struct attr *attr = attr_get(instruction, ATTR_OPERAND_LAYOUT_CONSTRAINTS);
    if (attr == NULL) {
        return;
    }
    if (attr->shapes.count != instruction->operand_count) {
        REPORT("%s: operand_layout_constraints has %d shapes for %d operands", instruction->name,
               attr->shapes.count, instruction->operand_count);
        return;
    }
    for (int i = 0; i < attr->shapes.count; i++) {
        if (!shape_compatible(shape_static(attr->shapes.shapes[i]),
                              shape_static(instruction->operands[i]->shape))) {
            REPORT("%s: operand_layout_constraints says %s for operand %d, which is %s",
                   instruction->name, shape_text(attr->shapes.shapes[i]), i,
                   shape_text(instruction->operands[i]->shape));
        }
    }
}

void verify_rules(const struct instruction *instruction, struct findings *findings)
{
    int wanted = called_wanted(instruction->opcode);
    if (wanted >= 0 && instruction->called_count != wanted) {
        REPORT("%s %s calls %d computations, but must call %d", opcode_text(instruction->opcode),
               instruction->name, instruction->called_count, wanted);
        return;
    }
    check_pair(instruction, findings);
    verify_collective(instruction, findings);
    check_aliasing(instruction, findings);
    if (instruction->opcode == OP_REDUCE_PRECISION) {
        check_reduce_precision(instruction, findings);
    } else if (instruction->opcode == OP_CUSTOM_CALL) {
        check_custom_call(instruction, findings);
    }
}

#undef REPORT

/* --- the module --- */

static void check_parameter_index(const struct module *module, const char *what, int64_t parameter,
                                  struct ints index, struct findings *findings)
{
    struct where where = {module->source, 1, 0};
    const struct computation *entry = module->entry;
    if (parameter < 0 || parameter >= entry->parameter_count ||
        at_index(entry->parameters[parameter]->shape, index) == NULL) {
        verify_report(findings, NULL, where, "%s names parameter %lld or a part of it that is not "
                                             "there",
                      what, (long long)parameter);
    }
}

void verify_module_rules(const struct module *module, struct findings *findings)
{
    const struct module_config *config = &module->config;
    struct where where = {module->source, 1, 0};
    if (config->replica_count < 1 || config->partition_count < 1) {
        verify_report(findings, NULL, where, "replica_count and num_partitions must be positive");
    }
    for (int i = 0; i < config->alias_count; i++) {
        const struct input_output_alias *alias = &config->aliases[i];
        check_parameter_index(module, "input_output_alias", alias->parameter,
                              alias->parameter_index, findings);
        const struct shape *output = at_index(module->entry->root->shape, alias->output_index);
        if (output == NULL) {
            verify_report(findings, NULL, where,
                          "input_output_alias names a part of the result that is not there");
        }
    }
    for (int i = 0; i < config->donor_count; i++) {
        check_parameter_index(module, "buffer_donor", config->donors[i].parameter,
                              config->donors[i].parameter_index, findings);
    }
}
