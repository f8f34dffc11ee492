/* The accuracy table's own part; tests/bench/accuracy.py puts it together.
 *
 *   bench_accuracy plan                            prints every "OP TYPE"
 *   bench_accuracy prepare OP TYPE DIR             writes DIR/OP.TYPE.hlo and DIR/OP.TYPE.0, .1 …
 *   bench_accuracy run URI OP TYPE DIR OUT         runs that on a backend into DIR/OUT
 *   bench_accuracy measure OP TYPE DIR OUT...      prints a JSON object: OUT → figures
 *
 * Modules take and give the bits of elements as unsigned integers, the parts of complex numbers one
 * after the other, so that every program can run them. An element's error is that of its value in
 * units of the last place of the exact result (of its larger part, if complex). Arguments and
 * results that are subnormal are counted by themselves: many programs take them for zeros. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "hlo/base/error.h"
#include "hlo/format.h"
#include "hlo/literal.h"
#include "hlo/module.h"
#include "tests/bench/accuracy.h"
#include "tests/interp/number.h"

static const enum type types[] = {TYPE_F16,    TYPE_BF16,     TYPE_F32, TYPE_F64,
                                  TYPE_F8E5M2, TYPE_F8E4M3FN, TYPE_C64, TYPE_C128};

static const char *bits_type(enum type part)
{
    static const char *const names[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
    return names[type_bytes(part)];
}

static FILE *open_file(const char *dir, const char *name, const char *mode)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, mode);
    if (file == NULL) {
        fprintf(stderr, "bench_accuracy: %s cannot be opened\n", path);
        exit(3);
    }
    return file;
}

/* --- modules and inputs --- */

static void write_module(FILE *file, const struct accuracy_operation *operation, enum type type)
{
    const enum type part = type_part(type);
    const char *raw = bits_type(part), *held = type_text(part), *whole = type_text(type);
    const long long n = accuracy_count(operation, type);
    const int parts = accuracy_part_count(operation, type);
    fprintf(file, "HloModule m\nENTRY e {\n");
    for (int k = 0; k < parts; k++) {
        fprintf(file, "  p%d = %s[%lld] parameter(%d)\n  x%d = %s[%lld] bitcast-convert(p%d)\n", k,
                raw, n, k, k, held, n, k);
    }
    if (!type_is_complex(type)) {
        fprintf(file, "  y = %s[%lld] %s(x0%s)\n  ROOT r = %s[%lld] bitcast-convert(y)\n}\n", held,
                n, operation->opcode, parts == 2 ? ", x1" : "", raw, n);
        return;
    }
    for (int k = 0; k < parts; k += 2) {
        fprintf(file, "  z%d = %s[%lld] complex(x%d, x%d)\n", k, whole, n, k, k + 1);
    }
    fprintf(file, "  y = %s[%lld] %s(z0%s)\n", whole, n, operation->opcode,
            parts == 4 ? ", z2" : "");
    fprintf(file, "  re = %s[%lld] real(y)\n  im = %s[%lld] imag(y)\n", held, n, held, n);
    fprintf(file, "  u = %s[%lld] bitcast-convert(re)\n  v = %s[%lld] bitcast-convert(im)\n", raw,
            n, raw, n);
    fprintf(file, "  ROOT r = %s[%lld] concatenate(u, v), dimensions={0}\n}\n", raw, 2 * n);
}

static void prepare(const struct accuracy_operation *operation, enum type type, const char *dir)
{
    char name[256];
    snprintf(name, sizeof name, "%s.%s.hlo", operation->opcode, type_text(type));
    FILE *file = open_file(dir, name, "w");
    write_module(file, operation, type);
    fclose(file);
    for (int k = 0; k < accuracy_part_count(operation, type); k++) {
        snprintf(name, sizeof name, "%s.%s.%d", operation->opcode, type_text(type), k);
        file = open_file(dir, name, "w");
        for (int64_t i = 0; i < accuracy_count(operation, type); i++) {
            uint64_t bits[ACCURACY_PARTS];
            accuracy_input(operation, type, i, bits);
            fwrite(&bits[k], (size_t)type_bytes(type_part(type)), 1, file);
        }
        fclose(file);
    }
}

/* --- running --- */

static int run(const char *uri, const struct accuracy_operation *operation, enum type type,
               const char *dir, const char *out)
{
    struct error err = {0};
    struct loaded_file file;
    struct backend_options options = {.timeout = 300};
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%s.hlo", dir, operation->opcode, type_text(type));
    struct backend *backend = backend_open(uri, &options, &err);
    if (backend == NULL || !module_load(path, &file, &err)) {
        fprintf(stderr, "bench_accuracy: %s\n", err.message);
        return 3;
    }
    const struct module *module = file.modules[0].module;
    struct literal *arguments[ACCURACY_PARTS] = {NULL};
    const int parts = accuracy_part_count(operation, type);
    for (int k = 0; k < parts; k++) {
        arguments[k] = literal_zero(module->entry->parameters[k]->shape, &err);
        snprintf(path, sizeof path, "%s.%s.%d", operation->opcode, type_text(type), k);
        FILE *from = open_file(dir, path, "r");
        const size_t size = arguments[k]->buffer->size;
        if (fread(literal_data(arguments[k]), 1, size, from) != size) {
            return 3;
        }
        fclose(from);
    }
    struct run_result result;
    backend_run(backend, module, arguments, parts, 1, 1, &result);
    if (result.outcome == OUTCOME_PASS) {
        FILE *to = open_file(dir, out, "w");
        fwrite(literal_data(result.outputs[0]), 1, result.outputs[0]->buffer->size, to);
        fclose(to);
    } else {
        fprintf(stderr, "bench_accuracy: %s: %s\n", outcome_text(result.outcome), result.message);
    }
    const int status = result.outcome == OUTCOME_PASS ? 0 : 3;
    run_result_finish(&result);
    for (int k = 0; k < parts; k++) {
        literal_release(arguments[k]);
    }
    loaded_file_finish(&file);
    backend_close(backend);
    return status;
}

/* --- measuring --- */

enum { OUTPUTS = 8 };

struct figures {
    unsigned char *data; /* NULL: the program gave nothing */
    double worst;
    uint64_t at[ACCURACY_PARTS];
    long long wrong_class; /* NaN, infinite or finite where it should be another */
    long long wrong_small; /* wrong beside subnormal arguments or results */
};

/* Units of the last place at a value, as a power of two. */
static int ulp_exponent(enum type part, mpfr_srcptr value)
{
    const struct number_format *format = number_format(part);
    const int least = 1 - format->bias - format->mantissa_bits;
    const int at =
        mpfr_zero_p(value) ? least : (int)mpfr_get_exp(value) - 1 - format->mantissa_bits;
    return at < least ? least : at;
}

static bool is_subnormal(enum type part, uint64_t bits)
{
    const struct number n = number_decode(part, bits);
    return !n.nan && !n.infinite && n.significand != 0 &&
           n.significand >> number_format(part)->mantissa_bits == 0;
}

struct exact {
    mpfr_t parts[2];
    uint64_t wanted[2]; /* rounded */
    bool small;
    int unit; /* exponent of a unit in the last place */
};

static bool is_finite_element(enum type part, uint64_t bits)
{
    const struct number n = number_decode(part, bits);
    return !n.nan && !n.infinite;
}

static void measure_one(const struct exact *exact, enum type type, const uint64_t *input,
                        int inputs, const uint64_t *got, struct figures *figures)
{
    const enum type part = type_part(type);
    const int parts = type_is_complex(type) ? 2 : 1;
    double worst = 0;
    bool wrong_class = false, same = true;
    for (int k = 0; k < parts; k++) {
        same &= number_same(part, got[k], exact->wanted[k]);
        if (!is_finite_element(part, exact->wanted[k]) || !is_finite_element(part, got[k])) {
            wrong_class |= !number_same(part, got[k], exact->wanted[k]);
            continue;
        }
        const struct number n = number_decode(part, got[k]);
        mpfr_t error;
        mpfr_init2(error, 64);
        mpfr_set_ld(error, number_value(&n), MPFR_RNDN);
        mpfr_sub(error, error, exact->parts[k], MPFR_RNDA);
        mpfr_mul_2si(error, error, -exact->unit, MPFR_RNDA);
        const double size = fabs(mpfr_get_d(error, MPFR_RNDA));
        worst = size > worst ? size : worst;
        mpfr_clear(error);
    }
    if (exact->small) {
        figures->wrong_small += !same;
    } else if (wrong_class) {
        figures->wrong_class++;
    } else if (worst > figures->worst) {
        figures->worst = worst;
        memcpy(figures->at, input, (size_t)inputs * sizeof *input);
    }
}

static void set_exact(struct exact *exact, const struct accuracy_operation *operation,
                      enum type type, const uint64_t *input)
{
    const enum type part = type_part(type);
    const int parts = type_is_complex(type) ? 2 : 1;
    bool inexact[2];
    accuracy_exact(operation, type, input, exact->parts[0], exact->parts[1], inexact);
    exact->small = false;
    exact->unit = -100000;
    for (int k = 0; k < accuracy_part_count(operation, type); k++) {
        exact->small |= is_subnormal(part, input[k]);
    }
    for (int k = 0; k < parts; k++) {
        const struct number n = number_of_mpfr(exact->parts[k], inexact[k]);
        exact->wanted[k] = number_encode(part, &n);
        if (mpfr_regular_p(exact->parts[k])) {
            exact->small |= is_subnormal(part, exact->wanted[k]) ||
                            number_encode(part, &n) << (65 - type_bits(part)) == 0;
        }
        if (!mpfr_nan_p(exact->parts[k]) && !mpfr_inf_p(exact->parts[k])) {
            const int unit = ulp_exponent(part, exact->parts[k]);
            exact->unit = unit > exact->unit ? unit : exact->unit;
        }
    }
}

/* Complex arguments whose exact results would cost too much, or that are infinite or NaN: e to the
 * thousands and more, and what is far out. */
static bool is_left_out(const struct accuracy_operation *operation, enum type type,
                        const uint64_t *input, int inputs)
{
    static const bool exponential[EXACT_FUNCTION_COUNT] = {
        [EXACT_COS] = true,  [EXACT_COSH] = true,  [EXACT_EXP] = true,
        [EXACT_SIN] = true,  [EXACT_EXPM1] = true, [EXACT_LOGISTIC] = true,
        [EXACT_SINH] = true, [EXACT_TAN] = true,   [EXACT_TANH] = true,
    };
    const bool bounded = operation->complex_unary >= 0 && exponential[operation->complex_unary];
    for (int k = 0; k < inputs && type_is_complex(type); k++) {
        const struct number n = number_decode(type_part(type), input[k]);
        const long double size = fabsl(number_value(&n));
        if (!(size < (bounded ? 700 : 0x1p120L)) || (size < 0x1p-130L && size != 0)) {
            return true;
        }
    }
    return false;
}

static json_t *figures_json(const struct figures *figures, enum type type, int inputs)
{
    if (figures->data == NULL) {
        return json_null();
    }
    json_t *at = json_array();
    for (int k = 0; k < inputs; k++) {
        const struct number n = number_decode(type_part(type), figures->at[k]);
        char text[64];
        snprintf(text, sizeof text, "%.9Lg", number_value(&n));
        json_array_append_new(at, json_string(text));
    }
    return json_pack("{s:f, s:o, s:I, s:I}", "worst", figures->worst, "at", at, "class",
                     (json_int_t)figures->wrong_class, "small", (json_int_t)figures->wrong_small);
}

static unsigned char *read_output(const char *dir, const char *name, size_t size)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "r");
    unsigned char *data = file == NULL ? NULL : malloc(size);
    if (data != NULL && fread(data, 1, size, file) != size) {
        free(data);
        data = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return data;
}

static int measure(const struct accuracy_operation *operation, enum type type, const char *dir,
                   int count, char **names)
{
    const int64_t length = accuracy_count(operation, type);
    const int inputs = accuracy_part_count(operation, type);
    const int parts = type_is_complex(type) ? 2 : 1;
    const size_t bytes = (size_t)type_bytes(type_part(type));
    struct figures figures[OUTPUTS] = {{0}};
    struct exact exact;
    count = count > OUTPUTS ? OUTPUTS : count;
    for (int o = 0; o < count; o++) {
        figures[o].data = read_output(dir, names[o], (size_t)(length * parts) * bytes);
    }
    mpfr_inits2(160, exact.parts[0], exact.parts[1], (mpfr_ptr)0);
    for (int64_t i = 0; i < length; i++) {
        uint64_t input[ACCURACY_PARTS];
        accuracy_input(operation, type, i, input);
        if (is_left_out(operation, type, input, inputs)) {
            continue;
        }
        set_exact(&exact, operation, type, input);
        for (int o = 0; o < count; o++) {
            uint64_t got[2] = {0, 0};
            for (int k = 0; k < parts && figures[o].data != NULL; k++) {
                memcpy(&got[k], figures[o].data + (size_t)(k * length + i) * bytes, bytes);
            }
            if (figures[o].data != NULL) {
                measure_one(&exact, type, input, inputs, got, &figures[o]);
            }
        }
    }
    mpfr_clears(exact.parts[0], exact.parts[1], (mpfr_ptr)0);
    json_t *answer = json_object();
    for (int o = 0; o < count; o++) {
        json_object_set_new(answer, names[o], figures_json(&figures[o], type, inputs));
        free(figures[o].data);
    }
    json_dumpf(answer, stdout, 0);
    putchar('\n');
    json_decref(answer);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_accuracy plan | prepare OP TYPE DIR | run URI OP TYPE DIR OUT | "
                    "measure OP TYPE DIR OUT...\n");
    return 2;
}

int main(int argc, char **argv)
{
    backend_worker_main_if_asked(argc, argv);
    if (argc == 2 && strcmp(argv[1], "plan") == 0) {
        for (int i = 0; i < accuracy_operation_count; i++) {
            for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
                if (accuracy_takes(&accuracy_operations[i], types[t])) {
                    printf("%s %s\n", accuracy_operations[i].opcode, type_text(types[t]));
                }
            }
        }
        return 0;
    }
    const bool runs = argc > 1 && strcmp(argv[1], "run") == 0;
    char **rest = argv + (runs ? 3 : 2);
    const int left = argc - (int)(rest - argv);
    if (left < 3) {
        return usage();
    }
    const struct accuracy_operation *operation = accuracy_find(rest[0]);
    const enum type type = type_from_text(rest[1], strlen(rest[1]));
    if (operation == NULL || type == TYPE_INVALID || !accuracy_takes(operation, type)) {
        return usage();
    }
    if (strcmp(argv[1], "prepare") == 0) {
        prepare(operation, type, rest[2]);
        return 0;
    }
    if (runs && left == 4) {
        return run(argv[2], operation, type, rest[2], rest[3]);
    }
    return strcmp(argv[1], "measure") == 0 ? measure(operation, type, rest[2], left - 3, rest + 3)
                                           : usage();
}
