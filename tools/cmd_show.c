/* referee show: what is supported, or what is in a file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/mutant.h"
#include "backend/plugins.h"
#include "compare/passes.h"
#include "compare/profile.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/floats.h"
#include "hlo/literal.h"
#include "hlo/mlir/ir.h"
#include "hlo/module.h"
#include "hlo/mutate/mutate.h"
#include "hlo/text/text_format.h"
#include "interp/custom_call.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/show_coverage.h"

static void show_ops(void)
{
    printf("%-26s %-8s %-24s %-26s %s\n", "opcode", "operands", "shape", "golden", "attributes");
    int evaluated = 0;
    for (int i = 0; i < OPCODE_COUNT; i++) {
        const struct opcode_info *op = &opcode_table[i];
        char arity[16] = "any";
        if (op->arity != VARIADIC) {
            snprintf(arity, sizeof arity, "%d", op->arity);
        }
        printf("%-26s %-8s %-24s %-26s %s\n", op->text, arity, op->infer, op->eval, op->attributes);
        evaluated += strcmp(op->eval, "unsupported") != 0;
    }
    printf("\n%d opcodes, %d evaluated by the golden interpreter. \"!\" marks required "
           "attributes;\nshape \"given\" must be written in text.\n",
           OPCODE_COUNT, evaluated);
}

static void show_mlir(void)
{
    static const struct {
        const char *form, *import;
    } rows[MLIR_OP_COUNT] = {
#define MLIR_OP(id, name, form, import, opcode) [MLIR_OP_##id] = {#form, #import},
#include "hlo/mlir/ops.def"
    };
    int translated = 0;
    printf("%-36s %-26s %-26s %s\n", "op", "short form", "translated by", "to");
    for (enum mlir_opcode op = MLIR_OP_UNKNOWN + 1; op < MLIR_OP_COUNT; op++) {
        enum opcode opcode = mlir_opcode_hlo(op);
        printf("%-36s %-26s %-26s %s\n", mlir_opcode_name(op), rows[op].form, rows[op].import,
               opcode != OPCODE_COUNT ? opcode_text(opcode) : "");
        translated += strcmp(rows[op].import, "unsupported") != 0;
    }
    printf("\n%d ops of MLIR are known, %d of them translated to HLO by themselves.\n",
           MLIR_OP_COUNT - 1, translated);
}

static void show_types(void)
{
    static const char *const kinds[] = {"", "pred", "signed", "unsigned", "float", "complex"};
    printf("%-15s %6s  %-9s %5s  %-10s %-12s %s\n", "type", "number", "kind", "bits", "largest",
           "min normal", "Inf NaN −0");
    for (int i = 1; i < TYPE_COUNT; i++) {
        enum type type = (enum type)i;
        printf("%-15s %6d  %-9s %5d", type_text(type), i, kinds[type_kind(type)], type_bits(type));
        if (type_is_float(type)) {
            printf("  %-10.4g %-12.4g %-3s %-3s %s", float_max(type), float_min_normal(type),
                   float_has_infinity(type) ? "yes" : "no", float_has_nan(type) ? "yes" : "no",
                   float_has_negative_zero(type) ? "yes" : "no");
        }
        printf("\n");
    }
}

static void show_backends(void)
{
    for (int i = 0; i < backend_scheme_count; i++) {
        printf("%-10s %s\n", backend_schemes[i].scheme, backend_schemes[i].summary);
    }
    printf("\ntargets, compiled for without having them (?target=NAME):\n");
    for (int i = 0; i < backend_target_count; i++) {
        const struct backend_target *target = &backend_targets[i];
        printf("  %-5s %-12s %s\n", target->scheme, target->name, target->what);
    }
    printf("\nplugins:\n");
    for (int i = 0; i < plugin_row_count; i++) {
        char *library = plugin_library(&plugin_rows[i]);
        printf("  %-5s ", plugin_rows[i].name);
        if (library != NULL) {
            puts(library);
        } else {
            printf("not there; type: referee fetch %s\n", plugin_rows[i].name);
        }
        free(library);
    }
    printf("\nreleases of XLA's CPU compiler, the oldest first:\n");
    for (int i = 0; i < plugin_release_count; i++) {
        const struct plugin_row *row = &plugin_releases[i];
        char *file = plugin_library(row);
        printf("  %-14s %s  %s\n", row->name, row->date, file != NULL ? "there" : "not there");
        free(file);
    }
    printf("\nprofiles (what a backend may do):\n");
    for (int i = 0; i < profile_count; i++) {
        printf("  %-8s %s\n", profiles[i].name, profiles[i].summary);
    }
}

static void show_tolerances(void)
{
    struct text text;
    text_init(&text);
    profile_explain(&text);
    fputs(text.data, stdout);
    text_finish(&text);
}

static void show_passes(void)
{
    struct text text;
    text_init(&text);
    pass_rules_explain(&text);
    fputs(text.data, stdout);
    text_finish(&text);
}

static void show_custom_calls(void)
{
    struct text text;
    text_init(&text);
    custom_call_explain(&text);
    fputs(text.data, stdout);
    text_finish(&text);
}

static int show_literal(const char *data, size_t size, enum format format)
{
    struct error err = {0};
    struct literal *literal = format == FORMAT_NPY ? npy_read(data, size, NULL, &err)
                                                   : proto_read_literal(data, size, &err);
    if (literal == NULL) {
        print_error(&err);
        return EXIT_USAGE;
    }
    struct text text;
    text_init(&text);
    shape_print(literal->shape, true, &text);
    text_char(&text, ' ');
    literal_print(literal, true, 0, &text);
    printf("%s\n", text.data);
    text_finish(&text);
    literal_release(literal);
    return EXIT_AS_EXPECTED;
}

static void show_module(const struct loaded_module *part)
{
    const struct module *module = part->module;
    int counts[OPCODE_COUNT] = {0};
    int64_t parameter_bytes = 0;
    for (int c = 0; c < module->count; c++) {
        for (int i = 0; i < module->computations[c]->count; i++) {
            counts[module->computations[c]->instructions[i]->opcode]++;
        }
    }
    printf("// %s: %d computations, %d instructions", part->name, module->count,
           module_instruction_count(module));
    for (int i = 0; i < module->entry->parameter_count; i++) {
        parameter_bytes += shape_bytes(module->entry->parameters[i]->shape);
    }
    printf(", %d parameters of %.3g MB", module->entry->parameter_count,
           (double)parameter_bytes / 1e6);
    if (module->elided_count > 0) {
        printf(", %d elided constants", module->elided_count);
    }
    if (part->sets.count > 0) {
        printf(", %d arguments in the file", part->sets.sets[0].count);
    }
    printf("\n//");
    for (int i = 0; i < OPCODE_COUNT; i++) {
        if (counts[i] > 0) {
            printf(" %s:%d", opcode_text((enum opcode)i), counts[i]);
        }
    }
    printf("\n");
    struct text text;
    text_init(&text);
    text_print_module(module, &print_short, &text);
    fputs(text.data, stdout);
    text_finish(&text);
}

static int show_file(const char *path)
{
    struct error err = {0};
    size_t size;
    char *data = file_read(path, &size, &err);
    if (data == NULL) {
        print_error(&err);
        return EXIT_USAGE;
    }
    enum format format = format_of(data, size);
    int status = EXIT_AS_EXPECTED;
    struct loaded_file file;
    if (format == FORMAT_NPY || format == FORMAT_LITERAL) {
        status = show_literal(data, size, format);
    } else if (!module_load_memory(path, data, size, &file, &err)) {
        print_error(&err);
        status = EXIT_USAGE;
    } else {
        for (int i = 0; i < file.count; i++) {
            if (file.modules[i].error != NULL) {
                print_error(file.modules[i].error);
                status = EXIT_USAGE;
            } else {
                show_module(&file.modules[i]);
            }
        }
        loaded_file_finish(&file);
    }
    free(data);
    return status;
}

/* All classes of faults that 'mutant:' backends can have. */
static void show_fault_classes(void)
{
    for (int i = 0; i < mutant_class_count(); i++) {
        struct mutant_class class = mutant_class(i);
        printf("%-20s %-7s %s\n", class.name, class.in_outputs ? "output" : "module",
               class.summary);
    }
}

/* Where faults can be planted: class, computation, instruction, opcode; a line each. */
static int show_faults(const char *path)
{
    struct error err = {0};
    struct loaded_file file;
    if (!module_load(path, &file, &err)) {
        print_error(&err);
        return EXIT_USAGE;
    }
    int status = EXIT_AS_EXPECTED;
    for (int i = 0; i < file.count; i++) {
        if (file.modules[i].error != NULL) {
            print_error(file.modules[i].error);
            status = EXIT_USAGE;
            continue;
        }
        struct mutation_places places;
        mutation_places(file.modules[i].module, NULL, &places);
        for (int k = 0; k < places.count; k++) {
            const struct instruction *instruction = places.list[k].instruction;
            printf("%s %s %s %s\n", places.list[k].mutation->name, instruction->parent->name,
                   instruction->name, opcode_text(instruction->opcode));
        }
        mutation_places_finish(&places);
    }
    loaded_file_finish(&file);
    return status;
}

int command_show(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*show)(void);
    } topics[] = {{"ops", show_ops},
                  {"mlir", show_mlir},
                  {"types", show_types},
                  {"backends", show_backends},
                  {"tolerances", show_tolerances},
                  {"passes", show_passes},
                  {"custom-calls", show_custom_calls}};
    bool help = false;
    const char *folder = NULL;
    const struct option table[] = {
        {"modules", 0, OPTION_TEXT, &folder, "FOLDER", "coverage: write the modules there, too"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    struct string_list words = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &words)) {
        return EXIT_USAGE;
    }
    if (help || words.count == 0) {
        fprintf(
            help ? stdout : stderr,
            "usage: referee show "
            "ops|mlir|types|backends|tolerances|passes|coverage|custom-calls|MODULE|LITERAL\n"
            "       referee show faults [MODULE…]\n\n"
            "  ops         all opcodes: operands, shape rule, golden evaluator, attributes\n"
            "  mlir        all ops of MLIR that are known: short form, what makes HLO of them\n"
            "  types       all primitive types with their ranges\n"
            "  backends    the backend schemes, the fetched plugin, the profiles\n"
            "  tolerances  how results are compared, and the bounds by operation and type\n"
            "  passes      which compiler passes may change bits, how far, and why\n"
            "  coverage    every opcode and type tried on the golden, in Markdown "
            "(docs/coverage.md);\n"
            "              --modules FOLDER keeps the modules\n"
            "  custom-calls  the targets that are known or refused by name, in Markdown\n"
            "  faults      the classes of faults that 'mutant:' backends can have; for modules, "
            "where:\n"
            "              class, computation, instruction, opcode\n"
            "  FILE        a module (short form, with counts) or a literal\n");
        return help ? EXIT_AS_EXPECTED : EXIT_USAGE;
    }
    int status = EXIT_AS_EXPECTED;
    if (strcmp(words.items[0], "faults") == 0) {
        if (words.count == 1) {
            show_fault_classes();
        }
        for (size_t i = 1; i < words.count; i++) {
            int one = show_faults(words.items[i]);
            status = one > status ? one : status;
        }
        string_list_finish(&words);
        return status;
    }
    for (size_t i = 0; i < words.count; i++) {
        bool shown = false;
        for (size_t k = 0; k < sizeof topics / sizeof *topics; k++) {
            if (strcmp(words.items[i], topics[k].name) == 0) {
                topics[k].show();
                shown = true;
            }
        }
        bool coverage = strcmp(words.items[i], "coverage") == 0;
        int one = shown      ? EXIT_AS_EXPECTED
                  : coverage ? show_coverage(folder)
                             : show_file(words.items[i]);
        status = one > status ? one : status;
    }
    string_list_finish(&words);
    return status;
}
