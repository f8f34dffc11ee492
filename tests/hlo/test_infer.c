/* Shape inference and the shape checks of the verifier against XLA's own verdicts.
 *
 * fixtures/infer_cases.tsv has an instruction a line, with its shape omitted or written: what the
 * parser of jaxlib 0.10.2 (which infers omitted shapes) and the verifier in XLA's CPU backend say
 * of it, either the shape or that it is refused. The computations that the instructions call are
 * fixtures/infer_computations.hlo. Here, as there, text that cannot be read, or that the verifier
 * has a finding on, is refused. */
#include "fixtures.h"

#include "hlo/base/arena.h"
#include "hlo/base/text.h"
#include "hlo/infer.h"
#include "hlo/opcode.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"

enum { COLUMNS = 4 };

/* Cuts the line at its tabs. */
static bool cut_line(char *line, char *columns[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = line;
        line = strchr(line, '\t');
        if (line == NULL) {
            return i == COLUMNS - 1;
        }
        *line++ = '\0';
    }
    return false;
}

/* The module around an instruction: header, the computations, an entry with the parameters. */
static void write_module(char *columns[COLUMNS], const char *computations, struct text *out)
{
    text_clear(out);
    text_printf(out, "HloModule m%s%s\n%s\nENTRY e {\n", *columns[0] != '\0' ? ", " : "",
                columns[0], computations);
    char *parameter = columns[1];
    for (int i = 0; *parameter != '\0'; i++) {
        char *next = strstr(parameter, " ; ");
        size_t size = next != NULL ? (size_t)(next - parameter) : strlen(parameter);
        text_printf(out, " p%d = %.*s parameter(%d)\n", i, (int)size, parameter, i);
        parameter += next != NULL ? size + 3 : size;
    }
    text_printf(out, " ROOT r = %s\n}\n", columns[2]);
}

static void check_case(char *columns[COLUMNS], const struct text *text, bool seen[OPCODE_COUNT])
{
    struct error err = {0};
    bool is_refused = strcmp(columns[3], "refused") == 0;
    struct module *module = text_read_module(text->data, text->size, "case", 1, &err);
    if (module == NULL) {
        ck_assert_msg(is_refused, "%s: %s is refused: %s", columns[1], columns[2], err.message);
        return;
    }
    struct findings findings;
    bool ok = verify_module(module, &findings);
    const struct instruction *root = module->entry->root;
    seen[root->opcode] = true;
    ck_assert_msg(ok != is_refused, "%s: %s must be %s: %s", columns[1], columns[2], columns[3],
                  ok ? "it is accepted" : findings.list[0].text);
    if (ok) {
        struct text shape;
        text_init(&shape);
        shape_print(root->shape, true, &shape);
        ck_assert_msg(strcmp(shape.data, columns[3]) == 0, "%s: %s is %s, must be %s", columns[1],
                      columns[2], shape.data, columns[3]);
        text_finish(&shape);
    }
    findings_finish(&findings);
    module_destroy(module);
}

/* Opcodes without a row: pairs and wrappers, which need more than one instruction (test_verify.c).
 */
static bool needs_company(enum opcode opcode)
{
    const char *text = opcode_text(opcode);
    size_t size = strlen(text);
    return (size > 5 && strcmp(text + size - 5, "-done") == 0) ||
           (size > 6 && strcmp(text + size - 6, "-start") == 0) || opcode == OP_ASYNC_UPDATE ||
           opcode == OP_SEND || opcode == OP_RECV || opcode == OP_PARAMETER ||
           opcode == OP_DOMAIN || opcode == OP_RAGGED_ALL_TO_ALL || opcode == OP_SCAN;
}

START_TEST(test_cases)
{
    size_t size;
    char *computations = fixture_read("infer_computations.hlo", &size);
    char *cases = fixture_read("infer_cases.tsv", &size);
    bool seen[OPCODE_COUNT] = {false};
    struct text text;
    text_init(&text);
    int count = 0;
    for (char *line = cases, *next; *line != '\0'; line = next) {
        next = line + strcspn(line, "\n");
        next += *next == '\n';
        if (*line == '#') {
            continue;
        }
        if (next[-1] == '\n') {
            next[-1] = '\0';
        }
        char *columns[COLUMNS];
        ck_assert_msg(cut_line(line, columns), "not four columns: %s", line);
        write_module(columns, computations, &text);
        check_case(columns, &text, seen);
        count++;
    }
    ck_assert_int_gt(count, 1000);
    for (int i = 0; i < OPCODE_COUNT; i++) {
        ck_assert_msg(seen[i] || needs_company((enum opcode)i), "no case for %s",
                      opcode_text((enum opcode)i));
    }
    text_finish(&text);
    free(cases);
    free(computations);
}
END_TEST

/* Which of two types is the result's, by the rule in xla/primitive_util.h HigherPrecisionType. */
START_TEST(test_higher_type)
{
    static const struct {
        const char *a, *b, *result;
    } cases[] = {
        {"f32", "bf16", "f32"},  {"bf16", "f16", "bf16"},
        {"f16", "f32", "f32"},   {"f8e4m3fn", "f8e5m2", "f8e5m2"},
        {"s8", "s32", "s32"},    {"u8", "s8", "s8"},
        {"s32", "u32", "s32"},   {"f16", "s64", "f16"},
        {"c64", "f64", "c64"},   {"f64", "f32", "f64"},
        {"c64", "c128", "c128"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int swap = 0; swap < 2; swap++) {
            char text[400];
            snprintf(text, sizeof text,
                     "HloModule m\nENTRY e { a = %s[2] parameter(0)\n b = %s[2] parameter(1)\n"
                     " ROOT r = dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
                     swap ? cases[i].b : cases[i].a, swap ? cases[i].a : cases[i].b);
            struct error err = {0};
            struct module *module = text_read_module(text, strlen(text), "t", 1, &err);
            ck_assert_msg(module != NULL, "%s", err.message);
            ck_assert_str_eq(type_text(module->entry->root->shape->type), cases[i].result);
            module_destroy(module);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("infer");
    TCase *tcase = tcase_create("infer");
    tcase_add_test(tcase, test_cases);
    tcase_add_test(tcase, test_higher_type);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
