/* For tests of the reader of MLIR text: read or fail the test, and find things in what was read. */
#ifndef TESTS_HLO_MLIR_MLIR_TEXT_H
#define TESTS_HLO_MLIR_MLIR_TEXT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"

static inline struct mlir_file *read_mlir(const char *text)
{
    struct error err = {0};
    struct mlir_file *file = mlir_parse(text, strlen(text), "test", 1, &err);
    ck_assert_msg(file != NULL, "%d:%d: %s\nin %s", err.line, err.column, err.message, text);
    return file;
}

/* The i-th op of the module's body. */
static inline struct mlir_op *op_at(const struct mlir_file *file, int i)
{
    const struct mlir_region *region = &file->module->regions[0];
    ck_assert_int_gt(region->count, 0);
    ck_assert_int_gt(region->blocks[0]->count, i);
    return region->blocks[0]->ops[i];
}

/* Reads the attribute; *file is to be destroyed. */
static inline const struct mlir_attr *read_attr(const char *text, struct mlir_file **file)
{
    struct text whole;
    text_init(&whole);
    text_printf(&whole, "\"test.op\"() {a = %s} : () -> ()", text);
    *file = read_mlir(whole.data);
    text_finish(&whole);
    const struct mlir_attr *attr = mlir_op_attr(op_at(*file, 0), "a");
    ck_assert_ptr_nonnull(attr);
    return attr;
}

static inline const struct mlir_type *read_type(const char *text, struct mlir_file **file)
{
    const struct mlir_attr *attr = read_attr(text, file);
    ck_assert_int_eq(attr->kind, MLIR_ATTR_TYPE);
    return attr->type;
}

/* The text must be refused, at this place, with a message that has these words in it. */
static inline void refuse(const char *text, int line, int column, const char *words)
{
    struct error err = {0};
    struct mlir_file *file = mlir_parse(text, strlen(text), "test", 1, &err);
    ck_assert_msg(file == NULL, "read: %s", text);
    ck_assert_msg(err.line == line && err.column == column && strstr(err.message, words) != NULL,
                  "%d:%d: %s\nfor %s", err.line, err.column, err.message, text);
    ck_assert_str_eq(err.file, "test");
}

static inline void refuse_attr(const char *text, int column, const char *words)
{
    struct text whole;
    text_init(&whole);
    text_printf(&whole, "\"test.op\"() {a = %s} : () -> ()", text);
    refuse(whole.data, 1, column + (int)strlen("\"test.op\"() {a = "), words);
    text_finish(&whole);
}

#endif
