/* Ops, regions, blocks, names and locations of MLIR text, field by field; what is refused, and
 * where. */
#include "tests/hlo/mlir/mlir_text.h"

START_TEST(generic_op)
{
    struct mlir_file *file = read_mlir("// comment\n"
                                       "%a, %b:2 = \"x.y\"() : () -> (i1, i2, i3)\n"
                                       "  \"z.w\"(%b#1, %a) <{p = 1 : i8}> ({\n"
                                       "    \"in.side\"(%b) : (i2) -> ()\n"
                                       "  }, {}) {q, n.m = \"s\"} : (i3, i1) -> tensor<2xf32>\n");
    ck_assert(file->module_was_implied);
    ck_assert_str_eq(file->module->name, "builtin.module");
    const struct mlir_op *x = op_at(file, 0), *z = op_at(file, 1);
    ck_assert_str_eq(x->name, "x.y");
    ck_assert_int_eq(x->opcode, MLIR_OP_UNKNOWN);
    ck_assert_int_eq(x->result_count, 3);
    ck_assert_str_eq(x->results[0].name, "a");
    ck_assert_str_eq(x->results[2].name, "b");
    ck_assert_int_eq(x->results[2].index, 2);
    ck_assert_ptr_eq(x->results[2].op, x);
    ck_assert(x->line == 2 && x->column == 12);
    ck_assert_ptr_eq(x->block, file->module->regions[0].blocks[0]);
    ck_assert_ptr_eq(x->block->region->parent, file->module);

    ck_assert_int_eq(z->operand_count, 2);
    ck_assert_ptr_eq(z->operands[0], &x->results[2]);
    ck_assert_ptr_eq(z->operands[1], &x->results[0]);
    ck_assert(z->line == 3 && z->column == 3);
    ck_assert_int_eq(z->attrs.count, 3);
    ck_assert_str_eq(z->attrs.entries[0].key, "n.m");
    ck_assert_int_eq(mlir_op_attr(z, "p")->integer, 1);
    ck_assert_int_eq(z->region_count, 2);
    ck_assert_int_eq(z->regions[0].count, 1);
    ck_assert_int_eq(z->regions[1].count, 0);
    ck_assert_ptr_eq(z->regions[0].parent, z);
    ck_assert_ptr_eq(z->regions[0].blocks[0]->region, &z->regions[0]);
    ck_assert_ptr_eq(z->regions[0].blocks[0]->ops[0]->operands[0], &x->results[1]);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(blocks)
{
    struct mlir_file *file = read_mlir("\"x.y\"() ({\n"
                                       "^first(%a: i1, %b: i2):\n"
                                       "  \"c.d\"(%a)[^last, ^first] : (i1) -> ()\n"
                                       "^last:\n"
                                       "  \"e.f\"(%b) : (i2) -> ()\n"
                                       "}) : () -> ()");
    const struct mlir_region *region = &op_at(file, 0)->regions[0];
    ck_assert_int_eq(region->count, 2);
    const struct mlir_block *first = region->blocks[0], *last = region->blocks[1];
    ck_assert_str_eq(first->label, "first");
    ck_assert_int_eq(first->argument_count, 2);
    ck_assert_ptr_eq(first->arguments[1].block, first);
    ck_assert_int_eq(first->arguments[1].index, 1);
    ck_assert_int_eq(first->arguments[1].type->width, 2);
    ck_assert_str_eq(first->arguments[1].name, "b");
    ck_assert_int_eq(first->ops[0]->successor_count, 2);
    ck_assert_ptr_eq(first->ops[0]->successors[0], last);
    ck_assert_ptr_eq(first->ops[0]->successors[1], first);
    ck_assert_ptr_eq(last->ops[0]->operands[0], &first->arguments[1]);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(forward_references)
{
    /* In a graph; from a region inside it; of itself; in a later block. */
    struct mlir_file *file = read_mlir("module {\n"
                                       "  \"a.a\"(%x#1, %x#1) ({\n"
                                       "    \"b.b\"(%x#0) : (i8) -> ()\n"
                                       "  }) : (i16, i16) -> ()\n"
                                       "  %x:2 = \"c.c\"() : () -> (i8, i16)\n"
                                       "  %y = \"d.d\"(%y) : (i1) -> i1\n"
                                       "  func.func @f() {\n"
                                       "    \"e.e\"()[^b] : () -> ()\n"
                                       "  ^a:\n"
                                       "    \"e.e\"(%z)[^b] : (i1) -> ()\n"
                                       "  ^b:\n"
                                       "    %z = \"d.d\"()[^a] : () -> i1\n"
                                       "  }\n"
                                       "}\n");
    const struct mlir_op *a = op_at(file, 0), *c = op_at(file, 1), *d = op_at(file, 2);
    ck_assert(!file->module_was_implied);
    ck_assert_ptr_eq(a->operands[0], &c->results[1]);
    ck_assert_ptr_eq(a->operands[1], &c->results[1]);
    ck_assert_ptr_eq(a->regions[0].blocks[0]->ops[0]->operands[0], &c->results[0]);
    ck_assert_ptr_eq(d->operands[0], &d->results[0]);
    const struct mlir_region *body = &op_at(file, 3)->regions[0];
    ck_assert_ptr_eq(body->blocks[1]->ops[0]->operands[0], &body->blocks[2]->ops[0]->results[0]);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(function)
{
    struct mlir_file *file = read_mlir(
        "func.func private @f(%arg0: tensor<2xf32> {a.b = 1 : i32}, %arg1: i1) -> (i1, "
        "tensor<2xf32> {r}) attributes {k = \"v\"} {\n  return %arg1, %arg0 : i1, "
        "tensor<2xf32>\n}\n"
        "func.func @g(i32, tensor<f32>)\n"
        "func.func @\"h h\"() -> i1 {\n  %0 = call @\"h h\"() : () -> i1\n  return %0 : i1\n}\n");
    const struct mlir_op *f = op_at(file, 0), *g = op_at(file, 1), *h = op_at(file, 2);
    ck_assert_int_eq(f->opcode, MLIR_OP_FUNC);
    ck_assert_str_eq(mlir_op_attr(f, "sym_name")->string.data, "f");
    ck_assert_str_eq(mlir_op_attr(f, "sym_visibility")->string.data, "private");
    ck_assert_str_eq(mlir_op_attr(f, "k")->string.data, "v");
    const struct mlir_type *type = mlir_op_attr(f, "function_type")->type;
    ck_assert(type->count == 2 && type->result_count == 2);
    ck_assert_int_eq(type->types[2]->kind, MLIR_INTEGER);
    const struct mlir_attr *attrs = mlir_op_attr(f, "arg_attrs");
    ck_assert_int_eq(attrs->array.count, 2);
    ck_assert_int_eq(mlir_get(&attrs->array.elements[0]->dictionary, "a.b")->integer, 1);
    ck_assert_int_eq(attrs->array.elements[1]->dictionary.count, 0);
    ck_assert_ptr_nonnull(
        mlir_get(&mlir_op_attr(f, "res_attrs")->array.elements[1]->dictionary, "r"));
    const struct mlir_block *body = f->regions[0].blocks[0];
    ck_assert_int_eq(body->argument_count, 2);
    ck_assert_ptr_eq(body->arguments[0].type, type->types[0]);
    ck_assert_int_eq(body->ops[0]->opcode, MLIR_OP_FUNC_RETURN);
    ck_assert_ptr_eq(body->ops[0]->operands[0], &body->arguments[1]);

    ck_assert_int_eq(g->region_count, 1);
    ck_assert_int_eq(g->regions[0].count, 0);
    ck_assert_int_eq(mlir_op_attr(g, "function_type")->type->count, 2);
    ck_assert_ptr_null(mlir_op_attr(g, "arg_attrs"));
    ck_assert_ptr_null(mlir_op_attr(g, "sym_visibility"));
    ck_assert_str_eq(mlir_op_attr(h, "sym_name")->string.data, "h h");
    ck_assert_ptr_eq(mlir_find_symbol(file->module, "h h"), h);
    mlir_file_destroy(file);
}
END_TEST

START_TEST(modules)
{
    struct mlir_file *file = read_mlir("module @m attributes {x.a = 1} {\n  module {\n  }\n}");
    ck_assert_str_eq(mlir_op_attr(file->module, "sym_name")->string.data, "m");
    ck_assert_int_eq(mlir_op_attr(file->module, "x.a")->integer, 1);
    ck_assert_ptr_null(file->module->block);
    ck_assert_int_eq(op_at(file, 0)->opcode, MLIR_OP_MODULE);
    ck_assert_int_eq(op_at(file, 0)->regions[0].count, 1);
    mlir_file_destroy(file);
    /* Two at the top are not the module. */
    file = read_mlir("module {}\nmodule {}");
    ck_assert(file->module_was_implied);
    ck_assert_int_eq(op_at(file, 1)->opcode, MLIR_OP_MODULE);
    mlir_file_destroy(file);
    file = read_mlir("// nothing");
    ck_assert_int_eq(file->module->regions[0].blocks[0]->count, 0);
    mlir_file_destroy(file);
}
END_TEST

/* The same names in functions, and in regions side by side. */
START_TEST(scopes)
{
    struct mlir_file *file = read_mlir("func.func @f(%a: i1) {\n"
                                       "  \"x.x\"() ({\n    %b = \"y.y\"(%a) : (i1) -> i2\n  }, {\n"
                                       "    %b = \"y.y\"() : () -> i3\n"
                                       "    \"z.z\"(%b) : (i3) -> ()\n  }) : () -> ()\n"
                                       "  %b = \"y.y\"() : () -> i4\n"
                                       "  \"z.z\"(%b) : (i4) -> ()\n  return\n}\n"
                                       "func.func @g(%a: i5) {\n"
                                       "  \"z.z\"(%a) : (i5) -> ()\n  return\n}\n");
    mlir_file_destroy(file);
    refuse(
        "func.func @f(%a: i1) {\n  \"x.x\"() ({\n    %a = \"y.y\"() : () -> i2\n  }) : () -> ()\n"
        "  return\n}",
        3, 5, "'%a' is defined twice");
    refuse("%a = \"x.x\"() : () -> i1\nfunc.func @f() {\n  \"y.y\"(%a) : (i1) -> ()\n  return\n}",
           3, 9, "'%a', which is not defined");
    refuse("\"x.x\"() ({\n  %a = \"y.y\"() : () -> i2\n}) : () -> ()\n\"z.z\"(%a) : (i2) -> ()", 4,
           7, "not defined");
}
END_TEST

static const struct mlir_location *location_of(const struct mlir_file *file, int op)
{
    const struct mlir_location *location = op_at(file, op)->location;
    ck_assert_ptr_nonnull(location);
    return location;
}

START_TEST(locations)
{
    struct mlir_file *file = read_mlir("#one = loc(\"f.py\":3:4)\n"
                                       "\"a.a\"() : () -> () loc(#later)\n"
                                       "\"a.a\"() : () -> () loc(fused<\"m\">[#one, \"n\"])\n"
                                       "\"a.a\"() : () -> () loc(\"g\":1:2 to 3:4)\n"
                                       "\"a.a\"() : () -> () loc(\"g\":1:2 to :5)\n"
                                       "\"a.a\"() : () -> () loc(unknown)\n"
                                       "\"a.a\"() : () -> ()\n"
                                       "#later = loc(callsite(\"x\"(#one) at #one))\n");
    const struct mlir_location *location = location_of(file, 0);
    ck_assert_int_eq(location->kind, MLIR_LOC_CALL);
    ck_assert_int_eq(location->count, 2);
    ck_assert_int_eq(location->children[0]->kind, MLIR_LOC_NAME);
    ck_assert_str_eq(location->children[0]->text, "x");
    ck_assert_int_eq(location->children[0]->children[0]->line, 3);
    ck_assert_int_eq(location->children[1]->kind, MLIR_LOC_FILE);
    ck_assert_str_eq(location->children[1]->text, "f.py");
    ck_assert_int_eq(location->children[1]->column, 4);
    location = location_of(file, 1);
    ck_assert_int_eq(location->kind, MLIR_LOC_FUSED);
    ck_assert_str_eq(location->metadata->string.data, "m");
    ck_assert_ptr_eq(location->children[0], location_of(file, 0)->children[1]);
    location = location_of(file, 2);
    ck_assert(location->line == 1 && location->column == 2 && location->end_line == 3 &&
              location->end_column == 4);
    location = location_of(file, 3);
    ck_assert(location->end_line == 1 && location->end_column == 5);
    ck_assert_int_eq(location_of(file, 4)->kind, MLIR_LOC_UNKNOWN);
    ck_assert_ptr_null(op_at(file, 5)->location);
    mlir_file_destroy(file);

    refuse("\"a.a\"() : () -> () loc(#b)", 1, 24, "not defined");
    refuse("#a = loc(\"x\"(#b))\n#b = loc(\"y\")", 1, 14, "before this one");
    refuse("#a = loc(\"x\"(#a))", 1, 14, "before this one");
    refuse("#a = loc(\"x\")\n#a = loc(\"y\")", 2, 1, "twice");
    refuse("\"a.a\"() : () -> () loc(callsite(\"a\" \"b\"))", 1, 37, "'at'");
}
END_TEST

START_TEST(refused)
{
    refuse("\"a.a\"(%x) : (i1) -> ()", 1, 7, "'%x', which is not defined");
    refuse("%x = \"a.a\"() : () -> i1\n\"a.a\"(%x) : (i2) -> ()", 2, 7, "another type");
    refuse("%x = \"a.a\"() : () -> i1\n\"a.a\"(%x#1) : (i2) -> ()", 2, 9, "no #1");
    refuse("\"a.a\"(%x) : (i1) -> ()\n%x = \"a.a\"() : () -> i2", 1, 7, "another type");
    refuse("\"a.a\"(%x#2) : (i1) -> ()\n%x = \"a.a\"() : () -> i1", 1, 7, "no #2");
    refuse("%x = \"a.a\"() : () -> i1\n%x = \"a.a\"() : () -> i1", 2, 1, "defined twice");
    refuse("%x:2 = \"a.a\"() : () -> i1", 1, 1, "1 results, but names for 2");
    refuse("%x:0 = \"a.a\"() : () -> i1", 1, 1, "none");
    refuse("\"a.a\"() : (i1) -> ()", 1, 1, "0 operands, but 1 types");
    refuse("\"a.a\"() : () -> () junk", 1, 20, "no op here");
    refuse("other.op %x", 1, 1, "generic form");
    refuse("\"a.a\"() {", 1, 10, "the end");
    refuse("\"a.a\"() ({", 1, 11, "the end");
    refuse("\"\"() : () -> ()", 1, 1, "name of an op");
    refuse("module {\n  module @a {}\n  module @a {}\n}", 3, 3, "'@a' is defined twice");
    refuse("func.func @a()\nfunc.func @a()", 2, 1, "'@a' is defined twice");
    refuse("func.func @a(%x: i1, i2)", 1, 22, "an argument");
    refuse("func.func @a(i1) { return }", 1, 18, "named arguments");
    refuse("func.func @a(%x: i1, %x: i2) { return }", 1, 22, "defined twice");
    refuse("func.func @a() {}", 1, 16, "empty");
    refuse("func.func @a() attributes {sym_name = \"b\"}", 1, 16, "in front");
    refuse("func.func @f() {\n  \"a.a\"(%x) : (i1) -> ()\n  %x = \"a.a\"() : () -> i1\n  return\n}",
           2, 9, "before its definition");
    refuse("\"a.a\"() ({\n\"b.b\"()[^c] : () -> ()\n}) : () -> ()", 2, 9,
           "'^c', which is not defined");
    refuse("\"a.a\"() ({\n^a:\n^a:\n}) : () -> ()", 3, 1, "'^a' is defined twice");
    refuse("\"a.a\"() ({\n^a(%x: i1, %x: i1):\n}) : () -> ()", 2, 12, "'%x' is defined twice");
    refuse("\"a.a\"() <{a}> {a} : () -> ()", 1, 16, "'a' is given twice");
}
END_TEST

/* The caret's line. */
START_TEST(quoted)
{
    struct error err = {0};
    static const char text[] = "// one\n// two\n  \"a.a\"(%x) : (i1) -> ()\n";
    ck_assert_ptr_null(mlir_parse(text, sizeof text - 1, "f.mlir", 11, &err));
    ck_assert_int_eq(err.line, 13);
    struct text out;
    text_init(&out);
    error_print(&err, &out);
    ck_assert_str_eq(out.data, "f.mlir:13:9: INVALID_ARGUMENT: use of value '%x', which is not "
                               "defined\n    \"a.a\"(%x) : (i1) -> ()\n          ^\n");
    text_finish(&out);
}
END_TEST

/* So many brackets, aliases of aliases: an error, and soon. */
START_TEST(nesting)
{
    static const char *const parts[] = {"[", "tuple<", "(", "{a = ", "loc(\"a\"("};
    struct error err;
    struct text text;
    text_init(&text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        text_clear(&text);
        text_append(&text, "\"a.b\"() {a = ");
        for (int n = 0; n < 100000; n++) {
            text_append(&text, parts[i]);
        }
        error_clear(&err);
        ck_assert_ptr_null(mlir_parse(text.data, text.size, NULL, 1, &err));
        ck_assert_msg(err.code != ERROR_NONE, "%s", parts[i]);
    }
    text_clear(&text);
    for (int n = 0; n < 100000; n++) {
        text_append(&text, "\"a.b\"() ({");
    }
    error_clear(&err);
    ck_assert_ptr_null(mlir_parse(text.data, text.size, NULL, 1, &err));
    ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);

    static const char *const aliases[] = {"#a%d = [#a%d, #a%d]\n", "!a%d = tuple<!a%d, !a%d>\n"};
    for (int i = 0; i < 2; i++) {
        text_clear(&text);
        text_append(&text, i == 0 ? "#a0 = 1\n" : "!a0 = i1\n");
        for (int n = 1; n < 400; n++) {
            text_printf(&text, aliases[i], n, n - 1, n - 1);
        }
        error_clear(&err);
        ck_assert_ptr_null(mlir_parse(text.data, text.size, NULL, 1, &err));
        ck_assert_int_eq(err.code, ERROR_RESOURCE_EXHAUSTED);
    }
    text_finish(&text);
}
END_TEST

START_TEST(detection)
{
    static const char *const mlir[] = {"module {",
                                       "module @a {",
                                       " // c\nmodule attributes {}",
                                       "func.func @f() {",
                                       "\"builtin.module\"() ({",
                                       "#loc = loc(unknown)",
                                       "!t = f32",
                                       "%0 = stablehlo.iota dim = 0",
                                       "%0:2 = \"a.b\"()",
                                       "%a, %b = \"x.y\"()",
                                       "sdy.mesh @m",
                                       "{-# dialect_resources"};
    static const char *const other[] = {"HloModule m",
                                        "ENTRY main {",
                                        "%f (p: f32[]) -> f32[] {",
                                        "f.1 (p: f32[]) -> f32[] {",
                                        "%a = f32[2]{0} add(b, c)",
                                        "module (p: f32[]) -> f32[] {",
                                        "ROOT x = f32[] y",
                                        "",
                                        "ML\xefR",
                                        "{\"json\": 1}",
                                        "# comment"};
    for (size_t i = 0; i < sizeof mlir / sizeof *mlir; i++) {
        ck_assert_msg(mlir_is_text(mlir[i], strlen(mlir[i])), "%s", mlir[i]);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        ck_assert_msg(!mlir_is_text(other[i], strlen(other[i])), "%s", other[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mlir_text_ops");
    TCase *op_case = tcase_create("ops");
    tcase_add_test(op_case, generic_op);
    tcase_add_test(op_case, blocks);
    tcase_add_test(op_case, forward_references);
    tcase_add_test(op_case, function);
    tcase_add_test(op_case, modules);
    tcase_add_test(op_case, scopes);
    tcase_add_test(op_case, locations);
    tcase_add_test(op_case, refused);
    tcase_add_test(op_case, quoted);
    tcase_add_test(op_case, nesting);
    tcase_add_test(op_case, detection);
    suite_add_tcase(suite, op_case);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
