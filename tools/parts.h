/* Modules that come from MLIR: which function, its shapes, and the probes in it. */
#ifndef TOOLS_PARTS_H
#define TOOLS_PARTS_H

#include "hlo/format.h"
#include "tools/options.h"

struct checks;
struct error;

/* The golden as load_options.evaluate. */
struct literal *evaluate_for_shapes(const struct module *module, struct error *err);

/* Makes the module of a function whose arguments have sizes of the run time, from the shapes
 * ("f32[3,6]", one an argument, in order), or else from the files given as inputs, whose values
 * then count too. Does nothing to a part that is not dynamic. False with *err when the shapes do
 * not fit; a part without any keeps its error. */
bool part_refine(struct loaded_module *part, const struct string_list *shapes,
                 const struct string_list *inputs, struct error *err);

/* Writes what the probes saw as StableHLO's interpreter does: FOLDER/<id>_<n>.npy, n from 1, and
 * FOLDER/index.csv with lines "id,type,path". */
bool probes_save(const struct checks *checks, const char *folder, struct error *err);

#endif
