/* Backend configurations (custom_call_config.h), read with Jansson. */
#include "interp/custom_call_config.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/custom_call_internal.h"

static struct bytes text_of(const struct instruction *instruction)
{
    const struct attr *attr = attr_get(instruction, ATTR_BACKEND_CONFIG);
    return attr == NULL ? (struct bytes){"", 0} : attr->bytes;
}

bool config_read(struct config *config, const struct instruction *instruction, struct error *err)
{
    *config = (struct config){.instruction = instruction};
    struct bytes text = text_of(instruction);
    if (text.size == 0) {
        return true;
    }
    json_error_t problem;
    config->root = json_loadb(text.data, text.size, 0, &problem);
    config->section = config->root;
    if (!json_is_object((json_t *)config->root)) {
        custom_call_fail(instruction, err, "backend_config is no JSON object: %s",
                         config->root == NULL ? problem.text : "another value");
        config->failed = true;
        return false;
    }
    return true;
}

void config_finish(struct config *config)
{
    json_decref(config->root);
    config->root = NULL;
}

static void fail(struct config *config, const char *key, const char *want, struct error *err)
{
    config->failed = true;
    custom_call_fail(config->instruction, err, "backend_config: %s is no %s", key, want);
}

static json_t *value_of(const struct config *config, const char *key)
{
    json_t *value = config->section == NULL ? NULL : json_object_get(config->section, key);
    return json_is_null(value) ? NULL : value;
}

void config_enter(struct config *config, const char *key, struct error *err)
{
    json_t *value = value_of(config, key);
    if (value != NULL && !json_is_object(value)) {
        fail(config, key, "object", err);
        value = NULL;
    }
    config->section = value;
}

bool config_has(const struct config *config, const char *key)
{
    return value_of(config, key) != NULL;
}

static bool read_number(const json_t *value, double *number)
{
    if (json_is_number(value)) {
        *number = json_number_value(value);
        return true;
    }
    const char *text = json_string_value(value);
    if (text == NULL || *text == 0) {
        return false;
    }
    char *end;
    *number = strtod(text, &end);
    return *end == 0;
}

static bool read_integer(const json_t *value, int64_t *integer)
{
    if (json_is_integer(value)) {
        *integer = json_integer_value(value);
        return true;
    }
    if (json_is_real(value)) {
        double real = json_real_value(value);
        if (!(fabs(real) < 0x1p62) || real != trunc(real)) {
            return false;
        }
        *integer = (int64_t)real;
        return true;
    }
    const char *text = json_string_value(value);
    if (text == NULL || *text == 0) {
        return false;
    }
    char *end;
    errno = 0;
    *integer = strtoll(text, &end, 10);
    return *end == 0 && errno == 0;
}

static bool read_word(const json_t *value, const char *const *words, int count, int *word)
{
    int64_t integer;
    const char *text = json_string_value(value);
    for (int i = 0; text != NULL && i < count; i++) {
        if (words[i] != NULL && strcmp(words[i], text) == 0) {
            *word = i;
            return true;
        }
    }
    if (!read_integer(value, &integer) || integer < 0 || integer >= count ||
        words[integer] == NULL) {
        return false;
    }
    *word = (int)integer;
    return true;
}

double config_number(struct config *config, const char *key, double otherwise, struct error *err)
{
    json_t *value = value_of(config, key);
    double number = otherwise;
    if (value != NULL && !read_number(value, &number)) {
        fail(config, key, "number", err);
    }
    return number;
}

int64_t config_integer(struct config *config, const char *key, int64_t otherwise, struct error *err)
{
    json_t *value = value_of(config, key);
    int64_t integer = otherwise;
    if (value != NULL && !read_integer(value, &integer)) {
        fail(config, key, "integer", err);
    }
    return integer;
}

bool config_bool(struct config *config, const char *key, bool otherwise, struct error *err)
{
    json_t *value = value_of(config, key);
    if (value != NULL && !json_is_boolean(value)) {
        fail(config, key, "boolean", err);
        return otherwise;
    }
    return value == NULL ? otherwise : json_is_true(value);
}

const char *config_string(struct config *config, const char *key, const char *otherwise,
                          struct error *err)
{
    json_t *value = value_of(config, key);
    if (value != NULL && !json_is_string(value)) {
        fail(config, key, "string", err);
        return otherwise;
    }
    return value == NULL ? otherwise : json_string_value(value);
}

int config_word(struct config *config, const char *key, const char *const *words, int count,
                int otherwise, struct error *err)
{
    json_t *value = value_of(config, key);
    int word = otherwise;
    if (value != NULL && !read_word(value, words, count, &word)) {
        const char *text = json_string_value(value);
        config->failed = true;
        custom_call_fail(config->instruction, err, "backend_config: unknown %s %s", key,
                         text == NULL ? "(a number or something else)" : text);
    }
    return word;
}

/* The list under a key, and its length; a number too many, or another kind of value, is an error.
 */
static json_t *list_of(struct config *config, const char *key, int most, int *count,
                       struct error *err)
{
    json_t *value = value_of(config, key);
    *count = 0;
    if (value == NULL) {
        return NULL;
    }
    if (!json_is_array(value) || json_array_size(value) > (size_t)most) {
        fail(config, key, "list (or a very long one)", err);
        return NULL;
    }
    *count = (int)json_array_size(value);
    return value;
}

int config_integers(struct config *config, const char *key, int64_t *values, int most,
                    struct error *err)
{
    int count;
    json_t *list = list_of(config, key, most, &count, err);
    for (int i = 0; i < count; i++) {
        if (!read_integer(json_array_get(list, (size_t)i), &values[i])) {
            fail(config, key, "list of integers", err);
            return 0;
        }
    }
    return count;
}

int config_words(struct config *config, const char *key, const char *const *words, int word_count,
                 int *values, int most, struct error *err)
{
    int count;
    json_t *list = list_of(config, key, most, &count, err);
    for (int i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        if (!read_word(value, words, word_count, &values[i])) {
            const char *text = json_string_value(value);
            config->failed = true;
            custom_call_fail(config->instruction, err, "backend_config: unknown word %s in %s",
                             text == NULL ? "(a number or something else)" : text, key);
            return 0;
        }
    }
    return count;
}

int config_numbers(struct config *config, const char *key, double *values, int most,
                   struct error *err)
{
    int count;
    json_t *list = list_of(config, key, most, &count, err);
    for (int i = 0; i < count; i++) {
        if (!read_number(json_array_get(list, (size_t)i), &values[i])) {
            fail(config, key, "list of numbers", err);
            return 0;
        }
    }
    return count;
}

/* --- typed custom calls --- */

/* The value after `name =` in `{name = value : type, …}`. */
static int64_t attribute_in(const char *text, const char *name, int64_t otherwise)
{
    size_t size = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += size) {
        bool starts = at == text || strchr("{, \n\t", at[-1]) != NULL;
        const char *after = at + size + strspn(at + size, " \t");
        if (!starts || *after != '=') {
            continue;
        }
        after += 1 + strspn(after + 1, " \t");
        if (strncmp(after, "true", 4) == 0) {
            return 1;
        }
        if (strncmp(after, "false", 5) == 0) {
            return 0;
        }
        char *end;
        int64_t value = strtoll(after, &end, 10);
        return end == after ? otherwise : value;
    }
    return otherwise;
}

int64_t ffi_attribute(const struct instruction *instruction, const char *name, int64_t otherwise)
{
    struct bytes text = text_of(instruction);
    json_t *json = text.size == 0 ? NULL : json_loadb(text.data, text.size, 0, NULL);
    if (json == NULL) {
        return attribute_in(text.data, name, otherwise);
    }
    const char *inner = json_string_value(
        json_object_get(json_object_get(json, "custom_call_backend_config"), "attributes"));
    int64_t value = inner == NULL ? otherwise : attribute_in(inner, name, otherwise);
    json_decref(json);
    return value;
}
