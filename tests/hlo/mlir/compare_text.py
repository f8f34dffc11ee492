#!/usr/bin/env python3
"""Holds our reading of public MLIR texts against MLIR's own: MLIR's parser, in a public jaxlib, reads
a text and our generic print of it, and both must print alike in generic form.

    mkdir FOLDER
    REFEREE_PRINTED=FOLDER build/tests/test_hlo_mlir_text_corpus
    python compare_text.py FOLDER

Ops of the dialect `check` are left out of a text in their short form, which jaxlib does not know."""
import collections
import pathlib
import re
import sys

from jaxlib.mlir import ir

from make_text import context

# A tensor without elements prints as it was written: with an element for all, or none.
EMPTY = re.compile(r'dense<[^>]+> : tensor<([0-9x]*x)?0x')


def generic(text):
    with context():
        module = ir.Module.parse(text)
        printed = module.operation.get_asm(print_generic_op_form=True, large_elements_limit=None)
    return EMPTY.sub(r'dense<> : tensor<\g<1>0x', printed)


def without_checks(text):
    return '\n'.join(line for line in text.split('\n')
                     if not re.match(r'\s*"?check\.', line))


def main():
    counts = collections.Counter()
    for path in sorted(pathlib.Path(sys.argv[1]).glob('*.mlir')):
        try:
            theirs = generic(without_checks(path.read_text()))
        except ir.MLIRError:
            counts['refused by jaxlib'] += 1
            continue
        ours = generic(without_checks(path.with_suffix('.generic').read_text()))
        same = ours == theirs
        counts['same' if same else 'different'] += 1
        if not same:
            print(path)
    print(dict(counts))
    return 1 if counts['different'] else 0


if __name__ == '__main__':
    sys.exit(main())
