#!/usr/bin/env bash
# The suite of modules with shardings: each is partitioned by XLA's CPU plugin, and its partitioned
# form held against the whole module on the golden and on XLA's CPU. Argument: the program. Without
# the plugin only what needs none is tested, and that is said.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
suite=${REFEREE_SOURCE:-.}/corpus/suites/spmd
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder

# A hand-made pair: the whole module, its partitioned form, and a wrong one.
cat >"$folder/whole.hlo" <<'END'
HloModule whole, num_partitions=2
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b) }
ENTRY e {
  x = s32[4] parameter(0), sharding={devices=[2]<=[2]}
  zero = s32[] constant(0)
  ROOT sum = s32[] reduce(x, zero), dimensions={0}, to_apply=add, sharding={replicated}
}
END
cat >"$folder/parts.hlo" <<'END'
HloModule parts, num_partitions=2
add { a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT s = s32[] add(a, b) }
ENTRY e {
  x = s32[2] parameter(0), sharding={devices=[2]<=[2]}
  zero = s32[] constant(0)
  own = s32[] reduce(x, zero), dimensions={0}, to_apply=add
  ROOT all = s32[] all-reduce(own), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add, sharding={replicated}
}
END
sed 's/all-reduce(own).*true, to_apply=add/negate(own)/' "$folder/parts.hlo" >"$folder/wrong.hlo"
sed 's/s32\[2\]/s32[4]/' "$folder/parts.hlo" >"$folder/misfit.hlo"
simulate() {
    "$referee" spmd "$folder/whole.hlo" --no-execute "$@"
}
check 'right parts' 0 'PASS .* 2 partitions  simulated bit-equal' \
    simulate --partitioned "$folder/parts.hlo"
check 'wrong parts' 1 'MISMATCH .* partitioner .*' simulate --partitioned "$folder/wrong.hlo"
check 'replicas that differ' 1 'devices 0 and 1 should hold the same part of output 0' \
    simulate --partitioned "$folder/wrong.hlo"
check 'parts that do not fit' 1 'parameter 0: the sharding of s32\[4\].* makes pieces of s32\[2\]' \
    simulate --partitioned "$folder/misfit.hlo"
sed 's/s32\[\] reduce/s32[7] reduce/' "$folder/parts.hlo" >"$folder/nonsense.hlo"
check 'parts that make no sense' 1 'does not verify: ' simulate --partitioned "$folder/nonsense.hlo"
sed 's/num_partitions=2/replica_count=2, num_partitions=2/' "$folder/whole.hlo" >"$folder/replicas.hlo"
check 'replicas' 1 'several replicas' \
    "$referee" spmd "$folder/replicas.hlo" --no-execute --partitioned "$folder/parts.hlo"
check 'a sharding that does not fit' 2 'over 2 devices, but there are 4' \
    simulate --partitions 4 --partitioned "$folder/parts.hlo"
check 'missing parts' 2 '[Nn]o such file' simulate --partitioned "$folder/none.hlo"
check 'parts of several modules' 2 'is of one module' \
    "$referee" spmd "$folder/whole.hlo" "$folder/whole.hlo" --partitioned "$folder/parts.hlo"
check 'bad padding' 2 'hostile or zero' simulate --padding none
check 'help' 0 'usage: referee spmd' "$referee" spmd --help

if ! "$referee" spmd "$folder/whole.hlo" >"$folder/first" 2>&1 && grep -q 'dev plugin' "$folder/first"
then
    echo "XLA's CPU plugin is not there, so nothing is partitioned; ./dev plugin fetches it"
    finish
fi
check 'too few partitions' 1 'UNSUPPORTED' simulate --partitions 1
check 'malformed shardings' 2 'parameter 0: .*at character' simulate --shardings '{devices=[2]}'
check 'too many shardings' 2 'more shardings than the 1 parameters' \
    simulate --shardings '{replicated},{replicated}'
check 'partitioned by XLA' 0 'PASS .* simulated bit-equal  cpu: bit-equal' \
    "$referee" spmd "$folder/whole.hlo"
check 'parts on XLA' 0 'PASS .* simulated bit-equal  cpu: bit-equal' \
    "$referee" spmd "$folder/whole.hlo" --partitioned "$folder/parts.hlo" --backend cpu:
check 'wrong parts on XLA' 1 'what the backend ran agrees with it' \
    "$referee" spmd "$folder/whole.hlo" --partitioned "$folder/wrong.hlo" --backend cpu:
check 'saved parts' 0 'PASS' "$referee" spmd "$folder/whole.hlo" --save "$folder/saved.hlo"
check 'saved parts again' 0 'PASS' simulate --partitioned "$folder/saved.hlo"
# A dump of the module after all passes, from a run that fails on the shapes of pieces.
flags="xla_dump_to=$folder/dump&xla_dump_hlo_as_text=true&xla_dump_large_constants=true"
"$referee" run "$suite/attention_tensor_parallel.hlo" --backend "cpu:?$flags" >"$folder/ignored"
check 'parts after all passes' 0 'PASS .* 4 partitions  simulated' \
    "$referee" spmd "$suite/attention_tensor_parallel.hlo" \
    --partitioned "$folder"/dump/*cpu_after_optimizations.txt
check 'shardings of its own' 0 'PASS .* 4 partitions' "$referee" spmd "$folder/whole.hlo" \
    --partitions 4 --shardings '{devices=[4]<=[4]}->{replicated}'
check 'a plugin that is not there' 3 'there is no plugin' "$referee" spmd "$folder/whole.hlo" \
    --backend pjrt:/none
check 'a result split as XLA likes' 0 'PASS' "$referee" spmd "$suite/result_by_propagation.hlo" \
    --save "$folder/split.hlo"
check 'what XLA likes' 0 'ROOT .* = f32\[2,4\]' grep ROOT "$folder/split.hlo"
check 'drawn shardings' 0 'PASS' "$referee" spmd "$folder/whole.hlo" --partitions 4 --draw-shardings 1
check 'drawing without a number' 2 'needs --partitions' \
    "$referee" spmd "$folder/whole.hlo" --draw-shardings 1
check 'owner of an element' 1 'first differing element is on device 1' \
    "$referee" spmd "$suite/dus_clamped_start.hlo"

# The suite, held against expected.list.
"$referee" spmd "$suite" --quiet --json "$folder/report.json" >"$folder/output" 2>&1
python3 - "$folder/report.json" "$suite/expected.list" <<'END' >"$folder/judged"
import json, pathlib, sys
expected = {}
for line in open(sys.argv[2]):
    if line.strip() and not line.startswith("#"):
        name, outcome, culprit = line.split(None, 2)
        expected[name] = (outcome, culprit.strip())
runs = json.load(open(sys.argv[1]))
for run in runs:
    name = pathlib.Path(run["module"]).name.removesuffix(".hlo")
    want = expected.pop(name, ("PASS", "nobody"))
    got = (run["outcome"], run.get("culprit", "nobody"))
    print("ok" if got == want else "FAILED", name, *got)
for name in expected:
    print("FAILED", name, "was not run")
if len(runs) < 100:
    print("FAILED: only", len(runs), "modules")
END
grep FAILED "$folder/judged" && cat "$folder/output"
passed=$((passed + $(grep -c '^ok' "$folder/judged")))
failed=$((failed + $(grep -c '^FAILED' "$folder/judged")))
check 'no temporary folder is left' 0 '^0$' bash -c "ls -d '$folder'/referee-*/ 2>/dev/null | wc -l"
finish
