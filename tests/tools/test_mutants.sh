#!/usr/bin/env bash
# Mutants: backends with one planted fault, and `referee gate --mutants`, which plants many and counts
# what is found. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
suites=${REFEREE_SOURCE:-.}/corpus/suites
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
literal='interp:?fidelity=literal'

printf 'HloModule m\nENTRY e {\n  x = f32[64] parameter(0)\n  y = f32[64] exponential(x)\n' >"$folder/m.hlo"
printf '  ROOT r = f32[64] negate(y)\n}\n' >>"$folder/m.hlo"
printf 'HloModule w\nENTRY e {\n  x = f32[64] parameter(0)\n  ROOT y = f32[] negate(x)\n}\n' >"$folder/w.hlo"

# --- one fault ---

check "the classes" 0 '^block_zero +output +a run of elements stays zero' "$referee" show faults
check "of modules, too" 0 '^last_element +module ' "$referee" show faults
check "a fault in the output" 1 '64 of 64 elements differ' "$referee" run "$folder/m.hlo" --backend 'mutant:stale' --profile cpu
check "the same with a seed" 1 '^MISMATCH' "$referee" run "$folder/m.hlo" --backend 'mutant:row_zero?seed=7'
check "no such class" 3 "no class of faults 'stales'; there are crash hang operands" \
    "$referee" run "$folder/m.hlo" --backend 'mutant:stales'
check "no instruction has it" 3 'is a fault of outputs' \
    "$referee" run "$folder/m.hlo" --backend 'mutant:stale?instruction=y'

# --- many: a fixed sample of all classes over our suites, found by 99 of 100 at least ---

check "the sample" 0 'goal 99 % and no false alarm: reached' \
    "$referee" gate --mutants "$suites"/{first,examples,devices}/manifest.yaml --backend "$literal" \
    --count 600 --seed 1 --jobs 2 --json "$folder/sample.json"
check "its figures" 0 '^True True True True$' python3 - "$folder/sample.json" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
faults, clean, classes = report["faults"], report["clean"], report["classes"]
print(faults["beyond"] > 400 and faults["found"] >= 0.99 * faults["beyond"],
      faults["found_by_xla"] < faults["found"],
      clean["runs"] > 200 and clean["alarms"] == 0,
      sum(row["planted"] > 0 for row in classes) > 75
      and sum(row["planted"] for row in classes) == faults["planted"]
      and sum(row["beyond"] + row["within"] + row["same"] for row in classes) == faults["planted"])
PYTHON

# --- a tester that misses: with bit-equality nothing is, with XLA's rule a flipped low bit is ---

printf 'suite: s\nbackends: ["interp:"]\ncases:\n  - {file: m.hlo, tolerance: xla}\n' >"$folder/xla.yaml"
check "what is missed fails" 1 "missed: .*m.hlo on interp:: .*instead of" \
    "$referee" gate --mutants "$folder/xla.yaml" --count 60
check "with the command that repeats it" 1 "referee run .*m.hlo --backend 'mutant:.*--tolerance xla" \
    "$referee" gate --mutants "$folder/xla.yaml" --count 60
check "unless that is the goal" 0 'goal 50 % and no false alarm: reached' \
    "$referee" gate --mutants "$folder/xla.yaml" --count 60 --goal 50
again=$("$referee" gate --mutants "$folder/xla.yaml" --count 60 | grep -A1 '^missed' | sed -n '2s/^ *referee //p')
check "the command repeats it" 0 '^PASS' bash -c "'$referee' $again"
check "and by our own bounds it is found" 1 '^MISMATCH' bash -c "'$referee' ${again% --tolerance xla*}"

# A backend that is wrong without a fault: bits that it does not keep.
printf 'suite: s\nbackends: ["%s"]\ncases:\n  - {file: sum.hlo, tolerance: bits}\n' "$literal" >"$folder/bits.yaml"
printf 'HloModule m\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n' \
    >"$folder/sum.hlo"
printf 'ENTRY e {\n  x = f32[8,999] parameter(0)\n  c = f32[] constant(0)\n' >>"$folder/sum.hlo"
printf '  ROOT r = f32[8] reduce(x, c), dimensions={1}, to_apply=add\n}\n' >>"$folder/sum.hlo"
check "a false alarm fails" 1 'false alarm: .*sum.hlo on interp.*elements differ' \
    "$referee" gate --mutants "$folder/bits.yaml" --count 0

# --- killed and gone on with: the figures are those of one that was left alone ---

measure=("$referee" gate --mutants "$suites/first/manifest.yaml" --backend "$literal" --count 60)
figures() {
    python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
report.pop("seconds")
for name in "missed", "false_alarms", "false_alarms_by_xla":
    report[name].sort(key=str)
print(json.dumps(report, sort_keys=True))' "$1"
}
journal=$folder/mutants.journal
"${measure[@]}" --json "$folder/whole.json" >/dev/null
for lines in 3 20; do
    "${measure[@]}" --journal "$journal" >/dev/null &
    until (($(wc -l 2>/dev/null <"$journal" || echo 0) >= lines)); do sleep 0.01; done
    kill -9 $!
    wait $! 2>/dev/null
    printf '{"id": "half' >>"$journal"
done
kept=$(grep -c '}$' "$journal")
check "gone on with" 0 "^$kept of [0-9]+ runs were in the journal" \
    "${measure[@]}" --journal "$journal" --json "$folder/resumed.json" --jobs 2
check "its figures" 0 '' diff <(figures "$folder/whole.json") <(figures "$folder/resumed.json")
check "nothing is run twice" 0 '^1$' bash -c 'sort "$1" | uniq -c | awk "{print \$1}" | sort -u' - "$journal"
check "other faults are other runs" 1 '' \
    grep -q 'were in the journal' <("$referee" gate --mutants "$folder/m.hlo" --backend interp: --count 5 --journal "$journal")
printf 'suite: s\n' >"$folder/none.journal"
check "what is no journal" 2 'none.journal:1: .*no line of a journal' "${measure[@]}" --journal "$folder/none.journal"

# --- the command line ---

check "files and folders" 0 '2 runs without a fault: 0 false alarms' \
    "$referee" gate --mutants "$folder/m.hlo" --backend interp: --count 5 --clean 2
check "what is no module is left out" 0 'left out, .*w.hlo' \
    "$referee" gate --mutants "$folder/m.hlo" "$folder/w.hlo" --backend interp: --count 5
check "nothing to do" 2 'no module that faults could be in' \
    "$referee" gate --mutants "$folder/w.hlo" --backend interp:
check "a manifest that is none" 2 'nothing.yaml' "$referee" gate --mutants "$folder/nothing.yaml"
check "a backend that is none" 3 "names no backend" \
    "$referee" gate --mutants "$folder/m.hlo" --backend nothing:
check "a negative count" 2 'take no negative number' \
    "$referee" gate --mutants "$folder/m.hlo" --count -1
check "other reports" 2 'as text and --json alone' \
    "$referee" gate --mutants "$folder/m.hlo" --html "$folder/page.html"
"$referee" gate --mutants "$folder/m.hlo" "$folder/sum.hlo" --backend "$literal" --count 40 --seed 3 -v >"$folder/one"
"$referee" gate --mutants "$folder/m.hlo" "$folder/sum.hlo" --backend "$literal" --count 40 --seed 3 -v >"$folder/two"
check "a seed decides all" 0 '' diff <(grep -v '^goal' "$folder/one") <(grep -v '^goal' "$folder/two")
printf 'suite: s\nbackends: ["interp:"]\ncases:\n  - {file: m.hlo}\n  - {file: sum.hlo, expect: {"interp:": ' \
    >"$folder/known.yaml"
printf '{outcome: MISMATCH, reason: known}}}\n' >>"$folder/known.yaml"
check "what is known to fail is left out" 0 'left out: 1 known to fail' \
    "$referee" gate --mutants "$folder/known.yaml" --backend interp: --count 1
finish
