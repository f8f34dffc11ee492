/* HLO text: golden texts (golden/README.md), malformed texts with the place of the error, what is
 * equal, generated names, elided constants, limits. Literals are in test_literal_text.c. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct module *read(const char *text, struct error *err)
{
    memset(err, 0, sizeof *err);
    return text_read_module(text, strlen(text), "test.hlo", 1, err);
}

static struct module *must_read(const char *text)
{
    struct error err;
    struct module *module = read(text, &err);
    ck_assert_msg(module != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text);
    return module;
}

/* --- golden texts --- */

static char *golden_file(const char *name, const char *ending, size_t *size)
{
    const char *source = getenv("REFEREE_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/hlo/golden/%s%s", source != NULL ? source : ".", name,
             ending);
    struct error err = {0};
    char *data = file_read(path, size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);
    return data;
}

/* Where two texts part, for the message. */
static void check_text(const char *name, const char *found, const char *expected)
{
    int line = 1;
    const char *found_line = found, *expected_line = expected;
    while (*found != '\0' && *found == *expected) {
        if (*found == '\n') {
            line++;
            found_line = found + 1;
            expected_line = expected + 1;
        }
        found++;
        expected++;
    }
    ck_assert_msg(*found == *expected, "%s, line %d:\nexpected %.200s\nfound    %.200s", name, line,
                  expected_line, found_line);
}

static void check_round_trip(const struct module *module, const struct print_options *options,
                             const char *name)
{
    struct text out;
    text_init(&out);
    text_print_module(module, options, &out);
    struct error err = {0};
    struct module *again = text_read_module(out.data, out.size, "printed", 1, &err);
    ck_assert_msg(again != NULL, "%s: print is refused: %d:%d: %s", name, err.line, err.column,
                  err.message);
    ck_assert_msg(module_equal(module, again, &err), "%s reads back as another: %s", name,
                  err.message);
    module_destroy(again);
    text_finish(&out);
}

static void check_golden(const char *name)
{
    size_t size, expected_size;
    char *text = golden_file(name, ".hlo", &size);
    char *expected = golden_file(name, ".expected", &expected_size);
    struct error err = {0};
    struct module *module = text_read_module(text, size, name, 1, &err);
    ck_assert_msg(module != NULL, "%s:%d:%d: %s", name, err.line, err.column, err.message);
    struct text out;
    text_init(&out);
    text_print_module(module, &print_canonical, &out);
    check_text(name, out.data, expected);
    text_finish(&out);
    check_round_trip(module, &print_canonical, name);
    check_round_trip(module, &print_long, name);
    module_destroy(module);
    free(text);
    free(expected);
}

START_TEST(golden)
{
    const char *source = getenv("REFEREE_SOURCE");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/hlo/golden", source != NULL ? source : ".");
    DIR *directory = opendir(path);
    ck_assert_msg(directory != NULL, "no folder %s", path);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".hlo") == 0) {
            char *name = memory_strdup(entry->d_name);
            name[length - 4] = '\0';
            check_golden(name);
            free(name);
            count++;
        }
    }
    closedir(directory);
    ck_assert_int_ge(count, 20);
}
END_TEST

/* --- malformed texts --- */

#define BODY(instruction)                                                                          \
    "HloModule m\nsum {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"                     \
    "  ROOT z = f32[] add(x, y)\n}\nENTRY e {\n  a = f32[4] parameter(0)\n  ROOT b = " instruction \
    "\n}\n"

/* The instruction stands in line 9 from column 12 on. */
static const struct {
    const char *text;
    int line, column;
    const char *message;
} malformed[] = {
    {"", 1, 1, "empty"},
    {"// only a comment\n", 2, 1, "empty"},
    {"HloModule", 1, 10, "the module's name"},
    {"HloModule m, is_scheduled=maybe\n", 1, 27, "true or false"},
    {"HloModule m, color=red\n", 1, 14, "color"},
    {"HloModule m, replica_count=1, replica_count=2\n", 1, 31, "twice"},
    {"HloModule m, is_scheduled =true\n", 1, 14, "an attribute"},
    {"HloModule m\n", 2, 1, "a computation"},
    {"HloModule m\nFileNames\n1 \"a\"\nENTRY e {\n", 4, 1, "FunctionNames"},
    {"HloModule m\nENTRY e {\n}\n", 3, 1, "an instruction name"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n", 4, 1, "an instruction name"},
    {"HloModule m\nENTRY e {\n  f32 = f32[] parameter(0)\n}\n", 3, 3, "reserved word 'f32'"},
    {"HloModule m\nENTRY e {\n  %f32 = f32[] parameter(0)\n}\n", 3, 4, "f32 cannot be the name"},
    {"HloModule m\nENTRY e {\n  __a = f32[] parameter(0)\n}\n", 3, 3, "__a cannot be the name"},
    {"HloModule m\nENTRY e {\n  1a = f32[] parameter(0)\n}\n", 3, 3, "an instruction name"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  a = f32[] negate(a)\n}\n", 4, 3,
     "instruction a was defined before, on line 3"},
    {"HloModule m\nENTRY e {\n  ROOT a = f32[] parameter(0)\n  ROOT b = f32[] abs(a)\n}\n", 4, 3,
     "second ROOT"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n}\nENTRY f {\n  a = f32[] "
     "parameter(0)\n}\n",
     5, 1, "second ENTRY"},
    {"HloModule m\ne {\n  a = f32[] parameter(0)\n}\ne {\n  a = f32[] parameter(0)\n}\n", 5, 1,
     "e was defined before"},
    {"HloModule m\nENTRY e (a: f32[]) -> s32[] {\n  a = f32[] parameter(0)\n}\n", 2, 23, "s32[]"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n}, color=\"red\"\n", 4, 4, "color"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(1)\n}\n", 3, 3, "parameter number 1"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(-1)\n}\n", 3, 23, "negative"},
    {BODY("f32[4] fly(a)"), 9, 19, "fly"},
    {BODY("f32[4] copy-fly(a)"), 9, 19, "copy-fly"},
    {BODY("f32[4] all-reduce-update(a)"), 9, 19, "all-reduce-update"},
    {BODY("f32[4] add(a)"), 9, 19, "add takes 2 operands, found 1"},
    {BODY("f32[4] add(a, c)"), 9, 26, "no instruction c"},
    {BODY("f32[4] add(a, b)"), 9, 26, "no instruction b"},
    {BODY("f32[4] add(a, f32[5] a)"), 9, 26, "f32[5]{0}"},
    {BODY("f32[4] add(a, %)"), 9, 27, "an operand"},
    {BODY("f32[4] add(a a)"), 9, 25, "')'"},
    {BODY("f32[4] add(a, negate(c))"), 9, 33, "no instruction c"},
    {BODY("f32[4] add(a, negate(a), wide=1)"), 9, 37, "no instruction wide"},
    {BODY("f32[4] negate(a#0)"), 9, 27, "no tuple"},
    {BODY("f32[4] negate(a), wide=1"), 9, 30, "negate has no attribute wide"},
    {BODY("f32[4] negate(a), dimensions={0}"), 9, 30, "negate has no attribute dimensions"},
    {BODY("f32[4] negate(a), metadata={op_name=\"x\"}, metadata={}"), 9, 54, "twice"},
    {BODY("f32[4] negate(a), metadata={op_name=\"x}"), 9, 48, "string without an end"},
    {BODY("f32[4] negate(a), metadata={op_name=\"\\q\"}"), 9, 49, "escape"},
    {BODY("f32[4] negate(a), metadata={owner=\"x\"}"), 9, 40, "unknown field owner"},
    {BODY("f32[4] negate(a), metadata={source_line=4294967296}"), 9, 52, "32 bits"},
    {BODY("f32[4] negate(a), backend_config={\"a\":\"}"), 9, 45, "without a matching"},
    {BODY("f32[4] negate(a), sharding={devices=[2,2]0,1}"), 9, 48, "2 devices"},
    {BODY("f32[4] negate(a), sharding={devices=[4]<=[2]}"), 9, 48, "differ in size"},
    {BODY("f32[4] negate(a), sharding={devices=[4]<=[2,2]T(0,0)}"), 9, 59, "permutation"},
    {BODY("f32[4] negate(a), sharding={mesh[\"x\"=2], [{\"y\"}]}"), 9, 55, "no axis y"},
    {BODY("f32[4] negate(a), sharding={mesh[\"x\"=2,\"x\"=2], []}"), 9, 51, "twice"},
    {BODY("f32[4] negate(a), sharding={maximal}"), 9, 40, "device="},
    {BODY("f32[4] negate(a), control-predecessors={}"), 9, 52, "an instruction"},
    {BODY("f32[4] negate(a), origin={(}"), 9, 39, "'{', '('"},
    {BODY("f32[] reduce(a, a), to_apply=sum"), 9, 18, "dimensions"},
    {BODY("f32[] reduce(a, a), dimensions={0}, to_apply=mul"), 9, 57, "no computation mul"},
    {BODY("f32[4] iota()"), 9, 19, "iota_dimension"},
    {BODY("f32[4] slice(a), slice={[0]}"), 9, 36, "[start:limit]"},
    {BODY("f32[4] pad(a, a), padding=1"), 9, 39, "'_'"},
    {BODY("f32[4] pad(a, a), padding=1_1_1_1"), 9, 43, "more than 3"},
    {BODY("pred[4] compare(a, a), direction=UP"), 9, 45, "direction cannot be UP"},
    {BODY("f32[4] reduce-window(a, a), window={size=2 stride=1x1}, to_apply=sum"), 9, 47, "stride"},
    {BODY("f32[4] convolution(a, a), dim_labels=b0f_0io->b00f"), 9, 60, "repeated"},
    {BODY("f32[4] convolution(a, a), dim_labels=b0f_0io->bf"), 9, 49, "must agree"},
    {BODY("f32[4] convolution(a, a), dim_labels=b1f_0io->b0f"), 9, 49, "0 is missing"},
    {BODY("u32[4] rng-bit-generator(a), algorithm=dot_f32_f32_f32"), 9, 41, "does not fit"},
    {BODY("f32[4] add-start(a, a)"), 9, 19, "((operands), result"},
    {BODY("all-gather(a), dimensions={0}"), 9, 12, "the shape of all-gather must be written"},
    {BODY("add(a, sum)"), 9, 19, "no instruction sum"},
    {BODY("f32[4 negate(a)"), 9, 18, "shape: expected"},
    {BODY("f32[4]{0,1} negate(a)"), 9, 23, "layout"},
    {BODY("f33[4] negate(a)"), 9, 12, "shape: expected a type"},
    {BODY("f32[4] constant({1, 2, 3})"), 9, 36, "expected 4 elements in dimension 0, found 3"},
    {BODY("f32[4] constant({1, 2, 3, 4, 5})"), 9, 41, "more than 4 elements"},
    {BODY("f32[4] constant({{1, 2, 3, 4}})"), 9, 29, "deeper than the rank"},
    {BODY("f32[4] constant({1, 2, x, 4})"), 9, 35, "a value"},
    {BODY("s8[2] constant({1, 128})"), 9, 31, "out of the range of s8"},
    {BODY("u8[2] constant({1, -1})"), 9, 31, "out of the range of u8"},
    {BODY("s32[2] constant({1, 1.5})"), 9, 32, "expected an integer for s32"},
    {BODY("f16[2] constant({1, 1e6})"), 9, 32, "out of the range of f16"},
    {BODY("f8e4m3fn[1] constant({nan(0x1)})"), 9, 34, "no NaN payloads"},
    {BODY("f16[1] constant({nan(0x400)})"), 9, 29, "does not fit in f16"},
    {BODY("f32[1] constant({true})"), 9, 29, "true and false"},
    {BODY("c64[1] constant({1})"), 9, 29, "'('"},
    {BODY("(f32[], f32[]) constant((1))"), 9, 38, "','"},
    {BODY("token[] constant(1)"), 9, 29, "no values"},
    {BODY("f32[4] negate(a) b"), 10, 1, "'='"},
    {"HloModule m\nENTRY e {\n  a = f32[] parameter(0) /* open\n}\n", 3, 26, "an instruction name"},
    {"add(f32[] a, f32[] b)", 1, 5, "a parameter name"},
    {"f32[] add(a, b)", 1, 11, "no shape"},
    {"f32[] negate(f32[] a) x", 1, 23, "the end after a single instruction"},
};

START_TEST(malformed_texts)
{
    struct error err;
    struct module *module = read(malformed[_i].text, &err);
    ck_assert_msg(module == NULL, "this was read:\n%s", malformed[_i].text);
    ck_assert_msg(strstr(err.message, malformed[_i].message) != NULL,
                  "expected \"%s\" in \"%s\" of\n%s", malformed[_i].message, err.message,
                  malformed[_i].text);
    ck_assert_msg(err.line == malformed[_i].line && err.column == malformed[_i].column,
                  "expected %d:%d, found %d:%d (%s) in\n%s", malformed[_i].line,
                  malformed[_i].column, err.line, err.column, err.message, malformed[_i].text);
    ck_assert_str_eq(err.file, "test.hlo");
}
END_TEST

START_TEST(places)
{
    /* A part of a file: lines count on, and the source line is there for the caret. */
    struct error err = {0};
    const char *text = "HloModule m\nENTRY e {\n  a = f32[] fly()\n}\n";
    ck_assert_ptr_null(text_read_module(text, strlen(text), "file", 101, &err));
    ck_assert_int_eq(err.line, 103);
    ck_assert_int_eq(err.column, 13);
    ck_assert_str_eq(err.source, "  a = f32[] fly()");
    /* Instructions and computations know where they stand. */
    struct module *module = must_read(
        "HloModule m\n\nENTRY %e {\n  a = f32[] parameter(0)\n\n  b = add(abs(a),\n a)\n}");
    ck_assert_int_eq(module->entry->line, 3);
    struct instruction *b = computation_find(module->entry, "b");
    ck_assert_int_eq(b->line, 6);
    ck_assert_int_eq(b->column, 3);
    ck_assert_int_eq(b->operands[0]->line, 6);
    ck_assert_int_eq(b->operands[0]->column, 11);
    module_destroy(module);
}
END_TEST

/* --- structure --- */

START_TEST(callees)
{
    /* The order of instruction.called does not depend on the order of attributes. */
    struct module *module =
        must_read("HloModule m\n"
                  "c { p = s32[] parameter(0)\n ROOT t = pred[] constant(true) }\n"
                  "b { p = s32[] parameter(0)\n ROOT q = s32[] negate(p) }\n"
                  "d { ROOT p = s32[] parameter(0)\n q = s32[] negate(p) }\n"
                  "ENTRY e {\n  p = s32[] parameter(0)\n  i = pred[] parameter(1)\n"
                  "  v = s32[] while(p), condition=c, body=b\n"
                  "  w = s32[] while(p), body=b, condition=c\n"
                  "  k = s32[] conditional(i, p, p), false_computation=b, true_computation=d\n"
                  "  n = s32[] conditional(p, p, p, p), branch_computations={d, b, %d}\n}\n");
    for (const char *name = "vw"; *name != '\0'; name++) {
        char text[] = {*name, '\0'};
        struct instruction *loop = computation_find(module->entry, text);
        ck_assert_int_eq(loop->called_count, 2);
        ck_assert_str_eq(loop->called[0]->name, "b");
        ck_assert_str_eq(loop->called[1]->name, "c");
    }
    struct instruction *k = computation_find(module->entry, "k");
    ck_assert_str_eq(k->called[0]->name, "d");
    ck_assert_str_eq(k->called[1]->name, "b");
    struct instruction *n = computation_find(module->entry, "n");
    ck_assert_int_eq(n->called_count, 3);
    ck_assert_str_eq(n->called[2]->name, "d");
    struct computation *d = module_find_computation(module, "d");
    ck_assert_str_eq(d->root->name, "p");
    check_round_trip(module, &print_canonical, "callees");
    module_destroy(module);
}
END_TEST

START_TEST(conditional_forms)
{
    struct error err;
    const char *format = "HloModule m\nb { p = s32[] parameter(0)\n ROOT q = s32[] negate(p) }\n"
                         "ENTRY e {\n  p = s32[] parameter(0)\n  i = pred[] parameter(1)\n"
                         "  k = s32[] conditional(%s, p, p), %s\n}\n";
    static const char *const wrong[][2] = {
        {"p", "true_computation=b, false_computation=b"},
        {"i", "branch_computations={b, b}"},
        {"i", "true_computation=b"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[512];
        snprintf(text, sizeof text, format, wrong[i][0], wrong[i][1]);
        ck_assert_ptr_null(read(text, &err));
        ck_assert_int_eq(err.line, 7);
    }
}
END_TEST

START_TEST(equal_spellings)
{
    /* Spaces, quotes, defaults, the order of attributes and comments do not matter. */
    static const char *const pairs[][2] = {
        {BODY("f32[4] negate(a), metadata={op_name=\"n\" source_line=3}, sharding={replicated}"),
         BODY(
             "f32[4] negate( %a ) ,sharding={ replicated },metadata={source_line=3, op_name='n'}")},
        {BODY("pred[4] compare(a, a), direction=LT"),
         BODY("pred[4] compare(a, a), type=FLOAT, direction=LT")},
        {BODY("f32[4]{0} all-reduce(a), to_apply=sum"),
         BODY("f32[4] all-reduce(a), to_apply=%sum, replica_groups={}, constrain_layout=false, "
              "use_global_device_ids=false, mode=cross_replica")},
        {BODY("f32[4] negate(a), frontend_attributes={a=\"1\",b=\"2\"}"),
         BODY("f32[4] negate(a), frontend_attributes={b=\"2\", a=\"0\", a=\"1\"}")},
        {BODY("f32[4] negate(a), backend_config={\"a\":1}"),
         BODY("f32[4] negate(a), backend_config=\"{\\\"a\\\":1}\"")},
        {BODY("f32[4] tanh(a)"), BODY("f32[4] tanh(a), result_accuracy={mode=DEFAULT}")},
        {BODY("f32[1] slice(a), slice={[0:1]}"), BODY("f32[1] slice(a), slice={[ 0 : 1 : 1 ]}")},
        {BODY("f32[4] broadcast(a), dimensions={0}"),
         BODY("f32[4]/*layout*/{0} broadcast(a), dimensions={0}// end")},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct module *a = must_read(pairs[i][0]), *b = must_read(pairs[i][1]);
        struct error err = {0};
        ck_assert_msg(module_equal(a, b, &err), "%s\n%s", err.message, pairs[i][1]);
        module_destroy(a);
        module_destroy(b);
    }
}
END_TEST

START_TEST(different_texts)
{
    static const char *const pairs[][2] = {
        {"f32[4] negate(a)", "f32[4]{0:T(128)} negate(a)"},
        {"f32[4] negate(a), sharding={manual}", "f32[4] negate(a), sharding={unknown}"},
        {"f32[4] negate(a), metadata={op_name=\"a\"}",
         "f32[4] negate(a), metadata={op_name=\"b\"}"},
        {"pred[4] compare(a, a), direction=LT", "pred[4] compare(a, a), direction=LE"},
        {"pred[4] compare(a, a), direction=LT",
         "pred[4] compare(a, a), direction=LT, type=TOTALORDER"},
        {"f32[] constant(0)", "f32[] constant(-0)"},
        {"f32[4] negate(a)", "f32[4] abs(a)"},
        {"f32[] reduce-window(a, a), window={size=2}, to_apply=sum",
         "f32[] reduce-window(a, a), window={size=2 pad=0_1}, to_apply=sum"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct module *modules[2];
        for (int k = 0; k < 2; k++) {
            char text[512];
            snprintf(text, sizeof text,
                     "HloModule m\nsum {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
                     " ROOT z = f32[] add(x, y)\n}\nENTRY e {\n a = f32[4] parameter(0)\n"
                     " ROOT b = %s\n}\n",
                     pairs[i][k]);
            modules[k] = must_read(text);
        }
        struct error err = {0};
        ck_assert_msg(!module_equal(modules[0], modules[1], &err), "%s", pairs[i][1]);
        module_destroy(modules[0]);
        module_destroy(modules[1]);
    }
}
END_TEST

START_TEST(generated_names)
{
    /* Names that are made up keep out of the way of those that are written, before and after. */
    struct module *module =
        must_read("HloModule m\nENTRY e {\n  negate.anon = f32[] parameter(0)\n"
                  "  b = f32[] add(negate(negate.anon), negate(negate.anon))\n"
                  "  negate.anon.1 = f32[] abs(b)\n  t = (f32[], f32[]) tuple(b, b)\n"
                  "  c = f32[] abs(t#0)\n  ROOT t_0 = f32[] add(c, t#0)\n}\n");
    ck_assert_int_eq(module->entry->count, 9);
    for (int i = 0; i < module->entry->count; i++) {
        const char *name = module->entry->instructions[i]->name;
        ck_assert_ptr_eq(computation_find(module->entry, name), module->entry->instructions[i]);
    }
    struct instruction *c = computation_find(module->entry, "c");
    ck_assert_ptr_eq(c->operands[0], module->entry->root->operands[1]);
    ck_assert_str_eq(c->operands[0]->name, "t_0.1");
    module_destroy(module);
}
END_TEST

START_TEST(nesting)
{
    /* Deep is fine, too deep is an error, and neither uses up the stack. */
    for (int depth = 1000; depth <= 100000; depth *= 10) {
        struct text text;
        text_init(&text);
        text_append(&text, "HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] ");
        for (int i = 0; i < depth; i++) {
            text_append(&text, "negate(");
        }
        text_append(&text, "a");
        for (int i = 0; i < depth; i++) {
            text_append(&text, ")");
        }
        text_append(&text, "\n}\n");
        struct error err;
        struct module *module = read(text.data, &err);
        ck_assert_msg((module != NULL) == (depth == 1000), "depth %d: %s", depth, err.message);
        if (module != NULL) {
            ck_assert_int_eq(module->entry->count, depth + 1);
        } else {
            ck_assert_msg(strstr(err.message, "nesting") != NULL, "%s", err.message);
        }
        module_destroy(module);
        text_finish(&text);
    }
}
END_TEST

/* --- elided constants --- */

static uint64_t splitmix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

START_TEST(elided_constants)
{
    struct module *module = must_read(
        "HloModule m\nENTRY e {\n  a = f32[1000] constant({...})\n  b = s32[3,5] constant({...})\n"
        "  c = f32[2] constant({1, 2})\n  d = (f64[4], pred[64]) constant(({...}, {...}))\n"
        "  e = f32[1000] constant({...})\n  ROOT r = (f32[1000], s32[3,5]) tuple(a, b)\n}\n");
    ck_assert_int_eq(module->elided_count, 4);
    struct instruction *a = computation_find(module->entry, "a");
    struct instruction *b = computation_find(module->entry, "b");
    struct instruction *c = computation_find(module->entry, "c");
    struct instruction *d = computation_find(module->entry, "d");
    struct instruction *e = computation_find(module->entry, "e");
    ck_assert(a->elided && b->elided && !c->elided && d->elided);
    /* The formula of literal_fill.c. */
    for (int64_t i = 0; i < 1000; i++) {
        uint64_t x = splitmix(splitmix(0 + 1) + (uint64_t)i * 0x9e3779b97f4a7c15u);
        float expected = (float)(-0.1 + 0.3 * ((double)(x >> 40) * 0x1p-24));
        ck_assert(((float *)literal_data(a->literal))[i] == expected);
    }
    for (int64_t i = 0; i < 15; i++) {
        uint64_t x = splitmix(splitmix(1 + 1) + (uint64_t)i * 0x9e3779b97f4a7c15u);
        ck_assert_int_eq(literal_get_int(b->literal, i), (int64_t)(x & 7));
    }
    ck_assert(!literal_equal(a->literal, e->literal));
    int ones = 0;
    for (int64_t i = 0; i < 64; i++) {
        ones += (int)literal_get_int(d->literal->elements[1], i);
    }
    ck_assert(ones > 8 && ones < 56);
    check_round_trip(module, &print_canonical, "elided");
    /* The same text gives the same values. */
    struct text out;
    text_init(&out);
    text_print_module(module, &print_short, &out);
    ck_assert(strstr(out.data, "a = f32[1000]{0} constant({...})") != NULL);
    struct module *again = must_read(out.data);
    ck_assert(literal_equal(a->literal, computation_find(again->entry, "a")->literal));
    text_finish(&out);
    module_destroy(again);
    module_destroy(module);
}
END_TEST

START_TEST(copies)
{
    /* Long arrays of constants are shared, others and those in tuples are not: all have the bits of
     * the original, and the copy outlives it. */
    static const char form[] =
        "HloModule m\nENTRY e {\n  a = f32[20] constant({%s})\n  b = f32[3] constant({1, 2, 3})\n"
        "%s  c = f32[1000] constant({...})\n  ROOT r = (f32[20], f32[3]) tuple(a, b)\n}\n";
    static const char tuple[] =
        "  t = (s32[20], f32[]) constant(({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, "
        "17, 18, 19, 20}, 4))\n";
    static const char values[] =
        "nan(0x1), -nan, -0, 0.1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20";
    for (int with_tuple = 0; with_tuple < 2; with_tuple++) {
        char text[1024];
        struct error err = {0};
        snprintf(text, sizeof text, form, values, with_tuple ? tuple : "");
        struct module *module = must_read(text), *again = must_read(text);
        struct module *copy = text_copy_module(module, &err);
        ck_assert_ptr_nonnull(copy);
        ck_assert_int_eq(copy->elided_count, 0);
        module_destroy(module);
        for (int i = 0; i < again->entry->count; i++) {
            const struct instruction *old = again->entry->instructions[i];
            const struct instruction *new = copy->entry->instructions[i];
            ck_assert_str_eq(old->name, new->name);
            ck_assert(old->literal == NULL || literal_equal(old->literal, new->literal));
            ck_assert(!new->elided);
        }
        module_destroy(copy);
        module_destroy(again);
    }
}
END_TEST

START_TEST(huge_constants)
{
    /* Sizes from the text never crash: what cannot be is refused. */
    static const char *const texts[] = {
        "f32[4611686018427387904,4] constant({...})",
        "f32[999999999999] constant({1})",
        "f32[999999999999] constant(1)",
        "f32[999999999,999999999,999999999] constant({...})",
    };
    literal_set_memory_limit((size_t)64 << 20);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[256];
        snprintf(text, sizeof text, "HloModule m\nENTRY e {\n  ROOT a = %s\n}\n", texts[i]);
        struct error err;
        ck_assert_msg(read(text, &err) == NULL, "%s was read", texts[i]);
        ck_assert_int_eq(err.line, 3);
    }
    struct error err;
    ck_assert_ptr_null(
        read("HloModule m\nENTRY e {\n  a = f32[99999999] constant({...})\n}\n", &err));
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
    literal_set_memory_limit(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *all = tcase_create("text");
    tcase_set_timeout(all, 120);
    tcase_add_test(all, golden);
    tcase_add_loop_test(all, malformed_texts, 0, sizeof malformed / sizeof *malformed);
    tcase_add_test(all, places);
    tcase_add_test(all, callees);
    tcase_add_test(all, conditional_forms);
    tcase_add_test(all, equal_spellings);
    tcase_add_test(all, different_texts);
    tcase_add_test(all, generated_names);
    tcase_add_test(all, nesting);
    tcase_add_test(all, elided_constants);
    tcase_add_test(all, copies);
    tcase_add_test(all, huge_constants);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
