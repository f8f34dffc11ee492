#!/usr/bin/env bash
# The program as a user types it: exit statuses, messages, files. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$1
source=${REFEREE_SOURCE:-.}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A command that refuses its arguments leaves its lists to the end of the process: no leak of interest.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

examples=$source/corpus/suites/examples
printf 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT s = f32[2] add(x, y)\n}\n' \
    >"$folder/broken.hlo"
printf 'HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT s = f32[3] add(x, x)\n}\n' \
    >"$folder/misshapen.hlo"
printf '//@ arg f32[2] {1, 2}\n//@ expect f32[2] {2, 5}\nHloModule m\nENTRY e {\n' \
    >"$folder/wrong.hlo"
printf '  x = f32[2] parameter(0)\n  ROOT s = f32[2] add(x, x)\n}\n' >>"$folder/wrong.hlo"
printf 'ENTRY a {\n  ROOT x = s32[] constant(1)\n}\n// -----\nENTRY b {\n  ROOT x = s32[] constant(2)\n}\n' \
    >"$folder/two.hlo"
printf 'HloModule m\nENTRY e {\n  a = s32[2] constant({1, 2})\n  b = s32[2] constant({1, 3})\n' \
    >"$folder/pairs.hlo"
printf '  ROOT t = (s32[2], s32[2]) tuple(a, b)\n}\n' >>"$folder/pairs.hlo"

check 'no command' 2 'usage: referee COMMAND' "$referee"
check 'help' 0 'commands:' "$referee" help
check 'unknown command' 2 "there is no command 'ru'" "$referee" ru
for command in run eval gate verify convert show; do
    check "help of $command" 0 "usage: referee $command" "$referee" "$command" --help
done
check 'unknown option' 2 'did you mean --jobs' "$referee" run --job 2 x
check 'option without value' 2 '--seed needs N' "$referee" eval --seed
check 'bad value' 2 "'x' is not an integer" "$referee" eval --seed x "$examples/softmax.hlo"
check 'missing file' 2 'no such file' "$referee" eval "$folder/none.hlo"

check 'malformed' 1 "broken.hlo:4:26: .*'?y'?" "$referee" verify "$folder/broken.hlo"
check 'misshapen' 0 'warning: .*misshapen.hlo:4' "$referee" verify "$folder/misshapen.hlo"
check 'misshapen, strict' 1 'misshapen.hlo:4' "$referee" verify --strict "$folder/misshapen.hlo"
check 'round trip' 0 'round trip ok' "$referee" verify --round-trip "$examples/softmax.hlo"
check 'parts' 0 'two.hlo#1: ok' "$referee" verify "$folder/two.hlo"
check 'folder' 0 '3 modules ok' "$referee" verify "$examples"

check 'eval' 0 '0.0900305733' "$referee" eval "$examples/softmax.hlo"
check 'eval against expectations' 1 'expected 5 .* got 4' "$referee" eval "$folder/wrong.hlo"
check 'eval of parts' 0 's32\[\] 2' "$referee" eval "$folder/two.hlo"
check 'profile' 0 '[0-9] +dot$' "$referee" eval -q --profile "$examples/matmul.hlo"
check 'profile of a loop' 0 '1 +0.00 .* while' "$referee" eval -q --profile "$examples/counting_loop.hlo"
check 'trace' 0 '' "$referee" eval -q --trace "$folder/trace.json" "$examples/counting_loop.hlo"
check 'events of the trace' 0 '^[1-9]' grep -c '"ph": "X"' "$folder/trace.json"
check 'trace that cannot be written' 3 'none/trace.json' \
    "$referee" eval -q --trace "$folder/none/trace.json" "$examples/matmul.hlo"
devices=$source/corpus/suites/devices
printf 'HloModule m\nENTRY e {\n  t = token[] after-all()\n  x = f32[2] parameter(0)\n' >"$folder/host.hlo"
printf '  s = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true\n' >>"$folder/host.hlo"
printf '  d = token[] send-done(s), channel_id=1, is_host_transfer=true\n' >>"$folder/host.hlo"
printf '  r = (f32[2], u32[], token[]) recv(d), channel_id=2, is_host_transfer=true\n' >>"$folder/host.hlo"
printf '  e = (f32[2], token[]) recv-done(r), channel_id=2, is_host_transfer=true\n' >>"$folder/host.hlo"
printf '  ROOT y = f32[2] get-tuple-element(e), index=0\n}\n' >>"$folder/host.hlo"
printf 'f32[2] {5, 6}' >"$folder/received.txt"
check 'eval on devices' 0 'device 5 \(replica 2, partition 1\):' "$referee" eval "$devices/ids.hlo"
check 'eval, one device' 0 '^device 3 \(replica 1, partition 1\):' \
    "$referee" eval --device 3 "$devices/ids.hlo"
check 'eval, no such device' 2 'there is no device 6 among 6' \
    "$referee" eval --device 6 "$devices/ids.hlo"
check 'eval on other devices' 0 'device 7 \(replica 7, partition 0\):' \
    "$referee" eval --replicas 8 "$devices/ring_attention.hlo"
check 'eval against a device'"'"'s expectations' 1 'the result has 24 outputs, 12 are expected' \
    "$referee" eval --replicas 6 "$devices/ids.hlo"
check 'save a device' 0 '' "$referee" eval -q --device 1 --save "$folder/d.npy" "$devices/experts.hlo"
check 'save of several devices' 3 'say which device' \
    "$referee" eval -q --save "$folder/d.npy" "$devices/experts.hlo"
check 'host transfers' 0 'f32\[2\] \{ ?5, 6 ?\}' \
    "$referee" eval --receive "$folder/received.txt" --sent "$folder/sent.pb" "$folder/host.hlo"
check 'nothing to receive' 3 'nobody sends' "$referee" eval "$folder/host.hlo"
check 'run on devices' 0 'PASS .* 4 replicas × 1 partitions' \
    "$referee" run --backend interp: "$devices/experts.hlo"
check 'run, each device' 0 'PASS +replica 1, partition 2' \
    "$referee" run -v --backend interp: --replicas 2 --partitions 3 "$devices/groups_cross_both_each.hlo"
check 'run, devices as JSON' 0 '"partition": 1' \
    "$referee" run -q --backend interp: --json - "$devices/sharded_parameters.hlo"
check 'run, too many devices' 2 '1 to 4096 devices' \
    "$referee" run --backend interp: --replicas 100 --partitions 100 "$devices/experts.hlo"
check 'pairs' 1 'pair 0: .*1 of 2 elements differ' "$referee" eval --pairs "$folder/pairs.hlo"
check 'eval of a misshapen module' 2 'misshapen' "$referee" eval "$folder/misshapen.hlo"
check 'memory limit' 3 'RESOURCE_EXHAUSTED' "$referee" eval --memory 100 "$examples/matmul.hlo"
check 'save' 0 '' "$referee" eval -q --save "$folder/out.pb" "$examples/matmul.hlo"
check 'saved inputs' 0 'f32\[64,32\]' "$referee" eval --inputs "$folder/out.pb" "$examples/matmul.hlo"

check 'to proto' 0 '' "$referee" convert "$examples/softmax.hlo" -o "$folder/s.pb"
check 'proto evaluates' 0 '0.0900305733|f32\[2,3\]' "$referee" eval "$folder/s.pb"
check 'back to text' 0 'ROOT softmax' "$referee" convert "$folder/s.pb" -o - --to text
check 'unknown ending' 2 'give --to' "$referee" convert "$folder/s.pb" -o "$folder/s.xyz"
check 'unwritable' 2 'cannot write' "$referee" convert "$folder/s.pb" -o "$folder/none/s.hlo"

check 'ops' 0 '133 opcodes' "$referee" show ops
check 'types' 0 'f8e4m3fn' "$referee" show types
check 'backends' 0 'pjrt' "$referee" show backends
check 'tolerances' 0 'Monte Carlo' "$referee" show tolerances
check 'custom calls' 0 'a Mosaic kernel' "$referee" show custom-calls
check 'module' 0 'reduce:2' "$referee" show "$examples/softmax.hlo"

check 'golden against itself' 0 '^PASS' "$referee" run --backend interp: "$examples/matmul.hlo"
check 'plugin that is not there' 3 'there is no plugin' "$referee" run \
    --backend "pjrt:$folder/none.so" "$examples/matmul.hlo"
check 'unknown scheme' 3 'zzz' "$referee" run --backend zzz: "$examples/matmul.hlo"
check 'unknown profile' 2 "no profile 'x'" "$referee" run --profile x "$examples/matmul.hlo"
check 'report' 0 '"outcome": "PASS"' "$referee" run -q --backend interp: --json - \
    "$examples/matmul.hlo"
check 'isolate' 0 'instructions alone, 0 differ' "$referee" run --isolate --backend interp: \
    "$examples/softmax.hlo"

ln -s "$(realpath "$referee")" "$folder/run_hlo_module"
check 'run_hlo_module' 0 '0/1 runs failed' "$folder/run_hlo_module" --platform=interpreter \
    --xla_dump_to=nowhere "$examples/matmul.hlo"
check 'run_hlo_module without platform' 1 'usage: run_hlo_module' "$folder/run_hlo_module" \
    "$examples/matmul.hlo"

finish
