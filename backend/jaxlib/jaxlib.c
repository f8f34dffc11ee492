/* jaxlib: a release of jaxlib as a backend. Its XLA is no PJRT plugin but a module of Python, so
 * the worker is a Python that runs worker.py, which is part of this program; all else is as for
 * plugins (pjrt.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/pjrt/setup.h"
#include "backend/plugins.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/types.h"

/* worker.py, made by embed.py. */
extern const char jaxlib_worker[];

/* The wheels of releases.def are for this one. */
#define PYTHON "python3.11"

/* What the environment asks for, the distribution's, or one of the path; NULL when there is none.
 * free() it. */
static char *find_python(void)
{
    const char *asked = getenv("REFEREE_PYTHON"), *path = getenv("PATH");
    struct text candidate;
    text_init(&candidate);
    if (asked != NULL && *asked != '\0') {
        text_append(&candidate, asked);
        path = NULL;
    } else {
        text_append(&candidate, "/usr/bin/" PYTHON);
    }
    bool found = access(candidate.data, X_OK) == 0;
    while (!found && path != NULL && *path != '\0') {
        size_t size = strcspn(path, ":");
        text_clear(&candidate);
        text_printf(&candidate, "%.*s/" PYTHON, (int)size, path);
        found = access(candidate.data, X_OK) == 0;
        path += size + (path[size] == ':');
    }
    char *python = found ? text_take(&candidate) : NULL;
    text_finish(&candidate);
    return python;
}

/* All words of a table, as the worker numbers them. */
static void add_words(const char *name, const char *word_of(int), int count,
                      struct pjrt_setup *setup)
{
    struct text words;
    text_init(&words);
    for (int i = 0; i < count; i++) {
        text_printf(&words, "%s%s", i > 0 ? " " : "", word_of(i));
    }
    pjrt_setup_add_option(setup, name, words.data);
    text_finish(&words);
}

static const char *type_word(int type)
{
    return type_text((enum type)type);
}

static const char *outcome_word(int outcome)
{
    return outcome_text((enum outcome)outcome);
}

static bool check_parameters(const struct backend *backend, struct error *err)
{
    for (int i = 0; i < backend->parameter_count; i++) {
        const char *name = backend->parameters[i].name;
        if (strcmp(name, "platform") != 0 && strcmp(name, "devices") != 0) {
            return error_set(err, ERROR_INVALID_ARGUMENT,
                             "jaxlib: knows no '%s'; it takes platform=cpu|interpreter, devices=N "
                             "and XLA flags",
                             name);
        }
    }
    return true;
}

/* Messages that say that all is well would be taken for the last words before a crash. */
static const char *const quiet_environment[] = {"TF_CPP_MIN_LOG_LEVEL=1"};

bool pjrt_setup_jaxlib(struct backend *backend, struct pjrt_setup *setup, struct error *err)
{
    const struct plugin_row *row = plugin_find_release("jaxlib", backend->path);
    if (!check_parameters(backend, err)) {
        return false;
    }
    if (row == NULL) {
        return error_set(err, ERROR_INVALID_ARGUMENT,
                         "jaxlib: knows no release '%s'; `referee fetch --list` lists them",
                         backend->path);
    }
    char *file = plugin_library(row);
    if (file == NULL) {
        return error_set(err, ERROR_NOT_FOUND,
                         "jaxlib %s is not there; fetch it with: referee fetch %s", row->version,
                         row->name);
    }
    free(file);
    char *python = find_python();
    if (python == NULL) {
        return error_set(err, ERROR_NOT_FOUND,
                         "jaxlib: needs " PYTHON ", which is not there; REFEREE_PYTHON names "
                         "another place for it");
    }
    setup->plugin = plugin_folder(row);
    setup->interpreter = python;
    const char *const words[] = {python, "-I", "-S", "-B", "-c", jaxlib_worker};
    memcpy(setup->program, words, sizeof words);
    setup->any_age = true;
    for (int i = 0; i < backend->parameter_count; i++) {
        pjrt_setup_add_option(setup, backend->parameters[i].name, backend->parameters[i].value);
    }
    add_words("types", type_word, TYPE_COUNT, setup);
    add_words("outcomes", outcome_word, OUTCOME_COUNT, setup);
    if (backend_parameter(backend, "devices") == NULL) {
        setup->grows = "devices";
        setup->grows_prefix = "";
        setup->grows_from = 4;
    }
    setup->environment = quiet_environment;
    setup->environment_count = 1;
    return true;
}
