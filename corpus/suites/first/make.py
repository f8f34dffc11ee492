"""Lowers the programs of the first suite to HLO text, one file a program.

    python3 make.py [FOLDER]

Needs jax 0.10.2 (`pip install jax==0.10.2`); the files it wrote are kept beside it, so that tests
do not. Each program is written for this suite; the values come from the seed at run time."""

import pathlib
import sys

import jax
import jax.numpy as jnp
from jax import lax

PROGRAMS = {}


def program(*shapes, platform="cpu"):
    """Registers a function with the shapes of its arguments, e.g. ("f32", 2, 3). On the platform
    "tpu" JAX lowers linear algebra to HLO's own opcodes rather than to LAPACK."""
    def register(function):
        PROGRAMS[function.__name__] = (function, shapes, platform)
        return function
    return register


DTYPES = {"f32": jnp.float32, "f64": jnp.float64, "bf16": jnp.bfloat16, "f16": jnp.float16,
          "f8": jnp.float8_e4m3fn, "f8e5m2": jnp.float8_e5m2, "s32": jnp.int32, "u32": jnp.uint32,
          "s8": jnp.int8, "u8": jnp.uint8, "s64": jnp.int64, "c64": jnp.complex64,
          "pred": jnp.bool_}


def abstract(shape):
    return jax.ShapeDtypeStruct(tuple(shape[1:]), DTYPES[shape[0]])


# --- attention ---------------------------------------------------------------------------------


def layer_norm(x, scale, shift):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * scale + shift


@program(("f32", 2, 16, 32), ("f32", 32, 96), ("f32", 32, 32), ("f32", 32), ("f32", 32))
def attention_block(x, qkv, out, scale, shift):
    h = layer_norm(x, scale, shift)
    q, k, v = jnp.split(h @ qkv, 3, axis=-1)
    split = lambda t: t.reshape(2, 16, 4, 8).transpose(0, 2, 1, 3)
    q, k, v = split(q), split(k), split(v)
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(8.0)
    mask = jnp.tril(jnp.ones((16, 16), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", weights, v).transpose(0, 2, 1, 3).reshape(2, 16, 32)
    return x + mixed @ out


@program(("bf16", 8, 64), ("bf16", 64, 128), ("bf16", 128, 64))
def gelu_mlp_bf16(x, up, down):
    return jax.nn.gelu(x @ up) @ down


@program(("f32", 4, 8, 16), ("f32", 4, 32, 16), ("f32", 4, 32, 16), ("s32", 4))
def decode_step_with_cache(q, keys, values, position):
    token = q[:, :1, :]
    write = jax.vmap(lambda cache, row, at: lax.dynamic_update_slice(cache, row, (at, 0)))
    keys, values = write(keys, token, position), write(values, token * 2, position)
    scores = jnp.einsum("bqd,bkd->bqk", q, keys) * 0.25
    live = jnp.arange(32)[None, None, :] <= position[:, None, None]
    weights = jax.nn.softmax(jnp.where(live, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bqk,bkd->bqd", weights, values), keys, values


# --- convolution -------------------------------------------------------------------------------


def conv(x, w, stride=1, groups=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def net(params, images):
    w1, w2, w3, dense = params
    h = jax.nn.relu(conv(images, w1, 2))
    h = jax.nn.relu(conv(h, w2, 1, groups=8))
    h = jax.nn.relu(conv(h, w3))
    h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return h.reshape(h.shape[0], -1) @ dense


@program(("f32", 3, 3, 3, 8), ("f32", 3, 3, 1, 8), ("f32", 1, 1, 8, 16), ("f32", 256, 10),
         ("f32", 4, 16, 16, 3), ("s32", 4))
def convolutional_net_train_step(w1, w2, w3, dense, images, labels):
    params = (w1, w2, w3, dense)
    labels = jnp.clip(labels, 0, 9)

    def loss(params):
        logits = net(params, images)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))

    value, grads = jax.value_and_grad(loss)(params)
    return (value,) + tuple(p - 0.1 * g for p, g in zip(params, grads))


@program(("f32", 2, 7, 9, 4), ("f32", 3, 3, 4, 6))
def convolution_dilated_transposed(x, w):
    dilated = lax.conv_general_dilated(x, w, (1, 1), [(2, 2), (2, 2)], rhs_dilation=(2, 2),
                                       dimension_numbers=("NHWC", "HWIO", "NHWC"))
    transposed = lax.conv_transpose(x, w, (2, 2), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return dilated, transposed


@program(("f32", 8, 4, 4, 6), ("f32", 8), ("f32", 8))
def pooling_gradients(x, _, __):
    pooled = lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1),
                                                 "SAME") ** 2)
    biggest = lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1),
                                                  (1, 1, 1, 1), "VALID") ** 2)
    return jax.grad(pooled)(x), jax.grad(biggest)(x)


# --- loops -------------------------------------------------------------------------------------


@program(("f32", 12, 4, 8), ("f32", 8, 16), ("f32", 16, 16), ("f32", 16))
def recurrent_scan(xs, w, u, b):
    def step(h, x):
        h = jnp.tanh(x @ w + h @ u + b)
        return h, h
    return lax.scan(step, jnp.zeros((4, 16)), xs)


@program(("s32",), ("s32",))
def collatz_while(start, limit):
    start = jnp.abs(start) % 1000 + 1

    def body(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1
    return lax.while_loop(lambda s: (s[0] != 1) & (s[1] < 500), body, (start, limit * 0))


@program(("f32", 16), ("s32",))
def branches(x, which):
    return lax.switch(which, [lambda x: jnp.cumsum(x), lambda x: x[::-1] * 2,
                              lambda x: jnp.where(x > 0, x, -x)], x)


@program(("f32", 32, 32), ("f32", 32))
def power_iteration(a, v):
    a = a @ a.T

    def step(_, v):
        w = a @ v
        return w / jnp.sqrt(jnp.sum(w * w) + 1e-12)
    return lax.fori_loop(0, 5, step, v)


# --- indices -----------------------------------------------------------------------------------


@program(("f32", 50, 8), ("s32", 4, 6), ("f32", 4, 6, 8))
def embedding_scatter_add(table, tokens, gradients):
    tokens = jnp.clip(tokens, 0, 49)
    looked_up = table[tokens]
    return looked_up, table.at[tokens].add(-0.1 * gradients)


@program(("f32", 6, 40), ("s32", 6, 40))
def sort_pairs_and_topk(keys, values):
    sorted_keys, sorted_values = lax.sort((keys, values), dimension=1, num_keys=1)
    best, where = lax.top_k(keys, 5)
    return sorted_keys, sorted_values, best, where, jnp.argsort(values, axis=0)


@program(("f32", 9, 7), ("s32", 5), ("s32", 5))
def gathers_and_updates(x, rows, columns):
    rows, columns = rows % 9, columns % 7
    picked = x[rows, columns]
    return (picked, x.at[rows, columns].max(0.5), x.at[rows].multiply(2.0),
            jnp.take(x, columns, axis=1), x.at[1:8:3, ::2].set(0.25))


@program(("u32", 33), ("s32",))
def segment_sums(values, _):
    segments = jnp.arange(33) % 5
    return jax.ops.segment_sum(values, segments, 5), jax.ops.segment_max(values, segments, 5)


# --- reductions --------------------------------------------------------------------------------


@program(("f32", 5, 33), ("s32", 5, 33))
def multi_output_reductions(x, n):
    return (jnp.argmax(x, axis=1), jnp.argmin(x, axis=0), jnp.var(x, axis=1),
            jnp.max(n, axis=1), jnp.prod(jnp.clip(x, 0.5, 1.5), axis=1),
            jnp.any(x > 0.9, axis=0), jax.nn.logsumexp(x, axis=1))


@program(("f16", 64, 64), ("bf16", 64, 64))
def narrow_sums(a, b):
    return jnp.sum(a, axis=0), jnp.sum(b, axis=1), jnp.cumsum(b, axis=0), jnp.mean(a)


@program(("f32", 4, 6), ("f32", 4, 6))
def running_products(a, b):
    combine = lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1])
    return lax.associative_scan(combine, (a, b), axis=1)


# --- transforms and linear algebra -------------------------------------------------------------


@program(("f32", 3, 24), ("c64", 2, 8, 6))
def ffts(signal, field):
    spectrum = jnp.fft.rfft(signal)
    return spectrum, jnp.fft.irfft(spectrum * 2), jnp.fft.fft2(field), jnp.fft.ifft(field, axis=1)


@program(("f32", 3, 6, 6), ("f32", 3, 6, 2), platform="tpu")
def solve_positive_definite(a, b):
    spd = a @ a.transpose(0, 2, 1) + 2 * jnp.eye(6)
    lower = lax.linalg.cholesky(spd)
    half = lax.linalg.triangular_solve(lower, b, left_side=True, lower=True)
    return lower, half


@program(("c64", 5, 5), ("c64", 5, 5))
def complex_arithmetic(a, b):
    return a @ b, jnp.exp(a) * jnp.conj(b), jnp.abs(a), a / (b + 2)


# --- random numbers ----------------------------------------------------------------------------


@program(("u32", 2), ("f32", 8, 20))
def sampling(seed, logits):
    key = jax.random.wrap_key_data(seed, impl="threefry2x32")
    first, second = jax.random.split(key)
    return (jax.random.categorical(first, logits, axis=1), jax.random.bits(second, (7,)),
            jax.random.uniform(second, (5,)), jax.random.permutation(first, 10))


@program(("u32", 4))
def philox_bits(seed):
    key = jax.random.wrap_key_data(seed, impl="rbg")
    return jax.random.bits(key, (9,)), jax.random.bits(key, (6,), "uint16")


# --- integers and bits -------------------------------------------------------------------------


@program(("u32", 40), ("s32", 40), ("s8", 40), ("u8", 40))
def integer_and_bit_tricks(u, s, b, c):
    return (lax.population_count(u), lax.clz(u), (u << 7) ^ (u >> 3), s >> 5,
            lax.shift_right_logical(s, jnp.int32(5)), b * b, jnp.abs(b), c - 7,
            lax.rem(s, jnp.int32(7)), lax.div(s, jnp.int32(-3)), ~u & 0xff00ff,
            lax.bitcast_convert_type(u, jnp.float32) == 0, jnp.sign(s))


@program(("s32", 16), ("u32", 16), ("f32", 16))
def conversions(s, u, f):
    return (s.astype(jnp.float32), u.astype(jnp.float16), (f * 300).astype(jnp.int8),
            (f * 300).astype(jnp.uint8), f.astype(jnp.bfloat16).astype(jnp.float32),
            s.astype(jnp.int8), (f > 0).astype(jnp.int32), f.astype(jnp.float8_e4m3fn),
            f.astype(jnp.float8_e5m2).astype(jnp.float32))


@program(("f8", 16, 32), ("f8e5m2", 32, 16), ("bf16", 16, 16), ("f16", 16, 16))
def narrow_float_mix(a, b, c, d):
    product = lax.dot(a, b, preferred_element_type=jnp.float32)
    return product.astype(jnp.bfloat16) + c, (product * 0.5).astype(jnp.float16) * d


# --- elementwise -------------------------------------------------------------------------------


@program(("f32", 64), ("f32", 64))
def transcendental_functions(x, y):
    return (jnp.exp(x), jnp.tanh(y), jnp.sin(x) + jnp.cos(y), jnp.log1p(x), lax.erf(y),
            jnp.arctan2(x, y), lax.cbrt(x), jnp.expm1(y), jax.nn.sigmoid(x), jnp.sinh(y))


@program(("f64", 32), ("f64", 32))
def double_precision(x, y):
    return jnp.sum(x * y), jnp.exp(x) - y, jnp.sqrt(jnp.abs(x)) / 3.0, jnp.outer(x, y) @ y


@program(("f32", 3, 10), ("f32", 10))
def nan_and_infinity_rules(x, y):
    bad = jnp.where(x > 0.5, jnp.nan, jnp.where(x < -0.5, jnp.inf, x))
    return (jnp.maximum(bad, y), jnp.isnan(bad), jnp.nan_to_num(bad), jnp.isfinite(bad),
            jnp.nanmax(bad, axis=0))


def main():
    jax.config.update("jax_enable_x64", True)
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, (function, shapes, platform) in PROGRAMS.items():
        with jax.enable_x64(any(s[0] in ("f64", "s64") for s in shapes)):
            traced = jax.jit(function).trace(*[abstract(s) for s in shapes])
            lowered = traced.lower(lowering_platforms=(platform,))
            text = lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True)
        (folder / f"{name}.hlo").write_text(text)
        print(name)


if __name__ == "__main__":
    main()
