/* A cluster's instructions one by one, for what only their evaluators do. */
#include <stdlib.h>

#include "interp/cluster_internal.h"

/* The value of an instruction: a member's so far, an operand of the cluster, or a constant. */
static struct literal *value_of(const struct cluster *cluster, const struct operands *operands,
                                struct literal *const *values,
                                const struct instruction *instruction)
{
    for (int m = 0; m < cluster->member_count; m++) {
        if (cluster->members[m] == instruction) {
            return values[m];
        }
    }
    for (int i = 0; i < cluster->input_count; i++) {
        if (cluster->inputs[i] == instruction) {
            return operands->values[i];
        }
    }
    return instruction->literal;
}

static struct literal *evaluate_member(const struct cluster *cluster, struct evaluation *evaluation,
                                       const struct operands *operands,
                                       struct literal *const *values, int m, struct error *err)
{
    const struct instruction *member = cluster->members[m];
    struct literal *member_values[LANE_MAX_OPERANDS];
    const bool dying[LANE_MAX_OPERANDS] = {false};
    for (int k = 0; k < member->operand_count; k++) {
        member_values[k] = value_of(cluster, operands, values, member->operands[k]);
    }
    struct operands all = {member->operand_count, member_values, dying};
    return eval_function_of(member->opcode)(evaluation, member, &all, err);
}

struct literal *cluster_evaluate(const struct cluster *cluster, struct evaluation *evaluation,
                                 struct operands *operands, struct error *err)
{
    int count = cluster->member_count;
    struct literal **values = memory_zalloc((size_t)count * sizeof(struct literal *));
    struct literal *result = NULL;
    int m = 0;
    for (; m < count; m++) {
        values[m] = evaluate_member(cluster, evaluation, operands, values, m, err);
        if (values[m] == NULL) {
            break;
        }
    }
    if (m == count) {
        result = literal_retain(values[count - 1]);
    }
    for (int i = 0; i < count; i++) {
        literal_release(values[i]);
    }
    free(values);
    return result;
}
