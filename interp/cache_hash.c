/* Keys of 128 bits. */
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/map.h"
#include "interp/cache.h"

__extension__ typedef unsigned __int128 wide_unsigned;

static const uint64_t odd[] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                               0xd6e8feb86659fd93, 0xa0761d6478bd642f};

static uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

struct key key_begin(uint64_t what)
{
    struct key key = {{what * odd[0], odd[1]}};
    key_add(&key, what);
    return key;
}

/* Each step can be undone, so that nothing that was added is lost. */
void key_add(struct key *key, uint64_t value)
{
    uint64_t a = key->words[0], b = key->words[1];
    a = (a ^ rotate(value * odd[1], 31) * odd[2]) * odd[0];
    a = rotate(a, 27) + b;
    a ^= a >> 29;
    b = (b ^ rotate(value * odd[3], 33) * odd[1]) * odd[2];
    b = rotate(b, 31) + a;
    b ^= b >> 32;
    key->words[0] = a;
    key->words[1] = b;
}

void key_add_key(struct key *key, struct key other)
{
    key_add(key, other.words[0]);
    key_add(key, other.words[1]);
}

bool key_equal(struct key a, struct key b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

static uint64_t folded(uint64_t a, uint64_t b)
{
    wide_unsigned product = (wide_unsigned)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Four streams of 16 bytes at a time. */
void key_add_bytes(struct key *key, const void *data, size_t size)
{
    enum { STREAMS = 4, BLOCK = 16 * STREAMS };
    const char *bytes = data;
    uint64_t streams[STREAMS], words[2 * STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        streams[s] = odd[s] ^ key->words[s % 2];
    }
    size_t at = 0;
    for (; at + BLOCK <= size; at += BLOCK) {
        memcpy(words, bytes + at, BLOCK);
        for (int s = 0; s < STREAMS; s++) {
            streams[s] = folded(words[2 * s] ^ streams[s], words[2 * s + 1] ^ odd[s + 1]) +
                         rotate(words[2 * s], 17);
        }
    }
    key_add(key, size);
    for (int s = 0; s < STREAMS && at > 0; s++) {
        key_add(key, streams[s]);
    }
    for (; at < size; at += 8) {
        uint64_t last = 0;
        memcpy(&last, bytes + at, size - at < 8 ? size - at : 8);
        key_add(key, last);
    }
}

struct key key_of_contents(const struct literal *literal)
{
    struct key key = key_begin(1);
    const struct shape *shape = literal->shape;
    key_add(&key, (uint64_t)shape->type);
    if (shape->dynamic != NULL) {
        key_add_shape(&key, shape);
        for (int d = 0; d < shape->rank; d++) {
            key_add(&key, (uint64_t)(literal->dynamic_sizes != NULL ? literal->dynamic_sizes[d]
                                                                    : shape->dimensions[d]));
        }
    }
    if (literal->buffer != NULL) {
        key_add_bytes(&key, literal->buffer->data, literal->buffer->size);
        if (literal->buffer->unspecified != NULL && literal_has_unspecified(literal)) {
            int64_t elements = literal_elements(literal);
            const uint8_t *marks = literal->buffer->unspecified;
            key_add_bytes(&key, marks, (size_t)elements / 8);
            /* The last byte's other bits mean nothing. */
            key_add(&key,
                    elements % 8 != 0 ? marks[elements / 8] & ((1u << (elements % 8)) - 1) : 0);
        }
    }
    return key;
}

void key_add_shape(struct key *key, const struct shape *shape)
{
    key_add(key, (uint64_t)shape->type << 32 | (uint64_t)(shape->rank + shape->count));
    for (int d = 0; d < shape->rank; d++) {
        key_add(key, (uint64_t)shape->dimensions[d]);
        if (shape_dimension_is_dynamic(shape, d)) {
            key_add(key, 1 + (uint64_t)d);
        }
    }
    for (int i = 0; i < shape->count; i++) {
        key_add_shape(key, shape->elements[i]);
    }
}

/* Attributes that say nothing about the value, or what a backend may lose (but operand_precision,
 * which the option bf16_products looks at). What only custom calls
 * look at counts for them. */
static bool matters(const struct instruction *instruction, enum attr_key key, bool bf16_products)
{
    switch (key) {
    case ATTR_METADATA:
    case ATTR_ORIGIN:
    case ATTR_STATISTICS:
    case ATTR_SHARDING:
    case ATTR_PARAMETER_REPLICATION:
    case ATTR_OUTPUT_TO_OPERAND_ALIASING:
    case ATTR_RESULT_ACCURACY:
        return false;
    case ATTR_BACKEND_CONFIG:
        return instruction->opcode == OP_CUSTOM_CALL;
    case ATTR_OPERAND_PRECISION:
        return bf16_products || instruction->opcode == OP_CUSTOM_CALL;
    case ATTR_FRONTEND_ATTRIBUTES:
        return instruction->opcode == OP_CUSTOM_CALL || instruction->opcode == OP_CALL;
    case ATTR_INDICES_ARE_SORTED:
    case ATTR_CONVOLUTION_KIND:
        return false;
    default:
        return true;
    }
}

static void add_ints(struct key *key, struct ints ints)
{
    key_add(key, (uint64_t)ints.count);
    for (int i = 0; i < ints.count; i++) {
        key_add(key, (uint64_t)ints.values[i]);
    }
}

static void add_attribute(struct key *key, const struct attr *attr)
{
    key_add(key, (uint64_t)attr->key);
    switch (attr_table[attr->key].kind) {
    case ATTR_KIND_INTS:
    case ATTR_KIND_BOOLS:
    case ATTR_KIND_PAIRS:
        add_ints(key, attr->ints);
        break;
    case ATTR_KIND_INTS_OR_LISTS:
        key_add(key, (uint64_t)attr->lists.count);
        for (int i = 0; i < attr->lists.count; i++) {
            add_ints(key, attr->lists.lists[i]);
        }
        break;
    case ATTR_KIND_LITERAL:
        key_add_shape(key, attr->literal->shape);
        for (int i = 0; i < shape_leaves(attr->literal->shape); i++) {
            key_add_key(key, key_of_contents(literal_leaf(attr->literal, i)));
        }
        break;
    case ATTR_KIND_STRING:
    case ATTR_KIND_STRING_OR_WORD:
    case ATTR_KIND_RAW:
    case ATTR_KIND_SPARSITY:
    case ATTR_KIND_BACKEND_CONFIG:
        key_add_bytes(key, attr->bytes.data, attr->bytes.size);
        break;
    case ATTR_KIND_STRING_MAP:
        for (int i = 0; i < attr->string_map.count; i++) {
            const struct string_entry *entry = &attr->string_map.entries[i];
            key_add_bytes(key, entry->key.data, entry->key.size);
            key_add_bytes(key, entry->value.data, entry->value.size);
        }
        break;
    default:
        key_add(key, attr_hash(attr));
        break;
    }
}

void key_add_attributes(struct key *key, const struct instruction *instruction, bool bf16_products)
{
    key_add(key, bf16_products);
    for (int i = 0; i < instruction->attr_count; i++) {
        const struct attr *attr = &instruction->attrs[i];
        if (matters(instruction, attr->key, bf16_products) && !attr_is_default(instruction, attr)) {
            add_attribute(key, attr);
        }
    }
}
