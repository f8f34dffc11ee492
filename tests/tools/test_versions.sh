#!/usr/bin/env bash
# Releases of jaxlib as backends, and the search for the one that broke a module, on releases that are
# made up: their Python is run by the program's own worker. Real ones where they were fetched.
# Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
fake=$(dirname "$(realpath "$0")")/fake_release
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fetched=${XDG_CACHE_HOME:-$HOME/.cache}
export XDG_CACHE_HOME=$folder/cache REFEREE_PYTHON
REFEREE_PYTHON=$(command -v /usr/bin/python3 || command -v python3)
plugins=$XDG_CACHE_HOME/referee/plugins

# release VERSION WORD…: a release that behaves so.
release() {
    mkdir -p "$plugins/jaxlib-$1"
    cp -r "$fake"/* "$plugins/jaxlib-$1"
    echo "${@:2}" >"$plugins/jaxlib-$1/jaxlib/behaviour"
}

cat >twice.hlo <<'END'
//@ arg f32[3] {1, 2.5, -3}
HloModule twice
ENTRY e {
  p = f32[3] parameter(0)
  ROOT r = f32[3] add(p, p)
}
END
sed 's/HloModule twice/HloModule twice, replica_count=3/; /@ arg/d' twice.hlo >three.hlo
sed 's/f32/bf16/g' twice.hlo >narrow.hlo

release 0.4.13
release 0.10.2 new
for version in 0.4.13 0.10.2; do
    check "$version runs" 0 "^PASS .*jaxlib:$version  bit-equal" "$referee" run twice.hlo \
        --backend "jaxlib:$version"
done
check 'the newest' 0 '^PASS' "$referee" run twice.hlo --backend jaxlib:
check 'what it is' 0 '"jaxlib": "0.10.2"' "$referee" run twice.hlo --backend jaxlib: --json -
check 'how it is spoken to' 0 '"put": "put_and_join"' "$referee" run twice.hlo --backend jaxlib: --json -
check 'several devices' 0 '^PASS .*3 replicas' "$referee" run three.hlo --backend jaxlib:
check 'a type that it has not' 1 'know no bf16' "$referee" run narrow.hlo --backend jaxlib:
check 'a wrong option' 3 "knows no 'cpus'" "$referee" run twice.hlo --backend 'jaxlib:?cpus=3'
check 'a wrong platform' 1 'platform is cpu or interpreter' "$referee" run twice.hlo \
    --backend 'jaxlib:?platform=gpu'
check 'a platform of old' 1 'has no interpreter client any more' "$referee" run twice.hlo \
    --backend 'jaxlib:?platform=interpreter'
REFEREE_PYTHON=/nowhere check 'no Python' 3 'needs python3.11' "$referee" run twice.hlo --backend jaxlib:

release 0.10.2 new wrong
check 'a wrong result' 1 'expected 2 .*got 3 ' "$referee" run twice.hlo --backend jaxlib:
release 0.10.2 new refuse
check 'a refusal' 1 'during context \[fake\]: no' "$referee" run twice.hlo --backend jaxlib:
release 0.10.2 new convert
check 'no conversion' 1 '^UNSUPPORTED' "$referee" run twice.hlo --backend jaxlib:
check 'and why' 1 'its conversion of HLO refuses this module: .*Unknown opcode' "$referee" run twice.hlo \
    --backend jaxlib:
release 0.10.2 new load
check 'it cannot be loaded' 1 'ImportError: libfake.so' "$referee" run twice.hlo --backend jaxlib:
release 0.10.2 new crash
check 'a crash' 1 'SIGABRT while executing' "$referee" run twice.hlo --backend jaxlib:
check 'its last words' 1 'Check failed: fake != nullptr' "$referee" run twice.hlo --backend jaxlib:
release 0.10.2 new hang
check 'a hang' 1 '^TIMEOUT' "$referee" run twice.hlo --backend jaxlib: --timeout 1

# The search for the one that broke it: 43 releases, of which these are there.
releases=(0.4.13 0.4.20 0.4.30 0.5.0 0.5.1 0.6.0 0.7.0 0.8.0 0.10.2)
# history WORD…: what each of them does, "good" being nothing; - is one that is not there.
history() {
    rm -rf "$plugins"
    local i=0 word
    for word in "$@"; do
        [[ $word == - ]] || release "${releases[i]}" new "${word/good/}"
        i=$((i + 1))
    done
}
bisect=("$referee" bisect twice.hlo --versions)

history good good good good wrong wrong wrong wrong wrong
check 'it broke' 1 '^broke: jaxlib:0.5.1 \(2025-02-24\) is the first that fails, jaxlib:0.5.0 \(2025-01-17\) the last that passes' \
    "${bisect[@]}"
check 'verdicts' 1 'jaxlib:0.5.1 +2025-02-24  MISMATCH values' "${bisect[@]}"
check 'few runs' 1 '^[56] of 43 releases judged' "${bisect[@]}"
check 'all runs' 1 '^9 of 43 releases judged' "${bisect[@]}" --all
check 'the command' 1 'see it: referee run twice.hlo --backend jaxlib:0.5.0 --backend jaxlib:0.5.1' "${bisect[@]}"
check 'as JSON' 1 '"first": "jaxlib:0.5.1"' "${bisect[@]}" --json - -q
check 'a range' 1 '^nothing changed: of 4 releases judged, 0 pass and 4 fail' "${bisect[@]}" --between 0.6.0..0.10.2
check 'a range of dates' 0 '^nothing changed: of 3 releases judged, 3 pass' "${bisect[@]}" --between 2023-10..2025-01
check 'no such range' 2 'no such releases in this order' "${bisect[@]}" --between 0.6.0..0.5.0
check 'one kind' 3 'none of the 3 releases is here.*fetch cpu:0.0.1 cpu:0.11.2' "${bisect[@]}" --backend cpu:
check 'no kind' 2 'none of the backends has releases' "${bisect[@]}" --backend tpu:
check 'without it' 2 'go with --versions' "$referee" bisect twice.hlo --all

history wrong wrong nan good good good good good good
check 'it was fixed' 1 '^fixed: jaxlib:0.5.0 .* first that passes, jaxlib:0.4.30 .* last that fails' "${bisect[@]}"
history good good convert convert convert wrong wrong wrong wrong
check 'those that cannot tell' 1 '^broke: jaxlib:0.6.0 .* jaxlib:0.4.20' "${bisect[@]}"
check 'are named' 1 'cannot tell: jaxlib:0.4.30 jaxlib:0.5.0 jaxlib:0.5.1' "${bisect[@]}"
history convert refuse good good good crash crash wrong wrong
check 'what fails otherwise is skipped' 1 '^broke: jaxlib:0.8.0 .* jaxlib:0.5.1' "${bisect[@]}"
history good good - - wrong wrong wrong wrong wrong
check 'what is not there' 1 'referee fetch.* jaxlib:0.4.30 .*jaxlib:0.5.0' "${bisect[@]}"
history good good wrong wrong good good wrong good good
check 'it went to and fro' 1 '^it changed 4 times' "${bisect[@]}"
check 'in this order' 1 '^fixed: jaxlib:0.8.0 .* jaxlib:0.7.0' "${bisect[@]}"
history crash crash crash good good good good good good
check 'a crash that was fixed' 1 '^fixed: jaxlib:0.5.0' "${bisect[@]}"
history good good good good good good good good good
check 'nothing ever failed' 0 '^nothing changed: of 9 releases judged, 9 pass and 0 fail' "${bisect[@]}"
history
check 'nothing is there' 3 'none of the 43 releases is here; --yes' "${bisect[@]}"

# What is missing is fetched on request alone: pip is a module of ours that makes wheels of the fake.
history good - - - - - - - wrong
mkdir modules
cat >modules/pip.py <<'PY'
import os, sys, zipfile
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(0)
given = dict(zip(words, words[1:]))
os.mkdir(given["--dest"])
for line in open(given["--requirement"]):
    name, version = line.split()[0].split("==")
    if name == "jaxlib":
        print("fetched", version)
        with zipfile.ZipFile(os.path.join(given["--dest"], name + ".whl"), "w") as wheel:
            for place, _, names in os.walk(os.environ["FAKE"]):
                for each in names:
                    path = os.path.join(place, each)
                    wheel.write(path, os.path.relpath(path, os.environ["FAKE"]))
            old = [int(part) for part in version.split(".")] < [0, 7, 1]
            wheel.writestr("jaxlib/behaviour", "new" if old else "new wrong")
PY
export FAKE=$fake PYTHONPATH=$folder/modules
check 'nothing is fetched unasked' 1 '^broke: jaxlib:0.10.2 .* jaxlib:0.4.13' "${bisect[@]}"
check 'and told' 1 'not here; --yes fetches what is needed' "${bisect[@]}"
check 'it is fetched' 1 '^broke: jaxlib:0.7.1 .* jaxlib:0.7.0' "${bisect[@]}" --yes --backend jaxlib:
check 'as few as will do' 0 '^[678]$' sh -c "ls '$plugins' | wc -l"
unset PYTHONPATH

# Real ones, where there are any: the oldest and the newest.
unset REFEREE_PYTHON
export XDG_CACHE_HOME=$fetched
mapfile -t real < <("$referee" fetch --list | awk '/^jaxlib:.* there$/ && !/not there$/ { print $1 }')
for release in "${real[@]}"; do
    [[ $release == "${real[0]}" || $release == "${real[-1]}" ]] || continue
    check "$release" 0 "^PASS .*bit-equal" "$referee" run twice.hlo --backend "$release"
    check "$release, three devices" 0 '^PASS .*3 replicas' "$referee" run three.hlo --backend "$release"
done
finish
