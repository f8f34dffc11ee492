/* StableHLO's own interpreter tests, evaluated on the golden: contractions, reductions, gather,
 * scatter, sort, collectives, transfers. A file holds modules, each with functions that compute and
 * check. interpreter.run_parallel runs a grid of functions as programs of their own. The files are
 * public data (stablehlo/tests/interpret), found beside the checkout. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/checks.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/mlir/mlir_format.h"
#include "interp/interp.h"

static const struct {
    const char *name;
    int functions; /* that it holds without arguments */
} files[] = {
    {"all_gather", 5},
    {"all_reduce", 5},
    {"all_to_all", 5},
    {"collective_broadcast", 10},
    {"collective_permute", 2},
    {"collective_reduce", 1},
    {"convolution", 5},
    {"dot_general", 6},
    {"fft", 12},
    {"gather", 2},
    {"infeed", 1},
    {"outfeed", 1},
    {"partition_id", 1},
    {"reduce", 1},
    {"reduce_scatter", 3},
    {"reduce_window", 2},
    {"replica_id", 1},
    {"scatter", 2},
    {"select_and_scatter", 1},
    {"send_recv", 2},
    {"sort", 2},
    {"triangular_solve", 27},
};
enum { FILES = sizeof files / sizeof *files, DEVICES_MOST = 16 };

static bool hear(void *context, const struct instruction *call, struct literal *const *operands,
                 int count, bool *holds, struct error *err)
{
    return checks_hear(context, call, operands, count, holds, err);
}

/* --- one function --- */

static struct module *import(struct mlir_file *file, const char *entry)
{
    struct error err = {0};
    struct mlir_import_options options = {.entry = entry, .checks = MLIR_CHECKS_KEEP};
    struct module *module = mlir_import(file, &options, &err);
    ck_assert_msg(module != NULL, "%s:%d: %s", file->name, err.line, err.message);
    return module;
}

static struct literal *evaluate(struct mlir_file *file, const char *entry,
                                struct literal *const *arguments, int count, struct checks *checks)
{
    struct error err = {0};
    struct module *module = import(file, entry);
    struct interp_options options = {.on_check = hear, .context = checks};
    struct literal *result = interp_evaluate(module, arguments, count, &options, &err);
    ck_assert_msg(result != NULL, "%s @%s: %s", file->name, entry, err.message);
    module_destroy(module);
    return result;
}

/* --- run_parallel --- */

struct queue {
    struct mlir_file *file;
    const struct mlir_attr *names;
    int next;
    struct checks *checks;
};

static struct literal *next_of_infeed(void *context, int device, const struct shape *shape,
                                      struct error *err)
{
    struct queue *queue = context;
    (void)device;
    if (queue->names == NULL || queue->next >= queue->names->array.count) {
        error_set(err, ERROR_NOT_FOUND, "the infeed is empty");
        return NULL;
    }
    const struct mlir_attr *name = queue->names->array.elements[queue->next++];
    struct literal *value = evaluate(queue->file, name->string.data, NULL, 0, queue->checks);
    return shape_is_tuple(shape) ? literal_tuple_take(shape, &value) : value;
}

/* Part i of what a function of `results` results gave. */
static struct literal *part(struct literal *value, int results, int i)
{
    return results == 1 ? value : value->elements[i];
}

static int result_count(const struct mlir_op *function)
{
    const struct mlir_block *block = function->regions[0].blocks[0];
    return block->ops[block->count - 1]->operand_count;
}

/* Evaluates the grid; outputs are the results of all programs, one after the other. */
static void run_grid(struct mlir_file *file, const struct mlir_op *op,
                     struct literal *const *inputs, struct literal **outputs, struct checks *checks)
{
    const struct mlir_attr *rows = mlir_op_attr(op, "programs");
    int replicas = rows->array.count, partitions = rows->array.elements[0]->array.count;
    int devices = replicas * partitions, at = 0;
    ck_assert_int_le(devices, DEVICES_MOST);
    struct module *modules[DEVICES_MOST];
    struct literal *const *arguments[DEVICES_MOST], *results[DEVICES_MOST];
    int counts[DEVICES_MOST], gives[DEVICES_MOST];
    for (int d = 0; d < devices; d++) {
        const struct mlir_attr *name =
            rows->array.elements[d / partitions]->array.elements[d % partitions];
        const struct mlir_op *function = mlir_entry(file, name->string.data, NULL);
        ck_assert_ptr_nonnull(function);
        modules[d] = import(file, name->string.data);
        arguments[d] = &inputs[at];
        counts[d] = function->regions[0].blocks[0]->argument_count;
        gives[d] = result_count(function);
        at += counts[d];
    }
    struct queue queue = {file, mlir_op_attr(op, "infeed"), 0, checks};
    struct interp_options options = {.replica_count = replicas,
                                     .partition_count = partitions,
                                     .infeed = next_of_infeed,
                                     .context = &queue};
    struct error err = {0};
    bool ok = interp_evaluate_programs((const struct module *const *)modules, devices, arguments,
                                       counts, results, &options, &err);
    ck_assert_msg(ok, "%s: %s", file->name, err.message);
    at = 0;
    for (int d = 0; d < devices; d++) {
        for (int i = 0; i < gives[d]; i++) {
            outputs[at++] = literal_retain(part(results[d], gives[d], i));
        }
        literal_release(results[d]);
        module_destroy(modules[d]);
    }
}

static int find_parallel(const struct mlir_block *block)
{
    for (int i = 0; i < block->count; i++) {
        if (block->ops[i]->opcode == MLIR_OP_INTERPRETER_RUN_PARALLEL) {
            return i;
        }
    }
    return -1;
}

/* A function with run_parallel, in three parts: what it is given is returned by the ops before it;
 * the grid is run; the other ops then take its results as arguments. */
static void run_parallel(struct mlir_file *file, const struct mlir_op *function, const char *name,
                         int at, struct checks *checks)
{
    struct mlir_block *block = function->regions[0].blocks[0];
    struct mlir_op *op = block->ops[at];
    int count = block->count;
    struct mlir_op **all = arena_array(&file->arena, (size_t)count, sizeof *all);
    struct mlir_op **ops = arena_array(&file->arena, (size_t)count, sizeof *ops);
    memcpy(all, block->ops, (size_t)count * sizeof *all);
    struct literal **inputs =
        arena_array(&file->arena, 1 + (size_t)op->operand_count, sizeof *inputs);
    struct literal **outputs =
        arena_array(&file->arena, 1 + (size_t)op->result_count, sizeof *outputs);
    struct mlir_op *give = mlir_op_new(file, "func.return", 11, op->operand_count, 0, 0);
    memcpy(give->operands, op->operands, (size_t)op->operand_count * sizeof *give->operands);
    memcpy(ops, all, (size_t)at * sizeof *ops);
    ops[at] = give;
    mlir_block_set_ops(file, block, at + 1, ops);
    struct literal *given = evaluate(file, name, NULL, 0, checks);
    for (int i = 0; i < op->operand_count; i++) {
        inputs[i] = part(given, op->operand_count, i);
    }
    run_grid(file, op, inputs, outputs, checks);
    literal_release(given);

    struct mlir_value *arguments =
        arena_array(&file->arena, 1 + (size_t)op->result_count, sizeof *arguments);
    for (int i = 0; i < op->result_count; i++) {
        arguments[i] = (struct mlir_value){.type = op->results[i].type, .block = block, .index = i};
    }
    block->arguments = arguments;
    block->argument_count = op->result_count;
    for (int i = at + 1; i < count; i++) {
        for (int k = 0; k < all[i]->operand_count; k++) {
            if (all[i]->operands[k]->op == op) {
                all[i]->operands[k] = &arguments[all[i]->operands[k]->index];
            }
        }
    }
    memmove(&all[at], &all[at + 1], (size_t)(count - at - 1) * sizeof *all);
    mlir_block_set_ops(file, block, count - 1, all);
    literal_release(evaluate(file, name, outputs, op->result_count, checks));
    for (int i = 0; i < op->result_count; i++) {
        literal_release(outputs[i]);
    }
}

/* --- files --- */

static bool is_infeed_queue(const char *name)
{
    return strncmp(name, "infeed_queue", 12) == 0;
}

/* A function that others run as a program, and that alone would fail. */
static bool is_program(const struct mlir_block *functions, const char *name)
{
    for (int i = 0; i < functions->count; i++) {
        const struct mlir_block *block = functions->ops[i]->regions[0].blocks[0];
        int at = find_parallel(block);
        const struct mlir_attr *rows = at >= 0 ? mlir_op_attr(block->ops[at], "programs") : NULL;
        for (int r = 0; rows != NULL && r < rows->array.count; r++) {
            const struct mlir_attr *row = rows->array.elements[r];
            for (int c = 0; c < row->array.count; c++) {
                if (strcmp(row->array.elements[c]->string.data, name) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static int run_module(struct mlir_file *file, struct checks *checks)
{
    const struct mlir_block *functions = file->module->regions[0].blocks[0];
    while (functions->count == 1 && functions->ops[0]->opcode == MLIR_OP_MODULE) {
        functions = functions->ops[0]->regions[0].blocks[0];
    }
    int count = 0;
    for (int i = 0; i < functions->count; i++) {
        const struct mlir_op *function = functions->ops[i];
        const char *name = mlir_op_attr(function, "sym_name")->string.data;
        const struct mlir_block *block = function->regions[0].blocks[0];
        if (function->opcode != MLIR_OP_FUNC || block->argument_count > 0 ||
            is_infeed_queue(name) || is_program(functions, name)) {
            continue;
        }
        count++;
        int at = find_parallel(block);
        if (at >= 0) {
            run_parallel(file, function, name, at, checks);
        } else {
            literal_release(evaluate(file, name, NULL, 0, checks));
        }
    }
    return count;
}

static char *read_data(const char *name, size_t *size)
{
    const char *shared = getenv("REFEREE_SHARED");
    char path[512];
    snprintf(path, sizeof path, "%s/corpus-data/stablehlo/interpret/%s.mlir",
             shared != NULL ? shared : "../shared", name);
    struct error err = {0};
    return file_read(path, size, &err);
}

START_TEST(every_check_holds)
{
    size_t size;
    char *text = read_data(files[_i].name, &size);
    if (text == NULL) {
        printf("%s.mlir is not here (corpus-data beside the checkout): not tested\n",
               files[_i].name);
        return;
    }
    struct checks checks = {0};
    int count = 0;
    for (char *at = text, *next; at != NULL; at = next) {
        next = strstr(at, "// -----");
        if (next != NULL) {
            *next = '\0';
            next += 8;
        }
        struct error err = {0};
        struct mlir_file *file = mlir_parse(at, strlen(at), files[_i].name, 1, &err);
        ck_assert_msg(file != NULL, "%s:%d: %s", files[_i].name, err.line, err.message);
        count += run_module(file, &checks);
        mlir_file_destroy(file);
    }
    printf("%s: %d functions, %lld checks\n", files[_i].name, count, (long long)checks.passed);
    ck_assert_msg(checks.failed == 0, "%s: %s", files[_i].name,
                  checks.pictures != NULL ? checks.pictures->data : "");
    ck_assert_int_eq(count, files[_i].functions);
    checks_finish(&checks);
    free(text);
}
END_TEST

/* --- where the specification says other than XLA does, or XLA nothing --- */

/* Of every device its number: 10 · replica + partition. */
#define NUMBER                                                                                    \
    "%r = stablehlo.replica_id : tensor<ui32>\n%p = stablehlo.partition_id : tensor<ui32>\n"      \
    "%ten = stablehlo.constant dense<10> : tensor<ui32>\n"                                        \
    "%m = stablehlo.multiply %r, %ten : tensor<ui32>\n%s = stablehlo.add %m, %p : tensor<ui32>\n" \
    "%n = stablehlo.reshape %s : (tensor<ui32>) -> tensor<1xui32>\n"
#define ADD(type)                                                                         \
    "({\n^bb0(%x: tensor<" type ">, %y: tensor<" type ">):\n%z = stablehlo.add %x, %y : " \
    "tensor<" type ">\nstablehlo.return %z : tensor<" type ">\n})"

static const char *const programs[] = {
    /* For each partition all replicas. */
    "func.func @f() -> tensor<6xui32> {\n" NUMBER
    "%0 = \"stablehlo.all_gather\"(%n) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> "
    ": tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : "
    "(tensor<1xui32>) -> tensor<6xui32>\nreturn %0 : tensor<6xui32>\n}\n"
    "func.func @main() {\n%0:6 = \"interpreter.run_parallel\"() {programs = [[@f, @f, @f], "
    "[@f, @f, @f]]} : () -> (tensor<6xui32>, tensor<6xui32>, tensor<6xui32>, tensor<6xui32>, "
    "tensor<6xui32>, tensor<6xui32>)\n"
    "check.expect_eq_const %0#0, dense<[0, 10, 1, 11, 2, 12]> : tensor<6xui32>\n"
    "check.expect_eq_const %0#5, dense<[0, 10, 1, 11, 2, 12]> : tensor<6xui32>\nreturn\n}\n",

    /* Part p · 2 + r of 4 times [0, 1, 2, 3] goes to replica r, partition p. */
    "func.func @f() -> tensor<1xi32> {\n%a = stablehlo.iota dim = 0 : tensor<4xi32>\n"
    "%0 = \"stablehlo.reduce_scatter\"(%a) " ADD(
        "i32") " {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, "
               "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>} : "
               "(tensor<4xi32>) -> "
               "tensor<1xi32>\nreturn %0 : tensor<1xi32>\n}\n"
               "func.func @main() {\n%0:4 = \"interpreter.run_parallel\"() {programs = [[@f, @f], "
               "[@f, @f]]} "
               ": () -> (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>)\n"
               "check.expect_eq_const %0#0, dense<0> : tensor<1xi32>\n"
               "check.expect_eq_const %0#1, dense<8> : tensor<1xi32>\n"
               "check.expect_eq_const %0#2, dense<4> : tensor<1xi32>\n"
               "check.expect_eq_const %0#3, dense<12> : tensor<1xi32>\nreturn\n}\n",

    /* The root is the second of its group: of [[3, 0], [1, 2]] devices 0 and 2. */
    "func.func @f() -> tensor<1xui32> {\n" NUMBER
    "%root = stablehlo.constant dense<[1]> : tensor<1xi32>\n"
    "%0 = \"stablehlo.collective_reduce\"(%n, %root) " ADD(
        "ui32") " {replica_groups = dense<[[3, 0], [1, 2]]> : tensor<2x2xi64>, channel_handle = "
                "#stablehlo.channel_handle<handle = 1, type = 0>, use_global_device_ids, "
                "has_dynamic_root} : "
                "(tensor<1xui32>, tensor<1xi32>) -> tensor<1xui32>\nreturn %0 : tensor<1xui32>\n}\n"
                "func.func @main() {\n%0:4 = \"interpreter.run_parallel\"() {programs = [[@f, @f], "
                "[@f, @f]]} "
                ": () -> (tensor<1xui32>, tensor<1xui32>, tensor<1xui32>, tensor<1xui32>)\n"
                "check.expect_eq_const %0#0, dense<11> : tensor<1xui32>\n"
                "check.expect_eq_const %0#1, dense<0> : tensor<1xui32>\n"
                "check.expect_eq_const %0#2, dense<11> : tensor<1xui32>\n"
                "check.expect_eq_const %0#3, dense<0> : tensor<1xui32>\nreturn\n}\n",

    /* Replicas and partitions: the third member is replica 0 of partition 1. */
    "func.func @f() -> tensor<1xui32> {\n" NUMBER
    "%root = stablehlo.constant dense<[2]> : tensor<1xi32>\n"
    "%0 = \"stablehlo.collective_reduce\"(%n, %root) " ADD(
        "ui32") " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = "
                "#stablehlo.channel_handle<handle = 1, type = 0>, has_dynamic_root} : "
                "(tensor<1xui32>, "
                "tensor<1xi32>) -> tensor<1xui32>\nreturn %0 : tensor<1xui32>\n}\n"
                "func.func @main() {\n%0:4 = \"interpreter.run_parallel\"() {programs = [[@f, @f], "
                "[@f, @f]]} "
                ": () -> (tensor<1xui32>, tensor<1xui32>, tensor<1xui32>, tensor<1xui32>)\n"
                "check.expect_eq_const %0#0, dense<0> : tensor<1xui32>\n"
                "check.expect_eq_const %0#1, dense<22> : tensor<1xui32>\n"
                "check.expect_eq_const %0#2, dense<0> : tensor<1xui32>\n"
                "check.expect_eq_const %0#3, dense<0> : tensor<1xui32>\nreturn\n}\n",

    /* Windows of three at −1, 2, 3, 120: two, three, two and no elements are inside. */
    "func.func @main() {\n%a = stablehlo.constant dense<0> : tensor<5xi32>\n"
    "%b = stablehlo.constant dense<[-1, 1, 2, 100]> : tensor<4xi8>\n"
    "%one = stablehlo.constant dense<[0, 1, 1, 20]> : tensor<4xi8>\n"
    "%i = stablehlo.add %b, %one : tensor<4xi8>\n"
    "%u = stablehlo.constant dense<[[1, 2, 3], [10, 20, 30], [100, 200, 300], [7, 7, 7]]> : "
    "tensor<4x3xi32>\n"
    "%0 = \"stablehlo.scatter\"(%a, %i, %u) " ADD(
        "i32") " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
               "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<5xi32>, "
               "tensor<4xi8>, "
               "tensor<4x3xi32>) -> tensor<5xi32>\n"
               "check.expect_eq_const %0, dense<[2, 3, 10, 120, 230]> : tensor<5xi32>\nreturn\n}\n",

    /* 1 + 2^-7 is a bf16; the sum of three is none, but an f32. */
    "func.func @main() {\n%a = stablehlo.constant dense<[1.0078125, 1.0078125, 1.0078125]> : "
    "tensor<3xbf16>\n%b = stablehlo.constant dense<0.0> : tensor<bf16>\n"
    "%0 = \"stablehlo.reduce\"(%a, %b) " ADD(
        "f32") " {dimensions = array<i64: 0>} : (tensor<3xbf16>, tensor<bf16>) -> tensor<f32>\n"
               "check.expect_eq_const %0, dense<3.0234375> : tensor<f32>\nreturn\n}\n",

    /* The trace, and the diagonal with its signs. */
    "func.func @main() {\n%a = stablehlo.constant dense<[[-0.0, 1.0], [2.0, 3.0]]> : "
    "tensor<2x2xf32>\n"
    "%0 = stablehlo.unary_einsum %a, config = \"ii->\" : (tensor<2x2xf32>) -> tensor<f32>\n"
    "%1 = stablehlo.unary_einsum %a, config = \"ii->i\" : (tensor<2x2xf32>) -> tensor<2xf32>\n"
    "%2 = stablehlo.bitcast_convert %1 : (tensor<2xf32>) -> tensor<2xi32>\n"
    "%3 = stablehlo.einsum %a, %a, config = \"ij,kj->ki\" : (tensor<2x2xf32>, tensor<2x2xf32>) -> "
    "tensor<2x2xf32>\n"
    "check.expect_eq_const %0, dense<3.0> : tensor<f32>\n"
    "check.expect_eq_const %2, dense<[-2147483648, 1077936128]> : tensor<2xi32>\n"
    "check.expect_eq_const %3, dense<[[1.0, 3.0], [3.0, 13.0]]> : tensor<2x2xf32>\nreturn\n}\n",

    /* An asynchronous slice; each of two operands is spread by itself. */
    "func.func @f() -> (tensor<2xui32>, tensor<2xui32>) {\n" NUMBER
    "%a = stablehlo.concatenate %n, %n, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> "
    "tensor<2xui32>\n%i = stablehlo.iota dim = 0 : tensor<2xui32>\n"
    "%b = stablehlo.add %a, %i : tensor<2xui32>\n"
    "%0:2 = \"stablehlo.all_to_all\"(%b, %a) {split_dimension = 0 : i64, concat_dimension = 0 : "
    "i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : "
    "(tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>)\n"
    "return %0#0, %0#1 : tensor<2xui32>, tensor<2xui32>\n}\n"
    "func.func @main() {\n%0:4 = \"interpreter.run_parallel\"() {programs = [[@f], [@f]]} : () -> "
    "(tensor<2xui32>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>)\n"
    "check.expect_eq_const %0#0, dense<[0, 10]> : tensor<2xui32>\n"
    "check.expect_eq_const %0#1, dense<[0, 10]> : tensor<2xui32>\n"
    "check.expect_eq_const %0#2, dense<[1, 11]> : tensor<2xui32>\n"
    "check.expect_eq_const %0#3, dense<[0, 10]> : tensor<2xui32>\n"
    "%t = \"stablehlo.async_start\"(%0#2) ({\n^bb0(%x: tensor<2xui32>):\n"
    "%1 = stablehlo.slice %x [1:2] : (tensor<2xui32>) -> tensor<1xui32>\n"
    "stablehlo.return %1 : tensor<1xui32>\n}) : (tensor<2xui32>) -> "
    "!stablehlo.future<tensor<1xui32>>\n"
    "%d = \"stablehlo.async_done\"(%t) : (!stablehlo.future<tensor<1xui32>>) -> tensor<1xui32>\n"
    "check.expect_eq_const %d, dense<11> : tensor<1xui32>\nreturn\n}\n",
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

START_TEST(the_specification_holds)
{
    struct checks checks = {0};
    struct error err = {0};
    struct mlir_file *file = mlir_parse(programs[_i], strlen(programs[_i]), "program", 1, &err);
    ck_assert_msg(file != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, programs[_i]);
    ck_assert_int_eq(run_module(file, &checks), 1);
    ck_assert_msg(checks.failed == 0, "%s\n%s", programs[_i],
                  checks.pictures != NULL ? checks.pictures->data : "");
    ck_assert_int_gt(checks.passed, 0);
    checks_finish(&checks);
    mlir_file_destroy(file);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("stablehlo_ops");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, every_check_holds, 0, FILES);
    tcase_add_loop_test(cases, the_specification_holds, 0, PROGRAMS);
    Suite *suite = suite_create("stablehlo_ops");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
