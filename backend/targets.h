/* The accelerators that a compiler can be asked to compile for without one being there
 * (targets.def). */
#ifndef BACKEND_TARGETS_H
#define BACKEND_TARGETS_H

#include "backend/backend.h"

/* The description of a GPU that XLA's CUDA backend takes, a GpuTargetConfigProto as text: of a row
 * by its name, or what the file says when the name is a path (it has a '/' or ends in ".txtpb").
 * free() it. err: INVALID_ARGUMENT with the known names.
 * Source of the form: xla/stream_executor/device_description.proto. */
char *target_gpu_description(const char *name, struct error *err);
/* Is it a topology of a generation that libtpu knows? err as above. */
bool target_tpu_check(const char *name, struct error *err);

#endif
