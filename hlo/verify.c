/* Verifier: collects everything that XLA's rules refuse.
 * Source: xla/service/hlo_verifier.cc. */
#include "hlo/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/infer.h"
#include "hlo/verify_internal.h"

void verify_report(struct findings *findings, const struct instruction *instruction,
                   struct where where, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    findings->list =
        memory_realloc(findings->list, ((size_t)findings->count + 1) * sizeof *findings->list);
    findings->list[findings->count++] = (struct finding){instruction, where, memory_strdup(text)};
}

static void check_attributes(const struct instruction *instruction, struct findings *findings)
{
    for (int i = 0; i < instruction->attr_count; i++) {
        enum attr_key key = instruction->attrs[i].key;
        if (!opcode_takes(instruction->opcode, (int)key)) {
            verify_report(findings, instruction, instruction_where(instruction),
                          "%s %s does not take the attribute %s", opcode_text(instruction->opcode),
                          instruction->name, attr_table[key].text);
        }
    }
    for (int key = 0; key < ATTR_COUNT; key++) {
        enum attr_kind kind = attr_table[key].kind;
        if (opcode_requires(instruction->opcode, key) && kind != ATTR_KIND_COMPUTATION &&
            kind != ATTR_KIND_COMPUTATIONS && attr_get(instruction, (enum attr_key)key) == NULL) {
            verify_report(findings, instruction, instruction_where(instruction),
                          "%s %s lacks the attribute %s", opcode_text(instruction->opcode),
                          instruction->name, attr_table[key].text);
        }
    }
}

/* True if operands and called computations are there, so that shapes can be inferred. */
static bool check_operands(const struct instruction *instruction, struct findings *findings)
{
    int arity = opcode_table[instruction->opcode].arity;
    struct where where = instruction_where(instruction);
    if (arity != VARIADIC && instruction->operand_count != arity) {
        verify_report(findings, instruction, where, "%s %s takes %d operands, but there are %d",
                      opcode_text(instruction->opcode), instruction->name, arity,
                      instruction->operand_count);
        return false;
    }
    for (int i = 0; i < instruction->operand_count; i++) {
        if (instruction->operands[i]->parent != instruction->parent) {
            verify_report(findings, instruction, where, "operand %d of %s is in computation %s", i,
                          instruction->name, instruction->operands[i]->parent->name);
            return false;
        }
    }
    return true;
}

static bool is_unbounded(const struct shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        if (is_unbounded(shape->elements[i])) {
            return true;
        }
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dimensions[i] == DIMENSION_UNBOUNDED) {
            return true;
        }
    }
    return false;
}

static void check_instruction(const struct instruction *instruction, struct findings *findings)
{
    struct error err = {0};
    int before = findings->count;
    check_attributes(instruction, findings);
    if (!check_operands(instruction, findings) || findings->count > before) {
        return;
    }
    if (!shape_check(instruction->shape, &err)) {
        verify_report(findings, instruction, instruction_where(instruction), "%s: %s",
                      instruction->name, err.message);
        return;
    }
    if (is_unbounded(instruction->shape)) {
        verify_report(findings, instruction, instruction_where(instruction),
                      "%s has an unbounded dimension: %s", instruction->name,
                      shape_text(instruction->shape));
        return;
    }
    if (!infer_check(instruction, &err)) {
        verify_report(findings, instruction, instruction_where(instruction), "%s", err.message);
        return;
    }
    verify_rules(instruction, findings);
}

static void check_names(const struct computation *computation, struct findings *findings)
{
    struct map seen;
    map_init(&seen);
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (map_put(&seen, instruction->name, strlen(instruction->name), instruction) != NULL) {
            verify_report(findings, instruction, instruction_where(instruction),
                          "the name %s is there twice in computation %s", instruction->name,
                          computation->name);
        }
    }
    map_finish(&seen);
}

/* Computations that nobody calls are checked like all others; XLA's verifier does not mind if one
 * is called both by control flow and as a reducer or the like. */
static void check_computation(const struct computation *computation, struct findings *findings)
{
    int before = findings->count;
    check_names(computation, findings);
    for (int i = 0; i < computation->count; i++) {
        check_instruction(computation->instructions[i], findings);
    }
    if (findings->count == before) {
        verify_computation(computation, findings);
    }
}

static void check_entry_layout(const struct module *module, struct findings *findings)
{
    const struct module_config *config = &module->config;
    const struct computation *entry = module->entry;
    struct where where = {module->source, entry->line, entry->column};
    if (config->parameter_count != entry->parameter_count) {
        verify_report(findings, NULL, where,
                      "entry_computation_layout has %d parameters, but the entry takes %d",
                      config->parameter_count, entry->parameter_count);
        return;
    }
    for (int i = 0; i < entry->parameter_count; i++) {
        if (!shape_compatible(shape_static(config->parameter_shapes[i]),
                              shape_static(entry->parameters[i]->shape))) {
            verify_report(findings, entry->parameters[i], instruction_where(entry->parameters[i]),
                          "entry_computation_layout says %s for parameter %d, but it is %s",
                          shape_text(config->parameter_shapes[i]), i,
                          shape_text(entry->parameters[i]->shape));
        }
    }
    if (!shape_compatible(shape_static(config->result_shape), shape_static(entry->root->shape))) {
        verify_report(findings, entry->root, instruction_where(entry->root),
                      "entry_computation_layout says the result is %s, but the root is %s",
                      shape_text(config->result_shape), shape_text(entry->root->shape));
    }
}

bool verify_module(const struct module *module, struct findings *findings)
{
    memset(findings, 0, sizeof *findings);
    for (int c = 0; c < module->count; c++) {
        check_computation(module->computations[c], findings);
    }
    check_entry_layout(module, findings);
    verify_header(module, findings);
    verify_host_transfers(module, findings);
    return findings->count == 0;
}

void findings_finish(struct findings *findings)
{
    for (int i = 0; i < findings->count; i++) {
        free(findings->list[i].text);
    }
    free(findings->list);
    memset(findings, 0, sizeof *findings);
}
