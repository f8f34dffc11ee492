/* The module header, its attributes, and the stack-frame tables.
 * Source: xla/hlo/parser/hlo_parser.cc (ParseHloModule, ParseStackFrameIndex). */
#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/text/parse.h"

/* --- attributes --- */

/* Each reads its value into the module's config. */
typedef bool header_function(struct parser *parser, struct module_config *config);

static bool read_is_scheduled(struct parser *parser, struct module_config *config)
{
    return lexer_bool(&parser->lexer, &config->is_scheduled);
}

static bool read_replica_count(struct parser *parser, struct module_config *config)
{
    return lexer_int(&parser->lexer, &config->replica_count);
}

static bool read_num_partitions(struct parser *parser, struct module_config *config)
{
    bool ok = lexer_int(&parser->lexer, &config->partition_count);
    config->use_spmd_partitioning = config->partition_count != 1;
    return ok;
}

static bool read_alias_passthrough(struct parser *parser, struct module_config *config)
{
    return lexer_bool(&parser->lexer, &config->alias_passthrough_params);
}

static int compare_ints(struct ints a, struct ints b)
{
    for (int i = 0; i < a.count && i < b.count; i++) {
        if (a.values[i] != b.values[i]) {
            return a.values[i] < b.values[i] ? -1 : 1;
        }
    }
    return a.count - b.count;
}

static int compare_aliases(const void *a, const void *b)
{
    return compare_ints(((const struct input_output_alias *)a)->output_index,
                        ((const struct input_output_alias *)b)->output_index);
}

static int compare_donors(const void *a, const void *b)
{
    const struct buffer_donor *x = a, *y = b;
    return x->parameter != y->parameter ? (x->parameter < y->parameter ? -1 : 1)
                                        : compare_ints(x->parameter_index, y->parameter_index);
}

/* { {output}: (parameter, {index}[, may-alias or must-alias]), … }, kept in the order of outputs.
 */
static bool read_aliases(struct parser *parser, struct module_config *config)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (lexer_peek(lexer) != '}') {
        struct input_output_alias *alias = arena_alloc(parser->arena, sizeof *alias);
        stack_push(&parser->scratch, alias);
        alias->kind = ALIAS_MAY;
        if (!parse_shape_index(parser, &alias->output_index) || !lexer_expect(lexer, ':') ||
            !lexer_expect(lexer, '(') || !lexer_int(lexer, &alias->parameter) ||
            !lexer_expect(lexer, ',') || !parse_shape_index(parser, &alias->parameter_index)) {
            return false;
        }
        if (lexer_accept(lexer, ',')) {
            if (lexer_accept_word(lexer, "must-alias")) {
                alias->kind = ALIAS_MUST;
            } else if (!lexer_accept_word(lexer, "may-alias")) {
                return lexer_expected(lexer, "may-alias or must-alias");
            }
        }
        if (!lexer_expect(lexer, ')')) {
            return false;
        }
        if (!lexer_accept(lexer, ',')) {
            break;
        }
    }
    size_t count = parser->scratch.count - base;
    struct input_output_alias *aliases = arena_array(parser->arena, count, sizeof *aliases);
    for (size_t i = 0; i < count; i++) {
        aliases[i] = *(struct input_output_alias *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    if (count > 1) {
        qsort(aliases, count, sizeof *aliases, compare_aliases);
    }
    config->alias_count = (int)count;
    config->aliases = aliases;
    return lexer_expect(lexer, '}');
}

/* { (parameter, {index}), … }, kept in their order. */
static bool read_donors(struct parser *parser, struct module_config *config)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (lexer_peek(lexer) != '}') {
        struct buffer_donor *donor = arena_alloc(parser->arena, sizeof *donor);
        stack_push(&parser->scratch, donor);
        if (!lexer_expect(lexer, '(') || !lexer_int(lexer, &donor->parameter) ||
            !lexer_expect(lexer, ',') || !parse_shape_index(parser, &donor->parameter_index) ||
            !lexer_expect(lexer, ')')) {
            return false;
        }
        if (!lexer_accept(lexer, ',')) {
            break;
        }
    }
    size_t count = parser->scratch.count - base;
    struct buffer_donor *donors = arena_array(parser->arena, count, sizeof *donors);
    for (size_t i = 0; i < count; i++) {
        donors[i] = *(struct buffer_donor *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    if (count > 1) {
        qsort(donors, count, sizeof *donors, compare_donors);
    }
    config->donor_count = (int)count;
    config->donors = donors;
    return lexer_expect(lexer, '}');
}

/* {(shape, …)->shape} */
static bool read_entry_layout(struct parser *parser, struct module_config *config)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '{') || !lexer_expect(lexer, '(')) {
        return false;
    }
    if (!lexer_accept(lexer, ')')) {
        do {
            const struct shape *shape = parse_shape(parser);
            if (shape == NULL) {
                return false;
            }
            stack_push(&parser->scratch, (void *)shape);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, ')')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    config->has_entry_layout = true;
    config->parameter_count = (int)count;
    config->parameter_shapes =
        arena_copy(parser->arena, parser->scratch.items + base, count * sizeof(void *));
    parser->scratch.count = base;
    if (!lexer_expect_arrow(lexer)) {
        return false;
    }
    config->result_shape = parse_shape(parser);
    return config->result_shape != NULL && lexer_expect(lexer, '}');
}

/* true, false, or a list of them in braces. A single false is the default, kept as nothing. */
static bool read_bools(struct parser *parser, struct ints *value)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    bool is_list = lexer_accept(lexer, '{');
    if (!is_list || !lexer_accept(lexer, '}')) {
        do {
            bool item;
            if (!lexer_bool(lexer, &item)) {
                return false;
            }
            ints_push(parser, item);
        } while (is_list && lexer_accept(lexer, ','));
        if (is_list && !lexer_expect(lexer, '}')) {
            return false;
        }
    }
    *value = ints_take(parser, base);
    if (value->count == 1 && value->values[0] == 0) {
        *value = (struct ints){0, NULL};
    }
    return true;
}

static bool read_propagate_to_parameters(struct parser *parser, struct module_config *config)
{
    return read_bools(parser, &config->propagate_to_parameters);
}

static bool read_propagate_to_output(struct parser *parser, struct module_config *config)
{
    return read_bools(parser, &config->propagate_to_output);
}

static bool read_frontend_attributes(struct parser *parser, struct module_config *config)
{
    struct attr attr = {.key = ATTR_FRONTEND_ATTRIBUTES};
    bool ok = parse_string_map(parser, &attr);
    config->frontend_attributes = attr.string_map;
    return ok;
}

/* Keeps the text between braces, without the blanks at its ends. */
static struct bytes keep_text(struct parser *parser, const char *begin, const char *end)
{
    while (begin < end && (unsigned char)*begin <= ' ') {
        begin++;
    }
    while (end > begin && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    size_t size = (size_t)(end - begin);
    return (struct bytes){arena_string(parser->arena, begin, size), size};
}

/* { {array}: {array}[, "module"] … } */
static bool read_recovery_table(struct parser *parser, struct module_config *config)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    const char *begin = lexer->at;
    while (lexer_peek(lexer) != '}') {
        const char *name;
        struct ints index;
        struct bytes module;
        if (!parse_original_array(parser, &name, &index) || !lexer_expect(lexer, ':') ||
            !parse_original_array(parser, &name, &index) ||
            (lexer_accept(lexer, ',') && !lexer_string(lexer, parser->arena, &module))) {
            return false;
        }
    }
    config->origin_recovery_table = keep_text(parser, begin, lexer->at);
    return lexer_expect(lexer, '}');
}

/* {log_mode=…, callback_id=1, partitioned=true, op_id=2} */
static bool read_debug_entry(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    do {
        struct span name;
        int64_t number;
        bool flag, ok;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        if (span_is(name, "log_mode")) {
            ok = lexer_accept_word(lexer, "default") ||
                 lexer_accept_word(lexer, "fusion_debugger") ||
                 lexer_expected(lexer, "default or fusion_debugger");
        } else if (span_is(name, "partitioned")) {
            ok = lexer_bool(lexer, &flag);
        } else if (span_is(name, "callback_id") || span_is(name, "op_id")) {
            ok = lexer_int(lexer, &number);
        } else {
            ok = lexer_fail(lexer, name.data, "unknown debug attribute %.*s", (int)name.size,
                            name.data);
        }
        if (!ok) {
            return false;
        }
    } while (lexer_accept(lexer, ','));
    return lexer_expect(lexer, '}');
}

/* { {array}:(entry,entry), … } */
static bool read_debug_attributes(struct parser *parser, struct module_config *config)
{
    struct lexer *lexer = &parser->lexer;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    const char *begin = lexer->at;
    if (lexer_peek(lexer) != '}') {
        do {
            const char *name;
            struct ints index;
            if (!parse_original_array(parser, &name, &index) || !lexer_expect(lexer, ':')) {
                return false;
            }
            bool is_list = lexer_accept(lexer, '(');
            if (is_list && lexer_accept(lexer, ')')) {
                continue;
            }
            do {
                if (!read_debug_entry(parser)) {
                    return false;
                }
            } while (is_list && lexer_accept(lexer, ','));
            if (is_list && !lexer_expect(lexer, ')')) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
    }
    lexer_skip(lexer);
    config->debug_attributes = keep_text(parser, begin, lexer->at);
    return lexer_expect(lexer, '}');
}

static const struct {
    const char *text;
    header_function *read;
} header_attributes[] = {
    {"is_scheduled", read_is_scheduled},
    {"replica_count", read_replica_count},
    {"num_partitions", read_num_partitions},
    {"input_output_alias", read_aliases},
    {"buffer_donor", read_donors},
    {"alias_passthrough_params", read_alias_passthrough},
    {"entry_computation_layout", read_entry_layout},
    {"frontend_attributes", read_frontend_attributes},
    {"allow_spmd_sharding_propagation_to_parameters", read_propagate_to_parameters},
    {"allow_spmd_sharding_propagation_to_output", read_propagate_to_output},
    {"origin_recovery_table", read_recovery_table},
    {"debug_attributes", read_debug_attributes},
};
enum { HEADER_ATTRIBUTES = sizeof header_attributes / sizeof *header_attributes };

bool parse_header(struct parser *parser)
{
    struct lexer *lexer = &parser->lexer;
    struct span name;
    if (!lexer_name(lexer, &name, "the module's name")) {
        return false;
    }
    parser->module->name = arena_string(parser->arena, name.data, name.size);
    uint32_t seen = 0;
    while (lexer_accept(lexer, ',')) {
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        int i = 0;
        while (i < HEADER_ATTRIBUTES && !span_is(name, header_attributes[i].text)) {
            i++;
        }
        if (i == HEADER_ATTRIBUTES) {
            return lexer_fail(lexer, name.data, "modules have no attribute %.*s", (int)name.size,
                              name.data);
        }
        if (seen >> i & 1) {
            return lexer_fail(lexer, name.data, "attribute %s is there twice",
                              header_attributes[i].text);
        }
        seen |= (uint32_t)1 << i;
        if (!header_attributes[i].read(parser, &parser->module->config)) {
            return false;
        }
    }
    return true;
}

/* --- stack-frame tables --- */

/* `N "string"` lines. */
static bool parse_strings(struct parser *parser, const char *title, const char *const **strings,
                          int *count)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_accept_word(lexer, title)) {
        return lexer_expected(lexer, title);
    }
    while (lex_class[(unsigned char)lexer_peek(lexer)] & LEX_DIGIT) {
        int64_t number;
        const char *string;
        if (!lexer_int(lexer, &number) || !lexer_c_string(lexer, parser->arena, &string)) {
            return false;
        }
        stack_push(&parser->scratch, (void *)string);
    }
    *count = (int)(parser->scratch.count - base);
    *strings =
        arena_copy(parser->arena, parser->scratch.items + base, (size_t)*count * sizeof(void *));
    parser->scratch.count = base;
    return true;
}

/* `N {field=value …}` lines; `size` bytes a row, appended to one array. */
static void *parse_rows(struct parser *parser, const char *title, const struct field *fields,
                        int field_count, size_t size, int *count)
{
    struct lexer *lexer = &parser->lexer;
    char *rows = NULL, *kept = NULL;
    size_t capacity = 0, used = 0;
    bool ok = lexer_accept_word(lexer, title) || lexer_expected(lexer, title);
    while (ok && lex_class[(unsigned char)lexer_peek(lexer)] & LEX_DIGIT) {
        int64_t number;
        rows = grow(rows, used, &capacity, size);
        memset(rows + used * size, 0, size);
        ok = lexer_int(lexer, &number) &&
             parse_fields(parser, fields, field_count, rows + used * size);
        used++;
    }
    if (ok) {
        *count = (int)used;
        kept = arena_copy(parser->arena, rows, used * size);
    }
    free(rows);
    return kept;
}

bool parse_frame_tables(struct parser *parser)
{
    static const struct field location_fields[] = {
        {FIELD_NAME("file_name_id"), FIELD_INT32, offsetof(struct file_location, file_name_id),
         true},
        {FIELD_NAME("function_name_id"), FIELD_INT32,
         offsetof(struct file_location, function_name_id), true},
        {FIELD_NAME("line"), FIELD_INT32, offsetof(struct file_location, line), true},
        {FIELD_NAME("end_line"), FIELD_INT32, offsetof(struct file_location, end_line), true},
        {FIELD_NAME("column"), FIELD_INT32, offsetof(struct file_location, column), true},
        {FIELD_NAME("end_column"), FIELD_INT32, offsetof(struct file_location, end_column), true},
    };
    static const struct field frame_fields[] = {
        {FIELD_NAME("file_location_id"), FIELD_INT32,
         offsetof(struct stack_frame, file_location_id), true},
        {FIELD_NAME("parent_frame_id"), FIELD_INT32, offsetof(struct stack_frame, parent_frame_id),
         true},
    };
    struct frame_tables *tables = &parser->module->frames;
    struct lexer *lexer = &parser->lexer;
    lexer_skip(lexer);
    const char *begin = lexer->at;
    if (!lexer_accept_word(lexer, "FileNames")) {
        return true;
    }
    lexer->at = begin;
    if (!parse_strings(parser, "FileNames", &tables->file_names, &tables->file_name_count) ||
        !parse_strings(parser, "FunctionNames", &tables->function_names,
                       &tables->function_name_count)) {
        return false;
    }
    tables->locations = parse_rows(parser, "FileLocations", location_fields, 6,
                                   sizeof(struct file_location), &tables->location_count);
    if (tables->locations == NULL) {
        return false;
    }
    struct stack_frame *frames = parse_rows(parser, "StackFrames", frame_fields, 2,
                                            sizeof(struct stack_frame), &tables->frame_count);
    tables->frames = frames;
    for (int i = 0; frames != NULL && i < tables->frame_count; i++) {
        frames[i].parent_frame_id--; /* texts count parents from 1 for none */
    }
    return frames != NULL;
}
