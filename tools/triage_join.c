/* Groups that are one: by their reduced modules. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/module.h"
#include "hlo/verify.h"
#include "tools/triage_internal.h"

/* --- of one kind --- */

static json_int_t integer_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void join(struct triage_group *into, struct triage_group *from)
{
    for (size_t i = 0; i < from->count; i++) {
        triage_add_member(into, from->members[i]);
    }
    json_t *forms = json_object_get(into->reduced, "forms");
    if (forms != NULL) {
        json_array_append_new(forms, json_string(json_get_text(from->members[0], "form")));
    }
    free(from->members);
    json_decref(from->reduced);
    free(from->key);
    *from = (struct triage_group){0};
}

static bool is_smaller(const json_t *a, const json_t *b)
{
    json_int_t order = integer_of(a, "instructions") - integer_of(b, "instructions");
    return order != 0 ? order < 0 : integer_of(a, "elements") < integer_of(b, "elements");
}

/* Groups with one key of their reduced modules become that with the smallest. */
static void join_same(struct triage_results *results)
{
    for (size_t i = 0; i < results->group_count; i++) {
        struct triage_group *group = &results->groups[i];
        if (group->reduced == NULL) {
            continue;
        }
        free(group->key);
        group->key = memory_strdup(json_get_text(group->reduced, "key"));
        json_t *own = json_deep_copy(group->reduced); /* the journal's is shared */
        json_decref(group->reduced);
        group->reduced = own;
        json_object_set_new(own, "forms",
                            json_pack("[s]", json_get_text(group->members[0], "form")));
    }
    size_t kept = 0;
    for (size_t i = 0; i < results->group_count; i++) {
        struct triage_group group = results->groups[i];
        size_t k = 0;
        while (k < kept && strcmp(results->groups[k].key, group.key) != 0) {
            k++;
        }
        if (k == kept) {
            results->groups[kept++] = group;
        } else if (group.reduced != NULL && results->groups[k].reduced != NULL &&
                   is_smaller(group.reduced, results->groups[k].reduced)) {
            join(&group, &results->groups[k]);
            results->groups[k] = group;
        } else {
            join(&results->groups[k], &group);
        }
    }
    results->group_count = kept;
}

/* --- of one kind but for a type --- */

/* Where two forms differ in one element type alone. */
struct type_difference {
    enum type from, to;
    bool also_from, also_to; /* which stands elsewhere too, in both: it cannot be changed alone */
};

static size_t word_length(const char *text)
{
    size_t size = 0;
    while (isalnum((unsigned char)text[size])) {
        size++;
    }
    return size;
}

static bool one_type_apart(const char *a, const char *b, struct type_difference *difference)
{
    bool types[TYPE_COUNT] = {false}; /* that stand in both */
    *difference = (struct type_difference){TYPE_INVALID, TYPE_INVALID, false, false};
    for (;; a++, b++) {
        size_t x = word_length(a), y = word_length(b);
        enum type left = type_from_text(a, x), right = type_from_text(b, y);
        if (x == y && strncmp(a, b, x) == 0) {
            types[left] = true;
        } else {
            bool known = difference->from == TYPE_INVALID ||
                         (difference->from == left && difference->to == right);
            if (left == TYPE_INVALID || right == TYPE_INVALID || !known) {
                return false;
            }
            difference->from = left;
            difference->to = right;
        }
        a += x;
        b += y;
        if (*a != *b || *a == '\0') {
            break;
        }
    }
    difference->also_from = types[difference->from];
    difference->also_to = types[difference->to];
    return *a == *b && difference->from != TYPE_INVALID &&
           !(difference->also_from && difference->also_to);
}

/* Does the reduced module fail in the same way with another type? */
static bool fails_retyped(struct triage_state *state, struct triage_team *team,
                          const struct triage_group *group, enum type from, enum type to)
{
    const char *uri = json_get_text(group->members[0], "backend");
    struct error err = {0};
    struct specimen specimen = {0}, part = {0}, own = {0};
    struct findings findings = {0};
    bool same = false;
    struct backend *backend =
        team_backend(state, team, uri, state->settings->failing.timeout, &err);
    if (backend != NULL &&
        triage_read_part(json_get_text(group->reduced, "text"), &specimen, &err) &&
        specimen_retype(&specimen, from, to, &part, &err) && specimen_copy(&part, &own, &err) &&
        verify_module(own.module, &findings)) {
        struct differential_options options = state->settings->failing.differential;
        struct differential_result result;
        struct failure_signature signature;
        struct text text;
        options.tolerance = TOLERANCE_DEFAULT;
        options.arguments = own.arguments;
        options.argument_count = specimen_argument_total(&own);
        differential_run(own.module, backend, team->reference, &options, &result);
        failure_signature_of(&result, &signature);
        text_init(&text);
        failure_signature_print(&signature, &text);
        same = failure_signature_fails(&signature) &&
               strcmp(text.data, json_get_text(group->reduced, "signature")) == 0;
        text_finish(&text);
        failure_signature_finish(&signature);
        differential_result_finish(&result);
    }
    findings_finish(&findings);
    specimen_finish(&own);
    specimen_finish(&part);
    specimen_finish(&specimen);
    return same;
}

static bool alike_but_for_type(struct triage_state *state, struct triage_team *team,
                               const struct triage_group *a, const struct triage_group *b)
{
    struct type_difference difference;
    return a->reduced != NULL && b->reduced != NULL &&
           strcmp(json_get_text(a->members[0], "backend"),
                  json_get_text(b->members[0], "backend")) == 0 &&
           strcmp(json_get_text(a->reduced, "signature"), json_get_text(b->reduced, "signature")) ==
               0 &&
           strcmp(json_get_text(a->reduced, "verdict"), json_get_text(b->reduced, "verdict")) ==
               0 &&
           one_type_apart(json_get_text(a->reduced, "form"), json_get_text(b->reduced, "form"),
                          &difference) &&
           (difference.also_from ||
            fails_retyped(state, team, a, difference.from, difference.to)) &&
           (difference.also_to || fails_retyped(state, team, b, difference.to, difference.from));
}

static void join_types(struct triage_state *state, struct triage_team *team)
{
    struct triage_results *results = state->results;
    for (size_t i = 0; i < results->group_count; i++) {
        for (size_t k = i + 1; k < results->group_count && !triage_is_over(state);) {
            if (alike_but_for_type(state, team, &results->groups[i], &results->groups[k])) {
                join(&results->groups[i], &results->groups[k]);
                results->groups[k] = results->groups[--results->group_count];
            } else {
                k++;
            }
        }
    }
}

void triage_join_all(struct triage_state *state)
{
    struct triage_team team;
    struct error err = {0};
    join_same(state->results);
    if (!team_start(state, &team, &err)) {
        triage_fail(state, &err);
        return;
    }
    join_types(state, &team);
    team_finish(&team);
}
