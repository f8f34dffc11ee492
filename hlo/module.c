/* Modules: life, building, finishing. Comparison is in module_equal.c. */
#include "hlo/module.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/literal.h"

struct module *module_create(const char *name)
{
    struct module *module = memory_zalloc(sizeof *module);
    arena_init(&module->arena);
    module->name = arena_string(&module->arena, name, strlen(name));
    module->config.replica_count = 1;
    module->config.partition_count = 1;
    return module;
}

void module_destroy(struct module *module)
{
    if (module == NULL) {
        return;
    }
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            literal_release(instruction->literal);
            const struct attr *attr = attr_get(instruction, ATTR_LITERAL);
            if (attr != NULL) {
                literal_release(attr->literal);
            }
        }
    }
    arena_finish(&module->arena);
    free(module);
}

/* Appends a pointer to an array in the arena whose room is the next power of two of its count. */
static void *append(struct arena *arena, void *array, int count, void *value)
{
    void **slots = array;
    if ((count & (count - 1)) == 0) {
        size_t room = count > 0 ? 2 * (size_t)count : 1;
        slots = arena_array(arena, room, sizeof *slots);
        if (count > 0) {
            memcpy(slots, array, (size_t)count * sizeof *slots);
        }
    }
    slots[count] = value;
    return slots;
}

struct computation *computation_add(struct module *module, const char *name)
{
    struct arena *arena = &module->arena;
    struct computation *computation = arena_alloc(arena, sizeof *computation);
    computation->name = arena_string(arena, name, strlen(name));
    computation->module = module;
    computation->id = module->count;
    computation->execution_thread = "";
    module->computations = append(arena, module->computations, module->count, computation);
    module->count++;
    return computation;
}

struct instruction *instruction_add(struct computation *computation, const char *name,
                                    enum opcode opcode, const struct shape *shape,
                                    int operand_count, struct instruction *const *operands)
{
    struct arena *arena = &computation->module->arena;
    struct instruction *instruction = arena_alloc(arena, sizeof *instruction);
    instruction->name = arena_string(arena, name, strlen(name));
    instruction->opcode = opcode;
    instruction->shape = shape;
    instruction->parent = computation;
    instruction->id = computation->count;
    instruction->operand_count = operand_count;
    if (operand_count > 0) {
        instruction->operands =
            arena_copy(arena, operands, (size_t)operand_count * sizeof *operands);
    }
    computation->instructions =
        append(arena, computation->instructions, computation->count, instruction);
    computation->count++;
    return instruction;
}

void instruction_set_attr(struct instruction *instruction, struct attr attr)
{
    int at = 0;
    while (at < instruction->attr_count && instruction->attrs[at].key < attr.key) {
        at++;
    }
    if (at < instruction->attr_count && instruction->attrs[at].key == attr.key) {
        instruction->attrs[at] = attr;
        return;
    }
    struct attr *attrs = instruction->attrs;
    int count = instruction->attr_count;
    if (count == 0 || (count >= 4 && (count & (count - 1)) == 0)) {
        size_t room = count > 0 ? 2 * (size_t)count : 4;
        attrs = arena_array(&instruction->parent->module->arena, room, sizeof *attrs);
        if (count > 0) {
            memcpy(attrs, instruction->attrs, (size_t)count * sizeof *attrs);
        }
        instruction->attrs = attrs;
    }
    memmove(attrs + at + 1, attrs + at, (size_t)(count - at) * sizeof *attrs);
    attrs[at] = attr;
    instruction->attr_count++;
}

void instruction_set_called(struct instruction *instruction, int count,
                            struct computation *const *called)
{
    instruction->called_count = count;
    instruction->called =
        arena_copy(&instruction->parent->module->arena, called, (size_t)count * sizeof *called);
}

struct where instruction_where(const struct instruction *instruction)
{
    return (struct where){instruction->parent->module->source, instruction->line,
                          instruction->column};
}

/* --- module_finish --- */

/* Depth-first order over computations without recursion: a chain of calls may be long. */
static bool order_computations(struct module *module, struct error *err)
{
    enum { NEW, OPEN, DONE };
    int count = module->count, placed = 0;
    for (int c = 0; c < count; c++) {
        module->computations[c]->id = c;
    }
    char *state = memory_zalloc((size_t)count);
    struct position {
        int computation, instruction, called;
    } *stack = memory_alloc((size_t)(count + 1) * sizeof *stack);
    struct computation **order = memory_alloc((size_t)count * sizeof *order);
    bool ok = true;
    for (int c = 0; ok && c < count; c++) {
        if (state[c] != NEW) {
            continue;
        }
        int depth = 0;
        stack[0] = (struct position){c, 0, 0};
        state[c] = OPEN;
        while (ok && depth >= 0) {
            struct position *top = &stack[depth];
            struct computation *computation = module->computations[top->computation];
            if (top->instruction == computation->count) {
                state[top->computation] = DONE;
                order[placed++] = computation;
                depth--;
                continue;
            }
            struct instruction *instruction = computation->instructions[top->instruction];
            if (top->called == instruction->called_count) {
                top->instruction++;
                top->called = 0;
                continue;
            }
            struct computation *callee = instruction->called[top->called++];
            if (state[callee->id] == OPEN) {
                ok = error_at(err, instruction_where(instruction),
                              "%s calls %s, which is being called already: computations must "
                              "not be recursive",
                              instruction->name, callee->name);
            } else if (state[callee->id] == NEW) {
                state[callee->id] = OPEN;
                stack[++depth] = (struct position){callee->id, 0, 0};
            }
        }
    }
    if (ok && count > 0) {
        memcpy(module->computations, order, (size_t)count * sizeof *order);
    }
    for (int c = 0; c < count; c++) {
        module->computations[c]->id = c;
    }
    free(order);
    free(stack);
    free(state);
    return ok;
}

static bool is_ordered(const struct computation *computation)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        for (int k = 0; k < instruction->operand_count; k++) {
            if (instruction->operands[k]->id >= i) {
                return false;
            }
        }
        for (int k = 0; k < instruction->control_count; k++) {
            if (instruction->control_predecessors[k]->id >= i) {
                return false;
            }
        }
    }
    return true;
}

/* Operands and control predecessors before users, otherwise the given order. */
static bool order_instructions(struct computation *computation, struct error *err)
{
    enum { NEW, OPEN, DONE };
    int count = computation->count, placed = 0;
    char *state = memory_zalloc((size_t)count);
    struct position {
        int instruction, next;
    } *stack = memory_alloc((size_t)(count + 1) * sizeof *stack);
    struct instruction **order = memory_alloc((size_t)count * sizeof *order);
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        if (state[i] != NEW) {
            continue;
        }
        int depth = 0;
        stack[0] = (struct position){i, 0};
        state[i] = OPEN;
        while (ok && depth >= 0) {
            struct position *top = &stack[depth];
            struct instruction *instruction = computation->instructions[top->instruction];
            if (top->next == instruction->operand_count + instruction->control_count) {
                state[top->instruction] = DONE;
                order[placed++] = instruction;
                depth--;
                continue;
            }
            int k = top->next++;
            struct instruction *needed =
                k < instruction->operand_count
                    ? instruction->operands[k]
                    : instruction->control_predecessors[k - instruction->operand_count];
            if (state[needed->id] == OPEN) {
                ok = error_at(err, instruction_where(instruction),
                              "%s depends on itself through %s", instruction->name, needed->name);
            } else if (state[needed->id] == NEW) {
                state[needed->id] = OPEN;
                stack[++depth] = (struct position){needed->id, 0};
            }
        }
    }
    if (ok && count > 0) {
        memcpy(computation->instructions, order, (size_t)count * sizeof *order);
        for (int i = 0; i < count; i++) {
            computation->instructions[i]->id = i;
        }
    }
    free(order);
    free(stack);
    free(state);
    return ok;
}

/* Operands and control predecessors must be of the same computation: their ids index its list. */
static bool check_parents(const struct computation *computation, struct error *err)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        int count = instruction->operand_count + instruction->control_count;
        for (int k = 0; k < count; k++) {
            const struct instruction *needed =
                k < instruction->operand_count
                    ? instruction->operands[k]
                    : instruction->control_predecessors[k - instruction->operand_count];
            if (needed->parent != computation) {
                return error_at(err, instruction_where(instruction),
                                "%s uses %s of another computation, %s", instruction->name,
                                needed->name, needed->parent->name);
            }
        }
    }
    return true;
}

static struct where computation_where(const struct computation *computation)
{
    return (struct where){computation->module->source, computation->line, computation->column};
}

static bool collect_parameters(struct computation *computation, struct error *err)
{
    int count = 0;
    for (int i = 0; i < computation->count; i++) {
        count += computation->instructions[i]->opcode == OP_PARAMETER;
    }
    computation->parameter_count = count;
    computation->parameters =
        arena_array(&computation->module->arena, (size_t)count, sizeof *computation->parameters);
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode != OP_PARAMETER) {
            continue;
        }
        if (instruction->number < 0 || instruction->number >= count) {
            return error_at(err, instruction_where(instruction),
                            "parameter number %lld is not in the range 0 to %d: %s has %d "
                            "parameters, which must be numbered without gaps",
                            (long long)instruction->number, count - 1, computation->name, count);
        }
        struct instruction **slot = &computation->parameters[instruction->number];
        if (*slot != NULL) {
            return error_at(err, instruction_where(instruction),
                            "parameter number %lld of %s is there twice: %s and %s",
                            (long long)instruction->number, computation->name, (*slot)->name,
                            instruction->name);
        }
        *slot = instruction;
    }
    return true;
}

static void default_entry_layout(struct module *module)
{
    struct module_config *config = &module->config;
    const struct computation *entry = module->entry;
    if (config->result_shape != NULL) {
        return;
    }
    const struct shape **shapes =
        arena_array(&module->arena, (size_t)entry->parameter_count, sizeof *shapes);
    for (int i = 0; i < entry->parameter_count; i++) {
        shapes[i] = entry->parameters[i]->shape;
    }
    config->parameter_count = entry->parameter_count;
    config->parameter_shapes = shapes;
    config->result_shape = entry->root->shape;
}

bool module_finish(struct module *module, struct error *err)
{
    if (module->count == 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "module %s has no computation", module->name);
    }
    if (module->entry == NULL) {
        module->entry = module->computations[module->count - 1];
    }
    if (!order_computations(module, err)) {
        return false;
    }
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        if (computation->count == 0) {
            return error_at(err, computation_where(computation), "computation %s is empty",
                            computation->name);
        }
        if (computation->root == NULL) {
            computation->root = computation->instructions[computation->count - 1];
        }
        for (int i = 0; i < computation->count; i++) {
            computation->instructions[i]->id = i;
        }
        if (!check_parents(computation, err)) {
            return false;
        }
        if (!is_ordered(computation)) {
            if (!order_instructions(computation, err)) {
                return false;
            }
            if (module->config.is_scheduled) {
                return error_at(err, computation_where(computation),
                                "the schedule of %s has instructions before their operands",
                                computation->name);
            }
        }
        if (!collect_parameters(computation, err)) {
            return false;
        }
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (instruction->opcode == OP_FUSION) {
                for (int k = 0; k < instruction->called_count; k++) {
                    instruction->called[k]->is_fusion = true;
                }
            }
        }
    }
    default_entry_layout(module);
    return true;
}

/* --- asking --- */

struct computation *module_find_computation(const struct module *module, const char *name)
{
    for (int c = 0; c < module->count; c++) {
        if (strcmp(module->computations[c]->name, name) == 0) {
            return module->computations[c];
        }
    }
    return NULL;
}

struct instruction *computation_find(const struct computation *computation, const char *name)
{
    for (int i = 0; i < computation->count; i++) {
        if (strcmp(computation->instructions[i]->name, name) == 0) {
            return computation->instructions[i];
        }
    }
    return NULL;
}

int module_instruction_count(const struct module *module)
{
    int count = 0;
    for (int c = 0; c < module->count; c++) {
        count += module->computations[c]->count;
    }
    return count;
}

const struct shape *module_parameter_shape(const struct module *module, int number)
{
    return module->config.parameter_shapes[number];
}

const struct shape *module_result_shape(const struct module *module)
{
    return module->config.result_shape;
}

void users_build(const struct computation *computation, struct users *users)
{
    size_t count = (size_t)computation->count;
    users->first = memory_zalloc((count + 2) * sizeof *users->first);
    for (size_t i = 0; i < count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        for (int k = 0; k < instruction->operand_count; k++) {
            users->first[instruction->operands[k]->id + 2]++;
        }
    }
    for (size_t i = 0; i <= count; i++) {
        users->first[i + 1] += users->first[i];
    }
    users->list = memory_alloc((size_t)users->first[count + 1] * sizeof *users->list);
    for (size_t i = 0; i < count; i++) {
        struct instruction *instruction = computation->instructions[i];
        for (int k = 0; k < instruction->operand_count; k++) {
            users->list[users->first[instruction->operands[k]->id + 1]++] = instruction;
        }
    }
}

void users_finish(struct users *users)
{
    free(users->first);
    free(users->list);
}
