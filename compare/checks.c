/* Checks that a program carries with it: what each demands of its operands. */
#include "compare/checks.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

/* --- the numbers of a check --- */

enum kind {
    KIND_EQUAL,
    KIND_ALMOST,
    KIND_CLOSE,
    KIND_EITHER,
    KIND_SERIALIZED,
    KIND_PROBE,
    KIND_SHOW
};

/* Each target, and its numbers where the call has no backend_config. */
static const struct row {
    const char *target;
    enum kind kind;
    int operands;
    double tolerance;
} rows[] = {
    {"check.expect_eq", KIND_EQUAL, 2, 0},
    {"check.expect_eq_const", KIND_EQUAL, 2, 0},
    {"check.expect_almost_eq", KIND_ALMOST, 2, 1e-3},
    {"check.expect_almost_eq_const", KIND_ALMOST, 2, 1e-3},
    {"check.expect_close", KIND_CLOSE, 2, 0},
    {"check.eq", KIND_EITHER, 2, 1e-4},
    {"check.expect_serialized_eq", KIND_SERIALIZED, 1, 0},
    {"interpreter.probe", KIND_PROBE, 1, 0},
    {"interpreter.print", KIND_SHOW, 1, 0},
};

static const struct row *find(const struct instruction *call)
{
    const char *target = attr_string(call, ATTR_CUSTOM_CALL_TARGET);
    for (size_t i = 0; target != NULL && i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].target, target) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

bool checks_is_check(const struct instruction *call)
{
    return call->opcode == OP_CUSTOM_CALL && find(call) != NULL;
}

struct demand {
    double tolerance;
    int64_t least_ulps, most_ulps;
    char *probe; /* "" if none */
    int64_t iteration;
};

static bool read_demand(const struct instruction *call, const struct row *row,
                        struct demand *demand, struct error *err)
{
    *demand = (struct demand){.tolerance = row->tolerance, .most_ulps = 3};
    const char *config = attr_string(call, ATTR_BACKEND_CONFIG);
    json_t *json = config == NULL || *config == '\0' ? json_object() : json_loads(config, 0, NULL);
    const char *probe = "";
    json_error_t why;
    bool ok =
        json_is_object(json) &&
        json_unpack_ex(json, &why, 0, "{s?F, s?I, s?I, s?s, s?I}", "tolerance", &demand->tolerance,
                       "min_ulp_difference", &demand->least_ulps, "max_ulp_difference",
                       &demand->most_ulps, "probe_id", &probe, "iter", &demand->iteration) == 0;
    demand->probe = memory_strdup(ok ? probe : "");
    json_decref(json);
    return ok || error_at(err, instruction_where(call),
                          "%s: backend_config \"%s\" is not a check's", row->target, config);
}

/* --- elements --- */

/* An array as one of real numbers: parts of complex ones along a dimension of their own. */
static struct literal *real_parts(const struct literal *array)
{
    const struct shape *shape = array->shape;
    if (!type_is_complex(shape->type) || shape->rank == SHAPE_MAX_RANK) {
        return literal_view(array, shape_without_layout(shape_static(shape)));
    }
    int64_t dimensions[SHAPE_MAX_RANK];
    memcpy(dimensions, shape->dimensions, (size_t)shape->rank * sizeof *dimensions);
    dimensions[shape->rank] = 2;
    return literal_view(array, shape_array(type_part(shape->type), shape->rank + 1, dimensions));
}

/* How many numbers of the type lie between two finite ones: their bits, with the sign apart, count
 * them up from zero. UINT64_MAX when one is not finite and they differ. */
static uint64_t steps_between(const struct literal *a, const struct literal *b, int64_t index)
{
    uint64_t x = literal_get_bits(a, index), y = literal_get_bits(b, index);
    double p = literal_get_double(a, index), q = literal_get_double(b, index);
    if (x == y || (isnan(p) && isnan(q))) {
        return 0;
    }
    if (!isfinite(p) || !isfinite(q)) {
        return UINT64_MAX;
    }
    uint64_t sign = (uint64_t)1 << (type_bits(a->shape->type) - 1);
    uint64_t above = x & (sign - 1), below = y & (sign - 1);
    if ((x & sign) != (y & sign)) {
        return above + below;
    }
    return above > below ? above - below : below - above;
}

static bool agrees(const struct literal *actual, const struct literal *expected, int64_t i,
                   enum kind kind, const struct demand *demand, uint64_t *steps)
{
    enum type type = actual->shape->type;
    *steps = 0;
    if (!type_is_float(type)) {
        return literal_get_bits(actual, i) == literal_get_bits(expected, i);
    }
    if (kind == KIND_CLOSE) {
        *steps = steps_between(actual, expected, i);
        return *steps >= (uint64_t)demand->least_ulps && *steps <= (uint64_t)demand->most_ulps;
    }
    double a = literal_get_double(actual, i), b = literal_get_double(expected, i);
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= demand->tolerance;
}

static void print_where(const struct instruction *call, struct text *out)
{
    struct where where = instruction_where(call);
    if (where.file != NULL) {
        text_printf(out, "%s:", where.file);
    }
    if (where.line > 0) {
        text_printf(out, "%d:%d:", where.line, where.column);
    }
    text_append(out, where.file != NULL || where.line > 0 ? " " : "");
}

static void print_element(const struct literal *array, int64_t index, struct text *out)
{
    struct error err = {0};
    struct literal *one = literal_create(shape_scalar(array->shape->type), &err);
    if (one != NULL) {
        size_t size = (size_t)type_bytes(array->shape->type);
        memcpy(literal_data(one), (const char *)literal_data(array) + (size_t)index * size, size);
        literal_print(one, false, 0, out);
        literal_release(one);
    }
}

enum { EXAMPLES = 5 };

/* Compares, and adds a picture of what does not agree. */
static bool compare(struct checks *checks, const struct instruction *call, const struct row *row,
                    const struct demand *demand, struct literal *const *operands)
{
    struct literal *actual = real_parts(operands[0]), *expected = real_parts(operands[1]);
    int64_t count = literal_elements(actual), wrong = 0;
    struct text *out = checks->pictures;
    for (int64_t i = 0; i < count; i++) {
        uint64_t steps;
        if (agrees(actual, expected, i, row->kind, demand, &steps)) {
            continue;
        }
        if (wrong++ == 0) {
            print_where(call, out);
            text_printf(out, "%s does not hold", row->target);
            if (row->kind == KIND_CLOSE) {
                text_printf(out, " (%" PRId64 " to %" PRId64 " units in the last place)",
                            demand->least_ulps, demand->most_ulps);
            } else if (demand->tolerance > 0 && type_is_float(actual->shape->type)) {
                text_printf(out, " (tolerance %g)", demand->tolerance);
            }
            text_char(out, '\n');
        }
        if (wrong <= EXAMPLES) {
            text_append(out, "  ");
            shape_print_index(actual->shape, i, out);
            text_append(out, ": is ");
            print_element(actual, i, out);
            text_append(out, ", should be ");
            print_element(expected, i, out);
            if (row->kind == KIND_CLOSE && steps != UINT64_MAX) {
                text_printf(out, " (%" PRIu64 " units)", steps);
            }
            text_char(out, '\n');
        }
    }
    if (wrong > 0) {
        text_printf(out, "  %" PRId64 " of %" PRId64 " %s\n", wrong, count,
                    type_is_complex(operands[0]->shape->type) ? "parts" : "elements");
    }
    literal_release(actual);
    literal_release(expected);
    return wrong == 0;
}

/* --- probes --- */

static void add_probe(struct checks *checks, const char *id, const struct literal *value)
{
    if (checks->counts == NULL) {
        checks->counts = memory_alloc(sizeof *checks->counts);
        map_init(checks->counts);
    }
    checks->probes =
        grow(checks->probes, checks->probe_count, &checks->probe_capacity, sizeof *checks->probes);
    struct probe *probe = &checks->probes[checks->probe_count++];
    char *copy = memory_strdup(id);
    uintptr_t before = (uintptr_t)map_get(checks->counts, copy, strlen(copy));
    map_put(checks->counts, copy, strlen(copy), (void *)(before + 1));
    *probe = (struct probe){copy, (int64_t)before, literal_retain(value)};
}

static const struct probe *find_probe(const struct checks *checks, const char *id,
                                      int64_t iteration)
{
    for (size_t i = 0; i < checks->probe_count; i++) {
        if (checks->probes[i].iteration == iteration && strcmp(checks->probes[i].id, id) == 0) {
            return &checks->probes[i];
        }
    }
    return NULL;
}

/* --- hearing --- */

static bool hear(struct checks *checks, const struct instruction *call, const struct row *row,
                 const struct demand *demand, struct literal *const *operands, bool *holds,
                 struct error *err)
{
    if (row->kind == KIND_PROBE) {
        add_probe(checks, demand->probe, operands[0]);
        return true;
    }
    if (row->kind == KIND_SHOW) {
        if (checks->printed != NULL) {
            shape_print(operands[0]->shape, false, checks->printed);
            text_char(checks->printed, ' ');
            literal_print(operands[0], false, 0, checks->printed);
            text_char(checks->printed, '\n');
        }
        return true;
    }
    struct literal *pair[2] = {operands[0], row->operands == 2 ? operands[1] : NULL};
    if (row->kind == KIND_SERIALIZED) {
        const struct probe *probe = find_probe(checks, demand->probe, demand->iteration);
        if (probe == NULL) {
            return error_at(err, instruction_where(call),
                            "%s: no probe \"%s\" was met for the time %" PRId64, row->target,
                            demand->probe, demand->iteration);
        }
        pair[0] = probe->value;
        pair[1] = operands[0];
    }
    if (!shape_compatible(pair[0]->shape, pair[1]->shape)) {
        return error_at(err, instruction_where(call), "%s: of shapes that differ: %s and %s",
                        row->target, shape_text(pair[0]->shape), shape_text(pair[1]->shape));
    }
    *holds = compare(checks, call, row, demand, pair);
    checks->passed += *holds;
    if (!*holds) {
        size_t count = (size_t)checks->failed + 1;
        checks->failures = memory_realloc(checks->failures, count * sizeof(struct instruction *));
        checks->failures[checks->failed++] = call;
    }
    return true;
}

bool checks_hear(struct checks *checks, const struct instruction *call,
                 struct literal *const *operands, int count, bool *holds, struct error *err)
{
    const struct row *row = find(call);
    *holds = true;
    if (row == NULL || count != row->operands) {
        return error_at(err, instruction_where(call), "%s: %d operands are not a check's",
                        attr_string(call, ATTR_CUSTOM_CALL_TARGET), count);
    }
    for (int i = 0; i < count; i++) {
        if (!shape_is_array(operands[i]->shape)) {
            return error_at(err, instruction_where(call), "%s: operand %d is no array", row->target,
                            i);
        }
    }
    if (checks->pictures == NULL) {
        checks->pictures = memory_alloc(sizeof *checks->pictures);
        text_init(checks->pictures);
    }
    struct demand demand;
    bool ok = read_demand(call, row, &demand, err) &&
              hear(checks, call, row, &demand, operands, holds, err);
    free(demand.probe);
    return ok;
}

void checks_finish(struct checks *checks)
{
    for (size_t i = 0; i < checks->probe_count; i++) {
        free(checks->probes[i].id);
        literal_release(checks->probes[i].value);
    }
    free(checks->probes);
    if (checks->counts != NULL) {
        map_finish(checks->counts);
        free(checks->counts);
    }
    free(checks->failures);
    if (checks->pictures != NULL) {
        text_finish(checks->pictures);
        free(checks->pictures);
    }
    *checks = (struct checks){0};
}

bool check_bound(const struct instruction *call, struct bound *bound)
{
    struct error err = {0};
    struct demand demand = {.probe = NULL};
    const struct row *row = find(call);
    bool ok = row != NULL && row->operands == 2 && read_demand(call, row, &demand, &err);
    *bound = (struct bound){.zeros_equal = true, .abs = ok ? demand.tolerance : 0};
    bound->ulps = ok && row->kind == KIND_CLOSE ? (double)demand.most_ulps : 0;
    free(demand.probe);
    return ok;
}
