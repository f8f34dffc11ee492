/* Shardy's attributes outside its ops. */
#ifndef HLO_MLIR_IMPORT_SDY_H
#define HLO_MLIR_IMPORT_SDY_H

#include "hlo/mlir/import/import.h"

/* The meshes of the modules around an op become the module's frontend attribute xla.sdy.meshes. */
bool import_sdy_meshes(struct importer *importer, const struct mlir_op *module);
/* sdy.sharding of an argument or op becomes the frontend attribute xla.sdy.sharding. NULL: none. */
void import_sdy_sharding(struct instruction *instruction, const struct mlir_attr *sharding);
/* A result of the entry function with that sharding: behind a custom call that says so. */
struct instruction *import_sdy_result(struct scope *scope, const struct mlir_op *op,
                                      struct instruction *value, const struct mlir_attr *sharding);

#endif
