#!/usr/bin/env python3
# The accuracy table, docs/accuracy.md: the largest error of the golden, XLA's CPU, XLA's interpreter
# and StableHLO's interpreter for each elementwise operation and float type, over the same inputs,
# against MPFR. accuracy.c makes inputs, runs our backends and measures; the peers run theirs.
#   accuracy.py --build FOLDER [--output FILE] [--only TEXT]
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OURS = {"golden": "interp:", "cpu": "cpu:"}
PEERS = {"interpreter": ("interpreter", "accuracy_interpreter.py"),
         "stablehlo": ("current", "accuracy_stablehlo.py")}
TITLES = {"golden": "golden", "cpu": "XLA CPU", "interpreter": "XLA interpreter",
          "stablehlo": "StableHLO"}
PATIENCE = 600  # seconds for one job


def run_ours(program, folder, jobs):
    for job in jobs:
        operation, kind = job.split(".")
        subprocess.run([program, "prepare", operation, kind, folder], check=True)
        for name, uri in OURS.items():
            subprocess.run([program, "run", uri, operation, kind, folder, f"{job}.{name}"],
                           stderr=subprocess.DEVNULL, check=False)


def run_peer(name, folder, jobs):
    """One process for all jobs; one that dies loses the job it was at."""
    environment, script = PEERS[name]
    made = subprocess.run([HERE / "peers", environment], stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        print(f"{name}: could not be installed; left out", file=sys.stderr)
        return
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu",
             "PYTHONDONTWRITEBYTECODE": "1"}
    left = list(jobs)
    while left:
        try:
            done = subprocess.run([made.stdout.strip(), HERE / script, folder, name],
                                  input="\n".join(left) + "\n", capture_output=True, text=True, env=quiet,
                                  timeout=PATIENCE * len(left), check=False).stdout.splitlines()
        except subprocess.TimeoutExpired as expired:
            done = (expired.stdout or b"").decode().splitlines()
        for line in done:
            job, _, answer = line.partition(" ")
            if answer != "ok":
                print(f"{name}: {job}: {answer}", file=sys.stderr)
        if len(done) < len(left):
            print(f"{name}: {left[len(done)]}: ended the program", file=sys.stderr)
        left = left[len(done) + 1:]


def measure(program, folder, jobs):
    table = {}
    for job in jobs:
        operation, kind = job.split(".")
        names = [f"{job}.{name}" for name in TITLES]
        result = subprocess.run([program, "measure", operation, kind, folder, *names],
                                stdout=subprocess.PIPE, text=True, check=True)
        figures = json.loads(result.stdout)
        table[job] = {name: figures[f"{job}.{name}"] for name in TITLES}
    return table


def error_text(figure, kind):
    if figure is None:
        return "–"
    text = f"{figure['worst']:.2f}" if figure["worst"] < 1e4 else f"{figure['worst']:.1e}"
    if figure["worst"] > 0.5 and kind != "golden":
        at = figure["at"]
        if len(at) > 2:
            at = [f"({at[k]}, {at[k + 1]})" for k in range(0, len(at), 2)]
        text += " at " + ", ".join(at)
    marks = []
    if figure["class"]:
        marks.append(f"{figure['class']} NaN/∞")
    if figure["small"]:
        marks.append(f"{figure['small']} sub")
    return text + (f" [{', '.join(marks)}]" if marks else "")


HEADER = """# Accuracy

The largest error of each elementwise operation, in units of the last place (ulp) of its type, against
MPFR: of the golden, XLA's CPU (the plugin that `./dev` fetches), XLA's interpreter (jaxlib 0.4.13, the
last to carry it) and StableHLO's interpreter (jaxlib 0.10.2), over the same inputs. A correctly rounded
result is off by at most 0.50. Made by

    ./dev bench accuracy --output docs/accuracy.md

on {date}; inputs are the same every time: all values of the types of at most 16 bits (all pairs of those
of 8 bits, 60 000 pairs of those of 16), 60 000 of f32, 20 000 of f64, 6000 of c64 and 3000 of c128, a third
of them over all bit patterns, a third over the binades around 1, a third between −4 and 4. Beside each error above 0.50 is the
argument where it occurs.

- `n NaN/∞`: results that are NaN, infinite or finite where another of these is right. They are in no
  error.
- `n sub`: wrong results among those with a subnormal argument or result, most of them flushed to zero.
  They are in no error either.
- `–`: the program does not take the operation on this type.
- Complex numbers: the error of each part, in ulp of the larger part of the exact result; arguments are
  finite, and below 700 for functions that grow like e^z.
"""


def write(table, output):
    lines = [HEADER.format(date=datetime.date.today().isoformat())]
    lines.append("| operation | type | " + " | ".join(TITLES.values()) + " |")
    lines.append("|---|---|" + "---|" * len(TITLES))
    for job, figures in table.items():
        operation, kind = job.split(".")
        cells = [error_text(figures[name], name) for name in TITLES]
        lines.append(f"| {operation} | {kind} | " + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    if output:
        output.write_text(text, encoding="utf-8")
    else:
        print(text)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench accuracy",
                                     description="Largest errors of elementwise operations.")
    parser.add_argument("--output", type=pathlib.Path, metavar="FILE", help="a Markdown file (standard output)")
    parser.add_argument("--only", metavar="TEXT", help="operations and types with this in their name")
    parser.add_argument("--build", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    program = options.build / "tests" / "bench" / "bench_accuracy"
    plan = subprocess.run([program, "plan"], stdout=subprocess.PIPE, text=True, check=True).stdout
    jobs = [line.replace(" ", ".") for line in plan.splitlines()]
    jobs = [job for job in jobs if options.only is None or options.only in job]
    with tempfile.TemporaryDirectory() as folder:
        run_ours(program, folder, jobs)
        for name in PEERS:
            run_peer(name, folder, jobs)
        table = measure(program, folder, jobs)
    write(table, options.output)
    wrong = [job for job, figures in table.items()
             if figures["golden"] is None or figures["golden"]["worst"] > 0.5 or
             figures["golden"]["class"] or figures["golden"]["small"]]
    for job in wrong:
        print(f"{job}: the golden is wrong: {table[job]['golden']}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
