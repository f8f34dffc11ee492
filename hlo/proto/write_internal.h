/* What write_attributes.c and write_values.c share. */
#ifndef HLO_PROTO_WRITE_INTERNAL_H
#define HLO_PROTO_WRITE_INTERNAL_H

#include "hlo/proto/write.h"

Referee__Window *write_window(struct arena *arena, struct window window);
Referee__PaddingConfig *write_padding(struct arena *arena, struct padding padding);
Referee__ConvolutionDimensionNumbers *write_dim_labels(struct arena *arena,
                                                       const struct dim_labels *labels);
void write_slices(struct arena *arena, struct slices slices, Referee__HloInstructionProto *proto);
void write_pairs(struct arena *arena, struct ints pairs, Referee__HloInstructionProto *proto);
void write_slice_sizes(struct arena *arena, enum opcode opcode, struct lists lists,
                       Referee__HloInstructionProto *proto);
void write_aliasing(struct arena *arena, struct aliasing aliasing,
                    Referee__HloInstructionProto *proto);
Referee__SparsityConfig *write_sparsity(struct arena *arena, struct bytes text);
Referee__ResultAccuracy *write_accuracy(struct arena *arena,
                                        const struct result_accuracy *accuracy);
Referee__OriginalValueProto *write_origin(struct arena *arena, const struct origin *origin);
Referee__StatisticsViz *write_statistics(struct arena *arena, const struct statistics *statistics);
void write_layout_constraints(struct arena *arena, struct shapes shapes,
                              Referee__HloInstructionProto *proto);

#endif
