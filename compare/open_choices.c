/* Evaluations with the other choice. */
#include "compare/open_choices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/devices.h"
#include "compare/licence.h"
#include "compare/sensitivity.h"
#include "hlo/base/arena.h"
#include "hlo/base/clock.h"
#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "interp/interp.h"

/* Values are kept up to this size, choices up to this number. */
static const int64_t values_most = 256 << 20;
static const double longest = 30; /* s */
enum { CHOICES_MOST = 64 };

enum choice_kind { CHOICE_MARKED, CHOICE_ZERO_SIGN, CHOICE_NAN_BITS, CHOICE_KINDS };

/* What HLO leaves open at an opcode, in the words of interp/choices.h. */
static const struct {
    enum opcode opcode;
    const char *what;
} opened[] = {
    {OP_CONVERT, "float to integer of NaN or out of range"},
    {OP_SORT, "the order of equal elements in an unstable sort"},
    {OP_TOPK, "the order of equal elements in top-k"},
    {OP_RNG, "random numbers"},
    {OP_RNG_BIT_GENERATOR, "the unused state of a random number generator"},
    {OP_CONVOLUTION, "0 · inf in padding or holes of a convolution"},
    {OP_CHOLESKY, "cholesky of what is not positive definite"},
    {OP_FFT, "an fft of infinities or NaN"},
    {OP_CUSTOM_CALL, "workspaces and failures of a custom call"},
    {OP_SET_DIMENSION_SIZE, "elements beyond the run-time size"},
};

static const char *kind_text(enum choice_kind kind, const struct instruction *instruction)
{
    if (kind == CHOICE_ZERO_SIGN) {
        return "the sign of zero from min or max";
    }
    if (kind == CHOICE_NAN_BITS) {
        return "the sign and payload of a NaN";
    }
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        if (opened[i].opcode == instruction->opcode) {
            return opened[i].what;
        }
    }
    return "what its opcode leaves open";
}

struct choice {
    enum choice_kind kind;
    const struct instruction *instruction;
    struct literal *value; /* CHOICE_MARKED: the golden's */
    int executions;
};

struct search {
    double deadline; /* first: see is_late */
    const struct module *module;
    const struct differential_result *result;
    struct literal ***values; /* [computation][instruction], the last one */
    int64_t bytes;
    struct choice choices[CHOICES_MOST];
    int count;
    /* of one evaluation with the other choice */
    enum choice_kind kind;
    int variant;
};

/* With another choice a loop may run for ever. */
static bool is_late(void *context)
{
    const struct search *search = context;
    return clock_seconds() > search->deadline;
}

/* --- finding choices --- */

static bool has_nan(const struct literal *value)
{
    enum type type = value->shape->type;
    if (!type_is_float(type)) {
        return false;
    }
    int64_t count = literal_elements(value);
    for (int64_t i = 0; i < count; i++) {
        if (isnan(literal_get_double(value, i))) {
            return true;
        }
    }
    return false;
}

/* A zero of min, max or clamp where an operand has the other zero. */
static bool chose_zero(const struct search *search, const struct instruction *instruction,
                       const struct literal *value)
{
    bool is_one = instruction->opcode == OP_MAXIMUM || instruction->opcode == OP_MINIMUM ||
                  instruction->opcode == OP_CLAMP;
    if (!is_one || !type_is_float(value->shape->type)) {
        return false;
    }
    int64_t count = literal_elements(value);
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct literal *operand =
            search->values[instruction->parent->id][instruction->operands[k]->id];
        if (operand == NULL || operand->shape->type != value->shape->type) {
            continue;
        }
        bool scalar = literal_elements(operand) == 1;
        for (int64_t i = 0; i < count; i++) {
            double result = literal_get_double(value, i);
            double other = result == 0 ? literal_get_double(operand, scalar ? 0 : i) : 1;
            if (other == 0 && signbit(result) != signbit(other)) {
                return true;
            }
        }
    }
    return false;
}

static bool operands_are_marked(const struct search *search, const struct instruction *instruction)
{
    for (int k = 0; k < instruction->operand_count; k++) {
        const struct literal *operand =
            search->values[instruction->parent->id][instruction->operands[k]->id];
        if (operand != NULL && literal_has_unspecified(operand)) {
            return true;
        }
    }
    return false;
}

static void add_choice(struct search *search, enum choice_kind kind,
                       const struct instruction *instruction, const struct literal *value)
{
    for (int i = 0; i < search->count; i++) {
        struct choice *known = &search->choices[i];
        if (known->kind == kind && known->instruction == instruction) {
            known->executions++;
            return;
        }
    }
    if (search->count < CHOICES_MOST) {
        search->choices[search->count++] = (struct choice){
            kind, instruction, kind == CHOICE_MARKED ? literal_retain(value) : NULL, 1};
    }
}

static bool look_at(void *context, const struct instruction *instruction,
                    const struct literal *value, int64_t iteration, struct error *err)
{
    struct search *search = context;
    struct literal **slot = &search->values[instruction->parent->id][instruction->id];
    (void)iteration;
    search->bytes += shape_bytes(value->shape) - (*slot != NULL ? shape_bytes((*slot)->shape) : 0);
    if (search->bytes > values_most) {
        return error_set(err, ERROR_RESOURCE_EXHAUSTED, "the values are too large to be kept");
    }
    bool carries = instruction->opcode == OP_PARAMETER || instruction->opcode == OP_TUPLE ||
                   instruction->opcode == OP_GET_TUPLE_ELEMENT || instruction->called_count > 0;
    bool reorders = instruction->opcode == OP_SORT;
    if ((!carries || reorders) && literal_has_unspecified(value) &&
        !operands_are_marked(search, instruction)) {
        add_choice(search, CHOICE_MARKED, instruction, value);
    }
    if (!carries && shape_is_array(value->shape)) {
        if (chose_zero(search, instruction, value)) {
            add_choice(search, CHOICE_ZERO_SIGN, instruction, value);
        }
        if (instruction->opcode != OP_CONSTANT && has_nan(value)) {
            add_choice(search, CHOICE_NAN_BITS, instruction, value);
        }
    }
    literal_release(*slot);
    *slot = literal_retain(value);
    return true;
}

static struct interp_options interp_of(const struct search *search)
{
    return (struct interp_options){.seed = search->result->seed,
                                   .replica_count = search->result->replica_count,
                                   .partition_count = search->result->partition_count,
                                   .cancelled = is_late};
}

/* Evaluates the program and notes where a choice was made. On several devices the values of one
 * stand beside those of another, so that only choices of one device are looked for. */
static bool find_choices(struct search *search, struct error *err)
{
    struct interp_options interp = interp_of(search);
    interp.on_instruction = look_at;
    interp.context = search;
    struct literal *value = devices_evaluate(search->module, search->result->arguments,
                                             search->result->argument_count, &interp, err);
    literal_release(value);
    return value != NULL;
}

/* --- the other choice --- */

static const struct choice *choice_at(const struct search *search,
                                      const struct instruction *instruction)
{
    for (int i = 0; i < search->count; i++) {
        const struct choice *choice = &search->choices[i];
        if (choice->kind == search->kind && choice->instruction == instruction) {
            return choice;
        }
    }
    return NULL;
}

static void turn_signs(void *context, const struct instruction *instruction, enum noise_place place,
                       int operand, struct literal *value)
{
    const struct search *search = context;
    enum type type = value->shape->type;
    (void)operand;
    if (place != NOISE_RESULT || !type_is_float(type) || choice_at(search, instruction) == NULL) {
        return;
    }
    uint64_t sign = 1ull << (type_bits(type) - 1);
    bool zeros = search->kind == CHOICE_ZERO_SIGN;
    int64_t count = literal_elements(value);
    for (int64_t i = 0; i < count; i++) {
        double number = literal_get_double(value, i);
        if (zeros ? number == 0 && float_has_negative_zero(type) : isnan(number)) {
            literal_set_bits(value, i, literal_get_bits(value, i) ^ sign);
        }
    }
}

/* Sets the open elements of an array to another value; the marks go. */
static struct literal *other_array(const struct literal *value, int variant)
{
    enum type type = value->shape->type;
    struct literal *other = literal_zero(value->shape, NULL);
    if (other == NULL) {
        return NULL;
    }
    memcpy(literal_data(other), literal_data(value), value->buffer->size);
    int64_t count = literal_elements(value);
    static const double floats[] = {0, NAN, 1, -1};
    for (int64_t i = 0; i < count; i++) {
        if (!literal_is_unspecified(value, i)) {
            continue;
        }
        int bits = type_bits(type);
        int64_t least = type_kind(type) == KIND_SIGNED ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
        int64_t most =
            type_kind(type) == KIND_SIGNED ? ~least : (int64_t)(UINT64_MAX >> (64 - bits));
        int64_t integers[] = {least, most, 0, -1};
        switch (type_kind(type)) {
        case KIND_PRED:
            literal_set_int(other, i, literal_get_int(value, i) == 0);
            break;
        case KIND_SIGNED:
        case KIND_UNSIGNED:
            literal_set_int(other, i, integers[variant]);
            break;
        case KIND_FLOAT:
            literal_set_double(other, i, floats[variant]);
            break;
        default:
            literal_set_complex(other, i, floats[variant], floats[variant]);
            break;
        }
    }
    return other;
}

static struct literal *stand_in(void *context, const struct instruction *instruction,
                                int64_t iteration)
{
    const struct search *search = context;
    const struct choice *choice = choice_at(search, instruction);
    (void)iteration;
    if (choice == NULL || choice->executions > 1 || !shape_is_array(choice->value->shape)) {
        return NULL;
    }
    return other_array(choice->value, search->variant);
}

static struct literal *evaluate_other(struct search *search)
{
    struct error ignored = {0};
    struct interp_options interp = interp_of(search);
    interp.context = search;
    if (search->kind == CHOICE_MARKED) {
        interp.replace = stand_in;
    } else {
        interp.noise = turn_signs;
        interp.noise_everywhere = true;
    }
    return devices_evaluate(search->module, search->result->arguments,
                            search->result->argument_count, &interp, &ignored);
}

/* --- what it explains --- */

/* Is each element of the backend's answer the golden's, or the golden's with the other choice?
 * *nearest (owned) collects the answers that are nearest to the backend's. */
static bool is_answer(const struct differential_result *result, const struct literal *golden,
                      struct literal **nearest)
{
    struct error ignored = {0};
    struct literal *own = literal_own_take(*nearest, &ignored);
    *nearest = own;
    if (own == NULL) {
        return false;
    }
    struct literal *actual = devices_join(result->actual.outputs, result->device_count);
    struct comparison comparison;
    take_nearer(own, golden, actual);
    literal_compare(own, actual, result->bounds, &comparison);
    bool equal = comparison.equal;
    comparison_finish(&comparison);
    literal_release(actual);
    return equal;
}

/* Whatever moved at all is undecided. */
static void open_what_moved(double **spread, const struct literal *reference,
                            const struct literal *other)
{
    double **moved = spread_create(reference);
    spread_widen(moved, reference, other);
    int leaves = shape_leaves(reference->shape);
    for (int l = 0; l < leaves; l++) {
        const struct literal *leaf = literal_leaf(reference, l);
        int64_t count = shape_is_array(leaf->shape) ? literal_elements(leaf) : 0;
        count *= type_is_complex(leaf->shape->type) ? 2 : 1;
        for (int64_t i = 0; i < count; i++) {
            bool integer = isnan(moved[l][i]);
            if (integer || moved[l][i] != 0) {
                spread[l][i] = integer ? NAN : INFINITY;
            }
        }
    }
    spread_destroy(moved, reference);
}

static void name_choice(const struct search *search, enum choice_kind kind,
                        struct open_choices *choices)
{
    struct text text;
    text_init(&text);
    int named = 0;
    for (int i = 0; i < search->count; i++) {
        const struct choice *choice = &search->choices[i];
        if (choice->kind != kind || named == 3) {
            continue;
        }
        const char *what = kind_text(kind, choice->instruction);
        if (named++ == 0) {
            choices->kind = what;
            text_printf(&text, "%s: ", what);
        } else {
            text_append(&text, ", ");
        }
        text_printf(&text, "%s (%s)", choice->instruction->name,
                    opcode_text(choice->instruction->opcode));
    }
    free(choices->choice);
    choices->choice = text_take(&text);
    text_finish(&text);
}

/* Evaluates with each other choice of the kind. */
static void try_kind(struct search *search, enum choice_kind kind, const struct literal *reference,
                     double **spread, struct open_choices *choices)
{
    bool any = false;
    for (int i = 0; i < search->count; i++) {
        any |= search->choices[i].kind == kind;
    }
    int variants = kind == CHOICE_MARKED ? 4 : 1;
    search->kind = kind;
    struct literal *nearest = any ? literal_retain(reference) : NULL;
    for (int v = 0; nearest != NULL && v < variants && !choices->explains; v++) {
        search->variant = v;
        struct literal *other = evaluate_other(search);
        if (other == NULL) {
            continue;
        }
        choices->explains = is_answer(search->result, other, &nearest);
        bool depends = false;
        if (kind == CHOICE_MARKED) { /* other values than those that were tried are right too */
            open_what_moved(spread, reference, other);
            depends = spread_mismatches(search->result, spread) == 0;
        }
        literal_release(other);
        if (choices->explains || (depends && !choices->depends)) {
            name_choice(search, kind, choices);
        }
        choices->depends |= depends;
    }
    literal_release(nearest);
}

static void count_open(const struct differential_result *result, struct open_choices *choices)
{
    for (int d = 0; d < result->device_count; d++) {
        int leaves = shape_leaves(result->reference.outputs[d]->shape);
        for (int l = 0; l < leaves; l++) {
            const struct literal *leaf = literal_leaf(result->reference.outputs[d], l);
            const struct literal *actual = literal_leaf(result->actual.outputs[d], l);
            bool same = shape_is_array(leaf->shape) && shape_compatible(leaf->shape, actual->shape);
            if (!same || leaf->buffer->unspecified == NULL) {
                continue;
            }
            size_t bytes = (size_t)type_bytes(leaf->shape->type);
            const char *a = literal_data(leaf), *b = literal_data(actual);
            int64_t count = literal_elements(leaf);
            for (int64_t i = 0; i < count; i++) {
                bool open = literal_is_unspecified(leaf, i);
                choices->open += open;
                choices->open_differing +=
                    open && memcmp(a + (size_t)i * bytes, b + (size_t)i * bytes, bytes) != 0;
            }
        }
    }
}

bool open_choices_find(const struct module *module, const struct differential_result *result,
                       struct open_choices *choices, struct error *err)
{
    *choices = (struct open_choices){.choice = memory_strdup(""), .kind = ""};
    struct search *search = memory_zalloc(sizeof *search);
    search->deadline = clock_seconds() + longest;
    search->module = module;
    search->result = result;
    search->values = memory_zalloc(((size_t)module->count + 1) * sizeof *search->values);
    for (int c = 0; c < module->count; c++) {
        search->values[c] =
            memory_zalloc(((size_t)module->computations[c]->count + 1) * sizeof(struct literal *));
    }
    bool ok = find_choices(search, err);
    count_open(result, choices);
    if (ok && result->outcome == OUTCOME_MISMATCH) {
        struct literal *reference = devices_join(result->reference.outputs, result->device_count);
        double **spread = spread_create(reference);
        for (int kind = 0; kind < CHOICE_KINDS && !choices->explains; kind++) {
            try_kind(search, (enum choice_kind)kind, reference, spread, choices);
        }
        spread_destroy(spread, reference);
        literal_release(reference);
    } else if (ok && choices->open > 0) {
        name_choice(search, CHOICE_MARKED, choices);
    }
    for (int i = 0; i < search->count; i++) {
        literal_release(search->choices[i].value);
    }
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            literal_release(search->values[c][i]);
        }
        free(search->values[c]);
    }
    free(search->values);
    free(search);
    if (!ok) {
        open_choices_finish(choices);
    }
    return ok;
}

void open_choices_finish(struct open_choices *choices)
{
    free(choices->choice);
    *choices = (struct open_choices){0};
}
