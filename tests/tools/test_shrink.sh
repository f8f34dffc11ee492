#!/usr/bin/env bash
# Shrinking by a command and on a backend. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
source=${REFEREE_SOURCE:-.}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/program.hlo" <<'END'
HloModule program
fused {
  p = f32[8,8] parameter(0)
  q = f32[8,8] parameter(1)
  e = f32[8,8] exponential(p)
  ROOT m = f32[8,8] multiply(e, q)
}
ENTRY main {
  a = f32[8,8] parameter(0)
  b = f32[8,8] parameter(1)
  d = f32[8,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = f32[8,8] fusion(d, a), kind=kLoop, calls=fused
  t = f32[8,8] tanh(f)
  ROOT r = (f32[8,8], f32[8,8]) tuple(t, d)
}
END
printf '#!/bin/sh\n! grep -q exponential "$1"\n' >"$folder/has_exponential"
printf '#!/bin/sh\ngrep -q exponential "$1" && kill -SEGV $$\nexit 0\n' >"$folder/crashes"
printf '#!/bin/sh\ngrep -q exponential "$1" && sleep 60\nexit 0\n' >"$folder/hangs"
printf '#!/bin/sh\nexit 0\n' >"$folder/fine"
chmod +x "$folder"/has_exponential "$folder"/crashes "$folder"/hangs "$folder"/fine

check 'a property' 0 '→ 2 instructions, 2 elements' "$referee" shrink "$folder/program.hlo" \
    --script "$folder/has_exponential" -o "$folder/out.hlo"
check 'its result' 0 'ROOT exponential = f32\[1,1\]\{1,0\} exponential\(p0\)' cat "$folder/out.hlo"
check 'its argument' 0 '^//@ arg f32\[1,1\]' cat "$folder/out.hlo"
check 'it can be read' 0 '1 modules? ok|ok' "$referee" verify "$folder/out.hlo"
check 'a crash' 0 'signal 11' "$referee" shrink "$folder/program.hlo" --script "$folder/crashes" \
    -o "$folder/crash.hlo"
check 'a hang' 0 'no end within the time limit' "$referee" shrink "$folder/out.hlo" \
    --script "$folder/hangs" --timeout 0.2 -o "$folder/hang.hlo"
check 'nothing' 1 'does not fail' "$referee" shrink "$folder/program.hlo" --script "$folder/fine"
check 'go on' 0 '2 instructions, 2 elements → 2 instructions' "$referee" shrink \
    "$folder/program.hlo" --script "$folder/has_exponential" -o "$folder/out.hlo" --resume
check 'no module' 2 'cannot read' "$referee" shrink "$folder/none.hlo" --script true
check 'bad numbers' 2 '--failures 1 to --runs' "$referee" shrink "$folder/out.hlo" --failures 2

# The golden's loop ends after 3 iterations, the one with the fault after 1000.
cat >"$folder/loop.hlo" <<'END'
HloModule loop
body {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  two = f32[] constant(2)
  h = f32[] divide(x, two)
  yes = pred[] compare(j, one), direction=GE
  y = f32[] select(yes, h, x)
  ROOT t = (s32[], f32[]) tuple(j, y)
}
condition {
  s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  most = s32[] constant(1000)
  early = pred[] compare(i, most), direction=LT
  least = f32[] constant(1.5)
  far = pred[] compare(x, least), direction=GT
  ROOT l = pred[] and(early, far)
}
ENTRY main {
  k = s32[] constant(0)
  start = f32[] constant(8)
  init = (s32[], f32[]) tuple(k, start)
  w = (s32[], f32[]) while(init), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}
END
check 'a loop that goes on' 0 '→ 4 instructions, 4 elements' "$referee" shrink \
    "$folder/loop.hlo" --backend 'mutant:select?instruction=y' -o "$folder/loop.out.hlo"

if "$referee" run -q "$source/corpus/suites/examples/softmax.hlo" >/dev/null 2>&1; then
    slices=$source/corpus/suites/known/slice_of_slice.hlo
    check 'a wrong result' 0 'fails: MISMATCH values on cpu:' "$referee" shrink "$slices" \
        -o "$folder/slices.hlo" --time 60
    check 'that is still wrong' 1 '^MISMATCH' "$referee" run "$folder/slices.hlo"
    check 'in two slices' 0 '^2$' grep -c 'dynamic-slice(' "$folder/slices.hlo"
    check 'what agrees' 1 'does not fail on cpu:' "$referee" shrink \
        "$source/corpus/suites/examples/matmul.hlo" -o "$folder/none.hlo"
else
    echo "XLA's CPU plugin is not here: shrinking on a backend is not tested"
fi
finish
