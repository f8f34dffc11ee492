#!/usr/bin/env bash
# docs/coverage.md is what `referee show coverage` finds now, and nothing is refused or wrong without a
# known reason. Argument: the program.
set -u
referee=$1
page=${REFEREE_SOURCE:-.}/docs/coverage.md
found=$(mktemp)
trap 'rm -f "$found"' EXIT
if ! "$referee" show coverage >"$found"; then
    echo 'referee show coverage failed'
    exit 1
fi
if ! diff -u "$page" "$found"; then
    echo 'docs/coverage.md is out of date: referee show coverage > docs/coverage.md'
    exit 1
fi
# The walk has gone everywhere: all opcodes, and some of each class.
opcodes=$("$referee" show ops | sed -n 's/^\([0-9]*\) opcodes.*/\1/p')
rows=$(sed -n 's/^| \([a-z][a-z0-9-]*\) |.*/\1/p' "$found" | grep -v '^opcode$' | sort -u | wc -l)
if [[ $rows != "$opcodes" ]]; then
    echo "$rows opcodes in the table, $opcodes in the golden"
    exit 1
fi
grep -qE '^[0-9]{5} modules: [0-9]{5} evaluate' "$found"
