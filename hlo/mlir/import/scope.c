/* What functions that translate ops work with: errors, values, adding and binding instructions. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hlo/infer.h"
#include "hlo/literal.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/mlir/import/sdy.h"

/* --- errors --- */

static bool fail_at(struct scope *scope, const struct mlir_op *op, enum error_code code,
                    const char *format, va_list args)
{
    struct error *err = scope->importer->err;
    if (err->code != ERROR_NONE) {
        return false;
    }
    char text[768];
    vsnprintf(text, sizeof text, format, args);
    error_at(err, mlir_where(scope->importer->file, op), "%s: %s", op->name, text);
    err->code = code;
    return false;
}

bool import_fail(struct scope *scope, const struct mlir_op *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_at(scope, op, ERROR_INVALID_ARGUMENT, format, args);
    va_end(args);
    return false;
}

bool import_refuse(struct scope *scope, const struct mlir_op *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail_at(scope, op, ERROR_UNIMPLEMENTED, format, args);
    va_end(args);
    return false;
}

bool import_deeper(struct scope *scope, const struct mlir_op *op)
{
    if (scope->importer->depth >= IMPORT_MAX_DEPTH) {
        return import_fail(scope, op, "regions and calls are nested more than %d deep",
                           IMPORT_MAX_DEPTH);
    }
    scope->importer->depth++;
    return true;
}

/* --- scopes --- */

void scope_open(struct scope *scope, struct importer *importer, struct computation *computation,
                struct scope *parent)
{
    struct frame *frame = arena_alloc(&importer->module->arena, sizeof *frame);
    frame->computation = computation;
    frame->around = parent != NULL ? parent->frame : NULL;
    map_init(&frame->outside);
    map_init(&frame->copies);
    *scope = (struct scope){
        .importer = importer, .computation = computation, .frame = frame, .parent = parent};
    map_init(&scope->values);
}

void scope_open_inline(struct scope *scope, struct scope *caller)
{
    *scope = (struct scope){.importer = caller->importer,
                            .computation = caller->computation,
                            .frame = caller->frame,
                            .first = caller->first,
                            .is_inline = true};
    map_init(&scope->values);
}

void scope_close(struct scope *scope)
{
    map_finish(&scope->values);
    if (!scope->is_inline) {
        map_finish(&scope->frame->outside);
        map_finish(&scope->frame->copies);
    }
}

/* --- names --- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

const char *import_name(struct importer *importer, const char *text)
{
    char *name =
        arena_printf(&importer->module->arena, "%s.%lld", text, (long long)importer->next_name++);
    for (char *at = name; *at != '\0'; at++) {
        if (!is_name_char(*at) ||
            (at == name && !(*at >= 'a' && *at <= 'z') && !(*at >= 'A' && *at <= 'Z'))) {
            *at = '_';
        }
    }
    return name;
}

struct computation *import_computation(struct importer *importer, const char *name)
{
    return computation_add(importer->module, import_name(importer, name));
}

/* --- values --- */

struct instruction *import_bound(const struct scope *scope, const struct mlir_value *value)
{
    for (; scope != NULL; scope = scope->parent) {
        struct instruction *found = map_get_int(&scope->values, pointer_key(value));
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

struct instruction *import_value(struct scope *scope, const struct mlir_op *op,
                                 const struct mlir_value *value)
{
    struct instruction *found = map_get_int(&scope->values, pointer_key(value));
    if (found != NULL) {
        return found;
    }
    found = import_bound(scope->parent, value);
    if (found == NULL) {
        import_fail(scope, op, "a value (%%%s) is used before it is there",
                    value->name != NULL ? value->name : "?");
        return NULL;
    }
    struct instruction *copy = import_copy(scope, op, found);
    if (copy != NULL) {
        map_put_int(&scope->values, pointer_key(value), copy);
    }
    return copy;
}

struct instruction **import_operands(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = arena_array(&scope->importer->module->arena,
                                                (size_t)op->operand_count + 1, sizeof *operands);
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = import_value(scope, op, op->operands[i]);
        if (operands[i] == NULL) {
            return NULL;
        }
    }
    return operands;
}

/* Was it made for the op under way? Only then does it take the op's sharding. */
static bool is_new(const struct scope *scope, const struct instruction *instruction)
{
    return instruction->parent == scope->computation && instruction->id >= scope->first;
}

/* The op's sharding, or the part of it that result `index` has (−1: all of it); Shardy's as it is.
 */
static void set_sharding(struct scope *scope, const struct mlir_op *op,
                         struct instruction *instruction, int index)
{
    if (!is_new(scope, instruction) || attr_get(instruction, ATTR_SHARDING) != NULL) {
        return;
    }
    import_sdy_sharding(instruction, mlir_op_attr(op, "sdy.sharding"));
    const struct mlir_attr *attr = mlir_op_attr(op, "mhlo.sharding");
    if (attr == NULL || attr->kind != MLIR_ATTR_STRING) {
        return;
    }
    const struct sharding *sharding = import_sharding(scope->importer, op, attr->string);
    if (sharding != NULL && index >= 0 && sharding->form == SHARDING_TUPLE) {
        sharding = index < sharding->count ? sharding->elements[index] : NULL;
    }
    if (sharding != NULL) {
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_SHARDING, .sharding = sharding});
    }
}

void import_bind(struct scope *scope, const struct mlir_value *value,
                 struct instruction *instruction)
{
    map_put_int(&scope->values, pointer_key(value), instruction);
    const struct mlir_op *op = value->op;
    if (op == NULL) {
        return;
    }
    if (mlir_type_is_static(value->type)) {
        const struct shape *shape = import_shape(scope, op, value->type);
        if (shape != NULL && !shape_compatible(shape, shape_static(instruction->shape))) {
            import_fail(scope, op, "the result is %s, but its type says %s",
                        shape_text(shape_without_layout(instruction->shape)), shape_text(shape));
        }
    }
    set_sharding(scope, op, instruction, op->result_count > 1 ? value->index : -1);
}

bool import_bind_results(struct scope *scope, const struct mlir_op *op,
                         struct instruction *instruction)
{
    if (op->result_count == 1) {
        import_bind(scope, &op->results[0], instruction);
        return scope->importer->err->code == ERROR_NONE;
    }
    if (op->result_count == 0) {
        set_sharding(scope, op, instruction, -1);
        return scope->importer->err->code == ERROR_NONE;
    }
    if (!shape_is_tuple(instruction->shape) || instruction->shape->count != op->result_count) {
        return import_fail(scope, op, "gives %s, but there are %d results",
                           shape_text(instruction->shape), op->result_count);
    }
    set_sharding(scope, op, instruction, -1);
    for (int i = 0; i < op->result_count; i++) {
        struct instruction *element = import_add(scope, op, OP_GET_TUPLE_ELEMENT,
                                                 instruction->shape->elements[i], 1, &instruction);
        import_set_int(element, ATTR_INDEX, i);
        import_bind(scope, &op->results[i], element);
    }
    return scope->importer->err->code == ERROR_NONE;
}

/* --- instructions --- */

struct instruction *import_add(struct scope *scope, const struct mlir_op *op, enum opcode opcode,
                               const struct shape *shape, int operand_count,
                               struct instruction *const *operands)
{
    struct instruction *instruction =
        instruction_add(scope->computation, import_name(scope->importer, opcode_text(opcode)),
                        opcode, shape, operand_count, operands);
    instruction->line = op->line;
    instruction->column = op->line > 0 ? op->column : 0;
    struct metadata *metadata = import_metadata(scope->importer, op);
    if (metadata != NULL) {
        instruction_set_attr(instruction,
                             (struct attr){.key = ATTR_METADATA, .metadata = metadata});
    }
    const struct mlir_attr *frontend = mlir_op_attr(op, "mhlo.frontend_attributes");
    if (frontend != NULL && frontend->kind == MLIR_ATTR_DICTIONARY) {
        import_frontend_dictionary(instruction, &frontend->dictionary);
    }
    return instruction;
}

bool import_finish(struct scope *scope, const struct mlir_op *op, struct instruction *instruction)
{
    if (instruction->shape != NULL) {
        return true;
    }
    struct error err = {0};
    const struct shape *shape = infer_shape(instruction, &err);
    if (shape == NULL) {
        return err.code != ERROR_NONE
                   ? import_fail(scope, op, "%s", err.message)
                   : import_refuse(scope, op, "its shape must be known, and is not");
    }
    instruction->shape = shape;
    return true;
}

struct instruction *import_constant(struct scope *scope, const struct mlir_op *op,
                                    struct literal *literal_take)
{
    struct instruction *constant =
        instruction_add(scope->computation, import_name(scope->importer, "constant"), OP_CONSTANT,
                        literal_take->shape, 0, NULL);
    constant->literal = literal_take;
    constant->line = op->line;
    constant->column = op->line > 0 ? op->column : 0;
    return constant;
}

struct instruction *import_scalar(struct scope *scope, const struct mlir_op *op, enum type type,
                                  double value)
{
    struct literal *literal = literal_zero(shape_scalar(type), scope->importer->err);
    if (literal == NULL) {
        return NULL;
    }
    literal_set_double(literal, 0, value);
    return import_constant(scope, op, literal);
}

struct instruction *import_broadcast(struct scope *scope, const struct mlir_op *op,
                                     struct instruction *from, const struct shape *shape, int count,
                                     const int64_t *dimensions)
{
    struct instruction *broadcast = import_add(scope, op, OP_BROADCAST, shape, 1, &from);
    import_set_ints(broadcast, ATTR_DIMENSIONS, count, dimensions);
    return broadcast;
}
