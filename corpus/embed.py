# Styles and scripts of pages as C: embed.py OUT.c NAME=FILE… defines, for each file, NAME, its text,
# and NAME_hash, how a page's Content-Security-Policy names it: "sha256-" and the hash in base 64.
import base64
import hashlib
import pathlib
import sys
import textwrap


def embed(out, pairs):
    lines = ["/* Made by embed.py. */"]
    for pair in pairs:
        name, path = pair.split("=", 1)
        data = pathlib.Path(path).read_bytes()
        numbers = textwrap.fill(" ".join(f"'\\x{byte:02x}'," for byte in data + b"\0"), 100)
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        lines += [f"extern const char {name}[], {name}_hash[];",
                  f"const char {name}[] = {{\n{numbers}}};",
                  f'const char {name}_hash[] = "sha256-{digest}";']
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="ascii")


if __name__ == "__main__":
    embed(sys.argv[1], sys.argv[2:])
