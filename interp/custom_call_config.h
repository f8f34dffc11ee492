/* Backend configurations: JSON of XLA's protos, or the attributes of a typed custom call.
 *
 * In JSON an enumeration is a word or a number, a 64-bit integer may be written as a string, and so
 * are NaN and the infinities (the protobuf JSON mapping). What a configuration does not say has the
 * default of its proto. A value of the wrong kind is an error, never a default.
 * Attributes (API_VERSION_TYPED_FFI) are `{name = value : type, …}`. */
#ifndef INTERP_CUSTOM_CALL_CONFIG_H
#define INTERP_CUSTOM_CALL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct instruction;

struct config {
    void *root;    /* the whole, owned; NULL when there is none */
    void *section; /* an object of it, NULL: absent */
    const struct instruction *instruction;
    bool failed;
};

/* Reads the JSON. An absent or empty configuration is one that says nothing. False when it is not
 * an object of JSON. Finish it also then. */
bool config_read(struct config *config, const struct instruction *instruction, struct error *err);
void config_finish(struct config *config);
/* Goes into an object; a missing one says nothing. */
void config_enter(struct config *config, const char *key, struct error *err);
/* Whether the section has the key. */
bool config_has(const struct config *config, const char *key);

/* Each sets config->failed and *err when the value is of another kind. */
double config_number(struct config *config, const char *key, double otherwise, struct error *err);
int64_t config_integer(struct config *config, const char *key, int64_t otherwise,
                       struct error *err);
bool config_bool(struct config *config, const char *key, bool otherwise, struct error *err);
/* Borrowed. */
const char *config_string(struct config *config, const char *key, const char *otherwise,
                          struct error *err);
/* The value of an enumeration, whose words are words[0 .. count). */
int config_word(struct config *config, const char *key, const char *const *words, int count,
                int otherwise, struct error *err);
/* A list of integers; the number of them, at most `most`. */
int config_integers(struct config *config, const char *key, int64_t *values, int most,
                    struct error *err);
/* A list of words of an enumeration, or of numbers. */
int config_words(struct config *config, const char *key, const char *const *words, int count,
                 int *values, int most, struct error *err);
int config_numbers(struct config *config, const char *key, double *values, int most,
                   struct error *err);

/* An integer, pred or character attribute of a typed custom call; `otherwise` when it is absent.
 * Also of a configuration that holds them as JSON (custom_call_backend_config.attributes). */
int64_t ffi_attribute(const struct instruction *instruction, const char *name, int64_t otherwise);

#endif
