/* The commands that follow a run (next_commands.h). */
#include "tools/next_commands.h"

#include <string.h>

enum follower { ONLY_SLOW, FIRST_WRONG, SMALLEST, WHICH_PASS, FOLLOWER_COUNT };

static const struct {
    const char *label, *command;
} followers[FOLLOWER_COUNT] = {
    [ONLY_SLOW] = {"only slow", NULL}, /* the same run again */
    [FIRST_WRONG] = {"first wrong", "bisect"},
    [SMALLEST] = {"smallest", "shrink"},
    [WHICH_PASS] = {"which pass", "passes"},
};

/* Which of them an outcome is for, as bits. */
#define BIT(follower) (1U << (follower))
static const unsigned wanted[OUTCOME_COUNT] = {
    [OUTCOME_MISMATCH] = BIT(FIRST_WRONG) | BIT(SMALLEST) | BIT(WHICH_PASS),
    [OUTCOME_COMPILE_ERROR] = BIT(FIRST_WRONG) | BIT(SMALLEST) | BIT(WHICH_PASS),
    [OUTCOME_CRASH] = BIT(FIRST_WRONG) | BIT(SMALLEST) | BIT(WHICH_PASS),
    [OUTCOME_TIMEOUT] = BIT(ONLY_SLOW) | BIT(FIRST_WRONG) | BIT(SMALLEST) | BIT(WHICH_PASS),
    [OUTCOME_OOM] = BIT(FIRST_WRONG) | BIT(SMALLEST) | BIT(WHICH_PASS),
    [OUTCOME_RUNTIME_ERROR] = BIT(FIRST_WRONG) | BIT(SMALLEST),
    [OUTCOME_FLAKY] = BIT(FIRST_WRONG) | BIT(SMALLEST),
};
#undef BIT

/* Runs of each part of what fails now and then. */
enum { FLAKY_RUNS = 10 };
/* Times as long for what may only be slow. */
static const double patience = 10;

static bool backend_compiles(const char *uri)
{
    static const char *const compilers[] = {"cpu:", "cuda:", "tpu:", "pjrt:", "jaxlib:"};
    bool compiles = false;
    for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) {
        compiles |= strncmp(uri, compilers[i], strlen(compilers[i])) == 0;
    }
    return compiles;
}

/* Whether the command can be asked for this run. */
static bool follows(const struct run_entry *entry, const struct differential_result *result,
                    enum follower follower)
{
    bool golden = strcmp(entry->reference, "interp:") == 0;
    bool again = entry->iteration == 0 || strcmp(entry->inputs, "seed") == 0;
    if ((wanted[result->outcome] >> follower & 1) == 0 || strchr(entry->module, '#') != NULL ||
        !again) {
        return false;
    }
    if (follower == ONLY_SLOW) {
        return entry->command != NULL;
    }
    if (follower == WHICH_PASS) {
        return golden && entry->passes_options != NULL && backend_compiles(entry->backend);
    }
    return entry->failing_options != NULL && result->device_count <= 1 &&
           (golden || follower == FIRST_WRONG);
}

static void print_command(const struct run_entry *entry, const struct differential_result *result,
                          enum follower follower, struct text *out)
{
    bool drawn = strcmp(entry->inputs, "seed") == 0;
    if (follower == ONLY_SLOW) {
        text_printf(out, "%s --timeout %g", entry->command, patience * entry->timeout);
        return;
    }
    text_printf(out, "referee %s ", followers[follower].command);
    text_shell(out, entry->module);
    text_append(out, " --backend ");
    text_quoted(out, entry->backend);
    if (follower == FIRST_WRONG && strcmp(entry->reference, "interp:") != 0) {
        text_append(out, " --backend ");
        text_quoted(out, entry->reference);
    }
    if (drawn || follower != WHICH_PASS) { /* passes takes a seed for its only source */
        text_printf(out, " --seed %llu", (unsigned long long)result->seed);
    }
    if (drawn && follower != WHICH_PASS && result->tameness > 0) {
        text_printf(out, " --tameness %d", result->tameness);
    }
    text_append(out, follower == WHICH_PASS ? entry->passes_options : entry->failing_options);
    if (result->outcome == OUTCOME_FLAKY) {
        text_printf(out, " --runs %d", FLAKY_RUNS);
    }
}

void next_commands_text(const struct run_entry *entry, const struct differential_result *result,
                        const char *indent, struct text *out)
{
    for (int i = 0; i < FOLLOWER_COUNT; i++) {
        if (follows(entry, result, (enum follower)i)) {
            text_printf(out, "%s%s: ", indent, followers[i].label);
            print_command(entry, result, (enum follower)i, out);
            text_char(out, '\n');
        }
    }
}

json_t *next_commands_json(const struct run_entry *entry, const struct differential_result *result)
{
    json_t *list = json_array();
    struct text command;
    text_init(&command);
    for (int i = 0; i < FOLLOWER_COUNT; i++) {
        if (follows(entry, result, (enum follower)i)) {
            text_clear(&command);
            print_command(entry, result, (enum follower)i, &command);
            json_array_append_new(list, json_pack("{s:s, s:s}", "label", followers[i].label,
                                                  "command", command.data));
        }
    }
    text_finish(&command);
    return list;
}
