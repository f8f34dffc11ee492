/* The SPMD referee (spmd.h). */
#include "compare/spmd.h"

#include <stdlib.h>
#include <string.h>

#include "backend/remember.h"
#include "compare/manual.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

const char *spmd_culprit_text(enum spmd_culprit culprit)
{
    static const char *const texts[] = {
        [SPMD_NOBODY] = "nobody",
        [SPMD_PARTITIONER] = "partitioner",
        [SPMD_COMPILER] = "compiler",
        [SPMD_BOTH] = "partitioner and compiler",
    };
    return texts[culprit];
}

int64_t spmd_partition_count(const struct module *module)
{
    if (module->config.partition_count > 1) {
        return module->config.partition_count;
    }
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct sharding *sharding = attr_sharding(computation->instructions[i]);
            int64_t count = sharding != NULL ? sharding_device_count(sharding) : 0;
            if (count > 1) {
                return count;
            }
        }
    }
    return 1;
}

/* --- the golden of the whole module --- */

/* Modules with manual regions run on all devices: outside of the regions each computes the same. */
struct golden {
    struct backend *interp, *pieces;
    struct backend *reference; /* one of the two, run once for both sides */
    struct module *lowered;
    struct piece_plan plan;
};

static bool golden_open(const struct module *module, const struct spmd_options *options,
                        struct golden *golden, struct error *err)
{
    struct backend_options interp = {.timeout = options->timeout};
    *golden = (struct golden){.interp = backend_open("interp:", &interp, err)};
    if (golden->interp == NULL) {
        return false;
    }
    if (!module_has_manual_regions(module)) {
        golden->reference = backend_remember(golden->interp);
        return true;
    }
    golden->lowered = module_lower_manual_regions(module, options->partition_count, err);
    if (golden->lowered == NULL ||
        !piece_plan_make_replicated(module, golden->lowered, options->partition_count,
                                    &golden->plan, err)) {
        return false;
    }
    golden->pieces =
        backend_in_pieces(golden->interp, &golden->plan, PIECES_PARTITIONED, options->padding);
    golden->reference = backend_remember(golden->pieces);
    return true;
}

static void golden_close(struct golden *golden)
{
    backend_close(golden->reference);
    backend_close(golden->pieces);
    backend_close(golden->interp);
    piece_plan_finish(&golden->plan);
    module_destroy(golden->lowered);
}

/* --- verdict --- */

static void conclude(struct spmd_result *result, enum outcome outcome, enum spmd_culprit culprit,
                     const char *message)
{
    result->outcome = outcome;
    result->culprit = culprit;
    free(result->message);
    result->message = memory_strdup(message);
}

/* What one side did, replicas that differ included. */
static enum outcome side_outcome(const struct differential_result *side,
                                 const struct piece_conflict *conflict)
{
    bool judged = side->outcome == OUTCOME_PASS || side->outcome == OUTCOME_VACUOUS ||
                  side->outcome == OUTCOME_INCONCLUSIVE;
    return judged && conflict->conflict.count > 0 ? OUTCOME_MISMATCH : side->outcome;
}

static void print_conflict(const struct piece_conflict *conflict, struct text *out)
{
    const struct replica_conflict *found = &conflict->conflict;
    if (found->count > 0) {
        text_printf(out,
                    "; devices %d and %d should hold the same part of output %d, but %lld of its "
                    "elements differ, the first at %lld",
                    found->first, found->second, conflict->leaf, (long long)found->count,
                    (long long)found->index);
    }
}

static void judge(struct spmd_result *result)
{
    enum outcome c = result->has_simulated
                         ? side_outcome(&result->simulated, &result->simulated_conflict)
                         : OUTCOME_PASS;
    enum outcome d = result->has_executed
                         ? side_outcome(&result->executed, &result->executed_conflict)
                         : OUTCOME_PASS;
    struct text message;
    text_init(&message);
    if (c == OUTCOME_MISMATCH) {
        bool both = d == OUTCOME_MISMATCH && !result->agree;
        text_append(&message, "the partitioned module differs from the whole one on the golden");
        print_conflict(&result->simulated_conflict, &message);
        text_append(&message, !result->has_executed   ? ""
                              : d == OUTCOME_PASS     ? "; what the backend ran does not"
                              : d != OUTCOME_MISMATCH ? "; the backend did not run it"
                              : both                  ? "; what the backend ran differs from both"
                                                      : "; what the backend ran agrees with it");
        conclude(result, c, both ? SPMD_BOTH : SPMD_PARTITIONER, message.data);
    } else if (d == OUTCOME_MISMATCH) {
        text_append(&message, c == OUTCOME_PASS || c == OUTCOME_VACUOUS
                                  ? "the partitioned module is right on the golden; what the "
                                    "backend made of it differs"
                                  : "what the backend ran differs from the whole module");
        print_conflict(&result->executed_conflict, &message);
        conclude(result, d, SPMD_COMPILER, message.data);
    } else if (c != OUTCOME_PASS) {
        conclude(result, c, SPMD_NOBODY, result->simulated.message);
    } else if (d != OUTCOME_PASS) {
        conclude(result, d, SPMD_NOBODY, result->executed.message);
    }
    text_finish(&message);
}

/* --- running --- */

/* d on the arguments of c. */
static struct differential_options same_arguments(const struct differential_options *options,
                                                  const struct differential_result *first)
{
    struct differential_options again = *options;
    again.arguments = first->arguments;
    again.argument_count = first->argument_count;
    return again;
}

static bool has_arguments(const struct module *module, const struct differential_result *result)
{
    return result->argument_count == module->entry->parameter_count;
}

/* With both wrong: are they wrong alike? */
static bool sides_agree(const struct module *module, struct backend *simulated,
                        struct backend *executed, const struct differential_options *options)
{
    struct differential_result result;
    differential_run(module, executed, simulated, options, &result);
    bool agree = result.outcome == OUTCOME_PASS || result.outcome == OUTCOME_VACUOUS;
    differential_result_finish(&result);
    return agree;
}

static void run_sides(const struct module *module, struct backend *backend,
                      enum pieces_program program, const struct spmd_options *options,
                      const struct golden *golden, struct spmd_result *result)
{
    struct differential_options differential = options->differential;
    differential.replica_count = differential.partition_count = 1;
    if (differential.profile == NULL) {
        differential.profile = profile_for(backend != NULL ? backend_uri(backend) : "cpu:");
    }
    struct backend *reference = golden->reference;
    struct backend *simulated =
        backend_in_pieces(golden->interp, &result->plan, PIECES_PARTITIONED, options->padding);
    differential_run(module, simulated, reference, &differential, &result->simulated);
    result->has_simulated = true;
    result->simulated_conflict = backend_piece_conflict(simulated);
    if (backend != NULL && has_arguments(module, &result->simulated)) {
        struct backend *executed =
            backend_in_pieces(backend, &result->plan, program, options->padding);
        struct differential_options again = same_arguments(&differential, &result->simulated);
        differential_run(module, executed, reference, &again, &result->executed);
        result->has_executed = true;
        result->executed_conflict = backend_piece_conflict(executed);
        if (result->simulated.outcome == OUTCOME_MISMATCH &&
            result->executed.outcome == OUTCOME_MISMATCH) {
            result->agree = sides_agree(module, simulated, executed, &again);
        }
        backend_close(executed);
    }
    backend_close(simulated);
}

/* What is partitioned must not be taken for whole: XLA would split it again where a sharding says
 * how. */
static void drop_shardings(struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            struct instruction *instruction = computation->instructions[i];
            int kept = 0;
            for (int k = 0; k < instruction->attr_count; k++) {
                if (instruction->attrs[k].key != ATTR_SHARDING) {
                    instruction->attrs[kept++] = instruction->attrs[k];
                }
            }
            instruction->attr_count = kept;
        }
    }
    module->config.spmd_output_sharding = NULL;
    module->config.spmd_parameter_count = 0;
}

void spmd_run(const struct module *module, struct module *partitioned, struct backend *backend,
              enum pieces_program program, const struct spmd_options *options,
              struct spmd_result *result)
{
    struct error err = {0};
    struct golden golden;
    *result = (struct spmd_result){.outcome = OUTCOME_PASS, .message = memory_strdup("")};
    bool good = golden_open(module, options, &golden, &err) &&
                piece_plan_make(module, partitioned, options->partition_count, &result->plan, &err);
    if (good) {
        drop_shardings(partitioned);
        run_sides(module, backend, program, options, &golden, result);
        judge(result);
    } else {
        conclude(result, OUTCOME_UNSUPPORTED, SPMD_NOBODY, err.message);
    }
    golden_close(&golden);
}

void spmd_result_finish(struct spmd_result *result)
{
    if (result->has_simulated) {
        differential_result_finish(&result->simulated);
    }
    if (result->has_executed) {
        differential_result_finish(&result->executed);
    }
    piece_plan_finish(&result->plan);
    free(result->message);
    *result = (struct spmd_result){0};
}

void spmd_owner(const struct spmd_result *result, int leaf, int64_t element, struct text *out)
{
    if (leaf >= result->plan.result_leaf_count) {
        return;
    }
    const struct tiling *tiling = &result->plan.results[leaf];
    int64_t index[SHAPE_MAX_RANK];
    for (int i = tiling->rank - 1; i >= 0; i--) {
        index[i] = element % tiling->shape->dimensions[i];
        element /= tiling->shape->dimensions[i];
    }
    int owner = tiling_owner(tiling, index);
    if (tiling_is_replicated(tiling)) {
        text_append(out, "every device");
    } else if (owner >= 0) {
        text_printf(out, "device %d", owner);
    } else {
        text_append(out, "no device alone");
    }
}
