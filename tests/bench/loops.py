# What an instruction costs in a loop of 100000 small iterations: loops of one kind of body each, the
# time of the fastest run divided by iterations and by instructions of the body that compute.
import pathlib
import tempfile

ITERATIONS = 100000
GOAL = 2000  # nanoseconds an instruction

HELPERS = """
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
most { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] maximum(x, y) }
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = pred[] compare(x, y), direction=LT }
even { s = (f32[], f32[]) parameter(0) x = f32[] get-tuple-element(s), index=0
  y = f32[] get-tuple-element(s), index=1 z = f32[] add(x, y)
  ROOT t = (f32[], f32[]) tuple(z, y) }
odd { s = (f32[], f32[]) parameter(0) x = f32[] get-tuple-element(s), index=0
  y = f32[] get-tuple-element(s), index=1 z = f32[] subtract(x, y)
  ROOT t = (f32[], f32[]) tuple(y, z) }
fused { x = f32[] parameter(0) y = f32[] parameter(1) z = f32[] add(x, y)
  w = f32[] multiply(z, x) ROOT r = f32[] subtract(w, y) }
inner_go { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4) ROOT r = pred[] compare(i, n), direction=LT }
inner { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one)
  h = f32[] constant(0.5) y = f32[] multiply(x, h) ROOT t = (s32[], f32[]) tuple(j, y) }
"""


def chain(shape, opcodes, count=8):
    """A chain of binary instructions."""
    lines, last = [], "%p0"
    for i in range(count):
        lines.append(f"%v{i} = {shape} {opcodes[i % len(opcodes)]}({last}, %p1)")
        last = f"%v{i}"
    return [shape, shape], lines, [last, "%p1"]


# name → (shapes of the state, instructions, the new state, instructions inside others)
LOOPS = {
    "scalars": chain("f32[]", ["subtract", "multiply"]),
    "integers": chain("s32[]", ["add", "xor", "multiply"]),
    "8 elements": chain("f32[8]", ["subtract", "multiply"]),
    "64 elements": chain("f32[64]", ["subtract", "multiply"]),
    "512 elements": chain("f32[512]", ["subtract", "multiply"]),
    "bf16": chain("bf16[8]", ["subtract", "multiply"]),
    "f16": chain("f16[8]", ["subtract", "multiply"]),
    "c64": chain("c64[4]", ["subtract", "multiply"]),
    "tanh": (["f32[]"], ["%a = f32[] tanh(%p0)", "%b = f32[] cosine(%a)"], ["%b"]),
    "slices": (["f32[1000]", "f32[8]"],
               ["%d = f32[8] dynamic-slice(%p0, %i), dynamic_slice_sizes={8}",
                "%e = f32[8] add(%d, %p1)", "%u = f32[1000] dynamic-update-slice(%p0, %e, %i)"],
               ["%u", "%e"]),
    "reductions": (["f32[16]", "f32[]"],
                   ["%z = f32[] constant(0)",
                    "%d = f32[] reduce(%p0, %z), dimensions={0}, to_apply=sum",
                    "%e = f32[] reduce(%p0, %p1), dimensions={0}, to_apply=most",
                    "%b = f32[16] broadcast(%e), dimensions={}",
                    "%c = f32[16] subtract(%p0, %b)"], ["%c", "%d"]),
    "products": (["f32[4,4]", "f32[4,4]"],
                 ["%d = f32[4,4] dot(%p0, %p1), lhs_contracting_dims={1}, "
                  "rhs_contracting_dims={0}", "%e = f32[4,4] multiply(%d, %p1)"],
                 ["%e", "%p1"]),
    "state of 20": (["f32[]"] * 20,
                    [f"%v{k} = f32[] add(%p{k}, %p{(k + 1) % 20})" for k in range(20)],
                    [f"%v{k}" for k in range(20)]),
    "conditionals": (["f32[]", "f32[]"],
                     ["%pair = (f32[], f32[]) tuple(%p0, %p1)", "%two = s32[] constant(2)",
                      "%r = s32[] remainder(%i, %two)",
                      "%c = (f32[], f32[]) conditional(%r, %pair, %pair), "
                      "branch_computations={even, odd}",
                      "%x = f32[] get-tuple-element(%c), index=0",
                      "%y = f32[] get-tuple-element(%c), index=1"], ["%x", "%y"], 1),
    "fusions": (["f32[]", "f32[]"],
                ["%a = f32[] fusion(%p0, %p1), kind=kLoop, calls=fused",
                 "%b = f32[] fusion(%a, %p1), kind=kLoop, calls=fused"], ["%b", "%p1"], 4),
    "inner loops": (["f32[]"],
                    ["%zero = s32[] constant(0)", "%t0 = (s32[], f32[]) tuple(%zero, %p0)",
                     "%w = (s32[], f32[]) while(%t0), condition=inner_go, body=inner",
                     "%x = f32[] get-tuple-element(%w), index=1"], ["%x"], 12),
    "gather, scatter": (["f32[100,4]", "s32[2,1]"],
                        ["%g = f32[2,4] gather(%p0, %p1), offset_dims={1}, "
                         "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
                         "slice_sizes={1,4}",
                         "%u = f32[100,4] scatter(%p0, %p1, %g), update_window_dims={1}, "
                         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                         "index_vector_dim=1, to_apply=sum"], ["%u", "%p1"]),
    "conversions": (["f32[]"],
                    ["%a = s32[] convert(%p0)", "%b = f32[] convert(%a)",
                     "%c = f32[] add(%b, %p0)"], ["%c"]),
    "sorts": (["f32[16]"],
              ["%a = f32[16] sort(%p0), dimensions={0}, to_apply=less",
               "%b = f32[16] reverse(%a), dimensions={0}"], ["%b"]),
    "pieces": (["f32[6]"],
               ["%z = f32[] constant(0)", "%a = f32[4] slice(%p0), slice={[1:5]}",
                "%b = f32[6] pad(%a, %z), padding=1_1", "%c = f32[2] slice(%p0), slice={[0:2]}",
                "%d = f32[6] concatenate(%c, %a), dimensions={0}", "%e = f32[6] add(%b, %d)"],
               ["%e"]),
}
FREE = (" tuple(", " get-tuple-element(", " constant(")


def module_of(shapes, lines, results):
    state = f"(s32[], {', '.join(shapes)})"
    elements = "\n".join(f"  %p{k} = {shape} get-tuple-element(%s), index={k + 1}"
                         for k, shape in enumerate(shapes))
    parameters = "\n".join(f"  %a{k} = {shape} parameter({k})" for k, shape in enumerate(shapes))
    arguments = ", ".join(f"%a{k}" for k in range(len(shapes)))
    body = "\n".join(f"  {line}" for line in lines)
    return f"""HloModule loop
{HELPERS}
go {{
  %s = {state} parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] constant({ITERATIONS})
  ROOT %r = pred[] compare(%i, %n), direction=LT
}}
body {{
  %s = {state} parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
{elements}
  %one = s32[] constant(1)
  %j = s32[] add(%i, %one)
{body}
  ROOT %t = {state} tuple(%j, {', '.join(results)})
}}
ENTRY main {{
{parameters}
  %zero = s32[] constant(0)
  %t = {state} tuple(%zero, {arguments})
  ROOT %w = {state} while(%t), condition=go, body=body
}}
"""


def bench_loops(command, measure, report, print_table):
    """measure(command, path, limit): seconds of one evaluation."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (shapes, lines, results, *inside) in LOOPS.items():
            path = pathlib.Path(folder) / f"{name.replace(' ', '_').replace(',', '')}.hlo"
            path.write_text(module_of(shapes, lines, results), encoding="utf-8")
            seconds = measure(command, path, 300)
            count = 2 + sum(inside) + sum(not any(free in line for free in FREE)
                                          for line in lines)
            each = seconds / ITERATIONS / count * 1e9 if seconds else None
            verdict = report.add(f"loop: {name}", seconds, each, f"<= {GOAL} ns",
                                 each is not None and each <= GOAL)
            rows.append([name, count, f"{each:.0f} ns" if each else "-", verdict])
    print_table(f"Loops of {ITERATIONS} iterations: time of an instruction",
                ["", "instructions", "each", "goal"], rows)
