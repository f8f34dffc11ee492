/* Opcodes: what an instruction does. The table is opcodes.def. */
#ifndef HLO_OPCODE_H
#define HLO_OPCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum opcode {
#define OP(id, text, arity, infer, eval, attributes) OP_##id,
#include "hlo/opcodes.def"
    OPCODE_COUNT
};

enum { VARIADIC = -1 };

struct opcode_info {
    const char *text;
    int arity;              /* or VARIADIC */
    const char *infer;      /* token: "given" when the shape must be written */
    const char *eval;       /* token: "unsupported" when the golden cannot */
    const char *attributes; /* the column of opcodes.def */
};

extern const struct opcode_info opcode_table[OPCODE_COUNT];

const char *opcode_text(enum opcode opcode);
/* The opcode spelled by text[0..size), or OPCODE_COUNT. */
enum opcode opcode_from_text(const char *text, size_t size);
/* Whether the opcode takes the attribute (common ones included), and whether it must be there. */
bool opcode_takes(enum opcode opcode, int attr_key);
bool opcode_requires(enum opcode opcode, int attr_key);

/* Moves data to or from the host or another device, without giving it on: its place in the program
 * counts, whoever uses its value. */
bool opcode_transfers(enum opcode opcode);

#endif
