/* Simplifications that leave the structure: types, attributes, values, the header, names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/shrink/shrink_internal.h"

/* --- types --- */

/* One type for another; the first are what readers know best. */
static const struct {
    enum type from, to;
} type_changes[] = {
    {TYPE_F64, TYPE_F32}, {TYPE_C128, TYPE_C64}, {TYPE_BF16, TYPE_F32},   {TYPE_F16, TYPE_F32},
    {TYPE_S64, TYPE_S32}, {TYPE_U64, TYPE_U32},  {TYPE_S16, TYPE_S32},    {TYPE_U16, TYPE_U32},
    {TYPE_S8, TYPE_S32},  {TYPE_U8, TYPE_U32},   {TYPE_F8E5M2, TYPE_F32}, {TYPE_F8E4M3FN, TYPE_F32},
    {TYPE_U32, TYPE_S32}, {TYPE_C64, TYPE_F32},
};
enum { TYPE_CHANGES = sizeof type_changes / sizeof *type_changes };

static bool has_type(const struct shape *shape, enum type type)
{
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        if (has_type(shape->elements[i], type)) {
            return true;
        }
    }
    return shape->type == type;
}

void find_types(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int t = 0; t < TYPE_CHANGES; t++) {
        bool found = false;
        for (int c = 0; c < module->count; c++) {
            for (int i = 0; i < module->computations[c]->count; i++) {
                found |=
                    has_type(module->computations[c]->instructions[i]->shape, type_changes[t].from);
            }
        }
        if (found) {
            place_add(places, 0, 0, t);
        }
    }
}

static const struct shape *retyped(const struct shape *shape, enum type from, enum type to)
{
    if (shape_is_tuple(shape)) {
        const struct shape **elements = memory_alloc(((size_t)shape->count + 1) * sizeof *elements);
        for (int i = 0; i < shape->count; i++) {
            elements[i] = retyped(shape->elements[i], from, to);
        }
        const struct shape *tuple = shape_tuple(shape->count, elements);
        free(elements);
        return tuple;
    }
    return shape->type == from ? shape_with_type(shape, to) : shape;
}

static struct literal *retyped_literal(const struct literal *literal, enum type from, enum type to)
{
    if (literal->shape->type != from) {
        return literal_retain((struct literal *)(uintptr_t)literal);
    }
    struct literal *result = literal_create(shape_with_type(literal->shape, to), NULL);
    for (int64_t i = 0; result != NULL && i < literal_elements(literal); i++) {
        if (type_is_float(to) || type_is_complex(to)) {
            double value = literal_get_double(literal, i);
            type_is_complex(to) ? literal_set_complex(result, i, value, 0)
                                : literal_set_double(result, i, value);
        } else if (type_is_float(from)) {
            double value = literal_get_double(literal, i);
            if (!(fabs(value) < 0x1p31)) { /* NaN too */
                literal_release(result);
                return NULL;
            }
            literal_set_int(result, i, (int64_t)value);
        } else {
            literal_set_int(result, i, literal_get_int(literal, i));
        }
    }
    return result;
}

/* Every element type `from` becomes `to`; false where a literal cannot. */
static bool retype(struct specimen *copy, enum type from, enum type to)
{
    struct module *module = copy->module;
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            instruction->shape = retyped(instruction->shape, from, to);
            if (instruction->literal != NULL) {
                struct literal *literal = retyped_literal(instruction->literal, from, to);
                literal_release(instruction->literal);
                instruction->literal = literal;
                if (literal == NULL) {
                    return false;
                }
            }
            if (instruction->opcode == OP_CONVERT &&
                shape_compatible(instruction->shape, instruction->operands[0]->shape)) {
                shrink_replace_uses(instruction, instruction->operands[0]);
            }
        }
    }
    for (int k = 0; k < specimen_argument_total(copy); k++) {
        struct literal *argument = retyped_literal(copy->arguments[k], from, to);
        if (argument == NULL) {
            return false;
        }
        shrink_set_argument(copy, k, argument);
    }
    return true;
}

bool apply_types(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    (void)original;
    (void)value;
    (void)context;
    return retype(copy, type_changes[place.variant].from, type_changes[place.variant].to);
}

bool specimen_retype(const struct specimen *specimen, enum type from, enum type to,
                     struct specimen *part, struct error *err)
{
    specimen_borrow(specimen, part);
    if (retype(part, from, to) && specimen_settle(part, err)) {
        return true;
    }
    specimen_finish(part);
    return error_set(err, ERROR_INVALID_ARGUMENT, "it cannot be had with other types");
}

/* --- attributes --- */

/* Variants beyond the keys. */
enum { VARIANT_CONTROL = ATTR_COUNT, VARIANT_LAYOUT };

void find_attributes(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            for (int k = 0; k < instruction->attr_count; k++) {
                if (instruction->attrs[k].key != ATTR_LITERAL) {
                    place_add(places, c, i, instruction->attrs[k].key);
                }
            }
            if (instruction->control_count > 0) {
                place_add(places, c, i, VARIANT_CONTROL);
            }
            if (instruction->shape != shape_without_layout(instruction->shape)) {
                place_add(places, c, i, VARIANT_LAYOUT);
            }
        }
    }
}

bool apply_attributes(const struct specimen *original, struct specimen *copy,
                      struct shrink_place place, shrink_value *value, void *context)
{
    struct instruction *instruction = place_instruction(copy, place);
    (void)original;
    (void)value;
    (void)context;
    if (place.variant == VARIANT_CONTROL) {
        instruction->control_count = 0;
        return true;
    }
    if (place.variant == VARIANT_LAYOUT) {
        instruction->shape = shape_without_layout(instruction->shape);
        return true;
    }
    for (int k = 0; k < instruction->attr_count; k++) {
        if ((int64_t)instruction->attrs[k].key == place.variant) {
            memmove(instruction->attrs + k, instruction->attrs + k + 1,
                    (size_t)(instruction->attr_count - k - 1) * sizeof *instruction->attrs);
            instruction->attr_count--;
            return true;
        }
    }
    return false;
}

/* --- values --- */

/* How elements become simpler, the simplest first. */
enum value_form { VALUE_ZEROS, VALUE_ONES, VALUE_FIRST, VALUE_SMALL, VALUE_SHORT, VALUE_FORMS };

/* The element in that form; places in the array make it of use where all would be the same. */
static double simpler(double value, double first, int64_t index, enum value_form form)
{
    switch (form) {
    case VALUE_ZEROS:
        return 0;
    case VALUE_ONES:
        return 1;
    case VALUE_FIRST:
        return first;
    case VALUE_SMALL: /* small integers that differ */
        return (double)(index % 7 + 1);
    default: /* two digits */
        if (value == 0 || !isfinite(value)) {
            return value;
        }
        double unit = pow(10, floor(log10(fabs(value))) - 1);
        return round(value / unit) * unit;
    }
}

/* The literal in that form; NULL if it has it already, or cannot have it. */
static struct literal *in_form(const struct literal *literal, enum value_form form)
{
    const struct shape *shape = literal->shape;
    if (!shape_is_array(shape) || shape_is_dynamic(shape) || shape_elements(shape) == 0 ||
        (form == VALUE_SHORT && !type_is_float(shape->type))) {
        return NULL;
    }
    struct literal *result = literal_create(shape, NULL);
    bool changed = false;
    for (int64_t i = 0; result != NULL && i < literal_elements(literal); i++) {
        double old = literal_get_double(literal, i);
        double new = simpler(old, literal_get_double(literal, 0), i, form);
        if (type_is_float(shape->type)) {
            literal_set_double(result, i, new);
        } else if (type_is_complex(shape->type)) {
            literal_set_complex(result, i, new, 0);
        } else if (form == VALUE_FIRST) {
            literal_set_int(result, i, literal_get_int(literal, 0));
        } else {
            literal_set_int(result, i,
                            shape->type == TYPE_PRED ? (int64_t) new & 1 : (int64_t) new);
        }
    }
    changed = result != NULL && !literal_equal(result, literal);
    if (!changed) {
        literal_release(result);
        return NULL;
    }
    return result;
}

/* How simple the literal is already: the first form that it has. */
static int form_of(const struct literal *literal)
{
    int form = 0;
    while (form < VALUE_FORMS) {
        struct literal *other = in_form(literal, (enum value_form)form);
        if (other == NULL) {
            break;
        }
        literal_release(other);
        form++;
    }
    return form;
}

/* The least simple of all devices. */
static int form_of_argument(const struct specimen *specimen, int number)
{
    int form = 0;
    for (int s = 0; s < specimen_sets(specimen); s++) {
        int own = form_of(specimen->arguments[s * specimen->argument_count + number]);
        form = own > form ? own : form;
    }
    return form;
}

void find_values(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module *module = specimen->module;
    int *forms = memory_alloc(((size_t)module_instruction_count(module) + 1) * sizeof *forms);
    int at = 0;
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            bool argument = instruction->opcode == OP_PARAMETER && computation == module->entry;
            if (argument) {
                forms[at++] = form_of_argument(specimen, (int)instruction->number);
            } else {
                forms[at++] = instruction->literal != NULL ? form_of(instruction->literal) : 0;
            }
        }
    }
    for (int form = 0; form < VALUE_FORMS; form++) {
        at = 0;
        for (int c = 0; c < module->count; c++) {
            for (int i = 0; i < module->computations[c]->count; i++) {
                if (form < forms[at++]) {
                    place_add(places, c, i, form);
                }
            }
        }
    }
    free(forms);
}

bool apply_values(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                  shrink_value *value, void *context)
{
    struct instruction *instruction = place_instruction(copy, place);
    enum value_form form = (enum value_form)place.variant;
    (void)original;
    (void)value;
    (void)context;
    if (instruction->opcode != OP_PARAMETER) {
        struct literal *simple = in_form(instruction->literal, form);
        if (simple != NULL) {
            literal_release(instruction->literal);
            instruction->literal = simple;
        }
        return simple != NULL;
    }
    bool changed = false;
    for (int s = 0; s < specimen_sets(copy); s++) {
        int at = s * copy->argument_count + (int)instruction->number;
        struct literal *simple = in_form(copy->arguments[at], form);
        if (simple != NULL) {
            shrink_set_argument(copy, at, simple);
            changed = true;
        }
    }
    return changed;
}

/* --- the header --- */

void find_header(const struct specimen *specimen, struct shrink_places *places)
{
    const struct module_config *config = &specimen->module->config;
    if (config->frontend_attributes.count > 0 || config->origin_recovery_table.size > 0 ||
        config->debug_attributes.size > 0 || config->use_spmd_partitioning ||
        config->use_auto_spmd_partitioning || config->alias_passthrough_params ||
        config->device_type.size > 0) {
        place_add(places, 0, 0, 0);
    }
}

bool apply_header(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                  shrink_value *value, void *context)
{
    struct module_config *config = &copy->module->config;
    (void)original;
    (void)value;
    (void)context;
    (void)place;
    *config = (struct module_config){.replica_count = config->replica_count,
                                     .partition_count = config->partition_count};
    return true;
}

/* --- names --- */

/* The name that an instruction gets: its opcode, with a number where there are several. */
static const char *short_name(struct computation *computation,
                              const struct instruction *instruction)
{
    int same = 0, before = 0;
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *other = computation->instructions[i];
        if (other->opcode == instruction->opcode) {
            before += i < instruction->id;
            same++;
        }
    }
    struct arena *arena = &computation->module->arena;
    if (instruction->opcode == OP_PARAMETER) {
        return arena_printf(arena, "p%lld", (long long)instruction->number);
    }
    return same > 1 ? arena_printf(arena, "%s.%d", opcode_text(instruction->opcode), before + 1)
                    : opcode_text(instruction->opcode);
}

static const char *computation_name(const struct module *module,
                                    const struct computation *computation)
{
    if (computation == module->entry) {
        return "main";
    }
    return arena_printf((struct arena *)(uintptr_t)&module->arena, "computation.%d",
                        computation->id + 1);
}

void find_names(const struct specimen *specimen, struct shrink_places *places)
{
    struct module *module = specimen->module;
    bool differs = strcmp(module->name, "reduced") != 0;
    for (int c = 0; c < module->count && !differs; c++) {
        struct computation *computation = module->computations[c];
        differs |= strcmp(computation->name, computation_name(module, computation)) != 0;
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            differs |= strcmp(instruction->name, short_name(computation, instruction)) != 0;
        }
    }
    if (differs) {
        place_add(places, 0, 0, 0);
    }
}

bool apply_names(const struct specimen *original, struct specimen *copy, struct shrink_place place,
                 shrink_value *value, void *context)
{
    struct module *module = copy->module;
    (void)original;
    (void)place;
    (void)value;
    (void)context;
    module->name = "reduced";
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        computation->name = computation_name(module, computation);
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            instruction->name = short_name(computation, instruction);
        }
    }
    return true;
}
