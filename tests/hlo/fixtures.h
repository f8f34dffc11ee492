/* The files in tests/hlo/fixtures, most of them made by XLA and NumPy (fixtures/make.py). */
#ifndef TESTS_HLO_FIXTURES_H
#define TESTS_HLO_FIXTURES_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "hlo/module.h"

static inline const char *fixture_path(const char *name)
{
    static char path[4096];
    const char *source = getenv("REFEREE_SOURCE");
    snprintf(path, sizeof path, "%s/tests/hlo/fixtures/%s", source != NULL ? source : ".", name);
    return path;
}

/* free() it. */
static inline char *fixture_read(const char *name, size_t *size)
{
    struct error err = {0};
    char *data = file_read(fixture_path(name), size, &err);
    if (data == NULL) {
        ck_abort_msg("%s", err.message);
    }
    return data;
}

/* Loads a fixture with one module that must be good. */
static inline void fixture_load(const char *name, struct loaded_file *file)
{
    struct error err = {0};
    if (!module_load(fixture_path(name), file, &err)) {
        ck_abort_msg("%s: %s", name, err.message);
    }
    ck_assert_int_eq(file->count, 1);
    if (file->modules[0].module == NULL) {
        ck_abort_msg("%s: %s", name, file->modules[0].error->message);
    }
}

#endif
