/* Shardings from the command line (spmd_shardings.h). */
#include "tools/spmd_shardings.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/sharding.h"

/* The end of the sharding at `at`: a comma or an arrow outside of brackets, or the end. */
static const char *sharding_end(const char *at)
{
    int depth = 0;
    for (; *at != '\0'; at++) {
        depth += *at == '{' || *at == '[' || *at == '(';
        depth -= *at == '}' || *at == ']' || *at == ')';
        if (depth == 0 && (*at == ',' || strncmp(at, "->", 2) == 0)) {
            break;
        }
    }
    return at;
}

static bool is_blank(const char *text, size_t size)
{
    return strspn(text, " ") >= size;
}

static bool apply_one(const char *text, size_t size, struct instruction *instruction,
                      struct sharding_holders *holders, struct error *err)
{
    if (is_blank(text, size)) {
        return true;
    }
    const struct sharding *sharding;
    struct module *holder = sharding_read(
        arena_string(&instruction->parent->module->arena, text, size), &sharding, err);
    if (holder == NULL) {
        return false;
    }
    holders->list = memory_realloc(holders->list, (holders->count + 1) * sizeof *holders->list);
    holders->list[holders->count++] = holder;
    instruction_set_attr(instruction, (struct attr){.key = ATTR_SHARDING, .sharding = sharding});
    return true;
}

bool shardings_apply(const char *text, struct module *module, struct sharding_holders *holders,
                     struct error *err)
{
    const struct computation *entry = module->entry;
    const char *at = text;
    for (int i = 0;; i++) {
        const char *end = sharding_end(at);
        if (!is_blank(at, (size_t)(end - at))) {
            if (i >= entry->parameter_count) {
                return error_set(err, ERROR_INVALID_ARGUMENT,
                                 "more shardings than the %d parameters", entry->parameter_count);
            }
            if (!apply_one(at, (size_t)(end - at), entry->parameters[i], holders, err)) {
                return error_prefix(err, "parameter %d", i);
            }
        }
        at = end;
        if (*at != ',') {
            break;
        }
        at++;
    }
    if (*at == '\0') {
        return true;
    }
    at += strlen("->");
    return apply_one(at, strlen(at), entry->root, holders, err) || error_prefix(err, "result");
}

/* --- drawing --- */

enum { PRIMES_MOST = 16 };

/* The prime factors of the number of devices: axes of a mesh. */
static int prime_factors(int64_t devices, int64_t primes[PRIMES_MOST])
{
    int count = 0;
    for (int64_t prime = 2; devices > 1 && count < PRIMES_MOST; prime++) {
        for (; devices % prime == 0 && count < PRIMES_MOST; devices /= prime) {
            primes[count++] = prime;
        }
    }
    return count;
}

static void draw_array(const struct shape *shape, const int64_t *primes, int count, struct rng *rng,
                       struct text *out)
{
    int64_t tiles[SHAPE_MAX_RANK], rest = 1, split = 1;
    int order[PRIMES_MOST];
    for (int i = 0; i < shape->rank; i++) {
        tiles[i] = 1;
    }
    for (int i = 0; i < count; i++) {
        int dimension = (int)rng_below(rng, (uint64_t)shape->rank + 1);
        if (dimension < shape->rank && shape->dimensions[dimension] > 1) {
            tiles[dimension] *= primes[i];
            split *= primes[i];
        } else {
            rest *= primes[i];
        }
        int at = (int)rng_below(rng, (uint64_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    if (split == 1) {
        text_append(out, "{replicated}");
        return;
    }
    text_append(out, "{devices=[");
    for (int i = 0; i < shape->rank; i++) {
        text_printf(out, "%s%lld", i > 0 ? "," : "", (long long)tiles[i]);
    }
    text_printf(out, rest > 1 ? ",%lld]<=[" : "]<=[", (long long)rest);
    for (int i = 0; i < count; i++) {
        text_printf(out, "%s%lld", i > 0 ? "," : "", (long long)primes[i]);
    }
    text_append(out, count > 1 ? "]T(" : "]");
    for (int i = 0; count > 1 && i < count; i++) {
        text_printf(out, "%s%d", i > 0 ? "," : "", order[i]);
    }
    text_append(out, count > 1 ? ")" : "");
    text_append(out, rest > 1 ? " last_tile_dim_replicate}" : "}");
}

/* Of all leaves of a shape, with commas between them. */
static void draw_leaves(const struct shape *shape, const int64_t *primes, int count,
                        struct rng *rng, bool *first, struct text *out)
{
    for (int i = 0; shape_is_tuple(shape) && i < shape->count; i++) {
        draw_leaves(shape->elements[i], primes, count, rng, first, out);
    }
    if (!shape_is_tuple(shape)) {
        text_append(out, *first ? "" : ",");
        *first = false;
        if (shape_is_array(shape)) {
            draw_array(shape, primes, count, rng, out);
        } else {
            text_append(out, "{replicated}");
        }
    }
}

static void draw_value(const struct shape *shape, const int64_t *primes, int count, struct rng *rng,
                       struct text *out)
{
    bool first = true;
    text_append(out, shape_is_tuple(shape) ? "{" : "");
    draw_leaves(shape, primes, count, rng, &first, out);
    text_append(out, !shape_is_tuple(shape) ? "" : first ? "{replicated}}" : "}");
}

bool shardings_draw(struct module *module, int64_t devices, uint64_t seed, char **text,
                    struct sharding_holders *holders, struct error *err)
{
    const struct computation *entry = module->entry;
    int64_t primes[PRIMES_MOST];
    int count = prime_factors(devices, primes);
    struct rng rng;
    struct text drawn;
    rng_init(&rng, seed);
    text_init(&drawn);
    for (int i = 0; i < entry->parameter_count; i++) {
        text_append(&drawn, i > 0 ? "," : "");
        draw_value(entry->parameters[i]->shape, primes, count, &rng, &drawn);
    }
    text_append(&drawn, "->");
    draw_value(entry->root->shape, primes, count, &rng, &drawn);
    *text = text_take(&drawn);
    text_finish(&drawn);
    return shardings_apply(*text, module, holders, err);
}

void sharding_holders_finish(struct sharding_holders *holders)
{
    for (size_t i = 0; i < holders->count; i++) {
        module_destroy(holders->list[i]);
    }
    free(holders->list);
    *holders = (struct sharding_holders){0};
}
