/* The printer of HLO text: what its parts share.
 * Sources: xla/hlo/ir/hlo_instruction.cc, hlo_instructions.cc, hlo_computation.cc, hlo_module.cc.
 */
#ifndef HLO_TEXT_PRINT_H
#define HLO_TEXT_PRINT_H

#include "hlo/attr.h"
#include "hlo/base/text.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"

/* The name, with '%' if asked for or if the bare word would be read as a keyword. */
void print_name(const char *name, const struct print_options *options, struct text *out);
/* 1,2,3 */
void print_int_items(const int64_t *values, int count, struct text *out);
/* {1,2,3}: a list or a shape index */
void print_ints(struct ints ints, struct text *out);
/* "…" with C escapes */
void print_string(const char *data, size_t size, struct text *out);
/* The bytes as they are if they are one balanced {…}, else as a string. */
void print_string_or_json(struct bytes bytes, struct text *out);

/* The value after "name=". */
void print_attr_value(const struct attr *attr, const struct print_options *options,
                      struct text *out);
void print_string_map(struct string_map map, struct text *out);
/* The fields between the braces. */
void print_metadata_fields(const struct metadata *metadata, struct text *out);
void print_sharding(const struct sharding *sharding, bool with_metadata, struct text *out);
void print_groups(const struct groups *groups, struct text *out);

#endif
