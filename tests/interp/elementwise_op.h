/* For tests of elementwise instructions: one instruction on arrays of one length, and this program
 * at every vector level. */
#ifndef TESTS_INTERP_ELEMENTWISE_OP_H
#define TESTS_INTERP_ELEMENTWISE_OP_H

#include <spawn.h>
#include <sys/wait.h>

#include "tests/interp/one_op.h"

extern char **environ;

/* An assertion for inner loops: Check's own talk to the parent process each time. */
#define REQUIRE(condition, ...)        \
    do {                               \
        if (!(condition)) {            \
            ck_abort_msg(__VA_ARGS__); \
        }                              \
    } while (0)

enum { PAIRS = 65536 };

/* The instruction "opcode(a, b, …)" on arrays of the given types and one length. */
static inline void op_init(struct one_op *op, const char *opcode, enum type result, int count,
                           const enum type *types, int64_t length, const char *attributes)
{
    char body[1024];
    int used = 0;
    for (int k = 0; k < count; k++) {
        used += snprintf(body + used, sizeof body - (size_t)used, "p%d = %s[%lld] parameter(%d)\n",
                         k, type_text(types[k]), (long long)length, k);
    }
    used += snprintf(body + used, sizeof body - (size_t)used, "ROOT r = %s[%lld] %s(",
                     type_text(result), (long long)length, opcode);
    for (int k = 0; k < count; k++) {
        used += snprintf(body + used, sizeof body - (size_t)used, "%sp%d", k > 0 ? ", " : "", k);
    }
    snprintf(body + used, sizeof body - (size_t)used, ")%s", attributes);
    one_op_init(op, body);
}

/* Element i of both operands: the pair (i mod 2^bits, i / 2^bits) of bit patterns. */
static inline void fill_pairs(struct one_op *op, enum type type)
{
    int bits = type_bits(type);
    int64_t patterns = INT64_C(1) << bits;
    for (int64_t i = 0; i < literal_elements(op->values[0]); i++) {
        for (int k = 0; k < 2; k++) {
            int64_t pattern = (k == 0 ? i : i / patterns) % patterns;
            if (type_kind(type) == KIND_SIGNED && pattern >= patterns / 2) {
                pattern -= patterns;
            }
            literal_set_bits(op->values[k], i, (uint64_t)pattern);
        }
    }
}

static inline struct literal *run(struct one_op *op)
{
    return one_op_run(op, eval_function_of(op->instruction->opcode));
}

/* Runs this program once more at each lower vector level. */
static inline int run_levels(char **argv)
{
    int failed = 0;
    for (const char *level = "02"; *level != 0; level++) {
        setenv("REFEREE_VECTOR_LEVEL", (char[]){*level, 0}, 1);
        pid_t child;
        int status = 0;
        if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, argv, environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0) {
            failed++;
        }
    }
    return failed;
}

#define LENGTH(array) (int)(sizeof(array) / sizeof((array)[0]))

/* Runs the tests of `all`, at each level when this is the first process; the exit status. */
static inline int run_suite(const char *name, TCase *all, char **argv)
{
    Suite *suite = suite_create(name);
    tcase_set_timeout(all, 300);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (getenv("REFEREE_VECTOR_LEVEL") == NULL) {
        failed += run_levels(argv);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
