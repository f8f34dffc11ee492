/* sparsity_config taken apart: an attribute keeps it as its canonical text (text/parse_window.c).
 */
#include <stdio.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/module.h"

bool attr_sparsity(const struct instruction *instruction, bool right, struct sparsity *sparsity)
{
    const struct attr *attr = attr_get(instruction, ATTR_SPARSITY_CONFIG);
    char text[512];
    if (attr == NULL || attr->bytes.size >= sizeof text) {
        return false;
    }
    memcpy(text, attr->bytes.data, attr->bytes.size);
    text[attr->bytes.size] = '\0';
    const char *side = strstr(text, right ? "rhs={" : "lhs={");
    long long values[5];
    if (side == NULL ||
        sscanf(side + strlen("rhs="), "{sparsity=%lldx%lld dimension=%lld stride=%lld idx=%lld",
               &values[0], &values[1], &values[2], &values[3], &values[4]) != 5) {
        return false;
    }
    *sparsity = (struct sparsity){values[0], values[1], values[2], values[3], values[4]};
    return true;
}
