"""Makes the expectations of test_import_ops from jaxlib's own translation of the same programs.

Run with a Python that has jaxlib (0.10.2 made what is there):
    python make_import.py fixtures/import_ops/{collective,contract,gather,linalg,reduce,transfer}.mlir
Each X.mlir becomes X.hlo, module by module. specification.mlir has no such source: where XLA's
translation is not what the specification says, or XLA has none, its .hlo is written by hand.
"""

import re
import sys

from jaxlib import _jax


def translate(module: str) -> str:
    computation = _jax.mlir.mlir_module_to_xla_computation(
        module, use_tuple_args=False, return_tuple=False
    )
    text = computation.as_hlo_text()
    # Hints to other parts of XLA, and what only says what holds without it.
    text = re.sub(r", frontend_attributes=\{xla\.sdy\.meshes=\{.*?\}\}$", "", text, flags=re.M)
    text = text.replace(', frontend_attributes={grad_x="false",grad_y="false"}', "")
    text = text.replace(", constrain_layout=true", "")
    text = re.sub(r"(get-tuple-element\(.*), frontend_attributes=.*$", r"\1", text, flags=re.M)
    return re.sub(r"^ *constant\.\d+ = s32\[1\]\{0\} constant\(\{2\}\)\n", "", text, flags=re.M)


def main() -> None:
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            modules = file.read().split("// -----\n")
        with open(path.replace(".mlir", ".hlo"), "w", encoding="utf-8") as file:
            file.write("// -----\n".join(translate(module).strip() + "\n" for module in modules))


if __name__ == "__main__":
    main()
