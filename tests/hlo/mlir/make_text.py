#!/usr/bin/env python3
"""Expectations of tests/hlo/mlir/test_text_fixtures.c: what MLIR's own parser, in a public jaxlib,
makes of fixtures/text/NAME.mlir, printed in generic form to fixtures/text/NAME.generic.

    python make_text.py FOLDER

jaxlib 0.10.2 made those that are there."""
import pathlib
import sys

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext
from jaxlib.mlir.dialects import chlo, sdy, stablehlo


def context():
    made = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    for dialect in (stablehlo, chlo, sdy):
        dialect.register_dialect(made)
    made.allow_unregistered_dialects = True
    return made


def main():
    for path in sorted(pathlib.Path(sys.argv[1]).glob('*.mlir')):
        with context():
            module = ir.Module.parse(path.read_text())
            text = module.operation.get_asm(print_generic_op_form=True)
        path.with_suffix('.generic').write_text(text)


if __name__ == '__main__':
    main()
