"""Makes the expectations of test_forms.c: for every module in fixtures/forms that jaxlib knows,
NAME.generic.mlir, the same module in the generic form of jaxlib's printer, and NAME.printed.mlir,
its short form in today's spelling. Modules of ops that jaxlib lacks have their generic form written
by hand.

    python3 tests/hlo/mlir/make_forms.py      (needs jax and jaxlib)
"""
import pathlib

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "forms"
BY_HAND = {"check", "newer"}
QUANTIZED = """
func.func @main(%a: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 5.0e-1>> {
  %0 = stablehlo.uniform_quantize %a : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 5.0e-1>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 5.0e-1>>
}
"""


def make_context():
    """A context that knows all of jaxlib's dialects; that of quantized types comes in by reading
    bytecode only."""
    context = mlir.make_ir_context()
    version = stablehlo.get_current_version()
    artifact = stablehlo.serialize_portable_artifact_str(QUANTIZED, version)
    stablehlo.deserialize_portable_artifact(context, artifact)
    return context


def main():
    for path in sorted(FOLDER.glob("*.mlir")):
        name = path.name.removesuffix(".mlir")
        if "." in name or name in BY_HAND:
            continue
        with make_context():
            module = ir.Module.parse(path.read_text())
            if not module.operation.verify():
                raise SystemExit(f"{path}: does not verify")
            for kind, generic in (("generic", True), ("printed", False)):
                text = module.operation.get_asm(print_generic_op_form=generic)
                (FOLDER / f"{name}.{kind}.mlir").write_text(text.rstrip() + "\n")


main()
