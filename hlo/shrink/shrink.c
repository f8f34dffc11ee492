/* The table of simplifications, and candidates made by them. */
#include "hlo/shrink/shrink.h"

#include "hlo/base/error.h"
#include "hlo/shrink/shrink_internal.h"

const struct simplification simplifications[] = {
#define SIMPLIFICATION(name, together, same_size, summary) \
    {#name, summary, together, same_size, find_##name, apply_##name},
#include "hlo/shrink/simplifications.def"
};
const int simplification_count = sizeof simplifications / sizeof *simplifications;

bool shrink_candidate(const struct simplification *simplification, const struct specimen *original,
                      const struct shrink_place *places, int count, shrink_value *value,
                      void *context, struct specimen *candidate, struct error *err)
{
    bool changed = false;
    specimen_borrow(original, candidate);
    for (int i = 0; i < count; i++) {
        changed |= simplification->apply(original, candidate, places[i], value, context);
    }
    if (changed && specimen_settle(candidate, err)) {
        return true;
    }
    specimen_finish(candidate);
    return false;
}
