/* The dialects whose encodings are known, and the properties of ops of those that have no more.
 * Sources: the ops of jaxlib 0.10.2's dialects; mlir/include/mlir/Dialect/{Func,Arith,Shape,Tensor,
 * ControlFlow}/IR/…Ops.td. */
#include <string.h>

#include "hlo/mlir/bytecode/bytecode.h"

static const struct op_properties func_ops[] = {
    {"call", "arg_attrs? callee no_inline? res_attrs?"},
    {"call_indirect", "arg_attrs? res_attrs?"},
    {"constant", "value"},
    {"func", "arg_attrs? function_type no_inline? res_attrs? sym_name sym_visibility?"},
};
static const struct op_properties arith_ops[] = {
    {"addf", "fastmath? roundingmode?"},
    {"addi", "overflowFlags?"},
    {"cmpf", "fastmath? predicate"},
    {"cmpi", "predicate"},
    {"constant", "value"},
    {"convertf", "fastmath? roundingmode?"},
    {"divf", "fastmath? roundingmode?"},
    {"divsi", "isExact?"},
    {"divui", "isExact?"},
    {"extf", "fastmath?"},
    {"extui", "nonNeg?"},
    {"flush_denormals", "fastmath?"},
    {"index_castui", "nonNeg?"},
    {"maximumf", "fastmath?"},
    {"maxnumf", "fastmath?"},
    {"minimumf", "fastmath?"},
    {"minnumf", "fastmath?"},
    {"mulf", "fastmath? roundingmode?"},
    {"muli", "overflowFlags?"},
    {"negf", "fastmath?"},
    {"remf", "fastmath?"},
    {"scaling_extf", "fastmath?"},
    {"scaling_truncf", "fastmath? roundingmode?"},
    {"shli", "overflowFlags?"},
    {"shrsi", "isExact?"},
    {"shrui", "isExact?"},
    {"subf", "fastmath? roundingmode?"},
    {"subi", "overflowFlags?"},
    {"truncf", "fastmath? roundingmode?"},
    {"trunci", "overflowFlags?"},
    {"uitofp", "nonNeg?"},
};
static const struct op_properties cf_ops[] = {
    {"assert", "msg"},
    {"cond_br", "branch_weights? operandSegmentSizes[3]"},
    {"switch", "case_operand_segments case_values? operandSegmentSizes[3]"},
};
static const struct op_properties shape_ops[] = {
    {"broadcast", "error?"},
    {"const_shape", "shape"},
    {"const_size", "value"},
    {"cstr_require", "msg"},
    {"func", "arg_attrs? function_type res_attrs? sym_name sym_visibility?"},
};

#define DIALECT(id)                                                                  \
    {                                                                                \
        .name = #id, .ops = id##_ops, .op_count = sizeof id##_ops / sizeof *id##_ops \
    }
static const struct dialect_reader others[] = {
    DIALECT(func),
    DIALECT(arith),
    DIALECT(cf),
    DIALECT(shape),
};
#undef DIALECT

static const struct dialect_reader *const own[] = {
    &builtin_dialect, &stablehlo_dialect, &chlo_dialect,
    &quant_dialect,   &sdy_dialect,       &vhlo_dialect,
};

static bool is_named(const struct dialect_reader *reader, const char *name, size_t size)
{
    return strlen(reader->name) == size && memcmp(reader->name, name, size) == 0;
}

const struct dialect_reader *bytecode_dialect_reader(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (is_named(own[i], name, size)) {
            return own[i];
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (is_named(&others[i], name, size)) {
            return &others[i];
        }
    }
    return NULL;
}
