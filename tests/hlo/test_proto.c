/* Module protos, read: what XLA makes of texts, and malformed ones. */
#include "hlo/proto/proto_format.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "tests/hlo/protos.h"

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
    Referee__ProgramShapeProto *shape = module->host_program_shape;
    protobuf_c_message_free_unpacked(&shape->parameters[2]->base, NULL);
    shape->n_parameters = 2;
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
    {other_program_shape, "the program shape has 2 parameters, the entry main has 3"},
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

/* Dumps amid a pipeline: the schedule names a computation and none of its instructions. */
START_TEST(test_empty_sequence)
{
    for (int kept = 0; kept < 2; kept++) { /* one of several is too few */
        Referee__HloModuleProto *proto = unpack("header.pb");
        Referee__HloScheduleProto__InstructionSequence *sequence = NULL;
        for (size_t i = 0; i < proto->schedule->n_sequences; i++) {
            if (proto->schedule->sequences[i]->value->n_instruction_ids > 1) {
                sequence = proto->schedule->sequences[i]->value;
            }
        }
        ck_assert_ptr_nonnull(sequence);
        sequence->n_instruction_ids = (size_t)kept;
        size_t size = referee__hlo_module_proto__get_packed_size(proto);
        uint8_t *data = malloc(size);
        referee__hlo_module_proto__pack(proto, data);
        referee__hlo_module_proto__free_unpacked(proto, NULL);
        struct error err = {0};
        struct module *module = proto_read_module(data, size, "part.pb", NULL, NULL, &err);
        ck_assert_msg((module != NULL) == (kept == 0), "%s", err.message);
        if (kept == 1) {
            ck_assert_ptr_nonnull(strstr(err.message, "has 1 of its"));
        }
        module_destroy(module);
        free(data);
    }
}
END_TEST

/* Dumps have the grid in the assignment of their devices, which itself is not kept. */
START_TEST(test_device_assignment)
{
    for (int turned = 0; turned < 2; turned++) {
        Referee__HloModuleProto *proto = unpack("control.pb");
        int64_t first[] = {0, 2, 4}, second[] = {1, turned ? 5 : 3, turned ? 3 : 5};
        Referee__DeviceAssignmentProto__ComputationDevice devices[2], *lists[2];
        int64_t *ids[] = {first, second};
        for (int c = 0; c < 2; c++) {
            referee__device_assignment_proto__computation_device__init(&devices[c]);
            devices[c].n_replica_device_ids = 3;
            devices[c].replica_device_ids = ids[c];
            lists[c] = &devices[c];
        }
        Referee__DeviceAssignmentProto assignment = REFEREE__DEVICE_ASSIGNMENT_PROTO__INIT;
        assignment.has_replica_count = assignment.has_computation_count = 1;
        assignment.replica_count = 3;
        assignment.computation_count = 2;
        assignment.n_computation_devices = 2;
        assignment.computation_devices = lists;
        proto->device_assignment = &assignment;
        size_t size = referee__hlo_module_proto__get_packed_size(proto);
        uint8_t *data = malloc(size);
        referee__hlo_module_proto__pack(proto, data);
        proto->device_assignment = NULL;
        referee__hlo_module_proto__free_unpacked(proto, NULL);
        struct text warnings;
        text_init(&warnings);
        struct error err = {0};
        struct module *module = proto_read_module(data, size, "dump.pb", &warnings, NULL, &err);
        ck_assert_msg(module != NULL, "%s", err.message);
        ck_assert_int_eq(module->config.replica_count, 3);
        ck_assert_int_eq(module->config.partition_count, 2);
        bool warned = warnings.size > 0 && strstr(warnings.data, "device_assignment") != NULL;
        ck_assert_int_eq(warned, turned);
        text_finish(&warnings);
        module_destroy(module);
        free(data);
    }
}
END_TEST

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
    tcase_add_test(read, test_device_assignment);
    tcase_add_test(read, test_config);
    suite_add_tcase(suite, read);
    TCase *malformed = tcase_create("malformed");
    tcase_add_loop_test(malformed, test_malformed, 0, sizeof damages / sizeof *damages);
    tcase_add_test(malformed, test_empty_sequence);
    tcase_add_test(malformed, test_truncated);
    tcase_add_test(malformed, test_deep_nesting);
    suite_add_tcase(suite, malformed);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
