/* XLA's names of platforms (xla_platforms.h). */
#include "tools/xla_platforms.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *platform, *uri;
} platforms[] = {
    {"interpreter", "interp:"}, {"default", "interp:"}, {"host", "cpu:"}, {"cpu", "cpu:"},
    {"cuda", "cuda:"},          {"gpu", "cuda:"},       {"tpu", "tpu:"},
};

const char *platform_uri(const char *platform)
{
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        if (strcasecmp(platforms[i].platform, platform) == 0) {
            return platforms[i].uri;
        }
    }
    return strchr(platform, ':') != NULL ? platform : NULL;
}
