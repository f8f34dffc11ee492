/* The ops of StableHLO's own tests: checks, probes and prints. They become custom calls of their
 * names, which have effects and no result (compare/checks.h says what they demand); a probe gives
 * its operand. Sources: stablehlo/tests/CheckOps.td, stablehlo/reference/InterpreterOps.td. */
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/mlir/import/build.h"
#include "hlo/mlir/import/import_internal.h"

/* {"tolerance": 0.1, …} of the attributes that a check may have, and what holds without them (a
 * custom call that a program wrote itself has other defaults). */
static void print_config(const struct mlir_op *op, struct text *out)
{
    static const struct {
        const char *key, *name, *of, *otherwise;
    } keys[] = {{"tolerance", "tolerance", "check.expect_almost_eq", "0.0001"},
                {"min_ulp_difference", "min_ulp_difference", NULL, NULL},
                {"max_ulp_difference", "max_ulp_difference", "check.expect_close", "1"},
                {"probe_id", "probe_id", NULL, NULL},
                {"iteration", "iter", NULL, NULL}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct mlir_attr *attr = mlir_op_attr(op, keys[i].key);
        if (attr == NULL && keys[i].of != NULL &&
            strncmp(op->name, keys[i].of, strlen(keys[i].of)) == 0) {
            text_printf(out, "%s\"%s\": %s", out->size > 0 ? ", " : "{", keys[i].name,
                        keys[i].otherwise);
        }
        if (attr == NULL || (attr->kind != MLIR_ATTR_INT && attr->kind != MLIR_ATTR_FLOAT &&
                             attr->kind != MLIR_ATTR_STRING)) {
            continue;
        }
        text_printf(out, "%s\"%s\": ", out->size > 0 ? ", " : "{", keys[i].name);
        if (attr->kind == MLIR_ATTR_FLOAT) {
            text_printf(out, "%.17g", attr->number);
        } else if (attr->kind == MLIR_ATTR_INT) {
            text_printf(out, "%llu", (unsigned long long)attr->integer);
        } else {
            text_char(out, '"');
            for (size_t k = 0; k < attr->string.size; k++) {
                unsigned char c = (unsigned char)attr->string.data[k];
                if (c == '"' || c == '\\') {
                    text_char(out, '\\');
                    text_char(out, (char)c);
                } else if (c < 0x20) {
                    text_printf(out, "\\u%04x", c);
                } else {
                    text_char(out, (char)c);
                }
            }
            text_char(out, '"');
        }
    }
    if (out->size > 0) {
        text_char(out, '}');
    }
}

static bool add_check(struct scope *scope, const struct mlir_op *op, int operand_count,
                      struct instruction *const *operands)
{
    struct instruction *call =
        import_add(scope, op, OP_CUSTOM_CALL, shape_tuple(0, NULL), operand_count, operands);
    import_set_string(call, ATTR_CUSTOM_CALL_TARGET, op->name, strlen(op->name));
    import_set_int(call, ATTR_CUSTOM_CALL_HAS_SIDE_EFFECT, 1);
    struct text config;
    text_init(&config);
    print_config(op, &config);
    if (config.size > 0) {
        import_set_string(call, ATTR_BACKEND_CONFIG, config.data, config.size);
    }
    text_finish(&config);
    return true;
}

static bool is_dropped(const struct scope *scope)
{
    return scope->importer->options->checks == MLIR_CHECKS_DROP;
}

/* The …_const forms compare with an attribute, which becomes an operand. */
bool translate_check(struct scope *scope, const struct mlir_op *op)
{
    if (op->result_count != 0 || op->region_count != 0) {
        return import_fail(scope, op, "has no results");
    }
    if (is_dropped(scope)) {
        return true;
    }
    const struct mlir_attr *value = mlir_op_attr(op, "value");
    int count = op->operand_count;
    struct instruction **operands = import_operands(scope, op);
    if (operands == NULL) {
        return false;
    }
    if (value != NULL) {
        struct literal *literal = import_dense(scope, op, value);
        if (literal == NULL) {
            return false;
        }
        operands[count++] = import_constant(scope, op, literal);
    }
    return add_check(scope, op, count, operands);
}

bool translate_probe(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 1, 0);
    if (operands == NULL || (!is_dropped(scope) && !add_check(scope, op, 1, operands))) {
        return false;
    }
    import_bind(scope, &op->results[0], operands[0]);
    return true;
}

bool translate_print(struct scope *scope, const struct mlir_op *op)
{
    struct instruction **operands = build_operands(scope, op, 1, 0, 0);
    return operands != NULL && (is_dropped(scope) || add_check(scope, op, 1, operands));
}
