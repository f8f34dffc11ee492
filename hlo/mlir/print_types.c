/* Types as MLIR text. Sources: mlir/lib/IR/AsmPrinter.cpp, mlir/lib/Dialect/Quant/IR/TypeParser.cpp
 * (printers). */
#include "hlo/base/text.h"
#include "hlo/mlir/print.h"

static void print_types(const struct mlir_type *const *types, int count, struct text *out)
{
    for (int i = 0; i < count; i++) {
        text_append(out, i > 0 ? ", " : "");
        mlir_print_type(types[i], out);
    }
}

static void print_function(const struct mlir_type *type, struct text *out)
{
    const struct mlir_type *const *results = type->types + type->count;
    text_char(out, '(');
    print_types(type->types, type->count, out);
    text_append(out, ") -> ");
    bool parens = type->result_count != 1 || results[0]->kind == MLIR_FUNCTION;
    text_append(out, parens ? "(" : "");
    print_types(results, type->result_count, out);
    text_append(out, parens ? ")" : "");
}

static void print_shaped(const struct mlir_type *type, const char *word, struct text *out)
{
    text_append(out, word);
    text_append(out, type->kind == MLIR_UNRANKED ? "<*x" : "<");
    for (int i = 0; i < type->rank; i++) {
        if (type->sizes[i] == MLIR_DYNAMIC) {
            text_char(out, '?');
        } else {
            text_int(out, type->sizes[i]);
        }
        text_char(out, 'x');
    }
    mlir_print_type(type->element, out);
    if (type->encoding != NULL) {
        text_append(out, ", ");
        mlir_print_attr(type->encoding, out);
    }
    text_char(out, '>');
}

/* --- quantized types --- */

static const struct mlir_type scale_type = {
    .kind = MLIR_FLOAT, .element_type = TYPE_F64, .width = 64, .name = "f64"};

/* The scales below the one at `index` of that level; *index goes on. */
static void print_scales(const struct mlir_quantized *quantized, int level, int *index,
                         struct text *out)
{
    if (level == quantized->rank) {
        mlir_print_float(&scale_type, quantized->scales[*index], out);
        if (quantized->zero_points[*index] != 0) {
            text_char(out, ':');
            text_int(out, quantized->zero_points[*index]);
        }
        ++*index;
        return;
    }
    text_char(out, '{');
    for (int64_t i = 0; i < quantized->counts[level]; i++) {
        text_append(out, i > 0 ? ", " : "");
        print_scales(quantized, level + 1, index, out);
    }
    text_char(out, '}');
}

static void print_quantized(const struct mlir_quantized *quantized, struct text *out)
{
    const struct mlir_type *storage = quantized->storage;
    bool is_unsigned = storage->sign == MLIR_UNSIGNED;
    text_printf(out, "!quant.uniform<%c%d", is_unsigned ? 'u' : 'i', storage->width);
    int64_t least = is_unsigned ? 0 : -((int64_t)1 << (storage->width - 1));
    int64_t most = ((int64_t)1 << (storage->width - !is_unsigned)) - 1;
    if (quantized->minimum != least || quantized->maximum != most) {
        text_char(out, '<');
        text_int(out, quantized->minimum);
        text_char(out, ':');
        text_int(out, quantized->maximum);
        text_char(out, '>');
    }
    text_char(out, ':');
    mlir_print_type(quantized->expressed, out);
    bool blocks = quantized->axis_count > 0 && quantized->block_sizes[0] != 0;
    for (int i = 0; i < quantized->axis_count; i++) {
        text_append(out, i > 0 ? ", " : blocks ? ":{" : ":");
        text_int(out, quantized->axes[i]);
        if (blocks) {
            text_char(out, ':');
            text_int(out, quantized->block_sizes[i]);
        }
    }
    text_append(out, blocks ? "}, " : ", ");
    int index = 0;
    print_scales(quantized, quantized->axis_count == 0 ? quantized->rank : 0, &index, out);
    text_char(out, '>');
}

/* --- any type --- */

void mlir_print_type(const struct mlir_type *type, struct text *out)
{
    static const char *const signs[] = {"i", "si", "ui"};
    switch (type->kind) {
    case MLIR_INTEGER:
        text_append(out, signs[type->sign]);
        text_int(out, type->width);
        break;
    case MLIR_INDEX:
        text_append(out, "index");
        break;
    case MLIR_FLOAT:
    case MLIR_OTHER_TYPE:
        text_append(out, type->name);
        break;
    case MLIR_COMPLEX:
        text_append(out, "complex<");
        mlir_print_type(type->element, out);
        text_char(out, '>');
        break;
    case MLIR_NONE:
        text_append(out, "none");
        break;
    case MLIR_TOKEN:
        text_append(out, "!stablehlo.token");
        break;
    case MLIR_TUPLE:
    case MLIR_FUTURE:
        text_append(out, type->kind == MLIR_TUPLE ? "tuple<" : "!stablehlo.future<");
        print_types(type->types, type->count, out);
        text_char(out, '>');
        break;
    case MLIR_FUNCTION:
        print_function(type, out);
        break;
    case MLIR_TENSOR:
    case MLIR_UNRANKED:
        print_shaped(type, "tensor", out);
        break;
    case MLIR_VECTOR:
        print_shaped(type, "vector", out);
        break;
    case MLIR_MEMREF:
        print_shaped(type, "memref", out);
        break;
    case MLIR_QUANTIZED:
        print_quantized(type->quantized, out);
        break;
    }
}
