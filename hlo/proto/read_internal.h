/* What read_attributes.c and read_values.c share. */
#ifndef HLO_PROTO_READ_INTERNAL_H
#define HLO_PROTO_READ_INTERNAL_H

#include "hlo/proto/read.h"

/* An attribute while it is read. */
struct reading {
    struct reader *reader;
    struct arena *arena;
    const Referee__HloInstructionProto *proto;
    const struct instruction *instruction;
    struct attr *attr;
    bool absent; /* the fields say nothing about it */
    struct error *err;
};

/* Each fills reading->attr and says whether it is absent; false on an error. */
void read_window(struct reading *reading);
void read_padding(struct reading *reading);
void read_slices(struct reading *reading);
bool read_dim_labels(struct reading *reading);
void read_pairs(struct reading *reading);
bool read_slice_sizes(struct reading *reading);
void read_sparsity(struct reading *reading);
bool read_shapes(struct reading *reading);
void read_aliasing(struct reading *reading);
bool read_domain(struct reading *reading);
bool read_accuracy(struct reading *reading);
void read_statistics(struct reading *reading);

#endif
