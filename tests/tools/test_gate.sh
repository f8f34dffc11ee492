#!/usr/bin/env bash
# The gate as CI uses it: what fails it and what does not, shards, reports, and being killed at any
# moment. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
kills=${REFEREE_KILLS:-20}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Modules whose golden is right, one that says it should be something else, one that is no module.
for i in $(seq 24); do
    printf 'HloModule m%d\nENTRY e {\n  x = f32[64,64] parameter(0)\n  y = f32[64,64] exponential(x)\n' \
        "$i" >"$folder/m$i.hlo"
    printf '  ROOT d = f32[64,64] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n' \
        >>"$folder/m$i.hlo"
done
printf '//@ arg f32[2] {1, 2}\n//@ expect f32[2] {2, 5}\nHloModule w\nENTRY e {\n' >"$folder/wrong.hlo"
printf '  x = f32[2] parameter(0)\n  ROOT s = f32[2] add(x, x)\n}\n' >>"$folder/wrong.hlo"
printf 'HloModule b\nENTRY e {\n' >"$folder/broken.hlo"

manifest() { # NAME CASE…: each case is the rest of a line
    printf 'suite: %s\nbackends: ["interp:"]\ncases:\n' "$1"
    shift
    printf '  - %s\n' "$@"
}
good=()
for i in $(seq 24); do
    good+=("{file: m$i.hlo, seeds: [1, 2]}")
done
manifest many "${good[@]}" >"$folder/many.yaml"
manifest one '{file: wrong.hlo}' '{file: m1.hlo}' >"$folder/one.yaml"
manifest other '{file: broken.hlo}' >"$folder/other.yaml"
manifest kept '{file: wrong.hlo, quarantine: {reason: being looked at}}' >"$folder/kept.yaml"
manifest over '{file: wrong.hlo, quarantine: {reason: was looked at, until: 2020-01-01}}' \
    >"$folder/over.yaml"
manifest bad '{file: m1.hlo, quarantine: {until: 2020-01-01}}' >"$folder/bad.yaml"
manifest stale '{file: m1.hlo, expect: {"interp:": {outcome: MISMATCH, reason: none}}}' \
    >"$folder/stale.yaml"

check 'all fine' 0 '^48 runs as expected, 0 not' "$referee" gate "$folder/many.yaml" --jobs 2
check 'the golden differs' 1 'the golden differs' "$referee" gate "$folder/one.yaml"
check 'its count' 1 '^1 runs as expected, 1 not' "$referee" gate "$folder/one.yaml"
check 'unreadable' 1 '^UNREADABLE +other/broken' "$referee" gate "$folder/other.yaml"
check 'quarantined' 0 '0 known from the baseline, 1 in quarantine' "$referee" gate "$folder/kept.yaml"
check 'quarantine is over' 1 'quarantine ended on 2020-01-01' "$referee" gate "$folder/over.yaml"
check 'quarantine without reason' 2 "bad.yaml:4:.*'reason' is missing" "$referee" gate "$folder/bad.yaml"
check 'a failure that passes' 1 'expected MISMATCH: none' "$referee" gate "$folder/stale.yaml"

check 'baseline written' 1 '' "$referee" gate "$folder/one.yaml" --json "$folder/before.json"
check 'something new' 1 '1 known from the baseline' \
    "$referee" gate "$folder/one.yaml" "$folder/other.yaml" --baseline "$folder/before.json"
check 'what the golden gets wrong is known' 0 '1 known from the baseline' \
    "$referee" gate "$folder/one.yaml" --baseline "$folder/before.json"
check 'no baseline' 2 'one.yaml' "$referee" gate "$folder/one.yaml" --baseline "$folder/one.yaml"
check 'annotations' 1 '^::error file=.*one.yaml,line=4,title=one/wrong on interp%3A::' \
    "$referee" gate "$folder/one.yaml" --annotations github
check 'other annotations' 2 "knows github, not 'gitlab'" \
    "$referee" gate "$folder/one.yaml" --annotations gitlab
check 'junit' 1 '' "$referee" gate "$folder/one.yaml" --junit "$folder/one.xml"
check 'its failures' 0 'failures="1"' cat "$folder/one.xml"
check 'it is XML' 0 '^2$' python3 -c '
import sys, xml.etree.ElementTree as tree
print(len(tree.parse(sys.argv[1]).findall("testsuite/testcase")))' "$folder/one.xml"
check 'page' 1 '' "$referee" gate "$folder/one.yaml" --html "$folder/one.html" \
    --history "$folder/before.json"
check 'page with history' 0 '1 earlier report' cat "$folder/one.html"
check 'report that cannot be written' 3 'none/one.html' \
    "$referee" gate "$folder/many.yaml" --html "$folder/none/one.html"
check 'bad shard' 2 '1 ≤ I ≤ N' "$referee" gate "$folder/many.yaml" --shard 3/2

# Shards: each case in exactly one.
for i in 1 2 3 4 5; do
    "$referee" gate "$folder/many.yaml" --shard "$i/5" --json "$folder/shard$i.json" >/dev/null
done
check 'shards' 0 '^48 48$' python3 -c '
import json, sys
runs = [(r["case"], r["seed"]) for name in sys.argv[1:] for r in json.load(open(name))["runs"]]
print(len(runs), len(set(runs)))' "$folder"/shard?.json
check 'shards put together' 0 '^48 runs as expected, 0 not' "$referee" report "$folder"/shard[24135].json \
    --json "$folder/whole.json" --html "$folder/whole.html"
"$referee" gate "$folder/many.yaml" --json "$folder/at_once.json" >/dev/null
check 'are the whole' 0 '^48 1/1$' python3 -c '
import json, sys
whole, once = (json.load(open(name)) for name in sys.argv[1:])
for report in (whole, once):
    for run in report["runs"]:
        del run["seconds"]
assert whole["runs"] == once["runs"], "not the runs of one gate in its order"
print(len(whole["runs"]), whole["shard"])' "$folder/whole.json" "$folder/at_once.json"
check 'a shard is missing' 3 'shard 2/5 is missing' "$referee" report "$folder"/shard[1345].json
check 'a shard twice' 2 'many/m1 on interp: with seed 1 is in both' \
    "$referee" report "$folder/shard1.json" "$folder/shard2.json" "$folder/shard1.json"
check 'shards of other gates' 2 'is shard 1/1, the one before was of 5' \
    "$referee" report "$folder/shard1.json" "$folder/before.json"
check 'no report' 2 'one.yaml:1:' "$referee" report "$folder/one.yaml"
check 'a report that fails' 1 '^1 runs as expected, 1 not' "$referee" report "$folder/before.json"
check 'against a baseline' 0 '1 known' "$referee" report "$folder/before.json" \
    --baseline "$folder/before.json"
mkdir "$folder/history"
sed 's/"date": "20/"date": "19/' "$folder/before.json" >"$folder/history/a.json"
cp "$folder/before.json" "$folder/history/b.json"
check 'a folder of history' 1 '' "$referee" report "$folder/before.json" --history "$folder/history" \
    --html "$folder/history.html"
check 'without the report itself' 0 '1 earlier report' cat "$folder/history.html"
check 'nothing to report' 2 '^usage: referee report' "$referee" report

# A journal of one gate at a time, and of these modules only.
check 'journal' 0 '^48 runs' "$referee" gate "$folder/many.yaml" --journal "$folder/journal"
check 'nothing is run again' 0 '^48 48$' python3 -c '
import json, subprocess, sys
program, manifest, journal = sys.argv[1:]
before = open(journal).read()
subprocess.run([program, "gate", manifest, "--journal", journal], stdout=subprocess.DEVNULL, check=True)
lines = open(journal).read()
assert lines == before
print(len(lines.splitlines()), len(before.splitlines()))' "$referee" "$folder/many.yaml" "$folder/journal"
printf ' ' >>"$folder/m3.hlo"
check 'a changed module is' 0 '^50$' bash -c \
    '"$1" gate "$2" --journal "$3" >/dev/null; wc -l <"$3"' - "$referee" "$folder/many.yaml" "$folder/journal"
check 'no journal of ours' 3 'no line of a journal' "$referee" gate "$folder/many.yaml" --journal "$folder/one.yaml"

# A finding becomes a case: the backend swaps the operands of a subtraction.
suite=$folder/found
mkdir "$suite" "$folder/begun"
swapped='mutant:operands?instruction=d&of=interp:'
printf '# what is known\nsuite: found\nbackends: ["%s"]\ncases:\n  - file: old.hlo # the oldest\n' \
    "$swapped" >"$suite/m.yaml"
printf '\n# the end\n' >>"$suite/m.yaml"
printf 'HloModule o\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT s = f32[2] add(x, x)\n}\n' \
    >"$suite/old.hlo"
printf '// Mine.\n//@ arg f32[2] {1, 2}\n//@ arg f32[2] {3, 5}\nHloModule n\nENTRY e {\n' \
    >"$folder/new.reduced.hlo"
printf '  x = f32[2] parameter(0)\n  y = f32[2] parameter(1)\n  ROOT d = f32[2] subtract(x, y)\n}\n' \
    >>"$folder/new.reduced.hlo"
sed 's/ d = / e = /; s/f32/f16/g' "$folder/new.reduced.hlo" >"$folder/fine.hlo"
sed 's/f32/f16/g' "$folder/wrong.hlo" >"$folder/wrong16.hlo"
sed 's/f32/bf16/g' "$folder/new.reduced.hlo" >"$folder/narrow.hlo"
sed '/^.*@ arg/d; s/f32/f64/g' "$folder/new.reduced.hlo" >"$folder/drawn.hlo"
cp "$suite/m.yaml" "$folder/before.yaml"
add() { "$referee" gate "$suite/m.yaml" --add "$@"; }
check 'added without a reason' 1 '\-\-reason says what is wrong' add "$folder/new.reduced.hlo"
check 'added until some day' 2 'a date YYYY-MM-DD' \
    add "$folder/new.reduced.hlo" --reason x --until soon
check 'added though it passes' 1 'passes; --pass' add "$folder/fine.hlo"
check 'added under a bad name' 2 "not 'a b'" add "$folder/new.reduced.hlo" --reason x --name 'a b'
check 'added under a name that is taken' 2 "the name 'old'" \
    add "$folder/new.reduced.hlo" --reason x --name old
check 'added though it is there' 1 "already: 'old'" add "$suite/old.hlo"
check 'added, what is no module' 2 'broken.hlo:' add "$folder/broken.hlo" --reason x
check 'added, the golden differs' 1 'differs from the //@ expect lines' \
    add "$folder/wrong16.hlo" --reason x
check 'added to two' 2 'one manifest' "$referee" gate "$suite/m.yaml" "$suite/m.yaml" --add x
check 'refusals change nothing' 0 '' cmp "$suite/m.yaml" "$folder/before.yaml"
check 'refusals leave nothing' 0 '^2$' bash -c 'ls "$1" | wc -l' - "$suite"
check 'added' 0 '^added to .*m.yaml:6: new$' add "$folder/new.reduced.hlo" \
    --reason 'a and b: swapped' --until 2099-12-31 --json "$folder/added.json"
check 'its report' 0 '"case": "new"' cat "$folder/added.json"
check 'its row' 0 '^5a6,8$' bash -c 'diff "$1" "$2" | head -1' - "$folder/before.yaml" "$suite/m.yaml"
check 'its reason' 0 'outcome: MISMATCH, reason: "a and b: swapped", until: 2099-12-31\}' cat "$suite/m.yaml"
check 'its golden result' 0 '^//@ expect f32\[2\] \{-2, -3\}$' cat "$suite/new.hlo"
check 'its comments' 0 '^// Mine.$' head -1 "$suite/new.hlo"
check 'added again under another name' 1 "already: 'new'" add "$folder/new.reduced.hlo" --reason x --name n2
check 'what passes' 0 'fine$' add "$folder/fine.hlo" --pass --name fine
check 'on another backend' 0 'narrow$' add "$folder/narrow.hlo" --pass --backend interp: \
    --profile strict --poison
check 'its backends' 0 '^    backends: \["interp:"\]$' cat "$suite/m.yaml"
check 'its profile' 0 '^    profile: strict$' cat "$suite/m.yaml"
check 'with drawn arguments' 0 'drawn$' add "$folder/drawn.hlo" --reason 'swapped' --seed 9
check 'drawn arguments stay' 0 '^2$' grep -c '^//@ arg f64\[2\]' "$suite/drawn.hlo"
check 'the suite' 0 '^5 runs as expected, 0 not' "$referee" gate "$suite/m.yaml"
check 'a new suite' 0 '^added to .*/begun/manifest.yaml:4: drawn$' "$referee" gate \
    "$folder/begun/manifest.yaml" --add "$folder/drawn.hlo" --reason swapped --backend "$swapped"
check 'its manifest' 0 '^suite: begun backends: .* cases: - file: drawn.hlo expect: .*reason: swapped' \
    xargs <"$folder/begun/manifest.yaml"
check 'a new suite without a case' 1 'passes; --pass' "$referee" gate "$folder/begun/other.yaml" \
    --add "$folder/drawn.hlo" --reason x --backend interp:
check 'leaves none' 0 '^drawn.hlo manifest.yaml $' bash -c 'ls "$1" | tr "\n" " "' - "$folder/begun"
for size in 300 301 302 303; do # products that take a while: they would overwrite each other's rows
    printf 'HloModule p%s\nENTRY e {\n  x = f64[%s,%s] parameter(0)\n' "$size" "$size" "$size" >"$folder/p$size.hlo"
    printf '  ROOT p = f64[%s,%s] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n' \
        "$size" "$size" >>"$folder/p$size.hlo"
    add "$folder/p$size.hlo" --pass >/dev/null 2>&1 &
    adding[size]=$!
done
wait "${adding[@]}"
check 'added side by side' 0 '^9 runs as expected, 0 not' "$referee" gate "$suite/m.yaml"
check 'how a case is run again' 0 '--seed 1 --profile strict --poison' "$referee" gate "$suite/m.yaml" --json -

# Killed at random moments, the gate ends with a complete report, and nothing was run twice.
check 'kills' 0 "^$kills kills: 48 runs, 48 in the journal, 48 distinct$" python3 -c '
import json, os, random, signal, subprocess, sys, time
program, manifest, folder, kills = *sys.argv[1:4], int(sys.argv[4])
journal, report = folder + "/killed.journal", folder + "/killed.json"
command = [program, "gate", manifest, "--journal", journal, "--json", report, "--jobs", "2"]
random.seed(7)
done = 0
while done < kills:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 0.08))
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
        done += 1
    elif os.path.exists(report):  # it was faster: begin anew
        os.unlink(journal)
        os.unlink(report)
    process.wait()
subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
lines = [json.loads(line) for line in open(journal)]
runs = json.load(open(report))["runs"]
assert all(run["status"] == "as expected" for run in runs)
print(f"{kills} kills: {len(runs)} runs, {len(lines)} in the journal,",
      len({(r["case"], r["seed"]) for r in lines}), "distinct")' \
    "$referee" "$folder/many.yaml" "$folder" "$kills"

finish
