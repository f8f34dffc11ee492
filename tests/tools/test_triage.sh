#!/usr/bin/env bash
# Triage: failures of one cause are one group; whose fault they are; reports as input; the journal; a
# crash and a hang are outcomes like others. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
source=${REFEREE_SOURCE:-.}
plugin=${REFEREE_BUILD:-.}/tests/backend/plugins/fake_plugin.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/m" "$folder/nobody"

# Four programs with a subtraction, in different places and types, two of them with a maximum too.
cat >"$folder/m/plain.hlo" <<'END'
HloModule plain
ENTRY e {
  x = f32[4,3] parameter(0)
  y = f32[4,3] parameter(1)
  s = f32[4,3] subtract(x, y)
  t = f32[4,3] tanh(s)
  ROOT r = f32[4,3] multiply(t, x)
}
END
cat >"$folder/m/fused.hlo" <<'END'
HloModule fused
f { p = f32[9] parameter(0) q = f32[9] parameter(1) ROOT d = f32[9] subtract(p, q) }
ENTRY e {
  x = f32[9] parameter(0)
  y = f32[9] cosine(x)
  f = f32[9] fusion(y, x), kind=kLoop, calls=f
  m = f32[9] maximum(f, x)
  ROOT r = f32[9] negate(m)
}
END
cat >"$folder/m/looping.hlo" <<'END'
HloModule looping
body {
  s = (s32[], s32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = s32[5] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  is = s32[5] broadcast(i), dimensions={}
  y = s32[5] subtract(x, is)
  ROOT t = (s32[], s32[5]) tuple(j, y)
}
condition {
  s = (s32[], s32[5]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT l = pred[] compare(i, n), direction=LT
}
ENTRY e {
  x = s32[5] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], s32[5]) tuple(zero, x)
  w = (s32[], s32[5]) while(init), condition=condition, body=body
  ROOT r = s32[5] get-tuple-element(w), index=1
}
END
cat >"$folder/m/largest.hlo" <<'END'
HloModule largest
ENTRY e {
  x = f32[6] parameter(0)
  y = f32[6] parameter(1)
  a = f32[6] add(x, y)
  ROOT r = f32[6] maximum(a, x)
}
END
cat >"$folder/m/fine.hlo" <<'END'
HloModule fine
ENTRY e {
  x = f32[6] parameter(0)
  ROOT r = f32[6] sine(x)
}
END

# Nobody's fault.
cat >"$folder/nobody/cancelled.hlo" <<'END'
//@ arg f32[8] {0.1, 0.2, 0.3, 0.7, 0.9, 1.1, 1.3, 1.7}
//@ arg f32[] 6.3
HloModule cancelled
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[8] parameter(0)
  y = f32[] parameter(1)
  zero = f32[] constant(0)
  s = f32[] reduce(x, zero), dimensions={0}, to_apply=add
  d = f32[] subtract(s, y)
  ROOT l = f32[] sine(d)
}
END
cat >"$folder/nobody/sign_of_nan.hlo" <<'END'
//@ arg f32[2] {-1, -4}
HloModule sign_of_nan
ENTRY e {
  x = f32[2] parameter(0)
  r = f32[2] sqrt(x)
  n = f32[2] negate(r)
  ROOT b = s32[2] bitcast-convert(n)
}
END
cat >"$folder/nobody/converted.hlo" <<'END'
//@ arg f32[3] {nan, 3e10, 5}
HloModule converted
ENTRY e {
  x = f32[3] parameter(0)
  ROOT c = s32[3] convert(x)
}
END

triage=("$referee" triage -o "$folder/out" --jobs 2)
wrong='mutant:operands?opcode=subtract'
both="mutant:min_max?opcode=maximum&of=mutant%3Aoperands%3Fopcode%3Dsubtract"
check 'one cause' 1 '^5 modules, 3 fail in 1 group: 1 backend.s bug' "${triage[@]}" "$folder/m" \
    --backend "$wrong" --json "$folder/one.json" --html "$folder/one.html"
check 'two types of it' 0 '^3 2 backend strong$' python3 -c '
import json, sys
group = json.load(open(sys.argv[1]))["groups"][0]
print(len(group["members"]), len(group["forms"]), group["verdict"], group["confidence"])' \
    "$folder/one.json"
check 'a page' 0 '^1 3$' python3 -c '
import sys, xml.etree.ElementTree as tree
page = open(sys.argv[1]).read()
body = tree.fromstring(page[page.index("<body>"):page.index("</html>")])
print(len(body.findall("h2")), len(body.findall("details/ul/li")))' "$folder/one.html"
check 'a page that cannot be written' 3 'none/one.html' "${triage[@]}" "$folder/m" --backend "$wrong" \
    --html "$folder/none/one.html"
check 'its module' 1 '^MISMATCH' "$referee" run "$folder"/out/01_subtract_*.hlo --backend "$wrong"
check 'its size' 0 'ROOT subtract = .* subtract\(' cat "$folder"/out/01_subtract_*.hlo
rm -r "$folder/out"
check 'two causes' 1 '^5 modules, 4 fail in 2 groups: 2 backend.s bug' "${triage[@]}" "$folder/m" \
    --backend "$both"
check 'places' 1 'fused.hlo at f \(fusion\) → d \(subtract\)' "${triage[@]}" "$folder/m" --backend "$both"
check 'nothing' 0 '^5 modules, 0 fail in 0 groups' "${triage[@]}" "$folder/m" --backend interp:
check 'why they pass' 0 '^5 pass: 5 bit-equal' "${triage[@]}" "$folder/m" --backend interp:

# Each backend for itself, and what the others say of its failures.
check 'two backends' 1 'interp:\?fidelity=literal agrees with the golden' "${triage[@]}" \
    "$folder/m/plain.hlo" --backend "$wrong" --opinion 'interp:?fidelity=literal'
check 'alone against two' 1 'ours, weak' "${triage[@]}" "$folder/m/plain.hlo" --backend "$wrong" \
    --opinion "$wrong&seed=2"
printf '//@ arg f32[2] {1, 2}\n//@ expect f32[2] {1, 2}\nHloModule w\nENTRY e {\n' >"$folder/ours.hlo"
printf '  x = f32[2] parameter(0)\n  y = f32[2] add(x, x)\n  ROOT s = f32[2] subtract(y, x)\n}\n' \
    >>"$folder/ours.hlo"
check 'the file agrees' 1 'expect lines agree with the golden' "${triage[@]}" "$folder/ours.hlo" \
    --backend "$wrong"
sed -i 's/expect f32\[2\] {1, 2}/expect f32[2] {-1, -2}/' "$folder/ours.hlo"
check 'the file agrees with the backend' 1 'ours, strong' "${triage[@]}" "$folder/ours.hlo" \
    --backend "$wrong"

# What does not run.
crashes="pjrt:$plugin?behave=crash_on_tanh" hangs="pjrt:$plugin?behave=hang_on_tanh"
check 'a crash' 1 'CRASH.*: tanh\(f32\)' "${triage[@]}" "$folder/m/plain.hlo" --backend "$crashes"
check 'a hang' 1 'TIMEOUT.*: tanh\(f32\)' "${triage[@]}" "$folder/m/plain.hlo" --backend "$hangs" \
    --timeout 1 --shrink-time 0.1 --json "$folder/hang.json"
check 'the golden is faster' 0 'does not end within 1 s; the golden took' cat "$folder/hang.json"
printf 'HloModule b\nENTRY e {\n' >"$folder/broken.hlo"
check 'what cannot be read' 1 'suspected: our reader or verifier refuses it' "${triage[@]}" \
    "$folder/broken.hlo" --backend "$wrong"

# Ill-conditioned: one-ulp changes on the way move the golden as far as the backend, which rounds each
# step, is off.
literal=("${triage[@]}" "$folder/nobody" --backend 'interp:?fidelity=literal' --profile cpu)
check 'ill-conditioned' 1 'ill-conditioned: MISMATCH: subtract\(f32, f32\)' "${literal[@]}" \
    --tolerance bits
check 'where it begins' 1 'it begins at d, subtract\(f32, f32\)' "${literal[@]}" --tolerance bits
check 'by default it passes' 0 "1 within the golden's own spread" "${literal[@]}"
# What is wrong alone is a bug, though what comes after it is so sensitive that it proves nothing.
sed -e 's/HloModule cancelled/HloModule hidden/' -e 's/ROOT l = .*/one = f32[] constant(-1)/' \
    -e '/one = /a m = f32[] maximum(d, one)\n k = f32[] constant(1e8)\n z = f32[] multiply(m, k)' \
    -e '/one = /a ROOT l = f32[] sine(z)' "$folder/nobody/cancelled.hlo" >"$folder/hidden.hlo"
hidden='mutant:min_max?opcode=maximum&of=interp%3A%3Ffidelity=literal'
check 'it proves nothing' 0 '^PASS' "$referee" run "$folder/hidden.hlo" --backend "$hidden" \
    --profile cpu
check 'a bug that is hidden' 1 'MISMATCH values: maximum\(f32, f32\)' "${triage[@]}" \
    "$folder/hidden.hlo" --backend "$hidden" --profile cpu --tolerance bits
# The sign of a NaN, looked at as bits: a negation that is left out is the other choice of it.
check 'open semantics' 1 'with the other choice of the sign and payload of a NaN' "${triage[@]}" \
    "$folder/nobody/sign_of_nan.hlo" --backend 'mutant:dropped?opcode=negate'

# Reports: failing runs with their seeds, from another folder than they were written in.
(cd "$folder" && "$referee" run m --backend "$wrong" --seed 7 --json report.json >run.txt)
check 'a report' 1 '^3 modules, 3 fail in 1 group' "${triage[@]}" "$folder/report.json"
check 'what it left' 1 'of the reports: 2 pass there, 0 fail as expected' "${triage[@]}" \
    "$folder/report.json"
check 'its seeds' 1 'next: referee run|--seed 7' "${triage[@]}" "$folder/report.json" --json "$folder/s.json"
check 'of each module' 0 '^\[7, 7, 7\]$' python3 -c '
import json, sys
print([module["seed"] for module in json.load(open(sys.argv[1]))["modules"]])' "$folder/s.json"
printf 'suite: s\nbackends: ["%s"]\ncases:\n  - file: m/plain.hlo\n  - file: m/fine.hlo\n' "$wrong" \
    >"$folder/suite.yaml"
printf '  - file: m/fused.hlo\n    expect: {"%s": {outcome: MISMATCH, reason: known}}\n' "$wrong" \
    >>"$folder/suite.yaml"
(cd "$folder" && "$referee" gate suite.yaml --json gate.json >gate.txt)
check 'a report of the gate' 1 '1 pass there, 1 fail as expected' "${triage[@]}" "$folder/gate.json"
mv "$folder/m/plain.hlo" "$folder/m/moved.hlo"
check 'a file that is gone' 2 'm/plain.hlo is not there' "${triage[@]}" "$folder/gate.json"
mv "$folder/m/moved.hlo" "$folder/m/plain.hlo"
check 'no report' 2 'no report of' "${triage[@]}" "$folder/one.json"
check 'nothing there' 2 'no such file or folder' "${triage[@]}" "$folder/none"
check 'bad numbers' 2 '--jobs takes 1 to 64' "${triage[@]}" "$folder/m" --jobs 0

# Killed at any moment, it goes on where it was.
check 'kills' 0 '^8 kills: 5 modules, 3 fail, 1 group, 7 lines, 7 distinct$' python3 -c '
import json, random, signal, subprocess, sys, time
program, folder, backend = sys.argv[1:]
command = [program, "triage", folder + "/m", "--backend", backend, "--journal", folder + "/journal",
           "--json", folder + "/killed.json", "-o", folder + "/killed", "--quiet"]
random.seed(3)
for _ in range(8):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 0.1))
    process.send_signal(signal.SIGKILL)
    process.wait()
subprocess.run(command, check=False)
lines = [json.loads(line) for line in open(folder + "/journal")]
report = json.load(open(folder + "/killed.json"))
distinct = {(line["id"], "reduced" in line) for line in lines}
print("8 kills: %d modules, %d fail, %d group, %d lines, %d distinct" % (
    len(report["modules"]), report["failing"], len(report["groups"]), len(lines), len(distinct)))' \
    "$referee" "$folder" "$wrong"
check 'another journal' 3 'no line of a journal' "${triage[@]}" "$folder/m" --backend "$wrong" \
    --journal "$folder/suite.yaml"
check 'no time' 0 '5 were not looked at: the time was over' "${triage[@]}" "$folder/m" --backend "$wrong" \
    --time 0.0001

# Several devices: one group a kind of collective, whatever the modules around it are. A type whose neighbours
# are twice as large does not excuse data that comes from another device.
devices=$source/corpus/suites/devices
groups='mutant:replica_groups?seed=3'
check 'on devices' 1 '^12 modules, 12 fail in 1 group: 1 backend.s bug' "${triage[@]}" \
    "$devices"/all_to_all_{cross_replica,cross_partition,cross_replica_of_2}_{f32,s32}_dim[01].hlo --backend "$groups"
check 'where on devices' 1 'all_to_all_cross_replica_s32_dim0.hlo at ' "${triage[@]}" \
    "$devices/all_to_all_cross_replica_s32_dim0.hlo" --backend "$groups"
check 'the rule of a collective' 1 'part i of each device goes to device i' "${triage[@]}" \
    "$devices/all_to_all_cross_replica_s32_dim0.hlo" --backend "$groups"
check 'moved powers of two' 1 'an instruction that does not round is wrong alone' "${triage[@]}" \
    "$devices/moves_f8e8m0fnu.hlo" --backend "$groups"

if "$referee" run -q "$source/corpus/suites/examples/softmax.hlo" >/dev/null 2>&1; then
    check 'a bug of XLA' 1 'cpu: MISMATCH values: dynamic-slice\(dynamic-slice\(s32, s32\), s32\)' \
        "${triage[@]}" "$source/corpus/suites/known/slice_of_slice.hlo"
    check 'its rule' 1 'each start index is clamped' "${triage[@]}" \
        "$source/corpus/suites/known/slice_of_slice.hlo"
    sed 's/bitcast-convert(n)/bitcast-convert(r)/' "$folder/nobody/sign_of_nan.hlo" >"$folder/nan.hlo"
    check 'open on XLA' 1 'open semantics, strong' "${triage[@]}" "$folder/nan.hlo" --backend cpu:
else
    echo "XLA's CPU plugin is not here: its bugs are not triaged"
fi
finish
