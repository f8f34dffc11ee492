/* What the short forms of ops share. */
#include "hlo/mlir/text/form.h"

#include <stdlib.h>

bool form_operands(struct reader *reader, struct op_builder *op, int count)
{
    for (int i = 0; i < count; i++) {
        if ((i > 0 && !reader_expect(reader, ',')) || !reader_operand(reader, op)) {
            return false;
        }
    }
    return true;
}

bool form_key(struct reader *reader, const char *word)
{
    return reader_expect_word(reader, word) && reader_expect(reader, '=');
}

bool form_comma_key(struct reader *reader, const char *word)
{
    return reader_expect(reader, ',') && form_key(reader, word);
}

bool form_int(struct reader *reader, struct op_builder *op, const char *key, int width)
{
    int64_t value;
    reader_skip(reader);
    const char *at = reader->at;
    if (!reader_int(reader, &value)) {
        return false;
    }
    if (width == 32 && (value < INT32_MIN || value > INT32_MAX)) {
        return reader_fail(reader, at, "the number does not fit into 32 bits");
    }
    const struct mlir_type *type = mlir_integer(reader->file, width, MLIR_SIGNLESS);
    builder_set(reader, op, key, mlir_attr_int(reader->file, value, type));
    return true;
}

bool form_ints(struct reader *reader, struct op_builder *op, const char *key)
{
    struct mlir_attr *attr;
    if (reader_peek(reader) == '#') {
        if (!reader_attr(reader, &attr)) {
            return false;
        }
    } else {
        attr = mlir_attr_new(reader->file, MLIR_ATTR_INTS);
        attr->type = mlir_integer(reader->file, 64, MLIR_SIGNLESS);
        if (!reader_int_list(reader, '[', ']', &attr->ints)) {
            return false;
        }
    }
    builder_set(reader, op, key, attr);
    return true;
}

bool form_enum_value(struct reader *reader, const char *mnemonic, const char *words,
                     struct mlir_attr **attr)
{
    if (reader_peek(reader) == '#') {
        return reader_attr(reader, attr);
    }
    struct span word;
    const char *at = reader->at;
    if (!reader_expect_any_word(reader, &word, mnemonic)) {
        return false;
    }
    for (const char *known = words; *known != '\0'; known += strlen(known) + 1) {
        if (span_is(word, known)) {
            *attr = mlir_attr_word(reader->file, "stablehlo", mnemonic, word.data, word.size);
            return true;
        }
    }
    return reader_fail(reader, at, "'%.*s' is no %s", (int)word.size, word.data, mnemonic);
}

bool form_enum(struct reader *reader, struct op_builder *op, const char *mnemonic,
               const char *words, const char *key)
{
    struct mlir_attr *attr;
    if (!form_enum_value(reader, mnemonic, words, &attr)) {
        return false;
    }
    builder_set(reader, op, key, attr);
    return true;
}

bool form_string(struct reader *reader, struct op_builder *op, const char *key)
{
    struct bytes string;
    if (!reader_string(reader, &string)) {
        return false;
    }
    struct mlir_attr *attr = mlir_attr_new(reader->file, MLIR_ATTR_STRING);
    attr->string = string;
    builder_set(reader, op, key, attr);
    return true;
}

bool form_functional_end(struct reader *reader, struct op_builder *op)
{
    return reader_attr_dict(reader, &op->attrs) && reader_functional_type(reader, op);
}

bool form_colon(struct reader *reader, struct op_builder *op, const char **functional)
{
    if (!reader_attr_dict(reader, &op->attrs)) {
        return false;
    }
    reader_skip(reader);
    const char *colon = reader->at;
    if (!reader_expect(reader, ':')) {
        return false;
    }
    *functional = reader_peek(reader) == '(' ? reader->at : NULL;
    if (*functional == NULL) {
        return true;
    }
    reader->at = colon;
    return reader_functional_type(reader, op);
}

bool form_same_type_end(struct reader *reader, struct op_builder *op)
{
    const char *functional;
    if (!form_colon(reader, op, &functional)) {
        return false;
    }
    if (functional != NULL) {
        return op->results.count == 1 ||
               reader_fail(reader, functional, "'%.*s' has one result, not %d", (int)op->name.size,
                           op->name.data, op->results.count);
    }
    const struct mlir_type *type;
    if (!reader_type(reader, &type) || !builder_operands_same_type(reader, op, type)) {
        return false;
    }
    builder_result(reader, op, type);
    return true;
}

bool form_type_end(struct reader *reader, struct op_builder *op, const struct mlir_type **type)
{
    return reader_attr_dict(reader, &op->attrs) && reader_expect(reader, ':') &&
           reader_type(reader, type);
}

struct reader_argument *form_argument_add(struct reader *reader, struct argument_list *list)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity == 0 ? 4 : 2 * list->capacity;
        struct reader_argument *arguments =
            arena_array(&reader->file->arena, (size_t)capacity, sizeof *arguments);
        if (list->count > 0) {
            memcpy(arguments, list->arguments, (size_t)list->count * sizeof *arguments);
        }
        list->arguments = arguments;
        list->capacity = capacity;
    }
    struct reader_argument *argument = &list->arguments[list->count++];
    memset(argument, 0, sizeof *argument);
    return argument;
}

bool form_argument(struct reader *reader, struct reader_argument *argument)
{
    return reader_new_name(reader, argument) && reader_expect(reader, ':') &&
           reader_type(reader, &argument->type) && reader_location(reader, &argument->location);
}

struct mlir_attr *form_text(struct reader *reader, const char *head, struct span body,
                            const char *tail)
{
    size_t head_size = strlen(head), tail_size = strlen(tail);
    size_t size = head_size + body.size + tail_size;
    char *text = memory_alloc(size + 1);
    memcpy(text, head, head_size);
    memcpy(text + head_size, body.data, body.size);
    memcpy(text + head_size + body.size, tail, tail_size + 1);
    struct mlir_attr *attr = reader_text_attr(reader, text, size);
    free(text);
    return attr;
}
