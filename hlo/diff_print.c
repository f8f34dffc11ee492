/* A diff as text: unified, one instruction a line, in the short form of HLO. */
#include <stdlib.h>
#include <string.h>

#include "hlo/base/text.h"
#include "hlo/diff.h"
#include "hlo/diff_graph.h"
#include "hlo/text/text_format.h"

enum {
    MOST_USERS = 3,   /* of one instruction that are shown around it */
    MOST_NAMES = 12,  /* of the instructions in a group */
    MOST_CHARS = 240, /* of a line */
    MOST_LITERAL = 10,
    MOST_GROUPS = 40,
    MOST_LOOKED_UP = 64, /* entries of a computation whose old operands are shown, too */
};

struct printer {
    const struct diff *diff;
    struct text *out;
    int context;
    struct text line, before; /* scratch */
};

/* Without what is no difference: metadata, sharding, configuration. */
static void print_instruction(const struct instruction *instruction, bool layouts, struct text *out)
{
    struct attr *attrs = memory_alloc(((size_t)instruction->attr_count + 1) * sizeof *attrs);
    struct instruction copy = *instruction;
    copy.attrs = attrs;
    copy.attr_count = 0;
    copy.control_count = 0;
    for (int i = 0; i < instruction->attr_count; i++) {
        enum attr_key key = instruction->attrs[i].key;
        if (diff_attr_matters(instruction, &instruction->attrs[i]) || key == ATTR_KIND ||
            key == ATTR_CHANNEL_ID) {
            attrs[copy.attr_count++] = instruction->attrs[i];
        }
    }
    struct print_options options = {.layouts = layouts || instruction->opcode == OP_BITCAST,
                                    .literal_limit = MOST_LITERAL};
    if (instruction == instruction->parent->root) {
        text_append(out, "ROOT ");
    }
    text_print_instruction(&copy, &options, out);
    free(attrs);
}

/* The line, or what fits of it around the character `at`. */
static void print_cut(char mark, const struct text *line, size_t at, struct text *out)
{
    size_t begin = 0, end = line->size;
    if (line->size > MOST_CHARS) {
        begin = at > MOST_CHARS / 2 ? at - MOST_CHARS / 2 : 0;
        begin = begin + MOST_CHARS > line->size ? line->size - MOST_CHARS : begin;
        end = begin + MOST_CHARS;
        while (begin > 0 && ((unsigned char)line->data[begin] & 0xc0) == 0x80) {
            begin--;
        }
        while (end < line->size && ((unsigned char)line->data[end] & 0xc0) == 0x80) {
            end++;
        }
    }
    text_char(out, mark);
    text_append(out, "   ");
    if (begin > 0) {
        /* The name stays. */
        const char *equals = strstr(line->data, " = ");
        size_t name = equals == NULL ? 0 : (size_t)(equals - line->data) + 3;
        if (name < begin && name < MOST_CHARS / 2) {
            text_append_n(out, line->data, name);
        }
        text_append(out, "…");
    }
    text_append_n(out, line->data + begin, end - begin);
    text_append(out, end < line->size ? "…\n" : "\n");
}

static void print_one(struct printer *printer, char mark, const struct instruction *instruction)
{
    text_clear(&printer->line);
    print_instruction(instruction, false, &printer->line);
    print_cut(mark, &printer->line, 0, printer->out);
}

static void print_pair(struct printer *printer, const struct instruction *old,
                       const struct instruction *new, bool layouts)
{
    text_clear(&printer->before);
    text_clear(&printer->line);
    print_instruction(old, layouts, &printer->before);
    print_instruction(new, layouts, &printer->line);
    size_t at = 0;
    while (at < printer->line.size && at < printer->before.size &&
           printer->line.data[at] == printer->before.data[at]) {
        at++;
    }
    print_cut('-', &printer->before, at, printer->out);
    print_cut('+', &printer->line, at, printer->out);
}

/* --- what is shown --- */

/* Shows what is up to `steps` operands or users away from the instruction. */
static void show_around(const struct users *users, char *shown, const struct instruction *from,
                        int steps)
{
    if (shown[from->id] > steps) {
        return; /* shown from nearer */
    }
    shown[from->id] = (char)(steps + 1);
    for (int i = 0; steps > 0 && i < from->operand_count; i++) {
        show_around(users, shown, from->operands[i], steps - 1);
    }
    int begin = users->first[from->id], end = users->first[from->id + 1];
    for (int i = begin; steps > 0 && i < end && i < begin + MOST_USERS; i++) {
        show_around(users, shown, users->list[i], steps - 1);
    }
}

/* The instruction of the computation that stands for an old one now, or NULL. */
static const struct instruction *find_counterpart(const struct diff *diff,
                                                  const struct computation *computation,
                                                  const struct instruction *old)
{
    for (int i = 0; i < computation->count; i++) {
        if (diff->counterparts[computation->id][i] == old) {
            return computation->instructions[i];
        }
    }
    return NULL;
}

/* Entries [first, last) are those of the computation. */
static void print_hunk(struct printer *printer, const struct computation *computation, int first,
                       int last)
{
    const struct diff *diff = printer->diff;
    char *shown = memory_zalloc((size_t)computation->count + 1);
    struct users users;
    users_build(computation, &users);
    for (int e = first; e < last && printer->context > 0; e++) {
        const struct diff_entry *entry = &diff->entries[e];
        if (entry->new != NULL) {
            show_around(&users, shown, entry->new, printer->context);
            continue;
        }
        if (entry->place < computation->count) {
            show_around(&users, shown, computation->instructions[entry->place],
                        printer->context - 1);
        }
        for (int i = 0; last - first < MOST_LOOKED_UP && i < entry->old->operand_count; i++) {
            const struct instruction *operand =
                find_counterpart(diff, computation, entry->old->operands[i]);
            if (operand != NULL) {
                show_around(&users, shown, operand, printer->context - 1);
            }
        }
    }
    users_finish(&users);
    text_printf(printer->out, "@@ %s%s @@\n", computation->name,
                computation == diff->new->entry ? " (entry)" : "");
    bool is_gap = false;
    for (int i = 0, e = first; i <= computation->count; i++) {
        int begin = e;
        for (; e < last && diff->entries[e].place == i; e++) {
            const struct diff_entry *entry = &diff->entries[e];
            text_append(printer->out, is_gap ? "  …\n" : "");
            is_gap = false;
            if (entry->kind == DIFF_CHANGED) {
                print_pair(printer, entry->old, entry->new, false);
            } else {
                print_one(printer, entry->kind == DIFF_ADDED ? '+' : '-',
                          entry->kind == DIFF_ADDED ? entry->new : entry->old);
            }
        }
        if (i == computation->count || (e > begin && diff->entries[e - 1].new != NULL)) {
            continue;
        }
        if (shown[i] != 0) {
            text_append(printer->out, is_gap ? "  …\n" : "");
            is_gap = false;
            print_one(printer, ' ', computation->instructions[i]);
        } else {
            is_gap = true;
        }
    }
    free(shown);
}

/* --- what differs in groups or in form only --- */

static void print_group(struct printer *printer, char mark, const struct instruction *group)
{
    struct text *out = printer->out;
    text_printf(out, "%c   %s = %s", mark, group->name, opcode_text(group->opcode));
    const struct attr *kind = attr_get(group, ATTR_KIND);
    if (kind != NULL) {
        text_printf(out, " %s", attr_enum_text(ATTR_KIND_FUSION_KIND, kind->integer));
    }
    const struct computation *computation = group->called[0];
    int count = 0;
    for (int i = 0; i < computation->count; i++) {
        const struct instruction *instruction = computation->instructions[i];
        if (instruction->opcode != OP_PARAMETER && instruction->opcode != OP_CONSTANT) {
            if (count < MOST_NAMES) {
                text_printf(out, "%s%s", count > 0 ? ", " : " of ", instruction->name);
            }
            count++;
        }
    }
    if (count > MOST_NAMES) {
        text_printf(out, ", and %d more", count - MOST_NAMES);
    }
    text_char(out, '\n');
}

static void print_group_list(struct printer *printer, char mark,
                             const struct instruction *const *groups, int count)
{
    for (int i = 0; i < count && i < MOST_GROUPS; i++) {
        print_group(printer, mark, groups[i]);
    }
    if (count > MOST_GROUPS) {
        text_printf(printer->out, "%c   … and %d more\n", mark, count - MOST_GROUPS);
    }
}

static void print_groups(struct printer *printer)
{
    const struct diff *diff = printer->diff;
    if (diff->regrouped_count + diff->dissolved_count > 0) {
        text_append(printer->out, "@@ groups @@\n");
        print_group_list(printer, '-', diff->dissolved, diff->dissolved_count);
        print_group_list(printer, '+', diff->regrouped, diff->regrouped_count);
    }
}

static void print_layouts(struct printer *printer)
{
    const struct diff *diff = printer->diff;
    int count = 0;
    for (int c = 0; c < diff->new->count; c++) {
        const struct computation *computation = diff->new->computations[c];
        bool begun = false;
        for (int i = 0; i < computation->count; i++) {
            const struct instruction *old = diff->counterparts[c][i];
            if (old == NULL || old->shape == computation->instructions[i]->shape) {
                continue;
            }
            if (!begun) {
                text_printf(printer->out, "@@ %s: layouts @@\n", computation->name);
                begun = true;
            }
            print_pair(printer, old, computation->instructions[i], true);
            count++;
        }
    }
    if (count == 0) {
        text_append(printer->out, "Only the order of instructions differs.\n");
    }
}

static const char *title_of(const struct module *module)
{
    const char *title = module->source != NULL ? module->source : module->name;
    const char *slash = strrchr(title, '/');
    return slash != NULL ? slash + 1 : title;
}

void diff_print(const struct diff *diff, int context, struct text *out)
{
    struct printer printer = {.diff = diff, .out = out, .context = context > 100 ? 100 : context};
    if (diff->count == 0 && diff->regrouped_count == 0 && diff->dissolved_count == 0 &&
        !diff->layouts_only) {
        text_append(out, "Nothing differs in what is computed.\n");
        return;
    }
    text_init(&printer.line);
    text_init(&printer.before);
    text_printf(out, "--- %s\n+++ %s\n", title_of(diff->old), title_of(diff->new));
    for (int first = 0, last; first < diff->count; first = last) {
        int computation = diff->entries[first].computation;
        for (last = first + 1; last < diff->count && diff->entries[last].computation == computation;
             last++) {
        }
        print_hunk(&printer, diff->new->computations[computation], first, last);
    }
    print_groups(&printer);
    if (diff->layouts_only) {
        print_layouts(&printer);
    }
    text_finish(&printer.line);
    text_finish(&printer.before);
}
