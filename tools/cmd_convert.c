/* referee convert: a module or literal from one format to another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "hlo/text/text_format.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/parts.h"

enum target {
    TARGET_TEXT,
    TARGET_LONG,
    TARGET_SHORT,
    TARGET_MODULE,
    TARGET_HLO,
    TARGET_SNAPSHOT,
    TARGET_MLIR,
    TARGET_LITERAL,
    TARGET_NPY,
    TARGET_NONE
};

/* What can be written; the first row of an ending is what `-o FILE.ending` means. */
static const struct {
    const char *name, *ending;
    enum target target;
    const char *help;
} targets[] = {
    {"text", ".hlo", TARGET_TEXT, "HLO text, canonical, with all information"},
    {"text", ".txt", TARGET_TEXT, NULL},
    {"long", NULL, TARGET_LONG, "HLO text as XLA dumps it: % signs, operand shapes"},
    {"short", NULL, TARGET_SHORT, "HLO text for people: no metadata, long constants elided"},
    {"hlo-proto", ".hlo.pb", TARGET_HLO, "HloProto, as XLA dumps it"},
    {"module", ".pb", TARGET_MODULE, "HloModuleProto"},
    {"snapshot", NULL, TARGET_SNAPSHOT, "HloSnapshot (with the arguments of the input, if any)"},
    {"mlir", ".mlir", TARGET_MLIR, "MLIR text in generic form: StableHLO"},
    {"npy", ".npy", TARGET_NPY, "NumPy array (from a literal)"},
    {"literal", ".lit", TARGET_LITERAL, "LiteralProto (from a literal)"},
};
enum { TARGET_ROWS = sizeof targets / sizeof *targets };

static enum target target_by_name(const char *name)
{
    for (int i = 0; i < TARGET_ROWS; i++) {
        if (strcmp(targets[i].name, name) == 0) {
            return targets[i].target;
        }
    }
    return TARGET_NONE;
}

static enum target target_by_ending(const char *path)
{
    size_t size = strlen(path);
    for (int i = 0; i < TARGET_ROWS; i++) {
        size_t length = targets[i].ending != NULL ? strlen(targets[i].ending) : 0;
        if (length > 0 && size > length && strcmp(path + size - length, targets[i].ending) == 0) {
            return targets[i].target;
        }
    }
    return TARGET_NONE;
}

static void *module_bytes(const struct module *module, enum target target, size_t *size,
                          struct error *err)
{
    static const struct print_options *const prints[] = {[TARGET_TEXT] = &print_canonical,
                                                         [TARGET_LONG] = &print_long,
                                                         [TARGET_SHORT] = &print_short};
    static const enum proto_kind kinds[] = {[TARGET_MODULE] = PROTO_MODULE,
                                            [TARGET_HLO] = PROTO_HLO,
                                            [TARGET_SNAPSHOT] = PROTO_SNAPSHOT};
    if (target <= TARGET_SHORT) {
        struct text text;
        text_init(&text);
        text_print_module(module, prints[target], &text);
        *size = text.size;
        char *data = text_take(&text);
        text_finish(&text);
        return data;
    }
    if (target <= TARGET_SNAPSHOT) {
        return proto_write_module(module, kinds[target], size, err);
    }
    error_set(err, ERROR_INVALID_ARGUMENT, "a module cannot be written as a literal");
    return NULL;
}

/* What came as MLIR is printed as it was read, HLO is translated. */
static void *mlir_bytes(const struct loaded_module *part, size_t *size, struct error *err)
{
    struct mlir_file *made = part->mlir == NULL ? mlir_export(part->module, err) : NULL;
    const struct mlir_file *mlir = made != NULL ? made : part->mlir;
    struct text text;
    text_init(&text);
    if (mlir != NULL) {
        mlir_print(mlir, &text);
    }
    mlir_file_destroy(made);
    *size = text.size;
    char *data = mlir != NULL ? text_take(&text) : NULL;
    text_finish(&text);
    return data;
}

static void *literal_bytes(const struct literal *literal, enum target target, size_t *size,
                           struct error *err)
{
    if (target == TARGET_NPY) {
        return npy_write(literal, size, err);
    }
    if (target == TARGET_LITERAL || target == TARGET_MODULE) {
        return proto_write_literal(literal, size, err);
    }
    if (target == TARGET_TEXT || target == TARGET_SHORT) {
        struct text text;
        text_init(&text);
        shape_print(literal->shape, false, &text);
        text_char(&text, ' ');
        literal_print(literal, false, target == TARGET_SHORT ? 64 : 0, &text);
        text_char(&text, '\n');
        *size = text.size;
        char *data = text_take(&text);
        text_finish(&text);
        return data;
    }
    error_set(err, ERROR_INVALID_ARGUMENT, "a literal cannot be written as a module");
    return NULL;
}

/* Reads, converts, writes; false with *err. */
static bool convert(const char *in, const char *out, enum target target,
                    const struct string_list *shapes, struct error *err)
{
    size_t size;
    char *data = file_read(in, &size, err);
    if (data == NULL) {
        return false;
    }
    enum format format = format_of(data, size);
    void *bytes = NULL;
    size_t written = 0;
    if (format == FORMAT_NPY || format == FORMAT_LITERAL) {
        struct literal *literal = format == FORMAT_NPY ? npy_read(data, size, NULL, err)
                                                       : proto_read_literal(data, size, err);
        bytes = literal != NULL ? literal_bytes(literal, target, &written, err) : NULL;
        literal_release(literal);
    } else {
        struct loaded_file file;
        if (module_load_memory(in, data, size, &file, err)) {
            if (file.count != 1) {
                error_set(err, ERROR_INVALID_ARGUMENT, "%s holds %d modules; convert takes one", in,
                          file.count);
            } else if (target == TARGET_MLIR &&
                       (file.modules[0].mlir != NULL || file.modules[0].module != NULL)) {
                bytes = mlir_bytes(&file.modules[0], &written, err);
            } else if (!part_refine(&file.modules[0], shapes, &(struct string_list){0}, err)) {
                /* *err says why */
            } else if (file.modules[0].error != NULL) {
                *err = *file.modules[0].error;
            } else {
                bytes = module_bytes(file.modules[0].module, target, &written, err);
            }
            loaded_file_finish(&file);
        }
    }
    free(data);
    bool ok = bytes != NULL && file_write(out, bytes, written, err);
    free(bytes);
    return ok;
}

int command_convert(int argc, char **argv)
{
    const char *out = NULL, *to = NULL;
    struct string_list shapes = {0};
    bool help = false;
    const struct option table[] = {
        {"output", 'o', OPTION_TEXT, &out, "OUT", "file to write (- = stdout)"},
        {"to", 't', OPTION_TEXT, &to, "FORMAT", "format; by default told by the ending of OUT"},
        {"entry", 0, OPTION_TEXT, &load_options.entry, "NAME",
         "the function to take of an MLIR file (default: main, or the only public one)"},
        {"shapes", 0, OPTION_LIST, &shapes, "SHAPE",
         "shape of an argument, one per argument in order, where a function of an MLIR file leaves "
         "sizes open"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    struct string_list paths = {0};
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        return EXIT_USAGE;
    }
    if (help) {
        printf("usage: referee convert IN -o OUT [--to FORMAT]\n\n"
               "Reads a module or a literal (told by content) and writes it in another format. "
               "OUT is\nwritten whole or not at all.\n\n");
        options_help(table);
        printf("\nformats:\n");
        for (int i = 0; i < TARGET_ROWS; i++) {
            if (targets[i].help != NULL) {
                printf("  %-10s %-8s %s\n", targets[i].name,
                       targets[i].ending != NULL ? targets[i].ending : "", targets[i].help);
            }
        }
        return EXIT_AS_EXPECTED;
    }
    if (paths.count != 1 || out == NULL) {
        fprintf(stderr, "usage: referee convert IN -o OUT [--to FORMAT]\n");
        return EXIT_USAGE;
    }
    enum target target = to != NULL ? target_by_name(to) : target_by_ending(out);
    if (target == TARGET_NONE && to == NULL && strcmp(out, "-") == 0) {
        target = TARGET_TEXT;
    }
    if (target == TARGET_NONE) {
        fprintf(stderr, "referee: %s: 'referee convert --help' lists the formats\n",
                to != NULL ? "unknown format" : "the ending of OUT tells no format; give --to");
        return EXIT_USAGE;
    }
    struct error err = {0};
    bool ok = convert(paths.items[0], out, target, &shapes, &err);
    if (!ok) {
        print_error(&err);
    }
    string_list_finish(&paths);
    string_list_finish(&shapes);
    return ok ? EXIT_AS_EXPECTED : EXIT_USAGE;
}
