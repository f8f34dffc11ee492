/* The container of bytecode: its sections and versions. */
#ifndef HLO_MLIR_BYTECODE_CONTAINER_H
#define HLO_MLIR_BYTECODE_CONTAINER_H

#include "hlo/mlir/bytecode/bytecode.h"

enum { MAGIC_SIZE = 4 };

enum section {
    SECTION_STRINGS,
    SECTION_DIALECTS,
    SECTION_ENTRIES,
    SECTION_ENTRY_SIZES,
    SECTION_IR,
    SECTION_RESOURCES,
    SECTION_RESOURCE_SIZES,
    SECTION_DIALECT_VERSION,
    SECTION_PROPERTIES,
    SECTION_COUNT
};

/* What came with which version. */
enum {
    VERSION_DIALECTS = 1,        /* dialects have versions */
    VERSION_LAZY = 2,            /* isolated regions are sections */
    VERSION_USE_ORDERS = 3,      /* the order of uses */
    VERSION_BLOCK_LOCATIONS = 4, /* arguments of blocks need no location; op names are counted */
    VERSION_PROPERTIES = 5,      /* properties apart from other attributes */
    VERSION_SEGMENTS = 6,        /* segment sizes behind the other properties */
    VERSION_NEWEST = 6,
};

/* Passes over padding to the next offset that is a multiple, a power of two. */
bool cursor_align(struct cursor *cursor, uint64_t alignment);
/* The next section: its id, and a cursor over its content. */
bool cursor_section(struct cursor *cursor, enum section *id, struct cursor *section);

/* Reads all tables; *ir is the content of the section of ops. */
bool bytecode_read_tables(struct bytecode *bytecode, struct cursor *ir);
/* Reads the ops: bytecode->file->module. */
bool bytecode_read_ops(struct bytecode *bytecode, struct cursor *ir);
/* Adds the op's properties, number `index` of the table, to `dictionary`, which has room for
 * them. */
bool bytecode_read_properties(struct cursor *cursor, const struct bytecode_op_name *name,
                              uint64_t index, struct mlir_dictionary *dictionary);
/* How many entries the properties of an op may be. */
int bytecode_properties_most(const struct bytecode_op_name *name);

#endif
