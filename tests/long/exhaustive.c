/* The long test: elementwise operations over all their inputs. A unary f32 operation or conversion
 * has 2^32, a binary operation on a 16-bit type 2^32 pairs; each result of the golden is held
 * against reference.h. Not part of `./dev test`, which runs it with --sample.
 *
 *   exhaustive [--threads N] [--from BLOCK] [--to BLOCK] [--sample COUNT] [--list] [OP…]
 *   exhaustive --narrow
 *
 * --narrow takes all operations on every float type of at most 16 bits instead: a unary one over
 * all values, a binary one over all pairs of 8 bits and less, and over all values of 16-bit types
 * with boundary values on either side.
 *
 * An OP is what --list prints: exponential, convert:f16, power:bf16; none means all. Blocks are
 * 2^22 inputs, 0 to 1024: a run that was stopped goes on with --from. --sample takes about COUNT
 * inputs, spread evenly. Prints a line an operation: inputs, wrong ones, how many MPFR decided,
 * seconds. The exit status is 1 if anything was wrong. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hlo/base/error.h"
#include "hlo/base/pool.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "interp/interp.h"
#include "tests/long/reference.h"

enum { BLOCK_BITS = 22, BLOCKS = 1 << (32 - BLOCK_BITS), SHOWN = 5 };

struct test {
    const struct reference *reference;
    struct module *module;
    int operands;
    enum type type, result;
    struct literal *inputs[2];
    int64_t length; /* inputs of a block */
    bool narrow;
    uint64_t first;  /* of the block */
    uint64_t stride; /* between inputs */
    const void *got; /* the golden's elements */
    atomic_llong wrong, by_mpfr, outside;
};

static void test_name(const struct reference *reference, char *name, size_t size)
{
    const enum type shown = reference->kind == REFERENCE_CONVERT  ? reference->result
                            : reference->kind == REFERENCE_BINARY ? reference->type
                                                                  : TYPE_INVALID;
    if (shown == TYPE_INVALID) {
        snprintf(name, size, "%s", reference->opcode);
    } else {
        snprintf(name, size, "%s:%s", reference->opcode, type_text(shown));
    }
}

static uint64_t element(const void *data, enum type type, int64_t i)
{
    switch (type_bytes(type)) {
    case 1:
        return ((const uint8_t *)data)[i];
    case 2:
        return ((const uint16_t *)data)[i];
    case 4:
        return ((const uint32_t *)data)[i];
    default:
        return ((const uint64_t *)data)[i];
    }
}

static void set_element(void *data, enum type type, int64_t i, uint64_t bits)
{
    switch (type_bytes(type)) {
    case 1:
        ((uint8_t *)data)[i] = (uint8_t)bits;
        break;
    case 2:
        ((uint16_t *)data)[i] = (uint16_t)bits;
        break;
    default:
        ((uint32_t *)data)[i] = (uint32_t)bits;
        break;
    }
}

/* Codes of 16-bit types that stand beside all others: zeros, ones, ends of ranges, odd and even
 * whole numbers, NaN, for f16 and bf16 alike. */
static const uint16_t boundaries[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x0400, 0x0080, 0x03ff, 0x007f, 0x3c00, 0xbc00, 0x3f80,
    0xbf80, 0x3c01, 0x3f7f, 0x4000, 0xc000, 0x4200, 0x4040, 0xc040, 0x3800, 0x3f00, 0x7bff,
    0x7f7f, 0xff7f, 0x7c00, 0x7f80, 0xff80, 0xfc00, 0x7e00, 0x7fc0, 0x4900, 0x4120,
};
enum { BOUNDARIES = sizeof boundaries / sizeof boundaries[0] };

/* Input number n: the bits of the operand, or of both. */
static void operands_of(const struct test *test, uint64_t n, uint64_t *a, uint64_t *b)
{
    if (test->narrow) {
        const int bits = type_bits(test->type);
        const uint64_t mask = (UINT64_C(1) << bits) - 1;
        const bool swapped = bits == 16 && (n >> 16 & 1) != 0;
        const uint64_t one = n & mask;
        const uint64_t other = bits == 16 ? boundaries[(n >> 17) % BOUNDARIES] : n >> bits & mask;
        *a = test->operands == 1 || swapped ? one : other;
        *b = swapped ? other : one;
        return;
    }
    *a = test->operands == 2 ? n >> 16 & 0xffff : n & 0xffffffff;
    *b = test->operands == 2 ? n & 0xffff : 0;
}

static void fill(void *context, int64_t begin, int64_t end)
{
    const struct test *test = context;
    for (int64_t i = begin; i < end; i++) {
        uint64_t a, b;
        operands_of(test, test->first + (uint64_t)i * test->stride, &a, &b);
        set_element(literal_data(test->inputs[0]), test->type, i, a);
        if (test->operands == 2) {
            set_element(literal_data(test->inputs[1]), test->type, i, b);
        }
    }
}

/* One input of 65536 or so, spread over all, is given to MPFR whatever the bound says. */
static bool is_audited(uint64_t n)
{
    return (n * UINT64_C(0x9e3779b97f4a7c15)) >> 48 == 0;
}

static void check(void *context, int64_t begin, int64_t end)
{
    struct test *test = context;
    const struct reference *reference = test->reference;
    for (int64_t i = begin; i < end; i++) {
        const uint64_t n = test->first + (uint64_t)i * test->stride;
        uint64_t a, b;
        bool by_mpfr, outside;
        operands_of(test, n, &a, &b);
        const uint64_t want = reference_result(reference, test->type, test->result, a, b,
                                               is_audited(n), &by_mpfr, &outside);
        const uint64_t got = element(test->got, test->result, i);
        const bool same =
            reference->kind == REFERENCE_BITS ? got == want : number_same(test->result, got, want);
        if (by_mpfr) {
            test->by_mpfr++;
        }
        if (outside && test->outside++ < SHOWN) {
            printf("  the C library's %s is outside its bound at %llx %llx\n", reference->opcode,
                   (unsigned long long)a, (unsigned long long)b);
        }
        if (!same && test->wrong++ < SHOWN) {
            printf("  %s %llx %llx gave %llx, not %llx\n", reference->opcode, (unsigned long long)a,
                   (unsigned long long)b, (unsigned long long)got, (unsigned long long)want);
        }
    }
}

static bool test_init(struct test *test, const struct reference *reference, enum type type,
                      int64_t length, struct error *err)
{
    *test = (struct test){.reference = reference, .length = length, .type = type};
    test->operands = reference->kind == REFERENCE_BINARY ? 2 : 1;
    test->result = reference->result == TYPE_INVALID ? test->type : reference->result;
    char text[512];
    const char *spelling = type_text(test->type);
    const long long count = (long long)length;
    snprintf(text, sizeof text,
             "HloModule m\nENTRY e {\n a = %s[%lld] parameter(0)\n b = %s[%lld] parameter(1)\n"
             " ROOT r = %s[%lld] %s(%s)\n}\n",
             spelling, count, spelling, count, type_text(test->result), count, reference->opcode,
             test->operands == 2 ? "a, b" : "a");
    test->module = text_read_module(text, strlen(text), "long", 1, err);
    if (test->module == NULL) {
        return false;
    }
    for (int k = 0; k < 2; k++) {
        test->inputs[k] = literal_zero(shape_array(test->type, 1, &length), err);
        if (test->inputs[k] == NULL) {
            return false;
        }
    }
    return true;
}

static void test_finish(struct test *test)
{
    literal_release(test->inputs[0]);
    literal_release(test->inputs[1]);
    if (test->module != NULL) {
        module_destroy(test->module);
    }
}

static bool test_block(struct test *test, uint64_t first, uint64_t stride, struct error *err)
{
    test->first = first;
    test->stride = stride;
    pool_for(test->length, 4096, fill, test);
    struct literal *result = interp_evaluate(test->module, test->inputs, 2, NULL, err);
    if (result == NULL) {
        return false;
    }
    test->got = literal_data(result);
    pool_for(test->length, 4096, check, test);
    literal_release(result);
    return true;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct options {
    int from, to;
    long long sample;
};

/* Whether all was right. */
static bool run_test(const struct reference *reference, const struct options *options)
{
    struct error err = {0};
    struct test test;
    char name[64];
    test_name(reference, name, sizeof name);
    const double start = now();
    const int64_t length = options->sample > 0 ? options->sample : 1 << BLOCK_BITS;
    const enum type type = reference->type == TYPE_INVALID ? TYPE_F32 : reference->type;
    bool good = test_init(&test, reference, type, length, &err);
    long long inputs = 0;
    if (options->sample > 0) {
        /* An odd stride meets every residue of the low bits. */
        const uint64_t stride = (UINT64_C(1) << 32) / (uint64_t)options->sample | 1;
        good = good && test_block(&test, 0, stride, &err);
        inputs = options->sample;
    }
    for (int block = options->from; options->sample == 0 && good && block < options->to; block++) {
        good = test_block(&test, (uint64_t)block << BLOCK_BITS, 1, &err);
        inputs += length;
        if (block % 64 == 63 && block + 1 < options->to) {
            fprintf(stderr, "%s: blocks %d to %d done, %lld wrong, %.0f s\n", name, options->from,
                    block + 1, (long long)test.wrong, now() - start);
        }
    }
    if (!good) {
        printf("%s: %s\n", name, err.message);
    } else {
        printf("%-24s %lld inputs, %lld wrong, %lld by MPFR, %.0f s%s\n", name, inputs,
               (long long)test.wrong, (long long)test.by_mpfr, now() - start,
               test.outside != 0 ? ", the reference is NOT within its bound" : "");
    }
    fflush(stdout);
    good = good && test.wrong == 0 && test.outside == 0;
    test_finish(&test);
    return good;
}

/* One operation over all values, or pairs, of a narrow type. */
static bool run_narrow(const struct reference *reference, enum type type)
{
    struct error err = {0};
    struct test test;
    const int bits = type_bits(type);
    const bool binary = reference->kind == REFERENCE_BINARY;
    const int64_t length = !binary     ? INT64_C(1) << bits
                           : bits <= 8 ? INT64_C(1) << (2 * bits)
                                       : (INT64_C(1) << 17) * BOUNDARIES;
    bool good = test_init(&test, reference, type, length, &err);
    test.narrow = true;
    good = good && test_block(&test, 0, 1, &err);
    if (!good || test.wrong != 0) {
        printf("%s %s: %lld wrong %s\n", type_text(type), reference->opcode, (long long)test.wrong,
               err.message);
    }
    good = good && test.wrong == 0 && test.outside == 0;
    test_finish(&test);
    return good;
}

static int run_all_narrow(void)
{
    static const enum type types[] = {
        TYPE_F4E2M1FN,  TYPE_F6E3M2FN, TYPE_F6E2M3FN,   TYPE_F8E5M2,     TYPE_F8E4M3,
        TYPE_F8E3M4,    TYPE_F8E4M3FN, TYPE_F8E5M2FNUZ, TYPE_F8E4M3FNUZ, TYPE_F8E4M3B11FNUZ,
        TYPE_F8E8M0FNU, TYPE_F16,      TYPE_BF16,
    };
    int good = 0, bad = 0;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int i = -2; i < reference_count; i++) {
            const struct reference *reference = i == -2   ? &abs_reference
                                                : i == -1 ? &negate_reference
                                                          : &references[i];
            /* The table has binary operations for each 16-bit type: one of them will do. */
            if (reference->kind == REFERENCE_UNARY ||
                (reference->kind == REFERENCE_BINARY && reference->type == TYPE_BF16)) {
                *(run_narrow(reference, types[t]) ? &good : &bad) += 1;
            }
        }
    }
    printf("%d passed, %d failed: operations and types, over all values or pairs\n", good, bad);
    return bad == 0 ? 0 : 1;
}

static int usage(void)
{
    fprintf(stderr, "usage: exhaustive [--threads N] [--from BLOCK] [--to BLOCK] [--sample COUNT] "
                    "[--list] [OP...]\n       exhaustive --narrow\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.to = BLOCKS};
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        const char *option = argv[first];
        if (strcmp(option, "--list") == 0) {
            for (int i = 0; i < reference_count; i++) {
                char name[64];
                test_name(&references[i], name, sizeof name);
                puts(name);
            }
            return 0;
        }
        if (strcmp(option, "--narrow") == 0) {
            return run_all_narrow();
        }
        if (first + 1 == argc) {
            return usage();
        }
        const long long value = atoll(argv[++first]);
        if (strcmp(option, "--threads") == 0 && value > 0) {
            pool_set_threads((int)value);
        } else if (strcmp(option, "--from") == 0 && value >= 0 && value < BLOCKS) {
            options.from = (int)value;
        } else if (strcmp(option, "--to") == 0 && value > 0 && value <= BLOCKS) {
            options.to = (int)value;
        } else if (strcmp(option, "--sample") == 0 && value > 0 && value < 1 << 30) {
            options.sample = value;
        } else {
            return usage();
        }
    }
    bool good = true;
    for (int i = 0; i < reference_count; i++) {
        char name[64];
        bool wanted = first == argc;
        test_name(&references[i], name, sizeof name);
        for (int k = first; k < argc; k++) {
            if (strcmp(argv[k], name) == 0) {
                wanted = true;
                argv[k][0] = '\0';
            }
        }
        if (wanted) {
            good = run_test(&references[i], &options) && good;
        }
    }
    for (int k = first; k < argc; k++) {
        if (argv[k][0] != '\0') {
            fprintf(stderr, "exhaustive: no operation is named %s\n", argv[k]);
            return 2;
        }
    }
    return good ? 0 : 1;
}
