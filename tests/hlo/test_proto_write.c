/* Module protos, written: like XLA writes them, and read back. */
#include "hlo/proto/proto_format.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/map.h"
#include "hlo/text/text_format.h"
#include "tests/hlo/protos.h"

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

int main(void)
{
    Suite *suite = suite_create("proto_write");
    TCase *write = tcase_create("write");
    tcase_add_loop_test(write, test_write_like_xla, 0, WRITTEN_PAIRS);
    tcase_add_loop_test(write, test_round_trip, 0, PAIRS);
    tcase_add_test(write, test_round_trip_of_text);
    suite_add_tcase(suite, write);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
