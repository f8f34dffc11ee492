"""Makes the bytecode of test_bytecode.c: every module fixtures/bytecode/NAME.mlir becomes
NAME.v<VERSION>.bc in the versions of the format that its first line names, as jaxlib writes it; and
programs of JAX become jax_<NAME>.mlir and its bytecode, as lowering gives them.

    python3 tests/hlo/mlir/make_bytecode.py      (needs jax and jaxlib 0.10.2)
"""
import io
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = pathlib.Path(__file__).parent / "fixtures" / "bytecode"
VERSIONS = "// versions: "


def perceptron(weights, x):
    for matrix, bias in weights:
        x = jnp.tanh(x @ matrix + bias)
    return jax.nn.logsumexp(x, axis=1)


def recurrence(x, flags):
    def step(carry, item):
        value, flag = item
        carry = jax.lax.cond(flag, lambda c: jnp.sort(c * value), lambda c: c[::-1] + value, carry)
        return carry, carry.sum()
    return jax.lax.scan(step, jnp.arange(4, dtype=jnp.float32), (x, flags))


def indices(x, i):
    top, places = jax.lax.top_k(x, 3)
    return x.at[i].add(top[0, 0]), jnp.take(x, places[0], axis=0), jax.random.bits(jax.random.key(1), (3,))


def lowerings():
    f32 = lambda *shape: jax.ShapeDtypeStruct(shape, np.float32)
    yield "perceptron", jax.jit(perceptron).lower([(f32(4, 8), f32(8)), (f32(8, 3), f32(3))], f32(5, 4))
    yield "gradient", jax.jit(jax.grad(lambda w, x: perceptron(w, x).sum())).lower(
        [(f32(4, 8), f32(8))], f32(5, 4))
    yield "recurrence", jax.jit(recurrence).lower(f32(6), jax.ShapeDtypeStruct((6,), np.bool_))
    yield "indices", jax.jit(indices).lower(f32(6, 5), jax.ShapeDtypeStruct((2,), np.int32))


def write(module, name, versions):
    for version in versions:
        data = io.BytesIO()
        module.operation.write_bytecode(data, desired_version=version)
        (FOLDER / f"{name}.v{version}.bc").write_bytes(data.getvalue())


def main():
    for old in [*FOLDER.glob("*.bc"), *FOLDER.glob("jax_*.mlir")]:
        old.unlink()
    for path in sorted(FOLDER.glob("*.mlir")):
        text = path.read_text()
        versions = map(int, text.splitlines()[0].removeprefix(VERSIONS).split())
        with mlir.make_ir_context() as context:
            context.allow_unregistered_dialects = True
            context.load_all_available_dialects()
            write(ir.Module.parse(text), path.stem, versions)
    for name, lowered in lowerings():
        # Locations name this file; where it lies on a machine is nobody's business.
        text = lowered.compiler_ir("stablehlo").operation.get_asm(enable_debug_info=True)
        text = text.replace(f"{ROOT}/", "")
        (FOLDER / f"jax_{name}.mlir").write_text(text)
        with mlir.make_ir_context():
            write(ir.Module.parse(text), f"jax_{name}", [1, 6])


main()
