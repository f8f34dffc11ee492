/* Faults in outputs: right values at wrong places. */
#include <stdlib.h>
#include <string.h>

#include "backend/output_faults_internal.h"
#include "hlo/base/arena.h"

/* Two different numbers below count, the smaller one first. */
static void draw_two(struct rng *rng, int64_t count, int64_t *a, int64_t *b)
{
    *a = output_draw(rng, count);
    *b = output_draw(rng, count - 1);
    *b += *b >= *a;
    if (*b < *a) {
        int64_t other = *a;
        *a = *b;
        *b = other;
    }
}

static void exchange(struct output_place *place, int64_t a, int64_t b, int64_t count)
{
    char *data = literal_data(place->array);
    size_t bytes = (size_t)count * place->element_bytes;
    char *x = data + (size_t)a * place->element_bytes, *y = data + (size_t)b * place->element_bytes;
    for (size_t i = 0; i < bytes; i++) {
        char other = x[i];
        x[i] = y[i];
        y[i] = other;
    }
}

bool fault_elements_exchanged(struct output_place *place)
{
    int64_t a, b;
    draw_two(&place->rng, place->elements, &a, &b);
    exchange(place, a, b, 1);
    text_append(place->what, "elements ");
    output_say_element(place, a);
    text_append(place->what, " and ");
    output_say_element(place, b);
    text_append(place->what, " are exchanged");
    return true;
}

bool fault_rows_exchanged(struct output_place *place)
{
    int64_t outer, rows, inner, a, b;
    int dimension = output_draw_dimension(place);
    output_around(place, dimension, &outer, &rows, &inner);
    draw_two(&place->rng, rows, &a, &b);
    for (int64_t i = 0; i < outer; i++) {
        exchange(place, (i * rows + a) * inner, (i * rows + b) * inner, inner);
    }
    text_printf(place->what, "rows %lld and %lld along dimension %d are exchanged", (long long)a,
                (long long)b, dimension);
    return true;
}

bool fault_buffer_shifted(struct output_place *place)
{
    bool up = output_draw(&place->rng, 2) != 0;
    output_move(place, up ? 0 : 1, up ? 1 : 0, place->elements - 1);
    text_printf(place->what, "each element has the value of the one %s it",
                up ? "before" : "behind");
    return true;
}

bool fault_rows_shifted(struct output_place *place)
{
    int64_t outer, rows, inner;
    int dimension = output_draw_dimension(place);
    bool up = output_draw(&place->rng, 2) != 0;
    output_around(place, dimension, &outer, &rows, &inner);
    for (int64_t i = 0; i < outer; i++) {
        int64_t first = i * rows * inner;
        output_move(place, first + (up ? 0 : inner), first + (up ? inner : 0), (rows - 1) * inner);
    }
    text_printf(place->what, "each row along dimension %d is the one %s it", dimension,
                up ? "before" : "behind");
    return true;
}

bool fault_reversed(struct output_place *place)
{
    int64_t outer, rows, inner;
    int dimension = output_draw_dimension(place);
    output_around(place, dimension, &outer, &rows, &inner);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t row = 0; row < rows / 2; row++) {
            exchange(place, (i * rows + row) * inner, (i * rows + rows - 1 - row) * inner, inner);
        }
    }
    text_printf(place->what, "dimension %d is written from its end", dimension);
    return true;
}

/* What belongs at [a, b] is where a buffer of the other order has it. */
bool fault_other_layout(struct output_place *place)
{
    int64_t outer, rows, inner, columns, deep;
    int first = output_draw_dimension(place), second;
    do {
        second = output_draw_dimension(place);
    } while (second == first);
    if (second < first) {
        int other = first;
        first = second;
        second = other;
    }
    output_around(place, first, &outer, &rows, &inner);
    output_around(place, second, &outer, &columns, &deep);
    int64_t between = inner / (columns * deep);
    outer = place->elements / (rows * inner);
    size_t bytes = place->element_bytes;
    char *data = literal_data(place->array);
    char *before = memory_alloc((size_t)place->elements * bytes);
    memcpy(before, data, (size_t)place->elements * bytes);
    for (int64_t i = 0; i < place->elements; i++) {
        int64_t d = i % deep, c = i / deep % columns, m = i / deep / columns % between;
        int64_t r = i / inner % rows, o = i / inner / rows;
        int64_t to = (((o * columns + c) * between + m) * rows + r) * deep + d;
        memcpy(data + (size_t)to * bytes, before + (size_t)i * bytes, bytes);
    }
    free(before);
    text_printf(place->what, "dimensions %d and %d are written in each other's order", first,
                second);
    return true;
}

/* --- whole results --- */

static void exchange_literals(struct literal **a, struct literal **b)
{
    struct literal *other = *a;
    *a = *b;
    *b = other;
}

bool fault_results_exchanged(struct output_faults *outputs)
{
    struct literal *result = outputs->outputs[output_draw(&outputs->rng, outputs->device_count)];
    int leaves = shape_leaves(result->shape);
    int first = (int)output_draw(&outputs->rng, leaves);
    int step = (int)output_draw(&outputs->rng, leaves);
    for (int i = 0; i < leaves * leaves; i++) {
        int a = (first + i / leaves) % leaves, b = (a + step + i) % leaves;
        struct literal *x = literal_leaf(result, a), *y = literal_leaf(result, b);
        if (a == b || !shape_is_array(x->shape) || shape_elements(x->shape) == 0 ||
            !shape_compatible(x->shape, y->shape)) {
            continue;
        }
        struct buffer *buffer = x->buffer;
        x->buffer = y->buffer;
        y->buffer = buffer;
        text_printf(outputs->what, "outputs %d and %d are exchanged", a, b);
        return true;
    }
    return false;
}

bool fault_devices_exchanged(struct output_faults *outputs)
{
    int64_t a, b;
    draw_two(&outputs->rng, outputs->device_count, &a, &b);
    exchange_literals(&outputs->outputs[a], &outputs->outputs[b]);
    text_printf(outputs->what, "the results of devices %lld and %lld are exchanged", (long long)a,
                (long long)b);
    return true;
}

bool fault_device_repeated(struct output_faults *outputs)
{
    int64_t a, b;
    draw_two(&outputs->rng, outputs->device_count, &a, &b);
    literal_release(outputs->outputs[b]);
    outputs->outputs[b] = literal_retain(outputs->outputs[a]);
    text_printf(outputs->what, "device %lld gives the result of device %lld", (long long)b,
                (long long)a);
    return true;
}
