/* custom-call: finds the row of a target and calls its evaluator; what the families share. Targets
 * without a row, and those that are refused by name, are UNIMPLEMENTED. */
#include "interp/custom_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "interp/custom_call_internal.h"

struct row {
    const char *target;
    eval_function *evaluate; /* NULL: refused */
    const char *text, *source;
};

static const struct row rows[] = {
#define CALL(target, evaluator, meaning, source) {target, custom_##evaluator, meaning, source},
#define REFUSED(target, reason, source) {target, NULL, reason, source},
#include "interp/custom_calls.def"
};

const int custom_call_count = (int)(sizeof rows / sizeof *rows);

struct custom_call_info custom_call_info(int row)
{
    return (struct custom_call_info){rows[row].target, rows[row].evaluate != NULL, rows[row].text,
                                     rows[row].source};
}

static bool matches(const char *pattern, const char *target)
{
    for (; *pattern != 0; pattern++) {
        if (*pattern == '*') {
            return true;
        }
        if (*pattern == '%') {
            size_t size = strncmp(target, "cu", 2) == 0    ? 2
                          : strncmp(target, "hip", 3) == 0 ? 3
                                                           : 0;
            if (size == 0) {
                return false;
            }
            target += size;
        } else if (*pattern == '?') {
            if (*target == 0 || strchr("sdcz", *target) == NULL) {
                return false;
            }
            target++;
        } else if (*pattern != *target++) {
            return false;
        }
    }
    return *target == 0;
}

static const struct row *find(const char *target)
{
    for (int i = 0; i < custom_call_count; i++) {
        const char first = rows[i].target[0]; /* mostly told apart by it */
        bool may = first == target[0] || first == '%' || first == '?' || first == '*';
        if (may && matches(rows[i].target, target)) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *custom_call_refusal(const char *target)
{
    const struct row *row = find(target);
    return row == NULL ? "its target is unknown" : row->evaluate == NULL ? row->text : NULL;
}

bool custom_call_is_known(const char *target)
{
    return custom_call_refusal(target) == NULL;
}

void custom_call_explain(struct text *out)
{
    for (int evaluated = 1; evaluated >= 0; evaluated--) {
        text_printf(out, "%s| target | %s | source |\n| --- | --- | --- |\n", evaluated ? "" : "\n",
                    evaluated ? "meaning" : "why it is refused");
        for (int i = 0; i < custom_call_count; i++) {
            if ((rows[i].evaluate != NULL) == (evaluated != 0)) {
                text_printf(out, "| `%s` | %s | %s |\n", rows[i].target, rows[i].text,
                            rows[i].source);
            }
        }
    }
}

struct literal *eval_custom_call(struct evaluation *evaluation,
                                 const struct instruction *instruction, struct operands *operands,
                                 struct error *err)
{
    const struct row *row = find(custom_call_target(instruction));
    if (row == NULL) {
        const char *more = instruction->called_count > 0
                               ? ": unknown; what its computations have to do with its result is "
                                 "the target's business"
                               : "";
        error_set(err, ERROR_UNIMPLEMENTED, "custom call to %s%s", custom_call_target(instruction),
                  more);
        return NULL;
    }
    if (row->evaluate == NULL) {
        return custom_call_fail(instruction, err, "%s", row->text);
    }
    return row->evaluate(evaluation, instruction, operands, err);
}

/* --- shared --- */

struct literal *custom_call_fail(const struct instruction *instruction, struct error *err,
                                 const char *format, ...)
{
    char message[400];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    error_set(err, ERROR_UNIMPLEMENTED, "custom call to %s: %s", custom_call_target(instruction),
              message);
    return NULL;
}

int custom_call_result_count(const struct instruction *instruction)
{
    return shape_is_tuple(instruction->shape) ? instruction->shape->count : 1;
}

const struct shape *custom_call_result_shape(const struct instruction *instruction, int i)
{
    if (!shape_is_tuple(instruction->shape)) {
        return i == 0 ? instruction->shape : NULL;
    }
    return i < instruction->shape->count ? instruction->shape->elements[i] : NULL;
}

struct literal *custom_call_result_take(const struct instruction *instruction,
                                        struct literal **parts, int count, struct error *err)
{
    int total = custom_call_result_count(instruction);
    struct literal **elements = memory_zalloc((size_t)(total + 1) * sizeof *elements);
    bool ok = true;
    for (int i = 0; i < count; i++) {
        if (i < total) {
            elements[i] = parts[i];
        } else {
            literal_release(parts[i]);
        }
    }
    for (int i = 0; i < total; i++) {
        if (elements[i] == NULL && ok) {
            elements[i] = literal_zero(custom_call_result_shape(instruction, i), err);
            ok = elements[i] != NULL && literal_mark_all_unspecified(elements[i], err);
        }
    }
    struct literal *result = NULL;
    if (ok && !shape_is_tuple(instruction->shape)) {
        result = elements[0];
    } else if (ok) {
        result = literal_tuple_take(instruction->shape, elements);
    } else {
        for (int i = 0; i < total; i++) {
            literal_release(elements[i]);
        }
    }
    free(elements);
    return result;
}

bool custom_call_operand_is(const struct operands *operands, int i, enum type type, int rank)
{
    if (i >= operands->count || !shape_is_array(operands->values[i]->shape)) {
        return false;
    }
    const struct shape *shape = operands->values[i]->shape;
    return (type == TYPE_INVALID || shape->type == type) && (rank < 0 || shape->rank == rank);
}

bool custom_call_spread(const struct operands *operands, struct literal *to, struct error *err)
{
    for (int i = 0; i < operands->count; i++) {
        if (literal_has_unspecified(operands->values[i])) {
            return literal_mark_all_unspecified(to, err);
        }
    }
    return true;
}

void inner_call_init(struct inner_call *call, const struct instruction *outer, enum opcode opcode,
                     const struct shape *shape)
{
    *call = (struct inner_call){.instruction = {.name = outer->name,
                                                .opcode = opcode,
                                                .id = outer->id,
                                                .shape = shape,
                                                .parent = outer->parent}};
    call->instruction.attrs = call->attrs;
}

void inner_call_set(struct inner_call *call, struct attr attr)
{
    int at = call->instruction.attr_count++;
    while (at > 0 && call->attrs[at - 1].key > attr.key) {
        call->attrs[at] = call->attrs[at - 1];
        at--;
    }
    call->attrs[at] = attr;
}

struct literal *inner_call_run(struct inner_call *call, struct evaluation *evaluation,
                               struct literal *const *values, int count, struct error *err)
{
    static const bool alive[16] = {false};
    struct literal *copies[16];
    for (int i = 0; i < count; i++) {
        copies[i] = values[i];
    }
    struct operands operands = {.count = count, .values = copies, .dying = alive};
    call->instruction.operand_count = count;
    return eval_function_of(call->instruction.opcode)(evaluation, &call->instruction, &operands,
                                                      err);
}
