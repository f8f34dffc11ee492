/* Infeeds from files, outfeeds into one. */
#include "tools/feeds.h"

#include <stdlib.h>

#include "hlo/base/arena.h"
#include "hlo/base/error.h"
#include "hlo/base/file.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "hlo/shape.h"

struct device_feed {
    size_t file;   /* the next one, or the one in the middle of which we are */
    int in_file;   /* literals of it that were taken */
    int64_t taken; /* literals taken all together, for messages */
    struct literal_set sent;
};

struct feeds {
    const struct string_list *infeeds;
    int devices;
    struct device_feed *of_device;
};

struct feeds *feeds_create(const struct string_list *infeeds, int devices)
{
    struct feeds *feeds = memory_zalloc(sizeof *feeds);
    feeds->infeeds = infeeds;
    feeds->devices = devices;
    feeds->of_device = memory_zalloc((size_t)devices * sizeof *feeds->of_device);
    return feeds;
}

void feeds_rewind(struct feeds *feeds)
{
    for (int d = 0; d < feeds->devices; d++) {
        struct device_feed *feed = &feeds->of_device[d];
        for (int i = 0; i < feed->sent.count; i++) {
            literal_release(feed->sent.arguments[i]);
        }
        free(feed->sent.arguments);
        *feed = (struct device_feed){0};
    }
}

void feeds_destroy(struct feeds *feeds)
{
    if (feeds != NULL) {
        feeds_rewind(feeds);
        free(feeds->of_device);
        free(feeds);
    }
}

/* --- infeed --- */

/* The next literal of a set file for the device; NULL without an error when there is none left. */
static struct literal *next_of_sets(const struct feeds *feeds, int device, const char *data,
                                    size_t size, struct error *err)
{
    struct device_feed *feed = &feeds->of_device[device];
    struct literal_sets sets;
    if (!proto_read_literals(data, size, &sets, err)) {
        return NULL;
    }
    bool own = feeds->devices > 1 && sets.count == feeds->devices;
    int skip = feed->in_file++;
    struct literal *literal = NULL;
    for (int s = own ? device : 0; s < (own ? device + 1 : sets.count) && literal == NULL; s++) {
        if (skip < sets.sets[s].count) {
            literal = literal_retain(sets.sets[s].arguments[skip]);
        } else {
            skip -= sets.sets[s].count;
        }
    }
    literal_sets_finish(&sets);
    return literal;
}

/* The next literal of the device's files. shape may be NULL; it says the type of what has none. */
static struct literal *next_literal(struct feeds *feeds, int device, const struct shape *shape,
                                    struct error *err)
{
    struct device_feed *feed = &feeds->of_device[device];
    for (; feed->file < feeds->infeeds->count; feed->file++, feed->in_file = 0) {
        const char *path = feeds->infeeds->items[feed->file];
        size_t size;
        char *data = file_read(path, &size, err);
        if (data == NULL) {
            return NULL;
        }
        struct error why = {0};
        bool is_set = format_of(data, size) == FORMAT_LITERALS;
        struct literal *literal = is_set ? next_of_sets(feeds, device, data, size, &why)
                                         : literal_load(path, shape, &why);
        free(data);
        if (literal != NULL) {
            feed->taken++;
            feed->file += !is_set;
            return literal;
        }
        if (why.code != ERROR_NONE) {
            error_prefix(&why, "infeed %lld", (long long)feed->taken);
            *err = why;
            return NULL;
        }
    }
    error_set(err, ERROR_NOT_FOUND,
              feeds->infeeds->count == 0 ? "nothing feeds device %d: --infeed says what shall"
                                         : "the infeed of device %d has run dry",
              device);
    if (feeds->infeeds->count > 0) {
        error_prefix(err, "after %lld literals", (long long)feed->taken);
    }
    return NULL;
}

/* A literal a leaf. */
static struct literal *next_leaves(struct feeds *feeds, int device, struct literal *first,
                                   const struct shape *shape, struct error *err)
{
    struct literal **elements =
        memory_zalloc((size_t)(shape->count + 1) * sizeof(struct literal *));
    bool ok = true;
    for (int i = 0; i < shape->count && ok; i++) {
        if (i == 0 && first != NULL) {
            elements[0] = shape_is_tuple(shape->elements[0])
                              ? next_leaves(feeds, device, first, shape->elements[0], err)
                              : first;
        } else {
            elements[i] = feeds_infeed(feeds, device, shape->elements[i], err);
        }
        ok = elements[i] != NULL;
    }
    struct literal *tuple = ok ? literal_tuple_take(shape, elements) : NULL;
    for (int i = 0; i < shape->count && !ok; i++) {
        literal_release(elements[i]);
    }
    free(elements);
    return tuple;
}

struct literal *feeds_infeed(struct feeds *feeds, int device, const struct shape *shape,
                             struct error *err)
{
    if (!shape_is_tuple(shape)) {
        return next_literal(feeds, device, shape_static(shape), err);
    }
    if (shape->count == 0) {
        return literal_create(shape, err);
    }
    /* The first leaf's shape helps to read it, unless it is all in one. */
    const struct shape *leaf = shape;
    while (shape_is_tuple(leaf) && leaf->count > 0) {
        leaf = leaf->elements[0];
    }
    struct error no_leaf = {0};
    struct device_feed before = feeds->of_device[device];
    struct literal *first = next_literal(feeds, device, shape_static(leaf), &no_leaf);
    if (first == NULL && no_leaf.code == ERROR_INVALID_ARGUMENT) {
        feeds->of_device[device] = before;
        return next_literal(feeds, device, shape_static(shape), err);
    }
    if (first == NULL) {
        *err = no_leaf;
        return NULL;
    }
    if (shape_is_tuple(first->shape)) {
        return first;
    }
    return next_leaves(feeds, device, first, shape, err);
}

/* --- outfeed --- */

void feeds_outfeed(struct feeds *feeds, int device, const struct literal *value)
{
    struct literal_set *sent = &feeds->of_device[device].sent;
    sent->arguments =
        memory_realloc(sent->arguments, ((size_t)sent->count + 1) * sizeof *sent->arguments);
    sent->arguments[sent->count++] = literal_retain(value);
}

bool feeds_save(const struct feeds *feeds, const char *path, struct error *err)
{
    struct literal_set *list = memory_zalloc((size_t)feeds->devices * sizeof *list);
    for (int d = 0; d < feeds->devices; d++) {
        list[d] = feeds->of_device[d].sent;
    }
    struct literal_sets sets = {feeds->devices, list};
    size_t size;
    void *bytes = proto_write_literals(&sets, &size, err);
    bool ok = bytes != NULL && file_write(path, bytes, size, err);
    free(bytes);
    free(list);
    return ok;
}
