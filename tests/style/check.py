#!/usr/bin/env python3
# The style checks: rules about the sources that no compiler knows. Each rule is a function from a
# tree of files to its findings, and each has a case in the self test that it must object to.
#   check.py ROOT         checks a tree
#   check.py --self-test  checks the rules
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Upper rooms first; a room may include itself and those after it.
ROOMS = ["tools", "corpus", "compare", "backend", "interp", "hlo"]
# The only headers of a room that other rooms may include, where a room has such a face.
FACES = {"interp": {"interp/interp.h", "interp/custom_call.h"}}
C_SUFFIXES = {".c", ".h"}
TEXT_SUFFIXES = {".c", ".h", ".def", ".proto", ".py", ".sh", ".md", ".yaml", ".build", ".txt", ".css",
                 ".js", ""}
LINES_MOST, LINES_MANY = 800, 600

# Marks of unfinished work, places on one developer's machine, and hosts of packages. Written in
# halves, since this file is checked too.
FORBIDDEN = re.compile("|".join([
    r"\bTO" r"DO\b", r"\bFIX" r"ME\b", r"\bX" r"XX\b", "/wo" "rk/", "/ro" "ot/", "/ho" "me/",
    r"pypi" r"\.org", r"python" r"hosted", r"debian" r"\.org"]))
MACHINE = [b"/wo" b"rk/", b"/ro" b"ot/", b"/ho" b"me/"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


class Tree:
    """The files of a project: paths relative to its root, and their text."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.texts = {}
        for path in self.listing():
            full = self.root / path
            if full.suffix in TEXT_SUFFIXES and full.is_file() and not full.is_symlink():
                try:
                    self.texts[path] = full.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    pass  # data, not text

    def listing(self):
        if shutil.which("git"):
            git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root,
                                 capture_output=True, text=True, check=False)
            if git.returncode == 0:
                return sorted(set(git.stdout.splitlines()))
        paths = (path.relative_to(self.root) for path in self.root.rglob("*"))
        return sorted(str(path) for path in paths
                      if not path.parts[0].startswith("build") and path.parts[0] != ".git")

    def files(self, *suffixes):
        for path, text in self.texts.items():
            if not suffixes or pathlib.Path(path).suffix in suffixes:
                yield path, text

    def lines(self, *suffixes):
        for path, text in self.files(*suffixes):
            for number, line in enumerate(text.splitlines(), 1):
                yield path, number, line


def room_of(path):
    room = path.split("/")[0]
    return room if room in ROOMS else None


def check_arrows(tree):
    """A room includes only itself and the rooms below it, by paths from the root."""
    for path, number, line in tree.lines(".c", ".h", ".def"):
        match = INCLUDE.match(line)
        if not match:
            continue
        included, room = match.group(1), room_of(path)
        target = room_of(included)
        if room and not target:
            yield path, number, f'"{included}" is not a path from the root'
        elif room and ROOMS.index(target) < ROOMS.index(room):
            yield path, number, f"{room} must not know {target}"
        elif room and target != room and included not in FACES.get(target, {included}):
            yield path, number, f"{included} is private to {target}"


def check_headers(tree):
    """Each header compiles alone, and twice; *_loops.h are bodies, compiled once a vector level."""
    headers = [path for path, _ in tree.files(".h")
               if room_of(path) and not path.endswith("_loops.h")]

    def compile_header(path):
        return path, subprocess.run(
            ["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE=", "-fsyntax-only", "-I", ".",
             "-x", "c", "-"], input=f'#include "{path}"\n#include "{path}"\n', cwd=tree.root,
            capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for path, result in pool.map(compile_header, headers):
            if result.returncode and ".pb-c.h: No such file" not in result.stderr:
                yield path, 1, "does not compile alone: " + result.stderr.strip().splitlines()[0]


def check_generated(tree):
    """Code generated from schemas stays inside hlo/proto; tests may use it."""
    for path, number, line in tree.lines(".c", ".h"):
        match = INCLUDE.match(line)
        outside = room_of(path) and not path.startswith("hlo/proto/")
        if match and match.group(1).endswith(".pb-c.h") and outside:
            yield path, number, "generated code outside hlo/proto"


def check_lengths(tree):
    """No source is longer than a reader can hold."""
    for path, text in tree.files(".c", ".h", ".py", ".js", ".css"):
        count = text.count("\n")
        if count > LINES_MOST:
            yield path, count, f"{count} lines: split it by subject (at most {LINES_MOST})"
        elif count > LINES_MANY:
            print(f"note: {path} has {count} lines; {LINES_MANY} is the aim")


def check_tabs(tree):
    """No tabs and no spaces at the end of a line."""
    for path, number, line in tree.lines():
        if path.endswith(".md"):
            continue
        if "\t" in line:
            yield path, number, "a tab"
        elif line.endswith(" "):
            yield path, number, "a space at the end of the line"


def check_purpose(tree):
    """Every file begins with a comment on its purpose."""
    for path, text in tree.files(".c", ".h", ".def", ".proto", ".py", ".sh", ".build", ".yaml", ".css", ".js",
                                 ""):
        if path.startswith("."):
            continue
        lines = text.splitlines() or [""]
        if lines[0].startswith("#!"):
            lines = lines[1:] or [""]
        marks = ("/*", "//") if re.search(r"\.(c|h|def|proto|css|js)$", path) else ("#", '"""')
        if not lines[0].startswith(marks):
            yield path, 1, "does not begin with a comment on its purpose"


def check_readmes(tree):
    """Every room says in a README.md what it is."""
    for room in ROOMS:
        if any(room_of(path) == room for path in tree.texts) and f"{room}/README.md" not in tree.texts:
            yield room, 1, "has no README.md"


def check_words(tree):
    """Nothing unfinished, and nothing about one developer's machine."""
    for path, number, line in tree.lines():
        match = FORBIDDEN.search(line)
        if match:
            yield path, number, f"must not say {match.group(0)!r}"


def check_places(tree):
    """No data either, text or bytes, has a path of one developer's machine in it."""
    for path in tree.listing():
        full = tree.root / path
        if full.suffix in TEXT_SUFFIXES or not full.is_file() or full.is_symlink():
            continue
        data = full.read_bytes()
        for place in MACHINE:
            at = data.find(place)
            if at >= 0:
                yield path, data.count(b"\n", 0, at) + 1, f"has a path that begins {place.decode()}"


def check_typedefs(tree):
    """No struct, enum or union hides behind a typedef."""
    for path, number, line in tree.lines(".c", ".h"):
        if re.match(r"\s*typedef\s+(struct|enum|union)\b", line) and "(" not in line:
            yield path, number, "write the tag; only function types have a typedef"


def check_braces(tree):
    """A body stands in braces, however short it is."""
    control = re.compile(r"\s*(?:\} else |else )?(?:if|for|while) \(.*\)$|\s*(?:\} )?else$")
    for path, number, line in tree.lines(".c", ".h", ".def"):
        line = line.rstrip("\\").rstrip()
        if control.match(line) and line.count("(") == line.count(")"):
            yield path, number, "a body without braces"


def check_format(tree):
    """clang-format would change nothing."""
    paths = [path for path, _ in tree.files(".c", ".h")]
    for start in range(0, len(paths), 50):
        result = subprocess.run(["clang-format", "--dry-run", "--ferror-limit=1", *paths[start:start + 50]],
                                cwd=tree.root, capture_output=True, text=True, check=False)
        for line in result.stderr.splitlines():
            match = re.match(r"(.+?):(\d+):\d+: (?:warning|error): ", line)
            if match:
                yield match.group(1), int(match.group(2)), "not formatted: ./dev format"


RULES = [check_arrows, check_headers, check_generated, check_lengths, check_tabs, check_purpose,
         check_readmes, check_words, check_places, check_typedefs, check_braces,
         check_format]


def check(root):
    tree = Tree(root)
    failed = 0
    for rule in RULES:
        findings = sorted(set(rule(tree)))
        for path, number, text in findings:
            print(f"{path}:{number}: {text}")
        print(f"{'FAILED' if findings else 'ok':8}{rule.__doc__}")
        failed += bool(findings)
    print(f"{len(RULES) - failed} passed, {failed} failed")
    return failed == 0


# Files that break one rule each, over a tree that breaks none.
CLEAN = {
    ".clang-format": "BasedOnStyle: LLVM\nIndentWidth: 4\nColumnLimit: 100\n",
    "hlo/README.md": "The IR.\n",
    "hlo/shape.h": "/* Shapes. */\nstruct shape;\n",
    "interp/README.md": "The golden.\n",
    "interp/interp.h": '/* The face. */\n#include "hlo/shape.h"\n',
    "interp/lanes.h": "/* Lanes. */\n",
    "compare/README.md": "Verdicts.\n",
    "compare/run.c": '/* Runs. */\n#include "interp/interp.h"\ntypedef int function(void);\n',
}
BROKEN = [
    (check_arrows, "interp/up.c", '/* Up. */\n#include "compare/run.h"\n'),
    (check_arrows, "hlo/near.c", '/* Near. */\n#include "shape.h"\n'),
    (check_arrows, "compare/peek.c", '/* Peeks. */\n#include "interp/lanes.h"\n'),
    (check_headers, "hlo/alone.h", "/* Not alone. */\nstruct size need(size_t size);\n"),
    (check_headers, "hlo/twice.h", "/* No guard. */\nstruct twice {\n    int x;\n};\n"),
    (check_generated, "hlo/proto.h", '/* Proto. */\n#include "hlo/proto/hlo.pb-c.h"\n'),
    (check_lengths, "hlo/long.c", "/* Long. */\n" + "extern int x;\n" * LINES_MOST),
    (check_tabs, "hlo/tab.def", "/* Tabs. */\n\tROW(1)\n"),
    (check_tabs, "tests/end.py", "# A space at the end.\npass \n"),
    (check_purpose, "hlo/none.c", "int none;\n"),
    (check_purpose, "tests/none.py", "#!/usr/bin/env python3\nprint()\n"),
    (check_readmes, "corpus/case.c", "/* A room without a README. */\n"),
    (check_words, "hlo/later.c", "/* TO" "DO: all of it. */\n"),
    (check_words, "tests/place.md", "See /wo" "rk/notes.\n"),
    (check_places, "tests/place.mlir", 'loc("/wo' 'rk/m.py":1:2)\n'),
    (check_typedefs, "hlo/name.h", "/* Names. */\ntypedef struct shape shape;\n"),
    (check_braces, "hlo/bare.c", "/* Bare. */\nvoid f(void)\n{\n    if (x)\n        x = 0;\n}\n"),
    (check_format, "hlo/wild.c", "/* Wild. */\nint  x ;\n"),
]


def write(root, path, text):
    full = pathlib.Path(root) / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_text(text, encoding="utf-8")


def self_test():
    failed = 0

    def expect(what, good):
        nonlocal failed
        if not good:
            print(f"FAILED  {what}")
            failed += 1

    with tempfile.TemporaryDirectory() as root:
        for path, text in CLEAN.items():
            write(root, path, text)
        for rule in RULES:
            expect(f"{rule.__name__} accepts a clean tree", not list(rule(Tree(root))))
        for rule, path, text in BROKEN:
            write(root, path, text)
            found = {where.split("/")[0] for where, _, _ in rule(Tree(root))}
            expect(f"{rule.__name__} objects to {path}", path.split("/")[0] in found)
            (pathlib.Path(root) / path).unlink()
    total = len(RULES) + len(BROKEN)
    print(f"the rules themselves: {total - failed} of {total} as expected")
    print(f"{total - failed} passed, {failed} failed")
    return failed == 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check.py ROOT | --self-test")
    sys.exit(0 if (self_test() if sys.argv[1] == "--self-test" else check(sys.argv[1])) else 1)
