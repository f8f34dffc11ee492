# The golden against StableHLO's interpreter, each in its own process on the same evaluations: large
# programs, and every part of the files of StableHLO's own interpreter tests, of which most take
# microseconds. Small times vary with what else the machine does, so the programs take turns, file by
# file and round by round, and each keeps its fastest run.
import json
import math
import os
import pathlib
import subprocess
import sys

PROGRAMS = pathlib.Path(__file__).resolve().parent / "stablehlo"
# program → how many times faster than StableHLO's interpreter the golden must be.
GOALS = {"matmul": 500, "convolution": 500, "elementwise": 50, "reduction": 50, "gather": 50,
         "scatter": 50, "sort": 50}
ROUNDS = 3
SHOWN = 10  # of the parts with the lowest ratios
LIMIT = 300  # seconds for one file


class Peer:
    """StableHLO's interpreter, which may abort: then it is started again behind that part."""

    def __init__(self, command):
        self.command = [*command, "--serve"]
        self.process = None

    def ask(self, path, first):
        """The answers that came, and whether they are all."""
        if self.process is None:
            quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            text=True, env=quiet)
        answers = []
        try:
            self.process.stdin.write(f"{first} {path}\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                answer = json.loads(line)
                if answer == "end":
                    return answers, True
                answers.append(answer)
        except BrokenPipeError:
            pass
        self.close()
        return answers, False

    def times(self, path, count):
        """Seconds of each part of a file, which has `count`; None for one that it cannot evaluate."""
        times, complete = self.ask(path, 0)
        while not complete and len(times) < count:
            times.append(None)
            more, complete = self.ask(path, len(times))
            times += more
        return times

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process = None


def our_times(command, path):
    try:
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False,
                              timeout=LIMIT)
        return json.loads(done.stdout)[str(path)]
    except (ValueError, KeyError, subprocess.TimeoutExpired):
        return []


def keep_fastest(kept, times):
    """Both are lists of seconds or None."""
    if not kept:
        return times
    return [min((t for t in pair if t is not None), default=None) for pair in zip(kept, times)]


def conformance(ours, peer, folder):
    """path → (our times, the peer's) by part."""
    table = {path: ([], []) for path in sorted(folder.glob("*.mlir"))}
    for _ in range(ROUNDS):
        for path, (mine, theirs) in table.items():
            mine = keep_fastest(mine, our_times(ours, path))
            table[path] = mine, keep_fastest(theirs, peer.times(path, len(mine)))
    return table


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def bench_files(ours, peer, folder, report, print_table, text_of):
    table = conformance(ours, peer, folder)
    if not table:
        print(f"no files in {folder} (REFEREE_SHARED says where): not measured", file=sys.stderr)
        return
    parts, files, missing, refused = [], [], 0, []
    for path, (mine, theirs) in table.items():
        if len(mine) != len(theirs):
            refused.append(f"{path.name} ({len(mine)} parts against {len(theirs)})")
            continue
        both = [(k, a, b) for k, (a, b) in enumerate(zip(mine, theirs)) if a and b]
        refused += [f"{path.name} part {k}" for k, (a, b) in enumerate(zip(mine, theirs))
                    if b and not a]
        missing += sum(1 for b in theirs if not b)
        parts += [(b / a, f"{path.stem} {k}", a, b) for k, a, b in both]
        if both:
            a, b = sum(part[1] for part in both), sum(part[2] for part in both)
            files.append((b / a, path.stem, a, b))
    if refused:
        print(f"not evaluated, or not comparable: {', '.join(refused)}", file=sys.stderr)
    rows = []
    for what, measured in (("files", files), ("parts", parts)):
        measured.sort()
        mean = geometric_mean([ratio for ratio, *_ in measured])
        slower = sum(ratio < 1 for ratio, *_ in measured)
        verdict = report.add(f"StableHLO: conformance {what}",
                             [list(one) for one in measured[:SHOWN]], mean, "none slower",
                             bool(measured) and slower == 0)
        rows.append([what, len(measured), f"{mean:.1f}x" if mean else "-", slower, verdict])
    print_table(f"Evaluating StableHLO's own tests ({missing} parts StableHLO's interpreter in "
                "jaxlib cannot evaluate)", ["", "compared", "mean", "slower", "goal"], rows)
    print_table("The parts with the lowest ratios", ["", "golden", "StableHLO", "ratio"],
                [[name, text_of(a), text_of(b), f"{ratio:.2f}x"]
                 for ratio, name, a, b in parts[:SHOWN]])


def bench_programs(golden, peer, measure, report, print_table, text_of):
    """measure(command, path, limit): seconds of one evaluation."""
    rows = []
    for name, goal in GOALS.items():
        path = PROGRAMS / f"{name}.mlir"
        mine, theirs = measure(golden, path, LIMIT), measure(peer, path, LIMIT)
        ratio = theirs / mine if mine and theirs else None
        verdict = report.add(f"StableHLO: {name}", {"golden": mine, "StableHLO": theirs}, ratio,
                             f">= {goal}x", ratio is not None and ratio >= goal)
        rows.append([name, text_of(mine), text_of(theirs), f"{ratio:.0f}x" if ratio else "-",
                     verdict])
    print_table("Evaluating StableHLO programs", ["", "golden", "StableHLO", "ratio", "goal"], rows)


def bench_stablehlo(golden, checks, peer, folder, measure, report, print_table, text_of):
    """golden, checks: our programs for whole files and for parts; peer: the interpreter's."""
    bench_programs(golden, peer, measure, report, print_table, text_of)
    server = Peer(peer)
    bench_files(checks, server, folder, report, print_table, text_of)
    server.close()
