/* The writer's parts: each makes one kind of message in an arena. What the messages point to is
 * borrowed from the module where it can be. */
#ifndef HLO_PROTO_WRITE_H
#define HLO_PROTO_WRITE_H

#include "hlo/module.h"
#include "hlo/proto/hlo.pb-c.h"
#include "hlo/proto/message.h"

struct literal;

Referee__ShapeProto *write_shape(struct arena *arena, const struct shape *shape);
/* Of an array without its tiles and sizes, as literals have it. */
Referee__ShapeProto *write_shape_of_literal(struct arena *arena, const struct shape *shape);
/* The literal in the element order of the layout of `shape`, which is compatible with its own. */
Referee__LiteralProto *write_literal(struct arena *arena, const struct literal *literal,
                                     const struct shape *shape);

Referee__OpSharding *write_sharding(struct arena *arena, const struct sharding *sharding);
Referee__MeshProto *write_mesh(struct arena *arena, const struct mesh *mesh);
Referee__AxisRefProto **write_axes(struct arena *arena, struct axis_refs axes);
Referee__OpMetadata *write_metadata(struct arena *arena, const struct metadata *metadata);
Referee__FrontendAttributes *write_string_map(struct arena *arena, struct string_map map);
/* The three forms of replica_groups. */
void write_groups(struct arena *arena, const struct groups *groups,
                  Referee__HloInstructionProto *proto);

/* The fields of an attribute; false when it has none (XLA ignores it, too). */
bool write_attr(struct arena *arena, const struct instruction *instruction, const struct attr *attr,
                Referee__HloInstructionProto *proto);
/* What XLA writes although the text may leave it out. */
void write_implied(struct arena *arena, const struct instruction *instruction,
                   Referee__HloInstructionProto *proto);

#endif
