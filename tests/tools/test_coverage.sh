#!/usr/bin/env bash
# docs/coverage.md is what `referee show coverage` finds now, and nothing is refused or wrong without a
# known reason. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
page=${REFEREE_SOURCE:-.}/docs/coverage.md
found=$(mktemp)
trap 'rm -f "$found"' EXIT
"$referee" show coverage >"$found"
check 'docs/coverage.md is what referee show coverage writes' 0 '' diff -u "$page" "$found"
# The walk has gone everywhere: all opcodes, and some of each class.
opcodes=$("$referee" show ops | sed -n 's/^\([0-9]*\) opcodes.*/\1/p')
rows=$(sed -n 's/^| \([a-z][a-z0-9-]*\) |.*/\1/p' "$found" | grep -v '^opcode$' | sort -u | wc -l)
check 'all opcodes are in the table' 0 "^$opcodes\$" echo "$rows"
check 'there are modules, and most evaluate' 0 '^[0-9]{5} modules: [0-9]{5} evaluate' cat "$found"
finish
