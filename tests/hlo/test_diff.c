/* The diff of two modules: what is one instruction's change is one entry, and what changes no value
 * is none. Every expectation is written by hand from what the two texts say. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/diff.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

static struct module *read_module(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "dumps/m.txt", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d: %s", err.line, err.column, err.message);
    return module;
}

/* "HloModule m" and, unless there is one, an ENTRY around the text. */
static struct module *read_body(const char *text)
{
    struct text whole;
    text_init(&whole);
    bool is_whole = strstr(text, "ENTRY") != NULL;
    bool has_header = strncmp(text, "HloModule", 9) == 0;
    text_printf(&whole, "%s%s%s%s\n", has_header ? "" : "HloModule m\n",
                is_whole ? "" : "ENTRY main {\n", text, is_whole ? "" : "\n}");
    struct module *module = read_module(whole.data);
    text_finish(&whole);
    return module;
}

struct fixture {
    struct module *old, *new;
    struct diff diff;
};

static void setup(struct fixture *fixture, const char *old, const char *new)
{
    fixture->old = read_body(old);
    fixture->new = read_body(new);
    diff_modules(fixture->old, fixture->new, &fixture->diff);
}

static void teardown(struct fixture *fixture)
{
    diff_finish(&fixture->diff);
    module_destroy(fixture->old);
    module_destroy(fixture->new);
}

/* "-removed +added old~new", then groups: "<dissolved >regrouped", and "=" for layouts only. */
static char *summary(const struct diff *diff)
{
    struct text text;
    text_init(&text);
    for (int i = 0; i < diff->count; i++) {
        const struct diff_entry *entry = &diff->entries[i];
        text_append(&text, text.size > 0 ? " " : "");
        if (entry->kind == DIFF_CHANGED) {
            text_printf(&text, "%s~%s", entry->old->name, entry->new->name);
        } else {
            text_printf(&text, "%c%s", entry->kind == DIFF_ADDED ? '+' : '-',
                        entry->kind == DIFF_ADDED ? entry->new->name : entry->old->name);
        }
    }
    for (int i = 0; i < diff->dissolved_count; i++) {
        text_printf(&text, "%s<%s", text.size > 0 ? " " : "", diff->dissolved[i]->name);
    }
    for (int i = 0; i < diff->regrouped_count; i++) {
        text_printf(&text, "%s>%s", text.size > 0 ? " " : "", diff->regrouped[i]->name);
    }
    text_append(&text, diff->layouts_only ? "=" : "");
    char *taken = text_take(&text);
    text_finish(&text);
    return taken;
}

static void expect(const char *old, const char *new, const char *expected)
{
    struct fixture fixture;
    setup(&fixture, old, new);
    char *found = summary(&fixture.diff);
    ck_assert_str_eq(found, expected);
    free(found);
    teardown(&fixture);
}

static const struct instruction *find(const struct module *module, const char *computation,
                                      const char *name)
{
    const struct computation *in = module_find_computation(module, computation);
    ck_assert_ptr_nonnull(in);
    const struct instruction *found = computation_find(in, name);
    ck_assert_ptr_nonnull(found);
    return found;
}

/* Which old instruction computes the same, or stands in the place, of "computation name"; "" if
 * there is none. */
static const char *other_of(const struct fixture *fixture,
                            const struct instruction *const *const *table, const char *computation,
                            const char *name)
{
    const struct instruction *new = find(fixture->new, computation, name);
    const struct instruction *old = table[new->parent->id][new->id];
    return old == NULL ? "" : old->name;
}
#define MATCH(computation, name)                                                       \
    other_of(&fixture, (const struct instruction *const *const *)fixture.diff.matches, \
             computation, name)
#define COUNTERPART(computation, name)                                                      \
    other_of(&fixture, (const struct instruction *const *const *)fixture.diff.counterparts, \
             computation, name)

static const char chain[] = "  x = f32[4] parameter(0)\n"
                            "  y = f32[4] parameter(1)\n"
                            "  a = f32[4] multiply(x, y)\n"
                            "  b = f32[4] tanh(a)\n"
                            "  c = f32[4] subtract(b, x)\n"
                            "  ROOT d = f32[4] negate(c)";

START_TEST(test_no_change)
{
    expect(chain, chain, "");
    /* Names, metadata, sharding, configuration, order. */
    expect(chain,
           "  q = f32[4] parameter(1), sharding={replicated}\n"
           "  p = f32[4] parameter(0)\n"
           "  multiply.9 = f32[4] multiply(p, q), metadata={op_name=\"mul\"}\n"
           "  tanh.9 = f32[4] tanh(multiply.9), backend_config={\"factor\":\"2\"}\n"
           "  subtract.9 = f32[4] subtract(tanh.9, p), frontend_attributes={a=\"b\"}\n"
           "  ROOT negate.9 = f32[4] negate(subtract.9), control-predecessors={p}",
           "");
    /* A default, written or not. */
    expect("x = f32[4] parameter(0)\n ROOT y = f32[4,2] broadcast(x), dimensions={0}",
           "x = f32[4] parameter(0)\n ROOT y = f32[4,2] broadcast(x), dimensions={0}, "
           "parameter_replication={false}",
           "");
}
END_TEST

START_TEST(test_form_only)
{
    expect("x = f32[4,2]{1,0} parameter(0)\n ROOT y = f32[4,2]{1,0} negate(x)",
           "x = f32[4,2]{1,0} parameter(0)\n ROOT y = f32[4,2]{0,1} negate(x)", "=");
    expect("x = f32[4,2]{1,0} parameter(0)\n ROOT y = f32[4,2]{1,0} negate(x)",
           "x = f32[4,2]{1,0:T(8,128)S(1)} parameter(0)\n ROOT y = f32[4,2]{1,0} negate(x)", "=");
    /* The schedule: whether there is one, and its order. */
    static const char scheduled[] = "HloModule m, is_scheduled=true\nENTRY main {\n"
                                    "  x = f32[4] parameter(0)\n  a = f32[4] negate(x)\n"
                                    "  b = f32[4] tanh(x)\n  ROOT c = f32[4] add(a, b)\n}";
    static const char otherwise[] = "HloModule m, is_scheduled=true\nENTRY main {\n"
                                    "  x = f32[4] parameter(0)\n  b = f32[4] tanh(x)\n"
                                    "  a = f32[4] negate(x)\n  ROOT c = f32[4] add(a, b)\n}";
    static const char free_order[] = "HloModule m\nENTRY main {\n"
                                     "  x = f32[4] parameter(0)\n  b = f32[4] tanh(x)\n"
                                     "  a = f32[4] negate(x)\n  ROOT c = f32[4] add(a, b)\n}";
    expect(scheduled, scheduled, "");
    expect(scheduled, otherwise, "=");
    expect(free_order, otherwise, "=");
}
END_TEST

/* One instruction changed: exactly that one is named, whatever it leads to downstream. */
static const struct {
    const char *old, *new, *expected;
} changes[] = {
    /* the order of operands */
    {chain,
     "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] multiply(x, y)\n"
     "  b = f32[4] tanh(a)\n  c = f32[4] subtract(x, b)\n  ROOT d = f32[4] negate(c)",
     "c~c"},
    /* another operand, early; the names of what follows are others, too */
    {chain,
     "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] multiply(x, x)\n"
     "  bb = f32[4] tanh(a)\n  cc = f32[4] subtract(bb, x)\n  ROOT dd = f32[4] negate(cc)",
     "a~a"},
    /* another opcode, name kept or not */
    {chain,
     "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] add(x, y)\n"
     "  b = f32[4] tanh(a)\n  c = f32[4] subtract(b, x)\n  ROOT d = f32[4] negate(c)",
     "a~a"},
    {chain,
     "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] multiply(x, y)\n"
     "  e = f32[4] cosine(a)\n  c = f32[4] subtract(e, x)\n  ROOT d = f32[4] negate(c)",
     "b~e"},
    /* an instruction put in between: it, and its user's operand */
    {chain,
     "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] multiply(x, y)\n"
     "  new = f32[4] copy(a)\n  b = f32[4] tanh(new)\n  c = f32[4] subtract(b, x)\n"
     "  ROOT d = f32[4] negate(c)",
     "+new b~b"},
    {"x = f32[4] parameter(0)\n k = f32[] constant(2)\n b = f32[4] broadcast(k), dimensions={}\n"
     " ROOT r = f32[4] multiply(x, b)",
     "x = f32[4] parameter(0)\n k = f32[] constant(3)\n b = f32[4] broadcast(k), dimensions={}\n"
     " ROOT r = f32[4] multiply(x, b)",
     "k~k"},
    {"x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n"
     " ROOT r = pred[4] compare(x, y), direction=LT",
     "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n"
     " ROOT r = pred[4] compare(x, y), direction=LE",
     "r~r"},
    {"x = f32[9] parameter(0)\n s = f32[4] slice(x), slice={[1:5]}\n ROOT r = f32[4] negate(s)",
     "x = f32[9] parameter(0)\n s = f32[4] slice(x), slice={[2:6]}\n ROOT r = f32[4] negate(s)",
     "s~s"},
    /* a narrower type: of the instruction, and what it is converted to for its user */
    {"x = f32[4] parameter(0)\n t = f32[4] tanh(x)\n ROOT r = f32[4] negate(t)",
     "x = f32[4] parameter(0)\n c = bf16[4] convert(x)\n t = bf16[4] tanh(c)\n"
     " e = f32[4] convert(t)\n ROOT r = f32[4] negate(e)",
     "+c t~t +e r~r"},
    /* the layout of a bitcast says which element goes where */
    {"x = f32[2,3]{1,0} parameter(0)\n ROOT r = f32[3,2]{1,0} bitcast(x)",
     "x = f32[2,3]{1,0} parameter(0)\n ROOT r = f32[3,2]{0,1} bitcast(x)", "r~r"},
    /* the configuration of a custom call holds factors */
    {"x = f32[2,2] parameter(0)\n ROOT r = f32[2,2] custom-call(x, x), "
     "custom_call_target=\"__cublas$gemm\", backend_config={\"alpha_real\":1}",
     "x = f32[2,2] parameter(0)\n ROOT r = f32[2,2] custom-call(x, x), "
     "custom_call_target=\"__cublas$gemm\", backend_config={\"alpha_real\":2}",
     "r~r"},
    {"x = f32[2] parameter(0)\n y = f32[2] parameter(1)\n ROOT r = f32[2] add(x, y)",
     "x = f32[2] parameter(0)\n y = f64[2] parameter(1)\n z = f32[2] convert(y)\n"
     " ROOT r = f32[2] add(x, z)",
     "y~y +z r~r"},
    /* the reducer, and a loop's body: the instruction in it, not the one that calls it */
    {"sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"
     "ENTRY main {\n x = f32[4] parameter(0)\n z = f32[] constant(0)\n"
     " ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n}",
     "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] maximum(a, b)\n}\n"
     "ENTRY main {\n x = f32[4] parameter(0)\n z = f32[] constant(0)\n"
     " ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n}",
     "s~s"},
    {"b {\n t = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
     " v = f32[] get-tuple-element(t), index=1\n o = s32[] constant(1)\n n = s32[] add(i, o)\n"
     " w = f32[] multiply(v, v)\n ROOT r = (s32[], f32[]) tuple(n, w)\n}\n"
     "c {\n t = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
     " l = s32[] constant(9)\n ROOT r = pred[] compare(i, l), direction=LT\n}\n"
     "ENTRY main {\n x = (s32[], f32[]) parameter(0)\n"
     " w = (s32[], f32[]) while(x), condition=c, body=b\n"
     " ROOT r = f32[] get-tuple-element(w), index=1\n}",
     "b2 {\n t = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
     " v = f32[] get-tuple-element(t), index=1\n o = s32[] constant(1)\n n = s32[] add(i, o)\n"
     " w = f32[] add(v, v)\n ROOT r = (s32[], f32[]) tuple(n, w)\n}\n"
     "c2 {\n t = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(t), index=0\n"
     " l = s32[] constant(9)\n ROOT r = pred[] compare(i, l), direction=LE\n}\n"
     "ENTRY main {\n x = (s32[], f32[]) parameter(0)\n"
     " w2 = (s32[], f32[]) while(x), condition=c2, body=b2\n"
     " ROOT r = f32[] get-tuple-element(w2), index=1\n}",
     "w~w r~r"},
    /* removed: beside what used it */
    {chain,
     "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  a = f32[4] multiply(x, y)\n"
     "  c = f32[4] subtract(a, x)\n  ROOT d = f32[4] negate(c)",
     "-b c~c"},
    {"x = f32[4] parameter(0)\n dead = f32[4] tanh(x)\n ROOT r = f32[4] negate(x)",
     "x = f32[4] parameter(0)\n ROOT r = f32[4] negate(x)", "-dead"},
    /* a parameter more, and one less */
    {"x = f32[4] parameter(0)\n ROOT r = f32[4] negate(x)",
     "x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = f32[4] negate(x)", "+y"},
    {"x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT r = f32[4] negate(x)",
     "x = f32[4] parameter(0)\n ROOT r = f32[4] negate(x)", "-y"},
    /* A channel's number means nothing, but that there is one does. */
    {"x = f32[4] parameter(0)\n"
     " ROOT r = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}",
     "x = f32[4] parameter(0)\n"
     " ROOT r = f32[4] collective-permute(x), channel_id=7, source_target_pairs={{0,1}}",
     ""},
    {"x = f32[4] parameter(0)\n"
     " ROOT r = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}",
     "x = f32[4] parameter(0)\n"
     " ROOT r = f32[4] collective-permute(x), source_target_pairs={{0,1}}",
     "r~r"},
};

START_TEST(test_changes)
{
    expect(changes[_i].old, changes[_i].new, changes[_i].expected);
}
END_TEST

/* Equal instructions are matched one by one, in order, and by name before that. */
START_TEST(test_repeated)
{
    static const char two[] = "x = f32[4] parameter(0)\n a = f32[4] add(x, x)\n"
                              " b = f32[4] add(x, x)\n ROOT r = f32[4] multiply(a, b)";
    struct fixture fixture;
    setup(&fixture, two,
          "x = f32[4] parameter(0)\n p = f32[4] add(x, x)\n q = f32[4] add(x, x)\n"
          " ROOT r = f32[4] multiply(p, q)");
    ck_assert_int_eq(fixture.diff.count, 0);
    ck_assert_str_eq(MATCH("main", "p"), "a");
    ck_assert_str_eq(MATCH("main", "q"), "b");
    teardown(&fixture);
    setup(&fixture, two,
          "x = f32[4] parameter(0)\n b = f32[4] add(x, x)\n a = f32[4] add(x, x)\n"
          " ROOT r = f32[4] multiply(a, b)");
    ck_assert_str_eq(MATCH("main", "a"), "a");
    ck_assert_str_eq(MATCH("main", "b"), "b");
    teardown(&fixture);
    /* What common subexpression elimination does, and its reverse. The product is the same. */
    static const char one[] = "x = f32[4] parameter(0)\n a = f32[4] add(x, x)\n"
                              " ROOT r = f32[4] multiply(a, a)";
    expect(two, one, "-b");
    expect(one, two, "+b");
    /* Constants may come in any number. */
    expect("x = f32[] parameter(0)\n k = f32[] constant(2)\n a = f32[] add(x, k)\n"
           " ROOT r = f32[] multiply(a, k)",
           "x = f32[] parameter(0)\n k = f32[] constant(2)\n a = f32[] add(x, k)\n"
           " l = f32[] constant(2)\n ROOT r = f32[] multiply(a, l)",
           "");
}
END_TEST

static const char fused[] = "f {\n p = f32[4] parameter(0)\n q = f32[4] parameter(1)\n"
                            " m = f32[4] multiply(q, p)\n ROOT t = f32[4] tanh(m)\n}\n"
                            "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n"
                            " g = f32[4] fusion(y, x), kind=kLoop, calls=f\n"
                            " c = f32[4] subtract(g, x)\n ROOT d = f32[4] negate(c)\n}";

START_TEST(test_groups)
{
    struct fixture fixture;
    setup(&fixture, chain, fused);
    char *found = summary(&fixture.diff);
    ck_assert_str_eq(found, ">g");
    free(found);
    ck_assert_str_eq(MATCH("f", "m"), "a");
    ck_assert_str_eq(MATCH("f", "t"), "b");
    ck_assert_str_eq(MATCH("f", "p"), "y");
    ck_assert_str_eq(MATCH("main", "g"), "b");
    ck_assert_str_eq(MATCH("main", "c"), "c");
    teardown(&fixture);
    setup(&fixture, fused, chain);
    found = summary(&fixture.diff);
    ck_assert_str_eq(found, "<g");
    free(found);
    ck_assert_str_eq(MATCH("main", "a"), "m");
    ck_assert_str_eq(MATCH("main", "b"), "g"); /* the group whose result it was */
    teardown(&fixture);
    expect(fused, fused, "");
    /* One more level, a call; names and kinds do not matter. */
    expect(fused,
           "f {\n p = f32[4] parameter(0)\n q = f32[4] parameter(1)\n"
           " m = f32[4] multiply(q, p)\n ROOT t = f32[4] tanh(m)\n}\n"
           "h {\n p = f32[4] parameter(0)\n q = f32[4] parameter(1)\n"
           " ROOT u = f32[4] fusion(q, p), kind=kInput, calls=f\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n"
           " k = f32[4] call(x, y), to_apply=h\n"
           " c = f32[4] subtract(k, x)\n ROOT d = f32[4] negate(c)\n}",
           "");
    /* A change inside. */
    expect(fused,
           "f {\n p = f32[4] parameter(0)\n q = f32[4] parameter(1)\n"
           " m = f32[4] add(q, p)\n ROOT t = f32[4] tanh(m)\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n"
           " g = f32[4] fusion(y, x), kind=kLoop, calls=f\n"
           " c = f32[4] subtract(g, x)\n ROOT d = f32[4] negate(c)\n}",
           "m~m");
    /* The operands of the group swapped: so are those inside, and no others. */
    expect(fused,
           "f {\n p = f32[4] parameter(0)\n q = f32[4] parameter(1)\n"
           " m = f32[4] multiply(q, p)\n ROOT t = f32[4] tanh(m)\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n"
           " g = f32[4] fusion(x, y), kind=kLoop, calls=f\n"
           " c = f32[4] subtract(g, x)\n ROOT d = f32[4] negate(c)\n}",
           "m~m");
}
END_TEST

/* A group with two results, and an instruction that two groups make for themselves. */
START_TEST(test_more_groups)
{
    static const char plain[] = "x = f32[4] parameter(0)\n e = f32[4] exponential(x)\n"
                                " n = f32[4] negate(e)\n t = f32[4] tanh(e)\n"
                                " ROOT r = (f32[4], f32[4]) tuple(n, t)";
    expect(plain,
           "f {\n p = f32[4] parameter(0)\n e = f32[4] exponential(p)\n n = f32[4] negate(e)\n"
           " t = f32[4] tanh(e)\n ROOT r = (f32[4], f32[4]) tuple(n, t)\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n"
           " g = (f32[4], f32[4]) fusion(x), kind=kLoop, calls=f\n"
           " g0 = f32[4] get-tuple-element(g), index=0\n"
           " g1 = f32[4] get-tuple-element(g), index=1\n"
           " ROOT r = (f32[4], f32[4]) tuple(g0, g1)\n}",
           ">g");
    expect(plain,
           "f {\n p = f32[4] parameter(0)\n e = f32[4] exponential(p)\n"
           " ROOT n = f32[4] negate(e)\n}\n"
           "h {\n p = f32[4] parameter(0)\n e = f32[4] exponential(p)\n"
           " ROOT t = f32[4] tanh(e)\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n"
           " g0 = f32[4] fusion(x), kind=kLoop, calls=f\n"
           " g1 = f32[4] fusion(x), kind=kLoop, calls=h\n"
           " ROOT r = (f32[4], f32[4]) tuple(g0, g1)\n}",
           ">g0 >g1");
    /* The same outside of groups is an instruction more. */
    expect(plain,
           "x = f32[4] parameter(0)\n e = f32[4] exponential(x)\n e2 = f32[4] exponential(x)\n"
           " n = f32[4] negate(e)\n t = f32[4] tanh(e2)\n ROOT r = (f32[4], f32[4]) tuple(n, t)",
           "+e2");
    /* Inlining a function that is called twice. */
    expect("f {\n p = f32[4] parameter(0)\n ROOT e = f32[4] exponential(p)\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n a = f32[4] call(x), to_apply=f\n"
           " b = f32[4] call(a), to_apply=f\n ROOT r = f32[4] add(a, b)\n}",
           "x = f32[4] parameter(0)\n u = f32[4] exponential(x)\n v = f32[4] exponential(u)\n"
           " ROOT r = f32[4] add(u, v)",
           "<a <b");
    /* From a plain instruction to an asynchronous one. */
    expect("x = f32[4] parameter(0)\n e = f32[4] exponential(x)\n ROOT r = f32[4] negate(e)",
           "f {\n p = f32[4] parameter(0)\n ROOT e = f32[4] exponential(p)\n}\n"
           "ENTRY main {\n x = f32[4] parameter(0)\n"
           " s = ((f32[4]), f32[4], u32[]) async-start(x), calls=f\n"
           " u = ((f32[4]), f32[4], u32[]) async-update(s)\n"
           " d = f32[4] async-done(u)\n ROOT r = f32[4] negate(d)\n}",
           ">s");
}
END_TEST

/* Equal reducers may be one or many. A computation that nothing calls counts for nothing. */
START_TEST(test_shared_computations)
{
    static const char one[] =
        "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"
        "ENTRY main {\n x = f32[4,4] parameter(0)\n z = f32[] constant(0)\n"
        " r = f32[4] reduce(x, z), dimensions={0}, to_apply=sum\n"
        " ROOT t = f32[] reduce(r, z), dimensions={0}, to_apply=sum\n}";
    static const char two[] =
        "sum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"
        "sum2 {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n"
        "dead {\n a = f32[] parameter(0)\n ROOT s = f32[] negate(a)\n}\n"
        "ENTRY main {\n x = f32[4,4] parameter(0)\n z = f32[] constant(0)\n"
        " r = f32[4] reduce(x, z), dimensions={0}, to_apply=sum\n"
        " ROOT t = f32[] reduce(r, z), dimensions={0}, to_apply=sum2\n}";
    expect(one, two, "");
    expect(two, one, "");
    struct fixture fixture;
    setup(&fixture, one, two);
    ck_assert_str_eq(MATCH("sum2", "s"), "s");
    ck_assert_str_eq(MATCH("sum2", "b"), "b");
    ck_assert_str_eq(MATCH("dead", "s"), "");
    teardown(&fixture);
}
END_TEST

/* Below a change: no match, but a counterpart. */
START_TEST(test_counterparts)
{
    struct fixture fixture;
    setup(&fixture, chain,
          "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n  n = f32[4] negate(y)\n"
          "  a = f32[4] multiply(x, n)\n  b2 = f32[4] tanh(a)\n  c2 = f32[4] subtract(b2, x)\n"
          "  ROOT d2 = f32[4] negate(c2)");
    char *found = summary(&fixture.diff);
    ck_assert_str_eq(found, "+n a~a");
    free(found);
    ck_assert_str_eq(MATCH("main", "x"), "x");
    ck_assert_str_eq(MATCH("main", "a"), "");
    ck_assert_str_eq(COUNTERPART("main", "a"), "a");
    ck_assert_str_eq(MATCH("main", "c2"), "");
    ck_assert_str_eq(COUNTERPART("main", "c2"), "c");
    ck_assert_str_eq(COUNTERPART("main", "n"), "");
    /* Where the removed and added ones stand. */
    ck_assert_int_eq(fixture.diff.entries[0].computation, fixture.new->entry->id);
    ck_assert_int_eq(fixture.diff.entries[0].place, find(fixture.new, "main", "n")->id);
    teardown(&fixture);
}
END_TEST

/* A constant that the dump left out is known by its name. */
START_TEST(test_elided)
{
    expect("a = f32[99] constant({...})\n b = f32[99] constant({...})\n"
           " ROOT r = f32[99] add(a, b)",
           "c = f32[98] constant({...})\n b = f32[99] constant({...})\n"
           " a = f32[99] constant({...})\n ROOT r = f32[99] add(a, b)",
           "+c");
}
END_TEST

/* Long chains, deep and bushy calls: the time stays in proportion to the text. */
START_TEST(test_size)
{
    enum { LENGTH = 30000, DEPTH = 1000, LEVELS = 60 };
    struct text texts[2];
    for (int side = 0; side < 2; side++) {
        struct text *text = &texts[side];
        text_init(text);
        text_append(text, "x = f32[4] parameter(0)\n");
        text_printf(text, "i0 = f32[4] %s(x)\n", side == 0 ? "sine" : "cosine");
        for (int i = 1; i < LENGTH; i++) {
            int operand = i == 1 || side == 0 ? i - 1 : i - 1 + LENGTH;
            text_printf(text, "%si%d = f32[4] %s(i%d, i%d)\n", i + 1 == LENGTH ? "ROOT " : "",
                        side == 0 ? i : i + LENGTH, i % 2 == 0 ? "add" : "multiply", operand,
                        operand);
        }
    }
    expect(texts[0].data, texts[1].data, "i0~i0");
    for (int side = 0; side < 2; side++) {
        struct text *text = &texts[side];
        text_clear(text);
        text_append(text,
                    "HloModule m\n"
                    "deep0 {\n p = f32[4] parameter(0)\n ROOT e = f32[4] exponential(p)\n}\n");
        for (int i = 1; i < DEPTH; i++) {
            text_printf(text,
                        "deep%d {\n p = f32[4] parameter(0)\n ROOT c = f32[4] call(p), "
                        "to_apply=deep%d\n}\n",
                        i, i - 1);
        }
        text_append(text,
                    "bushy0 {\n p = f32[4] parameter(0)\n ROOT e = f32[4] exponential(p)\n}\n");
        for (int i = 1; i < LEVELS; i++) {
            text_printf(
                text,
                "bushy%d {\n p = f32[4] parameter(0)\n a = f32[4] call(p), to_apply=bushy%d\n"
                " ROOT c = f32[4] call(a), to_apply=bushy%d\n}\n",
                i, i - 1, i - 1);
        }
        text_printf(text,
                    "ENTRY main {\n x = f32[4] parameter(0)\n y = f32[4] call(x), to_apply=deep%d\n"
                    " z = f32[4] call(y), to_apply=bushy%d\n ROOT r = f32[4] %s(z)\n}\n",
                    DEPTH - 1, LEVELS - 1, side == 0 ? "negate" : "abs");
    }
    expect(texts[0].data, texts[0].data, "");
    expect(texts[0].data, texts[1].data, "r~r");
    text_finish(&texts[0]);
    text_finish(&texts[1]);
}
END_TEST

/* --- text --- */

static void expect_text(const char *old, const char *new, int context, const char *expected)
{
    struct fixture fixture;
    setup(&fixture, old, new);
    struct text out;
    text_init(&out);
    diff_print(&fixture.diff, context, &out);
    ck_assert_str_eq(out.data, expected);
    text_finish(&out);
    teardown(&fixture);
}

START_TEST(test_print)
{
    static const char changed[] =
        "  x = f32[4]{0:T(128)} parameter(0), metadata={op_name=\"x\"}\n"
        "  y = f32[4] parameter(1)\n  a = f32[4] multiply(x, y)\n"
        "  new = f32[4] copy(a)\n  b = f32[4] tanh(new), backend_config={\"a\":1}\n"
        "  c = f32[4] subtract(x, b)\n  ROOT d = f32[4] negate(c)";
    expect_text(chain, changed, 0,
                "--- m.txt\n+++ m.txt\n@@ main (entry) @@\n"
                "  …\n"
                "+   new = f32[4] copy(a)\n"
                "-   b = f32[4] tanh(a)\n"
                "+   b = f32[4] tanh(new)\n"
                "-   c = f32[4] subtract(b, x)\n"
                "+   c = f32[4] subtract(x, b)\n");
    expect_text(chain, changed, 1,
                "--- m.txt\n+++ m.txt\n@@ main (entry) @@\n"
                "    x = f32[4] parameter(0)\n"
                "  …\n"
                "    a = f32[4] multiply(x, y)\n"
                "+   new = f32[4] copy(a)\n"
                "-   b = f32[4] tanh(a)\n"
                "+   b = f32[4] tanh(new)\n"
                "-   c = f32[4] subtract(b, x)\n"
                "+   c = f32[4] subtract(x, b)\n"
                "    ROOT d = f32[4] negate(c)\n");
    expect_text(chain,
                "  x = f32[4] parameter(0)\n  y = f32[4] parameter(1)\n"
                "  a = f32[4] multiply(x, y)\n"
                "  c = f32[4] subtract(a, x)\n  ROOT d = f32[4] negate(c)",
                1,
                "--- m.txt\n+++ m.txt\n@@ main (entry) @@\n"
                "    x = f32[4] parameter(0)\n"
                "  …\n"
                "    a = f32[4] multiply(x, y)\n"
                "-   b = f32[4] tanh(a)\n"
                "-   c = f32[4] subtract(b, x)\n"
                "+   c = f32[4] subtract(a, x)\n"
                "    ROOT d = f32[4] negate(c)\n");
    expect_text(chain, fused, 1,
                "--- m.txt\n+++ m.txt\n@@ groups @@\n"
                "+   g = fusion kLoop of m, t\n");
    expect_text(chain, chain, 1, "Nothing differs in what is computed.\n");
}
END_TEST

START_TEST(test_print_forms)
{
    expect_text("x = f32[4,2]{1,0} parameter(0)\n ROOT y = f32[4,2]{1,0} negate(x)",
                "x = f32[4,2]{1,0} parameter(0)\n ROOT y = f32[4,2]{0,1} negate(x)", 1,
                "--- m.txt\n+++ m.txt\n@@ main: layouts @@\n"
                "-   ROOT y = f32[4,2]{1,0} negate(x)\n"
                "+   ROOT y = f32[4,2]{0,1} negate(x)\n");
    expect_text("HloModule m\nENTRY main {\n  x = f32[] parameter(0)\n  ROOT y = f32[] tanh(x)\n}",
                "HloModule m, is_scheduled=true\nENTRY main {\n  x = f32[] parameter(0)\n"
                "  ROOT y = f32[] tanh(x)\n}",
                1, "--- m.txt\n+++ m.txt\nOnly the order of instructions differs.\n");
    /* Long constants are left out, bitcasts show their layouts. */
    expect_text("x = f32[2,3]{1,0} parameter(0)\n b = f32[3,2]{1,0} bitcast(x)\n"
                " k = s32[11] constant({1,2,3,4,5,6,7,8,9,10,11})\n"
                " ROOT r = (f32[3,2], s32[11]) tuple(b, k)",
                "x = f32[2,3]{1,0} parameter(0)\n b = f32[3,2]{0,1} bitcast(x)\n"
                " k = s32[11] constant({1,2,3,4,5,6,7,8,9,10,12})\n"
                " ROOT r = (f32[3,2], s32[11]) tuple(b, k)",
                0,
                "--- m.txt\n+++ m.txt\n@@ main (entry) @@\n"
                "  …\n"
                "-   b = f32[3,2]{1,0} bitcast(x)\n"
                "+   b = f32[3,2]{0,1} bitcast(x)\n"
                "-   k = s32[11] constant({...})\n"
                "+   k = s32[11] constant({...})\n");
}
END_TEST

/* A long line is cut around what differs, and keeps its name. */
START_TEST(test_print_long)
{
    struct text texts[2];
    for (int side = 0; side < 2; side++) {
        text_init(&texts[side]);
        text_append(&texts[side], "x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
                                  " ROOT r = (");
        for (int i = 0; i < 200; i++) {
            text_append(&texts[side], i > 0 ? ", f32[]" : "f32[]");
        }
        text_append(&texts[side], ") tuple(");
        for (int i = 0; i < 200; i++) {
            text_append(&texts[side], i > 0 ? ", " : "");
            text_append(&texts[side], side == 1 && i == 120 ? "y" : "x");
        }
        text_append(&texts[side], ")");
    }
    struct fixture fixture;
    setup(&fixture, texts[0].data, texts[1].data);
    struct text out;
    text_init(&out);
    diff_print(&fixture.diff, 0, &out);
    const char *minus = strstr(out.data, "\n-   ROOT r = …"),
               *plus = strstr(out.data, "\n+   ROOT r = …");
    ck_assert_msg(minus != NULL && plus != NULL, "%s", out.data);
    ck_assert_ptr_nonnull(strstr(plus, "x, y, x"));
    ck_assert_int_lt((int)strlen(out.data), 800);
    text_finish(&out);
    teardown(&fixture);
    text_finish(&texts[0]);
    text_finish(&texts[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("diff");
    TCase *tests = tcase_create("diff");
    tcase_add_test(tests, test_no_change);
    tcase_add_test(tests, test_form_only);
    tcase_add_loop_test(tests, test_changes, 0, (int)(sizeof changes / sizeof *changes));
    tcase_add_test(tests, test_repeated);
    tcase_add_test(tests, test_groups);
    tcase_add_test(tests, test_more_groups);
    tcase_add_test(tests, test_shared_computations);
    tcase_add_test(tests, test_counterparts);
    tcase_add_test(tests, test_elided);
    tcase_add_test(tests, test_size);
    tcase_add_test(tests, test_print);
    tcase_add_test(tests, test_print_forms);
    tcase_add_test(tests, test_print_long);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
