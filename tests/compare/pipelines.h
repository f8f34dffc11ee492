/* Pipelines written by hand, for tests of the walk over them. */
#ifndef TESTS_COMPARE_PIPELINES_H
#define TESTS_COMPARE_PIPELINES_H

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/passes.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

struct step {
    const char *pass, *text;
};

enum { MOST_STEPS = 12 };
static struct pass_source sources[MOST_STEPS];
static const struct step *walked;
static int seen; /* verdicts given to on_step */

static inline struct module *load(void *context, int step, struct error *err)
{
    (void)context;
    const char *text = walked[step].text;
    return text_read_module(text, strlen(text), "test", 1, err);
}

static inline void on_step(void *context, const struct pass_verdict *verdict)
{
    (void)context;
    ck_assert_int_eq(verdict->step, seen);
    seen++;
}

/* Walks steps up to the first without text. */
static inline void walk(const struct step *steps, const struct passes_options *given,
                        struct passes_result *result)
{
    struct passes_options options = given != NULL ? *given : (struct passes_options){0};
    struct passes_hooks hooks = {load, on_step, NULL};
    struct error err = {0};
    int count = 0;
    options.find_culprits = true;
    walked = steps;
    for (; steps[count].text != NULL; count++) {
        sources[count] = (struct pass_source){"module", "pipeline", steps[count].pass};
    }
    seen = 0;
    bool good = passes_walk(sources, count, &hooks, &options, result, &err);
    ck_assert_msg(good, "%s", err.message);
    ck_assert_int_eq(result->count, count);
    ck_assert_int_eq(seen, count);
}

/* One letter a step: . the same bits, ~ different within its rule, ! mismatch, L leak,
 * u unsupported. */
static inline char *verdicts(const struct passes_result *result)
{
    static char text[MOST_STEPS + 1];
    for (int i = 0; i < result->count; i++) {
        const struct pass_verdict *verdict = &result->verdicts[i];
        switch (verdict->outcome) {
        case OUTCOME_PASS:
            text[i] = i == 0 || verdict->jump.bits ? '.' : '~';
            break;
        case OUTCOME_MISMATCH:
            text[i] = verdict->is_leak ? 'L' : '!';
            break;
        case OUTCOME_UNSUPPORTED:
            text[i] = 'u';
            break;
        default:
            text[i] = 'x';
            break;
        }
    }
    text[result->count] = '\0';
    return text;
}

static inline void expect_walk(const struct step *steps, const struct passes_options *options,
                               const char *want, const char *culprit)
{
    struct passes_result result;
    walk(steps, options, &result);
    struct text messages;
    text_init(&messages);
    for (int i = 0; i < result.count; i++) {
        text_printf(&messages, "%d: %s\n", i, result.verdicts[i].message);
    }
    ck_assert_msg(strcmp(verdicts(&result), want) == 0, "%s, not %s\n%s%s", verdicts(&result), want,
                  messages.data, result.finding.picture);
    text_finish(&messages);
    const char *bad = strpbrk(want, "!L");
    ck_assert_int_eq(result.finding.step, bad != NULL ? (int)(bad - want) : -1);
    if (culprit != NULL) {
        ck_assert_int_eq(result.finding.culprit_count, 1);
        ck_assert_str_eq(result.finding.culprits[0], culprit);
        ck_assert(result.finding.restores);
    }
    passes_result_finish(&result);
}

#define HEAD "HloModule m\n"
#define SUM \
    "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"

#endif
