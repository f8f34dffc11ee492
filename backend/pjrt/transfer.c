/* Literals into requests and out of replies (pjrt.h). Everything in a reply is checked against what
 * the module promises: a plugin may have written anything. */
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "backend/parcel.h"
#include "backend/pjrt/pjrt.h"
#include "backend/pjrt/plugin.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"

/* --- arguments --- */

/* How many arrays are passed for an argument: its leaves but for tokens. */
static int count_leaves(const struct shape *shape)
{
    int count = shape->type != TYPE_TUPLE && shape->type != TYPE_TOKEN;
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        count += count_leaves(shape->elements[i]);
    }
    return count;
}

/* One array: type, dimensions, the order in which the entry wants them, data. */
static void write_array(const struct literal *literal, const struct layout *layout,
                        struct parcel_writer *writer)
{
    const struct shape *shape = literal->shape;
    parcel_put_int(writer, (int64_t)shape->type);
    parcel_put_int(writer, shape->rank);
    for (int i = 0; i < shape->rank; i++) {
        parcel_put_int(writer, shape->dimensions[i]);
    }
    for (int i = 0; i < shape->rank; i++) {
        parcel_put_int(writer, layout->minor_to_major[i]);
    }
    parcel_put_blob(writer, literal_data(literal), (size_t)shape_bytes(shape));
}

/* The leaves of an argument for a parameter of the given shape. */
static bool write_leaves(const struct literal *literal, const struct shape *parameter, int argument,
                         struct parcel_writer *writer, struct text *message)
{
    const struct shape *shape = literal->shape;
    if (shape_is_tuple(shape)) {
        for (int i = 0; i < shape->count; i++) {
            if (!write_leaves(literal->elements[i], parameter->elements[i], argument, writer,
                              message)) {
                return false;
            }
        }
        return true;
    }
    if (shape->type == TYPE_TOKEN) {
        return true;
    }
    if (!shape_is_array(shape) || pjrt_element_of(shape->type) == 0 || shape_is_dynamic(shape)) {
        text_printf(message, "argument %d: PJRT cannot pass %s", argument, shape_text(shape));
        return false;
    }
    write_array(literal, parameter->layout, writer);
    return true;
}

bool arguments_write(const struct backend_job *job, bool keep_layouts, struct parcel_writer *writer,
                     struct text *message)
{
    int leaves = 0;
    for (int i = 0; i < job->argument_count; i++) {
        leaves += count_leaves(job->arguments[i]->shape);
    }
    parcel_put_int(writer, job->set_count);
    parcel_put_int(writer, leaves);
    for (int i = 0; i < job->set_count * job->argument_count; i++) {
        int parameter = i % job->argument_count;
        const struct shape *shape = module_parameter_shape(job->module, parameter);
        if (!write_leaves(job->arguments[i], keep_layouts ? shape : shape_without_layout(shape),
                          parameter, writer, message)) {
            return false;
        }
    }
    return true;
}

/* --- outputs --- */

/* An output as the reply describes it. */
struct received {
    enum type type;
    int rank;
    int64_t dimensions[SHAPE_MAX_RANK];
    size_t size, blob;
};

static struct received read_received(struct parcel_reader *reader)
{
    struct received output = {
        .type = (enum type)parcel_get_range(reader, 0, TYPE_COUNT - 1),
        .rank = (int)parcel_get_range(reader, 0, SHAPE_MAX_RANK),
    };
    for (int i = 0; i < output.rank; i++) {
        output.dimensions[i] = parcel_get_range(reader, 0, INT64_MAX);
    }
    output.size = parcel_get_blob(reader, &output.blob);
    return output;
}

/* Is it of the shape, or smaller where the shape is dynamic? The bytes are then as many as its
 * dimensions say. */
static bool fits(const struct received *output, const struct shape *shape)
{
    if (output->type != shape->type || output->rank != shape->rank) {
        return false;
    }
    size_t bytes = (size_t)type_bytes(shape->type);
    for (int i = 0; i < shape->rank; i++) {
        bool dynamic = shape_dimension_is_dynamic(shape, i);
        if (output->dimensions[i] > shape->dimensions[i] ||
            (!dynamic && output->dimensions[i] != shape->dimensions[i])) {
            return false;
        }
        bytes *= (size_t)output->dimensions[i];
    }
    return output->size == bytes;
}

/* Spreads the rows of a dense array of the run-time sizes over one of the bounds. */
static void spread(const char *from, const struct received *output, const struct shape *shape,
                   int dimension, char *to)
{
    size_t in = (size_t)type_bytes(shape->type), out = in;
    for (int i = dimension + 1; i < shape->rank; i++) {
        in *= (size_t)output->dimensions[i];
        out *= (size_t)shape->dimensions[i];
    }
    for (int64_t i = 0; i < output->dimensions[dimension]; i++) {
        if (dimension + 1 == shape->rank) {
            memcpy(to, from, in);
        } else {
            spread(from, output, shape, dimension + 1, to);
        }
        from += in;
        to += out;
    }
}

static struct literal *read_static(struct parcel_reader *reader, const struct received *output,
                                   const struct shape *shape, struct error *err)
{
    struct literal *literal = literal_create(shape, err);
    if (literal && !parcel_copy_blob(reader, output->blob, literal_data(literal), output->size)) {
        literal_release(literal);
        error_set(err, ERROR_INTERNAL, "the reply is cut short");
        return NULL;
    }
    return literal;
}

static struct literal *read_dynamic(struct parcel_reader *reader, const struct received *output,
                                    const struct shape *shape, struct error *err)
{
    struct literal *literal = literal_zero(shape, err);
    char *dense = literal ? malloc(output->size + 1) : NULL;
    if (!dense || !parcel_copy_blob(reader, output->blob, dense, output->size)) {
        free(dense);
        literal_release(literal);
        error_set(err, ERROR_RESOURCE_EXHAUSTED, "no memory for an output of %s",
                  shape_text(shape));
        return NULL;
    }
    if (!literal->dynamic_sizes) {
        literal->dynamic_sizes = memory_alloc((size_t)shape->rank * sizeof(int64_t));
    }
    memcpy(literal->dynamic_sizes, output->dimensions, (size_t)shape->rank * sizeof(int64_t));
    if (output->size > 0) {
        spread(dense, output, shape, 0, literal_data(literal));
    }
    free(dense);
    return literal;
}

/* One element per byte comes with any bits above its own: they are cleared, or copies of the sign.
 */
static void settle_small(struct literal *literal)
{
    const struct shape *shape = literal->shape;
    int unused = 8 - type_bits(shape->type);
    if (type_bytes(shape->type) != 1 || unused == 0 || shape->type == TYPE_PRED) {
        return;
    }
    uint8_t *data = literal_data(literal);
    int64_t count = shape_elements(shape);
    for (int64_t i = 0; i < count; i++) {
        uint8_t top = (uint8_t)(data[i] << unused);
        data[i] = type_kind(shape->type) == KIND_SIGNED ? (uint8_t)((int8_t)top >> unused)
                                                        : (uint8_t)(top >> unused);
    }
}

static struct literal *read_leaf(void *context, const struct shape *shape, struct error *err)
{
    struct parcel_reader *reader = context;
    struct received output = read_received(reader);
    if (reader->failed) {
        error_set(err, ERROR_INTERNAL, "the reply is cut short");
        return NULL;
    }
    if (shape->type == TYPE_TOKEN && output.type == TYPE_TOKEN) {
        return literal_create(shape, err);
    }
    if (!shape_is_array(shape)) {
        error_set(err, ERROR_UNIMPLEMENTED, "PJRT cannot give an output of %s", shape_text(shape));
        return NULL;
    }
    if (!fits(&output, shape)) {
        error_set(err, ERROR_INTERNAL, "an output should be %s; the plugin gave %s of %zu bytes",
                  shape_text(shape),
                  shape_text(shape_array(output.type == TYPE_INVALID ? TYPE_U8 : output.type,
                                         type_is_array(output.type) ? output.rank : 0,
                                         output.dimensions)),
                  output.size);
        return NULL;
    }
    struct literal *literal = shape_is_dynamic(shape) ? read_dynamic(reader, &output, shape, err)
                                                      : read_static(reader, &output, shape, err);
    if (literal) {
        settle_small(literal);
    }
    return literal;
}

bool outputs_read(const struct backend_job *job, struct parcel_reader *reader,
                  struct run_result *result, struct error *err)
{
    const struct shape *shape =
        job->pieces ? job->pieces->result_shape : module_result_shape(job->module);
    int64_t count = parcel_get_int(reader);
    if (count != shape_leaves(shape)) {
        return error_set(err, ERROR_INTERNAL, "the plugin gave %lld outputs for %s",
                         (long long)count, shape_text(shape));
    }
    for (int d = 0; d < job->device_count; d++) {
        result->outputs[d] = literal_build(shape, read_leaf, reader, err);
        if (!result->outputs[d]) {
            return false;
        }
    }
    return true;
}
