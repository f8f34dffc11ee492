/* The opcode table and its look-ups. */
#include "hlo/opcode.h"

#include <pthread.h>
#include <string.h>

#include "hlo/attr.h"
#include "hlo/base/map.h"

const struct opcode_info opcode_table[OPCODE_COUNT] = {
#define OP(id, text, arity, infer, eval, attributes) \
    [OP_##id] = {text, arity, #infer, #eval, attributes},
#include "hlo/opcodes.def"
};

/* Built once from the `attributes` column. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct map by_text;
static bool takes[OPCODE_COUNT][ATTR_COUNT], requires[OPCODE_COUNT][ATTR_COUNT];

static void build(void)
{
    map_init(&by_text);
    for (int op = 0; op < OPCODE_COUNT; op++) {
        const char *text = opcode_table[op].text;
        map_put(&by_text, text, strlen(text), (void *)&opcode_table[op]);
        for (int key = 0; key < ATTR_COUNT; key++) {
            takes[op][key] = attr_table[key].common;
        }
        for (const char *at = opcode_table[op].attributes; *at != '\0';) {
            size_t size = strcspn(at, " ");
            bool required = size > 0 && at[size - 1] == '!';
            enum attr_key key = attr_from_text(at, size - required);
            if (key != ATTR_COUNT) {
                takes[op][key] = true;
                requires[op][key] = required;
            }
            at += size;
            at += *at == ' ';
        }
    }
}

const char *opcode_text(enum opcode opcode)
{
    return opcode_table[opcode].text;
}

enum opcode opcode_from_text(const char *text, size_t size)
{
    pthread_once(&once, build);
    const struct opcode_info *info = map_get(&by_text, text, size);
    return info != NULL ? (enum opcode)(info - opcode_table) : OPCODE_COUNT;
}

bool opcode_takes(enum opcode opcode, int attr_key)
{
    pthread_once(&once, build);
    return takes[opcode][attr_key];
}

bool opcode_requires(enum opcode opcode, int attr_key)
{
    pthread_once(&once, build);
    return requires[opcode][attr_key];
}

bool opcode_transfers(enum opcode opcode)
{
    switch (opcode) {
    case OP_SEND:
    case OP_SEND_DONE:
    case OP_RECV:
    case OP_RECV_DONE:
    case OP_INFEED:
    case OP_OUTFEED:
        return true;
    default:
        return false;
    }
}
