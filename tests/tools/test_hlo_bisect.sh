#!/usr/bin/env bash
# The program under the name of XLA's hlo_bisect. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
plugin=$(realpath "${REFEREE_BUILD:-.}/tests/backend/plugins/fake_plugin.so")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
ln -s "$referee" hlo_bisect
cat >program.hlo <<'END'
HloModule program
fused {
  p = f32[4,6] parameter(0)
  q = f32[4,6] parameter(1)
  e = f32[4,6] exponential(p)
  d = f32[4,6] subtract(e, q)
  t = f32[4,6] tanh(d)
  ROOT m = f32[4,6] multiply(t, q)
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
wrong='--test_platform=mutant:operands?instruction=d'

check 'help' 0 '--abs_error X' ./hlo_bisect --help
check 'usage' 1 'usage: hlo_bisect' ./hlo_bisect
check 'a wrong platform' 1 "no platform 'Abacus'; there are CUDA" ./hlo_bisect program.hlo --test_platform=Abacus
check 'a wrong format' 1 'is hlo or pb' ./hlo_bisect program.hlo "$wrong" --output_format=html
check 'a wrong flag' 1 'script_path' ./hlo_bisect program.hlo --script_path=x
check 'no such file' 1 'nothing.hlo' ./hlo_bisect nothing.hlo "$wrong"
check 'trimmed' 0 'written to out/deep/program_trimmed.hlo' ./hlo_bisect --input=program.hlo "$wrong" \
    --dump_path=out/deep
check 'to the culprit' 0 'subtract\(' cat out/deep/program_trimmed.hlo
check 'and no more' 1 '' grep -E 'tanh|exponential|fusion' out/deep/program_trimmed.hlo
check 'it still fails' 1 '^MISMATCH' "$referee" run out/deep/program_trimmed.hlo \
    --backend "${wrong#*=}"
check 'without the flag' 0 'written to out2/program_trimmed.hlo' ./hlo_bisect program.hlo "$wrong" --dump_path=out2 \
    --all_computations --xla_cpu_enable_fast_math=false
check 'as a proto' 0 'written to out3/program_trimmed.pb' ./hlo_bisect program.hlo "$wrong" --dump_path=out3 \
    --output_format=pb
check 'that can be read' 0 'subtract\(' sh -c "'$referee' convert out3/program_trimmed.pb -o p.hlo && cat p.hlo"
check 'not buggy' 1 'does not fail' ./hlo_bisect program.hlo --test_platform=Interpreter --dump_path=out4
check 'within a large bound' 1 'does not fail' ./hlo_bisect program.hlo "$wrong" --dump_path=out4 --abs_error=100
check 'another reference' 1 'does not fail' ./hlo_bisect program.hlo "$wrong" --dump_path=out4 \
    "--reference_platform=mutant:operands?instruction=d"
check 'a crash' 0 'fails: CRASH' ./hlo_bisect program.hlo "--test_platform=pjrt:$plugin?behave=crash_on_tanh" \
    --dump_path=out5
"$referee" convert program.hlo -o program.pb
check 'a proto' 0 'out6/program_trimmed.hlo' ./hlo_bisect program.pb "$wrong" --dump_path=out6
cat >script.sh <<'END'
! grep -q tanh "$1"
END
check 'a script' 0 'fails: sh .*script.sh ends with exit status 1' ./hlo_bisect program.hlo --script="sh $PWD/script.sh" \
    --dump_path=out7
check 'of its' 0 '^[12]$' sh -c "grep -cE ' = ' out7/program_trimmed.hlo"
echo 'exit 0' >script.sh
check 'a script that never fails' 1 'nothing to' ./hlo_bisect program.hlo --script="sh $PWD/script.sh" --dump_path=out8
touch plain
check 'a folder that is none' 1 'hlo_bisect: plain/out: ' ./hlo_bisect program.hlo "$wrong" --dump_path=plain/out
finish
