#!/usr/bin/env python3
"""Holds the reader of bytecode against StableHLO's own writers: every MLIR file of the public data
becomes portable artifacts of the oldest version that jaxlib offers, of 1.0.0 and of the newest, and
plain bytecode in the newest version of the format and in old ones, and each must read as the file's
text does.

    ./dev check artifacts [FILE or FOLDER…]

What StableHLO's serializer refuses, since it has ops of other dialects, goes to it once more with
those kept as they are; ops that jaxlib does not know reach it in generic form, or, of the dialect
check, not at all. Needs jax and jaxlib 0.10.2, which are no part of the product. The last line is
"<n> passed, <m> failed".
"""
import argparse
import collections
import functools
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
PLAIN = "plain"  # or plain:<version of the format>


def parse(text):
    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    with context:
        return ir.Module.parse(text)


# --- writers: text, version → bytes ---


def write_artifact(text, version):
    return stablehlo.serialize_portable_artifact_str(text, version)


def write_mixed(text, version):
    module = parse(text)
    with module.context:
        return stablehlo.serialize_portable_artifact(module, version, True)


def write_plain(text, version):
    module = parse(text)
    _, _, form = version.partition(":")
    with tempfile.NamedTemporaryFile() as file:
        module.operation.write_bytecode(file, desired_version=int(form) if form else None)
        file.seek(0)
        return file.read()


def write_back(text, _):
    """Knows the dialect quant, which contexts made in Python do not."""
    newest = stablehlo.get_current_version()
    return stablehlo.deserialize_portable_artifact_str(write_artifact(text, newest))


# Ways to write a file, in the order of preference: kind, writer, and of which text. (Bytecode of
# before 0.15.0 loses the properties of ops that are not registered, so that the generic text, which
# has attributes instead, comes first.)
ARTIFACT_WAYS = [("artifact", write_artifact, "text"), ("mixed artifact", write_mixed, "generic"),
                 ("artifact", write_artifact, "unchecked"), ("mixed artifact", write_mixed, "text")]
PLAIN_WAYS = [("plain bytecode", write_plain, "text"), ("plain bytecode", write_plain, "generic"),
              ("plain bytecode", write_back, "unchecked")]
OLD_PLAIN_WAYS = [("old plain bytecode", write_plain, "generic")]
NO_PROPERTIES = 5  # versions of the format before this lose them, too


def ways_of(version):
    if not version.startswith(PLAIN):
        return ARTIFACT_WAYS
    _, _, form = version.partition(":")
    return OLD_PLAIN_WAYS if form and int(form) < NO_PROPERTIES else PLAIN_WAYS


# --- files ---


class Source:
    """A file, and what stands for it where jaxlib cannot read it: the same in generic form, also
    without the ops of the dialect check."""

    def __init__(self, program, path):
        self.program, self.path = program, path

    @functools.cached_property
    def text(self):
        return self.path.read_text()

    @functools.cached_property
    def generic(self):
        """By our own reader and printer; None if that cannot read it."""
        made = subprocess.run([self.program, "--generic", self.path], capture_output=True,
                              check=False)
        return made.stdout.decode() if made.returncode == 0 else None

    @functools.cached_property
    def unchecked_path(self):
        path = self.path.with_suffix(".unchecked.mlir")
        path.write_text("".join(line for line in self.generic.splitlines(keepends=True)
                                if not line.lstrip().startswith('"check.')))
        return path

    @property
    def unchecked(self):
        return None if self.generic is None else self.unchecked_path.read_text()

    def write(self, version):
        """Bytes, what they must read as, and the kind of writing."""
        why = "is not read here"
        for kind, writer, text in ways_of(version):
            if getattr(self, text) is None:
                continue
            try:
                data = writer(getattr(self, text), version)
                return data, self.unchecked_path if text == "unchecked" else self.path, kind
            except (ValueError, ir.MLIRError) as error:
                why = str(error)
        raise ValueError(why)


def pieces_of(paths, folder):
    """(name, path) of the modules in the files, which are between lines "// -----"."""
    for number, path in enumerate(paths):
        pieces = path.read_text().split("\n// -----\n")
        for index, piece in enumerate(pieces):
            file = folder / f"{number}.{index}.mlir"
            file.write_text(piece)
            yield f"{path}:{index + 1}" if len(pieces) > 1 else str(path), file


def make_artifacts(program, paths, versions, folder):
    """Names, texts and artifacts, how many of each kind, and what could not be made."""
    made, kinds, refused = [], collections.Counter(), {}
    for name, path in pieces_of(paths, folder):
        source = Source(program, path)
        for version in versions:
            artifact = folder / f"{path.stem}.{version}.bc"
            try:
                data, text, kind = source.write(version)
            except ValueError as error:
                refused[name, version] = str(error).splitlines()[0]
                continue
            artifact.write_bytes(data)
            made.append((name, text, artifact))
            kinds[kind] += 1
    return made, kinds, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True, type=pathlib.Path, help="same_mlir")
    parser.add_argument("--versions", nargs="+",
                        default=[stablehlo.get_minimum_version(), "1.0.0",
                                 stablehlo.get_current_version(), PLAIN, "plain:4", "plain:0"])
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
        made, kinds, refused = make_artifacts(arguments.program, paths, arguments.versions,
                                              pathlib.Path(folder))
        print(f"{len(paths)} files; " +
              ", ".join(f"{kinds[kind]} of kind {kind}" for kind in sorted(kinds)) +
              f"; jaxlib makes none of {len(refused)}")
        for (name, version), error in refused.items() if arguments.verbose else ():
            print(f"{name} as {version}: {error}")
        lines = "".join(f"{text}\t{artifact}\n" for _, text, artifact in made)
        result = subprocess.run([arguments.program], input=lines, capture_output=True, text=True,
                                check=False)
        names = {str(artifact): name for name, _, artifact in made}
        for line in result.stdout.splitlines():
            if "\t" in line:
                _, artifact, error = line.split("\t", 2)
                version = pathlib.Path(artifact).stem.split(".", 2)[2]
                line = f"{names[artifact]} as {version}: {error}"
            print(line)
        sys.stderr.write(result.stderr)
        return result.returncode


if __name__ == "__main__":
    sys.exit(main())
