#!/usr/bin/env bash
# The pages that the program writes, looked at and used in a headless browser (test_pages.py): the
# gate's with a thousand cases on three backends and five earlier reports, and with a few; that of
# `referee passes` for a compiler with 130 passes. Arguments: the program; a folder where the
# screenshots shall be kept. Skipped where there is no browser.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
here=$(dirname "$(realpath "$0")")
referee=$(realpath "$1")
keep=()
(($# < 2)) || keep=(--screenshots "$(realpath "$2")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# --- the gate ---

# Two modules on backends that are right, wrong, crash and hang.
cat >scores.hlo <<'HLO'
HloModule scores
ENTRY e {
  x = f32[64,64] parameter(0)
  y = f32[64,64] exponential(x)
  z = f32[64,64] add(y, x)
  ROOT d = f32[64,64] dot(y, z), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
HLO
cat >tuple.hlo <<'HLO'
HloModule tuple
ENTRY e {
  x = f32[8] parameter(0)
  i = s32[5] parameter(1)
  y = f32[8] tanh(x)
  z = f32[8] divide(y, x)
  k = s32[5] add(i, i)
  ROOT d = (f32[8], s32[5], f32[8]) tuple(y, k, z)
}
HLO
cat >small.yaml <<'YAML'
suite: small
backends: ["interp:", "mutant:function?instruction=y&of=interp:", "mutant:crash?instruction=y&of=interp:", "mutant:hang?instruction=y&of=interp:"]
cases:
  - {file: scores.hlo, seeds: [1, 2]}
  - {file: tuple.hlo, expect: {"mutant:hang?instruction=y&of=interp:": {outcome: TIMEOUT, reason: planted}}}
YAML
check 'a small gate' 1 '^4 runs as expected, 8 not' \
    "$referee" gate small.yaml --json small.json --html small.html

check 'one where all is well' 0 '^3 runs as expected, 0 not' \
    "$referee" gate small.yaml --backend interp: --json fine.json --html fine.html

mkdir large
check 'the reports of a large one' 0 '' \
    python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import large_gate; large_gate.write(*sys.argv[2:])' \
    "$here" small.json large
check 'its page' 1 '^[0-9]+ runs as expected, [0-9]+ not' \
    "$referee" report large/now.json --history large --html large.html

# --- the passes ---

python3 "$here/large_dump.py" dump
check 'a large dump' 1 '^130 passes: 124 ok .3 rounded as allowed., 4 UNSUPPORTED, 2 changed the meaning, first swap' \
    "$referee" passes dump --json passes.json --html passes.html
check 'a part of it where all is well' 0 '^38 passes: 38 ok' \
    "$referee" passes dump --from 45 --to 82 --json right.json --html right.html

# --- all of them in one browser ---

output=$(python3 "$here/test_pages.py" "${keep[@]}" \
    gate 1280-light,400-dark large.html large/now.json \
    gate 1280-dark,400-light small.html small.json \
    gate 1280-light fine.html fine.json \
    passes 1280-light,400-light,1280-dark passes.html passes.json \
    passes 400-dark right.html right.json 2>&1)
status=$?
grep -v ' passed, .* failed$' <<<"$output"
((status != 77)) || exit 77
if [[ $output =~ ([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
else
    failed=$((failed + 1)) # died without a closing line
fi
finish
