#!/usr/bin/env bash
# Bisecting, and shrinking what is found: wrong results, crashes, hangs, and failures that come and
# go. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
plugin=${REFEREE_BUILD:-.}/tests/backend/plugins/fake_plugin.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/program.hlo" <<'END'
HloModule program
fused {
  p = f32[4,6] parameter(0)
  q = f32[4,6] parameter(1)
  e = f32[4,6] exponential(p)
  d = f32[4,6] subtract(e, q)
  wrong = f32[4,6] tanh(d)
  ROOT m = f32[4,6] multiply(wrong, q)
}
ENTRY main {
  a = f32[4,6] parameter(0)
  b = f32[4,6] parameter(1)
  s = f32[4,6] add(a, b)
  f = f32[4,6] fusion(s, b), kind=kLoop, calls=fused
  n = f32[4,6] negate(f)
  ROOT r = (f32[4,6], f32[4,6]) tuple(n, s)
}
END
bisect=("$referee" bisect "$folder/program.hlo" -o "$folder/part.hlo")
shrink=("$referee" shrink "$folder/program.hlo" -o "$folder/reduced.hlo")

check 'places' 0 '^operands fused d subtract$' "$referee" show faults "$folder/program.hlo"
check 'a wrong result' 1 'first wrong: f \(fusion\) → d \(subtract\)' "${bisect[@]}" \
    --backend 'mutant:operands?instruction=d'
check 'its part' 0 'ROOT d = f32\[4,6\]\{1,0\} subtract' cat "$folder/part.hlo"
check 'its part fails' 1 '^MISMATCH' "$referee" run "$folder/part.hlo" \
    --backend 'mutant:operands?instruction=d'
check 'as JSON' 1 '"instruction": "d"' "${bisect[@]}" --json - -q \
    --backend 'mutant:operands?instruction=d'
check 'a tuple' 1 'first wrong: r \(tuple\)' "${bisect[@]}" --backend 'mutant:tuple?instruction=r'
check 'nothing' 0 'nothing to find' "${bisect[@]}" --backend 'mutant:operands?instruction=none'

# Without a finite output nothing shows: a run draws tamer arguments, and so do these.
cat >"$folder/infinite.hlo" <<'END'
HloModule infinite
ENTRY main {
  a = f32[4] parameter(0)
  large = f32[] constant(1e21)
  l = f32[4] broadcast(large), dimensions={}
  s = f32[4] multiply(a, l)
  t = f32[4] multiply(s, s)
  u = f32[4] add(t, t)
  ROOT d = f32[4] subtract(t, u)
}
END
infinite=("$folder/infinite.hlo" --backend 'mutant:operands?instruction=d' --seed 1)
check 'tamer in a run' 1 'bisect .*--tameness 1' "$referee" run "${infinite[@]}"
check 'tamer in bisect' 1 'first wrong: d \(subtract\)' "$referee" bisect "${infinite[@]}" \
    -o "$folder/part.hlo"
check 'tamer is told' 1 'tamer range.*--tameness 1' "$referee" bisect "${infinite[@]}" \
    -o "$folder/part.hlo"
check 'tamer in shrink' 0 '→ 3 instructions, 3 elements' "$referee" shrink "${infinite[@]}" \
    -o "$folder/reduced.hlo"

# The process of the backend really dies, and really does not end.
crashes="pjrt:$plugin?behave=crash_on_tanh"
check 'a crash' 1 'first wrong: f \(fusion\) → wrong \(tanh\)' "${bisect[@]}" --backend "$crashes"
check 'a crash alone' 1 'alone on the reference.s operands it fails' "${bisect[@]}" \
    --backend "$crashes"
check 'a crash shrunk' 0 '→ 2 instructions, 2 elements' "${shrink[@]}" --backend "$crashes"
check 'a crash that is left' 1 '^CRASH' "$referee" run "$folder/reduced.hlo" --backend "$crashes"
hangs="pjrt:$plugin?behave=hang_on_tanh"
check 'a hang' 1 'first wrong: f \(fusion\) → wrong \(tanh\)' "${bisect[@]}" --backend "$hangs" \
    --timeout 1
check 'a hang shrunk' 0 '→ 2 instructions, 2 elements' "${shrink[@]}" --backend "$hangs" --timeout 1
check 'a hang that is left' 0 'ROOT .*tanh\(' cat "$folder/reduced.hlo"

# The same, planted; what only devices make wrong is told with the device.
for end in crash hang; do
    planted="mutant:$end?instruction=d"
    check "a planted $end" 1 'first wrong: f \(fusion\) → d \(subtract\)' "${bisect[@]}" \
        --backend "$planted"
    check "a planted $end shrunk" 0 '→ 2 instructions|→ 3 instructions' "${shrink[@]}" --backend "$planted"
    check "a planted $end left" 0 'ROOT d = ' cat "$folder/reduced.hlo"
done
cat >"$folder/grid.hlo" <<'END'
//@ arg f32[2] {1, 2}
//@ arg f32[2] {1, 3}
//@ arg f32[2] {4, 5}
//@ arg f32[2] {4, 6}
HloModule grid, replica_count=2, num_partitions=2
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[2] reverse(x), dimensions={0}
  z = f32[2] subtract(x, y)
  ROOT all = f32[2] all-reduce(z), replica_groups={{0,1},{2,3}}, channel_id=1,
    use_global_device_ids=true, to_apply=sum
}
END
check 'on devices' 1 'all is wrong on 4 of 4, first on replica 0, partition 0' "$referee" bisect \
    "$folder/grid.hlo" -o "$folder/part.hlo" --backend 'mutant:replica_groups?instruction=all'
check 'its arguments' 0 '^4$' grep -c '^//@ arg' "$folder/part.hlo"
check 'a reducer' 1 'first wrong: all \(all-reduce\) → applied: c \(add\)' "$referee" bisect \
    "$folder/grid.hlo" -o "$folder/part.hlo" --backend 'mutant:reducer?instruction=c'
check 'fewer devices' 0 '→ 5 instructions, 5 elements' "$referee" shrink "$folder/grid.hlo" \
    -o "$folder/reduced.hlo" --backend 'mutant:reducer?instruction=c'
check 'two are left' 0 '^2$' grep -c '^//@ arg' "$folder/reduced.hlo"
check 'that fail' 1 '^MISMATCH' "$referee" run "$folder/reduced.hlo" \
    --backend 'mutant:reducer?instruction=c'

# In three of ten runs.
flaky='mutant:operands?instruction=d&fails=3&runs=10'
check 'now and then' 1 'first wrong: f \(fusion\) → d \(subtract\)' "${bisect[@]}" \
    --backend "$flaky" --runs 10
check 'the odds' 1 'confirmed: the part fails in 3 of 10 runs' "${bisect[@]}" --backend "$flaky" \
    --runs 10
check 'now and then, shrunk' 0 'in 3 of 10 runs' "${shrink[@]}" --backend "$flaky" --runs 10
check 'its odds' 0 'what is left fails in 3 of 10 runs' "${shrink[@]}" --backend "$flaky" --runs 10
check 'now and then, left' 0 'ROOT d = .* subtract\(' cat "$folder/reduced.hlo"
check 'bad runs' 2 '--runs takes 1 to 1000' "${bisect[@]}" --runs 0

# What is wrong far up shows as NaN below, where it need not be followed.
cat >"$folder/far.hlo" <<'END'
HloModule far
ENTRY main {
  x = f32[8] parameter(0)
  y = f32[8] exponential(x)
  bad = f32[8] negate(y)
  a = f32[8] multiply(y, bad)
  b = f32[8] add(a, y)
  c = f32[8] subtract(b, a)
  d = f32[8] maximum(c, y)
  e = f32[8] minimum(d, bad)
  f = f32[8] negate(e)
  ROOT r = f32[8] log(f)
}
END
check 'NaN' 0 'fails: MISMATCH NaN' "$referee" shrink "$folder/far.hlo" --backend \
    'mutant:dropped?instruction=bad' -o "$folder/reduced.hlo"
check 'its cause' 0 'ROOT bad = .* negate\(' cat "$folder/reduced.hlo"

# What is large is bisected before it is shrunk.
{
    echo 'HloModule chain'
    echo 'ENTRY main {'
    echo '  x0 = f32[3,5] parameter(0)'
    for ((i = 1; i <= 60; i++)); do
        echo "  x$i = f32[3,5] subtract(x0, x$((i - 1)))"
    done
    echo '  ROOT r = f32[3,5] negate(x60)'
    echo '}'
} >"$folder/chain.hlo"
check 'a chain' 1 'first wrong: x38 \(subtract\)' "$referee" bisect "$folder/chain.hlo" \
    --backend 'mutant:operands?instruction=x38' -o "$folder/part.hlo"
check 'in few runs' 0 '62 instructions, 930 elements → 3 instructions, 3 elements' "$referee" shrink \
    "$folder/chain.hlo" --backend 'mutant:operands?instruction=x38' -o "$folder/reduced.hlo"
finish
