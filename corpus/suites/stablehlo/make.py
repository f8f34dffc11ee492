"""Lowers the programs of the first suite, and some more, to StableHLO: a file of text (.mlir) and
one of bytecode (.mlirbc) a program, and for the new ones HLO text (.hlo) as XLA translates them.

    python3 make.py [FOLDER]

Needs jax 0.10.2 (`pip install jax==0.10.2`); the files it wrote are kept beside it, so that tests
do not. Bytecode is a portable artifact as jax.export makes it, for the oldest version of StableHLO
that jax.export promises to serve; locations are left out."""

import importlib.util
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.interpreters import mlir as jax_mlir
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = pathlib.Path(__file__).parent
spec = importlib.util.spec_from_file_location("first", HERE.parent / "first" / "make.py")
first = importlib.util.module_from_spec(spec)
spec.loader.exec_module(first)
FIRST = dict(first.PROGRAMS)
program = first.program


@program(("f32", 5, 7), ("f32", 5, 7))
def special_functions(x, y):
    x, y = jnp.abs(x) + 0.5, jnp.clip(y, -0.9, 0.9)
    return (lax.erf(y), lax.erfc(x), lax.erf_inv(y), lax.lgamma(x), lax.digamma(x),
            lax.bessel_i1e(x), lax.nextafter(x, y), lax.asin(y), lax.acosh(x + 1), lax.atanh(y),
            lax.sinh(y), lax.tan(y), lax.zeta(x + 1, x), lax.polygamma(jnp.float32(1), x))


@program(("f32", 3, 40))
def largest_of_each_row(x):
    return lax.top_k(x, 7)


@program(("f32", 12, 6), ("f32", 3, 6, 5), ("s32", 3))
def grouped_products(rows, weights, sizes):
    del sizes
    return lax.ragged_dot(rows, weights, jnp.array([4, 3, 5], jnp.int32))


@program(("f32", 8, 16), ("f32", 16, 4))
def products_of_each_precision(a, b):
    algorithm = lambda name: lax.dot(a, b, precision=name)
    return (algorithm("highest"), algorithm("float32"),
            lax.dot(a, b, precision=lax.DotAlgorithmPreset.F32_F32_F32),
            lax.dot_general(a.reshape(2, 4, 16), b.reshape(2, 8, 4),
                            (((), ()), ((0,), (0,)))).sum(axis=(1, 3)))


@program(("s32",), ("f32", 4))
def functions_called_twice(n, x):
    @jax.jit
    def twice(x):
        return x * 2 + n.astype(jnp.float32)

    return twice(twice(x)), jax.grad(lambda x: jnp.sum(jax.checkpoint(twice)(x) ** 2))(x)


@program(("s32", 6), ("f32", 6))
def loops_over_outer_values(n, x):
    outer = x * 3

    def body(state):
        i, total = state
        return i + 1, total + outer * lax.cond(i % 2 == 0, lambda: outer[0], lambda: outer[1] * i)

    return (lax.while_loop(lambda state: state[0] < jnp.sum(n % 5), body, (0, x)),
            lax.switch(n[0] % 3, [lambda v: v + outer, lambda v: v - outer, lambda v: v], x))


@program(("u32", 4), ("f32", 16))
def donated_and_named(key, x):
    with jax.named_scope("scale"):
        y = x * jnp.float32(np.pi)
    return lax.reduce_precision(y, 5, 10), jax.random.uniform(
        jax.random.wrap_key_data(key, impl="rbg"), (16,))


@program(("c64", 6), ("f32", 6, 6))
def complex_and_bits(z, x):
    return (jnp.conj(z) * jnp.exp(z), jnp.fft.rfft(x), lax.bitcast_convert_type(x, jnp.int32),
            lax.population_count(lax.bitcast_convert_type(x, jnp.uint32)), jnp.abs(z))


def bytecode(text):
    """The portable artifact of a module, as jax.export makes it."""
    version = stablehlo.get_version_from_compatibility_requirement(
        stablehlo.StablehloCompatibilityRequirement.WEEK_4)
    with jax_mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        return _jax.mlir.serialize_portable_artifact(module, version, True)


def main():
    jax.config.update("jax_enable_x64", True)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for name, (function, shapes, platform) in first.PROGRAMS.items():
        with jax.enable_x64(any(s[0] in ("f64", "s64") for s in shapes)):
            traced = jax.jit(function).trace(*[first.abstract(s) for s in shapes])
            lowered = traced.lower(lowering_platforms=(platform,))
            text = lowered.as_text()
            if name not in FIRST:
                hlo = lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True)
                (folder / f"{name}.hlo").write_text(hlo)
        (folder / f"{name}.mlir").write_text(text)
        (folder / f"{name}.mlirbc").write_bytes(bytecode(text))
        print(name)


if __name__ == "__main__":
    main()
