# Makes texts for the benchmark of readers of MLIR: `make_mlir.py FOLDER FILE…` writes each module of
# HLO text as StableHLO, in its short forms, to FOLDER, and prints the paths that it wrote as JSON.
# Runs on `peers current`.
import json
import pathlib
import sys

from jaxlib import _hlo, _jax


def main():
    folder, written = pathlib.Path(sys.argv[1]), []
    for path in map(pathlib.Path, sys.argv[2:]):
        try:
            module = _hlo.hlo_module_from_text(path.read_text(encoding="utf-8"))
            computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
            text = _jax.mlir.xla_computation_to_mlir_module(computation)
        except Exception as error:  # what StableHLO cannot say
            print(f"{path.name}: {str(error)[:100]}", file=sys.stderr)
            continue
        made = folder / f"{path.stem}.mlir"
        made.write_text(text, encoding="utf-8")
        written.append(str(made))
    print(json.dumps(written))


main()
