/* Command line options. */
#include "tools/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"

void string_list_add(struct string_list *list, const char *item)
{
    list->items = grow(list->items, list->count, &list->capacity, sizeof *list->items);
    list->items[list->count++] = item;
}

void string_list_finish(struct string_list *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

/* Number of edits between two words, for "did you mean". */
static int distance(const char *a, size_t n, const char *b)
{
    int row[64];
    size_t m = strlen(b);
    if (m >= 64 || n >= 64) {
        return 99;
    }
    for (size_t j = 0; j <= m; j++) {
        row[j] = (int)j;
    }
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int insert = row[j - 1] + 1, drop = row[j] + 1;
            row[j] = change < insert ? change : insert;
            row[j] = row[j] < drop ? row[j] : drop;
        }
    }
    return row[m];
}

static void unknown(const struct option_table *table, const char *name, size_t size)
{
    const char *nearest = NULL;
    int best = 4;
    for (const struct option *o = table->options; o->name != NULL; o++) {
        int d = distance(name, size, o->name);
        if (d < best) {
            best = d;
            nearest = o->name;
        }
    }
    fprintf(stderr, "referee: unknown option --%.*s", (int)size, name);
    if (nearest != NULL) {
        fprintf(stderr, " (did you mean --%s?)", nearest);
    }
    fputc('\n', stderr);
}

static bool bad_value(const struct option *option, const char *value, const char *wanted)
{
    fprintf(stderr, "referee: --%s: '%s' is not %s\n", option->name, value, wanted);
    return false;
}

static bool set_flag(const struct option *option, const char *value)
{
    bool *flag = option->value;
    if (value == NULL || strcmp(value, "true") == 0 || strcmp(value, "1") == 0) {
        *flag = true;
    } else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0) {
        *flag = false;
    } else {
        return bad_value(option, value, "true or false");
    }
    return true;
}

/* A number with one of the unit letters in `units`, whose factors are in the same order. */
static bool read_scaled(const char *text, const char *units, const double *factors, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (end == text || errno != 0 || !isfinite(*value)) {
        return false;
    }
    const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL) {
        *value *= factors[unit - units];
        end++;
        if (*end == 'B' || (*end == 'i' && end[1] == 'B')) {
            end += *end == 'i' ? 2 : 1;
        }
    }
    return *end == '\0';
}

static bool set_value(const struct option *option, const char *value)
{
    static const double seconds[] = {1, 60, 3600}, sizes[] = {1024, 1048576, 1073741824, 1024};
    double number;
    char *end;
    switch (option->kind) {
    case OPTION_FLAG:
        return set_flag(option, value);
    case OPTION_INT:
        errno = 0;
        *(int64_t *)option->value = strtoll(value, &end, 0);
        return (errno == 0 && end != value && *end == '\0') ||
               bad_value(option, value, "an integer");
    case OPTION_REAL:
        *(double *)option->value = strtod(value, &end);
        return (end != value && *end == '\0') || bad_value(option, value, "a number");
    case OPTION_SECONDS:
        if (!read_scaled(value, "smh", seconds, &number) || number <= 0) {
            return bad_value(option, value, "a time (seconds, or 5m, 1h)");
        }
        *(double *)option->value = number;
        return true;
    case OPTION_SIZE:
        if (!read_scaled(value, "KMGk", sizes, &number) || number < 0) {
            return bad_value(option, value, "a size (bytes, or 512M, 20G)");
        }
        *(size_t *)option->value = (size_t)number;
        return true;
    case OPTION_TEXT:
        *(const char **)option->value = value;
        return true;
    case OPTION_LIST:
        string_list_add(option->value, value);
        return true;
    case OPTION_IGNORED:
        return true;
    }
    return false;
}

static const struct option *find(const struct option *options, const char *name, size_t size)
{
    for (const struct option *o = options; o->name != NULL; o++) {
        if (strlen(o->name) == size && strncmp(o->name, name, size) == 0) {
            return o;
        }
    }
    return NULL;
}

/* One option that begins at argv[*i]; *i ends on its last word. */
static bool parse_one(const struct option_table *table, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    const struct option *option = NULL;
    const char *value = NULL;
    if (word[1] == '-') {
        const char *name = word + 2;
        const char *equals = strchr(name, '=');
        size_t size = equals != NULL ? (size_t)(equals - name) : strlen(name);
        value = equals != NULL ? equals + 1 : NULL;
        option = find(table->options, name, size);
        if (option == NULL && value == NULL && strncmp(name, "no-", 3) == 0) {
            option = find(table->options, name + 3, size - 3);
            value = option != NULL && option->kind == OPTION_FLAG ? "false" : NULL;
            option = value != NULL ? option : NULL;
        }
        if (option == NULL) {
            char copy[128];
            snprintf(copy, sizeof copy, "%.*s", (int)size, name);
            if (table->other != NULL && table->other(table->context, copy, value)) {
                return true;
            }
            unknown(table, name, size);
            return false;
        }
    } else {
        for (const struct option *o = table->options; o->name != NULL; o++) {
            option = o->letter == word[1] ? o : option;
        }
        if (option == NULL) {
            fprintf(stderr, "referee: unknown option %s\n", word);
            return false;
        }
        value = word[2] != '\0' ? word + 2 : NULL;
    }
    bool takes = option->kind != OPTION_FLAG && option->kind != OPTION_IGNORED;
    if (takes && value == NULL) {
        if (*i + 1 == argc) {
            fprintf(stderr, "referee: --%s needs %s\n", option->name, option->argument);
            return false;
        }
        value = argv[++*i];
    }
    return set_value(option, value);
}

bool options_parse(const struct option_table *table, int argc, char **argv,
                   struct string_list *positional)
{
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            string_list_add(positional, argv[i]);
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!parse_one(table, argc, argv, &i)) {
            return false;
        }
    }
    return true;
}

void options_help(const struct option *options)
{
    enum { COLUMN = 30, WIDTH = 96 };
    for (const struct option *o = options; o->name != NULL; o++) {
        if (o->help == NULL) {
            continue;
        }
        int used =
            o->letter != 0 ? printf("  -%c, --%s", o->letter, o->name) : printf("  --%s", o->name);
        used += o->argument != NULL ? printf(" %s", o->argument) : 0;
        const char *help = o->help;
        if (used > COLUMN - 2) {
            printf("\n");
            used = 0;
        }
        while (*help != '\0') {
            size_t size = strlen(help);
            if (size > WIDTH - COLUMN) {
                size = WIDTH - COLUMN;
                while (size > 0 && help[size] != ' ') {
                    size--;
                }
            }
            printf("%*s%.*s\n", COLUMN - used, "", (int)size, help);
            used = 0;
            help += size;
            help += *help == ' ';
        }
    }
}
