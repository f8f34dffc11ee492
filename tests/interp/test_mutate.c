/* Faults (hlo/mutate): what a module gives after each class, by hand. A class with variants gives
 * one of several values; over many seeds it has to give each of them, and nothing else. */
#include "hlo/mutate/mutate.h"

#include <stdio.h>

#include "hlo/verify.h"
#include "tests/interp/evaluate_devices.h"

enum { SEEDS = 64, WANTS_MOST = 6 };

struct fault_case {
    const char *class, *instruction; /* what is changed */
    const char *computation;         /* NULL: the entry */
    const char *text;
    const char *a, *b;
    const char *wants[WANTS_MOST]; /* of the variants */
};

static struct instruction *find(const struct module *module, const struct fault_case *the_case)
{
    const struct computation *computation =
        the_case->computation != NULL ? module_find_computation(module, the_case->computation)
                                      : module->entry;
    ck_assert_ptr_nonnull(computation);
    struct instruction *instruction = computation_find(computation, the_case->instruction);
    ck_assert_msg(instruction != NULL, "no %s in\n%s", the_case->instruction, the_case->text);
    return instruction;
}

/* The number of the value among the wanted ones. */
static int number_of(const struct literal *value, const struct fault_case *the_case,
                     const char *what)
{
    for (int i = 0; i < WANTS_MOST && the_case->wants[i] != NULL; i++) {
        struct literal *want = read_literal(the_case->wants[i]);
        bool same = literal_equal(value, want);
        literal_release(want);
        if (same) {
            return i;
        }
    }
    struct text text;
    text_init(&text);
    literal_print(value, false, 0, &text);
    ck_abort_msg("%s (%s) gives %s\n%s", the_case->class, what, text.data, the_case->text);
    return -1;
}

static void check_fault(const struct fault_case *the_case)
{
    unsigned seen = 0, wanted = 0;
    size_t before = literal_memory_in_use();
    const struct mutation *mutation = mutation_find(the_case->class);
    ck_assert_msg(mutation != NULL, "no class %s", the_case->class);
    for (int i = 0; i < WANTS_MOST && the_case->wants[i] != NULL; i++) {
        wanted |= 1u << i;
    }
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct module *module = read_module(the_case->text);
        struct error err = {0};
        struct text what;
        text_init(&what);
        ck_assert_msg(mutate_instruction(find(module, the_case), mutation, seed, &what, &err),
                      "%s: %s\n%s", the_case->class, err.message, the_case->text);
        ck_assert_msg(what.size > 0, "%s does not say what it did", the_case->class);
        struct findings findings;
        ck_assert_msg(verify_module(module, &findings), "%s: %s", the_case->class,
                      findings.count > 0 ? findings.list[0].text : "");
        findings_finish(&findings);
        struct literal *value =
            evaluate_module(module, the_case->a, the_case->b, NULL, NULL, NULL, &err);
        ck_assert_msg(value != NULL, "%s: %s\n%s", the_case->class, err.message, the_case->text);
        seen |= 1u << number_of(value, the_case, what.data);
        literal_release(value);
        text_finish(&what);
        module_destroy(module);
    }
    ck_assert_msg(seen == wanted, "%s: variants %x of %x\n%s", the_case->class, seen, wanted,
                  the_case->text);
    ck_assert_msg(literal_memory_in_use() == before, "literals leak: %s", the_case->class);
}

#define M "HloModule m\n"
#define ADD "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n"
#define BINARY(type, op)                                                \
    M "ENTRY e { x = " type " parameter(0) y = " type " parameter(1)\n" \
      "ROOT r = " type " " op "(x, y) }\n"
#define COMPARE(direction)                                          \
    M "ENTRY e { x = s32[3] parameter(0) y = s32[3] parameter(1)\n" \
      "ROOT r = pred[3] compare(x, y), direction=" direction " }\n"
#define UNARY(type, op) M "ENTRY e { x = " type " parameter(0)\nROOT r = " type " " op "(x) }\n"
#define ONE(type, rest) M "ENTRY e { x = " type " parameter(0)\nROOT r = " rest " }\n"

static const struct fault_case arithmetic[] = {
    {"operands",
     "r",
     NULL,
     BINARY("s32[2]", "subtract"),
     "s32[2] {7, 1}",
     "s32[2] {3, 5}",
     {"s32[2] {-4, 4}"}},
    {"operands",
     "r",
     NULL,
     COMPARE("LT"),
     "s32[3] {1, 2, 3}",
     "s32[3] {2, 2, 2}",
     {"pred[3] {0, 0, 1}"}},
    {"operands",
     "r",
     NULL,
     M "ENTRY e { x = s32[2,2] parameter(0) y = s32[2,2] parameter(1)\n"
       "ROOT r = s32[2,2] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} }\n",
     "s32[2,2] {{1, 2}, {3, 4}}",
     "s32[2,2] {{1, 0}, {0, 0}}",
     {"s32[2,2] {{1, 2}, {0, 0}}"}},
    {"repeated",
     "r",
     NULL,
     BINARY("s32[2]", "add"),
     "s32[2] {7, 1}",
     "s32[2] {3, 5}",
     {"s32[2] {14, 2}", "s32[2] {6, 10}"}},
    {"add_subtract",
     "r",
     NULL,
     BINARY("s32[2]", "add"),
     "s32[2] {7, 1}",
     "s32[2] {3, 5}",
     {"s32[2] {4, -4}"}},
    {"add_subtract",
     "r",
     NULL,
     BINARY("f32[1]", "subtract"),
     "f32[1] {7}",
     "f32[1] {3}",
     {"f32[1] {10}"}},
    {"min_max",
     "r",
     NULL,
     BINARY("s32[2]", "maximum"),
     "s32[2] {7, 1}",
     "s32[2] {3, 5}",
     {"s32[2] {3, 1}"}},
    {"logic", "r", NULL, BINARY("s32[1]", "and"), "s32[1] {12}", "s32[1] {10}", {"s32[1] {14}"}},
    {"logic", "r", NULL, BINARY("s32[1]", "or"), "s32[1] {12}", "s32[1] {10}", {"s32[1] {6}"}},
    {"logic", "r", NULL, BINARY("s32[1]", "xor"), "s32[1] {12}", "s32[1] {10}", {"s32[1] {14}"}},
    {"shift",
     "r",
     NULL,
     BINARY("s32[1]", "shift-right-arithmetic"),
     "s32[1] {-8}",
     "s32[1] {1}",
     {"s32[1] {2147483644}"}},
    {"function", "r", NULL, UNARY("f32[1]", "cosine"), "f32[1] {0}", NULL, {"f32[1] {0}"}},
    {"function", "r", NULL, UNARY("f32[1]", "rsqrt"), "f32[1] {16}", NULL, {"f32[1] {4}"}},
    {"dropped", "r", NULL, UNARY("s32[2]", "negate"), "s32[2] {1, -2}", NULL, {"s32[2] {1, -2}"}},
    {"dropped",
     "r",
     NULL,
     ONE("s32[3]", "s32[3] reverse(x), dimensions={0}"),
     "s32[3] {1, 2, 3}",
     NULL,
     {"s32[3] {1, 2, 3}"}},
    {"comparison",
     "r",
     NULL,
     COMPARE("LT"),
     "s32[3] {1, 2, 3}",
     "s32[3] {2, 2, 2}",
     {"pred[3] {0, 0, 1}"}},
    {"comparison",
     "r",
     NULL,
     COMPARE("EQ"),
     "s32[3] {1, 2, 3}",
     "s32[3] {2, 2, 2}",
     {"pred[3] {1, 0, 1}"}},
    {"strictness",
     "r",
     NULL,
     COMPARE("LT"),
     "s32[3] {1, 2, 3}",
     "s32[3] {2, 2, 2}",
     {"pred[3] {1, 1, 0}"}},
    {"strictness",
     "r",
     NULL,
     COMPARE("GE"),
     "s32[3] {1, 2, 3}",
     "s32[3] {2, 2, 2}",
     {"pred[3] {0, 0, 1}"}},
    {"clamp",
     "r",
     NULL,
     M "ENTRY e { x = s32[3] parameter(0) l = s32[] constant(0) h = s32[] constant(5)\n"
       "ROOT r = s32[3] clamp(l, x, h) }\n",
     "s32[3] {-1, 3, 9}",
     NULL,
     /* min(max(5, x), 0) */
     {"s32[3] {0, 0, 0}"}},
    {"select",
     "r",
     NULL,
     M "ENTRY e { x = s32[2] parameter(0) y = s32[2] parameter(1) p = pred[2] constant({1, 0})\n"
       "ROOT r = s32[2] select(p, x, y) }\n",
     "s32[2] {1, 2}",
     "s32[2] {3, 4}",
     {"s32[2] {3, 2}"}},
    {"rounding",
     "r",
     NULL,
     UNARY("f32[3]", "floor"),
     "f32[3] {0.75, 0.5, 1.5}",
     NULL,
     {"f32[3] {1, 0, 2}"}},
    {"rounding",
     "r",
     NULL,
     UNARY("f32[2]", "round-nearest-even"),
     "f32[2] {0.5, -2.5}",
     NULL,
     {"f32[2] {1, -3}"}},
    {"rounding",
     "r",
     NULL,
     ONE("f32[2]", "s32[2] convert(x)"),
     "f32[2] {0.75, -1.75}",
     NULL,
     {"s32[2] {1, -2}"}},
};

static const struct fault_case values[] = {
    {"constant",
     "c",
     NULL,
     M "ENTRY e { x = s32[2] parameter(0) c = s32[2] constant({5, -1})\n"
       "ROOT r = s32[2] add(x, c) }\n",
     "s32[2] {0, 0}",
     NULL,
     {"s32[2] {6, -1}", "s32[2] {4, -1}", "s32[2] {5, 0}", "s32[2] {5, -2}"}},
    {"constant",
     "r",
     NULL,
     M "ENTRY e { ROOT r = f32[] constant(2.5) }\n",
     NULL,
     NULL,
     {"f32[] 3.5", "f32[] -2.5"}},
    {"constant",
     "r",
     NULL,
     M "ENTRY e { ROOT r = f32[] constant(-inf) }\n",
     NULL,
     NULL,
     {"f32[] inf"}},
    {"constant",
     "r",
     NULL,
     M "ENTRY e { ROOT r = f32[] constant(nan) }\n",
     NULL,
     NULL,
     {"f32[] 1"}},
    {"constant",
     "r",
     NULL,
     M "ENTRY e { ROOT r = pred[] constant(true) }\n",
     NULL,
     NULL,
     {"pred[] 0"}},
    /* 1 + 2^-10: 8 bits of bf16 drop it, 11 bits of f16 keep it; f16 has no 70000 */
    {"narrow",
     "r",
     NULL,
     UNARY("f32[2]", "negate"),
     "f32[2] {-1.0009765625, -70000}",
     NULL,
     {"f32[2] {1, 70144}", "f32[2] {1.0009765625, inf}"}},
    {"narrow", "r", NULL, BINARY("s32[1]", "add"), "s32[1] {65536}", "s32[1] {3}", {"s32[1] {3}"}},
    {"tail",
     "r",
     NULL,
     UNARY("s32[2,2]", "negate"),
     "s32[2,2] {{1, 2}, {3, 4}}",
     NULL,
     {"s32[2,2] {{-1, -2}, {0, 0}}", "s32[2,2] {{-1, 0}, {-3, 0}}"}},
    {"nan",
     "r",
     NULL,
     BINARY("f32[3]", "maximum"),
     "f32[3] {nan, 1, 4}",
     "f32[3] {2, 3, 0}",
     {"f32[3] {2, 3, 4}"}},
    {"nan",
     "r",
     NULL,
     BINARY("f32[2]", "minimum"),
     "f32[2] {nan, 1}",
     "f32[2] {2, 3}",
     {"f32[2] {2, 1}"}},
    {"negative_zero",
     "r",
     NULL,
     UNARY("f32[2]", "negate"),
     "f32[2] {0, 1}",
     NULL,
     {"f32[2] {0, -1}"}},
    {"infinity",
     "r",
     NULL,
     BINARY("f16[2]", "multiply"),
     "f16[2] {60000, 2}",
     "f16[2] {-2, 3}",
     {"f16[2] {-65504, 6}"}},
};

static const struct fault_case indices[] = {
    {"slice",
     "r",
     NULL,
     ONE("s32[4]", "s32[2] slice(x), slice={[1:3]}"),
     "s32[4] {1, 2, 3, 4}",
     NULL,
     {"s32[2] {3, 4}", "s32[2] {1, 2}"}},
    {"slice",
     "r",
     NULL,
     ONE("s32[4]", "s32[2] slice(x), slice={[0:3:2]}"),
     "s32[4] {1, 2, 3, 4}",
     NULL,
     {"s32[2] {2, 4}"}},
    {"dynamic_slice",
     "r",
     NULL,
     M "ENTRY e { x = s32[4] parameter(0) i = s32[] constant(2)\n"
       "ROOT r = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1} }\n",
     "s32[4] {1, 2, 3, 4}",
     NULL,
     {"s32[1] {4}", "s32[1] {2}"}},
    {"dynamic_slice",
     "r",
     NULL,
     M "ENTRY e { x = s32[3] parameter(0) u = s32[1] parameter(1) i = s32[] constant(1)\n"
       "ROOT r = s32[3] dynamic-update-slice(x, u, i) }\n",
     "s32[3] {1, 2, 3}",
     "s32[1] {9}",
     {"s32[3] {1, 2, 9}", "s32[3] {9, 2, 3}"}},
    {"pad",
     "r",
     NULL,
     M "ENTRY e { x = s32[2] parameter(0) z = s32[] constant(7)\n"
       "ROOT r = s32[5] pad(x, z), padding=1_2 }\n",
     "s32[2] {1, 2}",
     NULL,
     /* exchanged or one more in front; one less in front */
     {"s32[5] {7, 7, 1, 2, 7}", "s32[5] {1, 2, 7, 7, 7}"}},
    {"pad_value",
     "r",
     NULL,
     M "ENTRY e { x = s32[2] parameter(0) z = s32[] constant(7)\n"
       "ROOT r = s32[3] pad(x, z), padding=0_1 }\n",
     "s32[2] {1, 2}",
     NULL,
     {"s32[3] {1, 2, 8}"}},
    {"window",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[3] parameter(0) z = s32[] constant(0)\n"
           "ROOT r = s32[3] reduce-window(x, z), window={size=2 pad=0_1}, to_apply=sum }\n",
     "s32[3] {1, 2, 4}",
     NULL,
     {"s32[3] {1, 3, 6}"}},
    {"window",
     "r",
     NULL,
     M "ENTRY e { x = f32[1,3,1] parameter(0) k = f32[2,1,1] parameter(1)\n"
       "ROOT r = f32[1,2,1] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f }\n",
     "f32[1,3,1] {{{1}, {2}, {4}}}",
     "f32[2,1,1] {{{1}}, {{10}}}",
     /* zeros in front, or behind */
     {"f32[1,2,1] {{{10}, {21}}}", "f32[1,2,1] {{{42}, {4}}}"}},
    {"gather_index",
     "r",
     NULL,
     M "ENTRY e { x = s32[4] parameter(0) i = s32[2] parameter(1)\n"
       "ROOT r = s32[2] gather(x, i), offset_dims={}, collapsed_slice_dims={0},\n"
       "  start_index_map={0}, index_vector_dim=1, slice_sizes={1} }\n",
     "s32[4] {1, 2, 3, 4}",
     "s32[2] {1, 2}",
     {"s32[2] {3, 4}", "s32[2] {1, 2}"}},
    {"gather_index",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[4] parameter(0) i = s32[2] parameter(1) u = s32[2] constant({5, 6})\n"
           "ROOT r = s32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},\n"
           "  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum }\n",
     "s32[4] {0, 0, 0, 0}",
     "s32[2] {1, 2}",
     {"s32[4] {0, 0, 5, 6}", "s32[4] {5, 6, 0, 0}"}},
    {"gather_clamp",
     "r",
     NULL,
     M "ENTRY e { x = s32[4] parameter(0) i = s32[2] parameter(1)\n"
       "ROOT r = s32[2] gather(x, i), offset_dims={}, collapsed_slice_dims={0},\n"
       "  start_index_map={0}, index_vector_dim=1, slice_sizes={1} }\n",
     "s32[4] {1, 2, 3, 4}",
     "s32[2] {0, 3}",
     {"s32[2] {1, 3}"}},
};

static const struct fault_case dimensions[] = {
    {"transpose",
     "r",
     NULL,
     ONE("s32[2,2]", "s32[2,2] transpose(x), dimensions={1,0}"),
     "s32[2,2] {{1, 2}, {3, 4}}",
     NULL,
     {"s32[2,2] {{1, 2}, {3, 4}}"}},
    {"broadcast",
     "r",
     NULL,
     ONE("s32[2]", "s32[2,2] broadcast(x), dimensions={0}"),
     "s32[2] {1, 2}",
     NULL,
     {"s32[2,2] {{1, 2}, {1, 2}}"}},
    {"reduce_dimension",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[2,2] parameter(0) z = s32[] constant(0)\n"
           "ROOT r = s32[2] reduce(x, z), dimensions={1}, to_apply=sum }\n",
     "s32[2,2] {{1, 2}, {3, 4}}",
     NULL,
     {"s32[2] {4, 6}"}},
    {"iota",
     "r",
     NULL,
     M "ENTRY e { ROOT r = s32[2,3] iota(), iota_dimension=1 }\n",
     NULL,
     NULL,
     {"s32[2,3] {{0, 0, 0}, {1, 1, 1}}", "s32[2,3] {{1, 2, 3}, {1, 2, 3}}"}},
    {"dot",
     "r",
     NULL,
     M "ENTRY e { x = s32[2,2] parameter(0) y = s32[2,1] parameter(1)\n"
       "ROOT r = s32[2,1] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n",
     "s32[2,2] {{1, 2}, {3, 4}}",
     "s32[2,1] {{1}, {10}}",
     {"s32[2,1] {{31}, {42}}"}},
    {"dot",
     "r",
     NULL,
     /* batch 0, sum over 1: only the two dimensions of either side can be exchanged */
     M "ENTRY e { x = s32[2,2] parameter(0) y = s32[2,2] parameter(1)\n"
       "ROOT r = s32[2] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},\n"
       "  lhs_contracting_dims={1}, rhs_contracting_dims={1} }\n",
     "s32[2,2] {{1, 2}, {3, 4}}",
     "s32[2,2] {{1, 10}, {100, 1000}}",
     {"s32[2] {31, 4200}", "s32[2] {201, 4030}"}},
    {"convolution",
     "r",
     NULL,
     M "ENTRY e { x = s32[1,2,2,1] parameter(0) k = s32[2,2,1,1] parameter(1)\n"
       "ROOT r = s32[1,1,1,1] convolution(x, k), window={size=2x2},\n"
       "  dim_labels=b01f_01io->b01f }\n",
     "s32[1,2,2,1] {{{{1}, {2}}, {{3}, {4}}}}",
     "s32[2,2,1,1] {{{{1}}, {{10}}}, {{{100}}, {{1000}}}}",
     /* 1·1 + 2·100 + 3·10 + 4·1000, whichever of the two is read the other way */
     {"s32[1,1,1,1] {{{{4231}}}}"}},
    {"layout",
     "r",
     NULL,
     ONE("s32[6]", "s32[2,3] reshape(x)"),
     "s32[6] {1, 2, 3, 4, 5, 6}",
     NULL,
     {"s32[2,3] {{1, 3, 5}, {2, 4, 6}}"}},
};

static const struct fault_case reductions[] = {
    {"last_element",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[2,3] parameter(0) z = s32[] constant(0)\n"
           "ROOT r = s32[2] reduce(x, z), dimensions={1}, to_apply=sum }\n",
     "s32[2,3] {{1, 2, 3}, {4, 5, 6}}",
     NULL,
     {"s32[2] {3, 9}"}},
    {"last_element",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[3] parameter(0) z = s32[] constant(0)\n"
           "ROOT r = s32[2] reduce-window(x, z), window={size=2}, to_apply=sum }\n",
     "s32[3] {1, 2, 4}",
     NULL,
     {"s32[2] {3, 2}"}},
    {"last_product",
     "r",
     NULL,
     M "ENTRY e { x = s32[3] parameter(0) y = s32[3] parameter(1)\n"
       "ROOT r = s32[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} }\n",
     "s32[3] {1, 2, 3}",
     "s32[3] {1, 10, 100}",
     {"s32[] 21"}},
    {"last_product",
     "r",
     NULL,
     M "ENTRY e { x = s32[1,2,2] parameter(0) k = s32[2,2,1] parameter(1)\n"
       "ROOT r = s32[1,1,1] convolution(x, k), window={size=2}, dim_labels=b0f_0io->b0f }\n",
     "s32[1,2,2] {{{1, 2}, {3, 4}}}",
     "s32[2,2,1] {{{1}, {10}}, {{100}, {1000}}}",
     /* without the last feature, or without the last place */
     {"s32[1,1,1] {{{301}}}", "s32[1,1,1] {{{21}}}"}},
    {"init",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[2] parameter(0) z = s32[] constant(0)\n"
           "ROOT r = s32[] reduce(x, z), dimensions={0}, to_apply=sum }\n",
     "s32[2] {1, 2}",
     NULL,
     {"s32[] 4"}},
    {"init",
     "r",
     NULL,
     M "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
       "ENTRY e { x = f32[2] parameter(0) z = f32[] constant(-inf)\n"
       "ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=max }\n",
     "f32[2] {-1, -2}",
     NULL,
     {"f32[] 0"}},
    {"reducer",
     "s",
     "sum",
     M ADD "ENTRY e { x = s32[3] parameter(0) z = s32[] constant(0)\n"
           "ROOT r = s32[] reduce(x, z), dimensions={0}, to_apply=sum }\n",
     "s32[3] {1, 5, 2}",
     NULL,
     {"s32[] 5"}},
    {"combiner",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[3] parameter(0) i = s32[1] constant({1}) u = s32[1] constant({5})\n"
           "ROOT r = s32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},\n"
           "  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum }\n",
     "s32[3] {10, 20, 30}",
     NULL,
     {"s32[3] {10, 5, 30}"}},
    {"combiner",
     "r",
     NULL,
     M "set { a = s32[] parameter(0) ROOT b = s32[] parameter(1) }\n"
       "ENTRY e { x = s32[3] parameter(0) i = s32[1] constant({1}) u = s32[1] constant({5})\n"
       "ROOT r = s32[3] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},\n"
       "  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set }\n",
     "s32[3] {10, 20, 30}",
     NULL,
     {"s32[3] {10, 25, 30}"}},
    {"update",
     "r",
     NULL,
     M ADD "ENTRY e { x = s32[2,2] parameter(0) i = s32[2,1] constant({{0}, {1}})\n"
           "u = s32[2,2] constant({{1, 2}, {3, 4}})\n"
           "ROOT r = s32[2,2] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},\n"
           "  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum }\n",
     "s32[2,2] {{0, 0}, {0, 0}}",
     NULL,
     {"s32[2,2] {{1, 2}, {0, 0}}"}},
    {"update",
     "r",
     NULL,
     M "ENTRY e { x = s32[3] parameter(0) u = s32[1] parameter(1) i = s32[] constant(1)\n"
       "ROOT r = s32[3] dynamic-update-slice(x, u, i) }\n",
     "s32[3] {1, 2, 3}",
     "s32[1] {9}",
     {"s32[3] {1, 2, 3}"}},
};

#define SORT                                                                          \
    M "less { a = s32[] parameter(0) b = s32[] parameter(1) c = s32[] parameter(2)\n" \
      "  d = s32[] parameter(3) ROOT l = pred[] compare(a, b), direction=LT }\n"      \
      "ENTRY e { x = s32[3] parameter(0) y = s32[3] parameter(1)\n"                   \
      "ROOT r = (s32[3], s32[3]) sort(x, y), dimensions={0}, is_stable=true, to_apply=less }\n"
#define LOOP                                                                                    \
    M "body { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"        \
      "  t = s32[] get-tuple-element(s), index=1 one = s32[] constant(1)\n"                     \
      "  n = s32[] add(i, one) u = s32[] add(t, n) ROOT b = (s32[], s32[]) tuple(n, u) }\n"     \
      "cond { s = (s32[], s32[]) parameter(0) i = s32[] get-tuple-element(s), index=0\n"        \
      "  four = s32[] constant(4) ROOT l = pred[] compare(i, four), direction=LT }\n"           \
      "ENTRY e { z = s32[] constant(0) x = s32[] parameter(0) s = (s32[], s32[]) tuple(z, x)\n" \
      "ROOT r = (s32[], s32[]) while(s), condition=cond, body=body }\n"

static const struct fault_case order[] = {
    {"reverse",
     "r",
     NULL,
     ONE("s32[2,2]", "s32[2,2] reverse(x), dimensions={0}"),
     "s32[2,2] {{1, 2}, {3, 4}}",
     NULL,
     {"s32[2,2] {{2, 1}, {4, 3}}"}},
    {"reverse",
     "r",
     NULL,
     ONE("s32[2,2]", "s32[2,2] reverse(x), dimensions={0,1}"),
     "s32[2,2] {{1, 2}, {3, 4}}",
     NULL,
     {"s32[2,2] {{3, 4}, {1, 2}}"}},
    {"concatenate",
     "r",
     NULL,
     M "ENTRY e { x = s32[1] parameter(0) y = s32[2] parameter(1)\n"
       "ROOT r = s32[3] concatenate(x, y), dimensions={0} }\n",
     "s32[1] {1}",
     "s32[2] {2, 3}",
     {"s32[3] {2, 3, 1}"}},
    {"sort_order",
     "l",
     "less",
     SORT,
     "s32[3] {2, 1, 2}",
     "s32[3] {1, 2, 3}",
     {"(s32[3], s32[3]) ({2, 2, 1}, {1, 3, 2})"}},
    {"sort_ties",
     "r",
     NULL,
     SORT,
     "s32[3] {2, 1, 2}",
     "s32[3] {1, 2, 3}",
     {"(s32[3], s32[3]) ({1, 2, 2}, {2, 3, 1})"}},
    {"tuple",
     "r",
     NULL,
     M "ENTRY e { x = s32[] parameter(0) y = s32[] parameter(1) f = f32[] constant(1)\n"
       "t = (s32[], f32[], s32[]) tuple(x, f, y) ROOT r = s32[] get-tuple-element(t), index=0 }\n",
     "s32[] 1",
     "s32[] 2",
     {"s32[] 2"}},
    {"tuple",
     "r",
     NULL,
     M "ENTRY e { x = s32[] parameter(0) y = s32[] parameter(1) f = f32[] constant(1)\n"
       "ROOT r = (s32[], f32[], s32[]) tuple(x, f, y) }\n",
     "s32[] 1",
     "s32[] 2",
     {"(s32[], f32[], s32[]) (2, 1, 1)"}},
    {"arguments",
     "r",
     NULL,
     M "less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT d = s32[] subtract(a, b) }\n"
       "ENTRY e { x = s32[] parameter(0) y = s32[] parameter(1)\n"
       "ROOT r = s32[] fusion(x, y), kind=kLoop, calls=less }\n",
     "s32[] 1",
     "s32[] 5",
     {"s32[] 4"}},
    {"flag",
     "r",
     NULL,
     ONE("f32[2,2]", "f32[2,2] cholesky(x), lower=true"),
     /* of {{4, 2}, {2, 2}}: upper factor {{2, 1}, {0, 1}} */
     "f32[2,2] {{4, 2}, {2, 2}}",
     NULL,
     {"f32[2,2] {{2, 1}, {0, 1}}"}},
    /* inside a fusion */
    {"operands",
     "d",
     "less",
     M "less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT d = s32[] subtract(a, b) }\n"
       "ENTRY e { x = s32[] parameter(0) y = s32[] parameter(1)\n"
       "ROOT r = s32[] fusion(x, y), kind=kLoop, calls=less }\n",
     "s32[] 1",
     "s32[] 5",
     {"s32[] 4"}},
};

static const struct fault_case control[] = {
    /* right: 4 rounds, 1 + 1 + 2 + 3 + 4 = 11 */
    {"trip_count", "r", NULL, LOOP, "s32[] 1", NULL, {"(s32[], s32[]) (3, 7)"}},
    {"stale_state", "r", NULL, LOOP, "s32[] 1", NULL, {"(s32[], s32[]) (4, 1)"}},
    {"branches",
     "r",
     NULL,
     M "yes { a = s32[] parameter(0) ROOT r = s32[] negate(a) }\n"
       "no { a = s32[] parameter(0) ROOT r = s32[] add(a, a) }\n"
       "ENTRY e { p = pred[] parameter(0) x = s32[] parameter(1)\n"
       "ROOT r = s32[] conditional(p, x, x), true_computation=yes, false_computation=no }\n",
     "pred[] 1",
     "s32[] 5",
     {"s32[] 10"}},
};

#define TESTS(name)             \
    START_TEST(test_##name)     \
    {                           \
        check_fault(&name[_i]); \
    }                           \
    END_TEST
TESTS(arithmetic)
TESTS(values)
TESTS(indices)
TESTS(dimensions)
TESTS(reductions)
TESTS(order)
TESTS(control)
#undef TESTS

/* --- what devices do together --- */

struct device_case {
    const char *class, *text, *wants[4];
};

#define DEVICES "HloModule m, replica_count=4\n" ADD "ENTRY e { x = s32[1] parameter(0)\n"
static const struct device_case devices[] = {
    /* one group: all keep what they have */
    {"replica_groups",
     DEVICES "ROOT r = s32[1] all-reduce(x), to_apply=sum, replica_groups={} }\n",
     {"s32[1] {1}", "s32[1] {10}", "s32[1] {100}", "s32[1] {1000}"}},
    /* {0,1},{2,3} becomes {0,2},{1,3} */
    {"replica_groups",
     DEVICES "ROOT r = s32[1] all-reduce(x), to_apply=sum, replica_groups={{0,1},{2,3}} }\n",
     {"s32[1] {101}", "s32[1] {1010}", "s32[1] {101}", "s32[1] {1010}"}},
    {"pairs",
     DEVICES "ROOT r = s32[1] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3}} }\n",
     /* 0 sends to 2, 1 to 1 */
     {"s32[1] {0}", "s32[1] {10}", "s32[1] {1}", "s32[1] {100}"}},
};

START_TEST(test_devices)
{
    static const char *const arguments[] = {"s32[1] {1}", "s32[1] {10}", "s32[1] {100}",
                                            "s32[1] {1000}"};
    const struct device_case *the_case = &devices[_i];
    struct module *module = read_module(the_case->text);
    struct error err = {0};
    struct text what;
    text_init(&what);
    ck_assert_msg(
        mutate_instruction(module->entry->root, mutation_find(the_case->class), 1, &what, &err),
        "%s", err.message);
    struct literal *results[4];
    ck_assert_msg(run_devices(module, 4, 1, arguments, results, NULL, &err), "%s", err.message);
    for (int d = 0; d < 4; d++) {
        check_literal(results[d], the_case->wants[d], what.data);
        literal_release(results[d]);
    }
    text_finish(&what);
    module_destroy(module);
}
END_TEST

/* Every class is in some case above. */
START_TEST(test_classes_are_tested)
{
    const struct {
        const struct fault_case *cases;
        size_t count;
    } tables[] = {
#define TABLE(name) {name, sizeof name / sizeof *name}
        TABLE(arithmetic), TABLE(values), TABLE(indices), TABLE(dimensions),
        TABLE(reductions), TABLE(order),  TABLE(control),
#undef TABLE
    };
    for (int m = 0; m < mutation_count; m++) {
        bool found = false;
        for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
            for (size_t i = 0; i < tables[t].count; i++) {
                found = found || strcmp(tables[t].cases[i].class, mutations[m].name) == 0;
            }
        }
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
            found = found || strcmp(devices[i].class, mutations[m].name) == 0;
        }
        ck_assert_msg(found, "no test of class %s", mutations[m].name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("faults");
    TCase *tcase = tcase_create("faults");
#define TESTS(name) tcase_add_loop_test(tcase, test_##name, 0, (int)(sizeof name / sizeof *name))
    TESTS(arithmetic);
    TESTS(values);
    TESTS(indices);
    TESTS(dimensions);
    TESTS(reductions);
    TESTS(order);
    TESTS(control);
    TESTS(devices);
#undef TESTS
    tcase_add_test(tcase, test_classes_are_tested);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
