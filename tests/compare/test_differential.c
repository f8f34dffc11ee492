/* Verdicts: backends with known faults and known licences, held against the golden.
 *
 * A backend here is the golden on another module: what a compiler would make of the module by a
 * wrong rewrite, by flushing, by reordering. Which verdict is right follows from HLO's semantics
 * and from what XLA documents as its licence; the kinds are those of public reports. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend_impl.h"
#include "compare/differential.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"

static struct module *read(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "test", 1, &err);
    ck_assert_msg(module != NULL, "%d:%d %s\n%s", err.line, err.column, err.message, text);
    return module;
}

/* What stands for a backend: run k evaluates modules[k % count]; NULL = it dies. */
struct stand_in {
    struct module *modules[2];
    int count, runs;
};

static void stand_in_run(struct backend *backend, const struct backend_job *job,
                         struct run_result *result, struct text *message)
{
    struct stand_in *stand_in = backend->state;
    const struct module *module = stand_in->modules[stand_in->runs++ % stand_in->count];
    if (module == NULL) {
        result->outcome = OUTCOME_CRASH;
        text_append(message, "SIGABRT while compiling");
        return;
    }
    struct error err = {0};
    result->outputs[0] = interp_evaluate(module, job->arguments, job->argument_count, NULL, &err);
    ck_assert_msg(result->outputs[0] != NULL, "%s", err.message);
    result->outcome = OUTCOME_PASS;
}

static struct literal *read_literal(const struct shape *shape, const char *text)
{
    struct error err = {0};
    size_t used;
    struct literal *literal = literal_parse(shape, text, strlen(text), &used, &err);
    ck_assert_msg(literal != NULL, "%s: %s", err.message, text);
    return literal;
}

/* Judges `made` (and `then`, on every second run) as what a backend made of `text`; *hasty: in
 * haste, and was it? */
static enum outcome judge(const char *text, const char *made, const char *then,
                          const char *const *arguments, const char *profile, int repeat,
                          bool *hasty)
{
    static const struct backend_impl impl = {.run = stand_in_run};
    struct stand_in stand_in = {.count = then != NULL ? 2 : 1};
    stand_in.modules[0] = made != NULL ? read(made) : NULL;
    stand_in.modules[1] = then != NULL ? read(then) : NULL;
    char uri[] = "cpu:";
    struct backend backend = {.impl = &impl, .scheme = "cpu", .uri = uri, .state = &stand_in};
    struct error err = {0};
    struct backend *reference = backend_open("interp:", &backend.options, &err);
    struct module *module = read(text);
    int count = module->entry->parameter_count;
    struct literal *given[8];
    for (int i = 0; arguments != NULL && i < count; i++) {
        ck_assert(arguments[i] != NULL);
        given[i] = read_literal(module->entry->parameters[i]->shape, arguments[i]);
    }
    struct differential_options options = {
        .inputs = {.seed = 1},
        .arguments = arguments != NULL ? given : NULL,
        .argument_count = arguments != NULL ? count : 0,
        .profile = profile != NULL ? profile_find(profile) : NULL,
        .repeat = repeat,
        .hasty = hasty != NULL,
    };
    struct differential_result result;
    differential_run(module, &backend, reference, &options, &result);
    enum outcome outcome = result.outcome;
    if (hasty != NULL) {
        *hasty = result.hasty;
    }
    ck_assert_msg(outcome == OUTCOME_PASS || result.message[0] != '\0', "no message");
    ck_assert(outcome != OUTCOME_MISMATCH || result.picture[0] != '\0');
    differential_result_finish(&result);
    for (int i = 0; arguments != NULL && i < count; i++) {
        literal_release(given[i]);
    }
    module_destroy(module);
    module_destroy(stand_in.modules[0]);
    module_destroy(stand_in.modules[1]);
    backend_close(reference);
    return outcome;
}

#define ENTRY(...) "HloModule m\nENTRY e {\n" __VA_ARGS__ "}\n"
#define REGION(name, op, type)                                                                \
    "HloModule m\n" name " {\n  p = " type "[] parameter(0)\n  q = " type "[] parameter(1)\n" \
    "  ROOT r = " type "[] " op "(p, q)\n}\nENTRY e {\n"
#define X "  x = f32[2] parameter(0)\n"
#define XYZ X "  y = f32[2] parameter(1)\n  z = f32[2] parameter(2)\n"

#define CHAIN                                                            \
    "  h = f32[2] constant({0.01, 0.01})\n  p = f32[2] exponential(x)\n" \
    "  p1 = f32[2] multiply(p, h)\n  p2 = f32[2] exponential(p1)\n"      \
    "  p3 = f32[2] multiply(p2, h)\n  p4 = f32[2] exponential(p3)\n  t = f32[2] multiply(p4, h)\n"
#define CANCELS "  e = f32[2] exponential(x)\n  c = f32[2] constant({2.7182817, 2.7182817})\n"

/* exp(−exp(−…)): what is wrong in the middle is forgotten, but worst cases add up without end. */
#define LINK(i, j) "  n" #i " = f32[2] negate(e" #j ")\n  e" #i " = f32[2] exponential(n" #i ")\n"
#define DEEP                                                                                  \
    X "  e0 = f32[2] exponential(x)\n" LINK(1, 0) LINK(2, 1) LINK(3, 2) LINK(4, 3) LINK(5, 4) \
        LINK(6, 5) LINK(7, 6) LINK(8, 7) LINK(9, 8) LINK(10, 9)

/* log(exp a + exp b), again and again. */
#define LOG_SUM_EXP(type)                                                                         \
    "HloModule m\njoin { a = " type "[] parameter(0)\n  b = " type "[] parameter(1)\n  m = " type \
    "[] maximum(a, b)\n  d = " type "[] subtract(a, m)\n  f = " type                              \
    "[] subtract(b, m)\n  g = " type "[] exponential(d)\n  h = " type                             \
    "[] exponential(f)\n  i = " type "[] add(g, h)\n  j = " type "[] log(i)\n  ROOT r = " type    \
    "[] add(j, m) }\nENTRY e {\n"

struct verdict {
    const char *name, *module, *made;
    const char *arguments[4]; /* none: drawn */
    enum outcome usual, strict;
};

static const struct verdict verdicts[] = {
    /* --- miscompiles --- */
    {"slices of slices merged before clamping",
     ENTRY("  x = s32[10] parameter(0)\n  i = s32[] parameter(1)\n  j = s32[] parameter(2)\n"
           "  a = s32[5] dynamic-slice(x, i), dynamic_slice_sizes={5}\n"
           "  ROOT b = s32[2] dynamic-slice(a, j), dynamic_slice_sizes={2}\n"),
     ENTRY("  x = s32[10] parameter(0)\n  i = s32[] parameter(1)\n  j = s32[] parameter(2)\n"
           "  k = s32[] add(i, j)\n"
           "  ROOT b = s32[2] dynamic-slice(x, k), dynamic_slice_sizes={2}\n"),
     {"{0,1,2,3,4,5,6,7,8,9}", "1", "7"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"a wrapped square taken for positive",
     ENTRY("  x = s8[3] parameter(0)\n  m = s8[3] multiply(x, x)\n  ROOT a = s8[3] abs(m)\n"),
     ENTRY("  x = s8[3] parameter(0)\n  ROOT m = s8[3] multiply(x, x)\n"),
     {"{12, 5, -13}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"a maximum that drops NaN",
     REGION("max", "maximum",
            "f32") "  x = f32[4] parameter(0)\n  c = f32[] constant(-inf)\n"
                   "  ROOT r = f32[] reduce(x, c), dimensions={0}, to_apply=max\n}\n",
     REGION("max", "maximum",
            "f32") "  x = f32[4] parameter(0)\n  c = f32[] constant(-inf)\n"
                   "  b = f32[4] broadcast(c), dimensions={}\n  n = pred[4] compare(x, x), "
                   "direction=EQ\n"
                   "  s = f32[4] select(n, x, b)\n"
                   "  ROOT r = f32[] reduce(s, c), dimensions={0}, to_apply=max\n}\n",
     {"{1, nan, 2, 3}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"an accumulation that keeps only the last update",
     REGION(
         "add", "add",
         "s32") "  x = s32[2] parameter(0)\n  i = s32[3,1] parameter(1)\n"
                "  u = s32[3] parameter(2)\n  ROOT s = s32[2] scatter(x, i, u), "
                "update_window_dims={}, "
                "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                "to_apply=add\n}\n",
     ENTRY("  x = s32[2] parameter(0)\n  i = s32[3,1] parameter(1)\n  u = s32[3] parameter(2)\n"
           "  l = s32[1] slice(u), slice={[2:3]}\n  c = s32[] constant(0)\n"
           "  p = s32[2] pad(l, c), padding=1_0\n  ROOT s = s32[2] add(x, p)\n"),
     {"{10, 20}", "{{1}, {1}, {1}}", "{1, 2, 4}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"an answer that is one per cent off",
     ENTRY(X "  ROOT r = f32[2] exponential(x)\n"),
     ENTRY(X "  e = f32[2] exponential(x)\n  c = f32[] constant(1.01)\n"
             "  b = f32[2] broadcast(c), dimensions={}\n  ROOT r = f32[2] multiply(e, b)\n"),
     {"{1, 2}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"one per cent off where the default bound is many times the answer",
     ENTRY(DEEP "  ROOT r = f32[2] negate(e10)\n"),
     ENTRY(DEEP "  c = f32[] constant(-1.01)\n  b = f32[2] broadcast(c), dimensions={}\n"
                "  ROOT r = f32[2] multiply(e10, b)\n"),
     {"{0.1, -0.2}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"a step off there",
     ENTRY(DEEP "  ROOT r = f32[2] negate(e10)\n"),
     ENTRY(DEEP "  c = f32[] constant(-1.0000001)\n  b = f32[2] broadcast(c), dimensions={}\n"
                "  ROOT r = f32[2] multiply(e10, b)\n"),
     {"{0.1, -0.2}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"batch normalization that cancels",
     ENTRY("  x = f32[2,1] parameter(0)\n  s = f32[1] constant({0.7})\n"
           "  o = f32[1] constant({-1.1})\n  m = f32[1] constant({-0.31})\n"
           "  v = f32[1] constant({0.9})\n"
           "  ROOT r = f32[2,1] batch-norm-inference(x, s, o, m, v), epsilon=0.001, "
           "feature_index=1\n"),
     ENTRY("  x = f32[2,1] parameter(0)\n  m = f32[2,1] constant({{-0.31},{-0.31}})\n"
           "  w = f32[2,1] constant({{0.901},{0.901}})\n  o = f32[2,1] constant({{-1.1},{-1.1}})\n"
           "  s = f32[2,1] constant({{0.7},{0.7}})\n  d = f32[2,1] subtract(x, m)\n"
           "  i = f32[2,1] rsqrt(w)\n  n = f32[2,1] multiply(d, i)\n"
           "  p = f32[2,1] multiply(n, s)\n  ROOT r = f32[2,1] add(p, o)\n"),
     {"{{1.18161678}, {0.5}}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"a combiner of several roundings",
     LOG_SUM_EXP("f32") X "  w = f32[2,3000] broadcast(x), dimensions={0}\n"
                          "  z = f32[] constant(0)\n"
                          "  ROOT r = f32[2] reduce(w, z), dimensions={1}, to_apply=join\n}\n",
     LOG_SUM_EXP("f64") X
     "  c = f64[2] convert(x)\n  w = f64[2,3000] broadcast(c), dimensions={0}\n"
     "  z = f64[] constant(0)\n"
     "  s = f64[2] reduce(w, z), dimensions={1}, to_apply=join\n"
     "  ROOT r = f32[2] convert(s)\n}\n",
     {"{1.7, 0.9}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"roundings in a map",
     "HloModule m\ngrow { a = f32[] parameter(0)\n  ROOT t = f32[] exponential(a) }\n"
     "waves { a = f32[] parameter(0)\n  t = f32[] map(a), dimensions={}, to_apply=grow\n"
     "  two = f32[] constant(2)\n  u = f32[] multiply(t, two)\n  ROOT s = f32[] sine(u) }\n"
     "ENTRY e {\n" X "  ROOT r = f32[2] map(x), dimensions={0}, to_apply=waves\n}\n",
     ENTRY(X "  w = f64[2] convert(x)\n  t = f64[2] exponential(w)\n  u = f64[2] add(t, t)\n"
             "  s = f64[2] sine(u)\n  ROOT r = f32[2] convert(s)\n"),
     {"{3.1, 5.7}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"rounded twice on the way from f64 to f16",
     ENTRY("  x = f64[2] parameter(0)\n  ROOT r = f16[2] convert(x)\n"),
     ENTRY("  x = f64[2] parameter(0)\n  y = f32[2] convert(x)\n  ROOT r = f16[2] convert(y)\n"),
     {"{1.00048828126, 1}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"it dies",
     ENTRY(X "  ROOT r = f32[2] negate(x)\n"),
     NULL,
     {"{1, 2}"},
     OUTCOME_CRASH,
     OUTCOME_CRASH},
    /* --- subnormals taken for zero --- */
    {"a flushed argument",
     ENTRY(X "  ROOT r = f32[2] sqrt(x)\n"),
     ENTRY(X "  ROOT r = f32[2] constant({0, 2})\n"),
     {"{1e-40, 4}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"a flushed operand of a compare",
     ENTRY("  u = u32[2] parameter(0)\n  f = f32[2] bitcast-convert(u)\n"
           "  z = f32[] constant(0)\n  b = f32[2] broadcast(z), dimensions={}\n"
           "  ROOT r = pred[2] compare(f, b), direction=EQ\n"),
     ENTRY("  u = u32[2] parameter(0)\n  ROOT r = pred[2] constant({true, false})\n"),
     {"{77, 1065353216}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"flushed sort keys are ties",
     "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
     "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n"
     "  ROOT l = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n  k = f32[4] parameter(0)\n"
     "  i = s32[4] iota(), iota_dimension=0\n"
     "  s = (f32[4], s32[4]) sort(k, i), dimensions={0}, is_stable=true, to_apply=less\n"
     "  ROOT r = s32[4] get-tuple-element(s), index=1\n}\n",
     ENTRY("  k = f32[4] parameter(0)\n  ROOT r = s32[4] constant({3, 0, 1, 2})\n"),
     {"{3e-40, 2e-40, 1e-40, -1}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"but a normal number is not flushed",
     ENTRY(X "  ROOT r = f32[2] sqrt(x)\n"),
     ENTRY(X "  ROOT r = f32[2] constant({0, 2})\n"),
     {"{1e-36, 4}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    /* --- licences of the algebraic simplifier and of contraction --- */
    {"two divisions become one, which overflows",
     ENTRY(XYZ "  d = f32[2] divide(x, y)\n  ROOT r = f32[2] divide(d, z)\n"),
     ENTRY(XYZ "  d = f32[2] multiply(y, z)\n  ROOT r = f32[2] divide(x, d)\n"),
     {"{1e30, 6}", "{1e20, 2}", "{1e20, 3}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"the logarithm of an exponential folded away",
     ENTRY(X "  e = f32[2] exponential(x)\n  ROOT r = f32[2] log(e)\n"),
     ENTRY(X "  ROOT r = f32[2] copy(x)\n"),
     {"{100, 1}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"a multiply and add contracted",
     ENTRY(XYZ "  m = f32[2] multiply(x, y)\n  ROOT r = f32[2] subtract(m, z)\n"),
     ENTRY(XYZ "  a = f64[2] convert(x)\n  b = f64[2] convert(y)\n  c = f64[2] convert(z)\n"
               "  m = f64[2] multiply(a, b)\n  s = f64[2] subtract(m, c)\n"
               "  ROOT r = f32[2] convert(s)\n"),
     {"{1.1, 3}", "{1.1, 5}", "{1.21, 15}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"a zero of the other sign",
     ENTRY(X "  c = f32[] constant(0)\n  b = f32[2] broadcast(c), dimensions={}\n"
             "  ROOT r = f32[2] subtract(b, x)\n"),
     ENTRY(X "  ROOT r = f32[2] negate(x)\n"),
     {"{0, 1}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"a zero that is not negated",
     ENTRY(X "  ROOT r = f32[2] negate(x)\n"),
     ENTRY(X "  c = f32[] constant(0)\n  b = f32[2] broadcast(c), dimensions={}\n"
             "  ROOT r = f32[2] subtract(b, x)\n"),
     {"{0, 1}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"a rounding on the way that is left out",
     ENTRY(X "  n = bf16[2] convert(x)\n  ROOT w = f32[2] convert(n)\n"),
     ENTRY(X "  ROOT w = f32[2] copy(x)\n"),
     {"{1.0009765625, 3}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    /* --- what must stay silent --- */
    {"a sum in another order",
     REGION("add", "add", "f32") "  x = f32[3] parameter(0)\n  c = f32[] constant(0)\n"
                                 "  ROOT r = f32[] reduce(x, c), dimensions={0}, to_apply=add\n}\n",
     ENTRY("  x = f32[3] parameter(0)\n  a = f32[1] slice(x), slice={[0:1]}\n"
           "  b = f32[1] slice(x), slice={[1:2]}\n  c = f32[1] slice(x), slice={[2:3]}\n"
           "  s = f32[1] add(a, b)\n  t = f32[1] add(s, c)\n  ROOT r = f32[] reshape(t)\n"),
     {"{1, 5.9604645e-8, 5.9604645e-8}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"a sum of f16 kept in f16",
     REGION("add", "add", "f16") "  x = f16[3] parameter(0)\n  c = f16[] constant(0)\n"
                                 "  ROOT r = f16[] reduce(x, c), dimensions={0}, to_apply=add\n}\n",
     ENTRY("  x = f16[3] parameter(0)\n  a = f16[1] slice(x), slice={[0:1]}\n"
           "  b = f16[1] slice(x), slice={[1:2]}\n  c = f16[1] slice(x), slice={[2:3]}\n"
           "  s = f16[1] add(a, b)\n  t = f16[1] add(s, c)\n  ROOT r = f16[] reshape(t)\n"),
     {"{2048, 1, 1}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"the small part of a complex product",
     ENTRY("  x = c64[1] parameter(0)\n  y = c64[1] parameter(1)\n"
           "  ROOT r = c64[1] multiply(x, y)\n"),
     ENTRY("  x = c64[1] parameter(0)\n  y = c64[1] parameter(1)\n  a = f32[1] real(x)\n"
           "  b = f32[1] imag(x)\n  c = f32[1] real(y)\n  d = f32[1] imag(y)\n"
           "  ac = f32[1] multiply(a, c)\n  bd = f32[1] multiply(b, d)\n"
           "  ad = f32[1] multiply(a, d)\n  bc = f32[1] multiply(b, c)\n"
           "  re = f32[1] subtract(ac, bd)\n  im = f32[1] add(ad, bc)\n"
           "  ROOT r = c64[1] complex(re, im)\n"),
     {"{(1.1, 0.7)}", "{(0.7, 1.1000001)}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    {"NaN of another sign",
     ENTRY(X "  ROOT r = f32[2] log(x)\n"),
     ENTRY(X "  l = f32[2] log(x)\n  ROOT r = f32[2] negate(l)\n"),
     {"{-1, 1}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH}, /* log 1 is +0: strict sees the sign of the zero only */
    {"the golden moves as much",
     ENTRY(X "  e = f32[2] exponential(x)\n  c = f32[] constant(4194304)\n"
             "  b = f32[2] broadcast(c), dimensions={}\n  m = f32[2] multiply(e, b)\n"
             "  ROOT r = s32[2] convert(m)\n"),
     ENTRY(X "  e = f32[2] exponential(x)\n  c = f32[] constant(4194304)\n"
             "  b = f32[2] broadcast(c), dimensions={}\n  m = f32[2] multiply(e, b)\n"
             "  i = s32[2] convert(m)\n  one = s32[] constant(1)\n"
             "  ones = s32[2] broadcast(one), dimensions={}\n  ROOT r = s32[2] add(i, ones)\n"),
     {"{1, 1.5}"},
     OUTCOME_INCONCLUSIVE,
     OUTCOME_MISMATCH},
    /* --- does the run say anything? (drawn arguments) --- */
    {"always NaN",
     ENTRY("  x = f32[9] parameter(0)\n  a = f32[9] abs(x)\n  n = f32[9] negate(a)\n"
           "  c = f32[] constant(-1)\n  b = f32[9] broadcast(c), dimensions={}\n"
           "  s = f32[9] add(n, b)\n  ROOT r = f32[9] log(s)\n"),
     ENTRY("  x = f32[9] parameter(0)\n  c = f32[] constant(nan)\n"
           "  ROOT r = f32[9] broadcast(c), dimensions={}\n"),
     {NULL},
     OUTCOME_VACUOUS,
     OUTCOME_VACUOUS},
    {"always zero",
     ENTRY("  x = s32[9] parameter(0)\n  ROOT r = s32[9] subtract(x, x)\n"),
     ENTRY("  x = s32[9] parameter(0)\n  c = s32[] constant(0)\n"
           "  ROOT r = s32[9] broadcast(c), dimensions={}\n"),
     {NULL},
     OUTCOME_VACUOUS,
     OUTCOME_VACUOUS},
    {"one value, but it is the argument's",
     ENTRY("  x = s32[] parameter(0)\n  ROOT r = s32[9] broadcast(x), dimensions={}\n"),
     ENTRY("  x = s32[] parameter(0)\n  y = s32[9] broadcast(x), dimensions={}\n"
           "  ROOT r = s32[9] copy(y)\n"),
     {NULL},
     OUTCOME_PASS,
     OUTCOME_PASS},
    {"nothing depends on the argument",
     ENTRY("  x = u4[18] parameter(0)\n"
           "  ROOT r = u4[18] collective-permute(x), source_target_pairs={}\n"),
     ENTRY("  x = u4[18] parameter(0)\n  c = u4[] constant(0)\n"
           "  ROOT r = u4[18] broadcast(c), dimensions={}\n"),
     {NULL},
     OUTCOME_PASS,
     OUTCOME_PASS},
    {"more than the devices gather",
     ENTRY("  x = s4[1,2] parameter(0)\n"
           "  ROOT r = s4[3,2] all-gather(x), dimensions={0}\n"),
     ENTRY("  x = s4[1,2] parameter(0)\n  c = s4[] constant(7)\n"
           "  ROOT r = s4[3,2] pad(x, c), padding=0_2x0_0\n"),
     {"{{1, 2}}"},
     OUTCOME_PASS,
     OUTCOME_PASS},
    /* The default bound of such a chain is some 3000 units, its own spread a few. */
    {"a deep chain that is off by more than its roundings",
     ENTRY(X CHAIN "  ROOT r = f32[2] exponential(t)\n"),
     ENTRY(X CHAIN "  q = f32[2] exponential(t)\n  o = f32[2] constant({1.0001, 1})\n"
                   "  ROOT r = f32[2] multiply(q, o)\n"),
     {"{0.5, 1}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"a deep chain that is off by a few units",
     ENTRY(X CHAIN "  ROOT r = f32[2] exponential(t)\n"),
     ENTRY(X CHAIN "  q = f32[2] exponential(t)\n  o = f32[2] constant({1.0000003, 1})\n"
                   "  ROOT r = f32[2] multiply(q, o)\n"),
     {"{0.5, 1}"},
     OUTCOME_PASS,
     OUTCOME_MISMATCH},
    /* e - c is about 8e-5, its roundings up to 1.4e-6, so its bound some 1e-5. */
    {"a little off where the golden does not know",
     ENTRY(X CANCELS "  ROOT r = f32[2] subtract(e, c)\n"),
     ENTRY(X CANCELS "  s = f32[2] subtract(e, c)\n  o = f32[2] constant({1.2, 1})\n"
                     "  ROOT r = f32[2] multiply(s, o)\n"),
     {"{1.00003, 1.00003}"},
     OUTCOME_INCONCLUSIVE,
     OUTCOME_MISMATCH},
    {"far off where the golden does not know",
     ENTRY(X CANCELS "  ROOT r = f32[2] subtract(e, c)\n"),
     ENTRY(X CANCELS "  s = f32[2] subtract(e, c)\n  o = f32[2] constant({4, 1})\n"
                     "  ROOT r = f32[2] multiply(s, o)\n"),
     {"{1.00003, 1.00003}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"infinite where the golden does not know",
     ENTRY(X CANCELS "  ROOT r = f32[2] subtract(e, c)\n"),
     ENTRY(X CANCELS "  s = f32[2] subtract(e, c)\n  o = f32[2] constant({inf, 1})\n"
                     "  ROOT r = f32[2] multiply(s, o)\n"),
     {"{1.00003, 1.00003}"},
     OUTCOME_MISMATCH,
     OUTCOME_MISMATCH},
    {"infinite where it may be anything",
     ENTRY(X CANCELS "  s = f32[2] subtract(e, c)\n  ROOT r = f32[2] divide(c, s)\n"),
     ENTRY(X CANCELS "  s = f32[2] subtract(e, c)\n  o = f32[2] constant({0, 1})\n"
                     "  m = f32[2] multiply(s, o)\n  ROOT r = f32[2] divide(c, m)\n"),
     {"{1.0000001, 1.0000001}"},
     OUTCOME_INCONCLUSIVE,
     OUTCOME_MISMATCH},
    {"products of many integers",
     REGION("mul", "multiply",
            "s32") "  x = s32[3,400] parameter(0)\n  c = s32[] constant(1)\n"
                   "  ROOT r = s32[3] reduce(x, c), dimensions={1}, to_apply=mul\n}\n",
     REGION("mul", "multiply",
            "s32") "  x = s32[3,400] parameter(0)\n  c = s32[] constant(1)\n"
                   "  y = s32[3,400] reverse(x), dimensions={1}\n"
                   "  ROOT r = s32[3] reduce(y, c), dimensions={1}, to_apply=mul\n}\n",
     {NULL},
     OUTCOME_PASS,
     OUTCOME_PASS},
};

START_TEST(test_verdict)
{
    const struct verdict *row = &verdicts[_i];
    const char *const *arguments = row->arguments[0] != NULL ? row->arguments : NULL;
    enum outcome usual = judge(row->module, row->made, NULL, arguments, NULL, 0, NULL);
    ck_assert_msg(usual == row->usual, "%s: %s, not %s", row->name, outcome_text(usual),
                  outcome_text(row->usual));
    enum outcome strict = judge(row->module, row->made, NULL, arguments, "strict", 0, NULL);
    ck_assert_msg(strict == row->strict, "%s, strict: %s, not %s", row->name, outcome_text(strict),
                  outcome_text(row->strict));
}
END_TEST

/* What fails does so in haste too; what passes may fail then, but for what has no licence. */
START_TEST(test_hasty)
{
    const struct verdict *row = &verdicts[_i];
    const char *const *arguments = row->arguments[0] != NULL ? row->arguments : NULL;
    bool hasty;
    enum outcome usual = judge(row->module, row->made, NULL, arguments, NULL, 0, &hasty);
    ck_assert_msg(usual == row->usual || usual == OUTCOME_MISMATCH, "%s: %s", row->name,
                  outcome_text(usual));
    enum outcome strict = judge(row->module, row->made, NULL, arguments, "strict", 0, &hasty);
    ck_assert_msg(strict == row->strict || strict == OUTCOME_MISMATCH, "%s, strict: %s", row->name,
                  outcome_text(strict));
}
END_TEST

/* What is clearly wrong is so at once, even where the default bound is no bound. */
START_TEST(test_hasty_at_once)
{
    static const char *const arguments[] = {"{0.1, -0.2}"};
    static const struct {
        const char *made;
        bool hasty;
    } rows[] = {
        {ENTRY(DEEP "  c = f32[] constant(-1.1)\n  b = f32[2] broadcast(c), dimensions={}\n"
                    "  ROOT r = f32[2] multiply(e10, b)\n"),
         true},
        {ENTRY(DEEP "  c = f32[] constant(-1.001)\n  b = f32[2] broadcast(c), dimensions={}\n"
                    "  ROOT r = f32[2] multiply(e10, b)\n"),
         false},
    };
    bool hasty;
    enum outcome outcome = judge(ENTRY(DEEP "  ROOT r = f32[2] negate(e10)\n"), rows[_i].made, NULL,
                                 arguments, NULL, 0, &hasty);
    ck_assert_int_eq(outcome, OUTCOME_MISMATCH);
    ck_assert_int_eq(hasty, rows[_i].hasty);
}
END_TEST

/* Hundreds of updates in one element, added one after the other, are off as far as such a sum is.
 */
START_TEST(test_sums_of_updates)
{
    struct error err = {0};
    struct module *module =
        read(REGION("add", "add", "f32") "  t = f32[100] parameter(0)\n"
                                         "  i = s32[2008,1] parameter(1)\n"
                                         "  u = f32[2008,32] parameter(2)\n"
                                         "  ROOT s = f32[100] scatter(t, i, u), "
                                         "update_window_dims={1}, inserted_window_dims={}, "
                                         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                                         "indices_are_sorted=true, to_apply=add\n}\n");
    struct backend *exact = backend_open("interp:", NULL, &err);
    struct backend *literal = backend_open("interp:?fidelity=literal", NULL, &err);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct differential_options options = {.inputs = {.seed = seed},
                                               .profile = profile_find("cpu")};
        struct differential_result result;
        differential_run(module, literal, exact, &options, &result);
        ck_assert_msg(result.outcome == OUTCOME_PASS, "seed %d: %s", (int)seed, result.message);
        ck_assert(!result.comparison.equal || result.comparison.leaves[0].largest_ulps > 16);
        differential_result_finish(&result);
    }
    backend_close(exact);
    backend_close(literal);
    module_destroy(module);
}
END_TEST

START_TEST(test_flaky)
{
    static const char *const arguments[] = {"{1, 2}"};
    const char *module = ENTRY(X "  ROOT r = f32[2] negate(x)\n");
    const char *other = ENTRY(X "  ROOT r = f32[2] abs(x)\n");
    ck_assert_int_eq(judge(module, module, other, arguments, NULL, 3, NULL), OUTCOME_FLAKY);
    ck_assert_int_eq(judge(module, module, module, arguments, NULL, 3, NULL), OUTCOME_PASS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("differential");
    TCase *tests = tcase_create("verdicts");
    tcase_add_loop_test(tests, test_verdict, 0, sizeof verdicts / sizeof *verdicts);
    tcase_add_loop_test(tests, test_hasty, 0, sizeof verdicts / sizeof *verdicts);
    tcase_add_loop_test(tests, test_hasty_at_once, 0, 2);
    tcase_add_test(tests, test_sums_of_updates);
    tcase_add_test(tests, test_flaky);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
