/* Custom calls that generate random bits: ThreeFry 2x32 of JAX's GPU kernels.
 * Source: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11 (Threefry-2x32,
 * 20 rounds); jax/_src/random and jaxlib's threefry2x32 kernels (operands). */
#include "interp/custom_call_internal.h"

static uint32_t rotate(uint32_t value, int by)
{
    return value << by | value >> (32 - by);
}

/* (key0, key1, x0, x1) → (y0, y1), all u32 of one shape, element by element. */
struct literal *custom_threefry(struct evaluation *evaluation,
                                const struct instruction *instruction, struct operands *operands,
                                struct error *err)
{
    (void)evaluation;
    static const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const struct shape *shape = custom_call_result_shape(instruction, 0);
    bool fits = shape != NULL && custom_call_result_count(instruction) == 2 &&
                operands->count >= 4 && shape_is_array(shape) && shape->type == TYPE_U32 &&
                shape_compatible(shape, custom_call_result_shape(instruction, 1));
    for (int i = 0; fits && i < 4; i++) {
        fits = shape_compatible(shape, operands->values[i]->shape);
    }
    if (!fits) {
        return custom_call_fail(instruction, err, "operands or results that do not fit");
    }
    struct literal *parts[2] = {literal_create(shape, err), literal_create(shape, err)};
    if (parts[0] == NULL || parts[1] == NULL) {
        literal_release(parts[0]);
        literal_release(parts[1]);
        return NULL;
    }
    const uint32_t *in[4];
    uint32_t *out[2] = {literal_data(parts[0]), literal_data(parts[1])};
    for (int i = 0; i < 4; i++) {
        in[i] = literal_data(operands->values[i]);
    }
    for (int64_t i = 0; i < shape_elements(shape); i++) {
        uint32_t key[3] = {in[0][i], in[1][i], in[0][i] ^ in[1][i] ^ 0x1BD11BDAu};
        uint32_t x = in[2][i] + key[0], y = in[3][i] + key[1];
        for (uint32_t round = 0; round < 5; round++) {
            for (int r = 0; r < 4; r++) {
                x += y;
                y = rotate(y, rotations[round % 2][r]) ^ x;
            }
            x += key[(round + 1) % 3];
            y += key[(round + 2) % 3] + round + 1;
        }
        out[0][i] = x;
        out[1][i] = y;
    }
    for (int i = 0; i < 2; i++) {
        if (!custom_call_spread(operands, parts[i], err)) {
            literal_release(parts[0]);
            literal_release(parts[1]);
            return NULL;
        }
    }
    return custom_call_result_take(instruction, parts, 2, err);
}
