/* The normal form that the reader of HLO text gives instructions, so that a module that comes from
 * MLIR is equal to its own text read back. */
#include "hlo/text/parse.h"

void import_tidy(struct module *module);

void import_tidy(struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            parse_tidy(module->computations[c]->instructions[i]);
        }
    }
}
