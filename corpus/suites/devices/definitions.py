"""What make.py writes modules with: arrays, groups of devices, reductions, and the text of a module.

Sources of the definitions: StableHLO specification (process groups, all_gather, all_reduce, …)."""

import itertools

MODULES = {}
REASONS = {}  # name -> (outcome, reason) on XLA's CPU, where it is not PASS

# --- arrays: (shape, flat row-major list) ------------------------------------------------------


class Array:
    def __init__(self, shape, values):
        self.shape, self.values = tuple(shape), list(values)
        assert len(self.values) == size(self.shape), (shape, values)

    def at(self, index):
        position = 0
        for i, n in zip(index, self.shape):
            position = position * n + i
        return self.values[position]


def size(shape):
    total = 1
    for n in shape:
        total *= n
    return total


def indices(shape):
    return itertools.product(*(range(n) for n in shape))


def build(shape, function):
    return Array(shape, [function(index) for index in indices(shape)])


def concatenate(arrays, dim):
    width = arrays[0].shape[dim]
    shape = list(arrays[0].shape)
    shape[dim] = sum(a.shape[dim] for a in arrays)

    def pick(index):
        inner = list(index)
        inner[dim] %= width
        return arrays[index[dim] // width].at(inner)
    return build(shape, pick)


def piece(array, dim, number, count):
    """Piece `number` of `count` along a dimension."""
    shape = list(array.shape)
    shape[dim] //= count

    def pick(index):
        inner = list(index)
        inner[dim] += number * shape[dim]
        return array.at(inner)
    return build(shape, pick)


def text_of(value, kind):
    if kind == "pred":
        return "true" if value else "false"
    if kind.startswith("c"):
        return f"({value.real:g}, {value.imag:g})"
    return f"{value:g}" if kind[0] in "fb" else str(value)


def literal(kind, array):
    def nest(index):
        if len(index) == len(array.shape):
            return text_of(array.at(index), kind)
        n = array.shape[len(index)]
        return "{" + ", ".join(nest(index + (i,)) for i in range(n)) + "}"
    return f"{kind}[{','.join(map(str, array.shape))}] {nest(())}"


# --- groups ------------------------------------------------------------------------------------


def participants(mode, groups, replicas, partitions):
    """Lists of devices (replica * partitions + partition) that work together, from lists of ids."""
    if mode == "cross_replica":
        groups = groups or [list(range(replicas))]
        return [[r * partitions + p for r in g] for p in range(partitions) for g in groups]
    if mode == "cross_partition":
        groups = groups or [list(range(partitions))]
        return [[r * partitions + p for p in g] for r in range(replicas) for g in groups]
    if mode == "cross_both":
        groups = groups or [list(range(replicas))]
        return [[r * partitions + p for r in g for p in range(partitions)] for g in groups]
    return groups


def iota(dims, perm, count, width):
    """[count,width]<=[dims]T(perm)"""
    shape = [dims[d] for d in perm]
    strides = [size(dims[d + 1:]) for d in range(len(dims))]
    flat = [sum(i * strides[d] for i, d in zip(index, perm)) for index in indices(shape)]
    return [flat[g * width:(g + 1) * width] for g in range(count)]


def listed(groups):
    return "replica_groups={" + ",".join("{" + ",".join(map(str, g)) + "}" for g in groups) + "}"


CHANNEL = {"cross_replica": "", "cross_partition": ", channel_id=1", "cross_both": ", channel_id=1",
           "flattened": ", channel_id=1, use_global_device_ids=true"}

# --- modules -----------------------------------------------------------------------------------

REDUCTIONS = {"add": lambda a, b: a + b, "multiply": lambda a, b: a * b, "minimum": min,
              "maximum": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
              "xor": lambda a, b: a ^ b}


def reducer(operation, kind):
    return (f"{operation}.{kind} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n"
            f"  ROOT r = {kind}[] {operation}(a, b)\n}}\n\n")


def shape_text(kind, shape):
    return f"{kind}[{','.join(map(str, shape))}]"


def module(name, grid, parameters, body, arguments=None, results=None, helpers="", reason=None):
    """parameters: [(kind, shape)]; arguments and results: [device][i] of (kind, Array)."""
    replicas, partitions = grid
    lines = []
    for device in arguments or []:
        lines += [f"//@ arg {literal(kind, array)}" for kind, array in device]
    for device in results or []:
        lines += [f"//@ expect {literal(kind, array)}" for kind, array in device]
    header = f"HloModule {name}"
    header += f", replica_count={replicas}" if replicas > 1 else ""
    header += f", num_partitions={partitions}" if partitions > 1 else ""
    lines.append(header + "\n")
    text = "\n".join(lines) + "\n" + helpers + "ENTRY main {\n"
    for i, (kind, shape) in enumerate(parameters):
        text += f"  p{i} = {shape_text(kind, shape)} parameter({i})\n"
    text += "".join(f"  {line}\n" for line in body) + "}\n"
    assert name not in MODULES, name
    MODULES[name] = text
    if reason:
        REASONS[name] = reason


def values(kind, shape, device, few=False):
    """Small numbers that tell where they come from."""
    count = size(shape)
    if kind == "pred":
        return Array(shape, [bool((device * 3 + i * 5) % 4 in (0, 3)) for i in range(count)])
    if few:
        return Array(shape, [few[(device * 2 + i * 3 + i // 5) % len(few)] for i in range(count)])
    return Array(shape, [device * count + i + 1 for i in range(count)])


def spread(function, groups, inputs):
    """function(group's inputs, place) for every device."""
    results = [None] * len(inputs)
    for group in groups:
        for place, device in enumerate(group):
            results[device] = function([inputs[d] for d in group], place)
    return results


def fold(operation, arrays):
    result = arrays[0]
    for array in arrays[1:]:
        result = Array(result.shape, [REDUCTIONS[operation](a, b)
                                      for a, b in zip(result.values, array.values)])
    return result
