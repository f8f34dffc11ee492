"""Lowers the programs of the spmd suite to HLO text with shardings, not yet partitioned.

    python3 make.py [FOLDER]

Needs jax 0.10.2 (`pip install jax==0.10.2`); the files it wrote are kept beside it, so that tests
do not. Each program is written for this suite; the values come from the seed at run time.

A program becomes two files: NAME.hlo as JAX lowers it for Shardy (shardings in frontend attributes
too, xla.sdy.… custom calls), NAME.gspmd.hlo for the older propagation (Sharding and SPMD… custom
calls). The modules that no JAX program gives are in written.py."""

import functools
import os
import pathlib
import re
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

PROGRAMS = {}
MESHES = {"4": ((4,), ("a",)), "2": ((2,), ("a",)), "2x2": ((2, 2), ("a", "b")),
          "8": ((8,), ("a",)), "2x4": ((2, 4), ("a", "b")), "2x2x2": ((2, 2, 2), ("a", "b", "c"))}


@functools.cache
def mesh_of(name):
    sizes, names = MESHES[name]
    return jax.make_mesh(sizes, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))


def program(mesh, *arguments, out=None, platform="cpu"):
    """Registers a function: the mesh, the shape and the split of each argument, e.g.
    (("f32", 8, 4), P("a")), and the split of the result; None leaves it to XLA."""
    def register(function):
        PROGRAMS[function.__name__] = (function, mesh, arguments, out, platform)
        return function
    return register


DTYPES = {"f32": jnp.float32, "f64": jnp.float64, "bf16": jnp.bfloat16, "f16": jnp.float16,
          "s32": jnp.int32, "u32": jnp.uint32, "s8": jnp.int8, "c64": jnp.complex64}


def keep(x, mesh, *split):
    return lax.with_sharding_constraint(x, NamedSharding(mesh_of(mesh), P(*split)))


# --- training and attention --------------------------------------------------------------------


def mlp_loss(weights, x, y):
    w1, b1, w2, b2 = weights
    h = jax.nn.gelu(x @ w1 + b1)
    return jnp.mean(jnp.square(h @ w2 + b2 - y))


@program("4", (("f32", 8, 16), P()), (("f32", 16), P()), (("f32", 16, 4), P()), (("f32", 4), P()),
         (("f32", 32, 8), P("a")), (("f32", 32, 4), P("a")), out=(P(), P(), P(), P(), P()))
def mlp_train_step_data_parallel(w1, b1, w2, b2, x, y):
    weights = (w1, b1, w2, b2)
    loss, grads = jax.value_and_grad(mlp_loss)(weights, x, y)
    return (loss, *[w - 0.1 * g for w, g in zip(weights, grads)])


@program("2x2", (("f32", 8, 16), P(None, "b")), (("f32", 16), P("b")), (("f32", 16, 4), P("b")),
         (("f32", 4), P()), (("f32", 32, 8), P("a")), (("f32", 32, 4), P("a")),
         out=(P(), P(None, "b"), P("b"), P("b"), P()))
def mlp_train_step_two_axes(w1, b1, w2, b2, x, y):
    weights = (w1, b1, w2, b2)
    loss, grads = jax.value_and_grad(mlp_loss)(weights, x, y)
    return (loss, *[w - 0.1 * g for w, g in zip(weights, grads)])


@program("4", (("f32", 8, 16), P("a")), (("f32", 16), P("a")), (("f32", 16, 4), P("a")),
         (("f32", 4), P("a")), (("f32", 32, 8), P("a")), (("f32", 32, 4), P("a")),
         out=(P(), P("a"), P("a"), P("a"), P("a")))
def mlp_train_step_sharded_weights(w1, b1, w2, b2, x, y):
    weights = (w1, b1, w2, b2)
    loss, grads = jax.value_and_grad(mlp_loss)(weights, x, y)
    return (loss, *[w - 0.1 * g for w, g in zip(weights, grads)])


def layer_norm(x, scale):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    var = jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * scale


@program("2x2", (("f32", 4, 8, 16), P("a")), (("f32", 16, 4, 12), P(None, "b")),
         (("f32", 4, 4, 16), P("b")), (("f32", 16), P()), out=P("a"))
def attention_tensor_parallel(x, qkv, out, scale):
    h = layer_norm(x, scale)
    q, k, v = jnp.split(jnp.einsum("bsd,dhe->bhse", h, qkv), 3, axis=-1)
    scores = jnp.einsum("bhqe,bhke->bhqk", q, k) / 2.0
    mask = jnp.tril(jnp.ones((8, 8), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    return x + jnp.einsum("bhqk,bhke,hed->bqd", weights, v, out)


@program("4", (("bf16", 2, 16, 8), P(None, "a")), (("bf16", 2, 16, 8), P(None, "a")),
         (("bf16", 2, 16, 8), P(None, "a")), out=P(None, "a"))
def attention_sequence_parallel_bf16(q, k, v):
    scores = jnp.einsum("bqe,bke->bqk", q, k, preferred_element_type=jnp.float32)
    weights = jax.nn.softmax(scores / 2.0, axis=-1).astype(jnp.bfloat16)
    return jnp.einsum("bqk,bke->bqe", weights, v)


@program("4", (("f32", 8, 12), P()), (("f32", 12, 32), P(None, "a")), (("s32", 8), P()), out=P())
def cross_entropy_sharded_vocabulary(x, table, labels):
    logits = x @ table
    picked = jnp.take_along_axis(logits, (labels % 32)[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(logits, axis=-1) - picked


@program("2x2", (("f32", 16, 8), P("a")), (("f32", 16, 4), P("a")), (("f32", 4, 8, 8), P("b")),
         out=P("a"))
def mixture_of_experts(x, gates, experts):
    choice = jnp.argmax(gates, axis=-1)
    dispatch = jax.nn.one_hot(choice, 4, dtype=x.dtype)
    mixed = jnp.einsum("te,td,edf->etf", dispatch, x, experts)
    return jnp.einsum("etf,te->tf", mixed, dispatch)


# --- contractions ------------------------------------------------------------------------------


@program("4", (("f32", 6, 16), P(None, "a")), (("f32", 16, 5), P("a")), out=P())
def dot_split_contraction(x, y):
    return x @ y


@program("2x2", (("f32", 8, 16), P("a", "b")), (("f32", 16, 12), P("b", "a")), out=P("a", "b"))
def dot_both_split(x, y):
    return x @ y


@program("2x2", (("f32", 8, 16), P("b", "a")), (("f32", 12, 16), P("a", "b")), out=P("b"))
def dot_conflicting_splits(x, y):
    return lax.dot_general(x, y, (((1,), (1,)), ((), ())))


@program("4", (("f32", 8, 6, 16), P("a")), (("f32", 8, 16, 4), P(None, "a")), out=P(None, "a"))
def dot_batches_elsewhere(x, y):
    y = keep(y, "4", None, "a")
    return jnp.einsum("bik,bkj->bij", keep(x, "4", "a"), y).transpose(1, 0, 2)[:4]


@program("4", (("s8", 8, 32), P(None, "a")), (("s8", 32, 8), P("a")), out=P("a"))
def dot_integers(x, y):
    return lax.dot(x, y, preferred_element_type=jnp.int32)


@program("2x2", (("c64", 8, 8), P("a", "b")), (("c64", 8, 8), P("b")), out=P("a"))
def dot_complex(x, y):
    return jnp.conj(x) @ y


# --- windows -----------------------------------------------------------------------------------


@program("4", (("f32", 2, 16, 8, 3), P(None, "a")), (("f32", 3, 3, 3, 4), P()), out=P(None, "a"))
def convolution_halo(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program("4", (("f32", 1, 24, 6, 2), P(None, "a")), (("f32", 5, 3, 2, 4), P()), out=P(None, "a"))
def convolution_halo_strided_dilated(x, w):
    return lax.conv_general_dilated(x, w, (2, 1), ((3, 5), (1, 1)), rhs_dilation=(2, 1),
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program("2", (("f32", 1, 8, 4, 2), P(None, "a")), (("f32", 3, 3, 2, 4), P()), out=P(None, "a"))
def convolution_halo_transposed(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), ((2, 1), (1, 1)), lhs_dilation=(2, 1),
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


@program("2x2", (("f32", 4, 8, 8, 4), P("a", "b")), (("f32", 3, 3, 4, 8), P(None, None, None, "a")),
         out=(P(), P(None, None, None, "a")))
def convolution_gradient(x, w):
    def loss(x, w):
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.sum(jnp.square(y))
    return jax.value_and_grad(loss, argnums=1)(x, w)


@program("2x2", (("f32", 4, 8, 8, 8), P("a")), (("f32", 3, 3, 1, 8), P()), out=P())
def depthwise_convolution_gradient(x, w):
    def loss(w):
        y = lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=8,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.sum(jnp.square(y))
    return jax.grad(loss)(w)


@program("4", (("f32", 2, 16, 4), P(None, "a")), out=(P(None, "a"), P(None, "a")))
def pooling_and_gradient(x):
    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 1), (1, 1, 1), "SAME")
    return pool(x), jax.grad(lambda x: jnp.sum(jnp.square(pool(x))))(x)


@program("4", (("f32", 24, 4), P("a")), out=P("a"))
def mean_pool_overlapping(x):
    return lax.reduce_window(x, 0.0, lax.add, (5, 1), (2, 1), ((2, 2), (0, 0))) / 5


@program("4", (("f32", 16, 3), P("a")), out=(P("a"), P("a"), P("a")))
def cumulative(x):
    return jnp.cumsum(x, axis=0), lax.cummax(x, axis=0), jnp.cumprod(x, axis=1)


# --- slices, updates, gathers ------------------------------------------------------------------


@program("4", (("f32", 16, 4), P("a")), (("s32",), P()), out=P())
def dynamic_slice_of_split(x, start):
    return lax.dynamic_slice(x, (start, jnp.int32(1)), (5, 2))


@program("4", (("f32", 16, 4), P("a")), (("f32", 5, 4), P()), (("s32",), P()), out=P("a"))
def dynamic_update_of_split(x, update, start):
    return lax.dynamic_update_slice(x, update, (start, jnp.int32(0)))


@program("2x2", (("f32", 8, 8), P("a", "b")), (("f32", 1, 8), P(None, "b")), (("s32",), P()),
         out=P("a", "b"))
def cache_update(cache, row, position):
    return lax.dynamic_update_slice(cache, row, (position, jnp.int32(0)))


@program("4", (("f32", 32, 6), P("a")), (("s32", 10), P()), out=P())
def embedding_split_table(table, ids):
    return table[ids % 32]


@program("4", (("f32", 32, 8), P(None, "a")), (("s32", 12), P("a")), out=P("a"))
def embedding_split_features(table, ids):
    return jnp.take(table, ids % 32, axis=0)


@program("2x2", (("f32", 32, 6), P("a")), (("s32", 8, 3), P("b")), (("f32", 8, 3, 6), P("b")),
         out=P("a"))
def scatter_add_split_table(table, ids, updates):
    return table.at[ids % 32].add(updates)


@program("4", (("f32", 16), P("a")), (("s32", 8), P("a")), (("f32", 8), P("a")),
         out=(P("a"), P("a"), P("a")))
def scatter_kinds(x, ids, updates):
    return (x.at[ids].max(updates), x.at[ids].mul(updates),
            x.at[jnp.arange(8) * 2].set(updates, unique_indices=True))


@program("2", (("f32", 4, 10), P("a")), (("s32", 4, 3), P("a")), out=P("a"))
def gather_batched(x, ids):
    return jnp.take_along_axis(x, ids % 10, axis=1)


@program("4", (("f32", 16, 5), P("a")), out=(P("a"), P("a"), P("a"), P(), P("a")))
def shifts_and_pads(x):
    return (jnp.roll(x, 3, axis=0), jnp.flip(x, axis=0), x[3:11], x[1::3],
            jnp.pad(x, ((3, 1), (1, 0)), constant_values=7))


@program("4", (("f32", 8, 3), P("a")), (("f32", 12, 3), P("a")), out=P("a"))
def concatenate_along_split(x, y):
    return jnp.concatenate([x, y, x[:4]], axis=0)


@program("2x4", (("f32", 8, 16), P("a", "b")),
         out=(P("b", "a"), P(("a", "b")), P(None, "b"), P("b")))
def reshape_and_transpose(x):
    return x.T, x.reshape(16, 8), x.reshape(2, 4, 16), x.reshape(128)


@program("8", (("f32", 8, 16), P("a")), out=P(None, "a"))
def split_moves_to_other_dimension(x):
    return jnp.sin(keep(x, "8", None, "a"))


@program("4", (("f32", 10, 3), P()), out=P())
def uneven_inside(x):
    y = keep(jnp.exp(x), "4", "a")
    z = keep(y[:7], "4", "a")
    return jnp.concatenate([jnp.sum(y, axis=0), jnp.max(z, axis=0), jnp.cumsum(z, axis=0)[-1]])


# --- reductions, sorts -------------------------------------------------------------------------


@program("2x4", (("f32", 16, 8), P("a", "b")),
         out=(P(), P("a"), P("b"), P(), P(), P("a"), P()))
def reductions(x):
    return (jnp.sum(x), jnp.max(x, axis=1), jnp.min(x, axis=0), jnp.prod(x), jnp.any(x > 0.5),
            jnp.argmax(x, axis=1), jnp.argmin(x))


@program("4", (("f32", 16, 3), P("a")), out=P("a"))
def sort_along_split(x):
    return jnp.sort(x, axis=0)


@program("4", (("f32", 8, 6), P("a")), (("s32", 8, 6), P("a")), out=(P("a"), P("a")))
def sort_pairs(x, y):
    return tuple(lax.sort((x, y), dimension=1, num_keys=1))


@program("4", (("f32", 6, 16), P(None, "a")), out=(P(), P()))
def top_k_along_split(x):
    return tuple(lax.top_k(x, 5))


@program("4", (("f32", 16), P("a")), out=(P("a"), P()))
def sort_and_search(x):
    return jnp.argsort(x), jnp.searchsorted(jnp.sort(x), jnp.array([-0.5, 0.0, 0.5]))


# --- control flow ------------------------------------------------------------------------------


@program("4", (("f32", 8, 8), P("a")), (("f32", 8, 4), P()), out=P("a"))
def scan_of_split_state(w, x):
    def body(h, _):
        return jnp.tanh(w @ h), None
    return lax.scan(body, x, None, length=4)[0]


@program("2", (("f32", 6, 8), P(None, "a")), out=(P("a"), P(None, "a")))
def scan_over_rows(x):
    return lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(8), x)


@program("4", (("f32", 16), P("a")), (("s32",), P()), out=P("a"))
def branches(x, which):
    return lax.switch(which % 3, [jnp.sin, lambda x: jnp.flip(x), lambda x: x * jnp.sum(x)], x)


@program("4", (("f32", 16), P("a")), out=P("a"))
def while_until_small(x):
    return lax.while_loop(lambda x: jnp.sum(jnp.abs(x)) > 1.0, lambda x: x * 0.5, x)


# --- other operations --------------------------------------------------------------------------


@program("4", (("u32", 2), P()), out=(P("a"), P(None, "a")))
def random_numbers(key):
    key = jax.random.wrap_key_data(key)
    a, b = jax.random.split(key)
    return (keep(jax.random.normal(a, (16, 4)), "4", "a"),
            keep(jax.random.randint(b, (4, 16), 0, 1000), "4", None, "a"))


@program("4", (("f32", 4, 8), P("a")), out=P("a"))
def fft_of_batches(x):
    return jnp.real(jnp.fft.ifft(jnp.fft.fft(x) * 2))


@program("2", (("f32", 4, 3, 3), P("a")), (("f32", 4, 3, 2), P("a")), out=P("a"), platform="tpu")
def solve_of_batches(a, b):
    return jax.scipy.linalg.solve_triangular(a + 3 * jnp.eye(3), b, lower=True)


@program("4", (("f32", 16, 4), P("a")), (("f32", 4), P()), out=(P("a"), P("a"), P("a")))
def broadcast_and_iota(x, y):
    n = lax.broadcasted_iota(jnp.int32, (16, 4), 0)
    return x + y, jnp.where(n % 3 == 0, x, -x), keep(n * 2, "4", "a")


@program("2x2x2", (("f32", 8, 4, 6), P("c", "a")), (("f32", 6, 8), P("b", "c")),
         out=P("a", None, "b"))
def three_axes(x, y):
    return jnp.einsum("ijk,kl->jil", x, y)


# --- manual regions ----------------------------------------------------------------------------


def manual(mesh, ins, outs, names=None):
    return functools.partial(jax.shard_map, mesh=mesh_of(mesh), in_specs=ins, out_specs=outs,
                             **({"axis_names": names} if names else {}))


@program("2x2", (("f32", 8, 4), P("a", "b")), (("f32", 4, 6), P("b")), out=P("a"))
def manual_matmul(x, y):
    @manual("2x2", (P("a", "b"), P("b")), P("a"))
    def f(x, y):
        return lax.psum(jnp.sin(x) @ y, "b")
    return f(x, y)


@program("4", (("f32", 16, 3), P("a")), out=P("a"))
def manual_ring(x):
    @manual("4", P("a"), P("a"))
    def f(x):
        total, moved = x, x
        for _ in range(3):
            moved = lax.ppermute(moved, "a", [(i, (i + 1) % 4) for i in range(4)])
            total = total + moved * 0.5
        return total + lax.axis_index("a").astype(jnp.float32)
    return f(x)


@program("4", (("f32", 8, 8), P("a")), out=(P(None, "a"), P("a"), P("a"), P()))
def manual_collectives(x):
    @manual("4", P("a"), (P(None, "a"), P("a"), P("a"), P()))
    def f(x):
        everything = lax.all_gather(x, "a", axis=0, tiled=True)
        return (lax.all_to_all(x, "a", split_axis=1, concat_axis=0, tiled=True),
                lax.psum_scatter(everything, "a", scatter_dimension=0, tiled=True),
                x - lax.pmax(x, "a"), lax.pmean(jnp.sum(x), "a"))
    return f(x)


@program("2x2", (("f32", 8, 6), P("a", "b")), (("f32", 6, 4), P("b")), out=P("a"))
def manual_along_one_axis(x, y):
    @manual("2x2", (P("a"), P()), P("a"), {"a"})
    def f(x, y):
        return x @ y + lax.axis_index("a")
    return f(x, y)


@program("2x2", (("f32", 8, 8), P(("a", "b"))), out=P())
def manual_along_inner_axis(x):
    @manual("2x2", P(None, "b"), P(), {"b"})
    def f(x):
        return lax.psum(jnp.cumsum(x, axis=0), "b")
    return f(jnp.cos(x))


@program("4", (("f32", 8, 4), P("a")), out=P("a"))
def manual_in_loop(x):
    @manual("4", P("a"), P("a"))
    def step(x):
        return x + 0.1 * lax.ppermute(x, "a", [(i, (i + 1) % 4) for i in range(4)])
    return lax.fori_loop(0, 3, lambda i, x: jnp.tanh(step(x)), x)


@program("4", (("f32", 12, 6), P("a")), (("f32", 6, 6), P()), out=P())
def manual_gradient(x, w):
    @manual("4", (P("a"), P()), P())
    def loss(x, w):
        return lax.psum(jnp.sum(jnp.square(jnp.tanh(x @ w))), "a")
    return jax.grad(loss, argnums=1)(x, w)


@program("2x2", (("f32", 8, 8), P("a", "b")), out=P("a", "b"))
def manual_halo_exchange(x):
    @manual("2x2", P("a", "b"), P("a", "b"))
    def f(x):
        up = lax.ppermute(x[-1:], "a", [(0, 1)])
        left = lax.ppermute(x[:, -1:], "b", [(0, 1)])
        return x + jnp.pad(x, ((1, 0), (0, 0)))[:-1] + jnp.pad(up, ((0, 3), (0, 0))) + left
    return f(x)


# -----------------------------------------------------------------------------------------------


def lower(name, shardy):
    function, mesh, arguments, out, platform = PROGRAMS[name]
    jax.config.update("jax_use_shardy_partitioner", shardy)
    jax.clear_caches()
    where = functools.partial(NamedSharding, mesh_of(mesh))
    shapes = [jax.ShapeDtypeStruct(tuple(s[1:]), DTYPES[s[0]]) for s, _ in arguments]
    splits = tuple(where(split) for _, split in arguments)
    outs = tuple(where(o) for o in out) if type(out) is tuple else where(out)
    traced = jax.jit(function, in_shardings=splits, out_shardings=outs).trace(*shapes)
    lowered = traced.lower(lowering_platforms=(platform,))
    text = lowered.compiler_ir("hlo").as_hlo_text(print_large_constants=True)
    return re.sub(r"\n", f", num_partitions={mesh_of(mesh).size}\n", text, count=1)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name in PROGRAMS:
        for shardy, suffix in ((True, ""), (False, ".gspmd")):
            (folder / f"{name}{suffix}.hlo").write_text(lower(name, shardy))
        print(name)


if __name__ == "__main__":
    main()
