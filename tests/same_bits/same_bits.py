#!/usr/bin/env python3
"""The same bits everywhere: evaluates modules with several builds of referee under several settings
(threads, vector levels, OpenBLAS kernels) and compares every output, byte for byte.

  same_bits.py [--short] BUILD…      BUILD: a command that runs referee, e.g. 'build/tools/referee'

The modules are those of tests/same_bits/modules (each also with arguments of the whole range of
exponents), the examples of corpus/suites/first, and those that corpus.txt names of the public data
next to the checkout (REFEREE_SHARED, or ../shared; left out where that is missing). --short: fewer
settings, and our own modules only. Every (module, build, setting) is one check against the first
build's first setting; the last line sums them up."""

import argparse
import concurrent.futures
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# OpenBLAS kernels and the processor flags that they take.
CORES = {
    "Nehalem": {"sse4_2"},
    "Sandybridge": {"avx"},
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
}
LEVELS = {"0": set(), "2": {"avx2", "fma"}, "3": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}


def processor_flags():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()


def choose_settings(short):
    """Dictionaries of environment variables, and lines on what does not run here."""
    flags = processor_flags()
    left_out = [f"OpenBLAS kernel {core}" for core, needs in CORES.items() if not needs <= flags]
    left_out += [f"vector level {level}" for level, needs in LEVELS.items() if not needs <= flags]
    cores = [core for core, needs in CORES.items() if needs <= flags]
    levels = [level for level, needs in LEVELS.items() if needs <= flags]
    if short:
        settings = [{"REFEREE_THREADS": "1"}]
        settings += [
            {"REFEREE_THREADS": "2", "REFEREE_VECTOR_LEVEL": level, "OPENBLAS_CORETYPE": core}
            for level, core in zip(levels, cores[:1] + cores[-1:] + cores[1:])
        ]
        return settings, left_out
    settings = [
        {"REFEREE_THREADS": threads, "REFEREE_VECTOR_LEVEL": level}
        for threads in ("1", "2")
        for level in reversed(levels)
    ]
    settings += [{"REFEREE_THREADS": "2", "OPENBLAS_CORETYPE": core} for core in cores]
    return settings, left_out


def choose_modules(short):
    """(name, path, options) of each module."""
    modules = []
    for path in sorted((HERE / "modules").glob("*.hlo")):
        modules.append((path.name, path, []))
        modules.append((path.name + " --large-range", path, ["--large-range"]))
    if short:
        return modules, None
    for path in sorted((ROOT / "corpus/suites/first").glob("*.hlo")):
        modules.append(("first/" + path.name, path, []))
    shared = Path(os.environ.get("REFEREE_SHARED", ROOT.parent / "shared")) / "corpus-data"
    if not shared.is_dir():
        return modules, f"{shared} is missing: its modules are left out"
    for line in (HERE / "corpus.txt").read_text().splitlines():
        name = line.strip()
        if name and not name.startswith("#"):
            modules.append((name, shared / name, []))
    return modules, None


def describe(setting):
    return " ".join(f"{name}={value}" for name, value in setting.items())


def evaluate(build, module, setting):
    """A hash of the outputs, or what went wrong."""
    _, path, options = module
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "saved"
        command = shlex.split(build) + ["eval", "--quiet", "--save", str(saved), *options, str(path)]
        try:
            done = subprocess.run(command, env={**os.environ, **setting}, capture_output=True,
                                  text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return "no answer in 600 s"
        if done.returncode != 0 or not saved.is_file():
            return f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        return hashlib.sha256(saved.read_bytes()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--short", action="store_true", help="fewer settings and modules")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("builds", metavar="BUILD", nargs="+")
    options = parser.parse_args()
    settings, left_out = choose_settings(options.short)
    modules, note = choose_modules(options.short)
    for line in left_out:
        print(f"not on this processor: {line}")
    if note:
        print(note)
    cases = [(build, setting) for build in options.builds for setting in settings]
    print(f"{len(modules)} modules, {len(options.builds)} builds, {len(settings)} settings:")
    for setting in settings:
        print(f"  {describe(setting)}")
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for module in modules:
            first, *others = [pool.submit(evaluate, build, module, setting)
                              for build, setting in cases]
            wanted = first.result()
            if len(wanted) != 64:
                print(f"FAILED {module[0]}: {wanted}", flush=True)
                failed += len(cases)
                continue
            passed += 1
            for (build, setting), other in zip(cases[1:], others):
                if other.result() == wanted:
                    passed += 1
                else:
                    failed += 1
                    got = other.result()
                    why = "other bits" if len(got) == 64 else got
                    print(f"FAILED {module[0]}: {describe(setting)} {build}: {why}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
