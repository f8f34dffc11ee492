# How fast memory-bound instructions move bytes, as a ratio to memcpy on the same machine in the same
# run: bytes read and written once each, divided by the time of the fastest run.
import ctypes
import pathlib
import tempfile
import time

N = 1 << 23  # f32 elements of an array: 32 MB

HELPERS = """
sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] add(x, y) }
most { x = f32[] parameter(0) y = f32[] parameter(1) ROOT r = f32[] maximum(x, y) }
"""
# name → (instructions; %a and %b are f32[2048,4096]), arrays that are read and written, in units of
# one such array.
PROGRAMS = {
    "add": (["ROOT %r = f32[2048,4096] add(%a, %b)"], 3),
    "chain of 6": (["%c = f32[2048,4096] add(%a, %b)", "%d = f32[2048,4096] multiply(%c, %a)",
                    "%e = f32[2048,4096] subtract(%d, %b)", "%f = f32[2048,4096] maximum(%e, %c)",
                    "%g = f32[2048,4096] negate(%f)",
                    "ROOT %r = f32[2048,4096] add(%g, %d)"], 3),
    "broadcast of rows": (["%v = f32[4096] slice(%w), slice={[0:4096]}",
                           "%c = f32[2048,4096] broadcast(%v), dimensions={1}",
                           "ROOT %r = f32[2048,4096] multiply(%a, %c)"], 2),
    "broadcast alone": (["%v = f32[2048] slice(%w), slice={[0:2048]}",
                         "ROOT %r = f32[2048,4096] broadcast(%v), dimensions={0}"], 1),
    "sum of rows": (["%z = f32[] constant(0)",
                     "ROOT %r = f32[2048] reduce(%a, %z), dimensions={1}, to_apply=sum"], 1),
    "sum of columns": (["%z = f32[] constant(0)",
                        "ROOT %r = f32[4096] reduce(%a, %z), dimensions={0}, to_apply=sum"], 1),
    "maximum of rows": (["%z = f32[] constant(-inf)",
                         "ROOT %r = f32[2048] reduce(%a, %z), dimensions={1}, to_apply=most"], 1),
    "maximum of columns": (["%z = f32[] constant(-inf)",
                            "ROOT %r = f32[4096] reduce(%a, %z), dimensions={0}, to_apply=most"],
                           1),
    "transpose": (["ROOT %r = f32[4096,2048] transpose(%a), dimensions={1,0}"], 2),
    "slice": (["ROOT %r = f32[1024,4096] slice(%a), slice={[512:1536], [0:4096]}"], 1),
    "concatenate": (["ROOT %r = f32[4096,4096] concatenate(%a, %b), dimensions={0}"], 4),
    "compare, select": (["%p = pred[2048,4096] compare(%a, %b), direction=LT",
                         "ROOT %r = f32[2048,4096] select(%p, %a, %b)"], 3),
    "convert to bf16": (["ROOT %r = bf16[2048,4096] convert(%a)"], 1.5),
}


def module_of(lines):
    body = "\n".join(f"  {line}" for line in lines)
    return f"""HloModule memory
{HELPERS}
ENTRY main {{
  %a = f32[2048,4096] parameter(0)
  %b = f32[2048,4096] parameter(1)
  %w = f32[4096] parameter(2)
{body}
}}
"""


def memcpy_rate():
    """Bytes a second, read and written, of the fastest of many copies."""
    size = 4 * N
    source, target = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    fastest, until = float("inf"), time.perf_counter() + 1
    while time.perf_counter() < until:
        start = time.perf_counter()
        ctypes.memmove(target, source, size)
        fastest = min(fastest, time.perf_counter() - start)
    return 2 * size / fastest


def bench_memory(command, measure, report, print_table):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (lines, arrays) in PROGRAMS.items():
            path = pathlib.Path(folder) / f"{name.replace(' ', '_').replace(',', '')}.hlo"
            path.write_text(module_of(lines), encoding="utf-8")
            copy = memcpy_rate()
            seconds = measure(command, path, 100)
            rate = arrays * 4 * N / seconds if seconds else None
            ratio = rate / copy if rate else None
            report.add(f"memory: {name}", seconds, ratio, None, None)
            rows.append([name, f"{copy / 1e9:.1f}", f"{rate / 1e9:.1f}" if rate else "-",
                         f"{ratio:.2f}" if ratio else "-"])
    print_table("Memory-bound instructions: GB/s", ["", "memcpy", "golden", "ratio"], rows)
