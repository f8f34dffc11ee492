# What the peers share: arguments, inputs and timing. A peer is called as
#   bench_NAME.py FILE…
# and prints one JSON object: file → seconds of its fastest run, or file → {"error": text}.
import json
import re
import sys
import time

import numpy

PATIENCE = 1.0  # seconds of measuring each file, if one run takes less


def run_peer(prepare):
    """For each file named, prepare(text, path) returns a function that runs it once, waiting for
    the result."""
    results = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            results[path] = measure(prepare(text, path))
        except Exception as error:  # a peer's refusal is a result
            results[path] = {"error": f"{type(error).__name__}: {error}"[:200]}
    print(json.dumps(results))


def measure(run):
    times = []
    while sum(times) < PATIENCE:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def f32_inputs(text):
    """Random inputs, uniform in [-1, 1), for the f32 parameters of the entry of a small module."""
    entry = text[text.index("ENTRY"):]
    shapes = re.findall(r"= f32\[([0-9,]*)\]\S* parameter\((\d+)\)", entry)
    random = numpy.random.default_rng(1)
    inputs = [None] * len(shapes)
    for dimensions, number in shapes:
        size = [int(size) for size in dimensions.split(",") if size]
        inputs[int(number)] = random.uniform(-1, 1, size).astype(numpy.float32)
    return inputs
