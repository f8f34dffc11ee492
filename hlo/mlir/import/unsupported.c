/* Ops that are read but not translated (yet, or not by themselves): each is refused by name.
 * A token leaves this list when a function translate_<token> is written. */
#include "hlo/mlir/import/import.h"

#define REFUSED(token)                                                    \
    bool translate_##token(struct scope *scope, const struct mlir_op *op) \
    {                                                                     \
        return import_refuse(scope, op, "is not translated to HLO");      \
    }

REFUSED(unsupported)

#undef REFUSED
