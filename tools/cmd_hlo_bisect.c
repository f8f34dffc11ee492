/* hlo_bisect: XLA's tool of that name, with its flags (xla/tools/hlo_bisect), on our shrinker. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/base/text.h"
#include "hlo/format.h"
#include "hlo/proto/proto_format.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/options.h"
#include "tools/shrink_command.h"
#include "tools/xla_platforms.h"

/* XLA's exit statuses. */
enum { STATUS_TRIMMED = 0, STATUS_FAILED = 1 };

/* Every --xla_… flag is passed on to the backend, as "NAME=VALUE". */
static bool take_xla_flag(void *context, const char *name, const char *value)
{
    if (strncmp(name, "xla_", 4) != 0) {
        return false;
    }
    struct text text;
    text_init(&text);
    text_printf(&text, "%s=%s", name, value != NULL ? value : "true");
    string_list_add(context, text_take(&text));
    text_finish(&text);
    return true;
}

static bool make_folder(const char *path)
{
    struct text part;
    text_init(&part);
    bool good = true;
    for (const char *c = path; good; c++) {
        if ((*c == '/' || *c == '\0') && part.size > 0) {
            good = mkdir(part.data, 0777) == 0 || errno == EEXIST;
        }
        if (*c == '\0') {
            break;
        }
        text_char(&part, *c);
    }
    if (!good) {
        fprintf(stderr, "hlo_bisect: %s: %s\n", part.data, strerror(errno));
    }
    text_finish(&part);
    return good;
}

/* Writes what was trimmed as an HloProto beside the text. */
static bool write_proto(const char *path)
{
    struct loaded_file file;
    struct error err = {0};
    struct text output;
    size_t size = 0;
    if (!module_load(path, &file, &err)) {
        print_error(&err);
        return false;
    }
    text_init(&output);
    text_printf(&output, "%.*s.pb", (int)(strlen(path) - strlen(".hlo")), path);
    void *bytes = proto_write_module(file.modules[0].module, PROTO_HLO, &size, &err);
    bool good = bytes != NULL && file_write(output.data, bytes, size, &err);
    if (good) {
        printf("written to %s\n", output.data);
    } else {
        print_error(&err);
    }
    free(bytes);
    text_finish(&output);
    loaded_file_finish(&file);
    return good;
}

struct hlo_bisect {
    struct shrink_command shrink;
    const char *input, *script, *dump_path, *output_format, *test_platform, *reference_platform;
    double abs_error, rel_error;
};

static int run(struct hlo_bisect *tool, const char *input)
{
    struct shrink_command *shrink = &tool->shrink;
    shrink->folder = tool->dump_path;
    shrink->script = tool->script[0] != '\0' ? tool->script : NULL;
    shrink->failing.abs = tool->abs_error;
    shrink->failing.rel = tool->rel_error;
    if (!failing_set(&shrink->failing) || !make_folder(tool->dump_path)) {
        return STATUS_FAILED;
    }
    int status =
        shrink_command_run(shrink, input) == EXIT_AS_EXPECTED ? STATUS_TRIMMED : STATUS_FAILED;
    if (status == STATUS_TRIMMED && strcmp(tool->output_format, "pb") == 0 &&
        !write_proto(shrink->output_path)) {
        status = STATUS_FAILED;
    }
    free(shrink->output_path);
    return status;
}

/* The flags that are words of a list; false with a message. */
static bool check_words(struct hlo_bisect *tool)
{
    const char *reference = platform_uri(tool->reference_platform);
    tool->shrink.backend = platform_uri(tool->test_platform);
    if (tool->shrink.backend == NULL || reference == NULL) {
        fprintf(stderr,
                "hlo_bisect: there is no platform '%s'; there are CUDA, TPU, Host and "
                "Interpreter, or a URI such as pjrt:PATH\n",
                reference == NULL ? tool->reference_platform : tool->test_platform);
        return false;
    }
    tool->shrink.reference = strcmp(reference, "interp:") == 0 ? NULL : reference;
    if (strcmp(tool->output_format, "hlo") != 0 && strcmp(tool->output_format, "pb") != 0) {
        fprintf(stderr, "hlo_bisect: --output_format is hlo or pb, not '%s'\n",
                tool->output_format);
        return false;
    }
    return true;
}

int command_hlo_bisect(int argc, char **argv)
{
    struct hlo_bisect tool = {
        .shrink = {.failing = FAILING_DEFAULTS, .jobs = 2, .runs = 1, .failures = 1},
        .input = "",
        .script = "",
        .dump_path = "/tmp/hlo_bisect",
        .output_format = "hlo",
        .test_platform = "CUDA",
        .reference_platform = "Interpreter",
        .abs_error = 0.01,
        .rel_error = 0.1};
    const char *ignored = NULL;
    bool help = false;
    tool.shrink.failing.seed = 42;
    const struct option table[] = {
        {"input", 0, OPTION_TEXT, &tool.input, "FILE",
         "the module: HloSnapshot, HloProto or text; may be given without the flag"},
        {"script", 0, OPTION_TEXT, &tool.script, "CMD",
         "a command that is given a file: a module is buggy if it does not exit with 0"},
        {"dump_path", 0, OPTION_TEXT, &tool.dump_path, "DIR",
         "where MODULE_trimmed.hlo goes (default /tmp/hlo_bisect)"},
        {"output_format", 0, OPTION_TEXT, &tool.output_format, "hlo|pb",
         "pb: also as an HloProto (default hlo)"},
        {"all_computations", 0, OPTION_IGNORED, &ignored, NULL,
         "accepted; every computation is shrunk anyway"},
        {"test_platform", 0, OPTION_TEXT, &tool.test_platform, "NAME",
         "backend under test: CUDA, TPU, Host, or a URI such as pjrt:PATH (default CUDA)"},
        {"reference_platform", 0, OPTION_TEXT, &tool.reference_platform, "NAME",
         "what it is held against (default Interpreter: the golden)"},
        {"abs_error", 0, OPTION_REAL, &tool.abs_error, "X", "absolute bound (default 0.01)"},
        {"rel_error", 0, OPTION_REAL, &tool.rel_error, "X", "relative bound (default 0.1)"},
        {"help", 'h', OPTION_FLAG, &help, NULL, "this text"},
        {0}};
    struct string_list paths = {0};
    struct string_list *flags = &tool.shrink.failing.flags;
    struct option_table options = {table, take_xla_flag, flags};
    int status = STATUS_FAILED;
    bool parsed = options_parse(&options, argc, argv, &paths);
    const char *input = tool.input[0] != '\0' ? tool.input : paths.count == 1 ? paths.items[0] : "";
    if (parsed && (help || input[0] == '\0')) {
        fprintf(help ? stdout : stderr,
                "usage: hlo_bisect [--input=]MODULE --test_platform=NAME | --script=CMD\n\n"
                "XLA's hlo_bisect on referee's shrinker: the smallest module that is still buggy. "
                "All --xla_…\nflags go to the backend. Exit status 0 when it was trimmed, 1 when "
                "it is not buggy or on an error.\n\n");
        if (help) {
            options_help(table);
        }
        status = help ? STATUS_TRIMMED : STATUS_FAILED;
    } else if (parsed && check_words(&tool)) {
        status = run(&tool, input);
    }
    for (size_t i = 0; i < flags->count; i++) {
        free((char *)flags->items[i]);
    }
    string_list_finish(&paths);
    failing_finish(&tool.shrink.failing);
    return status;
}
