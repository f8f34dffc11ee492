"""Writes the modules of the suite `devices`: every collective in every group mode and type.

    python3 make.py [FOLDER]

Plain Python. Each module carries its arguments and, computed here from the definitions, what each
device must give ("//@ arg", "//@ expect": one line a device and parameter or output). Groups, shapes
and values are small, and results are numbers that the types hold, so that expectations are exact.

Sources of the definitions: StableHLO specification (all_gather, all_reduce, reduce_scatter,
all_to_all, collective_permute, collective_broadcast, process groups), HLO operation semantics
(RaggedAllToAll, Send, Recv)."""

import pathlib
import sys

from definitions import (CHANNEL, MODULES, REASONS, Array, concatenate, fold, iota, listed, module,
                         participants, piece, reducer, shape_text, spread, values)

# --- group forms and modes, by all-reduce: device d brings 2^d ---------------------------------


def group_forms():
    both = [[0, 1], [2, 3]]
    forms = [
        ("cross_replica_all", "cross_replica", (4, 2), [], "replica_groups={}"),
        ("cross_replica_pairs", "cross_replica", (4, 2), both, None),
        ("cross_replica_crossed", "cross_replica", (4, 1), [[3, 0], [2, 1]], None),
        ("cross_replica_uneven", "cross_replica", (4, 1), [[0], [1, 2, 3]], None),
        ("cross_replica_iota", "cross_replica", (4, 2), iota([4], [0], 2, 2),
         "replica_groups=[2,2]<=[4]"),
        ("cross_replica_transposed", "cross_replica", (4, 1), iota([2, 2], [1, 0], 2, 2),
         "replica_groups=[2,2]<=[2,2]T(1,0)"),
        ("cross_both_all", "cross_both", (2, 3), [], "replica_groups={}"),
        ("cross_both_one", "cross_both", (2, 2), [[0, 1]], None),
        ("cross_both_each", "cross_both", (2, 3), [[0], [1]], None),
        ("cross_both_iota", "cross_both", (4, 2), iota([2, 2], [1, 0], 2, 2),
         "replica_groups=[2,2]<=[2,2]T(1,0)"),
        ("flattened_lists", "flattened", (2, 2), [[0, 3], [1, 2]], None),
        ("flattened_uneven", "flattened", (1, 4), [[3, 1, 0], [2]], None),
        ("flattened_iota", "flattened", (2, 4), iota([8], [0], 2, 4), "replica_groups=[2,4]<=[8]"),
        ("flattened_transposed", "flattened", (1, 8), iota([2, 4], [1, 0], 4, 2),
         "replica_groups=[4,2]<=[2,4]T(1,0)"),
        ("flattened_cube", "flattened", (1, 8), iota([2, 2, 2], [1, 2, 0], 2, 4),
         "replica_groups=[2,4]<=[2,2,2]T(1,2,0)"),
        ("flattened_mesh_first", "flattened", (1, 8), iota([2, 4], [1, 0], 4, 2),
         'replica_groups=mesh["x"=2,"y"=4] {"x"}'),
        ("flattened_mesh_second", "flattened", (2, 4), iota([2, 4], [0, 1], 2, 4),
         'replica_groups=mesh["x"=2,"y"=4] {"y"}'),
        ("flattened_mesh_part", "flattened", (1, 8), [[0, 1], [2, 3], [4, 5], [6, 7]],
         'replica_groups=mesh["x"=2,"y"=4] {"y":(2)2}'),
        ("cross_replica_mesh", "cross_replica", (4, 1), [[0, 2], [1, 3]],
         'replica_groups=mesh["a"=2,"b"=2] {"a"}'),
        ("flattened_mesh_of_devices", "flattened", (1, 4), [[3, 2], [1, 0]],
         'replica_groups=mesh["x"=2,"y"=2], device_ids=(3,1,2,0) {"x"}'),
        ("flattened_mesh_of_turned_devices", "flattened", (2, 4), [[0, 2, 4, 6], [1, 3, 5, 7]],
         'replica_groups=mesh["x"=2,"y"=4], device_ids=([4,2]T(1,0)) {"y"}'),
    ]
    for name, mode, grid, groups, text in forms:
        devices = grid[0] * grid[1]
        inputs = [Array([2], [2 ** d, -(2 ** d)]) for d in range(devices)]
        members = participants(mode, groups, *grid)
        results = spread(lambda arrays, _: fold("add", arrays), members, inputs)
        module(f"groups_{name}", grid, [("f32", [2])],
               [f"ROOT r = f32[2] all-reduce(p0), {text or listed(groups)}{CHANNEL[mode]}, "
                "to_apply=add.f32"],
               [[("f32", a)] for a in inputs], [[("f32", a)] for a in results],
               reducer("add", "f32"))


# --- each collective in each mode --------------------------------------------------------------

MODES = {"cross_replica": ((4, 1), [[2, 0], [1, 3]]), "cross_replica_of_2": ((2, 2), [[1, 0]]),
         "cross_both": ((2, 2), [[0, 1]]), "cross_partition": ((2, 2), [[1, 0]]),
         "flattened": ((2, 2), [[0, 3], [2, 1]])}
MODE_KINDS = [("f32", [4, 6]), ("s32", [4, 6])]


def with_modes(allowed):
    for label, (grid, groups) in MODES.items():
        mode = "cross_replica" if label.startswith("cross_replica") else label
        if mode in allowed:
            members = participants(mode, groups, *grid)
            yield label, grid, members, listed(groups) + CHANNEL[mode]


def in_modes():
    three = ("cross_replica", "cross_both", "flattened")
    two = ("cross_replica", "cross_partition")
    for kind, shape in MODE_KINDS:
        for label, grid, members, text in with_modes(three):
            devices, width = grid[0] * grid[1], len(members[0])
            inputs = [values(kind, shape, d) for d in range(devices)]
            arguments = [[(kind, a)] for a in inputs]
            for dim in (0, 1):
                gathered = spread(lambda arrays, _: concatenate(arrays, dim), members, inputs)
                module(f"all_gather_{label}_{kind}_dim{dim}", grid, [(kind, shape)],
                       [f"ROOT r = {shape_text(kind, gathered[0].shape)} all-gather(p0), {text}, "
                        f"dimensions={{{dim}}}"],
                       arguments, [[(kind, a)] for a in gathered])
            scattered = spread(lambda arrays, place: piece(fold("add", arrays), 0, place,
                                                           len(arrays)), members, inputs)
            module(f"reduce_scatter_{label}_{kind}", grid, [(kind, shape)],
                   [f"ROOT r = {shape_text(kind, [4 // width, 6])} reduce-scatter(p0), {text}, "
                    f"dimensions={{0}}, to_apply=add.{kind}"],
                   arguments, [[(kind, a)] for a in scattered], reducer("add", kind))
        for label, grid, members, text in with_modes(two):
            devices, width = grid[0] * grid[1], len(members[0])
            inputs = [values(kind, shape, d) for d in range(devices)]
            arguments = [[(kind, a)] for a in inputs]
            for dim in (0, 1):
                exchanged = spread(lambda arrays, place: concatenate(
                    [piece(a, dim, place, width) for a in arrays], dim), members, inputs)
                module(f"all_to_all_{label}_{kind}_dim{dim}", grid, [(kind, shape)],
                       [f"ROOT r = {shape_text(kind, shape)} all-to-all(p0), {text}, "
                        f"dimensions={{{dim}}}"],
                       arguments, [[(kind, a)] for a in exchanged])
            halves = [[(kind, values(kind, [3], 2 * d + k)) for k in range(2)]
                      for d in range(devices)]
            turned = spread(lambda parts, place: [p[place] for p in parts], members, halves)
            both = f"({kind}[3], {kind}[3])"
            module(f"all_to_all_tuple_{label}_{kind}", grid, [(kind, [3]), (kind, [3])],
                   [f"ROOT r = {both} all-to-all(p0, p1), {text}"], halves, turned)
            first = spread(lambda arrays, _: arrays[0], members, inputs)
            module(f"collective_broadcast_{label}_{kind}", grid, [(kind, shape)],
                   [f"ROOT r = {shape_text(kind, shape)} collective-broadcast(p0), {text}"],
                   arguments, [[(kind, a)] for a in first],
                   reason=("COMPILE_ERROR", "XLA's CPU has no collective-broadcast"))


def in_order_of_groups():
    """The order of devices within a group, as gathering shows it."""
    for name, grid, order, text in (
            ("list", (4, 1), [2, 0, 3, 1], "replica_groups={{2,0,3,1}}"),
            ("iota", (4, 1), iota([2, 2], [1, 0], 1, 4)[0], "replica_groups=[1,4]<=[2,2]T(1,0)"),
            ("axes", (4, 1), [0, 1, 2, 3], 'replica_groups=mesh["a"=2,"b"=2] {"a","b"}'),
            ("turned_axes", (4, 1), [0, 2, 1, 3], 'replica_groups=mesh["a"=2,"b"=2] {"b","a"}'),
            ("parts_of_axes", (1, 8), [0, 4, 2, 6, 1, 5, 3, 7],
             'replica_groups=mesh["a"=2,"b"=4] {"b":(2)2,"b":(1)2,"a"}, channel_id=1, '
             "use_global_device_ids=true")):
        inputs = [values("s32", [1], d) for d in range(len(order))]
        gathered = concatenate([inputs[d] for d in order], 0)
        module(f"order_by_{name}", grid, [("s32", [1])],
               [f"ROOT r = s32[{len(order)}] all-gather(p0), {text}, dimensions={{0}}"],
               [[("s32", a)] for a in inputs], [[("s32", gathered)]] * len(order))


def permutes():
    cases = [("ring", "cross_replica", (4, 1), [(0, 1), (1, 2), (2, 3), (3, 0)]),
             ("chain", "cross_replica", (4, 1), [(0, 1), (1, 2), (2, 3)]),
             ("swap_and_self", "cross_replica", (3, 1), [(0, 2), (2, 0), (1, 1)]),
             ("nothing", "cross_replica", (2, 1), []),
             ("in_each_partition", "cross_replica", (2, 2), [(1, 0)]),
             ("partitions", "cross_partition", (1, 4), [(3, 0), (0, 2), (1, 3)]),
             ("partitions_of_replicas", "cross_partition", (2, 2), [(0, 1), (1, 0)])]
    for name, mode, grid, pairs in cases:
        devices = grid[0] * grid[1]
        inputs = [values("f32", [2, 3], d) for d in range(devices)]
        results = [Array([2, 3], [0] * 6) for _ in range(devices)]
        for source, target in pairs:
            for group in participants(mode, [[source, target]], *grid):
                results[group[1]] = inputs[group[0]]
        text = ",".join(f"{{{a},{b}}}" for a, b in pairs)
        channel = CHANNEL[mode]
        module(f"collective_permute_{name}", grid, [("f32", [2, 3])],
               [f"ROOT r = f32[2,3] collective-permute(p0), source_target_pairs={{{text}}}"
                f"{channel}"],
               [[("f32", a)] for a in inputs], [[("f32", a)] for a in results])
        second = [values("s32", [2], d) for d in range(devices)]
        moved = [Array([2], [0, 0]) for _ in range(devices)]
        for source, target in pairs:
            for group in participants(mode, [[source, target]], *grid):
                moved[group[1]] = second[group[0]]
        if name in ("ring", "chain"):
            module(f"collective_permute_{name}_of_two", grid, [("f32", [2, 3]), ("s32", [2])],
                   ["ROOT r = (f32[2,3], s32[2]) collective-permute(p0, p1), "
                    f"source_target_pairs={{{text}}}{channel}"],
                   [[("f32", a), ("s32", b)] for a, b in zip(inputs, second)],
                   [[("f32", a), ("s32", b)] for a, b in zip(results, moved)])


# --- types -------------------------------------------------------------------------------------

# Numbers that every sum and product of two, and of four equal or unequal ones of the list, stays
# within: (values, reductions).
INTEGERS = ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "s4", "u4", "s2", "u2"]
FLOATS = ["f16", "bf16", "f32", "f64", "f8e5m2", "f8e4m3fn", "f8e4m3", "f8e4m3b11fnuz",
          "f8e4m3fnuz", "f8e5m2fnuz", "f8e3m4", "f8e8m0fnu", "f4e2m1fn"]
COMPLEX = ["c64", "c128"]
BITS = {"s1": 1, "u1": 1, "s2": 2, "u2": 2, "s4": 4, "u4": 4}


def few_of(kind):
    if kind == "f8e8m0fnu":
        return [1, 2]
    if kind == "f4e2m1fn":
        return [0, 0.5, 1]
    if kind in COMPLEX:
        return [1 + 1j, 2 - 1j, -1 + 0j, 0 + 1j]
    if kind in ("s1", "u1"):
        return [0, -1 if kind == "s1" else 1]
    if kind in ("s2",):
        return [-1, 0, 1]
    if kind in ("u2",):
        return [0, 1, 2, 3]
    if kind in FLOATS:
        return [0, 1, 2, 0.5]
    return [0, 1, 2, 3] if kind[0] == "u" else [0, 1, -2, 3]


def wrapped(value, kind):
    """Integers wrap."""
    if kind == "pred" or kind in FLOATS or kind in COMPLEX:
        return value
    bits = BITS.get(kind) or int(kind[1:])
    value %= 1 << bits
    return value - (1 << bits) if kind[0] == "s" and value >= 1 << (bits - 1) else value


def reductions_of(kind):
    """Those that XLA's CPU has, and others."""
    if kind in COMPLEX:
        return ["add", "multiply"], []
    if kind == "pred":
        return ["and", "or"], ["xor"]
    if kind == "f8e8m0fnu":
        return ["multiply", "minimum", "maximum"], []
    return ["add", "multiply", "minimum", "maximum"], [] if kind in FLOATS else ["and", "or", "xor"]


def reductions(name, kind, operations, reason):
    """all-reduce and reduce-scatter by each operation, two groups of two."""
    grid, members, text = (4, 1), [[0, 1], [3, 2]], "replica_groups={{0,1},{3,2}}"
    inputs = [values(kind, [6], d, few_of(kind)) for d in range(4)]
    body, results, shapes = [], [[] for _ in range(4)], []
    for operation in operations:
        whole = spread(lambda arrays, _: Array([6], [
            wrapped(v, kind) for v in fold(operation, arrays).values]), members, inputs)
        for places in members:
            for place, d in enumerate(places):
                results[d] += [(kind, whole[d]), (kind, piece(whole[d], 0, place, 2))]
        body += [f"{operation}.0 = {kind}[6] all-reduce(p0), {text}, to_apply={operation}.{kind}",
                 f"{operation}.1 = {kind}[3] reduce-scatter(p0), {text}, dimensions={{0}}, "
                 f"to_apply={operation}.{kind}"]
        shapes += [f"{kind}[6]", f"{kind}[3]"]
    parts = ", ".join(f"{operation}.{i}" for operation in operations for i in range(2))
    body.append(f"ROOT r = ({', '.join(shapes)}) tuple({parts})")
    module(name, grid, [(kind, [6])], body, [[(kind, a)] for a in inputs], results,
           "".join(reducer(operation, kind) for operation in operations), reason)


def types():
    """All types and reductions; moves of all types."""
    for kind in ["pred", "s1", "u1"] + INTEGERS + FLOATS + COMPLEX:
        usual, other = reductions_of(kind)
        if kind in ("s1", "u1"):
            usual, other = [], ["and", "or", "xor"]
        narrow = ("COMPILE_ERROR", "XLA's CPU reduces no integers of 1 or 2 bits")
        if usual:
            reductions(f"reductions_{kind}", kind, usual, narrow if kind in ("s2", "u2") else None)
        if other:
            reductions(f"bitwise_{kind}", kind, other,
                       ("COMPILE_ERROR", "XLA's CPU knows add, multiply, minimum and maximum"))
    grid, members, text = (4, 1), [[0, 1], [3, 2]], "replica_groups={{0,1},{3,2}}"
    for kind in ["pred", "s1", "u1"] + INTEGERS + FLOATS + COMPLEX:
        shape = [4, 2]
        inputs = [values(kind, shape, d, few_of(kind)) for d in range(4)]
        arguments = [[(kind, a)] for a in inputs]
        gathered = spread(lambda arrays, _: concatenate(arrays, 0), members, inputs)
        exchanged = spread(lambda arrays, place: concatenate(
            [piece(a, 0, place, 2) for a in arrays], 0), members, inputs)
        moved = [inputs[3], inputs[0], inputs[1], inputs[2]]
        ring = "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}"
        module(f"moves_{kind}", grid, [(kind, shape)],
               [f"a = {kind}[8,2] all-gather(p0), {text}, dimensions={{0}}",
                f"b = {kind}[4,2] all-to-all(p0), {text}, dimensions={{0}}",
                f"c = {kind}[4,2] collective-permute(p0), {ring}",
                f"ROOT r = ({kind}[8,2], {kind}[4,2], {kind}[4,2]) tuple(a, b, c)"],
               arguments, [[(kind, a), (kind, b), (kind, c)]
                           for a, b, c in zip(gathered, exchanged, moved)],
               reason=("CRASH", "XLA's CPU cannot load integers of 1 or 2 bits")
               if kind in ("s1", "u1", "s2", "u2") else None)


# --- ragged-all-to-all -------------------------------------------------------------------------


def ragged():
    """rows[s][t]: how many rows s sends to t; each packs its rows by target, and the target places
    them by source."""
    no = ("COMPILE_ERROR", "XLA's CPU has no ragged-all-to-all")
    for name, grid, mode, group, rows in (
            ("two", (2, 1), "cross_replica", [0, 1], [[1, 2], [3, 0]]),
            ("three_turned", (3, 1), "cross_replica", [2, 0, 1], [[0, 2, 1], [1, 1, 1], [2, 0, 3]]),
            ("partitions", (1, 2), "cross_partition", [0, 1], [[2, 2], [0, 3]])):
        n, most, room = len(group), 6, 8
        inputs = [values("f32", [most, 2], d) for d in range(n)]
        arguments, results = [None] * n, [None] * n
        for s, device in enumerate(group):
            sends = rows[s]
            starts = [sum(sends[:t]) for t in range(n)]
            targets = [sum(rows[k][t] for k in range(s)) for t in range(n)]
            awaited = [rows[k][s] for k in range(n)]
            out = [-1.0] * (room * 2)
            for k in range(n):
                source = inputs[group[k]]
                begin, to = sum(rows[k][:s]), sum(rows[j][s] for j in range(k))
                out[2 * to:2 * (to + rows[k][s])] = source.values[2 * begin:2 * (begin + rows[k][s])]
            arguments[device] = [("f32", inputs[device]), ("f32", Array([room, 2], [-1] * room * 2)),
                                 *(("s32", Array([n], a)) for a in (starts, sends, targets,
                                                                    awaited))]
            results[device] = [("f32", Array([room, 2], out))]
        module(f"ragged_all_to_all_{name}", grid,
               [("f32", [most, 2]), ("f32", [room, 2])] + [("s32", [n])] * 4,
               [f"ROOT r = f32[{room},2] ragged-all-to-all(p0, p1, p2, p3, p4, p5), "
                f"{listed([group])}{CHANNEL[mode]}"], arguments, results, reason=no)


# --- asynchronous forms, control flow, transfers -----------------------------------------------


def asynchronous():
    devices = 4
    inputs = [values("f32", [2], d) for d in range(devices)]
    arguments = [[("f32", a)] for a in inputs]
    whole = fold("add", inputs)
    gathered = concatenate(inputs, 0)
    module("async_native", (4, 1), [("f32", [2])],
           ["a = f32[2] all-reduce-start(p0), replica_groups={}, to_apply=add.f32",
            "b = (f32[2], f32[8]) all-gather-start(p0), replica_groups={}, dimensions={0}",
            "c = (f32[2], f32[2]) collective-permute-start(p0), "
            "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}",
            "d = f32[2] all-reduce-done(a)", "e = f32[8] all-gather-done(b)",
            "f = f32[2] collective-permute-done(c)",
            "ROOT r = (f32[2], f32[8], f32[2]) tuple(d, e, f)"],
           arguments, [[("f32", whole), ("f32", gathered), ("f32", inputs[d - 1])]
                       for d in range(devices)], reducer("add", "f32"))
    both = [values("f32", [2], 2 * d + 1) for d in range(devices)]
    module("async_several_operands", (4, 1), [("f32", [2]), ("f32", [2])],
           ["a = (f32[2], f32[2]) all-reduce-start(p0, p1), replica_groups={}, to_apply=add.f32",
            "b = ((f32[2], f32[2]), (f32[8], f32[8])) all-gather-start(p0, p1), "
            "replica_groups={}, dimensions={0}",
            "c = ((f32[2], f32[2]), (f32[2], f32[2])) collective-permute-start(p0, p1), "
            "source_target_pairs={{1,0},{0,1}}",
            "d = (f32[2], f32[2]) all-reduce-done(a)", "e = (f32[8], f32[8]) all-gather-done(b)",
            "f = (f32[2], f32[2]) collective-permute-done(c)",
            "ROOT r = ((f32[2], f32[2]), (f32[8], f32[8]), (f32[2], f32[2])) tuple(d, e, f)"],
           [[("f32", a), ("f32", b)] for a, b in zip(inputs, both)],
           [[("f32", whole), ("f32", fold("add", both)), ("f32", gathered),
             ("f32", concatenate(both, 0))] +
            [("f32", [Array([2], [0, 0]), side[1 - d]][d < 2] if d < 2 else Array([2], [0, 0]))
             for side in (inputs, both)] for d in range(devices)], reducer("add", "f32"))
    scattered = [piece(whole, 0, d % 2, 2) for d in range(devices)]
    module("async_wrapped", (2, 1), [("f32", [2])],
           ["a = ((f32[2]), f32[1], s32[]) reduce-scatter-start(p0), replica_groups={}, "
            "dimensions={0}, to_apply=add.f32",
            "b = ((f32[2]), f32[2], s32[]) all-to-all-start(p0), replica_groups={}, dimensions={0}",
            "c = f32[1] reduce-scatter-done(a)", "d = f32[2] all-to-all-done(b)",
            "ROOT r = (f32[1], f32[2]) tuple(c, d)"],
           arguments[:2],
           [[("f32", piece(fold("add", inputs[:2]), 0, d, 2)),
             ("f32", concatenate([piece(a, 0, d, 2) for a in inputs[:2]], 0))] for d in range(2)],
           reducer("add", "f32"))


def control_flow():
    """x = x + (sum over all devices of x), n times; branches that every device takes alike."""
    n, devices = 5, 3
    inputs = [values("s32", [2], d) for d in range(devices)]
    states = [list(a.values) for a in inputs]
    for _ in range(n):
        sums = [sum(s[i] for s in states) for i in range(2)]
        states = [[x + y for x, y in zip(s, sums)] for s in states]
    loop = reducer("add", "s32") + """body {
  s = (s32[2], s32[]) parameter(0)
  x = s32[2] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  a = s32[2] all-reduce(x), replica_groups={}, to_apply=add.s32
  y = s32[2] add(x, a)
  j = s32[] add(i, one)
  ROOT t = (s32[2], s32[]) tuple(y, j)
}

condition {
  s = (s32[2], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant(5)
  ROOT l = pred[] compare(i, n), direction=LT
}

"""
    module("loop_of_all_reduce", (3, 1), [("s32", [2])],
           ["z = s32[] constant(0)", "t = (s32[2], s32[]) tuple(p0, z)",
            "w = (s32[2], s32[]) while(t), condition=condition, body=body",
            "ROOT r = s32[2] get-tuple-element(w), index=0"],
           [[("s32", a)] for a in inputs], [[("s32", Array([2], s))] for s in states], loop)
    branches = reducer("add", "s32") + reducer("maximum", "s32") + """sums {
  x = s32[2] parameter(0)
  ROOT a = s32[2] all-reduce(x), replica_groups={}, to_apply=add.s32
}

largest {
  x = s32[2] parameter(0)
  ROOT a = s32[2] all-reduce(x), replica_groups={}, to_apply=maximum.s32
}

"""
    for choice, operation in ((0, "add"), (1, "maximum")):
        module(f"branch_{operation}", (3, 1), [("s32", [2]), ("s32", [])],
               ["ROOT r = s32[2] conditional(p1, p0, p0), branch_computations={sums, largest}"],
               [[("s32", a), ("s32", Array([], [choice]))] for a in inputs],
               [[("s32", fold(operation, inputs))]] * devices, branches)
    module("ids", (3, 2), [], ["a = u32[] replica-id()", "b = u32[] partition-id()",
                               "ROOT r = (u32[], u32[]) tuple(a, b)"], None,
           [[("u32", Array([], [d // 2])), ("u32", Array([], [d % 2]))] for d in range(6)])


def transfers():
    no = ("COMPILE_ERROR", "XLA's CPU has no send and recv between devices")
    for name, grid, pairs, channel in (
            ("ring", (3, 1), [(0, 1), (1, 2), (2, 0)], ""),
            ("chain", (4, 1), [(0, 1), (1, 2), (2, 3)], ""),
            ("partitions", (2, 2), [(0, 1)], ", channel_id=1")):
        devices = grid[0] * grid[1]
        mode = "cross_partition" if channel else "cross_replica"
        inputs = [values("f32", [2], d) for d in range(devices)]
        results = [Array([2], [0, 0])] * devices
        for source, target in pairs:
            for group in participants(mode, [[source, target]], *grid):
                results[group[1]] = inputs[group[0]]
        text = ",".join(f"{{{a},{b}}}" for a, b in pairs)
        attribute = f'frontend_attributes={{_xla_send_recv_source_target_pairs="{{{text}}}"}}'
        module(f"send_recv_{name}", grid, [("f32", [2])],
               ["t = token[] after-all()",
                f"a = (f32[2], u32[], token[]) recv(t){channel}, {attribute}",
                f"b = (f32[2], u32[], token[]) send(p0, t){channel}, {attribute}",
                f"c = (f32[2], token[]) recv-done(a){channel}",
                f"d = token[] send-done(b){channel}",
                "ROOT r = f32[2] get-tuple-element(c), index=0"],
               [[("f32", a)] for a in inputs], [[("f32", a)] for a in results], reason=no)


def write(folder):
    for make in (group_forms, in_order_of_groups, in_modes, permutes, types, ragged, asynchronous,
                 control_flow, transfers):
        make()
    for name, text in MODULES.items():
        (folder / f"{name}.hlo").write_text(text)
    by_hand = sorted(p.stem for p in folder.glob("*.hlo") if p.stem not in MODULES)
    with open(folder / "manifest.yaml", "w", encoding="utf-8") as file:
        file.write(MANIFEST)
        for name in by_hand + sorted(MODULES):
            file.write(f"  - file: {name}.hlo\n")
            if name in REASONS:
                outcome, reason = REASONS[name]
                file.write(f'    expect:\n      "cpu:": {{outcome: {outcome}, reason: "{reason}"}}\n')


MANIFEST = """# Collectives on several devices, written by make.py (but for the programs whose names it does not
# make). The golden is held to the "//@ expect" lines, and XLA's CPU to the golden.
suite: devices
description: every collective in every group mode and type
backends: ["cpu:"]
cases:
"""

if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent))
