/* Shardy: what its ops and attributes mean for a program on whole arrays, written as XLA writes it
 * when it must go through HLO and back: shardings as text in frontend attributes, constraints and
 * the borders of manual computations as custom calls. Ops that only move data between devices are
 * the identity on whole arrays.
 * Sources: xla/service/spmd/shardy/sdy_round_trip, xla/service/spmd/shardy/constants.h;
 * shardy/dialect/sdy/ir/ops.td. */
#include "hlo/mlir/import/sdy.h"

#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

static const char sharding_head[] = "#sdy.sharding<";

/* The text of one of Shardy's attributes, or NULL. */
static const char *sdy_text(const struct mlir_attr *attr)
{
    return attr != NULL && attr->kind == MLIR_ATTR_OTHER &&
                   strncmp(attr->string.data, "#sdy", 4) == 0
               ? attr->string.data
               : NULL;
}

/* "<@mesh, …>" of "#sdy.sharding<@mesh, …>", or NULL. */
static const char *sharding_body(const struct mlir_attr *attr)
{
    const char *text = sdy_text(attr);
    return text != NULL && strncmp(text, sharding_head, strlen(sharding_head)) == 0
               ? text + strlen(sharding_head) - 1
               : NULL;
}

static void add_mark(struct instruction *instruction, const char *key, const char *value)
{
    import_add_frontend_attribute(instruction, key, value, strlen(value));
}

/* --- attributes --- */

bool import_sdy_meshes(struct importer *importer, const struct mlir_op *module)
{
    struct text text;
    text_init(&text);
    for (; module != NULL; module = module_around(module)) {
        const struct mlir_block *block = module->region_count == 1 && module->regions[0].count > 0
                                             ? module->regions[0].blocks[0]
                                             : NULL;
        for (int i = 0; block != NULL && i < block->count; i++) {
            const struct mlir_op *op = block->ops[i];
            const struct mlir_attr *name = mlir_op_attr(op, "sym_name");
            const char *mesh = sdy_text(mlir_op_attr(op, "mesh"));
            if (op->opcode == MLIR_OP_SDY_MESH && name != NULL && mesh != NULL &&
                name->kind == MLIR_ATTR_STRING) {
                text_printf(&text, "%s%s = %s", text.size > 0 ? ", " : "{", name->string.data,
                            mesh);
            }
        }
    }
    if (text.size > 0) {
        text_char(&text, '}');
        struct arena *arena = &importer->module->arena;
        struct string_map *map = &importer->module->config.frontend_attributes;
        struct string_entry *entries = arena_array(arena, (size_t)map->count + 1, sizeof *entries);
        for (int i = 0; i < map->count; i++) {
            entries[i] = map->entries[i];
        }
        const char key[] = "xla.sdy.meshes";
        entries[map->count] =
            (struct string_entry){.key = {arena_string(arena, key, strlen(key)), strlen(key)},
                                  .value = {arena_string(arena, text.data, text.size), text.size},
                                  .raw = true};
        *map = (struct string_map){map->count + 1, entries};
    }
    text_finish(&text);
    return true;
}

void import_sdy_sharding(struct instruction *instruction, const struct mlir_attr *sharding)
{
    const char *text = sdy_text(sharding);
    if (text != NULL) {
        add_mark(instruction, "xla.sdy.sharding", text);
    }
}

/* A custom call on a value that gives the same value. */
static struct instruction *mark_value(struct scope *scope, const struct mlir_op *op,
                                      struct instruction *value, const char *target,
                                      const char *body)
{
    struct instruction *call =
        import_add(scope, op, OP_CUSTOM_CALL, shape_without_layout(value->shape), 1, &value);
    import_set_string(call, ATTR_CUSTOM_CALL_TARGET, target, strlen(target));
    struct text text;
    text_init(&text);
    text_printf(&text, "#sdy.sharding_per_value<[%s]>", body);
    import_add_frontend_attribute(call, "xla.sdy.sharding", text.data, text.size);
    text_finish(&text);
    return call;
}

struct instruction *import_sdy_result(struct scope *scope, const struct mlir_op *op,
                                      struct instruction *value, const struct mlir_attr *sharding)
{
    const char *body = sharding_body(sharding);
    if (body == NULL || !shape_is_array(value->shape)) {
        return value;
    }
    struct instruction *call = mark_value(scope, op, value, "xla.sdy.FuncResultSharding", body);
    import_set_int(call, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true);
    return call;
}

/* --- ops --- */

/* Meshes stand beside functions. */
bool translate_sdy_mesh(struct scope *scope, const struct mlir_op *op)
{
    return import_fail(scope, op, "stands in a function");
}

bool translate_sdy_return(struct scope *scope, const struct mlir_op *op)
{
    return import_fail(scope, op, "does not end a region");
}

/* The value, and a custom call around it that keeps the sharding. A scalar (in a reducer, mostly)
 * cannot be split: it stays as it is. */
static bool constrain(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL) {
        return false;
    }
    const char *body = sharding_body(mlir_op_attr(op, "sharding"));
    struct instruction *value = operands[0];
    if (body != NULL && shape_is_array(value->shape) && value->shape->rank > 0) {
        value = mark_value(scope, op, value, "Sharding", body);
    }
    return import_bind_results(scope, op, value);
}

bool translate_sdy_sharding_constraint(struct scope *scope, const struct mlir_op *op)
{
    return constrain(scope, op);
}

bool translate_sdy_reshard(struct scope *scope, const struct mlir_op *op)
{
    return constrain(scope, op);
}

/* What is the same whole array before and after. */
static bool identity(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    return operands != NULL && import_bind_results(scope, op, operands[0]);
}

#define IDENTITY(token)                                                   \
    bool translate_##token(struct scope *scope, const struct mlir_op *op) \
    {                                                                     \
        return identity(scope, op);                                       \
    }
IDENTITY(sdy_propagation_barrier)
IDENTITY(sdy_data_flow_edge)
IDENTITY(sdy_all_gather)
IDENTITY(sdy_all_reduce)
IDENTITY(sdy_all_slice)
IDENTITY(sdy_all_to_all)
IDENTITY(sdy_collective_permute)
IDENTITY(sdy_reduce_scatter)
IDENTITY(sdy_sharded_to_unreduced)
IDENTITY(sdy_replicated_to_unreduced)
#undef IDENTITY

bool translate_sdy_sharding_group(struct scope *scope, const struct mlir_op *op)
{
    return op->result_count == 0 || import_fail(scope, op, "has no results");
}

bool translate_sdy_constant(struct scope *scope, const struct mlir_op *op)
{
    return translate_constant(scope, op);
}

/* --- computations --- */

/* A call of the op's region with these arguments: its results as one instruction (a tuple unless
 * there is one). */
static struct instruction *call_region(struct scope *scope, const struct mlir_op *op, int count,
                                       struct instruction *const *arguments)
{
    const struct mlir_block *block = import_only_block(scope, op, 0);
    if (block == NULL) {
        return NULL;
    }
    if (block->argument_count != count) {
        import_fail(scope, op, "the body must take %d values", count);
        return NULL;
    }
    const struct shape **shapes =
        arena_array(&scope->importer->module->arena, (size_t)count + 1, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        shapes[i] = shape_without_layout(arguments[i]->shape);
        if (!shape_fits(shapes[i], block->arguments[i].type)) {
            import_fail(scope, op, "argument %d of the body does not take %s", i,
                        shape_text(shapes[i]));
            return NULL;
        }
    }
    struct computation *body = import_region(scope, op, 0, shapes, false);
    if (body == NULL) {
        return NULL;
    }
    struct instruction *call = import_add(scope, op, OP_CALL, body->root->shape, count, arguments);
    instruction_set_called(call, 1, &body);
    return call;
}

bool translate_sdy_named_computation(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = import_operands(scope, op);
    struct instruction *call =
        operands != NULL ? call_region(scope, op, op->operand_count, operands) : NULL;
    return call != NULL && import_bind_results(scope, op, call);
}

/* A border of a manual computation: whole arrays to parts, or parts to whole arrays. */
static struct instruction *border(struct scope *scope, const struct mlir_op *op, bool enters,
                                  const struct shape *shape, int count,
                                  struct instruction *const *operands)
{
    const char *target = enters ? "xla.sdy.GlobalToLocalShape" : "xla.sdy.LocalToGlobalShape";
    const char *shardings = sdy_text(mlir_op_attr(op, enters ? "in_shardings" : "out_shardings"));
    const char *axes = sdy_text(mlir_op_attr(op, "manual_axes"));
    if (shardings == NULL || axes == NULL) {
        import_fail(scope, op, "needs in_shardings, out_shardings and manual_axes");
        return NULL;
    }
    struct instruction *call = import_add(scope, op, OP_CUSTOM_CALL, shape, count, operands);
    import_set_string(call, ATTR_CUSTOM_CALL_TARGET, target, strlen(target));
    import_set_int(call, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, true);
    add_mark(call, enters ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings", shardings);
    add_mark(call, "xla.sdy.manual_axes", axes);
    return call;
}

bool translate_sdy_manual_computation(struct scope *scope, const struct mlir_op *op)
{
    struct arena *arena = &scope->importer->module->arena;
    struct instruction **arguments = import_operands(scope, op);
    const struct mlir_block *block = arguments != NULL ? import_only_block(scope, op, 0) : NULL;
    if (block == NULL) {
        return false;
    }
    int count = op->operand_count;
    if (block->argument_count != count) {
        return import_fail(scope, op, "the body must take %d values", count);
    }
    if (count > 0) {
        const struct shape **shapes = arena_array(arena, (size_t)count, sizeof *shapes);
        for (int i = 0; i < count; i++) {
            shapes[i] = import_shape(scope, op, block->arguments[i].type);
            if (shapes[i] == NULL) {
                return false;
            }
        }
        struct instruction *parts = border(
            scope, op, true, count == 1 ? shapes[0] : shape_tuple(count, shapes), count, arguments);
        if (parts == NULL || !import_elements(scope, op, parts, count, arguments)) {
            return false;
        }
    }
    struct instruction *call = call_region(scope, op, count, arguments);
    if (call == NULL) {
        return false;
    }
    /* By its name XLA knows the body again. */
    call->called[0]->name = import_name(scope->importer, "xla.sdy.manual_computation_body");
    add_mark(call, "inlineable", "false");
    if (op->result_count == 0) {
        return true;
    }
    const struct shape *shape = build_results_shape(scope, op, NULL);
    struct instruction **results = arena_array(arena, (size_t)op->result_count, sizeof *results);
    if (shape == NULL || !import_elements(scope, op, call, op->result_count, results)) {
        return false;
    }
    struct instruction *whole = border(scope, op, false, shape, op->result_count, results);
    return whole != NULL && import_bind_results(scope, op, whole);
}
