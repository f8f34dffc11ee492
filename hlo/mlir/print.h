/* What the parts of the printer of MLIR share. */
#ifndef HLO_MLIR_PRINT_H
#define HLO_MLIR_PRINT_H

#include "hlo/mlir/mlir_format.h"

/* "…" with MLIR's escapes. */
void mlir_print_string(const char *data, size_t size, struct text *out);
/* The name as a word if it is one, else as a string. */
void mlir_print_word(const char *data, size_t size, struct text *out);
/* @name or @"name". */
void mlir_print_symbol(const char *data, size_t size, struct text *out);
/* {key = value, …}, also when it is empty. */
void mlir_print_dictionary(const struct mlir_dictionary *dictionary, struct text *out);
/* A float of the type, so that it reads back to the same bits; NaN and infinity as their bits. */
void mlir_print_float(const struct mlir_type *type, double value, struct text *out);
/* The inside of dense<…>. */
void mlir_print_elements(const struct mlir_attr *attr, struct text *out);
/* #dialect.mnemonic<…> */
void mlir_print_dialect_attr(const struct mlir_attr *attr, struct text *out);

#endif
