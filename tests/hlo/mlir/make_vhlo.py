"""Makes the artifacts of test_vhlo.c: every module fixtures/vhlo/NAME.mlir becomes NAME.VERSION.bc for
the versions that its first line names, by StableHLO's own serializer in jaxlib. In those of
`mixed`, ops of other dialects stay what they are.

    python3 tests/hlo/mlir/make_vhlo.py      (needs jax and jaxlib 0.10.2)
"""
import pathlib

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "vhlo"
VERSIONS = "// versions: "
MIXED = {"mixed"}


def serialize(text, version, is_mixed):
    if not is_mixed:
        return stablehlo.serialize_portable_artifact_str(text, version)
    with mlir.make_ir_context():
        return stablehlo.serialize_portable_artifact(ir.Module.parse(text), version, True)


def main():
    for old in FOLDER.glob("*.bc"):
        old.unlink()
    for path in sorted(FOLDER.glob("*.mlir")):
        text = path.read_text()
        for version in text.splitlines()[0].removeprefix(VERSIONS).split():
            artifact = serialize(text, version, path.stem in MIXED)
            (FOLDER / f"{path.stem}.{version}.bc").write_bytes(artifact)


main()
