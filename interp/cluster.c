/* Finding the clusters of a computation. */
#include "interp/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/floats.h"
#include "interp/cluster_internal.h"

struct finder {
    const struct computation *computation;
    struct users users;
    int *owner; /* by instruction: its cluster's number (the root's id), or −1 */
    int *sizes; /* by cluster number: members */
    bool (*may_join)(const struct instruction *);
    struct clusters *clusters;
};

/* --- which instructions --- */

static bool is_plain_array(const struct shape *shape)
{
    return shape_is_array(shape) && shape->dynamic == NULL && !type_is_complex(shape->type);
}

static bool is_narrow(enum type type)
{
    return type_is_float(type) && !lane_is_native(type);
}

bool cluster_is_elementwise(const struct instruction *instruction)
{
    struct lane_step step;
    enum type result = instruction->shape->type;
    if (!is_plain_array(instruction->shape) || instruction->operand_count < 1) {
        return false;
    }
    for (int k = 0; k < instruction->operand_count; k++) {
        if (!is_plain_array(instruction->operands[k]->shape)) {
            return false;
        }
    }
    enum type operand = instruction->operands[0]->shape->type;
    switch (instruction->opcode) {
    case OP_CONVERT:
        /* An integer out of range is marked. */
        if (type_is_integer(result) && type_is_float(operand)) {
            return false;
        }
        break;
    case OP_BITCAST_CONVERT:
        /* Any bits may come, also those of signalling NaNs. */
        if (is_narrow(result) || is_narrow(operand)) {
            return false;
        }
        break;
    default:
        break;
    }
    return lane_instruction(instruction, &step);
}

static bool is_reshape(const struct instruction *instruction)
{
    return instruction->opcode == OP_RESHAPE && is_plain_array(instruction->shape) &&
           is_plain_array(instruction->operands[0]->shape) &&
           instruction->shape->type == instruction->operands[0]->shape->type;
}

/* Anything that could be the root of a cluster of so many elements? */
static bool any_elementwise(const struct computation *computation, int64_t least)
{
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (is_plain_array(instruction->shape) && shape_elements(instruction->shape) >= least &&
            cluster_is_elementwise(instruction)) {
            return true;
        }
    }
    return false;
}

/* Joins the cluster of its users if that is one and the same, or begins one. */
static void place(struct finder *finder, int i)
{
    const struct instruction *instruction = finder->computation->instructions[i];
    bool reshape = is_reshape(instruction);
    if ((!reshape && !cluster_is_elementwise(instruction)) ||
        (finder->may_join != NULL && !finder->may_join(instruction))) {
        return;
    }
    int first = finder->users.first[i], last = finder->users.first[i + 1];
    int cluster = -1;
    bool joins = last > first && instruction != finder->computation->root;
    for (int u = first; u < last && joins; u++) {
        const struct instruction *user = finder->users.list[u];
        int owner = finder->owner[user->id];
        joins = owner >= 0 && (cluster < 0 || owner == cluster) &&
                shape_elements(user->shape) == shape_elements(instruction->shape);
        cluster = owner;
    }
    if (joins && finder->sizes[cluster] < CLUSTER_MAX_MEMBERS) {
        finder->owner[i] = cluster;
        finder->sizes[cluster]++;
    } else if (!reshape) {
        finder->owner[i] = i;
        finder->sizes[i] = 1;
    }
}

/* --- what a cluster reads --- */

/* Is the broadcast, in flat order, elements of its operand as a view has them? Fills in where. */
static bool broadcast_view(const struct instruction *broadcast, struct cluster_view *view)
{
    const struct shape *shape = broadcast->shape, *from = broadcast->operands[0]->shape;
    struct ints dimensions = attr_ints(broadcast, ATTR_DIMENSIONS);
    if (!is_plain_array(shape) || !is_plain_array(from) || dimensions.count != from->rank ||
        shape->type != from->type) { /* mixed.h: a conversion */
        return false;
    }
    int64_t before = -1; /* the result's dimension that was mapped last */
    view->quotient = view->period = view->gap = view->outer = 1;
    for (int j = 0; j < from->rank; j++) {
        int64_t d = dimensions.values[j], between = 1;
        if (from->dimensions[j] == 1) {
            continue;
        }
        if (d <= before) {
            return false;
        }
        for (int64_t e = before + 1; e < d && before >= 0; e++) {
            between *= shape->dimensions[e];
        }
        if (between != 1) {
            /* A second run of dimensions begins; iotas are looked through in one alone. */
            if (view->outer != 1 || broadcast->operands[0]->opcode == OP_IOTA) {
                return false;
            }
            view->outer = view->period;
            view->gap = between;
            view->period = 1;
        }
        before = d;
        view->period *= from->dimensions[j];
    }
    for (int64_t e = before + 1; e < shape->rank && before >= 0; e++) {
        view->quotient *= shape->dimensions[e];
    }
    return true;
}

struct builder {
    struct finder *finder;
    struct cluster *cluster;
    struct program_builder *program;
    int *values;  /* by instruction: the program's value for a member; −1 */
    bool *viewed; /* by instruction: a broadcast or iota that a view looks through */
    bool failed;
};

static int add_input(struct cluster *cluster, const struct instruction *source)
{
    for (int i = 0; i < cluster->input_count; i++) {
        if (cluster->inputs[i] == source) {
            return i;
        }
    }
    cluster->inputs[cluster->input_count] = source;
    return cluster->input_count++;
}

/* The program's input for a view, the one that exists already if there is one. */
static int add_view(struct builder *builder, struct cluster_view view)
{
    struct cluster *cluster = builder->cluster;
    for (int v = 0; v < cluster->view_count; v++) {
        const struct cluster_view *old = &cluster->views[v];
        if (old->source == view.source && old->quotient == view.quotient &&
            old->period == view.period && old->gap == view.gap && old->outer == view.outer) {
            return v;
        }
    }
    if (cluster->view_count == CLUSTER_MAX_VIEWS) {
        builder->failed = true;
        return -1;
    }
    if (view.source->opcode != OP_IOTA) {
        view.input = add_input(cluster, view.source);
    }
    cluster->narrow = cluster->narrow || is_narrow(view.type);
    cluster->views[cluster->view_count++] = view;
    /* Inputs are added before any step, so their values count from 0. */
    return cluster->view_count - 1;
}

static int64_t iota_quotient(const struct instruction *iota, int64_t dimension)
{
    int64_t quotient = 1;
    for (int64_t d = dimension + 1; d < iota->shape->rank; d++) {
        quotient *= iota->shape->dimensions[d];
    }
    return quotient;
}

/* The view of an operand from outside. */
static struct cluster_view view_of(struct builder *builder, const struct instruction *operand)
{
    struct cluster_view view = {
        operand, -1, operand->shape->type, 1, shape_elements(operand->shape), 1, 1};
    struct cluster_view through = view;
    if (operand->opcode == OP_BROADCAST && broadcast_view(operand, &through)) {
        builder->viewed[operand->id] = true;
        view = through;
        view.source = operand->operands[0];
        if (view.source->opcode == OP_IOTA) {
            /* No input: it must be there when the members are evaluated one by one. Its value is
             * (place / its quotient) mod its period; period is a multiple of both. */
            int64_t dimension = attr_int(view.source, ATTR_IOTA_DIMENSION, 0);
            builder->viewed[view.source->id] = true;
            view.quotient *= iota_quotient(view.source, dimension);
            view.period = view.source->shape->dimensions[dimension];
        }
    } else if (operand->opcode == OP_IOTA && is_plain_array(operand->shape)) {
        int64_t dimension = attr_int(operand, ATTR_IOTA_DIMENSION, 0);
        builder->viewed[operand->id] = true;
        view.quotient = iota_quotient(operand, dimension);
        view.period = operand->shape->dimensions[dimension];
    }
    return view;
}

static bool is_constant_scalar(const struct instruction *instruction)
{
    return instruction->opcode == OP_CONSTANT && shape_is_array(instruction->shape) &&
           shape_elements(instruction->shape) == 1 && !is_narrow(instruction->shape->type) &&
           instruction->literal->buffer->unspecified == NULL;
}

/* --- building --- */

/* First all views, then the steps: program inputs come first. */
static void collect_views(struct builder *builder, int *view_values)
{
    const struct cluster *cluster = builder->cluster;
    const struct finder *finder = builder->finder;
    int at = 0;
    for (int m = 0; m < cluster->member_count && !builder->failed; m++) {
        const struct instruction *member = cluster->members[m];
        for (int k = 0; k < member->operand_count && !builder->failed; k++, at++) {
            const struct instruction *operand = member->operands[k];
            view_values[at] = -1;
            if (finder->owner[operand->id] == finder->owner[member->id]) {
                continue;
            }
            struct cluster_view view = view_of(builder, operand);
            if (!is_constant_scalar(view.source) || view.period != 1) {
                view_values[at] = add_view(builder, view);
            }
        }
    }
}

static int operand_value(struct builder *builder, const struct instruction *operand, int view_value)
{
    if (view_value >= 0) {
        return view_value;
    }
    if (builder->values[operand->id] >= 0) {
        return builder->values[operand->id];
    }
    const struct instruction *constant =
        operand->opcode == OP_BROADCAST ? operand->operands[0] : operand;
    return program_add_constant(builder->program, constant->shape->type,
                                literal_data(constant->literal));
}

static void build_steps(struct builder *builder, const int *view_values)
{
    const struct cluster *cluster = builder->cluster;
    for (int v = 0; v < cluster->view_count; v++) {
        program_add_input(builder->program, cluster->views[v].type);
    }
    int at = 0;
    for (int m = 0; m < cluster->member_count; m++) {
        const struct instruction *member = cluster->members[m];
        int operands[LANE_MAX_OPERANDS];
        for (int k = 0; k < member->operand_count; k++, at++) {
            operands[k] = operand_value(builder, member->operands[k], view_values[at]);
        }
        int value = is_reshape(member)
                        ? operands[0]
                        : program_add_instruction(builder->program, member, operands);
        builder->values[member->id] = value;
        builder->failed = builder->failed || value < 0;
    }
}

/* Members and, before them in order, the broadcasts and iotas that views look through. */
static void complete_members(struct builder *builder, int root)
{
    struct cluster *cluster = builder->cluster;
    const struct finder *finder = builder->finder;
    int count = 0;
    for (int i = 0; i <= root; i++) {
        count += finder->owner[i] == root || builder->viewed[i];
    }
    free(cluster->members);
    cluster->members = memory_alloc((size_t)count * sizeof *cluster->members);
    cluster->member_count = 0;
    for (int i = 0; i <= root; i++) {
        if (finder->owner[i] == root || builder->viewed[i]) {
            cluster->members[cluster->member_count++] = finder->computation->instructions[i];
        }
    }
}

static void cluster_destroy(struct cluster *cluster)
{
    if (cluster != NULL) {
        program_frame_destroy(cluster->spare);
        program_destroy(cluster->program);
        free(cluster->members);
        free(cluster->views);
        free(cluster->inputs);
        free(cluster);
    }
}

/* Worth it: at least two operations, or one that would read something made only for it. */
static bool is_worthwhile(const struct builder *builder)
{
    const struct cluster *cluster = builder->cluster;
    int operations = 0;
    bool views = false;
    for (int m = 0; m < cluster->member_count; m++) {
        operations += !is_reshape(cluster->members[m]);
    }
    for (int i = 0; i <= cluster->root->id; i++) {
        views = views || builder->viewed[i];
    }
    return cluster->elements > 0 && (operations > 1 || views);
}

/* A single instruction, as most are, that reads no broadcast or iota is not. */
static bool may_be_worthwhile(const struct finder *finder, int root)
{
    const struct instruction *instruction = finder->computation->instructions[root];
    bool may = finder->sizes[root] > 1;
    for (int k = 0; k < instruction->operand_count && !may; k++) {
        enum opcode opcode = instruction->operands[k]->opcode;
        may = opcode == OP_BROADCAST || opcode == OP_IOTA;
    }
    return may;
}

static struct cluster *build(struct finder *finder, int root)
{
    const struct computation *computation = finder->computation;
    struct cluster *cluster = memory_zalloc(sizeof *cluster);
    size_t operands = 0, count = (size_t)computation->count;
    cluster->root = computation->instructions[root];
    cluster->elements = shape_elements(cluster->root->shape);
    cluster->members = memory_alloc((size_t)finder->sizes[root] * sizeof *cluster->members);
    for (int i = 0; i <= root; i++) {
        if (finder->owner[i] == root) {
            cluster->members[cluster->member_count++] = computation->instructions[i];
            operands += (size_t)computation->instructions[i]->operand_count;
        }
    }
    cluster->views = memory_alloc(CLUSTER_MAX_VIEWS * sizeof *cluster->views);
    cluster->inputs = memory_alloc(CLUSTER_MAX_VIEWS * sizeof *cluster->inputs);
    struct builder builder = {.finder = finder,
                              .cluster = cluster,
                              .program = program_builder_create(),
                              .values = memory_alloc(count * sizeof(int)),
                              .viewed = memory_zalloc(count)};
    int *view_values = memory_alloc((operands + 1) * sizeof(int));
    memset(builder.values, -1, count * sizeof(int));
    collect_views(&builder, view_values);
    if (!builder.failed && is_worthwhile(&builder)) {
        build_steps(&builder, view_values);
    } else {
        builder.failed = true;
    }
    if (!builder.failed) {
        program_add_output(builder.program, builder.values[root]);
        cluster->program = program_builder_finish_take(builder.program);
        complete_members(&builder, root);
    } else {
        program_builder_destroy(builder.program);
        cluster_destroy(cluster);
        cluster = NULL;
    }
    free(view_values);
    free(builder.values);
    free(builder.viewed);
    return cluster;
}

/* Broadcasts and iotas whose every reader is a cluster that looks through them. */
static bool only_viewed(const struct finder *finder, int i)
{
    const struct instruction *instruction = finder->computation->instructions[i];
    struct cluster_view through;
    bool view = (instruction->opcode == OP_IOTA && is_plain_array(instruction->shape)) ||
                (instruction->opcode == OP_BROADCAST && broadcast_view(instruction, &through));
    int first = finder->users.first[i], last = finder->users.first[i + 1];
    for (int u = first; u < last && view; u++) {
        int owner = finder->owner[finder->users.list[u]->id];
        view = owner >= 0 && finder->clusters->roots[owner] != NULL;
    }
    return view && last > first && instruction != finder->computation->root;
}

struct clusters *clusters_find(const struct computation *computation, int64_t least,
                               bool (*may_join)(const struct instruction *))
{
    if (!any_elementwise(computation, least)) {
        return NULL;
    }
    size_t count = (size_t)computation->count;
    struct clusters *clusters = memory_zalloc(sizeof *clusters);
    clusters->count = computation->count;
    clusters->roots = memory_zalloc(count * sizeof *clusters->roots);
    clusters->inside = memory_zalloc(count);
    struct finder finder = {.computation = computation,
                            .owner = memory_alloc(count * sizeof(int)),
                            .sizes = memory_zalloc(count * sizeof(int)),
                            .may_join = may_join,
                            .clusters = clusters};
    users_build(computation, &finder.users);
    memset(finder.owner, -1, count * sizeof(int));
    for (int i = computation->count - 1; i >= 0; i--) {
        place(&finder, i);
    }
    bool any = false;
    for (int i = 0; i < computation->count; i++) {
        if (finder.owner[i] == i && shape_elements(computation->instructions[i]->shape) >= least &&
            may_be_worthwhile(&finder, i)) {
            clusters->roots[i] = build(&finder, i);
            any = any || clusters->roots[i] != NULL;
        }
    }
    for (int i = 0; i < computation->count; i++) {
        int owner = finder.owner[i];
        clusters->inside[i] =
            (owner >= 0 && owner != i && clusters->roots[owner] != NULL) || only_viewed(&finder, i);
    }
    users_finish(&finder.users);
    free(finder.owner);
    free(finder.sizes);
    if (!any) {
        clusters_destroy(clusters);
        return NULL;
    }
    return clusters;
}

void clusters_destroy(struct clusters *clusters)
{
    if (clusters != NULL) {
        for (int i = 0; i < clusters->count; i++) {
            cluster_destroy(clusters->roots[i]);
        }
        free(clusters->roots);
        free(clusters->inside);
        free(clusters);
    }
}

int cluster_input_count(const struct cluster *cluster)
{
    return cluster->input_count;
}

const struct instruction *cluster_input(const struct cluster *cluster, int i)
{
    return cluster->inputs[i];
}

int cluster_size(const struct cluster *cluster)
{
    return cluster->member_count;
}

const struct instruction *cluster_member(const struct cluster *cluster, int i)
{
    return cluster->members[i];
}
