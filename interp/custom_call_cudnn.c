/* cuDNN: convolutions forward and backward, with bias, side input, activation or a graph of
 * pointwise operations.
 *
 *   forward          y = conv_result_scale * conv(x, w)
 *   backward input   (dy, w) → dx, backward filter (x, dy) → dw: the gradients of that sum; window
 *                    and dim_labels are those of the forward convolution, input → output
 *   bias activation  activation(conv_result_scale * conv + side_input_scale * side + bias)
 *   graph            "uid:[type]op(uids);…": conv, scale, invscale, add, relu, elu, min, max, amax;
 *                    what is no uid is the next operand
 *
 * Each element is one real expression, rounded once: intermediate types of a graph are not rounded
 * to. f8 results saturate, integers are rounded to nearest, ties to even, and saturate. The last
 * result is a workspace.
 * Sources: xla/service/gpu/gpu_conv_runner.cc (GetGpuConvConfig), backend_configs.proto,
 * xla/tsl/protobuf/dnn.proto (ActivationMode), transforms/conv_rewriter.cc,
 * transforms/cudnn_fused_conv_rewriter.cc (the graph). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_convolution.h"
#include "interp/walk.h"

/* --- the configuration --- */

static const char *const activation_words[] = {
    "kNone", "kSigmoid",  "kRelu", "kRelu6",     "kReluX",
    "kTanh", "kBandPass", "kElu",  "kLeakyRelu", "kGeluExact",
};
enum { ACTIVATION_WORDS = sizeof activation_words / sizeof *activation_words };

/* The activation of a mode; its parameter is set where the mode has a fixed one. */
static bool activation_of(int mode, enum activation *activation, double *parameter)
{
    static const struct {
        bool known;
        enum activation activation;
        double parameter; /* NaN: that of the configuration */
    } modes[ACTIVATION_WORDS] = {
        {true, ACTIVATION_NONE, 0},         {true, ACTIVATION_SIGMOID, 0},
        {true, ACTIVATION_RELU, 0},         {true, ACTIVATION_CLIP, 6},
        {false, ACTIVATION_NONE, 0},        {true, ACTIVATION_TANH, 0},
        {false, ACTIVATION_NONE, 0},        {true, ACTIVATION_ELU, 1},
        {true, ACTIVATION_LEAKY_RELU, NAN}, {true, ACTIVATION_GELU_ERF, 0},
    };
    *activation = modes[mode].activation;
    *parameter = isnan(modes[mode].parameter) ? *parameter : modes[mode].parameter;
    return modes[mode].known;
}

struct cudnn {
    double scale, side_scale, leaky;
    int mode;
    char *graph; /* owned; NULL: none */
};

static bool read_cudnn(struct cudnn *cudnn, const struct instruction *instruction,
                       struct error *err)
{
    struct config config;
    *cudnn = (struct cudnn){.scale = 1};
    bool ok = config_read(&config, instruction, err);
    if (ok && config.root != NULL) {
        if (config_has(&config, "cudnn_conv_backend_config")) { /* absent before 2024 */
            config_enter(&config, "cudnn_conv_backend_config", err);
        }
        cudnn->scale = config_number(&config, "conv_result_scale", 0, err);
        cudnn->side_scale = config_number(&config, "side_input_scale", 0, err);
        cudnn->leaky = config_number(&config, "leakyrelu_alpha", 0, err);
        cudnn->mode =
            config_word(&config, "activation_mode", activation_words, ACTIVATION_WORDS, 0, err);
        const char *graph = config_string(&config, "serialized_graph", NULL, err);
        cudnn->graph = graph == NULL ? NULL : strdup(graph);
        ok = !config.failed;
    }
    config_finish(&config);
    if (ok && !(isfinite(cudnn->scale) && isfinite(cudnn->side_scale) && isfinite(cudnn->leaky))) {
        custom_call_fail(instruction, err, "a scale is not finite");
        ok = false;
    }
    return ok;
}

/* An operand as an addend of the result: of its shape, a scalar, or a vector of its features. */
static bool attach(struct epilogue *epilogue, const struct conv *conv,
                   const struct instruction *instruction, struct epilogue_node node,
                   struct error *err)
{
    const struct shape *shape = epilogue->shape, *operand = node.operand->shape;
    if (!shape_is_array(operand) || type_is_complex(operand->type)) {
        custom_call_fail(instruction, err, "an operand that is no real array");
        return false;
    }
    if (shape_elements(operand) != 1) {
        int64_t feature = conv->labels.output_feature;
        if (operand->rank == 1 && operand->dimensions[0] == shape->dimensions[feature]) {
            node.strides[feature] = 1;
        } else if (!epilogue_broadcast(shape, operand, node.strides)) {
            custom_call_fail(instruction, err, "%s does not broadcast to %s", shape_text(operand),
                             shape_text(shape));
            return false;
        }
    }
    if (epilogue_add(epilogue, node) < 0) {
        custom_call_fail(instruction, err, "too many operations");
        return false;
    }
    return true;
}

/* activation(sum + side_input_scale * side + bias), of which the sum is in the epilogue. */
static bool add_bias_and_activation(const struct cudnn *cudnn, struct epilogue *epilogue,
                                    const struct conv *conv, const struct instruction *instruction,
                                    const struct operands *operands, struct error *err)
{
    enum activation activation;
    double parameter = cudnn->leaky;
    if (operands->count < 3 || operands->count > 4 ||
        !activation_of(cudnn->mode, &activation, &parameter)) {
        custom_call_fail(instruction, err, "%d operands, activation %s", operands->count,
                         activation_words[cudnn->mode]);
        return false;
    }
    struct epilogue_node node = {.op = EPILOGUE_ADD, .b = -1};
    if (operands->count == 4) {
        node.a = epilogue_last(epilogue);
        node.factor = cudnn->side_scale;
        node.operand = operands->values[3];
        if (!attach(epilogue, conv, instruction, node, err)) {
            return false;
        }
    }
    node.a = epilogue_last(epilogue);
    node.factor = 1;
    node.operand = operands->values[2];
    if (!attach(epilogue, conv, instruction, node, err)) {
        return false;
    }
    if (activation != ACTIVATION_NONE) {
        epilogue_add(epilogue, (struct epilogue_node){.op = EPILOGUE_ACTIVATE,
                                                      .a = epilogue_last(epilogue),
                                                      .b = -1,
                                                      .activation = activation,
                                                      .parameter = parameter});
    }
    return true;
}

/* --- the graph --- */

struct graph {
    int64_t uids[EPILOGUE_NODES];
    int nodes[EPILOGUE_NODES];
    int count;
    int amax[EPILOGUE_NODES], amax_count;
    int next_operand;
};

static int node_of(const struct graph *graph, int64_t uid)
{
    for (int i = 0; i < graph->count; i++) {
        if (graph->uids[i] == uid) {
            return graph->nodes[i];
        }
    }
    return -1;
}

static bool add_graph_op(struct graph *graph, struct epilogue *epilogue, const struct conv *conv,
                         const struct instruction *instruction, struct operands *operands,
                         const char *name, const int *inputs, int input_count, struct error *err)
{
    static const struct {
        const char *name;
        enum epilogue_op op;
        enum activation activation;
        bool binary;
    } ops[] = {
        {"scale", EPILOGUE_SCALE, ACTIVATION_NONE, true},
        {"invscale", EPILOGUE_DIVIDE, ACTIVATION_NONE, true},
        {"add", EPILOGUE_ADD, ACTIVATION_NONE, true},
        {"min", EPILOGUE_MINIMUM, ACTIVATION_NONE, true},
        {"max", EPILOGUE_MAXIMUM, ACTIVATION_NONE, true},
        {"relu", EPILOGUE_ACTIVATE, ACTIVATION_RELU, false},
        {"elu", EPILOGUE_ACTIVATE, ACTIVATION_ELU, false},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].name, name) != 0) {
            continue;
        }
        struct epilogue_node node = {.op = ops[i].op,
                                     .a = input_count > 0 ? inputs[0] : -1,
                                     .b = input_count > 1 ? inputs[1] : -1,
                                     .factor = 1,
                                     .activation = ops[i].activation,
                                     .parameter = 1};
        if (input_count < 1 || input_count > 1 + ops[i].binary) {
            custom_call_fail(instruction, err, "graph: %s of %d values", name, input_count);
            return false;
        }
        if (ops[i].binary && input_count == 1) {
            if (graph->next_operand >= operands->count) {
                custom_call_fail(instruction, err, "graph: no operand is left for %s", name);
                return false;
            }
            node.operand = operands->values[graph->next_operand++];
            return attach(epilogue, conv, instruction, node, err);
        }
        if (epilogue_add(epilogue, node) < 0) {
            custom_call_fail(instruction, err, "graph: too many operations");
            return false;
        }
        return true;
    }
    custom_call_fail(instruction, err, "graph: unknown operation %s", name);
    return false;
}

/* One "uid:[type]op(uids);"; *text moves behind it. */
static bool read_graph_op(struct graph *graph, struct epilogue *epilogue, const struct conv *conv,
                          const struct instruction *instruction, struct operands *operands,
                          const char **text, struct error *err)
{
    char *at;
    int64_t uid = strtoll(*text, &at, 10);
    const char *type_end = at[0] == ':' && at[1] == '[' ? strchr(at, ']') : NULL;
    size_t size = type_end == NULL ? 0 : strcspn(type_end + 1, "(");
    if (type_end == NULL || size == 0 || size > 15 || type_end[1 + size] != '(' ||
        graph->count == EPILOGUE_NODES) {
        custom_call_fail(instruction, err, "graph: cannot read \"%.40s\"", *text);
        return false;
    }
    char name[16];
    memcpy(name, type_end + 1, size);
    name[size] = 0;
    const char *rest = type_end + 2 + size;
    int inputs[2], input_count = 0;
    while (*rest != ')') {
        int64_t input = strtoll(rest, &at, 10);
        int node = node_of(graph, input);
        if (at == rest || node < 0 || input_count == 2) {
            custom_call_fail(instruction, err, "graph: operands of %s", name);
            return false;
        }
        inputs[input_count++] = node;
        rest = at + (*at == ',');
    }
    if (rest[1] != ';' && rest[1] != 0) {
        custom_call_fail(instruction, err, "graph: cannot read \"%.40s\"", *text);
        return false;
    }
    *text = rest + 1 + (rest[1] == ';');
    if (strcmp(name, "amax") == 0 && input_count == 1) {
        graph->amax[graph->amax_count++] = inputs[0];
        graph->uids[graph->count] = uid;
        graph->nodes[graph->count++] = inputs[0];
        return true;
    }
    if (strcmp(name, "conv") == 0 && input_count == 0 && epilogue->count == 1) {
        graph->uids[graph->count] = uid;
        graph->nodes[graph->count++] = 0;
        return true;
    }
    if (!add_graph_op(graph, epilogue, conv, instruction, operands, name, inputs, input_count,
                      err)) {
        return false;
    }
    graph->uids[graph->count] = uid;
    graph->nodes[graph->count++] = epilogue_last(epilogue);
    return true;
}

/* --- the evaluator --- */

static struct literal *evaluate(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                enum conv_kind kind, struct error *err)
{
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    const struct dim_labels *labels = attr_dim_labels(instruction);
    if (!custom_call_operand_is(operands, 0, TYPE_INVALID, -1) ||
        !custom_call_operand_is(operands, 1, TYPE_INVALID, -1) || shape == NULL ||
        !shape_is_array(shape) || shape_is_dynamic(shape) || labels == NULL) {
        return custom_call_fail(instruction, err, "operands, results or dim_labels are missing");
    }
    struct cudnn cudnn;
    bool ok = read_cudnn(&cudnn, instruction, err);
    bool fused = strcmp(custom_call_target(instruction), "__cudnn$convBiasActivationForward") == 0;
    bool is_graph = strcmp(custom_call_target(instruction), "__cudnn$convForwardGraph") == 0;
    struct conv conv = {
        .kind = kind,
        .first = operands->values[0],
        .second = operands->values[1],
        .x = kind == CONV_BACKWARD_INPUT ? shape : operands->values[0]->shape,
        .w = kind == CONV_BACKWARD_FILTER ? shape : operands->values[1]->shape,
        .y = kind == CONV_FORWARD          ? shape
             : kind == CONV_BACKWARD_INPUT ? operands->values[0]->shape
                                           : operands->values[1]->shape,
        .labels = *labels,
        .window = attr_window(instruction),
        .groups = attr_int(instruction, ATTR_FEATURE_GROUP_COUNT, 1),
    };
    ok = ok && conv_describe(&conv, instruction, err);
    struct epilogue epilogue = {
        .shape = shape,
        .products = conv_products,
        .context = &conv,
        .saturate = type_is_float(shape->type) && type_bits(shape->type) == 8,
    };
    struct graph graph = {.next_operand = 2};
    int used = 2;
    if (ok) {
        walk_strides(shape->rank, shape->dimensions, epilogue.sum_strides);
        epilogue_add(&epilogue, (struct epilogue_node){.op = EPILOGUE_SUM});
        if (cudnn.scale != 1 && !is_graph) {
            epilogue_add(&epilogue, (struct epilogue_node){
                                        .op = EPILOGUE_SCALE, .b = -1, .factor = cudnn.scale});
        }
    }
    if (ok && fused) {
        ok = add_bias_and_activation(&cudnn, &epilogue, &conv, instruction, operands, err);
        used = operands->count;
    }
    if (ok && is_graph) {
        const char *text = cudnn.graph == NULL ? "" : cudnn.graph;
        while (ok && *text != 0) {
            ok = read_graph_op(&graph, &epilogue, &conv, instruction, operands, &text, err);
        }
        used = graph.next_operand;
    }
    if (ok && used != operands->count) {
        custom_call_fail(instruction, err, "%d operands where %d are used", operands->count, used);
        ok = false;
    }
    free(cudnn.graph);
    return ok ? conv_finish(&conv, &epilogue, evaluation, instruction, operands, graph.amax,
                            graph.amax_count, err)
              : NULL;
}

struct literal *custom_conv_forward(struct evaluation *evaluation,
                                    const struct instruction *instruction,
                                    struct operands *operands, struct error *err)
{
    return evaluate(evaluation, instruction, operands, CONV_FORWARD, err);
}

struct literal *custom_conv_backward_input(struct evaluation *evaluation,
                                           const struct instruction *instruction,
                                           struct operands *operands, struct error *err)
{
    return evaluate(evaluation, instruction, operands, CONV_BACKWARD_INPUT, err);
}

struct literal *custom_conv_backward_filter(struct evaluation *evaluation,
                                            const struct instruction *instruction,
                                            struct operands *operands, struct error *err)
{
    return evaluate(evaluation, instruction, operands, CONV_BACKWARD_FILTER, err);
}
