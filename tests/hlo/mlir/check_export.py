"""Lets jaxlib read and verify the StableHLO that is written of HLO.

Run with a Python that has jax (0.10.2 was used), the program, and files of HLO text:
    python check_export.py build/tools/referee tests/hlo/mlir/fixtures/export/*.hlo
The modules of a file are parted by lines "// -----". What the program refuses is counted.
"""

import subprocess
import sys

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir


def check(context: ir.Context, referee: str, text: str) -> str | None:
    """The error, empty if there is none; None if the module is refused."""
    done = subprocess.run(
        [referee, "convert", "-", "-o", "-", "--to", "mlir"],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return None if "UNIMPLEMENTED" in done.stderr else done.stderr
    try:
        with context:
            ir.Module.parse(done.stdout).operation.verify()
    except ir.MLIRError as error:
        return str(error)
    return ""


def main() -> int:
    referee, *paths = sys.argv[1:]
    context = jax_mlir.make_ir_context()
    good = refused = 0
    errors = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            modules = file.read().split("// -----\n")
        for number, text in enumerate(modules):
            result = check(context, referee, text)
            if result:
                errors.append(f"{path}, module {number}: {result}")
            good += result == ""
            refused += result is None
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{good} modules verify, {len(errors)} do not, {refused} are refused")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
