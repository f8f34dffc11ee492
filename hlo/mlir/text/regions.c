/* Regions and blocks of MLIR text. */
#include "hlo/mlir/text/reader_internal.h"

bool reader_new_name(struct reader *reader, struct reader_argument *argument)
{
    *argument = (struct reader_argument){0};
    reader_skip(reader);
    argument->at = reader->at;
    return reader_name_span(reader, &argument->name);
}

static bool set_arguments(struct reader *reader, struct mlir_block *block, int count,
                          const struct reader_argument *arguments)
{
    block->argument_count = count;
    block->arguments = arena_array(&reader->file->arena, (size_t)count, sizeof *block->arguments);
    for (int i = 0; i < count; i++) {
        struct mlir_value *value = &block->arguments[i];
        *value = (struct mlir_value){.type = arguments[i].type, .block = block, .index = i};
        if (!reader_define(reader, arguments[i].at, arguments[i].name, value, 1)) {
            return false;
        }
    }
    return true;
}

/* "(%a: type, …)" of a block; maybe nothing. */
static bool read_arguments(struct reader *reader, struct mlir_block *block)
{
    if (!reader_accept(reader, '(') || reader_accept(reader, ')')) {
        return true;
    }
    struct reader_argument few[8], *arguments = few;
    int count = 0, capacity = (int)(sizeof few / sizeof *few);
    do {
        if (count == capacity) {
            struct reader_argument *more =
                arena_array(&reader->file->arena, 2 * (size_t)capacity, sizeof *more);
            memcpy(more, arguments, (size_t)count * sizeof *more);
            arguments = more;
            capacity *= 2;
        }
        struct reader_argument *argument = &arguments[count++];
        if (!reader_new_name(reader, argument) || !reader_expect(reader, ':') ||
            !reader_type(reader, &argument->type) ||
            !reader_location(reader, &argument->location)) {
            return false;
        }
    } while (reader_accept(reader, ','));
    return reader_expect(reader, ')') && set_arguments(reader, block, count, arguments);
}

bool reader_ops(struct reader *reader)
{
    for (;;) {
        char c = reader_peek(reader);
        if (c == '}' || c == '^' || reader->at >= reader->end) {
            return true;
        }
        if (!reader_op(reader)) {
            return false;
        }
    }
}

/* "^label(arguments): ops", as often as there is one. */
static bool read_labelled_blocks(struct reader *reader)
{
    while (reader_peek(reader) == '^') {
        struct span label;
        const char *at;
        struct mlir_block *block;
        if (!reader_block_name(reader, &label, &at) ||
            !reader_block_begin(reader, label, at, &block) || !read_arguments(reader, block) ||
            !reader_expect(reader, ':') || !reader_ops(reader)) {
            return false;
        }
        reader_block_end(reader);
    }
    return true;
}

static bool read_body(struct reader *reader, int argument_count,
                      const struct reader_argument *arguments)
{
    char c = reader_peek(reader);
    if (argument_count > 0 || (c != '^' && c != '}')) {
        struct mlir_block *block = reader_block_begin_unnamed(reader);
        if (!set_arguments(reader, block, argument_count, arguments) || !reader_ops(reader)) {
            return false;
        }
        reader_block_end(reader);
    }
    return read_labelled_blocks(reader) && reader_expect(reader, '}');
}

bool reader_region(struct reader *reader, struct op_builder *op, int argument_count,
                   const struct reader_argument *arguments)
{
    /* Who holds a graph: modules; of ops that are not known nothing is held against them. */
    bool graph = op->opcode == MLIR_OP_MODULE || op->opcode == MLIR_OP_UNKNOWN;
    bool isolated = op->opcode == MLIR_OP_MODULE || op->opcode == MLIR_OP_FUNC;
    const char *dialect = op->opcode == MLIR_OP_MODULE ? "builtin"
                          : op->opcode == MLIR_OP_FUNC ? "func"
                                                       : "";
    if (!reader_expect(reader, '{') || !reader_enter(reader)) {
        return false;
    }
    struct mlir_region *region = arena_alloc(&reader->file->arena, sizeof *region);
    reader_scope_enter(reader, isolated, graph, dialect);
    if (!read_body(reader, argument_count, arguments) || !reader_scope_leave(reader, region)) {
        return false;
    }
    reader_leave(reader);
    builder_add_region(reader, op, region);
    return true;
}

bool builder_region_of_op(struct reader *reader, struct op_builder *op, const char *at,
                          struct span name, int argument_count,
                          const struct mlir_type *const *argument_types, int result_count,
                          const struct mlir_type *const *result_types, const char *return_name)
{
    struct mlir_file *file = reader->file;
    if (mlir_opcode_of(name.data, name.size) == MLIR_OP_UNKNOWN) {
        return reader_fail(reader, at, "'%.*s' is no op that is known",
                           name.size > 100 ? 100 : (int)name.size, name.data);
    }
    struct mlir_region *region = arena_alloc(&file->arena, sizeof *region);
    struct mlir_block *block = mlir_block_add(file, region, argument_count);
    struct mlir_op *applied =
        mlir_op_new(file, name.data, name.size, argument_count, result_count, 0);
    struct mlir_op *end = mlir_op_new(file, return_name, strlen(return_name), result_count, 0, 0);
    for (int i = 0; i < argument_count; i++) {
        block->arguments[i].type = argument_types[i];
        applied->operands[i] = &block->arguments[i];
    }
    for (int i = 0; i < result_count; i++) {
        applied->results[i].type = result_types[i];
        end->operands[i] = &applied->results[i];
    }
    reader_place(reader, at, &applied->line, &applied->column);
    end->line = applied->line;
    end->column = applied->column;
    mlir_block_set_ops(file, block, 2, (struct mlir_op *[]){applied, end});
    builder_add_region(reader, op, region);
    return true;
}

bool reader_check_symbols(struct reader *reader, const struct mlir_region *region)
{
    struct map names;
    map_init(&names);
    bool fine = true;
    for (int b = 0; b < region->count && fine; b++) {
        const struct mlir_block *block = region->blocks[b];
        for (int i = 0; i < block->count && fine; i++) {
            struct mlir_op *op = block->ops[i];
            const struct mlir_attr *name = mlir_op_attr(op, "sym_name");
            if (name != NULL && name->kind == MLIR_ATTR_STRING &&
                map_put(&names, name->string.data, name->string.size, op) != NULL) {
                fine = error_at(reader->err, mlir_where(reader->file, op),
                                "symbol '@%s' is defined twice", name->string.data);
            }
        }
    }
    map_finish(&names);
    return fine;
}
