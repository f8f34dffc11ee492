/* Prints modules, computations and instructions. */
#include "hlo/text/print.h"

#include "hlo/literal.h"
#include "hlo/text/lexer.h"

const struct print_options print_canonical = {.metadata = true, .layouts = true};
const struct print_options print_long = {
    .percent = true, .operand_shapes = true, .metadata = true, .layouts = true};
const struct print_options print_short = {.layouts = true, .literal_limit = 10};

void print_name(const char *name, const struct print_options *options, struct text *out)
{
    if (options->percent || lexer_is_reserved(name, strlen(name))) {
        text_char(out, '%');
    }
    text_append(out, name);
}

/* --- instructions --- */

static void print_operands(const struct instruction *instruction,
                           const struct print_options *options, struct text *out)
{
    for (int i = 0; i < instruction->operand_count; i++) {
        text_append(out, i > 0 ? ", " : "");
        if (i > 0 && i % 5 == 0 && options->operand_shapes) {
            text_printf(out, "/*index=%d*/", i);
        }
        if (options->operand_shapes) {
            shape_print(instruction->operands[i]->shape, options->layouts, out);
            text_char(out, ' ');
        }
        print_name(instruction->operands[i]->name, options, out);
    }
}

/* The attribute that names the computations an opcode calls, if there is only one kind. */
static enum attr_key called_key(enum opcode opcode)
{
    switch (opcode) {
    case OP_CUSTOM_CALL:
        return ATTR_CALLED_COMPUTATIONS;
    case OP_CONDITIONAL:
        return ATTR_BRANCH_COMPUTATIONS;
    default:
        return opcode_takes(opcode, ATTR_TO_APPLY) ? ATTR_TO_APPLY : ATTR_CALLS;
    }
}

static void print_called_one(const struct instruction *instruction, enum attr_key key, int i,
                             const struct print_options *options, struct text *out)
{
    text_append(out, ", ");
    text_append(out, attr_table[key].text);
    text_char(out, '=');
    print_name(instruction->called[i]->name, options, out);
}

static void print_called(const struct instruction *instruction, const struct print_options *options,
                         struct text *out)
{
    enum opcode opcode = instruction->opcode;
    int count = instruction->called_count;
    if (count == 0) {
        return;
    }
    if (opcode == OP_WHILE && count == 2) {
        print_called_one(instruction, ATTR_CONDITION, 1, options, out);
        print_called_one(instruction, ATTR_BODY, 0, options, out);
        return;
    }
    if (opcode == OP_SELECT_AND_SCATTER && count == 2) {
        print_called_one(instruction, ATTR_SELECT, 0, options, out);
        print_called_one(instruction, ATTR_SCATTER, 1, options, out);
        return;
    }
    if (opcode == OP_CONDITIONAL && count == 2 && instruction->operand_count > 0 &&
        instruction->operands[0]->shape->type == TYPE_PRED) {
        print_called_one(instruction, ATTR_TRUE_COMPUTATION, 0, options, out);
        print_called_one(instruction, ATTR_FALSE_COMPUTATION, 1, options, out);
        return;
    }
    enum attr_key key = called_key(opcode);
    if (attr_table[key].kind == ATTR_KIND_COMPUTATION) {
        print_called_one(instruction, key, 0, options, out);
        return;
    }
    text_printf(out, ", %s={", attr_table[key].text);
    for (int i = 0; i < count; i++) {
        text_append(out, i > 0 ? ", " : "");
        print_name(instruction->called[i]->name, options, out);
    }
    text_char(out, '}');
}

static void print_predecessors(const struct instruction *instruction,
                               const struct print_options *options, struct text *out)
{
    if (instruction->control_count == 0) {
        return;
    }
    text_append(out, ", control-predecessors={");
    for (int i = 0; i < instruction->control_count; i++) {
        text_append(out, i > 0 ? ", " : "");
        print_name(instruction->control_predecessors[i]->name, options, out);
    }
    text_char(out, '}');
}

/* What XLA writes even where it says nothing. */
static const struct {
    enum opcode opcode;
    enum attr_key key;
} always_written[] = {
    {OP_BROADCAST, ATTR_DIMENSIONS},
    {OP_MAP, ATTR_DIMENSIONS}, /* all of them, see below */
    {OP_DOT, ATTR_LHS_CONTRACTING_DIMS},
    {OP_DOT, ATTR_RHS_CONTRACTING_DIMS},
    {OP_RAGGED_DOT, ATTR_LHS_CONTRACTING_DIMS},
    {OP_RAGGED_DOT, ATTR_RHS_CONTRACTING_DIMS},
    {OP_SCALED_DOT, ATTR_LHS_CONTRACTING_DIMS},
    {OP_SCALED_DOT, ATTR_RHS_CONTRACTING_DIMS},
    {OP_ALL_GATHER, ATTR_REPLICA_GROUPS},
    {OP_ALL_GATHER_START, ATTR_REPLICA_GROUPS},
    {OP_ALL_REDUCE, ATTR_REPLICA_GROUPS},
    {OP_ALL_REDUCE_START, ATTR_REPLICA_GROUPS},
    {OP_ALL_TO_ALL, ATTR_REPLICA_GROUPS},
    {OP_COLLECTIVE_BROADCAST, ATTR_REPLICA_GROUPS},
    {OP_RAGGED_ALL_TO_ALL, ATTR_REPLICA_GROUPS},
    {OP_REDUCE_SCATTER, ATTR_REPLICA_GROUPS},
    {OP_TOPK, ATTR_LARGEST},
};

struct attr_list {
    const struct attr *attrs[ATTR_COUNT];
    int count;
};

static void insert(struct attr_list *list, const struct attr *attr)
{
    int at = list->count++;
    for (; at > 0 && list->attrs[at - 1]->key > attr->key; at--) {
        list->attrs[at] = list->attrs[at - 1];
    }
    list->attrs[at] = attr;
}

/* Attributes come in the order of their table; computations and predecessors stand among them. */
static void print_attributes(const struct instruction *instruction,
                             const struct print_options *options, struct text *out)
{
    static struct groups all_devices = {.form = GROUPS_LIST};
    int64_t dimensions[SHAPE_MAX_RANK];
    struct attr defaults[2];
    int default_count = 0;
    struct attr_list list = {.count = 0};
    for (int i = 0; i < instruction->attr_count; i++) {
        insert(&list, &instruction->attrs[i]);
    }
    for (size_t i = 0; i < sizeof always_written / sizeof *always_written; i++) {
        enum attr_key key = always_written[i].key;
        if (always_written[i].opcode != instruction->opcode || attr_get(instruction, key) != NULL) {
            continue;
        }
        struct attr *attr = &defaults[default_count++];
        *attr = (struct attr){.key = key};
        if (key == ATTR_REPLICA_GROUPS) {
            attr->groups = &all_devices;
        } else if (key == ATTR_LARGEST) {
            attr->integer = true;
        } else if (instruction->opcode == OP_MAP) {
            for (int k = 0; k < instruction->shape->rank; k++) {
                dimensions[k] = k;
            }
            attr->ints = (struct ints){instruction->shape->rank, dimensions};
        }
        insert(&list, attr);
    }
    int i = 0;
    for (int part = 0; part < 3; part++) {
        enum attr_key limit = part == 0   ? ATTR_TO_APPLY
                              : part == 1 ? ATTR_CONTROL_PREDECESSORS
                                          : ATTR_COUNT;
        for (; i < list.count && list.attrs[i]->key < limit; i++) {
            const struct attr *attr = list.attrs[i];
            bool is_metadata = attr->key == ATTR_METADATA || attr->key == ATTR_ORIGIN;
            if (is_metadata && !options->metadata) {
                continue;
            }
            text_append(out, ", ");
            text_append(out, attr_table[attr->key].text);
            text_char(out, '=');
            print_attr_value(attr, options, out);
        }
        if (part == 0) {
            print_called(instruction, options, out);
        } else if (part == 1) {
            print_predecessors(instruction, options, out);
        }
    }
}

void text_print_instruction(const struct instruction *instruction,
                            const struct print_options *options, struct text *out)
{
    print_name(instruction->name, options, out);
    text_append(out, " = ");
    shape_print(instruction->shape, options->layouts, out);
    text_char(out, ' ');
    text_append(out, opcode_text(instruction->opcode));
    text_char(out, '(');
    if (instruction->opcode == OP_PARAMETER) {
        text_int(out, instruction->number);
    } else if (instruction->opcode == OP_CONSTANT && instruction->literal != NULL) {
        literal_print(instruction->literal, false, options->literal_limit, out);
    } else {
        print_operands(instruction, options, out);
    }
    text_char(out, ')');
    print_attributes(instruction, options, out);
}

/* --- computations --- */

/* "(p: f32[2], q: f32[]) -> f32[2] " */
static void print_signature(const struct computation *computation, struct text *out)
{
    text_char(out, '(');
    for (int i = 0; i < computation->parameter_count; i++) {
        const struct instruction *parameter = computation->parameters[i];
        text_append(out, i > 0 ? ", " : "");
        text_append(out, parameter->name);
        text_append(out, ": ");
        shape_print(parameter->shape, false, out);
    }
    text_append(out, ") -> ");
    shape_print(computation->root->shape, false, out);
    text_char(out, ' ');
}

void text_print_computation(const struct computation *computation,
                            const struct print_options *options, struct text *out)
{
    if (computation == computation->module->entry) {
        text_append(out, "ENTRY ");
    }
    print_name(computation->name, options, out);
    text_char(out, ' ');
    if (options->percent) {
        print_signature(computation, out);
    }
    text_append(out, "{\n");
    for (int i = 0; i < computation->count; i++) {
        text_append(out, computation->instructions[i] == computation->root ? "  ROOT " : "  ");
        text_print_instruction(computation->instructions[i], options, out);
        text_char(out, '\n');
    }
    text_char(out, '}');
    if (computation->execution_thread[0] != '\0') {
        text_append(out, ", execution_thread=");
        print_string(computation->execution_thread, strlen(computation->execution_thread), out);
    }
    text_char(out, '\n');
}

/* --- the module --- */

static void print_alias_config(const struct module_config *config, struct text *out)
{
    for (int i = 0; i < config->alias_count; i++) {
        const struct input_output_alias *alias = &config->aliases[i];
        text_append(out, i > 0 ? ", " : ", input_output_alias={ ");
        print_ints(alias->output_index, out);
        text_append(out, ": (");
        text_int(out, alias->parameter);
        text_append(out, ", ");
        print_ints(alias->parameter_index, out);
        text_append(out, alias->kind == ALIAS_MUST ? ", must-alias)" : ", may-alias)");
    }
    text_append(out, config->alias_count > 0 ? " }" : "");
    for (int i = 0; i < config->donor_count; i++) {
        text_append(out, i > 0 ? ", (" : ", buffer_donor={ (");
        text_int(out, config->donors[i].parameter);
        text_append(out, ", ");
        print_ints(config->donors[i].parameter_index, out);
        text_char(out, ')');
    }
    text_append(out, config->donor_count > 0 ? " }" : "");
}

static void print_entry_layout(const struct module_config *config,
                               const struct print_options *options, struct text *out)
{
    if (config->result_shape == NULL) {
        return;
    }
    text_append(out, ", entry_computation_layout={(");
    for (int i = 0; i < config->parameter_count; i++) {
        text_append(out, i > 0 ? ", " : "");
        if (i > 0 && i % 5 == 0) {
            text_printf(out, "/*index=%d*/", i);
        }
        shape_print(config->parameter_shapes[i], options->layouts, out);
    }
    text_append(out, ")->");
    shape_print(config->result_shape, options->layouts, out);
    text_char(out, '}');
}

static void print_bool_list(const char *name, struct ints values, struct text *out)
{
    for (int i = 0; i < values.count; i++) {
        text_append(out, i > 0 ? "," : name);
        text_append(out, values.values[i] != 0 ? "true" : "false");
    }
    text_append(out, values.count > 0 ? "}" : "");
}

static void print_kept_text(const char *name, struct bytes bytes, struct text *out)
{
    if (bytes.size > 0) {
        text_append(out, name);
        text_append_n(out, bytes.data, bytes.size);
        text_append(out, "\n}");
    }
}

static void print_header(const struct module *module, const struct print_options *options,
                         struct text *out)
{
    const struct module_config *config = &module->config;
    text_append(out, "HloModule ");
    print_name(module->name, &print_canonical, out);
    text_append(out, config->is_scheduled ? ", is_scheduled=true" : "");
    print_alias_config(config, out);
    text_append(out, config->alias_passthrough_params ? ", alias_passthrough_params=true" : "");
    print_entry_layout(config, options, out);
    print_bool_list(", allow_spmd_sharding_propagation_to_parameters={",
                    config->propagate_to_parameters, out);
    print_bool_list(", allow_spmd_sharding_propagation_to_output={", config->propagate_to_output,
                    out);
    if (config->replica_count != 1) {
        text_append(out, ", replica_count=");
        text_int(out, config->replica_count);
    }
    if (config->partition_count != 1) {
        text_append(out, ", num_partitions=");
        text_int(out, config->partition_count);
    }
    if (config->frontend_attributes.count > 0) {
        text_append(out, ", frontend_attributes=");
        print_string_map(config->frontend_attributes, out);
    }
    print_kept_text(", origin_recovery_table={\n  ", config->origin_recovery_table, out);
    print_kept_text(", debug_attributes={\n  ", config->debug_attributes, out);
}

static void print_strings(const char *title, const char *const *strings, int count,
                          struct text *out)
{
    text_append(out, title);
    for (int i = 0; i < count; i++) {
        text_int(out, i + 1);
        text_char(out, ' ');
        print_string(strings[i], strlen(strings[i]), out);
        text_char(out, '\n');
    }
}

static void print_frame_tables(const struct frame_tables *tables, struct text *out)
{
    if (tables->file_name_count + tables->function_name_count + tables->location_count +
            tables->frame_count ==
        0) {
        return;
    }
    print_strings("\nFileNames\n", tables->file_names, tables->file_name_count, out);
    print_strings("\nFunctionNames\n", tables->function_names, tables->function_name_count, out);
    text_append(out, "\nFileLocations\n");
    for (int i = 0; i < tables->location_count; i++) {
        const struct file_location *location = &tables->locations[i];
        text_printf(out,
                    "%d {file_name_id=%lld function_name_id=%lld line=%lld end_line=%lld "
                    "column=%lld end_column=%lld}\n",
                    i + 1, (long long)location->file_name_id, (long long)location->function_name_id,
                    (long long)location->line, (long long)location->end_line,
                    (long long)location->column, (long long)location->end_column);
    }
    text_append(out, "\nStackFrames\n");
    for (int i = 0; i < tables->frame_count; i++) {
        text_printf(out, "%d {file_location_id=%lld parent_frame_id=%lld}\n", i + 1,
                    (long long)tables->frames[i].file_location_id,
                    (long long)tables->frames[i].parent_frame_id + 1);
    }
}

void text_print_module(const struct module *module, const struct print_options *options,
                       struct text *out)
{
    print_header(module, options, out);
    text_char(out, '\n');
    if (options->metadata) {
        print_frame_tables(&module->frames, out);
    }
    for (int c = 0; c < module->count; c++) {
        text_char(out, '\n');
        text_print_computation(module->computations[c], options, out);
    }
}
