/* What the classes of faults in outputs work on. Private to output_*.c. */
#ifndef BACKEND_OUTPUT_FAULTS_INTERNAL_H
#define BACKEND_OUTPUT_FAULTS_INTERNAL_H

#include "backend/output_faults.h"
#include "hlo/base/rng.h"
#include "hlo/base/text.h"
#include "hlo/literal.h"

/* The whole result: own copies that may be written, a device each. */
struct output_faults {
    int device_count;
    struct literal **outputs;
    struct rng rng;
    struct text *what;
};

/* One array of it. A class changes it and says in *what what it did (true), or leaves it as it is.
 */
struct output_place {
    struct literal *array;
    /* The same data as a row of numbers: the elements, or the parts of complex ones. */
    struct literal *numbers;
    const struct literal *earlier; /* the array of an earlier run, or NULL */
    enum type type;                /* of the numbers */
    int64_t elements, count;       /* elements, numbers */
    size_t element_bytes;
    struct rng rng;
    struct text *what;
};

#define OUTPUT_FAULT(name, scope, takes, earlier, summary) bool fault_##name(OUTPUT_##scope *);
#define OUTPUT_ARRAY struct output_place
#define OUTPUT_RESULT struct output_faults
#include "backend/output_faults.def"
#undef OUTPUT_ARRAY
#undef OUTPUT_RESULT

/* A run of elements that one block of threads would write: a power of two long, aligned, at most
 * half of the array if it has more than one element. */
void output_draw_block(struct output_place *place, int64_t *first, int64_t *count);
/* A dimension of more than one row, −1 if there is none. */
int output_draw_dimension(struct output_place *place);
/* The array as outer × rows × inner elements around a dimension. */
void output_around(const struct output_place *place, int dimension, int64_t *outer, int64_t *rows,
                   int64_t *inner);
/* Elements from one place of the array to another; they may overlap. */
void output_move(struct output_place *place, int64_t from, int64_t to, int64_t count);
void output_clear(struct output_place *place, int64_t first, int64_t count);
/* "elements 32 to 63" into *what. */
void output_say_run(struct output_place *place, int64_t first, int64_t count);
/* Index of one element, "[1,2]", into *what. */
void output_say_element(struct output_place *place, int64_t index);

static inline int64_t output_draw(struct rng *rng, int64_t count)
{
    return (int64_t)rng_below(rng, (uint64_t)count);
}

#endif
