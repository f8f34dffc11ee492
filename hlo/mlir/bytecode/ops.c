/* The section of ops: blocks, values, regions.
 * Source: mlir/docs/BytecodeFormat.md, "IR Section"; mlir/lib/Bytecode/Reader (how values are
 * numbered). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/mlir/bytecode/container.h"

enum {
    HAS_ATTRS = 1,
    HAS_RESULTS = 2,
    HAS_OPERANDS = 4,
    HAS_SUCCESSORS = 8,
    HAS_REGIONS = 16,
    HAS_USE_ORDERS = 32,
    HAS_PROPERTIES = 64,
    REGIONS_DEEPEST = 200, /* regions in regions */
};

/* An operand that is a value yet to come. */
struct waiting {
    struct mlir_op *op;
    int operand;
    struct waiting *next;
};
struct slot {
    struct mlir_value *value;
    struct waiting *waiting;
};

/* Values are numbered from the start of the isolated region around them: those of each region
 * follow those of the regions that it stands in. */
struct values {
    struct slot *slots;
    size_t count, capacity;
};

/* Of the whole file. */
struct ops_state {
    struct mlir_op **ops; /* a stack: the ops of the blocks that are being read */
    size_t count, capacity;
    /* As many as were announced. Each takes a byte at least, so no file has more than bytes. */
    size_t values, regions;
};

/* The region that is being read. */
struct ops_reader {
    struct bytecode *bytecode;
    struct ops_state *state;
    struct mlir_region *region; /* NULL at the top */
    struct values *values;      /* of the isolated region around it */
    size_t next, end;           /* numbers of its next value, and one past its last */
    int depth;
};

/* --- values --- */

/* Makes room for the values that a region defines. */
static bool values_push(struct cursor *cursor, struct ops_reader *reader, uint64_t count)
{
    struct values *values = reader->values;
    if (count > reader->bytecode->size - reader->state->values) {
        return cursor_fail(cursor, "%" PRIu64 " values, more than the file has bytes", count);
    }
    reader->state->values += count;
    size_t needed = values->count + count;
    if (needed > values->capacity) {
        values->capacity = needed + needed / 2;
        values->slots = memory_realloc(values->slots, values->capacity * sizeof *values->slots);
    }
    if (count > 0) {
        memset(values->slots + values->count, 0, count * sizeof *values->slots);
    }
    values->count = needed;
    return true;
}

static bool values_pop(struct cursor *cursor, struct values *values, size_t count)
{
    for (size_t i = count; i < values->count; i++) {
        if (values->slots[i].value == NULL) {
            return cursor_fail(cursor, "value %zu is %s", i,
                               values->slots[i].waiting != NULL ? "used, but not defined"
                                                                : "announced, but not defined");
        }
    }
    values->count = count;
    return true;
}

static bool define_values(struct cursor *cursor, struct ops_reader *reader,
                          struct mlir_value *values, int count)
{
    if ((size_t)count > reader->end - reader->next) {
        return cursor_fail(cursor, "more values than the region was to have");
    }
    for (int i = 0; i < count; i++) {
        struct slot *slot = &reader->values->slots[reader->next++];
        slot->value = &values[i];
        for (struct waiting *w = slot->waiting; w != NULL; w = w->next) {
            w->op->operands[w->operand] = &values[i];
        }
        slot->waiting = NULL;
    }
    return true;
}

static bool read_operand(struct cursor *cursor, struct ops_reader *reader, struct mlir_op *op,
                         int operand)
{
    uint64_t index;
    if (!cursor_varint(cursor, &index)) {
        return false;
    }
    if (index >= reader->values->count) {
        return cursor_fail(cursor, "value %" PRIu64 " of %zu", index, reader->values->count);
    }
    struct slot *slot = &reader->values->slots[index];
    op->operands[operand] = slot->value;
    if (slot->value == NULL) {
        struct waiting *waiting = arena_alloc(&reader->bytecode->file->arena, sizeof *waiting);
        *waiting = (struct waiting){op, operand, slot->waiting};
        slot->waiting = waiting;
    }
    return true;
}

/* --- the order of uses: of no meaning here --- */

static bool skip_use_orders(struct cursor *cursor, int value_count)
{
    uint64_t count = 1, unused;
    if (value_count > 1 && !cursor_varint(cursor, &count)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t index_count;
        bool is_pairs;
        if ((value_count > 1 && !cursor_varint(cursor, &unused)) ||
            !cursor_flagged(cursor, &index_count, &is_pairs)) {
            return false;
        }
        for (uint64_t k = 0; k < index_count; k++) {
            if (!cursor_varint(cursor, &unused)) {
                return false;
            }
        }
    }
    return true;
}

/* --- ops --- */

/* Everything about an op that comes before its operands. */
struct op_head {
    const struct bytecode_op_name *name;
    uint8_t mask;
    struct mlir_location *location;
    struct mlir_dictionary attrs;
    int result_count;
    const struct mlir_type **result_types;
};

static bool read_name(struct cursor *cursor, const struct bytecode_op_name **name)
{
    struct bytecode *bytecode = cursor->bytecode;
    uint64_t index;
    if (!cursor_varint(cursor, &index)) {
        return false;
    }
    if (index >= bytecode->op_name_count) {
        return cursor_fail(cursor, "op name %" PRIu64 " of %zu", index, bytecode->op_name_count);
    }
    *name = &bytecode->op_names[index];
    return true;
}

static bool read_attrs(struct cursor *cursor, struct op_head *head)
{
    struct mlir_file *file = cursor->bytecode->file;
    struct mlir_attr *attr = NULL;
    if ((head->mask & HAS_ATTRS) != 0 && !cursor_attr_of(cursor, MLIR_ATTR_DICTIONARY, &attr)) {
        return false;
    }
    bool has_properties = (head->mask & HAS_PROPERTIES) != 0;
    int count = attr == NULL ? 0 : attr->dictionary.count;
    int most = count + (has_properties ? bytecode_properties_most(head->name) : 0);
    if (most > 0) {
        bytecode_dictionary_reserve(file, &head->attrs, most);
    }
    if (count > 0) {
        memcpy(head->attrs.entries, attr->dictionary.entries,
               (size_t)count * sizeof *head->attrs.entries);
        head->attrs.count = count;
    }
    if (!has_properties) {
        return true;
    }
    uint64_t index;
    if (cursor->bytecode->version < VERSION_PROPERTIES) {
        return cursor_fail(cursor, "properties in version %" PRIu64, cursor->bytecode->version);
    }
    return cursor_varint(cursor, &index) &&
           bytecode_read_properties(cursor, head->name, index, &head->attrs) &&
           bytecode_dictionary_sort(cursor, &head->attrs);
}

static bool read_head(struct cursor *cursor, struct op_head *head)
{
    struct mlir_attr *location;
    *head = (struct op_head){0};
    if (!read_name(cursor, &head->name) || !cursor_byte(cursor, &head->mask)) {
        return false;
    }
    cursor->dialect = head->name->dialect;
    if ((head->mask & 0x80) != 0) {
        return cursor_fail(cursor, "an op with parts that are not known (mask 0x%02x)", head->mask);
    }
    if (!cursor_attr_of(cursor, MLIR_ATTR_LOCATION, &location) || !read_attrs(cursor, head)) {
        return false;
    }
    head->location = location->location->kind == MLIR_LOC_UNKNOWN ? NULL : location->location;
    return (head->mask & HAS_RESULTS) == 0 ||
           cursor_types(cursor, &head->result_count, &head->result_types);
}

static bool read_successors(struct cursor *cursor, struct ops_reader *reader, struct mlir_op *op)
{
    int count, block_count = reader->region == NULL ? 0 : reader->region->count;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    op->successors =
        arena_array(&reader->bytecode->file->arena, (size_t)count, sizeof *op->successors);
    op->successor_count = count;
    for (int i = 0; i < count; i++) {
        uint64_t index;
        if (!cursor_varint(cursor, &index)) {
            return false;
        }
        if (index >= (uint64_t)block_count) {
            return cursor_fail(cursor, "block %" PRIu64 " of %d", index, block_count);
        }
        op->successors[i] = reader->region->blocks[index];
    }
    return true;
}

static bool read_operands(struct cursor *cursor, struct ops_reader *reader, struct mlir_op *op)
{
    int count;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    op->operands = arena_array(&reader->bytecode->file->arena, (size_t)count, sizeof *op->operands);
    op->operand_count = count;
    for (int i = 0; i < count; i++) {
        if (!read_operand(cursor, reader, op, i)) {
            return false;
        }
    }
    return true;
}

static bool add_regions(struct cursor *cursor, struct ops_reader *reader, struct mlir_op *op,
                        bool *is_isolated)
{
    uint64_t count;
    if (!cursor_flagged(cursor, &count, is_isolated)) {
        return false;
    }
    if (count > reader->bytecode->size - reader->state->regions || count > INT32_MAX) {
        return cursor_fail(cursor, "%" PRIu64 " regions, more than the file has bytes", count);
    }
    reader->state->regions += count;
    op->regions = arena_array(&reader->bytecode->file->arena, count, sizeof *op->regions);
    op->region_count = (int)count;
    for (int i = 0; i < op->region_count; i++) {
        op->regions[i].parent = op;
    }
    return true;
}

/* One op, but for what is in its regions. */
static struct mlir_op *read_op(struct cursor *cursor, struct ops_reader *reader, bool *is_isolated)
{
    size_t offset = (size_t)(cursor->at - reader->bytecode->data);
    struct op_head head;
    cursor->weight = 0;
    if (!read_head(cursor, &head)) {
        return NULL;
    }
    struct mlir_op *op = mlir_op_new(reader->bytecode->file, head.name->name, head.name->size, 0,
                                     head.result_count, 0);
    op->location = head.location;
    op->attrs = head.attrs;
    op->column = offset > INT32_MAX ? 0 : (int)offset;
    for (int i = 0; i < head.result_count; i++) {
        op->results[i].type = head.result_types[i];
    }
    if (((head.mask & HAS_OPERANDS) != 0 && !read_operands(cursor, reader, op)) ||
        ((head.mask & HAS_SUCCESSORS) != 0 && !read_successors(cursor, reader, op)) ||
        ((head.mask & HAS_USE_ORDERS) != 0 && reader->bytecode->version >= VERSION_USE_ORDERS &&
         !skip_use_orders(cursor, head.result_count)) ||
        ((head.mask & HAS_REGIONS) != 0 && !add_regions(cursor, reader, op, is_isolated))) {
        return NULL;
    }
    /* Results of ops at the top have no numbers. */
    if (reader->region != NULL && !define_values(cursor, reader, op->results, op->result_count)) {
        return NULL;
    }
    return op;
}

/* --- blocks and regions --- */

static bool read_regions(struct cursor *cursor, const struct ops_reader *outside,
                         struct mlir_op *op, bool is_isolated);

/* Arguments have a type, and a location (which nothing here asks for), from some version on only
 * where there is one. */
static bool read_arguments(struct cursor *cursor, struct ops_reader *reader,
                           struct mlir_block *block)
{
    uint64_t version = reader->bytecode->version;
    int count;
    if (!cursor_count(cursor, 1, &count)) {
        return false;
    }
    block->arguments =
        arena_array(&reader->bytecode->file->arena, (size_t)count, sizeof *block->arguments);
    block->argument_count = count;
    for (int i = 0; i < count; i++) {
        struct mlir_value *argument = &block->arguments[i];
        struct mlir_attr *location;
        bool has_location = true;
        argument->block = block;
        argument->index = i;
        cursor->weight = 0;
        if (!(version >= VERSION_BLOCK_LOCATIONS
                  ? cursor_flagged_type(cursor, &argument->type, &has_location)
                  : cursor_type(cursor, &argument->type)) ||
            (has_location && !cursor_attr_of(cursor, MLIR_ATTR_LOCATION, &location))) {
            return false;
        }
    }
    if (!define_values(cursor, reader, block->arguments, count)) {
        return false;
    }
    uint8_t has_orders = 0;
    return version < VERSION_USE_ORDERS || (cursor_byte(cursor, &has_orders) &&
                                            (has_orders == 0 || skip_use_orders(cursor, count)));
}

static bool read_block(struct cursor *cursor, struct ops_reader *reader, struct mlir_block *block)
{
    uint64_t count;
    bool has_arguments;
    cursor->dialect = NULL;
    if (!cursor_flagged(cursor, &count, &has_arguments) ||
        (has_arguments && !read_arguments(cursor, reader, block))) {
        return false;
    }
    /* An op is a name, a mask and a location. */
    if (count > cursor_left(cursor) / 3 || count > INT32_MAX) {
        return cursor_fail(cursor, "%" PRIu64 " ops do not fit in the %zu bytes that are left",
                           count, cursor_left(cursor));
    }
    struct ops_state *state = reader->state;
    size_t first = state->count;
    for (uint64_t i = 0; i < count; i++) {
        bool is_isolated = false;
        struct mlir_op *op = read_op(cursor, reader, &is_isolated);
        if (op == NULL) {
            return false;
        }
        state->ops = grow(state->ops, state->count, &state->capacity, sizeof *state->ops);
        state->ops[state->count++] = op;
        if (!read_regions(cursor, reader, op, is_isolated)) {
            return false;
        }
    }
    if (count > 0) {
        mlir_block_set_ops(reader->bytecode->file, block, (int)count, state->ops + first);
    }
    state->count = first;
    return true;
}

static bool read_region(struct cursor *cursor, struct ops_reader *reader)
{
    struct bytecode *bytecode = reader->bytecode;
    int block_count;
    uint64_t value_count;
    if (!cursor_count(cursor, 1, &block_count)) {
        return false;
    }
    if (block_count == 0) {
        return true;
    }
    size_t before = reader->values->count;
    if (!cursor_varint(cursor, &value_count) || !values_push(cursor, reader, value_count)) {
        return false;
    }
    reader->next = before;
    reader->end = reader->values->count;
    for (int i = 0; i < block_count; i++) {
        mlir_block_add(bytecode->file, reader->region, 0);
    }
    for (int i = 0; i < block_count; i++) {
        if (!read_block(cursor, reader, reader->region->blocks[i])) {
            return false;
        }
    }
    return values_pop(cursor, reader->values, before);
}

/* Isolated regions of an op number their values anew, and are a section together. */
static bool read_regions(struct cursor *cursor, const struct ops_reader *outside,
                         struct mlir_op *op, bool is_isolated)
{
    struct bytecode *bytecode = outside->bytecode;
    struct cursor section, *from = cursor;
    struct values own = {0};
    if (op->region_count == 0) {
        return true;
    }
    if (outside->depth == REGIONS_DEEPEST) {
        return cursor_fail_code(cursor, ERROR_RESOURCE_EXHAUSTED, "regions nest deeper than %d",
                                REGIONS_DEEPEST);
    }
    if (is_isolated && bytecode->version >= VERSION_LAZY) {
        enum section id;
        if (!cursor_section(cursor, &id, &section)) {
            return false;
        }
        if (id != SECTION_IR) {
            return cursor_fail(cursor, "section %d where regions belong", id);
        }
        from = &section;
    }
    bool ok = true;
    for (int i = 0; i < op->region_count && ok; i++) {
        struct ops_reader reader = {.bytecode = bytecode,
                                    .state = outside->state,
                                    .region = &op->regions[i],
                                    .values = is_isolated ? &own : outside->values,
                                    .depth = outside->depth + 1};
        ok = read_region(from, &reader);
    }
    if (ok && from == &section && section.at != section.end) {
        ok = cursor_fail(&section, "%zu bytes behind the regions", cursor_left(&section));
    }
    free(own.slots);
    return ok;
}

/* --- the top: one module, or what a module is made around --- */

bool bytecode_read_ops(struct bytecode *bytecode, struct cursor *ir)
{
    struct mlir_file *file = bytecode->file;
    struct values values = {0};
    struct ops_state state = {0};
    struct mlir_op *module = mlir_op_new(file, "builtin.module", strlen("builtin.module"), 0, 0, 1);
    struct mlir_block *block = mlir_block_add(file, &module->regions[0], 0);
    struct ops_reader reader = {.bytecode = bytecode, .state = &state, .values = &values};
    bool ok = read_block(ir, &reader, block);
    free(values.slots);
    free(state.ops);
    if (!ok) {
        return false;
    }
    if (ir->at != ir->end) {
        return cursor_fail(ir, "%zu bytes behind the ops", cursor_left(ir));
    }
    if (block->count == 1 && block->ops[0]->opcode == MLIR_OP_MODULE) {
        file->module = block->ops[0];
        file->module->block = NULL;
    } else {
        file->module = module;
        file->module_was_implied = true;
    }
    return true;
}
