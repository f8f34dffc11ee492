/* The frame of pages of HTML. */
#include "corpus/page.h"

#include <ctype.h>

extern const char page_style[], page_style_hash[];

void page_begin(const char *title, const struct page_part *style, const struct page_part *script,
                struct text *out)
{
    text_printf(out,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "base-uri 'none'; form-action 'none'; style-src '%s' '%s'; script-src ",
                page_style_hash, style->hash);
    text_printf(out, script != NULL ? "'%s'" : "'none'", script != NULL ? script->hash : "");
    text_append(out, "\">\n<meta name=\"viewport\" content=\"width=device-width, "
                     "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
                     "<title>");
    text_markup(out, title);
    text_printf(out, "</title>\n<style>%s</style>\n<style>%s</style>\n</head>\n<body>\n",
                page_style, style->text);
}

void page_end(const struct page_part *script, struct text *out)
{
    if (script != NULL) {
        text_printf(out, "<script>%s</script>\n", script->text);
    }
    text_append(out, "</body>\n</html>\n");
}

static void encode(const char *name, char mark, struct text *out)
{
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++) {
        if (*at < 0x80 && (isalnum(*at) || *at == '.' || *at == '_' || *at == '-')) {
            text_char(out, (char)*at);
        } else {
            text_printf(out, "%c%02X", mark, *at);
        }
    }
}

void page_identity(const char *name, struct text *out)
{
    encode(name, '~', out);
}

void page_address(const char *value, struct text *out)
{
    encode(value, '%', out);
}
