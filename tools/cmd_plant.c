/* referee plant: a dump in which one pass has got one instruction wrong. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/error.h"
#include "tools/commands.h"
#include "tools/modules.h"
#include "tools/plant.h"

struct plant_command {
    struct plant_options options;
    const char *output, *class, *json;
    int64_t seed, inputs, seeds, attempts, module;
    size_t memory;
    bool list, help;
};

static void list_classes(void)
{
    for (int i = 0; i < mutation_count; i++) {
        printf("%-16s  %s\n", mutations[i].name, mutations[i].summary);
    }
}

/* The module asked for, or the one with most steps. */
static const struct dump_module *choose_module(const struct plant_command *command,
                                               const struct dump *dump)
{
    const struct dump_module *chosen = NULL;
    for (int i = 0; i < dump->module_count; i++) {
        const struct dump_module *module = &dump->modules[i];
        bool fits = command->module < 0 || module->id == command->module;
        if (fits && (chosen == NULL || module->step_count > chosen->step_count)) {
            chosen = module;
        }
    }
    return chosen;
}

static json_t *report(const struct dump_module *module, const struct plant_command *command,
                      const struct plant *plant)
{
    const struct dump_step *step = &module->steps[plant->step];
    json_t *left_out = json_array();
    for (int i = 0; i < module->step_count; i++) {
        if (plant->left_out[i]) {
            json_array_append_new(left_out, json_string(module->steps[i].file));
        }
    }
    return json_pack(
        "{s:s, s:I, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:f, s:I, s:i, s:i, s:o}",
        "output", command->output, "id", (json_int_t)module->id, "module", module->name, "number",
        (json_int_t)step->number, "file", step->file, "pipeline", step->pipeline, "pass",
        step->pass, "computation", plant->computation, "instruction", plant->instruction, "opcode",
        plant->opcode, "class", plant->mutation->name, "seed", (json_int_t)command->seed,
        "difference", plant->difference, "shows_on", (json_int_t)plant->shows_on, "attempts",
        plant->attempts, "planted", plant->planted, "left_out", left_out);
}

static void say(const struct dump_module *module, const struct plant_command *command,
                const struct plant *plant)
{
    const struct dump_step *step = &module->steps[plant->step];
    printf("%s: %s, from %s on\n", command->output, plant->mutation->summary, step->file);
    printf("  class        %s\n", plant->mutation->name);
    if (step->pass[0] != '\0') {
        printf("  pass         %s%s%s\n", step->pass, step->pipeline[0] != '\0' ? " of " : "",
               step->pipeline);
    }
    printf("  instruction  %s in %s (%s)\n", plant->instruction, plant->computation, plant->opcode);
    printf("  fault        %s\n", plant->what);
    if (command->options.observable) {
        printf("  shows        on inputs of seed %llu, by %.3g of the largest element\n",
               (unsigned long long)plant->shows_on, plant->difference);
    }
    printf("  modules      %d with the fault, %d left out\n", plant->planted,
           plant->left_out_count);
}

static int plant_in(struct plant_command *command, const struct dump *dump)
{
    const struct dump_module *module = choose_module(command, dump);
    struct error err = {0};
    struct plant plant;
    if (module == NULL) {
        fprintf(stderr, "referee: the dump has no module %lld\n", (long long)command->module);
        return EXIT_USAGE;
    }
    int status = EXIT_AS_EXPECTED;
    if (!plant_choose(module, &command->options, &plant, &err)) {
        print_error(&err);
        status = err.code == ERROR_NOT_FOUND ? EXIT_FINDINGS : EXIT_USAGE;
    } else if (!plant_write(module, command->output, &plant, &err)) {
        print_error(&err);
        status = EXIT_INFRASTRUCTURE;
    } else {
        if (command->json == NULL || strcmp(command->json, "-") != 0) {
            say(module, command, &plant);
        }
        json_t *json = command->json != NULL ? report(module, command, &plant) : NULL;
        if (json != NULL) {
            json_object_set_new(json, "what", json_string(plant.what));
            status = write_json(command->json, json) ? status : EXIT_INFRASTRUCTURE;
        }
        json_decref(json);
    }
    plant_finish(&plant);
    return status;
}

static bool set_options(struct plant_command *command)
{
    struct plant_options *options = &command->options;
    options->mutation = command->class != NULL ? mutation_find(command->class) : NULL;
    if (command->class != NULL && options->mutation == NULL) {
        fprintf(stderr, "referee: no class of faults '%s'; --list shows them\n", command->class);
        return false;
    }
    if (command->seeds < 1 || command->seeds > 1000 || command->attempts < 1) {
        fprintf(stderr, "referee: --seeds takes 1 to 1000, --attempts at least 1\n");
        return false;
    }
    options->seed = (uint64_t)command->seed;
    options->inputs = (uint64_t)command->inputs;
    options->seed_count = (int)command->seeds;
    options->attempts = (int)(command->attempts < 1000000 ? command->attempts : 1000000);
    return true;
}

int command_plant(int argc, char **argv)
{
    struct plant_command command = {
        .options = {.number = -1, .observable = true, .timeout = 60},
        .seed = 1,
        .inputs = 1,
        .seeds = 2,
        .attempts = 100,
        .module = -1,
    };
    const struct option table[] = {
        {"output", 'o', OPTION_TEXT, &command.output, "OUT", "folder to write"},
        {"seed", 's', OPTION_INT, &command.seed, "N", "decides about everything (default 1)"},
        {"class", 0, OPTION_TEXT, &command.class, "NAME",
         "the kind of fault (default: drawn from those that apply)"},
        {"list", 0, OPTION_FLAG, &command.list, NULL, "list the kinds of faults"},
        {"module", 'm', OPTION_INT, &command.module, "ID",
         "the module, by the number in its files' names (default: the one with most files)"},
        {"pass", 0, OPTION_INT, &command.options.number, "NUMBER",
         "the first file with the fault, by the counter in its name (default: drawn)"},
        {"observable", 0, OPTION_FLAG, &command.options.observable, NULL,
         "--no-observable: also faults that change no output"},
        {"inputs-seed", 0, OPTION_INT, &command.inputs, "N",
         "the first seed of arguments on which an output has to change (default 1)"},
        {"seeds", 0, OPTION_INT, &command.seeds, "N",
         "how many seeds of arguments are tried (default 2)"},
        {"attempts", 0, OPTION_INT, &command.attempts, "N", "places tried (default 100)"},
        {"timeout", 0, OPTION_SECONDS, &command.options.timeout, "TIME",
         "of one evaluation (default 60)"},
        {"memory", 0, OPTION_SIZE, &command.memory, "SIZE", "limit of all values"},
        {"json", 0, OPTION_TEXT, &command.json, "FILE", "write what was planted (- = stdout)"},
        {"help", 'h', OPTION_FLAG, &command.help, NULL, "this text"},
        {0}};
    struct string_list paths = {0};
    struct error err = {0};
    struct dump dump;
    int status = EXIT_USAGE;
    if (!options_parse(&(struct option_table){.options = table}, argc, argv, &paths)) {
        status = EXIT_USAGE;
    } else if (command.help) {
        printf("usage: referee plant DIR -o OUT [--class NAME] [--seed N]\n\n"
               "Copies the dump of a compiler, with one instruction wrong from one pass on.\n\n");
        options_help(table);
        status = EXIT_AS_EXPECTED;
    } else if (command.list) {
        list_classes();
        status = EXIT_AS_EXPECTED;
    } else if (paths.count != 1 || command.output == NULL) {
        fprintf(stderr, "referee: plant takes a dump folder, and --output\n");
    } else if (set_options(&command)) {
        set_memory_limit(command.memory, MEMORY_ALONE);
        if (dump_scan(paths.items[0], &dump, &err)) {
            status = plant_in(&command, &dump);
            dump_finish(&dump);
        } else {
            print_error(&err);
        }
    }
    string_list_finish(&paths);
    return status;
}
