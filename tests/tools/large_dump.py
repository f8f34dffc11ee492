# A compiler's dump with 130 passes, by hand, for tests of what `referee passes` says of it:
#   large_dump.py FOLDER
# Most passes rename; some round otherwise, as they may; one cannot be evaluated; one swaps the
# operands of a subtraction, and a later one makes zeros of an output.
import pathlib
import sys

PASSES = 130
BAD, BAD_LATER, UNKNOWN, BACK = 83, 101, 40, 44
ROUNDS = {20: "algsimp", 61: "dot-strength-reduction", 97: "algsimp"}  # these passes may
NAMES = ["dce", "cse", "tuple-simplifier", "flatten-call-graph", "reshape-mover",
         "while-loop-constant-sinking", "layout-assignment", "copy-insertion", "fusion",
         "a-pass-whose-name-is-as-long-as-some-in-the-compilers-of-accelerators-really-are"]


def body(number):
    """The module after so many passes: half the sum of squares of (x − y) / 3, and its parts."""
    mark = f".{number}"
    first, second = ("y", "x") if number >= BAD else ("x", "y")
    lines = [f"d{mark} = f32[16,16] subtract({first}, {second})"]
    rounded = sum(number >= at for at in ROUNDS)
    if rounded % 2:  # a product with the reciprocal, rounded twice
        lines += [f"c{mark} = f32[] constant({1 / 3:.9g})",
                  f"b{mark} = f32[16,16] broadcast(c{mark}), dimensions={{}}",
                  f"q{mark} = f32[16,16] multiply(d{mark}, b{mark})"]
    else:
        lines += [f"c{mark} = f32[] constant(3)",
                  f"b{mark} = f32[16,16] broadcast(c{mark}), dimensions={{}}",
                  f"q{mark} = f32[16,16] divide(d{mark}, b{mark})"]
    if UNKNOWN <= number < BACK:
        lines.append(f'e{mark} = f32[16,16] custom-call(q{mark}), custom_call_target="nobody.knows.this"')
    else:
        lines.append(f"e{mark} = f32[16,16] exponential(q{mark})")
    if number >= BAD_LATER:
        lines.append(f"z{mark} = f32[16,16] subtract(e{mark}, e{mark})")
    else:
        lines.append(f"z{mark} = f32[16,16] multiply(e{mark}, e{mark})")
    lines.append(f"ROOT r{mark} = (f32[16,16], f32[16,16]) tuple(e{mark}, z{mark})")
    return "\n".join(f"  {line}" for line in lines)


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def write(middle, number):
        text = (f"HloModule large\n\nENTRY main.{number} {{\n  x = f32[16,16] parameter(0)\n"
                f"  y = f32[16,16] parameter(1)\n{body(number)}\n}}\n")
        (folder / f"module_0042.large.{middle}.txt").write_text(text, encoding="utf-8")

    def name(number):
        return {BAD: "swap-operands", BAD_LATER: "zero-sink", **ROUNDS}.get(
            number, NAMES[number % len(NAMES)])

    write("before_optimizations", 0)
    for number in range(1, PASSES + 1):
        pipeline = ["simplification", "layout", "fusion-pipeline"][number * 3 // (PASSES + 1)]
        write(f"{number:04d}.{pipeline}.after_{name(number)}.before_{name(number + 1)}", number)


if __name__ == "__main__":
    main(sys.argv[1])
