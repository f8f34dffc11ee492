/* A module's entry as a graph of nodes: what only passes values on is gone, and what is the same is
 * there once. */
#include <stdlib.h>
#include <string.h>

#include "hlo/async.h"
#include "interp/cache_builder.h"
#include "interp/custom_call_internal.h"
#include "interp/mixed.h"
#include "interp/plan.h"
#include "interp/special.h"

/* Computations nested deeper than this are not taken apart. */
enum { DEPTH_LIMIT = 400 };

/* --- keys of ops --- */

static bool is_static_array(const struct shape *shape)
{
    return shape_is_array(shape) && shape->dynamic == NULL;
}

/* Does the same to each element of its operands, which are as many as those of its result? */
static bool is_flat(const struct instruction *instruction)
{
    static const char *const evaluators[] = {"unary",           "binary",          "compare",
                                             "select",          "clamp",           "convert",
                                             "bitcast_convert", "reduce_precision"};
    bool found = false;
    for (size_t i = 0; i < sizeof evaluators / sizeof *evaluators; i++) {
        found = found || strcmp(opcode_table[instruction->opcode].eval, evaluators[i]) == 0;
    }
    found = found && is_static_array(instruction->shape);
    for (int k = 0; k < instruction->operand_count && found; k++) {
        const struct shape *shape = instruction->operands[k]->shape;
        found = is_static_array(shape) &&
                shape_elements(shape) == shape_elements(instruction->shape) &&
                (instruction->opcode != OP_BITCAST_CONVERT ||
                 type_bytes(shape->type) == type_bytes(instruction->shape->type));
    }
    return found;
}

/* Do layouts matter to the value? */
static bool reads_layouts(const struct instruction *instruction)
{
    return instruction->opcode == OP_BITCAST || instruction->opcode == OP_CUSTOM_CALL;
}

static void outline_computation(struct builder *builder, const struct computation *computation);

static struct key local_key(struct builder *builder, const struct instruction *instruction,
                            bool flat, bool *loose)
{
    struct key key;
    *loose = loose_begin(instruction, &key);
    for (int c = 0; c < instruction->called_count && *loose; c++) {
        outline_computation(builder, instruction->called[c]);
        key_add_key(&key, builder->outlines[instruction->called[c]->id].key);
    }
    if (*loose) {
        return key;
    }
    *loose = flat;
    key = key_begin(2 + (uint64_t)flat);
    key_add(&key, (uint64_t)instruction->opcode);
    if (flat) {
        key_add(&key, (uint64_t)instruction->shape->type);
        key_add(&key, (uint64_t)shape_elements(instruction->shape));
    } else {
        key_add_shape(&key, instruction->shape);
        key_add(&key, (uint64_t)instruction->operand_count);
    }
    if (reads_layouts(instruction)) {
        key_add(&key, instruction->shape->hash);
        for (int k = 0; k < instruction->operand_count; k++) {
            key_add(&key, instruction->operands[k]->shape->hash);
        }
    }
    key_add_attributes(&key, instruction, builder->graph->bf16_products);
    if (instruction->opcode == OP_WHILE) {
        /* Under another limit the loop may fail. */
        key_add(&key, (uint64_t)builder->graph->max_loop_iterations);
    }
    for (int c = 0; c < instruction->called_count; c++) {
        outline_computation(builder, instruction->called[c]);
        key_add_key(&key, builder->outlines[instruction->called[c]->id].key);
    }
    return key;
}

/* What does more than give its value, or depends on more than its operands. */
static bool is_impure(struct builder *builder, const struct instruction *instruction)
{
    bool impure = false;
    switch (instruction->opcode) {
    case OP_RNG:
    case OP_RNG_GET_AND_UPDATE_STATE:
    case OP_INFEED:
    case OP_OUTFEED:
        return true;
    case OP_CUSTOM_CALL: {
        /* Whoever evaluates is asked, or the seed. */
        const char *target = attr_string(instruction, ATTR_CUSTOM_CALL_TARGET);
        impure = attr_bool(instruction, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, false) ||
                 strncmp(target, "check.", 6) == 0 || strncmp(target, "interpreter.", 12) == 0 ||
                 strstr(target, "andom") != NULL || strstr(target, "rng") != NULL ||
                 strstr(target, "Rng") != NULL;
        break;
    }
    default:
        break;
    }
    for (int c = 0; c < instruction->called_count; c++) {
        outline_computation(builder, instruction->called[c]);
        impure = impure || !builder->outlines[instruction->called[c]->id].pure;
    }
    return impure;
}

/* Devices that speak to each other: not taken apart. */
static bool is_refused(const struct instruction *instruction)
{
    switch (instruction->opcode) {
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_RECV:
    case OP_RECV_DONE:
        return true;
    default:
        return strcmp(opcode_table[instruction->opcode].eval, "collective") == 0 ||
               strcmp(opcode_table[instruction->opcode].eval, "start_done") == 0;
    }
}

/* --- ops --- */

static void add_parts(struct builder *builder, struct node *node, struct tree *tree)
{
    if (shape_is_tuple(tree->shape)) {
        for (int i = 0; i < tree->shape->count; i++) {
            tree->elements[i] = tree_make(builder, tree->shape->elements[i]);
            add_parts(builder, node, tree->elements[i]);
        }
        return;
    }
    bool is_new;
    struct key key = node->key;
    key_add(&key, (uint64_t)node->part_count);
    struct node *part = builder_node(builder, key, &is_new);
    if (is_new) {
        part->kind = NODE_PART;
        part->whole = node;
        part->part = node->part_count;
        part->shape = tree->shape;
        part->pure = node->pure;
        node_resolve(builder, part);
    }
    tree->node = part;
    node->parts[node->part_count++] = part;
}

/* Operands in the order in which they count, where the instruction finds that by looking at what
 * its operands are: once values stand in for them it can no longer be seen. */
static struct tree **ordered(struct builder *builder, const struct instruction *instruction,
                             struct tree **operands)
{
    int order[CONCAT_BITCAST_MOST];
    if (instruction->opcode != OP_CUSTOM_CALL ||
        strcmp(attr_string(instruction, ATTR_CUSTOM_CALL_TARGET), "ConcatBitcast") != 0 ||
        !concat_bitcast_order(instruction, order)) {
        return operands;
    }
    struct tree **sorted =
        arena_array(&builder->graph->arena, (size_t)instruction->operand_count + 1, sizeof *sorted);
    for (int i = 0; i < instruction->operand_count; i++) {
        sorted[i] = operands[order[i]];
    }
    return sorted;
}

static struct tree *op_tree(struct builder *builder, const struct instruction *instruction,
                            struct tree **operands)
{
    struct graph *graph = builder->graph;
    operands = ordered(builder, instruction, operands);
    struct node like = {.kind = NODE_OP,
                        .instruction = instruction,
                        .shape = instruction->shape,
                        .operands = operands,
                        .operand_count = instruction->operand_count,
                        .flat = is_flat(instruction),
                        .number = -1,
                        .pure = !is_impure(builder, instruction)};
    like.local = local_key(builder, instruction, like.flat, &like.loose);
    if (!like.pure) {
        key_add(&like.local, cache_evaluations(graph->cache));
        key_add(&like.local, ++builder->impure);
    }
    like.key = graph_key(&like, false);
    bool is_new;
    struct node *node = builder_node(builder, like.key, &is_new);
    if (is_new) {
        like.id = node->id;
        *node = like;
        node_resolve(builder, node);
    }
    struct tree *tree = tree_make(builder, instruction->shape);
    if (!shape_is_tuple(instruction->shape)) {
        tree->node = node;
        return tree;
    }
    node->parts =
        arena_array(&graph->arena, (size_t)shape_leaves(instruction->shape), sizeof(struct node *));
    node->part_count = 0;
    add_parts(builder, node, tree);
    return tree;
}

/* --- instructions that pass values on --- */

static struct tree *inlined(struct builder *builder, const struct computation *computation,
                            struct tree **arguments);

/* The contexts of asynchronous copies and calls, which nobody reads: nodes without an instruction.
 */
static struct tree *context_tree(struct builder *builder, const struct shape *shape)
{
    if (shape_is_tuple(shape)) {
        struct tree *tree = tree_make(builder, shape);
        for (int i = 0; i < shape->count; i++) {
            tree->elements[i] = context_tree(builder, shape->elements[i]);
        }
        return tree;
    }
    struct key key = key_begin(4);
    key_add_shape(&key, shape);
    bool is_new;
    struct node *node = builder_node(builder, key, &is_new);
    if (is_new) {
        node->kind = NODE_OP;
        node->shape = shape;
        node->pure = false;
    }
    return tree_of_node(builder, node, shape);
}

static struct tree *copy_start_tree(struct builder *builder, const struct shape *shape,
                                    struct tree *operand)
{
    struct tree *tree = tree_make(builder, shape);
    for (int i = 0; i < shape->count; i++) {
        tree->elements[i] = i < 2 ? tree_retyped(builder, operand, shape->elements[i])
                                  : context_tree(builder, shape->elements[i]);
    }
    return tree;
}

static struct tree *async_start_tree(struct builder *builder, const struct instruction *instruction,
                                     struct tree **operands)
{
    const struct shape *shape = instruction->shape;
    const struct computation *computation = async_computation(instruction);
    if (computation == NULL || !async_is_complete(shape, computation) ||
        computation->parameter_count != instruction->operand_count ||
        shape->elements[0]->count != instruction->operand_count) {
        builder->failed = true;
        return tree_make(builder, shape);
    }
    outline_computation(builder, computation);
    builder->failed = builder->failed || !builder->outlines[computation->id].pure;
    struct tree *tree = tree_make(builder, shape);
    tree->elements[0] = tree_make(builder, shape->elements[0]);
    for (int i = 0; i < instruction->operand_count && !builder->failed; i++) {
        tree->elements[0]->elements[i] =
            tree_retyped(builder, operands[i], shape->elements[0]->elements[i]);
    }
    if (!builder->failed) {
        struct tree *result = inlined(builder, computation, operands);
        tree->elements[1] =
            builder->failed ? result : tree_retyped(builder, result, shape->elements[1]);
    }
    for (int i = 2; i < shape->count; i++) {
        tree->elements[i] = context_tree(builder, shape->elements[i]);
    }
    return tree;
}

/* Nothing but another shape or layout for the same elements in the same order? */
static bool is_only_shape(const struct instruction *instruction)
{
    const struct shape *to = instruction->shape, *from = instruction->operands[0]->shape;
    if (!is_static_array(from) || !is_static_array(to) || from->type != to->type ||
        shape_elements(from) != shape_elements(to)) {
        return from == to;
    }
    return instruction->opcode == OP_RESHAPE || from == to ||
           (layout_is_default(from->layout) && layout_is_default(to->layout));
}

static struct tree *instruction_tree(struct builder *builder, const struct instruction *instruction,
                                     struct tree **operands)
{
    struct lane_step step;
    const struct shape *shape = instruction->shape;
    if (is_refused(instruction)) {
        builder->failed = true;
        return tree_make(builder, shape);
    }
    switch (instruction->opcode) {
    case OP_CONSTANT:
        return tree_of_constant(builder, instruction->literal, shape);
    case OP_TUPLE: {
        struct tree *tree = tree_make(builder, shape);
        for (int k = 0; k < instruction->operand_count; k++) {
            tree->elements[k] = tree_retyped(builder, operands[k], shape->elements[k]);
        }
        return tree;
    }
    case OP_GET_TUPLE_ELEMENT:
        return tree_retyped(builder, operands[0]->elements[attr_int(instruction, ATTR_INDEX, 0)],
                            shape);
    case OP_COPY:
    case OP_DOMAIN:
    case OP_OPT_BARRIER:
    case OP_ADD_DEPENDENCY:
        /* A copy may give another float type: a conversion. */
        return mixed_concerns(instruction) ? op_tree(builder, instruction, operands)
                                           : tree_retyped(builder, operands[0], shape);
    case OP_RESHAPE:
    case OP_BITCAST:
        return is_only_shape(instruction) ? tree_retyped(builder, operands[0], shape)
                                          : op_tree(builder, instruction, operands);
    case OP_CALL:
    case OP_FUSION:
        if (special_call_step(instruction, &step)) {
            return op_tree(builder, instruction, operands);
        } else {
            struct tree *result = inlined(builder, instruction->called[0], operands);
            return builder->failed ? result : tree_retyped(builder, result, shape);
        }
    case OP_COPY_START:
        return copy_start_tree(builder, shape, operands[0]);
    case OP_COPY_DONE:
        return tree_retyped(builder, operands[0]->elements[0], shape);
    case OP_ASYNC_START:
        return async_start_tree(builder, instruction, operands);
    case OP_ASYNC_UPDATE:
        if (!shape_compatible(shape, operands[0]->shape)) {
            builder->failed = true;
        }
        return tree_retyped(builder, operands[0], shape);
    case OP_ASYNC_DONE:
        return tree_retyped(builder, operands[0]->elements[1], shape);
    default:
        return op_tree(builder, instruction, operands);
    }
}

static const bool *live_instructions(struct builder *builder, const struct computation *computation)
{
    struct outline *outline = &builder->outlines[computation->id];
    if (outline->live == NULL) {
        bool *live = arena_array(&builder->graph->arena, (size_t)computation->count + 1, 1);
        plan_find_live(computation, live);
        outline->live = live;
    }
    return outline->live;
}

/* The value of a computation of these arguments. */
static struct tree *inlined(struct builder *builder, const struct computation *computation,
                            struct tree **arguments)
{
    struct arena *arena = &builder->graph->arena;
    const bool *live = live_instructions(builder, computation);
    struct tree **trees = memory_zalloc((size_t)computation->count * sizeof(struct tree *));
    builder->failed = builder->failed || ++builder->depth > DEPTH_LIMIT;
    for (int i = 0; i < computation->count && !builder->failed; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode == OP_PARAMETER) {
            trees[i] = tree_retyped(builder, arguments[instruction->number], instruction->shape);
        } else if (live[i]) {
            struct tree **operands =
                arena_array(arena, (size_t)instruction->operand_count + 1, sizeof(struct tree *));
            for (int k = 0; k < instruction->operand_count; k++) {
                operands[k] = trees[instruction->operands[k]->id];
            }
            trees[i] = instruction_tree(builder, instruction, operands);
        }
    }
    builder->depth--;
    struct tree *root = builder->failed ? tree_make(builder, shape_scalar(TYPE_PRED))
                                        : trees[computation->root->id];
    free(trees);
    return root;
}

/* --- computations that are run by an instruction: their value as a function --- */

static struct tree *unknown_tree(struct builder *builder, const struct shape *shape,
                                 struct key *key)
{
    struct tree *tree = tree_make(builder, shape);
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            tree->elements[i] = unknown_tree(builder, shape->elements[i], key);
        }
        return tree;
    }
    bool is_new;
    key_add(key, 1);
    struct key own = *key;
    key_add_shape(&own, shape);
    tree->node = builder_node(builder, own, &is_new);
    if (is_new) {
        tree->node->kind = NODE_GIVEN;
        tree->node->shape = shape;
    }
    return tree;
}

static void add_root_leaf(void *context, struct tree *leaf)
{
    struct key *key = context;
    key_add_key(key, leaf->node->key);
    key_add_shape(key, leaf->shape);
}

static bool is_pure(struct builder *builder, const struct computation *computation)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (is_refused(instruction) || is_impure(builder, instruction)) {
            return false;
        }
    }
    return true;
}

static void outline_computation(struct builder *builder, const struct computation *computation)
{
    struct outline *outline = &builder->outlines[computation->id];
    if (outline->has_key || builder->failed) {
        return;
    }
    outline->pure = is_pure(builder, computation);
    outline->has_key = true;
    outline->key = key_begin(5);
    if (!outline->pure) {
        key_add(&outline->key, cache_evaluations(builder->graph->cache));
        key_add(&outline->key, ++builder->impure);
        return;
    }
    struct tree **arguments =
        memory_zalloc((size_t)(computation->parameter_count + 1) * sizeof(struct tree *));
    struct key key = key_begin(6);
    for (int i = 0; i < computation->parameter_count; i++) {
        key_add(&key, (uint64_t)i);
        arguments[i] = unknown_tree(builder, computation->parameters[i]->shape, &key);
    }
    struct tree *root = inlined(builder, computation, arguments);
    free(arguments);
    if (!builder->failed) {
        key_add(&outline->key, (uint64_t)computation->parameter_count);
        tree_visit(root, add_root_leaf, &outline->key);
    }
}

/* --- the graph --- */

bool graph_build(struct graph *graph, const struct evaluation *evaluation,
                 struct literal *const *arguments)
{
    const struct module *module = evaluation->module;
    *graph = (struct graph){.cache = evaluation->options.cache,
                            .module = module,
                            .bf16_products = evaluation->options.bf16_products,
                            .max_loop_iterations = evaluation->options.max_loop_iterations};
    arena_init(&graph->arena);
    struct builder builder = {
        .graph = graph,
        .outlines = arena_array(&graph->arena, (size_t)module->count, sizeof(struct outline))};
    const struct computation *entry = module->entry;
    struct tree **trees =
        memory_zalloc((size_t)(entry->parameter_count + 1) * sizeof(struct tree *));
    for (int i = 0; i < entry->parameter_count; i++) {
        trees[i] = tree_of_argument(&builder, arguments[i], entry->parameters[i]->shape);
    }
    graph->root = inlined(&builder, entry, trees);
    free(trees);
    free(builder.table);
    return !builder.failed;
}

void graph_finish(struct graph *graph)
{
    free(graph->nodes);
    arena_finish(&graph->arena);
}
