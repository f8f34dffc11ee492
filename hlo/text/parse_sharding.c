/* Shardings: old, iota and named, and the domains made of them.
 * Source: xla/hlo/parser/hlo_parser.cc (ParseSharding, ParseSingleSharding). */
#include "hlo/base/arena.h"
#include "hlo/text/parse.h"

/* metadata={…}, or metadata={{…}, {…}}. */
static bool parse_sharding_metadata(struct parser *parser, struct sharding *sharding)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    const char *begin = (lexer_skip(lexer), lexer->at);
    bool is_list = lexer_accept(lexer, '{') && lexer_peek(lexer) == '{';
    if (!is_list) {
        lexer->at = begin;
    }
    do {
        struct metadata *metadata;
        if (!parse_metadata_value(parser, &metadata)) {
            return false;
        }
        stack_push(&parser->scratch, metadata);
    } while (is_list && lexer_accept(lexer, ','));
    if (is_list && !lexer_expect(lexer, '}')) {
        return false;
    }
    size_t count = parser->scratch.count - base;
    sharding->metadata_count = (int)count;
    sharding->metadata =
        arena_copy(parser->arena, parser->scratch.items + base, count * sizeof(void *));
    parser->scratch.count = base;
    return true;
}

/* sum, max or min before the axes of unreduced=. */
static bool parse_reduction(struct parser *parser, struct sharding *sharding, bool required)
{
    static const char *const kinds[] = {"sum", "max", "min"};
    struct lexer *lexer = &parser->lexer;
    struct span word = lexer_word(lexer);
    if (word.size == 0 && !required) {
        return true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (span_is(word, kinds[i])) {
            sharding->unreduced_kind = kinds[i];
            return true;
        }
    }
    lexer->at = word.data;
    return lexer_expected(lexer, "sum, max or min");
}

static bool parse_named_attribute(struct parser *parser, struct sharding *sharding)
{
    struct lexer *lexer = &parser->lexer;
    struct span name;
    if (!lexer_attribute(lexer, &name)) {
        return false;
    }
    if (span_is(name, "replicated")) {
        return parse_axes(parser, &sharding->mesh, &sharding->replicated, NULL);
    }
    if (span_is(name, "unreduced")) {
        return parse_reduction(parser, sharding, false) &&
               parse_axes(parser, &sharding->mesh, &sharding->unreduced, NULL);
    }
    if (span_is(name, "manual")) {
        return parse_axes(parser, &sharding->mesh, &sharding->manual, NULL);
    }
    if (span_is(name, "metadata")) {
        return parse_sharding_metadata(parser, sharding);
    }
    return lexer_fail(lexer, name.data, "unknown attribute %.*s of a named sharding",
                      (int)name.size, name.data);
}

/* "[{"a"}, {?}]" */
static bool parse_dimension_shardings(struct parser *parser, struct sharding *sharding)
{
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->scratch.count;
    if (!lexer_expect(lexer, '[')) {
        return false;
    }
    if (!lexer_accept(lexer, ']')) {
        do {
            struct named_dimension *dimension = arena_alloc(parser->arena, sizeof *dimension);
            dimension->priority = -1;
            stack_push(&parser->scratch, dimension);
            if (!parse_axes(parser, &sharding->mesh, &dimension->axes, &dimension->open)) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, ']')) {
            return false;
        }
    }
    size_t count = parser->scratch.count - base;
    struct named_dimension *dimensions = arena_array(parser->arena, count, sizeof *dimensions);
    for (size_t i = 0; i < count; i++) {
        dimensions[i] = *(struct named_dimension *)parser->scratch.items[base + i];
    }
    parser->scratch.count = base;
    sharding->dimension_count = (int)count;
    sharding->dimensions = dimensions;
    return true;
}

/* After '{', to the closing '}'. */
static bool parse_named_sharding(struct parser *parser, struct sharding *sharding)
{
    struct lexer *lexer = &parser->lexer;
    struct mesh *mesh = &sharding->mesh;
    sharding->form = SHARDING_NAMED;
    if (!parse_mesh(parser, mesh)) {
        return false;
    }
    if (mesh->maximal_device < 0) {
        lexer_accept(lexer, ',');
        if (lexer_accept_word(lexer, "unreduced")) {
            if (lexer_accept(lexer, '=') && !parse_reduction(parser, sharding, true)) {
                return false;
            }
            if (lexer_peek(lexer) == '{') {
                if (!parse_axes(parser, mesh, &sharding->unreduced, NULL)) {
                    return false;
                }
            } else {
                sharding->unreduced = parse_all_axes(parser, mesh);
            }
        } else if (lexer_accept_word(lexer, "manual")) {
            sharding->manual = parse_all_axes(parser, mesh);
        } else if (!lexer_accept_word(lexer, "replicated") &&
                   !parse_dimension_shardings(parser, sharding)) {
            return false;
        }
    }
    while (lexer_accept(lexer, ',')) {
        if (!parse_named_attribute(parser, sharding)) {
            return false;
        }
    }
    return lexer_expect(lexer, '}');
}

static bool parse_last_tile_dims(struct parser *parser, struct sharding *sharding)
{
    static const struct {
        const char *word;
        enum sharding_form form;
    } words[] = {{"maximal", SHARDING_MAXIMAL},
                 {"replicated", SHARDING_REPLICATED},
                 {"manual", SHARDING_MANUAL},
                 {"unreduced", SHARDING_UNREDUCED}};
    struct lexer *lexer = &parser->lexer;
    size_t base = parser->int_count;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    if (!lexer_accept(lexer, '}')) {
        do {
            struct span word = lexer_word(lexer);
            size_t i = 0;
            while (i < 4 && !span_is(word, words[i].word)) {
                i++;
            }
            if (i == 4) {
                lexer->at = word.data;
                return lexer_expected(lexer, "maximal, replicated, manual or unreduced");
            }
            ints_push(parser, words[i].form);
        } while (lexer_accept(lexer, ','));
        if (!lexer_expect(lexer, '}')) {
            return false;
        }
    }
    sharding->last_tile_dims = ints_take(parser, base);
    return true;
}

/* What stands between the braces of an old sharding, in any order. */
struct sharding_words {
    bool replicated, maximal, manual, unknown, unreduced, has_device;
};

static bool parse_sharding_item(struct parser *parser, struct sharding *sharding,
                                struct sharding_words *words)
{
    struct lexer *lexer = &parser->lexer;
    struct span word = lexer_word(lexer);
    const struct {
        const char *text;
        bool *flag;
    } flags[] = {
        {"replicated", &words->replicated},
        {"maximal", &words->maximal},
        {"manual", &words->manual},
        {"unknown", &words->unknown},
        {"unreduced", &words->unreduced},
        {"last_tile_dim_replicate", &sharding->last_tile_dim_replicate},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (span_is(word, flags[i].text)) {
            *flags[i].flag = true;
            return true;
        }
    }
    if (span_is(word, "shard_as") || span_is(word, "shard_like")) {
        sharding->is_shard_group = true;
        sharding->shard_as = span_is(word, "shard_as");
        return lexer_int(lexer, &sharding->shard_group_id);
    }
    if (word.size > 0 && *lexer->at == '=') {
        lexer->at++;
        if (span_is(word, "device")) {
            words->has_device = true;
            return lexer_int(lexer, &sharding->device);
        }
        if (span_is(word, "devices")) {
            return parse_tile_assignment(parser, &sharding->tile_dims, &sharding->reshape_dims,
                                         &sharding->transpose_perm, &sharding->devices);
        }
        if (span_is(word, "metadata")) {
            return parse_sharding_metadata(parser, sharding);
        }
        if (span_is(word, "last_tile_dims")) {
            return parse_last_tile_dims(parser, sharding);
        }
    }
    lexer->at = word.data;
    return lexer_expected(lexer, "a part of a sharding");
}

static bool check_sharding(struct parser *parser, struct sharding *sharding,
                           const struct sharding_words *words, const char *at)
{
    struct lexer *lexer = &parser->lexer;
    bool has_tile = sharding->tile_dims.count > 0;
    if (words->maximal && !words->replicated) {
        sharding->form = SHARDING_MAXIMAL;
        return (words->has_device && !has_tile) ||
               lexer_fail(lexer, at, "a maximal sharding has exactly one device=");
    }
    if (words->replicated || words->manual || words->unknown || words->unreduced) {
        sharding->form = words->replicated ? SHARDING_REPLICATED
                         : words->manual   ? SHARDING_MANUAL
                         : words->unknown  ? SHARDING_UNKNOWN
                                           : SHARDING_UNREDUCED;
        return (!has_tile && !words->has_device) ||
               lexer_fail(lexer, at, "this kind of sharding has no devices");
    }
    sharding->form = SHARDING_TILED;
    if (!has_tile) {
        return lexer_fail(lexer, at, "sharding without devices=[…]");
    }
    if (sharding->last_tile_dim_replicate && sharding->last_tile_dims.count > 0) {
        return lexer_fail(lexer, at,
                          "last_tile_dim_replicate and last_tile_dims exclude each other");
    }
    return sharding->reshape_dims.count > 0 || sharding->devices.count > 1 ||
           lexer_fail(lexer, at, "a tiled sharding has more than one device");
}

/* After '{', to the closing '}'. */
static bool parse_single_sharding(struct parser *parser, struct sharding *sharding)
{
    struct lexer *lexer = &parser->lexer;
    sharding->mesh.maximal_device = -1;
    if (parse_at_mesh(parser)) {
        return parse_named_sharding(parser, sharding);
    }
    const char *at = lexer->at;
    struct sharding_words words = {false, false, false, false, false, false};
    while (lexer_peek(lexer) != '}') {
        if (!parse_sharding_item(parser, sharding, &words)) {
            return false;
        }
    }
    lexer->at++;
    return check_sharding(parser, sharding, &words, at);
}

bool parse_sharding_value(struct parser *parser, const struct sharding **value)
{
    struct lexer *lexer = &parser->lexer;
    struct sharding *sharding = arena_alloc(parser->arena, sizeof *sharding);
    *value = sharding;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    char next = lexer_peek(lexer);
    if (next != '{' && next != '}') {
        return parse_single_sharding(parser, sharding);
    }
    sharding->form = SHARDING_TUPLE;
    sharding->mesh.maximal_device = -1;
    size_t base = parser->scratch.count;
    if (next == '{') {
        do {
            struct sharding *element = arena_alloc(parser->arena, sizeof *element);
            stack_push(&parser->scratch, element);
            if (!lexer_expect(lexer, '{') || !parse_single_sharding(parser, element)) {
                return false;
            }
        } while (lexer_accept(lexer, ','));
    }
    size_t count = parser->scratch.count - base;
    sharding->count = (int)count;
    sharding->elements =
        arena_copy(parser->arena, parser->scratch.items + base, count * sizeof(void *));
    parser->scratch.count = base;
    return lexer_expect(lexer, '}');
}

bool parse_sharding(struct parser *parser, struct attr *attr)
{
    return parse_sharding_value(parser, &attr->sharding);
}

bool parse_domain(struct parser *parser, struct attr *attr)
{
    struct lexer *lexer = &parser->lexer;
    struct domain *domain = arena_alloc(parser->arena, sizeof *domain);
    attr->domain = domain;
    lexer_skip(lexer);
    const char *at = lexer->at;
    if (!lexer_expect(lexer, '{')) {
        return false;
    }
    while (!lexer_accept(lexer, '}')) {
        lexer_accept(lexer, ',');
        struct span name;
        if (!lexer_attribute(lexer, &name)) {
            return false;
        }
        bool ok = span_is(name, "kind")    ? lexer_c_string(lexer, parser->arena, &domain->kind)
                  : span_is(name, "entry") ? parse_sharding_value(parser, &domain->entry)
                  : span_is(name, "exit")
                      ? parse_sharding_value(parser, &domain->exit)
                      : lexer_fail(lexer, name.data, "unknown part of a domain");
        if (!ok) {
            return false;
        }
    }
    if (domain->kind == NULL || domain->entry == NULL || domain->exit == NULL) {
        return lexer_fail(lexer, at, "a domain needs kind, entry and exit");
    }
    return strcmp(domain->kind, "sharding") == 0 ||
           lexer_fail(lexer, at, "unknown kind of domain: %s", domain->kind);
}
