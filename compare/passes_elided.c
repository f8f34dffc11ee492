/* Constants that a text dump leaves out ("{...}"). The reader fills them in by their order in the
 * module, which passes change: here all that have one shape get one value, in every module of the
 * walk. So they stand for the same numbers wherever they go, as long as they keep their shape. */
#include <stddef.h>

#include "compare/passes_internal.h"
#include "hlo/base/error.h"
#include "hlo/literal.h"
#include "hlo/module.h"

/* Another elided constant of its shape, NULL if there is none. */
static const struct instruction *find_shape(const struct module *module, const struct shape *shape)
{
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *instruction = computation->instructions[i];
            if (instruction->elided && shape_compatible(instruction->shape, shape)) {
                return instruction;
            }
        }
    }
    return NULL;
}

static bool fill(struct instruction *constant, struct error *err)
{
    struct literal *value = literal_fill(constant->shape, constant->shape->type, err);
    if (value == NULL) {
        return false;
    }
    literal_release(constant->literal);
    constant->literal = value;
    return true;
}

bool pass_fill_elided(struct module *module, const struct module *first, struct error *err)
{
    for (int c = 0; c < module->count && module->elided_count > 0; c++) {
        const struct computation *computation = module->computations[c];
        for (int i = 0; i < computation->count; i++) {
            struct instruction *constant = computation->instructions[i];
            if (!constant->elided) {
                continue;
            }
            if (module != first && find_shape(first, constant->shape) == NULL) {
                return error_set(err, ERROR_UNIMPLEMENTED,
                                 "the dump leaves out the value of %s, %s, which the first module "
                                 "has not: dump protos, or with --xla_dump_large_constants",
                                 constant->name, shape_text(constant->shape));
            }
            if (!fill(constant, err)) {
                return false;
            }
        }
    }
    return true;
}
