#!/usr/bin/env python3
# Are faults of compilers found? Dumps of XLA's pipelines over our own programs, in each of which
# `referee plant` gets an instruction wrong from one pass on, are walked by `referee passes`, which
# has to name exactly that pass; and on the dumps as they are it must blame nobody. What is measured
# is printed by class of fault; exit status 1 if a goal is missed.
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAMS = [ROOT / "corpus" / "suites" / name for name in ("examples", "first")]
GOAL_PINNED = 0.98
# Programs that XLA gets wrong by itself, and the pass that has to be blamed: no faults go there.
KNOWN = {"counting_loop": "simplify-while-loops"}
ATTEMPTS = 12  # places of a class that are tried in a pipeline
SEEDS = 2  # of arguments: faults show on one of them, and the walk takes them all


def known_pass(path):
    return next((KNOWN[name] for name in KNOWN if path.name.endswith(name)), None)


class Measurement:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.random = random.Random(options.seed)
        listed = self.run("plant", "--list").stdout
        self.classes = [line.split()[0] for line in listed.splitlines()]
        self.planted = collections.Counter()  # by class
        self.refused = set()  # (pipeline, class) without a place

    def run(self, *words, limit=600):
        return subprocess.run([self.options.program, *map(str, words)], capture_output=True,
                              text=True, check=False, timeout=limit)

    # --- pipelines ---

    def dump(self, program, backend):
        """The dump of a program's compilation, or None when the backend does not give one."""
        scheme, _, target = backend.partition(":")
        folder = self.folder / "dumps" / f"{scheme}-{program.stem}"
        folder.parent.mkdir(exist_ok=True)
        self.run("passes", program, "--backend", f"{scheme}:", "--keep", folder, "--list",
                 *(["--target", target] if target else []))
        return folder if folder.is_dir() and any(folder.iterdir()) else None

    def pipelines(self):
        programs = self.options.programs or [
            path for folder in PROGRAMS for path in sorted(folder.glob("*.hlo"))]
        if self.options.most:
            programs = programs[:self.options.most]
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            made = pool.map(lambda pair: self.dump(*pair),
                            [(program, backend) for backend in self.options.backend
                             for program in programs])
            return [path for path in [*made, *self.options.dumps] if path]

    # --- walking ---

    def walk(self, folder):
        """(file of the first pass blamed or None, its verdict, verdicts by outcome)"""
        report = self.folder / f"walk-{folder.parent.name}-{folder.name}.json"
        try:
            ended = self.run("passes", folder, "--seed", 1, "--seeds", SEEDS, "--json", report)
            walked = json.loads(report.read_text())
        except (subprocess.TimeoutExpired, OSError, ValueError) as error:
            said = ended.stderr.strip()[-300:] if not isinstance(error, subprocess.TimeoutExpired) \
                else "too slow"
            return None, {"message": f"the walk failed: {said}"}, collections.Counter(failed=1)
        finally:
            report.unlink(missing_ok=True)
        verdicts = [verdict for module in walked for verdict in module.get("passes", [])]
        outcomes = collections.Counter(verdict["outcome"] for verdict in verdicts)
        if not verdicts:
            outcomes["failed"] += 1
        finding = next((module["finding"] for module in walked if module.get("finding")), None)
        return finding and finding["file"], finding or {"message": ""}, outcomes

    # --- planting ---

    def plant(self, number, pipeline, name):
        """What was planted, or None: the class has no place that shows."""
        folder = self.folder / f"fault-{number}"
        said = self.run("plant", pipeline, "-o", folder, "--class", name, "--seed",
                        self.options.seed * 100000 + number, "--attempts", ATTEMPTS, "--seeds", SEEDS,
                        "--json", "-")
        if said.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        return {**json.loads(said.stdout), "dump": str(pipeline)}

    def fault(self, number, pipelines):
        """One fault: of the classes planted least often, in a pipeline that has a place for it."""
        order = list(self.classes)
        self.random.shuffle(order)
        order.sort(key=lambda name: self.planted[name])
        pipeline = pipelines[number % len(pipelines)]
        for name in order:
            if (pipeline, name) in self.refused:
                continue
            self.planted[name] += 1  # taken, so that what runs beside this takes another
            fault = self.plant(number, pipeline, name)
            if fault:
                return fault
            self.planted[name] -= 1
            self.refused.add((pipeline, name))
        return None

    def try_fault(self, number, pipelines):
        fault = self.fault(number, pipelines)
        if not fault:
            return None
        folder = pathlib.Path(fault["output"])
        blamed, verdict, outcomes = self.walk(folder)
        fault.update(blamed=blamed, message=verdict["message"], outcomes=dict(outcomes),
                     result="pinned" if blamed == fault["file"] else "found" if blamed else "missed")
        if not self.options.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return fault


def print_results(faults, blames, pipelines, seconds):
    classes = collections.defaultdict(collections.Counter)
    for fault in faults:
        classes[fault["class"]][fault["result"]] += 1
    print(f"{'class':16}  planted  found  pinned")
    for name, results in sorted(classes.items()):
        total = sum(results.values())
        print(f"{name:16}  {total:7}  {total - results['missed']:5}  {results['pinned']:6}")
    for fault in faults:
        if fault["result"] != "pinned":
            print(f"{fault['result']}: {fault['instruction']} in {fault['computation']}, "
                  f"{fault['what']}, by {fault['difference']:.3g}\n  planted {fault['file']}\n"
                  f"  blamed  {fault['blamed'] or 'none'}  {fault['message']}\n"
                  f"  again: referee plant {fault['dump']} -o OUT --class {fault['class']} "
                  f"--seed {fault['seed']} --attempts {ATTEMPTS} --seeds {SEEDS}")
    for name, verdict in blames:
        print(f"false blame: {name}: {verdict.get('file', '')} {verdict['message']}")
    found = sum(fault["result"] != "missed" for fault in faults)
    pinned = sum(fault["result"] == "pinned" for fault in faults)
    blamed = {name for name, _ in blames}
    fair = [fault for fault in faults if fault["dump"] not in blamed]
    if blamed:
        print(f"in pipelines where nobody is blamed unmodified: {len(fair)} faults, "
              f"{sum(fault['result'] == 'pinned' for fault in fair)} pinned")
    print(f"{len(faults)} faults in {len(classes)} classes over {len(pipelines)} pipelines: "
          f"{found} found, {pinned} pinned to the pass "
          f"({100 * pinned / max(1, len(faults)):.1f} %); "
          f"{len(blames)} of {len(pipelines)} unmodified pipelines blamed; {seconds:.0f} s")
    return pinned


def main():
    parser = argparse.ArgumentParser(description="faults planted in pipelines: are they found?")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--program", type=pathlib.Path, help="referee (default: of the build)")
    parser.add_argument("--count", type=int, default=200, help="faults (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--backend", action="append", metavar="SCHEME:TARGET",
                        help="whose pipelines, as cuda:h100 (default cpu:)")
    parser.add_argument("--programs", nargs="+", type=pathlib.Path, help="modules to compile")
    parser.add_argument("--dumps", nargs="+", type=pathlib.Path, default=[],
                        help="dump folders, walked beside those that are made")
    parser.add_argument("--most", type=int, help="only so many programs")
    parser.add_argument("--goal", type=float, default=GOAL_PINNED, help="part pinned (default 0.98)")
    parser.add_argument("--keep", type=pathlib.Path, help="work in this folder and keep it")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.program = options.program or options.build / "tools" / "referee"
    options.backend = options.backend or ([] if options.dumps and not options.programs else ["cpu:"])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="referee-planted-") as temporary:
        measurement = Measurement(options, options.keep or pathlib.Path(temporary))
        measurement.folder.mkdir(exist_ok=True)
        pipelines = measurement.pipelines()
        if not pipelines:
            print("nothing was dumped: the backend is missing")
            return 77
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            clean = {path: walked for path, walked in
                     zip(pipelines, pool.map(measurement.walk, pipelines))}
            known = [path for path in pipelines
                     if clean[path][1].get("pass", "none") == known_pass(path)]
            pipelines = [path for path in pipelines if path not in known]
            faults = [fault for fault in pool.map(
                lambda number: measurement.try_fault(number, pipelines), range(options.count))
                if fault]
    blames = [(str(path), clean[path][1]) for path in pipelines
              if clean[path][0] or clean[path][2]["failed"]]
    for path in known:
        print(f"{path.name}: {known_pass(path)} is blamed, which gets it wrong by itself")
    for path in pipelines:
        left = {key: count for key, count in clean[path][2].items() if key != "PASS"}
        if left:
            print(f"{path.name}: {left} unmodified")
    pinned = print_results(faults, blames, pipelines, time.monotonic() - began)
    if options.json:
        options.json.write_text(json.dumps({"faults": faults, "pipelines": len(pipelines),
                                            "blames": [name for name, _ in blames]}, indent=1))
    good = faults and len(faults) >= options.count and pinned >= options.goal * len(faults)
    print(f"goal {options.goal:.0%} pinned, no false blame: "
          f"{'reached' if good and not blames else 'MISSED'}")
    return 0 if good and not blames else 1


if __name__ == "__main__":
    sys.exit(main())
