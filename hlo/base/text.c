/* Text builder. */
#include "hlo/base/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hlo/base/arena.h"

static void reserve(struct text *text, size_t more)
{
    if (text->capacity - text->size > more) {
        return;
    }
    size_t capacity = text->capacity > 0 ? text->capacity : 64;
    while (capacity - text->size <= more) {
        capacity *= 2;
    }
    text->data = memory_realloc(text->data, capacity);
    text->capacity = capacity;
}

void text_init(struct text *text)
{
    memset(text, 0, sizeof *text);
    reserve(text, 0);
    text->data[0] = '\0';
}

void text_finish(struct text *text)
{
    free(text->data);
    memset(text, 0, sizeof *text);
}

void text_clear(struct text *text)
{
    text->size = 0;
    text->data[0] = '\0';
}

char *text_take(struct text *text)
{
    char *data = text->data;
    text_init(text);
    return data;
}

void text_append_n(struct text *text, const char *data, size_t size)
{
    reserve(text, size);
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_append(struct text *text, const char *string)
{
    text_append_n(text, string, strlen(string));
}

void text_append_lines(const char *lines, const char *indent, struct text *out)
{
    while (*lines != '\0') {
        size_t size = strcspn(lines, "\n");
        text_append(out, indent);
        text_append_n(out, lines, size);
        text_char(out, '\n');
        lines += size;
        lines += *lines == '\n';
    }
}

void text_char(struct text *text, char c)
{
    reserve(text, 1);
    text->data[text->size++] = c;
    text->data[text->size] = '\0';
}

void text_int(struct text *text, int64_t value)
{
    char digits[24];
    int count = 0;
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (value < 0) {
        digits[count++] = '-';
    }
    reserve(text, (size_t)count);
    while (count > 0) {
        text->data[text->size++] = digits[--count];
    }
    text->data[text->size] = '\0';
}

void text_vprintf(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(text->data + text->size, text->capacity - text->size, format, args);
    if ((size_t)size >= text->capacity - text->size) {
        reserve(text, (size_t)size);
        vsnprintf(text->data + text->size, text->capacity - text->size, format, again);
    }
    va_end(again);
    text->size += (size_t)size;
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

void text_escape(struct text *text, const char *data, size_t size)
{
    static const char plain[] = "\n\r\t\"'\\", escaped[] = "nrt\"'\\";
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)data[i];
        const char *special = c != '\0' ? strchr(plain, c) : NULL;
        if (special != NULL) {
            text_char(text, '\\');
            text_char(text, escaped[special - plain]);
        } else if (c < ' ' || c >= 127) {
            text_printf(text, "\\%03o", c);
        } else {
            text_char(text, (char)c);
        }
    }
}

int utf8_length(const char *string)
{
    static const struct {
        unsigned char mask, lead;
        int length;
        unsigned least;
    } forms[] = {{0x80, 0x00, 1, 0},
                 {0xe0, 0xc0, 2, 0x80},
                 {0xf0, 0xe0, 3, 0x800},
                 {0xf8, 0xf0, 4, 0x10000}};
    const unsigned char *at = (const unsigned char *)string;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((*at & forms[i].mask) != forms[i].lead) {
            continue;
        }
        unsigned code = *at & (unsigned char)~forms[i].mask;
        for (int k = 1; k < forms[i].length; k++) {
            if ((at[k] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (at[k] & 0x3fU);
        }
        bool surrogate = code >= 0xd800 && code < 0xe000;
        return code >= forms[i].least && code < 0x110000 && !surrogate ? forms[i].length : 0;
    }
    return 0;
}

void text_markup(struct text *text, const char *string)
{
    static const struct {
        char character;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (const char *at = string; *at != '\0';) {
        int length = utf8_length(at);
        bool control = (unsigned char)*at < 0x20 && *at != '\n' && *at != '\t';
        const char *entity = length == 0 || control ? "?" : NULL;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
            entity = entities[i].character == *at ? entities[i].entity : entity;
        }
        if (entity != NULL) {
            text_append(text, entity);
        } else {
            text_append_n(text, at, (size_t)length);
        }
        at += length > 0 ? length : 1;
    }
}

void text_quoted(struct text *text, const char *word)
{
    text_char(text, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            text_append(text, "'\\''");
        } else {
            text_char(text, *word);
        }
    }
    text_char(text, '\'');
}

void text_shell(struct text *text, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        text_append(text, word);
    } else {
        text_quoted(text, word);
    }
}
