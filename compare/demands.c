/* What each opcode asks of its operands. */
#include "compare/demands.h"

#include <math.h>
#include <string.h>

#include "hlo/literal.h"

/* Values whose function is well away from its singularities. A row: operand `operand` of `opcode`
 * lies in [low, high]. */
static const struct {
    enum opcode opcode;
    int operand;
    double low, high;
    const char *why;
} domains[] = {
    {OP_LOG, 0, 0.0625, 4, "argument of log"},
    {OP_RSQRT, 0, 0.0625, 4, "argument of rsqrt"},
    {OP_SQRT, 0, 0, 4, "argument of sqrt"},
    {OP_LOG_PLUS_ONE, 0, -0.75, 4, "argument of log-plus-one"},
    {OP_ACOS, 0, -1, 1, "argument of acos"},
    {OP_ASIN, 0, -1, 1, "argument of asin"},
    {OP_ACOSH, 0, 1, 4, "argument of acosh"},
    {OP_ATANH, 0, -0.875, 0.875, "argument of atanh"},
    {OP_EXPONENTIAL, 0, -8, 8, "argument of exponential"},
    {OP_EXPONENTIAL_MINUS_ONE, 0, -8, 8, "argument of exponential-minus-one"},
    {OP_SINH, 0, -8, 8, "argument of sinh"},
    {OP_COSH, 0, -8, 8, "argument of cosh"},
    {OP_POWER, 0, 0.125, 4, "base of power"},
    {OP_POWER, 1, -4, 4, "exponent of power"},
    {OP_BATCH_NORM_INFERENCE, 4, 0.0625, 4, "variance of batch norm"},
    {OP_BATCH_NORM_GRAD, 3, 0.0625, 4, "variance of batch norm"},
};

static bool is_inexact(const struct instruction *instruction)
{
    return shape_is_array(instruction->shape) &&
           (type_is_float(instruction->shape->type) || type_is_complex(instruction->shape->type));
}

static bool is_integer(const struct instruction *instruction)
{
    return shape_is_array(instruction->shape) && type_is_integer(instruction->shape->type);
}

/* The value of a scalar constant, looked up through broadcasts and the like. */
static bool constant_value(const struct instruction *instruction, double *value)
{
    while (instruction->opcode == OP_BROADCAST || instruction->opcode == OP_RESHAPE ||
           instruction->opcode == OP_CONVERT) {
        instruction = instruction->operands[0];
    }
    if (instruction->opcode != OP_CONSTANT || instruction->literal == NULL ||
        !shape_is_scalar(instruction->shape)) {
        return false;
    }
    *value = literal_get_double(instruction->literal, 0);
    return isfinite(*value);
}

/* --- index constraints --- */

static void index_demand(struct demands *demands, const struct instruction *index, double limit,
                         const char *why)
{
    if (is_integer(index)) {
        demand_range(demand_of(demands, index), 0, fmax(limit, 0), why);
    }
}

static void demand_starts(struct demands *demands, const struct instruction *instruction, int first,
                          const int64_t *sizes, const char *why)
{
    const struct shape *shape = instruction->operands[0]->shape;
    for (int i = first; i < instruction->operand_count; i++) {
        bool vector = instruction->operands[i]->shape->rank == 1;
        int64_t limit = INT64_MAX;
        for (int d = 0; d < shape->rank; d++) {
            if (vector || d == i - first) {
                int64_t room = shape->dimensions[d] - sizes[d];
                limit = room < limit ? room : limit;
            }
        }
        index_demand(demands, instruction->operands[i], (double)limit, why);
    }
}

static void demand_gather(struct demands *demands, const struct instruction *instruction)
{
    const struct shape *operand = instruction->operands[0]->shape;
    struct ints map = attr_ints(instruction, ATTR_START_INDEX_MAP);
    struct ints sizes = attr_ints(instruction, ATTR_SLICE_SIZES);
    int64_t limit = INT64_MAX;
    for (int i = 0; i < map.count; i++) {
        int64_t room = operand->dimensions[map.values[i]] - sizes.values[map.values[i]];
        limit = room < limit ? room : limit;
    }
    index_demand(demands, instruction->operands[1], (double)limit, "indices of gather");
    demand_of(demands, instruction->operands[1])->sorted |=
        attr_bool(instruction, ATTR_INDICES_ARE_SORTED, false);
}

static void demand_scatter(struct demands *demands, const struct instruction *instruction)
{
    int count = instruction->operand_count / 2;
    const struct shape *operand = instruction->operands[0]->shape;
    const struct shape *updates = instruction->operands[count + 1]->shape;
    const struct instruction *indices = instruction->operands[count];
    struct ints map = attr_ints(instruction, ATTR_SCATTER_DIMS_TO_OPERAND_DIMS);
    struct ints window = attr_ints(instruction, ATTR_UPDATE_WINDOW_DIMS);
    struct ints inserted = attr_ints(instruction, ATTR_INSERTED_WINDOW_DIMS);
    struct ints batching = attr_ints(instruction, ATTR_INPUT_BATCHING_DIMS);
    int64_t window_size[SHAPE_MAX_RANK], limit = INT64_MAX;
    for (int d = 0, w = 0; d < operand->rank; d++) {
        bool missing = false;
        for (int i = 0; i < inserted.count; i++) {
            missing |= inserted.values[i] == d;
        }
        for (int i = 0; i < batching.count; i++) {
            missing |= batching.values[i] == d;
        }
        window_size[d] = missing || w >= window.count ? 1 : updates->dimensions[window.values[w++]];
    }
    for (int i = 0; i < map.count; i++) {
        int64_t room = operand->dimensions[map.values[i]] - window_size[map.values[i]];
        limit = room < limit ? room : limit;
    }
    index_demand(demands, indices, (double)limit, "indices of scatter");
    struct constraint *constraint = demand_of(demands, indices);
    constraint->sorted |= attr_bool(instruction, ATTR_INDICES_ARE_SORTED, false);
    constraint->unique |= attr_bool(instruction, ATTR_UNIQUE_INDICES, false);
}

/* --- init values --- */

/* What a select between two values keeps: the larger, the smaller, or neither for sure. A predicate
 * may also let NaN in ("greater or not equal to itself") or break ties. */
static enum identity identity_of_choice(const struct instruction *predicate,
                                        const struct instruction *first,
                                        const struct instruction *second)
{
    if (predicate->opcode == OP_OR) {
        enum identity identity = identity_of_choice(predicate->operands[0], first, second);
        return identity != IDENTITY_NONE
                   ? identity
                   : identity_of_choice(predicate->operands[1], first, second);
    }
    if (predicate->opcode != OP_COMPARE) {
        return IDENTITY_NONE;
    }
    bool straight = predicate->operands[0] == first && predicate->operands[1] == second;
    bool swapped = predicate->operands[0] == second && predicate->operands[1] == first;
    if (!straight && !swapped) {
        return IDENTITY_NONE;
    }
    switch (attr_int(predicate, ATTR_DIRECTION, DIRECTION_EQ)) {
    case DIRECTION_GT:
    case DIRECTION_GE:
        return straight ? IDENTITY_LOWEST : IDENTITY_HIGHEST;
    case DIRECTION_LT:
    case DIRECTION_LE:
        return straight ? IDENTITY_HIGHEST : IDENTITY_LOWEST;
    default:
        return IDENTITY_NONE;
    }
}

/* Of one result of a reducer. */
static enum identity identity_of(const struct computation *reducer, int result)
{
    const struct instruction *root = reducer->root;
    if (root->opcode == OP_TUPLE && result < root->operand_count) {
        root = root->operands[result];
    }
    while (root->opcode == OP_CONVERT || root->opcode == OP_COPY || root->opcode == OP_BITCAST) {
        root = root->operands[0];
    }
    /* With a constant it is no reduction of two values. */
    for (int i = 0; i < root->operand_count; i++) {
        if (root->operands[i]->opcode == OP_CONSTANT) {
            return IDENTITY_NONE;
        }
    }
    switch (root->opcode) {
    case OP_ADD:
    case OP_OR:
    case OP_XOR:
        return IDENTITY_ZERO;
    case OP_MULTIPLY:
        return IDENTITY_ONE;
    case OP_MAXIMUM:
        return IDENTITY_LOWEST;
    case OP_MINIMUM:
        return IDENTITY_HIGHEST;
    case OP_AND:
        return IDENTITY_ALL_ONES;
    case OP_SELECT:
        return identity_of_choice(root->operands[0], root->operands[1], root->operands[2]);
    default:
        return IDENTITY_NONE;
    }
}

/* operands[first..last) are the init values of the reducer's results. */
static void demand_inits(struct demands *demands, const struct instruction *instruction, int first,
                         int last, const struct computation *reducer)
{
    for (int i = first; i < last; i++) {
        enum identity identity = identity_of(reducer, i - first);
        struct constraint *constraint = demand_of(demands, instruction->operands[i]);
        if (identity != IDENTITY_NONE && constraint->identity == IDENTITY_NONE) {
            constraint->identity = identity;
            constraint->why = "init value of a reduction";
        }
    }
}

/* --- weights --- */

static void demand_fan_in(struct demands *demands, const struct instruction *instruction)
{
    const struct shape *rhs = instruction->operands[1]->shape;
    int64_t terms = 1;
    if (instruction->opcode == OP_DOT) {
        struct ints contracting = attr_ints(instruction, ATTR_RHS_CONTRACTING_DIMS);
        for (int i = 0; i < contracting.count; i++) {
            terms *= rhs->dimensions[contracting.values[i]];
        }
    } else {
        const struct dim_labels *labels = attr_dim_labels(instruction);
        int64_t outputs = rhs->dimensions[labels->kernel_output_feature];
        terms = outputs > 0 ? shape_elements(rhs) / outputs : 1;
    }
    for (int i = 0; i < 2; i++) {
        struct constraint *constraint = demand_of(demands, instruction->operands[i]);
        if (terms > constraint->fan_in && is_inexact(instruction->operands[i])) {
            constraint->fan_in = terms;
        }
    }
}

/* --- passing demands through --- */

static void pass_to(struct demands *demands, const struct instruction *operand,
                    const struct constraint *own)
{
    if (shape_leaves(operand->shape) == 1) {
        demand_merge(demand_of(demands, operand), own);
    }
}

static void pass_range(struct demands *demands, const struct instruction *operand, double low,
                       double high, const struct constraint *own)
{
    if (is_inexact(operand) && low <= high && !isnan(low) && !isnan(high)) {
        demand_range(demand_of(demands, operand), low, high, own->why);
    }
}

/* Of a value plus or minus a constant, and a constant minus a value, the range is mapped back, of
 * integers too (a counter, an index, one from the end). False: it is none of these. */
static bool pass_sum(struct demands *demands, const struct instruction *instruction,
                     const struct constraint *own)
{
    const struct instruction *a = instruction->operands[0], *b = instruction->operands[1];
    bool adds = instruction->opcode == OP_ADD;
    double c;
    if (!adds && instruction->opcode != OP_SUBTRACT) {
        return false;
    }
    if (constant_value(b, &c)) {
        c = adds ? c : -c;
        demand_range(demand_of(demands, a), own->low - c, own->high - c, own->why);
    } else if (constant_value(a, &c)) {
        demand_range(demand_of(demands, b), adds ? own->low - c : c - own->high,
                     adds ? own->high - c : c - own->low, own->why);
    } else {
        return false;
    }
    return true;
}

/* The same of a value times or divided by a constant. Sums and products of two values pass on
 * "positive" and no more. */
static void pass_arithmetic(struct demands *demands, const struct instruction *instruction,
                            const struct constraint *own)
{
    const struct instruction *a = instruction->operands[0], *b = instruction->operands[1];
    double c, low = own->low, high = own->high;
    enum opcode op = instruction->opcode;
    bool floats = is_inexact(instruction);
    if (!own->has_range || (!floats && !is_integer(instruction)) ||
        pass_sum(demands, instruction, own) || !floats) {
        return;
    }
    if (constant_value(b, &c)) {
        if (c != 0) {
            double x = op == OP_MULTIPLY ? low / c : low * c;
            double y = op == OP_MULTIPLY ? high / c : high * c;
            pass_range(demands, a, fmin(x, y), fmax(x, y), own);
        }
    } else if (constant_value(a, &c)) {
        if (op == OP_MULTIPLY && c != 0) {
            pass_range(demands, b, fmin(low / c, high / c), fmax(low / c, high / c), own);
        }
    } else if (low >= 0 && a != b && op != OP_SUBTRACT) {
        pass_range(demands, a, low > 0 ? 0.25 : 0, 2, own);
        pass_range(demands, b, low > 0 ? 0.25 : 0, 2, own);
    }
}

/* A decay, c^t with 0 < c < 1, that may not exceed one: t counts from one (1 - c^t is what moments
 * of Adam are divided by). */
static void pass_exponent(struct demands *demands, const struct instruction *instruction,
                          const struct constraint *own)
{
    double base;
    if (own->has_range && own->high <= 1 && constant_value(instruction->operands[0], &base) &&
        base > 0 && base < 1) {
        demand_range(demand_of(demands, instruction->operands[1]), 1, 8, "exponent of a decay");
    }
}

static void pass_elementwise(struct demands *demands, const struct instruction *instruction,
                             const struct constraint *own)
{
    const struct instruction *operand =
        instruction->operand_count > 0 ? instruction->operands[0] : NULL;
    switch (instruction->opcode) {
    case OP_CONVERT:
    case OP_COPY:
    case OP_RESHAPE:
    case OP_BITCAST:
    case OP_TRANSPOSE:
    case OP_BROADCAST:
    case OP_SLICE:
    case OP_REVERSE:
    case OP_REDUCE_PRECISION:
    case OP_OPT_BARRIER:
    case OP_DYNAMIC_SLICE:
    case OP_PAD:
    case OP_GATHER:
        pass_to(demands, operand, own);
        break;
    case OP_ALL_GATHER:
    case OP_ALL_TO_ALL:
    case OP_COLLECTIVE_PERMUTE:
        if (instruction->operand_count == 1) {
            pass_to(demands, operand, own);
        }
        break;
    case OP_CONCATENATE:
        for (int i = 0; i < instruction->operand_count; i++) {
            pass_to(demands, instruction->operands[i], own);
        }
        break;
    case OP_SELECT:
        pass_to(demands, instruction->operands[1], own);
        pass_to(demands, instruction->operands[2], own);
        break;
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
    case OP_DIVIDE:
        pass_arithmetic(demands, instruction, own);
        break;
    case OP_NEGATE:
        if (own->has_range) {
            pass_range(demands, operand, -own->high, -own->low, own);
        }
        break;
    case OP_SQRT:
        if (own->has_range && own->high > 0) {
            pass_range(demands, operand, fmax(own->low, 0) * fmax(own->low, 0),
                       own->high * own->high, own);
        }
        break;
    case OP_POWER:
        pass_exponent(demands, instruction, own);
        break;
    case OP_REDUCE:
        if (own->has_range && own->low > 0 && instruction->operand_count == 2) {
            pass_range(demands, operand, 0.25, 2, own);
        }
        break;
    default:
        break;
    }
}

/* --- the opcodes --- */

void demands_of_opcode(struct demands *demands, const struct instruction *instruction,
                       const struct constraint *own)
{
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        if (domains[i].opcode == instruction->opcode &&
            is_inexact(instruction->operands[domains[i].operand])) {
            demand_range(demand_of(demands, instruction->operands[domains[i].operand]),
                         domains[i].low, domains[i].high, domains[i].why);
        }
    }
    int count = instruction->operand_count;
    switch (instruction->opcode) {
    case OP_DIVIDE:
        if (is_inexact(instruction)) {
            struct constraint *divisor = demand_of(demands, instruction->operands[1]);
            divisor->nonzero = true;
            divisor->why = divisor->why != NULL ? divisor->why : "divisor";
        }
        break;
    case OP_DYNAMIC_SLICE:
        demand_starts(demands, instruction, 1,
                      attr_ints(instruction, ATTR_DYNAMIC_SLICE_SIZES).values,
                      "start index of dynamic-slice");
        break;
    case OP_DYNAMIC_UPDATE_SLICE:
        demand_starts(demands, instruction, 2, instruction->operands[1]->shape->dimensions,
                      "start index of dynamic-update-slice");
        pass_to(demands, instruction->operands[0], own);
        pass_to(demands, instruction->operands[1], own);
        break;
    case OP_GATHER:
        demand_gather(demands, instruction);
        break;
    case OP_SCATTER:
        demand_scatter(demands, instruction);
        break;
    case OP_RAGGED_ALL_TO_ALL:
        /* Devices must agree on these, and each draws its own: no rows at all. */
        for (int i = 2; i < instruction->operand_count; i++) {
            demand_range(demand_of(demands, instruction->operands[i]), 0, 0, "rows sent");
        }
        break;
    case OP_COLLECTIVE_BROADCAST:
        if (attr_bool(instruction, ATTR_HAS_DYNAMIC_ROOT, false)) {
            const struct instruction *root = instruction->operands[instruction->operand_count - 1];
            demand_range(demand_of(demands, root), 0, 0, "root of collective-broadcast");
        }
        break;
    case OP_REDUCE:
    case OP_REDUCE_WINDOW:
        if (instruction->called_count == 1) {
            demand_inits(demands, instruction, count / 2, count, instruction->called[0]);
        }
        break;
    case OP_SELECT_AND_SCATTER:
        if (instruction->called_count == 2) {
            demand_inits(demands, instruction, 2, 3, instruction->called[1]);
        }
        break;
    case OP_SORT:
    case OP_TOPK: {
        struct constraint *keys = demand_of(demands, instruction->operands[0]);
        keys->distinct = true;
        keys->why = keys->why != NULL ? keys->why : "sort keys";
        break;
    }
    case OP_CHOLESKY:
        demand_of(demands, instruction->operands[0])->positive_definite = true;
        break;
    case OP_TRIANGULAR_SOLVE:
        demand_of(demands, instruction->operands[0])->triangular = true;
        break;
    case OP_DOT:
    case OP_CONVOLUTION:
        demand_fan_in(demands, instruction);
        for (int side = 0; side < 2; side++) {
            struct sparsity sparsity;
            if (attr_sparsity(instruction, side == 1, &sparsity) && sparsity.indices >= 2 &&
                sparsity.indices < instruction->operand_count) {
                index_demand(demands, instruction->operands[sparsity.indices], sparsity.block - 1,
                             "place in a block of a sparse convolution");
            }
        }
        break;
    case OP_CONDITIONAL:
        index_demand(demands, instruction->operands[0], instruction->called_count - 1,
                     "branch index of conditional");
        break;
    case OP_SET_DIMENSION_SIZE: {
        struct ints dimensions = attr_ints(instruction, ATTR_DIMENSIONS);
        index_demand(demands, instruction->operands[1],
                     (double)instruction->operands[0]->shape->dimensions[dimensions.values[0]],
                     "size of a dynamic dimension");
        pass_to(demands, instruction->operands[0], own);
        break;
    }
    case OP_COMPARE:
        for (int i = 0; i < count && demands->is_condition[instruction->parent->id]; i++) {
            if (shape_is_scalar(instruction->operands[i]->shape)) {
                index_demand(demands, instruction->operands[i], 8, "compared by a loop condition");
            }
        }
        break;
    default:
        break;
    }
    if (shape_leaves(instruction->shape) == 1) {
        pass_elementwise(demands, instruction, own);
    }
}
