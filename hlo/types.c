/* The table of primitive types and its look-ups. */
#include "hlo/types.h"

#include <string.h>

const struct type_info type_table[TYPE_COUNT] = {
#define TYPE(id, text, number, kind, bits, bytes) [number] = {text, KIND_##kind, bits, bytes},
#include "hlo/types.def"
};

const char *type_text(enum type type)
{
    return (unsigned)type < TYPE_COUNT ? type_table[type].text : "invalid";
}

enum type type_from_text(const char *text, size_t size)
{
    for (int i = 1; i < TYPE_COUNT; i++) {
        if (strlen(type_table[i].text) == size && memcmp(type_table[i].text, text, size) == 0) {
            return (enum type)i;
        }
    }
    return TYPE_INVALID;
}

enum type type_part(enum type type)
{
    return type == TYPE_C64 ? TYPE_F32 : type == TYPE_C128 ? TYPE_F64 : type;
}

enum type type_complex_of(enum type part)
{
    return part == TYPE_F32 ? TYPE_C64 : part == TYPE_F64 ? TYPE_C128 : TYPE_INVALID;
}
