"""Makes the expectations of test_import from jaxlib's own translation of the same programs.

Run with a Python that has jaxlib (0.10.2 made what is there):
    python make_import_core.py fixtures/import/{control,data,elementwise,functions}.mlir
Each X.mlir becomes X.hlo, module by module.
"""

import sys

from jaxlib import _jax


def translate(module: str) -> str:
    computation = _jax.mlir.mlir_module_to_xla_computation(
        module, use_tuple_args=False, return_tuple=False
    )
    return computation.as_hlo_text().strip() + "\n"


def main() -> None:
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            modules = file.read().split("// -----\n")
        with open(path.replace(".mlir", ".hlo"), "w", encoding="utf-8") as file:
            file.write("// -----\n".join(translate(module) for module in modules))


if __name__ == "__main__":
    main()
