/* Literal protos by their content. */
#ifndef HLO_PROTO_LITERALS_H
#define HLO_PROTO_LITERALS_H

#include <stdbool.h>
#include <stddef.h>

/* Strict walks, like proto_looks_like: a LiteralProto; RunHloModuleLiterals or one iteration. */
bool literal_proto_looks_like(const void *data, size_t size);
bool literals_proto_looks_like(const void *data, size_t size);

#endif
