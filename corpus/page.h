/* What pages of HTML share: their frame, colours for light and dark screens, and a policy by which
 * a browser loads nothing and runs no script but ours, whatever a name or a message says. */
#ifndef CORPUS_PAGE_H
#define CORPUS_PAGE_H

#include "hlo/base/text.h"

/* A style or script of a page (meson.build: embed.py). `hash` is its name in the policy. */
struct page_part {
    const char *text, *hash;
};

/* Everything up to <body>: the shared style (page.css), then `style`; no scripts are allowed but
 * `script`, if that is not NULL, which page_end writes. */
void page_begin(const char *title, const struct page_part *style, const struct page_part *script,
                struct text *out);
void page_end(const struct page_part *script, struct text *out);

/* An identity made of names, as a value of id and as a fragment of an address: what is not a
 * letter, digit, '.', '_' or '-' becomes ~XX. */
void page_identity(const char *name, struct text *out);
/* A value in the query part of an address: what is not as above becomes %XX. */
void page_address(const char *value, struct text *out);

#endif
