/* Faults in outputs: what a run gave, changed as real miscompiles change it (unwritten parts, wrong
 * places, wrong values). The other half of `mutant:` backends, beside faults in modules
 * (hlo/mutate).
 *
 * Shapes stay. Whether a change is one that anybody may see depends on the values: that is for
 * whoever plants it to judge. */
#ifndef BACKEND_OUTPUT_FAULTS_H
#define BACKEND_OUTPUT_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct literal;
struct output_faults; /* the outputs that are changed (output_faults_internal.h) */
struct output_place;
struct shape;
struct text;

enum output_fault_scope { OUTPUT_FAULT_ARRAY, OUTPUT_FAULT_RESULT };

/* What has a place for a fault, as far as shapes tell; where it depends on values (a NaN that is
 * lost), there may be none. */
enum output_fault_takes {
    OUTPUT_TAKES_ELEMENTS, /* arrays of at least one element */
    OUTPUT_TAKES_SEVERAL,  /* … of at least two */
    OUTPUT_TAKES_MATRICES, /* … with two dimensions of more than one row */
    OUTPUT_TAKES_NUMBERS,  /* … that are not pred */
    OUTPUT_TAKES_FLOATS,   /* … of floats or complex numbers */
    OUTPUT_TAKES_SIGNED,   /* … of numbers that can be negative */
    OUTPUT_TAKES_COMPLEX,  /* … of complex numbers */
    OUTPUT_TAKES_INTEGERS, /* … of integers */
    OUTPUT_TAKES_TWINS,    /* results with two arrays of the same shape */
    OUTPUT_TAKES_DEVICES,  /* results on several devices */
};

/* A class of faults: a row of output_faults.def. */
struct output_fault {
    const char *name;
    enum output_fault_scope scope;
    enum output_fault_takes takes;
    bool earlier; /* needs the outputs of an earlier run */
    const char *summary;
    bool (*change_array)(struct output_place *place);     /* ARRAY */
    bool (*change_result)(struct output_faults *outputs); /* RESULT */
};
extern const struct output_fault output_faults[];
extern const int output_fault_count;

/* NULL if there is no such class. */
const struct output_fault *output_fault_find(const char *name);
/* Is there a place for it in such results, of one device each? */
bool output_fault_applies(const struct output_fault *fault, const struct shape *result,
                          int device_count);

/* Changes outputs[device_count], which are replaced (their references pass, both ways), in one
 * place that the seed draws: the same seed makes the same change in the same outputs. `earlier` are
 * outputs of another run (NULL unless the class needs them). *what gets what was done; false when
 * nothing was: the outputs have no place for it. */
bool output_fault_plant(const struct output_fault *fault, uint64_t seed, struct literal **outputs,
                        struct literal *const *earlier, int device_count, struct text *what);

#endif
