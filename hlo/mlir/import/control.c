/* Control flow: while, if, case, and what orders things.
 *
 * A region of StableHLO may use values of the outside, a computation of HLO may not: a loop carries
 * them in its state behind its own values, a branch takes them as its operand; one value is passed
 * as it is, several as a tuple. Constants are made again inside instead.
 * Source: xla/hlo/translate/mhlo_to_hlo/mlir_hlo_to_hlo.cc (WhileOp, IfOp, CaseOp) and the pass
 * that sinks constants before it. */
#include <string.h>

#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* What a region is given, its own arguments before what it uses of the outside. */
struct given {
    int count, own; /* own: arguments of the region */
    int capacity;
    const struct mlir_value **values; /* of the outside; NULL for arguments */
    struct instruction **outside;     /* what each is there; of arguments, what it begins with */
    bool *fixed;                      /* has the same value inside, always */
    struct map seen; /* struct mlir_value* → anything, for those of the outside */
};

static void given_open(struct given *given)
{
    *given = (struct given){0};
    map_init(&given->seen);
}

static void given_close(struct given *given)
{
    map_finish(&given->seen);
}

static void given_add(struct importer *importer, struct given *given,
                      const struct mlir_value *value, struct instruction *outside, bool fixed)
{
    if (given->count == given->capacity) {
        struct arena *arena = &importer->module->arena;
        int room = given->capacity > 0 ? 2 * given->capacity : 8;
        struct given old = *given;
        given->values = arena_array(arena, (size_t)room, sizeof *given->values);
        given->outside = arena_array(arena, (size_t)room, sizeof *given->outside);
        given->fixed = arena_array(arena, (size_t)room, sizeof *given->fixed);
        given->capacity = room;
        if (old.count > 0) {
            size_t count = (size_t)old.count;
            memcpy(given->values, old.values, count * sizeof *old.values);
            memcpy(given->outside, old.outside, count * sizeof *old.outside);
            memcpy(given->fixed, old.fixed, count * sizeof *old.fixed);
        }
    }
    given->values[given->count] = value;
    given->outside[given->count] = outside;
    given->fixed[given->count++] = fixed;
}

/* Adds what the ops of a region use of the outside, in the order in which they use it. What is
 * bound in the scope is of the outside: what the region makes is bound later. */
static bool collect(struct scope *scope, const struct mlir_op *op, const struct mlir_region *region,
                    struct given *given)
{
    struct importer *importer = scope->importer;
    if (!import_deeper(scope, op)) {
        return false;
    }
    for (int b = 0; b < region->count; b++) {
        const struct mlir_block *block = region->blocks[b];
        for (int i = 0; i < block->count; i++) {
            const struct mlir_op *inner = block->ops[i];
            for (int k = 0; k < inner->operand_count; k++) {
                const struct mlir_value *value = inner->operands[k];
                struct instruction *found = import_bound(scope, value);
                if (found == NULL || found->opcode == OP_CONSTANT ||
                    map_get_int(&given->seen, pointer_key(value)) != NULL) {
                    continue;
                }
                found = import_value(scope, inner, value);
                if (found == NULL) {
                    return false;
                }
                map_put_int(&given->seen, pointer_key(value), found);
                given_add(importer, given, value, found, true);
            }
            for (int r = 0; r < inner->region_count; r++) {
                if (!collect(scope, inner, &inner->regions[r], given)) {
                    return false;
                }
            }
        }
    }
    importer->depth--;
    return true;
}

/* The shape of the one parameter of what takes them. */
static const struct shape *given_shape(struct importer *importer, const struct given *given)
{
    if (given->count == 1) {
        return shape_without_layout(given->outside[0]->shape);
    }
    const struct shape **shapes =
        arena_array(&importer->module->arena, (size_t)given->count, sizeof *shapes);
    for (int i = 0; i < given->count; i++) {
        shapes[i] = given->outside[i]->shape;
    }
    return shape_tuple(given->count, shapes);
}

/* The operand that hands them over. */
static struct instruction *given_operand(struct scope *scope, const struct mlir_op *op,
                                         const struct given *given)
{
    return given->count == 1 ? given->outside[0]
                             : build_tuple(scope, op, given->count, given->outside);
}

/* Region `region` as a computation of one parameter; a body gives back what it was given of the
 * outside, behind its results. */
static struct computation *given_region(struct scope *scope, const struct mlir_op *op, int region,
                                        const struct given *given, bool is_body)
{
    struct importer *importer = scope->importer;
    const struct mlir_block *block = import_only_block(scope, op, region);
    if (block == NULL) {
        return NULL;
    }
    if (block->argument_count != given->own) {
        import_fail(scope, op, "region %d must take %d values", region, given->own);
        return NULL;
    }
    struct computation *computation = import_computation(importer, "region");
    struct scope inner;
    scope_open(&inner, importer, computation, scope);
    struct instruction *parameter = import_parameter(&inner, op, 0, given_shape(importer, given));
    struct instruction **passed =
        arena_array(&importer->module->arena, (size_t)given->count, sizeof *passed);
    for (int i = 0; i < given->count; i++) {
        passed[i] = given->count == 1 ? parameter : build_element(&inner, op, parameter, i);
        const struct mlir_value *value = i < given->own ? &block->arguments[i] : given->values[i];
        map_put_int(&inner.values, pointer_key(value), passed[i]);
        if (given->fixed[i]) {
            map_put_int(&inner.frame->outside, pointer_key(passed[i]), given->outside[i]);
        }
    }
    struct instruction *root = NULL;
    const struct mlir_op *end = import_block(&inner, op, block);
    if (end != NULL && !is_body) {
        root = import_root(&inner, end, false);
    } else if (end != NULL && end->operand_count != given->own) {
        import_fail(&inner, end, "returns %d values of %d", end->operand_count, given->own);
    } else if (end != NULL) {
        struct instruction **values = import_operands(&inner, end);
        if (values != NULL) {
            memcpy(passed, values, (size_t)given->own * sizeof *passed);
            root = given->count == 1 ? passed[0] : build_tuple(&inner, end, given->count, passed);
        }
    }
    import_close_computation(computation, root);
    scope_close(&inner);
    return root != NULL ? computation : NULL;
}

/* --- while --- */

/* Does the body hand argument i on as it is? */
static bool is_fixed(const struct mlir_op *op, int region, int i)
{
    if (region >= op->region_count || op->regions[region].count != 1) {
        return false;
    }
    const struct mlir_block *block = op->regions[region].blocks[0];
    if (block->count == 0 || i >= block->argument_count) {
        return false;
    }
    const struct mlir_op *end = block->ops[block->count - 1];
    return i < end->operand_count && end->operands[i] == &block->arguments[i];
}

/* The sharding of the loop, with those of what it is given of the outside behind it. */
static void extend_sharding(struct scope *scope, const struct mlir_op *op,
                            const struct given *given, struct instruction *loop)
{
    const struct mlir_attr *attr = mlir_op_attr(op, "mhlo.sharding");
    if (attr == NULL || attr->kind != MLIR_ATTR_STRING) {
        return;
    }
    const struct sharding *own = import_sharding(scope->importer, op, attr->string);
    if (own == NULL || given->count == given->own) {
        if (own != NULL) {
            instruction_set_attr(loop, (struct attr){.key = ATTR_SHARDING, .sharding = own});
        }
        return;
    }
    const struct sharding **elements =
        arena_array(&scope->importer->module->arena, (size_t)given->count, sizeof *elements);
    for (int i = 0; i < given->count; i++) {
        if (i < given->own && own->form == SHARDING_TUPLE) {
            elements[i] = i < own->count ? own->elements[i] : NULL;
        } else {
            elements[i] = i < given->own ? own : attr_sharding(given->outside[i]);
        }
    }
    struct attr tuple = {.key = ATTR_SHARDING};
    tuple.sharding = import_tuple_sharding(scope->importer, given->count, elements);
    instruction_set_attr(loop, tuple);
}

static bool add_while(struct scope *scope, const struct mlir_op *op, const struct given *given)
{
    struct computation *condition = given_region(scope, op, 0, given, false);
    struct computation *body = condition != NULL ? given_region(scope, op, 1, given, true) : NULL;
    if (body == NULL) {
        return false;
    }
    struct instruction *state = given_operand(scope, op, given);
    struct instruction *loop = import_add(scope, op, OP_WHILE, NULL, 1, &state);
    struct computation *called[] = {body, condition};
    instruction_set_called(loop, 2, called);
    extend_sharding(scope, op, given, loop);
    if (!import_finish(scope, op, loop)) {
        return false;
    }
    for (int i = 0; i < given->own; i++) {
        import_bind(scope, &op->results[i],
                    given->count == 1 ? loop : build_element(scope, op, loop, i));
    }
    return true;
}

bool translate_while(struct scope *scope, const struct mlir_op *op)
{
    if (op->region_count != 2 || op->result_count != op->operand_count) {
        return import_fail(scope, op, "needs a condition, a body and a result for each operand");
    }
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL) {
        return false;
    }
    struct given given;
    given_open(&given);
    for (int i = 0; i < op->operand_count; i++) {
        given_add(scope->importer, &given, NULL, operands[i], is_fixed(op, 1, i));
    }
    given.own = op->operand_count;
    bool good = collect(scope, op, &op->regions[0], &given) &&
                collect(scope, op, &op->regions[1], &given) && add_while(scope, op, &given);
    given_close(&given);
    return good;
}

/* --- if, case --- */

bool translate_case(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **selector = op->operand_count == 1 ? import_operands(scope, op) : NULL;
    if (op->operand_count != 1 || op->region_count < 1) {
        return import_fail(scope, op, "needs one operand and at least one branch");
    }
    if (selector == NULL) {
        return false;
    }
    struct arena *arena = &scope->importer->module->arena;
    int count = op->region_count;
    struct computation **branches = arena_array(arena, (size_t)count, sizeof(void *));
    struct instruction **operands = arena_array(arena, (size_t)count + 1, sizeof *operands);
    operands[0] = selector[0];
    for (int i = 0; i < count; i++) {
        struct given given;
        given_open(&given);
        bool good = collect(scope, op, &op->regions[i], &given);
        branches[i] = good ? given_region(scope, op, i, &given, false) : NULL;
        if (branches[i] != NULL) {
            operands[i + 1] = given_operand(scope, op, &given);
        }
        given_close(&given);
        if (branches[i] == NULL) {
            return false;
        }
    }
    struct instruction *conditional =
        import_add(scope, op, OP_CONDITIONAL, NULL, count + 1, operands);
    instruction_set_called(conditional, count, branches);
    return import_finish(scope, op, conditional) && import_bind_results(scope, op, conditional);
}

/* true first, as in HLO. */
bool translate_if(struct scope *scope, const struct mlir_op *op)
{
    return op->region_count == 2 ? translate_case(scope, op)
                                 : import_fail(scope, op, "needs two branches");
}

/* --- order --- */

bool translate_optimization_barrier(struct scope *scope, const struct mlir_op *op)
{
    if (op->result_count != op->operand_count) {
        return import_fail(scope, op, "needs a result for each operand");
    }
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL || op->operand_count == 0) {
        return operands != NULL;
    }
    struct instruction *operand =
        op->operand_count == 1 ? operands[0] : build_tuple(scope, op, op->operand_count, operands);
    return build_finish(scope, op, import_add(scope, op, OP_OPT_BARRIER, NULL, 1, &operand));
}

bool translate_after_all(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL || op->result_count != 1) {
        return import_fail(scope, op, "has one result");
    }
    for (int i = 0; i < op->operand_count; i++) {
        if (operands[i]->shape->type != TYPE_TOKEN) {
            return import_fail(scope, op, "takes tokens");
        }
    }
    return build_finish(scope, op,
                        import_add(scope, op, OP_AFTER_ALL, NULL, op->operand_count, operands));
}

bool translate_create_token(struct scope *scope, const struct mlir_op *op)
{
    return op->operand_count == 0 ? translate_after_all(scope, op)
                                  : import_fail(scope, op, "takes no operands");
}
