/* module_NNNN.metadata.textproto: what the compiler itself says of each pass and the files that it
 * left. Source: HloModuleMetadataProto and HloPassMetadata in xla/service/hlo.proto; written by
 * DumpHloModuleMetadata in xla/service/dump.cc. */
#include <ctype.h>
#include <string.h>

#include "hlo/dump_name.h"

/* A cursor over the text form of any proto. */
struct cursor {
    const char *at, *end;
    struct arena *arena;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end) {
        if (*cursor->at == '#') {
            while (cursor->at < cursor->end && *cursor->at != '\n') {
                cursor->at++;
            }
        } else if (isspace((unsigned char)*cursor->at) || *cursor->at == ',' ||
                   *cursor->at == ';') {
            cursor->at++;
        } else {
            return;
        }
    }
}

static bool accept(struct cursor *cursor, char c)
{
    skip_blanks(cursor);
    if (cursor->at < cursor->end && *cursor->at == c) {
        cursor->at++;
        return true;
    }
    return false;
}

/* A word, a number or the inside of a string (escapes stay; names hold none that matter). */
static char *token(struct cursor *cursor)
{
    skip_blanks(cursor);
    const char *begin = cursor->at;
    if (begin < cursor->end && (*begin == '"' || *begin == '\'')) {
        const char *at = begin + 1;
        while (at < cursor->end && *at != *begin) {
            at += *at == '\\' && at + 1 < cursor->end ? 2 : 1;
        }
        cursor->at = at < cursor->end ? at + 1 : at;
        return arena_string(cursor->arena, begin + 1, (size_t)(at - begin - 1));
    }
    while (cursor->at < cursor->end && strchr("_.-+/", *cursor->at) != NULL) {
        cursor->at++;
    }
    while (cursor->at < cursor->end &&
           (isalnum((unsigned char)*cursor->at) || strchr("_.-+/", *cursor->at) != NULL)) {
        cursor->at++;
    }
    if (cursor->at == begin && begin < cursor->end) {
        cursor->at++; /* what no proto text has here: passed over */
    }
    return arena_string(cursor->arena, begin, (size_t)(cursor->at - begin));
}

/* Passes over a message that has begun, up to and with its end. */
static void skip_message(struct cursor *cursor)
{
    for (int depth = 1; depth > 0 && cursor->at < cursor->end;) {
        if (accept(cursor, '{') || accept(cursor, '<')) {
            depth++;
        } else if (accept(cursor, '}') || accept(cursor, '>')) {
            depth--;
        } else {
            token(cursor);
        }
    }
}

static const char *file_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static void parse_pass(struct cursor *cursor, struct map *records)
{
    struct dump_record *record = arena_alloc(cursor->arena, sizeof *record);
    record->pass = record->pipeline = "";
    while (cursor->at < cursor->end && !accept(cursor, '}') && !accept(cursor, '>')) {
        const char *field = token(cursor);
        bool value = accept(cursor, ':');
        if (accept(cursor, '{') || accept(cursor, '<')) {
            skip_message(cursor);
        } else if (value && strcmp(field, "pass_name") == 0) {
            record->pass = token(cursor);
        } else if (value && strcmp(field, "pipeline_name") == 0) {
            record->pipeline = token(cursor);
        } else if (value && strcmp(field, "module_changed") == 0) {
            record->changed = strcmp(token(cursor), "true") == 0;
        } else if (value && strcmp(field, "dump_filenames") == 0) {
            bool list = accept(cursor, '[');
            do {
                const char *stem = dump_name_stem(file_part(token(cursor)), cursor->arena);
                map_put(records, stem, strlen(stem), record);
            } while (list && cursor->at < cursor->end && !accept(cursor, ']'));
        } else if (value) {
            token(cursor);
        }
    }
}

void dump_metadata_parse(const char *text, size_t size, struct arena *arena, struct map *records)
{
    struct cursor cursor = {text, text + size, arena};
    for (;;) {
        skip_blanks(&cursor);
        if (cursor.at >= cursor.end) {
            return;
        }
        const char *field = token(&cursor);
        accept(&cursor, ':');
        if (accept(&cursor, '{') || accept(&cursor, '<')) {
            if (strcmp(field, "pass_metadata") == 0) {
                parse_pass(&cursor, records);
            } else {
                skip_message(&cursor);
            }
        }
    }
}
