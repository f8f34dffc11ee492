/* Values made again elsewhere: in the computation of a region that is given nothing from outside,
 * and in a module of their own that tells what a shape is (import_integers). */
#include <string.h>

#include "hlo/literal.h"
#include "hlo/mlir/import/import_internal.h"
#include "hlo/verify.h"

enum { COPY_MAX_DEPTH = 5000 };

struct copier {
    struct scope *scope; /* where the copies are wanted; for errors */
    const struct mlir_op *op;
    struct module *module;      /* the target's */
    struct computation *target; /* where copies go */
    struct map *copies;         /* struct instruction* → its copy */
    struct map *computations;   /* the same for computations; NULL: they are in the target module */
    const char *why;            /* of a failure */
    int depth;
};

/* Ops that do or depend on more than their operands say. */
static bool is_pure(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_PARAMETER:
    case OP_CUSTOM_CALL:
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
    case OP_ALL_GATHER:
    case OP_ALL_REDUCE:
    case OP_ALL_TO_ALL:
    case OP_COLLECTIVE_BROADCAST:
    case OP_COLLECTIVE_PERMUTE:
    case OP_RAGGED_ALL_TO_ALL:
    case OP_REDUCE_SCATTER:
    case OP_PARTITION_ID:
    case OP_REPLICA_ID:
    case OP_INFEED:
    case OP_OUTFEED:
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_ASYNC_START:
    case OP_ASYNC_UPDATE:
    case OP_ASYNC_DONE:
        return false;
    default:
        return true;
    }
}

static struct instruction *copy_alone(struct copier *copier, const struct instruction *from,
                                      struct instruction *const *operands)
{
    struct importer *importer = copier->scope->importer;
    struct instruction *copy =
        instruction_add(copier->target, import_name(importer, opcode_text(from->opcode)),
                        from->opcode, from->shape, from->operand_count, operands);
    for (int i = 0; i < from->attr_count; i++) {
        instruction_set_attr(copy, from->attrs[i]);
        if (from->attrs[i].key == ATTR_LITERAL) {
            literal_retain(from->attrs[i].literal);
        }
    }
    copy->literal = from->literal != NULL ? literal_retain(from->literal) : NULL;
    copy->number = from->number;
    copy->line = from->line;
    copy->column = from->column;
    return copy;
}

static bool copy_called(struct copier *copier, const struct instruction *from,
                        struct instruction *copy);

/* A computation as a whole, which calls nothing of its surroundings. */
static struct computation *copy_computation(struct copier *copier, struct computation *from)
{
    struct computation *copy = map_get_int(copier->computations, pointer_key(from));
    if (copy != NULL) {
        return copy;
    }
    if (++copier->depth > IMPORT_MAX_DEPTH) {
        copier->why = "it is made by calls that are nested too deep";
        return NULL;
    }
    copy = computation_add(copier->module, from->name);
    map_put_int(copier->computations, pointer_key(from), copy);
    struct copier inner = *copier;
    inner.target = copy;
    struct instruction **operands = NULL;
    struct arena *arena = &copier->module->arena;
    bool good = true;
    for (int i = 0; good && i < from->count; i++) {
        const struct instruction *instruction = from->instructions[i];
        operands = arena_array(arena, (size_t)instruction->operand_count, sizeof *operands);
        for (int k = 0; k < instruction->operand_count; k++) {
            operands[k] = map_get_int(inner.copies, pointer_key(instruction->operands[k]));
        }
        if (instruction->opcode != OP_PARAMETER && !is_pure(instruction)) {
            copier->why = "it is made by a function with effects";
            return NULL;
        }
        struct instruction *made = copy_alone(&inner, instruction, operands);
        map_put_int(inner.copies, pointer_key(instruction), made);
        good = copy_called(&inner, instruction, made);
        copier->why = inner.why;
    }
    copy->root = map_get_int(inner.copies, pointer_key(from->root));
    copier->depth--;
    return good ? copy : NULL;
}

static bool copy_called(struct copier *copier, const struct instruction *from,
                        struct instruction *copy)
{
    if (from->called_count == 0) {
        return true;
    }
    if (copier->computations == NULL) {
        instruction_set_called(copy, from->called_count, from->called);
        return true;
    }
    struct computation **called = arena_array(&copier->module->arena, (size_t)from->called_count,
                                              sizeof(struct computation *));
    for (int i = 0; i < from->called_count; i++) {
        called[i] = copy_computation(copier, from->called[i]);
        if (called[i] == NULL) {
            return false;
        }
    }
    instruction_set_called(copy, from->called_count, called);
    return true;
}

/* The frame of a computation under way. */
static const struct frame *frame_of(const struct scope *scope,
                                    const struct computation *computation)
{
    const struct frame *frame = scope->frame;
    while (frame != NULL && frame->computation != computation) {
        frame = frame->around;
    }
    return frame;
}

/* A value that is known, an argument's or one that was worked out before, as a constant. NULL if it
 * is none. Only where shapes are worked out: a translation does not depend on values otherwise. */
static struct instruction *known_value(struct copier *copier, const struct instruction *from)
{
    const struct importer *importer = copier->scope->importer;
    if (copier->computations == NULL) {
        return NULL;
    }
    const struct literal *value = map_get_int(&importer->known, pointer_key(from));
    if (from->opcode == OP_PARAMETER && from->parent == importer->module->entry &&
        importer->options->arguments != NULL && from->number < importer->options->argument_count) {
        value = importer->options->arguments[from->number];
    }
    struct literal *literal =
        value != NULL && shape_compatible(value->shape, from->shape) ? literal_retain(value) : NULL;
    if (literal == NULL) {
        return NULL;
    }
    struct instruction *constant =
        instruction_add(copier->target, import_name(copier->scope->importer, "constant"),
                        OP_CONSTANT, literal->shape, 0, NULL);
    constant->literal = literal;
    return constant;
}

static struct instruction *copy_value(struct copier *copier, struct instruction *from)
{
    struct instruction *copy = map_get_int(copier->copies, pointer_key(from));
    if (copy != NULL) {
        return copy;
    }
    const struct frame *frame = frame_of(copier->scope, from->parent);
    struct instruction *outside =
        frame != NULL ? map_get_int(&frame->outside, pointer_key(from)) : NULL;
    if (copier->depth >= COPY_MAX_DEPTH) {
        copier->why = "it depends on too long a chain of operations";
        return NULL;
    }
    copier->depth++;
    if (outside != NULL) {
        copy = copy_value(copier, outside);
    } else {
        copy = known_value(copier, from);
    }
    if (copy == NULL && outside == NULL && copier->why == NULL) {
        if (!is_pure(from)) {
            copier->why = from->name;
            return NULL;
        }
        struct instruction **operands =
            arena_array(&copier->module->arena, (size_t)from->operand_count, sizeof *operands);
        for (int i = 0; i < from->operand_count; i++) {
            operands[i] = copy_value(copier, from->operands[i]);
            if (operands[i] == NULL) {
                return NULL;
            }
        }
        copy = copy_alone(copier, from, operands);
        if (!copy_called(copier, from, copy)) {
            return NULL;
        }
    }
    copier->depth--;
    if (copy != NULL) {
        map_put_int(copier->copies, pointer_key(from), copy);
    }
    return copy;
}

struct instruction *import_copy(struct scope *scope, const struct mlir_op *op,
                                struct instruction *from)
{
    struct copier copier = {.scope = scope,
                            .op = op,
                            .module = scope->importer->module,
                            .target = scope->computation,
                            .copies = &scope->frame->copies};
    struct instruction *copy = copy_value(&copier, from);
    if (copy == NULL) {
        import_refuse(scope, op,
                      "its computation uses a value of the outside that is no constant: it depends "
                      "on %s",
                      copier.why);
    }
    return copy;
}

/* --- import_integers --- */

static bool read_integers(struct scope *scope, const struct mlir_op *op,
                          const struct literal *literal, struct ints *values)
{
    if (!shape_is_array(literal->shape) ||
        (!type_is_integer(literal->shape->type) && literal->shape->type != TYPE_PRED)) {
        return import_fail(scope, op, "a shape must be of integers, not %s",
                           shape_text(literal->shape));
    }
    int64_t count = literal_elements(literal);
    if (count > SHAPE_MAX_RANK * SHAPE_MAX_RANK) {
        return import_fail(scope, op, "a shape of %lld integers is too long", (long long)count);
    }
    int64_t *list = arena_array(&scope->importer->module->arena, (size_t)count, sizeof *list);
    for (int64_t i = 0; i < count; i++) {
        list[i] = literal_get_int(literal, i);
    }
    *values = (struct ints){(int)count, list};
    return true;
}

/* What is evaluated must be what HLO allows. */
static bool is_valid(const struct module *module, struct error *err)
{
    struct findings findings;
    if (!verify_module(module, &findings)) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s", findings.list[0].text);
    }
    findings_finish(&findings);
    return err->code == ERROR_NONE;
}

/* The value of an instruction, worked out. NULL and an error if it depends on what is not known. */
static struct literal *evaluate(struct scope *scope, const struct mlir_op *op, int operand,
                                struct instruction *from)
{
    mlir_evaluate *function = scope->importer->options->evaluate;
    if (function == NULL) {
        import_refuse(scope, op, "operand %d must be a constant", operand);
        return NULL;
    }
    struct map copies, computations;
    map_init(&copies);
    map_init(&computations);
    struct module *module = module_create("shape");
    struct copier copier = {.scope = scope,
                            .op = op,
                            .module = module,
                            .target = computation_add(module, "shape"),
                            .copies = &copies,
                            .computations = &computations};
    struct computation *entry = copier.target;
    struct literal *literal = NULL;
    struct error err = {0};
    entry->root = copy_value(&copier, from);
    if (entry->root == NULL) {
        import_refuse(scope, op, "operand %d gives a shape that is not known before it runs: %s",
                      operand, copier.why != NULL ? copier.why : "");
    } else {
        module->entry = entry;
        if (module_finish(module, &err) && is_valid(module, &err)) {
            literal = function(module, &err);
        }
        if (literal == NULL) {
            import_fail(scope, op, "operand %d: %s", operand, err.message);
        }
    }
    map_finish(&copies);
    map_finish(&computations);
    module_destroy(module);
    return literal;
}

bool import_integers(struct scope *scope, const struct mlir_op *op, int operand,
                     struct ints *values)
{
    if (operand >= op->operand_count) {
        return import_fail(scope, op, "has no operand %d", operand);
    }
    struct instruction *from = import_value(scope, op, op->operands[operand]);
    return from != NULL && import_integers_of(scope, op, operand, from, values);
}

bool import_integers_of(struct scope *scope, const struct mlir_op *op, int operand,
                        struct instruction *from, struct ints *values)
{
    if (from->literal != NULL) {
        return read_integers(scope, op, from->literal, values);
    }
    struct literal *literal = map_get_int(&scope->importer->known, pointer_key(from));
    if (literal != NULL) {
        return read_integers(scope, op, literal, values);
    }
    literal = evaluate(scope, op, operand, from);
    if (literal == NULL) {
        return false;
    }
    map_put_int(&scope->importer->known, pointer_key(from), literal);
    return read_integers(scope, op, literal, values);
}
