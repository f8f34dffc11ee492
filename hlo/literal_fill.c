/* The values of elided constants.
 *
 * Dumps leave the values of large constants out ("{...}"). What was there is lost; these values
 * stand in for it, the same on every machine. Element i of the constant with number `salt` (0 for
 * the first elided constant of a module, 1 for the next …) comes from the 64 bits
 *     x = mix(mix(salt + 1) + i · 0x9e3779b97f4a7c15)
 * where mix is the finaliser of splitmix64 (public domain, Vigna), and is
 *     pred                   bit 0 of x
 *     integers               x mod 2^min(3, value bits): small and never negative, since such
 *                            constants are mostly indices (s1 is 0)
 *     floats                 −0.1 + 0.3 · (x >> 40) / 2^24, rounded once to the type, except
 *       f8e8m0fnu            2^(x mod 4 − 3) (it has neither zero nor sign)
 *       f4e2m1fn             the bit pattern x mod 16 (its smallest value is 0.5)
 *     complex                the floats of elements 2i and 2i + 1
 *     tuples                 leaf k as an array with salt + k · 2^32
 */
#include <string.h>

#include "hlo/floats.h"
#include "hlo/literal.h"

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t element(uint64_t stream, int64_t index)
{
    return mix(stream + (uint64_t)index * 0x9e3779b97f4a7c15u);
}

static void fill_floats(enum type type, uint64_t stream, void *data, int64_t count)
{
    enum { STRIP = 512 };
    double strip[STRIP];
    for (int64_t begin = 0; begin < count; begin += STRIP) {
        int64_t size = count - begin < STRIP ? count - begin : STRIP;
        for (int64_t i = 0; i < size; i++) {
            double part = (double)(int64_t)(element(stream, begin + i) >> 40);
            strip[i] = -0.1 + 0.3 * (part * 0x1p-24);
        }
        float_store(type, strip, (char *)data + begin * type_bytes(type), size);
    }
}

static void fill_small(uint64_t stream, struct literal *literal, uint64_t mask, uint64_t offset)
{
    int64_t count = literal_elements(literal);
    if (type_bytes(literal->shape->type) == 4) {
        uint32_t *data = literal_data(literal);
        for (int64_t i = 0; i < count; i++) {
            data[i] = (uint32_t)(element(stream, i) & mask);
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        literal_set_bits(literal, i, offset + (element(stream, i) & mask));
    }
}

static void fill_array(struct literal *literal, uint64_t salt)
{
    enum type type = literal->shape->type;
    uint64_t stream = mix(salt + 1);
    int value_bits = type_bits(type) - (type_kind(type) == KIND_SIGNED);
    switch (type_kind(type)) {
    case KIND_PRED:
        fill_small(stream, literal, 1, 0);
        break;
    case KIND_SIGNED:
    case KIND_UNSIGNED:
        fill_small(stream, literal, ((uint64_t)1 << (value_bits < 3 ? value_bits : 3)) - 1, 0);
        break;
    case KIND_FLOAT:
        if (type == TYPE_F8E8M0FNU) {
            fill_small(stream, literal, 3, 124);
        } else if (type == TYPE_F4E2M1FN) {
            fill_small(stream, literal, 15, 0);
        } else {
            fill_floats(type, stream, literal_data(literal), literal_elements(literal));
        }
        break;
    case KIND_COMPLEX:
        fill_floats(type_part(type), stream, literal_data(literal), 2 * literal_elements(literal));
        break;
    case KIND_NONE:
        break;
    }
}

static void fill(struct literal *literal, uint64_t salt, uint64_t *leaf)
{
    if (literal->buffer != NULL) {
        fill_array(literal, salt + (*leaf)++ * ((uint64_t)1 << 32));
    }
    for (int i = 0; literal->elements != NULL && i < literal->shape->count; i++) {
        fill(literal->elements[i], salt, leaf);
    }
}

struct literal *literal_fill(const struct shape *shape, uint64_t salt, struct error *err)
{
    struct literal *literal = literal_create(shape, err);
    if (literal != NULL) {
        uint64_t leaf = 0;
        fill(literal, salt, &leaf);
    }
    return literal;
}
