/* Shape inference: the shape XLA gives the result of an instruction, and the checks it makes.
 * Source: xla/service/shape_inference.cc. */
#ifndef HLO_INFER_H
#define HLO_INFER_H

#include <stdbool.h>

struct error;
struct instruction;
struct shape;

/* The shape of the result from opcode, operands, attributes and called computations
 * (instruction->shape is not read, may be NULL). NULL with *err unset when XLA needs it written
 * (opcodes whose infer token is `given`); NULL with *err set when the operands or attributes are
 * invalid. The layout of the answer is the default one. */
const struct shape *infer_shape(const struct instruction *instruction, struct error *err);

/* Checks instruction->shape against what is inferred, or, for `given` opcodes, against their
 * operands and attributes. Layouts, element sizes and memory spaces may differ, as may element
 * types of floats where XLA's verifier allows mixed precision. */
bool infer_check(const struct instruction *instruction, struct error *err);

#endif
