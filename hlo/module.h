/* Modules, computations, instructions: the IR.
 *
 * Everything of a module lives in its arena and is freed with it (literals are reference counted
 * and released with it). Analyses are side arrays indexed by instruction.id, never stored here.
 * Sources: xla/hlo/ir/hlo_module.h, hlo_computation.h, hlo_instruction.h. */
#ifndef HLO_MODULE_H
#define HLO_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hlo/attr.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

struct computation;
struct module;

struct instruction {
    const char *name; /* without '%'; unique in its computation */
    enum opcode opcode;
    int id; /* position in computation->instructions */
    const struct shape *shape;
    struct computation *parent;
    int operand_count, called_count, control_count, attr_count;
    struct instruction **operands;
    /* call, fusion, map, reduce…: [to_apply]; while: [body, condition]; conditional: the branches
     * (true first); select-and-scatter: [select, scatter]. */
    struct computation **called;
    struct instruction **control_predecessors;
    struct attr *attrs;      /* sorted by key */
    struct literal *literal; /* constant; the fill when `elided` */
    int64_t number;          /* parameter number */
    bool elided;             /* a constant written {...} */
    int line, column;        /* where it was read; 0 = unknown */
};

struct computation {
    const char *name;
    struct module *module;
    int id; /* position in module->computations */
    int count;
    struct instruction **instructions; /* operands before users; the schedule if scheduled */
    struct instruction *root;
    int parameter_count;
    struct instruction **parameters; /* by number */
    const char *execution_thread;    /* "" = main */
    bool is_fusion;                  /* body of a fusion */
    int line, column;
};

enum alias_kind { ALIAS_UNDEFINED, ALIAS_MAY, ALIAS_MUST };
struct input_output_alias {
    struct ints output_index;
    int64_t parameter;
    struct ints parameter_index;
    enum alias_kind kind;
};
struct buffer_donor {
    int64_t parameter;
    struct ints parameter_index;
};
struct cross_program_prefetch {
    int64_t parameter;
    struct ints index;
    int64_t offset;
};

/* Stack-frame tables; all ids count from 1, 0 = none (xla/service/hlo.proto). */
struct file_location {
    int64_t file_name_id, function_name_id, line, column, end_line, end_column;
};
struct stack_frame {
    int64_t file_location_id, parent_frame_id;
};
struct frame_tables {
    int file_name_count, function_name_count, location_count, frame_count;
    const char *const *file_names, *const *function_names;
    const struct file_location *locations;
    const struct stack_frame *frames;
};

/* What stands in the module header. */
struct module_config {
    bool is_scheduled;
    bool alias_passthrough_params;
    bool has_entry_layout;
    int parameter_count; /* entry_computation_layout */
    const struct shape *const *parameter_shapes;
    const struct shape *result_shape;
    int alias_count, donor_count, prefetch_count;
    const struct input_output_alias *aliases;
    const struct buffer_donor *donors;
    const struct cross_program_prefetch *prefetches;
    struct ints propagate_to_parameters, propagate_to_output; /* allow_spmd_…; empty = absent */
    int64_t replica_count, partition_count;                   /* 1 by default */
    bool use_spmd_partitioning, use_auto_spmd_partitioning;
    struct string_map frontend_attributes;
    struct bytes origin_recovery_table, debug_attributes; /* kept as text */
    const struct sharding *spmd_output_sharding;
    int spmd_parameter_count;
    const struct sharding *const *spmd_parameters_shardings;
    struct bytes device_type;
};

struct module {
    struct arena arena;
    const char *name;
    const char *source; /* file it was read from, for messages; may be NULL */
    int count;
    struct computation **computations; /* callees before callers */
    struct computation *entry;
    struct module_config config;
    struct frame_tables frames;
    int elided_count; /* constants that were written {...} and filled */
    /* The same program in MLIR (text or bytecode) with its entry named main, as a PJRT plugin takes
     * it; empty when the module did not come from MLIR. */
    struct bytes mlir;
};

/* --- life --- */

struct module *module_create(const char *name);
void module_destroy(struct module *module); /* NULL is allowed */

/* --- building; names are copied; ids are assigned by module_finish --- */

struct computation *computation_add(struct module *module, const char *name);
/* Appends to the computation. operands may be NULL when count is 0. */
struct instruction *instruction_add(struct computation *computation, const char *name,
                                    enum opcode opcode, const struct shape *shape,
                                    int operand_count, struct instruction *const *operands);
/* Adds or replaces; keeps the list sorted. The value must live in the module's arena. */
void instruction_set_attr(struct instruction *instruction, struct attr attr);
void instruction_set_called(struct instruction *instruction, int count,
                            struct computation *const *called);
/* After building or rewriting: removes nothing, but orders computations (callees first) and
 * instructions (operands first unless scheduled: then an error), numbers ids, collects
 * parameters, sets the default root (last) and entry layout. False on cycles, missing or repeated
 * parameters. */
bool module_finish(struct module *module, struct error *err);

/* --- asking --- */

struct computation *module_find_computation(const struct module *module, const char *name);
struct instruction *computation_find(const struct computation *computation, const char *name);
int module_instruction_count(const struct module *module);
/* The shape of an entry parameter or result as the entry layout has it. */
const struct shape *module_parameter_shape(const struct module *module, int number);
const struct shape *module_result_shape(const struct module *module);
struct where instruction_where(const struct instruction *instruction);
/* Same names, order, shapes, attributes, literals, tables; on false *err says what differs. */
bool module_equal(const struct module *a, const struct module *b, struct error *err);
/* Hash of the meaning: opcodes, shapes, attributes but metadata, literals, structure. */
uint64_t module_hash(const struct module *module);
/* users[i]: the instructions of the computation that use instruction i, as one array. */
struct users {
    int *first; /* [count + 1] into list */
    struct instruction **list;
};
void users_build(const struct computation *computation, struct users *users);
void users_finish(struct users *users);

#endif
