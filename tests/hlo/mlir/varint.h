/* Numbers of MLIR bytecode. */
#ifndef TESTS_HLO_MLIR_VARINT_H
#define TESTS_HLO_MLIR_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The definition: as many zero bits at the low end as there are further bytes, a one, the value. */
static inline size_t varint_encode(uint64_t value, int bytes, uint8_t data[9])
{
    if (bytes == 9) {
        data[0] = 0;
        memcpy(data + 1, &value, 8);
    } else {
        uint64_t bits = (value << 1 | 1) << (bytes - 1);
        memcpy(data, &bits, 8);
    }
    return (size_t)bytes;
}

#endif
