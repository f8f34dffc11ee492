/* From a while to a tape: slots for its values, steps in regions. */
#include <stdlib.h>
#include <string.h>

#include "hlo/literal.h"
#include "interp/mixed.h"
#include "interp/plan.h"
#include "interp/special.h"
#include "interp/tape_internal.h"

/* Calls nested deeper than this cost stack, and more steps (computations entered count as one) or
 * slots than this memory: no tape then. */
enum { NESTING_LIMIT = 64, STEP_LIMIT = 200000, SLOT_LIMIT = 1 << 20 };

struct builder {
    struct tape *tape;
    struct tape_region *region; /* that is being filled */
    struct tape_loop *loop;     /* the innermost one, or NULL */
    int depth;
    size_t steps; /* and computations entered */
    bool impure;  /* something with effects has been met */
};

static bool build_computation(struct builder *builder, const struct computation *computation,
                              const int *arguments, int *results);

bool tape_is_small(const struct shape *shape)
{
    return shape_is_array(shape) && shape->dynamic == NULL && shape_elements(shape) <= TAPE_SMALL;
}

/* --- slots, steps and regions --- */

static int add_slot(struct builder *builder, const struct shape *shape, int level)
{
    struct tape *tape = builder->tape;
    tape->values =
        grow(tape->values, (size_t)tape->slot_count, &tape->value_capacity, sizeof *tape->values);
    tape->values[tape->slot_count] = (struct tape_value){.shape = shape,
                                                         .fixed = tape_is_small(shape),
                                                         .level = level,
                                                         .home = builder->region,
                                                         .loop = builder->loop};
    return tape->slot_count++;
}

/* The leaves of a shape, one slot each. */
static void add_slots(struct builder *builder, const struct shape *shape, int level, int *slots)
{
    if (!shape_is_tuple(shape)) {
        *slots = add_slot(builder, shape, level);
        return;
    }
    for (int i = 0; i < shape->count; i++) {
        add_slots(builder, shape->elements[i], level, slots);
        slots += shape_leaves(shape->elements[i]);
    }
}

static int *copy_slots(struct builder *builder, const int *slots, int count)
{
    return arena_copy(&builder->tape->arena, slots, (size_t)count * sizeof *slots);
}

/* Takes over the operands. The results are filled in by the caller. */
static struct tape_step *add_step(struct builder *builder, enum tape_kind kind,
                                  const struct instruction *instruction, const int *operands,
                                  int operand_count, int level)
{
    struct tape_region *region = builder->region;
    region->steps = grow(region->steps, region->count, &region->capacity, sizeof *region->steps);
    struct tape_step *step = &region->steps[region->count++];
    *step = (struct tape_step){
        .kind = kind,
        .instruction = instruction,
        .operand_count = operand_count,
        .operands = operands,
        .dying = arena_array(&builder->tape->arena, (size_t)operand_count + 1, sizeof(bool)),
        .level = level};
    builder->steps++;
    return step;
}

static struct tape_region *begin_region(struct builder *builder)
{
    struct tape *tape = builder->tape;
    struct tape_region *region = arena_alloc(&tape->arena, sizeof *region);
    region->id = tape->regions != NULL ? tape->regions->id + 1 : 1;
    region->next = tape->regions;
    tape->regions = region;
    return region;
}

static void end_region(struct builder *builder, struct tape_region *region, const int *results,
                       int count)
{
    region->results = copy_slots(builder, results, count);
    region->result_count = count;
    region->movable = arena_array(&builder->tape->arena, (size_t)count + 1, sizeof(bool));
}

static int current_depth(const struct builder *builder)
{
    return builder->loop != NULL ? builder->loop->depth : 0;
}

/* The level of a pure operation on these. */
static int level_of(const struct builder *builder, const int *slots, int count)
{
    int level = 0;
    for (int i = 0; i < count; i++) {
        int other = builder->tape->values[slots[i]].level;
        level = other > level ? other : level;
    }
    return level;
}

/* --- instructions --- */

struct scope {
    const struct computation *computation;
    const struct clusters *clusters; /* or NULL */
    int **values;                    /* by instruction: the slots of its leaves */
};

static int operand_leaves(const struct instruction *instruction)
{
    int leaves = 0;
    for (int k = 0; k < instruction->operand_count; k++) {
        leaves += shape_leaves(instruction->operands[k]->shape);
    }
    return leaves;
}

/* The slots of all leaves of the operands from `first` on, in the tape's arena. */
static int *gather_operands(struct builder *builder, const struct scope *scope,
                            const struct instruction *instruction, int *count)
{
    *count = operand_leaves(instruction);
    int *slots = arena_array(&builder->tape->arena, (size_t)*count + 1, sizeof *slots);
    int at = 0;
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct instruction *operand = instruction->operands[k];
        int leaves = shape_leaves(operand->shape);
        memcpy(slots + at, scope->values[operand->id], (size_t)leaves * sizeof *slots);
        at += leaves;
    }
    return slots;
}

static void build_constant(struct builder *builder, const struct instruction *instruction,
                           int *slots)
{
    int leaves = shape_leaves(instruction->shape);
    for (int i = 0; i < leaves; i++) {
        struct literal *leaf = literal_leaf(instruction->literal, i);
        slots[i] = add_slot(builder, leaf->shape, 0);
        struct tape_value *value = &builder->tape->values[slots[i]];
        value->fixed = false;
        value->constant = leaf;
    }
}

/* Fills in the step of a small instruction; false if it has none. */
static bool make_small(struct builder *builder, const struct instruction *instruction,
                       struct tape_step *step)
{
    const struct shape *shape = instruction->shape;
    step->kind = TAPE_LANES;
    step->count = shape_elements(shape);
    if (cluster_is_elementwise(instruction) && lane_instruction(instruction, &step->lane)) {
        bool plain = step->lane.result == shape->type &&
                     step->lane.operand_count == instruction->operand_count;
        step->narrow = !lane_is_native(shape->type);
        for (int k = 0; k < instruction->operand_count && plain; k++) {
            const struct shape *operand = instruction->operands[k]->shape;
            int64_t elements = shape_elements(operand);
            step->scalar[k] = elements != step->count;
            step->narrow |= !lane_is_native(operand->type);
            plain = operand->type == step->lane.operands[k] &&
                    (elements == step->count || elements == 1);
        }
        if (plain) {
            return true;
        }
    }
    step->kind = TAPE_MOVES;
    if (tape_moves_of(builder->tape, instruction, &step->moves)) {
        return true;
    }
    step->kind = TAPE_SLICE;
    return instruction->opcode == OP_DYNAMIC_SLICE &&
           tape_window_of(builder->tape, instruction, &step->window);
}

/* An instruction that is not dissolved. */
static void build_step(struct builder *builder, const struct scope *scope,
                       const struct instruction *instruction, int *values)
{
    int count;
    int *operands = gather_operands(builder, scope, instruction, &count);
    bool effects = plan_has_effects(instruction);
    int level = effects ? current_depth(builder) : level_of(builder, operands, count);
    struct tape_step made = {.kind = TAPE_EVALUATE};
    if (tape_is_small(instruction->shape)) {
        if (!make_small(builder, instruction, &made)) {
            made.kind = TAPE_EVALUATE;
        }
    }
    if (instruction->opcode == OP_DYNAMIC_UPDATE_SLICE &&
        tape_window_of(builder->tape, instruction, &made.window)) {
        made.kind = TAPE_UPDATE;
    }
    builder->impure |= effects;
    struct tape_step *step = add_step(builder, made.kind, instruction, operands, count, level);
    made.instruction = step->instruction;
    made.operand_count = step->operand_count;
    made.operands = step->operands;
    made.dying = step->dying;
    made.level = level;
    *step = made;
    add_slots(builder, instruction->shape, level, values);
    step->result_count = shape_leaves(instruction->shape);
    step->results = copy_slots(builder, values, step->result_count);
}

static void build_cluster(struct builder *builder, const struct scope *scope,
                          const struct instruction *instruction, int *values)
{
    struct cluster *cluster = scope->clusters->roots[instruction->id];
    int count = cluster_input_count(cluster);
    int *operands = arena_array(&builder->tape->arena, (size_t)count + 1, sizeof *operands);
    for (int k = 0; k < count; k++) {
        operands[k] = scope->values[cluster_input(cluster, k)->id][0];
    }
    int level = level_of(builder, operands, count);
    struct tape_step *step = add_step(builder, TAPE_CLUSTER, instruction, operands, count, level);
    step->cluster = cluster;
    values[0] = add_slot(builder, instruction->shape, level);
    step->result_count = 1;
    step->results = copy_slots(builder, values, 1);
}

/* --- loops and branches --- */

/* Which leaf of the parameter is leaf `leaf` of `instruction`? −1 if it is none. */
static int passed_leaf(const struct instruction *instruction, int leaf)
{
    for (;;) {
        switch (instruction->opcode) {
        case OP_PARAMETER:
            return leaf;
        case OP_TUPLE: {
            int k = 0;
            while (leaf >= shape_leaves(instruction->operands[k]->shape)) {
                leaf -= shape_leaves(instruction->operands[k++]->shape);
            }
            instruction = instruction->operands[k];
            break;
        }
        case OP_GET_TUPLE_ELEMENT: {
            const struct shape *tuple = instruction->operands[0]->shape;
            int64_t index = attr_int(instruction, ATTR_INDEX, 0);
            for (int i = 0; i < index; i++) {
                leaf += shape_leaves(tuple->elements[i]);
            }
            instruction = instruction->operands[0];
            break;
        }
        case OP_COPY:
        case OP_OPT_BARRIER:
        case OP_DOMAIN:
            if (instruction->operand_count != 1) {
                return -1;
            }
            instruction = instruction->operands[0];
            break;
        default:
            return -1;
        }
    }
}

/* Scratch of the loop and which of its new values must wait for each other. */
static void prepare_carrying(struct builder *builder, struct tape_loop *loop)
{
    struct arena *arena = &builder->tape->arena;
    bool *staged = arena_array(arena, (size_t)loop->count + 1, sizeof *staged);
    bool *is_home = memory_zalloc((size_t)builder->tape->slot_count);
    for (int k = 0; k < loop->count; k++) {
        if (loop->homes[k] >= 0) {
            is_home[loop->homes[k]] = true;
        }
    }
    for (int k = 0; k < loop->count; k++) {
        int from = loop->body->results[k];
        staged[k] = loop->homes[k] >= 0 && from != loop->homes[k] && is_home[from];
    }
    free(is_home);
    loop->staged = staged;
    loop->stage = arena_array(arena, (size_t)loop->count + 1, TAPE_SMALL * LANE_MAX_BYTES);
    loop->carried = arena_array(arena, (size_t)loop->count + 1, sizeof(struct literal *));
}

/* The level that the values after the loop have. */
static void set_levels(struct builder *builder, const struct tape_loop *loop, int level)
{
    for (int k = 0; k < loop->count; k++) {
        if (loop->homes[k] >= 0) {
            builder->tape->values[loop->homes[k]].level = level;
        }
    }
}

static bool build_while(struct builder *builder, const struct instruction *instruction,
                        int *operands, int *values)
{
    struct tape *tape = builder->tape;
    const struct computation *body = instruction->called[0], *condition = instruction->called[1];
    int count = shape_leaves(instruction->shape);
    bool impure_before = builder->impure;
    builder->impure = false;
    struct tape_loop *loop = arena_alloc(&tape->arena, sizeof *loop);
    loop->outer = builder->loop;
    loop->depth = current_depth(builder) + 1;
    loop->count = count;
    /* What passes through needs no place of its own. */
    int *homes = arena_array(&tape->arena, (size_t)count + 1, sizeof *homes);
    add_slots(builder, instruction->shape, loop->depth, homes);
    for (int k = 0; k < count; k++) {
        bool passes = passed_leaf(body->root, k) == k;
        values[k] = passes ? operands[k] : homes[k];
        homes[k] = passes ? -1 : homes[k];
    }
    loop->homes = homes;
    struct tape_region *outer = builder->region;
    int *results = memory_zalloc(((size_t)count + 1) * sizeof *results);
    builder->loop = loop;
    builder->depth++;
    builder->region = loop->condition = begin_region(builder);
    bool ok = build_computation(builder, condition, values, results);
    if (ok) {
        end_region(builder, loop->condition, results, 1);
        builder->region = loop->body = begin_region(builder);
        ok = build_computation(builder, body, values, results);
    }
    if (ok) {
        end_region(builder, loop->body, results, count);
        prepare_carrying(builder, loop);
    }
    free(results);
    builder->depth--;
    builder->loop = loop->outer;
    builder->region = outer;
    if (!ok) {
        return false;
    }
    int level = builder->impure ? current_depth(builder) : level_of(builder, operands, count);
    builder->impure |= impure_before;
    set_levels(builder, loop, level);
    struct tape_step *step = add_step(builder, TAPE_WHILE, instruction,
                                      copy_slots(builder, operands, count), count, level);
    step->loop = loop;
    int *written = arena_array(&tape->arena, (size_t)count + 1, sizeof *written);
    for (int k = 0; k < count; k++) {
        if (homes[k] >= 0) {
            written[step->result_count++] = homes[k];
        }
    }
    step->results = written;
    return true;
}

static bool build_conditional(struct builder *builder, const struct scope *scope,
                              const struct instruction *instruction, int *values)
{
    struct tape *tape = builder->tape;
    int count, leaves = shape_leaves(instruction->shape);
    int *operands = gather_operands(builder, scope, instruction, &count);
    struct tape_branches *branches = arena_alloc(&tape->arena, sizeof *branches);
    branches->count = instruction->called_count;
    branches->regions =
        arena_array(&tape->arena, (size_t)branches->count, sizeof *branches->regions);
    bool impure_before = builder->impure;
    builder->impure = false;
    struct tape_region *outer = builder->region;
    int *results = memory_zalloc(((size_t)leaves + 1) * sizeof *results);
    bool ok = true;
    builder->depth++;
    for (int b = 0; b < branches->count && ok; b++) {
        builder->region = branches->regions[b] = begin_region(builder);
        const int *argument = scope->values[instruction->operands[b + 1]->id];
        ok = build_computation(builder, instruction->called[b], argument, results);
        if (ok) {
            end_region(builder, branches->regions[b], results, leaves);
        }
    }
    free(results);
    builder->depth--;
    builder->region = outer;
    if (!ok) {
        return false;
    }
    int level = builder->impure ? current_depth(builder) : level_of(builder, operands, count);
    builder->impure |= impure_before;
    struct tape_step *step =
        add_step(builder, TAPE_CONDITIONAL, instruction, operands, count, level);
    step->branches = branches;
    add_slots(builder, instruction->shape, level, values);
    step->result_count = leaves;
    step->results = copy_slots(builder, values, leaves);
    return true;
}

/* --- computations --- */

static const struct clusters *clusters_of(struct tape *tape, const struct computation *computation)
{
    if (!tape->searched[computation->id]) {
        tape->searched[computation->id] = true;
        tape->clusters[computation->id] = clusters_find(computation, 0, NULL);
    }
    return tape->clusters[computation->id];
}

/* The value itself under this shape. */
static bool is_alias(const struct instruction *instruction)
{
    const struct shape *shape = instruction->shape;
    switch (instruction->opcode) {
    case OP_COPY:
    case OP_OPT_BARRIER:
    case OP_DOMAIN:
    case OP_RESHAPE:
    case OP_ADD_DEPENDENCY:
        return true;
    case OP_BITCAST:
        return shape_is_array(shape) && shape_elements(shape) == 1 &&
               shape_is_array(instruction->operands[0]->shape) &&
               shape->type == instruction->operands[0]->shape->type &&
               shape_elements(instruction->operands[0]->shape) == 1;
    default:
        return false;
    }
}

static bool build_instruction(struct builder *builder, const struct scope *scope,
                              const struct instruction *instruction, int *values)
{
    const struct instruction *first =
        instruction->operand_count > 0 ? instruction->operands[0] : NULL;
    size_t leaves = (size_t)shape_leaves(instruction->shape);
    if (is_alias(instruction)) {
        memcpy(values, scope->values[first->id], leaves * sizeof *values);
        return true;
    }
    switch (instruction->opcode) {
    case OP_CONSTANT:
        build_constant(builder, instruction, values);
        return true;
    case OP_TUPLE: {
        for (int k = 0; k < instruction->operand_count; k++) {
            const struct instruction *operand = instruction->operands[k];
            size_t some = (size_t)shape_leaves(operand->shape);
            memcpy(values, scope->values[operand->id], some * sizeof *values);
            values += some;
        }
        return true;
    }
    case OP_GET_TUPLE_ELEMENT: {
        int64_t index = attr_int(instruction, ATTR_INDEX, 0);
        int skipped = 0;
        for (int i = 0; i < index; i++) {
            skipped += shape_leaves(first->shape->elements[i]);
        }
        memcpy(values, scope->values[first->id] + skipped, leaves * sizeof *values);
        return true;
    }
    case OP_CALL:
    case OP_FUSION: {
        if (special_is_call(instruction)) {
            build_step(builder, scope, instruction, values);
            return true;
        }
        int count;
        int *operands = gather_operands(builder, scope, instruction, &count);
        builder->depth++;
        bool ok = build_computation(builder, instruction->called[0], operands, values);
        builder->depth--;
        return ok;
    }
    case OP_WHILE:
        return build_while(builder, instruction, scope->values[first->id], values);
    case OP_CONDITIONAL:
        return build_conditional(builder, scope, instruction, values);
    default:
        build_step(builder, scope, instruction, values);
        return true;
    }
}

static bool build_scope(struct builder *builder, const struct scope *scope, const bool *live,
                        const int *arguments)
{
    const struct computation *computation = scope->computation;
    for (int i = 0; i < computation->parameter_count; i++) {
        const struct instruction *parameter = computation->parameters[i];
        size_t bytes = (size_t)shape_leaves(parameter->shape) * sizeof(int);
        scope->values[parameter->id] = memory_alloc(bytes + sizeof(int));
        memcpy(scope->values[parameter->id], arguments, bytes);
        arguments += shape_leaves(parameter->shape);
    }
    const struct clusters *clusters = scope->clusters;
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (!live[i] || instruction->opcode == OP_PARAMETER) {
            continue;
        }
        if (shape_is_dynamic(instruction->shape) || mixed_concerns(instruction) ||
            builder->steps > STEP_LIMIT) {
            return false;
        }
        bool small = tape_is_small(instruction->shape);
        if (clusters != NULL && clusters->inside[i] && !small) {
            continue;
        }
        size_t leaves = (size_t)shape_leaves(instruction->shape);
        scope->values[i] = memory_zalloc((leaves + 1) * sizeof(int));
        if (clusters != NULL && clusters->roots[i] != NULL && !small) {
            build_cluster(builder, scope, instruction, scope->values[i]);
        } else if (!build_instruction(builder, scope, instruction, scope->values[i])) {
            return false;
        }
    }
    return true;
}

/* Adds the steps of a computation applied to the slots `arguments` (the leaves of its parameters);
 * results are the slots of the leaves of its root. */
static bool build_computation(struct builder *builder, const struct computation *computation,
                              const int *arguments, int *results)
{
    if (builder->depth > NESTING_LIMIT || builder->steps++ > STEP_LIMIT ||
        builder->tape->slot_count > SLOT_LIMIT) {
        return false;
    }
    size_t count = (size_t)computation->count;
    struct scope scope = {computation, clusters_of(builder->tape, computation),
                          memory_zalloc((count + 1) * sizeof(int *))};
    bool *live = memory_zalloc(count + 1);
    plan_find_live(computation, live);
    bool ok = build_scope(builder, &scope, live, arguments);
    if (ok) {
        const struct instruction *root = computation->root;
        memcpy(results, scope.values[root->id], (size_t)shape_leaves(root->shape) * sizeof(int));
    }
    for (size_t i = 0; i < count; i++) {
        free(scope.values[i]);
    }
    free(scope.values);
    free(live);
    return ok;
}

/* --- the whole --- */

bool tape_build(struct tape *tape)
{
    const struct instruction *loop = tape->instruction;
    struct builder builder = {.tape = tape};
    builder.region = tape->root = begin_region(&builder);
    tape->leaves = shape_leaves(loop->shape);
    size_t leaves = (size_t)tape->leaves + 1;
    int *inputs = arena_array(&tape->arena, leaves, sizeof *inputs);
    int *outputs = arena_array(&tape->arena, leaves, sizeof *outputs);
    add_slots(&builder, loop->shape, 0, inputs);
    for (int k = 0; k < tape->leaves; k++) {
        tape->values[inputs[k]].fixed = false;
    }
    tape->inputs = inputs;
    tape->outputs = outputs;
    if (!build_while(&builder, loop, inputs, outputs)) {
        return false;
    }
    end_region(&builder, tape->root, outputs, tape->leaves);
    return true;
}
