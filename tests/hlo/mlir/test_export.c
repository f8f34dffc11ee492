/* HLO → StableHLO. Each module of fixtures/export is written as StableHLO, printed, read again and
 * translated back; then it must mean what it did (same.hlo), or what the module after it does
 * (other.hlo). Every row of export.def occurs. check_export.py lets jaxlib verify the same texts.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "tests/hlo/mlir/meaning.h"

static bool seen[OPCODE_COUNT];

static char *read_fixture(const char *name)
{
    const char *source = getenv("REFEREE_SOURCE");
    char path[4096];
    size_t size;
    struct error err = {0};
    snprintf(path, sizeof path, "%s/tests/hlo/mlir/fixtures/export/%s.hlo",
             source != NULL ? source : ".", name);
    char *text = file_read(path, &size, &err);
    ck_assert_msg(text != NULL, "%s", err.message);
    return text;
}

static struct module *read_module(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text);
    struct findings findings = {0};
    ck_assert_msg(verify_module(module, &findings), "%s\n%s", findings.list[0].text, text);
    findings_finish(&findings);
    return module;
}

/* Out as text, and in again: the same file, from which a module is made. */
static struct module *there_and_back(const struct module *module)
{
    struct error err = {0};
    struct mlir_file *file = mlir_export(module, &err);
    ck_assert_msg(file != NULL, "%s: %s", module->name, err.message);
    struct text text;
    text_init(&text);
    mlir_print(file, &text);
    struct mlir_file *again = mlir_parse(text.data, text.size, "printed", 1, &err);
    ck_assert_msg(again != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text.data);
    ck_assert_msg(mlir_file_equal(file, again, &err), "%s\n%s", err.message, text.data);
    struct module *back = mlir_import(again, NULL, &err);
    ck_assert_msg(back != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text.data);
    struct findings findings = {0};
    ck_assert_msg(verify_module(back, &findings), "%s\n%s", findings.list[0].text, text.data);
    findings_finish(&findings);
    text_finish(&text);
    mlir_file_destroy(file);
    mlir_file_destroy(again);
    return back;
}

static void note_opcodes(const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            seen[module->computations[c]->instructions[i]->opcode] = true;
        }
    }
}

/* The part that begins at text, cut off; the next one, or NULL. */
static char *cut(char *text)
{
    char *end = strstr(text, "// -----");
    if (end != NULL) {
        *end = '\0';
    }
    return end != NULL ? end + strlen("// -----") : NULL;
}

static void check_fixture(const char *name, bool is_followed)
{
    char *text = read_fixture(name), *next = text;
    while (next != NULL) {
        char *part = next, *want_text = part;
        next = cut(part);
        if (is_followed) {
            ck_assert_ptr_nonnull(next);
            want_text = next;
            next = cut(want_text);
        }
        struct module *module = read_module(part), *want = read_module(want_text);
        struct module *back = there_and_back(module);
        check_same_meaning(back, want, module->name);
        note_opcodes(module);
        module_destroy(module);
        module_destroy(want);
        module_destroy(back);
    }
    free(text);
}

START_TEST(every_row_comes_back)
{
    static const struct {
        enum opcode opcode;
        const char *name;
    } rows[] = {
#define EXPORT(opcode, token) {OP_##opcode, #opcode},
#include "hlo/mlir/export/export.def"
    };
    check_fixture("same", false);
    check_fixture("other", true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_msg(seen[rows[i].opcode], "no fixture has %s", rows[i].name);
    }
}
END_TEST

/* What the entry says comes back with it. */
START_TEST(attributes_of_the_entry)
{
    struct module *module = read_module(
        "HloModule m, input_output_alias={ {1}: (0, {1}, must-alias) }, "
        "buffer_donor={ (1, {}) }, frontend_attributes={whose=\"module\"}\n"
        "ENTRY e {\n"
        "  p = (f32[2], f32[2]) parameter(0), sharding={{replicated}, {devices=[2]<=[2]}}\n"
        "  y = f32[2] parameter(1), frontend_attributes={k=\"v\"}\n"
        "  x = f32[2] get-tuple-element(p), index=1\n"
        "  s = f32[2] add(x, y)\n"
        "  ROOT t = (f32[2], f32[2]) tuple(y, s), sharding={{replicated}, {devices=[2]<=[2]}}\n"
        "}\n");
    struct module *back = there_and_back(module);
    const struct module_config *config = &back->config;
    ck_assert_int_eq(config->alias_count, 1);
    ck_assert_int_eq(config->aliases[0].parameter, 1);
    ck_assert_int_eq(config->aliases[0].kind, ALIAS_MAY);
    ck_assert_int_eq(config->aliases[0].output_index.count, 1);
    ck_assert_int_eq(config->aliases[0].output_index.values[0], 1);
    ck_assert_int_eq(config->donor_count, 1);
    ck_assert_int_eq(config->donors[0].parameter, 2);
    ck_assert_int_eq(config->frontend_attributes.count, 1);
    const struct computation *entry = back->entry;
    ck_assert_int_eq(entry->parameter_count, 3);
    ck_assert_int_eq(attr_sharding(entry->parameters[0])->form, SHARDING_REPLICATED);
    ck_assert_int_eq(attr_sharding(entry->parameters[1])->form, SHARDING_TILED);
    ck_assert_ptr_null(attr_sharding(entry->parameters[2]));
    ck_assert_ptr_nonnull(attr_frontend(entry->parameters[2], "k"));
    const struct sharding *root = attr_sharding(entry->root);
    ck_assert_ptr_nonnull(root);
    ck_assert_int_eq(root->count, 2);
    ck_assert_int_eq(root->elements[1]->form, SHARDING_TILED);
    module_destroy(module);
    module_destroy(back);
}
END_TEST

/* --- what is refused, by name --- */

static const struct {
    const char *body, *message;
} refused[] = {
    {"ROOT x = s1[2] parameter(0)", "parameter x has no form in StableHLO: an integer of one bit"},
    {"ROOT x = f32[<=2] parameter(0)", "sizes of the run time"},
    {"x = f32[2,3]{0,1} parameter(0)\n ROOT y = f32[3,2]{1,0} bitcast(x)", "bitcast y has no form"},
    {"x = f32[4] parameter(0)\n ROOT k = (f32[2], s32[2]) topk(x), k=2, largest=false",
     "topk k has no form in StableHLO: of the smallest"},
    {"ROOT x = u64[2] rng-get-and-update-state(), delta=1", "no op means this"},
    {"x = f32[2] parameter(0)\n y = f64[2] parameter(1)\n ROOT z = f64[2] add(x, y)",
     "f64 from f32"},
    {"x = f32[2] parameter(0)\n t = token[] after-all()\n"
     "s = (f32[2], u32[], token[]) send(x, t), channel_id=1\n"
     "r = (f32[2], u32[], token[]) recv(t), channel_id=1\n"
     "d = (f32[2], token[]) recv-done(r), channel_id=1\n"
     "ROOT e = token[] send-done(s), channel_id=1",
     "send s has no form in StableHLO: other transfers stand between it and its end"},
    {"x = f32[2] parameter(0)\n t = token[] after-all()\n"
     "s = (f32[2], u32[], token[]) send(x, t), channel_id=1\n"
     "u = u32[] get-tuple-element(s), index=1\n"
     "ROOT e = token[] send-done(s), channel_id=1",
     "used by u"},
    {"x = f32[2] parameter(0)\n ROOT s = (f32[2], f32[2], u32[]) copy-start(x)",
     "its end is missing"},
};

START_TEST(refusals_are_named)
{
    char text[2048];
    struct error err = {0};
    snprintf(text, sizeof text, "HloModule m\nENTRY e {\n %s\n}\n", refused[_i].body);
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text);
    struct mlir_file *file = mlir_export(module, &err);
    ck_assert_msg(file == NULL, "not refused: %s", text);
    ck_assert_int_eq(err.code, ERROR_UNIMPLEMENTED);
    ck_assert_msg(strstr(err.message, refused[_i].message) != NULL, "%s\n%s", err.message, text);
    module_destroy(module);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hlo/mlir/export");
    TCase *cases = tcase_create("export");
    tcase_add_test(cases, every_row_comes_back);
    tcase_add_test(cases, attributes_of_the_entry);
    tcase_add_loop_test(cases, refusals_are_named, 0, sizeof refused / sizeof *refused);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
