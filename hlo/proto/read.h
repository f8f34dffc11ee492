/* The reader's parts: each turns one kind of message into its part of a module. What they make
 * lives in the given arena (literals are counted); the messages may go afterwards. Every reader
 * returns NULL or false with *err set on a message that XLA would refuse. */
#ifndef HLO_PROTO_READ_H
#define HLO_PROTO_READ_H

#include "hlo/base/error.h"
#include "hlo/base/map.h"
#include "hlo/module.h"
#include "hlo/proto/hlo.pb-c.h"
#include "hlo/proto/message.h"

struct literal;

const struct shape *read_shape(const Referee__ShapeProto *proto, struct error *err);

/* A literal of its own shape without tiles, or of `shape` (compatible, layouts aside) if that is
 * not NULL. */
struct literal *read_literal(const Referee__LiteralProto *proto, const struct shape *shape,
                             struct error *err);

struct sharding *read_sharding(struct arena *arena, const Referee__OpSharding *proto,
                               struct error *err);
struct groups *read_groups(struct arena *arena, const Referee__HloInstructionProto *proto,
                           struct error *err);
/* payloads: those of the module, which metadata may refer to. */
struct metadata *read_metadata(struct arena *arena, const Referee__OpMetadata *proto,
                               const Referee__HloModuleProto *module, struct error *err);
struct string_map read_string_map(struct arena *arena, const Referee__FrontendAttributes *proto);
/* Fills attr->origin. */
bool read_origin(struct arena *arena, const Referee__OriginalValueProto *proto, struct attr *attr,
                 struct error *err);
/* The bytes of a payload; by number, those of the module. */
bool read_payload(const Referee__Payload *payload, const Referee__HloModuleProto *module,
                  ProtobufCBinaryData *bytes, struct error *err);

/* Reading of one module. */
struct reader {
    struct module *module;
    struct arena *arena; /* of the module */
    const Referee__HloModuleProto *proto;
    const char *name; /* of the file, for messages */
    struct text *warnings;
    struct map computations;                         /* by id */
    struct map instructions;                         /* by computation and id, see reader_find */
    struct map computation_names, instruction_names; /* as in the proto */
    struct map own_names; /* of instructions in the module; the last computation with the name */
};

/* The attributes of an instruction whose operands and called computations are there already. */
bool read_attributes(struct reader *reader, const Referee__HloInstructionProto *proto,
                     struct instruction *instruction, struct error *err);
/* Appends the instruction to the computation; operands must have been read before it. */
bool read_instruction(struct reader *reader, const Referee__HloInstructionProto *proto,
                      struct computation *computation, struct error *err);
/* The instruction of the computation with this id (its low 32 bits count), or NULL. */
struct instruction *reader_find(const struct reader *reader, const struct computation *computation,
                                int64_t id);
/* A name that HLO text can have, made like XLA makes it; in the module's arena. */
const char *reader_name(struct reader *reader, const char *name);

/* The module in a message of its own. */
struct module *read_module(const Referee__HloModuleProto *proto,
                           const Referee__HloModuleConfigProto *config, const char *name,
                           struct text *warnings, struct error *err);

#endif
