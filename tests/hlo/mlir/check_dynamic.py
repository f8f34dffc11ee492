#!/usr/bin/env python3
"""Holds the translation of programs of dynamic shapes against StableHLO's own shape refinement.

usage: check_dynamic.py REFEREE FILE.mlir… [--size N]… [--keep FOLDER]

Every file has a function @main whose arguments leave sizes open ("?"); leading arguments of type
tensor<i64> say them. For each size N, all open sizes become N, N + 1 for the next if --distinct.
StableHLO's passes (from jaxlib) refine the program to static shapes; the golden evaluates both, the
dynamic file with --shapes and the refined one, on the same arguments. Their outputs must be the same
bits. Needs jax and numpy.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir import passmanager
from jaxlib.mlir.dialects import stablehlo

stablehlo.register_stablehlo_passes()

SIGNATURE = re.compile(r"func\.func public @main\((.*?)\) -> ", re.S)


def split_arguments(text):
    """The arguments between the parentheses, at the commas outside brackets."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        quoted ^= c == '"'
        if quoted:
            continue
        depth += c in "<{([" and 1 or 0
        depth -= c in ">})]" and 1 or 0
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    if text[start:].strip():
        parts.append(text[start:])
    return [p.strip() for p in parts]


def make_static(text, size, distinct):
    """(text without size arguments, types of the rest, values of the size arguments)"""
    match = SIGNATURE.search(text)
    arguments = split_arguments(match.group(1))
    leading, kept, types = [], [], []
    for argument in arguments:
        name, rest = argument.split(":", 1)
        kind = re.match(r"\s*(tensor<(?:[^<>]|<[^>]*>)*>)", rest).group(1)
        if kind == "tensor<i64>" and not kept:
            leading.append(name.strip())
        else:
            kept.append(argument)
            types.append(kind)
    values = [size + (i if distinct else 0) for i in range(len(leading))]
    if distinct and len(leading) < 2:
        return None
    known = {}
    static = []
    for kind in types:
        n = kind.count("?")
        for i in range(n):
            kind = kind.replace("?", str(values[i] if distinct and n == len(values) else size), 1)
        static.append(kind)
    constants = "".join(
        f"\n    {name} = stablehlo.constant dense<{value}> : tensor<i64>"
        for name, value in zip(leading, values))
    start, end = match.span(1)
    text = text[:start] + ", ".join(kept) + text[end:]
    brace = text.index("{\n", SIGNATURE.search(text).end() - 1)
    return text[:brace + 1] + constants + text[brace + 1:], static, values


def refine(text, types):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        # Private functions are inlined by refinement only where it can specialise them: so first.
        pipeline = ("builtin.module(inline,stablehlo-refine-arguments{types=" + ",".join(types) +
                    "},stablehlo-refine-shapes,func.func(stablehlo-canonicalize-dynamism),"
                    "stablehlo-refine-shapes)")
        passmanager.PassManager.parse(pipeline).run(module.operation)
        return str(module)


DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i1": np.bool_,
          "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
          "complex<f32>": np.complex64, "complex<f64>": np.complex128}
HLO = {"f32": "f32", "f64": "f64", "f16": "f16", "bf16": "bf16", "i1": "pred", "i8": "s8",
       "i16": "s16", "i32": "s32", "i64": "s64", "ui8": "u8", "ui16": "u16", "ui32": "u32",
       "ui64": "u64", "complex<f32>": "c64", "complex<f64>": "c128"}


def hlo_shape(kind):
    body = kind[len("tensor<"):-1]
    sizes = []
    while (m := re.match(r"(\d+)x", body)) is not None:
        sizes.append(m.group(1))
        body = body[m.end():]
    return HLO[body] + "[" + ",".join(sizes) + "]", [int(s) for s in sizes], body


def make_input(path, kind, rng):
    shape, sizes, element = hlo_shape(kind)
    if element in ("f32", "f64", "f16", "bf16"):
        value = (rng.standard_normal(sizes) * 3)
    elif element.startswith("complex"):
        value = rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)
    elif element == "i1":
        value = rng.integers(0, 2, sizes)
    else:
        value = rng.integers(0, 5, sizes)
    value = np.asarray(value)
    with open(path, "w") as file:
        def show(v):
            if isinstance(v, (complex, np.complexfloating)):
                return f"({float(np.float32(v.real))!r}, {float(np.float32(v.imag))!r})"
            return repr(v.item()) if not isinstance(v, np.bool_) else str(int(v))
        def nest(v):
            return show(v[()]) if v.ndim == 0 else "{" + ", ".join(nest(x) for x in v) + "}"
        file.write(f"{shape} {nest(value)}\n")


def evaluate(referee, path, inputs, shapes):
    command = [referee, "eval", path, "--full"]
    for shape in shapes:
        command += ["--shapes", shape]
    for value in inputs:
        command += ["--inputs", value]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def check(referee, path, size, distinct, folder):
    with open(path) as file:
        text = file.read()
    made = make_static(text, size, distinct)
    if made is None:
        return None
    stripped, types, values = made
    try:
        static = refine(stripped, types)
    except Exception as error:  # what the passes refuse
        return "unrefined: " + str(error).split("\n")[0][:200]
    if re.search(r"[<x]\?", static.split("func.func", 1)[1]):
        return "unrefined: open sizes are left"
    static_path = os.path.join(folder, "static.mlir")
    with open(static_path, "w") as file:
        file.write(static)
    rng = np.random.default_rng(size)
    inputs = []
    for i, kind in enumerate(types):
        inputs.append(os.path.join(folder, f"in{i}.txt"))
        make_input(inputs[-1], kind, rng)
    sized = []
    for i, value in enumerate(values):
        sized.append(os.path.join(folder, f"size{i}.txt"))
        with open(sized[-1], "w") as file:
            file.write(f"s64[] {value}\n")
    code, got, error = evaluate(referee, path, sized + inputs, [])
    if code != 0:
        return "dynamic: " + error.strip()[:300]
    code, want, error = evaluate(referee, static_path, inputs, [])
    if code != 0:
        return "static: " + error.strip()[:300]
    return "ok" if got == want else "DIFFERENT\n" + got[:300] + "\n" + want[:300]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("referee")
    parser.add_argument("files", nargs="+")
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    counts = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or temporary
        for path in arguments.files:
            for size in arguments.size or [3, 5]:
                result = check(arguments.referee, path, size, arguments.distinct, folder)
                if result is None:
                    continue
                kind = result.split(":")[0].split("\n")[0]
                counts[kind] = counts.get(kind, 0) + 1
                if result != "ok":
                    print(f"{path} (size {size}): {result}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 0 if set(counts) <= {"ok"} else 1


if __name__ == "__main__":
    sys.exit(main())
