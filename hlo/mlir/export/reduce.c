/* HLO → StableHLO: reductions, windows, gather, scatter, sort. */
#include "hlo/mlir/export/export.h"

static struct mlir_op *with_region(struct export_scope *scope,
                                   const struct instruction *instruction, const char *name)
{
    struct mlir_op *op = export_plain(scope, instruction, name, 1);
    return op != NULL && export_region(scope, op, 0, instruction->called[0]) ? op : NULL;
}

bool export_reduce(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = with_region(scope, instruction, "reduce");
    if (op != NULL) {
        export_set_ints(scope, op, "dimensions", attr_ints(instruction, ATTR_DIMENSIONS));
    }
    return op != NULL;
}

static void set_window(struct export_scope *scope, struct mlir_op *op, struct window window,
                       bool dilates)
{
    int64_t sizes[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK], padding[2 * SHAPE_MAX_RANK];
    int64_t base[SHAPE_MAX_RANK], dilation[SHAPE_MAX_RANK];
    for (int i = 0; i < window.rank; i++) {
        const struct window_dimension *dimension = &window.dimensions[i];
        sizes[i] = dimension->size;
        strides[i] = dimension->stride;
        padding[2 * i] = dimension->padding_low;
        padding[2 * i + 1] = dimension->padding_high;
        base[i] = dimension->base_dilation;
        dilation[i] = dimension->window_dilation;
    }
    export_set_ints(scope, op, "window_dimensions", (struct ints){window.rank, sizes});
    export_set_ints(scope, op, "window_strides", (struct ints){window.rank, strides});
    export_set_matrix(scope, op, "padding", window.rank, 2, padding);
    if (dilates) {
        export_set_ints(scope, op, "base_dilations", (struct ints){window.rank, base});
        export_set_ints(scope, op, "window_dilations", (struct ints){window.rank, dilation});
    }
}

bool export_reduce_window(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = with_region(scope, instruction, "reduce_window");
    struct window window = attr_window(instruction);
    if (op == NULL) {
        return false;
    }
    for (int i = 0; i < window.rank; i++) {
        if (window.dimensions[i].reversal) {
            return export_refuse(scope, instruction, "with a reversed window");
        }
    }
    set_window(scope, op, window, true);
    return true;
}

bool export_select_and_scatter(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = export_plain(scope, instruction, "select_and_scatter", 2);
    if (op == NULL || !export_region(scope, op, 0, instruction->called[0]) ||
        !export_region(scope, op, 1, instruction->called[1])) {
        return false;
    }
    set_window(scope, op, attr_window(instruction), false);
    return true;
}

bool export_sort(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = with_region(scope, instruction, "sort");
    if (op != NULL) {
        export_set_int(scope, op, "dimension", attr_ints(instruction, ATTR_DIMENSIONS).values[0]);
        export_set_bool(scope, op, "is_stable", attr_bool(instruction, ATTR_IS_STABLE, false));
    }
    return op != NULL;
}

/* Inputs, then carries, as operands and as results; chlo counts both. */
bool export_scan(struct export_scope *scope, const struct instruction *instruction)
{
    struct mlir_op *op = with_region(scope, instruction, "chlo.scan");
    if (op == NULL) {
        return false;
    }
    int64_t carries = attr_int(instruction, ATTR_NUM_CARRIES, 0);
    const int64_t operands[] = {op->operand_count - carries, carries};
    const int64_t results[] = {op->result_count - carries, carries};
    export_set_sizes(scope, op, "operandSegmentSizes", 2, operands);
    export_set_sizes(scope, op, "resultSegmentSizes", 2, results);
    export_set_int(scope, op, "dimension", attr_ints(instruction, ATTR_DIMENSIONS).values[0]);
    export_set_bool(scope, op, "is_reverse", attr_bool(instruction, ATTR_IS_REVERSE, false));
    if (attr_get(instruction, ATTR_IS_ASSOCIATIVE) != NULL) {
        export_set_bool(scope, op, "is_associative",
                        attr_bool(instruction, ATTR_IS_ASSOCIATIVE, false));
    }
    return true;
}

/* Parameters of a struct attribute that are lists of an instruction's. */
struct list_row {
    const char *key;
    enum attr_key from;
};

static void set_lists(struct export_scope *scope, struct mlir_attr *attr,
                      const struct instruction *instruction, const struct list_row *rows)
{
    struct mlir_file *file = scope->exporter->file;
    for (; rows->key != NULL; rows++) {
        struct ints values = attr_ints(instruction, rows->from);
        mlir_set(file, &attr->dialect.parameters, rows->key,
                 mlir_attr_ints(file, values.count, values.values));
    }
    mlir_set(file, &attr->dialect.parameters, "index_vector_dim",
             mlir_attr_int(file, attr_int(instruction, ATTR_INDEX_VECTOR_DIM, 0),
                           mlir_integer(file, 64, MLIR_SIGNLESS)));
}

bool export_gather(struct export_scope *scope, const struct instruction *instruction)
{
    static const struct list_row rows[] = {
        {"offset_dims", ATTR_OFFSET_DIMS},
        {"collapsed_slice_dims", ATTR_COLLAPSED_SLICE_DIMS},
        {"operand_batching_dims", ATTR_OPERAND_BATCHING_DIMS},
        {"start_indices_batching_dims", ATTR_START_INDICES_BATCHING_DIMS},
        {"start_index_map", ATTR_START_INDEX_MAP},
        {NULL, ATTR_COUNT},
    };
    struct mlir_op *op = export_plain(scope, instruction, "gather", 0);
    const struct attr *sizes = attr_get(instruction, ATTR_SLICE_SIZES);
    if (op == NULL || sizes == NULL) {
        return false;
    }
    set_lists(scope, export_set_parameters(scope, op, "dimension_numbers", "gather"), instruction,
              rows);
    export_set_ints(scope, op, "slice_sizes",
                    sizes->lists.count > 0 ? sizes->lists.lists[0] : (struct ints){0});
    export_set_bool(scope, op, "indices_are_sorted",
                    attr_bool(instruction, ATTR_INDICES_ARE_SORTED, false));
    return true;
}

bool export_scatter(struct export_scope *scope, const struct instruction *instruction)
{
    static const struct list_row rows[] = {
        {"update_window_dims", ATTR_UPDATE_WINDOW_DIMS},
        {"inserted_window_dims", ATTR_INSERTED_WINDOW_DIMS},
        {"input_batching_dims", ATTR_INPUT_BATCHING_DIMS},
        {"scatter_indices_batching_dims", ATTR_SCATTER_INDICES_BATCHING_DIMS},
        {"scatter_dims_to_operand_dims", ATTR_SCATTER_DIMS_TO_OPERAND_DIMS},
        {NULL, ATTR_COUNT},
    };
    struct mlir_op *op = with_region(scope, instruction, "scatter");
    if (op == NULL) {
        return false;
    }
    set_lists(scope, export_set_parameters(scope, op, "scatter_dimension_numbers", "scatter"),
              instruction, rows);
    export_set_bool(scope, op, "indices_are_sorted",
                    attr_bool(instruction, ATTR_INDICES_ARE_SORTED, false));
    export_set_bool(scope, op, "unique_indices",
                    attr_bool(instruction, ATTR_UNIQUE_INDICES, false));
    return true;
}

bool export_top_k(struct export_scope *scope, const struct instruction *instruction)
{
    if (!attr_bool(instruction, ATTR_LARGEST, true)) {
        return export_refuse(scope, instruction, "of the smallest");
    }
    struct mlir_op *op = export_plain(scope, instruction, "chlo.top_k", 0);
    if (op != NULL) {
        export_set_int(scope, op, "k", attr_int(instruction, ATTR_K, 0));
    }
    return op != NULL;
}
