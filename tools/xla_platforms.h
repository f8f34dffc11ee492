/* XLA's names of platforms, and what they are here. */
#ifndef TOOLS_XLA_PLATFORMS_H
#define TOOLS_XLA_PLATFORMS_H

/* The URI of a backend: of "cpu" or "Host", whatever the case of the letters; a URI (pjrt:PATH) is
 * taken as it is. NULL when there is no such platform. */
const char *platform_uri(const char *platform);

#endif
