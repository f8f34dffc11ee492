/* referee show coverage: what the golden evaluates, opcode by opcode and type by type.
 *
 * Every sample of coverage_samples.def is written for every element type (or pair of types), read,
 * verified by XLA's rules, and, if they accept it, evaluated on one device with values from the
 * edges of its types. So the table that comes out is made by trying, not by claiming. */
#include "tools/show_coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "compare/inputs.h"
#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "hlo/verify.h"
#include "interp/interp.h"
#include "tools/commands.h"
#include "tools/modules.h"

struct sample {
    enum opcode opcode;
    const char *variant, *computations, *entry;
    /* XLA's mixed precision: a float op may give another float type than it is inferred to. Such
     * samples are made of the others, by changing the type of the root. */
    bool other_float;
};
static const struct sample written[] = {
#define SAMPLE(opcode, variant, computations, entry) \
    {OP_##opcode, variant, computations, entry, false},
#include "tools/coverage_samples.def"
};
enum { WRITTEN_COUNT = sizeof written / sizeof *written, SAMPLE_MOST = 2 * WRITTEN_COUNT };

/* Columns of the table: kinds of types; KIND_NONE stands last and is what is no array. */
static const struct {
    enum type_kind kind;
    const char *title;
} columns[] = {
    {KIND_PRED, "pred"},   {KIND_SIGNED, "signed"},   {KIND_UNSIGNED, "unsigned"},
    {KIND_FLOAT, "float"}, {KIND_COMPLEX, "complex"}, {KIND_NONE, "no array"},
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

/* Why the golden may refuse what XLA's verifier accepts: a part of the message and what to say. */
static const struct {
    const char *message, *why;
} reasons[] = {
    {"custom call to no-such-target", "The target of the custom call is not in the table of known "
                                      "ones."},
    {"nobody sends", "Nothing comes from the host."},
    {"there is no ", "XLA's shape inference lets these types pass, but neither XLA nor StableHLO "
                     "says what the operation means on them, and no backend computes it."},
    {"topk of ", "Complex numbers have no order to take the largest by."},
    {"bitcast between sizes", "The result would have other bytes than the operand."},
    {"bitcast of what is no array", "Only arrays have bytes to read as something else."},
    {"a collective that gives another float type", "XLA's mixed precision lets a collective give "
                                                   "another float type than it takes; whether the "
                                                   "devices combine before or after the "
                                                   "conversion is open."},
    {"between shapes that differ", "A custom call that hands its operand on cannot change its "
                                   "shape."},
    {"rng-bit-generator of state ", "XLA's generators know the states `u64[2]` and, with Philox, "
                                    "`u64[3]`, and fill integers, floats and pred."},
};
enum { REASON_COUNT = sizeof reasons / sizeof *reasons };

/* The float types that other_float samples give. */
static const enum type other_floats[] = {TYPE_F8E5M2, TYPE_BF16, TYPE_F32};

enum verdict { VERDICT_INVALID, VERDICT_VALUE, VERDICT_REFUSED, VERDICT_BROKEN };

/* What became of a sample in one column. */
struct cell {
    int value, refused, all; /* modules evaluated, refused, and all together */
    bool reasons[REASON_COUNT];
    struct text values, refusals; /* names of types */
};

struct walker {
    const char *folder; /* where modules are written, or NULL */
    struct arena arena; /* of the samples that are made */
    int count;
    struct sample samples[SAMPLE_MOST];
    int verdicts[4];
    bool reasons[REASON_COUNT];
    struct cell cells[SAMPLE_MOST][COLUMN_COUNT];
};

/* --- samples --- */

/* The sample with a root of type $2, or false if its root is of another type than $T. */
static bool make_other(struct arena *arena, const struct sample *from, struct sample *to)
{
    static const char root[] = "ROOT r = $T[";
    const char *found = strstr(from->entry, root);
    if (found == NULL || strstr(from->entry, "$2") != NULL ||
        strstr(from->computations, "$2") != NULL) {
        return false;
    }
    *to = *from;
    to->other_float = true;
    char *entry = arena_string(arena, from->entry, strlen(from->entry));
    entry[found - from->entry + (ptrdiff_t)strlen(root) - 2] = '2';
    to->entry = entry;
    to->variant = arena_printf(arena, "%s%sinto another float", from->variant,
                               from->variant[0] != '\0' ? ", " : "");
    return true;
}

static void collect_samples(struct walker *walker)
{
    for (int s = 0; s < WRITTEN_COUNT; s++) {
        walker->samples[walker->count++] = written[s];
        if (make_other(&walker->arena, &written[s], &walker->samples[walker->count])) {
            walker->count++;
        }
    }
}

/* --- writing a module --- */

static enum type unsigned_of(int bits)
{
    for (int i = 0; i < TYPE_COUNT; i++) {
        if (type_kind((enum type)i) == KIND_UNSIGNED && type_bits((enum type)i) == bits) {
            return (enum type)i;
        }
    }
    return TYPE_INVALID;
}

/* Writes a type where "[…]" follows; returns how many characters of the dimensions to leave out. */
static size_t write_type(enum type type, const char *after, struct text *out)
{
    static const char *const others[TYPE_COUNT] = {[TYPE_TUPLE] = "(f32[5], s32[2])",
                                                   [TYPE_TOKEN] = "token[]",
                                                   [TYPE_OPAQUE] = "opaque[]",
                                                   [TYPE_BUFFER] = "b(f32[5])"};
    if (others[type] == NULL) {
        text_append(out, type_text(type));
        return 0;
    }
    text_append(out, others[type]);
    size_t used = *after == '[' ? strcspn(after, "]") + 1 : 0;
    return used + (after[used] == '{' ? strcspn(after + used, "}") + 1 : 0);
}

/* Bits of an element, in an array or as bitcast-convert takes them. */
static int element_bits(enum type type, bool packed)
{
    return packed && type_bits(type) < 6 && type != TYPE_PRED ? type_bits(type)
                                                              : 8 * type_bytes(type);
}

/* Dimensions of arrays of a and b with the same bits, seen from a: [3], or [3,n] of the narrower.
 */
static void write_dimensions(enum type a, enum type b, bool packed, struct text *out)
{
    int bits_a = element_bits(a, packed), bits_b = element_bits(b, packed);
    if (bits_a < bits_b && bits_a > 0) {
        text_printf(out, "[3,%d]", bits_b / bits_a);
    } else {
        text_append(out, "[3]");
    }
}

static void write_literal(enum type type, struct text *out)
{
    static const char *const kinds[] = {
        [KIND_PRED] = "{true, false}",       [KIND_SIGNED] = "{-1, 0}",
        [KIND_UNSIGNED] = "{1, 0}",          [KIND_FLOAT] = "{1, 1}",
        [KIND_COMPLEX] = "{(1, 2), (3, 4)}", [KIND_NONE] = "({1, 2, 3, 4, 5}, {6, 7})"};
    text_append(out, kinds[type_kind(type)]);
}

static void expand(const char *pattern, enum type first, enum type second, struct text *out)
{
    for (const char *at = pattern; *at != '\0'; at++) {
        if (*at != '$') {
            text_char(out, *at);
            continue;
        }
        enum type complex = type_complex_of(type_part(first));
        at++;
        switch (*at) {
        case 'T':
            at += write_type(first, at + 1, out);
            break;
        case '2':
            at += write_type(second, at + 1, out);
            break;
        case 'P':
            at += write_type(type_part(first), at + 1, out);
            break;
        case 'C':
            at += write_type(complex != TYPE_INVALID ? complex : first, at + 1, out);
            break;
        case 'U':
            at += write_type(unsigned_of(type_bits(first)), at + 1, out);
            break;
        case 'M':
        case 'm':
            write_dimensions(first, second, *at == 'M', out);
            break;
        case 'N':
        case 'n':
            write_dimensions(second, first, *at == 'N', out);
            break;
        case 'S':
            text_printf(out, "%d",
                        type_bytes(second) > 0 ? 24 * type_bytes(first) / type_bytes(second) : 0);
            break;
        default:
            write_literal(first, out);
            break;
        }
    }
}

static void write_module(const struct sample *sample, enum type first, enum type second,
                         struct text *out)
{
    text_clear(out);
    text_append(out, "HloModule coverage\n");
    expand(sample->computations, first, second, out);
    text_append(out, "ENTRY e {\n");
    expand(sample->entry, first, second, out);
    text_append(out, "\n}\n");
}

/* --- trying it --- */

/* The host gives zeros. */
static struct literal *feed_zeros(void *context, int device, const struct shape *shape,
                                  struct error *err)
{
    (void)context;
    (void)device;
    return literal_zero(shape, err);
}

/* One evaluation; false with *err. */
static bool evaluate(const struct module *module, const struct input_options *inputs,
                     enum fidelity fidelity, struct error *err)
{
    int count = module->entry->parameter_count;
    struct literal **arguments = memory_zalloc((size_t)(count + 1) * sizeof(struct literal *));
    struct interp_options options = {.infeed = feed_zeros, .fidelity = fidelity};
    struct literal *result = NULL;
    if (inputs_generate(module, inputs, arguments, NULL, err)) {
        result = interp_evaluate(module, arguments, count, &options, err);
    }
    bool ok = result != NULL;
    if (ok &&
        !shape_compatible(shape_static(result->shape), shape_static(module->entry->root->shape))) {
        ok = error_set(err, ERROR_INTERNAL, "the result has shape %s", shape_text(result->shape));
    }
    literal_release(result);
    for (int i = 0; i < count; i++) {
        literal_release(arguments[i]);
    }
    free(arguments);
    return ok;
}

/* Does the message name an instruction of the module that has the opcode it says? */
static bool names_instruction(const struct module *module, const char *message)
{
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct instruction *instruction = module->computations[c]->instructions[i];
            char named[256];
            snprintf(named, sizeof named, "%s (%s): ", instruction->name,
                     opcode_text(instruction->opcode));
            if (strncmp(message, named, strlen(named)) == 0) {
                return true;
            }
        }
    }
    return false;
}

static int reason_of(const char *message)
{
    for (int i = 0; i < REASON_COUNT; i++) {
        if (strstr(message, reasons[i].message) != NULL) {
            return i;
        }
    }
    return -1;
}

static void complain(const struct sample *sample, const char *problem, const struct text *module)
{
    fprintf(stderr, "referee: %s%s%s: %s\n%s\n", opcode_text(sample->opcode),
            sample->variant[0] != '\0' ? ", " : "", sample->variant, problem, module->data);
}

/* Tries a module; *reason is set when it is refused. */
static enum verdict try_module(const struct sample *sample, const struct text *text, int *reason)
{
    struct error err = {0};
    struct module *module = text_read_module(text->data, text->size, "coverage", 1, &err);
    struct findings findings = {0};
    enum verdict verdict = VERDICT_INVALID;
    if (module != NULL && verify_module(module, &findings)) {
        static const struct input_options edges = {.seed = 1, .boundary_values = true},
                                          zeros = {.zeros = true};
        verdict = VERDICT_VALUE;
        if (!evaluate(module, &edges, FIDELITY_EXACT, &err) ||
            !evaluate(module, &edges, FIDELITY_LITERAL, &err) ||
            !evaluate(module, &zeros, FIDELITY_EXACT, &err)) {
            *reason = reason_of(err.message);
            bool known = *reason >= 0 && err.code == ERROR_UNIMPLEMENTED &&
                         names_instruction(module, err.message);
            verdict = known ? VERDICT_REFUSED : VERDICT_BROKEN;
            if (!known) {
                complain(sample, err.message, text);
            }
        }
    }
    findings_finish(&findings);
    module_destroy(module);
    return verdict;
}

/* --- going through all --- */

static bool uses_second(const struct sample *sample)
{
    return strstr(sample->entry, "$2") != NULL || strstr(sample->computations, "$2") != NULL;
}

static bool uses_type(const struct sample *sample)
{
    return strchr(sample->entry, '$') != NULL || strchr(sample->computations, '$') != NULL;
}

static void save_module(const struct walker *walker, int sample, enum type first, enum type second,
                        enum verdict verdict, const struct text *text)
{
    static const char *const words[] = {"invalid", "value", "refused", "broken"};
    struct error err = {0};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", walker->folder, words[verdict]);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s.%d.%s.%s.hlo", walker->folder, words[verdict],
             opcode_text(walker->samples[sample].opcode), sample, type_text(first),
             type_text(second));
    if (!file_write(path, text->data, text->size, &err)) {
        print_error(&err);
    }
}

static void add_name(struct text *names, enum type type)
{
    text_printf(names, "%s%s", names->size > 0 ? " " : "", type_text(type));
}

/* Tries a sample with these types and counts it. */
static enum verdict walk_pair(struct walker *walker, int s, enum type first, enum type second,
                              struct cell *cell, struct text *text)
{
    const struct sample *sample = &walker->samples[s];
    write_module(sample, first, second, text);
    int reason = 0;
    enum verdict verdict = try_module(sample, text, &reason);
    walker->verdicts[verdict]++;
    cell->all++;
    cell->value += verdict == VERDICT_VALUE;
    cell->refused += verdict == VERDICT_REFUSED;
    if (verdict == VERDICT_REFUSED) {
        cell->reasons[reason] = walker->reasons[reason] = true;
    }
    if (walker->folder != NULL) {
        save_module(walker, s, first, second, verdict, text);
    }
    return verdict;
}

static void walk_type(struct walker *walker, int s, enum type first, struct cell *cell,
                      struct text *text)
{
    const struct sample *sample = &walker->samples[s];
    bool seen[4] = {false};
    if (sample->other_float) {
        int count = type_is_float(first) ? (int)(sizeof other_floats / sizeof *other_floats) : 0;
        for (int i = 0; i < count; i++) {
            if (other_floats[i] != first) {
                seen[walk_pair(walker, s, first, other_floats[i], cell, text)] = true;
            }
        }
    } else if (uses_second(sample)) {
        for (int k = 1; k < TYPE_COUNT; k++) {
            seen[walk_pair(walker, s, first, (enum type)k, cell, text)] = true;
        }
    } else {
        seen[walk_pair(walker, s, first, first, cell, text)] = true;
    }
    if (seen[VERDICT_VALUE]) {
        add_name(&cell->values, first);
    }
    if (seen[VERDICT_REFUSED]) {
        add_name(&cell->refusals, first);
    }
}

static void walk(struct walker *walker)
{
    struct text text;
    text_init(&text);
    for (int s = 0; s < walker->count; s++) {
        for (int c = 0; c < COLUMN_COUNT; c++) {
            text_init(&walker->cells[s][c].values);
            text_init(&walker->cells[s][c].refusals);
            for (int t = 1; t < TYPE_COUNT; t++) {
                if (type_kind((enum type)t) == columns[c].kind) {
                    walk_type(walker, s, (enum type)t, &walker->cells[s][c], &text);
                    if (!uses_type(&walker->samples[s])) {
                        break;
                    }
                }
            }
        }
    }
    text_finish(&text);
}

/* --- the table --- */

static void print_cell(const struct sample *sample, const struct cell *cell)
{
    bool pairs = uses_second(sample);
    printf(" |");
    if (cell->all == 0) {
        return;
    }
    if (cell->value == cell->all) {
        printf(" all");
    } else if (cell->value > 0 && pairs) {
        printf(" %d", cell->value);
    } else if (cell->value > 0) {
        printf(" %s", cell->values.data);
    } else if (cell->refused == 0) {
        printf(" –");
    }
    if (cell->refused > 0) {
        printf(" refused");
        for (int i = 0; i < REASON_COUNT; i++) {
            if (cell->reasons[i]) {
                printf(" [%d]", i + 1);
            }
        }
        if (pairs) {
            printf(": %d", cell->refused);
        } else if (cell->refused < cell->all) {
            printf(": %s", cell->refusals.data);
        }
    }
}

static void print_table(const struct walker *walker)
{
    printf("# Coverage\n\n"
           "Written by `referee show coverage`, which makes a small module for every opcode, every "
           "way to use\nit and every element type (or pair of types), asks the verifier, which "
           "accepts what XLA's accepts,\nand evaluates what is accepted, on one device, in both "
           "fidelities, with values from\nthe edges of the types.\n\n"
           "%d modules: %d evaluate, %d are refused by name, %d are no valid HLO.\n\n"
           "`all`: every type of the column (with pairs: every pair). Names: these types. A "
           "number: so many\npairs, the first type being of the column. `–`: no valid HLO. "
           "`no array` stands for tuple, token,\nopaque and buffer.\n\n",
           walker->verdicts[VERDICT_VALUE] + walker->verdicts[VERDICT_REFUSED] +
               walker->verdicts[VERDICT_INVALID],
           walker->verdicts[VERDICT_VALUE], walker->verdicts[VERDICT_REFUSED],
           walker->verdicts[VERDICT_INVALID]);
    printf("| opcode | use");
    for (int c = 0; c < COLUMN_COUNT; c++) {
        printf(" | %s", columns[c].title);
    }
    printf(" |\n|---|---|---|---|---|---|---|---|\n");
    for (int o = 0; o < OPCODE_COUNT; o++) {
        for (int s = 0; s < walker->count; s++) {
            const struct sample *sample = &walker->samples[s];
            if ((int)sample->opcode != o) {
                continue;
            }
            printf("| %s | %s", opcode_text(sample->opcode), sample->variant);
            for (int c = 0; c < COLUMN_COUNT; c++) {
                print_cell(sample, &walker->cells[s][c]);
            }
            printf(" |\n");
        }
    }
    printf("\n## Why something is refused\n\n");
    for (int i = 0; i < REASON_COUNT; i++) {
        if (walker->reasons[i]) {
            printf("%d. %s\n", i + 1, reasons[i].why);
        }
    }
}

/* Opcodes without a sample: there must be none. */
static int count_missing(void)
{
    int missing = 0;
    for (int o = 0; o < OPCODE_COUNT; o++) {
        bool found = false;
        for (int s = 0; s < WRITTEN_COUNT && !found; s++) {
            found = (int)written[s].opcode == o;
        }
        if (!found) {
            fprintf(stderr, "referee: no sample of %s\n", opcode_text((enum opcode)o));
            missing++;
        }
    }
    return missing;
}

int show_coverage(const char *folder)
{
    struct walker *walker = memory_zalloc(sizeof *walker);
    walker->folder = folder;
    int missing = count_missing();
    collect_samples(walker);
    walk(walker);
    print_table(walker);
    int status = missing + walker->verdicts[VERDICT_BROKEN] > 0 ? EXIT_FINDINGS : EXIT_AS_EXPECTED;
    for (int s = 0; s < walker->count; s++) {
        for (int c = 0; c < COLUMN_COUNT; c++) {
            text_finish(&walker->cells[s][c].values);
            text_finish(&walker->cells[s][c].refusals);
        }
    }
    arena_finish(&walker->arena);
    free(walker);
    return status;
}
