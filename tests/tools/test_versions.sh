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
