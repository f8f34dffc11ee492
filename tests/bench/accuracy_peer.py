# What the peers of the accuracy table share. A peer is called as
#   accuracy_NAME.py FOLDER SUFFIX
# and reads names of jobs, one a line, on standard input. For each it runs FOLDER/JOB.hlo on the
# inputs FOLDER/JOB.0, .1 … and writes FOLDER/JOB.SUFFIX; it says "JOB ok" or "JOB why not".
import pathlib
import re
import sys

import numpy


def inputs_of(text, base):
    widths = re.findall(r"= u(\d+)\[\d+\]\S* parameter", text)
    return [numpy.fromfile(f"{base}.{k}", dtype=f"uint{width}") for k, width in enumerate(widths)]


def run_peer(run):
    folder, suffix = sys.argv[1:]
    for line in sys.stdin:
        job = line.strip()
        base = pathlib.Path(folder) / job
        try:
            text = pathlib.Path(f"{base}.hlo").read_text(encoding="utf-8")
            numpy.asarray(run(text, inputs_of(text, base))).tofile(f"{base}.{suffix}")
            print(job, "ok", flush=True)
        except Exception as error:  # a peer's refusal is a result
            print(job, f"{type(error).__name__}: {error}".splitlines()[0][:200], flush=True)
