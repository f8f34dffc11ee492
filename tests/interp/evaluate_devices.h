/* Help for tests: modules on simulated devices. Everything here fails the test that calls it. */
#ifndef TESTS_INTERP_EVALUATE_DEVICES_H
#define TESTS_INTERP_EVALUATE_DEVICES_H

#include <stdio.h>

#include "tests/interp/evaluate_text.h"

enum { DEVICES_MOST = 64 };

/* arguments[device]: one text for a module of one parameter, NULL for one of none. */
UNUSED static bool run_devices(const struct module *module, int replicas, int partitions,
                               const char *const *arguments, struct literal **results,
                               const struct interp_options *extra, struct error *err)
{
    int count = replicas * partitions;
    struct interp_options options = extra != NULL ? *extra : (struct interp_options){0};
    options.replica_count = replicas;
    options.partition_count = partitions;
    int parameters = module->entry->parameter_count;
    struct literal *argument[DEVICES_MOST], *const *lists[DEVICES_MOST];
    for (int d = 0; d < count; d++) {
        argument[d] = parameters > 0 ? read_literal(arguments[d]) : NULL;
        lists[d] = &argument[d];
    }
    bool ok = interp_evaluate_devices(module, count, lists, parameters, results, &options, err);
    for (int d = 0; d < count; d++) {
        literal_release(argument[d]);
    }
    return ok;
}

/* arguments[device] (NULL: the module has no parameter) and wants[device]. */
UNUSED static void check_devices(const char *text, int replicas, int partitions,
                                 const char *const *arguments, const char *const *wants)
{
    struct module *module = read_module(text);
    struct error err = {0};
    struct literal *results[DEVICES_MOST];
    size_t before = literal_memory_in_use();
    bool ok = run_devices(module, replicas, partitions, arguments, results, NULL, &err);
    ck_assert_msg(ok, "%s\n%s", text, err.message);
    for (int d = 0; d < replicas * partitions; d++) {
        char where[32];
        snprintf(where, sizeof where, "device %d", d);
        check_literal(results[d], wants[d], where);
        literal_release(results[d]);
    }
    ck_assert_msg(literal_memory_in_use() == before, "literals leak:\n%s", text);
    module_destroy(module);
}

UNUSED static void check_devices_fail(const char *text, int replicas, int partitions,
                                      const char *const *arguments, enum error_code code,
                                      const char *const *parts, int part_count)
{
    struct module *module = read_module(text);
    struct error err = {0};
    struct literal *results[DEVICES_MOST];
    size_t before = literal_memory_in_use();
    ck_assert(!run_devices(module, replicas, partitions, arguments, results, NULL, &err));
    ck_assert_msg(err.code == code, "%s: %s", error_code_text(err.code), err.message);
    for (int i = 0; i < part_count; i++) {
        ck_assert_msg(strstr(err.message, parts[i]) != NULL, "no \"%s\" in: %s", parts[i],
                      err.message);
    }
    ck_assert_msg(literal_memory_in_use() == before, "literals leak:\n%s", text);
    module_destroy(module);
}

#endif
