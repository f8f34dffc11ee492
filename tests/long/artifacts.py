#!/usr/bin/env python3
"""Holds the reader of bytecode against StableHLO's own writers: every MLIR file of the public data
becomes portable artifacts of the oldest version that jaxlib offers, of 1.0.0 and of the newest, and
plain bytecode, and each must read as the file's text does.

    ./dev check artifacts [FILE or FOLDER…]

What StableHLO's serializer refuses, since it has ops of other dialects, goes to it once more with
those kept as they are; ops that jaxlib does not know reach it in generic form. Needs jax and jaxlib
0.10.2, which are no part of the product. The last line is "<n> passed, <m> failed".
"""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

HERE = pathlib.Path(__file__).resolve().parent
SHARED = pathlib.Path(os.environ.get("REFEREE_SHARED", HERE.parent.parent.parent / "shared"))
PLAIN = "plain"


def generic_text(program, path):
    """The file in generic form, by our own reader and printer; None if that cannot read it."""
    made = subprocess.run([program, "--generic", path], capture_output=True, check=False)
    return made.stdout.decode() if made.returncode == 0 else None


def parse(text):
    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        return ir.Module.parse(text)


def serialize(text, version):
    """An artifact and how it was made."""
    if version == PLAIN:
        module = parse(text)
        file = pathlib.Path(tempfile.gettempdir()) / f"plain{os.getpid()}.bc"
        with open(file, "wb") as out:
            module.operation.write_bytecode(out)
        data = file.read_bytes()
        file.unlink()
        return data, PLAIN
    try:
        return stablehlo.serialize_portable_artifact_str(text, version), "artifact"
    except ValueError:
        module = parse(text)
        with module.context:
            return stablehlo.serialize_portable_artifact(module, version, True), "mixed artifact"


def make_artifacts(program, paths, versions, folder):
    """Pairs (text, artifact) of paths, how many of each kind, and what could not be made."""
    pairs, kinds, refused = [], collections.Counter(), {}
    for number, path in enumerate(paths):
        text = path.read_text()
        generic = None
        for version in versions:
            artifact = folder / f"{number}.{version}.bc"
            try:
                try:
                    data, kind = serialize(text, version)
                except (ValueError, ir.MLIRError):
                    generic = generic or generic_text(program, path)
                    if generic is None:
                        raise
                    data, kind = serialize(generic, version)
            except (ValueError, ir.MLIRError) as error:
                refused[path, version] = str(error).splitlines()[0]
                continue
            artifact.write_bytes(data)
            pairs.append((path, artifact))
            kinds[kind] += 1
    return pairs, kinds, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="same_mlir")
    parser.add_argument("--versions", nargs="+",
                        default=[stablehlo.get_minimum_version(), "1.0.0",
                                 stablehlo.get_current_version(), PLAIN])
    parser.add_argument("--verbose", action="store_true", help="say what could not be made, and why")
    parser.add_argument("paths", nargs="*", type=pathlib.Path,
                        default=[SHARED / "corpus-data" / "stablehlo"])
    arguments = parser.parse_args()
    paths = [path for given in arguments.paths
             for path in (sorted(given.rglob("*.mlir")) if given.is_dir() else [given])]
    if not paths:
        print("no MLIR files are there; 0 passed, 0 failed", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        pairs, kinds, refused = make_artifacts(arguments.program, paths, arguments.versions,
                                               pathlib.Path(folder))
        print(f"{len(paths)} files; " + ", ".join(f"{kinds[kind]} {kind}s" if kind != PLAIN
                                                  else f"{kinds[kind]} as plain bytecode"
                                                  for kind in sorted(kinds)) +
              f"; jaxlib makes none of {len(refused)}")
        for (path, version), error in refused.items() if arguments.verbose else ():
            print(f"{path} as {version}: {error}")
        lines = "".join(f"{path}\t{artifact}\n" for path, artifact in pairs)
        return subprocess.run([arguments.program], input=lines, text=True, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
