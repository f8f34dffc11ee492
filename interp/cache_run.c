/* Evaluating what a graph's result needs beyond what is at hand: as a computation made of it. */
#include <stdlib.h>
#include <string.h>

#include "interp/cache_keeper.h"
#include "interp/plan.h"

/* --- what is needed --- */

static void need_leaf(void *context, struct tree *leaf)
{
    (void)context;
    leaf->node->needed = true;
}

/* Marks what must be evaluated or given; finds what is held. False if something cannot be made. */
static bool find_needed(struct keeper *keeper)
{
    struct graph *graph = &keeper->graph;
    for (size_t i = 0; i < graph->count; i++) {
        struct node *node = graph->nodes[i];
        /* Effects happen, needed or not. */
        node->needed = node->kind == NODE_OP && !node->pure && node->instruction != NULL;
    }
    tree_visit(graph->root, need_leaf, NULL);
    for (size_t i = graph->count; i-- > 0;) {
        struct node *node = graph->nodes[i];
        if (!node->needed || node->literal != NULL) {
            continue;
        }
        if (node->number >= 0) {
            node->literal = cache_use(graph->cache, node->number);
            if (node->literal != NULL) {
                literal_retain(node->literal); /* it may go while the rest is evaluated */
                node->retained = true;
                continue;
            }
        }
        if (node->kind == NODE_PART) {
            node->whole->needed = true;
        } else if (node->kind == NODE_OP && node->instruction != NULL) {
            for (int k = 0; k < node->operand_count; k++) {
                tree_visit(node->operands[k], need_leaf, NULL);
            }
        } else {
            return false;
        }
    }
    return true;
}

/* --- making the computation --- */

static struct instruction *make(struct keeper *keeper, const struct instruction *like,
                                struct node *node, const struct instruction *origin)
{
    struct instruction *instruction = arena_alloc(&keeper->graph.arena, sizeof *instruction);
    *instruction = *like;
    instruction->id = keeper->made.count;
    instruction->parent = &keeper->made;
    instruction->control_count = 0;
    size_t count = (size_t)keeper->made.count++;
    keeper->made.instructions = grow(keeper->made.instructions, count, &keeper->capacity,
                                     sizeof *keeper->made.instructions);
    keeper->nodes = grow(keeper->nodes, count, &keeper->node_capacity, sizeof *keeper->nodes);
    keeper->origins =
        grow(keeper->origins, count, &keeper->origin_capacity, sizeof *keeper->origins);
    keeper->made.instructions[count] = instruction;
    keeper->nodes[count] = node;
    keeper->origins[count] = origin;
    return instruction;
}

static struct instruction *make_simple(struct keeper *keeper, enum opcode opcode,
                                       const struct shape *shape, int operand_count,
                                       struct instruction **operands)
{
    struct instruction like = {.name = opcode_text(opcode),
                               .opcode = opcode,
                               .shape = shape,
                               .operand_count = operand_count,
                               .operands = operands};
    return make(keeper, &like, NULL, NULL);
}

static struct instruction *make_element(struct keeper *keeper, struct instruction *tuple, int index)
{
    struct attr *attr = arena_alloc(&keeper->graph.arena, sizeof *attr);
    *attr = (struct attr){.key = ATTR_INDEX, .integer = index};
    struct instruction **operands = arena_array(&keeper->graph.arena, 1, sizeof *operands);
    operands[0] = tuple;
    struct instruction *element =
        make_simple(keeper, OP_GET_TUPLE_ELEMENT, tuple->shape->elements[index], 1, operands);
    element->attrs = attr;
    element->attr_count = 1;
    return element;
}

/* The instruction for leaf *n (counted down to 0) of the tuple; NULL if it is not within. */
static struct instruction *make_leaf(struct keeper *keeper, struct instruction *tuple, int *n)
{
    if (!shape_is_tuple(tuple->shape)) {
        return (*n)-- == 0 ? tuple : NULL;
    }
    for (int i = 0; i < tuple->shape->count; i++) {
        int leaves = shape_leaves(tuple->shape->elements[i]);
        if (*n < leaves) {
            return make_leaf(keeper, make_element(keeper, tuple, i), n);
        }
        *n -= leaves;
    }
    return NULL;
}

static struct instruction *make_operand(struct keeper *keeper, struct tree *tree)
{
    struct arena *arena = &keeper->graph.arena;
    const struct shape *shape = tree->shape;
    if (shape_is_tuple(shape)) {
        struct instruction **operands =
            arena_array(arena, (size_t)shape->count + 1, sizeof *operands);
        for (int i = 0; i < shape->count; i++) {
            operands[i] = make_operand(keeper, tree->elements[i]);
        }
        return make_simple(keeper, OP_TUPLE, shape, shape->count, operands);
    }
    struct instruction *instruction = tree->node->made;
    if (instruction->shape == shape || !shape_is_array(shape)) {
        return instruction;
    }
    struct instruction **operands = arena_array(arena, 1, sizeof *operands);
    operands[0] = instruction;
    return make_simple(keeper, shape->dynamic == NULL ? OP_RESHAPE : OP_COPY, shape, 1, operands);
}

static void make_given(struct keeper *keeper, struct node *node)
{
    if (node->kind == NODE_CONSTANT) {
        struct instruction like = {.name = "constant",
                                   .opcode = OP_CONSTANT,
                                   .shape = node->literal->shape,
                                   .literal = node->literal};
        node->made = make(keeper, &like, NULL, NULL);
        return;
    }
    struct instruction like = {.name = "given",
                               .opcode = OP_PARAMETER,
                               .shape = node->literal->shape,
                               .number = (int64_t)keeper->argument_count};
    node->made = make(keeper, &like, NULL, NULL);
    keeper->arguments = grow(keeper->arguments, keeper->argument_count, &keeper->argument_capacity,
                             sizeof *keeper->arguments);
    keeper->arguments[keeper->argument_count++] = literal_retain(node->literal);
}

static void make_op(struct keeper *keeper, struct node *node)
{
    struct instruction **operands =
        arena_array(&keeper->graph.arena, (size_t)node->operand_count + 1, sizeof *operands);
    for (int k = 0; k < node->operand_count; k++) {
        operands[k] = make_operand(keeper, node->operands[k]);
    }
    struct instruction like = *node->instruction;
    like.operands = operands;
    like.operand_count = node->operand_count;
    node->made = make(keeper, &like, node, node->instruction);
    keeper->any = true;
}

static void want_leaf(void *context, struct tree *leaf)
{
    struct keeper *keeper = context;
    struct node *node = leaf->node;
    if (node->literal == NULL && !node->settled) {
        node->settled = true;
        keeper->wanted = grow(keeper->wanted, keeper->wanted_count, &keeper->wanted_capacity,
                              sizeof *keeper->wanted);
        keeper->wanted[keeper->wanted_count++] = node;
    }
}

static void make_root(struct keeper *keeper)
{
    tree_visit(keeper->graph.root, want_leaf, keeper);
    size_t count = keeper->wanted_count;
    struct instruction **operands = arena_array(&keeper->graph.arena, count + 1, sizeof *operands);
    const struct shape **shapes = arena_array(&keeper->graph.arena, count + 1, sizeof *shapes);
    for (size_t i = 0; i < count; i++) {
        keeper->wanted[i]->settled = false;
        operands[i] = keeper->wanted[i]->made;
        shapes[i] = operands[i]->shape;
    }
    keeper->made.root =
        make_simple(keeper, OP_TUPLE, shape_tuple((int)count, shapes), (int)count, operands);
}

static void make_computation(struct keeper *keeper)
{
    struct graph *graph = &keeper->graph;
    const struct module *module = graph->module;
    keeper->module = *module;
    keeper->made = (struct computation){
        .name = "made", .module = &keeper->module, .id = module->count, .execution_thread = ""};
    for (size_t i = 0; i < graph->count; i++) {
        struct node *node = graph->nodes[i];
        if (!node->needed) {
            continue;
        }
        if (node->literal != NULL) {
            make_given(keeper, node);
        } else if (node->kind == NODE_PART) {
            int part = node->part;
            node->made = make_leaf(keeper, node->whole->made, &part);
        } else {
            make_op(keeper, node);
        }
    }
    make_root(keeper);
    struct computation *made = &keeper->made;
    made->parameter_count = (int)keeper->argument_count;
    made->parameters =
        arena_array(&graph->arena, keeper->argument_count + 1, sizeof *made->parameters);
    for (int i = 0; i < made->count; i++) {
        if (made->instructions[i]->opcode == OP_PARAMETER) {
            made->parameters[made->instructions[i]->number] = made->instructions[i];
        }
    }
    keeper->module.count = module->count + 1;
    keeper->deferred =
        arena_array(&graph->arena, (size_t)made->count + 1, sizeof(struct deferred *));
    keeper->module.computations =
        arena_array(&graph->arena, (size_t)module->count + 1, sizeof(struct computation *));
    memcpy(keeper->module.computations, module->computations,
           (size_t)module->count * sizeof(struct computation *));
    keeper->module.computations[module->count] = made;
    keeper->module.entry = made;
}

/* --- the whole --- */

bool cache_concerns(const struct interp_options *options)
{
    return options->cache != NULL && options->noise == NULL && options->on_instruction == NULL &&
           options->replace == NULL && options->fidelity == FIDELITY_EXACT;
}

static void count_leaf(void *context, struct tree *leaf)
{
    (void)context;
    leaf->node->settled = true;
}

/* The instructions that the result depends on. */
static int64_t count_instructions(struct graph *graph)
{
    int64_t count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        graph->nodes[i]->settled = graph->nodes[i]->kind == NODE_OP && !graph->nodes[i]->pure;
    }
    tree_visit(graph->root, count_leaf, NULL);
    for (size_t i = graph->count; i-- > 0;) {
        struct node *node = graph->nodes[i];
        if (node->settled && node->kind == NODE_PART) {
            node->whole->settled = true;
        } else if (node->settled && node->kind == NODE_OP) {
            count++;
            for (int k = 0; k < node->operand_count; k++) {
                tree_visit(node->operands[k], count_leaf, NULL);
            }
        }
        node->settled = false;
    }
    return count;
}

/* The result's literal: leaves that were at hand or have been made, each under its shape. */
static struct literal *result_of(const struct tree *tree, struct literal *const *values)
{
    const struct shape *shape = tree->shape;
    if (shape_is_tuple(shape)) {
        struct literal **elements = memory_alloc((size_t)(shape->count + 1) * sizeof *elements);
        for (int i = 0; i < shape->count; i++) {
            elements[i] = result_of(tree->elements[i], values);
        }
        struct literal *tuple = literal_tuple_take(shape, elements);
        free(elements);
        return tuple;
    }
    struct literal *value =
        tree->node->literal != NULL ? tree->node->literal : values[tree->node->id];
    return value->shape == shape || value->buffer == NULL || shape->dynamic != NULL
               ? literal_retain(value)
               : literal_view(value, shape);
}

/* Runs what was made. NULL with *err. */
static struct literal *run(struct keeper *keeper, struct evaluation *evaluation, struct error *err)
{
    struct literal **values = memory_zalloc((keeper->graph.count + 1) * sizeof(struct literal *));
    struct literal *made = NULL, *result = NULL;
    bool ok = true;
    if (keeper->any) {
        const struct module *module = evaluation->module;
        struct plans *plans = evaluation->plans;
        evaluation->plans = plans_create(&keeper->module, NULL, 0);
        evaluation->keeper = keeper;
        made = eval_computation(evaluation, &keeper->made, keeper->arguments,
                                (int)keeper->argument_count, err);
        keeper->argument_count = 0; /* taken */
        evaluation->keeper = NULL;
        keeper_finish_deferred(keeper);
        plans_destroy(evaluation->plans);
        evaluation->plans = plans;
        evaluation->module = module;
        ok = made != NULL;
        for (size_t i = 0; ok && i < keeper->wanted_count; i++) {
            values[keeper->wanted[i]->id] = made->elements[i];
        }
    }
    if (ok) {
        result = result_of(keeper->graph.root, values);
    }
    literal_release(made);
    free(values);
    return result;
}

struct literal *cache_evaluate(struct evaluation *evaluation, struct literal **arguments_take,
                               int argument_count, struct error *err)
{
    struct interp_cache *cache = evaluation->options.cache;
    struct keeper keeper = {.next = 0};
    struct literal *result = NULL;
    cache_begin(cache);
    if (graph_build(&keeper.graph, evaluation, arguments_take) && find_needed(&keeper)) {
        int64_t all = 0;
        make_computation(&keeper);
        result = run(&keeper, evaluation, err);
        all = count_instructions(&keeper.graph);
        cache_set_statistics(cache, all - keeper.evaluated, keeper.evaluated);
        for (int i = 0; i < argument_count; i++) {
            literal_release(arguments_take[i]);
            arguments_take[i] = NULL;
        }
    } else {
        int64_t all = module_instruction_count(evaluation->module);
        result = eval_computation(evaluation, evaluation->module->entry, arguments_take,
                                  argument_count, err);
        cache_set_statistics(cache, 0, all);
    }
    for (size_t i = 0; i < keeper.argument_count; i++) {
        literal_release(keeper.arguments[i]);
    }
    for (size_t i = 0; i < keeper.graph.count; i++) {
        if (keeper.graph.nodes[i]->retained) {
            literal_release(keeper.graph.nodes[i]->literal);
        }
    }
    free(keeper.arguments);
    free(keeper.made.instructions);
    free(keeper.nodes);
    free(keeper.origins);
    free(keeper.wanted);
    graph_finish(&keeper.graph);
    return result;
}
