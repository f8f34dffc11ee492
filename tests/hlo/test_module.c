/* Modules built by hand: what module_finish orders and refuses, users, equality, hashes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static const struct shape *scalar(void)
{
    return shape_scalar(TYPE_F32);
}

static struct instruction *parameter(struct computation *computation, const char *name, int number)
{
    struct instruction *instruction =
        instruction_add(computation, name, OP_PARAMETER, scalar(), 0, NULL);
    instruction->number = number;
    return instruction;
}

static struct instruction *negate(struct computation *computation, const char *name,
                                  struct instruction *operand)
{
    return instruction_add(computation, name, OP_NEGATE, scalar(), 1, &operand);
}

static void call(struct computation *from, struct computation *to)
{
    struct instruction *instruction = instruction_add(from, "call", OP_CALL, scalar(), 0, NULL);
    instruction_set_called(instruction, 1, &to);
}

static void must_finish(struct module *module)
{
    struct error err = {0};
    ck_assert_msg(module_finish(module, &err), "%s", err.message);
}

static void must_fail(struct module *module, const char *message)
{
    struct error err = {0};
    ck_assert(!module_finish(module, &err));
    ck_assert_msg(strstr(err.message, message) != NULL, "\"%s\" is not in: %s", message,
                  err.message);
    module_destroy(module);
}

START_TEST(test_finish)
{
    struct module *module = module_create("m");
    struct computation *entry = computation_add(module, "entry");
    struct computation *callee = computation_add(module, "callee");
    module->entry = entry;
    struct instruction *a = parameter(callee, "a", 0);
    negate(callee, "n", a);
    struct instruction *x = parameter(entry, "x", 1), *y = parameter(entry, "y", 0);
    struct instruction *sum =
        instruction_add(entry, "sum", OP_ADD, scalar(), 2, (struct instruction *[]){x, y});
    struct instruction *root = instruction_add(entry, "r", OP_CALL, scalar(), 1, &sum);
    instruction_set_called(root, 1, &callee);
    must_finish(module);
    ck_assert_ptr_eq(module->computations[0], callee); /* callees first */
    ck_assert_int_eq(callee->id, 0);
    ck_assert_int_eq(entry->id, 1);
    ck_assert_ptr_eq(entry->root, root); /* the last */
    ck_assert_int_eq(entry->parameter_count, 2);
    ck_assert_ptr_eq(entry->parameters[0], y);
    ck_assert_ptr_eq(entry->parameters[1], x);
    ck_assert_int_eq(module->config.parameter_count, 2);
    ck_assert_ptr_eq(module_parameter_shape(module, 1), scalar());
    ck_assert_ptr_eq(module_result_shape(module), scalar());
    ck_assert_ptr_eq(module_find_computation(module, "callee"), callee);
    ck_assert_ptr_null(module_find_computation(module, "call"));
    ck_assert_ptr_eq(computation_find(entry, "sum"), sum);
    ck_assert_ptr_null(computation_find(entry, "n"));
    ck_assert_int_eq(module_instruction_count(module), 6);
    module_destroy(module);
}
END_TEST

/* Operands and control predecessors go before users; what is in order stays where it is. */
START_TEST(test_order)
{
    struct module *module = module_create("m");
    struct computation *entry = computation_add(module, "e");
    struct instruction *late = negate(entry, "late", NULL);
    struct instruction *x = parameter(entry, "x", 0);
    struct instruction *other = negate(entry, "other", x);
    late->operands[0] = other;
    struct instruction *before = negate(entry, "before", x);
    other->control_count = 1;
    other->control_predecessors = &before;
    entry->root = late;
    must_finish(module);
    const struct instruction *expected[] = {x, before, other, late};
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_eq(entry->instructions[i], expected[i]);
        ck_assert_int_eq(entry->instructions[i]->id, i);
    }
    ck_assert_ptr_eq(entry->root, late);
    module_destroy(module);
}
END_TEST

START_TEST(test_order_of_schedule)
{
    struct module *module = module_create("m");
    struct computation *entry = computation_add(module, "e");
    struct instruction *late = negate(entry, "late", NULL);
    late->operands[0] = parameter(entry, "x", 0);
    entry->root = late;
    module->config.is_scheduled = true;
    must_fail(module, "schedule of e has instructions before their operands");
}
END_TEST

START_TEST(test_cycles)
{
    struct module *module = module_create("m");
    struct computation *entry = computation_add(module, "e");
    struct instruction *a = negate(entry, "a", NULL), *b = negate(entry, "b", a);
    a->operands[0] = b;
    must_fail(module, "depends on itself");

    module = module_create("m");
    entry = computation_add(module, "e");
    a = negate(entry, "a", NULL);
    a->operands[0] = a;
    must_fail(module, "a depends on itself through a");

    module = module_create("m");
    entry = computation_add(module, "e");
    struct instruction *x = parameter(entry, "x", 0);
    a = negate(entry, "a", x);
    b = negate(entry, "b", a);
    a->control_count = 1;
    a->control_predecessors = &b;
    must_fail(module, "depends on itself");
}
END_TEST

START_TEST(test_recursion)
{
    struct module *module = module_create("m");
    struct computation *self = computation_add(module, "self");
    call(self, self);
    must_fail(module, "must not be recursive");

    module = module_create("m");
    struct computation *a = computation_add(module, "a"), *b = computation_add(module, "b");
    call(a, b);
    call(b, a);
    must_fail(module, "must not be recursive");

    /* A long chain of calls is fine, and does not take the stack. */
    module = module_create("m");
    struct computation *last = computation_add(module, "c");
    parameter(last, "x", 0);
    for (int i = 0; i < 50000; i++) {
        struct computation *next = computation_add(module, "c");
        call(next, last);
        last = next;
    }
    must_finish(module);
    ck_assert_ptr_eq(module->computations[50000], module->entry);
    module_destroy(module);
}
END_TEST

START_TEST(test_refusals)
{
    must_fail(module_create("m"), "no computation");

    struct module *module = module_create("m");
    computation_add(module, "e");
    must_fail(module, "computation e is empty");

    module = module_create("m");
    struct computation *entry = computation_add(module, "e");
    parameter(entry, "x", 0);
    parameter(entry, "y", 2);
    must_fail(module, "parameter number 2 is not in the range 0 to 1");

    module = module_create("m");
    entry = computation_add(module, "e");
    parameter(entry, "x", 0);
    parameter(entry, "y", 0);
    must_fail(module, "parameter number 0 of e is there twice: x and y");

    module = module_create("m");
    entry = computation_add(module, "e");
    parameter(entry, "x", -1);
    must_fail(module, "not in the range");

    module = module_create("m");
    struct computation *other = computation_add(module, "other");
    for (int i = 0; i < 100; i++) {
        parameter(other, "p", i);
    }
    entry = computation_add(module, "e");
    negate(entry, "n", other->instructions[99]);
    must_fail(module, "n uses p of another computation, other");
}
END_TEST

START_TEST(test_users)
{
    struct module *module = module_create("m");
    struct computation *entry = computation_add(module, "e");
    struct instruction *x = parameter(entry, "x", 0);
    struct instruction *a = negate(entry, "a", x);
    struct instruction *sum =
        instruction_add(entry, "sum", OP_ADD, scalar(), 2, (struct instruction *[]){x, x});
    instruction_add(entry, "r", OP_ADD, scalar(), 2, (struct instruction *[]){a, sum});
    must_finish(module);
    struct users users;
    users_build(entry, &users);
    ck_assert_int_eq(users.first[0], 0);
    ck_assert_int_eq(users.first[1], 3); /* once for each use */
    ck_assert_ptr_eq(users.list[0], a);
    ck_assert_ptr_eq(users.list[1], sum);
    ck_assert_ptr_eq(users.list[2], sum);
    ck_assert_int_eq(users.first[2] - users.first[1], 1);
    ck_assert_int_eq(users.first[4] - users.first[3], 0);
    ck_assert_int_eq(users.first[4], 5);
    users_finish(&users);
    module_destroy(module);
}
END_TEST

START_TEST(test_attributes)
{
    struct module *module = module_create("m");
    struct computation *entry = computation_add(module, "e");
    struct instruction *x = parameter(entry, "x", 0);
    for (int i = ATTR_COUNT - 1; i >= 0; i--) { /* sorted, whatever the order */
        instruction_set_attr(x, (struct attr){.key = (enum attr_key)i});
    }
    ck_assert_int_eq(x->attr_count, ATTR_COUNT);
    for (int i = 0; i < ATTR_COUNT; i++) {
        ck_assert_int_eq(x->attrs[i].key, i);
        ck_assert_ptr_eq(attr_get(x, (enum attr_key)i), &x->attrs[i]);
    }
    instruction_set_attr(x, (struct attr){.key = ATTR_INDEX, .integer = 77});
    ck_assert_int_eq(x->attr_count, ATTR_COUNT);
    ck_assert_int_eq(attr_int(x, ATTR_INDEX, -1), 77);
    module_destroy(module);
}
END_TEST

/* --- equality --- */

static const char base_text[] =
    "HloModule m, is_scheduled=true, entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n"
    "c { a = f32[2] parameter(0)\n ROOT b = f32[2] negate(a) }\n"
    "ENTRY e { x = f32[2] parameter(0)\n k = f32[2] constant({1, 2})\n"
    " y = f32[2] add(x, k), metadata={op_name=\"n\"}\n"
    " ROOT z = f32[2] call(y), to_apply=c }\n";

static struct module *read(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "t", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d: %s\n%s", err.line, err.column, err.message, text);
    return module;
}

START_TEST(test_equality)
{
    static const struct {
        const char *old, *new, *message;
        bool same_meaning;
    } changes[] = {
        {"HloModule m", "HloModule n", "name", true},
        {"is_scheduled=true, ", "", "schedule", true},
        {"->f32[2]{0}}", "->f32[2]{0:S(1)}}", "layout", true},
        {"y = f32[2] add(x, k)", "yy = f32[2] add(x, k)", "name", true},
        {"f32[2] add(x, k)", "f32[2] subtract(x, k)", "opcode", false},
        {"f32[2] add(x, k)", "f32[2]{0:S(3)} add(x, k)", "shape", false},
        {"add(x, k)", "add(k, x)", "operands", false},
        {"constant({1, 2})", "constant({1, 3})", "literal", false},
        {"op_name=\"n\"", "op_name=\"o\"", "metadata", true},
        {", metadata={op_name=\"n\"}", "", "only one has metadata", true},
        {"negate(a)", "negate(a), sharding={replicated}", "only one has sharding", false},
    };
    struct module *base = read(base_text), *again = read(base_text);
    struct error err = {0};
    ck_assert_msg(module_equal(base, again, &err), "%s", err.message);
    ck_assert_uint_eq(module_hash(base), module_hash(again));
    module_destroy(again);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char text[2000];
        char yy[2000];
        const char *at = strstr(base_text, changes[i].old);
        ck_assert_msg(at != NULL, "%s", changes[i].old);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - base_text), base_text, changes[i].new,
                 at + strlen(changes[i].old));
        char *call_at = strstr(text, "call(y)");
        if (strstr(text, "yy = ") != NULL) {
            snprintf(yy, sizeof yy, "%.*scall(yy)%s", (int)(call_at - text), text, call_at + 7);
            strcpy(text, yy);
        }
        struct module *other = read(text);
        error_clear(&err);
        ck_assert_msg(!module_equal(base, other, &err), "%s", changes[i].new);
        ck_assert_msg(strstr(err.message, changes[i].message) != NULL, "%s: %s", changes[i].new,
                      err.message);
        bool same = module_hash(base) == module_hash(other);
        ck_assert_msg(same == changes[i].same_meaning, "the hash of: %s", changes[i].new);
        module_destroy(other);
    }
    module_destroy(base);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("module");
    TCase *tcase = tcase_create("module");
    tcase_add_test(tcase, test_finish);
    tcase_add_test(tcase, test_order);
    tcase_add_test(tcase, test_order_of_schedule);
    tcase_add_test(tcase, test_cycles);
    tcase_add_test(tcase, test_recursion);
    tcase_add_test(tcase, test_refusals);
    tcase_add_test(tcase, test_users);
    tcase_add_test(tcase, test_attributes);
    tcase_add_test(tcase, test_equality);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
