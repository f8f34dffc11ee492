/* Shardy in MLIR → HLO: programs as JAX lowers them for a mesh of 2 × 2, against the HLO that
 * jaxlib makes of them, which says shardings as text and, besides, in HLO's own way (left out
 * here); and what is the identity on whole arrays. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/verify.h"
#include "tests/hlo/mlir/meaning.h"

static struct module *import_text(const char *text, struct error *err)
{
    struct mlir_file *file = mlir_parse(text, strlen(text), "test", 1, err);
    ck_assert_msg(file != NULL, "line %d: %s\n%s", err->line, err->message, text);
    struct module *module = mlir_import(file, NULL, err);
    mlir_file_destroy(file);
    return module;
}

static void check_becomes(const char *mlir, const char *hlo)
{
    struct error err = {0};
    struct module *made = import_text(mlir, &err);
    ck_assert_msg(made != NULL, "line %d: %s\n%s", err.line, err.message, mlir);
    struct findings findings;
    ck_assert_msg(verify_module(made, &findings), "%s", findings.list[0].text);
    findings_finish(&findings);
    struct module *expected = text_read_module(hlo, strlen(hlo), "expected", 1, &err);
    ck_assert_msg(expected != NULL, "line %d: %s", err.line, err.message);
    check_same_meaning(made, expected, mlir);
    const struct string_map *map = &made->config.frontend_attributes;
    const struct string_map *other = &expected->config.frontend_attributes;
    ck_assert_int_eq(map->count, other->count);
    for (int i = 0; i < map->count; i++) {
        ck_assert_str_eq(map->entries[i].key.data, other->entries[i].key.data);
        ck_assert_str_eq(map->entries[i].value.data, other->entries[i].value.data);
    }
    module_destroy(made);
    module_destroy(expected);
}

#define HEAD                                                                                \
    "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n" \
    "  sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>\n"
#define HLO_HEAD                                                                  \
    "HloModule m, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = " \
    "#sdy.mesh<[\"x\"=2, \"y\"=2]>}}\n"

START_TEST(test_constraint)
{
    check_becomes(
        HEAD "  func.func public @main(%arg0: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, "
             "[{\"x\"}, {}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, "
             "{\"y\"}]>}) {\n"
             "    %0 = stablehlo.sine %arg0 : tensor<4x4xf32>\n"
             "    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {\"y\"}]> : tensor<4x4xf32>\n"
             "    return %1 : tensor<4x4xf32>\n  }\n}\n",
        HLO_HEAD
        "ENTRY main {\n"
        "  a = f32[4,4] parameter(0), "
        "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, [{\\\"x\\\"}, {}]>\"}\n"
        "  sin = f32[4,4] sine(a)\n"
        "  c = f32[4,4] custom-call(sin), custom_call_target=\"Sharding\", "
        "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding_per_value<[<@mesh, [{}, "
        "{\\\"y\\\"}]>]>\"}\n"
        "  ROOT r = f32[4,4] custom-call(c), custom_call_target=\"xla.sdy.FuncResultSharding\", "
        "custom_call_has_side_effect=true, "
        "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding_per_value<[<@mesh, [{\\\"x\\\"}, "
        "{\\\"y\\\"}]>]>\"}\n}\n");
}
END_TEST

START_TEST(test_manual)
{
    check_becomes(
        HEAD
        "  func.func public @main(%arg0: tensor<4x4xf32>) -> tensor<2x4xf32> {\n"
        "    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{\"x\"}, {\"y\"}]>] "
        "out_shardings=[<@mesh, [{}, {\"y\"}]>] manual_axes={\"x\", \"y\"} (%arg1: "
        "tensor<2x2xf32>) {\n"
        "      %1 = \"stablehlo.all_reduce\"(%arg1) <{channel_handle = "
        "#stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> "
        ": tensor<2x2xi64>, use_global_device_ids}> ({\n"
        "      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):\n"
        "        %2 = stablehlo.add %arg2, %arg3 : tensor<f32>\n"
        "        %3 = sdy.sharding_constraint %2 <@mesh, []> : tensor<f32>\n"
        "        stablehlo.return %3 : tensor<f32>\n"
        "      }) : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
        "      sdy.return %1 : tensor<2x2xf32>\n"
        "    } : (tensor<4x4xf32>) -> tensor<2x4xf32>\n"
        "    return %0 : tensor<2x4xf32>\n  }\n}\n",
        HLO_HEAD
        "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }\n"
        "body { p = f32[2,2] parameter(0)\n"
        "  ROOT r = f32[2,2] all-reduce(p), channel_id=1, replica_groups={{0,2},{1,3}}, "
        "use_global_device_ids=true, to_apply=add }\n"
        "ENTRY main {\n"
        "  a = f32[4,4] parameter(0)\n"
        "  b = f32[2,2] custom-call(a), custom_call_target=\"xla.sdy.GlobalToLocalShape\", "
        "custom_call_has_side_effect=true, "
        "frontend_attributes={xla.sdy.in_shardings=\"#sdy.sharding_per_value<[<@mesh, "
        "[{\\\"x\\\"}, {\\\"y\\\"}]>]>\",xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"x\\\", "
        "\\\"y\\\"}>\"}\n"
        "  c = f32[2,2] call(b), to_apply=body, frontend_attributes={inlineable=\"false\"}\n"
        "  ROOT r = f32[2,4] custom-call(c), custom_call_target=\"xla.sdy.LocalToGlobalShape\", "
        "custom_call_has_side_effect=true, "
        "frontend_attributes={xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"x\\\", \\\"y\\\"}>\","
        "xla.sdy.out_shardings=\"#sdy.sharding_per_value<[<@mesh, [{}, {\\\"y\\\"}]>]>\"}\n}\n");
}
END_TEST

/* Two arrays in and out, only one axis manual. */
START_TEST(test_manual_tuples)
{
    struct error err = {0};
    struct module *module = import_text(
        HEAD
        "  func.func public @main(%a: tensor<4x4xf32>, %b: tensor<4xf32>) -> (tensor<4x4xf32>, "
        "tensor<4xf32>) {\n"
        "    %0:2 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{\"x\", ?}, {?}]>, "
        "<@mesh, "
        "[{\"x\"}]>] out_shardings=[<@mesh, [{\"x\", ?}, {?}]>, <@mesh, [{\"x\"}]>] "
        "manual_axes={\"x\"} (%c: tensor<2x4xf32>, %d: tensor<2xf32>) {\n"
        "      sdy.return %c, %d : tensor<2x4xf32>, tensor<2xf32>\n"
        "    } : (tensor<4x4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)\n"
        "    return %0#0, %0#1 : tensor<4x4xf32>, tensor<4xf32>\n  }\n}\n",
        &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    struct findings findings;
    ck_assert_msg(verify_module(module, &findings), "%s", findings.list[0].text);
    findings_finish(&findings);
    int borders = 0, named = 0;
    for (int i = 0; i < module->entry->count; i++) {
        const struct instruction *instruction = module->entry->instructions[i];
        borders += instruction->opcode == OP_CUSTOM_CALL && shape_is_tuple(instruction->shape);
        named += instruction->opcode == OP_CALL &&
                 strncmp(instruction->called[0]->name, "xla.sdy.manual_computation_body",
                         strlen("xla.sdy.manual_computation_body")) == 0;
    }
    ck_assert_int_eq(borders, 2);
    ck_assert_int_eq(named, 1);
    module_destroy(module);
}
END_TEST

START_TEST(test_identities)
{
    check_becomes(
        HEAD
        "  func.func public @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {\n"
        "    sdy.sharding_group %a group_id=21 : tensor<4x4xf32>\n"
        "    %0 = sdy.propagation_barrier %a allowed_direction=FORWARD : tensor<4x4xf32>\n"
        "    %1 = sdy.all_gather [{}, {\"y\"}] %0 out_sharding=<@mesh, [{}, {}]> : "
        "tensor<4x4xf32>\n"
        "    %2 = sdy.all_slice [{\"x\"}, {}] %1 out_sharding=<@mesh, [{\"x\"}, {}]> : "
        "tensor<4x4xf32>\n"
        "    %3 = sdy.all_to_all [{\"x\"}: 0->1] %2 out_sharding=<@mesh, [{}, {\"x\"}]> : "
        "tensor<4x4xf32>\n"
        "    %4 = sdy.collective_permute %3 out_sharding=<@mesh, [{}, {\"y\"}]> : tensor<4x4xf32>\n"
        "    %5 = sdy.named_computation<\"f\">(%4) (%b: tensor<4x4xf32>) {\n"
        "      %6 = stablehlo.negate %b : tensor<4x4xf32>\n"
        "      sdy.return %6 : tensor<4x4xf32>\n"
        "    } : (tensor<4x4xf32>) -> tensor<4x4xf32>\n"
        "    %7 = sdy.constant dense<1.0> : tensor<4x4xf32>\n"
        "    %8 = stablehlo.add %5, %7 : tensor<4x4xf32>\n"
        "    return %8 : tensor<4x4xf32>\n  }\n}\n",
        HLO_HEAD "f { p = f32[4,4] parameter(0) ROOT r = f32[4,4] negate(p) }\n"
                 "ENTRY main {\n"
                 "  a = f32[4,4] parameter(0)\n"
                 "  b = f32[4,4] call(a), to_apply=f\n"
                 "  one = f32[] constant(1)\n"
                 "  c = f32[4,4] broadcast(one), dimensions={}\n"
                 "  ROOT r = f32[4,4] add(b, c)\n}\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import_shardy");
    TCase *cases = tcase_create("import_shardy");
    tcase_add_test(cases, test_constraint);
    tcase_add_test(cases, test_manual);
    tcase_add_test(cases, test_manual_tuples);
    tcase_add_test(cases, test_identities);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
