#!/usr/bin/env python3
# Compilers as they are: modules are compiled for several targets and walked by `referee passes`.
# Printed are who is blamed, what could not be evaluated, and, as a table, which passes moved bits,
# how far, and by which rule. Exit status 1 if somebody is blamed whom KNOWN does not name.
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUITES = [ROOT / "corpus" / "suites" / name
          for name in ("examples", "first", "known", "mended", "spmd", "devices")]
TARGETS = ["cpu:", "cuda:h100", "tpu:v5e:2x2"]
PLATFORMS = {"cpu": "CPU", "cuda": "GPU", "tpu": "TPU"}
# Passes that are wrong: (module, pass), found by this and explained in docs/passes-results.md.
KNOWN = {
    ("counting_loop", "simplify-while-loops"),
    ("loop_counter_wraps", "simplify-while-loops"),
    ("loop_of_one_long_step", "simplify-while-loops"),
    ("cropped_window", "algsimp"),
    ("reduction_of_single_elements", "algsimp"),
    ("slice_of_slice", "algsimp"),
    ("doubles_to_half_round_once", "xprecision-rewriter"),
    ("power_of_large_exponent", "xprecision-rewriter"),
    ("logarithm_of_large_complex", "complex-rewriter"),
    ("sign_of_large_complex", "complex-rewriter"),
    ("sine_of_large_imaginary", "complex-rewriter"),
    ("truth_of_complex_numbers", "complex-rewriter"),
}
# What the partitioner gets wrong; the first dump after it is the start of its own pipeline.
PARTITIONED = ROOT / "corpus" / "suites" / "spmd" / "expected.list"


class Measurement:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.done = 0

    def walk(self, number, module, target):
        """What is told of one pipeline: the walks of its JSON report, or why there are none."""
        scheme, _, name = target.partition(":")
        report = self.folder / f"{number}.json"
        words = [self.options.program, "passes", module, "--backend", f"{scheme}:", "--quiet",
                 "--json", report, "--seeds", self.options.seeds]
        words += ["--target", name] if name else []
        words += ["--boundary"] if self.options.boundary else []
        try:
            ended = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                                   check=False, timeout=self.options.limit)
            walks, said = json.loads(report.read_text()), ended.stderr.strip()[-300:]
        except subprocess.TimeoutExpired:
            walks, said = [], f"not within {self.options.limit} s"
        except (OSError, ValueError):
            walks, said = [], (ended.stderr.strip() or ended.stdout.strip())[-300:]
        for walk in walks:  # a compiler that failed before its first dump leaves no passes
            walk.setdefault("passes", [])
            walk.setdefault("finding", None)
        self.done += 1
        if sys.stderr.isatty():
            print(f"\r{self.done} {module.stem} {target}\033[K", end="", file=sys.stderr)
        return {"module": module, "target": target, "walks": walks, "said": said}


def wrong_partitions():
    lines = PARTITIONED.read_text().splitlines() if PARTITIONED.is_file() else []
    return {words[0] for words in map(str.split, lines)
            if words and words[-1] == "partitioner" and words[0] != "#"}


def is_known(module, finding):
    return (module, finding["pass"]) in KNOWN or (
        finding["name"] == "start of spmd-cleanup" and module in wrong_partitions())


def steps_of(pipelines):
    """(pipeline, verdict) of all passes that moved a bit and were not blamed."""
    for pipeline in pipelines:
        for walk in pipeline["walks"]:
            for verdict in walk["passes"]:
                jump = verdict["jump"]
                if verdict["outcome"] == "PASS" and jump and not jump["bits"]:
                    yield pipeline, verdict


def print_moves(pipelines):
    rows = collections.defaultdict(list)
    for pipeline, verdict in steps_of(pipelines):
        platform = PLATFORMS.get(pipeline["target"].partition(":")[0], pipeline["target"])
        rows[verdict["pass"] or verdict["name"], platform].append((pipeline, verdict))
    print("\n| pass | platform | rule | steps | largest | ulp | undecided | example (step) |\n"
          "|---|---|---|---|---|---|---|---|")
    for (name, platform), steps in sorted(rows.items()):
        pipeline, worst = max(steps, key=lambda step: step[1]["jump"]["tolerance"] or 0)
        undecided = sum("undecided" in verdict["message"] for _, verdict in steps)
        print(f"| {name} | {platform} | {worst['rule']['allows'] if worst['rule'] else ''} | "
              f"{len(steps)} | {worst['jump']['tolerance'] or 0:.2g} | "
              f"{worst['jump']['ulps'] or 0:.3g} | {undecided or ''} | "
              f"{pipeline['module'].stem} {worst['position']} |")


def print_outcomes(pipelines):
    """Prints all but what passed; returns how many are blamed that KNOWN does not name."""
    unknown = 0
    for pipeline in pipelines:
        title = f"{pipeline['module'].stem} {pipeline['target']}"
        if not pipeline["walks"]:
            print(f"not walked: {title}: {pipeline['said']}")
        for walk in pipeline["walks"]:
            if walk["compile"] != "PASS":
                first_line = walk["compile_message"].partition("\n")[0]
                print(f"{walk['compile']} in the compiler: {title}: {first_line}")
            for verdict in walk["passes"]:
                if verdict["outcome"] not in ("PASS", "MISMATCH"):
                    print(f"{verdict['outcome']}: {title}: {verdict['name']}: {verdict['message']}")
            if walk["finding"]:
                known = is_known(pipeline["module"].stem, walk["finding"])
                unknown += not known
                print(f"{'known' if known else 'BLAMED'}: {title}: {walk['finding']['name']}: "
                      f"{walk['finding']['message']}\n  again: {walk['command']}")
    return unknown


def print_counts(pipelines, seconds):
    for target in sorted({pipeline["target"] for pipeline in pipelines}):
        of_target = [pipeline for pipeline in pipelines if pipeline["target"] == target]
        walked = [walk for pipeline in of_target for walk in pipeline["walks"] if walk["passes"]]
        verdicts = [verdict for walk in walked for verdict in walk["passes"]]
        evaluated = sum(verdict["outcome"] in ("PASS", "MISMATCH") for verdict in verdicts)
        blamed = sum(walk["finding"] is not None for walk in walked)
        print(f"{target}: {len(walked)} pipelines of {len(of_target)} modules walked, {evaluated} of "
              f"{len(verdicts)} modules evaluated, {blamed} pipelines blamed")
    print(f"{seconds:.0f} s")


def find_modules(paths):
    found = []
    for path in paths:
        found += sorted(path.rglob("*.hlo")) if path.is_dir() else [path]
    return found


def main():
    parser = argparse.ArgumentParser(description="what compilers' passes do to modules")
    parser.add_argument("modules", nargs="*", type=pathlib.Path,
                        help="files and folders (default: our suites, 393 modules)")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--program", type=pathlib.Path, help="referee (default: of the build)")
    parser.add_argument("--target", action="append", metavar="SCHEME:NAME",
                        help=f"several (default {' '.join(TARGETS)})")
    parser.add_argument("--seeds", type=int, default=1, help="of arguments, walked at once")
    parser.add_argument("--boundary", action="store_true", help="mix in boundary values")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one (default 120)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=pathlib.Path, help="keep all reports in this file")
    options = parser.parse_args()
    options.program = options.program or options.build / "tools" / "referee"
    modules = find_modules(options.modules or SUITES)
    pairs = [(module, target) for module in modules for target in options.target or TARGETS]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="referee-pipelines-") as folder:
        measurement = Measurement(options, pathlib.Path(folder))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            pipelines = list(pool.map(lambda item: measurement.walk(item[0], *item[1]),
                                      enumerate(pairs)))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps([{**pipeline, "module": str(pipeline["module"])}
                                            for pipeline in pipelines], indent=1))
    unknown = print_outcomes(pipelines)
    print_moves(pipelines)
    print()
    print_counts(pipelines, time.monotonic() - began)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
