# Peer: XLA's own interpreter over many modules. Runs on `peers interpreter`.
#   bench_xla_interpreter_corpus.py LIMIT <list
# reads file names, one a line, and prints for each a JSON object a line: {"file", "modules": [seconds
# or {"error": text}, …]}, one for each module of the file ("// -----" parts them). Each module runs
# once, cold, in a child of its own that ends after LIMIT seconds.
import json
import os
import re
import select
import signal
import sys
import time

import numpy
from jaxlib import xla_client, xla_extension


def draw(shape, random):
    """Numbers as a test would draw them: floats in [-1, 1), small integers."""
    dtype = numpy.dtype(shape.numpy_dtype())
    size = shape.dimensions()
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(0, 4, size).astype(dtype)
    if dtype.kind == "c":
        return (random.uniform(-1, 1, size) + 1j * random.uniform(-1, 1, size)).astype(dtype)
    return random.uniform(-1, 1, size).astype(dtype)


# What the old parser and evaluator do not know and what says nothing about values.
UNKNOWN = [
    (re.compile(r", allow_spmd_sharding_propagation_to_(parameters|output)=\{[^}]*\}"), ""),
    (re.compile(r", (frontend_attributes|metadata|origin|sharding|backend_config)=\{[^{}]*\}"), ""),
]
BARRIER = re.compile(r"^\s*%?([\w.-]+) = .*? opt-barrier\((?:.* )?%?([\w.-]+)\).*\n", re.MULTILINE)


def without_barriers(text):
    """The evaluator knows no opt-barrier: its readers read its operand."""
    found = BARRIER.search(text)
    while found:
        name, operand = found.groups()
        text = text[:found.start()] + text[found.end():]
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", operand, text)
        found = BARRIER.search(text)
    return text


def run(text):
    """Seconds of one run."""
    for pattern, replacement in UNKNOWN:
        text = pattern.sub(replacement, text)
    text = without_barriers(text)
    module = xla_extension.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    client = xla_client.make_interpreter_client()
    random = numpy.random.default_rng(1)
    shapes = computation.program_shape().parameter_shapes()
    inputs = [client.buffer_from_pyval(draw(shape, random)) for shape in shapes]
    executable = client.compile(xla_extension.mlir.xla_computation_to_mlir_module(computation))
    start = time.perf_counter()
    for result in executable.execute(inputs):
        result.block_until_ready()
    return time.perf_counter() - start


def child(text, out):
    try:
        answer = run(text)
    except BaseException as error:  # a peer's refusal is a result
        answer = {"error": f"{type(error).__name__}: {error}"[:200]}
    os.write(out, json.dumps(answer).encode())
    os._exit(0)


def run_apart(text, limit):
    into, out = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(into)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        child(text, out)
    os.close(out)
    ready, _, _ = select.select([into], [], [], limit)
    answer = os.read(into, 1 << 16) if ready else b""
    if not ready:
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    os.close(into)
    if not ready:
        return {"error": "limit"}
    return json.loads(answer) if answer else {"error": "crash"}


def main():
    limit = float(sys.argv[1])
    for line in sys.stdin:
        path = line.rstrip("\n")
        with open(path, encoding="utf-8", errors="replace") as file:
            parts = re.split(r"^// -----.*$", file.read(), flags=re.MULTILINE)
        modules = [part for part in parts if "HloModule" in part]
        answers = [run_apart(part, limit) for part in modules]
        print(json.dumps({"file": path, "modules": answers}), flush=True)


main()
