/* What the tests of module protos share. */
#ifndef TESTS_HLO_PROTOS_H
#define TESTS_HLO_PROTOS_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/proto/hlo.pb-c.h"
#include "tests/hlo/fixtures.h"

/* A text, and the message that XLA makes of it. */
static const struct pair {
    const char *text, *proto;
} pairs[] = {
    {"constants.hlo", "constants.pb"},
    {"control.hlo", "control.pb"},
    {"attributes.hlo", "attributes.pb"},
    {"devices.hlo", "devices.pb"},
    {"header.hlo", "header.pb"},
    /* the same modules in other messages and in the forms of older files */
    {"control.hlo", "control_hlo.pb"},
    {"control.hlo", "control_snapshot.pb"},
    {"control.hlo", "control_unknown.pb"},
    {"attributes.hlo", "attributes_payloads.pb"},
    {"devices.hlo", "devices_old.pb"},
    {"comparisons.hlo", "comparisons_old.pb"},
    /* as XLA's CUDA compiler of 2026 dumped it: orders in place of types */
    {"comparison_orders.hlo", "comparison_orders.pb"},
};
enum { PAIRS = sizeof pairs / sizeof *pairs, WRITTEN_PAIRS = 5 };

static inline void assert_equal(struct module *a, struct module *b)
{
    struct error err = {0};
    ck_assert_msg(module_equal(a, b, &err), "%s", err.message);
}

static inline Referee__HloModuleProto *unpack(const char *name)
{
    size_t size;
    char *data = fixture_read(name, &size);
    Referee__HloModuleProto *proto =
        referee__hlo_module_proto__unpack(NULL, size, (const uint8_t *)data);
    free(data);
    ck_assert_ptr_nonnull(proto);
    return proto;
}

static inline Referee__HloInstructionProto *find_instruction(const Referee__HloModuleProto *module,
                                                             const char *name)
{
    for (size_t c = 0; c < module->n_computations; c++) {
        for (size_t i = 0; i < module->computations[c]->n_instructions; i++) {
            if (strcmp(module->computations[c]->instructions[i]->name, name) == 0) {
                return module->computations[c]->instructions[i];
            }
        }
    }
    return NULL;
}

#endif
