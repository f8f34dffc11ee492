#!/usr/bin/env bash
# The command `plant` on a dump made by hand: a fault by class and pass is in each module from there on
# and in none before, files keep their formats, a seed decides all, and what cannot be done is said.
# Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
dump=$folder/dump wrong=$folder/wrong
mkdir "$dump"

# A pipeline over 2·x − y: a pass without effect, one that puts all into a fusion, one that renames.
names=(before_optimizations.txt 0000.first.after_pipeline-start.before_dce.txt
    0001.first.after_dce.before_fusion.txt 0002.first.after_fusion.before_rename.txt
    0003.first.after_rename.before_pipeline-end.txt cpu_after_optimizations.hlo.pb.gz)
file() {
    echo "$1/module_0007.m.${names[$2]}"
}
for i in 0 1 2; do
    cat >"$(file "$dump" $i)" <<'END'
HloModule m
ENTRY e { x = s32[4] parameter(0)
  y = s32[4] parameter(1)
  t = s32[4] add(x, x)
  ROOT d = s32[4] subtract(t, y) }
END
done
fused() {
    cat <<END
HloModule m
f { a = s32[4] parameter(0)
  b = s32[4] parameter(1)
  t = s32[4] add(a, a)
  ROOT $1 = s32[4] subtract(t, b) }
ENTRY e { x = s32[4] parameter(0)
  y = s32[4] parameter(1)
  ROOT g = s32[4] fusion(x, y), kind=kLoop, calls=f }
END
}
fused d >"$(file "$dump" 3)"
fused other >"$(file "$dump" 4)"
"$referee" convert "$(file "$dump" 4)" -o "$folder/last.hlo.pb"
gzip -c "$folder/last.hlo.pb" >"$(file "$dump" 5)"
echo 'no module' >"$dump/module_0007.m.debug_options"

# For x = 5, y = 3 every module gives 7.
python3 - "$folder" <<'END'
import struct, sys
for name, value in (("x", 5), ("y", 3)):
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }".ljust(117) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack("<4i", *[value] * 4))
END
value() {
    "$referee" eval "$(file "$1" "$2")" -i "$folder/x.npy" -i "$folder/y.npy"
}
check 'the dump as it is' 0 '\{7, 7, 7, 7\}' value "$dump" 5

# Operands of the difference swapped from the fusion on: 3 − 10.
check 'a class from a pass on' 0 'operands 0 and 1 are swapped' \
    "$referee" plant "$dump" -o "$wrong" --class operands --pass 2
for i in 0 1 2; do
    check "module $i, before the fault" 0 '\{7, 7, 7, 7\}' value "$wrong" $i
    check "module $i as it was" 0 '' cmp "$(file "$dump" $i)" "$(file "$wrong" $i)"
done
for i in 3 4 5; do
    check "module $i, with the fault" 0 '\{-7, -7, -7, -7\}' value "$wrong" $i
done
check 'compressed files stay so' 0 '' gzip -t "$(file "$wrong" 5)"
check 'the dump is as it was' 0 '\{7, 7, 7, 7\}' value "$dump" 5

# What was planted, as JSON.
"$referee" plant "$dump" -o "$wrong" --class add_subtract --pass 3 --seed 5 --json - \
    >"$folder/report.json"
report() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
        "$folder/report.json" "$1"
}
check 'its pass' 0 '^rename$' report pass
check 'its file' 0 '^module_0007.m.0003.first.after_rename.before_pipeline-end.txt$' report file
check 'its class' 0 '^add_subtract$' report class
check 'its computation' 0 '^f$' report computation
check 'its modules' 0 '^2$' report planted
check 'its seed' 0 '^5$' report seed

# The same seed the same fault; over some seeds several.
for seed in 1 2 3 4 5 6; do
    for round in a b; do
        "$referee" plant "$dump" -o "$folder/$round$seed" --seed $seed | tail -n +2 \
            >"$folder/said-$round$seed"
    done
    check "seed $seed twice" 0 '' cmp "$folder/said-a$seed" "$folder/said-b$seed"
    check "modules of seed $seed" 0 '' diff -r "$folder/a$seed" "$folder/b$seed"
done
check 'different seeds' 0 '^[3-6]$' \
    bash -c "grep -h '^  fault' '$folder'/said-a* | sort -u | wc -l"

# 0·x: another constant shows, another sign of zero does not.
mkdir "$folder/quiet"
for name in before_optimizations 0000.first.after_dce.before_cse; do
    cat >"$folder/quiet/module_0001.q.$name.txt" <<'END'
HloModule q
ENTRY e { x = f32[4] parameter(0)
  ROOT n = f32[4] negate(x) }
END
done
check 'a fault that shows nowhere' 1 'no output changes' \
    "$referee" plant "$folder/quiet" -o "$wrong" --class negative_zero --attempts 3
check 'it all the same' 0 '0 - x instead of -x' \
    "$referee" plant "$folder/quiet" -o "$folder/q" --class negative_zero --no-observable
check 'a class without a place' 1 'no place for this class' \
    "$referee" plant "$folder/quiet" -o "$wrong" --class slice --attempts 3
check 'no such class' 2 "no class of faults 'nothing'" \
    "$referee" plant "$dump" -o "$wrong" --class nothing
check 'no such pass' 1 'has no pass 77' "$referee" plant "$dump" -o "$wrong" --pass 77
check 'no such module' 2 'has no module 3' "$referee" plant "$dump" -o "$wrong" --module 3
mkdir "$folder/empty"
check 'no dump' 2 'xla_dump_to' "$referee" plant "$folder/empty" -o "$wrong"
check 'no folder to write' 2 'takes a dump folder, and --output' "$referee" plant "$dump"
check 'a folder that cannot be made' 3 'No such file' \
    "$referee" plant "$dump" -o "$folder/none/such" --seed 1
check 'the classes' 0 '^tail +the last row' "$referee" plant --list
check 'help' 0 'usage: referee plant' "$referee" plant --help

# The walk finds it, and blames nobody without.
check 'the walk finds it' 1 'first bad pass: rename' "$referee" passes "$wrong"
check 'the walk blames nobody' 0 '' "$referee" passes "$dump"
finish
