/* Origins: where the arrays of a value come from. Source: xla/hlo/ir/hlo_original_value.cc. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/proto/read.h"

enum { MAX_GAP = 256 }; /* leaves that may be left out in a row */

static void print_leaf(const struct origin_element *element, struct text *text)
{
    text_char(text, '{');
    if (element->name != NULL) {
        text_printf(text, "\"%s\"", element->name);
    }
    for (int i = 0; i < element->array_index.count; i++) {
        text_append(text, i == 0 ? " {" : ",");
        text_int(text, element->array_index.values[i]);
    }
    text_append(text, element->array_index.count > 0 ? "}}" : "}");
}

/* The elements are the leaves of one tree in order; all agree in the first `depth` indices. */
static bool print_tree(const struct origin_element *elements, int count, int depth,
                       struct text *text, struct error *err)
{
    if (count == 1 && elements->index.count == depth) {
        print_leaf(elements, text);
        return true;
    }
    text_char(text, '(');
    int64_t child = 0;
    for (int i = 0; i < count; child++) {
        if (child > 0) {
            text_append(text, ", ");
        }
        if (elements[i].index.count <= depth || elements[i].index.values[depth] < child ||
            elements[i].index.values[depth] > child + MAX_GAP) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "the elements are no tree");
        }
        if (elements[i].index.values[depth] > child) {
            text_append(text, "{}");
            continue;
        }
        int next = i + 1;
        while (next < count && elements[next].index.count > depth &&
               elements[next].index.values[depth] == child) {
            next++;
        }
        if (!print_tree(elements + i, next - i, depth + 1, text, err)) {
            return false;
        }
        i = next;
    }
    text_char(text, ')');
    return true;
}

static bool print_origin(const struct origin *origin, struct text *text, struct error *err)
{
    if (origin->synthetic_call) {
        text_append(text, "[synthetic_call]");
        return true;
    }
    return origin->count == 0 || print_tree(origin->elements, origin->count, 0, text, err);
}

bool read_origin(struct arena *arena, const Referee__OriginalValueProto *proto, struct attr *attr,
                 struct error *err)
{
    struct origin *origin = arena_alloc(arena, sizeof *origin);
    struct origin_element *elements = arena_array(arena, proto->n_elements, sizeof *elements);
    for (size_t i = 0; i < proto->n_elements; i++) {
        const Referee__OriginalValueElementProto *from = proto->elements[i];
        if (from->n_shape_index > SHAPE_MAX_NESTING) {
            return error_set(err, ERROR_INVALID_ARGUMENT, "an element is nested deeper than %d",
                             SHAPE_MAX_NESTING);
        }
        elements[i].index = ints_from_int64(arena, from->n_shape_index, from->shape_index);
        if (from->original_array != NULL) {
            const char *name = from->original_array->instruction_name;
            elements[i].name = name != NULL ? arena_string(arena, name, strlen(name)) : "";
            elements[i].array_index = ints_from_int64(arena, from->original_array->n_shape_index,
                                                      from->original_array->shape_index);
        }
    }
    origin->synthetic_call = proto->is_synthetic_call != 0;
    origin->count = origin->synthetic_call ? 0 : (int)proto->n_elements;
    origin->elements = elements;
    struct text text;
    text_init(&text);
    bool ok = print_origin(origin, &text, err);
    origin->text = (struct bytes){arena_string(arena, text.data, text.size), text.size};
    text_finish(&text);
    attr->origin = origin;
    return ok;
}
