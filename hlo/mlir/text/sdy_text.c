/* The text of Shardy's attributes, as Shardy's own printer spaces it: whoever wrote them, equal
 * ones are equal texts, and those of bytecode too. Source: shardy/dialect/sdy/ir/{attrs.td,
 * printers.cc}. */
#include "hlo/mlir/text/reader_internal.h"

struct tidy {
    const char *at, *end;
    char *out; /* where the next character goes */
    char *begin;
    bool gap; /* blanks were passed over and not written */
};

static char last_written(const struct tidy *tidy)
{
    return tidy->out > tidy->begin ? tidy->out[-1] : '\0';
}

static void write_char(struct tidy *tidy, char c)
{
    *tidy->out++ = c;
    tidy->gap = false;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* Passes over blanks and comments. */
static bool skip_gap(struct tidy *tidy)
{
    const char *at = tidy->at;
    if ((unsigned char)*at <= ' ') {
        tidy->at++;
    } else if (at[0] == '/' && at + 1 < tidy->end && at[1] == '/') {
        const char *newline = memchr(at, '\n', (size_t)(tidy->end - at));
        tidy->at = newline != NULL ? newline : tidy->end;
    } else {
        return false;
    }
    tidy->gap = true;
    return true;
}

/* "…", as it is. */
static void copy_string(struct tidy *tidy)
{
    const char *at = tidy->at + 1;
    while (at < tidy->end && *at != '"') {
        at += *at == '\\' && at + 1 < tidy->end ? 2 : 1;
    }
    at = at < tidy->end ? at + 1 : tidy->end;
    memcpy(tidy->out, tidy->at, (size_t)(at - tidy->at));
    tidy->out += at - tidy->at;
    tidy->at = at;
    tidy->gap = false;
}

/* An attribute in a list is written without its head: [<…>], not [#sdy.sharding<…>]. */
static bool skip_head(struct tidy *tidy)
{
    static const char head[] = "#sdy.sharding<";
    size_t size = sizeof head - 1;
    if (tidy->out == tidy->begin || (size_t)(tidy->end - tidy->at) < size ||
        memcmp(tidy->at, head, size) != 0) {
        return false;
    }
    tidy->at += size - 1;
    return true;
}

static void copy_char(struct tidy *tidy)
{
    char c = *tidy->at, last = last_written(tidy);
    bool arrow =
        (c == '-' && tidy->at + 1 < tidy->end && tidy->at[1] == '>') || (c == '>' && last == '-');
    /* No blank before these, nor behind an opening bracket, a comma's own blank, "=" and "->". */
    bool tight = is_one_of(c, ",=<>]})") || arrow || is_one_of(last, "([{<= ") ||
                 (last == '>' && tidy->out - tidy->begin > 1 && tidy->out[-2] == '-');
    bool apart = (c == '{' && last == ')') ||
                 (last == ':' && tidy->out - tidy->begin > 1 && tidy->out[-2] == '}');
    if (apart || (tidy->gap && !tight)) {
        write_char(tidy, ' ');
    }
    write_char(tidy, c);
    tidy->at++;
    if (c == ',') {
        write_char(tidy, ' ');
    }
}

struct bytes reader_tidy_sdy(struct reader *reader, struct span text)
{
    /* A character becomes two at most. */
    char *out = arena_alloc(&reader->file->arena, 2 * text.size + 1);
    struct tidy tidy = {.at = text.data, .end = text.data + text.size, .out = out, .begin = out};
    while (tidy.at < tidy.end) {
        if (skip_gap(&tidy) || skip_head(&tidy)) {
            continue;
        }
        if (*tidy.at == '"') {
            if (tidy.gap && !is_one_of(last_written(&tidy), "([{<= ")) {
                write_char(&tidy, ' ');
            }
            copy_string(&tidy);
        } else {
            copy_char(&tidy);
        }
    }
    *tidy.out = '\0';
    return (struct bytes){out, (size_t)(tidy.out - out)};
}
