/* infeed and outfeed: what the host gives and takes, through the hooks of the options.
 * Source: HLO operation semantics, Infeed, Outfeed. */
#include "hlo/base/error.h"
#include "interp/eval.h"

/* The number of the device that evaluates. */
static int device_of(const struct evaluation *evaluation)
{
    int partitions = evaluation->options.partition_count > 0
                         ? evaluation->options.partition_count
                         : (int)evaluation->module->config.partition_count;
    return evaluation->replica * (partitions > 0 ? partitions : 1) + evaluation->partition;
}

/* (data, token) */
struct literal *eval_infeed(struct evaluation *evaluation, const struct instruction *instruction,
                            struct operands *operands, struct error *err)
{
    (void)operands;
    const struct interp_options *options = &evaluation->options;
    const struct shape *shape = instruction->shape->elements[0];
    if (options->infeed == NULL) {
        error_set(err, ERROR_UNIMPLEMENTED, "nothing feeds the module");
        return NULL;
    }
    struct literal *data = options->infeed(options->context, device_of(evaluation), shape, err);
    if (data == NULL) {
        return NULL;
    }
    struct literal *elements[2] = {data};
    if (!shape_compatible(shape_static(data->shape), shape_static(shape))) {
        error_set(err, ERROR_INVALID_ARGUMENT, "the infeed gives %s, but %s is wanted",
                  shape_text(data->shape), shape_text(shape));
    } else {
        elements[1] = literal_create(shape_token(), err);
    }
    if (elements[1] == NULL) {
        literal_release(data);
        return NULL;
    }
    return literal_tuple_take(instruction->shape, elements);
}

struct literal *eval_outfeed(struct evaluation *evaluation, const struct instruction *instruction,
                             struct operands *operands, struct error *err)
{
    (void)instruction;
    const struct interp_options *options = &evaluation->options;
    if (options->outfeed != NULL &&
        !options->outfeed(options->context, device_of(evaluation), operands->values[0], err)) {
        return NULL;
    }
    return literal_create(shape_token(), err);
}
