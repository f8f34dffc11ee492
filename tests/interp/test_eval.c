/* Data movement: examples of the StableHLO specification, and random instances against each op's
 * definition, element by element. */
#include <fenv.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "hlo/base/pool.h"
#include "hlo/base/rng.h"
#include "tests/interp/evaluate_text.h"

static struct rng rng;

static void setup(void)
{
    rng_init(&rng, 7);
    pool_set_threads(2);
}

static int64_t below(int64_t bound)
{
    return (int64_t)rng_below(&rng, (uint64_t)bound);
}

/* One op on parameters, all of one line. */
static void check_op(const char *op, const char *shape, const char *a, const char *b, const char *c,
                     const char *want)
{
    const char *arguments[] = {a, b, c};
    struct text text;
    text_init(&text);
    text_append(&text, "HloModule m\nENTRY e {\n");
    for (int i = 0; i < 3 && arguments[i] != NULL; i++) {
        text_printf(&text, "  p%d = %.*s parameter(%d)\n", i, (int)strcspn(arguments[i], " "),
                    arguments[i], i);
    }
    text_printf(&text, "  ROOT r = %s %s\n}\n", shape, op);
    check_evaluates(text.data, a, b, c, NULL, want);
    text_finish(&text);
}

/* --- examples --- */

START_TEST(test_spec_examples)
{
    check_op("broadcast(p0), dimensions={2,1}", "s32[2,3,2]", "s32[2,3] {{1, 2, 3}, {4, 5, 6}}",
             NULL, NULL, "s32[2,3,2] {{{1, 4}, {2, 5}, {3, 6}}, {{1, 4}, {2, 5}, {3, 6}}}");
    check_op("broadcast(p0), dimensions={0,0}", "s32[2,3]", "s32[2,2] {{1, 2}, {3, 4}}", NULL, NULL,
             "s32[2,3] {{1, 1, 1}, {4, 4, 4}}");
    check_op("broadcast(p0), dimensions={}", "bf16[2,2]", "bf16[] 3", NULL, NULL,
             "bf16[2,2] {{3, 3}, {3, 3}}");
    check_op("concatenate(p0, p1), dimensions={0}", "s64[4,2]", "s64[3,2] {{1, 2}, {3, 4}, {5, 6}}",
             "s64[1,2] {{7, 8}}", NULL, "s64[4,2] {{1, 2}, {3, 4}, {5, 6}, {7, 8}}");
    check_op("dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,2}", "s32[2,2]",
             "s32[4,4] {{0, 0, 1, 1}, {0, 0, 1, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}}", "s64[] -1",
             "s64[] 3", "s32[2,2] {{1, 1}, {1, 1}}");
    check_op("dynamic-update-slice(p0, p1, p2, p2)", "s32[3,3]",
             "s32[3,3] {{1, 1, 0}, {1, 1, 0}, {0, 0, 0}}", "s32[1,1] {{1}}", "s64[] 3",
             "s32[3,3] {{1, 1, 0}, {1, 1, 0}, {0, 0, 1}}");
    check_op("pad(p0, p1), padding=0_1_1x1_2_1", "s32[4,8]", "s32[2,3] {{1, 2, 3}, {4, 5, 6}}",
             "s32[] 0", NULL,
             "s32[4,8] {{0, 1, 0, 2, 0, 3, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}, "
             "{0, 4, 0, 5, 0, 6, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}}");
    check_op("reverse(p0), dimensions={1}", "s32[3,2]", "s32[3,2] {{1, 2}, {3, 4}, {5, 6}}", NULL,
             NULL, "s32[3,2] {{2, 1}, {4, 3}, {6, 5}}");
    check_op("slice(p0), slice={[1:3:1], [4:8:2]}", "s64[2,2]",
             "s64[3,8] {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 1, 0}, "
             "{0, 0, 0, 0, 1, 0, 1, 0}}",
             NULL, NULL, "s64[2,2] {{1, 1}, {1, 1}}");
    check_op("transpose(p0), dimensions={2,1,0}", "s32[2,3,2]",
             "s32[2,3,2] {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}, {9, 10}, {11, 12}}}", NULL, NULL,
             "s32[2,3,2] {{{1, 7}, {3, 9}, {5, 11}}, {{2, 8}, {4, 10}, {6, 12}}}");
    check_op("reshape(p0)", "s32[3,2]", "s32[2,3] {{1, 2, 3}, {4, 5, 6}}", NULL, NULL,
             "s32[3,2] {{1, 2}, {3, 4}, {5, 6}}");
    check_op("iota(), iota_dimension=0", "s32[4,5]", NULL, NULL, NULL,
             "s32[4,5] {{0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {3, 3, 3, 3, 3}}");
    check_op("iota(), iota_dimension=1", "c64[2,3]", NULL, NULL, NULL,
             "c64[2,3] {{(0, 0), (1, 0), (2, 0)}, {(0, 0), (1, 0), (2, 0)}}");
}
END_TEST

/* gather of the StableHLO specification (as its batching example). */
START_TEST(test_gather_examples)
{
    check_op("gather(p0, p1), offset_dims={3,4}, collapsed_slice_dims={1}, "
             "start_index_map={2,1}, operand_batching_dims={0}, "
             "start_indices_batching_dims={1}, index_vector_dim=3, slice_sizes={1,1,2,2}",
             "s32[2,2,3,2,2]",
             "s32[2,3,4,2] {{{{1, 2}, {3, 4}, {5, 6}, {7, 8}}, {{9, 10}, {11, 12}, {13, 14}, "
             "{15, 16}}, {{17, 18}, {19, 20}, {21, 22}, {23, 24}}}, {{{25, 26}, {27, 28}, "
             "{29, 30}, {31, 32}}, {{33, 34}, {35, 36}, {37, 38}, {39, 40}}, {{41, 42}, {43, 44}, "
             "{45, 46}, {47, 48}}}}",
             "s64[2,2,3,2] {{{{0, 0}, {1, 0}, {2, 1}}, {{0, 1}, {1, 1}, {0, 9}}}, "
             "{{{0, 0}, {2, 1}, {2, 2}}, {{1, 2}, {0, 1}, {1, 0}}}}",
             NULL,
             "s32[2,2,3,2,2] {{{{{1, 2}, {3, 4}}, {{3, 4}, {5, 6}}, {{13, 14}, {15, 16}}}, "
             "{{{33, 34}, {35, 36}}, {{35, 36}, {37, 38}}, {{41, 42}, {43, 44}}}}, "
             "{{{{1, 2}, {3, 4}}, {{13, 14}, {15, 16}}, {{21, 22}, {23, 24}}}, "
             "{{{43, 44}, {45, 46}}, {{33, 34}, {35, 36}}, {{27, 28}, {29, 30}}}}}");
    /* Embedding lookup with indices out of range. */
    check_op("gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
             "index_vector_dim=1, slice_sizes={1,2}",
             "f32[3,2]", "f32[3,2] {{1, 2}, {3, 4}, {5, 6}}", "s32[3] {2, -7, 99}", NULL,
             "f32[3,2] {{5, 6}, {1, 2}, {5, 6}}");
    /* Unsigned indices have no sign. */
    check_op("gather(p0, p1), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
             "index_vector_dim=1, slice_sizes={1}",
             "f32[2]", "f32[3] {1, 2, 3}", "u64[2] {18446744073709551615, 1}", NULL,
             "f32[2] {3, 2}");
    /* The window's dimensions come first. */
    check_op("gather(p0, p1), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={1}, "
             "index_vector_dim=1, slice_sizes={2,1}",
             "s32[2,1,2]", "s32[2,3] {{1, 2, 3}, {4, 5, 6}}", "s32[2,1] {{2}, {0}}", NULL,
             "s32[2,1,2] {{{3, 1}}, {{6, 4}}}");
    check_op("gather(p0, p1), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
             "index_vector_dim=1, slice_sizes={1,2}",
             "f32[0,2]", "f32[3,2] {{1, 2}, {3, 4}, {5, 6}}", "s32[0] {}", NULL, "f32[0,2] {}");
}
END_TEST

START_TEST(test_unsigned_starts)
{
    check_op("dynamic-slice(p0, p1), dynamic_slice_sizes={1}", "s32[1]", "s32[3] {1, 2, 3}",
             "u8[] 200", NULL, "s32[1] {3}");
    check_op("dynamic-slice(p0, p1), dynamic_slice_sizes={1}", "s32[1]", "s32[3] {1, 2, 3}",
             "u64[] 18446744073709551615", NULL, "s32[1] {3}");
    check_op("dynamic-update-slice(p0, p1, p2)", "s32[3]", "s32[3] {1, 2, 3}", "s32[2] {8, 9}",
             "u32[] 4294967295", "s32[3] {1, 8, 9}");
    check_op("dynamic-update-slice(p0, p1, p2)", "s32[3]", "s32[3] {1, 2, 3}", "s32[2] {8, 9}",
             "s32[] -5", "s32[3] {8, 9, 3}");
}
END_TEST

/* One rounding for floats (257 and 259 are ties in bf16), wrapping for integers. */
START_TEST(test_iota_types)
{
    check_evaluates("HloModule m\nENTRY e { i = bf16[260] iota(), iota_dimension=0\n"
                    "  ROOT r = bf16[4] slice(i), slice={[256:260]} }\n",
                    NULL, NULL, NULL, NULL, "bf16[4] {256, 256, 258, 260}");
    check_evaluates("HloModule m\nENTRY e { i = u8[300] iota(), iota_dimension=0\n"
                    "  ROOT r = u8[3] slice(i), slice={[255:258]} }\n",
                    NULL, NULL, NULL, NULL, "u8[3] {255, 0, 1}");
    check_evaluates("HloModule m\nENTRY e { i = f32[16777220] iota(), iota_dimension=0\n"
                    "  ROOT r = f32[4] slice(i), slice={[16777216:16777220]} }\n",
                    NULL, NULL, NULL, NULL, "f32[4] {16777216, 16777216, 16777218, 16777220}");
}
END_TEST

/* Memory order: {0,1} means that dimension 0 is contiguous. */
START_TEST(test_bitcast)
{
    check_op("bitcast(p0)", "s32[3,2]{1,0}", "s32[2,3]{0,1} {{1, 2, 3}, {4, 5, 6}}", NULL, NULL,
             "s32[3,2] {{1, 4}, {2, 5}, {3, 6}}");
    check_op("bitcast(p0)", "s32[2,3]{0,1}", "s32[6] {1, 2, 3, 4, 5, 6}", NULL, NULL,
             "s32[2,3] {{1, 3, 5}, {2, 4, 6}}");
    check_op("bitcast(p0)", "s32[2,3]{0,1}", "s32[3,2]{1,0} {{1, 2}, {3, 4}, {5, 6}}", NULL, NULL,
             "s32[2,3] {{1, 3, 5}, {2, 4, 6}}");
    check_op("bitcast(p0)", "u32[2]", "f32[2] {1, -2}", NULL, NULL,
             "u32[2] {1065353216, 3221225472}");
    check_op("bitcast(p0)", "u8[4]", "u16[2] {258, 772}", NULL, NULL, "u8[4] {2, 1, 4, 3}");
    /* Packed: two elements a byte, the first in the low half. */
    check_op("bitcast(p0)", "u8[2]", "s4[4]{0:E(4)} {1, -2, 3, 4}", NULL, NULL, "u8[2] {225, 67}");
    check_op("bitcast(p0)", "s4[4]{0:E(4)}", "u8[2] {225, 67}", NULL, NULL, "s4[4] {1, -2, 3, 4}");
    check_op("bitcast(p0)", "u4[2]", "s4[2] {-1, 7}", NULL, NULL, "u4[2] {15, 7}");
    /* Tiles (docs/tiled_layout.md): f32[3,5]{1,0:T(2,2)} lies as six 2×2 tiles; seen without tiles
     * as f32[2,3,2,2] it is tile row, tile column, row, column. */
    check_op("bitcast(p0)", "s32[4,4]{1,0:T(2,2)}",
             "s32[2,2,2,2]{3,2,1,0} {{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, {{{9, 10}, {11, 12}}, "
             "{{13, 14}, {15, 16}}}}",
             NULL, NULL,
             "s32[4,4] {{1, 2, 5, 6}, {3, 4, 7, 8}, {9, 10, 13, 14}, {11, 12, 15, 16}}");
}
END_TEST

/* --- dynamic dimensions --- */

START_TEST(test_dynamic_sizes)
{
    /* Only the rows within the run-time size count. */
    check_evaluates(
        "HloModule m\n"
        "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT r = s32[] add(a, b) }\n"
        "ENTRY e { x = s32[6,2] parameter(0) n = s32[] parameter(1)\n"
        "  d = s32[<=6,2] set-dimension-size(x, n), dimensions={0}\n"
        "  s = s32[<=6,1] slice(d), slice={[0:6], [1:2]}\n"
        "  z = s32[] constant(0)\n"
        "  ROOT r = s32[] reduce(s, z), dimensions={0,1}, to_apply=add }\n",
        "s32[6,2] {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}", "s32[] 3", NULL, NULL,
        "s32[] 9");
    /* Sizes through slice (with start and stride), transpose, pad, reverse, concatenate. */
    static const char sizes[] =
        "HloModule m\n"
        "ENTRY e { x = s32[8] parameter(0) n = s32[] parameter(1) k = s32[] constant(7)\n"
        "  d = s32[<=8] set-dimension-size(x, n), dimensions={0}\n"
        "  s = s32[<=4] slice(d), slice={[1:8:2]}\n"
        "  p = s32[<=20] pad(d, k), padding=2_3_1\n"
        "  v = s32[<=8] reverse(d), dimensions={0}\n"
        "  c = s32[<=16] concatenate(v, x), dimensions={0}\n"
        "  b = s32[2,<=8] broadcast(d), dimensions={1}\n"
        "  t = s32[<=8,2] transpose(b), dimensions={1,0}\n"
        "  f = s32[<=16] reshape(t)\n"
        "  s0 = s32[] get-dimension-size(s), dimensions={0}\n"
        "  p0 = s32[] get-dimension-size(p), dimensions={0}\n"
        "  c0 = s32[] get-dimension-size(c), dimensions={0}\n"
        "  t0 = s32[] get-dimension-size(t), dimensions={0}\n"
        "  t1 = s32[] get-dimension-size(t), dimensions={1}\n"
        "  f0 = s32[] get-dimension-size(f), dimensions={0}\n"
        "  w = s32[5] slice(c), slice={[0:5]}\n"
        "  ROOT r = (s32[], s32[], s32[], s32[], s32[], s32[], s32[5]) "
        "tuple(s0, p0, c0, t0, t1, f0, w) }\n";
    check_evaluates(sizes, "s32[8] {1, 2, 3, 4, 5, 6, 7, 8}", "s32[] 3", NULL, NULL,
                    "(s32[], s32[], s32[], s32[], s32[], s32[], s32[5]) "
                    "(1, 10, 11, 3, 2, 6, {3, 2, 1, 1, 2})");
    check_evaluates(sizes, "s32[8] {1, 2, 3, 4, 5, 6, 7, 8}", "s32[] 0", NULL, NULL,
                    "(s32[], s32[], s32[], s32[], s32[], s32[], s32[5]) "
                    "(0, 5, 8, 0, 2, 0, {1, 2, 3, 4, 5})");
    /* An update beyond its run-time size leaves the array as it is. */
    check_evaluates(
        "HloModule m\n"
        "ENTRY e { a = s32[6] parameter(0) u = s32[3] parameter(1) n = s32[] parameter(2)\n"
        "  d = s32[<=3] set-dimension-size(u, n), dimensions={0} i = s32[] constant(1)\n"
        "  ROOT r = s32[6] dynamic-update-slice(a, d, i) }\n",
        "s32[6] {1, 2, 3, 4, 5, 6}", "s32[3] {10, 11, 12}", "s32[] 2", NULL,
        "s32[6] {1, 10, 11, 4, 5, 6}");
    /* A sort leaves what lies beyond where it is. */
    check_evaluates("HloModule m\n"
                    "less { a = s32[] parameter(0) b = s32[] parameter(1)\n"
                    "  c = f32[] parameter(2) d = f32[] parameter(3)\n"
                    "  ROOT l = pred[] compare(a, b), direction=LT }\n"
                    "ENTRY e { x = s32[5] parameter(0) y = f32[5] parameter(1)\n"
                    "  n = s32[] parameter(2)\n"
                    "  k = s32[<=5] set-dimension-size(x, n), dimensions={0}\n"
                    "  v = f32[<=5] set-dimension-size(y, n), dimensions={0}\n"
                    "  s = (s32[<=5], f32[<=5]) sort(k, v), dimensions={0}, to_apply=less\n"
                    "  a = s32[<=5] get-tuple-element(s), index=0\n"
                    "  b = f32[<=5] get-tuple-element(s), index=1\n"
                    "  m = s32[] get-dimension-size(b), dimensions={0}\n"
                    "  c = s32[3] slice(a), slice={[0:3]} d = f32[3] slice(b), slice={[0:3]}\n"
                    "  ROOT t = (s32[3], f32[3], s32[]) tuple(c, d, m) }\n",
                    "s32[5] {7, 5, 6, -1, -2}", "f32[5] {1, 2, 3, 4, 5}", "s32[] 3", NULL,
                    "(s32[3], f32[3], s32[]) ({5, 6, 7}, {2, 3, 1}, 3)");
    /* Elements keep their row-major order. */
    check_evaluates(
        "HloModule m\n"
        "ENTRY e { a = s32[2,3] parameter(0) n = s32[] parameter(1) k = s32[] constant(4)\n"
        "  d = s32[2,<=3] set-dimension-size(a, n), dimensions={1}\n"
        "  f = s32[<=6] dynamic-reshape(d, k)\n"
        "  ROOT r = s32[4] slice(f), slice={[0:4]} }\n",
        "s32[2,3] {{1, 2, 3}, {4, 5, 6}}", "s32[] 2", NULL, NULL, "s32[4] {1, 2, 4, 5}");
}
END_TEST

/* --- random instances against the definitions --- */

enum { MOST_RANK = 4 };

/* The element number of an index, or −1 when it is outside. */
static int64_t number_of(int rank, const int64_t *sizes, const int64_t *index)
{
    int64_t number = 0;
    for (int d = 0; d < rank; d++) {
        if (index[d] < 0 || index[d] >= sizes[d]) {
            return -1;
        }
        number = number * sizes[d] + index[d];
    }
    return number;
}

static void index_of(int rank, const int64_t *sizes, int64_t number, int64_t *index)
{
    for (int d = rank - 1; d >= 0; d--) {
        index[d] = number % sizes[d];
        number /= sizes[d];
    }
}

static void print_shape(struct text *text, int rank, const int64_t *sizes)
{
    text_append(text, "s16[");
    for (int d = 0; d < rank; d++) {
        text_printf(text, "%s%lld", d > 0 ? "," : "", (long long)sizes[d]);
    }
    text_append(text, "]");
}

/* The operand: element i is i + 1000. */
static struct literal *numbered(int rank, const int64_t *sizes)
{
    struct literal *literal = literal_create(shape_array(TYPE_S16, rank, sizes), NULL);
    for (int64_t i = 0; i < literal_elements(literal); i++) {
        literal_set_int(literal, i, i + 1000);
    }
    return literal;
}

struct instance {
    int rank, result_rank;
    int64_t sizes[MOST_RANK], result_sizes[MOST_RANK];
    int64_t a[MOST_RANK], b[MOST_RANK], c[MOST_RANK]; /* attributes of the op */
};

/* Draws an instance and prints the op with its attributes; x is the operand, z a scalar 7. */
typedef void draw_function(struct instance *instance, struct text *op);
/* The operand's index for a result's index; false: the scalar stands there. */
typedef bool define_function(const struct instance *instance, const int64_t *result_index,
                             int64_t *index);

static void check_instances(draw_function *draw, define_function *define)
{
    for (int round = 0; round < 60; round++) {
        struct instance instance = {.rank = (int)below(MOST_RANK + 1)};
        for (int d = 0; d < instance.rank; d++) {
            instance.sizes[d] = 1 + below(6);
        }
        instance.result_rank = instance.rank;
        struct text op, text;
        text_init(&op);
        text_init(&text);
        draw(&instance, &op);
        text_append(&text, "HloModule m\nENTRY e { x = ");
        print_shape(&text, instance.rank, instance.sizes);
        text_append(&text, " parameter(0) z = s16[] constant(7)\n ROOT r = ");
        print_shape(&text, instance.result_rank, instance.result_sizes);
        text_printf(&text, " %s }\n", op.data);
        struct module *module = read_module(text.data);
        struct literal *operand = numbered(instance.rank, instance.sizes);
        struct error err = {0};
        struct literal *result = interp_evaluate(module, &operand, 1, NULL, &err);
        ck_assert_msg(result != NULL, "%s\n%s", text.data, err.message);
        for (int64_t i = 0; i < literal_elements(result); i++) {
            int64_t index[MOST_RANK] = {0}, from[MOST_RANK] = {0};
            index_of(instance.result_rank, instance.result_sizes, i, index);
            int64_t want = 7;
            if (define(&instance, index, from)) {
                int64_t number = number_of(instance.rank, instance.sizes, from);
                ck_assert_int_ge(number, 0);
                want = number + 1000;
            }
            ck_assert_msg(literal_get_int(result, i) == want, "element %lld is %lld, not %lld\n%s",
                          (long long)i, (long long)literal_get_int(result, i), (long long)want,
                          text.data);
        }
        literal_release(result);
        literal_release(operand);
        module_destroy(module);
        text_finish(&op);
        text_finish(&text);
    }
}

static void print_list(struct text *text, int count, const int64_t *values)
{
    text_append(text, "{");
    for (int i = 0; i < count; i++) {
        text_printf(text, "%s%lld", i > 0 ? "," : "", (long long)values[i]);
    }
    text_append(text, "}");
}

static void draw_transpose(struct instance *instance, struct text *op)
{
    for (int i = 0; i < instance->rank; i++) {
        int j = (int)below(i + 1);
        instance->a[i] = instance->a[j];
        instance->a[j] = i;
    }
    for (int i = 0; i < instance->rank; i++) {
        instance->result_sizes[i] = instance->sizes[instance->a[i]];
    }
    text_append(op, "transpose(x), dimensions=");
    print_list(op, instance->rank, instance->a);
}

static bool define_transpose(const struct instance *instance, const int64_t *result_index,
                             int64_t *index)
{
    for (int i = 0; i < instance->rank; i++) {
        index[instance->a[i]] = result_index[i];
    }
    return true;
}

static void draw_broadcast(struct instance *instance, struct text *op)
{
    /* a[d]: where dimension d goes, in increasing order */
    if (instance->rank == MOST_RANK) {
        instance->rank--;
    }
    instance->result_rank = MOST_RANK;
    for (int d = 0; d < MOST_RANK; d++) {
        instance->result_sizes[d] = 1 + below(4);
    }
    int at = 0;
    for (int d = 0; d < instance->rank; d++) {
        while (MOST_RANK - at > instance->rank - d && below(2) == 0) {
            at++;
        }
        instance->a[d] = at;
        instance->result_sizes[at++] = instance->sizes[d];
    }
    text_append(op, "broadcast(x), dimensions=");
    print_list(op, instance->rank, instance->a);
}

static bool define_broadcast(const struct instance *instance, const int64_t *result_index,
                             int64_t *index)
{
    for (int d = 0; d < instance->rank; d++) {
        index[d] = result_index[instance->a[d]];
    }
    return true;
}

static void draw_slice(struct instance *instance, struct text *op)
{
    text_append(op, "slice(x), slice={");
    for (int d = 0; d < instance->rank; d++) {
        int64_t start = below(instance->sizes[d] + 1);
        int64_t limit = start + below(instance->sizes[d] - start + 1), stride = 1 + below(3);
        instance->a[d] = start;
        instance->b[d] = stride;
        instance->result_sizes[d] = (limit - start + stride - 1) / stride;
        text_printf(op, "%s[%lld:%lld:%lld]", d > 0 ? ", " : "", (long long)start, (long long)limit,
                    (long long)stride);
    }
    text_append(op, "}");
}

static bool define_slice(const struct instance *instance, const int64_t *result_index,
                         int64_t *index)
{
    for (int d = 0; d < instance->rank; d++) {
        index[d] = instance->a[d] + result_index[d] * instance->b[d];
    }
    return true;
}

static void draw_reverse(struct instance *instance, struct text *op)
{
    int count = 0;
    int64_t dimensions[MOST_RANK];
    for (int d = 0; d < instance->rank; d++) {
        instance->result_sizes[d] = instance->sizes[d];
        instance->a[d] = below(2);
        if (instance->a[d]) {
            dimensions[count++] = d;
        }
    }
    text_append(op, "reverse(x), dimensions=");
    print_list(op, count, dimensions);
}

static bool define_reverse(const struct instance *instance, const int64_t *result_index,
                           int64_t *index)
{
    for (int d = 0; d < instance->rank; d++) {
        index[d] = instance->a[d] ? instance->sizes[d] - 1 - result_index[d] : result_index[d];
    }
    return true;
}

static void draw_pad(struct instance *instance, struct text *op)
{
    if (instance->rank == 0) {
        instance->rank = instance->result_rank = 1;
        instance->sizes[0] = 5;
    }
    text_append(op, "pad(x, z), padding=");
    for (int d = 0; d < instance->rank; d++) {
        int64_t interior = below(3), size = instance->sizes[d];
        int64_t spread = size + (size - 1) * interior;
        int64_t low = below(8) - 4, high = below(8) - 4;
        if (low + high + spread < 0) {
            low = high = 0;
        }
        instance->a[d] = low;
        instance->b[d] = interior;
        instance->result_sizes[d] = low + high + spread;
        text_printf(op, "%s%lld_%lld_%lld", d > 0 ? "x" : "", (long long)low, (long long)high,
                    (long long)interior);
    }
}

static bool define_pad(const struct instance *instance, const int64_t *result_index, int64_t *index)
{
    for (int d = 0; d < instance->rank; d++) {
        int64_t at = result_index[d] - instance->a[d], step = instance->b[d] + 1;
        if (at < 0 || at % step != 0 || at / step >= instance->sizes[d]) {
            return false;
        }
        index[d] = at / step;
    }
    return true;
}

START_TEST(test_definitions)
{
    check_instances(draw_transpose, define_transpose);
    check_instances(draw_broadcast, define_broadcast);
    check_instances(draw_slice, define_slice);
    check_instances(draw_reverse, define_reverse);
    check_instances(draw_pad, define_pad);
}
END_TEST

/* --- marks --- */

/* A module's result for x = {0, 1, 2, 3} with x[1] unspecified, and the marks as a string. */
static void check_marks(const char *ops, const char *want)
{
    struct text text;
    text_init(&text);
    text_printf(&text, "HloModule m\nENTRY e { x = s32[4] parameter(0)\n%s }\n", ops);
    struct module *module = read_module(text.data);
    struct literal *x = read_literal("s32[4] {0, 1, 2, 3}");
    literal_mark_unspecified(x, 1);
    struct error err = {0};
    struct literal *result = interp_evaluate(module, &x, 1, NULL, &err);
    ck_assert_msg(result != NULL, "%s\n%s", text.data, err.message);
    char marks[64] = "";
    for (int64_t i = 0; i < literal_elements(result); i++) {
        strcat(marks, literal_is_unspecified(result, i) ? "?" : ".");
    }
    ck_assert_msg(strcmp(marks, want) == 0, "%s: %s, not %s", ops, marks, want);
    literal_release(result);
    literal_release(x);
    module_destroy(module);
    text_finish(&text);
}

START_TEST(test_marks)
{
    check_marks("ROOT r = s32[2,4] broadcast(x), dimensions={1}", ".?...?..");
    check_marks("ROOT r = s32[4] reverse(x), dimensions={0}", "..?.");
    check_marks("ROOT r = s32[2] slice(x), slice={[2:4]}", "..");
    check_marks("ROOT r = s32[2] slice(x), slice={[0:2]}", ".?");
    check_marks("y = s32[2,2] reshape(x) ROOT r = s32[2,2] transpose(y), dimensions={1,0}", "..?.");
    check_marks("z = s32[] constant(0) ROOT r = s32[6] pad(x, z), padding=1_1", "..?...");
    check_marks("c = s32[1] constant({5}) ROOT r = s32[5] concatenate(c, x), dimensions={0}",
                "..?..");
    check_marks("ROOT r = s32[4] bitcast(x)", ".?..");
    /* The update covers the mark, the starts are specified. */
    check_marks("c = s32[2] constant({5, 6}) i = s32[] constant(1)\n"
                "ROOT r = s32[4] dynamic-update-slice(x, c, i)",
                "....");
    check_marks("y = s32[1] slice(x), slice={[1:2]} i = s32[] reshape(y)\n"
                "ROOT r = s32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}",
                "??");
    check_marks("c = s32[3] constant({3, 1, 0})\n"
                "ROOT r = s32[3] gather(x, c), offset_dims={}, collapsed_slice_dims={0}, "
                "start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
                ".?.");
    check_marks("c = s32[2] constant({8, 9})\n"
                "ROOT r = s32[4] gather(c, x), offset_dims={}, collapsed_slice_dims={0}, "
                "start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
                ".?..");
}
END_TEST

/* --- whose environment? --- */

/* 1 + 2^-30 to nearest, and half of the least normal number, by its bits. */
static void check_rounding(void)
{
    check_op("add(p0, p1)", "f32[]", "f32[] 1", "f32[] 9.31322574615478515625e-10", NULL,
             "f32[] 1");
    check_evaluates("HloModule m\nENTRY e {\n  b = s32[] parameter(0)\n"
                    "  x = f32[] bitcast-convert(b)\n  h = f32[] parameter(1)\n"
                    "  y = f32[] multiply(x, h)\n  ROOT r = s32[] bitcast-convert(y)\n}\n",
                    "s32[] 8388608", "f32[] 0.5", NULL, NULL, "s32[] 4194304");
}

START_TEST(test_environment)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        fesetround(modes[i]);
        check_rounding();
        ck_assert_int_eq(fegetround(), modes[i]);
    }
    fesetround(FE_TONEAREST);
#ifdef __x86_64__
    const unsigned flushing = _mm_getcsr() | 0x8040; /* results and operands */
    _mm_setcsr(flushing);
    check_rounding();
    ck_assert_uint_eq(_mm_getcsr() & 0x8040, 0x8040);
    _mm_setcsr(flushing & ~0x8040u);
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("eval");
    TCase *tests = tcase_create("eval");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, test_spec_examples);
    tcase_add_test(tests, test_gather_examples);
    tcase_add_test(tests, test_unsigned_starts);
    tcase_add_test(tests, test_iota_types);
    tcase_add_test(tests, test_bitcast);
    tcase_add_test(tests, test_dynamic_sizes);
    tcase_add_test(tests, test_definitions);
    tcase_add_test(tests, test_marks);
    tcase_add_test(tests, test_environment);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
