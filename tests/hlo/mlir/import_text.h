/* Help for tests: MLIR text translated to HLO. */
#ifndef TESTS_HLO_MLIR_IMPORT_TEXT_H
#define TESTS_HLO_MLIR_IMPORT_TEXT_H

#include <check.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/mlir/mlir_format.h"
#include "hlo/verify.h"

/* NULL and *err if it is refused; the text must be good MLIR. */
static inline struct module *import_text(const char *text,
                                         const struct mlir_import_options *options,
                                         struct error *err)
{
    struct mlir_file *file = mlir_parse(text, strlen(text), "test", 1, err);
    if (file == NULL) {
        ck_abort_msg("line %d: %s", err->line, err->message);
    }
    struct module *module = mlir_import(file, options, err);
    mlir_file_destroy(file);
    return module;
}

/* A module without findings; fails the test if there is none. */
static inline struct module *import_good(const char *text,
                                         const struct mlir_import_options *options)
{
    struct error err = {0};
    struct module *module = import_text(text, options, &err);
    if (module == NULL) {
        ck_abort_msg("line %d: %s", err.line, err.message);
    }
    struct findings findings;
    if (!verify_module(module, &findings)) {
        ck_abort_msg("%s", findings.list[0].text);
    }
    findings_finish(&findings);
    return module;
}

#endif
