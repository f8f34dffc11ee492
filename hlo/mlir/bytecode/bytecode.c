/* MLIR bytecode: what reads a file. */
#include "hlo/mlir/bytecode/container.h"

#include <stdio.h>
#include <string.h>

bool mlir_is_bytecode(const void *data, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(data, "ML\xefR", MAGIC_SIZE) == 0;
}

struct mlir_file *mlir_read_bytecode(const void *data, size_t size, const char *name,
                                     struct error *err)
{
    struct error local = {0};
    struct bytecode bytecode = {.file = mlir_file_create(name),
                                .err = err != NULL ? err : &local,
                                .data = data,
                                .size = size};
    struct cursor ir;
    bool ok = mlir_is_bytecode(data, size)
                  ? bytecode_read_tables(&bytecode, &ir) && bytecode_read_ops(&bytecode, &ir)
                  : error_set(bytecode.err, ERROR_INVALID_ARGUMENT, "this is no MLIR bytecode");
    for (size_t i = 0; i < bytecode.dialect_count && ok; i++) {
        if (bytecode.dialects[i].reader == &vhlo_dialect) {
            ok = vhlo_upgrade(&bytecode, &bytecode.dialects[i]);
        }
    }
    if (!ok) {
        if (name != NULL && bytecode.err->file[0] == '\0') {
            snprintf(bytecode.err->file, sizeof bytecode.err->file, "%s", name);
        }
        mlir_file_destroy(bytecode.file);
        return NULL;
    }
    return bytecode.file;
}
