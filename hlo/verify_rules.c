/* Verifier: rules of single opcodes beyond shapes.
 * Source: xla/service/hlo_verifier.cc. */
#include <string.h>

#include "hlo/async.h"
#include "hlo/infer_internal.h"
#include "hlo/verify_internal.h"

#define REPORT(...) \
    verify_report(findings, instruction, instruction_where(instruction), __VA_ARGS__)

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

const struct shape *verify_part(const struct shape *shape, struct ints index)
{
    for (int i = 0; i < index.count; i++) {
        if (!shape_is_tuple(shape) || index.values[i] < 0 || index.values[i] >= shape->count) {
            return NULL;
        }
        shape = shape->elements[index.values[i]];
    }
    return shape;
}

static bool has_frontend_attribute(const struct instruction *instruction, const char *key)
{
    return attr_frontend(instruction, key) != NULL;
}

/* Pin and Unpin turn arrays into buffers and back: what a buffer holds counts. */
static const struct shape *strip_buffers(const struct shape *shape)
{
    return shape->type == TYPE_BUFFER ? shape->elements[0] : shape;
}

/* The shape of operand i of an async-start: that of the computation's parameter, which it need not
 * have itself yet. */
static const struct shape *aliased_operand(const struct instruction *instruction, int64_t i)
{
    const struct computation *computation =
        instruction->opcode == OP_ASYNC_START ? async_computation(instruction) : NULL;
    if (computation != NULL) {
        return i < computation->parameter_count ? computation->parameters[i]->shape : NULL;
    }
    return i < instruction->operand_count ? instruction->operands[i]->shape : NULL;
}

/* The part of the result that an alias of an async-start is about: of ((parameters), result,
 * contexts…), whether they are there yet or not. */
static const struct shape *aliased_output(const struct instruction *instruction, struct ints index)
{
    const struct computation *computation =
        instruction->opcode == OP_ASYNC_START ? async_computation(instruction) : NULL;
    if (computation == NULL || index.count == 0 || index.values[0] > 1) {
        return verify_part(instruction->shape, index);
    }
    struct ints rest = {index.count - 1, index.values + 1};
    if (index.values[0] == 1) {
        return verify_part(computation->root->shape, rest);
    }
    if (rest.count == 0) {
        return instruction->shape->elements[0];
    }
    if (rest.values[0] < 0 || rest.values[0] >= computation->parameter_count) {
        return NULL;
    }
    return verify_part(computation->parameters[rest.values[0]]->shape,
                       (struct ints){rest.count - 1, rest.values + 1});
}

static void check_aliasing(const struct instruction *instruction, struct findings *findings)
{
    const struct attr *attr = attr_get(instruction, ATTR_OUTPUT_TO_OPERAND_ALIASING);
    for (int i = 0; attr != NULL && i < attr->aliasing.count; i++) {
        const struct output_alias *alias = &attr->aliasing.entries[i];
        const struct shape *whole =
            alias->operand >= 0 ? aliased_operand(instruction, alias->operand) : NULL;
        if (whole == NULL) {
            REPORT("%s: output_to_operand_aliasing names operand %lld of %d", instruction->name,
                   (long long)alias->operand, instruction->operand_count);
            continue;
        }
        const struct shape *output = aliased_output(instruction, alias->output_index);
        const struct shape *operand = verify_part(whole, alias->operand_index);
        bool is_start = instruction->opcode == OP_ASYNC_START;
        bool is_update = instruction->opcode == OP_ASYNC_UPDATE;
        bool contexts = alias->operand == 0 && alias->output_index.count > 0 &&
                        alias->output_index.values[0] == 2 && alias->operand_index.count > 0 &&
                        alias->operand_index.values[0] == 2;
        if (output == NULL || operand == NULL || (is_start && alias->output_index.count == 0)) {
            REPORT("%s: output_to_operand_aliasing entry %d names a part that is not there",
                   instruction->name, i);
        } else if (is_update && !contexts) {
            REPORT("%s: output_to_operand_aliasing entry %d joins more than the contexts of two "
                   "async instructions",
                   instruction->name, i);
        } else if (!infer_compatible(strip_buffers(output), strip_buffers(operand)) &&
                   !has_frontend_attribute(instruction, "xla_skip_custom_call_alias_shape_check")) {
            REPORT("%s: output_to_operand_aliasing joins %s and %s", instruction->name,
                   shape_text(output), shape_text(operand));
        }
    }
}

static void check_reduce_precision(const struct instruction *instruction, struct findings *findings)
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

/* Integers and pred have a total order only. */
static void check_compare(const struct instruction *instruction, struct findings *findings)
{
    enum type type = instruction->operands[1]->shape->type;
    if ((type_is_integer(type) || type == TYPE_PRED) &&
        compare_type_of(instruction) == COMPARE_FLOAT) {
        REPORT("%s compares %s as FLOAT", instruction->name, type_text(type));
    }
}

static void check_composite(const struct instruction *instruction, struct findings *findings)
{
    if (!attr_bool(instruction, ATTR_IS_COMPOSITE, false)) {
        return;
    }
    const struct bytes *name = attr_frontend(instruction, "composite.name");
    const struct bytes *attributes = attr_frontend(instruction, "composite.attributes");
    const struct bytes *version = attr_frontend(instruction, "composite.version");
    if (name == NULL || name->size == 0) {
        REPORT("%s is a composite, but has no frontend attribute composite.name",
               instruction->name);
    }
    if (attributes != NULL && attributes->size == 0) {
        REPORT("%s: the frontend attribute composite.attributes is empty", instruction->name);
    }
    if (version != NULL &&
        (version->size == 0 || strspn(version->data, "0123456789") != version->size)) {
        REPORT("%s: the frontend attribute composite.version is no number: %s", instruction->name,
               version->data);
    }
}

static void check_custom_call(const struct instruction *instruction, struct findings *findings)
{
    const struct attr *attr = attr_get(instruction, ATTR_OPERAND_LAYOUT_CONSTRAINTS);
    const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
    if (strcmp(target, "GetRngSeed") == 0 &&
        (instruction->operand_count != 0 || instruction->shape != shape_scalar(TYPE_U64))) {
        REPORT("%s: GetRngSeed takes nothing and gives u64[]", instruction->name);
    }
    if (attr == NULL || strcmp(target, "LayoutConstraint") == 0 ||
        strcmp(target, "control_dep") == 0) {
        return;
    }
    if (attr->shapes.count != instruction->operand_count) {
        REPORT("%s: operand_layout_constraints has %d shapes for %d operands", instruction->name,
               attr->shapes.count, instruction->operand_count);
        return;
    }
    for (int i = 0; i < attr->shapes.count; i++) {
        if (!infer_compatible(attr->shapes.shapes[i], instruction->operands[i]->shape)) {
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
    verify_collective(instruction, findings);
    check_aliasing(instruction, findings);
    switch (instruction->opcode) {
    case OP_REDUCE_PRECISION:
        check_reduce_precision(instruction, findings);
        break;
    case OP_CUSTOM_CALL:
        check_custom_call(instruction, findings);
        break;
    case OP_COMPARE:
        check_compare(instruction, findings);
        break;
    case OP_CALL:
        check_composite(instruction, findings);
        break;
    default:
        break;
    }
}
