# Peer: StableHLO's reference interpreter on MLIR. Runs on `peers current`. Called with files it
# prints what peer.py says. With --serve it reads lines "FIRST FILE" from standard input and answers
# for each part of the file between "// -----" lines, from number FIRST on, with a line of the seconds
# of its fastest evaluation, null for one that it cannot evaluate; then "end".
import json
import re
import sys
import time

import numpy
from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import peer

PATIENCE = 0.02
context = make_ir_context()


def inputs_of(text):
    """Random inputs, uniform in [-1, 1), for the f32 arguments of main."""
    signature = re.search(r"@main\((.*?)\) ->", text).group(1)
    random = numpy.random.default_rng(1)
    return [ir.DenseElementsAttr.get(random.uniform(-1, 1, [int(d) for d in sizes.split("x") if d])
                                     .astype(numpy.float32))
            for sizes in re.findall(r"tensor<([0-9x]*)xf32>", signature)]


def prepare(text, path):
    with context:
        module = ir.Module.parse(text)
        inputs = inputs_of(text)
    return lambda: stablehlo.eval_module(module, inputs)


STATEMENT = re.compile(r"\s*(%[\w#:, ]+=|func\.return|return|stablehlo\.return|check\.|\"check\.|\}|"
                       r"interpreter\.|\"interpreter\.|//|$)")


def without_checks(part):
    """The part without its check ops, which jaxlib does not know; each ends where another op, a
    closing brace or an empty line begins."""
    kept, dropping = [], False
    for line in part.split("\n"):
        if STATEMENT.match(line):
            dropping = re.match(r"\s*\"?check\.", line) is not None
        if not dropping:
            kept.append(line)
    return "\n".join(kept)


def part_time(part):
    try:
        with context:
            module = ir.Module.parse(without_checks(part))
        times = []
        while sum(times) < PATIENCE:
            start = time.perf_counter()
            stablehlo.eval_module(module, [])
            times.append(time.perf_counter() - start)
        return min(times)
    except Exception:  # a peer's refusal is a result
        return None


def is_empty(part):
    return all(not line.strip() or line.strip().startswith("//") for line in part.split("\n"))


# One separator is commented out once more; the functions on its two sides are evaluated one by one
# all the same.
SEPARATOR = re.compile(r"(?m)^\s*(?:// )?// -----.*$")


def serve():
    for line in sys.stdin:
        first, path = line.rstrip("\n").split(" ", 1)
        with open(path, encoding="utf-8") as file:
            parts = [part for part in SEPARATOR.split(file.read()) if not is_empty(part)]
        for part in parts[int(first):]:
            print(json.dumps(part_time(part)), flush=True)
        print('"end"', flush=True)


if sys.argv[1:] == ["--serve"]:
    serve()
else:
    peer.run_peer(prepare)
