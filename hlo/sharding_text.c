/* One sharding from its text (sharding.h): the reader of modules reads it. */
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/sharding.h"
#include "hlo/text/text_format.h"

static const char before[] = "HloModule s\nENTRY e { ROOT p = () parameter(0), sharding=";

struct module *sharding_read(const char *text, const struct sharding **sharding, struct error *err)
{
    struct text whole;
    struct error inner = {0};
    text_init(&whole);
    text_printf(&whole, "%s%s }\n", before, text);
    struct module *module = text_read_module(whole.data, whole.size, "sharding", 1, &inner);
    text_finish(&whole);
    const char *line = strchr(before, '\n') + 1;
    if (module == NULL) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s at character %d of %s", inner.message,
                  inner.line == 2 ? inner.column - (int)strlen(line) : 1, text);
        return NULL;
    }
    *sharding = attr_sharding(module->entry->root);
    if (*sharding == NULL || module->entry->count != 1 || module->count != 1) {
        error_set(err, ERROR_INVALID_ARGUMENT, "%s is no sharding", text);
        module_destroy(module);
        return NULL;
    }
    return module;
}
