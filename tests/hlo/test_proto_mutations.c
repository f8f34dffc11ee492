/* Damaged protos and .npy files: every reader must refuse them or read something, but never crash,
 * hang or report an error of its own. REFEREE_MUTATIONS is the number for each reader (2000), the
 * seed is printed and can be set with REFEREE_SEED. To be run under ASan and UBSan. */
#include "hlo/base/text.h"
#include "hlo/proto/hlo.pb-c.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "tests/damage.h"
#include "tests/hlo/fixtures.h"

static const char *const modules[] = {
    "constants.pb",   "control.pb",          "attributes.pb",      "devices.pb",
    "header.pb",      "control_snapshot.pb", "control_hlo.pb",     "control_config.pb",
    "devices_old.pb", "control_unknown.pb",  "comparisons_old.pb", "attributes_payloads.pb",
};
static const char *const literals[] = {"literal_s32.pb", "literal_bf16.pb", "literals.pb",
                                       "iteration.pb"};
static const char *const arrays[] = {
    "array_f32.npy", "array_f32_fortran.npy", "array_c64_big.npy", "array_bf16.npy",
    "array_s4.npy",  "array_version2.npy",    "array_empty.npy"};

/* A copy of exactly the size, so that a read behind the end is seen. */
typedef void use_function(const char *data, size_t size);

static void mutate_files(const char *const *names, size_t count, use_function *use)
{
    struct rng rng;
    uint64_t seed = environment_number("REFEREE_SEED", 20260822);
    uint64_t mutations = damage_count();
    rng_init(&rng, seed);
    literal_set_memory_limit((size_t)1 << 26);
    for (uint64_t i = 0; i < mutations; i++) {
        size_t size;
        char *original = fixture_read(names[i % count], &size);
        size_t room = size + 256;
        char *data = malloc(room);
        memcpy(data, original, size);
        size_t damaged = damage_bytes(&rng, data, size, room);
        char *exact = malloc(damaged > 0 ? damaged : 1);
        memcpy(exact, data, damaged);
        double start = damage_seconds();
        use(exact, damaged);
        double taken = damage_seconds() - start;
        ck_assert_msg(taken < 5, "seed %llu, mutation %llu of %s took %.1f s",
                      (unsigned long long)seed, (unsigned long long)i, names[i % count], taken);
        free(exact);
        free(data);
        free(original);
    }
    literal_set_memory_limit(0);
}

/* What was read must be good enough for everything that comes after. */
static void use_module(const char *data, size_t size)
{
    struct loaded_file file;
    struct error err = {0};
    if (!module_load_memory("mutation", data, size, &file, &err)) {
        ck_assert_int_ne(err.code, ERROR_NONE);
        loaded_file_finish(&file);
        return;
    }
    for (int i = 0; i < file.count; i++) {
        struct module *module = file.modules[i].module;
        if (module == NULL) {
            ck_assert_int_ne(file.modules[i].error->code, ERROR_NONE);
            continue;
        }
        struct error why = {0};
        size_t again_size;
        void *again = proto_write_module(module, PROTO_MODULE_WITH_CONFIG, &again_size, &why);
        ck_assert_msg(again != NULL, "%s", why.message);
        struct module *read = proto_read_module(again, again_size, "again", NULL, NULL, &why);
        ck_assert_msg(read != NULL, "what was written cannot be read: %s", why.message);
        ck_assert_msg(module_equal(module, read, &why), "%s", why.message);
        module_destroy(read);
        free(again);
        struct text text;
        text_init(&text);
        text_print_module(module, &print_canonical, &text);
        text_finish(&text);
        struct findings findings = {0};
        verify_module(module, &findings);
        findings_finish(&findings);
    }
    loaded_file_finish(&file);
}

/* --- well-formed messages with other numbers in them --- */

struct slot {
    void *at;
    size_t width; /* of the integer; 0: a pointer to a message */
};
struct slots {
    struct slot *list;
    size_t count, capacity;
};

static void add_slot(struct slots *slots, void *at, size_t width)
{
    slots->list = grow(slots->list, slots->count, &slots->capacity, sizeof *slots->list);
    slots->list[slots->count++] = (struct slot){at, width};
}

static size_t integer_width(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
        return sizeof(int64_t);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(int32_t);
    default:
        return 0;
    }
}

/* All integers and optional messages in the message. */
static void collect(ProtobufCMessage *message, struct slots *slots)
{
    const ProtobufCMessageDescriptor *descriptor = message->descriptor;
    for (unsigned f = 0; f < descriptor->n_fields; f++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[f];
        char *value = (char *)message + field->offset;
        char *quantifier = (char *)message + field->quantifier_offset;
        size_t width = integer_width(field->type);
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t count;
            char *list;
            memcpy(&count, quantifier, sizeof count);
            memcpy(&list, value, sizeof list);
            for (size_t i = 0; i < count; i++) {
                if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
                    ProtobufCMessage *element;
                    memcpy(&element, list + i * sizeof element, sizeof element);
                    collect(element, slots);
                } else if (width > 0) {
                    add_slot(slots, list + i * width, width);
                }
            }
        } else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
            ProtobufCMessage *element;
            memcpy(&element, value, sizeof element);
            if (element != NULL) {
                add_slot(slots, value, 0);
                collect(element, slots);
            }
        } else if (width > 0 && *(protobuf_c_boolean *)quantifier) {
            add_slot(slots, value, width);
        }
    }
}

static void change_numbers(struct rng *rng, ProtobufCMessage *message)
{
    static const int64_t numbers[] = {0,  1,  2,  3,         5,         13,        34,     64,
                                      65, -1, -2, INT32_MAX, INT64_MAX, INT64_MIN, 1 << 20};
    struct slots slots = {0};
    collect(message, &slots);
    /* Backwards: a message is dropped after what is in it was changed. */
    size_t changes = 1 + rng_below(rng, 3), last = slots.count;
    while (changes-- > 0 && last > 0) {
        last = rng_below(rng, last);
        struct slot *slot = &slots.list[last];
        if (slot->width == 0) {
            if (rng_below(rng, 4) == 0) {
                ProtobufCMessage *dropped, *none = NULL;
                memcpy(&dropped, slot->at, sizeof dropped);
                protobuf_c_message_free_unpacked(dropped, NULL);
                memcpy(slot->at, &none, sizeof none);
            }
        } else {
            int64_t number = numbers[rng_below(rng, sizeof numbers / sizeof *numbers)];
            int32_t narrow = (int32_t)number;
            memcpy(slot->at, slot->width == sizeof number ? (void *)&number : (void *)&narrow,
                   slot->width);
        }
    }
    free(slots.list);
}

START_TEST(test_numbers)
{
    struct rng rng;
    uint64_t seed = environment_number("REFEREE_SEED", 20260822);
    uint64_t mutations = damage_count();
    rng_init(&rng, seed);
    literal_set_memory_limit((size_t)1 << 26);
    for (uint64_t i = 0; i < mutations; i++) {
        size_t size;
        char *data = fixture_read(modules[i % 5], &size);
        Referee__HloModuleProto *proto =
            referee__hlo_module_proto__unpack(NULL, size, (const uint8_t *)data);
        ck_assert_ptr_nonnull(proto);
        change_numbers(&rng, &proto->base);
        size_t packed = referee__hlo_module_proto__get_packed_size(proto);
        uint8_t *exact = malloc(packed);
        referee__hlo_module_proto__pack(proto, exact);
        use_module((const char *)exact, packed);
        free(exact);
        referee__hlo_module_proto__free_unpacked(proto, NULL);
        free(data);
    }
    literal_set_memory_limit(0);
}
END_TEST

/* --- literals and arrays --- */

static void use_literal(const char *data, size_t size)
{
    struct error err = {0};
    format_of(data, size);
    struct literal *literal = proto_read_literal(data, size, &err);
    if (literal != NULL) {
        size_t again_size;
        void *again = proto_write_literal(literal, &again_size, &err);
        ck_assert_msg(again != NULL, "%s", err.message);
        struct literal *read = proto_read_literal(again, again_size, &err);
        ck_assert_msg(read != NULL && literal_equal(read, literal), "%s", err.message);
        literal_release(read);
        free(again);
    }
    literal_release(literal);
    struct literal_sets sets;
    proto_read_literals(data, size, &sets, NULL);
    literal_sets_finish(&sets);
}

static void use_array(const char *data, size_t size)
{
    static const enum type types[] = {TYPE_BF16, TYPE_S4, TYPE_F32};
    const int64_t dimensions[] = {2, 3};
    format_of(data, size);
    for (int i = -1; i < 3; i++) {
        struct error err = {0};
        const struct shape *shape = i < 0 ? NULL : shape_array(types[i], 2, dimensions);
        struct literal *literal = npy_read(data, size, shape, &err);
        ck_assert(literal != NULL || err.code != ERROR_NONE);
        literal_release(literal);
    }
}

START_TEST(test_modules)
{
    mutate_files(modules, sizeof modules / sizeof *modules, use_module);
}
END_TEST

START_TEST(test_literals)
{
    mutate_files(literals, sizeof literals / sizeof *literals, use_literal);
}
END_TEST

START_TEST(test_arrays)
{
    mutate_files(arrays, sizeof arrays / sizeof *arrays, use_array);
}
END_TEST

int main(void)
{
    printf("seed %llu\n", (unsigned long long)environment_number("REFEREE_SEED", 20260822));
    Suite *suite = suite_create("proto_mutations");
    TCase *tcase = tcase_create("mutations");
    tcase_set_timeout(tcase, 1800);
    tcase_add_test(tcase, test_modules);
    tcase_add_test(tcase, test_numbers);
    tcase_add_test(tcase, test_literals);
    tcase_add_test(tcase, test_arrays);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
