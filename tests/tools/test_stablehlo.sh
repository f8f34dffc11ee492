#!/usr/bin/env bash
# StableHLO wherever HLO is taken: text, bytecode, checks, sizes that are open, ways to a backend,
# and back. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
root=$(realpath "$(dirname "$(realpath "$0")")/../..")
suite=$root/corpus/suites/stablehlo
public=${REFEREE_SHARED:-$root/../shared}/corpus-data/stablehlo
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# Programs of JAX: text, portable artifact and jaxlib's HLO give the same. XLA expands some functions
# on the way to HLO, in steps that are rounded one by one; there only the two forms are compared, or
# for those that are expanded in an artifact, too, nothing: the suite holds them against XLA.
expanded=' complex_and_bits complex_arithmetic ffts special_functions transcendental_functions '
value() { # FILE ARGUMENTS…: what it gives on the arguments in the file `arguments`
    "$referee" eval "$@" --full --inputs arguments
}
same() {
    local name=$1 hlo=$suite/$1.hlo
    [[ -e $hlo ]] || hlo=$suite/../first/$1.hlo
    "$referee" eval "$hlo" --quiet --save arguments && value "$hlo" >hlo &&
        value "$suite/$name.mlir" >text && value "$suite/$name.mlirbc" >bytecode || return
    case $expanded in
    *" $name "*) ;;
    *) cmp hlo text && cmp text bytecode ;;
    esac
}
for text in "$suite"/*.mlir; do
    check "$(basename "$text") in three forms" 0 '' same "$(basename "$text" .mlir)"
done

# HLO → StableHLO → HLO.
back() {
    "$referee" eval "$1" --quiet --save arguments && "$referee" convert "$1" -o again.mlir &&
        value "$1" >before && value again.mlir >after && cmp before after
}
for hlo in "$root"/corpus/suites/first/*.hlo; do
    check "$(basename "$hlo") there and back" 0 '' back "$hlo"
done

# Composites stay composites, with the golden's exact values of the functions that they name.
composites() {
    "$referee" convert "$suite/special_functions.mlir" -o special.hlo && back special.hlo &&
        grep -q '"stablehlo.composite".*"chlo.lgamma"' again.mlir
}
check 'composites there and back' 0 '' composites

# --- checks ---

cat >checks.mlir <<'MLIR'
func.func @good() {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  %2 = interpreter.probe %1, probe_id = "sum" : tensor<2xf32>
  check.expect_eq_const %2, dense<[2.0, 4.0]> : tensor<2xf32>
  check.expect_serialized_eq %1, probe_id = "sum" : tensor<2xf32>
  func.return
}

// -----

func.func @bad() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %0, dense<[1, 3]> : tensor<2xi32>
  func.return
}
func.func @other() {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  %1 = stablehlo.add %0, %0 : tensor<i1>
  check.expect_eq_const %1, dense<true> : tensor<i1>
  func.return
}
MLIR
check 'a check that fails' 1 'checks.mlir:14:3: check.expect_eq_const does not hold' \
    "$referee" eval checks.mlir
check 'what differs' 1 '\[1\]: is 2, should be 3' "$referee" eval checks.mlir
check 'the others' 1 '3 checks hold, 1 do not' "$referee" eval checks.mlir
check 'one function' 0 '1 checks hold, 0 do not' "$referee" eval checks.mlir --entry other
check 'no such function' 2 'no function @nobody' "$referee" eval checks.mlir --entry nobody
check 'probes are saved' 1 '' "$referee" eval checks.mlir --probes seen
check 'their index' 0 '^sum,tensor<2xf32>,seen/sum_1.npy$' cat seen/index.csv
check 'their values' 0 '\{2, 4\}' "$referee" show seen/sum_1.npy

# --- sizes that are open ---

cat >dynamic.mlir <<'MLIR'
func.func @main(%x: tensor<?x3xf32>) -> tensor<?xf32> {
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %size = stablehlo.multiply %rows, %three : tensor<i32>
  %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<?x3xf32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = stablehlo.negate %0 : tensor<?xf32>
  func.return %1 : tensor<?xf32>
}
MLIR
echo 'f32[2,3] {{1, 2, 3}, {4, 5, 6}}' >x
check 'shapes are asked for' 2 '--shapes' "$referee" eval dynamic.mlir
check 'shapes by --shapes' 0 'f32\[12\]' "$referee" eval dynamic.mlir --shapes 'f32[4,3]'
check 'shapes by --inputs' 0 'f32\[6\] \{-1, -2, -3, -4, -5, -6\}' \
    "$referee" eval dynamic.mlir --inputs x
check 'shapes that do not fit' 2 'argument 0' "$referee" eval dynamic.mlir --shapes 'f32[4,4]'
check 'a static module' 0 '' "$referee" convert dynamic.mlir --shapes 'f32[4,3]' -o static.hlo
check 'its shape' 0 'f32\[4,3\]' cat static.hlo

# Functions that call the next one twice, forty deep.
{
    echo 'func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {'
    echo '  %0 = call @f0(%x) : (tensor<?xf32>) -> tensor<?xf32>'
    printf '  return %%0 : tensor<?xf32>\n}\n'
    for ((i = 0; i < 40; i++)); do
        echo "func.func private @f$i(%x: tensor<?xf32>) -> tensor<?xf32> {"
        echo "  %0 = call @f$((i + 1))(%x) : (tensor<?xf32>) -> tensor<?xf32>"
        echo "  %1 = call @f$((i + 1))(%0) : (tensor<?xf32>) -> tensor<?xf32>"
        printf '  return %%1 : tensor<?xf32>\n}\n'
    done
    echo 'func.func private @f40(%x: tensor<?xf32>) -> tensor<?xf32> {'
    printf '  return %%x : tensor<?xf32>\n}\n'
} >doubling.mlir
check 'endless work is refused' 3 'more than 65536 calls' \
    "$referee" eval doubling.mlir --shapes 'f32[3]'

# --- errors, and the other commands ---

printf 'func.func @main() -> tensor<2xf32> {\n  %%0 = stablehlo.tanh %%1 : tensor<2xf32>\n' >wrong.mlir
printf '  return %%0 : tensor<2xf32>\n}\n' >>wrong.mlir
check 'an unknown value' 2 'wrong.mlir:2:23: .*%1' "$referee" eval wrong.mlir
check 'its caret' 2 '^                         \^|^ +\^' "$referee" eval wrong.mlir
head -c 200 "$suite/branches.mlirbc" >cut.mlirbc
check 'bytecode cut short' 2 'cut.mlirbc' "$referee" eval cut.mlirbc
check 'verify' 0 'modules ok, 0 with findings' "$referee" verify "$suite"
check 'show' 0 'HloModule' "$referee" show "$suite/branches.mlirbc"
check 'the table of ops' 0 '^[0-9]+ ops of MLIR are known' "$referee" show mlir
check 'bytecode as text' 0 '' "$referee" convert "$suite/branches.mlirbc" -o text.mlir
check 'the text' 0 '"func.func"' cat text.mlir

if [[ -d $public ]]; then
    check 'all checks of StableHLO hold' 0 '^[0-9]+ checks hold, 0 do not' \
        "$referee" eval --quiet "$public/interpret" "$public/testdata/quantized"
    check 'all static programs of its test data' 0 ', 0 not as expected, 0 unusable, 0 not evaluated' \
        "$referee" eval --quiet "$public"/testdata/*.mlir
else
    echo "no public files of StableHLO; REFEREE_SHARED says where they are"
fi

# --- ways to a backend ---

if "$referee" show backends | grep -q 'not fetched'; then
    echo "XLA's CPU plugin is not there, so --via is not tested; ./dev plugin fetches it"
    finish
fi
check 'as it came' 0 PASS "$referee" run --via mlir "$suite/branches.mlir"
check 'an artifact' 0 PASS "$referee" run --via mlir "$suite/branches.mlirbc"
check 'HLO as StableHLO' 0 PASS "$referee" run --via mlir "$root/corpus/suites/first/branches.hlo"
# XLA's translation takes a reduction into a wider type as it is, and its verifier refuses that; as HLO
# the operands are converted before.
cat >wider.mlir <<'MLIR'
func.func @main(%x: tensor<4x3xf32>) -> tensor<4xf64> {
  %init = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %s = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<4x3xf32>, tensor<f64>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}
MLIR
check 'the side is named' 1 'sent as HLO: PASS: the difference arises where StableHLO becomes HLO' \
    "$referee" run --via mlir wider.mlir
check 'a wrong way' 2 '--via takes mlir or hlo' "$referee" run --via c "$suite/branches.mlir"
finish
