#!/usr/bin/env python3
# The benchmarks: our speed as ratios to other programs', all measured in this one run on this
# machine. Each program runs each file in a process of its own, so that one that crashes or refuses
# a file loses only that figure. Exit status 1 if a goal is missed.
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from distribution import bench_distribution
from loops import bench_loops
from memory import bench_memory
from stablehlo import bench_stablehlo

HERE = pathlib.Path(__file__).resolve().parent
SHARED = pathlib.Path(os.environ.get("REFEREE_SHARED", HERE.parent.parent.parent / "shared"))
CORPUS = SHARED / "corpus-data"
MODELS = CORPUS / "models"
MODULES = HERE / "modules"

# name → how to call it: a program of ours with arguments, or a peer's environment and script.
PROGRAMS = {
    "golden": ["bench_eval", "interp:"],
    "XLA CPU": ["bench_eval", "cpu:"],
    "XLA interpreter": ("interpreter", "bench_xla_interpreter.py"),
    "StableHLO": ("current", "bench_stablehlo.py"),
    "StableHLO, MLIR": ("current", "bench_stablehlo_mlir.py"),
    "golden, checks": ["bench_checks"],
    "XLA interpreter, corpus": ("interpreter", "bench_xla_interpreter_corpus.py"),
    "parser": ["bench_parse"],
    "XLA parser": ("current", "bench_xla_parse.py"),
    "MLIR reader": ["bench_parse"],
    "MLIR's own": ("current", "bench_mlir_parse.py"),
}
# StableHLO's interpreter needs minutes for what is not named here.
STABLEHLO_MODULES = {"dot_256", "tanh_add", "reduce_rows", "convolution"}
# module → how many times faster than XLA's interpreter the golden must be.
INTERPRETER_GOALS = {"dot_1024": 100, "tanh_add": 3, "reduce_rows": 1, "convolution": 1}
PARSER_GOAL = 5  # times XLA's parser, over all models
MLIR_GOAL = 3  # times MLIR's parser, over all texts of a kind
MLIR_FILES = 24  # of the public StableHLO texts: the largest, and some of all sizes
MODEL_GOAL = 6  # times XLA's CPU time, at most, for each of these models
MODEL_NAMES = ["resnet", "vit", "clip", "detr", "imagenette", "efficientnet"]


def command_of(program, build):
    if isinstance(program, list):
        return [str(build / "tests" / "bench" / program[0]), *program[1:]]
    environment, script = program
    made = subprocess.run([HERE / "peers", environment], stdout=subprocess.PIPE, text=True,
                          check=True)
    return [made.stdout.strip(), str(HERE / script)]


def measure(command, path, limit):
    """Seconds of the fastest run, or None; says on standard error why not."""
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu",
             "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        result = subprocess.run([*command, str(path)], capture_output=True, text=True, env=quiet,
                                timeout=limit, check=False)
        value = json.loads(result.stdout)[str(path)]
    except subprocess.TimeoutExpired:
        value = {"error": f"no result within {limit} s"}
    except (ValueError, KeyError):
        value = {"error": result.stderr.strip()[-300:] or f"ended with {result.returncode}"}
    if isinstance(value, dict):
        print(f"{pathlib.Path(command[-1]).name}: {path.name}: {value['error']}", file=sys.stderr)
        return None
    return value


def times_of(names, paths, build, limit):
    """path → program → seconds or None."""
    commands = {}
    for name in names:
        try:
            commands[name] = command_of(PROGRAMS[name], build)
        except subprocess.CalledProcessError:
            print(f"{name}: could not be installed; left out", file=sys.stderr)
    # All programs on one file, then the next: what slows the machine slows them alike.
    return {path: {name: measure(command, path, limit) for name, command in commands.items()
                   if name != "StableHLO" or path.stem in STABLEHLO_MODULES}
            for path in paths}


def text_of(seconds):
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def ratio_of(above, below):
    return above / below if above and below else None


def times_text(ratio):
    if ratio is None:
        return "-"
    return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.3g}x"


def print_table(title, names, rows):
    """rows: list of [text, …]; the first column is left-aligned."""
    widths = [max(len(str(row[i])) for row in [names, *rows]) for i in range(len(names))]
    print(f"\n{title}")
    for row in [names, *rows]:
        cells = [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([str(row[0]).ljust(widths[0]), *cells]).rstrip())


class Report:
    def __init__(self):
        self.results = []

    def add(self, what, seconds, ratio, goal, good):
        """good: whether the goal is reached; None where there is none."""
        self.results.append({"what": what, "seconds": seconds, "ratio": ratio, "goal": goal,
                             "reached": good})
        return "" if good is None else f"{goal} {'reached' if good else 'MISSED'}"


def bench_parser(build, report):
    paths = sorted(MODELS.glob("*.hlo"))
    if not paths:
        print(f"no models in {MODELS} (REFEREE_SHARED says where): parser not measured",
              file=sys.stderr)
        return
    table = times_of(["parser", "XLA parser"], paths, build, 600)
    both = [path for path in paths if None not in table[path].values() and len(table[path]) == 2]
    size = sum(path.stat().st_size for path in both)
    sums = {name: sum(table[path][name] for path in both) for name in ("parser", "XLA parser")}
    ratio = ratio_of(sums["XLA parser"], sums["parser"])
    verdict = report.add("parser", sums, ratio, f">= {PARSER_GOAL}",
                         ratio is not None and ratio >= PARSER_GOAL)
    rate = [f"{size / seconds / 1e6:.1f} MB/s" if seconds else "-" for seconds in sums.values()]
    print_table(f"Reading HLO text: {len(both)} of {len(paths)} models, {size / 1e6:.1f} MB",
                ["", "ours", "XLA's", "ratio", "goal"],
                [["all", *rate, f"{ratio:.1f}" if ratio else "-", verdict]])


def mlir_texts(folder):
    """kind → paths: public StableHLO texts, mostly constants, and models as jaxlib writes them."""
    texts = sorted((CORPUS / "stablehlo" / "testdata").glob("*.mlir"),
                   key=lambda path: path.stat().st_size)
    half = MLIR_FILES // 2
    chosen = texts if len(texts) <= MLIR_FILES else \
        [*texts[-half:], *texts[:-half:len(texts) // half + 1]]
    command = command_of(("current", "make_mlir.py"), None)
    made = subprocess.run([*command, folder, *sorted(MODELS.glob("*.hlo"))],
                          stdout=subprocess.PIPE, text=True, check=False)
    models = [pathlib.Path(path) for path in json.loads(made.stdout or "[]")]
    return {"constants": chosen, "models": models}


def bench_mlir(build, report):
    names = ["MLIR reader", "MLIR's own"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, paths in mlir_texts(folder).items():
            table = times_of(names, paths, build, 300)
            both = [path for path in paths
                    if None not in table[path].values() and len(table[path]) == 2]
            size = sum(path.stat().st_size for path in both)
            sums = {name: sum(table[path][name] for path in both) for name in names}
            ratio = ratio_of(sums[names[1]], sums[names[0]])
            verdict = report.add(f"MLIR: {kind}", sums, ratio, f">= {MLIR_GOAL}",
                                 ratio is not None and ratio >= MLIR_GOAL)
            rates = [f"{size / sum_ / 1e6:.1f} MB/s" if sum_ else "-" for sum_ in sums.values()]
            rows.append([f"{kind} ({len(both)} of {len(paths)}, {size / 1e6:.1f} MB)", *rates,
                         f"{ratio:.1f}" if ratio else "-", verdict])
    print_table("Reading MLIR text", ["", "ours", "MLIR's", "ratio", "goal"], rows)


def bench_modules(build, report):
    names = ["golden", "XLA CPU", "XLA interpreter", "StableHLO"]
    table = times_of(names, sorted(MODULES.glob("*.hlo")), build, 300)
    rows = []
    for path, times in table.items():
        row = [path.stem]
        for name in names:
            ratio = ratio_of(times.get(name), times.get("golden"))
            row.append(text_of(times.get(name)))
            if name != "golden":
                row.append(times_text(ratio))
        ratio = ratio_of(times.get("XLA interpreter"), times.get("golden"))
        goal = INTERPRETER_GOALS.get(path.stem)
        good = goal and ratio is not None and ratio >= goal
        row.append(report.add(path.stem, times, ratio, f">= {goal}x" if goal else None, good))
        rows.append(row)
    print_table("Evaluating small modules: time of one run, and how many times the golden's it is",
                ["", "golden", "XLA CPU", "", "XLA interp.", "", "StableHLO", "", "goal"], rows)


def bench_models(build, report):
    paths = [path for name in MODEL_NAMES for path in sorted(MODELS.glob(f"{name}*inference__1gpu*"))]
    table = times_of(["XLA CPU", "golden"], paths, build, 600)
    rows = []
    for path, times in table.items():
        ratio = ratio_of(times.get("golden"), times.get("XLA CPU"))
        verdict = report.add(path.stem, times, ratio, f"<= {MODEL_GOAL}",
                             ratio is not None and ratio <= MODEL_GOAL)
        rows.append([path.stem.split("__")[0], text_of(times.get("golden")),
                     text_of(times.get("XLA CPU")), f"{ratio:.2f}" if ratio else "-", verdict])
    if rows:
        print_table("Evaluating models: the golden's time over XLA's CPU",
                    ["", "golden", "XLA CPU", "ratio", "goal"], rows)


def bench_small_loops(build, report):
    bench_loops(command_of(PROGRAMS["golden"], build), measure, report, print_table)


def bench_moving(build, report):
    bench_memory(command_of(PROGRAMS["golden"], build), measure, report, print_table)


def bench_stablehlo_programs(build, report):
    golden, checks, peer = (command_of(PROGRAMS[name], build)
                            for name in ("golden", "golden, checks", "StableHLO, MLIR"))
    bench_stablehlo(golden, checks, peer, CORPUS / "stablehlo" / "interpret", measure, report,
                    print_table, text_of)


# Seconds of the distribution when all parts are run; what was measured before counts too.
DISTRIBUTION_BUDGET = 900

PARTS = {"parser": bench_parser, "mlir": bench_mlir, "modules": bench_modules,
         "models": bench_models, "loops": bench_small_loops, "memory": bench_moving, "stablehlo": bench_stablehlo_programs,
         "distribution": None}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description="Compare our speed with others'.")
    parser.add_argument("parts", nargs="*", metavar="|".join(PARTS), help="what to measure (all)")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    group = parser.add_argument_group("distribution")
    group.add_argument("--limit", type=float, default=60, metavar="SECONDS",
                       help="for one module on one program (60)")
    group.add_argument("--budget", type=float, metavar="SECONDS",
                       help="stop after this time; --resume goes on")
    group.add_argument("--resume", action="store_true", help="keep what was measured before")
    group.add_argument("--sets", nargs="+", default=["golden", "hlo", "models"],
                       help="folders of corpus-data (golden hlo models)")
    group.add_argument("--match", metavar="TEXT", help="only files with this in their path")
    group.add_argument("--no-interpreter", dest="with_interpreter", action="store_false",
                       help="leave out XLA's interpreter")
    group.add_argument("--state", type=pathlib.Path, metavar="FILE",
                       help="where records are kept (in the build folder)")
    options = parser.parse_args()
    options.extra = []
    options.state = options.state or options.build / "bench-distribution.jsonl"
    if not options.parts:
        options.resume = True
        options.budget = options.budget or DISTRIBUTION_BUDGET
    report = Report()
    for part in options.parts or PARTS:
        if part not in PARTS:
            parser.error(f"no part is named {part}")
        if part == "distribution":
            options.interpreter = None
            if options.with_interpreter:
                options.interpreter = command_of(PROGRAMS["XLA interpreter, corpus"], options.build)
            bench_distribution(options.build, CORPUS, options, report)
        else:
            PARTS[part](options.build, report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(report.results, indent=1) + "\n",
                                              encoding="utf-8")
    return 1 if any(result["reached"] is False for result in report.results) else 0


if __name__ == "__main__":
    sys.exit(main())
