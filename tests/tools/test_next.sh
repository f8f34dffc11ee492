#!/usr/bin/env bash
# What run, bisect and the gate say to type next: it is typed, and shows the same failure. Argument:
# the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
program=$(realpath "$1")
source=$(realpath "${REFEREE_SOURCE:-.}")
plugin=$(realpath -m "${REFEREE_BUILD:-.}/tests/backend/plugins/fake_plugin.so")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
ln -s "$program" "$folder/bin/referee"
PATH=$folder/bin:$PATH
cd "$folder" || exit 3

cat >program.hlo <<'END'
HloModule program
ENTRY main {
  a = f32[4,6] parameter(0)
  b = f32[4,6] parameter(1)
  s = f32[4,6] add(a, b)
  d = f32[4,6] subtract(s, b)
  m = f32[4,6] maximum(d, a)
  t = f32[4,6] tanh(m)
  ROOT n = f32[4,6] negate(t)
}
END
cat >'a sum.hlo' <<'END'
HloModule sum
add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY main {
  a = f32[50] parameter(0)
  z = f32[] constant(0)
  e = f32[50] multiply(a, a)
  r = f32[] reduce(e, z), dimensions={0}, to_apply=add
  ROOT n = f32[] negate(r)
}
END
printf 'HloModule two\nENTRY a {\n  x = f32[2] parameter(0)\n  ROOT d = f32[2] negate(x)\n}\n' >part
{ cat part && echo '// -----' && cat part; } >parts.hlo
printf 'f32[4,6] {' >a.txt
for i in 1 2 3 4; do printf '{-1, -2, -3, -4, -5, -%d}%s' "$i" "$([ "$i" = 4 ] || echo ,)" >>a.txt; done
echo '}' >>a.txt

# follow NAME LABEL STATUS PATTERN COMMAND…: of what the command says, the line with the label is run.
follow() {
    local name=$1 label=$2 status=$3 pattern=$4 line
    shift 4
    line=$("$@" 2>&1 | sed -n "s/^ *$label: //p" | head -1)
    check "$name: $label" "$status" "$pattern" bash -c "${line:-echo nothing to type; exit 99}"
}


swapped='mutant:operands?instruction=d'
follow 'a wrong result' again 1 '^MISMATCH' referee run program.hlo --backend "$swapped"
follow 'a wrong result' 'first wrong' 1 'first wrong: d \(subtract\)' \
    referee run program.hlo --backend "$swapped" --seed 7
follow 'a wrong result' smallest 0 '→ 3 instructions' referee run program.hlo --backend "$swapped"
check 'the shrinker is told what bisect was' 1 \
    "next: referee shrink program.part.hlo --backend 'mutant:operands.instruction=d' --tolerance bits --profile strict$" \
    referee bisect program.hlo --backend "$swapped" --tolerance bits --profile strict
check 'and it can be typed' 0 '→ 3 instructions' \
    referee shrink program.part.hlo --backend "$swapped" --tolerance bits --profile strict
follow 'given inputs' 'first wrong' 1 'first wrong: d \(subtract\)' \
    referee run program.hlo --backend "$swapped" --inputs a.txt --inputs a.txt
follow 'given inputs' smallest 0 'fails: MISMATCH' \
    referee run program.hlo --backend "$swapped" --inputs a.txt --inputs a.txt

# What shows only with an option, the commands must have too; the path needs quotes.
literal='interp:?fidelity=literal'
check 'a sum passes' 0 '^PASS' referee run 'a sum.hlo' --backend "$literal" --profile cpu
for option in '--profile cpu --tolerance bits' '--profile strict' \
    '--profile cpu --abs_error_bound 0 --rel_error_bound 0'; do
    follow "$option" again 1 '^MISMATCH' referee run 'a sum.hlo' --backend "$literal" $option
    follow "$option" 'first wrong' 1 'first wrong: r \(reduce\)' \
        referee run 'a sum.hlo' --backend "$literal" $option
done
follow 'bits' smallest 0 'fails: MISMATCH' \
    referee run 'a sum.hlo' --backend "$literal" --profile cpu --tolerance bits
nan='mutant:nan?instruction=m'
check 'a dropped NaN passes' 0 '^PASS' referee run program.hlo --backend "$nan"
follow 'NaN' again 1 '^MISMATCH' referee run program.hlo --backend "$nan" --boundary-values --seed 3
follow 'NaN' 'first wrong' 1 'first wrong: m \(maximum\)' \
    referee run program.hlo --backend "$nan" --boundary-values --seed 3
follow 'NaN' smallest 0 'fails: MISMATCH NaN' \
    referee run program.hlo --backend "$nan" --boundary-values --seed 3

# Against another reference: the shrinker has none.
follow 'two backends' 'first wrong' 1 'first wrong: d \(subtract\)' \
    referee run program.hlo --backend "$swapped" --reference "$literal"
check 'two backends are not shrunk' 0 '^0$' bash -c \
    'referee run program.hlo --backend "$1" --reference "$2" | grep -c smallest; true' - \
    "$swapped" "$literal"
check 'parts are not followed' 0 '^0$' bash -c \
    'referee run parts.hlo --backend "mutant:dropped?instruction=d" | grep -c "first wrong"; true'
check 'what passes has no next' 0 '^0$' bash -c \
    'referee run program.hlo --backend interp: -v | grep -c "first wrong"; true'

# A crash, and what comes and goes.
crashing="pjrt:$plugin?behave=crash_on_tanh"
follow 'a crash' 'first wrong' 1 'first wrong: t \(tanh\)' referee run program.hlo --backend "$crashing"
follow 'a crash' 'which pass' 1 '^CRASH' referee run program.hlo --backend "$crashing"

# No answer: slow, or never.
hanging="pjrt:$plugin?behave=hang_on_tanh"
follow 'a hang' 'only slow' 1 'no answer after 2 s' \
    referee run program.hlo --backend "$hanging" --timeout 0.2
follow 'a hang' 'first wrong' 1 'first wrong: t \(tanh\)' \
    referee run program.hlo --backend "$hanging" --timeout 0.2

# JSON and the gate say the same.
check 'JSON' 0 '^True \[.first wrong., .smallest.\]$' python3 -c '
import json, subprocess, sys
command = ["referee", "run", "program.hlo", "--backend", sys.argv[1]]
text = subprocess.run(command, capture_output=True, text=True).stdout
runs = json.loads(subprocess.run(command + ["-q", "--json", "next.json"], capture_output=True, text=True)
                  and open("next.json").read())["runs"]
lines = [line.strip() for line in text.splitlines()]
next = runs[0]["next"]
print(all(n["label"] + ": " + n["command"] in lines for n in next), [n["label"] for n in next])' "$swapped"
printf 'suite: s\nbackends: ["%s"]\ncases:\n  - file: program.hlo\n    profile: strict\n' "$swapped" >m.yaml
follow 'the gate' again 1 '^MISMATCH' referee gate m.yaml
follow 'the gate' 'first wrong' 1 'first wrong: d \(subtract\)' referee gate m.yaml
follow 'the gate' smallest 0 '→ 3 instructions' referee gate m.yaml

# XLA's CPU, if it is there.
if referee show backends | grep -q '^  cpu   /'; then
    known=$source/corpus/suites/known/slice_of_slice.hlo
    follow 'cpu:' 'first wrong' 1 'first wrong: second \(dynamic-slice\)' referee run "$known"
    follow 'cpu:' 'which pass' 1 'first bad pass: algsimp' referee run "$known"
    follow 'spmd' 'which pass' 1 'first bad pass: .*spmd' \
        referee spmd "$source/corpus/suites/spmd/dus_clamped_start.hlo"
fi

finish
