/* Ops of MLIR text: names of results, the generic form, the way to the short forms, and what they
 * build ops with. */
#include "hlo/mlir/text/reader_internal.h"

/* --- the table of forms --- */

typedef bool form_function(struct reader *reader, struct op_builder *op);

#define FORM(token) FORM_##token,
enum form {
#include "hlo/mlir/text/forms.def"
};

#define FORM(token) [FORM_##token] = form_##token,
static form_function *const form_functions[] = {
#include "hlo/mlir/text/forms.def"
};

#define MLIR_OP(id, name, form, import, opcode) [MLIR_OP_##id] = FORM_##form,
static const unsigned char op_forms[MLIR_OP_COUNT] = {
    [MLIR_OP_UNKNOWN] = FORM_generic,
#include "hlo/mlir/ops.def"
};

/* --- the builder --- */

void builder_init(struct op_builder *op)
{
    op->name_count = op->named_results = 0;
    op->operand_count = op->region_count = op->successor_count = 0;
    op->operand_capacity = BUILDER_INLINE;
    op->operands = op->operands_inline;
    op->operand_places = op->places_inline;
    op->results = (struct reader_types){0, BUILDER_INLINE, op->results_inline};
    op->attrs = (struct mlir_dictionary){0};
    op->region_capacity = (int)(sizeof op->regions_inline / sizeof *op->regions_inline);
    op->regions = op->regions_inline;
    op->successor_capacity = 0;
    op->successors = NULL;
    op->location = NULL;
}

/* An array of the arena with room for one more element; *capacity grows with it. */
static void *arena_grow(struct reader *reader, void *data, int count, int *capacity, size_t size)
{
    if (count < *capacity) {
        return data;
    }
    *capacity = *capacity == 0 ? 4 : *capacity * 2;
    void *moved = arena_array(&reader->file->arena, (size_t)*capacity, size);
    if (count > 0) {
        memcpy(moved, data, (size_t)count * size);
    }
    return moved;
}

void reader_types_add(struct reader *reader, struct reader_types *list,
                      const struct mlir_type *type)
{
    list->types =
        arena_grow(reader, list->types, list->count, &list->capacity, sizeof *list->types);
    list->types[list->count++] = type;
}

void builder_add_operand(struct reader *reader, struct op_builder *op, struct mlir_value *value,
                         const char *at)
{
    int capacity = op->operand_capacity;
    op->operands = arena_grow(reader, op->operands, op->operand_count, &op->operand_capacity,
                              sizeof *op->operands);
    op->operand_places = arena_grow(reader, op->operand_places, op->operand_count, &capacity,
                                    sizeof *op->operand_places);
    op->operands[op->operand_count] = value;
    op->operand_places[op->operand_count++] = at;
}

void builder_add_region(struct reader *reader, struct op_builder *op, struct mlir_region *region)
{
    op->regions = arena_grow(reader, op->regions, op->region_count, &op->region_capacity,
                             sizeof *op->regions);
    op->regions[op->region_count++] = region;
}

bool reader_operand(struct reader *reader, struct op_builder *op)
{
    reader_skip(reader);
    const char *at = reader->at;
    struct mlir_value *value;
    if (!reader_use(reader, &value)) {
        return false;
    }
    builder_add_operand(reader, op, value, at);
    return true;
}

bool reader_operands(struct reader *reader, struct op_builder *op)
{
    if (reader_peek(reader) != '%') {
        return true;
    }
    for (;;) {
        if (!reader_operand(reader, op)) {
            return false;
        }
        const char *comma = reader->at;
        if (!reader_accept(reader, ',')) {
            return true;
        }
        if (reader_peek(reader) != '%') {
            reader->at = comma;
            return true;
        }
    }
}

bool reader_operands_in_parens(struct reader *reader, struct op_builder *op)
{
    return reader_expect(reader, '(') && reader_operands(reader, op) && reader_expect(reader, ')');
}

bool builder_operand_type(struct reader *reader, struct op_builder *op, int index,
                          const struct mlir_type *type)
{
    struct mlir_value *value = op->operands[index];
    if (value->type == type) {
        return true;
    }
    if (value->type == NULL) {
        value->type = type;
        return true;
    }
    return reader_fail(reader, op->operand_places[index],
                       "operand %d has another type than it is said to have", index);
}

bool builder_operand_types(struct reader *reader, struct op_builder *op, int first,
                           const struct reader_types *types)
{
    if (op->operand_count - first != types->count) {
        return reader_fail(reader, op->at, "%d operands, but %d types of operands",
                           op->operand_count - first, types->count);
    }
    for (int i = 0; i < types->count; i++) {
        if (!builder_operand_type(reader, op, first + i, types->types[i])) {
            return false;
        }
    }
    return true;
}

bool builder_operands_same_type(struct reader *reader, struct op_builder *op,
                                const struct mlir_type *type)
{
    for (int i = 0; i < op->operand_count; i++) {
        if (!builder_operand_type(reader, op, i, type)) {
            return false;
        }
    }
    return true;
}

void builder_result(struct reader *reader, struct op_builder *op, const struct mlir_type *type)
{
    reader_types_add(reader, &op->results, type);
}

void builder_results(struct reader *reader, struct op_builder *op, const struct reader_types *types)
{
    for (int i = 0; i < types->count; i++) {
        builder_result(reader, op, types->types[i]);
    }
}

void builder_set(struct reader *reader, struct op_builder *op, const char *key,
                 struct mlir_attr *attr)
{
    mlir_set(reader->file, &op->attrs, key, attr);
}

bool reader_functional_type(struct reader *reader, struct op_builder *op)
{
    struct reader_types inputs = {0};
    return reader_expect(reader, ':') && reader_function_type(reader, &inputs, &op->results) &&
           builder_operand_types(reader, op, 0, &inputs);
}

struct mlir_op *builder_finish(struct reader *reader, struct op_builder *op)
{
    struct mlir_op *made = mlir_op_new(reader->file, op->name.data, op->name.size,
                                       op->operand_count, op->results.count, op->region_count);
    if (op->operand_count > 0) {
        memcpy(made->operands, op->operands, (size_t)op->operand_count * sizeof *op->operands);
    }
    for (int i = 0; i < op->results.count; i++) {
        made->results[i].type = op->results.types[i];
    }
    for (int i = 0; i < op->region_count; i++) {
        made->regions[i].count = op->regions[i]->count;
        made->regions[i].blocks = op->regions[i]->blocks;
        for (int b = 0; b < made->regions[i].count; b++) {
            made->regions[i].blocks[b]->region = &made->regions[i];
        }
    }
    made->successor_count = op->successor_count;
    made->successors = op->successors;
    made->attrs = op->attrs;
    made->location = op->location;
    reader_note_uses(reader, made);
    return made;
}

/* --- the generic form --- */

static bool read_successors(struct reader *reader, struct op_builder *op)
{
    if (!reader_accept(reader, '[')) {
        return true;
    }
    do {
        op->successors = arena_grow(reader, op->successors, op->successor_count,
                                    &op->successor_capacity, sizeof *op->successors);
        if (!reader_block_use(reader, &op->successors[op->successor_count])) {
            return false;
        }
        op->successor_count++;
    } while (reader_accept(reader, ','));
    return reader_expect(reader, ']');
}

/* <{…}> */
static bool read_properties(struct reader *reader, struct op_builder *op)
{
    return !reader_accept(reader, '<') ||
           ((reader_peek(reader) == '{' || reader_expected(reader, "'{'")) &&
            reader_attr_dict(reader, &op->attrs) && reader_expect(reader, '>'));
}

static bool read_regions(struct reader *reader, struct op_builder *op)
{
    if (!reader_accept(reader, '(')) {
        return true;
    }
    do {
        if (!reader_region(reader, op, 0, NULL)) {
            return false;
        }
    } while (reader_accept(reader, ','));
    return reader_expect(reader, ')');
}

/* "name"(operands)[successors] <{properties}> (regions) {attributes} : type */
static bool read_generic(struct reader *reader, struct op_builder *op)
{
    bool escaped;
    if (!reader_string_span(reader, &op->name, &escaped)) {
        return false;
    }
    bool plain = op->name.size > 0 && !escaped;
    for (size_t i = 0; i < op->name.size; i++) {
        plain = plain && op->name.data[i] > ' ' && op->name.data[i] < 127;
    }
    if (!plain) {
        return reader_fail(reader, op->at, "not the name of an op");
    }
    op->opcode = mlir_opcode_of(op->name.data, op->name.size);
    return reader_operands_in_parens(reader, op) && read_successors(reader, op) &&
           read_properties(reader, op) && read_regions(reader, op) &&
           reader_attr_dict(reader, &op->attrs) && reader_functional_type(reader, op);
}

/* --- short forms --- */

static bool read_short(struct reader *reader, struct op_builder *op)
{
    op->name = reader_word(reader);
    if (op->name.size == 0) {
        return reader_expected(reader, "an op");
    }
    op->opcode = mlir_opcode_of(op->name.data, op->name.size);
    if (memchr(op->name.data, '.', op->name.size) == NULL) {
        const char *dialect = reader_default_dialect(reader);
        const char *full =
            arena_printf(&reader->file->arena, "%s.%.*s", dialect,
                         op->name.size > 100 ? 100 : (int)op->name.size, op->name.data);
        op->opcode = mlir_opcode_of(full, strlen(full));
        if (*dialect == '\0' || op->opcode == MLIR_OP_UNKNOWN) {
            return reader_fail(reader, op->at, "'%.*s' is no op here",
                               op->name.size > 100 ? 100 : (int)op->name.size, op->name.data);
        }
        op->name = (struct span){full, strlen(full)};
    }
    return form_functions[op_forms[op->opcode]](reader, op);
}

bool form_generic(struct reader *reader, struct op_builder *op)
{
    bool known = op->opcode != MLIR_OP_UNKNOWN;
    return reader_fail_code(reader, ERROR_UNIMPLEMENTED, op->at,
                            "the op '%.*s' %scan be read in its generic form only",
                            op->name.size > 100 ? 100 : (int)op->name.size, op->name.data,
                            known ? "" : "is not known, and ");
}

/* --- an op --- */

/* "%a, %b:2 =" */
static bool read_names(struct reader *reader, struct op_builder *op, int capacity)
{
    if (reader_peek(reader) != '%') {
        return true;
    }
    do {
        op->names = arena_grow(reader, op->names, op->name_count, &capacity, sizeof *op->names);
        struct builder_name *name = &op->names[op->name_count++];
        int64_t count = 1;
        reader_skip(reader);
        name->at = reader->at;
        if (!reader_name_span(reader, &name->name) ||
            (reader_accept(reader, ':') && !reader_int(reader, &count))) {
            return false;
        }
        if (count < 1 || count > INT32_MAX / 2 - op->named_results) {
            return reader_fail(reader, name->at, "a number of results that is none");
        }
        name->count = (int)count;
        op->named_results += name->count;
    } while (reader_accept(reader, ','));
    return reader_expect(reader, '=');
}

static bool define_results(struct reader *reader, const struct op_builder *builder,
                           struct mlir_op *op)
{
    if (builder->name_count > 0 && builder->named_results != op->result_count) {
        return reader_fail(reader, builder->names[0].at, "the op has %d results, but names for %d",
                           op->result_count, builder->named_results);
    }
    struct mlir_value *values = op->results;
    for (int i = 0; i < builder->name_count; i++) {
        const struct builder_name *name = &builder->names[i];
        if (!reader_define(reader, name->at, name->name, values, name->count)) {
            return false;
        }
        values += name->count;
    }
    return true;
}

bool reader_op(struct reader *reader)
{
    enum { NAMES = 4 };
    struct builder_name names[NAMES];
    struct op_builder op;
    builder_init(&op);
    op.names = names;
    if (!read_names(reader, &op, NAMES)) {
        return false;
    }
    char c = reader_peek(reader);
    op.at = reader->at;
    int line, column;
    reader_place(reader, op.at, &line, &column);
    if (!(c == '"' ? read_generic(reader, &op) : read_short(reader, &op)) ||
        !reader_location(reader, &op.location)) {
        return false;
    }
    struct mlir_op *made = builder_finish(reader, &op);
    made->line = line;
    made->column = column;
    reader_push_op(reader, made);
    return define_results(reader, &op, made) &&
           (made->opcode != MLIR_OP_MODULE || made->region_count == 0 ||
            reader_check_symbols(reader, &made->regions[0]));
}
