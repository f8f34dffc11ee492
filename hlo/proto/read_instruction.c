/* Instructions from protos. Source: xla/hlo/ir/hlo_instruction.cc (CreateFromProto),
 * xla/service/name_uniquer.cc (names). */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/proto/read.h"

/* --- names --- */

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

const char *reader_name(struct reader *reader, const char *name)
{
    size_t size = strlen(name);
    char *copy = arena_alloc(reader->arena, size + 2); /* room for an underscore */
    memcpy(copy, name, size);
    for (size_t i = 0; i < size; i++) {
        if (!is_name_character(copy[i])) {
            copy[i] = '_';
        }
    }
    if ((copy[0] >= '0' && copy[0] <= '9') || copy[0] == '.' || copy[0] == '-') {
        copy[0] = '_';
    }
    /* The names of types are keywords of HLO text. */
    enum type type = type_from_text(copy, size);
    if (type != TYPE_INVALID && type != TYPE_TUPLE && type != TYPE_BUFFER) {
        copy[size] = '_';
    }
    return copy;
}

/* --- opcodes --- */

struct old_opcode {
    const char *opcode, *direction;
};

/* Comparisons were opcodes once. */
static const struct old_opcode old_opcodes[] = {
    {"equal-to", "EQ"},     {"not-equal-to", "NE"},          {"greater-than-or-equal-to", "GE"},
    {"greater-than", "GT"}, {"less-than-or-equal-to", "LE"}, {"less-than", "LT"},
};

static const char *old_direction(const char *opcode)
{
    for (size_t i = 0; i < sizeof old_opcodes / sizeof *old_opcodes; i++) {
        if (strcmp(opcode, old_opcodes[i].opcode) == 0) {
            return old_opcodes[i].direction;
        }
    }
    return NULL;
}

/* --- operands and computations --- */

static uint64_t key_of(const struct computation *computation, int64_t id)
{
    return (uint64_t)computation->id << 32 | (uint32_t)id;
}

struct instruction *reader_find(const struct reader *reader, const struct computation *computation,
                                int64_t id)
{
    return map_get_int(&reader->instructions, key_of(computation, id));
}

/* The instructions with these ids, which must have been read before. */
static bool find_all(const struct reader *reader, const struct computation *computation,
                     const char *what, size_t count, const int64_t *ids, struct instruction ***list,
                     struct error *err)
{
    struct instruction **found = arena_array(reader->arena, count, sizeof *found);
    for (size_t i = 0; i < count; i++) {
        found[i] = reader_find(reader, computation, ids[i]);
        if (found[i] == NULL) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "%s %zu has id %lld, which no instruction before it in %s has", what,
                             i, (long long)ids[i], computation->name);
        }
    }
    *list = found;
    return true;
}

/* How many computations the opcode calls; VARIADIC when it is not fixed. */
static int called_count(enum opcode opcode)
{
    if (opcode == OP_CONDITIONAL || opcode == OP_CUSTOM_CALL) {
        return VARIADIC;
    }
    int count = 0;
    for (int key = 0; key < ATTR_COUNT; key++) {
        count += attr_table[key].kind == ATTR_KIND_COMPUTATION && opcode_requires(opcode, key);
    }
    return count;
}

static bool check_conditional(const struct instruction *instruction, size_t branches,
                              struct error *err)
{
    bool is_pred =
        instruction->operand_count > 0 && instruction->operands[0]->shape->type == TYPE_PRED;
    if (branches == 0 || (is_pred && branches != 2) ||
        (size_t)instruction->operand_count != branches + 1) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%zu branches do not fit %d operands",
                         branches, instruction->operand_count);
    }
    return true;
}

static bool read_called(struct reader *reader, const Referee__HloInstructionProto *proto,
                        struct instruction *instruction, struct error *err)
{
    size_t count = proto->n_called_computation_ids;
    if (instruction->opcode == OP_ASYNC_UPDATE || instruction->opcode == OP_ASYNC_DONE) {
        count = 0; /* those of the start, if at all */
    }
    int wanted = called_count(instruction->opcode);
    if (wanted != VARIADIC && count != (size_t)wanted) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%zu called computations instead of %d",
                         count, wanted);
    }
    if (instruction->opcode == OP_CONDITIONAL && !check_conditional(instruction, count, err)) {
        return false;
    }
    struct computation **called = arena_array(reader->arena, count, sizeof *called);
    for (size_t i = 0; i < count; i++) {
        int64_t id = proto->called_computation_ids[i];
        called[i] = map_get_int(&reader->computations, (uint64_t)id);
        if (called[i] == NULL) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "called computation %zu has id %lld, which no computation before %s "
                             "has",
                             i, (long long)id, instruction->parent->name);
        }
    }
    if (count > 0) {
        instruction_set_called(instruction, (int)count, called);
    }
    return true;
}

/* --- instructions --- */

/* The messages without which XLA refuses an opcode. */
static bool check_messages(const Referee__HloInstructionProto *proto, enum opcode opcode,
                           struct error *err)
{
    const void *message = proto;
    const char *name = "";
    switch (opcode) {
    case OP_GATHER:
        message = proto->gather_dimension_numbers;
        name = "message of gather dimension numbers";
        break;
    case OP_SCATTER:
        message = proto->scatter_dimension_numbers;
        name = "message of scatter dimension numbers";
        break;
    case OP_DOT:
    case OP_SCALED_DOT:
        message = proto->dot_dimension_numbers;
        name = "message of dot dimension numbers";
        break;
    case OP_RAGGED_DOT:
        message = proto->ragged_dot_dimension_numbers;
        name = "message of ragged dot dimension numbers";
        break;
    case OP_CONVOLUTION:
        message = proto->window;
        name = "window";
        break;
    case OP_PAD:
        message = proto->padding_config;
        name = "padding configuration";
        break;
    case OP_OUTFEED:
        message = proto->outfeed_shape;
        name = "outfeed shape";
        break;
    default:
        break;
    }
    return message != NULL || error_set(err, ERROR_INVALID_ARGUMENT, "its %s is missing", name);
}

static bool read_constant(struct reader *reader, const Referee__HloInstructionProto *proto,
                          struct instruction *instruction, struct error *err)
{
    if (proto->literal != NULL) {
        instruction->literal = read_literal(proto->literal, instruction->shape, err);
        instruction->elided = proto->referee_elided != 0;
    } else {
        instruction->literal =
            literal_fill(instruction->shape, (uint64_t)reader->module->elided_count, err);
        instruction->elided = true;
    }
    reader->module->elided_count += instruction->elided;
    return instruction->literal != NULL;
}

static bool read_parts(struct reader *reader, const Referee__HloInstructionProto *proto,
                       struct computation *computation, struct error *err)
{
    const char *opcode_name = proto->opcode != NULL ? proto->opcode : "";
    Referee__HloInstructionProto upgraded;
    const char *direction = old_direction(opcode_name);
    enum opcode opcode = opcode_from_text(opcode_name, strlen(opcode_name));
    if (direction != NULL) {
        upgraded = *proto;
        upgraded.comparison_direction = (char *)direction;
        proto = &upgraded;
        opcode = OP_COMPARE;
    }
    if (opcode == OPCODE_COUNT) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "opcode \"%s\" is unknown", opcode_name);
    }
    if (proto->shape == NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "it has no shape");
    }
    const struct shape *shape = read_shape(proto->shape, err);
    if (shape == NULL) {
        return false;
    }
    int arity = opcode_table[opcode].arity;
    if (arity != VARIADIC && proto->n_operand_ids != (size_t)arity) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "%s has %zu operands instead of %d",
                         opcode_name, proto->n_operand_ids, arity);
    }
    struct instruction **operands, **predecessors;
    if (!check_messages(proto, opcode, err) ||
        !find_all(reader, computation, "operand", proto->n_operand_ids, proto->operand_ids,
                  &operands, err) ||
        !find_all(reader, computation, "control predecessor", proto->n_control_predecessor_ids,
                  proto->control_predecessor_ids, &predecessors, err)) {
        return false;
    }
    const char *own_name = proto->referee_name != NULL ? proto->referee_name : proto->name;
    struct instruction *instruction =
        instruction_add(computation, reader_name(reader, own_name), opcode, shape,
                        (int)proto->n_operand_ids, operands);
    if (map_put(&reader->own_names, instruction->name, strlen(instruction->name), computation) ==
        computation) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "two instructions of %s have the name %s",
                         computation->name, instruction->name);
    }
    instruction->control_count = (int)proto->n_control_predecessor_ids;
    instruction->control_predecessors = predecessors;
    instruction->number = opcode == OP_PARAMETER ? proto->parameter_number : 0;
    if (proto->id < 0) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "its id %lld is negative",
                         (long long)proto->id);
    }
    if (map_put_int(&reader->instructions, key_of(computation, proto->id), instruction) != NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT, "its id %lld is that of another one in %s",
                         (long long)proto->id, computation->name);
    }
    return read_called(reader, proto, instruction, err) &&
           read_attributes(reader, proto, instruction, err) &&
           (opcode != OP_CONSTANT || read_constant(reader, proto, instruction, err));
}

bool read_instruction(struct reader *reader, const Referee__HloInstructionProto *proto,
                      struct computation *computation, struct error *err)
{
    struct where where = {reader->name, 0, 0};
    if (proto->name == NULL || *proto->name == '\0') {
        return error_at(err, where, "instruction %d of computation %s has no name",
                        computation->count, computation->name);
    }
    if (map_put(&reader->instruction_names, proto->name, strlen(proto->name), computation) !=
        NULL) {
        return error_at(err, where, "two instructions have the name %s", proto->name);
    }
    struct error why = {0};
    if (!read_parts(reader, proto, computation, &why)) {
        error_at(err, where, "instruction %s: %s", proto->name, why.message);
        if (err != NULL) {
            err->code = why.code;
        }
        return false;
    }
    if (reader->warnings != NULL) {
        struct text label;
        text_init(&label);
        text_printf(&label, "instruction %s", proto->name);
        message_warn_unknown(&proto->base, label.data, reader->warnings);
        text_finish(&label);
    }
    return true;
}
