/* Canonical forms. */
#include "compare/canonical.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"
#include "hlo/base/map.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"

enum { LONGEST = 4000, DEEPEST = 400 };

/* --- what is particular about an instruction --- */

static void add_feature(const char *feature, int *count, struct text *out)
{
    text_append(out, (*count)++ == 0 ? "[" : ", ");
    text_append(out, feature);
}

static void add_window(const struct window *window, int *count, struct text *out)
{
    bool pad = false, negative = false, stride = false, dilated = false, holes = false;
    bool reversed = false, unit = true;
    for (int i = 0; i < window->rank; i++) {
        const struct window_dimension *dimension = &window->dimensions[i];
        pad |= dimension->padding_low > 0 || dimension->padding_high > 0;
        negative |= dimension->padding_low < 0 || dimension->padding_high < 0;
        stride |= dimension->stride > 1;
        dilated |= dimension->window_dilation > 1;
        holes |= dimension->base_dilation > 1;
        reversed |= dimension->reversal;
        unit &= dimension->size == 1;
    }
    const struct {
        bool has;
        const char *feature;
    } features[] = {{unit, "unit window"}, {pad, "pad"},        {negative, "negative pad"},
                    {stride, "stride"},    {dilated, "dilate"}, {holes, "base dilate"},
                    {reversed, "reversal"}};
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        if (features[i].has) {
            add_feature(features[i].feature, count, out);
        }
    }
}

static void add_padding(const struct padding *padding, int *count, struct text *out)
{
    bool negative = false, interior = false;
    for (int i = 0; i < padding->rank; i++) {
        const struct padding_dimension *dimension = &padding->dimensions[i];
        negative |= dimension->low < 0 || dimension->high < 0;
        interior |= dimension->interior > 0;
    }
    if (negative) {
        add_feature("negative", count, out);
    }
    if (interior) {
        add_feature("interior", count, out);
    }
}

static void add_slices(const struct slices *slices, int *count, struct text *out)
{
    bool strided = false;
    for (int i = 0; i < slices->rank; i++) {
        strided |= slices->dimensions[i].stride > 1;
    }
    if (strided) {
        add_feature("stride", count, out);
    }
}

/* Says what the program says to people and schedulers, not what is computed; or says a direction,
 * of which one is as good as another. */
static bool is_beside_the_point(enum attr_key key)
{
    return key == ATTR_METADATA || key == ATTR_KIND || key == ATTR_SCHEDULE ||
           key == ATTR_API_VERSION || key == ATTR_DIRECTION || key == ATTR_USE_GLOBAL_DEVICE_IDS ||
           key == ATTR_CONSTRAIN_LAYOUT;
}

static void add_attribute(const struct attr *attr, int *count, struct text *out)
{
    const struct attr_info *info = &attr_table[attr->key];
    const char *word;
    switch (info->kind) {
    case ATTR_KIND_WINDOW:
        add_window(&attr->window, count, out);
        break;
    case ATTR_KIND_PADDING:
        add_padding(&attr->padding, count, out);
        break;
    case ATTR_KIND_SLICES:
        add_slices(&attr->slices, count, out);
        break;
    case ATTR_KIND_BOOL:
        add_feature(info->text, count, out);
        break;
    case ATTR_KIND_STRING:
        if (attr->key == ATTR_CUSTOM_CALL_TARGET) {
            add_feature(attr->bytes.data, count, out);
        }
        break;
    case ATTR_KIND_INT:
        if (attr->key == ATTR_FEATURE_GROUP_COUNT || attr->key == ATTR_BATCH_GROUP_COUNT) {
            add_feature(info->text, count, out);
        }
        break;
    default:
        word = attr_enum_text(info->kind, attr->integer);
        if (info->kind >= ATTR_KIND_FFT_TYPE && word != NULL) {
            add_feature(word, count, out);
        }
        break;
    }
}

static void print_features(const struct instruction *instruction, struct text *out)
{
    int count = 0;
    for (int i = 0; i < instruction->attr_count; i++) {
        const struct attr *attr = &instruction->attrs[i];
        if (!is_beside_the_point(attr->key) && !attr_is_default(instruction, attr)) {
            add_attribute(attr, &count, out);
        }
    }
    text_append(out, count > 0 ? "]" : "");
}

static bool commutes(enum opcode opcode)
{
    static const enum opcode list[] = {OP_ADD, OP_MULTIPLY, OP_MAXIMUM, OP_MINIMUM,
                                       OP_AND, OP_OR,       OP_XOR};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i] == opcode) {
            return true;
        }
    }
    return false;
}

static void print_type(const struct shape *shape, struct text *out)
{
    if (!shape_is_tuple(shape)) {
        text_append(out, type_text(shape->type));
        return;
    }
    text_char(out, '(');
    for (int i = 0; i < shape->count && i < 8; i++) {
        text_append(out, i > 0 ? ", " : "");
        print_type(shape->elements[i], out);
    }
    text_append(out, shape->count > 8 ? ", …)" : ")");
}

/* The element type where it does not follow from the first operand. */
static void print_result_type(const struct instruction *instruction, struct text *out)
{
    enum type type = instruction->shape->type;
    bool follows = instruction->operand_count > 0 ? instruction->operands[0]->shape->type == type
                                                  : !shape_is_array(instruction->shape);
    bool implied = instruction->opcode == OP_COMPARE || instruction->opcode == OP_IS_FINITE ||
                   instruction->opcode == OP_SELECT || instruction->opcode == OP_TUPLE ||
                   instruction->opcode == OP_GET_TUPLE_ELEMENT ||
                   !shape_is_array(instruction->shape);
    if (!follows && !implied) {
        text_printf(out, ":%s", type_text(type));
    }
}

static bool is_leaf(const struct instruction *instruction)
{
    return instruction->opcode == OP_PARAMETER || instruction->opcode == OP_CONSTANT ||
           (instruction->opcode == OP_BROADCAST && instruction->operands[0]->opcode == OP_CONSTANT);
}

/* --- hashes, for orders --- */

struct forms {
    uint64_t **hashes; /* [computation][instruction] */
    int **uses;        /* by the instructions that the root depends on */
    int **numbers;     /* given when it is printed; 0 = not yet */
    int count;
};

static uint64_t sum_of_operands(const struct instruction *instruction, const uint64_t *hashes)
{
    uint64_t sum = 0;
    for (int k = 0; k < instruction->operand_count; k++) {
        uint64_t hash = hashes[instruction->operands[k]->id];
        sum = commutes(instruction->opcode) ? sum + hash_u64(hash, 5) : hash_u64(hash, sum);
    }
    return sum;
}

static void hash_computation(struct forms *forms, const struct computation *computation)
{
    uint64_t *hashes = forms->hashes[computation->id];
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        uint64_t hash = hash_u64((uint64_t)instruction->shape->type, 1);
        if (!is_leaf(instruction)) {
            struct text text;
            text_init(&text);
            print_features(instruction, &text);
            hash = hash_u64((uint64_t)instruction->opcode, hash);
            hash = hash_bytes(text.data, text.size, hash);
            hash = hash_u64(sum_of_operands(instruction, hashes), hash);
            for (int k = 0; k < instruction->called_count; k++) {
                const struct computation *called = instruction->called[k];
                hash = hash_u64(forms->hashes[called->id][called->root->id], hash);
            }
            text_finish(&text);
        }
        hashes[i] = hash;
    }
}

static void count_uses(struct forms *forms, const struct computation *computation)
{
    int *uses = forms->uses[computation->id];
    uses[computation->root->id] = 1;
    for (int i = computation->root->id; i >= 0; i--) {
        const struct instruction *instruction = computation->instructions[i];
        for (int k = 0; uses[i] > 0 && !is_leaf(instruction) && k < instruction->operand_count;
             k++) {
            uses[instruction->operands[k]->id]++;
        }
    }
}

static void forms_make(struct forms *forms, const struct module *module)
{
    size_t count = (size_t)module->count + 1;
    *forms = (struct forms){.hashes = memory_zalloc(count * sizeof *forms->hashes),
                            .uses = memory_zalloc(count * sizeof *forms->uses),
                            .numbers = memory_zalloc(count * sizeof *forms->numbers)};
    for (int c = 0; c < module->count; c++) {
        const struct computation *computation = module->computations[c];
        size_t room = (size_t)computation->count + 1;
        forms->hashes[c] = memory_zalloc(room * sizeof **forms->hashes);
        forms->uses[c] = memory_zalloc(room * sizeof **forms->uses);
        forms->numbers[c] = memory_zalloc(room * sizeof **forms->numbers);
        hash_computation(forms, computation);
        count_uses(forms, computation);
    }
}

static void forms_finish(struct forms *forms, const struct module *module)
{
    for (int c = 0; c < module->count; c++) {
        free(forms->hashes[c]);
        free(forms->uses[c]);
        free(forms->numbers[c]);
    }
    free(forms->hashes);
    free(forms->uses);
    free(forms->numbers);
}

/* --- printing --- */

static void print_node(struct forms *forms, const struct instruction *instruction, int depth,
                       struct text *out);

static void print_called(struct forms *forms, const struct instruction *instruction, int depth,
                         struct text *out)
{
    for (int k = 0; k < instruction->called_count; k++) {
        text_append(out, k == 0 ? "{" : "; ");
        print_node(forms, instruction->called[k]->root, depth + 1, out);
    }
    text_append(out, instruction->called_count > 0 ? "}" : "");
}

/* Operands in order, or by their hashes. */
static void print_operands(struct forms *forms, const struct instruction *instruction, int depth,
                           struct text *out)
{
    const uint64_t *hashes = forms->hashes[instruction->parent->id];
    bool turned = commutes(instruction->opcode) && instruction->operand_count == 2 &&
                  hashes[instruction->operands[0]->id] < hashes[instruction->operands[1]->id];
    text_char(out, '(');
    for (int k = 0; k < instruction->operand_count; k++) {
        int which = turned ? 1 - k : k;
        text_append(out, k > 0 ? ", " : "");
        print_node(forms, instruction->operands[which], depth + 1, out);
    }
    text_char(out, ')');
}

static void print_node(struct forms *forms, const struct instruction *instruction, int depth,
                       struct text *out)
{
    int *number = &forms->numbers[instruction->parent->id][instruction->id];
    if (out->size > LONGEST || depth > DEEPEST) {
        return;
    }
    if (*number > 0) {
        text_printf(out, "#%d", *number);
        return;
    }
    if (is_leaf(instruction)) {
        print_type(instruction->shape, out);
    } else {
        text_append(out, opcode_text(instruction->opcode));
        print_result_type(instruction, out);
        print_features(instruction, out);
        print_called(forms, instruction, depth, out);
        print_operands(forms, instruction, depth, out);
    }
    if (forms->uses[instruction->parent->id][instruction->id] > 1 &&
        instruction->opcode != OP_CONSTANT && instruction->opcode != OP_BROADCAST) {
        *number = ++forms->count;
        text_printf(out, " #%d", *number);
    }
}

void canonical_print(const struct module *module, struct text *out)
{
    struct forms forms;
    size_t start = out->size;
    forms_make(&forms, module);
    print_node(&forms, module->entry->root, 0, out);
    if (out->size - start > LONGEST) {
        out->size = start + LONGEST;
        while ((out->data[out->size] & 0xc0) == 0x80) { /* not within a character */
            out->size--;
        }
        out->data[out->size] = '\0';
        uint64_t hash = forms.hashes[module->entry->id][module->entry->root->id];
        text_printf(out, "… #%016llx", (unsigned long long)hash);
    }
    forms_finish(&forms, module);
}

void canonical_print_instruction(const struct instruction *instruction, struct text *out)
{
    struct forms forms;
    forms_make(&forms, instruction->parent->module);
    text_append(out, opcode_text(instruction->opcode));
    print_result_type(instruction, out);
    print_features(instruction, out);
    print_called(&forms, instruction, 0, out);
    text_char(out, '(');
    for (int k = 0; k < instruction->operand_count; k++) {
        text_append(out, k > 0 ? ", " : "");
        print_type(instruction->operands[k]->shape, out);
    }
    text_char(out, ')');
    forms_finish(&forms, instruction->parent->module);
}
