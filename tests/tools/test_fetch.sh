#!/usr/bin/env bash
# referee fetch, without a network: pip is a module of ours that makes a wheel, or fails. Argument: the
# program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME=$folder/cache PYTHONPATH=$folder/modules PYTHONDONTWRITEBYTECODE=1
unset REFEREE_CPU_PLUGIN REFEREE_CUDA_PLUGIN REFEREE_TPU_PLUGIN
plugins=$XDG_CACHE_HOME/referee/plugins

mkdir modules
cat >modules/pip.py <<'PY'
import os, sys, zipfile
words = sys.argv[1:]
mode = open(os.environ["PYTHONPATH"] + "/mode").read().strip()
if mode == "none":
    sys.exit("no pip here")
if words == ["--version"]:
    sys.exit(0)
if mode == "offline":
    sys.exit("ERROR: no matching distribution")
given = dict(zip(words, words[1:]))
needed = {"--no-deps", "--require-hashes", "--only-binary"}
if words[0] != "download" or not needed <= set(words) or given["--only-binary"] != ":all:":
    sys.exit("pip was asked for too much: " + " ".join(words))
os.mkdir(given["--dest"])
for line in open(given["--requirement"]):
    pinned, pin = line.split()
    if "==" not in pinned or len(pin) != len("--hash=sha256:") + 64:
        sys.exit("not pinned: " + line)
    with zipfile.ZipFile(os.path.join(given["--dest"], pinned + ".whl"), "w") as wheel:
        wheel.writestr(pinned + ".dist-info/METADATA", "made up")
        if pinned.startswith("libtpu") and mode != "empty":
            wheel.writestr("libtpu/libtpu.so", "no library")
        if pinned.startswith("jax-cuda13-pjrt"):
            wheel.writestr("jax_plugins/xla_cuda13/xla_cuda_plugin.so", "no library")
        if pinned.startswith("xla-cpu-pjrt"):
            wheel.writestr("xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", "no library")
        if pinned.startswith("jaxlib"):
            wheel.writestr("jaxlib/version.py", "")
        if pinned.startswith("nvidia-cuda-nvcc"):
            wheel.writestr("nvidia/cu13/bin/ptxas", "#!/bin/sh\n")
PY
echo good >modules/mode
cat >m.hlo <<'HLO'
HloModule m
ENTRY e {
  ROOT r = f32[] constant(1)
}
HLO

check 'help names sizes' 0 'cuda +XLA.s CUDA backend, 234 MB' "$referee" fetch --help
check 'nothing is named' 2 'name a plugin' "$referee" fetch
check 'a wrong name' 2 'there are cpu, cuda and tpu' "$referee" fetch rocm
check 'size and licence come first' 2 'libtpu .*137 MB.*licence: Google Cloud Platform Terms of Service' \
    "$referee" fetch tpu
check 'nothing is fetched without a yes' 2 'say --yes' "$referee" fetch tpu </dev/null
check 'nothing is there' 2 '' ls "$plugins"
check 'what to type without it' 3 'referee fetch tpu' "$referee" run --backend 'tpu:?target=v5e:2x2' m.hlo

echo none >modules/mode
check 'without pip' 3 'python3 with pip is needed' "$referee" fetch tpu --yes
echo offline >modules/mode
check 'without a network' 3 'pip could not fetch it' "$referee" fetch tpu --yes
check 'its own words are shown' 3 'no matching distribution' "$referee" fetch tpu --yes
echo empty >modules/mode
check 'a package without the library' 3 'cannot be unpacked' "$referee" fetch tpu --yes
check 'nothing is left behind' 0 '^0$' sh -c "ls -A '$plugins' | wc -l"

echo good >modules/mode
check 'it is fetched' 0 "TPU backend is in $plugins/tpu-0.0.52" "$referee" fetch tpu --yes
check 'the library is there' 0 'no library' cat "$plugins/tpu-0.0.52/libtpu/libtpu.so"
check 'a second call says so' 0 'is already in' "$referee" fetch tpu </dev/null
check 'several at once' 0 "CUDA backend is in" "$referee" fetch tpu cuda -y
check 'tools can be run' 0 '' "$plugins/cuda-0.12.0.1/nvidia/cu13/bin/ptxas"
check 'nothing else is there' 0 '^cuda-0.12.0.1 tpu-0.0.52 $' sh -c "ls -A '$plugins' | tr '\n' ' '"
check 'show knows' 0 "tpu +$plugins/tpu-0.0.52/libtpu/libtpu.so" "$referee" show backends
check 'show knows targets' 0 'cuda +h100 +NVIDIA H100' "$referee" show backends

check 'releases are listed' 0 '^jaxlib:0.4.13 +2023-06-22 +95 MB +not there' "$referee" fetch --list
check 'the oldest first' 0 '^jaxlib:0.4.13 .*cpu:0.11.2 $' \
    sh -c "'$referee' fetch --list | tail -n +4 | awk '{ print \$1 }' | tr '\n' ' '"
check 'a wrong release' 2 'releases of --list' "$referee" fetch jaxlib:0.1
check 'a release is announced' 2 'jaxlib 0.4.30 of 2024-06-18, 102 MB' "$referee" fetch jaxlib:0.4.30 </dev/null
check 'with all it needs' 2 'numpy +2.3.5 .*BSD-3-Clause' "$referee" fetch jaxlib:0.4.30 </dev/null
check 'a release is fetched' 0 "jaxlib 0.4.30 of 2024-06-18 is in $plugins/jaxlib-0.4.30" \
    "$referee" fetch jaxlib:0.4.30 --yes
check 'whole' 0 '^3$' sh -c "ls '$plugins/jaxlib-0.4.30' | grep -c dist-info"
check 'the newest one' 2 'jaxlib 0.10.2 of' "$referee" fetch jaxlib </dev/null
check 'a build of the plugin' 0 "plugin 0.0.1 of 2025-11-21 is in $plugins/cpu-0.0.1" "$referee" fetch cpu:0.0.1 -y
check 'the list knows' 0 '^cpu:0.0.1 .* there$' "$referee" fetch --list
check 'show knows releases' 0 '^ +jaxlib:0.4.30 +2024-06-18 +there' "$referee" show backends
check 'what to type without a release' 3 'referee fetch jaxlib:0.5.0' "$referee" run --backend jaxlib:0.5.0 m.hlo
check 'what to type without a build' 3 'referee fetch cpu:2026.6.23' "$referee" run --backend cpu:2026.6.23 m.hlo
check 'no such release' 3 'fetch --list' "$referee" run --backend jaxlib:1.2.3 m.hlo
XDG_CACHE_HOME=/proc/none check 'a cache that cannot be written' 3 'NOT_FOUND: /proc/none' "$referee" fetch tpu -y
finish
