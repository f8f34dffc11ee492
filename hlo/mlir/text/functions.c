/* The short forms of modules and functions. */
#include "hlo/mlir/text/reader_internal.h"

/* --- builtin.module --- */

/* module @name attributes {…} {…} */
bool form_module(struct reader *reader, struct op_builder *op)
{
    if (reader_peek(reader) == '@') {
        struct bytes name;
        if (!reader_symbol_name(reader, &name)) {
            return false;
        }
        builder_set(reader, op, "sym_name", mlir_attr_string(reader->file, name.data, name.size));
    }
    if (!reader_attributes_keyword(reader, &op->attrs) || !reader_region(reader, op, 0, NULL)) {
        return false;
    }
    if (op->regions[0]->count == 0) {
        mlir_block_add(reader->file, op->regions[0], 0);
    }
    return true;
}

/* --- func.func --- */

/* The arguments or the results of a function: types, attributes, names. */
struct parameters {
    struct reader_types types;
    int count, capacity;
    struct parameter {
        struct reader_argument argument;
        struct mlir_dictionary attrs;
    } * list;
    bool any_attrs, any_names;
};

static bool read_parameter(struct reader *reader, struct parameters *parameters, bool may_be_named)
{
    if (parameters->count == parameters->capacity) {
        int capacity = parameters->capacity == 0 ? 8 : 2 * parameters->capacity;
        struct parameter *list = arena_array(&reader->file->arena, (size_t)capacity, sizeof *list);
        if (parameters->count > 0) {
            memcpy(list, parameters->list, (size_t)parameters->count * sizeof *list);
        }
        parameters->list = list;
        parameters->capacity = capacity;
    }
    struct parameter *parameter = &parameters->list[parameters->count];
    struct reader_argument *argument = &parameter->argument;
    bool named = may_be_named && reader_peek(reader) == '%';
    if (parameters->count > 0 && named != parameters->any_names) {
        return reader_expected(reader, named ? "a type" : "an argument ('%…')");
    }
    parameters->any_names = named;
    if (named && (!reader_new_name(reader, argument) || !reader_expect(reader, ':'))) {
        return false;
    }
    if (!reader_type(reader, &argument->type) || !reader_attr_dict(reader, &parameter->attrs) ||
        !reader_location(reader, &argument->location)) {
        return false;
    }
    parameters->count++;
    parameters->any_attrs |= parameter->attrs.count > 0;
    reader_types_add(reader, &parameters->types, argument->type);
    return true;
}

static bool read_parameters(struct reader *reader, struct parameters *parameters, bool may_be_named)
{
    if (!reader_expect(reader, '(') || reader_accept(reader, ')')) {
        return reader->err == NULL || reader->err->code == ERROR_NONE;
    }
    do {
        if (!read_parameter(reader, parameters, may_be_named)) {
            return false;
        }
    } while (reader_accept(reader, ','));
    return reader_expect(reader, ')');
}

static bool read_results(struct reader *reader, struct parameters *results)
{
    if (!reader_accept_text(reader, "->")) {
        return true;
    }
    if (reader_peek(reader) == '(') {
        return read_parameters(reader, results, false);
    }
    const struct mlir_type *type;
    if (!reader_type(reader, &type)) {
        return false;
    }
    reader_types_add(reader, &results->types, type);
    return true;
}

/* [{…}, …] of the parameters, if any has attributes. */
static void set_attrs(struct reader *reader, struct op_builder *op, const char *key,
                      const struct parameters *parameters)
{
    if (!parameters->any_attrs) {
        return;
    }
    struct mlir_attr *array = mlir_attr_new(reader->file, MLIR_ATTR_ARRAY);
    array->array.count = parameters->count;
    array->array.elements =
        arena_array(&reader->file->arena, (size_t)parameters->count, sizeof *array->array.elements);
    for (int i = 0; i < parameters->count; i++) {
        struct mlir_attr *attrs = mlir_attr_new(reader->file, MLIR_ATTR_DICTIONARY);
        attrs->dictionary = parameters->list[i].attrs;
        array->array.elements[i] = attrs;
    }
    builder_set(reader, op, key, array);
}

static const struct mlir_type *function_type(struct reader *reader,
                                             const struct parameters *arguments,
                                             const struct parameters *results)
{
    struct reader_types all = {0};
    for (int i = 0; i < arguments->types.count; i++) {
        reader_types_add(reader, &all, arguments->types.types[i]);
    }
    for (int i = 0; i < results->types.count; i++) {
        reader_types_add(reader, &all, results->types.types[i]);
    }
    return mlir_function(reader->file, arguments->types.count, results->types.count, all.types);
}

static bool read_function_body(struct reader *reader, struct op_builder *op,
                               const struct parameters *arguments)
{
    struct mlir_region *none = arena_alloc(&reader->file->arena, sizeof *none);
    if (reader_peek(reader) != '{') {
        builder_add_region(reader, op, none);
        return true;
    }
    if (arguments->count > 0 && !arguments->any_names) {
        return reader_fail(reader, reader->at, "a function with a body needs named arguments");
    }
    struct reader_argument *list =
        arena_array(&reader->file->arena, (size_t)arguments->count, sizeof *list);
    for (int i = 0; i < arguments->count; i++) {
        list[i] = arguments->list[i].argument;
    }
    const char *at = reader->at;
    return reader_region(reader, op, arguments->count, list) &&
           (op->regions[0]->count > 0 || reader_fail(reader, at, "an empty function body"));
}

/* func.func private @name(%a: type {…}) -> (type {…}) attributes {…} {…} */
bool form_func(struct reader *reader, struct op_builder *op)
{
    static const char *const visibilities[] = {"private", "public", "nested"};
    for (size_t i = 0; i < sizeof visibilities / sizeof *visibilities; i++) {
        if (reader_accept_word(reader, visibilities[i])) {
            builder_set(reader, op, "sym_visibility",
                        mlir_attr_string(reader->file, visibilities[i], strlen(visibilities[i])));
            break;
        }
    }
    struct bytes name;
    struct parameters arguments = {0}, results = {0};
    if (!reader_symbol_name(reader, &name) || !read_parameters(reader, &arguments, true) ||
        !read_results(reader, &results)) {
        return false;
    }
    const char *at = reader->at;
    if (!reader_attributes_keyword(reader, &op->attrs)) {
        return false;
    }
    if (mlir_get(&op->attrs, "sym_name") != NULL || mlir_get(&op->attrs, "function_type") != NULL) {
        return reader_fail(reader, at, "the name and the type of a function stand in front of it");
    }
    builder_set(reader, op, "sym_name", mlir_attr_string(reader->file, name.data, name.size));
    builder_set(reader, op, "function_type",
                reader_attr_type(reader, function_type(reader, &arguments, &results)));
    set_attrs(reader, op, "arg_attrs", &arguments);
    set_attrs(reader, op, "res_attrs", &results);
    return read_function_body(reader, op, &arguments);
}
