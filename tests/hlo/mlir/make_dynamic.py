#!/usr/bin/env python3
"""Makes fixtures/dynamic: programs of symbolic shapes as JAX exports them, with arguments and what
XLA's CPU gives. NAME.mlir is the program; NAME.txt has one literal a line: "arg" or "want", then the
literal in HLO's syntax. Needs jax and numpy.

usage: make_dynamic.py FOLDER
"""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

PROGRAMS = {}
RANDOM = np.random.default_rng(0)


def floats(*sizes):
    return RANDOM.standard_normal(sizes).astype(np.float32).round(2)


def ints(*sizes):
    return RANDOM.integers(0, 5, sizes).astype(np.int32)


def program(name, *arguments):
    """arguments: (symbolic shape, value) pairs."""
    def register(function):
        PROGRAMS[name] = (function, arguments)
        return function
    return register


@program("top_k", ("b, n", floats(3, 7)))
def _(x):
    return lax.top_k(x, x.shape[1] // 2)


@program("cumsum", ("b, 4", floats(5, 4)))
def _(x):
    return jnp.cumsum(x, axis=0)


@program("reduce_window", ("2, b", floats(2, 6)))
def _(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, x.shape[1]), (1, 1), "SAME")


@program("random_bits", ("b, 4", floats(5, 4)))
def _(x):
    return jax.random.bits(jax.random.key(3, impl="rbg"), (x.shape[0], 3))


@program("threefry", ("b, 4", floats(5, 4)))
def _(x):
    return jax.random.bits(jax.random.key(3), x.shape)


@program("arange", ("b", floats(6)))
def _(x):
    return x * jnp.arange(x.shape[0]) + x.shape[0]


@program("reshape", ("b, 4, c", floats(2, 4, 3)))
def _(x):
    return x.reshape(x.shape[0], -1), x.reshape(-1)


@program("while", ("b", floats(6)))
def _(x):
    return lax.while_loop(lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] * 1.5 + x), (0, x))


@program("scan", ("b, c", floats(4, 3)))
def _(x):
    return lax.scan(lambda c, a: (c + a.sum(), c * a), jnp.float32(0), x)


@program("cond", ("b", floats(6)))
def _(x):
    return lax.cond(x[0] > 0, lambda x: x * 2, lambda x: x[::-1], x)


@program("conv", ("b, 3, h, w", floats(1, 3, 8, 7)), ("2, 3, 3, 3", floats(2, 3, 3, 3)))
def _(x, k):
    return lax.conv(x, k, (2, 1), "SAME")


@program("matmul", ("b, n", floats(2, 5)), ("n, c", floats(5, 3)))
def _(x, y):
    return x @ y, jnp.einsum("ij,jk->ki", x, y)


@program("gather", ("b, n", floats(4, 5)), ("m", ints(6)))
def _(x, i):
    return x[i], jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)


@program("scatter", ("b", floats(5)), ("m", ints(7)))
def _(x, i):
    return x.at[i].add(1.0)


@program("dynamic_slice", ("b, n+2", floats(4, 5)), ("", np.int32(2)))
def _(x, i):
    return lax.dynamic_slice(x, (i, 1), (x.shape[0] - 1, 2)), x[1:, ::2]


@program("pad", ("b, n", floats(4, 5)))
def _(x):
    return jnp.pad(x, ((1, x.shape[1]), (0, 2)))


@program("concatenate", ("b, n", floats(4, 5)))
def _(x):
    return jnp.concatenate([x, x[:1] * 2], 0), jnp.stack([x, x]), jnp.tile(x, (2, 1))


@program("softmax", ("b, n", floats(4, 5)))
def _(x):
    return jax.nn.softmax(x), x.mean(0), x.var(), jnp.argmax(x, 1)


@program("approx_top_k", ("b, 8*k", floats(3, 32)))
def _(x):
    return lax.approx_max_k(x, x.shape[1] // 8)


@program("same_sizes", ("b, n", floats(3, 4)), ("n, b", floats(4, 3)))
def _(x, y):
    return x + y.T


@program("special", ("b", np.abs(floats(5))))
def _(x):
    return jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x), lax.erf_inv(x / 10)


def literal(value):
    value = np.asarray(value)
    kind = {"float32": "f32", "int32": "s32", "uint32": "u32", "bool": "pred"}[value.dtype.name]

    def nest(v):
        return repr(v.item()) if v.ndim == 0 else "{" + ", ".join(nest(x) for x in v) + "}"
    return f"{kind}[{','.join(map(str, value.shape))}] {nest(value)}"


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    jax.config.update("jax_platforms", "cpu")
    for name, (function, arguments) in PROGRAMS.items():
        scope = export.SymbolicScope()
        shapes = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), value.dtype)
                  for shape, value in arguments]
        values = [value for _, value in arguments]
        checks = [export.DisabledSafetyCheck.custom_call("stablehlo.dynamic_approx_top_k")]
        exported = export.export(jax.jit(function), disabled_checks=checks)(*shapes)
        with mlir.make_ir_context():
            text = ir.Module.parse(exported.mlir_module()).operation.get_asm()
        with open(os.path.join(folder, name + ".mlir"), "w") as file:
            file.write(text)
        with open(os.path.join(folder, name + ".txt"), "w") as file:
            for value in values:
                file.write("arg " + literal(value) + "\n")
            for value in jax.tree.leaves(exported.call(*values)):
                file.write("want " + literal(value) + "\n")


if __name__ == "__main__":
    main()
