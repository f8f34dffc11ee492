/* Specimens: copies, and cleaning up after changes. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/shrink/shrink_internal.h"
#include "hlo/text/text_format.h"

int specimen_sets(const struct specimen *specimen)
{
    return specimen->set_count > 1 ? specimen->set_count : 1;
}

int specimen_argument_total(const struct specimen *specimen)
{
    return specimen_sets(specimen) * specimen->argument_count;
}

int specimen_devices(const struct specimen *specimen)
{
    const struct module_config *config = &specimen->module->config;
    int64_t replicas = config->replica_count > 1 ? config->replica_count : 1;
    int64_t partitions = config->partition_count > 1 ? config->partition_count : 1;
    return (int)(replicas * partitions);
}

void specimen_spread(struct specimen *specimen)
{
    int devices = specimen_devices(specimen), count = specimen->argument_count;
    if (specimen_sets(specimen) > 1 || devices == 1) {
        return;
    }
    size_t room = (size_t)devices * (size_t)count + 1;
    specimen->arguments = memory_realloc(specimen->arguments, room * sizeof *specimen->arguments);
    for (int i = count; i < devices * count; i++) {
        specimen->arguments[i] = literal_retain(specimen->arguments[i - count]);
    }
    specimen->set_count = devices;
}

static void copy_arguments(const struct specimen *from, struct specimen *to)
{
    int total = specimen_argument_total(from);
    to->argument_count = from->argument_count;
    to->set_count = from->set_count;
    to->keeps_unread = from->keeps_unread;
    to->arguments = memory_zalloc(((size_t)total + 1) * sizeof *to->arguments);
    for (int i = 0; i < total; i++) {
        to->arguments[i] = literal_retain(from->arguments[i]);
    }
}

void specimen_finish(struct specimen *specimen)
{
    module_destroy(specimen->module);
    for (int i = 0; specimen->arguments != NULL && i < specimen_argument_total(specimen); i++) {
        literal_release(specimen->arguments[i]);
    }
    free(specimen->arguments);
    *specimen = (struct specimen){0};
}

static struct computation *computation_at(const struct module *copy, const struct computation *old)
{
    return copy->computations[old->id];
}

static void borrow_instruction(struct computation *computation, const struct instruction *old)
{
    struct module *module = computation->module;
    struct instruction *instruction =
        instruction_add(computation, old->name, old->opcode, old->shape, 0, NULL);
    struct arena *arena = &module->arena;
    instruction->operand_count = old->operand_count;
    instruction->operands = arena_array(arena, (size_t)old->operand_count, sizeof(void *));
    for (int k = 0; k < old->operand_count; k++) {
        instruction->operands[k] = computation->instructions[old->operands[k]->id];
    }
    instruction->called_count = old->called_count;
    instruction->called = arena_array(arena, (size_t)old->called_count, sizeof(void *));
    for (int k = 0; k < old->called_count; k++) {
        instruction->called[k] = computation_at(module, old->called[k]);
    }
    instruction->control_count = old->control_count;
    instruction->control_predecessors =
        arena_array(arena, (size_t)old->control_count, sizeof(void *));
    for (int k = 0; k < old->control_count; k++) {
        instruction->control_predecessors[k] =
            computation->instructions[old->control_predecessors[k]->id];
    }
    for (int i = 0; i < old->attr_count; i++) {
        struct attr attr = old->attrs[i];
        if (attr.key == ATTR_LITERAL) {
            attr.literal = literal_retain(attr.literal);
        }
        instruction_set_attr(instruction, attr);
    }
    instruction->literal = old->literal != NULL ? literal_retain(old->literal) : NULL;
    instruction->number = old->number;
    instruction->elided = old->elided;
}

void specimen_borrow(const struct specimen *specimen, struct specimen *copy)
{
    const struct module *old = specimen->module;
    struct module *module = module_create(old->name);
    module->config = old->config;
    for (int c = 0; c < old->count; c++) {
        struct computation *computation = computation_add(module, old->computations[c]->name);
        computation->execution_thread = old->computations[c]->execution_thread;
        computation->is_fusion = old->computations[c]->is_fusion;
    }
    for (int c = 0; c < old->count; c++) {
        const struct computation *from = old->computations[c];
        struct computation *to = module->computations[c];
        for (int i = 0; i < from->count; i++) {
            borrow_instruction(to, from->instructions[i]);
        }
        to->root = to->instructions[from->root->id];
        to->parameter_count = from->parameter_count;
        to->parameters = arena_array(&module->arena, (size_t)from->parameter_count, sizeof(void *));
        for (int i = 0; i < from->parameter_count; i++) {
            to->parameters[i] = to->instructions[from->parameters[i]->id];
        }
    }
    module->entry = module->computations[old->entry->id];
    copy->module = module;
    copy_arguments(specimen, copy);
}

bool specimen_copy(const struct specimen *specimen, struct specimen *copy, struct error *err)
{
    *copy = (struct specimen){.module = text_copy_module(specimen->module, err)};
    if (copy->module == NULL) {
        return false;
    }
    copy_arguments(specimen, copy);
    return true;
}

/* --- places and changes --- */

void place_add(struct shrink_places *places, int computation, int instruction, int64_t variant)
{
    if ((places->count & (places->count - 1)) == 0) {
        size_t room = places->count > 0 ? 2 * (size_t)places->count : 1;
        places->list = memory_realloc(places->list, room * sizeof *places->list);
    }
    places->list[places->count++] = (struct shrink_place){computation, instruction, variant};
}

void shrink_places_finish(struct shrink_places *places)
{
    free(places->list);
    *places = (struct shrink_places){0};
}

struct instruction *place_instruction(const struct specimen *specimen, struct shrink_place place)
{
    return specimen->module->computations[place.computation]->instructions[place.instruction];
}

void shrink_replace_uses(struct instruction *old, struct instruction *new)
{
    struct computation *computation = old->parent;
    for (int i = 0; i < computation->count; i++) {
        struct instruction *user = computation->instructions[i];
        for (int k = 0; k < user->operand_count && user != new; k++) {
            if (user->operands[k] == old) {
                user->operands[k] = new;
            }
        }
    }
    if (computation->root == old) {
        computation->root = new;
    }
}

void shrink_become(struct instruction *instruction, enum opcode opcode, int operand_count,
                   struct instruction *const *operands)
{
    literal_release(instruction->literal);
    const struct attr *literal = attr_get(instruction, ATTR_LITERAL);
    if (literal != NULL) {
        literal_release(literal->literal);
    }
    instruction->literal = NULL;
    instruction->elided = false;
    instruction->opcode = opcode;
    instruction->operand_count = operand_count;
    instruction->operands = arena_copy(&instruction->parent->module->arena, operands,
                                       (size_t)operand_count * sizeof *operands);
    instruction->called_count = 0;
    instruction->control_count = 0;
    instruction->attr_count = 0;
}

void shrink_become_constant(struct instruction *instruction, struct literal *literal_take)
{
    shrink_become(instruction, OP_CONSTANT, 0, NULL);
    instruction->literal = literal_take;
}

void shrink_become_parameter(struct specimen *specimen, struct instruction *instruction,
                             struct literal *const *arguments_take)
{
    int sets = specimen_sets(specimen), count = specimen->argument_count;
    size_t room = (size_t)sets * ((size_t)count + 1) + 1;
    struct literal **arguments = memory_zalloc(room * sizeof *arguments);
    for (int s = 0; s < sets; s++) {
        for (int k = 0; k < count; k++) {
            arguments[s * (count + 1) + k] = specimen->arguments[s * count + k];
        }
        arguments[s * (count + 1) + count] = arguments_take[s];
    }
    free(specimen->arguments);
    specimen->arguments = arguments;
    specimen->argument_count = count + 1;
    shrink_become(instruction, OP_PARAMETER, 0, NULL);
    instruction->number = count;
}

struct window_dimension *shrink_own_window(struct instruction *instruction, int *rank)
{
    const struct attr *attr = attr_get(instruction, ATTR_WINDOW);
    if (attr == NULL) {
        return NULL;
    }
    struct attr own = *attr;
    *rank = own.window.rank;
    struct window_dimension *made = arena_copy(&instruction->parent->module->arena,
                                               own.window.dimensions, (size_t)*rank * sizeof *made);
    own.window.dimensions = made;
    instruction_set_attr(instruction, own);
    return made;
}

struct slice_dimension *shrink_own_slices(struct instruction *instruction, int *rank)
{
    const struct attr *attr = attr_get(instruction, ATTR_SLICE);
    if (attr == NULL) {
        return NULL;
    }
    struct attr own = *attr;
    *rank = own.slices.rank;
    struct slice_dimension *made = arena_copy(&instruction->parent->module->arena,
                                              own.slices.dimensions, (size_t)*rank * sizeof *made);
    own.slices.dimensions = made;
    instruction_set_attr(instruction, own);
    return made;
}

void shrink_keep_sets(struct specimen *specimen, int first, int count)
{
    int each = specimen->argument_count, total = specimen_argument_total(specimen);
    if (specimen->set_count <= 1) {
        return;
    }
    for (int i = 0; i < total; i++) {
        if (i < first * each || i >= (first + count) * each) {
            literal_release(specimen->arguments[i]);
        }
    }
    for (int i = 0; i < count * each; i++) {
        specimen->arguments[i] = specimen->arguments[first * each + i];
    }
    specimen->set_count = count;
}

void shrink_set_argument(struct specimen *specimen, int at, struct literal *argument_take)
{
    literal_release(specimen->arguments[at]);
    specimen->arguments[at] = argument_take;
}

struct instruction *shrink_only_caller(const struct computation *computation)
{
    struct instruction *caller = NULL;
    const struct module *module = computation->module;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            struct instruction *instruction = module->computations[c]->instructions[i];
            for (int k = 0; k < instruction->called_count; k++) {
                if (instruction->called[k] == computation) {
                    if (caller != NULL) {
                        return NULL;
                    }
                    caller = instruction;
                }
            }
        }
    }
    return caller;
}

/* --- settling --- */

/* get-tuple-element of a tuple is the element. */
static struct instruction *seen_through(struct instruction *value)
{
    while (value->opcode == OP_GET_TUPLE_ELEMENT && value->operands[0]->opcode == OP_TUPLE &&
           value->control_count == 0) {
        value = value->operands[0]->operands[attr_int(value, ATTR_INDEX, 0)];
    }
    return value;
}

static void see_through_tuples(struct computation *computation)
{
    for (int i = 0; i < computation->count; i++) {
        struct instruction *user = computation->instructions[i];
        for (int k = 0; k < user->operand_count; k++) {
            user->operands[k] = seen_through(user->operands[k]);
        }
    }
    computation->root = seen_through(computation->root);
}

static bool has_effects(const struct instruction *instruction)
{
    return opcode_transfers(instruction->opcode) ||
           (instruction->opcode == OP_CUSTOM_CALL &&
            attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false));
}

static void mark_live(const struct instruction *instruction, bool *live)
{
    if (live[instruction->id]) {
        return;
    }
    live[instruction->id] = true;
    for (int k = 0; k < instruction->operand_count; k++) {
        mark_live(instruction->operands[k], live);
    }
    for (int k = 0; k < instruction->control_count; k++) {
        mark_live(instruction->control_predecessors[k], live);
    }
}

/* Takes dead instructions out of the list. keep_parameters: callers pass them. */
static void sweep(struct computation *computation, bool keep_parameters)
{
    bool *live = memory_zalloc((size_t)computation->count + 1);
    for (int i = 0; i < computation->count; i++) {
        computation->instructions[i]->id = i;
    }
    mark_live(computation->root, live);
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (has_effects(instruction) || (keep_parameters && instruction->opcode == OP_PARAMETER)) {
            mark_live(instruction, live);
        }
    }
    int kept = 0;
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (live[i]) {
            computation->instructions[kept++] = instruction;
        } else {
            shrink_become(instruction, OP_CONSTANT, 0, NULL); /* releases literals */
        }
    }
    computation->count = kept;
    free(live);
}

/* Removes parameters of a fusion or call that nobody reads, with the caller's operands. */
static void drop_unread_parameters(struct computation *computation, struct instruction *caller)
{
    bool *read = memory_zalloc((size_t)computation->count + 1);
    for (int i = 0; i < computation->count; i++) {
        computation->instructions[i]->id = i;
    }
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        for (int k = 0; k < instruction->operand_count; k++) {
            read[instruction->operands[k]->id] = true;
        }
    }
    read[computation->root->id] = true;
    int kept = 0, place = 0;
    struct instruction **operands =
        arena_array(&computation->module->arena, (size_t)caller->operand_count + 1, sizeof(void *));
    int64_t *numbers = memory_alloc(((size_t)caller->operand_count + 1) * sizeof *numbers);
    for (int k = 0; k < caller->operand_count; k++) {
        numbers[k] = -1;
    }
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *parameter = computation->instructions[i];
        if (parameter->opcode == OP_PARAMETER && read[i]) {
            numbers[parameter->number] = 0;
        }
    }
    for (int k = 0; k < caller->operand_count; k++) {
        if (numbers[k] == 0) {
            numbers[k] = kept;
            operands[kept++] = caller->operands[k];
        }
    }
    for (int i = 0; i < computation->count; i++) {
        struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode == OP_PARAMETER && !read[i]) {
            continue;
        }
        if (instruction->opcode == OP_PARAMETER) {
            instruction->number = numbers[instruction->number];
        }
        computation->instructions[place++] = instruction;
    }
    computation->count = place;
    caller->operands = operands;
    caller->operand_count = kept;
    free(numbers);
    free(read);
}

/* Drops computations that nobody calls. */
static void sweep_computations(struct module *module)
{
    bool changed = true;
    while (changed) {
        changed = false;
        bool *called = memory_zalloc((size_t)module->count + 1);
        for (int c = 0; c < module->count; c++) {
            module->computations[c]->id = c;
        }
        for (int c = 0; c < module->count; c++) {
            const struct computation *computation = module->computations[c];
            for (int i = 0; i < computation->count; i++) {
                for (int k = 0; k < computation->instructions[i]->called_count; k++) {
                    called[computation->instructions[i]->called[k]->id] = true;
                }
            }
        }
        int kept = 0;
        for (int c = 0; c < module->count; c++) {
            struct computation *computation = module->computations[c];
            if (called[c] || computation == module->entry) {
                module->computations[kept++] = computation;
                continue;
            }
            changed = true;
            for (int i = 0; i < computation->count; i++) {
                shrink_become(computation->instructions[i], OP_CONSTANT, 0, NULL);
            }
        }
        module->count = kept;
        free(called);
    }
    for (int c = 0; c < module->count; c++) {
        module->computations[c]->id = c;
    }
}

/* Numbers the entry's parameters without gaps; arguments follow. */
static void number_parameters(struct specimen *specimen)
{
    struct computation *entry = specimen->module->entry;
    int count = specimen->argument_count, kept = 0;
    int64_t *numbers = memory_alloc(((size_t)count + 1) * sizeof *numbers);
    for (int k = 0; k < count; k++) {
        numbers[k] = -1;
    }
    for (int i = 0; i < entry->count; i++) {
        if (entry->instructions[i]->opcode == OP_PARAMETER) {
            numbers[entry->instructions[i]->number] = 0;
        }
    }
    for (int k = 0; k < count; k++) {
        numbers[k] = numbers[k] == 0 ? kept++ : -1;
    }
    int sets = specimen_sets(specimen), place = 0;
    for (int i = 0; i < sets * count; i++) {
        if (numbers[i % count] >= 0) {
            specimen->arguments[place++] = specimen->arguments[i];
        } else {
            literal_release(specimen->arguments[i]);
        }
    }
    specimen->argument_count = kept;
    for (int i = 0; i < entry->count; i++) {
        if (entry->instructions[i]->opcode == OP_PARAMETER) {
            entry->instructions[i]->number = numbers[entry->instructions[i]->number];
        }
    }
    free(numbers);
}

/* How often the computation is called from those that are needed, and by whom last. */
struct callers {
    int count;
    struct instruction *last;
};

/* Sweeps computations, callers first, and what only one fusion or call passes for nothing unless
 * that is kept. */
static void sweep_with_callers(struct module *module, bool keeps_unread)
{
    struct callers *callers = memory_zalloc((size_t)module->count * sizeof *callers);
    for (int c = 0; c < module->count; c++) {
        module->computations[c]->id = c;
    }
    for (int c = module->count - 1; c >= 0; c--) {
        struct computation *computation = module->computations[c];
        if (computation != module->entry && callers[c].count == 0) {
            continue; /* swept as a whole */
        }
        see_through_tuples(computation);
        sweep(computation, computation != module->entry);
        struct instruction *caller = callers[c].last;
        if (!keeps_unread && computation != module->entry && callers[c].count == 1 &&
            (caller->opcode == OP_FUSION || caller->opcode == OP_CALL)) {
            drop_unread_parameters(computation, caller);
        }
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->called_count; k++) {
                struct callers *called = &callers[instruction->called[k]->id];
                called->count++;
                called->last = instruction;
            }
        }
    }
    free(callers);
}

bool specimen_settle(struct specimen *specimen, struct error *err)
{
    struct module *module = specimen->module;
    sweep_with_callers(module, specimen->keeps_unread);
    sweep_computations(module);
    for (int c = 0; c < module->count; c++) { /* what callers no longer pass */
        sweep(module->computations[c], module->computations[c] != module->entry);
    }
    number_parameters(specimen);
    struct module_config *config = &module->config;
    bool same_entry = config->parameter_count == specimen->argument_count &&
                      config->result_shape == module->entry->root->shape;
    config->result_shape = NULL;
    config->has_entry_layout = same_entry && config->has_entry_layout;
    config->is_scheduled = false;
    config->alias_count = config->donor_count = config->prefetch_count = 0;
    config->propagate_to_parameters = config->propagate_to_output = (struct ints){0};
    config->spmd_parameter_count = 0;
    config->spmd_output_sharding = NULL;
    return module_finish(module, err);
}

/* --- sizes --- */

static int64_t leaf_elements(const struct shape *shape)
{
    int64_t total = shape_is_array(shape) ? shape_elements(shape) : 0;
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        total += leaf_elements(shape->elements[i]);
    }
    return total;
}

struct specimen_size specimen_size(const struct specimen *specimen)
{
    const int64_t device_weight = 8; /* a device is more to look at than an attribute */
    struct specimen_size size = {0};
    const struct module *module = specimen->module;
    size.rest = device_weight * (specimen_devices(specimen) - 1);
    for (int i = specimen->argument_count; i < specimen_argument_total(specimen); i++) {
        size.rest += specimen->arguments[i] != specimen->arguments[i % specimen->argument_count];
    }
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        size.instructions += computation->count;
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            size.elements += leaf_elements(instruction->shape);
            size.rest += instruction->operand_count + 2 * instruction->attr_count;
        }
    }
    return size;
}

bool specimen_size_less(struct specimen_size a, struct specimen_size b)
{
    if (a.instructions != b.instructions) {
        return a.instructions < b.instructions;
    }
    return a.elements != b.elements ? a.elements < b.elements : a.rest < b.rest;
}
