/* The golden interpreter: the one right answer of a module. The only public face of interp/.
 *
 * The value of every operation is the exact mathematical result on its operands, rounded once to
 * the element type (nearest, ties to even), the same bits on every machine. What HLO leaves open
 * is decided in interp/choices.h and marks elements as unspecified. */
#ifndef INTERP_INTERP_H
#define INTERP_INTERP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct instruction;
struct literal;
struct module;
struct shape;

enum fidelity {
    FIDELITY_EXACT,   /* exact result, rounded once (sums and dots too) */
    FIDELITY_LITERAL, /* every step as written, in written order, rounded each time */
};

/* Where a rounding may move, for Monte Carlo arithmetic (compare/derived.c). */
enum noise_place {
    NOISE_RESULT,  /* after an elementwise op or any other rounding op */
    NOISE_OPERAND, /* on a private copy of an operand of dot, convolution, a sum, a product, fft,
                      cholesky, triangular-solve…, before use */
};

/* A piece of work, for profiles: an instruction, or several that were evaluated as one. */
struct interp_span {
    const struct instruction *instruction; /* of several the last, whose value it is */
    int members;                           /* how many */
    /* Of arrays; 0 for control flow, whose parts have spans of their own, and for what only passes
     * a value on. What picks elements reads, and what updates in place writes, those elements. */
    int64_t bytes_read, bytes_written;
};

struct interp_options {
    enum fidelity fidelity;
    uint64_t seed; /* of `rng` instructions */
    /* Called after each instruction with its value (borrowed; never inside reducers and other
     * scalar programs). Returning false stops the evaluation with *err. NULL = not called. Fusions,
     * calls, loops and branches are entered: their instructions are seen too, with `iteration`
     * the number of the innermost loop's current iteration (0 outside loops). */
    bool (*on_instruction)(void *context, const struct instruction *instruction,
                           const struct literal *value, int64_t iteration, struct error *err);
    /* May move the float elements of `value` in place. NULL = exact. */
    void (*noise)(void *context, const struct instruction *instruction, enum noise_place place,
                  int operand, struct literal *value);
    /* Every float value is passed to `noise` (as NOISE_RESULT), not only those that are rounded:
     * parameters, constants, and what moves, selects or reinterprets data too. */
    bool noise_everywhere;
    /* The host. `infeed` gives the next data of that shape for a device (replica * partitions +
     * partition), owned by the caller; NULL with *err when there is none. NULL hook = infeeds are
     * UNIMPLEMENTED. `outfeed` gets what a device sends (borrowed); NULL hook = it is dropped. */
    struct literal *(*infeed)(void *context, int device, const struct shape *shape,
                              struct error *err);
    bool (*outfeed)(void *context, int device, const struct literal *value, struct error *err);
    /* send and recv with is_host_transfer. `host_send` gets what a device sends (borrowed); NULL
     * hook = it is dropped. `host_receive` gives what `recv` receives, owned by the caller; NULL
     * with *err when there is nothing. NULL hook = such a recv is UNIMPLEMENTED. */
    bool (*host_send)(void *context, int device, const struct instruction *send,
                      const struct literal *value, struct error *err);
    struct literal *(*host_receive)(void *context, int device, const struct instruction *recv,
                                    const struct shape *shape, struct error *err);
    /* Called when a piece of work begins, and again when it ends; spans nest as computations do.
     * Unlike on_instruction it changes nothing in what is evaluated and how: elementwise
     * instructions go together, in loops small steps are dissolved and what does not change is not
     * evaluated again, reducers and the like have no spans. NULL = not called. */
    void (*on_span)(void *context, const struct interp_span *span, bool ends);
    /* Called for the checks that a program carries (custom calls "check.…" and "interpreter.…" of
     * StableHLO's tests) with the values of their operands (borrowed). *holds goes into the result
     * of those that have one. Returning false stops the evaluation with *err. NULL hook = those
     * without a result do nothing, the others are UNIMPLEMENTED. */
    bool (*on_check)(void *context, const struct instruction *check,
                     struct literal *const *operands, int count, bool *holds, struct error *err);
    /* Asked before each instruction is evaluated (where on_instruction would be called): a literal
     * of its shape, owned by the caller, that stands in for its value; NULL = evaluate it. NULL
     * hook = not asked. */
    struct literal *(*replace)(void *context, const struct instruction *instruction,
                               int64_t iteration);
    void *context;
    /* Where to tell, before each call of on_instruction, which device it is about (as results are
     * numbered); NULL = nowhere. */
    int *device;
    /* Evaluation stops with DEADLINE_EXCEEDED once this returns true; NULL = never. */
    bool (*cancelled)(void *context);
    int64_t max_loop_iterations; /* of one while; 0 = no limit */
    /* Raised to the iterations of any while that is evaluated, on one device. NULL = not told. */
    int64_t *longest_loop;
    /* Devices: replicas × partitions; 0 = as the module's header says. */
    int replica_count, partition_count;
    /* f32 operands of a dot or convolution whose operand_precision is the default are rounded to
     * bf16 first, as the matrix units of TPUs do. false = they count as they are. */
    bool bf16_products;
    /* Values of earlier evaluations, also of other modules; NULL = none. Used on one device,
     * without noise, observer, stand-ins and literal fidelity; else it is left alone. Arguments
     * given with it must not be written to as long as it lives. */
    struct interp_cache *cache;
};

/* Values kept between evaluations, keyed by what was computed (a structural hash of opcodes,
 * attributes and operands down to the contents of arguments and constants), never by names,
 * layouts or modules: evaluating a module that differs in a few instructions computes only those
 * and what depends on them. The results have the same bits as without. For one thread at a time. */
struct interp_cache;
struct interp_cache_statistics {
    int64_t reused, evaluated; /* instructions, of the last evaluation */
    size_t bytes, peak_bytes;  /* of values held, now and at most */
};
/* At most `bytes` of values are held; what is cheap to compute again for its size goes first. What
 * is known of values that are not held takes at most an eighth of that (or 1 MiB) between
 * evaluations. */
struct interp_cache *interp_cache_create(size_t bytes);
void interp_cache_destroy(struct interp_cache *cache); /* NULL is allowed */
struct interp_cache_statistics interp_cache_statistics(const struct interp_cache *cache);

/* Evaluates the entry computation on one device with `arguments` (borrowed, one per parameter).
 * Returns the result, owned by the caller, or NULL. UNIMPLEMENTED names the instruction. options
 * may be NULL. */
struct literal *interp_evaluate(const struct module *module, struct literal *const *arguments,
                                int argument_count, const struct interp_options *options,
                                struct error *err);

/* Evaluates on every device of the grid: arguments[device][parameter], results[device]. Devices are
 * numbered replica-major as in XLA's default assignment (device = replica * partitions +
 * partition). */
bool interp_evaluate_devices(const struct module *module, int device_count,
                             struct literal *const *const *arguments, int argument_count,
                             struct literal **results, const struct interp_options *options,
                             struct error *err);

/* A program of its own on every device: programs[device] with its own arguments, argument_counts
 * [device] of them. Devices are numbered as above; the grid is that of the options, or one replica
 * for each device. Collectives meet when they are on the same channel, or none, and name the same
 * devices. Without a hook for it, what a device sends to the host on a channel is what another
 * receives from the host there, in order. Programs may be the same. */
bool interp_evaluate_programs(const struct module *const *programs, int device_count,
                              struct literal *const *const *arguments, const int *argument_counts,
                              struct literal **results, const struct interp_options *options,
                              struct error *err);

/* One instruction alone on given operand values (isolation). */
struct literal *interp_evaluate_instruction(const struct instruction *instruction,
                                            struct literal *const *operands,
                                            const struct interp_options *options,
                                            struct error *err);

/* NULL when the golden can evaluate the module; else the first instruction it cannot, with why. */
const struct instruction *interp_unsupported(const struct module *module, const char **why);

#endif
