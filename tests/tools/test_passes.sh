#!/usr/bin/env bash
# referee passes: a dump written by hand whose fourth pass is wrong, compilers that crash and hang
# (tests/backend/plugins), and what XLA's CPU plugin does to our examples. Argument: the program.
# Without the plugin the last part is left out, and that is said.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
source=${REFEREE_SOURCE:-$(realpath "$(dirname "$(realpath "$0")")/../..")}
fake=${REFEREE_BUILD:-.}/tests/backend/plugins/fake_plugin.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder
cd "$folder" || exit 1

# --- a dump by hand: f(x, y) = (x − y) · 2, in s32 ---

# module BODY: the module with these lines in its entry.
module() {
    printf 'HloModule hand\n\nENTRY main {\n  x = s32[2] parameter(0)\n  y = s32[2] parameter(1)\n'
    printf '%s\n}\n' "$1"
}
mkdir hand
dump=hand/module_0007.hand
right='  two = s32[] constant(2)
  twos = s32[2] broadcast(two), dimensions={}
  d = s32[2] subtract(x, y)
  ROOT r = s32[2] multiply(d, twos)'
module "$right" >$dump.before_optimizations.txt
module "$right" >$dump.0000.simplification.after_pipeline-start.before_algsimp.txt
# Right: d · 2 = d + d.
module '  d = s32[2] subtract(x, y)
  ROOT r = s32[2] add(d, d)' >$dump.0001.simplification.after_algsimp.before_mystery.txt
# Not to be evaluated.
module '  d = s32[2] subtract(x, y)
  ROOT r = s32[2] custom-call(d), custom_call_target="nobody.knows.this"' \
    >$dump.0002.simplification.after_mystery.before_undo.txt
module '  d = s32[2] subtract(x, y)
  ROOT r = s32[2] add(d, d)' >$dump.0003.simplification.after_undo.before_swap.txt
# Wrong: (y − x) · 2.
module '  d = s32[2] subtract(y, x)
  ROOT r = s32[2] add(d, d)' >$dump.0004.canonical.after_swap.before_cse.txt
module '  d.1 = s32[2] subtract(y, x)
  ROOT r = s32[2] add(d.1, d.1)' >$dump.0005.canonical.after_cse.before_pipeline-end.txt
echo 'no module' >$dump.thunk_sequence.txt

check 'the pass is named' 1 '^first bad pass: swap \(pipeline canonical, 4 of 5\)$' "$referee" passes hand
check 'the file' 1 'file: module_0007.hand.0004.canonical.after_swap' "$referee" passes hand
check 'its line' 1 '^ +4 +MISMATCH +swap \(canonical\).*no rule lets it change a bit' "$referee" passes hand
check 'a right pass' 1 '^ +1 +ok +algsimp \(simplification\) +bits$' "$referee" passes hand
check 'one that cannot be evaluated' 1 '^ +2 +UNSUPPORTED +mystery .*nobody\.knows\.this' \
    "$referee" passes hand
check 'the walk goes on' 1 '^ +3 +ok +undo \(simplification\) +bits since 1' "$referee" passes hand
check 'after the wrong one it does, too' 1 '^ +5 +ok +cse \(canonical\) +bits' "$referee" passes hand
check 'the same bytes are left out' 1 '5 passes \(and 1 dumps without a change\)' "$referee" passes hand
check 'the closing line' 1 \
    '^5 passes: 3 ok, 1 UNSUPPORTED, 1 changed the meaning: swap \(pipeline canonical, 4 of 5\)$' \
    "$referee" passes hand
check 'its diff' 1 '^ +- .*subtract\(x, y\)' "$referee" passes hand
check 'the culprit' 1 'at these instructions the outputs are right: d$' "$referee" passes hand
check 'with every dump' 1 '^6 passes: 4 ok' "$referee" passes hand --every
check 'quiet' 1 '^2$' sh -c "'$referee' passes hand -q | grep -cE '^ +[0-9]+ +[A-Z]'; exit 1"

# Given values: x = (1, 2), y = (3, 5) give (−4, −6), and (4, 6) when they are swapped.
echo 's32[2] {1, 2}' >x && echo 's32[2] {3, 5}' >y
check 'given inputs' 1 'expected -4 .* got 4 ' "$referee" passes hand --inputs x --inputs y
check 'equal inputs hide it' 0 '^5 passes: 4 ok, 1 UNSUPPORTED$' \
    "$referee" passes hand --inputs x --inputs x
echo 's32[3] {1, 2, 3}' >z
check 'inputs of another shape' 2 's32\[3\].* instead of s32\[2\]' \
    "$referee" passes hand --inputs z --inputs y
check 'several seeds' 1 'seeds 5 to 7' "$referee" passes hand --seed 5 --seeds 3

# A snapshot's arguments count, here x twice, unless a seed is given.
module "$right" >same.hlo
"$referee" convert same.hlo -o same.pb --to hlo-proto
cat >snapshot.py <<'END'
def field(number, data):
    size, length = len(data), b""
    while True:
        length += bytes([size & 0x7F | (0x80 if size >= 0x80 else 0)])
        size >>= 7
        if not size:
            return bytes([number << 3 | 2]) + length + data
shape = bytes([2 << 3, 4]) + field(3, bytes([2]))  # of type S32, dimensions 2
x = field(1, shape) + field(4, bytes([1, 2]))      # its numbers
open("snapped/module_0007.hand.execution_0000.hlo_snapshot.pb", "wb").write(
    field(1, open("same.pb", "rb").read()) + field(2, x) + field(2, x))
END
cp -r hand snapped && python3 snapshot.py
check 'a snapshot' 0 'inputs from snapshot' "$referee" passes snapped
check 'its values' 0 '^5 passes: 4 ok, 1 UNSUPPORTED$' "$referee" passes snapped
check 'a seed instead' 1 'seed 3' "$referee" passes snapped --seed 3

# --- narrowing, blame, lists ---
check 'from a pass' 1 '^ +4 +MISMATCH +swap' "$referee" passes hand --from swap
check 'nothing before it' 1 '^1$' \
    sh -c "'$referee' passes hand --from swap --to swap | grep -cE '^ +[0-9]+ '; exit 1"
check 'up to a pass' 0 '^3 passes: 2 ok, 1 UNSUPPORTED$' "$referee" passes hand --to undo
check 'from a number to a number' 0 '^1 passes: 1 ok$' "$referee" passes hand --from 5 --to 5
check 'from an unknown pass' 2 "no pass 'swop' among the 5 dumped" "$referee" passes hand --from swop
check 'from past the end' 2 'there is no pass 9: they count from 1 to 5' "$referee" passes hand --from 9
check 'blame' 0 '^- .*subtract\(x, y\)' "$referee" passes hand --blame swap
check 'blame by number' 0 '^\+ .*subtract\(y, x\)' "$referee" passes hand --blame 4
check 'blame an unknown pass' 2 "no pass 'dce'" "$referee" passes hand --blame dce
check 'list' 0 '^module_0007 hand  7 modules$' "$referee" passes hand --list
check 'list of passes' 0 '^ +4  swap \(canonical\)$' "$referee" passes hand --list --module hand
check 'a module by number' 1 'first bad pass: swap' "$referee" passes hand --module 7
check 'no such module' 2 "no module 'foot' in this dump" "$referee" passes hand --module foot
check 'no dump' 2 'xla_dump_to' "$referee" passes "$source/tests/tools"
check 'a file alone' 2 '\-\-backend must say' "$referee" passes same.hlo
check 'options of a compile' 2 'need --backend' "$referee" passes hand --target h100
check 'profile' 2 'no such profile' "$referee" passes hand --profile nobody

# What it was compiled for, by the last module's name or, where the dump ends before it, by passes.
for pair in after_codegen:tpu 0006.X64_elimination.after_dce.before_cse:tpu \
    0006.simplification.after_dce.before_cudnn-norm-rewriter:gpu; do
    rm -rf target && cp -r hand target
    cp target/module_0007.hand.0005.* "target/module_0007.hand.${pair%:*}.txt"
    check "the target of ${pair%:*}" 1 "\"profile\": \"${pair#*:}\"" \
        "$referee" passes target --every --json -
done
check 'no target' 1 '"profile": ""' "$referee" passes hand --json -

# --- reports ---
check 'JSON' 1 '' "$referee" passes hand --json hand.json
cat >read.py <<'END'
import json, sys
walk, = json.load(open("hand.json"))
assert walk["module"] == "hand" and walk["id"] == 7, walk
assert walk["counts"] == {"passes": 5, "rounded": 0, "same": 1, "PASS": 3, "MISMATCH": 1,
                          "UNSUPPORTED": 1}, walk["counts"]
assert [p["position"] for p in walk["passes"]] == [0, 1, 2, 3, 4, 5]
assert [p["outcome"] for p in walk["passes"]] == ["PASS", "PASS", "UNSUPPORTED", "PASS",
                                                  "MISMATCH", "PASS"]
assert walk["passes"][3]["compared_with"] == 1 and walk["passes"][2]["jump"] is None
finding = walk["finding"]
assert finding["pass"] == "swap" and finding["pipeline"] == "canonical", finding
assert finding["culprits"] == ["d"] and finding["culprits_restore"], finding
assert finding["jump"]["mismatches"] > 0 and not finding["jump"]["bits"], finding
END
check 'what is in the JSON' 0 '' python3 read.py
check 'page' 1 '' "$referee" passes hand --html hand.html
cat >page.py <<'END'
import html.parser, re
text = open("hand.html", encoding="utf-8").read()
void, open_tags = {"meta", "br", "input"}, []
class Parser(html.parser.HTMLParser):
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert not re.match(r"(https?:)?//", value or ""), value  # nothing from elsewhere
        if tag not in void:
            open_tags.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert open_tags.pop() == tag, tag
Parser().feed(text)
assert not open_tags and "<script" not in text
assert text.count("<svg") == 4 and len(re.findall(r'<tr id="m7-\d"', text)) == 6
assert "swap (pipeline canonical, 4 of 5)" in text
END
check 'what is in the page' 0 '' python3 page.py
check 'a report as a folder' 1 '' "$referee" passes hand --inputs x --inputs y --report found/
check 'what is in it' 0 '^after.txt before.txt diff.txt inputs.pb report.md $' \
    sh -c "ls found | tr '\n' ' '"
check 'the module before' 0 '' cmp found/before.txt $dump.0003.simplification.after_undo.before_swap.txt
check 'the module after' 0 '' cmp found/after.txt $dump.0004.canonical.after_swap.before_cse.txt
check 'the inputs, before' 0 's32\[2\] \{ ?-4, -6 ?\}' \
    "$referee" eval found/before.txt --inputs found/inputs.pb
check 'the inputs, after' 0 's32\[2\] \{ ?4, 6 ?\}' \
    "$referee" eval found/after.txt --inputs found/inputs.pb
check 'its words' 0 '^\| pass \| `swap` \|$' cat found/report.md
check 'how to leave the pass out' 0 'xla_disable_hlo_passes=swap' cat found/report.md
check 'its commands' 0 '^referee eval before.txt --inputs inputs.pb$' cat found/report.md
mkdir grid
cat >grid/module_0001.grid.before_optimizations.txt <<'END'
HloModule grid, replica_count=2
sum {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}
ENTRY e {
  x = s32[2] parameter(0)
  s = s32[2] all-reduce(x), to_apply=sum
  ROOT r = s32[2] subtract(s, x)
}
END
sed 's/subtract(s, x)/subtract(x, s)/' grid/*.txt >grid/module_0001.grid.0001.p.after_swap.before_dce.txt
check 'a report of two replicas' 1 'leaf 1, .*2 of 2 elements differ' "$referee" passes grid \
    --report replicas/
check 'inputs of each' 0 '^device 1:$' cat replicas/report.md
difference() { # of the second device, by the report's modules and inputs
    "$referee" eval replicas/"$1".txt --inputs replicas/inputs.pb --device 1 | tr -d ' -'
}
check 'they show it' 0 '^$' diff <(difference before) <(difference after)
check 'and are not the same' 1 '' diff <("$referee" eval replicas/before.txt --inputs \
    replicas/inputs.pb) <("$referee" eval replicas/after.txt --inputs replicas/inputs.pb)
check 'a report as a file' 1 '' "$referee" passes hand --inputs x --inputs y --report found.md
check 'the inputs in it' 0 '^s32\[2\]\{0\} \{ ?3, 5 ?\}$' cat found.md
check 'a report that cannot be written' 3 'none/found.md' "$referee" passes hand --report none/found.md
check 'a page that cannot be written' 3 'none/hand.html' "$referee" passes hand --html none/hand.html

# Two modules in a folder, one of which is right.
mkdir two && cp hand/* two
module "$right" >two/module_0008.other.before_optimizations.txt
module '  d = s32[2] subtract(x, y)
  ROOT r = s32[2] add(d, d)' >two/module_0008.other.0000.simplification.after_algsimp.before_dce.txt
check 'two modules' 1 '^two  module_0008 other  1 passes' "$referee" passes two
check 'the right one' 0 '^1 passes: 1 ok$' "$referee" passes two --module other
check 'both in the JSON' 0 '^2$' \
    sh -c "'$referee' passes two --json - -q 2>/dev/null | grep -c '\"module\": '"

# Nothing that can be held against anything.
mkdir lonely && cp $dump.before_optimizations.txt lonely
check 'one module' 3 'none after a pass' "$referee" passes lonely
mkdir blank && cp hand/*before_optimizations.txt hand/*mystery.before* blank
mkdir strange && cp $dump.0002* $dump.0003* strange
mv strange/*0002* strange/module_0007.hand.before_optimizations.txt
check 'a first module that cannot be evaluated' 3 '^UNSUPPORTED +hand$' "$referee" passes strange
mkdir broken && cp hand/* broken && echo 'HloModule x, y z' >broken/${dump#hand/}.before_optimizations.txt
check 'a first module that cannot be read' 2 'UNREADABLE +hand' "$referee" passes broken
check 'no pass that can be evaluated' 3 '^1 passes: 0 ok, 1 UNSUPPORTED$' "$referee" passes blank

# --- compilers that end badly ---
module '  ROOT r = s32[2] add(x, y)' >add.hlo
if [[ -e $fake ]]; then
    uri="pjrt:$fake?topology=land&behave"
    check 'a compiler that is fine' 0 '^1 passes: 1 ok$' \
        "$referee" passes add.hlo --backend "$uri=well"
    check 'a crash' 1 'CRASH in the compiler: the last module that it dumped is after algsimp' \
        "$referee" passes add.hlo --backend "$uri=crash_compile"
    check 'a crash: the next pass' 1 'next pass was dce \(pipeline simplification\)' \
        "$referee" passes add.hlo --backend "$uri=crash_compile"
    check 'a crash: what was dumped is judged' 1 '^ +1 +ok +algsimp \(simplification\)' \
        "$referee" passes add.hlo --backend "$uri=crash_compile"
    check 'a hang' 1 'TIMEOUT in the compiler.*next pass was dce' \
        "$referee" passes add.hlo --backend "$uri=hang_compile" --compile-timeout 1
    check 'a refusal' 1 'not even tried' "$referee" passes add.hlo --backend "$uri=error_compile"
    check 'dumps are kept' 1 '' "$referee" passes add.hlo --backend "$uri=crash_compile" --keep kept
    check 'the kept ones' 0 '^1 passes: 1 ok$' "$referee" passes kept
    check 'a folder that is in use' 2 'kept is not empty' \
        "$referee" passes add.hlo --backend "$uri=well" --keep kept
    check 'temporary ones go' 0 '^0$' sh -c 'ls -d referee-* 2>/dev/null | wc -l'
fi
check 'a backend that compiles nothing' 3 'UNSUPPORTED' "$referee" passes add.hlo --backend interp:
check 'no such plugin' 3 'there is no plugin' \
    "$referee" passes add.hlo --backend "pjrt:$folder/none.so"

# --- XLA's CPU plugin ---
examples=$source/corpus/suites/examples
"$referee" passes "$examples/softmax.hlo" --backend cpu: --keep softmax >first 2>&1
if grep -q 'dev plugin\|referee fetch' first; then
    echo "XLA's CPU plugin is not there, so nothing is compiled; ./dev plugin fetches it"
    finish
fi
check 'softmax' 0 '^[0-9]+ passes: [0-9]+ ok( \([0-9]+ rounded as allowed\))?$' cat first
check 'its dumps' 0 '^[0-9]+ passes: [0-9]+ ok' "$referee" passes softmax
check 'inputs from its header' 0 'inputs from header' cat first
# XLA counts the trips of a wrapping loop as one: the pass that unrolls loops of one trip.
check 'a bug of XLA' 1 '^first bad pass: simplify-while-loops \(pipeline simplification' \
    "$referee" passes "$examples/counting_loop.hlo" --backend cpu:
check 'what it should be' 1 'expected 37 .* got 1 ' \
    "$referee" passes "$examples/counting_loop.hlo" --backend cpu:
check 'run offers it' 1 'which pass: referee passes .*counting_loop.hlo' \
    "$referee" run "$examples/counting_loop.hlo"
devices=$source/corpus/suites/devices
check 'several replicas, arguments for each' 0 '^[0-9]+ passes: [0-9]+ ok$' \
    "$referee" passes "$devices/all_gather_cross_replica_of_2_f32_dim0.hlo" --backend cpu: --keep gathers
check 'their dumps' 0 '^[0-9]+ passes: [0-9]+ ok$' "$referee" passes gathers
check 'left out' 0 'ok$' "$referee" passes "$examples/counting_loop.hlo" --backend cpu: \
    --option xla_disable_hlo_passes=simplify-while-loops
check 'what the compiler was' 1 '' "$referee" passes "$examples/counting_loop.hlo" --backend cpu: \
    --report bug.md
check 'it is in the report' 0 '"pjrt_api"' cat bug.md
finish
