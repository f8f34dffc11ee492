/* Module protos, read and written, against what XLA makes of the same modules. */
#include "hlo/proto/proto_format.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/proto/hlo.pb-c.h"
#include "hlo/text/text_format.h"
#include "tests/hlo/fixtures.h"

static const struct pair {
    const char *text, *proto;
} pairs[] = {
    {"constants.hlo", "constants.pb"},
    {"control.hlo", "control.pb"},
    {"attributes.hlo", "attributes.pb"},
    {"devices.hlo", "devices.pb"},
    {"header.hlo", "header.pb"},
    /* the same modules in other messages and in the forms of older files */
    {"control.hlo", "control_hlo.pb"},
    {"control.hlo", "control_snapshot.pb"},
    {"control.hlo", "control_unknown.pb"},
    {"attributes.hlo", "attributes_payloads.pb"},
    {"devices.hlo", "devices_old.pb"},
    {"comparisons.hlo", "comparisons_old.pb"},
};
enum { PAIRS = sizeof pairs / sizeof *pairs, OWN_PAIRS = 5 };

/* --- one order for both: XLA writes computations and instructions in orders of its own --- */

static void visit(struct instruction *instruction, struct instruction **order, int *count)
{
    if (instruction->line == -1) {
        return;
    }
    instruction->line = -1;
    for (int i = 0; i < instruction->operand_count; i++) {
        visit(instruction->operands[i], order, count);
    }
    for (int i = 0; i < instruction->control_count; i++) {
        visit(instruction->control_predecessors[i], order, count);
    }
    order[(*count)++] = instruction;
}

static int compare_names(const void *x, const void *y)
{
    const struct instruction *const *a = x, *const *b = y;
    return strcmp((*a)->name, (*b)->name);
}

static void put_in_order(struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        struct computation *computation = module->computations[c];
        if (computation == module->entry) {
            module->computations[c] = module->computations[0];
            module->computations[0] = computation;
        }
        if (module->config.is_scheduled) {
            continue;
        }
        size_t bytes = (size_t)computation->count * sizeof(struct instruction *);
        struct instruction **by_name = malloc(bytes), **order = malloc(bytes);
        memcpy(by_name, computation->instructions, bytes);
        qsort(by_name, (size_t)computation->count, sizeof *by_name, compare_names);
        int count = 0;
        visit(computation->root, order, &count);
        for (int i = 0; i < computation->count; i++) {
            visit(by_name[i], order, &count);
        }
        memcpy(computation->instructions, order, bytes);
        free(order);
        free(by_name);
    }
    struct error err = {0};
    ck_assert_msg(module_finish(module, &err), "%s", err.message);
}

static void assert_equal(struct module *a, struct module *b)
{
    struct error err = {0};
    ck_assert_msg(module_equal(a, b, &err), "%s", err.message);
}

/* --- reading --- */

START_TEST(test_read_like_text)
{
    struct loaded_file text, proto;
    fixture_load(pairs[_i].text, &text);
    fixture_load(pairs[_i].proto, &proto);
    ck_assert_int_eq(text.format, FORMAT_TEXT);
    ck_assert_int_eq(proto.format, FORMAT_PROTO);
    if (strcmp(pairs[_i].proto, "control_unknown.pb") != 0) {
        ck_assert_str_eq(proto.modules[0].warnings, "");
    }
    put_in_order(text.modules[0].module);
    put_in_order(proto.modules[0].module);
    assert_equal(text.modules[0].module, proto.modules[0].module);
    loaded_file_finish(&text);
    loaded_file_finish(&proto);
}
END_TEST

/* Bytes and orders of literals as XLA packs them. */
START_TEST(test_read_elements)
{
    struct loaded_file file;
    fixture_load("constants.pb", &file);
    const struct computation *entry = file.modules[0].module->entry;
    const struct element {
        const char *name;
        int64_t index;
        uint64_t bits;
    } elements[] = {
        {"k_pred", 1, 0},         {"k_s2", 0, 0xfe},
        {"k_s4", 0, 0xf8},        {"k_s4", 4, 7},
        {"k_u2", 3, 3},           {"k_u4", 2, 15},
        {"k_s16", 0, 0x8000},     {"k_s32", 1, 2},
        {"k_s32", 3, 4},          {"k_u64", 1, UINT64_MAX},
        {"k_f16", 0, 0x3e00},     {"k_bf16", 1, 0x4000},
        {"k_bf16", 6, 0x40e0},    {"k_f32", 1, 0x80000000},
        {"k_f32", 2, 0x7f800000}, {"k_c64", 0, 0xc00000003fc00000},
        {"k_f8e5m2", 0, 0x3c},    {"k_f8e4m3fn", 1, 0x7e},
        {"k_f4e2m1fn", 0, 0xf},   {"k_f4e2m1fn", 2, 3},
    };
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        const struct instruction *constant = computation_find(entry, elements[i].name);
        ck_assert_ptr_nonnull(constant);
        uint64_t bits = literal_get_bits(constant->literal, elements[i].index);
        ck_assert_msg(bits == elements[i].bits, "%s[%lld]: %llx", elements[i].name,
                      (long long)elements[i].index, (unsigned long long)bits);
    }
    loaded_file_finish(&file);
}
END_TEST

START_TEST(test_unknown_fields_are_named)
{
    struct loaded_file file;
    fixture_load("control_unknown.pb", &file);
    const char *warnings = file.modules[0].warnings;
    int lines = 0;
    for (const char *at = warnings; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    ck_assert_int_eq(lines, 2 * module_instruction_count(file.modules[0].module));
    ck_assert_ptr_nonnull(strstr(warnings, "instruction scattered: field 5000 "));
    ck_assert_ptr_nonnull(strstr(warnings, "instruction scattered: field shape.98 "));
    loaded_file_finish(&file);
}
END_TEST

START_TEST(test_snapshot_has_literals)
{
    struct loaded_file file;
    fixture_load("control_snapshot.pb", &file);
    const struct literal_sets *sets = &file.modules[0].sets;
    ck_assert_int_eq(sets->count, 1);
    ck_assert_int_eq(sets->sets[0].count, 2);
    ck_assert_str_eq(shape_text(sets->sets[0].arguments[0]->shape), "f32[5]{0}");
    ck_assert_int_eq(literal_get_int(sets->sets[0].arguments[1], 1), 2);
    ck_assert(literal_get_double(sets->sets[0].result, 0) == 0.1);
    ck_assert_ptr_null(sets->sets[0].reference_result);
    loaded_file_finish(&file);
}
END_TEST

START_TEST(test_config)
{
    struct loaded_file file;
    fixture_load("control_config.pb", &file);
    const struct module_config *config = &file.modules[0].module->config;
    ck_assert_int_eq(config->replica_count, 2);
    ck_assert_int_eq(config->partition_count, 4);
    ck_assert(config->use_spmd_partitioning);
    ck_assert_int_eq(config->propagate_to_output.count, 1);
    ck_assert_int_eq(config->propagate_to_parameters.count, 3);
    ck_assert_int_eq(config->propagate_to_parameters.values[0], 0);
    ck_assert_int_eq(config->propagate_to_parameters.values[2], 1);
    loaded_file_finish(&file);
}
END_TEST

/* --- writing --- */

static Referee__HloModuleProto *unpack(const char *name)
{
    size_t size;
    char *data = fixture_read(name, &size);
    Referee__HloModuleProto *proto =
        referee__hlo_module_proto__unpack(NULL, size, (const uint8_t *)data);
    free(data);
    ck_assert_ptr_nonnull(proto);
    return proto;
}

static Referee__HloInstructionProto *find_instruction(const Referee__HloModuleProto *module,
                                                      const char *name)
{
    for (size_t c = 0; c < module->n_computations; c++) {
        for (size_t i = 0; i < module->computations[c]->n_instructions; i++) {
            if (strcmp(module->computations[c]->instructions[i]->name, name) == 0) {
                return module->computations[c]->instructions[i];
            }
        }
    }
    return NULL;
}

static void blank(int64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ids[i] = 0;
    }
}

/* Ids differ between writers. */
static void blank_ids(Referee__HloModuleProto *module)
{
    for (size_t c = 0; c < module->n_computations; c++) {
        Referee__HloComputationProto *computation = module->computations[c];
        for (size_t i = 0; i < computation->n_instructions; i++) {
            Referee__HloInstructionProto *instruction = computation->instructions[i];
            instruction->has_id = false;
            blank(instruction->operand_ids, instruction->n_operand_ids);
            blank(instruction->control_predecessor_ids, instruction->n_control_predecessor_ids);
            blank(instruction->called_computation_ids, instruction->n_called_computation_ids);
        }
    }
}

static size_t field_width(const ProtobufCFieldDescriptor *field)
{
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        return sizeof(void *);
    }
    switch (field->type) {
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_FLOAT:
        return sizeof(int32_t);
    default: /* 64-bit numbers and pointers */
        return sizeof(int64_t);
    }
}

/* The bytes of one field of a message. */
static size_t pack_field(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                         uint8_t *bytes, size_t room)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    char *bare = malloc(descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, bare);
    memcpy(bare + field->offset, (const char *)message + field->offset, field_width(field));
    if (field->quantifier_offset != 0) {
        size_t quantifier =
            field->label == PROTOBUF_C_LABEL_REPEATED ? sizeof(size_t) : sizeof(protobuf_c_boolean);
        memcpy(bare + field->quantifier_offset, (const char *)message + field->quantifier_offset,
               quantifier);
    }
    size_t size = protobuf_c_message_get_packed_size((ProtobufCMessage *)bare);
    ck_assert_uint_le(size, room);
    protobuf_c_message_pack((ProtobufCMessage *)bare, bytes);
    free(bare);
    return size;
}

/* XLA also writes messages without content; a message field is its tag (2 bytes) and a length. */
static bool is_empty_message(const ProtobufCFieldDescriptor *field, size_t size)
{
    return field->type == PROTOBUF_C_TYPE_MESSAGE && size <= 3;
}

static void assert_same_fields(const Referee__HloInstructionProto *xla,
                               const Referee__HloInstructionProto *ours)
{
    static uint8_t x[1 << 16], y[1 << 16];
    const ProtobufCMessageDescriptor *descriptor = &referee__hlo_instruction_proto__descriptor;
    for (unsigned f = 0; f < descriptor->n_fields; f++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[f];
        size_t xla_size = pack_field(&xla->base, field, x, sizeof x);
        size_t our_size = pack_field(&ours->base, field, y, sizeof y);
        if (is_empty_message(field, xla_size) && is_empty_message(field, our_size)) {
            continue;
        }
        if (ours->iota_collective_device_list != NULL &&
            strcmp(field->name, "collective_device_list") == 0) {
            continue; /* for older XLA the iota is in the list, too */
        }
        if (strcmp(xla->opcode, "async-done") == 0 &&
            strcmp(field->name, "called_computation_ids") == 0) {
            continue; /* for older XLA the computation is at the end, too */
        }
        ck_assert_msg(xla_size == our_size && memcmp(x, y, xla_size) == 0,
                      "%s: field %s has %zu bytes, from XLA %zu, or they differ", xla->name,
                      field->name, our_size, xla_size);
    }
}

/* Every field of every instruction is the same bytes as in XLA's message of the same module. */
START_TEST(test_write_like_xla)
{
    struct loaded_file text;
    fixture_load(pairs[_i].text, &text);
    struct error err = {0};
    size_t size;
    void *data = proto_write_module(text.modules[0].module, PROTO_MODULE, &size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);
    Referee__HloModuleProto *ours = referee__hlo_module_proto__unpack(NULL, size, data);
    Referee__HloModuleProto *xla = unpack(pairs[_i].proto);
    blank_ids(ours);
    blank_ids(xla);
    int compared = 0;
    for (size_t c = 0; c < xla->n_computations; c++) {
        for (size_t i = 0; i < xla->computations[c]->n_instructions; i++) {
            const Referee__HloInstructionProto *instruction = xla->computations[c]->instructions[i];
            const Referee__HloInstructionProto *other = find_instruction(ours, instruction->name);
            ck_assert_msg(other != NULL, "%s is missing", instruction->name);
            assert_same_fields(instruction, other);
            compared++;
        }
    }
    ck_assert_int_eq(compared, module_instruction_count(text.modules[0].module));
    referee__hlo_module_proto__free_unpacked(ours, NULL);
    referee__hlo_module_proto__free_unpacked(xla, NULL);
    free(data);
    loaded_file_finish(&text);
}
END_TEST

START_TEST(test_round_trip)
{
    struct loaded_file file;
    fixture_load(pairs[_i].proto, &file);
    struct module *module = file.modules[0].module;
    for (enum proto_kind kind = PROTO_MODULE; kind <= PROTO_MODULE_WITH_CONFIG; kind++) {
        struct error err = {0};
        size_t size;
        void *data = proto_write_module(module, kind, &size, &err);
        ck_assert_msg(data != NULL, "%s", err.message);
        ck_assert_int_eq(format_of(data, size), FORMAT_PROTO);
        for (enum proto_kind other = PROTO_NONE; other <= PROTO_MODULE_WITH_CONFIG; other++) {
            ck_assert_int_eq(proto_looks_like(data, size, other), other == kind);
        }
        struct module *again = proto_read_module(data, size, "again", NULL, NULL, &err);
        ck_assert_msg(again != NULL, "%s", err.message);
        assert_equal(module, again);
        module_destroy(again);
        free(data);
    }
    loaded_file_finish(&file);
}
END_TEST

static struct module *read_text(const char *text)
{
    struct error err = {0};
    struct module *module = text_read_module(text, strlen(text), "text", 1, &err);
    ck_assert_msg(module != NULL, "%s", err.message);
    return module;
}

/* What a text says and XLA's messages cannot: equal names in two computations, elided constants,
 * tables of the header. */
START_TEST(test_round_trip_of_text)
{
    struct module *module =
        read_text("HloModule m, replica_count=2, num_partitions=2\n"
                  "f { x = f32[] parameter(0)\n ROOT r = f32[] negate(x) }\n"
                  "g { x = f32[] parameter(0)\n x.1 = f32[] abs(x)\n ROOT r = f32[] sine(x.1) }\n"
                  "ENTRY e { x = f32[] parameter(0)\n"
                  "  c = f32[4] constant({...})\n"
                  "  y = f32[] call(x), to_apply=f\n  z = f32[] call(y), to_apply=g\n"
                  "  ROOT r = (f32[], f32[4]) tuple(z, c) }\n");
    struct error err = {0};
    size_t size;
    void *data = proto_write_module(module, PROTO_MODULE_WITH_CONFIG, &size, &err);
    ck_assert_msg(data != NULL, "%s", err.message);

    Referee__HloModuleProtoWithConfig *proto =
        referee__hlo_module_proto_with_config__unpack(NULL, size, data);
    struct map names;
    map_init(&names);
    for (size_t c = 0; c < proto->hlo_module->n_computations; c++) {
        const Referee__HloComputationProto *computation = proto->hlo_module->computations[c];
        for (size_t i = 0; i < computation->n_instructions; i++) {
            const char *name = computation->instructions[i]->name;
            ck_assert_msg(map_put(&names, name, strlen(name), proto) == NULL, "%s twice", name);
        }
    }
    map_finish(&names);
    referee__hlo_module_proto_with_config__free_unpacked(proto, NULL);

    struct module *again = proto_read_module(data, size, "again", NULL, NULL, &err);
    ck_assert_msg(again != NULL, "%s", err.message);
    assert_equal(module, again);
    ck_assert_int_eq(again->elided_count, 1);
    ck_assert(computation_find(again->entry, "c")->elided);
    module_destroy(again);
    module_destroy(module);
    free(data);
}
END_TEST

/* --- malformed messages --- */

typedef void damage_function(Referee__HloModuleProto *module);

static void no_name(Referee__HloModuleProto *module)
{
    find_instruction(module, "sum")->name[0] = '\0';
}
static void same_name(Referee__HloModuleProto *module)
{
    memcpy(find_instruction(module, "zero")->name, "init", 4);
}
static void unknown_opcode(Referee__HloModuleProto *module)
{
    memcpy(find_instruction(module, "sum")->opcode, "redact", 6);
}
static void bad_operand(Referee__HloModuleProto *module)
{
    find_instruction(module, "sum")->operand_ids[1] = 77;
}
static void later_operand(Referee__HloModuleProto *module)
{
    Referee__HloInstructionProto *sum = find_instruction(module, "sum");
    sum->operand_ids[0] = find_instruction(module, "scattered")->id;
}
static void same_id(Referee__HloModuleProto *module)
{
    find_instruction(module, "sum")->id = find_instruction(module, "zero")->id;
}
static void missing_operand(Referee__HloModuleProto *module)
{
    find_instruction(module, "looped")->n_operand_ids = 0;
}
static void bad_computation(Referee__HloModuleProto *module)
{
    find_instruction(module, "sum")->called_computation_ids[0] = 99;
}
static void no_body(Referee__HloModuleProto *module)
{
    find_instruction(module, "loop")->n_called_computation_ids = 1;
}
static void bad_root(Referee__HloModuleProto *module)
{
    module->computations[0]->root_id = 123;
}
static void bad_entry(Referee__HloModuleProto *module)
{
    module->entry_computation_id = 123;
}
static void same_computation(Referee__HloModuleProto *module)
{
    module->computations[1]->id = module->computations[0]->id;
}
static void bad_type(Referee__HloModuleProto *module)
{
    find_instruction(module, "sum")->shape->element_type = 99;
}
static void bad_layout(Referee__HloModuleProto *module)
{
    find_instruction(module, "v")->shape->layout->minor_to_major[0] = 3;
}
static void negative_size(Referee__HloModuleProto *module)
{
    find_instruction(module, "v")->shape->dimensions[0] = -4;
}
static void bad_direction(Referee__HloModuleProto *module)
{
    find_instruction(module, "ge_r")->comparison_direction[0] = 'X';
}
static void short_literal(Referee__HloModuleProto *module)
{
    find_instruction(module, "indices")->literal->n_s32s = 1;
}
static void other_literal(Referee__HloModuleProto *module)
{
    find_instruction(module, "zero")->literal->shape->element_type = TYPE_S32;
}
static void no_numbers(Referee__HloModuleProto *module)
{
    Referee__HloInstructionProto *scattered = find_instruction(module, "scattered");
    protobuf_c_message_free_unpacked(&scattered->scatter_dimension_numbers->base, NULL);
    scattered->scatter_dimension_numbers = NULL;
}
static void bad_parameter(Referee__HloModuleProto *module)
{
    find_instruction(module, "which")->parameter_number = 1;
}
static void no_program_shape(Referee__HloModuleProto *module)
{
    protobuf_c_message_free_unpacked(&module->host_program_shape->base, NULL);
    module->host_program_shape = NULL;
}
static void other_program_shape(Referee__HloModuleProto *module)
{
    module->host_program_shape->parameters[0]->dimensions[0] = 5;
}

static const struct damage {
    damage_function *function;
    const char *message;
} damages[] = {
    {no_name, "has no name"},
    {same_name, "two instructions have the name init"},
    {unknown_opcode, "instruction sum: opcode \"redact\" is unknown"},
    {bad_operand, "instruction sum: operand 1 has id 77, which no instruction before it in main"},
    {later_operand, "instruction sum: operand 0 has id"},
    {same_id, "instruction sum: its id"},
    {missing_operand, "instruction looped: get-tuple-element has 0 operands instead of 1"},
    {bad_computation, "instruction sum: called computation 0 has id 99"},
    {no_body, "instruction loop: 1 called computations instead of 2"},
    {bad_root, "no instruction with the id 123 of its root"},
    {bad_entry, "no computation has the id 123 of the entry"},
    {same_computation, "of another one"},
    {bad_type, "instruction sum: a shape has element type 99, which is none"},
    {bad_layout, "instruction v: layout minor_to_major is not a permutation"},
    {negative_size, "instruction v: shape has a negative dimension"},
    {bad_direction, "instruction ge_r: direction: direction \"XE\" is unknown"},
    {short_literal,
     "instruction indices: a literal of shape s32[2,1]{1,0} has 1 elements instead of 2"},
    {other_literal, "instruction zero: a literal of shape s32[] stands where f32[] is wanted"},
    {no_numbers, "instruction scattered: its message of scatter dimension numbers is missing"},
    {bad_parameter, "parameter number 1 of main is there twice"},
    {no_program_shape, "the module has no program shape"},
    {other_program_shape, "parameter 0 is f32[5]{0} in the program shape, but f32[4]{0} in main"},
};

START_TEST(test_malformed)
{
    Referee__HloModuleProto *proto = unpack("control.pb");
    damages[_i].function(proto);
    size_t size = referee__hlo_module_proto__get_packed_size(proto);
    uint8_t *data = malloc(size);
    referee__hlo_module_proto__pack(proto, data);
    referee__hlo_module_proto__free_unpacked(proto, NULL);
    struct error err = {0};
    struct module *module = proto_read_module(data, size, "bad.pb", NULL, NULL, &err);
    ck_assert_ptr_null(module);
    ck_assert_str_eq(err.file, "bad.pb");
    ck_assert_msg(strstr(err.message, damages[_i].message) != NULL, "%s", err.message);
    free(data);
}
END_TEST

/* The names of all fields of the schema that XLA's has, too, are not checked here; the numbers are,
 * through the fixtures. Depth and truncation are. */
START_TEST(test_truncated)
{
    size_t size;
    char *data = fixture_read("control.pb", &size);
    for (size_t cut = 0; cut < size; cut += 7) {
        struct error err = {0};
        struct module *module = proto_read_module(data, cut, "cut.pb", NULL, NULL, &err);
        if (module == NULL) {
            ck_assert_int_ne(err.code, ERROR_NONE);
        }
        module_destroy(module);
    }
    struct error err = {0};
    ck_assert_ptr_null(proto_read_module(data, size - 1, "cut.pb", NULL, NULL, &err));
    ck_assert_msg(strstr(err.message, "malformed HloModuleProto at byte ") != NULL, "%s",
                  err.message);
    free(data);
}
END_TEST

START_TEST(test_deep_nesting)
{
    enum { DEPTH = 100000 };
    /* tuple_shapes (field 4) in tuple_shapes in … */
    size_t size = 0, room = (size_t)DEPTH * 8;
    uint8_t *data = malloc(room), *at = data + room;
    for (int i = 0; i < DEPTH; i++) {
        size_t length = size;
        uint8_t varint[8];
        int bytes = 0;
        do {
            varint[bytes++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
            length >>= 7;
        } while (length > 0);
        at -= bytes;
        memcpy(at, varint, (size_t)bytes);
        *--at = 4 << 3 | 2;
        size = (size_t)(data + room - at);
    }
    /* as the shape of a literal */
    uint8_t *message = malloc(size + 8);
    size_t head = 0;
    message[head++] = 1 << 3 | 2;
    for (size_t length = size;; length >>= 7) {
        message[head++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
        if (length <= 0x7f) {
            break;
        }
    }
    memcpy(message + head, at, size);
    struct error err = {0};
    ck_assert_ptr_null(proto_read_literal(message, head + size, &err));
    ck_assert_msg(strstr(err.message, "nested too deeply") != NULL, "%s", err.message);
    free(message);
    free(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("proto");
    TCase *read = tcase_create("read");
    tcase_add_loop_test(read, test_read_like_text, 0, PAIRS);
    tcase_add_test(read, test_read_elements);
    tcase_add_test(read, test_unknown_fields_are_named);
    tcase_add_test(read, test_snapshot_has_literals);
    tcase_add_test(read, test_config);
    suite_add_tcase(suite, read);
    TCase *write = tcase_create("write");
    tcase_add_loop_test(write, test_write_like_xla, 0, OWN_PAIRS);
    tcase_add_loop_test(write, test_round_trip, 0, PAIRS);
    tcase_add_test(write, test_round_trip_of_text);
    suite_add_tcase(suite, write);
    TCase *malformed = tcase_create("malformed");
    tcase_add_loop_test(malformed, test_malformed, 0, sizeof damages / sizeof *damages);
    tcase_add_test(malformed, test_truncated);
    tcase_add_test(malformed, test_deep_nesting);
    suite_add_tcase(suite, malformed);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
