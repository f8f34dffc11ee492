#!/usr/bin/env python3
# Are causes found? Modules of the corpus are run on backends with one planted fault (`mutant:`);
# where it shows, `referee bisect` has to name the instruction that has it, and `referee shrink` to
# leave little of the module. Exit status 1 if a goal is missed.
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("REFEREE_SHARED", ROOT.parent / "shared"))
LARGE = 1000  # instructions of a module that counts as large
GOLDEN_MOST = 10  # seconds of processor time that the golden may take for a module
GOALS = {"named": 0.95, "instructions": 5, "elements": 16, "most": 25, "seconds": 60}
# What is wrong in a computation that combines or compares is the fault of what applies it.
APPLIED = {"reducer", "sort_order"}
DRAW_MOST = 30  # seconds until a verdict on a fault that is drawn; else bisect says whether it shows
RUN_MOST = 180  # seconds for one run: XLA's CPU may compile for over a minute where two go on at once
ATTEMPTS = 6  # places that are tried in a module until a fault shows
MODULES_TRIED = 40  # modules, until there is a fault
ROUNDS = 4  # through them
PARAMETERS_MOST = 500  # MB
REPORT_EVERY = 15  # seconds
EVERY_CPU = 5  # one fault in so many is in XLA's CPU, where that is there, not in the golden


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Measurement:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.planted = collections.Counter()  # by class
        self.known = {}  # places by module
        self.faults = {}  # by number; None: no fault was found for it
        self.lock = threading.Lock()
        self.began = self.reported = time.monotonic()
        self.stopped = False

    def run(self, *words, limit, cpu=0):
        """Exit status, output, and processor seconds; status None: it took longer than limit, or
        more than cpu seconds of processor time."""
        words = [self.options.program, *map(str, words)]
        if cpu:
            words = ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(cpu), *words]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(words, stdout=out, stderr=err)
            killer = threading.Timer(limit, process.kill)
            killer.start()
            _, status, usage = os.wait4(process.pid, 0)
            killer.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            late = process.returncode in (-signal.SIGKILL, -signal.SIGXCPU)
            out.seek(0)
            err.seek(0)
            return (None if late else process.returncode, out.read(), err.read(),
                    usage.ru_utime + usage.ru_stime)

    def places(self, module):
        """(class, computation, instruction) where a fault can be; nothing if the golden is slow."""
        _, shown, _, _ = self.run("show", module, limit=60)
        size = re.search(r"parameters of (\S+) MB", shown)
        if not size or float(size.group(1)) > PARAMETERS_MOST:
            return []
        status, _, _, _ = self.run("run", "-q", module, "--backend", "interp:",
                                         limit=20 * GOLDEN_MOST, cpu=GOLDEN_MOST)
        if status != 0:
            return []
        _, listed, _, _ = self.run("show", "faults", module, limit=60)
        return [tuple(line.split()[:3]) for line in listed.splitlines()]

    def backend(self, fault):
        inner = f"&of={quoted(fault['of'])}" if fault["of"] else ""
        return (f"mutant:{fault['class']}?instruction={quoted(fault['instruction'])}"
                f"&seed={fault['seed']}{inner}")

    def draw(self, rng, module, places, of):
        """A fault that shows, of a class that was planted seldom."""
        by_class = collections.defaultdict(list)
        for place in places:
            by_class[place[0]].append(place)
        for _ in range(ATTEMPTS):
            name = min(by_class, key=lambda name: (self.planted[name], rng.random()))
            _, computation, instruction = rng.choice(by_class[name])
            fault = {"module": str(module), "class": name, "computation": computation,
                     "instruction": instruction, "seed": rng.randrange(1000), "of": of}
            self.planted[name] += 1
            status, said, _, _ = self.run("run", "-q", module, "--backend", self.backend(fault),
                                          limit=DRAW_MOST)
            if status is None or (status == 1 and said.startswith("MISMATCH")):
                fault["late"] = status is None
                return fault
            self.planted[name] -= 1
            if rng.random() < 0.5:
                by_class.pop(name, None)
            if not by_class:
                break
        return None

    def bisect(self, fault, number):
        began = time.monotonic()
        report = self.folder / f"{number}.json"
        status, _, said, cpu = self.run("bisect", fault["module"], "--backend", self.backend(fault), "-q",
                                        "--json", report, "-o",
                                        self.folder / f"{number}.part.hlo", "--timeout", RUN_MOST,
                                        limit=self.options.limit)
        found = json.loads(report.read_text()) if status == 1 else None
        fault["shows"] = status != 0 if found is None else found["signature"].startswith("MISMATCH")
        fault["bisect_cpu"] = cpu
        fault["bisect_seconds"] = time.monotonic() - began
        fault["levels"] = found["levels"] if found else []
        fault["bisect_message"] = said.strip()
        fault["named"] = self.is_named(fault)

    def is_named(self, fault):
        """The last level is the instruction; or, of what is wrong in how elements are combined,
        either what combines them or what applies that."""
        if not fault["levels"]:
            return False
        last = fault["levels"][-1]
        if last["instruction"] == fault["instruction"]:
            return True
        if last["applied"] and not last["isolated"]:
            last = fault["levels"][-2]
        if fault["class"] not in APPLIED:
            return last["instruction"] == fault["instruction"]
        text = pathlib.Path(fault["module"]).read_text()
        name = re.escape(last["instruction"])
        lines = re.findall(rf"^\s*(?:ROOT )?%?{name} = .*$", text, re.MULTILINE)
        applies = re.compile(rf"(to_apply|scatter)=%?{re.escape(fault['computation'])}(?![\w.-])")
        return any(applies.search(line) for line in lines)

    def shrink(self, fault, number):
        began = time.monotonic()
        output = self.folder / f"{number}.reduced.hlo"
        status, said, wrong, cpu = self.run(
            "shrink", fault["module"], "--backend", self.backend(fault), "-o", output, "--time",
            self.options.limit, "--jobs", 1, "--timeout", RUN_MOST, limit=self.options.limit * 2)
        fault["shrink_cpu"] = cpu
        fault["shrink_seconds"] = time.monotonic() - began
        fault["shrink_message"] = (said + wrong).strip()
        found = re.search(r"→ (\d+) instructions, (\d+) elements in [\d.]+ s, (\d+) candidates", said)
        fault["shrunk"] = bool(status == 0 and found)
        fault["instructions"] = int(found.group(1)) if found else None
        fault["candidates"] = int(found.group(3)) if found else None
        fault["elements"] = largest_array(output.read_text()) if found else None
        fault["reduced"] = str(output)

    def measure(self, number, modules):
        """One fault, in one of the modules: drawn, named, shrunk."""
        rng = random.Random(self.options.seed * 100000 + number)
        of = self.options.of if number % EVERY_CPU == EVERY_CPU - 1 else ""
        turns = rng.sample(modules, min(len(modules), MODULES_TRIED))
        for module in turns * ROUNDS:
            if self.stopped:
                return None
            if module not in self.known:
                self.known[module] = self.places(module)
            fault = self.known[module] and self.draw(rng, module, self.known[module], of)
            if fault:
                fault["size"] = instruction_count(module)
                self.bisect(fault, number)
                if fault["late"] and not fault["shows"]:
                    self.planted[fault["class"]] -= 1
                    continue
                self.shrink(fault, number)
                if self.options.verbose:
                    print(f"{number}: {'named' if fault['named'] else 'not named'} in "
                          f"{fault['bisect_seconds']:.1f} s, {fault['instructions']} instructions, "
                          f"{fault['elements']} elements in {fault['shrink_seconds']:.1f} s: "
                          f"{self.backend(fault)} {module.name}", flush=True)
                return fault
        return None

    def measure_and_keep(self, number, modules, total):
        """The same, kept in the folder and told now and then."""
        if number in self.faults or self.stopped:
            return
        fault = self.measure(number, modules)
        with self.lock:
            if self.stopped:
                return
            self.faults[number] = fault
            with open(self.folder / "faults.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps({"number": number, "fault": fault}) + "\n")
            now = time.monotonic()
            if now - self.reported >= REPORT_EVERY or len(self.faults) == total:
                self.reported = now
                found = [fault for fault in self.faults.values() if fault]
                print(f"{now - self.began:.0f} s: {len(self.faults)} of {total} done, "
                      f"{sum(fault['named'] for fault in found)} of {len(found)} named", flush=True)

    def load(self):
        """What an earlier run has left in the folder."""
        path = self.folder / "faults.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            record = json.loads(line)
            self.faults[record["number"]] = record["fault"]
            if record["fault"]:
                self.planted[record["fault"]["class"]] += 1


def largest_array(text):
    """Elements of the largest array of the module."""
    largest = 0
    for line in text.splitlines():
        if not line.lstrip().startswith("//") and " = " in line:
            for dimensions in re.findall(r"\b[a-z]+[0-9a-z]*\[([\d,]*)\]", line.split(" = ")[1]):
                count = 1
                for size in filter(None, dimensions.split(",")):
                    count *= int(size)
                largest = max(largest, count)
    return largest


def instruction_count(path):
    return sum(" = " in line and not line.startswith("HloModule")
               for line in path.read_text(errors="replace").splitlines())


def is_taken(path):
    """One module in the file."""
    return len(re.findall(r"^HloModule ", path.read_text(errors="replace"), re.MULTILINE)) == 1


def find_modules(options):
    """Modules, the small ones and the large ones."""
    folders = options.modules or [ROOT / "corpus" / "suites"] + [
        SHARED / "corpus-data" / name for name in ("golden", "hlo", "models")]
    paths = [path for folder in folders for path in
             ([folder] if folder.is_file() else sorted(folder.rglob("*.hlo")))
             if is_taken(path)]
    sizes = {path: instruction_count(path) for path in paths}
    return ([path for path in paths if 3 <= sizes[path] <= LARGE],
            [path for path in paths if sizes[path] > LARGE])


def again(fault, measurement):
    return f"{fault['module']} --backend '{measurement.backend(fault)}'"


def print_results(faults, measurement, seconds):
    for fault in faults:
        if not fault["named"]:
            levels = " → ".join(level["instruction"] for level in fault["levels"]) or "nothing"
            print(f"not named: {fault['instruction']} in {fault['computation']}, but {levels} "
                  f"{fault['bisect_message']}\n  again: referee bisect {again(fault, measurement)}")
        if not fault["shrunk"] or fault["instructions"] > GOALS["instructions"] or \
                fault["elements"] > GOALS["elements"] or fault["shrink_seconds"] > GOALS["seconds"]:
            print(f"left {fault['instructions']} instructions, {fault['elements']} elements in "
                  f"{fault['shrink_seconds']:.0f} s, {fault['candidates']} candidates ({fault['class']})\n"
                  f"  again: referee shrink {again(fault, measurement)}")
    shrunk = [fault for fault in faults if fault["shrunk"]]
    groups = {"all": faults, "large": [f for f in faults if f["size"] > LARGE],
              "of " + measurement.options.of: [f for f in faults if f["of"]]}
    for name, group in groups.items():
        done = [fault for fault in group if fault["shrunk"]]
        if not done:
            continue
        named = sum(fault["named"] for fault in group)
        print(f"{name}: {len(group)} faults, {named} named ({100 * named / len(group):.1f} %), bisect "
              f"median {statistics.median(f['bisect_seconds'] for f in group):.1f} s, most "
              f"{max(f['bisect_seconds'] for f in group):.1f} s; "
              f"{len(set(f['module'] for f in group))} modules\n"
              f"  shrunk {len(done)}: instructions median "
              f"{statistics.median(f['instructions'] for f in done):g}, most "
              f"{max(f['instructions'] for f in done)}; elements of an array median "
              f"{statistics.median(f['elements'] for f in done):g}, most "
              f"{max(f['elements'] for f in done)}; median "
              f"{statistics.median(f['shrink_seconds'] for f in done):.1f} s, most "
              f"{max(f['shrink_seconds'] for f in done):.1f} s\n"
              f"  processor time: bisect median {statistics.median(f['bisect_cpu'] for f in group):.1f}"
              f" s, most {max(f['bisect_cpu'] for f in group):.1f} s; shrink median "
              f"{statistics.median(f['shrink_cpu'] for f in done):.1f} s, most "
              f"{max(f['shrink_cpu'] for f in done):.1f} s")
    inside = [fault for fault in faults if fault["class"] in APPLIED]
    exactly = sum(bool(f["levels"]) and f["levels"][-1]["instruction"] == f["instruction"]
                  for f in inside)
    if inside:
        print(f"in reducers and comparators: {exactly} of {len(inside)} named to the instruction")
    named = sum(fault["named"] for fault in faults) / max(1, len(faults))
    good = (len(shrunk) == len(faults) > 0 and named >= GOALS["named"] and
            statistics.median(f["instructions"] for f in shrunk) <= GOALS["instructions"] and
            statistics.median(f["elements"] for f in shrunk) <= GOALS["elements"] and
            max(f["instructions"] for f in shrunk) <= GOALS["most"] and
            statistics.median(f["shrink_seconds"] for f in shrunk) <= GOALS["seconds"])
    print(f"goals {GOALS['named']:.0%} named, medians of {GOALS['instructions']} instructions, "
          f"{GOALS['elements']} elements and {GOALS['seconds']} s, at most {GOALS['most']} "
          f"instructions: {'reached' if good else 'MISSED'}; {seconds:.0f} s")
    return good


def measure(measurement, sets, jobs):
    """All faults, or those until Ctrl-C. Large modules and small ones take turns, so that the
    figures of a part are those of the whole."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        few = sum(modules is sets[0] for modules in sets)
        order = sorted(range(len(sets)),
                       key=lambda i: i / few if i < few else (i - few) / (len(sets) - few))
        work = [pool.submit(measurement.measure_and_keep, number, sets[number], len(sets))
                for number in order]
        try:
            for one in work:
                one.result()
        except KeyboardInterrupt:
            measurement.stopped = True
            for one in work:
                one.cancel()
            print("stopped; these are the results so far", flush=True)


def main():
    parser = argparse.ArgumentParser(description="planted faults: are they named and shrunk?")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--program", type=pathlib.Path, help="referee (default: of the build)")
    parser.add_argument("--count", type=int, default=200, help="faults (default 200)")
    parser.add_argument("--large", type=int, default=40,
                        help=f"of them in modules of over {LARGE} instructions (default 40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=int, default=600, help="seconds for one bisect, one shrink (600)")
    parser.add_argument("--of", default="cpu:", help="the other backend that has faults")
    parser.add_argument("--modules", nargs="+", type=pathlib.Path, help="files or folders")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="work in this folder and keep it; a run that was interrupted goes on")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--verbose", action="store_true", help="a line for each fault")
    options = parser.parse_args()
    options.program = (options.program or options.build / "tools" / "referee").resolve()
    with tempfile.TemporaryDirectory(prefix="referee-faults-") as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        measurement = Measurement(options, folder)
        print(f"seed {options.seed}", flush=True)
        small, large = find_modules(options)
        if options.of:
            status, _, _, _ = measurement.run(
                "run", "-q", ROOT / "corpus" / "suites" / "examples" / "softmax.hlo", "--backend",
                options.of, limit=60)
            options.of = options.of if status == 0 else ""
        few = min(options.large, options.count) if large else 0
        sets = [large] * few + [small] * (options.count - few if small else 0)
        measurement.load()
        measure(measurement, sets, options.jobs)
        faults = [fault for fault in measurement.faults.values() if fault]
        good = print_results(faults, measurement, time.monotonic() - measurement.began)
        if options.json:
            options.json.write_text(json.dumps(faults, indent=1))
    return 0 if good and len(faults) >= options.count else 1


if __name__ == "__main__":
    sys.exit(main())
