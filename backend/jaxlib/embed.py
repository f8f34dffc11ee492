#!/usr/bin/env python3
"""Writes a file as an array of C: embed.py IN OUT NAME."""
import sys

source, target, name = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read() + b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write(f"const char {name}[] = {{\n")
    for start in range(0, len(data), 20):
        file.write(", ".join(str(byte if byte < 128 else byte - 256)
                             for byte in data[start:start + 20]) + ",\n")
    file.write("};\n")
