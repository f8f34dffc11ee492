/* MLIR text in generic form. Source: mlir/lib/IR/AsmPrinter.cpp. */
#include "hlo/mlir/print.h"

#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/numbers.h"

struct printer {
    struct mlir_numbers numbers;
    struct text *out;
};

static void print_op(struct printer *printer, const struct mlir_op *op, int indent);

static void print_indent(struct printer *printer, int indent)
{
    for (int i = 0; i < indent; i++) {
        text_append_n(printer->out, "  ", 2);
    }
}

static void print_value(struct printer *printer, const struct mlir_value *value)
{
    int64_t number = mlir_number_of_value(&printer->numbers, value);
    text_append(printer->out, value->op == NULL ? "%arg" : "%");
    text_int(printer->out, number);
    if (value->op != NULL && value->op->result_count > 1) {
        text_char(printer->out, '#');
        text_int(printer->out, value->index);
    }
}

static void print_label(struct printer *printer, const struct mlir_block *block)
{
    text_append(printer->out, "^bb");
    text_int(printer->out, mlir_number_of_block(&printer->numbers, block));
}

/* ^bb0(%arg0: type, …): */
static void print_block_head(struct printer *printer, const struct mlir_block *block, int indent)
{
    print_indent(printer, indent);
    print_label(printer, block);
    for (int i = 0; i < block->argument_count; i++) {
        text_append(printer->out, i == 0 ? "(" : ", ");
        print_value(printer, &block->arguments[i]);
        text_append(printer->out, ": ");
        mlir_print_type(block->arguments[i].type, printer->out);
    }
    text_append(printer->out, block->argument_count > 0 ? "):\n" : ":\n");
}

static void print_region(struct printer *printer, const struct mlir_region *region, int indent)
{
    text_append(printer->out, "{\n");
    for (int b = 0; b < region->count; b++) {
        const struct mlir_block *block = region->blocks[b];
        if (region->count > 1 || block->argument_count > 0 || block->count == 0) {
            print_block_head(printer, block, indent);
        }
        for (int i = 0; i < block->count; i++) {
            print_op(printer, block->ops[i], indent + 1);
        }
    }
    print_indent(printer, indent);
    text_char(printer->out, '}');
}

/* (types) -> types */
static void print_op_type(struct printer *printer, const struct mlir_op *op)
{
    text_char(printer->out, '(');
    for (int i = 0; i < op->operand_count; i++) {
        text_append(printer->out, i > 0 ? ", " : "");
        mlir_print_type(op->operands[i]->type, printer->out);
    }
    text_append(printer->out, ") -> ");
    bool parens = op->result_count != 1 || op->results[0].type->kind == MLIR_FUNCTION;
    text_append(printer->out, parens ? "(" : "");
    for (int i = 0; i < op->result_count; i++) {
        text_append(printer->out, i > 0 ? ", " : "");
        mlir_print_type(op->results[i].type, printer->out);
    }
    text_append(printer->out, parens ? ")" : "");
}

static void print_op(struct printer *printer, const struct mlir_op *op, int indent)
{
    struct text *out = printer->out;
    print_indent(printer, indent);
    if (op->result_count > 0) {
        text_char(out, '%');
        text_int(out, mlir_number_of_value(&printer->numbers, &op->results[0]));
        if (op->result_count > 1) {
            text_printf(out, ":%d", op->result_count);
        }
        text_append(out, " = ");
    }
    mlir_print_string(op->name, strlen(op->name), out);
    text_char(out, '(');
    for (int i = 0; i < op->operand_count; i++) {
        text_append(out, i > 0 ? ", " : "");
        print_value(printer, op->operands[i]);
    }
    text_char(out, ')');
    for (int i = 0; i < op->successor_count; i++) {
        text_append(out, i == 0 ? "[" : ", ");
        print_label(printer, op->successors[i]);
    }
    text_append(out, op->successor_count > 0 ? "]" : "");
    for (int i = 0; i < op->region_count; i++) {
        text_append(out, i == 0 ? " (" : ", ");
        print_region(printer, &op->regions[i], indent);
    }
    text_append(out, op->region_count > 0 ? ")" : "");
    if (op->attrs.count > 0) {
        text_char(out, ' ');
        mlir_print_dictionary(&op->attrs, out);
    }
    text_append(out, " : ");
    print_op_type(printer, op);
    text_char(out, '\n');
}

void mlir_print(const struct mlir_file *file, struct text *out)
{
    struct printer printer = {.out = out};
    mlir_numbers_init(&printer.numbers, file->module);
    print_op(&printer, file->module, 0);
    mlir_numbers_finish(&printer.numbers);
}
